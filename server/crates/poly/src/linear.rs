//! Affine rows and constraints as plain data, and their way into and out of isl.
//!
//! Parameters and dimensions are positions; the callers keep the names. Deliberately absent: rational coefficients and
//! simplification; isl does both.

use crate::ctx::{int, price, Ctx, Obj, MAX_COLUMNS, MAX_ROWS};
use crate::error::{Error, Result};
use crate::ffi::*;
use base::Budget;
use libc::{c_int, c_uint};
use std::rc::Rc;

/// The shape of a set: how many parameters and how many dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Space {
    /// Symbolic constants.
    pub params: usize,
    /// Dimensions of the tuples in the set.
    pub dims: usize,
}

/// The shape of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MapSpace {
    /// Symbolic constants.
    pub params: usize,
    /// Dimensions of the tuples on the left.
    pub ins: usize,
    /// Dimensions of the tuples on the right.
    pub outs: usize,
}

/// An affine form: coefficients of parameters, of dimensions (a relation's left ones first, then its right ones), of
/// existential variables or divisions, and a constant. A missing coefficient at the end is zero.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Row {
    /// Coefficients of the parameters.
    pub params: Vec<i128>,
    /// Coefficients of the dimensions.
    pub dims: Vec<i128>,
    /// Coefficients of the existential variables (in constraints given) or divisions (in constraints read back).
    pub exists: Vec<i128>,
    /// The constant term.
    pub constant: i128,
}

fn set_at(row: &mut Vec<i128>, at: usize, c: i128) {
    if row.len() <= at {
        row.resize(at + 1, 0);
    }
    if let Some(x) = row.get_mut(at) {
        *x = c;
    }
}

fn zip_checked(a: &[i128], b: &[i128], f: impl Fn(i128, i128) -> Option<i128>) -> Option<Vec<i128>> {
    let at = |v: &[i128], i: usize| v.get(i).copied().unwrap_or(0);
    (0..a.len().max(b.len())).map(|i| f(at(a, i), at(b, i))).collect()
}

fn dot(row: &[i128], at: &[i128]) -> Option<i128> {
    row.iter().enumerate().try_fold(0i128, |sum, (i, &c)| match (c, at.get(i)) {
        (0, _) => Some(sum),
        (c, Some(&x)) => sum.checked_add(c.checked_mul(x)?),
        (_, None) => None,
    })
}

impl Row {
    /// The constant form `c`.
    pub fn constant(c: i128) -> Row {
        Row { constant: c, ..Row::default() }
    }
    /// With `c` as the coefficient of parameter `i`.
    #[must_use]
    pub fn param(mut self, i: usize, c: i128) -> Row {
        set_at(&mut self.params, i, c);
        self
    }
    /// With `c` as the coefficient of dimension `i`.
    #[must_use]
    pub fn dim(mut self, i: usize, c: i128) -> Row {
        set_at(&mut self.dims, i, c);
        self
    }
    /// With `c` as the coefficient of existential variable `i`.
    #[must_use]
    pub fn exist(mut self, i: usize, c: i128) -> Row {
        set_at(&mut self.exists, i, c);
        self
    }
    /// `self + other`, or `None` beyond 128 bits.
    pub fn checked_add(&self, other: &Row) -> Option<Row> {
        self.combine(other, i128::checked_add)
    }
    /// `self - other`, or `None` beyond 128 bits.
    pub fn checked_sub(&self, other: &Row) -> Option<Row> {
        self.combine(other, i128::checked_sub)
    }
    /// `k * self`, or `None` beyond 128 bits.
    pub fn checked_scale(&self, k: i128) -> Option<Row> {
        self.combine(self, |a, _| a.checked_mul(k))
    }

    fn combine(&self, other: &Row, f: impl Fn(i128, i128) -> Option<i128> + Copy) -> Option<Row> {
        Some(Row {
            params: zip_checked(&self.params, &other.params, f)?,
            dims: zip_checked(&self.dims, &other.dims, f)?,
            exists: zip_checked(&self.exists, &other.exists, f)?,
            constant: f(self.constant, other.constant)?,
        })
    }

    /// The value at a point, or `None` beyond 128 bits or when a value is missing.
    pub fn eval(&self, params: &[i128], dims: &[i128], exists: &[i128]) -> Option<i128> {
        let sum = dot(&self.params, params)?.checked_add(dot(&self.dims, dims)?)?;
        sum.checked_add(dot(&self.exists, exists)?)?.checked_add(self.constant)
    }

    /// Whether every coefficient is zero.
    pub fn is_constant(&self) -> bool {
        self.params.iter().chain(&self.dims).chain(&self.exists).all(|&c| c == 0)
    }

    /// The dimension this form consists of, if it is one and nothing else.
    pub(crate) fn as_dim(&self) -> Option<usize> {
        let others = self.params.iter().chain(&self.exists).any(|&c| c != 0) || self.constant != 0;
        let mut used = self.dims.iter().enumerate().filter(|(_, &c)| c != 0);
        match (others, used.next(), used.next()) {
            (false, Some((i, 1)), None) => Some(i),
            _ => None,
        }
    }
}

/// What a constraint demands of its row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// `row = 0`.
    Eq,
    /// `row >= 0`.
    Ge,
}

/// `row = 0` or `row >= 0`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Constraint {
    /// Which of the two.
    pub kind: Kind,
    /// The affine form.
    pub row: Row,
}

impl Constraint {
    /// `row = 0`.
    pub fn eq(row: Row) -> Constraint {
        Constraint { kind: Kind::Eq, row }
    }
    /// `row >= 0`.
    pub fn ge(row: Row) -> Constraint {
        Constraint { kind: Kind::Ge, row }
    }
    /// Whether it holds at a point; `None` beyond 128 bits or when a value is missing.
    pub fn holds(&self, params: &[i128], dims: &[i128], exists: &[i128]) -> Option<bool> {
        let value = self.row.eval(params, dims, exists)?;
        Some(match self.kind {
            Kind::Eq => value == 0,
            Kind::Ge => value >= 0,
        })
    }
}

/// `floor(numerator / denominator)`; the numerator may use earlier divisions of the same list (through `exists`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Div {
    /// The form that is divided.
    pub numerator: Row,
    /// Positive.
    pub denominator: i128,
}

fn div_values(divs: &[Div], params: &[i128], dims: &[i128]) -> Option<Vec<i128>> {
    let mut values = Vec::with_capacity(divs.len());
    for div in divs {
        let n = div.numerator.eval(params, dims, &values)?;
        values.push(n.checked_div_euclid(div.denominator)?);
    }
    Some(values)
}

/// One disjunct of a set: the points at which every constraint holds, where the `exists` columns stand for `divs`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Disjunct {
    /// Integer divisions used by the constraints.
    pub divs: Vec<Div>,
    /// All of them hold.
    pub constraints: Vec<Constraint>,
}

impl Disjunct {
    /// Whether the point is in; `None` beyond 128 bits or when a value is missing.
    pub fn contains(&self, params: &[i128], dims: &[i128]) -> Option<bool> {
        let divs = div_values(&self.divs, params, dims)?;
        for c in &self.constraints {
            if !c.holds(params, dims, &divs)? {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// `row / denominator` with divisions: an exact value wherever it is defined.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Affine {
    /// Integer divisions used by the row.
    pub divs: Vec<Div>,
    /// The form.
    pub row: Row,
    /// Positive; where the expression is defined it divides the row's value.
    pub denominator: i128,
}

impl Affine {
    /// The value at a point; `None` beyond 128 bits, when a value is missing or when it is not whole.
    pub fn eval(&self, params: &[i128], dims: &[i128]) -> Option<i128> {
        let divs = div_values(&self.divs, params, dims)?;
        let value = self.row.eval(params, dims, &divs)?;
        (value.checked_rem(self.denominator)? == 0).then(|| value / self.denominator)
    }
}

/// Rows as two matrices, equalities and inequalities, with the columns parameters, dimensions, existentials, constant.
pub(crate) fn matrices(
    ctx: &Rc<Ctx>,
    (params, dims, exists): (usize, usize, usize),
    constraints: &[Constraint],
    budget: &Budget,
) -> Result<(Obj<isl_mat>, Obj<isl_mat>)> {
    if [params, dims, exists].iter().any(|&n| n > MAX_COLUMNS) || params + dims + exists > MAX_COLUMNS {
        return Err(Error::Overflow("more than 256 columns"));
    }
    if constraints.len() > MAX_ROWS {
        return Err(Error::Overflow("more than 4096 constraints"));
    }
    let too_long = |row: &[i128], n: usize| row.iter().skip(n).any(|&c| c != 0);
    for Constraint { row, .. } in constraints {
        if too_long(&row.params, params) || too_long(&row.dims, dims) || too_long(&row.exists, exists) {
            return Err(Error::Mismatch("a constraint names a column that the space does not have"));
        }
    }
    let matrix = |kind: Kind| {
        let rows = || constraints.iter().filter(move |c| c.kind == kind).map(|c| &c.row);
        let columns = params + dims + exists + 1;
        ctx.make(&budget.priced(price(columns)), || {
            // SAFETY: the context is live; every entry of the fresh matrix is set once, within its size, and each
            // step takes the matrix and gives it back (NULL stays NULL).
            unsafe {
                let mut mat = isl_mat_alloc(ctx.raw(), rows().count() as c_uint, columns as c_uint);
                for (i, row) in rows().enumerate() {
                    let mut column = 0;
                    let parts = [(&row.params, params), (&row.dims, dims), (&row.exists, exists)];
                    for (part, n) in parts {
                        for j in 0..n {
                            mat = set_entry(ctx, mat, i, column, part.get(j).copied().unwrap_or(0));
                            column += 1;
                        }
                    }
                    mat = set_entry(ctx, mat, i, column, row.constant);
                }
                mat
            }
        })
    };
    Ok((matrix(Kind::Eq)?, matrix(Kind::Ge)?))
}

/// # Safety
/// `mat` must be ours or NULL, and the place within it.
unsafe fn set_entry(ctx: &Ctx, mat: *mut isl_mat, row: usize, column: usize, n: i128) -> *mut isl_mat {
    // SAFETY: the caller's promise; the value is made here and taken by the call.
    unsafe {
        match c_int::try_from(n) {
            Ok(n) => isl_mat_set_element_si(mat, row as c_int, column as c_int, n),
            Err(_) => isl_mat_set_element_val(mat, row as c_int, column as c_int, ctx.val(n)),
        }
    }
}

fn read_matrix(
    mat: &Obj<isl_mat>,
    kind: Kind,
    (params, dims): (usize, usize),
    budget: &Budget,
) -> Result<Vec<Constraint>> {
    let ctx = mat.ctx();
    // SAFETY (both): the matrix is live and kept.
    let rows = ctx.size(budget, || unsafe { isl_mat_rows(mat.keep()) })?;
    let columns = ctx.size(budget, || unsafe { isl_mat_cols(mat.keep()) })?;
    let mut out = Vec::with_capacity(rows);
    for i in 0..rows {
        let mut entries = Vec::with_capacity(columns);
        for j in 0..columns {
            // SAFETY: the place lies within the matrix, which is kept.
            let entry =
                ctx.make(budget, || unsafe { isl_mat_get_element_val(mat.keep(), i as c_int, j as c_int) })?;
            entries.push(int(&entry)?);
        }
        let constant = entries.pop().unwrap_or(0);
        let exists = entries.split_off((params + dims).min(entries.len()));
        let dims = entries.split_off(params.min(entries.len()));
        out.push(Constraint { kind, row: Row { params: entries, dims, exists, constant } });
    }
    Ok(out)
}

/// A basic set as plain data. Its divisions must be known (see `isl_set_compute_divs`).
pub(crate) fn read_disjunct(bset: &Obj<isl_basic_set>, space: Space, budget: &Budget) -> Result<Disjunct> {
    let ctx = bset.ctx();
    let shape = (space.params, space.dims);
    // SAFETY (all): the basic set is live and kept; the results are owned by `make`.
    let eq = ctx.make(budget, || unsafe {
        isl_basic_set_equalities_matrix(bset.keep(), DIM_PARAM, DIM_SET, DIM_DIV, DIM_CST)
    })?;
    let ge = ctx.make(budget, || unsafe {
        isl_basic_set_inequalities_matrix(bset.keep(), DIM_PARAM, DIM_SET, DIM_DIV, DIM_CST)
    })?;
    let n_div = ctx.size(budget, || unsafe { isl_basic_set_dim(bset.keep(), DIM_DIV) })?;
    let mut divs = Vec::with_capacity(n_div);
    for k in 0..n_div {
        let aff = ctx.make(budget, || unsafe { isl_basic_set_get_div(bset.keep(), k as c_int) })?;
        let (numerator, denominator) = read_aff(&aff, space, n_div, budget)?;
        divs.push(Div { numerator, denominator });
    }
    let mut constraints = read_matrix(&eq, Kind::Eq, shape, budget)?;
    constraints.extend(read_matrix(&ge, Kind::Ge, shape, budget)?);
    // isl keeps the two inequalities that define each division among the others; here the division says it.
    constraints.retain(|c| !divs.iter().enumerate().any(|(k, div)| defines(c, k, div)));
    Ok(Disjunct { divs, constraints })
}

/// Whether the constraint is one half of `den * q <= num < den * (q + 1)`.
fn defines(c: &Constraint, k: usize, div: &Div) -> bool {
    let rest = Row::default().exist(k, div.denominator);
    let Some(low) = div.numerator.checked_sub(&rest) else {
        return false;
    };
    let high = low.checked_scale(-1).and_then(|r| r.checked_add(&Row::constant(div.denominator - 1)));
    let same = |row: &Row| c.row.checked_sub(row).is_some_and(|d| d.is_constant() && d.constant == 0);
    c.kind == Kind::Ge && (same(&low) || high.as_ref().is_some_and(same))
}

/// The numerator (over parameters, dimensions and divisions) and denominator of an affine expression.
fn read_aff(aff: &Obj<isl_aff>, space: Space, n_div: usize, budget: &Budget) -> Result<(Row, i128)> {
    let ctx = aff.ctx();
    // SAFETY (all in this function): the expression is live and kept; `isl_val_mul` takes two values that are ours.
    let denominator = int(&ctx.make(budget, || unsafe { isl_aff_get_denominator_val(aff.keep()) })?)?;
    let read = |kind: c_int, n: usize| -> Result<Vec<i128>> {
        (0..n)
            .map(|i| {
                int(&ctx.make(budget, || unsafe {
                    let c = isl_aff_get_coefficient_val(aff.keep(), kind, i as c_int);
                    isl_val_mul(c, isl_aff_get_denominator_val(aff.keep()))
                })?)
            })
            .collect()
    };
    let constant = int(&ctx.make(budget, || unsafe {
        isl_val_mul(isl_aff_get_constant_val(aff.keep()), isl_aff_get_denominator_val(aff.keep()))
    })?)?;
    // An expression's dimensions are the inputs of the function it stands for.
    let row = Row {
        params: read(DIM_PARAM, space.params)?,
        dims: read(DIM_IN, space.dims)?,
        exists: read(DIM_DIV, n_div)?,
        constant,
    };
    Ok((row, denominator))
}

/// An affine expression over parameters (and `dims` dimensions) as plain data.
pub(crate) fn read_affine(aff: &Obj<isl_aff>, space: Space, budget: &Budget) -> Result<Affine> {
    let ctx = aff.ctx();
    // SAFETY (all): the expression is live and kept.
    if ctx.test(budget, || unsafe { isl_aff_is_nan(aff.keep()) })? {
        return Err(Error::Isl("the expression is not a number".into()));
    }
    let n_div = ctx.size(budget, || unsafe { isl_aff_dim(aff.keep(), DIM_DIV) })?;
    let mut divs = Vec::with_capacity(n_div);
    for k in 0..n_div {
        let div = ctx.make(budget, || unsafe { isl_aff_get_div(aff.keep(), k as c_int) })?;
        let (numerator, denominator) = read_aff(&div, space, n_div, budget)?;
        divs.push(Div { numerator, denominator });
    }
    let (row, denominator) = read_aff(aff, space, n_div, budget)?;
    Ok(Affine { divs, row, denominator })
}
