//! `marked-refused`: the user asked to offload a parallel loop for which no kernel can be written.

use crate::lints::{is_parallel, At, Find, Lint, Message};
use crate::plans::Planned;
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "marked-refused",
    severity: Severity::Warning,
    summary: "A loop marked for the GPU is parallel, but no kernel can be written for it.",
    page: include_str!("../../../../../../docs/codes/marked-refused.md"),
    find: Find::Loop(marked_refused),
    fixes: &[],
};

fn marked_refused(at: &At) -> Option<Message> {
    if at.facts.mark.is_none() || !is_parallel(at.facts) {
        return None;
    }
    let Some(Planned::No(why)) = at.view.known_plan(at.id) else { return None };
    let why = why.words(at.view, at.id);
    Some(Message {
        message: format!("Marked for the GPU, and {} is parallel. {why}", at.view.loop_name(at.id)),
        ..Message::default()
    })
}

/// Whether this lint speaks of a loop; then those that say it can be offloaded do not.
pub(super) fn applies(at: &At) -> bool {
    is_parallel(at.facts) && super::marked_in_vain(at)
}
