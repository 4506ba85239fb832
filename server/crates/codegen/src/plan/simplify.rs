//! Shorter expressions under what has been tested before: once `n > 0` is known, `n >= 1 ? n - 1 : -1` is `n - 1`.

use std::collections::BTreeMap;

use analysis::{Expr, Pred};

/// A sum of multiples of expressions that are not sums, and a constant.
type Linear = (BTreeMap<String, i128>, i128);

fn linear(e: &Expr) -> Option<Linear> {
    let mut out: Linear = (BTreeMap::new(), 0);
    let mut stack = vec![(e, 1i128)];
    while let Some((e, k)) = stack.pop() {
        match e {
            Expr::Int(v) => out.1 = out.1.checked_add(v.checked_mul(k)?)?,
            Expr::Add(items) => stack.extend(items.iter().map(|i| (i, k))),
            Expr::Mul(c, a) => stack.push((a, k.checked_mul(*c)?)),
            other => {
                let entry = out.0.entry(format!("{other:?}")).or_insert(0);
                *entry = entry.checked_add(k)?;
            }
        }
    }
    out.0.retain(|_, k| *k != 0);
    Some(out)
}

/// `a - b`, if it is a constant.
fn difference(a: &Expr, b: &Expr) -> Option<i128> {
    let (a, b) = (linear(a)?, linear(b)?);
    (a.0 == b.0).then_some(())?;
    a.1.checked_sub(b.1)
}

/// Whether `e >= 0` follows from `t >= 1`.
fn at_least_minus_one(e: &Expr, t: &Expr) -> bool {
    match t {
        // `floor(a / d) >= 1` says `a >= d`.
        Expr::FloorDiv(a, d) if difference(e, a).is_some_and(|c| c >= -*d) => true,
        Expr::Quotient(a, d) => {
            let least = Expr::Add(vec![(**a).clone(), Expr::Mul(-1, d.clone())]);
            difference(e, t).is_some_and(|c| c >= -1) || difference(e, &least).is_some_and(|c| c >= 0)
        }
        _ => difference(e, t).is_some_and(|c| c >= -1),
    }
}

/// Whether `p` follows from every expression of `positive` being at least 1.
pub(super) fn follows(p: &Pred, positive: &[Expr]) -> bool {
    match p {
        Pred::True => true,
        Pred::NonNegative(e) => {
            super::constant(e).is_some_and(|c| c >= 0) || positive.iter().any(|t| at_least_minus_one(e, t))
        }
        Pred::And(items) => items.iter().all(|i| follows(i, positive)),
        Pred::Or(items) => items.iter().any(|i| follows(i, positive)),
        Pred::False | Pred::Zero(_) | Pred::Not(_) => false,
    }
}

/// The expression where every expression of `positive` is at least 1.
pub(crate) fn under(e: &Expr, positive: &[Expr]) -> Expr {
    let all = |items: &[Expr]| items.iter().map(|i| under(i, positive)).collect::<Vec<_>>();
    match e {
        Expr::Int(_) | Expr::Param(_) => e.clone(),
        Expr::Add(items) => Expr::Add(all(items)),
        Expr::Mul(k, a) => times(*k, under(a, positive)),
        Expr::Product(a, b) => {
            let (a, b) = (under(a, positive), under(b, positive));
            match (super::constant(&a), super::constant(&b)) {
                (Some(k), _) => times(k, b),
                (_, Some(k)) => times(k, a),
                _ => Expr::Product(Box::new(a), Box::new(b)),
            }
        }
        Expr::FloorDiv(a, d) => Expr::FloorDiv(Box::new(under(a, positive)), *d),
        Expr::Quotient(a, d) => Expr::Quotient(Box::new(under(a, positive)), Box::new(under(d, positive))),
        Expr::Min(items) => extreme(all(items), -1, Expr::Min),
        Expr::Max(items) => {
            let items = undominated(all(items), 1);
            let zero = |i: &Expr| super::constant(i).is_some_and(|c| c <= 0);
            let known = |i: &Expr| positive.iter().any(|t| difference(i, t).is_some_and(|d| d >= 0));
            if items.iter().any(known) {
                let kept: Vec<Expr> = items.into_iter().filter(|i| !zero(i)).collect();
                extreme(kept, 1, Expr::Max)
            } else {
                extreme(items, 1, Expr::Max)
            }
        }
        Expr::Select(p, a, b) => {
            if follows(p, positive) {
                under(a, positive)
            } else {
                Expr::Select(p.clone(), Box::new(under(a, positive)), Box::new(under(b, positive)))
            }
        }
    }
}

/// Those that are not always smaller (`sign` 1) or larger (-1) than another; of equal ones the first.
fn undominated(items: Vec<Expr>, sign: i128) -> Vec<Expr> {
    let is_less = |k: usize, o: usize| {
        difference(&items[o], &items[k]).is_some_and(|d| d * sign > 0 || d == 0 && o < k)
    };
    let kept = |k: &usize| !(0..items.len()).any(|o| o != *k && is_less(*k, o));
    (0..items.len()).filter(kept).map(|k| items[k].clone()).collect()
}

/// The least or the largest of several.
fn extreme(items: Vec<Expr>, sign: i128, several: fn(Vec<Expr>) -> Expr) -> Expr {
    match <[Expr; 1]>::try_from(undominated(items, sign)) {
        Ok([only]) => only,
        Err(kept) => several(kept),
    }
}

fn times(k: i128, e: Expr) -> Expr {
    match k {
        0 => Expr::Int(0),
        1 => e,
        k => Expr::Mul(k, Box::new(e)),
    }
}

/// A trip count as far as it matters where only positive ones count, and those of `outer` are: `max(0, e)` is `e`.
pub(crate) fn trips(e: &Expr, outer: &[Expr]) -> Expr {
    match e {
        Expr::Max(items) => {
            let kept: Vec<&Expr> =
                items.iter().filter(|i| super::constant(i).is_none_or(|c| c > 0)).collect();
            match kept[..] {
                [only] => under(only, outer),
                _ => under(e, outer),
            }
        }
        // `m >= 1 ? m : 0`, and the like: not positive where the condition does not hold.
        Expr::Select(p, a, b) if super::constant(b) == Some(0) => {
            let value = trips(a, outer);
            let mut known = outer.to_vec();
            known.push(value.clone());
            if follows(p, &known) {
                value
            } else {
                under(e, outer)
            }
        }
        _ => under(e, outer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Param;
    use term::SymbolId;

    #[test]
    fn what_is_tested_need_not_be_asked() {
        let n = Expr::Param(Param::Symbol(SymbolId(0)));
        let less = |e: Expr| Expr::Add(vec![e, Expr::Int(-1)]);
        let last = Expr::Select(
            Box::new(Pred::NonNegative(less(n.clone()))),
            Box::new(less(n.clone())),
            Box::new(Expr::Int(-1)),
        );
        assert_eq!(under(&last, std::slice::from_ref(&n)), less(n.clone()));
        assert_eq!(under(&last, &[]), last);
        assert_eq!(trips(&Expr::Max(vec![Expr::Int(0), n.clone()]), &[]), n);
    }
}
