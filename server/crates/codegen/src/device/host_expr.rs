//! Expressions the host evaluates before the launch, in `long long`, as terms.
//!
//! Values keep the types they have in the program; the first operand of every sum or product that could leave them is
//! converted, the others follow.

use std::cell::Cell;

use analysis::{Expr, Param, Pred};
use term::strength::UNARY;
use term::{BinOp, IntKind, Op, SymbolId, TermId, TypeKind};

use super::expr::{Dialect, Exprs};
use super::host_term::{Term, LONG_LONG};
use crate::plan::{constant, is_written_out, BufferPlan, HostValue, Plan};

/// Which helper functions the text calls.
#[derive(Default)]
pub(crate) struct Helpers {
    pub(crate) min: Cell<bool>,
    pub(crate) max: Cell<bool>,
    pub(crate) floor_div: Cell<bool>,
    pub(crate) quotient: Cell<bool>,
    pub(crate) apart: Cell<bool>,
    pub(crate) rounds: Cell<bool>,
    /// What brings elements of an array to the device, and what only makes room for those that are written there.
    pub(crate) reach: Cell<bool>,
    pub(crate) reach_to_write: Cell<bool>,
}

/// A value as it is called where the expression stands.
pub(crate) struct Named {
    pub(crate) term: Term,
    pub(crate) kind: IntKind,
}

/// Where an expression stands: what values are called there, and whether helper functions can be called.
pub(crate) struct Scope<'s> {
    /// What the names of helper functions begin with.
    pub(crate) helper: &'s str,
    pub(crate) values: &'s dyn Fn(&Param) -> Option<Named>,
    /// `None`: everything is written out.
    pub(crate) helpers: Option<&'s Helpers>,
    /// Whether a number is a condition, as in C.
    pub(crate) truths: bool,
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
    /// An expression. It may have the type of a value; whoever takes it converts it.
    pub(crate) fn expr(&self, e: &Expr) -> Term {
        self.at(e, Width::Any)
    }

    fn at(&self, e: &Expr, width: Width) -> Term {
        if let Some(c) = constant(e) {
            return if width == Width::Wide { Term::Wide(c) } else { Term::Int(c) };
        }
        match e {
            Expr::Int(v) => Term::Int(*v),
            Expr::Param(p) => self.value(p, width),
            Expr::Add(items) => self.sum(items, width),
            Expr::Mul(1, a) => self.at(a, width),
            Expr::Mul(-1, a) => self.at(a, Width::Wide).negative(),
            Expr::Mul(k, a) => Term::binary(BinOp::Mul, Term::Int(*k), self.at(a, Width::Wide)),
            Expr::Product(a, b) => Term::binary(BinOp::Mul, self.at(a, Width::Wide), self.at(b, Width::Wide)),
            Expr::FloorDiv(a, 1) => self.at(a, width),
            Expr::FloorDiv(a, d) => match self.helpers {
                Some(h) => {
                    h.floor_div.set(true);
                    Term::call(&format!("{}_floor_div", self.helper), vec![self.expr(a), Term::Int(*d)])
                }
                None => {
                    let over = |of: Term| Term::binary(BinOp::Div, of, Term::Int(*d));
                    let a = self.at(a, Width::Wide);
                    let rest = Term::binary(BinOp::Add, a.clone().negative(), Term::Int(*d - 1));
                    let test = Term::binary(BinOp::Ge, a.clone(), Term::Int(0));
                    Term::head("Select", vec![test, over(a), over(rest).negative()])
                }
            },
            Expr::Quotient(a, d) => match self.helpers {
                Some(h) => {
                    h.quotient.set(true);
                    Term::call(&format!("{}_quotient", self.helper), vec![self.expr(a), self.expr(d)])
                }
                None => {
                    let (a, d) = (self.at(a, Width::Wide), self.at(d, Width::Wide));
                    let below =
                        Term::binary(BinOp::Lt, Term::binary(BinOp::Rem, a.clone(), d.clone()), Term::Int(0));
                    let down = Term::binary(BinOp::Sub, Term::binary(BinOp::Div, a, d.clone()), below);
                    let is_positive = Term::binary(BinOp::Gt, d, Term::Int(0));
                    Term::head("Select", vec![is_positive, down, Term::Int(0)])
                }
            },
            Expr::Min(items) | Expr::Max(items) => self.nested(items, matches!(e, Expr::Min(_)), width),
            Expr::Select(c, a, b) => {
                let (a, b) = (self.at(a, Width::Wide), self.at(b, Width::Wide));
                Term::head("Select", vec![self.pred(c), a, b])
            }
        }
    }

    fn value(&self, p: &Param, width: Width) -> Term {
        let Some(Named { term, kind }) = (self.values)(p) else {
            return Term::name(&format!("{}_unsupported", self.helper));
        };
        let is_as_wide = kind == IntKind::LongLong;
        // what has no sign would take that of others away
        let follows = width == Width::Any && kind.promoted().signed();
        match is_as_wide || follows {
            true => term,
            false => Term::cast(LONG_LONG, term),
        }
    }

    /// Positive parts first, the constant last.
    fn sum(&self, items: &[Expr], width: Width) -> Term {
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
            return self.at(alone, width);
        }
        let mut parts: Vec<(bool, Term)> = Vec::new();
        for (k, (negative, e)) in all.iter().enumerate() {
            let width = if k > 0 || leads { Width::Any } else { Width::Wide };
            parts.push((*negative, self.at(e, width)));
        }
        if leads {
            let first = if parts.is_empty() { Term::Int(number_part) } else { Term::Wide(number_part) };
            parts.insert(0, (false, first));
        } else if number_part != 0 || parts.is_empty() {
            parts.push((number_part < 0, Term::Int(number_part.abs())));
        }
        let mut sum: Option<Term> = None;
        for (negative, part) in parts {
            sum = Some(match (sum, negative) {
                (None, true) => part.negative(),
                (None, false) => part,
                (Some(left), true) => Term::binary(BinOp::Sub, left, part),
                (Some(left), false) => Term::binary(BinOp::Add, left, part),
            });
        }
        sum.unwrap_or(Term::Int(0))
    }

    fn nested(&self, items: &[Expr], least: bool, width: Width) -> Term {
        let Some((last, before)) = items.split_last() else { return Term::Int(0) };
        if before.is_empty() {
            return self.at(last, width);
        }
        match self.helpers {
            Some(h) => {
                let (f, used) = if least { ("min", &h.min) } else { ("max", &h.max) };
                used.set(true);
                let name = format!("{}_{f}", self.helper);
                before
                    .iter()
                    .rev()
                    .fold(self.expr(last), |term, e| Term::call(&name, vec![self.expr(e), term]))
            }
            None => before.iter().rev().fold(self.at(last, Width::Wide), |term, e| {
                let e = self.at(e, Width::Wide);
                let test = Term::binary(if least { BinOp::Lt } else { BinOp::Gt }, e.clone(), term.clone());
                Term::head("Select", vec![test, e, term])
            }),
        }
    }

    /// A condition.
    pub(crate) fn pred(&self, p: &Pred) -> Term {
        match p {
            Pred::True => Term::Int(1),
            Pred::False => Term::Int(0),
            Pred::NonNegative(e) => self.compare(e, BinOp::Ge),
            Pred::Zero(Expr::Param(p)) if self.truths => self.value(p, Width::Any).not(),
            Pred::Zero(e) => self.compare(e, BinOp::Eq),
            Pred::And(items) => Term::all(BinOp::And, items.iter().map(|i| self.pred(i))),
            Pred::Or(items) => Term::all(BinOp::Or, items.iter().map(|i| self.pred(i))),
            Pred::Not(a) => match &**a {
                Pred::Zero(Expr::Param(p)) if self.truths => self.value(p, Width::Any),
                a => self.pred(a).not(),
            },
        }
    }

    /// `a >= b` instead of `a - b >= 0`, where the sum has both kinds of parts, and `a > b` instead of `a >= b + 1`.
    fn compare(&self, e: &Expr, sign: BinOp) -> Term {
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
            let strictly = sign == BinOp::Ge && right.iter().any(is_one);
            if strictly {
                right.retain(|e| !is_one(e));
            }
            if !left.is_empty() && (strictly || !right.is_empty()) {
                let (mut l, mut r) = (Expr::Add(left), Expr::Add(right));
                let mut sign = if strictly { BinOp::Gt } else { sign };
                // a constant stands on the right
                if constant(&l).is_some() {
                    std::mem::swap(&mut l, &mut r);
                    sign = match sign {
                        BinOp::Gt => BinOp::Lt,
                        BinOp::Ge => BinOp::Le,
                        other => other,
                    };
                }
                return Term::binary(sign, self.at(&l, Width::Any), self.at(&r, Width::Any));
            }
        }
        Term::binary(sign, self.at(e, Width::Any), Term::Int(0))
    }

    /// That the expression is positive.
    pub(crate) fn positive(&self, e: &Expr) -> Term {
        match e {
            Expr::Max(items) if !items.is_empty() => {
                Term::all(BinOp::Or, items.iter().map(|i| self.positive(i)))
            }
            Expr::Min(items) if !items.is_empty() => {
                Term::all(BinOp::And, items.iter().map(|i| self.positive(i)))
            }
            // the quotient is at least 1 where as much is divided as divides
            Expr::FloorDiv(a, d) if *d > 0 => self.pred(&Pred::NonNegative(less(a, *d))),
            // the test that the divisor is positive is another
            Expr::Quotient(a, d) => {
                let mut items = match &**a {
                    Expr::Add(items) => items.clone(),
                    a => vec![a.clone()],
                };
                match items.iter().position(|i| *i == **d) {
                    Some(k) => drop(items.remove(k)),
                    None => items.push(Expr::Mul(-1, d.clone())),
                }
                self.pred(&Pred::NonNegative(less(&Expr::Add(items), 0)))
            }
            _ => self.pred(&Pred::NonNegative(less(e, 1))),
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

/// A parameter's value as the user's file computes it: of a condition 1 or 0.
pub(crate) fn parameter_text(host: &Exprs<'_>, t: TermId) -> String {
    let text = term_text(host, t);
    match host.plan.body.types.as_int(host.plan.body.ty(t)) {
        // in C# a truth value is no number
        Some(IntKind::Bool) if host.dialect == Dialect::CSharp => format!("({text} ? 1 : 0)"),
        Some(IntKind::Bool) if host.dialect == Dialect::Steps && host.plan.body.as_symbol(t).is_none() => {
            format!("({text} ? 1 : 0)")
        }
        Some(_) => text,
        None => format!("({text} != 0)"),
    }
}

/// A term of the user's as an operand: his own text where it stands there, else printed.
pub(crate) fn term_text(host: &Exprs<'_>, t: TermId) -> String {
    let plan = host.plan;
    if matches!(host.dialect, Dialect::Device | Dialect::Steps) {
        return host.at(t, UNARY);
    }
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
        None => host.name(s),
    }
}

/// A pointer when the first iteration begins, as an operand.
pub(crate) fn pointer_text(host: &Exprs<'_>, s: SymbolId) -> String {
    match host.plan.first_values.get(&s) {
        Some(&t) => term_text(host, t),
        None => host.seen(s, host.plan.body.symbols[s].name.to_string()),
    }
}

/// `(long long)(end - p)`
pub(crate) fn distance_text(host: &Exprs<'_>, from: TermId, to: TermId) -> String {
    format!("(long long)({} - {})", place_text(host, to), place_text(host, from))
}

/// An address when the first iteration begins, as an operand.
pub(crate) fn place_text(host: &Exprs<'_>, t: TermId) -> String {
    match host.plan.body.as_symbol(t) {
        Some(s) => pointer_text(host, s),
        None => term_text(host, t),
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
pub(crate) fn within(v: &HostValue, value: &Term) -> Option<Term> {
    let limit = v.limit?;
    let most = Term::binary(BinOp::Le, value.clone(), Term::Int(limit));
    Some(match v.kind.signed() {
        true => {
            let least = Term::binary(BinOp::Ge, value.clone(), Term::Int(-limit));
            Term::binary(BinOp::And, least, most)
        }
        false => most,
    })
}

/// The type of a value of the plan.
pub(crate) fn kind_of(plan: &Plan<'_>, p: &Param) -> Option<IntKind> {
    plan.values.iter().find(|v| v.param == *p).map(|v| v.kind)
}
