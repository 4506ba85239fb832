//! Ways into and out of a loop's body, read off its tree: whether the body surely runs, and where control leaves it before
//! its end. What variables hold on these ways is the parent's matter.

use term::{BinOp, Body, Op, TermId};

/// Whether a `for` with constant bounds surely runs its body: `for (k = 0; k < 3; k++)`.
pub(super) fn runs(body: &Body, t: TermId) -> bool {
    let args = body.args(t);
    let mut init = args[0];
    if let (Op::List, &[only]) = (body.op(init), body.args(init)) {
        init = only;
    }
    let first = match (body.op(init), body.args(init)) {
        (Op::Declare(s), &[v]) => Some((*s, v)),
        (Op::Assign, &[p, v]) => body.as_symbol(p).map(|s| (s, v)),
        _ => None,
    };
    let (Op::Binary(rel), &[l, r]) = (body.op(args[1]), body.args(args[1])) else { return false };
    let value = |t: TermId| body.as_int(t);
    match (first.and_then(|(s, v)| Some((s, value(v)?))), value(r)) {
        (Some((s, v)), Some(bound)) if body.as_symbol(l) == Some(s) => {
            let keeps = body.types.as_int(body.symbols[s].ty).is_some_and(|k| k.wrap(v) == v);
            let holds = match rel {
                BinOp::Lt => v < bound,
                BinOp::Le => v <= bound,
                BinOp::Gt => v > bound,
                BinOp::Ge => v >= bound,
                _ => false,
            };
            keeps && holds
        }
        _ => false,
    }
}

/// Whether a `continue` of this very loop occurs in its body.
pub(crate) fn has_continue(body: &Body, inner: TermId) -> bool {
    jumps(body, inner, false)
}

/// Whether a `continue` or a `break` below the term leads out of it.
pub fn leaves_early(body: &Body, inner: TermId) -> bool {
    jumps(body, inner, true)
}

fn jumps(body: &Body, inner: TermId, breaks_too: bool) -> bool {
    // (term, whether a `break` here would leave our loop, whether a `continue` would)
    let mut stack = vec![(inner, true, true)];
    while let Some((t, ours_break, ours_continue)) = stack.pop() {
        match body.op(t) {
            Op::Continue if ours_continue => return true,
            Op::Break if ours_break && breaks_too => return true,
            op => {
                let (b, c) = match op {
                    op if op.is_loop() => (false, false),
                    Op::Switch => (false, ours_continue),
                    _ => (ours_break, ours_continue),
                };
                stack.extend(body.args(t).iter().map(|&a| (a, b, c)));
            }
        }
    }
    false
}

/// Whether control may leave the loop other than through its condition: `break`, `return`, `goto`, a label inside.
pub(crate) fn early_exit(body: &Body, loop_term: TermId) -> Option<TermId> {
    // the parts of a loop, whether a `break` is its own, and whether they are of a `switch` in it
    let mut stack: Vec<(TermId, bool, bool)> =
        body.args(loop_term).iter().map(|&a| (a, true, false)).collect();
    while let Some((t, ours, in_switch)) = stack.pop() {
        match body.op(t) {
            Op::Return | Op::Goto(_) | Op::Label(_) => return Some(t),
            // a `switch` around the loop leads into it
            Op::Case | Op::Default if !in_switch => return Some(t),
            Op::Break if ours => return Some(t),
            op => {
                let in_switch = in_switch || matches!(op, Op::Switch);
                let ours = ours && !op.is_loop() && !matches!(op, Op::Switch);
                stack.extend(body.args(t).iter().map(|&a| (a, ours, in_switch)));
            }
        }
    }
    None
}
