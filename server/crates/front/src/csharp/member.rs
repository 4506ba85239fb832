//! One member: its parameters, and all that is known while its statements are lowered.

use std::sync::Arc;

use base::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{
    Body, BodyBuilder, Op, RejectKind, Semantics, Storage, Symbol, SymbolId, TermId, TypeId, TypeKind,
};
use tree_sitter::Node;

use super::inlined::Frame;
use super::names::{assigned, declared, Entity, Var};
use super::nested::Nested;
use super::outline::Outline;
use super::read::children;
use super::types::Ty;
use crate::marks::Mark;

/// A member with a body, as it stands in the tree.
pub(super) struct Member<'t> {
    /// In the document.
    pub span: Span,
    /// The declaration; `None`: statements of the program itself.
    pub node: Option<Node<'t>>,
    /// Of an accessor: the property or indexer.
    pub owner: Option<Node<'t>>,
    /// Its block, its expression, or its statements.
    pub bodies: Vec<Node<'t>>,
    pub name: Arc<str>,
    /// The type around it.
    pub of: Option<Arc<str>>,
    pub is_static: bool,
    /// It may set fields that are `readonly`.
    pub is_constructor: bool,
    /// Others run while it waits.
    pub is_lazy: bool,
    /// Of a function in a function: what names of the one around mean.
    pub captured: Vec<(Arc<str>, Entity)>,
}

/// Why a member is not lowered.
pub(super) type Refused = (RejectKind, String);

/// A value, while the term around it is made.
#[derive(Clone)]
pub(super) struct Value {
    pub t: TermId,
    pub ty: Ty,
    /// Of an array whose lengths are in variables: these.
    pub lengths: Vec<SymbolId>,
}

/// Lowers a member.
pub(super) struct Lower<'a> {
    pub b: BodyBuilder,
    pub document: &'a str,
    pub outline: &'a Outline,
    pub member: &'a Member<'a>,
    pub marks: &'a FxHashMap<u32, Mark>,
    /// The members whose expressions stand for uses of them, where they are lowered; the innermost last.
    pub frames: Vec<Frame>,
    pub type_parameters: Vec<Arc<str>>,
    pub scopes: Vec<FxHashMap<Arc<str>, Entity>>,
    /// Types that the document declares, as records of the body.
    pub records: FxHashMap<Arc<str>, TypeId>,
    /// Fields that are parameters here, static ones as `Type.field`.
    pub promoted: FxHashMap<Arc<str>, Var>,
    /// Whether fields that others might set are parameters, too.
    pub promotes: bool,
    /// Whether something was met that might set fields of any object.
    pub is_open: bool,
    pub this: Option<SymbolId>,
    /// All parameters, with those that the text does not write.
    pub params: Vec<SymbolId>,
    /// Functions and static fields, by name.
    pub outside: FxHashMap<Arc<str>, SymbolId>,
    /// Names that the member sets.
    pub assigned: FxHashSet<&'a str>,
    /// Variables of `foreach`, which the text cannot set.
    pub each: FxHashSet<SymbolId>,
    /// Names of what the member declares: parameters, variables, functions.
    pub own_names: FxHashSet<&'a str>,
    pub returns: Ty,
    pub depth: u32,
    /// Hidden variables, numbered.
    pub hidden: usize,
    /// Members whose expressions stood for uses of them.
    pub inlined: usize,
    /// Whether `checked` is around.
    pub checked: bool,
    /// The place of what has no text of its own.
    pub here: Span,
    /// Functions in this one.
    pub inner: Vec<Nested<'a>>,
    /// Loops in places that are not read, with the reason, until they are listed.
    pub unlisted: Vec<(Node<'a>, Arc<str>)>,
}

/// Lowers a member: with fields as parameters, if nothing in it might set them.
pub(super) fn lower<'a>(
    member: &'a Member<'a>,
    text: &'a str,
    outline: &'a Outline,
    marks: &'a FxHashMap<u32, Mark>,
) -> Result<Lowered<'a>, Refused> {
    let (body, inner, is_open) = once(member, text, outline, marks, !member.is_lazy)?;
    if !is_open {
        return Ok(Lowered { body, inner });
    }
    let (body, inner, _) = once(member, text, outline, marks, false)?;
    Ok(Lowered { body, inner })
}

/// Whether `checked { … }` is around a function in a function.
fn is_under_checked(member: &Member<'_>, text: &str) -> bool {
    let mut at = member.node.and_then(|n| n.parent());
    while let Some(n) = at {
        if n.kind() == "checked_statement" {
            return text.get(n.byte_range()).is_some_and(|t| t.starts_with("checked"));
        }
        at = n.parent();
    }
    false
}

/// What came of a member.
pub(super) struct Lowered<'a> {
    pub body: Body,
    pub inner: Vec<Nested<'a>>,
}

fn once<'a>(
    member: &'a Member<'a>,
    text: &'a str,
    outline: &'a Outline,
    marks: &'a FxHashMap<u32, Mark>,
    promotes: bool,
) -> Result<(Body, Vec<Nested<'a>>, bool), Refused> {
    let mut lower = Lower {
        b: BodyBuilder::new(&member.name, Semantics::CSHARP),
        document: text,
        outline,
        member,
        marks,
        frames: Vec::new(),
        type_parameters: Vec::new(),
        scopes: vec![member.captured.iter().cloned().collect(), FxHashMap::default()],
        records: FxHashMap::default(),
        promoted: FxHashMap::default(),
        promotes,
        is_open: false,
        this: None,
        params: Vec::new(),
        outside: FxHashMap::default(),
        assigned: assigned(member, text),
        each: FxHashSet::default(),
        own_names: declared(member, text),
        returns: Ty::Void,
        depth: 0,
        hidden: 0,
        inlined: 0,
        checked: is_under_checked(member, text),
        here: Span::new(0, 0),
        inner: Vec::new(),
        unlisted: Vec::new(),
    };
    let root = lower.function()?;
    Ok((lower.b.finish(root), lower.inner, lower.is_open && promotes))
}

impl<'a> Lower<'a> {
    fn function(&mut self) -> Result<TermId, Refused> {
        let member = self.member;
        let whole = Span::new(0, member.span.len());
        let void = self.b.types.void();
        let function = self.symbol(&member.name, void, Storage::Function, None);
        if let Some(node) = member.node {
            self.header(node)?;
        }
        let mut items = Vec::new();
        for &body in &member.bodies {
            match body.kind() {
                "block" => self.statements(body, &mut items),
                "arrow_expression_clause" => self.returned(body, &mut items),
                _ => self.statements(body, &mut items),
            }
        }
        self.list_unread(&mut items);
        let list = self.b.term(Op::List, items, void, whole);
        let params = std::mem::take(&mut self.params);
        let types: Vec<TypeId> = params.iter().map(|&p| self.b.symbols[p].ty).collect();
        let at = Span::new(0, 0);
        let declared: Vec<TermId> = params
            .iter()
            .map(|&p| {
                let span = self.b.symbols[p].span.unwrap_or(at);
                self.b.term(Op::Declare(p), [], void, span)
            })
            .collect();
        let params = self.b.term(Op::List, declared, void, at);
        let ret = self.returns.clone();
        let ret = self.repr(&ret);
        self.b.symbols[function].ty =
            self.b.types.plain(TypeKind::Function { ret, params: types, variadic: false });
        Ok(self.b.term(Op::Function(function), [params, list], void, whole))
    }

    /// Parameters, and what the member gives.
    fn header(&mut self, node: Node<'a>) -> Result<(), Refused> {
        let member = self.member;
        let body = member.bodies.first().map(|b| b.id());
        let broken = |n: Node<'_>| {
            let mut cursor = n.walk();
            let found = n
                .children(&mut cursor)
                .any(|c| Some(c.id()) != body && (c.has_error() || c.is_missing() || c.is_error()));
            found
        };
        if broken(node) {
            return Err((RejectKind::Syntax, "the member's header has an error".into()));
        }
        let mut at = Some(node);
        while let Some(n) = at {
            let list = n.child_by_field_name("type_parameters");
            let list = list.or_else(|| super::read::child(n, "type_parameter_list"));
            for p in list.map(children).unwrap_or_default() {
                self.type_parameters.extend(p.child_by_field_name("name").map(|n| Arc::from(self.text(n))));
            }
            at = n.parent();
        }
        let declared = member.owner.unwrap_or(node);
        let lists = [node.child_by_field_name("parameters"), declared.child_by_field_name("parameters")];
        match lists.into_iter().flatten().next() {
            Some(list) if list.kind() == "implicit_parameter" => {
                let ty = self.given_to_lambda(node);
                let span = self.span(list);
                self.parameter(self.text(list), ty, Some(span));
            }
            Some(list) => self.parameters(list),
            None => {}
        }
        let ty = ["returns", "type"].iter().find_map(|f| declared.child_by_field_name(f));
        let ty = ty.map_or(Ty::Void, |t| self.type_of(t));
        let accessor = node.child_by_field_name("name").map(|n| self.text(n));
        match accessor.filter(|_| node.kind() == "accessor_declaration") {
            Some("set" | "init") => {
                self.parameter("value", ty, None);
            }
            Some("get") | None => self.returns = ty,
            Some(_) if node.kind() == "accessor_declaration" => {}
            Some(_) => self.returns = ty,
        }
        if self.is_iterator() {
            // callers run between its statements
            self.is_open = true;
        }
        Ok(())
    }

    /// The type of a lambda's one parameter, where the library says it.
    fn given_to_lambda(&self, node: Node<'_>) -> Ty {
        match super::parallel::of_lambda(node, self.document) {
            Some("For") if self.counts_in_int(node) => Ty::INT,
            _ => Ty::unknown(),
        }
    }

    fn is_iterator(&self) -> bool {
        let mut found = false;
        for &body in &self.member.bodies {
            super::read::walk(body, |n| {
                found |= matches!(n.kind(), "yield_statement" | "await_expression");
                !found
            });
        }
        found
    }

    fn parameters(&mut self, list: Node<'a>) {
        let mut cursor = list.walk();
        let loose = list.children(&mut cursor).any(|c| self.text(c) == "params" && !c.is_named());
        for node in children(list).into_iter().filter(|n| n.kind() == "parameter") {
            let Some(name) = node.child_by_field_name("name") else { continue };
            let ty = node.child_by_field_name("type").map_or_else(Ty::unknown, |t| self.type_of(t));
            let by_ref = children(node)
                .iter()
                .any(|m| m.kind() == "modifier" && matches!(self.text(*m), "ref" | "out" | "in"));
            let (word, span) = (self.text(name), self.span(name));
            match by_ref {
                true => self.reference(word, ty, span),
                false => self.parameter(word, ty, Some(span)),
            }
        }
        if loose {
            // an array that the caller makes: an array all the same
            let typed = list.child_by_field_name("type").map(|t| self.type_of(t));
            let name = list.child_by_field_name("name");
            if let (Some(ty), Some(name)) = (typed, name) {
                let (word, span) = (self.text(name), self.span(name));
                self.parameter(word, ty, Some(span));
            }
        }
    }

    /// A parameter with a value of its own.
    fn parameter(&mut self, name: &str, ty: Ty, span: Option<Span>) {
        let var = self.new_parameter(name, ty, span);
        self.declare(name, Entity::Var(var));
    }

    /// A parameter, and those beside it that hold its lengths.
    pub(super) fn new_parameter(&mut self, name: &str, ty: Ty, span: Option<Span>) -> Var {
        let place = self.params.len();
        let void = self.b.types.void();
        let symbol = self.symbol(name, void, Storage::Param(place as u32), span);
        self.params.push(symbol);
        let mut lengths = Vec::new();
        for k in 0..ty.elements().map_or(0, |(_, rank)| rank) {
            let int = self.b.types.int(term::IntKind::Int);
            let place = Storage::Param(self.params.len() as u32);
            let length = self.symbol(&length_name(name, &ty, k), int, place, span);
            self.params.push(length);
            lengths.push(length);
        }
        self.b.symbols[symbol].ty = self.repr_with(&ty, &lengths);
        self.say_lengths(symbol, &lengths, matches!(ty, Ty::Span(_)));
        Var { symbol, ty, lengths, by_ref: false }
    }

    /// `ref`, `in`, `out`: a pointer to the variable of the caller.
    fn reference(&mut self, name: &str, ty: Ty, span: Span) {
        let plain = matches!(ty, Ty::Int(_) | Ty::Float(_) | Ty::Struct(_));
        let place = Storage::Param(self.params.len() as u32);
        let of = if plain { self.repr(&ty) } else { self.opaque("a reference to a variable of this type") };
        let of = if plain { self.b.types.pointer(of) } else { of };
        let symbol = self.symbol(name, of, place, Some(span));
        self.params.push(symbol);
        match plain {
            true => {
                self.b.said.never_null.push(symbol);
                self.declare(name, Entity::Var(Var { symbol, ty, lengths: Vec::new(), by_ref: true }));
            }
            false => {
                self.is_open = true;
                self.declare(
                    name,
                    Entity::Unknown("references to variables of this type are not followed".into()),
                );
            }
        }
    }

    /// Notes which variables hold the lengths of an array.
    pub(super) fn say_lengths(&mut self, array: SymbolId, lengths: &[SymbolId], is_never_null: bool) {
        for (dimension, &length) in lengths.iter().enumerate() {
            self.b.said.lengths.push(term::ArrayLength { array, dimension: dimension as u32, length });
            // a use that stands nowhere, for who speaks of the length
            let (ty, span) = (self.b.symbols[length].ty, self.b.symbols[length].span);
            let at = span.unwrap_or(self.here);
            self.b.term_from(Op::Sym(length), [], ty, at, term::Origin::Made);
        }
        if is_never_null {
            self.b.said.never_null.push(array);
        }
    }

    pub(super) fn symbol(
        &mut self,
        name: &str,
        ty: TypeId,
        storage: Storage,
        span: Option<Span>,
    ) -> SymbolId {
        let symbol = Symbol { name: name.into(), ty, storage, device: None, address_taken: false, span };
        self.b.symbols.push(symbol)
    }

    /// A local variable that holds an array has beside it variables with its lengths.
    pub(super) fn new_local(&mut self, name: &str, ty: &Ty, span: Span) -> Var {
        let void = self.b.types.void();
        let symbol = self.symbol(name, void, Storage::Local, Some(span));
        let mut lengths = Vec::new();
        for k in 0..ty.elements().map_or(0, |(_, rank)| rank) {
            let int = self.b.types.int(term::IntKind::Int);
            lengths.push(self.symbol(&length_name(name, ty, k), int, Storage::Local, Some(span)));
        }
        self.b.symbols[symbol].ty = self.repr_with(ty, &lengths);
        self.say_lengths(symbol, &lengths, matches!(ty, Ty::Span(_)));
        Var { symbol, ty: ty.clone(), lengths, by_ref: false }
    }

    pub(super) fn text(&self, node: Node<'_>) -> &'a str {
        self.document.get(node.byte_range()).unwrap_or("")
    }

    /// A node's place, relative to the member. What stands outside of it (the parameters of an indexer, before its
    /// accessor or, in a text with faults, behind it) is at its nearest end.
    pub(super) fn span(&self, node: Node<'_>) -> Span {
        if let Some(frame) = self.frames.first() {
            return frame.at;
        }
        let (from, len) = (self.member.span.start as usize, self.member.span.len());
        let within = |at: usize| at.saturating_sub(from).min(len);
        Span::new(within(node.start_byte()), within(node.end_byte()))
    }

    pub(super) fn term(
        &mut self,
        op: Op,
        args: impl Into<Box<[TermId]>>,
        ty: TypeId,
        node: Node<'_>,
    ) -> TermId {
        let span = self.span(node);
        self.b.term(op, args, ty, span)
    }

    pub(super) fn statement(&mut self, op: Op, args: impl Into<Box<[TermId]>>, node: Node<'_>) -> TermId {
        let void = self.b.types.void();
        self.term(op, args, void, node)
    }

    /// A use of a variable that the text does not write.
    pub(super) fn use_of(&mut self, symbol: SymbolId, node: Node<'_>) -> TermId {
        let ty = self.b.symbols[symbol].ty;
        let span = self.span(node);
        self.b.term_from(Op::Sym(symbol), [], ty, span, term::Origin::Made)
    }
}

/// What the variable with a length is called: as the text would write it.
pub(super) fn length_name(array: &str, ty: &Ty, dimension: usize) -> String {
    match ty {
        Ty::Array(_, rank) if *rank > 1 => format!("{array}.GetLength({dimension})"),
        _ => format!("{array}.Length"),
    }
}
