//! Patterns written as source: c`for (int $i = 0; $i < $n; $i++) $body`.
//!
//! The quoted text is read by the front end that reads documents, with a word in the place of each variable, so that a
//! pattern means exactly the terms that the same text means in a program. What a program around a piece looks like, the
//! language's row says; languages whose row does not are refused by name.

use std::sync::Arc;

use front::{Language, Memo, Options, Parsed, Quoted as Quotation};
use rustc_hash::FxHashMap;
use term::Op;

use super::pattern::Pattern;
use super::tree::{Node, Subject, Tree};

/// Begins the words that stand for variables; nobody writes such a word.
const HOLE: &str = "ww_hole_";
/// Begins the calls that stand for statements.
pub(super) const STATEMENT: &str = "ww_statement_";

/// Begins the words that stand for types.
const TYPE: &str = "ww_type_";

/// What a quoted text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quoted {
    Expression,
    /// One statement.
    Statement,
    /// Several, as a list.
    Statements,
}

/// The pattern a quoted text is.
pub(super) fn pattern(language: &str, text: &str) -> Result<(Pattern, Quoted), String> {
    let Some(language) = Language::named(language) else {
        let there: Vec<String> = quoted().map(|l| format!("{}`…`", l.name)).collect();
        return Err(format!("there is no source {language}`…`. There are {}", there.join(" and ")));
    };
    let Some(program) = language.quotes else {
        let there: Vec<String> = quoted().map(|l| format!("{}`…`", l.name)).collect();
        return Err(format!(
            "{}`…` is not supported yet: pieces of {} are not read. Write the rule in {} or term notation",
            language.name,
            language.title,
            there.join(", ")
        ));
    };
    let (holed, names) = holes(text)?;
    let statements = is_statement(&holed);
    // Both are read in a function of their own, so that all the machinery of functions is there.
    let types: Vec<&str> = names.keys().filter(|w| w.starts_with(TYPE)).map(String::as_str).collect();
    let variables = plain_variables(&holed, &names);
    let program = program(&Quotation {
        text: &holed,
        statements,
        function: "ww_pattern",
        value: "ww_value",
        types: &types,
        variables: &variables,
    });
    let parsed = Parsed::parse(language, program.as_str());
    let options = Options { pattern: true, ..Options::default() };
    let unit = front::lower(&parsed, &options, &mut Memo::new());
    let reason = unit
        .rejects
        .iter()
        .map(|r| &r.reason)
        .chain(unit.items.iter().flat_map(|i| i.body.rejects()).map(|r| &r.reason));
    if let Some(reason) = reason.into_iter().next() {
        return Err(format!(
            "the quoted source is not understood: {reason}. It is to be an expression or statements"
        ));
    }
    let Some(item) = unit.items.iter().find(|i| &*i.name == "ww_pattern") else {
        return Err("the quoted source is not understood: it is to be an expression or statements".into());
    };
    let subject = Subject::of(&item.body, &program, item.span.start, false, false);
    let body = subject.root.args.last().cloned().unwrap_or_else(|| Node::list(Vec::new()));
    let hole = |word: &str| names.get(word.strip_prefix("struct ").unwrap_or(word)).cloned();
    if !statements {
        let value = body.args.first().filter(|a| a.op == Op::Assign).and_then(|a| a.args.get(1));
        return match value {
            Some(v) => Ok((Pattern::of(&subject, v, &hole), Quoted::Expression)),
            None => Err("the quoted source is not understood: it is to be one expression".into()),
        };
    }
    let kept: Vec<&Tree> = body.args.iter().filter(|a| a.op != Op::Empty).collect();
    match kept.as_slice() {
        [] => Err("the quoted source is empty".into()),
        [one] => Ok((Pattern::of(&subject, one, &hole), Quoted::Statement)),
        several => {
            let all = several.iter().map(|s| Pattern::of(&subject, s, &hole)).collect();
            Ok((Pattern::Term(Op::List, all), Quoted::Statements))
        }
    }
}

/// The languages whose pieces are read.
fn quoted() -> impl Iterator<Item = Language> {
    front::LANGUAGES.into_iter().filter(|l| l.quotes.is_some())
}

/// The words that are used as plain variables only: not called, subscripted, launched or taken apart.
fn plain_variables<'n>(text: &str, names: &'n FxHashMap<String, Arc<str>>) -> Vec<&'n str> {
    let mut out = Vec::new();
    let mut words: Vec<&String> = names.keys().filter(|w| w.starts_with(HOLE)).collect();
    words.sort();
    for word in words {
        let mut plain = true;
        for (at, _) in text.match_indices(word.as_str()) {
            let rest = &text[at + word.len()..];
            if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let next = rest.trim_start();
            let before = text[..at].trim_end();
            plain &=
                !next.starts_with(['(', '[', '.']) && !next.starts_with("->") && !next.starts_with("<<<");
            plain &= !before.ends_with("->") && !before.ends_with('.');
        }
        if plain {
            out.push(word.as_str());
        }
    }
    out
}

/// Whether a quoted text is statements (else it is an expression).
fn is_statement(text: &str) -> bool {
    let t = text.trim();
    let word: String = t.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    t.ends_with([';', '}'])
        || matches!(word.as_str(), "for" | "while" | "if" | "do" | "switch" | "return" | "break" | "continue")
}

/// The text with a word for each variable, and what the words stand for. A variable where a statement belongs becomes a
/// call, which is a statement whatever is declared.
fn holes(text: &str) -> Result<(String, FxHashMap<String, Arc<str>>), String> {
    let mut out = String::with_capacity(text.len() + 32);
    let mut names = FxHashMap::default();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if len == 0 {
            return Err("a variable's name is expected after `$`".into());
        }
        let name = &rest[..len];
        if rest[len..].starts_with(':') && rest[len + 1..].starts_with(|c: char| c.is_alphabetic()) {
            return Err(format!(
                "in quoted source a variable has no type: ask `type(${name},…)` in the condition"
            ));
        }
        rest = &rest[len..];
        let before = out.trim_end();
        let begins = before.is_empty() && !rest.trim().is_empty()
            || before.ends_with([';', '{', '}'])
            || before.ends_with("else")
            || before.ends_with("do")
            || closes_header(before);
        let next = rest.trim_start();
        let word_follows = next.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$' || c == '}');
        let ends = next.is_empty() || word_follows;
        let is_type = name.starts_with(char::is_uppercase) && declares(next);
        let statement = begins && ends && !is_type;
        let kind = match (is_type, statement) {
            (true, _) => TYPE,
            (_, true) => STATEMENT,
            _ => HOLE,
        };
        let word = format!("{kind}{name}");
        out.push_str(&word);
        if statement {
            out.push_str("();");
        }
        names.insert(word, Arc::from(name));
    }
    out.push_str(rest);
    Ok((out, names))
}

/// Whether what follows a type is a declaration: a name, and behind it its value, its length or its end.
fn declares(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or(text);
    let len = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
    let behind = name[len..].trim_start();
    len > 0 && (behind.starts_with(['[', ';']) || (behind.starts_with('=') && !behind.starts_with("==")))
}

/// Whether the text ends with the `)` of `for (…)`, `while (…)`, `if (…)` or `switch (…)`.
fn closes_header(text: &str) -> bool {
    if !text.ends_with(')') {
        return false;
    }
    let mut depth = 0usize;
    for (k, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => {
                depth -= 1;
                if depth == 0 {
                    let head = text[..k].trim_end();
                    let word = head.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
                    return matches!(word, "for" | "while" | "if" | "switch");
                }
            }
            _ => {}
        }
    }
    false
}
