//! What is said of one function, remembered while the function stays on its line.
//!
//! Sentences name lines, so a function that moves to another line is worded again; one that only moves by characters
//! above it is not. Typing without a line break therefore words one function.

use std::sync::Arc;

use analysis::LoopId;
use base::Span;

use crate::document::Key;
use crate::lints::{self, Lint, Said};
use crate::place::Place;
use crate::report::{loop_report, LineColumn, LoopReport};
use crate::Memo;

/// A function in words. Spans are relative to it.
#[derive(Debug)]
pub(crate) struct Worded {
    /// Where the function stood.
    at: LineColumn,
    pub said: Vec<(&'static Lint, Span, Said)>,
    /// In the order of their ids.
    pub loops: Vec<WordedLoop>,
}

/// A loop in words.
#[derive(Debug)]
pub(crate) struct WordedLoop {
    pub id: LoopId,
    pub span: Span,
    pub header: Span,
    pub report: Arc<LoopReport>,
}

/// The words for a function, out of the memo if it is where it was.
pub(crate) fn worded(place: &Place, memo: &Memo, key: Key) -> Arc<Worded> {
    let at = place.line_column(place.item.span.start);
    if let Some(known) = memo.worded(key, &place.facts).filter(|w| w.at == at) {
        return known;
    }
    let loops = place.facts.loops.ids().map(|id| WordedLoop {
        id,
        span: place.body().span(place.of(id).term),
        header: place.relative(place.header(id)),
        report: Arc::new(loop_report(place, id)),
    });
    let new = Arc::new(Worded { at, said: lints::say(place), loops: loops.collect() });
    memo.put_worded(key, &place.facts, new.clone());
    new
}
