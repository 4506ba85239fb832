//! Variables as sets of cells: how the whole of a structure, union or array and its parts are related.
//!
//! Whoever asks what a term reads or writes of a variable asks here: a member or element named without following a
//! pointer is a part of its variable; what reads or writes the whole meets whoever reads or writes a part; members of
//! a union, and bit-fields that stand side by side, are no cells of their own (C11 6.7.2.1p16, 3.14p3).

use std::sync::Arc;

use term::{BinOp, Body, Op, RecordId, SymbolId, TermId, TypeId, TypeKind};

/// The variable that a place is, or is a part of, by its name alone; and whether it is only a part.
pub(crate) fn owner(body: &Body, place: TermId) -> Option<(SymbolId, bool)> {
    let is_array = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. });
    let mut at = place;
    let mut part = false;
    for _ in 0..1000 {
        let args = body.args(at);
        at = match (body.op(at), args) {
            (Op::Sym(s), _) => return Some((*s, part)),
            (Op::Member { arrow: false, .. }, &[base]) => {
                part = true;
                base
            }
            (Op::Index, &[a, b]) => {
                part = true;
                match (is_array(a), is_array(b)) {
                    (true, _) => a,
                    (_, true) => b,
                    _ => return None,
                }
            }
            (Op::Deref | Op::Member { arrow: true, .. }, &[p]) => {
                let member = !matches!(body.op(at), Op::Deref);
                match (body.op(p), body.args(p)) {
                    (Op::AddrOf, &[x]) => {
                        part |= member;
                        x
                    }
                    _ if is_array(p) => {
                        part = true;
                        p
                    }
                    (Op::Binary(BinOp::Add), &[a, b]) if is_array(a) || is_array(b) => {
                        part = true;
                        if is_array(a) {
                            a
                        } else {
                            b
                        }
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
    }
    None
}

/// The variable of which the term itself writes a part.
pub(crate) fn written_part(body: &Body, t: TermId) -> Option<SymbolId> {
    if !body.op(t).is_write() {
        return None;
    }
    let (s, part) = body.args(t).first().and_then(|&p| owner(body, p))?;
    part.then_some(s)
}

/// Whether somewhere in a value of this type stands an array, whose name becomes a pointer where it is used.
pub(crate) fn holds_array(body: &Body, ty: TypeId) -> bool {
    let mut stack = vec![(ty, 0)];
    while let Some((ty, depth)) = stack.pop() {
        match body.types.kind(ty) {
            TypeKind::Array { .. } => return true,
            TypeKind::Record(r) if depth < 20 => match &body.types.record(*r).fields {
                Some(fields) => stack.extend(fields.iter().map(|f| (f.ty, depth + 1))),
                None => return true,
            },
            TypeKind::Record(_) => return true,
            _ => {}
        }
    }
    false
}

/// The structure that a type is, or points to.
pub(crate) fn structure(body: &Body, ty: TypeId) -> Option<RecordId> {
    match body.types.kind(body.types.element(ty).unwrap_or(ty)) {
        TypeKind::Record(r) => Some(*r),
        _ => None,
    }
}

/// That which a function says it returns.
pub(crate) fn returned_structure(body: &Body) -> Option<RecordId> {
    let Op::Function(f) = body.op(body.root) else { return None };
    match body.types.kind(body.symbols[*f].ty) {
        TypeKind::Function { ret, .. } => structure(body, *ret),
        _ => None,
    }
}

/// Whether somewhere in a value of this type may stand a pointer.
pub(crate) fn holds_pointer(body: &Body, ty: TypeId) -> bool {
    let mut stack = vec![(ty, 0)];
    while let Some((ty, depth)) = stack.pop() {
        match body.types.kind(ty) {
            TypeKind::Void => {}
            TypeKind::Array { of, .. } => stack.push((*of, depth)),
            TypeKind::Record(r) if depth < 20 => match &body.types.record(*r).fields {
                Some(fields) => stack.extend(fields.iter().map(|f| (f.ty, depth + 1))),
                None => return true,
            },
            _ if body.types.is_arithmetic(ty) => {}
            _ => return true,
        }
    }
    false
}

/// Whether somewhere in a value of this type stands a union in which a pointer may be stored, and read as something else.
pub(crate) fn holds_blurred_pointer(body: &Body, ty: TypeId) -> bool {
    let mut stack = vec![(ty, 0)];
    while let Some((ty, depth)) = stack.pop() {
        match body.types.kind(ty) {
            TypeKind::Array { of, .. } => stack.push((*of, depth)),
            TypeKind::Record(r)
                if (body.types.record(*r).is_union || depth >= 20) && holds_pointer(body, ty) =>
            {
                return true;
            }
            TypeKind::Record(r) => {
                let fields = body.types.record(*r).fields.as_deref().unwrap_or_default();
                stack.extend(fields.iter().map(|f| (f.ty, depth + 1)));
            }
            _ => {}
        }
    }
    false
}

/// Whether the place is a part of a union: what is read there may have been stored as something else.
pub(crate) fn in_union(body: &Body, mut t: TermId) -> bool {
    let is_array = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Array { .. });
    loop {
        t = match (body.op(t), body.args(t)) {
            (Op::Member { .. }, &[_]) if !matches!(field_cell(body, t), Some(FieldCell::Own(_))) => {
                return true
            }
            (Op::Member { arrow: false, .. }, &[of]) => of,
            (Op::Index, &[of, _]) if is_array(of) => of,
            (Op::Index, &[_, of]) if is_array(of) => of,
            (Op::Deref, &[of]) if is_array(of) => of,
            _ => return false,
        };
    }
}

/// The ways to the members of a structure that are no structures themselves, by their names; `None` where there are too
/// many, or some without a name. A union is one.
pub(crate) fn leaves(body: &Body, ty: TypeId) -> Option<Vec<Vec<Arc<str>>>> {
    let mut out = Vec::new();
    let mut stack = vec![(ty, Vec::new())];
    while let Some((ty, way)) = stack.pop() {
        match body.types.kind(ty) {
            TypeKind::Record(r) if !body.types.record(*r).is_union => {
                for f in body.types.record(*r).fields.as_ref()? {
                    if f.name.is_empty() || way.len() > 8 || stack.len() > 40 {
                        return None;
                    }
                    let mut longer: Vec<Arc<str>> = way.clone();
                    longer.push(f.name.clone());
                    stack.push((f.ty, longer));
                }
            }
            _ => out.push(way),
        }
    }
    (out.len() <= 24).then_some(out)
}

/// What a member names.
pub(crate) enum FieldCell {
    /// Cells of its own.
    Own(Arc<str>),
    /// Some of the cells of this name: bit-fields without a break between them, or members of an anonymous union, named
    /// by the first.
    Unit(Arc<str>, Inside),
    /// Some of the cells of the whole: a member of a union.
    Whole(Inside),
}

/// Which of the cells named are meant, where several members share them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Inside {
    /// All.
    All,
    /// So many bytes from this one on, of so many.
    Bytes { first: u64, count: u64, of: u64 },
    /// A bit-field.
    Bits(Arc<str>),
    /// Some, nobody knows which.
    Some,
}

impl Inside {
    /// Whether no cell is left out.
    pub(crate) fn is_all(&self) -> bool {
        match self {
            Inside::All => true,
            Inside::Bytes { first, count, of } => *first == 0 && count == of,
            Inside::Bits(_) | Inside::Some => false,
        }
    }
    /// Whether the two surely have a cell in common, being inside of the same cells.
    pub(crate) fn meets(&self, other: &Inside) -> bool {
        match (self, other) {
            (Inside::All, _) | (_, Inside::All) => true,
            (Inside::Bytes { first: a, count: m, .. }, Inside::Bytes { first: b, count: n, .. }) => {
                *a < b + n && *b < a + m
            }
            (Inside::Bits(x), Inside::Bits(y)) => x == y,
            _ => self.is_all() || other.is_all(),
        }
    }
    /// The bytes of an element of an array there.
    pub(crate) fn element(&self, k: Option<i128>, size: Option<u64>) -> Inside {
        match (self, k.and_then(|k| u64::try_from(k).ok()), size) {
            (Inside::Bytes { first, count, of }, Some(k), Some(size))
                if k.checked_add(1).and_then(|k| k.checked_mul(size)).is_some_and(|end| end <= *count) =>
            {
                Inside::Bytes { first: first + k * size, count: size, of: *of }
            }
            _ => Inside::Some,
        }
    }
    /// The bytes of a member there.
    pub(crate) fn member(&self, cell: &FieldCell) -> Inside {
        match (self, cell) {
            // Members of a union begin where it begins.
            (Inside::Bytes { first, of, .. }, FieldCell::Whole(Inside::Bytes { count, .. })) => {
                Inside::Bytes { first: *first, count: *count, of: *of }
            }
            _ => Inside::Some,
        }
    }
}

/// The cells of a member; `None` where the structure is not known. `t`: a `Member`.
pub(crate) fn field_cell(body: &Body, t: TermId) -> Option<FieldCell> {
    let (Op::Member { field, .. }, &[base]) = (body.op(t), body.args(t)) else { return None };
    let record = match body.types.kind(body.ty(base)) {
        TypeKind::Record(r) => *r,
        TypeKind::Pointer { to, .. } => match body.types.kind(*to) {
            TypeKind::Record(r) => *r,
            _ => return None,
        },
        // An array's name before `->`.
        TypeKind::Array { of, .. } => match body.types.kind(*of) {
            TypeKind::Record(r) => *r,
            _ => return None,
        },
        _ => return None,
    };
    member(body, record, field, 0)
}

fn member(body: &Body, record: RecordId, name: &Arc<str>, depth: u32) -> Option<FieldCell> {
    let record = body.types.record(record);
    let fields = record.fields.as_ref()?;
    if let Some(at) = fields.iter().position(|f| f.name == *name) {
        let field = &fields[at];
        if record.is_union {
            let size = |ty| body.types.size_align(ty).map(|s| s.0);
            let of = fields.iter().map(|f| size(f.ty)).try_fold(0, |most, n| Some(n?.max(most)));
            return Some(FieldCell::Whole(match (size(field.ty), of) {
                (Some(count), Some(of)) if field.bits.is_none() => Inside::Bytes { first: 0, count, of },
                _ => Inside::Some,
            }));
        }
        if field.bits.is_none() {
            return Some(FieldCell::Own(name.clone()));
        }
        let first = fields[..at].iter().rposition(|f| f.bits.is_none()).map_or(0, |k| k + 1);
        let first = fields[first..=at].iter().find(|f| !f.name.is_empty())?;
        return Some(FieldCell::Unit(first.name.clone(), Inside::Bits(name.clone())));
    }
    // Members of anonymous members are the structure's own (C11 6.7.2.1p13).
    for f in fields.iter().filter(|f| f.name.is_empty() && depth < 16) {
        let TypeKind::Record(inner) = *body.types.kind(f.ty) else { continue };
        let Some(found) = member(body, inner, name, depth + 1) else { continue };
        return Some(match found {
            _ if record.is_union => FieldCell::Whole(Inside::Some),
            FieldCell::Whole(_) => FieldCell::Unit(first_name(body, inner, 0)?, Inside::Some),
            own => own,
        });
    }
    None
}

fn first_name(body: &Body, record: RecordId, depth: u32) -> Option<Arc<str>> {
    body.types.record(record).fields.iter().flatten().find_map(|f| match body.types.kind(f.ty) {
        _ if !f.name.is_empty() => Some(f.name.clone()),
        TypeKind::Record(r) if depth < 16 => first_name(body, *r, depth + 1),
        _ => None,
    })
}

/// Whether a place lies inside a union: a write there may change what other members show, of whatever type.
pub(crate) fn is_in_union(body: &Body, place: TermId) -> bool {
    let mut at = place;
    for _ in 0..1000 {
        let member = matches!(body.op(at), Op::Member { .. });
        if member
            && matches!(
                field_cell(body, at),
                Some(FieldCell::Whole(_) | FieldCell::Unit(_, Inside::Some)) | None
            )
        {
            return true;
        }
        at = match (body.op(at), body.args(at)) {
            (Op::Member { arrow: false, .. }, &[base]) => base,
            (Op::Index, &[a, b]) => match (body.types.kind(body.ty(a)), body.types.kind(body.ty(b))) {
                (TypeKind::Array { .. }, _) => a,
                (_, TypeKind::Array { .. }) => b,
                _ => return false,
            },
            _ => return false,
        };
    }
    true
}

/// The pointer variable whose memory a place lies in, or that is itself the value; `None` where a loaded pointer leads there, or one
/// that an expression chooses or a call gives.
pub(crate) fn pointed_by(body: &Body, place: TermId) -> Option<SymbolId> {
    let mut t = place;
    for step in 0..1000 {
        let load = matches!(body.op(t), Op::Index | Op::Member { .. } | Op::Deref);
        if step > 0 && load && matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. }) {
            return None;
        }
        t = match (body.op(t), body.args(t)) {
            (Op::Sym(s), _) => return Some(*s),
            (Op::Index | Op::Binary(BinOp::Add | BinOp::Sub), &[a, b]) => {
                if body.types.as_int(body.ty(a)).is_some() {
                    b
                } else {
                    a
                }
            }
            (
                Op::Member { .. }
                | Op::Deref
                | Op::AddrOf
                | Op::Cast
                | Op::Step { .. }
                | Op::Assign
                | Op::Compound(_),
                &[of, ..],
            ) => of,
            _ => return None,
        };
    }
    None
}

/// The variable at the root of a place, or the family of the pointer that was loaded on the way to it.
pub fn base_symbol(body: &Body, mut t: TermId) -> Option<SymbolId> {
    for step in 0..1000 {
        let load = matches!(body.op(t), Op::Index | Op::Member { .. } | Op::Deref);
        if step > 0 && load && matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. }) {
            return Some(body.path_of(t)?.family);
        }
        match body.op(t) {
            Op::Sym(s) => return Some(*s),
            Op::Index | Op::Member { .. } | Op::Deref | Op::AddrOf | Op::Cast | Op::Step { .. } => {
                t = *body.args(t).first()?
            }
            Op::Binary(BinOp::Add | BinOp::Sub) => {
                let (a, b) = (body.args(t)[0], body.args(t)[1]);
                t = if body.types.as_int(body.ty(a)).is_some() { b } else { a };
            }
            _ => return None,
        }
    }
    None
}
