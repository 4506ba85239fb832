//! With which numbers a text calls functions of the program.

use term::{Body, Op, Storage, TermId};

use crate::calls::function::own_callee;
use crate::calls::held::CalledWith;

/// With what a text calls functions.
pub(crate) fn called_with(body: &Body) -> Vec<CalledWith> {
    let mut out: Vec<CalledWith> = Vec::new();
    let mut at_calls: Vec<TermId> = Vec::new();
    for t in body.walk(body.root) {
        let Op::Sym(s) = *body.op(t) else {
            if let (Op::Call, Some(symbol)) = (body.op(t), own_callee(body, t)) {
                at_calls.push(body.args(t)[0]);
                let arguments = body.args(t)[1..].iter().map(|&a| body.constant(a)).collect();
                out.push(CalledWith { name: symbol.name.clone(), arguments });
            }
            continue;
        };
        let is_function = body.symbols[s].storage == Storage::Function;
        if is_function && !at_calls.contains(&t) && !body.library.contains(&s) {
            out.push(CalledWith { name: body.symbols[s].name.clone(), arguments: Box::default() });
        }
    }
    out.sort_by(|a, b| (&a.name, &a.arguments).cmp(&(&b.name, &b.arguments)));
    out.dedup();
    out
}
