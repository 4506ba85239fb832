//! Rows that a table of pointers shows: on the device one array, in which every row has as much room as the longest.
//!
//! ```text
//! a[1] ──> · x x x · ·             on the device   first row  │ x x x · ·│
//! a[2] ──>     x x x x x                           second row │ · x x x x│ whose column 1 is what the kernel calls a[2][2]
//! ```
//!
//! The kernel's subscripts are those of an array whose rows have that length. The host follows exactly the pointers that the loop
//! follows, and copies exactly what it touches of each row; and since rows lie wherever they lie it looks first whether one that is
//! written overlaps anything else. Deliberately absent: how the host's functions are written (`device::host::rows`).

use std::collections::BTreeSet;

use analysis::{Buffer, Expr, Param, Pred, Rows};
use term::{Body, SymbolId, TermId};

use super::build::Builder;
use super::{bounds, simplify, BufferPlan, RowLengths, Stride, StrideSource, Test, TestKind};

/// What the host does for the rows of a buffer.
#[derive(Clone, PartialEq, Debug)]
pub struct RowsPlan {
    /// The pointer to the table.
    pub table: TermId,
    /// The least and the greatest value of each subscript, outermost first: what there is room for on the device.
    pub all: Vec<(Expr, Expr)>,
    /// What is touched: of a region perhaps several parts, which may overlap.
    pub parts: Vec<RowsPart>,
    /// Memory of the host's in which rows stand as on the device.
    pub packed_name: String,
    /// Of a region and its nests: what the lengths of dimensions are called in the steps, from the second dimension on; nothing
    /// where they are numbers.
    pub length_names: Vec<Option<String>>,
    /// Of a region's table of which not all is there from the first: the bit that says so of its first part.
    pub first_bit: Option<u32>,
    /// Of a nest: the number of the part that it uses, where it has to be tested that it is there.
    pub asked: Option<usize>,
    /// Where arrays know their lengths.
    pub lengths: Option<RowLengths>,
}

/// Rows that are touched, and of each what is touched.
#[derive(Clone, PartialEq, Debug)]
pub struct RowsPart {
    /// First and last value of each subscript, where those before it have certain values.
    pub one: Vec<(Expr, Expr)>,
    /// First and last element of one row that come back.
    pub written: Option<(Expr, Expr)>,
    /// Whether it is surely touched.
    pub is_sure: bool,
}

impl RowsPlan {
    /// How many values a subscript may have: the length of that dimension on the device.
    pub(crate) fn length(&self, level: usize) -> Option<Expr> {
        let (first, last) = self.all.get(level)?;
        Some(sum(vec![last.clone(), times(first, -1), Expr::Int(1)]))
    }

    /// The number of an element on the device, were the first to lie at its subscripts.
    pub(crate) fn flat(&self, of: &[Expr]) -> Expr {
        let mut out = Expr::Int(0);
        for (level, e) in of.iter().enumerate() {
            let length = self.length(level);
            let before = match (&length, length.as_ref().and_then(bounds::constant), bounds::constant(&out)) {
                (_, _, Some(0)) | (None, ..) => None,
                (_, Some(n), _) => Some(times(&out, n)),
                (Some(length), _, Some(n)) => Some(times(length, n)),
                (Some(length), ..) => Some(Expr::Product(Box::new(out), Box::new(length.clone()))),
            };
            out = sum(before.into_iter().chain([e.clone()]).collect());
        }
        out
    }

    /// Every expression that the host evaluates, those of one row with the largest of subscripts in place of the row's own.
    pub(crate) fn exprs(&self) -> Vec<Expr> {
        let largest = |p: Param| match p {
            Param::Row(k) => {
                self.all.get(k as usize).map(|(first, last)| Expr::Max(vec![first.clone(), last.clone()]))
            }
            _ => None,
        };
        let ends = self.all.iter().chain(self.parts.iter().flat_map(|p| p.one.iter().chain(&p.written)));
        let mut out: Vec<Expr> =
            ends.flat_map(|(a, b)| [replaced(a, &largest), replaced(b, &largest)]).collect();
        out.extend((0..self.all.len()).filter_map(|k| self.length(k)));
        out
    }

    /// Whether what is touched is told only by several parts, or by the run.
    pub(crate) fn in_parts(&self) -> bool {
        self.parts.len() > 1 || self.first_bit.is_some()
    }

    /// What the length of a dimension is called where the region's steps hand it on.
    pub(crate) fn length_name(&self, level: usize) -> Option<&str> {
        self.length_names.get(level.checked_sub(1)?)?.as_deref()
    }
}

fn sum(of: Vec<Expr>) -> Expr {
    let of: Vec<Expr> = of.into_iter().filter(|e| *e != Expr::Int(0)).collect();
    match <[Expr; 1]>::try_from(of) {
        Ok([one]) => one,
        Err(of) if of.is_empty() => Expr::Int(0),
        Err(of) => Expr::Add(of),
    }
}

fn times(e: &Expr, k: i128) -> Expr {
    match (bounds::constant(e).and_then(|c| c.checked_mul(k)), k) {
        (Some(c), _) => Expr::Int(c),
        (None, 1) => e.clone(),
        (None, k) => Expr::Mul(k, Box::new(e.clone())),
    }
}

/// An expression with others in place of parameters.
fn replaced(e: &Expr, by: &dyn Fn(Param) -> Option<Expr>) -> Expr {
    let one = |e: &Expr| Box::new(replaced(e, by));
    let all = |es: &[Expr]| es.iter().map(|e| replaced(e, by)).collect();
    match e {
        Expr::Int(_) => e.clone(),
        Expr::Param(p) => by(*p).unwrap_or_else(|| e.clone()),
        Expr::Add(es) => Expr::Add(all(es)),
        Expr::Min(es) => Expr::Min(all(es)),
        Expr::Max(es) => Expr::Max(all(es)),
        Expr::Mul(k, e) => Expr::Mul(*k, one(e)),
        Expr::FloorDiv(e, k) => Expr::FloorDiv(one(e), *k),
        Expr::Product(a, b) => Expr::Product(one(a), one(b)),
        Expr::Quotient(a, b) => Expr::Quotient(one(a), one(b)),
        Expr::Select(p, a, b) => Expr::Select(Box::new(replaced_in(p, by)), one(a), one(b)),
    }
}

fn replaced_in(p: &Pred, by: &dyn Fn(Param) -> Option<Expr>) -> Pred {
    let all = |ps: &[Pred]| ps.iter().map(|p| replaced_in(p, by)).collect();
    match p {
        Pred::True | Pred::False => p.clone(),
        Pred::NonNegative(e) => Pred::NonNegative(replaced(e, by)),
        Pred::Zero(e) => Pred::Zero(replaced(e, by)),
        Pred::And(ps) => Pred::And(all(ps)),
        Pred::Or(ps) => Pred::Or(all(ps)),
        Pred::Not(p) => Pred::Not(Box::new(replaced_in(p, by))),
    }
}

fn under((first, last): &(Expr, Expr), positive: &[Expr]) -> (Expr, Expr) {
    (simplify::under(first, positive), simplify::under(last, positive))
}

impl RowsPart {
    pub(super) fn of(rows: &Rows, is_sure: bool, positive: &[Expr]) -> RowsPart {
        RowsPart {
            one: rows.subscripts.iter().map(|s| under(&s.one, positive)).collect(),
            written: rows.written.as_ref().map(|w| under(w, positive)),
            is_sure,
        }
    }
}

impl<'a> Builder<'_, 'a> {
    /// The rows of a buffer, and how the kernel counts them.
    pub(super) fn rows(
        &mut self,
        b: &Buffer,
        n: &str,
        positive: &[Expr],
        (buffer, strides): (usize, &mut Vec<Stride>),
    ) -> Option<(RowsPlan, Vec<StrideSource>, (Expr, Expr))> {
        let rows = b.rows.as_ref()?;
        let all = rows.subscripts.iter().map(|s| under(&s.all, positive)).collect();
        let packed_name = self.host_name(&format!("{n}_rows"));
        let parts = vec![RowsPart::of(rows, true, positive)];
        let plan = RowsPlan {
            table: rows.table,
            all,
            parts,
            packed_name,
            length_names: Vec::new(),
            first_bit: None,
            asked: None,
            lengths: self.row_lengths(n),
        };
        let mut sources = Vec::new();
        for d in 1..plan.all.len() {
            let length = plan.length(d).and_then(|l| bounds::constant(&l));
            sources.push(match length.and_then(|c| u64::try_from(c).ok()).filter(|&c| c > 0) {
                Some(c) => StrideSource::Const(c),
                None => {
                    let dim = if plan.all.len() == 2 { String::new() } else { d.to_string() };
                    strides.push(Stride {
                        buffer,
                        dimension: d,
                        name: self.host_name(&format!("{n}_row{dim}")),
                    });
                    StrideSource::Passed(strides.len() - 1)
                }
            });
        }
        let ends = |end: fn(&(Expr, Expr)) -> &Expr| {
            plan.flat(&plan.all.iter().map(|s| end(s).clone()).collect::<Vec<_>>())
        };
        let extent = (ends(|s| &s.0), ends(|s| &s.1));
        Some((plan, sources, extent))
    }

    /// That there are rows, and elements in them; for what lies in memory between them nothing is said.
    pub(super) fn row_tests(&self, buffers: &[BufferPlan], positive: &[Expr]) -> Vec<Test> {
        let rows = buffers.iter().filter_map(|b| b.rows.as_ref());
        let some = rows.flat_map(has_rows);
        some.filter(|p| !simplify::follows(p, positive))
            .map(|p| Test { kind: TestKind::Holds(p), meets: None })
            .collect()
    }

    /// The symbols of memory that the host goes through to find rows, and keeps apart from what is written: tables, and the
    /// pointers in them.
    pub(super) fn followed(&self, buffers: &[BufferPlan]) -> BTreeSet<SymbolId> {
        let body = self.body;
        let mut out = BTreeSet::new();
        for b in buffers.iter().filter(|b| b.rows.is_some()) {
            let Some((mut at, _)) = body.path_term(b.symbol).and_then(|t| body.subscripted(t)) else {
                continue;
            };
            loop {
                out.extend(body.as_symbol(at));
                out.extend(body.path_of(at).into_iter().flat_map(|p| [p.own, p.family]));
                match body.subscripted(at).filter(|_| is_pointer(body, at)) {
                    Some((base, _)) => at = base,
                    None => break,
                }
            }
        }
        out
    }
}

/// That there are values of each subscript.
pub(super) fn has_rows(rows: &RowsPlan) -> Vec<Pred> {
    let some = |(first, last): &(Expr, Expr)| Pred::NonNegative(sum(vec![last.clone(), times(first, -1)]));
    rows.all.iter().map(some).collect()
}

fn is_pointer(body: &Body, t: TermId) -> bool {
    matches!(body.types.kind(body.ty(t)), term::TypeKind::Pointer { .. })
}
