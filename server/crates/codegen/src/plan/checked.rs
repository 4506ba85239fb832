//! Programs in which what C leaves undefined throws (C#): what the kernel itself looks at while it runs on copies, and what
//! such a program's host can be given.
//!
//! A subscript that no test before the loop proves to be inside, a divisor that may be zero, a conversion to a whole number
//! that has none: the kernel notes that there was one and goes on with another value, nothing of what it did is kept, and the
//! loop itself runs from its beginning, with its own exception.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{ConditionKind, Expr, Param, Region};
use term::{BinOp, Body, IntKind, Op, Origin, SymbolId, TermId, TypeId, TypeKind};

use super::build::Builder;
use super::support::Support;
use super::values::may_trap;
use super::{
    BufferPlan, DeviceFunction, Dim, HostValue, Kernel, KeyedPlan, Plan, ReductionPlan, RefusalKind, Scalar,
    Test, TestKind,
};
use crate::access::chain;

/// What a kernel looks at while it runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// Subscripts, each with the variable that holds the length it must be below.
    pub(crate) subscripts: BTreeMap<TermId, SymbolId>,
    /// Subscripts in rows, each with the rows and the subscript of its row.
    pub(crate) in_rows: BTreeMap<TermId, (SymbolId, TermId)>,
    /// Whether lengths of rows are asked, which may not be there.
    pub(crate) asks_lengths: bool,
    /// Divisors that may be zero, or lead out of the type.
    pub(crate) divisors: BTreeSet<TermId>,
    /// Conversions of floating values to whole ones.
    pub(crate) conversions: BTreeSet<TermId>,
    /// What is computed of .NET's library, and may throw or be unlike elsewhere.
    pub(crate) noticed: BTreeSet<super::Noticed>,
    /// Operations whose results are those of whole numbers.
    pub(crate) exact: BTreeSet<TermId>,
    /// Where it is noted, in the kernel and on the host, and where that lies on the device.
    pub(crate) fault_name: String,
    pub(crate) device_name: String,
}

impl Checked {
    /// Whether anything is looked at.
    pub fn is_any(&self) -> bool {
        let of_rows = !self.noticed.is_empty() || !self.in_rows.is_empty() || self.asks_lengths;
        of_rows || !self.subscripts.is_empty() || !self.divisors.is_empty() || !self.conversions.is_empty()
    }
}

/// What the host's side has no form for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostForm {
    /// A `Span`: two may overlap in part.
    Span(SymbolId),
    /// Elements, or a result, of a type that is not handed to the driver.
    Element(SymbolId),
    /// An array that is reached through an object or another array, or a reference to a variable.
    Reference,
    /// `checked` arithmetic.
    Checked,
    /// A loop inside that may not end where something has gone wrong.
    Endless,
    /// Another vendor's device.
    Target,
    /// Statements between kernels that are not written as those of a method.
    Steps,
}

/// The array and the dimension whose length a variable holds, by names that the program's text has.
pub(crate) fn length_of(body: &Body, s: SymbolId) -> Option<(SymbolId, u32)> {
    let named = |s: SymbolId| {
        let of = body.said.lengths.iter().find(|l| l.length == s)?;
        is_spoken(&body.symbols[of.array].name).then_some((of.array, of.dimension))
    };
    named(s).or_else(|| {
        let holds = |t: &TermId| match (body.op(*t), body.args(*t)) {
            (Op::Declare(l), &[value]) if body.as_symbol(value) == Some(s) => named(*l),
            (Op::Assign, &[place, value]) if body.as_symbol(value) == Some(s) => {
                named(body.as_symbol(place)?)
            }
            _ => None,
        };
        body.walk(body.root).find_map(|t| holds(&t))
    })
}

/// Whether the variable is a `Span`: it has a length, and is never null.
pub(crate) fn is_span(body: &Body, s: SymbolId) -> bool {
    body.said.never_null.contains(&s) && body.said.lengths.iter().any(|l| l.array == s)
}

/// Whether the text can name a variable so.
fn is_spoken(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
}

/// Words of C++ that C# has no other use for, so that fields may be called so.
const OF_CPP_ALONE: [&str; 16] = [
    "alignas", "asm", "auto", "delete", "export", "friend", "inline", "mutable", "nullptr", "register",
    "restrict", "signed", "template", "typename", "union", "unsigned",
];

/// Whether it is a structure of numbers alone, which lies in memory as in C. (`char`, which is told apart from `ushort` by the compiler,
/// does not lie there as it is.)
pub(crate) fn is_plain_record(body: &Body, ty: TypeId) -> bool {
    let TypeKind::Record(r) = body.types.kind(ty) else { return false };
    let plain = |f: &term::Field| match body.types.kind(f.ty) {
        TypeKind::Int(k) => !matches!(k, IntKind::Bool | IntKind::UShort),
        TypeKind::Float(_) => true,
        _ => is_plain_record(body, f.ty),
    };
    let record = body.types.record(*r);
    let speakable = |f: &term::Field| is_spoken(&f.name) && !OF_CPP_ALONE.contains(&&*f.name);
    record.fields.as_ref().is_some_and(|f| !f.is_empty() && f.iter().all(|f| plain(f) && speakable(f)))
}

/// Whether it stands in an expression that does more than give a value.
fn is_in_expression(body: &Body, parents: &[Option<TermId>], t: TermId) -> bool {
    let mut at = t;
    while let Some(p) = parents.get(at.0 as usize).copied().flatten() {
        let place = body.args(p).iter().position(|&a| a == at).unwrap_or(0);
        match body.op(p) {
            Op::List | Op::Function(_) => return false,
            Op::For => return place == 1,
            Op::If | Op::While | Op::Switch => return place == 0,
            Op::DoWhile => return place == 1,
            // of the header of a loop
            Op::Comma => at = p,
            _ => return true,
        }
    }
    false
}

fn is_from_float(body: &Body, t: TermId) -> bool {
    let from = |a: &TermId| body.types.as_float(body.ty(*a)).is_some();
    let to = body.types.as_int(body.ty(t)).is_some_and(|k| k != IntKind::Bool);
    *body.op(t) == Op::Cast && to && body.args(t).first().is_some_and(from)
}

impl<'a> Builder<'_, 'a> {
    /// Whether what C leaves undefined throws.
    pub(super) fn is_managed(&self) -> bool {
        self.body.semantics.checked_bounds
    }

    /// The variable of an array that knows its lengths, or of an object whose fields others hold.
    pub(super) fn looked_into(&self, t: TermId) -> Option<SymbolId> {
        let object = self.body.as_symbol(t).filter(|s| self.body.said.is_object(*s));
        self.array_of(t).or(object)
    }

    /// The variable of an array that knows its lengths.
    fn array_of(&self, t: TermId) -> Option<SymbolId> {
        let s = self.body.as_symbol(t)?;
        self.body.said.lengths.iter().any(|l| l.array == s).then_some(s)
    }

    /// Subscripts that the kernel looks at, with the lengths; `Err`: an access whose length nobody knows.
    fn checked_subscripts(&self) -> Result<BTreeMap<TermId, SymbolId>, TermId> {
        let body = self.body;
        let mut out = BTreeMap::new();
        for c in self.input.offload.conditions.iter().filter(|c| c.is_seen_while_it_runs()) {
            let ConditionKind::Bounds { access, length_term, .. } = c.kind else { continue };
            if body.args(access).first().is_some_and(|&row| self.is_row(row) && body.as_symbol(row).is_none())
            {
                continue;
            }
            let length = length_term.and_then(|t| body.as_symbol(t)).ok_or(access)?;
            let alike = |t: &TermId| *body.op(*t) == Op::Index && body.same(*t, access);
            let before = out.len();
            let own = body.walk(self.target).filter(alike).filter_map(|t| body.args(t).get(1).copied());
            out.extend(own.map(|sub| (sub, length)));
            if out.len() == before {
                return Err(access);
            }
        }
        Ok(out)
    }

    /// The lengths that subscripts are held against are given to the kernel.
    pub(super) fn limits_used(&mut self, support: &mut Support<'_>) {
        if !self.is_managed() {
            return;
        }
        for (t, length) in self.checked_subscripts().unwrap_or_default() {
            support.used.entry(length).or_insert(t);
        }
    }

    /// What the kernel looks at while it runs. Arrays with such subscripts are copied as a whole.
    pub(super) fn checked(
        &mut self,
        buffers: &mut [BufferPlan],
        inner: TermId,
        functions: &[DeviceFunction],
        support: &mut Support<'_>,
    ) -> Checked {
        let mut out = Checked::default();
        if !self.is_managed() {
            return out;
        }
        let body = self.body;
        out.fault_name = self.host_name("fault");
        out.device_name = self.host_name("gpu_fault");
        match self.checked_subscripts() {
            Ok(all) => out.subscripts = all,
            Err(access) => support.refuse(RefusalKind::Host(HostForm::Reference), access),
        }
        out.in_rows = self.subscripts_in_rows(support.tables());
        let asks = |t| super::row_length(body, support.tables(), t).is_some();
        out.asks_lengths = body.walk(self.target).any(asks);
        for c in self.input.offload.conditions.iter().filter(|c| c.is_seen_while_it_runs()) {
            match c.kind {
                ConditionKind::NonZero(divisor) => {
                    let divides = |t: &TermId| {
                        let op = body.op(*t);
                        let is = matches!(
                            op,
                            Op::Binary(BinOp::Div | BinOp::Rem) | Op::Compound(BinOp::Div | BinOp::Rem)
                        );
                        is && body.args(*t).get(1).is_some_and(|&d| body.same(d, divisor))
                    };
                    let before = out.divisors.len();
                    let all = body.walk(self.target).filter(divides);
                    out.divisors.extend(all.filter_map(|t| body.args(t).get(1).copied()));
                    if out.divisors.len() == before {
                        support.refuse(RefusalKind::Untestable, divisor);
                    }
                }
                ConditionKind::NoOverflow(t) if super::noticed(body, t).is_some() => {}
                ConditionKind::NoOverflow(t) => support.refuse(RefusalKind::Host(HostForm::Checked), t),
                _ => {}
            }
        }
        self.as_statements(body, inner, support, None);
        for f in functions {
            self.as_statements(&f.body, f.body.root, support, Some(f.called_at));
        }
        out.conversions = body.walk(self.target).filter(|&t| is_from_float(body, t)).collect();
        out.noticed = body.walk(self.target).filter_map(|t| super::noticed(body, t)).collect();
        out.exact = self.exact();
        if out.is_any() {
            self.ends_anyway(inner, support);
        }
        for b in buffers.iter_mut().filter(|b| b.rows.is_none()) {
            let is_mine = |t: TermId| {
                *body.op(t) == Op::Index
                    && body.args(t).get(1).is_some_and(|s| out.subscripts.contains_key(s))
                    && chain(body, &Default::default(), t).is_some_and(|(s, _)| s == b.symbol)
            };
            if body.walk(self.target).any(is_mine) {
                b.extent = self.whole(b);
                (b.copy_in, b.staged) = (true, b.written);
            }
        }
        out
    }

    fn whole(&self, b: &BufferPlan) -> Option<(Expr, Expr)> {
        let length = |d: usize| {
            let mut all = self.body.said.lengths.iter();
            let found = all.find(|l| l.array == b.symbol && l.dimension as usize == d)?;
            Some(Expr::Param(Param::Symbol(found.length)))
        };
        let lengths: Option<Vec<Expr>> = (0..b.rank).map(length).collect();
        let all = lengths?.into_iter().reduce(|a, b| Expr::Product(Box::new(a), Box::new(b)))?;
        Some((Expr::Int(0), Expr::Add(vec![all, Expr::Int(-1)])))
    }

    /// What sets something must be a statement: C++ has another order of evaluation, and what wraps around is written with
    /// its place twice. `called_at`: of a function of the program, in which nothing is looked at.
    fn as_statements(
        &mut self,
        body: &Body,
        root: TermId,
        support: &mut Support<'_>,
        called_at: Option<TermId>,
    ) {
        let parents = body.parents();
        for t in body.walk(root) {
            let sets = body.op(t).is_write() && !matches!(body.op(t), Op::Declare(_));
            let float = |a: &TermId| body.types.as_float(body.ty(*a)).is_some();
            let args = body.args(t);
            let whole = args.first().is_some_and(|a| body.types.as_int(body.ty(*a)).is_some());
            // a conversion that stands nowhere
            let rounds = matches!(body.op(t), Op::Compound(_)) && whole && args.get(1).is_some_and(float);
            // a place that moves by being named
            let twice = sets && args.first().is_some_and(|&p| body.walk(p).any(|x| body.op(x).is_write()));
            let divides = matches!(body.op(t), Op::Binary(BinOp::Div | BinOp::Rem))
                && body.types.as_int(body.ty(t)).is_some()
                && args.get(1).and_then(|&d| body.as_int(d)).is_none_or(|d| d == 0 || d == -1);
            let is_noticed = super::noticed(body, t).is_some();
            let unseen = called_at.is_some() && (is_from_float(body, t) || divides || is_noticed);
            if sets && (rounds || twice || is_in_expression(body, &parents, t)) || unseen {
                support.refuse(RefusalKind::Operation, called_at.unwrap_or(t));
            }
        }
    }

    /// Loops inside end whatever values they meet.
    fn ends_anyway(&mut self, inner: TermId, support: &mut Support<'_>) {
        let body = self.body;
        for t in body.loops(inner) {
            let counted = self.input.facts.of_term(t).and_then(|l| self.input.facts.loops.get(l));
            if counted.is_none_or(|l| l.control.is_err()) {
                support.refuse(RefusalKind::Host(HostForm::Endless), t);
            }
        }
    }

    /// Operations that are known not to leave their types: what the verdict rests on, and the steps of loops that count.
    fn exact(&self) -> BTreeSet<TermId> {
        let (body, facts) = (self.body, self.input.facts);
        let mut out = BTreeSet::new();
        for (l, _) in &self.band {
            out.extend(l.conditions.iter().filter_map(|c| match c.kind {
                ConditionKind::NoWrap(t) => Some(t),
                _ => None,
            }));
        }
        for l in body.loops(self.target) {
            let counts = facts.of_term(l).and_then(|l| facts.loops.get(l)).is_some_and(|l| l.control.is_ok());
            out.extend(body.loop_parts(l).and_then(|p| p.step).filter(|_| counts));
        }
        out
    }

    /// Whether it is a field of the object whose method it is: always there, and named by the text.
    pub(super) fn is_own_field(&self, place: TermId) -> bool {
        let body = self.body;
        let of = body.args(place).first().and_then(|&t| body.as_symbol(t));
        let is_member = matches!(body.op(place), Op::Member { arrow: true, .. });
        let is_object =
            |s: SymbolId| body.said.never_null.contains(&s) && body.said.lengths.iter().all(|l| l.array != s);
        is_member && body.origin(place) != Origin::Made && of.is_some_and(is_object)
    }

    /// Refuses what the host's side has no form for, and leaves out tests that mean nothing there.
    pub(super) fn host_forms(
        &mut self,
        buffers: &[BufferPlan],
        scalars: &[Scalar],
        reductions: &[ReductionPlan],
        keyed: &[KeyedPlan],
        tests: &mut Vec<Test>,
    ) {
        if !self.is_managed() {
            return;
        }
        let (body, target) = (self.body, self.target);
        if self.input.offload.threads.is_some() {
            self.refuse(RefusalKind::Semantics, target);
        }
        // the driver that is called is NVIDIA's
        if self.input.target.title != gpu::CUDA.title {
            self.refuse(RefusalKind::Host(HostForm::Target), target);
        }
        // no variable and no field lies in an array, and two names of fields are two fields
        let is_apart = |t: &TestKind| {
            matches!(
                t,
                TestKind::Outside { .. }
                    | TestKind::CellInBuffer { .. }
                    | TestKind::CellInCell { .. }
                    | TestKind::CellInVariable { .. }
            )
        };
        tests.retain(|t| !is_apart(&t.kind));
        let number = |ty| match body.types.kind(ty) {
            TypeKind::Int(k) => *k != IntKind::Bool,
            TypeKind::Float(_) => true,
            _ => false,
        };
        for b in buffers {
            let lengths = body.said.lengths.iter().filter(|l| l.array == b.symbol).count();
            if let Some(rows) = &b.rows {
                let named = body.as_symbol(rows.table).is_some_and(|s| is_spoken(&body.symbols[s].name));
                let is_element = number(b.element) || is_plain_record(body, b.element);
                if !named || !is_element {
                    self.refuse(RefusalKind::Host(HostForm::Element(b.symbol)), target);
                }
                continue;
            }
            let is_plain = b.search.is_none() && b.each.is_none();
            let of_bytes = |o: &BufferPlan| {
                let is_named = o.rows.is_none() && o.rank == 1 && is_spoken(&body.symbols[o.symbol].name);
                is_named && number(o.element) && body.types.as_int(o.element) != Some(IntKind::UShort)
            };
            if is_span(body, b.symbol) && !(is_plain && buffers.iter().all(of_bytes)) {
                self.refuse(RefusalKind::Host(HostForm::Span(b.symbol)), target);
            } else if lengths != b.rank || !is_plain || !is_spoken(&body.symbols[b.symbol].name) {
                self.refuse(RefusalKind::Host(HostForm::Reference), target);
            } else if !number(b.element) && !is_plain_record(body, b.element) {
                self.refuse(RefusalKind::Host(HostForm::Element(b.symbol)), target);
            }
        }
        let is_field = |r: &ReductionPlan| self.is_own_field(r.place);
        if let Some(r) = reductions.iter().find(|r| r.cell && !is_field(r)) {
            self.refuse(RefusalKind::ReductionCell, r.place);
        }
        if let Some(v) = keyed.iter().flat_map(|k| &k.variables).find(|v| v.cell) {
            self.refuse(RefusalKind::ReductionCell, v.place);
        }
        let results = reductions.iter().map(|r| (r.symbol, r.ty));
        let chosen = keyed.iter().flat_map(|k| &k.variables).map(|v| (v.symbol, v.ty));
        for (s, ty) in results.chain(chosen) {
            // `char` is told apart from `ushort` by the compiler
            if body.types.as_int(ty) == Some(IntKind::UShort) || !number(ty) {
                self.refuse(RefusalKind::Host(HostForm::Element(s)), target);
            }
        }
        for s in scalars {
            let is_value = matches!(body.types.kind(s.ty), TypeKind::Int(_) | TypeKind::Float(_));
            let is_named = is_spoken(&body.symbols[s.symbol].name) || length_of(body, s.symbol).is_some();
            if !is_value || !is_named {
                self.refuse(RefusalKind::Host(HostForm::Element(s.symbol)), target);
            }
        }
    }

    /// Of a region: the statements between kernels become those of a method.
    pub(super) fn fits_methods(&mut self, region: &Region, nests: &[Plan<'a>]) {
        if !self.is_managed() {
            return;
        }
        let body = self.body;
        for (nest, id) in nests.iter().zip(&region.nests) {
            let at = self.input.facts.loops.get(*id).map_or(self.target, |l| l.term);
            let leaves = nest.kernels.iter().any(Kernel::has_partials) || !nest.finals.is_empty();
            if leaves || !region.exchanged.is_empty() || region.arrays.iter().any(|a| a.own) {
                self.refuse(RefusalKind::Host(HostForm::Steps), at);
            }
        }
        let nest: BTreeSet<TermId> =
            region.nests.iter().filter_map(|&id| self.input.facts.loops.get(id)).map(|l| l.term).collect();
        let mut open = region.statements.clone();
        while let Some(t) = open.pop() {
            if nest.contains(&t) {
                continue;
            }
            let truth = |t: TermId| body.types.as_int(body.ty(t)) == Some(IntKind::Bool);
            let converts = *body.op(t) == Op::Cast && (truth(t) || body.args(t).iter().any(|&a| truth(a)));
            let known = !matches!(
                body.op(t),
                Op::Call | Op::Index | Op::Deref | Op::Member { .. } | Op::AddrOf | Op::Arithmetic(_)
            );
            if converts || !known || body.says_of_overflow(t) {
                self.refuse(RefusalKind::Host(HostForm::Steps), t);
            }
            open.extend(body.args(t));
        }
        for s in &region.scalars {
            let named = is_spoken(&body.symbols[s.symbol].name) || length_of(body, s.symbol).is_some();
            let is_length = length_of(body, s.symbol).is_some();
            if !named || is_length && (s.kept || s.set) {
                self.refuse(RefusalKind::Host(HostForm::Steps), self.target);
            }
        }
    }

    /// All of each array, as far as its lengths are known.
    pub(super) fn whole_arrays(&mut self, buffers: &mut [BufferPlan]) {
        for b in buffers.iter_mut() {
            if is_span(self.body, b.symbol) {
                self.refuse(RefusalKind::Host(HostForm::Span(b.symbol)), self.target);
            }
            match self.whole(b) {
                Some(whole) if b.rows.is_none() => b.extent = Some(whole),
                _ => self.refuse(RefusalKind::Host(HostForm::Reference), self.target),
            }
            (b.copy_in, b.late, b.staged) = (true, false, b.written);
        }
    }

    /// All arrays of a region must be there before the first of its nests: that one's own header asks it for its length says
    /// nothing of the region's beginning.
    pub(super) fn all_are_there(&mut self, region: &Region, tests: &mut Vec<Test>) {
        if !self.is_managed() {
            return;
        }
        tests.retain(|t| !matches!(t.kind, TestKind::Outside { .. }));
        let arrays = region.arrays.iter().map(|a| a.buffer.symbol);
        let asked = region.scalars.iter().filter_map(|s| length_of(self.body, s.symbol)).map(|l| l.0);
        for s in arrays.chain(asked) {
            let kind = TestKind::NotNull(s);
            if !tests.iter().any(|t| t.kind == kind) {
                tests.push(Test { kind, meets: None });
            }
        }
    }

    /// The program's text must be able to name what the host is given, and to give it though the loop does not run.
    pub(super) fn spoken(&mut self, values: &[HostValue], dims: &[Dim]) {
        if !self.is_managed() {
            return;
        }
        let body = self.body;
        let named = |s: SymbolId| is_spoken(&body.symbols[s].name) || length_of(body, s).is_some();
        let mut wrong: Vec<TermId> = Vec::new();
        let plain = |t: TermId| {
            let is = |x: TermId| match body.as_symbol(x) {
                // an array that is null has no length
                Some(s) => {
                    is_spoken(&body.symbols[s].name) && body.said.lengths.iter().all(|l| l.length != s)
                }
                None => true,
            };
            !may_trap(body, t) && body.walk(t).all(is)
        };
        for v in values {
            match v.param {
                Param::Symbol(s) if named(s) => {}
                Param::Term(t) if plain(t) => {}
                Param::Term(t) => wrong.push(t),
                Param::Longest(_) => {}
                _ => self.refuse(RefusalKind::Host(HostForm::Reference), self.target),
            }
        }
        for d in dims {
            wrong.extend(Some(d.lower).filter(|&t| d.lower_on_host && !plain(t)));
            if let analysis::Step::Term { term, .. } = d.step {
                wrong.extend(Some(term).filter(|&t| d.step_on_host && !plain(t)));
            }
        }
        wrong.into_iter().for_each(|t| self.refuse(RefusalKind::ReadsTooEarly, t));
    }
}
