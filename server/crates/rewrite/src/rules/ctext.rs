//! Trees made by rules as C and CUDA text.
//!
//! Parts that were read from the text are asked of the writer, which has their characters; operators are the printer's
//! (`print`). Deliberately absent: heads that are no C (`_InitCuda`): they have no text, and that is said.

use print::Dialect;
use term::strength::{self, ASSIGN, NONE, POSTFIX, UNARY};
use term::{FloatKind, IntKind, Op, TypeKind};

use super::tree::Tree;
use super::trees::{OwnText, Words};
use super::write::{Unwritable, Writer};
use crate::limits::rules_write::COLUMNS;
use crate::transform::text::reindent;

/// What stands for the program's own text in what is put around it.
pub(super) const LOOP: &str = "_Loop";

pub(super) fn is_loop(n: &Tree) -> bool {
    matches!(&n.op, Op::Apply(word) | Op::Name(word) if &**word == LOOP && n.args.is_empty())
}

/// How the C++ function that a call calls is written, if that is one of those with a word of their own.
fn library_call(w: &Writer<'_>, n: &Tree) -> Option<&'static str> {
    let word = n.args.first().and_then(|f| w.subject.word(f)).filter(|_| w.is_cuda && n.args.len() == 6)?;
    front::LIBRARY_CALLS.iter().find(|l| l.0 == word).map(|l| l.1)
}

/// Whether the statement may stand where one statement belongs, without braces.
pub(super) fn stands_alone(n: &Tree) -> bool {
    !matches!(n.op, Op::Case | Op::Default | Op::List)
        && !["Declaration", "DeclarationAssignment", "ArrayDeclaration", "Label"].iter().any(|h| n.is(h))
}

fn no_text<T>(w: &Writer<'_>, n: &Tree) -> Result<T, Unwritable> {
    WORDS.no_text(w, n)
}

/// What is C's own.
const WORDS: Words = Words { name: "C", own };

fn own(w: &Writer<'_>, n: &Tree) -> OwnText {
    if let Some(own) = w.own_text(n) {
        return Ok(Some((own?, strength::of(&n.op))));
    }
    let listed = |args: &[Tree]| -> Result<String, Unwritable> {
        let all: Result<Vec<String>, _> = args.iter().map(|a| w.expression(a, ASSIGN)).collect();
        Ok(all?.join(", "))
    };
    let kind = n.ty.map(|t| w.types.kind(t));
    let text = match &n.op {
        Op::Sym(_) | Op::Name(_) => match w.subject.word(n) {
            Some(word) if w.hole.is_some() => word.to_owned(),
            Some(word) if !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                word.to_owned()
            }
            _ => return no_text(w, n),
        },
        Op::Int(v) => match (&n.alias, kind) {
            (Some(name), _) => name.to_string(),
            // a mask; without `u` because no plain `int` is so large
            (None, Some(TypeKind::Int(IntKind::UInt))) if *v == 0xffff_ffff => "0xffffffff".to_owned(),
            (None, Some(TypeKind::Int(k))) if k.wrap(*v) == *v => {
                return Ok(Some(print::integer(dialect(w), *v, *k)))
            }
            _ => v.to_string(),
        },
        Op::Str(words) if words.chars().all(|c| c == '\n' || (c.is_ascii() && !c.is_ascii_control())) => {
            let words = words.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("\"{words}\"")
        }
        Op::Float(v) if v.get().is_finite() => {
            let of = match kind {
                Some(TypeKind::Float(k)) => *k,
                _ => FloatKind::F64,
            };
            return Ok(Some(print::float(v.get(), of)));
        }
        Op::Call if library_call(w, n).is_some() => {
            // the second parameter is a reference
            let (name, by_reference) = (library_call(w, n).unwrap_or(""), n.args.get(2));
            let args: Result<Vec<String>, _> = n.args[1..]
                .iter()
                .map(|a| match (&a.op, by_reference) {
                    (Op::AddrOf, Some(r)) if std::sync::Arc::ptr_eq(a, r) => w.expression(&a.args[0], ASSIGN),
                    _ => w.expression(a, ASSIGN),
                })
                .collect();
            format!("{name}({})", args?.join(", "))
        }
        Op::Apply(head) => match (&**head, &*n.args) {
            ("Dot", [a, f]) => {
                format!("{}.{}", w.expression(a, POSTFIX)?, w.subject.word(f).unwrap_or(""))
            }
            ("Arrow", [a, f]) => {
                format!("{}->{}", w.expression(a, POSTFIX)?, w.subject.word(f).unwrap_or(""))
            }
            ("Cast", [t, a]) => format!("({}){}", declared(w, t, "")?, w.expression(a, UNARY)?),
            ("SizeOfArray", [t, len]) => {
                format!("sizeof({}[{}])", declared(w, t, "")?, w.expression(len, NONE)?)
            }
            ("SizeOfType", [t]) => format!("sizeof({})", declared(w, t, "")?),
            ("CallKernel", [shape, f, args]) if shape.is("Shape") => {
                format!(
                    "{}<<<{}>>>({})",
                    w.expression(f, POSTFIX)?,
                    listed(&shape.args)?,
                    listed(&args.args)?
                )
            }
            _ => return no_text(w, n),
        },
        _ => return Ok(None),
    };
    Ok(Some((text, strength::of(&n.op))))
}

/// An expression's text, in parentheses if its place asks for them.
pub(super) fn expression(w: &Writer<'_>, n: &Tree, needed: u8) -> Result<String, Unwritable> {
    WORDS.expression(w, n, needed)
}

/// What is written.
fn dialect(w: &Writer<'_>) -> &'static Dialect {
    if w.is_cuda {
        &print::CPP
    } else {
        &print::C
    }
}

/// A type with the name it declares, or alone.
pub(super) fn declared(w: &Writer<'_>, ty: &Tree, name: &str) -> Result<String, Unwritable> {
    let text = w.subject.word(ty).unwrap_or("?");
    // the word that C++ writes otherwise
    let dialect = dialect(w);
    let text = &text.replace(print::C.truth, dialect.truth);
    let base_len = text.find(['*', '[', '(']).unwrap_or(text.len());
    let base = text[..base_len].trim();
    let plain = vector_type(base).filter(|_| w.is_cuda);
    let base = plain.as_deref().unwrap_or(base);
    if base.is_empty() || text.contains(['?', '(']) {
        return Err(format!("the type `{text}` cannot be written"));
    }
    // innermost first, as the notation has it
    let mut parts: Vec<String> = Vec::new();
    let mut rest = text[base_len..].trim_start();
    while !rest.is_empty() {
        let len = match rest.as_bytes()[0] {
            b'[' => rest.find(']').map_or(rest.len(), |k| k + 1),
            _ => rest[1..].find(['*', '[']).map_or(rest.len(), |k| k + 1),
        };
        parts.push(rest[..len].trim().to_owned());
        rest = rest[len..].trim_start();
    }
    let mut out = name.to_owned();
    let mut pointer = false;
    for p in parts.iter().rev() {
        if p.starts_with('[') {
            out = if pointer { format!("({out}){p}") } else { format!("{out}{p}") };
            pointer = false;
        } else {
            let words = p[1..].trim();
            let words = words.replace(print::C.restrict, dialect.restrict);
            out = if words.is_empty() { format!("*{out}") } else { format!("*{words} {out}") };
            pointer = true;
        }
    }
    Ok(format!("{base} {out}").trim_end().to_owned())
}

/// `const float4` of `const struct float4`: CUDA's vector types are written by their names.
fn vector_type(base: &str) -> Option<String> {
    let (before, name) = base.split_once("struct ")?;
    let element = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let known =
        matches!(element, "float" | "double" | "int" | "uint" | "char" | "uchar" | "short" | "ushort");
    let lanes = matches!(&name[element.len()..], "1" | "2" | "3" | "4");
    ((known && lanes) || name == "dim3").then(|| format!("{before}{name}"))
}

/// A declaration's text behind the words that say where the variable lives.
fn stored(w: &Writer<'_>, words: &[Tree], text: &str) -> Result<String, Unwritable> {
    let mut out = String::new();
    for word in words {
        match w.subject.word(word) {
            Some(word) if word == gpu::CUDA.shared || word == "static" => out += &format!("{word} "),
            _ => return no_text(w, word),
        }
    }
    Ok(out + text)
}

fn declaration(w: &Writer<'_>, n: &Tree) -> Result<String, Unwritable> {
    let name = n.args.first().and_then(|a| w.subject.word(a)).unwrap_or("?").to_owned();
    match &*n.args {
        [_, ty, space @ ..] if n.is("Declaration") => stored(w, space, &declared(w, ty, &name)?),
        [_, ty, value, space @ ..] if n.is("DeclarationAssignment") => {
            let text = format!("{} = {}", declared(w, ty, &name)?, w.expression(value, ASSIGN)?);
            stored(w, space, &text)
        }
        [_, ty, len, space @ ..] if n.is("ArrayDeclaration") => {
            let mut array = name.clone();
            for extent in if len.op == Op::List { &*len.args } else { std::slice::from_ref(len) } {
                array += &format!("[{}]", w.expression(extent, NONE)?);
            }
            stored(w, space, &declared(w, ty, &array)?)
        }
        _ => no_text(w, n),
    }
}

/// The first part of a `for` header.
pub(super) fn init(w: &Writer<'_>, n: &Tree) -> Result<String, Unwritable> {
    match &n.op {
        Op::Empty => Ok(String::new()),
        Op::Apply(h) if h.starts_with("Declaration") => declaration(w, n),
        Op::List => Err("several declarations in a loop's header are not written".to_owned()),
        _ => w.expression(n, NONE),
    }
}

/// `{ … }` with the items of a list; `indent` is that of the line the block belongs to.
pub(super) fn block(w: &Writer<'_>, list: &Tree, indent: &str) -> Result<String, Unwritable> {
    let deeper = format!("{indent}{}", w.unit);
    let mut out = String::from("{");
    for (k, item) in list.args.iter().enumerate() {
        for said in w.said_above(list, item) {
            out += &format!("{}{deeper}{said}", w.eol);
        }
        out += &format!("{}{deeper}{}", w.eol, w.statement(item, &deeper)?);
        let label = matches!(item.op, Op::Case | Op::Default);
        let next = list.args.get(k + 1);
        if label && next.is_none_or(|n| matches!(&n.op, Op::Apply(h) if h.contains("Declaration"))) {
            out.push_str(" ;");
        }
    }
    out += &format!("{}{indent}}}", w.eol);
    Ok(out)
}

/// A header with its block behind it.
fn with_block(w: &Writer<'_>, head: &str, list: &Tree, indent: &str) -> Result<String, Unwritable> {
    let below = format!("{}{indent}", w.eol);
    if let Some((text, own)) = w.own_block(list) {
        let deeper = format!("{indent}{}", w.unit);
        let text = reindent(&text, own, if text.starts_with('{') { indent } else { &deeper });
        return Ok(match text.starts_with('{') {
            true if w.brace_below => format!("{head}{below}{text}"),
            true => format!("{head} {text}"),
            false => format!("{head}{below}{}{text}", w.unit),
        });
    }
    if list.op != Op::List {
        return no_text(w, list);
    }
    if let [one] = &*list.args {
        let plain = stands_alone(one) && !matches!(one.op, Op::If) && !one.op.is_loop();
        if plain && w.hole.is_none() && w.said_above(list, one).is_empty() {
            let deeper = format!("{indent}{}", w.unit);
            return Ok(format!("{head}{}{deeper}{}", w.eol, w.statement(one, &deeper)?));
        }
    }
    let by = if w.brace_below { below } else { " ".to_owned() };
    Ok(format!("{head}{by}{}", block(w, list, indent)?))
}

pub(super) fn statement(w: &Writer<'_>, n: &Tree, indent: &str) -> Result<String, Unwritable> {
    let part = |k: usize| match n.args.get(k) {
        Some(a) if a.op == Op::Empty => Ok(String::new()),
        Some(a) => w.expression(a, NONE),
        None => no_text(w, n),
    };
    match &n.op {
        Op::Empty => Ok(";".to_owned()),
        Op::List => block(w, n, indent),
        Op::If => {
            let head = format!("if ({})", part(0)?);
            let Some(other) = n.args.get(2) else { return with_block(w, &head, &n.args[1], indent) };
            // an `if` without braces would take the `else`, even at the end of a loop
            let takes = n.args[1].args.iter().any(|a| a.op == Op::If || a.op.is_loop());
            let bare = w.own_block(&n.args[1]).is_some_and(|(text, _)| !text.starts_with('{'));
            let then = match takes && bare {
                true => format!("{head} {}", block(w, &n.args[1], indent)?),
                false => with_block(w, &head, &n.args[1], indent)?,
            };
            let braces = then.ends_with('}');
            let by = if braces && !w.brace_below { " ".to_owned() } else { format!("{}{indent}", w.eol) };
            with_block(w, &format!("{then}{by}else"), other, indent)
        }
        Op::For if n.args.len() == 4 => {
            let (first, second, third) = (init(w, &n.args[0])?, part(1)?, part(2)?);
            let space = |s: &str| if s.is_empty() { String::new() } else { format!(" {s}") };
            with_block(w, &format!("for ({first};{};{})", space(&second), space(&third)), &n.args[3], indent)
        }
        Op::For => Err("a marked loop that a rule changed has no text".to_owned()),
        Op::While => with_block(w, &format!("while ({})", part(0)?), &n.args[1], indent),
        Op::Switch if n.args.len() == 2 => {
            with_block(w, &format!("switch ({})", part(0)?), &n.args[1], indent)
        }
        Op::DoWhile => {
            let body = with_block(w, "do", &n.args[0], indent)?;
            let by = if body.ends_with('}') { " ".to_owned() } else { format!("{}{indent}", w.eol) };
            Ok(format!("{body}{by}while ({});", part(1)?))
        }
        Op::Case => Ok(format!("case {}:", part(0)?)),
        Op::Default => Ok("default:".to_owned()),
        _ if is_loop(n) => match w.hole {
            Some(hole) => Ok(hole.to_owned()),
            None => no_text(w, n),
        },
        Op::Apply(h) if &**h == "Comment" => match n.args.first().map(|a| &a.op) {
            Some(Op::Str(words)) => Ok(comment(words, indent, w.eol)),
            _ => no_text(w, n),
        },
        Op::Apply(h) if matches!((&**h, n.args.len()), ("Label" | "Goto", 1)) => {
            let Some(word) = w.subject.word(&n.args[0]) else { return no_text(w, n) };
            // a label stands before a statement, which a declaration or a closing brace is not (C11 6.8.1)
            Ok(if &**h == "Label" { format!("{word}: ;") } else { format!("goto {word};") })
        }
        Op::Break => Ok("break;".to_owned()),
        Op::Continue => Ok("continue;".to_owned()),
        Op::Return if n.args.is_empty() => Ok("return;".to_owned()),
        Op::Return => Ok(format!("return {};", part(0)?)),
        Op::Apply(h) if matches!(&**h, "Declaration" | "DeclarationAssignment" | "ArrayDeclaration") => {
            Ok(format!("{};", declaration(w, n)?))
        }
        _ => Ok(format!("{};", w.expression(n, NONE)?)),
    }
}

/// Words between the signs of a comment, on lines of at most [`COLUMNS`].
pub(super) fn comment(words: &str, indent: &str, eol: &str) -> String {
    let words = words.replace("*/", "* /").replace("/*", "/ *");
    let mut out = String::from("/*");
    let mut column = indent.len() + 2;
    for word in words.split_whitespace() {
        if column + 1 + word.len() > COLUMNS - 3 {
            out += &format!("{eol}{indent}  ");
            column = indent.len() + 2;
        }
        out += &format!(" {word}");
        column += 1 + word.len();
    }
    out + " */"
}

/// The words before a function's type.
pub(super) fn modifiers<'w>(w: &'w Writer<'_>, f: &'w Tree) -> Vec<&'w str> {
    let mods = f.args.first().map_or(&[][..], |m| &*m.args);
    mods.iter().filter_map(|m| w.subject.word(m)).collect()
}

/// A function's text up to its parameters.
pub(super) fn signature(w: &Writer<'_>, f: &Tree) -> Result<String, Unwritable> {
    let [_, ret, name, params, _] = &*f.args else { return no_text(w, f) };
    let mods: String = modifiers(w, f)
        .iter()
        .map(|m| if *m == "ExternC" { "extern \"C\" ".to_owned() } else { format!("{m} ") })
        .collect();
    let Some(name) = w.subject.word(name) else { return no_text(w, f) };
    let params: Result<Vec<String>, _> = params.args.iter().map(|p| declaration(w, p)).collect();
    let mut params = params?;
    if params.is_empty() {
        params.push("void".to_owned());
    }
    Ok(format!("{mods}{}", declared(w, ret, &format!("{name}({})", params.join(", ")))?))
}

/// A function at the beginning of a line.
pub(super) fn function(w: &Writer<'_>, f: &Tree, brace_below: bool) -> Result<String, Unwritable> {
    let head = signature(w, f)?;
    let by = if brace_below { w.eol } else { " " };
    Ok(format!("{head}{by}{}", block(w, &f.args[4], "")?))
}
