//! Transformations that change the form of a loop and not the order of its iterations; all are always legal.
//!
//! Header removal (one iteration: the body alone), nesting (one loop as two, its range being a product) and collapsing
//! (two loops as one: Bacon et al. 6.2.6, 6.3.3).

use rustc_hash::FxHashMap;
use term::strength::SHIFT;
use term::{BinOp, IntKind, Op};

use super::peel::once;
use super::refusal::{shape, Refusal};
use super::site::Site;
use super::{Plan, Transformation, With};

pub(super) struct RemoveHeader;

impl Transformation for RemoveHeader {
    named!("remove-header");
    fn about(&self) -> &'static str {
        "put the body of a loop that runs once in its place"
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
        match site.trips(&c) {
            Some(1) => {}
            Some(n) => return shape(format!("it runs {n} iterations")),
            None => return shape("it is not known to run exactly once"),
        }
        let live = c.decl.is_empty() && site.live_after(id, c.index);
        Plan::new(format!("Remove the header of {} (one iteration)", c.name), move || {
            let value = site.text_of(c.lower);
            let same_type = site.body().types.as_int(site.body().ty(c.lower)) == Some(c.ty);
            let number = site.constant(c.lower);
            site.replace(id, block.statements.len() + usize::from(live), |lines| {
                once(site, lines, &c, &block, value, number, same_type)?;
                if live {
                    lines.line(&format!("{} = {};", c.name, site.plus(c.lower, c.step)));
                }
                Ok(())
            })
        })
    }
}

pub(super) struct Nesting;

impl Transformation for Nesting {
    named!("nest");
    fn about(&self) -> &'static str {
        "make two nested loops of one whose range is a product"
    }
    fn with(&self) -> &'static str {
        "size=16"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let c = site.counted(id)?;
        site.movable(id, true)?;
        site.unpragmaed(id)?;
        site.one_type(&c)?;
        let block = site.block(id)?;
        let body = site.body();
        if !c.ascending_by_one() || c.relation != BinOp::Lt || site.constant(c.lower) != Some(0) {
            return shape("it does not count up by one from 0 to a bound");
        }
        if c.decl.is_empty() && site.live_after(id, c.index) {
            return shape(format!("`{}` is used after the loop", c.name));
        }
        // the range as outer × inner, the inner one a positive number: both parts are empty where the range is
        let asked = with.get("size").map(|_| with.number("size", 16, 2, 1 << 20)).transpose()?;
        let (outer, inner) = match (site.constant(c.bound), body.op(c.bound), body.args(c.bound)) {
            (Some(n), ..) if n > 0 => {
                let k =
                    asked.or_else(|| [16, 8, 32, 4, 10, 5, 3, 2].into_iter().find(|k| n % k == 0 && n > *k));
                match k {
                    Some(k) if n % k == 0 => ((n / k).to_string(), k),
                    _ => return shape(format!("its {n} iterations are not a multiple of the size")),
                }
            }
            (None, Op::Binary(BinOp::Mul), &[x, y]) => match (site.constant(x), site.constant(y)) {
                (_, Some(k)) if k > 1 && asked.is_none_or(|a| a == k) => (site.operand(x, SHIFT), k),
                (Some(k), _) if k > 1 && asked.is_none_or(|a| a == k) => (site.operand(y, SHIFT), k),
                _ => return shape("neither factor of its range is a positive number"),
            },
            _ => return shape("its range is not a product"),
        };
        Plan::new(format!("Nest {} ({outer} by {inner})", c.name), move || {
            let name = c.name;
            let (high, low) = (site.fresh(&format!("{name}_outer")), site.fresh(&format!("{name}_inner")));
            let ty = c.ty.c_name();
            let decl = if c.decl.is_empty() { "" } else { c.decl };
            site.replace(id, 1, |lines| {
                lines.open(&format!("for ({ty} {high} = 0; {high} < {outer}; {high}++)"));
                lines.open(&format!("for ({ty} {low} = 0; {low} < {inner}; {low}++)"));
                lines.line(&format!("{decl}{name} = {high} * {inner} + {low};"));
                for s in &block.statements {
                    site.copy(lines, s, c.term, &FxHashMap::default())?;
                }
                lines.close();
                lines.close();
                Ok(())
            })
        })
    }
}

pub(super) struct Collapse;

impl Transformation for Collapse {
    named!("collapse");
    fn about(&self) -> &'static str {
        "make one loop of two that are perfectly nested"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let Some(inside) = site.only_inside(id) else {
            return shape("its body is not just one loop");
        };
        let (a, b) = (site.counted(id)?, site.counted(inside)?);
        for l in [id, inside] {
            site.movable(l, l == inside)?;
            site.unpragmaed(l)?;
        }
        site.block(id)?;
        let block = site.block(inside)?;
        let (Some(n), Some(m)) = (site.trips(&a), site.trips(&b)) else {
            return shape("the numbers of its iterations are not known constants");
        };
        if n < 1 || m < 1 || n * m >= 1 << 31 || a.ty != IntKind::Int || b.ty != IntKind::Int {
            return shape("its range is empty or too large for one `int`");
        }
        let (Some(l), Some(k)) = (site.constant(a.lower), site.constant(b.lower)) else {
            return shape("its first values are not known constants");
        };
        for c in [&a, &b] {
            if site.live_after(id, c.index) {
                return shape(format!("`{}` is used after the loops", c.name));
            }
        }
        if a.name == b.name {
            return shape("its two indices have one name");
        }
        Plan::new(format!("Collapse {} and {} into one loop", a.name, b.name), move || {
            let both = site.fresh(&format!("{}_{}", a.name, b.name));
            let value = |start: i128, step: i128, number: String| {
                let scaled = if step == 1 { number } else { format!("({number}) * {step}") };
                if start == 0 {
                    scaled
                } else {
                    format!("{start} + {scaled}")
                }
            };
            site.replace(id, 1, |lines| {
                lines.open(&format!("for (int {both} = 0; {both} < {}; {both}++)", n * m));
                lines.line(&format!("int {} = {};", a.name, value(l, a.step, format!("{both} / {m}"))));
                lines.line(&format!("int {} = {};", b.name, value(k, b.step, format!("{both} % {m}"))));
                for s in &block.statements {
                    site.copy(lines, s, b.term, &FxHashMap::default())?;
                }
                lines.close();
                Ok(())
            })
        })
    }
}
