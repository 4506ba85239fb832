//! Magnitudes: how large the values of host expressions can get, so that none of them overflows.
//!
//! The host computes in `long long`. Either the types of the values used keep every intermediate result inside it, or
//! the plan finds the largest limit on those values that does and has the host test it.

use analysis::{Expr, Param, Pred};

/// No intermediate result may reach this: a little less than the largest `long long`.
pub(crate) const SAFE: i128 = (1 << 63) - (1 << 40);
const CAP: i128 = 1 << 100;

/// The value of an expression without parameters.
pub(crate) fn constant(e: &Expr) -> Option<i128> {
    Some(match e {
        Expr::Int(v) => *v,
        Expr::Param(_) | Expr::Select(..) => return None,
        Expr::Add(items) => {
            let mut sum = 0i128;
            for i in items {
                sum = sum.checked_add(constant(i)?)?;
            }
            sum
        }
        Expr::Mul(0, _) => 0,
        Expr::Mul(k, a) => k.checked_mul(constant(a)?)?,
        Expr::Product(a, b) => constant(a)?.checked_mul(constant(b)?)?,
        Expr::FloorDiv(a, d) if *d > 0 => constant(a)?.div_euclid(*d),
        Expr::FloorDiv(..) => return None,
        Expr::Quotient(a, d) => match constant(d)? {
            d if d > 0 => constant(a)?.div_euclid(d),
            _ => 0,
        },
        Expr::Min(items) => fold(items, |a, b| a.min(b))?,
        Expr::Max(items) => fold(items, |a, b| a.max(b))?,
    })
}

fn fold(items: &[Expr], f: impl Fn(i128, i128) -> i128) -> Option<i128> {
    let mut values = items.iter().map(constant);
    let first = values.next()??;
    values.try_fold(first, |a, b| Some(f(a, b?)))
}

/// By how much one expression is larger than another, if that is a constant by their forms.
pub(crate) fn distance(larger: &Expr, smaller: &Expr) -> Option<i128> {
    let (a, b) = (Sum::of(larger)?, Sum::of(smaller)?);
    (a.parts == b.parts).then(|| a.constant.checked_sub(b.constant)).flatten()
}

/// A sum of multiples, like ones together, in one order.
#[derive(Default)]
struct Sum {
    constant: i128,
    parts: std::collections::BTreeMap<String, i128>,
}

impl Sum {
    fn of(e: &Expr) -> Option<Sum> {
        let mut sum = Sum::default();
        sum.add(e, 1)?;
        sum.parts.retain(|_, k| *k != 0);
        Some(sum)
    }

    fn add(&mut self, e: &Expr, by: i128) -> Option<()> {
        match (constant(e), e) {
            (Some(c), _) => self.constant = self.constant.checked_add(c.checked_mul(by)?)?,
            (_, Expr::Add(items)) => {
                for i in items {
                    self.add(i, by)?;
                }
            }
            (_, Expr::Mul(k, a)) => self.add(a, by.checked_mul(*k)?)?,
            _ => {
                let count = self.parts.entry(format!("{e:?}")).or_default();
                *count = count.checked_add(by)?;
            }
        }
        Some(())
    }
}

/// All parameters of an expression, in order of occurrence.
pub(crate) fn params(e: &Expr, out: &mut Vec<Param>) {
    match e {
        Expr::Int(_) => {}
        Expr::Param(p) => {
            if !out.contains(p) {
                out.push(*p);
            }
        }
        Expr::Add(items) | Expr::Min(items) | Expr::Max(items) => items.iter().for_each(|i| params(i, out)),
        Expr::Mul(_, a) | Expr::FloorDiv(a, _) => params(a, out),
        Expr::Product(a, b) | Expr::Quotient(a, b) => {
            params(a, out);
            params(b, out);
        }
        Expr::Select(c, a, b) => {
            pred_params(c, out);
            params(a, out);
            params(b, out);
        }
    }
}

/// All parameters of a condition.
pub(crate) fn pred_params(p: &Pred, out: &mut Vec<Param>) {
    match p {
        Pred::True | Pred::False => {}
        Pred::NonNegative(e) | Pred::Zero(e) => params(e, out),
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|i| pred_params(i, out)),
        Pred::Not(a) => pred_params(a, out),
    }
}

/// The largest magnitude of the expression and of everything inside it, given those of the parameters.
pub(crate) fn peak(e: &Expr, of: &dyn Fn(Param) -> i128) -> i128 {
    walk(e, of).1
}

/// Likewise for a condition.
pub(crate) fn pred_peak(p: &Pred, of: &dyn Fn(Param) -> i128) -> i128 {
    match p {
        Pred::True | Pred::False => 0,
        Pred::NonNegative(e) | Pred::Zero(e) => peak(e, of),
        Pred::And(items) | Pred::Or(items) => items.iter().map(|i| pred_peak(i, of)).max().unwrap_or(0),
        Pred::Not(a) => pred_peak(a, of),
    }
}

/// Magnitude of the value, and of the largest intermediate value.
fn walk(e: &Expr, of: &dyn Fn(Param) -> i128) -> (i128, i128) {
    let mul = |a: i128, b: i128| a.checked_mul(b).map_or(CAP, |v| v.min(CAP));
    match e {
        Expr::Int(v) => {
            let m = v.checked_abs().unwrap_or(CAP).min(CAP);
            (m, m)
        }
        Expr::Param(p) => {
            let m = of(*p);
            (m, m)
        }
        Expr::Add(items) => {
            let (mut sum, mut top) = (0i128, 0i128);
            for i in items {
                let (m, t) = walk(i, of);
                // The sum of magnitudes bounds every partial sum.
                sum = (sum + m).min(CAP);
                top = top.max(t);
            }
            (sum, top.max(sum))
        }
        Expr::Mul(k, a) => {
            let (m, t) = walk(a, of);
            let v = mul(m, k.checked_abs().unwrap_or(CAP));
            (v, t.max(v))
        }
        Expr::Product(a, b) => {
            let ((ma, ta), (mb, tb)) = (walk(a, of), walk(b, of));
            let v = mul(ma, mb);
            (v, ta.max(tb).max(v))
        }
        Expr::FloorDiv(a, d) => {
            let (m, t) = walk(a, of);
            (m / (*d).max(1) + 1, t.max(*d))
        }
        Expr::Quotient(a, d) => {
            let ((m, t), (_, td)) = (walk(a, of), walk(d, of));
            (m + 1, t.max(td).max(m + 1))
        }
        Expr::Min(items) | Expr::Max(items) => items.iter().fold((0, 0), |(m, t), i| {
            let (mi, ti) = walk(i, of);
            (m.max(mi), t.max(ti))
        }),
        Expr::Select(c, a, b) => {
            let ((ma, ta), (mb, tb)) = (walk(a, of), walk(b, of));
            (ma.max(mb), ta.max(tb).max(pred_peak(c, of)))
        }
    }
}

/// The smallest and largest value an expression may have, given those of the parameters; ends beyond ±2^100 mean
/// "no bound known".
pub(crate) fn range(e: &Expr, of: &dyn Fn(Param) -> (i128, i128)) -> (i128, i128) {
    let clamp = |v: Option<i128>, sign: bool| v.unwrap_or(if sign { CAP } else { -CAP }).clamp(-CAP, CAP);
    let product = |(a, b): (i128, i128), (c, d): (i128, i128)| {
        let all = [(a, c), (a, d), (b, c), (b, d)].map(|(x, y)| clamp(x.checked_mul(y), (x < 0) == (y < 0)));
        (all.into_iter().min().unwrap_or(-CAP), all.into_iter().max().unwrap_or(CAP))
    };
    let ends = |items: &[Expr], pick: fn(i128, i128) -> i128| {
        let mut all = items.iter().map(|i| range(i, of));
        let first = all.next().unwrap_or((-CAP, CAP));
        all.fold(first, |a, b| (pick(a.0, b.0), pick(a.1, b.1)))
    };
    match e {
        Expr::Int(v) => (*v, *v),
        Expr::Param(p) => of(*p),
        Expr::Add(items) => items.iter().fold((0, 0), |a, i| {
            let b = range(i, of);
            ((a.0 + b.0).clamp(-CAP, CAP), (a.1 + b.1).clamp(-CAP, CAP))
        }),
        Expr::Mul(k, a) => product((*k, *k), range(a, of)),
        Expr::Product(a, b) => product(range(a, of), range(b, of)),
        Expr::FloorDiv(a, d) => {
            let (lo, hi) = range(a, of);
            (lo.div_euclid((*d).max(1)), hi.div_euclid((*d).max(1)))
        }
        Expr::Quotient(a, _) => {
            let (lo, hi) = range(a, of);
            (lo.min(0), hi.max(0))
        }
        Expr::Min(items) => ends(items, i128::min),
        Expr::Max(items) => ends(items, i128::max),
        Expr::Select(_, a, b) => {
            let (a, b) = (range(a, of), range(b, of));
            (a.0.min(b.0), a.1.max(b.1))
        }
    }
}

/// Whether the condition holds for all values in the parameters' ranges.
pub(crate) fn always(p: &Pred, of: &dyn Fn(Param) -> (i128, i128)) -> bool {
    match p {
        Pred::True => true,
        Pred::False | Pred::Not(_) => false,
        Pred::NonNegative(e) => range(e, of).0 >= 0,
        Pred::Zero(e) => range(e, of) == (0, 0),
        Pred::And(items) => items.iter().all(|i| always(i, of)),
        Pred::Or(items) => items.iter().any(|i| always(i, of)),
    }
}
