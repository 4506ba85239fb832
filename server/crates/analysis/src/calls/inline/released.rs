//! Variables whose addresses only the calls took that are written out: nobody else reaches them.

use base::IndexId;
use rustc_hash::FxHashSet;
use term::{BodyBuilder, Op, Storage, SymbolId, TermId, TypeKind};

/// Variables of the body whose address no longer goes anywhere, since the call it went to was replaced.
pub(super) fn release(b: &mut BodyBuilder, root: TermId, own_symbols: usize) {
    let mut taken: FxHashSet<SymbolId> = FxHashSet::default();
    let any = b.symbols.iter_ids().any(|(s, v)| {
        s.index() < own_symbols && v.address_taken && matches!(v.storage, Storage::Local | Storage::Param(_))
    });
    if !any {
        return;
    }
    // (term, the term it is a part of, its position there)
    let mut stack: Vec<(TermId, Vec<(TermId, usize)>)> = vec![(root, Vec::new())];
    while let Some((t, around)) = stack.pop() {
        if let Op::Sym(s) = b.get(t).op {
            if goes_elsewhere(b, t, &around) {
                taken.insert(s);
            }
            continue;
        }
        let keeps = matches!(
            b.get(t).op,
            Op::Index | Op::Member { .. } | Op::Deref | Op::AddrOf | Op::Binary(_) | Op::SizeOf
        );
        for (k, &a) in b.get(t).args.iter().enumerate() {
            let mut path = if keeps { around.clone() } else { Vec::new() };
            path.push((t, k));
            stack.push((a, path));
        }
    }
    let free: Vec<SymbolId> = b
        .symbols
        .iter_ids()
        .filter(|(s, v)| v.address_taken && s.index() < own_symbols && !taken.contains(s))
        .filter(|(_, v)| matches!(v.storage, Storage::Local | Storage::Param(_)))
        .map(|(s, _)| s)
        .collect();
    for s in free {
        b.symbols[s].address_taken = false;
    }
}

/// Whether this use of a variable hands its address on: `&x`, or an array that is not subscripted at once.
fn goes_elsewhere(b: &BodyBuilder, use_of: TermId, around: &[(TermId, usize)]) -> bool {
    let is_array = |t: TermId| matches!(b.types.kind(b.get(t).ty), TypeKind::Array { .. });
    let mut at = use_of;
    for &(up, position) in around.iter().rev() {
        match &b.get(up).op {
            Op::SizeOf => return false,
            Op::AddrOf => return true,
            Op::Index if position == 0 && is_array(at) => at = up,
            Op::Member { arrow: false, .. } => at = up,
            Op::Member { arrow: true, .. } | Op::Deref if is_array(at) => at = up,
            // `*(a + i)`: the sum of an array and a number goes on as the array does.
            _ => return is_array(at),
        }
    }
    is_array(at)
}
