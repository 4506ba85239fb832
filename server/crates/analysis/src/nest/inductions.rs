//! Variables that bring a value from iteration to iteration which each iteration can compute by itself.
//!
//! Sums: what is only added to has, at the start of iteration t, its first value plus all that t iterations added
//! (Wolfe, Beyond induction variables, PLDI 1992). Constant and fixed amounts give `start + amount * t`; amounts that are
//! only known to be positive give a value that grows, which is enough to tell its cells apart. Wrap-around variables
//! hold what the iteration before computed: from the second iteration on that is the value one iteration earlier.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, IntKind, LoopParts, Op, SymbolId, TermId, TypeKind};

use crate::algebra::poly::{Constraint, Domain, Poly, VarKind};
use crate::flow::counted_loop;
use crate::flow::counted_loop::trips;
use crate::flow::counted_loop::{Change, Total};
use crate::flow::parts::Inside;
use crate::nest::builder::{Builder, Loc, MAX_VALUE_PIECES};
use crate::nest::pieces::Pieces;
use crate::nest::values::is_mixing;
use crate::nest::Need;
use crate::{Control, Step};

/// What stands inside a loop, found when it is first asked for: each variable would walk over the loop again.
struct Inner {
    body: TermId,
    /// How inner loops count.
    controls: FxHashMap<TermId, Option<Control>>,
    /// The terms of the body.
    terms: Option<FxHashSet<TermId>>,
}

impl Builder<'_> {
    /// Values of the root's inductions at the start of an iteration.
    pub(super) fn root_inductions(&mut self, c: &Control, parts: LoopParts) {
        let mut all: Vec<(SymbolId, Total)> = counted_loop::moves(self.body, self.root).into_iter().collect();
        all.sort_by_key(|m| m.0);
        let iteration = self.loops[0].iteration.clone();
        let mut inner = Inner { body: parts.body, controls: FxHashMap::default(), terms: None };
        for (s, total) in all {
            let symbol = &self.body.symbols[s];
            if s == c.index || !symbol.is_own_scalar() || total.change == Change::Const(0) {
                continue;
            }
            let pointer = matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. });
            if !pointer && !self.is_number_that_moves(s) {
                continue;
            }
            let constant = match total.change {
                Change::Const(k) => Some(k),
                _ => None,
            };
            let nested = total.parts.iter().any(|p| !p.loops.is_empty());
            let amount = self.amount(&total, self.root, &mut inner);
            if nested && amount.is_none() {
                self.unfollowed.insert(s);
            }
            let constant =
                constant.or_else(|| amount.as_ref().and_then(Poly::as_constant)).filter(|&k| k != 0);
            let by = constant.map(Poly::constant).or_else(|| amount.clone());
            if by.is_some_and(|by| self.wraps_on_purpose(s, &by)) {
                continue;
            }
            let exact = match (constant, &amount, &iteration) {
                (Some(k), _, Some(t)) => t.scale(k),
                // by which way it moves cells are told apart as rows of that length
                (None, Some(a), Some(t)) => a.mul(t),
                _ => None,
            };
            if let Some(by) = exact {
                if pointer {
                    self.pointer_moved(s, by, total.term);
                    let step = constant.map(Poly::constant).or(amount);
                    if let (Some(Some(loc)), Some(step)) = (self.pointers.get(&s).cloned(), step) {
                        self.walks(s, &loc, step);
                    }
                } else if let Some(v) = self.value_at_entry(s).add(&by) {
                    self.env.insert(s, Some(vec![(Domain::always(), v)]));
                    if let (None, Some(step)) = (constant, amount) {
                        self.objects.walks.push((s, s, step));
                    }
                } else {
                    continue;
                }
                self.inductions.push((s, constant, total.term));
            } else if !pointer {
                self.growing(s, c, &total, constant, amount, &mut inner);
            }
        }
    }

    /// Notes that each iteration moves the pointer by that many elements.
    pub(super) fn walks(&mut self, s: SymbolId, loc: &Loc, step: Poly) {
        if loc.fields.is_empty() && loc.loads.is_empty() && loc.inside == Inside::All {
            self.objects.walks.push((s, loc.base, step));
        }
    }

    fn pointer_moved(&mut self, s: SymbolId, by: Poly, at: TermId) {
        let zero = Some(vec![(Domain::always(), Poly::default())]);
        let mut loc = self.entry.pointers.get(&s).cloned().unwrap_or(Loc {
            base: s,
            fields: Vec::new(),
            subs: vec![(zero, at)],
            lengths: vec![None],
            loads: Vec::new(),
            inside: Inside::All,
        });
        self.move_pointer(&mut loc, Some(vec![(Domain::always(), by)]), at, false);
        self.pointers.insert(s, Some(loc));
    }

    /// Whether the variable is an integer that can be followed through additions: what leaves its type is an obligation of the
    /// statement that moves it. (What is added to a truth value leaves it one.)
    fn is_number_that_moves(&self, s: SymbolId) -> bool {
        self.body.types.as_int(self.body.symbols[s].ty).is_some_and(|k| k != IntKind::Bool)
    }

    /// Whether the variable is moved so far that it is made to wrap around, which nobody is asked to rule out.
    fn wraps_on_purpose(&self, s: SymbolId, by: &Poly) -> bool {
        let kind = self.body.types.as_int(self.body.symbols[s].ty);
        kind.is_some_and(|kind| by.terms().any(|(_, c)| is_mixing(c, kind)))
    }

    /// What each iteration of a loop inside the root adds to a variable, where that is the same in all of them and in all iterations
    /// of the root.
    pub(super) fn amounts_of_inner(&mut self, t: TermId, index: SymbolId) -> Vec<(SymbolId, Poly, TermId)> {
        let mut all: Vec<(SymbolId, Total)> = counted_loop::moves(self.body, t).into_iter().collect();
        all.sort_by_key(|m| m.0);
        let mut inner = None;
        let mut out = Vec::new();
        for (s, total) in all {
            let symbol = &self.body.symbols[s];
            let pointer = matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. });
            let moves = pointer || self.is_number_that_moves(s) && !self.is_idle_variable(s);
            if s == index || !symbol.is_own_scalar() || !moves {
                continue;
            }
            let by = match total.change {
                Change::Const(k) => Some(Poly::constant(k)),
                // loops in it, each of which adds the same whenever it runs
                Change::Sum if self.unfollowed.contains(&s) => None,
                // and what the function is given
                Change::Sum | Change::Term(..) => {
                    let new = || Inner { body: t, controls: FxHashMap::default(), terms: None };
                    self.amount(&total, t, inner.get_or_insert_with(new))
                }
            };
            let by = by.filter(|p| p.as_constant() != Some(0) && !self.wraps_on_purpose(s, p));
            out.extend(by.map(|by| (s, by, total.term)));
        }
        out
    }

    /// What one iteration of `around` adds, if that is the same in all of them: the sum of its parts, each times the trip counts of
    /// the inner loops it stands in. Those counts must not be negative: that is obliged.
    fn amount(&mut self, total: &Total, around: TermId, inner: &mut Inner) -> Option<Poly> {
        let fixed = |m: &Self, p: &Poly| p.vars().all(|v| m.is_param(v));
        let mut sum = Poly::default();
        for part in &total.parts {
            let mut one = match part.change {
                Change::Const(k) => Poly::constant(k),
                Change::Term(t, negated) => {
                    if !self.effects.is_invariant_in(self.body, t, self.root) {
                        return None;
                    }
                    self.plain_value(t)?.scale(if negated { -1 } else { 1 })?
                }
                Change::Sum => return None,
            };
            for &l in &part.loops {
                let control = || counted_loop::control(self.body, l, self.effects).ok();
                let c = inner.controls.entry(l).or_insert_with(control).clone()?;
                if c.pointer || c.at_least_once || self.body.as_symbol(c.lower) == Some(c.index) {
                    return None;
                }
                // before the loop begins, variables have values that it changes
                let is_fixed = |x| around == self.root || self.effects.is_invariant_in(self.body, x, around);
                if !is_fixed(c.lower) || !c.bound.is_some_and(is_fixed) {
                    return None;
                }
                let first = self.plain_value(c.lower)?.add_constant(c.offset)?;
                let bound = self.plain_value(c.bound?)?;
                let n = trips(&c, &first, &bound).filter(|n| fixed(self, n))?;
                match n.as_constant() {
                    Some(n) if n < 0 => return None,
                    Some(_) => {}
                    None => {
                        self.oblige(Need::Trips(l), n.clone(), Domain::always());
                        self.obliged_trips.insert(l, n.clone());
                    }
                }
                one = one.mul(&n)?;
            }
            sum = sum.add(&one)?;
        }
        fixed(self, &sum).then_some(sum)
    }

    /// A variable of which only is known that every iteration adds at least one to it (or takes at least one).
    fn growing(
        &mut self,
        s: SymbolId,
        c: &Control,
        total: &Total,
        constant: Option<i128>,
        amount: Option<Poly>,
        inner: &mut Inner,
    ) {
        let (by, domain) = match (constant, amount) {
            (Some(k), _) => (Poly::constant(k), Domain::always()),
            (None, Some(a)) => (a, Domain::always()),
            // `k += i`: what is added depends on the iteration by way of the index alone.
            (None, None) => {
                let Change::Term(t, negated) = total.change else { return };
                let terms = inner.terms.get_or_insert_with(|| self.body.walk(inner.body).collect());
                let in_body = terms.contains(&total.term);
                let moving = self.effects.writes_in(self.root);
                let plain = self.body.walk(t).all(|x| match self.body.op(x) {
                    Op::Sym(u) => *u == c.index || !moving.contains(u),
                    Op::Int(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Cast => true,
                    _ => false,
                });
                if !in_body || !plain || !c.header_only {
                    return;
                }
                let Some(p) = self.plain_value(t).and_then(|p| p.scale(if negated { -1 } else { 1 })) else {
                    return;
                };
                if p.vars().any(|v| matches!(*self.vars.kind(v), VarKind::Fresh | VarKind::Image)) {
                    return;
                }
                (p, self.loops[0].domain.clone())
            }
        };
        let at_least = |p: &Poly| p.add_constant(-1).is_some_and(|p| self.is_non_negative(&p, &domain));
        let Some(minus) = by.scale(-1) else { return };
        let up = if at_least(&by) {
            true
        } else if at_least(&minus) {
            false
        } else if by.vars().all(|v| self.is_param(v)) {
            // The sign that the text shows, tested before the loop.
            let up = !matches!(total.change, Change::Term(_, true));
            let least = (if up { &by } else { &minus }).add_constant(-1);
            let Some(least) = least else { return };
            self.oblige(Need::StepSign(total.term), least, Domain::always());
            up
        } else {
            return;
        };
        let v = self.fresh(VarKind::Image);
        let least = constant.map_or(1, |k| k.abs());
        self.vars.rising.insert(v, least);
        if by.vars().all(|x| self.is_param(x)) {
            self.vars.steady.insert(v);
        }
        let value = if up { Poly::var(v) } else { Poly::var(v).scale(-1).unwrap_or_default() };
        // It has moved away from its first value.
        let start = self.value_at_entry(s);
        let since = if up { value.sub(&start) } else { start.sub(&value) };
        let since = since.and_then(|p| self.linear(&p));
        let mut defining: Vec<Constraint> = since.clone().into_iter().map(Constraint::non_negative).collect();
        // An index that moves by at least one has seen at most as many iterations as it has moved.
        if let (Some(k), Some(since), Some(first), Step::Term { .. }, Some((_, index))) =
            (constant, since, self.loops[0].lower.clone(), &c.step, self.loops[0].index.clone())
        {
            let up = matches!(c.relation, BinOp::Lt | BinOp::Le);
            let span = if up { index.sub(&first) } else { first.sub(&index) };
            let most = span.and_then(|p| p.scale(k.abs())).and_then(|p| p.sub(&since));
            defining.extend(most.and_then(|p| self.linear(&p)).map(Constraint::non_negative));
        }
        self.vars.define(v, defining);
        self.env.insert(s, Some(vec![(Domain::always(), value)]));
        self.inductions.push((s, None, total.term));
    }

    /// Wrap-around variables: integers that every iteration leaves with a value of the index (`im1 = i;`). Found by going
    /// through the body once to see what each variable holds at its end; a second and third time for those that take over
    /// another's value (`im2 = im1; im1 = i;`).
    ///
    /// Precondition: the end is reached in every iteration, so there is no `continue` (nor any other jump), and the value
    /// at the end is exact and made of the root's counter and fixed values alone.
    pub(super) fn wrap_around(&mut self, c: &Control, parts: LoopParts) {
        if counted_loop::has_jump(self.body, parts.body) || self.effects.writes_in(self.root).len() > 40 {
            return;
        }
        let set_aside: Vec<SymbolId> = self.inductions.iter().map(|i| i.0).collect();
        // Only what comes in from the iteration before, and is set to something without memory in it.
        let exposed = crate::flow::liveness::exposed_reads(self.body, &[parts.body], &self.budget);
        let mut candidates: Vec<SymbolId> = self
            .effects
            .writes_in(parts.body)
            .iter()
            .copied()
            .filter(|s| {
                let symbol = &self.body.symbols[*s];
                *s != c.index
                    && !set_aside.contains(s)
                    && symbol.is_own_scalar()
                    && !self.declared_inside(*s)
                    && self.body.types.as_int(symbol.ty).is_some_and(|k| k != IntKind::Bool)
                    && exposed.as_ref().is_some_and(|e| e.contains(s))
                    && self.is_only_copied(*s, parts)
            })
            .collect();
        candidates.sort_unstable();
        let Some(iteration) = self.loops[0].iteration.clone() else { return };
        for _ in 0..3 {
            if candidates.is_empty() {
                return;
            }
            let starts: Vec<Option<Poly>> = candidates.iter().map(|&s| self.unknown_start(s)).collect();
            let ends = self.ends_of_body(c, parts, &candidates);
            let mut found = Vec::new();
            for ((&s, end), start) in candidates.iter().zip(ends).zip(starts) {
                let Some(end) = end else { continue };
                // `k = j + 1; …; j = k + 1`: in the end it moves by a constant.
                let moved = match (&end[..], start) {
                    ([(d, p)], Some(start)) if d.exact => p.sub(&start).and_then(|k| k.as_constant()),
                    _ => None,
                };
                let value = match moved.filter(|&k| k != 0) {
                    Some(k) => iteration
                        .scale(k)
                        .and_then(|by| self.value_at_entry(s).add(&by))
                        .map(|v| vec![(Domain::always(), v)]),
                    None => self.one_iteration_later(s, &end, &iteration),
                };
                if let Some(value) = value {
                    found.push((s, value, moved.filter(|&k| k != 0)));
                }
            }
            if found.is_empty() {
                return;
            }
            for (s, value, step) in found {
                candidates.retain(|x| *x != s);
                let update = self.effects.writes.get(&s).and_then(|w| w.last().copied()).unwrap_or(self.root);
                self.env.insert(s, Some(value));
                // Without one step its value comes from the iteration before, and the first one's from before the loop:
                // known, but carried all the same until that iteration is peeled off.
                if step.is_some() {
                    self.inductions.push((s, step, update));
                }
            }
        }
    }

    /// The variable that stands for a value that is not known when an iteration begins.
    fn unknown_start(&self, s: SymbolId) -> Option<Poly> {
        match self.env.get(&s)?.as_deref()? {
            [(_, p)] if p.vars().all(|v| *self.vars.kind(v) == VarKind::Fresh) => Some(p.clone()),
            _ => None,
        }
    }

    /// Whether all writes in the body are plain assignments of integers without memory.
    fn is_only_copied(&self, s: SymbolId, parts: LoopParts) -> bool {
        self.body.walk(parts.body).all(|x| {
            if crate::flow::effects::written(self.body, x) != Some(s) {
                return true;
            }
            *self.body.op(x) == Op::Assign
                && self.body.walk(self.body.args(x)[1]).all(|e| {
                    matches!(
                        self.body.op(e),
                        Op::Sym(_) | Op::Int(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Cast
                    )
                })
        })
    }

    /// What the variables hold at the end of an iteration, leaving no trace of the look.
    fn ends_of_body(&mut self, c: &Control, parts: LoopParts, of: &[SymbolId]) -> Vec<Option<Pieces>> {
        let saved = (
            self.accesses.len(),
            self.obligations.len(),
            self.obstacles.len(),
            self.env.clone(),
            self.pointers.clone(),
        );
        let state = (self.dom.clone(), self.why.clone(), self.jumped);
        let obliged_trips = self.obliged_trips.clone();
        self.loop_parts_in_order(c, parts);
        let ends = of.iter().map(|s| self.env.get(s).cloned().flatten()).collect();
        self.accesses.truncate(saved.0);
        self.obligations.truncate(saved.1);
        self.obstacles.truncate(saved.2);
        (self.env, self.pointers) = (saved.3, saved.4);
        (self.dom, self.why, self.jumped) = state;
        self.obliged_trips = obliged_trips;
        self.loops.truncate(1);
        ends
    }

    /// The value at the start of an iteration of what an iteration leaves at its end.
    fn one_iteration_later(&mut self, s: SymbolId, end: &Pieces, iteration: &Poly) -> Option<Pieces> {
        let root = self.loops[0].var;
        let usable = |m: &Self, p: &Poly| p.is_linear() && p.vars().all(|v| v == root || m.is_param(v));
        let exact = end.iter().all(|(d, p)| {
            d.exact && usable(self, p) && d.pieces.iter().flatten().all(|k| usable(self, &k.poly))
        });
        if !exact || end.len() >= MAX_VALUE_PIECES {
            return None;
        }
        let mut out = vec![(Domain::of(Constraint::zero(iteration.clone())), self.value_at_entry(s))];
        let later = Domain::of(Constraint::non_negative(iteration.add_constant(-1)?));
        for (d, p) in end {
            let mut pieces = Vec::new();
            for piece in &d.pieces {
                let before: Option<Vec<Constraint>> = piece
                    .iter()
                    .map(|k| Some(Constraint { poly: k.poly.one_before(root)?, equality: k.equality }))
                    .collect();
                pieces.push(before?);
            }
            out.push((later.and(&Domain { pieces, exact: true }), p.one_before(root)?));
        }
        Some(out)
    }
}
