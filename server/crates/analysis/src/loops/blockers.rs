//! What stands against running iterations at once before anything else of a loop is looked at.

use term::{Body, Op, TermId};

use crate::flow::called::stands_in_the_way;
use crate::flow::liveness::early_exit;
use crate::{Obstacle, ObstacleKind, Program};

/// Places under the loop that may do anything.
pub(crate) fn blockers(body: &Body, program: &Program, t: TermId, out: &mut Vec<Obstacle>) {
    let parents = if body.walk(t).any(|x| matches!(body.op(x), Op::Case | Op::Default)) {
        body.parents()
    } else {
        Vec::new()
    };
    for x in body.walk(t) {
        let kind = match body.op(x) {
            // A label inside a part of a `switch` body (Duff's device) jumps into the middle of that part.
            Op::Case | Op::Default => {
                let list = parents.get(x.0 as usize).copied().flatten();
                let switch = list.and_then(|l| parents.get(l.0 as usize).copied().flatten());
                match switch {
                    Some(s) if *body.op(s) == Op::Switch => continue,
                    _ => ObstacleKind::NotUnderstood,
                }
            }
            _ => match stands_in_the_way(body, program, x) {
                Some(kind) => kind,
                None => continue,
            },
        };
        // A mark's clauses are not part of the program.
        if matches!(body.op(x), Op::Apply(_)) && is_clause(body, t, x) {
            continue;
        }
        let o = Obstacle { kind, term: x };
        if !out.iter().any(|p| p.kind == o.kind) {
            out.push(o);
        }
    }
}

fn is_clause(body: &Body, root: TermId, x: TermId) -> bool {
    body.walk(root).any(|m| matches!(body.op(m), Op::Mark(_)) && body.args(m).contains(&x))
}

/// The same where calls are not written out: those that touch memory are as good as unknown.
pub(crate) fn plain_blockers(body: &Body, t: TermId, out: &mut Vec<Obstacle>) {
    blockers(body, &Program::default(), t, out);
    for x in body.walk(t).filter(|&x| *body.op(x) == Op::Call) {
        if let Some(f) = body.callee(x) {
            if !crate::flow::effects::is_pure_callee(body, f) && out.iter().all(|o| o.term != x) {
                out.push(Obstacle { kind: ObstacleKind::UnknownCall(f), term: x });
            }
        }
    }
}

/// What is inside a loop and cannot be seen through.
pub(crate) fn opaque_places(body: &Body, t: TermId) -> Vec<Obstacle> {
    let mut out = Vec::new();
    plain_blockers(body, t, &mut out);
    if let Some(exit) = early_exit(body, t) {
        out.push(Obstacle { kind: ObstacleKind::EarlyExit, term: exit });
    }
    out
}
