//! Sets of integer tuples: unions of polyhedra with existential variables, over parameters.
//!
//! Deliberately absent: names of dimensions, counting of parametric sets, rational sets.

use crate::ctx::{int, Ctx, Obj, MAX_COLUMNS};
use crate::error::{Error, Result};
use crate::ffi::*;
use crate::linear::{matrices, read_disjunct, Constraint, Disjunct, Row, Space};
use crate::parametric::Parametric;
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

/// The least or greatest value of something over a set and over all values of its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// The set is empty.
    Empty,
    /// There is no bound.
    Infinite,
    /// The value, which is attained.
    Value(i128),
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
        Ok(Set::own(
            ctx.make(budget, || unsafe { isl_set_universe(s.give()) })?,
            space,
        ))
    }

    /// No tuple.
    pub fn empty(space: Space, budget: &Budget) -> Result<Set> {
        let ctx = Ctx::here()?;
        let s = ctx.set_space(space.params, space.dims)?;
        // SAFETY: takes the reference made here.
        Ok(Set::own(
            ctx.make(budget, || unsafe { isl_set_empty(s.give()) })?,
            space,
        ))
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
        let obj = ctx.make(budget, || unsafe {
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
                let low = div
                    .numerator
                    .checked_sub(&Row::default().exist(k, div.denominator))
                    .ok_or_else(overflow)?;
                let high = low
                    .checked_scale(-1)
                    .and_then(|r| r.checked_add(&Row::constant(div.denominator - 1)));
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

    fn ctx(&self) -> &Rc<Ctx> {
        self.obj.ctx()
    }

    fn unary(&self, budget: &Budget, f: Unary) -> Result<Set> {
        // SAFETY: `f` is one of isl's functions from set to set; it takes the reference made here.
        Ok(Set::own(
            self.ctx().make(budget, || unsafe { f(self.obj.give()) })?,
            self.space,
        ))
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
        let obj = self
            .ctx()
            .make(budget, || unsafe { f(self.obj.give(), other.obj.give()) })?;
        Ok(Set::own(obj, self.space))
    }

    fn test(&self, other: &Set, budget: &Budget, f: Test) -> Result<bool> {
        self.same_space(other)?;
        // SAFETY: `f` is one of isl's tests of two sets; it keeps both.
        self.ctx()
            .test(budget, || unsafe { f(self.obj.keep(), other.obj.keep()) })
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
        self.intersect(
            &Set::from_constraints(self.space, exists, constraints, budget)?,
            budget,
        )
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
        let obj = self
            .ctx()
            .make(budget, || unsafe { f(self.obj.give(), p.give()) })?;
        Ok(Set::own(obj, self.space))
    }

    /// The set as isl wants it where a set of parameter values is meant.
    pub(crate) fn params_only(&self, params: usize, budget: &Budget) -> Result<Obj<isl_set>> {
        if self.space != (Space { params, dims: 0 }) {
            return Err(Error::Mismatch(
                "a set of parameter values without dimensions was expected",
            ));
        }
        // SAFETY: takes the reference made here.
        self.ctx()
            .make(budget, || unsafe { isl_set_params(self.obj.give()) })
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
            .make(budget, || unsafe { isl_set_from_basic_set(f(self.obj.give())) })?;
        Ok(Set::own(obj, self.space))
    }

    // ---- questions --------------------------------------------------------------------------------------------

    /// Whether the set is empty for every value of the parameters. Exact.
    pub fn is_empty(&self, budget: &Budget) -> Result<bool> {
        // SAFETY: keeps the set.
        self.ctx()
            .test(budget, || unsafe { isl_set_is_empty(self.obj.keep()) })
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
        self.ctx()
            .test(budget, || unsafe { isl_set_is_bounded(self.obj.keep()) })
    }
    /// How many disjuncts the set is made of.
    pub fn disjunct_count(&self, budget: &Budget) -> Result<usize> {
        // SAFETY: keeps the set.
        self.ctx()
            .size(budget, || unsafe { isl_set_n_basic_set(self.obj.keep()) })
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

    fn check_dims(&self, dims: &Range<usize>) -> Result<()> {
        if dims.start <= dims.end && dims.end <= self.space.dims {
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
        let obj = self.ctx().make(budget, || unsafe {
            isl_set_project_out(self.obj.give(), DIM_SET, first, n)
        })?;
        Ok(Set::own(
            obj,
            Space {
                dims: self.space.dims - dims.len(),
                ..self.space
            },
        ))
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
        let obj = self.ctx().make(budget, || unsafe {
            isl_set_insert_dims(self.obj.give(), DIM_SET, at as c_uint, n as c_uint)
        })?;
        Ok(Set::own(
            obj,
            Space {
                dims: self.space.dims + n,
                ..self.space
            },
        ))
    }

    /// Tuples `(a, b)` with `a` in `self` and `b` in `other`.
    pub fn product(&self, other: &Set, budget: &Budget) -> Result<Set> {
        if self.space.params != other.space.params {
            return Err(Error::Mismatch("sets over different parameters"));
        }
        // SAFETY: takes the references made here.
        let obj = self.ctx().make(budget, || unsafe {
            isl_set_flat_product(self.obj.give(), other.obj.give())
        })?;
        Ok(Set::own(
            obj,
            Space {
                dims: self.space.dims + other.space.dims,
                ..self.space
            },
        ))
    }

    /// The first `n` dimensions become parameters, after the present ones.
    pub fn dims_to_params(&self, n: usize, budget: &Budget) -> Result<Set> {
        self.check_dims(&(0..n))?;
        let space = Space {
            params: self.space.params + n,
            dims: self.space.dims - n,
        };
        let (at, n) = (self.space.params as c_uint, n as c_uint);
        let s = self.ctx().set_space(space.params, space.dims)?;
        // SAFETY: takes the reference and the space; the moved dimensions get their names from that space.
        let obj = self.ctx().make(budget, || unsafe {
            isl_set_reset_space(
                isl_set_move_dims(self.obj.give(), DIM_PARAM, at, DIM_SET, 0, n),
                s.give(),
            )
        })?;
        Ok(Set::own(obj, space))
    }

    /// All parameters become dimensions, before the present ones.
    pub fn params_to_dims(&self, budget: &Budget) -> Result<Set> {
        let n = self.space.params;
        let space = Space {
            params: 0,
            dims: n + self.space.dims,
        };
        let s = self.ctx().set_space(0, space.dims)?;
        // SAFETY: takes the reference and the space.
        let obj = self.ctx().make(budget, || unsafe {
            isl_set_reset_space(
                isl_set_move_dims(self.obj.give(), DIM_SET, 0, DIM_PARAM, 0, n as c_uint),
                s.give(),
            )
        })?;
        Ok(Set::own(obj, space))
    }

    /// The tuples whose dimension `dim` is `value`.
    pub fn fix_dim(&self, dim: usize, value: i128, budget: &Budget) -> Result<Set> {
        self.check_dims(&(dim..dim + 1))?;
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

    // ---- optima -----------------------------------------------------------------------------------------------

    /// For each value of the parameters the lexicographically least tuple. `Err(Unbounded)` if there is none.
    pub fn lexmin(&self, budget: &Budget) -> Result<Set> {
        self.unary(budget, isl_set_lexmin)
    }
    /// For each value of the parameters the lexicographically greatest tuple. `Err(Unbounded)` if there is none.
    pub fn lexmax(&self, budget: &Budget) -> Result<Set> {
        self.unary(budget, isl_set_lexmax)
    }
    /// [`Set::lexmin`] as one expression in the parameters per dimension, each defined where the set is not empty.
    pub fn lexmin_exprs(&self, budget: &Budget) -> Result<Vec<Parametric>> {
        self.lexopt(budget, isl_set_lexmin_pw_multi_aff)
    }
    /// [`Set::lexmax`] as one expression in the parameters per dimension, each defined where the set is not empty.
    pub fn lexmax_exprs(&self, budget: &Budget) -> Result<Vec<Parametric>> {
        self.lexopt(budget, isl_set_lexmax_pw_multi_aff)
    }

    fn lexopt(
        &self,
        budget: &Budget,
        f: unsafe extern "C" fn(*mut isl_set) -> *mut isl_pw_multi_aff,
    ) -> Result<Vec<Parametric>> {
        let ctx = self.ctx();
        // SAFETY: `f` takes the reference made here; the positions lie within the tuple.
        let all = ctx.make(budget, || unsafe { f(self.obj.give()) })?;
        (0..self.space.dims)
            .map(|i| {
                let one = ctx.make(budget, || unsafe {
                    isl_pw_multi_aff_get_pw_aff(all.keep(), i as c_int)
                })?;
                Ok(Parametric::own(one, self.space.params))
            })
            .collect()
    }

    /// The greatest value of a form over the set, as an expression in the parameters, defined where the set is not
    /// empty. `None`: there is no bound.
    pub fn max_of(&self, row: &Row, budget: &Budget) -> Result<Option<Parametric>> {
        self.optimum(row, budget, isl_set_dim_max)
    }

    /// The least value of a form over the set, as an expression in the parameters, defined where the set is not
    /// empty. `None`: there is no bound.
    pub fn min_of(&self, row: &Row, budget: &Budget) -> Result<Option<Parametric>> {
        self.optimum(row, budget, isl_set_dim_min)
    }

    fn optimum(
        &self,
        row: &Row,
        budget: &Budget,
        f: unsafe extern "C" fn(*mut isl_set, c_int) -> *mut isl_pw_aff,
    ) -> Result<Option<Parametric>> {
        let (set, at) = self.measured(row, budget)?;
        // SAFETY: `f` takes the reference made here; the position lies within the tuple.
        match self
            .ctx()
            .make(budget, || unsafe { f(set.obj.give(), at as c_int) })
        {
            Ok(obj) => Ok(Some(Parametric::own(obj, self.space.params))),
            Err(Error::Unbounded) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The greatest value of a form over the set and over all values of the parameters.
    pub fn max_value(&self, row: &Row, budget: &Budget) -> Result<Extent> {
        self.extent(row, budget, isl_set_dim_max_val)
    }

    /// The least value of a form over the set and over all values of the parameters.
    pub fn min_value(&self, row: &Row, budget: &Budget) -> Result<Extent> {
        self.extent(row, budget, isl_set_dim_min_val)
    }

    fn extent(
        &self,
        row: &Row,
        budget: &Budget,
        f: unsafe extern "C" fn(*mut isl_set, c_int) -> *mut isl_val,
    ) -> Result<Extent> {
        let (set, at) = self.measured(row, budget)?;
        if set.is_empty(budget)? {
            return Ok(Extent::Empty);
        }
        let ctx = self.ctx();
        // SAFETY: `f` takes the reference made here; the position lies within the tuple.
        let val = match ctx.make(budget, || unsafe { f(set.obj.give(), at as c_int) }) {
            Err(Error::Unbounded) => return Ok(Extent::Infinite),
            other => other?,
        };
        // SAFETY (both): keep the value.
        let (up, down) = unsafe { (isl_val_is_infty(val.keep()), isl_val_is_neginfty(val.keep())) };
        if up != 0 || down != 0 {
            return Ok(Extent::Infinite);
        }
        Ok(Extent::Value(int(&val)?))
    }

    /// A set with a dimension that equals the form, and which one it is.
    fn measured(&self, row: &Row, budget: &Budget) -> Result<(Set, usize)> {
        if row.exists.iter().any(|&c| c != 0) {
            return Err(Error::Mismatch("a form to optimize has no existential variables"));
        }
        let n = self.space.dims;
        if let Some(dim) = row.as_dim().filter(|&d| d < n) {
            return Ok((self.clone(), dim));
        }
        if row.dims.iter().skip(n).any(|&c| c != 0) {
            return Err(Error::Mismatch(
                "a form names a dimension that the set does not have",
            ));
        }
        let new = self.insert_dims(n, 1, budget)?;
        let equal = row.clone().dim(n, -1);
        Ok((new.constrain(0, &[Constraint::eq(equal)], budget)?, n))
    }

    /// The one value that dimension `dim` has in all tuples for all parameters, if there is one.
    pub fn fixed_value(&self, dim: usize, budget: &Budget) -> Result<Option<i128>> {
        self.check_dims(&(dim..dim + 1))?;
        let ctx = self.ctx();
        // SAFETY: keeps the set; the position was checked.
        let plain = ctx.make(budget, || unsafe {
            isl_set_plain_get_val_if_fixed(self.obj.keep(), DIM_SET, dim as c_uint)
        })?;
        // SAFETY: keeps the value.
        if unsafe { isl_val_is_nan(plain.keep()) } == 0 && !self.is_empty(budget)? {
            return Ok(Some(int(&plain)?));
        }
        let row = Row::default().dim(dim, 1);
        match (self.min_value(&row, budget)?, self.max_value(&row, budget)?) {
            (Extent::Value(a), Extent::Value(b)) if a == b => Ok(Some(a)),
            _ => Ok(None),
        }
    }

    /// A point of the set, small where a small one is easy to find; `None` if the set is empty.
    ///
    /// Prefers small non-negative numbers, then small ones, and the least parameters first: such a point is easier to
    /// read in a message. Which point it is depends on the set only.
    pub fn sample_point(&self, budget: &Budget) -> Result<Option<Point>> {
        let flat = self.params_to_dims(budget)?;
        if flat.is_empty(budget)? {
            return Ok(None);
        }
        for (low, high) in [(0, 4), (0, 64), (-64, 64), (-4096, 4096)] {
            let near = flat.boxed(low, high, budget)?;
            if !near.is_empty(budget)? {
                return near.lexmin(budget)?.any_point(self.space.params, budget);
            }
        }
        flat.any_point(self.space.params, budget)
    }

    /// The lexicographically least tuple together with its parameters taken as leading dimensions; `None` if the set
    /// is empty. `Err(Unbounded)` if there is no least one.
    pub fn lexmin_point(&self, budget: &Budget) -> Result<Option<Point>> {
        self.params_to_dims(budget)?
            .lexmin(budget)?
            .any_point(self.space.params, budget)
    }

    fn boxed(&self, low: c_int, high: c_int, budget: &Budget) -> Result<Set> {
        let n = self.space.dims;
        // SAFETY: each call takes the set and gives it back (NULL stays NULL); the positions lie within the tuple.
        let obj = self.ctx().make(budget, || unsafe {
            let mut s = self.obj.give();
            for i in 0..n {
                s = isl_set_lower_bound_si(s, DIM_SET, i as c_uint, low);
                s = isl_set_upper_bound_si(s, DIM_SET, i as c_uint, high);
            }
            s
        })?;
        Ok(Set::own(obj, self.space))
    }

    /// Some point of a set without parameters; the first `params` coordinates are given as parameters.
    fn any_point(&self, params: usize, budget: &Budget) -> Result<Option<Point>> {
        let ctx = self.ctx();
        // SAFETY: takes the reference made here; then the point is kept, and the positions lie within the tuple.
        let point = ctx.make(budget, || unsafe { isl_set_sample_point(self.obj.give()) })?;
        if ctx.test(budget, || unsafe { isl_point_is_void(point.keep()) })? {
            return Ok(None);
        }
        let mut all = Vec::with_capacity(self.space.dims);
        for i in 0..self.space.dims {
            let c = ctx.make(budget, || unsafe {
                isl_point_get_coordinate_val(point.keep(), DIM_SET, i as c_int)
            })?;
            all.push(int(&c)?);
        }
        let dims = all.split_off(params.min(all.len()));
        Ok(Some(Point { params: all, dims }))
    }

    // ---- reading back -----------------------------------------------------------------------------------------

    /// The set as plain data: it is the union of these. Every existential variable comes back as a division.
    pub fn disjuncts(&self, budget: &Budget) -> Result<Vec<Disjunct>> {
        let known = self.unary(budget, isl_set_compute_divs)?;
        known
            .basic_sets(budget)?
            .iter()
            .map(|b| read_disjunct(b, self.space, budget))
            .collect()
    }

    pub(crate) fn basic_sets(&self, budget: &Budget) -> Result<Vec<Obj<isl_basic_set>>> {
        let ctx = self.ctx();
        // SAFETY (all): keep what they are lent; the positions lie within the list.
        let list = ctx.make(budget, || unsafe { isl_set_get_basic_set_list(self.obj.keep()) })?;
        let n = ctx.size(budget, || unsafe { isl_basic_set_list_size(list.keep()) })?;
        (0..n)
            .map(|i| {
                ctx.make(budget, || unsafe {
                    isl_basic_set_list_get_at(list.keep(), i as c_int)
                })
            })
            .collect()
    }

    /// isl's own notation, for tests and logs; parameters are called `p0`, `p1`, ….
    pub fn notation(&self, budget: &Budget) -> Result<String> {
        // SAFETY: keeps the set; the text is ours and freed by `take_text`.
        let text = self
            .ctx()
            .run(budget, || unsafe { isl_set_to_str(self.obj.keep()) })?;
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
