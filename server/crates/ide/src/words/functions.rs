//! Functions of other files in words: where they are, and why one is not known.

use std::sync::Arc;

use analysis::{plain_name, Obstacle, ObstacleKind, Unlinked};
use front::{ItemKind, Taken};
use term::{Op, Storage, TermId, TypeKind};

use crate::function_view::{in_full, line_column, FunctionView};

/// A function by name, with its place where that is another file: `` `axpy` of `blas.c` (line 12) ``.
pub(crate) fn called(view: &FunctionView, name: &str) -> String {
    let plain = plain_name(name);
    let program = view.doc.program();
    match program.defined_in(name) {
        Some(at) => format!("`{plain}` of `{}` (line {})", program.seen_from_here(&at.file), at.line),
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
    // types of which nothing is known are no other types
    let of_no_type = || {
        let body = view.body();
        let (_, f) =
            body.symbols.iter_ids().find(|(_, s)| *s.name == *name && s.storage == Storage::Function)?;
        let TypeKind::Function { ret, params, .. } = body.types.kind(f.ty) else { return None };
        let mut all = params.iter().copied().chain([*ret]);
        all.find_map(|ty| super::type_without_declaration(body, ty))
    };
    if let Some(why) = program.unlinked(name) {
        return format!(": {}", unlinked(plain, why, |file| program.seen_from_here(file)));
    }
    let has_body = program.body(name).is_some();
    if let Some(why) = has_body.then(|| otherwise_called(view, name)).flatten() {
        return why;
    }
    if let Some(at) = program.defined_in(name) {
        return match of_no_type() {
            Some(ty) => format!(": no declaration of the type `{ty}` was found, which it is declared with"),
            None => format!(
                ": `{}` (line {}) defines it with another type than it is called with",
                program.seen_from_here(&at.file),
                at.line
            ),
        };
    }
    if calls_back(plain) {
        return ": it calls the function that is handed to it".to_owned();
    }
    if let Some(why) = not_known_here(view, plain).or_else(|| left_out(view, plain)) {
        return why;
    }
    match program.searched() {
        _ if has_body => String::new(),
        Some(searched) => format!(": it is not found with a body in {searched}"),
        // alone, or before the files beside it are read
        None => ": it is not defined in this file".to_owned(),
    }
}

/// The reasons of obstacles, each once; of several functions of which nothing is known for one reason as one, where the first stands.
pub(super) fn reasons_together(view: &FunctionView, obstacles: &[&Obstacle]) -> Vec<String> {
    // name, line, why
    let unknown = |o: &Obstacle| match &o.kind {
        ObstacleKind::UnknownCall(f) if super::obstacle(view, o).kind == "unknown-call" => {
            let name = view.symbol(*f);
            let is_direct = called_by_name(view, o.term).is_none_or(|outer| outer == name);
            let why = why_unknown(view, name);
            (is_direct && why.starts_with(IT_IS))
                .then(|| (format!("`{name}` (line {})", view.line(o.term)), why))
        }
        _ => None,
    };
    let mut out: Vec<String> = Vec::new();
    let mut joined: Vec<String> = Vec::new();
    for &o in obstacles {
        let mut reason = super::obstacle(view, o).reason;
        if let Some((_, why)) = unknown(o) {
            if joined.contains(&why) {
                continue;
            }
            let alike = obstacles.iter().filter_map(|o| unknown(o)).filter(|other| other.1 == why);
            let mut named: Vec<String> = alike.map(|other| other.0).collect();
            named.dedup();
            if named.len() > 1 {
                let why = why.replacen(IT_IS, ": they are ", 1);
                let all = super::list(&super::shorten(named, 3));
                reason = format!("{all} may read or write anything{why}");
            }
            joined.push(why);
        }
        if !out.contains(&reason) {
            out.push(reason);
        }
    }
    out
}

/// How [`why_unknown`] begins where a function is defined nowhere that was looked.
const IT_IS: &str = ": it is ";

/// The function that a call names.
pub(super) fn called_by_name<'v>(view: &FunctionView<'v>, call: TermId) -> Option<&'v str> {
    let body = view.body();
    let symbol = &body.symbols[body.callee(call)?];
    matches!(symbol.storage, Storage::Function | Storage::Undeclared | Storage::Builtin)
        .then_some(&*symbol.name)
}

/// Whether a call in a language with classes names a member of an object.
pub(super) fn is_method(view: &FunctionView, call: TermId) -> bool {
    let body = view.body();
    let has_classes = !view.doc.language().offloads;
    has_classes && body.args(call).first().is_some_and(|&f| matches!(body.op(f), Op::Member { .. }))
}

/// Whether it is one of the device's functions that read a texture.
pub(super) fn reads_a_texture(view: &FunctionView, name: &str) -> bool {
    !view.doc.language().offloads
        && matches!(name, "tex1D" | "tex1Dfetch" | "tex2D" | "tex3D" | "tex1DLod" | "tex2DLod")
}

/// Whether it is the index of a loop, which the loop's header alone moves.
fn is_index(view: &FunctionView, t: TermId) -> bool {
    let body = view.body();
    let Some(s) = body.as_symbol(t) else { return false };
    let moves = |l: TermId| body.loop_parts(l).and_then(|parts| parts.step);
    let steps = body.loops(body.root).filter_map(moves);
    steps.into_iter().any(|step| body.walk(step).any(|x| body.as_symbol(x) == Some(s)))
}

/// A subscript, by its text and line: of a function that is called there, where all that the loop's own function shows of it is the call.
pub(super) fn subscript(view: &FunctionView, t: TermId, line: u32) -> String {
    if let Some(f) = handed_to(view, t) {
        return format!("a subscript in {f}, called on line {line},");
    }
    match called_by_name(view, t) {
        Some(name) => format!("a subscript in {}, called on line {line},", called(view, name)),
        // an index is a sum, too: what the pointer before it is set to is none
        None if is_index(view, t) => {
            format!("the place with the subscript `{}` on line {line}", view.text(t))
        }
        // a number is a sum: what stands around it is not
        None if view.body().as_int(t).is_some() => format!("a subscript on line {line}"),
        None => format!("the subscript `{}` on line {line}", view.text(t)),
    }
}

/// The function that a value is handed to, which makes its subscripts of it; `None` of what is a subscript itself.
pub(super) fn handed_to(view: &FunctionView, t: TermId) -> Option<String> {
    let body = view.body();
    let parents = body.parents();
    let mut at = t;
    loop {
        let up = parents.get(at.0 as usize).copied().flatten()?;
        match body.op(up) {
            Op::Call if body.args(up).first() != Some(&at) => {
                return called_by_name(view, up).map(|name| called(view, name));
            }
            Op::Binary(_) | Op::Unary(_) | Op::Cast => at = up,
            _ => return None,
        }
    }
}

/// Whether it is a function of the C library that calls what it is handed.
pub(super) fn calls_back(name: &str) -> bool {
    matches!(plain_name(name), "qsort" | "bsearch" | "atexit" | "signal" | "qsort_r")
}

/// That the document defines a function itself, and what of that was not understood.
fn not_known_here(view: &FunctionView, plain: &str) -> Option<String> {
    let items = view.doc.unit().items.iter();
    let item = items.filter(|i| i.kind == ItemKind::Function).find(|i| *i.name == *plain)?;
    let why = match item.body.rejects().next() {
        Some(rejected) => in_full(&rejected.reason),
        None => {
            let mut types = item.body.symbols.iter_ids().map(|(_, s)| s.ty);
            let unknown = types.find_map(|ty| super::type_without_declaration(&item.body, ty))?;
            format!("no declaration of the type `{unknown}` was found")
        }
    };
    let line = line_column(view.doc, item.span.start).line;
    Some(format!(": its definition on line {line} was not understood ({why})"))
}

/// Why the definition of a function says nothing of its calls, where the calls alone tell.
fn otherwise_called(view: &FunctionView, name: &str) -> Option<String> {
    let body = view.body();
    let is_it =
        |s: &&term::Symbol| *s.name == *name && matches!(s.storage, Storage::Function | Storage::Undeclared);
    let f = body.symbols.iter().find(is_it)?;
    if matches!(body.types.kind(f.ty), TypeKind::Function { variadic: true, .. }) {
        return Some(
            ": it takes any number of arguments (`...`), and such functions are not looked into".to_owned(),
        );
    }
    if f.storage != Storage::Undeclared {
        return None;
    }
    let program = view.doc.program();
    Some(match program.defined_in(name) {
        Some(at) => format!(
            ": no declaration of it was read, so that it is not known whether the one of `{}` (line {}) is meant",
            program.seen_from_here(&at.file),
            at.line
        ),
        None => ": it is called before it is declared".to_owned(),
    })
}

/// Of a function that a header defines where a macro is defined that is not.
fn left_out(view: &FunctionView, plain: &str) -> Option<String> {
    let name = view.doc.unit().headers.iter().find_map(|h| h.defined_under(plain))?;
    let mut choices = view.doc.configuration().iter();
    choices.find(|c| *c.name == *name && c.taken == Taken::NotDefined)?;
    Some(format!(
        ": it is defined by a header only where `{name}` is: name that in the setting `warpwright.defines`, or with `-D`"
    ))
}

/// `seen`: a file's name as people see it.
fn unlinked<'f>(name: &str, why: &'f Unlinked, seen: impl Fn(&'f str) -> &'f str) -> String {
    match why {
        Unlinked::Twice(a, b) => format!("`{}` and `{}` define it differently", seen(a), seen(b)),
        Unlinked::OtherProgram(file, other) => format!(
            "`{}`, which defines it, defines `{other}`, as this file does, and so is of another program",
            seen(file)
        ),
        Unlinked::OtherMeaning(file, other) => format!(
            "`{}` defines it with a name, `{}`, that means something else in this file",
            seen(file),
            plain_name(other)
        ),
        Unlinked::Replaceable(file) => {
            format!("in `{}` it is weak or there twice, so that `{name}` may be another function", seen(file))
        }
    }
}

/// What makes two calls of a function with the same arguments differ, behind its name.
pub(super) fn state(function: &str) -> &'static str {
    match function {
        "clock" | "clock64" | "__clock64" | "time" | "gettimeofday" | "clock_gettime" | "omp_get_wtime" => {
            "reads the clock, and what it says depends on when it is asked"
        }
        "omp_get_thread_num" | "omp_get_num_threads" | "omp_get_max_threads" => {
            "depends on OpenMP's threads, of which a kernel has none"
        }
        "getenv" => "depends on the program's environment",
        _ => "keeps a state from one call to the next",
    }
}
