//! Repairs of kernels, and of the host code around launches: small edits, each analysed again and run in the simulator before it is offered.
//!
//! What is edited stands in the file of the lint whose finding it answers ([`Lint::fixes`]); here is what repairs share: the
//! place of a finding with the text around it, and the trial. A repair is tried, not trusted: the finding must be gone with it,
//! no other new, every thread must reach every barrier, and a run must show no more than before. Deliberately absent: repairs
//! that change what threads compute, and places in functions that the kernel calls.
//!
//! [`Lint::fixes`]: crate::lints::Lint

mod atomic;
mod score;
mod trial;

use std::sync::Arc;

use analysis::{KernelFacts, KernelLaunch};
use base::{IndexId, Span};
use term::{Body, Op, TermId};
use text::{Edit, EditSet};

pub(crate) use trial::{smaller, RUN_STEPS};

use crate::{Ask, Diagnostic, Doc, Fact};

/// A repair that was checked.
pub(crate) struct Repair {
    pub title: String,
    pub edits: EditSet,
}

/// How a lint repairs what it found, if it can: the fact is the one the finding rests on.
pub(crate) type Fix = fn(&Site, &Fact) -> Option<Repair>;

/// Whether repairs are only listed, by what the facts say, or made and checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Care {
    Listed,
    Checked,
}

/// The repairs that the facts of a finding suggest, the simplest first: their numbers and titles. Nothing is tried.
pub(crate) fn listed(ask: &Ask, d: &Diagnostic) -> Vec<(usize, String)> {
    (0..d.lint.fixes.len()).filter_map(|k| Some((k, repair(ask, d, k, Care::Listed)?.title))).collect()
}

/// The repair of this number, if it holds.
pub(crate) fn checked(ask: &Ask, d: &Diagnostic, number: usize) -> Option<Repair> {
    repair(ask, d, number, Care::Checked)
}

fn repair(ask: &Ask, d: &Diagnostic, number: usize, care: Care) -> Option<Repair> {
    let fix = d.lint.fixes.get(number)?;
    let evidence = d.evidence.as_deref()?;
    let is_it = |i: &&front::Item| {
        i.name == evidence.function && i.span.start <= d.span.start && d.span.end <= i.span.end
    };
    let item = ask.doc.unit().items.iter().find(is_it)?;
    fix(&Site::new(ask, item, d.span, care), &evidence.fact)
}

/// The function in which something was found, and how carefully it is to be repaired.
pub(crate) struct Site<'d> {
    pub ask: &'d Ask,
    pub doc: &'d Doc,
    pub item: &'d front::Item,
    pub body: &'d Body,
    /// Where the finding stands.
    pub finding: Span,
    parents: Vec<Option<TermId>>,
    care: Care,
}

impl<'d> Site<'d> {
    fn new(ask: &'d Ask, item: &'d front::Item, finding: Span, care: Care) -> Site<'d> {
        let (body, parents) = (&item.body, item.body.parents());
        Site { ask, doc: &ask.doc, item, body, finding, parents, care }
    }

    /// The same for another text of the function.
    pub fn again<'a>(&self, ask: &'a Ask, item: &'a front::Item) -> Site<'a> {
        Site::new(ask, item, self.finding, self.care)
    }
}

impl Site<'_> {
    /// Whether nothing is tried: the facts alone say whether a repair is listed.
    pub fn is_listed(&self) -> bool {
        self.care == Care::Listed
    }

    /// Of the kernel, with the launch that they are for.
    pub fn facts(&self) -> (Arc<KernelFacts>, KernelLaunch) {
        self.ask.kernel_facts(self.item)
    }

    pub fn span(&self, t: TermId) -> Span {
        self.body.span(t).shifted(self.item.span.start)
    }

    pub fn parent(&self, t: TermId) -> Option<TermId> {
        self.parents.get(t.index()).copied().flatten()
    }

    /// The statements around a term that stand in braces, innermost first.
    pub fn statements(&self, t: TermId) -> Vec<TermId> {
        let mut out = Vec::new();
        let mut at = t;
        while let Some(p) = self.parent(at) {
            let braced = matches!(self.body.op(p), Op::List) && self.doc.slice(self.span(p)).starts_with('{');
            if braced && !matches!(self.body.op(at), Op::List) {
                out.push(at);
            }
            at = p;
        }
        out
    }

    /// Whether nothing but blanks stands before the place on its line, and the blanks.
    pub fn indentation(&self, offset: u32) -> Option<String> {
        let line = self.doc.text().line_of(offset);
        let start = self.doc.text().line_span(line)?.start;
        let before = self.doc.slice(Span { start, end: offset });
        before.trim().is_empty().then(|| before.to_owned())
    }

    pub fn before(&self, statement: TermId, call: &str) -> Edit {
        let start = self.span(statement).start;
        match self.indentation(start) {
            Some(blanks) => {
                let end = self.doc.text().line_ending().as_str();
                Edit::insert(start, format!("{call}{end}{blanks}"))
            }
            None => Edit::insert(start, format!("{call} ")),
        }
    }

    pub fn after(&self, statement: TermId, call: &str) -> Edit {
        let span = self.with_semicolon(statement);
        match self.indentation(span.start) {
            Some(blanks) => {
                let end = self.doc.text().line_ending().as_str();
                Edit::insert(span.end, format!("{end}{blanks}{call}"))
            }
            None => Edit::insert(span.end, format!(" {call}")),
        }
    }

    pub fn with_semicolon(&self, statement: TermId) -> Span {
        let span = self.span(statement);
        let rest = self.doc.slice(Span { start: span.end, end: self.item.span.end });
        let blanks = rest.len() - rest.trim_start().len();
        match rest.trim_start().starts_with(';') {
            true => Span { start: span.start, end: span.end + blanks as u32 + 1 },
            false => span,
        }
    }

    /// Without the statement, and without its line if it stands alone there.
    pub fn removed(&self, statement: TermId) -> Option<Edit> {
        self.statements(statement).first().filter(|s| **s == statement)?;
        let span = self.with_semicolon(statement);
        let line = self.doc.text().line_of(span.start);
        let whole = self.doc.text().line_span_with_terminator(line)?;
        let alone = self.doc.slice(whole).trim() == self.doc.slice(span);
        Some(Edit::delete(if alone { whole } else { span }))
    }

    pub fn text(&self, t: TermId) -> &str {
        self.doc.slice(self.span(t))
    }

    /// A name that nothing in the function has.
    pub fn unused(&self, wanted: &str) -> Option<String> {
        let taken = |n: &str| self.body.symbols.iter().any(|s| &*s.name == n);
        let numbered = (2..9).map(|k| format!("{wanted}{k}"));
        std::iter::once(wanted.to_owned()).chain(numbered).find(|n| !taken(n))
    }

    /// The statement of a list, or the only one of a loop or branch, that a term belongs to.
    pub fn statement(&self, t: TermId) -> Option<TermId> {
        let mut at = t;
        while let Some(up) = self.parent(at) {
            if matches!(self.body.op(up), Op::List) {
                return Some(at);
            }
            at = up;
        }
        None
    }

    /// More text behind a statement, in braces of their own where it stands alone.
    pub fn behind(&self, statement: TermId, more: &[String]) -> Option<Vec<Edit>> {
        let list = self.parent(statement)?;
        let end = self.doc.text().line_ending().as_str();
        let span = self.with_semicolon(statement);
        if self.doc.slice(self.span(list)).starts_with('{') {
            let blanks = self.indentation(span.start)?;
            let lines: String = more.iter().map(|m| format!("{end}{blanks}{m}")).collect();
            return Some(vec![Edit::insert(span.end, lines)]);
        }
        // `for (…) k<<<…>>>(…);`
        let header = self.parent(list)?;
        let (outer, blanks) = (self.indentation(self.span(header).start)?, self.indentation(span.start)?);
        let between = Span { start: self.span(header).start, end: span.start };
        let head = self.doc.slice(between);
        let start = between.start + head.trim_end().len() as u32;
        let lines: String = more.iter().map(|m| format!("{end}{blanks}{m}")).collect();
        Some(vec![Edit::insert(start, " {"), Edit::insert(span.end, format!("{lines}{end}{outer}}}"))])
    }
}
