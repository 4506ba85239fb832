//! What the user promises, as far as the model can use it: how many elements arrays have, what elements of index arrays are
//! like, what lies apart. An element of which something is promised is a value of its own (`VarKind::Image`): everything that
//! rests on it is inexact, so a promise is never part of a witness.
//!
//! Promises speak of arrays as they are when the root begins. One that names what the root does not touch, or an array that
//! the root writes, is not used.

use std::cell::RefCell;
use std::collections::BTreeSet;

use term::{Body, Len, Promised, SymbolId, TermId, TypeKind};

use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};
use crate::flow::parts::Inside;
use crate::nest::builder::{Builder, Loc};
use crate::nest::pieces::Pieces;
use crate::nest::vars::{Loaded, Vars};
use crate::{ConditionKind, Object, Param};

/// Promises of one loop; numbers are those of [`term::Said::promises`].
#[derive(Clone, Default)]
pub(crate) struct Promises {
    pub arrays: Vec<PromisedArray>,
    /// Objects that lie apart.
    pub apart: Vec<(usize, SymbolId, SymbolId)>,
    /// Expressions of tables whose rows lie apart.
    rows: Vec<(usize, TermId)>,
    /// What answers rested on so far.
    used: RefCell<BTreeSet<usize>>,
}

/// What is promised of an array. Elements are counted from where its object begins.
#[derive(Clone, Debug)]
pub(crate) struct PromisedArray {
    pub base: SymbolId,
    pub size: Option<PromisedSize>,
    /// Least value, and the first that is too large.
    range: Option<(usize, Poly, Poly)>,
    pub injective: Option<usize>,
}

/// Elements that an array has.
#[derive(Clone, Debug)]
pub(crate) struct PromisedSize {
    pub number: usize,
    pub count: Poly,
}

impl Promises {
    pub(crate) fn of(&self, base: SymbolId) -> Option<&PromisedArray> {
        self.arrays.iter().find(|a| a.base == base)
    }

    pub(crate) fn size(&self, base: SymbolId) -> Option<&PromisedSize> {
        self.of(base)?.size.as_ref()
    }

    /// Notes that an answer rests on a promise.
    pub(crate) fn rest_on(&self, number: usize) {
        self.used.borrow_mut().insert(number);
    }

    /// What the answers so far rest on.
    pub(crate) fn used(&self) -> Vec<usize> {
        self.used.borrow().iter().copied().collect()
    }

    /// The promise that two objects lie apart.
    pub(crate) fn apart(&self, a: SymbolId, b: SymbolId) -> Option<usize> {
        self.apart.iter().find(|&&(_, x, y)| (x, y) == (a, b) || (x, y) == (b, a)).map(|p| p.0)
    }

    /// The promise that the rows of a table lie apart.
    pub(crate) fn rows(&self, body: &Body, table: SymbolId) -> Option<usize> {
        let row = body.path_term(table)?;
        let of = *body.args(row).first()?;
        self.rows.iter().find(|r| body.same(r.1, of)).map(|r| r.0)
    }

    /// Whether a promise says between which values an element that was loaded lies; the answer then rests on it.
    pub(crate) fn bounds(&self, vars: &Vars, v: Var) -> bool {
        let range = vars.loads.get(&v).and_then(|l| self.of(l.array)).and_then(|a| a.range.as_ref());
        if let Some((number, ..)) = range {
            self.rest_on(*number);
        }
        range.is_some()
    }
}

/// The condition that a promise meets.
pub(crate) fn condition_of(body: &Body, number: usize) -> Option<ConditionKind> {
    let object = |t: TermId| Some(Object { symbol: body.array_symbol(t)?, fields: Vec::new() });
    Some(match body.said.promises.get(number)?.says {
        Promised::Size { array, length } => ConditionKind::Size { array, length },
        Promised::DistinctRows(_) => return None,
        Promised::Injective(array) => ConditionKind::Injective(array),
        Promised::InRange { array, low, high } => ConditionKind::InRange { array, low, high },
        Promised::NoAlias(a, b) => ConditionKind::NoAlias(object(a)?, object(b)?),
        Promised::Pure(f) => ConditionKind::Pure(f),
        Promised::Not(_) => return None,
    })
}

impl Builder<'_> {
    /// Reads what is promised of the root's arrays. Precondition: what stands before the root is read, and nothing of it.
    pub(super) fn read_promises(&mut self) {
        let body = self.body;
        let promises: Vec<(usize, Promised)> =
            body.promises(self.root).map(|(k, p)| (k, p.says.clone())).collect();
        for (number, says) in promises {
            match says {
                // an array that says how large it is needs no promise
                Promised::Size { array, .. } if is_declared(body, array) => {}
                Promised::Size { array, length } => {
                    let Some(base) = self.promised_base(array) else { continue };
                    let Some(count) = self.promised_value(length) else { continue };
                    self.promised_array(base).size.get_or_insert(PromisedSize { number, count });
                }
                Promised::Injective(array) => {
                    let Some(base) = self.promised_base(array) else { continue };
                    self.promised_array(base).injective.get_or_insert(number);
                }
                Promised::InRange { array, low, high } => {
                    let Some(base) = self.promised_base(array) else { continue };
                    let (Some(low), Some(high)) = (self.promised_value(low), self.promised_value(high))
                    else {
                        continue;
                    };
                    self.promised_array(base).range.get_or_insert((number, low, high));
                }
                Promised::NoAlias(a, b) => {
                    if let (Some(a), Some(b)) = (self.promised_base(a), self.promised_base(b)) {
                        self.promises.apart.push((number, a, b));
                    }
                }
                Promised::DistinctRows(table) => self.promises.rows.push((number, table)),
                Promised::Pure(_) | Promised::Not(_) => {}
            }
        }
    }

    fn promised_array(&mut self, base: SymbolId) -> &mut PromisedArray {
        let arrays = &mut self.promises.arrays;
        let at = match arrays.iter().position(|a| a.base == base) {
            Some(at) => at,
            None => {
                arrays.push(PromisedArray { base, size: None, range: None, injective: None });
                arrays.len() - 1
            }
        };
        &mut arrays[at]
    }

    /// The object whose first element a promised expression points to when the root begins; nothing for what the root does not
    /// name, for rows of tables, and for what points into the middle: of other elements of the object it says nothing.
    fn promised_base(&mut self, array: TermId) -> Option<SymbolId> {
        let body = self.body;
        // expressions of promises stand nowhere in the tree, so paths are not named by them
        let named = body.walk(self.root).find(|&t| body.same(t, array))?;
        let before = (self.accesses.len(), self.obstacles.len(), self.obligations.len(), self.assumed.len());
        let loc = self.pointer(named);
        let clean = self.obstacles.len() == before.1 && self.obligations.len() == before.2;
        self.accesses.truncate(before.0);
        self.obstacles.truncate(before.1);
        self.obligations.truncate(before.2);
        self.assumed.truncate(before.3);
        let loc = loc.ok().filter(|l| clean && l.inside == Inside::All && l.fields.is_empty())?;
        match &loc.subs[..] {
            [(Some(value), _)] => match &value[..] {
                [(when, first)] if *when == Domain::always() && *first == Poly::default() => Some(loc.base),
                _ => None,
            },
            _ => None,
        }
    }

    /// A value that the host can tell when the root begins.
    fn promised_value(&mut self, t: TermId) -> Option<Poly> {
        let body = self.body;
        if !self.effects.is_invariant_in(body, t, self.root) {
            return None;
        }
        let t = body.walk(self.root).find(|&x| body.same(x, t)).unwrap_or(t);
        let before = (self.obligations.len(), self.assumed.len());
        let value = self.plain_value(t).filter(|p| p.vars().all(|v| self.is_param(v)));
        let clean = self.obligations.len() == before.0;
        self.obligations.truncate(before.0);
        self.assumed.truncate(before.1);
        match value.filter(|_| clean).and_then(|p| self.linear(&p)) {
            Some(value) => Some(value),
            None => Some(Poly::var(self.param(Param::Term(t)))),
        }
    }

    /// A value, where it is not made of elements of which something is promised.
    pub(super) fn unless_loaded(&self, v: Option<Pieces>) -> Option<Pieces> {
        v.filter(|v| v.iter().all(|(_, p)| !self.vars.is_loaded(p)))
    }

    /// The value of an element of which something is promised. Precondition: it was not found to be fixed.
    pub(super) fn promised_load(&mut self, loc: &Loc, t: TermId) -> Option<Var> {
        let kind = self.body.types.as_int(self.body.ty(t))?;
        let promised = self.promises.of(loc.base).filter(|p| p.range.is_some() || p.injective.is_some())?;
        let range = promised.range.clone();
        let keeps = self.written.places.iter().all(|w| w.as_ref().is_some_and(|(base, _)| *base != loc.base));
        if !keeps || loc.inside != Inside::All || !loc.fields.is_empty() {
            return None;
        }
        let one = |(value, _): &(Option<Pieces>, TermId)| match value.as_deref() {
            Some([(when, p)]) if *when == Domain::always() => Some(p.clone()),
            _ => None,
        };
        let subscripts: Vec<Poly> = loc.subs.iter().map(one).collect::<Option<_>>()?;
        if subscripts.iter().any(|p| p.vars().any(|v| *self.vars.kind(v) == VarKind::Fresh)) {
            return None;
        }
        self.assume_fixed(loc, t);
        let loaded = Loaded { array: loc.base, subscripts };
        if let Some((v, _)) = self.vars.loads.iter().find(|(_, l)| **l == loaded) {
            return Some(*v);
        }
        let v = self.fresh(VarKind::Image);
        let value = Poly::var(v);
        let mut known = vec![value.add_constant(-kind.min())?, value.scale(-1)?.add_constant(kind.max())?];
        if let Some((_, low, high)) = range {
            known.extend(value.sub(&low).and_then(|p| self.linear(&p)));
            known.extend(high.sub(&value).and_then(|p| p.add_constant(-1)).and_then(|p| self.linear(&p)));
        }
        self.vars.define(v, known.into_iter().map(Constraint::non_negative).collect());
        self.vars.loads.insert(v, loaded);
        Some(v)
    }
}

/// Whether an array's type says how many elements it has.
fn is_declared(body: &Body, array: TermId) -> bool {
    matches!(body.types.kind(body.ty(array)), TypeKind::Array { len: Len::Const(_), .. })
}
