//! `reduction-loop`: the iterations are independent but for values accumulated with an associative operator.

use analysis::Verdict;

use super::{marked_refused, At, Find, Lint, Said};
use crate::{words, Severity};

pub(super) const LINT: Lint = Lint {
    code: "reduction-loop",
    severity: Severity::Hint,
    summary:
        "The loop accumulates values with an associative operator: it can run on the GPU as a reduction.",
    page: include_str!("../../../../../docs/codes/reduction-loop.md"),
    find: Find::OfferedLoop(reduction_loop),
};

fn reduction_loop(at: &At) -> Option<Said> {
    let wanted = at.facts.verdict == Verdict::Reduction && !marked_refused::applies(at);
    wanted.then(|| Said { message: words::parallel(at.place, at.id), ..Said::default() })
}
