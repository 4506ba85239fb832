//! Statements and conditions: where each part of an iteration runs, and what variables hold afterwards.

use base::IndexId;
use rustc_hash::FxHashMap;
use term::{BinOp, Body, Op, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::algebra::poly::{Constraint, Domain, Poly};
use crate::nest::builder::{Builder, Loc, MAX_ACCESSES, MAX_DEPTH, MAX_VALUE_PIECES};
use crate::nest::pieces::{compare, compare_pieces, exact_if_known, Pieces};
use crate::{is_choice, Obstacle, ObstacleKind, Param};

/// A statement that is run as a whole, and where (F4.1): what thread maps distribute.
#[derive(Clone, Debug)]
pub(crate) struct Executed {
    pub term: TermId,
    /// Model loops around it, outermost (0) first.
    pub loops: Vec<usize>,
    pub domain: Domain,
    /// What made the domain inexact.
    pub why: Option<Obstacle>,
}

impl Builder<'_> {
    pub(super) fn visit_statement(&mut self, t: TermId) {
        self.depth += 1;
        if self.depth > MAX_DEPTH
            || self.accesses.len() > MAX_ACCESSES
            || !self.pay(1 + self.dom.pieces.len())
        {
            self.obstacle(ObstacleKind::Budget(crate::Work::Model), t);
            self.depth -= 1;
            return;
        }
        self.statement(t);
        self.depth -= 1;
    }

    pub(super) fn statement(&mut self, t: TermId) {
        let args = self.body.args(t).to_vec();
        match self.body.op(t).clone() {
            Op::List => {
                for a in args {
                    self.visit_statement(a);
                }
            }
            Op::If => {
                self.note_executed(t);
                let (yes, no) = self.condition(args[0]);
                self.branch(t, yes, no, args[1], args.get(2).copied());
            }
            Op::For | Op::While | Op::DoWhile => self.inner_loop(t),
            Op::Switch => {
                self.note_executed(t);
                self.visit(args[0]);
                let saved = (self.dom.clone(), self.why.clone(), self.jumped);
                self.mark_inexact(ObstacleKind::DataDependentCondition, args[0]);
                let head = self.dom.clone();
                let written: Vec<SymbolId> = self.effects.writes_in(args[1]).iter().copied().collect();
                for &item in self.body.args(args[1]) {
                    // Any label may be entered first: what an earlier part leaves out says nothing of this one.
                    self.dom = head.clone();
                    for &s in &written {
                        self.forget(s);
                    }
                    self.visit_statement(item);
                }
                for &s in &written {
                    self.forget(s);
                }
                // A `break` in it ends only the switch.
                let jumped = self.jumped && crate::flow::liveness::has_continue(self.body, args[1]);
                (self.dom, self.why, self.jumped) = saved;
                if jumped {
                    self.mark_inexact(ObstacleKind::DataDependentCondition, args[0]);
                    // A `continue` in it leaves the iteration: what is around must know.
                    self.jumped = true;
                }
            }
            // Initialised once, before the program starts.
            Op::Declare(s) if self.body.symbols[s].storage.is_static_local() => {}
            Op::Declare(s) => {
                let ty = self.body.symbols[s].ty;
                self.visit_lengths(t);
                if !args.is_empty() {
                    self.note_executed(t);
                }
                match args.first() {
                    Some(&e) if matches!(self.body.types.kind(ty), TypeKind::Pointer { .. }) => {
                        let p = self.pointer_value(e);
                        self.pointers.insert(s, p);
                    }
                    Some(&e) => {
                        let idle = self.is_idle_variable(s);
                        let around = std::mem::replace(&mut self.idle, idle);
                        let v = self.visit(e);
                        self.assign_symbol(s, v, self.body.ty(e), e);
                        self.idle = around;
                        if !self.body.symbols[s].is_own_scalar() || !is_scalar(self.body, ty) {
                            self.touch_symbol(s, t, true);
                        }
                    }
                    None => self.forget(s),
                }
            }
            Op::Break | Op::Continue => self.jumped = true,
            Op::Return | Op::Goto(_) | Op::Label(_) => self.obstacle(ObstacleKind::EarlyExit, t),
            Op::Empty | Op::Mark(_) => {}
            Op::Case | Op::Default => {}
            _ => {
                self.note_executed(t);
                self.visit(t);
            }
        }
    }

    fn note_executed(&mut self, term: TermId) {
        let (loops, domain, why) = (self.path.clone(), self.dom.clone(), self.why.clone());
        self.executed.push(Executed { term, loops, domain, why });
    }

    pub(super) fn branch(&mut self, t: TermId, yes: Domain, no: Domain, then: TermId, other: Option<TermId>) {
        let why_data = Obstacle { kind: ObstacleKind::DataDependentCondition, term: self.body.args(t)[0] };
        let (dom, why, env, pointers) =
            (self.dom.clone(), self.why.clone(), self.env.clone(), self.pointers.clone());
        let outer_jump = std::mem::take(&mut self.jumped);
        let enter = |m: &mut Self, d: &Domain| {
            m.dom = dom.and(d);
            if !d.exact {
                m.why.get_or_insert(why_data.clone());
            }
        };
        enter(self, &yes);
        self.visit_statement(then);
        let then_jumped = std::mem::take(&mut self.jumped);
        let then_env = std::mem::replace(&mut self.env, env);
        let then_pointers = std::mem::replace(&mut self.pointers, pointers);
        self.why = why.clone();
        let mut else_jumped = false;
        if let Some(o) = other {
            enter(self, &no);
            self.visit_statement(o);
            else_jumped = std::mem::take(&mut self.jumped);
        }
        self.why = why;
        self.dom = dom.clone();
        self.jumped = outer_jump;
        let tail_jump = |b: TermId| ends_in_jump(self.body, b);
        let then_ends = then_jumped && tail_jump(then);
        let else_ends = else_jumped && other.is_some_and(tail_jump);
        match (then_ends, else_ends) {
            (true, false) => {
                self.dom = dom.and(&no);
                if !no.exact {
                    self.why.get_or_insert(why_data.clone());
                }
            }
            (false, true) => {
                self.dom = dom.and(&yes);
                self.env = then_env;
                self.pointers = then_pointers;
                if !yes.exact {
                    self.why.get_or_insert(why_data.clone());
                }
            }
            (true, true) => {}
            (false, false) => self.merge(&yes, &no, then_env, then_pointers),
        }
        if (then_jumped && !then_ends) || (else_jumped && !else_ends) {
            self.mark_inexact(why_data.kind.clone(), why_data.term);
        }
        // What is around must know that somebody may have left.
        self.jumped = outer_jump || then_jumped || else_jumped;
    }

    pub(super) fn merge(
        &mut self,
        yes: &Domain,
        no: &Domain,
        then_env: FxHashMap<SymbolId, Option<Pieces>>,
        then_pointers: FxHashMap<SymbolId, Option<Loc>>,
    ) {
        let mut symbols: Vec<SymbolId> = then_env.keys().chain(self.env.keys()).copied().collect();
        symbols.sort_unstable();
        symbols.dedup();
        for s in symbols {
            let a = then_env.get(&s).cloned().unwrap_or_else(|| self.entry_value(s));
            let b = self.env.get(&s).cloned().unwrap_or_else(|| self.entry_value(s));
            if a == b {
                continue;
            }
            let joined = match (a, b) {
                (Some(a), Some(b)) => {
                    let with = |d: &Domain, ps: Pieces| -> Pieces {
                        ps.into_iter().map(|(e, p)| (d.and(&e), p)).collect()
                    };
                    let mut all = with(yes, a);
                    all.extend(with(no, b));
                    match all.len() > MAX_VALUE_PIECES {
                        true => self.between(&all),
                        false => Some(self.clamped(all)),
                    }
                }
                _ => None,
            };
            match joined {
                Some(j) => {
                    self.env.insert(s, Some(j));
                }
                None => self.forget(s),
            }
        }
        let mut names: Vec<SymbolId> = then_pointers.keys().chain(self.pointers.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        for s in names {
            let same = match (then_pointers.get(&s), self.pointers.get(&s)) {
                (Some(None), Some(None)) => true,
                (Some(Some(a)), Some(Some(b))) => {
                    a.base == b.base
                        && a.fields == b.fields
                        && format!("{:?}", a.subs) == format!("{:?}", b.subs)
                }
                _ => false,
            };
            if !same {
                self.pointers.insert(s, None);
            }
        }
    }

    pub(super) fn entry_value(&mut self, s: SymbolId) -> Option<Pieces> {
        let v = self.value_at_entry(s);
        Some(vec![(Domain::always(), v)])
    }

    /// What the variable holds when the root begins.
    pub(super) fn value_at_entry(&mut self, s: SymbolId) -> Poly {
        match self.entry.values.get(&s) {
            Some(v) => v.clone(),
            None => Poly::var(self.param(Param::Symbol(s))),
        }
    }

    // ---- conditions

    /// Where the condition holds and where it does not, recording what it reads.
    pub(super) fn condition(&mut self, t: TermId) -> (Domain, Domain) {
        self.depth += 1;
        if self.depth > MAX_DEPTH || !self.pay(1 + self.dom.pieces.len()) {
            self.obstacle(ObstacleKind::Budget(crate::Work::Model), t);
            self.depth -= 1;
            return (Domain::unknown(), Domain::unknown());
        }
        let around = std::mem::replace(&mut self.idle, false);
        let out = self.condition_inner(t);
        self.idle = around;
        self.depth -= 1;
        out
    }

    /// Where two values differ: on one side alone, if the other is known not to occur here.
    fn apart(&self, p: &Poly, q: &Poly) -> Domain {
        let above = p.sub(q).filter(|d| self.is_non_negative(d, &self.dom));
        let below = || q.sub(p).filter(|d| self.is_non_negative(d, &self.dom));
        match above.or_else(below).and_then(|d| d.add_constant(-1)) {
            Some(d) => Domain::of(Constraint::non_negative(d)),
            None => compare(BinOp::Ne, p, q),
        }
    }

    pub(super) fn condition_inner(&mut self, t: TermId) -> (Domain, Domain) {
        let args = self.body.args(t).to_vec();
        match *self.body.op(t) {
            Op::Unary(UnOp::Not) => {
                let (a, b) = self.condition(args[0]);
                (b, a)
            }
            Op::Binary(op @ (BinOp::And | BinOp::Or)) => {
                let (y1, n1) = self.condition(args[0]);
                let (dom, why) = (self.dom.clone(), self.why.clone());
                let entered = if op == BinOp::And { &y1 } else { &n1 };
                self.dom = dom.and(entered);
                if !entered.exact {
                    self.why.get_or_insert(Obstacle {
                        kind: ObstacleKind::DataDependentCondition,
                        term: args[0],
                    });
                }
                let env = self.env.clone();
                let (y2, n2) = self.condition(args[1]);
                if self.effects.writes_in(args[1]).iter().next().is_some() {
                    // The right side may not have run.
                    self.env = env;
                    for &s in self.effects.writes_in(args[1]).iter() {
                        self.forget(s);
                    }
                }
                (self.dom, self.why) = (dom, why);
                if op == BinOp::And {
                    (y1.and(&y2), n1.or(&y1.and(&n2)))
                } else {
                    (y1.or(&n1.and(&y2)), n1.and(&n2))
                }
            }
            Op::Binary(op) if op.is_comparison() => {
                let (lt, rt) = (self.body.ty(args[0]), self.body.ty(args[1]));
                let (obligations, accesses) = (self.obligations.len(), self.accesses.len());
                let a = self.visit(args[0]);
                let b = self.visit(args[1]);
                let kinds = self.body.types.as_int(lt).zip(self.body.types.as_int(rt));
                let (Some(a), Some(b), Some((ka, kb))) = (a, b, kinds) else {
                    self.leave_unused(t, obligations, accesses);
                    return self.fixed_choice(t);
                };
                let common = ka.common(kb);
                let a = self.convert(a, ka, common, args[0]);
                let b = self.convert(b, kb, common, args[1]);
                match (a, b) {
                    (Some(a), Some(b)) => {
                        let holds = |op: BinOp| match (op, a.as_slice(), b.as_slice()) {
                            (BinOp::Ne, [(x, p)], [(y, q)]) if *x == Domain::always() && x == y => {
                                self.apart(p, q)
                            }
                            _ => compare_pieces(op, &a, &b),
                        };
                        let (yes, no) = (holds(op), holds(op.negated()));
                        (exact_if_known(self.vars.kinds(), yes), exact_if_known(self.vars.kinds(), no))
                    }
                    _ => (Domain::unknown(), Domain::unknown()),
                }
            }
            Op::Int(v) => {
                if v != 0 {
                    (Domain::always(), Domain::never())
                } else {
                    (Domain::never(), Domain::always())
                }
            }
            _ => {
                // An integer used as a truth value: e != 0.
                let v = self.visit(t);
                match v.filter(|_| self.body.types.as_int(self.body.ty(t)).is_some()) {
                    Some(v) => {
                        let zero = vec![(Domain::always(), Poly::constant(0))];
                        (
                            exact_if_known(self.vars.kinds(), compare_pieces(BinOp::Ne, &v, &zero)),
                            exact_if_known(self.vars.kinds(), compare_pieces(BinOp::Eq, &v, &zero)),
                        )
                    }
                    None => self.fixed_choice(t),
                }
            }
        }
    }

    /// A condition that numbers of the model do not say, but that has one answer while the root runs (`bias != NULL`,
    /// `alpha > 0.5`, `if (mask)`): a parameter, 1 where it holds and 0 where not.
    pub(super) fn fixed_choice(&mut self, t: TermId) -> (Domain, Domain) {
        let is_fixed = is_choice(self.body, t)
            && self.effects.is_invariant_in(self.body, t, self.root)
            && self.in_the_text(t).index() < self.how.own;
        if !is_fixed {
            return (Domain::unknown(), Domain::unknown());
        }
        let v = Poly::var(self.param(Param::Term(t)));
        match (v.add_constant(-1), v.scale(-1)) {
            (Some(yes), Some(no)) => {
                (Domain::of(Constraint::non_negative(yes)), Domain::of(Constraint::non_negative(no)))
            }
            _ => (Domain::unknown(), Domain::unknown()),
        }
    }
}

fn is_scalar(body: &Body, ty: TypeId) -> bool {
    matches!(body.types.kind(ty), TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. })
}

fn ends_in_jump(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Break | Op::Continue => true,
        Op::List => body.args(t).last().is_some_and(|&l| ends_in_jump(body, l)),
        _ => false,
    }
}
