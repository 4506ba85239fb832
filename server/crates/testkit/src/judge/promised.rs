//! Runs that keep the user's promises: what index arrays hold. A claim that rests on a promise counts in no other run.

use std::collections::HashSet;

use analysis::ConditionKind;
use simulate::{Heap, Rng, Value};
use term::{Body, IntKind, Op, Promised, Storage, SymbolId, TermId};

/// The number of a parameter.
fn parameter(body: &Body, t: TermId) -> Option<usize> {
    match body.symbols[body.as_symbol(t)?].storage {
        Storage::Param(n) => Some(n as usize),
        _ => None,
    }
}

/// The value of an expression of parameters.
fn number(body: &Body, t: TermId, sizes: &[Option<i128>]) -> Option<i128> {
    match (body.op(t), body.args(t)) {
        (Op::Int(v), _) => Some(*v),
        (Op::Sym(_), _) => *sizes.get(parameter(body, t)?)?,
        (Op::Binary(term::BinOp::Add), &[a, b]) => Some(number(body, a, sizes)? + number(body, b, sizes)?),
        (Op::Binary(term::BinOp::Mul), &[a, b]) => Some(number(body, a, sizes)? * number(body, b, sizes)?),
        _ => None,
    }
}

/// Fills index arrays that are parameters with what is promised of them.
pub(super) fn keep(body: &Body, heap: &mut Heap, args: &[Value], sizes: &[Option<i128>], seed: u64) {
    let mut rng = Rng(seed ^ 0x5EED);
    let promises = || body.said.promises.iter().map(|p| &p.says);
    let kind_of = |t: TermId| body.types.element(body.ty(t)).and_then(|e| body.types.as_int(e));
    for says in promises() {
        let (array, low, high) = match *says {
            Promised::Injective(array) => (array, 0, 8),
            Promised::InRange { array, low, high } => {
                match (number(body, low, sizes), number(body, high, sizes)) {
                    (Some(l), Some(h)) => (array, l, h.max(l + 1)),
                    _ => continue,
                }
            }
            _ => continue,
        };
        let distinct = promises().any(|o| matches!(o, Promised::Injective(a) if body.same(*a, array)));
        let ranged =
            promises().any(|o| matches!(o, Promised::InRange { array: a, .. } if body.same(*a, array)));
        // of one array once, by its range where it has one
        if matches!(says, Promised::Injective(_)) && ranged {
            continue;
        }
        let (Some(Value::Pointer(o, base)), Some(kind)) =
            (parameter(body, array).and_then(|n| args.get(n)), kind_of(array))
        else {
            continue;
        };
        let n = usize::try_from((high - low).min(1 << 16)).unwrap_or(1).max(1);
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|k| order.swap(k, rng.below(k + 1)));
        let bytes = u64::from(kind.bits() / 8);
        let count = heap.read_raw::<u8>(*o).len() as u64 / bytes;
        let first = (*base).max(0) as u64 / bytes;
        let values = (0..count).map(|k| match (distinct, k.checked_sub(first)) {
            (true, Some(k)) => low + (order[k as usize % n] + k as usize / n * n) as i128,
            (true, None) => low - i128::from(first - k),
            (false, _) => low + rng.below(n) as i128,
        });
        let all: Vec<u8> = values.flat_map(|v| v.to_le_bytes()[..bytes as usize].to_vec()).collect();
        heap.write(*o, 0, &all).expect("an object of the call");
    }
}

/// Whether inputs were made so that a promise is kept when a loop begins; `None`: it cannot be told.
pub(super) fn is_kept(body: &Body, kind: &ConditionKind, moved: &HashSet<SymbolId>) -> Option<bool> {
    match *kind {
        ConditionKind::Injective(array) | ConditionKind::InRange { array, .. } => {
            let s = body.as_symbol(array).filter(|s| !moved.contains(s))?;
            let is_parameter = matches!(body.symbols[s].storage, Storage::Param(_));
            let is_wide = |k: IntKind| k.bits() >= 16;
            let kind = body.types.element(body.symbols[s].ty).and_then(|e| body.types.as_int(e));
            (is_parameter && kind.is_some_and(is_wide) || matches!(kind, Some(IntKind::UChar)))
                .then_some(true)
        }
        // there is room for everything, and what is called does what it does
        ConditionKind::Size { .. } | ConditionKind::Pure(_) => Some(true),
        _ => None,
    }
}
