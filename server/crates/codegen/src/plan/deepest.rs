//! How deep the terms are that some printer may print: each goes down them by itself.

use analysis::{Offload, Param};
use term::{Body, TermId};

/// Depth of the deepest term that some printer may print: the loop, and what the host reads before it.
pub(crate) fn deepest(body: &Body, offload: &Offload, target: TermId) -> usize {
    let mut params = Vec::new();
    offload.max_trips.iter().for_each(|e| super::expr_params(e, &mut params));
    for b in &offload.buffers {
        let rows =
            b.rows.iter().flat_map(|r| r.subscripts.iter().flat_map(|s| [&s.all, &s.one]).chain(&r.written));
        for (first, last) in b.extent.iter().chain(&b.written_part).chain(rows) {
            super::expr_params(first, &mut params);
            super::expr_params(last, &mut params);
        }
    }
    offload.finals.iter().for_each(|f| super::expr_params(&f.value, &mut params));
    offload.conditions.iter().flat_map(|c| &c.check).for_each(|p| super::pred_params(p, &mut params));
    let mut stack = vec![(target, 0usize)];
    for p in params {
        match p {
            Param::Term(t) => stack.push((t, 0)),
            Param::Distance { from, to } => stack.extend([(from, 0), (to, 0)]),
            Param::Symbol(_) | Param::Row(_) | Param::Longest(_) | Param::End { .. } => {}
        }
    }
    let mut most = 0;
    while let Some((t, depth)) = stack.pop() {
        most = most.max(depth);
        stack.extend(body.args(t).iter().map(|&a| (a, depth + 1)));
    }
    most
}
