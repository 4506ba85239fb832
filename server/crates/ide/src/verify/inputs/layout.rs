//! What one element of a buffer consists of: its scalars, its pointers and what those point to. Unions, bit-fields and what
//! is behind a `void *` are bytes: zero at first, and compared as bytes.

use simulate::ElementKind;
use term::{Len, RecordId, TypeId, TypeKind, Types};

/// Pointers are followed so far: parameter to structure to array of rows to row.
const MAX_LEVELS: u32 = 3;

/// The scalars of one element: byte offset and kind.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub bytes: u64,
    pub leaves: Vec<(u64, ElementKind)>,
    /// Pointers in it, with what they point to; `None`: null, for nothing can be made up.
    pub pointers: Vec<(u64, Option<Box<Layout>>)>,
    /// Bytes of which it is not known what they hold: where, and how many.
    pub raw: Vec<(u64, u64)>,
}

/// Scalars and pointers of a parameter, all levels together; what is beyond is null.
const MOST_PARTS: usize = 40_000;

impl Layout {
    pub(crate) fn of(types: &Types, ty: TypeId, level: u32) -> Option<Layout> {
        Layout::within(types, ty, level, &mut MOST_PARTS.clone())
    }
    fn within(types: &Types, ty: TypeId, level: u32, left: &mut usize) -> Option<Layout> {
        let (bytes, _) = types.size_align(ty)?;
        let mut out =
            Layout { bytes: bytes.max(1), leaves: Vec::new(), pointers: Vec::new(), raw: Vec::new() };
        push_leaves(types, ty, 0, &mut out, 0, level, left)?;
        Some(out)
    }
    /// A byte of something unknown.
    fn unknown() -> Layout {
        Layout { bytes: 1, leaves: Vec::new(), pointers: Vec::new(), raw: vec![(0, 1)] }
    }
    /// Scalars and pointers of an element and of one element behind each pointer.
    pub(in crate::verify) fn parts(&self) -> u64 {
        let inner = |p: &(u64, Option<Box<Layout>>)| 8 + p.1.as_ref().map_or(0, |l| l.parts());
        self.leaves.len() as u64 + self.pointers.iter().map(inner).sum::<u64>()
    }
    /// The kind of all scalars, if they are all alike and fill the element.
    pub(in crate::verify) fn uniform(&self) -> Option<ElementKind> {
        if !self.pointers.is_empty() || !self.raw.is_empty() {
            return None;
        }
        let first = self.leaves.first()?.1;
        let packed = first.size() as u64 * self.leaves.len() as u64 == self.bytes;
        (packed && self.leaves.iter().all(|l| l.1 == first)).then_some(first)
    }
}

fn push_leaves(
    types: &Types,
    ty: TypeId,
    at: u64,
    out: &mut Layout,
    depth: u32,
    level: u32,
    left: &mut usize,
) -> Option<()> {
    if depth > 16 || out.leaves.len() > 1 << 15 || out.pointers.len() > 1024 {
        return None;
    }
    match types.kind(ty) {
        TypeKind::Int(_) | TypeKind::Float(_) => {
            *left = left.saturating_sub(1);
            out.leaves.push((at, ElementKind::of(types, ty)?));
        }
        TypeKind::Pointer { to, .. } => {
            *left = left.saturating_sub(1);
            let is_followed = level < MAX_LEVELS && *left > 0;
            let inner = if is_followed { behind(types, *to, level + 1, left) } else { None };
            out.pointers.push((at, inner.map(Box::new)));
        }
        TypeKind::Array { of, len: Len::Const(n) } => {
            let (size, _) = types.size_align(*of)?;
            for k in 0..*n {
                push_leaves(types, *of, at + k * size, out, depth + 1, level, left)?;
            }
        }
        TypeKind::Record(r) => {
            let record = types.record(*r);
            if record.is_union {
                // a pointer among bytes could not be compared
                let mut inner = Layout { raw: Vec::new(), ..Layout::unknown() };
                push_members(types, *r, 0, &mut inner, depth, level, left)?;
                if !inner.pointers.is_empty() {
                    return None;
                }
                out.raw.push((at, types.size_align(ty)?.0));
                return Some(());
            }
            push_members(types, *r, at, out, depth, level, left)?;
        }
        _ => return None,
    }
    Some(())
}

fn push_members(
    types: &Types,
    record: RecordId,
    at: u64,
    out: &mut Layout,
    depth: u32,
    level: u32,
    left: &mut usize,
) -> Option<()> {
    for (f, m) in types.record(record).fields.as_ref()?.iter().zip(&types.layout(record)?.members) {
        match f.bits {
            Some(_) if out.raw.contains(&(at + m.bit / 8, 1)) => {}
            Some(_) => out.raw.push((at + m.bit / 8, 1)),
            None => push_leaves(types, f.ty, at + m.bit / 8, out, depth + 1, level, left)?,
        }
    }
    Some(())
}

/// The element that a pointer points to, all dimensions removed.
pub(super) fn pointee(types: &Types, to: TypeId, level: u32) -> Option<Layout> {
    behind(types, to, level, &mut MOST_PARTS.clone())
}

fn behind(types: &Types, to: TypeId, level: u32, left: &mut usize) -> Option<Layout> {
    let mut element = to;
    while let TypeKind::Array { of, .. } = types.kind(element) {
        element = *of;
    }
    match types.kind(element) {
        TypeKind::Function { .. } => None,
        // what is only handed on
        TypeKind::Void | TypeKind::Opaque(_) => Some(Layout::unknown()),
        TypeKind::Record(r) if types.record(*r).fields.is_none() => Some(Layout::unknown()),
        _ => Layout::within(types, element, level, left),
    }
}
