//! Rounds: one loop on the host around whole kernels, in the place of a nest none of whose loops, or only its inner ones, can run
//! at once. Every statement gets a time, an affine form of the indices around it; instances of one time make a round, in
//! which the statements run one behind the other, and all instances of one statement at once.
//!
//! A dependence must not go back in time (Feautrier, "Some efficient solutions to the affine scheduling problem", 1992: here
//! forms are tried, cheapest first, instead of solved for); what stays within a round must not lead from a statement to
//! itself, and the statements stand in the order of these (Allen and Kennedy's distribution). Both are proofs: a dependence
//! that is not excluded is taken for one. Statements are single ones or, where these do not do, whole bodies of inner loops.
//! Deliberately absent: any claim about the new loops. They are analysed as if they had been written so.

mod before;
mod cells;
mod launches;
mod search;
mod split;
mod values;
mod write;

use std::collections::BTreeSet;

use base::Budget;
use poly::Set;
use term::{Body, Op, SymbolId, TermId};

use self::cells::StandIns;
use self::launches::Times;
use super::context;
use super::sets::{ParamSpace, Part};
use super::statements::{self, time, Nest, Order};
use crate::algebra::poly::{Poly, VarKind};
use crate::limits::threadmap_rounds::MAX_LAUNCHES;
use crate::loops::{assumptions, opaque_places};
use crate::nest::{AffineAccess, Model};
use crate::offload::region::written::Written;
use crate::offload::touched::{touched, TouchedParts};
use crate::{ConditionKind, Facts, LoopId, MetBy, Program, Verdict};

/// What is given a time: statements that always run one behind the other, within the same loops.
struct Unit {
    /// A statement, or the body of a loop.
    term: TermId,
    /// Model loops around it, outermost first.
    loops: Vec<usize>,
    /// Its instances, by the values of the indices around it.
    instances: Set,
    /// These values.
    values: Vec<Poly>,
    /// Whether an index counts up (1) or down (-1).
    signs: Vec<i128>,
    indices: Vec<SymbolId>,
}

/// Instances of one unit that have to run before instances of another.
struct Dependence {
    from: usize,
    to: usize,
    /// Tuples of counters.
    pairs: Set,
    /// Where in it the counters of either begin.
    first: [usize; 2],
}

/// A nest cut into units.
struct Cut {
    units: Vec<Unit>,
    dependences: Vec<Dependence>,
}

/// When the instances of a unit run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Time {
    /// Before all rounds.
    First,
    /// In the round of this number: factors of the indices, each as it counts up, and so many rounds more.
    At(Vec<i128>, i128),
    /// Behind all rounds.
    Last,
}

impl Time {
    /// Before, in or behind all rounds.
    fn phase(&self) -> i128 {
        match self {
            Time::First => -1,
            Time::At(..) => 0,
            Time::Last => 1,
        }
    }

    /// Whether rounds go through an index in greater steps than others.
    fn is_steep(&self) -> bool {
        matches!(self, Time::At(factors, _) if factors.iter().any(|f| *f > 1))
    }
}

/// Why a stretch is not written in rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoRounds {
    /// No nest in it has any.
    Nowhere,
    /// All could run, but not in one launch as it was wanted.
    Apart,
}

/// The function with the nests of a stretch that have rounds written so. `kernels`: the parallel loops in it; `joined`: what can
/// run in one launch does, and [`NoRounds::Apart`] where nothing can.
pub(crate) fn in_rounds(
    written: &Written,
    program: &Program,
    facts: &Facts,
    kernels: &[TermId],
    joined: bool,
    budget: &Budget,
) -> Result<Written, NoRounds> {
    let body = &written.body;
    let mut b = body.to_builder();
    let mut touched_by = written.touched.clone();
    let mut any_joined = false;
    let parents = body.parents();
    let up = |t: &TermId| parents.get(t.0 as usize).copied().flatten();
    let mut around = std::iter::successors(written.statements.first().copied(), up).skip(1);
    let inside = around.any(|t| body.op(t).is_loop());
    // with whether a loop of the host is around it
    let mut stack: Vec<(TermId, bool)> = written.statements.iter().rev().map(|&t| (t, inside)).collect();
    while let Some((t, inside)) = stack.pop() {
        if kernels.contains(&t) {
            continue;
        }
        match body.op(t) {
            Op::List | Op::If => stack.extend(body.args(t).iter().rev().map(|&a| (a, inside))),
            op if op.is_loop() => {
                let what = inside_of(body, facts, t, kernels);
                let target = facts.of_term(t).filter(|_| what > Inside::Kernels);
                // waves in every round of another loop are too many launches of too little, and no better than sums
                let asked = Asked { joined, waves: !inside && what == Inside::Loops };
                let found = target.and_then(|id| of_nest(body, program, facts, id, &asked, budget, &mut b));
                match found {
                    Some((all, one)) => {
                        any_joined |= one;
                        touched_by.insert(t, all);
                    }
                    None => stack.extend(body.loop_parts(t).map(|p| (p.body, true))),
                }
            }
            _ => {}
        }
    }
    if touched_by.len() == written.touched.len() {
        return Err(NoRounds::Nowhere);
    }
    if any_joined != joined {
        return Err(NoRounds::Apart);
    }
    Ok(Written { body: b.finish(body.root), touched: touched_by, ..written.clone() })
}

/// What the host would do again and again in a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Inside {
    Kernels,
    /// Kernels that sum, each of which is two.
    Sums,
    Loops,
}

/// What the host would do in the loop.
fn inside_of(body: &Body, facts: &Facts, t: TermId, kernels: &[TermId]) -> Inside {
    let mut found = Inside::Kernels;
    let mut stack: Vec<TermId> = body.loop_parts(t).map(|p| p.body).into_iter().collect();
    while let Some(x) = stack.pop() {
        match body.op(x) {
            _ if kernels.contains(&x) => {
                let is_sum = facts.of_term(x).is_some_and(|l| facts.loops[l].verdict == Verdict::Reduction);
                found = found.max(if is_sum { Inside::Sums } else { Inside::Kernels });
            }
            Op::List | Op::If => stack.extend(body.args(x)),
            op if op.is_loop() => return Inside::Loops,
            _ => {}
        }
    }
    found
}

/// Which rounds are wanted.
struct Asked {
    /// Those in which units run in one launch.
    joined: bool,
    /// Also those whose number is a sum of indices.
    waves: bool,
}

/// Writes a nest in rounds, in the place of its root. The answer: what the nest touches, and whether units of it run in one launch.
fn of_nest(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    asked: &Asked,
    budget: &Budget,
    b: &mut term::BodyBuilder,
) -> Option<(TouchedParts, bool)> {
    let l = facts.loops.get(target)?;
    let control = l.control.as_ref().ok()?;
    let cx = context(body, program, facts, target, budget).ok()?;
    if !opaque_places(body, l.term).is_empty() {
        return None;
    }
    let mut reading = cx.reading(target.0 as usize, control, budget);
    if !reading.obstacles.is_empty() {
        return None;
    }
    let mut nest = statements::nest(&cx, facts, &reading.model).ok()?;
    // tuples of instances are told by the loops around a statement
    if nest.accesses.iter().any(|(k, a)| a.loops != nest.statements[*k].loops) {
        return None;
    }
    let accesses: Vec<AffineAccess> =
        nest.accesses.iter().map(|(_, a)| a).chain(&nest.outside).cloned().collect();
    let (conditions, obstacles) = assumptions(&cx, &mut reading, &accesses, l);
    let wanted: BTreeSet<SymbolId> = accesses.iter().map(|a| a.base).collect();
    let mut parts = touched(body, program, facts, target, &wanted, budget).unwrap_or_default();
    // that the arrays of a region are apart is tested with it, and what is known of its parts rests on is, too
    let holds = |c: &crate::Condition| {
        let apart =
            matches!(&c.kind, ConditionKind::NoAlias(a, b) if a.fields.is_empty() && b.fields.is_empty());
        c.met_by == MetBy::Proof || apart || parts.conditions.contains(c)
    };
    if !obstacles.is_empty() || !conditions.iter().all(holds) {
        return None;
    }
    let model = reading.model;
    let index = |l: usize| model.loops[l].index.as_ref();
    let live = |s: SymbolId| !model.declared_inside(s) && cx.liveness().is_live_after(l.term, s);
    if (0..model.loops.len()).any(|l| index(l).is_none_or(|i| live(i.0))) {
        return None;
    }
    let indices = (0..model.loops.len()).filter_map(|l| index(l).map(|i| &i.1));
    let frame = ParamSpace::new(&model, budget, nest.values().chain(indices));
    for b in parts.buffers.iter_mut().filter(|b| b.all_written && !b.wholly_written) {
        b.wholly_written = before::reads_what_it_wrote(&model, &nest, &frame, b.symbol).unwrap_or(false);
    }
    let reader = Reader { body, model: &model, frame: &frame, root: l.term };
    // numbers of an iteration in the cells they go to, where that gives rounds, else by themselves
    if let Some(cells) = cells::in_memory(body, &model, &mut nest, &frame) {
        if let Some(joined) = reader.rounds(&nest, &cells, asked, b) {
            return Some((parts, joined));
        }
        nest = statements::nest(&cx, facts, &model).ok()?;
    }
    let joined = reader.rounds(&nest, &StandIns::default(), asked, b)?;
    Some((parts, joined))
}

/// A nest as it is read.
struct Reader<'r, 'm, 'b> {
    body: &'r Body,
    model: &'r Model<'m>,
    frame: &'r ParamSpace<'m, 'b>,
    root: TermId,
}

impl Reader<'_, '_, '_> {
    /// Writes the rounds of a nest. The answer: whether units of it run in one launch.
    fn rounds(
        &self,
        nest: &Nest,
        cells: &StandIns,
        asked: &Asked,
        b: &mut term::BodyBuilder,
    ) -> Option<bool> {
        let Reader { body, model, frame, root } = *self;
        let deepest = nest.statements.iter().map(|s| s.loops.len()).max()?;
        let write = |cut: &Cut, times: &Times, b: &mut term::BodyBuilder| {
            write::write(&Scheme { cut, times, cells, frame, body, root }, b)
        };
        // single statements first, then the bodies of loops, the inner ones first
        for depth in (2..=deepest + 1).rev() {
            let Some(cut) = cut(body, model, nest, cells, frame, depth) else { continue };
            let Some((times, edges)) = search::times(&cut, frame) else { continue };
            let is_wave = |t: &Time| matches!(t, Time::At(f, _) if f.iter().filter(|f| **f != 0).count() > 1);
            if !asked.waves && times.iter().any(is_wave) {
                return None;
            }
            let joined = asked.joined.then(|| launches::together(&cut, frame, body, &times)).flatten();
            if joined.is_some_and(|joined| write(&cut, &joined, b).is_some()) {
                return Some(true);
            }
            write(&cut, &launches::apart(&cut, body, times, &edges)?, b)?;
            return Some(false);
        }
        // then single statements in pieces, one loop of the nest numbering the rounds
        let cut = cut(body, model, nest, cells, frame, deepest + 1).filter(|_| asked.joined)?;
        for index in 0..deepest.saturating_sub(1) {
            let Some(pieces) = split::split(&cut, frame, index) else { continue };
            let factors = |u: &Unit| (0..u.loops.len()).map(|k| i128::from(k == index)).collect();
            let times: Vec<Time> = pieces.units.iter().map(|u| Time::At(factors(u), 0)).collect();
            let Some(times) = launches::together(&pieces, frame, body, &times) else { continue };
            if times.launches.len() <= MAX_LAUNCHES {
                write(&pieces, &times, b)?;
                return Some(true);
            }
        }
        None
    }
}

/// All that the new loops are made of.
struct Scheme<'s, 'm, 'b> {
    cut: &'s Cut,
    times: &'s Times,
    cells: &'s StandIns,
    frame: &'s ParamSpace<'m, 'b>,
    body: &'s Body,
    root: TermId,
}

/// The nest cut into statements within less than `depth` loops, and bodies of loops within so many.
fn cut(
    body: &Body,
    model: &Model<'_>,
    nest: &Nest,
    cells: &StandIns,
    frame: &ParamSpace<'_, '_>,
    depth: usize,
) -> Option<Cut> {
    let mut units: Vec<Unit> = Vec::new();
    let mut of: Vec<usize> = Vec::new();
    for s in &nest.statements {
        let whole = s.loops.len() >= depth;
        if !whole && cells.idle.contains(&s.term) {
            // nothing is of it
            of.push(usize::MAX);
            continue;
        }
        let loops = s.loops.get(..depth).unwrap_or(&s.loops).to_vec();
        let term = match whole {
            true => body.loop_parts(model.loops[*loops.last()?].term)?.body,
            false => s.term,
        };
        if let Some(k) = units.iter().position(|u| u.term == term) {
            of.push(k);
            continue;
        }
        let domain = match whole {
            true => {
                let domain = &model.loops[*loops.last()?].domain;
                let inside = |l: usize| loops.contains(&l);
                let vars = domain.pieces.iter().flatten().flat_map(|c| c.poly.vars());
                let known = vars.into_iter().all(|v| match model.vars.kind(v) {
                    VarKind::Iter(l) => inside(*l),
                    VarKind::Image | VarKind::Fresh => false,
                    _ => true,
                });
                if !domain.exact || !known {
                    return None;
                }
                domain
            }
            false => &s.domain,
        };
        let (mut values, mut signs, mut indices) = (Vec::new(), Vec::new(), Vec::new());
        for &l in &loops {
            let (symbol, value) = model.loops[l].index.as_ref()?;
            let step = value.coefficient(model.loops[l].var);
            signs.push(step.signum() * time(model, l)?.1);
            values.push(value.clone());
            indices.push(*symbol);
        }
        let n = loops.len();
        let part = Part { domain, loops: &loops, first: n };
        let mut rows = Vec::new();
        for (k, v) in values.iter().enumerate() {
            let row = frame.linear_row(v, &part).ok()?;
            let old = row.dims.get(k).copied().unwrap_or(0);
            rows.push(poly::Constraint::eq(row.dim(k, old - 1)));
        }
        let all = frame.set(2 * n, &[part], &[], &rows).ok()?;
        let instances = all.project_out(n..2 * n, frame.budget).ok()?.coalesce(frame.budget).ok()?;
        of.push(units.len());
        units.push(Unit { term, loops, instances, values, signs, indices });
    }
    // what an iteration has for itself stays in one
    for p in &nest.privates {
        let mut used = p.mentions.iter().chain(&p.writers).map(|&s| of[s]);
        let first = used.next()?;
        if used.any(|u| u != first) || p.loops.len() < units[first].loops.len() {
            return None;
        }
    }
    let dependences = dependences(model, nest, &units, &of, frame)?;
    Some(Cut { units, dependences })
}

/// All that may depend on each other, in the order of the program.
fn dependences(
    model: &Model<'_>,
    nest: &Nest,
    units: &[Unit],
    of: &[usize],
    frame: &ParamSpace<'_, '_>,
) -> Option<Vec<Dependence>> {
    let mut out = Vec::new();
    let mut fail = false;
    let noted = nest.conflicts(frame, &mut |c| {
        let (s, t) = (&nest.statements[c.s], &nest.statements[c.t]);
        let common = s.loops.iter().zip(&t.loops).take_while(|(a, b)| a == b).count();
        let n = s.loops.len();
        for (from, to, first) in [(c.s, c.t, [0, n]), (c.t, c.s, [n, 0])] {
            let same = of[from] == of[to];
            for level in 0..=common {
                // the order within an instance stays as it is
                if same && level >= units[of[from]].loops.len() {
                    break;
                }
                let rows = match nest.order(model, from, to, first, level) {
                    Order::Rows(rows) => rows,
                    Order::Never => continue,
                    Order::Unknown => {
                        fail = true;
                        return Ok(false);
                    }
                };
                let pairs = c.pairs.constrain(0, &rows, frame.budget)?;
                if !pairs.is_empty(frame.budget)? {
                    out.push(Dependence { from: of[from], to: of[to], pairs, first });
                }
            }
        }
        Ok(true)
    });
    (noted.is_ok() && !fail).then_some(out)
}
