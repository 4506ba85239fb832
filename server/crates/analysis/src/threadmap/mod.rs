//! Parallelism without synchronisation (F4.1–F4.6): affine maps from the instances of a nest's statements to threads,
//! such that instances which touch a common cell, one of them writing, meet in one thread, and the threads are many.
//!
//! A map is found whole nests at a time, so it also separates what no single loop does: the diagonals of a product of
//! polynomials, or two statements that feed each other across an iteration. Reductions are left where memory puts them,
//! in one thread. Deliberately absent: maps that are not affine (`i % 2`), maps with synchronisation (wavefronts), and
//! any reordering inside a thread: it runs its instances in the order of the program.

mod algebra;
mod kernel;
pub(crate) mod rounds;
mod scan;
mod sets;
mod solve;
mod statements;

use base::Budget;
use poly::Set;
use term::Body;

use crate::algebra::poly::{Poly, Var};
use crate::calls::inline::read;
use crate::context::Context;
use crate::loops::{assumptions, expr_of, opaque_places};
use crate::nest::{AffineAccess, Model};
use crate::offload::extent::Maker;
use crate::{
    Condition, Expr, Facts, LoopId, Obstacle, ObstacleKind, Param, Program, StatementMap, ThreadMap,
};

pub(crate) use self::kernel::offload;
use self::sets::ParamSpace;
use self::solve::{Bound, Form, Last, Maps};
use self::statements::Nest;

/// The thread map of the nest rooted at a loop. An error without obstacles is an answer: every affine map puts all
/// instances into one thread.
pub(crate) fn thread_map(
    body: &Body,
    program: &Program,
    facts: &Facts,
    target: LoopId,
    budget: &Budget,
) -> Result<ThreadMap, Vec<Obstacle>> {
    let cx = context(body, program, facts, target, budget)?;
    find(&cx, facts, target, budget)?.describe(budget)
}

/// What is asked of the body, which is paid for.
fn context<'a>(
    body: &'a Body,
    program: &'a Program,
    facts: &Facts,
    target: LoopId,
    budget: &Budget,
) -> Result<Context<'a>, Vec<Obstacle>> {
    if read(body.len(), budget).is_err() {
        let term = facts.loops.get(target).map_or(body.root, |l| l.term);
        return Err(vec![Obstacle { kind: ObstacleKind::Budget(crate::Work::Effects), term }]);
    }
    Ok(Context::new(body, program, body.len(), budget))
}

/// A nest with its maps.
struct MappedNest<'a> {
    model: Model<'a>,
    nest: Nest,
    maps: Maps,
    params: Vec<Var>,
    conditions: Vec<Condition>,
}

fn find<'a>(
    cx: &'a Context<'a>,
    facts: &Facts,
    target: LoopId,
    budget: &Budget,
) -> Result<MappedNest<'a>, Vec<Obstacle>> {
    let Some(l) = facts.loops.get(target) else { return Err(Vec::new()) };
    let control = l.control.as_ref().map_err(|o| vec![o.clone()])?;
    let hidden = opaque_places(cx.body, l.term);
    if !hidden.is_empty() {
        return Err(hidden);
    }
    let mut reading = cx.reading(target.0 as usize, control, budget);
    if !reading.obstacles.is_empty() {
        return Err(std::mem::take(&mut reading.obstacles));
    }
    let nest = statements::nest(cx, facts, &reading.model)?;
    let accesses: Vec<AffineAccess> =
        nest.accesses.iter().map(|(_, a)| a).chain(&nest.outside).cloned().collect();
    let (conditions, obstacles) = assumptions(cx, &mut reading, &accesses, l);
    if !obstacles.is_empty() {
        return Err(obstacles);
    }
    let model = reading.model;
    let stopped = |e: Option<poly::Error>| {
        let kind = match e {
            None | Some(poly::Error::Spent | poly::Error::Cancelled) => {
                ObstacleKind::Budget(crate::Work::Threads)
            }
            Some(_) => ObstacleKind::Unproved,
        };
        vec![Obstacle { kind, term: l.term }]
    };
    let frame = ParamSpace::new(&model, budget, nest.values());
    let domains: poly::Result<Vec<Set>> =
        nest.statements.iter().map(|s| frame.domain(&s.domain, &s.loops)).collect();
    let domains = domains.map_err(|e| stopped(Some(e)))?;
    let found = solve::maps(&nest, &frame, &domains).map_err(stopped)?;
    // What an inexact access stands for may be less than what it was taken for.
    let Some(maps) = found else { return Err(nest.inexact().into_iter().collect()) };
    let params = frame.params;
    Ok(MappedNest { model, nest, maps, params, conditions })
}

impl MappedNest<'_> {
    fn describe(&self, budget: &Budget) -> Result<ThreadMap, Vec<Obstacle>> {
        let root = self.model.root;
        let unclear = || vec![Obstacle { kind: ObstacleKind::Unproved, term: root }];
        let mut statements = Vec::new();
        for (k, s) in self.nest.statements.iter().enumerate() {
            let coordinates: Option<Vec<Expr>> =
                self.maps.coordinates.iter().map(|c| self.in_indices(&c[k], &s.loops)).collect();
            statements.push(StatementMap { term: s.term, coordinates: coordinates.ok_or_else(unclear)? });
        }
        let mut extents = Vec::new();
        for (c, last) in self.maps.last.iter().enumerate() {
            let end = |l: &Last| match l {
                Last::At(b) => self.bound(b, 1),
                Last::Of(s) => self.greatest(&self.maps.coordinates[c][*s], *s, budget),
            };
            let mut different: Vec<Expr> = Vec::new();
            let ends: Option<Vec<Expr>> = last.iter().map(end).collect();
            for e in ends.iter().flatten() {
                if !different.contains(e) {
                    different.push(e.clone());
                }
            }
            let ends = ends.map(|_| different);
            let mut ends = ends.filter(|e| !e.is_empty()).ok_or_else(unclear)?;
            extents.push(if ends.len() == 1 { ends.remove(0) } else { Expr::Max(ends) });
        }
        Ok(ThreadMap {
            dimension: self.maps.coordinates.len() as u32,
            statements,
            extents,
            conditions: self.conditions.clone(),
        })
    }

    /// `bound + add` for the host.
    fn bound(&self, b: &Bound, add: i128) -> Option<Expr> {
        let mut p = Poly::constant(b.constant.checked_add(add)?);
        for (v, k) in self.params.iter().zip(&b.params) {
            p = p.add(&Poly::var(*v).scale(*k)?)?;
        }
        expr_of(&self.model, &p)
    }

    /// One more than the greatest value of a form over a statement's instances, where there are any.
    fn greatest(&self, f: &Form, s: usize, budget: &Budget) -> Option<Expr> {
        let statement = &self.nest.statements[s];
        let frame = ParamSpace::new(&self.model, budget, self.nest.values());
        let domain = frame.domain(&statement.domain, &statement.loops).ok()?;
        let best = domain.max_of(&f.row(), budget).ok()??;
        let value = best.expr(&best.domain(budget).ok()?, budget).ok()?;
        let maker = Maker { model: &self.model, budget, params: frame.params.clone() };
        let value = maker.expr(&value, &frame.params)?;
        let (mut sum, mut constant) = (Vec::new(), 1i128);
        for item in if let Expr::Add(items) = value { items } else { vec![value] } {
            match item {
                Expr::Int(n) => constant = constant.checked_add(n)?,
                e => sum.push(e),
            }
        }
        if constant != 0 || sum.is_empty() {
            sum.push(Expr::Int(constant));
        }
        Some(Expr::Add(sum))
    }

    /// A form over counters in terms of the indices.
    fn in_indices(&self, f: &Form, loops: &[usize]) -> Option<Expr> {
        let mut sum: Vec<Expr> = Vec::new();
        let mut fixed = Poly::constant(f.constant);
        for (&l, &k) in loops.iter().zip(&f.counters) {
            if k == 0 {
                continue;
            }
            let l = &self.model.loops[l];
            let (symbol, value) = l.index.as_ref()?;
            let index = Expr::Param(Param::Symbol(*symbol));
            let step = value.coefficient(l.var);
            let start = value.sub(&Poly::var(l.var).scale(step)?)?;
            // index = step * counter + start
            match step {
                1 | -1 => {
                    let k = k.checked_mul(step)?;
                    sum.push(if k == 1 { index } else { Expr::Mul(k, Box::new(index)) });
                    fixed = fixed.sub(&start.scale(k)?)?;
                }
                s => {
                    let moved = match expr_of(&self.model, &start.scale(-1)?)? {
                        Expr::Int(0) => index,
                        from => Expr::Add(vec![index, from]),
                    };
                    let positive = if s > 0 { moved } else { Expr::Mul(-1, Box::new(moved)) };
                    let count = Expr::FloorDiv(Box::new(positive), s.checked_abs()?);
                    sum.push(if k == 1 { count } else { Expr::Mul(k, Box::new(count)) });
                }
            }
        }
        for (v, k) in self.params.iter().zip(&f.params) {
            fixed = fixed.add(&Poly::var(*v).scale(*k)?)?;
        }
        match expr_of(&self.model, &fixed)? {
            Expr::Int(0) if !sum.is_empty() => {}
            Expr::Add(items) => sum.extend(items),
            e => sum.push(e),
        }
        Some(if sum.len() == 1 { sum.remove(0) } else { Expr::Add(sum) })
    }
}
