//! Whether a nest reads nothing of an array that it has not written itself before.

use term::SymbolId;

use crate::depend::{overlap, Overlap};
use crate::nest::{AffineAccess, Model};
use crate::threadmap::sets::{ParamSpace, Part};
use crate::threadmap::statements::{Nest, Order};

/// Whether every cell of an array that some instance reads was surely written by an earlier one, in the order of the program.
pub(super) fn reads_what_it_wrote(
    model: &Model<'_>,
    nest: &Nest,
    frame: &ParamSpace<'_, '_>,
    array: SymbolId,
) -> Option<bool> {
    if nest.outside.iter().any(|a| a.base == array) {
        return Some(false);
    }
    let of_it = || nest.accesses.iter().filter(|(_, a)| a.base == array);
    let sure = |a: &AffineAccess| {
        a.write && a.why.is_none() && a.domain.exact && a.fields.is_empty() && a.inside.is_all()
    };
    for read in of_it().filter(|(_, a)| !a.write) {
        let mut open = frame.domain(&read.1.domain, &read.1.loops).ok()?;
        for write in of_it().filter(|(_, a)| sure(a)) {
            for set in earlier(model, nest, frame, write, read)? {
                open = open.subtract(&set, frame.budget).ok()?.coalesce(frame.budget).ok()?;
            }
        }
        if !open.is_empty(frame.budget).ok()? {
            return Some(false);
        }
    }
    Some(true)
}

/// The instances of a read for which one of the write came before it to the same cell.
fn earlier(
    model: &Model<'_>,
    nest: &Nest,
    frame: &ParamSpace<'_, '_>,
    (w, write): &(usize, AffineAccess),
    (r, read): &(usize, AffineAccess),
) -> Option<Vec<poly::Set>> {
    let Overlap::When { equal, exact: true } = overlap(write, read) else { return Some(Vec::new()) };
    let (n, all) = (write.loops.len(), write.loops.len() + read.loops.len());
    let common = write.loops.iter().zip(&read.loops).take_while(|(a, b)| a == b).count();
    let mut out = Vec::new();
    for level in 0..=common {
        // a statement reads before it writes
        let rows = match nest.order(model, *w, *r, [0, n], level) {
            Order::Rows(rows) => rows,
            Order::Never => continue,
            Order::Unknown => return None,
        };
        let parts = [
            Part { domain: &write.domain, loops: &write.loops, first: 0 },
            Part { domain: &read.domain, loops: &read.loops, first: n },
        ];
        let equal: Vec<_> = equal.iter().map(|(p, q)| ((p, 0), (q, 1))).collect();
        let pairs = frame.set(all, &parts, &equal, &rows).ok()?;
        out.push(pairs.project_out(0..n, frame.budget).ok()?);
    }
    Some(out)
}
