//! What each function of a program does to memory and to the world, without its text: for calls that are not written
//! out (`inline`), and for the view of the call graph.
//!
//! Flow-insensitive: a local pointer stands for all that it is ever made to point into. Every answer holds for all calls
//! that fit the definition. Recursive functions are solved together, from "nothing" upwards to the least answer that
//! explains itself; all steps are monotone and the sets are finite, so this ends.

mod kept;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use base::IndexId;
use rustc_hash::{FxHashMap, FxHasher};
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::calls::called_with::called_with;
use crate::calls::function::{arguments_fit, called, is_declared_as, own_callee, Function, Local};
use crate::calls::mentions::Mentions;
use crate::flow::ends::{endless, never_comes_to_its_end};
use crate::flow::given::set_members;
use crate::flow::library::{library_effect, LibraryResult};
use crate::flow::owned::{copies_unseen, returned_members, stores_pointers};
use crate::flow::parts::in_union;
use crate::{Roots, Summary, Through, TroubleKind};

pub(crate) fn local(body: &Body) -> Local {
    let mut calls: Vec<Arc<str>> = called(body).map(|f| body.symbols[f].name.clone()).collect();
    calls.sort();
    calls.dedup();
    let mut signature = FxHasher::default();
    for ty in body.types.ids() {
        body.types.get(ty).hash(&mut signature);
    }
    for (_, r) in body.types.records() {
        r.hash(&mut signature);
    }
    if let Op::Function(f) = body.op(body.root) {
        body.symbols[*f].ty.hash(&mut signature);
    }
    let signature = signature.finish();
    let mut meaning = FxHasher::default();
    signature.hash(&mut meaning);
    for s in body.symbols.iter() {
        (&s.name, s.ty, s.storage, s.address_taken).hash(&mut meaning);
    }
    body.library.hash(&mut meaning);
    body.root.hash(&mut meaning);
    for k in 0..body.len() {
        let t = body.term(TermId::from_index(k));
        match &t.op {
            Op::Float(_) => 1u8.hash(&mut meaning),
            Op::Str(_) => 2u8.hash(&mut meaning),
            op => op.hash(&mut meaning),
        }
        (&t.args, t.ty).hash(&mut meaning);
    }
    let touched = crate::calls::constants::touched(body);
    let (called_with, mentions) = (called_with(body), Mentions::of(body));
    Local { calls, meaning: meaning.finish(), signature, touched, called_with, mentions }
}

/// The summaries of functions that call each other in a circle (mostly: of one function).
pub(crate) fn solve<'f>(
    group: &[(&Arc<str>, &Body, &Local)],
    known: impl Fn(&str) -> Option<&'f Function>,
    weak: impl Fn(&str) -> bool,
) -> Vec<Summary> {
    let mut now: Vec<Summary> = group
        .iter()
        .map(|(_, body, local)| Summary {
            params: vec![Through::default(); parameters(body).len()],
            recursive: local.calls.iter().any(|c| group.iter().any(|(n, _, _)| *n == c)),
            troubles: weak(&body.name).then(|| (TroubleKind::Replaceable, "".into())).into_iter().collect(),
            ..Summary::default()
        })
        .collect();
    loop {
        let mut changed = false;
        for (k, (_, body, _)) in group.iter().enumerate() {
            let next = {
                let find = |name: &str| -> Option<(&Summary, &Body)> {
                    match group.iter().position(|(n, _, _)| &***n == name) {
                        Some(i) => Some((&now[i], group[i].1)),
                        None => known(name).map(|f| (&f.summary, &*f.body)),
                    }
                };
                // of what calls itself nothing is taken for granted in a circle
                match Scan::of(body, &find, now[k].clone(), !now[k].recursive) {
                    (out, true) if out.stores_others => Scan::of(body, &find, now[k].clone(), false).0,
                    (out, _) => out,
                }
            };
            if next != now[k] {
                now[k] = next;
                changed = true;
            }
        }
        if !changed {
            return now;
        }
    }
}

pub(crate) fn parameters(body: &Body) -> Vec<SymbolId> {
    match (body.op(body.root), body.args(body.root)) {
        (Op::Function(_), &[list, _]) => body
            .args(list)
            .iter()
            .filter_map(|&p| match body.op(p) {
                Op::Declare(s) => Some(*s),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

type Find<'s> = dyn Fn(&str) -> Option<(&'s Summary, &'s Body)> + 's;

struct Scan<'s> {
    body: &'s Body,
    known: &'s Find<'s>,
    /// Where some pointer points was not followed to its end.
    is_too_deep: Cell<bool>,
    /// Where each local pointer may point into.
    roots: FxHashMap<SymbolId, Roots>,
    /// Whether pointers found in memory that it made are taken to lead to memory that it made: right where no other is stored there,
    /// as each step of a run rests on those before it.
    is_closed: bool,
    /// Whether anything rests on that.
    rests_on_it: Cell<bool>,
    /// Whether an address becomes a number.
    has_numbers: bool,
    out: Summary,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
    Both,
    /// Its address alone.
    Address,
}

impl<'s> Scan<'s> {
    /// The summary, and whether it rests on `is_closed`.
    fn of(body: &'s Body, known: &'s Find<'s>, out: Summary, is_closed: bool) -> (Summary, bool) {
        let (roots, is_too_deep, rests_on_it) = (FxHashMap::default(), Cell::new(false), Cell::new(false));
        let mut scan =
            Scan { body, known, is_too_deep, roots, is_closed, rests_on_it, has_numbers: false, out };
        scan.run();
        (scan.out, scan.rests_on_it.get())
    }
}

impl Scan<'_> {
    fn run(&mut self) {
        self.point();
        let body = self.body;
        let Some(&list) = body.args(body.root).get(1) else { return };
        if body.rejects().next().is_some() {
            self.trouble(TroubleKind::NotUnderstood, "");
        }
        // What stands in a variable whose address is made may be copied from there unseen (`memcpy(&keep, &p, sizeof p)`).
        for (p, through) in parameters(body).into_iter().zip(&mut self.out.params) {
            through.kept |= body.symbols[p].address_taken;
        }
        // (term, how its value is used as a place)
        let mut stack = vec![(list, Use::Read)];
        while let Some((t, how)) = stack.pop() {
            self.term(t, how, &mut stack);
        }
        if self.is_too_deep.get() {
            self.trouble(TroubleKind::NotUnderstood, "");
        }
        use TroubleKind::{IndirectCall, NotUnderstood, Replaceable, UnknownCall, Volatile};
        let calls_strangers = [IndirectCall, UnknownCall].iter().any(|k| self.out.troubles.contains_key(k));
        let is_blurred = copies_unseen(body);
        self.out.hands_out |= (self.has_numbers || is_blurred) && calls_strangers;
        self.out.tells_new |= self.has_numbers || is_blurred;
        self.out.stores_others |= !self.is_closed || is_blurred;
        // of what calls itself nothing is asked in a circle
        self.out.stores_pointers = self.out.recursive || stores_pointers(body, &|call| self.callee(call));
        let is_read =
            [NotUnderstood, Replaceable, Volatile].iter().all(|k| !self.out.troubles.contains_key(k));
        if !self.out.recursive && is_read {
            (self.out.owned_members, self.out.returns_apart) =
                returned_members(body, &|call| self.callee(call));
            self.out.set_members = set_members(body, &|call| self.callee(call));
            self.out.never_returns = never_comes_to_its_end(body, list, &|call| self.callee(call));
        }
    }

    fn trouble(&mut self, kind: TroubleKind, name: &str) {
        self.out.troubles.entry(kind).or_insert_with(|| name.into());
    }

    // ---- where pointers point

    /// Local pointers, until nothing is added.
    fn point(&mut self) {
        let body = self.body;
        let mut moves: Vec<(SymbolId, TermId)> = Vec::new();
        for t in body.walk(body.root) {
            let (s, value) = match (body.op(t), body.args(t)) {
                (Op::Declare(s), &[v]) => (*s, v),
                (Op::Assign, &[place, v]) => match body.as_symbol(place) {
                    Some(s) => (s, v),
                    None => continue,
                },
                _ => continue,
            };
            if matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. }) {
                moves.push((s, value));
            }
        }
        for (k, p) in parameters(body).into_iter().enumerate() {
            if matches!(body.types.kind(body.symbols[p].ty), TypeKind::Pointer { .. }) {
                let mut r = Roots::default();
                r.params.insert(k as u32);
                self.roots.insert(p, r);
            }
        }
        loop {
            let mut changed = false;
            for &(s, v) in &moves {
                let add = self.roots_of(v, 0);
                let old = self.roots.entry(s).or_default();
                let before = old.clone();
                old.join(&add);
                changed |= *old != before;
            }
            if !changed {
                return;
            }
        }
    }

    /// Where a pointer value (or decayed array) points into.
    fn roots_of(&self, t: TermId, depth: u32) -> Roots {
        let body = self.body;
        if depth > 100 {
            self.is_too_deep.set(true);
            return Roots::unknown();
        }
        let args = body.args(t);
        let arg = |k: usize| args.get(k).map_or_else(Roots::unknown, |&a| self.roots_of(a, depth + 1));
        let is_text = matches!(body.op(t), Op::Str(_));
        if !is_text && matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. }) {
            return self.roots_of_place(t, depth + 1);
        }
        match body.op(t) {
            // A null pointer points nowhere; any other number is not followed.
            Op::Int(0) => Roots::default(),
            // Nobody may write a string literal (C11 6.4.5p7).
            Op::Str(_) => Roots::default(),
            Op::Sym(s) => {
                let symbol = &body.symbols[*s];
                match symbol.storage {
                    Storage::Local | Storage::Param(_) if !symbol.address_taken => {
                        self.roots.get(s).cloned().unwrap_or_default()
                    }
                    Storage::Global { .. } => {
                        let mut r = Roots::default();
                        r.through_globals.insert(symbol.name.clone());
                        r
                    }
                    _ => Roots::unknown(),
                }
            }
            Op::AddrOf => args.first().map_or_else(Roots::unknown, |&x| self.roots_of_place(x, depth + 1)),
            Op::Binary(BinOp::Add | BinOp::Sub) => {
                let pointer =
                    |k: usize| args.get(k).is_some_and(|&a| body.types.element(body.ty(a)).is_some());
                match (pointer(0), pointer(1)) {
                    (true, _) => arg(0),
                    (_, true) => arg(1),
                    _ => Roots::unknown(),
                }
            }
            Op::Cast => match args.first() {
                Some(&x) if body.types.element(body.ty(x)).is_some() || *body.op(x) == Op::Int(0) => arg(0),
                _ => Roots::unknown(),
            },
            Op::Select => {
                let mut r = arg(1);
                r.join(&arg(2));
                r
            }
            Op::Comma | Op::Assign => arg(1),
            Op::Compound(_) | Op::Step { .. } => arg(0),
            Op::Call => self.returned(t, depth),
            Op::Index | Op::Deref | Op::Member { .. } if self.is_closed => {
                let of = self.roots_of_place(t, depth + 1);
                let is_new = of == Roots { fresh: true, ..Roots::default() } && !in_union(body, t);
                self.rests_on_it.set(self.rests_on_it.get() || is_new);
                if is_new {
                    of
                } else {
                    Roots::unknown()
                }
            }
            _ => Roots::unknown(),
        }
    }

    /// Where a place lies.
    fn roots_of_place(&self, mut t: TermId, depth: u32) -> Roots {
        let body = self.body;
        for _ in 0..200 {
            let Some(&first) = body.args(t).first() else {
                let Op::Sym(s) = body.op(t) else { return Roots::unknown() };
                let symbol = &body.symbols[*s];
                return match symbol.storage {
                    // Its own variables: nobody else's memory.
                    Storage::Local | Storage::Param(_) => Roots::default(),
                    // What is defined as constant cannot change (C11 6.7.3p6): reading it is no effect.
                    _ if self.body.types.is_constant(symbol.ty) => Roots::default(),
                    Storage::Global { .. } => {
                        let mut r = Roots::default();
                        r.globals.insert(symbol.name.clone());
                        r
                    }
                    _ => Roots::unknown(),
                };
            };
            match body.op(t) {
                Op::Member { arrow: false, .. } => t = first,
                Op::Member { arrow: true, .. } | Op::Deref => return self.roots_of(first, depth + 1),
                Op::Index => {
                    let base = match body.types.element(body.ty(first)) {
                        Some(_) => first,
                        None => body.args(t)[1],
                    };
                    return self.roots_of(base, depth + 1);
                }
                _ => return Roots::unknown(),
            }
        }
        self.is_too_deep.set(true);
        Roots::unknown()
    }

    fn returned(&self, call: TermId, depth: u32) -> Roots {
        let body = self.body;
        let args = body.args(call);
        let Some(f) = body.callee(call) else { return Roots::unknown() };
        let of = |k: usize| args.get(k + 1).map_or_else(Roots::unknown, |&a| self.roots_of(a, depth + 1));
        let name = &body.symbols[f].name;
        if body.library.contains(&f) {
            return match library_effect(name).map(|e| e.returns) {
                Some(LibraryResult::Argument(k)) => of(k),
                Some(LibraryResult::Fresh) => Roots { fresh: true, ..Roots::default() },
                _ => Roots::unknown(),
            };
        }
        match self.callee(call) {
            Some(s) => {
                let mut r = Roots { params: BTreeSet::new(), ..s.returns.clone() };
                for &k in &s.returns.params {
                    r.join(&of(k as usize));
                }
                r
            }
            None => Roots::unknown(),
        }
    }

    /// The summary of a called function of the program, if the call fits it.
    fn callee(&self, call: TermId) -> Option<&Summary> {
        let body = self.body;
        let symbol = own_callee(body, call)?;
        let (summary, from) = (self.known)(&symbol.name)?;
        let &Op::Function(g) = from.op(from.root) else { return None };
        let theirs = from.symbols[g].ty;
        let fit = arguments_fit(body, call, from, theirs) && is_declared_as(body, call, from, theirs);
        fit.then_some(summary)
    }

    // ---- what is done

    fn touch(&mut self, roots: &Roots, what: Through) {
        for &p in &roots.params {
            if let Some(t) = self.out.params.get_mut(p as usize) {
                t.join(what);
            }
        }
        for g in &roots.globals {
            self.out.globals.entry(g.clone()).or_default().own.join(what);
        }
        for g in &roots.through_globals {
            self.out.globals.entry(g.clone()).or_default().through.join(what);
        }
        if roots.unknown {
            self.out.reads_unknown |= what.read;
            self.out.writes_unknown |= what.written;
        }
    }

    fn term(&mut self, t: TermId, how: Use, stack: &mut Vec<(TermId, Use)>) {
        let body = self.body;
        let args = body.args(t);
        let what = Through {
            read: matches!(how, Use::Read | Use::Both),
            written: matches!(how, Use::Write | Use::Both),
            ..Through::default()
        };
        let q = body.types.quals(body.ty(t));
        if q.is_volatile || q.is_atomic {
            self.trouble(TroubleKind::Volatile, "");
        }
        match body.op(t) {
            Op::Sym(s) => self.symbol(*s, what),
            Op::SizeOf | Op::Mark(_) => {}
            Op::Index | Op::Deref | Op::Member { arrow: true, .. } => {
                let array = matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. });
                if !array && how != Use::Address {
                    let r = self.roots_of_place(t, 0);
                    // What is `const` where it is defined cannot change; what is seen as such may.
                    self.touch(&r, what);
                }
                stack.extend(args.iter().map(|&a| {
                    let inner = match body.types.kind(body.ty(a)) {
                        TypeKind::Array { .. } => Use::Address,
                        _ => Use::Read,
                    };
                    (a, inner)
                }));
            }
            // A part of a place is used as the whole is.
            Op::Member { arrow: false, .. } => stack.extend(args.iter().map(|&a| (a, how))),
            Op::AddrOf => stack.extend(args.iter().map(|&a| (a, Use::Address))),
            Op::Assign | Op::Compound(_) | Op::Step { .. } => {
                let place = if *body.op(t) == Op::Assign { Use::Write } else { Use::Both };
                if let Some(&p) = args.first() {
                    stack.push((p, place));
                    self.store(p, args.get(1).copied());
                }
                stack.extend(args.iter().skip(1).map(|&a| (a, Use::Read)));
            }
            Op::Declare(s) => {
                let symbol = &body.symbols[*s];
                if symbol.storage.is_static_local() {
                    // Initialised before the program starts.
                    return;
                }
                if let Some(&v) = args.first() {
                    if !matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. }) || symbol.address_taken
                    {
                        self.keep(v, None);
                    }
                }
                stack.extend(args.iter().map(|&a| (a, Use::Read)));
            }
            Op::Return => {
                if let Some(&v) = args.first() {
                    if body.types.element(body.ty(v)).is_some() {
                        let r = self.roots_of(v, 0);
                        self.out.returns.join(&r);
                    }
                }
                stack.extend(args.iter().map(|&a| (a, Use::Read)));
            }
            Op::Call => {
                self.call(t);
                stack.extend(args.iter().skip(1).map(|&a| {
                    let array = matches!(body.types.kind(body.ty(a)), TypeKind::Array { .. });
                    (a, if array { Use::Address } else { Use::Read })
                }));
            }
            Op::Cast => {
                // An address as a number may become an address again anywhere.
                if let Some(&x) = args.first() {
                    let from = body.types.element(body.ty(x)).is_some();
                    let to = body.types.element(body.ty(t)).is_some();
                    if from && !to && !matches!(body.types.kind(body.ty(t)), TypeKind::Void) {
                        self.has_numbers = true;
                        self.keep(x, None);
                    }
                }
                stack.extend(args.iter().map(|&a| (a, Use::Read)));
            }
            Op::Reject(_) | Op::Launch | Op::Apply(_) | Op::Var(_) | Op::Name(_) | Op::Cons => {
                self.trouble(TroubleKind::NotUnderstood, "");
                stack.extend(args.iter().map(|&a| (a, Use::Read)));
            }
            Op::For | Op::While | Op::DoWhile => {
                if endless(body, t) {
                    self.trouble(TroubleKind::NoReturn, "");
                }
                stack.extend(args.iter().map(|&a| (a, Use::Read)));
            }
            _ => stack.extend(args.iter().map(|&a| (a, Use::Read))),
        }
    }

    fn symbol(&mut self, s: SymbolId, what: Through) {
        let symbol = &self.body.symbols[s];
        let array = matches!(self.body.types.kind(symbol.ty), TypeKind::Array { .. });
        let constant = self.body.types.quals(symbol.ty).is_const;
        match symbol.storage {
            Storage::Global { .. } if !array && (!constant || what.written) => {
                let name = symbol.name.clone();
                if what.read || what.written {
                    self.out.globals.entry(name).or_default().own.join(what);
                }
            }
            Storage::StaticLocal { .. } if what.written || symbol.address_taken => {
                let name = symbol.name.clone();
                self.trouble(TroubleKind::State, &name);
            }
            Storage::StaticLocal { .. } if array => {
                // Its elements are seen as unknown memory; that is only right where nothing writes them.
                let name = symbol.name.clone();
                let element = self.body.types.element(symbol.ty);
                let constant = element.is_some_and(|e| self.body.types.is_constant(e));
                if !constant {
                    self.trouble(TroubleKind::State, &name);
                }
            }
            Storage::StaticLocal { .. } if !constant && self.is_written_somewhere(s) => {
                let name = symbol.name.clone();
                self.trouble(TroubleKind::State, &name);
            }
            Storage::Shared | Storage::Builtin => {
                let name = symbol.name.clone();
                self.trouble(TroubleKind::State, &name);
            }
            Storage::Undeclared => self.trouble(TroubleKind::NotUnderstood, ""),
            _ => {}
        }
    }

    fn is_written_somewhere(&self, s: SymbolId) -> bool {
        let body = self.body;
        body.walk(body.root).any(|t| {
            body.op(t).is_write() && body.args(t).first().and_then(|&p| body.as_symbol(p)) == Some(s)
        })
    }
}
