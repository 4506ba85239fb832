//! File-scope variables that hold their first value for as long as the program runs.
//!
//! The argument: to write an object defined as `const` is undefined (C11 6.7.3p6); and one with internal linkage can be
//! named in its own file alone (6.2.2p3), so that it changes only if the file writes it, or lets its address out. A definition
//! that another one may replace (a weak symbol) is none of these. Deliberately absent: variables that functions write
//! only with the value they have.

use std::sync::Arc;

use base::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, BodyBuilder, FloatKind, Op, Origin, Storage, SymbolId, Term, TermId, TypeKind, UnOp};

use crate::calls::held::{stored, Stored};
use crate::flow::parts::base_symbol;

/// A variable that never changes: where it is defined, and with what; `None`: zero.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub body: Arc<Body>,
    pub symbol: SymbolId,
    pub init: Option<TermId>,
}

/// The constants that these stretches of declarations define, each with whether texts that are not here may name what it declares.
/// `touched`: variables that functions may change; `None`: any.
pub(crate) fn constants<'a>(
    declarations: impl Iterator<Item = (&'a Arc<Body>, bool)>,
    touched: Option<&FxHashSet<&Arc<str>>>,
) -> FxHashMap<Arc<str>, Constant> {
    let mut out: FxHashMap<Arc<str>, Constant> = FxHashMap::default();
    // Names whose address a declaration keeps, or of which two texts say something else.
    let mut not: FxHashSet<Arc<str>> = FxHashSet::default();
    for (body, is_shared) in declarations {
        not.extend(
            body.symbols
                .iter()
                .filter(|s| s.address_taken && !body.types.is_constant(s.ty))
                .map(|s| s.name.clone()),
        );
        not.extend(body.said.weak.iter().chain(&body.said.also_named).cloned());
        let mut open: Vec<TermId> = vec![body.root];
        while let Some(t) = open.pop() {
            let &Op::Declare(symbol) = body.op(t) else {
                open.extend(body.args(t));
                continue;
            };
            let s = &body.symbols[symbol];
            let Storage::Global { defined_here: true, internal, constant } = s.storage else { continue };
            let quals = body.types.quals(body.types.innermost(s.ty));
            let untouched = || internal && !is_shared && touched.is_some_and(|t| !t.contains(&s.name));
            let fixed = body.types.is_constant(s.ty) || untouched();
            // A device's constant memory is written by the host.
            if !fixed || constant || quals.is_volatile {
                not.insert(s.name.clone());
                continue;
            }
            let init = body.args(t).first().copied();
            match out.get(&s.name) {
                Some(c) if c.init.is_some() && init.is_some() => {
                    not.insert(s.name.clone());
                }
                // A tentative definition gives way to one with a value (C11 6.9.2p2).
                Some(_) if init.is_none() => {}
                _ => {
                    out.insert(s.name.clone(), Constant { body: body.clone(), symbol, init });
                }
            }
        }
    }
    out.retain(|name, _| !not.contains(name));
    out
}

/// The body with their first values in place of constants where these are literals; `None` where there is none. What is printed of
/// it needs no memory for them.
pub(crate) fn written_out<'c>(body: &Body, constant: impl Fn(&str) -> Option<&'c Constant>) -> Option<Body> {
    let literal = |s: SymbolId| -> Option<&Constant> {
        let symbol = &body.symbols[s];
        let is_value = matches!(symbol.storage, Storage::Global { .. }) && !symbol.address_taken;
        let quals = body.types.quals(symbol.ty);
        let is_plain = body.types.is_arithmetic(symbol.ty) && !quals.is_volatile && !quals.is_atomic;
        constant(&symbol.name).filter(|c| is_value && is_plain && c.init.is_some())
    };
    let mut b = body.to_builder();
    let mut any = false;
    for t in body.walk(body.root) {
        let Some(c) = body.as_symbol(t).and_then(literal) else { continue };
        let Some(value) = c.init.and_then(|init| copied(&mut b, &c.body, init, body.span(t), 0)) else {
            continue;
        };
        let ty = body.types.kind(body.ty(t)).clone();
        let ty = b.types.plain(ty);
        b.set(t, Term { op: Op::Cast, args: Box::new([value]), ty });
        any = true;
    }
    any.then(|| b.finish(body.root))
}

/// A literal with its sign and conversions, as a term of another body.
fn copied(b: &mut BodyBuilder, from: &Body, t: TermId, span: Span, depth: u32) -> Option<TermId> {
    let op = match from.op(t) {
        op @ (Op::Int(_) | Op::Float(_) | Op::Cast | Op::Unary(UnOp::Neg | UnOp::Plus)) if depth < 8 => {
            op.clone()
        }
        _ => return None,
    };
    let kind = from.types.kind(from.ty(t)).clone();
    if !matches!(kind, TypeKind::Int(_) | TypeKind::Float(FloatKind::F32 | FloatKind::F64)) {
        return None;
    }
    let args: Option<Vec<TermId>> =
        from.args(t).iter().map(|&a| copied(b, from, a, span, depth + 1)).collect();
    let (args, ty) = (args?, b.types.plain(kind));
    Some(b.term_from(op, args, ty, span, Origin::Made))
}

/// File-scope variables that a text may change or point to, by name.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Touched {
    /// Those it may change, or whose address it lets out.
    pub changed: Vec<Arc<str>>,
    /// Those of which it may make a pointer.
    pub taken: Vec<Arc<str>>,
    /// What it stores in them by name.
    pub stored: Vec<Stored>,
}

/// What a text does with the file's variables. Any of them (`None`) where part of it is not understood.
pub(crate) fn touched(body: &Body) -> Option<Touched> {
    let global = |s: &SymbolId| matches!(body.symbols[*s].storage, Storage::Global { .. });
    let mut taken: FxHashSet<SymbolId> =
        body.symbols.iter_ids().filter(|(_, s)| s.address_taken).map(|(id, _)| id).filter(global).collect();
    let mut written: FxHashSet<SymbolId> = FxHashSet::default();
    for t in body.walk(body.root) {
        if body.reach(t).is_some() {
            return None;
        }
        let args = body.args(t);
        let base = || args.first().and_then(|&p| base_symbol(body, p)).filter(global);
        if body.op(t).is_write() {
            written.extend(base());
        }
        if *body.op(t) == Op::AddrOf {
            taken.extend(base());
        }
        // An array that becomes a pointer; a variable that a call may take by reference (C++).
        let is_part = matches!(body.op(t), Op::Index | Op::Member { .. });
        for &a in args {
            let is_array = matches!(body.types.kind(body.ty(a)), TypeKind::Array { .. });
            if !is_part && is_array || *body.op(t) == Op::Call {
                taken.extend(base_symbol(body, a).filter(global));
            }
        }
    }
    let names = |of: &mut dyn Iterator<Item = &SymbolId>| {
        let mut names: Vec<Arc<str>> = of.map(|&s| body.symbols[s].name.clone()).collect();
        names.extend(body.said.also_named.iter().cloned());
        names.sort();
        names
    };
    let changed = names(&mut written.union(&taken));
    let stored = stored(body).into_iter().filter(|s| s.symbol.is_none()).collect();
    Some(Touched { changed, taken: names(&mut taken.iter()), stored })
}

/// The file's own variables (C11 6.2.2p3) of which no text of it makes a pointer: what is reached through one is never theirs.
/// `functions`: what each does with them; `declarations`: all else, with whether texts that are not here may name what they declare.
pub(crate) fn hidden<'a>(
    functions: &[&Touched],
    declarations: impl Iterator<Item = (&'a Arc<Body>, bool)>,
) -> FxHashSet<Arc<str>> {
    let mut own: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut taken: FxHashSet<Arc<str>> = functions.iter().flat_map(|t| &t.taken).cloned().collect();
    for (body, is_shared) in declarations {
        let Some(here) = touched(body) else { return FxHashSet::default() };
        taken.extend(here.taken);
        let internal =
            |s: &&term::Symbol| matches!(s.storage, Storage::Global { internal: true, constant: false, .. });
        let here = body.symbols.iter().filter(internal).map(|s| s.name.clone());
        match is_shared {
            true => taken.extend(here),
            false => own.extend(here),
        }
    }
    own.retain(|name| !taken.contains(name));
    own
}
