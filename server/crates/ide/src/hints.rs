//! Short labels beside loops: inlay hints behind headers, and lenses above.

use analysis::{LoopId, Verdict};
use base::Span;

use crate::check::Findings;
use crate::function_view::FunctionView;
use crate::words;
use crate::{ActionId, Ask};

/// A few words behind a loop's header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlayHint {
    /// Byte offset of the document before which the hint stands.
    pub offset: u32,
    /// `parallel`, `reduction (+), 1 of 2 accesses strided`, `sequential: a`, `unknown: call of f`.
    pub label: String,
    /// The whole sentence.
    pub tooltip: String,
}

/// A line above a loop, with what a click does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lens {
    /// The loop's or kernel's header.
    pub span: Span,
    pub title: String,
    /// The action a click takes.
    pub action: ActionId,
}

/// The hints of the loops whose header touches `range`.
pub fn inlay_hints(ask: &Ask, findings: &Findings, range: Span) -> Vec<InlayHint> {
    let ask = &ask.listing();
    let mut hints = Vec::new();
    for l in &findings.loops {
        let visible = l.header.start <= range.end && range.start <= l.header.end;
        let Some(view) = findings.view(ask, l.item).filter(|p| visible && !p.is_generated(l.id)) else {
            continue;
        };
        let mut words = vec![label(&view, l.id)];
        let parallel = |l| crate::lints::is_parallel(view.of(l));
        if parallel(l.id) && !view.of(l.id).parent.is_some_and(parallel) && view.can_offload() {
            words.extend(words::caution(&view, l.id));
        }
        hints.push(InlayHint {
            offset: l.header.end,
            label: words.join(", "),
            tooltip: sentence(&view, l.id),
        });
    }
    hints
}

/// The lenses: what can run on the GPU, why marked loops cannot, and kernels that can be simulated.
pub fn lenses(ask: &Ask, findings: &Findings) -> Vec<Lens> {
    let ask = &ask.listing();
    let doc = &ask.doc;
    let mut lenses = Vec::new();
    for l in &findings.loops {
        let Some(view) = findings.view(ask, l.item) else {
            continue;
        };
        if !crate::lints::shown(&view.facts).contains(&l.id) || view.is_generated(l.id) {
            continue;
        }
        let parallel = crate::lints::is_parallel(view.of(l.id));
        let together = view.together(l.id).is_some();
        let offered = (parallel || together) && view.is_source(l.id) && view.is_offered(l.id);
        let (title, action) = match offered {
            true => ("Offload to GPU".to_owned(), ActionId::offload(&l.key)),
            false if l.marked => {
                let why = match view.can_offload() {
                    true => match view.known_obstacle(l.id).and_then(|why| why.label(&view)) {
                        Some(why) => why,
                        None => label(&view, l.id),
                    },
                    false => "not a C file".to_owned(),
                };
                (format!("Not offloaded: {why}"), ActionId::explain(&l.key))
            }
            false => continue,
        };
        lenses.push(Lens { span: l.header, title, action });
    }
    for item in doc.unit().items.iter().filter(|i| i.is_kernel && crate::kernels::is_launched(doc, i)) {
        let (span, action) =
            (crate::actions::kernel_header(doc, item), ActionId::Simulate(item.name.to_string()));
        lenses.push(Lens { span, title: "Simulate this kernel".to_owned(), action });
    }
    lenses
}

/// The verdict and its first reason in a few words; of a parallel loop that gets no kernel, why not.
pub(crate) fn label(view: &FunctionView, id: LoopId) -> String {
    let verdict = verdict_label(view, id);
    // inside a kernel there is nothing to offload
    let in_kernel = view.item.is_kernel || view.item.is_device;
    if in_kernel || !view.can_offload() || !crate::lints::is_parallel(view.of(id)) {
        return verdict;
    }
    match view.known_obstacle(id).and_then(|why| why.label(view)) {
        Some(why) => format!("{verdict}, {}: {why}", words::NOT_YET),
        None => verdict,
    }
}

fn verdict_label(view: &FunctionView, id: LoopId) -> String {
    let l = view.of(id);
    match l.verdict {
        Verdict::Independent => "parallel".to_owned(),
        Verdict::Reduction => {
            let mut operators: Vec<&str> = Vec::new();
            for r in &l.reductions {
                let operator = words::operator(r.op);
                if !operators.contains(&operator) {
                    operators.push(operator);
                }
            }
            format!("reduction ({})", operators.join(", "))
        }
        Verdict::Sequential => match words::main_dependence(view, id) {
            Some(d) => format!("sequential: {}", view.object(&d.object)),
            None => "sequential".to_owned(),
        },
        Verdict::Unknown => match words::told(view, id).first() {
            Some(o) => format!("unknown: {}", words::obstacle_label(view, o)),
            None => "unknown".to_owned(),
        },
    }
}

/// The verdict as a whole message.
pub(crate) fn sentence(view: &FunctionView, id: LoopId) -> String {
    match view.of(id).verdict {
        Verdict::Independent | Verdict::Reduction => words::parallel(view, id),
        Verdict::Sequential => words::sequential(view, id),
        Verdict::Unknown => words::unknown(view, id),
    }
}
