//! Statements and expressions, part by part.

use term::device::Word;
use term::{Op, Storage, TermId, TypeId, TypeKind};

use super::{Arguments, Called, Flows, If, Jump, Loop, Run, Switch, Values};
use crate::kernel::callee;
use crate::kernel::effects::has_own_label;

/// The value of an expression.
pub(in crate::kernel) fn eval<'a, D: Values<'a>>(d: &mut D, t: TermId, way: D::Way) -> Run<'a, D, D::Val> {
    if !d.begin(t, way)? {
        return d.unknown(t);
    }
    let v = eval_at(d, t, way)?;
    d.end();
    Ok(v)
}

/// What a pointer is worth, and the type that it points to.
type Target<V> = (V, Option<TypeId>);

/// The arguments of an atomic operation: what the first, the pointer, is worth, and the type that it points to. `None`: it has none.
pub(in crate::kernel) fn target<'a, D: Values<'a>>(
    d: &mut D,
    arguments: &[TermId],
    way: D::Way,
) -> Run<'a, D, Option<Target<D::Val>>> {
    let body = d.body();
    let mut first = None;
    for &a in arguments {
        let v = eval(d, a, way)?;
        first.get_or_insert((a, v));
    }
    Ok(first.map(|(p, v)| {
        let to = match body.types.kind(body.ty(p)) {
            TypeKind::Array { of, .. } => Some(*of),
            _ => body.types.element(body.ty(p)),
        };
        (v, to)
    }))
}

fn eval_at<'a, D: Values<'a>>(d: &mut D, t: TermId, way: D::Way) -> Run<'a, D, D::Val> {
    let body = d.body();
    Ok(match (body.op(t), body.args(t)) {
        (Op::Int(v), _) => d.number(*v),
        (Op::Float(v), _) => d.real(t, v.get())?,
        (Op::Str(_), _) => d.text(t)?,
        (Op::SizeOf | Op::SizeOfType(_), args) => {
            let ty = match (body.op(t), args) {
                (Op::SizeOfType(ty), _) => Some(*ty),
                (_, &[a]) => Some(body.ty(a)),
                _ => None,
            };
            match ty.and_then(|ty| body.types.size_align(ty)) {
                Some((size, _)) => d.number(size.into()),
                None => d.unknown(t)?,
            }
        }
        (Op::Sym(s), _) => match body.symbols[*s].storage {
            Storage::Constant(v) => d.number(v),
            Storage::Builtin if body.word(t) == Some(Word::Lanes) => d.number(d.lanes().into()),
            Storage::Builtin | Storage::Function => d.unknown(t)?,
            _ => return read(d, t, way),
        },
        (Op::Member { arrow, .. }, &[base]) => {
            if let Some((index, axis)) = body.index_part(t) {
                return Ok(d.index(index, axis));
            }
            let place =
                matches!(body.op(base), Op::Index | Op::Deref | Op::Member { .. } | Op::Sym(_) | Op::Cast);
            if !place && !arrow {
                return d.part_of_value(t, base, way);
            }
            match d.known_member(t, base) {
                Some(v) => v,
                None => return read(d, t, way),
            }
        }
        (Op::Index | Op::Deref, _) => return read(d, t, way),
        (Op::Cast, &[a]) => {
            let v = eval(d, a, way)?;
            return d.cast(t, (a, v), way);
        }
        (Op::Unary(op), &[a]) => {
            let v = eval(d, a, way)?;
            return d.unary(t, *op, (a, v), way);
        }
        (Op::Binary(op), &[a, b]) if op.is_logical() => {
            return d.logical(t, *op == term::BinOp::And, [a, b], way);
        }
        (Op::Binary(op), &[a, b]) => {
            let x = eval(d, a, way)?;
            let y = eval(d, b, way)?;
            return d.binary(t, *op, (a, x), (b, y), way);
        }
        (Op::Select, &[c, a, b]) => return d.select(t, [c, a, b], way),
        (Op::Comma, &[a, b]) => {
            within(d, t, 0, |d| eval(d, a, way))?;
            return within(d, t, 1, |d| eval(d, b, way));
        }
        (Op::Assign, &[p, v]) => {
            let value = eval(d, v, way)?;
            let to = place(d, p, way)?;
            return d.write(p, to, (v, value), way);
        }
        (Op::Compound(op), &[p, v]) => {
            let value = eval(d, v, way)?;
            let at = place(d, p, way)?;
            let old = d.load(p, &at, way)?;
            let new = d.compound(t, *op, (p, old), (v, value), way)?;
            return d.write(p, at, (p, new), way);
        }
        (&Op::Step { delta, prefix }, &[p]) => {
            let at = place(d, p, way)?;
            let old = d.load(p, &at, way)?;
            let new = d.stepped(t, (p, &old), delta, way)?;
            let after = d.write(p, at, (p, new), way)?;
            if prefix {
                after
            } else {
                old
            }
        }
        (Op::AddrOf, &[p]) => {
            let at = place(d, p, way)?;
            d.address(t, at)?
        }
        (Op::Call, [_, arguments @ ..]) => return call(d, t, arguments, way),
        (Op::InitList, items) => {
            for &i in items {
                eval(d, i, way)?;
            }
            d.unknown(t)?
        }
        (Op::Empty | Op::Name(_), _) => d.unknown(t)?,
        _ => return d.other(t, way),
    })
}

fn call<'a, D: Values<'a>>(d: &mut D, t: TermId, arguments: &[TermId], way: D::Way) -> Run<'a, D, D::Val> {
    let body = d.body();
    let called = match callee(body, t) {
        None => Called::Unknown,
        Some(name) => match (d.function(name), body.called_word(t)) {
            (Some(f), _) => Called::Function(f),
            (None, Some(Word::Atomic(op, scope))) => return d.atomic(t, (op, scope), arguments, way),
            (None, Some(word)) => Called::Word(word),
            (None, None) => match name {
                "min" => Called::Min,
                "max" => Called::Max,
                _ => Called::Library(name),
            },
        },
    };
    let mut values = Vec::with_capacity(arguments.len());
    for &a in arguments {
        values.push(eval(d, a, way)?);
    }
    d.call(t, called, Arguments { terms: arguments, values }, way)
}

/// What stands at a place; an array is its address.
fn read<'a, D: Values<'a>>(d: &mut D, t: TermId, way: D::Way) -> Run<'a, D, D::Val> {
    let body = d.body();
    let at = place(d, t, way)?;
    match body.types.kind(body.ty(t)) {
        TypeKind::Array { .. } => d.address(t, at),
        _ => d.load(t, &at, way),
    }
}

/// Where an expression's value stands; its subscripts are evaluated.
pub(in crate::kernel) fn place<'a, D: Values<'a>>(d: &mut D, t: TermId, way: D::Way) -> Run<'a, D, D::Place> {
    d.begin_place(t)?;
    let body = d.body();
    match (body.op(t), body.args(t)) {
        (&Op::Sym(s), _) => d.variable(t, s),
        (Op::Index, &[b, i]) => {
            let from = match body.types.kind(body.ty(b)) {
                TypeKind::Array { .. } => place(d, b, way)?,
                _ => pointed(d, b, way)?,
            };
            let index = eval(d, i, way)?;
            d.element(t, (b, from), (i, index), way)
        }
        (Op::Deref, &[p]) => pointed(d, p, way),
        (Op::Member { field, arrow }, &[b]) => {
            let record = if *arrow { body.types.element(body.ty(b)) } else { Some(body.ty(b)) };
            let from = if *arrow { pointed(d, b, way)? } else { place(d, b, way)? };
            let offset = record.and_then(|r| crate::kernel::access::field_offset(body, r, field));
            d.field(t, from, offset, way)
        }
        (Op::Cast, &[a]) if body.types.element(body.ty(t)).is_none() => place(d, a, way),
        _ => d.no_place(t, way),
    }
}

fn pointed<'a, D: Values<'a>>(d: &mut D, p: TermId, way: D::Way) -> Run<'a, D, D::Place> {
    let v = eval(d, p, way)?;
    d.pointed((p, v))
}

/// A part of a term that orders its parts.
pub(in crate::kernel) fn within<'a, D: Values<'a>, T>(
    d: &mut D,
    node: TermId,
    slot: u32,
    go: impl FnOnce(&mut D) -> Run<'a, D, T>,
) -> Run<'a, D, T> {
    d.enter(node, slot);
    let out = go(d);
    d.leave();
    out
}

// ---- statements

/// Walks a statement; a list is one.
pub(in crate::kernel) fn statement<'a, D: Flows<'a>>(
    d: &mut D,
    t: TermId,
    way: D::Way,
) -> Run<'a, D, D::Flow> {
    if !d.begin_statement(t, way)? {
        return Ok(d.straight(way));
    }
    let flow = statement_at(d, t, way)?;
    d.end();
    Ok(flow)
}

/// The statements of a list, one after the other.
pub(in crate::kernel) fn list<'a, D: Flows<'a>>(
    d: &mut D,
    node: TermId,
    items: &[TermId],
    way: D::Way,
) -> Run<'a, D, D::Flow> {
    let mut flow = d.straight(way);
    for (slot, &t) in items.iter().enumerate() {
        let Some(way) = d.onward(&flow) else { break };
        let one = within(d, node, slot as u32, |d| statement(d, t, way))?;
        flow = d.then(flow, one);
    }
    Ok(flow)
}

fn statement_at<'a, D: Flows<'a>>(d: &mut D, t: TermId, way: D::Way) -> Run<'a, D, D::Flow> {
    let body = d.body();
    let some = |t: TermId| (!matches!(body.op(t), Op::Empty)).then_some(t);
    match (body.op(t), body.args(t)) {
        (Op::List, items) => list(d, t, items, way),
        (Op::If, &[condition, then, ref rest @ ..]) => {
            d.branch(If { node: t, condition, then, other: rest.first().copied() }, way)
        }
        (Op::For, &[init, c, step, inner, ..]) => {
            begin_loop(d, init, way)?;
            let repeated = Loop { node: t, condition: some(c), step: some(step), inner, before: true };
            d.repeat(repeated, way)
        }
        (Op::While, &[c, inner, ..]) => {
            d.repeat(Loop { node: t, condition: some(c), step: None, inner, before: true }, way)
        }
        (Op::DoWhile, &[inner, c, ..]) => {
            d.repeat(Loop { node: t, condition: some(c), step: None, inner, before: false }, way)
        }
        (Op::Switch, &[value, inner]) => {
            let items = body.args(inner);
            let label = |t: TermId| matches!(body.op(t), Op::Case | Op::Default);
            let deep = !matches!(body.op(inner), Op::List)
                || items.iter().any(|&i| !label(i) && has_own_label(body, i));
            d.switch(Switch { node: t, value, inner, items, deep }, way)
        }
        (Op::Return, values) => {
            let v = match values.first() {
                Some(&v) => Some(eval(d, v, way)?),
                None => None,
            };
            d.jump(t, Jump::Return(v), way)
        }
        (Op::Break, _) => d.jump(t, Jump::Break, way),
        (Op::Continue, _) => d.jump(t, Jump::Continue, way),
        (Op::Goto(_) | Op::Label(_) | Op::Reject(_) | Op::Launch, _) => d.opaque(t, way),
        (&Op::Declare(s), init) => {
            let init = match init.first() {
                Some(&i) => Some((i, eval(d, i, way)?)),
                None => None,
            };
            d.declare(t, s, init, way)?;
            Ok(d.straight(way))
        }
        (Op::Empty | Op::Case | Op::Default | Op::Mark(_), _) => Ok(d.straight(way)),
        _ => {
            eval(d, t, way)?;
            Ok(d.straight(way))
        }
    }
}

/// The beginning of a `for`: one statement, or several declarations.
fn begin_loop<'a, D: Flows<'a>>(d: &mut D, init: TermId, way: D::Way) -> Run<'a, D, ()> {
    let body = d.body();
    if let Op::List = body.op(init) {
        for &i in body.args(init) {
            begin_loop(d, i, way)?;
        }
        return Ok(());
    }
    statement(d, init, way).map(drop)
}
