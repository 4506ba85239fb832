//! Kernels by thread map: each thread scans the instances of its own id instead of running iterations of loops.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Comparison, Expr, Param, Pred, Scan, Step, ThreadCode, ThreadValue};
use term::{BinOp, Op, SymbolId, TermId};

use super::build::Builder;
use super::names::Namer;
use super::support::Support;
use super::{bounds, Axis, Dim, RefusalKind, Test, TestKind};
use crate::limits::plan_threads::LARGEST;

/// The code of one thread, with the names of what it is made of.
#[derive(Clone, Debug)]
pub struct ThreadPlan {
    pub code: ThreadCode,
    /// Per value the host passes.
    pub params: Vec<String>,
    /// Per coordinate of the id; also the counter names of the kernel's dimensions.
    pub ids: Vec<String>,
    pub counters: BTreeMap<usize, String>,
}

impl<'a> Builder<'_, 'a> {
    /// One dimension a coordinate of the id, the last one along x: neighboring ids of the innermost index meet
    /// neighboring cells.
    pub(super) fn thread_dims(&mut self) -> Vec<Dim> {
        let Some((facts, c)) = self.band.first().copied() else { return Vec::new() };
        let n = self.input.offload.max_trips.len();
        let axes = [Axis::X, Axis::Y, Axis::Z];
        let mut dims = Vec::new();
        for (k, ids) in self.input.offload.max_trips.iter().enumerate() {
            let axis = axes.get(n - 1 - k).copied().unwrap_or(Axis::Z);
            let mark = if n == 1 { String::new() } else { format!("_{}", axis.letter()) };
            dims.push(Dim {
                term: facts.term,
                index: c.index,
                index_type: term::IntKind::LongLong,
                axis,
                strided: axis != Axis::X,
                rectangular: true,
                trips: ids.clone(),
                lower: c.lower,
                lower_on_host: false,
                bound: c.bound,
                shift: 0,
                moves_inside: false,
                pointer: false,
                relation: BinOp::Lt,
                step: Step::Const(1),
                step_on_host: false,
                trips_name: self.host_name(&format!("threads{mark}")),
                counter_name: self.host_name(&format!("id{mark}")),
                lower_name: String::new(),
                step_name: String::new(),
            });
        }
        dims
    }

    /// The statements the code runs, each once, in order of the text.
    pub(super) fn thread_statements(&self, code: &ThreadCode) -> Vec<TermId> {
        let mut out = BTreeSet::new();
        runs(&code.code, &mut |term, _| {
            out.insert(term);
        });
        out.into_iter().collect()
    }

    /// Variables that stand for a counter in the code.
    pub(super) fn thread_indices(&self, code: &ThreadCode) -> BTreeSet<SymbolId> {
        let mut out = BTreeSet::new();
        runs(&code.code, &mut |_, indices| out.extend(indices.iter().map(|i| i.0)));
        out
    }

    /// What may be printed as a statement of a thread: no declaration of more than a scalar.
    pub(super) fn thread_support(&mut self, code: &ThreadCode, support: &mut Support<'a>) {
        for t in self.thread_statements(code) {
            if let Op::Declare(s) = self.body.op(t) {
                let init = self.body.args(t).first();
                if support.is_view(*s) || init.is_none_or(|&i| *self.body.op(i) == Op::InitList) {
                    self.refuse(RefusalKind::PointerValue(*s), t);
                }
            }
            support.visit(t);
        }
    }

    /// Tests that keep the values passed small, and a refusal where that is not enough.
    pub(super) fn thread_tests(&mut self, code: &ThreadCode, tests: &mut Vec<Test>) {
        for e in &code.params {
            let above = Expr::Add(vec![Expr::Int(LARGEST), Expr::Mul(-1, Box::new(e.clone()))]);
            let below = Expr::Add(vec![e.clone(), Expr::Int(LARGEST)]);
            for e in [above, below] {
                tests.push(Test { kind: TestKind::Holds(Pred::NonNegative(e)), meets: None });
            }
        }
        if largest(&code.code, &mut BTreeMap::new()).is_none_or(|v| v >= bounds::SAFE) {
            self.refuse(RefusalKind::Overflow, self.target);
        }
    }

    /// Names for what the code computes with.
    pub(super) fn thread_plan(&mut self, code: &ThreadCode, dims: &[Dim]) -> ThreadPlan {
        let mut counters = BTreeMap::new();
        loops(&code.code, &mut |c| {
            counters.entry(c).or_insert_with(String::new);
        });
        let many = counters.len();
        for (k, name) in counters.values_mut().enumerate() {
            *name = self.host_name(&if many == 1 { "c".to_string() } else { format!("c{}", k + 1) });
        }
        let params = (code.params.iter().enumerate())
            .map(|(k, e)| {
                let wish = match e {
                    Expr::Param(Param::Symbol(s)) => format!("value_{}", self.body.symbols[*s].name),
                    _ => format!("value{}", k + 1),
                };
                self.host_name(&wish)
            })
            .collect();
        ThreadPlan {
            code: code.clone(),
            params,
            ids: dims.iter().map(|d| d.counter_name.clone()).collect(),
            counters,
        }
    }
}

/// Names of indices inside the kernel: every instance has a scope of its own, so those called the same may stay so.
pub(super) fn index_names(
    indices: &BTreeSet<SymbolId>,
    name_of: impl Fn(SymbolId) -> String,
    namer: &mut Namer,
) -> BTreeMap<SymbolId, String> {
    let mut by_wish: BTreeMap<String, String> = BTreeMap::new();
    let mut out = BTreeMap::new();
    for &s in indices {
        let wish = name_of(s);
        let name = by_wish.entry(wish.clone()).or_insert_with(|| namer.fresh(&wish)).clone();
        out.insert(s, name);
    }
    out
}

/// Told of each instance: its statement, and the indices with their values.
type OnRun<'f> = dyn FnMut(TermId, &[(SymbolId, ThreadValue)]) + 'f;

fn runs(code: &Scan, f: &mut OnRun<'_>) {
    match code {
        Scan::Loop { body, .. } => runs(body, f),
        Scan::If { then, otherwise, .. } => {
            runs(then, f);
            if let Some(o) = otherwise {
                runs(o, f);
            }
        }
        Scan::Block(all) => all.iter().for_each(|c| runs(c, f)),
        Scan::Run { term, indices } => f(*term, indices),
    }
}

fn loops(code: &Scan, f: &mut dyn FnMut(usize)) {
    match code {
        Scan::Loop { counter, body, .. } => {
            f(*counter);
            loops(body, f);
        }
        Scan::If { then, otherwise, .. } => {
            loops(then, f);
            if let Some(o) = otherwise {
                loops(o, f);
            }
        }
        Scan::Block(all) => all.iter().for_each(|c| loops(c, f)),
        Scan::Run { .. } => {}
    }
}

/// A bound on the magnitude of everything the code computes. `None`: beyond counting.
fn largest(code: &Scan, counters: &mut BTreeMap<usize, i128>) -> Option<i128> {
    Some(match code {
        Scan::Loop { counter, first, last, step, body } => {
            let ends = peak(first, counters)?.1.max(peak(last, counters)?.1);
            // A counter passes its last value by one step.
            let range = ends.checked_add(*step)?;
            let before = counters.insert(*counter, range);
            let inside = largest(body, counters)?;
            match before {
                Some(v) => counters.insert(*counter, v),
                None => counters.remove(counter),
            };
            range.max(inside)
        }
        Scan::If { condition, then, otherwise } => {
            let mut top = peak(condition, counters)?.1.max(largest(then, counters)?);
            if let Some(o) = otherwise {
                top = top.max(largest(o, counters)?);
            }
            top
        }
        Scan::Block(all) => {
            let mut top = 0;
            for c in all {
                top = top.max(largest(c, counters)?);
            }
            top
        }
        Scan::Run { indices, .. } => {
            let mut top = 0;
            for (_, v) in indices {
                top = top.max(peak(v, counters)?.1);
            }
            top
        }
    })
}

/// Magnitude of the value, and of the largest value on the way to it.
fn peak(v: &ThreadValue, counters: &BTreeMap<usize, i128>) -> Option<(i128, i128)> {
    use ThreadValue as V;
    let two = |a: &V, b: &V, f: &dyn Fn(i128, i128) -> Option<i128>| {
        let ((x, p), (y, q)) = (peak(a, counters)?, peak(b, counters)?);
        let v = f(x, y)?;
        Some((v, v.max(p).max(q)))
    };
    let widest = |all: &[V]| {
        let mut out = (0, 0);
        for a in all {
            let (x, p) = peak(a, counters)?;
            out = (out.0.max(x), out.1.max(p));
        }
        Some(out)
    };
    match v {
        V::Int(n) => n.checked_abs().map(|n| (n, n)),
        V::Param(_) => Some((LARGEST, LARGEST)),
        V::Iter(i) => counters.get(i).map(|c| (*c, *c)),
        V::Neg(a) => peak(a, counters),
        V::Add(a, b) | V::Sub(a, b) => two(a, b, &i128::checked_add),
        V::Mul(a, b) => two(a, b, &i128::checked_mul),
        V::Div(a, n, _) | V::Mod(a, n, _) => {
            let (x, p) = peak(a, counters)?;
            Some((x, p.max(n.checked_abs()?)))
        }
        V::Min(all) | V::Max(all) => widest(all),
        V::Select(c, a, b) => {
            let (_, top) = peak(c, counters)?;
            let (x, p) = two(a, b, &|x, y| Some(x.max(y)))?;
            Some((x, p.max(top)))
        }
        V::Compare(_, a, b) => two(a, b, &|x, y| Some(x.max(y))),
        V::And(a, b) | V::Or(a, b) => two(a, b, &|x, y| Some(x.max(y))),
    }
}

/// How a comparison is written.
pub(crate) fn comparison(c: Comparison) -> &'static str {
    match c {
        Comparison::Eq => "==",
        Comparison::Le => "<=",
        Comparison::Lt => "<",
        Comparison::Ge => ">=",
        Comparison::Gt => ">",
    }
}
