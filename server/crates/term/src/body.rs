//! One function, or the declarations of a file, as terms.

use std::sync::Arc;

use base::{IdVec, IndexId, Span};
use rustc_hash::FxHashMap;

use crate::BinOp;
use crate::{Op, Overflow, Promise, Semantics, Storage, Symbol, SymbolId, TypeId, Types};

base::id!(
    /// A term of one body.
    pub struct TermId
);
base::id!(
    /// A place that was not understood.
    pub struct RejectId
);

/// A node of the tree. Every node has exactly one parent (nothing is shared), so that spans can stand aside.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    pub op: Op,
    pub args: Box<[TermId]>,
    /// The type of an expression's value (before implicit conversion by its context); `void` for statements.
    pub ty: TypeId,
}

/// Where a term's text is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Origin {
    /// Written at its span.
    #[default]
    Source,
    /// Came out of a macro used at its span: no edit may be made inside.
    Macro,
    /// Made by a rewrite; the span is that of what it replaced.
    Made,
}

/// Why a place was not understood.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RejectKind {
    /// The parser reports an error here.
    Syntax,
    /// Legal, but not lowered by this front end (inline assembly, statement expressions, …).
    Unsupported,
    /// A macro whose definition could not be used.
    Macro,
    /// A call or a macro of which the text is not there: a header that was not read may define it.
    Unread,
    /// A preprocessor conditional inside the body that changes its meaning.
    Conditional,
    /// Nested deeper than we follow.
    TooDeep,
    /// Another language's construct that merely occurs around.
    Foreign,
}

/// A place that was not understood, with the reason in words that continue "unknown, because …".
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reject {
    pub kind: RejectKind,
    pub reason: Arc<str>,
    pub span: Span,
    pub reach: Reach,
}

/// What a text says of its program beyond its terms.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Said {
    /// Functions and variables, by name, that another definition may replace when the program is linked (weak symbols).
    pub weak: Vec<Arc<str>>,
    /// Functions and variables that another name is given to (`alias("x")`, `__asm__("x")`).
    pub also_named: Vec<Arc<str>>,
    /// Whether the floating-point environment is looked at or changed: `#pragma STDC FENV_ACCESS ON` (C11 7.6.1).
    pub floating_environment: bool,
    /// Whether its local `static` variables may be others' too: threads share them where a directive lets several run a part of the
    /// function, and in C++ a reference may be another name of one.
    pub shares_statics: bool,
    /// Whether it is a kernel: a host launches it, and no function calls it.
    pub is_kernel: bool,
    /// Whether a type of the text asks to be read as any other (`may_alias`, an extension of GNU C).
    pub reads_as_any_type: bool,
    /// What the user promises of loops.
    pub promises: Vec<Promise>,
    /// Members of structures that are handed to functions, whole or by address: `m->cols` of `get(m, i, j)`. They stand nowhere in the
    /// text, under no root, and can be said of it: what the function does is told by them.
    pub members: Vec<TermId>,
    /// Which variables hold the lengths of arrays: they are never negative.
    pub lengths: Vec<ArrayLength>,
    /// Pointers that always point to something: spans, references, the object itself.
    pub never_null: Vec<SymbolId>,
    /// Which variables hold what fields of objects hold: to read one is to look into its object.
    pub held: Vec<Held>,
    /// Parameters that the text declares as `void *`, and that have the type here that they are used as.
    pub seen: Vec<SymbolId>,
}

/// A variable that holds what a field of an object holds, for as long as the body runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Held {
    pub object: SymbolId,
    pub value: SymbolId,
}

impl Said {
    /// Whether a variable stands for a field of an object.
    pub fn is_held(&self, s: SymbolId) -> bool {
        self.held.iter().any(|h| h.value == s)
    }
    /// Whether fields of the object in a variable have variables of their own.
    pub fn is_object(&self, s: SymbolId) -> bool {
        self.held.iter().any(|h| h.object == s)
    }
    /// The object whose field a variable stands for, or whose field holds the array that the variable is the length of.
    pub fn object_of(&self, s: SymbolId) -> Option<SymbolId> {
        let of = self.lengths.iter().find(|l| l.length == s).map_or(s, |l| l.array);
        self.held.iter().find(|h| h.value == of).map(|h| h.object)
    }
}

/// How the variable is called that counts where a loop over the elements of an array stands: this, and the element's name.
pub const POSITION_OF: &str = "position of ";

/// A variable that holds the length of an array, for as long as another holds the array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ArrayLength {
    pub array: SymbolId,
    /// From 0.
    pub dimension: u32,
    pub length: SymbolId,
}

/// What a place that was not understood may touch where it runs; besides, all that others can reach: file-scope
/// variables, memory behind pointers, variables whose address is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reach {
    /// Of the function's own variables those it names: they are used among its sub-terms.
    Named,
    /// Text that is not seen, or not as the compiler sees it: any variable, and control may go anywhere.
    Anything,
}

/// One function, or a stretch of file-level declarations, as terms. Immutable once built; rewriting builds another.
#[derive(Clone, Debug)]
pub struct Body {
    /// The function's name, or empty for declarations.
    pub name: Arc<str>,
    pub semantics: Semantics,
    /// A `Function` or `Program` term.
    pub root: TermId,
    pub types: Types,
    pub symbols: IdVec<SymbolId, Symbol>,
    /// Functions of the language's library, which the file does not define itself: only of these is the meaning known
    /// by name (see [`crate::intrinsic`]).
    pub library: Vec<SymbolId>,
    pub said: Said,
    pub(crate) terms: IdVec<TermId, Term>,
    spans: Vec<Span>,
    origins: Vec<Origin>,
    rejects: IdVec<RejectId, Reject>,
    pub(crate) paths: crate::paths::Paths,
    /// What an expression around a term says of overflow; see [`Op::Arithmetic`].
    pub(crate) said_of_overflow: FxHashMap<TermId, Overflow>,
    /// Structural hash of all that matters for meaning: terms, types, symbols, rejects; no spans. Equal hashes may
    /// share facts.
    pub hash: u64,
}

impl Body {
    /// A term.
    pub fn term(&self, id: TermId) -> &Term {
        &self.terms[id]
    }
    /// A term's head.
    pub fn op(&self, id: TermId) -> &Op {
        &self.terms[id].op
    }
    /// A term's arguments.
    pub fn args(&self, id: TermId) -> &[TermId] {
        &self.terms[id].args
    }
    /// A term's type.
    pub fn ty(&self, id: TermId) -> TypeId {
        self.terms[id].ty
    }
    /// A term's place, relative to the body's first byte.
    pub fn span(&self, id: TermId) -> Span {
        self.spans[id.index()]
    }
    /// Where a term's text is.
    pub fn origin(&self, id: TermId) -> Origin {
        self.origins[id.index()]
    }
    /// A place that was not understood.
    pub fn reject(&self, id: RejectId) -> &Reject {
        &self.rejects[id]
    }
    /// All places that were not understood.
    pub fn rejects(&self) -> impl Iterator<Item = &Reject> {
        self.rejects.iter()
    }
    /// All terms, in the order in which they were made.
    pub fn ids(&self) -> impl Iterator<Item = TermId> {
        (0..self.terms.len()).map(TermId::from_index)
    }
    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }
    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
    /// The symbol a `Sym` term uses.
    pub fn as_symbol(&self, id: TermId) -> Option<SymbolId> {
        match self.op(id) {
            Op::Sym(s) => Some(*s),
            _ => None,
        }
    }
    /// The name that a term is, with or without a symbol.
    pub fn as_name(&self, id: TermId) -> Option<&Arc<str>> {
        match self.op(id) {
            Op::Sym(s) => Some(&self.symbols[*s].name),
            Op::Name(n) => Some(n),
            _ => None,
        }
    }
    /// The function that a call or a launch names.
    pub fn callee(&self, call: TermId) -> Option<SymbolId> {
        match (self.op(call), self.args(call)) {
            (Op::Call | Op::Launch, &[f, ..]) => self.as_symbol(f),
            _ => None,
        }
    }
    /// The name that a call or a launch calls, with or without a symbol.
    pub fn callee_name(&self, call: TermId) -> Option<&str> {
        match (self.op(call), self.args(call)) {
            (Op::Call | Op::Launch, &[f, ..]) => self.as_name(f).map(|n| &**n),
            _ => None,
        }
    }
    /// What `assert(…)` asserts: nothing but that its argument holds, else the program ends.
    pub fn asserted(&self, t: TermId) -> Option<TermId> {
        let f = self.callee(t).filter(|f| *self.op(t) == Op::Call && self.library.contains(f))?;
        match self.args(t) {
            &[_, holds] if &*self.symbols[f].name == "assert" => Some(holds),
            _ => None,
        }
    }
    /// The functions that the calls of the body name, in textual order, each as often as it is called.
    pub fn callees(&self) -> impl Iterator<Item = SymbolId> + '_ {
        self.walk(self.root).filter(|&t| *self.op(t) == Op::Call).filter_map(|t| self.callee(t))
    }
    /// The value of an `Int` term.
    pub fn as_int(&self, id: TermId) -> Option<i128> {
        match self.op(id) {
            Op::Int(v) => Some(*v),
            _ => None,
        }
    }
    /// The term and everything under it, parents first, in textual order. Not recursive: depth costs no stack.
    pub fn walk(&self, root: TermId) -> Walk<'_> {
        Walk { body: self, stack: vec![root] }
    }
    /// The one value that a variable of the function ever gets, where it is declared or assigned; of a parameter none, which has a value
    /// before all others.
    pub fn only_value(&self, s: SymbolId) -> Option<TermId> {
        if !self.symbols[s].is_own_scalar() || matches!(self.symbols[s].storage, Storage::Param(_)) {
            return None;
        }
        let mut value = None;
        for t in self.walk(self.root) {
            match (self.op(t), self.args(t)) {
                (Op::Declare(d), &[init]) if *d == s && value.is_none() => value = Some(init),
                (Op::Declare(d), &[_, ..]) if *d == s => return None,
                (Op::Assign | Op::Compound(_) | Op::Step { .. } | Op::AddrOf, &[place, ..])
                    if self.as_symbol(place) == Some(s) =>
                {
                    match (self.op(t), value) {
                        (Op::Assign, None) => value = self.args(t).get(1).copied(),
                        _ => return None,
                    }
                }
                _ => {}
            }
        }
        value
    }
    /// What is computed for a type where the term stands, beside its arguments: the lengths in the type of what is declared, converted
    /// to, or measured (C11 6.7.6.2p5).
    pub fn lengths_at(&self, t: TermId) -> impl Iterator<Item = TermId> + '_ {
        let ty = match self.op(t) {
            Op::Declare(s) => Some(self.symbols[*s].ty),
            Op::SizeOfType(ty) => Some(*ty),
            Op::Cast => Some(self.ty(t)),
            _ => None,
        };
        ty.into_iter().flat_map(|ty| self.types.lengths_in(ty))
    }
    /// All loops under `root`, outermost first, in textual order.
    pub fn loops(&self, root: TermId) -> impl Iterator<Item = TermId> + '_ {
        self.walk(root).filter(|&t| self.op(t).is_loop())
    }
    /// Whether a `continue` under `root` belongs to the loop whose body `root` is.
    pub fn has_own_continue(&self, root: TermId) -> bool {
        let mut stack = vec![root];
        while let Some(t) = stack.pop() {
            match self.op(t) {
                Op::Continue => return true,
                op if op.is_loop() => {}
                _ => stack.extend(self.args(t)),
            }
        }
        false
    }
    /// The parts of a loop, wherever its kind puts them. `None` for other terms.
    pub fn loop_parts(&self, t: TermId) -> Option<LoopParts> {
        let args = self.args(t);
        let given = |t: TermId| (*self.op(t) != Op::Empty).then_some(t);
        match (self.op(t), args) {
            (Op::For, &[init, condition, step, body, ..]) => Some(LoopParts {
                init: given(init),
                condition: given(condition),
                step: given(step),
                body,
                tests_first: true,
            }),
            (Op::While, &[condition, body, ..]) => Some(LoopParts {
                init: None,
                condition: Some(condition),
                step: None,
                body,
                tests_first: true,
            }),
            (Op::DoWhile, &[body, condition, ..]) => Some(LoopParts {
                init: None,
                condition: Some(condition),
                step: None,
                body,
                tests_first: false,
            }),
            _ => None,
        }
    }
    /// For every term its parent (the root has none).
    pub fn parents(&self) -> Vec<Option<TermId>> {
        let mut parents = vec![None; self.terms.len()];
        for (id, term) in self.terms.iter_ids() {
            for &a in term.args.iter() {
                parents[a.index()] = Some(id);
            }
        }
        parents
    }
    /// Whether two terms are the same but for their places.
    pub fn same(&self, a: TermId, b: TermId) -> bool {
        let mut stack = vec![(a, b)];
        while let Some((a, b)) = stack.pop() {
            if a == b {
                continue;
            }
            let (x, y) = (self.term(a), self.term(b));
            if x.op != y.op || x.ty != y.ty || x.args.len() != y.args.len() {
                return false;
            }
            stack.extend(x.args.iter().copied().zip(y.args.iter().copied()));
        }
        true
    }
    /// Starts another body from this one's types, symbols and terms; ids stay valid.
    pub fn to_builder(&self) -> BodyBuilder {
        BodyBuilder {
            name: self.name.clone(),
            semantics: self.semantics,
            types: self.types.clone(),
            symbols: {
                // Paths are named again when the new body is finished.
                let mut variables = IdVec::new();
                for s in self.symbols.iter().take(self.paths.variables) {
                    variables.push(s.clone());
                }
                variables
            },
            library: self.library.clone(),
            said: self.said.clone(),
            terms: self.terms.clone(),
            spans: self.spans.clone(),
            origins: self.origins.clone(),
            rejects: self.rejects.clone(),
        }
    }
}

/// The parts of a `for`, `while` or `do` loop; what is absent or empty is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopParts {
    pub init: Option<TermId>,
    pub condition: Option<TermId>,
    pub step: Option<TermId>,
    pub body: TermId,
    /// Whether the condition is tested before the first iteration (all but `do`).
    pub tests_first: bool,
}

/// Terms in textual order, parents first.
pub struct Walk<'a> {
    body: &'a Body,
    stack: Vec<TermId>,
}

impl Iterator for Walk<'_> {
    type Item = TermId;
    fn next(&mut self) -> Option<TermId> {
        let id = self.stack.pop()?;
        self.stack.extend(self.body.args(id).iter().rev());
        Some(id)
    }
}

impl Walk<'_> {
    /// Leaves out what is under the term that was returned last.
    pub fn skip_children_of(&mut self, id: TermId) {
        let n = self.body.args(id).len();
        let keep = self.stack.len().saturating_sub(n);
        self.stack.truncate(keep);
    }
}

/// Builds a [`Body`].
#[derive(Clone, Debug)]
pub struct BodyBuilder {
    pub name: Arc<str>,
    pub semantics: Semantics,
    pub types: Types,
    pub symbols: IdVec<SymbolId, Symbol>,
    /// See [`Body::library`].
    pub library: Vec<SymbolId>,
    /// See [`Body::said`].
    pub said: Said,
    terms: IdVec<TermId, Term>,
    spans: Vec<Span>,
    origins: Vec<Origin>,
    rejects: IdVec<RejectId, Reject>,
}

impl BodyBuilder {
    /// An empty body.
    pub fn new(name: &str, semantics: Semantics) -> BodyBuilder {
        BodyBuilder {
            name: name.into(),
            semantics,
            types: Types::default(),
            symbols: IdVec::new(),
            library: Vec::new(),
            said: Said::default(),
            terms: IdVec::new(),
            spans: Vec::new(),
            origins: Vec::new(),
            rejects: IdVec::new(),
        }
    }
    /// Adds a term written at `span`.
    pub fn term(&mut self, op: Op, args: impl Into<Box<[TermId]>>, ty: TypeId, span: Span) -> TermId {
        self.term_from(op, args, ty, span, Origin::Source)
    }
    /// Adds a term and says where it comes from.
    pub fn term_from(
        &mut self,
        op: Op,
        args: impl Into<Box<[TermId]>>,
        ty: TypeId,
        span: Span,
        origin: Origin,
    ) -> TermId {
        self.spans.push(span);
        self.origins.push(origin);
        self.terms.push(Term { op, args: args.into(), ty })
    }
    /// Why a gap is one.
    pub fn reason(&self, t: TermId) -> Option<&Arc<str>> {
        match self.terms[t].op {
            Op::Reject(id) => Some(&self.rejects[id].reason),
            _ => None,
        }
    }
    /// The number of terms so far.
    pub fn count(&self) -> usize {
        self.terms.len()
    }
    /// Says of all terms from a number on where they come from.
    pub fn came_from(&mut self, first: usize, origin: Origin) {
        self.origins.iter_mut().skip(first).for_each(|o| *o = origin);
    }
    /// Adds a gap with its reason: it may do anything.
    pub fn reject(&mut self, kind: RejectKind, reason: &str, span: Span, understood: Vec<TermId>) -> TermId {
        self.reject_that(kind, reason, span, Reach::Anything, understood)
    }
    /// Adds a gap of which it is known what it may touch. `understood` names that.
    pub fn reject_that(
        &mut self,
        kind: RejectKind,
        reason: &str,
        span: Span,
        reach: Reach,
        understood: Vec<TermId>,
    ) -> TermId {
        let id = self.rejects.push(Reject { kind, reason: reason.into(), span, reach });
        let void = self.types.void();
        self.term(Op::Reject(id), understood, void, span)
    }
    /// A term added before.
    pub fn get(&self, id: TermId) -> &Term {
        &self.terms[id]
    }
    /// Adds a variable of the function that its text does not have.
    pub fn local(&mut self, name: impl Into<Arc<str>>, ty: TypeId) -> SymbolId {
        self.symbols.push(Symbol {
            name: name.into(),
            ty,
            storage: Storage::Local,
            device: None,
            address_taken: false,
            span: None,
        })
    }
    /// The comparison that holds where a condition does not, if it is one of whole numbers or of pointers: of floating-point values
    /// neither holds with NaN.
    pub fn negated_comparison(&self, c: TermId) -> Option<(BinOp, [TermId; 2])> {
        let term = self.get(c);
        let (Op::Binary(op), &[a, b]) = (&term.op, &term.args[..]) else { return None };
        let whole = |t: TermId| self.types.as_int(self.get(t).ty).is_some();
        let pointer = |t: TermId| self.types.element(self.get(t).ty).is_some();
        let is_exact = whole(a) && whole(b) || pointer(a) && pointer(b);
        (op.is_comparison() && is_exact).then(|| (op.negated(), [a, b]))
    }
    /// Changes a term added before (its arguments must be unshared).
    pub fn set(&mut self, id: TermId, term: Term) {
        self.terms[id] = term;
    }
    /// A term's span.
    pub fn span(&self, id: TermId) -> Span {
        self.spans[id.index()]
    }
    /// Ends building, of a part of a body: nothing is left of what stands neither under `root` nor in lengths of types.
    pub fn finish_part(mut self, root: TermId) -> Body {
        let mut kept = IdVec::new();
        let mut is_kept = vec![false; self.terms.len()];
        let lengths = self.types.length_terms();
        let promised = self.said.promises.iter().flat_map(|p| p.says.terms());
        let members = self.said.members.iter().copied();
        let mut stack: Vec<TermId> = lengths.chain(promised).chain(members).chain([root]).collect();
        while let Some(t) = stack.pop() {
            if std::mem::replace(&mut is_kept[t.index()], true) {
                continue;
            }
            if let Op::Reject(old) = self.terms[t].op {
                self.terms[t].op = Op::Reject(kept.push(self.rejects[old].clone()));
            }
            stack.extend(self.terms[t].args.iter().copied());
        }
        let left_out = self.terms.iter_ids().map(|(t, _)| t).filter(|t| !is_kept[t.index()]);
        for t in left_out.collect::<Vec<_>>() {
            self.terms[t].op = Op::Empty;
            self.terms[t].args = Box::default();
        }
        self.rejects = kept;
        self.said.promises.retain(|p| p.of.is_none_or(|l| is_kept[l.index()]));
        self.finish(root)
    }
    /// Ends building. Terms not under `root` are kept but mean nothing, save those array types refer to.
    pub fn finish(self, root: TermId) -> Body {
        self.finish_noting(root, |_| {})
    }
    /// The same, with what is found out of the whole.
    pub fn finish_noting(self, root: TermId, note: impl FnOnce(&mut Body)) -> Body {
        let mut body = Body {
            name: self.name,
            semantics: self.semantics,
            root,
            types: self.types,
            symbols: self.symbols,
            library: self.library,
            said: self.said,
            terms: self.terms,
            spans: self.spans,
            origins: self.origins,
            rejects: self.rejects,
            paths: Default::default(),
            said_of_overflow: FxHashMap::default(),
            hash: 0,
        };
        note(&mut body);
        body.read_said_of_overflow();
        body.name_paths();
        body.hash = crate::hash::hash_body(&body);
        body
    }
}
