//! Values of a replay, and what they are made of: beside its number a value may carry its *shadow*, the linear form over
//! the run's inputs that gave it, or the tree of operations (`formula`). Shadows only guide the search for other inputs;
//! numbers alone decide what happened. A floating number that the machine may have otherwise in its last bits carries how
//! far off it may be, and where that matters it decides nothing.

use std::rc::Rc;

use term::{Arithmetic, BinOp, FloatKind, IntKind};

use super::formula::Tree;
use super::inputs::Owner;
use crate::limits::replay_witness_values::LIMIT;

/// An input, or a helper variable of a shadow (numbered from [`HELPERS`] on).
pub(super) type Id = u32;
pub(super) const HELPERS: Id = 1 << 24;

/// `Σ coefficient · variable + constant`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Linear {
    pub terms: Vec<(Id, i128)>,
    pub constant: i128,
}

impl Linear {
    pub fn constant(constant: i128) -> Linear {
        Linear { terms: Vec::new(), constant }
    }
    pub fn var(id: Id) -> Linear {
        Linear { terms: vec![(id, 1)], constant: 0 }
    }
    /// `self + k·other`
    pub fn plus(&self, other: &Linear, k: i128) -> Option<Linear> {
        let mut out = self.clone();
        for &(v, c) in &other.terms {
            let c = c.checked_mul(k)?;
            match out.terms.iter_mut().find(|t| t.0 == v) {
                Some(t) => t.1 = t.1.checked_add(c)?,
                None => out.terms.push((v, c)),
            }
        }
        out.terms.retain(|t| t.1 != 0);
        out.constant = out.constant.checked_add(other.constant.checked_mul(k)?)?;
        let large = out.terms.iter().any(|t| t.1.abs() > LIMIT) || out.terms.len() > 12;
        (!large).then_some(out)
    }
    pub fn times(&self, k: i128) -> Option<Linear> {
        Linear::default().plus(self, k)
    }
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }
}

/// What is said of a linear form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rel {
    /// At least 0.
    Least,
    Zero,
    NotZero,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    pub form: Linear,
    pub rel: Rel,
}

impl Fact {
    pub fn least(form: Linear) -> Fact {
        Fact { form, rel: Rel::Least }
    }
    pub fn zero(form: Linear) -> Fact {
        Fact { form, rel: Rel::Zero }
    }
    /// `a op b`
    pub fn compared(op: BinOp, a: &Linear, b: &Linear) -> Option<Fact> {
        let diff = |x: &Linear, y: &Linear, k: i128| {
            let mut d = x.plus(y, -1)?;
            d.constant += k;
            Some(d)
        };
        Some(match op {
            BinOp::Lt => Fact::least(diff(b, a, -1)?),
            BinOp::Le => Fact::least(diff(b, a, 0)?),
            BinOp::Gt => Fact::least(diff(a, b, -1)?),
            BinOp::Ge => Fact::least(diff(a, b, 0)?),
            BinOp::Eq => Fact::zero(diff(a, b, 0)?),
            BinOp::Ne => Fact { form: diff(a, b, 0)?, rel: Rel::NotZero },
            _ => return None,
        })
    }
    pub fn negated(&self) -> Option<Fact> {
        Some(match self.rel {
            Rel::Zero => Fact { form: self.form.clone(), rel: Rel::NotZero },
            Rel::NotZero => Fact::zero(self.form.clone()),
            Rel::Least => {
                let mut form = self.form.times(-1)?;
                form.constant -= 1;
                Fact::least(form)
            }
        })
    }
}

/// Where a value comes from, as far as that helps to change it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum Shadow {
    #[default]
    None,
    /// An integer.
    Value(Rc<Linear>),
    /// Whether this holds.
    Truth(Rc<Fact>),
    /// A floating or pointer input as it was given.
    Input(Id),
    /// Whether a pointer input compares so with the null pointer.
    Compared(Id, BinOp),
    /// What else inputs gave.
    Tree(Tree),
    /// What a name that is defined in no text stands for: an input of the type that it turns out to be used with.
    Free(Rc<Owner>),
}

/// A place in memory: object and byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Address {
    pub object: u32,
    pub offset: i64,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Number {
    Int(i128),
    Real(f64),
    /// Near this: within so much of it.
    About(f64, f64),
    /// `None`: null.
    Pointer(Option<Address>),
    /// A function of this name.
    Function(std::sync::Arc<str>),
    /// A struct or union that lies there.
    Record(Address),
    /// Any value at all, and not ours to choose.
    Any,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Value {
    pub number: Number,
    pub shadow: Shadow,
}

impl Value {
    pub const ANY: Value = Value { number: Number::Any, shadow: Shadow::None };
    pub fn int(v: i128) -> Value {
        Value { number: Number::Int(v), shadow: Shadow::None }
    }
    pub fn real(v: f64) -> Value {
        Value { number: Number::Real(v), shadow: Shadow::None }
    }
    /// A floating number as its type holds it, from one computed that may be off by `error`.
    pub fn near(kind: FloatKind, v: f64, error: f64) -> Value {
        let r = rounded(kind, v);
        let error = match kind {
            _ if error.is_nan() => return Value::ANY,
            FloatKind::F64 | FloatKind::F32 if error == 0.0 => 0.0,
            // Each operation rounds, at most by this much.
            FloatKind::F32 => error + r.abs() * f64::from(f32::EPSILON) + f64::from(f32::MIN_POSITIVE),
            _ => error + r.abs() * f64::EPSILON + f64::MIN_POSITIVE,
        };
        match error {
            0.0 => Value::real(r),
            _ if r.is_finite() && error.is_finite() => {
                Value { number: Number::About(r, error), shadow: Shadow::None }
            }
            _ => Value::ANY,
        }
    }
    /// A floating or whole number, and how far off it may be.
    pub fn as_real(&self) -> Option<(f64, f64)> {
        match self.number {
            Number::Real(r) => Some((r, 0.0)),
            Number::About(r, e) => Some((r, e)),
            Number::Int(n) => Some((n as f64, 0.0)),
            _ => None,
        }
    }
    pub fn shadowed(mut self, shadow: Shadow) -> Value {
        if !matches!(self.number, Number::Any) {
            self.shadow = shadow;
        }
        self
    }
    pub fn free(owner: Owner) -> Value {
        Value { number: Number::Any, shadow: Shadow::Free(Rc::new(owner)) }
    }
    pub fn pointer(a: Address) -> Value {
        Value { number: Number::Pointer(Some(a)), shadow: Shadow::None }
    }
    pub fn of_truth(holds: bool, fact: Option<Fact>) -> Value {
        let shadow = fact.map_or(Shadow::None, |f| Shadow::Truth(Rc::new(f)));
        Value { number: Number::Int(holds.into()), shadow }
    }
    pub fn with(number: Number, form: Option<Linear>) -> Value {
        let shadow = match form {
            Some(f) if !f.is_constant() => Shadow::Value(Rc::new(f)),
            _ => Shadow::None,
        };
        Value { number, shadow }
    }
    pub fn as_int(&self) -> Option<i128> {
        match self.number {
            Number::Int(v) => Some(v),
            _ => None,
        }
    }
    pub fn address(&self) -> Option<Address> {
        match self.number {
            Number::Pointer(a) => a,
            Number::Record(a) => Some(a),
            _ => None,
        }
    }
    /// Whether it counts as true.
    pub fn truth(&self) -> Option<bool> {
        match &self.number {
            Number::Int(v) => Some(*v != 0),
            Number::Real(v) => Some(*v != 0.0),
            Number::About(v, e) if v.abs() > *e => Some(true),
            Number::Pointer(p) => Some(p.is_some()),
            Number::Function(_) => Some(true),
            Number::Record(_) | Number::About(..) | Number::Any => None,
        }
    }
    /// The linear form of an integer: its shadow, or the number itself.
    pub fn form(&self) -> Option<Linear> {
        match (&self.shadow, &self.number) {
            (Shadow::Value(f), _) => Some((**f).clone()),
            (Shadow::None, Number::Int(v)) => Some(Linear::constant(*v)),
            _ => None,
        }
    }
}

/// A floating value as its type holds it, but for `long double`, of which the last bits are not kept.
pub(super) fn rounded(kind: FloatKind, v: f64) -> f64 {
    match kind {
        FloatKind::F32 => f64::from(v as f32),
        FloatKind::F64 | FloatKind::Long => v,
    }
}

pub(super) fn arithmetic(op: BinOp, x: f64, y: f64) -> Option<f64> {
    Some(match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div => x / y,
        _ => return None,
    })
}

/// How far off a result may be when its operands are off by `ex` and `ey`.
pub(super) fn spread(op: BinOp, (x, ex): (f64, f64), (y, ey): (f64, f64)) -> f64 {
    if ex == 0.0 && ey == 0.0 {
        return 0.0;
    }
    match op {
        BinOp::Add | BinOp::Sub => ex + ey,
        BinOp::Mul => x.abs() * ey + y.abs() * ex + ex * ey,
        BinOp::Div if y.abs() > 2.0 * ey => (ex + (x / y).abs() * ey) / (y.abs() - ey),
        _ => f64::NAN,
    }
}

/// A function of `<math.h>` at a point, and whether C and IEEE 754 fix the result to the last bit. `None`: not followed there.
pub(super) fn math(stem: &str, x: f64, y: Option<f64>) -> Option<(f64, bool)> {
    let exact = match (stem, y) {
        ("sqrt", _) => x.sqrt(),
        ("fabs", _) => x.abs(),
        ("floor", _) => x.floor(),
        ("ceil", _) => x.ceil(),
        ("trunc", _) => x.trunc(),
        ("round", _) => x.round(),
        ("fmin", Some(y)) => x.min(y),
        ("fmax", Some(y)) => x.max(y),
        ("copysign", Some(y)) => x.copysign(y),
        ("fmod", Some(y)) if y != 0.0 => x % y,
        // C11 F.10.4.4
        ("pow", Some(y)) if x == 0.0 && y > 0.0 && y.is_finite() => x.powf(y),
        ("pow", Some(0.0)) => 1.0,
        _ => {
            // Where libraries agree but for the last bits: not near poles, not for huge arguments.
            let tame = x.is_finite() && x.abs() < 1e6;
            let v = match (stem, y) {
                _ if !tame => return None,
                ("exp", _) => x.exp(),
                ("exp2", _) => x.exp2(),
                ("expm1", _) => x.exp_m1(),
                ("log", _) if x > 0.0 => x.ln(),
                ("log2", _) if x > 0.0 => x.log2(),
                ("log10", _) if x > 0.0 => x.log10(),
                ("log1p", _) if x > -1.0 => x.ln_1p(),
                ("sin", _) => x.sin(),
                ("cos", _) => x.cos(),
                ("atan", _) => x.atan(),
                ("asin", _) if x.abs() <= 1.0 => x.asin(),
                ("acos", _) if x.abs() <= 1.0 => x.acos(),
                ("sinh", _) => x.sinh(),
                ("cosh", _) => x.cosh(),
                ("tanh", _) => x.tanh(),
                ("cbrt", _) => x.cbrt(),
                ("pow", Some(y)) if x > 0.0 && y.abs() < 1e4 => x.powf(y),
                ("pow", Some(y)) if x < 0.0 && y.abs() < 1e4 && y.fract() == 0.0 => x.powf(y),
                ("atan2", Some(y)) if x != 0.0 && y > 0.0 => x.atan2(y),
                ("hypot", Some(y)) if y.abs() < 1e6 => x.hypot(y),
                _ => return None,
            };
            return v.is_finite().then_some((v, false));
        }
    };
    Some((exact, true))
}

/// An integer operation on operands that already have the type `kind` (shifts: the left one). A shift of a negative value to
/// the left, or into the sign, is what compilers make of it. `None`: undefined, or an exception.
pub(super) fn integer(m: Arithmetic, op: BinOp, a: i128, b: i128, kind: IntKind) -> Option<i128> {
    match op {
        BinOp::Shl => m.shifted_left(kind, a, b),
        _ => m.binary(op, kind, a, b).ok(),
    }
}

pub(super) fn compare<T: PartialOrd>(op: BinOp, a: T, b: T) -> bool {
    match op {
        BinOp::Lt => a < b,
        BinOp::Le => a <= b,
        BinOp::Gt => a > b,
        BinOp::Ge => a >= b,
        BinOp::Eq => a == b,
        _ => a != b,
    }
}
