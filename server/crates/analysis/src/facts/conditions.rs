//! Conditions under which facts hold, as they come together, and the parameters that expressions ask for.

use super::{Condition, ConditionKind, Expr, LoopFacts, MetBy, Param, Pred};

impl LoopFacts {
    pub(crate) fn note(&mut self, kind: ConditionKind, met_by: MetBy, check: Option<Pred>) {
        if let Some(old) = self.conditions.iter_mut().find(|c| c.kind == kind) {
            if let Some(p) = check {
                old.met_by = met_by;
                old.check = Some(match old.check.take() {
                    None => p,
                    Some(q) if q == p => p,
                    Some(Pred::And(mut qs)) => {
                        if !qs.contains(&p) {
                            qs.push(p);
                        }
                        Pred::And(qs)
                    }
                    Some(q) => Pred::And(vec![q, p]),
                });
            }
            return;
        }
        self.conditions.push(Condition { kind, met_by, check });
    }
}

impl Expr {
    /// Every parameter of the expression.
    pub(crate) fn params(&self, f: &mut dyn FnMut(Param)) {
        match self {
            Expr::Int(_) => {}
            Expr::Param(p) => f(*p),
            Expr::Add(es) | Expr::Min(es) | Expr::Max(es) => es.iter().for_each(|e| e.params(f)),
            Expr::Mul(_, e) | Expr::FloorDiv(e, _) => e.params(f),
            Expr::Product(a, b) | Expr::Quotient(a, b) => {
                a.params(f);
                b.params(f);
            }
            Expr::Select(p, a, b) => {
                p.params(f);
                a.params(f);
                b.params(f);
            }
        }
    }
}

impl Pred {
    /// Every parameter of the condition.
    pub(crate) fn params(&self, f: &mut dyn FnMut(Param)) {
        match self {
            Pred::True | Pred::False => {}
            Pred::NonNegative(e) | Pred::Zero(e) => e.params(f),
            Pred::And(ps) | Pred::Or(ps) => ps.iter().for_each(|p| p.params(f)),
            Pred::Not(p) => p.params(f),
        }
    }
}
