//! Code scanning: loops that visit the instances of statements in the order of a schedule.
//!
//! Deliberately absent: printing, and any choice of schedule.

use crate::ctx::{Ctx, Obj};
use crate::error::{Error, Result};
use crate::expr::{read_call, read_expr, Comparison, Expr};
use crate::ffi::*;
use crate::flow::union;
use crate::limits::scan::MAX_DEPTH;
use crate::linear::{Constraint, MapSpace, Row};
use crate::map::Map;
use crate::set::Set;
use base::Budget;
use libc::c_int;
use std::rc::Rc;

/// One statement to be scanned.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// Its number, which comes back in [`Ast::User`].
    pub id: usize,
    /// From its instances to times; its domain is what is scanned. Every instance has one time.
    pub schedule: &'a Map,
}

/// How isl shapes the loops of one schedule dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Shape {
    /// As isl sees fit.
    #[default]
    Default,
    /// Different loops for parts that differ in which statements run: no conditions inside, more code.
    Separate,
    /// One loop for all: least code, conditions inside.
    Atomic,
    /// Unrolled completely.
    Unroll,
}

/// Loops as a tree.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ast {
    /// `for (iter = init; cond; iter += step) body`
    For {
        /// The schedule dimension this loop counts; [`Expr::Iter`] of the same number stands for the counter.
        iter: usize,
        /// Its first value.
        init: Expr,
        /// Holds as long as the loop goes on: `iter <= …` or `iter < …` (see [`upper_bound`]).
        cond: Expr,
        /// Positive.
        step: i128,
        /// What is repeated.
        body: Box<Ast>,
    },
    /// The one value of a schedule dimension: a loop that runs once.
    Let {
        /// The schedule dimension.
        iter: usize,
        /// Its value.
        value: Expr,
        /// Where it is known.
        body: Box<Ast>,
    },
    /// `if (cond) then else otherwise`
    If {
        /// The condition.
        cond: Expr,
        /// Where it holds.
        then: Box<Ast>,
        /// Where it does not.
        otherwise: Option<Box<Ast>>,
    },
    /// One after another.
    Block(Vec<Ast>),
    /// An instance of a statement.
    User {
        /// The statement's number.
        statement: usize,
        /// The instance: one expression per dimension.
        args: Vec<Expr>,
    },
}

impl Ast {
    /// The same with other numbers for the dimensions that its loops count.
    pub fn with_counters(&self, place: &dyn Fn(usize) -> usize) -> Ast {
        let value = |e: &Expr| {
            e.with_leaves(&|e| match e {
                Expr::Iter(i) => Expr::Iter(place(*i)),
                e => e.clone(),
            })
        };
        let one = |a: &Ast| Box::new(a.with_counters(place));
        match self {
            Ast::For { iter, init, cond, step, body } => Ast::For {
                iter: place(*iter),
                init: value(init),
                cond: value(cond),
                step: *step,
                body: one(body),
            },
            Ast::Let { iter, value: v, body } => {
                Ast::Let { iter: place(*iter), value: value(v), body: one(body) }
            }
            Ast::If { cond, then, otherwise } => {
                Ast::If { cond: value(cond), then: one(then), otherwise: otherwise.as_ref().map(|o| one(o)) }
            }
            Ast::Block(all) => Ast::Block(all.iter().map(|a| a.with_counters(place)).collect()),
            Ast::User { statement, args } => {
                Ast::User { statement: *statement, args: args.iter().map(value).collect() }
            }
        }
    }

    /// The same loops with another tree in the place of what they run.
    pub fn around(&self, inside: &Ast) -> Ast {
        let one = |a: &Ast| Box::new(a.around(inside));
        match self {
            Ast::For { iter, init, cond, step, body } => {
                Ast::For { iter: *iter, init: init.clone(), cond: cond.clone(), step: *step, body: one(body) }
            }
            Ast::Let { iter, value, body } => Ast::Let { iter: *iter, value: value.clone(), body: one(body) },
            Ast::If { cond, then, otherwise } => {
                Ast::If { cond: cond.clone(), then: one(then), otherwise: otherwise.as_ref().map(|o| one(o)) }
            }
            Ast::Block(all) => Ast::Block(all.iter().map(|a| a.around(inside)).collect()),
            Ast::User { .. } => inside.clone(),
        }
    }
}

/// The inclusive upper bound that a loop's condition `iter <= e` or `iter < e` states.
pub fn upper_bound(cond: &Expr, iter: usize) -> Option<Expr> {
    match cond {
        Expr::Compare(Comparison::Le, a, b) if **a == Expr::Iter(iter) => Some((**b).clone()),
        Expr::Compare(Comparison::Lt, a, b) if **a == Expr::Iter(iter) => {
            Some(Expr::Sub(b.clone(), Box::new(Expr::Int(1))))
        }
        _ => None,
    }
}

/// Loops that run every instance in the domains of the schedules once, in lexicographic order of time, for all
/// parameters in `context` (a set without dimensions). `shapes` is per schedule dimension; missing ones are default.
pub fn scan(statements: &[Statement], context: &Set, shapes: &[Shape], budget: &Budget) -> Result<Ast> {
    let ctx = Ctx::here()?;
    let params = context.space().params;
    let times = check(statements, params, budget)?;
    let schedule = union(&ctx, params, statements.iter().map(|s| (s.id, None, s.schedule)), budget)?;
    let context = context.params_only(params, budget)?;
    let options = options(&ctx, params, times, shapes, budget)?;
    let names = (0..times).map(|i| ctx.name('i', i)).collect::<Result<Vec<_>>>()?;
    // SAFETY: each step takes what the one before gave (NULL stays NULL) and the references made here.
    let build = ctx.make(budget, || unsafe {
        let mut list = isl_id_list_alloc(ctx.raw(), times as c_int);
        for name in &names {
            list = isl_id_list_add(list, name.give());
        }
        let build = isl_ast_build_set_iterators(isl_ast_build_from_context(context.give()), list);
        isl_ast_build_set_options(build, options.give())
    })?;
    // SAFETY: keeps the build and takes the reference made here.
    let node =
        ctx.make(budget, || unsafe { isl_ast_build_node_from_schedule_map(build.keep(), schedule.give()) })?;
    read_node(&node, budget, 0)
}

/// isl takes tuples of one name and different lengths for different statements; refused here. Gives the number of
/// schedule dimensions.
fn check(statements: &[Statement], params: usize, budget: &Budget) -> Result<usize> {
    let first = statements.first().ok_or(Error::Mismatch("nothing to scan"))?.schedule.space();
    let mut seen = std::collections::HashSet::new();
    for s in statements {
        let MapSpace { params: p, outs, .. } = s.schedule.space();
        if p != params || outs != first.outs {
            return Err(Error::Mismatch("schedules into different spaces"));
        }
        if !seen.insert(s.id) {
            return Err(Error::Mismatch("a statement with two schedules"));
        }
        if !s.schedule.is_single_valued(budget)? {
            return Err(Error::Unsupported("a schedule that gives an instance several times"));
        }
    }
    Ok(first.outs)
}

/// isl's loop options: a relation from times to tuples `separate[d]`, `atomic[d]`, `unroll[d]`.
fn options(
    ctx: &Rc<Ctx>,
    params: usize,
    times: usize,
    shapes: &[Shape],
    budget: &Budget,
) -> Result<Obj<isl_union_map>> {
    if shapes.len() > times {
        return Err(Error::Mismatch("a shape for a loop that does not exist"));
    }
    let mut all = union(ctx, params, std::iter::empty(), budget)?;
    for (d, shape) in shapes.iter().enumerate() {
        let word = match shape {
            Shape::Default => continue,
            Shape::Separate => "separate",
            Shape::Atomic => "atomic",
            Shape::Unroll => "unroll",
        };
        let which = Constraint::eq(Row::constant(-(d as i128)).dim(times, 1));
        let map = Map::from_constraints(MapSpace { params, ins: times, outs: 1 }, 0, &[which], budget)?;
        let id = ctx.word(word)?;
        // SAFETY (both): take the references made here; each step takes what the one before gave.
        let one = ctx.make(budget, || unsafe {
            isl_union_map_from_map(isl_map_set_tuple_id(map.obj.give(), DIM_OUT, id.give()))
        })?;
        all = ctx.make(budget, || unsafe { isl_union_map_union(all.give(), one.give()) })?;
    }
    Ok(all)
}

const NODE_FOR: c_int = 1;
const NODE_IF: c_int = 2;
const NODE_BLOCK: c_int = 3;
const NODE_USER: c_int = 5;

fn read_node(node: &Obj<isl_ast_node>, budget: &Budget, depth: usize) -> Result<Ast> {
    if depth > MAX_DEPTH {
        return Err(Error::Overflow("loops nested more than 512 deep"));
    }
    let ctx = node.ctx();
    let raw = node.keep();
    // SAFETY (all in this function): keep the node, which is of the kind that was just asked for; the results are
    // owned by `make`; positions lie within the list.
    let expr = |f: unsafe extern "C" fn(*mut isl_ast_node) -> *mut isl_ast_expr| {
        ctx.make(budget, || unsafe { f(raw) }).and_then(|e| read_expr(&e, budget))
    };
    let child = |f: unsafe extern "C" fn(*mut isl_ast_node) -> *mut isl_ast_node| {
        ctx.make(budget, || unsafe { f(raw) }).and_then(|n| read_node(&n, budget, depth + 1)).map(Box::new)
    };
    match unsafe { isl_ast_node_get_type(raw) } {
        NODE_FOR => {
            let Expr::Iter(iter) = expr(isl_ast_node_for_get_iterator)? else {
                return Err(Error::Isl("a loop counter of another name".into()));
            };
            let init = expr(isl_ast_node_for_get_init)?;
            if ctx.test(budget, || unsafe { isl_ast_node_for_is_degenerate(raw) })? {
                return Ok(Ast::Let { iter, value: init, body: child(isl_ast_node_for_get_body)? });
            }
            let step = match expr(isl_ast_node_for_get_inc)? {
                Expr::Int(n) if n > 0 => n,
                _ => return Err(Error::Isl("a loop step that is not a positive number".into())),
            };
            let cond = expr(isl_ast_node_for_get_cond)?;
            Ok(Ast::For { iter, init, cond, step, body: child(isl_ast_node_for_get_body)? })
        }
        NODE_IF => {
            let has_else = ctx.test(budget, || unsafe { isl_ast_node_if_has_else_node(raw) })?;
            Ok(Ast::If {
                cond: expr(isl_ast_node_if_get_cond)?,
                then: child(isl_ast_node_if_get_then_node)?,
                otherwise: if has_else { Some(child(isl_ast_node_if_get_else_node)?) } else { None },
            })
        }
        NODE_BLOCK => {
            let list = ctx.make(budget, || unsafe { isl_ast_node_block_get_children(raw) })?;
            let n = ctx.size(budget, || unsafe { isl_ast_node_list_size(list.keep()) })?;
            let mut all = Vec::with_capacity(n);
            for i in 0..n {
                let one =
                    ctx.make(budget, || unsafe { isl_ast_node_list_get_at(list.keep(), i as c_int) })?;
                all.push(read_node(&one, budget, depth + 1)?);
            }
            Ok(Ast::Block(all))
        }
        NODE_USER => {
            let call = ctx.make(budget, || unsafe { isl_ast_node_user_get_expr(raw) })?;
            let (statement, args) = read_call(&call, budget)?;
            Ok(Ast::User { statement, args })
        }
        _ => Err(Error::Isl("a node of an unknown kind".into())),
    }
}

impl Ast {
    /// Runs the loops for given parameters and calls `visit` with every instance in order, until it answers false.
    /// `None` if an expression has no value or more than `steps` loop iterations were needed.
    pub fn run(
        &self,
        params: &[i128],
        steps: u64,
        visit: &mut dyn FnMut(usize, &[i128]) -> bool,
    ) -> Option<()> {
        let mut left = steps;
        self.walk(params, &mut Vec::new(), &mut left, visit).map(|_| ())
    }

    fn walk(
        &self,
        params: &[i128],
        iters: &mut Vec<i128>,
        left: &mut u64,
        visit: &mut dyn FnMut(usize, &[i128]) -> bool,
    ) -> Option<bool> {
        let set = |iters: &mut Vec<i128>, i: usize, x: i128| {
            if iters.len() <= i {
                iters.resize(i + 1, 0);
            }
            if let Some(slot) = iters.get_mut(i) {
                *slot = x;
            }
        };
        match self {
            Ast::For { iter, init, cond, step, body } => {
                let mut x = init.eval(params, iters)?;
                loop {
                    *left = left.checked_sub(1)?;
                    set(iters, *iter, x);
                    if cond.eval(params, iters)? == 0 {
                        return Some(true);
                    }
                    if !body.walk(params, iters, left, visit)? {
                        return Some(false);
                    }
                    x = x.checked_add(*step)?;
                }
            }
            Ast::Let { iter, value, body } => {
                let x = value.eval(params, iters)?;
                set(iters, *iter, x);
                body.walk(params, iters, left, visit)
            }
            Ast::If { cond, then, otherwise } => match (cond.eval(params, iters)? != 0, otherwise) {
                (true, _) => then.walk(params, iters, left, visit),
                (false, Some(o)) => o.walk(params, iters, left, visit),
                (false, None) => Some(true),
            },
            Ast::Block(all) => {
                for one in all {
                    if !one.walk(params, iters, left, visit)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Ast::User { statement, args } => {
                let at = args.iter().map(|a| a.eval(params, iters)).collect::<Option<Vec<_>>>()?;
                Some(visit(*statement, &at))
            }
        }
    }
}
