//! Whether all that an iteration reads of an array is what it has written itself before.

use rustc_hash::FxHashMap;
use term::{Body, Op, TermId};

use super::extent::Maker;
use crate::algebra::poly::Poly;
use crate::nest::AffineAccess;
use base::IndexId;

impl Maker<'_, '_> {
    /// Whether every read is of a cell that statements before it, in the same iteration of the loops around both, have written.
    pub(super) fn reads_what_it_wrote(&mut self, body: &Body, mine: &[&AffineAccess]) -> bool {
        let parents = body.parents();
        let plain = |a: &AffineAccess| a.fields.is_empty() && a.inside.is_all();
        let sure = |a: &&&AffineAccess| a.write && a.domain.exact && a.why.is_none() && plain(a);
        let writes: Vec<&AffineAccess> = mine.iter().filter(sure).copied().collect();
        mine.iter().filter(|a| !a.write).all(|r| self.is_written(body, &parents, &writes, r).unwrap_or(false))
    }

    fn is_written(
        &mut self,
        body: &Body,
        parents: &[Option<TermId>],
        writes: &[&AffineAccess],
        read: &AffineAccess,
    ) -> Option<bool> {
        // by how many loops are around both
        let mut known: FxHashMap<usize, poly::Set> = FxHashMap::default();
        for write in writes.iter().filter(|w| is_before(body, parents, w.term, read.term)) {
            let common = write.loops.iter().zip(&read.loops).take_while(|(a, b)| a == b).count();
            let Some(cells) = self.cells(write, common) else { continue };
            let cells = match known.remove(&common) {
                None => cells,
                Some(more) => more.union(&cells, self.budget).ok()?,
            };
            if self.cells(read, common)?.is_subset(&cells, self.budget).ok()? {
                return Some(true);
            }
            known.insert(common, cells);
        }
        Some(false)
    }

    /// In which iterations of the outermost loops an access touches which cells.
    fn cells(&mut self, a: &AffineAccess, loops: usize) -> Option<poly::Set> {
        let counters = a.loops.iter().take(loops).map(|&l| Some(Poly::var(self.model.loops[l].var)));
        let values = counters.chain(a.subs.iter().map(|s| s.value.clone()));
        let values = values.collect::<Option<Vec<Poly>>>()?;
        Some(self.set(&a.domain, &a.loops, &values)?.0)
    }
}

/// Whether two terms stand in statements of one list, the first in an earlier one.
fn is_before(body: &Body, parents: &[Option<TermId>], first: TermId, second: TermId) -> bool {
    let up = |t: &TermId| parents.get(t.index()).copied().flatten();
    let above: Vec<TermId> = std::iter::successors(Some(first), up).collect();
    let mut at = second;
    loop {
        let Some(parent) = up(&at) else { return false };
        if let Some(k) = above.iter().position(|&t| t == parent) {
            let Some(&from) = k.checked_sub(1).and_then(|k| above.get(k)) else { return false };
            let place = |t: TermId| body.args(parent).iter().position(|&a| a == t);
            return *body.op(parent) == Op::List && place(from).zip(place(at)).is_some_and(|(a, b)| a < b);
        }
        at = parent;
    }
}
