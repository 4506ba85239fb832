//! A kernel of a loop whose calls are written out: where a function that it calls has no version for the GPU, because it follows
//! pointers that it gets in structures (`get(m, i, j)` of `m->data[i * m->cols + j]`), the kernel's own text does what it does.
//! The user's text stays as it is. Deliberately absent: how calls are written out (`analysis::region_without_calls`).

use analysis::{LoopId, Written};
use term::{Op, Storage, SymbolId, TermId};

use super::{plan_as_it_is, Asked, NoKernel, Spent};
use crate::function_view::FunctionView;
use crate::lints::is_parallel;

/// Shows `then` the plan of a loop with its calls written out, and the function as the plan reads it; `None`: there is none either.
pub(super) fn with_calls_written_out<R, F: FnOnce(&codegen::Plan, &FunctionView) -> R>(
    view: &FunctionView,
    id: LoopId,
    asked: Asked<'_>,
    then: &mut Option<F>,
) -> Option<R> {
    let term = view.of(id).term;
    let written =
        analysis::region_without_calls(&Written::of(view.body(), &[term]), view.doc.program(), &[])?;
    view.with_body(written.body, asked.cancel, |view, analyzed| {
        asked.count(analyzed.steps);
        let id = view.facts.of_term(term).filter(|&id| is_parallel(view.of(id)))?;
        plan_as_it_is(view, id, asked, then).ok()
    })
}

/// Shows `then` the plan of a loop whose facts are those of the loop without its ways out.
pub(super) fn without_ways_out<R, F: FnOnce(&codegen::Plan, &FunctionView) -> R>(
    view: &FunctionView,
    id: LoopId,
    asked: Asked<'_>,
    then: &mut Option<F>,
) -> Result<R, NoKernel> {
    // a keystroke has no time for that
    if asked.site.steps.is_some() {
        return Err(LATER);
    }
    let term = view.of(id).term;
    let body =
        analysis::without_ways_out(view.body(), view.doc.program(), term).ok_or(NoKernel::NotParallel)?;
    view.with_body(body, asked.cancel, |view, analyzed| {
        asked.count(analyzed.steps);
        let id =
            view.facts.of_term(term).filter(|&id| is_parallel(view.of(id))).ok_or(NoKernel::NotParallel)?;
        let why = match plan_as_it_is(view, id, asked, then) {
            Ok(done) => return Ok(done),
            Err(why) => why,
        };
        let helps = may_help(view, id, &why);
        if let Some(done) = helps.then(|| with_calls_written_out(view, id, asked, then)).flatten() {
            return Ok(done);
        }
        Err(match why {
            NoKernel::Obstacle(..) | NoKernel::Refused(_) => {
                NoKernel::Told(why.words(view, id), why.label(view))
            }
            why => why,
        })
    })
}

/// Whether calls of the program's functions stand against a kernel, or may.
pub(super) fn may_help(view: &FunctionView, id: LoopId, why: &NoKernel) -> bool {
    let body = view.body();
    let is_own = |f: SymbolId| body.symbols[f].storage == Storage::Function && !body.library.contains(&f);
    let is_call = |t: TermId| *body.op(t) == Op::Call && body.callee(t).is_some_and(is_own);
    matches!(why, NoKernel::Obstacle(..) | NoKernel::Refused(_)) && body.walk(view.of(id).term).any(is_call)
}

/// What is said where there is no time to find out.
pub(super) const LATER: NoKernel = NoKernel::NotTried(Spent::Keystroke);
