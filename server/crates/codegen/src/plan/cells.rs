//! Reductions into memory: one cell gets an accumulator of its own, cells that threads may meet in get atomics.

use std::collections::BTreeSet;

use analysis::{Cells, Reduction, ReductionOp};
use term::device::AtomicOp;
use term::{BinOp, Body, FloatKind, Op, Storage, SymbolId, TermId, TypeKind};

use super::build::Builder;
use super::support::Support;
use super::{AtomicKind, AtomicPlan, BufferPlan, Held, Operand, RefusalKind, Scalar, TestKind};

impl<'a> Builder<'_, 'a> {
    /// The places that get an accumulator in the kernel; nothing of them is printed.
    pub(super) fn cell_places(&self) -> Vec<TermId> {
        let cells = self.input.offload.reductions.iter().filter(|r| r.cells == Cells::One);
        cells.map(|r| r.place).collect()
    }

    /// Whether the host can combine into the cell after the launch: it names it before the loop, and every iteration
    /// touches it, so that it is there.
    pub(super) fn check_cell(&mut self, r: &Reduction, support: &Support<'_>) {
        let body = self.body;
        let fixed = self.is_fixed(r.place, support);
        let member = !body
            .walk(r.place)
            .any(|t| matches!(body.op(t), Op::Index | Op::Deref | Op::Member { arrow: true, .. }));
        // all of a declared array is there
        let declared = body.as_symbol(body.args(r.place).first().copied().unwrap_or(r.place));
        let is_whole = *body.op(r.place) == Op::Index
            && declared.is_some_and(|s| body.types.size_align(body.symbols[s].ty).is_some())
            && declared
                .is_some_and(|s| matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. }))
            && body.args(r.place).get(1).is_some_and(|&i| *body.op(i) == Op::Int(0));
        let own = self.is_managed() && self.is_own_field(r.place);
        let reached = member || own || is_whole || r.updates.iter().any(|&u| self.every_iteration(u));
        // What a called function accumulates has no name here.
        let named = matches!(body.op(r.place), Op::Index | Op::Deref | Op::Member { .. });
        if !fixed || !reached || !named {
            self.refuse(RefusalKind::ReductionCell, r.place);
        }
    }

    /// Whether nothing that the place is told by changes while the loop runs.
    pub(super) fn is_fixed(&self, place: TermId, support: &Support<'_>) -> bool {
        let moves = |s: SymbolId| {
            support.declared.contains_key(&s)
                || support.written.contains_key(&s)
                || support.moves(s)
                || self.band.iter().any(|b| b.1.index == s)
        };
        !self.body.walk(place).any(|t| self.body.as_symbol(t).is_some_and(moves))
    }

    /// Whether the statement runs in every iteration of the parallel loops: nothing but blocks stand around it, and
    /// no jump before it.
    pub(super) fn every_iteration(&self, statement: TermId) -> bool {
        let body = self.body;
        let Some(inner) = self.band.last().and_then(|b| body.args(b.0.term).get(3).copied()) else {
            return false;
        };
        let mut at = statement;
        while at != inner {
            match self.parents.get(at.0 as usize).copied().flatten() {
                Some(p) if *body.op(p) == Op::List => at = p,
                _ => return false,
            }
        }
        !body.walk(inner).any(|t| matches!(body.op(t), Op::Continue | Op::Break))
    }

    pub(super) fn atomics(&mut self) -> Vec<AtomicPlan> {
        let mut out = Vec::new();
        for r in self.input.offload.reductions.iter().filter(|r| r.cells == Cells::Many) {
            for &u in &r.updates {
                match atomic(self.body, r, u) {
                    Some(parts) => out.extend(parts),
                    None => self.refuse(RefusalKind::NoAtomic(r.object.symbol), u),
                }
            }
        }
        out
    }

    /// What must be tested for accumulators that stand for cells: nothing else the kernel uses may show the cell.
    pub(super) fn cell_tests(
        &self,
        buffers: &[BufferPlan],
        scalars: &[Scalar],
        held: &[Held],
    ) -> Vec<TestKind> {
        let body = self.body;
        let declared = |s: SymbolId| !matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. });
        let mut out = Vec::new();
        for (cell, r) in held.iter().enumerate().filter(|(_, r)| r.cell) {
            for (buffer, b) in buffers.iter().enumerate() {
                // Other cells of the same object were told apart by subscript.
                let distinct = b.symbol == r.symbol
                    || (declared(b.symbol) && declared(r.symbol))
                    || self.restrict_parts(b.symbol, r.symbol);
                if !distinct {
                    out.push(TestKind::CellInBuffer { cell, buffer });
                }
            }
            for (other, o) in held.iter().enumerate().filter(|(k, _)| *k != cell) {
                let distinct = (o.symbol == r.symbol && o.cell)
                    || (declared(o.symbol) && declared(r.symbol))
                    || (!o.cell && body.symbols[o.symbol].is_own_scalar())
                    || (o.cell && other < cell);
                if !distinct && o.cell {
                    out.push(TestKind::CellInCell { cell, other });
                } else if !distinct {
                    out.push(TestKind::CellInVariable { cell, symbol: o.symbol });
                }
            }
            if declared(r.symbol) {
                continue;
            }
            let mut seen: BTreeSet<SymbolId> = BTreeSet::new();
            let others = scalars.iter().map(|s| s.symbol).filter(|&s| !body.symbols[s].is_own_scalar());
            for symbol in others.filter(|&s| seen.insert(s)) {
                out.push(TestKind::CellInVariable { cell, symbol });
            }
        }
        out
    }

    /// Whether the variable has an address of its own that a test can name.
    pub(super) fn is_addressable(&self, s: SymbolId) -> bool {
        matches!(
            self.body.symbols[s].storage,
            Storage::Param(_) | Storage::Local | Storage::StaticLocal { .. } | Storage::Global { .. }
        )
    }
}

/// How one accumulating statement is done atomically, a part of its sum after the other; `None` if the device has no such operation.
fn atomic(body: &Body, r: &Reduction, statement: TermId) -> Option<Vec<AtomicPlan>> {
    let op = match r.op {
        ReductionOp::Add => AtomicOp::Add,
        ReductionOp::Min => AtomicOp::Min,
        ReductionOp::Max => AtomicOp::Max,
        ReductionOp::BitAnd => AtomicOp::And,
        ReductionOp::BitOr => AtomicOp::Or,
        ReductionOp::BitXor => AtomicOp::Xor,
        _ => return None,
    };
    let kind = match body.types.kind(r.ty) {
        TypeKind::Int(k) if k.bits() == 32 && k.signed() => AtomicKind::Int,
        TypeKind::Int(k) if k.bits() == 32 => AtomicKind::UInt,
        TypeKind::Int(k) if k.bits() == 64 => match op {
            AtomicOp::Min | AtomicOp::Max if k.signed() => AtomicKind::SignedWide,
            _ => AtomicKind::Wide,
        },
        TypeKind::Float(FloatKind::F32) if op == AtomicOp::Add => AtomicKind::Float,
        TypeKind::Float(FloatKind::F64) if op == AtomicOp::Add => AtomicKind::Double,
        _ => return None,
    };
    let args = body.args(statement);
    let (place, operand, negated) = match body.op(statement) {
        Op::Compound(b) => (args[0], Operand::Term(args[1]), *b == BinOp::Sub),
        Op::Step { delta, .. } => (args[0], Operand::Constant(i64::from(*delta)), false),
        Op::Assign => {
            let (place, value) = (args[0], args[1]);
            let parts = body.args(value);
            match body.op(value) {
                Op::Binary(b) if body.same(parts[0], place) => {
                    (place, Operand::Term(parts[1]), *b == BinOp::Sub)
                }
                Op::Binary(b) if body.same(parts[1], place) && *b != BinOp::Sub => {
                    (place, Operand::Term(parts[0]), false)
                }
                Op::Binary(BinOp::Add | BinOp::Sub) if op == AtomicOp::Add => {
                    let plan = |(part, negated)| {
                        let operand = Operand::Term(part);
                        AtomicPlan { statement, place, op, kind, operand, negated }
                    };
                    return Some(addends(body, place, value)?.into_iter().map(plan).collect());
                }
                Op::Select if body.same(parts[1], place) => (place, Operand::Term(parts[2]), false),
                Op::Select if body.same(parts[2], place) => (place, Operand::Term(parts[1]), false),
                _ => return None,
            }
        }
        Op::If => {
            let mut then = *args.get(1)?;
            if let (Op::List, &[only]) = (body.op(then), body.args(then)) {
                then = only;
            }
            let (Op::Assign, &[place, value]) = (body.op(then), body.args(then)) else { return None };
            (place, Operand::Term(value), false)
        }
        _ => return None,
    };
    Some(vec![AtomicPlan { statement, place, op, kind, operand, negated }])
}

/// What is added to a place, `a` and `b` of `y + a - b`, in the order of the text, and whether it is subtracted; the sums have the
/// place's own type.
fn addends(body: &Body, place: TermId, value: TermId) -> Option<Vec<(TermId, bool)>> {
    let mut out = Vec::new();
    let mut at = value;
    while !body.same(at, place) {
        let &[a, b] = body.args(at) else { return None };
        let Op::Binary(op @ (BinOp::Add | BinOp::Sub)) = *body.op(at) else { return None };
        if body.types.kind(body.ty(at)) != body.types.kind(body.ty(place)) {
            return None;
        }
        let holds = |side: TermId| body.walk(side).any(|x| body.same(x, place));
        let (on, part) = match (holds(a), holds(b)) {
            (true, false) => (a, (b, op == BinOp::Sub)),
            (false, true) if op == BinOp::Add => (b, (a, false)),
            _ => return None,
        };
        out.push(part);
        at = on;
    }
    out.reverse();
    Some(out)
}
