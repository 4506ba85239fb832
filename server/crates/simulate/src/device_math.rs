//! The functions of [`gpu::math`], computed.
//!
//! Operations that are rounded once are exact, but for products and quotients of `double` below 2^-960, whose error is not seen. Others are
//! computed as C's library computes them, or in `double` by series and Newton's method; devices may differ in the last bits, and those
//! whose names begin with `__` in more (CUDA C++ Programming Guide, "Mathematical Functions", gives bounds).

use gpu::math::{Function, Meaning, Number, Real, Rounding, Step, Whole};
use term::{FloatKind, IntKind};

/// Computes it on registers; `None`: it has no value.
pub fn eval(f: Function, args: &[u64]) -> Option<u64> {
    let at = |i: usize| args.get(i).copied().unwrap_or(0);
    let number = |i: usize| match f.parameters.get(i) {
        Some(Number::Float(FloatKind::F32)) => f32::from_bits(at(i) as u32) as f64,
        _ => f64::from_bits(at(i)),
    };
    let real = |v: f64| match f.result {
        Number::Float(FloatKind::F32) => (v as f32).to_bits() as u64,
        _ => v.to_bits(),
    };
    Some(match f.meaning {
        Meaning::Like(name) => {
            let (same, _) = crate::math::find(name)?;
            return crate::math::eval(same, args);
        }
        Meaning::Real(r) => {
            let xs: Vec<f64> = (0..f.parameters.len()).map(number).collect();
            real(real_function(r, &xs, f.result)?)
        }
        Meaning::Rounded(step, rounding) => {
            let xs = [number(0), number(1), number(2)];
            match f.result {
                Number::Float(FloatKind::F32) => single_step(step, rounding, xs).to_bits() as u64,
                _ => double_step(step, rounding, xs).to_bits(),
            }
        }
        Meaning::Whole(w) => whole(w, f, [at(0), at(1), at(2)])?,
        Meaning::Convert(rounding) => converted(f.parameters[0], f.result, rounding, at(0))?,
        Meaning::Bits => match (f.parameters[0], f.result) {
            // registers of signed integers are extended by their sign
            (_, Number::Int(IntKind::Int)) => at(0) as u32 as i32 as i64 as u64,
            (Number::Int(IntKind::Int), _) => at(0) as u32 as u64,
            _ => at(0),
        },
        Meaning::HighWord => (at(0) >> 32) as u32 as i32 as i64 as u64,
        Meaning::LowWord => at(0) as u32 as i32 as i64 as u64,
        Meaning::OfWords => at(0) << 32 | at(1) & 0xFFFF_FFFF,
        Meaning::Scale => match f.result {
            Number::Float(FloatKind::F32) => {
                libm::scalbnf(f32::from_bits(at(0) as u32), at(1) as i32).to_bits() as u64
            }
            _ => libm::scalbn(f64::from_bits(at(0)), at(1) as i32).to_bits(),
        },
        Meaning::Exponent => libm::ilogb(number(0)) as i64 as u64,
        Meaning::Jn => real(libm::jn(at(0) as i32, number(1))),
        Meaning::Yn => real(libm::yn(at(0) as i32, number(1))),
    })
}

fn real_function(r: Real, x: &[f64], result: Number) -> Option<f64> {
    let single = result == Number::Float(FloatKind::F32);
    let &[a, ..] = x else { return None };
    let b = x.get(1).copied().unwrap_or(0.0);
    let norm = || x.iter().fold(0.0f64, |n, v| n.hypot(*v));
    Some(match r {
        Real::Rsqrt => 1.0 / a.sqrt(),
        Real::Rcbrt => 1.0 / libm::cbrt(a),
        Real::Exp10 => libm::exp10(a),
        Real::Sinpi => sinpi(a),
        Real::Cospi => sinpi(0.5 - 2.0 * (a.abs() / 2.0 - (a.abs() / 2.0).floor())),
        Real::Tgamma => libm::tgamma(a),
        Real::Lgamma => libm::lgamma(a),
        Real::Erfcx => erfcx(a),
        Real::Erfinv => erfinv(a),
        Real::Erfcinv => erfcinv(a),
        Real::Normcdf => 0.5 * libm::erfc(-a / std::f64::consts::SQRT_2),
        Real::Normcdfinv => -std::f64::consts::SQRT_2 * erfcinv(2.0 * a),
        Real::J0 => libm::j0(a),
        Real::J1 => libm::j1(a),
        Real::Y0 => libm::y0(a),
        Real::Y1 => libm::y1(a),
        Real::I0 => bessel(a, 0.0, 1.0),
        Real::I1 => bessel(a, 1.0, a / 2.0),
        Real::Logb if a == 0.0 => f64::NEG_INFINITY,
        Real::Logb if !a.is_finite() => a.abs(),
        Real::Logb => libm::ilogb(a) as f64,
        // of its own precision
        Real::Nextafter if single => libm::nextafterf(a as f32, b as f32) as f64,
        Real::Nextafter => libm::nextafter(a, b),
        Real::Remainder => libm::remainder(a, b),
        Real::Rhypot | Real::Rnorm => 1.0 / norm(),
        Real::Norm => norm(),
        Real::Divide => a / b,
        Real::Saturate if a.is_nan() => 0.0,
        Real::Saturate => a.clamp(0.0, 1.0) + 0.0,
    })
}

fn sinpi(x: f64) -> f64 {
    let turn = x - 2.0 * (x / 2.0).round();
    let near = match turn {
        t if t > 0.5 => 1.0 - t,
        t if t < -0.5 => -1.0 - t,
        t => t,
    };
    (std::f64::consts::PI * near).sin()
}

/// `Σ (x/2)^(2k+n) / (k! (k+n)!)` (Abramowitz and Stegun, 9.6.10); every term is positive, so nothing is lost.
fn bessel(x: f64, n: f64, first: f64) -> f64 {
    if !x.is_finite() {
        return if x.is_nan() || n == 0.0 { x.abs() } else { x };
    }
    let (quarter, mut term, mut sum, mut k) = (x * x / 4.0, first, first, 1.0);
    while term.abs() > sum.abs() * 1e-17 && sum.is_finite() {
        term *= quarter / (k * (k + n));
        sum += term;
        k += 1.0;
    }
    sum
}

/// `exp(x²) erfc(x)`
fn erfcx(x: f64) -> f64 {
    if x < 25.0 {
        let square = x * x;
        // what the square was rounded by
        return square.exp() * (1.0 + x.mul_add(x, -square)) * libm::erfc(x);
    }
    // Abramowitz and Stegun, 7.1.23
    let t = 0.5 / (x * x);
    let sum = [13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0].into_iter().fold(1.0, |sum, k| 1.0 - k * t * sum);
    sum / (x * std::f64::consts::PI.sqrt())
}

/// By Halley's method from the estimate of Abramowitz and Stegun, 26.2.22.
fn erfcinv(q: f64) -> f64 {
    if q > 1.0 {
        return -erfcinv(2.0 - q);
    }
    if q == 0.0 {
        return f64::INFINITY;
    }
    if q.is_nan() || q < 0.0 {
        return f64::NAN;
    }
    let t = (-2.0 * (q / 2.0).ln()).sqrt();
    let mut x =
        (t - (2.30753 + 0.27061 * t) / (1.0 + t * (0.99229 + 0.04481 * t))) / std::f64::consts::SQRT_2;
    for _ in 0..4 {
        let over = libm::erfc(x) - q;
        let slope = std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
        let step = over / (slope - x * over);
        if !step.is_finite() {
            break;
        }
        x += step;
    }
    x
}

fn erfinv(y: f64) -> f64 {
    if y.abs() > 0.5 || y.is_nan() {
        return erfcinv(1.0 - y);
    }
    let mut x = y / std::f64::consts::FRAC_2_SQRT_PI;
    for _ in 0..6 {
        let over = libm::erf(x) - y;
        let slope = std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
        x -= over / (slope + x * over);
    }
    x
}

// ---- rounded once

/// The number next to one, up or down, among `float`s.
fn next32(x: f32, up: bool) -> f32 {
    libm::nextafterf(x, if up { f32::INFINITY } else { f32::NEG_INFINITY })
}

fn next64(x: f64, up: bool) -> f64 {
    libm::nextafter(x, if up { f64::INFINITY } else { f64::NEG_INFINITY })
}

/// Which way from the nearest number, which is `above` (1), below (-1) or at (0) what is exact, to the one that is asked for; `None`: it is it.
fn towards(rounding: Rounding, nearest: f64, above: i32) -> Option<bool> {
    let up = match rounding {
        Rounding::Nearest => return None,
        Rounding::Up => true,
        Rounding::Down => false,
        Rounding::Zero => nearest < 0.0,
    };
    (above == if up { -1 } else { 1 }).then_some(up)
}

fn sign(x: f64) -> i32 {
    (x > 0.0) as i32 - (x < 0.0) as i32
}

/// A sum and what it was rounded by (Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// The nearest result, and the sign of what is exact without it.
fn step(s: Step, [x, y, z]: [f64; 3]) -> (f64, i32) {
    match s {
        Step::Add => {
            let (sum, e) = two_sum(x, y);
            (sum, sign(e))
        }
        Step::Sub => step(Step::Add, [x, -y, z]),
        Step::Mul => (x * y, sign(x.mul_add(y, -(x * y)))),
        Step::Div => {
            let q = x / y;
            (q, sign((-q).mul_add(y, x)) * sign(y))
        }
        Step::Reciprocal => step(Step::Div, [1.0, x, z]),
        Step::Sqrt => {
            let r = x.sqrt();
            (r, sign((-r).mul_add(r, x)))
        }
        Step::ReciprocalSqrt => (1.0 / x.sqrt(), 0),
        Step::Fma => {
            let nearest = x.mul_add(y, z);
            let product = x * y;
            let (sum, e) = two_sum(product, z);
            let (e, f) = two_sum(e, x.mul_add(y, -product));
            let (over, rest) = two_sum(sum - nearest, e);
            (nearest, if over == 0.0 { sign(rest + f) } else { sign(over) })
        }
    }
}

fn double_step(s: Step, rounding: Rounding, x: [f64; 3]) -> f64 {
    let (nearest, exact) = step(s, x);
    match towards(rounding, nearest, -exact).filter(|_| x.iter().all(|v| v.is_finite())) {
        Some(up) => next64(nearest, up),
        None => nearest,
    }
}

/// Of `float`s: in `double`, where what is lost is known, and from there.
fn single_step(s: Step, rounding: Rounding, x: [f64; 3]) -> f32 {
    let (wide, exact) = step(s, x);
    if rounding == Rounding::Nearest {
        let [a, b, c] = x.map(|v| v as f32);
        return match s {
            Step::Fma => a.mul_add(b, c),
            // twice as many digits and two more: rounding twice is rounding once
            _ => wide as f32,
        };
    }
    let nearest = wide as f32;
    let over = if nearest as f64 == wide { -exact } else { sign(nearest as f64 - wide) };
    match towards(rounding, nearest as f64, over).filter(|_| x.iter().all(|v| v.is_finite())) {
        Some(up) => next32(nearest, up),
        None => nearest,
    }
}

fn converted(from: Number, to: Number, rounding: Rounding, v: u64) -> Option<u64> {
    Some(match (from, to) {
        (Number::Float(k), Number::Int(to)) => {
            let x = match k {
                FloatKind::F32 => f32::from_bits(v as u32) as f64,
                _ => f64::from_bits(v),
            };
            let x = match rounding {
                Rounding::Nearest => x.round_ties_even(),
                Rounding::Zero => x.trunc(),
                Rounding::Up => x.ceil(),
                Rounding::Down => x.floor(),
            };
            // what does not fit is the nearest that does, NaN is 0 (PTX ISA, cvt)
            match to {
                IntKind::Int => x as i32 as i64 as u64,
                IntKind::UInt => x as u32 as u64,
                k if k.signed() => x as i64 as u64,
                _ => x as u64,
            }
        }
        (Number::Int(k), Number::Float(to)) => {
            let exact = if k.signed() { v as i64 as i128 } else { v as i128 };
            let over = |nearest: f64| sign((nearest as i128 - exact) as f64);
            match to {
                FloatKind::F32 => {
                    let nearest = exact as f32;
                    let up = towards(rounding, nearest as f64, over(nearest as f64));
                    up.map_or(nearest, |up| next32(nearest, up)).to_bits() as u64
                }
                _ => {
                    let nearest = exact as f64;
                    let up = towards(rounding, nearest, over(nearest));
                    up.map_or(nearest, |up| next64(nearest, up)).to_bits()
                }
            }
        }
        (Number::Float(FloatKind::F64), Number::Float(FloatKind::F32)) => {
            let x = f64::from_bits(v);
            let nearest = x as f32;
            let up = towards(rounding, nearest as f64, sign(nearest as f64 - x)).filter(|_| x.is_finite());
            up.map_or(nearest, |up| next32(nearest, up)).to_bits() as u64
        }
        (Number::Float(FloatKind::F32), Number::Float(_)) => (f32::from_bits(v as u32) as f64).to_bits(),
        _ => return None,
    })
}

// ---- integers

fn whole(w: Whole, f: Function, [x, y, z]: [u64; 3]) -> Option<u64> {
    let Some(Number::Int(kind)) = f.parameters.first() else { return None };
    let (bits, signed) = (kind.bits(), kind.signed());
    let wide = |v: u64| if signed { v as i64 as i128 } else { v as i128 };
    let (a, b) = (wide(x), wide(y));
    let out = match w {
        Whole::Min => a.min(b),
        Whole::Max => a.max(b),
        Whole::MulHigh if signed => (a * b) >> bits,
        Whole::MulHigh => ((x as u128 * y as u128) >> bits) as i128,
        Whole::Mul24 => {
            let low = |v: u64| if signed { ((v as i32) << 8 >> 8) as i128 } else { (v & 0xFF_FFFF) as i128 };
            low(x) * low(y)
        }
        Whole::Sad => (a - b).abs() + z as i128,
        Whole::HalfAdd => (a + b) >> 1,
        Whole::RoundedHalfAdd => (a + b + 1) >> 1,
        Whole::PopulationCount => (x << (64 - bits)).count_ones() as i128,
        Whole::LeadingZeros => (x << (64 - bits)).leading_zeros().min(bits) as i128,
        Whole::FirstSet => match x << (64 - bits) {
            0 => 0,
            v => (v.trailing_zeros() + 1 - (64 - bits)) as i128,
        },
        Whole::Reverse => (x.reverse_bits() >> (64 - bits)) as i128,
        Whole::BytePermutation => {
            let all = (y & 0xFFFF_FFFF) << 32 | x & 0xFFFF_FFFF;
            let byte = |k: u64| all >> (8 * (z >> (4 * k) & 7)) & 0xFF;
            (0..4).fold(0, |v, k| v | byte(k) << (8 * k)) as i128
        }
        Whole::FunnelLeft { clamp } | Whole::FunnelRight { clamp } => {
            let both = (y & 0xFFFF_FFFF) << 32 | x & 0xFFFF_FFFF;
            let z = z & 0xFFFF_FFFF;
            let by = if clamp { z.min(32) } else { z & 31 } as u32;
            match w {
                Whole::FunnelLeft { .. } => (both << by >> 32) as i128,
                _ => (both >> by) as i128,
            }
        }
    };
    Some(match f.result {
        Number::Int(IntKind::Int) => out as i32 as i64 as u64,
        Number::Int(k) if k.bits() == 32 => out as u32 as u64,
        _ => out as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, args: &[u64]) -> u64 {
        let f = gpu::math::function(name).unwrap_or_else(|| panic!("{name}"));
        eval(f, args).unwrap_or_else(|| panic!("{name} has no value"))
    }
    fn double(name: &str, args: &[f64]) -> f64 {
        f64::from_bits(call(name, &args.iter().map(|x| x.to_bits()).collect::<Vec<_>>()))
    }
    fn single(name: &str, args: &[f32]) -> f32 {
        f32::from_bits(call(name, &args.iter().map(|x| x.to_bits() as u64).collect::<Vec<_>>()) as u32)
    }

    #[test]
    fn real_functions_have_their_values() {
        // values of Abramowitz and Stegun's tables
        for (name, x, value) in [
            ("rsqrt", 4.0, 0.5),
            ("rcbrt", 8.0, 0.5),
            ("exp10", 3.0, 1000.0),
            ("sinpi", 0.5, 1.0),
            ("sinpi", 3.0, 0.0),
            ("cospi", 1.0, -1.0),
            ("cospi", 0.5, 0.0),
            ("tgamma", 5.0, 24.0),
            ("lgamma", 3.0, std::f64::consts::LN_2),
            ("erfcx", 0.0, 1.0),
            ("erfcx", 30.0, 0.018_795_888_861_416_75),
            ("erfinv", 0.5, 0.476_936_276_204_469_9),
            ("erfinv", 1e-9, 8.862_269_254_527_58e-10),
            ("erfinv", -0.842_700_792_949_714_9, -1.0),
            ("erfcinv", 0.157_299_207_050_285_13, 1.0),
            ("normcdf", 0.0, 0.5),
            ("normcdf", 1.0, 0.841_344_746_068_542_9),
            ("normcdfinv", 0.975, 1.959_963_984_540_054),
            ("cyl_bessel_i0", 1.0, 1.266_065_877_752_008_4),
            ("cyl_bessel_i1", 1.0, 0.565_159_103_992_485),
            ("j0", 1.0, 0.765_197_686_557_966_6),
            ("logb", 10.0, 3.0),
        ] {
            let got = double(name, &[x]);
            assert!((got - value).abs() <= 4e-15 * value.abs().max(1e-9), "{name}({x}) = {got}, not {value}");
            let got = single(&format!("{name}f"), &[x as f32]);
            assert!(
                (got - value as f32).abs() <= 3e-7 * value.abs().max(0.01) as f32,
                "{name}f({x}) = {got}"
            );
        }
        assert_eq!(double("norm3d", &[2.0, 3.0, 6.0]), 7.0);
        assert_eq!(single("rnorm4df", &[1.0, 1.0, 1.0, 1.0]), 0.5);
        assert_eq!(double("remainder", &[5.0, 3.0]), -1.0);
        assert_eq!([-1.0, 0.25, 7.0, f32::NAN].map(|x| single("__saturatef", &[x])), [0.0, 0.25, 1.0, 0.0]);
        assert_eq!(single("__expf", &[0.0]), 1.0);
        assert_eq!(single("nextafterf", &[1.0, 2.0]), 1.0 + f32::EPSILON);
    }

    #[test]
    fn one_rounding_goes_the_way_it_says() {
        let third = [1.0f32, 3.0].map(|x| x.to_bits() as u64);
        let [down, near, up] =
            ["rd", "rn", "ru"].map(|m| f32::from_bits(call(&format!("__fdiv_{m}"), &third) as u32));
        assert!(down < up && next32(down, true) == up && near == 1.0 / 3.0);
        assert_eq!(single("__fdiv_rz", &[-1.0, 3.0]), -down);
        assert_eq!(single("__fadd_ru", &[1.0, 1e-30]), 1.0 + f32::EPSILON);
        assert_eq!(single("__fadd_rd", &[1.0, 1e-30]), 1.0);
        assert_eq!(single("__fmul_rz", &[f32::MAX, 2.0]), f32::MAX);
        assert_eq!(single("__fadd_ru", &[1.0, 2.0]), 3.0);
        assert_eq!(single("__fmaf_ru", &[1.0, 1.0, 1e-30]), 1.0 + f32::EPSILON);
        assert_eq!(double("__dadd_rd", &[1.0, -1e-300]), next64(1.0, false));
        assert_eq!(double("__drcp_ru", &[3.0]), next64(double("__drcp_rd", &[3.0]), true));
        assert_eq!(double("__dsqrt_rn", &[2.0]), 2f64.sqrt());
        assert_eq!(double("__fma_rd", &[1.0, 1.0, -1e-300]), next64(1.0, false));
        assert_eq!(single("__frsqrt_rn", &[16.0]), 0.25);
    }

    #[test]
    fn integers_and_bits() {
        let i = |v: i32| v as i64 as u64;
        for (name, args, value) in [
            ("__mul24", [i(-3), i(5), 0], i(-15)),
            ("__umul24", [0xFF00_0003, 5, 0], 15),
            ("__mulhi", [i(-1), i(2), 0], i(-1)),
            ("__umulhi", [0xFFFF_FFFF, 0xFFFF_FFFF, 0], 0xFFFF_FFFE),
            ("__umul64hi", [u64::MAX, u64::MAX, 0], u64::MAX - 1),
            ("__usad", [3, 10, 1], 8),
            ("__hadd", [i(-3), i(0), 0], i(-2)),
            ("__rhadd", [i(-3), i(0), 0], i(-1)),
            ("__popc", [0xF0F0, 0, 0], 8),
            ("__clz", [1, 0, 0], 31),
            ("__clz", [i(-1), 0, 0], 0),
            ("__clz", [0, 0, 0], 32),
            ("__clzll", [1, 0, 0], 63),
            ("__ffs", [0, 0, 0], 0),
            ("__ffs", [i(i32::MIN), 0, 0], 32),
            ("__ffsll", [8, 0, 0], 4),
            ("__brev", [1, 0, 0], 0x8000_0000),
            ("__byte_perm", [0x3322_1100, 0x7766_5544, 0x7531], 0x7755_3311),
            ("__funnelshift_l", [0x8000_0000, 1, 1], 3),
            ("__funnelshift_r", [0x8000_0000, 1, 33], 0xC000_0000),
            ("__funnelshift_rc", [0x8000_0000, 1, 33], 1),
            ("umin", [3, 4, 0], 3),
            ("llmax", [i(-3), i(-4), 0], i(-3)),
            ("__float_as_int", [(-1f32).to_bits() as u64, 0, 0], i(-0x4080_0000)),
            ("__int_as_float", [i(-0x4080_0000), 0, 0], (-1f32).to_bits() as u64),
            ("__double2hiint", [(-2f64).to_bits(), 0, 0], i(-0x4000_0000)),
            ("__hiloint2double", [i(-0x4000_0000), 0, 0], (-2f64).to_bits()),
            ("__float2int_rn", [2.5f32.to_bits() as u64, 0, 0], 2),
            ("__float2int_ru", [2.5f32.to_bits() as u64, 0, 0], 3),
            ("__float2uint_rz", [(-1f32).to_bits() as u64, 0, 0], 0),
            ("__double2ll_rd", [(-2.5f64).to_bits(), 0, 0], i(-3)),
            ("__int2float_rd", [16_777_217, 0, 0], 16_777_216f32.to_bits() as u64),
            ("__int2float_ru", [16_777_217, 0, 0], 16_777_218f32.to_bits() as u64),
            ("__double2float_ru", [(1.0 + 1e-12f64).to_bits(), 0, 0], (1.0 + f32::EPSILON).to_bits() as u64),
        ] {
            let n = gpu::math::function(name).map_or(0, |f| f.parameters.len());
            let got = call(name, &args[..n]);
            assert_eq!(got, value, "{name}{:x?} = {got:x}", &args[..n]);
        }
    }
}
