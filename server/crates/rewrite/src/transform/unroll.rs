//! Unrolling, by a factor or fully.
//!
//! Always legal: the order of the iterations stays (Bacon et al. 6.3.1). A loop for the remaining iterations follows
//! unless the number of iterations is a known multiple of the factor.

use rustc_hash::FxHashMap;
use term::strength::MUL;
use term::{IntKind, Op};

use super::refusal::{shape, Refusal};
use super::site::{Block, Counted, Site};
use super::subst::Replacement;
use super::text::Lines;
use super::{Plan, Transformation, With};
use crate::limits::transform_unroll::MOST;

pub(super) struct Unroll;

/// Whether the index may be replaced in copies of the body.
fn replaceable(site: &Site<'_>, c: &Counted<'_>) -> Result<(), Refusal> {
    if site.arithmetic().promotes(c.ty) {
        return shape("its index is narrower than `int`");
    }
    let names = site.names_in(&[c.lower, c.bound]);
    if site.declares_any(site.body().args(c.term)[3], &names) {
        return shape("its body declares a variable of a name that its range uses");
    }
    Ok(())
}

/// Writes the body with the index replaced, in braces where it declares something.
fn copy_body(
    site: &Site<'_>,
    lines: &mut Lines,
    c: &Counted<'_>,
    block: &Block,
    value: Replacement,
) -> Result<(), Refusal> {
    let root = site.body().args(c.term)[3];
    let declares =
        block.statements.iter().flat_map(|s| &s.terms).any(|&t| matches!(site.body().op(t), Op::Declare(_)));
    if declares {
        lines.open("");
    }
    let with = FxHashMap::from_iter([(c.index, value)]);
    for s in &block.statements {
        site.copy(lines, s, root, &with)?;
    }
    if declares {
        lines.close();
    }
    Ok(())
}

impl Transformation for Unroll {
    named!("unroll");
    fn about(&self) -> &'static str {
        "write the body several times and step over as many iterations"
    }
    fn with(&self) -> &'static str {
        "factor=4"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let factor = with.number("factor", 4, 2, MOST)?;
        let c = site.counted(id)?;
        site.movable(id, false)?;
        site.unpragmaed(id)?;
        site.one_type(&c)?;
        replaceable(site, &c)?;
        let block = site.block(id)?;
        if !c.ascending_by_one() {
            return shape("it does not count up by one");
        }
        let trips = site.trips(&c);
        if trips.is_some_and(|n| n < factor) {
            return shape(format!("it has fewer than {factor} iterations"));
        }
        let live = c.decl.is_empty() && site.live_after(id, c.index);
        if live {
            return shape(format!("`{}` is used after the loop", c.name));
        }
        Plan::new(format!("Unroll {} by {factor}", c.name), move || {
            let whole = trips.is_some_and(|n| n % factor == 0);
            let main_end = match (site.constant(c.lower), trips) {
                (Some(l), Some(n)) => (l + n / factor * factor).to_string(),
                _ => main_end(site, &c, factor),
            };
            let name = c.name;
            let main = format!(
                "for ({}{name} = {}; {name} < {main_end}; {name} += {factor})",
                c.decl,
                site.text_of(c.lower)
            );
            site.replace(id, if whole { 1 } else { 2 }, |lines| {
                lines.open(&main);
                for k in 0..factor {
                    copy_body(site, lines, &c, &block, Replacement::shift(name, k))?;
                }
                lines.close();
                if !whole {
                    let rest = c.written(site, Some(&main_end), None);
                    site.write_loop(lines, &rest, &block, &block.all())?;
                }
                Ok(())
            })
        })
    }
}

/// Where the unrolled loop ends, right for every value of the bound without overflow: from 0, `n - n % k` is at most 0
/// where `n` is negative.
fn main_end(site: &Site<'_>, c: &Counted<'_>, factor: i128) -> String {
    let end = c.end(site);
    let plain = end.chars().all(|c| c.is_alphanumeric() || c == '_');
    let end = if plain { end } else { format!("({end})") };
    if site.constant(c.lower) == Some(0) {
        return format!("{end} - {end} % {factor}");
    }
    let lower = site.operand(c.lower, MUL);
    let wide = match site.constant(c.lower) {
        Some(l) if l >= 0 => "",
        _ if c.ty.bits() == 32 => "(long)",
        _ => "",
    };
    format!("({lower} < {end} ? {end} - ({wide}{end} - {lower}) % {factor} : {lower})")
}

pub(super) struct UnrollFully;

impl Transformation for UnrollFully {
    named!("unroll-fully");
    fn about(&self) -> &'static str {
        "write the body once for each iteration"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let c = site.counted(id)?;
        site.movable(id, false)?;
        site.unpragmaed(id)?;
        site.one_type(&c)?;
        replaceable(site, &c)?;
        let block = site.block(id)?;
        let (Some(l), Some(n)) = (site.constant(c.lower), site.trips(&c)) else {
            return shape("the number of its iterations is not a known constant");
        };
        if !(1..=MOST).contains(&n) {
            return shape(format!("it has {n} iterations; at most {MOST} are written out"));
        }
        if c.ty != IntKind::Int {
            return shape("its index is no `int`: a number in its place would have another type");
        }
        let live = c.decl.is_empty() && site.live_after(id, c.index);
        Plan::new(format!("Unroll {} fully ({n} iterations)", c.name), move || {
            let count = block.statements.len() * n as usize + usize::from(live);
            site.replace(id, count, |lines| {
                for k in 0..n {
                    let at = Replacement::Shift { base: None, offset: l + k * c.step };
                    copy_body(site, lines, &c, &block, at)?;
                }
                if live {
                    lines.line(&format!("{} = {};", c.name, l + n * c.step));
                }
                Ok(())
            })
        })
    }
}
