//! Arithmetic on registers, exactly as the operand type prescribes.

use term::IntKind;

use term::device::AtomicOp;

use crate::code::{AtomicTy, Bin, Mem, Un};
use crate::fault::FaultKind;

#[inline(always)]
fn i32_checked(v: i64) -> Result<u64, FaultKind> {
    if v == v as i32 as i64 {
        Ok(v as u64)
    } else {
        Err(FaultKind::SignedOverflow)
    }
}
#[inline(always)]
fn i64_checked(v: Option<i64>) -> Result<u64, FaultKind> {
    v.map(|v| v as u64).ok_or(FaultKind::SignedOverflow)
}
#[inline(always)]
fn f32s(a: u64, b: u64) -> (f32, f32) {
    (f32::from_bits(a as u32), f32::from_bits(b as u32))
}
#[inline(always)]
fn f64s(a: u64, b: u64) -> (f64, f64) {
    (f64::from_bits(a), f64::from_bits(b))
}
#[inline(always)]
fn count(b: u64, width: u32) -> Result<u32, FaultKind> {
    if b < width as u64 {
        Ok(b as u32)
    } else {
        Err(FaultKind::ShiftRange { count: b as i64 })
    }
}

/// A two-operand operation.
#[inline(always)]
pub(crate) fn bin(op: Bin, a: u64, b: u64) -> Result<u64, FaultKind> {
    let (sa, sb) = (a as i64, b as i64);
    let f32v = |v: f32| Ok(v.to_bits() as u64);
    let f64v = |v: f64| Ok(v.to_bits());
    match op {
        Bin::AddI32 => i32_checked(sa.wrapping_add(sb)),
        Bin::AddI64 => i64_checked(sa.checked_add(sb)),
        Bin::AddU32 => Ok((a as u32).wrapping_add(b as u32) as u64),
        Bin::AddU64 => Ok(a.wrapping_add(b)),
        Bin::SubI32 => i32_checked(sa.wrapping_sub(sb)),
        Bin::SubI64 => i64_checked(sa.checked_sub(sb)),
        Bin::SubU32 => Ok((a as u32).wrapping_sub(b as u32) as u64),
        Bin::SubU64 => Ok(a.wrapping_sub(b)),
        Bin::MulI32 => i32_checked(sa.wrapping_mul(sb)),
        Bin::MulI64 => i64_checked(sa.checked_mul(sb)),
        Bin::MulU32 => Ok((a as u32).wrapping_mul(b as u32) as u64),
        Bin::MulU64 => Ok(a.wrapping_mul(b)),
        Bin::DivI32 | Bin::DivI64 | Bin::RemI32 | Bin::RemI64 => {
            if b == 0 {
                return Err(FaultKind::DivisionByZero);
            }
            let narrow = matches!(op, Bin::DivI32 | Bin::RemI32);
            // INT_MIN / -1 and INT_MIN % -1 are both undefined (C11 6.5.5p6)
            if sb == -1 && (sa == i64::MIN || narrow && sa == i32::MIN as i64) {
                return Err(FaultKind::SignedOverflow);
            }
            let quotient = matches!(op, Bin::DivI32 | Bin::DivI64);
            Ok(if quotient { sa / sb } else { sa % sb } as u64)
        }
        Bin::DivU => a.checked_div(b).ok_or(FaultKind::DivisionByZero),
        Bin::RemU => a.checked_rem(b).ok_or(FaultKind::DivisionByZero),
        // gcc and nvcc define a left shift of signed values as that of their bits
        Bin::ShlI32 => Ok(((a as u32) << count(b, 32)?) as i32 as i64 as u64),
        Bin::ShlI64 | Bin::ShlU64 => Ok(a << count(b, 64)?),
        Bin::ShlU32 => Ok(((a as u32) << count(b, 32)?) as u64),
        Bin::ShrI32 => Ok((sa >> count(b, 32)?) as u64),
        Bin::ShrI64 => Ok((sa >> count(b, 64)?) as u64),
        Bin::ShrU32 => Ok(a >> count(b, 32)?),
        Bin::ShrU64 => Ok(a >> count(b, 64)?),
        Bin::And => Ok(a & b),
        Bin::Or => Ok(a | b),
        Bin::Xor => Ok(a ^ b),
        Bin::LtS => Ok((sa < sb) as u64),
        Bin::LeS => Ok((sa <= sb) as u64),
        Bin::LtU => Ok((a < b) as u64),
        Bin::LeU => Ok((a <= b) as u64),
        Bin::Eq => Ok((a == b) as u64),
        Bin::Ne => Ok((a != b) as u64),
        Bin::AddF32 => {
            let (x, y) = f32s(a, b);
            f32v(x + y)
        }
        Bin::SubF32 => {
            let (x, y) = f32s(a, b);
            f32v(x - y)
        }
        Bin::MulF32 => {
            let (x, y) = f32s(a, b);
            f32v(x * y)
        }
        Bin::DivF32 => {
            let (x, y) = f32s(a, b);
            f32v(x / y)
        }
        Bin::LtF32 => {
            let (x, y) = f32s(a, b);
            Ok((x < y) as u64)
        }
        Bin::LeF32 => {
            let (x, y) = f32s(a, b);
            Ok((x <= y) as u64)
        }
        Bin::EqF32 => {
            let (x, y) = f32s(a, b);
            Ok((x == y) as u64)
        }
        Bin::NeF32 => {
            let (x, y) = f32s(a, b);
            Ok((x != y) as u64)
        }
        Bin::AddF64 => {
            let (x, y) = f64s(a, b);
            f64v(x + y)
        }
        Bin::SubF64 => {
            let (x, y) = f64s(a, b);
            f64v(x - y)
        }
        Bin::MulF64 => {
            let (x, y) = f64s(a, b);
            f64v(x * y)
        }
        Bin::DivF64 => {
            let (x, y) = f64s(a, b);
            f64v(x / y)
        }
        Bin::LtF64 => {
            let (x, y) = f64s(a, b);
            Ok((x < y) as u64)
        }
        Bin::LeF64 => {
            let (x, y) = f64s(a, b);
            Ok((x <= y) as u64)
        }
        Bin::EqF64 => {
            let (x, y) = f64s(a, b);
            Ok((x == y) as u64)
        }
        Bin::NeF64 => {
            let (x, y) = f64s(a, b);
            Ok((x != y) as u64)
        }
    }
}

/// The value of a narrower (or Boolean) integer kind.
#[inline(always)]
pub(crate) fn wrap(kind: IntKind, a: u64) -> u64 {
    match (kind, kind.bits(), kind.signed()) {
        (IntKind::Bool, _, _) => (a != 0) as u64,
        (_, 8, true) => a as i8 as i64 as u64,
        (_, 8, false) => a as u8 as u64,
        (_, 16, true) => a as i16 as i64 as u64,
        (_, 16, false) => a as u16 as u64,
        (_, 32, true) => a as i32 as i64 as u64,
        (_, 32, false) => a as u32 as u64,
        _ => a,
    }
}

/// The integer part, if the kind can hold it (C11 6.3.1.4).
fn to_int(kind: IntKind, v: f64) -> Result<u64, FaultKind> {
    let t = v.trunc();
    // both limits are exact doubles: powers of two
    let above = (kind.max() as f64 + 1.0).max(kind.max() as f64);
    let fits = t >= kind.min() as f64 && t < above;
    if !fits {
        return Err(FaultKind::ConversionRange);
    }
    Ok(if kind.signed() { t as i64 as u64 } else { t as u64 })
}

/// A one-operand operation.
#[inline(always)]
pub(crate) fn un(op: Un, a: u64) -> Result<u64, FaultKind> {
    let f = f32::from_bits(a as u32);
    let d = f64::from_bits(a);
    Ok(match op {
        Un::Wrap(k) => wrap(k, a),
        Un::SignedToF32 => (a as i64 as f32).to_bits() as u64,
        Un::SignedToF64 => (a as i64 as f64).to_bits(),
        Un::UnsignedToF32 => (a as f32).to_bits() as u64,
        Un::UnsignedToF64 => (a as f64).to_bits(),
        Un::F32ToF64 => (f as f64).to_bits(),
        Un::F64ToF32 => (d as f32).to_bits() as u64,
        Un::F32ToInt(k) => return to_int(k, f as f64),
        Un::F64ToInt(k) => return to_int(k, d),
        Un::TruthInt => (a != 0) as u64,
        Un::TruthF32 => (f != 0.0) as u64,
        Un::TruthF64 => (d != 0.0) as u64,
        Un::NotInt => (a == 0) as u64,
        Un::NotF32 => (f == 0.0) as u64,
        Un::NotF64 => (d == 0.0) as u64,
        Un::NegF32 => (a as u32 ^ 0x8000_0000) as u64,
        Un::NegF64 => a ^ (1 << 63),
        Un::BitNot => !a,
        Un::BitNotU32 => !(a as u32) as u64,
    })
}

/// A register's value from its bytes in memory.
#[inline(always)]
pub(crate) fn from_memory(kind: Mem, v: u64) -> u64 {
    match kind {
        Mem::Bool => (v as u8 != 0) as u64,
        Mem::I8 => v as i8 as i64 as u64,
        Mem::U8 => v as u8 as u64,
        Mem::I16 => v as i16 as i64 as u64,
        Mem::U16 => v as u16 as u64,
        Mem::I32 => v as i32 as i64 as u64,
        Mem::U32 => v as u32 as u64,
        Mem::B64 => v,
    }
}

/// What an atomic leaves behind; `old` and operands in register form (CUDA C++ Programming Guide 10.14).
pub(crate) fn atomic(op: AtomicOp, ty: AtomicTy, old: u64, v: u64, w: u64) -> u64 {
    let signed = matches!(ty, AtomicTy::I32 | AtomicTy::I64);
    let r = match (op, ty) {
        (AtomicOp::Add, AtomicTy::F32) => {
            let (x, y) = f32s(old, v);
            (x + y).to_bits() as u64
        }
        (AtomicOp::Add, AtomicTy::F64) => {
            let (x, y) = f64s(old, v);
            (x + y).to_bits()
        }
        (AtomicOp::Add, _) => old.wrapping_add(v),
        (AtomicOp::Sub, _) => old.wrapping_sub(v),
        (AtomicOp::Exchange, _) => v,
        (AtomicOp::Min, _) if signed => (old as i64).min(v as i64) as u64,
        (AtomicOp::Max, _) if signed => (old as i64).max(v as i64) as u64,
        (AtomicOp::Min, _) => old.min(v),
        (AtomicOp::Max, _) => old.max(v),
        (AtomicOp::Increment, _) if old >= v => 0,
        (AtomicOp::Increment, _) => old + 1,
        (AtomicOp::Decrement, _) if old == 0 || old > v => v,
        (AtomicOp::Decrement, _) => old - 1,
        (AtomicOp::CompareExchange, _) if old == v => w,
        (AtomicOp::CompareExchange, _) => old,
        (AtomicOp::And, _) => old & v,
        (AtomicOp::Or, _) => old | v,
        (AtomicOp::Xor, _) => old ^ v,
    };
    // atomics wrap; they are not C arithmetic
    match ty {
        AtomicTy::I32 => wrap(IntKind::Int, r),
        AtomicTy::U32 => wrap(IntKind::UInt, r),
        _ => r,
    }
}
