//! Which numbers a variable of the file's own may ever hold, as far as its text says.
//!
//! The argument: an object with internal linkage (C11 6.2.2p3), or of static storage in a function, of which no pointer is made
//! holds its first value or one that a statement of the file gave it (6.2.4p2). A statement that gives what a caller, another
//! file or the outside decides may give anything ([`Gives::Open`]). What it computes otherwise is not found out: such a value exists, and
//! nobody here may choose it. A witness must not give the variable any other. Deliberately absent: guards around statements,
//! values that two variables only have together.

use std::sync::Arc;

use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

/// What a statement gives a variable, or a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Gives {
    /// What it is declared with.
    First(i128),
    Value(i128),
    /// So much more than it holds.
    More(i128),
    /// Whatever others decide.
    Open,
    /// Something that is not found out.
    Computed,
}

/// A variable of static storage, a part of it (the members on the way; elements of an array are one), and what is stored there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Stored {
    pub name: Arc<str>,
    /// Of a function's own.
    pub symbol: Option<SymbolId>,
    pub part: Box<[Arc<str>]>,
    pub gives: Gives,
}

/// All that a text stores in variables of static storage by their names.
pub(crate) fn stored(body: &Body) -> Vec<Stored> {
    let mut out: Vec<Stored> = Vec::new();
    for t in body.walk(body.root) {
        let (place, gives): (TermId, Vec<Gives>) = match (body.op(t), body.args(t)) {
            (Op::Assign, &[place, value]) => (place, given(body, value, 0)),
            (Op::Step { delta, .. }, &[place]) => (place, vec![Gives::More((*delta).into())]),
            (Op::Compound(op), &[place, by]) => (place, vec![moved(body, *op, by)]),
            (Op::Declare(s), &[init]) if is_static(body, *s) => {
                out.extend(first_values(body, *s, init));
                continue;
            }
            _ => continue,
        };
        let Some((symbol, part)) = place_of(body, place).filter(|p| is_static(body, p.0)) else { continue };
        let name = body.symbols[symbol].name.clone();
        let symbol = own(body, symbol);
        let one = |gives| Stored { name: name.clone(), symbol, part: part.clone().into(), gives };
        out.extend(gives.into_iter().map(one));
    }
    out.dedup();
    out
}

fn is_static(body: &Body, s: SymbolId) -> bool {
    matches!(body.symbols[s].storage, Storage::Global { .. } | Storage::StaticLocal { .. })
}

fn own(body: &Body, s: SymbolId) -> Option<SymbolId> {
    matches!(body.symbols[s].storage, Storage::StaticLocal { .. }).then_some(s)
}

/// The variable that a place is a part of, and the members on the way to it.
fn place_of(body: &Body, mut place: TermId) -> Option<(SymbolId, Vec<Arc<str>>)> {
    let mut part: Vec<Arc<str>> = Vec::new();
    loop {
        match (body.op(place), body.args(place)) {
            (Op::Sym(s), _) => {
                part.reverse();
                return Some((*s, part));
            }
            (Op::Member { field, arrow: false }, &[of]) => {
                part.push(field.clone());
                place = of;
            }
            (Op::Index, &[of, _]) => place = of,
            _ => return None,
        }
    }
}

/// How deep what a variable is given is followed through others.
const DEPTH: u32 = 6;

/// What an expression may be, alternatives apart.
fn given(body: &Body, value: TermId, depth: u32) -> Vec<Gives> {
    match (body.op(value), body.args(value)) {
        (Op::Select, &[_, yes, no]) if depth < DEPTH => {
            let mut all = given(body, yes, depth + 1);
            all.extend(given(body, no, depth + 1));
            all
        }
        _ => vec![one(body, value, depth)],
    }
}

fn one(body: &Body, value: TermId, depth: u32) -> Gives {
    match body.constant(value) {
        Some(v) => Gives::Value(v),
        None if is_open(body, value, depth) => Gives::Open,
        None => Gives::Computed,
    }
}

/// What `x op= by` gives.
fn moved(body: &Body, op: BinOp, by: TermId) -> Gives {
    match (op, body.constant(by)) {
        (BinOp::Add, Some(k)) => Gives::More(k),
        (BinOp::Sub, Some(k)) => Gives::More(-k),
        (BinOp::Add | BinOp::Sub | BinOp::Mul, None) if is_open(body, by, 0) => Gives::Open,
        _ => Gives::Computed,
    }
}

/// Whether others decide the value: a caller, a function or file that is elsewhere, the outside. Sums and products of what they decide
/// count as open; what keeps to a range or a grid by itself (`k & 1`, `n / 2`, a comparison) does not.
fn is_open(body: &Body, value: TermId, depth: u32) -> bool {
    if depth > DEPTH {
        return true;
    }
    if body.constant(value).is_some() {
        return false;
    }
    match (body.op(value), body.args(value)) {
        (Op::Call, _) => true,
        (Op::Deref | Op::Member { arrow: true, .. }, _) => true,
        (Op::Index | Op::Member { .. }, &[of, ..]) => match place_of(body, value) {
            Some((s, _)) => is_open_variable(body, s, depth),
            None => {
                is_open(body, of, depth + 1)
                    || matches!(body.types.kind(body.ty(of)), TypeKind::Pointer { .. })
            }
        },
        (Op::Sym(s), _) => is_open_variable(body, *s, depth),
        (Op::Cast | Op::Unary(_), &[of]) => is_open(body, of, depth + 1),
        (Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul), &[a, b]) => {
            is_open(body, a, depth + 1) || is_open(body, b, depth + 1)
        }
        (Op::Select, &[_, a, b]) => is_open(body, a, depth + 1) || is_open(body, b, depth + 1),
        (Op::Binary(_), _) => false,
        // what is not known here may be anything
        _ => true,
    }
}

fn is_open_variable(body: &Body, s: SymbolId, depth: u32) -> bool {
    let symbol = &body.symbols[s];
    match symbol.storage {
        Storage::Local if !symbol.address_taken => {
            let mut stores = body.walk(body.root).filter_map(|t| match (body.op(t), body.args(t)) {
                (Op::Declare(d), &[init]) if *d == s => Some(init),
                (Op::Assign | Op::Compound(_), &[place, value]) => {
                    place_of(body, place).filter(|p| p.0 == s).map(|_| value)
                }
                _ => None,
            });
            stores.any(|value| is_open(body, value, depth + 1))
        }
        Storage::Global { internal: true, .. } | Storage::StaticLocal { .. } => false,
        _ => true,
    }
}

/// What a variable is declared with.
fn first_values(body: &Body, s: SymbolId, init: TermId) -> Vec<Stored> {
    let name = &body.symbols[s].name;
    let whole = |gives| Stored { name: name.clone(), symbol: own(body, s), part: Box::default(), gives };
    let types = &body.types;
    match (types.kind(body.symbols[s].ty), body.op(init)) {
        (TypeKind::Record(r), Op::InitList) => {
            let record = types.record(*r);
            let Some(fields) = record.fields.as_ref().filter(|_| !record.is_union) else { return Vec::new() };
            let items = body.args(init);
            // designators and left-out braces are not counted
            let plain = items.len() <= fields.len() && items.iter().all(|&i| body.constant(i).is_some());
            let of = |(f, &i): (&term::Field, &TermId)| {
                let gives = body.constant(i).map(Gives::First)?;
                Some(Stored { part: [f.name.clone()].into(), ..whole(gives) })
            };
            match plain {
                true => fields.iter().zip(items).filter_map(of).collect(),
                false => Vec::new(),
            }
        }
        (TypeKind::Array { .. }, Op::InitList) => {
            let value = |&i: &TermId| body.constant(i).map(|v| whole(Gives::First(v)));
            body.args(init).iter().filter_map(value).collect()
        }
        (TypeKind::Int(_), _) => body.constant(init).map(|v| whole(Gives::First(v))).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The numbers that a variable's part may hold out of what is stored there, in order; `None`: any. Beside them it may hold others,
/// which nobody here may choose. `first`: whether it may still hold what it began with.
pub(crate) fn values<'s>(
    stores: impl Iterator<Item = &'s Stored>,
    part: &[Arc<str>],
    first: bool,
) -> Option<Vec<i128>> {
    let mut out: Vec<i128> = Vec::new();
    // C11 6.7.9p10
    let mut began: Vec<i128> = Vec::new();
    let mut steps: Vec<i128> = Vec::new();
    for s in stores {
        match s.gives {
            _ if !(part.starts_with(&s.part) || s.part.starts_with(part)) => {}
            // the whole is copied from somewhere
            Gives::Open => return None,
            _ if *s.part != *part => return None,
            Gives::First(v) => began.push(v),
            Gives::Value(v) => out.push(v),
            Gives::More(k) => steps.push(k),
            Gives::Computed => {}
        }
    }
    if began.is_empty() {
        began.push(0);
    }
    if first || out.is_empty() {
        out.append(&mut began);
    }
    // Steps are taken once or twice; a guard may end them after that.
    let from = out.clone();
    for k in steps {
        out.extend(from.iter().flat_map(|v| [v + k, v + 2 * k]));
    }
    out.sort_unstable();
    out.dedup();
    Some(out)
}

/// A function of the program that a text calls, with the numbers that it gives at places where these are constant. Without any, where the
/// text does anything else with the function's name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CalledWith {
    pub name: Arc<str>,
    pub arguments: Box<[Option<i128>]>,
}
