//! What one element of a buffer consists of: its scalars, its pointers and what those point to. Deliberately absent:
//! unions and bit-fields, for which no contents are made up.

use simulate::ElementKind;
use term::{Len, TypeId, TypeKind, Types};

/// Pointers are followed so far: parameter to structure to array of rows to row.
const MAX_LEVELS: u32 = 3;

/// The scalars of one element: byte offset and kind.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub bytes: u64,
    pub leaves: Vec<(u64, ElementKind)>,
    /// Pointers in it, with what they point to; `None`: null, for nothing can be made up.
    pub pointers: Vec<(u64, Option<Box<Layout>>)>,
}

impl Layout {
    pub(crate) fn of(types: &Types, ty: TypeId, level: u32) -> Option<Layout> {
        let (bytes, _) = types.size_align(ty)?;
        let mut out = Layout { bytes: bytes.max(1), leaves: Vec::new(), pointers: Vec::new() };
        push_leaves(types, ty, 0, &mut out, 0, level)?;
        Some(out)
    }
    /// The kind of all scalars, if they are all alike and fill the element.
    pub(in crate::verify) fn uniform(&self) -> Option<ElementKind> {
        if !self.pointers.is_empty() {
            return None;
        }
        let first = self.leaves.first()?.1;
        let packed = first.size() as u64 * self.leaves.len() as u64 == self.bytes;
        (packed && self.leaves.iter().all(|l| l.1 == first)).then_some(first)
    }
}

fn push_leaves(types: &Types, ty: TypeId, at: u64, out: &mut Layout, depth: u32, level: u32) -> Option<()> {
    if depth > 16 || out.leaves.len() > 4096 || out.pointers.len() > 64 {
        return None;
    }
    match types.kind(ty) {
        TypeKind::Int(_) | TypeKind::Float(_) => out.leaves.push((at, ElementKind::of(types, ty)?)),
        TypeKind::Pointer { to, .. } => {
            let inner = if level < MAX_LEVELS { pointee(types, *to, level + 1) } else { None };
            out.pointers.push((at, inner.map(Box::new)));
        }
        TypeKind::Array { of, len: Len::Const(n) } => {
            let (size, _) = types.size_align(*of)?;
            for k in 0..*n {
                push_leaves(types, *of, at + k * size, out, depth + 1, level)?;
            }
        }
        TypeKind::Record(r) => {
            let record = types.record(*r);
            if record.is_union {
                return None;
            }
            for (f, m) in record.fields.as_ref()?.iter().zip(&types.layout(*r)?.members) {
                if f.bits.is_some() {
                    return None;
                }
                push_leaves(types, f.ty, at + m.bit / 8, out, depth + 1, level)?;
            }
        }
        _ => return None,
    }
    Some(())
}

/// The element that a pointer points to, all dimensions removed.
pub(super) fn pointee(types: &Types, to: TypeId, level: u32) -> Option<Layout> {
    let mut element = to;
    while let TypeKind::Array { of, .. } = types.kind(element) {
        element = *of;
    }
    Layout::of(types, element, level)
}
