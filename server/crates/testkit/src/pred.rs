//! The value of the expressions and conditions that facts are made of, for given values of parameters and variables.

use std::collections::HashMap;

use analysis::{Expr, Param, Pred};
use term::{BinOp, Body, Op, SymbolId, TermId, UnOp};

/// Values of integer variables.
pub type Values = HashMap<SymbolId, i128>;

/// The value of an expression; `None` where it needs a value that is not known.
pub fn value(body: &Body, e: &Expr, values: &Values) -> Option<i128> {
    Some(match e {
        Expr::Int(v) => *v,
        Expr::Param(p) => param(body, p, values)?,
        Expr::Add(es) => {
            let mut sum = 0i128;
            for e in es {
                sum = sum.checked_add(value(body, e, values)?)?;
            }
            sum
        }
        Expr::Mul(c, e) => c.checked_mul(value(body, e, values)?)?,
        Expr::Product(a, b) => value(body, a, values)?.checked_mul(value(body, b, values)?)?,
        Expr::FloorDiv(e, d) => value(body, e, values)?.checked_div_euclid(*d)?,
        Expr::Quotient(a, b) => match value(body, b, values)? {
            d if d > 0 => value(body, a, values)?.checked_div_euclid(d)?,
            _ => 0,
        },
        Expr::Min(es) => fold(body, es, values, i128::min)?,
        Expr::Max(es) => fold(body, es, values, i128::max)?,
        Expr::Select(c, a, b) => {
            if holds(body, c, values)? {
                value(body, a, values)?
            } else {
                value(body, b, values)?
            }
        }
    })
}

fn fold(body: &Body, es: &[Expr], values: &Values, f: fn(i128, i128) -> i128) -> Option<i128> {
    let mut best: Option<i128> = None;
    for e in es {
        let v = value(body, e, values)?;
        best = Some(best.map_or(v, |b| f(b, v)));
    }
    best
}

/// Whether a condition holds; `None` where that is not known.
pub fn holds(body: &Body, p: &Pred, values: &Values) -> Option<bool> {
    Some(match p {
        Pred::True => true,
        Pred::False => false,
        Pred::NonNegative(e) => value(body, e, values)? >= 0,
        Pred::Zero(e) => value(body, e, values)? == 0,
        Pred::And(ps) => {
            let mut all = Some(true);
            for p in ps {
                match holds(body, p, values) {
                    Some(false) => return Some(false),
                    None => all = None,
                    Some(true) => {}
                }
            }
            all?
        }
        Pred::Or(ps) => {
            let mut none = Some(false);
            for p in ps {
                match holds(body, p, values) {
                    Some(true) => return Some(true),
                    None => none = None,
                    Some(false) => {}
                }
            }
            none?
        }
        Pred::Not(p) => !holds(body, p, values)?,
    })
}

/// The value of a parameter.
pub fn param(body: &Body, p: &Param, values: &Values) -> Option<i128> {
    match p {
        Param::Symbol(s) => values.get(s).copied(),
        Param::Term(t) => term(body, *t, values, 0),
        Param::Distance { .. } | Param::Row(_) | Param::Longest(_) | Param::End { .. } => None,
    }
}

/// The value of an integer term without side effects, computed as C does; `None` where it reads memory or goes wrong.
pub fn term(body: &Body, t: TermId, values: &Values, depth: u32) -> Option<i128> {
    if depth > 60 {
        return None;
    }
    let kind = body.types.as_int(body.ty(t))?;
    let arg = |i: usize| body.args(t).get(i).copied();
    let sub = |i: usize| term(body, arg(i)?, values, depth + 1);
    let fit = |v: i128| {
        if kind.signed() && kind.wrap(v) != v {
            None
        } else {
            Some(kind.wrap(v))
        }
    };
    match body.op(t) {
        Op::Int(v) => Some(*v),
        Op::Sym(s) => match body.symbols[*s].storage {
            term::Storage::Constant(v) => Some(v),
            _ => values.get(s).copied(),
        },
        Op::Cast => Some(kind.wrap(sub(0)?)),
        Op::Unary(UnOp::Plus) => sub(0),
        Op::Unary(UnOp::Neg) => fit(sub(0)?.checked_neg()?),
        Op::Unary(UnOp::BitNot) => fit(!sub(0)?),
        Op::Unary(UnOp::Not) => Some((sub(0)? == 0) as i128),
        Op::Select => {
            if sub(0)? != 0 {
                Some(kind.wrap(sub(1)?))
            } else {
                Some(kind.wrap(sub(2)?))
            }
        }
        Op::Binary(op) => {
            let (a, b) = (arg(0)?, arg(1)?);
            let (x, y) = (term(body, a, values, depth + 1)?, term(body, b, values, depth + 1)?);
            let (ka, kb) = (body.types.as_int(body.ty(a))?, body.types.as_int(body.ty(b))?);
            let common = ka.common(kb);
            let (x, y) = match op {
                BinOp::Shl | BinOp::Shr | BinOp::And | BinOp::Or => (x, y),
                _ => (common.wrap(x), common.wrap(y)),
            };
            match op {
                BinOp::Add => fit(x + y),
                BinOp::Sub => fit(x - y),
                BinOp::Mul => fit(x.checked_mul(y)?),
                BinOp::Div => fit(x.checked_div(y)?),
                BinOp::Rem => fit(x.checked_rem(y)?),
                BinOp::Shl => fit(x.checked_mul(1 << u32::try_from(y).ok().filter(|y| *y < 64)?)?),
                BinOp::Shr => Some(x >> u32::try_from(y).ok().filter(|y| *y < 64)?),
                BinOp::BitAnd => Some(x & y),
                BinOp::BitOr => Some(x | y),
                BinOp::BitXor => Some(x ^ y),
                BinOp::Lt => Some((x < y) as i128),
                BinOp::Le => Some((x <= y) as i128),
                BinOp::Gt => Some((x > y) as i128),
                BinOp::Ge => Some((x >= y) as i128),
                BinOp::Eq => Some((x == y) as i128),
                BinOp::Ne => Some((x != y) as i128),
                BinOp::And => Some((x != 0 && y != 0) as i128),
                BinOp::Or => Some((x != 0 || y != 0) as i128),
            }
        }
        _ => None,
    }
}
