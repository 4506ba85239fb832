//! What an identifier means: scopes, what other items declare, the standard library.

use std::sync::Arc;

use term::device::{Index, Word};
use term::{
    intrinsic, Body, Field, FloatKind, IntKind, Intrinsic, Len, Op, Origin, Quals, Record, RecordId,
    RecordPlacing, RejectKind, Storage, Symbol, SymbolId, TermId, Type, TypeId, TypeKind,
};
use tree_sitter::Node;

use crate::c::env::{Exported, ExportedTag};
use crate::c::known::{self, KnownConstant, KnownResult, KnownType, VectorOf};
use crate::c::{Entity, Lower, Tag};
use crate::cpp::items::IN_NAMESPACE;

/// Words that are never names.
pub(crate) fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "int"
            | "char"
            | "float"
            | "double"
            | "void"
            | "unsigned"
            | "signed"
            | "long"
            | "short"
            | "bool"
            | "struct"
            | "union"
            | "enum"
            | "static"
            | "extern"
            | "const"
            | "volatile"
            | "restrict"
            | "inline"
            | "typedef"
            | "if"
            | "else"
            | "for"
            | "while"
            | "do"
            | "switch"
            | "case"
            | "default"
            | "break"
            | "continue"
            | "return"
            | "goto"
            | "sizeof"
            | "asm"
            | "__asm__"
            | "auto"
            | "register"
    )
}

/// A name without lower-case letters may be a macro of a header that was not read.
pub(crate) fn looks_like_macro(name: &str) -> bool {
    name.len() > 1
        && name.bytes().any(|c| c.is_ascii_uppercase())
        && !name.bytes().any(|c| c.is_ascii_lowercase())
}

impl Lower<'_> {
    /// The type that the operand of `sizeof` names, where only the scopes tell that it does.
    pub(super) fn named_type(&mut self, sizeof: Node<'_>) -> Option<TypeId> {
        let mut named = self.field(sizeof, "value")?;
        while named.kind() == "parenthesized_expression" {
            named = named.named_child(0)?;
        }
        match self.lookup(self.text(named)).filter(|_| named.kind() == "identifier")? {
            Entity::Typedef(ty, _) => Some(ty),
            _ => None,
        }
    }

    /// What a name means here; taken over from outside on first use.
    pub(super) fn lookup(&mut self, name: &str) -> Option<Entity> {
        for scope in self.scopes.iter().rev() {
            if let Some(e) = scope.names.get(name) {
                return Some(e.clone());
            }
        }
        if let Some(&s) = self.outside.get(name) {
            return Some(Entity::Symbol(s));
        }
        let e = self.env.name(name)?;
        let (body, what) = (e.body.clone(), e.what.clone());
        Some(match what {
            Exported::Typedef(t, align) => Entity::Typedef(self.import(&body, t), align),
            Exported::Enumerator(v, k) => Entity::Enumerator(v, self.b.types.int(k)),
            Exported::Unknown(kind, reason) => Entity::Unknown(kind, reason),
            Exported::SecondName(reason) => Entity::Unknown(RejectKind::Unsupported, reason),
            Exported::Tag(_) => return None,
            Exported::Variable { value: Some(v), ty, .. } if !self.wants_place => {
                let ty = self.import(&body, ty);
                Entity::Enumerator(v, self.rvalue(ty))
            }
            Exported::Variable { ty, defined, internal, constant, .. } => {
                let ty = self.import(&body, ty);
                let storage = Storage::Global { defined_here: defined, internal, constant };
                Entity::Symbol(self.outside_symbol(name, ty, storage))
            }
            // A prototype of `sqrt` only repeats the library's; a definition is another function of that name.
            Exported::Function { ty, library, internal, .. }
                if !internal
                    && !self.env.defines_function(name)
                    && self.is_librarys(name, library, &body.types, ty) =>
            {
                return None;
            }
            Exported::Function { ty, .. } => {
                let ty = self.import(&body, ty);
                Entity::Symbol(self.outside_symbol(name, ty, Storage::Function))
            }
        })
    }

    /// Whether a function declared so is the library's of that name: a header of the library declares it, or the
    /// declaration repeats the library's (C11 7.1.4p2). Of another type it is a function of the program's own.
    pub(super) fn is_librarys(&mut self, name: &str, library: bool, types: &term::Types, ty: TypeId) -> bool {
        let known = intrinsic(name).is_some();
        if library {
            return known || known::function(name, self.dialect).is_some();
        }
        let TypeKind::Function { ret, params, variadic } = types.kind(ty) else { return false };
        let open = params.is_empty();
        let kind = |t: TypeId| types.kind(t).clone();
        let float = |t: TypeId| types.as_float(t);
        let int = |t: TypeId| types.as_int(t);
        let all = |count: usize, is: &dyn Fn(TypeId) -> bool| {
            open || (!variadic && params.len() == count && params.iter().all(|&p| is(p)))
        };
        // `float` for `double` and the like are other functions' types; CUDA has an overload for each.
        let loose = self.dialect.cpp;
        match intrinsic(name) {
            Some(Intrinsic::Float { kind, arity }) => {
                let same = |t| float(t) == Some(kind) || (loose && float(t).is_some());
                same(*ret) && all(arity.into(), &same)
            }
            Some(Intrinsic::Int { kind, arity }) => {
                let same = |t| int(t) == Some(kind) || loose;
                same(*ret) && all(arity.into(), &same)
            }
            Some(Intrinsic::Classify) => int(*ret).is_some(),
            Some(Intrinsic::FloatInt { kind }) => float(*ret) == Some(kind),
            Some(Intrinsic::ToInt { from, to }) => {
                int(*ret) == Some(to) && all(1, &|t| float(t) == Some(from))
            }
            None => {
                let arguments = match name {
                    "malloc" | "free" | "strlen" => 1,
                    "calloc" | "realloc" | "aligned_alloc" => 2,
                    "memcpy" | "memmove" | "memset" | "memcmp" => 3,
                    _ => return false,
                };
                let result = match (known::function(name, self.dialect), kind(*ret)) {
                    (Some(KnownResult::Void), TypeKind::Void) => true,
                    (Some(KnownResult::Int(k)), TypeKind::Int(r)) => k == r,
                    (Some(KnownResult::Pointer), TypeKind::Pointer { to, .. }) => {
                        matches!(types.kind(to), TypeKind::Void)
                    }
                    _ => false,
                };
                result && all(arguments, &|_| true)
            }
        }
    }

    pub(super) fn outside_symbol(&mut self, name: &str, ty: TypeId, storage: Storage) -> SymbolId {
        let id = self.b.symbols.push(Symbol {
            name: name.into(),
            ty,
            storage,
            device: None,
            address_taken: false,
            span: None,
        });
        self.outside.insert(name.into(), id);
        id
    }

    /// The kernel of a namespace that a launch outside of it names, where the file defines one of that name.
    pub(super) fn in_namespace(&mut self, node: Node<'_>) -> Option<TermId> {
        let name: Arc<str> = self.text(node).into();
        let Some(Entity::Unknown(_, reason)) = self.lookup(&name) else { return None };
        if node.kind() != "identifier" || !reason.ends_with(IN_NAMESPACE) || self.env.defines_twice(&name) {
            return None;
        }
        let ty = self.unknown();
        let s = self.outside_symbol(&name, ty, Storage::Undeclared);
        Some(self.symbol_use(s, node))
    }

    /// A use of a name.
    pub(super) fn name(&mut self, node: Node<'_>) -> TermId {
        let name: Arc<str> = self.text(node).into();
        if let Some(gap) = self.gap(&name, node) {
            return gap;
        }
        match self.lookup(&name) {
            Some(Entity::Symbol(s)) => return self.symbol_use(s, node),
            Some(Entity::Enumerator(v, ty)) => {
                let s = self.outside_symbol(&name, ty, Storage::Constant(v));
                // Inner scopes may hide an outer enumerator: keep it out of the table of outside names.
                self.outside.remove(&name);
                return self.symbol_use(s, node);
            }
            Some(Entity::Typedef(..)) => {
                let reason = format!("`{name}` is a type, not a value");
                return self.reject(RejectKind::Unsupported, &reason, node, vec![]);
            }
            Some(Entity::Unknown(kind, reason)) => return self.reject(kind, &reason, node, vec![]),
            None => {}
        }
        if let Some(c) = known::constant(&name) {
            return self.constant(c, node);
        }
        if matches!(&*name, "stdin" | "stdout" | "stderr") {
            let file = self.b.types.plain(TypeKind::Opaque("FILE".into()));
            let ty = self.b.types.pointer(file);
            let storage = Storage::Global { defined_here: false, internal: false, constant: false };
            let s = self.outside_symbol(&name, ty, storage);
            return self.symbol_use(s, node);
        }
        if is_place_name(&name) {
            let of = self.b.types.int(IntKind::Char);
            let of = self.b.types.with_quals(of, Quals { is_const: true, ..Quals::default() });
            let ty = self.b.types.plain(TypeKind::Array { of, len: Len::Unknown });
            let storage = Storage::Global { defined_here: false, internal: false, constant: false };
            let s = self.outside_symbol(&name, ty, storage);
            return self.symbol_use(s, node);
        }
        if let Some(row) = self.dialect.device {
            let ty = match row.word(&name) {
                Some(Word::Index(Index::Thread | Index::Block)) => self.known_type("uint3"),
                Some(Word::Index(Index::BlockSize | Index::GridSize)) => self.known_type("dim3"),
                Some(Word::Lanes) => Some(self.b.types.int(IntKind::Int)),
                _ => None,
            };
            if let Some(ty) = ty {
                let s = self.outside_symbol(&name, ty, Storage::Builtin);
                return self.symbol_use(s, node);
            }
        }
        if let Some(s) = self.library_function(&name, None) {
            return self.symbol_use(s, node);
        }
        let ty = self.unknown();
        let s = self.outside_symbol(&name, ty, Storage::Undeclared);
        self.symbol_use(s, node)
    }

    /// The gap that preprocessing left as this identifier.
    pub(super) fn gap(&mut self, name: &str, node: Node<'_>) -> Option<TermId> {
        let index: usize = name.strip_prefix(crate::c::pp::GAP)?.parse().ok()?;
        let gap = self.gaps.get(index)?.clone();
        if let Some(words) = gap.words.as_deref().and_then(|words| self.symbols_of(words)) {
            return Some(self.reject_symbols(gap.kind, &gap.reason, node, vec![], &words));
        }
        Some(self.reject(gap.kind, &gap.reason, node, vec![]))
    }

    fn symbol_use(&mut self, symbol: SymbolId, node: Node<'_>) -> TermId {
        let ty = self.b.symbols[symbol].ty;
        self.term(Op::Sym(symbol), [], ty, node)
    }

    fn constant(&mut self, c: KnownConstant, node: Node<'_>) -> TermId {
        let (op, ty) = match c {
            KnownConstant::Int(v, k) => (Op::Int(v), self.b.types.int(k)),
            KnownConstant::Float(v, k) => (Op::Float(term::F64::new(v)), self.b.types.float(k)),
        };
        let span = self.span(node);
        self.b.term_from(op, [], ty, span, Origin::Macro)
    }

    /// The symbol of a library function. `arguments`: their types, which choose among CUDA's overloads.
    pub(super) fn library_function(&mut self, name: &str, arguments: Option<&[TypeId]>) -> Option<SymbolId> {
        let types = &mut self.b.types;
        let (ret, params) = match intrinsic(name) {
            Some(Intrinsic::Float { kind, arity }) => {
                // C++ has an overload for float; C has not.
                let narrow = self.dialect.cpp
                    && arguments.is_some_and(|a| {
                        !a.is_empty() && a.iter().all(|&t| types.as_float(t) == Some(FloatKind::F32))
                    });
                let t = types.float(if narrow { FloatKind::F32 } else { kind });
                (t, vec![t; arity as usize])
            }
            Some(Intrinsic::Int { kind, arity }) => {
                let t = types.int(kind);
                if self.dialect.cpp
                    && arguments.is_some_and(|a| a.iter().any(|&t| types.as_float(t).is_some()))
                {
                    return None;
                }
                (t, vec![t; arity as usize])
            }
            Some(Intrinsic::Classify) => {
                let d = types.float(FloatKind::F64);
                (types.int(IntKind::Int), vec![d])
            }
            Some(Intrinsic::FloatInt { kind }) => {
                let t = types.float(kind);
                (t, vec![t, types.int(IntKind::Int)])
            }
            Some(Intrinsic::ToInt { from, to }) => {
                let p = types.float(from);
                (types.int(to), vec![p])
            }
            None => {
                let ret = match known::function(name, self.dialect)? {
                    KnownResult::Void => types.void(),
                    KnownResult::Int(k) => types.int(k),
                    // C++ has the device's functions for float, too
                    KnownResult::Float(_)
                        if self.dialect.device.is_some()
                            && gpu::math::function(name).is_some_and(|f| f.of_single().is_some())
                            && arguments.is_some_and(|a| {
                                a.iter().all(|&t| types.as_float(t) == Some(FloatKind::F32))
                            }) =>
                    {
                        types.float(FloatKind::F32)
                    }
                    KnownResult::Float(k) => types.float(k),
                    KnownResult::Pointer => {
                        let v = types.void();
                        types.pointer(v)
                    }
                    KnownResult::Chars => {
                        let c = types.int(IntKind::Char);
                        types.pointer(c)
                    }
                    KnownResult::OfFirst => {
                        let a = arguments?;
                        let (x, y) = (*a.first()?, *a.get(1)?);
                        types.operation_type(term::BinOp::Add, x, y)?
                    }
                    KnownResult::OfSecond => {
                        let t = *arguments?.get(1)?;
                        types.with_quals(t, Quals::default())
                    }
                    KnownResult::Named(name) => self.known_type(name)?,
                    KnownResult::Unsaid => self.unknown(),
                    KnownResult::OfPointee => {
                        let t = *arguments?.first()?;
                        let t = types.element(t)?;
                        types.with_quals(t, Quals::default())
                    }
                };
                let ty = self.b.types.plain(TypeKind::Function { ret, params: Vec::new(), variadic: true });
                return Some(self.overload(name, ty));
            }
        };
        let ty = types.plain(TypeKind::Function { ret, params, variadic: false });
        Some(self.overload(name, ty))
    }

    /// One symbol per name and type.
    fn overload(&mut self, name: &str, ty: TypeId) -> SymbolId {
        match self.outside.get(name) {
            Some(&s) if self.b.symbols[s].ty == ty => s,
            _ => {
                let found = self
                    .b
                    .symbols
                    .iter_ids()
                    .find(|(_, s)| {
                        &*s.name == name && s.ty == ty && s.storage == Storage::Function && s.span.is_none()
                    })
                    .map(|(id, _)| id);
                match found {
                    Some(s) => s,
                    None => {
                        let s = self.outside_symbol(name, ty, Storage::Function);
                        self.b.library.push(s);
                        if self.dialect.cpp {
                            // The next use may choose another overload.
                            self.outside.remove(name);
                        }
                        s
                    }
                }
            }
        }
    }

    /// A standard type by name.
    pub(super) fn known_type(&mut self, name: &str) -> Option<TypeId> {
        Some(match known::type_name(name, self.dialect)? {
            KnownType::Int(k) => self.b.types.int(k),
            KnownType::Float(k) => self.b.types.float(k),
            KnownType::Void => self.b.types.void(),
            KnownType::Opaque => self.b.types.plain(TypeKind::Opaque(name.into())),
            KnownType::Bytes(n) => self.b.types.opaque_of(name, n.into()),
            KnownType::Vector(of, n) => {
                let element = match of {
                    VectorOf::Int(k) => self.b.types.int(k),
                    VectorOf::Float(k) => self.b.types.float(k),
                };
                let id = match self.records.get(name) {
                    Some(&id) => id,
                    None => {
                        let names = ["x", "y", "z", "w"].iter().take(n as usize);
                        let fields = names.map(|f| Field::new(*f, element)).collect();
                        // CUDA's vectors of two and four are read at once.
                        let whole = self.b.types.size_align(element).map(|x| x.0 * u64::from(n));
                        let align = whole.filter(|_| n != 3 && name != "dim3").map(|s| s.min(16));
                        let placing = RecordPlacing { align, ..RecordPlacing::default() };
                        let id = self.b.types.add_record(Record::new(name, false));
                        self.b.types.complete_record(id, fields, placing);
                        self.records.insert(name.into(), id);
                        id
                    }
                };
                self.b.types.plain(TypeKind::Record(id))
            }
        })
    }

    /// The type a type name stands for, or an opaque one.
    pub(super) fn type_by_name(&mut self, name: &str) -> TypeId {
        match self.lookup(name) {
            Some(Entity::Typedef(t, _)) => return t,
            Some(_) => {}
            None => {
                if let Some(t) = self.known_type(name) {
                    return t;
                }
                // in C++ a tag is a type's name
                if self.dialect.cpp {
                    match self.tag(name) {
                        Some(Tag::Record(r)) => return self.b.types.plain(TypeKind::Record(r)),
                        Some(Tag::Enum(t)) => return t,
                        None => {}
                    }
                }
            }
        }
        self.b.types.plain(TypeKind::Opaque(name.into()))
    }

    /// What a tag names here.
    pub(super) fn tag(&mut self, name: &str) -> Option<Tag> {
        for scope in self.scopes.iter().rev() {
            if let Some(t) = scope.tags.get(name) {
                return Some(*t);
            }
        }
        let e = self.env.tag(name)?;
        let body = e.body.clone();
        match e.what {
            Exported::Tag(ExportedTag::Record(r)) => Some(Tag::Record(self.import_record(&body, r))),
            Exported::Tag(ExportedTag::Enum(k)) => Some(Tag::Enum(self.b.types.int(k))),
            _ => None,
        }
    }

    /// A type of another body as one of ours. Lengths that are terms there are unknown here.
    pub(super) fn import(&mut self, body: &Arc<Body>, ty: TypeId) -> TypeId {
        let key = (Arc::as_ptr(body) as usize, ty);
        if let Some(&t) = self.imported.get(&key) {
            return t;
        }
        let Type { kind, quals } = body.types.get(ty).clone();
        let len = |l: Len| match l {
            Len::Term(_) => Len::Unknown,
            l => l,
        };
        let kind = match kind {
            TypeKind::Pointer { to, declared, is_static } => {
                TypeKind::Pointer { to: self.import(body, to), declared: len(declared), is_static }
            }
            TypeKind::Array { of, len: l } => TypeKind::Array { of: self.import(body, of), len: len(l) },
            TypeKind::Record(r) => TypeKind::Record(self.import_record(body, r)),
            TypeKind::Function { ret, params, variadic } => TypeKind::Function {
                ret: self.import(body, ret),
                params: params.into_iter().map(|p| self.import(body, p)).collect(),
                variadic,
            },
            TypeKind::Opaque(name) => {
                if let Some((bytes, _)) = body.types.size_align(ty) {
                    self.b.types.opaque_of(&name, bytes);
                }
                TypeKind::Opaque(name)
            }
            k => k,
        };
        let id = self.b.types.intern(Type { kind, quals });
        self.imported.insert(key, id);
        id
    }

    fn import_record(&mut self, body: &Arc<Body>, record: RecordId) -> RecordId {
        let name = body.types.record(record).name.clone();
        if let Some(&r) = self.records.get(&name) {
            return r;
        }
        // The definition may stand in another item than the use.
        let (body, record) = match self.env.tag(&name) {
            Some(e) => match e.what {
                Exported::Tag(ExportedTag::Record(r)) if e.body.types.record(r).fields.is_some() => {
                    (e.body.clone(), r)
                }
                _ => (body.clone(), record),
            },
            None => (body.clone(), record),
        };
        let source = body.types.record(record);
        let id = self.b.types.add_record(Record::new(name.clone(), source.is_union));
        self.records.insert(name, id);
        if let Some(fields) = &source.fields {
            let fields = fields.iter().map(|f| Field { ty: self.import(&body, f.ty), ..f.clone() }).collect();
            self.b.types.complete_record_like(id, fields, source);
        }
        id
    }

    /// The type of a member, looked for in anonymous members too.
    pub(super) fn member_type(&self, record: RecordId, name: &str, depth: u32) -> Option<TypeId> {
        let fields = self.b.types.record(record).fields.as_ref()?;
        for f in fields {
            if &*f.name == name {
                // A bit-field promotes by its width (C11 6.3.1.1p2), which its type does not show.
                return f.bits.is_none().then_some(f.ty);
            }
        }
        for f in fields.iter().filter(|f| f.name.is_empty() && depth < 16) {
            if let TypeKind::Record(r) = self.b.types.kind(f.ty) {
                if let Some(t) = self.member_type(*r, name, depth + 1) {
                    return Some(t);
                }
            }
        }
        None
    }
}

/// Texts that the compiler provides of the place or the time, of a length that is not known here (C11 6.4.2.2, 6.10.8.1).
fn is_place_name(name: &str) -> bool {
    matches!(
        name,
        "__FILE__"
            | "__BASE_FILE__"
            | "__DATE__"
            | "__TIME__"
            | "__TIMESTAMP__"
            | "__func__"
            | "__FUNCTION__"
            | "__PRETTY_FUNCTION__"
    )
}
