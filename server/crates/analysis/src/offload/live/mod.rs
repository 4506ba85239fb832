//! Which cells of arrays somebody may read after a stretch of a function, and which it reads that it has not written before.
//!
//! A walk backwards over the structured tree, with a set of cells for each array (`walk`). What a counted loop surely writes and what
//! it may read comes from its model (`cells`); anything else reads what it names and writes nothing for sure. Where control
//! takes ways that are not seen there is no answer. Deliberately absent: memory that is reached through pointers. An array is only
//! looked at where nothing but its name leads to it, and for one of the file's, where that holds for all of the file (`file`).

mod calls;
mod cells;
mod file;
mod walk;

#[cfg(test)]
mod tests;

pub use file::{file_arrays, FileArrays};

use std::collections::BTreeSet;
use std::sync::Arc;

use base::{Budget, IndexId};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

use self::cells::Cells;
use self::walk::{State, Walker};
use crate::calls::inline::{expand_chosen, read};
use crate::context::Context;
use crate::flow::called::keeps;
use crate::flow::effects::Effects;
use crate::limits::offload_live::{MAX_ARRAYS, MAX_FIXED, MAX_RANK, STEPS};
use crate::Program;

/// What becomes of an array in a stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Life {
    /// Whether something of it may be read afterwards before it is written again.
    pub after: bool,
    /// Whether the stretch may read what it has not written, or leave unwritten what is read afterwards.
    pub before: bool,
}

/// What becomes of those of the `wanted` arrays that nothing but their name leads to. `file`: what is known of the arrays
/// of the file ([`file_arrays`]).
pub(crate) fn lives(
    body: &Body,
    program: &Program,
    statements: &[TermId],
    wanted: &BTreeSet<SymbolId>,
    file: &FileArrays,
    budget: &Budget,
) -> Option<FxHashMap<SymbolId, Life>> {
    let &last = statements.last()?;
    let effects = Effects::new(body, program);
    let speaks = file.speak_of(body);
    let own = |s: &SymbolId| match body.symbols[*s].storage {
        Storage::Local => effects.stays_home(*s),
        Storage::Global { internal: true, .. } => speaks && file.unread.contains(&body.symbols[*s].name),
        _ => false,
    };
    let chosen: Vec<SymbolId> =
        wanted.iter().copied().filter(|&s| rank(body, s).is_some() && own(&s)).collect();
    if chosen.is_empty() {
        return None;
    }
    let is_chosen = |_: &Body, s: SymbolId| chosen.contains(&s);
    with_calls_written_out(body, program, &is_chosen, &file.own, budget, |walker| {
        walker.watch(last);
        let none = walker.nothing();
        walker.function(none.clone())?;
        let after = walker.watched()?;
        // what comes back does so as a whole
        let back = after.iter().map(|c| if c.is_none() { Cells::None } else { Cells::All }).collect();
        let before = walker.block(statements, back)?;
        let is_some = |s: &State, k: usize| s.get(k).is_none_or(|c| !c.is_none());
        let life = |k: usize| Life { after: is_some(&after, k), before: is_some(&before, k) };
        Some(walker.arrays().enumerate().map(|(k, s)| (s, life(k))).collect())
    })
}

/// Shows `then` a walk over the function with calls replaced where that can be. `arrays`: which of the variables named in it are
/// looked at.
fn with_calls_written_out<R>(
    body: &Body,
    program: &Program,
    arrays: &dyn Fn(&Body, SymbolId) -> bool,
    own: &FxHashSet<Arc<str>>,
    budget: &Budget,
    then: impl FnOnce(&mut Walker<'_>) -> Option<R>,
) -> Option<R> {
    let budget = &budget.part(STEPS);
    let expanded = expand_chosen(body, program, &|_| true);
    let whole = expanded.as_ref().map_or(body, |e| &e.body);
    read(whole.len(), budget).ok()?;
    let named: BTreeSet<SymbolId> = whole.walk(whole.root).filter_map(|t| whole.as_symbol(t)).collect();
    if whole.jumps_unseen(whole.root) {
        return None;
    }
    let cx = Context::new(whole, program, whole.len(), budget);
    let homely = |&s: &SymbolId| match whole.symbols[s].storage {
        Storage::Local => cx.effects.stays_home(s),
        _ => !escapes(whole, program, &cx.parents, s),
    };
    let chosen: Vec<SymbolId> = named.into_iter().filter(|&s| arrays(whole, s)).filter(homely).collect();
    if chosen.is_empty() || chosen.len() > MAX_ARRAYS {
        return None;
    }
    let fixed = fixed(whole, &cx.effects);
    let mut walker = Walker::new(&cx, &chosen, &fixed, own, budget)?;
    then(&mut walker)
}

/// Whether the array's name becomes a pointer that is not given to a call at once which is over with it when it returns.
fn escapes(body: &Body, program: &Program, parents: &[Option<TermId>], s: SymbolId) -> bool {
    let is_given = |at: TermId| {
        let Some(call) = parents.get(at.index()).copied().flatten() else { return false };
        let args = body.args(call);
        let position = args.iter().skip(1).position(|&a| a == at);
        let gives_number =
            body.types.is_arithmetic(body.ty(call)) || *body.types.kind(body.ty(call)) == TypeKind::Void;
        *body.op(call) == Op::Call && gives_number && position.is_some_and(|k| !keeps(body, program, call, k))
    };
    let mut used = body.walk(body.root).filter(|&t| body.as_symbol(t) == Some(s));
    used.any(|t| place_of(body, parents, t).is_err_and(|at| !is_given(at)))
}

/// How many subscripts lead to an element of an array of numbers whose size is known, and which nobody watches.
fn rank(body: &Body, s: SymbolId) -> Option<usize> {
    let types = &body.types;
    let mut ty = body.symbols[s].ty;
    types.size_align(ty)?;
    let mut rank = 0;
    loop {
        let q = types.quals(ty);
        if q.is_volatile || q.is_atomic || rank > MAX_RANK {
            return None;
        }
        match types.kind(ty) {
            TypeKind::Array { of, .. } => (ty, rank) = (*of, rank + 1),
            _ => break,
        }
    }
    (rank > 0 && types.is_arithmetic(ty)).then_some(rank)
}

/// Whole numbers that have one value wherever they are named in the function.
fn fixed(body: &Body, effects: &Effects<'_>) -> Vec<SymbolId> {
    let hidden = body.walk(body.root).filter(|&t| matches!(body.op(t), Op::Reject(_)));
    let touched: FxHashSet<SymbolId> = hidden.flat_map(|t| body.touched_by_gap(t)).collect();
    let all = body.symbols.iter_ids().filter(|(s, v)| {
        matches!(v.storage, Storage::Param(_))
            && !v.address_taken
            && body.types.as_int(v.ty).is_some()
            && effects.is_single_valued(*s)
            && !touched.contains(s)
    });
    all.map(|(s, _)| s).take(MAX_FIXED).collect()
}

/// The place of an element that the name of an array leads to: `Ok` the place, or nothing where only its size is asked; `Err`: the
/// term at which the name becomes a pointer.
fn place_of(body: &Body, parents: &[Option<TermId>], name: TermId) -> Result<Option<TermId>, TermId> {
    let is_array = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. });
    let mut at = name;
    loop {
        let Some(up) = parents.get(at.index()).copied().flatten() else { return Err(at) };
        match body.op(up) {
            Op::SizeOf => return Ok(None),
            Op::Index if body.args(up).first() == Some(&at) => match is_array(up) {
                true => at = up,
                false => return Ok(Some(up)),
            },
            Op::Deref if !is_array(up) => return Ok(Some(up)),
            Op::Deref => at = up,
            _ => return Err(at),
        }
    }
}
