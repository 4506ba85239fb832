//! One function, its facts, and runs of it: what a run refutes.

use std::collections::HashSet;

use analysis::{ConditionKind, Facts, LoopFacts, LoopId, MetBy, Param, Step, Verdict, Witness};
use base::Budget;
use simulate::{
    check_claim, check_witness, run_traced, Aside, ConflictKind, Heap, Options, Program, Refutation, Seen,
    Trace, Value, Variable, WitnessQuery,
};
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::fixture::{kind_name, verdict_name};
use crate::nests::Call;
use crate::pred::{self, Values};
use crate::stats::Stats;

/// A call that is ready to run.
pub(super) struct Given {
    /// Per parameter of the function its value, where that is an integer.
    pub sizes: Vec<Option<i128>>,
    /// For the message.
    pub words: String,
    pub heap: Heap,
    pub args: Vec<Value>,
    /// Whether pointers that lie in memory show objects of their own, as far as the call's sizes reach.
    pub apart: bool,
}

/// Makes a call without overlaps, with these values where they are given, and room for subscripts up to about the last.
pub(super) type Apart<'a> = &'a dyn Fn(&[Option<i128>], usize) -> Result<Given, String>;

/// A function with what is said of it.
pub(super) struct Case<'a> {
    /// The whole file, and where the function begins in it.
    pub text: &'a str,
    pub start: usize,
    pub function: &'a str,
    pub body: &'a Body,
    pub facts: &'a Facts,
    pub program: &'a Program<'a>,
    pub watch: Vec<TermId>,
    /// Variables that something writes.
    pub moved: HashSet<SymbolId>,
    pub apart: Apart<'a>,
    /// Of one run.
    pub steps: u64,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        text: &'a str,
        start: usize,
        function: &'a str,
        body: &'a Body,
        facts: &'a Facts,
        program: &'a Program<'a>,
        apart: Apart<'a>,
    ) -> Case<'a> {
        Case {
            text,
            start,
            function,
            body,
            facts,
            program,
            watch: body.loops(body.root).collect(),
            moved: body
                .walk(body.root)
                .filter(|&t| body.op(t).is_write() || *body.op(t) == Op::AddrOf)
                .filter_map(|t| body.as_symbol(*body.args(t).first()?))
                .collect(),
            apart,
            steps: Call::STEPS,
        }
    }

    pub(super) fn run(&self, call: &mut Given) -> Result<Trace, String> {
        run_traced(
            self.program,
            self.function,
            &call.args,
            &mut call.heap,
            &self.watch,
            &Options::default(),
            &Budget::new(self.steps),
        )
        .map_err(|f| fault_name(&f.kind))
    }

    pub(super) fn symbol(&self, s: SymbolId) -> &str {
        &self.body.symbols[s].name
    }

    pub(super) fn source(&self, t: TermId) -> String {
        let s = self.body.span(t);
        self.text.get(self.start + s.start as usize..self.start + s.end as usize).unwrap_or("").to_owned()
    }

    pub(super) fn head(&self, l: &LoopFacts) -> String {
        self.source(l.term).lines().next().unwrap_or("").to_owned()
    }

    /// What is wrong with the facts by themselves.
    pub(super) fn form(&self, l: &LoopFacts) -> Vec<String> {
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
    fn values(&self, call: &Given, id: LoopId, outer: &[(SymbolId, i64)]) -> Values {
        let mut values = Values::new();
        for (s, symbol) in self.body.symbols.iter_ids() {
            if let Storage::Param(n) = symbol.storage {
                if let Some(Some(v)) = call.sizes.get(n as usize).filter(|_| !self.moved.contains(&s)) {
                    values.insert(s, *v);
                }
            }
        }
        for (s, v) in outer {
            // an index that its own body moves may have another value by now
            let counted = |l: &LoopFacts| {
                let inside = self.body.loop_parts(l.term).map(|p| p.body);
                let moves = |t| {
                    self.body.op(t).is_write()
                        && self.body.args(t).first().is_some_and(|&p| self.body.as_symbol(p) == Some(*s))
                };
                let is_moved = inside.is_some_and(|inside| self.body.walk(inside).any(moves));
                l.control.as_ref().is_ok_and(|c| c.index == *s) && !is_moved
            };
            if self.around(id).any(counted) {
                values.insert(*s, *v as i128);
            }
        }
        values
    }

    /// Likewise, with the value that the loop's own index has when its header does not set it.
    fn values_of(&self, call: &Given, id: LoopId, l: &LoopFacts, i: &simulate::Instance) -> Values {
        let mut values = self.values(call, id, &i.outer);
        if let (Ok(c), Some(&first)) = (&l.control, i.index.first()) {
            if self.body.as_symbol(c.lower) == Some(c.index) {
                values.insert(c.index, first as i128);
            }
        }
        values
    }

    /// Whether the claim's run-time conditions hold for an execution; `None`: cannot be told.
    fn conditions(&self, trace: &Trace, call: &Given, l: &LoopFacts, values: &Values) -> Option<bool> {
        let mut known = Some(true);
        // what the inputs were made to keep
        for c in l.conditions.iter().filter(|c| c.met_by == MetBy::Assumed) {
            let holds = match &c.kind {
                ConditionKind::NoAlias(a, b) => self.apart(trace, a.symbol, b.symbol),
                kind => super::promised::is_kept(self.body, kind, &self.moved),
            };
            match holds {
                Some(false) => return Some(false),
                None => known = None,
                Some(true) => {}
            }
        }
        for c in l.conditions.iter().filter(|c| c.met_by == MetBy::RunTimeCheck) {
            let holds = match (&c.kind, &c.check) {
                (ConditionKind::DistinctRows(o), _) if call.apart && self.is_given_table(o.symbol) => {
                    Some(true)
                }
                (ConditionKind::NoAlias(a, b), _)
                    if call.apart && [a, b].iter().all(|o| self.is_given(o.symbol)) =>
                {
                    Some(true)
                }
                (ConditionKind::NoAlias(a, b), _) => self.apart(trace, a.symbol, b.symbol),
                // a run that threw is not judged here
                (
                    ConditionKind::Bounds { .. }
                    | ConditionKind::NotNull(_)
                    | ConditionKind::NonZero(_)
                    | ConditionKind::NoOverflow(_),
                    _,
                ) if self.body.semantics.checked_bounds => Some(true),
                // the interpreter has no other mode
                (ConditionKind::RoundsToNearest | ConditionKind::KeepsSmall, _) => Some(true),
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

    /// Whether the symbol is a parameter that keeps its value, or rows of one whose pointers nobody changes: in a call that shares
    /// nothing all of them are objects of their own.
    fn is_given(&self, s: SymbolId) -> bool {
        let is_param = matches!(self.body.symbols[s].storage, Storage::Param(_));
        is_param && !self.is_set(s) || self.is_given_table(s)
    }

    fn is_given_table(&self, rows: SymbolId) -> bool {
        let body = self.body;
        let row = body.path_term(rows).and_then(|t| body.row_of_table(t));
        let table = row.and_then(|r| body.as_symbol(r.table));
        let is_pointer = |t| matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. });
        let changes = |t| {
            let place = body.args(t).first().copied();
            body.op(t).is_write() && place.is_some_and(|p| body.as_symbol(p).is_none() && is_pointer(p))
        };
        table.is_some_and(|s| matches!(body.symbols[s].storage, Storage::Param(_)) && !self.is_set(s))
            && !body.walk(body.root).any(changes)
    }

    fn is_set(&self, s: SymbolId) -> bool {
        let body = self.body;
        let sets = |t| body.args(t).first().is_some_and(|&p| body.as_symbol(p) == Some(s));
        body.walk(body.root).any(|t| (body.op(t).is_write() || *body.op(t) == term::Op::AddrOf) && sets(t))
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

    /// Holds a claim to a run; whether all executions of the loop were judged.
    pub(super) fn claim(
        &self,
        call: &Given,
        trace: &Trace,
        id: LoopId,
        l: &LoopFacts,
        stats: &mut Stats,
    ) -> Result<bool, String> {
        let Some(t) = trace.of(l.term) else {
            return Err(format!("loop {id:?} was not watched"));
        };
        let holds: Vec<Option<bool>> = t
            .instances
            .iter()
            .map(|i| self.conditions(trace, call, l, &self.values_of(call, id, l, i)))
            .collect();
        if holds.is_empty() {
            return Ok(false);
        }
        if !holds.contains(&Some(true)) {
            if holds.contains(&None) {
                stats.condition_unknown += 1;
                if !holds.contains(&Some(false)) {
                    let (privates, asides) = self.set_apart(l, t);
                    match check_claim(trace, l.term, &privates, &asides) {
                        Ok(()) => stats.unrefuted += 1,
                        Err(r) => {
                            stats.undecided.push(format!("`{}`: {}", self.head(l), self.refutation(&r)))
                        }
                    }
                }
            } else {
                stats.condition_fails += 1;
            }
            return Ok(false);
        }
        stats.claims += 1;
        self.counting(call, id, l, t, &holds)?;
        let (privates, asides) = self.set_apart(l, t);
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
        let all = holds.iter().all(|h| *h == Some(true));
        refuted.map(|()| all).map_err(|r| {
            format!(
                "`{}` is said to be {}{}; called with {}: {}",
                self.head(l),
                verdict_name(l.verdict),
                self.set_aside(l),
                call.words,
                self.refutation(&r)
            )
        })
    }

    /// What a claim sets aside in this trace.
    fn set_apart(&self, l: &LoopFacts, t: &simulate::LoopTrace) -> (Vec<SymbolId>, Vec<Aside>) {
        let (privates, mut asides) = self.asides(l);
        // Where the header moves several variables, the trace does not know which of them counts.
        let own = |c: &&analysis::Control| t.index != Some(c.index);
        asides.extend(l.control.as_ref().ok().filter(own).map(|c| Aside::Variable(c.index)));
        (privates, asides)
    }

    /// Whether the index takes the values that the loop's header is said to give it.
    fn counting(
        &self,
        call: &Given,
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
            if l.granted.is_some() && self.left_early(c, i, &values) == Some(true) {
                return Err(format!(
                    "`{}` is left early, though its conditions hold; called with {}",
                    self.head(l),
                    call.words
                ));
            }
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
                            call.words
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the loop's condition held when it was last looked at; `None`: cannot be told.
    fn left_early(&self, c: &analysis::Control, i: &simulate::Instance, values: &Values) -> Option<bool> {
        if c.offset != 0 || c.at_least_once {
            return None;
        }
        let bound = match c.bound {
            Some(bound) => pred::term(self.body, bound, values, 0)?,
            None => 0,
        };
        let last = i128::from(*i.index.last()?);
        Some(match c.relation {
            BinOp::Lt => last < bound,
            BinOp::Le => last <= bound,
            BinOp::Gt => last > bound,
            BinOp::Ge => last >= bound,
            BinOp::Ne => last != bound,
            _ => return None,
        })
    }

    pub(super) fn set_aside(&self, l: &LoopFacts) -> String {
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
    pub(super) fn witness(
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
        let mut sizes: Vec<Option<i128>> = vec![None; self.parameters()];
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
                Param::Row(_) | Param::Longest(_) | Param::End { .. } => {
                    return not(stats, "a row's subscript")
                }
            }
        }
        self.given_sizes(&w.entry, &mut sizes);
        let size = |v: &Option<i128>| v.map_or(0, |v| v.unsigned_abs() as usize);
        largest = largest.max(sizes.iter().map(size).max().unwrap_or(0));
        if largest > 2000 {
            return not(stats, "large values");
        }
        let mut call = match (self.apart)(&sizes, largest) {
            Ok(c) => c,
            Err(why) => return not(stats, &why),
        };
        if let Err(why) = self.arrange(&w.entry, &mut call) {
            return not(stats, why);
        }
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
        let trace = match self.run(&mut call) {
            Ok(t) => t,
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
        // A structure moved as a whole is read when it is stored, which is where the run sees it read.
        let told = |t: TermId| {
            let whole = matches!(self.body.types.kind(self.body.ty(t)), TypeKind::Record(_));
            (!whole).then_some(t)
        };
        let query = WitnessQuery {
            kind: Some(match d.kind {
                analysis::DependenceKind::Flow => ConflictKind::Flow,
                analysis::DependenceKind::Anti => ConflictKind::Anti,
                analysis::DependenceKind::Output => ConflictKind::Output,
            }),
            source: told(d.source),
            sink: told(d.sink),
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
                call.words
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
                Param::Row(_) | Param::Longest(_) | Param::End { .. } => format!("a subscript={v}"),
            });
        }
        out.push(format!("cell {:?}", w.cell));
        out.join(" ")
    }

    /// How many parameters the function has.
    fn parameters(&self) -> usize {
        let last = self.body.symbols.iter().filter_map(|s| match s.storage {
            Storage::Param(n) => Some(n as usize + 1),
            _ => None,
        });
        last.max().unwrap_or(0)
    }
}

pub(super) fn fault_name(kind: &simulate::FaultKind) -> String {
    match kind {
        simulate::FaultKind::NotSupported { reason } => format!("not supported: {reason}"),
        simulate::FaultKind::BadCall { reason } => format!("bad call: {reason}"),
        k => kind_name(k),
    }
}
