//! Variables that one iteration decides: last values, and extremes with what belongs to them.

use analysis::{Cells, Offload, Reduction, ReductionOp};
use term::{Body, Op, SymbolId, TermId, TypeId, TypeKind};

use super::build::Builder;
use super::naming::variable;
use super::support::Support;
use super::{ReductionPlan, RefusalKind};

/// Variables whose values after the loop are those of one iteration. Each thread keeps those of the best iteration it
/// ran, with that iteration's number; blocks and then the host choose among them.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyedPlan {
    pub choice: Choice,
    /// For extremes the first holds the value compared, unless `compared` does.
    pub variables: Vec<KeyedVariable>,
    /// Statements after which the thread notes its iteration; none: at the start of every iteration.
    pub marks: Vec<TermId>,
    /// Of an extreme that a variable names the cell of: the value compared, which a thread notes with its iteration. No variable of
    /// the program's holds it.
    pub compared: Option<Compared>,
    /// The thread's noted iteration, -1 before there is one.
    pub at_name: String,
    /// Names in the host block.
    pub device_name: String,
    pub partial_name: String,
    pub best_name: String,
}

/// The value compared where a variable names the cell that has it: `a[k]` of `if (a[i] < a[k]) k = i;`.
#[derive(Clone, PartialEq, Debug)]
pub struct Compared {
    pub term: TermId,
    pub ty: TypeId,
    /// The thread's own, and what blocks leave it in, here and on the device.
    pub name: String,
    pub partial_name: String,
    pub device_name: String,
}

/// Which iteration counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The last of those noted.
    Last,
    /// The one with the least or greatest value, of equal ones the first or the last.
    Extreme { least: bool, last: bool },
}

/// One variable, or one cell of memory, of a [`KeyedPlan`].
#[derive(Clone, PartialEq, Debug)]
pub struct KeyedVariable {
    pub symbol: SymbolId,
    /// As written; a cell of memory if `cell`.
    pub place: TermId,
    pub cell: bool,
    /// The thread's own.
    pub name: String,
    pub ty: TypeId,
    /// Threads begin with the value from before the loop, which they are given; else with one that is not used.
    pub begun: bool,
    /// Names in the host block.
    pub device_name: String,
    pub partial_name: String,
}

/// A variable or a cell of memory that the host puts a result of the kernel into, or that a reduction on the device ends in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) symbol: SymbolId,
    pub(crate) place: TermId,
    pub(crate) ty: TypeId,
    /// Whether it is a cell of memory.
    pub(crate) cell: bool,
}

/// What reductions end in, then what chosen values do.
pub(crate) fn held(reductions: &[ReductionPlan], keyed: &[KeyedPlan]) -> Vec<Held> {
    let of_reduction = |r: &ReductionPlan| Held { symbol: r.symbol, place: r.place, ty: r.ty, cell: r.cell };
    let of_chosen = |v: &KeyedVariable| Held { symbol: v.symbol, place: v.place, ty: v.ty, cell: v.cell };
    let chosen = keyed.iter().flat_map(|k| &k.variables).map(of_chosen);
    reductions.iter().map(of_reduction).chain(chosen).collect()
}

/// What a chosen value is put into.
struct Chosen {
    symbol: SymbolId,
    place: TermId,
    cell: bool,
    ty: TypeId,
}

impl Chosen {
    fn of(r: &Reduction) -> Chosen {
        Chosen { symbol: r.object.symbol, place: r.place, cell: r.cells == Cells::One, ty: r.ty }
    }

    /// `place` stands for the variable where the text is asked for a place.
    fn variable(body: &Body, symbol: SymbolId, place: TermId) -> Chosen {
        Chosen { symbol, place, cell: false, ty: body.symbols[symbol].ty }
    }
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn keyed(&mut self, support: &Support<'_>) -> Vec<KeyedPlan> {
        let offload = self.input.offload;
        let mut out = Vec::new();
        let kept: Vec<Chosen> = offload
            .privates
            .iter()
            .filter(|p| p.kept)
            .map(|p| Chosen::variable(self.body, p.symbol, self.target))
            .collect();
        if !kept.is_empty() {
            let group = self.group(Choice::Last, &kept, Vec::new());
            out.push(group);
        }
        for r in &offload.reductions {
            let s = r.object.symbol;
            match r.op {
                // A private that every iteration writes.
                ReductionOp::Last if r.updates.is_empty() => {}
                ReductionOp::Last => {
                    let marks = r.updates.clone();
                    if !marks.iter().all(|&u| self.is_statement(u)) {
                        self.refuse(RefusalKind::LastValue(s), r.place);
                    }
                    let group = self.group(Choice::Last, &[Chosen::of(r)], marks);
                    out.push(group);
                }
                ReductionOp::ArgMin { last } | ReductionOp::ArgMax { last } if r.key.is_none() => {
                    let least = matches!(r.op, ReductionOp::ArgMin { .. });
                    let with = offload.reductions.iter().filter(|o| o.key == Some(r.place));
                    let chosen: Vec<Chosen> = std::iter::once(r).chain(with).map(Chosen::of).collect();
                    let marks: Vec<TermId> =
                        r.updates.iter().filter_map(|&u| self.assignment_to(u, r.place)).collect();
                    for c in chosen.iter().filter(|c| c.cell) {
                        self.check_chosen_cell(c, r, support);
                    }
                    let called = r.updates.iter().any(|&u| *self.body.op(u) == Op::Call);
                    let compared = if chosen.len() < 2 { self.compared(r, support) } else { None };
                    if chosen.len() < 2 && compared.is_none() || called || marks.len() != r.updates.len() {
                        let cell = RefusalKind::ReductionCell;
                        let kind = if called { RefusalKind::CalledReduction(s) } else { cell };
                        self.refuse(kind, r.place);
                        continue;
                    }
                    let group = self.group(Choice::Extreme { least, last }, &chosen, marks);
                    let group = KeyedPlan { compared, ..group };
                    out.push(group);
                }
                // what belongs to an extreme goes with it
                ReductionOp::ArgMin { .. } | ReductionOp::ArgMax { .. }
                    if !offload.reductions.iter().any(|o| o.key.is_none() && r.key == Some(o.place)) =>
                {
                    self.refuse(RefusalKind::ReductionCell, r.place);
                }
                _ => {}
            }
        }
        if !out.is_empty() && self.band.len() != 1 {
            self.refuse(RefusalKind::NotParallel, self.target);
        }
        out
    }

    fn group(&mut self, choice: Choice, chosen: &[Chosen], marks: Vec<TermId>) -> KeyedPlan {
        let body = self.body;
        let mut variables = Vec::new();
        for &Chosen { symbol, place, cell, ty } in chosen {
            let v = &body.symbols[symbol];
            let q = body.types.quals(v.ty);
            let plain = body.types.is_arithmetic(v.ty)
                && v.is_own_scalar()
                && v.storage.is_of_call()
                && !(q.is_volatile || q.is_atomic);
            if !cell && !plain {
                self.refuse(RefusalKind::LastValue(symbol), self.target);
            }
            let name = variable(body, symbol);
            variables.push(KeyedVariable {
                symbol,
                place,
                cell,
                name: String::new(),
                ty,
                begun: !cell
                    && (self.input.offload.privates.iter().any(|p| p.symbol == symbol && p.copied_in)
                        || self
                            .input
                            .offload
                            .reductions
                            .iter()
                            .any(|r| r.object.symbol == symbol && names_cell(self.input.offload, r))),
                device_name: self.host_name(&format!("gpu_{name}")),
                partial_name: self.host_name(&format!("part_{name}")),
            });
        }
        let first = chosen.first().map_or_else(String::new, |c| variable(body, c.symbol));
        KeyedPlan {
            choice,
            variables,
            marks,
            compared: None,
            at_name: self.host_name(&format!("from_{first}")),
            device_name: self.host_name(&format!("gpu_at_{first}")),
            partial_name: self.host_name(&format!("part_at_{first}")),
            best_name: self.host_name(&format!("best_{first}")),
        }
    }

    /// Whether the term stands as a statement of its own in a block, or is all of a branch.
    fn is_statement(&self, t: TermId) -> bool {
        let parent = self.parents.get(t.0 as usize).copied().flatten();
        let is_branch = |p: TermId| *self.body.op(p) == Op::If && self.body.args(p).first() != Some(&t);
        if parent.is_some_and(is_branch) {
            return true;
        }
        let Some(p) = parent.filter(|&p| *self.body.op(p) == Op::List) else { return false };
        // A `for` header may be a list as well.
        let grand = self.parents.get(p.0 as usize).copied().flatten();
        !grand.is_some_and(|g| *self.body.op(g) == Op::For && self.body.args(g).first() == Some(&p))
    }

    /// `a[k]` of `if (a[i] < a[k]) k = i;`, where the comparison is all that decides and nothing but `k` moves in it.
    fn compared(&mut self, r: &Reduction, support: &Support<'_>) -> Option<Compared> {
        let body = self.body;
        let s = r.object.symbol;
        let own = |u: TermId| {
            let (Op::If, &[condition, _]) = (body.op(u), body.args(u)) else { return None };
            let (Op::Binary(_), &[x, y]) = (body.op(condition), body.args(condition)) else { return None };
            [x, y].into_iter().find(|&side| body.walk(side).any(|t| body.same(t, r.place)))
        };
        let term = own(*r.updates.first()?)?;
        let moves = |t: TermId| {
            body.as_symbol(t).is_some_and(|o| {
                o != s
                    && (support.declared.contains_key(&o)
                        || support.written.contains_key(&o)
                        || support.moves(o))
            })
        };
        let alike = r.updates.iter().all(|&u| own(u).is_some_and(|t| body.same(t, term)));
        let always = r.updates.iter().all(|&u| self.every_iteration(u));
        if r.cells == Cells::One || !alike || !always || body.walk(term).any(moves) {
            return None;
        }
        let name = variable(body, s);
        Some(Compared {
            term,
            ty: body.ty(term),
            name: self.host_name(&format!("key_{name}")),
            partial_name: self.host_name(&format!("part_best_{name}")),
            device_name: self.host_name(&format!("gpu_best_{name}")),
        })
    }

    /// Whether the host can name a cell that is chosen for. It is set, and read, only where an iteration was chosen, which has read
    /// or set it, too.
    fn check_chosen_cell(&mut self, c: &Chosen, r: &Reduction, support: &Support<'_>) {
        let body = self.body;
        let fixed = self.is_fixed(c.place, support);
        let called = r.updates.iter().any(|&u| *body.op(u) == Op::Call);
        let is_named = matches!(body.op(c.place), Op::Index | Op::Deref | Op::Member { .. });
        // pointers in memory that lead there are looked at before the loop
        let reads = body.walk(c.place).skip(1).any(|t| match body.op(t) {
            Op::Deref | Op::Member { .. } | Op::Index => {
                matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. })
            }
            op => *op == Op::Call,
        });
        if !fixed || called || !is_named || reads {
            self.refuse(RefusalKind::ReductionCell, c.place);
        }
    }

    /// In `if (x < m) { m = x; k = i; }`, the assignment to `m`.
    fn assignment_to(&self, statement: TermId, place: TermId) -> Option<TermId> {
        let body = self.body;
        body.walk(statement).find(|&t| {
            *body.op(t) == Op::Assign
                && body.args(t).first().is_some_and(|&p| body.same(p, place))
                && self.is_statement(t)
        })
    }
}

/// Whether a reduction's variable names the cell that holds the extreme.
pub(super) fn names_cell(offload: &Offload, r: &Reduction) -> bool {
    matches!(r.op, ReductionOp::ArgMin { .. } | ReductionOp::ArgMax { .. })
        && r.key.is_none()
        && !offload.reductions.iter().any(|o| o.key == Some(r.place))
}

/// Whether a reduction is kept with the iteration that decides it.
pub(super) fn is_keyed(r: &Reduction) -> bool {
    matches!(r.op, ReductionOp::ArgMin { .. } | ReductionOp::ArgMax { .. } | ReductionOp::Last)
}
