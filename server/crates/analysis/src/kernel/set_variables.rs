//! Which variables statements of a kernel set: what was known of them before a loop does not hold in it.

use rustc_hash::FxHashSet;
use term::{Body, Op, SymbolId, TermId, TypeKind};

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
