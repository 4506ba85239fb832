//! Arrays of which only a part comes back: the way in is whole, and `_Part(host,device,bytes)` is the way of one of which that comes
//! back.

use analysis::Expr;
use term::BinOp;

use super::{let_, Host, LONG_LONG, SIZE};
use crate::device::host_term::Term;
use crate::plan::{constant, BufferPlan};

/// Where the part begins, counted from what is there, and its size; nothing where all comes back.
pub(super) fn extent(host: &mut Host<'_>, b: &BufferPlan, out: &mut Vec<Term>) {
    let Some((first, last)) = b.back.as_ref().filter(|_| host.steps.is_none()) else { return };
    if start(b).is_none() {
        let mut from = host.expr(first);
        if b.constant_first() != Some(0) {
            let begin = b.constant_first().map_or_else(|| Term::name(&b.first_name), Term::Int);
            from = Term::binary(BinOp::Sub, from, begin);
        }
        out.push(let_(&b.back_name, LONG_LONG, from));
    }
    let count = match constant(first) {
        Some(first) => host.expr(&Expr::Add(vec![last.clone(), Expr::Int(1 - first)])),
        None => {
            let minus = Expr::Mul(-1, Box::new(first.clone()));
            host.expr(&Expr::Add(vec![last.clone(), minus, Expr::Int(1)]))
        }
    };
    let size = host.element_size(b);
    out.push(let_(&b.back_bytes_name, SIZE, Term::binary(BinOp::Mul, Term::cast(SIZE, count), size)));
}

/// The way of an array that comes back in part.
pub(super) fn way(host: &mut Host<'_>, b: &BufferPlan) -> Option<Term> {
    b.back.as_ref().filter(|_| host.steps.is_none())?;
    let array = Term::Name(host.given.array(b));
    let there = Term::name(&b.device_name);
    let plus = |to: Term, n: i128| match n {
        0 => to,
        n => Term::binary(BinOp::Add, to, Term::Int(n)),
    };
    let (here, there) = match (start(b), b.constant_first()) {
        (Some(from), Some(first)) => (plus(array, first + from), plus(there, from)),
        _ => {
            let from = Term::name(&b.back_name);
            (Term::binary(BinOp::Add, host.pointer(b), from.clone()), Term::binary(BinOp::Add, there, from))
        }
    };
    Some(Term::head("_Part", vec![here, there, Term::name(&b.back_bytes_name)]))
}

/// The first element that comes back, counted from what is there, where it is a number.
fn start(b: &BufferPlan) -> Option<i128> {
    constant(&b.back.as_ref()?.0)?.checked_sub(b.constant_first()?)
}
