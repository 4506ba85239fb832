//! Short labels beside loops: inlay hints behind headers, and lenses above.

use analysis::{LoopId, Verdict};
use base::Span;
use rustc_hash::FxHashSet;

use crate::check::{Findings, LoopFinding};
use crate::function_view::FunctionView;
use crate::quiet::quiet;
use crate::words;
use crate::{ActionId, Ask, Diagnostic, Doc, Severity};

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

/// The hints of the nests whose first line touches `range`, one each, at the end of that line, where no finding that is underlined says the
/// same. `lenses`: those that can be offloaded have a lens that says so, and a hint only if there is more to say.
pub fn inlay_hints(ask: &Ask, findings: &Findings, range: Span, lenses: bool) -> Vec<InlayHint> {
    let ask = &ask.listing();
    let is_underlined = |d: &&Diagnostic| d.is_of_loop() && d.severity > Severity::Hint;
    let told: FxHashSet<Span> = findings.diagnostics.iter().filter(is_underlined).map(|d| d.span).collect();
    let mut hints: Vec<InlayHint> = Vec::new();
    for l in &findings.loops {
        let visible = l.header.start <= range.end && range.start <= l.header.end;
        let Some(view) = findings.view(ask, l.item).filter(|p| visible && !p.is_generated(l.id)) else {
            continue;
        };
        // a thread of a kernel runs its loops alone
        let is_alone = view.item.is_device_only();
        if is_alone || view.of(l.id).parent.is_some() || quiet(&view, l.id).is_some() {
            continue;
        }
        let parallel = crate::lints::is_parallel(view.of(l.id));
        // a finding that the editor underlines, or a lens, says it already
        let is_said = told.contains(&l.header) || lenses && is_offered(&view, l.id);
        let mut words: Vec<String> = Some(label(&view, l.id)).filter(|_| !is_said).into_iter().collect();
        if parallel && view.can_offload() {
            words.extend(words::caution(&view, l.id));
        }
        let offset = line_end(&ask.doc, l.header.end);
        let is_new = hints.last().is_none_or(|h| h.offset != offset);
        if is_new && !words.is_empty() {
            hints.push(InlayHint { offset, label: words.join(", "), tooltip: sentence(&view, l.id) });
        }
    }
    hints
}

/// The loops of which no finding speaks and that run in no thread of a loop around them, with what they are and, of parallel ones, what
/// that rests on: "loop `j`: unknown (call of f)", "loop `i`: parallel where `a` and `b` do not overlap".
pub fn unspoken<'f>(ask: &Ask, findings: &'f Findings) -> Vec<(&'f LoopFinding, String)> {
    let spoken: FxHashSet<Span> =
        findings.diagnostics.iter().filter(|d| d.is_of_loop()).map(|d| d.span).collect();
    let mut out = Vec::new();
    for l in findings.loops.iter().filter(|l| !spoken.contains(&l.header)) {
        let Some(view) = findings.view(ask, l.item) else { continue };
        let is_alone = view.item.is_device_only();
        if is_alone || view.is_generated(l.id) || view.is_in_parallel(l.id) {
            continue;
        }
        let (name, rests_on) = (view.loop_name(l.id), words::holds_where(&view, l.id));
        out.push((l, format!("{name}: {}{rests_on}", label(&view, l.id))));
    }
    out
}

/// Behind the last character of a line that is no blank.
fn line_end(doc: &Doc, offset: u32) -> u32 {
    let text = doc.text();
    match text.line_span(text.line_of(offset)) {
        Some(line) => line.start + doc.slice(line).trim_end().len() as u32,
        None => offset,
    }
}

/// Whether a lens offers the offload of a loop.
pub(crate) fn is_offered(view: &FunctionView, id: LoopId) -> bool {
    let wanted = crate::lints::is_parallel(view.of(id)) || view.together(id).is_some();
    wanted && view.is_source(id) && view.is_offered(id)
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
        let is_shown = || crate::lints::shown(&view.facts).contains(&l.id) && quiet(&view, l.id).is_none();
        if view.is_generated(l.id) || !is_shown() {
            continue;
        }
        let (title, action) = match is_offered(&view, l.id) {
            true => ("Offload to GPU".to_owned(), ActionId::offload(&l.key)),
            false if l.marked => {
                let why = match view.can_offload() {
                    true => match view.known_obstacle(l.id).and_then(|why| why.label(&view)) {
                        Some(why) => why,
                        None => label(&view, l.id),
                    },
                    false => crate::plans::not_from_c_label(view.doc),
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
            Some(d) => format!("sequential: {}", view.dependent(d)),
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
