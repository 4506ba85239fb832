//! Objects of which each iteration has cells for itself that are no variables of its thread: what the last one leaves is the
//! object's, they are too many, or nobody knows how many they are.

use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::limits::offload_own_cells::MAX_THREADS_OWN;
use crate::{Holders, LoopFacts};

/// Whose the cells of an object are while the loop runs; [`Holders::All`] too where threads have variables of their own, and
/// where more is done with it than to reach its elements.
pub(super) fn holders(body: &Body, claim: &LoopFacts, s: SymbolId) -> Holders {
    let Some(p) = claim.privates.iter().find(|p| p.symbol == s && !p.declared_inside && !p.copied_in) else {
        return Holders::All;
    };
    let symbol = &body.symbols[s];
    let of_function = matches!(symbol.storage, Storage::Local | Storage::Param(_));
    let is_small = body.types.size_align(symbol.ty).is_some_and(|s| s.0 <= MAX_THREADS_OWN);
    let needs_memory = match body.types.kind(symbol.ty) {
        TypeKind::Array { .. } => p.kept || !of_function || !is_small,
        TypeKind::Pointer { .. } => true,
        _ => false,
    };
    match (needs_memory && other_use(body, claim.term, s).is_none(), p.kept) {
        (false, _) => Holders::All,
        (true, false) => Holders::Each,
        (true, true) => Holders::EachButLast,
    }
}

/// A mention of an array in a loop that is no part of a subscript, or of a dereference, that reaches an element, or whose
/// element's address is taken.
pub(super) fn other_use(body: &Body, root: TermId, s: SymbolId) -> Option<TermId> {
    let parents = body.parents();
    let up = |t: TermId| parents.get(t.0 as usize).copied().flatten();
    let reaches = |mention: TermId| {
        let mut at = mention;
        while matches!(body.types.kind(body.ty(at)), TypeKind::Array { .. } | TypeKind::Pointer { .. }) {
            let Some(around) = up(at) else { return false };
            let is_first = body.args(around).first() == Some(&at);
            let leads = match body.op(around) {
                Op::Index | Op::Deref => is_first,
                // a sum is the address of what is dereferenced around it
                Op::Binary(BinOp::Add) => up(around).is_some_and(|t| *body.op(t) == Op::Deref),
                _ => false,
            };
            if !leads {
                return false;
            }
            at = around;
        }
        at != mention && up(at).is_none_or(|t| *body.op(t) != Op::AddrOf)
    };
    body.walk(root).filter(|&t| body.as_symbol(t) == Some(s)).find(|&t| !reaches(t))
}
