//! Subscripts that are computed in 32 bits and need more: with the launch that is known, a thread at the far end of the grid gets a
//! sum, product or variable that does not hold its value.
//!
//! A finding is a witness: the thread reaches the access, and both operands are known. Only the last and first threads of the last
//! block and the first one are asked, and loops are in their first round. What goes through a remainder, a mask or a shift may
//! wrap on purpose (hashes) and is left alone.

use rustc_hash::FxHashSet;
use term::{BinOp, Body, IntKind, Op, SymbolId, TermId};

use super::collect::{DefinitionKind, Seen};
use super::eval::{Indices, Machine};
use super::{access, KernelLaunch};

/// An operation, or a variable's value, that 32 bits do not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexOverflow {
    /// The operation, or the value that a variable is given.
    pub term: TermId,
    /// The variable that is too small.
    pub variable: Option<SymbolId>,
    /// The access whose subscript it is part of.
    pub access: TermId,
    pub value: i128,
    /// The largest number of the type.
    pub most: i128,
    pub block: [u32; 3],
    pub thread: [u32; 3],
}

pub(super) fn overflows(body: &Body, seen: &Seen, launch: &KernelLaunch) -> Vec<IndexOverflow> {
    let (Some(grid), Some(block)) = (launch.grid, launch.block) else { return Vec::new() };
    if seen.unstructured.is_some() {
        return Vec::new();
    }
    let m = Machine { body, seen, grid, block, values: launch.values.clone(), lanes: launch.limits.lanes };
    let last = |e: [u32; 3]| e.map(|x| x.saturating_sub(1));
    let corners = [(last(grid), last(block)), (last(grid), [0; 3]), ([0; 3], last(block))];
    let mut out: Vec<IndexOverflow> = Vec::new();
    for a in seen.accesses.iter().filter(|a| !a.at.murky) {
        let Some(place) = access::place(body, a.place) else { continue };
        for (block, thread) in corners {
            let at = Indices { block, thread };
            if m.reaches(&a.at, at) != Some(true) {
                continue;
            }
            for &(index, _) in &place.parts {
                let mut look = Look { m: &m, at, found: Vec::new(), open: FxHashSet::default() };
                look.term(index, 0);
                for (term, variable, value, most) in look.found {
                    if !out.iter().any(|o| o.term == term) {
                        out.push(IndexOverflow {
                            term,
                            variable,
                            access: a.term,
                            value,
                            most,
                            block,
                            thread,
                        });
                    }
                }
            }
        }
    }
    out
}

struct Look<'m, 'a> {
    m: &'m Machine<'a>,
    at: Indices,
    found: Vec<(TermId, Option<SymbolId>, i128, i128)>,
    open: FxHashSet<SymbolId>,
}

impl Look<'_, '_> {
    fn term(&mut self, t: TermId, depth: u32) {
        let body = self.m.body;
        if depth > 60 {
            return;
        }
        match (body.op(t), body.args(t)) {
            (Op::Sym(s), _) => self.variable(*s, depth),
            (Op::Cast, &[a]) => self.term(a, depth + 1),
            (Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul), &[a, b]) => {
                let before = self.found.len();
                self.term(a, depth + 1);
                self.term(b, depth + 1);
                // what is made of it follows
                if self.found.len() > before {
                    return;
                }
                let kind = |t: TermId| body.types.as_int(body.ty(t));
                let (Some(ka), Some(kb)) = (kind(a), kind(b)) else { return };
                let kind = ka.promoted().common(kb.promoted());
                if let Some(exact) = self.exact(t, 0) {
                    self.note(t, None, kind, exact);
                }
            }
            _ => {}
        }
    }

    /// The value as a whole number without end: `0u - 4` is -4, and an `int` takes it as that.
    fn exact(&self, t: TermId, depth: u32) -> Option<i128> {
        let body = self.m.body;
        if depth > 60 {
            return None;
        }
        let of = |t: TermId| self.exact(t, depth + 1);
        let narrow = |k| body.arithmetic(t).promotes(k);
        let wide = |t: TermId| body.types.as_int(body.ty(t)).is_some_and(|k| !narrow(k));
        match (body.op(t), body.args(t)) {
            (Op::Cast, &[a]) if wide(a) && wide(t) => of(a),
            (Op::Binary(BinOp::Add), &[a, b]) => of(a)?.checked_add(of(b)?),
            (Op::Binary(BinOp::Sub), &[a, b]) => of(a)?.checked_sub(of(b)?),
            (Op::Binary(BinOp::Mul), &[a, b]) => of(a)?.checked_mul(of(b)?),
            (&Op::Sym(s), _) => match self.init(s) {
                Some(init) => of(init),
                None => self.m.eval(t, self.at, 0),
            },
            _ => self.m.eval(t, self.at, 0),
        }
    }

    /// What a variable that is set once, or by its loop's header, begins with.
    fn init(&self, s: SymbolId) -> Option<TermId> {
        let [first] = self.m.seen.definitions.get(&s).map(Vec::as_slice)? else { return None };
        match (first.kind, first.from.as_slice()) {
            (DefinitionKind::Declared(_), &[init]) if !self.m.seen.exposed.contains(&s) => Some(init),
            _ => None,
        }
    }

    fn variable(&mut self, s: SymbolId, depth: u32) {
        let body = self.m.body;
        let Some(kind) = body.types.as_int(body.symbols[s].ty) else { return };
        let Some(init) = self.init(s) else { return };
        if !self.open.insert(s) {
            return;
        }
        let before = self.found.len();
        self.term(init, depth + 1);
        if self.found.len() > before {
            return;
        }
        if let Some(v) = self.exact(init, 0) {
            self.note(init, Some(s), kind, v);
        }
    }

    fn note(&mut self, t: TermId, variable: Option<SymbolId>, kind: IntKind, value: i128) {
        if kind.bits() == 32 && value > kind.max() {
            self.found.push((t, variable, value, kind.max()));
        }
    }
}
