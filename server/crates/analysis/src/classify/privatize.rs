//! Work arrays: memory that each iteration writes before it reads, so that each can have its own.
//!
//! The proof is exact value-based flow (Feautrier, "Dataflow analysis of array and scalar references", IJPP 1991;
//! Tu & Padua, "Automatic array privatization", LCPC 1993): with the root's counter fixed, every cell that an access
//! reads has a source among the writes that surely happen in the same iteration. Writes that may or may not happen are
//! no sources; reads that may not happen count as if they did.
//!
//! What is read after the loop must be what the last iteration left: then every cell that some iteration writes is
//! surely written by the last one, whose copy is the one that stays.

use base::Budget;
use poly::{Flow, Map, MapSpace, Row, Space};
use term::{Body, Len, Storage, SymbolId, TypeKind};

use crate::algebra::poly::{Constraint, Poly, Var, VarKind};
use crate::classify::cells::Cells;
use crate::context::Context;
use crate::flow::liveness::{exposes_part, is_read_after};
use crate::flow::parts::{leaves, Inside};
use crate::nest::{AffineAccess, Length, Model};
use crate::Param;

/// How an object can be private.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Privacy {
    /// It is read after the loop, and the last iteration surely writes all that any iteration writes.
    pub kept: bool,
    /// Some cells that no iteration writes are read: a copy begins as what was there before the loop.
    pub copied_in: bool,
}

/// Whether each iteration of the root can have its own copy of the object.
pub(crate) fn privacy(
    cx: &Context<'_>,
    model: &Model<'_>,
    base: SymbolId,
    budget: &Budget,
) -> Option<Privacy> {
    let body = cx.body;
    let mine: Vec<(usize, &AffineAccess)> =
        model.accesses.iter().enumerate().filter(|(_, a)| a.base == base).collect();
    // The variable that holds a pointer is no work array.
    // What is loaded from memory may be the same object under two paths.
    if body.symbols[base].storage == Storage::Path {
        return None;
    }
    let pointer = matches!(body.types.kind(body.symbols[base].ty), TypeKind::Pointer { .. });
    if pointer && mine.iter().any(|(_, a)| a.subs.is_empty()) {
        return None;
    }
    let dead = !pointer && cx.effects.stays_home(base) && !is_read_after(body, model.root, base, budget);
    // Where the order of the text tells, conditions need not be known.
    if let Some(copied_in) = dead.then(|| by_text(body, model, base, &mine)).flatten() {
        return Some(Privacy { kept: false, copied_in });
    }
    // Without a sure write every read comes from outside.
    if mine.len() > 60 || !mine.iter().any(|(_, a)| a.write && is_sure(model, a)) {
        return None;
    }
    // A private copy shows nothing of what is written through another name: that there is none is proved, tested
    // before the launch, or an obstacle, as for every object the loop writes.
    let cells = Cells::of(body, base, &mine)?;
    // What the loop never reads is no work array but a result.
    if !dead && mine.iter().all(|(_, a)| a.write) {
        return None;
    }
    let frame = AccessRelations::new(model, &mine);
    // Where a pointer points, what there is to copy is not known.
    let rest = if pointer { Rest::Any } else { Rest::Written };
    // Mostly one read of the first iterations tells already that it sees what was there before, or the writes that
    // it sees can be named. The exact flow is for what is left.
    if frame.sees_older(&mine, &cells, rest, budget)? {
        return None;
    }
    let reads = mine.iter().filter(|(_, a)| !a.write).flat_map(|(_, a)| cells.touched(a));
    let mut copied_in = rest == Rest::Written && reads.into_iter().any(|k| !cells.is_written(k));
    let mut kept = !dead;
    if !frame.reads_are_covered(&mine, &cells, rest, budget)? {
        match frame.covered(&mine, &cells, rest, budget)? {
            Covered::Wholly => {}
            Covered::ButForTheUnwritten { open } => {
                copied_in = true;
                // When the loop is run again, what it reads from before may be what it left itself.
                kept |= cx.liveness().is_live_after(model.root, base)
                    && frame.another_run_writes(cx, (&mine, &cells), &open, budget)?;
            }
            Covered::No => return None,
        }
    }
    if kept && !(frame.last_covers(&mine, &cells, budget)? || frame.last_writes_all(&mine, &cells, budget)?) {
        return None;
    }
    Some(Privacy { kept, copied_in })
}

/// Whether every run of an iteration writes each member of a structure before it reads it, on whatever way it takes; and
/// whether it reads some that no iteration writes.
fn by_text(body: &Body, model: &Model<'_>, base: SymbolId, mine: &[(usize, &AffineAccess)]) -> Option<bool> {
    if !matches!(body.types.kind(body.symbols[base].ty), TypeKind::Record(_)) {
        return None;
    }
    let parts = body.loop_parts(model.root)?;
    let mut copied_in = false;
    for leaf in leaves(body, body.symbols[base].ty)? {
        // A subscript ends what the names tell.
        let touches = |a: &AffineAccess| {
            a.fields.iter().take_while(|f| f.0 == 0).zip(&leaf).all(|(f, l)| f.1 == *l)
                || a.inside != Inside::All
        };
        let written = mine.iter().any(|(_, a)| a.write && touches(a));
        let mut exposed = false;
        for part in [Some(parts.body), parts.condition, parts.step].into_iter().flatten() {
            exposed |= exposes_part(body, &[part], base, &leaf, &model.budget)?;
        }
        match (exposed, written) {
            (true, true) => return None,
            (true, false) => copied_in = true,
            (false, _) => {}
        }
    }
    Some(copied_in)
}

/// Which cells may be read without having been written in the same iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// None.
    Any,
    /// Those that no iteration writes.
    Written,
}

/// Whether what is read was written before in the same iteration.
enum Covered {
    Wholly,
    /// All but cells that no iteration writes: these, of some of the arrays.
    ButForTheUnwritten {
        open: Vec<(usize, poly::Set)>,
    },
    No,
}

/// Whether the access happens wherever its domain says, at the cell its subscripts say.
pub(crate) fn is_sure(model: &Model<'_>, a: &AffineAccess) -> bool {
    let known = |p: &Poly| {
        p.vars().all(|v| match model.vars.kind(v) {
            VarKind::Param(_) | VarKind::Product(_) | VarKind::Quotient => true,
            VarKind::Iter(l) => a.loops.contains(l),
            VarKind::Image | VarKind::Fresh => false,
        })
    };
    a.why.is_none()
        && a.inside.is_all()
        && a.domain.exact
        && a.domain.pieces.iter().flatten().all(|c| known(&c.poly))
        && a.subs.iter().all(|s| s.value.as_ref().is_some_and(known))
}

/// Relations of accesses with the root's counter among the parameters.
pub(crate) struct AccessRelations<'m, 'a> {
    pub(crate) model: &'m Model<'a>,
    pub(crate) params: Vec<Var>,
    /// Place of the root's counter among them.
    pub(crate) root: usize,
}

impl<'m, 'a> AccessRelations<'m, 'a> {
    fn new(model: &'m Model<'a>, mine: &[(usize, &AffineAccess)]) -> AccessRelations<'m, 'a> {
        let mut params: Vec<Var> = Vec::new();
        let mut add = |p: &Poly| {
            for v in p.vars() {
                if model.is_param(v) && !params.contains(&v) {
                    params.push(v);
                }
            }
        };
        for (_, a) in mine {
            a.domain.pieces.iter().flatten().for_each(|c| add(&c.poly));
            a.subs.iter().flat_map(|s| &s.value).for_each(&mut add);
            for l in a.lengths.iter().flatten() {
                if let Length::Term(_, Some(p)) = l {
                    add(p);
                }
            }
        }
        model.premises.context.iter().for_each(|c| add(&c.poly));
        model.vars.definitions().flatten().for_each(|c| add(&c.poly));
        for p in [&model.loops[0].iteration, &model.loops[0].trips].into_iter().flatten() {
            add(p);
        }
        let root = params.len();
        params.push(model.loops[0].var);
        AccessRelations { model, params, root }
    }

    /// A row over parameters, `dims`, and existential variables (numbered as they come).
    pub(crate) fn row(
        &self,
        p: &Poly,
        dims: &dyn Fn(usize) -> Option<usize>,
        exists: &mut Vec<Var>,
    ) -> Option<Row> {
        let mut row = Row::constant(p.constant_part());
        for (m, c) in p.terms() {
            let v = match m {
                [] => continue,
                [v] => *v,
                _ => return None,
            };
            let place = match self.model.vars.kind(v) {
                VarKind::Iter(l) => dims(*l),
                _ => None,
            };
            row = match (place, self.params.iter().position(|&x| x == v)) {
                (Some(d), _) => {
                    let old = row.dims.get(d).copied().unwrap_or(0);
                    row.dim(d, old + c)
                }
                (None, Some(k)) => {
                    let old = row.params.get(k).copied().unwrap_or(0);
                    row.param(k, old + c)
                }
                (None, None) => {
                    let k = exists.iter().position(|&x| x == v).unwrap_or_else(|| {
                        exists.push(v);
                        exists.len() - 1
                    });
                    let old = row.exists.get(k).copied().unwrap_or(0);
                    row.exist(k, old + c)
                }
            };
        }
        Some(row)
    }

    /// Rows of constraints, with the definitions of the quotients they use.
    fn rows(
        &self,
        all: &[Constraint],
        dims: &dyn Fn(usize) -> Option<usize>,
        exists: &mut Vec<Var>,
        out: &mut Vec<poly::Constraint>,
    ) -> Option<()> {
        let mut todo: Vec<Constraint> = all.to_vec();
        let mut defined = 0;
        loop {
            while let Some(c) = todo.pop() {
                let row = self.row(&c.poly, dims, exists)?;
                out.push(if c.equality { poly::Constraint::eq(row) } else { poly::Constraint::ge(row) });
            }
            let Some(&v) = exists.get(defined) else { return Some(()) };
            defined += 1;
            if let Some(defs) = self.model.vars.definition(v) {
                todo.extend(defs.iter().cloned());
            }
        }
    }

    /// From the instances of an access (its loops inside the root) to its cells in one of the arrays.
    fn relation(&self, a: &AffineAccess, cells: &Cells, array: usize, budget: &Budget) -> Option<Map> {
        let space = MapSpace { params: self.params.len(), ins: a.loops.len() - 1, outs: cells.rank(array) };
        let mut all = Map::empty(space, budget).ok()?;
        for (exists, rows) in self.cells_of(a, cells, array)? {
            let one = Map::from_constraints(space, exists, &rows, budget).ok()?;
            all = all.union(&one, budget).ok()?;
        }
        Some(all)
    }

    /// The same as constraints on counters and cell, with the number of existential variables; any of them.
    pub(crate) fn cells_of(
        &self,
        a: &AffineAccess,
        cells: &Cells,
        array: usize,
    ) -> Option<Vec<(usize, Vec<poly::Constraint>)>> {
        let inner = &a.loops[1..];
        let dims = |l: usize| inner.iter().position(|&x| x == l);
        let mut all = Vec::new();
        for piece in &a.domain.pieces {
            let (mut exists, mut rows) = (Vec::new(), Vec::new());
            for k in 0..cells.rank(array) {
                self.subscript(a, cells, (array, k), inner.len() + k, &dims, &mut exists, &mut rows)?;
            }
            let mut constraints = piece.clone();
            constraints.extend(self.model.premises.context.iter().cloned());
            self.rows(&constraints, &dims, &mut exists, &mut rows)?;
            all.push((exists.len(), rows));
        }
        Some(all)
    }

    /// How many elements there are where an access names those of a variable that is an array, and nothing lies around it: outside of
    /// it the program has no meaning (C11 6.5.6p8).
    fn length_of_object(&self, a: &AffineAccess) -> Option<u64> {
        let body = self.model.body;
        let is_plain = a.fields.is_empty() && a.subs.len() == 1 && !body.semantics.checked_bounds;
        // of rows that are read as one the subscript is another
        let is_row = |of| matches!(body.types.kind(of), TypeKind::Array { .. });
        match body.types.kind(body.symbols[a.base].ty) {
            // old programs write 1 where another file knows how many there are
            TypeKind::Array { len: Len::Const(n), of } if is_plain && !is_row(*of) && *n > 1 => Some(*n),
            _ => None,
        }
    }

    /// What holds of the `k`-th subscript of a cell of the array that the access touches: it is dimension `out`.
    #[allow(clippy::too_many_arguments)]
    fn subscript(
        &self,
        a: &AffineAccess,
        cells: &Cells,
        (array, k): (usize, usize),
        out: usize,
        dims: &dyn Fn(usize) -> Option<usize>,
        exists: &mut Vec<Var>,
        rows: &mut Vec<poly::Constraint>,
    ) -> Option<()> {
        if let Some(v) = a.subs.get(k).and_then(|s| s.value.as_ref()) {
            let row = self.row(v, dims, exists)?;
            let old = row.dims.get(out).copied().unwrap_or(0);
            rows.push(poly::Constraint::eq(row.dim(out, old - 1)));
            if let Some(n) = self.length_of_object(a).filter(|_| cells.rank(array) == 1) {
                rows.push(poly::Constraint::ge(Row::constant(0).dim(out, 1)));
                rows.push(poly::Constraint::ge(Row::constant(i128::from(n) - 1).dim(out, -1)));
            }
            return Some(());
        }
        // Any cell: outside of the array's length the program has no meaning (C11 6.5.6p8). What takes a shorter way takes
        // them all.
        let own = a.lengths.get(k).cloned().flatten();
        let length = match own.or_else(|| cells.length(array, k).cloned()) {
            Some(Length::Const(n)) => Some(Row::constant(i128::from(n))),
            Some(Length::Term(_, Some(p))) => self.row(&p, dims, exists),
            _ => None,
        };
        if let Some(mut upper) = length {
            upper.constant -= 1;
            rows.push(poly::Constraint::ge(Row::constant(0).dim(out, 1)));
            rows.push(poly::Constraint::ge(upper.dim(out, -1)));
        }
        Some(())
    }

    /// When the instances of an access run: positions and counters in turn, as in F4.1's schedules. Accesses stand in
    /// the model in the order in which they are evaluated; a loop stands where its first access stands.
    fn times(&self, at: usize, a: &AffineAccess, depth: usize, budget: &Budget) -> Option<Map> {
        let inner = &a.loops[1..];
        let dims = |l: usize| inner.iter().position(|&x| x == l);
        let outs = 2 * depth + 1;
        let space = MapSpace { params: self.params.len(), ins: inner.len(), outs };
        let (mut exists, mut rows) = (Vec::new(), Vec::new());
        let mut put = |k: usize, row: Row| {
            let out = inner.len() + k;
            let old = row.dims.get(out).copied().unwrap_or(0);
            rows.push(poly::Constraint::eq(row.dim(out, old - 1)));
        };
        for (k, &l) in inner.iter().enumerate() {
            put(2 * k, Row::constant(self.place(l)? as i128));
            put(2 * k + 1, self.row(&self.counter(l), &dims, &mut exists)?);
        }
        put(2 * inner.len(), Row::constant(at as i128));
        for k in 2 * inner.len() + 1..outs {
            put(k, Row::constant(0));
        }
        Map::from_constraints(space, exists.len(), &rows, budget).ok().filter(|_| exists.is_empty())
    }

    /// Where a loop stands among the accesses.
    pub(crate) fn place(&self, l: usize) -> Option<usize> {
        self.model.accesses.iter().position(|x| x.loops.contains(&l))
    }

    /// What grows while a loop runs.
    pub(crate) fn counter(&self, l: usize) -> Poly {
        let m = &self.model.loops[l];
        m.iteration.clone().unwrap_or_else(|| Poly::var(m.var))
    }

    /// Whether an access is a write that surely happens, at a known time.
    pub(crate) fn is_source(&self, a: &AffineAccess) -> bool {
        // In which order a loop runs must be known for its writes to count.
        a.write
            && is_sure(self.model, a)
            && a.loops[1..].iter().all(|&l| self.model.loops[l].iteration.is_some())
    }

    /// Whether every cell read in an iteration was surely written in it before.
    fn covered(
        &self,
        mine: &[(usize, &AffineAccess)],
        cells: &Cells,
        rest: Rest,
        budget: &Budget,
    ) -> Option<Covered> {
        let depth = mine.iter().map(|(_, a)| a.loops.len() - 1).max()?;
        let mut relations: Vec<(usize, bool, usize, Map)> = Vec::new();
        let mut schedule: Vec<(usize, Map)> = Vec::new();
        for &(at, a) in mine {
            if a.write && !self.is_source(a) {
                continue;
            }
            for array in cells.touched(a) {
                if cells.is_written(array) || rest == Rest::Any {
                    relations.push((at, a.write, array, self.relation(a, cells, array, budget)?));
                }
            }
            schedule.push((at, self.times(at, a, depth, budget)?));
        }
        let mut flow = Flow::default();
        for (statement, write, array, relation) in &relations {
            let access = poly::Access { statement: *statement, array: *array, relation };
            if *write {
                flow.must_sources.push(access);
            } else {
                flow.sinks.push(access);
            }
        }
        flow.schedule = schedule.iter().map(|(s, m)| (*s, m)).collect();
        if flow.sinks.is_empty() {
            return Some(Covered::Wholly);
        }
        let flows = flow.compute(budget).ok()?;
        let mut unwritten = Vec::new();
        for open in &flows.may_no_source {
            if open.relation.is_empty(budget).ok()? {
                continue;
            }
            if rest == Rest::Any {
                return Some(Covered::No);
            }
            let read = open.relation.range(budget).ok()?;
            let (any, _) = self.written(mine, cells, open.array, None, budget)?;
            if !read.intersect(&any, budget).ok()?.is_empty(budget).ok()? {
                return Some(Covered::No);
            }
            unwritten.push((open.array, read));
        }
        Some(match unwritten.is_empty() {
            true => Covered::Wholly,
            false => Covered::ButForTheUnwritten { open: unwritten },
        })
    }

    /// Whether the loop, run with other values of what changes between its runs, may write one of the cells.
    fn another_run_writes(
        &self,
        cx: &Context<'_>,
        (mine, cells): (&[(usize, &AffineAccess)], &Cells),
        read: &[(usize, poly::Set)],
        budget: &Budget,
    ) -> Option<bool> {
        let mut any_run = self.of_any_iteration();
        for k in 0..self.params.len() {
            if !self.is_fixed(cx, self.params[k]) {
                any_run.params[k] = Var::MAX;
            }
        }
        for (array, cell) in read {
            let (any, _) = any_run.written(mine, cells, *array, None, budget)?;
            if !cell.intersect(&any, budget).ok()?.is_empty(budget).ok()? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether a value is the same each time the root is run.
    fn is_fixed(&self, cx: &Context<'_>, v: Var) -> bool {
        match self.model.vars.kind(v) {
            VarKind::Param(Param::Symbol(s)) => {
                let symbol = &cx.body.symbols[*s];
                let around = cx.effects.repeated_around(self.model.root);
                symbol.storage.is_of_call()
                    && !symbol.address_taken
                    && !cx.effects.writes_in(around).contains(s)
            }
            VarKind::Product(factors) => factors.iter().all(|&f| self.is_fixed(cx, f)),
            _ => false,
        }
    }

    /// The same with a root's counter that is nowhere used: here it is a value that exists, not a parameter.
    pub(crate) fn of_any_iteration(&self) -> AccessRelations<'m, 'a> {
        let mut params = self.params.clone();
        params[self.root] = Var::MAX;
        AccessRelations { model: self.model, params, root: self.root }
    }

    /// The cells of an array that some iteration may write, and those that an iteration with `more` surely writes.
    fn written(
        &self,
        mine: &[(usize, &AffineAccess)],
        cells: &Cells,
        array: usize,
        more: Option<&Constraint>,
        budget: &Budget,
    ) -> Option<(poly::Set, poly::Set)> {
        let space = Space { params: self.params.len(), dims: cells.rank(array) };
        let unfixed = self.of_any_iteration();
        let mut any = poly::Set::empty(space, budget).ok()?;
        let mut sure = poly::Set::empty(space, budget).ok()?;
        for (_, a) in mine.iter().filter(|(_, a)| a.write && cells.touched(a).contains(&array)) {
            let known = is_sure(self.model, a);
            for piece in &a.domain.pieces {
                for more in [None, more] {
                    if more.is_some() && !known {
                        continue;
                    }
                    let none = |_: usize| None;
                    let (mut exists, mut rows) = (Vec::new(), Vec::new());
                    for k in 0..cells.rank(array) {
                        unfixed.subscript(a, cells, (array, k), k, &none, &mut exists, &mut rows)?;
                    }
                    let mut constraints = piece.clone();
                    constraints.extend(self.model.premises.context.iter().cloned());
                    constraints.extend(more.cloned());
                    unfixed.rows(&constraints, &none, &mut exists, &mut rows)?;
                    let one = poly::Set::from_constraints(space, exists.len(), &rows, budget).ok()?;
                    let into = if more.is_some() { &mut sure } else { &mut any };
                    *into = into.union(&one, budget).ok()?;
                }
            }
        }
        Some((any, sure))
    }

    /// Whether the last iteration surely writes every cell that any iteration may write.
    fn last_writes_all(
        &self,
        mine: &[(usize, &AffineAccess)],
        cells: &Cells,
        budget: &Budget,
    ) -> Option<bool> {
        let root = &self.model.loops[0];
        let (iteration, trips) = (root.iteration.as_ref()?, root.trips.as_ref()?);
        let is_last = Constraint::zero(iteration.sub(trips)?.add_constant(1)?);
        // The set written may not be made smaller by what only bounds an unknown subscript.
        if mine.iter().any(|(_, a)| a.write && a.subs.iter().any(|s| self.model.is_any(s))) {
            return None;
        }
        for array in 0..cells.count() {
            let (any, last) = self.written(mine, cells, array, Some(&is_last), budget)?;
            if !any.is_subset(&last, budget).ok()? {
                return Some(false);
            }
        }
        Some(true)
    }
}
