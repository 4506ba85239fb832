//! How much a plan moves and runs, for whoever says whether it is worth it.

use analysis::Expr;
use term::Body;

use super::{constant, simplify, BufferPlan, Dim};

impl Dim {
    /// Iterations at most.
    pub fn trip_count(&self) -> Expr {
        folded(&simplify::under(&self.trips, &[]))
    }
}

impl BufferPlan {
    /// Number of bytes, where an expression says it.
    pub fn bytes(&self, body: &Body) -> Option<Expr> {
        let bytes = match &self.extent {
            Some((first, last)) => {
                let minus = Expr::Mul(-1, Box::new(first.clone()));
                let count = Expr::Add(vec![last.clone(), minus, Expr::Int(1)]);
                Expr::Mul(i128::from(self.element_size), Box::new(folded(&simplify::under(&count, &[]))))
            }
            None if self.search.is_some() => return None,
            None => Expr::Int(i128::from(body.types.size_align(body.symbols.get(self.symbol)?.ty)?.0)),
        };
        Some(folded(&bytes))
    }
}

/// The same where the loops run at all, with its numbers put together.
fn folded(e: &Expr) -> Expr {
    if let Some(n) = constant(e) {
        return Expr::Int(n);
    }
    match e {
        Expr::Select(_, runs, _) => folded(runs),
        Expr::Mul(k, a) => match folded(a) {
            Expr::Add(items) if *k == -1 => {
                folded(&Expr::Add(items.into_iter().map(|i| Expr::Mul(-1, Box::new(i))).collect()))
            }
            Expr::Int(n) => n.checked_mul(*k).map_or(e.clone(), Expr::Int),
            Expr::Mul(l, a) => l.checked_mul(*k).map_or(e.clone(), |n| Expr::Mul(n, a)),
            a => Expr::Mul(*k, Box::new(a)),
        },
        Expr::Add(items) => {
            let (mut number, mut others) = (0i128, Vec::new());
            let mut open: Vec<Expr> = items.iter().rev().map(folded).collect();
            while let Some(item) = open.pop() {
                match item {
                    Expr::Int(n) => match number.checked_add(n) {
                        Some(sum) => number = sum,
                        None => return e.clone(),
                    },
                    Expr::Add(more) => open.extend(more.into_iter().rev()),
                    other => others.push(other),
                }
            }
            if number != 0 || others.is_empty() {
                others.push(Expr::Int(number));
            }
            match <[Expr; 1]>::try_from(others) {
                Ok([one]) => one,
                Err(all) => Expr::Add(all),
            }
        }
        e => e.clone(),
    }
}
