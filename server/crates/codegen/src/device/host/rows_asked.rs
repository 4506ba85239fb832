//! Rows of a region that are not followed until a run has come to the kernel which uses them: where tables are exchanged, or a nest
//! stands under a condition. A bit for each part of each such table says whether it is there. A kernel that lacks a part ends the
//! run, in which nothing has changed yet, and another begins with that part: now it is known that the program comes to use it.

use term::BinOp;

use super::checks::test;
use super::rows::{add, each, name, returns};
use super::{of_type, Host};
use crate::device::host_term::{Term, LONG_LONG};
use crate::plan::{BufferPlan, RowsPlan};

/// What is given of what is there.
const NUMBER: &str = "long long*";
const ALL: &str = "const void*const*";

impl Host<'_> {
    /// The tables of which not all is there from the first.
    fn asked_tables(&self) -> impl Iterator<Item = (&BufferPlan, &RowsPlan)> {
        let rows = self.plan.buffers.iter().filter_map(|b| Some((b, b.rows.as_ref()?)));
        rows.filter(|(_, r)| r.first_bit.is_some())
    }

    pub(super) fn is_any_asked(&self) -> bool {
        self.asked_tables().next().is_some()
    }

    pub(super) fn there_name(&self) -> String {
        format!("{}there", self.plan.prefix)
    }

    /// That a part of a table is there, of a number with a bit for each part; nothing where that is sure.
    pub(super) fn is_there(&self, rows: &RowsPlan, part: usize, there: Term) -> Option<Term> {
        let bit = rows.first_bit? + u32::try_from(part).ok()?;
        let one = Term::binary(BinOp::BitAnd, there, Term::Wide(1 << bit));
        Some(Term::binary(BinOp::Ne, one, Term::Int(0)))
    }

    /// The way of rows of which perhaps nothing goes in or comes back.
    pub(super) fn way_of_parts(&self, rows: &RowsPlan) -> Option<Term> {
        let first = rows.first_bit?;
        let there = || Term::Name(self.there_name()).deref();
        let any = |is_one: fn(&crate::plan::RowsPart) -> bool| {
            let mine = rows.parts.iter().zip(first..).filter(|(p, _)| is_one(p));
            let bits: i128 = mine.clone().map(|(_, bit)| 1i128 << bit).sum();
            let is_any =
                Term::binary(BinOp::Ne, Term::binary(BinOp::BitAnd, there(), Term::Wide(bits)), Term::Int(0));
            let mut parts = mine.map(|(p, _)| p.is_sure);
            (is_any, bits == 0 || parts.any(|sure| sure))
        };
        let (goes, surely_goes) = any(|_| true);
        let (comes, surely_comes) = any(|p| p.written.is_some());
        (!surely_goes || !surely_comes).then(|| Term::head("_Where", vec![goes, comes]))
    }

    /// A statement about a part, where that is there.
    pub(super) fn where_there(&self, rows: &RowsPlan, part: usize, there: Term, statement: Term) -> Term {
        match self.is_there(rows, part, there) {
            Some(is_there) => Term::when(is_there, vec![statement]),
            None => statement,
        }
    }

    /// Of a nest: that the rows it uses are there. All are asked for, so that all that lack are there in the next run.
    pub(super) fn asked(&mut self) -> Option<Term> {
        let (steps, plan) = (self.steps?, self.plan);
        let prefix = &steps.outer.prefix;
        let (mut all, mut names) = (None::<Term>, Vec::new());
        for b in &plan.buffers {
            let Some(part) = b.rows.as_ref().and_then(|r| r.asked) else { continue };
            let tables = Term::Name(self.given.handed("tables", ALL, &format!("{prefix}tables")));
            let there = Term::Name(self.given.handed("there", NUMBER, &format!("{prefix}there")));
            let array = Term::Name(self.given.array(b));
            let of = vec![tables, there, array, Term::Int(i128::try_from(part).unwrap_or(0))];
            let one = Term::call(&format!("{}_is_there", self.helper), of);
            all = Some(match all {
                None => one,
                Some(before) => Term::binary(BinOp::BitAnd, before, one),
            });
            names.push(plan.body.symbols[b.symbol].name.trim_end_matches("[]").to_owned());
        }
        let is_there = Term::binary(BinOp::Ne, all?, Term::Int(0));
        Some(test(is_there, &format!("what it uses of the rows of {} is there", names.join(" and "))))
    }

    /// The function that looks whether a part is there.
    pub(super) fn there_function(&self) -> Vec<Term> {
        let asked: Vec<&RowsPlan> = self.asked_tables().map(|t| t.1).collect();
        let Some(parts) = asked.iter().map(|r| r.parts.len()).max() else { return Vec::new() };
        let bits = add(Term::binary(BinOp::Mul, name("k"), Term::Int(parts as i128)), name("part"));
        let bit = Term::binary(BinOp::Shl, Term::Wide(1), bits);
        let there = || name("there").deref();
        let known = Term::binary(BinOp::BitAnd, there(), name("bit"));
        let found = vec![
            Term::declared("bit", &format!("const {LONG_LONG}"), Some(bit)),
            Term::when(Term::binary(BinOp::Ne, known, Term::Int(0)), vec![returns(Term::Int(1))]),
            there().assign(Term::binary(BinOp::Add, there(), name("bit"))),
            returns(Term::Int(0)),
        ];
        let is_it = Term::binary(BinOp::Eq, name("tables").at(name("k")), name("rows"));
        let count = Term::Int(asked.len() as i128);
        let body = vec![
            each("k", "int", [Term::Int(0), count], BinOp::Lt, vec![Term::when(is_it, found)]),
            returns(Term::Int(0)),
        ];
        let parameters = vec![
            Term::declared("tables", ALL, None),
            Term::declared("there", NUMBER, None),
            Term::declared("rows", "const void*", None),
            Term::declared("part", "int", None),
        ];
        let words = "Whether a part of a table's rows is there. 0: no, and it is noted that it is used.";
        let name = format!("{}_is_there", self.helper);
        vec![Term::comment(words), Term::function(&["static"], "int", &name, parameters, body)]
    }

    /// Where the steps begin, the tables in the order of their bits.
    pub(super) fn tables_text(&self, named: &dyn Fn(&BufferPlan) -> String) -> Option<String> {
        let all: Vec<String> = self.asked_tables().map(|t| named(t.0)).collect();
        let list = all.join(", ");
        (!all.is_empty())
            .then(|| format!("const void *const {}tables[{}] = {{{list}}};", self.plan.prefix, all.len()))
    }

    /// The function that begins again where a part was lacking.
    pub(super) fn again(&self, once: &str, function: &str) -> Term {
        let sure = self.asked_tables().flat_map(|(_, r)| {
            let bits = r.parts.iter().enumerate().filter(|p| p.1.is_sure);
            bits.map(|(k, _)| 1i128 << (r.first_bit.unwrap_or(0) + k as u32))
        });
        let begins: i128 = sure.sum();
        let p = &self.plan.prefix;
        let (there, before) = (format!("{p}there"), format!("{p}before"));
        let mut given = vec![Term::head("AddressOf", vec![Term::name(&there)])];
        given.extend(self.given.all.iter().map(|g| Term::name(&g.name)));
        let run = vec![
            Term::name(&before).assign(Term::name(&there)),
            Term::when(Term::call(once, given), vec![returns(Term::Int(1))]),
        ];
        let differs = Term::binary(BinOp::Ne, Term::name(&there), Term::name(&before));
        let body = vec![
            Term::declared(&there, LONG_LONG, Some(Term::Wide(begins))),
            Term::declared(&before, LONG_LONG, Some(Term::Int(0))),
            Term::head("While", vec![differs, Term::List(run)]),
            returns(Term::Int(0)),
        ];
        Term::function(&["ExternC"], "int", function, of_type(&self.given.all, |g| &g.ty), body)
    }
}
