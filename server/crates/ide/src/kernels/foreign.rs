//! Why a kernel written in CUDA's words, for CUDA's warps, is none of the document's target: a word that the target lacks, or
//! means otherwise, or something that goes wrong with the target's lanes only.
//!
//! Deliberately absent: runs. What is said here is known of every schedule, and before anything is run.

use analysis::WidthFault;
use base::Span;
use term::{Body, Op};

use super::{known_launch, said, thread_words, Shape};
use crate::{Ask, Doc};

/// Something that stands against a kernel.
pub(crate) struct Foreign {
    /// In the document; `None` where it stands in a header.
    pub span: Option<Span>,
    /// A phrase with the place.
    pub why: String,
}

/// What stands against a kernel in a launch, for whoever runs it; `None`: nothing is known to.
pub(super) fn refusal(doc: &Doc, item: &front::Item, shape: &Shape) -> Option<String> {
    let width = || {
        let launch = known_launch(doc, shape);
        let own = gpu::Limits::default().lanes;
        let fault = analysis::right_for_other_lanes(&item.body, doc.program(), &launch, own)?;
        Some(width(doc, &fault))
    };
    word(doc, item).or_else(width).map(|f| f.why)
}

/// The same with the launch that the document says, if it says one, out of the kernel's facts.
pub(crate) fn foreign(ask: &Ask, item: &front::Item) -> Option<Foreign> {
    let doc = &ask.doc;
    if doc.options().target.name() == crate::Target::default().name() {
        return None;
    }
    word(doc, item).or_else(|| Some(width(doc, ask.kernel_facts(item).0.other_lanes.as_ref()?)))
}

/// A word that the target lacks, in the kernel or in a function that it calls.
fn word(doc: &Doc, item: &front::Item) -> Option<Foreign> {
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
                let own = std::ptr::eq(body, &*item.body);
                let of = doc.unit().items.iter().find(|i| std::ptr::eq(&*i.body, body));
                let span = of.map(|i| body.span(t).shifted(i.span.start));
                let line = span.filter(|_| own).map(|span| said::line(doc, span));
                let place = line.map_or(String::new(), |line| format!(" (line {line})"));
                let why = format!("{} has no `{}`{place}: {}", row.title, symbol.name, row.lacking);
                return Some(Foreign { span, why });
            }
        }
    }
    None
}

/// What goes wrong with the target's lanes, and does not with those that the kernel's language was made for.
fn width(doc: &Doc, fault: &WidthFault) -> Foreign {
    let row = doc.options().target.row();
    let own = gpu::CUDA.limits.lanes;
    let thread = |s: &analysis::RaceSide| thread_words(s.thread, s.block);
    let what = match fault {
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
    let span = items.find(|i| i.body.name == *function).map(|i| i.body.span(term).shifted(i.span.start));
    let place =
        span.map_or_else(|| format!("in `{function}`"), |span| format!("line {}", said::line(doc, span)));
    let why = format!(
        "the kernel is right for warps of {own} threads only ({place}): with {}'s {} lanes {what}. Take numbers of lanes and of \
         warps from `warpSize`, and combine values in shared memory with barriers of the block.",
        row.title, row.limits.lanes
    );
    Foreign { span, why }
}
