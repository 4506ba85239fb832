//! Induction substitution (recurrence elimination): a variable that moves by a constant each iteration is computed from
//! the loop's index instead.
//!
//! `k += c` in iteration t means k = k0 + c*t before it and k0 + c*(t + 1) after it (Allen & Kennedy 4.5; Bacon et al.
//! 6.4.1). The products are of 64 bits, so that they do not overflow where the variable did not.

use rustc_hash::FxHashMap;
use term::strength::{MUL, SHIFT};
use term::{BinOp, IntKind};

use super::refusal::{shape, Refusal};
use super::site::Site;
use super::subst::{render, Replacement};
use super::text::indentation;
use super::{Plan, Transformation, With};

pub(super) struct Induction;

impl Transformation for Induction {
    named!("substitute-induction");
    fn about(&self) -> &'static str {
        "compute a variable that moves by a constant from the index"
    }
    fn with(&self) -> &'static str {
        "variable=NAME"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let body = site.body();
        let c = site.counted(id)?;
        site.movable(id, false)?;
        site.unpragmaed(id)?;
        site.one_type(&c)?;
        let block = site.block(id)?;
        if !c.ascending_by_one() || !site.arithmetic().is_exact(c.ty) {
            return shape("it does not count up by one in a signed type");
        }
        let wanted = with.get("variable");
        let mut reason = Refusal::Shape("no integer in it moves by a constant in each iteration".into());
        for i in &site.of(id).inductions {
            let symbol = &body.symbols[i.symbol];
            if wanted.is_some_and(|w| w != &*symbol.name) {
                continue;
            }
            let kind = body.types.as_int(symbol.ty);
            let Some(kind @ (IntKind::Int | IntKind::Long | IntKind::LongLong)) = kind else {
                reason = Refusal::Shape(format!("`{}` is no signed integer", symbol.name));
                continue;
            };
            let at = block.statements.iter().position(|s| s.terms == [i.update]);
            let writes = body
                .walk(c.term)
                .filter(|&x| body.op(x).is_write() && body.as_symbol(body.args(x)[0]) == Some(i.symbol));
            let (Some(at), 1) = (at, writes.count()) else {
                reason =
                    Refusal::Shape(format!("`{}` is not moved by one statement of its body", symbol.name));
                continue;
            };
            if block.statements.len() < 2 {
                reason = Refusal::Shape(format!("moving `{}` is all it does", symbol.name));
                continue;
            }
            let Some(step) = i.step else {
                reason = Refusal::Shape(format!("`{}` does not move by a constant", symbol.name));
                continue;
            };
            let (s, name) = (i.symbol, site.name(Some(i.symbol)));
            let live = site.live_after(id, s);
            return Plan::new(format!("Compute {name} from {}", c.name), move || {
                // iterations before this one, as a product with the step
                let suffix = if kind == IntKind::Int && step.abs() != 1 { "L" } else { "" };
                let zero = site.constant(c.lower) == Some(0);
                let low = site.operand(c.lower, MUL);
                let number = if zero { c.name.to_owned() } else { format!("({} - {low})", c.name) };
                // a difference of `int`s may overflow: it is taken in 64 bits
                let number = match (zero, site.constant(c.lower)) {
                    (false, l) if c.ty.bits() == 32 && l.is_none_or(|l| l < 0) => {
                        format!("((long){} - {low})", c.name)
                    }
                    _ => number,
                };
                let moved = match step {
                    1 => format!("{name} + {number}"),
                    -1 => format!("{name} - {number}"),
                    k if k < 0 => format!("{name} - {}{suffix} * {number}", -k),
                    k => format!("{name} + {k}{suffix} * {number}"),
                };
                let after = match step {
                    k if k < 0 => format!("{moved} - {}", -k),
                    k => format!("{moved} + {k}"),
                };
                let root = site.inside(id);
                let mut texts = Vec::new();
                for (k, st) in block.statements.iter().enumerate() {
                    if k == at {
                        continue;
                    }
                    let value = if k < at { &moved } else { &after };
                    let with = FxHashMap::from_iter([(s, Replacement::text(value, 12))]);
                    let old = indentation(site.source.text, st.chunk.whole.start as usize).to_owned();
                    texts.push((render(site, root, st.chunk.whole, &with, false)?, old));
                }
                let header = site.slice(c.header.whole);
                site.replace(id, 1 + usize::from(live), |lines| {
                    lines.open(header);
                    for (t, old) in &texts {
                        lines.code(t, old);
                    }
                    lines.close();
                    if live {
                        let more = i128::from(c.relation == BinOp::Le);
                        let end = site.plus(c.bound, more);
                        let wide = if c.ty.bits() == 32 { "(long)" } else { "" };
                        let count = match (site.trips(&c), zero) {
                            (Some(n), _) => (n * step.abs()).to_string(),
                            (None, true) => {
                                let n = site.operand(c.bound, SHIFT);
                                let one = if more == 1 { format!("({end})") } else { n.clone() };
                                let product = if step.abs() == 1 {
                                    one
                                } else {
                                    format!("{}{suffix} * {one}", step.abs())
                                };
                                format!(
                                    "{} {} {n} ? {product} : 0",
                                    site.text_of(c.lower),
                                    c.relation.symbol()
                                )
                            }
                            (None, false) => {
                                let n = site.operand(c.bound, SHIFT);
                                format!(
                                    "{} {} {n} ? {}{suffix} * ({wide}({end}) - {low}) : 0",
                                    site.operand(c.lower, SHIFT),
                                    c.relation.symbol(),
                                    step.abs()
                                )
                            }
                        };
                        lines.line(&format!("{name} {} {count};", if step > 0 { "+=" } else { "-=" }));
                    }
                    Ok(())
                })
            });
        }
        Err(reason)
    }
}
