//! Functions of other files in words: where they are, and why one is not known.

use std::sync::Arc;

use analysis::{plain_name, Unlinked};
use term::{Op, Storage, TermId};

use crate::function_view::{in_full, line_column, FunctionView};

/// A function by name, with its place where that is another file: `` `axpy` of `blas.c` (line 12) ``.
pub(crate) fn called(view: &FunctionView, name: &str) -> String {
    let plain = plain_name(name);
    match view.doc.program().defined_in(name) {
        Some(at) => format!("`{plain}` of `{}` (line {})", at.file, at.line),
        None => format!("`{plain}`"),
    }
}

/// Which place of a function that is called was not understood, behind a sentence that says so; nothing where it cannot be told.
pub(crate) fn which_place(view: &FunctionView, name: &str) -> String {
    let Some(body) = view.doc.program().body(name) else { return String::new() };
    let what = |t: TermId| match *body.op(t) {
        Op::Reject(r) => Some(in_full(&body.reject(r).reason)),
        Op::Sym(s) if body.symbols[s].storage == Storage::Undeclared => {
            Some(format!("no declaration of `{}` was found", body.symbols[s].name))
        }
        _ => None,
    };
    let mut places: Vec<(u32, TermId, String)> =
        body.walk(body.root).filter_map(|t| Some((body.span(t).start, t, what(t)?))).collect();
    places.sort_by_key(|p| (p.0, p.1));
    let Some((start, _, reason)) = places.into_iter().next() else { return String::new() };
    // of another file the function's first line is said beside its name
    match view.doc.unit().items.iter().find(|i| Arc::ptr_eq(&i.body, body)) {
        Some(item) => format!(" (line {}: {reason})", line_column(view.doc, item.span.start + start).line),
        None => format!(" ({reason})"),
    }
}

/// Why nothing is known of a function that is called, behind a sentence that says so; nothing where nobody looked.
pub(crate) fn why_unknown(view: &FunctionView, name: &str) -> String {
    let program = view.doc.program();
    let plain = plain_name(name);
    match program.unlinked(name) {
        Some(why) => format!(": {}", unlinked(plain, why)),
        None => match (program.searched(), program.defined_in(name)) {
            (_, Some(at)) => {
                format!(
                    ": `{}` (line {}) defines it with another type than it is called with",
                    at.file, at.line
                )
            }
            (Some(searched), None) if program.body(name).is_none() => {
                format!(": it is defined in no file of {searched}")
            }
            _ => String::new(),
        },
    }
}

fn unlinked(name: &str, why: &Unlinked) -> String {
    match why {
        Unlinked::Twice(a, b) => format!("`{a}` and `{b}` define it differently"),
        Unlinked::OtherProgram(file, other) => format!(
            "`{file}`, which defines it, defines `{other}`, as this file does, and so is of another program"
        ),
        Unlinked::OtherMeaning(file, other) => format!(
            "`{file}` defines it with a name, `{}`, that means something else in this file",
            plain_name(other)
        ),
        Unlinked::Replaceable(file) => {
            format!("in `{file}` it is weak or there twice, so that `{name}` may be another function")
        }
    }
}
