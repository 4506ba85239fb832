//! Elements of arrays that are taken to be sorted: `row[i + 1]` of an iteration and `row[i]` of a later one.

use term::TermId;

use crate::algebra::poly::{Poly, Var};
use crate::depend::{add_exist, PairSpace};

/// Of elements of arrays that are taken to be sorted, loaded by two iterations of the root: the later in the array is not less. Which
/// one that is must follow from the iterations' order alone. Gives the arrays.
pub(super) fn add_order(f: &mut PairSpace<'_, '_>) -> Vec<TermId> {
    let mut arrays = Vec::new();
    let (model, root) = (f.model, f.model.loops[0].var);
    if model.vars.loads.is_empty() {
        return arrays;
    }
    let loads = |sink: bool| {
        let mut of: Vec<(usize, Var)> =
            f.exists.iter().filter(|((_, s), _)| *s == sink).map(|((v, _), k)| (*k, *v)).collect();
        of.retain(|(_, v)| model.vars.loads.contains_key(v));
        of.sort_unstable();
        of
    };
    let mut rows = Vec::new();
    for (a, v) in loads(false) {
        for (b, w) in loads(true) {
            let (x, y) = (&model.vars.loads[&v], &model.vars.loads[&w]);
            let (Some(array), true) = (model.promises.sorted(x.array), x.array == y.array) else { continue };
            let ([x], [y]) = (&x.subscripts[..], &y.subscripts[..]) else { continue };
            // c * (later - earlier) + rest, where later - earlier is at least 1
            let (c, d) = (x.coefficient(root), y.coefficient(root));
            let rest = y.sub(x).and_then(|p| p.as_constant()).filter(|_| c == d);
            let is_fixed = |p: &Poly| p.vars().all(|v| v == root || model.is_param(v));
            let (Some(rest), true) = (rest, is_fixed(x)) else { continue };
            let ends = |least: i128, sign: i128| {
                (least >= 0).then(|| add_exist(add_exist(poly::Row::constant(0), b, sign), a, -sign))
            };
            let behind = if c >= 0 { ends(c + rest, 1) } else { None };
            let before = if c <= 0 { ends(-c - rest, -1) } else { None };
            for row in behind.into_iter().chain(before) {
                rows.push(poly::Constraint::ge(row));
                arrays.push(array);
            }
        }
    }
    f.constraints.extend(rows);
    arrays
}
