//! Where the members of a struct or union lie: the System V ABI for x86-64 as gcc follows it, with what attributes and
//! `#pragma pack` ask for (gcc's `stor-layout.cc`: `place_field`, `update_alignment_for_field`, `layout_decl`).
//!
//! Computed once, when a record is completed. Deliberately absent: Microsoft's rules (`ms_struct`), and every record of
//! which a member's size is not known: those have no layout.

use std::sync::Arc;

use crate::types::{Field, Len, Record, RecordId, TypeId, TypeKind, Types};

/// What is asked of a member's place beside its type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Placing {
    /// `packed`, on the member or the whole record.
    pub packed: bool,
    /// Bytes asked for on the member itself (`aligned`, `_Alignas`).
    pub align: Option<u64>,
    /// Bytes that the name of its type asks for, in place of what the type needs: a `typedef` with `aligned`.
    pub type_align: Option<u64>,
}

/// What is asked of a whole record beside its members.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct RecordPlacing {
    /// `#pragma pack(n)`: no member is aligned to more bytes.
    pub pack: Option<u64>,
    /// `aligned` on the record, in bytes.
    pub align: Option<u64>,
    /// Something is asked for that is not followed: size and places are not known.
    pub unknown: bool,
}

/// A record's size and where its members lie.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// Bytes.
    pub size: u64,
    /// Bytes.
    pub align: u64,
    /// Of each member, in order.
    pub members: Box<[Member]>,
}

/// Where a member lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// Bits from the record's first. Whole bytes for all but bit-fields.
    pub bit: u64,
    /// By how many bytes it was aligned when it was placed; 0 for a bit-field that goes on where the last ended.
    pub align: u64,
}

/// What is asked of a record and its members beside their types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlignedForm {
    /// Bytes, of the whole.
    pub align: u64,
    /// Bytes that must be asked for on the record.
    pub whole: Option<u64>,
    /// Bytes that must be asked for on each member.
    pub members: Box<[Option<u64>]>,
}

impl Types {
    /// Where the members of a record lie; `None` where that is not known.
    pub fn layout(&self, r: RecordId) -> Option<&Arc<Layout>> {
        self.record(r).layout.as_ref()
    }

    /// Bytes from a record's start to a member (of it or of an anonymous member) and the member's type; not of
    /// bit-fields.
    pub fn member_at(&self, r: RecordId, name: &str) -> Option<(u64, TypeId)> {
        self.member_within(r, name, 0)
    }

    fn member_within(&self, r: RecordId, name: &str, depth: u32) -> Option<(u64, TypeId)> {
        let (layout, fields) = (self.layout(r)?, self.record(r).fields.as_ref()?);
        let all = || fields.iter().zip(&layout.members).filter(|(f, _)| f.bits.is_none());
        if let Some((f, m)) = all().find(|(f, _)| &*f.name == name) {
            return Some((m.bit / 8, f.ty));
        }
        all().filter(|(f, _)| f.name.is_empty() && depth < 16).find_map(|(f, m)| {
            let TypeKind::Record(inner) = self.kind(f.ty) else { return None };
            let (at, ty) = self.member_within(*inner, name, depth + 1)?;
            Some((m.bit / 8 + at, ty))
        })
    }

    /// How a record is written so that its bytes lie where they lie and every number in it is aligned by its own size, as
    /// the loads of a GPU ask for. `None` where that is not possible: it is packed, or has bit-fields.
    pub fn aligned_form(&self, r: RecordId) -> Option<AlignedForm> {
        self.aligned_within(r, 0)
    }

    fn aligned_within(&self, r: RecordId, depth: u32) -> Option<AlignedForm> {
        let (layout, fields) = (self.layout(r)?, self.record(r).fields.as_ref()?);
        let (mut at, mut align) = (0u64, 1);
        let mut asks = Vec::with_capacity(fields.len());
        for (f, m) in fields.iter().zip(&layout.members) {
            let (size, need) = self.form_of(f.ty, depth)?;
            let natural = match self.record(r).is_union {
                true => 0,
                false => at.checked_next_multiple_of(need)?,
            };
            let ask = match m.bit / 8 {
                _ if f.bits.is_some() || f.name.is_empty() => return None,
                at if at == natural => None,
                at if m.align > need && natural.checked_next_multiple_of(m.align)? == at => Some(m.align),
                _ => return None,
            };
            align = align.max(need).max(ask.unwrap_or(1));
            at = m.bit / 8 + size;
            asks.push(ask);
        }
        let whole = (layout.align > align).then_some(layout.align);
        let align = align.max(layout.align);
        let end = if self.record(r).is_union { layout.size } else { at };
        (end.checked_next_multiple_of(align)? == layout.size).then_some(AlignedForm {
            align,
            whole,
            members: asks.into(),
        })
    }

    /// Size and alignment of a type whose records are written so.
    fn form_of(&self, ty: TypeId, depth: u32) -> Option<(u64, u64)> {
        match self.kind(ty) {
            TypeKind::Array { of, .. } => Some((self.size_align(ty)?.0, self.form_of(*of, depth)?.1)),
            TypeKind::Record(r) if depth < 16 => {
                Some((self.size_align(ty)?.0, self.aligned_within(*r, depth + 1)?.align))
            }
            TypeKind::Record(_) => None,
            _ => self.size_align(ty),
        }
    }

    /// Computes a record's layout from its members, whose types are complete.
    pub(crate) fn lay_out(&self, record: &Record) -> Option<Layout> {
        let fields = record.fields.as_ref()?;
        if record.placing.unknown {
            return None;
        }
        let mut l = LayingOut {
            is_union: record.is_union,
            pack: record.placing.pack,
            bit: 0,
            align: record.placing.align.unwrap_or(1).max(1),
        };
        let mut members = Vec::with_capacity(fields.len());
        for (k, f) in fields.iter().enumerate() {
            let (size, align) = match (self.size_align(f.ty), self.kind(f.ty)) {
                (Some(known), _) => known,
                // a flexible array member: its elements begin here and are not counted
                (None, TypeKind::Array { of, len: Len::Unknown }) if k + 1 == fields.len() => {
                    (0, self.size_align(*of)?.1)
                }
                _ => return None,
            };
            members.push(l.place(f, size, f.placing.type_align.unwrap_or(align))?);
        }
        let size = l.bit.div_ceil(8).checked_next_multiple_of(l.align)?;
        Some(Layout { size, align: l.align, members: members.into() })
    }
}

struct LayingOut {
    is_union: bool,
    pack: Option<u64>,
    /// Bits taken so far.
    bit: u64,
    /// Of the record so far, in bytes.
    align: u64,
}

impl LayingOut {
    /// `size`, `align`: of the member's type, in bytes.
    fn place(&mut self, f: &Field, size: u64, align: u64) -> Option<Member> {
        let capped = |a: u64| self.pack.map_or(a, |p| a.min(p));
        let own = f.placing.align;
        let desired = match (f.bits, f.placing.packed) {
            // as if of another unit: neither `packed` nor `#pragma pack` holds for it
            (Some(0), _) => own.unwrap_or(1).max(align),
            (Some(_), _) => capped(own.unwrap_or(0)),
            (None, true) => capped(own.unwrap_or(1)),
            (None, false) => capped(own.unwrap_or(1).max(align)),
        };
        let of_record = match f.bits {
            None => desired,
            Some(_) if f.name.is_empty() => 1,
            Some(0) => return None,
            Some(_) if self.pack.is_some() => desired.max(capped(align)),
            Some(_) if f.placing.packed => desired.max(1),
            Some(_) => desired.max(align),
        };
        self.align = self.align.max(of_record);
        let bits = match f.bits {
            Some(b) => u64::from(b),
            None => size.checked_mul(8)?,
        };
        if f.bits.is_some_and(|b| u64::from(b) > size * 8) {
            return None;
        }
        if self.is_union {
            self.bit = self.bit.max(bits.checked_next_multiple_of(8)?);
            return Some(Member { bit: 0, align: desired });
        }
        if desired > 0 {
            self.bit = self.bit.checked_next_multiple_of(desired.checked_mul(8)?)?;
        }
        if f.bits.is_none() {
            self.bit = self.bit.checked_next_multiple_of(8)?;
        }
        if bits > 0 && f.bits.is_some() && !f.placing.packed && self.pack.is_none() {
            // A bit-field spans no more units of its type than the type itself.
            let unit = align.checked_mul(8)?;
            let units = (self.bit % unit).checked_add(bits)?.div_ceil(unit);
            if units > size * 8 / unit {
                self.bit = self.bit.checked_next_multiple_of(unit)?;
            }
        }
        let bit = self.bit;
        self.bit = self.bit.checked_add(bits)?;
        Some(Member { bit, align: desired })
    }
}
