//! The loops that visit a nest's instances round by round, as terms.
//!
//! isl finds bounds and conditions (`poly::scan`); what runs are copies of the nest's own statements with the indices'
//! values in their place. Sums that a type of the program might not hold are computed in `long long`.

use base::Budget;
use rustc_hash::FxHashMap;
use term::{BinOp, Body, BodyBuilder, IntKind, Op, Origin, SymbolId, Term, TermId, TypeId};

use super::cells::StandIns;
use super::launches::{Launch, Member, Times};
use super::{Cut, Scheme, Time, Unit};
use crate::algebra::poly::VarKind;
use crate::limits::threadmap_rounds::MAX_RUNS;
use crate::threadmap::sets::ParamSpace;
use poly::{Ast, Constraint, Expr, Map, MapSpace, Row, Set, Shape};

/// What stands before the indices in a time: before, in or behind all rounds; the round; the place in it.
const PHASE: usize = 0;
const ROUND: usize = 1;
const PLACE: usize = 2;
const INDICES: usize = 3;

/// Puts the loops in the place of the nest's root.
pub(super) fn write(scheme: &Scheme<'_, '_, '_>, b: &mut BodyBuilder) -> Option<()> {
    let Scheme { cut, times, cells, frame, body, root } = *scheme;
    let mut orders: Vec<Vec<usize>> = vec![Vec::new(); cut.units.len()];
    for m in times.launches.iter().flat_map(|l| &l.members) {
        m.units.iter().for_each(|&u| orders[u].clone_from(&m.at));
    }
    let writer = Writer {
        b,
        body,
        cut,
        times,
        cells,
        orders: &orders,
        joined: Vec::new(),
        params: frame.params.iter().map(|&p| frame.model.vars.kind(p).clone()).collect(),
        like: root,
        counters: FxHashMap::default(),
        lets: FxHashMap::default(),
        settled: None,
        runs: 0,
    };
    match (times.launches.as_slice(), times.times.iter().any(Time::is_steep)) {
        ([Launch { members }], true) => match members.as_slice() {
            [one] => wave(one, frame, writer),
            _ => None,
        },
        (_, true) => None,
        (launches, false) => exact(launches, frame, writer),
    }
}

/// All instances of a member.
fn instances(cut: &Cut, member: &Member, budget: &Budget) -> Option<Set> {
    let mut units = member.units.iter();
    let mut all = cut.units.get(*units.next()?)?.instances.clone();
    for &k in units {
        all = all.union(&cut.units[k].instances, budget).ok()?;
    }
    all.coalesce(budget).ok()
}

/// What one thread of a launch does: the members, each where its condition on the round and the launch's indices holds.
#[derive(Clone)]
struct Joined {
    leader: usize,
    members: Vec<(usize, Expr)>,
}

/// Loops with isl's own bounds.
fn exact(launches: &[Launch], frame: &ParamSpace<'_, '_>, mut writer: Writer<'_, '_>) -> Option<()> {
    let (budget, cut, times) = (frame.budget, writer.cut, writer.times);
    let outs = INDICES + writer.orders.iter().map(Vec::len).max().unwrap_or(0);
    let mut schedules = Vec::new();
    let map = |n: usize, rows: Vec<Row>, domain: &Set| {
        let equal = rows.into_iter().enumerate().map(|(o, r)| Constraint::eq(r.dim(n + o, -1)));
        let equal: Vec<Constraint> = equal.collect();
        let space = MapSpace { params: frame.params.len(), ins: n, outs: equal.len() };
        let map = Map::from_constraints(space, 0, &equal, budget).ok()?;
        map.intersect_domain(domain, budget).ok()
    };
    for (place, launch) in launches.iter().enumerate() {
        let mut rows = vec![Row::constant(0); outs];
        rows[PLACE].constant = place as i128;
        let leader = launch.members.get(launch.leader())?;
        let &first = leader.units.first()?;
        rows[PHASE].constant = times.times[first].phase();
        if !launch.is_joined() {
            let (unit, n) = (&cut.units[first], cut.units[first].loops.len());
            if let Time::At(factors, by) = &times.times[first] {
                rows[ROUND] = Row { constant: *by, ..round(unit, factors) };
            }
            for (at, &d) in leader.at.iter().enumerate() {
                rows[INDICES + at] = Row::constant(0).dim(d, 1);
            }
            schedules.push((first, map(n, rows, &unit.instances)?));
            continue;
        }
        // tuples of the round and the indices of the launch
        let n = 1 + leader.at.len();
        let mut images = Vec::new();
        let mut all: Option<Set> = None;
        for m in &launch.members {
            let &k = m.units.first()?;
            let unit = &cut.units[k];
            let mut rows = vec![Row::constant(0)];
            if let Time::At(factors, by) = &times.times[k] {
                rows[0] = Row { constant: *by, ..round(unit, factors) };
            }
            rows.extend(m.at.iter().map(|&d| Row::constant(0).dim(d, 1)));
            let image = map(unit.loops.len(), rows, &instances(cut, m, budget)?)?;
            let image = image.range(budget).ok()?.coalesce(budget).ok()?;
            all = Some(match all {
                Some(all) => all.union(&image, budget).ok()?,
                None => image.clone(),
            });
            images.push((k, image));
        }
        let all = all?.simple_hull(budget).ok()?;
        let known = all.dims_to_params(n, budget).ok()?;
        let known = known.intersect(&frame.context(n, &[]).ok()?, budget).ok()?;
        let condition = |image: &Set| {
            let asked = image.dims_to_params(n, budget).ok()?;
            asked.condition(&known, budget).ok()
        };
        let mut members = Vec::new();
        for (k, image) in &images {
            members.push((*k, condition(image)?));
        }
        for at in 0..n {
            let to = if at == 0 { ROUND } else { INDICES + at - 1 };
            rows[to] = Row::constant(0).dim(at, 1);
        }
        schedules.push((cut.units.len() + writer.joined.len(), map(n, rows, &all)?));
        writer.joined.push(Joined { leader: first, members });
    }
    let statements: Vec<poly::Statement<'_>> =
        schedules.iter().map(|(id, schedule)| poly::Statement { id: *id, schedule }).collect();
    let context = frame.context(0, &[]).ok()?;
    let mut shapes = vec![Shape::Default; outs];
    shapes[PHASE] = Shape::Separate;
    shapes[ROUND] = Shape::Atomic;
    shapes[PLACE] = Shape::Separate;
    let ast = poly::scan(&statements, &context, &shapes, budget).ok()?;
    let new = writer.statement(&ast)?;
    writer.put(new);
    Some(())
}

/// Loops over the whole ranges of the round and of the other indices, and a condition inside: exact bounds of steep rounds divide,
/// and say less to who reads them.
fn wave(member: &Member, frame: &ParamSpace<'_, '_>, mut writer: Writer<'_, '_>) -> Option<()> {
    let budget = frame.budget;
    let (k, instances) = (member.units.first()?, &instances(writer.cut, member, budget)?);
    let (unit, order) = (&writer.cut.units[*k], &writer.orders[*k]);
    let Time::At(factors, _) = &writer.times.times[*k] else { return None };
    let (n, params) = (unit.loops.len(), frame.params.len());
    let settled = (0..n).find(|d| !order.contains(d))?;
    // tuples of the round, the other indices
    let outs = 1 + order.len();
    let round = round(unit, factors);
    let rows = std::iter::once(round.clone()).chain(order.iter().map(|&d| Row::constant(0).dim(d, 1)));
    let equal: Vec<Constraint> = rows.enumerate().map(|(o, r)| Constraint::eq(r.dim(n + o, -1))).collect();
    let space = MapSpace { params, ins: n, outs };
    let all = Map::from_constraints(space, 0, &equal, budget).ok()?.apply(instances, budget).ok()?;
    let context = frame.context(0, &[]).ok()?;
    let scanned = |set: &Set| {
        let schedule = Map::identity(set, budget).ok()?;
        let dims = vec![Shape::Atomic; set.space().dims];
        poly::scan(&[poly::Statement { id: *k, schedule: &schedule }], &context, &dims, budget).ok()
    };
    let rounds = all.project_out(1..outs, budget).ok()?.polyhedral_hull(budget).ok()?;
    let others = all.project_out(0..1, budget).ok()?.polyhedral_hull(budget).ok()?;
    let asked = all.dims_to_params(outs, budget).ok()?;
    let known = rounds.product(&others, budget).ok()?.dims_to_params(outs, budget).ok()?;
    let known = known.intersect(&frame.context(outs, &[]).ok()?, budget).ok()?;
    let condition = asked.condition(&known, budget).ok()?;
    // the index that the others and the round settle: its factor is 1
    let mut value = Expr::Iter(ROUND);
    for (at, &d) in order.iter().enumerate() {
        let by = factors[d] * unit.signs[d];
        let index = Box::new(Expr::Iter(INDICES + at));
        value = match by {
            0 => value,
            1 => Expr::Sub(Box::new(value), index),
            -1 => Expr::Add(Box::new(value), index),
            by if by > 0 => Expr::Sub(Box::new(value), Box::new(Expr::Mul(Box::new(Expr::Int(by)), index))),
            by => Expr::Add(Box::new(value), Box::new(Expr::Mul(Box::new(Expr::Int(-by)), index))),
        };
    }
    if unit.signs[settled] < 0 {
        value = Expr::Neg(Box::new(value));
    }
    let place = |i: usize| if i == 0 { ROUND } else { INDICES + i - 1 };
    let condition = condition.with_leaves(&|e| match e {
        Expr::Param(p) if *p >= params => Expr::Iter(place(*p - params)),
        e => e.clone(),
    });
    writer.settled = Some((settled, value, condition));
    let (rounds, others) = (scanned(&rounds)?, scanned(&others)?);
    let inside = others.with_counters(&|i| INDICES + i);
    let ast = rounds.with_counters(&|_| ROUND).around(&inside);
    let new = writer.statement(&ast)?;
    writer.put(new);
    Some(())
}

/// The number of a round, by the indices of a unit.
fn round(unit: &Unit, factors: &[i128]) -> Row {
    let dims = factors.iter().zip(&unit.signs).enumerate();
    dims.fold(Row::constant(0), |row, (d, (f, sign))| row.dim(d, f * sign))
}

pub(super) struct Writer<'a, 'b> {
    pub(super) b: &'b mut BodyBuilder,
    body: &'a Body,
    cut: &'a Cut,
    times: &'a Times,
    cells: &'a StandIns,
    orders: &'a [Vec<usize>],
    /// Launches of several units; their numbers come behind the units'.
    joined: Vec<Joined>,
    pub(super) params: Vec<VarKind>,
    like: TermId,
    /// The loops' own indices, by dimension of time.
    pub(super) counters: FxHashMap<usize, SymbolId>,
    pub(super) lets: FxHashMap<usize, Expr>,
    /// Which index is not gone through, its value, and when there is an instance.
    settled: Option<(usize, Expr, Expr)>,
    runs: usize,
}

impl Writer<'_, '_> {
    pub(super) fn term(&mut self, op: Op, args: Vec<TermId>, ty: TypeId) -> TermId {
        let span = self.b.span(self.like);
        self.b.term_from(op, args, ty, span, Origin::Made)
    }

    fn void(&mut self, op: Op, args: Vec<TermId>) -> TermId {
        let ty = self.b.types.void();
        self.term(op, args, ty)
    }

    fn block(&mut self, t: TermId) -> TermId {
        match self.b.get(t).op {
            Op::List => t,
            _ => self.void(Op::List, vec![t]),
        }
    }

    fn statement(&mut self, ast: &Ast) -> Option<TermId> {
        Some(match ast {
            Ast::For { iter, init, cond, step, body } => {
                let index = self.counter(*iter, body)?;
                let ty = self.b.symbols[index].ty;
                let from = self.value(init)?;
                let outer = self.counters.insert(*iter, index);
                let condition = self.value(cond)?;
                let place = self.term(Op::Sym(index), Vec::new(), ty);
                let step = match step {
                    1 => self.term(Op::Step { delta: 1, prefix: false }, vec![place], ty),
                    n => {
                        let by = self.number(*n);
                        self.term(Op::Compound(BinOp::Add), vec![place, by], ty)
                    }
                };
                let inside = self.statement(body)?;
                let inside = self.block(inside);
                match outer {
                    Some(outer) => self.counters.insert(*iter, outer),
                    None => self.counters.remove(iter),
                };
                let declare = self.void(Op::Declare(index), vec![from]);
                self.void(Op::For, vec![declare, condition, step, inside])
            }
            Ast::Let { iter, value, body } => {
                let value = self.settle(value);
                let outer = self.lets.insert(*iter, value);
                let inside = self.statement(body)?;
                match outer {
                    Some(outer) => self.lets.insert(*iter, outer),
                    None => self.lets.remove(iter),
                };
                inside
            }
            Ast::If { cond, then, otherwise } => {
                let condition = self.value(cond)?;
                let then = self.statement(then)?;
                let mut args = vec![condition, self.block(then)];
                if let Some(o) = otherwise {
                    let o = self.statement(o)?;
                    args.push(self.block(o));
                }
                self.void(Op::If, args)
            }
            Ast::Block(all) => {
                let mut items = Vec::new();
                for one in all {
                    let t = self.statement(one)?;
                    match self.b.get(t).op {
                        Op::List => items.extend(self.b.get(t).args.to_vec()),
                        _ => items.push(t),
                    }
                }
                self.void(Op::List, items)
            }
            Ast::User { statement, args } => self.run(*statement, args)?,
        })
    }

    /// One instance, or what a thread does.
    fn run(&mut self, statement: usize, args: &[Expr]) -> Option<TermId> {
        let args: Vec<Expr> = args.iter().map(|a| self.settle(a)).collect();
        let Some(j) = statement.checked_sub(self.cut.units.len()) else {
            let (mut args, settled) = (args, self.settled.clone());
            if let Some((at, value, _)) = &settled {
                args.insert(*at, value.clone());
            }
            return self.run_unit(statement, &args, settled.map(|s| s.2));
        };
        let mut items = Vec::new();
        let members = self.joined.get(j)?.members.clone();
        let params = self.params.len();
        for (k, condition) in members {
            let values = self.values_at(k, &args)?;
            let mut known = true;
            let condition = condition.with_leaves(&|e| match e {
                Expr::Param(p) if *p >= params => args.get(*p - params).unwrap_or(e).clone(),
                e => e.clone(),
            });
            if let Expr::Int(n) = condition {
                known = n != 0;
            }
            let always = matches!(condition, Expr::Int(_));
            if known {
                items.push(self.run_unit(k, &values, (!always).then_some(condition))?);
            }
        }
        Some(self.void(Op::List, items))
    }

    /// The values of a unit's indices in the thread of a launch in a round.
    fn values_at(&self, k: usize, args: &[Expr]) -> Option<Vec<Expr>> {
        let (unit, order) = (self.cut.units.get(k)?, self.orders.get(k)?);
        let mut values: Vec<Option<Expr>> = vec![None; unit.loops.len()];
        for (at, &d) in order.iter().enumerate() {
            let value = args.get(1 + at)?;
            // of two that are the same the simpler
            if values[d].is_none()
                || matches!(value, Expr::Iter(_)) && !matches!(values[d], Some(Expr::Iter(_)))
            {
                values[d] = Some(value.clone());
            }
        }
        let open: Vec<usize> = (0..values.len()).filter(|&d| values[d].is_none()).collect();
        if let ([d], Time::At(factors, by)) = (open.as_slice(), self.times.times.get(k)?) {
            let mut value = args.first()?.clone();
            if *by != 0 {
                value = Expr::Sub(Box::new(value), Box::new(Expr::Int(*by)));
            }
            for (o, &f) in factors.iter().enumerate().filter(|f| f.0 != *d) {
                let term = Box::new(values[o].clone()?);
                value = match f * unit.signs[o] {
                    0 => value,
                    1 => Expr::Sub(Box::new(value), term),
                    -1 => Expr::Add(Box::new(value), term),
                    _ => return None,
                };
            }
            let settled = factors.get(*d)? * unit.signs[*d];
            if settled.abs() != 1 {
                return None;
            }
            values[*d] = Some(if settled < 0 { Expr::Neg(Box::new(value)) } else { value });
        }
        values.into_iter().collect()
    }

    /// One instance of a unit, where a condition holds.
    fn run_unit(&mut self, statement: usize, args: &[Expr], condition: Option<Expr>) -> Option<TermId> {
        self.runs += 1;
        let unit = self.cut.units.get(statement)?;
        if self.runs > MAX_RUNS || args.len() != unit.indices.len() {
            return None;
        }
        let named =
            |i: SymbolId| self.body.walk(unit.term).filter(|&t| self.body.as_symbol(t) == Some(i)).count();
        let much = |i: SymbolId, value: &Expr| !matches!(value, Expr::Iter(_)) && named(i) > 1;
        let mut values = FxHashMap::default();
        let (mut own, mut items) = (FxHashMap::default(), Vec::new());
        for (&index, value) in unit.indices.iter().zip(args) {
            match much(index, value) {
                true => items.push((index, value.clone())),
                false => drop(values.insert(index, value.clone())),
            }
        }
        let term = unit.term;
        let mut block = Vec::new();
        for (index, value) in items {
            let value = self.long(&value)?;
            let name = self.body.symbols[index].name.clone();
            let new = self.local(name, IntKind::LongLong);
            own.insert(index, new);
            block.push(self.void(Op::Declare(new), vec![value]));
        }
        let mut copy = self.copy(term, &values, &mut own)?;
        // a block's own names end with it
        if !block.is_empty() || self.declares(term) {
            match self.b.get(copy).op {
                Op::List => block.extend(self.b.get(copy).args.to_vec()),
                _ => block.push(copy),
            }
            copy = self.void(Op::List, block);
        }
        Some(match condition {
            Some(condition) => {
                let (condition, copy) = (self.value(&condition)?, self.block(copy));
                self.void(Op::If, vec![condition, copy])
            }
            None => copy,
        })
    }

    fn local(&mut self, name: std::sync::Arc<str>, kind: IntKind) -> SymbolId {
        let ty = self.b.types.int(kind);
        self.b.local(name, ty)
    }

    fn declares(&self, t: TermId) -> bool {
        self.body.args(t).iter().any(|&a| matches!(self.body.op(a), Op::Declare(_)))
    }

    /// A statement with the values of indices in their place; what it declares is declared anew.
    pub(super) fn copy(
        &mut self,
        t: TermId,
        values: &FxHashMap<SymbolId, Expr>,
        own: &mut FxHashMap<SymbolId, SymbolId>,
    ) -> Option<TermId> {
        if self.cells.idle.contains(&t) {
            return Some(self.void(Op::Empty, Vec::new()));
        }
        let term = self.body.term(t).clone();
        if let Some(&place) = self.cells.places.get(&t) {
            let to = self.copy(place, values, own)?;
            return match (&term.op, term.args.first()) {
                // the first value
                (Op::Declare(_), Some(&value)) => {
                    let (value, ty) = (self.copy(value, values, own)?, self.b.get(to).ty);
                    Some(self.term(Op::Assign, vec![to, value], ty))
                }
                _ => Some(to),
            };
        }
        let op = match term.op {
            Op::Sym(s) => match (values.get(&s), own.get(&s)) {
                (Some(value), _) => return self.value(value),
                (None, Some(&new)) => Op::Sym(new),
                (None, None) => Op::Sym(s),
            },
            Op::Declare(s) => {
                let symbol = self.b.symbols[s].clone();
                let new = self.b.symbols.push(symbol);
                own.insert(s, new);
                Op::Declare(new)
            }
            op => op,
        };
        let mut args = Vec::new();
        for &a in &term.args {
            args.push(self.copy(a, values, own)?);
        }
        let span = self.b.span(t);
        Some(self.b.term_from(op, args, term.ty, span, Origin::Made))
    }

    /// The index of a new loop: the name and the type of the one that it counts for all that stands in it, or a new one.
    fn counter(&mut self, iter: usize, inside: &Ast) -> Option<SymbolId> {
        let mut of: Vec<Option<SymbolId>> = Vec::new();
        let mut stack = vec![inside];
        while let Some(ast) = stack.pop() {
            match ast {
                Ast::For { body, .. } | Ast::Let { body, .. } => stack.push(body),
                Ast::If { then, otherwise, .. } => {
                    stack.push(then);
                    stack.extend(otherwise.as_deref());
                }
                Ast::Block(all) => stack.extend(all),
                Ast::User { statement, .. } => {
                    let joined = statement.checked_sub(self.cut.units.len());
                    let unit =
                        joined.map_or(*statement, |j| self.joined.get(j).map_or(*statement, |j| j.leader));
                    of.push(self.counts(unit, iter));
                }
            }
        }
        let all = of.iter().copied().collect::<Option<Vec<SymbolId>>>();
        let alike = all.filter(|all| {
            let ty = |s: &SymbolId| self.body.symbols[*s].ty;
            all.windows(2).all(|w| ty(&w[0]) == ty(&w[1]))
        });
        // counted up, one that the program counts down might have no next value in its type
        let kind = |s: SymbolId| match self
            .cut
            .units
            .iter()
            .any(|u| u.indices.iter().zip(&u.signs).any(|(&i, &sign)| i == s && sign < 0))
        {
            true => Some(IntKind::LongLong),
            false => self.body.types.as_int(self.body.symbols[s].ty),
        };
        match alike.as_deref() {
            // the first in the text
            Some([.., s]) => {
                let wide = of.iter().flatten().any(|&s| kind(s) == Some(IntKind::LongLong));
                let kind = if wide { IntKind::LongLong } else { kind(*s)? };
                Some(self.local(self.body.symbols[*s].name.clone(), kind))
            }
            _ if iter == ROUND => Some(self.local("wave".into(), IntKind::LongLong)),
            _ => Some(self.local(format!("c{}", iter - PLACE).into(), IntKind::LongLong)),
        }
    }

    /// The index of a unit that a dimension of time is, counted up.
    fn counts(&self, unit: usize, iter: usize) -> Option<SymbolId> {
        let (u, time) = (self.cut.units.get(unit)?, self.times.times.get(unit)?);
        let d = match (iter, time) {
            (ROUND, Time::At(factors, 0)) => {
                let mut used = factors.iter().enumerate().filter(|f| *f.1 != 0);
                let (d, f) = used.next()?;
                (used.next().is_none() && *f == 1).then_some(d)?
            }
            (PHASE | ROUND | PLACE, _) => return None,
            _ => *self.orders.get(unit)?.get(iter - INDICES)?,
        };
        (iter != ROUND || u.signs[d] == 1).then_some(u.indices[d])
    }

    /// The expression with what is known of dimensions put in.
    fn settle(&self, e: &Expr) -> Expr {
        e.with_leaves(&|e| match e {
            Expr::Iter(i) => self.lets.get(i).unwrap_or(e).clone(),
            e => e.clone(),
        })
    }

    /// Puts a statement in the place of the nest's root.
    fn put(&mut self, new: TermId) {
        let term = self.b.get(new).clone();
        let empty = Term { op: Op::Empty, args: Box::default(), ty: self.b.types.void() };
        self.b.set(new, empty);
        self.b.set(self.like, term);
    }
}
