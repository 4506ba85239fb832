//! Inputs keep to what the user promises of parameters: index arrays hold what is promised of them, and arrays are as large as is
//! promised. An input that cannot, or on which the original touches more than an array is promised to have, is none. Deliberately
//! absent: promises of anything but parameters; what the function computes itself may break any.

use std::sync::Arc;

use simulate::{Fault, FaultKind, ObjectId, Value};
use term::{BinOp, Body, Op, Promised, SymbolId, TermId};

use super::making::Wide;
use super::{Given, Reach, Signature};

/// A promise of a parameter, by its number.
#[derive(Clone, Debug)]
pub(in crate::verify) enum Kept {
    Size { array: usize, length: Number },
    InRange { array: usize, low: Number, high: Number },
    Injective { array: usize },
    Apart { a: usize, b: usize },
}

/// A number that is made of integers that are handed over.
#[derive(Clone, Debug)]
pub(in crate::verify) enum Number {
    Int(i128),
    Parameter(usize),
    Of(BinOp, Box<(Number, Number)>),
}

/// Where a buffer that has a promised size ends at least, and what to say where more of it is touched.
#[derive(Clone, Debug)]
pub(in crate::verify) struct PromisedEnd {
    pub(super) buffer: usize,
    /// In bytes.
    pub(super) end: u64,
    reason: Arc<str>,
}

/// A number that a function is given, or that is made of such; nothing where it changes what it is given.
pub(in crate::verify) fn number_of(body: &Body, t: TermId) -> Option<Number> {
    let moved = |s: SymbolId| {
        let changes = |x: TermId| body.op(x).is_write() || *body.op(x) == Op::AddrOf;
        body.walk(body.root)
            .any(|x| changes(x) && body.args(x).first().and_then(|&p| body.as_symbol(p)) == Some(s))
    };
    let steady = body.walk(t).filter_map(|x| body.as_symbol(x)).all(|s| !moved(s));
    steady.then(|| number(body, &parameters(body), t, 0)).flatten()
}

fn parameters(body: &Body) -> Vec<SymbolId> {
    let list = body.args(body.root).first().copied();
    let declared = list.iter().flat_map(|&l| body.args(l)).filter_map(|&p| match *body.op(p) {
        Op::Declare(s) => Some(s),
        _ => None,
    });
    declared.collect()
}

/// The promises of a function's parameters.
pub(super) fn kept(body: &Body) -> Vec<Kept> {
    let parameters = parameters(body);
    let place = |t: TermId| parameters.iter().position(|&s| body.as_symbol(t) == Some(s));
    let number = |t: TermId| number(body, &parameters, t, 0);
    let one = |says: &Promised| {
        Some(match *says {
            Promised::Size { array, length } => Kept::Size { array: place(array)?, length: number(length)? },
            Promised::Injective(array) => Kept::Injective { array: place(array)? },
            Promised::InRange { array, low, high } => {
                Kept::InRange { array: place(array)?, low: number(low)?, high: number(high)? }
            }
            Promised::NoAlias(a, b) => Kept::Apart { a: place(a)?, b: place(b)? },
            Promised::DistinctRows(_) | Promised::Pure(_) | Promised::Not(_) => return None,
        })
    };
    body.said.promises.iter().filter_map(|p| one(&p.says)).collect()
}

fn number(body: &Body, parameters: &[SymbolId], t: TermId, depth: u32) -> Option<Number> {
    if depth > 16 {
        return None;
    }
    let of = |x: TermId| number(body, parameters, x, depth + 1);
    match (body.op(t), body.args(t)) {
        (Op::Int(v), _) => Some(Number::Int(*v)),
        (Op::Sym(s), _) => match body.symbols[*s].storage {
            term::Storage::Constant(v) => Some(Number::Int(v)),
            _ => parameters.iter().position(|p| p == s).map(Number::Parameter),
        },
        (Op::Cast, &[x]) => of(x),
        (&Op::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Rem)), &[a, b]) => {
            Some(Number::Of(op, Box::new((of(a)?, of(b)?))))
        }
        _ => None,
    }
}

impl Number {
    pub(in crate::verify) fn value(&self, given: &[Given]) -> Option<i128> {
        match self {
            Number::Int(v) => Some(*v),
            Number::Parameter(k) => match given.get(*k)? {
                Given::Plain(Value::Int(v)) => Some(*v),
                _ => None,
            },
            Number::Of(op, parts) => {
                let (a, b) = (parts.0.value(given)?, parts.1.value(given)?);
                match op {
                    BinOp::Add => a.checked_add(b),
                    BinOp::Sub => a.checked_sub(b),
                    BinOp::Mul => a.checked_mul(b),
                    BinOp::Div => a.checked_div(b),
                    BinOp::Rem => a.checked_rem(b),
                    _ => None,
                }
            }
        }
    }
}

fn not_meant(reason: &str) -> Fault {
    Fault::plain(FaultKind::NotMeant { reason: reason.into() })
}

impl Wide {
    /// Makes index arrays hold what is promised, and says where arrays of a promised size end.
    pub(super) fn keep_promises(&mut self, signature: &Signature) -> Result<Vec<PromisedEnd>, Fault> {
        let mut ends = Vec::new();
        let buffer = |w: &Wide, k: usize| match w.input.values.get(k) {
            Some(Given::Pointer(b, offset)) => Some((*b, u64::try_from(*offset).ok()?)),
            _ => None,
        };
        for p in &signature.promises {
            match p {
                Kept::Size { array, length } => {
                    let (Some((b, base)), Some(n)) = (buffer(self, *array), length.value(&self.input.values))
                    else {
                        continue;
                    };
                    let c = &self.input.buffers[b];
                    let bytes = u64::try_from(n.max(0)).ok().and_then(|n| n.checked_mul(c.layout.bytes));
                    let end = bytes.and_then(|n| n.checked_add(base));
                    let Some(end) = end.filter(|&e| e <= c.snapshot.data.len() as u64) else {
                        return Err(not_meant(&format!(
                            "`{}` is promised to be larger than what is tried",
                            c.name
                        )));
                    };
                    let reason = format!("it touches more of `{}` than the size promised for it", c.name);
                    ends.push(PromisedEnd { buffer: b, end, reason: reason.into() });
                }
                Kept::InRange { array, low, high } => {
                    let values = &self.input.values;
                    let Some((low, high)) = low.value(values).zip(high.value(values)) else { continue };
                    let distinct = signature
                        .promises
                        .iter()
                        .any(|o| matches!(o, Kept::Injective { array: a } if a == array));
                    if let Some((b, base)) = buffer(self, *array) {
                        self.hold(b, base, low, (high - low).max(1), distinct);
                    }
                }
                Kept::Injective { array } => {
                    let ranged = |o: &Kept| matches!(o, Kept::InRange { array: a, .. } if a == array);
                    if signature.promises.iter().any(ranged) {
                        continue;
                    }
                    let count = i128::from(self.choice.size).max(1);
                    if let Some((b, base)) = buffer(self, *array) {
                        self.hold(b, base, 0, count, true);
                    }
                }
                Kept::Apart { a, b } => {
                    let (a, b) = (buffer(self, *a), buffer(self, *b));
                    if a.zip(b).is_some_and(|(a, b)| a.0 == b.0) {
                        return Err(not_meant("the arrays overlap that are promised not to"));
                    }
                }
            }
        }
        Ok(ends)
    }

    /// Fills a buffer with whole numbers from `low` on, `count` of them: by chance, or each once from its base on and then, so
    /// much larger, again.
    fn hold(&mut self, b: usize, base: u64, low: i128, count: i128, distinct: bool) {
        let Some(kind) = self.input.buffers[b].layout.uniform() else { return };
        let size = kind.size();
        let n = usize::try_from(count.min(1 << 20)).unwrap_or(1).max(1);
        let mut order: Vec<usize> = (0..n).collect();
        for k in (1..n).rev() {
            order.swap(k, self.rng.below(k + 1));
        }
        let first = (base / size as u64) as usize;
        let rng = &mut self.rng;
        for (k, slot) in self.input.buffers[b].snapshot.data.chunks_exact_mut(size).enumerate() {
            // what lies before the base counts backwards
            let value = match (distinct, k.checked_sub(first)) {
                (true, Some(k)) => low + order[k % n] as i128 + (k / n * n) as i128,
                (true, None) => low - (first - k) as i128,
                (false, _) => low + rng.below(n) as i128,
            };
            kind.put(slot, value as f64, value as i64);
        }
    }
}

/// Whether a run of the original touched no more than is promised to be there.
pub(super) fn is_within(ends: &[PromisedEnd], buffers: &[ObjectId], reach: &Reach) -> Result<(), Fault> {
    for p in ends {
        let touched = buffers.get(p.buffer).and_then(|o| reach.touched.get(o));
        if touched.is_some_and(|t| t.1 > p.end) {
            return Err(Fault::plain(FaultKind::NotMeant { reason: p.reason.clone() }));
        }
    }
    Ok(())
}
