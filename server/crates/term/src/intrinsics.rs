//! Functions whose meaning every room knows: the pure part of `<math.h>` and a few of `<stdlib.h>`.
//!
//! Pure here means: reads no memory, writes none (`errno` and floating-point flags aside), always returns.
//! Source: C11 7.12 (math), 7.22.6 (abs). CUDA's device versions have the same names (CUDA Math API).

use crate::{FloatKind, IntKind};

/// The result and parameter kinds of a known pure function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intrinsic {
    /// All parameters and the result are this floating type.
    Float { kind: FloatKind, arity: u8 },
    /// All parameters and the result are this integer type.
    Int { kind: IntKind, arity: u8 },
    /// A floating parameter and an `int` result or test (`isnan`, `signbit`, …): any floating type.
    Classify,
    /// `ldexp(double, int)`.
    FloatInt { kind: FloatKind },
    /// `lround(double)` and the like: floating parameter, integer result.
    ToInt { from: FloatKind, to: IntKind },
}

const UNARY: [&str; 30] = [
    "sqrt",
    "cbrt",
    "fabs",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
    "nearbyint",
    "erf",
    "erfc",
];
const BINARY: [&str; 8] = ["pow", "fmod", "atan2", "hypot", "fmin", "fmax", "fdim", "copysign"];

/// Functions of floating numbers whose results are exact or correctly rounded everywhere (IEEE 754-2008, 5.3 to 5.5; CUDA C++
/// Programming Guide, Mathematical Functions: 0 ulp), without the letter for the type.
const EXACT: [&str; 12] = [
    "sqrt",
    "fabs",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
    "nearbyint",
    "fmod",
    "fmin",
    "fmax",
    "copysign",
];

/// Whether a known pure function gives the same bits wherever it is computed: its result is exact, correctly rounded, or no
/// floating number.
pub fn is_correctly_rounded(name: &str) -> bool {
    let of_double = name.strip_suffix('f').unwrap_or(name);
    match intrinsic(name) {
        Some(Intrinsic::Float { .. }) => EXACT.contains(&name) || EXACT.contains(&of_double),
        Some(Intrinsic::FloatInt { .. }) | None => false,
        Some(Intrinsic::Int { .. } | Intrinsic::Classify | Intrinsic::ToInt { .. }) => true,
    }
}

/// The known pure function of this name, if there is one. `tgamma`, `lgamma` (writes `signgam`), `frexp`, `modf`
/// (write through pointers) and `rand` are not here on purpose.
pub fn intrinsic(name: &str) -> Option<Intrinsic> {
    match name {
        "abs" => return Some(Intrinsic::Int { kind: IntKind::Int, arity: 1 }),
        "labs" => return Some(Intrinsic::Int { kind: IntKind::Long, arity: 1 }),
        "llabs" => return Some(Intrinsic::Int { kind: IntKind::LongLong, arity: 1 }),
        "isnan" | "isinf" | "isfinite" | "signbit" => return Some(Intrinsic::Classify),
        "ldexp" => return Some(Intrinsic::FloatInt { kind: FloatKind::F64 }),
        "ldexpf" => return Some(Intrinsic::FloatInt { kind: FloatKind::F32 }),
        "fma" => return Some(Intrinsic::Float { kind: FloatKind::F64, arity: 3 }),
        "fmaf" => return Some(Intrinsic::Float { kind: FloatKind::F32, arity: 3 }),
        "lround" | "lrint" => return Some(Intrinsic::ToInt { from: FloatKind::F64, to: IntKind::Long }),
        "lroundf" | "lrintf" => return Some(Intrinsic::ToInt { from: FloatKind::F32, to: IntKind::Long }),
        _ => {}
    }
    let (stem, kind) = match name.strip_suffix('f') {
        Some(stem) if UNARY.contains(&stem) || BINARY.contains(&stem) => (stem, FloatKind::F32),
        _ => (name, FloatKind::F64),
    };
    if UNARY.contains(&stem) {
        Some(Intrinsic::Float { kind, arity: 1 })
    } else if BINARY.contains(&stem) {
        Some(Intrinsic::Float { kind, arity: 2 })
    } else {
        None
    }
}

/// The function of C's library that computes what one of .NET does, to the last bits of it. `Max` and `Min` are not among them:
/// they know NaN and signed zeros.
pub fn of_dotnet(name: &str) -> Option<&'static str> {
    let (of, function) = name.split_once('.')?;
    let (double, single) = match function {
        "Sqrt" => ("sqrt", "sqrtf"),
        "Cbrt" => ("cbrt", "cbrtf"),
        "Sin" => ("sin", "sinf"),
        "Cos" => ("cos", "cosf"),
        "Tan" => ("tan", "tanf"),
        "Asin" => ("asin", "asinf"),
        "Acos" => ("acos", "acosf"),
        "Atan" => ("atan", "atanf"),
        "Sinh" => ("sinh", "sinhf"),
        "Cosh" => ("cosh", "coshf"),
        "Tanh" => ("tanh", "tanhf"),
        "Exp" => ("exp", "expf"),
        "Log" => ("log", "logf"),
        "Log10" => ("log10", "log10f"),
        "Floor" => ("floor", "floorf"),
        "Ceiling" => ("ceil", "ceilf"),
        "Truncate" => ("trunc", "truncf"),
        // to the even one of two that are as near
        "Round" => ("rint", "rintf"),
        "Abs" => ("fabs", "fabsf"),
        "Atan2" => ("atan2", "atan2f"),
        _ => return None,
    };
    match of {
        "Math" => Some(double),
        "MathF" => Some(single),
        _ => None,
    }
}

/// Whether a function of a library only computes a number: those that [`intrinsic`] knows, and others of which no more is known
/// than that. Names with a dot are those of .NET; an array's length there never changes.
pub fn only_computes(name: &str) -> bool {
    name.starts_with("Math.")
        || name.starts_with("MathF.")
        || name == "Array.GetLength"
        || intrinsic(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_variants_are_told_apart() {
        assert_eq!(intrinsic("sqrtf"), Some(Intrinsic::Float { kind: FloatKind::F32, arity: 1 }));
        assert_eq!(intrinsic("erf"), Some(Intrinsic::Float { kind: FloatKind::F64, arity: 1 }));
        assert_eq!(intrinsic("erff"), Some(Intrinsic::Float { kind: FloatKind::F32, arity: 1 }));
        assert_eq!(intrinsic("frexp"), None);
        assert_eq!(intrinsic("rand"), None);
    }
}
