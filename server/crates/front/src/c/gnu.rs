//! What GNU C and C11 add to expressions: assembly, `({ … })`, `_Generic`.

use term::{Op, RejectKind, TermId, TypeId, TypeKind};
use tree_sitter::Node;

use crate::c::Lower;

impl Lower<'_> {
    /// `asm("…" : outputs : inputs : clobbers)`: it touches its operands, and memory. With labels control may go there.
    pub(super) fn assembly(&mut self, node: Node<'_>) -> TermId {
        let mut understood = Vec::new();
        for list in ["output_operands", "input_operands"] {
            let Some(list) = self.field(node, list) else { continue };
            let mut cursor = list.walk();
            for operand in list.named_children(&mut cursor) {
                if let Some(value) = self.field(operand, "value") {
                    let t = self.expr(value);
                    self.escape(t);
                    understood.push(t);
                }
            }
        }
        let reason = "inline assembly is not followed";
        if self.field(node, "goto_labels").is_some() {
            return self.reject(RejectKind::Unsupported, reason, node, understood);
        }
        self.reject_named(RejectKind::Unsupported, reason, node, understood)
    }

    /// `({ a; b; c; })`, whose value is that of its last statement. Where all are expressions, they are evaluated one
    /// after the other; else it is a gap in which what the block does stands.
    pub(super) fn statement_expression(&mut self, block: Node<'_>) -> TermId {
        let mut cursor = block.walk();
        let statements: Vec<Node<'_>> =
            block.named_children(&mut cursor).filter(|n| n.kind() != "comment").collect();
        let plain =
            statements.iter().all(|s| s.kind() == "expression_statement" && s.named_child_count() == 1);
        if plain && !statements.is_empty() && !block.has_error() {
            let mut parts: Vec<TermId> = Vec::new();
            for s in statements {
                if let Some(e) = s.named_child(0) {
                    parts.push(self.expr(e));
                }
            }
            let Some(last) = parts.pop() else {
                return self.reject(
                    RejectKind::Syntax,
                    "a part of this expression is missing",
                    block,
                    vec![],
                );
            };
            return self.after(parts, last, block);
        }
        let list = self.block(block);
        let leaves = self.leaves(list);
        let reason = "a statement expression with statements in it is not followed";
        match leaves || block.has_error() {
            true => self.reject(RejectKind::Unsupported, reason, block, vec![list]),
            false => self.reject_named(RejectKind::Unsupported, reason, block, vec![list]),
        }
    }

    /// Whether control may leave the block by a jump, or come into it by one.
    fn leaves(&self, block: TermId) -> bool {
        let mut stack = vec![block];
        while let Some(t) = stack.pop() {
            let term = self.b.get(t);
            let jump = matches!(
                term.op,
                Op::Break | Op::Continue | Op::Return | Op::Goto(_) | Op::Label(_) | Op::Case | Op::Default
            );
            if jump {
                return true;
            }
            stack.extend(term.args.iter());
        }
        false
    }

    /// `_Generic(e, T: a, default: b)`: the association of the type of `e`, which is not evaluated (C11 6.5.1.1p3).
    pub(super) fn generic(&mut self, node: Node<'_>) -> TermId {
        let mut cursor = node.walk();
        let mut controlling = None;
        // (type, or `default`; expression)
        let mut associations: Vec<(Option<TypeId>, Node<'_>)> = Vec::new();
        let mut label: Option<Option<TypeId>> = None;
        for child in node.children(&mut cursor) {
            match child.kind() {
                // The grammar takes the word for a type's name.
                "type_descriptor" if self.text(child) == "default" => label = Some(None),
                "default" => label = Some(None),
                "type_descriptor" => label = Some(Some(self.evaluated_type_name(child).0)),
                _ if !child.is_named() => {}
                _ if controlling.is_none() => controlling = Some(child),
                _ => associations.extend(label.take().map(|l| (l, child))),
            }
        }
        let Some(controlling) = controlling.filter(|_| !node.has_error()) else {
            return self.reject(RejectKind::Syntax, "this selection is not understood", node, vec![]);
        };
        let value = self.expr(controlling);
        let of = self.ty(value);
        let of = self.decayed(of);
        let of = self.plain(of);
        let known = |this: &Self, t: TypeId| {
            let mut t = t;
            while let Some(e) = this.b.types.element(t) {
                t = e;
            }
            !matches!(this.b.types.kind(t), TypeKind::Opaque(_))
        };
        let mut all_known = known(self, of);
        let mut chosen = None;
        let mut otherwise = None;
        for (label, value) in &associations {
            match label {
                Some(t) => {
                    all_known &= known(self, *t);
                    let t = self.plain(*t);
                    if t == of {
                        chosen = Some(*value);
                    }
                }
                None => otherwise = Some(*value),
            }
        }
        match chosen.or(otherwise).filter(|_| all_known) {
            Some(value) => self.expr(value),
            None => {
                let understood = associations.iter().map(|(_, v)| self.expr(*v)).collect();
                let reason = "which part of this selection is meant is not known";
                self.reject_named(RejectKind::Unsupported, reason, node, understood)
            }
        }
    }

    /// The type without what a parameter's declaration said of its length.
    fn plain(&mut self, ty: TypeId) -> TypeId {
        match self.b.types.kind(ty) {
            TypeKind::Pointer { .. } => {
                let quals = self.b.types.quals(ty);
                let plain = self.plain_pointer(ty);
                self.b.types.with_quals(plain, quals)
            }
            _ => ty,
        }
    }
}
