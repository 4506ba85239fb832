//! Short labels beside loops: inlay hints behind headers, and lenses above.

use analysis::{LoopId, Verdict};
use base::Span;

use crate::check::Findings;
use crate::place::Place;
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
        let Some(place) = findings.place(ask, l.item).filter(|p| visible && !p.is_generated(l.id)) else {
            continue;
        };
        let mut words = vec![label(&place, l.id)];
        let parallel = |l| crate::lints::is_parallel(place.of(l));
        if parallel(l.id) && !place.of(l.id).parent.is_some_and(parallel) && place.can_offload() {
            words.extend(words::caution(&place, l.id));
        }
        hints.push(InlayHint {
            offset: l.header.end,
            label: words.join(", "),
            tooltip: sentence(&place, l.id),
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
        let Some(place) = findings.place(ask, l.item) else {
            continue;
        };
        if !crate::lints::shown(&place.facts).contains(&l.id) || place.is_generated(l.id) {
            continue;
        }
        let parallel = crate::lints::is_parallel(place.of(l.id));
        let offered = parallel && place.is_source(l.id) && place.is_offered(l.id);
        let (title, action) = match offered {
            true => ("Offload to GPU".to_owned(), ActionId::offload(&l.key)),
            false if l.marked => {
                let why = match place.can_offload() {
                    true => label(&place, l.id),
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
            (crate::actions::kernel_header(doc, item), crate::actions::simulation(&item.name));
        lenses.push(Lens { span, title: "Simulate this kernel".to_owned(), action });
    }
    lenses
}

/// The verdict and its first reason in a few words.
pub(crate) fn label(place: &Place, id: LoopId) -> String {
    let l = place.of(id);
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
        Verdict::Sequential => match words::main_dependence(place, id) {
            Some(d) => format!("sequential: {}", place.object(&d.object)),
            None => "sequential".to_owned(),
        },
        Verdict::Unknown => match l.obstacles.first() {
            Some(o) => format!("unknown: {}", words::obstacle_label(place, o)),
            None => "unknown".to_owned(),
        },
    }
}

/// The verdict as a whole message.
pub(crate) fn sentence(place: &Place, id: LoopId) -> String {
    match place.of(id).verdict {
        Verdict::Independent | Verdict::Reduction => words::parallel(place, id),
        Verdict::Sequential => words::sequential(place, id),
        Verdict::Unknown => words::unknown(place, id),
    }
}
