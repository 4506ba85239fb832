//! Least and greatest elements of sets: parametric, over all parameters, and concrete points.
//!
//! isl 0.27 loses elements here: `{ [n, i, j] : i, j odd, n - 1 <= 2i, i < j < n <= 64 }` is not empty (`[6, 3, 5]`), and
//! its `lexmin` is. So what parametric programming gives is checked by what does not use it (emptiness, inclusion), and
//! an answer that does not pass is an error, which means "unknown".
//!
//! Deliberately absent: optima of forms that are not affine.

use crate::ctx::int;
use crate::error::{Error, Result};
use crate::ffi::*;
use crate::limits::optima::LEAST_STEPS;
use crate::linear::{Constraint, Row, Space};
use crate::parametric::Parametric;
use crate::set::{Point, Set};
use base::Budget;
use libc::{c_int, c_uint};

/// Which end is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Least,
    Greatest,
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

impl Set {
    /// For each value of the parameters the lexicographically least tuple. `Err(Unbounded)` if there is none.
    pub fn lexmin(&self, budget: &Budget) -> Result<Set> {
        let best = self.unary(budget, isl_set_lexmin)?;
        self.check(&best, End::Least, budget)?;
        Ok(best)
    }
    /// For each value of the parameters the lexicographically greatest tuple. `Err(Unbounded)` if there is none.
    pub fn lexmax(&self, budget: &Budget) -> Result<Set> {
        let best = self.unary(budget, isl_set_lexmax)?;
        self.check(&best, End::Greatest, budget)?;
        Ok(best)
    }
    /// [`Set::lexmin`] as one expression in the parameters per dimension, each defined where the set is not empty.
    pub fn lexmin_exprs(&self, budget: &Budget) -> Result<Vec<Parametric>> {
        self.lexopt(budget, End::Least)
    }
    /// [`Set::lexmax`] as one expression in the parameters per dimension, each defined where the set is not empty.
    pub fn lexmax_exprs(&self, budget: &Budget) -> Result<Vec<Parametric>> {
        self.lexopt(budget, End::Greatest)
    }

    /// Whether for each value of the parameters `best` is the one element at that end: it has elements for the same values,
    /// they are elements of the set, and none of the set lies beyond them.
    fn check(&self, best: &Set, end: End, budget: &Budget) -> Result<()> {
        let beyond = match end {
            End::Least => isl_set_lex_lt_set,
            End::Greatest => isl_set_lex_gt_set,
        };
        let (ctx, dear) = (self.ctx(), &self.priced(budget));
        let right = best.is_subset(self, budget)?
            && self.params(budget)?.is_subset(&best.params(budget)?, budget)?
            && {
                // SAFETY: takes both references made here; then the relation is kept.
                let further = ctx.make(dear, || unsafe { beyond(self.obj.give(), best.obj.give()) })?;
                ctx.test(dear, || unsafe { isl_map_is_empty(further.keep()) })?
            };
        right.then_some(()).ok_or_else(|| Error::Isl("an optimum that is none".into()))
    }

    fn lexopt(&self, budget: &Budget, end: End) -> Result<Vec<Parametric>> {
        let f = match end {
            End::Least => isl_set_lexmin_pw_multi_aff,
            End::Greatest => isl_set_lexmax_pw_multi_aff,
        };
        let ctx = self.ctx();
        // SAFETY: `f` takes the reference made here; the positions lie within the tuple.
        let all = ctx.make(&self.priced(budget), || unsafe { f(self.obj.give()) })?;
        // SAFETY: takes the reference made here.
        let best = ctx.make(budget, || unsafe { isl_set_from_pw_multi_aff(all.give()) })?;
        self.check(&Set::own(best, self.space()), end, budget)?;
        (0..self.space().dims)
            .map(|i| {
                let one =
                    ctx.make(budget, || unsafe { isl_pw_multi_aff_get_pw_aff(all.keep(), i as c_int) })?;
                Ok(Parametric::own(one, self.space().params))
            })
            .collect()
    }

    /// The greatest value of a form over the set, as an expression in the parameters, defined where the set is not
    /// empty. `None`: there is no bound.
    pub fn max_of(&self, row: &Row, budget: &Budget) -> Result<Option<Parametric>> {
        self.optimum(row, budget, End::Greatest)
    }

    /// The least value of a form over the set, as an expression in the parameters, defined where the set is not
    /// empty. `None`: there is no bound.
    pub fn min_of(&self, row: &Row, budget: &Budget) -> Result<Option<Parametric>> {
        self.optimum(row, budget, End::Least)
    }

    fn optimum(&self, row: &Row, budget: &Budget, end: End) -> Result<Option<Parametric>> {
        let f = match end {
            End::Least => isl_set_dim_min,
            End::Greatest => isl_set_dim_max,
        };
        let (set, at) = self.measured(row, budget)?;
        let ctx = self.ctx();
        // SAFETY: `f` takes the reference made here; the position lies within the tuple.
        let found = match ctx.make(&set.priced(budget), || unsafe { f(set.obj.give(), at as c_int) }) {
            Ok(obj) => obj,
            Err(Error::Unbounded) => return Ok(None),
            Err(e) => return Err(e),
        };
        // SAFETY: takes the reference made here.
        let best = ctx.make(budget, || unsafe { isl_set_from_pw_aff(found.give()) })?;
        let space = Space { params: self.space().params, dims: 1 };
        let n = set.space().dims;
        let values = set.project_out(at + 1..n, budget)?.project_out(0..at, budget)?;
        values.check(&Set::own(best, space), end, budget)?;
        Ok(Some(Parametric::own(found, self.space().params)))
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
        let val = match ctx.make(&set.priced(budget), || unsafe { f(set.obj.give(), at as c_int) }) {
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
        let n = self.space().dims;
        if let Some(dim) = row.as_dim().filter(|&d| d < n) {
            return Ok((self.clone(), dim));
        }
        if row.dims.iter().skip(n).any(|&c| c != 0) {
            return Err(Error::Mismatch("a form names a dimension that the set does not have"));
        }
        let new = self.insert_dims(n, 1, budget)?;
        let equal = row.clone().dim(n, -1);
        Ok((new.constrain(0, &[Constraint::eq(equal)], budget)?, n))
    }

    /// The one value that dimension `dim` has in all tuples for all parameters, if there is one.
    pub fn fixed_value(&self, dim: usize, budget: &Budget) -> Result<Option<i128>> {
        self.check_dims(&(dim..dim.saturating_add(1)))?;
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
                let part = budget.part(budget.left().min(LEAST_STEPS * near.priced(budget).price()));
                let given = part.left();
                let least = near.lexmin(&part);
                budget.spend(given - part.left())?;
                let params = self.space().params;
                return match least {
                    Err(Error::Spent | Error::Isl(_)) => near.some_point(params, budget),
                    other => other?.some_point(params, budget),
                };
            }
        }
        flat.some_point(self.space().params, budget)
    }

    /// Some point of a set that is known to have one.
    fn some_point(&self, params: usize, budget: &Budget) -> Result<Option<Point>> {
        match self.any_point(params, budget)? {
            None => Err(Error::Isl("a set that is not empty has no point".into())),
            point => Ok(point),
        }
    }

    /// The lexicographically least tuple together with its parameters taken as leading dimensions; `None` if the set
    /// is empty. `Err(Unbounded)` if there is no least one.
    pub fn lexmin_point(&self, budget: &Budget) -> Result<Option<Point>> {
        self.params_to_dims(budget)?.lexmin(budget)?.any_point(self.space().params, budget)
    }

    fn boxed(&self, low: c_int, high: c_int, budget: &Budget) -> Result<Set> {
        let n = self.space().dims;
        // SAFETY: each call takes the set and gives it back (NULL stays NULL); the positions lie within the tuple.
        let obj = self.ctx().make(&self.priced(budget), || unsafe {
            let mut s = self.obj.give();
            for i in 0..n {
                s = isl_set_lower_bound_si(s, DIM_SET, i as c_uint, low);
                s = isl_set_upper_bound_si(s, DIM_SET, i as c_uint, high);
            }
            s
        })?;
        Ok(Set::own(obj, self.space()))
    }

    /// Some point of a set without parameters; the first `params` coordinates are given as parameters.
    fn any_point(&self, params: usize, budget: &Budget) -> Result<Option<Point>> {
        let ctx = self.ctx();
        // SAFETY: takes the reference made here; then the point is kept, and the positions lie within the tuple.
        let point = ctx.make(&self.priced(budget), || unsafe { isl_set_sample_point(self.obj.give()) })?;
        if ctx.test(budget, || unsafe { isl_point_is_void(point.keep()) })? {
            return Ok(None);
        }
        let mut all = Vec::with_capacity(self.space().dims);
        for i in 0..self.space().dims {
            let c = ctx.make(budget, || unsafe {
                isl_point_get_coordinate_val(point.keep(), DIM_SET, i as c_int)
            })?;
            all.push(int(&c)?);
        }
        let dims = all.split_off(params.min(all.len()));
        Ok(Some(Point { params: all, dims }))
    }
}
