//! `parallel-loop`: the iterations of a loop are independent, so it can run on the GPU.

use analysis::Verdict;

use super::marked_refused;
use crate::lints::{At, Find, Lint, Message};
use crate::{words, Severity};

pub(super) const LINT: Lint = Lint {
    code: "parallel-loop",
    severity: Severity::Hint,
    summary: "The iterations of the loop are independent: it can run on the GPU.",
    page: include_str!("../../../../../../docs/codes/parallel-loop.md"),
    find: Find::OfferedLoop(parallel_loop),
    fixes: &[],
};

fn parallel_loop(at: &At) -> Option<Message> {
    let wanted = at.facts.verdict == Verdict::Independent && !marked_refused::applies(at);
    wanted.then(|| Message { message: words::parallel(at.view, at.id), ..Message::default() })
}
