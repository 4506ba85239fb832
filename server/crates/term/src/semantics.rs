//! What arithmetic means: a language's row, and the one question about it.
//!
//! Whoever takes an integer expression for the whole number that it looks like asks here, and nowhere else: "at this
//! place, what does overflow of this type do?" ([`Body::overflow`]). Only where it is undefined may it be taken not to
//! happen; where it wraps or traps, that it does not happen is something to prove, or to test before the loop.
//! Shifts and quotients have meanings of their own and are asked for in the same way ([`Body::arithmetic`]).
//!
//! A language has one row ([`Semantics`]). A body carries its row, so that it means something by itself and bodies of
//! two rows have two hashes; an expression can say otherwise for what is written in it ([`Op::Arithmetic`], the
//! `checked(…)` of C#). Functions that it calls are not written in it.
//!
//! Deliberately absent: floating-point arithmetic, which no language here traps on, and conversions: the value that a
//! narrower type holds is the same in all of them, whether it traps is [`Arithmetic::overflow`] of that type.

use rustc_hash::FxHashMap;

use crate::{BinOp, Body, IntKind, Op, TermId, UnOp};

/// What an operation does whose result its type does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Overflow {
    /// The result is taken modulo a power of two.
    Wraps,
    /// The program has no meaning: it may be taken not to happen.
    Undefined,
    /// An exception, where control leaves.
    Traps,
}

/// What a shift by a number of bits that the type does not have does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShiftCount {
    /// The program has no meaning (C11 6.5.7p3).
    Undefined,
    /// Only the low bits of the count are looked at (C# 12.11).
    Masked,
}

/// A language's row: what differs between languages and matters for meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Semantics {
    /// Of signed types as wide as `int` or wider; nothing is computed in narrower ones.
    signed: Overflow,
    /// Of unsigned types as wide as `int` or wider.
    unsigned: Overflow,
    /// Of `MIN / -1` and `MIN % -1`.
    quotient: Overflow,
    /// Of a division by zero.
    by_zero: Overflow,
    shift: ShiftCount,
    /// Whether an access outside an array raises an exception (C#) instead of being undefined (C).
    pub checked_bounds: bool,
    /// Whether loops without side effects may be taken to end (C11 6.8.5p6).
    pub loops_end: bool,
    /// Whether operands are evaluated from left to right (C#) instead of in any order (C).
    pub operands_in_order: bool,
}

impl Semantics {
    /// C and CUDA C++ (C11 6.2.5p9, 6.5p5, 6.5.5p6).
    pub const C: Semantics = Semantics {
        signed: Overflow::Undefined,
        unsigned: Overflow::Wraps,
        quotient: Overflow::Undefined,
        by_zero: Overflow::Undefined,
        shift: ShiftCount::Undefined,
        checked_bounds: false,
        loops_end: true,
        operands_in_order: false,
    };
    /// C as `gcc -fwrapv` compiles it: sums, differences and products of signed types wrap, and nothing else changes.
    pub const WRAPPING_C: Semantics = Semantics { signed: Overflow::Wraps, ..Semantics::C };

    /// C# (12.8.20, 12.10.3, 12.11; 12.4.7 for the order): integers wrap unless an expression is `checked`.
    pub const CSHARP: Semantics = Semantics {
        signed: Overflow::Wraps,
        unsigned: Overflow::Wraps,
        quotient: Overflow::Traps,
        by_zero: Overflow::Traps,
        shift: ShiftCount::Masked,
        checked_bounds: true,
        loops_end: false,
        operands_in_order: true,
    };

    /// Arithmetic where no expression says otherwise.
    pub fn arithmetic(self) -> Arithmetic {
        Arithmetic { row: self, said: None }
    }
}

/// What arithmetic means at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arithmetic {
    row: Semantics,
    /// What the expression around says ([`Op::Arithmetic`]).
    said: Option<Overflow>,
}

/// Why an operation has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoValue {
    /// The program has no meaning.
    Undefined,
    /// It raises an exception.
    Traps,
}

impl Arithmetic {
    /// What a sum, difference or product does that the type does not hold. Of a type narrower than `int`, in which
    /// nothing is computed: what the conversion of a result to it does.
    pub fn overflow(self, kind: IntKind) -> Overflow {
        match self.said {
            Some(said) => said,
            None if self.promotes(kind) => Overflow::Wraps,
            None if kind.signed() => self.row.signed,
            None => self.row.unsigned,
        }
    }
    /// Whether results are those of whole numbers wherever the program means something.
    pub fn is_exact(self, kind: IntKind) -> bool {
        self.overflow(kind) == Overflow::Undefined
    }
    /// Whether operands of the type are converted to a wider one first (C11 6.3.1.1p2; C# 12.4.7 says the same).
    pub fn promotes(self, kind: IntKind) -> bool {
        kind.promoted() != kind
    }
    /// By how many bits a shift of the type by `count` moves; `None` where it means nothing.
    pub fn shift_count(self, kind: IntKind, count: i128) -> Option<u32> {
        let bits = kind.bits();
        match self.row.shift {
            ShiftCount::Masked => Some((count & i128::from(bits - 1)) as u32),
            ShiftCount::Undefined => u32::try_from(count).ok().filter(|&n| n < bits),
        }
    }

    /// The result in the type, or what overflow makes of it.
    pub fn fit(self, kind: IntKind, v: i128) -> Result<i128, NoValue> {
        match self.overflow(kind) {
            _ if kind.wrap(v) == v => Ok(v),
            Overflow::Wraps => Ok(kind.wrap(v)),
            Overflow::Undefined => Err(NoValue::Undefined),
            Overflow::Traps => Err(NoValue::Traps),
        }
    }
    /// The value of an operation in `kind` on operands of that type (of a shift, the left one). Comparisons and
    /// logical operators give 0 or 1.
    pub fn binary(self, op: BinOp, kind: IntKind, a: i128, b: i128) -> Result<i128, NoValue> {
        let stops = |o: Overflow| if o == Overflow::Traps { NoValue::Traps } else { NoValue::Undefined };
        let v = match op {
            BinOp::Add => a + b,
            BinOp::Sub => a - b,
            BinOp::Mul => match a.checked_mul(b) {
                Some(v) => v,
                // Modulo 2^128 it is the same modulo 2^64.
                None if self.overflow(kind) == Overflow::Wraps => a.wrapping_mul(b),
                None => return Err(stops(self.overflow(kind))),
            },
            BinOp::Div | BinOp::Rem if b == 0 => return Err(stops(self.row.by_zero)),
            BinOp::Div | BinOp::Rem => match kind.wrap(a / b) == a / b {
                true if op == BinOp::Div => a / b,
                true => a % b,
                false => return Err(stops(self.row.quotient)),
            },
            BinOp::Shl | BinOp::Shr => {
                let by = self.shift_count(kind, b).ok_or(NoValue::Undefined)?;
                match op {
                    BinOp::Shr => a >> by,
                    // Of a negative number, or of a bit into the sign or beyond (C11 6.5.7p4).
                    _ if self.is_exact(kind) && (a < 0 || kind.wrap(a << by) != a << by) => {
                        return Err(NoValue::Undefined)
                    }
                    // Bits are lost, never trapped on.
                    _ => return Ok(kind.wrap(a << by)),
                }
            }
            BinOp::BitAnd => a & b,
            BinOp::BitOr => a | b,
            BinOp::BitXor => a ^ b,
            BinOp::Lt => i128::from(a < b),
            BinOp::Le => i128::from(a <= b),
            BinOp::Gt => i128::from(a > b),
            BinOp::Ge => i128::from(a >= b),
            BinOp::Eq => i128::from(a == b),
            BinOp::Ne => i128::from(a != b),
            BinOp::And => i128::from(a != 0 && b != 0),
            BinOp::Or => i128::from(a != 0 || b != 0),
        };
        self.fit(kind, v)
    }
    /// `a << count` as every compiler has it, whether or not the language gives it a meaning.
    pub fn shifted_left(self, kind: IntKind, a: i128, count: i128) -> Option<i128> {
        self.shift_count(kind, count).map(|by| kind.wrap(a << by))
    }
    /// The value of an operation in `kind` on an operand of that type.
    pub fn unary(self, op: UnOp, kind: IntKind, a: i128) -> Result<i128, NoValue> {
        match op {
            UnOp::Plus => Ok(a),
            UnOp::Neg => self.fit(kind, -a),
            UnOp::BitNot => Ok(kind.wrap(!a)),
            UnOp::Not => Ok(i128::from(a == 0)),
        }
    }
}

impl Body {
    /// What overflow of the type does at a term.
    pub fn overflow(&self, kind: IntKind, at: TermId) -> Overflow {
        self.arithmetic(at).overflow(kind)
    }
    /// What arithmetic means at a term.
    pub fn arithmetic(&self, at: TermId) -> Arithmetic {
        Arithmetic { row: self.semantics, said: self.said_of_overflow.get(&at).copied() }
    }
    /// Whether the language's row holds everywhere.
    pub fn is_uniform(&self) -> bool {
        self.said_of_overflow.is_empty()
    }
    /// Whether an expression says what overflow does at a term, other than the language's row.
    pub fn says_of_overflow(&self, at: TermId) -> bool {
        self.said_of_overflow.contains_key(&at)
    }

    /// What each `checked(…)` says of what is written in it: the innermost counts.
    pub(crate) fn read_said_of_overflow(&mut self) {
        let mut found = FxHashMap::default();
        for t in self.ids() {
            let Op::Arithmetic(said) = *self.op(t) else { continue };
            let mut stack = self.args(t).to_vec();
            while let Some(x) = stack.pop() {
                // Statements in an expression were written elsewhere; an expression of its own kind speaks for itself.
                if matches!(self.op(x), Op::List) {
                    continue;
                }
                found.insert(x, said);
                if !matches!(self.op(x), Op::Arithmetic(_)) {
                    stack.extend(self.args(x));
                }
            }
        }
        self.said_of_overflow = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BodyBuilder, Types};
    use base::Span;

    #[test]
    fn a_row_says_what_overflow_does() {
        let (c, wrapping) = (Semantics::C.arithmetic(), Semantics::WRAPPING_C.arithmetic());
        assert_eq!(c.overflow(IntKind::Int), Overflow::Undefined);
        assert_eq!(c.overflow(IntKind::UInt), Overflow::Wraps);
        // nothing is computed in a short: what is stored in one is converted
        assert_eq!(c.overflow(IntKind::Short), Overflow::Wraps);
        assert!(c.is_exact(IntKind::LongLong) && !wrapping.is_exact(IntKind::LongLong));
        assert!(c.promotes(IntKind::UShort) && !c.promotes(IntKind::UInt));
    }

    #[test]
    fn operations_compute_as_the_row_says() {
        let (c, wrapping) = (Semantics::C.arithmetic(), Semantics::WRAPPING_C.arithmetic());
        let (least, most) = (IntKind::Int.min(), IntKind::Int.max());
        assert_eq!(c.binary(BinOp::Add, IntKind::Int, most, 1), Err(NoValue::Undefined));
        assert_eq!(wrapping.binary(BinOp::Add, IntKind::Int, most, 1), Ok(least));
        assert_eq!(
            c.binary(BinOp::Mul, IntKind::ULong, IntKind::ULong.max(), 3),
            Ok(IntKind::ULong.max() - 2)
        );
        assert_eq!(wrapping.unary(UnOp::Neg, IntKind::Int, least), Ok(least));
        // -fwrapv speaks of sums, differences and products
        assert_eq!(wrapping.binary(BinOp::Div, IntKind::Int, least, -1), Err(NoValue::Undefined));
        assert_eq!(c.binary(BinOp::Rem, IntKind::Int, -7, 4), Ok(-3));
        let masked =
            Semantics { shift: ShiftCount::Masked, quotient: Overflow::Traps, ..Semantics::WRAPPING_C };
        assert_eq!(c.binary(BinOp::Shl, IntKind::Int, 1, 33), Err(NoValue::Undefined));
        assert_eq!(c.binary(BinOp::Shl, IntKind::Int, 1, 31), Err(NoValue::Undefined));
        assert_eq!(c.shifted_left(IntKind::Int, 1, 31), Some(least));
        assert_eq!(wrapping.binary(BinOp::Shl, IntKind::Int, 3, 31), Ok(least));
        assert_eq!(masked.arithmetic().binary(BinOp::Shl, IntKind::Int, 1, 33), Ok(2));
        assert_eq!(masked.arithmetic().binary(BinOp::Div, IntKind::Int, least, -1), Err(NoValue::Traps));
    }

    /// `checked(a + unchecked(b + c)) + d`
    #[test]
    fn an_expression_speaks_for_what_is_written_in_it() {
        let build = |row: Semantics, said: [Overflow; 2]| {
            let mut b = BodyBuilder::new("f", row);
            let mut types = Types::default();
            std::mem::swap(&mut types, &mut b.types);
            let int = types.int(IntKind::Int);
            b.types = types;
            let leaf = |b: &mut BodyBuilder, v| b.term(Op::Int(v), [], int, Span::default());
            let (x, y, z, w) = (leaf(&mut b, 1), leaf(&mut b, 2), leaf(&mut b, 3), leaf(&mut b, 4));
            let plus =
                |b: &mut BodyBuilder, x, y| b.term(Op::Binary(BinOp::Add), [x, y], int, Span::default());
            let inner = plus(&mut b, y, z);
            let unchecked = b.term(Op::Arithmetic(said[1]), [inner], int, Span::default());
            let middle = plus(&mut b, x, unchecked);
            let checked = b.term(Op::Arithmetic(said[0]), [middle], int, Span::default());
            let outer = plus(&mut b, checked, w);
            (b.finish(outer), [inner, middle, outer])
        };
        let (body, sums) = build(Semantics::C, [Overflow::Traps, Overflow::Wraps]);
        let said: Vec<Overflow> = sums.iter().map(|&t| body.overflow(IntKind::Int, t)).collect();
        assert_eq!(said, [Overflow::Wraps, Overflow::Traps, Overflow::Undefined]);
        // an unsigned sum in `checked` raises an exception, too
        assert_eq!(body.overflow(IntKind::UInt, sums[1]), Overflow::Traps);
        assert!(body.says_of_overflow(sums[0]) && !body.says_of_overflow(sums[2]));
        // Facts are remembered under the hash: other meanings, other hashes.
        let (row, _) = build(Semantics::WRAPPING_C, [Overflow::Traps, Overflow::Wraps]);
        let (other, _) = build(Semantics::C, [Overflow::Traps, Overflow::Traps]);
        assert_ne!(body.hash, row.hash);
        assert_ne!(body.hash, other.hash);
    }
}
