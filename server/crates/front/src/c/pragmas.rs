//! Words addressed to us (or to other tools) in C: pragmas, `_Pragma`, macros that stand for one, and comments.

use base::Span;

use crate::c::lex::{Kind, Lexed};
use crate::c::row::COMMENTS;
use crate::marks::{clauses, mark, of_comment};
use crate::{Directive, DirectiveKind};

/// Reads all directives of a text, in textual order.
pub(crate) fn directives(text: &str, lexed: &Lexed) -> Vec<Directive> {
    let mut out = Vec::new();
    for (k, t) in lexed.tokens.iter().enumerate() {
        if t.kind == Kind::Directive {
            let line = text.get(t.start as usize..t.end as usize).unwrap_or("");
            if let Some(kind) = pragma(line) {
                push(&mut out, kind, t.span(), k + 1, text, lexed);
            }
        }
    }
    for c in &lexed.comments {
        let line = text.get(c.span.range()).unwrap_or("");
        if let Some(kind) = of_comment(line, &COMMENTS) {
            push(&mut out, kind, c.span, c.next, text, lexed);
        }
    }
    operators(text, lexed, &mut out);
    out.sort_by_key(|d| d.span);
    out
}

/// `_Pragma("…")`, written so or by a macro of this file.
fn operators(text: &str, lexed: &Lexed, out: &mut Vec<Directive>) {
    let word = |t: &crate::c::lex::Token| text.get(t.span().range()).unwrap_or("");
    let mut macros: Vec<(&str, Vec<&str>, &str)> = Vec::new();
    let mut k = 0;
    while let Some(t) = lexed.tokens.get(k) {
        k += 1;
        if t.kind == Kind::Directive {
            macros.extend(pragma_macro(word(t), &macros));
            continue;
        }
        if t.kind != Kind::Ident {
            continue;
        }
        let known = macros.iter().find(|m| m.0 == word(t));
        if known.is_none() && word(t) != "_Pragma" {
            continue;
        }
        let mut end = t.span().end;
        let mut arguments = "";
        let takes = known.is_none_or(|m| !m.1.is_empty());
        if takes {
            if lexed.tokens.get(k).map(word) != Some("(") {
                continue;
            }
            let mut depth = 0usize;
            let open = k;
            while let Some(t) = lexed.tokens.get(k) {
                k += 1;
                match word(t) {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                end = t.span().end;
                if depth == 0 {
                    break;
                }
            }
            let from = lexed.tokens[open].span().end as usize;
            arguments = text.get(from..end as usize - 1).unwrap_or("");
        }
        let read = match known {
            None => unquoted(arguments),
            Some(m) => expanded(m, arguments, &macros, 0),
        };
        if let Some(line) = read {
            if let Some(kind) = pragma(&format!("#pragma {line}")) {
                push(out, kind, Span { start: t.span().start, end }, k, text, lexed);
            }
        }
    }
}

/// A macro that stands for a pragma: name, parameters, text.
fn pragma_macro<'a>(
    line: &'a str,
    known: &[(&str, Vec<&str>, &str)],
) -> Option<(&'a str, Vec<&'a str>, &'a str)> {
    let rest = line.strip_prefix('#')?.trim_start().strip_prefix("define")?.trim_start();
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let (parameters, text) = match rest.strip_prefix('(') {
        Some(r) => {
            let (list, text) = r.split_once(')')?;
            (list.split(',').map(str::trim).collect(), text.trim())
        }
        None => (Vec::new(), rest.trim()),
    };
    let head = text.split('(').next()?.trim();
    (head == "_Pragma" || known.iter().any(|m| m.0 == head)).then_some((name, parameters, text))
}

/// What a use of such a macro says; `None` where it is more than one pragma.
fn expanded(
    m: &(&str, Vec<&str>, &str),
    arguments: &str,
    macros: &[(&str, Vec<&str>, &str)],
    depth: u32,
) -> Option<String> {
    let (head, rest) = m.2.split_once('(').unwrap_or((m.2, ""));
    let inner = rest.trim_end().strip_suffix(')').unwrap_or("").trim();
    // one parameter, or all of them: what pragmas are written with
    let replaced = |text: &str| -> String {
        let list: Vec<&str> =
            if m.1.len() == 1 { vec![arguments.trim()] } else { arguments.split(',').collect() };
        let mut out = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            match m.1.iter().position(|p| *p == word || (*p == "..." && word == "__VA_ARGS__")) {
                Some(k) => {
                    out.push_str(if m.1[k] == "..." { arguments } else { list.get(k).copied().unwrap_or("") })
                }
                None => out.push_str(word),
            }
            let next = after.chars().next().map_or(0, char::len_utf8);
            out.push_str(&after[..next]);
            rest = &after[next..];
        }
        out
    };
    if depth > 4 {
        return None;
    }
    if head.trim() == "_Pragma" {
        return match inner.strip_prefix('#') {
            Some(p) => Some(replaced(p.trim())),
            None => unquoted(inner),
        };
    }
    let next = macros.iter().find(|n| n.0 == head.trim())?;
    expanded(next, &replaced(inner), macros, depth + 1)
}

/// A string literal's text.
fn unquoted(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some(inner.replace("\\\"", "\"").replace("\\\\", "\\"))
}

fn push(
    out: &mut Vec<Directive>,
    mut kind: DirectiveKind,
    span: Span,
    next: usize,
    text: &str,
    lexed: &Lexed,
) {
    let next = lexed.tokens.iter().skip(next).find(|t| t.kind != Kind::Directive);
    let before = next.map_or(text.len() as u32, |t| t.start);
    if let DirectiveKind::Mark { attached, .. } = &mut kind {
        *attached = next.is_some_and(|t| text.get(t.span().range()) == Some("for"));
    }
    out.push(Directive { kind, span, line: lexed.line(span.start), before });
}

fn pragma(line: &str) -> Option<DirectiveKind> {
    let line = line.strip_prefix('#')?.trim_start().strip_prefix("pragma")?;
    if !line.starts_with(|c: char| c.is_whitespace()) {
        return None;
    }
    let line = line.split("//").next().unwrap_or(line);
    let rest = line.trim();
    if let Some(after) = rest.strip_prefix("ops") {
        let c = clauses(after);
        if after.starts_with(char::is_whitespace) && c.iter().any(|c| c.0 == "target") {
            return Some(mark(&c));
        }
    }
    if let Some(after) = rest.strip_prefix("warpwright") {
        let c = clauses(after);
        if after.starts_with(char::is_whitespace) && c.iter().any(|c| c.0 == "offload") {
            return Some(mark(&c));
        }
    }
    Some(DirectiveKind::Foreign(rest.into()))
}
