//! A loop as it runs where none of its ways out is taken: `if (i >= n) { error(); return; }`, `if (verbose) printf(…)`.
//!
//! Such a branch holds something that iterations cannot run at once with (it leaves the loop, prints, calls what is not known), and
//! is rarely entered. In the body made here it is gone from the loop, and `assert(!condition)` stands in its place: of the loop's own
//! branches and of those in functions that it calls. What is found out of the loop rests on these assertions, which the host tests
//! before the loop; where one fails, the loop runs as it is written.
//!
//! Precondition: nothing but that loop is asked about. What was taken out of it stands behind it, where it may run or not: what is
//! known of the function as a whole (what pointers show, what is read later) is not told as if it never ran.

use super::*;
use crate::calls::shape::shape;
use crate::flow::called::{call, stands_in_the_way};
use crate::flow::parts::base_symbol;
use crate::{ObstacleKind, TroubleKind, WayOut};

/// A function without its ways out; `None` where it has none, or others than branches.
type GrantedFunction = Option<Arc<(Body, Shape)>>;

/// Functions without their ways out, each made once.
pub(super) struct Grants<'a> {
    program: &'a Program,
    functions: FxHashMap<Arc<str>, GrantedFunction>,
}

/// What has to be granted of statements so that nothing in them stands in the way.
#[derive(Default)]
struct WaysOut {
    checks: Vec<WayOut>,
    /// Calls of functions that have such branches themselves.
    calls: Vec<TermId>,
}

impl WaysOut {
    fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.calls.is_empty()
    }
}

/// The body with the ways out of the loop closed, and those of them that stand in the loop itself; `None` where there are none, or others
/// than branches.
pub(crate) fn granted(body: &Body, program: &Program, root: TermId) -> Option<(Expanded, Vec<WayOut>)> {
    let mut grants = Grants { program, functions: FxHashMap::default() };
    let found = grants.ways_out(body, root, true, &mut Vec::new()).filter(|f| !f.is_empty())?;
    let mut e = Expander::new(body, program, false);
    e.grants = Some(grants);
    let reentry = Reentry::of(body, program);
    let mut gone = Vec::new();
    let mut callees = FxHashMap::default();
    let sites = calls(body, program, true).into_iter().filter(|c| found.calls.contains(&c.0));
    for (t, site) in sites.collect::<Vec<_>>().into_iter().rev() {
        (e.span, e.home) = (body.span(t), t);
        let as_written = e.own_copy(t);
        if !e.call(t, site, &mut Vec::new()) {
            return None;
        }
        gone.push(as_written);
        callees.extend(body.callee(t).map(|f| (t, f)));
    }
    for &way in &found.checks {
        gone.push(close(&mut e.b, way));
        e.homes.resize(e.b.count() - e.own_terms, way.check);
    }
    e.put_behind(root, gone);
    let mut e = e.finish(callees, &reentry);
    let (apart, made_for) = with_statements_apart(&e.body, &[root], &[]);
    e.body = apart;
    for t in made_for {
        e.homes.push(e.home(t));
    }
    Some((e, found.checks))
}

impl Grants<'_> {
    /// `root`: a loop of the function (`is_loop`), or all that a called function does. `chain`: the functions that are looked at.
    fn ways_out(
        &mut self,
        body: &Body,
        root: TermId,
        is_loop: bool,
        chain: &mut Vec<Arc<str>>,
    ) -> Option<WaysOut> {
        let written = written_in(body, root);
        let mut out = WaysOut::default();
        let switches: FxHashSet<TermId> = body
            .walk(root)
            .filter(|&t| *body.op(t) == Op::Switch)
            .flat_map(|t| body.args(t).get(1))
            .copied()
            .collect();
        // each branch with the one around it
        let mut branches: Vec<(WayOut, Option<usize>)> = Vec::new();
        // (term, the branch around, whether a `break` leaves the loop, whether it is a statement of a `switch`)
        let mut stack = vec![(root, None, is_loop, false)];
        while let Some((t, around, ours, of_switch)) = stack.pop() {
            let args = body.args(t);
            let is_in_the_way = match body.op(t) {
                Op::SizeOf | Op::Mark(_) => continue,
                Op::Label(_) => return None,
                // somebody comes in from outside
                Op::Case | Op::Default if !of_switch => return None,
                Op::Return | Op::Goto(_) => is_loop,
                Op::Break => ours,
                _ => stands_in_the_way(body, self.program, t).is_some(),
            };
            if is_in_the_way {
                if *body.op(t) == Op::Call && self.grants_call(body, t, chain) {
                    out.calls.push(t);
                } else {
                    let mut best: Option<(u8, WayOut)> = None;
                    let mut next = around;
                    while let Some((way, outer)) = next.and_then(|k: usize| branches.get(k)) {
                        let condition = body.args(way.check)[0];
                        let is_one = branch_of(body, *way).is_some_and(|b| is_way_out(body, self.program, b));
                        let rank = if is_one { rank(body, condition, &written) } else { 0 };
                        if rank > best.map_or(0, |b| b.0) {
                            best = Some((rank, *way));
                        }
                        next = *outer;
                    }
                    let (_, way) = best?;
                    if !out.checks.contains(&way) {
                        out.checks.push(way);
                    }
                }
            }
            let ours_inside = ours && (t == root || !body.op(t).is_loop() && *body.op(t) != Op::Switch);
            for (k, &a) in args.iter().enumerate().rev() {
                let mut inside = around;
                if *body.op(t) == Op::If && k > 0 {
                    branches.push((WayOut { check: t, always: k == 2 }, around));
                    inside = Some(branches.len() - 1);
                }
                let is_block = *body.op(t) == Op::List && switches.contains(&t);
                stack.push((a, inside, ours_inside, is_block));
            }
        }
        // what stands in a branch that is gone is gone with it
        let mut removed: FxHashSet<TermId> = FxHashSet::default();
        for way in &out.checks {
            removed.extend(branch_of(body, *way).into_iter().flat_map(|b| body.walk(b)));
        }
        // two branches of one `if` cannot both be left out
        let both = |w: &WayOut| out.checks.iter().any(|o| o.check == w.check && o.always != w.always);
        if out.checks.iter().any(both) {
            return None;
        }
        out.checks.retain(|w| !removed.contains(&w.check));
        out.calls.retain(|c| !removed.contains(c));
        // of a loop that does nothing else nothing is to be said
        let does_something = !is_loop || does_something(body, root, &removed) || !out.calls.is_empty();
        does_something.then_some(out)
    }

    /// Whether what stands in the way in the function that is called are branches that it can do without.
    fn grants_call(&mut self, body: &Body, t: TermId, chain: &mut Vec<Arc<str>>) -> bool {
        let Some(f) = crate::calls::function::own_callee(body, t) else { return false };
        let is_called = self.program.callee(body, t).is_some();
        is_called && self.function(&f.name, chain).is_some()
    }

    /// The function of a name. `chain`: those that are looked at, or written out, around it.
    pub(super) fn function(&mut self, name: &Arc<str>, chain: &mut Vec<Arc<str>>) -> GrantedFunction {
        if chain.len() >= MAX_DEPTH || chain.contains(name) {
            return None;
        }
        if let Some(known) = self.functions.get(name) {
            return known.clone();
        }
        chain.push(name.clone());
        let made = self.make(name, chain).map(Arc::new);
        chain.pop();
        self.functions.insert(name.clone(), made.clone());
        made
    }

    fn make(&mut self, name: &Arc<str>, chain: &mut Vec<Arc<str>>) -> Option<(Body, Shape)> {
        let program = self.program;
        let function = program.function(name).filter(|f| !f.weak && f.body.len() <= MAX_GRANTED)?;
        let body = &*function.body;
        let (&Op::Function(_), &[_, list]) = (body.op(body.root), body.args(body.root)) else { return None };
        let found = self.ways_out(body, list, false, chain).filter(|f| !f.is_empty())?;
        let mut b = body.to_builder();
        for &way in &found.checks {
            close(&mut b, way);
        }
        let made = b.finish_part(body.root);
        let shape = shape(&made)?;
        // a kernel's text is made of it
        (function.home.is_none() || program.can_say(&made)).then_some((made, shape))
    }
}

impl Expander<'_> {
    /// Puts what was taken out of a loop behind it, where it may run or not.
    fn put_behind(&mut self, root: TermId, gone: Vec<TermId>) {
        let (void, int) = (self.b.types.void(), self.b.types.int(term::IntKind::Int));
        (self.span, self.home) = (self.b.span(root), root);
        for &t in &gone {
            self.end_jumps(t);
        }
        let opaque = self.variable("taken", int);
        // what it reads of the loop's numbers is not what is left of them there
        let mut statements = Vec::new();
        for s in self.numbers_read(&gone, &written_in(self.body, root)) {
            let ty = self.b.symbols[s].ty;
            let place = self.term(Op::Sym(s), [], ty);
            let value = self.term(Op::Sym(opaque), [], int);
            let value = self.term(Op::Cast, [value], ty);
            statements.push(self.term(Op::Assign, [place, value], ty));
        }
        statements.extend(gone);
        let taken = self.term(Op::Sym(opaque), [], int);
        let gone = self.term(Op::List, statements, void);
        let behind = self.term(Op::If, [taken, gone], void);
        let Some(around) = self.body.parents().get(root.index()).copied().flatten() else { return };
        let mut term = self.b.get(around).clone();
        if term.op == Op::List {
            let mut args = term.args.to_vec();
            let at = args.iter().position(|&a| a == root).map_or(args.len(), |k| k + 1);
            args.insert(at, behind);
            term.args = args.into();
        } else {
            let both = self.term(Op::List, [root, behind], void);
            term.args.iter_mut().filter(|a| **a == root).for_each(|a| *a = both);
        }
        self.b.set(around, term);
    }

    /// Variables of numbers among those written that the statements name.
    fn numbers_read(&self, statements: &[TermId], written: &FxHashSet<SymbolId>) -> Vec<SymbolId> {
        let mut out: Vec<SymbolId> = Vec::new();
        for t in statements.iter().flat_map(|&t| self.walk(t)) {
            let Op::Sym(s) = self.b.get(t).op else { continue };
            let symbol = &self.b.symbols[s];
            let is_number = self.b.types.is_arithmetic(symbol.ty);
            if is_number && symbol.is_own_scalar() && written.contains(&s) && !out.contains(&s) {
                out.push(s);
            }
        }
        out
    }

    /// Makes nothing of jumps to the end or the beginning of the loop that the statement was taken out of.
    fn end_jumps(&mut self, t: TermId) {
        let void = self.b.types.void();
        let mut stack = vec![(t, true, true)];
        while let Some((t, breaks, continues)) = stack.pop() {
            let term = self.b.get(t);
            let (is_loop, is_switch) = (term.op.is_loop(), term.op == Op::Switch);
            if term.op == Op::Break && breaks || term.op == Op::Continue && continues {
                self.b.set(t, Term { op: Op::Empty, args: Box::new([]), ty: void });
                continue;
            }
            let inside = (breaks && !is_loop && !is_switch, continues && !is_loop);
            stack.extend(term.args.iter().map(|&a| (a, inside.0, inside.1)));
        }
    }
}

fn branch_of(body: &Body, way: WayOut) -> Option<TermId> {
    body.args(way.check).get(if way.always { 2 } else { 1 }).copied()
}

/// Whether a branch only reports, or ends in leaving what is around: nothing that the program computes is computed there.
fn is_way_out(body: &Body, program: &Program, branch: TermId) -> bool {
    let ends = |t: TermId| match body.op(t) {
        Op::Return | Op::Goto(_) | Op::Break => true,
        Op::Call => {
            let never_returns = |o| matches!(o, ObstacleKind::Call { why: TroubleKind::NoReturn, .. });
            call(body, program, t).is_err_and(never_returns)
        }
        _ => false,
    };
    let mut last = branch;
    while let (Op::List, &[.., end]) = (body.op(last), body.args(last)) {
        last = end;
    }
    // `do { … } while (0)` of a macro
    let is_once = |t: TermId| {
        *body.op(t) == Op::DoWhile && body.args(t).get(1).is_some_and(|&c| body.as_int(c) == Some(0))
    };
    if is_once(last) {
        return is_way_out(body, program, body.args(last)[0]);
    }
    let own: FxHashSet<SymbolId> = body
        .walk(branch)
        .filter_map(|t| if let Op::Declare(s) = body.op(t) { Some(*s) } else { None })
        .collect();
    let stores = |t: TermId| {
        let place = body.op(t).is_write().then(|| body.args(t).first()).flatten();
        place.is_some_and(|&p| body.as_symbol(p).is_none_or(|s| !own.contains(&s)))
    };
    ends(last) || !body.walk(branch).any(stores)
}

/// Whether anything is written in the loop's own statements beside what was taken out.
fn does_something(body: &Body, root: TermId, removed: &FxHashSet<TermId>) -> bool {
    let inner = body.loop_parts(root).map(|p| p.body);
    inner.is_some_and(|b| body.walk(b).any(|t| body.op(t).is_write() && !removed.contains(&t)))
}

/// Puts the assertion in the place of the check. The answer: the branch that is gone.
fn close(b: &mut BodyBuilder, way: WayOut) -> TermId {
    let term = b.get(way.check).clone();
    let span = b.span(way.check);
    let (void, int) = (b.types.void(), b.types.int(term::IntKind::Int));
    let name = |s: &SymbolId| &*b.symbols[*s].name == "assert";
    let assert = match b.library.iter().copied().find(name) {
        Some(s) => s,
        None => {
            let ty = TypeKind::Function { ret: void, params: Vec::new(), variadic: true };
            let ty = b.types.plain(ty);
            let (device, address_taken, span) = (None, false, None);
            let storage = Storage::Function;
            let s = term::Symbol { name: "assert".into(), ty, storage, device, address_taken, span };
            let s = b.symbols.push(s);
            b.library.push(s);
            s
        }
    };
    let mut make =
        |op: Op, args: &[TermId], ty: TypeId| b.term_from(op, args.to_vec(), ty, span, Origin::Made);
    let condition = term.args[0];
    let holds = match way.always {
        true => condition,
        false => make(Op::Unary(term::UnOp::Not), &[condition], int),
    };
    let named = make(Op::Sym(assert), &[], void);
    let (gone, kept) = match way.always {
        true => (term.args.get(2), term.args.get(1)),
        false => (term.args.get(1), term.args.get(2)),
    };
    let mut list = vec![make(Op::Call, &[named, holds], void)];
    list.extend(kept);
    let gone = gone.copied().unwrap_or_else(|| make(Op::List, &[], void));
    b.set(way.check, Term { op: Op::List, args: list.into(), ty: void });
    gone
}

/// Variables that statements write, declare, or take the address of.
pub(crate) fn written_in(body: &Body, root: TermId) -> FxHashSet<SymbolId> {
    let place = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Declare(s), _) => Some(*s),
        (Op::AddrOf, &[place]) => base_symbol(body, place),
        (op, &[place, ..]) if op.is_write() => base_symbol(body, place),
        _ => None,
    };
    body.walk(root).filter_map(place).collect()
}

/// How likely a condition is to say the same in all iterations, or to be a sum of indices: 0 if not at all.
fn rank(body: &Body, condition: TermId, written: &FxHashSet<SymbolId>) -> u8 {
    let (mut is_fixed, mut is_sum) = (true, true);
    for t in body.walk(condition) {
        let quals = body.types.quals(body.ty(t));
        if quals.is_volatile || quals.is_atomic {
            return 0;
        }
        match body.op(t) {
            Op::Sym(s) => {
                is_fixed &= !written.contains(s);
                is_sum &= body.types.as_float(body.ty(t)).is_none();
            }
            Op::Int(_) | Op::Float(_) | Op::Cast | Op::SizeOf | Op::SizeOfType(_) => {}
            Op::Arithmetic(_) | Op::Unary(_) | Op::Binary(_) | Op::Member { .. } => {}
            Op::Index | Op::Deref => is_sum = false,
            _ => return 0,
        }
    }
    match (is_fixed, is_sum) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}
