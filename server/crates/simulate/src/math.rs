//! The pure functions of `term::intrinsic`, computed in their declared precision.
//!
//! `std` calls the platform's libm for most, which is what gcc-compiled programs call, so results agree bit for bit
//! there. The inverse hyperbolic functions, `erf` and the double `cbrt` come from elsewhere and may differ in the last
//! bit.

use term::{intrinsic, FloatKind, IntKind, Intrinsic};

/// A function with its types chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MathFn {
    pub id: MathId,
    /// Parameter and (floating) result precision.
    pub kind: FloatKind,
    /// For integer functions and integer results.
    pub int: IntKind,
    pub arity: u8,
}

/// Which function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MathId {
    Sqrt,
    Cbrt,
    Fabs,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Floor,
    Ceil,
    Trunc,
    Round,
    Rint,
    Erf,
    Erfc,
    Pow,
    Fmod,
    Atan2,
    Hypot,
    Fmin,
    Fmax,
    Fdim,
    Copysign,
    Fma,
    Ldexp,
    Abs,
    IsNan,
    IsInf,
    IsFinite,
    SignBit,
    Lround,
    Lrint,
    /// `min`, `max` of CUDA on integers (canonical registers).
    MinS,
    MaxS,
    MinU,
    MaxU,
    /// One of CUDA's own.
    Device(gpu::math::Function),
}

/// How a call is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Parameters and result of `kind`.
    Float,
    /// Floating parameter, `int` result.
    Classify,
    /// `(float, int) -> float`
    FloatInt,
    /// Floating parameter, result of `int`.
    ToInt,
    /// Parameters and result of `int`.
    Int,
}

fn stem_id(stem: &str) -> Option<MathId> {
    use MathId::*;
    Some(match stem {
        "sqrt" => Sqrt,
        "cbrt" => Cbrt,
        "fabs" => Fabs,
        "sin" => Sin,
        "cos" => Cos,
        "tan" => Tan,
        "asin" => Asin,
        "acos" => Acos,
        "atan" => Atan,
        "sinh" => Sinh,
        "cosh" => Cosh,
        "tanh" => Tanh,
        "asinh" => Asinh,
        "acosh" => Acosh,
        "atanh" => Atanh,
        "exp" => Exp,
        "exp2" => Exp2,
        "expm1" => Expm1,
        "log" => Log,
        "log2" => Log2,
        "log10" => Log10,
        "log1p" => Log1p,
        "floor" => Floor,
        "ceil" => Ceil,
        "trunc" => Trunc,
        "round" => Round,
        "rint" | "nearbyint" => Rint,
        "erf" => Erf,
        "erfc" => Erfc,
        "pow" => Pow,
        "fmod" => Fmod,
        "atan2" => Atan2,
        "hypot" => Hypot,
        "fmin" => Fmin,
        "fmax" => Fmax,
        "fdim" => Fdim,
        "copysign" => Copysign,
        "fma" => Fma,
        "ldexp" => Ldexp,
        "abs" | "labs" | "llabs" => Abs,
        "isnan" => IsNan,
        "isinf" => IsInf,
        "isfinite" => IsFinite,
        "signbit" => SignBit,
        "lround" => Lround,
        "lrint" => Lrint,
        _ => return None,
    })
}

/// The pure function of this name as C sees it, with its shape.
pub fn find(name: &str) -> Option<(MathFn, Shape)> {
    let by_name = |id: &str| stem_id(id).or_else(|| stem_id(id.strip_suffix('f')?));
    let make = |id, kind, int, arity| MathFn { id, kind, int, arity };
    let id = by_name(name)?;
    Some(match intrinsic(name)? {
        Intrinsic::Float { kind, arity } => (make(id, kind, IntKind::Int, arity), Shape::Float),
        Intrinsic::Int { kind, arity } => (make(id, FloatKind::F64, kind, arity), Shape::Int),
        Intrinsic::Classify => (make(id, FloatKind::F64, IntKind::Int, 1), Shape::Classify),
        Intrinsic::FloatInt { kind } => (make(id, kind, IntKind::Int, 2), Shape::FloatInt),
        Intrinsic::ToInt { from, to } => (make(id, from, to, 1), Shape::ToInt),
    })
}

/// A function that CUDA gives to kernels beside those of C.
pub fn of_device(f: gpu::math::Function) -> MathFn {
    let arity = f.parameters.len() as u8;
    MathFn { id: MathId::Device(f), kind: FloatKind::F64, int: IntKind::Int, arity }
}

/// Computes it; `None` where the result does not fit (`abs(INT_MIN)`, `lround(1e30)`).
pub fn eval(f: MathFn, args: &[u64]) -> Option<u64> {
    let at = |i: usize| args.get(i).copied().unwrap_or(0);
    let (a, b, c) = (at(0), at(1), at(2));
    match f.id {
        MathId::Abs => {
            let v = (a as i64).checked_abs()?;
            return (f.int.bits() == 64 || v <= i32::MAX as i64).then_some(v as u64);
        }
        MathId::MinS => return Some((a as i64).min(b as i64) as u64),
        MathId::MaxS => return Some((a as i64).max(b as i64) as u64),
        MathId::MinU => return Some(a.min(b)),
        MathId::MaxU => return Some(a.max(b)),
        MathId::Device(f) => return crate::device_math::eval(f, args),
        _ => {}
    }
    let wide = |r: u64| match f.kind {
        FloatKind::F32 => f32::from_bits(r as u32) as f64,
        _ => f64::from_bits(r),
    };
    match f.id {
        MathId::IsNan => return Some(wide(a).is_nan() as u64),
        MathId::IsInf => return Some(wide(a).is_infinite() as u64),
        MathId::IsFinite => return Some(wide(a).is_finite() as u64),
        MathId::SignBit => return Some(wide(a).is_sign_negative() as u64),
        MathId::Lround | MathId::Lrint => {
            let x = wide(a);
            let r = if f.id == MathId::Lround { x.round() } else { x.round_ties_even() };
            // 2^63 is exact; anything below it and not below -2^63 fits
            return (-9223372036854775808.0..9223372036854775808.0).contains(&r).then_some(r as i64 as u64);
        }
        _ => {}
    }
    match f.kind {
        FloatKind::F32 => {
            let (x, y, z) = (f32::from_bits(a as u32), f32::from_bits(b as u32), f32::from_bits(c as u32));
            let r = if f.id == MathId::Ldexp { libm::scalbnf(x, b as i32) } else { float32(f.id, x, y, z)? };
            Some(r.to_bits() as u64)
        }
        FloatKind::F64 => {
            let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            let r = if f.id == MathId::Ldexp { libm::scalbn(x, b as i32) } else { float64(f.id, x, y, z)? };
            Some(r.to_bits())
        }
        FloatKind::Long => None,
    }
}

macro_rules! float_functions {
    ($name:ident, $t:ident, $asinh:path, $acosh:path, $atanh:path, $erf:path, $erfc:path, $fdim:path, $pow:ident) => {
        fn $name(id: MathId, x: $t, y: $t, z: $t) -> Option<$t> {
            use MathId::*;
            Some(match id {
                Sqrt => x.sqrt(),
                Cbrt => x.cbrt(),
                Fabs => x.abs(),
                Sin => x.sin(),
                Cos => x.cos(),
                Tan => x.tan(),
                Asin => x.asin(),
                Acos => x.acos(),
                Atan => x.atan(),
                Sinh => x.sinh(),
                Cosh => x.cosh(),
                Tanh => x.tanh(),
                Asinh => $asinh(x),
                Acosh => $acosh(x),
                Atanh => $atanh(x),
                Exp => x.exp(),
                Exp2 => x.exp2(),
                Expm1 => x.exp_m1(),
                Log => x.ln(),
                Log2 => x.log2(),
                Log10 => x.log10(),
                Log1p => x.ln_1p(),
                Floor => x.floor(),
                Ceil => x.ceil(),
                Trunc => x.trunc(),
                Round => x.round(),
                Rint => x.round_ties_even(),
                Erf => $erf(x),
                Erfc => $erfc(x),
                Pow => x.powf(y),
                Fmod => x % y,
                Atan2 => x.atan2(y),
                Hypot => x.hypot(y),
                // the first operand wins between equal ones, as in glibc (so fmin(-0, +0) is -0 in this order)
                Fmin => {
                    if x <= y || y.is_nan() {
                        x
                    } else {
                        y
                    }
                }
                Fmax => {
                    if x >= y || y.is_nan() {
                        x
                    } else {
                        y
                    }
                }
                Fdim => $fdim(x, y),
                Copysign => x.copysign(y),
                Fma => x.mul_add(y, z),
                _ => return None,
            })
        }
    };
}
float_functions!(
    float32,
    f32,
    libm::asinhf,
    libm::acoshf,
    libm::atanhf,
    libm::erff,
    libm::erfcf,
    libm::fdimf,
    powf
);
float_functions!(
    float64,
    f64,
    libm::asinh,
    libm::acosh,
    libm::atanh,
    libm::erf,
    libm::erfc,
    libm::fdim,
    powf
);
