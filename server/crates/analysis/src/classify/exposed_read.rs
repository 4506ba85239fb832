//! One read that sees what was there before the iteration: the quick refusal of a private copy (see `privatise`).
//!
//! A read's instance is chosen, with values for all that is fixed, and its cell looked for among the writes that surely
//! happen earlier in the same iteration. Where none of them can write it, the read is not covered: the exact flow
//! would say the same. Nothing is concluded from writes that can, nor from numbers too large.

use base::Budget;
use poly::{Constraint, Row, Space};

use crate::classify::cells::Cells;
use crate::classify::privatize::{AccessRelations, Rest};
use crate::nest::AffineAccess;
use crate::solve::{fourier, Solution, System};

/// A chosen instance of a read.
struct Chosen<'x> {
    /// Its position among the model's accesses.
    at: usize,
    access: &'x AffineAccess,
    params: &'x [i128],
    /// Counters of the loops inside the root.
    counters: &'x [i128],
    cell: &'x [i128],
}

impl AccessRelations<'_, '_> {
    /// Whether some read surely sees a cell that its iteration did not write before. `None`: the budget is spent.
    pub(crate) fn sees_older(
        &self,
        mine: &[(usize, &AffineAccess)],
        cells: &Cells,
        rest: Rest,
        budget: &Budget,
    ) -> Option<bool> {
        for &(at, access) in mine.iter().filter(|(_, a)| !a.write) {
            for array in cells.touched(access) {
                if rest == Rest::Written && !cells.is_written(array) {
                    continue;
                }
                if self.sees_older_in(mine, cells, (at, access), array, rest, budget)? {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    fn sees_older_in(
        &self,
        mine: &[(usize, &AffineAccess)],
        cells: &Cells,
        (at, access): (usize, &AffineAccess),
        array: usize,
        rest: Rest,
        budget: &Budget,
    ) -> Option<bool> {
        let (ins, rank) = (access.loops.len() - 1, cells.rank(array));
        for (exists, rows) in self.cells_of(access, cells, array).unwrap_or_default() {
            budget.spend(1).ok()?;
            let Solution::Point(point) = self.solve(ins + rank, exists, &rows) else { continue };
            let (params, more) = point.split_at(self.params.len());
            let (counters, cell) = (&more[..ins], &more[ins..ins + rank]);
            let chosen = Chosen { at, access, params, counters, cell };
            let mut writes = mine.iter().filter(|(_, w)| self.is_source(w));
            budget.spend(mine.len() as u64).ok()?;
            let older = writes.all(|&(at, w)| {
                !cells.touched(w).contains(&array)
                    || self.not_before(at, w, (cells, array), &chosen) == Some(true)
            });
            if older && (rest == Rest::Any || self.is_written_sometime(mine, (cells, array), &chosen)) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether some iteration seems to write the chosen cell.
    fn is_written_sometime(
        &self,
        mine: &[(usize, &AffineAccess)],
        (cells, array): (&Cells, usize),
        read: &Chosen<'_>,
    ) -> bool {
        let unfixed = self.of_any_iteration();
        mine.iter().filter(|(_, w)| w.write && cells.touched(w).contains(&array)).any(|(_, w)| {
            unfixed.cells_of(w, cells, array).unwrap_or_default().into_iter().any(|(exists, mut rows)| {
                let inner = w.loops.len() - 1;
                for (k, v) in read.params.iter().enumerate().filter(|(k, _)| *k != self.root) {
                    rows.push(Constraint::eq(Row::constant(-v).param(k, 1)));
                }
                for (k, v) in read.cell.iter().enumerate() {
                    rows.push(Constraint::eq(Row::constant(-v).dim(inner + k, 1)));
                }
                matches!(unfixed.solve(inner + read.cell.len(), exists, &rows), Solution::Point(_))
            })
        })
    }

    fn solve(&self, dims: usize, exists: usize, rows: &[Constraint]) -> Solution {
        let space = Space { params: self.params.len(), dims };
        System::new(space, exists, Vec::new(), false, rows).map_or(Solution::Unknown, |s| fourier(&s))
    }

    /// Whether no instance of a write touches the chosen cell before the chosen read, in the order of `times`.
    fn not_before(
        &self,
        at: usize,
        write: &AffineAccess,
        (cells, array): (&Cells, usize),
        read: &Chosen<'_>,
    ) -> Option<bool> {
        let (ours, theirs) = (&write.loops[1..], &read.access.loops[1..]);
        let common = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
        let place = |loops: &[usize], at: usize| match loops.get(common) {
            Some(&l) => self.place(l),
            None => Some(at),
        };
        let (here, there) = (place(ours, at)?, place(theirs, read.at)?);
        // Counters of the loops around both: the write's as a row, the read's as a number.
        let mut levels = Vec::new();
        for &l in &ours[..common] {
            let p = self.counter(l);
            let mut none = Vec::new();
            let row = self.row(&p, &|l| ours.iter().position(|&x| x == l), &mut none)?;
            let same = self.row(&p, &|l| theirs.iter().position(|&x| x == l), &mut none)?;
            if !none.is_empty() {
                return None;
            }
            levels.push(row.checked_sub(&Row::constant(value(&same, read)?))?);
        }
        for (exists, rows) in self.cells_of(write, cells, array)? {
            let mut rows = rows;
            for (k, v) in read.params.iter().enumerate() {
                rows.push(Constraint::eq(Row::constant(-v).param(k, 1)));
            }
            for (k, v) in read.cell.iter().enumerate() {
                rows.push(Constraint::eq(Row::constant(-v).dim(ours.len() + k, 1)));
            }
            // Earlier at one level and equal above it, or equal at all and standing before.
            for level in 0..=common {
                if level == common && here > there {
                    continue;
                }
                let mut rows = rows.clone();
                rows.extend(levels[..level].iter().cloned().map(Constraint::eq));
                if let Some(row) = levels.get(level) {
                    rows.push(Constraint::ge(Row::constant(-1).checked_sub(row)?));
                }
                if self.solve(ours.len() + read.cell.len(), exists, &rows) != Solution::Empty {
                    return Some(false);
                }
            }
        }
        Some(true)
    }
}

/// A row without existential variables at the chosen instance.
fn value(row: &Row, at: &Chosen<'_>) -> Option<i128> {
    let mut sum = row.constant;
    for (c, x) in row.params.iter().zip(at.params).chain(row.dims.iter().zip(at.counters)) {
        sum = sum.checked_add(c.checked_mul(*x)?)?;
    }
    Some(sum)
}
