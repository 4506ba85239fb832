//! Programs as rules see them: trees of heads and arguments, shared and never changed.
//!
//! A [`term::Body`] keeps names, types and fields inside its heads; here they are arguments of their own, as the
//! notation writes them (`DeclarationAssignment(x,int,e)`, `Dot(a,x)`, `Function([__global__],void,f,[…],[…])`), so that
//! a rule's variable can stand for each. A node knows the term it was read from; a node without one was made by a rule.
//! Rewriting builds new nodes from the changed place up to the root, and all others stay the same node, which is how
//! untouched text is known.
//!
//! Deliberately absent: text and edits (see `write`).

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use term::notation::type_text;
use term::{
    Arithmetic, Body, Len, Op, Origin, Semantics, Storage, SymbolId, TermId, TypeId, TypeKind, Types, UnOp,
};

/// A shared node.
pub type Tree = Arc<Node>;

/// A head with arguments.
#[derive(Debug)]
pub struct Node {
    /// Never one of the heads that hold names or types inside; those are `Apply` here.
    pub op: Op,
    pub args: Box<[Tree]>,
    /// Of an expression, where it is known.
    pub ty: Option<TypeId>,
    /// What it was read from: its text stands there. A node with changed arguments keeps it.
    pub from: Option<TermId>,
    /// Of a number that a macro's name stands for: the name.
    pub alias: Option<Arc<str>>,
    /// Structural; places do not matter.
    pub hash: u64,
    /// Number of nodes.
    pub size: u32,
    /// Levels.
    pub depth: u32,
}

impl Node {
    pub fn new(op: Op, args: Vec<Tree>, ty: Option<TypeId>, from: Option<TermId>) -> Tree {
        Node::with_alias(op, args, ty, from, None)
    }
    pub(super) fn with_alias(
        op: Op,
        args: Vec<Tree>,
        ty: Option<TypeId>,
        from: Option<TermId>,
        alias: Option<Arc<str>>,
    ) -> Tree {
        let mut h = FxHasher::default();
        op.hash(&mut h);
        let (mut size, mut depth) = (1u32, 0);
        for a in &args {
            a.hash.hash(&mut h);
            size = size.saturating_add(a.size);
            depth = depth.max(a.depth);
        }
        let (hash, depth) = (h.finish(), depth + 1);
        Arc::new(Node { op, args: args.into(), ty, from, alias, hash, size, depth })
    }
    /// A list made by a rule.
    pub fn list(items: Vec<Tree>) -> Tree {
        Node::new(Op::List, items, None, None)
    }
    pub fn name(text: &str) -> Tree {
        Node::new(Op::Name(text.into()), Vec::new(), None, None)
    }
    pub fn int(value: i128) -> Tree {
        Node::new(Op::Int(value), Vec::new(), None, None)
    }
    pub fn apply(head: &str, args: Vec<Tree>) -> Tree {
        Node::new(Op::Apply(head.into()), args, None, None)
    }
    /// The same place with other arguments.
    pub fn with_args(&self, args: Vec<Tree>, ty: Option<TypeId>) -> Tree {
        Node::new(self.op.clone(), args, ty, self.from)
    }
    /// Whether the head is the notation's own word.
    pub fn is(&self, head: &str) -> bool {
        matches!(&self.op, Op::Apply(h) if &**h == head)
    }
    pub fn as_symbol(&self) -> Option<SymbolId> {
        match self.op {
            Op::Sym(s) => Some(s),
            _ => None,
        }
    }
    pub fn as_int(&self) -> Option<i128> {
        match self.op {
            Op::Int(v) => Some(v),
            _ => None,
        }
    }
    /// The node and all below, parents first.
    pub fn walk(self: &Arc<Node>) -> impl Iterator<Item = Tree> {
        let mut stack = vec![self.clone()];
        std::iter::from_fn(move || {
            let n = stack.pop()?;
            stack.extend(n.args.iter().rev().cloned());
            Some(n)
        })
    }
}

/// A declared variable or function, as rules need it.
#[derive(Clone, Debug)]
pub struct Known {
    pub name: Arc<str>,
    pub ty: TypeId,
    pub storage: Storage,
    pub device: Option<term::device::Word>,
    pub address_taken: bool,
}

/// A function, or declarations, as a tree, with what its names and types mean.
#[derive(Clone, Debug)]
pub struct Subject {
    pub root: Tree,
    /// By the body's own ids.
    pub symbols: Vec<Known>,
    pub types: Types,
    /// Functions whose meaning is known by their names.
    pub library: Vec<SymbolId>,
    pub semantics: Semantics,
    /// The node of each term, as it was read.
    originals: FxHashMap<TermId, Tree>,
}

impl Subject {
    /// What arithmetic means in it.
    pub fn arithmetic(&self) -> Arithmetic {
        self.semantics.arithmetic()
    }
    /// Takes a body apart. `text` is the file's, `start` where the body begins in it: macros' names are read off it.
    pub fn of(body: &Body, text: &str, start: u32, is_kernel: bool, is_device: bool) -> Subject {
        let symbols: Vec<Known> = body
            .symbols
            .iter()
            .map(|s| Known {
                name: s.name.clone(),
                ty: s.ty,
                storage: s.storage,
                device: s.device,
                address_taken: s.address_taken,
            })
            .collect();
        let mut r = Reading { body, text, start, is_kernel, is_device, done: FxHashMap::default() };
        let root = r.tree(body.root);
        let originals = root.walk().filter_map(|n| Some((n.from?, n))).collect();
        Subject {
            root,
            symbols,
            types: body.types.clone(),
            library: body.library.clone(),
            semantics: body.semantics,
            originals,
        }
    }
    /// Whether a tree, with all below, is as it was read.
    pub fn untouched(&self, n: &Tree) -> bool {
        n.from.and_then(|t| self.originals.get(&t)).is_some_and(|o| Arc::ptr_eq(o, n))
    }
    /// The tree of a term, as it was read.
    pub fn original(&self, t: TermId) -> Option<&Tree> {
        self.originals.get(&t)
    }
    pub fn name(&self, s: SymbolId) -> &str {
        self.symbols.get(s.0 as usize).map_or("?", |k| &k.name)
    }
    pub fn symbol(&self, s: SymbolId) -> Option<&Known> {
        self.symbols.get(s.0 as usize)
    }
    /// The word that a name, a variable or a macro's number is written with.
    pub fn word<'a>(&'a self, n: &'a Node) -> Option<&'a str> {
        match &n.op {
            Op::Name(t) => Some(t),
            Op::Sym(s) => Some(self.name(*s)),
            _ => n.alias.as_deref(),
        }
    }
    /// Whether two trees are the same; a name is the same as a variable of that name.
    pub fn same(&self, a: &Tree, b: &Tree) -> bool {
        let mut stack = vec![(a, b)];
        while let Some((a, b)) = stack.pop() {
            if Arc::ptr_eq(a, b) {
                continue;
            }
            let heads = match (&a.op, &b.op) {
                (Op::Sym(x), Op::Sym(y)) => x == y,
                (Op::Name(x), Op::Sym(y)) | (Op::Sym(y), Op::Name(x)) => **x == *self.name(*y),
                // a macro's word, and the number it stands for
                (Op::Name(x), Op::Int(_)) => b.alias.as_deref() == Some(&**x),
                (Op::Int(_), Op::Name(y)) => a.alias.as_deref() == Some(&**y),
                (Op::Int(x), Op::Int(y)) => x == y && self.compatible(a.ty, b.ty),
                (Op::Float(x), Op::Float(y)) => x == y && self.compatible(a.ty, b.ty),
                (x, y) => x == y,
            };
            if !heads || a.args.len() != b.args.len() {
                return false;
            }
            stack.extend(a.args.iter().zip(b.args.iter()));
        }
        true
    }
    /// Whether a number's type may be that of another; what a rule writes without a suffix has the plain type.
    fn compatible(&self, a: Option<TypeId>, b: Option<TypeId>) -> bool {
        use term::{FloatKind, IntKind};
        let plain = |t: TypeId| {
            matches!(
                self.types.kind(t),
                TypeKind::Int(IntKind::Int | IntKind::Char | IntKind::Bool) | TypeKind::Float(FloatKind::F64)
            )
        };
        match (a, b) {
            (Some(a), Some(b)) => a == b,
            (Some(t), None) | (None, Some(t)) => plain(t),
            (None, None) => true,
        }
    }
    /// The tree in the notation of F1.1.
    pub fn print(&self, tree: &Tree) -> String {
        super::show::print(self, tree)
    }
    /// The tree as a rule's source that matches it.
    pub fn notation(&self, tree: &Tree) -> String {
        super::show::notation(self, tree)
    }
}

/// What a local declaration says of where the variable lives; it stands behind the declaration's other parts.
fn storage_word(storage: Storage) -> Option<&'static str> {
    match storage {
        Storage::Shared => Some(gpu::CUDA.shared),
        Storage::StaticLocal { .. } => Some("static"),
        _ => None,
    }
}

struct Reading<'a> {
    body: &'a Body,
    text: &'a str,
    start: u32,
    is_kernel: bool,
    is_device: bool,
    /// Made so far: bodies are read without recursion, as deep as they are.
    done: FxHashMap<TermId, Tree>,
}

impl Reading<'_> {
    fn tree(&mut self, root: TermId) -> Tree {
        let order: Vec<TermId> = self.body.walk(root).collect();
        for &t in order.iter().rev() {
            let n = self.node(t);
            self.done.insert(t, n);
        }
        self.done.remove(&root).unwrap_or_else(|| Node::list(Vec::new()))
    }
    fn ty(&self, ty: TypeId) -> Tree {
        Node::new(Op::Name(type_text(&self.body.types, ty).into()), Vec::new(), Some(ty), None)
    }
    fn arg(&mut self, t: TermId) -> Tree {
        self.done.remove(&t).unwrap_or_else(|| Node::list(Vec::new()))
    }
    fn args(&mut self, t: TermId) -> Vec<Tree> {
        let args = self.body.args(t);
        args.iter().map(|&a| self.arg(a)).collect()
    }
    /// The extents of an array and what its cells are. A constant is as it is written: `[BLOCK + 2]`.
    fn extents(&self, s: SymbolId) -> Option<(Tree, TypeId)> {
        let declared = self.body.symbols.get(s)?;
        let name = declared.span.map(|s| s.shifted(self.start));
        let mut rest = name.and_then(|n| self.text.get(n.end as usize..)).unwrap_or("");
        let (mut extents, mut ty) = (Vec::new(), declared.ty);
        while let TypeKind::Array { of, len } = self.body.types.kind(ty) {
            let inside = rest.trim_start().strip_prefix('[').and_then(|r| r.split_once(']'));
            rest = inside.map_or("", |i| i.1);
            extents.push(match len {
                Len::Const(n) => {
                    let plain = Node::new(Op::Int(i128::from(*n)), vec![], None, None);
                    inside.and_then(|i| self.written_length(i.0.trim(), &plain)).unwrap_or(plain)
                }
                Len::Term(t) => self.apart(*t),
                Len::Unknown => return None,
            });
            ty = *of;
        }
        let all = if extents.len() == 1 { extents.remove(0) } else { Node::list(extents) };
        Some((all, ty))
    }
    /// A constant length with the words it is written with.
    fn written_length(&self, text: &str, value: &Tree) -> Option<Tree> {
        if let Some(word) = plain_word(text) {
            return Some(Node::with_alias(value.op.clone(), vec![], None, None, Some(word)));
        }
        let (body, end) = term::notation::read_prefix(text, 0).ok()?;
        if !text.get(end..)?.trim().is_empty() {
            return None;
        }
        let subject = Subject::of(&body, "", 0, false, false);
        arithmetic(&subject, &subject.root).filter(|n| !n.args.is_empty())
    }
    /// A term that stands outside the tree: an array's length.
    fn apart(&self, t: TermId) -> Tree {
        let mut r = Reading { done: FxHashMap::default(), ..*self };
        let n = r.tree(t);
        // what nothing else refers to has no place of its own
        Node::with_alias(n.op.clone(), n.args.to_vec(), n.ty, None, n.alias.clone())
    }
    fn symbol(&self, s: SymbolId) -> Tree {
        let ty = self.body.symbols.get(s).map(|s| s.ty);
        Node::new(Op::Sym(s), Vec::new(), ty, None)
    }
    fn node(&mut self, t: TermId) -> Tree {
        let from = Some(t);
        let term = self.body.term(t);
        let name = |n: &Arc<str>| Node::new(Op::Name(n.clone()), Vec::new(), None, None);
        let apply = |head: &str, args: Vec<Tree>, ty: Option<TypeId>| {
            Node::new(Op::Apply(head.into()), args, ty, from)
        };
        match &term.op {
            Op::Declare(s) => {
                let s = *s;
                let declared = self.body.symbols.get(s);
                let is_array =
                    declared.is_some_and(|d| matches!(self.body.types.kind(d.ty), TypeKind::Array { .. }));
                if let (true, Some(d), []) = (is_array, declared, &*term.args) {
                    if let Some((len, of)) = self.extents(s) {
                        let mut args = vec![self.symbol(s), self.ty(of), len];
                        args.extend(storage_word(d.storage).map(Node::name));
                        return apply("ArrayDeclaration", args, None);
                    }
                }
                let ty = declared.map_or_else(|| Node::name("?"), |d| self.ty(d.ty));
                let mut args = vec![self.symbol(s), ty];
                let head = if term.args.is_empty() { "Declaration" } else { "DeclarationAssignment" };
                args.extend(self.args(t));
                args.extend(declared.and_then(|d| storage_word(d.storage)).map(Node::name));
                apply(head, args, None)
            }
            Op::Member { field, arrow } => {
                let mut args = self.args(t);
                args.push(name(field));
                apply(if *arrow { "Arrow" } else { "Dot" }, args, Some(term.ty))
            }
            Op::Cast => {
                let mut args = vec![self.ty(term.ty)];
                args.extend(self.args(t));
                apply("Cast", args, Some(term.ty))
            }
            Op::SizeOfType(of) => apply("SizeOfType", vec![self.ty(*of)], Some(term.ty)),
            Op::Goto(l) => apply("Goto", vec![name(l)], None),
            Op::Label(l) => apply("Label", vec![name(l)], None),
            Op::Mark(n) => {
                let mut args = if n.is_empty() { Vec::new() } else { vec![name(n)] };
                args.extend(self.args(t));
                apply("_MARK_CUDA", args, None)
            }
            Op::Launch => {
                let mut all = self.args(t);
                if all.len() < 5 {
                    return apply("CallKernel", all, Some(term.ty));
                }
                let given = all.split_off(5);
                let callee = all.remove(0);
                while all.len() > 2 && all.last().is_some_and(|a| a.op == Op::Empty) {
                    all.pop();
                }
                apply("CallKernel", vec![Node::apply("Shape", all), callee, Node::list(given)], Some(term.ty))
            }
            Op::Function(s) => {
                let mut mods = Vec::new();
                if self.is_kernel {
                    mods.push(Node::name("__global__"));
                } else if self.is_device {
                    mods.push(Node::name("__device__"));
                }
                let ret = match self.body.symbols.get(*s).map(|s| self.body.types.kind(s.ty)) {
                    Some(TypeKind::Function { ret, .. }) => self.ty(*ret),
                    _ => Node::name("?"),
                };
                let mut args = vec![Node::list(mods), ret, self.symbol(*s)];
                args.extend(self.args(t));
                apply("Function", args, None)
            }
            op => {
                let (mut op, mut args) = (op.clone(), self.args(t));
                // `-1` is a number, as in the notation
                if let (Op::Unary(UnOp::Neg), [Node { op: Op::Int(v), alias: None, .. }]) =
                    (&op, args.iter().map(|a| &**a).collect::<Vec<_>>().as_slice())
                {
                    op = Op::Int(-v);
                    args.clear();
                }
                let ty = match self.body.types.kind(term.ty) {
                    TypeKind::Opaque(q) if &**q == "?" => None,
                    _ => Some(term.ty),
                };
                let alias = macro_word(self.body, self.text, self.start, t);
                Node::with_alias(op, args, ty, from, alias)
            }
        }
    }
}

/// The word that a macro's value was written with; `start`: where the body begins in the text.
pub(super) fn macro_word(body: &Body, text: &str, start: u32, t: TermId) -> Option<Arc<str>> {
    if body.origin(t) != Origin::Macro {
        return None;
    }
    plain_word(text.get(body.span(t).shifted(start).range())?)
}

fn plain_word(text: &str) -> Option<Arc<str>> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    (plain && !text.starts_with(|c: char| c.is_ascii_digit())).then(|| text.into())
}

/// Sums, differences, products and quotients of words and numbers, with names for what is declared nowhere.
fn arithmetic(subject: &Subject, n: &Tree) -> Option<Tree> {
    let args: Option<Vec<Tree>> = n.args.iter().map(|a| arithmetic(subject, a)).collect();
    let args = args?;
    match (&n.op, args.len()) {
        (Op::Int(v), 0) => Some(Node::int(*v)),
        (Op::Sym(_) | Op::Name(_), 0) => Some(Node::name(&plain_word(subject.word(n)?)?)),
        (Op::Binary(_), 2) => Some(Node::new(n.op.clone(), args, None, None)),
        _ => None,
    }
}
