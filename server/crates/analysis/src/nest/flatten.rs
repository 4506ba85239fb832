//! Flattened arrays get their dimensions back, and everything becomes linear.

use std::sync::Arc;

use term::SymbolId;

use crate::algebra::poly::{divide, Constraint, Domain, Poly, Var, VarKind};
use crate::nest::builder::Builder;
use crate::nest::longer::Longer;
use crate::nest::strides::{divided, Ends, Strides};
use crate::nest::{AffineAccess, Length, Need, Subscript};
use crate::{Columns, Obstacle, ObstacleKind};

/// Field names with the number of subscripts before each.
type Path = Vec<(usize, Arc<str>)>;

impl Builder<'_> {
    /// Gives flattened subscripts `i*n + j` their dimensions back, per object and for all its accesses alike;
    /// `InRow` obligations say when that is right (Maslov; Grosser et al., ICS 2015).
    pub(super) fn delinearize(&mut self) {
        // The extent of a value that a product makes is found at its ends; rows would have to be wide enough.
        if !self.how.numbered {
            self.split_subscripts();
            self.forget_what_is_not_linear();
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
        self.keep_rows_apart();
    }

    /// Splits sums that are a row's number times its length and a column.
    fn split_subscripts(&mut self) {
        // All that can meet is split alike: accesses with the same base and the same fields before the first subscript.
        let leading = |a: &AffineAccess| -> Path { a.fields.iter().filter(|f| f.0 == 0).cloned().collect() };
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
            let mut longer = self.longer(&members);
            let values = self.flat(&members, &Longer::default());
            // of `j * n + j + c` rows need not be longer than `n`, where all of it fits into these
            if !longer.is_plain() {
                let strides = self.strides(&members, &values);
                if !strides.chain.is_empty()
                    && self.all_in_rows(&members, &values, &strides, &Longer::default())
                {
                    longer = Longer::default();
                }
            }
            let values = self.flat(&members, &longer);
            let strides = self.strides(&members, &values);
            if !strides.chain.is_empty() {
                let offset = self.offset(&members, &values, &strides, &longer);
                let without = |p: &Option<Poly>| match p {
                    Some(p) => p.sub(&offset).map(Some),
                    None => Some(None),
                };
                let values: Option<Vec<Option<Poly>>> = values.iter().map(without).collect();
                let offset = longer.back(&offset).and_then(|p| self.linear(&p));
                if let (Some(values), Some(offset)) = (values, offset) {
                    self.split(&members, &values, &strides, &offset, &longer);
                }
            }
        }
    }

    /// What all subscripts begin with, as `b * batch` in `b * batch + i * n + j`: neither a row nor in one. Nothing, where all is in its row
    /// with it: of `k * n + (k + c) % 2 + 2 * j` it is `c` that stands in all, and no part of it alone stays in a row.
    fn offset(
        &mut self,
        members: &[usize],
        values: &[Option<Poly>],
        strides: &Strides,
        longer: &Longer,
    ) -> Poly {
        let offset = self.common_part(values, strides);
        match offset != Poly::default() && self.all_in_rows(members, values, strides, longer) {
            true => Poly::default(),
            false => offset,
        }
    }

    /// Whether all subscripts that are known are surely rows and columns.
    fn all_in_rows(
        &mut self,
        members: &[usize],
        values: &[Option<Poly>],
        strides: &Strides,
        longer: &Longer,
    ) -> bool {
        let back = |p: &Poly| longer.back(p);
        let Some(splits) = self.all_parts(members, values, strides, &Poly::default(), &back) else {
            return false;
        };
        let mut parts = splits.iter().zip(members).filter_map(|(p, &i)| Some((p.as_ref()?, i)));
        parts.all(|(p, i)| self.are_surely_rows(p, i, strides, &back))
    }

    /// The fixed terms that all subscripts have, and that are neither a row nor in one.
    fn common_part(&self, values: &[Option<Poly>], strides: &Strides) -> Poly {
        let mut all = values.iter().flatten();
        let Some(first) = all.next() else { return Poly::default() };
        let is_row = |m: &[Var]| {
            let mut rows = strides.chain.iter().map(|(s, _)| s).chain(&strides.fine);
            rows.any(|s| divide(m, s).is_some())
        };
        let terms = first.terms().filter(|(m, c)| {
            let is_fixed = !m.is_empty() && m.iter().all(|&v| self.is_param(v));
            is_fixed && !is_row(m) && all.clone().all(|p| p.terms().any(|t| t == (*m, *c)))
        });
        Poly::from_terms(terms.map(|(m, c)| (m.to_vec(), c))).unwrap_or_default()
    }

    /// What is still not linear is any value.
    fn forget_what_is_not_linear(&mut self) {
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
            let before = self.obligations[i].domain.clone();
            let (mut domain, lost) = self.linear_domain(&before);
            // `b + i < n` where `b` is so many steps: the small prover can do with products
            if lost && self.how.strided {
                for (piece, all) in domain.pieces.iter_mut().zip(before.pieces) {
                    piece.extend(all.into_iter().filter(|c| self.vars.linear(&c.poly).is_none()));
                }
            }
            self.obligations[i].domain = domain;
        }
    }

    /// Inner subscripts stay inside their dimension, or cells of different rows would be the same.
    fn keep_rows_apart(&mut self) {
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

    /// The flattened subscripts, with the length of a row in the place of each parameter of which it is known how far that is
    /// from it.
    pub(super) fn flat(&self, members: &[usize], longer: &Longer) -> Vec<Option<Poly>> {
        let value = |&i: &usize| longer.in_rows(self.accesses[i].subs.first()?.value.as_ref()?);
        members.iter().map(value).collect()
    }

    /// Gives the subscripts, of which `values` are the flattened ones but for the `offset` that all have, a dimension for each stride and
    /// one more.
    fn split(
        &mut self,
        members: &[usize],
        values: &[Option<Poly>],
        strides: &Strides,
        offset: &Poly,
        longer: &Longer,
    ) {
        let back = |p: &Poly| longer.back(p);
        let Some(splits) = self.all_parts(members, values, strides, offset, &back) else { return };
        // as cells of a column's own rows, if all subscripts name these; else as any of the column
        let is_fine = |c: &Column| matches!(c, Column::Divided(..));
        let fine = splits.iter().flatten().all(|p| is_fine(&p.1)) && !strides.fine.is_empty();
        let n = strides.chain.len() + 1 + if fine { strides.fine.len() } else { 0 };
        let mut alone = vec![false; strides.chain.len()];
        let froms: Vec<Poly> = (1..=strides.chain.len())
            .map(|k| {
                let column = |parts: &(Vec<Poly>, Column)| match (parts.0.get(k), &parts.1) {
                    (Some(row), _) => Some(row.clone()),
                    (None, Column::Plain(column)) => Some(column.clone()),
                    (None, Column::Divided(..)) => None,
                };
                let columns =
                    members.iter().zip(&splits).filter_map(|(&i, p)| Some((i, column(p.as_ref()?))));
                let columns: Option<Vec<(usize, Poly)>> = columns.map(|(i, p)| Some((i, p?))).collect();
                let is_fixed = |c: &Vec<(usize, Poly)>| {
                    c.iter().all(|x| x.1 == c[0].1 && x.1.vars().all(|v| self.is_param(v)))
                };
                alone[k - 1] = columns.as_ref().is_some_and(is_fixed);
                let length = self.row_length(strides, k, &back);
                columns.zip(length).map_or_else(Poly::default, |(c, length)| self.row_begins(&c, &length))
            })
            .collect();
        for (&i, parts) in members.iter().zip(splits) {
            let term = self.accesses[i].subs[0].term;
            // What follows the one subscript now follows the last of several.
            for f in self.accesses[i].fields.iter_mut().filter(|f| f.0 > 0) {
                f.0 = n;
            }
            let Some((rows, column)) = parts else {
                self.accesses[i].subs = vec![Subscript { value: None, term }; n];
                self.accesses[i].lengths = vec![None; n];
                continue;
            };
            let shifted = *offset != Poly::default();
            let at = Site { access: i, longer, strides, froms: &froms, alone: &alone, shifted };
            let mut parts = rows;
            let mut inner: Vec<Poly> = (1..strides.chain.len())
                .filter_map(|k| self.keep_in_row(&at, k, &parts[k], &parts[k]))
                .collect();
            let k = strides.chain.len();
            match column {
                Column::Plain(part) => {
                    inner.extend(self.keep_in_row(&at, k, &part, &part));
                    // that it fits was seen before; where cells are counted all through, the offset is in none of the parts
                    let whole = strides.fine.is_empty();
                    parts.push(if whole { part.add(offset).unwrap_or_default() } else { part });
                }
                Column::Divided(ends, cells) => {
                    for p in &ends.never_negative {
                        let (length, times) = strides.length(k);
                        self.oblige(
                            at.need(self, k, (&length, times)),
                            p.clone(),
                            self.accesses[i].domain.clone(),
                        );
                    }
                    let length = self.keep_in_row(&at, k, &ends.least, &ends.most);
                    match fine {
                        true => {
                            for (k, cell) in cells.iter().enumerate().skip(1) {
                                self.keep_in_column(&at, k, cell);
                            }
                            parts.extend(cells);
                        }
                        false => parts.push(self.any_column(i, length)),
                    }
                }
            }
            let is_whole = inner.len() + 1 == n && strides.fine.is_empty();
            self.accesses[i].inner = is_whole.then_some(inner);
            if !strides.fine.is_empty() {
                self.accesses[i].flat = self.accesses[i].subs.first().and_then(|s| s.value.clone());
            }
            self.accesses[i].subs = parts.into_iter().map(|p| Subscript { value: Some(p), term }).collect();
            self.accesses[i].lengths = vec![None; n];
        }
    }

    /// The parts of all subscripts; `None` for one of which they are not known.
    ///
    /// All or nothing: every known subscript splits into linear parts.
    fn all_parts(
        &mut self,
        members: &[usize],
        values: &[Option<Poly>],
        strides: &Strides,
        offset: &Poly,
        back: &dyn Fn(&Poly) -> Option<Poly>,
    ) -> Option<Vec<Option<Parts>>> {
        let mut splits = Vec::new();
        for (p, &i) in values.iter().zip(members) {
            let Some(p) = p else {
                splits.push(None);
                continue;
            };
            let parts = self.parts(p, i, strides, back);
            // of a value that nobody knows nobody can be asked to keep it in its row
            let is_unknown = p.vars().any(|v| *self.vars.kind(v) == VarKind::Fresh);
            let fits = |p: &(Vec<Poly>, Column)| match &p.1 {
                Column::Plain(column) => column.add(offset).is_some(),
                Column::Divided(..) => true,
            };
            splits.push(match (parts.filter(fits), is_unknown) {
                (Some(parts), true) => Some(parts).filter(|p| self.are_surely_rows(p, i, strides, back)),
                (Some(parts), false) => Some(parts),
                (None, true) => None,
                (None, false) => return None,
            });
        }
        Some(splits)
    }

    /// A flattened subscript's rows, outermost first, and its column. `None`: one of them is not linear.
    fn parts(
        &mut self,
        p: &Poly,
        access: usize,
        strides: &Strides,
        back: &dyn Fn(&Poly) -> Option<Poly>,
    ) -> Option<(Vec<Poly>, Column)> {
        let (mut parts, column) = divided(p, strides.chain.iter().map(|(s, by)| (&s[..], *by)))?;
        parts.push(column);
        self.keep_in_rows(&mut parts, access, &|k| strides.length(k), back);
        let column = back(&parts.pop()?)?;
        let rows: Option<Vec<Poly>> = parts.iter().map(|p| self.linear(&back(p)?)).collect();
        let rows = rows?;
        let apart = |m: &[Var]| m.len() > 1 && !m.iter().all(|&v| self.is_param(v));
        if !column.is_linear() && column.terms().any(|(m, _)| apart(m)) {
            if strides.fine.is_empty() {
                return None;
            }
            // of a tile's column it is asked by itself that it lies in its row
            let itself = || Ends { least: column.clone(), most: column.clone(), never_negative: Vec::new() };
            let ends = self.ends(&column, access).or_else(|| self.how.strided.then(itself))?;
            let (mut cells, last) = divided(&column, strides.fine.iter().map(|s| (&s[..], 1)))?;
            cells.push(last);
            self.keep_in_rows(&mut cells, access, &|k| (strides.fine_length(k), 1), &|p| Some(p.clone()));
            let cells: Option<Vec<Poly>> = cells.iter().map(|c| self.linear(c)).collect();
            return Some((rows, Column::Divided(ends, cells?)));
        }
        Some((rows, Column::Plain(self.linear(&column)?)))
    }

    /// Whether a subscript's parts are rows and a column for sure.
    fn are_surely_rows(
        &mut self,
        (rows, column): &(Vec<Poly>, Column),
        access: usize,
        strides: &Strides,
        back: &dyn Fn(&Poly) -> Option<Poly>,
    ) -> bool {
        let Column::Plain(column) = column else { return false };
        let lengths: Vec<Option<Poly>> =
            (1..=strides.chain.len()).map(|k| self.row_length(strides, k, back)).collect();
        let (known, domain) = (self.prover(), &self.accesses[access].domain);
        rows.iter().skip(1).chain([column]).zip(lengths).all(|(part, length)| {
            let below = length.and_then(|l| l.sub(part)?.add_constant(-1));
            below.iter().chain([part]).filter(|p| known.non_negative(p, domain, &self.budget)).count() == 2
        })
    }

    /// Asks that what stands between `least` and `most` lies in dimension `k`, and gives its length.
    fn keep_in_row(&mut self, at: &Site<'_>, k: usize, least: &Poly, most: &Poly) -> Option<Poly> {
        let back = |p: &Poly| at.longer.back(p);
        let (length, times) = at.strides.length(k);
        let mut need = at.need(self, k, (&length, times));
        let whole = self.row_length(at.strides, k, &back).filter(|l| l.as_constant().is_none());
        // where all use one column, rows begin at different cells if they are not of length 0
        if let (Need::InRow { columns, .. }, true, Some(length)) = (&mut need, at.alone[k - 1], &whole) {
            *columns = Columns::Alone;
            self.oblige(need, length.clone(), self.accesses[at.access].domain.clone());
            return whole;
        }
        // of one column alone it is asked that a row has one, and of the first two of `2 * inc`, say
        let is_part = |p: &Poly| p.as_constant().is_some_and(|c| (0..times).contains(&c));
        let is_from_first = at.froms[k - 1] == Poly::default();
        let is_one = [least, most].into_iter().all(|p| *p == at.froms[k - 1] || is_from_first && is_part(p));
        if let (Need::InRow { columns, .. }, true) = (&mut need, is_one) {
            *columns = Columns::First;
        }
        let length = self.row_length(at.strides, k, &back);
        self.keep_between(at, need, (least, most), &at.froms[k - 1], length.as_ref());
        length
    }

    /// The same of dimension `k` of a column.
    fn keep_in_column(&mut self, at: &Site<'_>, k: usize, cell: &Poly) {
        let length = at.strides.fine_length(k);
        let need = at.need(self, usize::MAX, (&length, 1));
        let length = Poly::from_terms([(length, 1)]).and_then(|p| self.linear(&p));
        self.keep_between(at, need, (cell, cell), &Poly::default(), length.as_ref());
    }

    /// Asks for what keeps two values within so many cells behind `from`.
    fn keep_between(
        &mut self,
        at: &Site<'_>,
        need: Need,
        (least, most): (&Poly, &Poly),
        from: &Poly,
        length: Option<&Poly>,
    ) {
        let domain = self.accesses[at.access].domain.clone();
        let below = length.and_then(|l| l.add(from)?.sub(most)?.add_constant(-1));
        for p in [least.sub(from), below] {
            // what cannot be written down is not met
            self.oblige(need.clone(), p.unwrap_or_else(|| Poly::constant(-1)), domain.clone());
        }
    }

    fn row_length(
        &mut self,
        strides: &Strides,
        k: usize,
        back: &dyn Fn(&Poly) -> Option<Poly>,
    ) -> Option<Poly> {
        let (length, each) = strides.length(k);
        Poly::from_terms([(length, each)]).and_then(|p| self.linear(&back(&p)?))
    }

    /// Where rows begin, for all accesses alike: cells of different rows are different ones if the columns lie within a row's
    /// length of each other, wherever the first of them is. It is 0 where that is surely right, and else the first column of all,
    /// which asks least: Fortran counts from 1, and a part of a row starts anywhere.
    fn row_begins(&mut self, columns: &[(usize, Poly)], length: &Poly) -> Poly {
        let zero = Poly::default();
        let Some(first) = self.first_column(columns).filter(|f| *f != zero) else { return zero };
        let known = self.prover();
        let holds = |m: &Self, from: &Poly| {
            columns.iter().all(|(access, column)| {
                let domain = &m.accesses[*access].domain;
                let above = column.sub(from);
                let below = length.add(from).and_then(|l| l.sub(column)?.add_constant(-1));
                [above, below].iter().all(|p| {
                    p.as_ref().is_some_and(|p| {
                        p.as_constant().is_some_and(|c| c >= 0) || known.non_negative(p, domain, &m.budget)
                    })
                })
            })
        };
        // before a row's first column is nothing where conditions keep it out
        let is_before = first.as_constant().is_some_and(|c| c < 0);
        match holds(self, &zero) || is_before && !holds(self, &first) {
            true => zero,
            false => first,
        }
    }

    /// The first column of all, in parameters, if they lie so many cells apart.
    fn first_column(&self, columns: &[(usize, Poly)]) -> Option<Poly> {
        let mut first: Option<Poly> = None;
        for (access, column) in columns {
            let (least, _) = self.end(column, *access, false).filter(|e| e.1.is_empty())?;
            let apart = match &first {
                Some(f) => least.sub(f)?.as_constant()?,
                None => -1,
            };
            if apart < 0 {
                first = Some(least);
            }
        }
        first
    }

    /// Any column of a row, of an access.
    fn any_column(&mut self, access: usize, length: Option<Poly>) -> Poly {
        let column = self.fresh(VarKind::Fresh);
        let mut known = vec![Constraint::non_negative(Poly::var(column))];
        let below = length.and_then(|l| l.sub(&Poly::var(column))?.add_constant(-1));
        known.extend(below.map(Constraint::non_negative));
        self.vars.define(column, known);
        self.vars.columns.insert(column);
        let term = self.accesses[access].subs[0].term;
        let why = Obstacle { kind: ObstacleKind::NonAffineSubscript, term };
        self.accesses[access].why.get_or_insert(why);
        Poly::var(column)
    }
}

/// Where a subscript is split.
struct Site<'s> {
    access: usize,
    longer: &'s Longer,
    strides: &'s Strides,
    /// The first column of the dimensions from 1 on.
    froms: &'s [Poly],
    /// In which of them all subscripts have one column, the same in all iterations.
    alone: &'s [bool],
    /// Whether something stands before the rows.
    shifted: bool,
}

impl Site<'_> {
    /// What is needed in dimension `k`, a row whose length is a product of parameters, so many times.
    fn need(&self, m: &Builder<'_>, k: usize, (length, times): (&[Var], i128)) -> Need {
        let a = &m.accesses[self.access];
        let stride = m.names_row(a.term, length, self.longer).unwrap_or(a.term);
        // it is said of them, and nothing else
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        let from_first = !self.shifted && self.froms.get(k - 1).is_none_or(|p| *p == Poly::default());
        let columns = if from_first { Columns::FromFirst } else { Columns::Anywhere };
        Need::InRow { access: a.term, base: a.base, stride, times, columns }
    }
}

/// A subscript's rows, outermost first, and its column.
type Parts = (Vec<Poly>, Column);

/// The last part of a subscript.
enum Column {
    Plain(Poly),
    /// It is no linear sum, but its ends are known, and the rows and the column in it are.
    Divided(Ends, Vec<Poly>),
}
