//! "Offload to GPU and optimize": the loop's kernel is taken up a ladder of rule pages, and run beside the loop before it is handed
//! out. Where no page gets anywhere, or a run is too long to show that it did right, it is the kernel as it is, which says so.

use super::{offload, Action, ActionKind, At, LoopAction, ResolveError, Resolved};
use crate::optimize::{is_optimizable, offload_optimized_or_plain};
use crate::{Refused, Which};

pub(super) static ACTION: LoopAction = LoopAction { name: "optimize", offer, edit };

fn offer(at: &At) -> Option<Action> {
    let id = at.finding.id;
    if !at.view.can_offload() || offload::refusal(at).is_some() || !is_optimizable(at.view, id) {
        return None;
    }
    let name = at.view.loop_name(id).replace('`', "");
    Some(Action {
        id: at.id(&ACTION),
        title: format!("Offload to {} and optimize: {name}", offload::gpu(at.doc)),
        kind: ActionKind::Offload,
        diagnostics: at.diagnostics(),
        preferred: false,
        disabled: None,
    })
}

fn edit(at: &At) -> Result<Resolved, ResolveError> {
    if let Some(reason) = offload::refusal(at) {
        return Err(ResolveError::Refused(reason));
    }
    // that a page can do something was seen when this was listed; what comes of it only a run shows
    match offload_optimized_or_plain(at.ask, at.findings, &Which::Key(at.finding.key.to_string())) {
        Ok(done) => Ok(Resolved::Edit(done.edit)),
        Err(Refused::Cancelled) => Err(ResolveError::Cancelled),
        Err(Refused::Stale) => Err(ResolveError::Stale),
        Err(Refused::Because(reason)) => Err(ResolveError::Refused(reason)),
    }
}
