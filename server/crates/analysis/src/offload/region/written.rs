//! A function as its offload of a stretch reads it: calls outside kernels stand there as what they do.
//!
//! No text is made of the function itself: the user's stays as it is, and runs where the offload does not.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, BodyBuilder, Op, Origin, SymbolId, Term, TermId};

use crate::calls::function::own_callee;
use crate::calls::inline::expand_chosen;
use crate::flow::called::{call, Called};
use crate::flow::library::LibraryEffect;
use crate::offload::touched::TouchedParts;
use crate::{ObstacleKind, Program, TroubleKind};

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
}

impl Written {
    /// The function as it is.
    pub fn of(body: &Body, statements: &[TermId]) -> Written {
        let (callers, touched, shown) = Default::default();
        Written { body: body.clone(), statements: statements.to_vec(), callers, touched, shown }
    }
}

/// The function with the calls of its own program's functions in the statements replaced, save those in `kernels`. `None`: there
/// are none, or none can be.
pub(crate) fn without_calls(
    body: &Body,
    program: &Program,
    statements: &[TermId],
    kernels: &[TermId],
) -> Option<Written> {
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
    let mut writer = Writer { b: e.body.to_builder(), body: &e.body, kernels };
    for &t in statements {
        writer.statement(t);
    }
    let body = writer.b.finish(e.body.root);
    let loops = statements.iter().flat_map(|&t| body.loops(t));
    let callers = loops.filter_map(|l| Some((l, e.caller_of(l)?))).collect();
    let (touched, shown) = Default::default();
    Some(Written { body, statements: statements.to_vec(), callers, touched, shown })
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

/// See [`Body::asserted`].
fn is_assertion(b: &BodyBuilder, t: TermId) -> bool {
    match b.get(t).args.first().map(|&f| &b.get(f).op) {
        Some(Op::Sym(f)) => b.library.contains(f) && &*b.symbols[*f].name == "assert",
        _ => false,
    }
}

struct Writer<'a> {
    b: BodyBuilder,
    body: &'a Body,
    kernels: &'a [TermId],
}

impl Writer<'_> {
    fn made(&mut self, op: Op, args: Vec<TermId>, like: TermId) -> TermId {
        let (ty, span) = (self.b.types.void(), self.b.span(like));
        self.b.term_from(op, args, ty, span, Origin::Made)
    }

    /// Brings the statements of calls in an expression before the statement that the expression is a part of. The answer:
    /// statements to stand in its place where those around have to change.
    fn statement(&mut self, t: TermId) -> Option<Vec<TermId>> {
        if self.kernels.contains(&t) {
            return None;
        }
        let args: Vec<TermId> = self.b.get(t).args.to_vec();
        match self.b.get(t).op.clone() {
            Op::List => {
                let mut new = Vec::new();
                for &a in &args {
                    match self.statement(a) {
                        Some(instead) => new.extend(instead),
                        None => new.push(a),
                    }
                }
                self.set_args(t, new);
                None
            }
            Op::If => {
                for &a in args.iter().skip(1) {
                    self.statement(a);
                }
                self.hoist(t, args[0]);
                None
            }
            Op::For | Op::While | Op::DoWhile => {
                let inner = self.body.loop_parts(t)?.body;
                self.statement(inner);
                None
            }
            Op::Declare(s) => {
                let &init = args.first()?;
                let before = self.before(init)?;
                let (ty, span) = (self.b.symbols[s].ty, self.b.span(t));
                let place = self.b.term_from(Op::Sym(s), [], ty, span, Origin::Made);
                let set = self.b.term_from(Op::Assign, [place, init], ty, span, Origin::Made);
                self.set_args(t, Vec::new());
                let block = before.into_iter().chain([set]).collect();
                let block = self.made(Op::List, block, t);
                // what came first may have such statements itself
                self.statement(block);
                Some(vec![t, block])
            }
            _ => {
                self.hoist(t, t);
                None
            }
        }
    }

    fn set_args(&mut self, t: TermId, args: Vec<TermId>) {
        let term = self.b.get(t).clone();
        self.b.set(t, Term { args: args.into(), ..term });
    }

    /// Makes a statement a block: first the statements in the expression, then the statement.
    fn hoist(&mut self, t: TermId, expression: TermId) {
        let Some(mut block) = self.before(expression) else { return };
        let term = self.b.get(t).clone();
        let span = self.b.span(t);
        let empty = Term { op: Op::List, args: Box::default(), ty: self.b.types.void() };
        self.b.set(t, empty);
        block.push(self.b.term_from(term.op, term.args, term.ty, span, Origin::Made));
        self.set_args(t, block);
        // what came first may have such statements itself
        self.statement(t);
    }

    /// Takes the statements in an expression out of it, where they surely run and nothing else of it tells when.
    fn before(&mut self, expression: TermId) -> Option<Vec<TermId>> {
        let mut found = Vec::new();
        self.find(expression, &mut found)?;
        if found.is_empty() {
            return None;
        }
        let lists: Vec<TermId> = found.iter().map(|&c| self.b.get(c).args[0]).collect();
        let (mut written, mut in_memory) = (FxHashSet::default(), false);
        for &l in &lists {
            self.visit(l, &[], &mut |b, t| {
                if let (true, Some(&place)) = (b.get(t).op.is_write(), b.get(t).args.first()) {
                    match b.get(place).op {
                        Op::Sym(s) => {
                            written.insert(s);
                        }
                        _ => in_memory = true,
                    }
                }
                in_memory |= b.get(t).op == Op::Call && !is_assertion(b, t);
            });
        }
        let (mut named, mut reads) = (FxHashSet::default(), false);
        let values: Vec<TermId> = found.iter().map(|&c| self.b.get(c).args[1]).collect();
        // each call's own value is read behind its statements, wherever it stands
        let apart: Vec<TermId> =
            lists.iter().copied().chain(values.iter().copied().filter(|_| found.len() == 1)).collect();
        self.visit(expression, &apart, &mut |b, t| match b.get(t).op {
            Op::Sym(s) => {
                named.insert(s);
            }
            Op::Index | Op::Deref | Op::Member { .. } => reads = true,
            _ => {}
        });
        // what a call has for itself no other names
        let own: Vec<FxHashSet<SymbolId>> = lists.iter().map(|&l| self.declared(l)).collect();
        let meets = |s: &SymbolId| named.contains(s) && !own.iter().any(|o| o.contains(s));
        if written.iter().any(meets) || in_memory && reads {
            return None;
        }
        let mut out = Vec::new();
        for (&c, (&list, &value)) in found.iter().zip(lists.iter().zip(&values)) {
            out.extend(self.b.get(list).args.to_vec());
            let term = self.b.get(value).clone();
            self.b.set(c, term);
            let empty = Term { op: Op::Empty, args: Box::default(), ty: self.b.types.void() };
            self.b.set(list, empty.clone());
            self.b.set(value, empty);
        }
        Some(out)
    }

    fn declared(&self, list: TermId) -> FxHashSet<SymbolId> {
        let mut out = FxHashSet::default();
        self.visit(list, &[], &mut |b, t| {
            if let Op::Declare(s) = b.get(t).op {
                out.insert(s);
            }
        });
        out
    }

    fn visit(&self, t: TermId, apart: &[TermId], f: &mut dyn FnMut(&BodyBuilder, TermId)) {
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            if !apart.contains(&t) {
                f(&self.b, t);
                stack.extend(self.b.get(t).args.iter());
            }
        }
    }

    /// Where statements stand in an expression, in the order in which they run; `None`: one of them may not run.
    fn find(&self, t: TermId, out: &mut Vec<TermId>) -> Option<()> {
        let args = &self.b.get(t).args;
        let always = match self.b.get(t).op {
            Op::Comma if args.first().is_some_and(|&l| self.b.get(l).op == Op::List) => {
                out.push(t);
                // its value may hold another only where that is moved with it
                let mut inside = Vec::new();
                self.find(*args.get(1)?, &mut inside)?;
                return inside.is_empty().then_some(());
            }
            Op::Binary(BinOp::And | BinOp::Or) | Op::Select => 1,
            Op::List | Op::If | Op::For | Op::While | Op::DoWhile | Op::Switch => return None,
            _ => args.len(),
        };
        for (k, &a) in args.iter().enumerate() {
            if k < always {
                self.find(a, out)?;
                continue;
            }
            let mut inside = Vec::new();
            self.find(a, &mut inside)?;
            if !inside.is_empty() {
                return None;
            }
        }
        Some(())
    }
}
