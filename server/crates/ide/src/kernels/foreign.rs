//! Why a kernel written in CUDA's words, for CUDA's warps, is none of the document's target: a word that the target lacks, or
//! means otherwise, or something that goes wrong with the target's lanes only.
//!
//! Deliberately absent: runs. What is said here is known of every schedule, and before anything is run.

use analysis::WidthFault;
use term::{Body, Op};

use super::{known_launch, said, thread_words, Shape};
use crate::Doc;

/// A phrase with the place; `None`: nothing is known to stand against it.
pub(super) fn refusal(doc: &Doc, item: &front::Item, shape: &Shape) -> Option<String> {
    word(doc, item).or_else(|| width(doc, item, shape))
}

/// A word that the target lacks, in the kernel or in a function that it calls.
fn word(doc: &Doc, item: &front::Item) -> Option<String> {
    let row = doc.options().target.row();
    let mut seen: Vec<&Body> = vec![&*item.body];
    let mut next = 0;
    while let Some(&body) = seen.get(next) {
        next += 1;
        for t in body.walk(body.root) {
            let Op::Sym(s) = body.op(t) else { continue };
            let symbol = &body.symbols[*s];
            if let Some(f) = doc.program().body(&symbol.name) {
                if !seen.iter().any(|b| std::ptr::eq(*b, &**f)) {
                    seen.push(f);
                }
            } else if symbol.device.is_some_and(|w| row.spelling(w) != Some(&*symbol.name)) {
                let line = said::line(doc, body.span(t).shifted(item.span.start));
                let place =
                    if std::ptr::eq(body, &*item.body) { format!(" (line {line})") } else { String::new() };
                return Some(format!("{} has no `{}`{place}: {}", row.title, symbol.name, row.lacking));
            }
        }
    }
    None
}

/// What goes wrong with the target's lanes, and does not with those that the kernel's language was made for.
fn width(doc: &Doc, item: &front::Item, shape: &Shape) -> Option<String> {
    let row = doc.options().target.row();
    let own = gpu::CUDA.limits.lanes;
    let launch = known_launch(doc, shape);
    let fault = analysis::right_for_other_lanes(&item.body, doc.program(), &launch, own)?;
    let thread = |s: &analysis::RaceSide| thread_words(s.thread, s.block);
    let what = match &fault {
        WidthFault::Race(w) => {
            let (a, b) = (thread(&w.first), thread(&w.second));
            format!("{a} and {b} touch `{}[{}]` without order", w.object, w.index)
        }
        WidthFault::OutOfRange(o) => {
            let t = thread(&o.side);
            format!("{t} touches `{}[{}]`, and the array has {} elements", o.object, o.index, o.length)
        }
        WidthFault::Barrier(..) => {
            "some threads of a block come to this barrier, and others do not".to_owned()
        }
        WidthFault::Unwritten(u) => {
            format!(
                "{} reads `{}[{}]`, which no thread of its block writes",
                thread(&u.side),
                u.object,
                u.index
            )
        }
    };
    let (function, term) = fault.place();
    let mut items = doc.unit().items.iter();
    let at = items.find(|i| i.body.name == *function).map(|i| i.body.span(term).shifted(i.span.start));
    let place =
        at.map_or_else(|| format!("in `{function}`"), |span| format!("line {}", said::line(doc, span)));
    Some(format!(
        "the kernel is right for warps of {own} threads only ({place}): with {}'s {} lanes {what}. Take numbers of lanes and of \
         warps from `warpSize`, and combine values in shared memory with barriers of the block.",
        row.title, row.limits.lanes
    ))
}
