//! Conditions that have one answer while a loop runs, and that numbers of the model do not say. Deliberately absent: what comes of
//! the answer.

use term::{BinOp, Body, Intrinsic, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::Param;

impl Param {
    /// Whether it is a condition: 1 where it holds, 0 where it does not. A loop, which stands for its number of iterations, is none.
    pub fn is_truth(&self, body: &Body) -> bool {
        let Param::Term(t) = *self else { return false };
        let is_comparison = matches!(body.op(t), Op::Binary(op) if op.is_comparison());
        let is_number = body.types.as_int(body.ty(t)).is_some() || body.op(t).is_loop();
        is_comparison || !is_number
    }
}

/// Whether a term is a truth made of the function's own variables of numbers and pointers alone: it can be computed before the loop,
/// and nothing else can change it.
pub fn is_choice(body: &Body, t: TermId) -> bool {
    let is_truth = match body.op(t) {
        Op::Binary(op) => op.is_comparison(),
        Op::Sym(_) => body.types.as_int(body.ty(t)).is_none(),
        _ => false,
    };
    let is_own = |s: SymbolId| {
        let symbol = &body.symbols[s];
        matches!(symbol.storage, Storage::Param(_) | Storage::Local)
            && !symbol.address_taken
            && matches!(
                body.types.kind(symbol.ty),
                TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. }
            )
    };
    // of the C library what only computes
    let computes = |s: SymbolId| {
        body.library.contains(&s)
            && matches!(
                term::intrinsic(&body.symbols[s].name),
                Some(Intrinsic::Float { .. } | Intrinsic::FloatInt { .. })
            )
    };
    is_truth
        && body.walk(t).all(|x| match body.op(x) {
            Op::Sym(s) => is_own(*s) || computes(*s),
            Op::Call => body.callee(x).is_some_and(computes),
            Op::Int(_) | Op::Float(_) | Op::Cast | Op::Unary(UnOp::Neg) | Op::Arithmetic(_) => true,
            Op::Binary(BinOp::Div) => body.types.as_int(body.ty(x)).is_none(),
            Op::Binary(op) => op.is_comparison() || matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul),
            _ => false,
        })
}
