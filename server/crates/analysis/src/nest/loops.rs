//! Entering loops: counters, domains, what is known of variables at the start of an iteration.

use term::{BinOp, Body, LoopParts, Op, SymbolId, TermId};

use crate::algebra::poly::{Constraint, Domain, Poly, VarKind};
use crate::flow::counted_loop;
use crate::flow::counted_loop::trips;
use crate::nest::builder::{Builder, Loc};
use crate::nest::pieces::{compare_pieces, exact_if_known, known_pieces, map_pieces, Pieces};
use crate::nest::{ModelLoop, Need, Obligation};
use crate::{Control, Obstacle, ObstacleKind, Param, Step};

/// What an inner loop's moving variables are when it begins.
struct Entry {
    lower: Option<Pieces>,
    /// Where a pointer that counts points at first, and how far from there its bound is.
    first: Option<Loc>,
    end: Option<Pieces>,
    /// With what each iteration adds.
    values: Vec<(SymbolId, Poly, Pieces)>,
    pointers: Vec<(SymbolId, Poly, Loc, TermId)>,
}

impl Builder<'_> {
    pub(super) fn root_loop(&mut self, c: &Control) {
        let Some(parts) = self.body.loop_parts(self.root) else {
            self.obstacle(ObstacleKind::NotUnderstood, self.root);
            return;
        };
        let cond = parts.condition.unwrap_or(self.root);
        // What the iteration does not know at its start.
        let written: Vec<SymbolId> = {
            let mut all: Vec<SymbolId> = self.effects.writes_in(parts.body).iter().copied().collect();
            for part in [parts.step, parts.condition].into_iter().flatten() {
                all.extend(self.effects.writes_in(part).iter().copied());
            }
            all.sort_unstable();
            all.dedup();
            all
        };
        // The first value is evaluated once, before: it is fixed. Its own variables may move later.
        let pointer = c.pointer.then(|| self.first_of_root(c));
        let lower = if c.pointer { Poly::default() } else { self.lower_of_root(c) };
        let end = pointer.as_ref().and_then(|first| self.pointer_end(c, first));
        self.path.push(0);
        let var = self.fresh(VarKind::Iter(0));
        let root = ModelLoop {
            term: self.root,
            var,
            index: None,
            iteration: None,
            trips: None,
            lower: None,
            limit: None,
            domain: Domain::unknown(),
            control: Some(c.clone()),
        };
        self.loops.push(root);
        for s in &written {
            self.forget(*s);
        }
        self.enter_counted(0, c, vec![(Domain::always(), lower)], cond, end);
        if let Some(first) = pointer {
            self.walk_pointer(0, c, first);
        }
        self.root_inductions(c, parts);
        self.wrap_around(c, parts);
        self.loop_parts_in_order(c, parts);
    }

    /// One iteration: what the condition moves, the body, the step; in a `do` the body comes first.
    pub(super) fn loop_parts_in_order(&mut self, c: &Control, parts: LoopParts) {
        let root = *self.path.last().unwrap_or(&0);
        let term = self.loops[root].term;
        if parts.tests_first {
            self.header_moves(c, parts.condition);
        }
        self.visit_body(term, parts.body);
        if let Some(step) = parts.step {
            let before = self.obligations.len();
            self.visit(step);
            if self.bound_is_in_type(c) {
                let own = |o: &Obligation| matches!(o.kind, Need::NoWrap(t) if t == step);
                let mut rest = self.obligations.split_off(before);
                rest.retain(|o| !own(o));
                self.obligations.append(&mut rest);
            }
        }
        if !parts.tests_first {
            self.header_moves(c, parts.condition);
        }
    }

    /// Evaluates a condition that moves something. Others change nothing, and what they read is read by `enter_counted`.
    fn header_moves(&mut self, _c: &Control, condition: Option<TermId>) {
        let Some(condition) = condition else { return };
        if self.effects.writes_in(condition).iter().next().is_some() {
            self.condition(condition);
        }
    }

    /// The first value of the root's index. Its text stands before the loop, where the variables still have the
    /// values they enter with; a variable that the loop writes is therefore not the same as inside.
    pub(super) fn lower_of_root(&mut self, c: &Control) -> Poly {
        if self.body.as_symbol(c.lower) == Some(c.index) {
            return self.value_at_entry(c.index);
        }
        let moving = self.effects.writes_in(self.root);
        let simple = self.body.walk(c.lower).all(|x| match self.body.op(x) {
            Op::Sym(s) => !moving.contains(s),
            Op::Int(_) | Op::Binary(_) | Op::Unary(_) | Op::Cast => true,
            _ => false,
        });
        if simple {
            let from = self.body.types.as_int(self.body.ty(c.lower));
            if let (Some(v), Some(from)) = (self.plain_value(c.lower), from) {
                if let Some(mut pieces) =
                    self.convert(vec![(Domain::always(), v)], from, c.index_type, c.lower)
                {
                    if pieces.len() == 1 {
                        return pieces.remove(0).1;
                    }
                }
            }
        }
        Poly::var(self.param(Param::Term(c.lower)))
    }

    /// Sets index, iteration and domain of a counted loop whose header starts at `lower`.
    /// `end`: the bound of a pointer, in elements from its first place.
    pub(super) fn enter_counted(
        &mut self,
        at: usize,
        c: &Control,
        lower: Pieces,
        cond: TermId,
        end: Option<Pieces>,
    ) {
        let var = self.loops[at].var;
        let before = self.dom.clone();
        let x = Poly::var(var);
        let single = if lower.len() == 1 { Some(lower[0].1.clone()) } else { None };
        let known =
            single.as_ref().filter(|p| p.vars().all(|v| *self.vars.kind(v) != VarKind::Fresh)).cloned();
        let numbered =
            known.as_ref().filter(|_| at == 0 && self.how.numbered).and_then(|l| self.by_number(c, l));
        let strided = known.as_ref().filter(|_| numbered.is_none()).and_then(|l| self.by_stride(at, c, l));
        let (index, iteration) = match (&c.step, &known) {
            _ if strided.is_some() => (strided.unwrap_or_default(), Some(x.clone())),
            _ if numbered.is_some() => {
                (numbered.as_ref().map_or(x.clone(), |n| n.0.clone()), Some(x.clone()))
            }
            (Step::Const(1), Some(l)) => (x.clone(), x.sub(l)),
            (Step::Const(s), Some(l)) => match x.scale(*s).and_then(|p| p.add(l)) {
                Some(p) => (p, Some(x.clone())),
                None => (x.clone(), None),
            },
            _ => (x.clone(), None),
        };
        self.begin_at(c, &lower, &index, iteration.as_ref());
        self.loops[at].iteration = iteration;
        if !c.pointer {
            self.loops[at].index = Some((c.index, index.clone()));
            self.env.insert(c.index, Some(vec![(Domain::always(), index.clone())]));
        }
        if let Step::Term { term, negated } = c.step {
            if let Some(s) = self.plain_value(term) {
                let up = matches!(c.relation, BinOp::Lt | BinOp::Le);
                let s = if up != negated { Some(s) } else { s.scale(-1) };
                if let Some(p) = s.and_then(|s| s.add_constant(-1)) {
                    self.oblige(Need::StepSign(term), p, Domain::always());
                }
            } else {
                self.obstacle(ObstacleKind::NonAffineSubscript, term);
            }
            if numbered.is_none() {
                self.dom.exact = false;
                self.why.get_or_insert(Obstacle { kind: ObstacleKind::NonAffineSubscript, term });
            }
        }
        let (mut positive, limit, bound_at) = self.goes_on(c, &index, cond, end);
        if c.at_least_once {
            // The first iteration is not tested.
            positive = match &self.loops[at].iteration {
                Some(t) => positive.or(&Domain::of(Constraint::zero(t.clone()))),
                None => Domain::unknown(),
            };
        }
        if let Some(more) = numbered.as_ref().and_then(|(_, n)| n.sub(&x)?.add_constant(-1)) {
            positive = Domain::of(Constraint::non_negative(more));
        }
        // A bound that changes from iteration to iteration says nothing exactly.
        let positive = exact_if_known(self.vars.kinds(), positive);
        if !positive.exact {
            let kind = self.inexact_kind(bound_at);
            self.why.get_or_insert(Obstacle { kind, term: bound_at });
        }
        self.dom = self.dom.and(&positive);
        let first_compared = known.as_ref().and_then(|l| l.add_constant(c.offset));
        if let (Some(l), Some(b)) = (&first_compared, &limit) {
            let n = trips(c, l, b);
            self.loops[at].trips =
                if c.at_least_once { n.filter(|n| n.as_constant().is_some_and(|n| n > 0)) } else { n };
        }
        if let Some((_, n)) = numbered {
            self.loops[at].trips = Some(n);
        }
        self.loops[at].lower = known;
        self.loops[at].limit = limit.clone();
        self.loops[at].domain = self.dom.clone();
        self.index_stays_in_type(at, c, cond, single.as_ref(), limit.as_ref(), before);
    }

    /// Restricts the domain to where iterations begin.
    fn begin_at(&mut self, c: &Control, lower: &Pieces, index: &Poly, iteration: Option<&Poly>) {
        // 0 <= iteration, or the index lies on the right side of its first value.
        match iteration {
            Some(t) => self.require_in_domain(Constraint::non_negative(t.clone())),
            None => {
                let up = match c.step {
                    Step::Const(k) => k > 0,
                    Step::Term { .. } => matches!(c.relation, BinOp::Lt | BinOp::Le),
                };
                let mut d = Domain::never();
                for (when, l) in lower {
                    let diff = if up { index.sub(l) } else { l.sub(index) };
                    let piece = match diff {
                        Some(p) => when.and(&Domain::of(Constraint::non_negative(p))),
                        None => Domain::unknown(),
                    };
                    d = d.or(&piece);
                }
                self.dom = self.dom.and(&d);
                let steady = matches!(c.step, Step::Const(1 | -1)) && known_pieces(self.vars.kinds(), lower);
                if !steady {
                    let kind = self.inexact_kind(c.lower);
                    self.mark_inexact(kind, c.lower);
                }
            }
        }
    }

    /// Where the condition holds, the bound as it is compared, and where it stands. `end`: of a pointer.
    fn goes_on(
        &mut self,
        c: &Control,
        index: &Poly,
        cond: TermId,
        end: Option<Pieces>,
    ) -> (Domain, Option<Poly>, TermId) {
        // The condition, with C's conversions. What is compared is the index plus the offset.
        let it = c.index_type;
        let compared = index.add_constant(c.offset);
        let (bound_side, bt, bound_at) = match c.bound {
            Some(b) if c.pointer => {
                // What it reads is read each time.
                self.visit(b);
                (end, Some(it), b)
            }
            // an element of which something is promised keeps its value; of the root's bound it was not found that it does
            Some(b) => {
                let v = self.visit(b);
                let is_inner = self.path.len() > 1;
                (if is_inner { v } else { self.unless_loaded(v) }, self.body.types.as_int(self.body.ty(b)), b)
            }
            None => (Some(vec![(Domain::always(), Poly::constant(0))]), Some(it), cond),
        };
        let mut limit = None;
        let positive = match (bound_side, bt, compared) {
            (Some(bound), Some(bt), Some(compared)) => {
                let common = it.common(bt);
                let b = self.convert(bound, bt, common, bound_at);
                let i = self.convert(vec![(Domain::always(), compared)], it, common, cond);
                match (i, b) {
                    (Some(i), Some(b)) => {
                        if b.len() == 1 {
                            limit = Some(b[0].1.clone());
                        }
                        let relation = match (c.relation, &c.step) {
                            (BinOp::Ne, Step::Const(k)) if *k > 0 => BinOp::Lt,
                            (BinOp::Ne, _) => BinOp::Gt,
                            (r, _) => r,
                        };
                        compare_pieces(relation, &i, &b)
                    }
                    _ => Domain::unknown(),
                }
            }
            _ => Domain::unknown(),
        };
        (positive, limit, bound_at)
    }

    /// Whether the index, which moves by one, ends at its bound, and that is a value of its type: it cannot wrap around.
    fn bound_is_in_type(&self, c: &Control) -> bool {
        let by_one =
            matches!((c.relation, &c.step), (BinOp::Lt, Step::Const(1)) | (BinOp::Gt, Step::Const(-1)));
        let kind = c.bound.and_then(|b| self.body.types.as_int(self.body.ty(b)));
        let fits = |k: term::IntKind| c.index_type.min() <= k.min() && k.max() <= c.index_type.max();
        by_one && c.is_plain() && kind.is_some_and(fits)
    }

    /// Where the index ends, and what is compared, must be values of its type, else it wraps and the loop goes on.
    fn index_stays_in_type(
        &mut self,
        at: usize,
        c: &Control,
        cond: TermId,
        first: Option<&Poly>,
        limit: Option<&Poly>,
        before: Domain,
    ) {
        let kind = c.index_type;
        let undefined = self.body.arithmetic(self.loops[at].term).is_exact(kind);
        let Some(b) = limit else { return };
        // Where overflow is undefined (C11 6.5p5) the index stays; else it goes round, or an exception ends the loop. A loop that misses its bound and is
        // left by a jump overflows nothing.
        let misses = c.relation == BinOp::Ne
            && self
                .body
                .loop_parts(self.loops[at].term)
                .is_none_or(|p| counted_loop::leaves_early(self.body, p.body));
        if undefined && !misses {
            return;
        }
        let (step, by) = match c.step {
            Step::Const(s) => (s, Some(Poly::constant(s))),
            // that it is not 0, and which sign it has, is an obligation of its own
            Step::Term { term, negated } => {
                let up = matches!(c.relation, BinOp::Lt | BinOp::Le);
                let by = self.plain_value(term).filter(|_| !c.at_least_once && c.offset == 0);
                (if up { 1 } else { -1 }, by.and_then(|v| v.scale(if negated { -1 } else { 1 })))
            }
        };
        let reaches =
            |p: Option<Poly>, up: bool| {
                p.and_then(|p| {
                    if up {
                        p.scale(-1)?.add_constant(kind.max())
                    } else {
                        p.add_constant(-kind.min())
                    }
                })
            };
        // The first value that is tested; a `do` moves before it tests.
        let moved_before = if c.at_least_once { step } else { 0 };
        let first = first.and_then(|f| f.add_constant(moved_before));
        if c.offset != 0 || moved_before != 0 {
            // It must be in the type, on the side where it was moved to.
            let by = c.offset + moved_before;
            let p = reaches(first.as_ref().and_then(|f| f.add_constant(c.offset)), by > 0);
            match p {
                Some(p) => self.oblige(Need::Terminates(cond), p, before.clone()),
                None => self.obstacle(ObstacleKind::NonAffineSubscript, cond),
            }
        }
        if c.relation == BinOp::Ne {
            // It meets its bound exactly if it starts on the right side of it.
            let first = first.as_ref().and_then(|f| f.add_constant(c.offset));
            let d = first.and_then(|f| if step > 0 { b.sub(&f) } else { f.sub(b) });
            match d {
                Some(d) => self.oblige(Need::Terminates(cond), d, before.clone()),
                None => self.obstacle(ObstacleKind::NonAffineSubscript, cond),
            }
            if c.offset != 0 {
                if let Some(p) = reaches(b.add_constant(-c.offset), step > 0) {
                    self.oblige(Need::Terminates(cond), p, before);
                }
            }
            return;
        }
        if self.bound_is_in_type(c) {
            return;
        }
        // The last value past the bound: `b - 1 + step` at most when counting up.
        let past = by.and_then(|by| b.add(&by)).and_then(|past| match c.relation {
            BinOp::Lt => past.add_constant(-1),
            BinOp::Gt => past.add_constant(1),
            _ => Some(past),
        });
        let own = past.as_ref().and_then(|p| p.add_constant(-c.offset));
        let all = if c.offset == 0 { vec![past] } else { vec![past, own] };
        for past in all {
            let dom = self.loops[at].domain.clone();
            match reaches(past, step > 0) {
                Some(f) => self.oblige(Need::Terminates(cond), f, dom),
                None => self.obstacle(ObstacleKind::NonAffineSubscript, cond),
            }
        }
    }

    pub(super) fn require_in_domain(&mut self, c: Constraint) {
        self.dom = self.dom.and(&Domain::of(c));
    }

    pub(super) fn visit_body(&mut self, loop_term: TermId, inner: TermId) {
        if has_own_break(self.body, inner) && loop_term != self.root {
            self.mark_inexact(ObstacleKind::EarlyExit, loop_term);
        }
        self.visit_statement(inner);
    }

    pub(super) fn inner_loop(&mut self, t: TermId) {
        let Some(parts) = self.body.loop_parts(t) else {
            self.obstacle(ObstacleKind::NotUnderstood, t);
            return;
        };
        // `do { … } while (0)` is a block, as macros write it.
        let once = parts.condition.is_some_and(|c| counted_loop::constant(self.body, c) == Some(0));
        if once && !parts.tests_first && !counted_loop::has_jump(self.body, parts.body) {
            self.visit_statement(parts.body);
            return;
        }
        let saved_dom = self.dom.clone();
        let saved_why = self.why.clone();
        let saved_jumped = std::mem::take(&mut self.jumped);
        let at = self.loops.len();
        let var = self.fresh(VarKind::Iter(at));
        let control = counted_loop::control(self.body, t, self.effects).ok();
        if let Some(init) = parts.init {
            self.visit_statement(init);
        }
        // what the bound reads of memory is read once even where no iteration begins
        let bound = control.as_ref().filter(|c| parts.tests_first && !c.pointer).and_then(|c| c.bound);
        let loads =
            |t: TermId| matches!(self.body.op(t), Op::Index | Op::Deref | Op::Member { arrow: true, .. });
        let is_fixed = |b: TermId| self.effects.is_invariant_in(self.body, b, t);
        if let Some(b) = bound.filter(|&b| self.body.walk(b).any(loads) && is_fixed(b)) {
            self.visit(b);
        }
        // so is what a condition reads when it is evaluated for the first time
        if let Some(c) = parts.condition.filter(|_| control.is_none() && parts.tests_first) {
            self.visit(c);
        }
        self.loops.push(ModelLoop {
            term: t,
            var,
            index: None,
            iteration: None,
            trips: None,
            lower: None,
            limit: None,
            domain: Domain::unknown(),
            control: control.clone(),
        });
        let entry = control.as_ref().map(|c| self.entry_of_inner(c, t));
        let mut written: Vec<SymbolId> = self.effects.writes_in(t).iter().copied().collect();
        written.sort_unstable();
        for &s in &written {
            self.forget(s);
        }
        self.path.push(at);
        match (&control, &entry) {
            (Some(c), Some(entry)) => {
                let lower =
                    entry.lower.clone().unwrap_or_else(|| vec![(Domain::always(), self.fresh_value())]);
                // The first value was computed in other iterations of what is around; conditions of its pieces hold.
                self.enter_counted(at, c, lower, parts.condition.unwrap_or(t), entry.end.clone());
                if let Some(first) = entry.first.clone() {
                    self.walk_pointer(at, c, first);
                }
                if let Some(n) = self.loops[at].iteration.clone() {
                    self.move_inductions(entry, &n);
                }
                self.loop_parts_in_order(c, parts);
            }
            _ => {
                self.require_in_domain(Constraint::non_negative(Poly::var(var)));
                self.mark_inexact(ObstacleKind::DataDependentCondition, t);
                if let Some(c) = parts.condition.filter(|_| parts.tests_first) {
                    self.visit(c);
                }
                self.visit_body(t, parts.body);
                let last = parts.condition.filter(|_| !parts.tests_first);
                for s in [last, parts.step].into_iter().flatten() {
                    self.visit(s);
                }
            }
        }
        self.path.pop();
        for &s in &written {
            self.forget(s);
        }
        self.dom = saved_dom;
        self.why = saved_why;
        self.jumped = saved_jumped;
        // After the loop an induction has moved `trips` times, if that is known and surely not negative.
        let trips = self.loops[at].trips.clone();
        if let (Some(n), Some(entry), Some(c)) = (trips, &entry, &control) {
            let sure = n.as_constant().map_or_else(|| self.is_non_negative(&n, &self.dom), |n| n >= 0);
            let sure = sure || self.obliged_trips.get(&t) == Some(&n);
            if sure && !has_own_break(self.body, parts.body) {
                self.move_inductions(entry, &n);
                self.index_after(t, c, entry, &n);
            }
        }
    }

    /// What moves in an inner loop, with the values when it begins.
    fn entry_of_inner(&mut self, c: &Control, t: TermId) -> Entry {
        // An index that the header does not set brings its value from before: that is a read.
        if self.body.as_symbol(c.lower) == Some(c.index) {
            self.touch_symbol(c.index, c.lower, false);
        }
        let mut entry =
            Entry { lower: None, first: None, end: None, values: Vec::new(), pointers: Vec::new() };
        if c.pointer {
            entry.first = self.pointers.get(&c.index).cloned().flatten();
            entry.lower = Some(vec![(Domain::always(), Poly::default())]);
            entry.end = entry.first.clone().and_then(|first| self.pointer_end(c, &first));
        } else {
            let v = self.value_of_symbol(c.index, c.lower);
            entry.lower = if self.how.sorted { v } else { self.unless_loaded(v) };
        }
        for (s, k, update) in self.amounts_of_inner(t, c.index) {
            if let Some(Some(loc)) = self.pointers.get(&s) {
                entry.pointers.push((s, k, loc.clone(), update));
            } else if let Some(v) = self.value_of_symbol(s, update) {
                entry.values.push((s, k, v));
            }
        }
        entry
    }

    /// Variables as they are after `n` iterations. Moves that leave a variable's type are obligations where they stand.
    fn move_inductions(&mut self, entry: &Entry, n: &Poly) {
        for (s, k, v) in &entry.values {
            let moved = n.mul(k).and_then(|by| map_pieces(v.clone(), |p| p.add(&by)));
            if moved.is_some() {
                self.env.insert(*s, moved);
            }
        }
        for (s, k, loc, update) in &entry.pointers {
            let mut loc = loc.clone();
            let by = n.mul(k).map(|p| vec![(Domain::always(), p)]);
            self.move_pointer(&mut loc, by, *update, false);
            self.pointers.insert(*s, Some(loc));
        }
    }

    /// The index after a loop of `n` iterations: the value whose test failed, with what that test moved.
    fn index_after(&mut self, t: TermId, c: &Control, entry: &Entry, n: &Poly) {
        let (Some(lower), Step::Const(step)) = (&entry.lower, &c.step) else { return };
        if c.pointer {
            return;
        }
        // Elsewhere the last move may wrap.
        let exact = self.body.arithmetic(t).is_exact(c.index_type);
        if !exact || !self.body.symbols[c.index].is_own_scalar() {
            return;
        }
        let last = n.scale(*step).and_then(|by| by.add_constant(c.shift));
        let after = last.and_then(|by| map_pieces(lower.clone(), |p| p.add(&by)));
        if after.is_some() {
            self.env.insert(c.index, after);
        }
    }

    pub(super) fn forget(&mut self, s: SymbolId) {
        let symbol = &self.body.symbols[s];
        if self.body.types.as_int(symbol.ty).is_some() {
            let v = self.fresh_value();
            self.env.insert(s, Some(vec![(Domain::always(), v)]));
        }
        self.pointers.insert(s, None);
    }
}

fn has_own_break(body: &Body, inner: TermId) -> bool {
    let mut stack = vec![inner];
    while let Some(t) = stack.pop() {
        match body.op(t) {
            Op::Break => return true,
            op if op.is_loop() || matches!(op, Op::Switch) => {}
            _ => stack.extend(body.args(t)),
        }
    }
    false
}
