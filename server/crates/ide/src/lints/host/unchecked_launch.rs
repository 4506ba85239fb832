//! `unchecked-launch`: launches of which nobody asks whether they failed.

use analysis::HostFault;

use super::{fixed, Edits};
use crate::kernels::line;
use crate::lints::{Find, Lint, Message};
use crate::repairs::Site;
use crate::words::list;
use crate::{Ask, Doc, Fact, Related, Severity};
use base::{IndexId, Span};
use term::{Op, TermId};

pub(super) const LINT: Lint = Lint {
    code: "unchecked-launch",
    severity: Severity::Hint,
    summary: "Nobody asks whether a launch failed.",
    page: include_str!("../../../../../../docs/codes/unchecked-launch.md"),
    find: Find::Document(unchecked_launch),
    fixes: &[|site, fact| fixed(site, fact, fix)],
};

/// Functions that ask for the error which a launch leaves.
const ASKING: [&str; 2] = ["cudaGetLastError", "cudaPeekAtLastError"];

/// Other launches that are shown; of more it is said how many.
const SHOWN: usize = 4;

/// One cause, one finding: at the document's first launch that nobody asks about.
fn unchecked_launch(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found: Vec<(&front::Item, TermId, Span)> = Vec::new();
    for (item, faults) in doc.unit().items.iter().zip(doc.host_faults()) {
        let mut launches =
            faults.iter().filter(|(_, f)| *f == HostFault::Unchecked).map(|(t, _)| *t).peekable();
        if launches.peek().is_some() && !is_asked_elsewhere(doc, item) {
            found.extend(launches.map(|t| (item, t, item.body.span(t).shifted(item.span.start))));
        }
    }
    // instances of one template launch at one place
    found.sort_by_key(|(.., span)| span.start);
    found.dedup_by_key(|(.., span)| span.start);
    let Some((&(item, t, span), others)) = found.split_first() else { return Vec::new() };
    let related = |(.., span): &(&front::Item, TermId, Span)| Related {
        span: *span,
        message: "nobody asks about this launch, either".into(),
    };
    let mut lines: Vec<String> = others.iter().take(SHOWN).map(|o| line(doc, o.2).to_string()).collect();
    lines.dedup();
    let more = others.len().saturating_sub(SHOWN);
    lines.extend((more > 0).then(|| format!("{more} more")));
    let also = match others.len() {
        0 => String::new(),
        1 => format!(", nor whether the one on line {} did", list(&lines)),
        _ => format!(", nor whether those on lines {} did", list(&lines)),
    };
    let message = format!(
        "Nobody asks whether this launch failed{also}: an invalid configuration or a missing kernel shows in wrong results alone. Call \
         `cudaGetLastError()` after it, and look at what `cudaDeviceSynchronize()` gives."
    );
    let related = others.iter().take(SHOWN).map(related).collect();
    vec![(span, Message { message, related, ..Message::on(item, Fact::Host(t, HostFault::Unchecked)) })]
}

/// Whether somebody may ask what came of a function's launches after it: a function that calls it, or one that cannot be told.
fn is_asked_elsewhere(doc: &Doc, item: &front::Item) -> bool {
    let hosts = || doc.unit().items.iter().filter(|i| !i.is_kernel);
    let mut reach: Vec<&front::Item> = vec![item];
    let mut next = 0;
    while let Some(called) = reach.get(next).copied() {
        // a part that a condition of the build leaves out calls it, too
        let calls = |i: &&front::Item| {
            let mut all = i.body.walk(i.body.root);
            all.any(|t| matches!(i.body.op(t), Op::Call) && i.body.callee_name(t) == Some(&called.name))
                || has_word(doc.slice(i.span), &called.name)
        };
        let more: Vec<&front::Item> =
            hosts().filter(|i| reach.iter().all(|r| r.name != i.name)).filter(calls).collect();
        reach.extend(more);
        next += 1;
    }
    // a place of C++ that is not read may ask as well
    let asks = |i: &&front::Item| {
        unread(doc, i).any(|text| ASKING.iter().any(|n| has_word(text, n)))
            || analysis::asks_of_launches(&i.body, doc.program())
    };
    reach.iter().any(asks)
        || ASKING.iter().any(|n| has_word(doc.slice(doc.text().span()), n))
            && reach.iter().any(|i| is_handed_on(doc, &i.name))
}

/// Whether a function is named other than to call it, or where nothing is read.
fn is_handed_on(doc: &Doc, name: &str) -> bool {
    let items = &doc.unit().items;
    let named = |i: &front::Item| {
        let (body, parents) = (&i.body, i.body.parents());
        let is_callee = |t: TermId| {
            let up = parents.get(t.index()).copied().flatten();
            up.is_some_and(|up| matches!(body.op(up), Op::Call) && body.args(up).first() == Some(&t))
        };
        body.walk(body.root).any(|t| body.as_name(t).is_some_and(|n| &**n == name) && !is_callee(t))
            || unread(doc, i).any(|text| has_word(text, name))
    };
    if items.iter().any(named) {
        return true;
    }
    let mut spans: Vec<Span> = items.iter().map(|i| i.span).collect();
    spans.sort_by_key(|s| s.start);
    let mut end = 0;
    let whole = doc.text().span();
    let last = Span { start: whole.end, end: whole.end };
    spans.into_iter().chain([last]).any(|span| {
        let between = Span { start: end, end: span.start.max(end) };
        end = end.max(span.end);
        // behind a type it is declared
        words(doc.slice(between), name).any(|before| {
            let last = before.trim_end();
            let macros = before.rsplit('\n').next().is_some_and(|l| l.trim_start().starts_with('#'));
            let typed = |c: char| c.is_alphanumeric() || "_*&>".contains(c);
            macros || last.ends_with("return") || !last.ends_with(typed)
        })
    })
}

/// The texts of a function that are not read.
fn unread<'d>(doc: &'d Doc, item: &'d front::Item) -> impl Iterator<Item = &'d str> {
    item.body.rejects().map(|r| doc.slice(r.span.shifted(item.span.start)))
}

fn has_word(text: &str, word: &str) -> bool {
    words(text, word).next().is_some()
}

/// What stands before each place of a word that is in no comment behind code.
fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = &'t str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).filter_map(move |(at, _)| {
        let (before, after) = (text.get(..at)?, text.get(at + word.len()..)?);
        let comment = before.rsplit('\n').next().is_some_and(|line| line.contains("//"));
        (!comment && !before.ends_with(is_part) && !after.starts_with(is_part)).then_some(before)
    })
}

/// A look at the outcome, where the document can print.
fn fix(site: &Site, launch: TermId, fault: &HostFault) -> Option<Edits> {
    let HostFault::Unchecked = fault else { return None };
    let text = site.doc.slice(Span { start: 0, end: site.item.span.start });
    if !["<stdio.h>", "<cstdio>"].iter().any(|h| text.contains(h)) {
        return None;
    }
    let (error, name) = (site.unused("error")?, site.text(*site.body.args(launch).first()?));
    let lines = [
        format!("cudaError_t {error} = cudaGetLastError();"),
        format!("if ({error} != cudaSuccess)"),
        format!(
            "    fprintf(stderr, \"{}: %s\\n\", cudaGetErrorString({error}));",
            name.replace(['"', '\\', '%'], "")
        ),
    ];
    let edits = site.behind(site.statement(launch)?, &lines)?;
    Some(("Look at `cudaGetLastError()` behind it".into(), edits))
}
