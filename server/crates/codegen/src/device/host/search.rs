//! Functions that find the first and the last element of an array that a loop touches, by going through its iterations: one addition
//! to the host's work an iteration, where no expression says the ends.
//!
//! Arrays whose elements decide are read as the loop reads them, once it is known that nothing of them is written: what they show must
//! be what the loop would see ([`BufferPlan::rank`]).

use analysis::{Expr, Search, SearchStep, Step};
use term::{BinOp, FloatKind, IntKind, Len, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::checks::test;
use super::Host;
use crate::device::expr::{float_name, int_name, Dialect, Exprs};
use crate::device::field_name;
use crate::device::host_expr::term_text;
use crate::device::host_term::{Term, LONG_LONG};
use crate::plan::{name_part, BufferPlan, Dim, EarlyApart, EndsPlan, Kernel, Plan};

/// What the function's own variables are called, behind the plan's beginning: what was found so far.
const FOUND: [&str; 4] = ["first", "last", "low", "high"];

/// The largest value of a `long long`.
const GREATEST: i128 = (1 << 63) - 1;

/// What the function is called.
fn name(plan: &Plan<'_>, array: SymbolId) -> String {
    format!("{}_ends_of_{}", plan.name, name_part(&plan.body.symbols[array].name))
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

/// The function of an array: it gives the first element, and leaves the last where it is told to. Of none, and where one that is touched
/// perhaps lies outside, the last is before the first.
pub(super) fn function(plan: &Plan<'_>, kernel: &Kernel, array: SymbolId, search: &Search) -> Vec<Term> {
    let Some(d) = kernel.dims.first() else { return Vec::new() };
    let exprs = Exprs { plan, kernel, dialect: Dialect::Device };
    let p = &plan.prefix;
    let own = |n: &str| Term::Name(format!("{p}{n}"));
    let [first, last, low, high] = FOUND.map(own);
    let end = || own("end");
    let mut parameters = vec![Term::declared(&format!("{p}end"), "long long*", None)];
    parameters.push(Term::declared(&d.trips_name, LONG_LONG, None));
    if d.lower_on_host {
        parameters.push(Term::declared(&d.lower_name, LONG_LONG, None));
    }
    if d.step_on_host {
        parameters.push(Term::declared(&d.step_name, LONG_LONG, None));
    }
    for s in inputs(plan, d, search) {
        parameters.push(Term::declared(
            &variable_name(&exprs, s),
            &exprs.type_name(plan.body.symbols[s].ty),
            None,
        ));
    }
    for r in read(plan, search) {
        let ty = format!("const {}*", exprs.type_name(r.element));
        parameters.push(Term::declared(&read_name(plan, r.symbol), &ty, None));
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
        let name = variable_name(&exprs, s);
        if !declared.contains(&name) {
            inner.push(Term::declared(&name, &number_type(&exprs, s), None));
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
    let answer =
        |last: Term, first: Term| vec![end().deref().assign(last), Term::head("Return", vec![first])];
    body.push(Term::when(outside, answer(Term::Int(-1), Term::Int(0))));
    body.extend(answer(last, first));
    let what = &plan.body.symbols[array].name;
    vec![
        Term::comment(&format!("The first and the last element of {what} that the loop touches.")),
        Term::function(&["static"], LONG_LONG, &name(plan, array), parameters, body),
    ]
}

/// What a variable, or a value that lies behind a pointer, is called in the function.
fn variable_name(exprs: &Exprs<'_>, s: SymbolId) -> String {
    let symbol = &exprs.plan.body.symbols[s];
    match symbol.storage {
        Storage::Path => read_name(exprs.plan, s),
        _ => exprs.name(s),
    }
}

/// The type of a variable that the function has of its own: pointers are counted from where their array begins.
fn number_type(exprs: &Exprs<'_>, s: SymbolId) -> String {
    let types = &exprs.plan.body.types;
    let ty = exprs.plan.body.symbols[s].ty;
    match types.kind(ty) {
        TypeKind::Pointer { .. } => LONG_LONG.to_owned(),
        _ => exprs.type_name(ty),
    }
}

/// The arrays that the search reads.
fn read<'p>(plan: &'p Plan<'_>, search: &'p Search) -> impl Iterator<Item = &'p BufferPlan> {
    search.reads.iter().filter_map(|s| plan.buffers.iter().find(|b| b.symbol == *s))
}

/// What such an array is called in the function.
fn read_name(plan: &Plan<'_>, s: SymbolId) -> String {
    let of = |s: SymbolId| name_part(&plan.body.symbols[s].name);
    let mut name = of(s);
    // the function's own variables have the other names that begin so
    let is_own = FOUND.contains(&&*name)
        || name == "end"
        || ["at_", "trips_", "lower", "step"].iter().any(|begin| name.starts_with(begin));
    if is_own {
        name.push_str("_read");
        while plan.buffers.iter().any(|b| of(b.symbol) == name) {
            name.push('_');
        }
    }
    format!("{}{name}", plan.prefix)
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
    if let Some(kind) = body.types.as_float(body.ty(t)) {
        return number(exprs, t, kind);
    }
    match (body.op(t), body.args(t)) {
        (Op::Int(v), _) if kind == IntKind::Int => Term::Int(*v),
        (Op::Int(v), _) => Term::cast(ty, Term::Int(*v)),
        (Op::Sym(s), _) => match body.symbols[*s].storage {
            Storage::Constant(v) => Term::cast(ty, Term::Int(v)),
            _ => Term::Name(variable_name(exprs, *s)),
        },
        (Op::Member { arrow: true, .. }, _) => match body.path_of(t) {
            Some(p) => Term::Name(variable_name(exprs, p.own)),
            None => unsupported(),
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
        (Op::Index | Op::Member { arrow: false, .. }, _) => element(exprs, t).unwrap_or_else(unsupported),
        _ => unsupported(),
    }
}

/// A floating-point number that nothing rounds.
fn number(exprs: &Exprs<'_>, t: TermId, kind: FloatKind) -> Term {
    let body = exprs.plan.body;
    let unsupported = || Term::Name(format!("{}unsupported", exprs.plan.prefix));
    match (body.op(t), body.args(t)) {
        (Op::Float(v), _) if kind == FloatKind::F64 => Term::Float(v.get()),
        (Op::Float(v), _) => Term::cast(float_name(kind), Term::Float(v.get())),
        (Op::Sym(s), _) => Term::Name(variable_name(exprs, *s)),
        (Op::Unary(UnOp::Neg), &[a]) => value(exprs, a).negative(),
        (Op::Cast, &[a]) => Term::cast(float_name(kind), value(exprs, a)),
        _ => element(exprs, t).unwrap_or_else(unsupported),
    }
}

/// An element of an array that is read, or a part of one.
fn element(exprs: &Exprs<'_>, t: TermId) -> Option<Term> {
    let body = exprs.plan.body;
    match (body.op(t), body.args(t)) {
        (Op::Member { field, .. }, &[of]) => {
            Some(Term::head("Dot", vec![element(exprs, of)?, Term::name(&field_name(field))]))
        }
        (Op::Index, &[array, subscript]) => match place(exprs, t) {
            Some((s, at)) => Some(Term::Name(read_name(exprs.plan, s)).at(at)),
            None => Some(element(exprs, array)?.at(value(exprs, subscript))),
        },
        _ => None,
    }
}

/// The array that an element is of, and its place among all elements: the function is given rows one behind the other.
fn place(exprs: &Exprs<'_>, t: TermId) -> Option<(SymbolId, Term)> {
    let body = exprs.plan.body;
    let (Op::Index, &[array, subscript]) = (body.op(t), body.args(t)) else { return None };
    let at = value(exprs, subscript);
    if let Some(s) = body.array_symbol(array) {
        return Some((s, at));
    }
    let TypeKind::Array { len: Len::Const(n), .. } = body.types.kind(body.ty(array)) else { return None };
    let (s, row) = place(exprs, array)?;
    let before = Term::binary(BinOp::Mul, Term::cast(LONG_LONG, row), Term::Int(i128::from(*n)));
    Some((s, Term::binary(BinOp::Add, before, at)))
}

fn steps(exprs: &Exprs<'_>, p: &str, all: &[SearchStep]) -> Vec<Term> {
    let value = |t: TermId| value(exprs, t);
    let named = |s: SymbolId| Term::Name(variable_name(exprs, s));
    let mut out = Vec::new();
    for s in all {
        match s {
            SearchStep::Set { symbol, value: v } => {
                let value = Term::cast(&number_type(exprs, *symbol), value(*v));
                out.push(named(*symbol).assign(value));
            }
            SearchStep::If { condition, holds, then } => {
                let condition = match holds {
                    true => value(*condition),
                    false => value(*condition).not(),
                };
                out.push(Term::when(condition, steps(exprs, p, then)));
            }
            SearchStep::Update { symbol, op, by } => {
                let by = by.map_or(Term::Int(1), value);
                let moved = Term::binary(*op, named(*symbol), by);
                out.push(named(*symbol).assign(Term::cast(&number_type(exprs, *symbol), moved)));
            }
            SearchStep::Point { symbol, from, by } => {
                let begin = from.map_or(Term::Int(0), named);
                let wide = |t: TermId| Term::cast(LONG_LONG, value(t));
                let place = by.iter().fold(begin, |at, (op, by)| Term::binary(*op, at, wide(*by)));
                out.push(named(*symbol).assign(place));
            }
            SearchStep::While { condition, then } => {
                let then = steps(exprs, p, then);
                out.push(Term::head("While", vec![value(*condition), Term::List(then)]));
            }
            SearchStep::Touch { from, subscript, sure } => {
                let at = || {
                    let at = Term::cast(LONG_LONG, value(*subscript));
                    from.map_or(at.clone(), |p| Term::binary(BinOp::Add, named(p), at))
                };
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
    /// The first element, by a call that leaves the last one in a variable of this name.
    pub(super) fn search_call(&mut self, b: &BufferPlan, search: &Search, last: &str) -> Term {
        let Some(d) = self.kernel.dims.first() else { return Term::Int(0) };
        let trips = Term::name(&d.trips_name);
        self.call_of_search(self.plan, d, (b.symbol, search), [Term::name(last), trips])
    }

    /// Of a region: finds a part of an array, where it is known that nothing has changed by then of what decides.
    pub(super) fn find(&mut self, e: &EndsPlan, nests: &[Plan<'_>], out: &mut Vec<Term>) {
        let dim = nests.get(e.by).and_then(|n| Some((n, n.kernels.first()?.dims.first()?)));
        let Some((nest, d)) = dim else { return };
        for apart in &e.apart {
            for t in self.early(apart) {
                if !out.contains(&t) {
                    out.push(t);
                }
            }
        }
        let trips = self.expr(&d.trips);
        let call = self.call_of_search(nest, d, (e.searched, &e.search), [Term::name(&e.last_name), trips]);
        let [first, last] = [&e.first_name, &e.last_name].map(|n| Term::name(n));
        out.push(Term::head("_Let", vec![last.clone(), Term::name(LONG_LONG)]));
        out.push(super::let_(&e.first_name, LONG_LONG, call));
        let why = format!("{} is used", self.plan.body.symbols[e.searched].name);
        out.push(test(Term::binary(BinOp::Le, first, last), &why));
    }

    /// That what is read lies apart from what is written of another array.
    fn early(&mut self, apart: &EarlyApart) -> Vec<Term> {
        let plan = self.plan;
        let (Some(r), Some(w)) = (plan.buffers.get(apart.read), plan.buffers.get(apart.written)) else {
            return Vec::new();
        };
        let count = plan.body.types.size_align(plan.body.symbols[r.symbol].ty);
        let all = count.map_or(0, |s| i128::from(s.0 / r.element_size.max(1)));
        let whole = (Expr::Int(0), Expr::Int(all - 1));
        let mut out = Vec::new();
        let mut places = Vec::new();
        let parts = [(r, r.extent.as_ref().unwrap_or(&whole)), (w, &apart.part)];
        for ((b, (first, last)), is_used) in parts.into_iter().zip(apart.is_used) {
            let minus = Expr::Mul(-1, Box::new(first.clone()));
            let count = Expr::Add(vec![last.clone(), minus, Expr::Int(1)]);
            let [from, count] = [first, &count].map(|e| self.expr(e));
            if !is_used && !matches!(count, Term::Int(n) if n > 0) {
                let why = format!("{} is used", plan.body.symbols[b.symbol].name);
                out.push(test(Term::binary(BinOp::Gt, count.clone(), Term::Int(0)), &why));
            }
            let base = Term::Name(self.given.array(b));
            let place = match from {
                Term::Int(0) => base,
                from => Term::binary(BinOp::Add, base, from),
            };
            let bytes = Term::binary(BinOp::Mul, Term::cast("size_t", count), self.element_size(b));
            places.push([place, bytes]);
        }
        if let Ok([a, b]) = <[[Term; 2]; 2]>::try_from(places) {
            let name = |b: &BufferPlan| plan.body.symbols[b.symbol].name.clone();
            out.push(test(self.apart(a, b), &format!("{} and {} do not overlap", name(r), name(w))));
        }
        out
    }

    /// `of`: whose function it is; the values are this host's.
    fn call_of_search(
        &mut self,
        of: &Plan<'_>,
        d: &Dim,
        (array, search): (SymbolId, &Search),
        [last, trips]: [Term; 2],
    ) -> Term {
        let plan = self.plan;
        let mut values = vec![Term::head("AddressOf", vec![last]), trips];
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
        for s in inputs(of, d, search) {
            values.push(self.given.variable(s));
        }
        for r in read(plan, search) {
            let array = Term::Name(self.given.array(r));
            let exprs = Exprs { plan, kernel: self.kernel, dialect: Dialect::Host };
            let element = plan.body.types.element(plan.body.symbols[r.symbol].ty);
            let has_rows = element.is_some_and(|e| matches!(plan.body.types.kind(e), TypeKind::Array { .. }));
            values.push(match has_rows {
                true => Term::cast(&format!("const {}*", exprs.type_name(r.element)), array),
                false => array,
            });
        }
        Term::call(&name(of, array), values)
    }
}
