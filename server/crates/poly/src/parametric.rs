//! Piecewise quasi-affine expressions in the parameters: parametric minima and maxima.
//!
//! Deliberately absent: arithmetic on them; combine the sets they come from instead.

use crate::ctx::{Ctx, Obj};
use crate::error::{Error, Result};
use crate::expr::{read_expr, Expr};
use crate::ffi::*;
use crate::linear::{read_affine, Affine, Disjunct, Space};
use crate::set::Set;
use base::Budget;
use libc::{c_int, c_void};
use std::rc::Rc;

/// A number that depends on the parameters, defined for some of their values.
#[derive(Clone)]
pub struct Parametric {
    obj: Obj<isl_pw_aff>,
    params: usize,
}

/// One case of a [`Parametric`]: for the parameter values in `condition` the number is `value`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Piece {
    /// Any of these; they have no dimensions.
    pub condition: Vec<Disjunct>,
    /// The number.
    pub value: Affine,
}

type Pieces = Vec<(*mut isl_set, *mut isl_aff)>;

extern "C" fn collect(set: *mut isl_set, aff: *mut isl_aff, user: *mut c_void) -> c_int {
    // SAFETY: `user` is the vector that `pieces` lends for the duration of the call, to nobody else.
    let all = unsafe { &mut *user.cast::<Pieces>() };
    all.push((set, aff));
    0
}

impl Parametric {
    pub(crate) fn own(obj: Obj<isl_pw_aff>, params: usize) -> Parametric {
        Parametric { obj, params }
    }

    fn ctx(&self) -> &Rc<Ctx> {
        self.obj.ctx()
    }

    /// The parameter values it is defined for, as a set without dimensions.
    pub fn domain(&self, budget: &Budget) -> Result<Set> {
        // SAFETY: takes the reference made here.
        let obj = self.ctx().make(budget, || unsafe {
            isl_set_from_params(isl_set_params(isl_pw_aff_domain(self.obj.give())))
        })?;
        Ok(Set::own(obj, Space { params: self.params, dims: 0 }))
    }

    /// The same numbers in simpler words, given that the parameters are in `context` (a set without dimensions).
    pub fn gist(&self, context: &Set, budget: &Budget) -> Result<Parametric> {
        let context = context.params_only(self.params, budget)?;
        // SAFETY: takes the references made here.
        let obj = self.ctx().make(budget, || unsafe {
            isl_pw_aff_coalesce(isl_pw_aff_gist_params(self.obj.give(), context.give()))
        })?;
        Ok(Parametric { obj, params: self.params })
    }

    /// The greater of the two where both are defined, the one that is defined elsewhere.
    pub fn union_max(&self, other: &Parametric, budget: &Budget) -> Result<Parametric> {
        self.binary(other, budget, isl_pw_aff_union_max)
    }

    /// The lesser of the two where both are defined, the one that is defined elsewhere.
    pub fn union_min(&self, other: &Parametric, budget: &Budget) -> Result<Parametric> {
        self.binary(other, budget, isl_pw_aff_union_min)
    }

    fn binary(
        &self,
        other: &Parametric,
        budget: &Budget,
        f: unsafe extern "C" fn(*mut isl_pw_aff, *mut isl_pw_aff) -> *mut isl_pw_aff,
    ) -> Result<Parametric> {
        if self.params != other.params {
            return Err(Error::Mismatch("expressions over different parameters"));
        }
        // SAFETY: `f` takes the references made here.
        let obj = self.ctx().make(budget, || unsafe { f(self.obj.give(), other.obj.give()) })?;
        Ok(Parametric { obj, params: self.params })
    }

    /// The cases, which do not overlap.
    pub fn pieces(&self, budget: &Budget) -> Result<Vec<Piece>> {
        let ctx = self.ctx();
        let mut raw: Pieces = Vec::new();
        let user: *mut Pieces = &mut raw;
        // SAFETY: keeps the expression; `collect` gets the vector back, which lives longer than the call.
        let done =
            ctx.run(budget, || unsafe { isl_pw_aff_foreach_piece(self.obj.keep(), collect, user.cast()) });
        // Owned before the outcome is looked at, so that nothing leaks.
        let mut owned = Vec::with_capacity(raw.len());
        for (set, aff) in raw {
            owned.push((ctx.own(set), ctx.own(aff)));
        }
        if done? != 0 {
            return Err(Error::Isl("the cases of an expression are missing".into()));
        }
        let mut pieces = Vec::with_capacity(owned.len());
        let space = Space { params: self.params, dims: 0 };
        for (set, aff) in owned {
            let (Some(set), Some(aff)) = (set, aff) else {
                return Err(Error::Isl("a case of an expression is missing".into()));
            };
            pieces.push(Piece {
                condition: Set::own(set, space).disjuncts(budget)?,
                value: read_affine(&aff, space, budget)?,
            });
        }
        Ok(pieces)
    }

    /// The value for given parameters; `None` where it is not defined.
    pub fn eval(&self, params: &[i128], budget: &Budget) -> Result<Option<i128>> {
        let overflow = || Error::Overflow("the value of an expression");
        for piece in self.pieces(budget)? {
            for d in &piece.condition {
                if d.contains(params, &[]).ok_or_else(overflow)? {
                    return piece.value.eval(params, &[]).map(Some).ok_or_else(overflow);
                }
            }
        }
        Ok(None)
    }

    /// The number, if it is the same one wherever it is defined.
    pub fn as_constant(&self, budget: &Budget) -> Result<Option<i128>> {
        let mut value = None;
        for Piece { value: a, .. } in self.pieces(budget)? {
            let whole = a.row.is_constant() && a.denominator == 1;
            if !whole || value.is_some_and(|v| v != a.row.constant) {
                return Ok(None);
            }
            value = Some(a.row.constant);
        }
        Ok(value)
    }

    /// As an expression that is right for all parameters in `context` for which the number is defined. Elsewhere its
    /// value means nothing.
    pub fn expr(&self, context: &Set, budget: &Budget) -> Result<Expr> {
        let ctx = self.ctx();
        let context = context.params_only(self.params, budget)?;
        let simple = Parametric::own(
            // SAFETY: takes the references made here.
            ctx.make(budget, || unsafe {
                isl_pw_aff_coalesce(isl_pw_aff_gist_params(self.obj.give(), context.give()))
            })?,
            self.params,
        );
        // SAFETY (both): take the references made here and keep the build.
        let build = ctx.make(budget, || unsafe { isl_ast_build_from_context(context.give()) })?;
        let expr =
            ctx.make(budget, || unsafe { isl_ast_build_expr_from_pw_aff(build.keep(), simple.obj.give()) })?;
        read_expr(&expr, budget)
    }
}

impl Set {
    /// A set without dimensions as a condition on the parameters, right for all parameters in `context`.
    pub fn condition(&self, context: &Set, budget: &Budget) -> Result<Expr> {
        let params = self.space().params;
        let ctx = self.obj.ctx();
        let context_obj = context.params_only(params, budget)?;
        let simple = self.gist(context, budget)?.coalesce(budget)?.params_only(params, budget)?;
        // SAFETY (both): take the references made here and keep the build.
        let build = ctx.make(budget, || unsafe { isl_ast_build_from_context(context_obj.give()) })?;
        let expr =
            ctx.make(budget, || unsafe { isl_ast_build_expr_from_set(build.keep(), simple.give()) })?;
        read_expr(&expr, budget)
    }
}

impl std::fmt::Debug for Parametric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pieces(&Budget::new(100_000)) {
            Ok(pieces) => f.debug_list().entries(&pieces).finish(),
            Err(e) => write!(f, "Parametric({e})"),
        }
    }
}
