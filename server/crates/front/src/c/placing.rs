//! Which attributes belong to what is declared, and what they ask of the places of members.
//!
//! As gcc has it: before the first declarator they are on everything declared, behind a declarator on that one; between
//! `struct` and its brace, and right behind the closing brace, on the type.

use term::{Field, IntKind, RecordPlacing, TypeId, TypeKind};
use tree_sitter::Node;

use crate::c::asks::{Asked, Asks};
use crate::c::fields::part_of;
use crate::c::pp::pack::Pack;
use crate::c::Lower;

/// The attributes of one declarator.
#[derive(Default)]
pub(super) struct OfDeclarator {
    pub at: Asks,
    /// Inside of it: they are on a pointer's target or on something else that is not followed.
    pub inside: Asks,
}

impl Lower<'_> {
    /// The attributes that stand before the tokens of these indices.
    fn asks_before(&self, mut here: impl FnMut(usize) -> bool) -> Asks {
        let mut out = Asks::default();
        for (at, found) in &self.r.attributes {
            if here(*at) {
                out.extend(&found.layout);
            }
        }
        out
    }

    /// Asks of a struct, union or enum specifier with a body.
    pub(super) fn type_asks(&self, node: Node<'_>, body: Node<'_>) -> Asks {
        let (first, last) = self.ends(node);
        let brace = self.ends(body).0;
        self.asks_before(|k| (first < k && k <= brace) || k == last + 1)
    }

    /// Asks in a declaration before its first declarator, which are on all that it declares.
    pub(super) fn specifier_asks(&self, declaration: Node<'_>, declarator: Node<'_>) -> Asks {
        let (first, end) = (self.ends(declaration).0, self.ends(declarator).0);
        let of_type = part_of(declaration, "type").map(|t| {
            let (from, to) = self.ends(t);
            (from, to + usize::from(part_of(t, "body").is_some()))
        });
        self.asks_before(|k| {
            let is_types = of_type.is_some_and(|(from, to)| from < k && k <= to);
            first <= k && k <= end && !is_types
        })
    }

    /// Asks of a declarator that ends with `last`. Those before the first are everyone's.
    pub(super) fn declarator_asks(
        &self,
        declarator: Node<'_>,
        last: Node<'_>,
        is_first: bool,
    ) -> OfDeclarator {
        let (start, end) = (self.ends(declarator).0, self.ends(last).1);
        OfDeclarator {
            at: self.asks_before(|k| k == end + 1 || (k == start && !is_first)),
            inside: self.asks_before(|k| start < k && k <= end),
        }
    }

    /// Whether a type is another or an array of it, so that it is aligned like that.
    pub(super) fn is_array_of(&self, mut ty: TypeId, of: TypeId) -> bool {
        loop {
            if ty == of {
                return true;
            }
            match self.b.types.kind(ty) {
                TypeKind::Array { of, .. } => ty = *of,
                _ => return false,
            }
        }
    }

    /// What is asked of a record whose members are read next.
    pub(super) fn record_placing(&self, node: Node<'_>, body: Node<'_>) -> (RecordPlacing, bool) {
        let attributes = self.type_asks(node, body);
        let (first, last) = (self.ends(node).0, self.ends(body).1);
        let (opened, closed) = (self.pack_at(first), self.pack_at(last));
        let mut placing = RecordPlacing::default();
        match closed {
            // gcc asks at the closing brace, clang at the start
            _ if opened != closed => placing.unknown = true,
            Pack::Natural => {}
            Pack::Most(n) => placing.pack = Some(n),
            Pack::Unknown => placing.unknown = true,
        }
        match attributes.aligned() {
            Asked::Nothing => {}
            Asked::Bytes(n) => placing.align = Some(n),
            Asked::Unknown => placing.unknown = true,
        }
        placing.unknown |= attributes.is_odd_layout() || attributes.aligned_twice();
        (placing, attributes.has("packed"))
    }

    /// Notes what is asked of a member: in its declaration, on itself, and by its type's name. Whether that is followed.
    pub(super) fn place_field(
        &self,
        field: &mut Field,
        of_type: Asked,
        common: &Asks,
        own: &OfDeclarator,
    ) -> bool {
        field.placing.packed |= common.has("packed") || own.at.has("packed");
        let mut all = common.clone();
        all.extend(&own.at);
        let asked = all.aligned();
        if let Asked::Bytes(n) = asked {
            field.placing.align = Some(n);
        }
        if let Asked::Bytes(n) = of_type {
            field.placing.type_align = Some(n);
        }
        let inside = &own.inside;
        let is_plain = inside.aligned() == Asked::Nothing && !inside.has("packed");
        let is_odd = all.is_odd_layout() || inside.is_odd_layout();
        is_plain && !is_odd && asked != Asked::Unknown && of_type != Asked::Unknown
    }

    /// The type that gcc and clang choose for an enumeration's values (C11 6.7.2.2p4 leaves it to them); in C++ the one that its values
    /// are promoted to (C++17 7.6p3), which is as large. `None` where none holds them all.
    pub(super) fn enum_kind(&self, least: i128, most: i128, packed: bool) -> Option<IntKind> {
        use IntKind::*;
        let small = [UChar, SChar, UShort, Short];
        let usual = [UInt, Int, ULong, Long];
        let from = if packed { &small[..] } else { &[] };
        let (promoted, is_cpp) = ([Int, UInt, Long, ULong], self.env.is_cpp() && !packed);
        let usual = if is_cpp { promoted } else { usual };
        let holds = |k: IntKind| k.min() <= least && most <= k.max() && (is_cpp || k.signed() == (least < 0));
        from.iter().chain(&usual).copied().find(|k| holds(*k))
    }
}
