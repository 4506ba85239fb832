//! What is not followed: gaps that stand in place of terms, each with its reason.

use term::{Op, Overflow, Reach, RejectKind, SymbolId, TermId, TypeKind};
use tree_sitter::Node;

use super::member::{Lower, Value};
use super::names::assigned_in;
use super::read::walk;
use super::types::Ty;

/// Statements through which control leaves the text they stand in.
const JUMPS: [&str; 6] = [
    "return_statement",
    "break_statement",
    "continue_statement",
    "goto_statement",
    "throw_statement",
    "preproc_if",
];

impl<'a> Lower<'a> {
    /// A gap in place of `node`, which touches what it names.
    pub(super) fn gap(&mut self, reason: &str, node: Node<'a>) -> TermId {
        self.is_open = true;
        self.leave(node, reason);
        let names = self.names_in(node);
        self.gap_of(reason, node, &names)
    }

    /// A gap that touches these variables and no others of the member.
    pub(super) fn gap_of(&mut self, reason: &str, node: Node<'_>, names: &[SymbolId]) -> TermId {
        let mut understood = Vec::new();
        let set = assigned_in(&[node], self.document);
        for &s in names {
            let symbol = &self.b.symbols[s];
            let (ty, is_set) = (symbol.ty, set.contains(&*symbol.name));
            let t = self.term(Op::Sym(s), [], ty, node);
            understood.push(if is_set { t } else { self.as_read(t) });
        }
        let reach = self.reach_of(node);
        self.gap_reaching(reason, node, reach, understood)
    }

    /// A gap that control comes through: what it names may have any value behind it.
    pub(super) fn shuffle(&mut self, reason: &str, node: Node<'_>, names: &[SymbolId]) -> TermId {
        let mut understood = Vec::new();
        for &s in names {
            let ty = self.b.symbols[s].ty;
            understood.push(self.term(Op::Sym(s), [], ty, node));
        }
        self.gap_reaching(reason, node, Reach::Named, understood)
    }

    fn gap_reaching(
        &mut self,
        reason: &str,
        node: Node<'_>,
        reach: Reach,
        understood: Vec<TermId>,
    ) -> TermId {
        self.is_open = true;
        let kind = if node.has_error() { RejectKind::Syntax } else { RejectKind::Unsupported };
        let span = self.span(node);
        let id = self.b.reject_that(kind, reason, span, reach, understood);
        let ty = self.opaque("?");
        let mut t = self.b.get(id).clone();
        t.ty = ty;
        self.b.set(id, t);
        id
    }

    /// How far a gap reaches: what jumps out of it goes anywhere, and so does what is faulty.
    fn reach_of(&self, node: Node<'_>) -> Reach {
        let mut anything = node.has_error() || node.is_missing();
        walk(node, |n| {
            anything |= JUMPS.contains(&n.kind());
            // a function leaves itself
            !anything && !super::nested::is_function(n.kind())
        });
        if anything {
            Reach::Anything
        } else {
            Reach::Named
        }
    }

    /// A number that a gap only reads: no use of a variable can set it but those that say so.
    pub(super) fn as_read(&mut self, t: TermId) -> TermId {
        let ty = self.b.get(t).ty;
        if !matches!(self.b.types.kind(ty), TypeKind::Int(_) | TypeKind::Float(_)) {
            return t;
        }
        let span = self.b.span(t);
        self.b.term(Op::Arithmetic(Overflow::Wraps), [t], ty, span)
    }

    /// A gap as a value.
    pub(super) fn unknown(&mut self, reason: &str, node: Node<'a>) -> Value {
        let t = self.gap(reason, node);
        Value { t, ty: Ty::unknown(), lengths: Vec::new() }
    }

    /// A fault of syntax.
    pub(super) fn fault(&mut self, node: Node<'a>) -> TermId {
        self.is_open = true;
        self.leave(node, "the parser reports an error here");
        let span = self.span(node);
        let id = self.b.reject(RejectKind::Syntax, "the parser reports an error here", span, Vec::new());
        let ty = self.opaque("?");
        let mut t = self.b.get(id).clone();
        t.ty = ty;
        self.b.set(id, t);
        id
    }
}
