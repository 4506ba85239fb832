//! Which variables statements of a kernel set: what was known of them before a loop does not hold in it.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

/// Variables that the terms set, whole or a part, and those that places which were not understood may set.
pub(super) fn set_in(body: &Body, terms: &[TermId]) -> FxHashSet<SymbolId> {
    let mut out = FxHashSet::default();
    for t in terms.iter().flat_map(|&t| body.walk(t)) {
        match body.op(t) {
            Op::Assign | Op::Compound(_) | Op::Step { .. } => {
                // a part of a variable, not what a pointer leads to
                let is_array = |b: TermId| matches!(body.types.kind(body.ty(b)), TypeKind::Array { .. });
                let mut at = body.args(t)[0];
                loop {
                    at = match (body.op(at), body.args(at)) {
                        (Op::Index, &[b, _]) if is_array(b) => b,
                        (Op::Member { arrow: false, .. }, &[b]) | (Op::Cast, &[b]) => b,
                        _ => break,
                    };
                }
                out.extend(body.as_symbol(at));
            }
            Op::Declare(s) => {
                out.insert(*s);
            }
            _ => out.extend(body.touched_by_gap(t)),
        }
    }
    out
}

/// A member of a structure that the kernel is given and never changes, as `p.n` names it; `base`: the structure.
pub(super) fn given_member(body: &Body, t: TermId, base: TermId) -> Option<Arc<str>> {
    let Op::Member { field, arrow: false } = body.op(t) else { return None };
    let s = body.as_symbol(base)?;
    let symbol = &body.symbols[s];
    let set = |x: TermId| {
        let changes = body.op(x).is_write() || matches!(body.op(x), Op::AddrOf);
        changes && body.args(x).first().is_some_and(|&p| variable_of(body, p) == Some(s))
    };
    let given = matches!(symbol.storage, Storage::Param(_));
    (given && !body.walk(body.root).any(set)).then(|| format!("{}.{field}", symbol.name).into())
}

/// The variable a place is a part of, not through pointers.
pub(super) fn variable_of(body: &Body, t: TermId) -> Option<SymbolId> {
    let mut at = t;
    loop {
        match (body.op(at), body.args(at)) {
            (Op::Sym(s), _) => return Some(*s),
            (Op::Index, &[b, _]) => at = b,
            (Op::Member { arrow: false, .. }, &[b]) => at = b,
            _ => return None,
        }
    }
}
