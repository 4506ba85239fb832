//! What one element of a buffer consists of: its scalars, its pointers and what those point to. Unions, bit-fields and what
//! is behind a `void *` are bytes: zero at first, and compared as bytes.

use std::sync::Arc;

use simulate::ElementKind;
use term::{Len, RecordId, TypeId, TypeKind, Types};

use crate::limits::verify_inputs_layout::{MAX_LEVELS, MOST_PARTS};

/// The scalars of one element: byte offset and kind.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub bytes: u64,
    pub leaves: Vec<(u64, ElementKind)>,
    /// Pointers in it, with what they point to; `None`: null, for nothing can be made up.
    pub pointers: Vec<(u64, Option<Box<Layout>>)>,
    /// What members that are pointers are called, by their bytes.
    pub names: Vec<(u64, Arc<str>)>,
    /// Bytes of which it is not known what they hold: where, and how many.
    pub raw: Vec<(u64, u64)>,
}

impl Layout {
    pub(crate) fn of(types: &Types, ty: TypeId, level: u32) -> Option<Layout> {
        Layout::within(types, ty, level, &mut MOST_PARTS.clone())
    }
    fn within(types: &Types, ty: TypeId, level: u32, left: &mut usize) -> Option<Layout> {
        let (bytes, _) = types.size_align(ty)?;
        let out = Layout {
            bytes: bytes.max(1),
            leaves: Vec::new(),
            pointers: Vec::new(),
            names: Vec::new(),
            raw: Vec::new(),
        };
        let mut making = Making { types, level, left, out };
        making.push(ty, 0, 0)?;
        Some(making.out)
    }
    /// A byte of something unknown.
    fn unknown() -> Layout {
        Layout { bytes: 1, leaves: Vec::new(), pointers: Vec::new(), names: Vec::new(), raw: vec![(0, 1)] }
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

/// A layout in the making.
struct Making<'a> {
    types: &'a Types,
    /// Pointers followed to come here.
    level: u32,
    /// Scalars and pointers that there may be still.
    left: &'a mut usize,
    out: Layout,
}

impl Making<'_> {
    /// A type's scalars and pointers, from a byte on. `None`: something of it is not known.
    fn push(&mut self, ty: TypeId, at: u64, depth: u32) -> Option<()> {
        let Making { types, level, out, .. } = self;
        if depth > 16 || out.leaves.len() > 1 << 15 || out.pointers.len() > 1024 {
            return None;
        }
        match types.kind(ty) {
            TypeKind::Int(_) | TypeKind::Float(_) => {
                *self.left = self.left.saturating_sub(1);
                out.leaves.push((at, ElementKind::of(types, ty)?));
            }
            TypeKind::Pointer { to, .. } => {
                *self.left = self.left.saturating_sub(1);
                let is_followed = *level < MAX_LEVELS && *self.left > 0;
                let inner = if is_followed { behind(types, *to, *level + 1, self.left) } else { None };
                out.pointers.push((at, inner.map(Box::new)));
            }
            TypeKind::Array { of, len: Len::Const(n) } => {
                let (of, n) = (*of, *n);
                let (size, _) = types.size_align(of)?;
                for k in 0..n {
                    self.push(of, at + k * size, depth + 1)?;
                }
            }
            TypeKind::Record(r) if types.record(*r).is_union => {
                // a pointer among bytes could not be compared
                let bytes = types.size_align(ty)?.0;
                let inner = Layout { raw: Vec::new(), ..Layout::unknown() };
                let mut inner =
                    Making { types: self.types, level: self.level, left: &mut *self.left, out: inner };
                inner.push_members(*r, 0, depth)?;
                if !inner.out.pointers.is_empty() {
                    return None;
                }
                self.out.raw.push((at, bytes));
            }
            TypeKind::Record(r) => self.push_members(*r, at, depth)?,
            _ => return None,
        }
        Some(())
    }

    fn push_members(&mut self, record: RecordId, at: u64, depth: u32) -> Option<()> {
        let types = self.types;
        for (f, m) in types.record(record).fields.as_ref()?.iter().zip(&types.layout(record)?.members) {
            let at = at + m.bit / 8;
            match f.bits {
                Some(_) if self.out.raw.contains(&(at, 1)) => {}
                Some(_) => self.out.raw.push((at, 1)),
                None => {
                    if matches!(types.kind(f.ty), TypeKind::Pointer { .. }) {
                        self.out.names.push((at, f.name.clone()));
                    }
                    self.push(f.ty, at, depth + 1)?
                }
            }
        }
        Some(())
    }
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
