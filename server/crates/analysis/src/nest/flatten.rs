//! Flattened arrays get their dimensions back, and everything becomes linear.

use super::*;

/// Field names with the number of subscripts before each.
type Path = Vec<(usize, Arc<str>)>;

impl Model<'_> {
    /// Gives flattened subscripts `i*n + j` their dimensions back, per object and for all its accesses alike;
    /// `InRow` obligations say when that is right (Maslov; Grosser et al., ICS 2015).
    pub(super) fn delinearize(&mut self) {
        // All that can meet is split alike: accesses with the same base and the same fields before the first subscript.
        let leading = |a: &Access| -> Path { a.fields.iter().filter(|f| f.0 == 0).cloned().collect() };
        let mut keys: Vec<(SymbolId, Path)> = Vec::new();
        for a in &self.accesses {
            let key = (a.base, leading(a));
            if !a.subs.is_empty() && !keys.contains(&key) {
                keys.push(key);
            }
        }
        for (base, fields) in keys {
            let members: Vec<usize> = (0..self.accesses.len())
                .filter(|&i| {
                    let a = &self.accesses[i];
                    a.base == base && leading(a) == fields && !a.subs.is_empty()
                })
                .collect();
            if members.iter().any(|&i| self.accesses[i].subs.len() != 1) {
                continue;
            }
            let strides = self.strides(&members);
            if !strides.is_empty() {
                self.split(&members, &strides);
            }
        }
        // What is still not linear is any value.
        for i in 0..self.accesses.len() {
            for k in 0..self.accesses[i].subs.len() {
                if let Some(p) = self.accesses[i].subs[k].value.clone() {
                    let linear = self.linear(&p);
                    if linear.is_none() {
                        let term = self.accesses[i].subs[k].term;
                        self.accesses[i]
                            .why
                            .get_or_insert(Obstacle { kind: ObstacleKind::NonAffineSubscript, term });
                    }
                    self.accesses[i].subs[k].value = linear;
                }
            }
            let (domain, lost) = self.linear_domain(&self.accesses[i].domain.clone());
            if lost {
                let term = self.accesses[i].term;
                self.accesses[i]
                    .why
                    .get_or_insert(Obstacle { kind: ObstacleKind::DataDependentCondition, term });
            }
            self.accesses[i].domain = domain;
        }
        for l in 0..self.loops.len() {
            self.loops[l].domain = self.linear_domain(&self.loops[l].domain.clone()).0;
        }
        for i in 0..self.executed.len() {
            self.executed[i].domain = self.linear_domain(&self.executed[i].domain.clone()).0;
        }
        for i in 0..self.obligations.len() {
            let (domain, _) = self.linear_domain(&self.obligations[i].domain.clone());
            self.obligations[i].domain = domain;
        }
        for a in &mut self.accesses {
            if a.inner.is_none() {
                a.inner = a
                    .lengths
                    .iter()
                    .skip(1)
                    .map(|l| match l {
                        Some(Length::Const(n)) => Some(Poly::constant(*n as i128)),
                        Some(Length::Term(_, v)) => v.clone(),
                        None => None,
                    })
                    .collect();
            }
        }
        self.flatten_hopeless_rows();
        // Inner subscripts stay inside their dimension, or cells of different rows would be the same.
        for i in 0..self.accesses.len() {
            let a = self.accesses[i].clone();
            for (k, s) in a.subs.iter().enumerate() {
                let first = k == 0 && !a.fields.iter().any(|f| f.0 == 0);
                if first {
                    continue;
                }
                let Some(length) = a.lengths.get(k).cloned().flatten() else {
                    continue;
                };
                let len_poly = match &length {
                    Length::Const(n) => Some(Poly::constant(*n as i128)),
                    Length::Term(_, v) => v.clone(),
                };
                match (s.value.clone(), len_poly) {
                    (Some(v), Some(n)) => {
                        let need = Need::Bounds { access: a.term, length };
                        self.oblige(need.clone(), v.clone(), a.domain.clone());
                        if let Some(p) =
                            n.sub(&v).and_then(|p| p.add_constant(-1)).and_then(|p| self.linear(&p))
                        {
                            self.oblige(need, p, a.domain.clone());
                        } else {
                            self.accesses[i].subs.iter_mut().for_each(|s| s.value = None);
                        }
                    }
                    _ => {
                        // An inner subscript of any value may leave its row: the whole place is unknown.
                        self.accesses[i].subs.iter_mut().for_each(|s| s.value = None);
                        let term = s.term;
                        let kind = self.inexact_kind(term);
                        self.accesses[i].why.get_or_insert(Obstacle { kind, term });
                    }
                }
            }
        }
    }

    /// Whether what is not proved of a flattened subscript does not matter: reads never conflict, so of an object that is
    /// only read all that counts is where its cells may lie, and that the ranges of its subscripts say whether or not
    /// its rows overlap. (What of it has to be copied they do not say.)
    pub(crate) fn takes_box(&mut self, need: &Need) -> bool {
        let Need::InRow { access, .. } = need else { return false };
        // A call may stand for accesses to several objects.
        let bases: Vec<SymbolId> =
            self.accesses.iter().filter(|a| a.term == *access).map(|a| a.base).collect();
        let only_read =
            !bases.is_empty() && self.accesses.iter().all(|a| !a.write || !bases.contains(&a.base));
        if only_read {
            self.boxes.extend(bases);
        }
        only_read
    }

    pub(super) fn linear_domain(&mut self, d: &Domain) -> (Domain, bool) {
        let mut lost = false;
        let mut pieces = Vec::new();
        for p in &d.pieces {
            let mut piece = Vec::new();
            for c in p {
                match self.linear(&c.poly) {
                    Some(poly) => piece.push(Constraint { poly, equality: c.equality }),
                    None => lost = true,
                }
            }
            pieces.push(piece);
        }
        (Domain { pieces, exact: d.exact && !lost }, lost)
    }

    /// Products of parameters that multiply a counter, longest first, each dividing the one before.
    pub(super) fn strides(&self, members: &[usize]) -> Vec<Vec<Var>> {
        let mut found: Vec<Vec<Var>> = Vec::new();
        for &i in members {
            let Some(p) = self.accesses[i].subs.first().and_then(|s| s.value.as_ref()) else {
                continue;
            };
            for (m, _) in p.terms() {
                let (params, rest): (Vec<Var>, Vec<Var>) = m.iter().copied().partition(|&v| self.is_param(v));
                if !params.is_empty() && !rest.is_empty() && !found.contains(&params) {
                    found.push(params);
                }
            }
        }
        if found.is_empty() {
            found.extend(self.common_factor(members).map(|v| vec![v]));
        }
        found.sort_by_key(|s| std::cmp::Reverse(s.len()));
        let chain = found.windows(2).all(|w| divide(&w[0], &w[1]).is_some_and(|q| !q.is_empty()));
        if !chain || found.len() > 3 {
            return Vec::new();
        }
        found
    }

    /// Where rows are fixed (`a[i*n + j]` in the loop over j): the factor that different products share.
    pub(super) fn common_factor(&self, members: &[usize]) -> Option<Var> {
        let mut products: Vec<Vec<Var>> = Vec::new();
        for &i in members {
            let value = self.accesses[i].subs.first().and_then(|s| s.value.as_ref());
            for (m, _) in value.into_iter().flat_map(|p| p.terms()) {
                if m.len() >= 2 && !products.iter().any(|p| p == m) {
                    products.push(m.to_vec());
                }
            }
        }
        let (first, rest) = products.split_first()?;
        if rest.is_empty() {
            return None;
        }
        first.iter().copied().find(|v| rest.iter().all(|p| p.contains(v)))
    }

    pub(super) fn split(&mut self, members: &[usize], strides: &[Vec<Var>]) {
        // All or nothing: first see that every known subscript splits into linear parts.
        let mut splits = Vec::new();
        for &i in members {
            let a = &self.accesses[i];
            let Some(p) = a.subs.first().and_then(|s| s.value.clone()) else {
                splits.push(None);
                continue;
            };
            let mut rest: Vec<(Vec<Var>, i128)> = p.terms().map(|(m, c)| (m.to_vec(), c)).collect();
            let mut parts = Vec::new();
            for s in strides {
                let (mine, other): (Vec<_>, Vec<_>) =
                    rest.into_iter().partition(|(m, _)| divide(m, s).is_some());
                let q = Poly::from_terms(mine.into_iter().filter_map(|(m, c)| Some((divide(&m, s)?, c))));
                let Some(q) = q.and_then(|q| self.linear(&q)) else { return };
                parts.push(q);
                rest = other;
            }
            let Some(r) = Poly::from_terms(rest) else { return };
            if !r.is_linear() && r.terms().any(|(m, _)| m.len() > 1 && !m.iter().all(|&v| self.is_param(v))) {
                return;
            }
            let Some(r) = self.linear(&r) else { return };
            parts.push(r);
            splits.push(Some(parts));
        }
        for (&i, parts) in members.iter().zip(splits) {
            let term = self.accesses[i].subs[0].term;
            let n = strides.len() + 1;
            // What follows the one subscript now follows the last of several.
            for f in self.accesses[i].fields.iter_mut().filter(|f| f.0 > 0) {
                f.0 = n;
            }
            let Some(parts) = parts else {
                self.accesses[i].subs = vec![Subscript { value: None, term }; n];
                self.accesses[i].lengths = vec![None; n];
                continue;
            };
            let domain = self.accesses[i].domain.clone();
            let access = self.accesses[i].term;
            for (k, part) in parts.iter().enumerate().skip(1) {
                // Dimension k has length strides[k-1] / strides[k] (or the last stride itself).
                let length = match strides.get(k) {
                    Some(s) => divide(&strides[k - 1], s).unwrap_or_default(),
                    None => strides[k - 1].clone(),
                };
                let stride = length
                    .iter()
                    .find_map(|&v| match self.vars[v as usize] {
                        VarKind::Param(Param::Term(t)) => Some(t),
                        VarKind::Param(Param::Symbol(s)) => {
                            self.body.walk(access).find(|&x| self.body.as_symbol(x) == Some(s))
                        }
                        _ => None,
                    })
                    .unwrap_or(access);
                let need = Need::InRow { access, stride };
                self.oblige(need.clone(), part.clone(), domain.clone());
                let length = Poly::from_terms([(length, 1)]).and_then(|p| self.linear(&p));
                if let Some(p) = length.and_then(|l| l.sub(part)).and_then(|p| p.add_constant(-1)) {
                    self.oblige(need, p, domain.clone());
                }
            }
            let mut inner = Vec::new();
            for k in 1..n {
                let length = match strides.get(k) {
                    Some(s) => divide(&strides[k - 1], s).unwrap_or_default(),
                    None => strides[k - 1].clone(),
                };
                inner.extend(Poly::from_terms([(length, 1)]).and_then(|p| self.linear(&p)));
            }
            self.accesses[i].inner = (inner.len() + 1 == n).then_some(inner);
            self.accesses[i].subs = parts.into_iter().map(|p| Subscript { value: Some(p), term }).collect();
            self.accesses[i].lengths = vec![None; n];
        }
    }

    /// A row of constant length that subscripts leave for sure (`f = a[0]; f[i]` with large i) is no row: such objects
    /// are taken as one line of cells, which is exact.
    fn flatten_hopeless_rows(&mut self) {
        let known = self.known();
        let hopeless = |m: &Self, a: &Access| {
            a.fields.is_empty()
                && a.subs.iter().zip(&a.lengths).skip(1).any(|(s, l)| {
                    let (Some(v), Some(Length::Const(n))) = (&s.value, l) else { return false };
                    let upper = v.scale(-1).and_then(|p| p.add_constant(*n as i128 - 1));
                    [Some(v.clone()), upper].into_iter().flatten().any(|need| {
                        let is_param = |v: Var| m.is_param(v);
                        !crate::prove::non_negative(&need, &a.domain, &known)
                            && crate::prove::sufficient(&need, &a.domain, &known, &is_param)
                                .is_none_or(|ps| ps.iter().any(|p| p.as_constant().is_some_and(|c| c < 0)))
                    })
                })
        };
        let mut bases: Vec<SymbolId> =
            self.accesses.iter().filter(|a| hopeless(self, a)).map(|a| a.base).collect();
        bases.sort_unstable();
        bases.dedup();
        for base in bases {
            let members: Vec<usize> =
                (0..self.accesses.len()).filter(|&i| self.accesses[i].base == base).collect();
            let mut lines = Vec::new();
            for &i in &members {
                let a = &self.accesses[i];
                let mut sum = Some(Poly::default());
                for (k, s) in a.subs.iter().enumerate() {
                    let width: Option<i128> = a.lengths[k + 1..].iter().try_fold(1i128, |w, l| match l {
                        Some(Length::Const(n)) => w.checked_mul(*n as i128),
                        _ => None,
                    });
                    sum =
                        sum.zip(s.value.as_ref().zip(width)).and_then(|(sum, (v, w))| sum.add(&v.scale(w)?));
                }
                if !a.fields.is_empty() || a.subs.is_empty() {
                    sum = None;
                }
                lines.push(sum);
            }
            if lines.iter().any(Option::is_none) {
                continue;
            }
            for (i, line) in members.into_iter().zip(lines) {
                let term = self.accesses[i].subs[0].term;
                self.accesses[i].subs = vec![Subscript { value: line, term }];
                self.accesses[i].lengths = vec![None];
                self.accesses[i].inner = Some(Vec::new());
            }
        }
    }
}
