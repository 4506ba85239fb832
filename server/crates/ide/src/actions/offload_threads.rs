//! "Run without synchronisation": a nest none of whose plain loops is parallel as it stands becomes a kernel whose
//! threads each run the instances that touch the same cells, in the order of the program.

use super::{offload, with_remarks, Action, ActionKind, At};
use crate::lints::is_parallel;
use crate::words;

pub(super) fn offer(at: &At) -> Option<Action> {
    let id = at.finding.id;
    let l = at.view.of(id);
    // what is marked is offered as an offload already
    if !at.view.can_offload() || is_parallel(l) || l.mark.is_some() {
        return None;
    }
    let map = at.view.thread_map(id)?;
    let checked = map.conditions.iter().any(|c| c.met_by == analysis::MetBy::RunTimeCheck);
    let mut remarks = vec![format!("{} threads", words::threads(at.view, &map).replace('`', ""))];
    if checked {
        remarks.push("checked at run time".to_owned());
    }
    let name = at.view.loop_name(id).replace('`', "");
    Some(Action {
        id: at.id(&offload::ACTION),
        title: with_remarks(&format!("Run without synchronisation: {name}"), &remarks),
        kind: ActionKind::Offload,
        diagnostics: at.diagnostics(),
        disabled: offload::refusal(at),
        preferred: false,
    })
}
