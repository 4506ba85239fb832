//! The loops that visit a nest's instances round by round, as terms.
//!
//! isl finds bounds and conditions (`poly::scan`); what runs are copies of the nest's own statements with the indices'
//! values in their place. Sums that a type of the program might not hold are computed in `long long`.

use rustc_hash::FxHashMap;
use term::{
    BinOp, Body, BodyBuilder, IntKind, Op, Origin, Storage, Symbol, SymbolId, Term, TermId, TypeId, UnOp,
};

use super::search::Times;
use super::{Cut, Time, Unit};
use crate::algebra::poly::VarKind;
use crate::limits::threadmap_rounds::MAX_RUNS;
use crate::threadmap::sets::ParamSpace;
use crate::Param;
use poly::{Ast, Comparison, Constraint, Expr, Map, MapSpace, Row, Set, Shape};

/// What stands before the indices in a time: before, in or behind all rounds; the round; the place in it.
const PHASE: usize = 0;
const ROUND: usize = 1;
const PLACE: usize = 2;
const INDICES: usize = 3;

/// Puts the loops in the place of the nest's root.
pub(super) fn write(
    cut: &Cut,
    times: &Times,
    frame: &ParamSpace<'_, '_>,
    body: &Body,
    root: TermId,
    b: &mut BodyBuilder,
) -> Option<()> {
    // those that run as one are scanned as one
    let mut groups: Vec<(usize, Set)> = Vec::new();
    for (k, unit) in cut.units.iter().enumerate() {
        match groups.iter_mut().find(|g| times.places[g.0] == times.places[k]) {
            Some(g) => {
                let all = g.1.union(&unit.instances, frame.budget).ok()?;
                g.1 = all.coalesce(frame.budget).ok()?;
            }
            None => groups.push((k, unit.instances.clone())),
        }
    }
    let orders: Vec<Vec<usize>> = cut.units.iter().zip(&times.times).map(|(u, t)| inner(u, t)).collect();
    let writer = Writer {
        b,
        body,
        cut,
        times,
        orders: &orders,
        params: frame.params.iter().map(|&p| frame.model.vars.kind(p).clone()).collect(),
        like: root,
        counters: FxHashMap::default(),
        lets: FxHashMap::default(),
        settled: None,
        runs: 0,
    };
    let steep = |t: &Time| matches!(t, Time::At(f) if f.iter().any(|f| *f > 1));
    match (groups.as_slice(), times.times.iter().any(steep)) {
        ([one], true) => wave(one, frame, writer),
        (_, true) => None,
        (groups, false) => exact(groups, frame, writer),
    }
}

/// Loops with isl's own bounds.
fn exact(groups: &[(usize, Set)], frame: &ParamSpace<'_, '_>, mut writer: Writer<'_, '_>) -> Option<()> {
    let (budget, cut, times) = (frame.budget, writer.cut, writer.times);
    let outs = INDICES + writer.orders.iter().map(Vec::len).max().unwrap_or(0);
    let mut schedules = Vec::new();
    for (k, instances) in groups {
        let (unit, n) = (&cut.units[*k], cut.units[*k].loops.len());
        let mut rows = vec![Row::constant(0); outs];
        rows[PHASE].constant = match &times.times[*k] {
            Time::First => -1,
            Time::At(factors) => {
                rows[ROUND] = round(unit, factors);
                0
            }
            Time::Last => 1,
        };
        rows[PLACE].constant = times.places[*k] as i128;
        for (at, &d) in writer.orders[*k].iter().enumerate() {
            rows[INDICES + at] = Row::constant(0).dim(d, 1);
        }
        let equal: Vec<Constraint> =
            rows.into_iter().enumerate().map(|(o, r)| Constraint::eq(r.dim(n + o, -1))).collect();
        let space = MapSpace { params: frame.params.len(), ins: n, outs };
        let map = Map::from_constraints(space, 0, &equal, budget).ok()?;
        schedules.push((*k, map.intersect_domain(instances, budget).ok()?));
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
fn wave((k, instances): &(usize, Set), frame: &ParamSpace<'_, '_>, mut writer: Writer<'_, '_>) -> Option<()> {
    let budget = frame.budget;
    let (unit, order) = (&writer.cut.units[*k], &writer.orders[*k]);
    let Time::At(factors) = &writer.times.times[*k] else { return None };
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

/// The indices that the loops inside of a round go through: those that the round's number does not settle.
fn inner(unit: &Unit, time: &Time) -> Vec<usize> {
    let n = unit.loops.len();
    match time {
        Time::First | Time::Last => (0..n).collect(),
        Time::At(factors) => {
            let settled = factors.iter().rposition(|f| *f == 1);
            (0..n).filter(|k| Some(*k) != settled).collect()
        }
    }
}

struct Writer<'a, 'b> {
    b: &'b mut BodyBuilder,
    body: &'a Body,
    cut: &'a Cut,
    times: &'a Times,
    orders: &'a [Vec<usize>],
    params: Vec<VarKind>,
    like: TermId,
    /// The loops' own indices, by dimension of time.
    counters: FxHashMap<usize, SymbolId>,
    lets: FxHashMap<usize, Expr>,
    /// Which index is not gone through, its value, and when there is an instance.
    settled: Option<(usize, Expr, Expr)>,
    runs: usize,
}

impl Writer<'_, '_> {
    fn term(&mut self, op: Op, args: Vec<TermId>, ty: TypeId) -> TermId {
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

    /// One instance.
    fn run(&mut self, statement: usize, args: &[Expr]) -> Option<TermId> {
        self.runs += 1;
        let unit = self.cut.units.get(statement)?;
        let mut args: Vec<Expr> = args.iter().map(|a| self.settle(a)).collect();
        if let Some((at, value, _)) = &self.settled {
            args.insert(*at, value.clone());
        }
        if self.runs > MAX_RUNS || args.len() != unit.indices.len() {
            return None;
        }
        let named =
            |i: SymbolId| self.body.walk(unit.term).filter(|&t| self.body.as_symbol(t) == Some(i)).count();
        let much = |i: SymbolId, value: &Expr| !matches!(value, Expr::Iter(_)) && named(i) > 1;
        let mut values = FxHashMap::default();
        let (mut own, mut items) = (FxHashMap::default(), Vec::new());
        for (&index, value) in unit.indices.iter().zip(&args) {
            match much(index, value) {
                true => items.push((index, value.clone())),
                false => drop(values.insert(index, value.clone())),
            }
        }
        let (term, condition) = (unit.term, self.settled.clone());
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
            Some((_, _, condition)) => {
                let (condition, copy) = (self.value(&condition)?, self.block(copy));
                self.void(Op::If, vec![condition, copy])
            }
            None => copy,
        })
    }

    fn local(&mut self, name: std::sync::Arc<str>, kind: IntKind) -> SymbolId {
        let ty = self.b.types.int(kind);
        self.b.symbols.push(Symbol {
            name,
            ty,
            storage: Storage::Local,
            device: None,
            address_taken: false,
            span: None,
        })
    }

    fn declares(&self, t: TermId) -> bool {
        self.body.args(t).iter().any(|&a| matches!(self.body.op(a), Op::Declare(_)))
    }

    /// A statement with the values of indices in their place; what it declares is declared anew.
    fn copy(
        &mut self,
        t: TermId,
        values: &FxHashMap<SymbolId, Expr>,
        own: &mut FxHashMap<SymbolId, SymbolId>,
    ) -> Option<TermId> {
        let term = self.body.term(t).clone();
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
                Ast::User { statement, .. } => of.push(self.counts(*statement, iter)),
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
            (ROUND, Time::At(factors)) => {
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

    fn number(&mut self, n: i128) -> TermId {
        let kind = if i32::try_from(n).is_ok() { IntKind::Int } else { IntKind::LongLong };
        let ty = self.b.types.int(kind);
        self.term(Op::Int(n), Vec::new(), ty)
    }

    fn value(&mut self, e: &Expr) -> Option<TermId> {
        let int = self.b.types.int(IntKind::Int);
        Some(match e {
            Expr::Int(n) => self.number(*n),
            Expr::Iter(i) => {
                if let Some(value) = self.lets.get(i).cloned() {
                    return self.value(&value);
                }
                let s = *self.counters.get(i)?;
                let ty = self.b.symbols[s].ty;
                self.term(Op::Sym(s), Vec::new(), ty)
            }
            Expr::Param(p) => match *self.params.get(*p)? {
                VarKind::Param(Param::Symbol(s)) => {
                    let ty = self.b.symbols[s].ty;
                    self.term(Op::Sym(s), Vec::new(), ty)
                }
                VarKind::Param(Param::Term(t)) => {
                    self.copy(t, &FxHashMap::default(), &mut FxHashMap::default())?
                }
                _ => return None,
            },
            // what comes behind an index of a loop has its type
            Expr::Add(a, b) if matches!((&**a, &**b), (Expr::Iter(i), Expr::Int(1)) if self.counters.contains_key(i)) =>
            {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let ty = self.b.get(a).ty;
                self.term(Op::Binary(BinOp::Add), vec![a, b], ty)
            }
            Expr::Add(a, b) => self.wide(BinOp::Add, a, b)?,
            Expr::Sub(a, b) => self.wide(BinOp::Sub, a, b)?,
            Expr::Mul(a, b) => self.wide(BinOp::Mul, a, b)?,
            Expr::Neg(a) => {
                let a = self.long(a)?;
                let ty = self.b.get(a).ty;
                self.term(Op::Unary(UnOp::Neg), vec![a], ty)
            }
            Expr::Div(a, n, poly::Rounding::Floor) => {
                // -1 - (-1 - a) / n where a is negative
                let zero = Box::new(Expr::Int(0));
                let turned = Expr::Sub(Box::new(Expr::Int(-1)), a.clone());
                let quotient = Expr::Div(Box::new(turned), *n, poly::Rounding::NonNegative);
                let below = Expr::Sub(Box::new(Expr::Int(-1)), Box::new(quotient));
                let above = Expr::Div(a.clone(), *n, poly::Rounding::NonNegative);
                let negative = Expr::Compare(Comparison::Lt, a.clone(), zero);
                self.value(&Expr::Select(Box::new(negative), Box::new(below), Box::new(above)))?
            }
            Expr::Div(a, n, _) => self.wide(BinOp::Div, a, &Expr::Int(*n))?,
            Expr::Mod(a, n, _) => self.wide(BinOp::Rem, a, &Expr::Int(*n))?,
            Expr::Min(es) | Expr::Max(es) => {
                let relation = if matches!(e, Expr::Min(_)) { Comparison::Lt } else { Comparison::Gt };
                let (first, rest) = es.split_first()?;
                let mut best = first.clone();
                for other in rest {
                    let better = Expr::Compare(relation, Box::new(best.clone()), Box::new(other.clone()));
                    best = Expr::Select(Box::new(better), Box::new(best), Box::new(other.clone()));
                }
                self.value(&best)?
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.value(c)?, self.long(a)?, self.long(b)?);
                let ty = self.b.types.int(IntKind::LongLong);
                self.term(Op::Select, vec![c, a, b], ty)
            }
            Expr::Compare(c, a, b) => {
                let op = match c {
                    Comparison::Eq => BinOp::Eq,
                    Comparison::Le => BinOp::Le,
                    Comparison::Lt => BinOp::Lt,
                    Comparison::Ge => BinOp::Ge,
                    Comparison::Gt => BinOp::Gt,
                };
                let (a, b) = (self.signed(a)?, self.signed(b)?);
                self.term(Op::Binary(op), vec![a, b], int)
            }
            Expr::And(a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.term(Op::Binary(BinOp::And), vec![a, b], int)
            }
            Expr::Or(a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.term(Op::Binary(BinOp::Or), vec![a, b], int)
            }
        })
    }

    /// A value that compares as the number that it is: in `int` or `long long`.
    fn signed(&mut self, e: &Expr) -> Option<TermId> {
        let value = self.value(e)?;
        let int = self.b.types.int(IntKind::Int);
        if self.b.get(value).ty == int {
            return Some(value);
        }
        self.long(e)
    }

    /// A value in `long long`.
    fn long(&mut self, e: &Expr) -> Option<TermId> {
        let value = self.value(e)?;
        let ty = self.b.types.int(IntKind::LongLong);
        if self.b.get(value).ty == ty || matches!(self.b.get(value).op, Op::Int(_)) {
            return Some(value);
        }
        Some(self.term(Op::Cast, vec![value], ty))
    }

    fn wide(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Option<TermId> {
        let (a, b) = (self.long(a)?, self.long(b)?);
        let ty = self.b.types.int(IntKind::LongLong);
        let is_number = |t: TermId| matches!(self.b.get(t).op, Op::Int(_));
        if is_number(a) && is_number(b) {
            return None;
        }
        Some(self.term(Op::Binary(op), vec![a, b], ty))
    }
}
