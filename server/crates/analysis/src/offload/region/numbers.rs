//! A function as its offload of a stretch reads it, first part: numbers in structures that the statements leave alone, and pointers in
//! them that the statements exchange.
//!
//! `m->n` in a time loop is a number that has one value throughout: each such place stands there as a variable that nothing sets,
//! named by the place's text, so that the host's text says `m->n` where the offload is called. That nothing changes it is seen here as
//! far as names say it; that no array which kernels write holds it is tested where the statements begin, as for any variable that
//! others can reach. Behind a pointer it is read only where the statements surely come to read it: the pointer may show nothing
//! where their loops do not run.
//!
//! `g->u` and `g->v` that a time loop exchanges are variables, too, that others can reach: the offload is given their addresses.

use std::fmt::Write;
use std::sync::Arc;

use base::IndexId;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, Symbol, SymbolId, Term, TermId, TypeKind};

use super::written::Written;
use crate::flow::counted_loop::has_jump;
use crate::flow::effects::Effects;
use crate::flow::parts::{field_cell, owner, FieldCell};
use crate::nest::loaded::is_plain_number;
use crate::Program;

/// A place that holds a number, or a pointer that is exchanged.
#[derive(Clone)]
struct HeldNumber {
    /// Where it stands in the statements.
    terms: Vec<TermId>,
    /// The variable that it is a part of, or that points to it.
    base: SymbolId,
    is_behind_pointer: bool,
    text: String,
}

/// The function with such numbers as variables, and whether one of them lies behind a pointer; `None`: there are none.
pub(crate) fn with_numbers(written: &Written, program: &Program) -> Option<(Written, bool)> {
    let (body, statements) = (&written.body, &written.statements);
    if body.semantics.checked_bounds {
        return None;
    }
    let parents = body.parents();
    let all = places(body, statements, &parents);
    let pointers = exchanged(body, statements, &parents);
    if all.is_empty() && pointers.is_empty() {
        return None;
    }
    let effects = Effects::new(body, program);
    let mut set: FxHashSet<SymbolId> = FxHashSet::default();
    for &t in statements {
        set.extend(effects.writes_in(t).iter().copied());
        set.extend(body.walk(t).filter_map(|t| match body.op(t) {
            Op::Declare(s) => Some(*s),
            _ => None,
        }));
    }
    let around = Around { body, statements, parents: &parents };
    let is_exchange = |t: TermId| pointers.iter().any(|p| p.terms.contains(&t));
    // what else of it is set
    let is_set = |s: SymbolId| {
        let writes = |t: TermId| match (body.op(t), body.args(t)) {
            (Op::Declare(d), _) => *d == s,
            (Op::Call, _) => !body.callee(t).is_some_and(|f| body.library.contains(&f)),
            (op, &[place, ..]) if op.is_write() => {
                !is_exchange(place) && owner(body, place).is_some_and(|o| o.0 == s)
            }
            _ => false,
        };
        set.contains(&s)
            && (pointers.iter().all(|p| p.base != s) || statements.iter().any(|&t| body.walk(t).any(writes)))
    };
    let is_still = |s: SymbolId| {
        let base = &body.symbols[s];
        !is_set(s) && base.storage.is_of_call() && !base.address_taken
    };
    let shown = around.shown();
    let may_be_given = |p: &HeldNumber| {
        let is_param = matches!(body.symbols[p.base].storage, Storage::Param(_));
        let is_given = is_param && effects.is_single_valued(p.base);
        !p.is_behind_pointer || shown.contains(&p.base) && around.writes_nothing_named(is_given)
    };
    let numbers = all.into_iter().filter(|p| around.leave_alone(p)).map(|p| (p, false));
    let given = |p: &HeldNumber| is_still(p.base) && may_be_given(p);
    let exchanged: Vec<HeldNumber> = match pointers.iter().all(given) {
        true => pointers.clone(),
        false => Vec::new(),
    };
    let kept: Vec<(HeldNumber, bool)> =
        numbers.filter(|p| given(&p.0)).chain(exchanged.into_iter().map(|p| (p, true))).collect();
    if kept.is_empty() {
        return None;
    }
    let mut b = body.to_builder();
    for (p, is_exchanged) in &kept {
        let ty = b.types.plain(body.types.kind(body.ty(p.terms[0])).clone());
        // what lies behind a pointer others can reach
        let storage = match p.is_behind_pointer || *is_exchanged {
            true => Storage::Global { defined_here: false, internal: false, constant: false },
            false => Storage::Local,
        };
        let s = b.symbols.push(Symbol {
            name: Arc::from(&*p.text),
            ty,
            storage,
            device: None,
            address_taken: p.is_behind_pointer,
            span: None,
        });
        for &t in &p.terms {
            b.set(t, Term { op: Op::Sym(s), args: Box::default(), ty });
        }
    }
    let body = b.finish(body.root);
    let shown = shown.into_iter().filter(|&s| is_still(s)).collect();
    Some((Written { body, shown, ..written.clone() }, kept.iter().any(|p| p.0.is_behind_pointer)))
}

/// The places of numbers in statements that nothing there sets or takes the address of.
fn places(body: &Body, statements: &[TermId], parents: &[Option<TermId>]) -> Vec<HeldNumber> {
    let mut found: Vec<HeldNumber> = Vec::new();
    let mut changed: FxHashSet<String> = FxHashSet::default();
    let mut by_text: FxHashMap<(String, SymbolId), usize> = FxHashMap::default();
    let mut stack: Vec<TermId> = statements.iter().rev().copied().collect();
    while let Some(t) = stack.pop() {
        if *body.op(t) == Op::SizeOf {
            continue;
        }
        let mut text = String::new();
        let Some((base, loads)) = place(body, t, &mut text).filter(|_| is_number(body, t)) else {
            stack.extend(body.args(t).iter().rev());
            continue;
        };
        let parent = parents[t.index()];
        let is_set = parent.is_some_and(|p| {
            (body.op(p).is_write() || *body.op(p) == Op::AddrOf) && body.args(p).first() == Some(&t)
        });
        if is_set {
            changed.insert(text);
            continue;
        }
        let at = *by_text.entry((text.clone(), base)).or_insert_with(|| {
            found.push(HeldNumber { terms: Vec::new(), base, is_behind_pointer: loads > 0, text });
            found.len() - 1
        });
        found[at].terms.push(t);
    }
    // of two variables of one name the text says neither
    let names = |p: &HeldNumber| found.iter().filter(|q| q.text == p.text).count();
    let clear: Vec<bool> = found.iter().map(|p| names(p) == 1 && !changed.contains(&p.text)).collect();
    let mut clear = clear.into_iter();
    found.retain(|_| clear.next().unwrap_or(false));
    found
}

/// The places of pointers to numbers in structures that statements assign to one another; nothing where anything else that is written
/// may be such a pointer.
fn exchanged(body: &Body, statements: &[TermId], parents: &[Option<TermId>]) -> Vec<HeldNumber> {
    let parent_of = |t: TermId| parents[t.index()];
    let is_target = |t: TermId| {
        parent_of(t).is_some_and(|p| *body.op(p) == Op::Assign && body.args(p).first() == Some(&t))
    };
    let last_field = |t: TermId| match body.op(t) {
        Op::Member { field, .. } => Some(field.clone()),
        _ => None,
    };
    let is_pointer = |t: TermId| {
        let q = body.types.quals(body.ty(t));
        let of = body.types.element(body.ty(t)).filter(|&of| body.types.is_arithmetic(of));
        let plain = of.map(|of| body.types.quals(of)).is_some_and(|q| !q.is_volatile && !q.is_atomic);
        matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. })
            && plain
            && !(q.is_const || q.is_volatile || q.is_atomic)
    };
    let mut found: Vec<HeldNumber> = Vec::new();
    for t in statements.iter().flat_map(|&s| body.walk(s)) {
        let mut text = String::new();
        let named = is_pointer(t) && last_field(t).is_some();
        let Some((base, loads)) = named.then(|| place(body, t, &mut text)).flatten() else { continue };
        match found.iter_mut().find(|p| p.text == text && p.base == base) {
            Some(known) => known.terms.push(t),
            None => found.push(HeldNumber { terms: vec![t], base, is_behind_pointer: loads > 0, text }),
        }
    }
    found.retain(|p| p.terms.iter().any(|&t| is_target(t)));
    let is_one = |t: TermId| found.iter().any(|p| p.terms.contains(&t));
    // a member of that name of another structure may be the same pointer, and so may a structure that is written as a whole
    let fields: Vec<Arc<str>> = found.iter().filter_map(|p| last_field(p.terms[0])).collect();
    let is_other = |t: TermId| !is_one(t) && last_field(t).is_some_and(|f| fields.contains(&f));
    let is_changed = |t: TermId| {
        let place = body.args(t).first().copied().filter(|_| body.op(t).is_write());
        place.is_some_and(|p| match body.as_symbol(p) {
            Some(s) => matches!(body.types.kind(body.symbols[s].ty), TypeKind::Record(_)),
            None => !(is_plain_number(body, body.ty(p)) || is_one(p) && *body.op(t) == Op::Assign),
        })
    };
    let is_shown = |t: TermId| *body.op(t) == Op::AddrOf && body.args(t).first().is_some_and(|&p| is_one(p));
    let names_twice = |p: &HeldNumber| found.iter().filter(|q| q.text == p.text).count() > 1;
    let bad = |t: TermId| is_other(t) || is_changed(t) || is_shown(t);
    match found.iter().any(names_twice) || statements.iter().any(|&s| body.walk(s).any(bad)) {
        true => Vec::new(),
        false => found,
    }
}

fn is_number(body: &Body, t: TermId) -> bool {
    let q = body.types.quals(body.ty(t));
    body.types.is_arithmetic(body.ty(t)) && !q.is_volatile && !q.is_atomic
}

/// The variable at the base of `m.n`, `m->n` or `m->size[1]`, and through how many pointers it goes (one at most); its text is added.
fn place(body: &Body, t: TermId, text: &mut String) -> Option<(SymbolId, u32)> {
    let is_record = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Record(_));
    let pointer_to_record = |t: TermId| {
        let to = body.types.element(body.ty(t)).map(|e| body.types.kind(e));
        matches!(to, Some(TypeKind::Record(_)))
    };
    match (body.op(t), body.args(t)) {
        (Op::Member { field, arrow }, &[of]) => {
            let own = matches!(field_cell(body, t), Some(FieldCell::Own(_)));
            let word = !field.is_empty() && field.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
            if !own || !word {
                return None;
            }
            let (base, loads) = match arrow {
                true => (variable(body, of, text).filter(|_| pointer_to_record(of))?, 1),
                false if body.as_symbol(of).is_some() => {
                    (variable(body, of, text).filter(|_| is_record(of))?, 0)
                }
                false => place(body, of, text)?,
            };
            write!(text, "{}{field}", if *arrow { "->" } else { "." }).ok()?;
            Some((base, loads))
        }
        (Op::Index, &[of, k]) if matches!(body.types.kind(body.ty(of)), TypeKind::Array { .. }) => {
            let (base, loads) = place(body, of, text)?;
            write!(text, "[{}]", body.as_int(k).filter(|k| *k >= 0)?).ok()?;
            Some((base, loads))
        }
        _ => None,
    }
}

fn variable(body: &Body, t: TermId, text: &mut String) -> Option<SymbolId> {
    let s = body.as_symbol(t)?;
    let symbol = &body.symbols[s];
    let q = body.types.quals(symbol.ty);
    let of = body.types.element(symbol.ty).map(|e| body.types.quals(e));
    let watched = q.is_volatile || q.is_atomic || of.is_some_and(|q| q.is_volatile || q.is_atomic);
    if watched || !symbol.name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
        return None;
    }
    text.push_str(&symbol.name);
    Some(s)
}

struct Around<'a> {
    body: &'a Body,
    statements: &'a [TermId],
    parents: &'a [Option<TermId>],
}

impl Around<'_> {
    /// Whether nothing in the statements writes a member of that name, of whatever structure, or a structure as a whole.
    fn leave_alone(&self, p: &HeldNumber) -> bool {
        let body = self.body;
        let field = |t: TermId| match body.op(t) {
            Op::Member { field, .. } => Some(field.clone()),
            _ => None,
        };
        let mut own = Vec::new();
        let mut at = p.terms[0];
        while let Some(&of) = body.args(at).first() {
            own.extend(field(at));
            at = of;
        }
        let writes = |t: TermId| {
            let Some(&place) = body.args(t).first().filter(|_| body.op(t).is_write()) else { return false };
            let record =
                matches!(body.types.kind(body.ty(place)), TypeKind::Record(_) | TypeKind::Array { .. });
            let mut at = Some(place);
            let mut named = false;
            while let Some(t) = at.filter(|&t| !matches!(body.op(t), Op::Sym(_))) {
                named |= field(t).is_some_and(|f| own.contains(&f));
                at = body.args(t).first().copied();
            }
            record || named
        };
        !self.statements.iter().any(|&t| body.walk(t).any(writes))
    }

    /// Whether nothing is written by name that the pointer may show a part of: of variables nothing is tested. `is_given`: it is a
    /// parameter that keeps its value, and so shows nothing of the function's own.
    fn writes_nothing_named(&self, is_given: bool) -> bool {
        let body = self.body;
        self.statements.iter().flat_map(|&t| body.walk(t)).filter(|&t| body.op(t).is_write()).all(|t| {
            let Some((s, part)) = body.args(t).first().and_then(|&p| owner(body, p)) else { return true };
            let symbol = &body.symbols[s];
            is_given && symbol.storage.is_of_call() || !part && symbol.is_own_scalar()
        })
    }

    /// The pointers that are followed to a structure wherever the statements run, or wherever a loop among them does.
    fn shown(&self) -> FxHashSet<SymbolId> {
        let body = self.body;
        let mut followed: FxHashMap<SymbolId, Vec<TermId>> = FxHashMap::default();
        for t in self.statements.iter().flat_map(|&t| body.walk(t)) {
            let of = matches!(body.op(t), Op::Member { arrow: true, .. }).then(|| body.args(t)[0]);
            // `&m->n` follows nothing
            let is_address = || self.parents[t.index()].is_some_and(|p| *body.op(p) == Op::AddrOf);
            if let Some(s) = of.and_then(|of| body.as_symbol(of)).filter(|_| !is_address()) {
                followed.entry(s).or_default().push(t);
            }
        }
        followed.retain(|_, at| self.is_surely_read(at));
        followed.into_keys().collect()
    }

    /// Whether one of the places is read wherever the statements run, or wherever a loop among them does.
    fn is_surely_read(&self, at: &[TermId]) -> bool {
        let body = self.body;
        if self.statements.iter().any(|&l| at.iter().any(|&t| self.leads(t, l, false))) {
            return true;
        }
        let mut loops = self.statements.iter().filter(|&&l| body.op(l).is_loop()).peekable();
        loops.peek().is_some() && loops.all(|&l| at.iter().any(|&t| self.leads(t, l, true)))
    }

    /// Whether the term is evaluated whenever the statement runs; `inside`: whenever its first round does.
    fn leads(&self, t: TermId, statement: TermId, inside: bool) -> bool {
        let body = self.body;
        let mut at = t;
        while at != statement {
            let Some(parent) = self.parents[at.index()] else { return false };
            let place = body.args(parent).iter().position(|&a| a == at).unwrap_or(usize::MAX);
            let sure = match body.op(parent) {
                Op::List => !body.args(parent)[..place].iter().any(|&a| has_jump(body, a)),
                op if op.is_loop() => body.loop_parts(parent).is_some_and(|p| {
                    let header = p.init == Some(at) || p.tests_first && p.condition == Some(at);
                    header || p.body == at && (!p.tests_first || parent == statement && inside)
                }),
                Op::If | Op::Select | Op::Binary(term::BinOp::And | term::BinOp::Or) => place == 0,
                Op::Switch | Op::Reject(_) | Op::Launch | Op::SizeOf => false,
                _ => true,
            };
            if !sure {
                return false;
            }
            at = parent;
        }
        true
    }
}
