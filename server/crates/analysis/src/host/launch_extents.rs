//! What the text of a launch fixes: the extents of its grid and blocks, and the numbers it gives its kernel.
//!
//! Deliberately absent: finding launches, and guesses of what only a run can tell.

use term::{BinOp, Body, Op, Storage, SymbolId, TermId, UnOp};

/// The extents that an integer, `dim3(…)`, or a variable that holds one of them for good stands for.
pub fn launch_extents(body: &Body, t: TermId) -> Option<[u32; 3]> {
    extents(body, t, 0)
}

fn extents(body: &Body, t: TermId, depth: u32) -> Option<[u32; 3]> {
    let mut out = [1u32; 3];
    let parts = launch_extent_terms(body, t)?;
    for (d, p) in out.iter_mut().zip(parts) {
        *d = u32::try_from(value(body, p, depth)?).ok()?;
    }
    Some(out)
}

/// The terms of the extents that are given, three at most.
pub fn launch_extent_terms(body: &Body, t: TermId) -> Option<Vec<TermId>> {
    let mut t = t;
    if let Op::Sym(s) = body.op(t) {
        if let Some(init) = launch_only_value(body, *s) {
            t = init;
        }
    }
    match (body.op(t), body.args(t)) {
        (Op::Call, [callee, parts @ ..]) => {
            let dim3 = matches!(body.op(*callee), Op::Sym(s) if &*body.symbols[*s].name == "dim3");
            (dim3 && parts.len() <= 3).then(|| parts.to_vec())
        }
        _ => Some(vec![t]),
    }
}

/// An integer that the text fixes.
pub fn launch_value(body: &Body, t: TermId) -> Option<i64> {
    value(body, t, 0)
}

/// What a local variable was initialised with, if nothing else is ever stored in it.
pub fn launch_only_value(body: &Body, s: SymbolId) -> Option<TermId> {
    if body.symbols[s].storage != Storage::Local || body.symbols[s].address_taken {
        return None;
    }
    let mut init = None;
    for t in body.walk(body.root) {
        let args = body.args(t);
        match body.op(t) {
            Op::Declare(d) if *d == s => init = Some(*args.first()?),
            Op::Assign | Op::Compound(_) | Op::Step { .. } => {
                let mut place = *args.first()?;
                while let (Op::Member { .. }, &[base]) = (body.op(place), body.args(place)) {
                    place = base;
                }
                if body.as_symbol(place) == Some(s) {
                    return None;
                }
            }
            _ => {}
        }
    }
    init
}

fn value(body: &Body, t: TermId, depth: u32) -> Option<i64> {
    if depth > 32 {
        return None;
    }
    let of = |t: TermId| value(body, t, depth + 1);
    match (body.op(t), body.args(t)) {
        (Op::Int(v), _) => i64::try_from(*v).ok(),
        (Op::Cast, &[a]) if body.types.as_int(body.ty(t)).is_some() => of(a),
        (Op::Unary(UnOp::Neg), &[a]) => of(a)?.checked_neg(),
        (Op::Binary(op), &[a, b]) => {
            let (a, b) = (of(a)?, of(b)?);
            match op {
                BinOp::Add => a.checked_add(b),
                BinOp::Sub => a.checked_sub(b),
                BinOp::Mul => a.checked_mul(b),
                BinOp::Div => a.checked_div(b),
                BinOp::Rem => a.checked_rem(b),
                BinOp::Shl => a.checked_mul(1i64.checked_shl(u32::try_from(b).ok()?)?),
                BinOp::Shr => a.checked_shr(u32::try_from(b).ok()?),
                _ => None,
            }
        }
        (Op::Member { field, .. }, &[base]) => {
            let axis = ["x", "y", "z"].iter().position(|f| **f == **field)?;
            match body.op(base) {
                Op::Sym(_) => extents(body, base, depth + 1).map(|d| d[axis] as i64),
                _ => None,
            }
        }
        (Op::Sym(s), _) => match body.symbols[*s].storage {
            Storage::Constant(v) => i64::try_from(v).ok(),
            _ => of(launch_only_value(body, *s)?),
        },
        _ => None,
    }
}
