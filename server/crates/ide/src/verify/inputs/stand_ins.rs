//! Functions that a function may call and whose bodies are not known: what a machine needs to stand in for them. Deliberately
//! absent: what a stand-in does (`simulate`).

use std::sync::Arc;

use rustc_hash::FxHashSet;
use simulate::Program;
use term::{Body, Op, Storage, TypeKind};

use super::{Global, Layout};

/// Names of functions without a body that can be reached, and a file-scope variable for each that gives a value.
pub(in crate::verify) fn stand_ins(program: &Program<'_>, function: &Body) -> (Vec<Arc<str>>, Vec<Global>) {
    let (mut seen, mut names, mut values) = (FxHashSet::default(), Vec::new(), Vec::new());
    let mut queue = vec![function];
    while let Some(body) = queue.pop() {
        let calls = body.walk(body.root).filter(|&t| *body.op(t) == Op::Call);
        for call in calls {
            let Some(&callee) = body.args(call).first() else { continue };
            let name = match body.op(callee) {
                Op::Sym(s) if matches!(body.symbols[*s].storage, Storage::Function | Storage::Undeclared) => {
                    body.symbols[*s].name.clone()
                }
                Op::Name(n) => n.clone(),
                _ => continue,
            };
            if !seen.insert(name.clone()) || is_known(&name) {
                continue;
            }
            if let Some(callee) = program.function(&name) {
                queue.push(callee);
                continue;
            }
            let ty = body.ty(call);
            if !matches!(body.types.kind(ty), TypeKind::Void) {
                let Some(layout) = Layout::of(&body.types, ty, 0) else { continue };
                let is_size = matches!(body.types.kind(ty), TypeKind::Int(_));
                let name = Program::stand_in_value(&name);
                values.push(Global { name, layout, count: 1, is_size, constant: false, dead: false });
            }
            names.push(name);
        }
    }
    (names, values)
}

/// What the machine does itself.
fn is_known(name: &str) -> bool {
    term::intrinsic(name).is_some()
        || matches!(name, "printf" | "memcpy" | "memmove" | "memset" | "malloc" | "calloc" | "free")
}
