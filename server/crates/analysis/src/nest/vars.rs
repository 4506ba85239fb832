//! The variables that a model's values are polynomials in: counters, parameters, and what stands for a value that is not one of
//! their polynomials.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{SymbolId, TermId};

use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};
use crate::Param;

#[derive(Clone, Default)]
pub(crate) struct Vars {
    kinds: Vec<VarKind>,
    params: FxHashMap<Param, Var>,
    /// Products of parameters, which are parameters too.
    products: FxHashMap<Vec<Var>, Var>,
    /// Array lengths whose text may have another value by now than where the array was declared.
    old_lengths: Vec<(TermId, Var)>,
    /// Quotients and the like, with their defining constraints.
    defined: Vec<(Var, Vec<Constraint>)>,
    /// What each quotient is the quotient of: `floor(numerator / divisor)`.
    numerators: FxHashMap<Var, (Poly, i128)>,
    /// What each image is the image of: `x ^ k`.
    pub images: FxHashMap<Var, (Poly, Poly)>,
    /// Elements of arrays of which something is promised, by what was loaded.
    pub loads: FxHashMap<Var, Loaded>,
    /// Quotients of values that are made of such elements.
    pub of_loaded: FxHashSet<Var>,
    /// Values that grow by at least so much from one iteration of the root to the next.
    pub rising: FxHashMap<Var, i128>,
    /// Of these those that every iteration moves by one amount: their ends follow from how often the loop runs.
    pub steady: FxHashSet<Var>,
    /// Columns of which it is only known that they lie in their row.
    pub columns: FxHashSet<Var>,
}

/// An element that was loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loaded {
    pub array: SymbolId,
    pub subscripts: Vec<Poly>,
}

impl Vars {
    /// Whether the value is made of elements that were loaded.
    pub(crate) fn is_loaded(&self, p: &Poly) -> bool {
        let is_one = |v: Var| self.loads.contains_key(&v) || self.of_loaded.contains(&v);
        !self.loads.is_empty() && p.vars().any(is_one)
    }

    pub(crate) fn kind(&self, v: Var) -> &VarKind {
        &self.kinds[v as usize]
    }

    /// All kinds, by variable.
    pub(crate) fn kinds(&self) -> &[VarKind] {
        &self.kinds
    }

    pub(crate) fn is_param(&self, v: Var) -> bool {
        matches!(self.kind(v), VarKind::Param(_) | VarKind::Product(_))
    }

    /// Of a parameter that the model has.
    pub(crate) fn param(&self, p: Param) -> Option<Var> {
        self.params.get(&p).copied()
    }

    /// Whether the host can evaluate the parameter before the loop.
    pub(crate) fn has_text(&self, v: Var) -> bool {
        self.old_lengths.iter().all(|&(_, o)| o != v)
    }

    /// The constraints that define a quotient and the like.
    pub(crate) fn definition(&self, v: Var) -> Option<&[Constraint]> {
        self.defined.iter().find(|(q, _)| *q == v).map(|(_, definition)| &definition[..])
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = &[Constraint]> + Clone {
        self.defined.iter().map(|(_, definition)| &definition[..])
    }

    /// What a quotient is the quotient of, and by which number.
    pub(crate) fn numerator(&self, v: Var) -> Option<&(Poly, i128)> {
        self.numerators.get(&v)
    }

    /// Whether what is in the value is known, or kept between known values by the conditions of the domain (`x >= 0 && x < w`).
    pub(crate) fn is_between(&self, p: &Poly, domain: &Domain) -> bool {
        p.vars().filter(|&v| *self.kind(v) == VarKind::Fresh).all(|v| self.is_kept(v, domain))
    }

    /// Whether the conditions keep a value that nobody knows between two that are.
    pub(crate) fn is_kept(&self, v: Var, domain: &Domain) -> bool {
        let alone = |c: &Constraint| {
            c.poly.terms().all(|(m, _)| match m.contains(&v) {
                true => m.len() == 1,
                false => m.iter().all(|&x| *self.kind(x) != VarKind::Fresh),
            })
        };
        domain.pieces.iter().all(|piece| {
            [1, -1].iter().all(|&sign| {
                piece.iter().any(|c| {
                    let factor = c.poly.coefficient(v);
                    (factor.signum() == sign || c.equality && factor != 0) && alone(c)
                })
            })
        })
    }

    /// The value as a linear one: products of parameters become parameters. `None` where it is not linear.
    pub(crate) fn linear(&mut self, p: &Poly) -> Option<Poly> {
        if p.is_linear() {
            return Some(p.clone());
        }
        let mut items = Vec::new();
        for (m, c) in p.terms() {
            if m.len() <= 1 {
                items.push((m.to_vec(), c));
                continue;
            }
            if !m.iter().all(|&v| self.is_param(v)) {
                return None;
            }
            let v = match self.products.get(m) {
                Some(&v) => v,
                None => {
                    let v = self.fresh(VarKind::Product(m.to_vec()));
                    self.products.insert(m.to_vec(), v);
                    v
                }
            };
            items.push((vec![v], c));
        }
        Poly::from_terms(items)
    }

    pub(super) fn fresh(&mut self, kind: VarKind) -> Var {
        self.kinds.push(kind);
        (self.kinds.len() - 1) as Var
    }

    /// A parameter that the model did not have.
    pub(super) fn new_param(&mut self, p: Param) -> Var {
        let v = self.fresh(VarKind::Param(p));
        self.params.insert(p, v);
        v
    }

    /// The length that was fixed where an array was declared, by its text; `same` compares texts.
    pub(super) fn old_length(&mut self, length: TermId, same: impl Fn(TermId) -> bool) -> Var {
        if let Some(&(_, v)) = self.old_lengths.iter().find(|(u, _)| same(*u)) {
            return v;
        }
        let v = self.fresh(VarKind::Param(Param::Term(length)));
        self.old_lengths.push((length, v));
        v
    }

    pub(super) fn define(&mut self, v: Var, definition: Vec<Constraint>) {
        self.defined.push((v, definition));
    }

    pub(super) fn define_quotient(&mut self, v: Var, of: (Poly, i128), definition: Vec<Constraint>) {
        self.define(v, definition);
        self.numerators.insert(v, of);
    }

    /// How many have a definition.
    pub(super) fn count_defined(&self) -> usize {
        self.defined.len()
    }
}
