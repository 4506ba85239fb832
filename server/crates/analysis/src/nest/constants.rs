//! Arrays of whole numbers that keep their first values for as long as the program runs: directions of a lattice, permutations,
//! offsets of neighbours. An element is a value of its own, between the least and the largest of them, wherever it is read; two
//! reads of one element give one value. Deliberately absent: which element has which value.

use rustc_hash::FxHashSet;
use term::{Body, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::limits::nest_constants::MOST_ELEMENTS;
use crate::nest::builder::Builder;

/// What an array holds.
pub(super) struct Elements {
    pub least: i128,
    pub most: i128,
    /// No two elements of its one dimension are equal.
    pub distinct: bool,
}

impl Builder<'_> {
    /// What an array holds that never changes, if its initialiser is whole numbers alone.
    pub(super) fn constant_elements(&self, s: SymbolId) -> Option<Elements> {
        let symbol = &self.body.symbols[s];
        match symbol.storage {
            Storage::Global { .. } => {
                let known = self.program.constant(&symbol.name)?;
                elements(&known.body, known.body.symbols[known.symbol].ty, known.init?)
            }
            // to write what is defined as `const` is undefined (C11 6.7.3p6)
            Storage::Local | Storage::StaticLocal { .. } if self.body.types.is_constant(symbol.ty) => {
                let declared = |t: &TermId| *self.body.op(*t) == Op::Declare(s);
                let mut all = self.body.walk(self.body.root).filter(declared);
                let init = all.next().filter(|_| all.next().is_none())?;
                elements(self.body, symbol.ty, *self.body.args(init).first()?)
            }
            _ => None,
        }
    }
}

/// The elements of an array of this type that begins so. What the list leaves out is 0 (C11 6.7.9p21).
fn elements(body: &Body, ty: TypeId, init: TermId) -> Option<Elements> {
    let (mut of, mut count, mut rank) = (ty, 1u64, 0);
    while let TypeKind::Array { of: inner, len } = body.types.kind(of) {
        let Len::Const(n) = len else { return None };
        (of, count, rank) = (*inner, count.checked_mul(*n)?, rank + 1);
    }
    let kind = body.types.as_int(of)?;
    let quals = body.types.quals(of);
    if rank == 0 || count > MOST_ELEMENTS || quals.is_volatile || quals.is_atomic {
        return None;
    }
    let mut values: Vec<i128> = Vec::new();
    let mut open = vec![init];
    while let Some(t) = open.pop() {
        match body.op(t) {
            Op::InitList => open.extend(body.args(t)),
            _ => values.push(number(body, t).filter(|v| (kind.min()..=kind.max()).contains(v))?),
        }
    }
    let is_short = (values.len() as u64) < count;
    if is_short {
        values.push(0);
    }
    let (least, most) = (*values.iter().min()?, *values.iter().max()?);
    let mut seen = FxHashSet::default();
    let distinct = rank == 1 && !is_short && values.iter().all(|v| seen.insert(*v));
    Some(Elements { least, most, distinct })
}

/// A literal with its sign.
fn number(body: &Body, t: TermId) -> Option<i128> {
    match (body.op(t), body.args(t)) {
        (Op::Int(v), _) => Some(*v),
        (Op::Sym(s), _) => match body.symbols[*s].storage {
            Storage::Constant(v) => Some(v),
            _ => None,
        },
        (Op::Unary(UnOp::Neg), &[of]) => body.as_int(of).map(|v| -v),
        (Op::Unary(UnOp::Plus), &[of]) => body.as_int(of),
        _ => None,
    }
}
