//! A dependence made concrete: parameter values, two iterations, the cell they share, and how far apart they are.

use base::Budget;
use rustc_hash::FxHashMap;
use term::{BinOp, Body, Op, Storage, SymbolId, TermId};

use crate::depend::{Pairs, Solver};
use crate::nest::{Access, Model};
use crate::value::{Poly, Var, VarKind};
use crate::{Dependence, Direction, Param, Witness};

/// The witness at a point of the pairs; `None` where a value of it cannot be told.
pub(crate) fn witness(
    model: &Model<'_>,
    source: &Access,
    pairs: &Pairs,
    point: &poly::Point,
    fixed: &FxHashMap<Var, i128>,
) -> Option<Witness> {
    fn value_at(at: &At<'_>, p: &Poly, sink: bool) -> Option<i128> {
        let At { model, pairs, point, fixed } = *at;
        let n = pairs.source_loops.len();
        let mut sum = p.constant_part();
        for (m, c) in p.terms() {
            let mut product = c;
            for v in m {
                let x = match &model.vars[*v as usize] {
                    VarKind::Param(_) => match fixed.get(v) {
                        Some(k) => *k,
                        None => *point.params.get(pairs.params.iter().position(|q| q == v)?)?,
                    },
                    VarKind::Product(fs) => {
                        fs.iter().map(|f| fixed.get(f).copied()).try_fold(1i128, |a, k| a.checked_mul(k?))?
                    }
                    VarKind::Iter(l) => {
                        let (loops, base) =
                            if sink { (&pairs.sink_loops, n) } else { (&pairs.source_loops, 0) };
                        *point.dims.get(base + loops.iter().position(|x| x == l)?)?
                    }
                    VarKind::Quotient => {
                        let (numerator, k) = model.numerators.get(v)?;
                        value_at(at, numerator, sink)?.div_euclid(*k)
                    }
                    VarKind::Image | VarKind::Fresh => return None,
                };
                product = product.checked_mul(x)?;
            }
            if !m.is_empty() {
                sum = sum.checked_add(product)?;
            }
        }
        Some(sum)
    }
    #[derive(Clone, Copy)]
    struct At<'x> {
        model: &'x Model<'x>,
        pairs: &'x Pairs,
        point: &'x poly::Point,
        fixed: &'x FxHashMap<Var, i128>,
    }
    let at = At { model, pairs, point, fixed };
    let value_at = |p: &Poly, sink: bool| value_at(&at, p, sink);
    let indices = |loops: &[usize], sink: bool| -> Option<Vec<(SymbolId, i128)>> {
        let mut out = Vec::new();
        for &l in loops {
            if let Some((s, p)) = &model.loops[l].index {
                out.push((*s, value_at(p, sink)?));
            }
        }
        Some(out)
    };
    let iteration = model.loops[0].iteration.as_ref();
    let mut params: Vec<(Param, i128)> = Vec::new();
    for (v, x) in pairs.params.iter().zip(&point.params) {
        if let VarKind::Param(p) = &model.vars[*v as usize] {
            params.push((*p, *x));
        }
    }
    for (v, x) in fixed {
        if let VarKind::Param(p) = &model.vars[*v as usize] {
            params.push((*p, *x));
        }
    }
    params.sort_unstable();
    if !params.iter().all(|&(p, v)| attainable(model, p, v, &params)) {
        return None;
    }
    let cell: Option<Vec<i128>> =
        source.subs.iter().map(|s| s.value.as_ref().and_then(|p| value_at(p, false))).collect();
    Some(Witness {
        params,
        source: indices(&pairs.source_loops, false)?,
        sink: indices(&pairs.sink_loops, true)?,
        source_iteration: value_at(iteration?, false)?,
        sink_iteration: value_at(iteration?, true)?,
        cell: cell.unwrap_or_default(),
    })
}

/// Whether a computed value can be what the witness chose for it, its operands being free: `1 << k` is a power of two,
/// `n / m` may be anything. Values that are loaded may be anything as well.
fn attainable(model: &Model<'_>, p: Param, v: i128, all: &[(Param, i128)]) -> bool {
    let t = match p {
        Param::Symbol(s) => return can_hold(model, s, v, all),
        Param::Term(t) => t,
        _ => return true,
    };
    let body = model.body;
    let Op::Binary(op) = *body.op(t) else { return !matches!(body.op(t), Op::Unary(_) | Op::Select) };
    let args = body.args(t);
    // Operands the witness uses elsewhere are not free; computed ones have their own limits.
    let free = |e: TermId| match body.op(e) {
        Op::Sym(s) => !all.iter().any(|(q, _)| *q == Param::Symbol(*s)) && !model.knows_at_entry(*s),
        _ => false,
    };
    match (op, args) {
        (BinOp::Shl, &[a, k]) => {
            let Some(c) = crate::control::constant(body, a).filter(|c| *c > 0) else { return false };
            free(k) && (0..30).any(|s| c << s == v)
        }
        (BinOp::Div, &[n, m]) => n != m && !body.same(n, m) && free(n) && free(m) && v.abs() < 1 << 30,
        _ => false,
    }
}

/// Fills directions and distances: starts with everything possible and removes what the set excludes.
pub(crate) fn describe(
    pairs: &Pairs,
    common: &[usize],
    point: &poly::Point,
    detail: bool,
    dependence: &mut Dependence,
    solver: &Solver,
    budget: &Budget,
) {
    let n = pairs.source_loops.len();
    for level in 0..common.len() {
        let delta = |k: i128, sign: i128| poly::Row::constant(k).dim(n + level, sign).dim(level, -sign);
        let without = |c: poly::Constraint| matches!(solver.none(&pairs.question.and(&c), budget), Ok(true));
        let excludes = |row: poly::Row| without(poly::Constraint::ge(row));
        let (Some(s), Some(t)) = (point.dims.get(level), point.dims.get(n + level)) else {
            return;
        };
        let d = t - s;
        if !detail && level > 0 {
            return;
        }
        // No other distance than the witness's?
        if excludes(delta(-d - 1, 1)) && excludes(delta(d - 1, -1)) {
            dependence.distance[level] = Some(d);
            dependence.direction[level] = match d.signum() {
                1 => Direction::LT,
                0 => Direction::EQ,
                _ => Direction::GT,
            };
            continue;
        }
        if level == 0 {
            continue;
        }
        let mut dir = Direction::ANY;
        if excludes(delta(-1, 1)) {
            dir.lt = false;
        }
        if excludes(delta(-1, -1)) {
            dir.gt = false;
        }
        if without(poly::Constraint::eq(delta(0, 1))) {
            dir.eq = false;
        }
        dependence.direction[level] = dir;
    }
}

/// Whether a variable can have the value when the root begins, as far as what is assigned to it says: `m = n & 7` is never
/// -1, and `m = n / 2` is not free where the witness chooses n too. What comes out of calls and memory may be anything,
/// and so may what is moved step by step.
fn can_hold(model: &Model<'_>, s: SymbolId, v: i128, all: &[(Param, i128)]) -> bool {
    let body = model.body;
    let symbol = &body.symbols[s];
    let writes = model.effects.writes.get(&s).map_or(&[][..], Vec::as_slice);
    // What a place that was not understood makes of it is not known, nor what it is after a way that is not seen.
    if !model.effects.is_single_valued(s) && body.jumps_unseen(body.root)
        || writes.iter().any(|&w| body.reach(w).is_some())
    {
        return false;
    }
    if !matches!(symbol.storage, Storage::Local) || !symbol.is_own_scalar() || writes.is_empty() {
        return true;
    }
    writes.iter().any(|&w| {
        let value = match (body.op(w), body.args(w)) {
            (Op::Declare(_), &[e]) | (Op::Assign, &[_, e]) => e,
            (Op::Declare(_), _) => return false,
            _ => return true,
        };
        if let Some(c) = crate::control::constant(body, value) {
            return c == v;
        }
        // What changes later may have been anything then.
        let computed = body.walk(value).all(|x| match body.op(x) {
            Op::Sym(u) => {
                matches!(body.symbols[*u].storage, Storage::Constant(_)) || model.effects.is_single_valued(*u)
            }
            Op::Int(_) | Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Cast | Op::SizeOfType(_) => true,
            _ => false,
        });
        let free = |s: SymbolId| {
            !matches!(body.symbols[s].storage, Storage::Constant(_))
                && !all.iter().any(|(q, _)| *q == Param::Symbol(s))
                && !model.knows_at_entry(s)
        };
        let invertible = |e: TermId| {
            body.walk(e).all(|x| match body.op(x) {
                Op::Sym(s) => free(*s) || matches!(body.symbols[*s].storage, Storage::Constant(_)),
                Op::Int(_) | Op::Binary(BinOp::Add | BinOp::Sub) | Op::Cast => true,
                // Divided by something fixed every value is reached.
                Op::Binary(BinOp::Div | BinOp::Shr) => body
                    .args(x)
                    .get(1)
                    .is_some_and(|&d| crate::control::constant(body, d).is_some_and(|d| d > 0)),
                _ => false,
            }) && body.walk(e).any(|x| body.as_symbol(x).is_some_and(free))
        };
        !computed || invertible(value) || value_of(body, value, all, 0) == Some(v)
    })
}

/// The value of an expression of what the witness chose.
fn value_of(body: &Body, t: TermId, all: &[(Param, i128)], depth: u32) -> Option<i128> {
    if depth > 20 {
        return None;
    }
    let kind = body.types.as_int(body.ty(t))?;
    let arg = |i: usize| body.args(t).get(i).and_then(|&a| value_of(body, a, all, depth + 1));
    let value = match body.op(t) {
        Op::Int(v) => *v,
        Op::Sym(s) => match body.symbols[*s].storage {
            Storage::Constant(v) => v,
            _ => all.iter().find(|(q, _)| *q == Param::Symbol(*s))?.1,
        },
        Op::Cast => arg(0)?,
        Op::Binary(BinOp::Add) => arg(0)?.checked_add(arg(1)?)?,
        Op::Binary(BinOp::Sub) => arg(0)?.checked_sub(arg(1)?)?,
        Op::Binary(BinOp::Mul) => arg(0)?.checked_mul(arg(1)?)?,
        Op::Binary(BinOp::Div) => arg(0)?.checked_div(arg(1)?)?,
        Op::Binary(BinOp::Rem) => arg(0)?.checked_rem(arg(1)?)?,
        Op::Binary(BinOp::Shr) => arg(0)?.checked_shr(u32::try_from(arg(1)?).ok()?)?,
        Op::Binary(BinOp::BitAnd) => arg(0)? & arg(1)?,
        _ => return None,
    };
    (kind.wrap(value) == value).then_some(value)
}
