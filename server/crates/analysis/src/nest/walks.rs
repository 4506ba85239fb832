//! Loops that count with a pointer, and those whose step is no constant: where they begin and end, and what the index is in an
//! iteration.

use term::{TermId, TypeId};

use crate::algebra::poly::{divide, Domain, Poly, Var, VarKind};
use crate::flow::parts::Inside;
use crate::nest::builder::{Builder, Loc};
use crate::nest::pieces::Pieces;
use crate::nest::ModelLoop;
use crate::{Control, Param, Step};

impl Builder<'_> {
    /// The root's index in an iteration, and how many iterations there are, where the step is no constant. The number is a
    /// value of its own, which stands as the parameter that the loop itself is: who asks for it knows how it is found.
    pub(super) fn by_number(&mut self, c: &Control, first: &Poly) -> Option<(Poly, Poly)> {
        let Step::Term { term, negated } = c.step else { return None };
        let by = self.plain_value(term)?.scale(if negated { -1 } else { 1 })?;
        if !by.vars().chain(first.vars()).all(|v| self.is_param(v)) {
            return None;
        }
        let index = by.mul(&Poly::var(self.loops[0].var))?.add(first)?;
        let trips = Poly::var(self.param(Param::Term(self.root)));
        self.objects.step = Some(by);
        Some((index, trips))
    }

    /// The index in iteration `x` of a loop whose step is no constant but fixed while the root runs, as `first + x * step`; and of one
    /// that counts by one from where such a loop is, from there: `for (i = b; i < b + s; i++)` in `for (b = 0; b < n; b += s)`. Both
    /// are products, which only rows of that length make linear.
    pub(super) fn by_stride(&mut self, at: usize, c: &Control, first: &Poly) -> Option<Poly> {
        let x = Poly::var(self.loops[at].var);
        match c.step {
            Step::Term { term, negated } if self.how.strided => {
                let by = self.plain_value(term)?.scale(if negated { -1 } else { 1 })?;
                let is_fixed = by.vars().all(|v| matches!(self.vars.kind(v), VarKind::Param(_)));
                is_fixed.then(|| by.mul(&x)?.add(first)).flatten()
            }
            Step::Const(1) if (self.how.strided || self.how.numbered) && !first.is_linear() => x.add(first),
            _ => None,
        }
    }

    /// How many times a value is another one, where that is so whatever they are: `b / s` in `for (b = 0; b < n; b += s)`.
    pub(super) fn whole_steps(&self, value: &Poly, of: &Poly) -> Option<Poly> {
        let mut only = of.terms();
        let (step, by) = only.next().filter(|(m, _)| !m.is_empty())?;
        let times = |(m, c): (&[Var], i128)| Some((divide(m, step)?, (c % by == 0).then_some(c / by)?));
        let all: Option<Vec<(Vec<Var>, i128)>> = value.terms().map(times).collect();
        Poly::from_terms(all.filter(|_| only.next().is_none())?)
    }

    /// Whether a counter numbers the iterations of a loop that goes on by this number.
    pub(super) fn is_step_of(&self, step: &[Var], counters: &[Var]) -> bool {
        let counts = |l: &ModelLoop| {
            let of = l.iteration.as_ref().and_then(Poly::as_var)?;
            let (_, index) = l.index.as_ref()?;
            let by_term = matches!(l.control.as_ref()?.step, Step::Term { .. });
            let steps = index.terms().any(|(m, _)| divide(m, &[of]).is_some_and(|rest| rest == step));
            (by_term && counters == [of]).then_some(steps)
        };
        self.how.strided && self.loops.iter().any(|l| counts(l) == Some(true))
    }

    /// Where the root's pointer points at first: what it is set to, or, where that is not known, a place of its own.
    pub(super) fn first_of_root(&mut self, c: &Control) -> Loc {
        let own = |at: TermId| Loc {
            base: c.index,
            fields: Vec::new(),
            subs: vec![(Some(vec![(Domain::always(), Poly::default())]), at)],
            lengths: vec![None],
            loads: Vec::new(),
            inside: Inside::All,
        };
        if self.body.as_symbol(c.lower) == Some(c.index) {
            return self.entry.pointers.get(&c.index).cloned().unwrap_or_else(|| own(c.lower));
        }
        let same_element = {
            let element = |ty: TypeId| self.body.types.element(ty).map(|e| self.body.types.kind(e));
            element(self.body.symbols[c.index].ty) == element(self.body.ty(c.lower))
        };
        // It is evaluated before the loop: what it reads is no access of an iteration.
        let before = (self.obstacles.len(), self.accesses.len());
        let first = self.pointer(c.lower);
        let clean = self.obstacles.len() == before.0;
        self.obstacles.truncate(before.0);
        self.accesses.truncate(before.1);
        match first {
            Ok(loc) if same_element && clean => loc,
            _ => own(c.lower),
        }
    }

    /// How many elements the bound of a pointer lies from its first place: the difference of two places in one array, or
    /// a value of its own. Only for the root, where both are fixed, may it be the latter.
    pub(super) fn pointer_end(&mut self, c: &Control, first: &Loc) -> Option<Pieces> {
        let bound = c.bound?;
        // What it reads is recorded where it is tested.
        let before = (self.obstacles.len(), self.accesses.len());
        let end = self.pointer(bound).ok().filter(|_| self.obstacles.len() == before.0);
        self.obstacles.truncate(before.0);
        self.accesses.truncate(before.1);
        if let Some(end) = end {
            let rank = first.subs.len();
            let same = first.inside == Inside::All
                && end.base == first.base
                && end.fields == first.fields
                && end.subs.len() == rank
                && rank > 0;
            let known = |l: &Loc| -> Option<Vec<Poly>> {
                l.subs
                    .iter()
                    .map(|s| match s.0.as_deref() {
                        Some([(_, p)]) => Some(p.clone()),
                        _ => None,
                    })
                    .collect()
            };
            if let (true, Some(a), Some(b)) = (same, known(first), known(&end)) {
                if a[..rank - 1] == b[..rank - 1] {
                    return Some(vec![(Domain::always(), b[rank - 1].sub(&a[rank - 1])?)]);
                }
            }
        }
        if !self.path.is_empty() {
            return None;
        }
        let v = self.param(Param::Distance { from: c.lower, to: bound });
        Some(vec![(Domain::always(), Poly::var(v))])
    }

    /// The pointer that counts, in iteration t: t steps from its first place.
    pub(super) fn walk_pointer(&mut self, at: usize, c: &Control, mut first: Loc) {
        let by = match (&c.step, &self.loops[at].iteration) {
            (Step::Const(k), Some(t)) => t.scale(*k).map(|p| vec![(Domain::always(), p)]),
            (Step::Term { .. }, Some(t)) => {
                let by = self.objects.step.as_ref().filter(|_| at == 0).and_then(|s| s.mul(t));
                by.map(|p| vec![(Domain::always(), p)])
            }
            _ => None,
        };
        let step = match c.step {
            Step::Const(k) => Some(Poly::constant(k)),
            Step::Term { .. } => self.objects.step.clone(),
        };
        if let (0, Some(step)) = (at, step) {
            self.walks(c.index, &first, step);
        }
        self.move_pointer(&mut first, by, c.lower, false);
        self.pointers.insert(c.index, Some(first));
    }
}
