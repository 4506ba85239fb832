//! Which variables of a stretch become cells on the device: numbers that only kernels and single statements need.

use base::Budget;
use rustc_hash::FxHashSet;
use term::{Body, Op, SymbolId, TermId, TypeKind};

use super::alone::{Begin, Lone};
use crate::flow::liveness::{self, Liveness};
use crate::{Cells, LoopId, ReductionOp};

impl Lone<'_> {
    /// Floating variables that nothing on the host needs: from now on each is a cell on the device, declared by what is
    /// returned. They are set by what reads memory or by loops that accumulate, and nobody reads them behind the statements.
    pub(super) fn cells_of(&mut self, statements: &[TermId], budget: &Budget) -> Begin {
        let mut uses = Uses::default();
        statements.iter().for_each(|&t| uses.of(self, t));
        let Some(exposed) = liveness::exposed_reads(self.body, statements, budget) else {
            return Begin::default();
        };
        let live = Liveness::new(self.body, budget);
        let body = self.body;
        let within: FxHashSet<TermId> = statements.iter().flat_map(|&t| body.walk(t)).collect();
        let elsewhere: FxHashSet<SymbolId> = body
            .walk(body.root)
            .filter(|t| !within.contains(t))
            .filter_map(|t| match body.op(t) {
                Op::Sym(s) => Some(*s),
                _ => None,
            })
            .collect();
        let is_dead = |s: SymbolId| match statements.last() {
            Some(&last) if body.op(last).is_loop() => !live.is_live_after(last, s),
            _ => !elsewhere.contains(&s),
        };
        let mut chosen: FxHashSet<SymbolId> = body
            .symbols
            .iter_ids()
            .filter(|(_, s)| s.is_own_scalar() && matches!(body.types.kind(s.ty), TypeKind::Float(_)))
            .map(|(s, _)| s)
            .filter(|s| !uses.pinned.contains(s) && is_dead(*s))
            .filter(|s| !is_promised(body, *s))
            .collect();
        loop {
            let before = chosen.len();
            for &t in &uses.statements {
                if !self.is_alone(t, &chosen) {
                    let named = body.walk(t).filter_map(|x| body.as_symbol(x)).collect::<Vec<_>>();
                    let declared = match body.op(t) {
                        Op::Declare(s) => Some(*s),
                        _ => None,
                    };
                    named.into_iter().chain(declared).for_each(|s| {
                        chosen.remove(&s);
                    });
                }
            }
            // what memory or a sum on the device goes into
            let mut needed: FxHashSet<SymbolId> = uses.summed.intersection(&chosen).copied().collect();
            loop {
                let count = needed.len();
                for &t in &uses.statements {
                    let reads = body.walk(t).any(|x| match body.op(x) {
                        Op::Index | Op::Deref | Op::Member { .. } => true,
                        Op::Sym(s) => needed.contains(s),
                        _ => false,
                    });
                    if reads {
                        needed.extend(written_by(body, t).filter(|s| chosen.contains(s)));
                    }
                }
                if needed.len() == count {
                    break;
                }
            }
            chosen = needed;
            if chosen.len() == before {
                break;
            }
        }
        let mut all: Vec<SymbolId> = chosen.into_iter().collect();
        all.sort_unstable();
        let (mut declared, mut first) = (FxHashSet::default(), Begin::default());
        for &t in &within {
            if let Op::Declare(s) = body.op(t) {
                declared.insert(*s);
            }
        }
        for s in all {
            let (name, ty) = (body.symbols[s].name.clone(), body.symbols[s].ty);
            let cell = self.cell(&name, ty);
            self.cells.insert(s, cell);
            self.any = true;
            let Some(&like) = statements.first().filter(|_| !declared.contains(&s)) else { continue };
            first.declared.push(self.void(Op::Declare(cell), Vec::new(), like));
            if exposed.contains(&s) {
                let (place, value) = (self.at_cell(cell, like), self.term(Op::Sym(s), Vec::new(), ty, like));
                first.set.push(self.term(Op::Assign, vec![place, value], ty, like));
            }
        }
        first
    }
}

/// Whether a promise speaks of a variable.
fn is_promised(body: &Body, s: SymbolId) -> bool {
    let terms = body.said.promises.iter().flat_map(|p| p.says.terms());
    terms.flat_map(|t| body.walk(t)).any(|t| body.as_symbol(t) == Some(s))
}

/// Variables that a statement sets or declares with a value.
fn written_by(body: &Body, t: TermId) -> impl Iterator<Item = SymbolId> + '_ {
    body.walk(t).filter_map(|x| match body.op(x) {
        Op::Declare(s) if !body.args(x).is_empty() => Some(*s),
        op if op.is_write() => body.args(x).first().and_then(|&p| body.as_symbol(p)),
        _ => None,
    })
}

/// How the variables of a stretch are used.
#[derive(Default)]
struct Uses {
    /// Those of which the host needs the value: it decides, or counts rounds, or they are loops' own.
    pinned: FxHashSet<SymbolId>,
    /// Those that loops accumulate in, and nothing else.
    summed: FxHashSet<SymbolId>,
    /// Statements without loops.
    statements: Vec<TermId>,
}

impl Uses {
    fn of(&mut self, lone: &Lone<'_>, t: TermId) {
        let body = lone.body;
        let named = |t: TermId| body.walk(t).filter_map(|x| body.as_symbol(x)).collect::<Vec<_>>();
        if let Some(k) = lone.terms.iter().position(|&x| x == t) {
            self.of_nest(lone, lone.nests[k]);
            return;
        }
        match (body.op(t), body.args(t)) {
            (Op::List | Op::If, _) if lone.is_alone(t, &FxHashSet::default()) => {
                self.pinned.extend(body.walk(t).filter_map(|x| match body.op(x) {
                    Op::Declare(s) => Some(*s),
                    _ => None,
                }));
                self.statements.push(t);
            }
            (Op::List, args) => args.iter().for_each(|&a| self.of(lone, a)),
            (Op::If, &[condition, ref arms @ ..]) => {
                self.pinned.extend(named(condition));
                arms.iter().for_each(|&a| self.of(lone, a));
            }
            (op, args) if op.is_loop() => {
                let inner = body.loop_parts(t).map(|p| p.body);
                for &a in args {
                    match Some(a) == inner {
                        true => self.of(lone, a),
                        false => self.pinned.extend(named(a)),
                    }
                }
            }
            (Op::Switch, _) => self.pinned.extend(named(t)),
            (Op::Empty | Op::Mark(_), _) => {}
            _ => self.statements.push(t),
        }
    }

    fn of_nest(&mut self, lone: &Lone<'_>, id: LoopId) {
        let (body, l) = (lone.body, &lone.facts.loops[id]);
        let summed: Vec<SymbolId> = l
            .reductions
            .iter()
            .filter(|r| r.cells == Cells::Variable && r.key.is_none() && is_order_free(body, r))
            .map(|r| r.object.symbol)
            .collect();
        let own = |s: &SymbolId| l.privates.iter().any(|p| p.symbol == *s && !p.kept);
        // all that a kernel leaves is summed, or stays on the device
        let only =
            l.reductions.iter().all(|r| summed.contains(&r.object.symbol) || r.cells != Cells::Variable);
        for x in body.walk(l.term) {
            match body.op(x) {
                Op::Declare(s) => {
                    self.pinned.insert(*s);
                }
                op if op.is_write() => {
                    let place = body.args(x).first().and_then(|&p| body.as_symbol(p));
                    if let Some(s) = place.filter(|s| !own(s)) {
                        match only && summed.contains(&s) {
                            true => self.summed.insert(s),
                            false => self.pinned.insert(s),
                        };
                    }
                }
                _ => {}
            }
        }
        let mixed = !only || !l.inductions.is_empty() || l.reductions.iter().any(|r| r.cells == Cells::One);
        if mixed {
            self.pinned.extend(summed);
        }
        // how often it runs is the host's matter
        for x in body.loops(l.term) {
            let inner = body.loop_parts(x).map(|p| p.body);
            let header = body.args(x).iter().filter(|&&a| Some(a) != inner);
            self.pinned.extend(header.flat_map(|&a| body.walk(a)).filter_map(|x| body.as_symbol(x)));
        }
    }
}

/// Whether a sum's parts can be put together on the device: the order of NaN decides nothing.
fn is_order_free(body: &Body, r: &crate::Reduction) -> bool {
    let plain = matches!(r.op, ReductionOp::Add | ReductionOp::Mul);
    plain && body.types.as_float(r.ty).is_some()
}
