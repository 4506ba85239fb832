//! Rows that a table shows, in a region: one array on the device with room for all that its nests touch, whose subscripts and
//! lengths are the nests' own, too.

use analysis::{Region, RegionRows};
use term::{Body, SymbolId};

use super::build::Builder;
use super::rows::RowsPart;
use super::{BufferPlan, Plan, RefusalKind, Stride, StrideSource, Test, TestKind};

impl BufferPlan {
    /// Takes over what the statements touch of the rows, and names for the lengths that their function is given.
    pub(super) fn together(&mut self, parts: &[RegionRows], strides: &[Stride], positive: &[analysis::Expr]) {
        let Some(rows) = &mut self.rows else { return };
        rows.parts = parts.iter().map(|p| RowsPart::of(&p.rows, p.is_sure, positive)).collect();
        let name = |s: &StrideSource| match s {
            StrideSource::Passed(k) => strides.get(*k).map(|s| s.name.clone()),
            _ => None,
        };
        rows.length_names = self.strides.iter().map(name).collect();
    }
}

impl BufferPlan {
    /// The variable that shows it: of rows the one that shows their table, if it is one.
    pub(crate) fn shown_by(&self, body: &Body) -> SymbolId {
        self.rows.as_ref().and_then(|r| body.as_symbol(r.table)).unwrap_or(self.symbol)
    }
}

impl<'a> Builder<'_, 'a> {
    /// Numbers the parts of tables of which not all is there from the first.
    pub(super) fn ask(&self, region: &Region, buffers: &mut [BufferPlan]) {
        let is_asked = |s: SymbolId| region.asked.iter().any(|a| a.1 == s);
        let mut asked: Vec<&mut super::RowsPlan> =
            buffers.iter_mut().filter(|b| is_asked(b.symbol)).filter_map(|b| b.rows.as_mut()).collect();
        let most = asked.iter().map(|r| r.parts.len() as u32).max().unwrap_or(0);
        asked.iter_mut().enumerate().for_each(|(k, r)| r.first_bit = Some(k as u32 * most));
    }

    /// That variables which a nest keeps apart from its rows lie apart from all that the statements use.
    pub(super) fn apart_as_nests(&mut self, nests: &[Plan<'a>], region: &Region, tests: &mut Vec<Test>) {
        let mut all = Vec::new();
        for t in nests.iter().flat_map(|n| &n.tests) {
            let TestKind::RowsApart { variables, .. } = &t.kind else { continue };
            for &s in variables {
                if !region.scalars.iter().any(|k| k.symbol == s) {
                    self.refuse(RefusalKind::UntestableOverlap(s), self.target);
                }
                if !all.contains(&s) {
                    all.push(s);
                }
            }
        }
        let mut known = tests.iter_mut().filter_map(|t| match &mut t.kind {
            TestKind::RowsApart { variables, .. } => Some(variables),
            _ => None,
        });
        match known.next() {
            Some(variables) => all.into_iter().for_each(|s| {
                if !variables.contains(&s) {
                    variables.push(s);
                }
            }),
            None if all.is_empty() => {}
            None => tests
                .push(Test { kind: TestKind::RowsApart { variables: all, cells: Vec::new() }, meets: None }),
        }
    }
}

impl Plan<'_> {
    /// Of a nest: counts rows and elements of them as the region does.
    pub(super) fn rows_as_in(&mut self, outer: &Plan<'_>, asked: &dyn Fn(SymbolId) -> Option<usize>) {
        for k in 0..self.buffers.len() {
            let b = &self.buffers[k];
            let theirs = outer.buffers.iter().find(|o| o.symbol == b.symbol);
            let Some((own, theirs)) = b.rows.clone().zip(theirs.and_then(|o| o.rows.clone())) else {
                continue;
            };
            // that there are such rows is the region's matter
            let tests = super::rows::has_rows(&own);
            self.tests.retain(|t| !matches!(&t.kind, TestKind::Holds(p) if tests.contains(p)));
            for d in 1..theirs.all.len() {
                let source = match theirs.length(d).and_then(|l| super::constant(&l)) {
                    Some(c) => u64::try_from(c).map_or(StrideSource::Const(1), StrideSource::Const),
                    None => self.passed(k, d, &format!("{}row_{k}_{d}", self.prefix)),
                };
                self.buffers[k].strides[d - 1] = source;
            }
            let asked = asked(self.buffers[k].symbol);
            self.buffers[k].rows = Some(super::RowsPlan { packed_name: own.packed_name, asked, ..theirs });
        }
        self.drop_strides();
    }

    /// A length of a dimension that the kernel is given.
    fn passed(&mut self, buffer: usize, dimension: usize, wish: &str) -> StrideSource {
        let Some(kernel) = self.kernels.first_mut() else { return StrideSource::Const(1) };
        let known = kernel.strides.iter().position(|s| s.buffer == buffer && s.dimension == dimension);
        StrideSource::Passed(known.unwrap_or_else(|| {
            kernel.strides.push(Stride { buffer, dimension, name: wish.to_owned() });
            kernel.strides.len() - 1
        }))
    }

    /// Lengths that nothing counts with are not given.
    fn drop_strides(&mut self) {
        let Some(kernel) = self.kernels.first_mut() else { return };
        let is_used = |k: usize| {
            self.buffers
                .iter()
                .any(|b| b.strides.iter().any(|s| matches!(s, StrideSource::Passed(n) if *n == k)))
        };
        let kept: Vec<usize> = (0..kernel.strides.len()).filter(|&k| is_used(k)).collect();
        kernel.strides = kept.iter().map(|&k| kernel.strides[k].clone()).collect();
        for s in self.buffers.iter_mut().flat_map(|b| &mut b.strides) {
            if let StrideSource::Passed(n) = s {
                *n = kept.iter().position(|k| k == n).unwrap_or_default();
            }
        }
    }
}
