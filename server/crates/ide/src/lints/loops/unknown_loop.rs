//! `unknown-loop`: neither proof nor counter-example; the construct that stopped us is named.

use analysis::Verdict;

use crate::lints::{At, Find, Lint, Message};
use crate::{words, Severity};

pub(in crate::lints) const LINT: Lint = Lint {
    code: "unknown-loop",
    severity: Severity::Information,
    summary: "Whether the iterations are independent is unknown; what stopped the analysis is named.",
    page: include_str!("../../../../../../docs/codes/unknown-loop.md"),
    find: Find::SpreadableLoop(unknown_loop),
    fixes: &[],
};

fn unknown_loop(at: &At) -> Option<Message> {
    let wanted = at.facts.verdict == Verdict::Unknown && !super::marked_in_vain(at);
    wanted.then(|| Message {
        message: words::unknown(at.view, at.id),
        related: words::obstacle_places(at.view, at.id),
        ..Message::default()
    })
}
