//! What a statement of which nothing is known may do to those around it, and a function to its caller.

use term::{Body, Op, SymbolId, TermId};

use super::trace::MAX_DEPTH;
use crate::Program;

/// What a statement may do to those around it.
pub(super) struct Effects {
    pub sets: Vec<SymbolId>,
    pub returns: bool,
    pub breaks: bool,
    pub continues: bool,
    pub memory: bool,
}

/// Whether a function asks nothing of other threads, and comes back.
pub(super) fn is_quiet(f: &Body, program: &Program, depth: u32) -> bool {
    depth < 8
        && f.rejects().next().is_none()
        && f.walk(f.root).filter(|&t| matches!(f.op(t), Op::Call)).all(|t| match super::callee(f, t) {
            Some(name) => match program.function(name) {
                Some(g) => is_quiet(&g.body, program, depth + 1),
                None => {
                    let of_threads = f.called_word(t).is_some_and(term::device::Word::is_of_threads);
                    super::uniformity::is_harmless(f, t) && !of_threads
                }
            },
            None => false,
        })
}

/// Whether a label of the `switch` around it stands inside a statement.
pub(super) fn has_own_label(body: &Body, t: TermId) -> bool {
    let mut walk = body.walk(t);
    while let Some(x) = walk.next() {
        match body.op(x) {
            Op::Switch => walk.skip_children_of(x),
            Op::Case | Op::Default => return true,
            _ => {}
        }
    }
    false
}

pub(super) fn effects(body: &Body, t: TermId) -> Effects {
    let mut e = Effects { sets: Vec::new(), returns: false, breaks: false, continues: false, memory: false };
    gather(body, t, false, false, &mut e, 0);
    e
}

fn gather(body: &Body, t: TermId, in_loop: bool, in_switch: bool, e: &mut Effects, depth: u32) {
    if depth > 2 * MAX_DEPTH {
        // too deep to look at: anything may happen
        e.returns = true;
        return;
    }
    let (mut inner_loop, mut inner_switch) = (in_loop, in_switch);
    match body.op(t) {
        Op::Assign | Op::Compound(_) | Op::Step { .. } => {
            let mut place = body.args(t).first().copied();
            while let Some(p) = place {
                match (body.op(p), body.args(p)) {
                    (Op::Index | Op::Member { arrow: false, .. }, &[base, ..]) => place = Some(base),
                    (Op::Sym(s), _) => {
                        e.sets.push(*s);
                        place = None;
                    }
                    _ => place = None,
                }
            }
        }
        Op::Declare(s) => e.sets.push(*s),
        Op::Return | Op::Goto(_) | Op::Reject(_) => e.returns = true,
        Op::Break => e.breaks |= !in_loop && !in_switch,
        Op::Continue => e.continues |= !in_loop,
        Op::For | Op::While | Op::DoWhile => inner_loop = true,
        Op::Switch => inner_switch = true,
        Op::Index | Op::Deref | Op::Call | Op::Member { arrow: true, .. } => e.memory = true,
        Op::Sym(s) => {
            let storage = &body.symbols[*s].storage;
            e.memory |= matches!(storage, term::Storage::Shared | term::Storage::Global { .. });
        }
        _ => {}
    }
    for &a in body.args(t) {
        gather(body, a, inner_loop, inner_switch, e, depth + 1);
    }
}
