//! Jumps replaced by the statements they stand for, for the analysis only: forward `goto` becomes `if … else`, and a loop
//! that is left by an `if (c) break;` at its beginning or end gets that for its condition. Conditions with two bounds, or
//! with a bound that comes to meet the index, get one fixed bound.
//!
//! A `goto` to a label further down in its own list, or in the list around the `if` it stands in, leaves out what stands
//! between: that becomes the other branch. Nothing is copied and no condition is evaluated at another place or more
//! often, so the program is the same. Lists with jumps of other kinds (backwards, out of loops or `switch`) stay.

use super::*;
use crate::limits::calls_inline_structure::MAX_JUMPS;
use term::BinOp;

/// Whether there is something to look at.
pub(super) fn may_apply(body: &Body) -> bool {
    body.walk(body.root).any(|t| matches!(body.op(t), Op::Goto(_)))
        || body.loops(body.root).any(|t| endless(body, t) || has_two_bounds(body, t))
}

/// Whether the condition is a conjunction or compares two variables of which neither is fixed.
fn has_two_bounds(body: &Body, t: TermId) -> bool {
    let Some(c) = body.loop_parts(t).and_then(|p| p.condition) else { return false };
    match (body.op(c), body.args(c)) {
        (Op::Binary(BinOp::And), _) => true,
        (Op::Binary(op), &[a, b]) if op.is_comparison() => [a, b].into_iter().all(|side| {
            body.as_symbol(side).is_some_and(|s| {
                body.walk(t).any(|x| {
                    body.op(x).is_write() && body.args(x).first().and_then(|&p| body.as_symbol(p)) == Some(s)
                })
            })
        }),
        _ => false,
    }
}

/// Whether the loop has no condition, or one that is always true.
fn endless(body: &Body, t: TermId) -> bool {
    body.loop_parts(t).is_some_and(|p| match p.condition {
        None => true,
        Some(c) => body.as_int(c).is_some_and(|v| v != 0),
    })
}

impl Expander<'_> {
    /// Does it for the whole body; whether anything was changed.
    pub(super) fn structure(&mut self) -> bool {
        let mut any = false;
        let root = self.body.root;
        if self.walk(root).iter().any(|&t| matches!(self.b.get(t).op, Op::Goto(_))) {
            let mut stack = vec![root];
            while let Some(t) = stack.pop() {
                any |= self.structured(t);
                stack.extend(self.b.get(t).args.iter());
            }
        }
        let loops: Vec<TermId> =
            self.walk(root).into_iter().filter(|&t| self.b.get(t).op.is_loop()).collect();
        for l in loops {
            any |= self.condition_from_break(l);
            any |= self.one_bound(l);
        }
        any
    }

    /// All terms under one, parents first.
    pub(super) fn walk(&self, root: TermId) -> Vec<TermId> {
        let (mut out, mut stack) = (Vec::new(), vec![root]);
        while let Some(t) = stack.pop() {
            out.push(t);
            stack.extend(self.b.get(t).args.iter().rev());
        }
        out
    }

    fn labels_in(&self, t: TermId) -> usize {
        self.walk(t).iter().filter(|&&x| matches!(self.b.get(x).op, Op::Label(_))).count()
    }

    /// Whether a `switch` around the list goes to places in it: what a jump leaves out is then reached all the same.
    fn is_entered_by_switch(&self, list: TermId) -> bool {
        let mut stack = vec![list];
        while let Some(t) = stack.pop() {
            let term = self.b.get(t);
            match term.op {
                Op::Case | Op::Default => return true,
                Op::Switch => {}
                _ => stack.extend(term.args.iter()),
            }
        }
        false
    }

    fn gotos_in(&self, t: TermId) -> Vec<Arc<str>> {
        let label = |x: TermId| match &self.b.get(x).op {
            Op::Goto(l) => Some(l.clone()),
            _ => None,
        };
        self.walk(t).into_iter().filter_map(label).collect()
    }

    fn label(&self, t: TermId) -> Option<Arc<str>> {
        match &self.b.get(t).op {
            Op::Label(l) => Some(l.clone()),
            _ => None,
        }
    }

    /// One list without its jumps, if that can be.
    fn structured(&mut self, list: TermId) -> bool {
        let term = self.b.get(list).clone();
        let own: Vec<Arc<str>> = term.args.iter().filter_map(|&a| self.label(a)).collect();
        if term.op != Op::List || own.is_empty() || self.is_entered_by_switch(list) {
            return false;
        }
        let inside = self.gotos_in(list);
        let everywhere = self.gotos_in(self.body.root);
        let count = |all: &[Arc<str>], l: &Arc<str>| all.iter().filter(|x| *x == l).count();
        // Every jump to its labels stands in the list itself, and nothing in it jumps elsewhere.
        let closed = own.iter().all(|l| count(&inside, l) == count(&everywhere, l))
            && inside.iter().all(|l| own.contains(l))
            && inside.len() <= MAX_JUMPS
            && self.labels_in(list) == own.len();
        if !closed {
            return false;
        }
        let before = self.homes.len();
        let made = self.without_jumps(&term.args, &[]);
        let left = |e: &Self, t: TermId| e.gotos_in(t).len() + e.labels_in(t);
        match made {
            Some(new) if new.iter().all(|&t| left(self, t) == 0) => {
                self.b.set(list, Term { args: new.into(), ..term });
                true
            }
            _ => {
                let void = self.b.types.void();
                for k in before..self.homes.len() {
                    let id = TermId::from_index(self.own_terms + k);
                    self.b.set(id, Term { op: Op::Empty, args: Box::new([]), ty: void });
                }
                false
            }
        }
    }

    /// The statements in order; `end`: labels that stand right behind them.
    fn without_jumps(&mut self, stmts: &[TermId], end: &[Arc<str>]) -> Option<Vec<TermId>> {
        let mut out = Vec::new();
        let mut i = 0;
        while let Some(&s) = stmts.get(i) {
            let after = |l: &Arc<str>, e: &Self| -> Option<usize> {
                if end.contains(l) {
                    return Some(stmts.len());
                }
                (i + 1..stmts.len()).find(|&j| e.label(stmts[j]).as_ref() == Some(l))
            };
            let jumps = self.gotos_in(s);
            match self.b.get(s).op.clone() {
                Op::Label(_) => {}
                _ if jumps.is_empty() => out.push(s),
                Op::Goto(l) => {
                    let to = after(&l, self)?;
                    // What is jumped over is never reached, unless by a label in it.
                    if stmts[i + 1..to].iter().any(|&t| self.labels_in(t) > 0) {
                        return None;
                    }
                    i = to;
                    continue;
                }
                Op::If => {
                    let args = self.b.get(s).args.clone();
                    let (&c, &then) = (args.first()?, args.get(1)?);
                    let other = args.get(2).copied();
                    let (jumping, staying, first) = match self.tail_jump(then) {
                        Some(_) => (then, other, true),
                        None => (other?, Some(then), false),
                    };
                    let (l, mut taken) = self.tail_jump(jumping)?;
                    let mut to = after(&l, self)?;
                    let mut passed = staying.map(|o| self.parts(o)).unwrap_or_default();
                    let between = &stmts[i + 1..to];
                    let mut ends = Vec::new();
                    // `if (c) goto A; …; goto B; A: …; B:` are two branches that meet at B.
                    let second = between.split_last().and_then(|(&last, rest)| match &self.b.get(last).op {
                        Op::Goto(m) => Some((m.clone(), rest)),
                        _ => None,
                    });
                    match second.filter(|_| to < stmts.len()) {
                        Some((m, rest)) => {
                            let meet = after(&m, self).filter(|&j| j > to)?;
                            passed.extend_from_slice(rest);
                            taken.extend_from_slice(&stmts[to + 1..meet]);
                            to = meet;
                            ends.push(m);
                        }
                        None => {
                            passed.extend_from_slice(between);
                            ends.push(l);
                        }
                    }
                    if to == stmts.len() {
                        ends.extend_from_slice(end);
                    }
                    let taken = self.without_jumps(&taken, &ends)?;
                    let passed = self.without_jumps(&passed, &ends)?;
                    self.home = self.home_of(s);
                    self.span = self.b.span(s);
                    let void = self.b.types.void();
                    let (yes, no) = if first { (taken, passed) } else { (passed, taken) };
                    let (yes, no) = (self.term(Op::List, yes, void), self.term(Op::List, no, void));
                    out.push(self.term(Op::If, [c, yes, no], void));
                    i = to;
                    continue;
                }
                _ => return None,
            }
            i += 1;
        }
        Some(out)
    }

    /// The statements of a branch.
    fn parts(&self, t: TermId) -> Vec<TermId> {
        match &self.b.get(t).op {
            Op::List => self.b.get(t).args.to_vec(),
            Op::Empty => Vec::new(),
            _ => vec![t],
        }
    }

    /// The label a branch jumps to at its end, and what it does before.
    fn tail_jump(&self, t: TermId) -> Option<(Arc<str>, Vec<TermId>)> {
        let mut parts = self.parts(t);
        match &self.b.get(parts.pop()?).op {
            Op::Goto(l) => Some((l.clone(), parts)),
            _ => None,
        }
    }

    /// `for (…;;…) { if (c) break; … }` is `for (…; !c; …) { … }`: c is evaluated where the condition would be, and a
    /// `continue` leads to it either way. `while (1) { …; if (c) break; }` is `do { … } while (!c);` where nothing
    /// continues and no step follows.
    fn condition_from_break(&mut self, l: TermId) -> bool {
        let term = self.b.get(l).clone();
        let always = |e: &Self, c: TermId| match e.b.get(c).op {
            Op::Empty => true,
            Op::Int(v) => v != 0,
            _ => false,
        };
        let (condition, inner) = match (&term.op, &term.args[..]) {
            (Op::For, &[_, c, _, b]) => (c, b),
            (Op::While, &[c, b]) => (c, b),
            _ => return false,
        };
        let list = self.b.get(inner).clone();
        if !always(self, condition) || list.op != Op::List {
            return false;
        }
        let breaks = |e: &Self, s: TermId| -> Option<TermId> {
            let t = e.b.get(s);
            match (&t.op, &t.args[..]) {
                (Op::If, &[c, then]) => match (e.parts(then)[..].first(), e.parts(then).len()) {
                    (Some(&b), 1) if e.b.get(b).op == Op::Break => Some(c),
                    _ => None,
                },
                _ => None,
            }
        };
        let Some((&first, rest)) = list.args.split_first() else { return false };
        if let Some(c) = breaks(self, first) {
            let not = self.negated(c);
            self.b.set(inner, Term { args: rest.into(), ..list });
            let mut args = term.args.to_vec();
            match term.op {
                Op::For => args[1] = not,
                _ => args[0] = not,
            }
            self.b.set(l, Term { args: args.into(), ..term });
            return true;
        }
        let Some((&last, rest)) = list.args.split_last() else { return false };
        let no_step = match (&term.op, &term.args[..]) {
            (Op::For, &[init, _, step, _]) => {
                self.b.get(init).op == Op::Empty && self.b.get(step).op == Op::Empty
            }
            _ => true,
        };
        let jumps = self.walk(inner).iter().any(|&t| matches!(self.b.get(t).op, Op::Continue | Op::Goto(_)));
        match breaks(self, last) {
            Some(c) if no_step && !jumps => {
                let not = self.negated(c);
                self.b.set(inner, Term { args: rest.into(), ..list });
                self.b.set(l, Term { op: Op::DoWhile, args: Box::new([inner, not]), ty: term.ty });
                true
            }
            _ => false,
        }
    }

    /// Where a loop's condition is written.
    fn condition_of(&self, l: TermId) -> Option<(usize, TermId)> {
        let term = self.b.get(l);
        let at = match term.op {
            Op::For | Op::DoWhile => 1,
            Op::While => 0,
            _ => return None,
        };
        Some((at, *term.args.get(at)?))
    }

    /// `i < m && i < n` is `i < (m < n ? m : n)`. `for (i = a, j = b; i < j; i++, j--)` runs while a + t < b - t, that is
    /// while 2*i < a + b, or i < (a + b + 1) >> 1 (rounded down; no number here overflows, being none of the program).
    fn one_bound(&mut self, l: TermId) -> bool {
        let Some((at, c)) = self.condition_of(l) else { return false };
        let term = self.b.get(c).clone();
        let made = match (&term.op, &term.args[..]) {
            (Op::Binary(BinOp::And), &[x, y]) => self.lesser(l, c, x, y),
            (Op::Binary(_), _) => self.meeting(l, c),
            _ => None,
        };
        let Some(made) = made else { return false };
        let mut of = self.b.get(l).clone();
        of.args[at] = made;
        self.b.set(l, of);
        true
    }

    /// A variable of plain `int` that is compared: which, how, with what.
    fn compared(&self, t: TermId) -> Option<(SymbolId, TermId, BinOp, TermId)> {
        let term = self.b.get(t);
        let (Op::Binary(op @ (BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge)), &[a, b]) =
            (&term.op, &term.args[..])
        else {
            return None;
        };
        let int = |x: TermId| self.b.types.as_int(self.b.get(x).ty) == Some(term::IntKind::Int);
        match self.b.get(a).op {
            Op::Sym(s) if int(a) && int(b) => Some((s, a, *op, b)),
            _ => None,
        }
    }

    /// Whether the term is made of constants and of variables that nothing in the loop writes.
    fn is_fixed(&self, t: TermId, l: TermId) -> bool {
        let plain = |s: SymbolId| {
            let v = &self.b.symbols[s];
            v.is_own_scalar() && self.b.types.as_int(v.ty).is_some() && !self.b.types.quals(v.ty).is_volatile
        };
        let written: Vec<SymbolId> = self.walk(l).into_iter().filter_map(|x| self.written(x)).collect();
        let parts = self.walk(t);
        parts.len() < 40
            && parts.into_iter().all(|x| match self.b.get(x).op {
                Op::Sym(s) => plain(s) && !written.contains(&s),
                Op::Int(_) | Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Cast => true,
                _ => false,
            })
    }

    fn written(&self, t: TermId) -> Option<SymbolId> {
        let term = self.b.get(t);
        match term.op {
            Op::Declare(s) => Some(s),
            ref op if op.is_write() => match self.b.get(*term.args.first()?).op {
                Op::Sym(s) => Some(s),
                _ => None,
            },
            _ => None,
        }
    }

    fn lesser(&mut self, l: TermId, c: TermId, x: TermId, y: TermId) -> Option<TermId> {
        let ((s, index, op, m), (other, _, op2, n)) = (self.compared(x)?, self.compared(y)?);
        if s != other || op != op2 || !self.is_fixed(m, l) || !self.is_fixed(n, l) {
            return None;
        }
        self.home = self.home_of(c);
        self.span = self.b.span(c);
        let (ty, truth) = (self.b.get(m).ty, self.b.get(x).ty);
        let (m2, n2) = (self.own_copy(m), self.own_copy(n));
        let less = if matches!(op, BinOp::Lt | BinOp::Le) { BinOp::Lt } else { BinOp::Gt };
        let test = self.term(Op::Binary(less), [m2, n2], truth);
        let bound = self.term(Op::Select, [test, m, n], ty);
        Some(self.term(Op::Binary(op), [index, bound], truth))
    }

    fn meeting(&mut self, l: TermId, c: TermId) -> Option<TermId> {
        let body = self.body;
        let own = l.index() < self.own_terms && c.index() < self.own_terms;
        if !own || *body.op(l) != Op::For || self.b.get(c) != body.term(c) {
            return None;
        }
        let (left, left_at, op, right_at) = self.compared(c)?;
        let right = body.as_symbol(right_at)?;
        let ((i, at, op), j) = match op {
            BinOp::Lt | BinOp::Le => ((left, left_at, op), right),
            _ => ((right, right_at, op.mirrored()), left),
        };
        let int = |s: SymbolId| {
            let v = &body.symbols[s];
            v.is_own_scalar()
                && body.types.as_int(v.ty) == Some(term::IntKind::Int)
                && !body.types.quals(v.ty).is_volatile
        };
        let moves = crate::flow::counted_loop::moves(body, l);
        let by = |s: SymbolId| moves.get(&s).map(|m| m.change);
        let parts = body.loop_parts(l)?;
        let in_header = |s: SymbolId| body.walk(parts.body).all(|x| self.written(x) != Some(s));
        if !int(i)
            || !int(j)
            || by(i) != Some(crate::flow::counted_loop::Change::Const(1))
            || by(j) != Some(crate::flow::counted_loop::Change::Const(-1))
            || !in_header(i)
            || !in_header(j)
        {
            return None;
        }
        let (a, _) = crate::flow::counted_loop::initial(body, parts.init?, i)?;
        let (b, _) = crate::flow::counted_loop::initial(body, parts.init?, j)?;
        // The second value may be made of the first variable: `i = 0, j = n - i`.
        if !self.is_fixed(a, l) || !self.is_fixed(b, l) {
            return None;
        }
        self.home = self.home_of(c);
        self.span = self.b.span(c);
        let long = self.b.types.int(term::IntKind::LongLong);
        let (a, b) = (self.own_copy(a), self.own_copy(b));
        let mut sum = self.term(Op::Binary(BinOp::Add), [a, b], long);
        if op == BinOp::Lt {
            let one = self.term(Op::Int(1), [], long);
            sum = self.term(Op::Binary(BinOp::Add), [sum, one], long);
        }
        let one = self.term(Op::Int(1), [], long);
        let bound = self.term(Op::Binary(BinOp::Shr), [sum, one], long);
        let truth = self.b.get(c).ty;
        Some(self.term(Op::Binary(op), [at, bound], truth))
    }

    /// The condition that holds where this one does not.
    fn negated(&mut self, c: TermId) -> TermId {
        self.home = self.home_of(c);
        self.span = self.b.span(c);
        if let Some((op, sides)) = self.b.negated_comparison(c) {
            let ty = self.b.get(c).ty;
            return self.term(Op::Binary(op), sides, ty);
        }
        let int = self.b.types.int(term::IntKind::Int);
        self.term(Op::Unary(term::UnOp::Not), [c], int)
    }
}
