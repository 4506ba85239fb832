//! Conditions of `#if`, in three values.

use base::Span;

use super::{Expander, MacroToken, Macros, PToken, Text, MAX_DEPTH};
use crate::lex::Kind;
use crate::Language;

impl Macros {
    /// The value of a condition, where it can be said.
    pub(crate) fn condition(&self, tokens: &[MacroToken]) -> Option<bool> {
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
        let mut expander = Expander::new(self, "");
        let expanded = expander.list(plain);
        if !expander.rejects.is_empty() {
            return None;
        }
        let mut p = Condition { macros: self, tokens: &expanded, at: 0 };
        let v = p.ternary(0)?;
        if p.at != expanded.len() {
            return None;
        }
        v.map(|v| v != 0)
    }
}

/// Outer `None`: not a condition we can read. Inner `None`: a value we do not know.
type Value = Option<Option<i128>>;

struct Condition<'a> {
    macros: &'a Macros,
    tokens: &'a [PToken],
    at: usize,
}

impl Condition<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |t| t.text(""))
    }
    fn ternary(&mut self, depth: u32) -> Value {
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
        Some(match c {
            Some(0) => b,
            Some(_) => a,
            None if a == b => a,
            None => None,
        })
    }
    fn binary(&mut self, min: u8, depth: u32) -> Value {
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
    fn unary(&mut self, depth: u32) -> Value {
        if depth > MAX_DEPTH {
            return None;
        }
        let t = self.tokens.get(self.at)?;
        self.at += 1;
        let text = t.text("");
        match (t.kind, text) {
            (_, "!") => Some(self.unary(depth + 1)?.map(|v| (v == 0) as i128)),
            (_, "-") => Some(self.unary(depth + 1)?.and_then(i128::checked_neg)),
            (_, "+") => self.unary(depth + 1),
            (_, "~") => Some(self.unary(depth + 1)?.map(|v| !v)),
            (_, "(") => {
                let v = self.ternary(depth + 1)?;
                if self.peek() != ")" {
                    return None;
                }
                self.at += 1;
                Some(v)
            }
            (Kind::Number, "?unknown") => Some(None),
            (Kind::Number | Kind::Char, _) => {
                Some(crate::c::literal::integer(text, Language::C).map(|(v, _)| v))
            }
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
                Some(self.macros.is_defined(&name).map(i128::from))
            }
            (Kind::Ident, name) => {
                if self.peek() == "(" {
                    // `__has_include(…)` and the like: skip the arguments, know nothing.
                    let mut open = 0;
                    loop {
                        match self.peek() {
                            "(" => open += 1,
                            ")" => open -= 1,
                            "" => return None,
                            _ => {}
                        }
                        self.at += 1;
                        if open == 0 {
                            return Some(None);
                        }
                    }
                }
                if let Some(v) = self.macros.library_value(name) {
                    return Some(Some(v));
                }
                Some(match self.macros.is_defined(name) {
                    Some(false) => Some(0),
                    _ => None,
                })
            }
            _ => None,
        }
    }
}

fn apply(op: term::BinOp, a: Option<i128>, b: Option<i128>) -> Option<i128> {
    use term::BinOp::*;
    match (op, a, b) {
        (And, Some(0), _) | (And, _, Some(0)) => return Some(0),
        (Or, Some(x), _) | (Or, _, Some(x)) if x != 0 => return Some(1),
        _ => {}
    }
    let (a, b) = (a?, b?);
    let shift = u32::try_from(b).ok().filter(|&s| s < 64);
    match op {
        Add => a.checked_add(b),
        Sub => a.checked_sub(b),
        Mul => a.checked_mul(b),
        Div => a.checked_div(b),
        Rem => a.checked_rem(b),
        Shl => a.checked_shl(shift?),
        Shr => a.checked_shr(shift?),
        BitAnd => Some(a & b),
        BitOr => Some(a | b),
        BitXor => Some(a ^ b),
        Lt => Some((a < b) as i128),
        Le => Some((a <= b) as i128),
        Gt => Some((a > b) as i128),
        Ge => Some((a >= b) as i128),
        Eq => Some((a == b) as i128),
        Ne => Some((a != b) as i128),
        And => Some((a != 0 && b != 0) as i128),
        Or => Some((a != 0 || b != 0) as i128),
    }
}
