//! Integer members of structures that have one value: `m->rows = rows;` in the function that makes a matrix, or before a loop.
//!
//! Of a structure that nobody was told of (`owned::home`) a member changes only where it is named, where the structure is written as a
//! whole, and in functions that are given a pointer to it and write what that points to.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::IndexId;
use term::{Body, Field, IntKind, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::flow::fresh::{is_allocation, is_null, uncast};
use crate::flow::library::library_call;
use crate::flow::owned::{arguments, home, Known};
use crate::flow::parts::{field_cell, returned_structure, structure, FieldCell};
use crate::Given;

/// The variable and the member that a place names, of a structure or of what a pointer points to.
pub(crate) fn member_of(body: &Body, place: TermId) -> Option<(SymbolId, Arc<str>)> {
    let (Op::Member { field, .. }, &[mut of]) = (body.op(place), body.args(place)) else { return None };
    if let (Op::Deref, &[p]) = (body.op(of), body.args(of)) {
        of = p;
    }
    Some((body.as_symbol(of)?, field.clone()))
}

/// The terms that may change integer members of the structure `s`, or of what the pointer `s` points to, with the member if it is one
/// alone, where nobody else knows of the structure. Declarations and assignments of `s` itself are not among them.
pub(crate) fn changes(
    body: &Body,
    parents: &[Option<TermId>],
    known: &Known<'_>,
    s: SymbolId,
) -> Vec<(TermId, Option<Arc<str>>)> {
    let parent = |t: TermId| parents.get(t.0 as usize).copied().flatten();
    let mut out = Vec::new();
    for t in body.walk(body.root).filter(|&t| body.as_symbol(t) == Some(s)) {
        // the place that is made of it, and what is done there
        let (mut at, mut field) = (t, None);
        let mut is_address = matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. });
        while let Some(p) = parent(at) {
            let args = body.args(p);
            let is_array = matches!(body.types.kind(body.ty(at)), TypeKind::Array { .. });
            match body.op(p) {
                Op::Deref | Op::Member { arrow: true, .. } if is_address || is_array => {
                    is_address = false;
                    field = member_of(body, p).map(|m| m.1).or(field);
                }
                // what another pointer leads to is no part of it
                Op::Deref | Op::Member { arrow: true, .. } => break,
                Op::Member { arrow: false, .. } => field = member_of(body, p).map(|m| m.1).or(field),
                Op::Index if is_array => {}
                // of a pointer that is moved or changes its type it is not followed how far it reaches
                Op::Index if is_address => (is_address, field) = (false, None),
                Op::Binary(op) if op.is_comparison() || op.is_logical() => break,
                Op::Binary(_) if is_array || is_address => (is_address, field) = (true, None),
                Op::AddrOf => is_address = true,
                Op::Cast if is_array || is_address => {
                    is_address = true;
                    if body.types.element(body.ty(p)) != body.types.element(body.ty(at)) {
                        field = None;
                    }
                }
                Op::Assign | Op::Compound(_) | Op::Step { .. } if args.first() == Some(&at) => {
                    if at != t {
                        out.push((p, field));
                    }
                    break;
                }
                Op::Call => {
                    let of = args.iter().skip(1).position(|&a| a == at);
                    let shows =
                        (is_address || is_array) && of.is_some_and(|k| writes_through(body, known, p, k));
                    if shows {
                        out.push((p, None));
                    }
                    break;
                }
                Op::Declare(_) | Op::Return | Op::SizeOf | Op::List | Op::Unary(UnOp::Not) => break,
                Op::If | Op::While | Op::DoWhile | Op::For | Op::Select if args.first() == Some(&at) => break,
                // a value that was read goes where it may
                _ if !is_address && !is_array => break,
                _ => {
                    out.push((p, None));
                    break;
                }
            }
            at = p;
        }
    }
    out
}

/// Whether the call may write what its `k`-th argument points to; what it keeps, be it in a variable of its own, it may write unseen.
fn writes_through(body: &Body, known: &Known<'_>, call: TermId, k: usize) -> bool {
    match body.callee(call) {
        Some(f) if body.library.contains(&f) => match &*body.symbols[f].name {
            "free" => false,
            _ => library_call(body, call).is_none_or(|e| e.trouble.is_some() || e.through(k).written),
        },
        _ => known(call).and_then(|s| s.params.get(k)).is_none_or(|p| p.written || p.kept || p.handed),
    }
}

/// The integer members of what a function returns that have one value whichever way it returns one.
pub(crate) fn set_members<'k>(body: &Body, known: &Known<'k>) -> Members {
    let none = BTreeMap::new();
    let is_jump = |t: TermId| matches!(body.op(t), Op::Goto(_) | Op::Label(_) | Op::Reject(_));
    let &[_, list] = body.args(body.root) else { return none };
    let returned: Vec<TermId> = body.walk(list).filter(|&t| *body.op(t) == Op::Return).collect();
    let values: Vec<TermId> = returned.iter().filter_map(|&t| body.args(t).first().copied()).collect();
    let not_null = || returned.iter().zip(&values).filter(|(_, &v)| !is_null(body, v));
    let of: Option<Vec<SymbolId>> = not_null().map(|(_, &v)| body.as_symbol(uncast(body, v))).collect();
    let Some(&s) = of.as_ref().and_then(|of| of.first()) else { return none };
    let is_one = of.is_some_and(|of| of.iter().all(|&x| x == s));
    // members of another structure may have the same names
    let is_declared_so = structure(body, body.symbols[s].ty) == returned_structure(body);
    if !is_one || !is_declared_so || values.len() != returned.len() || body.walk(list).any(is_jump) {
        return none;
    }
    let parents = body.parents();
    if home(body, &parents, known, &|_| true, s).is_none_or(|h| !h.apart) {
        return none;
    }
    let place_of = |t: TermId| place_in(&parents, list, body, t);
    let Some(before) = not_null().filter_map(|(&t, _)| place_of(t)).min() else { return none };
    let Some((given_by, mut out)) = made_with(body, known, list, s) else { return none };
    let made_at = given_by.and_then(place_of);
    let changes = changes(body, &parents, known, s);
    for (_, field) in &changes {
        let Some(field) = field else { return none };
        out.remove(field);
    }
    for (t, field) in &changes {
        let Some(field) = field else { continue };
        let alone = changes.iter().filter(|c| c.1.as_ref() == Some(field)).count() == 1;
        let is_plain = *body.op(*t) == Op::Assign
            && parents[t.index()] == Some(list)
            && place_of(*t).is_some_and(|k| k < before && made_at.is_none_or(|m| m < k))
            && body.args(*t).first().is_some_and(|&p| is_a_number_alone(body, p, s));
        let value = match body.args(*t) {
            &[place, v] => given(body, v).filter(|&g| fits(body, g, body.ty(place))),
            _ => None,
        };
        if let (true, true, Some(value)) = (alone, is_plain, value) {
            out.insert(field.clone(), value);
        }
    }
    out
}

/// Which statement of a list a term is, or stands in.
fn place_in(parents: &[Option<TermId>], list: TermId, body: &Body, t: TermId) -> Option<usize> {
    let mut at = t;
    while let Some(p) = parents.get(at.index()).copied().flatten() {
        if p == list {
            return body.args(list).iter().position(|&x| x == at);
        }
        at = p;
    }
    None
}

/// Members with what they have.
type Members = BTreeMap<Arc<str>, Given>;

/// The one statement that gives the variable a structure, if there is one, and what members have from it; `None` where it is given more
/// than one.
fn made_with(body: &Body, known: &Known<'_>, list: TermId, s: SymbolId) -> Option<(Option<TermId>, Members)> {
    let is_pointer = matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. });
    let mut values = body.walk(list).filter_map(|t| match (body.op(t), body.args(t)) {
        (Op::Declare(d), &[v]) if *d == s => Some((t, v)),
        (Op::Assign, &[place, v]) if body.as_symbol(place) == Some(s) => Some((t, v)),
        _ => None,
    });
    let value = values.next();
    if values.next().is_some() {
        return None;
    }
    let Some((by, value)) = value.map(|(t, v)| (t, uncast(body, v))) else {
        return (!is_pointer).then(|| (None, BTreeMap::new()));
    };
    let members = match body.op(value) {
        Op::Call if is_allocation(body, value) => Some(BTreeMap::new()),
        Op::Call => {
            let of = |theirs: &Given| match *theirs {
                Given::Number(n) => Some(Given::Number(n)),
                Given::Parameter(k) => {
                    let (argument, to) = arguments(body, value).nth(k as usize)?;
                    let one_type = body.types.as_int(body.ty(argument)) == body.types.as_int(to?);
                    given(body, argument).filter(|&g| match g {
                        Given::Number(_) => fits(body, g, to.unwrap_or(body.ty(argument))),
                        Given::Parameter(_) => one_type,
                    })
                }
            };
            let is_same = structure(body, body.ty(value)) == structure(body, body.symbols[s].ty);
            let theirs = known(value).filter(|_| is_same)?.set_members.iter();
            Some(theirs.filter_map(|(name, g)| Some((name.clone(), of(g)?))).collect())
        }
        Op::InitList if !is_pointer => Some(initial(body, s, value)),
        _ => None,
    };
    Some((Some(by), members?))
}

/// What members have from a list of values.
fn initial(body: &Body, s: SymbolId, list: TermId) -> Members {
    let given = |&v: &TermId, ty| given(body, v).filter(|g| fits(body, *g, ty));
    let listed = first_scalars(body, body.symbols[s].ty).zip(body.args(list));
    listed.filter_map(|(f, v)| Some((f.name.clone(), given(v, f.ty)?))).collect()
}

/// The members of a structure before the first that is an array or a structure, behind which a list of values may leave out braces.
pub(crate) fn first_scalars(body: &Body, ty: TypeId) -> impl Iterator<Item = &Field> + '_ {
    let fields = match body.types.kind(ty) {
        TypeKind::Record(r) => body.types.record(*r).fields.as_deref().unwrap_or_default(),
        _ => &[],
    };
    let is_scalar = |ty| !matches!(body.types.kind(ty), TypeKind::Array { .. } | TypeKind::Record(_));
    fields.iter().take_while(move |f| is_scalar(f.ty) && !f.name.is_empty() && f.bits.is_none())
}

/// A number, or a parameter that keeps what it was given.
fn given(body: &Body, v: TermId) -> Option<Given> {
    if let Some(n) = body.constant(v) {
        return Some(Given::Number(n));
    }
    let s = body.as_symbol(v)?;
    let symbol = &body.symbols[s];
    let Storage::Param(k) = symbol.storage else { return None };
    let is_written = |t: TermId| {
        body.op(t).is_write() && body.args(t).first().is_some_and(|&p| body.as_symbol(p) == Some(s))
    };
    let keeps = !symbol.address_taken && !body.walk(body.root).any(is_written);
    (keeps && body.types.as_int(symbol.ty).is_some()).then_some(Given::Parameter(k))
}

/// Whether a number is stored there as it is; of what a function is given its caller asks.
fn fits(body: &Body, given: Given, ty: TypeId) -> bool {
    match (body.types.as_int(ty), given) {
        (Some(kind), Given::Number(n)) => kind.wrap(n) == n && kind != IntKind::Bool,
        (Some(kind), Given::Parameter(_)) => kind != IntKind::Bool,
        (None, _) => false,
    }
}

/// Whether the place is an integer member of `s` that shares its bytes with no other.
pub(crate) fn is_a_number_alone(body: &Body, place: TermId, s: SymbolId) -> bool {
    let quals = body.types.quals(body.ty(place));
    member_of(body, place).is_some_and(|m| m.0 == s)
        && matches!(field_cell(body, place), Some(FieldCell::Own(_)))
        && body.types.as_int(body.ty(place)).is_some()
        && !quals.is_volatile
        && !quals.is_atomic
}
