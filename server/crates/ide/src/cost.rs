//! What an offload costs and brings: arithmetic, bytes over the bus, launches. Numbers where the text says them, else expressions in
//! the function's own variables, else nothing.
//!
//! All of it is counted from the plan and the text, and is an upper bound: both arms of a condition, triangular loops as wide as
//! they get, nests that a condition may skip. Deliberately absent: how long anything takes.

mod widest;

use std::cell::RefCell;
use std::sync::Arc;

use analysis::{Control, Expr, LoopId};
use codegen::{Plan, RegionPlan};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, Op, SymbolId, TermId};

use crate::function_view::FunctionView;
use crate::limits::cost::{BYTES_AN_OPERATION, LEAST_A_LAUNCH, LEAST_ITERATIONS, LEAST_OPERATIONS, LONGEST};
use crate::words;

/// How much of something there is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Amount {
    Exactly(u64),
    /// In C.
    Text(String),
}

/// What one run of an offload costs; `None`: nobody can say it before it runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Operators, assignments and calls as they are written, those of subscripts too, of all iterations.
    pub operations: Option<Amount>,
    /// Bytes of arrays.
    pub to_device: Option<Amount>,
    pub from_device: Option<Amount>,
    /// Launches of kernels.
    pub launches: Option<Amount>,
    /// Iterations that run at once; of a region nothing is said.
    pub iterations: Option<Amount>,
    /// Of a loop without loops in it: operations of an iteration, and bytes that are copied for it at the least.
    pub(crate) each: Option<(u64, u64)>,
}

/// Why a loop is no work for a GPU however long an iteration is.
pub(crate) fn too_narrow(cost: &Cost) -> Option<String> {
    match cost.iterations {
        Some(Amount::Exactly(n)) if n < LEAST_ITERATIONS => Some(format!(
            "Only {n} iterations of it run at once; a warp alone has {LEAST_ITERATIONS} threads."
        )),
        _ => None,
    }
}

/// Why a loop that a loop on the host repeats cannot pay however long it is: its arrays are copied in every round.
pub(crate) fn too_thin(cost: &Cost) -> Option<String> {
    let (operations, bytes) = cost.each?;
    (operations < bytes).then(|| {
        format!(
            "The loop around it stays on the host and repeats the copies: {bytes} bytes and {operations} operations for an \
             iteration."
        )
    })
}

/// Why an offload by itself plainly cannot pay.
pub(crate) fn too_little(cost: &Cost) -> Option<String> {
    if let Some(why) = too_narrow(cost) {
        return Some(why);
    }
    let Some(Amount::Exactly(operations)) = cost.operations else { return None };
    if operations < LEAST_OPERATIONS {
        return Some(format!(
            "It makes {operations} operations; below {LEAST_OPERATIONS} a launch with its copies takes longer than the loop."
        ));
    }
    let [Some(Amount::Exactly(to)), Some(Amount::Exactly(from))] = [&cost.to_device, &cost.from_device]
    else {
        return None;
    };
    let bytes = to.saturating_add(*from);
    (operations < bytes / BYTES_AN_OPERATION).then(|| {
        format!(
            "It makes {operations} operations on {bytes} bytes that are copied, fewer than one for {BYTES_AN_OPERATION} bytes: \
             the copies take longer than the loop."
        )
    })
}

/// Why kernels that share their data cannot pay, however often they run: each launch does too little.
pub(crate) fn too_short(cost: &Cost) -> Option<String> {
    let (Some(Amount::Exactly(operations)), Some(Amount::Exactly(launches))) =
        (&cost.operations, &cost.launches)
    else {
        return None;
    };
    let each = operations.checked_div(*launches)?;
    (each < LEAST_A_LAUNCH).then(|| {
        format!(
            "It makes {operations} operations in {launches} launches, about {each} in each; below {LEAST_A_LAUNCH} a launch \
             takes longer than a core needs for them."
        )
    })
}

impl Cost {
    /// Of a loop alone.
    pub(crate) fn of(view: &FunctionView, plan: &Plan) -> Cost {
        let (to_device, from_device) = copies(view, plan);
        Cost {
            operations: work(view, plan, &FxHashSet::default()),
            to_device,
            from_device,
            launches: Some(Amount::Exactly(plan.kernels.len() as u64)),
            iterations: width(view, plan),
            each: each(view, plan),
        }
    }

    /// Of nests between which arrays stay on the device.
    pub(crate) fn of_region(view: &FunctionView, plan: &RegionPlan) -> Cost {
        let (to_device, from_device) = copies(view, &plan.outer);
        let mut operations = Some(Amount::Exactly(0));
        let mut launches = Some(Amount::Exactly(0));
        let around = plan.region.statements.iter().flat_map(|&s| changed(view.body(), s)).collect();
        for (nest, &id) in plan.nests.iter().zip(&plan.region.nests) {
            let rounds = rounds(view, id, &plan.region.statements);
            let kernels = Some(Amount::Exactly(nest.kernels.len() as u64));
            operations = sum(operations, product(rounds.clone(), work(view, nest, &around)));
            launches = sum(launches, product(rounds, kernels));
        }
        Cost { operations, to_device, from_device, launches, iterations: None, each: None }
    }
}

/// Bytes to the device and back.
fn copies(view: &FunctionView, plan: &Plan) -> (Option<Amount>, Option<Amount>) {
    let mut both = [Some(Amount::Exactly(0)), Some(Amount::Exactly(0))];
    for b in plan.device_buffers().filter(|b| !b.own) {
        let bytes = b.bytes(view.body()).and_then(|e| amount(view, &e));
        for (out, _) in both.iter_mut().zip([b.copy_in, b.written]).filter(|(_, is_copied)| *is_copied) {
            *out = sum(out.take(), bytes.clone());
        }
    }
    let [to, from] = both;
    (to, from)
}

/// Iterations of a plan's kernels that run at once; of several the most that one has, where all are known.
fn width(view: &FunctionView, plan: &Plan) -> Option<Amount> {
    let mut most = 0;
    for k in &plan.kernels {
        let trips = k.dims.iter().map(|d| amount(view, &d.trip_count()));
        match (trips.fold(Some(Amount::Exactly(1)), product)?, plan.kernels.len()) {
            (Amount::Exactly(n), _) => most = n.max(most),
            (text, 1) => return Some(text),
            _ => return None,
        }
    }
    Some(Amount::Exactly(most))
}

/// Operations of a plan's kernels, whatever loops around them have made of `around`.
fn work(view: &FunctionView, plan: &Plan, around: &FxHashSet<SymbolId>) -> Option<Amount> {
    let mut out = Some(Amount::Exactly(0));
    for k in &plan.kernels {
        let outer = k.dims.first().map_or(k.body, |d| d.term);
        let inside = changed(view.body(), outer).into_iter().chain(around.iter().copied()).collect();
        let count = Count::new(view, inside);
        if k.threads.is_some() {
            // its threads share what the nest does
            out = sum(out, count.of(view.body(), k.dims.first()?.term, 0));
            continue;
        }
        let trips = k.dims.iter().map(|d| widest::trips_of(view, d, around));
        let all = trips.fold(Some(Amount::Exactly(1)), product);
        out = sum(out, product(all, count.of(view.body(), k.body, 0)));
    }
    out
}

/// Operations and bytes of an iteration of a loop without loops in it.
fn each(view: &FunctionView, plan: &Plan) -> Option<(u64, u64)> {
    let [k] = plan.kernels.as_slice() else { return None };
    let [d] = k.dims.as_slice() else { return None };
    let body = view.body();
    if k.threads.is_some() || body.loops(k.body).next().is_some() {
        return None;
    }
    let count = Count::new(view, changed(body, d.term));
    let Some(Amount::Exactly(operations)) = count.of(body, k.body, 0) else { return None };
    let copied = plan.device_buffers().filter(|b| !b.own);
    let bytes = copied.map(|b| b.element_size * (u64::from(b.copy_in) + u64::from(b.written))).sum();
    Some((operations, bytes))
}

/// How often a nest of a region runs.
fn rounds(view: &FunctionView, nest: LoopId, statements: &[TermId]) -> Option<Amount> {
    let body = view.body();
    let inside: FxHashSet<TermId> = statements.iter().flat_map(|&s| body.walk(s)).collect();
    let changed = statements.iter().flat_map(|&s| changed(body, s)).collect();
    let count = Count::new(view, changed);
    let mut out = Some(Amount::Exactly(1));
    let mut at = view.of(nest).parent;
    while let Some(id) = at.filter(|&id| inside.contains(&view.of(id).term)) {
        out = product(out, count.trips(id));
        at = view.of(id).parent;
    }
    out
}

/// Variables that statements set.
fn changed(body: &Body, root: TermId) -> FxHashSet<SymbolId> {
    let mut out = FxHashSet::default();
    for t in body.walk(root) {
        match body.op(t) {
            Op::Declare(s) => {
                out.insert(*s);
            }
            op if op.is_write() || matches!(op, Op::AddrOf) => {
                let target = body.args(t).first().map(|&a| body.op(a));
                if let Some(Op::Sym(s)) = target {
                    out.insert(*s);
                }
            }
            _ => {}
        }
    }
    out
}

/// Operations of a loop with all its rounds, where the text says how many these are.
pub(crate) fn operations(view: &FunctionView, term: TermId) -> Option<Amount> {
    let body = view.body();
    Count::new(view, changed(body, term)).of(body, term, 0)
}

struct Count<'a> {
    view: &'a FunctionView<'a>,
    /// What these have is not the same in all iterations.
    changed: FxHashSet<SymbolId>,
    /// Of functions that were counted, by name; of one that is being counted nothing is known, for it calls itself.
    called: RefCell<FxHashMap<Arc<str>, Option<Amount>>>,
}

impl<'a> Count<'a> {
    fn new(view: &'a FunctionView<'a>, changed: FxHashSet<SymbolId>) -> Count<'a> {
        Count { view, changed, called: RefCell::default() }
    }

    /// Iterations of a loop inside.
    fn trips(&self, id: LoopId) -> Option<Amount> {
        let body = self.view.body();
        let control = self.view.of(id).control.as_ref().ok()?;
        if let Some(n) = exactly(body, control) {
            return Some(Amount::Exactly(n));
        }
        let ends = [Some(control.lower), control.bound];
        let mut steady = ends.iter().flatten().flat_map(|&t| body.walk(t)).map(|t| body.op(t));
        let is_steady = steady.all(|op| match op {
            Op::Sym(s) => !self.changed.contains(s),
            op => !matches!(op, Op::Index | Op::Member { .. } | Op::Deref | Op::Call),
        });
        if !is_steady {
            return widest::trips(self.view, id, &self.changed);
        }
        let text = words::thread_count(self.view, &[id])?;
        Some(text.parse().map_or(Amount::Text(text), Amount::Exactly))
    }

    /// Operations of a term of a body: the view's, or (deeper) that of a function it calls.
    fn of(&self, body: &Body, root: TermId, depth: u32) -> Option<Amount> {
        if depth > LONGEST {
            return None;
        }
        let own = match body.op(root) {
            op if op.is_write() || matches!(op, Op::Unary(_) | Op::Binary(_)) => Some(Amount::Exactly(1)),
            Op::Call => self.call(body, root, depth),
            Op::Reject(_) | Op::Launch => None,
            _ => Some(Amount::Exactly(0)),
        };
        let mut parts = body.args(root).iter().map(|&a| self.of(body, a, depth + 1));
        let once = parts.try_fold(Amount::Exactly(0), |all, part| sum(Some(all), part));
        let rounds = match body.op(root).is_loop() {
            false => Some(Amount::Exactly(1)),
            true if !std::ptr::eq(body, self.view.body()) => None,
            true => self.view.facts.of_term(root).and_then(|id| self.trips(id)),
        };
        sum(own, product(rounds, once))
    }

    /// A call: one operation, with those of a function of the program.
    fn call(&self, body: &Body, call: TermId, depth: u32) -> Option<Amount> {
        let one = Some(Amount::Exactly(1));
        let name = &body.symbols.get(body.callee(call)?)?.name;
        let Some(called) = self.view.doc.program().body(name) else { return one };
        if let Some(known) = self.called.borrow().get(name) {
            return sum(one, known.clone());
        }
        self.called.borrow_mut().insert(name.clone(), None);
        let counted = self.of(called, called.root, depth + 1);
        self.called.borrow_mut().insert(name.clone(), counted.clone());
        sum(one, counted)
    }
}

fn amount(view: &FunctionView, e: &Expr) -> Option<Amount> {
    match e {
        Expr::Int(n) => u64::try_from(*n).ok().map(Amount::Exactly),
        // what is too long to say is not said
        e => Some(words::value(view, e)).filter(|text| !text.contains('…')).map(Amount::Text),
    }
}

/// How often a loop runs whose ends are constants: numbers, enumerators, what is computed of them.
fn exactly(body: &Body, c: &Control) -> Option<u64> {
    let analysis::Step::Const(step) = c.step else { return None };
    let (from, to) = (body.constant(c.lower)?, body.constant(c.bound.filter(|_| c.is_plain())?)?);
    if [from, to].iter().any(|&v| c.index_type.wrap(v) != v) {
        return None;
    }
    let (low, high) = if step > 0 { (from, to) } else { (to, from) };
    let closed = match c.relation {
        BinOp::Le | BinOp::Ge => 1,
        BinOp::Lt | BinOp::Gt => 0,
        _ => return None,
    };
    let (span, by) = (high.checked_sub(low)?.checked_add(closed)?.max(0), step.checked_abs()?);
    u64::try_from((span + by - 1).checked_div(by)?).ok()
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn product(a: Option<Amount>, b: Option<Amount>) -> Option<Amount> {
    use Amount::{Exactly, Text};
    let factor = |t: String| if is_plain(&t) || is_product(&t) { t } else { format!("({t})") };
    Some(match (a?, b?) {
        (Exactly(a), Exactly(b)) => Exactly(a.checked_mul(b)?),
        (Exactly(0), _) | (_, Exactly(0)) => Exactly(0),
        (Exactly(1), t) | (t, Exactly(1)) => t,
        (Exactly(n), Text(t)) | (Text(t), Exactly(n)) => Text(format!("{n} * {}", factor(t))),
        (Text(a), Text(b)) => Text(format!("{} * {}", factor(a), factor(b))),
    })
}

/// Whether nothing but `*` stands between the names of a text.
fn is_product(text: &str) -> bool {
    text.split(" * ").all(is_plain)
}

fn sum(a: Option<Amount>, b: Option<Amount>) -> Option<Amount> {
    use Amount::{Exactly, Text};
    let out = match (a?, b?) {
        (Exactly(a), Exactly(b)) => Exactly(a.checked_add(b)?),
        (Exactly(0), t) | (t, Exactly(0)) => t,
        (Exactly(n), Text(t)) | (Text(t), Exactly(n)) => Text(format!("{t} + {n}")),
        (Text(a), Text(b)) => Text(format!("{a} + {b}")),
    };
    Some(out).filter(|a| !matches!(a, Text(t) if t.len() > LONGEST as usize * 10))
}
