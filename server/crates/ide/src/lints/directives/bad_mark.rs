//! `bad-mark`: a mark that stands before no counted loop, so it asks for nothing.

use base::Span;
use front::DirectiveKind;

use crate::lints::{Find, Lint, Message};
use crate::{Ask, Fact, Severity};

pub(super) const LINT: Lint = Lint {
    code: "bad-mark",
    severity: Severity::Warning,
    summary: "A mark for the GPU stands before no `for` loop, or names an unknown request.",
    page: include_str!("../../../../../../docs/codes/bad-mark.md"),
    find: Find::Document(bad_mark),
    fixes: &[],
};

/// Directives that other parts understand.
const KNOWN: [&str; 1] = ["launch"];

fn bad_mark(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for directive in &doc.unit().directives {
        let message = match &directive.kind {
            DirectiveKind::Mark { attached: false, .. } => {
                "Mark without a loop: no `for` loop follows it, so nothing is offloaded. \
                 Move it directly above the loop, or remove it."
                    .to_owned()
            }
            DirectiveKind::Mark { collapse: Some(0), .. } => {
                "Mark with `collapse(0)`: at least one loop must run in parallel. \
                 Write the number of nested loops, 1 to 3, or leave the clause out."
                    .to_owned()
            }
            DirectiveKind::Mark { collapse: Some(n), .. } if *n > 3 => format!(
                "Mark with `collapse({n})`: a CUDA grid has three dimensions. Write 1 to 3, or leave the clause out."
            ),
            DirectiveKind::Other(name, _) if !KNOWN.contains(&&**name) => format!(
                "Unknown request `{}`: it is ignored. Known are `offload(name) collapse(n)`, `assume(promise)` and `ignore[code]`.",
                crate::function_view::one_line(name)
            ),
            _ => continue,
        };
        found.push((directive.span, Message { message, ..Message::on_directive(Fact::Mark) }));
    }
    found
}
