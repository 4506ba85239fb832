//! Initialisers: lists, designators, compound literals.
//!
//! A list with designators becomes the list without them where each names one member or element by a constant; what
//! stands between is zero (C11 6.7.9p19, p21).

use term::{IntKind, Len, Op, Origin, RejectKind, TermId, TypeId, TypeKind};
use tree_sitter::Node;

use crate::c::fields::part_of;
use crate::c::{Lower, MAX_DEPTH};
use crate::limits::c_initialise::MAX_WRITTEN_OUT;

impl Lower<'_> {
    /// The length that an initialiser gives an array.
    pub(super) fn initialised_length(&self, init: TermId) -> Option<u64> {
        let t = self.b.get(init);
        match &t.op {
            Op::InitList => {
                let gap = t.args.iter().any(|&a| matches!(self.b.get(a).op, Op::Reject(_)));
                (!gap).then_some(t.args.len() as u64)
            }
            Op::Str(s) => Some(s.len() as u64 + 1),
            _ => None,
        }
    }

    /// An initialiser of something of this type, where that is known.
    pub(super) fn initialiser(&mut self, node: Node<'_>, of: Option<TypeId>) -> TermId {
        if node.kind() != "initializer_list" {
            return self.expr(node);
        }
        self.depth += 1;
        let list = if self.depth > MAX_DEPTH {
            self.reject(RejectKind::TooDeep, "it is nested too deeply", node, vec![])
        } else {
            self.initialiser_list(node, of)
        };
        self.depth -= 1;
        list
    }

    fn initialiser_list(&mut self, node: Node<'_>, of: Option<TypeId>) -> TermId {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        let designated = children.iter().any(|c| c.kind() == "initializer_pair");
        let ty = self.b.types.plain(TypeKind::Opaque("{}".into()));
        let places = if designated { self.places(&children, of) } else { None };
        // Of what stands where in the list, the types below; without designators braces may be left out.
        let braced = children.iter().all(|c| c.kind() == "initializer_list");
        let mut items = Vec::new();
        for (k, child) in children.iter().enumerate() {
            let value = match child.kind() {
                "initializer_pair" => part_of(*child, "value").unwrap_or(*child),
                _ => *child,
            };
            let at = match &places {
                Some(places) => Some(places[k]),
                None => Some(k).filter(|_| braced && !designated),
            };
            let inner = of.zip(at).and_then(|(of, k)| self.part_type(of, k));
            let t = self.initialiser(value, inner);
            self.escape(t);
            items.push(t);
        }
        match places {
            Some(places) => self.written_out(node, of, &places, items),
            None if designated => {
                let reason = "designators that name more than one member or element are not followed";
                self.reject_named(RejectKind::Unsupported, reason, node, items)
            }
            None => self.term(Op::InitList, items, ty, node),
        }
    }

    /// Which member or element each item is for; `None` where that is more than one place for each.
    fn places(&mut self, children: &[Node<'_>], of: Option<TypeId>) -> Option<Vec<usize>> {
        let of = of?;
        let mut out: Vec<usize> = Vec::new();
        let mut next = 0;
        for child in children {
            let mut value = *child;
            if child.kind() == "initializer_pair" {
                let mut cursor = child.walk();
                let designators: Vec<Node<'_>> =
                    child.children_by_field_name("designator", &mut cursor).collect();
                let [designator] = designators.as_slice() else { return None };
                next = match designator.kind() {
                    "subscript_designator" => {
                        let index = self.expr(designator.named_child(0)?);
                        usize::try_from(self.value(index)?).ok()?
                    }
                    "field_designator" | "field_identifier" => {
                        let name = match designator.kind() {
                            "field_designator" => self.text(designator.named_child(0)?),
                            _ => self.text(*designator),
                        };
                        let record = self.b.types.record(self.record_of(of)?);
                        record.fields.as_ref()?.iter().position(|f| &*f.name == name)?
                    }
                    _ => return None,
                };
                value = part_of(*child, "value")?;
            }
            // Without braces of its own an item would go into the parts of an aggregate.
            let part = self.part_type(of, next)?;
            let scalar = self.b.types.is_arithmetic(part) || self.is_plain_pointer(part);
            if (!scalar && value.kind() != "initializer_list")
                || out.contains(&next)
                || next >= MAX_WRITTEN_OUT
            {
                return None;
            }
            out.push(next);
            next += 1;
        }
        Some(out)
    }

    fn is_plain_pointer(&self, ty: TypeId) -> bool {
        matches!(self.b.types.kind(ty), TypeKind::Pointer { .. })
    }

    /// The type of the member or element of this number.
    fn part_type(&self, of: TypeId, k: usize) -> Option<TypeId> {
        match self.b.types.kind(of) {
            TypeKind::Array { of, len } => match len {
                Len::Const(n) if *n <= k as u64 => None,
                _ => Some(*of),
            },
            TypeKind::Record(r) => {
                let record = self.b.types.record(*r);
                let field = record.fields.as_ref()?.get(k)?;
                // Of a union one member alone is there; unnamed parts and bit-fields have places of their own.
                let plain = !field.name.is_empty() && field.bits.is_none() && (!record.is_union || k == 0);
                let all_named = record.fields.as_ref()?.iter().all(|f| !f.name.is_empty());
                (plain && all_named).then_some(field.ty)
            }
            _ => None,
        }
    }

    /// The list with zeros between.
    fn written_out(
        &mut self,
        node: Node<'_>,
        of: Option<TypeId>,
        places: &[usize],
        items: Vec<TermId>,
    ) -> TermId {
        let count = places.iter().max().map_or(0, |m| m + 1);
        let mut slots: Vec<Option<TermId>> = vec![None; count];
        for (&k, t) in places.iter().zip(items) {
            slots[k] = Some(t);
        }
        let int = self.b.types.int(IntKind::Int);
        let list = self.b.types.plain(TypeKind::Opaque("{}".into()));
        let span = self.span(node);
        let mut all = Vec::new();
        for (k, slot) in slots.into_iter().enumerate() {
            all.push(match slot {
                Some(t) => t,
                None => {
                    let zero = self.b.term_from(Op::Int(0), [], int, span, Origin::Macro);
                    let part = of.and_then(|of| self.part_type(of, k));
                    let aggregate = part.is_some_and(|p| {
                        matches!(self.b.types.kind(p), TypeKind::Array { .. } | TypeKind::Record(_))
                    });
                    match aggregate {
                        true => self.b.term_from(Op::InitList, [zero], list, span, Origin::Macro),
                        false => zero,
                    }
                }
            });
        }
        self.term(Op::InitList, all, list, node)
    }

    /// `(struct P){1, 2}`: an object without a name, which is not followed; what its initialiser does is.
    pub(super) fn compound_literal(&mut self, node: Node<'_>) -> TermId {
        let mut understood = Vec::new();
        let mut of = None;
        if let Some(t) = part_of(node, "type") {
            let (ty, sizes) = self.evaluated_type_name(t);
            understood.extend(sizes);
            of = Some(ty);
        }
        if let Some(v) = part_of(node, "value") {
            understood.push(self.initialiser(v, of));
        }
        let reason = "an object without a name (a compound literal) is not followed";
        let gap = self.reject_named(RejectKind::Unsupported, reason, node, understood);
        if let Some(of) = of {
            let mut t = self.b.get(gap).clone();
            t.ty = of;
            self.b.set(gap, t);
        }
        gap
    }
}
