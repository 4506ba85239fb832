//! Expressions over parameters and loop counters, as isl's code scanning makes them.
//!
//! Deliberately absent: printing in any language, and simplification.

use crate::ctx::{int, Obj};
use crate::error::{Error, Result};
use crate::ffi::*;
use crate::limits::expr::MAX_DEPTH;
use base::Budget;
use libc::c_int;

/// How a division by a positive number rounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rounding {
    /// Towards minus infinity; the dividend may be negative (C's `/` is then wrong).
    Floor,
    /// It comes out even; C's `/` is right.
    Exact,
    /// The dividend is not negative, so C's `/` is right.
    NonNegative,
}

/// What is known about a remainder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Remainder {
    /// The dividend is not negative, so C's `%` is right.
    NonNegative,
    /// It is only compared with zero, so C's `%` is right.
    ZeroTest,
}

/// A comparison of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<=`
    Le,
    /// `<`
    Lt,
    /// `>=`
    Ge,
    /// `>`
    Gt,
}

/// An expression. Truth values are the numbers 0 and 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A number.
    Int(i128),
    /// A parameter, by position.
    Param(usize),
    /// A loop counter, by the position of its schedule dimension (see [`crate::Scan`]).
    Iter(usize),
    /// `-a`
    Neg(Box<Expr>),
    /// `a + b`
    Add(Box<Expr>, Box<Expr>),
    /// `a - b`
    Sub(Box<Expr>, Box<Expr>),
    /// `a * b`
    Mul(Box<Expr>, Box<Expr>),
    /// `a / n`, `n` positive.
    Div(Box<Expr>, i128, Rounding),
    /// `a mod n`, `n` positive.
    Mod(Box<Expr>, i128, Remainder),
    /// The least of one or more.
    Min(Vec<Expr>),
    /// The greatest of one or more.
    Max(Vec<Expr>),
    /// `if c then a else b`; `a` and `b` need only be defined where they are chosen.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A comparison.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// Both hold; the second is asked only if the first holds.
    And(Box<Expr>, Box<Expr>),
    /// One holds; the second is asked only if the first does not hold.
    Or(Box<Expr>, Box<Expr>),
}

impl Expr {
    /// The expression with others in the place of its numbers, parameters and counters.
    pub fn with_leaves(&self, leaf: &dyn Fn(&Expr) -> Expr) -> Expr {
        let one = |e: &Expr| Box::new(e.with_leaves(leaf));
        let all = |es: &[Expr]| es.iter().map(|e| e.with_leaves(leaf)).collect();
        match self {
            Expr::Int(_) | Expr::Param(_) | Expr::Iter(_) => leaf(self),
            Expr::Neg(a) => Expr::Neg(one(a)),
            Expr::Add(a, b) => Expr::Add(one(a), one(b)),
            Expr::Sub(a, b) => Expr::Sub(one(a), one(b)),
            Expr::Mul(a, b) => Expr::Mul(one(a), one(b)),
            Expr::Div(a, n, r) => Expr::Div(one(a), *n, *r),
            Expr::Mod(a, n, r) => Expr::Mod(one(a), *n, *r),
            Expr::Min(es) => Expr::Min(all(es)),
            Expr::Max(es) => Expr::Max(all(es)),
            Expr::Select(c, a, b) => Expr::Select(one(c), one(a), one(b)),
            Expr::Compare(c, a, b) => Expr::Compare(*c, one(a), one(b)),
            Expr::And(a, b) => Expr::And(one(a), one(b)),
            Expr::Or(a, b) => Expr::Or(one(a), one(b)),
        }
    }

    /// The value; `None` beyond 128 bits, on a missing parameter or counter, and where a promise of [`Rounding`] or
    /// [`Remainder`] is broken.
    pub fn eval(&self, params: &[i128], iters: &[i128]) -> Option<i128> {
        let value = |e: &Expr| e.eval(params, iters);
        Some(match self {
            Expr::Int(n) => *n,
            Expr::Param(i) => *params.get(*i)?,
            Expr::Iter(i) => *iters.get(*i)?,
            Expr::Neg(a) => value(a)?.checked_neg()?,
            Expr::Add(a, b) => value(a)?.checked_add(value(b)?)?,
            Expr::Sub(a, b) => value(a)?.checked_sub(value(b)?)?,
            Expr::Mul(a, b) => value(a)?.checked_mul(value(b)?)?,
            Expr::Div(a, n, rounding) => {
                let a = value(a)?;
                match rounding {
                    Rounding::Exact if a.checked_rem(*n)? != 0 => return None,
                    Rounding::NonNegative if a < 0 => return None,
                    _ => a.checked_div_euclid(*n)?,
                }
            }
            Expr::Mod(a, n, kind) => {
                let a = value(a)?;
                if *kind == Remainder::NonNegative && a < 0 {
                    return None;
                }
                a.checked_rem(*n)?
            }
            Expr::Min(all) => all.iter().map(value).collect::<Option<Vec<_>>>()?.into_iter().min()?,
            Expr::Max(all) => all.iter().map(value).collect::<Option<Vec<_>>>()?.into_iter().max()?,
            Expr::Select(c, a, b) => value(if value(c)? != 0 { a } else { b })?,
            Expr::Compare(op, a, b) => {
                let (a, b) = (value(a)?, value(b)?);
                i128::from(match op {
                    Comparison::Eq => a == b,
                    Comparison::Le => a <= b,
                    Comparison::Lt => a < b,
                    Comparison::Ge => a >= b,
                    Comparison::Gt => a > b,
                })
            }
            Expr::And(a, b) => i128::from(value(a)? != 0 && value(b)? != 0),
            Expr::Or(a, b) => i128::from(value(a)? != 0 || value(b)? != 0),
        })
    }
}

const OPS: [&str; 23] = [
    "and", "and_then", "or", "or_else", "max", "min", "minus", "add", "sub", "mul", "div", "fdiv_q",
    "pdiv_q", "pdiv_r", "zdiv_r", "cond", "select", "eq", "le", "lt", "ge", "gt", "call",
];

/// The name of an operation (`enum isl_ast_expr_op_type`), without isl's prefix.
fn op_name(expr: &Obj<isl_ast_expr>) -> &'static str {
    // SAFETY: keeps the expression.
    let op = unsafe { isl_ast_expr_get_op_type(expr.keep()) };
    usize::try_from(op).ok().and_then(|i| OPS.get(i)).copied().unwrap_or("unknown")
}

fn args(expr: &Obj<isl_ast_expr>, budget: &Budget) -> Result<Vec<Obj<isl_ast_expr>>> {
    let ctx = expr.ctx();
    // SAFETY (both): keep the expression; the positions lie within its arguments.
    let n = ctx.size(budget, || unsafe { isl_ast_expr_get_op_n_arg(expr.keep()) })?;
    (0..n).map(|i| ctx.make(budget, || unsafe { isl_ast_expr_get_op_arg(expr.keep(), i as c_int) })).collect()
}

/// isl's expression as plain data.
pub(crate) fn read_expr(expr: &Obj<isl_ast_expr>, budget: &Budget) -> Result<Expr> {
    read(expr, budget, 0)
}

/// The statement number and arguments of a call.
pub(crate) fn read_call(expr: &Obj<isl_ast_expr>, budget: &Budget) -> Result<(usize, Vec<Expr>)> {
    // SAFETY (all): keep the expression.
    if unsafe { isl_ast_expr_get_type(expr.keep()) } != EXPR_OP || op_name(expr) != "call" {
        return Err(Error::Isl("a call of a statement was expected".into()));
    }
    let all = args(expr, budget)?;
    let Some((head, rest)) = all.split_first() else {
        return Err(Error::Isl("a call without a statement".into()));
    };
    let id = expr.ctx().run(budget, || unsafe { isl_ast_expr_get_id(head.keep()) })?;
    let ('S', statement) = expr.ctx().read_name(id)? else {
        return Err(Error::Isl("a call of something that is not a statement".into()));
    };
    Ok((statement, rest.iter().map(|a| read(a, budget, 0)).collect::<Result<_>>()?))
}

const EXPR_OP: c_int = 0;
const EXPR_ID: c_int = 1;
const EXPR_INT: c_int = 2;

fn read(expr: &Obj<isl_ast_expr>, budget: &Budget, depth: usize) -> Result<Expr> {
    if depth > MAX_DEPTH {
        return Err(Error::Overflow("an expression nested more than 512 deep"));
    }
    let ctx = expr.ctx();
    // SAFETY (all): keep the expression.
    match unsafe { isl_ast_expr_get_type(expr.keep()) } {
        EXPR_INT => {
            let v = ctx.make(budget, || unsafe { isl_ast_expr_get_val(expr.keep()) })?;
            return Ok(Expr::Int(int(&v)?));
        }
        EXPR_ID => {
            let id = ctx.run(budget, || unsafe { isl_ast_expr_get_id(expr.keep()) })?;
            return match ctx.read_name(id)? {
                ('p', i) => Ok(Expr::Param(i)),
                ('i', i) => Ok(Expr::Iter(i)),
                _ => Err(Error::Isl(
                    "an expression names something that is neither parameter nor counter".into(),
                )),
            };
        }
        EXPR_OP => {}
        _ => return Err(Error::Isl("an expression of an unknown kind".into())),
    }
    let op = op_name(expr);
    let read = |e: &Obj<isl_ast_expr>| read(e, budget, depth + 1);
    let all = args(expr, budget)?.iter().map(read).collect::<Result<Vec<_>>>()?;
    build(op, all).ok_or_else(|| Error::Isl(format!("the operation {op} is not expected here")))
}

fn build(op: &str, all: Vec<Expr>) -> Option<Expr> {
    use Comparison::*;
    match op {
        "min" => return (!all.is_empty()).then_some(Expr::Min(all)),
        "max" => return (!all.is_empty()).then_some(Expr::Max(all)),
        _ => {}
    }
    let mut all = all.into_iter().map(Box::new);
    let (first, second, third) = (all.next()?, all.next(), all.next());
    Some(match (op, second, third) {
        ("minus", None, None) => Expr::Neg(first),
        ("add", Some(b), None) => Expr::Add(first, b),
        ("sub", Some(b), None) => Expr::Sub(first, b),
        ("mul", Some(b), None) => Expr::Mul(first, b),
        ("and" | "and_then", Some(b), None) => Expr::And(first, b),
        ("or" | "or_else", Some(b), None) => Expr::Or(first, b),
        ("eq", Some(b), None) => Expr::Compare(Eq, first, b),
        ("le", Some(b), None) => Expr::Compare(Le, first, b),
        ("lt", Some(b), None) => Expr::Compare(Lt, first, b),
        ("ge", Some(b), None) => Expr::Compare(Ge, first, b),
        ("gt", Some(b), None) => Expr::Compare(Gt, first, b),
        ("cond" | "select", Some(a), Some(b)) => Expr::Select(first, a, b),
        (_, Some(b), None) => {
            let n = match *b {
                Expr::Int(n) if n > 0 => n,
                _ => return None,
            };
            match op {
                "div" => Expr::Div(first, n, Rounding::Exact),
                "fdiv_q" => Expr::Div(first, n, Rounding::Floor),
                "pdiv_q" => Expr::Div(first, n, Rounding::NonNegative),
                "pdiv_r" => Expr::Mod(first, n, Remainder::NonNegative),
                "zdiv_r" => Expr::Mod(first, n, Remainder::ZeroTest),
                _ => return None,
            }
        }
        _ => return None,
    })
}
