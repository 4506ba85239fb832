//! Functions of other files in words: where they are, and why one is not known.

use analysis::{plain_name, Unlinked};

use crate::function_view::FunctionView;

/// A function by name, with its place where that is another file: `` `axpy` of `blas.c` (line 12) ``.
pub(crate) fn called(view: &FunctionView, name: &str) -> String {
    let plain = plain_name(name);
    match view.doc.program().defined_in(name) {
        Some(at) => format!("`{plain}` of `{}` (line {})", at.file, at.line),
        None => format!("`{plain}`"),
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
