//! `carried-dependence`: an iteration needs what another one did, shown with two concrete iterations.

use analysis::Verdict;

use crate::lints::{At, Find, Lint, Message};
use crate::{words, Severity};

pub(super) const LINT: Lint = Lint {
    code: "carried-dependence",
    severity: Severity::Information,
    summary: "The loop is sequential: an iteration uses a cell that another iteration writes.",
    page: include_str!("../../../../../../docs/codes/carried-dependence.md"),
    find: Find::SpreadableLoop(carried_dependence),
    fixes: &[],
};

fn carried_dependence(at: &At) -> Option<Message> {
    let wanted = at.facts.verdict == Verdict::Sequential && !super::marked_in_vain(at);
    wanted.then(|| Message {
        message: words::sequential(at.view, at.id),
        related: words::dependence_places(at.view, at.id),
        ..Message::default()
    })
}
