//! Type specifiers: words, records, enumerations.

use std::sync::Arc;

use term::{Field, FloatKind, IntKind, Record, RejectKind, TypeId, TypeKind};
use tree_sitter::Node;

use crate::c::asks::Asked;
use crate::c::decl::Place;
use crate::c::env::{Export, Exported, ExportedTag};
use crate::c::fields::part_of;
use crate::c::placing::OfDeclarator;
use crate::c::{Entity, Lower, Tag, MAX_DEPTH};

impl Lower<'_> {
    pub(super) fn base_type(&mut self, node: Node<'_>) -> TypeId {
        match node.kind() {
            "primitive_type" | "type_identifier" => {
                let name = self.text(node);
                self.type_by_name(name)
            }
            "sized_type_specifier" => self.sized(node),
            "struct_specifier" => self.record(node, false),
            "union_specifier" => self.record(node, true),
            "enum_specifier" => self.enumeration(node),
            "macro_type_specifier" if is_typeof(part_of(node, "name").map_or("", |n| self.text(n))) => {
                self.type_of(node)
            }
            _ => {
                let text: Arc<str> = self.text(node).into();
                self.b.types.plain(TypeKind::Opaque(text))
            }
        }
    }

    /// `typeof(T)`, `typeof(name)`; other expressions are not looked at, nor evaluated.
    fn type_of(&mut self, node: Node<'_>) -> TypeId {
        let unknown: Arc<str> = self.text(node).into();
        let Some(inner) = part_of(node, "type") else { return self.b.types.plain(TypeKind::Opaque(unknown)) };
        let named = part_of(inner, "type").filter(|t| t.kind() == "type_identifier");
        match named.and_then(|t| self.lookup(self.text(t))) {
            Some(Entity::Symbol(s)) if inner.named_child_count() == 1 => self.b.symbols[s].ty,
            Some(Entity::Symbol(_) | Entity::Enumerator(..) | Entity::Unknown(..)) => {
                self.b.types.plain(TypeKind::Opaque(unknown))
            }
            // Sizes in it are evaluated with the declaration.
            _ => self.type_name(inner),
        }
    }

    /// `unsigned long long int` in any order.
    pub(super) fn sized(&mut self, node: Node<'_>) -> TypeId {
        let (mut unsigned, mut signed, mut long, mut short) = (0, 0, 0, 0);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "unsigned" => unsigned += 1,
                "signed" => signed += 1,
                "long" => long += 1,
                "short" => short += 1,
                _ => {}
            }
        }
        let base = part_of(node, "type").map(|t| self.text(t));
        use IntKind::*;
        let pick = |s: IntKind, u: IntKind| if unsigned > 0 { u } else { s };
        let kind = match (base, long, short) {
            _ if unsigned + signed > 1 => None,
            (Some("char"), 0, 0) => Some(if unsigned > 0 { UChar } else { SChar }),
            (None | Some("int"), 0, 0) => Some(pick(Int, UInt)),
            (None | Some("int"), 0, 1) => Some(pick(Short, UShort)),
            (None | Some("int"), 1, 0) => Some(pick(Long, ULong)),
            (None | Some("int"), 2, 0) => Some(pick(LongLong, ULongLong)),
            (Some("double"), 1, 0) if unsigned + signed == 0 => return self.b.types.float(FloatKind::Long),
            _ => None,
        };
        match kind {
            Some(k) => self.b.types.int(k),
            None => {
                let text: Arc<str> = self.r.text.get(node.byte_range()).unwrap_or("").into();
                self.b.types.plain(TypeKind::Opaque(text))
            }
        }
    }

    pub(super) fn record(&mut self, node: Node<'_>, is_union: bool) -> TypeId {
        let name: Option<Arc<str>> = part_of(node, "name").map(|n| self.text(n).into());
        let body = part_of(node, "body");
        let known = match &name {
            None => None,
            // A definition in an inner scope is another record, unless it completes one of that scope.
            Some(n) if body.is_some() => self.scope().tags.get(n).copied(),
            Some(n) => self.tag(n),
        };
        let id = match known {
            Some(Tag::Record(r)) => r,
            Some(Tag::Enum(_)) => return self.unknown(),
            None => {
                let record_name: Arc<str> = match &name {
                    Some(n) => n.clone(),
                    None => {
                        self.anonymous += 1;
                        format!("<anonymous {:x}.{}>", self.salt, self.anonymous).into()
                    }
                };
                let id = self.b.types.add_record(Record::new(record_name.clone(), is_union));
                if self.file_scope() {
                    self.records.insert(record_name.clone(), id);
                    self.exports
                        .push(Export { name: record_name, what: Exported::Tag(ExportedTag::Record(id)) });
                }
                if let Some(n) = &name {
                    self.name_tag(n.clone(), Tag::Record(id));
                }
                id
            }
        };
        if let Some(body) = body {
            self.depth += 1;
            let (mut placing, packed) = self.record_placing(node, body);
            let fields = match body.has_error() || self.depth > MAX_DEPTH {
                true => None,
                false => self.fields(body, packed, &mut placing.unknown),
            };
            self.depth -= 1;
            match fields {
                Some(f) if self.b.types.record(id).fields.is_none() => {
                    // C has structs of no bytes, C++ has not.
                    placing.unknown |= f.is_empty() && self.dialect.cpp;
                    self.b.types.complete_record(id, f, placing);
                }
                Some(_) => {}
                None => {
                    let reason = "the members of this type are not all understood";
                    let gap = self.reject(RejectKind::Unsupported, reason, body, vec![]);
                    self.pending.push(gap);
                }
            }
        }
        self.b.types.plain(TypeKind::Record(id))
    }

    /// The members between a record's braces; `unknown` is set where something is asked of their places that is not
    /// followed.
    fn fields(&mut self, body: Node<'_>, packed: bool, unknown: &mut bool) -> Option<Vec<Field>> {
        let mut out: Vec<Field> = Vec::new();
        let mut cursor = body.walk();
        for declaration in body.named_children(&mut cursor) {
            if declaration.kind() != "field_declaration" {
                return None;
            }
            let spec = self.specifiers(declaration);
            let mut c = declaration.walk();
            let is_part = |n: &Node<'_>| {
                n.kind() == "bitfield_clause"
                    || n.kind() == "field_identifier"
                    || n.kind().ends_with("declarator")
            };
            let parts: Vec<Node<'_>> = declaration.named_children(&mut c).filter(is_part).collect();
            let common = match parts.first() {
                Some(first) => self.specifier_asks(declaration, *first),
                None => self.specifier_asks(declaration, declaration),
            };
            let mut k = 0;
            while let Some(&part) = parts.get(k) {
                let is_first = k == 0;
                k += 1;
                let d = self.declarator(part, spec.ty, Place::Plain);
                if d.odd {
                    return None;
                }
                let mut field = Field::new(self.text(d.name?), d.ty);
                let clause = parts.get(k).copied().filter(|p| p.kind() == "bitfield_clause");
                k += usize::from(clause.is_some());
                if let Some(clause) = clause {
                    let width = self.expr(clause.named_child(0)?);
                    field.bits = Some(u32::try_from(self.value(width)?).ok()?);
                }
                field.placing.packed = packed;
                let own = self.declarator_asks(part, clause.unwrap_or(part), is_first);
                let of_type = match self.is_array_of(field.ty, spec.ty) {
                    true => spec.align,
                    false => Asked::Nothing,
                };
                *unknown |= !self.place_field(&mut field, of_type, &common, &own);
                out.push(field);
            }
            // An anonymous member. A tag makes it a mere declaration, which has no place.
            let of = part_of(declaration, "type");
            let is_member = of.is_some_and(|t| {
                part_of(t, "name").is_none() && matches!(t.kind(), "struct_specifier" | "union_specifier")
            });
            if parts.is_empty() && is_member {
                let mut field = Field::new("", spec.ty);
                field.placing.packed = packed;
                *unknown |= !self.place_field(&mut field, spec.align, &common, &OfDeclarator::default());
                out.push(field);
            }
        }
        Some(out)
    }

    /// Gives a tag its meaning in this scope. In C++ it names the type by itself, and hides what is declared outside under the same name
    /// (C++17 6.3.10p2).
    fn name_tag(&mut self, name: Arc<str>, tag: Tag) {
        if self.env.is_cpp() && !self.file_scope() && !self.scope().names.contains_key(&name) {
            let ty = match tag {
                Tag::Record(id) => self.b.types.plain(TypeKind::Record(id)),
                Tag::Enum(ty) => ty,
            };
            self.scope().names.insert(name.clone(), Entity::Typedef(ty, Asked::Nothing));
        }
        self.scope().tags.insert(name, tag);
    }

    pub(super) fn enumeration(&mut self, node: Node<'_>) -> TypeId {
        let name: Option<Arc<str>> = part_of(node, "name").map(|n| self.text(n).into());
        let Some(body) = part_of(node, "body") else {
            return match name.as_deref().and_then(|n| self.tag(n)) {
                Some(Tag::Enum(t)) => t,
                _ => self.unknown(),
            };
        };
        let attributes = self.type_asks(node, body);
        let mut next: Option<(i128, IntKind)> = Some((0, IntKind::Int));
        let (mut least, mut most) = (0, 0);
        let mut understood = true;
        let mut wide: Vec<(Arc<str>, i128)> = Vec::new();
        let mut cursor = body.walk();
        for e in body.named_children(&mut cursor) {
            let Some(n) = part_of(e, "name") else {
                understood &= e.kind() == "comment";
                next = None;
                continue;
            };
            let enumerator: Arc<str> = self.text(n).into();
            if let Some(v) = part_of(e, "value") {
                let v = self.expr(v);
                let kind = self.b.types.as_int(self.ty(v)).unwrap_or(IntKind::Int);
                next = self.value(v).map(|v| (v, kind));
            }
            let fits = |v: i128| v >= IntKind::Int.min() && v <= IntKind::Int.max();
            let (entity, what) = match next {
                Some((v, kind)) => {
                    (least, most) = (least.min(v), most.max(v));
                    // Until the closing brace a large one has the type of its own expression.
                    let kind = if fits(v) { IntKind::Int } else { kind };
                    if !fits(v) || self.env.is_cpp() {
                        wide.push((enumerator.clone(), v));
                    }
                    let ty = self.b.types.int(kind);
                    (Entity::Enumerator(v, ty), Exported::Enumerator(v, kind))
                }
                None => {
                    understood = false;
                    let reason: Arc<str> = format!("the value of `{enumerator}` was not understood").into();
                    let kind = RejectKind::Unsupported;
                    (Entity::Unknown(kind, reason.clone()), Exported::Unknown(kind, reason))
                }
            };
            if self.file_scope() {
                self.exports.push(Export { name: enumerator.clone(), what });
            }
            self.scope().names.insert(enumerator, entity);
            // One more than the largest value of its type is no value.
            next = next.filter(|&(v, kind)| v < IntKind::max(kind)).map(|(v, kind)| (v + 1, kind));
        }
        let underlying = part_of(node, "underlying_type").map(|t| self.base_type(t));
        let kind = match underlying {
            Some(t) => self.b.types.as_int(t),
            None => self.enum_kind(least, most, attributes.has("packed")),
        };
        let alignment = attributes.aligned() != Asked::Nothing || attributes.is_odd_layout();
        let Some(kind) = kind.filter(|_| understood && !alignment) else {
            let text: Arc<str> = format!("enum {}", name.as_deref().unwrap_or("")).into();
            return self.odd_enum(name, wide, text);
        };
        // Those that no `int` holds have the enumeration's own type; in C++ all of them.
        for (enumerator, v) in wide {
            let ty = self.b.types.int(kind);
            if self.file_scope() {
                self.exports.push(Export { name: enumerator.clone(), what: Exported::Enumerator(v, kind) });
            }
            self.scope().names.insert(enumerator, Entity::Enumerator(v, ty));
        }
        let ty = self.b.types.int(kind);
        if let Some(n) = name {
            if self.file_scope() {
                self.exports.push(Export { name: n.clone(), what: Exported::Tag(ExportedTag::Enum(kind)) });
            }
            self.name_tag(n, Tag::Enum(ty));
        }
        ty
    }

    /// An enumeration whose type is not known: values that an `int` holds are known all the same.
    fn odd_enum(&mut self, name: Option<Arc<str>>, wide: Vec<(Arc<str>, i128)>, text: Arc<str>) -> TypeId {
        let kind = RejectKind::Unsupported;
        let reason: Arc<str> = "the type of this enumeration is not known".into();
        for (enumerator, _) in wide {
            if self.file_scope() {
                let what = Exported::Unknown(kind, reason.clone());
                self.exports.push(Export { name: enumerator.clone(), what });
            }
            self.scope().names.insert(enumerator, Entity::Unknown(kind, reason.clone()));
        }
        let ty = self.b.types.plain(TypeKind::Opaque(text));
        if let Some(n) = name {
            self.name_tag(n, Tag::Enum(ty));
        }
        ty
    }
}

fn is_typeof(word: &str) -> bool {
    matches!(word, "typeof" | "__typeof__" | "__typeof" | "typeof_unqual")
}
