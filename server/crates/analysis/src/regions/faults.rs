//! Clauses held to what the statements do.

use term::{Clause, Combiner, Construct, Directive, Op, Sharing, Storage, SymbolId, TermId, TypeKind};

use super::flow::{combines, first, trips, First};
use super::Regions;
use crate::facts::{Cells, Facts, LoopFacts, LoopId, ReductionOp, Verdict};
use crate::Program;

/// Something that is wrong with a directive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Position among the directives.
    pub directive: usize,
    pub kind: FaultKind,
    /// The term that shows it.
    pub at: TermId,
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Several threads write a variable that they share.
    Race { symbol: SymbolId, need: Need },
    /// A thread's own copy is read before anything is written to it.
    Unset { symbol: SymbolId },
    /// What is read after the loop was each thread's own, and is gone.
    Lost { symbol: SymbolId },
    /// A reduction clause combines otherwise than the loop does.
    Combined { symbol: SymbolId, said: Combiner, found: Combiner },
    /// Iterations that the directive lets run at once depend on each other: the first dependence of the loop is proved.
    Dependent { of: LoopId, collapsed: bool },
    /// No `for` follows.
    NotALoop,
    /// `collapse` speaks of more loops than stand directly inside one another.
    TooFewLoops { wanted: u32, found: u32 },
    /// A `break`, `return` or `goto` leaves what must be left at its end.
    Left,
    /// `default(none)`, and no clause says whose the variable is.
    Unlisted { symbol: SymbolId },
}

/// What a shared variable that threads write would have to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Written before it is read in every iteration.
    Private,
    /// Likewise, and read after the loop.
    LastPrivate,
    /// Accumulated.
    Reduction(ReductionOp),
    /// Moves from iteration to iteration by a known amount.
    Induction,
    /// A value that passes from iteration to iteration.
    Carried,
    /// Every thread of the region runs the statement.
    Everyone,
}

impl Regions<'_> {
    /// Everything that is wrong, in textual order. `facts` are those of the same body.
    pub fn faults(&self, program: &Program, facts: &Facts) -> Vec<Fault> {
        let mut out = Vec::new();
        for (k, d) in self.directives.iter().enumerate() {
            let Some(target) = d.target else { continue };
            let mut found: Vec<(TermId, FaultKind)> = Vec::new();
            self.form(d, target, &mut found);
            if d.shares_out() || d.has(Construct::Simd) {
                self.shared_out(d, target, program, facts, &mut found);
            }
            if d.has(Construct::Parallel)
                && !d.wants_loop()
                && !d.has(Construct::Sections)
                && !d.has(Construct::Masked)
            {
                self.everyone(d, target, &mut found);
            }
            self.combiners(d, target, &mut found);
            self.unset(d, target, facts, &mut found);
            self.unlisted(d, target, &mut found);
            out.extend(found.into_iter().map(|(at, kind)| Fault { directive: k, kind, at }));
        }
        out
    }

    /// What C and OpenMP ask of the statement's form.
    fn form(&self, d: &Directive, target: TermId, out: &mut Vec<(TermId, FaultKind)>) {
        let body = self.body;
        if !d.wants_loop() {
            return;
        }
        if *body.op(target) != Op::For {
            if !matches!(body.op(target), Op::Reject(_)) && d.understood {
                out.push((target, FaultKind::NotALoop));
            }
            return;
        }
        let mut loops = vec![target];
        if let Some(wanted) = d.levels() {
            while (loops.len() as u32) < wanted {
                let inner =
                    loops.last().and_then(|&l| body.loop_parts(l)).and_then(|p| self.only_loop(p.body));
                match inner {
                    Some(l) => loops.push(l),
                    None => {
                        let found = loops.len() as u32;
                        // statements between the loops may come of a macro or a later version's permission
                        out.push((target, FaultKind::TooFewLoops { wanted, found }));
                        break;
                    }
                }
            }
        }
        let mut stack: Vec<TermId> = body.loop_parts(target).map(|p| p.body).into_iter().collect();
        while let Some(t) = stack.pop() {
            match body.op(t) {
                Op::Return => out.push((t, FaultKind::Left)),
                Op::Break => out.push((t, FaultKind::Left)),
                Op::Switch => {
                    let inner = body.walk(t).find(|&x| *body.op(x) == Op::Return);
                    out.extend(inner.map(|x| (x, FaultKind::Left)));
                }
                op if op.is_loop() && !loops.contains(&t) => {
                    let inner = body.walk(t).find(|&x| *body.op(x) == Op::Return);
                    out.extend(inner.map(|x| (x, FaultKind::Left)));
                }
                _ => stack.extend(body.args(t)),
            }
        }
    }

    /// Variables of iterations that run at once, and dependences between them.
    fn shared_out(
        &self,
        d: &Directive,
        target: TermId,
        program: &Program,
        facts: &Facts,
        out: &mut Vec<(TermId, FaultKind)>,
    ) {
        let body = self.body;
        let lanes = !d.shares_out();
        // who runs the iterations: a team, or lanes; a worksharing loop without a team is just a loop
        let team = |d: &&Directive| d.has(Construct::Parallel) || d.has(Construct::Teams);
        let region = match lanes {
            true => Some(d),
            false => self.around(target).skip_while(|x| !std::ptr::eq(*x, d)).find(team),
        };
        let Some(region) = region else { return };
        let alone = |d: &Directive| d.clauses.contains(&Clause::OneThread);
        let (Some(id), Some(root)) = (facts.of_term(target), region.target) else { return };
        if alone(region) || alone(d) || self.locks(root) || trips(body, target).is_some_and(|n| n < 2) {
            return;
        }
        let l = &facts.loops[id];
        let Some(inner) = self.innermost(d, target) else { return };
        let mut seen: Vec<SymbolId> = self.indices(d, target);
        for t in body.walk(inner) {
            if !body.op(t).is_write() {
                continue;
            }
            let Some(s) = body.args(t).first().and_then(|&p| body.as_symbol(p)) else { continue };
            let quals = body.types.quals(body.symbols[s].ty);
            if seen.contains(&s) || quals.is_volatile || quals.is_atomic {
                continue;
            }
            if self.is_shared(s, t, region) != Some(true) || self.is_ordered(t, d) {
                continue;
            }
            let proved = l.verdict == Verdict::Sequential
                && l.dependences.iter().any(|x| x.object.symbol == s && x.witness.is_some());
            if !proved && !self.is_run(t, inner, true) {
                continue;
            }
            let need = need(l, s);
            // lanes: what each writes before it reads is each lane's own to every compiler
            if lanes && matches!(need, Need::Private | Need::LastPrivate | Need::Induction) {
                continue;
            }
            seen.push(s);
            out.push((t, FaultKind::Race { symbol: s, need }));
        }
        for r in &l.reductions {
            let s = r.object.symbol;
            let one = r.cells == Cells::One;
            let at = r.updates.first().copied().unwrap_or(r.place);
            if !one || seen.contains(&s) || self.is_shared(s, at, region) != Some(true) {
                continue;
            }
            if !r.updates.is_empty()
                && r.updates.iter().all(|&u| !self.is_ordered(u, d) && self.is_run(u, inner, true))
            {
                seen.push(s);
                out.push((at, FaultKind::Race { symbol: s, need: Need::Reduction(r.op) }));
            }
        }
        self.dependent(d, id, region, facts, false, &mut seen, out);
        let mut at = target;
        for _ in 1..d.levels().unwrap_or(1) {
            let next = body.loop_parts(at).and_then(|p| self.only_loop(p.body));
            let Some((next, id)) = next.and_then(|n| Some((n, facts.of_term(n)?))) else { break };
            self.dependent(d, id, region, facts, true, &mut seen, out);
            at = next;
        }
        if d.shares_out() {
            self.lost(d, id, program, facts, out);
        }
    }

    /// The body of the innermost loop that the directive speaks of.
    fn innermost(&self, d: &Directive, target: TermId) -> Option<TermId> {
        let mut block = self.body.loop_parts(target)?.body;
        for _ in 1..d.levels().unwrap_or(1) {
            let Some(parts) = self.only_loop(block).and_then(|l| self.body.loop_parts(l)) else { break };
            block = parts.body;
        }
        Some(block)
    }

    #[allow(clippy::too_many_arguments)] // what it looks at and where it puts what it finds
    fn dependent(
        &self,
        d: &Directive,
        id: LoopId,
        region: &Directive,
        facts: &Facts,
        collapsed: bool,
        seen: &mut Vec<SymbolId>,
        out: &mut Vec<(TermId, FaultKind)>,
    ) {
        let l = &facts.loops[id];
        let ordered = d.clauses.iter().any(|c| matches!(c, Clause::Ordered(Some(_))));
        if l.verdict != Verdict::Sequential || ordered {
            return;
        }
        let lanes = !d.shares_out();
        let safe = d.clauses.iter().find_map(|c| match c {
            Clause::Safelen(n) => Some(n.map_or(i128::MAX, i128::from)),
            _ => None,
        });
        let found = l.dependences.iter().find(|x| {
            let far = x.distance.first().copied().flatten().zip(safe).is_some_and(|(far, safe)| far >= safe);
            let vector =
                lanes && (x.kind != crate::facts::DependenceKind::Flow || far || safe == Some(i128::MAX));
            x.witness.is_some()
                && !vector
                && !seen.contains(&x.object.symbol)
                && self.is_shared(x.object.symbol, x.source, region) == Some(true)
                && !(self.is_ordered(x.source, d) && self.is_ordered(x.sink, d))
        });
        if let Some(x) = found {
            seen.push(x.object.symbol);
            out.push((x.source, FaultKind::Dependent { of: id, collapsed }));
        }
    }

    /// Own copies whose value is asked for after the loop.
    fn lost(
        &self,
        d: &Directive,
        id: LoopId,
        program: &Program,
        facts: &Facts,
        out: &mut Vec<(TermId, FaultKind)>,
    ) {
        let l = &facts.loops[id];
        let private = |s: SymbolId| d.sharing(s) == Some(Sharing::Private);
        let local = |s: SymbolId| self.body.symbols[s].is_own_scalar();
        let mut gone: Vec<SymbolId> = l
            .privates
            .iter()
            .filter(|p| p.kept && private(p.symbol) && local(p.symbol))
            .map(|p| p.symbol)
            .collect();
        if let Ok(c) = &l.control {
            let said = d.sharing(c.index);
            let listed = matches!(said, Some(Sharing::LastPrivate | Sharing::Linear));
            if !c.declared_here && local(c.index) && !listed && d.understood {
                gone.extend(
                    crate::live_out(self.body, program, facts, id).into_iter().filter(|&s| s == c.index),
                );
            }
        }
        out.extend(gone.into_iter().map(|symbol| (l.term, FaultKind::Lost { symbol })));
    }

    /// Statements that every thread of a region runs.
    fn everyone(&self, d: &Directive, target: TermId, out: &mut Vec<(TermId, FaultKind)>) {
        let body = self.body;
        if d.clauses.contains(&Clause::OneThread) || self.locks(target) {
            return;
        }
        let mut seen: Vec<SymbolId> = Vec::new();
        // with nothing that tells threads apart, each of them writes the very same cells
        let alike = !body
            .walk(target)
            .any(|t| matches!(body.op(t), Op::Call | Op::Reject(_) | Op::AddrOf | Op::Deref))
            && !self
                .directives
                .iter()
                .any(|o| !std::ptr::eq(o, d) && o.target.is_none_or(|t| self.is_inside(t, target)))
            && self.threadprivate.is_empty()
            && !d
                .clauses
                .iter()
                .any(|c| matches!(c, Clause::Sharing(Sharing::FirstPrivate | Sharing::Own, _)));
        for t in body.walk(target) {
            if !body.op(t).is_write() {
                continue;
            }
            let Some(&place) = body.args(t).first() else { continue };
            let s = match body.as_symbol(place) {
                Some(s) => s,
                None if alike => match base(body, place) {
                    Some(s) => s,
                    None => continue,
                },
                None => continue,
            };
            let quals = body.types.quals(body.ty(place));
            if seen.contains(&s) || quals.is_volatile || quals.is_atomic {
                continue;
            }
            // the iterations of a loop that is shared out are looked at there
            let shared_out = self
                .around(t)
                .take_while(|x| !std::ptr::eq(*x, d))
                .any(|x| x.wants_loop() && x.target.is_some() || x.makes_threads());
            if shared_out || self.is_ordered(t, d) || self.is_shared(s, t, d) != Some(true) {
                continue;
            }
            if self.is_run(t, target, false) {
                seen.push(s);
                out.push((t, FaultKind::Race { symbol: s, need: Need::Everyone }));
            }
        }
    }

    /// Reductions that the loop does otherwise.
    fn combiners(&self, d: &Directive, target: TermId, out: &mut Vec<(TermId, FaultKind)>) {
        for c in &d.clauses {
            let Clause::Reduction(said, names) = c else { continue };
            if *said == Combiner::Own {
                continue;
            }
            for s in names.iter().filter_map(|n| n.symbol) {
                let writes = self.body.walk(target).filter(|&t| {
                    self.body.op(t).is_write()
                        && self.body.args(t).first().and_then(|&p| self.body.as_symbol(p)) == Some(s)
                });
                let other = writes.filter_map(|t| Some((t, combines(self, t, s)?))).find(|(_, f)| f != said);
                if let Some((t, found)) = other {
                    out.push((t, FaultKind::Combined { symbol: s, said: *said, found }));
                }
            }
        }
    }

    /// Own copies without a value that are read first.
    fn unset(&self, d: &Directive, target: TermId, facts: &Facts, out: &mut Vec<(TermId, FaultKind)>) {
        let body = self.body;
        let root = match d.wants_loop() {
            true => self.innermost(d, target),
            false => Some(target),
        };
        let Some(root) = root else { return };
        let l: Option<&LoopFacts> = facts.of_term(target).map(|id| &facts.loops[id]);
        for c in &d.clauses {
            let Clause::Sharing(Sharing::Private | Sharing::LastPrivate, names) = c else { continue };
            for s in names.iter().filter_map(|n| n.symbol) {
                let scalar = matches!(
                    body.types.kind(body.symbols[s].ty),
                    TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. }
                );
                let own = l.is_some_and(|l| l.privates.iter().any(|p| p.symbol == s));
                if !scalar || own || self.indices(d, target).contains(&s) {
                    continue;
                }
                if let Some(First::Read(at)) = first(body, root, s) {
                    // what an inner directive says of its own copy is its own business
                    let inner = self.around(at).take_while(|x| !std::ptr::eq(*x, d));
                    if inner.into_iter().all(|x| x.sharing(s).is_none()) {
                        out.push((at, FaultKind::Unset { symbol: s }));
                    }
                }
            }
        }
    }

    /// `default(none)`, and a variable in no list.
    fn unlisted(&self, d: &Directive, target: TermId, out: &mut Vec<(TermId, FaultKind)>) {
        let body = self.body;
        if !d.clauses.contains(&Clause::DefaultNone) || !d.understood {
            return;
        }
        let mut seen: Vec<SymbolId> = Vec::new();
        for t in body.walk(target) {
            let Some(s) = body.as_symbol(t) else { continue };
            let symbol = &body.symbols[s];
            let variable = matches!(
                symbol.storage,
                Storage::Local | Storage::Param(_) | Storage::StaticLocal { .. } | Storage::Global { .. }
            );
            if !variable || seen.contains(&s) || body.types.quals(symbol.ty).is_const {
                continue;
            }
            if matches!(body.types.kind(symbol.ty), TypeKind::Function { .. })
                || self.threadprivate.contains(&symbol.name)
            {
                continue;
            }
            let said = self.around(t).take_while(|x| x.target.is_some_and(|y| self.is_inside(y, target)));
            let listed = said.into_iter().any(|x| {
                x.sharing(s).is_some()
                    || !x.understood
                    || x.wants_loop() && x.target.is_some_and(|y| self.indices(x, y).contains(&s))
            });
            let inside = self.declared[base::IndexId::index(s)].is_some_and(|at| self.is_inside(at, target));
            if !listed && !inside {
                seen.push(s);
                out.push((t, FaultKind::Unlisted { symbol: s }));
            }
        }
    }
}

/// The variable whose cells a place is among.
fn base(body: &term::Body, place: TermId) -> Option<SymbolId> {
    match (body.op(place), body.args(place)) {
        (Op::Sym(s), _) => Some(*s),
        (Op::Index, &[b, _]) => base(body, b),
        (Op::Member { arrow: false, .. }, &[b]) => base(body, b),
        _ => None,
    }
}

fn need(l: &LoopFacts, s: SymbolId) -> Need {
    if let Some(r) = l.reductions.iter().find(|r| r.object.symbol == s && r.cells == Cells::Variable) {
        return match r.op {
            ReductionOp::Last => Need::LastPrivate,
            op => Need::Reduction(op),
        };
    }
    if let Some(p) = l.privates.iter().find(|p| p.symbol == s) {
        return if p.kept { Need::LastPrivate } else { Need::Private };
    }
    match l.inductions.iter().any(|i| i.symbol == s) {
        true => Need::Induction,
        false => Need::Carried,
    }
}
