//! Types, interned per body, and the conversion rules of C (C11 6.3.1) that implicit conversions follow.

use std::sync::Arc;

use base::{IdVec, IndexId};
use rustc_hash::FxHashMap;

use crate::layout::{Layout, Placing, RecordPlacing};
use crate::{BinOp, TermId};

base::id!(
    /// A qualified type of one body.
    pub struct TypeId
);
base::id!(
    /// A struct or union of one body.
    pub struct RecordId
);

/// Integer types by name and rank; widths are those of LP64 (Linux, CUDA on Linux), `char` is signed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum IntKind {
    Bool,
    Char,
    SChar,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    LongLong,
    ULongLong,
}

impl IntKind {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            IntKind::Bool | IntKind::Char | IntKind::SChar | IntKind::UChar => 8,
            IntKind::Short | IntKind::UShort => 16,
            IntKind::Int | IntKind::UInt => 32,
            IntKind::Long | IntKind::ULong | IntKind::LongLong | IntKind::ULongLong => 64,
        }
    }
    /// Whether negative values exist.
    pub fn signed(self) -> bool {
        matches!(
            self,
            IntKind::Char
                | IntKind::SChar
                | IntKind::Short
                | IntKind::Int
                | IntKind::Long
                | IntKind::LongLong
        )
    }
    /// Smallest value.
    pub fn min(self) -> i128 {
        if self.signed() {
            -(1i128 << (self.bits() - 1))
        } else {
            0
        }
    }
    /// Largest value.
    pub fn max(self) -> i128 {
        match self {
            IntKind::Bool => 1,
            k if k.signed() => (1i128 << (k.bits() - 1)) - 1,
            k => (1i128 << k.bits()) - 1,
        }
    }
    /// The value converted to this type as C does it (modulo for unsigned, two's complement for signed, ≠0 for `_Bool`).
    pub fn wrap(self, value: i128) -> i128 {
        if self == IntKind::Bool {
            return (value != 0) as i128;
        }
        let m = 1i128 << self.bits();
        let r = value.rem_euclid(m);
        if self.signed() && r > self.max() {
            r - m
        } else {
            r
        }
    }
    /// Conversion rank (C11 6.3.1.1).
    pub fn rank(self) -> u8 {
        match self {
            IntKind::Bool => 0,
            IntKind::Char | IntKind::SChar | IntKind::UChar => 1,
            IntKind::Short | IntKind::UShort => 2,
            IntKind::Int | IntKind::UInt => 3,
            IntKind::Long | IntKind::ULong => 4,
            IntKind::LongLong | IntKind::ULongLong => 5,
        }
    }
    /// The unsigned type of the same rank.
    pub fn to_unsigned(self) -> IntKind {
        match self {
            IntKind::Char | IntKind::SChar => IntKind::UChar,
            IntKind::Short => IntKind::UShort,
            IntKind::Int => IntKind::UInt,
            IntKind::Long => IntKind::ULong,
            IntKind::LongLong => IntKind::ULongLong,
            k => k,
        }
    }
    /// Integer promotion (C11 6.3.1.1p2).
    pub fn promoted(self) -> IntKind {
        if self.rank() < IntKind::Int.rank() {
            IntKind::Int
        } else {
            self
        }
    }
    /// The common type of two promoted operands (C11 6.3.1.8).
    pub fn common(self, other: IntKind) -> IntKind {
        let (a, b) = (self.promoted(), other.promoted());
        if a == b {
            return a;
        }
        if a.signed() == b.signed() {
            return if a.rank() >= b.rank() { a } else { b };
        }
        let (u, s) = if a.signed() { (b, a) } else { (a, b) };
        if u.rank() >= s.rank() {
            u
        } else if s.bits() > u.bits() {
            s
        } else {
            s.to_unsigned()
        }
    }
    /// As written in C and CUDA C++.
    pub fn c_name(self) -> &'static str {
        match self {
            IntKind::Bool => "_Bool",
            IntKind::Char => "char",
            IntKind::SChar => "signed char",
            IntKind::UChar => "unsigned char",
            IntKind::Short => "short",
            IntKind::UShort => "unsigned short",
            IntKind::Int => "int",
            IntKind::UInt => "unsigned int",
            IntKind::Long => "long",
            IntKind::ULong => "unsigned long",
            IntKind::LongLong => "long long",
            IntKind::ULongLong => "unsigned long long",
        }
    }
}

/// Floating types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FloatKind {
    F32,
    F64,
    /// `long double`: understood, but never offloaded (no GPU has it).
    Long,
}

/// Qualifiers, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Quals {
    pub is_const: bool,
    pub is_volatile: bool,
    pub is_restrict: bool,
    pub is_atomic: bool,
}

/// The length of an array type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Len {
    /// `a[]`
    Unknown,
    /// A constant number of elements.
    Const(u64),
    /// A VLA: the term that gives the number of elements, in the same body, evaluated at the declaration.
    Term(TermId),
}

/// What a type is, qualifiers aside.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeKind {
    Void,
    Int(IntKind),
    Float(FloatKind),
    /// `static_len` holds the promise of `T a[static n]`: at least so many elements may be accessed.
    Pointer {
        to: TypeId,
        /// The length written in a parameter's outermost dimension (`double a[n]`): a pointer all the same.
        declared: Len,
        /// Whether it was written `[static n]`, which makes `declared` a promise of the language.
        is_static: bool,
    },
    Array {
        of: TypeId,
        len: Len,
    },
    Record(RecordId),
    Function {
        ret: TypeId,
        params: Vec<TypeId>,
        variadic: bool,
    },
    /// A type that was not understood, by its text. Nothing may be concluded about its size or meaning.
    Opaque(Arc<str>),
}

/// A qualified type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    pub kind: TypeKind,
    pub quals: Quals,
}

/// A member of a struct or union.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    pub name: Arc<str>,
    pub ty: TypeId,
    /// Width in bits of a bit-field. Neighbouring bit-fields share a memory location.
    pub bits: Option<u32>,
    /// What is asked of its place.
    pub placing: Placing,
}

impl Field {
    /// A member that lies as its type asks for.
    pub fn new(name: impl Into<Arc<str>>, ty: TypeId) -> Field {
        Field { name: name.into(), ty, bits: None, placing: Placing::default() }
    }
}

/// A struct or union.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    /// The tag, or a made-up name for an anonymous one.
    pub name: Arc<str>,
    pub is_union: bool,
    /// `None` where only declared: its members and size are unknown.
    pub fields: Option<Vec<Field>>,
    /// What is asked of its layout.
    pub placing: RecordPlacing,
    /// Where its members lie, where that is known.
    pub(crate) layout: Option<Arc<Layout>>,
}

impl Record {
    /// One that is only declared.
    pub fn new(name: impl Into<Arc<str>>, is_union: bool) -> Record {
        Record { name: name.into(), is_union, fields: None, placing: RecordPlacing::default(), layout: None }
    }
}

/// The interned types of one body.
#[derive(Clone, Debug, Default)]
pub struct Types {
    types: IdVec<TypeId, Type>,
    index: FxHashMap<Type, TypeId>,
    records: IdVec<RecordId, Record>,
    /// Bytes of opaque types of which that much is known.
    sizes: Vec<(Arc<str>, u64)>,
}

impl Types {
    /// An opaque type of so many bytes, aligned to as many.
    pub fn opaque_of(&mut self, name: &str, bytes: u64) -> TypeId {
        if !self.sizes.iter().any(|(n, _)| **n == *name) {
            self.sizes.push((name.into(), bytes));
        }
        self.plain(TypeKind::Opaque(name.into()))
    }
    /// Interns a type.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.index.get(&ty) {
            return id;
        }
        let id = self.types.push(ty.clone());
        self.index.insert(ty, id);
        id
    }
    /// Interns an unqualified type.
    pub fn plain(&mut self, kind: TypeKind) -> TypeId {
        self.intern(Type { kind, quals: Quals::default() })
    }
    /// An integer type.
    pub fn int(&mut self, kind: IntKind) -> TypeId {
        self.plain(TypeKind::Int(kind))
    }
    /// A floating type.
    pub fn float(&mut self, kind: FloatKind) -> TypeId {
        self.plain(TypeKind::Float(kind))
    }
    /// `void`
    pub fn void(&mut self) -> TypeId {
        self.plain(TypeKind::Void)
    }
    /// A plain pointer.
    pub fn pointer(&mut self, to: TypeId) -> TypeId {
        self.plain(TypeKind::Pointer { to, declared: Len::Unknown, is_static: false })
    }
    /// The same type with these qualifiers instead.
    pub fn with_quals(&mut self, ty: TypeId, quals: Quals) -> TypeId {
        let kind = self.types[ty].kind.clone();
        self.intern(Type { kind, quals })
    }
    /// Adds a record; equal tags of different scopes stay different.
    pub fn add_record(&mut self, record: Record) -> RecordId {
        self.records.push(record)
    }
    /// Completes a record that was only declared.
    pub fn complete_record(&mut self, id: RecordId, fields: Vec<Field>, placing: RecordPlacing) {
        let record = &mut self.records[id];
        record.fields = Some(fields);
        record.placing = placing;
        self.records[id].layout = self.lay_out(&self.records[id]).map(Arc::new);
    }
    /// Completes a record like one of other types, whose members are these here.
    pub fn complete_record_like(&mut self, id: RecordId, fields: Vec<Field>, other: &Record) {
        let record = &mut self.records[id];
        record.fields = Some(fields);
        record.placing = other.placing;
        // Here a member's own record may still be incomplete.
        record.layout = other.layout.clone();
    }
    /// A record.
    pub fn record(&self, id: RecordId) -> &Record {
        &self.records[id]
    }
    /// All records.
    pub fn records(&self) -> impl Iterator<Item = (RecordId, &Record)> {
        self.records.iter_ids()
    }
    /// A type.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id]
    }
    /// What a type is, qualifiers aside.
    pub fn kind(&self, id: TypeId) -> &TypeKind {
        &self.types[id].kind
    }
    /// Qualifiers.
    pub fn quals(&self, id: TypeId) -> Quals {
        self.types[id].quals
    }
    /// What an array is made of, all dimensions removed; another type itself.
    pub fn innermost(&self, mut id: TypeId) -> TypeId {
        while let TypeKind::Array { of, .. } = self.kind(id) {
            id = *of;
        }
        id
    }
    /// What is behind all pointers of a type.
    pub fn behind_pointers(&self, mut id: TypeId) -> TypeId {
        while let TypeKind::Pointer { to, .. } = self.kind(id) {
            id = *to;
        }
        id
    }
    /// Whether an object of the type is defined as constant: an array is where its elements are (C11 6.7.3p9).
    pub fn is_constant(&self, id: TypeId) -> bool {
        self.quals(id).is_const || self.quals(self.innermost(id)).is_const
    }
    /// The integer kind, if it is an integer type.
    pub fn as_int(&self, id: TypeId) -> Option<IntKind> {
        match self.kind(id) {
            TypeKind::Int(k) => Some(*k),
            _ => None,
        }
    }
    /// The floating kind, if it is a floating type.
    pub fn as_float(&self, id: TypeId) -> Option<FloatKind> {
        match self.kind(id) {
            TypeKind::Float(k) => Some(*k),
            _ => None,
        }
    }
    /// What the lengths in types are computed from: it stands beside the statements.
    pub fn length_terms(&self) -> impl Iterator<Item = TermId> + '_ {
        self.ids().filter_map(|ty| match self.kind(ty) {
            TypeKind::Array { len: Len::Term(t), .. } | TypeKind::Pointer { declared: Len::Term(t), .. } => {
                Some(*t)
            }
            _ => None,
        })
    }
    /// The lengths in a type that are computed, of an array before those of its elements.
    pub fn lengths_in(&self, id: TypeId) -> impl Iterator<Item = TermId> + '_ {
        let mut at = Some(id);
        std::iter::from_fn(move || loop {
            let (inner, length) = match self.kind(at?) {
                TypeKind::Array { of, len } => (*of, len),
                TypeKind::Pointer { to, declared, .. } => (*to, declared),
                _ => return None,
            };
            at = Some(inner);
            if let Len::Term(length) = length {
                return Some(*length);
            }
        })
    }
    /// Whether arithmetic operators apply.
    pub fn is_arithmetic(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Int(_) | TypeKind::Float(_))
    }
    /// The element type of an array or the pointee of a pointer.
    pub fn element(&self, id: TypeId) -> Option<TypeId> {
        match self.kind(id) {
            TypeKind::Pointer { to, .. } => Some(*to),
            TypeKind::Array { of, .. } => Some(*of),
            _ => None,
        }
    }
    /// Size in bytes and alignment, where both are known (LP64; no VLAs, no opaque types).
    pub fn size_align(&self, id: TypeId) -> Option<(u64, u64)> {
        match self.kind(id) {
            TypeKind::Int(k) => Some((k.bits() as u64 / 8, k.bits() as u64 / 8)),
            TypeKind::Float(FloatKind::F32) => Some((4, 4)),
            TypeKind::Float(FloatKind::F64) => Some((8, 8)),
            TypeKind::Float(FloatKind::Long) => Some((16, 16)),
            TypeKind::Pointer { .. } => Some((8, 8)),
            TypeKind::Array { of, len: Len::Const(n) } => {
                let (s, a) = self.size_align(*of)?;
                Some((s.checked_mul(*n)?, a))
            }
            TypeKind::Record(r) => self.layout(*r).map(|l| (l.size, l.align)),
            TypeKind::Opaque(n) => self.sizes.iter().find(|(name, _)| name == n).map(|s| (s.1, s.1)),
            _ => None,
        }
    }
    /// The type in which C computes `left op right` for arithmetic operands, i.e. both are converted to it first
    /// (shifts: only the left operand counts). `None` where an operand is not arithmetic.
    pub fn operation_type(&mut self, op: BinOp, left: TypeId, right: TypeId) -> Option<TypeId> {
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            let k = self.as_int(left)?;
            self.as_int(right)?;
            return Some(self.int(k.promoted()));
        }
        match (self.kind(left).clone(), self.kind(right).clone()) {
            (TypeKind::Float(a), TypeKind::Float(b)) => Some(self.float(a.max(b))),
            (TypeKind::Float(a), TypeKind::Int(_)) | (TypeKind::Int(_), TypeKind::Float(a)) => {
                Some(self.float(a))
            }
            (TypeKind::Int(a), TypeKind::Int(b)) => Some(self.int(a.common(b))),
            _ => None,
        }
    }
    /// Number of interned types.
    pub fn len(&self) -> usize {
        self.types.len()
    }
    /// Whether nothing is interned.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
    /// All type ids.
    pub fn ids(&self) -> impl Iterator<Item = TypeId> {
        (0..self.types.len()).map(TypeId::from_index)
    }
}
