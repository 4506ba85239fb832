//! Rows of which a region touches several parts: what lies from the first to the last element that any of them touches of a row
//! is one stretch, when the host looks whether what is written overlaps anything else.
//!
//! ```text
//! ends    of each row that there is room for, in order: first and last element; of none the first is 1, the last 0
//! ```

use term::BinOp;

use super::rows::{add, each, less, name, returns, Through, ADDRESS};
use super::{Host, SIZE};
use crate::device::host_term::{Term, LONG_LONG};
use crate::plan::{constant, BufferPlan, RowsPlan};

/// The function that makes a row's stretch reach further.
pub(super) fn widening(helper: &str) -> Vec<Term> {
    let at = |k: i128| name("at").at(Term::Int(k));
    let set = |k: i128, n: &str| at(k).assign(name(n));
    let body = vec![
        Term::when(Term::binary(BinOp::Gt, at(0), at(1)), vec![set(0, "first"), set(1, "last")]),
        Term::when(Term::binary(BinOp::Lt, name("first"), at(0)), vec![set(0, "first")]),
        Term::when(Term::binary(BinOp::Gt, name("last"), at(1)), vec![set(1, "last")]),
    ];
    let parameters = vec![
        Term::declared("at", &format!("{LONG_LONG}*"), None),
        Term::declared("first", LONG_LONG, None),
        Term::declared("last", LONG_LONG, None),
    ];
    vec![Term::function(&["static"], "void", &format!("{helper}_widen"), parameters, body)]
}

impl Host<'_> {
    /// How long rows are on the device, as far as these are no numbers.
    pub(super) fn row_lengths(&mut self, b: &BufferPlan) -> Vec<Term> {
        let Some(rows) = &b.rows else { return Vec::new() };
        let named = rows.length_names.iter().enumerate().filter(|n| n.1.is_some());
        let lengths: Vec<_> = named.filter_map(|(k, _)| rows.length(k + 1)).collect();
        lengths.iter().map(|l| self.expr(l)).collect()
    }

    /// The function that notes where the pointers and the rows of a table lie of which several parts are touched.
    pub(super) fn spans_of_parts(&mut self, b: &BufferPlan, rows: &RowsPlan, through: &Through) -> String {
        let what = self.plan.body.symbols[b.symbol].name.to_string();
        let what = what.trim_end_matches("[]");
        let values: Vec<Term> = through.values.iter().map(|v| v.1.clone()).collect();
        let widened: Vec<Term> = (0..rows.parts.len())
            .map(|k| {
                let function = self.widened(b, rows, through, k);
                let call = Term::call(&function, values.iter().cloned().chain([name("ends")]).collect());
                self.where_there(rows, k, Term::Name(self.there_name()), call)
            })
            .collect();
        let levels = rows.all.len() - 1;
        let p = self.plan.prefix.clone();
        let row = |k: usize| Term::Name(format!("{p}r{k}"));
        let at = |k: usize| (0..k).fold(through.table.clone(), |at, k| at.at(row(k)));
        let noted = |at: Term, bytes: Term, written: bool| {
            let all = vec![name("spans"), name("count"), at, bytes, Term::Int(written.into())];
            name("count").assign(Term::call(&format!("{}_note", self.helper), all))
        };
        let end = |k: i128| Term::Name(format!("{p}at")).at(Term::Int(k));
        let ends = format!("const {LONG_LONG}*");
        let place =
            add(name("ends"), Term::binary(BinOp::Mul, Term::Int(2), self.number_of_row(rows, through)));
        let mut of_row: Vec<Term> =
            (0..levels).map(|k| noted(add(at(k), row(k)), at(k).deref().size_of(), false)).collect();
        of_row.push(noted(add(at(levels), end(0)), self.row_bytes(b, [end(0), end(1)]), b.written));
        let mut inner = vec![
            Term::declared(&format!("{p}at"), &ends, Some(place)),
            Term::when(Term::binary(BinOp::Le, end(0), end(1)), of_row),
        ];
        for k in (0..levels).rev() {
            let (first, last) = &rows.all[k];
            let range = [self.row_expr(through, first), self.row_expr(through, last)];
            inner = vec![each(&format!("{p}r{k}"), LONG_LONG, range, BinOp::Le, inner)];
        }
        let count = (0..levels).filter_map(|k| rows.length(k)).map(|l| self.row_expr(through, &l));
        let count = count.reduce(|a, b| Term::binary(BinOp::Mul, a, b)).unwrap_or(Term::Int(0));
        let k = || Term::Name(format!("{p}k"));
        let of = |n: i128| name("ends").at(add(Term::binary(BinOp::Mul, Term::Int(2), k()), Term::Int(n)));
        let none = vec![of(0).assign(Term::Int(1)), of(1).assign(Term::Int(0))];
        let mut body = vec![each(&format!("{p}k"), LONG_LONG, [Term::Int(0), count], BinOp::Lt, none)];
        body.extend(widened);
        body.extend(inner);
        body.push(returns(name("count")));
        let mut parameters = through.parameters.clone();
        let there = Term::declared(&self.there_name(), LONG_LONG, None);
        parameters.extend(rows.first_bit.map(|_| there));
        parameters.push(Term::declared("ends", &format!("{LONG_LONG}*"), None));
        parameters.push(Term::declared("spans", &format!("{ADDRESS}*"), None));
        parameters.push(Term::declared("count", SIZE, None));
        let function = self.row_name("spans_of", b);
        let words = format!("Notes where the pointers and the rows of {what} lie.");
        self.row_functions.push(Term::comment(&words));
        self.row_functions.push(Term::function(&["static"], SIZE, &function, parameters, body));
        function
    }

    /// The function that makes the stretches reach over one of the parts.
    fn widened(&mut self, b: &BufferPlan, rows: &RowsPlan, through: &Through, k: usize) -> String {
        let part = &rows.parts[k];
        let helper = format!("{}_widen", self.helper);
        let mut elements = |_: &Term, [first, last]: [Term; 2]| {
            let number = self.number_of_row(rows, through);
            let at = add(name("ends"), Term::binary(BinOp::Mul, Term::Int(2), number));
            vec![Term::call(&helper, vec![at, first, last])]
        };
        let body = match part.one.last() {
            Some(all) => self.go_through(through, part, all, [&mut |_, _| Vec::new(), &mut elements]),
            None => Vec::new(),
        };
        let mut parameters = through.parameters[1..].to_vec();
        parameters.push(Term::declared("ends", &format!("{LONG_LONG}*"), None));
        let function = format!("{}_{}", self.row_name("part_of", b), k + 1);
        self.row_functions.push(Term::function(&["static"], "void", &function, parameters, body));
        function
    }

    /// The number of a row among those that there is room for.
    fn number_of_row(&self, rows: &RowsPlan, through: &Through) -> Term {
        let mut out = Term::Int(0);
        for (k, (begin, _)) in rows.all.iter().enumerate().take(rows.all.len() - 1) {
            let begin = match constant(begin) {
                Some(c) => Term::Int(c),
                None => self.row_expr(through, begin),
            };
            let own = less(Term::Name(format!("{}r{k}", self.plan.prefix)), begin);
            out = match (k, rows.length(k)) {
                (0, _) | (_, None) => own,
                (_, Some(length)) => add(Term::binary(BinOp::Mul, out, self.row_expr(through, &length)), own),
            };
        }
        out
    }
}
