//! "Why is this loop …?": shows all that is known of a loop. For editors that show hovers badly, and for commands.

use analysis::Verdict;

use super::{Action, ActionKind, At, LoopAction, ResolveError, Resolved};
use crate::hover::loop_markdown;

pub(super) static ACTION: LoopAction = LoopAction { name: "explain", offer, edit: show };

fn offer(at: &At) -> Option<Action> {
    Some(Action {
        id: at.id(&ACTION),
        title: title(at),
        kind: ActionKind::Explain,
        diagnostics: at.diagnostics(),
        disabled: None,
        preferred: false,
    })
}

fn show(at: &At) -> Result<Resolved, ResolveError> {
    let header = crate::function_view::one_line(at.doc.slice(at.finding.header));
    let line = at.finding.line();
    let mut markdown = format!("Line {line}, `{}`:\n\n", header.replace('`', "'"));
    markdown.push_str(&loop_markdown(at.view, at.finding));
    for k in at.diagnostics() {
        if let Some(page) = at.findings.diagnostics.get(k).and_then(|d| crate::explain(d.code)) {
            markdown.push_str("\n\n---\n\n");
            markdown.push_str(page);
        }
    }
    Ok(Resolved::Show { title: title(at), markdown, run: None })
}

fn title(at: &At) -> String {
    let what = match at.view.of(at.finding.id).verdict {
        Verdict::Independent => "parallel",
        Verdict::Reduction => "a reduction",
        Verdict::Sequential => "sequential",
        Verdict::Unknown => "unknown",
    };
    let name = at.view.loop_name(at.finding.id).replace('`', "");
    format!("Why is {name} {what}?")
}
