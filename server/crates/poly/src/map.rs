//! Relations between integer tuples: accesses, schedules, dependences.
//!
//! Deliberately absent: names of tuples (see `flow` and `scan`, which take numbers for statements and arrays).

use crate::ctx::{price, Ctx, Obj, MAX_COLUMNS};
use crate::error::{Error, Result};
use crate::ffi::*;
use crate::linear::{matrices, Constraint, Disjunct, MapSpace, Space};
use crate::set::{take_text, Point, Set};
use base::Budget;
use libc::{c_int, c_uint};
use std::rc::Rc;

/// A relation from integer tuples to integer tuples, for every value of its parameters.
#[derive(Clone)]
pub struct Map {
    pub(crate) obj: Obj<isl_map>,
    space: MapSpace,
}

/// A pair of related tuples, with the parameters' values they are related for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pair {
    /// The parameters' values.
    pub params: Vec<i128>,
    /// The left tuple.
    pub ins: Vec<i128>,
    /// The right tuple.
    pub outs: Vec<i128>,
}

type Unary = unsafe extern "C" fn(*mut isl_map) -> *mut isl_map;
type Binary = unsafe extern "C" fn(*mut isl_map, *mut isl_map) -> *mut isl_map;
type WithSet = unsafe extern "C" fn(*mut isl_map, *mut isl_set) -> *mut isl_map;
type ToSet = unsafe extern "C" fn(*mut isl_map) -> *mut isl_set;
type Test = unsafe extern "C" fn(*mut isl_map, *mut isl_map) -> c_int;
type Ask = unsafe extern "C" fn(*mut isl_map) -> c_int;

impl Map {
    // ---- making -----------------------------------------------------------------------------------------------

    /// Every pair.
    pub fn universe(space: MapSpace, budget: &Budget) -> Result<Map> {
        Map::from_space(space, budget, isl_map_universe)
    }
    /// No pair.
    pub fn empty(space: MapSpace, budget: &Budget) -> Result<Map> {
        Map::from_space(space, budget, isl_map_empty)
    }

    fn from_space(
        space: MapSpace,
        budget: &Budget,
        f: unsafe extern "C" fn(*mut isl_space) -> *mut isl_map,
    ) -> Result<Map> {
        let ctx = Ctx::here()?;
        let s = ctx.map_space(space.params, space.ins, space.outs)?;
        // SAFETY: `f` takes the reference made here.
        Ok(Map::own(ctx.make(budget, || unsafe { f(s.give()) })?, space))
    }

    /// The pairs for which integers exist in the `exists` columns so that all constraints hold. The `dims` of a row
    /// are the left dimensions followed by the right ones.
    pub fn from_constraints(
        space: MapSpace,
        exists: usize,
        constraints: &[Constraint],
        budget: &Budget,
    ) -> Result<Map> {
        let ctx = Ctx::here()?;
        let dims = space.ins.saturating_add(space.outs);
        let (eq, ge) = matrices(&ctx, (space.params, dims, exists), constraints, budget)?;
        let s = ctx.map_space(space.params, space.ins, space.outs)?;
        // SAFETY: takes the space and both matrices, all ours; extra columns become existential variables.
        let dear = budget.priced(price(space.params + dims + exists));
        let obj = ctx.make(&dear, || unsafe {
            isl_map_from_basic_map(isl_basic_map_from_constraint_matrices(
                s.give(),
                eq.give(),
                ge.give(),
                DIM_PARAM,
                DIM_IN,
                DIM_OUT,
                DIM_DIV,
                DIM_CST,
            ))
        })?;
        Ok(Map::own(obj, space))
    }

    /// Pairs `(t, t)` with `t` in the set.
    pub fn identity(set: &Set, budget: &Budget) -> Result<Map> {
        let Space { params, dims } = set.space();
        // SAFETY: takes the reference made here.
        let obj = set.obj.ctx().make(budget, || unsafe { isl_set_identity(set.obj.give()) })?;
        Ok(Map::own(obj, MapSpace { params, ins: dims, outs: dims }))
    }

    /// Every pair of a tuple of `domain` and a tuple of `range`.
    pub fn between(domain: &Set, range: &Set, budget: &Budget) -> Result<Map> {
        let (a, b) = (domain.space(), range.space());
        if a.params != b.params {
            return Err(Error::Mismatch("sets over different parameters"));
        }
        // SAFETY: takes the references made here.
        let obj = domain
            .obj
            .ctx()
            .make(budget, || unsafe { isl_map_from_domain_and_range(domain.obj.give(), range.obj.give()) })?;
        Ok(Map::own(obj, MapSpace { params: a.params, ins: a.dims, outs: b.dims }))
    }

    /// Pairs of tuples of `dims` dimensions whose left one comes lexicographically before the right one.
    pub fn lex_lt(params: usize, dims: usize, budget: &Budget) -> Result<Map> {
        Map::order(params, dims, budget, isl_map_lex_lt)
    }
    /// Pairs of tuples of `dims` dimensions whose left one comes lexicographically before the right one or equals it.
    pub fn lex_le(params: usize, dims: usize, budget: &Budget) -> Result<Map> {
        Map::order(params, dims, budget, isl_map_lex_le)
    }

    fn order(
        params: usize,
        dims: usize,
        budget: &Budget,
        f: unsafe extern "C" fn(*mut isl_space) -> *mut isl_map,
    ) -> Result<Map> {
        let space = MapSpace { params, ins: dims, outs: dims };
        if dims.saturating_mul(2).saturating_add(params) > MAX_COLUMNS {
            return Err(Error::Overflow("more than 256 dimensions and parameters"));
        }
        let ctx = Ctx::here()?;
        let s = ctx.set_space(params, dims)?;
        // SAFETY: `f` takes the reference made here.
        Ok(Map::own(ctx.make(budget, || unsafe { f(s.give()) })?, space))
    }

    pub(crate) fn own(obj: Obj<isl_map>, space: MapSpace) -> Map {
        Map { obj, space }
    }

    /// The shape.
    pub fn space(&self) -> MapSpace {
        self.space
    }

    fn ctx(&self) -> &Rc<Ctx> {
        self.obj.ctx()
    }

    /// The budget for an operation on this relation.
    fn priced(&self, budget: &Budget) -> Budget {
        budget.priced(price(self.space.params + self.space.ins + self.space.outs))
    }

    fn unary(&self, budget: &Budget, f: Unary) -> Result<Map> {
        // SAFETY: `f` is one of isl's functions from map to map of the same space; it takes the reference made here.
        Ok(Map::own(self.ctx().make(&self.priced(budget), || unsafe { f(self.obj.give()) })?, self.space))
    }

    fn binary(&self, other: &Map, budget: &Budget, f: Binary) -> Result<Map> {
        self.same_space(other)?;
        // SAFETY: `f` takes the references made here, which belong to one context because both are of this thread.
        let obj =
            self.ctx().make(&self.priced(budget), || unsafe { f(self.obj.give(), other.obj.give()) })?;
        Ok(Map::own(obj, self.space))
    }

    fn test(&self, other: &Map, budget: &Budget, f: Test) -> Result<bool> {
        self.same_space(other)?;
        // SAFETY: `f` keeps both.
        self.ctx().test(&self.priced(budget), || unsafe { f(self.obj.keep(), other.obj.keep()) })
    }

    fn ask(&self, budget: &Budget, f: Ask) -> Result<bool> {
        // SAFETY: `f` keeps the map.
        self.ctx().test(&self.priced(budget), || unsafe { f(self.obj.keep()) })
    }

    fn to_set(&self, dims: usize, budget: &Budget, f: ToSet) -> Result<Set> {
        // SAFETY: `f` takes the reference made here.
        let obj = self.ctx().make(&self.priced(budget), || unsafe { f(self.obj.give()) })?;
        Ok(Set::own(obj, Space { params: self.space.params, dims }))
    }

    fn same_space(&self, other: &Map) -> Result<()> {
        if self.space == other.space {
            Ok(())
        } else {
            Err(Error::Mismatch("relations of different shapes"))
        }
    }

    // ---- algebra ----------------------------------------------------------------------------------------------

    /// Pairs in both.
    pub fn intersect(&self, other: &Map, budget: &Budget) -> Result<Map> {
        self.binary(other, budget, isl_map_intersect)
    }
    /// Pairs in either.
    pub fn union(&self, other: &Map, budget: &Budget) -> Result<Map> {
        self.binary(other, budget, isl_map_union)
    }
    /// Pairs in `self` but not in `other`.
    pub fn subtract(&self, other: &Map, budget: &Budget) -> Result<Map> {
        self.binary(other, budget, isl_map_subtract)
    }
    /// A simpler relation that has the same pairs as `self` wherever `context` holds.
    pub fn gist(&self, context: &Map, budget: &Budget) -> Result<Map> {
        self.binary(context, budget, isl_map_gist)
    }
    /// Fewer disjuncts for the same pairs, where that is easy to see.
    pub fn coalesce(&self, budget: &Budget) -> Result<Map> {
        self.unary(budget, isl_map_coalesce)
    }
    /// Pairs for which the constraints hold as well.
    pub fn constrain(&self, exists: usize, constraints: &[Constraint], budget: &Budget) -> Result<Map> {
        self.intersect(&Map::from_constraints(self.space, exists, constraints, budget)?, budget)
    }
    /// Pairs whose left tuple is in the set.
    pub fn intersect_domain(&self, set: &Set, budget: &Budget) -> Result<Map> {
        self.with_set(set, self.space.ins, budget, isl_map_intersect_domain)
    }
    /// Pairs whose right tuple is in the set.
    pub fn intersect_range(&self, set: &Set, budget: &Budget) -> Result<Map> {
        self.with_set(set, self.space.outs, budget, isl_map_intersect_range)
    }

    fn with_set(&self, set: &Set, dims: usize, budget: &Budget, f: WithSet) -> Result<Map> {
        if set.space() != (Space { params: self.space.params, dims }) {
            return Err(Error::Mismatch("a set of another shape than the relation's side"));
        }
        // SAFETY: `f` takes the references made here.
        let obj = self.ctx().make(&self.priced(budget), || unsafe { f(self.obj.give(), set.obj.give()) })?;
        Ok(Map::own(obj, self.space))
    }

    /// The relation at those parameter values only that are in `params` (a set without dimensions).
    pub fn intersect_params(&self, params: &Set, budget: &Budget) -> Result<Map> {
        self.with_params(params, budget, isl_map_intersect_params)
    }
    /// A simpler relation that has the same pairs as `self` for the parameter values in `context`.
    pub fn gist_params(&self, context: &Set, budget: &Budget) -> Result<Map> {
        self.with_params(context, budget, isl_map_gist_params)
    }

    fn with_params(&self, params: &Set, budget: &Budget, f: WithSet) -> Result<Map> {
        let p = params.params_only(self.space.params, budget)?;
        // SAFETY: `f` takes the references made here.
        let obj = self.ctx().make(&self.priced(budget), || unsafe { f(self.obj.give(), p.give()) })?;
        Ok(Map::own(obj, self.space))
    }

    /// The pairs turned around.
    pub fn reverse(&self, budget: &Budget) -> Result<Map> {
        let MapSpace { params, ins, outs } = self.space;
        // SAFETY: takes the reference made here.
        let obj = self.ctx().make(&self.priced(budget), || unsafe { isl_map_reverse(self.obj.give()) })?;
        Ok(Map::own(obj, MapSpace { params, ins: outs, outs: ins }))
    }

    /// Pairs `(a, c)` with `(a, b)` in `self` and `(b, c)` in `next`: first `self`, then `next`.
    pub fn then(&self, next: &Map, budget: &Budget) -> Result<Map> {
        if self.space.params != next.space.params || self.space.outs != next.space.ins {
            return Err(Error::Mismatch("relations that cannot be composed"));
        }
        // SAFETY: takes the references made here.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_map_apply_range(self.obj.give(), next.obj.give())
        })?;
        Ok(Map::own(obj, MapSpace { outs: next.space.outs, ..self.space }))
    }

    /// Pairs `(a, (b, c))` with `(a, b)` in `self` and `(a, c)` in `other`.
    pub fn range_product(&self, other: &Map, budget: &Budget) -> Result<Map> {
        if self.space.params != other.space.params || self.space.ins != other.space.ins {
            return Err(Error::Mismatch("relations with different left sides"));
        }
        // SAFETY: takes the references made here.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_map_flat_range_product(self.obj.give(), other.obj.give())
        })?;
        Ok(Map::own(obj, MapSpace { outs: self.space.outs + other.space.outs, ..self.space }))
    }

    /// For each left tuple the pair with the lexicographically least right one. `Err(Unbounded)` if there is none.
    pub fn lexmin(&self, budget: &Budget) -> Result<Map> {
        self.unary(budget, isl_map_lexmin)
    }
    /// For each left tuple the pair with the lexicographically greatest right one. `Err(Unbounded)` if there is none.
    pub fn lexmax(&self, budget: &Budget) -> Result<Map> {
        self.unary(budget, isl_map_lexmax)
    }

    /// Pairs joined by a chain of one or more pairs, and whether that is exact (otherwise it is a superset).
    pub fn transitive_closure(&self, budget: &Budget) -> Result<(Map, bool)> {
        if self.space.ins != self.space.outs {
            return Err(Error::Mismatch("only a relation of one space with itself has a closure"));
        }
        let mut exact: c_int = 0;
        // SAFETY: takes the reference made here and writes one `isl_bool` through the pointer.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_map_transitive_closure(self.obj.give(), &mut exact)
        })?;
        Ok((Map::own(obj, self.space), exact == 1))
    }

    // ---- sides ------------------------------------------------------------------------------------------------

    /// The left tuples.
    pub fn domain(&self, budget: &Budget) -> Result<Set> {
        self.to_set(self.space.ins, budget, isl_map_domain)
    }
    /// The right tuples.
    pub fn range(&self, budget: &Budget) -> Result<Set> {
        self.to_set(self.space.outs, budget, isl_map_range)
    }
    /// The right tuples related to a tuple of the set.
    pub fn apply(&self, set: &Set, budget: &Budget) -> Result<Set> {
        self.intersect_domain(set, budget)?.range(budget)
    }
    /// The differences "right minus left" of all pairs.
    pub fn deltas(&self, budget: &Budget) -> Result<Set> {
        if self.space.ins != self.space.outs {
            return Err(Error::Mismatch("only tuples of equal length have a difference"));
        }
        self.to_set(self.space.ins, budget, isl_map_deltas)
    }
    /// The parameter values for which there is a pair, as a set without dimensions.
    pub fn params(&self, budget: &Budget) -> Result<Set> {
        self.wrap(budget)?.params(budget)
    }
    /// The pairs as tuples: left dimensions, then right ones.
    pub fn wrap(&self, budget: &Budget) -> Result<Set> {
        let MapSpace { params, ins, outs } = self.space;
        let s = self.ctx().set_space(params, ins + outs)?;
        // SAFETY: each call takes what the one before gave (NULL stays NULL), and the space's reference.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_set_reset_space(isl_set_flatten(isl_map_wrap(self.obj.give())), s.give())
        })?;
        Ok(Set::own(obj, Space { params, dims: ins + outs }))
    }
    /// The relation whose pairs are the set's tuples cut after `ins` dimensions.
    pub fn unwrap(set: &Set, ins: usize, budget: &Budget) -> Result<Map> {
        let Space { params, dims } = set.space();
        let Some(outs) = dims.checked_sub(ins) else {
            return Err(Error::Mismatch("no such dimension"));
        };
        let ctx = set.obj.ctx();
        let s = ctx.map_space(params, ins, outs)?;
        // SAFETY: each call takes what the one before gave (NULL stays NULL), and the space's reference.
        let obj = ctx.make(budget, || unsafe {
            let m = isl_map_from_range(set.obj.give());
            isl_map_reset_space(isl_map_move_dims(m, DIM_IN, 0, DIM_OUT, 0, ins as c_uint), s.give())
        })?;
        Ok(Map::own(obj, MapSpace { params, ins, outs }))
    }
    /// The relation without right dimensions `first..first + n`.
    pub fn project_out_range(&self, first: usize, n: usize, budget: &Budget) -> Result<Map> {
        if first.checked_add(n).is_none_or(|end| end > self.space.outs) {
            return Err(Error::Mismatch("no such dimension"));
        }
        // SAFETY: takes the reference made here; the range was checked.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_map_project_out(self.obj.give(), DIM_OUT, first as c_uint, n as c_uint)
        })?;
        Ok(Map::own(obj, MapSpace { outs: self.space.outs - n, ..self.space }))
    }

    // ---- questions --------------------------------------------------------------------------------------------

    /// Whether there is no pair for any value of the parameters. Exact.
    pub fn is_empty(&self, budget: &Budget) -> Result<bool> {
        self.ask(budget, isl_map_is_empty)
    }
    /// Whether no left tuple has two right ones.
    pub fn is_single_valued(&self, budget: &Budget) -> Result<bool> {
        self.ask(budget, isl_map_is_single_valued)
    }
    /// Whether no right tuple has two left ones.
    pub fn is_injective(&self, budget: &Budget) -> Result<bool> {
        self.ask(budget, isl_map_is_injective)
    }
    /// Whether every pair of `self` is in `other`.
    pub fn is_subset(&self, other: &Map, budget: &Budget) -> Result<bool> {
        self.test(other, budget, isl_map_is_subset)
    }
    /// Whether both have the same pairs.
    pub fn is_equal(&self, other: &Map, budget: &Budget) -> Result<bool> {
        self.test(other, budget, isl_map_is_equal)
    }
    /// Whether no pair is in both.
    pub fn is_disjoint(&self, other: &Map, budget: &Budget) -> Result<bool> {
        self.test(other, budget, isl_map_is_disjoint)
    }
    /// A pair, small where a small one is easy to find; `None` if there is none. See [`Set::sample_point`].
    pub fn sample_pair(&self, budget: &Budget) -> Result<Option<Pair>> {
        let point = self.wrap(budget)?.sample_point(budget)?;
        Ok(point.map(|Point { params, mut dims }| {
            let outs = dims.split_off(self.space.ins.min(dims.len()));
            Pair { params, ins: dims, outs }
        }))
    }
    /// The relation as plain data: it is the union of these. The `dims` of a row are the left dimensions, then the
    /// right ones.
    pub fn disjuncts(&self, budget: &Budget) -> Result<Vec<Disjunct>> {
        self.wrap(budget)?.disjuncts(budget)
    }
    /// isl's own notation, for tests and logs; parameters are called `p0`, `p1`, ….
    pub fn notation(&self, budget: &Budget) -> Result<String> {
        // SAFETY: keeps the map; the text is ours and freed by `take_text`.
        take_text(self.ctx().run(budget, || unsafe { isl_map_to_str(self.obj.keep()) })?)
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.notation(&Budget::new(100_000)) {
            Ok(text) => f.write_str(&text),
            Err(e) => write!(f, "{:?} ({e})", self.space),
        }
    }
}
