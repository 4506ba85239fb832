//! How much a plan moves and runs, for whoever says whether it is worth it.

use analysis::{Expr, Param};
use term::Body;

use super::{constant, simplify, BufferPlan, Dim};

impl Dim {
    /// Iterations at most.
    pub fn trip_count(&self) -> Expr {
        folded(&simplify::under(&self.trips, &[]))
    }

    /// The same whatever values variables have between two ends; `ends`: those of the variables that change.
    pub fn widest(&self, ends: Ends) -> Option<Expr> {
        widest(&self.trip_count(), ends)
    }
}

/// The least and the greatest value of a variable that changes; `Ok(None)`: it does not change, `Err`: they are not known.
pub type Ends<'a> = &'a dyn Fn(Param) -> Result<Option<(Expr, Expr)>, ()>;

/// Ends that lie at ends of others are followed so far: an index may begin where it is.
const DEEPEST: u32 = 8;

/// The greatest value of an expression whatever values variables have between two ends.
pub fn widest(e: &Expr, ends: Ends) -> Option<Expr> {
    Some(folded(&most(&folded(e), ends, true, 0)?))
}

/// The greatest (or least) value, each variable by itself.
fn most(e: &Expr, ends: Ends, greatest: bool, depth: u32) -> Option<Expr> {
    if depth > DEEPEST {
        return None;
    }
    let of = |e: &Expr, greatest: bool| most(e, ends, greatest, depth);
    let all = |items: &[Expr]| items.iter().map(|i| of(i, greatest)).collect::<Option<Vec<Expr>>>();
    Some(match e {
        Expr::Int(_) => e.clone(),
        Expr::Param(p) => match ends(*p).ok()? {
            None => e.clone(),
            Some((low, high)) => most(if greatest { &high } else { &low }, ends, greatest, depth + 1)?,
        },
        Expr::Add(items) => Expr::Add(all(items)?),
        Expr::Min(items) => Expr::Min(all(items)?),
        Expr::Max(items) => Expr::Max(all(items)?),
        Expr::Mul(k, a) => Expr::Mul(*k, Box::new(of(a, greatest == (*k >= 0))?)),
        Expr::FloorDiv(a, by) => Expr::FloorDiv(Box::new(of(a, greatest)?), *by),
        // the same always, or its sign decides
        Expr::Product(a, b) | Expr::Quotient(a, b) => {
            let steady = [a, b].iter().all(|x| of(x, greatest).is_some_and(|m| m == ***x));
            return steady.then(|| e.clone());
        }
        Expr::Select(..) => return None,
    })
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

/// Adds an item to others: what is there already counts once more, and goes where nothing is left of it.
fn add(others: &mut Vec<Expr>, item: Expr) {
    fn parts(e: &Expr) -> (i128, &Expr) {
        match e {
            Expr::Mul(k, a) => (*k, a),
            e => (1, e),
        }
    }
    let (more, of) = parts(&item);
    let at = others.iter().position(|o| parts(o).1 == of);
    let total = at.and_then(|at| others.get(at)).and_then(|o| parts(o).0.checked_add(more));
    match (at, total) {
        (Some(at), Some(0)) => drop(others.remove(at)),
        (Some(at), Some(total)) => {
            let sum = if total == 1 { of.clone() } else { Expr::Mul(total, Box::new(of.clone())) };
            if let Some(o) = others.get_mut(at) {
                *o = sum;
            }
        }
        _ => others.push(item),
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
                    other => add(&mut others, other),
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
