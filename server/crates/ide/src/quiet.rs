//! Loops of which nothing is said unless somebody asks: they print, read input, fill a table, look for something, go through text, or
//! are too small to matter. Hover, actions and reports answer for them like for all others; a mark, a promise or a comment makes them be spoken of.

use analysis::{LoopId, ObstacleKind, TroubleKind};
use term::{Body, IntKind, Op, TermId, TypeId, TypeKind};

use crate::cost::{operations, Amount};
use crate::function_view::FunctionView;
use crate::limits::cost::LEAST_OPERATIONS;
use crate::limits::quiet::FEW;

/// Why nobody needs to hear of a loop unasked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quiet {
    /// It prints or reads input in every round.
    Input,
    /// All its rounds together are fewer operations than a launch is worth.
    Small,
    /// It gives array elements values that need no memory and little arithmetic.
    Fills,
    /// It looks for something or goes along links, and leaves no element behind.
    Walks,
    /// It goes through text.
    Text,
}

/// Whether a loop is left alone.
pub(crate) fn quiet(view: &FunctionView, id: LoopId) -> Option<Quiet> {
    let l = view.of(id);
    if l.mark.is_some() || !l.promises.is_empty() || view.together(id).is_some() {
        return None;
    }
    if prints(view, id) {
        return Some(Quiet::Input);
    }
    if matches!(operations(view, l.term), Some(Amount::Exactly(n)) if n < LEAST_OPERATIONS) {
        return Some(Quiet::Small);
    }
    if fills(view.body(), l.term) {
        return Some(Quiet::Fills);
    }
    if crate::lints::is_parallel(l) {
        return None;
    }
    if walks(view, id) {
        return Some(Quiet::Walks);
    }
    is_text(view.body(), l.term).then_some(Quiet::Text)
}

/// Whether a loop that nobody can count beforehand, or that may end early, stores to no element.
fn walks(view: &FunctionView, id: LoopId) -> bool {
    let (body, l) = (view.body(), view.of(id));
    let ends =
        |o: &analysis::Obstacle| matches!(o.kind, ObstacleKind::NotCounted(_) | ObstacleKind::EarlyExit);
    let stores = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Assign | Op::Compound(_) | Op::Step { .. }, &[place, ..]) => {
            is_cell(body, place) || matches!(body.op(place), Op::Deref)
        }
        _ => false,
    };
    l.obstacles.iter().any(ends) && !body.walk(l.term).any(stores)
}

/// Whether all elements that a loop touches are characters, or pointers to some.
fn is_text(body: &Body, root: TermId) -> bool {
    let is_char = |ty: TypeId| matches!(body.types.kind(ty), TypeKind::Int(IntKind::Char));
    let mut any = false;
    for t in body.walk(root).filter(|&t| matches!(body.op(t), Op::Index | Op::Deref)) {
        any = true;
        let is_one = match body.types.kind(body.ty(t)) {
            TypeKind::Pointer { to, .. } => is_char(*to),
            TypeKind::Array { of, .. } => is_char(*of),
            _ => is_char(body.ty(t)),
        };
        if !is_one {
            return false;
        }
    }
    any
}

/// Whether input or output is what a loop does: not where it complains of something and leaves.
fn prints(view: &FunctionView, id: LoopId) -> bool {
    let body = view.body();
    let orders =
        |o: &&analysis::Obstacle| matches!(o.kind, ObstacleKind::Call { why: TroubleKind::Ordered, .. });
    let mut all = view.of(id).obstacles.iter().filter(orders).peekable();
    if all.peek().is_none() {
        return false;
    }
    let parents = body.parents();
    all.any(|o| !complains(body, &parents, o.term))
}

/// Whether a call stands in a branch that ends the loop, the function or the program.
fn complains(body: &Body, parents: &[Option<TermId>], call: TermId) -> bool {
    let mut at = call;
    while let Some(up) = parents.get(base::IndexId::index(at)).copied().flatten() {
        if body.op(up).is_loop() {
            return false;
        }
        let is_branch = matches!(body.op(up), Op::If) && body.args(up).first() != Some(&at);
        if is_branch && body.walk(at).any(|t| leaves(body, t)) {
            return true;
        }
        at = up;
    }
    false
}

fn leaves(body: &Body, t: TermId) -> bool {
    match body.op(t) {
        Op::Return | Op::Break | Op::Goto(_) => true,
        Op::Call => matches!(body.callee_name(t), Some("exit" | "abort" | "_Exit" | "assert")),
        _ => false,
    }
}

/// Whether all that a nest does is to store values made of numbers, variables and indices, with few operations each.
fn fills(body: &Body, root: TermId) -> bool {
    let mut stores = 0;
    let mut work = 0;
    for part in straight(body, root) {
        let Some(all) = part else { return false };
        for t in body.walk(all) {
            match body.op(t) {
                Op::Assign => match body.args(t) {
                    &[place, _] if is_cell(body, place) => stores += 1,
                    _ => return false,
                },
                Op::Compound(_) | Op::Step { .. } | Op::Deref | Op::Call | Op::Launch | Op::Reject(_) => {
                    return false
                }
                op if op.is_loop() => return false,
                Op::Index | Op::Member { .. } => {}
                Op::Unary(_) | Op::Binary(_) | Op::Select => work += 1,
                _ => {}
            }
        }
        if reads(body, all) {
            return false;
        }
    }
    stores > 0 && work <= FEW
}

/// The statements of a perfect nest, innermost; `None` stands for what is none.
fn straight(body: &Body, root: TermId) -> Vec<Option<TermId>> {
    let Some(parts) = body.loop_parts(root) else { return vec![None] };
    let inside: Vec<TermId> = match body.op(parts.body) {
        Op::List => body.args(parts.body).to_vec(),
        _ => vec![parts.body],
    };
    let of = |t: TermId| match body.op(t).is_loop() {
        true => straight(body, t),
        false => vec![Some(t)],
    };
    inside.into_iter().filter(|&t| !matches!(body.op(t), Op::Empty)).flat_map(of).collect()
}

/// Whether a place is an element.
fn is_cell(body: &Body, place: TermId) -> bool {
    match (body.op(place), body.args(place)) {
        (Op::Index, _) => true,
        (Op::Member { .. }, &[of]) => is_cell(body, of),
        _ => false,
    }
}

/// Whether an element is read in a statement: any but those that it stores to, with the arrays these lie in.
fn reads(body: &Body, statement: TermId) -> bool {
    let mut stored: Vec<TermId> = Vec::new();
    for t in body.walk(statement) {
        if let (Op::Assign, &[place, _]) = (body.op(t), body.args(t)) {
            let mut at = Some(place);
            while let Some(t) = at.filter(|&t| matches!(body.op(t), Op::Index | Op::Member { .. })) {
                stored.push(t);
                at = body.args(t).first().copied();
            }
        }
    }
    body.walk(statement).any(|t| matches!(body.op(t), Op::Index | Op::Deref) && !stored.contains(&t))
}
