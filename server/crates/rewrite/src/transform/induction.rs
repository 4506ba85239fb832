//! Induction substitution (recurrence elimination): a variable that moves by a constant each iteration is computed from
//! the loop's index instead.
//!
//! `k += c` in iteration t means k = k0 + c*t before it and k0 + c*(t + 1) after it (Allen & Kennedy 4.5; Bacon et al.
//! 6.4.1). The products are of 64 bits, so that they do not overflow where the variable did not.

use rustc_hash::FxHashMap;
use term::strength::{MUL, SHIFT};
use term::{BinOp, IntKind, SymbolId};
use text::Edit;

use super::refusal::{shape, Refusal};
use super::site::{Block, Counted, Site};
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
            if wanted.is_some_and(|w| w != &*body.symbols[i.symbol].name) {
                continue;
            }
            match Moved::of(site, &c, &block, i) {
                Ok(variable) => {
                    let title = format!("Compute {} from {}", variable.name, c.name);
                    let substitution = Substitution { site, c, block, variable };
                    return Plan::new(title, move || substitution.edits());
                }
                Err(why) => reason = why,
            }
        }
        Err(reason)
    }
}

/// A variable that one statement of a loop's body moves by a constant.
struct Moved<'s> {
    symbol: SymbolId,
    name: &'s str,
    kind: IntKind,
    step: i128,
    /// The statement's position in the body.
    at: usize,
}

impl<'s> Moved<'s> {
    fn of(
        site: &Site<'s>,
        c: &Counted<'_>,
        block: &Block,
        i: &analysis::Induction,
    ) -> Result<Moved<'s>, Refusal> {
        let body = site.body();
        let symbol = &body.symbols[i.symbol];
        let kind = body.types.as_int(symbol.ty);
        let Some(kind @ (IntKind::Int | IntKind::Long | IntKind::LongLong)) = kind else {
            return shape(format!("`{}` is no signed integer", symbol.name));
        };
        let at = block.statements.iter().position(|s| s.terms == [i.update]);
        let writes = body
            .walk(c.term)
            .filter(|&x| body.op(x).is_write() && body.as_symbol(body.args(x)[0]) == Some(i.symbol));
        let (Some(at), 1) = (at, writes.count()) else {
            return shape(format!("`{}` is not moved by one statement of its body", symbol.name));
        };
        if block.statements.len() < 2 {
            return shape(format!("moving `{}` is all it does", symbol.name));
        }
        let Some(step) = i.step else {
            return shape(format!("`{}` does not move by a constant", symbol.name));
        };
        Ok(Moved { symbol: i.symbol, name: site.name(Some(i.symbol)), kind, step, at })
    }
}

/// A variable computed from the index of a loop.
struct Substitution<'s> {
    site: &'s Site<'s>,
    c: Counted<'s>,
    block: Block,
    variable: Moved<'s>,
}

impl Substitution<'_> {
    /// The loop without the statement that moves the variable; where the variable is read behind the loop, it is moved there
    /// by all iterations at once.
    fn edits(&self) -> Result<Vec<Edit>, Refusal> {
        let Substitution { site, c, block, variable: Moved { symbol, name, step, at, .. } } = self;
        let id = site.target;
        let root = site.inside(id);
        let (before, after) = self.values();
        let mut texts = Vec::new();
        for (k, st) in block.statements.iter().enumerate() {
            if k == *at {
                continue;
            }
            let value = if k < *at { &before } else { &after };
            let with = FxHashMap::from_iter([(*symbol, Replacement::text(value, 12))]);
            let old = indentation(site.source.text, st.chunk.whole.start as usize);
            texts.push((render(site, root, st.chunk.whole, &with, false)?, old));
        }
        let is_live = site.live_after(id, *symbol);
        site.replace(id, 1 + usize::from(is_live), |lines| {
            lines.open(site.slice(c.header.whole));
            for (t, old) in &texts {
                lines.code(t, old);
            }
            lines.close();
            if is_live {
                let sign = if *step > 0 { "+=" } else { "-=" };
                lines.line(&format!("{name} {sign} {};", self.distance()));
            }
            Ok(())
        })
    }

    fn begins_at_zero(&self) -> bool {
        self.site.constant(self.c.lower) == Some(0)
    }

    /// The step without its sign, of 64 bits where it is a factor: `3L`.
    fn literal(&self) -> String {
        let Moved { kind, step, .. } = self.variable;
        let suffix = if kind == IntKind::Int && step.abs() != 1 { "L" } else { "" };
        format!("{}{suffix}", step.abs())
    }

    /// As many steps, without their sign: `3L * i`.
    fn steps(&self, number: &str) -> String {
        match self.variable.step.abs() {
            1 => number.to_owned(),
            _ => format!("{} * {number}", self.literal()),
        }
    }

    /// What the variable is worth before and after the statement that moves it.
    fn values(&self) -> (String, String) {
        let Substitution { site, c, variable: Moved { name, step, .. }, .. } = self;
        // iterations before this one; a difference of `int`s may overflow: it is taken in 64 bits
        let wide = c.ty.bits() == 32 && site.constant(c.lower).is_none_or(|l| l < 0);
        let number = match (self.begins_at_zero(), site.operand(c.lower, MUL)) {
            (true, _) => c.name.to_owned(),
            (false, low) if wide => format!("((long){} - {low})", c.name),
            (false, low) => format!("({} - {low})", c.name),
        };
        let sign = if *step < 0 { '-' } else { '+' };
        let before = format!("{name} {sign} {}", self.steps(&number));
        let after = format!("{before} {sign} {}", step.abs());
        (before, after)
    }

    /// How far all iterations move the variable.
    fn distance(&self) -> String {
        let Substitution { site, c, variable, .. } = self;
        if let Some(n) = site.trips(c) {
            return (n * variable.step.abs()).to_string();
        }
        let is_inclusive = c.relation == BinOp::Le;
        let end = site.plus(c.bound, i128::from(is_inclusive));
        let (relation, bound) = (c.relation.symbol(), site.operand(c.bound, SHIFT));
        if self.begins_at_zero() {
            let number = if is_inclusive { format!("({end})") } else { bound.clone() };
            let lower = site.text_of(c.lower);
            return format!("{lower} {relation} {bound} ? {} : 0", self.steps(&number));
        }
        let (lower, low) = (site.operand(c.lower, SHIFT), site.operand(c.lower, MUL));
        let wide = if c.ty.bits() == 32 { "(long)" } else { "" };
        format!("{lower} {relation} {bound} ? {} * ({wide}({end}) - {low}) : 0", self.literal())
    }
}
