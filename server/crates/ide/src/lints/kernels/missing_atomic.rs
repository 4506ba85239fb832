//! `missing-atomic`: an update at a subscript out of memory, which two threads may find alike.

use base::Span;

use crate::lints::{Find, Lint, Message};
use crate::repairs::{Repair, Site};
use crate::{Ask, Fact, Severity};
use term::device::{AtomicOp, Scope, Word};
use term::{BinOp, Body, IntKind, Op, TermId, TypeKind};
use text::Edit;

pub(super) const LINT: Lint = Lint {
    code: "missing-atomic",
    severity: Severity::Warning,
    summary: "An update that threads may make at one place at once.",
    page: include_str!("../../../../../../docs/codes/missing-atomic.md"),
    find: Find::Document(missing_atomic),
    fixes: &[fix],
};

fn missing_atomic(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel) {
        let (facts, _) = ask.kernel_facts(item);
        let text = |t| doc.slice(item.body.span(t).shifted(item.span.start));
        for u in &facts.lost_updates {
            let span = item.body.span(u.term).shifted(item.span.start);
            let place = text(u.place);
            let at = match (item.body.op(u.place), item.body.args(u.place)) {
                (Op::Deref, &[pointer]) => text(pointer).to_owned(),
                _ => format!("&{place}"),
            };
            let who = match u.subscript {
                Some(s) => format!("Two threads that find the same `{}`", text(s)),
                None => "Two threads that come here at once".to_owned(),
            };
            let atomic = |op| gpu::CUDA.said(Word::Atomic(Some(op), Scope::Device));
            let add = atomic(AtomicOp::Add);
            let message = match u.extreme {
                None if !commutes(&item.body, u.term, u.place) => format!(
                    "{who} both read and write `{place}`, and one of the two updates is lost. No atomic operation helps where the order of \
                     the updates counts: let one thread make all of them at one place, unless no two threads ever find the same."
                ),
                None if !is_one_operation(&item.body, u.term) => format!(
                    "{who} both read and write `{place}`, and one of the two updates is lost. Repeat it with `{}` until no other thread came in \
                     between, unless no two threads ever find the same.",
                    atomic(AtomicOp::CompareExchange)
                ),
                None => {
                    let unless = if u.subscript.is_some() { ", unless no two threads ever find the same" } else { "" };
                    format!(
                        "{who} both read and write `{place}`, and one of the two updates is lost. Use an atomic operation, such as \
                         `{add}({at}, …)`{unless}."
                    )
                }
                Some((_, largest)) => {
                    let (kept, op) = if largest { ("larger", AtomicOp::Max) } else { ("smaller", AtomicOp::Min) };
                    let name = atomic(op);
                    format!(
                        "{who} both look at `{place}` before one of them writes, and the {kept} value can be lost. Use `{name}(&{place}, …)`, or \
                         let each block find its own first."
                    )
                }
            };
            found.push((span, Message { message, ..Message::on(item, Fact::LostUpdate(u.clone())) }));
        }
    }
    found
}

/// Whether updates come to the same in whatever order they are made: sums, products, bits, the smaller or larger of two.
fn commutes(body: &Body, t: TermId, place: TermId) -> bool {
    use BinOp::{Add, BitAnd, BitOr, BitXor, Mul, Sub};
    let free = |x: TermId| !body.walk(x).any(|y| body.same(y, place));
    let kept = |x: TermId| body.same(x, place);
    match (body.op(t), body.args(t)) {
        (Op::Step { .. }, _) => true,
        (Op::Compound(op), &[_, v]) => matches!(op, Add | Sub | Mul | BitAnd | BitOr | BitXor) && free(v),
        (Op::Assign, &[_, value]) => match (body.op(value), body.args(value)) {
            (Op::Binary(Add | Mul | BitAnd | BitOr | BitXor), &[a, b]) => {
                kept(a) && free(b) || kept(b) && free(a)
            }
            (Op::Binary(Sub), &[a, b]) => kept(a) && free(b),
            (Op::Call, &[callee, a, b]) => {
                let name = body.as_name(callee).map(|n| n.strip_prefix("std::").unwrap_or(n));
                let extreme = matches!(name, Some("min" | "max" | "fmin" | "fmax" | "fminf" | "fmaxf"));
                extreme && (kept(a) && free(b) || kept(b) && free(a))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether one atomic operation does what a statement does: a sum, a difference, or bits put together.
fn is_one_operation(body: &Body, t: TermId) -> bool {
    use BinOp::{Add, BitAnd, BitOr, BitXor, Sub};
    match (body.op(t), body.args(t)) {
        (Op::Step { .. }, _) => true,
        (Op::Compound(op), _) => matches!(op, Add | Sub | BitAnd | BitOr | BitXor),
        (Op::Assign, &[place, value]) => match (body.op(value), body.args(value)) {
            (Op::Binary(Add | BitAnd | BitOr | BitXor), &[a, b]) => {
                body.same(a, place) || body.same(b, place)
            }
            (Op::Binary(Sub), &[a, _]) => body.same(a, place),
            _ => false,
        },
        _ => true,
    }
}

/// The atomic operation of the same meaning.
fn fix(site: &Site, fact: &Fact) -> Option<Repair> {
    let Fact::LostUpdate(u) = fact else { return None };
    let (title, edit) = match u.extreme {
        Some((v, largest)) => extreme(site, u.term, u.place, v, largest)?,
        None => site.atomic(u.term)?,
    };
    site.checked(title, vec![edit])
}

/// The atomic operation for `if (v > place) place = v;`.
fn extreme(site: &Site, t: TermId, place: TermId, v: TermId, largest: bool) -> Option<(String, Edit)> {
    use IntKind::{Int, LongLong, UInt, ULongLong};
    let kind = |t: TermId| site.body.types.kind(site.body.ty(t));
    let whole = matches!(kind(place), TypeKind::Int(Int | UInt | LongLong | ULongLong));
    if !whole || kind(place) != kind(v) {
        return None;
    }
    let text = |t: TermId| site.doc.slice(site.span(t));
    let op = if largest { AtomicOp::Max } else { AtomicOp::Min };
    let name = gpu::CUDA.spelling(Word::Atomic(Some(op), Scope::Device))?;
    let new = format!("{name}(&{}, {});", text(place), text(v));
    Some((format!("Replace by `{name}`"), Edit::replace(site.with_semicolon(t), new)))
}
