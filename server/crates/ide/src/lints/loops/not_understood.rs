//! `not-understood`: a place with loops that the front end could not read, so they are not listed.

use base::Span;
use front::{ItemKind, Standard, Taken};
use term::RejectKind;

use crate::function_view::{in_full, line_column};
use crate::lints::{Find, Lint, Message};
use crate::{Ask, Doc, Severity};

pub(super) const LINT: Lint = Lint {
    code: "not-understood",
    severity: Severity::Information,
    summary: "A place with loops could not be read, so nothing is said of them.",
    page: include_str!("../../../../../../docs/codes/not-understood.md"),
    find: Find::Document(not_understood),
    fixes: &[],
};

fn not_understood(ask: &Ask) -> Vec<(Span, Message)> {
    // where no offload starts, the host's side is not spoken of
    unread(&ask.doc, crate::quiet::offers_nothing(&ask.doc))
}

/// Whether a document has loops that could not be read, told or not.
pub fn has_unread_loops(doc: &Doc) -> bool {
    !unread(doc, false).is_empty()
}

/// The places with loops that could not be read; `kernels`: not those in functions that run on the host.
fn unread(doc: &Doc, kernels: bool) -> Vec<(Span, Message)> {
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.kind == ItemKind::Function) {
        if item.body.rejects().next().is_none() {
            continue;
        }
        let is_host = kernels && !item.is_kernel && !item.is_device;
        let loops: Vec<Span> = item.body.loops(item.body.root).map(|l| item.body.span(l)).collect();
        for reject in item.body.rejects().filter(|_| !is_host) {
            // inside a loop that is listed, the loop says so itself
            let listed = loops.iter().any(|l| l.contains(reject.span));
            if !listed {
                add(doc, reject.span.shifted(item.span.start), &reject.reason, &mut found);
            }
        }
    }
    // what only C++ has is told once for each reason
    let mut foreign: Vec<(&str, Vec<(Span, &str)>)> = Vec::new();
    let device = ["__global__", "__device__"];
    let items = doc.unit().items.iter().filter(|i| i.kind == ItemKind::Declarations);
    let declared =
        items.flat_map(|i| i.body.rejects().map(|r| (r.kind, &*r.reason, r.span.shifted(i.span.start))));
    let of_file = doc.unit().rejects.iter().map(|r| (r.kind, &*r.reason, r.span));
    for (kind, reason, span) in
        declared.chain(of_file).filter(|(_, reason, _)| !kernels || is_condition(reason))
    {
        let text = doc.slice(span);
        // of kernels and what they call others speak
        let Some(first) =
            doc.language().first_loop(text).filter(|_| !device.iter().any(|w| text.contains(w)))
        else {
            continue;
        };
        // so is what the grammar of C++ does not get through
        let once = kind == RejectKind::Foreign || is_cpp(doc) && !is_condition(reason);
        if !once {
            add(doc, span, reason, &mut found);
            continue;
        }
        let at = (Span::new(span.start as usize + first, span.end as usize), reason);
        let key = reason.split_once("` is ").map_or(reason, |r| r.1);
        match foreign.iter_mut().find(|f| f.0 == key) {
            Some((_, all)) => all.push(at),
            None => foreign.push((key, vec![at])),
        }
    }
    for (_, mut all) in foreign {
        all.sort_by_key(|s| s.0.start);
        let (first, rest) = (all[0], &all[1..]);
        let next = rest.first().map(|s| line_column(doc, s.0.start).line);
        let more = match (rest.len(), next) {
            (1, Some(line)) => format!(" Nor are those on line {line}."),
            (n, Some(line)) => format!(" Nor are those of {n} more places, the next on line {line}."),
            _ => String::new(),
        };
        let known = found.len();
        add(doc, first.0, first.1, &mut found);
        found.iter_mut().skip(known).for_each(|f| f.1.message += &more);
    }
    found
}

fn add(doc: &Doc, span: Span, reason: &str, found: &mut Vec<(Span, Message)>) {
    let text = doc.slice(span);
    let Some(first) = doc.language().first_loop(text) else { return };
    // a loop that is listed says so itself
    let first = span.start + first as u32;
    let listed = doc.unit().items.iter().filter(|i| i.span.touches(first)).any(|i| {
        let mut loops = i.body.loops(i.body.root).map(|l| i.body.span(l).shifted(i.span.start));
        loops.any(|l| l.start == first && span.contains(l))
    });
    if listed {
        return;
    }
    let first_line = text.lines().next().unwrap_or("").trim_end();
    let shown = Span::new(span.start as usize, span.start as usize + first_line.len());
    // what the compiler is told, this is to be told, too
    let missing = doc.configuration().iter().find(|c| c.taken == Taken::NotFound).map(|c| &*c.name);
    let remedy = match (is_condition(reason), missing) {
        // the compiler's own, one of each architecture that is built for
        (true, _) if reason.contains("`#if __CUDA_ARCH__") || reason.contains("`#if defined(__CUDA_ARCH__") => {
            "Name the architecture in the setting `warpwright.defines`, or with `-D __CUDA_ARCH__=…`.".to_owned()
        }
        (true, Some(header)) => format!(
            "`{header}` was not found, and may decide it: name its folder in the setting `warpwright.includePaths`, or with `-I`; or \
             the macros in `warpwright.defines`, or with `-D`."
        ),
        (true, None) => "Name the macros that decide it in the setting `warpwright.defines`, or with `-D`.".to_owned(),
        (false, _) if text.starts_with('{') => {
            "In a file that includes this one inside of a function its loops are analyzed.".to_owned()
        }
        // in C++ templates, names and macros of tests are what stands in the way, seldom a header
        (false, Some(header)) if !is_cpp(doc) => {
            format!("Nothing is said of them. `{header}` was not found, and may be what it needs.")
        }
        (false, _) => "Nothing is said of them.".to_owned(),
    };
    let message =
        format!("Loops here are not analyzed: this place was not understood ({}). {remedy}", in_full(reason));
    found.push((shown, Message { message, ..Message::default() }));
}

/// Whether its grammar is C++'s, CUDA's host code too.
fn is_cpp(doc: &Doc) -> bool {
    doc.language().compiler.as_ref().is_some_and(|c| c.standard == Standard::Cpp)
}

/// Whether a condition of the build is all that keeps a place from being read.
fn is_condition(reason: &str) -> bool {
    reason.starts_with("the condition `#if")
}
