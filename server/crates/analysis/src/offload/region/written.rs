//! A function as its offload of a stretch reads it: calls outside kernels stand there as what they do.
//!
//! No text is made of the function itself: the user's stays as it is, and runs where the offload does not.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, SymbolId, TermId};

use crate::calls::function::own_callee;
use crate::calls::inline::{expand_chosen, with_statements_apart};
use crate::flow::called::{call, Called};
use crate::flow::library::LibraryEffect;
use crate::offload::touched::TouchedParts;
use crate::{Left, ObstacleKind, Program, TroubleKind};

/// A function written for the offload of a stretch, with the statements of the stretch in it.
#[derive(Clone, Debug)]
pub struct Written {
    pub body: Body,
    pub statements: Vec<TermId>,
    /// The function that was called where a loop came from, of loops that came with calls.
    pub callers: FxHashMap<TermId, SymbolId>,
    /// What loops touch that stand for others, which is known of these.
    pub touched: FxHashMap<TermId, TouchedParts>,
    /// Pointers that show a structure whenever the statements run, or whenever a loop among them does.
    pub shown: FxHashSet<SymbolId>,
    /// Where control may leave the statements.
    pub left: Option<Left>,
}

impl Written {
    /// The function as it is.
    pub fn of(body: &Body, statements: &[TermId]) -> Written {
        let (callers, touched, shown, left) = Default::default();
        Written { body: body.clone(), statements: statements.to_vec(), callers, touched, shown, left }
    }
}

/// The function with the calls of its own program's functions in the statements replaced, save those in `kernels`. `None`: there
/// are none, or none can be.
pub(crate) fn without_calls(written: &Written, program: &Program, kernels: &[TermId]) -> Option<Written> {
    let (body, statements) = (&written.body, &written.statements);
    let mut chosen = FxHashSet::default();
    let mut stack = statements.to_vec();
    while let Some(t) = stack.pop() {
        if kernels.contains(&t) {
            continue;
        }
        if *body.op(t) == Op::Call && own_callee(body, t).is_some() {
            chosen.insert(t);
        }
        stack.extend(body.args(t));
    }
    if chosen.is_empty() {
        return None;
    }
    let e = expand_chosen(body, program, &|t| chosen.contains(&t))?;
    let (body, _) = with_statements_apart(&e.body, statements, kernels);
    let loops = statements.iter().flat_map(|&t| body.loops(t));
    let callers = loops.filter_map(|l| Some((l, e.caller_of(l)?))).collect();
    Some(Written { body, callers, ..written.clone() })
}

/// The first call in the statements that keeps them from sharing data on the device, whatever their nests are: one that neither the
/// host may do over between kernels nor a kernel can make.
pub(crate) fn kept_apart_by(body: &Body, program: &Program, statements: &[TermId]) -> Option<TermId> {
    let is_last = |kind: &ObstacleKind| match kind {
        ObstacleKind::Call { why, .. } => matches!(
            why,
            TroubleKind::UnknownCall
                | TroubleKind::IndirectCall
                | TroubleKind::Ordered
                | TroubleKind::State
                | TroubleKind::NoReturn
                | TroubleKind::Volatile
        ),
        ObstacleKind::UnknownCall(_) | ObstacleKind::IndirectCall => true,
        _ => false,
    };
    let is_copy = |f: SymbolId| matches!(&*body.symbols[f].name, "memcpy" | "memmove" | "memset");
    let stands_against = |t: TermId| match call(body, program, t) {
        _ if body.asserted(t).is_some() => false,
        Err(kind) => is_last(&kind),
        Ok(Called::Library(e)) => e != LibraryEffect::default() && !body.callee(t).is_some_and(is_copy),
        Ok(Called::Function(_)) => false,
    };
    let mut calls = statements.iter().flat_map(|&s| body.walk(s)).filter(|&t| *body.op(t) == Op::Call);
    calls.find(|&t| stands_against(t))
}
