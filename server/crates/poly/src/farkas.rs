//! Farkas' lemma: which affine forms are non-negative on a polyhedron, and back.
//!
//! Deliberately absent: multipliers; isl eliminates them.

use crate::error::{Error, Result};
use crate::ffi::*;
use crate::linear::{read_disjunct, Space};
use crate::set::Set;
use base::Budget;

impl Set {
    /// The coefficient vectors `(constant, parameters…, dimensions…)` of all affine forms with integer coefficients
    /// that are non-negative on every point of the set (for every value of its parameters): a set of
    /// `1 + params + dims` dimensions without parameters.
    ///
    /// The forms are those valid on the rational points of each disjunct. The set must not have existential
    /// variables (see [`Set::without_divs`], whose superset has fewer, still valid forms).
    pub fn coefficients(&self, budget: &Budget) -> Result<Set> {
        let Space { params, dims } = self.space();
        let flat = Space { params: 0, dims: 1 + params + dims };
        // On an empty disjunct every form is valid; it restricts nothing, but isl would restrict by how it is written.
        let all = self.basic_sets(budget)?;
        let mut result = Set::universe(flat, budget)?;
        for one in &all {
            let ctx = one.ctx();
            // SAFETY (all): take the references made here and keep what they are lent.
            if ctx.size(budget, || unsafe { isl_basic_set_dim(one.keep(), DIM_DIV) })? > 0 {
                return Err(Error::Unsupported("coefficients of a set with existential variables"));
            }
            let one =
                Set::own(ctx.make(budget, || unsafe { isl_set_from_basic_set(one.give()) })?, self.space());
            if one.is_empty(budget)? {
                continue;
            }
            let space = ctx.set_space(0, flat.dims)?;
            let dual = ctx.make(budget, || unsafe {
                let dual = isl_set_from_basic_set(isl_set_coefficients(one.obj.give()));
                isl_set_reset_space(isl_set_flatten(dual), space.give())
            })?;
            // isl marks the result rational; read as plain rows and set up again it is an ordinary integer set.
            for part in Set::own(dual, flat).basic_sets(budget)? {
                let rows = read_disjunct(&part, flat, budget)?;
                if !rows.divs.is_empty() {
                    return Err(Error::Unsupported("coefficients with divisions"));
                }
                result = result.constrain(0, &rows.constraints, budget)?;
            }
        }
        Ok(result)
    }

    /// The points of shape `space` at which every form whose coefficient vector is in `coefficients` is non-negative:
    /// the inverse of [`Set::coefficients`]. An empty set of forms is refused.
    pub fn solutions(coefficients: &Set, space: Space, budget: &Budget) -> Result<Set> {
        let flat = Space { params: 0, dims: 1 + space.params + space.dims };
        if coefficients.space() != flat {
            return Err(Error::Mismatch("coefficient vectors of another length"));
        }
        let parts = coefficients.basic_sets(budget)?;
        if coefficients.is_empty(budget)? {
            return Err(Error::Unsupported("solutions of no form at all"));
        }
        let ctx = coefficients.obj.ctx();
        let universe = Set::universe(space, budget)?;
        // SAFETY (all): take the references made here and keep what they are lent; each step takes what the one
        // before gave (NULL stays NULL). isl knows forms by their space, which is borrowed from the forms of everything.
        let model = ctx.make(budget, || unsafe { isl_set_coefficients(universe.obj.give()) })?;
        let model = ctx.make(budget, || unsafe { isl_basic_set_get_space(model.keep()) })?;
        let target = ctx.set_space(space.params, space.dims)?;
        let mut result = universe;
        for part in parts {
            if ctx.size(budget, || unsafe { isl_basic_set_dim(part.keep(), DIM_DIV) })? > 0 {
                return Err(Error::Unsupported("solutions of forms with existential variables"));
            }
            let one = ctx.make(budget, || unsafe { isl_set_from_basic_set(part.give()) })?;
            if ctx.test(budget, || unsafe { isl_set_is_empty(one.keep()) })? {
                continue;
            }
            let points = ctx.make(budget, || unsafe {
                let forms = isl_set_reset_space(one.give(), model.give());
                isl_set_reset_space(isl_set_from_basic_set(isl_set_solutions(forms)), target.give())
            })?;
            for p in Set::own(points, space).basic_sets(budget)? {
                let rows = read_disjunct(&p, space, budget)?;
                result = result.constrain(0, &rows.constraints, budget)?;
            }
        }
        Ok(result)
    }
}
