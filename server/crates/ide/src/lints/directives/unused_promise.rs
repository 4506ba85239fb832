//! `unused-promise`: a promise that nothing rests on.

use analysis::{ObstacleKind, PromiseFate};
use base::Span;
use term::Promised;

use crate::function_view::{one_line, FunctionView};
use crate::lints::{Find, Lint, Message};
use crate::{promises, Fact, Severity, Tag};

pub(super) const LINT: Lint = Lint {
    code: "unused-promise",
    severity: Severity::Information,
    summary: "Nothing that is said or made of a loop rests on a promise.",
    page: include_str!("../../../../../../docs/codes/unused-promise.md"),
    find: Find::Function(unused_promise),
    fixes: &[],
};

fn unused_promise(view: &FunctionView) -> Vec<(Span, Message)> {
    let body = view.body();
    let mut found: Vec<(Span, Message)> = Vec::new();
    for (number, p) in body.said.promises.iter().enumerate() {
        if matches!(p.says, Promised::Not(_)) {
            continue;
        }
        // several pairs of one promise: one that is used is enough
        let alike =
            |n: usize| body.said.promises.get(n).is_some_and(|o| (o.of, o.number) == (p.of, p.number));
        let mut counted = 0;
        let all_unused =
            view.facts.loops.iter().filter(|l| p.of.is_none_or(|of| is_in(view, of, l.term))).all(|l| {
                counted += 1;
                let fates: Vec<PromiseFate> =
                    l.promises.iter().filter(|f| alike(f.number)).map(|f| f.fate).collect();
                let is_cut = l.obstacles.iter().any(|o| matches!(o.kind, ObstacleKind::Budget(_)));
                !is_cut && !fates.is_empty() && fates.iter().all(|f| *f == PromiseFate::Unused)
            });
        // of a function without loops, no loop says it
        let first = !body.said.promises.iter().take(number).any(|o| (o.of, o.number) == (p.of, p.number));
        if !first || !(all_unused && (counted > 0 || p.of.is_none())) {
            continue;
        }
        let Some(written) = promises::written_inside(view, p) else { continue };
        let message = format!(
            "Promise without effect: nothing that is said or made of {} rests on `{}`. Remove it, or correct what it names.",
            if p.of.is_some() { "the loop" } else { "the function's loops" },
            one_line(&written.text)
        );
        let tags = vec![Tag::Unnecessary];
        found.push((written.span, Message { message, tags, ..Message::on(view.item, Fact::Promise) }));
    }
    found
}

/// Whether a loop is this one or stands in it.
fn is_in(view: &FunctionView, of: term::TermId, l: term::TermId) -> bool {
    of == l || view.body().walk(of).any(|t| t == l)
}
