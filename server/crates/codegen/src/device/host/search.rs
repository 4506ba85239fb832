//! Functions that find the first and the last element of an array that a loop touches, by going through its iterations without
//! its memory: one addition to the host's work an iteration, where no expression says the ends.

use analysis::{Search, SearchStep, Step};
use term::{BinOp, IntKind, Op, Storage, SymbolId, TermId, UnOp};

use super::Host;
use crate::device::expr::{int_name, Dialect, Exprs};
use crate::device::host_expr::term_text;
use crate::device::host_term::{Term, LONG_LONG};
use crate::plan::{name_part, BufferPlan, Dim, Kernel, Plan};

/// The largest value of a `long long`.
const GREATEST: i128 = (1 << 63) - 1;

/// What the function is called.
fn name(plan: &Plan<'_>, b: &BufferPlan) -> String {
    format!("{}_end_of_{}", plan.name, name_part(&plan.body.symbols[b.symbol].name))
}

/// The variables that it is given: those of the steps, and those that the index is computed from.
fn inputs(plan: &Plan<'_>, d: &Dim, search: &Search) -> Vec<SymbolId> {
    let step = match &d.step {
        Step::Term { term, .. } if !d.step_on_host => Some(*term),
        _ => None,
    };
    let lower = (!d.lower_on_host).then_some(d.lower);
    let symbols = |t: TermId| plan.body.walk(t).filter_map(|x| plan.body.as_symbol(x)).collect::<Vec<_>>();
    let mut all = search.inputs.clone();
    let constant = |s: &SymbolId| matches!(plan.body.symbols[*s].storage, term::Storage::Constant(_));
    all.extend(lower.into_iter().chain(step).flat_map(symbols).filter(|s| !constant(s)));
    all.sort_unstable();
    all.dedup();
    all
}

/// The function of an array that has one: with `is_last`, the last element, else the first. Of none, and where one that is
/// touched perhaps lies outside, the last is before the first.
pub(super) fn function(plan: &Plan<'_>, kernel: &Kernel, b: &BufferPlan) -> Vec<Term> {
    let (Some(search), Some(d)) = (&b.search, kernel.dims.first()) else { return Vec::new() };
    let exprs = Exprs { plan, kernel, dialect: Dialect::Device };
    let p = &plan.prefix;
    let own = |n: &str| Term::Name(format!("{p}{n}"));
    let [first, last, low, high] = ["first", "last", "low", "high"].map(own);
    let mut parameters = vec![Term::declared(&format!("{p}is_last"), "int", None)];
    parameters.push(Term::declared(&d.trips_name, LONG_LONG, None));
    if d.lower_on_host {
        parameters.push(Term::declared(&d.lower_name, LONG_LONG, None));
    }
    if d.step_on_host {
        parameters.push(Term::declared(&d.step_name, LONG_LONG, None));
    }
    for s in inputs(plan, d, search) {
        parameters.push(Term::declared(&exprs.name(s), &exprs.type_name(plan.body.symbols[s].ty), None));
    }
    let variable = |n: &str, value: Term| Term::declared(&format!("{p}{n}"), LONG_LONG, Some(value));
    let least = || Term::binary(BinOp::Sub, Term::Wide(-GREATEST), Term::Int(1));
    let greatest = || Term::Wide(GREATEST);
    let mut body = vec![variable("first", greatest()), variable("last", least())];
    body.extend([variable("low", greatest()), variable("high", least())]);
    let ty = int_name(d.index_type, Dialect::Device);
    let index = Term::cast(ty, index(&exprs, d));
    let mut inner = vec![Term::declared(&exprs.name(d.index), ty, Some(index))];
    let mut declared: Vec<String> = Vec::new();
    for &s in &search.set {
        let name = exprs.name(s);
        if !declared.contains(&name) {
            inner.push(Term::declared(&name, &exprs.type_name(plan.body.symbols[s].ty), None));
            declared.push(name);
        }
    }
    inner.extend(steps(&exprs, p, &search.steps));
    let t = || Term::name(&d.counter_name);
    let init = Term::declared(&d.counter_name, LONG_LONG, Some(Term::Int(0)));
    let goes_on = Term::binary(BinOp::Lt, t(), Term::name(&d.trips_name));
    body.push(Term::head("For", vec![init, goes_on, Term::head("Increment", vec![t()]), Term::List(inner)]));
    let none = Term::binary(BinOp::Gt, first.clone(), last.clone());
    let before = Term::binary(BinOp::Lt, low, first.clone());
    let behind = Term::binary(BinOp::Gt, high, last.clone());
    let outside = Term::all(BinOp::Or, [none, before, behind].into_iter());
    let is_last = || own("is_last");
    let answer =
        |yes: Term, no: Term| Term::head("Return", vec![Term::head("Select", vec![is_last(), yes, no])]);
    body.push(Term::when(outside, vec![answer(Term::Int(-1), Term::Int(0))]));
    body.push(answer(last, first));
    let what = &plan.body.symbols[b.symbol].name;
    vec![
        Term::comment(&format!("The first or the last element of {what} that the loop touches.")),
        Term::function(&["static"], LONG_LONG, &name(plan, b), parameters, body),
    ]
}

/// The index in an iteration.
fn index(exprs: &Exprs<'_>, d: &Dim) -> Term {
    let ty = int_name(d.index_type, Dialect::Device);
    let lower = match d.lower_on_host {
        true => Term::name(&d.lower_name),
        false => Term::cast(LONG_LONG, Term::cast(ty, value(exprs, d.lower))),
    };
    let (step, negated) = match &d.step {
        Step::Const(s) => (Term::Int(*s), false),
        Step::Term { negated, .. } if d.step_on_host => (Term::name(&d.step_name), *negated),
        Step::Term { term, negated } => (Term::cast(LONG_LONG, value(exprs, *term)), *negated),
    };
    let moved = match step {
        Term::Int(1) => Term::name(&d.counter_name),
        step => Term::binary(BinOp::Mul, step, Term::name(&d.counter_name)),
    };
    let first = match d.shift {
        0 => lower,
        s => Term::binary(BinOp::Add, lower, Term::Int(s)),
    };
    Term::binary(if negated { BinOp::Sub } else { BinOp::Add }, first, moved)
}

/// An integer expression of the program, which computes as it does there.
fn value(exprs: &Exprs<'_>, t: TermId) -> Term {
    let body = exprs.plan.body;
    let unsupported = || Term::Name(format!("{}unsupported", exprs.plan.prefix));
    let kind = body.types.as_int(body.ty(t)).unwrap_or(IntKind::LongLong);
    let ty = int_name(kind, Dialect::Device);
    match (body.op(t), body.args(t)) {
        (Op::Int(v), _) if kind == IntKind::Int => Term::Int(*v),
        (Op::Int(v), _) => Term::cast(ty, Term::Int(*v)),
        (Op::Sym(s), _) => match body.symbols[*s].storage {
            Storage::Constant(v) => Term::cast(ty, Term::Int(v)),
            _ => Term::Name(exprs.name(*s)),
        },
        (Op::Unary(UnOp::Neg), &[a]) => value(exprs, a).negative(),
        (Op::Unary(UnOp::Plus), &[a]) => Term::cast(ty, value(exprs, a)),
        // the notation has no word for it
        (Op::Unary(UnOp::BitNot), &[a]) => {
            Term::binary(BinOp::BitXor, value(exprs, a), Term::cast(ty, Term::Int(-1)))
        }
        (Op::Unary(UnOp::Not), &[a]) => value(exprs, a).not(),
        (Op::Binary(op), &[a, b]) => Term::binary(*op, value(exprs, a), value(exprs, b)),
        (Op::Select, &[c, a, b]) => {
            Term::head("Select", vec![value(exprs, c), value(exprs, a), value(exprs, b)])
        }
        (Op::Cast, &[a]) => Term::cast(ty, value(exprs, a)),
        _ => unsupported(),
    }
}

fn steps(exprs: &Exprs<'_>, p: &str, all: &[SearchStep]) -> Vec<Term> {
    let body = exprs.plan.body;
    let value = |t: TermId| value(exprs, t);
    let mut out = Vec::new();
    for s in all {
        match s {
            SearchStep::Set { symbol, value: v } => {
                let ty = exprs.type_name(body.symbols[*symbol].ty);
                let value = Term::cast(&ty, value(*v));
                out.push(Term::Name(exprs.name(*symbol)).assign(value));
            }
            SearchStep::If { condition, holds, then } => {
                let condition = match holds {
                    true => value(*condition),
                    false => value(*condition).not(),
                };
                out.push(Term::when(condition, steps(exprs, p, then)));
            }
            SearchStep::Touch { subscript, sure } => {
                let at = || Term::cast(LONG_LONG, value(*subscript));
                let (low, high) = if *sure { ("first", "last") } else { ("low", "high") };
                for (name, op) in [(low, BinOp::Lt), (high, BinOp::Gt)] {
                    let end = || Term::Name(format!("{p}{name}"));
                    out.push(Term::when(Term::binary(op, at(), end()), vec![end().assign(at())]));
                }
            }
        }
    }
    out
}

impl Host<'_> {
    /// The calls that give first and last element.
    pub(super) fn search_calls(&mut self, b: &BufferPlan, search: &Search) -> (Term, Term) {
        let plan = self.plan;
        let Some(d) = self.kernel.dims.first() else { return (Term::Int(0), Term::Int(-1)) };
        let mut values = vec![Term::name(&d.trips_name)];
        if d.lower_on_host {
            let ty = int_name(d.index_type, Dialect::Host);
            let text = format!("({ty}){}", term_text(&self.c, d.lower));
            values.push(Term::Name(
                self.given.number(&format!("first_{}", plan.body.symbols[d.index].name), &text),
            ));
        }
        if let (Step::Term { term, .. }, true) = (&d.step, d.step_on_host) {
            let text = term_text(&self.c, *term);
            values.push(Term::Name(
                self.given.number(&format!("step_{}", plan.body.symbols[d.index].name), &text),
            ));
        }
        for s in inputs(plan, d, search) {
            values.push(self.given.variable(s));
        }
        let call = |is_last: i128| {
            let mut all = vec![Term::Int(is_last)];
            all.extend(values.iter().cloned());
            Term::call(&name(plan, b), all)
        };
        (call(0), call(1))
    }
}
