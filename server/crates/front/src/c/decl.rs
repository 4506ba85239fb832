//! Declarations: specifiers, declarators, records, enumerations, initialisers.

use std::sync::Arc;

use term::{
    Len, Op, Quals, Reach, RecordId, RejectKind, Storage, Symbol, SymbolId, TermId, TypeId, TypeKind,
};
use tree_sitter::Node;

use crate::c::asks::{Asked, Asks};
use crate::c::attributes::Attributes;
use crate::c::env::{Export, Exported};
use crate::c::fields::part_of;
use crate::c::{Entity, Lower, MAX_DEPTH};

/// Where a declarator stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Plain,
    /// Arrays and functions become pointers.
    Parameter,
    /// A function with a body: its type is left as what it returns, its parameters are read later.
    Definition,
}

/// What the words before the declarators say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Specifiers {
    pub ty: TypeId,
    /// What the type's name asks for.
    pub align: Asked,
    pub is_static: bool,
    pub is_extern: bool,
    pub is_shared: bool,
    pub is_constant: bool,
    pub is_thread: bool,
    /// The type's name is that of a variable: this is no declaration.
    pub not_a_type: bool,
}

/// A declarator applied to a type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared<'t> {
    pub name: Option<Node<'t>>,
    pub ty: TypeId,
    /// The parameter list, where the thing declared is itself a function.
    pub parameters: Option<Node<'t>>,
    /// A part that was not understood.
    pub odd: bool,
}

/// A name with what its declaration says of it.
struct Named<'t> {
    name: Node<'t>,
    ty: TypeId,
    spec: Specifiers,
    attributes: Attributes,
}

/// The node of the name a declarator declares.
pub(super) fn declared_name(mut node: Node<'_>) -> Option<Node<'_>> {
    loop {
        node = match node.kind() {
            "identifier" | "field_identifier" | "type_identifier" | "primitive_type" => return Some(node),
            _ => inner(node)?,
        };
    }
}

fn inner(node: Node<'_>) -> Option<Node<'_>> {
    if let Some(d) = part_of(node, "declarator") {
        return Some(d);
    }
    match node.kind() {
        "parenthesized_declarator" | "attributed_declarator" | "abstract_parenthesized_declarator" => {
            let mut c = node.walk();
            let found = node
                .named_children(&mut c)
                .find(|n| n.kind().ends_with("declarator") || n.kind().ends_with("identifier"));
            found
        }
        _ => None,
    }
}

impl Lower<'_> {
    /// The specifiers of a declaration, parameter, field or type name.
    pub(super) fn specifiers(&mut self, node: Node<'_>) -> Specifiers {
        let mut quals = Quals::default();
        let unknown = self.unknown();
        let mut spec = Specifiers {
            ty: unknown,
            align: Asked::Nothing,
            is_static: false,
            is_extern: false,
            is_shared: false,
            is_constant: false,
            is_thread: false,
            not_a_type: false,
        };
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "storage_class_specifier" => match self.text(child) {
                    "static" => spec.is_static = true,
                    "extern" => spec.is_extern = true,
                    "__thread" | "thread_local" => spec.is_thread = true,
                    _ => {}
                },
                "type_qualifier" => match self.text(child) {
                    "__shared__" => spec.is_shared = true,
                    "__constant__" => spec.is_constant = true,
                    word => qualify(&mut quals, word),
                },
                _ => {}
            }
        }
        if let Some(t) = part_of(node, "type") {
            spec.ty = self.base_type(t);
            if matches!(t.kind(), "type_identifier" | "primitive_type") {
                let name = self.text(t);
                match self.lookup(name) {
                    Some(Entity::Symbol(_) | Entity::Enumerator(..)) => {
                        spec.not_a_type = t.kind() == "type_identifier";
                    }
                    Some(Entity::Typedef(_, align)) => spec.align = align,
                    _ => {}
                }
            }
        }
        spec.ty = self.qualified(spec.ty, quals);
        spec
    }

    /// Adds qualifiers; an array's go to its elements (C11 6.7.3p9).
    fn qualified(&mut self, ty: TypeId, quals: Quals) -> TypeId {
        if quals == Quals::default() {
            return ty;
        }
        if let TypeKind::Array { of, len } = self.b.types.kind(ty).clone() {
            let of = self.qualified(of, quals);
            return self.b.types.plain(TypeKind::Array { of, len });
        }
        let q = self.b.types.quals(ty);
        self.b.types.with_quals(
            ty,
            Quals {
                is_const: q.is_const || quals.is_const,
                is_volatile: q.is_volatile || quals.is_volatile,
                is_restrict: q.is_restrict || quals.is_restrict,
                is_atomic: q.is_atomic || quals.is_atomic,
            },
        )
    }

    /// Applies a declarator (possibly abstract) to a type.
    pub(super) fn declarator<'t>(&mut self, node: Node<'t>, base: TypeId, place: Place) -> Declared<'t> {
        let mut d = Declared { name: None, ty: base, parameters: None, odd: false };
        // The last array applied is the outermost dimension.
        let mut outer: Option<(bool, Quals)> = None;
        let mut at = Some(node);
        let mut levels = 0;
        while let Some(n) = at {
            levels += 1;
            if levels > MAX_DEPTH {
                d.odd = true;
                d.ty = self.unknown();
                break;
            }
            match n.kind() {
                "identifier" | "field_identifier" | "type_identifier" | "primitive_type" => {
                    d.name = Some(n);
                    break;
                }
                "pointer_declarator" | "abstract_pointer_declarator" => {
                    let mut quals = Quals::default();
                    let mut c = n.walk();
                    for q in n.named_children(&mut c) {
                        if q.kind() == "type_qualifier" || q.kind() == "ms_pointer_modifier" {
                            qualify(&mut quals, self.text(q));
                        }
                    }
                    let p = self.b.types.pointer(d.ty);
                    d.ty = self.b.types.with_quals(p, quals);
                    d.parameters = None;
                    outer = None;
                }
                "array_declarator" | "abstract_array_declarator" => {
                    let mut quals = Quals::default();
                    let mut is_static = false;
                    let mut c = n.walk();
                    for q in n.children(&mut c) {
                        match q.kind() {
                            "type_qualifier" => qualify(&mut quals, self.text(q)),
                            "static" => is_static = true,
                            _ => {}
                        }
                    }
                    let len = match part_of(n, "size") {
                        None => Len::Unknown,
                        Some(s) if s.kind() == "*" => Len::Unknown,
                        Some(s) => {
                            let t = self.expr(s);
                            match self.value(t) {
                                Some(v) => u64::try_from(v).map_or(Len::Unknown, Len::Const),
                                // It is evaluated where the type stands, once (C11 6.7.6.2p5).
                                None if self.does_something(t) => {
                                    self.pending.push(t);
                                    Len::Unknown
                                }
                                None => Len::Term(t),
                            }
                        }
                    };
                    d.ty = self.b.types.plain(TypeKind::Array { of: d.ty, len });
                    d.parameters = None;
                    outer = Some((is_static, quals));
                }
                "function_declarator" | "abstract_function_declarator" => {
                    let parameters = part_of(n, "parameters");
                    let named = part_of(n, "declarator").filter(|i| i.kind() == "identifier");
                    if let (Place::Definition, Some(name)) = (place, named) {
                        d.name = Some(name);
                        d.parameters = parameters;
                        break;
                    }
                    let (params, variadic, odd) = match parameters {
                        Some(p) => self.parameter_types(p),
                        None => (Vec::new(), true, true),
                    };
                    d.odd |= odd;
                    d.ty = self.b.types.plain(TypeKind::Function { ret: d.ty, params, variadic });
                    d.parameters = parameters;
                    outer = None;
                }
                "parenthesized_declarator"
                | "abstract_parenthesized_declarator"
                | "attributed_declarator" => {}
                _ => {
                    d.odd = true;
                    break;
                }
            }
            at = inner(n);
        }
        if place == Place::Parameter {
            d.ty = self.adjusted(d.ty, outer);
        }
        d
    }

    /// Brings a name into the current scope.
    pub(super) fn declare(&mut self, name: Node<'_>, ty: TypeId, storage: Storage) -> SymbolId {
        let text: Arc<str> = self.text(name).into();
        let span = self.span(name);
        let id = self.b.symbols.push(Symbol {
            name: text.clone(),
            ty,
            storage,
            device: None,
            address_taken: false,
            span: Some(span),
        });
        self.scope().names.insert(text, Entity::Symbol(id));
        id
    }

    /// A type name, with what is evaluated where it stands.
    pub(super) fn evaluated_type_name(&mut self, node: Node<'_>) -> (TypeId, Vec<TermId>) {
        let around = std::mem::take(&mut self.pending);
        let ty = self.type_name(node);
        let evaluated = std::mem::replace(&mut self.pending, around);
        (ty, evaluated)
    }

    /// An expression before which others are evaluated.
    pub(super) fn after(&mut self, first: Vec<TermId>, value: TermId, node: Node<'_>) -> TermId {
        let ty = self.ty(value);
        let ty = self.rvalue(ty);
        first.into_iter().rev().fold(value, |value, t| self.term(Op::Comma, [t, value], ty, node))
    }

    /// A type name: `(int *[3])`.
    pub(super) fn type_name(&mut self, node: Node<'_>) -> TypeId {
        let spec = self.specifiers(node);
        match part_of(node, "declarator") {
            Some(d) => {
                let d = self.declarator(d, spec.ty, Place::Plain);
                if d.odd {
                    self.unknown()
                } else {
                    d.ty
                }
            }
            None => spec.ty,
        }
    }

    /// A declaration or type definition; its `Declare` terms go to `out`.
    pub(super) fn declaration(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        let around = std::mem::take(&mut self.pending);
        self.declaration_inner(node, out);
        out.append(&mut self.pending);
        self.pending = around;
    }

    fn declaration_inner(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        if node.has_error() {
            out.push(self.reject(
                RejectKind::Syntax,
                "the parser reports an error in this declaration",
                node,
                vec![],
            ));
            self.poison(node);
            return;
        }
        match node.kind() {
            "struct_specifier" | "union_specifier" | "enum_specifier" => {
                self.base_type(node);
                return;
            }
            _ => {}
        }
        let spec = self.specifiers(node);
        if spec.not_a_type {
            let reason = "this reads as a declaration whose type is a variable";
            out.push(self.reject(RejectKind::Unsupported, reason, node, vec![]));
            return;
        }
        let typedef = node.kind() == "type_definition";
        let mut cursor = node.walk();
        let declarators: Vec<Node<'_>> = node.children_by_field_name("declarator", &mut cursor).collect();
        let only_one = declarators.len() == 1;
        let shared = self.specifier_attributes(node, declarators.first().copied());
        let common = match declarators.first() {
            Some(d) if typedef => self.specifier_asks(node, *d),
            _ => Asks::default(),
        };
        for (k, d) in declarators.into_iter().enumerate() {
            let (inner, init) = if d.kind() == "init_declarator" {
                (part_of(d, "declarator").unwrap_or(d), part_of(d, "value"))
            } else {
                (d, None)
            };
            let made = self.declarator(inner, spec.ty, Place::Plain);
            out.append(&mut self.pending);
            let Some(name) = made.name.filter(|_| !made.odd) else {
                out.push(self.reject(
                    RejectKind::Unsupported,
                    "this declarator is not understood",
                    d,
                    vec![],
                ));
                self.poison(d);
                continue;
            };
            if typedef {
                let text: Arc<str> = self.text(name).into();
                let own = self.declarator_asks(inner, inner, k == 0);
                let align = match own.at.aligned().or(common.aligned()) {
                    Asked::Nothing if self.is_array_of(made.ty, spec.ty) => spec.align,
                    asked => asked,
                };
                // its lengths are computed where it stands, whatever their variables hold where it is used (C11 6.7.8p3)
                if !self.file_scope() {
                    out.extend(self.b.types.lengths_in(made.ty));
                }
                if self.file_scope() {
                    let what = Exported::Typedef(made.ty, align);
                    self.exports.push(Export { name: text.clone(), what });
                }
                self.scope().names.insert(text, Entity::Typedef(made.ty, align));
                continue;
            }
            // One declarator: the whole statement is its text; several: each its own part.
            let place = if only_one { node } else { d };
            let mut attributes = self.attributes(inner);
            attributes.join(&shared);
            self.variable(Named { name, ty: made.ty, spec, attributes }, init, place, out);
        }
    }

    fn variable(&mut self, named: Named<'_>, init: Option<Node<'_>>, place: Node<'_>, out: &mut Vec<TermId>) {
        let Named { name, ty, spec, attributes } = named;
        let text: Arc<str> = self.text(name).into();
        let file = self.file_scope();
        let outer = file || spec.is_extern || matches!(self.b.types.kind(ty), TypeKind::Function { .. });
        if let Some(other) = attributes.other_name.as_ref().filter(|_| outer && !self.system) {
            self.second_name(text, other);
            return;
        }
        if matches!(self.b.types.kind(ty), TypeKind::Function { .. }) {
            if let Some(why) = self.vexing(ty) {
                out.push(self.reject(RejectKind::Foreign, why, place, vec![]));
                self.poison_name(text);
                return;
            }
            // in a block, too, it may only repeat the library's (C11 7.1.4p2): `double sqrt(double), x;`
            let repeats = !file && !self.dialect.cpp && term::intrinsic(&text).is_some() && {
                let types = self.b.types.clone();
                !self.env.defines_function(&text) && self.is_librarys(&text, false, &types, ty)
            };
            if repeats {
                return;
            }
            self.declare(name, ty, Storage::Function);
            if file {
                self.export_function(&text, ty, spec.is_static, attributes.weak);
            }
            return;
        }
        let storage = if spec.is_shared {
            Storage::Shared
        } else if file || spec.is_extern {
            Storage::Global {
                defined_here: (!spec.is_extern || init.is_some()) && !attributes.weak,
                internal: spec.is_static,
                constant: spec.is_constant,
            }
        } else if spec.is_static || spec.is_thread {
            Storage::StaticLocal { kept: true }
        } else {
            Storage::Local
        };
        let symbol = self.declare(name, ty, storage);
        let init = init.map(|i| {
            let t = self.initialiser(i, Some(ty));
            self.escape(t);
            t
        });
        if self.dialect.cpp && matches!(storage, Storage::StaticLocal { .. }) {
            if let Some(t) = init.filter(|&t| self.runs_when_reached(t)) {
                let why =
                    "a static variable that gets its value when control first comes to it is not followed";
                out.push(self.reject_named(RejectKind::Foreign, why, place, vec![t]));
                self.poison_name(text);
                return;
            }
        }
        // A register that assembly may use without naming the variable.
        self.b.symbols[symbol].address_taken |= attributes.other_name.is_some();
        let deduced = matches!(self.b.types.kind(ty), TypeKind::Opaque(word) if matches!(&**word, "auto" | "__auto_type"));
        if let (true, Some(t)) = (deduced, init) {
            // C++'s `auto x = …`: the type of the value
            let (quals, of) = (self.b.types.quals(ty), self.ty(t));
            let of = self.decayed(of);
            self.b.symbols[symbol].ty = self.b.types.with_quals(of, quals);
        }
        if let (TypeKind::Array { of, len: Len::Unknown }, Some(t)) = (self.b.types.kind(ty).clone(), init) {
            if let Some(n) = self.initialised_length(t) {
                let ty = self.b.types.plain(TypeKind::Array { of, len: Len::Const(n) });
                self.b.symbols[symbol].ty = ty;
            }
        }
        if file {
            let ty = self.b.symbols[symbol].ty;
            self.exports.push(Export {
                name: text,
                what: Exported::Variable {
                    ty,
                    defined: (!spec.is_extern || init.is_some()) && !attributes.weak,
                    internal: spec.is_static,
                    constant: spec.is_constant,
                    value: init.and_then(|t| self.fixed_value(ty, t)).filter(|_| !attributes.weak),
                },
            });
        }
        let args: Vec<TermId> = init.into_iter().collect();
        out.push(self.statement(Op::Declare(symbol), args, place));
        if let Some(function) = attributes.cleanup.filter(|_| !file) {
            self.b.symbols[symbol].address_taken = true;
            let called = self.cleaned(symbol, &function, name);
            out.push(called);
            self.scope().cleanups.push((symbol, function));
        }
        let ty = self.b.symbols[symbol].ty;
        if !file && (!spec.is_extern || spec.is_shared) {
            out.extend(self.foreign_variable(ty, place));
        }
    }

    /// The gap where the function given by `cleanup` runs with the variable's address.
    fn cleaned(&mut self, symbol: SymbolId, function: &str, node: Node<'_>) -> TermId {
        let ty = self.b.symbols[symbol].ty;
        let variable = self.term(Op::Sym(symbol), [], ty, node);
        let reason =
            format!("`{function}` runs where the variable's scope ends (`cleanup`), which is not followed");
        let span = self.span(node);
        self.b.reject_that(RejectKind::Unsupported, &reason, span, Reach::Named, vec![variable])
    }

    /// What runs where the current scope ends.
    pub(super) fn clean_up(&mut self, node: Node<'_>, out: &mut Vec<TermId>) {
        let cleanups = std::mem::take(&mut self.scope().cleanups);
        for (symbol, function) in cleanups.into_iter().rev() {
            let called = self.cleaned(symbol, &function, node);
            out.push(called);
        }
    }

    /// The value that a constant object is initialised with: it holds that for good, since changing an object defined
    /// as `const` is undefined (C11 6.7.3p6). Not that of a `volatile` one.
    fn fixed_value(&self, ty: TypeId, init: TermId) -> Option<i128> {
        let (quals, kind) = (self.b.types.quals(ty), self.b.types.as_int(ty)?);
        (quals.is_const && !quals.is_volatile && !quals.is_atomic).then_some(())?;
        Some(kind.wrap(self.value(init)?))
    }

    pub(super) fn record_of(&self, ty: TypeId) -> Option<RecordId> {
        match self.b.types.kind(ty) {
            TypeKind::Record(r) => Some(*r),
            _ => None,
        }
    }
}

fn qualify(quals: &mut Quals, word: &str) {
    match word {
        "const" => quals.is_const = true,
        "volatile" => quals.is_volatile = true,
        "restrict" | "__restrict" | "__restrict__" => quals.is_restrict = true,
        "_Atomic" => quals.is_atomic = true,
        _ => {}
    }
}
