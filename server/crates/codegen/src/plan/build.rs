//! Makes the plan, or says why there is none.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{ConditionKind, Control, Expr, Final, Length, LoopFacts, MetBy, Param, Pred, ReductionOp, Step, Verdict};
use term::{BinOp, Body, IntKind, Op, Origin, Semantics, Storage, SymbolId, TermId, TypeKind};

use super::bounds;
use super::names::{free_prefix, has_word, identifier, Namer};
use super::refuse::{Reason, Refusal, RefusalKind};
use super::simplify;
use super::support::{has_own_continue, Support};
use super::*;
use crate::access::{arrow_chain, chain, mentions, moves_by_one};

/// Decides everything about the offload, or refuses with all reasons found.
pub fn plan<'a>(input: &Input<'a>) -> Result<Plan<'a>, Refusal> {
    let body = input.body;
    let one = |kind, term| Err(Refusal { reasons: vec![Reason { kind, term }] });
    let loops = &input.facts.loops;
    let Some(first) = input.offload.band.first().and_then(|&l| loops.get(l)) else {
        return one(RefusalKind::NotParallel, body.root);
    };
    let target = first.term;
    if body.semantics != Semantics::C {
        return one(RefusalKind::Semantics, target);
    }
    if body.origin(target) != Origin::Source || input.text.get(body.span(target).range()).is_none() {
        return one(RefusalKind::InMacro, target);
    }
    if input.offload.band.len() > 3 || input.offload.max_trips.len() != input.offload.band.len() {
        return one(RefusalKind::NotParallel, target);
    }
    let mut band: Vec<(&LoopFacts, &Control)> = Vec::new();
    for &l in &input.offload.band {
        match loops.get(l).map(|f| (f, &f.control)) {
            Some((f, Ok(c))) if *body.op(f.term) == Op::For && body.args(f.term).len() >= 4 => band.push((f, c)),
            _ => return one(RefusalKind::NotParallel, target),
        }
    }
    if !matches!(first.verdict, Verdict::Independent | Verdict::Reduction) {
        return one(RefusalKind::NotParallel, target);
    }
    let mut b = Builder::new(input, target, band);
    b.build();
    b.finish()
}

struct Builder<'i, 'a> {
    input: &'i Input<'a>,
    body: &'a Body,
    target: TermId,
    band: Vec<(&'a LoopFacts, &'a Control)>,
    reasons: Vec<Reason>,
    host: Namer,
    prefix: String,
    parents: Vec<Option<TermId>>,
    plan: Option<Plan<'a>>,
}

impl<'i, 'a> Builder<'i, 'a> {
    fn new(input: &'i Input<'a>, target: TermId, band: Vec<(&'a LoopFacts, &'a Control)>) -> Self {
        Builder {
            input,
            body: input.body,
            target,
            band,
            reasons: Vec::new(),
            host: Namer::default(),
            prefix: free_prefix(input.body),
            parents: input.body.parents(),
            plan: None,
        }
    }

    fn refuse(&mut self, kind: RefusalKind, term: TermId) {
        let r = Reason { kind, term };
        if !self.reasons.contains(&r) {
            self.reasons.push(r);
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
                Err(Refusal { reasons })
            }
        }
    }

    fn host_name(&mut self, wish: &str) -> String {
        let name = format!("{}{wish}", self.prefix);
        self.host.fresh(&name)
    }

    fn build(&mut self) {
        let (body, offload) = (self.body, self.input.offload);
        for fixed in ["done", "ok", "small", "block", "blocks", "grid", "apart", "min", "max", "floor_div"] {
            self.host_name(fixed);
        }
        let ranks: BTreeMap<SymbolId, usize> =
            offload.buffers.iter().map(|b| (b.symbol, b.inner_lengths.len() + 1)).collect();
        let mut support = Support::new(body, ranks);
        let Some(inner) = self.band.last().map(|b| body.args(b.0.term)[3]) else { return };
        support.visit(inner);
        let mut dims = self.dims(inner, &mut support);
        let mut strides = Vec::new();
        // Everything after the trip counts is only evaluated where they are positive.
        let positive: Vec<Expr> = dims.iter().map(|d| d.trips.clone()).collect();
        let mut buffers = self.buffers(&mut support, &mut strides, &positive);
        let reductions = self.reductions();
        let inductions = self.inductions();
        let reduced: BTreeSet<SymbolId> = reductions.iter().map(|r| r.symbol).collect();
        let moved: BTreeSet<SymbolId> = inductions.iter().map(|i| i.symbol).collect();
        let indices: BTreeSet<SymbolId> = dims.iter().map(|d| d.index).collect();
        for r in &reductions {
            support.used.entry(r.symbol).or_insert(self.target);
        }
        if !reduced.is_empty() {
            dims.iter_mut().for_each(|d| d.strided = true);
        }
        // Every variable a kernel uses must be of one kind.
        let private: BTreeSet<SymbolId> = offload.privates.iter().map(|p| p.symbol).collect();
        let mut privates = Vec::new();
        let mut scalars = Vec::new();
        for (&s, &t) in &support.used {
            let written = support.written.get(&s).copied();
            if support.declared.contains_key(&s) || reduced.contains(&s) || moved.contains(&s) {
                continue;
            }
            if indices.contains(&s) {
                if let Some(w) = written {
                    self.refuse(RefusalKind::Unclassified(s), w);
                }
            } else if private.contains(&s) {
                if matches!(body.symbols[s].storage, Storage::Param(_) | Storage::Local) {
                    privates.push(s);
                } else {
                    self.refuse(RefusalKind::Unclassified(s), t);
                }
            } else if let Some(w) = written {
                self.refuse(RefusalKind::Unclassified(s), w);
            } else if offload.inputs.contains(&s) || body.symbols[s].is_own_scalar() {
                scalars.push(Scalar { symbol: s, ty: body.symbols[s].ty });
            } else {
                self.refuse(RefusalKind::Unclassified(s), t);
            }
        }
        for &s in &privates {
            // Its type must be one a local of the kernel can have.
            let ty = body.symbols[s].ty;
            support.value_type(ty, self.target, false);
        }
        // What is not used in the kernel needs no copy.
        let mut kept = Vec::new();
        for (k, b) in buffers.drain(..).enumerate() {
            if support.buffers.contains(&b.symbol) || b.written {
                kept.push((k, b));
            }
        }
        let moved_to: BTreeMap<usize, usize> = kept.iter().enumerate().map(|(new, (old, _))| (*old, new)).collect();
        let strides: Vec<Stride> = strides
            .into_iter()
            .filter_map(|s: Stride| moved_to.get(&s.buffer).map(|&buffer| Stride { buffer, ..s.clone() }))
            .collect();
        let buffers: Vec<BufferPlan> = kept.into_iter().map(|(_, b)| b).collect();
        for b in &buffers {
            support.value_type(b.element, self.target, true);
        }
        self.reasons.append(&mut support.reasons);

        let mut notes: Vec<Note> = Vec::new();
        for r in &reductions {
            if body.types.as_float(r.ty).is_some() {
                notes.push(Note::Regrouped { symbol: r.symbol, op: r.op, ty: r.ty });
            }
        }
        notes.extend(support.calls.iter().map(|&f| Note::MathLibrary(f)));
        let mut tests = self.tests(&buffers, &scalars, &reductions, &dims);
        let finals = self.finals(&positive);
        let values = self.values(&dims, &buffers, &mut tests, &finals, &support);
        let has_continue = has_own_continue(body, inner);
        let name = self.name();
        let names = self.kernel_names(&support, &buffers, &scalars, &reductions, &privates, &inductions, &dims, inner);
        let block = match dims.len() {
            1 => [BLOCK_THREADS, 1, 1],
            2 => [32, 8, 1],
            _ => [32, 4, 2],
        };
        let most_blocks = match (reductions.is_empty(), dims.len()) {
            // CUDA C++ Programming Guide, technical specifications: grid limits since compute capability 3.0.
            (true, _) => [2_147_483_647, 65_535, 65_535],
            // A fixed number of partial results, whatever the device: the grouping never changes.
            (false, 1) => [1024, 1, 1],
            (false, 2) => [32, 32, 1],
            (false, _) => [16, 8, 8],
        };
        let mut buffers = buffers;
        for b in &mut buffers {
            b.kernel_name = names.get(&b.symbol).cloned().unwrap_or_default();
        }
        let file = self.input.file_text;
        let at = (self.input.base_offset as usize + body.span(self.target).start as usize).min(file.len());
        let line = file.as_bytes()[..at].iter().filter(|&&c| c == b'\n').count() as u32 + 1;
        self.plan = Some(Plan {
            body,
            site: Site {
                text: self.input.text,
                base_offset: self.input.base_offset,
                file_text: file,
                file_name: self.input.file_name,
                span: body.span(self.target),
                line,
            },
            prefix: self.prefix.clone(),
            kernels: vec![Kernel {
                name: format!("{name}_kernel"),
                launcher: format!("{name}_launch"),
                dims,
                block,
                most_blocks,
                scalars,
                strides,
                privates,
                reductions,
                inductions,
                names,
                body: inner,
                has_continue,
            }],
            name,
            buffers,
            values,
            tests,
            finals,
            records: support.records,
            notes,
        });
    }

    fn name(&self) -> String {
        let wish = match self.input.name {
            "" => {
                let index = self.band.first().map_or("loop", |b| &self.body.symbols[b.1.index].name);
                format!("{}_{index}", self.body.name)
            }
            n => n.to_string(),
        };
        let wish = identifier(&wish);
        let taken = |n: &str| {
            ["kernel", "launch"].iter().any(|k| has_word(self.input.file_text, &format!("{n}_{k}")))
        };
        let mut name = wish.clone();
        let mut n = 2;
        while taken(&name) {
            name = format!("{wish}_{n}");
            n += 1;
        }
        name
    }

    fn dims(&mut self, inner: TermId, support: &mut Support<'a>) -> Vec<Dim> {
        let body = self.body;
        let axes = self.axes(inner);
        let band = self.band.clone();
        let mut dims: Vec<Dim> = Vec::new();
        for (k, (facts, c)) in band.iter().enumerate() {
            let outer: Vec<SymbolId> = dims.iter().map(|d| d.index).collect();
            let positive: Vec<Expr> = dims.iter().map(|d| d.trips.clone()).collect();
            let varies = |t: TermId| outer.iter().any(|&o| mentions(body, t, o));
            let step_term = match c.step {
                Step::Term { term, .. } => Some(term),
                Step::Const(_) => None,
            };
            let rectangular = !varies(c.lower) && !varies(c.bound) && !step_term.is_some_and(varies);
            let lower_on_host = !varies(c.lower) && reads_memory(body, c.lower);
            let step_on_host = step_term.is_some_and(|t| !varies(t) && reads_memory(body, t));
            if !lower_on_host {
                support.visit(c.lower);
            }
            if let (Some(t), false) = (step_term, step_on_host) {
                support.visit(t);
            }
            if !rectangular {
                support.visit(c.bound);
            }
            let integer = |t: TermId| body.types.as_int(body.ty(t)).is_some();
            if !integer(c.lower) || !integer(c.bound) {
                self.refuse(RefusalKind::NotParallel, facts.term);
            }
            let downwards = match c.step {
                Step::Const(s) => s < 0,
                Step::Term { negated, .. } => negated,
            };
            let relation = match c.relation {
                BinOp::Ne if downwards => BinOp::Gt,
                BinOp::Ne => BinOp::Lt,
                r => r,
            };
            let index_name = body.symbols[c.index].name.clone();
            dims.push(Dim {
                term: facts.term,
                index: c.index,
                index_type: c.index_type,
                axis: axes[k],
                strided: axes[k] != Axis::X,
                rectangular,
                trips: simplify::trips(&self.input.offload.max_trips[k], &positive),
                lower: c.lower,
                lower_on_host,
                bound: c.bound,
                relation,
                step: c.step.clone(),
                step_on_host,
                trips_name: self.host_name(&format!("trips_{index_name}")),
                counter_name: self.host_name(&format!("at_{index_name}")),
                lower_name: self.host_name(&format!("from_{index_name}")),
                step_name: self.host_name(&format!("by_{index_name}")),
            });
        }
        dims
    }

    /// Which axis each loop of the band runs along: x is the one whose neighbouring iterations touch neighbouring
    /// cells most often, so that a warp's accesses fall together; the innermost if none stands out.
    fn axes(&self, inner: TermId) -> Vec<Axis> {
        let body = self.body;
        let mut score = vec![0usize; self.band.len()];
        for t in body.walk(inner) {
            let found = match body.op(t) {
                Op::Index | Op::Deref => chain(body, t),
                Op::Member { arrow: true, .. } => body.args(t).first().and_then(|&b| arrow_chain(body, b)),
                _ => None,
            };
            let Some((s, subs)) = found else { continue };
            if !self.input.offload.buffers.iter().any(|b| b.symbol == s && b.inner_lengths.len() + 1 == subs.len()) {
                continue;
            }
            let Some(Some(last)) = subs.last() else { continue };
            for (k, (_, c)) in self.band.iter().enumerate() {
                score[k] += moves_by_one(body, *last, c.index) as usize;
            }
        }
        let x = (0..score.len()).max_by_key(|&k| (score[k], k)).unwrap_or(0);
        let mut rest = [Axis::Y, Axis::Z].into_iter();
        let mut axes = vec![Axis::X; score.len()];
        for k in (0..score.len()).rev().filter(|&k| k != x) {
            axes[k] = rest.next().unwrap_or(Axis::Z);
        }
        axes
    }

    fn buffers(&mut self, support: &mut Support<'a>, strides: &mut Vec<Stride>, positive: &[Expr]) -> Vec<BufferPlan> {
        let body = self.body;
        let mut out = Vec::new();
        for b in &self.input.offload.buffers {
            let symbol = &body.symbols[b.symbol];
            let t = self.target;
            // The type must be: pointer or array, arrays inside, then the element.
            let mut ty = symbol.ty;
            let mut levels = 0;
            let rank = b.inner_lengths.len() + 1;
            while levels < rank {
                let q = body.types.quals(ty);
                if q.is_volatile || q.is_atomic {
                    self.refuse(RefusalKind::Volatile(b.symbol), t);
                }
                ty = match body.types.kind(ty) {
                    TypeKind::Pointer { to, .. } if levels == 0 => *to,
                    TypeKind::Array { of, .. } => *of,
                    _ => break,
                };
                levels += 1;
            }
            let q = body.types.quals(ty);
            if q.is_volatile || q.is_atomic {
                self.refuse(RefusalKind::Volatile(b.symbol), t);
            }
            let size = body.types.size_align(ty).map(|s| s.0);
            let (Some(element_size), true) = (size.filter(|&s| s > 0), levels == rank) else {
                self.refuse(RefusalKind::PartialSubscript(b.symbol), t);
                continue;
            };
            if matches!(body.types.kind(ty), TypeKind::Array { .. } | TypeKind::Pointer { .. }) {
                self.refuse(RefusalKind::PartialSubscript(b.symbol), t);
                continue;
            }
            if b.extent.is_none() {
                let whole = matches!(body.types.kind(symbol.ty), TypeKind::Array { len, .. } if *len != term::Len::Unknown);
                if !whole {
                    self.refuse(RefusalKind::UnknownExtent(b.symbol), t);
                }
            }
            let n = symbol.name.clone();
            let mut sources = Vec::new();
            for (d, length) in b.inner_lengths.iter().enumerate() {
                sources.push(match *length {
                    Length::Const(c) => StrideSource::Const(c),
                    Length::Term(l) => match (body.as_int(l), body.as_symbol(l)) {
                        (Some(c), _) if c > 0 && c <= u64::MAX as i128 => StrideSource::Const(c as u64),
                        (_, Some(s)) if self.keeps_its_value(s) => {
                            support.used.entry(s).or_insert(l);
                            StrideSource::Symbol(s)
                        }
                        _ => {
                            let dim = if rank == 2 { String::new() } else { (d + 1).to_string() };
                            strides.push(Stride {
                                buffer: out.len(),
                                dimension: d + 1,
                                name: self.host_name(&format!("{n}_row{dim}")),
                            });
                            StrideSource::Passed(strides.len() - 1)
                        }
                    },
                });
            }
            out.push(BufferPlan {
                symbol: b.symbol,
                element: ty,
                element_size,
                rank,
                strides: sources,
                read: b.read,
                written: b.written,
                copy_in: b.read || !b.wholly_written,
                staged: b.read && b.written,
                extent: b.extent.as_ref().map(|(f, l)| (simplify::under(f, positive), simplify::under(l, positive))),
                first_name: self.host_name(&format!("{n}_first")),
                count_name: self.host_name(&format!("{n}_count")),
                bytes_name: self.host_name(&format!("{n}_bytes")),
                device_name: self.host_name(&format!("gpu_{n}")),
                staging_name: self.host_name(&format!("new_{n}")),
                kernel_name: String::new(),
            });
        }
        out
    }

    /// Whether an integer variable is never assigned in the whole function, so that it still says what it said where
    /// an array was declared with it.
    fn keeps_its_value(&self, s: SymbolId) -> bool {
        let body = self.body;
        let symbol = &body.symbols[s];
        symbol.is_own_scalar()
            && body.types.as_int(symbol.ty).is_some()
            && body.symbols.iter().filter(|o| o.name == symbol.name).count() == 1
            && !self.is_assigned(s)
    }

    fn is_assigned(&self, s: SymbolId) -> bool {
        let body = self.body;
        body.walk(body.root).any(|t| {
            body.op(t).is_write() && body.args(t).first().is_some_and(|&p| body.as_symbol(p) == Some(s))
        })
    }

    fn reductions(&mut self) -> Vec<ReductionPlan> {
        let body = self.body;
        let mut out = Vec::new();
        for r in &self.input.offload.reductions {
            let s = r.object.symbol;
            if body.as_symbol(r.place) != Some(s) || !r.object.fields.is_empty() || !body.types.is_arithmetic(r.ty) {
                self.refuse(RefusalKind::ReductionCell, r.place);
                continue;
            }
            let ty = body.symbols[s].ty;
            let q = body.types.quals(ty);
            if q.is_volatile || q.is_atomic {
                self.refuse(RefusalKind::Volatile(s), r.place);
            }
            let is_float = body.types.as_float(ty).is_some();
            let mut forms: Vec<MinMaxForm> = Vec::new();
            for &u in &r.updates {
                match r.op {
                    ReductionOp::Add | ReductionOp::Mul if !is_float => {
                        let assigned = body.args(u).get(1).copied();
                        let float = |t: TermId| body.types.as_float(body.ty(t)).is_some();
                        if *body.op(u) == Op::If || assigned.is_some_and(float) {
                            self.refuse(RefusalKind::RoundedReduction(s), u);
                        }
                    }
                    ReductionOp::Min | ReductionOp::Max if is_float => match min_max_form(body, u, s) {
                        Some(f) => forms.push(f),
                        None => self.refuse(RefusalKind::NanOrder(s), u),
                    },
                    ReductionOp::BitAnd | ReductionOp::BitOr | ReductionOp::BitXor if is_float => {
                        self.refuse(RefusalKind::Operation, u)
                    }
                    _ => {}
                }
            }
            let form = forms.first().copied().unwrap_or(MinMaxForm::Compare);
            if forms.iter().any(|&f| f != form) {
                self.refuse(RefusalKind::NanOrder(s), r.place);
            }
            let name = body.symbols[s].name.clone();
            out.push(ReductionPlan {
                symbol: s,
                op: r.op,
                ty,
                form,
                device_name: self.host_name(&format!("gpu_{name}")),
                partial_name: self.host_name(&format!("part_{name}")),
            });
        }
        out
    }

    fn inductions(&mut self) -> Vec<InductionPlan> {
        let body = self.body;
        let mut out = Vec::new();
        for i in &self.input.offload.inductions {
            if self.band.iter().any(|b| b.1.index == i.symbol) {
                continue;
            }
            let symbol = &body.symbols[i.symbol];
            let kind = body.types.as_int(symbol.ty).filter(|&k| k != IntKind::Bool);
            let fits = i.step.checked_abs().is_some_and(|s| s < bounds::SAFE);
            let (Some(kind), 1, true, true) = (kind, self.band.len(), fits, symbol.is_own_scalar()) else {
                self.refuse(RefusalKind::Induction(i.symbol), i.update);
                continue;
            };
            let name = symbol.name.clone();
            out.push(InductionPlan {
                symbol: i.symbol,
                kind,
                step: i.step,
                start_name: self.host_name(&format!("start_{name}")),
            });
        }
        out
    }

    fn tests(
        &mut self,
        buffers: &[BufferPlan],
        scalars: &[Scalar],
        reductions: &[ReductionPlan],
        dims: &[Dim],
    ) -> Vec<Test> {
        let body = self.body;
        let mut tests: Vec<Test> = Vec::new();
        let mut add = |kind: TestKind, meets: Option<ConditionKind>| {
            match tests.iter_mut().find(|t| t.kind == kind) {
                Some(t) => t.meets = t.meets.take().or(meets),
                None => tests.push(Test { kind, meets }),
            };
        };
        for d in dims {
            let Some(&condition) = body.args(d.term).get(1) else { continue };
            let kinds: Vec<IntKind> = body.args(condition).iter().filter_map(|&a| body.types.as_int(body.ty(a))).collect();
            let unsigned = kinds.len() == 2 && !kinds[0].common(kinds[1]).signed();
            if unsigned && d.index_type.signed() && body.as_int(d.lower).is_none_or(|v| v < 0) {
                if dims.iter().any(|o| mentions(body, d.lower, o.index)) {
                    self.reasons.push(Reason { kind: RefusalKind::MixedSigns(d.index), term: condition });
                } else {
                    add(TestKind::FirstNotNegative(d.lower), None);
                }
            }
            let bound_signed = body.types.as_int(body.ty(d.bound)).is_some_and(|k| k.promoted().signed());
            if unsigned && !d.rectangular && bound_signed {
                self.reasons.push(Reason { kind: RefusalKind::MixedSigns(d.index), term: condition });
            }
        }
        // By value first: what comes after may rely on it.
        for c in &self.input.offload.conditions {
            if c.met_by == MetBy::Proof {
                continue;
            }
            match (&c.kind, &c.check, c.met_by) {
                (ConditionKind::NoAlias(..) | ConditionKind::Reassociate(..), _, _) => {}
                (_, Some(Pred::True), _) => {}
                (kind, Some(p), MetBy::RunTimeCheck) => add(TestKind::Holds(p.clone()), Some(kind.clone())),
                _ => self.reasons.push(Reason { kind: RefusalKind::Untestable, term: condition_term(&c.kind, self.target) }),
            }
        }
        for (k, _) in buffers.iter().enumerate() {
            add(TestKind::Extent(k), None);
        }
        let at = |s: SymbolId| buffers.iter().position(|b| b.symbol == s);
        let declared_array = |s: SymbolId| matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. });
        for c in self.input.offload.conditions.iter().filter(|c| c.met_by != MetBy::Proof) {
            let ConditionKind::NoAlias(a, b) = &c.kind else { continue };
            let kind = match (at(a.symbol), at(b.symbol)) {
                (Some(i), Some(j)) if i != j => TestKind::Apart(i.min(j), i.max(j)),
                (Some(i), None) if is_plain_variable(body, b.symbol) => TestKind::Outside { symbol: b.symbol, buffer: i },
                (None, Some(j)) if is_plain_variable(body, a.symbol) => TestKind::Outside { symbol: a.symbol, buffer: j },
                // Neither is used by the kernel: nothing to keep apart.
                (None, None) => continue,
                _ => {
                    self.reasons.push(Reason { kind: RefusalKind::UntestableOverlap(a.symbol), term: self.target });
                    continue;
                }
            };
            add(kind, Some(c.kind.clone()));
        }
        // Each buffer gets a copy of its own: right only if no other shows the same cells and either is written.
        for i in 0..buffers.len() {
            for j in i + 1..buffers.len() {
                let (a, b) = (&buffers[i], &buffers[j]);
                let both_arrays = declared_array(a.symbol) && declared_array(b.symbol);
                if (a.written || b.written) && !both_arrays && !self.restrict_parts(a.symbol, b.symbol) {
                    add(TestKind::Apart(i, j), None);
                }
            }
        }
        let reachable = |s: SymbolId| !body.symbols[s].is_own_scalar();
        for (k, b) in buffers.iter().enumerate().filter(|(_, b)| !declared_array(b.symbol)) {
            for s in scalars.iter().filter(|s| b.written && reachable(s.symbol)) {
                add(TestKind::Outside { symbol: s.symbol, buffer: k }, None);
            }
            for r in reductions.iter().filter(|r| reachable(r.symbol)) {
                add(TestKind::Outside { symbol: r.symbol, buffer: k }, None);
            }
        }
        tests
    }

    /// Whether `restrict` promises that the two show different cells (one of which is written): one is a restricted
    /// parameter, the other a parameter or array that nothing in the function sets.
    fn restrict_parts(&self, a: SymbolId, b: SymbolId) -> bool {
        let body = self.body;
        let param = |s: SymbolId| matches!(body.symbols[s].storage, Storage::Param(_)) && !self.is_assigned(s);
        let restricted = |s: SymbolId| param(s) && body.types.quals(body.symbols[s].ty).is_restrict;
        let steady = |s: SymbolId| param(s) || matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. });
        (restricted(a) && steady(b)) || (restricted(b) && steady(a))
    }

    fn finals(&mut self, positive: &[Expr]) -> Vec<FinalValue> {
        let body = self.body;
        let mut out: Vec<FinalValue> = Vec::new();
        for Final { symbol, value } in &self.input.offload.finals {
            let Some(kind) = body.types.as_int(body.symbols[*symbol].ty) else {
                self.refuse(RefusalKind::Unclassified(*symbol), self.target);
                continue;
            };
            let declared_here = self.band.iter().any(|b| b.1.index == *symbol && b.1.declared_here);
            if declared_here || out.iter().any(|f| f.symbol == *symbol) {
                continue;
            }
            let name = body.symbols[*symbol].name.clone();
            let name = self.host_name(&format!("last_{name}"));
            out.push(FinalValue { symbol: *symbol, value: simplify::under(value, positive), kind, name });
        }
        out
    }

    fn values(
        &mut self,
        dims: &[Dim],
        buffers: &[BufferPlan],
        tests: &mut Vec<Test>,
        finals: &[FinalValue],
        support: &Support<'_>,
    ) -> Vec<HostValue> {
        let body = self.body;
        let mut exprs: Vec<Expr> = dims.iter().map(|d| d.trips.clone()).collect();
        exprs.extend(finals.iter().map(|f| f.value.clone()));
        for b in buffers {
            if let Some((first, last)) = &b.extent {
                let minus = Expr::Mul(-1, Box::new(first.clone()));
                exprs.push(Expr::Add(vec![last.clone(), minus, Expr::Int(1)]));
            }
        }
        let preds: Vec<Pred> = tests
            .iter()
            .filter_map(|t| match &t.kind {
                TestKind::Holds(p) => Some(p.clone()),
                _ => None,
            })
            .collect();
        let mut params = Vec::new();
        exprs.iter().for_each(|e| bounds::params(e, &mut params));
        preds.iter().for_each(|p| bounds::pred_params(p, &mut params));
        let mut kinds: BTreeMap<Param, IntKind> = BTreeMap::new();
        let mut values = Vec::new();
        for p in params {
            let (kind, term, wish) = match p {
                Param::Symbol(s) => {
                    if support.declared.contains_key(&s) {
                        self.refuse(RefusalKind::Unclassified(s), self.target);
                    }
                    (body.types.as_int(body.symbols[s].ty), self.target, body.symbols[s].name.to_string())
                }
                Param::Term(t) => (body.types.as_int(body.ty(t)), t, "value".to_string()),
            };
            let Some(kind) = kind else {
                self.refuse(RefusalKind::Operation, term);
                continue;
            };
            let early = match p {
                Param::Symbol(_) => true,
                Param::Term(t) => !may_trap(body, t) || self.in_first_header(t),
            };
            if !early && !self.always_reached(term) {
                self.refuse(RefusalKind::ReadsTooEarly, term);
            }
            kinds.insert(p, kind);
            let name = self.host_name(&wish);
            values.push(HostValue { param: p, name, kind, limit: None, early, used: true });
        }
        let of_type = |p: Param| kinds.get(&p).map_or((-bounds::SAFE * 2, bounds::SAFE * 2), |k: &IntKind| (IntKind::min(*k), IntKind::max(*k)));
        let size = |(lo, hi): (i128, i128)| hi.max(-lo);
        let natural = |p: Param| size(of_type(p));
        // The values that take part in something that could overflow get the largest limit that prevents it.
        let mut risky = Vec::new();
        for e in &exprs {
            if bounds::peak(e, &natural) >= bounds::SAFE {
                bounds::params(e, &mut risky);
            }
        }
        for p in &preds {
            if !bounds::always(p, &of_type) && bounds::pred_peak(p, &natural) >= bounds::SAFE {
                bounds::pred_params(p, &mut risky);
            }
        }
        let limited = |limit: i128| {
            let risky = &risky;
            move |p: Param| {
                let (lo, hi) = of_type(p);
                if risky.contains(&p) { (lo.max(-limit), hi.min(limit)) } else { (lo, hi) }
            }
        };
        let fitting = if risky.is_empty() {
            Some(bounds::SAFE * 2)
        } else {
            (16..62).rev().map(|k| 1i128 << k).find(|&limit| {
                let ranges = limited(limit);
                let of = |p: Param| size(ranges(p));
                exprs.iter().all(|e| bounds::peak(e, &of) < bounds::SAFE)
                    && preds.iter().all(|p| bounds::always(p, &ranges) || bounds::pred_peak(p, &of) < bounds::SAFE)
            })
        };
        let Some(limit) = fitting else {
            self.refuse(RefusalKind::Overflow, self.target);
            return values;
        };
        for v in values.iter_mut().filter(|v| risky.contains(&v.param) && natural(v.param) > limit) {
            v.limit = Some(limit);
        }
        // What holds for all values that pass needs no test.
        let ranges = limited(limit);
        tests.retain(|t| !matches!(&t.kind, TestKind::Holds(p) if bounds::always(p, &ranges)));
        let mut used = Vec::new();
        exprs.iter().for_each(|e| bounds::params(e, &mut used));
        for t in tests.iter() {
            if let TestKind::Holds(p) = &t.kind {
                bounds::pred_params(p, &mut used);
            }
        }
        values.iter_mut().for_each(|v| v.used = used.contains(&v.param));
        values.retain(|v| v.used || v.limit.is_some());
        values
    }

    /// Whether the term stands in the outermost loop's first value or condition, which are always evaluated.
    fn in_first_header(&self, t: TermId) -> bool {
        let args = self.body.args(self.target);
        let mut at = t;
        while let Some(p) = self.parents[at.0 as usize] {
            if p == self.target {
                return args.iter().take(2).any(|&a| a == at);
            }
            at = p;
        }
        false
    }

    /// Whether the term is evaluated in each iteration of the band, whatever the data.
    fn always_reached(&self, t: TermId) -> bool {
        let body = self.body;
        let in_band = |l: TermId| self.band.iter().any(|b| b.0.term == l);
        let skips = body.walk(self.target).any(|c| matches!(body.op(c), Op::Continue | Op::Break | Op::Switch));
        let mut at = t;
        while let Some(p) = self.parents[at.0 as usize] {
            let place = body.args(p).iter().position(|&a| a == at).unwrap_or(0);
            let sure = match body.op(p) {
                Op::If | Op::Select | Op::While | Op::Binary(BinOp::And | BinOp::Or) => place == 0,
                Op::For => in_band(p) || place < 2,
                Op::List => !skips,
                _ => true,
            };
            if !sure {
                return false;
            }
            if p == self.target {
                return true;
            }
            at = p;
        }
        false
    }

    #[allow(clippy::too_many_arguments)] // one list for each kind of variable
    fn kernel_names(
        &mut self,
        support: &Support<'_>,
        buffers: &[BufferPlan],
        scalars: &[Scalar],
        reductions: &[ReductionPlan],
        privates: &[SymbolId],
        inductions: &[InductionPlan],
        dims: &[Dim],
        inner: TermId,
    ) -> BTreeMap<SymbolId, String> {
        let body = self.body;
        let mut namer = Namer::default();
        let mut names = BTreeMap::new();
        let outer = (scalars.iter().map(|s| s.symbol))
            .chain(buffers.iter().map(|b| b.symbol))
            .chain(reductions.iter().map(|r| r.symbol))
            .chain(privates.iter().copied())
            .chain(inductions.iter().map(|i| i.symbol))
            .chain(dims.iter().map(|d| d.index));
        for s in outer {
            names.entry(s).or_insert_with(|| namer.fresh(&body.symbols[s].name));
        }
        // Functions keep their names; nothing else may have them (see `is_reserved`).
        // Locals keep theirs unless something around them is called the same: C lets a loop's body redeclare the
        // loop's own variable, C++ does not.
        let mut locals: Vec<(SymbolId, TermId, String)> = Vec::new();
        for t in body.walk(inner) {
            let Op::Declare(s) = body.op(t) else { continue };
            if !support.declared.contains_key(s) {
                continue;
            }
            let scope = self.scope(t);
            let wish = body.symbols[*s].name.to_string();
            let clash = names.values().any(|n| *n == wish) && !locals.iter().any(|l| l.2 == wish)
                || locals.iter().any(|l| l.2 == wish && (l.1 == scope || self.encloses(l.1, scope)))
                || super::names::is_reserved(&wish);
            let name = if clash { namer.fresh(&wish) } else { wish.clone() };
            if !clash && !locals.iter().any(|l| l.2 == wish) {
                namer.fresh(&wish);
            }
            locals.push((*s, scope, name.clone()));
            names.insert(*s, name);
        }
        names
    }

    fn scope(&self, declaration: TermId) -> TermId {
        let mut at = declaration;
        while let Some(p) = self.parents[at.0 as usize] {
            let grand = self.parents[p.0 as usize];
            let in_header = |g: TermId| *self.body.op(g) == Op::For && self.body.args(g).first() == Some(&p);
            match self.body.op(p) {
                Op::List if !grand.is_some_and(in_header) => return p,
                Op::For => return p,
                _ => at = p,
            }
        }
        at
    }

    fn encloses(&self, outer: TermId, inner: TermId) -> bool {
        let mut at = inner;
        while let Some(p) = self.parents[at.0 as usize] {
            if p == outer {
                return true;
            }
            at = p;
        }
        false
    }
}

/// Whether computing the term reads arrays or structs through pointers, or calls something.
fn reads_memory(body: &Body, term: TermId) -> bool {
    body.walk(term)
        .any(|t| matches!(body.op(t), Op::Index | Op::Deref | Op::Member { .. } | Op::Call | Op::SizeOf))
}

/// Whether computing the term may fault: it follows a pointer or divides by something that may be zero.
fn may_trap(body: &Body, term: TermId) -> bool {
    body.walk(term).any(|t| match body.op(t) {
        Op::Index | Op::Deref | Op::Member { arrow: true, .. } | Op::Call => true,
        Op::Binary(BinOp::Div | BinOp::Rem) => {
            body.args(t).get(1).and_then(|&d| body.as_int(d)).is_none_or(|d| d == 0 || d == -1)
        }
        _ => false,
    })
}

/// A variable that has an address of its own: neither array nor pointed to.
fn is_plain_variable(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    matches!(
        symbol.storage,
        Storage::Param(_) | Storage::Local | Storage::StaticLocal | Storage::Global { .. }
    ) && matches!(
        body.types.kind(symbol.ty),
        TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Record(_)
    )
}

fn condition_term(kind: &ConditionKind, otherwise: TermId) -> TermId {
    match kind {
        ConditionKind::NoWrap(t)
        | ConditionKind::Injective(t)
        | ConditionKind::StepSign(t)
        | ConditionKind::Terminates(t)
        | ConditionKind::Bounds { access: t, .. }
        | ConditionKind::InRow { access: t, .. } => *t,
        _ => otherwise,
    }
}

/// How an update treats NaN; `None` where the result would depend on where NaNs stand in the order.
fn min_max_form(body: &Body, update: TermId, s: SymbolId) -> Option<MinMaxForm> {
    let strip = |mut t: TermId| {
        while *body.op(t) == Op::Cast {
            t = *body.args(t).first()?;
        }
        Some(t)
    };
    let is_s = |t: TermId| strip(t).and_then(|t| body.as_symbol(t)) == Some(s);
    let compares = |c: TermId| matches!(body.op(c), Op::Binary(BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge));
    let args = body.args(update);
    match body.op(update) {
        // `if (x < m) m = x;`: the assignment needs a true comparison, which no NaN gives.
        Op::If if args.len() == 2 && compares(args[0]) => Some(MinMaxForm::Compare),
        Op::Assign => {
            let value = strip(*args.get(1)?)?;
            match body.op(value) {
                Op::Select => {
                    let parts = body.args(value);
                    (compares(*parts.first()?) && !is_s(*parts.get(1)?) && is_s(*parts.get(2)?))
                        .then_some(MinMaxForm::Compare)
                }
                Op::Call => Some(MinMaxForm::Function),
                _ => None,
            }
        }
        _ => None,
    }
}
