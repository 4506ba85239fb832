//! Expressions: operators between, before and behind their operands, in as many parentheses as are needed and wanted.

use term::{strength, BinOp, Op, UnOp};

/// What holds the expression.
pub trait Source {
    type Node: Copy;
    type Error;
    /// The head of a node.
    fn op(&self, n: Self::Node) -> Op;
    /// Number of its parts.
    fn len(&self, n: Self::Node) -> usize;
    /// Its `k`th part; `k` is below their number.
    fn part(&self, n: Self::Node, k: usize) -> Self::Node;
    /// What the source writes by itself, and how tightly that binds: leaves, and whatever it has other words for.
    fn own(&self, n: Self::Node) -> Result<Option<(String, u8)>, Self::Error>;
    /// The type that a conversion names; `None`: the conversion is not written.
    fn cast(&self, n: Self::Node) -> Result<Option<String>, Self::Error>;
    /// The node has no text.
    fn no_text(&self, n: Self::Node) -> Self::Error;
    /// Around the printing of each node, for those who count how deep it goes.
    fn within<T>(&self, f: impl FnOnce() -> Result<T, Self::Error>) -> Result<T, Self::Error> {
        f()
    }
}

/// The expression in a place that needs such a strength.
pub fn expression<S: Source>(s: &S, n: S::Node, needed: u8) -> Result<String, S::Error> {
    let (text, own) = s.within(|| spelled(s, n))?;
    Ok(strength::enclosed(text, own, needed))
}

/// The expression and how tightly it binds.
pub fn spelled<S: Source>(s: &S, n: S::Node) -> Result<(String, u8), S::Error> {
    if let Some(own) = s.own(n)? {
        return Ok(own);
    }
    let op = s.op(n);
    let part = |k: usize| {
        if k >= s.len(n) {
            return Err(s.no_text(n));
        }
        let part = s.part(n, k);
        expression(s, part, strength::needed(&op, k, &s.op(part)))
    };
    let listed = |from: usize| -> Result<String, S::Error> {
        let all: Result<Vec<String>, _> = (from..s.len(n)).map(part).collect();
        Ok(all?.join(", "))
    };
    let text = match &op {
        Op::Unary(u) => prefix(*u, part(0)?),
        Op::Binary(b) => infix(*b, &part(0)?, part(1)?),
        Op::Assign => format!("{} = {}", part(0)?, part(1)?),
        Op::Compound(b) => format!("{} {}= {}", part(0)?, b.symbol(), part(1)?),
        Op::Step { delta, prefix } => {
            let sign = if *delta < 0 { "--" } else { "++" };
            match prefix {
                true => format!("{sign}{}", part(0)?),
                false => format!("{}{sign}", part(0)?),
            }
        }
        Op::Select => format!("{} ? {} : {}", part(0)?, part(1)?, part(2)?),
        Op::Comma => format!("{}, {}", part(0)?, part(1)?),
        Op::Cast => match s.cast(n)? {
            Some(ty) => format!("({ty}){}", part(0)?),
            None => return spelled(s, s.part(n, 0)),
        },
        Op::Index => format!("{}[{}]", part(0)?, part(1)?),
        Op::Member { field, arrow } => format!("{}{}{field}", part(0)?, if *arrow { "->" } else { "." }),
        Op::Deref => format!("*{}", part(0)?),
        Op::AddrOf => {
            let inner = part(0)?;
            // `& &a` must not become `&&a`
            if inner.starts_with('&') {
                format!("&({inner})")
            } else {
                format!("&{inner}")
            }
        }
        Op::SizeOf if s.len(n) == 1 => format!("sizeof({})", expression(s, s.part(n, 0), strength::NONE)?),
        Op::Call if s.len(n) > 0 => format!("{}({})", part(0)?, listed(1)?),
        Op::InitList => format!("{{{}}}", listed(0)?),
        _ => return Err(s.no_text(n)),
    };
    Ok((text, strength::of(&op)))
}

/// A prefix operator before its operand, which binds tightly enough. Two signs never meet: `-(-a)`.
pub fn prefix(op: UnOp, operand: String) -> String {
    let meets = matches!(op, UnOp::Plus | UnOp::Neg) && operand.starts_with(['-', '+']);
    match meets {
        true => format!("{}({operand})", op.symbol()),
        false => format!("{}{operand}", op.symbol()),
    }
}

/// Both sides bind tightly enough. Two signs never meet: `a - (-1)`.
fn infix(op: BinOp, left: &str, right: String) -> String {
    let meets = matches!(op, BinOp::Add | BinOp::Sub) && right.starts_with(['-', '+']);
    match meets {
        true => format!("{left} {} ({right})", op.symbol()),
        false => format!("{left} {} {right}", op.symbol()),
    }
}

/// A sum of parts with signs (`true`: subtracted), each of which binds as products do at least, and how tightly it binds.
pub fn sum(parts: &[(bool, String)]) -> (String, u8) {
    let mut text = String::new();
    for (k, (negative, part)) in parts.iter().enumerate() {
        text.push_str(match (k, negative) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        });
        text.push_str(part);
    }
    (text, if parts.len() == 1 && !parts[0].0 { strength::MUL } else { strength::ADD })
}
