//! `copied-each-round`: a number that kernels leave comes back in every round of a loop that stays on the host, because the host
//! looks at it there.

use base::Span;

use crate::function_view::FunctionView;
use crate::lints::{shown, Find, Lint, Message};
use crate::plans::{Back, Planned};
use crate::{Related, Severity};

pub(super) const LINT: Lint = Lint {
    code: "copied-each-round",
    severity: Severity::Hint,
    summary: "What kernels leave comes back in every round of a marked loop that stays on the host.",
    page: include_str!("../../../../../../docs/codes/copied-each-round.md"),
    find: Find::Function(copied_each_round),
    fixes: &[],
};

fn copied_each_round(view: &FunctionView) -> Vec<(Span, Message)> {
    let mut out: Vec<(Span, Message)> = Vec::new();
    let marked = shown(&view.facts).into_iter().filter(|&id| view.of(id).mark.is_some());
    for id in marked.filter(|&id| !view.is_generated(id)) {
        let Some(Planned::Together(shared)) = view.known_plan(id) else { continue };
        let around = format!("{} on line {}", view.loop_name(id), view.line(view.of(id).term));
        for back in &shared.back {
            let related = vec![Related {
                span: view.header(id),
                message: "The arrays stay on the GPU while this loop runs".into(),
            }];
            let message = Message { message: words(back, &around), related, ..Message::default() };
            out.push((place(view, back), message));
        }
    }
    out
}

fn words(back: &Back, around: &str) -> String {
    let (what, why) = match (&back.variable, back.is_read) {
        (Some(v), true) => (format!("`{v}`"), "the host reads it here"),
        (Some(v), false) => (format!("`{v}`"), "this loop leaves it in a variable of the host"),
        (None, _) => ("A number".to_owned(), "the function that is called here computes with it on the host"),
    };
    format!(
        "{what} comes back from the GPU in each round of {around}, because {why}. Each time the host waits for the kernels before. \
         Look at it in fewer rounds, or leave what it decides to a kernel."
    )
}

/// The word that stands where the host looks at it.
fn place(view: &FunctionView, back: &Back) -> Span {
    let start = view.item.span.start + back.at;
    let rest = view.doc.source().get(start as usize..).unwrap_or("");
    let word = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count().max(1);
    Span { start, end: (start + word as u32).min(view.item.span.end) }
}
