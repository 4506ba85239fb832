//! A nest cut further: the instances of each unit by whether their other indices are below, at or above the one that numbers the
//! rounds. What an iteration of Floyd's and Warshall's algorithm reads is written by those at it, and by no others (index set
//! splitting: Griebl, Feautrier and Lengauer, "Index set splitting", 2000).

use super::{Cut, Dependence, Unit};
use crate::algebra::poly::Domain;
use crate::limits::threadmap_rounds::MAX_UNITS;
use crate::threadmap::sets::{ParamSpace, Part};

/// Which instances of a unit a piece has.
struct Piece {
    of: usize,
    /// By index: below (-1), at (0) or above (1) the one that numbers the rounds; `None`: that one.
    sides: Vec<Option<i128>>,
}

/// The same nest in pieces, by the index that numbers the rounds; `None`: they are too many, or nothing is cut.
pub(super) fn split(cut: &Cut, frame: &ParamSpace<'_, '_>, index: usize) -> Option<Cut> {
    let (mut units, mut pieces) = (Vec::new(), Vec::new());
    for (of, unit) in cut.units.iter().enumerate() {
        let n = unit.loops.len();
        if index >= n {
            return None;
        }
        let mut sides: Vec<Vec<Option<i128>>> = vec![Vec::new()];
        for d in 0..n {
            let all: &[Option<i128>] = if d == index { &[None] } else { &[Some(-1), Some(0), Some(1)] };
            sides = sides
                .iter()
                .flat_map(|s| all.iter().map(move |a| s.iter().copied().chain([*a]).collect()))
                .collect();
        }
        for sides in sides {
            let row = |d: usize| Some(poly::Row::constant(0).dim(d, 1));
            let rows = conditions(&sides, index, row)?;
            let instances = unit.instances.constrain(0, &rows, frame.budget).ok()?;
            if instances.is_empty(frame.budget).ok()? {
                continue;
            }
            if units.len() == MAX_UNITS {
                return None;
            }
            units.push(Unit {
                instances,
                loops: unit.loops.clone(),
                values: unit.values.clone(),
                signs: unit.signs.clone(),
                indices: unit.indices.clone(),
                ..*unit
            });
            pieces.push(Piece { of, sides });
        }
    }
    if units.len() == cut.units.len() {
        return None;
    }
    let mut dependences = Vec::new();
    for d in &cut.dependences {
        for (from, a) in pieces.iter().enumerate().filter(|p| p.1.of == d.from) {
            for (to, b) in pieces.iter().enumerate().filter(|p| p.1.of == d.to) {
                let mut rows = Vec::new();
                for (at, piece) in [(0, a), (1, b)] {
                    let unit = &cut.units[piece.of];
                    let always = Domain::always();
                    let part = Part { domain: &always, loops: &unit.loops, first: d.first[at] };
                    let row = |k: usize| frame.linear_row(&unit.values[k], &part).ok();
                    rows.extend(conditions(&piece.sides, index, row)?);
                }
                let pairs = d.pairs.constrain(0, &rows, frame.budget).ok()?;
                if !pairs.is_empty(frame.budget).ok()? {
                    dependences.push(Dependence { from, to, pairs, first: d.first });
                }
            }
        }
    }
    Some(Cut { units, dependences })
}

/// What the sides of a piece say of the rows of its indices.
fn conditions(
    sides: &[Option<i128>],
    index: usize,
    row: impl Fn(usize) -> Option<poly::Row>,
) -> Option<Vec<poly::Constraint>> {
    let at = row(index)?;
    let mut out = Vec::new();
    for (d, side) in sides.iter().enumerate() {
        let Some(side) = side else { continue };
        let beyond = row(d)?.checked_sub(&at)?;
        out.push(match side {
            0 => poly::Constraint::eq(beyond),
            side => {
                let row = beyond.checked_scale(*side)?;
                poly::Constraint::ge(poly::Row { constant: row.constant - 1, ..row })
            }
        });
    }
    Some(out)
}
