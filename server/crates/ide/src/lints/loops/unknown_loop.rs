//! `unknown-loop`: neither proof nor counter-example; the construct that stopped us is named.

use std::sync::Arc;

use analysis::{ObstacleKind, TroubleKind, Verdict};

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
        strangers: strangers(at),
        ..Message::default()
    })
}

/// The functions of which nothing is known, where nothing else stands in the way of a loop that nobody marked.
fn strangers(at: &At) -> Vec<Arc<str>> {
    if at.facts.mark.is_some() {
        return Vec::new();
    }
    let mut names = Vec::new();
    for o in &at.facts.obstacles {
        let name = match &o.kind {
            ObstacleKind::UnknownCall(f) => Arc::from(at.view.symbol(*f)),
            ObstacleKind::Call { why: TroubleKind::UnknownCall, name, .. } if !name.is_empty() => {
                name.clone()
            }
            _ => return Vec::new(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
