//! `marked-unknown`: the user asked to offload a loop of which nothing is proved.

use analysis::Verdict;

use crate::lints::{At, Find, Lint, Message};
use crate::{words, Severity};

pub(super) const LINT: Lint = Lint {
    code: "marked-unknown",
    severity: Severity::Warning,
    summary: "A loop marked for the GPU is not proved to be parallel, so it is not offloaded.",
    page: include_str!("../../../../../../docs/codes/marked-unknown.md"),
    find: Find::Loop(marked_unknown),
    fixes: &[],
};

fn marked_unknown(at: &At) -> Option<Message> {
    let wanted = at.facts.verdict == Verdict::Unknown && super::marked_in_vain(at);
    wanted.then(|| Message {
        message: format!("Marked for the GPU, but not offloaded. {}", words::unknown(at.view, at.id)),
        related: words::obstacle_places(at.view, at.id),
        ..Message::default()
    })
}
