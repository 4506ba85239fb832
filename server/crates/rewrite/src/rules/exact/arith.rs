//! The arithmetic that pages are proved for ([`ROW`]) on values: types, operators, shifts, conversions, and what is undefined in them.
//!
//! Deliberately absent: in which order operands are evaluated (`lower`).

use term::{BinOp, IntKind, Semantics};

use super::graph::{Act, Id, Sort};
use super::lower::{Done, Lower, Val};

/// What pages are proved for: a side of a rule means what C makes of it.
pub(in crate::rules) const ROW: Semantics = Semantics::C;

/// A type of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    Int(IntKind),
    F32,
    F64,
}

impl Ty {
    pub fn sort(self) -> Sort {
        match self {
            Ty::Int(k) => Sort::Bits(k.bits()),
            Ty::F32 => Sort::F32,
            Ty::F64 => Sort::F64,
        }
    }
    pub fn name(self) -> &'static str {
        match self {
            Ty::Int(k) => k.c_name(),
            Ty::F32 => "float",
            Ty::F64 => "double",
        }
    }
    /// After C's integer promotions.
    pub fn promoted(self) -> Ty {
        match self {
            Ty::Int(k) => Ty::Int(k.promoted()),
            t => t,
        }
    }
    /// A type by its text.
    pub fn of(text: &str) -> Option<Ty> {
        use IntKind::*;
        let plain: Vec<&str> =
            text.split_whitespace().filter(|w| !matches!(*w, "const" | "volatile")).collect();
        let text = plain.join(" ");
        let kinds = [Bool, Char, SChar, UChar, Short, UShort, Int, UInt, Long, ULong, LongLong, ULongLong];
        match text.as_str() {
            "float" => Some(Ty::F32),
            "double" => Some(Ty::F64),
            "unsigned" => Some(Ty::Int(UInt)),
            text => kinds.into_iter().find(|k| k.c_name() == text).map(Ty::Int),
        }
    }
    /// The same for every purpose here.
    pub fn like(self, other: Ty) -> bool {
        match (self, other) {
            (Ty::Int(a), Ty::Int(b)) => {
                a.bits() == b.bits()
                    && a.signed() == b.signed()
                    && (a == IntKind::Bool) == (b == IntKind::Bool)
            }
            (a, b) => a == b,
        }
    }
}

impl Lower<'_> {
    pub fn binary(&mut self, op: BinOp, a: Val, b: Val) -> Done<Val> {
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return self.shift(op, a, b);
        }
        let ty = usual(a.ty, b.ty);
        let (a, b) = (self.convert(a, ty), self.convert(b, ty));
        let (sort, pair) = (ty.sort(), vec![a.id, b.id]);
        let Ty::Int(k) = ty else {
            let act = match op {
                BinOp::Add => Act::FAdd,
                // a - b is a + (-b), to the last bit
                BinOp::Sub => {
                    let minus = self.g().make(Act::FNeg, sort, vec![b.id]);
                    return Ok(Val { ty, id: self.g().make(Act::FAdd, sort, vec![a.id, minus]) });
                }
                BinOp::Mul => Act::FMul,
                BinOp::Div => Act::FDiv,
                _ => {
                    let (act, args, not) = match op {
                        BinOp::Lt => (Act::FLt, vec![a.id, b.id], false),
                        BinOp::Gt => (Act::FLt, vec![b.id, a.id], false),
                        BinOp::Le => (Act::FLe, vec![a.id, b.id], false),
                        BinOp::Ge => (Act::FLe, vec![b.id, a.id], false),
                        BinOp::Eq => (Act::FEq, pair, false),
                        BinOp::Ne => (Act::FEq, pair, true),
                        _ => return Err(format!("floating numbers have no `{}`", op.symbol())),
                    };
                    let t = self.g().make(act, Sort::Truth, args);
                    let t = if not { self.g().not(t) } else { t };
                    return Ok(self.number(t));
                }
            };
            return Ok(Val { ty, id: self.g().make(act, sort, pair) });
        };
        let bits = k.bits();
        let (signed, exact) = (k.signed(), ROW.arithmetic().is_exact(k));
        let id = match op {
            BinOp::Add | BinOp::Sub => {
                let other = if op == BinOp::Add { b.id } else { self.g().make(Act::Neg, sort, vec![b.id]) };
                if exact {
                    let wide = Sort::Bits(bits + 1);
                    let x = self.g().make(Act::SignExt, wide, vec![a.id]);
                    let mut y = self.g().make(Act::SignExt, wide, vec![b.id]);
                    if op == BinOp::Sub {
                        y = self.g().make(Act::Neg, wide, vec![y]);
                    }
                    let sum = self.g().make(Act::Add, wide, vec![x, y]);
                    let low = self.g().make(Act::Low, sort, vec![sum]);
                    let again = self.g().make(Act::SignExt, wide, vec![low]);
                    let fits = self.g().equal(sum, again);
                    let not = self.g().not(fits);
                    self.forbid(not, "overflows");
                }
                self.g().make(Act::Add, sort, vec![a.id, other])
            }
            BinOp::Mul => {
                if exact {
                    let leaves = self.g().make(Act::MulLeaves, Sort::Truth, pair.clone());
                    self.forbid(leaves, "overflows");
                }
                self.g().make(Act::Mul, sort, pair)
            }
            BinOp::Div | BinOp::Rem => {
                let zero = self.g().bits(bits, 0);
                let is_zero = self.g().equal(b.id, zero);
                self.forbid(is_zero, "divides by zero");
                if signed {
                    let (min, all) = (self.g().bits(bits, k.min()), self.g().bits(bits, -1));
                    let (x, y) = (self.g().equal(a.id, min), self.g().equal(b.id, all));
                    let both = self.g().and(x, y);
                    self.forbid(both, "overflows");
                }
                let act = match (op, signed) {
                    (BinOp::Div, true) => Act::SDiv,
                    (BinOp::Div, false) => Act::UDiv,
                    (_, true) => Act::SRem,
                    _ => Act::URem,
                };
                self.g().make(act, sort, pair)
            }
            BinOp::BitAnd => self.g().make(Act::And, sort, pair),
            BinOp::BitOr => self.g().make(Act::Or, sort, pair),
            BinOp::BitXor => self.g().make(Act::Xor, sort, pair),
            _ => {
                let less = if signed { Act::SLt } else { Act::ULt };
                let (args, act, not) = match op {
                    BinOp::Lt => (pair, less, false),
                    BinOp::Ge => (pair, less, true),
                    BinOp::Gt => (vec![b.id, a.id], less, false),
                    BinOp::Le => (vec![b.id, a.id], less, true),
                    BinOp::Eq => (pair, Act::Eq, false),
                    _ => (pair, Act::Eq, true),
                };
                let t = self.g().make(act, Sort::Truth, args);
                let t = if not { self.g().not(t) } else { t };
                return Ok(self.number(t));
            }
        };
        Ok(Val { ty, id })
    }
    fn shift(&mut self, op: BinOp, a: Val, b: Val) -> Done<Val> {
        let (ta, tb) = (a.ty.promoted(), b.ty.promoted());
        let (Ty::Int(k), Ty::Int(kb)) = (ta, tb) else {
            return Err("floating numbers are not shifted".to_owned());
        };
        let (a, b) = (self.convert(a, ta), self.convert(b, tb));
        let width = self.g().bits(kb.bits(), i128::from(k.bits()));
        // a negative count is a large one
        let below = self.g().make(Act::ULt, Sort::Truth, vec![b.id, width]);
        let not = self.g().not(below);
        self.forbid(not, "shifts by too much");
        let sort = ta.sort();
        let count = match kb.bits().cmp(&k.bits()) {
            std::cmp::Ordering::Less => self.g().make(Act::ZeroExt, sort, vec![b.id]),
            std::cmp::Ordering::Equal => b.id,
            std::cmp::Ordering::Greater => self.g().make(Act::Low, sort, vec![b.id]),
        };
        if op == BinOp::Shl && k.signed() && self.result {
            let up = self.g().make(Act::Shl, sort, vec![a.id, count]);
            let back = self.g().make(Act::SShr, sort, vec![up, count]);
            let zero = self.g().bits(k.bits(), 0);
            let (same, negative) =
                (self.g().equal(back, a.id), self.g().make(Act::SLt, Sort::Truth, vec![a.id, zero]));
            let lost = self.g().not(same);
            let bad = self.g().or(lost, negative);
            self.forbid(bad, "shifts a negative number, or a bit out of a signed one,");
        }
        let act = match (op, k.signed()) {
            (BinOp::Shl, _) => Act::Shl,
            (_, true) => Act::SShr,
            _ => Act::UShr,
        };
        Ok(Val { ty: ta, id: self.g().make(act, sort, vec![a.id, count]) })
    }

    /// The value in another type.
    pub fn convert(&mut self, v: Val, to: Ty) -> Val {
        if v.ty == to {
            return v;
        }
        let sort = to.sort();
        let id = match (v.ty, to) {
            (_, Ty::Int(IntKind::Bool)) => {
                let t = self.is_true(v);
                let (one, zero) = (self.g().bits(8, 1), self.g().bits(8, 0));
                self.g().choose(t, one, zero)
            }
            (Ty::Int(a), Ty::Int(b)) => match b.bits().cmp(&a.bits()) {
                std::cmp::Ordering::Less => self.g().make(Act::Low, sort, vec![v.id]),
                std::cmp::Ordering::Equal => v.id,
                std::cmp::Ordering::Greater => {
                    let act = if a.signed() { Act::SignExt } else { Act::ZeroExt };
                    self.extended(act, sort, v.id)
                }
            },
            (Ty::Int(a), _) => {
                let act = if a.signed() { Act::FSigned } else { Act::FUnsigned };
                self.g().make(act, sort, vec![v.id])
            }
            (_, Ty::Int(k)) => {
                let from = v.ty.sort();
                let whole = self.g().make(Act::FWhole('t'), from, vec![v.id]);
                let span = 2f64.powi(k.bits() as i32 - i32::from(k.signed()));
                let (low, high) =
                    (self.g().float(from, if k.signed() { -span } else { 0.0 }), self.g().float(from, span));
                let (above, below) = (
                    self.g().make(Act::FLe, Sort::Truth, vec![low, whole]),
                    self.g().make(Act::FLt, Sort::Truth, vec![whole, high]),
                );
                let fits = self.g().and(above, below);
                let not = self.g().not(fits);
                self.forbid(not, "converts what does not fit");
                let act = if k.signed() { Act::ToSigned } else { Act::ToUnsigned };
                self.g().make(act, sort, vec![v.id])
            }
            _ => self.g().make(Act::FFloat, sort, vec![v.id]),
        };
        Val { ty: to, id }
    }
    /// Extended; of `c ? 1 : 0` both arms are, so that truth stays truth.
    fn extended(&mut self, act: Act, sort: Sort, id: Id) -> Id {
        let node = self.w.g.node(id).clone();
        if node.act == Act::If && node.args[1..].iter().all(|a| self.w.g.constant(*a).is_some()) {
            let a = self.g().make(act.clone(), sort, vec![node.args[1]]);
            let b = self.g().make(act, sort, vec![node.args[2]]);
            return self.g().choose(node.args[0], a, b);
        }
        self.g().make(act, sort, vec![id])
    }
}

/// C's usual arithmetic conversions.
pub(super) fn usual(a: Ty, b: Ty) -> Ty {
    match (a, b) {
        (Ty::F64, _) | (_, Ty::F64) => Ty::F64,
        (Ty::F32, _) | (_, Ty::F32) => Ty::F32,
        _ => match (a.promoted(), b.promoted()) {
            (Ty::Int(x), Ty::Int(y)) => Ty::Int(common(x, y)),
            (x, _) => x,
        },
    }
}
fn common(x: IntKind, y: IntKind) -> IntKind {
    if x == y {
        return x;
    }
    if x.signed() == y.signed() {
        return if x.rank() >= y.rank() { x } else { y };
    }
    let (u, s) = if x.signed() { (y, x) } else { (x, y) };
    if u.rank() >= s.rank() {
        u
    } else if s.bits() > u.bits() {
        s
    } else {
        s.to_unsigned()
    }
}
