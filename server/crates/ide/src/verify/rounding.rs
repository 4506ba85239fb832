//! How far the last bits of regrouped sums may go: whether they may decide something that is no floating number.
//!
//! A sum taken in another order differs in its last bits (Goldberg 1991, "What every computer scientist should know about
//! floating-point arithmetic"). What is computed from it does, too, and a comparison or a conversion makes a whole number of it
//! that may be another one. Where that can happen, whole numbers that differ say nothing about the rewriting. What is followed
//! is which variables, and whether memory, may hold something computed from the sums, whatever the order of statements.
//! Deliberately absent: how large the differences are.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use simulate::Program;
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

/// Floating sums and products whose order changed, by the names of their variables. The default knows of none: then whole
/// numbers have to be the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub variables: Vec<Arc<str>>,
    /// Whether some are in memory.
    pub in_memory: bool,
    /// Whether some are those of functions that are called.
    pub in_calls: bool,
}

impl Sums {
    /// Those of loops that become kernels; `None`: their results are the same to the bit.
    pub fn of<'f>(body: &Body, loops: impl Iterator<Item = &'f analysis::LoopFacts>) -> Option<Sums> {
        let regrouped = loops.flat_map(|l| &l.reductions).filter(|r| {
            body.types.as_float(r.ty).is_some()
                && matches!(r.op, analysis::ReductionOp::Add | analysis::ReductionOp::Mul)
        });
        let mut out: Option<Sums> = None;
        for r in regrouped {
            let sums = out.get_or_insert_with(Sums::default);
            let symbol = &body.symbols[r.object.symbol];
            match symbol.storage {
                Storage::Path => sums.in_memory = true,
                _ if matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. }) => sums.in_memory = true,
                _ => sums.variables.push(symbol.name.clone()),
            }
        }
        out
    }

    /// Those of nests of a region: of the function, and of functions that it calls.
    pub fn of_region(body: &Body, plan: &codegen::RegionPlan<'_>) -> Option<Sums> {
        let mut out: Option<Sums> = None;
        for r in plan.nests.iter().flat_map(|n| &n.kernels).flat_map(|k| &k.reductions) {
            let there = plan.outer.body;
            let regroups = matches!(r.op, analysis::ReductionOp::Add | analysis::ReductionOp::Mul);
            if there.types.as_float(r.ty).is_none() || !regroups {
                continue;
            }
            let sums = out.get_or_insert_with(Sums::default);
            let symbol = &there.symbols[r.symbol];
            let is_own = body.symbols.get(r.symbol).is_some_and(|s| s.name == symbol.name);
            match (is_own, there.types.is_arithmetic(symbol.ty)) {
                (true, true) => sums.variables.push(symbol.name.clone()),
                (true, false) => sums.in_memory = true,
                (false, _) => sums.in_calls = true,
            }
        }
        out
    }

    /// Those of either.
    pub fn both(a: Option<Sums>, b: Option<Sums>) -> Option<Sums> {
        let (Some(mut a), Some(b)) = (a.clone(), b.clone()) else { return a.or(b) };
        a.variables.extend(b.variables);
        a.in_memory |= b.in_memory;
        a.in_calls |= b.in_calls;
        Some(a)
    }

    /// All floating numbers: where products are not rounded before they are added.
    pub fn all(body: &Body) -> Sums {
        let is_float = |s: &&term::Symbol| body.types.as_float(s.ty).is_some();
        Sums {
            variables: body.symbols.iter().filter(is_float).map(|s| s.name.clone()).collect(),
            in_memory: true,
            in_calls: true,
        }
    }

    /// Whether their last bits may decide what is no floating number in this function or in what it calls, or whether some
    /// function casts a pointer to a number or structure to one to another, so that what the memory holds is not what its type says.
    pub fn may_decide(&self, program: &Program<'_>, function: &str) -> bool {
        let Some(body) = program.function(function) else { return true };
        let reached = reached(program, body);
        if reached.iter().any(|b| is_retyped(b)) {
            return true;
        }
        let spread = Spread::of(body, self);
        let all = || body.walk(body.root);
        if all().any(|t| makes_whole(body, t, |a| spread.reaches(body, a))) {
            return true;
        }
        let shared = |s: &SymbolId| matches!(body.symbols[*s].storage, Storage::Global { .. });
        let handed_on = spread.memory
            || spread.variables.iter().any(shared)
            || all().any(|t| *body.op(t) == Op::Call && spread.reaches(body, t));
        let others = reached.iter().filter(|b| !std::ptr::eq(**b, body));
        handed_on && others.into_iter().any(|b| b.walk(b.root).any(|t| makes_whole(b, t, |_| true)))
    }
}

/// The function and those of the program that it reaches by calls.
fn reached<'a>(program: &Program<'a>, first: &'a Body) -> Vec<&'a Body> {
    let mut seen = FxHashSet::default();
    let (mut queue, mut out) = (vec![first], Vec::new());
    while let Some(body) = queue.pop() {
        if !seen.insert(&body.name) {
            continue;
        }
        out.push(body);
        for t in body.walk(body.root).filter(|&t| *body.op(t) == Op::Call) {
            let name = body.args(t).first().and_then(|&c| body.as_symbol(c));
            queue.extend(name.and_then(|s| program.function(&body.symbols[s].name)));
        }
    }
    out
}

/// Whether the term makes something else of floating numbers of which `follows` holds: a whole number, or a decision.
fn makes_whole(body: &Body, t: TermId, follows: impl Fn(TermId) -> bool) -> bool {
    let whole = match body.op(t) {
        Op::Call | Op::Index => false,
        Op::Declare(s) => body.types.as_int(body.symbols[*s].ty).is_some(),
        Op::If | Op::For | Op::While | Op::DoWhile => true,
        _ => body.types.as_int(body.ty(t)).is_some(),
    };
    let is_float = |a: TermId| matches!(body.types.kind(body.ty(a)), TypeKind::Float(_));
    whole && body.args(t).iter().any(|&a| is_float(a) && follows(a))
}

fn is_retyped(body: &Body) -> bool {
    body.walk(body.root).filter(|&t| *body.op(t) == Op::Cast).any(|t| {
        let element = |t| body.types.element(body.ty(t)).map(|e| body.types.kind(e));
        let pair = body.args(t).first().and_then(|&a| element(a)).zip(element(t));
        // what comes from `void *` gets its first type
        pair.is_some_and(|(a, b)| a != b && !matches!(a, TypeKind::Void))
    })
}

/// What may hold something computed from the sums.
struct Spread {
    variables: FxHashSet<SymbolId>,
    /// What pointers lead to.
    memory: bool,
    /// What functions return.
    calls: bool,
}

impl Spread {
    fn of(body: &Body, sums: &Sums) -> Spread {
        let named = |s: &term::Symbol| sums.variables.contains(&s.name);
        let variables = body.symbols.iter_ids().filter(|(_, s)| named(s)).map(|(id, _)| id).collect();
        let memory = sums.in_memory || sums.in_calls;
        let mut out = Spread { variables, memory, calls: sums.in_calls };
        loop {
            let before = (out.variables.len(), out.memory);
            for t in body.walk(body.root) {
                let args = body.args(t);
                match body.op(t) {
                    Op::Declare(s) if args.iter().any(|&a| out.reaches(body, a)) => {
                        out.variables.insert(*s);
                    }
                    op if op.is_write() && args.iter().skip(1).any(|&a| out.reaches(body, a)) => {
                        match args.first().and_then(|&p| variable(body, p)) {
                            Some(s) => {
                                out.variables.insert(s);
                            }
                            None => out.memory = true,
                        }
                    }
                    Op::Call => out.memory |= out.reaches(body, t),
                    _ => {}
                }
            }
            out.memory |= out.variables.iter().any(|&s| body.symbols[s].address_taken);
            if before == (out.variables.len(), out.memory) {
                return out;
            }
        }
    }

    /// Whether the expression may be computed from the sums.
    fn reaches(&self, body: &Body, t: TermId) -> bool {
        body.walk(t).any(|x| match body.op(x) {
            Op::Sym(s) => self.variables.contains(s),
            Op::Call => self.calls && !body.callee(x).is_some_and(|f| body.library.contains(&f)),
            Op::Index | Op::Deref | Op::Member { .. } => self.memory && variable(body, x).is_none(),
            _ => false,
        })
    }
}

/// The variable that the place is a part of; `None`: it is what a pointer leads to.
fn variable(body: &Body, mut t: TermId) -> Option<SymbolId> {
    loop {
        match (body.op(t), body.args(t)) {
            (Op::Sym(s), _) => return Some(*s),
            (Op::Index, &[a, b]) => {
                let base = if body.types.as_int(body.ty(a)).is_some() { b } else { a };
                if !matches!(body.types.kind(body.ty(base)), TypeKind::Array { .. }) {
                    return None;
                }
                t = base;
            }
            (Op::Member { arrow: false, .. }, &[a, ..]) => t = a,
            _ => return None,
        }
    }
}
