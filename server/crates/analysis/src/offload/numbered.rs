//! Loops whose step is no constant: the number of iterations is a quotient that sets cannot say. In the model it is a value of
//! its own, for which the quotient is put in what the host is told.

use term::TermId;

use crate::{Expr, Offload, Param, Pred};

/// Puts the number of iterations wherever the parameter stands that is the loop itself.
pub(crate) fn tell_trips(of: &mut Offload, root: TermId, trips: &Expr) {
    let told = |e: &mut Expr| *e = expr(e, root, trips);
    of.max_trips.iter_mut().for_each(told);
    for b in &mut of.buffers {
        let rows = b.rows.iter_mut().flat_map(|r| {
            let of_pointers = r.subscripts.iter_mut().flat_map(|s| [&mut s.all, &mut s.one]);
            of_pointers.chain(&mut r.written)
        });
        for (first, last) in b.extent.iter_mut().chain(rows) {
            told(first);
            told(last);
        }
    }
    of.walks.iter_mut().for_each(|w| told(&mut w.step));
    of.finals.iter_mut().for_each(|f| told(&mut f.value));
    for c in &mut of.conditions {
        if let Some(p) = &mut c.check {
            *p = pred(p, root, trips);
        }
    }
}

fn expr(e: &Expr, root: TermId, trips: &Expr) -> Expr {
    let one = |e: &Expr| Box::new(expr(e, root, trips));
    let all = |es: &[Expr]| es.iter().map(|e| expr(e, root, trips)).collect();
    match e {
        Expr::Param(Param::Term(t)) if *t == root => trips.clone(),
        Expr::Int(_) | Expr::Param(_) => e.clone(),
        Expr::Add(es) => Expr::Add(all(es)),
        Expr::Min(es) => Expr::Min(all(es)),
        Expr::Max(es) => Expr::Max(all(es)),
        Expr::Mul(k, e) => Expr::Mul(*k, one(e)),
        Expr::Product(a, b) => Expr::Product(one(a), one(b)),
        Expr::FloorDiv(e, d) => Expr::FloorDiv(one(e), *d),
        Expr::Quotient(a, b) => Expr::Quotient(one(a), one(b)),
        Expr::Select(p, a, b) => Expr::Select(Box::new(pred(p, root, trips)), one(a), one(b)),
    }
}

fn pred(p: &Pred, root: TermId, trips: &Expr) -> Pred {
    let all = |ps: &[Pred]| ps.iter().map(|p| pred(p, root, trips)).collect();
    match p {
        Pred::True | Pred::False => p.clone(),
        Pred::NonNegative(e) => Pred::NonNegative(expr(e, root, trips)),
        Pred::Zero(e) => Pred::Zero(expr(e, root, trips)),
        Pred::And(ps) => Pred::And(all(ps)),
        Pred::Or(ps) => Pred::Or(all(ps)),
        Pred::Not(p) => Pred::Not(Box::new(pred(p, root, trips))),
    }
}
