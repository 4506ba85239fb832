//! Expressions the host evaluates before the launch, in `long long`.
//!
//! Values keep the types they have in the program; the first operand of every sum or product that could leave them is
//! converted, the others follow.

use std::cell::Cell;

use analysis::{Expr, Param, Pred};
use term::strength::{self, ADD, AND, ATOM, COMPARE, MUL, NONE, OR, SELECT, SHIFT, UNARY};
use term::{IntKind, Op, SymbolId, TermId, TypeKind};

use super::expr::Exprs;
use crate::plan::{constant, is_written_out, BufferPlan, HostValue, Plan};

/// Which helper functions the text calls.
#[derive(Default)]
pub(crate) struct Helpers {
    pub(crate) min: Cell<bool>,
    pub(crate) max: Cell<bool>,
    pub(crate) floor_div: Cell<bool>,
    pub(crate) apart: Cell<bool>,
}

/// A value as it is called where the expression stands.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) kind: IntKind,
}

/// Where an expression stands: what values are called there, and whether helper functions can be called.
pub(crate) struct Scope<'s> {
    /// What the names of helper functions begin with.
    pub(crate) helper: &'s str,
    pub(crate) values: &'s dyn Fn(&Param) -> Option<Named>,
    /// `None`: everything is written out.
    pub(crate) helpers: Option<&'s Helpers>,
}

/// An integer that has the width it needs.
pub(crate) fn number(v: i128) -> String {
    if v.unsigned_abs() > i32::MAX as u128 {
        format!("{v}LL")
    } else {
        v.to_string()
    }
}

/// How an operand's type comes to be wide enough.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    /// What is around it converts it.
    Any,
    /// It is computed with: it must be 64 bits wide.
    Wide,
}

impl Scope<'_> {
    /// An expression as C. It may have the type of a value; whoever takes it converts it.
    pub(crate) fn expr(&self, e: &Expr) -> String {
        self.at(e, NONE, Width::Any)
    }

    /// Likewise as an operand of a cast.
    pub(crate) fn operand(&self, e: &Expr) -> String {
        self.at(e, UNARY, Width::Any)
    }

    fn at(&self, e: &Expr, min: u8, width: Width) -> String {
        let (text, own) = self.print(e, width);
        strength::enclosed(text, own, min)
    }

    fn print(&self, e: &Expr, width: Width) -> (String, u8) {
        if let Some(c) = constant(e) {
            let text = match width {
                Width::Wide if c.unsigned_abs() <= i32::MAX as u128 => format!("{c}LL"),
                _ => number(c),
            };
            return (text, if c < 0 { ADD } else { ATOM });
        }
        match e {
            Expr::Int(v) => (number(*v), ATOM),
            Expr::Param(p) => self.value(p, width),
            Expr::Add(items) => self.sum(items, width),
            Expr::Mul(1, a) => self.print(a, width),
            Expr::Mul(-1, a) => (format!("-{}", self.at(a, ATOM, Width::Wide)), ADD),
            Expr::Mul(k, a) => {
                let text = format!("{} * {}", number(*k), self.at(a, MUL + 1, Width::Wide));
                (text, if *k < 0 { ADD } else { MUL })
            }
            Expr::Product(a, b) => {
                let text = format!("{} * {}", self.at(a, MUL, Width::Wide), self.at(b, MUL + 1, Width::Wide));
                (text, MUL)
            }
            Expr::FloorDiv(a, 1) => self.print(a, width),
            Expr::FloorDiv(a, d) => match self.helpers {
                Some(h) => {
                    h.floor_div.set(true);
                    (format!("{}_floor_div({}, {})", self.helper, self.expr(a), number(*d)), ATOM)
                }
                None => {
                    let (up, down) = (self.at(a, MUL, Width::Wide), self.at(a, ATOM, Width::Wide));
                    let test = self.at(a, COMPARE + 1, Width::Wide);
                    let (d, rest) = (number(*d), number(*d - 1));
                    (format!("{test} >= 0 ? {up} / {d} : -((-{down} + {rest}) / {d})"), SELECT)
                }
            },
            Expr::Min(items) | Expr::Max(items) => self.nested(items, matches!(e, Expr::Min(_)), width),
            Expr::Select(c, a, b) => {
                let c = self.pred(c, SELECT + 1);
                let (a, b) = (self.at(a, SELECT + 1, Width::Wide), self.at(b, SELECT + 1, Width::Wide));
                (format!("{c} ? {a} : {b}"), SELECT)
            }
        }
    }

    fn value(&self, p: &Param, width: Width) -> (String, u8) {
        let Some(Named { name, kind }) = (self.values)(p) else {
            return (format!("{}_unsupported", self.helper), ATOM);
        };
        let is_as_wide = kind == IntKind::LongLong;
        // what has no sign would take that of others away
        let follows = width == Width::Any && kind.promoted().signed();
        match is_as_wide || follows {
            true => (name, ATOM),
            false => (format!("(long long){name}"), UNARY),
        }
    }

    /// Positive parts first, the constant last.
    fn sum(&self, items: &[Expr], width: Width) -> (String, u8) {
        let mut number_part = 0i128;
        let mut all: Vec<(bool, Expr)> = Vec::new();
        let mut stack: Vec<&Expr> = items.iter().rev().collect();
        while let Some(e) = stack.pop() {
            match (constant(e), e) {
                (Some(c), _) => number_part += c,
                (_, Expr::Add(inner)) => stack.extend(inner.iter().rev()),
                (_, Expr::Mul(k, a)) if *k < 0 => all.push((true, Expr::Mul(-k, a.clone()))),
                _ => all.push((false, e.clone())),
            }
        }
        all.sort_by_key(|p| p.0);
        let leads = number_part > 0 && all.first().is_none_or(|p| p.0);
        // a lone value is as it is
        if let ([(false, alone)], 0) = (all.as_slice(), number_part) {
            return self.print(alone, width);
        }
        let mut parts: Vec<(bool, String)> = Vec::new();
        for (k, (negative, e)) in all.iter().enumerate() {
            let width = if k > 0 || leads { Width::Any } else { Width::Wide };
            parts.push((*negative, self.at(e, MUL, width)));
        }
        if leads {
            let first = if parts.is_empty() { number(number_part) } else { format!("{number_part}LL") };
            parts.insert(0, (false, first));
        } else if number_part != 0 || parts.is_empty() {
            parts.push((number_part < 0, number(number_part.abs())));
        }
        print::sum(&parts)
    }

    fn nested(&self, items: &[Expr], least: bool, width: Width) -> (String, u8) {
        let Some((last, before)) = items.split_last() else { return ("0".to_string(), ATOM) };
        if before.is_empty() {
            return self.print(last, width);
        }
        match self.helpers {
            Some(h) => {
                let (f, used) = if least { ("min", &h.min) } else { ("max", &h.max) };
                used.set(true);
                let mut text = self.expr(last);
                for e in before.iter().rev() {
                    text = format!("{}_{f}({}, {text})", self.helper, self.expr(e));
                }
                (text, ATOM)
            }
            None => {
                let mut text = self.at(last, ATOM, Width::Wide);
                for e in before.iter().rev() {
                    let e = self.at(e, ATOM, Width::Wide);
                    let sign = if least { '<' } else { '>' };
                    text = format!("({e} {sign} {text} ? {e} : {text})");
                }
                (text, ATOM)
            }
        }
    }

    /// A condition as C.
    pub(crate) fn pred(&self, p: &Pred, min: u8) -> String {
        let (text, own) = match p {
            Pred::True => ("1".to_string(), ATOM),
            Pred::False => ("0".to_string(), ATOM),
            Pred::NonNegative(e) => self.compare(e, ">="),
            Pred::Zero(e) => self.compare(e, "=="),
            Pred::And(items) | Pred::Or(items) => {
                let (sign, strength, none) = match p {
                    Pred::And(_) => (" && ", AND, "1"),
                    _ => (" || ", OR, "0"),
                };
                let parts: Vec<String> = items
                    .iter()
                    .map(|i| self.pred(i, if items.len() > 1 { AND + 1 } else { NONE }))
                    .collect();
                match parts.len() {
                    0 => (none.to_string(), ATOM),
                    1 => (parts[0].clone(), OR),
                    _ => (parts.join(sign), strength),
                }
            }
            Pred::Not(a) => (format!("!{}", self.pred(a, ATOM)), UNARY),
        };
        strength::enclosed(text, own, min)
    }

    /// `a >= b` instead of `a - b >= 0`, where the sum has both kinds of parts, and `a > b` instead of `a >= b + 1`.
    fn compare(&self, e: &Expr, sign: &str) -> (String, u8) {
        if let Expr::Add(items) = e {
            let negative =
                |i: &Expr| matches!(i, Expr::Mul(k, _) if *k < 0) || constant(i).is_some_and(|c| c < 0);
            let (right, left): (Vec<&Expr>, Vec<&Expr>) = items.iter().partition(|i| negative(i));
            let mut right: Vec<Expr> = right
                .into_iter()
                .map(|i| match i {
                    Expr::Mul(k, a) => Expr::Mul(-k, a.clone()),
                    other => Expr::Int(-constant(other).unwrap_or(0)),
                })
                .collect();
            let left: Vec<Expr> = left.into_iter().cloned().collect();
            let is_one = |e: &Expr| matches!(e, Expr::Int(1));
            let strictly = sign == ">=" && right.iter().any(is_one);
            if strictly {
                right.retain(|e| !is_one(e));
            }
            if !left.is_empty() && (strictly || !right.is_empty()) {
                let (mut l, mut r) = (Expr::Add(left), Expr::Add(right));
                let mut sign = if strictly { ">" } else { sign };
                // a constant stands on the right
                if constant(&l).is_some() {
                    std::mem::swap(&mut l, &mut r);
                    sign = match sign {
                        ">" => "<",
                        ">=" => "<=",
                        other => other,
                    };
                }
                return (
                    format!("{} {sign} {}", self.at(&l, SHIFT, Width::Any), self.at(&r, SHIFT, Width::Any)),
                    COMPARE,
                );
            }
        }
        (format!("{} {sign} 0", self.at(e, SHIFT, Width::Any)), COMPARE)
    }

    /// That the expression is positive.
    pub(crate) fn positive(&self, e: &Expr, min: u8) -> String {
        match e {
            Expr::Max(items) if !items.is_empty() => {
                let all = items.iter().map(|i| self.positive(i, AND + 1)).collect::<Vec<_>>();
                strength::enclosed(all.join(" || "), if all.len() == 1 { COMPARE } else { OR }, min)
            }
            Expr::Min(items) if !items.is_empty() => {
                let all = items.iter().map(|i| self.positive(i, AND + 1)).collect::<Vec<_>>();
                strength::enclosed(all.join(" && "), if all.len() == 1 { COMPARE } else { AND }, min)
            }
            // the quotient is at least 1 where as much is divided as divides
            Expr::FloorDiv(a, d) if *d > 0 => self.pred(&Pred::NonNegative(less(a, *d)), min),
            _ => self.pred(&Pred::NonNegative(less(e, 1)), min),
        }
    }
}

/// An expression less a constant, as one sum.
fn less(e: &Expr, by: i128) -> Expr {
    let mut items = match e {
        Expr::Add(items) => items.clone(),
        e => vec![e.clone()],
    };
    let mut rest = -by;
    items.retain(|i| match constant(i) {
        Some(c) => {
            rest += c;
            false
        }
        None => true,
    });
    if rest != 0 {
        items.push(Expr::Int(rest));
    }
    Expr::Add(items)
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

/// The element type of a buffer in C; structs have no name that both files know.
pub(crate) fn element_name(host: &Exprs<'_>, b: &BufferPlan) -> String {
    match host.plan.body.types.kind(b.element) {
        TypeKind::Record(_) => "void".to_string(),
        _ => host.type_name(b.element),
    }
}

/// That a value keeps its limit, where it has one.
pub(crate) fn within(v: &HostValue, name: &str) -> Option<String> {
    let limit = v.limit?;
    Some(match v.kind.signed() {
        true => format!("{name} >= -{0} && {name} <= {0}", number(limit)),
        false => format!("{name} <= {limit}u"),
    })
}

/// The type of a value of the plan.
pub(crate) fn kind_of(plan: &Plan<'_>, p: &Param) -> Option<IntKind> {
    plan.values.iter().find(|v| v.param == *p).map(|v| v.kind)
}
