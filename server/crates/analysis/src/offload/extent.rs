//! Extents and trip counts as expressions for the host: sets of one access, and parametric answers read back.

use base::Budget;
use rustc_hash::FxHashMap;
use term::{Body, Len, SymbolId, TermId, TypeId, TypeKind};

use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};
use crate::limits::offload_extent::{BETWEEN_STEPS, STRETCH_STEPS};
use crate::loops::expr_of;
use crate::nest::{AffineAccess, Model};
use crate::{Buffer, Expr, Holders, Length, Obstacle, ObstacleKind, Param, Pred, Step};

/// What accesses touch of an array.
struct Touched {
    /// First and last element.
    all: (Expr, Expr),
    /// Whether every element between them is surely written.
    wholly_written: bool,
    /// First and last element that may be written, of an array that is read, too.
    written: Option<(Expr, Expr)>,
}

/// The cells that accesses touch, as sets of their subscripts.
pub(super) struct TouchedCells {
    /// All of them.
    pub(super) surely: poly::Set,
    /// Those that are surely written as a whole.
    pub(super) written: Option<poly::Set>,
    /// Those that may be.
    pub(super) perhaps_written: Option<poly::Set>,
}

/// Builds sets over one instance and reads parametric answers back.
pub(crate) struct Maker<'m, 'a> {
    pub model: &'m Model<'a>,
    pub budget: &'m Budget,
    /// Parameters by position; grows, so that every set made has at most these.
    pub params: Vec<Var>,
}

impl Maker<'_, '_> {
    /// The largest number of iterations the loop has in any iteration of those around it.
    pub(crate) fn max_trips(&mut self, at: usize) -> Option<Expr> {
        if at == 0 {
            if let Some(e) = self.trips_of_root() {
                return Some(e);
            }
        }
        let l = &self.model.loops[at];
        let iteration = l.iteration.clone()?;
        if !l.domain.exact {
            return None;
        }
        // Loops around it, outermost first: those the domain's counters name.
        let loops: Vec<usize> = (0..=at).collect();
        let (set, params) = self.set(&l.domain.clone(), &loops, &[])?;
        let mut exists = FxHashMap::default();
        let row = self.row(&iteration, &loops, &params, &mut exists, 0)?;
        if !exists.is_empty() {
            return None;
        }
        let best = set.max_of(&row, self.budget).ok()??;
        let context = self.context(&params, 0)?;
        let value = best.expr(&context, self.budget).ok()?;
        let defined = best.domain(self.budget).ok()?.condition(&context, self.budget).ok()?;
        let value = Expr::Add(vec![self.expr(&value, &params)?, Expr::Int(1)]);
        Some(match self.pred(&defined, &params)? {
            Pred::True => value,
            p => Expr::Select(Box::new(p), Box::new(value), Box::new(Expr::Int(0))),
        })
    }

    /// Number of iterations of the root, 0 if it does not run.
    fn trips_of_root(&self) -> Option<Expr> {
        let l = &self.model.loops[0];
        let (lower, limit, c) = (l.lower.as_ref()?, l.limit.as_ref()?, l.control.as_ref()?);
        let first = lower.add_constant(c.offset)?;
        use term::BinOp::{Ge, Gt, Le, Lt};
        let Step::Const(step) = c.step else {
            let (span, up) = match c.relation {
                Lt => (limit.sub(&first)?, true),
                Le => (limit.sub(&first)?.add_constant(1)?, true),
                Gt => (first.sub(limit)?, false),
                Ge => (first.sub(limit)?.add_constant(1)?, false),
                _ => return None,
            };
            let step = self.model.objects.step.as_ref()?.scale(if up { 1 } else { -1 })?;
            let least = expr_of(self.model, &span.add_constant(-1)?)?;
            let step = expr_of(self.model, &step)?;
            let e = Expr::Quotient(Box::new(Expr::Add(vec![least, step.clone()])), Box::new(step));
            return Some(Expr::Max(vec![Expr::Int(i128::from(c.at_least_once)), e]));
        };
        let span = match c.relation {
            Lt => limit.sub(&first)?,
            Le => limit.sub(&first)?.add_constant(1)?,
            Gt => first.sub(limit)?,
            Ge => first.sub(limit)?.add_constant(1)?,
            _ if step > 0 => limit.sub(&first)?,
            _ => first.sub(limit)?,
        };
        let step = step.abs();
        let e = expr_of(self.model, &span.add_constant(step - 1)?)?;
        let e = if step == 1 { e } else { Expr::FloorDiv(Box::new(e), step) };
        Some(Expr::Max(vec![Expr::Int(i128::from(c.at_least_once)), e]))
    }

    fn row(
        &mut self,
        p: &Poly,
        loops: &[usize],
        params: &[Var],
        exists: &mut FxHashMap<Var, usize>,
        first_dim: usize,
    ) -> Option<poly::Row> {
        let mut row = poly::Row::constant(p.constant_part());
        for (m, c) in p.terms() {
            let [v] = m else {
                if m.is_empty() {
                    continue;
                }
                return None;
            };
            row = match self.model.vars.kind(*v) {
                VarKind::Param(_) | VarKind::Product(_) => {
                    let at = params.iter().position(|x| x == v)?;
                    let old = row.params.get(at).copied().unwrap_or(0);
                    row.param(at, old + c)
                }
                VarKind::Iter(l) => {
                    let at = first_dim + loops.iter().position(|x| x == l)?;
                    let old = row.dims.get(at).copied().unwrap_or(0);
                    row.dim(at, old + c)
                }
                VarKind::Quotient | VarKind::Image | VarKind::Fresh => {
                    let n = exists.len();
                    let at = *exists.entry(*v).or_insert(n);
                    let old = row.exists.get(at).copied().unwrap_or(0);
                    row.exist(at, old + c)
                }
            };
        }
        Some(row)
    }

    fn use_params(&mut self, p: &Poly) {
        for v in p.vars() {
            if self.model.is_param(v) && !self.params.contains(&v) {
                self.params.push(v);
            }
        }
    }

    /// The set of `values` (or, without any, of the counters) over the domain.
    pub(super) fn set(
        &mut self,
        domain: &Domain,
        loops: &[usize],
        values: &[Poly],
    ) -> Option<(poly::Set, Vec<Var>)> {
        for c in domain.pieces.iter().flatten() {
            self.use_params(&c.poly);
        }
        for v in values {
            self.use_params(v);
        }
        for c in self.model.premises.context.clone() {
            self.use_params(&c.poly);
        }
        let params = self.params.clone();
        let n = values.len();
        let space = poly::Space { params: params.len(), dims: n + loops.len() };
        let mut out = poly::Set::empty(space, self.budget).ok()?;
        for piece in &domain.pieces {
            let mut exists = FxHashMap::default();
            let mut rows = Vec::new();
            let mut todo: Vec<Constraint> = piece.clone();
            todo.extend(self.model.premises.context.iter().cloned());
            let mut defined: Vec<Var> = Vec::new();
            for (k, v) in values.iter().enumerate() {
                let row = self.row(v, loops, &params, &mut exists, n)?;
                let old = row.dims.get(k).copied().unwrap_or(0);
                rows.push(poly::Constraint::eq(row.dim(k, old - 1)));
            }
            while let Some(c) = todo.pop() {
                let row = self.row(&c.poly, loops, &params, &mut exists, n)?;
                rows.push(if c.equality { poly::Constraint::eq(row) } else { poly::Constraint::ge(row) });
                let fresh: Vec<Var> = exists.keys().copied().filter(|v| !defined.contains(v)).collect();
                for v in fresh {
                    defined.push(v);
                    if let Some(defs) = self.model.vars.definition(v) {
                        todo.extend(defs.iter().cloned());
                    }
                }
            }
            // Quotients that only a value names.
            let fresh: Vec<Var> = exists.keys().copied().filter(|v| !defined.contains(v)).collect();
            for v in fresh {
                if let Some(defs) = self.model.vars.definition(v) {
                    for c in defs {
                        let row = self.row(&c.poly, loops, &params, &mut exists, n)?;
                        rows.push(poly::Constraint::ge(row));
                    }
                }
            }
            let one = poly::Set::from_constraints(space, exists.len(), &rows, self.budget).ok()?;
            out = out.union(&one, self.budget).ok()?;
        }
        if n > 0 {
            out = out.project_out(n..n + loops.len(), self.budget).ok()?;
        }
        Some((out, params))
    }

    /// What is known of the parameters, beside which `more` of a set's own are.
    pub(super) fn context(&mut self, params: &[Var], more: usize) -> Option<poly::Set> {
        let mut rows = Vec::new();
        for c in &self.model.premises.context.clone() {
            let mut exists = FxHashMap::default();
            if c.poly.vars().all(|v| params.contains(&v)) {
                let row = self.row(&c.poly, &[], params, &mut exists, 0)?;
                rows.push(if c.equality { poly::Constraint::eq(row) } else { poly::Constraint::ge(row) });
            }
        }
        let space = poly::Space { params: params.len() + more, dims: 0 };
        poly::Set::from_constraints(space, 0, &rows, self.budget).ok()
    }

    pub(crate) fn buffer(
        &mut self,
        body: &Body,
        base: SymbolId,
        mine: &[&AffineAccess],
    ) -> Result<Buffer, Vec<Obstacle>> {
        let ty = body.symbols[base].ty;
        let fail = |kind: ObstacleKind, term: TermId| Err(vec![Obstacle { kind, term }]);
        let (element, inner_lengths, declared) = shape(body, ty);
        let read = mine.iter().any(|a| !a.write);
        let written = mine.iter().any(|a| a.write);
        let at = mine.first().map_or(self.model.root, |a| a.term);
        // Pointers to pointers, to opaque types and to nothing have no elements to copy.
        if matches!(
            body.types.kind(element),
            TypeKind::Pointer { .. } | TypeKind::Opaque(_) | TypeKind::Void | TypeKind::Function { .. }
        ) {
            let pointers = matches!(body.types.kind(element), TypeKind::Pointer { .. });
            let kind = if pointers { ObstacleKind::PointerElements } else { ObstacleKind::UnknownPointer };
            return fail(kind(base), at);
        }
        let mut buffer = Buffer {
            symbol: base,
            holders: Holders::All,
            element,
            inner_lengths,
            read,
            written,
            wholly_written: false,
            all_written: false,
            extent: None,
            written_part: None,
            search: None,
            rows: None,
        };
        if self.model.objects.tables.contains(&base) {
            return self.rows_of_table(body, buffer, mine);
        }
        // rows of pointers are told by all their subscripts
        let is_row = body.path_term(base).is_some_and(|t| body.row_of_table(t).is_some());
        let element = |a: &&AffineAccess| if is_row { (*a).clone() } else { to_elements(a) };
        let elements: Vec<AffineAccess> = mine.iter().map(element).collect();
        let mine = &elements.iter().collect::<Vec<_>>()[..];
        let both = crate::offload::branches::both_ways(self.model, mine);
        let all: Vec<&AffineAccess> = mine.iter().copied().chain(&both).collect();
        let found = self.extent(&all, written);
        let corners = || Some(Touched { all: self.vertices(mine)?, wholly_written: false, written: None });
        match found.or_else(corners) {
            Some(touched) => {
                buffer.all_written = touched.wholly_written;
                buffer.wholly_written =
                    touched.wholly_written && (!read || self.reads_what_it_wrote(body, mine));
                buffer.written_part = touched.written.filter(|w| *w != touched.all);
                buffer.extent = Some(touched.all);
                Ok(buffer)
            }
            None if declared => Ok(buffer),
            None => {
                let promised = self.promised_extent(base, &buffer.inner_lengths);
                // `T a[static n]` says what is there at least (C11 6.7.6.3p7): more of it may be used
                let all = || crate::offload::whole::extent(body, base, buffer.inner_lengths.len() + 1);
                if let Some(extent) = promised.or_else(all) {
                    buffer.extent = Some(extent);
                    return Ok(buffer);
                }
                let why = mine.iter().find_map(|a| a.why.clone());
                let why = why.unwrap_or(Obstacle { kind: ObstacleKind::NoExtent, term: at });
                Err(vec![why, Obstacle { kind: ObstacleKind::Unsized(base), term: at }])
            }
        }
    }

    /// First and last element of an array whose size the user promises: the program may touch fewer of them.
    fn promised_extent(&self, base: SymbolId, inner: &[Length]) -> Option<(Expr, Expr)> {
        let size = self.model.promises.size(base)?;
        let of_one = inner.iter().try_fold(1i128, |n, l| match l {
            Length::Const(k) => n.checked_mul(i128::from(*k)),
            Length::Term(_) => None,
        })?;
        let last = size.count.scale(of_one)?.add_constant(-1)?;
        self.model.promises.rest_on(size.number);
        Some((Expr::Int(0), expr_of(self.model, &last)?))
    }

    fn extent(&mut self, mine: &[&AffineAccess], written: bool) -> Option<Touched> {
        let inner = mine.first()?.inner.clone()?;
        // of a column that may be any of its row it is not known which are used; of rows that may follow each other downwards, which is last
        let objects = &self.model.objects;
        let is_open = |s: SymbolId| objects.boxes.contains(&s) || objects.either_way.contains(&s);
        if mine.iter().any(|a| is_open(a.base) || a.flat.is_some()) {
            return None;
        }
        let plain = |a: &AffineAccess| {
            a.fields.first().is_none_or(|f| f.0 >= a.subs.len()) && a.inner.as_ref() == Some(&inner)
        };
        if !mine.iter().all(|a| plain(a)) || mine.iter().any(|a| a.subs.len() != inner.len() + 1) {
            return None;
        }
        for l in &inner {
            self.use_params(l);
        }
        let cells = self.cells_of(mine, Some(inner.len()))?;
        let params = self.params.clone();
        let all = self.hull(&cells.surely, &params, &inner)?;
        let whole = written
            && cells
                .written
                .is_some_and(|w| self.covers(&w, &cells.surely, &inner, &params).unwrap_or(false));
        let reads = mine.iter().any(|a| !a.write);
        let part = cells.perhaps_written.filter(|_| written && reads && !whole);
        let part = part.and_then(|w| self.hull(&w, &params, &inner));
        Some(Touched { all, wholly_written: whole, written: part })
    }

    /// The cells that accesses touch, if all that they touch at all is touched surely, or lies between such cells of an array with
    /// so many inner dimensions.
    pub(super) fn cells_of(&mut self, mine: &[&AffineAccess], inner: Option<usize>) -> Option<TouchedCells> {
        let mut exact: Option<poly::Set> = None;
        let mut exact_writes: Option<poly::Set> = None;
        let mut all_writes: Option<poly::Set> = None;
        let mut loose: Vec<poly::Set> = Vec::new();
        // Fix the parameters first, so that all sets live in one space.
        for a in mine {
            for c in a.domain.pieces.iter().flatten() {
                self.use_params(&c.poly);
            }
            for s in &a.subs {
                self.use_params(s.value.as_ref()?);
            }
        }
        for (k, a) in mine.iter().enumerate() {
            // the cells of an access that touches the same in the same way are among them already
            let again = |b: &&&AffineAccess| {
                let values = a.subs.iter().map(|s| &s.value).eq(b.subs.iter().map(|s| &s.value));
                let alike = a.write == b.write && a.fields == b.fields && a.inside == b.inside;
                alike
                    && values
                    && a.loops == b.loops
                    && a.domain == b.domain
                    && a.why.is_some() == b.why.is_some()
            };
            if mine[..k].iter().any(|b| again(&b)) {
                continue;
            }
            let values: Option<Vec<Poly>> = a.subs.iter().map(|s| s.value.clone()).collect();
            let (set, _) = self.set(&a.domain, &a.loops, &values?)?;
            let sure = a.domain.exact && a.why.is_none();
            if a.write {
                all_writes = Some(match all_writes {
                    None => set.clone(),
                    Some(w) => w.union(&set, self.budget).ok()?,
                });
            }
            if sure {
                exact = Some(match exact {
                    None => set.clone(),
                    Some(e) => e.union(&set, self.budget).ok()?,
                });
                // A member of an element is not the whole element.
                if a.write && a.fields.is_empty() && a.inside.is_all() {
                    exact_writes = Some(match exact_writes {
                        None => set,
                        Some(e) => e.union(&set, self.budget).ok()?,
                    });
                }
            } else {
                loose.push(set);
            }
        }
        let exact = exact?.coalesce(self.budget).ok()?;
        // what may not be touched has to lie between what is
        loose.retain(|l| !l.is_subset(&exact, self.budget).unwrap_or(false));
        if !loose.is_empty() {
            let between = self.stretch(&exact, inner?)?;
            for l in loose {
                if !l.is_subset(&between, self.budget).ok()? {
                    return None;
                }
            }
        }
        let perhaps_written = all_writes.and_then(|w| w.coalesce(self.budget).ok());
        Some(TouchedCells { surely: exact, written: exact_writes, perhaps_written })
    }

    /// First and last element of a set of subscripts. Of an empty one the last is before the first.
    pub(super) fn hull(&mut self, cells: &poly::Set, params: &[Var], inner: &[Poly]) -> Option<(Expr, Expr)> {
        let context = self.context(params, 0)?;
        let first = self.corner(cells.lexmin_exprs(self.budget).ok()?, &context, params, inner)?;
        let last = self.corner(cells.lexmax_exprs(self.budget).ok()?, &context, params, inner)?;
        let runs = cells.params(self.budget).ok()?.condition(&context, self.budget).ok()?;
        let none = || Expr::Add(vec![first.clone(), Expr::Int(-1)]);
        let last = match self.pred(&runs, params)? {
            Pred::True => last,
            p => Expr::Select(Box::new(p), Box::new(last), Box::new(none())),
        };
        Some((first, last))
    }

    /// Whether `writes` holds every cell from the first to the last of `all`.
    fn covers(
        &mut self,
        writes: &poly::Set,
        all: &poly::Set,
        inner: &[Poly],
        params: &[Var],
    ) -> Option<bool> {
        let n = inner.len();
        let mut rows = Vec::new();
        for (k, l) in inner.iter().enumerate() {
            let mut exists = FxHashMap::default();
            let length = self.row(l, &[], params, &mut exists, 0)?;
            rows.push(poly::Constraint::ge(poly::Row::constant(0).dim(k + 1, 1)));
            let mut upper = length.dim(k + 1, -1);
            upper.constant -= 1;
            rows.push(poly::Constraint::ge(upper));
        }
        if n == 0 {
            return self.between(all)?.is_subset(writes, self.budget).ok();
        }
        // what lies between two of them, rows being whole there
        let part = self.budget.part(BETWEEN_STEPS);
        let between = in_order(all, params.len(), n + 1, &part);
        let hull = between.and_then(|b| b.constrain(0, &rows, &part));
        let covers = hull.and_then(|h| h.is_subset(writes, &part));
        let _ = self.budget.spend(part.taken());
        covers.ok()
    }

    /// The subscripts of what lies from the first to the last element of a set, rows of any length.
    fn stretch(&self, all: &poly::Set, inner: usize) -> Option<poly::Set> {
        if inner == 0 {
            return self.between(all);
        }
        let part = self.budget.part(STRETCH_STEPS);
        let between = in_order(all, self.params.len(), inner + 1, &part);
        let _ = self.budget.spend(part.taken());
        between.ok()
    }

    /// The numbers between two of a set.
    pub(super) fn between(&self, all: &poly::Set) -> Option<poly::Set> {
        let pair = all.product(all, self.budget).ok()?;
        let lifted = pair.insert_dims(0, 1, self.budget).ok()?;
        let bounds = [
            poly::Constraint::ge(poly::Row::constant(0).dim(0, 1).dim(1, -1)),
            poly::Constraint::ge(poly::Row::constant(0).dim(2, 1).dim(0, -1)),
        ];
        let lifted = lifted.constrain(0, &bounds, self.budget).ok()?;
        lifted.project_out(1..3, self.budget).ok()
    }

    /// A tuple as one element number: Horner's scheme over the inner lengths.
    fn corner(
        &mut self,
        tuple: Vec<poly::Parametric>,
        context: &poly::Set,
        params: &[Var],
        inner: &[Poly],
    ) -> Option<Expr> {
        let mut out: Option<Expr> = None;
        for (k, p) in tuple.iter().enumerate() {
            let e = p.expr(context, self.budget).ok()?;
            let e = self.expr(&e, params)?;
            out = Some(match out {
                None => e,
                Some(o) => {
                    let length = expr_of(self.model, inner.get(k - 1)?)?;
                    let scaled = match length {
                        Expr::Int(n) => Expr::Mul(n, Box::new(o)),
                        l => Expr::Product(Box::new(o), Box::new(l)),
                    };
                    Expr::Add(vec![scaled, e])
                }
            });
        }
        out
    }

    pub(crate) fn expr(&self, e: &poly::Expr, params: &[Var]) -> Option<Expr> {
        use poly::Expr as P;
        let two = |a: &P, b: &P| Some((self.expr(a, params)?, self.expr(b, params)?));
        Some(match e {
            P::Int(n) => Expr::Int(*n),
            P::Param(i) => match params.get(*i) {
                Some(v) => expr_of(self.model, &Poly::var(*v))?,
                // those behind the model's own are subscripts that lead to a row
                None => Expr::Param(Param::Row(u32::try_from(*i - params.len()).ok()?)),
            },
            P::Neg(a) => Expr::Mul(-1, Box::new(self.expr(a, params)?)),
            P::Add(a, b) => {
                let (a, b) = two(a, b)?;
                Expr::Add(vec![a, b])
            }
            P::Sub(a, b) => {
                let (a, b) = two(a, b)?;
                minus(a, b)
            }
            P::Mul(a, b) => match two(a, b)? {
                (Expr::Int(n), e) | (e, Expr::Int(n)) => Expr::Mul(n, Box::new(e)),
                (a, b) => Expr::Product(Box::new(a), Box::new(b)),
            },
            // All roundings isl promises agree with the floor where it promises them.
            P::Div(a, n, _) => Expr::FloorDiv(Box::new(self.expr(a, params)?), *n),
            P::Mod(a, n, _) => {
                let a = self.expr(a, params)?;
                let whole = Expr::Mul(-n, Box::new(Expr::FloorDiv(Box::new(a.clone()), *n)));
                Expr::Add(vec![a, whole])
            }
            P::Min(es) => Expr::Min(es.iter().map(|e| self.expr(e, params)).collect::<Option<_>>()?),
            P::Max(es) => Expr::Max(es.iter().map(|e| self.expr(e, params)).collect::<Option<_>>()?),
            P::Select(c, a, b) => {
                let (x, y) = two(a, b)?;
                Expr::Select(Box::new(self.pred(c, params)?), Box::new(x), Box::new(y))
            }
            P::Compare(..) | P::And(..) | P::Or(..) => {
                Expr::Select(Box::new(self.pred(e, params)?), Box::new(Expr::Int(1)), Box::new(Expr::Int(0)))
            }
            P::Iter(_) => return None,
        })
    }

    pub(super) fn pred(&self, e: &poly::Expr, params: &[Var]) -> Option<Pred> {
        use poly::{Comparison as C, Expr as P};
        Some(match e {
            P::Int(0) => Pred::False,
            P::Int(_) => Pred::True,
            P::And(a, b) => Pred::And(vec![self.pred(a, params)?, self.pred(b, params)?]),
            P::Or(a, b) => Pred::Or(vec![self.pred(a, params)?, self.pred(b, params)?]),
            P::Compare(c, a, b) => {
                let (a, b) = (self.expr(a, params)?, self.expr(b, params)?);
                let less_one = |e: Expr| Expr::Add(vec![e, Expr::Int(-1)]);
                match c {
                    C::Eq => Pred::Zero(minus(a, b)),
                    C::Ge => Pred::NonNegative(minus(a, b)),
                    C::Gt => Pred::NonNegative(less_one(minus(a, b))),
                    C::Le => Pred::NonNegative(minus(b, a)),
                    C::Lt => Pred::NonNegative(less_one(minus(b, a))),
                }
            }
            other => Pred::Not(Box::new(Pred::Zero(self.expr(other, params)?))),
        })
    }
}

/// The access as one to elements of the array: of an element that is a structure any part stands for the whole (`p[i].x[k]`).
fn to_elements(a: &AffineAccess) -> AffineAccess {
    let Some(&(at @ 1.., _)) = a.fields.first().filter(|f| f.0 < a.subs.len()) else { return a.clone() };
    let length = |l: &Option<crate::nest::Length>| match l {
        Some(crate::nest::Length::Const(n)) => Some(Poly::constant(i128::from(*n))),
        Some(crate::nest::Length::Term(_, v)) => v.clone(),
        None => None,
    };
    AffineAccess {
        subs: a.subs[..at].to_vec(),
        lengths: a.lengths[..at].to_vec(),
        inner: a.lengths[1..at].iter().map(length).collect(),
        ..a.clone()
    }
}

/// All tuples that come between two of a set, in the order of the first that differs.
fn in_order(all: &poly::Set, params: usize, dims: usize, budget: &Budget) -> poly::Result<poly::Set> {
    let before = poly::Map::lex_le(params, dims, budget)?;
    let behind = before.reverse(budget)?;
    before.apply(all, budget)?.intersect(&behind.apply(all, budget)?, budget)
}

fn minus(a: Expr, b: Expr) -> Expr {
    match b {
        Expr::Int(0) => a,
        Expr::Int(n) => Expr::Add(vec![a, Expr::Int(-n)]),
        b => Expr::Add(vec![a, Expr::Mul(-1, Box::new(b))]),
    }
}

/// Element type, inner lengths, and whether the language says how large the object is.
fn shape(body: &Body, ty: TypeId) -> (TypeId, Vec<Length>, bool) {
    let mut lengths = Vec::new();
    let (mut t, declared) = match body.types.kind(ty) {
        TypeKind::Pointer { to, .. } => (*to, false),
        TypeKind::Array { of, len } => (*of, *len != Len::Unknown),
        _ => return (ty, lengths, true),
    };
    while let TypeKind::Array { of, len } = body.types.kind(t) {
        lengths.push(match len {
            Len::Const(n) => Length::Const(*n),
            Len::Term(l) => Length::Term(*l),
            Len::Unknown => break,
        });
        t = *of;
    }
    (t, lengths, declared)
}
