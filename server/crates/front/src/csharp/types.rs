//! Types as C# has them, and as terms have them.

use std::sync::Arc;

use term::{FloatKind, IntKind, Len, Op, Record, SymbolId, TypeId, TypeKind};
use tree_sitter::Node;

use super::member::Lower;
use super::read::children;

/// A type of C#.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Ty {
    Void,
    /// `char` is an unsigned number of 16 bits, `bool` is [`IntKind::Bool`].
    Int(IntKind),
    Float(FloatKind),
    /// Of so many dimensions; `a[][]` is an array of arrays.
    Array(Arc<Ty>, usize),
    /// `Span<T>`, `ReadOnlySpan<T>`.
    Span(Arc<Ty>),
    /// A type that the document declares.
    Class(Arc<str>),
    Struct(Arc<str>),
    Null,
    /// Any other, by its text.
    Unknown(Arc<str>),
}

impl Ty {
    pub(super) fn unknown() -> Ty {
        Ty::Unknown("?".into())
    }
    pub(super) const BOOL: Ty = Ty::Int(IntKind::Bool);
    pub(super) const INT: Ty = Ty::Int(IntKind::Int);

    /// `bool` is none.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Ty::Float(_)) || self.as_int().is_some()
    }
    pub(super) fn as_int(&self) -> Option<IntKind> {
        match self {
            Ty::Int(k) if *k != IntKind::Bool => Some(*k),
            _ => None,
        }
    }
    /// Of what is subscripted: what its elements are, and the number of subscripts.
    pub(super) fn elements(&self) -> Option<(&Arc<Ty>, usize)> {
        match self {
            Ty::Array(of, rank) => Some((of, *rank)),
            Ty::Span(of) => Some((of, 1)),
            _ => None,
        }
    }
}

/// The built-in numeric types by name.
pub(super) fn predefined(name: &str) -> Option<Ty> {
    Some(match name {
        "void" => Ty::Void,
        "bool" | "Boolean" => Ty::BOOL,
        "sbyte" | "SByte" => Ty::Int(IntKind::SChar),
        "byte" | "Byte" => Ty::Int(IntKind::UChar),
        "short" | "Int16" => Ty::Int(IntKind::Short),
        "ushort" | "UInt16" | "char" | "Char" => Ty::Int(IntKind::UShort),
        "int" | "Int32" => Ty::INT,
        "uint" | "UInt32" => Ty::Int(IntKind::UInt),
        "long" | "Int64" => Ty::Int(IntKind::LongLong),
        "ulong" | "UInt64" => Ty::Int(IntKind::ULongLong),
        "float" | "Single" => Ty::Float(FloatKind::F32),
        "double" | "Double" => Ty::Float(FloatKind::F64),
        _ => return None,
    })
}

impl Lower<'_> {
    /// The type that a node writes.
    pub(super) fn type_of(&self, node: Node<'_>) -> Ty {
        let unknown = || Ty::Unknown(self.text(node).into());
        match node.kind() {
            "predefined_type" => predefined(self.text(node)).unwrap_or_else(unknown),
            "identifier" => self.named_type(self.text(node)),
            "qualified_name" => match self.text(node).strip_prefix("System.").and_then(predefined) {
                Some(ty) => ty,
                None => unknown(),
            },
            "array_type" => {
                // `float[][,]` is an array of rectangles: the first brackets are the outermost
                let mut ranks = Vec::new();
                let mut at = node;
                while at.kind() == "array_type" {
                    let Some(rank) = at.child_by_field_name("rank") else { return unknown() };
                    let commas = self.text(rank).matches(',').count();
                    ranks.push(commas + 1);
                    let Some(inner) = at.child_by_field_name("type") else { return unknown() };
                    at = inner;
                }
                let innermost = self.type_of(at);
                // the node that is outermost in the tree has the last brackets of the text
                ranks.iter().fold(innermost, |of, rank| Ty::Array(Arc::new(of), *rank))
            }
            "generic_name" => {
                let parts = children(node);
                let name = parts.first().map_or("", |n| self.text(*n));
                let list = parts.get(1).map(|l| children(*l)).unwrap_or_default();
                match (name, list.as_slice()) {
                    ("Span" | "ReadOnlySpan", [of]) if !self.outline.types.contains_key(name) => {
                        Ty::Span(Arc::new(self.type_of(*of)))
                    }
                    _ => unknown(),
                }
            }
            "scoped_type" => node.child_by_field_name("type").map_or_else(unknown, |t| self.type_of(t)),
            _ => unknown(),
        }
    }

    /// The type of this text, as a field or parameter has it elsewhere in the document.
    pub(super) fn type_of_text(&self, text: &str) -> Ty {
        let text = text.trim();
        if let Some(before) = text.strip_suffix(']') {
            let Some((of, rank)) = before.rsplit_once('[') else { return Ty::Unknown(text.into()) };
            // what stands first is outermost: take the first brackets off
            let Some(open) = text.find('[') else { return Ty::Unknown(text.into()) };
            let close = text.find(']').unwrap_or(text.len());
            let (element, outer) = (&text[..open], &text[open + 1..close.max(open + 1)]);
            let rest = text.get(close + 1..).unwrap_or("");
            let plain = |r: &str| r.chars().all(|c| c == ',' || c == ' ');
            if !plain(outer) || !plain(rank) || of.is_empty() || element.contains('<') {
                return Ty::Unknown(text.into());
            }
            let inner = self.type_of_text(&format!("{element}{rest}"));
            return Ty::Array(Arc::new(inner), outer.matches(',').count() + 1);
        }
        for name in ["Span<", "ReadOnlySpan<"] {
            let inner = text.strip_prefix(name).and_then(|t| t.strip_suffix('>'));
            if let Some(inner) = inner.filter(|_| !self.outline.types.contains_key(&name[..name.len() - 1])) {
                return Ty::Span(Arc::new(self.type_of_text(inner)));
            }
        }
        self.named_type(text)
    }

    fn named_type(&self, name: &str) -> Ty {
        if self.type_parameters.iter().any(|p| **p == *name) {
            return Ty::Unknown(name.into());
        }
        if let Some((known, ty)) = self.outline.types.get_key_value(name) {
            let certain = !self.outline.uncertain.contains(known) && ty.parameters.is_empty();
            return match ty.kind {
                "class" if certain => Ty::Class(known.clone()),
                "struct" if certain => Ty::Struct(known.clone()),
                _ => Ty::Unknown(name.into()),
            };
        }
        predefined(name).unwrap_or_else(|| Ty::Unknown(name.into()))
    }

    /// The type of the value that stands for one of this type; lengths of rectangular arrays are not in it.
    pub(super) fn repr(&mut self, ty: &Ty) -> TypeId {
        match ty {
            Ty::Void => self.b.types.void(),
            Ty::Int(k) => self.b.types.int(*k),
            Ty::Float(k) => self.b.types.float(*k),
            Ty::Array(of, 1) | Ty::Span(of) => {
                let of = self.repr(of);
                self.b.types.pointer(of)
            }
            Ty::Class(name) => {
                let record = self.record_type(name);
                self.b.types.pointer(record)
            }
            Ty::Struct(name) => self.record_type(name),
            Ty::Array(..) => self.opaque("an array of several dimensions"),
            Ty::Null => self.opaque("null"),
            Ty::Unknown(text) => self.opaque(text),
        }
    }

    pub(super) fn opaque(&mut self, text: &str) -> TypeId {
        self.b.types.plain(TypeKind::Opaque(text.into()))
    }

    /// The type of a variable whose dimensions are these variables.
    pub(super) fn repr_with(&mut self, ty: &Ty, lengths: &[SymbolId]) -> TypeId {
        let (of, rank) = match ty {
            Ty::Array(of, rank) if *rank > 1 && lengths.len() == *rank => (of, *rank),
            _ => return self.repr(ty),
        };
        let mut inner = self.repr(of);
        for &length in lengths[1..rank].iter().rev() {
            let int = self.b.types.int(IntKind::Int);
            let term = self.b.term_from(Op::Sym(length), [], int, self.here, term::Origin::Made);
            inner = self.b.types.plain(TypeKind::Array { of: inner, len: Len::Term(term) });
        }
        self.b.types.pointer(inner)
    }

    /// The record of a class or struct: its fields, in their order.
    fn record_type(&mut self, name: &Arc<str>) -> TypeId {
        if let Some(&ty) = self.records.get(name) {
            return ty;
        }
        let id = self.b.types.add_record(Record::new(name.clone(), false));
        let ty = self.b.types.plain(TypeKind::Record(id));
        self.records.insert(name.clone(), ty);
        let outline = self.outline;
        let Some(known) = outline.types.get(name) else { return ty };
        let mut fields = Vec::new();
        for f in known.fields.iter().filter(|f| !f.is_static) {
            let of = self.type_of_text(&f.ty);
            let mut of = self.repr(&of);
            if f.is_volatile {
                let quals = term::Quals { is_volatile: true, ..Default::default() };
                of = self.b.types.with_quals(of, quals);
            }
            fields.push(term::Field::new(f.name.clone(), of));
        }
        if known.kind == "struct" && !known.is_laid_out {
            // as one with a truth value, which does not lie in memory as in C
            let of = self.b.types.int(IntKind::Bool);
            fields.push(term::Field::new("…", of));
        }
        self.b.types.complete_record(id, fields, Default::default());
        ty
    }
}
