//! `marked-sequential`: the user asked to offload a loop whose iterations depend on each other.

use analysis::Verdict;

use crate::lints::{At, Find, Lint, Message};
use crate::{words, Severity};

pub(super) const LINT: Lint = Lint {
    code: "marked-sequential",
    severity: Severity::Error,
    summary: "A loop marked for the GPU is sequential and must not be offloaded.",
    page: include_str!("../../../../../../docs/codes/marked-sequential.md"),
    find: Find::Loop(marked_sequential),
    fixes: &[],
};

fn marked_sequential(at: &At) -> Option<Message> {
    let wanted = at.facts.verdict == Verdict::Sequential && super::marked_in_vain(at);
    wanted.then(|| Message {
        message: format!(
            "Marked for the GPU, but must not be offloaded. {} Or remove the mark.",
            words::sequential(at.view, at.id)
        ),
        related: words::dependence_places(at.view, at.id),
        ..Message::default()
    })
}
