//! Calls replaced by what they do, for the analysis only: the body with the small functions it calls written into it.
//!
//! A call in a loop is replaced by the called function's statements and value where that function's text is known and
//! simple enough. A parameter that keeps its value stands for its argument; any other becomes a variable of its own.
//! So subscripts, bounds and conditions inside the function stay exact. No text is made of the result: what is found out
//! about it is said of the call ([`Expanded::home`]).
//!
//! Precondition: the call means that function. Functions are known by name within one unit; that another definition of
//! a non-static function replaces it when the program is linked or loaded is not taken into account (C11 6.9p5 allows
//! one definition in a program). Calls whose arguments do not fit the definition's parameters are left alone.

mod again;
mod apart;
mod bind;
mod copy;
mod granted;
mod import;
mod released;
mod structure;

use std::sync::Arc;

use base::{Budget, IndexId, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, BodyBuilder, Op, Origin, Storage, SymbolId, Term, TermId, TypeId, TypeKind};

use crate::calls::compatible::{fits, same_type};
use crate::calls::reentry::Reentry;
use crate::calls::shape::{shape_within, Shape};
use crate::limits::calls_inline::{MAX_ADDED, MAX_ADDED_LARGE, MAX_DEPTH, MAX_GRANTED, MAX_LARGE, TERMS};
use crate::{Param, Program};

pub(crate) use apart::with_statements_apart;
pub(crate) use granted::{granted, written_in};

/// A body with calls replaced. Its first terms and symbols are those of the body it was made of, under the same ids.
pub(crate) struct Expanded {
    pub body: Body,
    own_terms: usize,
    own_symbols: usize,
    /// Of each added term, the term of the body itself that it stands for.
    homes: Vec<TermId>,
    /// The functions that the body's own replaced calls name.
    callees: FxHashMap<TermId, SymbolId>,
    /// The body's own symbols for paths (`g->u`), which stand behind its variables and are numbered anew.
    paths: FxHashMap<SymbolId, SymbolId>,
    /// The call that each added variable came with.
    came_with: FxHashMap<SymbolId, TermId>,
}

/// Takes the steps for walking over so many terms of a body, as all do that ask for it as a whole.
pub(crate) fn read(terms: usize, budget: &Budget) -> Result<(), base::Stop> {
    budget.spend((terms as u64).div_ceil(TERMS))
}

/// The body with the calls in its loops replaced where that can be; `None` where there is none to replace.
pub(crate) fn expand(body: &Body, program: &Program) -> Option<Expanded> {
    expanded(body, program, calls(body, program, false), Extent::Loops)
}

/// A kernel with all its calls replaced, wherever they stand, and nothing else; `None` where none can be.
pub(crate) fn expand_calls(body: &Body, program: &Program) -> Option<Expanded> {
    let calls = calls(body, program, true);
    expanded(body, program, calls, Extent::Calls)
}

/// A body with those calls replaced that are chosen, and nothing else, where functions may be large; `None` where none can be.
pub(crate) fn expand_chosen(
    body: &Body,
    program: &Program,
    chosen: &dyn Fn(TermId) -> bool,
) -> Option<Expanded> {
    let calls = calls(body, program, true).into_iter().filter(|c| chosen(c.0)).collect();
    expanded(body, program, calls, Extent::Large)
}

/// What is replaced besides small calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    /// What surrounds the calls of loops is made ready for their analysis too.
    Loops,
    Calls,
    /// Large functions too.
    Large,
}

fn expanded(
    body: &Body,
    program: &Program,
    calls: Vec<(TermId, CallSite)>,
    extent: Extent,
) -> Option<Expanded> {
    let loops = extent == Extent::Loops;
    let has_calls = !calls.is_empty();
    // what a call outside loops runs is no part of the body, and says whether statics hold anything
    let reentry = Reentry::of(body, program);
    let has_free_statics = loops
        && body.loops(body.root).next().is_some()
        && !body.holding_nothing(&|b, t| reentry.stays_out(b, t)).is_empty();
    let may_change = has_calls || has_free_statics || loops && structure::may_apply(body);
    if !may_change {
        return None;
    }
    let mut e = Expander::new(body, program, extent == Extent::Large);
    let mut any = has_free_statics;
    let mut callees = FxHashMap::default();
    let shared = if loops { e.share(&calls) } else { again::Shared::default() };
    any |= !shared.moved.is_empty();
    // Arguments before the calls they belong to.
    for (call, place) in calls.into_iter().rev() {
        if shared.gone.contains(&call) {
            continue;
        }
        e.span = body.span(call);
        e.home = call;
        let function = body.callee(call);
        let at = shared.moved.get(&call).copied().unwrap_or(call);
        if e.call(at, place, &mut Vec::new()) {
            any = true;
            callees.extend(function.map(|f| (call, f)));
        }
    }
    any |= loops && has_calls && e.globals();
    any |= loops && e.structure();
    if !any {
        return None;
    }
    released::release(&mut e.b, body.root, variables(body));
    Some(e.finish(callees, &reentry))
}

impl Expanded {
    /// The term of the body itself that a term stands for: the call it came from, or the argument.
    pub(crate) fn home(&self, t: TermId) -> TermId {
        match t.index().checked_sub(self.own_terms) {
            None => t,
            Some(k) => self.homes.get(k).copied().unwrap_or(self.body.root),
        }
    }
    /// The call that brought a variable along.
    pub(crate) fn came_with(&self, s: SymbolId) -> Option<TermId> {
        self.came_with.get(&s).copied()
    }
    /// The function that was called where the term came from.
    pub(crate) fn caller_of(&self, t: TermId) -> Option<SymbolId> {
        self.callees.get(&self.home(t)).copied()
    }
    /// Whether the term is one of the body itself.
    pub(crate) fn is_own(&self, t: TermId) -> bool {
        t.index() < self.own_terms
    }
    /// Whether the symbol is one of the body itself.
    pub(crate) fn is_own_symbol(&self, s: SymbolId) -> bool {
        self.own_symbol(s).is_some()
    }
    /// The symbol of the body itself that this one is.
    pub(crate) fn own_symbol(&self, s: SymbolId) -> Option<SymbolId> {
        if s.index() < self.own_symbols {
            Some(s)
        } else {
            self.paths.get(&s).copied()
        }
    }
    fn is_own_param(&self, p: Param) -> bool {
        match p {
            Param::Symbol(s) => self.is_own_symbol(s),
            Param::Term(t) => self.is_own(t) && self.whole(t),
            Param::Distance { from, to } => [from, to].into_iter().all(|t| self.is_own(t) && self.whole(t)),
            Param::Row(_) | Param::Longest(_) | Param::End { .. } => true,
        }
    }
    /// Whether nothing under the term was replaced.
    fn whole(&self, t: TermId) -> bool {
        self.body.walk(t).all(|x| self.is_own(x))
    }

    /// Whether the host can evaluate what is asked: it is said in the body's own terms.
    pub(crate) fn is_own_pred(&self, p: &crate::Pred) -> bool {
        let mut ok = true;
        p.params(&mut |q| ok &= self.is_own_param(q));
        ok
    }
    /// See [`Expanded::is_own_pred`].
    pub(crate) fn is_own_expr(&self, e: &crate::Expr) -> bool {
        let mut ok = true;
        e.params(&mut |q| ok &= self.is_own_param(q));
        ok
    }
}

/// How many symbols are variables and functions: those of paths come after them.
fn variables(body: &Body) -> usize {
    body.symbols.iter().take_while(|s| s.storage != Storage::Path).count()
}

/// Where a call stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallSite {
    /// It is a statement.
    Statement,
    /// Somewhere in an expression.
    Expression,
    /// In a loop's header: only an expression can stand for it.
    Header,
}

/// The calls in loops, or all.
fn calls(body: &Body, program: &Program, everywhere: bool) -> Vec<(TermId, CallSite)> {
    let mut out = Vec::new();
    if program.is_empty() {
        return out;
    }
    // (term, in a loop, in a loop's header, directly in a list)
    let mut stack = vec![(body.root, everywhere, false, false)];
    while let Some((t, inside, header, listed)) = stack.pop() {
        let op = body.op(t);
        if *op == Op::SizeOf {
            continue;
        }
        if *op == Op::Call && inside {
            let place = match (header, listed) {
                (true, _) => CallSite::Header,
                (_, true) => CallSite::Statement,
                _ => CallSite::Expression,
            };
            out.push((t, place));
        }
        let args = body.args(t);
        for (k, &a) in args.iter().enumerate().rev() {
            let in_header = match op {
                Op::For => k != 3,
                Op::While => k == 0,
                Op::DoWhile => k == 1,
                _ => header && !matches!(op, Op::List),
            };
            stack.push((a, inside || op.is_loop(), in_header, *op == Op::List));
        }
    }
    out
}

/// What a parameter stands for while its function is copied.
#[derive(Clone, Debug)]
enum Bound {
    /// A term of the new body, copied at each use; converted to this type.
    Argument(TermId, Option<TypeId>),
    Variable(SymbolId),
}

/// The function that is being copied.
struct CopiedFunction<'f> {
    from: &'f Body,
    name: Arc<str>,
    bound: FxHashMap<SymbolId, Bound>,
    types: FxHashMap<TypeId, TypeId>,
    records: FxHashMap<term::RecordId, term::RecordId>,
}

struct Expander<'a> {
    b: BodyBuilder,
    body: &'a Body,
    program: &'a Program,
    /// Whether functions of any size are replaced.
    is_large: bool,
    /// Functions without their ways out, where calls become these.
    grants: Option<granted::Grants<'a>>,
    own_terms: usize,
    homes: Vec<TermId>,
    /// Static variables of functions: one object however often the function is copied.
    statics: FxHashMap<(Arc<str>, SymbolId), SymbolId>,
    /// See [`Expanded::came_with`].
    came_with: FxHashMap<SymbolId, TermId>,
    span: Span,
    home: TermId,
}

/// Something in the function that cannot be copied; what was made of it is left unused.
struct No;

impl Expander<'_> {
    fn new<'a>(body: &'a Body, program: &'a Program, is_large: bool) -> Expander<'a> {
        Expander {
            b: body.to_builder(),
            body,
            program,
            is_large,
            grants: None,
            own_terms: body.len(),
            homes: Vec::new(),
            statics: FxHashMap::default(),
            came_with: FxHashMap::default(),
            span: Span::default(),
            home: body.root,
        }
    }

    /// The whole, read once more. `callees`: the functions that the body's own replaced calls name.
    fn finish(self, callees: FxHashMap<TermId, SymbolId>, reentry: &Reentry<'_>) -> Expanded {
        let Expander { b, body, own_terms, homes, came_with, .. } = self;
        let own_symbols = variables(body);
        let mut whole = b.finish(body.root);
        whole.note_kept(&|b, t| reentry.stays_out(b, t));
        // those of called functions are others' too, who may read what this one leaves
        let called = whole
            .symbols
            .iter_ids()
            .filter(|(id, s)| id.index() >= own_symbols && s.storage.is_static_local());
        for id in called.map(|(id, _)| id).collect::<Vec<_>>() {
            whole.symbols[id].storage = Storage::StaticLocal { kept: true };
        }
        let mut e = Expanded {
            body: whole,
            own_terms,
            own_symbols,
            homes,
            callees,
            paths: FxHashMap::default(),
            came_with,
        };
        let members = &body.said.members;
        for t in e.body.walk(body.root) {
            let Some(p) = e.body.path_of(t).filter(|p| !e.paths.contains_key(&p.own)) else { continue };
            let home = e.home(t);
            let own = match home == t || e.body.same(home, t) {
                true => Some(home),
                // what a function makes of a structure that it is given
                false => members.iter().copied().find(|&m| e.body.same(m, t)),
            };
            if let Some(q) = own.and_then(|own| body.path_of(own)) {
                e.paths.entry(p.own).or_insert(q.own);
                e.paths.entry(p.family).or_insert(q.family);
            }
        }
        e
    }

    fn term(&mut self, op: Op, args: impl Into<Box<[TermId]>>, ty: TypeId) -> TermId {
        let home = self.home;
        self.term_of(op, args, ty, home)
    }

    fn term_of(&mut self, op: Op, args: impl Into<Box<[TermId]>>, ty: TypeId, home: TermId) -> TermId {
        let t = self.b.term_from(op, args, ty, self.span, Origin::Made);
        debug_assert_eq!(t.index(), self.own_terms + self.homes.len());
        self.homes.push(home);
        t
    }

    fn most_added(&self) -> usize {
        if self.is_large {
            MAX_ADDED_LARGE
        } else {
            MAX_ADDED
        }
    }

    fn home_of(&self, t: TermId) -> TermId {
        match t.index().checked_sub(self.own_terms) {
            None => t,
            Some(k) => self.homes.get(k).copied().unwrap_or(self.home),
        }
    }

    /// Replaces the call, if that can be. `chain`: the functions around it, outermost first.
    fn call(&mut self, call: TermId, place: CallSite, chain: &mut Vec<Arc<str>>) -> bool {
        if chain.len() >= MAX_DEPTH || self.homes.len() > self.most_added() {
            return false;
        }
        let program = self.program;
        let Some(callee) = self.b.get(call).args.first().copied() else { return false };
        let Op::Sym(f) = self.b.get(callee).op else { return false };
        // What the expression around says of overflow does not hold in the function.
        if self.body.says_of_overflow(call) {
            return false;
        }
        let symbol = &self.b.symbols[f];
        if symbol.storage != Storage::Function || self.b.library.contains(&f) {
            return false;
        }
        let Some(function) = program.function(&symbol.name) else { return false };
        if chain.contains(&function.name) {
            return false;
        }
        // large ones become text of this file, which must be able to say their names
        if self.is_large && function.home.is_some() && !program.can_say(&function.body) {
            return false;
        }
        let of_large = match self.is_large && function.shape.is_none() && !function.weak {
            true => shape_within(&function.body, MAX_LARGE),
            false => None,
        };
        let (name, declared) = (function.name.clone(), symbol.ty);
        let granted = self.grants.as_mut().and_then(|g| g.function(&name, &mut chain.clone()));
        let of_granted = granted.as_ref().map(|g| &g.1);
        let Some(shape) = of_granted.or(function.shape.as_ref()).or(of_large.as_ref()) else { return false };
        if place == CallSite::Header && !matches!(shape, Shape::Value(_)) {
            return false;
        }
        let from = granted.as_ref().map_or(&*function.body, |g| &g.0);
        if from.semantics != self.b.semantics || !same_type(&self.b.types, declared, &from.types, function.ty)
        {
            return false;
        }
        chain.push(name.clone());
        let before = self.homes.len();
        let mut frame = CopiedFunction {
            from,
            name,
            bound: FxHashMap::default(),
            types: FxHashMap::default(),
            records: FxHashMap::default(),
        };
        let made = self.make(call, place, shape, function.returns, &mut frame, chain);
        chain.pop();
        match made {
            Ok(term) => {
                self.b.set(call, term);
                true
            }
            Err(No) => {
                // Nothing refers to what was made: it means nothing, but its parts must have no second parent.
                let void = self.b.types.void();
                for k in before..self.homes.len() {
                    let id = TermId::from_index(self.own_terms + k);
                    self.b.set(id, Term { op: Op::Empty, args: Box::new([]), ty: void });
                }
                false
            }
        }
    }

    fn make(
        &mut self,
        call: TermId,
        place: CallSite,
        shape: &Shape,
        returns: TypeId,
        frame: &mut CopiedFunction<'_>,
        chain: &mut Vec<Arc<str>>,
    ) -> Result<Term, No> {
        let args: Vec<TermId> = self.b.get(call).args.iter().skip(1).copied().collect();
        let mut before = self.bind(&args, shape, frame, place)?;
        let ret = self.import(returns, frame, chain)?;
        let void = self.b.types.void();
        let result = match shape {
            Shape::Value(e) => {
                let v = self.copy(*e, frame, chain, CallSite::Header)?;
                Some(self.converted(v, ret))
            }
            Shape::Tail(list, value) => {
                for &s in list {
                    let s = self.copy_statement(s, frame, chain)?;
                    before.push(s);
                }
                match value {
                    Some(e) => {
                        let v = self.copy(*e, frame, chain, CallSite::Expression)?;
                        Some(self.converted(v, ret))
                    }
                    None => None,
                }
            }
            Shape::Branches(list) => {
                let variable = match self.b.types.kind(ret) {
                    TypeKind::Void => None,
                    _ => {
                        let s = self.variable(&frame.name.clone(), ret);
                        let d = self.term(Op::Declare(s), [], void);
                        before.push(d);
                        Some(s)
                    }
                };
                self.branches(list.clone(), variable, frame, chain, &mut before)?;
                variable.map(|s| self.term(Op::Sym(s), [], ret))
            }
        };
        // As a term in the call's own place: the one made for it must not keep its parts.
        let taken = |e: &mut Self, t: TermId| {
            let empty = Term { op: Op::Empty, args: Box::new([]), ty: void };
            let term = e.b.get(t).clone();
            e.b.set(t, empty);
            term
        };
        Ok(match (place, result) {
            (CallSite::Statement, Some(r)) if before.is_empty() => taken(self, r),
            (CallSite::Statement, r) => {
                before.extend(r);
                Term { op: Op::List, args: before.into(), ty: void }
            }
            (_, Some(r)) if before.is_empty() => taken(self, r),
            (_, Some(r)) => {
                let list = self.term(Op::List, before, void);
                Term { op: Op::Comma, args: Box::new([list, r]), ty: ret }
            }
            (CallSite::Header, None) => return Err(No),
            (_, None) => {
                let list = self.term(Op::List, before, void);
                let nothing = self.term(Op::Empty, [], void);
                Term { op: Op::Comma, args: Box::new([list, nothing]), ty: void }
            }
        })
    }

    /// Gives the body the file-scope variables that calls still in its loops use. Says whether there was one to give.
    fn globals(&mut self) -> bool {
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut stack: Vec<(TermId, bool)> = vec![(self.body.root, false)];
        while let Some((t, inside)) = stack.pop() {
            let term = self.b.get(t);
            let inside = inside || term.op.is_loop();
            if let (Op::Call, true) = (&term.op, inside) {
                let f = term.args.first().map(|&f| &self.b.get(f).op);
                if let Some(Op::Sym(f)) = f {
                    if let Some(s) = self.program.summary(&self.b.symbols[*f].name) {
                        names.extend(s.globals.keys().cloned());
                    }
                }
            }
            stack.extend(term.args.iter().map(|&a| (a, inside)));
        }
        names.sort();
        names.dedup();
        let mut any = false;
        for name in names {
            let here = |s: &term::Symbol| s.name == name && matches!(s.storage, Storage::Global { .. });
            if self.b.symbols.iter().any(here) {
                continue;
            }
            let Some((from, s)) = self.program.global(&name) else { continue };
            let mut frame = CopiedFunction {
                from,
                name: name.clone(),
                bound: FxHashMap::default(),
                types: FxHashMap::default(),
                records: FxHashMap::default(),
            };
            any |= self.outer_symbol(s, &mut frame, &mut Vec::new()).is_ok();
        }
        any
    }

    /// A variable that is made for a call.
    fn variable(&mut self, name: &str, ty: TypeId) -> SymbolId {
        // A variable of its own has no qualifiers that matter.
        let kind = self.b.types.kind(ty).clone();
        let ty = self.b.types.plain(kind);
        self.b.local(name, ty)
    }

    /// The term converted as by assignment, where that may change the value.
    fn converted(&mut self, t: TermId, to: TypeId) -> TermId {
        let (from, into) = (self.b.types.kind(self.b.get(t).ty).clone(), self.b.types.kind(to).clone());
        let changes = match (&from, &into) {
            (TypeKind::Int(a), TypeKind::Int(b)) => a != b,
            (TypeKind::Float(a), TypeKind::Float(b)) => a != b,
            (TypeKind::Int(_) | TypeKind::Float(_), TypeKind::Int(_) | TypeKind::Float(_)) => true,
            _ => false,
        };
        if changes {
            let plain = self.b.types.plain(into);
            self.term(Op::Cast, [t], plain)
        } else {
            t
        }
    }
}
