//! Parts of arrays that a search finds where a region begins, and what must be known before it may run.

use analysis::{Expr, Param, Pred, Region, RegionArray, Search};
use term::{SymbolId, TermId, TypeKind};

use super::build::Builder;
use super::{bounds, simplify, BufferPlan, Plan, RefusalKind, Test, TestKind};

/// The first and the last element of an array that a nest uses, which a function finds.
#[derive(Clone, Debug)]
pub struct EndsPlan {
    /// What expressions call them by: see [`Param::End`].
    pub nest: TermId,
    pub array: SymbolId,
    /// Position of the nest among the region's that is gone through for it, and for which of its arrays.
    pub by: usize,
    pub searched: SymbolId,
    pub search: Search,
    /// Names in the host block.
    pub first_name: String,
    pub last_name: String,
    /// What is kept apart first, lest what decides what else is read is no longer what the loop would read.
    pub apart: Vec<EarlyApart>,
}

/// An array that is read, and the part that the statements write of another.
#[derive(Clone, PartialEq, Debug)]
pub struct EarlyApart {
    /// Positions among the region's buffers.
    pub read: usize,
    pub written: usize,
    pub part: (Expr, Expr),
    /// Whether the part that is read surely has elements, and that which is written.
    pub is_used: [bool; 2],
}

impl Plan<'_> {
    /// Whether two arrays have been kept apart as a whole before parts of others were found.
    pub(crate) fn is_tested_early(&self, t: &TestKind) -> bool {
        let TestKind::Apart(i, j) = *t else { return false };
        self.ends.iter().flat_map(|e| &e.apart).any(|a| {
            let is_pair = (a.read.min(a.written), a.read.max(a.written)) == (i, j);
            is_pair && self.buffers.get(a.written).is_some_and(|w| w.extent.as_ref() == Some(&a.part))
        })
    }
}

impl EndsPlan {
    /// How many iterations are gone through.
    pub(crate) fn trips<'n>(&self, nests: &'n [Plan<'_>]) -> Option<&'n Expr> {
        Some(&nests.get(self.by)?.kernels.first()?.dims.first()?.trips)
    }

    pub(crate) fn is(&self, p: Param) -> bool {
        matches!(p, Param::End { nest, array, .. } if (nest, array) == (self.nest, self.array))
    }
}

/// Whether nests write it, under its own name or one that it comes to stand under.
fn is_written(region: &Region, array: &RegionArray) -> bool {
    let is_exchanged = |a: &RegionArray| region.exchanged.iter().any(|e| e.symbol == a.buffer.symbol);
    let others = || region.arrays.iter().any(|a| a.buffer.written && is_exchanged(a));
    array.buffer.written || is_exchanged(array) && others()
}

/// What is computed before any of them is found.
pub(super) fn asked(ends: &[EndsPlan], nests: &[Plan<'_>]) -> Vec<Expr> {
    let trips = ends.iter().filter_map(|e| e.trips(nests).cloned());
    let parts = ends.iter().flat_map(|e| &e.apart).map(|a| super::elements(&a.part.0, &a.part.1));
    trips.chain(parts).collect()
}

/// Whether a part begins or ends where a search says.
pub(super) fn is_found((first, last): &(Expr, Expr)) -> bool {
    let mut used = Vec::new();
    bounds::params(first, &mut used);
    bounds::params(last, &mut used);
    used.iter().any(|p| matches!(p, Param::End { .. }))
}

/// Whether it is how many elements a search finds: there is one.
pub(super) fn found_count(e: &Expr) -> bool {
    let mut used = Vec::new();
    bounds::params(e, &mut used);
    let Some(&Param::End { nest, array, .. }) = used.first() else { return false };
    let end = |last: bool| Expr::Param(Param::End { nest, array, last });
    bounds::distance(e, &super::elements(&end(false), &end(true))) == Some(0)
}

impl Builder<'_, '_> {
    /// What is found where the region begins, each after all that it reads.
    pub(super) fn ends(
        &mut self,
        region: &Region,
        (buffers, tests): (&[BufferPlan], &[Test]),
        positive: &[Expr],
    ) -> Vec<EndsPlan> {
        let mut rest = Vec::new();
        for (named, by) in &region.found {
            let nest = self.input.facts.loops[named.nest].term;
            let Some(at) = region.nests.iter().position(|n| *n == by.nest) else { continue };
            let word = super::naming::word(&self.body.symbols[by.array].name);
            let apart = self.early(region, (buffers, tests), &by.search, positive);
            rest.push(EndsPlan {
                nest,
                array: named.array,
                by: at,
                searched: by.array,
                search: by.search.clone(),
                first_name: self.host_name(&format!("{word}_from")),
                last_name: self.host_name(&format!("{word}_to")),
                apart: apart.unwrap_or_else(|written| {
                    self.refuse(RefusalKind::UntestableOverlap(written), self.target);
                    Vec::new()
                }),
            });
        }
        let mut out: Vec<EndsPlan> = Vec::new();
        while !rest.is_empty() {
            let is_known = |p: Param| !matches!(p, Param::End { .. }) || out.iter().any(|e| e.is(p));
            let is_ready = |e: &EndsPlan| {
                let read = buffers.iter().filter(|b| e.search.reads.contains(&b.symbol));
                read.flat_map(|b| &b.extent).all(|(first, last)| {
                    let mut used = Vec::new();
                    bounds::params(first, &mut used);
                    bounds::params(last, &mut used);
                    used.into_iter().all(is_known)
                })
            };
            let Some(k) = rest.iter().position(is_ready) else {
                self.refuse(RefusalKind::UnknownExtent(rest[0].searched), self.target);
                break;
            };
            out.push(rest.remove(k));
        }
        out
    }

    /// What a search reads and an array that is written may overlap. `Err`: the array, where it is not known before which part of it is
    /// written.
    fn early(
        &self,
        region: &Region,
        (buffers, tests): (&[BufferPlan], &[Test]),
        search: &Search,
        positive: &[Expr],
    ) -> Result<Vec<EarlyApart>, SymbolId> {
        let mut out = Vec::new();
        if !search.chained {
            return Ok(out);
        }
        for t in tests {
            let (i, j) = match t.kind {
                TestKind::Apart(i, j) => (i, j),
                TestKind::RowsApart { .. } => {
                    return Err(search.reads.first().copied().unwrap_or(SymbolId(0)))
                }
                _ => continue,
            };
            for (read, written) in [(i, j), (j, i)] {
                let (Some(r), Some(w)) = (buffers.get(read), buffers.get(written)) else { continue };
                let array = region.arrays.iter().find(|a| a.buffer.symbol == w.symbol);
                let is_read = search.reads.contains(&r.symbol);
                let Some(array) = array.filter(|a| is_read && is_written(region, a)) else { continue };
                let part = array.writes.clone().or_else(|| self.declared(w)).ok_or(w.symbol)?;
                if is_found(&part) {
                    return Err(w.symbol);
                }
                let part = (simplify::under(&part.0, positive), simplify::under(&part.1, positive));
                let is_sure = |(first, last): &(Expr, Expr)| {
                    let count = super::elements(first, last);
                    let one_less = Expr::Add(vec![count, Expr::Int(-1)]);
                    simplify::follows(&Pred::NonNegative(one_less), positive)
                };
                let is_there = |e: &(Expr, Expr)| found_count(&super::elements(&e.0, &e.1));
                let is_used = [r.extent.as_ref().is_none_or(|e| is_sure(e) || is_there(e)), is_sure(&part)];
                out.push(EarlyApart { read, written, part, is_used });
            }
        }
        Ok(out)
    }

    /// All of an array whose type says how long it is.
    fn declared(&self, b: &BufferPlan) -> Option<(Expr, Expr)> {
        let (types, ty) = (&self.body.types, self.body.symbols[b.symbol].ty);
        let is_array = matches!(types.kind(ty), TypeKind::Array { .. });
        let size = types.size_align(ty).filter(|_| is_array)?.0;
        let count = i128::from(size / b.element_size.max(1));
        Some((Expr::Int(0), Expr::Int(count - 1)))
    }
}
