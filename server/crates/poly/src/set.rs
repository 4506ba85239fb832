//! Sets of integer tuples: unions of polyhedra with existential variables, over parameters.
//!
//! Deliberately absent: names of dimensions, counting of parametric sets, rational sets.

use crate::ctx::{price, Ctx, Obj, MAX_COLUMNS};
use crate::error::{Error, Result};
use crate::ffi::*;
use crate::linear::{matrices, read_disjunct, Constraint, Disjunct, Row, Space};
use base::Budget;
use libc::{c_int, c_uint};
use std::ops::Range;
use std::rc::Rc;

/// A set of integer tuples, for every value of its parameters.
#[derive(Clone)]
pub struct Set {
    pub(crate) obj: Obj<isl_set>,
    space: Space,
}

/// A concrete point of a set, with the parameters' values it lies in the set for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Point {
    /// The parameters' values.
    pub params: Vec<i128>,
    /// The tuple.
    pub dims: Vec<i128>,
}

type Unary = unsafe extern "C" fn(*mut isl_set) -> *mut isl_set;
type Binary = unsafe extern "C" fn(*mut isl_set, *mut isl_set) -> *mut isl_set;
type Test = unsafe extern "C" fn(*mut isl_set, *mut isl_set) -> c_int;

impl Set {
    // ---- making -----------------------------------------------------------------------------------------------

    /// Every tuple.
    pub fn universe(space: Space, budget: &Budget) -> Result<Set> {
        let ctx = Ctx::here()?;
        let s = ctx.set_space(space.params, space.dims)?;
        // SAFETY: takes the reference made here.
        Ok(Set::own(ctx.make(budget, || unsafe { isl_set_universe(s.give()) })?, space))
    }

    /// No tuple.
    pub fn empty(space: Space, budget: &Budget) -> Result<Set> {
        let ctx = Ctx::here()?;
        let s = ctx.set_space(space.params, space.dims)?;
        // SAFETY: takes the reference made here.
        Ok(Set::own(ctx.make(budget, || unsafe { isl_set_empty(s.give()) })?, space))
    }

    /// The tuples for which integers exist in the `exists` columns so that all constraints hold.
    ///
    /// Strides and divisions are expressed with existential variables: `i mod 4 = 1` is `∃e: i - 4e - 1 = 0`.
    pub fn from_constraints(
        space: Space,
        exists: usize,
        constraints: &[Constraint],
        budget: &Budget,
    ) -> Result<Set> {
        let ctx = Ctx::here()?;
        let (eq, ge) = matrices(&ctx, (space.params, space.dims, exists), constraints, budget)?;
        let s = ctx.set_space(space.params, space.dims)?;
        // SAFETY: takes the space and both matrices, all ours; extra columns become existential variables.
        let dear = budget.priced(price(space.params + space.dims + exists));
        let obj = ctx.make(&dear, || unsafe {
            let b = isl_basic_set_from_constraint_matrices(
                s.give(),
                eq.give(),
                ge.give(),
                DIM_PARAM,
                DIM_SET,
                DIM_DIV,
                DIM_CST,
            );
            isl_set_from_basic_set(b)
        })?;
        Ok(Set::own(obj, space))
    }

    /// The union of disjuncts as [`Set::disjuncts`] gives them.
    pub fn from_disjuncts(space: Space, disjuncts: &[Disjunct], budget: &Budget) -> Result<Set> {
        let mut all = Set::empty(space, budget)?;
        for d in disjuncts {
            let mut constraints = d.constraints.clone();
            for (k, div) in d.divs.iter().enumerate() {
                let overflow = || Error::Overflow("a division's definition");
                if div.denominator <= 0 {
                    return Err(Error::Mismatch("a division by a number that is not positive"));
                }
                let low = div
                    .numerator
                    .checked_sub(&Row::default().exist(k, div.denominator))
                    .ok_or_else(overflow)?;
                let high =
                    low.checked_scale(-1).and_then(|r| r.checked_add(&Row::constant(div.denominator - 1)));
                constraints.push(Constraint::ge(low));
                constraints.push(Constraint::ge(high.ok_or_else(overflow)?));
            }
            let one = Set::from_constraints(space, d.divs.len(), &constraints, budget)?;
            all = all.union(&one, budget)?;
        }
        Ok(all)
    }

    pub(crate) fn own(obj: Obj<isl_set>, space: Space) -> Set {
        Set { obj, space }
    }

    /// The shape.
    pub fn space(&self) -> Space {
        self.space
    }

    pub(crate) fn ctx(&self) -> &Rc<Ctx> {
        self.obj.ctx()
    }

    /// The budget for an operation on this set.
    pub(crate) fn priced(&self, budget: &Budget) -> Budget {
        budget.priced(price(self.space.params + self.space.dims))
    }

    pub(crate) fn unary(&self, budget: &Budget, f: Unary) -> Result<Set> {
        // SAFETY: `f` is one of isl's functions from set to set; it takes the reference made here.
        Ok(Set::own(self.ctx().make(&self.priced(budget), || unsafe { f(self.obj.give()) })?, self.space))
    }

    fn same_space(&self, other: &Set) -> Result<()> {
        if self.space == other.space {
            Ok(())
        } else {
            Err(Error::Mismatch("sets of different shapes"))
        }
    }

    fn binary(&self, other: &Set, budget: &Budget, f: Binary) -> Result<Set> {
        self.same_space(other)?;
        // SAFETY: `f` is one of isl's functions from two sets to a set; it takes the references made here, which
        // belong to one context because both sets are of this thread.
        let obj =
            self.ctx().make(&self.priced(budget), || unsafe { f(self.obj.give(), other.obj.give()) })?;
        Ok(Set::own(obj, self.space))
    }

    fn test(&self, other: &Set, budget: &Budget, f: Test) -> Result<bool> {
        self.same_space(other)?;
        // SAFETY: `f` is one of isl's tests of two sets; it keeps both.
        self.ctx().test(&self.priced(budget), || unsafe { f(self.obj.keep(), other.obj.keep()) })
    }

    // ---- algebra ----------------------------------------------------------------------------------------------

    /// Tuples in both.
    pub fn intersect(&self, other: &Set, budget: &Budget) -> Result<Set> {
        self.binary(other, budget, isl_set_intersect)
    }
    /// Tuples in either.
    pub fn union(&self, other: &Set, budget: &Budget) -> Result<Set> {
        self.binary(other, budget, isl_set_union)
    }
    /// Tuples in `self` but not in `other`.
    pub fn subtract(&self, other: &Set, budget: &Budget) -> Result<Set> {
        self.binary(other, budget, isl_set_subtract)
    }
    /// Tuples not in the set.
    pub fn complement(&self, budget: &Budget) -> Result<Set> {
        self.unary(budget, isl_set_complement)
    }
    /// Tuples for which the constraints hold as well.
    pub fn constrain(&self, exists: usize, constraints: &[Constraint], budget: &Budget) -> Result<Set> {
        self.intersect(&Set::from_constraints(self.space, exists, constraints, budget)?, budget)
    }
    /// The set at those parameter values only that are in `params` (a set without dimensions).
    pub fn intersect_params(&self, params: &Set, budget: &Budget) -> Result<Set> {
        self.with_params(params, budget, isl_set_intersect_params)
    }
    /// A simpler set that has the same tuples as `self` wherever `context` holds.
    pub fn gist(&self, context: &Set, budget: &Budget) -> Result<Set> {
        self.binary(context, budget, isl_set_gist)
    }
    /// A simpler set that has the same tuples as `self` for the parameter values in `context` (without dimensions).
    pub fn gist_params(&self, context: &Set, budget: &Budget) -> Result<Set> {
        self.with_params(context, budget, isl_set_gist_params)
    }

    fn with_params(&self, params: &Set, budget: &Budget, f: Binary) -> Result<Set> {
        let p = params.params_only(self.space.params, budget)?;
        // SAFETY: as in `binary`; the second set lives in the space of parameters.
        let obj = self.ctx().make(&self.priced(budget), || unsafe { f(self.obj.give(), p.give()) })?;
        Ok(Set::own(obj, self.space))
    }

    /// The set as isl wants it where a set of parameter values is meant.
    pub(crate) fn params_only(&self, params: usize, budget: &Budget) -> Result<Obj<isl_set>> {
        if self.space != (Space { params, dims: 0 }) {
            return Err(Error::Mismatch("a set of parameter values without dimensions was expected"));
        }
        // SAFETY: takes the reference made here.
        self.ctx().make(&self.priced(budget), || unsafe { isl_set_params(self.obj.give()) })
    }

    /// Fewer disjuncts for the same tuples, where that is easy to see.
    pub fn coalesce(&self, budget: &Budget) -> Result<Set> {
        self.unary(budget, isl_set_coalesce)
    }
    /// The same tuples in disjuncts that do not overlap.
    pub fn disjoint(&self, budget: &Budget) -> Result<Set> {
        self.unary(budget, isl_set_make_disjoint)
    }
    /// The same tuples without constraints that the others imply.
    pub fn without_redundancy(&self, budget: &Budget) -> Result<Set> {
        self.unary(budget, isl_set_remove_redundancies)
    }
    /// A superset without existential variables.
    pub fn without_divs(&self, budget: &Budget) -> Result<Set> {
        self.unary(budget, isl_set_remove_divs)
    }
    /// The smallest affine subspace (with strides) around the set.
    pub fn affine_hull(&self, budget: &Budget) -> Result<Set> {
        self.hull(budget, isl_set_affine_hull)
    }
    /// One polyhedron around the set, made of translates of its own constraints.
    pub fn simple_hull(&self, budget: &Budget) -> Result<Set> {
        self.hull(budget, isl_set_simple_hull)
    }
    /// The smallest polyhedron around the set; can be costly.
    pub fn polyhedral_hull(&self, budget: &Budget) -> Result<Set> {
        self.hull(budget, isl_set_polyhedral_hull)
    }

    fn hull(
        &self,
        budget: &Budget,
        f: unsafe extern "C" fn(*mut isl_set) -> *mut isl_basic_set,
    ) -> Result<Set> {
        // SAFETY: `f` takes the reference made here, and its result is taken by the conversion.
        let obj = self
            .ctx()
            .make(&self.priced(budget), || unsafe { isl_set_from_basic_set(f(self.obj.give())) })?;
        Ok(Set::own(obj, self.space))
    }

    // ---- questions --------------------------------------------------------------------------------------------

    /// Whether the set is empty for every value of the parameters. Exact.
    pub fn is_empty(&self, budget: &Budget) -> Result<bool> {
        // SAFETY: keeps the set.
        self.ctx().test(&self.priced(budget), || unsafe { isl_set_is_empty(self.obj.keep()) })
    }
    /// Whether every tuple of `self` is in `other`.
    pub fn is_subset(&self, other: &Set, budget: &Budget) -> Result<bool> {
        self.test(other, budget, isl_set_is_subset)
    }
    /// Whether both have the same tuples.
    pub fn is_equal(&self, other: &Set, budget: &Budget) -> Result<bool> {
        self.test(other, budget, isl_set_is_equal)
    }
    /// Whether no tuple is in both.
    pub fn is_disjoint(&self, other: &Set, budget: &Budget) -> Result<bool> {
        self.test(other, budget, isl_set_is_disjoint)
    }
    /// Whether the set is finite for every value of the parameters.
    pub fn is_bounded(&self, budget: &Budget) -> Result<bool> {
        // SAFETY: keeps the set.
        self.ctx().test(&self.priced(budget), || unsafe { isl_set_is_bounded(self.obj.keep()) })
    }
    /// How many disjuncts the set is made of.
    pub fn disjunct_count(&self, budget: &Budget) -> Result<usize> {
        // SAFETY: keeps the set.
        self.ctx().size(budget, || unsafe { isl_set_n_basic_set(self.obj.keep()) })
    }
    /// Whether the point is in the set.
    pub fn contains(&self, point: &Point, budget: &Budget) -> Result<bool> {
        if point.params.len() != self.space.params || point.dims.len() != self.space.dims {
            return Err(Error::Mismatch("a point of another shape"));
        }
        let mut at = self.clone();
        for (i, &x) in point.params.iter().enumerate() {
            at = at.fix_param(i, x, budget)?;
        }
        for (i, &x) in point.dims.iter().enumerate() {
            at = at.fix_dim(i, x, budget)?;
        }
        Ok(!at.is_empty(budget)?)
    }

    // ---- dimensions -------------------------------------------------------------------------------------------

    pub(crate) fn check_dims(&self, dims: &Range<usize>) -> Result<()> {
        if dims.start <= dims.end && dims.end <= self.space.dims && dims.start < usize::MAX {
            Ok(())
        } else {
            Err(Error::Mismatch("no such dimension"))
        }
    }

    /// The tuples that remain when these dimensions are left out.
    pub fn project_out(&self, dims: Range<usize>, budget: &Budget) -> Result<Set> {
        self.check_dims(&dims)?;
        let (first, n) = (dims.start as c_uint, dims.len() as c_uint);
        // SAFETY: takes the reference made here; the range was checked.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_set_project_out(self.obj.give(), DIM_SET, first, n)
        })?;
        Ok(Set::own(obj, Space { dims: self.space.dims - dims.len(), ..self.space }))
    }

    /// The parameter values for which the set is not empty, as a set without dimensions.
    pub fn params(&self, budget: &Budget) -> Result<Set> {
        self.project_out(0..self.space.dims, budget)
    }

    /// `n` new unconstrained dimensions before dimension `at`.
    pub fn insert_dims(&self, at: usize, n: usize, budget: &Budget) -> Result<Set> {
        self.check_dims(&(at..at))?;
        if n > MAX_COLUMNS || self.space.params + self.space.dims + n > MAX_COLUMNS {
            return Err(Error::Overflow("more than 256 dimensions and parameters"));
        }
        // SAFETY: takes the reference made here; place and number were checked.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_set_insert_dims(self.obj.give(), DIM_SET, at as c_uint, n as c_uint)
        })?;
        Ok(Set::own(obj, Space { dims: self.space.dims + n, ..self.space }))
    }

    /// Tuples `(a, b)` with `a` in `self` and `b` in `other`.
    pub fn product(&self, other: &Set, budget: &Budget) -> Result<Set> {
        if self.space.params != other.space.params {
            return Err(Error::Mismatch("sets over different parameters"));
        }
        // SAFETY: takes the references made here.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_set_flat_product(self.obj.give(), other.obj.give())
        })?;
        Ok(Set::own(obj, Space { dims: self.space.dims + other.space.dims, ..self.space }))
    }

    /// The first `n` dimensions become parameters, after the present ones.
    pub fn dims_to_params(&self, n: usize, budget: &Budget) -> Result<Set> {
        self.check_dims(&(0..n))?;
        let space = Space { params: self.space.params + n, dims: self.space.dims - n };
        let (at, n) = (self.space.params as c_uint, n as c_uint);
        let s = self.ctx().set_space(space.params, space.dims)?;
        // SAFETY: takes the reference and the space; the moved dimensions get their names from that space.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_set_reset_space(isl_set_move_dims(self.obj.give(), DIM_PARAM, at, DIM_SET, 0, n), s.give())
        })?;
        Ok(Set::own(obj, space))
    }

    /// All parameters become dimensions, before the present ones.
    pub fn params_to_dims(&self, budget: &Budget) -> Result<Set> {
        let n = self.space.params;
        let space = Space { params: 0, dims: n + self.space.dims };
        let s = self.ctx().set_space(0, space.dims)?;
        // SAFETY: takes the reference and the space.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            isl_set_reset_space(
                isl_set_move_dims(self.obj.give(), DIM_SET, 0, DIM_PARAM, 0, n as c_uint),
                s.give(),
            )
        })?;
        Ok(Set::own(obj, space))
    }

    /// The tuples whose dimension `dim` is `value`.
    pub fn fix_dim(&self, dim: usize, value: i128, budget: &Budget) -> Result<Set> {
        self.check_dims(&(dim..dim.saturating_add(1)))?;
        self.fix(DIM_SET, dim, value, budget)
    }

    /// The set at the value `value` of parameter `param` only.
    pub fn fix_param(&self, param: usize, value: i128, budget: &Budget) -> Result<Set> {
        if param >= self.space.params {
            return Err(Error::Mismatch("no such parameter"));
        }
        self.fix(DIM_PARAM, param, value, budget)
    }

    fn fix(&self, kind: c_int, at: usize, value: i128, budget: &Budget) -> Result<Set> {
        let ctx = self.ctx();
        // SAFETY: takes the reference and the value made here; the place was checked.
        let obj = ctx.make(budget, || unsafe {
            isl_set_fix_val(self.obj.give(), kind, at as c_uint, ctx.val(value))
        })?;
        Ok(Set::own(obj, self.space))
    }

    // ---- reading back -----------------------------------------------------------------------------------------

    /// The set as plain data: it is the union of these. Every existential variable comes back as a division.
    pub fn disjuncts(&self, budget: &Budget) -> Result<Vec<Disjunct>> {
        let known = self.unary(budget, isl_set_compute_divs)?;
        known.basic_sets(budget)?.iter().map(|b| read_disjunct(b, self.space, budget)).collect()
    }

    pub(crate) fn basic_sets(&self, budget: &Budget) -> Result<Vec<Obj<isl_basic_set>>> {
        let ctx = self.ctx();
        // SAFETY (all): keep what they are lent; the positions lie within the list.
        let list = ctx.make(budget, || unsafe { isl_set_get_basic_set_list(self.obj.keep()) })?;
        let n = ctx.size(budget, || unsafe { isl_basic_set_list_size(list.keep()) })?;
        (0..n)
            .map(|i| ctx.make(budget, || unsafe { isl_basic_set_list_get_at(list.keep(), i as c_int) }))
            .collect()
    }

    /// isl's own notation, for tests and logs; parameters are called `p0`, `p1`, ….
    pub fn notation(&self, budget: &Budget) -> Result<String> {
        // SAFETY: keeps the set; the text is ours and freed by `take_text`.
        let text = self.ctx().run(budget, || unsafe { isl_set_to_str(self.obj.keep()) })?;
        take_text(text)
    }
}

/// Copies a text that isl gave away, and frees it.
pub(crate) fn take_text(text: *mut libc::c_char) -> Result<String> {
    if text.is_null() {
        return Err(Error::Isl("no text".into()));
    }
    // SAFETY: isl's `_to_str` functions give a C string from `malloc` that is the caller's to free.
    unsafe {
        let copy = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        Ok(copy)
    }
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.notation(&Budget::new(100_000)) {
            Ok(text) => f.write_str(&text),
            Err(e) => write!(f, "{:?} ({e})", self.space),
        }
    }
}
