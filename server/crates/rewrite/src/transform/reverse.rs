//! Reversal: the iterations run in the opposite order.
//!
//! Legal iff the loop carries no dependence (Wolfe 9.1): one it carries would run its sink first. The new header counts
//! to the same values without leaving the index's type.

use analysis::Order;
use term::strength::SHIFT;
use term::{BinOp, Op};
use text::Edit;

use super::refusal::{shape, Refusal};
use super::site::{offending, Counted, Site};
use super::{Plan, Transformation, With};

pub(super) struct Reverse;

impl Transformation for Reverse {
    named!("reverse");
    fn about(&self) -> &'static str {
        "run the iterations in the opposite order"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let c = site.counted(id)?;
        site.movable(id, true)?;
        site.unpragmaed(id)?;
        let (header, guard) = reversed(site, &c)?;
        let g = site.sure(id)?;
        if g.live_out.contains(&c.index) {
            return shape(format!("`{}` is used after the loop", c.name));
        }
        let aside = site.aside(&g, id, &[c.index]);
        if let Some(e) = offending(g.edges_without(&aside), |v| v.first() == Some(&Order::Before)) {
            return Err(Refusal::Dependence(Box::new(e.clone()), "reversal would turn it around".into()));
        }
        let title = format!("Reverse {}", c.name);
        Plan::new(title, move || {
            let mut edits = vec![Edit::replace(c.header.inside, header)];
            if let Some(guard) = guard {
                // in braces where an `else` might follow
                let braces = !site.in_braces(c.term);
                let open = if braces { "{ " } else { "" };
                edits.insert(0, Edit::insert(c.header.whole.start, format!("{open}if ({guard}) ")));
                if braces {
                    edits.push(Edit::insert(site.span(c.term).end, " }"));
                }
            }
            Ok(edits)
        })
    }
}

/// The new header, and what must hold before its first value may be computed.
fn reversed(site: &Site<'_>, c: &Counted<'_>) -> Result<(String, Option<String>), Refusal> {
    if !site.arithmetic().is_exact(c.ty) {
        return shape(
            "its index is not a signed number of at least 32 bits, which could count below its range",
        );
    }
    let body = site.body();
    let same_type = |t| body.types.as_int(body.ty(t)) == Some(c.ty) || site.constant(t).is_some();
    if !same_type(c.lower) || !same_type(c.bound) {
        return shape("its index and its range have different types");
    }
    let set = format!("{}{} = ", c.decl, c.name);
    let name = c.name;
    if let (Some(n), Some(l)) = (site.trips(c), site.constant(c.lower)) {
        // all values are known
        let last = l + (n - 1) * c.step;
        if n < 1 {
            return shape("it runs no iteration");
        }
        let (relation, by) = match c.step {
            1 => (">=", "--".to_owned()),
            -1 => ("<=", "++".to_owned()),
            s if s > 0 => (">=", format!(" -= {s}")),
            s => ("<=", format!(" += {}", -s)),
        };
        return Ok((format!("{set}{last}; {name} {relation} {l}; {name}{by}"), None));
    }
    let lower = site.operand(c.lower, SHIFT);
    match (c.step, c.relation) {
        (1, BinOp::Lt | BinOp::Le) => {
            if site.constant(c.lower).is_none() {
                return shape("its first value is not a constant: counting down past it could overflow");
            }
            let last = if c.relation == BinOp::Lt {
                site.plus(c.bound, -1)
            } else {
                site.text_of(c.bound).to_owned()
            };
            let guard = (c.relation == BinOp::Lt)
                .then(|| format!("{} < {}", site.operand(c.lower, SHIFT), site.operand(c.bound, SHIFT)));
            // only a computed bound minus one can overflow
            let guard = guard.filter(|_| site.constant(c.bound).is_none());
            Ok((format!("{set}{last}; {name} >= {lower}; {name}--"), guard))
        }
        (-1, BinOp::Ge | BinOp::Gt) => {
            // upwards to the first value: `i <= x - 1` is `i < x`
            let (relation, top) = match (body.op(c.lower), body.args(c.lower)) {
                (Op::Binary(BinOp::Sub), &[x, k]) if site.constant(k) == Some(1) => {
                    ("<", site.operand(x, SHIFT))
                }
                _ => match site.constant(c.lower) {
                    Some(_) => ("<=", lower.to_owned()),
                    None => return shape("counting up past its first value could overflow"),
                },
            };
            let first = if c.relation == BinOp::Ge {
                site.text_of(c.bound).to_owned()
            } else if site.constant(c.bound).is_some() {
                site.plus(c.bound, 1)
            } else {
                return shape("its last value could overflow");
            };
            Ok((format!("{set}{first}; {name} {relation} {top}; {name}++"), None))
        }
        _ => shape("its last value is not known"),
    }
}
