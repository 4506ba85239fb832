//! Integer members of structures that nobody else knows of, with the values they have when the root begins: `v->stride` behind
//! `v = vector_alloc(n)`, `g.nx` behind `g.nx = n`.
//!
//! The argument is that of `entry`: a statement before the root gave the member its value, and nothing between changes it. Of a structure
//! of which nobody was told all that may is in the text (`flow::given::changes`).

use std::sync::Arc;

use term::{IntKind, Op, SymbolId, TermId, TypeId, TypeKind};

use crate::algebra::poly::{Constraint, Domain, Poly};
use crate::flow::given::{first_scalars, is_a_number_alone, member_of};
use crate::flow::owned::arguments;
use crate::flow::parts::structure;
use crate::nest::builder::Builder;
use crate::nest::entry::Changed;
use crate::Given;

impl Builder<'_> {
    /// What is known of a member that is read there.
    pub(super) fn known_member(&self, place: TermId) -> Option<Poly> {
        if self.entry.members.is_empty() {
            return None;
        }
        self.entry.members.get(&member_of(self.body, place)?).cloned()
    }

    /// What a member has from `v->m = e`, the statement `t`.
    pub(super) fn member_assigned(&mut self, t: TermId, changed: &Changed) {
        let &[place, e] = self.body.args(t) else { return };
        let Some((s, field)) = member_of(self.body, place) else { return };
        if is_a_number_alone(self.body, place, s) {
            let kinds = vec![self.body.ty(e), self.body.ty(place)];
            self.member_is(s, field, e, &kinds, t, changed);
        }
    }

    /// What members have from what a structure, or a pointer to one, is set to in the statement `t`.
    pub(super) fn members_given(&mut self, s: SymbolId, e: TermId, t: TermId, changed: &Changed) {
        let body = self.body;
        let ty = body.symbols[s].ty;
        let TypeKind::Record(r) = body.types.kind(body.types.element(ty).unwrap_or(ty)) else { return };
        let fields = body.types.record(*r).fields.as_deref().unwrap_or_default();
        let value = crate::flow::fresh::uncast(body, e);
        match body.op(value) {
            // of another structure than the maker speaks of
            Op::Call if structure(body, body.ty(value)) != Some(*r) => {}
            Op::Call => {
                let Some(summary) = self.effects.summary(value).filter(|s| !s.set_members.is_empty()) else {
                    return;
                };
                for (name, given) in summary.set_members.clone() {
                    let Some(f) = fields.iter().find(|f| f.name == name && f.bits.is_none()) else {
                        continue;
                    };
                    match given {
                        Given::Number(n) => {
                            let fits = body.types.as_int(f.ty).is_some_and(|k| k.wrap(n) == n);
                            if fits && self.is_unchanged(s, &f.name, t, changed) {
                                self.know_member(s, f.name.clone(), Poly::constant(n));
                            }
                        }
                        Given::Parameter(k) => {
                            let argument = arguments(body, value).nth(k as usize);
                            let Some((a, Some(to))) = argument else { continue };
                            self.member_is(s, f.name.clone(), a, &[body.ty(a), to, f.ty], t, changed);
                        }
                    }
                }
            }
            Op::InitList if body.types.element(ty).is_none() => {
                for (f, &v) in first_scalars(body, ty).zip(body.args(value)) {
                    if body.types.as_int(f.ty).is_some() {
                        self.member_is(s, f.name.clone(), v, &[body.ty(v), f.ty], t, changed);
                    }
                }
            }
            _ => {}
        }
    }

    /// Notes that a member is the value of `e`, converted to one type after the other, since the statement `t`.
    fn member_is(
        &mut self,
        s: SymbolId,
        field: Arc<str>,
        e: TermId,
        types: &[TypeId],
        t: TermId,
        changed: &Changed,
    ) {
        let kinds: Option<Vec<IntKind>> = types.iter().map(|&ty| self.body.types.as_int(ty)).collect();
        let Some(kinds) = kinds else { return };
        if !self.is_plain_fact(e, changed) || self.mentions(e, s) || !self.is_unchanged(s, &field, t, changed)
        {
            return;
        }
        let value = self.quietly(|m| {
            let mut v = vec![(Domain::always(), m.plain_value(e)?)];
            for k in kinds.windows(2) {
                v = m.convert(v, k[0], k[1], e)?;
            }
            Some(v)
        });
        if let Some(v) = value.and_then(|v| self.settled(&v)) {
            self.know_member(s, field, v);
        }
    }

    fn know_member(&mut self, s: SymbolId, field: Arc<str>, value: Poly) {
        let body = self.body;
        let key = (s, field);
        if self.entry.members.contains_key(&key) {
            return;
        }
        // loops around have named it already
        let named = self.term_params.iter().find(|(t, _)| member_of(body, *t).as_ref() == Some(&key));
        if let Some(&(_, x)) = named {
            if let Some(poly) = Poly::var(x).sub(&value).and_then(|p| self.linear(&p)) {
                self.premises.context.push(Constraint { poly, equality: true });
            }
        }
        self.entry.members.insert(key, value);
    }

    /// Whether the structure is known to nobody else until the root ends, the variable stands for it since the statement `t`, and nothing
    /// changed the member since then, nor does in the root.
    fn is_unchanged(&self, s: SymbolId, field: &Arc<str>, t: TermId, changed: &Changed) -> bool {
        !changed.replaces(&s)
            && !self.effects.writes_in(self.root).contains(&s)
            && self.effects.home(self.root, s).is_some_and(|h| h.apart)
            && !self.effects.changes_member(s, field, t, self.root)
    }
}
