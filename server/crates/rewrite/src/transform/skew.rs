//! Skewing, and the wavefront: skewing followed by interchange.
//!
//! Skewing adds a multiple of the outer index to the inner one; it is always legal, for it renames iterations and keeps
//! their order (Wolfe, "Loop skewing: the wavefront method revisited", IJPP 15(4), 1986). Interchanged afterwards, the
//! outer loop runs over the wavefronts j + f*i. That is legal, and the inner loop carries nothing, iff every dependence
//! leads from one wavefront to a later one: with the distance (d1, d2), d2 + f*d1 > 0.

use analysis::{Edge, Order};
use term::strength::{MUL, SHIFT, UNARY};
use term::{IntKind, SymbolId};

use super::refusal::{shape, Refusal};
use super::site::{Counted, Site};
use super::{Plan, Transformation, With};
use crate::limits::transform_skew::MOST;

struct Nest<'a> {
    outer: Counted<'a>,
    inner: Counted<'a>,
    block: super::site::Block,
}

fn nest<'s>(site: &'s Site<'_>) -> Result<Nest<'s>, Refusal> {
    let id = site.target;
    let Some(inside) = site.only_inside(id) else {
        return shape("its body is not just one loop");
    };
    let (outer, inner) = (site.counted(id)?, site.counted(inside)?);
    for (l, c) in [(id, &outer), (inside, &inner)] {
        site.movable(l, l == inside)?;
        site.unpragmaed(l)?;
        site.one_type(c)?;
        if !c.ascending_by_one() || !site.arithmetic().is_exact(c.ty) {
            return shape(format!("`{}` does not count up by one in a signed type", c.name));
        }
        if site.live_after(id, c.index) {
            return shape(format!("`{}` is used after the loops", c.name));
        }
    }
    if outer.ty != inner.ty || outer.name == inner.name {
        return shape("its two indices have different types or one name");
    }
    let body = site.body();
    let uses = |t, s: SymbolId| body.walk(t).any(|x| body.as_symbol(x) == Some(s));
    if [inner.lower, inner.bound].iter().any(|&t| uses(t, outer.index)) {
        return shape(format!("the range of `{}` depends on `{}`", inner.name, outer.name));
    }
    if site.names_in(&[outer.lower, outer.bound]).contains(&inner.name) {
        return shape(format!("the range of `{}` speaks of another `{}`", outer.name, inner.name));
    }
    site.block(id)?;
    let block = site.block(inside)?;
    Ok(Nest { outer, inner, block })
}

/// Sums of two ranges may leave the indices' type; the new index is wide enough where they are not constants.
fn wide(site: &Site<'_>, n: &Nest<'_>) -> IntKind {
    let small = |t| site.constant(t).is_some_and(|v| v.abs() < 1 << 28);
    let all = [n.outer.lower, n.outer.bound, n.inner.lower, n.inner.bound];
    if all.into_iter().all(small) || n.outer.ty.bits() == 64 {
        n.outer.ty
    } else {
        IntKind::Long
    }
}

pub(super) struct Wavefront;

impl Transformation for Wavefront {
    named!("wavefront");
    fn about(&self) -> &'static str {
        "skew the inner loop by the outer one and interchange: the new inner loop is parallel"
    }
    fn enables(&self) -> bool {
        true
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let n = nest(site)?;
        let g = site.sure(site.target)?;
        let inside = site.only_inside(site.target).unwrap_or(site.target);
        let aside = site.aside(&g, inside, &[n.outer.index, n.inner.index]);
        let mut f = 1;
        let mut crosses = false;
        for e in g.edges_without(&aside) {
            f = f.max(factor(e)?);
            crosses |= e.vectors.iter().any(|v| v.iter().take(2).any(|o| *o != Order::Same));
        }
        if !crosses {
            return shape("its loops carry nothing: they need no wavefront");
        }
        let (i, j) = (n.outer.name, n.inner.name);
        let by = if f == 1 { String::new() } else { format!("{f} times ") };
        Plan::new(format!("Skew {j} by {by}{i}, then interchange (wavefront)"), move || write(site, &n, f))
    }
}

/// The least factor that carries an edge from one wavefront to a later one.
fn factor(e: &Edge) -> Result<i128, Refusal> {
    let refuse = |why: &str| Err(Refusal::Dependence(Box::new(e.clone()), why.to_owned()));
    let mut f = 1;
    for v in &e.vectors {
        match v.as_slice() {
            [Order::Before, Order::After, ..] => match (e.distance.first(), e.distance.get(1)) {
                (Some(Some(d1)), Some(Some(d2))) if *d1 > 0 => f = f.max((-d2).div_euclid(*d1) + 1),
                _ => return refuse("its distance is not constant, so no skewing makes it lead forwards"),
            },
            [_] => return refuse("it does not lie in both loops"),
            _ => {}
        }
    }
    if f > MOST {
        return refuse("it would take a skewing too large to leave anything parallel");
    }
    Ok(f)
}

fn write(site: &Site<'_>, n: &Nest<'_>, f: i128) -> Result<Vec<text::Edit>, Refusal> {
    let (a, b) = (&n.outer, &n.inner);
    let (i, j) = (a.name, b.name);
    let kind = wide(site, n);
    let w = site.fresh("wave");
    let cast = if kind == a.ty { String::new() } else { format!("({})", kind.c_name()) };
    let times = |text: String| if f == 1 { text } else { format!("{f} * {text}") };
    let sum = |x: &str, k: i128| match k {
        0 => x.to_owned(),
        k if k < 0 => format!("{x} - {}", -k),
        k => format!("{x} + {k}"),
    };
    let number = |t| site.constant(t);
    // w from M + f*L to the last one, which is (U - 1) + f*(N - 1)
    let more = |c: &Counted<'_>| i128::from(c.relation == term::BinOp::Le);
    let (u_more, n_more) = (more(b), more(a));
    let first = match (number(b.lower), number(a.lower)) {
        (Some(m), Some(l)) => (m + f * l).to_string(),
        (Some(0), None) => format!("{cast}{}", times(site.operand(a.lower, MUL))),
        (None, Some(0)) => site.text_of(b.lower).to_owned(),
        _ => format!("{cast}{} + {}", site.operand(b.lower, UNARY), times(site.operand(a.lower, MUL))),
    };
    let last = match (number(b.bound), number(a.bound)) {
        (Some(u), Some(n)) => (u + u_more - 1 + f * (n + n_more - 1)).to_string(),
        _ => sum(
            &format!("{cast}{} + {}", site.operand(b.bound, UNARY), times(site.operand(a.bound, UNARY))),
            u_more - 1 + f * (n_more - 1),
        ),
    };
    let head = format!("for ({} {w} = {first}; {w} <= {last}; {w}++)", kind.c_name());
    let low = site.text_of(a.lower).to_owned();
    let (inner, guard) = if f == 1 {
        // M <= w - i <= U - 1
        let from = match number(b.bound) {
            Some(u) => sum(&w, -(u + u_more - 1)),
            None => sum(&format!("{w} - {}", site.operand(b.bound, MUL)), 1 - u_more),
        };
        let to = match number(b.lower) {
            Some(m) => sum(&w, -m),
            None => format!("{w} - {}", site.operand(b.lower, MUL)),
        };
        let end = match number(a.bound) {
            Some(n) => (n + n_more - 1).to_string(),
            None => site.plus(a.bound, n_more - 1),
        };
        let lower = format!("({from} > {low} ? {from} : {low})");
        let upper = format!("({to} < {end} ? {to} : {end})");
        (format!("for ({}{i} = {lower}; {i} <= {upper}; {i}++)", a.decl), None)
    } else {
        let test = format!(
            "{} <= {j} && {j} {} {}",
            site.operand(b.lower, SHIFT),
            b.relation.symbol(),
            site.operand(b.bound, SHIFT)
        );
        (site.slice(a.header.whole).to_owned(), Some(test))
    };
    let value = match f {
        1 => format!("{} {j} = {w} - {i};", b.ty.c_name()),
        f => format!("{} {j} = {w} - {f} * {i};", b.ty.c_name()),
    };
    site.replace(site.target, 1, |lines| {
        lines.open(&head);
        lines.open(&inner);
        lines.line(&value);
        if let Some(test) = &guard {
            lines.open(&format!("if ({test})"));
        }
        for s in &n.block.statements {
            site.copy(lines, s, b.term, &Default::default())?;
        }
        if guard.is_some() {
            lines.close();
        }
        lines.close();
        lines.close();
        Ok(())
    })
}

pub(super) struct Skew;

impl Transformation for Skew {
    named!("skew");
    fn about(&self) -> &'static str {
        "add a multiple of the outer index to the inner one"
    }
    fn with(&self) -> &'static str {
        "factor=1"
    }
    fn enables(&self) -> bool {
        false
    }
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal> {
        let f = with.number("factor", 1, 1, 64)?;
        let n = nest(site)?;
        let (i, j) = (n.outer.name, n.inner.name);
        let by = if f == 1 { String::new() } else { format!("{f} times ") };
        Plan::new(format!("Skew {j} by {by}{i}"), move || {
            let b = &n.inner;
            let kind = wide(site, &n);
            let skewed = site.fresh(&format!("{j}_skewed"));
            let cast = if kind == b.ty { String::new() } else { format!("({})", kind.c_name()) };
            let shift = if f == 1 { i.to_owned() } else { format!("{f} * {i}") };
            let head = format!(
                "for ({} {skewed} = {cast}{} + {shift}; {skewed} {} {cast}{} + {shift}; {skewed}++)",
                kind.c_name(),
                site.operand(b.lower, UNARY),
                b.relation.symbol(),
                site.operand(b.bound, UNARY)
            );
            let inside = site.only_inside(site.target).unwrap_or(site.target);
            site.replace(inside, 1, |lines| {
                lines.open(&head);
                lines.line(&format!("{} {j} = {skewed} - {shift};", b.ty.c_name()));
                for s in &n.block.statements {
                    site.copy(lines, s, b.term, &Default::default())?;
                }
                lines.close();
                Ok(())
            })
        })
    }
}
