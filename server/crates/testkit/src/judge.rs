//! Holds what the analysis says of a random function to what traced runs of it really did.
//!
//! A verdict "independent" or "reduction" is judged on every run whose values meet its run-time conditions; a witness is
//! judged by a run with the witness's values. What cannot be arranged is counted, never taken for a success.
//!
//! Long because one `Case` answers all questions that are put to a run: claims, counting, witnesses.

use std::collections::HashSet;

use analysis::{ConditionKind, Facts, LoopFacts, LoopId, MetBy, Param, Step, Verdict, Witness};
use base::Budget;
use simulate::{
    check_claim, check_witness, run_traced, ConflictKind, Options, Program, Refutation, Seen, Trace,
    Variable, WitnessQuery,
};
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::fixture::{kind_name, verdict_name};
use crate::nests::{Call, Memory, Nest};
use crate::pred::{self, Values};
use crate::rng::Rng;

pub use crate::stats::Stats;

mod asides;

/// A wrong claim.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Names the kind of failure: shrinking keeps it.
    pub kind: &'static str,
    /// What is wrong, with the call and the loop.
    pub what: String,
    pub nest: Nest,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] seed {}: {}\n{}", self.kind, self.nest.seed, self.what, self.nest.text())
    }
}

/// Number of calls each function is judged on.
pub const CALLS: usize = 5;

/// Reads a text and analyzes all its functions at full budget: the number of loops, and whether the budget was spent.
pub fn survey(text: &str) -> (usize, bool) {
    let a = crate::fixture::analyze(text);
    (a.loops.len(), a.facts.iter().any(|f| f.out_of_budget))
}

/// Everything that is wrong about what is said of the function.
pub fn judge(nest: &Nest, stats: &mut Stats) -> Vec<Failure> {
    judge_with(nest, stats, |body, around| {
        analysis::analyze(body, around, analysis::FULL_STEPS, &Budget::new(u64::MAX))
    })
}

/// The same of somebody else's facts.
pub fn judge_with(
    nest: &Nest,
    stats: &mut Stats,
    analyze: impl Fn(&Body, &analysis::Program) -> Facts,
) -> Vec<Failure> {
    let text = nest.text();
    let parsed = front::Parsed::parse(front::Language::C, text.as_str());
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let mut failures = Vec::new();
    let fail = |failures: &mut Vec<Failure>, kind: &'static str, what: String| {
        failures.push(Failure { kind, what, nest: nest.clone() });
    };
    stats.nests += 1;
    let rejects = unit
        .rejects
        .iter()
        .chain(unit.items.iter().flat_map(|i| i.body.rejects()))
        .map(|r| r.reason.to_string())
        .collect::<Vec<_>>();
    if !rejects.is_empty() {
        fail(&mut failures, "front", format!("not understood: {}", rejects.join("; ")));
        return failures;
    }
    let Some(item) = unit.items.iter().find(|i| &*i.name == "f") else {
        fail(&mut failures, "front", "no function `f` was found".to_owned());
        return failures;
    };
    let body = &item.body;
    let facts = analyze(body, &analysis::Program::of(unit.items.iter().map(|i| &i.body)));
    let program = Program::of(unit.items.iter().map(|i| &*i.body));
    let case = Case {
        nest,
        body,
        facts: &facts,
        program: &program,
        watch: body.loops(body.root).collect(),
        moved: body
            .walk(body.root)
            .filter(|&t| body.op(t).is_write() || *body.op(t) == Op::AddrOf)
            .filter_map(|t| body.as_symbol(*body.args(t).first()?))
            .collect(),
    };
    if case.watch.len() != facts.loops.len() {
        fail(&mut failures, "missing", "a loop has no facts".to_owned());
        return failures;
    }
    for l in facts.loops.iter() {
        *stats.verdicts.entry(verdict_name(l.verdict)).or_default() += 1;
        for problem in case.form(l) {
            fail(&mut failures, "form", problem);
        }
    }
    let mut rng = Rng::new(nest.seed ^ 0xCA11);
    let mut ran_twice: HashSet<LoopId> = HashSet::new();
    let mut carried: HashSet<LoopId> = HashSet::new();
    for n in 0..CALLS {
        let call = Call::random(nest, &mut rng, n >= 2);
        let trace = match case.run(&call) {
            Ok((trace, _)) => trace,
            Err(why) => {
                if why.starts_with("not supported") {
                    stats.example(&why, || format!("seed {}", nest.seed));
                }
                *stats.faults.entry(why).or_default() += 1;
                continue;
            }
        };
        stats.runs += 1;
        for (id, l) in facts.loops.iter_ids() {
            if let Some(t) = trace.of(l.term) {
                if t.instances.iter().any(|i| i.starts > 2) {
                    ran_twice.insert(id);
                }
                let parallel = t.conflicts.iter().all(|c| {
                    c.header
                        || t.variables
                            .get(&c.variable)
                            .is_some_and(|v| v.private_like() && v.read_after.is_none() && !v.escapes)
                });
                // shared memory makes conflicts that a condition rules out
                if !parallel && n < 2 {
                    carried.insert(id);
                }
            }
            if matches!(l.verdict, Verdict::Independent | Verdict::Reduction) {
                if let Err(what) = case.claim(&call, &trace, id, l, stats) {
                    fail(&mut failures, "claim", what);
                }
            }
        }
    }
    for (id, l) in facts.loops.iter_ids() {
        if ran_twice.contains(&id) && !carried.contains(&id) {
            stats.looked_parallel += 1;
            if l.verdict == Verdict::Unknown {
                let why = l.obstacles.first().map_or("none".to_owned(), |o| kind_name(&o.kind));
                stats.example(&why, || {
                    let at: Vec<String> = l
                        .obstacles
                        .iter()
                        .map(|o| format!("{:?} at `{}`", o.kind, case.source(o.term)))
                        .collect();
                    format!("seed {}: `{}`: {}", nest.seed, case.head(l), at.join(", "))
                });
                *stats.missed.entry(why).or_default() += 1;
            }
        } else if l.verdict == Verdict::Unknown && carried.contains(&id) {
            stats.rightly_unknown += 1;
        }
        if l.verdict == Verdict::Sequential {
            for d in l.dependences.iter().filter(|d| d.witness.is_some()).take(3) {
                if let Err(what) = case.witness(id, l, d, stats) {
                    fail(&mut failures, "witness", what);
                }
            }
        }
    }
    failures
}

struct Case<'a> {
    nest: &'a Nest,
    body: &'a Body,
    facts: &'a Facts,
    program: &'a Program<'a>,
    watch: Vec<TermId>,
    /// Variables that something writes.
    moved: HashSet<SymbolId>,
}

impl Case<'_> {
    fn run(&self, call: &Call) -> Result<(Trace, Memory), String> {
        let mut memory = call.build(self.nest).map_err(|f| fault_name(&f.kind))?;
        let args = memory.args.clone();
        let trace = run_traced(
            self.program,
            "f",
            &args,
            &mut memory.heap,
            &self.watch,
            &Options::default(),
            &Call::budget(),
        )
        .map_err(|f| fault_name(&f.kind))?;
        Ok((trace, memory))
    }

    fn symbol(&self, s: SymbolId) -> &str {
        &self.body.symbols[s].name
    }

    fn source(&self, t: TermId) -> String {
        // the function is the last item of the text; its spans are relative to it
        let text = self.nest.text();
        let Some(start) = function_start(&text) else {
            return String::new();
        };
        let s = self.body.span(t);
        text.get(start + s.start as usize..start + s.end as usize).unwrap_or("").to_owned()
    }

    fn head(&self, l: &LoopFacts) -> String {
        self.source(l.term).lines().next().unwrap_or("").to_owned()
    }

    /// What is wrong with the facts by themselves.
    fn form(&self, l: &LoopFacts) -> Vec<String> {
        let mut out = Vec::new();
        let loop_text = || self.head(l);
        match l.verdict {
            Verdict::Independent | Verdict::Reduction => {
                for c in &l.conditions {
                    let promise =
                        c.met_by == MetBy::User && !matches!(c.kind, ConditionKind::Reassociate(..));
                    if promise {
                        out.push(format!("`{}` rests on the promise {:?}", loop_text(), c.kind));
                    }
                }
                if l.control.is_err() {
                    out.push(format!("`{}` is not counted and yet parallel", loop_text()));
                }
                if (l.verdict == Verdict::Reduction) == l.reductions.is_empty() {
                    out.push(format!("`{}`: verdict and reductions do not agree", loop_text()));
                }
            }
            Verdict::Sequential => {
                if !l.dependences.iter().any(|d| d.witness.is_some()) {
                    out.push(format!("`{}` is sequential without a witness", loop_text()));
                }
            }
            Verdict::Unknown => {
                if l.obstacles.is_empty() {
                    out.push(format!("`{}` is unknown without an obstacle", loop_text()));
                }
            }
        }
        out
    }

    /// The loops around a loop, innermost first.
    fn around(&self, id: LoopId) -> impl Iterator<Item = &LoopFacts> + '_ {
        let mut at = Some(id);
        std::iter::from_fn(move || {
            at = self.facts.loops[at?].parent;
            at.map(|p| &self.facts.loops[p])
        })
    }

    /// Values that are known when an execution of the loop begins.
    fn values(&self, call: &Call, id: LoopId, outer: &[(SymbolId, i64)]) -> Values {
        let mut values = Values::new();
        for (s, symbol) in self.body.symbols.iter_ids() {
            if let Storage::Param(n) = symbol.storage {
                if let Some(v) = call.sizes.get(n as usize).filter(|_| !self.moved.contains(&s)) {
                    values.insert(s, *v);
                }
            }
        }
        for (s, v) in outer {
            // an index that its own body moves may have another value by now
            let counted = |l: &LoopFacts| l.control.as_ref().is_ok_and(|c| c.index == *s);
            if self.around(id).any(counted) {
                values.insert(*s, *v as i128);
            }
        }
        values
    }

    /// Likewise, with the value that the loop's own index has when its header does not set it.
    fn values_of(&self, call: &Call, id: LoopId, l: &LoopFacts, i: &simulate::Instance) -> Values {
        let mut values = self.values(call, id, &i.outer);
        if let (Ok(c), Some(&first)) = (&l.control, i.index.first()) {
            if self.body.as_symbol(c.lower) == Some(c.index) {
                values.insert(c.index, first as i128);
            }
        }
        values
    }

    /// Whether the claim's run-time conditions hold for an execution; `None`: cannot be told.
    fn conditions(&self, trace: &Trace, l: &LoopFacts, values: &Values) -> Option<bool> {
        let mut known = Some(true);
        for c in l.conditions.iter().filter(|c| c.met_by == MetBy::RunTimeCheck) {
            let holds = match (&c.kind, &c.check) {
                (ConditionKind::NoAlias(a, b), _) => self.apart(trace, a.symbol, b.symbol),
                (_, Some(p)) => pred::holds(self.body, p, values),
                (_, None) => None,
            };
            match holds {
                Some(false) => return Some(false),
                None => known = None,
                Some(true) => {}
            }
        }
        known
    }

    /// Whether two variables name different objects.
    fn apart(&self, trace: &Trace, a: SymbolId, b: SymbolId) -> Option<bool> {
        let object = |s: SymbolId| trace.object_of(s);
        let own = |s: SymbolId| {
            let v = &self.body.symbols[s];
            let pointer = matches!(self.body.types.kind(v.ty), TypeKind::Pointer { .. });
            matches!(v.storage, Storage::Local | Storage::Param(_)) && !pointer
        };
        match (object(a), object(b)) {
            (Some(x), Some(y)) => Some(x != y),
            (Some(_), None) if own(b) => Some(true),
            (None, Some(_)) if own(a) => Some(true),
            _ => None,
        }
    }

    fn claim(
        &self,
        call: &Call,
        trace: &Trace,
        id: LoopId,
        l: &LoopFacts,
        stats: &mut Stats,
    ) -> Result<(), String> {
        let Some(t) = trace.of(l.term) else {
            return Err(format!("loop {id:?} was not watched"));
        };
        let holds: Vec<Option<bool>> =
            t.instances.iter().map(|i| self.conditions(trace, l, &self.values_of(call, id, l, i))).collect();
        if holds.is_empty() {
            return Ok(());
        }
        if !holds.contains(&Some(true)) {
            if holds.contains(&None) {
                stats.condition_unknown += 1;
            } else {
                stats.condition_fails += 1;
            }
            return Ok(());
        }
        stats.claims += 1;
        self.counting(call, id, l, t, &holds)?;
        let (privates, asides) = self.asides(l);
        let refuted = if holds.iter().all(|h| *h == Some(true)) {
            check_claim(trace, l.term, &privates, &asides)
        } else {
            // only what happened in executions that meet the conditions
            let mut some = trace.clone();
            for x in &mut some.loops {
                if x.term == l.term {
                    x.conflicts.retain(|c| holds.get(c.instance as usize).copied().flatten() == Some(true));
                    x.variables.clear();
                }
            }
            check_claim(&some, l.term, &privates, &asides)
        };
        if refuted.is_ok() && holds.iter().all(|h| *h == Some(true)) {
            self.in_another_order(call, l, stats)?;
        }
        refuted.map_err(|r| {
            format!(
                "`{}` is said to be {}{}; called with {}: {}",
                self.head(l),
                verdict_name(l.verdict),
                self.set_aside(l),
                call.describe(self.nest),
                self.refutation(&r)
            )
        })
    }

    /// Whether the index takes the values that the loop's header is said to give it.
    fn counting(
        &self,
        call: &Call,
        id: LoopId,
        l: &LoopFacts,
        t: &simulate::LoopTrace,
        holds: &[Option<bool>],
    ) -> Result<(), String> {
        let Ok(c) = &l.control else { return Ok(()) };
        for (i, h) in t.instances.iter().zip(holds) {
            if *h != Some(true) || c.pointer || t.index != Some(c.index) || i.index.len() >= 4000 {
                continue;
            }
            let values = self.values(call, id, &i.outer);
            let step = match &c.step {
                Step::Const(s) => Some(*s),
                Step::Term { term, negated } => {
                    pred::term(self.body, *term, &values, 0).map(|v| if *negated { -v } else { v })
                }
            };
            let lower = pred::term(self.body, c.lower, &values, 0);
            for (n, v) in i.index.iter().enumerate() {
                // the last start is the test that failed
                if n + 1 == i.index.len() {
                    break;
                }
                // A loop that begins with the value the index has: the first one seen.
                let low = match self.body.as_symbol(c.lower) == Some(c.index) {
                    true => i.index.first().map(|&v| v as i128),
                    false => lower,
                };
                if let (Some(s), Some(low)) = (step, low) {
                    let want = c.index_type.wrap(low) + n as i128 * s;
                    if want != *v as i128 {
                        return Err(format!(
                            "`{}`: iteration {n} has index {v}, by the facts {want}; called with {}",
                            self.head(l),
                            call.describe(self.nest)
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn set_aside(&self, l: &LoopFacts) -> String {
        let mut out = String::new();
        for p in &l.privates {
            out += &format!(", private {}", self.symbol(p.symbol));
        }
        for r in &l.reductions {
            out += &format!(", {:?} reduction {}", r.op, self.source(r.place));
        }
        for i in &l.inductions {
            out += &format!(", induction {}", self.symbol(i.symbol));
        }
        out
    }

    fn refutation(&self, r: &Refutation) -> String {
        match r {
            Refutation::NotWatched => "the loop was not watched".to_owned(),
            Refutation::Conflict(c) => {
                let variable = match c.variable {
                    Variable::Symbol(s) => self.symbol(s).to_owned(),
                    Variable::Object(_) => "memory".to_owned(),
                };
                format!(
                    "{:?} on {variable} (offset {}): `{}` in iteration {} and `{}` in iteration {}",
                    c.kind,
                    c.cell.offset,
                    self.source(c.source),
                    c.source_iteration,
                    self.source(c.sink),
                    c.sink_iteration
                )
            }
            Refutation::ExposedPrivate { symbol, iteration, term } => format!(
                "private {} is read in iteration {iteration} before it is written: `{}`",
                self.symbol(*symbol),
                self.source(*term)
            ),
            Refutation::LiveOutPrivate { symbol, term } => format!(
                "private {} is read after the loop: `{}`",
                self.symbol(*symbol),
                term.map(|t| self.source(t)).unwrap_or_default()
            ),
        }
    }

    /// Runs the function with the witness's values and looks for the dependence.
    fn witness(
        &self,
        id: LoopId,
        l: &LoopFacts,
        d: &analysis::Dependence,
        stats: &mut Stats,
    ) -> Result<(), String> {
        let Some(w) = &d.witness else { return Ok(()) };
        let not = |stats: &mut Stats, why: &str| {
            *stats.unarranged.entry(why.to_owned()).or_default() += 1;
            Ok(())
        };
        // The indices of the loops around.
        let indices: Vec<SymbolId> =
            self.around(id).filter_map(|l| l.control.as_ref().ok()).map(|c| c.index).collect();
        let mut sizes: Vec<Option<i128>> = vec![None; self.nest.sizes.len()];
        let mut outer: Vec<(SymbolId, i64)> = Vec::new();
        let mut largest = 8;
        let mut terms = Vec::new();
        for (p, v) in &w.params {
            match p {
                Param::Symbol(s) => match self.body.symbols[*s].storage {
                    Storage::Param(n) if (n as usize) < sizes.len() && !self.moved.contains(s) => {
                        sizes[n as usize] = Some(*v);
                        largest = largest.max(v.unsigned_abs() as usize);
                    }
                    _ if indices.contains(s) => {
                        largest = largest.max(v.unsigned_abs() as usize);
                        outer.push((*s, i64::try_from(*v).unwrap_or(i64::MAX)));
                    }
                    _ => return not(stats, "another variable's value"),
                },
                Param::Term(t) => terms.push((*t, *v)),
                Param::Distance { .. } => return not(stats, "a distance of pointers"),
            }
        }
        if largest > 2000 {
            return not(stats, "large values");
        }
        let given: Vec<i128> = sizes
            .iter()
            .zip(&self.nest.sizes)
            .map(|(v, (name, _))| v.unwrap_or(if name == "k" { 1 } else { largest as i128 + 2 }))
            .collect();
        let call = Call::apart(self.nest, given, (12 * largest * largest.min(60)).clamp(800, 40_000));
        let mut values = self.values(&call, id, &outer);
        for (s, v) in &w.params {
            if let Param::Symbol(s) = s {
                values.insert(*s, *v);
            }
        }
        for (t, v) in terms {
            if pred::term(self.body, t, &values, 0) != Some(v) {
                return not(stats, "an expression's value");
            }
        }
        let trace = match self.run(&call) {
            Ok((t, _)) => t,
            Err(why) => return not(stats, &why),
        };
        let Some(t) = trace.of(l.term) else {
            return not(stats, "not watched");
        };
        let reached = t.instances.iter().any(|i| outer.iter().all(|o| i.outer.contains(o)));
        if !reached {
            return not(stats, "the loop is not reached");
        }
        let symbol = &self.body.symbols[d.object.symbol];
        let local_pointer = matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. })
            && !matches!(symbol.storage, Storage::Param(_));
        // A variable that only a called function names is said of the function.
        let unnamed = local_pointer || symbol.storage == Storage::Function;
        let query = WitnessQuery {
            kind: Some(match d.kind {
                analysis::DependenceKind::Flow => ConflictKind::Flow,
                analysis::DependenceKind::Anti => ConflictKind::Anti,
                analysis::DependenceKind::Output => ConflictKind::Output,
            }),
            source: Some(d.source),
            sink: Some(d.sink),
            source_iteration: w.source_iteration as i64,
            sink_iteration: w.sink_iteration as i64,
            variable: (!unnamed).then_some(d.object.symbol),
            outer,
        };
        match check_witness(&trace, l.term, &query) {
            Seen::Yes => {
                stats.witnesses += 1;
                Ok(())
            }
            Seen::Unknown => not(stats, "the log is full"),
            Seen::No => Err(format!(
                "`{}` is said to carry {:?} on {} from `{}` in iteration {} to `{}` in iteration {} with {}; with {} it \
                 does not happen",
                self.head(l),
                d.kind,
                self.symbol(d.object.symbol),
                self.source(d.source),
                w.source_iteration,
                self.source(d.sink),
                w.sink_iteration,
                self.witness_text(w),
                call.describe(self.nest)
            )),
        }
    }

    fn witness_text(&self, w: &Witness) -> String {
        let mut out = Vec::new();
        for (p, v) in &w.params {
            out.push(match p {
                Param::Symbol(s) => format!("{}={v}", self.symbol(*s)),
                Param::Term(t) => format!("{}={v}", self.source(*t)),
                Param::Distance { from, to } => format!("{} - {}={v}", self.source(*to), self.source(*from)),
            });
        }
        out.push(format!("cell {:?}", w.cell));
        out.join(" ")
    }
}

fn fault_name(kind: &simulate::FaultKind) -> String {
    match kind {
        simulate::FaultKind::NotSupported { reason } => format!("not supported: {reason}"),
        simulate::FaultKind::BadCall { reason } => format!("bad call: {reason}"),
        k => kind_name(k),
    }
}

/// Where the function `f` begins in a generated text.
fn function_start(text: &str) -> Option<usize> {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    unit.items.iter().find(|i| &*i.name == "f").map(|i| i.span.start as usize)
}

#[cfg(test)]
mod tests;
