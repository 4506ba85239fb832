//! Functions of .NET's library that a kernel computes where they give the same everywhere, and that it notes where they throw or
//! where one .NET answers otherwise than another: then the loop itself runs.
//!
//! - `Math.Max` and `Math.Min` of floating numbers give the NaN that they are given, and of zeros of two signs the first .NETs gave
//!   the second, and later ones the greater (or lesser);
//! - `Math.Pow` of ±1 and an infinity or NaN, and of NaN and 0, is NaN in the first and 1 in later ones;
//! - `Math.Abs` of a type's least number throws.

use term::{Body, FloatKind, IntKind, TermId};

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Noticed {
    /// The greater, or the lesser, of two numbers.
    Extreme {
        greater: bool,
        kind: FloatKind,
    },
    Power(FloatKind),
    /// Without its sign.
    Absolute(IntKind),
}

/// What a call computes, if it is one of these.
pub(crate) fn noticed(body: &Body, t: TermId) -> Option<Noticed> {
    let f = body.callee(t).filter(|f| body.library.contains(f))?;
    let (of, name) = body.symbols[f].name.split_once('.')?;
    let (float, int) = (body.types.as_float(body.ty(t)), body.types.as_int(body.ty(t)));
    let is_mathematics = matches!(of, "Math" | "MathF") && body.semantics.checked_bounds;
    match (name, float.filter(|_| is_mathematics), int.filter(|_| is_mathematics), body.args(t).len()) {
        ("Max" | "Min", Some(kind), _, 3) => Some(Noticed::Extreme { greater: name == "Max", kind }),
        ("Pow", Some(kind), _, 3) => Some(Noticed::Power(kind)),
        ("Abs", _, Some(kind), 2) => Some(Noticed::Absolute(kind)),
        _ => None,
    }
}
