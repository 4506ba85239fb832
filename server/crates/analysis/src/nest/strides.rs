//! Which products of parameters are the rows of a flattened array, and where a column lies whose sum is not linear.

use crate::algebra::poly::{divide, Poly, Var};
use crate::limits::nest_flatten::MAX_ROWS_BACK;
use crate::nest::builder::Builder;

/// How a flattened array gets its dimensions back.
#[derive(Default)]
pub(super) struct Strides {
    /// Products of parameters that multiply a counter, longest first, each dividing the one before; each with how many of it are a row.
    pub chain: Vec<(Vec<Var>, i128)>,
    /// What else multiplies a counter and divides the column, into which it need not go evenly: the `c / heads` of
    /// `h * (c / heads) + i` in rows of `c`. Longest first, each dividing the one before.
    pub fine: Vec<Vec<Var>>,
}

impl Strides {
    /// The length of dimension `k` (from 1): a product of parameters, so many times.
    pub(super) fn length(&self, k: usize) -> (Vec<Var>, i128) {
        let (longer, by) = &self.chain[k - 1];
        match self.chain.get(k) {
            Some((s, each)) => (divide(longer, s).unwrap_or_default(), by / each),
            None => (longer.clone(), *by),
        }
    }

    /// The length of dimension `k` (from 1) of a column.
    pub(super) fn fine_length(&self, k: usize) -> Vec<Var> {
        let longer = &self.fine[k - 1];
        self.fine.get(k).and_then(|s| divide(longer, s)).unwrap_or_else(|| longer.clone())
    }
}

/// Where a column lies, in parameters.
pub(super) struct Ends {
    pub least: Poly,
    pub most: Poly,
    pub never_negative: Vec<Poly>,
}

impl Builder<'_> {
    /// See [`Strides`].
    pub(super) fn strides(&self, members: &[usize], values: &[Option<Poly>]) -> Strides {
        // each with whether a counter that goes on by one fills it, which makes it the finest, and how far out the counter stands
        // that it multiplies
        let mut found: Vec<(Vec<Var>, (bool, usize))> = Vec::new();
        for (&i, p) in members.iter().zip(values) {
            for (m, _) in p.iter().flat_map(Poly::terms) {
                let (params, rest): (Vec<Var>, Vec<Var>) = m.iter().copied().partition(|&v| self.is_param(v));
                let of = |l: &usize| rest.contains(&self.loops[*l].var);
                let depth = self.accesses[i].loops.iter().position(of).unwrap_or(usize::MAX);
                if params.is_empty() || rest.is_empty() {
                    continue;
                }
                let fills = |l: &usize| {
                    let (of, by_one) =
                        (&self.loops[*l], p.as_ref().map(|p| p.coefficient(self.loops[*l].var)));
                    let whole = Poly::from_terms([(params.clone(), 1)]);
                    by_one == Some(1) && of.trips.is_some() && of.trips == whole
                };
                // tiles are parts of rows
                let is_fine = self.accesses[i].loops.iter().any(fills) || self.is_step_of(&params, &rest);
                match found.iter_mut().find(|f| f.0 == params) {
                    Some((_, known)) => *known = (known.0 || is_fine, known.1.min(depth)),
                    None => found.push((params, (is_fine, depth))),
                }
            }
        }
        if found.is_empty() {
            found.extend(common_factor(values).map(|v| (vec![v], (false, 0))));
        }
        found.sort_by_key(|(s, fineness)| (std::cmp::Reverse(s.len()), *fineness));
        let (mut chain, mut rest): (Vec<Vec<Var>>, Vec<Vec<Var>>) = Default::default();
        for (s, _) in found {
            let fits = |last: &Vec<Var>| divide(last, &s).is_some_and(|q| !q.is_empty());
            match chain.last().is_none_or(fits) {
                true => chain.push(s),
                false => rest.push(s),
            }
        }
        // what is no multiple of the last one stands in the column
        let is_column = |s: &Vec<Var>| chain.iter().all(|c| divide(s, c).is_none());
        let is_chain = rest.windows(2).all(|w| divide(&w[0], &w[1]).is_some_and(|q| !q.is_empty()));
        if chain.len() > 3 || rest.len() > 2 || !is_chain || !rest.iter().all(is_column) {
            return Strides::default();
        }
        let by = self.multiples(values, &chain, !rest.is_empty());
        Strides { chain: chain.into_iter().zip(by).collect(), fine: rest }
    }

    /// Of each stride how many of it every counter goes on by: 3 of `t * c` in `b * t * (3 * c)`, if rows of `c` stand in it; 2 of `s`
    /// in `2 * i * s + 1`. The last is taken as it is where columns have parts of their own (`has_parts`).
    fn multiples(&self, values: &[Option<Poly>], chain: &[Vec<Var>], has_parts: bool) -> Vec<i128> {
        let mut by = vec![0i128; chain.len()];
        for (m, c) in values.iter().flatten().flat_map(Poly::terms) {
            let counts = m.iter().any(|&v| !self.is_param(v));
            // rows in the last rows are told apart where anything names one
            let names = |k: usize| counts || k + 1 == chain.len();
            let mut strides = chain.iter().enumerate();
            if let Some((k, _)) = strides.find(|(k, s)| names(*k) && divide(m, s).is_some()) {
                by[k] = base::gcd(by[k], c);
            }
        }
        if has_parts {
            by.iter_mut().skip(chain.len().saturating_sub(1)).for_each(|n| *n = 1);
        }
        for k in 1..by.len() {
            by[k] = base::gcd(by[k], by[k - 1]);
        }
        by.iter_mut().for_each(|n| *n = (*n).max(1));
        for k in (0..by.len().saturating_sub(1)).rev() {
            by[k] = if by[k] % by[k + 1] == 0 { by[k].max(1) } else { by[k + 1] };
        }
        by
    }

    /// What is counted down from a row's end, or from behind it, lies in that row and not before the next one: takes rows from a
    /// subscript, and adds their lengths to the one behind it, where that one is surely not negative then.
    pub(super) fn keep_in_rows(
        &mut self,
        parts: &mut [Poly],
        access: usize,
        length: &dyn Fn(usize) -> (Vec<Var>, i128),
        back: &dyn Fn(&Poly) -> Option<Poly>,
    ) {
        let known = self.prover();
        let is_inside = |m: &mut Self, part: &Poly| {
            let part = back(part).and_then(|p| m.linear(&p));
            part.is_some_and(|p| known.non_negative(&p, &m.accesses[access].domain, &m.budget))
        };
        for k in (1..parts.len()).rev() {
            let (length, each) = length(k);
            // counted down from a number that is no constant, one row may be in it
            let is_open = parts[k - 1].vars().any(|v| self.is_param(v));
            let rows = parts[k - 1].constant_part().max(i128::from(is_open));
            // what was counted up past a row's end lies in the next one
            let past = Poly::from_terms([(length.clone(), -each)]).and_then(|l| parts[k].add(&l));
            let past = past.filter(|p| parts[k - 1].constant_part() < 0 && is_inside(self, p));
            if let (Some(column), Some(row)) = (past, parts[k - 1].add_constant(1)) {
                (parts[k], parts[k - 1]) = (column, row);
                continue;
            }
            if rows <= 0 || is_inside(self, &parts[k]) {
                continue;
            }
            // `j * n + n - 2` is meant to be near the end of row `j`, not before the next one's begin
            let is_before = |p: &Poly| {
                let p = back(p).unwrap_or_default();
                let falls = p.terms().any(|(m, c)| c < 0 && !m.is_empty());
                falls || p.as_constant().is_some_and(|c| c < 0)
            };
            let mut likely = None;
            let mut found = None;
            for by in 1..=rows.min(MAX_ROWS_BACK) {
                let moved = Poly::from_terms([(length.clone(), by * each)]).and_then(|l| parts[k].add(&l));
                let row = parts[k - 1].add_constant(-by);
                let (Some(moved), Some(row)) = (moved, row) else { break };
                if is_inside(self, &moved) {
                    found = Some((moved, row));
                    break;
                }
                if likely.is_none() && is_before(&parts[k]) && !is_before(&moved) {
                    likely = Some((moved, row));
                }
            }
            if let Some((column, row)) = found.or(likely) {
                (parts[k], parts[k - 1]) = (column, row);
            }
        }
    }

    /// The ends of a column that is no linear sum.
    pub(super) fn ends(&self, part: &Poly, access: usize) -> Option<Ends> {
        let (least, mut never_negative) = self.end(part, access, false)?;
        let (most, others) = self.end(part, access, true)?;
        never_negative.extend(others.into_iter().filter(|o| !never_negative.contains(o)).collect::<Vec<_>>());
        Some(Ends { least, most, never_negative })
    }

    /// The least or the largest value of a column, in parameters, with what must not be negative for it to be that: the counters
    /// of the loops around go up to their last values, from the innermost one on.
    pub(super) fn end(&self, part: &Poly, access: usize, is_most: bool) -> Option<(Poly, Vec<Poly>)> {
        let mut end = part.clone();
        let mut never_negative: Vec<Poly> = Vec::new();
        for &l in self.accesses[access].loops.iter().rev() {
            let v = self.loops[l].var;
            let factor = Poly::from_terms(
                end.terms()
                    .filter(|(m, _)| m.contains(&v))
                    .map(|(m, c)| Some((divide(m, &[v])?, c)))
                    .collect::<Option<Vec<_>>>()?,
            )?;
            if factor == Poly::default() {
                continue;
            }
            // the counter less its first value is the number of the iteration
            let of = &self.loops[l];
            let first = Poly::var(v).sub(of.iteration.as_ref()?)?;
            if first.vars().any(|x| x == v) {
                return None;
            }
            let up = match factor.as_constant() {
                Some(c) => c > 0,
                None if factor.vars().all(|x| self.is_param(x)) => {
                    let falls = factor.terms().all(|(_, c)| c < 0);
                    let size = if falls { factor.scale(-1)? } else { factor.clone() };
                    if !never_negative.contains(&size) {
                        never_negative.push(size);
                    }
                    !falls
                }
                None => return None,
            };
            let without = end.sub(&factor.mul(&Poly::var(v))?)?;
            let at = match up == is_most {
                true => first.add(of.trips.as_ref()?)?.add_constant(-1)?,
                false => first,
            };
            end = without.add(&factor.mul(&at)?)?;
        }
        let is_fixed = end.vars().all(|v| self.is_param(v));
        is_fixed.then_some((end, never_negative))
    }
}

/// Where rows are fixed (`a[i*n + j]` in the loop over j): the factor that different products share.
fn common_factor(values: &[Option<Poly>]) -> Option<Var> {
    // in one row all of them, whatever row that is, the columns alone tell cells apart
    let row = |p: &Poly| {
        let mut row: Vec<(Vec<Var>, i128)> =
            p.terms().filter(|(m, _)| m.len() >= 2).map(|(m, c)| (m.to_vec(), c)).collect();
        row.sort_unstable();
        row
    };
    let mut rows = values.iter().flatten().map(row);
    let first = rows.next()?;
    if rows.all(|r| r == first) {
        return None;
    }
    let mut products: Vec<Vec<Var>> = Vec::new();
    for (m, _) in values.iter().flatten().flat_map(|p| p.terms()) {
        if m.len() >= 2 && !products.iter().any(|p| p == m) {
            products.push(m.to_vec());
        }
    }
    let (first, rest) = products.split_first()?;
    if rest.is_empty() {
        // the `n` of `(m - 2) * n + i` and `n + i`, which are rows of `n`
        let alone = |v: &Var| values.iter().flatten().any(|p| p.coefficient(*v) != 0);
        let mut of = first.iter().copied().filter(alone);
        return of.next().filter(|_| of.next().is_none());
    }
    first.iter().copied().find(|v| rest.iter().all(|p| p.contains(v)))
}

/// How often each of the strides is in a sum, and what is left over.
pub(super) fn divided<'s>(
    p: &Poly,
    strides: impl Iterator<Item = (&'s [Var], i128)>,
) -> Option<(Vec<Poly>, Poly)> {
    let mut rest: Vec<(Vec<Var>, i128)> = p.terms().map(|(m, c)| (m.to_vec(), c)).collect();
    let mut parts = Vec::new();
    for (s, by) in strides {
        let (mut mine, mut other) = (Vec::new(), Vec::new());
        for (m, c) in rest {
            match divide(&m, s) {
                Some(q) => {
                    mine.push((q, c.div_euclid(by)));
                    other.push((m, c.rem_euclid(by)));
                }
                None => other.push((m, c)),
            }
        }
        parts.push(Poly::from_terms(mine)?);
        rest = other;
    }
    Some((parts, Poly::from_terms(rest)?))
}
