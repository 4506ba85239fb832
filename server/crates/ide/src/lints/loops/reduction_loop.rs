//! `reduction-loop`: the iterations are independent but for values accumulated with an associative operator.

use analysis::Verdict;

use super::marked_refused;
use crate::lints::{At, Find, Lint, Message};
use crate::{words, Severity};

pub(super) const LINT: Lint = Lint {
    code: "reduction-loop",
    severity: Severity::Hint,
    summary:
        "The loop accumulates values with an associative operator: it can run on the GPU as a reduction.",
    page: include_str!("../../../../../../docs/codes/reduction-loop.md"),
    find: Find::OfferedLoop(reduction_loop),
    fixes: &[],
};

fn reduction_loop(at: &At) -> Option<Message> {
    let wanted = at.facts.verdict == Verdict::Reduction && !marked_refused::applies(at);
    wanted.then(|| Message { message: words::parallel(at.view, at.id), ..Message::default() })
}
