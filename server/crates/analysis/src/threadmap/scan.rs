//! What one thread runs: the instances mapped to its id, in the order of the program (F4.6).
//!
//! Every statement gets its domain with the id as a parameter and its time of old as the schedule; isl's code scanning
//! gives loops with exact bounds and conditions, so a thread outside of every domain runs nothing.

use base::Budget;
use poly::{Constraint, Map, MapSpace, Row, Shape};

use super::sets::{ParamSpace, Part};
use super::solve::{Form, Last};
use super::statements::time;
use super::MappedNest;
use crate::algebra::poly::Poly;
use crate::limits::threadmap_scan::MAX_RUNS;
use crate::loops::expr_of;
use crate::{Expr, Scan, ThreadCode, ThreadValue};

/// The code for the maps found; `None` where it is too large or a value in it is not one of the host's.
pub(super) fn thread_code(found: &MappedNest<'_>, budget: &Budget) -> poly::Result<Option<ThreadCode>> {
    let frame = ParamSpace::new(&found.model, budget, found.nest.values());
    let (np, ids) = (frame.params.len(), found.maps.coordinates.len());
    let deepest = found.nest.statements.iter().map(|s| s.loops.len()).max().unwrap_or(0);
    let mut schedules: Vec<(usize, Map)> = Vec::new();
    for (k, s) in found.nest.statements.iter().enumerate() {
        // Ids first, so that they can be made parameters.
        let forms: Vec<&Form> = found.maps.coordinates.iter().map(|c| &c[k]).collect();
        let equal: Vec<Constraint> = forms
            .iter()
            .enumerate()
            .map(|(c, f)| {
                let mut row = Row { params: f.params.clone(), constant: f.constant, ..Row::default() };
                for (d, x) in f.counters.iter().enumerate() {
                    row = row.dim(ids + d, *x);
                }
                Constraint::eq(row.dim(c, -1))
            })
            .collect();
        let part = Part { domain: &s.domain, loops: &s.loops, first: ids };
        let n = s.loops.len();
        let instances = frame.set(ids + n, &[part], &[], &equal)?.coalesce(budget)?;
        let instances = instances.dims_to_params(ids, budget)?;
        let mut rows = Vec::new();
        for d in 0..deepest {
            let counter = match s.loops.get(d) {
                Some(&l) => {
                    let Some((_, sign)) = time(&found.model, l) else { return Ok(None) };
                    Row::constant(0).dim(d, sign)
                }
                None => Row::constant(0),
            };
            rows.push(Constraint::eq(counter.dim(n + 2 * d, -1)));
            let place = Row::constant(s.places.get(d).copied().unwrap_or(0));
            rows.push(Constraint::eq(place.dim(n + 2 * d + 1, -1)));
        }
        let space = MapSpace { params: np + ids, ins: n, outs: 2 * deepest };
        let schedule =
            Map::from_constraints(space, 0, &rows, budget)?.intersect_domain(&instances, budget)?;
        schedules.push((k, schedule));
    }
    // Ids are those of threads that are launched.
    let mut inside = Vec::new();
    for (c, last) in found.maps.last.iter().enumerate() {
        inside.push(Constraint::ge(Row::constant(0).param(np + c, 1)));
        if let [Last::At(b)] = last.as_slice() {
            let row = Row { params: b.params.clone(), constant: b.constant, ..Row::default() };
            inside.push(Constraint::ge(row.param(np + c, -1)));
        }
    }
    let context = frame.context(ids, &inside)?;
    let statements: Vec<poly::Statement<'_>> =
        schedules.iter().map(|(id, schedule)| poly::Statement { id: *id, schedule }).collect();
    let ast = poly::scan(&statements, &context, &[Shape::Default], budget)?;
    let mut runs = 0;
    let Some(code) = read(found, &ast, &mut Vec::new(), &mut runs) else { return Ok(None) };
    // The host passes what the code uses.
    let mut used: Vec<usize> = Vec::new();
    each_value(&code, &mut |v| {
        named(v, &mut |p| {
            if p < np && !used.contains(&p) {
                used.push(p);
            }
        })
    });
    used.sort_unstable();
    let place = |p: usize| match p.checked_sub(np) {
        Some(id) => used.len() + id,
        None => used.iter().position(|u| *u == p).unwrap_or(0),
    };
    let code = renamed(&code, &place);
    let params: Option<Vec<Expr>> =
        used.iter().map(|&p| expr_of(&found.model, &Poly::var(*frame.params.get(p)?))).collect();
    Ok(params.map(|params| ThreadCode { params, ids, code }))
}

/// Calls `f` with every value of the code.
fn each_value(code: &Scan, f: &mut dyn FnMut(&ThreadValue)) {
    match code {
        Scan::Loop { first, last, body, .. } => {
            f(first);
            f(last);
            each_value(body, f);
        }
        Scan::If { condition, then, otherwise } => {
            f(condition);
            each_value(then, f);
            if let Some(o) = otherwise {
                each_value(o, f);
            }
        }
        Scan::Block(all) => all.iter().for_each(|c| each_value(c, f)),
        Scan::Run { indices, .. } => indices.iter().for_each(|i| f(&i.1)),
    }
}

/// Calls `f` with every parameter of a value.
fn named(v: &ThreadValue, f: &mut dyn FnMut(usize)) {
    use crate::ThreadValue as V;
    match v {
        V::Param(p) => f(*p),
        V::Int(_) | V::Iter(_) => {}
        V::Neg(a) | V::Div(a, ..) | V::Mod(a, ..) => named(a, f),
        V::Add(a, b) | V::Sub(a, b) | V::Mul(a, b) | V::Compare(_, a, b) | V::And(a, b) | V::Or(a, b) => {
            named(a, f);
            named(b, f);
        }
        V::Min(all) | V::Max(all) => all.iter().for_each(|a| named(a, f)),
        V::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| named(x, f)),
    }
}

/// The code with its parameters in other places.
fn renamed(code: &Scan, place: &dyn Fn(usize) -> usize) -> Scan {
    let value = |v: &ThreadValue| {
        v.with_leaves(&|v| match v {
            ThreadValue::Param(p) => ThreadValue::Param(place(*p)),
            v => v.clone(),
        })
    };
    match code {
        Scan::Loop { counter, first, last, step, body } => Scan::Loop {
            counter: *counter,
            first: value(first),
            last: value(last),
            step: *step,
            body: Box::new(renamed(body, place)),
        },
        Scan::If { condition, then, otherwise } => Scan::If {
            condition: value(condition),
            then: Box::new(renamed(then, place)),
            otherwise: otherwise.as_ref().map(|o| Box::new(renamed(o, place))),
        },
        Scan::Block(all) => Scan::Block(all.iter().map(|c| renamed(c, place)).collect()),
        Scan::Run { term, indices } => {
            Scan::Run { term: *term, indices: indices.iter().map(|(s, v)| (*s, value(v))).collect() }
        }
    }
}

/// isl's tree with what runs once put in place of its counter.
fn read(
    found: &MappedNest<'_>,
    ast: &poly::Ast,
    known: &mut Vec<(usize, ThreadValue)>,
    runs: &mut usize,
) -> Option<Scan> {
    Some(match ast {
        poly::Ast::For { iter, init, cond, step, body } => {
            let last = poly::upper_bound(cond, *iter)?;
            let (first, last) = (replaced(init, known), replaced(&last, known));
            let hidden = known.len();
            known.push((*iter, ThreadValue::Iter(*iter)));
            let body = Box::new(read(found, body, known, runs)?);
            known.truncate(hidden);
            Scan::Loop { counter: *iter, first, last, step: *step, body }
        }
        poly::Ast::Let { iter, value, body } => {
            let value = replaced(value, known);
            let hidden = known.len();
            known.push((*iter, value));
            let inner = read(found, body, known, runs)?;
            known.truncate(hidden);
            inner
        }
        poly::Ast::If { cond, then, otherwise } => Scan::If {
            condition: replaced(cond, known),
            then: Box::new(read(found, then, known, runs)?),
            otherwise: match otherwise {
                Some(o) => Some(Box::new(read(found, o, known, runs)?)),
                None => None,
            },
        },
        poly::Ast::Block(all) => {
            let mut parts = Vec::new();
            for one in all {
                match read(found, one, known, runs)? {
                    Scan::Block(inner) => parts.extend(inner),
                    part => parts.push(part),
                }
            }
            Scan::Block(parts)
        }
        poly::Ast::User { statement, args } => {
            *runs += 1;
            let s = found.nest.statements.get(*statement)?;
            if *runs > MAX_RUNS || args.len() != s.loops.len() {
                return None;
            }
            let mut indices = Vec::new();
            for (&l, arg) in s.loops.iter().zip(args) {
                let l = &found.model.loops[l];
                let (symbol, value) = l.index.as_ref()?;
                // index = step * counter + start
                let step = value.coefficient(l.var);
                let start = value.sub(&Poly::var(l.var).scale(step)?)?;
                let mut out = scaled(step, replaced(arg, known));
                for (m, c) in start.terms() {
                    let (c, term) = match m {
                        [] => (c, None),
                        [v] => (c, Some(ThreadValue::Param(found.params.iter().position(|p| p == v)?))),
                        _ => return None,
                    };
                    let term = match term {
                        None => ThreadValue::Int(c),
                        Some(t) => scaled(c, t),
                    };
                    out = ThreadValue::Add(Box::new(out), Box::new(term));
                }
                indices.push((*symbol, out));
            }
            Scan::Run { term: s.term, indices }
        }
    })
}

fn scaled(k: i128, e: ThreadValue) -> ThreadValue {
    match k {
        1 => e,
        -1 => ThreadValue::Neg(Box::new(e)),
        k => ThreadValue::Mul(Box::new(ThreadValue::Int(k)), Box::new(e)),
    }
}

/// The value with known counters put in.
fn replaced(e: &ThreadValue, known: &[(usize, ThreadValue)]) -> ThreadValue {
    e.with_leaves(&|v| match v {
        ThreadValue::Iter(i) => known.iter().rev().find(|k| k.0 == *i).map_or(v, |k| &k.1).clone(),
        v => v.clone(),
    })
}
