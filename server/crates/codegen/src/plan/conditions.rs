//! What the host tests before the launch.

use analysis::{ConditionKind, MetBy, Param, Pred, Search};
use term::{Body, IntKind, Op, Storage, SymbolId, TermId, TypeKind};

use super::build::Builder;
use super::{BufferPlan, Dim, Held, HostForm, Reason, RefusalKind, Scalar, Test, TestKind};
use crate::access::mentions;

impl<'a> Builder<'_, 'a> {
    /// What the host tests before it offloads.
    pub(super) fn tests(
        &mut self,
        buffers: &[BufferPlan],
        scalars: &[Scalar],
        held: &[Held],
        dims: &[Dim],
    ) -> Vec<Test> {
        let mut tests = Tests::default();
        self.sign_tests(dims, &mut tests);
        self.condition_tests(&mut tests);
        self.size_tests(buffers, scalars, &mut tests);
        self.overlap_tests(buffers, scalars, held, &mut tests);
        for (condition, kind) in self.promised(buffers) {
            if let Some(kind) = kind {
                tests.add(kind, Some(condition));
            }
        }
        match self.sorted(buffers) {
            Some(all) => all.into_iter().for_each(|(condition, kind)| tests.add(kind, Some(condition))),
            None => self.refuse(RefusalKind::Untestable, self.target),
        }
        tests.0
    }

    /// What memory the number of iterations comes out of.
    fn counted_by(&self, dims: &[Dim]) -> Vec<SymbolId> {
        let body = self.body;
        let mut params = Vec::new();
        dims.iter().for_each(|d| super::bounds::params(&d.trips, &mut params));
        let mut out: Vec<SymbolId> = Vec::new();
        for p in params {
            match p {
                Param::Symbol(s) => out.push(s),
                Param::Term(t) => out.extend(bases(body, t)),
                _ => {}
            }
        }
        out
    }

    /// Refuses a search that could read what the loop would have changed by then, before it is known that it changes nothing of it: one
    /// whose elements, or the number of iterations, decide what else it reads, and which an array that is looked for no earlier may
    /// overlap. (What is written as a floating-point number is no number of iterations: C11 6.5p7.)
    pub(super) fn searches_in_order(&mut self, buffers: &[BufferPlan], tests: &[Test], dims: &[Dim]) {
        let counted = self.counted_by(dims);
        let may_count = |k: usize| {
            let kind = buffers.get(k).map(|b| self.body.types.kind(b.element));
            !matches!(kind, Some(TypeKind::Float(_) | TypeKind::Pointer { .. }))
        };
        for b in buffers {
            let Some(search) = &b.search else { continue };
            // what shows a part of another array has no name where the search is written
            if search.reads.iter().any(|r| buffers.iter().all(|b| b.symbol != *r)) {
                self.refuse(RefusalKind::UnknownExtent(b.symbol), self.target);
                return;
            }
            let mut counted = counted.clone();
            counted.extend(by_memory(self.body, search));
            let is_late =
                |k: usize| buffers.get(k).is_some_and(|w| w.written && w.rank(buffers) >= b.rank(buffers));
            let is_read = |k: usize| buffers.get(k).is_some_and(|r| search.reads.contains(&r.symbol));
            let late = tests.iter().find_map(|t| match t.kind {
                TestKind::Apart(i, j) => {
                    let symbol = |k: usize| buffers.get(k).map(|b| b.symbol);
                    let proved =
                        symbol(i).zip(symbol(j)).is_some_and(|(a, b)| self.input.offload.are_apart(a, b));
                    let counts = |r: usize, w: usize| {
                        let of = symbol(r).is_some_and(|s| counted.contains(&s));
                        of && may_count(w) && !search.reads.is_empty()
                    };
                    let meets = |&(r, w): &(usize, usize)| {
                        !proved && (search.chained && is_read(r) || counts(r, w)) && is_late(w)
                    };
                    let written = [(i, j), (j, i)].into_iter().find(meets)?.1;
                    Some(buffers.get(written)?.symbol)
                }
                TestKind::Outside { symbol, buffer } => {
                    let decides = search.inputs.contains(&symbol) || counted.contains(&symbol);
                    let of = buffers.get(buffer);
                    let proved = of.is_some_and(|b| self.input.offload.are_apart(symbol, b.symbol));
                    (decides && !proved && !search.reads.is_empty() && is_late(buffer)).then_some(symbol)
                }
                _ => None,
            });
            if let Some(symbol) = late {
                self.reasons.push(Reason { kind: RefusalKind::UntestableOverlap(symbol), term: self.target });
                // the others are the same array's
                return;
            }
        }
    }

    /// That comparisons of an index with what has no sign mean what they say.
    fn sign_tests(&mut self, dims: &[Dim], tests: &mut Tests) {
        let body = self.body;
        for d in dims {
            let Some(condition) = body.loop_parts(d.term).and_then(|p| p.condition) else { continue };
            let Some(bound) = d.bound else { continue };
            let kinds: Vec<IntKind> =
                body.args(condition).iter().filter_map(|&a| body.types.as_int(body.ty(a))).collect();
            let unsigned = kinds.len() == 2 && !kinds[0].common(kinds[1]).signed();
            if unsigned && d.index_type.signed() && body.as_int(d.lower).is_none_or(|v| v < 0) {
                if dims.iter().any(|o| mentions(body, d.lower, o.index)) {
                    self.reasons.push(Reason { kind: RefusalKind::MixedSigns(d.index), term: condition });
                } else {
                    tests.add(TestKind::FirstNotNegative(d.lower), None);
                }
            }
            let bound_signed = body.types.as_int(body.ty(bound)).is_some_and(|k| k.promoted().signed());
            if unsigned && !d.rectangular && bound_signed {
                self.reasons.push(Reason { kind: RefusalKind::MixedSigns(d.index), term: condition });
            }
        }
    }

    /// The conditions that the loop's facts rest on.
    fn condition_tests(&mut self, tests: &mut Tests) {
        // By value first: what comes after may rely on it.
        for c in &self.input.offload.conditions {
            if c.met_by == MetBy::Proof {
                continue;
            }
            // rows that the kernel has are kept apart below
            let buffers = &self.input.offload.buffers;
            if let ConditionKind::DistinctRows(o) = &c.kind {
                if buffers.iter().any(|b| b.symbol == o.symbol && b.rows.is_some()) {
                    continue;
                }
            }
            if self.is_managed() {
                match &c.kind {
                    // the kernel notices that there is no row
                    ConditionKind::NotNull(t) if self.is_row(*t) => continue,
                    ConditionKind::NotNull(t) => {
                        match self.looked_into(*t) {
                            Some(array) => tests.add(TestKind::NotNull(array), Some(c.kind.clone())),
                            None => self.refuse(RefusalKind::Host(HostForm::Reference), *t),
                        }
                        continue;
                    }
                    // the kernel notices it
                    _ if c.is_seen_while_it_runs() => continue,
                    _ => {}
                }
            }
            match (&c.kind, &c.check, c.met_by) {
                (ConditionKind::NoAlias(..) | ConditionKind::Reassociate(..), _, _) => {}
                (_, Some(Pred::True), _) => {}
                (ConditionKind::RoundsToNearest | ConditionKind::KeepsSmall, _, _) => {
                    tests.add(TestKind::RoundsToNearest, Some(c.kind.clone()))
                }
                // what can be tested of it is, see `promises`
                (ConditionKind::Sorted(_) | ConditionKind::AtMost { .. }, _, _) | (_, _, MetBy::Assumed) => {}
                (kind, Some(p), MetBy::RunTimeCheck) => {
                    tests.add(TestKind::Holds(p.clone()), Some(kind.clone()))
                }
                _ => self.reasons.push(Reason {
                    kind: RefusalKind::Untestable,
                    term: condition_term(&c.kind, self.target),
                }),
            }
        }
    }

    /// That records are as large here as on the device, and that extents can be copied.
    fn size_tests(&self, buffers: &[BufferPlan], scalars: &[Scalar], tests: &mut Tests) {
        let body = self.body;
        for s in scalars.iter().filter(|s| matches!(body.types.kind(s.ty), TypeKind::Record(_))) {
            if let Some((bytes, _)) = body.types.size_align(s.ty) {
                tests.add(TestKind::RecordSize { symbol: s.symbol, bytes }, None);
            }
        }
        for (k, b) in buffers.iter().enumerate() {
            let record = matches!(body.types.kind(b.element), TypeKind::Record(_));
            if record || b.constant_count().is_none_or(|c| c <= 0 || c > 1 << 40) {
                tests.add(TestKind::Extent(k), None);
            }
        }
    }

    /// That what has a copy of its own on the device shares no cells with others.
    fn overlap_tests(
        &mut self,
        buffers: &[BufferPlan],
        scalars: &[Scalar],
        held: &[Held],
        tests: &mut Tests,
    ) {
        let body = self.body;
        let at = |s: SymbolId| buffers.iter().position(|b| b.symbol == s);
        let declared_array =
            |s: SymbolId| matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. });
        let mut rows = RowsApart::of(self.followed(buffers), buffers);
        for c in self.input.offload.conditions.iter().filter(|c| c.met_by != MetBy::Proof) {
            if rows.meets(body, c, held) {
                continue;
            }
            let ConditionKind::NoAlias(a, b) = &c.kind else { continue };
            let kind = match (at(a.symbol), at(b.symbol)) {
                (Some(i), Some(j)) if i != j => TestKind::Apart(i.min(j), i.max(j)),
                (Some(i), None) if is_plain_variable(body, b.symbol) => {
                    TestKind::Outside { symbol: b.symbol, buffer: i }
                }
                (None, Some(j)) if is_plain_variable(body, a.symbol) => {
                    TestKind::Outside { symbol: a.symbol, buffer: j }
                }
                // An accumulator's cell is kept apart below.
                _ if [a, b].iter().any(|o| {
                    at(o.symbol).is_none() && held.iter().any(|r| r.cell && r.symbol == o.symbol)
                }) =>
                {
                    continue
                }
                // Neither is used by the kernel: nothing to keep apart.
                (None, None) => continue,
                _ if c.met_by == MetBy::Assumed => continue,
                _ => {
                    self.reasons
                        .push(Reason { kind: RefusalKind::UntestableOverlap(a.symbol), term: self.target });
                    continue;
                }
            };
            tests.add(kind, Some(c.kind.clone()));
        }
        // Each buffer gets a copy of its own: right only if no other shows the same cells and either is written.
        for i in 0..buffers.len() {
            for j in i + 1..buffers.len() {
                let (a, b) = (&buffers[i], &buffers[j]);
                let both_arrays = declared_array(a.symbol) && declared_array(b.symbol);
                if a.rows.is_some() || b.rows.is_some() {
                    rows.is_needed |= a.written || b.written;
                    continue;
                }
                if (a.written || b.written) && !both_arrays && !self.restrict_parts(a.symbol, b.symbol) {
                    tests.add(TestKind::Apart(i, j), None);
                }
            }
        }
        let reachable = |s: SymbolId| !body.symbols[s].is_own_scalar();
        for (k, b) in buffers.iter().enumerate().filter(|(_, b)| !declared_array(b.symbol)) {
            for s in scalars.iter().filter(|s| b.written && reachable(s.symbol)) {
                if b.rows.is_some() {
                    rows.variable(s.symbol);
                    continue;
                }
                tests.add(TestKind::Outside { symbol: s.symbol, buffer: k }, None);
            }
            for r in held.iter().filter(|r| !r.cell && reachable(r.symbol)) {
                if b.rows.is_some() {
                    rows.variable(r.symbol);
                    continue;
                }
                tests.add(TestKind::Outside { symbol: r.symbol, buffer: k }, None);
            }
        }
        for kind in self.cell_tests(buffers, scalars, held) {
            match kind {
                TestKind::CellInVariable { symbol, .. } if !self.is_addressable(symbol) => self
                    .reasons
                    .push(Reason { kind: RefusalKind::UntestableOverlap(symbol), term: self.target }),
                TestKind::CellInBuffer { buffer, .. }
                    if buffers.get(buffer).is_some_and(|b| b.rows.is_some()) => {}
                kind => tests.add(kind, None),
            }
        }
        rows.cells.extend((0..held.len()).filter(|&k| held[k].cell));
        let is_needed = rows.is_needed || !rows.cells.is_empty() && rows.is_any;
        if let Some(&s) = rows.variables.iter().find(|&&s| is_needed && !self.is_addressable(s)) {
            self.reasons.push(Reason { kind: RefusalKind::UntestableOverlap(s), term: self.target });
        }
        if is_needed {
            tests.add(TestKind::RowsApart { variables: rows.variables, cells: rows.cells }, rows.meets);
        }
    }
}

/// The test that rows overlap nothing, in the making.
struct RowsApart<'b> {
    buffers: &'b [BufferPlan],
    /// Memory with pointers to rows.
    followed: std::collections::BTreeSet<SymbolId>,
    is_any: bool,
    /// Whether anything of it is written.
    is_needed: bool,
    variables: Vec<SymbolId>,
    cells: Vec<usize>,
    meets: Option<ConditionKind>,
}

impl RowsApart<'_> {
    fn of(followed: std::collections::BTreeSet<SymbolId>, buffers: &[BufferPlan]) -> RowsApart<'_> {
        let is_any = buffers.iter().any(|b| b.rows.is_some());
        let is_needed = buffers.iter().any(|b| b.rows.is_some() && b.written)
            || is_any && buffers.iter().any(|b| b.written);
        RowsApart {
            buffers,
            followed,
            is_any,
            is_needed,
            variables: Vec::new(),
            cells: Vec::new(),
            meets: None,
        }
    }

    fn variable(&mut self, s: SymbolId) {
        self.is_needed = true;
        if !self.variables.contains(&s) {
            self.variables.push(s);
        }
    }

    /// Whether the condition is one that the test meets.
    fn meets(&mut self, body: &Body, c: &analysis::Condition, held: &[Held]) -> bool {
        // an inner loop's row that stays the same is one of them
        let family = |s: SymbolId| body.path_term(s).and_then(|t| body.path_of(t)).map(|p| p.family);
        let is_rows = |s: SymbolId| {
            let of_rows = |b: &BufferPlan| b.rows.is_some() && (b.symbol == s || Some(b.symbol) == family(s));
            self.followed.contains(&s) || self.buffers.iter().any(of_rows)
        };
        // what others can reach may be changed itself, where characters are written
        let may_move = |s: SymbolId| {
            let is_pointer = matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. });
            is_pointer && body.symbols[s].storage != Storage::Path && !body.symbols[s].is_own_scalar()
        };
        let others = match &c.kind {
            ConditionKind::NoAlias(a, b)
                if [a, b].iter().any(|o| self.followed.contains(&o.symbol) && may_move(o.symbol)) =>
            {
                return false;
            }
            ConditionKind::DistinctRows(o) if is_rows(o.symbol) => Vec::new(),
            ConditionKind::NoAlias(a, b) if is_rows(a.symbol) || is_rows(b.symbol) => {
                vec![a.symbol, b.symbol]
            }
            _ => return false,
        };
        for s in others.into_iter().filter(|s| !is_rows(*s)).collect::<Vec<_>>() {
            let is_buffer = self.buffers.iter().any(|b| b.symbol == s);
            let is_cell = held.iter().any(|r| r.cell && r.symbol == s);
            match () {
                () if is_buffer || is_cell => {}
                () if is_plain_variable(body, s) => self.variable(s),
                () => return false,
            }
        }
        self.is_needed = true;
        if self.meets.is_none() {
            self.meets = Some(c.kind.clone());
        }
        true
    }
}

/// What an expression names.
fn bases(body: &Body, t: TermId) -> impl Iterator<Item = SymbolId> + '_ {
    body.walk(t).flat_map(move |x| body.as_symbol(x).into_iter().chain(body.path_of(x).map(|p| p.own)))
}

/// What the numbers in the steps of a search come out of that are no elements of arrays: `s->m`, `*m`.
fn by_memory<'b>(body: &'b Body, search: &Search) -> impl Iterator<Item = SymbolId> + 'b {
    let loads = |x: &TermId| matches!(body.op(*x), Op::Deref | Op::Member { arrow: true, .. });
    let terms = search.terms().into_iter();
    terms.flat_map(move |t| body.walk(t).filter(loads)).flat_map(|load| bases(body, load))
}

/// Tests, each once.
#[derive(Default)]
struct Tests(Vec<Test>);

impl Tests {
    /// `meets`: the condition that it is for.
    fn add(&mut self, kind: TestKind, meets: Option<ConditionKind>) {
        match self.0.iter_mut().find(|t| t.kind == kind) {
            Some(t) => t.meets = t.meets.take().or(meets),
            None => self.0.push(Test { kind, meets }),
        };
    }
}

/// A variable that has an address of its own: neither array nor pointed to.
fn is_plain_variable(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    matches!(
        symbol.storage,
        Storage::Param(_) | Storage::Local | Storage::StaticLocal { .. } | Storage::Global { .. }
    ) && matches!(body.types.kind(symbol.ty), TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Record(_))
}

fn condition_term(kind: &ConditionKind, otherwise: TermId) -> TermId {
    match kind {
        ConditionKind::NoWrap(t)
        | ConditionKind::Injective(t)
        | ConditionKind::Sorted(t)
        | ConditionKind::AtMost { array: t, .. }
        | ConditionKind::Asserted(t)
        | ConditionKind::StepSign(t)
        | ConditionKind::Terminates(t)
        | ConditionKind::Bounds { access: t, .. }
        | ConditionKind::InRow { access: t, .. } => *t,
        _ => otherwise,
    }
}
