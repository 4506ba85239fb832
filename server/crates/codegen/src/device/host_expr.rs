//! Expressions the host evaluates before the launch, in `long long`.

use analysis::{Expr, Param, Pred};
use term::strength::{self, ADD, AND, ATOM, COMPARE, MUL, NONE, OR, SELECT, SHIFT, UNARY};
use term::{Op, SymbolId, TermId, TypeKind};

use super::expr::Exprs;
use crate::plan::{constant, is_written_out, BufferPlan, Plan};

/// Which helper functions the text calls.
#[derive(Default)]
pub(crate) struct Helpers {
    pub(crate) min: bool,
    pub(crate) max: bool,
    pub(crate) floor_div: bool,
    pub(crate) apart: bool,
}

/// An expression as C.
pub(crate) fn expr(plan: &Plan<'_>, e: &Expr, helpers: &mut Helpers) -> String {
    at(plan, e, NONE, helpers)
}

fn at(plan: &Plan<'_>, e: &Expr, min: u8, helpers: &mut Helpers) -> String {
    let (text, own) = print(plan, e, helpers);
    strength::enclosed(text, own, min)
}

/// An integer that has the width it needs.
pub(crate) fn number(v: i128) -> String {
    if v.unsigned_abs() > i32::MAX as u128 {
        format!("{v}LL")
    } else {
        v.to_string()
    }
}

fn print(plan: &Plan<'_>, e: &Expr, h: &mut Helpers) -> (String, u8) {
    if let Some(c) = constant(e) {
        return (number(c), if c < 0 { ADD } else { ATOM });
    }
    match e {
        Expr::Int(v) => (number(*v), ATOM),
        Expr::Param(p) => (value_name(plan, p), ATOM),
        Expr::Add(items) => sum(plan, items, h),
        Expr::Mul(1, a) => print(plan, a, h),
        Expr::Mul(-1, a) => (format!("-{}", at(plan, a, ATOM, h)), ADD),
        Expr::Mul(k, a) => {
            (format!("{} * {}", number(*k), at(plan, a, MUL + 1, h)), if *k < 0 { ADD } else { MUL })
        }
        Expr::Product(a, b) => (format!("{} * {}", at(plan, a, MUL, h), at(plan, b, MUL + 1, h)), MUL),
        Expr::FloorDiv(a, 1) => print(plan, a, h),
        Expr::FloorDiv(a, d) => {
            h.floor_div = true;
            (format!("{}floor_div({}, {})", plan.prefix, at(plan, a, 0, h), number(*d)), ATOM)
        }
        Expr::Min(items) => {
            h.min = true;
            nested(plan, "min", items, h)
        }
        Expr::Max(items) => {
            h.max = true;
            nested(plan, "max", items, h)
        }
        Expr::Select(c, a, b) => {
            let c = pred(plan, c, SELECT + 1, h);
            (format!("{c} ? {} : {}", at(plan, a, SELECT + 1, h), at(plan, b, SELECT + 1, h)), SELECT)
        }
    }
}

/// Positive parts first, the constant last.
fn sum(plan: &Plan<'_>, items: &[Expr], h: &mut Helpers) -> (String, u8) {
    let mut number_part = 0i128;
    let mut parts: Vec<(bool, String)> = Vec::new();
    let mut stack: Vec<&Expr> = items.iter().rev().collect();
    while let Some(e) = stack.pop() {
        match (constant(e), e) {
            (Some(c), _) => number_part += c,
            (_, Expr::Add(inner)) => stack.extend(inner.iter().rev()),
            (_, Expr::Mul(k, a)) if *k < 0 => {
                let positive = Expr::Mul(-k, a.clone());
                parts.push((true, at(plan, &positive, MUL, h)));
            }
            _ => parts.push((false, at(plan, e, MUL, h))),
        }
    }
    parts.sort_by_key(|p| p.0);
    if number_part != 0 || parts.is_empty() {
        let first = parts.first().is_none_or(|p| p.0);
        if number_part > 0 && first {
            parts.insert(0, (false, number(number_part)));
        } else {
            parts.push((number_part < 0, number(number_part.abs())));
        }
    }
    print::sum(&parts)
}

fn nested(plan: &Plan<'_>, f: &str, items: &[Expr], h: &mut Helpers) -> (String, u8) {
    let mut texts = items.iter().rev().map(|i| at(plan, i, 0, h)).collect::<Vec<_>>().into_iter();
    let Some(mut text) = texts.next() else { return ("0".to_string(), ATOM) };
    for t in texts {
        text = format!("{}{f}({t}, {text})", plan.prefix);
    }
    (text, ATOM)
}

/// A condition as C.
pub(crate) fn pred(plan: &Plan<'_>, p: &Pred, min: u8, h: &mut Helpers) -> String {
    let (text, own) = match p {
        Pred::True => ("1".to_string(), ATOM),
        Pred::False => ("0".to_string(), ATOM),
        Pred::NonNegative(e) => compare(plan, e, ">=", h),
        Pred::Zero(e) => compare(plan, e, "==", h),
        Pred::And(items) | Pred::Or(items) => {
            let (sign, strength, none) = match p {
                Pred::And(_) => (" && ", AND, "1"),
                _ => (" || ", OR, "0"),
            };
            let parts: Vec<String> = items
                .iter()
                .map(|i| pred(plan, i, if items.len() > 1 { AND + 1 } else { NONE }, h))
                .collect();
            match parts.len() {
                0 => (none.to_string(), ATOM),
                1 => (parts[0].clone(), OR),
                _ => (parts.join(sign), strength),
            }
        }
        Pred::Not(a) => (format!("!{}", pred(plan, a, ATOM, h)), UNARY),
    };
    strength::enclosed(text, own, min)
}

/// `a >= b` instead of `a - b >= 0`, where the sum has both kinds of parts.
fn compare(plan: &Plan<'_>, e: &Expr, sign: &str, h: &mut Helpers) -> (String, u8) {
    if let Expr::Add(items) = e {
        let negative =
            |i: &Expr| matches!(i, Expr::Mul(k, _) if *k < 0) || constant(i).is_some_and(|c| c < 0);
        let left: Vec<Expr> = items.iter().filter(|i| !negative(i)).cloned().collect();
        let right: Vec<Expr> = items
            .iter()
            .filter(|i| negative(i))
            .map(|i| match i {
                Expr::Mul(k, a) => Expr::Mul(-k, a.clone()),
                other => Expr::Int(-constant(other).unwrap_or(0)),
            })
            .collect();
        if !left.is_empty() && !right.is_empty() {
            let (l, r) = (at(plan, &Expr::Add(left), SHIFT, h), at(plan, &Expr::Add(right), SHIFT, h));
            return (format!("{l} {sign} {r}"), COMPARE);
        }
    }
    (format!("{} {sign} 0", at(plan, e, SHIFT, h)), COMPARE)
}

fn value_name(plan: &Plan<'_>, p: &Param) -> String {
    plan.values
        .iter()
        .find(|v| v.param == *p)
        .map_or_else(|| format!("{}unsupported", plan.prefix), |v| v.name.clone())
}

/// A term of the user's as an operand: his own text where it stands there, else printed.
pub(crate) fn term_text(host: &Exprs<'_>, t: TermId) -> String {
    let plan = host.plan;
    let slice = plan.site.text.get(plan.body.span(t).range()).map(str::trim).unwrap_or("");
    let simple = !slice.is_empty()
        && !slice.contains(['\n', '\r', '#', '"'])
        && !slice.contains("/*")
        && !slice.contains("//");
    if simple && is_written_out(plan.body, t) {
        let atom = matches!(plan.body.op(t), Op::Sym(_) | Op::Int(_) | Op::Member { .. } | Op::Index);
        return if atom { slice.to_string() } else { format!("({slice})") };
    }
    host.at(t, UNARY)
}

/// A variable's value when the first iteration begins, as an operand.
pub(crate) fn symbol_text(host: &Exprs<'_>, s: SymbolId) -> String {
    let body = host.plan.body;
    match host.plan.first_values.get(&s) {
        Some(&t) => format!("({}){}", host.type_name(body.symbols[s].ty), term_text(host, t)),
        None => body.symbols[s].name.to_string(),
    }
}

/// Words about a term that may stand in a comment.
pub(crate) fn quoted(host: &Exprs<'_>, t: TermId) -> String {
    let text = host.top(t);
    text.replace("*/", "* /").replace("/*", "/ *")
}

/// The element type of a device pointer on the host; structs have no name that both files know.
pub(crate) fn element_name(host: &Exprs<'_>, b: &BufferPlan) -> String {
    match host.plan.body.types.kind(b.element) {
        TypeKind::Record(_) => "void".to_string(),
        _ => host.type_name(b.element),
    }
}
