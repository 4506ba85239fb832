//! Entering loops: counters, domains, what is known of variables at the start of an iteration.

use super::*;
impl Model<'_> {
    pub(super) fn root_loop(&mut self, c: &Control) {
        let args = self.body.args(self.root).to_vec();
        let (cond, step, inner) = (args[1], args[2], args[3]);
        // What the iteration does not know at its start.
        let written: Vec<SymbolId> = {
            let mut all: Vec<SymbolId> = self.effects.writes_in(inner).iter().copied().collect();
            all.extend(self.effects.writes_in(step).iter().copied());
            all.extend(self.effects.writes_in(cond).iter().copied());
            all.sort_unstable();
            all.dedup();
            all
        };
        let inductions = induction_updates(self.body, self.root, Some(c.index));
        // The first value is evaluated once, before: it is fixed. Its own variables may move later.
        let lower = self.lower_of_root(c);
        self.path.push(0);
        let var = self.fresh(VarKind::Iter(0));
        self.loops.push(ModelLoop {
            term: self.root,
            var,
            index: None,
            iteration: None,
            trips: None,
            lower: None,
            limit: None,
            domain: Domain::unknown(),
            control: Some(c.clone()),
        });
        for s in &written {
            self.forget(*s);
        }
        self.enter_counted(0, c, vec![(Domain::always(), lower)], cond);
        let iteration = self.loops[0].iteration.clone();
        for (s, step, update) in inductions {
            let Some(kind) = self.body.types.as_int(self.body.symbols[s].ty) else {
                continue;
            };
            if s == c.index || !self.body.symbols[s].is_own_scalar() || !kind.signed() || kind.bits() < 32 {
                continue;
            }
            if let Some(t) = iteration.as_ref().and_then(|t| t.scale(step)) {
                let start = Poly::var(self.param(Param::Symbol(s)));
                if let Some(v) = start.add(&t) {
                    self.env.insert(s, Some(vec![(Domain::always(), v)]));
                    self.inductions.push((s, step, update));
                }
            }
        }
        for (s, by, update) in walking_pointers(self.body, self.root) {
            let Some(t) = iteration.as_ref().and_then(|t| t.scale(by)) else { continue };
            if self.body.symbols[s].is_own_scalar() {
                let sub = (Some(vec![(Domain::always(), t)]), update);
                let loc = Loc { base: s, fields: Vec::new(), subs: vec![sub], lengths: vec![None] };
                self.pointers.insert(s, Some(loc));
                self.inductions.push((s, by, update));
            }
        }
        self.visit_body(self.root, inner);
        self.visit(step);
    }

    /// The first value of the root's index. Its text stands before the loop, where the variables still have the
    /// values they enter with; a variable that the loop writes is therefore not the same as inside.
    pub(super) fn lower_of_root(&mut self, c: &Control) -> Poly {
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
    pub(super) fn enter_counted(&mut self, at: usize, c: &Control, lower: Pieces, cond: TermId) {
        let var = self.loops[at].var;
        let before = self.dom.clone();
        let x = Poly::var(var);
        let single = if lower.len() == 1 { Some(lower[0].1.clone()) } else { None };
        let known =
            single.as_ref().filter(|p| p.vars().all(|v| self.vars[v as usize] != VarKind::Fresh)).cloned();
        let (index, iteration) = match (&c.step, &known) {
            (Step::Const(1), Some(l)) => (x.clone(), x.sub(l)),
            (Step::Const(s), Some(l)) => match x.scale(*s).and_then(|p| p.add(l)) {
                Some(p) => (p, Some(x.clone())),
                None => (x.clone(), None),
            },
            _ => (x.clone(), None),
        };
        // 0 <= iteration, or the index lies on the right side of its first value.
        match &iteration {
            Some(t) => self.require_in_domain(Constraint::non_negative(t.clone())),
            None => {
                let up = matches!(c.relation, BinOp::Lt | BinOp::Le)
                    || (c.relation == BinOp::Ne && c.step == Step::Const(1));
                let mut d = Domain::never();
                for (when, l) in &lower {
                    let diff = if up { index.sub(l) } else { l.sub(&index) };
                    let piece = match diff {
                        Some(p) => when.and(&Domain::of(Constraint::non_negative(p))),
                        None => Domain::unknown(),
                    };
                    d = d.or(&piece);
                }
                self.dom = self.dom.and(&d);
                let steady = matches!(c.step, Step::Const(1 | -1)) && known_pieces(&self.vars, &lower);
                if !steady {
                    let kind = self.inexact_kind(c.lower);
                    self.blur(kind, c.lower);
                }
            }
        }
        self.loops[at].index = Some((c.index, index.clone()));
        self.loops[at].iteration = iteration;
        self.env.insert(c.index, Some(vec![(Domain::always(), index.clone())]));
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
            self.dom.exact = false;
            self.why.get_or_insert(Obstacle { kind: ObstacleKind::NonAffineSubscript, term });
        }
        // The condition, with C's conversions.
        let bound_side = self.visit(c.bound);
        let (bt, it) = (self.body.types.as_int(self.body.ty(c.bound)), c.index_type);
        let mut limit = None;
        let positive = match (bound_side, bt) {
            (Some(bound), Some(bt)) => {
                let common = it.common(bt);
                let b = self.convert(bound, bt, common, c.bound);
                let i = self.convert(vec![(Domain::always(), index.clone())], it, common, cond);
                match (i, b) {
                    (Some(i), Some(b)) => {
                        if b.len() == 1 {
                            limit = Some(b[0].1.clone());
                        }
                        let relation = match (c.relation, &c.step) {
                            (BinOp::Ne, Step::Const(1)) => BinOp::Lt,
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
        // A bound that changes from iteration to iteration says nothing exactly.
        let positive = blurred(&self.vars, positive);
        if !positive.exact {
            let kind = self.inexact_kind(c.bound);
            self.why.get_or_insert(Obstacle { kind, term: c.bound });
        }
        self.dom = self.dom.and(&positive);
        if let (Some(l), Some(b)) = (&known, &limit) {
            self.loops[at].trips = trips(c, l, b);
        }
        self.loops[at].lower = known;
        self.loops[at].limit = limit.clone();
        self.loops[at].domain = self.dom.clone();
        // Where the index ends must be a value of its type, else it wraps and the loop goes on.
        if let Some(b) = limit {
            let kind = c.index_type;
            let step = match c.step {
                Step::Const(s) => s,
                Step::Term { .. } => 0,
            };
            let undefined = kind.signed() && kind.bits() >= 32;
            if c.relation == BinOp::Ne {
                if let Some(l) = &single {
                    let d = if step > 0 { b.sub(l) } else { l.sub(&b) };
                    // Overflow of a signed index is undefined; an unsigned one goes round.
                    if let Some(d) = d.filter(|_| !undefined) {
                        self.oblige(Need::Terminates(cond), d, before);
                    }
                }
            } else if !undefined {
                // The last value past the bound: `b - 1 + step` at most when counting up.
                let past = match c.relation {
                    BinOp::Lt => b.add_constant(step - 1),
                    BinOp::Le => b.add_constant(step),
                    BinOp::Gt => b.add_constant(step + 1),
                    _ => b.add_constant(step),
                };
                let fits = past.and_then(|p| {
                    if step > 0 {
                        p.scale(-1)?.add_constant(kind.max())
                    } else {
                        p.add_constant(-kind.min())
                    }
                });
                let dom = self.dom.clone();
                match fits {
                    Some(f) if step != 0 => self.oblige(Need::Terminates(cond), f, dom),
                    _ => self.obstacle(ObstacleKind::NonAffineSubscript, cond),
                }
            }
        }
    }

    pub(super) fn require_in_domain(&mut self, c: Constraint) {
        self.dom = self.dom.and(&Domain::of(c));
    }

    pub(super) fn visit_body(&mut self, loop_term: TermId, inner: TermId) {
        if has_own_break(self.body, inner) && loop_term != self.root {
            self.blur(ObstacleKind::EarlyExit, loop_term);
        }
        self.visit_statement(inner);
    }

    pub(super) fn inner_loop(&mut self, t: TermId) {
        let args = self.body.args(t).to_vec();
        let saved_dom = self.dom.clone();
        let saved_why = self.why.clone();
        let saved_jumped = std::mem::take(&mut self.jumped);
        let at = self.loops.len();
        let var = self.fresh(VarKind::Iter(at));
        let control = control::control(self.body, t, self.effects).ok();
        let (init, cond, step, inner) = match self.body.op(t) {
            Op::For => (Some(args[0]), Some(args[1]), Some(args[2]), args[3]),
            Op::While => (None, Some(args[0]), None, args[1]),
            _ => (None, Some(args[1]), None, args[0]),
        };
        if let Some(init) = init {
            self.visit_statement(init);
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
        let lower = control.as_ref().and_then(|c| self.value_of_symbol(c.index, c.lower));
        let written: Vec<SymbolId> = {
            let mut all: Vec<SymbolId> = self.effects.writes_in(t).iter().copied().collect();
            all.sort_unstable();
            all
        };
        let inductions = match &control {
            Some(c) => induction_updates(self.body, t, Some(c.index)),
            None => Vec::new(),
        };
        let entry: Vec<(SymbolId, i128, Option<Pieces>)> =
            inductions.iter().map(|&(s, k, u)| (s, k, self.value_of_symbol(s, u))).collect();
        for &s in &written {
            self.forget(s);
        }
        self.path.push(at);
        match &control {
            Some(c) => {
                let lower = lower.unwrap_or_else(|| vec![(Domain::always(), self.fresh_value())]);
                // The first value was computed in other iterations of what is around; conditions of its pieces hold.
                self.enter_counted(at, c, lower, cond.unwrap_or(t));
                let iteration = self.loops[at].iteration.clone();
                for (s, k, v) in &entry {
                    let moved = v.as_ref().zip(iteration.as_ref()).and_then(|(v, n)| {
                        let by = n.scale(*k)?;
                        v.iter().map(|(d, p)| Some((d.clone(), p.add(&by)?))).collect::<Option<Pieces>>()
                    });
                    if moved.is_some() && self.body.symbols[*s].is_own_scalar() {
                        self.env.insert(*s, moved);
                    }
                }
            }
            None => {
                self.require_in_domain(Constraint::non_negative(Poly::var(var)));
                self.blur(ObstacleKind::DataDependentCondition, t);
                if let Some(c) = cond {
                    if *self.body.op(t) != Op::DoWhile {
                        self.visit(c);
                    }
                }
            }
        }
        self.visit_body(t, inner);
        if control.is_none() {
            for s in [cond.filter(|_| *self.body.op(t) == Op::DoWhile), step].into_iter().flatten() {
                self.visit(s);
            }
        } else if let Some(s) = step {
            // The step's own accesses (a global in `i += g`) are reads; its writes are the index and inductions.
            self.visit(s);
        }
        self.path.pop();
        for &s in &written {
            self.forget(s);
        }
        // After the loop an induction has moved `trips` times, if that is known and surely not negative: it is not
        // proved here, so only constants count.
        if let Some(n) = self.loops[at].trips.as_ref().and_then(Poly::as_constant).filter(|n| *n >= 0) {
            if !has_own_break(self.body, inner) {
                for (s, k, v) in entry {
                    if let Some(v) = v {
                        let moved: Option<Pieces> = v
                            .iter()
                            .map(|(d, p)| Some((d.clone(), p.add_constant(k.checked_mul(n)?)?)))
                            .collect();
                        if moved.is_some() && self.body.symbols[s].is_own_scalar() {
                            self.env.insert(s, moved);
                        }
                    }
                }
            }
        }
        self.dom = saved_dom;
        self.why = saved_why;
        self.jumped = saved_jumped;
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
