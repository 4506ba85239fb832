//! Domains and pairs of instances as integer sets: one space of parameters for a whole nest.

use base::Budget;
use poly::{Error, Row, Set, Space};
use rustc_hash::FxHashMap;

use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};
use crate::nest::Model;

/// Parameters in one order, and what is known of them.
pub(super) struct ParamSpace<'m, 'a> {
    pub model: &'m Model<'a>,
    pub budget: &'m Budget,
    pub params: Vec<Var>,
    context: Vec<Constraint>,
}

/// A value of the part of that number.
pub(super) type ValueOf<'x> = (&'x Poly, usize);

/// The instances of one statement or access; its counters are dimensions from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Part<'x> {
    pub domain: &'x Domain,
    pub loops: &'x [usize],
    pub first: usize,
}

/// Existential variables of one conjunction, per part, and the definitions still to be added.
#[derive(Default)]
struct Exists {
    ids: FxHashMap<(Var, usize), usize>,
    todo: Vec<(Constraint, usize)>,
}

impl<'m, 'a> ParamSpace<'m, 'a> {
    /// A frame for all parameters that `values` name, and for those that what is known joins to them.
    pub(super) fn new<'p>(
        model: &'m Model<'a>,
        budget: &'m Budget,
        values: impl Iterator<Item = &'p Poly>,
    ) -> ParamSpace<'m, 'a> {
        let mut params: Vec<Var> = Vec::new();
        let mut note = |p: &Poly| {
            let before = params.len();
            for v in p.vars().filter(|&v| model.is_param(v)) {
                if !params.contains(&v) {
                    params.push(v);
                }
            }
            params.len() > before
        };
        values.for_each(|p| {
            note(p);
        });
        for defs in model.vars.definitions() {
            defs.iter().for_each(|c| {
                note(&c.poly);
            });
        }
        let usable = |c: &&Constraint| c.poly.is_linear() && c.poly.vars().all(|v| model.is_param(v));
        let known: Vec<&Constraint> = model.premises.context.iter().filter(usable).collect();
        let mut context: Vec<Constraint> = Vec::new();
        loop {
            let mut grown = false;
            for c in &known {
                if !context.contains(c) && c.poly.vars().any(|v| params.contains(&v)) {
                    context.push((*c).clone());
                    for v in c.poly.vars() {
                        if !params.contains(&v) {
                            params.push(v);
                        }
                    }
                    grown = true;
                }
            }
            if !grown {
                break;
            }
        }
        ParamSpace { model, budget, params, context }
    }

    /// What is known of the parameters, with `more` conditions on them and on `others` parameters after them.
    pub(super) fn context(&self, others: usize, more: &[poly::Constraint]) -> poly::Result<Set> {
        let mut rows: Vec<poly::Constraint> = more.to_vec();
        for c in &self.context {
            rows.push(constraint(c, self.param_row(&c.poly)?));
        }
        Set::from_constraints(Space { params: self.params.len() + others, dims: 0 }, 0, &rows, self.budget)
    }

    /// A value in parameters alone.
    pub(super) fn param_row(&self, p: &Poly) -> poly::Result<Row> {
        let always = Domain::always();
        let none = Part { domain: &always, loops: &[], first: 0 };
        self.row(p, 0, &none, &mut Exists::default())
    }

    /// A value in the counters of a part and in parameters, if it is nothing else.
    pub(super) fn linear_row(&self, p: &Poly, part: &Part<'_>) -> poly::Result<Row> {
        let mut ex = Exists::default();
        let row = self.row(p, 0, part, &mut ex)?;
        match ex.ids.is_empty() {
            true => Ok(row),
            false => Err(Error::Unsupported("a value that is not linear")),
        }
    }

    fn row(&self, p: &Poly, at: usize, part: &Part<'_>, ex: &mut Exists) -> poly::Result<Row> {
        let strange = || Error::Unsupported("a value that is not linear");
        let mut row = Row::constant(p.constant_part());
        for (m, c) in p.terms() {
            let v = match m {
                [] => continue,
                [v] => *v,
                _ => return Err(strange()),
            };
            row = match self.model.vars.kind(v) {
                VarKind::Param(_) | VarKind::Product(_) => {
                    let k = self.params.iter().position(|x| *x == v).ok_or_else(strange)?;
                    let old = row.params.get(k).copied().unwrap_or(0);
                    row.param(k, old + c)
                }
                VarKind::Iter(l) if part.loops.contains(l) => {
                    let k = part.first + part.loops.iter().position(|x| x == l).unwrap_or(0);
                    let old = row.dims.get(k).copied().unwrap_or(0);
                    row.dim(k, old + c)
                }
                // A counter of a loop that is not around: its value after that loop, unknown.
                VarKind::Iter(_) | VarKind::Quotient | VarKind::Image | VarKind::Fresh => {
                    let n = ex.ids.len();
                    let k = *ex.ids.entry((v, at)).or_insert(n);
                    if k == n {
                        let definition = self.model.vars.definition(v);
                        let constraints = definition.into_iter().flatten().cloned();
                        ex.todo.extend(constraints.map(|c| (c, at)));
                    }
                    let old = row.exists.get(k).copied().unwrap_or(0);
                    row.exist(k, old + c)
                }
            };
        }
        Ok(row)
    }

    /// The tuples of `dims` dimensions whose parts lie in their domains and for which the pairs of values (each of the
    /// part of that number) are equal; `more` conditions are over all dimensions.
    pub(super) fn set(
        &self,
        dims: usize,
        parts: &[Part<'_>],
        equal: &[(ValueOf<'_>, ValueOf<'_>)],
        more: &[poly::Constraint],
    ) -> poly::Result<Set> {
        let space = Space { params: self.params.len(), dims };
        let mut out = Set::empty(space, self.budget)?;
        let mut choice = vec![0usize; parts.len()];
        if parts.iter().any(|p| p.domain.pieces.is_empty()) {
            return Ok(out);
        }
        loop {
            let mut ex = Exists::default();
            let mut rows: Vec<poly::Constraint> = more.to_vec();
            for c in &self.context {
                rows.push(constraint(c, self.param_row(&c.poly)?));
            }
            for (k, (part, &piece)) in parts.iter().zip(&choice).enumerate() {
                for c in &part.domain.pieces[piece] {
                    let row = self.row(&c.poly, k, part, &mut ex)?;
                    rows.push(constraint(c, row));
                }
            }
            for ((p, a), (q, b)) in equal {
                let (x, y) = (self.row(p, *a, &parts[*a], &mut ex)?, self.row(q, *b, &parts[*b], &mut ex)?);
                rows.push(poly::Constraint::eq(x.checked_sub(&y).ok_or(Error::Overflow("a difference"))?));
            }
            while let Some((c, k)) = ex.todo.pop() {
                let row = self.row(&c.poly, k, &parts[k], &mut ex)?;
                rows.push(constraint(&c, row));
            }
            let one = Set::from_constraints(space, ex.ids.len(), &rows, self.budget)?;
            out = out.union(&one, self.budget)?;
            // The next choice of pieces.
            let Some(k) = (0..parts.len()).find(|&k| choice[k] + 1 < parts[k].domain.pieces.len()) else {
                return Ok(out);
            };
            choice[k] += 1;
            choice[..k].fill(0);
        }
    }

    /// The domain of one statement.
    pub(super) fn domain(&self, domain: &Domain, loops: &[usize]) -> poly::Result<Set> {
        self.set(loops.len(), &[Part { domain, loops, first: 0 }], &[], &[])
    }
}

fn constraint(c: &Constraint, row: Row) -> poly::Constraint {
    if c.equality {
        poly::Constraint::eq(row)
    } else {
        poly::Constraint::ge(row)
    }
}

/// The affine equations that hold on all of a set, as rows `parameters, dimensions, constant`. Those that need a
/// division are left out: what remains holds on more.
pub(super) fn equations(set: &Set, budget: &Budget) -> poly::Result<Vec<Vec<i128>>> {
    let Space { params, dims } = set.space();
    let mut out = Vec::new();
    let hull = set.affine_hull(budget)?.disjuncts(budget)?;
    if hull.len() > 1 {
        return Err(Error::Unsupported("an affine hull in parts"));
    }
    for d in hull {
        for c in d.constraints {
            if c.kind != poly::Kind::Eq || c.row.exists.iter().any(|&x| x != 0) {
                continue;
            }
            let at = |v: &[i128], k: usize| v.get(k).copied().unwrap_or(0);
            let mut row: Vec<i128> = (0..params).map(|k| at(&c.row.params, k)).collect();
            row.extend((0..dims).map(|k| at(&c.row.dims, k)));
            row.push(c.row.constant);
            out.push(row);
        }
    }
    Ok(out)
}
