//! Conditions of `#if`, in three values: 64-bit arithmetic with and without sign, as C11 6.10.1 and 6.6 have it. What
//! compilers leave to themselves (a signed result that does not fit, a shift by too much, a division by zero that is
//! evaluated) has no value.

use base::Span;

use super::{Expander, MacroToken, Macros, PToken, Text, MAX_DEPTH};
use crate::c::dialect;
use crate::c::lex::Kind;

impl Macros {
    /// The value of a condition, where it can be said.
    /// `line`: what `__LINE__` is there.
    pub(crate) fn condition(&self, tokens: &[MacroToken], line: &dyn Fn() -> Option<u32>) -> Option<bool> {
        // `defined` is taken out before substitution (C11 6.10.1p4).
        let mut plain: Vec<PToken> = Vec::with_capacity(tokens.len());
        let mut k = 0;
        while let Some(t) = tokens.get(k) {
            if &*t.text != "defined" {
                plain.push(PToken::of(t, Span::default()));
                k += 1;
                continue;
            }
            let (name, used) = match tokens.get(k + 1..)? {
                [a, n, b, ..] if &*a.text == "(" && &*b.text == ")" => (n, 4),
                [n, ..] => (n, 2),
                [] => return None,
            };
            let value = match self.is_defined(&name.text) {
                Some(true) => "1",
                Some(false) => "0",
                None => "?unknown",
            };
            plain.push(PToken {
                kind: Kind::Number,
                text: Text::Own(value.into()),
                spaced: true,
                span: Span::default(),
                expansion: 0,
                hide: None,
            });
            k += used;
        }
        let mut expander = Expander::of_condition(self);
        let expanded = expander.list(plain);
        if !expander.rejects.is_empty() {
            return None;
        }
        let mut p = Condition { macros: self, tokens: &expanded, at: 0, line };
        let v = p.ternary(0)?;
        if p.at != expanded.len() {
            return None;
        }
        v.value.map(|v| v != 0)
    }
}

/// A value of a condition, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Value {
    value: Option<i128>,
    /// Whether it has the type `uintmax_t` rather than `intmax_t`. Where that is not known, the value is one of both.
    unsigned: Option<bool>,
}

const LEAST: i128 = i64::MIN as i128;
const MOST: i128 = i64::MAX as i128;
const WIDTH: i128 = 1 << 64;

impl Value {
    const UNKNOWN: Value = Value { value: None, unsigned: None };

    /// A value in range, of that type.
    fn new(value: Option<i128>, unsigned: Option<bool>) -> Value {
        let value = value.and_then(|v| match unsigned {
            Some(true) => Some(v.rem_euclid(WIDTH)),
            Some(false) => (LEAST..=MOST).contains(&v).then_some(v),
            None => (0..=MOST).contains(&v).then_some(v),
        });
        Value { value, unsigned }
    }
    fn signed(value: i128) -> Value {
        Value { value: Some(value), unsigned: Some(false) }
    }
    fn truth(value: Option<bool>) -> Value {
        Value { value: value.map(i128::from), unsigned: Some(false) }
    }
    fn is_true(self) -> Option<bool> {
        self.value.map(|v| v != 0)
    }
    /// Both in their common type (C11 6.3.1.8).
    fn common(self, other: Value) -> (Option<i128>, Option<i128>, Option<bool>) {
        let unsigned = match (self.unsigned, other.unsigned) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
        let of = |v: Value| Value::new(v.value, unsigned).value;
        (of(self), of(other), unsigned)
    }
}

struct Condition<'a> {
    macros: &'a Macros,
    tokens: &'a [PToken],
    at: usize,
    line: &'a dyn Fn() -> Option<u32>,
}

/// `None` throughout: not a condition we can read.
impl Condition<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |t| t.text(""))
    }
    fn ternary(&mut self, depth: u32) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let c = self.binary(0, depth)?;
        if self.peek() != "?" {
            return Some(c);
        }
        self.at += 1;
        let a = self.ternary(depth + 1)?;
        if self.peek() != ":" {
            return None;
        }
        self.at += 1;
        let b = self.ternary(depth + 1)?;
        let (x, y, unsigned) = a.common(b);
        let value = match c.is_true() {
            Some(true) => x,
            Some(false) => y,
            None => x.filter(|_| x == y),
        };
        Some(Value { value, unsigned })
    }
    fn binary(&mut self, min: u8, depth: u32) -> Option<Value> {
        let mut left = self.unary(depth)?;
        loop {
            let op = self.peek();
            let Some(op) = term::BinOp::ALL.into_iter().find(|o| o.symbol() == op) else {
                return Some(left);
            };
            if op.precedence() <= min {
                return Some(left);
            }
            self.at += 1;
            if depth > MAX_DEPTH {
                return None;
            }
            let right = self.binary(op.precedence(), depth + 1)?;
            left = apply(op, left, right);
        }
    }
    fn unary(&mut self, depth: u32) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let t = self.tokens.get(self.at)?;
        self.at += 1;
        let text = t.text("");
        match (t.kind, text) {
            (_, "!") => Some(Value::truth(self.unary(depth + 1)?.is_true().map(|v| !v))),
            (_, "-") => {
                let v = self.unary(depth + 1)?;
                Some(Value::new(v.value.map(|v| -v), v.unsigned))
            }
            (_, "+") => self.unary(depth + 1),
            (_, "~") => {
                let v = self.unary(depth + 1)?;
                Some(Value::new(v.value.map(|v| !v), v.unsigned))
            }
            (_, "(") => {
                let v = self.ternary(depth + 1)?;
                if self.peek() != ")" {
                    return None;
                }
                self.at += 1;
                Some(v)
            }
            (Kind::Number, "?unknown") => Some(Value::UNKNOWN),
            (Kind::Number | Kind::Char, _) => Some(literal(text)),
            // Came out of a macro, which C leaves undefined (C11 6.10.1p4) and gcc takes as written.
            (Kind::Ident, "defined") => {
                let open = self.peek() == "(";
                self.at += usize::from(open);
                let name = self.tokens.get(self.at).filter(|t| t.kind == Kind::Ident)?.text("").to_owned();
                self.at += 1;
                if open {
                    if self.peek() != ")" {
                        return None;
                    }
                    self.at += 1;
                }
                Some(Value::truth(self.macros.is_defined(&name)))
            }
            (Kind::Ident, name) => {
                let name = name.to_owned();
                self.name(&name)
            }
            _ => None,
        }
    }

    /// What is left of a name once macros are replaced.
    fn name(&mut self, name: &str) -> Option<Value> {
        if self.peek() == "(" {
            let mut inside = Vec::new();
            let mut open = 0;
            loop {
                let text = self.tokens.get(self.at)?.text("").to_owned();
                self.at += 1;
                match text.as_str() {
                    "(" => open += 1,
                    ")" => open -= 1,
                    _ => {}
                }
                if open == 0 {
                    break;
                }
                inside.push(text);
            }
            let asked = match inside.get(1..) {
                Some([only]) => only.trim_matches('_'),
                _ => return Some(Value::UNKNOWN),
            };
            let known = match name {
                "__has_attribute" => ATTRIBUTES.contains(&asked),
                "__has_builtin" => asked.strip_prefix("builtin_").is_some_and(|b| BUILTINS.contains(&b)),
                _ => false,
            };
            return Some(if known { Value::signed(1) } else { Value::UNKNOWN });
        }
        if let Some(v) = self.macros.library_value(name) {
            return Some(Value::new(Some(v), None));
        }
        let cpp = self.macros.dialect.cpp;
        Some(match name {
            "__LINE__" => Value { value: (self.line)().map(i128::from), unsigned: Some(false) },
            "__COUNTER__" | "__INCLUDE_LEVEL__" => Value { value: None, unsigned: Some(false) },
            // C++ has these as words of its own
            "true" if cpp => Value::signed(1),
            "false" if cpp => Value::signed(0),
            "and" | "or" | "not" | "bitand" | "bitor" | "xor" | "compl" | "not_eq" if cpp => return None,
            _ => match (self.macros.get(name), self.macros.is_defined(name)) {
                // a macro with parameters that has none here, or its own name out of itself
                (Some(super::MacroState::Defined(_)), _) | (_, Some(false)) => Value::signed(0),
                (None, Some(true)) if self.macros.dialect.switch(name) == Some(true) => Value::signed(1),
                _ => Value::UNKNOWN,
            },
        })
    }
}

/// Attributes that every compiler knows which can be asked.
const ATTRIBUTES: [&str; 14] = [
    "packed",
    "aligned",
    "noinline",
    "always_inline",
    "const",
    "pure",
    "malloc",
    "nonnull",
    "format",
    "weak",
    "visibility",
    "section",
    "used",
    "cleanup",
];
/// Functions likewise, without `__builtin_`.
const BUILTINS: [&str; 8] =
    ["expect", "unreachable", "popcount", "clz", "ctz", "memcpy", "constant_p", "trap"];

fn literal(text: &str) -> Value {
    match crate::c::literal::integer(text, &dialect::C) {
        // larger ones than any signed value have no sign, whatever their suffix
        Some((v, _)) => {
            let unsigned = v > MOST || (!text.ends_with('\'') && text.to_ascii_lowercase().contains('u'));
            Value::new(Some(v).filter(|v| *v < WIDTH), Some(unsigned))
        }
        None => Value::UNKNOWN,
    }
}

fn apply(op: term::BinOp, a: Value, b: Value) -> Value {
    use term::BinOp::*;
    match op {
        And | Or => {
            let decides = op == Or;
            return Value::truth(match (a.is_true(), b.is_true()) {
                (Some(x), _) | (_, Some(x)) if x == decides => Some(decides),
                (Some(_), Some(_)) => Some(!decides),
                _ => None,
            });
        }
        Shl | Shr => {
            // The result has the type of the left operand alone.
            let by = b.value.and_then(|b| u32::try_from(b).ok()).filter(|&s| s < 64);
            let v = a.value.zip(by).map(|(v, by)| if op == Shl { v << by } else { v >> by });
            return Value::new(v, a.unsigned);
        }
        _ => {}
    }
    let (x, y, unsigned) = a.common(b);
    let both = x.zip(y);
    let compared = |holds: fn(&i128, &i128) -> bool| Value::truth(both.map(|(x, y)| holds(&x, &y)));
    let computed = |f: fn(i128, i128) -> Option<i128>| {
        let value = both.and_then(|(x, y)| f(x, y));
        Value::new(value, unsigned)
    };
    match op {
        Lt => compared(i128::lt),
        Le => compared(i128::le),
        Gt => compared(i128::gt),
        Ge => compared(i128::ge),
        Eq => compared(i128::eq),
        Ne => compared(i128::ne),
        Add => computed(i128::checked_add),
        Sub => computed(i128::checked_sub),
        Mul => computed(i128::checked_mul),
        Div => computed(i128::checked_div),
        // the remainder is computed with the quotient, which must fit
        Rem => computed(|x, y| x.checked_rem(y).filter(|_| !(x == LEAST && y == -1))),
        BitAnd => computed(|x, y| Some(x & y)),
        BitOr => computed(|x, y| Some(x | y)),
        BitXor => computed(|x, y| Some(x ^ y)),
        And | Or | Shl | Shr => Value::UNKNOWN,
    }
}
