//! Calls that are written out in the middle of expressions: their statements brought before the statement that the expression is a part
//! of, where they surely run and nothing else of it tells when.

use rustc_hash::FxHashSet;
use term::{BinOp, Body, BodyBuilder, Op, Origin, SymbolId, Term, TermId, TypeId};

/// The function with the statements in expressions of these statements before the statements that the expressions are parts of, save in
/// `kernels`. Of each new term the one that it is made for.
pub(crate) fn with_statements_apart(
    body: &Body,
    statements: &[TermId],
    kernels: &[TermId],
) -> (Body, Vec<TermId>) {
    let mut writer = Writer { b: body.to_builder(), body, kernels, made_for: Vec::new() };
    for &t in statements {
        writer.statement(t);
    }
    (writer.b.finish(body.root), writer.made_for)
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
    /// Of each new term the one that it is made for.
    made_for: Vec<TermId>,
}

impl Writer<'_> {
    fn made(&mut self, op: Op, args: Vec<TermId>, like: TermId) -> TermId {
        let ty = self.b.types.void();
        self.typed(op, args, ty, like)
    }

    fn typed(&mut self, op: Op, args: impl Into<Box<[TermId]>>, ty: TypeId, like: TermId) -> TermId {
        self.made_for.push(like);
        self.b.term_from(op, args, ty, self.b.span(like), Origin::Made)
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
                let ty = self.b.symbols[s].ty;
                let place = self.typed(Op::Sym(s), [], ty, t);
                let set = self.typed(Op::Assign, [place, init], ty, t);
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
        let empty = Term { op: Op::List, args: Box::default(), ty: self.b.types.void() };
        self.b.set(t, empty);
        block.push(self.typed(term.op, term.args, term.ty, t));
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
