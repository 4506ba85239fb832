//! Zeros of floating extremes. `-0.0 < 0.0` is false, so that of zeros the order decides which one a loop keeps, and with it the sign
//! of its result (IEEE 754-2008, 5.11). Kernels meet values in another order: where a zero replaces what was there before, the
//! loop itself decides, unless no value is ever a negative zero.

use term::{BinOp, Body, FloatKind, Op, TermId, TypeId, UnOp};

use super::ReductionPlan;

/// How an extreme treats zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zeros {
    /// None of its values is a negative zero and equal ones do not replace, or it is no floating extreme.
    Alike,
    /// None of its values is a negative zero, and equal ones replace what the variable holds before the loop.
    Replaced,
    /// A zero replaces what is not one, or what comes first stays.
    First,
    /// Of equal values the last one stays.
    Last,
}

/// How the updates of a floating minimum or maximum treat zeros.
pub(super) fn zeros(body: &Body, r: &analysis::Reduction) -> Zeros {
    let mut found = Zeros::Alike;
    // of `t = s + e; s = t` what the first computes
    let keeps = |u: TermId| match (body.op(u), body.args(u)) {
        (Op::Assign, &[_, value]) => matches!(body.op(value), Op::Sym(_) | Op::Member { .. }),
        _ => false,
    };
    for &u in r.updates.iter().filter(|&&u| !keeps(u)) {
        let this = match taken(body, u, &super::scalars::holders(body, r)) {
            Some((value, takes_equal)) => match (keeps_its_zero(body, value, r.ty, DEPTH), takes_equal) {
                (true, false) => Zeros::Alike,
                (true, true) => Zeros::Replaced,
                // what is less than zero may be one as it is kept, and replaces the other
                (false, false) if narrows(body, value, r.ty) => Zeros::Last,
                (false, false) => Zeros::First,
                (false, true) => Zeros::Last,
            },
            None => Zeros::Last,
        };
        found = match (found, this) {
            (Zeros::Alike, other) | (other, Zeros::Alike) => other,
            (a, b) if a == b => a,
            _ => Zeros::Last,
        };
    }
    found
}

/// Definitions of variables, one within another, that are looked through.
const DEPTH: u32 = 6;

/// The value that an update compares, and whether it takes one that is equal. `None`: not told.
fn taken(body: &Body, update: TermId, holders: &[TermId]) -> Option<(TermId, bool)> {
    let strip = |mut t: TermId| {
        while *body.op(t) == Op::Cast {
            t = *body.args(t).first()?;
        }
        Some(t)
    };
    let is_place = |t: TermId| strip(t).is_some_and(|t| holders.iter().any(|&h| body.same(t, h)));
    let (condition, keeps_if_true) = match (body.op(update), body.args(update)) {
        (Op::If, &[c, _]) => (c, false),
        (Op::Assign | Op::Declare(_), &[.., value]) => {
            let select = strip(value)?;
            match (body.op(select), body.args(select)) {
                (Op::Select, &[c, kept, _]) => (c, is_place(kept)),
                _ => return None,
            }
        }
        _ => return None,
    };
    let Op::Binary(op) = *body.op(condition) else { return None };
    let &[a, b] = body.args(condition) else { return None };
    let value = if is_place(a) { b } else { a };
    let or_equal = match op {
        BinOp::Le | BinOp::Ge => true,
        BinOp::Lt | BinOp::Gt => false,
        _ => return None,
    };
    Some((value, or_equal != keeps_if_true))
}

/// Whether a value is never `-0.0` as one of the type: what is negative and too small for a narrower type becomes that.
fn keeps_its_zero(body: &Body, t: TermId, ty: TypeId, depth: u32) -> bool {
    match narrows(body, t, ty) {
        true => is_never_negative(body, t, depth),
        false => is_never_negative_zero(body, t, depth),
    }
}

/// Whether a floating type has fewer values than a value's own.
fn narrows(body: &Body, t: TermId, ty: TypeId) -> bool {
    use FloatKind::{Long, F32};
    match (body.types.as_float(body.ty(t)), body.types.as_float(ty)) {
        (Some(from), Some(to)) => from != to && (from == Long || to == F32),
        _ => false,
    }
}

/// Whether a floating value is neither negative nor `-0.0`.
fn is_never_negative(body: &Body, t: TermId, depth: u32) -> bool {
    let of = |t: TermId| is_never_negative(body, t, depth);
    if body.types.as_float(body.ty(t)).is_none() {
        // smaller numbers there are none
        return true;
    }
    match (body.op(t), body.args(t)) {
        (Op::Float(v), _) => v.get().is_sign_positive(),
        (Op::Cast, &[x]) => of(x),
        (Op::Binary(BinOp::Add), &[a, b]) => {
            [a, b].iter().all(|&x| body.types.as_float(body.ty(x)).is_some() && of(x))
        }
        (Op::Binary(BinOp::Mul), &[a, b]) => body.same(a, b),
        (Op::Select, &[_, a, b]) => of(a) && of(b),
        (Op::Comma, &[.., last]) => of(last),
        (Op::Call, &[_, ref args @ ..]) => match (library(body, t), args) {
            (Some(name), _) if NEVER_NEGATIVE.contains(&name) => true,
            (Some("sqrt" | "sqrtf" | "Math.Sqrt"), &[x]) => of(x),
            _ => false,
        },
        (Op::Sym(s), _) if depth > 0 => {
            body.only_value(*s).is_some_and(|value| is_never_negative(body, value, depth - 1))
        }
        _ => false,
    }
}

/// Functions that give nothing negative, and no `-0.0`.
const NEVER_NEGATIVE: [&str; 11] =
    ["fabs", "fabsf", "exp", "expf", "exp2", "exp2f", "hypot", "hypotf", "cosh", "coshf", "Math.Abs"];

/// The name of the library's function that is called.
fn library(body: &Body, call: TermId) -> Option<&str> {
    body.callee(call).filter(|f| body.library.contains(f)).map(|f| &*body.symbols[f].name)
}

/// Whether a floating value is never `-0.0`, rounded to nearest.
fn is_never_negative_zero(body: &Body, t: TermId, depth: u32) -> bool {
    let of = |t: TermId| is_never_negative_zero(body, t, depth);
    if body.types.as_float(body.ty(t)).is_none() {
        return true;
    }
    match (body.op(t), body.args(t)) {
        (Op::Float(v), _) => v.get().to_bits() != (-0.0f64).to_bits(),
        (Op::Cast, &[x]) => keeps_its_zero(body, x, body.ty(t), depth),
        // equal numbers differ by +0, and so does a sum of two zeros of which one is +0
        (Op::Binary(BinOp::Add), &[a, b]) => of(a) || of(b),
        (Op::Binary(BinOp::Sub), &[a, _]) => of(a),
        (Op::Binary(BinOp::Mul), &[a, b]) => body.same(a, b),
        (Op::Select, &[_, a, b]) => of(a) && of(b),
        (Op::Comma, &[.., last]) => of(last),
        (Op::Unary(UnOp::Plus), &[x]) => of(x),
        (Op::Call, &[_, ref args @ ..]) => match (library(body, t), args) {
            (Some(name), _) if NEVER_NEGATIVE.contains(&name) => true,
            (Some("sqrt" | "sqrtf" | "Math.Sqrt"), &[x]) => keeps_its_zero(body, x, body.ty(t), depth),
            _ => false,
        },
        (Op::Sym(s), _) if depth > 0 => {
            let ty = body.symbols[*s].ty;
            body.only_value(*s).is_some_and(|value| keeps_its_zero(body, value, ty, depth - 1))
        }
        _ => false,
    }
}

impl ReductionPlan {
    /// What must hold between the variable and a partial result that is a zero for the order not to decide the zero's sign.
    pub(crate) fn keeps_zero(&self) -> Option<BinOp> {
        use analysis::ReductionOp::{Max, Min};
        match (self.zeros, self.op) {
            (Zeros::Replaced, _) => Some(BinOp::Ne),
            (Zeros::First, Min) => Some(BinOp::Le),
            (Zeros::First, Max) => Some(BinOp::Ge),
            (Zeros::Last, Min) => Some(BinOp::Lt),
            (Zeros::Last, Max) => Some(BinOp::Gt),
            _ => None,
        }
    }
}
