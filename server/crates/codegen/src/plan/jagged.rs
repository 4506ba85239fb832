//! Arrays of arrays in programs whose arrays know their lengths (C#): on the device all of every row, and beside it how long each is.
//!
//! ```text
//! a[0] ──> x x x             on the device   │ x x x · ·│   and   a_lengths   3
//! a[1] ──> x x x x x                         │ x x x x x│                     5
//! a[2] = null                                │ · · · · ·│                    -1
//! ```
//!
//! The kernel holds every subscript of a row against that row's length, so that one outside, and a row that is not there, are
//! noticed as other faults are. That the rows which are written are arrays of their own is tested before. Deliberately absent:
//! tables of more than two dimensions, and regions around several kernels.

use std::collections::BTreeMap;

use term::{Body, Op, SymbolId, TermId};

use super::build::Builder;
use super::{BufferPlan, Plan};
use crate::access::{chain, Tables};

/// What the host does for rows that know their lengths, beside what it does for any.
#[derive(Clone, PartialEq, Debug)]
pub struct RowLengths {
    /// On the host: how long the longest row is, an array with the length of each, and that in bytes.
    pub(crate) longest_name: String,
    pub(crate) lengths_name: String,
    pub(crate) bytes_name: String,
    /// Where the lengths lie on the device, which the kernel calls so as well.
    pub(crate) device_name: String,
}

/// `a[i].Length`, and that of `row` where `double[] row = a[i];` is declared: the rows, and the subscript of the row.
pub(crate) fn row_length(body: &Body, tables: &Tables, t: TermId) -> Option<(SymbolId, TermId)> {
    body.callee(t).filter(|f| body.library.contains(f) && &*body.symbols[*f].name == LENGTH)?;
    let &[_, row, dimension] = body.args(t) else { return None };
    if body.as_int(dimension) != Some(0) {
        return None;
    }
    let row = body.as_symbol(row).map_or(Some(row), |s| declared_row(body, s, t))?;
    let (rows, subs) = chain(body, tables, row)?;
    match subs.as_slice() {
        &[Some(sub)] if tables.contains(&rows) => Some((rows, sub)),
        _ => None,
    }
}

/// What a variable was just declared to be, where its length is asked for the variable beside it: nothing runs in between.
fn declared_row(body: &Body, s: SymbolId, length: TermId) -> Option<TermId> {
    let mut of = body.said.lengths.iter().filter(|l| l.array == s);
    let beside = of.next().filter(|_| of.next().is_none())?.length;
    let is_asked = |t: &TermId| *body.op(*t) == Op::Declare(beside) && body.args(*t) == [length];
    let is_declared = |t: TermId| *body.op(t) == Op::Declare(s);
    for list in body.walk(body.root).filter(|&t| *body.op(t) == Op::List) {
        let statements = body.args(list);
        let Some(k) = statements.iter().position(is_asked) else { continue };
        let before = *statements.get(k.checked_sub(1)?)?;
        return body.args(before).first().copied().filter(|_| is_declared(before));
    }
    None
}

/// The function that tells an array's length.
const LENGTH: &str = "Array.GetLength";

impl Builder<'_, '_> {
    /// The names that the host needs for rows of a program whose arrays know their lengths.
    pub(super) fn row_lengths(&mut self, n: &str) -> Option<RowLengths> {
        if !self.is_managed() {
            return None;
        }
        Some(RowLengths {
            longest_name: self.host_name(&format!("{n}_longest")),
            lengths_name: self.host_name(&format!("{n}_lengths")),
            bytes_name: self.host_name(&format!("{n}_lengths_bytes")),
            device_name: self.host_name(&format!("gpu_{n}_lengths")),
        })
    }

    /// Subscripts in rows, each with the rows and the subscript of its row: all of them, since nothing else tells that there is
    /// a row.
    pub(super) fn subscripts_in_rows(&self, tables: &Tables) -> BTreeMap<TermId, (SymbolId, TermId)> {
        let body = self.body;
        let mut out = BTreeMap::new();
        for t in body.walk(self.target).filter(|&t| *body.op(t) == Op::Index) {
            let Some((rows, subs)) = chain(body, tables, t).filter(|c| tables.contains(&c.0)) else {
                continue;
            };
            if let &[Some(row), Some(sub)] = subs.as_slice() {
                out.insert(sub, (rows, row));
            }
        }
        out
    }

    /// Whether a reference is to a row: that it is none, the kernel notices.
    pub(super) fn is_row(&self, t: TermId) -> bool {
        let body = self.body;
        let buffers = &self.input.offload.buffers;
        let tables: Tables = buffers.iter().filter(|b| b.rows.is_some()).map(|b| b.symbol).collect();
        let leads = |t: TermId| {
            chain(body, &tables, t).is_some_and(|(s, subs)| tables.contains(&s) && subs.len() == 1)
        };
        match body.as_symbol(t) {
            // `double[] row = a[i];`
            Some(s) => {
                let mut declared = body.walk(self.target).filter(|&d| *body.op(d) == Op::Declare(s));
                let (one, more) = (declared.next(), declared.next());
                more.is_none()
                    && one.and_then(|d| body.args(d).first().copied()).is_some_and(leads)
                    && !self.is_assigned(s)
            }
            None => leads(t),
        }
    }

    /// Rows come whole, and go back whole where any is written.
    pub(super) fn whole_rows(&self, buffers: &mut [BufferPlan]) {
        for b in buffers.iter_mut().filter(|b| self.is_managed() && b.rows.is_some()) {
            b.copy_in = true;
        }
    }
}

impl Plan<'_> {
    /// How the host sees to the lengths of rows, where arrays know theirs.
    pub(crate) fn lengths_of_rows(&self, rows: SymbolId) -> Option<&RowLengths> {
        self.buffers.iter().find(|b| b.symbol == rows)?.rows.as_ref()?.lengths.as_ref()
    }
}
