//! Statement reordering: the statements of an iteration in another order that its own dependences allow.
//!
//! Only dependences within an iteration bind (Allen & Kennedy, theorem 2.4); the order chosen puts the sources of carried
//! dependences before their sinks, so that what was carried backwards in the text leads forwards, as other tools want it.

use analysis::Order;
use term::SymbolId;

use super::refusal::{shape, Refusal};
use super::site::Site;
use super::{Plan, Transformation, With};

pub(super) struct Reorder;

impl Transformation for Reorder {
    named!("reorder");
    fn about(&self) -> &'static str {
        "put the statements of the body in an order in which carried dependences lead forwards"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let c = site.counted(id)?;
        site.movable(id, false)?;
        site.unpragmaed(id)?;
        let block = site.block(id)?;
        let n = block.statements.len();
        if n < 2 {
            return shape("its body is one statement");
        }
        site.separable(id, &block)?;
        let g = site.sure(id)?;
        let home = |k: Option<usize>| {
            let t = g.statements.get(k?)?;
            block.statements.iter().position(|s| s.terms.contains(t))
        };
        // what must come first, and what had better
        let mut must = vec![vec![false; n]; n];
        let mut wish = vec![vec![false; n]; n];
        for &(a, b, _) in &g.ties {
            if let (Some(a), Some(b)) = (home(Some(a)), home(Some(b))) {
                must[a.min(b)][a.max(b)] |= a != b;
            }
        }
        let local = |s: &SymbolId| g.local.contains(s) || *s == c.index;
        for e in &g.edges {
            let (Some(a), Some(b)) = (home(e.from), home(e.to)) else {
                return Err(Refusal::Dependence(
                    Box::new(e.clone()),
                    "the loop's range takes part in it".into(),
                ));
            };
            if a == b || (e.object.fields.is_empty() && local(&e.object.symbol)) {
                continue;
            }
            if e.vectors.iter().any(|v| v.first() == Some(&Order::Same)) {
                must[a][b] = true;
            }
            if e.carried() {
                wish[a][b] = true;
            }
        }
        let mut order: Vec<usize> = Vec::new();
        while order.len() < n {
            let left: Vec<usize> = (0..n).filter(|k| !order.contains(k)).collect();
            let ready: Vec<usize> =
                left.iter().copied().filter(|&k| left.iter().all(|&p| p == k || !must[p][k])).collect();
            let free = ready.iter().copied().find(|&k| left.iter().all(|&p| p == k || !wish[p][k]));
            let Some(k) = free.or(ready.first().copied()) else {
                return shape("its statements depend on each other in a cycle");
            };
            order.push(k);
        }
        if order.windows(2).all(|w| w[0] < w[1]) {
            return shape("its statements stand in the best order already");
        }
        let words: Vec<String> = order.iter().map(|k| (k + 1).to_string()).collect();
        Plan::new(format!("Reorder the statements of {} ({})", c.name, words.join(", ")), move || {
            let header = site.slice(c.header.whole);
            site.replace(id, 1, |lines| {
                let statements: Vec<_> = order.iter().map(|&k| &block.statements[k]).collect();
                site.write_loop(lines, header, &block, &statements)
            })
        })
    }
}
