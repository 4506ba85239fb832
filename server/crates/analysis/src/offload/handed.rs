//! Elements that are handed to functions by their address: `z_abs(&a[i])` touches `a[i]` and nothing else.

use base::IndexId as _;
use term::{BinOp, Body, Op, TermId, TypeKind};

use crate::Program;

/// Whether the function that a call names surely touches what its `k`-th argument points to, and nothing beside that: it only looks
/// through the parameter, and does so in a statement that it always comes to.
pub(super) fn touches_one(body: &Body, program: &Program, call: TermId, k: usize) -> bool {
    let Some(function) = program.callee(body, call) else { return false };
    let of = &*function.body;
    let &[parameters, inner, ..] = of.args(of.root) else { return false };
    let declared = of.args(parameters).get(k).map(|&p| of.op(p));
    let Some(&Op::Declare(s)) = declared else { return false };
    let parents = of.parents();
    let parent = |t: TermId| parents.get(t.index()).copied().flatten();
    let is_it = |t: &TermId| of.as_symbol(*t) == Some(s);
    let looks = |t: TermId| {
        let Some(through) = parent(t) else { return false };
        let is_place = matches!(of.op(through), Op::Deref | Op::Member { arrow: true, .. });
        let is_array = matches!(of.types.kind(of.ty(through)), TypeKind::Array { .. } | TypeKind::Record(_));
        let taken = parent(through).is_some_and(|p| *of.op(p) == Op::AddrOf);
        is_place && !is_array && !taken
    };
    let always = |statement: TermId| {
        let mut open = vec![statement];
        while let Some(t) = open.pop() {
            if of.as_symbol(t) == Some(s) {
                return true;
            }
            match of.op(t) {
                Op::If | Op::Select | Op::Binary(BinOp::And | BinOp::Or) => {
                    open.extend(of.args(t).first());
                }
                op if op.is_loop() || matches!(op, Op::Switch | Op::Label(_) | Op::SizeOf) => {}
                _ => open.extend(of.args(t)),
            }
        }
        false
    };
    // up to the first statement that may leave
    let leaves = |t: &TermId| of.walk(*t).any(|x| matches!(of.op(x), Op::Goto(_) | Op::Label(_)));
    let ends = |t: &TermId| *of.op(*t) != Op::Return && of.walk(*t).any(|x| *of.op(x) == Op::Return);
    let first = of.args(inner).iter().take_while(|t| !ends(t));
    !of.walk(of.root).any(|t| leaves(&t))
        && of.walk(inner).filter(is_it).all(looks)
        && first.into_iter().any(|&t| always(t))
}
