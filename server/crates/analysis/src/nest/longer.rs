//! Rows that are longer or shorter than a parameter says: the `n + 2` of `i * (n + 2) + j`, and the `z1 - z0` by which a counter has
//! moved after a loop from `z0` to `z1`.

use rustc_hash::FxHashMap;
use term::{BinOp, Op, TermId};

use crate::algebra::poly::{divide, Poly, Var, VarKind};
use crate::nest::builder::Builder;
use crate::Param;

/// By how much more than a parameter a row has; in the subscripts the parameter then stands for the row's length.
#[derive(Default)]
pub(super) struct Longer(Vec<(Var, Poly)>);

impl Longer {
    /// With the rows' lengths in the place of the parameters.
    pub(super) fn in_rows(&self, p: &Poly) -> Option<Poly> {
        self.0.iter().try_fold(p.clone(), |p, (v, by)| p.replaced(*v, &Poly::var(*v).sub(by)?))
    }

    /// Whether no row is longer.
    pub(super) fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// With the parameters again.
    pub(super) fn back(&self, p: &Poly) -> Option<Poly> {
        self.0.iter().rev().try_fold(p.clone(), |p, (v, by)| p.replaced(*v, &Poly::var(*v).add(by)?))
    }

    fn of(&self, v: Var) -> Option<&Poly> {
        self.0.iter().find(|(x, _)| *x == v).map(|(_, by)| by)
    }
}

impl Builder<'_> {
    /// See [`Longer`]. The text says so where it multiplies by such a sum; else what multiplies a counter alone, or together with
    /// another parameter, and what multiplies it together with this one, for all subscripts and counters alike.
    pub(super) fn longer(&mut self, members: &[usize]) -> Longer {
        let values = self.flat(members, &Longer::default());
        // where no counter numbers rows (`u[ny * w + i]`, a row of a margin), what is fixed does
        let is_product =
            |m: &[Var], counts: bool| m.len() > 1 && m.iter().any(|&v| !self.is_param(v)) == counts;
        let counts = values.iter().flatten().flat_map(Poly::terms).any(|(m, _)| is_product(m, true));
        let mut computed: FxHashMap<Var, Option<Poly>> = FxHashMap::default();
        let mut written: FxHashMap<Var, Option<Poly>> = FxHashMap::default();
        for (&i, p) in members.iter().zip(&values) {
            let Some(p) = p else { continue };
            for (m, c) in p.terms().filter(|(m, _)| is_product(m, counts)) {
                for (k, &v) in m.iter().enumerate().filter(|(_, &v)| self.is_param(v)) {
                    let rest: Vec<Var> = [&m[..k], &m[k + 1..]].concat();
                    let by_sum = self.multiplies(self.accesses[i].term, v).map(Poly::constant);
                    let by_others = self.beside(p, (v, c), &rest);
                    for (all, by) in [(&mut computed, by_others), (&mut written, by_sum)] {
                        let known = all.entry(v).or_insert_with(|| by.clone());
                        if *known != by {
                            *known = None;
                        }
                    }
                }
            }
        }
        let by = |(v, by): (Var, Option<Poly>)| {
            let by = written.get(&v).cloned().flatten().or(by)?;
            (by != Poly::default()).then_some((v, by))
        };
        let mut all: Vec<(Var, Poly)> = computed.into_iter().filter_map(by).collect();
        all.sort_unstable_by_key(|(v, _)| *v);
        let lengths = self.of_one_sum(&all, members);
        Longer(lengths)
    }

    /// By how much more than `v` it is that multiplies `rest`, where `c` times both stands in the sum.
    fn beside(&self, p: &Poly, (v, c): (Var, i128), rest: &[Var]) -> Option<Poly> {
        if rest.contains(&v) {
            return None;
        }
        let mut by = Vec::new();
        for (m, k) in p.terms() {
            let Some(other) = divide(m, rest) else { continue };
            match other[..] {
                [] => by.push((Vec::new(), k)),
                [u] if u != v && self.is_param(u) => by.push((vec![u], k)),
                _ => {}
            }
        }
        let by: Option<Vec<_>> = by.into_iter().map(|(m, k)| (k % c == 0).then_some((m, k / c))).collect();
        Poly::from_terms(by?)
    }

    /// One length for each sum of parameters: the `z1` of `z1 - z0`, which is the one that is surely not negative.
    fn of_one_sum(&self, all: &[(Var, Poly)], members: &[usize]) -> Vec<(Var, Poly)> {
        let known = self.prover();
        let is_length = |(v, by): &(Var, Poly)| {
            let length = Poly::var(*v).add(by);
            members.iter().any(|&i| {
                length.as_ref().is_some_and(|l| known.non_negative(l, &self.accesses[i].domain, &self.budget))
            })
        };
        let mut kept: Vec<(Var, Poly)> = Vec::new();
        let has = |p: &Poly, v: Var| p.vars().any(|x| x == v);
        for one in all.iter() {
            let others: Vec<&(Var, Poly)> =
                all.iter().filter(|o| has(&one.1, o.0) && has(&o.1, one.0)).collect();
            let first = |o: &(Var, Poly)| (!is_length(o), o.0);
            if others.iter().all(|o| first(one) < first(o)) {
                kept.push(one.clone());
            }
        }
        kept
    }

    /// The one number `k` for which the text multiplies by `v + k`.
    fn multiplies(&self, access: TermId, v: Var) -> Option<i128> {
        let body = self.body;
        let products = body.walk(access).filter(|&x| *body.op(x) == Op::Binary(BinOp::Mul));
        let mut found = products.flat_map(|x| body.args(x)).filter_map(|&f| self.exceeds(f, v));
        let first = found.next()?;
        found.all(|k| k == first).then_some(first)
    }

    /// The number by which a sum in the text is larger than the parameter.
    fn exceeds(&self, t: TermId, v: Var) -> Option<i128> {
        let VarKind::Param(Param::Symbol(s)) = *self.vars.kind(v) else { return None };
        let body = self.body;
        let is = |x: TermId| body.as_symbol(x) == Some(s);
        match (body.op(t), body.args(t)) {
            (Op::Binary(BinOp::Add), &[a, b]) if is(a) => body.as_int(b),
            (Op::Binary(BinOp::Add), &[a, b]) if is(b) => body.as_int(a),
            (Op::Binary(BinOp::Sub), &[a, b]) if is(a) => body.as_int(b).map(|k| -k),
            _ => None,
        }
    }

    /// What the text of an access calls the length of its rows, a product: `n`, or `n + 2` where that is so much longer.
    pub(super) fn names_row(&self, access: TermId, length: &[Var], longer: &Longer) -> Option<TermId> {
        let by = |v: Var| longer.of(v).map_or(Some(0), Poly::as_constant);
        let by: Option<Vec<(Var, i128)>> = length.iter().map(|&v| Some((v, by(v)?))).collect();
        match &by?[..] {
            &[(v, by)] => self.names(access, v, by),
            // a product by the product itself, and not by a part of it
            _ => self.body.walk(access).find(|&x| self.is_product(x, length)),
        }
    }

    /// Whether a term multiplies just these parameters.
    fn is_product(&self, t: TermId, of: &[Var]) -> bool {
        let body = self.body;
        let (mut open, mut left) = (vec![t], of.to_vec());
        while let Some(x) = open.pop() {
            if *body.op(x) == Op::Binary(BinOp::Mul) {
                open.extend(body.args(x));
                continue;
            }
            let is = |v: &Var| match *self.vars.kind(*v) {
                VarKind::Param(Param::Symbol(s)) => body.as_symbol(x) == Some(s),
                VarKind::Param(Param::Term(p)) => p == x || body.same(p, x),
                _ => false,
            };
            match left.iter().position(is) {
                Some(k) => left.swap_remove(k),
                None => return false,
            };
        }
        left.is_empty()
    }

    fn names(&self, access: TermId, v: Var, by: i128) -> Option<TermId> {
        let body = self.body;
        let s = match *self.vars.kind(v) {
            VarKind::Param(Param::Term(t)) => return Some(t),
            VarKind::Param(Param::Symbol(s)) => s,
            _ => return None,
        };
        let sum = || body.walk(access).find(|&x| self.exceeds(x, v) == Some(by));
        let under = |t: TermId| body.walk(t).find(|&x| body.as_symbol(x) == Some(s));
        // a variable may bring it to the access: `iy += inc; … y[iy]`
        let anywhere = || (by == 0).then(|| under(self.root)).flatten();
        (by != 0).then(sum).flatten().or_else(|| under(access)).or_else(anywhere)
    }
}
