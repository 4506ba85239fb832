//! `short-shared`: a launch that gives less dynamic shared memory than its kernel uses.

use analysis::HostFault;

use super::{fixed, Edits};
use crate::kernels::{shape_of_file, simulate_kernels, Shape, SimulateOptions};
use crate::lints::{Find, Lint};
use crate::repairs::Site;
use crate::repairs::{smaller, RUN_STEPS};
use crate::Severity;
use base::Span;
use term::{Op, TermId};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "short-shared",
    severity: Severity::Error,
    summary: "A launch gives too little dynamic shared memory.",
    page: include_str!("../../../../../../docs/codes/short-shared.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[|site, fact| fixed(site, fact, fix)],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let text = |t| doc.slice(body.span(t).shifted(start));
    Some(match fault {
        HostFault::ShortShared(array, _) if !is_dynamic(doc, array) => return None,
        HostFault::ShortShared(array, None) => format!(
            "The kernel keeps `{array}` in dynamic shared memory, and this launch gives it none: the third argument of `<<<…>>>` says how many \
                 bytes."
        ),
        HostFault::ShortShared(array, Some((given, size))) => format!(
            "The third argument of `<<<…>>>` counts bytes, and `{0}` is the number of threads: an element of `{array}` has {size} bytes, so \
                 there is room for one thread in {size}. Write `{0} * sizeof(…)`.",
            text(*given)
        ),
        _ => return None,
    })
}

/// Whether a kernel declares a shared array of this name without a length. One whose length is not known, because a header was not found,
/// has one all the same.
fn is_dynamic(doc: &crate::Doc, array: &str) -> bool {
    doc.unit().items.iter().filter(|i| i.is_kernel).any(|kernel| {
        let symbols = kernel.body.symbols.iter();
        let mut own = symbols.filter(|s| s.storage == term::Storage::Shared && &*s.name == array);
        own.any(|s| {
            let Some(span) = s.span else { return true };
            let declared = span.shifted(kernel.span.start);
            if !kernel.span.contains(declared) {
                return true;
            }
            let rest = doc.slice(Span { start: declared.end, end: kernel.span.end });
            rest.trim_start().strip_prefix('[').is_none_or(|inside| inside.trim_start().starts_with(']'))
        })
    })
}

/// The third argument of a launch, in bytes: an element for each thread of the block, if runs need that and no more.
fn fix(site: &Site, launch: TermId, fault: &HostFault) -> Option<Edits> {
    let HostFault::ShortShared(array, given) = fault else { return None };
    let (array, given) = (&**array, given.as_ref().map(|g| g.0));
    let body = site.body;
    let &[_, _, block, shared, ..] = body.args(launch) else { return None };
    let name = body.callee_name(launch)?;
    let kernel = site.doc.unit().items.iter().find(|i| i.is_kernel && i.is_called(name))?;
    let symbol =
        kernel.body.symbols.iter().find(|s| s.storage == term::Storage::Shared && &*s.name == array)?;
    let (size, _) = kernel.body.types.size_align(kernel.body.types.element(symbol.ty)?)?;
    let declared = symbol.span?.shifted(kernel.span.start);
    let before = site.doc.slice(Span { start: kernel.span.start, end: declared.start });
    let ty = before.rsplit("__shared__").next()?.trim();
    let words = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ' ';
    if ty.is_empty() || !ty.chars().all(words) || !an_element_a_thread(site, kernel, size) {
        return None;
    }
    let simple = |t: TermId| matches!(body.op(t), Op::Sym(_) | Op::Int(_));
    let bytes = |t: TermId| match simple(t) {
        true => format!("{} * sizeof({ty})", site.text(t)),
        false => format!("({}) * sizeof({ty})", site.text(t)),
    };
    let edit = match given {
        Some(t) => Edit::replace(site.span(t), bytes(t)),
        None if !body.types.as_int(body.ty(block)).is_some_and(|_| simple(block)) => return None,
        None if matches!(body.op(shared), Op::Empty) => {
            let end = site.span(block).end;
            let rest = site.doc.slice(Span { start: end, end: site.span(launch).end });
            if !rest.trim_start().starts_with(">>>") {
                return None;
            }
            Edit::insert(end, format!(", {}", bytes(block)))
        }
        None => Edit::replace(site.span(shared), bytes(block)),
    };
    Some((format!("Give it an element of `{array}` for each thread, in bytes"), vec![edit]))
}

/// Whether runs of a kernel with blocks of two sizes go well with an element of dynamic shared memory a thread, and badly with one less.
fn an_element_a_thread(site: &Site, kernel: &front::Item, size: u64) -> bool {
    if site.is_listed() {
        return true;
    }
    let known = shape_of_file(site.doc, kernel).ok().flatten().map(|x| x.0);
    [64u32, 128].into_iter().all(|threads| {
        let shape = |bytes| {
            let mut s = match &known {
                Some(s) => smaller(s).unwrap_or_else(|| s.clone()),
                None => Shape::default(),
            };
            (s.grid, s.block, s.shared_bytes) = ([2, 1, 1], [threads, 1, 1], bytes);
            (s.values, s.elements) = (Vec::new(), Vec::new());
            s
        };
        let fine = |bytes| {
            let options = SimulateOptions {
                kernel: Some(kernel.name.to_string()),
                launches: vec![(kernel.name.to_string(), shape(bytes))],
                steps: RUN_STEPS,
                ..Default::default()
            };
            let run = simulate_kernels(site.ask, &options).into_iter().next();
            run.map(|r| r.refused.is_none() && r.completed && r.problems.is_empty())
        };
        let all = threads as u64 * size;
        fine(all) == Some(true) && fine(all - size) == Some(false)
    })
}
