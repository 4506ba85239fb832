//! Kernels in a vendor's C++ with a C host that calls the vendor's run time; the row of the plan's target says the words.
//!
//! Whoever compiles kernels at run time needs no include and sees no host text. The host file stays C99 and needs no header of
//! the vendor's; the kernel file holds the host's side, too, and with the row's off switch (`WW_NO_CUDA`) a C function that
//! always leaves the loop to run itself.

mod args;
mod atomics;
mod checked;
mod csharp;
mod expr;
mod host;
mod host_expr;
mod host_term;
mod kernel;
mod keyed;
mod places;
mod promises;
mod reduce;
mod site;
mod stmt;
mod threads;
mod wrapping;

pub(crate) use csharp::BINDING;
use term::device::{Index, Word};

use crate::lines::LineOrigin;
use crate::plan::{Plan, RegionPlan};
use crate::{GeneratedFile, HostEdit, HostHead, HostPages, HostSide, KernelInfo, Output};

/// Writes a plan down.
pub(crate) fn print(plan: &Plan<'_>, pages: &dyn HostPages) -> Result<Output, String> {
    let file_name = file_name(plan);
    let mut host = host::text(plan, &file_name, pages)?;
    let (text, line_map) = kernel::file(plan, &file_name, host.as_ref());
    let kernels = std::slice::from_ref(plan);
    let (text, line_map, kernel_text) = in_language(plan, kernels, (text, line_map), host.as_ref());
    let derivation = host.as_mut().map(|h| std::mem::take(&mut h.derivation)).unwrap_or_default();
    let (head, block) = match host {
        Some(h) => host::edits(plan, h.call),
        None => (HostHead::default(), Vec::new()),
    };
    Ok(Output {
        kernel_file: GeneratedFile { name: file_name, text },
        kernel_text,
        head,
        block,
        line_map,
        kernels: infos(plan, &host::function_name(plan)).collect(),
        build_flags: plan.target.file.flags.to_vec(),
        derivation,
    })
}

/// Writes a region's plan down.
pub(crate) fn print_region(plan: &RegionPlan<'_>, pages: &dyn HostPages) -> Result<Output, String> {
    let outer = &plan.outer;
    let file_name = file_name(outer);
    let mut host = host::region_text(plan, &file_name, pages)?;
    let (text, line_map) = kernel::region_file(plan, &file_name, host.as_ref());
    let (text, line_map, kernel_text) = in_language(outer, &plan.nests, (text, line_map), host.as_ref());
    let derivation = host.as_mut().map(|h| std::mem::take(&mut h.derivation)).unwrap_or_default();
    let (head, block) = match host {
        Some(h) => host::edits(outer, h.call),
        None => (HostHead::default(), Vec::new()),
    };
    let launcher = host::function_name(outer);
    Ok(Output {
        kernel_file: GeneratedFile { name: file_name, text },
        kernel_text,
        head,
        block,
        line_map,
        kernels: plan.nests.iter().flat_map(|n| infos(n, &launcher)).collect(),
        build_flags: outer.target.file.flags.to_vec(),
        derivation,
    })
}

/// What the file is called that the kernel's text stands in.
fn file_name(plan: &Plan<'_>) -> String {
    match plan.host() {
        HostSide::Function => format!("{}.{}", plan.name, plan.target.file.extension),
        HostSide::Method => format!("{}.cs", host::function_name(plan)),
    }
}

/// The file around the kernels' text, with where its lines come from, and that text, where it is not the file itself.
fn in_language(
    plan: &Plan<'_>,
    kernels: &[Plan<'_>],
    (text, line_map): (String, Vec<LineOrigin>),
    host: Option<&host::HostText>,
) -> (String, Vec<LineOrigin>, Option<String>) {
    match plan.host() {
        HostSide::Function => (text, line_map, None),
        HostSide::Method => {
            let (all, origins) = csharp::file(plan, kernels, &text, line_map, host);
            (all, origins, Some(text))
        }
    }
}

/// Whether the call of a region can be made.
pub(crate) fn is_callable(plan: &RegionPlan<'_>) -> bool {
    host::is_callable(plan)
}

/// What is shown of the kernels.
fn infos<'p>(plan: &'p Plan<'_>, launcher: &'p str) -> impl Iterator<Item = KernelInfo> + 'p {
    plan.kernels.iter().map(move |k| KernelInfo {
        name: k.name.clone(),
        launcher: launcher.to_owned(),
        block: k.block,
        axes: k
            .dims
            .iter()
            .map(|d| match &k.threads {
                Some(_) => (d.axis, d.counter_name.clone()),
                None => (d.axis, plan.body.symbols[d.index].name.to_string()),
            })
            .collect(),
        grid: k
            .dims
            .iter()
            .map(|d| {
                format!(
                    "({} + {}) / {}",
                    d.trips_name,
                    k.block[d.axis.number()] - 1,
                    k.block[d.axis.number()]
                )
            })
            .collect(),
    })
}

/// The edits of a host file for loops that were planned on one version of it.
pub(crate) fn host_edits(file: &str, outputs: &[&Output]) -> Vec<HostEdit> {
    let heads: Vec<&crate::HostHead> = outputs.iter().map(|o| &o.head).collect();
    let mut all = host::heads(file, &heads);
    for o in outputs {
        all.extend(o.block.iter().cloned());
    }
    // where one block ends and the next begins at one place, they stay in order
    all.sort_by_key(|e| e.span.start);
    all
}

/// See [`crate::block_start`].
pub(crate) fn block_start(file: &str, first: usize, span: base::Span) -> Option<usize> {
    let places = places::Places::of(file);
    let (begin, end) = (places.arms_at(first), places.arms_at(span.end as usize));
    if places.arms_at(span.start as usize) != end {
        return None;
    }
    if begin == end {
        return Some(first);
    }
    let from = begin.get(end.len()).filter(|_| begin.starts_with(&end))?.0;
    let between = file.get(from..first)?;
    let bare = |l: &str| l.is_empty() || l.starts_with('#') || l.starts_with("//");
    between.lines().all(|l| bare(l.trim())).then_some(from)
}

/// A member's name in CUDA C++.
pub(crate) fn field_name(name: &str) -> String {
    if gpu::is_reserved(name) && term::intrinsic(name).is_none() {
        format!("{name}_")
    } else {
        name.to_string()
    }
}

/// An index variable's part along an axis.
pub(crate) fn index(plan: &Plan<'_>, index: Index, axis: char) -> String {
    format!("{}.{axis}", plan.target.said(Word::Index(index)))
}

/// The first round's number along an axis, and by how much a round of the grid goes on.
pub(crate) fn rounds(plan: &Plan<'_>, axis: char) -> (String, String) {
    let of = |i| index(plan, i, axis);
    let size = of(Index::BlockSize);
    (
        format!("(long long){} * {size} + {}", of(Index::Block), of(Index::Thread)),
        format!("(long long){} * {size}", of(Index::GridSize)),
    )
}

/// The thread's number along an axis, where it is an `int`.
pub(crate) fn number(plan: &Plan<'_>, axis: char) -> String {
    let of = |i| index(plan, i, axis);
    format!("{} * {} + {}", of(Index::Block), of(Index::BlockSize), of(Index::Thread))
}

/// Items separated by commas, broken into lines of at most about 100 characters.
pub(crate) fn wrapped(items: &[String], lead: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut column = lead;
    for (k, item) in items.iter().enumerate() {
        if k > 0 {
            out.push(',');
            if column + item.len() + 3 > 100 {
                out.push('\n');
                out.push_str(indent);
                column = indent.len();
            } else {
                out.push(' ');
                column += 2;
            }
        }
        out.push_str(item);
        column += item.len();
    }
    out
}
