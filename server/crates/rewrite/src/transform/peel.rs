//! Peeling: the first or the last iteration on its own.
//!
//! Always legal: the order of the iterations stays (Allen & Kennedy 5.7; Bacon et al. 6.3.5). What it removes are
//! dependences that start or end in that one iteration.

use rustc_hash::FxHashMap;
use term::strength::{ATOM, SHIFT};
use term::{BinOp, IntKind, Op};
use text::Edit;

use super::refusal::{shape, Refusal};
use super::site::{Block, Counted, Site};
use super::subst::Replacement;
use super::text::Lines;
use super::{Plan, Transformation, With};

pub(super) struct Peel;

impl Transformation for Peel {
    named!("peel");
    fn about(&self) -> &'static str {
        "run the first (or last) iteration on its own"
    }
    fn with(&self) -> &'static str {
        "first | last"
    }
    fn enables(&self) -> bool {
        true
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let c = site.counted(id)?;
        site.movable(id, false)?;
        site.unpragmaed(id)?;
        if c.relation == BinOp::Ne || site.arithmetic().promotes(c.ty) {
            return shape("its index is narrower than `int`, or its condition is `!=`");
        }
        let block = site.block(id)?;
        let last = with.has("last");
        let runs = site.trips(&c).is_some_and(|n| n > 0);
        if c.decl.is_empty() && !runs && site.live_after(id, c.index) {
            return shape(format!("`{}` is used after the loop", c.name));
        }
        if last {
            if c.decl.is_empty() && site.live_after(id, c.index) {
                return shape(format!("`{}` is used after the loop", c.name));
            }
            site.one_type(&c)?;
            if !c.ascending_by_one() {
                return shape("its last value is known only where it counts up by one");
            }
            return Plan::new(format!("Peel the last iteration of {}", c.name), move || {
                peel_last(site, &c, &block, runs)
            });
        }
        Plan::new(format!("Peel the first iteration of {}", c.name), move || {
            peel_first(site, &c, &block, runs)
        })
    }
}

fn guard(site: &Site<'_>, c: &Counted<'_>) -> String {
    format!("{} {} {}", site.operand(c.lower, SHIFT), c.relation.symbol(), site.operand(c.bound, SHIFT))
}

/// The body in one iteration: with the value in the place of the index, or with the index as a variable where the
/// value's type differs or it is not short.
pub(super) fn once(
    site: &Site<'_>,
    lines: &mut Lines,
    c: &Counted<'_>,
    block: &Block,
    value: &str,
    number: Option<i128>,
    same_type: bool,
) -> Result<(), Refusal> {
    let body = site.body();
    let root = body.args(c.term)[3];
    let names = site.names_in(&[c.lower, c.bound]);
    let replacement = match number {
        Some(n) if c.ty == IntKind::Int => Some(Replacement::Shift { base: None, offset: n }),
        _ if same_type && !site.declares_any(root, &names) => {
            let word = value.chars().all(|c| c.is_alphanumeric() || c == '_');
            word.then(|| Replacement::text(value, ATOM))
        }
        _ => None,
    };
    let declares =
        block.statements.iter().flat_map(|s| &s.terms).any(|&t| matches!(body.op(t), Op::Declare(_)));
    // a macro in the body may speak of the index: then it stays a variable
    let with = replacement.map(|r| FxHashMap::from_iter([(c.index, r)]));
    let fits = with.as_ref().is_some_and(|w| {
        let all = block.statements.iter();
        all.clone().count() > 0
            && all.into_iter().all(|s| super::subst::render(site, root, s.chunk.whole, w, false).is_ok())
    });
    match with.filter(|_| fits) {
        Some(with) => {
            if declares {
                lines.open("");
            }
            for s in &block.statements {
                site.copy(lines, s, root, &with)?;
            }
            if declares {
                lines.close();
            }
        }
        None => {
            let braces = declares || !c.decl.is_empty();
            if braces {
                lines.open("");
            }
            lines.line(&format!("{}{} = {value};", c.decl, c.name));
            for s in &block.statements {
                site.copy(lines, s, root, &FxHashMap::default())?;
            }
            if braces {
                lines.close();
            }
        }
    }
    Ok(())
}

fn peel_first(site: &Site<'_>, c: &Counted<'_>, block: &Block, runs: bool) -> Result<Vec<Edit>, Refusal> {
    let value = site.text_of(c.lower);
    let number = site.constant(c.lower);
    let same_type = site.body().types.as_int(site.body().ty(c.lower)) == Some(c.ty);
    let next = site.plus(c.lower, c.step);
    let rest = c.written(site, Some(&next), None);
    // where the first value is a number the next one is too; else it is computed only after the first iteration ran
    let apart = number.is_some();
    let count = if runs {
        block.statements.len() + 1
    } else if apart {
        2
    } else {
        0
    };
    site.replace(site.target, count, |lines| {
        if runs {
            once(site, lines, c, block, value, number, same_type)?;
            return site.write_loop(lines, &rest, block, &block.all());
        }
        lines.open(&format!("if ({})", guard(site, c)));
        once(site, lines, c, block, value, number, same_type)?;
        if apart {
            lines.close();
        }
        site.write_loop(lines, &rest, block, &block.all())?;
        if !apart {
            lines.close();
        }
        Ok(())
    })
}

fn peel_last(site: &Site<'_>, c: &Counted<'_>, block: &Block, runs: bool) -> Result<Vec<Edit>, Refusal> {
    let one = i128::from(c.relation == BinOp::Lt);
    let value = site.plus(c.bound, -one);
    let number = site.constant(c.bound).map(|n| n - one);
    let same_type = site.body().types.as_int(site.body().ty(c.bound)) == Some(c.ty);
    let before = c.written(site, None, Some(&site.plus(c.bound, -1)));
    site.replace(site.target, if runs { 1 + block.statements.len() } else { 0 }, |lines| {
        if !runs {
            lines.open(&format!("if ({})", guard(site, c)));
        }
        site.write_loop(lines, &before, block, &block.all())?;
        once(site, lines, c, block, &value, number, same_type)?;
        if !runs {
            lines.close();
        }
        Ok(())
    })
}
