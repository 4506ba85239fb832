//! Parameters: of prototypes, of definitions, of definitions in the style before C89.

use std::sync::Arc;

use term::{IntKind, Op, Quals, RejectKind, Storage, Symbol, TermId, Type, TypeId, TypeKind};
use tree_sitter::Node;

use crate::c::decl::Place;
use crate::c::fields::part_of;
use crate::c::{Entity, Lower, MAX_DEPTH};

/// The parameters of a definition.
pub(super) struct Parameters {
    pub types: Vec<TypeId>,
    pub variadic: bool,
    /// A `List` of `Declare`.
    pub list: TermId,
}

struct Parameter<'t> {
    name: Option<Node<'t>>,
    node: Node<'t>,
    ty: TypeId,
    variadic: bool,
    odd: bool,
}

impl Lower<'_> {
    /// Whether a parameter that reads as a function has parameters that are no types we know.
    fn strange_function(&self, ty: TypeId) -> bool {
        let Some(TypeKind::Function { params, .. }) = self.b.types.element(ty).map(|f| self.b.types.kind(f))
        else {
            return true;
        };
        params.iter().any(|&p| matches!(self.b.types.kind(p), TypeKind::Opaque(_)))
    }

    /// C11 6.7.6.3p7, p8.
    pub(super) fn adjusted(&mut self, ty: TypeId, outer: Option<(bool, Quals)>) -> TypeId {
        match self.b.types.kind(ty).clone() {
            TypeKind::Array { of, len } => {
                let (is_static, quals) = outer.unwrap_or_default();
                self.b
                    .types
                    .intern(Type { kind: TypeKind::Pointer { to: of, declared: len, is_static }, quals })
            }
            TypeKind::Function { .. } => self.b.types.pointer(ty),
            _ => ty,
        }
    }

    /// Types of a parameter list: (types, variadic or unspecified, not all understood). Names live in a scope of their own.
    pub(super) fn parameter_types(&mut self, list: Node<'_>) -> (Vec<TypeId>, bool, bool) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.depth -= 1;
            return (Vec::new(), true, true);
        }
        self.scopes.push(Default::default());
        let around = std::mem::take(&mut self.pending);
        let found = self.parameter_list(list, true);
        // Sizes in a prototype are never evaluated (C11 6.7.6.2p5).
        self.pending = around;
        self.scopes.pop();
        self.depth -= 1;
        let odd = found.iter().any(|p| p.odd);
        let variadic =
            found.iter().any(|p| p.variadic) || (found.is_empty() && list.named_child_count() == 0);
        (found.iter().filter(|p| !p.variadic).map(|p| p.ty).collect(), variadic, odd)
    }

    fn parameter_list<'t>(&mut self, list: Node<'t>, prototype: bool) -> Vec<Parameter<'t>> {
        let mut out: Vec<Parameter<'t>> = Vec::new();
        let mut cursor = list.walk();
        let children: Vec<Node<'t>> = list.named_children(&mut cursor).collect();
        let alone = children.len() == 1;
        for child in children {
            let mut p =
                Parameter { name: None, node: child, ty: self.unknown(), variadic: false, odd: false };
            match child.kind() {
                "variadic_parameter" => p.variadic = true,
                "parameter_declaration" => {
                    let spec = self.specifiers(child);
                    match part_of(child, "declarator") {
                        None => {
                            if alone && matches!(self.b.types.kind(spec.ty), TypeKind::Void) {
                                return out;
                            }
                            p.ty = self.adjusted(spec.ty, None);
                        }
                        Some(d) => {
                            // `double POLYBENCH_2D(A,N,M,n,m)` reads as a function; no one writes such a parameter.
                            let bare_function = d.kind() == "function_declarator"
                                && part_of(d, "declarator").is_some_and(|i| i.kind() == "identifier");
                            let made = self.declarator(d, spec.ty, Place::Parameter);
                            p.name = made.name;
                            p.ty = made.ty;
                            p.odd = made.odd || spec.not_a_type;
                            p.odd |= bare_function && self.strange_function(p.ty);
                        }
                    }
                    if p.odd {
                        let text: Arc<str> = self.r.text.get(child.byte_range()).unwrap_or("").into();
                        p.ty = self.b.types.plain(TypeKind::Opaque(text));
                        let reason = "this parameter's declaration is not understood";
                        let gap = self.reject(RejectKind::Macro, reason, child, vec![]);
                        self.pending.push(gap);
                    }
                }
                _ => p.odd = true,
            }
            if let Some(n) = p.name {
                // Later parameters may use it: `double a[n][m]`.
                if prototype {
                    // A mere declarator's parameters have no life beyond it and need no symbols.
                    let name: Arc<str> = self.text(n).into();
                    let reason = format!("`{name}` is a parameter of another function");
                    let entity = Entity::Unknown(RejectKind::Unsupported, reason.into());
                    self.scope().names.insert(name, entity);
                } else {
                    self.declare(n, p.ty, Storage::Param(out.len() as u32));
                }
            }
            out.push(p);
        }
        out
    }

    /// The parameters of a definition in the style before C89: names, then their declarations (C11 6.9.1p6). `None`: not
    /// understood.
    pub(super) fn old_parameters(&mut self, list: Node<'_>, function: Node<'_>) -> Option<Parameters> {
        let mut cursor = list.walk();
        let names: Option<Vec<Node<'_>>> =
            list.named_children(&mut cursor).map(|n| self.old_name(n)).collect();
        let names = names?;
        let int = self.b.types.int(IntKind::Int);
        let mut types = vec![int; names.len()];
        let mut cursor = function.walk();
        for declaration in function.children(&mut cursor).filter(|c| c.kind() == "declaration") {
            let spec = self.specifiers(declaration);
            let mut c = declaration.walk();
            for d in declaration.children_by_field_name("declarator", &mut c) {
                let made = self.declarator(d, spec.ty, Place::Parameter);
                let name = made.name.filter(|_| !made.odd && !spec.not_a_type)?;
                let k = names.iter().position(|n| self.text(*n) == self.text(name))?;
                types[k] = made.ty;
            }
        }
        let mut items = Vec::new();
        for (k, (name, &ty)) in names.iter().zip(&types).enumerate() {
            let symbol = self.declare(*name, ty, Storage::Param(k as u32));
            items.push(self.statement(Op::Declare(symbol), [], *name));
        }
        Some(Parameters { types, variadic: false, list: self.statement(Op::List, items, list) })
    }

    /// The name that is all of a parameter in the style before C89. Alone the parser takes it for a type's.
    pub(super) fn old_name<'t>(&mut self, node: Node<'t>) -> Option<Node<'t>> {
        if node.kind() == "identifier" {
            return Some(node);
        }
        let t = part_of(node, "type")
            .filter(|t| t.kind() == "type_identifier" && node.named_child_count() == 1)?;
        let name = self.text(t);
        let unknown = self.lookup(name).is_none() && self.known_type(name).is_none();
        (unknown && !self.dialect.cpp && !crate::c::looks_like_macro(name)).then_some(t)
    }

    /// The parameters of a definition, as a list of declarations in the current scope.
    pub(super) fn parameters(&mut self, list: Node<'_>) -> Parameters {
        let found = self.parameter_list(list, false);
        let mut items = Vec::new();
        for p in &found {
            if p.variadic {
                continue;
            }
            let symbol = match p.name.map(|n| self.text(n)).and_then(|n| self.scope().names.get(n).cloned()) {
                Some(Entity::Symbol(s)) => s,
                _ => self.b.symbols.push(Symbol {
                    name: "".into(),
                    ty: p.ty,
                    storage: Storage::Param(items.len() as u32),
                    device: None,
                    address_taken: false,
                    span: None,
                }),
            };
            items.push(self.statement(Op::Declare(symbol), [], p.node));
        }
        Parameters {
            types: found.iter().filter(|p| !p.variadic).map(|p| p.ty).collect(),
            variadic: found.iter().any(|p| p.variadic),
            list: self.statement(Op::List, items, list),
        }
    }
}
