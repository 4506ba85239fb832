//! The loops and kernels of a document as a list one looks through: a line each, with what it is worth to look at it.

use analysis::{LoopId, Verdict};
use base::Span;
use term::Op;

use crate::actions::kernel_header;
use crate::check::{Findings, LoopFinding};
use crate::cost::{too_little, too_narrow, too_short, too_thin};
use crate::function_view::{one_line, FunctionView};
use crate::hints::{is_offered, label};
use crate::lints::is_parallel;
use crate::plans::Planned;
use crate::quiet::{quiet, Quiet};
use crate::worth::pays;
use crate::{kernel_reports, words, Ask, Severity};

/// A loop of the host or a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Names the loop as [`LoopFinding::key`] does; of a kernel its name.
    pub key: String,
    pub is_kernel: bool,
    /// The header.
    pub span: Span,
    /// Of a kernel its own.
    pub function: String,
    /// The header's text, on one line.
    pub header: String,
    /// Of a loop `independent`, `reduction`, `sequential`, `unknown`; of a kernel `race-free`, `race`, `unknown`.
    pub verdict: &'static str,
    /// The verdict and its first reason.
    pub words: String,
    pub worth: Worth,
    /// Why it is not worth it, a sentence or nothing.
    pub reason: String,
    /// Whether an offload is known to make a kernel.
    pub offload: bool,
    /// Whether it can be marked for one.
    pub mark: bool,
    pub marked: bool,
}

/// What it is worth to look at a loop or a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    /// An offload makes a kernel, and nothing says that it cannot pay. Of kernels: something is found in it.
    Worth,
    /// It does not run at once as it stands, or no kernel is made of it: there is something to do first. Of kernels: nothing is found.
    Open,
    /// It runs within an iteration, or in the kernel, of a loop around it that is parallel.
    Inside,
    /// It is too small to matter, or nothing for a GPU.
    Small,
}

impl Worth {
    pub fn name(self) -> &'static str {
        match self {
            Worth::Worth => "worth",
            Worth::Open => "open",
            Worth::Inside => "inside",
            Worth::Small => "small",
        }
    }
}

/// All of them, in textual order. What a thread of a kernel goes through by itself and what Warpwright wrote is left out.
pub fn entries(ask: &Ask, findings: &Findings) -> Vec<Entry> {
    let mut out: Vec<Entry> = findings.loops.iter().filter_map(|l| one(ask, findings, l)).collect();
    out.extend(kernels(ask, findings));
    out.sort_by_key(|l| l.span.start);
    out
}

fn one(ask: &Ask, findings: &Findings, l: &LoopFinding) -> Option<Entry> {
    let view = findings.view(ask, l.item)?;
    if view.item.is_device_only() || view.is_generated(l.id) {
        return None;
    }
    let of = view.of(l.id);
    let (worth, reason) = worth(&view, l.id);
    let mark = of.mark.is_none()
        && of.control.is_ok()
        && view.can_offload()
        && is_parallel(of)
        && view.is_source(l.id);
    Some(Entry {
        key: l.key.to_string(),
        is_kernel: false,
        span: l.header,
        function: view.item.name.to_string(),
        header: one_line(view.doc.slice(l.header)),
        verdict: match of.verdict {
            Verdict::Independent => "independent",
            Verdict::Reduction => "reduction",
            Verdict::Sequential => "sequential",
            Verdict::Unknown => "unknown",
        },
        words: label(&view, l.id),
        worth,
        reason,
        offload: is_offered(&view, l.id),
        mark,
        marked: of.mark.is_some(),
    })
}

fn worth(view: &FunctionView, id: LoopId) -> (Worth, String) {
    if let Some(why) = quiet(view, id).filter(|q| *q != Quiet::Cheap) {
        let why = match why {
            Quiet::Input => "It prints or reads input in every round.",
            Quiet::Small => "All its rounds together are fewer operations than a launch is worth.",
            Quiet::Few => "A warp has more threads than it has rounds.",
            Quiet::Fills => "It only fills an array with values that need little arithmetic.",
            Quiet::Copies => "It only moves elements from one array to another.",
            Quiet::Pointers => "It only sets pointers, which are no addresses of a device.",
            Quiet::Walks => "It looks for something, or goes along links, and leaves no element behind.",
            Quiet::Text => "It goes through text.",
            Quiet::Host => "It runs on the host of a file with kernels, and offloading starts from C files.",
            Quiet::Times => "It asks the clock.",
            Quiet::Checks => "It asserts something, and computes nothing.",
            Quiet::SetsUp => "It only makes memory or hands it back.",
            Quiet::Macro => "It comes out of a macro or an included file, where no edit can be made.",
            Quiet::Rounds => "Another file of the program sets the floating-point environment.",
            Quiet::Far => "What is in its way is more than one change here would do away with.",
            Quiet::Row => {
                "It goes over one row of many, which may be short: the loop around it has them all."
            }
            Quiet::Cheap => "A kernel for it would be too small.",
            Quiet::Missing => "A header that was not found decides what it does.",
        };
        return (Worth::Small, why.to_owned());
    }
    if view.is_in_parallel(id) {
        return (Worth::Inside, String::new());
    }
    if pays(view, id) {
        return (Worth::Worth, String::new());
    }
    let cost = match view.known_plan(id) {
        Some(Planned::Kernel(outline)) => outline.cost.clone(),
        Some(Planned::Together(shared)) => {
            return (Worth::Small, too_short(&shared.cost).unwrap_or_default())
        }
        _ => return (Worth::Open, String::new()),
    };
    let reason = too_narrow(&cost).or_else(|| too_thin(&cost)).or_else(|| too_little(&cost));
    (Worth::Small, reason.unwrap_or_default())
}

/// Kernels, each with what is known of its races and how much is found in it.
fn kernels(ask: &Ask, findings: &Findings) -> Vec<Entry> {
    let items = ask.doc.unit().items.iter();
    let kernels: Vec<_> =
        items.filter(|i| i.is_kernel && matches!(i.body.op(i.body.root), Op::Function(_))).collect();
    let reports = kernel_reports(ask, &[]);
    let one = |(item, report): (&&front::Item, crate::KernelReport)| {
        let span = kernel_header(&ask.doc, item);
        let found = findings
            .diagnostics
            .iter()
            .filter(|d| item.span.contains(d.span) && d.severity > Severity::Hint)
            .count();
        let races = match report.races.verdict {
            "race-free" => "no races".to_owned(),
            "race" => {
                let mut arrays: Vec<String> =
                    report.races.list.iter().map(|r| words::quoted(&r.object)).collect();
                arrays.dedup();
                format!("race on {}", words::list(&arrays).replace('`', ""))
            }
            _ => "races unknown".to_owned(),
        };
        Entry {
            key: item.name.to_string(),
            is_kernel: true,
            span,
            function: item.name.to_string(),
            header: item.name.to_string(),
            verdict: report.races.verdict,
            words: match found {
                0 => races,
                1 => format!("{races}, 1 finding"),
                n => format!("{races}, {n} findings"),
            },
            worth: if found > 0 { Worth::Worth } else { Worth::Open },
            reason: report.races.reason.unwrap_or_default(),
            offload: false,
            mark: false,
            marked: false,
        }
    };
    // both go through the kernels in the order of the text
    kernels.iter().zip(reports).map(one).collect()
}
