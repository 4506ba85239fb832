//! "Offload to GPU": rewrites the loop into a kernel in a new file and a checked launch in its place.

use super::{offload_threads, with_remarks, Action, ActionKind, At, LoopAction, ResolveError, Resolved};
use crate::lints::is_parallel;
use crate::offload::{offload, Refused, Which};
use crate::plans::{in_a_macro, NoKernel, GENERATED};
use crate::words::{capitalized, NOT_YET};
use analysis::{MetBy, Verdict};

pub(super) static ACTION: LoopAction =
    LoopAction { name: "offload", offer: |at| offer(at).or_else(|| offload_threads::offer(at)), edit };

fn offer(at: &At) -> Option<Action> {
    let l = at.view.of(at.finding.id);
    let disabled = refusal(at);
    let together = at.view.together(at.finding.id).map(|shared| shared.kernels);
    if !at.view.can_offload() || (!is_parallel(l) && l.mark.is_none() && together.is_none()) {
        return None;
    }
    let band = at.view.band(at.finding.id);
    let mut notes: Vec<String> = Vec::new();
    match together {
        Some(1) => notes.push("its nest, arrays stay".to_owned()),
        Some(n) => notes.push(format!("its {n} nests, arrays stay")),
        None => {}
    }
    if together.is_none() && band.len() > 1 {
        notes.push(format!("{} loops", band.len()));
    }
    if l.verdict == Verdict::Reduction {
        notes.push("reduction".to_owned());
    }
    if l.conditions.iter().any(|c| c.met_by == MetBy::RunTimeCheck) {
        notes.push("checked at run time".to_owned());
    }
    let name = at.view.loop_name(at.finding.id).replace('`', "");
    Some(Action {
        id: at.id(&ACTION),
        title: with_remarks(&format!("Offload to {}: {name}", gpu(at.doc)), &notes),
        kind: ActionKind::Offload,
        diagnostics: at.diagnostics(),
        preferred: disabled.is_none(),
        disabled,
    })
}

/// Why no kernel is made of the loop: found out now, if nobody did before.
pub(super) fn refusal(at: &At) -> Option<String> {
    let l = at.view.of(at.finding.id);
    if at.view.is_generated(at.finding.id) {
        return Some(GENERATED.to_owned());
    }
    if !at.view.is_source(at.finding.id) {
        return Some(in_a_macro(at.view, at.finding.id));
    }
    if at.view.together(at.finding.id).is_some() {
        return None;
    }
    match l.verdict {
        Verdict::Independent | Verdict::Reduction => no_kernel(at),
        _ if at.view.thread_map(at.finding.id).is_some() => no_kernel(at),
        Verdict::Sequential => Some(crate::words::sequential(at.view, at.finding.id)),
        Verdict::Unknown => Some(crate::words::unknown(at.view, at.finding.id)),
    }
}

fn no_kernel(at: &At) -> Option<String> {
    let why: NoKernel = at.thorough.known_obstacle(at.finding.id)?;
    let words = why.words(at.thorough, at.finding.id);
    Some(match why.label(at.thorough) {
        Some(label) => format!("{} ({label}). {words}", capitalized(NOT_YET)),
        None => words,
    })
}

fn edit(at: &At) -> Result<Resolved, ResolveError> {
    if let Some(reason) = refusal(at) {
        return Err(ResolveError::Refused(reason));
    }
    let which = Which::Key(at.finding.key.to_string());
    match offload(at.ask, at.findings, &which) {
        Ok(done) => Ok(Resolved::Edit(done.edit)),
        Err(Refused::Cancelled) => Err(ResolveError::Cancelled),
        Err(Refused::Stale) => Err(ResolveError::Stale),
        Err(Refused::Because(reason)) => Err(ResolveError::Refused(reason)),
    }
}

/// What the kernel is for, as titles name it.
pub(super) fn gpu(doc: &crate::Doc) -> String {
    match doc.options().target {
        t if t == crate::Target::default() => "GPU".to_owned(),
        t => format!("GPU ({})", t.row().title),
    }
}
