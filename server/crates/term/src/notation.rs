//! The term notation of F1.1: `For(Assignment(k,2), k<=ARR_SIZE, Assignment(k,k<<1), [ … ])`, printed and read back.
//!
//! Printing then reading then printing gives the same text. Types of expressions, spans and symbols beyond their names
//! are not part of the notation: what is read has names (`Name`) where a program has symbols, and unknown types.
//!
//! Variables of rules are part of it: `$x`, `$x:int` (a term of that type), `[$head:$tail]`.
//!
//! Deliberately absent: rules (`->`, conditions, actions) and the meaning of any head that is not an [`Op`] of its own.

mod printer;
mod reader;
#[cfg(test)]
mod tests;

pub use printer::{print, type_text};
pub use reader::{read, read_prefix, NotationError};

use crate::{BinOp, UnOp};

/// Operators written between their operands; all others have a head.
fn infix(op: BinOp) -> bool {
    !matches!(op, BinOp::BitXor | BinOp::Eq | BinOp::Ne | BinOp::And | BinOp::Or)
}

/// The head of an operator: of those not written infix in the first place, and accepted for all.
pub fn head(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "Plus",
        BinOp::Sub => "Minus",
        BinOp::Mul => "Mul",
        BinOp::Div => "Div",
        BinOp::Rem => "Mod",
        BinOp::Shl => "LShift",
        BinOp::Shr => "RShift",
        BinOp::BitAnd => "bit_and",
        BinOp::BitOr => "bit_or",
        BinOp::BitXor => "bit_xor",
        BinOp::Lt => "Less",
        BinOp::Le => "LessEquals",
        BinOp::Gt => "Greater",
        BinOp::Ge => "GreaterEquals",
        BinOp::Eq => "Equals",
        BinOp::Ne => "NotEquals",
        BinOp::And => "And",
        BinOp::Or => "Or",
    }
}

/// The head of `a op= b`.
pub fn compound(op: BinOp) -> String {
    let stem = match op {
        BinOp::BitAnd => "BitAnd",
        BinOp::BitOr => "BitOr",
        BinOp::BitXor => "BitXor",
        op => head(op),
    };
    format!("{stem}Assignment")
}

const UNARY: [UnOp; 4] = [UnOp::Plus, UnOp::Neg, UnOp::BitNot, UnOp::Not];

/// Binding strength of prefix operators: above all infix ones.
const PREFIX: u8 = crate::strength::UNARY;

/// Heads and words with a meaning of their own; a name that equals one is written in back-ticks.
const RESERVED: [&str; 41] = [
    "NIL",
    "Empty",
    "Not",
    "Assignment",
    "Increment",
    "Decrement",
    "PreIncrement",
    "PreDecrement",
    "Select",
    "Comma",
    "Checked",
    "Unchecked",
    "Cast",
    "ArrayElement",
    "Dot",
    "Arrow",
    "Deref",
    "AddressOf",
    "MethodCall",
    "CallKernel",
    "SizeOfType",
    "SizeOf",
    "InitList",
    "Declaration",
    "DeclarationAssignment",
    "If",
    "For",
    "While",
    "DoWhile",
    "Break",
    "Continue",
    "Goto",
    "Label",
    "Switch",
    "Case",
    "Default",
    "Return",
    "Function",
    "Program",
    "_MARK_CUDA",
    "Reject",
];

fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
        || BinOp::ALL
            .into_iter()
            .any(|o| head(o) == name || (name.ends_with("Assignment") && compound(o) == name))
}

fn is_plain_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}
