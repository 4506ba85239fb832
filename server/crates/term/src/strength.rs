//! How tightly operators bind: the one table of it, for whoever writes or reads expressions. C, C++ and C# agree on it.
//!
//! Higher binds tighter. What the grammar needs is [`of_part`]; with the parentheses that readers and compilers' warnings
//! ask for besides it is [`needed`].

use crate::{BinOp, Op};

/// Stands anywhere: a statement, what is in parentheses already.
pub const NONE: u8 = 0;
pub const COMMA: u8 = 1;
pub const ASSIGN: u8 = 2;
pub const SELECT: u8 = 3;
/// `||`; operators between their operands go from here to [`MUL`], see [`BinOp::precedence`].
pub const OR: u8 = 4;
pub const AND: u8 = 5;
pub const COMPARE: u8 = 10;
pub const SHIFT: u8 = 11;
pub const ADD: u8 = 12;
pub const MUL: u8 = 13;
/// Prefix operators and conversions.
pub const UNARY: u8 = 14;
pub const POSTFIX: u8 = 15;
/// Names, numbers, what is in parentheses.
pub const ATOM: u8 = 16;

/// How tightly a head binds.
pub fn of(op: &Op) -> u8 {
    match op {
        Op::Comma => COMMA,
        Op::Assign | Op::Compound(_) => ASSIGN,
        Op::Select => SELECT,
        Op::Binary(b) => b.precedence(),
        Op::Int(v) if *v < 0 => UNARY,
        Op::Float(v) if v.get().is_sign_negative() => UNARY,
        Op::Unary(_) | Op::Deref | Op::AddrOf | Op::SizeOf | Op::Cast => UNARY,
        Op::Step { prefix: true, .. } => UNARY,
        Op::Index | Op::Member { .. } | Op::Call | Op::Launch | Op::Step { .. } => POSTFIX,
        // The heads that rules have for these.
        Op::Apply(h) if &**h == "Cast" => UNARY,
        Op::Apply(h) if matches!(&**h, "Dot" | "Arrow" | "CallKernel") => POSTFIX,
        Op::List | Op::Reject(_) => NONE,
        _ => ATOM,
    }
}

/// How tightly the `k`th part of a head must bind to need no parentheses.
pub fn of_part(op: &Op, k: usize) -> u8 {
    match (op, k) {
        (Op::Binary(b), 0) => b.precedence(),
        (Op::Binary(b), _) => b.precedence() + 1,
        (Op::Unary(_) | Op::Deref | Op::AddrOf | Op::SizeOf | Op::Cast, _) => UNARY,
        (Op::Step { prefix: true, .. }, _) => UNARY,
        (Op::Step { .. } | Op::Index | Op::Member { .. } | Op::Call | Op::Launch, 0) => POSTFIX,
        (Op::Call | Op::Launch | Op::InitList | Op::Declare(_), _) => ASSIGN,
        (Op::Assign | Op::Compound(_), 0) => UNARY,
        (Op::Assign | Op::Compound(_), _) => ASSIGN,
        (Op::Select, 0) => SELECT + 1,
        (Op::Select, 2) => SELECT,
        (Op::Comma, 0) => COMMA,
        (Op::Comma, _) => ASSIGN,
        _ => NONE,
    }
}

/// Like [`of_part`], with the parentheses that readers and compilers' warnings want: `(a & b) << c`, `(a << b) < c`,
/// `(a && b) || c`, `(a < b) == c`, `a ? (b ? c : d) : e`.
pub fn needed(op: &Op, k: usize, part: &Op) -> u8 {
    let bits = |b: BinOp| matches!(b, BinOp::Shl | BinOp::Shr | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor);
    let exact = of_part(op, k);
    match (op, part) {
        (Op::Binary(b), Op::Binary(inner)) => {
            let mixed = b != inner && (bits(*b) || bits(*inner)) && !b.is_logical();
            let either = b != inner && b.is_logical() && inner.is_logical();
            let chained = b.is_comparison() && inner.is_comparison();
            if mixed || either || chained {
                UNARY
            } else {
                exact
            }
        }
        (Op::Select, _) if k == 1 => SELECT + 1,
        // C++23 reads `a[i, j]` as two subscripts.
        (Op::Index, _) if k == 1 => ASSIGN,
        _ => exact,
    }
}

/// The text, in parentheses where it binds less tightly than its place needs.
pub fn enclosed(text: String, strength: u8, needed: u8) -> String {
    if strength < needed {
        format!("({text})")
    } else {
        text
    }
}
