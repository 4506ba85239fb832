//! Loops that count with a pointer, and those whose step is no constant: where they begin and end, and what the index is in an
//! iteration.

use term::{TermId, TypeId};

use crate::algebra::poly::{Domain, Poly};
use crate::flow::parts::Inside;
use crate::nest::builder::{Builder, Loc};
use crate::nest::pieces::Pieces;
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
