//! Makes the plan, or says why there is none.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use analysis::{Cells, Control, Expr, LoopFacts, Param, Verdict, MAX_THREADS_OWN};
use term::device::{AtomicOp, Index, Scope, Tally, Word};
use term::{Body, Op, Origin, Semantics, SymbolId, TermId, TypeKind};

use super::deepest::deepest;
use super::functions::device_functions;
use super::keyed::names_cell;
use super::memory::memory;
use super::names::{free_prefix, Namer};
use super::refuse::{Reason, Refusal, RefusalKind};
use super::support::{Support, MAX_DEPTH};
use super::{
    held, AtomicKind, AtomicPlan, BufferPlan, DeviceFunction, Dim, FunctionTrouble, Guard, HostForm,
    InductionPlan, Input, Kernel, KeyedPlan, Note, Plan, ReductionPlan, Scalar, Site, BLOCK_THREADS,
};

/// Decides everything about the offload, or refuses with all reasons found.
pub fn plan<'a>(input: &Input<'a>) -> Result<Plan<'a>, Refusal> {
    let body = input.body;
    let one = |kind, term| Err(Refusal { reasons: vec![Reason { kind, term }] });
    let loops = &input.facts.loops;
    let Some(first) = input.offload.band.first().and_then(|&l| loops.get(l)) else {
        return one(RefusalKind::NotParallel, body.root);
    };
    let target = first.term;
    let is_known = body.semantics == Semantics::C || body.semantics == Semantics::CSHARP;
    if let Some(said) = body.walk(target).find(|&t| body.says_of_overflow(t)) {
        return one(RefusalKind::Host(HostForm::Checked), said);
    }
    if !is_known {
        return one(RefusalKind::Semantics, target);
    }
    if body.origin(target) == Origin::Macro || input.text.get(body.span(target).range()).is_none() {
        return one(RefusalKind::InMacro, target);
    }
    let dimensions = match &input.offload.threads {
        Some(code) => code.ids,
        None => input.offload.band.len(),
    };
    if !(1..=3).contains(&dimensions) || input.offload.max_trips.len() != dimensions {
        return one(RefusalKind::NotParallel, target);
    }
    let mut band: Vec<(&LoopFacts, &Control)> = Vec::new();
    for &l in &input.offload.band {
        match loops.get(l).map(|f| (f, &f.control)) {
            Some((f, Ok(c))) if body.op(f.term).is_loop() => band.push((f, c)),
            _ => return one(RefusalKind::NotParallel, target),
        }
    }
    // Statements spread by a thread map need no parallel loop.
    let threads = input.offload.threads.is_some() && input.offload.band.len() == 1;
    if !threads && !matches!(first.verdict, Verdict::Independent | Verdict::Reduction) {
        return one(RefusalKind::NotParallel, target);
    }
    if deepest(body, input.offload, target) > MAX_DEPTH {
        return one(RefusalKind::TooDeep, target);
    }
    let mut b = Builder::new(input, target, band);
    b.build();
    b.finish()
}

pub(super) struct Builder<'i, 'a> {
    pub(super) input: &'i Input<'a>,
    pub(super) body: &'a Body,
    pub(super) target: TermId,
    pub(super) band: Vec<(&'a LoopFacts, &'a Control)>,
    pub(super) reasons: Vec<Reason>,
    pub(super) host: Namer,
    pub(super) prefix: String,
    pub(super) parents: Vec<Option<TermId>>,
    /// Pointers that show a structure wherever what is planned runs.
    pub(super) shown: Vec<SymbolId>,
    /// What must hold for what was found to be read.
    pub(super) guards: RefCell<Vec<Guard>>,
    plan: Option<Plan<'a>>,
}

impl<'i, 'a> Builder<'i, 'a> {
    pub(super) fn new(input: &'i Input<'a>, target: TermId, band: Vec<(&'a LoopFacts, &'a Control)>) -> Self {
        Builder {
            input,
            body: input.body,
            target,
            band,
            reasons: Vec::new(),
            host: Namer::default(),
            prefix: free_prefix(input.body, target),
            parents: input.body.parents(),
            shown: Vec::new(),
            guards: RefCell::default(),
            plan: None,
        }
    }

    pub(super) fn refuse(&mut self, kind: RefusalKind, term: TermId) {
        let r = Reason { kind, term };
        if !self.reasons.contains(&r) {
            self.reasons.push(r);
        }
    }

    /// Refuses by their names what the kernel would need and the target does not have.
    fn words(&mut self, partials: bool, atomics: &[AtomicPlan]) {
        let row = self.input.target;
        let mut wanted: Vec<(Word, TermId)> =
            [Index::Thread, Index::Block, Index::BlockSize, Index::GridSize]
                .map(|i| (Word::Index(i), self.target))
                .to_vec();
        if partials {
            wanted.push((Word::Barrier(Scope::Block, Tally::Nothing), self.target));
        }
        for a in atomics {
            let by_exchange = a.kind == AtomicKind::SignedWide && row.without_signed_wide.contains(&a.op);
            let op = if by_exchange { AtomicOp::CompareExchange } else { a.op };
            wanted.push((Word::Atomic(Some(op), Scope::Device), a.statement));
        }
        for (word, term) in wanted {
            if row.spelling(word).is_none() {
                self.refuse(RefusalKind::NoWord(word), term);
            }
        }
    }

    fn finish(self) -> Result<Plan<'a>, Refusal> {
        let mut reasons = self.reasons;
        match self.plan {
            Some(plan) if reasons.is_empty() => Ok(plan),
            _ => {
                if reasons.is_empty() {
                    reasons.push(Reason { kind: RefusalKind::NotParallel, term: self.target });
                }
                let body = self.body;
                reasons.sort_by_key(|r| body.span(r.term).start);
                // Of the same thing said of several places, the first.
                let mut seen: Vec<RefusalKind> = Vec::new();
                reasons.retain(|r| {
                    let new = !seen.contains(&r.kind);
                    seen.push(r.kind.clone());
                    new
                });
                Err(Refusal { reasons })
            }
        }
    }

    pub(super) fn host_name(&mut self, wish: &str) -> String {
        let name = format!("{}{wish}", self.prefix);
        self.host.fresh(&name)
    }

    /// The functions the kernel calls, for the device.
    fn functions(&mut self, support: &mut Support<'a>) -> Vec<DeviceFunction> {
        let body = self.body;
        let functions = match device_functions(self.input.program, body, &support.functions) {
            Ok(f) => f,
            Err((f, at, name, why)) => {
                self.refuse(RefusalKind::Function(f, name, why), at);
                return Vec::new();
            }
        };
        // A struct has one definition in the file: the one that the loop's own function sees.
        for f in &functions {
            for &r in &f.records {
                let theirs = f.body.types.record(r);
                let ours = body.types.ids().find(|&t| match body.types.kind(t) {
                    TypeKind::Record(o) => body.types.record(*o).name == theirs.name,
                    _ => false,
                });
                match ours {
                    Some(ty) => support.value_type(ty, f.called_at),
                    None => {
                        let s = body.as_symbol(body.args(f.called_at)[0]);
                        if let Some(s) = s {
                            let kind = RefusalKind::Function(s, f.name.clone(), FunctionTrouble::Type);
                            self.refuse(kind, f.called_at);
                        }
                    }
                }
            }
            for t in f.body.walk(f.body.root).filter(|&t| *f.body.op(t) == Op::Call) {
                let math = f.body.args(t).first().and_then(|&g| f.body.as_symbol(g));
                let math = math.filter(|g| f.body.library.contains(g)).map(|g| &f.body.symbols[g].name);
                let known = math.and_then(|m| body.symbols.iter_ids().find(|(_, s)| s.name == *m));
                support.calls.extend(known.map(|k| k.0));
            }
        }
        functions
    }

    fn build(&mut self) {
        let (body, offload) = (self.body, self.input.offload);
        for fixed in ["ok", "block", "blocks", "grid"] {
            self.host_name(fixed);
        }

        // What the kernel uses.
        let ranks: BTreeMap<SymbolId, usize> = memory(body, offload).map(|b| (b.symbol, b.rank())).collect();
        let pointers = self.pointers(ranks.clone());
        let mut support = Support::new(body, ranks, pointers.clone()).in_loops(self.target);
        support.cells = self.cell_places();
        let Some(inner) = self.band.last().and_then(|b| body.loop_parts(b.0.term)).map(|p| p.body) else {
            return;
        };
        let threads = offload.threads.as_ref();
        match threads {
            Some(code) => self.thread_support(code, &mut support),
            None => support.visit(inner),
        }

        // What it is given, and what comes back.
        let first_values = self.first_values();
        let mut dims = match threads {
            Some(_) => self.thread_dims(),
            None => self.dims(&mut support),
        };
        let mut strides = Vec::new();
        // Everything after the trip counts is only evaluated where they are positive.
        let positive: Vec<Expr> = dims.iter().map(|d| d.trips.clone()).collect();
        let mut buffers = self.buffers(&mut support, &mut strides, &positive);
        let mut reductions = self.reductions(&support);
        let atomics = self.atomics();
        let mut keyed = self.keyed(&support);
        let inductions = self.inductions();
        let walks = self.walks(&pointers);
        let partials = !reductions.is_empty() || !keyed.is_empty();
        let each = buffers.iter().any(|b| b.each.is_some());
        if partials || each {
            dims.iter_mut().for_each(|d| d.strided = true);
        }
        let roles = self.roles(&reductions, &keyed, &inductions, &dims);
        for &s in roles.reduced.iter().chain(&roles.chosen) {
            support.used.entry(s).or_insert(self.target);
        }
        self.limits_used(&mut support);
        let (scalars, mut privates) = self.variables(&support, &roles, &dims);
        if threads.is_some() {
            // Temporaries live as long as the thread; their declarations have become assignments.
            privates.extend(support.declared.keys().copied());
            privates.sort_unstable();
            privates.dedup();
        }
        let views = pointers.used(&support);
        // What only the host reads (a bound's memory, say) needs no copy, but may not be overwritten either.
        for b in &mut buffers {
            b.on_device = b.written || support.buffers.contains(&b.symbol);
        }
        self.whole_rows(&mut buffers);
        self.check_each(&buffers, &views, inner);
        self.device_types(&mut support, &roles.chosen, &privates, &buffers);
        let functions = self.functions(&mut support);
        let checked = self.checked(&mut buffers, inner, &functions, &mut support);
        self.reasons.append(&mut support.reasons);

        // What the host tests, computes and says.
        let mut notes = self.notes(&reductions, &support);
        let searched: Vec<SymbolId> =
            buffers.iter().filter(|b| b.search.is_some()).map(|b| b.symbol).collect();
        notes.extend((!searched.is_empty()).then_some(Note::Searched(searched)));
        notes.extend(self.relied_on(&buffers));
        let mut tests = self.tests(&buffers, &scalars, &held(&reductions, &keyed), &dims);
        if let Some(code) = threads {
            self.thread_tests(code, &mut tests);
        }
        tests.extend(self.row_tests(&buffers, &positive));
        self.host_forms(&buffers, &scalars, &reductions, &keyed, &mut tests);
        self.parts_back(&mut buffers, &positive, &mut tests);
        self.searches_in_order(&buffers, &tests, &dims);
        let finals = self.finals(&positive);
        let steps: Vec<Expr> = offload.walks.iter().map(|w| w.step.clone()).collect();
        let choices = self.choices(&support);
        let asked = choices.iter().map(|c| Expr::Param(Param::Term(c.term)));
        let others: Vec<Expr> = steps.iter().cloned().chain(asked).collect();
        let values = self.values(&dims, &buffers, &mut tests, (&finals, &others), &support);

        // How it is written.
        let has_continue = threads.is_none() && body.has_own_continue(inner);
        let thread_plan = threads.map(|code| self.thread_plan(code, &dims));
        let name = self.name();
        let mut names = self.kernel_names(
            &buffers,
            &scalars,
            &mut reductions,
            &privates,
            &mut keyed,
            &inductions,
            &views,
            &dims,
            &[inner],
        );
        for b in &mut buffers {
            b.kernel_name = names.get(&b.symbol).cloned().unwrap_or_default();
        }
        for v in views.iter().filter(|v| v.into == v.symbol) {
            names.insert(v.symbol, self.position_name(&names, v.symbol));
        }
        let (block, most_blocks) = self.launch_shape(dims.len(), partials || each);
        self.words(partials, &atomics);
        self.spoken(&values, &dims);
        self.plan = Some(Plan {
            guards: self.guards.take(),
            ends: Vec::new(),
            body,
            target: self.input.target,
            site: self.site(),
            prefix: self.prefix.clone(),
            kernels: vec![Kernel {
                name: format!("{name}_kernel"),
                dims,
                block,
                most_blocks,
                scalars,
                choices,
                strides,
                privates,
                reductions,
                keyed,
                atomics,
                inductions,
                walks,
                views,
                names,
                body: inner,
                has_continue,
                for_pages: false,
                loop_indices: Vec::new(),
                threads: thread_plan,
                tables: pointers.tables,
                checked,
            }],
            name,
            buffers,
            values,
            tests,
            first_values,
            finals,
            records: support.records,
            functions,
            notes,
        });
    }

    /// What facts say of the loop's variables.
    fn roles(
        &self,
        reductions: &[ReductionPlan],
        keyed: &[KeyedPlan],
        moved: &[InductionPlan],
        dims: &[Dim],
    ) -> Roles {
        Roles {
            reduced: reductions.iter().filter(|r| !r.cell).map(|r| r.symbol).collect(),
            chosen: (keyed.iter().flat_map(|k| &k.variables)).filter(|v| !v.cell).map(|v| v.symbol).collect(),
            moved: moved.iter().map(|i| i.symbol).collect(),
            indices: match &self.input.offload.threads {
                Some(code) => self.thread_indices(code),
                None => dims.iter().map(|d| d.index).collect(),
            },
        }
    }

    /// Every variable a kernel uses must be of one kind: the scalars that it is given, and the variables that each thread has
    /// for itself, among those that are not declared in the kernel's text.
    fn variables(
        &mut self,
        support: &Support<'_>,
        roles: &Roles,
        dims: &[Dim],
    ) -> (Vec<Scalar>, Vec<SymbolId>) {
        let (body, offload) = (self.body, self.input.offload);
        let private: BTreeSet<SymbolId> = offload.privates.iter().map(|p| p.symbol).collect();
        let begun: BTreeSet<SymbolId> = (offload.privates.iter().filter(|p| p.copied_in).map(|p| p.symbol))
            .chain(offload.reductions.iter().filter(|r| names_cell(offload, r)).map(|r| r.object.symbol))
            .collect();
        let (mut scalars, mut privates) = (Vec::new(), Vec::new());
        for (&s, &t) in &support.used {
            let written = support.written.get(&s).copied();
            let scalar = Scalar { symbol: s, ty: body.symbols[s].ty };
            if support.declared.contains_key(&s) || roles.has_result(s) {
                if begun.contains(&s) {
                    scalars.push(scalar);
                }
                continue;
            }
            if roles.indices.contains(&s) {
                let own = dims.iter().any(|d| d.index == s && d.moves_inside) && dims.len() == 1;
                if let Some(w) = written.filter(|_| !own) {
                    self.refuse(RefusalKind::Unclassified(s), w);
                }
            } else if private.contains(&s) {
                // of what is `static` nobody reads what the loop leaves, or it would be kept
                let storage = body.symbols[s].storage;
                let left = |p: &&analysis::Private| p.symbol == s && (p.kept || p.copied_in);
                let own = storage.is_of_call()
                    || body.types.is_arithmetic(scalar.ty)
                        && storage.is_static_local()
                        && !offload.privates.iter().any(|p| left(&p));
                match (own, begun.contains(&s)) {
                    // Passed by value: each thread then has its own, as it is before the loop.
                    (true, true) => match self.not_passed_by_value(s) {
                        None => scalars.push(scalar),
                        Some(why) => self.refuse(why, t),
                    },
                    (true, false) => privates.push(s),
                    (false, _) => self.refuse(RefusalKind::Unclassified(s), t),
                }
            } else if let Some(w) = written {
                self.refuse(RefusalKind::Unclassified(s), w);
            } else if offload.inputs.contains(&s)
                || body.symbols[s].is_own_scalar()
                || offload.buffers.iter().any(|b| b.symbol == s && !b.written)
            {
                scalars.push(scalar);
            } else {
                self.refuse(RefusalKind::Unclassified(s), t);
            }
        }
        (scalars, privates)
    }

    /// Why a variable cannot be passed to the kernel by value.
    fn not_passed_by_value(&self, s: SymbolId) -> Option<RefusalKind> {
        let (types, symbol) = (&self.body.types, &self.body.symbols[s]);
        let record = matches!(types.kind(symbol.ty), TypeKind::Record(_));
        let whole = record || symbol.is_own_scalar() && types.is_arithmetic(symbol.ty);
        let size = types.size_align(symbol.ty).map_or(0, |s| s.0);
        match (whole, size > MAX_THREADS_OWN / 2) {
            (true, false) => None,
            (true, true) => Some(RefusalKind::LargePrivate(s)),
            (false, _) => Some(RefusalKind::BegunPrivate(s)),
        }
    }

    /// Refuses what a kernel cannot hold: types that it cannot have, private variables that are too large.
    fn device_types(
        &mut self,
        support: &mut Support<'_>,
        chosen: &BTreeSet<SymbolId>,
        privates: &[SymbolId],
        buffers: &[BufferPlan],
    ) {
        let body = self.body;
        for &s in chosen {
            support.value_type(body.symbols[s].ty, self.target);
        }
        for &s in privates {
            let ty = body.symbols[s].ty;
            let bytes = body.types.size_align(ty).map_or(0, |s| s.0);
            if bytes > MAX_THREADS_OWN {
                self.refuse(RefusalKind::LargePrivate(s), self.target);
            }
            support.value_type(ty, self.target);
        }
        for b in buffers.iter().filter(|b| b.on_device) {
            support.value_type(b.element, self.target);
        }
    }

    /// What the user is told beside the kernel.
    fn notes(&self, reductions: &[ReductionPlan], support: &Support<'_>) -> Vec<Note> {
        let types = &self.body.types;
        let mut notes: Vec<Note> = Vec::new();
        // the least and the greatest are what they are in any order
        let regroups = |op| matches!(op, analysis::ReductionOp::Add | analysis::ReductionOp::Mul);
        for r in reductions.iter().filter(|r| types.as_float(r.ty).is_some() && regroups(r.op)) {
            notes.push(Note::Regrouped { symbol: r.symbol, op: r.op, ty: r.ty });
        }
        let of_cells = self.input.offload.reductions.iter().filter(|r| r.cells == Cells::Many);
        for r in of_cells.filter(|r| types.as_float(r.ty).is_some()) {
            notes.push(Note::AnyOrder { symbol: r.object.symbol, op: r.op, ty: r.ty });
        }
        let rounds_alike = |f: &SymbolId| {
            let name = &*self.body.symbols[*f].name;
            term::is_correctly_rounded(term::of_dotnet(name).unwrap_or(name))
        };
        notes.extend(support.calls.iter().filter(|f| !rounds_alike(f)).map(|&f| Note::MathLibrary(f)));
        notes
    }

    /// Threads of a block, and how many blocks there are at most.
    fn launch_shape(&self, dimensions: usize, partials: bool) -> ([u32; 3], [u32; 3]) {
        let block = match dimensions {
            1 => [BLOCK_THREADS, 1, 1],
            2 => [32, 8, 1],
            _ => [32, 4, 2],
        };
        let most_blocks = match (!partials, dimensions) {
            (true, _) => self.input.target.limits.grid,
            // A fixed number of partial results, whatever the device: the grouping never changes.
            (false, 1) => [1024, 1, 1],
            (false, 2) => [32, 32, 1],
            (false, _) => [16, 8, 8],
        };
        let asked = self.input.threads.fitting(dimensions, partials, &self.input.target.limits);
        (asked.unwrap_or(block), most_blocks)
    }

    /// Where the loop stands in its file.
    pub(super) fn site(&self) -> Site<'a> {
        let (span, file) = (self.body.span(self.target), self.input.file_text);
        let at = (self.input.base_offset as usize + span.start as usize).min(file.len());
        Site {
            text: self.input.text,
            base_offset: self.input.base_offset,
            file_text: file,
            file_name: self.input.file_name,
            span,
            line: file.as_bytes()[..at].iter().filter(|&&c| c == b'\n').count() as u32 + 1,
            opening: self.input.opening.unwrap_or(at as u32),
        }
    }
}

/// What facts say of the loop's variables; one may be of several.
struct Roles {
    /// Accumulators of reductions.
    reduced: BTreeSet<SymbolId>,
    /// Extremes and last values, which are chosen by the iteration they come from.
    chosen: BTreeSet<SymbolId>,
    /// Variables whose value each iteration can tell.
    moved: BTreeSet<SymbolId>,
    /// What counts the iterations that run at once.
    indices: BTreeSet<SymbolId>,
}

impl Roles {
    fn has_result(&self, s: SymbolId) -> bool {
        self.reduced.contains(&s) || self.moved.contains(&s) || self.chosen.contains(&s)
    }
}
