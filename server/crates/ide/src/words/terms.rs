//! Terms as C, for messages about what comes out of a macro and so stands nowhere in the text.
//!
//! Not a code generator: it is cut off when long and its output is read by people alone.

use term::{BinOp, Body, Op, SymbolId, TermId};

/// Characters after which the text breaks off; the caller shortens further.
const LIMIT: usize = 400;
/// Nesting after which an ellipsis stands for the rest.
const DEPTH: u32 = 40;

/// The term as C.
pub(crate) fn term_text(body: &Body, term: TermId) -> String {
    let mut out = String::new();
    print(body, term, 0, DEPTH, &mut out);
    out
}

const UNARY: u8 = 15;
const POSTFIX: u8 = 16;
const ASSIGN: u8 = 2;
const SELECT: u8 = 3;

fn print(body: &Body, term: TermId, around: u8, depth: u32, out: &mut String) {
    if depth == 0 || out.len() > LIMIT {
        out.push('…');
        return;
    }
    let args = body.args(term);
    let own = strength(body.op(term));
    let parens = own < around;
    if parens {
        out.push('(');
    }
    let mut sub = |k: usize, around: u8, out: &mut String| match args.get(k) {
        Some(t) => print(body, *t, around, depth - 1, out),
        None => out.push('…'),
    };
    match body.op(term) {
        Op::Int(v) => out.push_str(&v.to_string()),
        Op::Float(v) => out.push_str(&format!("{:?}", v.get())),
        Op::Str(s) => out.push_str(&format!("{s:?}")),
        Op::Sym(s) => out.push_str(name(body, *s)),
        Op::Name(n) | Op::Var(n) => out.push_str(n),
        Op::Unary(op) => {
            out.push_str(op.symbol());
            sub(0, UNARY, out);
        }
        Op::Binary(op) => {
            sub(0, own, out);
            out.push_str(&format!(" {} ", op.symbol()));
            sub(1, own + 1, out);
        }
        Op::Assign => infix("=", &mut sub, out),
        Op::Compound(op) => infix(compound(*op), &mut sub, out),
        Op::Step { delta, prefix } => {
            let sign = if *delta < 0 { "--" } else { "++" };
            if *prefix {
                out.push_str(sign);
                sub(0, UNARY, out);
            } else {
                sub(0, POSTFIX, out);
                out.push_str(sign);
            }
        }
        Op::Select => {
            sub(0, SELECT + 1, out);
            out.push_str(" ? ");
            sub(1, 0, out);
            out.push_str(" : ");
            sub(2, SELECT, out);
        }
        Op::Comma => {
            sub(0, 0, out);
            out.push_str(", ");
            sub(1, 1, out);
        }
        // the type's spelling adds little to a message
        Op::Cast => sub(0, own, out),
        Op::Index => {
            sub(0, POSTFIX, out);
            out.push('[');
            sub(1, 0, out);
            out.push(']');
        }
        Op::Member { field, arrow } => {
            sub(0, POSTFIX, out);
            out.push_str(if *arrow { "->" } else { "." });
            out.push_str(field);
        }
        Op::Deref => {
            out.push('*');
            sub(0, UNARY, out);
        }
        Op::AddrOf => {
            out.push('&');
            sub(0, UNARY, out);
        }
        Op::Call => {
            sub(0, POSTFIX, out);
            out.push('(');
            for k in 1..args.len() {
                if k > 1 {
                    out.push_str(", ");
                }
                sub(k, 1, out);
            }
            out.push(')');
        }
        Op::SizeOf | Op::SizeOfType(_) => out.push_str("sizeof(…)"),
        Op::Declare(s) => {
            out.push_str(name(body, *s));
            if !args.is_empty() {
                out.push_str(" = ");
                sub(0, 1, out);
            }
        }
        Op::Return => out.push_str("return"),
        Op::Break => out.push_str("break"),
        Op::Continue => out.push_str("continue"),
        Op::Goto(label) => out.push_str(&format!("goto {label}")),
        Op::For => out.push_str("for (…)"),
        Op::While => out.push_str("while (…)"),
        Op::DoWhile => out.push_str("do … while (…)"),
        Op::If => out.push_str("if (…)"),
        Op::Switch => out.push_str("switch (…)"),
        _ => out.push('…'),
    }
    if parens {
        out.push(')');
    }
}

fn infix(symbol: &str, sub: &mut impl FnMut(usize, u8, &mut String), out: &mut String) {
    sub(0, UNARY, out);
    out.push_str(&format!(" {symbol} "));
    sub(1, ASSIGN, out);
}

fn compound(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+=",
        BinOp::Sub => "-=",
        BinOp::Mul => "*=",
        BinOp::Div => "/=",
        BinOp::Rem => "%=",
        BinOp::Shl => "<<=",
        BinOp::Shr => ">>=",
        BinOp::BitAnd => "&=",
        BinOp::BitOr => "|=",
        BinOp::BitXor => "^=",
        _ => "…=",
    }
}

fn name(body: &Body, symbol: SymbolId) -> &str {
    body.symbols.get(symbol).map_or("?", |s| &s.name)
}

/// Binding strength as in [`BinOp::precedence`].
fn strength(op: &Op) -> u8 {
    match op {
        Op::Binary(op) => op.precedence(),
        Op::Comma => 1,
        Op::Assign | Op::Compound(_) => ASSIGN,
        Op::Select => SELECT,
        Op::Unary(_) | Op::Deref | Op::AddrOf | Op::Cast | Op::Step { prefix: true, .. } => UNARY,
        _ => POSTFIX,
    }
}
