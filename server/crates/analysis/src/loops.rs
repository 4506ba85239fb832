//! From a body to the facts of each of its loops.

pub(crate) mod aliases;
mod blockers;
pub(crate) mod grants;
mod obligations;
mod promises;
mod read_again;
mod replays;

pub(crate) use blockers::{opaque_places, plain_blockers};
pub(crate) use obligations::{expr_of, meet_obligations};

use self::blockers::blockers;

use crate::calls::inline::read;
use crate::context::Context;
use crate::limits::loops::{MAX_LISTED, MAX_SORTED, PRIVACY_STEPS};

use self::replays::{of_unshown, Replays};

use base::{Budget, Effort, IndexId};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, SymbolId, TermId};

use crate::algebra::poly::Domain;
use crate::classify::privatize::{privacy, Privacy};
use crate::classify::recurrences::recurrences;
use crate::classify::reductions::Looked;
use crate::classify::scalars::{carried_scalar, kept_reduction, Scalars};
use crate::depend::{self, Outcome};
use crate::facts::marks::mark_of;
use crate::flow::liveness::early_exit;
use crate::loops::aliases::alias_conditions;
use crate::nest::{bounds_of_parts, lengths_of_rows, AffineAccess, Model, Reading};
use crate::{
    Cells, Condition, ConditionKind, Control, Dependence, DependenceKind, Facts, LoopFacts, LoopId, MetBy,
    Obstacle, ObstacleKind, Private, Program, Reduction, ReductionOp, Step, Verdict, Work,
};

/// `whole`: the steps of the function that are left behind reading it.
pub(crate) fn analyze(body: &Body, program: &Program, effort: Effort, whole: &Budget, own: usize) -> Facts {
    let cx = Context::new(body, program, own, whole);
    let mut facts = Facts::default();
    for at in 0..cx.loops.len() {
        let l = a_loop(&cx, at, effort, whole);
        if l.obstacles.iter().any(|o| matches!(o.kind, ObstacleKind::Budget(_))) {
            facts.out_of_budget = true;
        }
        facts.loops.push(l);
    }
    note_effort(cx, whole, &mut facts);
    facts
}

/// The facts of one loop alone; none where the loop is gone.
pub(crate) fn analyze_one(
    body: &Body,
    program: &Program,
    effort: Effort,
    whole: &Budget,
    (own, root): (usize, TermId),
) -> Facts {
    let cx = Context::new(body, program, own, whole);
    let mut facts = Facts::default();
    if let Some(id) = cx.ids.get(&root) {
        facts.loops.push(a_loop(&cx, id.index(), effort, whole));
    }
    note_effort(cx, whole, &mut facts);
    facts
}

fn note_effort(cx: Context<'_>, whole: &Budget, facts: &mut Facts) {
    facts.steps = whole.taken();
    facts.tests = cx.solver.counts.take();
    let followed = cx.followed.take().into_iter();
    facts.rests_on = followed.map(|name| (name.clone(), cx.program.text_of(&name))).collect();
    facts.rests_on.sort();
}

fn a_loop(cx: &Context<'_>, at: usize, effort: Effort, whole: &Budget) -> LoopFacts {
    let body = cx.body;
    let part = whole.part(effort.each_loop.min(whole.left()));
    // all of a loop is walked over several times: for how it counts, what stands in its way, its scalars, what it leaves
    let mut l = match read(body.walk(cx.loops[at].0).count(), &part) {
        Ok(()) => {
            let l = one_loop(cx, at, effort.each_loop > crate::TYPING_STEPS, &part);
            let looked = Looked { body, program: cx.program };
            LoopFacts { recurrences: recurrences(&looked, &cx.effects, &cx.parents, &l, &part), ..l }
        }
        Err(_) => unread_loop(cx, at),
    };
    // what may be live was taken to be
    if l.verdict == Verdict::Unknown && cx.liveness_cut_short() {
        l.obstacles.push(Obstacle { kind: ObstacleKind::Budget(Work::Liveness), term: l.term });
    }
    // a loop cut short by what others have left says so
    if part.left() == 0 && whole.left() < effort.each_loop {
        let budgets = l.obstacles.iter_mut().filter(|o| matches!(o.kind, ObstacleKind::Budget(_)));
        budgets.for_each(|o| o.kind = ObstacleKind::Budget(Work::Others));
    }
    let _ = whole.spend(part.taken());
    l
}

/// Of a function for which there are not even the steps to see what it writes.
pub(crate) fn unread(body: &Body, whole: &Budget) -> Facts {
    let mut facts = Facts { steps: whole.taken(), ..Facts::default() };
    let doing = if whole.taken() == 0 { Work::Others } else { Work::Effects };
    let mut stack = vec![(body.root, None, 0)];
    while let Some((t, around, depth)) = stack.pop() {
        let (mut around, mut depth) = (around, depth);
        if body.op(t).is_loop() {
            let obstacle = Obstacle { kind: ObstacleKind::Budget(doing), term: t };
            facts.out_of_budget = true;
            around = Some(facts.loops.push(LoopFacts {
                parent: around,
                obstacles: vec![obstacle.clone()],
                ..of_loop(body, t, depth, Err(obstacle))
            }));
            depth += 1;
        }
        stack.extend(body.args(t).iter().rev().map(|&a| (a, around, depth)));
    }
    facts
}

/// Before anything is known of it.
pub(crate) fn of_loop(body: &Body, t: TermId, depth: u32, control: Result<Control, Obstacle>) -> LoopFacts {
    LoopFacts {
        term: t,
        parent: None,
        depth,
        control,
        verdict: Verdict::Unknown,
        conditions: Vec::new(),
        dependences: Vec::new(),
        more_dependences: false,
        most_rounds: None,
        obstacles: Vec::new(),
        privates: Vec::new(),
        reductions: Vec::new(),
        inductions: Vec::new(),
        recurrences: Vec::new(),
        granted: None,
        mark: mark_of(body, t),
        promises: Vec::new(),
    }
}

/// What the loop leaves beside its memory that the program looks at, and how it needs the host to round.
fn look_around(cx: &Context<'_>, t: TermId, facts: &mut LoopFacts) {
    use crate::calls::watched::{rounding, watched};
    facts.obstacles.extend(watched(cx.body, cx.program, cx.concern(), &cx.parents, t));
    if let Some(kind) = rounding(cx.body, cx.program, cx.concern(), t) {
        facts.note(kind, MetBy::RunTimeCheck, None);
    }
}

/// A number of iterations that the root never has more of, where one that small is proved.
fn most_rounds(model: &Model<'_>, budget: &Budget) -> Option<u64> {
    let l = model.loops.first()?;
    let control = l.control.as_ref().filter(|c| c.offset == 0 && !c.at_least_once)?;
    let (Step::Const(step @ 1..), closed) = (&control.step, control.relation == BinOp::Le) else {
        return None;
    };
    if !closed && control.relation != BinOp::Lt {
        return None;
    }
    let way = l.limit.as_ref()?.sub(l.lower.as_ref()?)?.add_constant(i128::from(closed))?;
    let known = model.prover();
    let at_most = |most: u64| {
        let left = way.scale(-1).and_then(|n| n.add_constant(i128::from(most).checked_mul(*step)?));
        left.is_some_and(|left| known.non_negative(&left, &Domain::always(), budget))
    };
    // what stands behind a loop that was unrolled by a power of two
    let most = [31, 15, 7, 3, 1].into_iter().take_while(|&most| at_most(most));
    most.last()
}

/// What must hold for a model to be the program and its objects to be apart, with how it is met, and what stands in the
/// way. `like`: the facts of the model's root. Afterwards the model's context holds what is tested.
pub(crate) fn assumptions(
    cx: &Context<'_>,
    reading: &mut Reading<'_>,
    accesses: &[AffineAccess],
    like: &LoopFacts,
) -> (Vec<Condition>, Vec<Obstacle>) {
    let mut facts = like.clone();
    facts.conditions.clear();
    facts.obstacles.clear();
    look_around(cx, like.term, &mut facts);
    reading.model.objects.reads_in_rows = true;
    meet_obligations(reading, &mut facts);
    alias_conditions(cx, &reading.model, accesses, &mut facts);
    (facts.conditions, facts.obstacles)
}

/// A loop for which there are not even the steps to walk over it.
fn unread_loop(cx: &Context<'_>, at: usize) -> LoopFacts {
    let (term, parent, depth) = cx.loops[at];
    let obstacle = Obstacle { kind: ObstacleKind::Budget(Work::Model), term };
    let parent = parent.map(|p| LoopId(p as u32));
    LoopFacts { parent, obstacles: vec![obstacle.clone()], ..of_loop(cx.body, term, depth, Err(obstacle)) }
}

fn one_loop(cx: &Context<'_>, at: usize, detail: bool, budget: &Budget) -> LoopFacts {
    let body = cx.body;
    let (t, parent, depth) = cx.loops[at];
    let parent = parent.map(|p| LoopId(p as u32));
    let mut facts = LoopFacts { parent, ..of_loop(body, t, depth, cx.control(at).clone()) };
    // What is inside and cannot be seen through stops everything.
    blockers(body, cx.program, t, &mut facts.obstacles);
    look_around(cx, t, &mut facts);
    let control = match cx.control(at) {
        Ok(c) => c.clone(),
        Err(o) => {
            facts.obstacles.insert(0, o.clone());
            return facts;
        }
    };
    if let Some(exit) = early_exit(body, t) {
        facts.obstacles.push(Obstacle { kind: ObstacleKind::EarlyExit, term: exit });
    }
    if !facts.obstacles.is_empty() {
        return facts;
    }
    let before = facts.clone();
    let found = read_loop(cx, cx.reading(at, &control, budget), &control, detail, budget, facts);
    if found.verdict == Verdict::Unknown {
        if let Some(short) = where_rows_are_short(cx, at, &control, detail, budget, before.clone()) {
            return short;
        }
    }
    let is_open = found.verdict == Verdict::Unknown
        || found.verdict == Verdict::Reduction && found.reductions.iter().any(|r| r.cells != Cells::One);
    // Steps that are no constants are the lengths of tiles; and where parts of an array lie one behind the other, they are apart.
    if is_open && budget.left() > 0 && cx.has_strides(at) {
        let reading = cx.strided(at, &control, budget);
        let strided = read_loop(cx, reading, &control, detail, budget, before.clone());
        let tested = |l: &LoopFacts| l.conditions.iter().filter(|c| c.met_by != MetBy::Proof).count();
        let costs_more = found.verdict == Verdict::Reduction && tested(&strided) > tested(&found);
        if is_better(&strided, &found) && !costs_more && budget.left() > 0 {
            return strided;
        }
    }
    if !is_open || budget.left() == 0 || bounds_of_parts(body, t).is_empty() {
        return found;
    }
    let sorted = read_loop(cx, cx.sorted(at, &control, budget), &control, detail, budget, before);
    if is_better(&sorted, &found) && budget.left() > 0 {
        sorted
    } else {
        found
    }
}

/// Whether another reading of a loop shows more than what was found.
fn is_better(other: &LoopFacts, found: &LoopFacts) -> bool {
    match other.verdict {
        Verdict::Independent => true,
        Verdict::Reduction => {
            found.verdict == Verdict::Unknown || other.reductions.len() < found.reductions.len()
        }
        Verdict::Sequential | Verdict::Unknown => false,
    }
}

/// What is found where rows are no longer than their room.
fn where_rows_are_short(
    cx: &Context<'_>,
    at: usize,
    control: &Control,
    detail: bool,
    budget: &Budget,
    before: LoopFacts,
) -> Option<LoopFacts> {
    if budget.left() == 0 || lengths_of_rows(cx.body, &cx.effects, before.term).is_empty() {
        return None;
    }
    let short = read_loop(cx, cx.short(at, control, budget), control, detail, budget, before);
    let is_parallel = matches!(short.verdict, Verdict::Independent | Verdict::Reduction);
    (is_parallel && budget.left() > 0).then_some(short)
}

/// What a model of a loop shows. `facts`: what is known without it.
fn read_loop(
    cx: &Context<'_>,
    mut reading: Reading<'_>,
    control: &Control,
    detail: bool,
    budget: &Budget,
    mut facts: LoopFacts,
) -> LoopFacts {
    let body = cx.body;
    if !reading.obstacles.is_empty() {
        facts.obstacles = std::mem::take(&mut reading.obstacles);
        return facts;
    }
    let scalars = Scalars::new(cx, &reading.model, control);
    facts.privates = scalars.privates.clone();
    facts.inductions = scalars.inductions.clone();

    meet_obligations(&mut reading, &mut facts);
    if budget.left() == 0 {
        return facts;
    }
    let model = reading.model;
    facts.most_rounds = most_rounds(&model, budget);
    let accesses: Vec<AffineAccess> =
        model.accesses.iter().filter(|a| !scalars.set_aside(a)).cloned().collect();
    alias_conditions(cx, &model, &accesses, &mut facts);
    let found = dependences(cx, &model, &accesses, &scalars, detail, budget, &mut facts);
    add_reductions(body, &model, &scalars, &found, &mut facts);
    promises::note_used(cx, &model, &accesses, &mut facts);
    for array in model.promises.used_sorted() {
        facts.note(ConditionKind::Sorted(array), MetBy::RunTimeCheck, None);
    }
    for l in model.promises.used_lengths(&model.vars) {
        let kind = ConditionKind::AtMost { array: l.array, term: l.term, number: l.number };
        facts.note(kind, MetBy::RunTimeCheck, None);
    }
    conclude(&mut facts);
    facts.promises = promises::fates(cx, &model, &facts);
    facts
}

/// What iterations add up or have for themselves, as far as they need to.
fn add_reductions(
    body: &Body,
    model: &Model<'_>,
    scalars: &Scalars,
    found: &SharedCells,
    facts: &mut LoopFacts,
) {
    // Cells in which no two iterations meet need no reduction, nor do those of which each iteration has its own.
    let counts = |(k, r): (usize, &Reduction)| {
        let private = found.private.get(&r.object.symbol).is_some_and(Option::is_some);
        let needed = r.cells == Cells::Variable || !private && found.met.contains(&k);
        needed.then(|| r.clone())
    };
    facts.reductions = scalars.reductions.iter().enumerate().filter_map(counts).collect();
    let mut work: Vec<Private> = found
        .private
        .iter()
        .filter_map(|(&symbol, p)| {
            let Privacy { kept, copied_in } = (*p)?;
            Some(Private { symbol, declared_inside: false, kept, copied_in })
        })
        .collect();
    work.sort_by_key(|p| p.symbol);
    for p in work.iter().filter(|p| p.kept) {
        let place =
            model.accesses.iter().find(|a| a.base == p.symbol && a.write).map_or(model.root, |a| a.term);
        facts.reductions.push(kept_reduction(body, p.symbol, place, Cells::Many));
    }
    facts.privates.extend(work);
    for r in &facts.reductions {
        if let (Some(_), ReductionOp::Add | ReductionOp::Mul) = (body.types.as_float(r.ty), r.op) {
            facts.conditions.push(Condition {
                kind: ConditionKind::Reassociate(r.op, r.ty),
                met_by: MetBy::User,
                check: None,
            });
        }
    }
}

/// The verdict, and of the evidence what speaks for it.
fn conclude(facts: &mut LoopFacts) {
    facts.verdict = if facts.dependences.iter().any(|d| d.witness.is_some()) {
        facts.obstacles.clear();
        Verdict::Sequential
    } else if !facts.obstacles.is_empty() {
        Verdict::Unknown
    } else if facts.reductions.is_empty() {
        Verdict::Independent
    } else {
        Verdict::Reduction
    };
    match facts.verdict {
        Verdict::Sequential => {
            facts.dependences.sort_by_key(|d| (d.witness.is_none(), d.kind));
            facts.conditions.clear();
        }
        Verdict::Independent | Verdict::Reduction => facts.dependences.clear(),
        Verdict::Unknown => {}
    }
}

// ---- dependences

fn dependences(
    cx: &Context<'_>,
    model: &Model<'_>,
    accesses: &[AffineAccess],
    scalars: &Scalars,
    detail: bool,
    budget: &Budget,
    facts: &mut LoopFacts,
) -> SharedCells {
    let ids = cx.loop_ids(model);
    let mut out = SharedCells::default();
    let mut replays = Replays::new(cx);
    let unique = unique(accesses, scalars);
    let mut seen: FxHashSet<(DependenceKind, SymbolId, TermId, TermId)> = FxHashSet::default();
    // objects of which a dependence that depends on data was looked for in runs
    let mut tried: FxHashSet<SymbolId> = FxHashSet::default();
    for (i, j) in pairs_in_order(&unique) {
        let (a, b) = (unique[i], unique[j]);
        let group = scalars.same_group(a, b);
        if group.is_some_and(|g| out.met.contains(&g) || scalars.reductions[g].cells == Cells::Variable) {
            continue;
        }
        let found = facts.dependences.iter().any(|d: &Dependence| d.witness.is_some());
        if found && (facts.dependences.len() >= MAX_LISTED || !detail) {
            facts.more_dependences = true;
            break;
        }
        if budget.spend(1).is_err() {
            let kind = ObstacleKind::Budget(Work::Dependences);
            facts.obstacles.push(Obstacle { kind, term: model.root });
            facts.more_dependences = true;
            break;
        }
        // Two writes: either may come first.
        let orders: &[(&AffineAccess, &AffineAccess)] =
            if a.write && b.write && i != j { &[(a, b), (b, a)] } else { &[(a, b)] };
        for &(source, sink) in orders {
            let test = |detail| depend::test(model, &ids, source, sink, detail, &cx.solver, budget);
            if let Some(g) = group {
                if !matches!(test(false), Outcome::No) {
                    out.met.insert(g);
                }
                continue;
            }
            if out.private.get(&a.base).is_some_and(Option::is_some) {
                continue;
            }
            let outcome = test(detail);
            // Only where iterations do (or may) meet is a copy for each of them asked for.
            if !matches!(outcome, Outcome::No) && out.is_private(cx, model, a.base, budget) {
                continue;
            }
            match outcome {
                Outcome::No => {}
                Outcome::Yes(d) => {
                    if !seen.insert((d.kind, d.object.symbol, d.source, d.sink)) {
                        continue;
                    }
                    let ask = || match test(detail) {
                        Outcome::Yes(d) => Some(*d),
                        _ => None,
                    };
                    match replays.shown(model, *d, budget, ask) {
                        Ok(d) => facts.dependences.push(d),
                        Err(unshown) => {
                            let (d, why) = *unshown;
                            list(&mut facts.obstacles, of_unshown(cx, model, source, &d, why));
                            add(facts, d);
                        }
                    }
                }
                Outcome::Maybe(d, why) => {
                    let new = !seen.contains(&(d.kind, d.object.symbol, d.source, d.sink));
                    let guess = d.witness.is_some() && !found && new && tried.insert(d.object.symbol);
                    let ask = || match test(detail) {
                        Outcome::Maybe(d, _) if d.witness.is_some() => Some(*d),
                        _ => None,
                    };
                    let shown = guess.then(|| replays.shown(model, (*d).clone(), budget, ask));
                    let is_open =
                        |d: &Dependence| d.witness.as_ref().is_some_and(|w| !replays.rests_on_own_objects(w));
                    if let Some(shown) = shown.and_then(Result::ok).filter(is_open) {
                        seen.insert((shown.kind, shown.object.symbol, shown.source, shown.sink));
                        facts.dependences.push(shown);
                        continue;
                    }
                    list(&mut facts.obstacles, carried_scalar(cx.body, source, why));
                    if seen.insert((d.kind, d.object.symbol, d.source, d.sink)) {
                        add(facts, Dependence { witness: None, ..*d });
                    }
                }
            }
        }
    }
    cx.followed.borrow_mut().extend(replays.search.followed);
    let place = |t: TermId| unique.iter().position(|a| a.term == t);
    facts.dependences.sort_by_key(|d| (place(d.source), place(d.sink)));
    out
}

/// The pairs of accesses of one object of which one writes, of every object one before a second of any. Those that would pass a value on
/// come first, from the last write on: what earlier ones leave is mostly written over.
fn pairs_in_order<'u>(unique: &'u [&AffineAccess]) -> Box<dyn Iterator<Item = (usize, usize)> + 'u> {
    let all = (0..unique.len()).flat_map(|i| (0..unique.len()).map(move |j| (i, j))).filter(|&(i, j)| {
        let (a, b) = (unique[i], unique[j]);
        a.base == b.base && (a.write || b.write) && !(a.write && b.write && j < i)
    });
    if unique.len() > MAX_SORTED {
        return Box::new(all);
    }
    let mut by_object: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut known: FxHashMap<SymbolId, usize> = FxHashMap::default();
    for pair in all {
        let at = *known.entry(unique[pair.0].base).or_insert(by_object.len());
        match by_object.get_mut(at) {
            Some(object) => object.push(pair),
            None => by_object.push(vec![pair]),
        }
    }
    let flows = |&(i, j): &(usize, usize)| unique[i].write && !unique[j].write;
    for pairs in &mut by_object {
        pairs.sort_by_key(|p| {
            (!flows(p), if flows(p) { std::cmp::Reverse(p.0) } else { std::cmp::Reverse(0) })
        });
    }
    let most = by_object.iter().map(Vec::len).max().unwrap_or(0);
    let of = move |turn: usize| by_object.iter().filter_map(|o| o.get(turn).copied()).collect::<Vec<_>>();
    Box::new((0..most).flat_map(of))
}

fn add(facts: &mut LoopFacts, d: Dependence) {
    match facts.dependences.len() < MAX_LISTED {
        true => facts.dependences.push(d),
        false => facts.more_dependences = true,
    }
}

fn list(obstacles: &mut Vec<Obstacle>, why: Obstacle) {
    if !obstacles.contains(&why) && obstacles.len() < MAX_LISTED {
        obstacles.push(why);
    }
}

/// Equal accesses need testing once. Of writes the last one stands for all: what it leaves is what the next iteration reads.
fn unique<'m>(accesses: &'m [AffineAccess], scalars: &Scalars) -> Vec<&'m AffineAccess> {
    let mut unique: Vec<&AffineAccess> = Vec::new();
    for a in accesses {
        let same = |b: &&AffineAccess| {
            a.base == b.base
                && a.write == b.write
                && a.fields == b.fields
                && a.inside == b.inside
                && a.domain == b.domain
                && a.loops == b.loops
                && a.why.is_none() == b.why.is_none()
                && a.subs.len() == b.subs.len()
                && a.subs.iter().zip(&b.subs).all(|(x, y)| x.value == y.value)
                && scalars.groups.get(&a.term) == scalars.groups.get(&b.term)
        };
        match unique.iter().position(same) {
            Some(k) if a.write => unique[k] = a,
            Some(_) => {}
            None => unique.push(a),
        }
    }
    unique
}

/// What was found beside the dependences.
#[derive(Default)]
struct SharedCells {
    /// Reductions over cells of memory in which iterations may meet, by number.
    met: FxHashSet<usize>,
    /// Objects of which each iteration may have its own, as far as it was asked.
    private: FxHashMap<SymbolId, Option<Privacy>>,
}

impl SharedCells {
    /// Whether each iteration may have its own of the object.
    fn is_private(&mut self, cx: &Context<'_>, model: &Model<'_>, base: SymbolId, budget: &Budget) -> bool {
        let privacy = || {
            let part = budget.part(PRIVACY_STEPS);
            let answer = privacy(cx, model, base, &part);
            let _ = budget.spend(part.taken());
            answer
        };
        self.private.entry(base).or_insert_with(privacy).is_some()
    }
}
