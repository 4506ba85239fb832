//! Normalisation of a `while` that counts to a `for`.
//!
//! `while (i < n) { …; i++; }` → `for (; i < n; i++) { … }`, with an `i = 0;` directly before it as the header's first
//! part. Always legal where the step is the last statement and no `continue` skips it.

use base::Span;
use term::{Op, TermId};
use text::Edit;

use super::refusal::{shape, Refusal};
use super::site::Site;
use super::text::{chunks, closing, indentation, tokens, TokenKind};
use super::{Plan, Transformation, With};

pub(super) struct Count;

impl Transformation for Count {
    named!("count");
    fn about(&self) -> &'static str {
        "write a `while` that counts as a `for`"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let body = site.body();
        let t = site.term(id);
        if *body.op(t) != Op::While {
            return shape("it is no `while` loop");
        }
        let control = match &site.of(id).control {
            Ok(c) => c,
            Err(o) => return Err(Refusal::Obstacle(o.clone())),
        };
        if body.origin(t) != term::Origin::Source {
            return shape("it comes out of a macro, where no edit can be made");
        }
        let name = site.name(Some(control.index));
        let list = site.inside(id);
        let statements: Vec<TermId> = body.args(list).to_vec();
        let Some(&last) = statements.last() else { return shape("its body is empty") };
        let writes = body
            .walk(t)
            .filter(|&x| body.op(x).is_write() && body.as_symbol(body.args(x)[0]) == Some(control.index));
        let only = writes.count() == 1;
        let is_step = body.op(last).is_write() && body.as_symbol(body.args(last)[0]) == Some(control.index);
        if !only || !is_step || control.shift != 0 {
            return shape(format!("its last statement is not the only one that moves `{name}`"));
        }
        if site.body().has_own_continue(list) {
            return shape("a `continue` would skip the step");
        }
        let whole = site.span(t);
        let ts = tokens(site.source.text, whole);
        let odd = || Refusal::Shape("its text cannot be taken apart".into());
        let close = closing(&ts, 1).ok_or_else(odd)?;
        let open = ts.get(close + 1).filter(|k| k.kind == TokenKind::Sign(b'{')).ok_or_else(odd)?;
        let end = closing(&ts, close + 1).ok_or_else(odd)?;
        if ts.iter().any(|k| k.kind == TokenKind::Directive) {
            return shape("a preprocessor line stands in it");
        }
        let inside = Span { start: open.span.end, end: ts[end].span.start };
        let all = chunks(site.source.text, inside).ok_or_else(odd)?;
        let at = site.span(last).start;
        let step = *all.last().filter(|c| c.code.start <= at && at < c.code.end).ok_or_else(odd)?;
        if all.len() < 2 {
            return shape("its body is the step alone");
        }
        Plan::new(format!("Count {name} in a `for`"), move || {
            let condition = site.slice(Span { start: ts[1].span.end, end: ts[close].span.start }).trim();
            let code = site.slice(step.code).trim_end_matches(';').trim_end();
            let first = before(site, t, control.index);
            let init = first.map_or("", |s| site.slice(s));
            let head = format!("for ({init}; {condition}; {code})");
            let mut edits = vec![Edit::replace(Span { start: whole.start, end: ts[close].span.end }, head)];
            // from the end of the statement before it: its line goes with it
            let from = all[all.len() - 2].whole.end;
            edits.push(Edit::delete(Span { start: from, end: step.whole.end }));
            if let Some(s) = first {
                edits.push(Edit::delete(Span { start: s.start, end: whole.start }));
            }
            Ok(edits)
        })
    }
}

/// `i = …` directly before the loop, on a line of its own, without its semicolon.
fn before(site: &Site<'_>, t: TermId, index: term::SymbolId) -> Option<Span> {
    let body = site.body();
    let list = site.parent(t).filter(|&p| *body.op(p) == Op::List && site.in_braces(t))?;
    let all = body.args(list);
    let at = all.iter().position(|&x| x == t)?;
    let set = *all.get(at.checked_sub(1)?)?;
    let plain = *body.op(set) == Op::Assign && body.as_symbol(body.args(set)[0]) == Some(index);
    let span = site.span(set);
    let between = site.slice(Span { start: span.end, end: site.span(t).start });
    let own_line = indentation(site.source.text, span.start as usize).len()
        == span.start as usize - super::text::line_start(site.source.text, span.start as usize);
    (plain && between.trim() == ";" && own_line && body.origin(set) == term::Origin::Source).then_some(span)
}
