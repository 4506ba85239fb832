//! "Why is this loop …?": shows all that is known of a loop. For editors that show hovers badly, and for commands.

use analysis::Verdict;

use super::{Action, ActionId, ActionKind, At, ResolveError, Resolved};
use crate::hover::loop_markdown;

pub(super) fn offer(at: &At) -> Option<Action> {
    Some(Action {
        id: ActionId::explain(&at.finding.key),
        title: title(at),
        kind: ActionKind::Explain,
        diagnostics: at.diagnostics(),
        disabled: None,
        preferred: false,
    })
}

pub(super) fn show(at: &At) -> Result<Resolved, ResolveError> {
    let header = crate::place::one_line(at.doc.slice(at.finding.header));
    let line = at.finding.line();
    let mut markdown = format!("Line {line}, `{}`:\n\n", header.replace('`', "'"));
    markdown.push_str(&loop_markdown(at.place, at.finding));
    for k in at.diagnostics() {
        if let Some(page) = at.findings.diagnostics.get(k).and_then(|d| crate::explain(d.code)) {
            markdown.push_str("\n\n---\n\n");
            markdown.push_str(page);
        }
    }
    Ok(Resolved::Show { title: title(at), markdown })
}

fn title(at: &At) -> String {
    let what = match at.place.of(at.finding.id).verdict {
        Verdict::Independent => "parallel",
        Verdict::Reduction => "a reduction",
        Verdict::Sequential => "sequential",
        Verdict::Unknown => "unknown",
    };
    let name = at.place.loop_name(at.finding.id).replace('`', "");
    format!("Why is {name} {what}?")
}
