//! Trees made by rules as C# text: methods that stand for loops, and their calls in the program's own text.
//!
//! Types come in C's words and are written in C#'s; addresses are references, which C# goes through by itself. Deliberately
//! absent: text that was read from a program, but for the names and expressions that the planner took from it.

use print::CSHARP;
use term::strength::{self, ASSIGN, NONE, POSTFIX, UNARY};
use term::{IntKind, Op, Overflow};

use super::ctext::is_loop;
use super::tree::Tree;
use super::trees::{OwnText, Words};
use super::write::{Unwritable, Writer};
use crate::limits::rules_write::COLUMNS;

/// One level of indentation.
const UNIT: &str = "    ";

fn no_text<T>(w: &Writer<'_>, n: &Tree) -> Result<T, Unwritable> {
    WORDS.no_text(w, n)
}

/// A type of C's as C# has it.
fn type_name(w: &Writer<'_>, ty: &Tree) -> Result<String, Unwritable> {
    let Some(text) = w.subject.word(ty) else { return no_text(w, ty) };
    let text = text.strip_prefix("const ").unwrap_or(text);
    if text == "size_t" {
        return Ok("long".to_owned());
    }
    let of_c = [
        IntKind::Bool,
        IntKind::Char,
        IntKind::SChar,
        IntKind::UChar,
        IntKind::UShort,
        IntKind::UInt,
        IntKind::Long,
        IntKind::ULong,
        IntKind::LongLong,
        IntKind::ULongLong,
    ];
    let known = of_c.into_iter().find(|k| k.c_name() == text).map(|k| CSHARP.int_name(k));
    Ok(known.unwrap_or(text).to_owned())
}

/// What is C#'s own.
const WORDS: Words = Words { name: "C#", own };

fn own(w: &Writer<'_>, n: &Tree) -> OwnText {
    let listed = |args: &[Tree]| -> Result<String, Unwritable> {
        let all: Result<Vec<String>, _> = args.iter().map(|a| expression(w, a, ASSIGN)).collect();
        Ok(all?.join(", "))
    };
    let text = match &n.op {
        Op::Sym(_) | Op::Name(_) => match w.subject.word(n) {
            Some(word) => word.to_owned(),
            None => return no_text(w, n),
        },
        Op::Int(v) => v.to_string(),
        Op::AddrOf if n.args.len() == 1 => format!("ref {}", expression(w, &n.args[0], POSTFIX)?),
        // a reference is gone through where it is used
        Op::Deref if n.args.len() == 1 => return Ok(Some((expression(w, &n.args[0], POSTFIX)?, POSTFIX))),
        Op::Apply(head) => match (&**head, &*n.args) {
            ("Cast", [t, a]) => {
                return Ok(Some((format!("({}){}", type_name(w, t)?, expression(w, a, UNARY)?), UNARY)))
            }
            ("SizeOfType", [t]) => format!("sizeof({})", type_name(w, t)?),
            ("CallKernel", [shape, kernel, args]) if shape.is("Shape") && shape.args.len() == 2 => {
                let all: Vec<Tree> =
                    shape.args.iter().chain([args]).flat_map(|l| l.args.iter().cloned()).collect();
                format!("{}.Launch({})", expression(w, kernel, POSTFIX)?, listed(&all)?)
            }
            _ => return no_text(w, n),
        },
        _ => return Ok(None),
    };
    Ok(Some((text, strength::of(&n.op))))
}

fn expression(w: &Writer<'_>, n: &Tree, needed: u8) -> Result<String, Unwritable> {
    WORDS.expression(w, n, needed)
}

fn declaration(w: &Writer<'_>, n: &Tree) -> Result<String, Unwritable> {
    let name = n.args.first().and_then(|a| w.subject.word(a)).unwrap_or("?");
    Ok(match &*n.args {
        [_, ty] if n.is("Declaration") => format!("{} {name}", type_name(w, ty)?),
        [_, ty, value] if n.is("DeclarationAssignment") => {
            format!("{} {name} = {}", type_name(w, ty)?, expression(w, value, ASSIGN)?)
        }
        [_, ty, count] if n.is("ArrayDeclaration") => {
            let ty = type_name(w, ty)?;
            format!("{ty}[] {name} = new {ty}[{}]", expression(w, count, NONE)?)
        }
        _ => return no_text(w, n),
    })
}

/// `{ … }` on lines of their own.
fn block(w: &Writer<'_>, list: &Tree, indent: &str) -> Result<String, Unwritable> {
    if list.op != Op::List {
        return no_text(w, list);
    }
    let deeper = format!("{indent}{UNIT}");
    let mut out = format!("{indent}{{\n");
    for item in list.args.iter() {
        out += &statement(w, item, &deeper)?;
        out.push('\n');
    }
    Ok(out + indent + "}")
}

/// A header with its block below it, without braces around one plain statement.
fn with_block(w: &Writer<'_>, head: &str, list: &Tree, indent: &str) -> Result<String, Unwritable> {
    if let [one] = &*list.args {
        let is_plain = matches!(one.op, Op::Return | Op::Assign | Op::Compound(_) | Op::Call);
        if list.op == Op::List && is_plain {
            return Ok(format!("{indent}{head}\n{}", statement(w, one, &format!("{indent}{UNIT}"))?));
        }
    }
    Ok(format!("{indent}{head}\n{}", block(w, list, indent)?))
}

/// A statement in lines of its own, without the last line's end.
pub(super) fn statement(w: &Writer<'_>, n: &Tree, indent: &str) -> Result<String, Unwritable> {
    let part = |k: usize| match n.args.get(k) {
        Some(a) => expression(w, a, NONE),
        None => no_text(w, n),
    };
    let text = match &n.op {
        Op::List => return block(w, n, indent),
        Op::If => {
            let then = with_block(w, &format!("if ({})", part(0)?), &n.args[1], indent)?;
            return match n.args.get(2) {
                None => Ok(then),
                Some(other) => Ok(format!("{then}\n{}", with_block(w, "else", other, indent)?)),
            };
        }
        Op::For if n.args.len() == 4 => {
            let head = format!("for ({}; {}; {})", declaration(w, &n.args[0])?, part(1)?, part(2)?);
            return with_block(w, &head, &n.args[3], indent);
        }
        // whatever the project says of overflow
        Op::Arithmetic(Overflow::Wraps) if n.args.len() == 1 => {
            return Ok(format!("{indent}unchecked\n{}", block(w, &n.args[0], indent)?))
        }
        _ if is_loop(n) => return w.hole.map(str::to_owned).map_or_else(|| no_text(w, n), Ok),
        Op::Return if n.args.is_empty() => "return;".to_owned(),
        Op::Return => format!("return {};", part(0)?),
        Op::Apply(head) => match (&**head, &*n.args) {
            ("Comment", [words]) => match &words.op {
                Op::Str(words) => return Ok(comment(words, indent)),
                _ => return no_text(w, n),
            },
            ("Try", [list, handlers @ ..]) => {
                let mut out = format!("{indent}try\n{}", block(w, list, indent)?);
                for h in handlers {
                    out += &match &*h.args {
                        [ty, list] if h.is("Catch") => {
                            format!("\n{indent}catch ({})\n{}", type_name(w, ty)?, block(w, list, indent)?)
                        }
                        [list] if h.is("Finally") => {
                            format!("\n{indent}finally\n{}", block(w, list, indent)?)
                        }
                        _ => return no_text(w, h),
                    };
                }
                return Ok(out);
            }
            ("Declaration" | "DeclarationAssignment" | "ArrayDeclaration", _) => {
                format!("{};", declaration(w, n)?)
            }
            _ => format!("{};", expression(w, n, NONE)?),
        },
        _ => format!("{};", expression(w, n, NONE)?),
    };
    Ok(format!("{indent}{text}"))
}

/// Words on lines of at most [`COLUMNS`].
fn comment(words: &str, indent: &str) -> String {
    let mut out = format!("{indent}//");
    let mut column = out.len();
    for word in words.split_whitespace() {
        if column + 1 + word.len() > COLUMNS {
            out += &format!("\n{indent}//");
            column = indent.len() + 2;
        }
        out += &format!(" {word}");
        column += 1 + word.len();
    }
    out
}

/// A method at the beginning of a line.
pub(super) fn method(w: &Writer<'_>, f: &Tree) -> Result<String, Unwritable> {
    let [modifiers, ret, name, params, body] = &*f.args else { return no_text(w, f) };
    let words = modifiers.args.iter().filter_map(|m| w.subject.word(m)).map(|m| format!("{m} "));
    let Some(name) = w.subject.word(name) else { return no_text(w, f) };
    let params: Result<Vec<String>, _> = params.args.iter().map(|p| declaration(w, p)).collect();
    let head = format!("{}{} {name}({})", words.collect::<String>(), type_name(w, ret)?, params?.join(", "));
    Ok(format!("{head}\n{}", block(w, body, "")?))
}
