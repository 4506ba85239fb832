//! Pointer members of one structure that lead to memory which only they lead to: `image m = make_image(w, h);`, then `m.data`.
//!
//! Each value such a member ever has is null or what an allocation function returned to it alone (C11 7.22.3p1), here or in the
//! function that made the structure, and nobody else is told of it. Nor is anybody told of the structure, who might then set it.
//!
//! Of a structure that a call made with all that it leads to (`Summary::is_closed`) the same is known as a whole: its members may lead
//! to the same memory (`v->data` and `v->block->data`), but nothing else does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::{Body, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::flow::fresh::{is_allocation, is_null, uncast};
use crate::flow::library::{library_call, LibraryResult};
use crate::flow::parts::holds_pointer;
use crate::{Roots, Summary};

/// What is known of the function that a call calls.
pub(crate) type Known<'k> = dyn Fn(TermId) -> Option<&'k Summary> + 'k;

/// What is known of a structure that nobody was told of: each object that its variable stands for was made anew, and is reached through
/// the variable alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Home {
    /// The pointer members that own what they lead to.
    pub alone: BTreeSet<Arc<str>>,
    /// Whether all that its members lead to, however far, was made with it or for it, and is reached in no other way.
    pub closed: bool,
    /// Whether nothing leads to the structure itself but its variable.
    pub apart: bool,
}

/// Whether a local structure, or what a local pointer points to, is one that nobody was told of, as far as the places that matter show.
pub(crate) fn home(
    body: &Body,
    parents: &[Option<TermId>],
    known: &Known<'_>,
    matters: &dyn Fn(TermId) -> bool,
    s: SymbolId,
) -> Option<Home> {
    let symbol = &body.symbols[s];
    let (is_pointer, of) = match body.types.kind(symbol.ty) {
        TypeKind::Pointer { to, .. } => (true, *to),
        _ => (false, symbol.ty),
    };
    let TypeKind::Record(r) = body.types.kind(of) else { return None };
    // members of a union are one another
    let fields = body.types.record(*r).fields.as_ref().filter(|_| !body.types.record(*r).is_union)?;
    if symbol.storage != Storage::Local {
        return None;
    }
    // what was given no value leads nowhere
    let pointers = fields.iter().filter(|f| matches!(body.types.kind(f.ty), TypeKind::Pointer { .. }));
    let members = pointers.map(|f| (f.name.clone(), true)).collect();
    let mut look = Look { body, parents, known, is_pointer, members, made: None, closed: true, apart: true };
    for t in body.walk(body.root).filter(|&t| matters(t)) {
        let is_known = match body.op(t) {
            Op::Declare(d) if *d == s => body.args(t).first().is_none_or(|&v| look.made_by(v)),
            Op::Sym(x) if *x == s => look.occurrence(t),
            _ => true,
        };
        if !is_known {
            return None;
        }
    }
    let Look { members, made, closed, apart, .. } = look;
    let came_so = |name: &Arc<str>| made.as_ref().is_none_or(|m| m.contains(name));
    let alone = members.into_iter().filter(|(name, owns)| *owns && came_so(name)).map(|m| m.0).collect();
    Some(Home { alone, closed, apart })
}

struct Look<'a, 'k> {
    body: &'a Body,
    parents: &'a [Option<TermId>],
    known: &'a Known<'k>,
    is_pointer: bool,
    /// Members that are pointers, and whether they own what they lead to as far as was seen.
    members: BTreeMap<Arc<str>, bool>,
    /// The members that do so in every structure that a call gave.
    made: Option<BTreeSet<Arc<str>>>,
    /// See [`Home`].
    closed: bool,
    apart: bool,
}

impl Look<'_, '_> {
    fn parent(&self, t: TermId) -> Option<TermId> {
        self.parents.get(t.0 as usize).copied().flatten()
    }

    fn makes_memory(&self, call: TermId) -> bool {
        (self.known)(call).is_some_and(Summary::makes_memory)
    }

    fn is_new(&self, v: TermId) -> bool {
        let v = uncast(self.body, v);
        is_allocation(self.body, v) || *self.body.op(v) == Op::Call && self.makes_memory(v)
    }

    /// Whether the structure's value is a new one.
    fn made_by(&mut self, v: TermId) -> bool {
        let body = self.body;
        let v = uncast(body, v);
        if self.is_pointer && is_null(body, v) {
            return true;
        }
        match body.op(v) {
            // what stands in it has no value yet, or is null
            Op::Call if self.is_pointer && is_allocation(body, v) => return true,
            Op::Call if self.is_pointer && !self.makes_memory(v) => return false,
            Op::Call => {}
            Op::InitList => {
                let is_zero = |x| matches!(body.op(x), Op::Int(0) | Op::Cast | Op::InitList);
                if !body.walk(v).skip(1).all(is_zero) {
                    // where its pointers lead is not looked into
                    (self.made, self.closed) = (Some(BTreeSet::new()), false);
                }
                return !self.is_pointer;
            }
            _ => return false,
        }
        let Some(summary) = (self.known)(v) else { return false };
        self.closed &= self.is_pointer && summary.is_closed();
        self.apart &= !self.is_pointer || summary.returns_apart;
        let of = summary.owned_members.clone();
        self.made = Some(match self.made.take() {
            None => of,
            Some(before) => before.intersection(&of).cloned().collect(),
        });
        true
    }

    /// Whether nobody learns of the structure where it is named.
    fn occurrence(&mut self, t: TermId) -> bool {
        let body = self.body;
        let Some(mut p) = self.parent(t) else { return false };
        let mut at = t;
        if self.is_pointer && *body.op(p) == Op::Deref {
            let Some(q) = self.parent(p) else { return false };
            (at, p) = (p, q);
        }
        let is_first = body.args(p).first() == Some(&at);
        let is_whole = at == t;
        match body.op(p) {
            Op::AddrOf if !self.is_pointer && is_whole => {
                self.parent(p).is_some_and(|c| *body.op(c) == Op::Call && self.is_kept_by_nobody(c, p))
            }
            Op::Member { field, arrow } if *arrow == (self.is_pointer && is_whole) => self.member(p, field),
            Op::SizeOf | Op::Return => true,
            Op::Assign if is_first && is_whole => {
                let is_statement = self.parent(p).is_some_and(|q| self.is_dropped_by(q));
                is_statement && body.args(p).get(1).is_some_and(|&v| self.made_by(v))
            }
            _ => is_whole && self.is_quiet_whole(t),
        }
    }

    /// Notes what is done with a member; whether nobody learns of the structure by it.
    fn member(&mut self, m: TermId, name: &str) -> bool {
        let body = self.body;
        if !matches!(body.types.kind(body.ty(m)), TypeKind::Pointer { .. }) {
            self.closed &= !holds_pointer(body, body.ty(m));
            return self.is_quiet_place(m);
        }
        let Some(p) = self.parent(m) else { return false };
        let owns = match body.op(p) {
            // who has the address of one member may come from it to the others, and set them
            Op::AddrOf => return false,
            Op::Assign if body.args(p).first() == Some(&m) => {
                let is_used_up = self.parent(p).is_some_and(|q| self.is_dropped_by(q)) || self.is_quiet(p);
                let value = body.args(p).get(1).copied();
                self.closed &= is_used_up && value.is_some_and(|v| self.is_closed_value(v));
                is_used_up && value.is_some_and(|v| is_null(body, v) || self.is_new(v))
            }
            _ => {
                self.closed &= self.is_quiet_deep(m);
                self.is_quiet(m)
            }
        };
        if let Some(so_far) = self.members.get_mut(name) {
            *so_far &= owns;
        }
        true
    }

    /// Null, or memory that leads to nothing that is known elsewhere.
    fn is_closed_value(&self, v: TermId) -> bool {
        let v = uncast(self.body, v);
        let is_call = *self.body.op(v) == Op::Call;
        is_null(self.body, v)
            || is_allocation(self.body, v)
            || is_call && (self.known)(v).is_some_and(Summary::is_closed)
    }

    /// Whether the pointer goes nowhere from there, and no pointer that is found behind it does or is replaced.
    fn is_quiet_deep(&self, pointer: TermId) -> bool {
        let body = self.body;
        let is_pointer = |t: TermId| body.types.element(body.ty(t)).is_some();
        let mut at = pointer;
        for _ in 0..100 {
            let Some(p) = self.parent(at) else { return false };
            let is_base = body.args(p).first() == Some(&at) || is_pointer(at);
            match body.op(p) {
                Op::Index | Op::Deref | Op::Member { .. } if is_base => at = p,
                Op::Cast if blurs(body, body.ty(at), body.ty(p)) || blurs(body, body.ty(p), body.ty(at)) => {
                    return false;
                }
                Op::Cast | Op::Binary(_) if is_pointer(p) && is_pointer(at) => at = p,
                // a number, or a structure of numbers, is read or written
                _ if !holds_pointer(body, body.ty(at)) => return self.is_quiet_place(at),
                Op::Assign | Op::Compound(_) | Op::Step { .. } => return false,
                _ => return is_pointer(at) && self.is_quiet(at),
            }
        }
        false
    }

    /// Whether no pointer is made of the place, or of what it is a part of, that goes somewhere.
    fn is_quiet_place(&self, mut at: TermId) -> bool {
        let body = self.body;
        let is_array = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. });
        while let Some(p) = self.parent(at) {
            let is_first = body.args(p).first() == Some(&at);
            match body.op(p) {
                Op::Member { arrow: false, .. } => at = p,
                Op::Index if is_first && is_array(at) => at = p,
                Op::AddrOf => return self.is_quiet(p),
                _ => break,
            }
        }
        !is_array(at) || self.is_quiet(at)
    }

    fn is_dropped_by(&self, p: TermId) -> bool {
        *self.body.op(p) == Op::List
    }

    /// Whether the pointer, or the structure, goes nowhere from there: it names a place, is compared, or is given to what stores no
    /// pointers.
    fn is_quiet(&self, t: TermId) -> bool {
        let body = self.body;
        let mut at = t;
        for _ in 0..100 {
            let Some(p) = self.parent(at) else { return false };
            let is_first = body.args(p).first() == Some(&at);
            match body.op(p) {
                Op::SizeOf => return true,
                Op::Index | Op::Deref | Op::Member { .. } => return self.is_quiet_place(p),
                Op::Binary(op) if op.is_comparison() || op.is_logical() => return true,
                Op::Unary(UnOp::Not) => return true,
                Op::If | Op::While | Op::Select => return is_first,
                Op::Return => return true,
                Op::Cast if matches!(body.types.kind(body.ty(p)), TypeKind::Void) => return true,
                // its bytes may be copied one by one
                Op::Cast if blurs(body, body.ty(at), body.ty(p)) && !self.is_argument(p) => return false,
                // from a part one may come to the whole
                Op::Cast if blurs(body, body.ty(p), body.ty(at)) => return false,
                Op::Cast if body.types.element(body.ty(p)).is_some() => at = p,
                Op::Binary(_) if body.types.element(body.ty(p)).is_some() => at = p,
                Op::Call => return self.is_kept_by_nobody(p, at),
                _ => return false,
            }
        }
        false
    }

    /// The same of a pointer to the structure, or of the structure itself: what is reached through it by subscripts, sums or as another
    /// type is not followed.
    fn is_quiet_whole(&self, t: TermId) -> bool {
        let body = self.body;
        let Some(p) = self.parent(t) else { return false };
        match body.op(p) {
            Op::Cast if self.is_argument(p) => {
                self.parent(p).is_some_and(|call| self.is_kept_by_nobody(call, p))
            }
            Op::Cast => matches!(body.types.kind(body.ty(p)), TypeKind::Void),
            Op::Binary(op) => op.is_comparison() || op.is_logical(),
            Op::Index | Op::Deref | Op::Member { .. } => false,
            _ => self.is_quiet(t),
        }
    }

    fn is_argument(&self, t: TermId) -> bool {
        self.parent(t).is_some_and(|p| *self.body.op(p) == Op::Call)
    }

    fn is_kept_by_nobody(&self, call: TermId, argument: TermId) -> bool {
        let body = self.body;
        let Some(k) = body.args(call).iter().skip(1).position(|&a| a == argument) else { return false };
        let Some(f) = body.callee(call) else { return false };
        let ty = body.ty(call);
        let gives_number = body.types.is_arithmetic(ty) || matches!(body.types.kind(ty), TypeKind::Void);
        let is_dropped = gives_number || self.parent(call).is_some_and(|q| self.is_dropped_by(q));
        if !body.library.contains(&f) {
            let known = arguments(body, call).nth(k).is_some_and(|(a, to)| {
                let from = body.ty(uncast(body, a));
                to.is_some_and(|to| !blurs(body, from, to)) && !blurs(body, from, body.ty(a))
            });
            let Some(s) = (self.known)(call) else { return false };
            let is_new = s.returns == Roots { fresh: true, ..Roots::default() };
            let handed = s.params.get(k).is_none_or(|p| p.handed);
            let is_left = s.leaves_alone(k) || is_dropped && s.stores_nothing() && !handed;
            return known && (is_dropped || is_new) && is_left;
        }
        // a copy of a structure is one of its pointers, too
        let holds_pointers = |a: TermId| {
            let of = body.types.element(body.ty(uncast(body, a)));
            of.is_none_or(|e| matches!(body.types.kind(e), TypeKind::Void) || holds_pointer(body, e))
        };
        let name = &*body.symbols[f].name;
        let Some(effect) = library_call(body, call) else { return false };
        let is_plain = matches!(name, "free" | "memset") || !holds_pointers(argument);
        is_plain && !effect.through(k).kept && (is_dropped || effect.returns == LibraryResult::Number)
    }
}

/// The arguments of a call, with the parameters' types.
pub(crate) fn arguments(body: &Body, call: TermId) -> impl Iterator<Item = (TermId, Option<TypeId>)> + '_ {
    let (callee, args) = body.args(call).split_first().map_or((None, &[][..]), |(f, args)| (Some(*f), args));
    let of = callee.map(|f| body.types.element(body.ty(f)).unwrap_or(body.ty(f)));
    let params = match of.map(|of| body.types.kind(of)) {
        Some(TypeKind::Function { params, .. }) => &params[..],
        _ => &[],
    };
    args.iter().enumerate().map(|(k, &a)| (a, params.get(k).copied()))
}

/// Whether a pointer to what holds pointers becomes one to bytes or to anything, which may be copied without a pointer being seen.
fn blurs(body: &Body, from: TypeId, to: TypeId) -> bool {
    let (Some(from), Some(to)) = (body.types.element(from), body.types.element(to)) else { return false };
    holds_pointer(body, from) && !holds_pointer(body, to)
}

/// The members of what a function returns that own their memory, whichever way it returns; and whether nothing but what is returned leads
/// to a structure that is pointed to.
pub(crate) fn returned_members(body: &Body, known: &Known<'_>) -> (BTreeSet<Arc<str>>, bool) {
    let is_structure = |t: TermId| {
        let of = body.types.element(body.ty(t)).unwrap_or(body.ty(t));
        matches!(body.types.kind(of), TypeKind::Record(_))
    };
    let returned = body.walk(body.root).filter(|&t| *body.op(t) == Op::Return);
    let values = returned.filter_map(|t| body.args(t).first().map(|&v| uncast(body, v)));
    let values: Vec<TermId> = values.filter(|&v| *body.op(v) != Op::Int(0)).collect();
    if values.is_empty() || !values.iter().all(|&v| is_structure(v)) {
        return (BTreeSet::new(), false);
    }
    let parents = body.parents();
    let (mut all, mut is_apart): (Option<BTreeSet<Arc<str>>>, bool) = (None, true);
    for v in values {
        let (of, apart) = match body.op(v) {
            Op::Sym(s) => {
                home(body, &parents, known, &|_| true, *s).map(|h| (h.alone, h.apart)).unwrap_or_default()
            }
            Op::Call => known(v).map(|s| (s.owned_members.clone(), s.returns_apart)).unwrap_or_default(),
            _ => Default::default(),
        };
        is_apart &= apart;
        all = Some(match all {
            None => of,
            Some(before) => before.intersection(&of).cloned().collect(),
        });
    }
    (all.unwrap_or_default(), is_apart)
}

/// Whether a function stores pointers, or structures with pointers, where its caller or anybody else may find them: anywhere but in
/// variables of its own that nobody else reaches.
pub(crate) fn stores_pointers(body: &Body, known: &Known<'_>) -> bool {
    let holds = |t: TermId| holds_pointer(body, body.ty(t));
    // what is stored in one member is read in another
    let is_union = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Record(r) if body.types.record(*r).is_union);
    let is_own = |mut place: TermId| loop {
        match (body.op(place), body.args(place)) {
            (Op::Sym(s), _) => {
                let v = &body.symbols[*s];
                break matches!(v.storage, Storage::Local | Storage::Param(_)) && !v.address_taken;
            }
            (Op::Member { arrow: false, .. }, &[of]) if !is_union(of) => place = of,
            (Op::Index, &[of, _]) if matches!(body.types.kind(body.ty(of)), TypeKind::Array { .. }) => {
                place = of
            }
            _ => break false,
        }
    };
    let stores = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Assign | Op::Compound(_) | Op::Step { .. }, &[place, ..]) => holds(place) && !is_own(place),
        (Op::Declare(s), &[_]) => {
            let v = &body.symbols[*s];
            holds_pointer(body, v.ty) && (v.address_taken || v.storage != Storage::Local)
        }
        (Op::Cast, &[x]) => body.types.element(body.ty(x)).is_some() && body.types.is_arithmetic(body.ty(t)),
        (Op::Call, _) => match body.callee(t) {
            Some(f) if body.library.contains(&f) => library_call(body, t).is_some_and(|e| e.keeps != 0),
            Some(_) => known(t).is_some_and(|s| !s.stores_nothing()),
            // what they are given is told of the parameters, and of the whole
            None => false,
        },
        (Op::Reject(_) | Op::Launch | Op::Apply(_) | Op::Var(_) | Op::Name(_) | Op::Cons, _) => true,
        _ => false,
    };
    copies_unseen(body) || body.walk(body.root).any(stores)
}

/// Whether pointers may be copied in a function without one being seen: byte by byte, as a part of a structure by the library, or as
/// another type.
pub(crate) fn copies_unseen(body: &Body) -> bool {
    let is_library = |t: TermId| body.callee(t).is_some_and(|f| body.library.contains(&f));
    let calls = body.walk(body.root).filter(|&t| *body.op(t) == Op::Call);
    let judged: FxHashSet<TermId> =
        calls.filter(|&t| is_library(t)).flat_map(|t| body.args(t).iter().copied()).collect();
    let of_numbers = |a: &TermId| {
        let of = body.types.element(body.ty(uncast(body, *a)));
        of.is_none_or(|e| !matches!(body.types.kind(e), TypeKind::Void) && !holds_pointer(body, e))
    };
    body.walk(body.root).any(|t| match (body.op(t), body.args(t)) {
        (Op::Assign, &[place, value]) => blurs(body, body.ty(value), body.ty(place)),
        (Op::Declare(s), &[value]) => blurs(body, body.ty(value), body.symbols[*s].ty),
        (Op::Cast, &[x]) => blurs(body, body.ty(x), body.ty(t)) && !judged.contains(&t),
        (Op::Call, args) => match body.callee(t) {
            Some(f) if body.library.contains(&f) => {
                let moves = matches!(&*body.symbols[f].name, "memcpy" | "memmove" | "realloc");
                moves && !args.iter().skip(1).all(of_numbers)
            }
            _ => arguments(body, t).any(|(a, to)| to.is_none_or(|to| blurs(body, body.ty(a), to))),
        },
        _ => false,
    })
}
