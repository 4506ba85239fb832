//! One walk over a kernel: where its branches, barriers, jumps and definitions stand, and under which conditions.

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::device::Word;
use term::{Body, Op, Storage, SymbolId, TermId};

use super::{callee, is_barrier};
use crate::limits::kernel_collect::MAX_DEPTH;
use crate::Program;

/// What stands around a statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Where {
    /// Conditions that decide whether it is reached.
    pub conditions: Vec<TermId>,
    /// Loops around it, outermost first.
    pub loops: Vec<TermId>,
    /// Each `switch` around it.
    pub switches: Vec<TermId>,
    /// What a `break` leaves: the last loop, or `switch`.
    left_by_break: Option<TermId>,
    /// On the first way to it: conditions and what they must be.
    pub guards: Vec<(TermId, bool)>,
    /// Something on that way is not told by the guards.
    pub murky: bool,
    /// Place in the order of the text.
    pub order: u32,
}

impl Where {
    fn enter(&mut self, l: TermId) {
        self.loops.push(l);
        self.left_by_break = Some(l);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub term: TermId,
    pub condition: TermId,
    pub at: Where,
    /// Whether the condition is a truth value (a `switch` has none).
    pub truth: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Barrier {
    pub term: TermId,
    pub at: Where,
    pub in_callee: bool,
    /// Whoever comes here waits: not where the function that is called decides whether to.
    pub always: bool,
}

/// A value given to a variable.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// What the value is made of; the variable itself is among it where it is updated.
    pub from: Vec<TermId>,
    pub at: Where,
    pub kind: DefinitionKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DefinitionKind {
    /// A declaration with an initialiser, in the header of this loop if in one.
    Declared(Option<TermId>),
    /// In the step of this loop.
    Stepped(TermId),
    Other,
}

/// How memory is touched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum AccessKind {
    Read,
    Write,
    Atomic,
}

/// A place in memory that is read or written.
#[derive(Clone, Debug)]
pub(super) struct KernelAccess {
    /// Where it is reported: the place itself, or the call of an atomic.
    pub term: TermId,
    pub place: TermId,
    pub kind: AccessKind,
    pub at: Where,
}

/// A jump out of statements around it.
#[derive(Clone, Debug)]
pub(super) struct Escape {
    pub at: Where,
    /// The loop it leaves or begins again; `None`: the kernel.
    pub of: Option<TermId>,
}

/// All that was seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub branches: Vec<Branch>,
    pub barriers: Vec<Barrier>,
    pub accesses: Vec<KernelAccess>,
    pub definitions: FxHashMap<SymbolId, Vec<Definition>>,
    pub escapes: Vec<Escape>,
    /// Variables that something else may change.
    pub exposed: FxHashSet<SymbolId>,
    /// Whether the kernel may store to global memory.
    pub stores: bool,
    /// A jump or gap that is not followed.
    pub unstructured: Option<TermId>,
    /// What questions about the kernel may still take.
    pub budget: Budget,
}

pub(super) fn collect(body: &Body, program: &Program, budget: &Budget) -> Seen {
    let mut c = Collect {
        body,
        program,
        seen: Seen { budget: budget.clone(), ..Seen::default() },
        order: 0,
        depth: 0,
    };
    for (id, s) in body.symbols.iter_ids() {
        if s.address_taken || matches!(s.storage, Storage::StaticLocal { .. } | Storage::Global { .. }) {
            c.seen.exposed.insert(id);
        }
    }
    if let Some(&statements) = body.args(body.root).get(1) {
        c.list(body.args(statements), &Where::default());
    }
    if body.rejects().next().is_some() && c.seen.unstructured.is_none() {
        // a gap may be anything, wherever it stands
        let gap = body.walk(body.root).find(|&t| matches!(body.op(t), Op::Reject(_)));
        c.seen.unstructured = Some(gap.unwrap_or(body.root));
    }
    c.seen
}

struct Collect<'a> {
    body: &'a Body,
    program: &'a Program,
    seen: Seen,
    order: u32,
    depth: u32,
}

/// How a statement may end other than by going on.
#[derive(Clone, Copy, Default)]
struct Ends {
    /// It never goes on.
    always: bool,
    /// It may not go on.
    maybe: bool,
}

impl Collect<'_> {
    fn list(&mut self, items: &[TermId], at: &Where) -> Ends {
        let mut at = at.clone();
        let mut ends = Ends::default();
        for &t in items {
            let one = self.statement(t, &at);
            ends.maybe |= one.maybe;
            if one.always {
                ends.always = true;
            }
            if one.maybe {
                match self.after(t) {
                    // `if (c) return;`: what follows is reached where `c` does not hold
                    Some(guard) => at.guards.push(guard),
                    None => at.murky = true,
                }
            }
        }
        ends
    }

    /// The guard that an `if` with a jump at the end of one arm, and no other, leaves for what follows.
    fn after(&self, t: TermId) -> Option<(TermId, bool)> {
        let (Op::If, [condition, then, rest @ ..]) = (self.body.op(t), self.body.args(t)) else {
            return None;
        };
        let only_jump = |list: TermId| {
            let items = self.body.args(list);
            let jump = |&t: &TermId| matches!(self.body.op(t), Op::Return | Op::Break | Op::Continue);
            let others = items.len().saturating_sub(1);
            items.last().is_some_and(jump)
                && !items[..others].iter().any(|&t| self.body.walk(t).any(|x| jump(&x)))
        };
        (rest.is_empty() && only_jump(*then)).then_some((*condition, false))
    }

    fn place(&mut self, at: &Where) -> Where {
        self.order += 1;
        Where { order: self.order, ..at.clone() }
    }

    fn under(&self, at: &Where, condition: TermId, holds: bool) -> Where {
        let mut inner = at.clone();
        inner.conditions.push(condition);
        inner.guards.push((condition, holds));
        inner
    }

    fn statement(&mut self, t: TermId, at: &Where) -> Ends {
        self.depth += 1;
        let ends = if self.depth > MAX_DEPTH {
            self.seen.unstructured = Some(t);
            Ends { maybe: true, always: false }
        } else {
            self.statement_at(t, at)
        };
        self.depth -= 1;
        ends
    }

    fn statement_at(&mut self, t: TermId, at: &Where) -> Ends {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::List, items) => return self.list(items, at),
            (Op::If, &[condition, then, ref rest @ ..]) => {
                self.expression(condition, at);
                self.branch(t, condition, at, true);
                let a = self.statement(then, &self.under(at, condition, true));
                let b = match rest.first() {
                    Some(&other) => self.statement(other, &self.under(at, condition, false)),
                    None => Ends::default(),
                };
                return Ends { always: a.always && b.always, maybe: a.maybe || b.maybe };
            }
            (Op::For, &[init, condition, step, inner, ..]) => {
                self.init(init, t, at);
                let mut around = at.clone();
                around.enter(t);
                let inside = match body.op(condition) {
                    Op::Empty => around.clone(),
                    _ => {
                        self.condition(condition, &around);
                        self.branch(t, condition, &around, true);
                        self.under(&around, condition, true)
                    }
                };
                self.statement(inner, &inside);
                self.step(step, t, &inside);
                return self.ends_of_loop(t);
            }
            (Op::While, &[condition, inner, ..]) => {
                let mut around = at.clone();
                around.enter(t);
                self.condition(condition, &around);
                self.branch(t, condition, &around, true);
                let inside = self.under(&around, condition, true);
                self.statement(inner, &inside);
                return self.ends_of_loop(t);
            }
            (Op::DoWhile, &[inner, condition, ..]) => {
                let mut around = at.clone();
                around.enter(t);
                // it is decided by its condition whether the body is reached again
                around.conditions.push(condition);
                self.statement(inner, &around);
                let mut late = around.clone();
                late.murky |= self.body.walk(inner).any(|x| matches!(body.op(x), Op::Continue | Op::Break));
                self.expression(condition, &late);
                self.branch(t, condition, &late, true);
                return self.ends_of_loop(t);
            }
            (Op::Switch, &[value, inner]) => {
                self.expression(value, at);
                self.branch(t, value, at, false);
                let mut inside = at.clone();
                inside.conditions.push(value);
                inside.murky = true;
                inside.switches.push(t);
                inside.left_by_break = Some(t);
                // `break` leaves the switch; what it skips is decided by the value and the conditions around it
                let before = self.seen.escapes.len();
                self.statement(inner, &inside);
                let mut maybe = false;
                for e in &self.seen.escapes[before..] {
                    maybe |= e.of.is_none() || e.of.is_some_and(|l| at.loops.contains(&l));
                }
                return Ends { always: false, maybe };
            }
            (Op::Return, values) => {
                for &v in values {
                    self.expression(v, at);
                }
                let at = self.place(at);
                self.seen.escapes.push(Escape { at, of: None });
                return Ends { always: true, maybe: true };
            }
            (op @ (Op::Break | Op::Continue), _) => {
                let at = self.place(at);
                let of = match op {
                    Op::Break => at.left_by_break,
                    _ => at.loops.last().copied(),
                };
                self.seen.escapes.push(Escape { at, of });
                return Ends { always: true, maybe: true };
            }
            (Op::Goto(_) | Op::Label(_), _) => {
                self.seen.unstructured = Some(t);
                for &a in args {
                    self.statement(a, at);
                }
                return Ends { always: false, maybe: true };
            }
            (Op::Declare(s), init) => {
                if let Some(&value) = init.first() {
                    self.expression(value, at);
                    let at = self.place(at);
                    self.define(*s, vec![value], at, DefinitionKind::Declared(None));
                }
            }
            (Op::Empty | Op::Case | Op::Default | Op::Mark(_), _) => {}
            _ => self.expression(t, at),
        }
        Ends::default()
    }

    fn ends_of_loop(&self, l: TermId) -> Ends {
        // a `return` inside, or a jump of a loop further out, may end what stands around as well
        let leaves = self.seen.escapes.iter().any(|e| e.at.loops.contains(&l) && e.of.is_none());
        Ends { always: false, maybe: leaves }
    }

    /// What a loop tests before each iteration: whether it comes to that again, the test before has decided.
    fn condition(&mut self, t: TermId, at: &Where) {
        let body = self.body;
        let changes = |x: TermId| body.op(x).is_write() || matches!(body.op(x), Op::Call);
        let mut at = at.clone();
        if body.walk(t).any(changes) {
            at.conditions.push(t);
        }
        self.expression(t, &at);
    }

    fn init(&mut self, t: TermId, l: TermId, at: &Where) {
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::List, items) => {
                for &i in items {
                    self.init(i, l, at);
                }
            }
            (Op::Declare(s), &[value]) => {
                self.expression(value, at);
                let at = self.place(at);
                self.define(*s, vec![value], at, DefinitionKind::Declared(Some(l)));
            }
            _ => {
                self.statement(t, at);
            }
        }
    }

    fn step(&mut self, t: TermId, l: TermId, at: &Where) {
        let body = self.body;
        if let (Op::Comma, &[a, b]) = (body.op(t), body.args(t)) {
            self.step(a, l, at);
            return self.step(b, l, at);
        }
        let before: Vec<(SymbolId, usize)> =
            self.seen.definitions.iter().map(|(s, d)| (*s, d.len())).collect();
        self.expression(t, at);
        for (s, list) in &mut self.seen.definitions {
            let from = before.iter().find(|(x, _)| x == s).map_or(0, |(_, n)| *n);
            for d in &mut list[from..] {
                d.kind = DefinitionKind::Stepped(l);
            }
        }
    }

    fn branch(&mut self, term: TermId, condition: TermId, at: &Where, truth: bool) {
        let at = self.place(at);
        self.seen.branches.push(Branch { term, condition, at, truth });
    }

    fn define(&mut self, s: SymbolId, from: Vec<TermId>, at: Where, kind: DefinitionKind) {
        self.seen.definitions.entry(s).or_default().push(Definition { from, at, kind });
    }

    /// Barriers, assignments and calls inside an expression.
    fn expression(&mut self, t: TermId, at: &Where) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.seen.unstructured = Some(t);
        } else {
            self.expression_at(t, at);
        }
        self.depth -= 1;
    }

    fn expression_at(&mut self, t: TermId, at: &Where) {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::Binary(op), &[a, b]) if op.is_logical() => {
                self.expression(a, at);
                let inner = self.under(at, a, *op == term::BinOp::And);
                self.expression(b, &inner);
            }
            (Op::Select, &[c, a, b]) => {
                self.expression(c, at);
                self.branch(t, c, at, true);
                let (yes, no) = (self.under(at, c, true), self.under(at, c, false));
                self.expression(a, &yes);
                self.expression(b, &no);
            }
            (Op::Assign, &[place, value]) => {
                self.expression(value, at);
                self.assign(place, vec![value], at);
            }
            (Op::Compound(_), &[place, value]) => {
                self.touch(place, AccessKind::Read, at);
                self.expression(value, at);
                self.assign(place, vec![place, value], at);
            }
            (Op::Step { .. }, &[place]) => {
                self.touch(place, AccessKind::Read, at);
                self.assign(place, vec![place], at);
            }
            (Op::AddrOf, &[place]) => self.inside(place, at),
            (Op::Index | Op::Deref | Op::Member { .. }, _) => {
                self.touch(t, AccessKind::Read, at);
                self.inside(t, at);
            }
            (Op::Sym(_), _) => self.touch(t, AccessKind::Read, at),
            (Op::Call, [_, rest @ ..]) => {
                for &a in rest {
                    self.expression(a, at);
                }
                self.call(t, at);
            }
            (Op::SizeOf, _) => {}
            // the statements of a function that stands in place of its call
            (Op::List, _) => {
                if self.statement(t, at).maybe {
                    self.seen.unstructured = Some(t);
                }
            }
            _ => {
                for &a in args {
                    self.expression(a, at);
                }
            }
        }
    }

    /// Notes an access, if the place is in memory that threads share and is no array.
    fn touch(&mut self, place: TermId, kind: AccessKind, at: &Where) {
        self.touch_at(place, place, kind, at);
    }

    fn touch_at(&mut self, term: TermId, place: TermId, kind: AccessKind, at: &Where) {
        let body = self.body;
        if matches!(body.types.kind(body.ty(place)), term::TypeKind::Array { .. }) {
            return;
        }
        if let Op::Sym(s) = body.op(place) {
            if !matches!(body.symbols[*s].storage, Storage::Shared | Storage::Global { .. }) {
                return;
            }
        }
        let at = self.place(at);
        self.seen.accesses.push(KernelAccess { term, place, kind, at });
    }

    /// The subscripts and pointers that a place is made of.
    fn inside(&mut self, t: TermId, at: &Where) {
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Index, &[base, index]) => {
                self.expression(index, at);
                match body.types.kind(body.ty(base)) {
                    term::TypeKind::Array { .. } => self.inside(base, at),
                    _ => self.expression(base, at),
                }
            }
            (Op::Member { arrow: false, .. }, &[base])
                if matches!(body.op(base), Op::Index | Op::Deref | Op::Member { .. } | Op::Sym(_)) =>
            {
                self.inside(base, at);
            }
            (Op::Deref | Op::Member { .. }, &[p]) => self.expression(p, at),
            (Op::Sym(_), _) => {}
            _ => self.expression(t, at),
        }
    }

    fn assign(&mut self, place: TermId, from: Vec<TermId>, at: &Where) {
        let body = self.body;
        self.touch(place, AccessKind::Write, at);
        // what the place is made of decides which element is set
        let (mut from, mut t) = (from, place);
        let mut through = false;
        loop {
            match (body.op(t), body.args(t)) {
                (Op::Index, &[base, index]) => {
                    self.expression(index, at);
                    from.push(index);
                    through |= !matches!(body.types.kind(body.ty(base)), term::TypeKind::Array { .. });
                    t = base;
                }
                (Op::Member { arrow, .. }, &[base]) => {
                    through |= *arrow;
                    t = base;
                }
                _ => break,
            }
        }
        let at = self.place(at);
        match body.op(t) {
            Op::Sym(s) if !through => {
                let storage = body.symbols[*s].storage;
                if matches!(storage, Storage::Param(_) | Storage::Local) {
                    // a part is set, the rest stays
                    if t != place {
                        from.push(t);
                    }
                    self.define(*s, from, at, DefinitionKind::Other);
                } else {
                    self.seen.stores |= storage != Storage::Shared;
                    self.seen.exposed.insert(*s);
                }
            }
            _ => self.seen.stores = true,
        }
    }

    fn call(&mut self, t: TermId, at: &Where) {
        let Some(name) = callee(self.body, t) else {
            self.seen.stores = true;
            return;
        };
        let atomic = self.body.called_word(t).is_some_and(Word::is_atomic);
        if atomic && self.program.function(name).is_none() {
            if let Some(&p) = self.body.args(t).get(1) {
                if let (Op::AddrOf, &[place]) = (self.body.op(p), self.body.args(p)) {
                    self.touch_at(t, place, AccessKind::Atomic, at);
                }
            }
        }
        if is_barrier(self.body, t) {
            let at = self.place(at);
            self.seen.barriers.push(Barrier { term: t, at, in_callee: false, always: true });
            return;
        }
        match self.program.function(name) {
            Some(f) => {
                let mut names = Vec::new();
                if reaches_barrier(&f.body, self.program, &mut names) {
                    let at = self.place(at);
                    let always = always_waits(&f.body, self.program, 0);
                    self.seen.barriers.push(Barrier { term: t, at, in_callee: true, always });
                }
                self.seen.stores |= !super::uniformity::is_pure(&f.body, self.program, 0);
            }
            None => self.seen.stores |= !super::uniformity::is_harmless(self.body, t),
        }
    }
}

/// Whether every barrier of a function stands in its outermost list of statements, and none behind a way out.
fn always_waits(f: &Body, program: &Program, depth: u32) -> bool {
    let waits = |t: TermId| {
        matches!(f.op(t), Op::Call)
            && callee(f, t).is_none_or(|n| {
                let mut names = Vec::new();
                is_barrier(f, t)
                    || program.function(n).is_some_and(|g| reaches_barrier(&g.body, program, &mut names))
            })
    };
    let Some(&statements) = f.args(f.root).get(1) else { return false };
    let mut left = false;
    depth < 8
        && f.rejects().next().is_none()
        && f.args(statements).iter().all(|&t| {
            if !f.walk(t).any(waits) {
                left |= f.walk(t).any(|x| matches!(f.op(x), Op::Return | Op::Goto(_) | Op::Label(_)));
                return true;
            }
            let plain = match callee(f, t).filter(|_| waits(t)) {
                Some(_) if is_barrier(f, t) => true,
                Some(n) => program.function(n).is_some_and(|g| always_waits(&g.body, program, depth + 1)),
                None => false,
            };
            plain && !left
        })
}

/// Whether a function or what it calls has a barrier.
fn reaches_barrier(body: &Body, program: &Program, names: &mut Vec<String>) -> bool {
    if names.iter().any(|n| **n == *body.name) || names.len() > 64 {
        return names.len() > 64;
    }
    names.push(body.name.to_string());
    body.walk(body.root).filter(|&t| matches!(body.op(t), Op::Call)).any(|t| match callee(body, t) {
        Some(_) if is_barrier(body, t) => true,
        Some(n) => program.function(n).is_some_and(|f| reaches_barrier(&f.body, program, names)),
        None => true,
    })
}
