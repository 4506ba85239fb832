//! Sizes and places of members, for one replay: what matters is that different members have different bytes and that
//! members of a union share theirs.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::{IntKind, Len, RecordId, TermId, TypeId, TypeKind, Types};

/// Bytes of a type. `lengths`: values of variable lengths.
pub(super) fn size_of(types: &Types, lengths: &FxHashMap<TermId, i128>, ty: TypeId) -> Option<i64> {
    if let Some((size, _)) = types.size_align(ty) {
        return i64::try_from(size).ok();
    }
    match types.kind(ty) {
        TypeKind::Array { of, len } => {
            let n = match len {
                Len::Const(n) => i64::try_from(*n).ok()?,
                Len::Term(t) => i64::try_from(*lengths.get(t)?).ok()?,
                Len::Unknown => return None,
            };
            size_of(types, lengths, *of)?.checked_mul(n.max(0))
        }
        TypeKind::Record(r) => {
            let record = types.record(*r);
            let mut size = 0i64;
            for f in record.fields.as_ref()? {
                let s = size_of(types, lengths, f.ty).or(flexible(types, f.ty))?;
                size = if record.is_union { size.max(s) } else { aligned(size).checked_add(s)? };
            }
            Some(aligned(size))
        }
        TypeKind::Void => Some(1),
        // Some header says how large it is: as a pointer or a `long` is.
        TypeKind::Opaque(_) => Some(8),
        _ => None,
    }
}

/// A last member without length takes no room.
fn flexible(types: &Types, ty: TypeId) -> Option<i64> {
    matches!(types.kind(ty), TypeKind::Array { len: Len::Unknown, .. }).then_some(0)
}

fn aligned(size: i64) -> i64 {
    size.saturating_add(15) & !15
}

/// A bit-field: its width, the bit it begins at in the place's first byte, and how many bytes from there it lies in.
#[derive(Clone, Copy)]
pub(super) struct Bits {
    pub width: u32,
    pub first: u32,
    pub bytes: i64,
}

impl Bits {
    /// What is kept of a number.
    pub fn cut(&self, n: i128, k: IntKind) -> i128 {
        match k {
            IntKind::Bool => n,
            _ if !(1..64).contains(&self.width) => k.wrap(n),
            _ => {
                let cut = n.rem_euclid(1 << self.width);
                let negative = k.signed() && cut >= 1 << (self.width - 1);
                if negative {
                    cut - (1 << self.width)
                } else {
                    cut
                }
            }
        }
    }
}

/// The first byte of a record's `k`-th member. Where the ABI's layout is not known, members have bytes of their own.
pub(super) fn member(
    types: &Types,
    lengths: &FxHashMap<TermId, i128>,
    r: RecordId,
    k: usize,
) -> Option<(i64, Option<Bits>)> {
    let record = types.record(r);
    let fields = record.fields.as_ref()?;
    let width = fields.get(k)?.bits;
    if let Some(layout) = types.layout(r) {
        let bit = layout.members.get(k)?.bit;
        let bits = width.map(|width| Bits {
            width,
            first: (bit % 8) as u32,
            bytes: (bit % 8 + u64::from(width)).div_ceil(8).max(1) as i64,
        });
        return Some((i64::try_from(bit / 8).ok()?, bits));
    }
    let size = |ty: TypeId| size_of(types, lengths, ty).or(flexible(types, ty));
    let mut at = 0i64;
    for f in fields.iter().take(if record.is_union { 0 } else { k }) {
        at = aligned(at).checked_add(size(f.ty)?)?;
    }
    let bits = match width {
        Some(width) => Some(Bits { width, first: 0, bytes: size(fields[k].ty)? }),
        None => None,
    };
    Some((aligned(at), bits))
}

/// Where the member of this name is, in the record or an anonymous member of it: byte, type, bits of a bit-field.
pub(super) fn field(
    types: &Types,
    lengths: &FxHashMap<TermId, i128>,
    ty: TypeId,
    name: &str,
) -> Option<(i64, TypeId, Option<Bits>)> {
    let TypeKind::Record(r) = types.kind(ty) else { return None };
    let fields = types.record(*r).fields.as_ref()?;
    for (k, f) in fields.iter().enumerate() {
        if &*f.name == name {
            let (at, bits) = member(types, lengths, *r, k)?;
            return Some((at, f.ty, bits));
        }
        if f.name.is_empty() {
            if let Some((inner, ty, bits)) = field(types, lengths, f.ty, name) {
                return Some((member(types, lengths, *r, k)?.0 + inner, ty, bits));
            }
        }
    }
    None
}

/// The members on the way to what lies at this byte, elements of an array being one; `None`: not by this layout.
pub(super) fn part_at(types: &Types, ty: TypeId, at: i64) -> Option<Vec<Arc<str>>> {
    let none = FxHashMap::default();
    match types.kind(ty) {
        TypeKind::Array { of, .. } => {
            let size = size_of(types, &none, *of).filter(|n| *n > 0)?;
            part_at(types, *of, at.rem_euclid(size))
        }
        TypeKind::Record(r) => {
            let record = types.record(*r);
            let fields = record.fields.as_ref().filter(|_| !record.is_union)?;
            fields.iter().enumerate().find_map(|(k, f)| {
                let (from, bits) = member(types, &none, *r, k)?;
                let size = size_of(types, &none, f.ty)?;
                let here = bits.is_none() && (from..from + size).contains(&at) && !f.name.is_empty();
                let mut part = here.then(|| part_at(types, f.ty, at - from))??;
                part.insert(0, f.name.clone());
                Some(part)
            })
        }
        _ => (at == 0).then(Vec::new),
    }
}

/// The scalars that a type is made of, with their places; `None`: too many.
pub(super) fn leaves(
    types: &Types,
    lengths: &FxHashMap<TermId, i128>,
    ty: TypeId,
) -> Option<Vec<(i64, TypeId)>> {
    fn add(
        types: &Types,
        lengths: &FxHashMap<TermId, i128>,
        ty: TypeId,
        at: i64,
        out: &mut Vec<(i64, TypeId)>,
    ) -> Option<()> {
        if out.len() > 300 {
            return None;
        }
        match types.kind(ty) {
            TypeKind::Array { of, len: Len::Const(n) } => {
                let size = size_of(types, lengths, *of)?;
                for k in 0..i64::try_from(*n).ok()? {
                    add(types, lengths, *of, at + k * size, out)?;
                }
                Some(())
            }
            TypeKind::Record(r) => {
                let record = types.record(*r);
                let fields = record.fields.as_ref()?;
                if record.is_union || fields.iter().any(|f| f.name.is_empty() || f.bits.is_some()) {
                    return None;
                }
                for (k, f) in fields.iter().enumerate() {
                    let (inner, _) = member(types, lengths, *r, k)?;
                    add(types, lengths, f.ty, at + inner, out)?;
                }
                Some(())
            }
            TypeKind::Array { .. } | TypeKind::Void | TypeKind::Function { .. } | TypeKind::Opaque(_) => None,
            _ => {
                out.push((at, ty));
                Some(())
            }
        }
    }
    let mut out = Vec::new();
    add(types, lengths, ty, 0, &mut out)?;
    Some(out)
}

/// The variable lengths of a type, outermost first.
pub(super) fn lengths_in(types: &Types, ty: TypeId) -> Vec<TermId> {
    let mut out = Vec::new();
    let mut at = Some(ty);
    for _ in 0..20 {
        let Some(ty) = at else { break };
        at = match types.kind(ty) {
            TypeKind::Array { of, len } => {
                if let Len::Term(t) = len {
                    out.push(*t);
                }
                Some(*of)
            }
            TypeKind::Pointer { to, .. } => Some(*to),
            _ => None,
        };
    }
    out
}
