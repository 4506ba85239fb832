//! C, and what CUDA has of it: the text is lexed and cut into items, preprocessed with its headers, and every item lowered:
//! rendered text → tree-sitter → [`term::Body`]. This file lowers one item; [`unit`] goes through all of a document.
//!
//! Deliberately absent: anything between items but the [`Env`] that earlier ones left behind.

mod arms;
mod asks;
mod attributes;
mod call;
mod choices;
pub(crate) mod cut;
mod decl;
pub(crate) mod defines;
pub(crate) mod dialect;
pub(crate) mod env;
mod expr;
mod fields;
mod gaps;
mod gnu;
pub(crate) mod headers;
mod include;
mod initialise;
pub(crate) mod known;
pub(crate) mod lex;
pub(crate) mod literal;
mod names;
mod objects;
pub(crate) mod omp;
mod parameters;
mod part;
mod placing;
pub(crate) mod pp;
mod pragmas;
pub(crate) mod productions;
mod promises;
mod records;
mod render;
pub(crate) mod row;
mod says;
mod stand_ins;
mod stmt;
pub(crate) mod unit;
mod values;
pub mod vendors;

pub(crate) use names::{is_keyword, looks_like_macro};
pub(crate) use objects::SCOPED;

use std::cell::RefCell;
use std::sync::Arc;

use base::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{
    Body, BodyBuilder, Op, Origin, RecordId, RejectKind, Semantics, SymbolId, TermId, TypeId, TypeKind,
};
use tree_sitter::Node;

use crate::c::asks::Asked;
use crate::c::dialect::Dialect;
use crate::c::env::{Export, Exported, View};
use crate::c::fields::part_of;
use crate::c::lex::Token;
use crate::c::pp::pack::{self, Pack};
use crate::c::pp::{Expander, Gap, Macros, Piece};
use crate::c::render::Rendered;
use crate::c::says::Says;
use crate::limits::c::{MAX_CHAIN, MAX_DEPTH};
use crate::marks::Mark;
use crate::{Item, ItemKind};

/// An item before lowering.
pub(crate) struct Source<'a> {
    pub text: &'a str,
    pub tokens: &'a [Token],
    pub pieces: &'a [Piece],
    pub span: Span,
    /// Names what is anonymous in this item.
    pub salt: u64,
    /// Only a function's header, to be read as a declaration.
    pub header: bool,
    /// Closing braces that the text lacks.
    pub missing: usize,
    /// Where in the file `#pragma pack` changes inside the item, and to what.
    pub packs: &'a [(u32, Pack)],
    /// Why the item as a whole cannot be understood.
    pub broken: Option<(RejectKind, Arc<str>)>,
    /// Names that are unknown from here on, where it is broken.
    pub poisons: &'a [Arc<str>],
    /// Whether the floating-point environment is looked at in it.
    pub floating_environment: bool,
}

/// A member on the way to a place, and whether a pointer leads to it.
type Step = (Arc<str>, bool);

/// An item after lowering.
pub(crate) struct Lowered {
    pub body: Body,
    pub kind: ItemKind,
    pub name: Arc<str>,
    pub exports: Vec<Export>,
    pub is_kernel: bool,
    pub is_device: bool,
    pub is_host: bool,
    pub is_static: bool,
    pub launch_bounds: Option<u32>,
    /// What `_Pragma("pack(…)")` in it does for those after it.
    pub packs: Vec<pack::Op>,
}

/// What a name means in a scope.
#[derive(Clone, Debug)]
enum Entity {
    Symbol(SymbolId),
    /// A type, and the alignment that its name asks for.
    Typedef(TypeId, Asked),
    Enumerator(i128, TypeId),
    /// Declared in a way that was not understood.
    Unknown(RejectKind, Arc<str>),
}

#[derive(Clone, Copy, Debug)]
enum Tag {
    Record(RecordId),
    Enum(TypeId),
}

#[derive(Default, Debug)]
struct Scope {
    names: FxHashMap<Arc<str>, Entity>,
    tags: FxHashMap<Arc<str>, Tag>,
    /// Variables with the functions that get their addresses where the scope ends.
    cleanups: Vec<(SymbolId, Arc<str>)>,
}

struct Lower<'a> {
    b: BodyBuilder,
    env: View<'a>,
    dialect: &'static Dialect,
    r: &'a Rendered,
    /// `#pragma pack` at the item's start and inside.
    pack: pack::Stack,
    packs: &'a [(u32, Pack)],
    gaps: &'a [Gap],
    base: u32,
    salt: u64,
    marks: &'a FxHashMap<u32, Mark>,
    promises: &'a promises::ByPlace,
    system: bool,
    scopes: Vec<Scope>,
    /// Symbols of what is declared outside this item, by name.
    outside: FxHashMap<Arc<str>, SymbolId>,
    /// Structures whose members were noted, by variable and whether that is a pointer ([`term::Said::members`]).
    handed: FxHashSet<(SymbolId, Vec<Step>, bool)>,
    /// Types taken over from other bodies.
    imported: FxHashMap<(usize, TypeId), TypeId>,
    /// Records of file scope, by name.
    records: FxHashMap<Arc<str>, RecordId>,
    /// Records whose objects run no code.
    plain: RefCell<FxHashSet<RecordId>>,
    anonymous: u32,
    depth: u32,
    /// Whether what is being lowered is the operand of `&`.
    wants_place: bool,
    exports: Vec<Export>,
    /// What is evaluated where a type stands: sizes that do something, and parts that are not understood. Whoever asks for
    /// a type puts them where it stands.
    pending: Vec<TermId>,
}

impl Lowered {
    /// As an item of a file, at this span.
    pub(crate) fn into_item(self, span: Span) -> Item {
        Item {
            span,
            kind: self.kind,
            name: self.name,
            body: Arc::new(self.body),
            is_kernel: self.is_kernel,
            is_device: self.is_device,
            is_host: self.is_host,
            is_static: self.is_static,
            launch_bounds: self.launch_bounds,
        }
    }
}

/// Lowers an item. `system`: it stands in a header of the system, where what is not understood says nothing of the names
/// in it.
pub(crate) fn lower_item(
    source: &Source<'_>,
    dialect: &'static Dialect,
    macros: &Macros,
    env: View<'_>,
    marks: &FxHashMap<u32, Mark>,
    system: bool,
    parser: &mut tree_sitter::Parser,
) -> Lowered {
    let mut expander = Expander::new(macros, source.text);
    let mut tokens = expander.item(source.tokens, source.pieces);
    let is_type = |name: &str| env.is_type(name, dialect);
    if dialect.cpp && source.broken.is_none() {
        tokens = env.templates().named(tokens, source.text);
        tokens = crate::cpp::plain::plain(tokens, (source.text, dialect), &is_type, &mut expander);
    }
    // Parameters without types are those of a definition alone.
    let old = source.header && !dialect.cpp && render::is_old_header(&tokens, source.text, &is_type);
    let (text, count) = match (source.header, old) {
        (true, true) => ("{ }", 1),
        (true, false) => (";", 1),
        (false, _) => ("}", source.missing),
    };
    let closing = render::Closing { text, count };
    let rendered = render::render(&tokens, source.text, dialect, &is_type, &mut expander, closing);
    drop(tokens);
    // only a function has loops
    let promises = match source.header || source.broken.is_some() {
        true => promises::ByPlace::default(),
        false => promises::read(source, marks, dialect, &is_type, &mut expander, parser),
    };
    let gaps = std::mem::take(&mut expander.rejects);
    let tree = if source.broken.is_some() { None } else { parser.parse(&rendered.text, None) };
    let mut lower = Lower {
        b: BodyBuilder::new("", Semantics::C),
        env,
        dialect,
        r: &rendered,
        pack: macros.stack(),
        packs: source.packs,
        gaps: &gaps,
        base: source.span.start,
        salt: source.salt,
        marks,
        promises: &promises,
        system,
        scopes: vec![Scope::default()],
        outside: FxHashMap::default(),
        handed: FxHashSet::default(),
        imported: FxHashMap::default(),
        records: FxHashMap::default(),
        plain: RefCell::default(),
        anonymous: 0,
        depth: 0,
        wants_place: false,
        exports: Vec::new(),
        pending: Vec::new(),
    };
    lower.hear(source.floating_environment, &rendered.says);
    let whole = Span::new(0, source.span.len());
    let cuda_device_only = rendered.is_kernel || (rendered.is_device && !rendered.is_host);
    let (kind, name, root, is_static) = match (&tree, &source.broken) {
        (Some(tree), None) => lower.unit(tree.root_node(), whole, source.missing > 0),
        (_, broken) => {
            let (kind, reason) = match broken {
                Some((k, r)) => (*k, r.clone()),
                None => (RejectKind::Unsupported, "the parser gave up on it".into()),
            };
            let r = lower.b.reject(kind, &reason, whole, Vec::new());
            for name in source.poisons {
                match kind {
                    // it declares them for certain, whatever they were
                    RejectKind::Foreign => lower.foreign_name(name.clone(), &reason),
                    _ => lower.poison_name(name.clone()),
                }
            }
            let root = lower.program(vec![r], whole);
            (ItemKind::Declarations, "".into(), root, false)
        }
    };
    let exports = std::mem::take(&mut lower.exports);
    lower.b.name = if kind == ItemKind::Function { name.clone() } else { "".into() };
    if let Some(row) = dialect.device {
        lower.b.resolve_words(|name| row.word(name));
    }
    Lowered {
        body: lower.b.finish_noting(root, |b| note_variables(b, source, &rendered, dialect)),
        kind,
        name,
        exports,
        is_kernel: rendered.is_kernel,
        is_device: rendered.is_device,
        is_host: !cuda_device_only,
        is_static,
        launch_bounds: rendered.launch_bounds,
        packs: rendered.packs.iter().map(|(_, op)| op.clone()).collect(),
    }
}

/// Notes which jumps start the next round of a loop; as what parameters of type `void *` are used, where C converts them by itself; and which local `static` variables hold nothing between calls, and whose address is
/// taken on the way out alone: not where threads that a directive lets run a part of a function share them, nor in C++, where a reference
/// may be another name of one.
fn note_variables(body: &mut Body, source: &Source<'_>, rendered: &render::Rendered, dialect: &Dialect) {
    let item = source.text.get(source.span.range()).unwrap_or(source.text);
    let is_shared = [item, &rendered.text].iter().any(|t| t.contains("ragma"));
    body.said.shares_statics = is_shared || dialect.cpp;
    body.said.is_kernel = rendered.is_kernel;
    body.said.reads_as_any_type = source.text.contains("may_alias");
    body.note_round_ends();
    if !dialect.cpp {
        body.see_void_parameters_as_used();
    }
    if !body.said.shares_statics {
        body.note_kept(&|_, _| false);
        body.note_leaving();
    }
}

impl<'a> Lower<'a> {
    /// Notes what is said beyond the terms.
    fn hear(&mut self, floating_environment: bool, all: &[Says]) {
        self.b.said.floating_environment = floating_environment;
        for says in all {
            match says {
                Says::FloatingEnvironment(on) => self.b.said.floating_environment |= on,
                Says::Weak(name) => self.b.said.weak.push(name.clone()),
                Says::SecondName(name, other) => {
                    self.b.said.weak.push(name.clone());
                    self.b.said.also_named.push(other.clone());
                }
            }
        }
    }

    /// A node's text as rendered; for what stands for something else, that.
    fn text(&self, node: Node<'_>) -> &'a str {
        let info = self.r.infos.get(self.r.index(node.start_byte()));
        if let Some(original) = info.and_then(|i| i.original.as_deref()) {
            return original;
        }
        self.r.text.get(node.byte_range()).unwrap_or("")
    }

    fn ends(&self, node: Node<'_>) -> (usize, usize) {
        let first = self.r.index(node.start_byte());
        let last = self.r.index(node.end_byte().saturating_sub(1)).max(first);
        (first, last)
    }

    fn token_span(&self, index: usize) -> Span {
        let s = self.r.infos.get(index).map_or(Span::default(), |i| i.span);
        Span { start: s.start.saturating_sub(self.base), end: s.end.saturating_sub(self.base) }
    }

    /// `#pragma pack` at a token.
    fn pack_at(&self, token: usize) -> Pack {
        let at = self.r.infos.get(token).map_or(0, |i| i.span.start);
        let changed = self.packs.iter().rev().find(|(from, _)| *from <= at);
        let operators = self.r.packs.iter().filter(|(k, _)| *k <= token);
        let operators: Vec<pack::Op> = operators.map(|(_, op)| op.clone()).collect();
        match (operators.is_empty(), self.packs.is_empty()) {
            (true, _) => changed.map_or_else(|| self.pack.after(&[]), |(_, pack)| *pack),
            (false, true) => self.pack.after(&operators),
            // which came first is not known
            (false, false) => Pack::Unknown,
        }
    }

    /// A node's place in the source, relative to the item.
    fn span(&self, node: Node<'_>) -> Span {
        let (first, last) = self.ends(node);
        self.token_span(first).cover(self.token_span(last))
    }

    /// Whether a node came, wholly or partly, out of a macro that does not lie wholly inside it.
    fn origin(&self, node: Node<'_>) -> Origin {
        let (first, last) = self.ends(node);
        let infos = &self.r.infos;
        let use_of = |i: usize| infos.get(i).map_or(0, |t| t.expansion);
        let (a, b) = (use_of(first), use_of(last));
        let cut_left = a != 0 && first > 0 && use_of(first - 1) == a;
        let cut_right = b != 0 && use_of(last + 1) == b;
        if cut_left || cut_right || (a != 0 && a == b) {
            Origin::Macro
        } else {
            Origin::Source
        }
    }

    fn term(&mut self, op: Op, args: impl Into<Box<[TermId]>>, ty: TypeId, node: Node<'_>) -> TermId {
        let args = args.into();
        if let Some(why) = self.foreign_term(&op, &args, ty) {
            return self.reject(RejectKind::Foreign, &why, node, args.into_vec());
        }
        let (span, origin) = (self.span(node), self.origin(node));
        self.b.term_from(op, args, ty, span, origin)
    }

    fn statement(&mut self, op: Op, args: impl Into<Box<[TermId]>>, node: Node<'_>) -> TermId {
        let void = self.b.types.void();
        self.term(op, args, void, node)
    }

    fn program(&mut self, items: Vec<TermId>, span: Span) -> TermId {
        let void = self.b.types.void();
        self.b.term(Op::Program, items, void, span)
    }

    fn file_scope(&self) -> bool {
        self.scopes.len() == 1
    }

    fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// Lowers all that the item's text holds.
    fn unit(&mut self, root: Node<'_>, whole: Span, unclosed: bool) -> (ItemKind, Arc<str>, TermId, bool) {
        let mut cursor = root.walk();
        let children: Vec<Node<'_>> = root.named_children(&mut cursor).collect();
        if let [only] = children.as_slice() {
            if only.kind() == "function_definition" && !root.is_error() {
                return self.function(*only, whole, unclosed);
            }
        }
        let mut items = Vec::new();
        if root.is_error() {
            items.push(self.b.reject(
                RejectKind::Syntax,
                "this is not C as far as the parser sees",
                whole,
                Vec::new(),
            ));
            return (ItemKind::Declarations, "".into(), self.program(items, whole), false);
        }
        for child in children {
            match child.kind() {
                "declaration" | "type_definition" | "struct_specifier" | "union_specifier"
                | "enum_specifier"
                    if !child.has_error() =>
                {
                    self.declaration(child, &mut items);
                }
                "function_definition" => {
                    items.push(self.reject(
                        RejectKind::Unsupported,
                        "a macro that makes several functions is not followed",
                        child,
                        vec![],
                    ));
                    self.made_function(child);
                }
                "expression_statement" if child.named_child_count() == 0 => {}
                kind => {
                    let (kind, reason) = if child.has_error() || child.is_error() {
                        (RejectKind::Syntax, "the parser reports an error here")
                    } else if kind == "expression_statement" {
                        (RejectKind::Macro, "a macro that is not defined in this file seems to stand here")
                    } else {
                        (RejectKind::Unsupported, "this is not a declaration that is followed")
                    };
                    items.push(self.reject(kind, reason, child, vec![]));
                    self.poison(child);
                }
            }
        }
        let name = self
            .exports
            .iter()
            .find_map(|e| match &e.what {
                Exported::Tag(_) => None,
                _ => Some(e.name.clone()),
            })
            .unwrap_or_else(|| "".into());
        (ItemKind::Declarations, name, self.program(items, whole), false)
    }

    fn function(
        &mut self,
        node: Node<'_>,
        whole: Span,
        unclosed: bool,
    ) -> (ItemKind, Arc<str>, TermId, bool) {
        let rejected = |this: &mut Self, kind, reason: &str, name: Arc<str>| {
            let r = this.reject(kind, reason, node, vec![]);
            this.poison_name(name.clone());
            let root = this.program(vec![r], whole);
            (ItemKind::Function, name, root, false)
        };
        let (Some(declarator), Some(body)) = (part_of(node, "declarator"), part_of(node, "body")) else {
            return rejected(self, RejectKind::Syntax, "the function's header is not understood", "".into());
        };
        let name: Arc<str> = decl::declared_name(declarator).map_or("", |n| self.text(n)).into();
        let mut cursor = node.walk();
        let mut old_style = false;
        let mut broken = false;
        for child in node.children(&mut cursor) {
            old_style |= child.kind() == "declaration";
            broken |=
                child.id() != body.id() && (child.has_error() || child.is_missing() || child.is_error());
        }
        if broken {
            return rejected(self, RejectKind::Syntax, "the function's header could not be read", name);
        }
        let spec = self.specifiers(node);
        let d = self.declarator(declarator, spec.ty, decl::Place::Definition);
        let Some(parameters) = d.parameters else {
            return rejected(self, RejectKind::Unsupported, "the function's header is not understood", name);
        };
        let mut pc = parameters.walk();
        let listed: Vec<Node<'_>> = parameters.named_children(&mut pc).collect();
        old_style |= listed.iter().any(|p| self.old_name(*p).is_some());
        let symbol = self.b.symbols.push(term::Symbol {
            name: name.clone(),
            ty: d.ty,
            storage: term::Storage::Function,
            device: None,
            address_taken: false,
            span: d.name.map(|n| self.span(n)),
        });
        self.scope().names.insert(name.clone(), Entity::Symbol(symbol));
        self.scopes.push(Scope::default());
        let params = match old_style {
            true => self.old_parameters(parameters, node),
            false => Some(self.parameters(parameters)),
        };
        let Some(params) = params else {
            self.scopes.pop();
            // `FUNCTION(vector, sub)(TYPE(vector) *a)`: what looks like the names of parameters is a macro's
            let of_macro =
                part_of(declarator, "declarator").is_some_and(|d| d.kind() == "function_declarator");
            let reason = match of_macro {
                true => format!("`{name}`, which makes the name of a function, is no macro that is known"),
                false => "a definition in the style before C89 is not understood".to_owned(),
            };
            return rejected(self, RejectKind::Unsupported, &reason, name);
        };
        let ty = self.b.types.plain(TypeKind::Function {
            ret: d.ty,
            params: params.types,
            variadic: params.variadic,
        });
        self.b.symbols[symbol].ty = ty;
        let mut attributes = self.specifier_attributes(node, Some(body));
        attributes.weak |= self.declared_weak(&name);
        // one that was declared `static` is so without the word (C11 6.2.2p5)
        let is_static = spec.is_static || self.declared_internal(&name);
        self.export_function(&name, ty, is_static, attributes.weak);
        let promises = self.promises_before(self.base);
        self.promise(None, promises);
        // The body's block shares the parameters' scope (C11 6.2.1p4).
        let mut items = Vec::new();
        // Sizes in the parameters are evaluated on entry (C11 6.9.1p10).
        items.append(&mut self.pending);
        self.statements(body, &mut items);
        items.append(&mut self.pending);
        self.clean_up(body, &mut items);
        self.scopes.pop();
        if unclosed {
            let end = whole.end as usize;
            let at = Span::new(end.saturating_sub(1), end);
            items.push(self.b.reject(RejectKind::Syntax, "a closing brace is missing", at, Vec::new()));
        }
        let list = self.statement(Op::List, items, body);
        let void = self.b.types.void();
        let root = self.b.term(Op::Function(symbol), vec![params.list, list], void, whole);
        (ItemKind::Function, name, root, is_static)
    }

    fn export_function(&mut self, name: &Arc<str>, ty: TypeId, internal: bool, weak: bool) {
        if weak {
            self.b.said.weak.push(name.clone());
        }
        let what = Exported::Function { ty, library: false, weak, internal };
        self.exports.push(Export { name: name.clone(), what });
    }

    /// Whether an earlier declaration calls the function weak.
    fn declared_weak(&self, name: &str) -> bool {
        self.env.name(name).is_some_and(|e| matches!(e.what, Exported::Function { weak: true, .. }))
    }

    /// Whether an earlier declaration makes the function the file's own.
    fn declared_internal(&self, name: &str) -> bool {
        self.env.name(name).is_some_and(|e| matches!(e.what, Exported::Function { internal: true, .. }))
    }

    /// A function whose body is left aside: its name and type are known all the same.
    fn made_function(&mut self, node: Node<'_>) {
        let Some(declarator) = part_of(node, "declarator").filter(|d| !d.has_error()) else {
            return self.poison(node);
        };
        let spec = self.specifiers(node);
        let d = self.declarator(declarator, spec.ty, decl::Place::Plain);
        let is_function = matches!(self.b.types.kind(d.ty), TypeKind::Function { .. });
        match d.name.filter(|_| !d.odd && is_function) {
            Some(name) => {
                let name: Arc<str> = self.text(name).into();
                let weak = self.attributes(declarator).weak;
                self.export_function(&name, d.ty, spec.is_static, weak);
            }
            None => self.poison(node),
        }
    }
}
