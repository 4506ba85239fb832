//! Sizes and places of members, for one replay: what matters is that different members have different bytes and that
//! members of a union share theirs. Where the ABI's layout is not known (bit-fields), members get bytes of their own.

use rustc_hash::FxHashMap;
use term::{Len, TermId, TypeId, TypeKind, Types};

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

/// Where a member is: byte, type, width in bits of a bit-field.
pub(super) fn field(
    types: &Types,
    lengths: &FxHashMap<TermId, i128>,
    ty: TypeId,
    name: &str,
) -> Option<(i64, TypeId, Option<u32>)> {
    let TypeKind::Record(r) = types.kind(ty) else { return None };
    let record = types.record(*r);
    let natural = types.size_align(ty).is_some();
    let mut at = 0i64;
    for f in record.fields.as_ref()? {
        let size = size_of(types, lengths, f.ty).or(flexible(types, f.ty))?;
        if !record.is_union {
            let align = types.size_align(f.ty).map_or(1, |x| x.1 as i64);
            at = if natural { at.checked_add(align - 1)? / align * align } else { aligned(at) };
        }
        if &*f.name == name {
            return Some((at, f.ty, f.bits));
        }
        if f.name.is_empty() {
            if let Some((inner, ty, bits)) = field(types, lengths, f.ty, name) {
                return Some((at + inner, ty, bits));
            }
        }
        if !record.is_union {
            at = at.checked_add(size)?;
        }
    }
    None
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
                if record.is_union || fields.iter().any(|f| f.name.is_empty()) {
                    return None;
                }
                for f in fields {
                    let (inner, _, _) = field(types, lengths, ty, &f.name)?;
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
