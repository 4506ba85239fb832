//! A dependence made concrete: parameter values, two iterations, the cell they share, and how far apart they are.

use base::Budget;
use rustc_hash::FxHashMap;
use term::SymbolId;

use crate::algebra::poly::{Poly, Var, VarKind};
use crate::depend::Pairs;
use crate::nest::{AffineAccess, Model};
use crate::solve::Solver;
use crate::{Dependence, Direction, Param, Witness};

/// The witness at a point of the pairs; `None` where a value of it cannot be told.
pub(crate) fn witness(
    model: &Model<'_>,
    source: &AffineAccess,
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
                let x = match model.vars.kind(*v) {
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
                        let (numerator, k) = model.vars.numerator(*v)?;
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
        if let VarKind::Param(p) = model.vars.kind(*v) {
            params.push((*p, *x));
        }
    }
    for (v, x) in fixed {
        if let VarKind::Param(p) = model.vars.kind(*v) {
            params.push((*p, *x));
        }
    }
    params.sort_unstable();
    // where cells are counted all through, the sum says which it is
    let subscripts =
        || source.subs.iter().map(|s| s.value.as_ref().and_then(|p| value_at(p, false))).collect();
    let cell: Option<Vec<i128>> = match source.flat.as_ref().and_then(|p| value_at(p, false)) {
        Some(flat) => Some(vec![flat]),
        None => subscripts(),
    };
    Some(Witness {
        params,
        source: indices(&pairs.source_loops, false)?,
        sink: indices(&pairs.sink_loops, true)?,
        source_iteration: value_at(iteration?, false)?,
        sink_iteration: value_at(iteration?, true)?,
        cell: cell.unwrap_or_default(),
        on_data: false,
        entry: Vec::new(),
    })
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
