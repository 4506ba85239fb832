//! The plan of a region: several nests with the statements around them, whose arrays stay on the device in between.
//!
//! Each nest has its own plan, made as for a loop alone. What the region adds is a plan without a kernel: the arrays with the
//! part that all nests use together, what is tested once before the first copy, and what every variable is called where the
//! host's statements run. Deliberately absent: which statements make a region ([`analysis::region`]).

use std::collections::BTreeMap;

use analysis::{Expr, LoopId, Offload, Pred, Region, Surely};
use term::{Op, SymbolId, TermId};

use super::build::Builder;
use super::pointers::Pointers;
use super::simplify;
use super::support::Support;
use super::{
    BufferPlan, Guard, Input, Kernel, MinMaxForm, Note, Plan, Reason, ReductionPlan, Refusal, RefusalKind,
    Scalar, Site, Stride, StrideSource, Test, TestKind, Zeros,
};

/// All decisions of a region's offload.
#[derive(Clone, Debug)]
pub struct RegionPlan<'a> {
    pub region: &'a Region,
    /// Arrays, tests and values where the region begins. Its kernel is none: it holds the names that variables have where the
    /// host's statements run.
    pub outer: Plan<'a>,
    /// In textual order.
    pub nests: Vec<Plan<'a>>,
}

/// What a region uses and tests, as a loop's needs are given.
pub fn region_needs(region: &Region) -> Offload {
    Offload {
        band: Vec::new(),
        lanes: 0,
        max_trips: Vec::new(),
        buffers: region.arrays.iter().map(|a| a.buffer.clone()).collect(),
        apart: Vec::new(),
        views: Vec::new(),
        walks: Vec::new(),
        inputs: Vec::new(),
        privates: Vec::new(),
        reductions: Vec::new(),
        inductions: Vec::new(),
        finals: Vec::new(),
        conditions: region.conditions.clone(),
        calls: Vec::new(),
        threads: None,
    }
}

/// Whether it is the part that has no elements.
fn is_empty(first: &Expr, last: &Expr) -> bool {
    let none =
        [simplify::under(last, &[]), simplify::under(&Expr::Add(vec![first.clone(), Expr::Int(-1)]), &[])];
    none[0] == none[1]
}

/// The least of several; of numbers the least number.
fn least(of: Vec<Expr>) -> Expr {
    let numbers: Option<Vec<i128>> = of.iter().map(super::constant).collect();
    match numbers.and_then(|n| n.into_iter().min()) {
        Some(n) => Expr::Int(n),
        None => Expr::Min(of),
    }
}

/// Each once, in order.
fn once<'e, T: Clone + PartialEq + 'e>(all: impl Iterator<Item = &'e T>) -> Vec<T> {
    let mut out: Vec<T> = Vec::new();
    for one in all {
        if !out.contains(one) {
            out.push(one.clone());
        }
    }
    out
}

/// What is said beside the region: of its nests, and which parts of arrays are found where it begins.
fn notes(nests: &[Plan<'_>], buffers: &[BufferPlan]) -> Vec<Note> {
    let found = buffers.iter().filter(|b| b.extent.as_ref().is_some_and(super::ends::is_found));
    let found: Vec<SymbolId> = found.map(|b| b.symbol).collect();
    let found = (!found.is_empty()).then_some(Note::SearchedOnce(found));
    once(found.iter().chain(nests.iter().flat_map(|n| &n.notes)))
}

/// The base of the names of what is planned from the input: its own name, or the next one that is free.
pub fn plan_name(input: &Input<'_>) -> String {
    Builder::new(input, input.body.root, Vec::new()).name()
}

/// Decides about a region, or says what cannot be. `input`: for the region, with [`region_needs`]; `nests`: the plans of its
/// nests, each with another name.
pub fn plan_region<'a>(
    input: &Input<'a>,
    region: &'a Region,
    nests: Vec<Plan<'a>>,
) -> Result<RegionPlan<'a>, Refusal> {
    let (body, Some(&first)) = (input.body, region.statements.first()) else {
        let reason = Reason { kind: RefusalKind::NotParallel, term: input.body.root };
        return Err(Refusal { reasons: vec![reason] });
    };
    let mut b = Builder::new(input, first, Vec::new());
    b.shown.clone_from(&region.shown);
    for (nest, id) in nests.iter().zip(&region.nests) {
        b.fits(region, nest, *id);
    }
    b.fits_methods(region, &nests);
    let outer = b.outer(region, &nests);
    match outer {
        Some(outer) if b.reasons.is_empty() => {
            // structs have one definition, and so one name
            let mut nests = nests;
            for (nest, id) in nests.iter_mut().zip(&region.nests) {
                nest.records.clone_from(&outer.records);
                let asked = |s| region.asked.iter().find(|a| (a.0, a.1) == (*id, s)).map(|a| a.2);
                let once: Vec<TestKind> = nest
                    .tests
                    .iter()
                    .filter(|t| nest.is_made_once(region, *id, &t.kind))
                    .map(|t| t.kind.clone())
                    .collect();
                nest.tests.retain(|t| !once.contains(&t.kind));
                nest.settle_in(&outer, &|s| region.tested.contains(&(*id, s)), &asked);
            }
            Ok(RegionPlan { region, outer, nests })
        }
        _ => {
            let mut reasons = b.reasons;
            if reasons.is_empty() {
                reasons.push(Reason { kind: RefusalKind::NotParallel, term: first });
            }
            reasons.sort_by_key(|r| body.span(r.term).start);
            Err(Refusal { reasons })
        }
    }
}

impl<'a> Builder<'_, 'a> {
    /// That a nest takes from the region and gives to it what the region has: variables of the function by value and by
    /// address, arrays that lie on the device, and nothing that is read from the host's memory.
    fn fits(&mut self, region: &Region, nest: &Plan<'a>, id: LoopId) {
        let (body, at) = (self.body, self.input.facts.loops[id].term);
        let walk = || region.statements.iter().flat_map(|&t| body.walk(t));
        let is_number_of = |s: SymbolId| body.types.is_arithmetic(body.symbols[s].ty);
        let declared = |s: SymbolId| is_number_of(s) && walk().any(|t| *body.op(t) == Op::Declare(s));
        let known = |s: SymbolId| region.scalars.iter().any(|k| k.symbol == s) || declared(s);
        let is_number = |t: TermId| {
            body.walk(t).all(|x| {
                !matches!(
                    body.op(x),
                    Op::Index | Op::Deref | Op::Member { .. } | Op::Call | Op::AddrOf | Op::SizeOf
                )
            })
        };
        for k in &nest.kernels {
            let read = k.scalars.iter().map(|s| s.symbol).chain(k.inductions.iter().map(|i| i.symbol));
            let is_own = |r: &ReductionPlan| {
                r.cell && region.arrays.iter().any(|a| a.own && a.buffer.symbol == r.symbol)
            };
            let left = k.reductions.iter().filter(|r| !is_own(r)).map(|r| r.symbol);
            let (cells, chosen): (Vec<_>, Vec<_>) =
                k.keyed.iter().flat_map(|k| &k.variables).partition(|v| v.cell);
            for v in cells {
                self.refuse(RefusalKind::ReductionCell, v.place);
            }
            let chosen = chosen.into_iter().map(|v| v.symbol);
            let finals = nest.finals.iter().map(|f| f.symbol);
            for s in read.chain(left).chain(chosen).chain(finals).filter(|&s| !known(s)) {
                self.refuse(RefusalKind::Unclassified(s), at);
            }
            // pointers that move lie in the host's memory, and so does what is searched
            let moves = k.views.iter().find(|v| v.moves).map(|v| v.symbol);
            let searched = nest.buffers.iter().find(|b| b.search.is_some()).map(|b| b.symbol);
            for s in moves.into_iter().chain(k.walks.iter().map(|w| w.symbol)).chain(searched) {
                self.refuse(RefusalKind::PointerValue(s), at);
            }
            // what blocks leave is put together on the device, or by the host
            let on_device = k.reductions.iter().all(is_own) && k.keyed.is_empty() && nest.finals.is_empty();
            let ordered = |r: &ReductionPlan| r.form == MinMaxForm::Ordered || r.zeros != Zeros::Alike;
            if let Some(r) = k.reductions.iter().find(|r| r.cell && (!on_device || ordered(r))) {
                self.refuse(RefusalKind::ReductionCell, r.place);
            }
            for d in &k.dims {
                let step = match &d.step {
                    analysis::Step::Term { term, .. } if d.step_on_host => Some(*term),
                    _ => None,
                };
                for t in [d.lower_on_host.then_some(d.lower), step].into_iter().flatten() {
                    if !is_number(t) {
                        self.refuse(RefusalKind::ReadsTooEarly, t);
                    }
                }
            }
            let moved = |s: SymbolId| region.exchanged.iter().any(|e| e.symbol == s);
            if let Some(v) = k.views.iter().find(|v| !v.declared_inside && (moved(v.symbol) || moved(v.into)))
            {
                self.refuse(RefusalKind::PointerValue(v.symbol), at);
            }
            // an index whose value is kept begins with what the host can tell
            let index = k.dims.first().filter(|d| nest.finals.iter().any(|f| f.symbol == d.index));
            if index.is_some_and(|d| d.shift != 0 || !is_number(d.lower)) {
                self.refuse(RefusalKind::LastValue(k.dims[0].index), at);
            }
        }
        // the region's own loads come before any of its loops
        if let Some(g) = nest.guards.first() {
            let read = match g {
                Guard::Enters { bound, .. } => *bound,
                Guard::Asserted(_) => at,
            };
            self.refuse(RefusalKind::ReadsTooEarly, read);
        }
        for v in &nest.values {
            match v.param {
                analysis::Param::Symbol(s) => match nest.first_values.get(&s) {
                    Some(&t) if is_number(t) => {}
                    None if known(s) => {}
                    _ => self.refuse(RefusalKind::Unclassified(s), at),
                },
                analysis::Param::Term(t) if is_number(t) => {}
                analysis::Param::Term(t) => self.refuse(RefusalKind::ReadsTooEarly, t),
                analysis::Param::Distance { from, .. } => self.refuse(RefusalKind::ReadsTooEarly, from),
                analysis::Param::Row(_) | analysis::Param::Longest(_) | analysis::Param::End { .. } => {}
            }
        }
        for t in &nest.tests {
            match t.kind {
                TestKind::FirstNotNegative(t) if !is_number(t) => self.refuse(RefusalKind::ReadsTooEarly, t),
                TestKind::RecordSize { symbol, .. } => self.refuse(RefusalKind::Unclassified(symbol), at),
                _ if nest.is_made_once(region, id, &t.kind) => {}
                // the host's array need not be what the device has
                TestKind::InRange { .. } | TestKind::Distinct(_) | TestKind::Sorted(_) => {
                    self.refuse(RefusalKind::Untestable, at)
                }
                _ => {}
            }
        }
    }

    fn outer(&mut self, region: &Region, nests: &[Plan<'a>]) -> Option<Plan<'a>> {
        let body = self.body;
        for fixed in ["ok", "block", "blocks", "grid"] {
            self.host_name(fixed);
        }
        let ranks = region.arrays.iter().map(|a| (a.buffer.symbol, a.buffer.rank()));
        let mut support = Support::new(body, ranks.collect(), Pointers::default());
        let mut positive: Vec<Expr> = Vec::new();
        for s in &region.sure {
            if let Surely::Positive(e) = s {
                let e = simplify::trips(e, &positive);
                positive.push(e);
            }
        }
        let mut strides = Vec::new();
        let mut buffers = self.buffers(&mut support, &mut strides, &positive);
        self.reasons.append(&mut support.reasons);
        self.settle(region, &mut buffers, &strides, &positive);
        let scalars: Vec<Scalar> = region
            .scalars
            .iter()
            .map(|s| Scalar { symbol: s.symbol, ty: body.symbols[s.symbol].ty })
            .collect();
        let mut tests = self.tests(&buffers, &scalars, &[], &[]);
        self.apart_as_nests(nests, region, &mut tests);
        // what the host does not have overlaps nothing of it
        let is_own = |k: &usize| buffers.get(*k).is_some_and(|b| b.own);
        tests.retain(|t| match &t.kind {
            TestKind::Extent(k) | TestKind::Outside { buffer: k, .. } => !is_own(k),
            TestKind::Apart(i, j) => !is_own(i) && !is_own(j),
            _ => true,
        });
        for e in positive.iter().filter(|e| !super::ends::found_count(e)) {
            let holds = Pred::NonNegative(Expr::Add(vec![e.clone(), Expr::Int(-1)]));
            tests.push(Test { kind: TestKind::Holds(holds), meets: None });
        }
        // that a part which is there at first has elements
        let parts = buffers.iter().filter_map(|b| b.part.as_ref().filter(|p| b.extent.as_ref() != Some(*p)));
        for (first, last) in parts {
            if is_empty(first, last) {
                continue;
            }
            let count = vec![last.clone(), Expr::Mul(-1, Box::new(first.clone()))];
            tests.push(Test { kind: TestKind::Holds(Pred::NonNegative(Expr::Add(count))), meets: None });
        }
        tests.extend(self.row_tests(&buffers, &positive));
        tests.extend(self.made_once(region, nests, &buffers));
        self.parts_back(&mut buffers, &positive, &mut tests);
        self.all_are_there(region, &mut tests);
        let ends = self.ends(region, (&buffers, &tests), &positive);
        let asked = super::ends::asked(&ends, nests);
        let values = self.values(&[], &buffers, &mut tests, (&[], &asked), &support);
        self.spoken(&values, &[]);
        let pointers: Vec<SymbolId> =
            region.exchanged.iter().filter(|e| !e.declared).map(|e| e.symbol).collect();
        let all = &region.statements;
        let is_exchanged = |s: SymbolId| region.exchanged.iter().any(|e| e.symbol == s);
        let mut names =
            self.kernel_names(&buffers, &scalars, &mut [], &pointers, &mut [], &[], &[], &[], all);
        for b in &mut buffers {
            // a table is where its rows are
            if let Some(name) = names.get(&b.symbol).cloned().filter(|_| is_exchanged(b.shown_by(body))) {
                names.insert(b.shown_by(body), name);
            }
            b.kernel_name = names.get(&b.symbol).cloned().unwrap_or_default();
        }
        let name = self.name();
        let records = once(nests.iter().flat_map(|n| &n.records));
        let notes = notes(nests, &buffers);
        Some(Plan {
            body,
            target: self.input.target,
            site: self.region_site(region)?,
            prefix: self.prefix.clone(),
            kernels: vec![Kernel::of_names(
                format!("{name}_steps"),
                names,
                scalars,
                *region.statements.first()?,
            )],
            name,
            buffers,
            values,
            ends,
            tests,
            guards: Vec::new(),
            first_values: BTreeMap::new(),
            finals: Vec::new(),
            records,
            functions: Vec::new(),
            notes,
        })
    }

    /// What goes to the device of each array and comes back, and what may come there later.
    fn settle(&mut self, region: &Region, buffers: &mut [BufferPlan], strides: &[Stride], positive: &[Expr]) {
        let body = self.body;
        let is_exchanged = |s: SymbolId| region.exchanged.iter().any(|e| e.symbol == s);
        // what is written under one of these names may lie where another shows
        let others = |is_table: bool| {
            let all =
                buffers.iter().filter(|b| b.rows.is_some() == is_table && is_exchanged(b.shown_by(body)));
            let arrays = |b: &BufferPlan| region.arrays.iter().find(|a| a.buffer.symbol == b.symbol);
            all.filter_map(arrays).any(|a| a.buffer.written)
        };
        let of_others = [others(false), others(true)];
        for b in buffers.iter_mut() {
            let Some(array) = region.arrays.iter().find(|a| a.buffer.symbol == b.symbol) else { continue };
            b.own = array.own;
            let of_others = is_exchanged(b.shown_by(body)) && of_others[usize::from(b.rows.is_some())];
            b.written = array.kept && (array.buffer.written || of_others);
            b.copy_in = !array.buffer.wholly_written;
            b.late = array.late;
            // whatever fails before all has arrived, the statements run again from what the arrays held
            b.staged = b.written && b.copy_in && b.rows.is_none();
            b.together(&array.parts, strides, positive);
            // lengths of rows are the nests' matter
            b.strides.iter_mut().for_each(|s| *s = StrideSource::Const(1));
        }
        if self.is_managed() {
            // all of each can be copied, whether or not all is used
            return self.whole_arrays(buffers);
        }
        self.growing(region, positive, buffers);
        self.ask(region, buffers);
    }

    /// Arrays of which more may be used than what surely is: those that stand under each other's names have room for the part of
    /// each, and all of them begin with their own.
    fn growing(&mut self, region: &Region, positive: &[Expr], buffers: &mut [BufferPlan]) {
        let is_exchanged = |s: SymbolId| region.exchanged.iter().any(|e| e.symbol == s);
        let mut ends: (Vec<Expr>, Vec<Expr>) = Default::default();
        for (first, last) in
            buffers.iter().filter(|b| is_exchanged(b.symbol)).filter_map(|b| b.extent.as_ref())
        {
            if is_empty(first, last) {
                continue;
            }
            if !ends.0.contains(first) {
                ends.0.push(first.clone());
            }
            if !ends.1.contains(last) {
                ends.1.push(last.clone());
            }
        }
        let one = |mut of: Vec<Expr>, several: fn(Vec<Expr>) -> Expr| match of.len() {
            1 => of.remove(0),
            _ => several(of),
        };
        let room = (one(ends.0, least), one(ends.1, Expr::Max));
        let room = (simplify::under(&room.0, positive), simplify::under(&room.1, positive));
        for b in buffers {
            let may_grow = region.tested.iter().any(|t| t.1 == b.symbol) || is_exchanged(b.symbol);
            if !may_grow || b.rows.is_some() {
                continue;
            }
            match is_exchanged(b.symbol) {
                // what a name shows is not known to be declared so
                true if b.extent.is_none() => self.refuse(RefusalKind::UnknownExtent(b.symbol), self.target),
                true => b.part = b.extent.replace(room.clone()),
                false => b.part.clone_from(&b.extent),
            }
            let is_none = b.part.as_ref().is_some_and(|(first, last)| is_empty(first, last));
            b.copy_in &= !(b.late || is_none);
            if b.written {
                b.staged = true;
            }
        }
    }

    /// From the first statement to the last.
    fn region_site(&self, region: &Region) -> Option<Site<'a>> {
        let site = self.site();
        let last = self.body.span(*region.statements.last()?);
        Some(Site { span: base::Span { end: last.end, ..site.span }, ..site })
    }
}

impl Plan<'_> {
    /// Counts elements as the region does, where its copies begin at a number.
    /// `is_tested`: whether the nest may use elements of an array that are not there yet.
    /// `asked`: the part of a table's rows that it may use though it is not there yet.
    fn settle_in(
        &mut self,
        outer: &Plan<'_>,
        is_tested: &dyn Fn(SymbolId) -> bool,
        asked: &dyn Fn(SymbolId) -> Option<usize>,
    ) {
        self.rows_as_in(outer, asked);
        for b in &mut self.buffers {
            let theirs = outer.buffers.iter().find(|o| o.symbol == b.symbol);
            if b.rows.is_some() {
                b.extent = theirs.and_then(|o| o.extent.clone());
                continue;
            }
            let is_managed = self.body.semantics.checked_bounds;
            b.part = b.extent.clone().filter(|_| is_tested(b.symbol) && !is_managed);
            if let Some(theirs) = theirs.filter(|o| o.constant_first().is_some()) {
                b.extent.clone_from(&theirs.extent);
            }
        }
        self.forget_limits();
        // the region has seen to what it has found
        let found = self.values.iter_mut().filter(|v| matches!(v.param, analysis::Param::End { .. }));
        found.for_each(|v| v.limit = None);
    }
}

impl Kernel {
    /// No kernel: what variables are called.
    fn of_names(
        name: String,
        names: BTreeMap<SymbolId, String>,
        scalars: Vec<Scalar>,
        body: TermId,
    ) -> Kernel {
        Kernel {
            name,
            dims: Vec::new(),
            block: [1, 1, 1],
            most_blocks: [1, 1, 1],
            scalars,
            choices: Vec::new(),
            strides: Vec::new(),
            privates: Vec::new(),
            reductions: Vec::new(),
            keyed: Vec::new(),
            atomics: Vec::new(),
            inductions: Vec::new(),
            views: Vec::new(),
            walks: Vec::new(),
            names,
            body,
            has_continue: false,
            for_pages: false,
            loop_indices: Vec::new(),
            threads: None,
            tables: Default::default(),
            checked: Default::default(),
        }
    }
}
