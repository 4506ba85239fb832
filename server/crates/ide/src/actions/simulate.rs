//! "Simulate this kernel": what `warpwright simulate` prints of it, beside what is proved.

use base::Span;

use super::{touch, Action, ActionId, ActionKind, ResolveError, Resolved};
use crate::kernels::{kernel_reports, kernel_text, simulate_kernels, SimulateOptions};
use crate::{Ask, Doc};

/// From the kernel's first word to its name and parameters.
pub(crate) fn header(doc: &Doc, item: &front::Item) -> Span {
    let text = doc.slice(item.span);
    let end = text.find('{').map_or(text.len(), |k| text[..k].trim_end().len());
    Span { start: item.span.start, end: item.span.start + end as u32 }
}

/// Kernels whose header the span touches.
pub(super) fn offer<'a>(doc: &'a Doc, span: Span) -> impl Iterator<Item = Action> + 'a {
    let kernels = doc.unit().items.iter().filter(move |i| i.is_kernel && touch(header(doc, i), span));
    kernels.map(|i| Action {
        id: ActionId::Simulate(i.name.to_string()),
        title: format!("Simulate `{}`", i.name),
        kind: ActionKind::Explain,
        diagnostics: Vec::new(),
        disabled: None,
        preferred: false,
    })
}

pub(super) fn show(ask: &Ask, kernel: &str) -> Result<Resolved, ResolveError> {
    let doc = &ask.doc;
    let options = SimulateOptions { kernel: Some(kernel.to_owned()), ..SimulateOptions::default() };
    let runs = simulate_kernels(ask, &options);
    if ask.is_cancelled() {
        return Err(ResolveError::Cancelled);
    }
    let run = runs.first().ok_or(ResolveError::Stale)?;
    let proved = kernel_reports(ask, &[]).into_iter().find(|k| k.name == kernel);
    let proved = proved.map(|k| {
        let races = match (k.races.verdict, &k.races.reason) {
            ("race-free", _) => k.races.words.clone(),
            ("race", _) => "a race".to_owned(),
            (_, Some(why)) => format!("of races nothing ({why})"),
            _ => "of races nothing".to_owned(),
        };
        let safe = k.barriers.iter().filter(|b| b.verdict == "safe").count();
        let barriers = match k.barriers.len() {
            0 => String::new(),
            n => format!("; {safe} of {n} barriers are reached by all threads"),
        };
        format!("Proved without running: {races}{barriers}.\n\n")
    });
    Ok(Resolved::Show {
        title: format!("{kernel} in the simulator"),
        markdown: format!("{}```text\n{}```\n", proved.unwrap_or_default(), kernel_text(doc, run)),
        run: Some(Box::new(run.clone())),
    })
}
