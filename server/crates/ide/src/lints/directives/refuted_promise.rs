//! `refuted-promise`: a promise that does not hold.

use analysis::PromiseFate;
use base::Span;
use term::Promised;

use crate::diagnostic::Related;
use crate::function_view::{one_line, FunctionView};
use crate::lints::{Find, Lint, Message};
use crate::{promises, Fact, Severity};

pub(super) const LINT: Lint = Lint {
    code: "refuted-promise",
    severity: Severity::Warning,
    summary: "A promise contradicts what the text proves.",
    page: include_str!("../../../../../../docs/codes/refuted-promise.md"),
    find: Find::Function(refuted_promise),
    fixes: &[],
};

fn refuted_promise(view: &FunctionView) -> Vec<(Span, Message)> {
    let body = view.body();
    let mut found: Vec<(Span, Message)> = Vec::new();
    for fate in view.facts.loops.iter().flat_map(|l| &l.promises) {
        let Some(p) = body.said.promises.get(fate.number) else { continue };
        let mut related = Vec::new();
        let why = match (fate.fate, &p.says) {
            (PromiseFate::Meet { source, sink }, _) => {
                for (t, what) in [(source, "this place"), (sink, "and this one")] {
                    related.push(Related { span: view.span(t), message: what.into() });
                }
                format!(
                    "`{}` on line {} and `{}` on line {} meet in a cell",
                    view.text(source),
                    view.line(source),
                    view.text(sink),
                    view.line(sink)
                )
            }
            (PromiseFate::Declared(n), _) => format!("the array is declared with {n} elements"),
            (PromiseFate::NotPure, Promised::Pure(f)) => {
                format!("`{}` reads or writes memory, as its text shows", view.symbol(*f))
            }
            _ => continue,
        };
        let Some(written) = promises::written_inside(view, p) else { continue };
        if found.iter().any(|(span, _)| *span == written.span) {
            continue;
        }
        let message = format!(
            "Promise that does not hold: `{}`, but {why}. Nothing rests on it. Correct it, or remove it.",
            one_line(&written.text)
        );
        found.push((written.span, Message { message, related, ..Message::on(view.item, Fact::Promise) }));
    }
    found
}
