//! Interchange of two perfectly nested loops.
//!
//! Legal iff no dependence has the directions (<, >) in the two loops (Allen & Kennedy, theorem 5.2; Wolfe 9.2): such a
//! one would run its sink first. The inner range must not depend on the outer index, or be a triangle whose other order
//! can be written down.

use analysis::Order;
use term::{BinOp, Op, SymbolId};
use text::Edit;

use super::refusal::{shape, Refusal};
use super::site::{offending, Counted, Site};
use super::{Plan, Transformation, With};

pub(super) struct Interchange;

impl Transformation for Interchange {
    named!("interchange");
    fn about(&self) -> &'static str {
        "swap a loop with the one directly inside it"
    }
    fn enables(&self) -> bool {
        true
    }
    fn plan<'s>(&self, site: &'s Site<'_>, _with: &With) -> Result<Plan<'s>, Refusal> {
        let outer = site.target;
        let Some(inner) = site.only_inside(outer) else {
            return shape("its body is not just one loop");
        };
        let (a, b) = (site.counted(outer)?, site.counted(inner)?);
        for id in [outer, inner] {
            site.movable(id, id == inner)?;
            site.unpragmaed(id)?;
        }
        site.block(outer)?;
        let names = site.names_in(&[a.lower, a.bound]);
        if names.contains(&b.name) || a.name == b.name {
            return shape(format!("the range of `{}` speaks of another `{}`", a.name, b.name));
        }
        let form = form(site, &a, &b)?;
        let g = site.sure(outer)?;
        for s in [a.index, b.index] {
            if g.live_out.contains(&s) {
                return shape(format!("`{}` is used after the loops", site.name(Some(s))));
            }
        }
        let aside = site.aside(&g, inner, &[a.index, b.index]);
        let reversed = |v: &[Order]| match v {
            [Order::Before, Order::After, ..] => true,
            // an access outside the inner loop has no second order to keep
            [Order::Before] => true,
            _ => false,
        };
        if let Some(e) = offending(g.edges_without(&aside), reversed) {
            return Err(Refusal::Dependence(Box::new(e.clone()), "interchange would turn it around".into()));
        }
        let title = format!("Interchange {} and {}", a.name, b.name);
        Plan::new(title, move || {
            let texts = match form {
                Form::Rectangle => {
                    [site.slice(b.header.inside).to_owned(), site.slice(a.header.inside).to_owned()]
                }
                Form::Other(outer, inner) => [outer, inner],
            };
            let [first, second] = texts;
            Ok(vec![Edit::replace(a.header.inside, first), Edit::replace(b.header.inside, second)])
        })
    }
}

enum Form {
    Rectangle,
    /// The new headers, outer one first.
    Other(String, String),
}

fn mentions(site: &Site<'_>, t: term::TermId, s: SymbolId) -> bool {
    site.body().walk(t).any(|x| site.body().as_symbol(x) == Some(s))
}

fn form(site: &Site<'_>, a: &Counted<'_>, b: &Counted<'_>) -> Result<Form, Refusal> {
    let (low, high) = (mentions(site, b.lower, a.index), mentions(site, b.bound, a.index));
    if !low && !high {
        return Ok(Form::Rectangle);
    }
    let triangle = || Refusal::Shape(format!("the range of `{}` depends on `{}`", b.name, a.name));
    let plain = |c: &Counted<'_>| c.ascending_by_one() && site.arithmetic().is_exact(c.ty);
    if (low && high) || !plain(a) || !plain(b) || a.ty != b.ty {
        return Err(triangle());
    }
    // the bound of `j` that moves with `i` is i + c
    let moving = if low { b.lower } else { b.bound };
    let c = offset_from(site, moving, a.index).ok_or_else(triangle)?;
    let (i, j) = (a.name, b.name);
    let same = |c: &Counted<'_>| format!("{}{} = ", c.decl, c.name);
    // ends that are not reached: L <= i < N
    let n_more = i128::from(a.relation == BinOp::Le);
    if low {
        // L <= i < N, i + c <= j < U  =>  L + c <= j < U, L <= i <= min(N - 1, j - c)
        let outer =
            format!("{}{}; {}; {j}++", same(b), site.plus(a.lower, c), site.slice(b.header.condition));
        let u_more = i128::from(b.relation == BinOp::Le);
        let covered = site.difference(b.bound, a.bound).is_some_and(|d| d + u_more - n_more <= c);
        let last = shifted(j, -c);
        let inner = if covered {
            format!("{}{}; {i} <= {last}; {i}++", same(a), site.text_of(a.lower))
        } else {
            let n = site.plus(a.bound, n_more - 1);
            format!("{}{}; {i} <= ({n} < {last} ? {n} : {last}); {i}++", same(a), site.text_of(a.lower))
        };
        return Ok(Form::Other(outer, inner));
    }
    // L <= i < N, M <= j < i + c  =>  M <= j < N - 1 + c, max(L, j - c + 1) <= i < N
    let c = c + i128::from(b.relation == BinOp::Le);
    let outer =
        format!("{}{}; {j} < {}; {j}++", same(b), site.text_of(b.lower), site.plus(a.bound, n_more - 1 + c));
    let covered = site.difference(b.lower, a.lower).is_some_and(|d| d >= c - 1);
    let first = shifted(j, 1 - c);
    let lower = if covered {
        first
    } else {
        let l = site.text_of(a.lower);
        format!("({first} > {l} ? {first} : {l})")
    };
    let inner = format!("{}{lower}; {}; {i}++", same(a), site.slice(a.header.condition));
    Ok(Form::Other(outer, inner))
}

fn shifted(name: &str, k: i128) -> String {
    match k {
        0 => name.to_owned(),
        k if k < 0 => format!("{name} - {}", -k),
        k => format!("{name} + {k}"),
    }
}

/// The constant `c` of a term `i + c`.
fn offset_from(site: &Site<'_>, t: term::TermId, i: SymbolId) -> Option<i128> {
    let body = site.body();
    match body.op(t) {
        Op::Sym(s) if *s == i => Some(0),
        Op::Binary(op @ (BinOp::Add | BinOp::Sub)) => {
            let (x, y) = (body.args(t)[0], body.args(t)[1]);
            let is_i = |t| body.as_symbol(t) == Some(i);
            match op {
                BinOp::Add if is_i(x) => site.constant(y),
                BinOp::Add if is_i(y) => site.constant(x),
                BinOp::Sub if is_i(x) => site.constant(y).map(|c| -c),
                _ => None,
            }
        }
        _ => None,
    }
}
