//! Trees in the notation of F1.1, for messages, derivations and examples of terms.
//!
//! Deliberately absent: reading them (see `term::notation`).

use std::sync::Arc;

use term::{BinOp, FloatKind, IntKind, Op, TypeKind, UnOp};

use super::tree::{Node, Subject, Tree};
use crate::limits::rules_show::LIMIT;

pub(super) fn print(subject: &Subject, tree: &Tree) -> String {
    let mut out = String::new();
    Printer { subject, typed: false }.term(tree, 0, &mut out);
    out
}

/// With the letters behind numbers that say their types: read as a rule's source it matches the tree.
pub(super) fn notation(subject: &Subject, tree: &Tree) -> String {
    let mut out = String::new();
    Printer { subject, typed: true }.term(tree, 0, &mut out);
    out
}

struct Printer<'a> {
    subject: &'a Subject,
    /// Numbers say their types.
    typed: bool,
}

impl Printer<'_> {
    /// What C writes behind a number of this type.
    fn suffix(&self, n: &Node) -> &'static str {
        let kind = n.ty.filter(|_| self.typed).map(|t| self.subject.types.kind(t));
        match kind {
            Some(TypeKind::Int(IntKind::UInt)) => "u",
            Some(TypeKind::Int(IntKind::Long)) => "l",
            Some(TypeKind::Int(IntKind::ULong)) => "ul",
            Some(TypeKind::Int(IntKind::LongLong)) => "ll",
            Some(TypeKind::Int(IntKind::ULongLong)) => "ull",
            Some(TypeKind::Float(FloatKind::F32)) => "f",
            Some(TypeKind::Float(FloatKind::Long)) => "l",
            _ => "",
        }
    }
    fn call(&self, head: &str, args: &[Tree], out: &mut String) {
        out.push_str(head);
        out.push('(');
        self.listed(args, out);
        out.push(')');
    }
    fn listed(&self, args: &[Tree], out: &mut String) {
        for (k, a) in args.iter().enumerate() {
            if k > 0 {
                out.push(',');
            }
            self.term(a, 0, out);
        }
    }
    fn term(&self, n: &Arc<Node>, min: u8, out: &mut String) {
        if out.len() > LIMIT {
            return;
        }
        if let (Some(alias), Op::Int(_)) = (&n.alias, &n.op) {
            out.push_str(alias);
            return;
        }
        match &n.op {
            Op::Empty => out.push_str("Empty"),
            Op::Int(v) if *v < 0 && min > 0 => out.push_str(&format!("({v}{})", self.suffix(n))),
            Op::Int(v) => out.push_str(&format!("{v}{}", self.suffix(n))),
            Op::Float(v) => out.push_str(&format!("{:?}{}", v.get(), self.suffix(n))),
            Op::Str(s) => out.push_str(&format!("{s:?}")),
            Op::Sym(_) | Op::Name(_) => {
                let word = self.subject.word(n).unwrap_or("?");
                if word.chars().all(|c| c.is_alphanumeric() || c == '_') {
                    out.push_str(word);
                } else {
                    out.push_str(&format!("`{word}`"));
                }
            }
            Op::Var(v) => out.push_str(&format!("${v}")),
            Op::List if n.args.is_empty() => out.push_str("NIL"),
            Op::List => {
                out.push('[');
                self.listed(&n.args, out);
                out.push(']');
            }
            Op::Cons => {
                out.push('[');
                for (k, a) in n.args.iter().enumerate() {
                    if k > 0 {
                        out.push(':');
                    }
                    self.term(a, 0, out);
                }
                out.push(']');
            }
            Op::Binary(op) if n.args.len() == 2 && infix(*op) => {
                let p = op.precedence();
                let open = p < min;
                if open {
                    out.push('(');
                }
                self.term(&n.args[0], p, out);
                out.push_str(op.symbol());
                self.term(&n.args[1], p + 1, out);
                if open {
                    out.push(')');
                }
            }
            Op::Unary(op) if *op != UnOp::Not && n.args.len() == 1 => {
                if min > 0 {
                    out.push('(');
                }
                out.push_str(op.symbol());
                // `-1` is read as a number
                let number = self.typed && matches!(n.args[0].op, Op::Int(_) | Op::Float(_));
                if number {
                    out.push('(');
                }
                self.term(&n.args[0], if number { 0 } else { 14 }, out);
                if number {
                    out.push(')');
                }
                if min > 0 {
                    out.push(')');
                }
            }
            Op::Break => out.push_str("Break"),
            Op::Continue => out.push_str("Continue"),
            Op::Default => out.push_str("Default"),
            Op::Return if n.args.is_empty() => out.push_str("Return"),
            op => {
                let head = head(op);
                if n.args.is_empty() && matches!(op, Op::Apply(_)) {
                    out.push_str(&head);
                } else {
                    self.call(&head, &n.args, out);
                }
            }
        }
    }
}

fn infix(op: BinOp) -> bool {
    !matches!(op, BinOp::BitXor | BinOp::Eq | BinOp::Ne | BinOp::And | BinOp::Or)
}

/// The notation's word for a head.
pub(super) fn head(op: &Op) -> String {
    let word = match op {
        Op::Unary(UnOp::Not) => "Not",
        Op::Binary(op) => return term::notation::head(*op).to_owned(),
        Op::Compound(op) => return term::notation::compound(*op),
        Op::Assign => "Assignment",
        Op::Step { delta, prefix } => match (*delta > 0, prefix) {
            (true, false) => "Increment",
            (true, true) => "PreIncrement",
            (false, false) => "Decrement",
            (false, true) => "PreDecrement",
        },
        Op::Select => "Select",
        Op::Comma => "Comma",
        Op::Index => "ArrayElement",
        Op::Deref => "Deref",
        Op::AddrOf => "AddressOf",
        Op::Call => "MethodCall",
        Op::SizeOf => "SizeOf",
        Op::InitList => "InitList",
        Op::If => "If",
        Op::For => "For",
        Op::While => "While",
        Op::DoWhile => "DoWhile",
        Op::Switch => "Switch",
        Op::Case => "Case",
        Op::Return => "Return",
        Op::Program => "Program",
        Op::Reject(_) => "Reject",
        Op::List => "NIL",
        Op::Apply(h) => return h.to_string(),
        other => return format!("{other:?}"),
    };
    word.to_owned()
}
