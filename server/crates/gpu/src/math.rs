//! Functions of numbers that CUDA C++ gives to kernels beside those of C: what they take, give and mean.
//!
//! Source: CUDA Math API Reference Manual, chapters "Single Precision", "Double Precision" and "Integer Mathematical Functions",
//! "… Intrinsics", "Type Casting Intrinsics"; HIP has the same names. Functions that C has, too, are in [`term::intrinsic`], and are not
//! repeated. All are pure: they read and write no memory.
//!
//! Deliberately absent: `half` and `nv_bfloat16`; SIMD instructions (`__vadd2`, `__dp4a`); `__fns`; what gives a second result through a pointer (`sincosf`,
//! which the front end writes as two, `modff`, `frexpf`, `remquof`).

use term::FloatKind::{F32, F64};
use term::{FloatKind, IntKind};

/// A number that is given or taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Int(IntKind),
    Float(FloatKind),
}

/// How a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// To the nearest, the even one of two (`_rn`).
    Nearest,
    /// Towards zero (`_rz`).
    Zero,
    /// Up (`_ru`).
    Up,
    /// Down (`_rd`).
    Down,
}

/// One operation, rounded once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Add,
    Sub,
    Mul,
    Div,
    /// `1 / x`
    Reciprocal,
    Sqrt,
    /// `1 / sqrt(x)`
    ReciprocalSqrt,
    /// `x * y + z`
    Fma,
}

/// Real functions that C does not have, or of which no more than the name is known there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Real {
    Rsqrt,
    Rcbrt,
    Exp10,
    Sinpi,
    Cospi,
    Tgamma,
    Lgamma,
    Erfcx,
    Erfinv,
    Erfcinv,
    Normcdf,
    Normcdfinv,
    J0,
    J1,
    Y0,
    Y1,
    I0,
    I1,
    Logb,
    Nextafter,
    Remainder,
    /// `1 / sqrt(x² + y²)`
    Rhypot,
    /// `sqrt(x² + y² + …)`
    Norm,
    /// `1 / sqrt(x² + y² + …)`
    Rnorm,
    Divide,
    /// Within 0 and 1; NaN is 0.
    Saturate,
}

/// Operations of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    Min,
    Max,
    /// The upper half of a product.
    MulHigh,
    /// The product of the lower 24 bits.
    Mul24,
    /// `|x - y| + z`
    Sad,
    /// `(x + y) / 2`, down.
    HalfAdd,
    /// `(x + y + 1) / 2`, down.
    RoundedHalfAdd,
    PopulationCount,
    LeadingZeros,
    FirstSet,
    Reverse,
    /// Bytes of two words, as four selectors say.
    BytePermutation,
    /// The upper word of two that are shifted left together; the count modulo 32, or 32 at most.
    FunnelLeft {
        clamp: bool,
    },
    /// The lower word of two that are shifted right together.
    FunnelRight {
        clamp: bool,
    },
}

/// What a function computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The function of C by this name, perhaps less exactly.
    Like(&'static str),
    Real(Real),
    Rounded(Step, Rounding),
    Whole(Whole),
    /// Another type's number.
    Convert(Rounding),
    /// The same bits.
    Bits,
    /// The upper 32 bits of a `double`.
    HighWord,
    LowWord,
    /// A `double` of its upper and lower word.
    OfWords,
    /// `x * 2^k`
    Scale,
    /// The exponent.
    Exponent,
    /// Bessel functions of an order.
    Jn,
    Yn,
}

/// A function: what it takes, what it gives, what it means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    pub parameters: &'static [Number],
    pub result: Number,
    pub meaning: Meaning,
}

const F: Number = Number::Float(F32);
const D: Number = Number::Float(F64);
const I: Number = Number::Int(IntKind::Int);
const U: Number = Number::Int(IntKind::UInt);
const L: Number = Number::Int(IntKind::LongLong);
const UL: Number = Number::Int(IntKind::ULongLong);

/// Real functions by the name for `double`; with an `f` behind it they are those of `float`.
const REAL: &[(&str, usize, Real)] = &[
    ("rsqrt", 1, Real::Rsqrt),
    ("rcbrt", 1, Real::Rcbrt),
    ("exp10", 1, Real::Exp10),
    ("sinpi", 1, Real::Sinpi),
    ("cospi", 1, Real::Cospi),
    ("tgamma", 1, Real::Tgamma),
    ("lgamma", 1, Real::Lgamma),
    ("erfcx", 1, Real::Erfcx),
    ("erfinv", 1, Real::Erfinv),
    ("erfcinv", 1, Real::Erfcinv),
    ("normcdf", 1, Real::Normcdf),
    ("normcdfinv", 1, Real::Normcdfinv),
    ("j0", 1, Real::J0),
    ("j1", 1, Real::J1),
    ("y0", 1, Real::Y0),
    ("y1", 1, Real::Y1),
    ("cyl_bessel_i0", 1, Real::I0),
    ("cyl_bessel_i1", 1, Real::I1),
    ("logb", 1, Real::Logb),
    ("nextafter", 2, Real::Nextafter),
    ("remainder", 2, Real::Remainder),
    ("rhypot", 2, Real::Rhypot),
    ("norm3d", 3, Real::Norm),
    ("norm4d", 4, Real::Norm),
    ("rnorm3d", 3, Real::Rnorm),
    ("rnorm4d", 4, Real::Rnorm),
    ("fdivide", 2, Real::Divide),
];

/// The others, by name. Of intrinsics of `float` the manual gives errors of some units in the last place.
const OTHERS: &[(&str, &[Number], Number, Meaning)] = &[
    ("__sinf", &[F], F, Meaning::Like("sinf")),
    ("__cosf", &[F], F, Meaning::Like("cosf")),
    ("__tanf", &[F], F, Meaning::Like("tanf")),
    ("__expf", &[F], F, Meaning::Like("expf")),
    ("__exp10f", &[F], F, Meaning::Real(Real::Exp10)),
    ("__logf", &[F], F, Meaning::Like("logf")),
    ("__log2f", &[F], F, Meaning::Like("log2f")),
    ("__log10f", &[F], F, Meaning::Like("log10f")),
    ("__tanhf", &[F], F, Meaning::Like("tanhf")),
    ("__powf", &[F, F], F, Meaning::Like("powf")),
    ("__fdividef", &[F, F], F, Meaning::Real(Real::Divide)),
    ("__saturatef", &[F], F, Meaning::Real(Real::Saturate)),
    ("scalbn", &[D, I], D, Meaning::Scale),
    ("scalbnf", &[F, I], F, Meaning::Scale),
    ("ilogb", &[D], I, Meaning::Exponent),
    ("ilogbf", &[F], I, Meaning::Exponent),
    ("jn", &[I, D], D, Meaning::Jn),
    ("jnf", &[I, F], F, Meaning::Jn),
    ("yn", &[I, D], D, Meaning::Yn),
    ("ynf", &[I, F], F, Meaning::Yn),
    ("llrint", &[D], L, Meaning::Convert(Rounding::Nearest)),
    ("llrintf", &[F], L, Meaning::Convert(Rounding::Nearest)),
    ("llmin", &[L, L], L, Meaning::Whole(Whole::Min)),
    ("llmax", &[L, L], L, Meaning::Whole(Whole::Max)),
    ("umin", &[U, U], U, Meaning::Whole(Whole::Min)),
    ("umax", &[U, U], U, Meaning::Whole(Whole::Max)),
    ("ullmin", &[UL, UL], UL, Meaning::Whole(Whole::Min)),
    ("ullmax", &[UL, UL], UL, Meaning::Whole(Whole::Max)),
    ("__mul24", &[I, I], I, Meaning::Whole(Whole::Mul24)),
    ("__umul24", &[U, U], U, Meaning::Whole(Whole::Mul24)),
    ("__mulhi", &[I, I], I, Meaning::Whole(Whole::MulHigh)),
    ("__umulhi", &[U, U], U, Meaning::Whole(Whole::MulHigh)),
    ("__mul64hi", &[L, L], L, Meaning::Whole(Whole::MulHigh)),
    ("__umul64hi", &[UL, UL], UL, Meaning::Whole(Whole::MulHigh)),
    ("__sad", &[I, I, U], U, Meaning::Whole(Whole::Sad)),
    ("__usad", &[U, U, U], U, Meaning::Whole(Whole::Sad)),
    ("__hadd", &[I, I], I, Meaning::Whole(Whole::HalfAdd)),
    ("__uhadd", &[U, U], U, Meaning::Whole(Whole::HalfAdd)),
    ("__rhadd", &[I, I], I, Meaning::Whole(Whole::RoundedHalfAdd)),
    ("__urhadd", &[U, U], U, Meaning::Whole(Whole::RoundedHalfAdd)),
    ("__popc", &[U], I, Meaning::Whole(Whole::PopulationCount)),
    ("__popcll", &[UL], I, Meaning::Whole(Whole::PopulationCount)),
    ("__clz", &[I], I, Meaning::Whole(Whole::LeadingZeros)),
    ("__clzll", &[L], I, Meaning::Whole(Whole::LeadingZeros)),
    ("__ffs", &[I], I, Meaning::Whole(Whole::FirstSet)),
    ("__ffsll", &[L], I, Meaning::Whole(Whole::FirstSet)),
    ("__brev", &[U], U, Meaning::Whole(Whole::Reverse)),
    ("__brevll", &[UL], UL, Meaning::Whole(Whole::Reverse)),
    ("__byte_perm", &[U, U, U], U, Meaning::Whole(Whole::BytePermutation)),
    ("__funnelshift_l", &[U, U, U], U, Meaning::Whole(Whole::FunnelLeft { clamp: false })),
    ("__funnelshift_lc", &[U, U, U], U, Meaning::Whole(Whole::FunnelLeft { clamp: true })),
    ("__funnelshift_r", &[U, U, U], U, Meaning::Whole(Whole::FunnelRight { clamp: false })),
    ("__funnelshift_rc", &[U, U, U], U, Meaning::Whole(Whole::FunnelRight { clamp: true })),
    ("__float_as_int", &[F], I, Meaning::Bits),
    ("__float_as_uint", &[F], U, Meaning::Bits),
    ("__int_as_float", &[I], F, Meaning::Bits),
    ("__uint_as_float", &[U], F, Meaning::Bits),
    ("__double_as_longlong", &[D], L, Meaning::Bits),
    ("__longlong_as_double", &[L], D, Meaning::Bits),
    ("__double2hiint", &[D], I, Meaning::HighWord),
    ("__double2loint", &[D], I, Meaning::LowWord),
    ("__hiloint2double", &[I, I], D, Meaning::OfWords),
];

const STEPS: &[(&str, usize, Step)] = &[
    ("add", 2, Step::Add),
    ("sub", 2, Step::Sub),
    ("mul", 2, Step::Mul),
    ("div", 2, Step::Div),
    ("rcp", 1, Step::Reciprocal),
    ("sqrt", 1, Step::Sqrt),
    ("rsqrt", 1, Step::ReciprocalSqrt),
    ("ma", 3, Step::Fma),
];

const ROUNDINGS: &[(&str, Rounding)] =
    &[("rn", Rounding::Nearest), ("rz", Rounding::Zero), ("ru", Rounding::Up), ("rd", Rounding::Down)];

const NUMBERS: &[(&str, &[Number])] =
    &[("float", &[F]), ("double", &[D]), ("int", &[I]), ("uint", &[U]), ("ll", &[L]), ("ull", &[UL])];

const OF_FLOAT: [&[Number]; 4] = [&[F], &[F, F], &[F, F, F], &[F, F, F, F]];
const OF_DOUBLE: [&[Number]; 4] = [&[D], &[D, D], &[D, D, D], &[D, D, D, D]];

/// Whether a function computes from numbers and writes a result through each pointer that it is given, and nothing else.
pub fn writes_through(name: &str) -> bool {
    matches!(name, "sincos" | "sincosf" | "__sincosf" | "sincospi" | "sincospif")
        || matches!(name, "modf" | "modff" | "frexp" | "frexpf" | "remquo" | "remquof")
}

/// The function of this name.
pub fn function(name: &str) -> Option<Function> {
    if let Some(&(_, parameters, result, meaning)) = OTHERS.iter().find(|o| o.0 == name) {
        return Some(Function { parameters, result, meaning });
    }
    let real = |stem: &str| REAL.iter().find(|r| r.0 == stem);
    let (found, single) = match real(name) {
        Some(r) => (Some(r), false),
        None => (name.strip_suffix('f').and_then(real), true),
    };
    if let Some(&(_, arity, real)) = found {
        let of = if single { OF_FLOAT } else { OF_DOUBLE };
        let result = if single { F } else { D };
        return Some(Function { parameters: of[arity - 1], result, meaning: Meaning::Real(real) });
    }
    let (rest, mode) = name.strip_prefix("__")?.rsplit_once('_')?;
    let rounding = ROUNDINGS.iter().find(|r| r.0 == mode)?.1;
    conversion(rest, rounding).or_else(|| rounded(rest, rounding))
}

impl Function {
    /// The one of `float` that C++ means by the same name.
    pub fn of_single(self) -> Option<Function> {
        let real = matches!(self.meaning, Meaning::Real(_)) && self.result == D;
        let parameters = OF_FLOAT.get(self.parameters.len().checked_sub(1)?)?;
        real.then_some(Function { parameters, result: F, ..self })
    }
}

/// `float2int`
fn conversion(name: &str, rounding: Rounding) -> Option<Function> {
    let number = |n: &str| NUMBERS.iter().find(|x| x.0 == n).map(|x| x.1);
    let (from, to) = name.split_once('2')?;
    let (parameters, to) = (number(from)?, number(to)?);
    let is_float = |n: &[Number]| matches!(n, [Number::Float(_)]);
    let known = parameters != to && (is_float(parameters) || is_float(to));
    known.then_some(Function { parameters, result: to[0], meaning: Meaning::Convert(rounding) })
}

/// `fadd`, `dadd`; `fmaf` and `fma`.
fn rounded(name: &str, rounding: Rounding) -> Option<Function> {
    let (single, step) = match name {
        "fmaf" => (true, "ma"),
        "fma" => (false, "ma"),
        "dma" => return None,
        _ => (name.starts_with('f'), name.strip_prefix(['f', 'd'])?),
    };
    let &(_, arity, step) = STEPS.iter().find(|s| s.0 == step)?;
    // the manual has this one alone
    if step == Step::ReciprocalSqrt && !(single && rounding == Rounding::Nearest) {
        return None;
    }
    let of = if single { OF_FLOAT } else { OF_DOUBLE };
    let result = if single { F } else { D };
    Some(Function { parameters: of[arity - 1], result, meaning: Meaning::Rounded(step, rounding) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let said = |name: &str| function(name).map(|f| (f.parameters.len(), f.result, f.meaning));
        assert_eq!(said("rsqrtf"), Some((1, F, Meaning::Real(Real::Rsqrt))));
        assert_eq!(said("rsqrt"), Some((1, D, Meaning::Real(Real::Rsqrt))));
        assert_eq!(said("__fma_rn"), Some((3, D, Meaning::Rounded(Step::Fma, Rounding::Nearest))));
        assert_eq!(said("__fmaf_rz"), Some((3, F, Meaning::Rounded(Step::Fma, Rounding::Zero))));
        assert_eq!(said("__drcp_rd"), Some((1, D, Meaning::Rounded(Step::Reciprocal, Rounding::Down))));
        assert_eq!(said("__float2uint_rz"), Some((1, U, Meaning::Convert(Rounding::Zero))));
        assert_eq!(said("__ull2float_rn"), Some((1, F, Meaning::Convert(Rounding::Nearest))));
        assert_eq!(said("__double2hiint"), Some((1, I, Meaning::HighWord)));
        for none in
            ["sinf", "__int2uint_rn", "__float2float_rn", "__dma_rn", "__drsqrt_rn", "__fadd", "f", "__"]
        {
            assert_eq!(said(none), None, "{none}");
        }
    }

    #[test]
    fn no_name_stands_twice() {
        let all = OTHERS.iter().map(|o| o.0).chain(REAL.iter().map(|r| r.0));
        let mut all: Vec<&str> = all.collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|w| w[0] != w[1]));
        // what C has is `term`'s
        assert!(all.iter().all(|n| term::intrinsic(n).is_none()));
    }
}
