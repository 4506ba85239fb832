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
use term::{Body, Op, Storage, SymbolId, TypeKind};

use crate::liveness::is_read_after;
use crate::loops::Context;
use crate::nest::{Access, Length, Model};
use crate::value::{Constraint, Poly, Var, VarKind};

/// How an object can be private.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Privacy {
    /// Nobody reads it after the loop.
    Dead,
    /// It is read afterwards, and the last iteration surely writes all that any iteration writes.
    Last,
}

/// Whether each iteration of the root can have its own copy of the object.
pub(crate) fn privacy(
    cx: &Context<'_>,
    model: &Model<'_>,
    base: SymbolId,
    budget: &Budget,
) -> Option<Privacy> {
    let body = cx.body;
    let mine: Vec<(usize, &Access)> =
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
    // Without a sure write every read comes from outside.
    if mine.len() > 60 || !mine.iter().any(|(_, a)| a.write && is_sure(model, a)) {
        return None;
    }
    // A private copy shows nothing of what is written through another name: that there is none is proved, tested
    // before the launch, or an obstacle, as for every object the loop writes.
    let cells = Cells::of(&mine)?;
    let dead = is_hidden(body, base) && !is_read_after(body, model.root, base);
    // What the loop never reads is no work array but a result.
    if !dead && mine.iter().all(|(_, a)| a.write) {
        return None;
    }
    let frame = Frame::new(model, &mine);
    // Mostly one read of the first iterations tells already that it sees what was there before, or the writes that
    // it sees can be named. The exact flow is for what is left.
    if frame.sees_older(&mine, &cells, budget)? {
        return None;
    }
    if !frame.reads_are_covered(&mine, &cells, budget)? && !frame.covered(&mine, &cells, budget)? {
        return None;
    }
    if dead {
        return Some(Privacy::Dead);
    }
    let all = frame.last_covers(&mine, &cells, budget)? || frame.last_writes_all(&mine, &cells, budget)?;
    all.then_some(Privacy::Last)
}

/// Whether only this function can see the object, and only by its name: an array or struct of its own whose name is
/// used for nothing but reaching its elements.
fn is_hidden(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    if symbol.storage != Storage::Local || symbol.address_taken {
        return false;
    }
    if matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. }) {
        return false;
    }
    let parents = body.parents();
    body.walk(body.root).filter(|&t| body.as_symbol(t) == Some(s)).all(|t| {
        let mut at = t;
        while matches!(body.types.kind(body.ty(at)), TypeKind::Array { .. }) {
            let Some(p) = parents.get(at.0 as usize).copied().flatten() else { return false };
            match body.op(p) {
                Op::SizeOf => return true,
                Op::Index | Op::Member { .. } => at = p,
                _ => return false,
            }
        }
        true
    })
}

/// Whether the access happens wherever its domain says, at the cell its subscripts say.
pub(crate) fn is_sure(model: &Model<'_>, a: &Access) -> bool {
    let known = |p: &Poly| {
        p.vars().all(|v| match &model.vars[v as usize] {
            VarKind::Param(_) | VarKind::Product(_) | VarKind::Quotient => true,
            VarKind::Iter(l) => a.loops.contains(l),
            VarKind::Image | VarKind::Fresh => false,
        })
    };
    a.why.is_none()
        && a.domain.exact
        && a.domain.pieces.iter().flatten().all(|c| known(&c.poly))
        && a.subs.iter().all(|s| s.value.as_ref().is_some_and(known))
}

/// The cells of an object as arrays of one rank each: one for every member path, and one for what no path names.
pub(crate) struct Cells {
    paths: Vec<Vec<String>>,
    pub(crate) rank: usize,
}

impl Cells {
    fn of(mine: &[(usize, &Access)]) -> Option<Cells> {
        let rank = mine.first()?.1.subs.len();
        let names = |a: &Access| a.fields.iter().map(|f| f.1.to_string()).collect::<Vec<_>>();
        let places = |a: &Access| a.fields.iter().map(|f| f.0).collect::<Vec<_>>();
        let longest = mine.iter().map(|(_, a)| places(a)).max_by_key(Vec::len)?;
        for (_, a) in mine {
            // A shorter path is the whole record; that is only followed where no subscript lies behind it.
            let fits = a.subs.len() == rank
                && longest.starts_with(&places(a))
                && longest[a.fields.len()..].iter().all(|&at| at >= rank);
            if !fits {
                return None;
            }
        }
        let mut paths: Vec<Vec<String>> = mine.iter().map(|(_, a)| names(a)).collect();
        paths.sort();
        paths.dedup();
        (paths.len() <= 12).then_some(Cells { paths, rank })
    }

    /// The arrays an access touches, by number. That of the access's own path stands for what no longer path names.
    pub(crate) fn touched(&self, a: &Access) -> Vec<usize> {
        let path: Vec<String> = a.fields.iter().map(|f| f.1.to_string()).collect();
        (0..self.paths.len()).filter(|&k| self.paths[k].starts_with(&path)).collect()
    }
}

/// Relations of accesses with the root's counter among the parameters.
pub(crate) struct Frame<'m, 'a> {
    pub(crate) model: &'m Model<'a>,
    pub(crate) params: Vec<Var>,
    /// Place of the root's counter among them.
    pub(crate) root: usize,
}

impl<'m, 'a> Frame<'m, 'a> {
    fn new(model: &'m Model<'a>, mine: &[(usize, &Access)]) -> Frame<'m, 'a> {
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
        model.context.iter().for_each(|c| add(&c.poly));
        model.quotients.iter().flat_map(|q| &q.1).for_each(|c| add(&c.poly));
        for p in [&model.loops[0].iteration, &model.loops[0].trips].into_iter().flatten() {
            add(p);
        }
        let root = params.len();
        params.push(model.loops[0].var);
        Frame { model, params, root }
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
            let place = match &self.model.vars[v as usize] {
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
            if let Some((_, defs)) = self.model.quotients.iter().find(|(q, _)| *q == v) {
                todo.extend(defs.iter().cloned());
            }
        }
    }

    /// From the instances of an access (its loops inside the root) to its cells.
    fn relation(&self, a: &Access, rank: usize, budget: &Budget) -> Option<Map> {
        let space = MapSpace { params: self.params.len(), ins: a.loops.len() - 1, outs: rank };
        let mut all = Map::empty(space, budget).ok()?;
        for (exists, rows) in self.cells_of(a)? {
            let one = Map::from_constraints(space, exists, &rows, budget).ok()?;
            all = all.union(&one, budget).ok()?;
        }
        Some(all)
    }

    /// The same as constraints on counters and cell, with the number of existential variables; any of them.
    pub(crate) fn cells_of(&self, a: &Access) -> Option<Vec<(usize, Vec<poly::Constraint>)>> {
        let inner = &a.loops[1..];
        let dims = |l: usize| inner.iter().position(|&x| x == l);
        let mut all = Vec::new();
        for piece in &a.domain.pieces {
            let (mut exists, mut rows) = (Vec::new(), Vec::new());
            for (k, s) in a.subs.iter().enumerate() {
                let out = inner.len() + k;
                if let Some(v) = &s.value {
                    let row = self.row(v, &dims, &mut exists)?;
                    let old = row.dims.get(out).copied().unwrap_or(0);
                    rows.push(poly::Constraint::eq(row.dim(out, old - 1)));
                } else if let Some(length) = a.lengths.get(k).cloned().flatten() {
                    // Outside of the array's length the program has no meaning (C11 6.5.6p8).
                    let length = match length {
                        Length::Const(n) => Some(Row::constant(i128::from(n))),
                        Length::Term(_, Some(p)) => self.row(&p, &dims, &mut exists),
                        Length::Term(_, None) => None,
                    };
                    if let Some(mut upper) = length {
                        upper.constant -= 1;
                        rows.push(poly::Constraint::ge(Row::constant(0).dim(out, 1)));
                        rows.push(poly::Constraint::ge(upper.dim(out, -1)));
                    }
                }
            }
            let mut constraints = piece.clone();
            constraints.extend(self.model.context.iter().cloned());
            self.rows(&constraints, &dims, &mut exists, &mut rows)?;
            all.push((exists.len(), rows));
        }
        Some(all)
    }

    /// When the instances of an access run: positions and counters in turn, as in F4.1's schedules. Accesses stand in
    /// the model in the order in which they are evaluated; a loop stands where its first access stands.
    fn times(&self, at: usize, a: &Access, depth: usize, budget: &Budget) -> Option<Map> {
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
    pub(crate) fn is_source(&self, a: &Access) -> bool {
        // In which order a loop runs must be known for its writes to count.
        a.write
            && is_sure(self.model, a)
            && a.loops[1..].iter().all(|&l| self.model.loops[l].iteration.is_some())
    }

    /// Whether every cell read in an iteration was surely written in it before.
    fn covered(&self, mine: &[(usize, &Access)], cells: &Cells, budget: &Budget) -> Option<bool> {
        let depth = mine.iter().map(|(_, a)| a.loops.len() - 1).max()?;
        let mut relations: Vec<(usize, bool, Vec<usize>, Map)> = Vec::new();
        let mut schedule: Vec<(usize, Map)> = Vec::new();
        for &(at, a) in mine {
            if a.write && !self.is_source(a) {
                continue;
            }
            relations.push((at, a.write, cells.touched(a), self.relation(a, cells.rank, budget)?));
            schedule.push((at, self.times(at, a, depth, budget)?));
        }
        let mut flow = Flow::default();
        for (statement, write, arrays, relation) in &relations {
            for &array in arrays {
                let access = poly::Access { statement: *statement, array, relation };
                if *write {
                    flow.must_sources.push(access);
                } else {
                    flow.sinks.push(access);
                }
            }
        }
        flow.schedule = schedule.iter().map(|(s, m)| (*s, m)).collect();
        if flow.sinks.is_empty() {
            return Some(true);
        }
        let flows = flow.compute(budget).ok()?;
        for rest in &flows.may_no_source {
            if !rest.relation.is_empty(budget).ok()? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether the last iteration surely writes every cell that any iteration may write.
    fn last_writes_all(&self, mine: &[(usize, &Access)], cells: &Cells, budget: &Budget) -> Option<bool> {
        let root = &self.model.loops[0];
        let (iteration, trips) = (root.iteration.as_ref()?, root.trips.as_ref()?);
        let is_last = Constraint::zero(iteration.sub(trips)?.add_constant(1)?);
        // Here the root's counter is a value that exists, not a parameter.
        let space = Space { params: self.params.len(), dims: cells.rank };
        let unfixed = Frame {
            model: self.model,
            params: {
                let mut p = self.params.clone();
                p[self.root] = Var::MAX;
                p
            },
            root: self.root,
        };
        for array in 0..cells.paths.len() {
            let mut any = poly::Set::empty(space, budget).ok()?;
            let mut last = poly::Set::empty(space, budget).ok()?;
            for (_, a) in mine.iter().filter(|(_, a)| a.write && cells.touched(a).contains(&array)) {
                let sure = is_sure(self.model, a);
                for piece in &a.domain.pieces {
                    for at_last in [false, true] {
                        if at_last && !sure {
                            continue;
                        }
                        let none = |_: usize| None;
                        let (mut exists, mut rows) = (Vec::new(), Vec::new());
                        for (k, s) in a.subs.iter().enumerate() {
                            let row = unfixed.row(s.value.as_ref()?, &none, &mut exists)?;
                            let old = row.dims.get(k).copied().unwrap_or(0);
                            rows.push(poly::Constraint::eq(row.dim(k, old - 1)));
                        }
                        let mut constraints = piece.clone();
                        constraints.extend(self.model.context.iter().cloned());
                        if at_last {
                            constraints.push(is_last.clone());
                        }
                        unfixed.rows(&constraints, &none, &mut exists, &mut rows)?;
                        let one = poly::Set::from_constraints(space, exists.len(), &rows, budget).ok()?;
                        let into = if at_last { &mut last } else { &mut any };
                        *into = into.union(&one, budget).ok()?;
                    }
                }
            }
            if !any.is_subset(&last, budget).ok()? {
                return Some(false);
            }
        }
        Some(true)
    }
}
