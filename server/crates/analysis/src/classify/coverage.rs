//! Whether cells are covered by writes, shown by naming the write (see `privatise`): the quick proof before the exact one.
//!
//! "Every instance in D has a write at its cell" is shown by giving, for each of several writes, the write's instance as
//! an affine function of D's point, and what must hold there for that instance to exist, at that cell, in time. What is
//! left of D where one of these conditions fails must be covered by the writes behind it; nothing may be left at the end.
//! Each step names an instance for a part of D and loses none of D, so success is a proof whatever the order; failure
//! says nothing.

use base::Budget;
use poly::{Constraint, Kind, Row, Space};

use crate::classify::cells::Cells;
use crate::classify::privatize::{is_sure, AccessRelations, Rest};
use crate::limits::classify_coverage::FUEL;
use crate::nest::AffineAccess;
use crate::solve::{fourier, Solution, System};

/// What must hold at a point for one write to have been there.
type Covers = Vec<Constraint>;

impl AccessRelations<'_, '_> {
    /// Whether every cell that is read was surely written earlier in the same iteration. `Some(false)`: not shown.
    pub(crate) fn reads_are_covered(
        &self,
        mine: &[(usize, &AffineAccess)],
        cells: &Cells,
        rest: Rest,
        budget: &Budget,
    ) -> Option<bool> {
        for &(at, read) in mine.iter().filter(|(_, a)| !a.write) {
            for &array in cells.touched(read).iter().filter(|&&k| rest == Rest::Any || cells.is_written(k)) {
                let sources =
                    mine.iter().filter(|(_, w)| self.is_source(w) && cells.touched(w).contains(&array));
                let mut covers = Vec::new();
                for &(place, write) in sources {
                    covers.extend(self.earlier(place, write, at, read, (cells, array)));
                }
                for (exists, rows) in self.cells_of(read, cells, array)? {
                    if !self.all_in(read, cells.rank(array), exists, &rows, &covers, budget)? {
                        return Some(false);
                    }
                }
            }
        }
        Some(true)
    }

    /// Whether each cell that some iteration writes is written by the last one. `Some(false)`: not shown.
    pub(crate) fn last_covers(
        &self,
        mine: &[(usize, &AffineAccess)],
        cells: &Cells,
        budget: &Budget,
    ) -> Option<bool> {
        let root = &self.model.loops[0];
        let (iteration, trips) = (root.iteration.as_ref()?, root.trips.as_ref()?);
        let last = self.row(&iteration.sub(trips)?.add_constant(1)?, &|_| None, &mut Vec::new())?;
        for &(_, any) in mine.iter().filter(|(_, a)| a.write) {
            for &array in &cells.touched(any) {
                let mut covers = Vec::new();
                for (_, write) in mine {
                    if write.write && is_sure(self.model, write) && cells.touched(write).contains(&array) {
                        let conditions = vec![Constraint::eq(last.clone())];
                        covers.extend(self.instances(write, any, (cells, array), 0, true, &conditions));
                    }
                }
                // The set written may not be made smaller by what only bounds an unknown subscript.
                if any.subs.iter().any(|s| self.model.is_any(s)) {
                    return Some(false);
                }
                for (exists, rows) in self.cells_of(any, cells, array)? {
                    if !self.all_in(any, cells.rank(array), exists, &rows, &covers, budget)? {
                        return Some(false);
                    }
                }
            }
        }
        Some(true)
    }

    fn all_in(
        &self,
        of: &AffineAccess,
        rank: usize,
        exists: usize,
        rows: &[Constraint],
        covers: &[Covers],
        budget: &Budget,
    ) -> Option<bool> {
        let space = Space { params: self.params.len(), dims: of.loops.len() - 1 + rank };
        let Some(system) = System::new(space, exists, Vec::new(), false, rows) else { return Some(false) };
        let mut fuel = FUEL;
        let shown = inside(&system, covers, &mut fuel);
        budget.spend(u64::from(FUEL - fuel)).ok()?;
        Some(shown)
    }

    /// Ways in which a write may have been at a read's cell before it, over the read's counters and cell.
    fn earlier(
        &self,
        place: usize,
        write: &AffineAccess,
        at: usize,
        read: &AffineAccess,
        of: (&Cells, usize),
    ) -> Vec<Covers> {
        let (ours, theirs) = (&write.loops[1..], &read.loops[1..]);
        let common = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
        let stands = |loops: &[usize], at: usize| match loops.get(common) {
            Some(&l) => self.place(l),
            None => Some(at),
        };
        let mut out = Vec::new();
        // In the same iteration of all loops around both, standing before it.
        if stands(ours, place).zip(stands(theirs, at)).is_some_and(|(w, r)| w < r) {
            out.extend(self.instances(write, read, of, common, false, &[]));
        }
        // In an earlier iteration of one of them, and the same of those around that one.
        for level in (0..common).rev() {
            let counter = self.counter(ours[level]);
            let mut none = Vec::new();
            let row = self.row(&counter, &|l| ours.iter().position(|&x| x == l), &mut none);
            // It counts by the loops up to this one, which are around both.
            if let Some(row) = row.filter(|r| none.is_empty() && r.dims.len() <= level + 1) {
                out.extend(self.instances_before(write, read, of, level, row));
            }
        }
        out
    }

    /// One way for each piece of the write's domain, where its counters follow from the point: those of the first
    /// `same` loops are the read's, the others are solved from the cell. `root`: so is the root's. `more` are
    /// conditions on the write's instance.
    fn instances(
        &self,
        write: &AffineAccess,
        at: &AffineAccess,
        (cells, array): (&Cells, usize),
        same: usize,
        root: bool,
        more: &[Constraint],
    ) -> Vec<Covers> {
        let pieces = self.cells_of(write, cells, array).unwrap_or_default().into_iter();
        let named = |(exists, mut rows): (usize, Vec<Constraint>)| {
            rows.extend_from_slice(more);
            let put = (exists == 0).then(|| Put::solve(self, write, at, same, root, &rows))??;
            rows.iter().map(|c| put.constraint(c)).collect()
        };
        pieces.filter_map(named).collect()
    }

    /// The same where the counter `row` of the write is below that of the read.
    fn instances_before(
        &self,
        write: &AffineAccess,
        read: &AffineAccess,
        (cells, array): (&Cells, usize),
        level: usize,
        row: Row,
    ) -> Vec<Covers> {
        let pieces = self.cells_of(write, cells, array).unwrap_or_default().into_iter();
        let named = |(exists, rows): (usize, Vec<Constraint>)| {
            let put = (exists == 0).then(|| Put::solve(self, write, read, level, false, &rows))??;
            let mut all: Covers = rows.iter().map(|c| put.constraint(c)).collect::<Option<_>>()?;
            // The read's counter is the same row over the read's counters.
            let before = row.checked_sub(&put.row(&row)?)?.checked_sub(&Row::constant(1))?;
            all.push(Constraint::ge(before));
            Some(all)
        };
        pieces.filter_map(named).collect()
    }
}

/// A write's counters as forms over a point: parameters, the counters of another access, and the cell.
struct Put {
    /// Number of the write's counters, and of the other's.
    ours: usize,
    theirs: usize,
    counters: Vec<Option<Row>>,
    /// The root's counter, with its place among the parameters, where it is not the point's.
    root: Option<(usize, Option<Row>)>,
}

impl Put {
    /// `None` where some counter does not follow.
    fn solve(
        frame: &AccessRelations<'_, '_>,
        write: &AffineAccess,
        at: &AffineAccess,
        same: usize,
        root: bool,
        rows: &[Constraint],
    ) -> Option<Put> {
        let (ours, theirs) = (write.loops.len() - 1, at.loops.len() - 1);
        let counters = (0..ours).map(|k| (k < same).then(|| Row::constant(0).dim(k, 1))).collect();
        let mut put = Put { ours, theirs, counters, root: root.then_some((frame.root, None)) };
        loop {
            let open = put.counters.iter().filter(|c| c.is_none()).count()
                + usize::from(put.root.as_ref().is_some_and(|r| r.1.is_none()));
            if open == 0 {
                return Some(put);
            }
            let found = rows.iter().filter(|c| c.kind == Kind::Eq).find_map(|c| put.solved(&c.row))?;
            match found {
                (Some(k), row) => put.counters[k] = Some(row),
                (None, row) => put.root = put.root.map(|(at, _)| (at, Some(row))),
            }
        }
    }

    /// The one counter (`None`: the root's) that an equation leaves open, if its coefficient is 1 or -1.
    fn solved(&self, row: &Row) -> Option<(Option<usize>, Row)> {
        let mut open = Vec::new();
        for (k, c) in self.counters.iter().enumerate() {
            let used = row.dims.get(k).copied().unwrap_or(0);
            if c.is_none() && used != 0 {
                open.push((Some(k), used));
            }
        }
        if let Some((at, None)) = self.root {
            let used = row.params.get(at).copied().unwrap_or(0);
            if used != 0 {
                open.push((None, used));
            }
        }
        let [(which, c)] = open[..] else { return None };
        if c.abs() != 1 {
            return None;
        }
        // c·x + rest = 0, so x = -c·rest
        let mut rest = row.clone();
        match (which, &self.root) {
            (Some(k), _) => rest.dims[k] = 0,
            (None, Some((at, _))) => rest.params[*at] = 0,
            (None, None) => return None,
        }
        Some((which, self.row(&rest)?.checked_scale(-c)?))
    }

    /// A row over the write's counters and cell as one over the point; `None` where it uses an open counter.
    fn row(&self, row: &Row) -> Option<Row> {
        if row.exists.iter().any(|&c| c != 0) {
            return None;
        }
        let mut out = Row { params: row.params.clone(), constant: row.constant, ..Row::default() };
        if let Some((at, value)) = &self.root {
            let c = out.params.get(*at).copied().unwrap_or(0);
            if c != 0 {
                out.params[*at] = 0;
                out = out.checked_add(&value.as_ref()?.checked_scale(c)?)?;
            }
        }
        for (k, &c) in row.dims.iter().enumerate().filter(|(_, &c)| c != 0) {
            let value = match self.counters.get(k) {
                Some(counter) => counter.as_ref()?.checked_scale(c)?,
                None => Row::constant(0).dim(self.theirs + k - self.ours, c),
            };
            out = out.checked_add(&value)?;
        }
        Some(out)
    }

    fn constraint(&self, c: &Constraint) -> Option<Constraint> {
        Some(Constraint { kind: c.kind, row: self.row(&c.row)? })
    }
}

/// Whether every integer point of the system satisfies all constraints of one of the covers.
fn inside(s: &System, covers: &[Covers], fuel: &mut u32) -> bool {
    fn is_empty(s: &System, fuel: &mut u32) -> bool {
        *fuel = fuel.saturating_sub(1);
        fourier(s) == Solution::Empty
    }
    if is_empty(s, fuel) {
        return true;
    }
    let Some((first, rest)) = covers.split_first() else { return false };
    // What is left of the system where a condition fails; the conditions before it may fail there as well.
    let with = |c: &Constraint| {
        let mut part = s.clone();
        part.add(c).map(|()| part)
    };
    let mut left = Vec::new();
    for c in first {
        let Some(failures) = failures(c) else { return inside(s, rest, fuel) };
        for fails in &failures {
            let Some(part) = with(fails) else { return false };
            if !is_empty(&part, fuel) {
                left.push(part);
            }
        }
        if *fuel == 0 {
            return false;
        }
    }
    // A cover that is nowhere met only doubles the work.
    if !left.is_empty() {
        let mut met = s.clone();
        if first.iter().any(|c| met.add(c).is_none()) {
            return false;
        }
        if is_empty(&met, fuel) {
            return inside(s, rest, fuel);
        }
    }
    left.iter().all(|part| *fuel > 0 && inside(part, rest, fuel))
}

/// Where a constraint does not hold: either of these.
fn failures(c: &Constraint) -> Option<Vec<Constraint>> {
    let below = Constraint::ge(Row::constant(-1).checked_sub(&c.row)?);
    let above = Constraint::ge(c.row.checked_sub(&Row::constant(1))?);
    Some(match c.kind {
        Kind::Ge => vec![below],
        Kind::Eq => vec![below, above],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from a seed; the same on every machine.
    fn next(state: &mut u64) -> i128 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        i128::from(*state >> 33)
    }

    /// Every point of the box, tried: the oracle of `inside`.
    #[test]
    fn what_is_inside_by_proof_is_inside_by_trying() {
        let (mut shown, mut not) = (0, 0);
        let mut seed = 7;
        for _ in 0..1200 {
            let row = |seed: &mut u64, wide: i128| {
                let c = |seed: &mut u64| next(seed) % 5 - 2;
                Row::constant(next(seed) % wide - wide / 2).param(0, c(seed)).dim(0, c(seed)).dim(1, c(seed))
            };
            let mut within = Vec::new();
            for (k, high) in [(0, 5), (1, 4)] {
                within.push(Constraint::ge(Row::constant(0).dim(k, 1)));
                within.push(Constraint::ge(Row::constant(high).dim(k, -1)));
            }
            within.push(Constraint::ge(Row::constant(0).param(0, 1)));
            within.push(Constraint::ge(Row::constant(6).param(0, -1)));
            within.extend((0..next(&mut seed) % 2).map(|_| Constraint::ge(row(&mut seed, 9))));
            let covers: Vec<Covers> = (0..1 + next(&mut seed) % 3)
                .map(|_| {
                    let one = |seed: &mut u64| match next(seed) % 6 {
                        0 => Constraint::eq(row(seed, 5)),
                        _ => Constraint::ge(row(seed, 21)),
                    };
                    (0..1 + next(&mut seed) % 2).map(|_| one(&mut seed)).collect()
                })
                .collect();
            let space = Space { params: 1, dims: 2 };
            let system = System::new(space, 0, Vec::new(), false, &within).expect("small numbers");
            let holds =
                |all: &[Constraint], n, x, y| all.iter().all(|c| c.holds(&[n], &[x, y], &[]) == Some(true));
            let points = (0..=6).flat_map(|n| (0..=5).flat_map(move |x| (0..=4).map(move |y| (n, x, y))));
            let truth = points
                .filter(|&(n, x, y)| holds(&within, n, x, y))
                .all(|(n, x, y)| covers.iter().any(|c| holds(c, n, x, y)));
            let said = inside(&system, &covers, &mut { FUEL });
            assert!(!said || truth, "{within:?} {covers:?}");
            shown += u32::from(said && !covers.is_empty());
            not += u32::from(!truth);
        }
        assert!(shown > 80 && not > 80, "{shown} {not}");
    }

    /// `c = i + 1` for 0 <= i < n, covered by y = 0 and by y = j for 1 <= j <= n, both needed.
    #[test]
    fn parts_are_covered_by_different_writes() {
        let space = Space { params: 1, dims: 1 };
        let cell = |c: i128| Row::constant(c).dim(0, 1);
        let within = [Constraint::ge(cell(0)), Constraint::ge(Row::constant(0).param(0, 1).dim(0, -1))];
        let system = System::new(space, 0, Vec::new(), false, &within).expect("small numbers");
        let first = vec![Constraint::eq(cell(0))];
        let rest = |from: i128| vec![Constraint::ge(cell(-from)), Constraint::ge(within[1].row.clone())];
        assert!(inside(&system, &[first.clone(), rest(1)], &mut { FUEL }));
        assert!(inside(&system, &[rest(1), first.clone()], &mut { FUEL }));
        assert!(!inside(&system, &[first.clone(), rest(2)], &mut { FUEL }), "cell 1 is left");
        assert!(!inside(&system, &[rest(1)], &mut { FUEL }), "cell 0 is left");
        assert!(!inside(&system, &[first], &mut { FUEL }));
        assert!(!inside(&system, &[], &mut { FUEL }));
    }
}
