//! What is known when the root begins, from the statements before and around it: guards, ways that ended before it,
//! values just assigned.
//!
//! The argument: the statements of a list run in order, so what a statement made true on the way to the root is still
//! true there unless something between wrote one of its variables. Only variables count that nobody else can reach
//! (locals and parameters whose address is not taken). A loop around the root may have run before: whatever it writes
//! says nothing of what stands before it. Labels and `switch` parts can be entered from elsewhere: what stands before a
//! label says nothing (nor what stands before a statement that holds both a label and the root), and a `switch` hides
//! what stands before the root in it.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, IntKind, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};
use crate::algebra::project::project;
use crate::flow::counted_loop;
use crate::flow::effects::Effects;
use crate::nest::builder::{AtEntry, Builder};
use crate::nest::pieces::Pieces;
use crate::nest::Need;
use crate::{Control, Param, Step};

/// What may have changed between a place and the root.
#[derive(Clone, Default)]
pub(super) struct Changed {
    variables: FxHashSet<SymbolId>,
    /// Those of them that are written as a whole.
    whole: FxHashSet<SymbolId>,
    /// Memory, and with it all variables that others may reach.
    memory: bool,
}

impl Changed {
    pub(super) fn contains(&self, s: &SymbolId) -> bool {
        self.variables.contains(s)
    }
    /// Whether the variable may hold another value, not only another in a part of it.
    pub(super) fn replaces(&self, s: &SymbolId) -> bool {
        self.whole.contains(s)
    }
    /// What a term may change: variables, and those of which it writes a part.
    fn by(&mut self, effects: &Effects<'_>, t: TermId) {
        self.whole.extend(effects.writes_in(t).iter().copied());
        self.variables.extend(effects.changes_in(t).iter().copied());
        self.memory = self.memory || effects.writes_memory(t);
    }
    /// Likewise of statements that tell nothing, and write memory at most.
    fn by_silent(&mut self, effects: &Effects<'_>, all: &[TermId]) {
        for &t in all.iter().filter(|t| effects.writes_memory(**t)) {
            self.by(effects, t);
        }
    }
}

impl Builder<'_> {
    /// Reads the facts. `around`: the terms from the body's root down to the loop, both included.
    pub(super) fn read_surroundings(&mut self, around: &[TermId], control: &Control) {
        self.read_before(around, control);
        self.keep_visible(around);
    }

    /// What was found of variables of blocks that ended before the root (`{ int old = m; m = n; n = old; }`) is said without
    /// them: nobody can name them there, and another variable may have the name.
    fn keep_visible(&mut self, around: &[TermId]) {
        let AtEntry { values, pointers, members, .. } = &self.entry;
        let nothing = self.premises.context.is_empty() && self.premises.differs.is_empty();
        if values.is_empty() && pointers.is_empty() && members.is_empty() && nothing {
            return;
        }
        let ended = self.ended_before(around);
        let gone: FxHashSet<Var> = ended.iter().filter_map(|s| self.vars.param(Param::Symbol(*s))).collect();
        let known: FxHashMap<Var, Poly> = ended
            .iter()
            .filter_map(|s| Some((self.vars.param(Param::Symbol(*s))?, self.entry.values.get(s)?.clone())))
            .collect();
        let mentions = |p: &Poly| p.vars().any(|v| gone.contains(&v));
        let without = |p: &Poly| {
            let mut p = p.clone();
            for _ in 0..8 {
                if !mentions(&p) {
                    return Some(p);
                }
                let mut next = Poly::constant(0);
                for (vars, c) in p.terms() {
                    let part = match vars {
                        [v] if gone.contains(v) => known.get(v)?.scale(c)?,
                        _ => Poly::from_terms([(vars.to_vec(), c)])?,
                    };
                    next = next.add(&part)?;
                }
                p = next;
            }
            None
        };
        let values = std::mem::take(&mut self.entry.values);
        self.entry.values = values
            .into_iter()
            .filter(|(s, _)| !ended.contains(s))
            .filter_map(|(s, p)| Some((s, without(&p)?)))
            .collect();
        if self.premises.context.iter().any(|k| mentions(&k.poly)) {
            let (mixed, mut rest): (Vec<Constraint>, Vec<Constraint>) =
                self.premises.context.drain(..).partition(|k| k.poly.is_linear());
            rest.retain(|k| !mentions(&k.poly));
            self.premises.context = project(&mixed, |v| !gone.contains(&v));
            self.premises.context.extend(rest);
        }
        self.premises.differs.retain(|p| !mentions(p));
        self.entry.members.retain(|(s, _), p| !ended.contains(s) && !mentions(p));
        self.entry.pointers.retain(|s, loc| {
            let subs = || loc.subs.iter().filter_map(|(v, _)| v.as_deref()).flatten();
            !ended.contains(s) && !ended.contains(&loc.base) && !subs().any(|(_, p)| mentions(p))
        });
    }

    /// The function's own variables whose block ended before the root began.
    fn ended_before(&self, around: &[TermId]) -> FxHashSet<SymbolId> {
        let ended = |t: TermId| {
            let mut at = t;
            while let Some(p) = self.effects.parent(at) {
                // several declarations of a header are a list that is no block
                let list = *self.body.op(p) == Op::List;
                let header = list
                    && self.effects.parent(p).is_some_and(|g| {
                        *self.body.op(g) == Op::For && self.body.args(g).first() == Some(&p)
                    });
                if (list && !header) || *self.body.op(p) == Op::For {
                    return !around.contains(&p);
                }
                at = p;
            }
            false
        };
        self.effects.locals().iter().filter(|(t, _)| ended(*t)).map(|(_, s)| *s).collect()
    }

    fn read_before(&mut self, around: &[TermId], control: &Control) {
        // A place that was not understood writes what it may reach (`Effects::writes_in`).
        let jumps = self.effects.jumps_unseen() || self.effects.entered_by_label(self.root);
        let Some(parts) = self.body.loop_parts(self.root) else { return };
        if jumps {
            return;
        }
        let mut changed = Changed::default();
        if let Some(init) = parts.init {
            self.facts_of(init, &mut changed, control);
        }
        for pair in around.windows(2).rev() {
            let (parent, child) = (pair[0], pair[1]);
            let args = self.body.args(parent).to_vec();
            match self.body.op(parent) {
                Op::List => {
                    let grand =
                        around.iter().position(|&t| t == parent).and_then(|k| around.get(k.wrapping_sub(1)));
                    if grand.is_some_and(|&g| *self.body.op(g) == Op::Switch) {
                        self.entry.zero = None;
                        changed.by(self.effects, parent);
                        continue;
                    }
                    let at = args.iter().position(|&a| a == child).unwrap_or(0);
                    let telling = self.effects.telling(parent);
                    let mut behind = at;
                    for &k in telling.iter().rev().filter(|&&k| (k as usize) < at) {
                        let before = args[k as usize];
                        // those between tell nothing, but may write
                        changed.by_silent(self.effects, &args[k as usize + 1..behind]);
                        behind = k as usize;
                        if self.effects.entered_by_label(before) {
                            return;
                        }
                        self.facts_of(before, &mut changed, control);
                    }
                    changed.by_silent(self.effects, &args[..behind]);
                }
                Op::If => {
                    if self.effects.entered_by_label(parent) {
                        return;
                    }
                    if args.get(1) == Some(&child) {
                        self.assume(args[0], true, &changed, 0);
                    } else if args.get(2) == Some(&child) {
                        self.assume(args[0], false, &changed, 0);
                    }
                    changed.by(self.effects, args[0]);
                }
                Op::Function(_) | Op::Program => {}
                // Loops, and whatever else may have run before.
                _ if self.effects.entered_by_label(parent) => return,
                _ => {
                    self.entry.zero = None;
                    changed.by(self.effects, parent);
                }
            }
        }
    }

    /// What a statement before the root leaves true; then what it writes counts as changed for what stands before it.
    fn facts_of(&mut self, t: TermId, changed: &mut Changed, control: &Control) {
        if !self.pay(1) {
            return;
        }
        // Who comes past it has seen it hold, if it is there when the program is built.
        if let Some(holds) = self.body.asserted(t) {
            let known = std::mem::take(&mut self.premises.context);
            let differing = self.premises.differs.len();
            self.assume(holds, true, changed, 0);
            self.premises.differs.truncate(differing);
            let told = std::mem::replace(&mut self.premises.context, known);
            self.premises.asserted.extend(told);
            changed.by(self.effects, holds);
            return;
        }
        let args = self.body.args(t).to_vec();
        match *self.body.op(t) {
            Op::List | Op::Comma => {
                for &a in args.iter().rev() {
                    self.facts_of(a, changed, control);
                }
                return;
            }
            Op::Declare(s) => {
                if let (Some(&e), Storage::Local) = (args.first(), &self.body.symbols[s].storage) {
                    self.members_given(s, e, t, changed);
                    self.assigned(s, e, changed);
                    self.divided(s, e, changed, control);
                }
            }
            Op::Assign => {
                if let Some(s) = self.body.as_symbol(args[0]) {
                    self.members_given(s, args[1], t, changed);
                    self.assigned(s, args[1], changed);
                    self.divided(s, args[1], changed, control);
                } else {
                    self.member_assigned(t, changed);
                }
            }
            // Who comes past `if (c) return;` has seen c fail, and nothing that was done on the other way.
            Op::If if args.len() == 2 && self.leaves(args[1]) => {
                self.assume(args[0], false, changed, 0);
                self.entry.zero = self.zero_where_not(args[0]).filter(|s| !changed.contains(s));
                changed.by(self.effects, args[0]);
                return;
            }
            _ => {}
        }
        if let Some(s) = self.entry.zero.filter(|s| self.effects.writes_in(t).contains(s)) {
            match self.not_taken(t, s) {
                Some(conditions) => conditions.into_iter().for_each(|c| self.assume(c, false, changed, 0)),
                None => self.entry.zero = None,
            }
        }
        changed.by(self.effects, t);
    }

    fn assigned(&mut self, s: SymbolId, e: TermId, changed: &Changed) {
        if matches!(self.body.types.kind(self.body.symbols[s].ty), TypeKind::Pointer { .. }) {
            return self.pointed(s, e, changed);
        }
        let symbol = &self.body.symbols[s];
        let fresh = !changed.contains(&s) && !self.entry.values.contains_key(&s);
        let (Some(from), Some(to)) =
            (self.body.types.as_int(self.body.ty(e)), self.body.types.as_int(symbol.ty))
        else {
            return;
        };
        if !fresh || !symbol.is_own_scalar() || !self.is_plain_fact(e, changed) || self.mentions(e, s) {
            return;
        }
        let value = |m: &mut Self| {
            let v = m.plain_value(e)?;
            m.convert(vec![(Domain::always(), v)], from, to, e)
        };
        let value = match self.is_step(s) {
            true => self.owing(value),
            false => self.quietly(value),
        };
        if let Some(v) = value.and_then(|v| self.settled(&v)) {
            self.entry.values.insert(s, v);
        }
    }

    /// The one value, if it is made of fixed numbers that have names: of a quotient nothing is known but its name, and who has it as its
    /// value has a name.
    pub(super) fn settled(&self, value: &Pieces) -> Option<Poly> {
        let [(_, v)] = value.as_slice() else { return None };
        let is_opaque =
            v.as_var().is_some_and(|x| matches!(self.vars.kind(x), VarKind::Param(Param::Term(_))));
        (v.is_linear() && v.vars().all(|x| self.is_param(x)) && !is_opaque).then(|| v.clone())
    }

    /// `half = (n + 1) / 2; for (i = 0; i < half; i++)`: where the loop has an iteration, half is positive, so that the
    /// quotient is the floor (C11 6.5.5p6) and `0 <= n + 1 - 2*half < 2`. Where it has none, nothing said of it matters:
    /// so the loop has to compare its index with the variable itself, in one signed type.
    fn divided(&mut self, s: SymbolId, e: TermId, changed: &Changed, control: &Control) {
        let (Op::Binary(op @ (BinOp::Div | BinOp::Shr)), &[a, b]) = (self.body.op(e), self.body.args(e))
        else {
            return;
        };
        let symbol = &self.body.symbols[s];
        let kind = self.body.types.as_int(symbol.ty);
        let bound = control.bound.and_then(|b| self.body.as_symbol(b));
        let up = match (&control.step, control.relation) {
            (Step::Const(k), BinOp::Lt) => *k > 0,
            _ => false,
        };
        let from = counted_loop::constant(self.body, control.lower);
        let wide = |t: TermId| self.body.types.as_int(self.body.ty(t)).is_some_and(|k| k == IntKind::Int);
        let usable = up
            && control.is_plain()
            && bound == Some(s)
            && from.is_some_and(|v| v >= 0)
            && kind == Some(IntKind::Int)
            && control.index_type == IntKind::Int
            && wide(e)
            && wide(a)
            && !changed.contains(&s)
            && !self.effects.writes_in(self.root).contains(&s)
            && symbol.is_own_scalar()
            && self.is_plain_fact(a, changed)
            && !self.mentions(a, s);
        let divisor = match (op, counted_loop::constant(self.body, b)) {
            (BinOp::Div, Some(c)) if c > 0 => c,
            (BinOp::Shr, Some(k)) if (0..31).contains(&k) => 1 << k,
            _ => return,
        };
        if !usable {
            return;
        }
        let Some(value) = self.quietly(|m| m.plain_value(a)) else { return };
        if !value.is_linear() || !value.vars().all(|x| self.is_param(x)) {
            return;
        }
        let half = Poly::var(self.param(Param::Symbol(s)));
        let rest = half.scale(divisor).and_then(|d| value.sub(&d));
        let most = rest.as_ref().and_then(|r| r.scale(-1)?.add_constant(divisor - 1));
        if let (Some(rest), Some(most)) = (rest, most) {
            self.premises.context.extend([Constraint::non_negative(rest), Constraint::non_negative(most)]);
        }
    }

    /// Where a pointer points that is set to an address made of fixed values.
    fn pointed(&mut self, s: SymbolId, e: TermId, changed: &Changed) {
        let symbol = &self.body.symbols[s];
        if !symbol.is_own_scalar() || changed.contains(&s) || self.entry.pointers.contains_key(&s) {
            return;
        }
        let fixed = self.body.walk(e).take(60).count() < 60
            && self.body.walk(e).all(|x| match self.body.op(x) {
                Op::Int(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::AddrOf => true,
                // Only the array under a subscript that is not read.
                Op::Index => matches!(
                    self.body.types.kind(self.body.ty(self.body.args(x)[0])),
                    TypeKind::Array { .. } | TypeKind::Pointer { .. }
                ),
                Op::Sym(u) => {
                    let v = &self.body.symbols[*u];
                    *u != s
                        && !changed.contains(u)
                        && (v.is_own_scalar()
                            || matches!(v.storage, Storage::Constant(_))
                            || matches!(self.body.types.kind(v.ty), TypeKind::Array { .. }))
                }
                _ => false,
            });
        let element = |ty: TypeId| self.body.types.element(ty).map(|e| self.body.types.kind(e));
        if !fixed || element(symbol.ty).is_none() || element(symbol.ty) != element(self.body.ty(e)) {
            return;
        }
        let reads = self.accesses.len();
        let loc = self.quietly(|m| m.pointer(e).ok().filter(|_| m.accesses.len() == reads));
        // What was loaded then may be another pointer by now.
        if let Some(loc) = loc.filter(|l| l.loads.is_empty()) {
            self.entry.pointers.insert(s, loc);
        }
    }

    /// Takes the condition to hold (or not to) in all that follows, as far as it is a conjunction over fixed values.
    fn assume(&mut self, c: TermId, holds: bool, changed: &Changed, depth: u32) {
        if depth > 20 {
            return;
        }
        let args = self.body.args(c).to_vec();
        match (self.body.op(c).clone(), holds) {
            (Op::Binary(BinOp::And), true) | (Op::Binary(BinOp::Or), false) => {
                // What a later part writes ends what an earlier part told.
                for (k, &a) in args.iter().enumerate() {
                    let mut by_then = changed.clone();
                    for &later in &args[k + 1..] {
                        by_then.by(self.effects, later);
                    }
                    self.assume(a, holds, &by_then, depth + 1);
                }
                return;
            }
            (Op::Unary(UnOp::Not), _) => return self.assume(args[0], !holds, changed, depth + 1),
            _ => {}
        }
        if !self.is_fact(c, changed) {
            return;
        }
        let domain = self.quietly(|m| {
            let (yes, no) = m.condition(c);
            Some(if holds { yes } else { no })
        });
        let Some(Domain { pieces, exact: true }) = domain else { return };
        let piece = match &pieces[..] {
            [piece] => piece,
            // more than 0 or less
            [above, below] => return self.assume_apart(above, below),
            _ => return,
        };
        for k in piece {
            if let Some(poly) = self.linear(&k.poly) {
                let fixed = poly.vars().all(|v| self.is_param(v));
                let fact = Constraint { poly, equality: k.equality };
                if fixed && !self.premises.context.contains(&fact) {
                    self.premises.context.push(fact);
                }
            }
        }
    }

    /// Takes a value not to be 0, where one of these holds and they say that it is more, and that it is less.
    fn assume_apart(&mut self, above: &[Constraint], below: &[Constraint]) {
        let ([a], [b]) = (above, below) else { return };
        let is_apart = !a.equality && !b.equality && a.poly.add(&b.poly) == Some(Poly::constant(-2));
        let Some(value) = a.poly.add_constant(1).filter(|_| is_apart) else { return };
        if value.vars().all(|v| self.is_param(v)) && !self.premises.differs.contains(&value) {
            self.premises.differs.push(value);
        }
    }

    /// The variable that is 0 where a condition does not hold.
    fn zero_where_not(&self, c: TermId) -> Option<SymbolId> {
        let compared = match (self.body.op(c), self.body.args(c)) {
            (Op::Binary(BinOp::Ne), &[a, b]) => match (self.body.as_int(a), self.body.as_int(b)) {
                (_, Some(0)) => a,
                (Some(0), _) => b,
                _ => return None,
            },
            _ => c,
        };
        self.body.as_symbol(compared).filter(|&s| self.body.symbols[s].is_own_scalar())
    }

    /// The conditions that all failed where the variable is 0 behind `if (a) s = 1; else if (b) s = 2; …`.
    fn not_taken(&self, t: TermId, s: SymbolId) -> Option<Vec<TermId>> {
        let only = |t: TermId| match (self.body.op(t), self.body.args(t)) {
            (Op::List, &[one]) => one,
            _ => t,
        };
        let is_set = |t: TermId| match (self.body.op(t), self.body.args(t)) {
            (Op::Assign, &[place, value]) => {
                let value = self.body.constant(value);
                self.body.as_symbol(place) == Some(s) && value.is_some_and(|v| v != 0)
            }
            _ => false,
        };
        let mut all = Vec::new();
        let mut next = Some(only(t));
        while let Some(at) = next {
            let (&Op::If, &[c, then, ref rest @ ..]) = (self.body.op(at), self.body.args(at)) else {
                return None;
            };
            if self.mentions(c, s) || !is_set(only(then)) {
                return None;
            }
            all.push(c);
            next = rest.first().map(|&t| only(t));
        }
        Some(all)
    }

    /// Whether the variable is what a loop goes on by whose steps are taken for the lengths of rows.
    fn is_step(&self, s: SymbolId) -> bool {
        let of = |t: TermId| match counted_loop::control(self.body, t, self.effects) {
            Ok(Control { step: Step::Term { term, .. }, .. }) => self.body.as_symbol(term),
            _ => None,
        };
        self.how.strided && self.body.loops(self.root).any(|t| of(t) == Some(s))
    }

    /// Evaluates what is fixed before the root as [`Builder::quietly`] does, but leaves it to be proved or tested that it does not wrap.
    fn owing(&mut self, f: impl FnOnce(&mut Self) -> Option<Pieces>) -> Option<Pieces> {
        let (first, obstacles, defined) =
            (self.obligations.len(), self.obstacles.len(), self.vars.count_defined());
        let out = f(self);
        let new = &self.obligations[first..];
        let is_fixed = |p: &Poly| p.vars().all(|v| self.is_param(v));
        let stays = new.iter().all(|o| matches!(o.kind, Need::NoWrap(_)) && is_fixed(&o.poly));
        let clean = stays && self.obstacles.len() == obstacles && self.vars.count_defined() == defined;
        if out.is_none() || !clean {
            self.obligations.truncate(first);
        }
        self.obstacles.truncate(obstacles);
        out.filter(|_| clean)
    }

    /// Evaluates without recording accesses. What needs an obligation to be the mathematical value says nothing.
    pub(super) fn quietly<T>(&mut self, f: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before =
            (self.accesses.len(), self.obligations.len(), self.obstacles.len(), self.vars.count_defined());
        let assumed = self.assumed.len();
        let out = f(self);
        // what was there when the root began needs not stay
        self.assumed.truncate(assumed);
        let clean = self.obligations.len() == before.1
            && self.obstacles.len() == before.2
            && self.vars.count_defined() == before.3;
        self.accesses.truncate(before.0);
        self.obligations.truncate(before.1);
        self.obstacles.truncate(before.2);
        out.filter(|_| clean)
    }

    /// Arithmetic over integers that only this function can change, and that nothing has changed since.
    pub(super) fn is_plain_fact(&self, e: TermId, changed: &Changed) -> bool {
        self.body.walk(e).take(60).count() < 60
            && self.body.walk(e).all(|x| match self.body.op(x) {
                Op::Int(_) | Op::Unary(_) | Op::Binary(_) | Op::Cast => {
                    self.body.types.as_int(self.body.ty(x)).is_some()
                }
                Op::Sym(s) => {
                    let symbol = &self.body.symbols[*s];
                    let quals = self.body.types.quals(symbol.ty);
                    matches!(symbol.storage, Storage::Constant(_))
                        || (symbol.is_own_scalar()
                            && !changed.contains(s)
                            && !quals.is_volatile
                            && self.body.types.as_int(symbol.ty).is_some())
                }
                _ => false,
            })
    }

    /// Likewise, and integers in structures of the function's own that nothing has changed since, and in memory that nothing has been
    /// written to.
    fn is_fact(&self, e: TermId, changed: &Changed) -> bool {
        self.is_plain_fact(e, changed)
            || self.body.walk(e).take(60).count() < 60 && self.is_remembered(e, changed)
    }

    fn is_remembered(&self, e: TermId, changed: &Changed) -> bool {
        let (body, args) = (self.body, self.body.args(e));
        let is_int = body.types.as_int(body.ty(e)).is_some();
        match body.op(e) {
            Op::Int(_) => is_int,
            Op::Unary(_) | Op::Binary(_) | Op::Cast => {
                is_int && args.iter().all(|&a| self.is_remembered(a, changed))
            }
            Op::Sym(_) | Op::Deref | Op::Index | Op::Member { .. } => {
                is_int && self.is_same_place(e, changed)
            }
            _ => false,
        }
    }

    /// Whether the place is where it was, and others do not change it unseen.
    fn is_same_place(&self, place: TermId, changed: &Changed) -> bool {
        let body = self.body;
        let quals = body.types.quals(body.ty(place));
        let is_quiet = !quals.is_volatile && !quals.is_atomic;
        is_quiet
            && match (body.op(place), body.args(place)) {
                (Op::Sym(s), _) => {
                    let v = &body.symbols[*s];
                    let quals = body.types.quals(v.ty);
                    let is_own = v.storage.is_of_call() && !v.address_taken;
                    let is_quiet = !quals.is_volatile && !quals.is_atomic && v.device.is_none();
                    is_quiet && !changed.contains(s) && (is_own || !changed.memory)
                }
                (Op::Member { arrow: false, .. }, &[of]) => self.is_same_place(of, changed),
                (Op::Deref | Op::Member { .. }, &[of]) => !changed.memory && self.is_same_place(of, changed),
                (Op::Index, &[of, at]) => {
                    !changed.memory && self.is_same_place(of, changed) && self.is_remembered(at, changed)
                }
                _ => false,
            }
    }

    pub(super) fn mentions(&self, e: TermId, s: SymbolId) -> bool {
        self.body.walk(e).any(|x| self.body.as_symbol(x) == Some(s))
    }
}

impl Builder<'_> {
    /// Whether a statement never lets control come past its end: it leaves, or calls what does not come back.
    fn leaves(&self, t: TermId) -> bool {
        match self.body.op(t) {
            Op::List => self.body.args(t).last().is_some_and(|&l| self.leaves(l)),
            Op::Call => self.effects.never_returns(t),
            _ => leaves(self.body, t),
        }
    }
}

/// Whether a statement never lets control come past its end: its last statement leaves.
pub(super) fn leaves(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Break | Op::Continue | Op::Return | Op::Goto(_) => true,
        Op::List => body.args(t).last().is_some_and(|&l| leaves(body, l)),
        _ => false,
    }
}
