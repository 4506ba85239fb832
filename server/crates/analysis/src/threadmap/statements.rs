//! The statements of a nest, and which of them touch the same cell: what has to stay in one thread.
//!
//! Two instances conflict if they touch one cell and one of them writes it, whichever comes first; that the order does
//! not matter here is what makes an inexact access harmless: it only adds conflicts. Statements themselves must be
//! exact, since a kernel runs just their instances: where data decide whether one runs, the choice is one statement with all
//! that is in it.

use poly::{Row, Set};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, SymbolId, TermId};

use super::sets::{ParamSpace, Part};
use crate::algebra::poly::{Domain, Poly, Var, VarKind};
use crate::context::Context;
use crate::depend::{overlap, Overlap};
use crate::flow::effects::written;
use crate::limits::threadmap_statements::{MAX_PAIRS, MAX_STATEMENTS};
use crate::nest::{AffineAccess, Executed, Model};
use crate::{Facts, Obstacle, ObstacleKind, Step};

/// One statement.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub term: TermId,
    /// Model loops around it, outermost first.
    pub loops: Vec<usize>,
    pub domain: Domain,
    /// Whether data decide what of it runs.
    pub chooses: bool,
    /// When it runs (2d+1 schedule): its place in the text at each depth, between the counters of the loops around it.
    pub places: Vec<i128>,
}

/// A nest as the paper's tuples (F4.1).
pub(super) struct Nest {
    pub statements: Vec<Statement>,
    /// Accesses with the statement each belongs to, those of privates left out.
    pub accesses: Vec<(usize, AffineAccess)>,
    /// What conditions and bounds read; nothing in the nest writes it by name.
    pub outside: Vec<AffineAccess>,
    /// Variables each iteration of some loops has for itself: those loops, outermost first, and who mentions it.
    pub privates: Vec<PrivateOf>,
}

/// A variable of its own per iteration of `loops`.
pub(super) struct PrivateOf {
    pub symbol: SymbolId,
    pub loops: Vec<usize>,
    pub writers: Vec<usize>,
    pub mentions: Vec<usize>,
}

fn one(kind: ObstacleKind, term: TermId) -> Vec<Obstacle> {
    vec![Obstacle { kind, term }]
}

/// Reads the nest out of its model, or says what is not affine or not separable.
pub(super) fn nest(cx: &Context<'_>, facts: &Facts, model: &Model<'_>) -> Result<Nest, Vec<Obstacle>> {
    let body = cx.body;
    let root = model.root;
    let headers = headers(body, model)?;
    for l in &model.loops {
        // Only the header moves a plain loop's index, and the first test comes first.
        let plain = |c: &crate::Control| {
            let header = c.header_only && !c.at_least_once && c.shift == 0;
            header && !matches!(c.step, Step::Term { .. })
        };
        let counted = l.control.as_ref().is_some_and(plain);
        if !counted {
            return Err(one(ObstacleKind::DataDependentCondition, l.term));
        }
    }
    let parents = body.parents();
    let statements = statements(body, model, &headers, &parents)?;
    indices_stay_inside(body, model, &statements)?;
    let owner = |mut t: TermId| loop {
        if let Some(k) = statements.iter().position(|s| s.term == t) {
            return Some(k);
        }
        if t == root {
            return None;
        }
        t = parents.get(t.0 as usize).copied().flatten()?;
    };
    let privates = privates(cx, facts, model, &statements, &parents)?;
    let mut accesses: Vec<(usize, AffineAccess)> = Vec::new();
    let mut outside: Vec<AffineAccess> = Vec::new();
    for a in &model.accesses {
        let plain = a.subs.is_empty() && a.fields.is_empty();
        let is_index =
            plain && model.loops.iter().any(|l| l.control.as_ref().is_some_and(|c| c.index == a.base));
        if is_index || privates.iter().any(|p| p.symbol == a.base) {
            continue;
        }
        match owner(a.term) {
            Some(k) => {
                // which parts of a choice run is not known: any may
                let mut any = a.clone();
                if statements[k].chooses {
                    any.domain = Domain { exact: false, ..statements[k].domain.clone() };
                }
                let a = &any;
                let same = |(j, b): &(usize, AffineAccess)| {
                    *j == k
                        && a.base == b.base
                        && a.write == b.write
                        && a.fields == b.fields
                        && a.domain == b.domain
                        && a.subs.len() == b.subs.len()
                        && a.subs.iter().zip(&b.subs).all(|(x, y)| x.value == y.value)
                };
                if !accesses.iter().any(same) {
                    accesses.push((k, a.clone()));
                }
            }
            None => outside.push(a.clone()),
        }
    }
    // What bounds and conditions read must not change while the nest runs: no statement stands for that reading.
    for o in &outside {
        if o.write || accesses.iter().any(|(_, a)| a.write && a.base == o.base) {
            return Err(one(ObstacleKind::DataDependentCondition, o.term));
        }
    }
    Ok(Nest { statements, accesses, outside, privates })
}

fn is_choice(body: &Body, t: TermId) -> bool {
    matches!(body.op(t), Op::If | Op::Switch)
}

/// Whether it runs just in its domain: a kernel runs that, and nothing in it may be a value that is not determined.
fn runs_surely(model: &Model<'_>, e: &Executed) -> bool {
    let known = |c: &crate::algebra::poly::Constraint| {
        c.poly.vars().all(|v| match model.vars.kind(v) {
            VarKind::Param(_) | VarKind::Product(_) | VarKind::Quotient => true,
            VarKind::Iter(l) => e.loops.contains(l),
            VarKind::Image | VarKind::Fresh => false,
        })
    };
    e.domain.exact && e.domain.pieces.iter().flatten().all(known)
}

/// The innermost choice around a statement that runs surely, within the same loops and with nothing that leaves it.
fn choice<'m>(
    body: &Body,
    model: &'m Model<'_>,
    parents: &[Option<TermId>],
    e: &Executed,
) -> Option<&'m Executed> {
    let up = |t: &TermId| parents.get(t.0 as usize).copied().flatten();
    let mut around = std::iter::successors(up(&e.term), up).take_while(|&t| !body.op(t).is_loop());
    let surely = |t: &TermId| {
        is_choice(body, *t) && model.executed.iter().any(|c| c.term == *t && runs_surely(model, c))
    };
    let term = around.find(surely)?;
    let leaves = |t: TermId| {
        let op = body.op(t);
        op.is_loop() || matches!(op, Op::Continue | Op::Goto(_) | Op::Label(_) | Op::Return)
    };
    // a `break` ends a `switch` that is in it
    let mut stack = vec![(term, false)];
    while let Some((t, switch)) = stack.pop() {
        if leaves(t) || (*body.op(t) == Op::Break && !switch) {
            return None;
        }
        let switch = switch || *body.op(t) == Op::Switch;
        stack.extend(body.args(t).iter().map(|&a| (a, switch)));
    }
    let mut found = model.executed.iter().filter(|c| c.term == term);
    found.next().filter(|_| found.next().is_none())
}

/// The statements, a choice that data make with all that is in it.
fn statements(
    body: &Body,
    model: &Model<'_>,
    headers: &FxHashSet<TermId>,
    parents: &[Option<TermId>],
) -> Result<Vec<Statement>, Vec<Obstacle>> {
    let mut order: FxHashMap<TermId, i128> = FxHashMap::default();
    for (k, t) in body.walk(model.root).enumerate() {
        order.insert(t, k as i128);
    }
    let mut statements: Vec<Statement> = Vec::new();
    for e in model.executed.iter().filter(|e| !headers.contains(&e.term) && !is_choice(body, e.term)) {
        let chooses = !runs_surely(model, e);
        let Some(run) = (if chooses { choice(body, model, parents, e) } else { Some(e) }) else {
            let unknown = Obstacle { kind: ObstacleKind::DataDependentCondition, term: e.term };
            return Err(vec![e.why.clone().unwrap_or(unknown)]);
        };
        if chooses {
            // what runs in any case is in it, too
            let inside: FxHashSet<TermId> = body.walk(run.term).collect();
            statements.retain(|s| s.term == run.term || !inside.contains(&s.term));
        }
        match statements.iter().find(|s| s.term == run.term || body.walk(s.term).any(|t| t == run.term)) {
            Some(s) if s.chooses => continue,
            Some(_) => return Err(one(ObstacleKind::Budget(crate::Work::Threads), run.term)),
            None => {}
        }
        if statements.len() >= MAX_STATEMENTS {
            return Err(one(ObstacleKind::Budget(crate::Work::Threads), run.term));
        }
        let inner = run.loops.iter().skip(1).map(|&l| model.loops[l].term);
        let places: Option<Vec<i128>> = inner.chain([run.term]).map(|t| order.get(&t).copied()).collect();
        let Some(places) = places else { return Err(one(ObstacleKind::Unproved, run.term)) };
        let (term, loops, domain) = (run.term, run.loops.clone(), run.domain.clone());
        statements.push(Statement { term, loops, domain, chooses, places });
    }
    if statements.is_empty() {
        return Err(one(ObstacleKind::Unproved, model.root));
    }
    Ok(statements)
}

/// Terms in loop headers, which must write nothing but the loop's own index.
fn headers(body: &Body, model: &Model<'_>) -> Result<FxHashSet<TermId>, Vec<Obstacle>> {
    let mut out = FxHashSet::default();
    for l in &model.loops {
        if *body.op(l.term) != Op::For {
            return Err(one(ObstacleKind::NotCounted(crate::NotCounted::While), l.term));
        }
        let index = l.control.as_ref().map(|c| c.index);
        for &part in body.args(l.term).iter().take(3) {
            for t in body.walk(part) {
                out.insert(t);
                let writes = body.op(t).is_write() || matches!(body.op(t), Op::Declare(_));
                if writes && written(body, t) != index {
                    return Err(one(ObstacleKind::NotCounted(crate::NotCounted::Step), t));
                }
            }
        }
    }
    Ok(out)
}

/// An index means its loop's counter only inside that loop.
fn indices_stay_inside(
    body: &Body,
    model: &Model<'_>,
    statements: &[Statement],
) -> Result<(), Vec<Obstacle>> {
    for s in statements {
        for t in body.walk(s.term) {
            let Op::Sym(v) = body.op(t) else { continue };
            let counts = |l: &usize| model.loops[*l].control.as_ref().is_some_and(|c| c.index == *v);
            let somewhere = (0..model.loops.len()).any(|l| counts(&l));
            if somewhere && !s.loops.iter().any(counts) {
                return Err(one(ObstacleKind::LiveOut(*v), t));
            }
        }
    }
    Ok(())
}

/// Variables that some loop's iterations have for themselves: declared in its body, or written before they are read in
/// each iteration and dead after it.
fn privates(
    cx: &Context<'_>,
    facts: &Facts,
    model: &Model<'_>,
    statements: &[Statement],
    parents: &[Option<TermId>],
) -> Result<Vec<PrivateOf>, Vec<Obstacle>> {
    let body = cx.body;
    let is_index = |s: SymbolId| model.loops.iter().any(|l| l.control.as_ref().is_some_and(|c| c.index == s));
    let mut symbols: Vec<(SymbolId, Vec<usize>)> = Vec::new();
    let around = |t: TermId| {
        let mut chain = Vec::new();
        let mut at = Some(t);
        while let Some(x) = at {
            if let Some(l) = model.loops.iter().position(|l| l.term == x) {
                chain.push(l);
            }
            if x == model.root {
                break;
            }
            at = parents.get(x.0 as usize).copied().flatten();
        }
        chain.reverse();
        chain
    };
    for t in body.walk(model.root) {
        if let Op::Declare(s) = body.op(t) {
            if model.declared_inside(*s) && !is_index(*s) {
                symbols.push((*s, around(t)));
            }
        }
    }
    let inside = |mut t: TermId, of: TermId| loop {
        if t == of {
            return true;
        }
        match parents.get(t.0 as usize).copied().flatten() {
            Some(p) => t = p,
            None => return false,
        }
    };
    // The innermost loop of which it is private and that holds every mention.
    for s in cx.effects.writes_in(model.root).iter().copied() {
        if is_index(s) || symbols.iter().any(|p| p.0 == s) || !body.symbols[s].is_own_scalar() {
            continue;
        }
        let mentions: Vec<TermId> = body.walk(model.root).filter(|&t| body.as_symbol(t) == Some(s)).collect();
        let mut best: Option<Vec<usize>> = None;
        for l in &model.loops {
            let private = facts.of_term(l.term).is_some_and(|id| {
                facts.loops[id].privates.iter().any(|p| p.symbol == s && !p.declared_inside)
            });
            let holds = mentions.iter().all(|&t| inside(t, l.term));
            if private && holds && !cx.liveness().is_live_after(l.term, s) {
                let chain = around(l.term);
                if best.as_ref().is_none_or(|b| b.len() < chain.len()) {
                    best = Some(chain);
                }
            }
        }
        if let Some(loops) = best {
            symbols.push((s, loops));
        }
    }
    symbols.sort_by_key(|p| p.0);
    let mut out = Vec::new();
    for (symbol, loops) in symbols {
        let (mut writers, mut mentions) = (Vec::new(), Vec::new());
        for (k, s) in statements.iter().enumerate() {
            let named = |t: TermId| {
                matches!(body.op(t), Op::Declare(d) if *d == symbol) || body.as_symbol(t) == Some(symbol)
            };
            if body.walk(s.term).any(named) {
                mentions.push(k);
                // Elements and fields of a local count as the whole of it.
                let writes = |t: TermId| {
                    written(body, t) == Some(symbol)
                        || (body.op(t).is_write()
                            && body.args(t).first().is_some_and(|&p| {
                                crate::flow::parts::base_symbol(body, p).is_none_or(|b| b == symbol)
                            }))
                };
                if body.walk(s.term).any(writes) {
                    writers.push(k);
                }
            }
        }
        if mentions.is_empty() {
            continue;
        }
        if body.symbols[symbol].address_taken {
            return Err(one(ObstacleKind::UnknownPointer(symbol), statements[mentions[0]].term));
        }
        out.push(PrivateOf { symbol, loops, writers, mentions });
    }
    Ok(out)
}

/// Instances of two statements that have to meet in one thread: tuples of the counters of `s`, then of `t`.
pub(super) struct Conflict {
    pub s: usize,
    pub t: usize,
    pub pairs: Set,
}

/// What says that an instance of one statement comes before one of another.
pub(super) enum Order {
    /// Conditions on the counters of both.
    Rows(Vec<poly::Constraint>),
    Never,
    Unknown,
}

impl Nest {
    /// That an instance of `from` comes before one of `to` because of the loop at a level of those around both, or at the level
    /// behind these because of its place in the text. `first`: where the counters of either begin in a tuple.
    pub(super) fn order(
        &self,
        model: &Model<'_>,
        from: usize,
        to: usize,
        first: [usize; 2],
        level: usize,
    ) -> Order {
        let (s, t) = (&self.statements[from], &self.statements[to]);
        let common = s.loops.iter().zip(&t.loops).take_while(|(a, b)| a == b).count();
        let same = |k: usize| Row::constant(0).dim(first[0] + k, 1).dim(first[1] + k, -1);
        let mut rows: Vec<poly::Constraint> =
            (0..level.min(common)).map(|k| poly::Constraint::eq(same(k))).collect();
        if level < common {
            let Some((_, sign)) = time(model, s.loops[level]) else { return Order::Unknown };
            let row = Row::constant(-1).dim(first[0] + level, -sign).dim(first[1] + level, sign);
            rows.push(poly::Constraint::ge(row));
            return Order::Rows(rows);
        }
        let place = |s: &Statement| common.checked_sub(1).and_then(|p| s.places.get(p).copied());
        match place(s) < place(t) {
            true => Order::Rows(rows),
            false => Order::Never,
        }
    }

    /// Everything the sets are made of, for the order of parameters.
    pub(super) fn values(&self) -> impl Iterator<Item = &Poly> {
        let statements =
            self.statements.iter().flat_map(|s| s.domain.pieces.iter().flatten().map(|c| &c.poly));
        let domains =
            self.accesses.iter().flat_map(|(_, a)| a.domain.pieces.iter().flatten().map(|c| &c.poly));
        let subs = self.accesses.iter().flat_map(|(_, a)| a.subs.iter().filter_map(|s| s.value.as_ref()));
        statements.chain(domains).chain(subs)
    }

    /// Calls `note` with each conflict that exists; `Err(None)` beyond the number of pairs that are looked at.
    pub(super) fn conflicts(
        &self,
        frame: &ParamSpace<'_, '_>,
        note: &mut dyn FnMut(Conflict) -> poly::Result<bool>,
    ) -> Result<(), Option<poly::Error>> {
        let mut tried = 0;
        for (i, (s, a)) in self.accesses.iter().enumerate() {
            for (t, b) in &self.accesses[i..] {
                if a.base != b.base || !(a.write || b.write) {
                    continue;
                }
                let Overlap::When { equal, .. } = overlap(a, b) else { continue };
                tried += 1;
                if tried > MAX_PAIRS {
                    return Err(None);
                }
                frame.budget.spend(1).map_err(|e| Some(e.into()))?;
                let n = a.loops.len();
                let parts = [
                    Part { domain: &a.domain, loops: &a.loops, first: 0 },
                    Part { domain: &b.domain, loops: &b.loops, first: n },
                ];
                let equal: Vec<_> = equal.iter().map(|(p, q)| ((p, 0), (q, 1))).collect();
                let pairs = frame.set(n + b.loops.len(), &parts, &equal, &[]).map_err(Some)?;
                if !note(Conflict { s: *s, t: *t, pairs }).map_err(Some)? {
                    return Ok(());
                }
            }
        }
        for p in &self.privates {
            for &w in &p.writers {
                for &m in &p.mentions {
                    if m < w && p.writers.contains(&m) {
                        continue;
                    }
                    let (s, t) = (&self.statements[w], &self.statements[m]);
                    let n = s.loops.len();
                    let parts = [
                        Part { domain: &s.domain, loops: &s.loops, first: 0 },
                        Part { domain: &t.domain, loops: &t.loops, first: n },
                    ];
                    // The loops around the declaration are the first ones around both.
                    let same: Vec<poly::Constraint> = (0..p.loops.len())
                        .map(|k| poly::Constraint::eq(Row::constant(0).dim(k, 1).dim(n + k, -1)))
                        .collect();
                    let pairs = frame.set(n + t.loops.len(), &parts, &[], &same).map_err(Some)?;
                    if !note(Conflict { s: w, t: m, pairs }).map_err(Some)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Why some access is not exact, if one is.
    pub(super) fn inexact(&self) -> Option<Obstacle> {
        self.accesses.iter().find_map(|(_, a)| a.why.clone())
    }
}

/// The counter of a loop as a value that grows from iteration to iteration.
pub(super) fn time(model: &Model<'_>, at: usize) -> Option<(Var, i128)> {
    let l = &model.loops[at];
    match (&l.iteration, l.control.as_ref().map(|c| &c.step)) {
        // The counter is the number of the iteration, or the index itself where that counts up by one.
        (Some(t), _) if t.coefficient(l.var) == 1 => Some((l.var, 1)),
        (None, Some(Step::Const(1))) => Some((l.var, 1)),
        (None, Some(Step::Const(-1))) => Some((l.var, -1)),
        _ => None,
    }
}
