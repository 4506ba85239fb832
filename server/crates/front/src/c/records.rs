//! Type specifiers: words, records, enumerations.

use std::sync::Arc;

use term::{Field, FloatKind, IntKind, Record, RejectKind, TypeId, TypeKind};
use tree_sitter::Node;

use crate::c::decl::Place;
use crate::c::env::{Export, Exported, ExportedTag};
use crate::c::fields::part_of;
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
                let id =
                    self.b.types.add_record(Record { name: record_name.clone(), is_union, fields: None });
                if self.file_scope() {
                    self.records.insert(record_name.clone(), id);
                    self.exports
                        .push(Export { name: record_name, what: Exported::Tag(ExportedTag::Record(id)) });
                }
                if let Some(n) = &name {
                    self.scope().tags.insert(n.clone(), Tag::Record(id));
                }
                id
            }
        };
        if let Some(body) = body {
            self.depth += 1;
            let fields = if body.has_error() || self.depth > MAX_DEPTH { None } else { self.fields(body) };
            self.depth -= 1;
            match fields {
                Some(f) if self.b.types.record(id).fields.is_none() => self.b.types.complete_record(id, f),
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

    pub(super) fn fields(&mut self, body: Node<'_>) -> Option<Vec<Field>> {
        let mut out: Vec<Field> = Vec::new();
        let mut cursor = body.walk();
        for declaration in body.named_children(&mut cursor) {
            if declaration.kind() != "field_declaration" {
                return None;
            }
            let spec = self.specifiers(declaration);
            let mut c = declaration.walk();
            let mut any = false;
            for child in declaration.named_children(&mut c) {
                if child.kind() == "bitfield_clause" {
                    let width = child.named_child(0)?;
                    let width = self.expr(width);
                    let bits = u32::try_from(self.value(width)?).ok()?;
                    if any {
                        out.last_mut()?.bits = Some(bits);
                    } else {
                        // An unnamed bit-field: padding.
                        out.push(Field { name: "".into(), ty: spec.ty, bits: Some(bits) });
                        any = true;
                    }
                } else if child.kind().ends_with("declarator") || child.kind() == "field_identifier" {
                    let d = self.declarator(child, spec.ty, Place::Plain);
                    if d.odd {
                        return None;
                    }
                    out.push(Field { name: self.text(d.name?).into(), ty: d.ty, bits: None });
                    any = true;
                }
            }
            if !any && matches!(self.b.types.kind(spec.ty), TypeKind::Record(_)) {
                out.push(Field { name: "".into(), ty: spec.ty, bits: None });
            }
        }
        Some(out)
    }

    pub(super) fn enumeration(&mut self, node: Node<'_>) -> TypeId {
        let name: Option<Arc<str>> = part_of(node, "name").map(|n| self.text(n).into());
        let Some(body) = part_of(node, "body") else {
            return match name.as_deref().and_then(|n| self.tag(n)) {
                Some(Tag::Enum(t)) => t,
                _ => self.unknown(),
            };
        };
        let mut next: Option<i128> = Some(0);
        let mut negative = false;
        let mut wide = false;
        let mut cursor = body.walk();
        for e in body.named_children(&mut cursor) {
            let Some(n) = part_of(e, "name") else {
                next = None;
                continue;
            };
            let enumerator: Arc<str> = self.text(n).into();
            if let Some(v) = part_of(e, "value") {
                let v = self.expr(v);
                next = self.value(v);
            }
            let (entity, what) = match next {
                Some(v) => {
                    negative |= v < 0;
                    let kind = if v >= IntKind::Int.min() && v <= IntKind::Int.max() {
                        IntKind::Int
                    } else {
                        wide = true;
                        IntKind::Long
                    };
                    let ty = self.b.types.int(kind);
                    (Entity::Enumerator(v, ty), Exported::Enumerator(v, kind))
                }
                None => {
                    let reason: Arc<str> = format!("the value of `{enumerator}` was not understood").into();
                    let kind = RejectKind::Unsupported;
                    (Entity::Unknown(kind, reason.clone()), Exported::Unknown(kind, reason))
                }
            };
            if self.file_scope() {
                self.exports.push(Export { name: enumerator.clone(), what });
            }
            self.scope().names.insert(enumerator, entity);
            next = next.and_then(|v| v.checked_add(1));
        }
        // What gcc and clang choose (C11 6.7.2.2p4 leaves it to them).
        let kind = match (wide, negative) {
            (true, _) => IntKind::Long,
            (_, true) => IntKind::Int,
            _ => IntKind::UInt,
        };
        let ty = self.b.types.int(kind);
        if let Some(n) = name {
            if self.file_scope() {
                self.exports.push(Export { name: n.clone(), what: Exported::Tag(ExportedTag::Enum(kind)) });
            }
            self.scope().tags.insert(n, Tag::Enum(ty));
        }
        ty
    }
}

fn is_typeof(word: &str) -> bool {
    matches!(word, "typeof" | "__typeof__" | "__typeof" | "typeof_unqual")
}
