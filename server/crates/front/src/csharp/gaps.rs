//! What is not followed: gaps that stand in place of terms, each with its reason.

use term::{Op, Reach, RejectKind, SymbolId, TermId};
use tree_sitter::Node;

use super::member::{Lower, Value};
use super::read::walk;
use super::types::Ty;

/// Statements through which control leaves the text they stand in.
const JUMPS: [&str; 7] = [
    "return_statement",
    "break_statement",
    "continue_statement",
    "goto_statement",
    "yield_statement",
    "throw_statement",
    "preproc_if",
];

impl Lower<'_> {
    /// A gap in place of `node`, which touches what it names.
    pub(super) fn gap(&mut self, reason: &str, node: Node<'_>) -> TermId {
        self.is_open = true;
        let names = self.names_in(node);
        self.gap_of(reason, node, &names)
    }

    /// A gap that touches these variables and no others of the member.
    pub(super) fn gap_of(&mut self, reason: &str, node: Node<'_>, names: &[SymbolId]) -> TermId {
        let mut understood = Vec::new();
        for &s in names {
            let ty = self.b.symbols[s].ty;
            understood.push(self.term(Op::Sym(s), [], ty, node));
        }
        let kind = if node.has_error() { RejectKind::Syntax } else { RejectKind::Unsupported };
        let (span, reach) = (self.span(node), self.reach_of(node));
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
            !anything
        });
        if anything {
            Reach::Anything
        } else {
            Reach::Named
        }
    }

    /// A gap as a value.
    pub(super) fn unknown(&mut self, reason: &str, node: Node<'_>) -> Value {
        let t = self.gap(reason, node);
        Value { t, ty: Ty::unknown(), lengths: Vec::new() }
    }

    /// A fault of syntax.
    pub(super) fn fault(&mut self, node: Node<'_>) -> TermId {
        self.is_open = true;
        let span = self.span(node);
        let id = self.b.reject(RejectKind::Syntax, "the parser reports an error here", span, Vec::new());
        let ty = self.opaque("?");
        let mut t = self.b.get(id).clone();
        t.ty = ty;
        self.b.set(id, t);
        id
    }
}
