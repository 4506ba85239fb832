//! What the user promises, as far as the model can use it: how many elements arrays have, what elements of index arrays are
//! like, what lies apart. An element of which something is promised is a value of its own (`VarKind::Image`): everything that
//! rests on it is inexact, so a promise is never part of a witness.
//!
//! Promises speak of arrays as they are when the root begins. One that names what the root does not touch, or an array that
//! the root writes, is not used.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use term::{BinOp, Body, Len, Op, Promised, SymbolId, TermId, TypeKind};

use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};
use crate::flow::effects::Effects;
use crate::flow::parts::Inside;
use crate::limits::nest_promises::MOST_SORTED;
use crate::nest::builder::{Builder, Loc};
use crate::nest::pieces::Pieces;
use crate::nest::vars::{Loaded, Vars};
use crate::{ConditionKind, Object, Param};

/// Promises of one loop; numbers are those of [`term::Said::promises`].
#[derive(Clone, Default)]
pub(crate) struct Promises {
    pub arrays: Vec<PromisedArray>,
    /// Objects that lie apart.
    apart: Vec<(usize, PromisedPlace, PromisedPlace)>,
    /// Expressions of tables whose rows lie apart.
    rows: Vec<(usize, TermId)>,
    /// Arrays that were found to be no constants.
    others: BTreeSet<SymbolId>,
    /// What answers rested on so far.
    used: RefCell<BTreeSet<usize>>,
    /// Likewise of arrays that are taken to be sorted: an expression of each.
    used_sorted: RefCell<BTreeSet<TermId>>,
}

/// An object that an expression names: by its variable, or by the path to it (`s->col`), with what stands before its own subscripts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PromisedPlace {
    pub base: SymbolId,
    lead: Vec<Poly>,
}

/// What is promised of an array. Elements are counted from where its object begins.
#[derive(Clone, Debug)]
pub(crate) struct PromisedArray {
    pub place: PromisedPlace,
    pub size: Option<PromisedSize>,
    range: Option<PromisedRange>,
    pub injective: Option<usize>,
    /// It is taken to be sorted, which the host tests: an expression of the array.
    pub sorted: Option<TermId>,
    /// It is one of the program's constants, and its elements are known to lie so; whether no two of them are equal.
    pub constant: Option<bool>,
    /// Its elements are taken to be lengths of rows that are as long as their room at most, which the host tests.
    length: Option<RowLengths>,
}

/// Between which values elements lie.
#[derive(Clone, Debug)]
struct PromisedRange {
    /// `None`: it is known, or taken to be so, which the host tests.
    number: Option<usize>,
    low: Poly,
    /// The first that is too large.
    high: Poly,
}

/// Elements that an array has.
#[derive(Clone, Debug)]
pub(crate) struct PromisedSize {
    pub number: usize,
    pub count: Poly,
}

impl Promises {
    pub(crate) fn of(&self, base: SymbolId) -> Option<&PromisedArray> {
        self.arrays.iter().find(|a| a.place.base == base)
    }

    pub(crate) fn size(&self, base: SymbolId) -> Option<&PromisedSize> {
        self.of(base)?.size.as_ref()
    }

    /// The file-scope arrays of which it is known what they hold, by name.
    pub(crate) fn constants<'b>(&'b self, body: &'b Body) -> impl Iterator<Item = &'b Arc<str>> + 'b {
        let known = self.arrays.iter().filter(|a| a.constant.is_some());
        known.map(|a| &body.symbols[a.place.base]).filter(|s| !s.storage.is_of_call()).map(|s| &s.name)
    }

    /// Whether the value is made of elements of the program's constants, and of no others that were loaded.
    pub(crate) fn is_of_constants(&self, vars: &Vars, p: &Poly) -> bool {
        let is_known = |l: &Loaded| self.of(l.array).is_some_and(|a| a.constant.is_some());
        p.vars().all(|v| vars.loads.get(&v).is_none_or(is_known) && !vars.of_loaded.contains(&v))
    }

    /// Notes that an answer rests on a promise.
    pub(crate) fn rest_on(&self, number: usize) {
        self.used.borrow_mut().insert(number);
    }

    /// What the answers so far rest on.
    pub(crate) fn used(&self) -> Vec<usize> {
        self.used.borrow().iter().copied().collect()
    }

    /// The array, if it is taken to be sorted.
    pub(crate) fn sorted(&self, base: SymbolId) -> Option<TermId> {
        self.of(base)?.sorted
    }

    /// Notes that an answer rests on arrays being sorted.
    pub(crate) fn rest_on_sorted(&self, arrays: impl IntoIterator<Item = TermId>) {
        self.used_sorted.borrow_mut().extend(arrays);
    }

    /// The arrays that answers so far rest on being sorted.
    pub(crate) fn used_sorted(&self) -> Vec<TermId> {
        self.used_sorted.borrow().iter().copied().collect()
    }

    /// What elements that were loaded are taken to be at most.
    pub(crate) fn used_lengths(&self, vars: &Vars) -> Vec<RowLengths> {
        let is_loaded = |a: &&PromisedArray| vars.loads.values().any(|l| l.array == a.place.base);
        self.arrays.iter().filter(is_loaded).filter_map(|a| a.length).collect()
    }

    /// The promise that two objects lie apart.
    pub(crate) fn apart(&self, a: SymbolId, b: SymbolId) -> Option<usize> {
        let are_these = |x: &PromisedPlace, y: &PromisedPlace| {
            let pair = (x.base, y.base);
            pair == (a, b) || pair == (b, a)
        };
        self.apart.iter().find(|(_, x, y)| are_these(x, y)).map(|p| p.0)
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
        if let Some(number) = range.and_then(|r| r.number) {
            self.rest_on(number);
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
                    let Some(place) = self.promised_place(array) else { continue };
                    let Some(count) = self.promised_value(length) else { continue };
                    self.promised_array(place).size.get_or_insert(PromisedSize { number, count });
                }
                Promised::Injective(array) => {
                    let Some(place) = self.promised_place(array) else { continue };
                    self.promised_array(place).injective.get_or_insert(number);
                }
                Promised::InRange { array, low, high } => {
                    let Some(place) = self.promised_place(array) else { continue };
                    let (Some(low), Some(high)) = (self.promised_value(low), self.promised_value(high))
                    else {
                        continue;
                    };
                    let number = Some(number);
                    self.promised_array(place).range.get_or_insert(PromisedRange { number, low, high });
                }
                Promised::NoAlias(a, b) => {
                    if let (Some(a), Some(b)) = (self.promised_place(a), self.promised_place(b)) {
                        self.promises.apart.push((number, a, b));
                    }
                }
                Promised::DistinctRows(table) => self.promises.rows.push((number, table)),
                Promised::Pure(_) | Promised::Not(_) => {}
            }
        }
        if self.how.short {
            self.take_lengths();
        }
        if self.how.sorted {
            for array in bounds_of_parts(body, self.root) {
                if let Some(place) = self.promised_place(array) {
                    self.promised_array(place).sorted = Some(array);
                }
            }
        }
    }

    /// Takes what rows hold to be no more than there is room for, of which nothing is promised.
    fn take_lengths(&mut self) {
        let body = self.body;
        for l in lengths_of_rows(body, self.effects, self.root) {
            let Some(kind) = body.types.element(body.ty(l.array)).and_then(|e| body.types.as_int(e)) else {
                continue;
            };
            let most = match l.term {
                Some(t) => self.promised_value(t),
                None => Some(Poly::constant(l.number.into())),
            };
            let Some(high) = most.and_then(|m| m.add_constant(1)) else { continue };
            let Some(place) = self.promised_place(l.array) else { continue };
            let array = self.promised_array(place);
            if array.range.is_none() {
                array.range = Some(PromisedRange { number: None, low: Poly::constant(kind.min()), high });
                array.length = Some(l);
            }
        }
    }

    /// Notes what an array holds that never changes, and of which nothing is noted.
    fn take_constant(&mut self, base: SymbolId) {
        if self.promises.of(base).is_some() || self.promises.others.contains(&base) {
            return;
        }
        let Some(held) = self.constant_elements(base) else {
            self.promises.others.insert(base);
            return;
        };
        let range = held.most.checked_add(1).map(|high| PromisedRange {
            number: None,
            low: Poly::constant(held.least),
            high: Poly::constant(high),
        });
        let array = self.promised_array(PromisedPlace { base, lead: Vec::new() });
        (array.range, array.constant) = (range, Some(held.distinct));
    }

    /// Notes between which numbers an element lies that is the same in all iterations, where its array never changes.
    pub(super) fn bound_constant(&mut self, base: SymbolId, value: &Option<Pieces>) {
        self.take_constant(base);
        let known = self.promises.of(base).filter(|a| a.constant.is_some());
        let Some(PromisedRange { low, high, .. }) = known.and_then(|a| a.range.as_ref()) else { return };
        let Some(value) = fixed(value) else { return };
        let ends = [value.sub(low), high.sub(value).and_then(|p| p.add_constant(-1))];
        for end in ends.into_iter().flatten().map(Constraint::non_negative) {
            if !self.premises.context.contains(&end) {
                self.premises.context.push(end);
            }
        }
    }

    fn promised_array(&mut self, place: PromisedPlace) -> &mut PromisedArray {
        let arrays = &mut self.promises.arrays;
        let at = match arrays.iter().position(|a| a.place == place) {
            Some(at) => at,
            None => {
                let (size, range, injective, sorted, constant, length) = Default::default();
                arrays.push(PromisedArray { place, size, range, injective, sorted, constant, length });
                arrays.len() - 1
            }
        };
        &mut arrays[at]
    }

    /// The object whose first element a promised expression points to when the root begins; nothing for what the root does not
    /// name, for rows of tables, and for what points into the middle: of other elements of the object it says nothing.
    fn promised_place(&mut self, array: TermId) -> Option<PromisedPlace> {
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
        let ((last, _), lead) = loc.subs.split_last()?;
        let is_first = fixed(last).is_some_and(|first| *first == Poly::default());
        let lead: Vec<Poly> = lead.iter().map(|(value, _)| fixed(value).cloned()).collect::<Option<_>>()?;
        let is_one = lead.iter().all(|p| p.vars().all(|v| self.is_param(v)));
        (is_first && is_one).then_some(PromisedPlace { base: loc.base, lead })
    }

    /// When paths with fixed subscripts have got their own symbols: of those it is that something is promised.
    pub(super) fn settle_promises(&mut self) {
        let objects = &self.objects;
        let settle = |p: &mut PromisedPlace| {
            let own = objects.path(p.base, &p.lead).filter(|_| !p.lead.is_empty());
            let was = p.base;
            p.base = own.unwrap_or(was);
            own.map(|own| (was, own))
        };
        for (_, a, b) in &mut self.promises.apart {
            settle(a);
            settle(b);
        }
        for array in &mut self.promises.arrays {
            if let Some((was, own)) = settle(&mut array.place) {
                let loads = self.vars.loads.values_mut();
                loads.filter(|l| l.array == was).for_each(|l| l.array = own);
            }
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
        self.take_constant(loc.base);
        let is_said = |p: &&PromisedArray| p.range.is_some() || p.injective.is_some() || p.sorted.is_some();
        let lead = |p: &&PromisedArray| {
            let before = loc.subs.len().checked_sub(p.place.lead.len());
            (before == Some(1) || p.constant.is_some())
                && loc.subs.iter().zip(&p.place.lead).all(|((value, _), l)| fixed(value) == Some(l))
        };
        let mut of_base = self.promises.arrays.iter().filter(|a| a.place.base == loc.base);
        // several arrays of one path are not told apart
        let promised = of_base.next().filter(is_said).filter(lead).filter(|_| of_base.next().is_none())?;
        let before = promised.place.lead.len();
        let range = promised.range.clone();
        let keeps = self.written.places.iter().all(|w| w.as_ref().is_some_and(|(base, _)| *base != loc.base));
        if !keeps || loc.inside != Inside::All || !loc.fields.is_empty() {
            return None;
        }
        let own = loc.subs.iter().skip(before);
        let subscripts: Vec<Poly> = own.map(|(value, _)| fixed(value).cloned()).collect::<Option<_>>()?;
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
        if let Some(PromisedRange { low, high, .. }) = range {
            known.extend(value.sub(&low).and_then(|p| self.linear(&p)));
            known.extend(high.sub(&value).and_then(|p| p.add_constant(-1)).and_then(|p| self.linear(&p)));
        }
        self.vars.define(v, known.into_iter().map(Constraint::non_negative).collect());
        self.vars.loads.insert(v, loaded);
        Some(v)
    }
}

/// A value that is one whatever holds.
fn fixed(value: &Option<Pieces>) -> Option<&Poly> {
    match value.as_deref() {
        Some([(when, p)]) if *when == Domain::always() => Some(p),
        _ => None,
    }
}

/// Arrays of integers of which several elements are read under a loop that holds others: where the parts of others begin and end,
/// as in compressed rows.
pub(crate) fn bounds_of_parts(body: &Body, root: TermId) -> Vec<TermId> {
    let mut seen: Vec<(TermId, TermId)> = Vec::new();
    let mut out: Vec<TermId> = Vec::new();
    let inner = body.loop_parts(root).is_some_and(|p| body.loops(p.body).next().is_some());
    for t in body.walk(root).filter(|_| inner) {
        let (Op::Index, &[array, subscript]) = (body.op(t), body.args(t)) else { continue };
        let is_known = |a: &TermId| body.same(*a, array);
        if body.types.as_int(body.ty(t)).is_none() || out.iter().any(is_known) {
            continue;
        }
        match seen.iter().find(|(a, _)| is_known(a)) {
            Some((_, other)) if body.same(*other, subscript) => {}
            Some(_) if out.len() == MOST_SORTED => break,
            Some(_) => out.push(array),
            None => seen.push((array, subscript)),
        }
    }
    out
}

/// An array whose elements say how many cells of a row are used, and how many there is room for: a number, or what a term says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowLengths {
    pub array: TermId,
    pub term: Option<TermId>,
    pub number: u64,
}

/// Arrays that say how far inner loops run (`j < len[i]`) where rows are so many elements apart: `a[64 * i + j]`, `a[m * i + j]`,
/// `double a[][64]`. A guess: whether it helps is seen when the loop is judged so.
pub(crate) fn lengths_of_rows(body: &Body, effects: &Effects<'_>, root: TermId) -> Vec<RowLengths> {
    let Some(inside) = body.loop_parts(root).map(|p| p.body) else { return Vec::new() };
    let written = effects.writes_in(root);
    let fixed = |t: TermId| body.as_symbol(t).is_some_and(|s| !written.contains(&s));
    // how far apart what begins at a multiple of an index is
    let strides = |under: TermId| -> Option<(Option<TermId>, u64)> {
        body.walk(under).find_map(|t| {
            let (Op::Binary(BinOp::Mul), &[a, b]) = (body.op(t), body.args(t)) else { return None };
            let is_index = |t: TermId| body.as_symbol(t).is_some_and(|s| written.contains(&s));
            let factor = if is_index(a) { b } else { Some(a).filter(|_| is_index(b))? };
            match body.as_int(factor) {
                Some(n) if n > 1 => Some((None, u64::try_from(n).ok()?)),
                None if fixed(factor) => Some((Some(factor), 0)),
                _ => None,
            }
        })
    };
    let rows = |under: TermId| -> Option<(Option<TermId>, u64)> {
        body.walk(under).find_map(|t| {
            let (Op::Index, &[row, _]) = (body.op(t), body.args(t)) else { return None };
            match body.types.kind(body.ty(row)) {
                TypeKind::Array { len: Len::Const(n), .. } if *n > 0 && *body.op(row) == Op::Index => {
                    Some((None, *n))
                }
                _ => None,
            }
        })
    };
    let mut out: Vec<RowLengths> = Vec::new();
    for l in body.loops(inside) {
        let Some(c) = body.loop_parts(l).and_then(|p| p.condition) else { continue };
        let (Op::Binary(relation @ (BinOp::Lt | BinOp::Le)), &[_, bound]) = (body.op(c), body.args(c)) else {
            continue;
        };
        let (Op::Index, &[array, _]) = (body.op(bound), body.args(bound)) else { continue };
        if body.types.as_int(body.ty(bound)).is_none() || out.iter().any(|o| body.same(o.array, array)) {
            continue;
        }
        match strides(l).or_else(|| strides(root)).or_else(|| rows(l)) {
            Some((term, number)) if *relation == BinOp::Lt => out.push(RowLengths { array, term, number }),
            // one cell more
            Some((None, number)) => out.push(RowLengths { array, term: None, number: number - 1 }),
            _ => {}
        }
    }
    out
}

/// Whether an array's type says how many elements it has.
fn is_declared(body: &Body, array: TermId) -> bool {
    matches!(body.types.kind(body.ty(array)), TypeKind::Array { len: Len::Const(_), .. })
}
