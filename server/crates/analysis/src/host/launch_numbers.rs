//! Numbers as the host computes them for launches, and their operators.

use term::BinOp;

#[derive(Clone, Copy, Debug)]
pub(super) enum Num {
    Int(i64),
    Real(f64),
}

impl Num {
    pub(super) fn int(self) -> Option<i64> {
        match self {
            Num::Int(v) => Some(v),
            Num::Real(v) => (v.abs() < 9e15).then_some(v as i64),
        }
    }
    pub(super) fn real(self) -> f64 {
        match self {
            Num::Int(v) => v as f64,
            Num::Real(v) => v,
        }
    }
    pub(super) fn is_true(self) -> bool {
        self.real() != 0.0
    }
}

/// What an operator makes of two numbers; `None`: not followed, or an overflow.
pub(super) fn binary(op: BinOp, a: Num, b: Num) -> Option<Num> {
    let truth = |v: bool| Some(Num::Int(v as i64));
    match op {
        BinOp::Lt => return truth(a.real() < b.real()),
        BinOp::Le => return truth(a.real() <= b.real()),
        BinOp::Gt => return truth(a.real() > b.real()),
        BinOp::Ge => return truth(a.real() >= b.real()),
        BinOp::Eq => return truth(a.real() == b.real()),
        BinOp::Ne => return truth(a.real() != b.real()),
        BinOp::And => return truth(a.is_true() && b.is_true()),
        BinOp::Or => return truth(a.is_true() || b.is_true()),
        _ => {}
    }
    let (Num::Int(x), Num::Int(y)) = (a, b) else {
        let (x, y) = (a.real(), b.real());
        return match op {
            BinOp::Add => Some(Num::Real(x + y)),
            BinOp::Sub => Some(Num::Real(x - y)),
            BinOp::Mul => Some(Num::Real(x * y)),
            BinOp::Div if y != 0.0 => Some(Num::Real(x / y)),
            _ => None,
        };
    };
    let shift = || u32::try_from(y).ok().filter(|s| *s < 63);
    match op {
        BinOp::Add => x.checked_add(y),
        BinOp::Sub => x.checked_sub(y),
        BinOp::Mul => x.checked_mul(y),
        BinOp::Div => x.checked_div(y),
        BinOp::Rem => x.checked_rem(y),
        BinOp::Shl => x.checked_mul(1i64.checked_shl(shift()?)?),
        BinOp::Shr => Some(x >> shift()?),
        BinOp::BitAnd => Some(x & y),
        BinOp::BitOr => Some(x | y),
        BinOp::BitXor => Some(x ^ y),
        _ => None,
    }
    .map(Num::Int)
}
