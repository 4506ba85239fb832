//! Rows that a table of pointers shows, on the host: functions that go through them as the loop does, to see that what is written
//! overlaps nothing else, to put them where a copy can be taken from, and to put results back.
//!
//! ```text
//! spans of a, of b, …   each row's touched part [from, to), and those of pointers and of other arrays, written or not
//!   ── sorted ──>       in order of `from`: does one begin before the end of one that is written, or is it written and begins
//!                       before the end of any?
//! ```

use analysis::{Expr, Param};
use term::{BinOp, IntKind};

use super::checks::test;
use super::{Host, SIZE};
use crate::device::host_expr::{Named, Scope};
use crate::device::host_term::{Term, LONG_LONG};
use crate::plan::{constant, expr_params, name_part, BufferPlan, RowsPart, RowsPlan};

/// Numbers of a stretch of memory: where it begins, where it ends, whether it is written.
const NUMBERS: i128 = 3;
pub(super) const ADDRESS: &str = "uintptr_t";
/// More rows are not gone through.
const MOST_SPANS: i128 = 1 << 40;

/// A function that goes through the rows of one table, and what it is given beside what is its own.
pub(super) struct Through {
    pub(super) parameters: Vec<Term>,
    pub(super) given: Vec<Term>,
    /// By parameter of expressions.
    pub(super) values: Vec<(Param, Term)>,
    pub(super) table: Term,
}

pub(super) fn name(n: &str) -> Term {
    Term::name(n)
}

pub(super) fn add(a: Term, b: Term) -> Term {
    match (&a, &b) {
        (Term::Int(0), _) => b,
        (_, Term::Int(0)) => a,
        (_, Term::Int(c)) if *c < 0 => Term::binary(BinOp::Sub, a, Term::Int(-c)),
        _ => Term::binary(BinOp::Add, a, b),
    }
}

pub(super) fn less(a: Term, b: Term) -> Term {
    match &b {
        Term::Int(c) => add(a, Term::Int(-c)),
        _ => Term::binary(BinOp::Sub, a, b),
    }
}

pub(super) fn each(
    index: &str,
    ty: &str,
    [first, last]: [Term; 2],
    relation: BinOp,
    body: Vec<Term>,
) -> Term {
    let begins = Term::declared(index, ty, Some(first));
    let goes_on = Term::binary(relation, name(index), last);
    Term::head("For", vec![begins, goes_on, Term::head("Increment", vec![name(index)]), Term::List(body)])
}

pub(super) fn returns(value: Term) -> Term {
    Term::head("Return", vec![value])
}

/// One of the numbers of a stretch.
fn number(k: Term, of: i128) -> Term {
    let at = Term::binary(BinOp::Mul, Term::Int(NUMBERS), k);
    name("spans").at(add(at, Term::Int(of)))
}

/// What is done with the part of a row that begins there, or with the pointers that are followed there.
pub(super) type Done<'d> = &'d mut dyn FnMut(&Term, [Term; 2]) -> Vec<Term>;

impl Host<'_> {
    pub(super) fn row_name(&self, what: &str, b: &BufferPlan) -> String {
        format!("{}_{what}_{}", self.helper, name_part(&self.plan.body.symbols[b.symbol].name))
    }

    /// What the functions that go through a table's rows are given.
    fn through(&mut self, b: &BufferPlan, rows: &RowsPlan) -> Through {
        let mut used = Vec::new();
        let all = rows.exprs();
        let ones = rows.parts.iter().flat_map(|p| &p.one).flat_map(|(first, last)| [first, last]);
        for e in all.iter().chain(ones) {
            expr_params(e, &mut used);
        }
        let table = self.given.array(b);
        let ty = self.given.all.iter().find(|g| g.name == table).map_or_else(String::new, |g| g.ty.clone());
        let mut out = Through {
            parameters: vec![Term::declared(&table, &ty, None)],
            given: vec![Term::name(&table)],
            values: Vec::new(),
            table: Term::Name(table),
        };
        for p in used {
            let Some(value) = self.given.value(&p) else { continue };
            let own = match &value.term {
                Term::Name(n) => n.clone(),
                _ => format!("{}value_{}", self.plan.prefix, out.values.len()),
            };
            out.parameters.push(Term::declared(&own, LONG_LONG, None));
            out.given.push(value.term);
            out.values.push((p, Term::Name(own)));
        }
        out
    }

    /// An expression inside such a function.
    pub(super) fn row_expr(&self, through: &Through, e: &Expr) -> Term {
        let row = |k: u32| Term::Name(format!("{}r{k}", self.plan.prefix));
        let values = |p: &Param| -> Option<Named> {
            let term = match p {
                Param::Row(k) => row(*k),
                p => through.values.iter().find(|v| v.0 == *p)?.1.clone(),
            };
            Some(Named { term, kind: IntKind::LongLong })
        };
        Scope { helper: self.helper, values: &values, helpers: Some(&*self.helpers), truths: true }.expr(e)
    }

    /// Goes through the rows of a part: `pointers` is said of the pointers that are followed at one place, `elements` of what is
    /// `wanted` of a row.
    pub(super) fn go_through(
        &self,
        through: &Through,
        part: &RowsPart,
        wanted: &(Expr, Expr),
        [pointers, elements]: [Done<'_>; 2],
    ) -> Vec<Term> {
        let p = &self.plan.prefix;
        let levels = part.one.len();
        let row = |k: usize| Term::Name(format!("{p}r{k}"));
        let at = |k: usize| (0..k).fold(through.table.clone(), |at, k| at.at(row(k)));
        let mut inner: Vec<Term> = Vec::new();
        for (k, one) in part.one.iter().enumerate().rev() {
            let (first, last) = if k + 1 == levels { wanted } else { one };
            let [from, to] = ["first", "last"].map(|n| Term::Name(format!("{p}{n}{k}")));
            let declared = |n: &Term, e: &Expr| {
                let n = n.to_string();
                Term::declared(&n, &format!("const {LONG_LONG}"), Some(self.row_expr(through, e)))
            };
            let ends = [from.clone(), to.clone()];
            let mut of_some = match k + 1 == levels {
                true => elements(&at(k), ends.clone()),
                false => pointers(&at(k), ends.clone()),
            };
            if k + 1 < levels {
                let index = format!("{p}r{k}");
                of_some.push(each(&index, LONG_LONG, ends, BinOp::Le, std::mem::take(&mut inner)));
            }
            let mut out = vec![declared(&from, first), declared(&to, last)];
            match k {
                0 => out.extend(of_some),
                _ => out.push(Term::when(Term::binary(BinOp::Le, from, to), of_some)),
            }
            inner = out;
        }
        inner
    }

    /// Where the part of a row that begins at an element lies on the device.
    pub(super) fn place_of_row(&self, rows: &RowsPlan, through: &Through, first: &Term) -> Term {
        let p = &self.plan.prefix;
        let levels = rows.all.len();
        let mut out = Term::Int(0);
        for (k, (begin, _)) in rows.all.iter().enumerate() {
            let value = if k + 1 == levels { first.clone() } else { Term::Name(format!("{p}r{k}")) };
            let begin = match constant(begin) {
                Some(c) => Term::Int(c),
                None => self.row_expr(through, begin),
            };
            let own = less(value, begin);
            out = match (k, rows.length(k)) {
                (0, _) | (_, None) => own,
                (_, Some(length)) => add(Term::binary(BinOp::Mul, out, self.row_expr(through, &length)), own),
            };
        }
        out
    }

    pub(super) fn row_bytes(&self, b: &BufferPlan, [first, last]: [Term; 2]) -> Term {
        let count = add(less(last, first), Term::Int(1));
        Term::binary(BinOp::Mul, Term::cast(SIZE, count), self.element_size(b))
    }

    /// `_Rows(device,packed,type,bytes,way,take,give)`, and the functions that it calls.
    pub(super) fn rows_array(&mut self, b: &BufferPlan, rows: &RowsPlan, way: &str) -> Term {
        let through = self.through(b, rows);
        let ty = Term::Name(format!("{}*", self.cpp.type_name(b.element)));
        let mut all = Vec::new();
        for (verb, comes) in [("take", b.copy_in), ("give", b.written)] {
            let mut calls = Vec::new();
            for k in 0..rows.parts.len() {
                let there = Term::Name(self.there_name()).deref();
                let call = self.copied(b, rows, &through, (k, verb)).filter(|_| comes);
                calls.extend(call.map(|call| self.where_there(rows, k, there, call)));
            }
            all.push(match <[Term; 1]>::try_from(calls) {
                Ok([one]) if rows.first_bit.is_none() => one,
                Ok(one) => Term::List(one.into()),
                Err(calls) => Term::List(calls),
            });
        }
        let way = self.way_of_parts(rows).unwrap_or_else(|| Term::name(way));
        let of = [Term::name(&b.device_name), Term::name(&rows.packed_name), ty, Term::name(&b.bytes_name)];
        Term::head("_Rows", of.into_iter().chain([way]).chain(all).collect())
    }

    /// The call that copies what is touched, or written, of the rows of a part, and its function.
    fn copied(
        &mut self,
        b: &BufferPlan,
        rows: &RowsPlan,
        through: &Through,
        (k, verb): (usize, &str),
    ) -> Option<Term> {
        let element = self.cpp.type_name(b.element);
        let what = self.plan.body.symbols[b.symbol].name.to_string();
        let what = what.trim_end_matches("[]");
        let part = &rows.parts[k];
        let wanted = if verb == "take" { part.one.last() } else { part.written.as_ref() }?;
        let mut copied = |row: &Term, ends: [Term; 2]| {
            let place = add(name("packed"), self.place_of_row(rows, through, &ends[0]));
            let part = add(row.clone(), ends[0].clone());
            let bytes = self.row_bytes(b, ends);
            let sides = if verb == "take" { [place, part] } else { [part, place] };
            vec![Term::call("memcpy", sides.into_iter().chain([bytes]).collect())]
        };
        let body = self.go_through(through, part, wanted, [&mut |_, _| Vec::new(), &mut copied]);
        let who = if rows.parts.len() == 1 { "the loop uses" } else { "a part of them uses" };
        let (words, packed) = match verb {
            "take" => (format!("What {who} of each row of"), format!("{element}*")),
            _ => {
                ("Puts back what the loop has written of each row of".to_owned(), format!("const {element}*"))
            }
        };
        let mut parameters = through.parameters.clone();
        parameters.push(Term::declared("packed", &packed, None));
        let mut function = self.row_name(verb, b);
        if k > 0 {
            function += &format!("_{}", k + 1);
        }
        self.row_functions.push(Term::comment(&format!("{words} {what}, row by row.")));
        self.row_functions.push(Term::function(&["static"], "void", &function, parameters, body));
        let mut given = through.given.clone();
        given.push(Term::name(&rows.packed_name));
        Some(Term::call(&function, given))
    }

    /// The test that nothing which is written overlaps anything else, and its functions.
    pub(super) fn rows_apart(&mut self, variables: &[term::SymbolId], cells: &[usize]) -> Term {
        let plan = self.plan;
        let (mut parameters, mut given) = (Vec::new(), Vec::new());
        let (mut most, mut notes, mut written) = (Vec::new(), Vec::new(), Vec::new());
        let note = |at: Term, bytes: Term, written: bool, helper: &str| {
            let all = vec![name("spans"), name("count"), at, bytes, Term::Int(written.into())];
            name("count").assign(Term::call(&format!("{helper}_note"), all))
        };
        self.row_functions.extend(sorting(self.helper));
        let in_parts = plan.buffers.iter().filter_map(|b| b.rows.as_ref()).any(RowsPlan::in_parts);
        if in_parts {
            self.row_functions.extend(super::row_parts::widening(self.helper));
        }
        for b in plan.buffers.iter().filter(|b| !b.own) {
            let n = name_part(&plan.body.symbols[b.symbol].name);
            if b.written {
                let name = plan.body.symbols[b.symbol].name.to_string();
                written.push(match &b.rows {
                    Some(_) => format!("rows of {}", name.trim_end_matches("[]")),
                    None => name,
                });
            }
            let Some(rows) = &b.rows else {
                // what is given already may have this name
                let (at, bytes) = (format!("{}at_{n}", plan.prefix), format!("{}bytes_{n}", plan.prefix));
                parameters.push(Term::declared(&at, "const void*", None));
                parameters.push(Term::declared(&bytes, SIZE, None));
                given.extend([self.pointer(b), Term::name(&b.bytes_name)]);
                notes.push(note(Term::Name(at), Term::Name(bytes), b.written, self.helper));
                continue;
            };
            most.push(self.rows_noted(b, rows, (&mut parameters, &mut given), &mut notes));
        }
        let mut places: Vec<([Term; 2], bool)> = Vec::new();
        for &s in variables {
            let is_result = self.is_result(s);
            places.push((self.variable_place(s), is_result));
        }
        for &k in cells {
            let cell = Term::Name(self.given.cell(k));
            places.push(([cell.clone(), cell.deref().size_of()], true));
        }
        for (k, ([at, bytes], written)) in places.into_iter().enumerate() {
            let names = ["at", "bytes"].map(|n| format!("{}{n}{k}", plan.prefix));
            parameters.push(Term::declared(&names[0], "const void*", None));
            parameters.push(Term::declared(&names[1], SIZE, None));
            given.extend([at, bytes]);
            let [at, bytes] = names.map(Term::Name);
            notes.push(note(at, bytes, written, self.helper));
            most.push(Term::Int(1));
        }
        most.push(Term::Int(plan.buffers.len() as i128));
        let most = most.into_iter().reduce(add).unwrap_or(Term::Int(0));
        let body = self.apart_body(most, notes, in_parts);
        let function = format!("{}_rows_apart", self.helper);
        let written = written_words(&written);
        let words = format!("Whether {written} nothing else that the loop uses.");
        self.row_functions.push(Term::comment(&words));
        self.row_functions.push(Term::function(&["static"], "_Bool", &function, parameters, body));
        test(Term::call(&function, given), &format!("{written} nothing else that the loop uses"))
    }

    /// Notes the rows of a table for the test; the answer is how many stretches there are at most.
    fn rows_noted(
        &mut self,
        b: &BufferPlan,
        rows: &RowsPlan,
        (parameters, given): (&mut Vec<Term>, &mut Vec<Term>),
        notes: &mut Vec<Term>,
    ) -> Term {
        let through = self.through(b, rows);
        let there = Term::Name(self.there_name());
        let mut all: Vec<(Term, Term)> =
            through.parameters.iter().cloned().zip(through.given.iter().cloned()).collect();
        let declared = Term::declared(&self.there_name(), LONG_LONG, None);
        all.extend(rows.first_bit.map(|_| (declared, there.clone().deref())));
        for (p, g) in all {
            if !parameters.contains(&p) {
                parameters.push(p);
                given.push(g);
            }
        }
        let function = match rows.parts.as_slice() {
            [part] if !rows.in_parts() => self.spans_function(b, part, &through),
            _ => self.spans_of_parts(b, rows, &through),
        };
        let mut own: Vec<Term> = vec![through.table.clone()];
        own.extend(through.values.iter().map(|v| v.1.clone()));
        own.extend(rows.first_bit.map(|_| there));
        own.extend(rows.in_parts().then(|| name("ends")));
        own.extend([name("spans"), name("count")]);
        notes.push(name("count").assign(Term::call(&function, own)));
        self.most_spans(rows, &through)
    }

    /// What the test does: it takes memory for the stretches, has them noted, and looks.
    fn apart_body(&self, most: Term, notes: Vec<Term>, in_parts: bool) -> Vec<Term> {
        let room = Term::binary(BinOp::Mul, Term::cast(SIZE, name("most")), Term::Int(NUMBERS));
        let room = Term::binary(BinOp::Mul, room, Term::head("SizeOfType", vec![name(ADDRESS)]));
        let to = format!("{ADDRESS}*");
        let mut body = vec![
            Term::declared("most", &format!("const {LONG_LONG}"), Some(most)),
            Term::when(
                Term::binary(BinOp::Gt, name("most"), Term::Wide(MOST_SPANS)),
                vec![returns(Term::Int(0))],
            ),
            Term::declared("spans", &to, Some(Term::cast(&to, Term::call("malloc", vec![room])))),
            Term::when(Term::binary(BinOp::Eq, name("spans"), Term::Int(0)), vec![returns(Term::Int(0))]),
            Term::declared("count", SIZE, Some(Term::Int(0))),
        ];
        if in_parts {
            let each = Term::binary(BinOp::Mul, Term::cast(SIZE, name("most")), Term::Int(2));
            let room = Term::binary(BinOp::Mul, each, Term::head("SizeOfType", vec![name(LONG_LONG)]));
            let to = format!("{LONG_LONG}*");
            let ends = Term::cast(&to, Term::call("malloc", vec![room]));
            body.push(Term::declared("ends", &to, Some(ends)));
            let none = Term::binary(BinOp::Eq, name("ends"), Term::Int(0));
            body.push(Term::when(none, vec![Term::call("free", vec![name("spans")]), returns(Term::Int(0))]));
        }
        body.extend(notes);
        let apart = Term::call(&format!("{}_spans_apart", self.helper), vec![name("spans"), name("count")]);
        body.push(Term::declared("apart", "const _Bool", Some(apart)));
        body.push(Term::call("free", vec![name("spans")]));
        body.extend(in_parts.then(|| Term::call("free", vec![name("ends")])));
        body.push(returns(name("apart")));
        body
    }

    /// How many stretches a table makes at most.
    fn most_spans(&self, rows: &RowsPlan, through: &Through) -> Term {
        let (mut all, mut out) = (None::<Term>, Term::Int(1));
        for k in 0..rows.all.len() - 1 {
            let Some(length) = rows.length(k) else { continue };
            let own = self.row_expr(through, &length);
            let product = match all.take() {
                None => own,
                Some(before) => Term::binary(BinOp::Mul, before, own),
            };
            out = add(out, product.clone());
            all = Some(product);
        }
        match all.filter(|_| rows.in_parts()) {
            // with the pointers that lead to each row
            Some(count) => Term::binary(BinOp::Mul, count, Term::Int(rows.all.len() as i128)),
            None => out,
        }
    }

    fn spans_function(&mut self, b: &BufferPlan, part: &RowsPart, through: &Through) -> String {
        let helper = format!("{}_note", self.helper);
        let noted = |at: Term, bytes: Term, written: bool| {
            let all = vec![name("spans"), name("count"), at, bytes, Term::Int(written.into())];
            vec![name("count").assign(Term::call(&helper, all))]
        };
        let mut pointers = |at: &Term, [first, last]: [Term; 2]| {
            let count = Term::cast(SIZE, add(less(last, first.clone()), Term::Int(1)));
            let bytes = Term::binary(BinOp::Mul, count, at.clone().deref().size_of());
            noted(add(at.clone(), first), bytes, false)
        };
        let mut elements = |at: &Term, ends: [Term; 2]| {
            let bytes = self.row_bytes(b, ends.clone());
            noted(add(at.clone(), ends[0].clone()), bytes, b.written)
        };
        let Some(whole) = part.one.last() else { return String::new() };
        let mut body = self.go_through(through, part, whole, [&mut pointers, &mut elements]);
        body.push(returns(name("count")));
        let mut parameters = through.parameters.clone();
        parameters.push(Term::declared("spans", &format!("{ADDRESS}*"), None));
        parameters.push(Term::declared("count", SIZE, None));
        let function = self.row_name("spans_of", b);
        let what = self.plan.body.symbols[b.symbol].name.to_string();
        let words = format!("Notes where the pointers and the rows of {} lie.", what.trim_end_matches("[]"));
        self.row_functions.push(Term::comment(&words));
        self.row_functions.push(Term::function(&["static"], SIZE, &function, parameters, body));
        function
    }

    /// Whether the function for the loop sets the variable.
    fn is_result(&self, s: term::SymbolId) -> bool {
        let keyed = self.kernel.keyed.iter().flat_map(|k| &k.variables).map(|v| v.symbol);
        let mut set = self.kernel.reductions.iter().map(|r| r.symbol).chain(keyed);
        set.any(|r| r == s) || self.plan.finals.iter().any(|f| f.symbol == s)
    }
}

/// What is written, and that it overlaps something.
fn written_words(written: &[String]) -> String {
    match written {
        [] => "what the loop sets overlaps".to_owned(),
        [one] if !one.starts_with("rows") => format!("{one} overlaps"),
        all => format!("{} overlap", all.join(" and ")),
    }
}

/// The type of a table's pointer in C++: of pointers that are only read, to elements.
pub(super) fn table_type(rows: &RowsPlan, element: &str, written: bool) -> String {
    let fixed = if written { "" } else { "const " };
    let pointers = "*const ".repeat(rows.all.len() - 1);
    format!("{fixed}{element} {}*", pointers.trim_end()).replace("const*", "const *")
}

/// The functions that all tables share: one that notes a stretch, and those that sort and look.
fn sorting(helper: &str) -> Vec<Term> {
    let n = |what: &str| format!("{helper}_{what}");
    let spans = || Term::declared("spans", &format!("{ADDRESS}*"), None);
    let size = |n: &str| Term::declared(n, SIZE, None);
    let one = |e: Term| add(e, Term::Int(1));
    let double = |e: Term| Term::binary(BinOp::Mul, Term::Int(2), e);
    let at = || Term::cast(ADDRESS, name("at"));
    let set = |of: i128, value: Term| number(name("count"), of).assign(value);
    let note = vec![
        set(0, at()),
        set(1, add(at(), name("bytes"))),
        set(2, name("written")),
        returns(one(name("count"))),
    ];
    let note_parameters = vec![
        spans(),
        size("count"),
        Term::declared("at", "const void*", None),
        size("bytes"),
        Term::declared("written", ADDRESS, None),
    ];
    // a heap whose first begins last
    let swapped = |a: &str, b: &str| {
        let of = |which: &str| {
            let at = Term::binary(BinOp::Mul, Term::Int(NUMBERS), name(which));
            name("spans").at(add(at, name("k")))
        };
        let body = vec![
            Term::declared("other", &format!("const {ADDRESS}"), Some(of(a))),
            of(a).assign(of(b)),
            of(b).assign(name("other")),
        ];
        each("k", "int", [Term::Int(0), Term::Int(NUMBERS)], BinOp::Lt, body)
    };
    let child = || one(double(name("top")));
    let is_later = |a: Term, b: Term| Term::binary(BinOp::Lt, number(a, 0), number(b, 0));
    let has_next = Term::binary(BinOp::Lt, one(name("child")), name("count"));
    let next = Term::binary(BinOp::And, has_next, is_later(name("child"), one(name("child"))));
    let sift = vec![Term::head(
        "While",
        vec![
            Term::binary(BinOp::Lt, child(), name("count")),
            Term::List(vec![
                Term::declared("child", SIZE, Some(child())),
                Term::when(next, vec![name("child").assign(one(name("child")))]),
                Term::when(
                    is_later(name("top"), name("child")).not(),
                    vec![Term::head("Return", Vec::new())],
                ),
                swapped("top", "child"),
                name("top").assign(name("child")),
            ]),
        ],
    )];
    let sifted = |top: Term, count: Term| Term::call(&n("sift"), vec![name("spans"), top, count]);
    let down = |index: &str, first: Term, least: i128, body: Vec<Term>| {
        let begins = Term::declared(index, SIZE, Some(first));
        let goes_on = Term::binary(BinOp::Gt, name(index), Term::Int(least));
        let step = name(index).assign(less(name(index), Term::Int(1)));
        Term::head("For", vec![begins, goes_on, step, Term::List(body)])
    };
    let half = Term::binary(BinOp::Div, name("count"), Term::Int(2));
    let before = |n: &str| less(name(n), Term::Int(1));
    let is_written = || Term::binary(BinOp::Ne, number(name("s"), 2), Term::Int(0));
    let begins_before = |end: &str| Term::binary(BinOp::Lt, number(name("s"), 0), name(end));
    let meets_any = Term::binary(BinOp::And, is_written(), begins_before("all"));
    let reaches = |end: &str| Term::binary(BinOp::Gt, number(name("s"), 1), name(end));
    let further = |end: &str| name(end).assign(number(name("s"), 1));
    let zero = Term::declared("first", SIZE, Some(Term::Int(0)));
    let ended = |n: &str| Term::declared(n, ADDRESS, Some(Term::Int(0)));
    let look = vec![
        Term::when(Term::binary(BinOp::Or, begins_before("changed"), meets_any), vec![returns(Term::Int(0))]),
        Term::when(reaches("all"), vec![further("all")]),
        Term::when(Term::binary(BinOp::And, is_written(), reaches("changed")), vec![further("changed")]),
    ];
    let last = Term::declared("last", SIZE, Some(before("rest")));
    let apart = vec![
        Term::comment("sorted by where they begin"),
        down("rest", half, 0, vec![sifted(before("rest"), name("count"))]),
        zero,
        down(
            "rest",
            name("count"),
            1,
            vec![last, swapped("first", "last"), sifted(Term::Int(0), name("last"))],
        ),
        Term::comment("where those before end: all, and what is written"),
        ended("all"),
        ended("changed"),
        each("s", SIZE, [Term::Int(0), name("count")], BinOp::Lt, look),
        returns(Term::Int(1)),
    ];
    vec![
        Term::function(&["static"], SIZE, &n("note"), note_parameters, note),
        Term::function(&["static"], "void", &n("sift"), vec![spans(), size("top"), size("count")], sift),
        Term::comment("Whether no stretch that is written overlaps another."),
        Term::function(&["static"], "_Bool", &n("spans_apart"), vec![spans(), size("count")], apart),
    ]
}
