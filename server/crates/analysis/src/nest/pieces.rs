//! Values that depend on conditions, and comparisons of values as domains.

use term::BinOp;

use crate::algebra::poly::{Constraint, Domain, Poly, Var, VarKind};

/// A value with the condition under which it is that one.
pub(super) type Pieces = Vec<(Domain, Poly)>;

pub(super) fn known_pieces(vars: &[VarKind], p: &Pieces) -> bool {
    let known = |v: Var| !matches!(vars[v as usize], VarKind::Fresh | VarKind::Image);
    p.iter().all(|(d, p)| d.exact && p.vars().all(known))
}

/// Conditions over unknown values say nothing exactly.
pub(super) fn exact_if_known(vars: &[VarKind], d: Domain) -> Domain {
    let unknown = d
        .pieces
        .iter()
        .flatten()
        .any(|c| c.poly.vars().any(|v| matches!(vars[v as usize], VarKind::Fresh | VarKind::Image)));
    if unknown {
        d.inexact()
    } else {
        d
    }
}

pub(super) fn map_pieces(v: Pieces, f: impl Fn(&Poly) -> Option<Poly>) -> Option<Pieces> {
    v.into_iter().map(|(d, p)| Some((d, f(&p)?))).collect()
}

pub(super) fn compare_pieces(op: BinOp, a: &Pieces, b: &Pieces) -> Domain {
    let mut out = Domain::never();
    for (da, pa) in a {
        for (db, pb) in b {
            out = out.or(&da.and(db).and(&compare(op, pa, pb)));
        }
    }
    out
}

/// Where `a op b` holds.
pub(super) fn compare(op: BinOp, a: &Poly, b: &Poly) -> Domain {
    let diff = |x: &Poly, y: &Poly, k: i128| x.sub(y).and_then(|p| p.add_constant(k));
    let ge = |p: Option<Poly>| p.map_or_else(Domain::unknown, |p| Domain::of(Constraint::non_negative(p)));
    match op {
        BinOp::Lt => ge(diff(b, a, -1)),
        BinOp::Le => ge(diff(b, a, 0)),
        BinOp::Gt => ge(diff(a, b, -1)),
        BinOp::Ge => ge(diff(a, b, 0)),
        BinOp::Eq => diff(a, b, 0).map_or_else(Domain::unknown, |p| Domain::of(Constraint::zero(p))),
        BinOp::Ne => ge(diff(b, a, -1)).or(&ge(diff(a, b, -1))),
        _ => Domain::unknown(),
    }
}
