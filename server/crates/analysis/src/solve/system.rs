//! One conjunction of integer constraints over columns, as the cheap tests read it.
//!
//! Columns are the parameters, then the counters around the source, then those around the sink, then existential
//! variables. Whatever the sense of a column, every column is an integer: a system without integer solution is a proof
//! that the two accesses never meet.

use super::fourier;
pub(crate) use crate::limits::solve_system::LIMIT;

/// Coefficients by column; the last entry is the constant.
pub(crate) type Line = Vec<i128>;

/// See the module's text.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct System {
    pub params: usize,
    pub dims: usize,
    pub exists: usize,
    /// Counters of loops around both: column at the source and at the sink. The first is the root.
    pub pairs: Vec<(usize, usize)>,
    /// Whether the root's counter is smaller at the source than at the sink.
    pub carried: bool,
    /// Each is 0.
    pub equal: Vec<Line>,
    /// Each is at least 0.
    pub least: Vec<Line>,
}

/// Values a column can have by the constraints on it alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Range {
    pub low: Option<i128>,
    pub high: Option<i128>,
}

impl System {
    /// Coefficients and constants in it.
    pub(super) fn numbers(&self) -> usize {
        (self.equal.len() + self.least.len()) * (self.params + self.dims + self.exists + 1)
    }

    /// From rows as isl takes them; `None` where numbers are too large for the tests.
    pub(crate) fn new(
        space: poly::Space,
        exists: usize,
        pairs: Vec<(usize, usize)>,
        carried: bool,
        constraints: &[poly::Constraint],
    ) -> Option<System> {
        let mut s = System {
            params: space.params,
            dims: space.dims,
            exists,
            carried,
            pairs: pairs.iter().map(|(a, b)| (a + space.params, b + space.params)).collect(),
            ..System::default()
        };
        for c in constraints {
            s.add(c)?;
        }
        Some(s)
    }

    /// With one more constraint.
    pub(crate) fn add(&mut self, c: &poly::Constraint) -> Option<()> {
        let mut line = vec![0; self.columns() + 1];
        let places =
            [(&c.row.params, 0), (&c.row.dims, self.params), (&c.row.exists, self.params + self.dims)];
        for (values, from) in places {
            for (k, v) in values.iter().enumerate() {
                *line.get_mut(from + k).filter(|_| -LIMIT < *v && *v < LIMIT)? = *v;
            }
        }
        *line.last_mut().filter(|_| -LIMIT < c.row.constant && c.row.constant < LIMIT)? = c.row.constant;
        match c.kind {
            poly::Kind::Eq => self.equal.push(line),
            poly::Kind::Ge => self.least.push(line),
        }
        Some(())
    }

    /// The carrying loop's counters, the one at the source the smaller.
    pub(crate) fn root(&self) -> Option<(usize, usize)> {
        self.pairs.first().copied().filter(|_| self.carried)
    }

    /// How many columns there are.
    pub(crate) fn columns(&self) -> usize {
        self.params + self.dims + self.exists
    }

    /// What the constraints on one column alone say of it.
    pub(crate) fn range(&self, column: usize) -> Range {
        let mut r = Range::default();
        let mut at_least = |l: i128| r.low = Some(r.low.map_or(l, |x| x.max(l)));
        for line in self.least.iter().filter(|l| only(l) == Some(column)) {
            let (a, c) = (line[column], line[line.len() - 1]);
            if a > 0 {
                // a·x + c >= 0
                at_least(-floor(c, a));
            }
        }
        for line in self.least.iter().filter(|l| only(l) == Some(column)) {
            let (a, c) = (line[column], line[line.len() - 1]);
            if a < 0 {
                let h = floor(c, -a);
                r.high = Some(r.high.map_or(h, |x| x.min(h)));
            }
        }
        r
    }

    /// Whether all constraints hold at a point.
    pub(crate) fn holds(&self, point: &[i128]) -> bool {
        let zero = |l: &Line| fourier::value(l, point) == Some(0);
        let not_negative = |l: &Line| fourier::value(l, point).is_some_and(|v| v >= 0);
        self.equal.iter().all(zero) && self.least.iter().all(not_negative)
    }
}

/// The columns a line uses.
pub(crate) fn used(line: &Line) -> impl Iterator<Item = usize> + '_ {
    (0..line.len() - 1).filter(|&k| line[k] != 0)
}

/// The one column a line uses.
pub(crate) fn only(line: &Line) -> Option<usize> {
    let mut columns = used(line);
    match (columns.next(), columns.next()) {
        (Some(c), None) => Some(c),
        _ => None,
    }
}

/// The two columns a line uses.
pub(crate) fn two(line: &Line) -> Option<(usize, usize)> {
    let mut columns = used(line);
    match (columns.next(), columns.next(), columns.next()) {
        (Some(a), Some(b), None) => Some((a, b)),
        _ => None,
    }
}

/// The quotient rounded down; `b > 0`.
pub(crate) fn floor(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => a.div_euclid(b).into(),
        _ => a.div_euclid(b),
    }
}
