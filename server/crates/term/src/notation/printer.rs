//! Terms → notation. Uses a stack of its own: depth costs no machine stack.

use std::fmt::Write;

use super::{compound, head, infix, is_plain_name, is_reserved, PREFIX};
use crate::{Body, FloatKind, Len, Op, Overflow, RejectKind, TermId, TypeId, TypeKind, Types, UnOp};

enum Work {
    Text(&'static str),
    Own(String),
    /// A term, to be parenthesised if it binds less tightly than this.
    Term(TermId, u8),
}

/// A term in the notation of F1.1.
pub fn print(body: &Body, term: TermId) -> String {
    let mut out = String::new();
    let mut stack = vec![Work::Term(term, 0)];
    let mut parts = Vec::new();
    while let Some(w) = stack.pop() {
        match w {
            Work::Text(t) => out.push_str(t),
            Work::Own(t) => out.push_str(&t),
            Work::Term(id, min) => {
                expand(body, id, min, &mut parts);
                stack.extend(parts.drain(..).rev());
            }
        }
    }
    out
}

/// A name, in back-ticks where it would read as something else.
fn name(text: &str) -> String {
    if is_plain_name(text) && !is_reserved(text) {
        text.to_owned()
    } else {
        let mut s = String::from("`");
        for c in text.chars() {
            if matches!(c, '`' | '\\') {
                s.push('\\');
            }
            s.push(c);
        }
        s.push('`');
        s
    }
}

fn string(text: &str) -> String {
    let mut s = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                s.push('\\');
                s.push(c);
            }
            '\n' => s.push_str("\\n"),
            c => s.push(c),
        }
    }
    s.push('"');
    s
}

fn number(v: f64) -> String {
    if v.is_nan() {
        "NAN".into()
    } else if v.is_infinite() {
        if v > 0.0 { "INFINITY" } else { "-INFINITY" }.into()
    } else {
        format!("{v:?}")
    }
}

/// A type as in a C declaration without a name, but with every part written from left to right: `double*[3]` is an
/// array of 3 pointers.
pub fn type_text(types: &Types, ty: TypeId) -> String {
    let mut suffix: Vec<String> = Vec::new();
    let mut at = ty;
    let mut prefix = loop {
        let t = types.get(at);
        let quals = {
            let q = t.quals;
            let mut s = String::new();
            for (on, w) in [
                (q.is_const, "const "),
                (q.is_volatile, "volatile "),
                (q.is_restrict, "restrict "),
                (q.is_atomic, "_Atomic "),
            ] {
                if on {
                    s.push_str(w);
                }
            }
            s
        };
        match &t.kind {
            TypeKind::Pointer { to, .. } => {
                let q = quals.trim_end();
                suffix.push(if q.is_empty() { "*".into() } else { format!("* {q}") });
                at = *to;
            }
            TypeKind::Array { of, len } => {
                suffix.push(match len {
                    Len::Const(n) => format!("[{n}]"),
                    Len::Unknown => "[]".into(),
                    Len::Term(_) => "[?]".into(),
                });
                at = *of;
            }
            TypeKind::Function { ret, .. } => {
                suffix.push("()".into());
                at = *ret;
            }
            TypeKind::Void => break format!("{quals}void"),
            TypeKind::Int(k) => break format!("{quals}{}", k.c_name()),
            TypeKind::Float(k) => {
                let n = match k {
                    FloatKind::F32 => "float",
                    FloatKind::F64 => "double",
                    FloatKind::Long => "long double",
                };
                break format!("{quals}{n}");
            }
            TypeKind::Record(r) => {
                let r = types.record(*r);
                let word = if r.is_union { "union" } else { "struct" };
                break format!("{quals}{word} {}", r.name);
            }
            TypeKind::Opaque(n) => break format!("{quals}{n}"),
        }
    };
    for s in suffix.iter().rev() {
        prefix.push_str(s);
    }
    prefix
}

fn kind_name(kind: RejectKind) -> &'static str {
    match kind {
        RejectKind::Syntax => "Syntax",
        RejectKind::Unsupported => "Unsupported",
        RejectKind::Macro => "Macro",
        RejectKind::Unread => "Unread",
        RejectKind::Conditional => "Conditional",
        RejectKind::TooDeep => "TooDeep",
        RejectKind::Foreign => "Foreign",
    }
}

/// Whether this head's argument that must be a name is a rule's variable.
fn names_a_variable(body: &Body, head: &str, args: &[TermId]) -> bool {
    let places: &[usize] = match head {
        "Declaration" | "DeclarationAssignment" | "Function" => &[0, 1],
        "Dot" | "Arrow" => &[1],
        "Cast" | "SizeOfType" | "Goto" | "Label" | "_MARK_CUDA" => &[0],
        _ => return false,
    };
    let is_variable = |k: &usize| args.get(*k).is_some_and(|&a| matches!(body.op(a), Op::Var(_)));
    places.iter().any(is_variable)
}

fn expand(body: &Body, id: TermId, min: u8, out: &mut Vec<Work>) {
    let t = body.term(id);
    let symbol = |s: crate::SymbolId| name(body.symbols.get(s).map_or("", |s| &s.name));
    let ty = |t: TypeId| name(&type_text(&body.types, t));
    let listed = |out: &mut Vec<Work>, open: String, close: &'static str, args: &[TermId]| {
        let mut comma = !open.ends_with('(') && !open.ends_with('[');
        out.push(Work::Own(open));
        for &a in args {
            if comma {
                out.push(Work::Text(","));
            }
            comma = true;
            out.push(Work::Term(a, 0));
        }
        out.push(Work::Text(close));
    };
    let call = |out: &mut Vec<Work>, head: &str| listed(out, format!("{head}("), ")", &t.args);
    match &t.op {
        Op::Empty => out.push(Work::Text("Empty")),
        Op::Int(v) => {
            let s = v.to_string();
            out.push(Work::Own(if *v < 0 && min > 0 { format!("({s})") } else { s }));
        }
        Op::Float(v) => {
            let s = number(v.get());
            out.push(Work::Own(if s.starts_with('-') && min > 0 { format!("({s})") } else { s }));
        }
        Op::Str(s) => out.push(Work::Own(string(s))),
        Op::Sym(s) => out.push(Work::Own(symbol(*s))),
        Op::Name(n) => out.push(Work::Own(name(n))),
        Op::Var(n) => match body.types.kind(t.ty) {
            TypeKind::Opaque(unknown) if &**unknown == "?" => out.push(Work::Own(format!("${n}"))),
            // in a list the `:` would be the list's
            _ => out.push(Work::Own(format!("(${n}:{})", ty(t.ty)))),
        },
        Op::List if t.args.is_empty() => out.push(Work::Text("NIL")),
        Op::List => listed(out, "[".into(), "]", &t.args),
        Op::Cons => match *t.args {
            [h, r] => out.extend([
                Work::Text("["),
                Work::Term(h, 0),
                Work::Text(":"),
                Work::Term(r, 0),
                Work::Text("]"),
            ]),
            _ => call(out, "`Cons`"),
        },
        Op::Unary(op) => match (op, &*t.args) {
            (UnOp::Not, _) => call(out, "Not"),
            (op, &[a]) => {
                // `-(-a)`: two signs side by side would read as something else.
                let open = min > 0;
                if open {
                    out.push(Work::Text("("));
                }
                out.push(Work::Text(op.symbol()));
                out.push(Work::Term(a, PREFIX));
                if open {
                    out.push(Work::Text(")"));
                }
            }
            _ => call(out, "`Unary`"),
        },
        Op::Binary(op) => match *t.args {
            [l, r] if infix(*op) => {
                let p = op.precedence();
                if p < min {
                    out.push(Work::Text("("));
                }
                out.extend([Work::Term(l, p), Work::Text(op.symbol()), Work::Term(r, p + 1)]);
                if p < min {
                    out.push(Work::Text(")"));
                }
            }
            _ => call(out, head(*op)),
        },
        Op::Assign => call(out, "Assignment"),
        Op::Compound(op) => call(out, &compound(*op)),
        Op::Step { delta, prefix } => call(
            out,
            match (*delta > 0, prefix) {
                (true, false) => "Increment",
                (true, true) => "PreIncrement",
                (false, false) => "Decrement",
                (false, true) => "PreDecrement",
            },
        ),
        Op::Select => call(out, "Select"),
        Op::Comma => call(out, "Comma"),
        Op::Arithmetic(Overflow::Traps) => call(out, "Checked"),
        Op::Arithmetic(Overflow::Wraps) => call(out, "Unchecked"),
        // As C computes: no language writes it.
        Op::Arithmetic(Overflow::Undefined) => call(out, "Overflowing"),
        Op::Cast => listed(out, format!("Cast({}", ty(t.ty)), ")", &t.args),
        Op::Index => call(out, "ArrayElement"),
        Op::Member { field, arrow } => {
            out.push(Work::Text(if *arrow { "Arrow(" } else { "Dot(" }));
            for &a in t.args.iter() {
                out.push(Work::Term(a, 0));
            }
            out.push(Work::Own(format!(",{})", name(field))));
        }
        Op::Deref => call(out, "Deref"),
        Op::AddrOf => call(out, "AddressOf"),
        Op::Call => call(out, "MethodCall"),
        Op::Launch if t.args.len() >= 5 => {
            listed(out, "CallKernel(Shape(".into(), "),", &t.args[1..5]);
            out.push(Work::Term(t.args[0], 0));
            out.push(Work::Text(","));
            listed(out, "[".into(), "])", &t.args[5..]);
        }
        Op::Launch => call(out, "`CallKernel`"),
        Op::SizeOfType(t) => out.push(Work::Own(format!("SizeOfType({})", ty(*t)))),
        Op::SizeOf => call(out, "SizeOf"),
        Op::InitList => call(out, "InitList"),
        Op::Declare(s) => {
            let types = body.symbols.get(*s).map_or_else(|| name("?"), |s| ty(s.ty));
            let word = if t.args.is_empty() { "Declaration" } else { "DeclarationAssignment" };
            listed(out, format!("{word}({},{types}", symbol(*s)), ")", &t.args);
        }
        Op::If => call(out, "If"),
        Op::For => call(out, "For"),
        Op::While => call(out, "While"),
        Op::DoWhile => call(out, "DoWhile"),
        Op::Break => out.push(Work::Text("Break")),
        Op::Continue => out.push(Work::Text("Continue")),
        Op::Goto(l) => out.push(Work::Own(format!("Goto({})", name(l)))),
        Op::Label(l) => out.push(Work::Own(format!("Label({})", name(l)))),
        Op::Switch => call(out, "Switch"),
        Op::Case => call(out, "Case"),
        Op::Default => out.push(Work::Text("Default")),
        Op::Return if t.args.is_empty() => out.push(Work::Text("Return")),
        Op::Return => call(out, "Return"),
        Op::Function(s) => {
            let returned = body.symbols.get(*s).map_or_else(
                || name("?"),
                |s| match body.types.kind(s.ty) {
                    TypeKind::Function { ret, .. } => ty(*ret),
                    _ => ty(s.ty),
                },
            );
            listed(out, format!("Function({},{returned}", symbol(*s)), ")", &t.args);
        }
        Op::Program => call(out, "Program"),
        Op::Mark(n) if n.is_empty() && t.args.is_empty() => out.push(Work::Text("_MARK_CUDA")),
        Op::Mark(n) => listed(out, format!("_MARK_CUDA({}", name(n)), ")", &t.args),
        // A pattern over a name or type has no `Op` of its own: `DeclarationAssignment($x,int,$e)`.
        Op::Apply(n) if names_a_variable(body, n, &t.args) => call(out, n),
        Op::Apply(n) => call(out, &name(n)),
        Op::Reject(r) => {
            let r = body.reject(*r);
            let mut open = String::new();
            let _ = write!(open, "Reject({},{}", kind_name(r.kind), string(&r.reason));
            listed(out, open, ")", &t.args);
        }
    }
}
