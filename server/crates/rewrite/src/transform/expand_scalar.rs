//! Scalar expansion: a scalar that every iteration writes before it reads becomes an array with one cell an iteration.
//!
//! Legal where the scalar is private to an iteration and nobody reads it after the loop (Allen & Kennedy 5.3; Padua &
//! Wolfe, CACM 29(12), 1986). It removes the anti- and output dependences that tie the statements of a loop together.

use rustc_hash::FxHashMap;
use term::strength::{ATOM, MUL, SHIFT};
use term::{Op, SymbolId, TermId, TypeKind};

use super::refusal::{shape, Refusal};
use super::site::{Block, Counted, Site};
use super::subst::{render, Replacement};
use super::text::indentation;
use super::{Plan, Transformation, With};
use crate::limits::transform_expand_scalar::MOST_BYTES;

pub(super) struct ExpandScalar;

impl Transformation for ExpandScalar {
    named!("expand-scalar");
    fn about(&self) -> &'static str {
        "give a scalar one cell for each iteration"
    }
    fn with(&self) -> &'static str {
        "variable=NAME"
    }
    fn enables(&self) -> bool {
        true
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let id = site.target;
        let c = site.counted(id)?;
        site.movable(id, true)?;
        site.unpragmaed(id)?;
        site.one_type(&c)?;
        let block = site.block(id)?;
        if !c.ascending_by_one() || site.arithmetic().promotes(c.ty) {
            return shape("it does not count up by one in `int` or wider");
        }
        let candidates = candidates(site, &block, with.get("variable"));
        let mut refusal = Refusal::Shape(
            "no scalar in it is private to an iteration and used by several statements".into(),
        );
        for s in candidates {
            match expandable(site, &c, &block, s) {
                Ok(kind) => return expand(site, c, block, s, kind),
                Err(r) => refusal = r,
            }
        }
        Err(refusal)
    }
}

/// Scalars to try: the one named, or those that several statements use.
fn candidates(site: &Site<'_>, block: &Block, name: Option<&str>) -> Vec<SymbolId> {
    // an index of an inner loop in memory would help nobody
    let is_index =
        |s: SymbolId| site.facts.loops.iter().any(|l| l.control.as_ref().is_ok_and(|c| c.index == s));
    let privates = site.own_scalars(site.target).into_iter().filter(|&s| !is_index(s));
    let users = |s: SymbolId| {
        let uses = |t: TermId| {
            site.body().walk(t).any(|x| match site.body().op(x) {
                Op::Sym(u) | Op::Declare(u) => *u == s,
                _ => false,
            })
        };
        block.statements.iter().filter(|st| st.terms.iter().any(|&t| uses(t))).count()
    };
    match name {
        Some(n) => privates.filter(|&s| site.name(Some(s)) == n).collect(),
        None => privates.filter(|&s| users(s) > 1).collect(),
    }
}

/// Where the scalar is declared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Outside,
    /// By this statement of the body.
    Inside(usize),
}

fn expandable(site: &Site<'_>, c: &Counted<'_>, block: &Block, s: SymbolId) -> Result<Home, Refusal> {
    let body = site.body();
    let symbol = &body.symbols[s];
    let quals = body.types.quals(symbol.ty);
    let arithmetic = matches!(body.types.kind(symbol.ty), TypeKind::Int(_) | TypeKind::Float(_));
    if !arithmetic || quals.is_volatile || quals.is_atomic || symbol.address_taken {
        return shape(format!("`{}` is no plain number", symbol.name));
    }
    if site.live_after(site.target, s) {
        return shape(format!("`{}` is used after the loop", symbol.name));
    }
    let declared =
        block.statements.iter().position(|st| st.terms.iter().any(|&t| *body.op(t) == Op::Declare(s)));
    let inside = body.walk(body.args(c.term)[3]).any(|t| *body.op(t) == Op::Declare(s));
    match declared {
        None if inside => shape(format!("`{}` is declared in an inner block", symbol.name)),
        None => Ok(Home::Outside),
        Some(k) if block.statements[k].terms.len() > 1 => {
            shape(format!("`{}` is declared together with others", symbol.name))
        }
        Some(k) => Ok(Home::Inside(k)),
    }
}

fn expand<'s>(
    site: &'s Site<'_>,
    c: Counted<'s>,
    block: Block,
    s: SymbolId,
    home: Home,
) -> Result<Plan<'s>, Refusal> {
    let body = site.body();
    let ty = body.symbols[s].ty;
    let kind = match body.types.kind(ty) {
        TypeKind::Int(k) => k.c_name(),
        TypeKind::Float(term::FloatKind::F32) => "float",
        TypeKind::Float(term::FloatKind::F64) => "double",
        _ => "long double",
    };
    let bytes = body.types.size_align(ty).map_or(16, |x| x.0);
    let name = site.name(Some(s));
    let trips = site.trips(&c);
    let many = trips.is_none_or(|n| n as u64 > MOST_BYTES / bytes);
    if trips == Some(0) {
        return shape("it runs no iteration");
    }
    let elements = match trips {
        Some(n) => n.to_string(),
        None => "as many elements as iterations".into(),
    };
    let note = if many { ", on the stack" } else { "" };
    let count = if trips.is_some() { format!("{elements} elements") } else { elements };
    Plan::new(format!("Expand scalar {name} into an array ({count}{note})"), move || {
        let array = site.fresh(&format!("{name}_x"));
        let end = c.end(site);
        let zero = site.constant(c.lower) == Some(0);
        let length = match trips {
            Some(n) => n.to_string(),
            None => {
                let (low, high) = (site.operand(c.lower, MUL), wrap(&end));
                let span = if zero { high.clone() } else { format!("{high} - {low}") };
                format!("{} < {high} ? {span} : 1", site.operand(c.lower, SHIFT))
            }
        };
        let cell = match zero {
            true => format!("{array}[{}]", c.name),
            false => format!("{array}[{} - {}]", c.name, site.operand(c.lower, MUL)),
        };
        let with = FxHashMap::from_iter([(s, Replacement::text(&cell, ATOM))]);
        let root = body.args(c.term)[3];
        let mut texts: Vec<(String, String)> = Vec::new();
        for (k, st) in block.statements.iter().enumerate() {
            let whole = st.chunk.whole;
            let old = indentation(site.source.text, whole.start as usize).to_owned();
            if home == Home::Inside(k) {
                let declare = st.terms[0];
                let Some(&init) = body.args(declare).first() else { continue };
                let comment = site.slice(base::Span { start: whole.start, end: st.chunk.code.start });
                let value = render(
                    site,
                    root,
                    base::Span { start: site.span(init).start, end: whole.end },
                    &with,
                    true,
                )?;
                // the value with its own parentheses, from the `=` on
                let head = site.slice(base::Span { start: st.chunk.code.start, end: site.span(init).start });
                let Some(eq) = head.rfind('=') else { return shape("its declaration is unusual") };
                texts.push((format!("{comment}{cell} {}{value}", &head[eq..]), old));
                continue;
            }
            texts.push((render(site, root, whole, &with, true)?, old));
        }
        let header = site.slice(c.header.whole);
        site.replace(site.target, 2, |lines| {
            lines.line(&format!("{kind} {array}[{length}];"));
            let bare = !block.braces && texts.len() == 1;
            if bare {
                lines.line(header);
                lines.deeper();
            } else {
                lines.open(header);
            }
            for (t, old) in &texts {
                lines.code(t, old);
            }
            if bare {
                lines.shallower();
            } else {
                lines.close();
            }
            Ok(())
        })
    })
}

fn wrap(text: &str) -> String {
    match text.chars().all(|c| c.is_alphanumeric() || c == '_') {
        true => text.to_owned(),
        false => format!("({text})"),
    }
}
