//! `marked-unknown`: the user asked to offload a loop of which nothing is proved.

use analysis::Verdict;

use super::{At, Find, Lint, Said};
use crate::{words, Severity};

pub(super) const LINT: Lint = Lint {
    code: "marked-unknown",
    severity: Severity::Warning,
    summary: "A loop marked for the GPU is not proved to be parallel, so it is not offloaded.",
    page: include_str!("../../../../../docs/codes/marked-unknown.md"),
    find: Find::Loop(marked_unknown),
};

fn marked_unknown(at: &At) -> Option<Said> {
    let wanted = at.facts.verdict == Verdict::Unknown && super::marked_in_vain(at);
    wanted.then(|| Said {
        message: format!("Marked for the GPU, but not offloaded. {}", words::unknown(at.place, at.id)),
        related: words::obstacle_places(at.place, at.id),
        ..Said::default()
    })
}
