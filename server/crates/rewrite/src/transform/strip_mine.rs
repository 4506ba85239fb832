//! Strip mining: a loop over strips of a loop over the iterations of a strip.
//!
//! Always legal: the order of the iterations stays (Allen & Kennedy 9.3; Bacon et al. 6.2.4). The strip's index is of 64
//! bits, so that its last step does not overflow where the loop's own index did not.

use term::IntKind;

use super::refusal::{shape, Refusal};
use super::site::Site;
use super::{Plan, Transformation, With};

pub(super) struct StripMine;

impl Transformation for StripMine {
    named!("strip-mine");
    fn about(&self) -> &'static str {
        "make a loop over strips and a loop within a strip"
    }
    fn with(&self) -> &'static str {
        "size=32"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let size = with.number("size", 32, 2, 1 << 20)?;
        let c = site.counted(id)?;
        site.movable(id, true)?;
        site.unpragmaed(id)?;
        site.one_type(&c)?;
        let block = site.block(id)?;
        if !c.ascending_by_one() || site.arithmetic().promotes(c.ty) {
            return shape("it does not count up by one in `int` or wider");
        }
        if c.decl.is_empty() && site.live_after(id, c.index) {
            return shape(format!("`{}` is used after the loop", c.name));
        }
        let title = format!("Strip-mine {} by {size}", c.name);
        Plan::new(title, move || {
            let strip = site.fresh(&format!("{}_strip", c.name));
            let wide = match c.ty {
                k if k.bits() == 64 => k,
                k if k.signed() => IntKind::Long,
                _ => IntKind::ULong,
            };
            let known = match (site.constant(c.lower), site.constant(c.bound)) {
                (Some(l), Some(_)) => site.trips(&c).filter(|n| *n < 1 << 30 && l.abs() < 1 << 30),
                _ => None,
            };
            let kind = if known.is_some() { c.ty } else { wide };
            let end = c.end(site);
            let end =
                if end.chars().all(|c| c.is_alphanumeric() || c == '_') { end } else { format!("({end})") };
            let outer = format!(
                "for ({} {strip} = {}; {strip} < {end}; {strip} += {size})",
                kind.c_name(),
                site.text_of(c.lower)
            );
            let full = known.is_some_and(|n| n % size == 0);
            let bound = match full {
                true => format!("{strip} + {size}"),
                false => format!("({end} - {strip} > {size} ? {strip} + {size} : {end})"),
            };
            let inner = format!("for ({}{} = {strip}; {} < {bound}; {}++)", c.decl, c.name, c.name, c.name);
            site.replace(id, 1, |lines| {
                lines.open(&outer);
                site.write_loop(lines, &inner, &block, &block.all())?;
                lines.close();
                Ok(())
            })
        })
    }
}
