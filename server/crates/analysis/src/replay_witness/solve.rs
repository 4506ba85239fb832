//! Inputs for which given facts hold: linear ones by elimination, trees by trying values that their numbers suggest.

use crate::limits::replay_witness_solve::{FEW, FIRST, MANY, MAX_COLUMNS, MAX_PAIRS, PAIR_STEPS};
use crate::solve::{fourier, Solution, System};

use super::formula::{Plain, Tree};
use super::inputs::{Given, Inputs, Kind};
use super::run::Event;
use super::values::{Fact, Id, Linear, Rel};

/// What to give to inputs; `None`: what they usually are.
pub(super) type Change = Vec<(Id, Option<Given>)>;

/// What held on the way.
pub(super) fn path(events: &[Event]) -> Vec<Fact> {
    events.iter().filter_map(|e| e.fact.clone()).collect()
}

/// Inputs for which all of this holds. `asked`: so many at the end are new; what has no input in common with them, in the
/// end, holds as it did.
pub(super) fn solve(facts: Vec<Fact>, asked: usize, inputs: &Inputs, steps: &mut u64) -> Option<Change> {
    let mut columns: Vec<Id> = Vec::new();
    let add = |f: &Fact, columns: &mut Vec<Id>| {
        for (v, _) in &f.form.terms {
            if !columns.contains(v) {
                columns.push(*v);
            }
        }
    };
    let (mut apart, mut facts) = {
        let mut facts = facts;
        let last = facts.split_off(facts.len().saturating_sub(asked));
        (facts, last)
    };
    apart.dedup();
    for f in &facts {
        add(f, &mut columns);
    }
    loop {
        let (near, rest): (Vec<Fact>, Vec<Fact>) =
            apart.into_iter().partition(|f| f.form.terms.iter().any(|(v, _)| columns.contains(v)));
        apart = rest;
        if near.is_empty() || columns.len() > MAX_COLUMNS {
            break;
        }
        for f in near {
            add(&f, &mut columns);
            if !facts.contains(&f) {
                facts.push(f);
            }
        }
    }
    *steps = steps.saturating_sub((facts.len() * columns.len()) as u64 * 4 + 50);
    if columns.len() > MAX_COLUMNS {
        return None;
    }
    let mut unequal: Vec<Linear> = Vec::new();
    let line = |f: &Linear| {
        let mut line = vec![0i128; columns.len() + 1];
        for (v, c) in &f.terms {
            if let Some(k) = columns.iter().position(|x| x == v) {
                line[k] = *c;
            }
        }
        line[columns.len()] = f.constant;
        line
    };
    let mut system = System { dims: columns.len(), ..System::default() };
    for f in &facts {
        let line = line(&f.form);
        let list = match f.rel {
            Rel::Least => &mut system.least,
            Rel::Zero => &mut system.equal,
            Rel::NotZero => {
                unequal.push(f.form.clone());
                continue;
            }
        };
        if !list.contains(&line) {
            list.push(line);
        }
    }
    for (k, v) in columns.iter().enumerate() {
        if let Some(Kind::Int { least, most, .. }) = inputs.get(*v).map(|i| i.kind) {
            let mut low = vec![0i128; columns.len() + 1];
            let mut high = low.clone();
            (low[k], high[k]) = (1, -1);
            (low[columns.len()], high[columns.len()]) = (-least, most);
            let small = 1 << 31;
            if least >= -small {
                system.least.push(low);
            }
            if most <= small {
                system.least.push(high);
            }
        }
    }
    let point = separated(&system, &unequal, &columns, 0)?;
    let mut out = Vec::new();
    for (v, x) in columns.iter().zip(point) {
        if let Some(i) = inputs.get(*v) {
            let Kind::Int { least, most, .. } = i.kind else { continue };
            if x < least || x > most {
                return None;
            }
            out.push((*v, Some(Given::Int(x))));
        }
    }
    Some(out)
}

/// A solution at which the forms are not 0 either.
fn separated(system: &System, unequal: &[Linear], columns: &[Id], depth: u32) -> Option<Vec<i128>> {
    let point = solution(system)?;
    let value = |f: &Linear| {
        f.terms.iter().fold(f.constant, |sum, (v, c)| {
            let x = columns.iter().position(|w| w == v).and_then(|k| point.get(k)).copied().unwrap_or(0);
            sum.saturating_add(c.saturating_mul(x))
        })
    };
    let Some(bad) = unequal.iter().find(|f| value(f) == 0) else { return Some(point) };
    if depth >= 4 {
        return None;
    }
    for sign in [1, -1] {
        let mut more = system.clone();
        let mut line = vec![0i128; columns.len() + 1];
        for (v, c) in &bad.terms {
            if let Some(k) = columns.iter().position(|x| x == v) {
                line[k] = sign * c;
            }
        }
        line[columns.len()] = sign * bad.constant - 1;
        more.least.push(line);
        if let Some(p) = separated(&more, unequal, columns, depth + 1) {
            return Some(p);
        }
    }
    None
}

fn solution(system: &System) -> Option<Vec<i128>> {
    match fourier(system) {
        Solution::Point(p) => Some(p),
        Solution::Empty => None,
        Solution::Unknown => {
            let row = |l: &Vec<i128>| {
                let (constant, dims) = l.split_last().map_or((0, &[][..]), |(c, d)| (*c, d));
                poly::Row { dims: dims.to_vec(), constant, ..poly::Row::default() }
            };
            let equal = system.equal.iter().map(|l| poly::Constraint::eq(row(l)));
            let rows: Vec<poly::Constraint> =
                equal.chain(system.least.iter().map(|l| poly::Constraint::ge(row(l)))).collect();
            let budget = base::Budget::new(20_000);
            let space = poly::Space { params: 0, dims: system.dims };
            let set = poly::Set::from_constraints(space, 0, &rows, &budget).ok()?;
            set.sample_point(&budget).ok()?.map(|p| p.dims)
        }
    }
}

/// What an input is.
fn plain(id: Id, inputs: &Inputs, now: &impl Fn(Id) -> Option<Given>) -> Option<Plain> {
    let input = inputs.get(id)?;
    match (input.kind, now(id)) {
        (Kind::Int { .. }, Some(Given::Int(v))) => Some(Plain::Int(v)),
        (Kind::Int { .. }, _) => Some(Plain::Int(input.usual)),
        (Kind::Real(_), Some(Given::Real(v))) => Some(Plain::Real(v)),
        (Kind::Real(_), _) => Some(Plain::Real(1.0)),
        _ => None,
    }
}

/// Whether the trees on the way come out as they did when this is changed.
pub(super) fn keeps_trees(
    change: &Change,
    before: &[Event],
    inputs: &Inputs,
    now: &impl Fn(Id) -> Option<Given>,
) -> bool {
    let given = |id: Id| match change.iter().find(|c| c.0 == id) {
        Some((_, g)) => *g,
        None => now(id),
    };
    let input = |id: Id| plain(id, inputs, &given);
    let moved = |t: &Tree| t.inputs().iter().any(|id| change.iter().any(|c| c.0 == *id));
    let trees = before.iter().filter_map(|e| e.tree.as_ref()).filter(|t| moved(&t.0));
    trees.into_iter().all(|(t, held)| t.value(&input).is_none_or(|v| v.holds() == *held))
}

/// Values for which the tree comes out as wanted and, as far as possible, what was so before the event stays so.
pub(super) fn tried(
    tree: &Tree,
    want: bool,
    before: &[Event],
    inputs: &Inputs,
    now: &impl Fn(Id) -> Option<Given>,
    steps: &mut u64,
) -> Option<Change> {
    let current = |id: Id| plain(id, inputs, now);
    let ids: Vec<Id> = tree.inputs().into_iter().filter(|id| current(*id).is_some()).take(MANY).collect();
    // What else is said of these inputs, and the numbers it is said with.
    let trees: Vec<(&Tree, bool)> = before
        .iter()
        .filter_map(|e| e.tree.as_ref().map(|(t, held)| (t, *held)))
        .filter(|(t, _)| t.inputs().iter().any(|id| ids.contains(id)))
        .collect();
    let facts: Vec<&Fact> = before
        .iter()
        .filter_map(|e| e.fact.as_ref())
        .filter(|f| f.form.terms.iter().any(|(id, _)| ids.contains(id)))
        .collect();
    let mut numbers = tree.sides(&current);
    numbers.extend(tree.numbers());
    for (t, _) in &trees {
        numbers.extend(t.numbers());
    }
    numbers.dedup();
    numbers.truncate(24);
    let palettes: Vec<Vec<Plain>> = ids
        .iter()
        .map(|&id| match inputs.get(id).map(|i| i.kind) {
            Some(Kind::Int { least, most, .. }) => whole_palette(&numbers, least, most),
            _ => real_palette(&numbers),
        })
        .collect();
    let broken = |changed: &[(Id, Plain)]| -> Option<usize> {
        let input = |id: Id| {
            let other = changed.iter().find(|c| c.0 == id).map(|c| c.1);
            other.or_else(|| current(id))
        };
        (tree.value(&input)?.holds() == want).then_some(())?;
        let trees = trees.iter().filter(|(t, held)| t.value(&input).is_none_or(|v| v.holds() != *held));
        let facts = facts.iter().filter(|f| {
            let mut sum = f.form.constant;
            for (id, c) in &f.form.terms {
                let Some(Plain::Int(v)) = input(*id) else { return false };
                sum = sum.saturating_add(c.saturating_mul(v));
            }
            match f.rel {
                Rel::Least => sum < 0,
                Rel::Zero => sum != 0,
                Rel::NotZero => sum == 0,
            }
        });
        Some(trees.count() + facts.count())
    };
    let mut best: Option<(usize, Vec<(Id, Plain)>)> = None;
    let mut offers = 0;
    let mut offer = |changed: &[(Id, Plain)]| {
        offers += 1;
        if let Some(n) = broken(changed) {
            if best.as_ref().is_none_or(|b| n < b.0) {
                best = Some((n, changed.to_vec()));
            }
        }
        matches!(best, Some((0, _)))
    };
    'all: {
        // The values that are tried first of all inputs before the others of any.
        for &(inputs, from, to) in &[(MANY, 0, FIRST), (FEW, FIRST, usize::MAX)] {
            for (&id, palette) in ids.iter().zip(&palettes).take(inputs) {
                for &v in palette.iter().take(to).skip(from) {
                    if offer(&[(id, v)]) {
                        break 'all;
                    }
                }
            }
        }
        // What one search has is not for one condition.
        let most = MAX_PAIRS.min(PAIR_STEPS / (4 + trees.len()));
        let mut pairs = 0;
        for (k, &a) in ids.iter().enumerate().take(FEW) {
            for (j, &b) in ids.iter().enumerate().take(FEW).skip(k + 1) {
                for &x in &palettes[k] {
                    for &y in &palettes[j] {
                        pairs += 1;
                        if pairs > most || offer(&[(a, x), (b, y)]) {
                            break 'all;
                        }
                    }
                }
            }
        }
    }
    *steps = steps.saturating_sub(offers * (4 + trees.len() as u64));
    let (_, changed) = best?;
    let given = |v: Plain| match v {
        Plain::Int(n) => Given::Int(n),
        Plain::Real(r) => Given::Real(r),
    };
    Some(changed.into_iter().map(|(id, v)| (id, Some(given(v)))).collect())
}

fn real_palette(numbers: &[f64]) -> Vec<Plain> {
    let mut out: Vec<f64> = vec![1.0, 0.0, 2.0];
    // The sides of the comparison come first.
    out.extend(numbers.iter().take(2).flat_map(|&c| [c, c + 1.0, c - 1.0]));
    out.extend([3.0, -1.0, 0.5, -0.5, 10.0, 1.5, 5.0]);
    for &c in numbers {
        out.extend([c, c + 1.0, c - 1.0, c * 2.0, c / 2.0, -c, c + 0.5, c * 10.0]);
    }
    out.extend([30.0, 100.0, 1e3, 1e4, 1e-3, 1e-6, 1e-10, 1e6, 1e10, -10.0, -100.0, -1e4]);
    out.extend([1e-20, 1e20, -1e10, 1e100, 1e-100, f64::INFINITY, f64::NAN]);
    out.into_iter().map(Plain::Real).collect()
}

fn whole_palette(numbers: &[f64], least: i128, most: i128) -> Vec<Plain> {
    let mut out: Vec<i128> = vec![1, 2, 0];
    let near = numbers.iter().take(2).filter(|c| c.abs() < 1e18).map(|c| c.trunc() as i128);
    out.extend(near.flat_map(|c| [c, c + 1, c - 1]));
    out.extend([3, 4, 5, 8, -1]);
    for &c in numbers.iter().filter(|c| c.abs() < 1e18) {
        let c = c.trunc() as i128;
        out.extend([c, c + 1, c - 1, 2 * c, c / 2, -c]);
    }
    out.extend([6, 7, 9, 10, 12, 16, 20, 32, 64, 100, 128, 255, 256, 1000, -2, -3, -8, -100]);
    out.retain(|v| (least..=most).contains(v));
    out.into_iter().map(Plain::Int).collect()
}
