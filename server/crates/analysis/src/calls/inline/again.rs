//! Calls that are written twice where the second gives what the first gave: `if (f(x) > m) m = f(x);`, `m = MAX(m, f(x))`.
//!
//! Only of functions that write nothing and use no file-scope variables; between the two nothing is written but variables that are not
//! theirs. The second is then the variable that the first was put into, so that what compares and keeps the value is seen to.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Term, TermId, TypeKind};

use super::{CallSite, Expander};
use crate::flow::called::{call, function_only_gives};
use crate::Program;

/// What became of calls that are written twice.
#[derive(Default)]
pub(super) struct Shared {
    /// Where those stand now whose values are kept in variables.
    pub moved: FxHashMap<TermId, TermId>,
    /// Calls that are such a variable now, and what was part of them.
    pub gone: FxHashSet<TermId>,
}

impl Expander<'_> {
    /// Puts what calls give that are written again into variables, and these where they are written again.
    pub(super) fn share(&mut self, calls: &[(TermId, CallSite)]) -> Shared {
        let body = self.body;
        let usable = calls.iter().filter(|(_, place)| *place == CallSite::Expression).map(|(call, _)| *call);
        let mut out = Shared::default();
        for (first, again) in repeated(body, self.program, &usable.collect()) {
            let Some(name) = body.callee(first).map(|f| body.symbols[f].name.clone()) else { continue };
            let ty = body.ty(first);
            (self.span, self.home) = (body.span(first), first);
            let variable = self.variable(&name, ty);
            self.came_with.insert(variable, first);
            let made = self.term(Op::Call, body.args(first), ty);
            let set = self.term(Op::Sym(variable), [], ty);
            self.b.set(first, Term { op: Op::Assign, args: Box::new([set, made]), ty });
            out.moved.insert(first, made);
            for call in again {
                self.b.set(call, Term { op: Op::Sym(variable), args: Box::new([]), ty });
                out.gone.extend(body.walk(call));
            }
        }
        out
    }
}

/// Of each such call those that repeat it.
fn repeated(body: &Body, program: &Program, calls: &FxHashSet<TermId>) -> Vec<(TermId, Vec<TermId>)> {
    let mut out: Vec<(TermId, Vec<TermId>)> = Vec::new();
    let mut taken: FxHashSet<TermId> = FxHashSet::default();
    for t in body.walk(body.root) {
        let (condition, then) = match (body.op(t), body.args(t)) {
            (Op::If | Op::Select, [condition, then @ ..]) => (*condition, then),
            _ => continue,
        };
        for first in surely_made(body, condition) {
            if !calls.contains(&first) || taken.contains(&first) || !gives_number(body, program, first) {
                continue;
            }
            // what else the condition calls may come after it
            if !leaves(body, program, condition, first) {
                continue;
            }
            let again: Vec<TermId> = then
                .iter()
                .filter(|&&branch| leaves(body, program, branch, first))
                .flat_map(|&branch| body.walk(branch).filter(|&x| calls.contains(&x) && body.same(x, first)))
                .filter(|x| !taken.contains(x))
                .collect();
            if !again.is_empty() {
                taken.extend(body.walk(first).chain(again.iter().flat_map(|&x| body.walk(x))));
                out.push((first, again));
            }
        }
    }
    out
}

/// The calls that are made whenever the term is evaluated.
fn surely_made(body: &Body, t: TermId) -> Vec<TermId> {
    let (mut out, mut open) = (Vec::new(), vec![t]);
    while let Some(t) = open.pop() {
        let args = body.args(t);
        match body.op(t) {
            Op::Call => out.push(t),
            Op::Binary(op) if op.is_logical() => open.extend(args.first()),
            Op::Select => open.extend(args.first()),
            Op::SizeOf => {}
            _ => open.extend(args),
        }
    }
    out
}

/// Whether a call only gives a number, the same as long as what its arguments lead to stays the same.
fn gives_number(body: &Body, program: &Program, t: TermId) -> bool {
    let is_number = matches!(body.types.kind(body.ty(t)), TypeKind::Int(_) | TypeKind::Float(_));
    let is_plain = body.args(t).iter().skip(1).all(|&a| {
        body.walk(a).all(|x| {
            !body.op(x).is_write() && !matches!(body.op(x), Op::Call | Op::Comma | Op::Reject(_) | Op::Launch)
        })
    });
    is_number && is_plain && function_only_gives(body, program, t)
}

/// Whether a statement writes nothing that such a call may look at.
fn leaves(body: &Body, program: &Program, statement: TermId, of: TermId) -> bool {
    body.walk(statement).all(|x| match body.op(x) {
        Op::Call => call(body, program, x).is_ok_and(|c| c.writes_nothing()),
        Op::Reject(_) | Op::Launch | Op::Apply(_) => false,
        op if op.is_write() => body.args(x).first().and_then(|&p| body.as_symbol(p)).is_some_and(|s| {
            body.symbols[s].is_own_scalar() && body.walk(of).all(|y| body.as_symbol(y) != Some(s))
        }),
        op => !op.is_loop(),
    })
}
