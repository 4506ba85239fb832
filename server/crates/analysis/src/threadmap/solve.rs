//! The maps themselves: equations from conflicts, the rows that separate most instances, ids that start at 0.
//!
//! After Lim & Lam (POPL 1997) and the text behind F4: a map of a statement is an affine form in its counters, the
//! parameters and 1, with unknown coefficients. Two statements whose instances conflict on a set P need forms with
//! `map_s(x) - map_t(y) = 0` on all of P, that is on its affine hull; reduced by the hull's equations, every remaining
//! coefficient must be zero, which is linear in the unknowns. (That is Farkas' lemma for equalities: the multipliers of
//! the hull's equations are free, and elimination removes them.)

use poly::{Constraint, Row, Set, Space};

use super::algebra::{null_space, primitive, rank, reduce, Frac, Matrix};
use super::sets::{equations, ParamSpace};
use super::statements::Nest;
use crate::limits::threadmap_solve::{FAR, MAX_DIMENSION};
use poly::{Error, Result};

/// Where the unknown coefficients of each statement stand: counters, parameters, the constant.
pub(super) struct Layout {
    start: Vec<usize>,
    depth: Vec<usize>,
    params: usize,
    total: usize,
}

impl Layout {
    fn new(nest: &Nest, params: usize) -> Layout {
        let mut l = Layout { start: Vec::new(), depth: Vec::new(), params, total: 0 };
        for s in &nest.statements {
            l.start.push(l.total);
            l.depth.push(s.loops.len());
            l.total += s.loops.len() + params + 1;
        }
        l
    }
    fn counters(&self, s: usize) -> std::ops::Range<usize> {
        self.start[s]..self.start[s] + self.depth[s]
    }
    fn param(&self, s: usize, p: usize) -> usize {
        self.start[s] + self.depth[s] + p
    }
    fn constant(&self, s: usize) -> usize {
        self.param(s, self.params)
    }
}

/// One coordinate of one statement's map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    /// Per counter of the statement.
    pub counters: Vec<i128>,
    /// Per parameter of the frame.
    pub params: Vec<i128>,
    pub constant: i128,
}

impl Form {
    pub(super) fn row(&self) -> Row {
        Row {
            params: self.params.clone(),
            dims: self.counters.clone(),
            exists: Vec::new(),
            constant: self.constant,
        }
    }
    fn moved(&self, by: &Bound, sign: i128) -> Option<Form> {
        let mut out = self.clone();
        for (x, d) in out.params.iter_mut().zip(&by.params) {
            *x = x.checked_add(d.checked_mul(sign)?)?;
        }
        out.constant = out.constant.checked_add(by.constant.checked_mul(sign)?)?;
        Some(out)
    }
}

/// A value in parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bound {
    pub params: Vec<i128>,
    pub constant: i128,
}

impl Bound {
    /// Sooner taken when smaller: fewer parameters, smaller numbers.
    fn weight(&self) -> (i128, i128, bool) {
        let size = self.params.iter().fold(0i128, |n, p| n.saturating_add(p.saturating_abs()));
        (size, self.constant.saturating_abs(), self.constant < 0)
    }
}

/// The maps of all statements: per coordinate of the thread space one form a statement.
pub(super) struct Maps {
    pub coordinates: Vec<Vec<Form>>,
    /// Per coordinate the greatest ids, of each group of statements; the coordinate runs to the greatest of them.
    pub last: Vec<Vec<Last>>,
}

/// The greatest id of some statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Last {
    At(Bound),
    /// As the quotients and cases of this statement have it.
    Of(usize),
}

/// Finds the maps; `None` where all instances have to stay in one thread.
pub(super) fn maps(
    nest: &Nest,
    frame: &ParamSpace<'_, '_>,
    domains: &[Set],
) -> std::result::Result<Option<Maps>, Option<Error>> {
    let layout = Layout::new(nest, frame.params.len());
    let n = nest.statements.len();
    let mut system: Matrix = Vec::new();
    let mut groups: Vec<usize> = (0..n).collect();
    let overflow = || Some(Error::Overflow("coefficients of thread maps"));
    let mut hulls: Vec<Matrix> = Vec::new();
    for (s, d) in domains.iter().enumerate() {
        hulls.push(hull(&layout, frame, s, d, &mut system).map_err(Some)?);
    }
    let mut tried = 0;
    nest.conflicts(frame, &mut |c| {
        if c.pairs.is_empty(frame.budget)? {
            return Ok(true);
        }
        let (a, b) = (groups[c.s], groups[c.t]);
        groups.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
        let rows = equations(&c.pairs, frame.budget)?;
        require(&layout, c.s, c.t, &rows, &mut system).ok_or(Error::Overflow("a system of conflicts"))?;
        // Most nests that are sequential are so after a few conflicts: then no more are looked for.
        tried += 1;
        if tried % 4 == 1 {
            reduce(&mut system, &(0..layout.total).collect::<Vec<_>>())
                .ok_or(Error::Overflow("a system of conflicts"))?;
            return Ok(!one_thread(&layout, &system, &hulls).ok_or(Error::Overflow("a system of conflicts"))?);
        }
        Ok(true)
    })?;
    let basis = null_space(system, layout.total).ok_or_else(overflow)?;
    let Some(rows) = choose(&layout, basis, &hulls).ok_or_else(overflow)? else { return Ok(None) };
    let mut out = Maps { coordinates: Vec::new(), last: Vec::new() };
    for row in &rows {
        let forms: Vec<Form> = (0..n).map(|s| form(&layout, s, row)).collect();
        let (forms, last) = place(forms, &groups, frame, domains).map_err(Some)?;
        out.coordinates.push(forms);
        out.last.push(last);
    }
    Ok(Some(out))
}

/// Whether no statement is free to move any more.
fn one_thread(layout: &Layout, system: &Matrix, hulls: &[Matrix]) -> Option<bool> {
    let basis = null_space(system.clone(), layout.total)?;
    for (s, hull) in hulls.iter().enumerate() {
        if moves(layout, s, &basis, hull)? > 0 {
            return Some(false);
        }
    }
    Some(true)
}

fn form(layout: &Layout, s: usize, row: &[i128]) -> Form {
    Form {
        counters: row[layout.counters(s)].to_vec(),
        params: (0..layout.params).map(|p| row[layout.param(s, p)]).collect(),
        constant: row[layout.constant(s)],
    }
}

/// Directions in which a statement does not move (`if (i == 0)`), as rows over its counters. A counter that such an
/// equation gives is not needed in the map: its coefficient is set to zero.
fn hull(
    layout: &Layout,
    frame: &ParamSpace<'_, '_>,
    s: usize,
    domain: &Set,
    system: &mut Matrix,
) -> Result<Matrix> {
    let depth = layout.depth[s];
    let np = layout.params;
    let zero = |k: usize, system: &mut Matrix| {
        let mut row = vec![Frac::ZERO; layout.total];
        row[layout.counters(s).start + k] = Frac::ONE;
        system.push(row);
    };
    if domain.is_empty(frame.budget)? {
        (0..depth).for_each(|k| zero(k, system));
        let identity = |k: usize| (0..depth).map(|j| Frac::int(i128::from(j == k))).collect();
        return Ok((0..depth).map(identity).collect());
    }
    // Columns: parameters, counters, constant. Innermost counters are solved for first.
    let mut rows: Matrix = equations(domain, frame.budget)?
        .into_iter()
        .map(|r| r.into_iter().map(Frac::int).collect())
        .collect();
    let order: Vec<usize> = (0..depth).rev().map(|k| np + k).collect();
    let mut full = rows.clone();
    let pivots = reduce(&mut full, &order).ok_or(Error::Overflow("a domain's equations"))?;
    for (row, p) in full.iter().zip(&pivots) {
        if row.iter().all(|x| x.den == 1) {
            zero(p - np, system);
        }
    }
    rows.iter_mut().for_each(|r| {
        *r = r[np..np + depth].to_vec();
    });
    Ok(rows)
}

/// Adds what `map_s(x) = map_t(y)` on the hull asks of the unknowns.
fn require(layout: &Layout, s: usize, t: usize, hull: &[Vec<i128>], system: &mut Matrix) -> Option<()> {
    let (np, ds, dt) = (layout.params, layout.depth[s], layout.depth[t]);
    let columns = np + ds + dt + 1;
    let mut e: Matrix = hull.iter().map(|r| r.iter().map(|&x| Frac::int(x)).collect()).collect();
    // Counters are solved for before parameters; a constant can be no pivot, the set not being empty.
    let order: Vec<usize> = (np..np + ds + dt).rev().chain(0..np).collect();
    let pivots = reduce(&mut e, &order)?;
    // The form's coefficient of each column, as a combination of unknowns.
    let unknown = |c: usize| -> Vec<(usize, i128)> {
        if c < np {
            vec![(layout.param(s, c), 1), (layout.param(t, c), -1)]
        } else if c < np + ds {
            vec![(layout.counters(s).start + c - np, 1)]
        } else if c < np + ds + dt {
            vec![(layout.counters(t).start + c - np - ds, -1)]
        } else {
            vec![(layout.constant(s), 1), (layout.constant(t), -1)]
        }
    };
    for c in (0..columns).filter(|c| !pivots.contains(c)) {
        let mut row = vec![Frac::ZERO; layout.total];
        for (u, k) in unknown(c) {
            row[u] = row[u].add(Frac::int(k))?;
        }
        for (r, &p) in e.iter().zip(&pivots) {
            for (u, k) in unknown(p) {
                row[u] = row[u].sub(r[c].mul(Frac::int(k))?)?;
            }
        }
        if row.iter().any(|x| !x.is_zero()) {
            system.push(row);
        }
    }
    Some(())
}

/// Rank of a statement's part of some rows, not counting directions in which it does not move.
fn moves(layout: &Layout, s: usize, rows: &[Vec<Frac>], hull: &Matrix) -> Option<usize> {
    let mut m: Matrix = rows.iter().map(|r| r[layout.counters(s)].to_vec()).collect();
    m.extend(hull.iter().cloned());
    rank(m)?.checked_sub(rank(hull.clone())?)
}

/// The rows of the thread space: as many as the statement with most freedom needs, at most three, each with small
/// whole coefficients. Outer `None`: overflow; inner: nothing but one thread.
#[allow(clippy::option_option)]
fn choose(layout: &Layout, mut basis: Matrix, hulls: &[Matrix]) -> Option<Option<Vec<Vec<i128>>>> {
    let n = layout.start.len();
    let mut freedom: Vec<(usize, usize)> = Vec::new();
    for (s, hull) in hulls.iter().enumerate() {
        freedom.push((moves(layout, s, &basis, hull)?, s));
    }
    let dimension = freedom.iter().map(|f| f.0).max().unwrap_or(0).min(MAX_DIMENSION);
    if dimension == 0 {
        return Some(None);
    }
    // Echelon form, the freest statement's outermost counter first: coefficients come out small, its leading ones 1.
    let mut by_freedom: Vec<usize> = (0..n).collect();
    by_freedom.sort_by_key(|&s| (std::cmp::Reverse(freedom[s].0), s));
    let counters: Vec<usize> = by_freedom.iter().flat_map(|&s| layout.counters(s)).collect();
    let offsets = (0..layout.total).filter(|c| !counters.contains(c));
    let order: Vec<usize> = counters.iter().copied().chain(offsets).collect();
    let pivots = reduce(&mut basis, &order)?;
    let mut slots: Vec<Vec<Frac>> = vec![vec![Frac::ZERO; layout.total]; dimension];
    for (row, p) in basis.iter().zip(&pivots) {
        if !counters.contains(p) {
            continue;
        }
        let whole = primitive(row)?;
        let mut before = Vec::new();
        for (s, hull) in hulls.iter().enumerate() {
            before.push(moves(layout, s, &slots, hull)?);
        }
        for k in 0..dimension {
            let mut tried = slots.clone();
            for (x, r) in tried[k].iter_mut().zip(&whole) {
                *x = x.add(Frac::int(*r))?;
            }
            let mut better = false;
            let mut worse = false;
            for ((s, hull), before) in hulls.iter().enumerate().zip(&before) {
                let now = moves(layout, s, &tried, hull)?;
                better |= now > *before;
                worse |= now < *before;
            }
            if better && !worse {
                slots = tried;
                break;
            }
        }
    }
    let whole: Vec<Vec<i128>> = slots.iter().map(|r| primitive(r)).collect::<Option<_>>()?;
    Some(Some(whole))
}

/// Moves the ids of each group of statements so that they begin at 0, and tells where they end.
fn place(
    mut forms: Vec<Form>,
    groups: &[usize],
    frame: &ParamSpace<'_, '_>,
    domains: &[Set],
) -> Result<(Vec<Form>, Vec<Last>)> {
    let mut last: Vec<Last> = Vec::new();
    let mut seen: Vec<usize> = Vec::new();
    for &g in groups {
        if seen.contains(&g) {
            continue;
        }
        seen.push(g);
        let mut members: Vec<usize> = Vec::new();
        for s in (0..groups.len()).filter(|&s| groups[s] == g) {
            if !domains[s].is_empty(frame.budget)? {
                members.push(s);
            }
        }
        if members.is_empty() {
            continue;
        }
        let all: Vec<(&Form, &Set)> = members.iter().map(|&s| (&forms[s], &domains[s])).collect();
        let first = match extreme(&all, frame, false)? {
            Some(b) => b,
            // No single value is least: a form that is below all of them everywhere (Farkas).
            None => below(&all, frame)?,
        };
        for (_, f) in forms.iter_mut().enumerate().filter(|(s, _)| groups[*s] == g) {
            *f = f.moved(&first, -1).ok_or(Error::Overflow("an id"))?;
        }
        let all: Vec<(&Form, &Set)> = members.iter().map(|&s| (&forms[s], &domains[s])).collect();
        match extreme(&all, frame, true)? {
            Some(b) => {
                if !last.contains(&Last::At(b.clone())) {
                    last.push(Last::At(b));
                }
            }
            None => last.extend(members.iter().map(|&s| Last::Of(s))),
        }
    }
    last.sort_by_key(|l| match l {
        Last::At(b) => (0, std::cmp::Reverse(b.weight())),
        Last::Of(s) => (1 + *s, std::cmp::Reverse((0, 0, false))),
    });
    Ok((forms, last))
}

/// The one value in parameters that is least (or greatest) of all forms over their sets wherever one of the sets has
/// a point, and that some point attains; `None` where there is not one such value.
fn extreme(all: &[(&Form, &Set)], frame: &ParamSpace<'_, '_>, greatest: bool) -> Result<Option<Bound>> {
    let mut candidates: Vec<Bound> = Vec::new();
    for (f, d) in all {
        let row = f.row();
        let best = if greatest { d.max_of(&row, frame.budget)? } else { d.min_of(&row, frame.budget)? };
        let Some(best) = best else { return Ok(None) };
        for piece in best.pieces(frame.budget)? {
            let v = piece.value;
            if v.denominator != 1 || v.row.exists.iter().any(|&x| x != 0) {
                continue;
            }
            let mut params = v.row.params.clone();
            params.resize(frame.params.len(), 0);
            let b = Bound { params, constant: v.row.constant };
            if !candidates.contains(&b) {
                candidates.push(b);
            }
        }
    }
    candidates.sort_by_key(Bound::weight);
    for c in candidates {
        if bounds(&c, all, frame, greatest)? {
            return Ok(Some(c));
        }
    }
    Ok(None)
}

/// Whether no form passes the bound anywhere.
fn bounds(b: &Bound, all: &[(&Form, &Set)], frame: &ParamSpace<'_, '_>, above: bool) -> Result<bool> {
    for (f, d) in all {
        let over = f.moved(b, -1).ok_or(Error::Overflow("a bound"))?;
        let row = if above {
            over.row()
        } else {
            over.row().checked_scale(-1).ok_or(Error::Overflow("a bound"))?
        };
        let beyond = Row { constant: row.constant - 1, ..row };
        if !d.constrain(0, &[Constraint::ge(beyond)], frame.budget)?.is_empty(frame.budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The least form in parameters, by the sum of its coefficients, that no form goes below: the affine Farkas lemma gives
/// all of them, the integer lexicographic minimum the one (F4.4, steps 2 and 5). An error where that is none whose
/// constant stands in the program.
fn below(all: &[(&Form, &Set)], frame: &ParamSpace<'_, '_>) -> Result<Bound> {
    let np = frame.params.len();
    // Dimensions: the sum of absolute values, the absolute values, the coefficients, the constant of `shift`, where
    // `form + shift >= 0` everywhere.
    let dims = 1 + np + np + 1;
    let (abs, coefficient, constant) = (1, 1 + np, 1 + 2 * np);
    let mut rows = Vec::new();
    let mut sum = Row::constant(0).dim(0, 1);
    for p in 0..np {
        sum = sum.dim(abs + p, -1);
        rows.push(Constraint::ge(Row::constant(0).dim(abs + p, 1).dim(coefficient + p, 1)));
        rows.push(Constraint::ge(Row::constant(0).dim(abs + p, 1).dim(coefficient + p, -1)));
    }
    rows.push(Constraint::eq(sum));
    rows.push(Constraint::ge(Row::constant(FAR).dim(constant, 1)));
    rows.push(Constraint::ge(Row::constant(FAR).dim(constant, -1)));
    for (f, d) in all {
        let forms = d.without_divs(frame.budget)?.coefficients(frame.budget)?;
        let parts = forms.disjuncts(frame.budget)?;
        let [part] = parts.as_slice() else { return Err(Error::Unsupported("forms in parts")) };
        for c in &part.constraints {
            // Columns of the coefficient vectors: constant, parameters, counters.
            let at = |k: usize| c.row.dims.get(k).copied().unwrap_or(0);
            if c.row.exists.iter().any(|&x| x != 0) {
                return Err(Error::Unsupported("forms with divisions"));
            }
            let overflow = || Error::Overflow("a form");
            let mut known = c.row.constant;
            let mut add = |x: i128, y: i128| -> Result<()> {
                known = x.checked_mul(y).and_then(|v| known.checked_add(v)).ok_or_else(overflow)?;
                Ok(())
            };
            add(at(0), f.constant)?;
            for p in 0..np {
                add(at(1 + p), f.params[p])?;
            }
            for (k, x) in f.counters.iter().enumerate() {
                add(at(1 + np + k), *x)?;
            }
            let mut row = Row::constant(known).dim(constant, at(0));
            for p in 0..np {
                row = row.dim(coefficient + p, at(1 + p));
            }
            rows.push(Constraint { kind: c.kind, row });
        }
    }
    let set = Set::from_constraints(Space { params: 0, dims }, 0, &rows, frame.budget)?;
    let point = set.lexmin_point(frame.budget)?.ok_or(Error::Unbounded)?;
    let value = |k: usize| point.dims.get(k).copied().unwrap_or(0);
    // The shift's negative is the bound from below.
    Ok(Bound { params: (0..np).map(|p| -value(coefficient + p)).collect(), constant: -value(constant) })
}
