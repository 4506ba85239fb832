//! One function of a document with its facts: where its terms are and how they read.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use analysis::{Facts, LoopFacts, LoopId, Object};
use base::{Budget, CancelToken, IndexId, Span};
use term::{BinOp, Body, Op, Origin, SymbolId, TermId, UnOp};

use crate::limits::function_view::{LONGEST, LONGEST_SENTENCE};
use crate::memo::{FunctionFacts, Plans};
use crate::plans::Planning;
use crate::report::LineColumn;
use crate::words::term_text;
use crate::{Ask, Doc};

/// A function and its facts.
#[derive(Clone)]
pub(crate) struct FunctionView<'a> {
    pub ask: &'a Ask,
    pub doc: &'a Doc,
    pub item: &'a front::Item,
    pub facts: Arc<Facts>,
    /// Whether a line of the document was asked for: what was said with it holds only while the function stays there.
    names_lines: Cell<bool>,
    /// Which of its loops get a kernel, as far as that was found out.
    pub(crate) plans: Arc<Plans>,
    pub(crate) planning: Planning,
}

/// What the analysis of another body took ([`FunctionView::with_body`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Analyzed {
    pub steps: u64,
    /// Whether the body is longer than is analyzed to its end.
    pub is_cut_short: bool,
}

impl<'a> FunctionView<'a> {
    /// The function that an item of the question's document is.
    pub fn new(ask: &'a Ask, index: usize, found: FunctionFacts) -> FunctionView<'a> {
        FunctionView::made(ask, &ask.doc.unit().items[index], found)
    }
    /// A function that was made for the question, which may be nowhere in its document.
    pub fn made(ask: &'a Ask, item: &'a front::Item, found: FunctionFacts) -> FunctionView<'a> {
        let (FunctionFacts { facts, plans }, planning) = (found, Planning::default());
        FunctionView { ask, doc: &ask.doc, item, facts, names_lines: Cell::new(false), plans, planning }
    }
    /// Shows `then` the function with another body, analyzed anew, which is nowhere in the document.
    pub fn with_body<R>(
        &self,
        body: Body,
        cancel: &CancelToken,
        then: impl FnOnce(&FunctionView, Analyzed) -> R,
    ) -> R {
        let item = front::Item { body: Arc::new(body), ..self.item.clone() };
        let budget = Budget::with_cancel(u64::MAX, cancel.clone());
        let facts = analysis::analyze(&item.body, self.doc.program(), analysis::SAVE, &budget);
        let analyzed = Analyzed {
            steps: budget.taken() + facts.steps,
            is_cut_short: facts.steps >= analysis::SAVE.function,
        };
        then(&FunctionView::made(self.ask, &item, FunctionFacts::new(facts)), analyzed)
    }
    /// Whether a line was asked for since this place was made.
    pub fn names_lines(&self) -> bool {
        self.names_lines.get()
    }
    pub fn body(&self) -> &'a Body {
        &self.item.body
    }
    /// A loop's facts. Ids come from these facts alone.
    pub fn of(&self, id: LoopId) -> &LoopFacts {
        &self.facts.loops[id]
    }
    /// A term's place in the document.
    pub fn span(&self, term: TermId) -> Span {
        self.absolute(self.body().span(term))
    }
    pub fn absolute(&self, span: Span) -> Span {
        span.shifted(self.item.span.start)
    }
    /// A span of the document, relative to the function.
    pub fn relative(&self, span: Span) -> Span {
        let start = self.item.span.start;
        Span { start: span.start.saturating_sub(start), end: span.end.saturating_sub(start) }
    }
    /// From the loop's first byte to the end of its header; one line at most where it comes out of a macro.
    pub fn header(&self, id: LoopId) -> Span {
        let term = self.of(id).term;
        let whole = self.span(term);
        let args = self.body().args(term);
        let block = match self.body().op(term) {
            Op::For => args.get(3),
            Op::While => args.get(1),
            Op::DoWhile => return self.first_word(whole),
            _ => None,
        };
        let inside = block.map(|b| self.span(*b)).filter(|b| b.start > whole.start && b.start <= whole.end);
        let head = inside.map_or(whole, |b| Span { start: whole.start, end: b.start });
        let text = self.doc.slice(head);
        let text = match inside {
            Some(_) => header_text(text),
            None => text.lines().next().unwrap_or("").trim_end(),
        };
        Span::new(head.start as usize, head.start as usize + text.len())
    }
    fn first_word(&self, span: Span) -> Span {
        let text = self.doc.slice(span);
        let len = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        Span::new(span.start as usize, span.start as usize + len)
    }

    /// Whether a loop around this one can run at once.
    pub fn is_in_parallel(&self, id: LoopId) -> bool {
        let around = std::iter::successors(self.of(id).parent, |&l| self.of(l).parent);
        around.into_iter().any(|l| crate::lints::is_parallel(self.of(l)))
    }
    /// Whether loops of this document can become kernels.
    pub fn can_offload(&self) -> bool {
        self.doc.offloads()
    }
    /// Where the function is.
    pub fn at(&self) -> LineColumn {
        line_column(self.doc, self.item.span.start)
    }
    /// Where an offset of the document is.
    pub fn line_column(&self, offset: u32) -> LineColumn {
        self.names_lines.set(true);
        line_column(self.doc, offset)
    }
    /// 1-based line a term begins on.
    pub fn line(&self, term: TermId) -> u32 {
        self.line_column(self.span(term).start).line
    }

    /// A term as the user wrote it, on one line, shortened in the middle; printed as C where it comes out of a macro.
    pub fn text(&self, term: TermId) -> String {
        let written = self.doc.slice(self.span(term));
        let word = !written.is_empty() && written.chars().all(|c| c.is_alphanumeric() || c == '_');
        let leaf = self.body().args(term).is_empty();
        let text = match self.body().origin(term) {
            Origin::Source => Cow::Borrowed(written),
            // the name of a constant says more than its value
            Origin::Macro if leaf && word && !self.body().semantics.checked_bounds => Cow::Borrowed(written),
            _ => Cow::Owned(term_text(self.body(), term)),
        };
        one_line(&text)
    }
    pub fn symbol(&self, symbol: SymbolId) -> &str {
        self.body().symbols.get(symbol).map_or("?", |s| &s.name)
    }
    /// The function that a call calls, as it is written there.
    pub fn callee(&self, call: TermId, function: SymbolId) -> &str {
        let span = self.body().span(call).shifted(self.item.span.start);
        crate::kernels::as_written(self.doc, span, self.symbol(function))
    }
    /// `a`, `p.x`.
    pub fn object(&self, object: &Object) -> String {
        let mut text = self.symbol(object.symbol).to_owned();
        for field in &object.fields {
            text.push('.');
            text.push_str(field);
        }
        text
    }
    /// What a dependence is on, as the text says it: `a`, `p->n`.
    pub fn dependent(&self, d: &analysis::Dependence) -> String {
        let body = self.body();
        match (body.op(d.source), body.args(d.source), &d.object.fields[..]) {
            (Op::Member { arrow: true, .. }, &[p], [field]) if body.as_symbol(p) == Some(d.object.symbol) => {
                format!("{}->{field}", self.symbol(d.object.symbol))
            }
            _ => self.object(&d.object),
        }
    }
    /// The loop's index, if it counts.
    pub fn index_name(&self, id: LoopId) -> Option<&str> {
        let control = self.of(id).control.as_ref().ok()?;
        let name = self.symbol(control.index);
        // the position in what a loop goes over has no name in the text: the element has
        Some(name.strip_prefix(term::POSITION_OF).unwrap_or(name))
    }
    /// How to call a loop: "loop `i`", or "`while` loop on line 3".
    pub fn loop_name(&self, id: LoopId) -> String {
        if let Some(index) = self.index_name(id) {
            return format!("loop `{index}`");
        }
        let keyword = match self.body().op(self.of(id).term) {
            Op::While => "while",
            Op::DoWhile => "do",
            _ => "for",
        };
        format!("`{keyword}` loop on line {}", self.line(self.of(id).term))
    }
    /// What brings a term that is not in the text where it stands: "a macro", or the file that an `#include` names.
    pub fn brought_by(&self, term: TermId) -> String {
        let line = self.line(term);
        let text = self.doc.text().line(line.saturating_sub(1));
        match text.trim_start().strip_prefix('#').is_some_and(|d| d.trim_start().starts_with("include")) {
            true => format!("the file that line {line} includes"),
            false => "a macro".to_owned(),
        }
    }
    /// Whether the loop's text may be edited.
    pub fn is_source(&self, id: LoopId) -> bool {
        self.body().origin(self.of(id).term) == Origin::Source
    }

    /// Whether the loop stands behind the call that an offload has written: it is what runs where that says no.
    pub fn is_generated(&self, id: LoopId) -> bool {
        let body = self.body();
        let span = body.span(self.of(id).term);
        let mut at = Some(body.root);
        // down to the loop, by spans
        while let Some(term) = at {
            if is_fallback(body, term) {
                return true;
            }
            let around = |t: &&TermId| body.span(**t).contains(span) && **t != self.of(id).term;
            at = body.args(term).iter().find(around).copied();
        }
        false
    }

    /// The loops from `id` inwards whose iterations can all run at once: each parallel, directly and alone inside the
    /// one before. At most three; just `id` where that is a reduction.
    pub fn band(&self, id: LoopId) -> Vec<LoopId> {
        let mut band = vec![id];
        let mut at = id;
        let limit = self.of(id).mark.as_ref().and_then(|m| m.collapse).unwrap_or(3).clamp(1, 3) as usize;
        while band.len() < limit && self.of(at).verdict == analysis::Verdict::Independent {
            let Some(inner) = self.only_loop_inside(at) else {
                break;
            };
            if self.of(inner).verdict != analysis::Verdict::Independent {
                break;
            }
            band.push(inner);
            at = inner;
        }
        band
    }

    /// The threads that need no synchronisation, for a nest whose loop is not parallel as it stands: its statements
    /// together still may be. `None` too for a loop inside one that is parallel or has such a map.
    pub fn thread_map(&self, id: LoopId) -> Option<Arc<analysis::ThreadMap>> {
        if crate::lints::is_parallel(self.of(id)) {
            return None;
        }
        let mut around = self.of(id).parent;
        while let Some(p) = around {
            if crate::lints::is_parallel(self.of(p)) || self.own_thread_map(p).is_some() {
                return None;
            }
            around = self.of(p).parent;
        }
        self.own_thread_map(id)
    }

    fn own_thread_map(&self, id: LoopId) -> Option<Arc<analysis::ThreadMap>> {
        if let Some(known) = self.facts.thread_maps.known(id) {
            return known.ok();
        }
        // what others left nothing for is not remembered: whoever has more steps finds it
        if self.ask.only_known() || self.is_spent() {
            return None;
        }
        let budget = self.ask.budget(u64::MAX);
        let map = analysis::thread_map(self.body(), self.doc.program(), &self.facts, id, &budget).ok();
        self.plans.spend(budget.taken());
        map
    }

    /// What a loop's kernel is to be called; empty: as codegen calls it.
    pub fn kernel_name(&self, id: LoopId) -> String {
        match self.of(id).mark.as_ref().and_then(|m| m.name.clone()) {
            Some(name) => name,
            // what is written is seen by the whole program, and another file may have a `static` function of that name
            None if self.item.is_static => {
                let stem = self.doc.name().split('.').next().unwrap_or("");
                format!("{stem}_{}_{}", self.item.name, self.index_name(id).unwrap_or("loop"))
            }
            None => String::new(),
        }
    }

    /// The loop that is the whole body of this one.
    fn only_loop_inside(&self, id: LoopId) -> Option<LoopId> {
        let body = self.body();
        let block = body.loop_parts(self.of(id).term)?.body;
        let mut statements = body.args(block).iter().filter(|t| !matches!(body.op(**t), Op::Empty));
        let (first, rest) = (statements.next()?, statements.next());
        if rest.is_some() {
            return None;
        }
        self.facts.of_term(*first).filter(|l| self.of(*l).parent == Some(id))
    }
}

/// Whether a statement is what codegen puts around a loop: `if (!smooth_on_gpu(n, a, b)) { … }`, with a condition before the call
/// where it is needed.
pub(crate) fn is_fallback(body: &term::Body, statement: TermId) -> bool {
    let (Op::If, Some(&condition)) = (body.op(statement), body.args(statement).first()) else { return false };
    let (Op::Unary(UnOp::Not), Some(&asked)) = (body.op(condition), body.args(condition).first()) else {
        return false;
    };
    let call = match (body.op(asked), body.args(asked)) {
        (Op::Binary(BinOp::And), &[_, call]) => call,
        _ => asked,
    };
    let name = body.callee(call).map(|f| &*body.symbols[f].name);
    *body.op(call) == Op::Call
        && name.is_some_and(|n| n.ends_with(codegen::ON_GPU) || term::stands_for_a_loop(n))
}

/// Where an offset of a document is.
pub(crate) fn line_column(doc: &Doc, offset: u32) -> LineColumn {
    let line = doc.lines().line_of(offset);
    let start = doc.lines().start_of(line);
    LineColumn { line: line + 1, column: offset.saturating_sub(start) + 1 }
}

/// A name for the loop that stays while the function is not edited: function and number of the loop in it.
pub(crate) fn loop_key(function: &str, occurrence: usize, id: LoopId) -> String {
    match occurrence {
        0 => format!("{function}#{}", id.index()),
        n => format!("{function}~{n}#{}", id.index()),
    }
}

/// The text up to and with the parenthesis that ends a header, given the text up to the body; comments and a brace
/// after it are left out.
fn header_text(text: &str) -> &str {
    let end = text.rfind(')').map_or(text.trim_end().len(), |k| k + 1);
    text.get(..end).unwrap_or(text)
}

/// A sentence of ours, which may quote a condition of the text: whole, unless that is very long; then it ends with a word.
pub(crate) fn in_full(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if out.len() + word.len() > LONGEST_SENTENCE {
            // a quotation that is cut ends too
            let open = out.matches('`').count() % 2 == 1;
            out.push_str(if open { " …`" } else { " …" });
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// White space made single blanks, and the middle left out of what is long.
pub(crate) fn one_line(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = flat.chars().count();
    if count <= LONGEST {
        return flat;
    }
    let head: String = flat.chars().take(LONGEST * 2 / 3).collect();
    let tail: String = flat.chars().skip(count - LONGEST / 4).collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}
