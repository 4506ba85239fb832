//! Which arrays of a file, that no other can name, nobody reads once one of its functions is over: asked when a plan is made,
//! and remembered with the document.

use std::cell::Cell;

use analysis::FileArrays;
use base::{Budget, CancelToken};
use term::{Body, Op, Storage};

use crate::Doc;

/// What is known of them. `None`: it was called off. Adds the steps it took to `counted`.
pub(crate) fn of<'d>(doc: &'d Doc, cancel: &CancelToken, counted: &Cell<u64>) -> Option<&'d FileArrays> {
    doc.file_arrays(|| {
        if !is_all_seen(doc) {
            return Some(FileArrays::default());
        }
        let all: Vec<&Body> = doc.unit().items.iter().map(|i| &*i.body).collect();
        let budget = Budget::with_cancel(analysis::OFFLOAD_STEPS, cancel.clone());
        let found = analysis::file_arrays(&all, doc.program(), &budget);
        counted.set(counted.get() + budget.taken());
        (!cancel.is_cancelled()).then_some(found)
    })
}

/// Whether all that can name the arrays was read: nothing behind their declarations comes from another file or is left out on a
/// condition, and the text has no word of what makes more of functions and names than calls do.
fn is_all_seen(doc: &Doc) -> bool {
    let unit = doc.unit();
    // a file of another name is one that others include
    if doc.language().kernels || !doc.name().ends_with(".c") || !unit.rejects.is_empty() {
        return false;
    }
    if doc.options().project.as_ref().is_some_and(|p| p.includes(doc.name())) {
        return false;
    }
    let declares = |i: &front::Item| {
        let body = &i.body;
        body.walk(body.root).any(|t| match body.op(t) {
            Op::Declare(s) => matches!(body.symbols[*s].storage, Storage::Global { internal: true, .. }),
            _ => false,
        })
    };
    let Some(first) = unit.items.iter().find(|i| declares(i)) else { return false };
    let behind = doc.source().get(first.span.start as usize..).unwrap_or("");
    let is_whole = |line: &str| match line.trim_start().strip_prefix('#') {
        Some(word) => ["define", "undef", "pragma", "line"].iter().any(|w| word.trim_start().starts_with(w)),
        None => true,
    };
    // functions that run by themselves, other names, threads that wait for one another
    const REFUSED: [&str; 12] = [
        "constructor",
        "destructor",
        "alias",
        "asm",
        "__asm__",
        "_Pragma",
        "barrier",
        "flush",
        "critical",
        "atomic",
        "ordered",
        "taskwait",
    ];
    let mut words = doc.source().split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    behind.lines().all(is_whole) && !words.any(|w| REFUSED.contains(&w))
}
