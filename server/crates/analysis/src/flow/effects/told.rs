//! Who may know of memory, and from when on: pointers to a variable, or to what a local pointer alone was given, that are kept.
//!
//! A loop that is over before the first of them is made has nothing to fear from it: what stands behind the outermost loop around it
//! runs later, where no jump leads back.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::Effects;
use crate::flow::called::keeps;
use crate::flow::given::{changes, member_of};
use crate::flow::owned::{home, Home};
use crate::flow::parts::{base_symbol, owner, pointed_by};
use crate::Summary;

/// A place of the body's text: terms in the order in which they are written.
type Moment = u32;

/// What is known of a structure until a moment.
type Homes = FxHashMap<(SymbolId, Moment), Option<Rc<Home>>>;
/// See [`changes`].
type Changes = Rc<Vec<(TermId, Option<Arc<str>>)>>;

/// Past all.
const EVER: Moment = Moment::MAX;

/// What is found out once.
#[derive(Default)]
pub(super) struct Known {
    /// When each term comes.
    order: OnceCell<FxHashMap<TermId, Moment>>,
    /// Of loops, when the last of their terms comes.
    ends: RefCell<FxHashMap<TermId, Moment>>,
    /// Variables that a pointer is made of, itself or a part of it, which may still be somewhere when what made it is done; and when
    /// the first is.
    abroad: OnceCell<FxHashMap<SymbolId, Moment>>,
    /// See [`Effects::tells_nobody`].
    told: OnceCell<Told>,
    /// See [`Effects::home`].
    homes: RefCell<Homes>,
    /// What may change members of structures that nobody else knows of.
    changes: RefCell<FxHashMap<SymbolId, Changes>>,
}

/// Where local pointers go.
#[derive(Default)]
struct Told {
    /// When somebody is first told of what one shows.
    first: FxHashMap<SymbolId, Moment>,
    /// The local pointers that one is copied to.
    copies: FxHashMap<SymbolId, FxHashSet<SymbolId>>,
}

fn is_pointer_of(body: &Body, s: SymbolId) -> bool {
    matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. })
}

impl Effects<'_> {
    /// When all that a local variable may have been through, since it was declared, before a loop ends has come: the outermost loop
    /// around that one in which it is still the same variable may come to it again. Without a loop, never.
    fn end_of(&self, during: Option<TermId>, s: SymbolId) -> Moment {
        let Some(t) = during.filter(|_| !self.entered_by_label(self.body.root) && !self.jumps_unseen())
        else {
            return EVER;
        };
        let declared = self.locals().iter().find(|d| d.1 == s).map(|d| d.0);
        let up = |t: Option<TermId>| std::iter::successors(t, |&x| self.parent(x));
        // in the header of a `for` it is declared once for all rounds
        let header = declared.and_then(|d| {
            up(Some(d)).find(|&x| {
                let parts = self.parent(x).and_then(|l| self.body.loop_parts(l));
                parts.is_some_and(|p| p.init == Some(x))
            })
        });
        let header = header.and_then(|x| self.parent(x));
        let anew: FxHashSet<TermId> = up(declared).filter(|&x| Some(x) != header).collect();
        let again = up(Some(t)).filter(|x| self.body.op(*x).is_loop() && !anew.contains(x)).last();
        let around = again.unwrap_or(t);
        let find = || self.body.walk(around).map(|x| self.moment(x).unwrap_or(EVER)).max().unwrap_or(EVER);
        *self.known.ends.borrow_mut().entry(around).or_insert_with(find)
    }

    fn moment(&self, t: TermId) -> Option<Moment> {
        let order = || self.body.walk(self.body.root).zip(0..).collect();
        self.known.order.get_or_init(order).get(&t).copied()
    }

    /// What each term is a part of.
    pub(crate) fn parents(&self) -> &[Option<TermId>] {
        self.parents.get_or_init(|| self.body.parents())
    }

    /// Whether nothing but its own name reaches the local variable, once a call that it is given to is over: every pointer
    /// made of it or of a part of it (an array's name becomes one, C11 6.3.2.1p3) is used at once and not kept.
    pub(crate) fn stays_home(&self, s: SymbolId) -> bool {
        self.stays_home_until(None, s)
    }

    /// Likewise, until the end of a loop.
    pub(crate) fn stays_home_until(&self, during: Option<TermId>, s: SymbolId) -> bool {
        let end = || self.end_of(during, s);
        self.body.symbols[s].storage.is_of_call()
            && !self.in_gaps.contains(&s)
            && self.known.abroad.get_or_init(|| self.made_pointers()).get(&s).is_none_or(|&m| m > end())
    }

    /// Whether nothing but its own name ever reaches a `static` variable of the function, whatever calls of it there were.
    pub(crate) fn static_stays_home(&self, s: SymbolId) -> bool {
        self.is_never_entered_again
            && self.body.symbols[s].storage.is_static_local()
            && !self.in_gaps.contains(&s)
            && !self.known.abroad.get_or_init(|| self.made_pointers()).contains_key(&s)
    }

    /// What is known of a local structure, or of what a local pointer points to, if nobody is told of it until the end of a loop.
    pub(crate) fn home(&self, during: TermId, s: SymbolId) -> Option<Rc<Home>> {
        if self.in_gaps.contains(&s) {
            return None;
        }
        let end = self.end_of(Some(during), s);
        let find = || {
            let called = |call| self.program.called(self.body, call);
            let matters = |t: TermId| self.moment(t).is_none_or(|m| m <= end);
            home(self.body, self.parents(), &called, &matters, s).map(Rc::new)
        };
        self.known.homes.borrow_mut().entry((s, end)).or_insert_with(find).clone()
    }

    /// Whether the pointer is a member of a local structure that alone leads to its memory, until the end of a loop.
    pub(crate) fn owns_memory(&self, during: TermId, path: SymbolId) -> bool {
        let place = self.body.path_term(path).and_then(|t| member_of(self.body, t));
        place.is_some_and(|(s, field)| self.home(during, s).is_some_and(|h| h.alone.contains(&field)))
    }

    /// The local pointer through whose structure alone the memory is reached that a pointer found there leads to, until the end of a
    /// loop.
    pub(crate) fn leads_home(&self, during: TermId, path: SymbolId) -> Option<SymbolId> {
        let s = self.first_of(path).filter(|&s| s != path)?;
        self.home(during, s).filter(|h| h.closed).map(|_| s)
    }

    /// The variable from which a pointer is reached that memory holds, however far: `v` of `v->of->data`; the variable itself, if it is
    /// one.
    pub(crate) fn first_of(&self, mut s: SymbolId) -> Option<SymbolId> {
        for _ in 0..100 {
            match self.body.path_term(s) {
                None => return Some(s),
                Some(t) => s = base_symbol(self.body, t).filter(|&next| next != s)?,
            }
        }
        None
    }

    /// What is known of the function that a call names.
    pub(crate) fn summary(&self, call: TermId) -> Option<&Summary> {
        self.program.called(self.body, call)
    }

    /// Whether a member of a structure that nobody else knows of may change between the statement `since` and the end of `root`, before
    /// which it stands.
    pub(crate) fn changes_member(&self, s: SymbolId, field: &str, since: TermId, root: TermId) -> bool {
        let find = || {
            let called = |call| self.program.called(self.body, call);
            Rc::new(changes(self.body, self.parents(), &called, s))
        };
        let all = self.known.changes.borrow_mut().entry(s).or_insert_with(find).clone();
        let up = |t: TermId| std::iter::successors(Some(t), |&x| self.parent(x));
        let around: FxHashSet<TermId> = up(since).collect();
        // the outermost loop that goes around the root alone
        let again = up(root).filter(|x| self.body.op(*x).is_loop() && !around.contains(x)).last();
        let (from, to) = (self.moment(since), self.moment(root));
        all.iter().filter(|(t, f)| *t != since && f.as_deref().is_none_or(|f| f == field)).any(|(t, _)| {
            let is_between = self.moment(*t) > from && self.moment(*t) < to;
            is_between && !up(*t).any(|x| x == since) || up(*t).any(|x| Some(x) == again || x == root)
        })
    }

    /// Whether nobody knows, until the end of a loop, of the memory that a local pointer is given, but that pointer and local ones which
    /// it is copied to, `other` not among them: its value, and every pointer that is made of it or of a part of what it points to, is
    /// used at once and not kept, as far as the function runs on after it.
    pub(crate) fn tells_nobody(&self, during: TermId, s: SymbolId, other: SymbolId) -> bool {
        let told = self.known.told.get_or_init(|| self.told_pointers());
        let (mut holders, mut next) = (vec![s], 0);
        while let Some(&h) = holders.get(next) {
            next += 1;
            let copies = told.copies.get(&h).into_iter().flatten();
            let new: Vec<SymbolId> = copies.copied().filter(|c| !holders.contains(c)).collect();
            holders.extend(new);
        }
        // what a copy tells in one round the pointer has been through in the next
        let end = holders.iter().map(|&h| self.end_of(Some(during), h)).max().unwrap_or(EVER);
        holders.iter().all(|&h| {
            let v = &self.body.symbols[h];
            let is_own = v.storage == Storage::Local && !v.address_taken && !self.in_gaps.contains(&h);
            is_own && h != other && told.first.get(&h).is_none_or(|&m| m > end)
        })
    }

    fn told_pointers(&self) -> Told {
        let body = self.body;
        let kind = |t: TermId| body.types.kind(body.ty(t));
        let mut told = Told::default();
        for t in body.walk(body.root) {
            let place = match (body.op(t), body.args(t)) {
                (Op::AddrOf, &[place]) => place,
                (Op::Sym(_), _) if matches!(kind(t), TypeKind::Pointer { .. }) => t,
                (Op::Member { .. } | Op::Index | Op::Deref, _)
                    if matches!(kind(t), TypeKind::Array { .. }) =>
                {
                    t
                }
                _ => continue,
            };
            let Some(s) = pointed_by(body, place) else { continue };
            // the walk goes as the text does, so that the first is met first
            if told.first.contains_key(&s) || self.stays_or_ends(t) || self.is_used_at_once(t) {
                continue;
            }
            match self.copied_to(t) {
                Some(copy) => {
                    told.copies.entry(s).or_default().insert(copy);
                }
                None => {
                    told.first.insert(s, self.moment(t).unwrap_or(0));
                }
            }
        }
        told
    }

    /// The local pointer that is set to the pointer, or to a sum with it, in a statement of its own.
    fn copied_to(&self, pointer: TermId) -> Option<SymbolId> {
        let body = self.body;
        let is_pointer = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. });
        let mut at = pointer;
        for _ in 0..20 {
            let p = self.parent(at)?;
            match (body.op(p), body.args(p)) {
                (Op::Cast | Op::Binary(BinOp::Add | BinOp::Sub), _) if is_pointer(p) => at = p,
                (Op::AddrOf, _) => at = p,
                (Op::Index | Op::Deref | Op::Member { .. }, args) if args.first() == Some(&at) => {
                    at = self.pointer_made_of(p)?;
                }
                (Op::Declare(s), _) => return Some(*s).filter(|&s| is_pointer_of(body, s)),
                (Op::Assign, &[place, value]) if value == at => {
                    let is_statement = self.parent(p).is_some_and(|q| *body.op(q) == Op::List);
                    return body.as_symbol(place).filter(|&s| is_statement && is_pointer_of(body, s));
                }
                _ => return None,
            }
        }
        None
    }

    /// Whether a pointer is set there and its value used at once, tested, or handed out where the function ends.
    fn stays_or_ends(&self, pointer: TermId) -> bool {
        let Some(p) = self.parent(pointer) else { return false };
        let is_first = self.body.args(p).first() == Some(&pointer);
        match self.body.op(p) {
            Op::Assign => {
                let is_statement = self.parent(p).is_some_and(|q| *self.body.op(q) == Op::List);
                is_first && (is_statement || self.is_used_at_once(p) || self.stays_or_ends(p))
            }
            Op::If | Op::Select => is_first,
            Op::Unary(UnOp::Not) | Op::Return => true,
            _ => false,
        }
    }

    fn made_pointers(&self) -> FxHashMap<SymbolId, Moment> {
        let body = self.body;
        let is_array = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. });
        let mut abroad = FxHashMap::default();
        for t in body.walk(body.root) {
            let place = match (body.op(t), body.args(t)) {
                (Op::AddrOf, &[place]) => place,
                (Op::Sym(_) | Op::Member { .. } | Op::Index | Op::Deref, _) if is_array(t) => t,
                _ => continue,
            };
            let Some((s, _)) = owner(body, place) else { continue };
            if !abroad.contains_key(&s) && !self.is_used_at_once(t) {
                abroad.insert(s, self.moment(t).unwrap_or(0));
            }
        }
        abroad
    }

    /// Whether a pointer value does not outlive the expression it stands in.
    fn is_used_at_once(&self, pointer: TermId) -> bool {
        let body = self.body;
        let mut at = pointer;
        // what an address is as a number may become an address again anywhere
        let mut is_number = false;
        for _ in 0..100 {
            let Some(p) = self.parent(at) else { return false };
            let args = body.args(p);
            let is_base = args.first() == Some(&at) || body.types.element(body.ty(at)).is_some();
            match body.op(p) {
                Op::SizeOf => return true,
                Op::AddrOf => at = p,
                // names a place, of which another pointer may be made
                Op::Index | Op::Deref | Op::Member { .. } if is_base && !is_number => {
                    match self.pointer_made_of(p) {
                        Some(made) => at = made,
                        None => return true,
                    }
                }
                Op::Index | Op::Deref | Op::Member { .. } => return false,
                Op::Binary(op) if op.is_comparison() || op.is_logical() => return true,
                Op::Cast if matches!(body.types.kind(body.ty(p)), TypeKind::Void) => return true,
                Op::Cast | Op::Binary(_) => {
                    is_number |= body.types.is_arithmetic(body.ty(p));
                    at = p;
                }
                Op::Call if is_number => return false,
                Op::Call => {
                    let Some(k) = args.iter().skip(1).position(|&a| a == at) else { return false };
                    let kept = keeps(body, self.program, p, k);
                    // What it returns may be made of the pointer.
                    let number = body.types.is_arithmetic(body.ty(p))
                        || matches!(body.types.kind(body.ty(p)), TypeKind::Void);
                    let dropped = self.parent(p).is_some_and(|q| *body.op(q) == Op::List);
                    return !kept && (number || dropped);
                }
                _ => return false,
            }
        }
        false
    }

    /// The pointer that is made of a place where it stands, or of a part of it: its address is taken, or it is an array. `None`: it is
    /// read or written.
    fn pointer_made_of(&self, place: TermId) -> Option<TermId> {
        let body = self.body;
        let is_array = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. });
        let mut at = place;
        for _ in 0..100 {
            let p = self.parent(at)?;
            let is_first = body.args(p).first() == Some(&at);
            match body.op(p) {
                Op::AddrOf => return Some(p),
                Op::Member { arrow: false, .. } => at = p,
                Op::Index if is_array(at) && is_first => at = p,
                _ if is_array(at) => return Some(at),
                _ => return None,
            }
        }
        Some(at)
    }
}
