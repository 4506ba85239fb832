//! The user's promises: from the text of a comment to [`term::Promise`]s of the loop, or the function, that it stands before.
//!
//! Their expressions are read as C at that place, macros included, and become terms that stand nowhere in the tree. What is not
//! understood is kept with the reason, in words that continue "it promises nothing: …".

use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::{Op, Promise, Promised, Storage, TermId, TypeKind};
use tree_sitter::{Node, Tree};

use crate::c::dialect::Dialect;
use crate::c::fields::part_of;
use crate::c::lex::{lex, Kind, Token};
use crate::c::pp::Expander;
use crate::c::render::{render, Closing, Rendered};
use crate::c::{Lower, Source};
use crate::limits::c_promises::MAX_PROMISES;
use crate::marks::{parts, Mark};

/// The promises of an item, by the place that they stand before.
pub(super) type ByPlace = FxHashMap<u32, Vec<Parsed>>;

/// A promise after parsing.
pub(super) struct Parsed {
    word: Arc<str>,
    arguments: Vec<Expression>,
    /// What stands behind `=`.
    value: Option<Expression>,
    /// Why it is none.
    fault: Option<Arc<str>>,
}

struct Expression {
    text: Arc<str>,
    rendered: Rendered,
    tree: Option<Tree>,
}

/// Every promise, as one writes it.
const FORMS: [(&str, &str); 6] = [
    ("size", "size(x) = n"),
    ("distinct-rows", "distinct-rows(u)"),
    ("injective", "injective(idx)"),
    ("in-range", "in-range(col, 0, n)"),
    ("no-alias", "no-alias(a, b)"),
    ("pure", "pure(f)"),
];

/// The name of the variable that an expression is parsed as the value of.
const VARIABLE: &str = "__ww_promised";

/// Parses what is promised inside an item and before it.
pub(super) fn read(
    source: &Source<'_>,
    marks: &FxHashMap<u32, Mark>,
    dialect: &'static Dialect,
    is_type: &dyn Fn(&str) -> bool,
    expander: &mut Expander<'_>,
    parser: &mut tree_sitter::Parser,
) -> ByPlace {
    let inside = |at: &u32| source.span.start <= *at && *at < source.span.end;
    let mut places: Vec<_> = marks.iter().filter(|(at, m)| inside(at) && !m.promises.is_empty()).collect();
    places.sort_by_key(|(at, _)| **at);
    let mut expression = |text: &str, at: u32| {
        let tokens: Vec<Token> =
            lex(text).tokens.iter().map(|t| Token { start: t.start + at, end: t.end + at, ..*t }).collect();
        let is_plain = !tokens.is_empty() && tokens.iter().all(|t| t.kind != Kind::Directive);
        let tokens = expander.initializer(&tokens, VARIABLE);
        let closing = Closing { text: ";", count: 1 };
        let rendered = render(&tokens, source.text, dialect, is_type, expander, closing);
        let tree = parser.parse(&rendered.text, None).filter(|t| is_plain && !t.root_node().has_error());
        Expression { text: text.trim().into(), rendered, tree }
    };
    let mut out = ByPlace::default();
    for (&at, mark) in places {
        let all =
            mark.promises.iter().take(MAX_PROMISES).map(|(text, at)| parsed(text, *at, &mut expression));
        out.insert(at, all.collect());
    }
    out
}

fn parsed(text: &Arc<str>, at: u32, expression: &mut dyn FnMut(&str, u32) -> Expression) -> Parsed {
    let none = |word: &str, fault: String| Parsed {
        word: word.into(),
        arguments: Vec::new(),
        value: None,
        fault: Some(fault.into()),
    };
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let Some((_, form)) = FORMS.iter().find(|f| f.0 == word) else {
        let all: Vec<String> = FORMS.iter().map(|f| format!("`{}`", f.1)).collect();
        let said = if word.is_empty() {
            "no promise stands there".into()
        } else {
            format!("`{word}` is no promise")
        };
        return none(word, format!("{said}. Promises are {}", all.join(", ")));
    };
    let malformed = || none(word, format!("write `{form}`"));
    let Some((list, value)) = call(rest) else { return malformed() };
    // where a part of the text stands in the file
    let place = |part: &str| at + (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize) as u32;
    let (counted, has_value) = match word {
        "in-range" => (3..=3, false),
        "no-alias" => (2..=8, false),
        "size" => (1..=1, true),
        _ => (1..=1, false),
    };
    let arguments = parts(list);
    if !counted.contains(&arguments.len())
        || arguments.iter().any(|a| a.trim().is_empty())
        || value.is_some() != has_value
    {
        return malformed();
    }
    Parsed {
        word: word.into(),
        arguments: arguments.into_iter().map(|a| expression(a, place(a))).collect(),
        value: value.map(|v| expression(v, place(v))),
        fault: None,
    }
}

/// `(list)` or `(list) = value`.
fn call(text: &str) -> Option<(&str, Option<&str>)> {
    let inner = text.trim_start().strip_prefix('(')?;
    let mut depth = 1usize;
    for (k, c) in inner.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let (list, rest) = (inner.get(..k)?, inner.get(k + 1..)?.trim());
            return match rest.strip_prefix('=') {
                Some(value) if !value.trim().is_empty() && !value.starts_with('=') => {
                    Some((list, Some(value)))
                }
                None if rest.is_empty() => Some((list, None)),
                _ => None,
            };
        }
    }
    None
}

impl<'a> Lower<'a> {
    /// What is promised of a loop, in the scope that it stands in. What comes out of a macro has no comment before it.
    pub(super) fn promises_of_loop(&mut self, node: Node<'_>) -> Vec<(u32, Promised)> {
        let info = self.r.infos.get(self.r.index(node.start_byte()));
        match info.filter(|i| i.expansion == 0).map(|i| i.span.start) {
            // of the function, not of a loop
            Some(at) if at != self.base => self.promises_before(at),
            _ => Vec::new(),
        }
    }

    /// What the comments before a place promise, in the scope that is open.
    pub(super) fn promises_before(&mut self, at: u32) -> Vec<(u32, Promised)> {
        let places: &'a ByPlace = self.promises;
        let Some(all) = places.get(&at) else { return Vec::new() };
        let mut out = Vec::new();
        for (k, p) in (0..).zip(all) {
            match self.promised(p) {
                Ok(said) => out.extend(said.into_iter().map(|s| (k, s))),
                Err(fault) => out.push((k, Promised::Not(fault))),
            }
        }
        out
    }

    /// Notes promises.
    pub(super) fn promise(&mut self, of: Option<TermId>, promises: Vec<(u32, Promised)>) {
        let all = promises.into_iter().map(|(number, says)| Promise { of, number, says });
        self.b.said.promises.extend(all);
    }

    fn promised(&mut self, p: &'a Parsed) -> Result<Vec<Promised>, Arc<str>> {
        if let Some(fault) = &p.fault {
            return Err(fault.clone());
        }
        let mut arguments = Vec::new();
        for a in &p.arguments {
            arguments.push(self.promised_term(a)?);
        }
        let value = p.value.as_ref().map(|v| self.promised_term(v)).transpose()?;
        let fault = |this: &Self, k: usize, is: &str| -> Arc<str> {
            let text = p.arguments.get(k).or(p.value.as_ref()).map_or("", |a| &a.text);
            let form = FORMS.iter().find(|f| f.0 == &*p.word).map_or("", |f| f.1);
            let _ = this;
            format!("`{text}` is no {is}. Write `{form}`").into()
        };
        let array = |this: &Self, k: usize| match arguments.get(k) {
            Some(&t) if this.element_of(t).is_some() => Ok(t),
            _ => Err(fault(this, k, "array or pointer")),
        };
        let numbers = |this: &Self, k: usize| {
            let t = array(this, k)?;
            let is_int = this.element_of(t).is_some_and(|e| this.b.types.as_int(e).is_some());
            if is_int {
                Ok(t)
            } else {
                Err(fault(this, k, "array of integers"))
            }
        };
        let int = |this: &Self, k: usize, t: Option<TermId>| match t {
            Some(t) if this.b.types.as_int(this.ty(t)).is_some() => Ok(t),
            _ => Err(fault(this, k, "integer")),
        };
        Ok(vec![match &*p.word {
            "size" => Promised::Size { array: array(self, 0)?, length: int(self, 1, value)? },
            "injective" => Promised::Injective(numbers(self, 0)?),
            "in-range" => Promised::InRange {
                array: numbers(self, 0)?,
                low: int(self, 1, arguments.get(1).copied())?,
                high: int(self, 2, arguments.get(2).copied())?,
            },
            "distinct-rows" => {
                let t = array(self, 0)?;
                let rows = self.element_of(t).is_some_and(|e| self.is_pointer(e));
                if !rows {
                    return Err(fault(self, 0, "array of pointers"));
                }
                Promised::DistinctRows(t)
            }
            "pure" => match arguments.first().map(|&t| &self.b.get(t).op) {
                Some(&Op::Sym(f)) if self.b.symbols[f].storage == Storage::Function => Promised::Pure(f),
                _ => return Err(fault(self, 0, "function")),
            },
            _ => {
                let mut pairs = Vec::new();
                for i in 0..arguments.len() {
                    for j in i + 1..arguments.len() {
                        pairs.push(Promised::NoAlias(array(self, i)?, array(self, j)?));
                    }
                }
                return Ok(pairs);
            }
        }])
    }

    /// The type of what an array holds, or a pointer points to.
    fn element_of(&self, t: TermId) -> Option<term::TypeId> {
        let element = self.b.types.element(self.ty(t))?;
        let is_object = !matches!(self.b.types.kind(element), TypeKind::Function { .. } | TypeKind::Void);
        is_object.then_some(element)
    }

    /// An expression of a promise as a term: it does nothing, and all its names are declared.
    fn promised_term(&mut self, e: &'a Expression) -> Result<TermId, Arc<str>> {
        let text = &e.text;
        let odd = || -> Arc<str> { format!("`{text}` is not an expression of names and numbers").into() };
        let root = e.tree.as_ref().map(Tree::root_node).ok_or_else(odd)?;
        let value =
            root.named_child(0).and_then(|d| part_of(d, "declarator")).and_then(|d| part_of(d, "value"));
        let value = value.filter(|_| root.named_child_count() == 1).ok_or_else(odd)?;
        let outer = std::mem::replace(&mut self.r, &e.rendered);
        let pending = self.pending.len();
        let t = self.expr(value);
        self.pending.truncate(pending);
        self.r = outer;
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            let term = self.b.get(t);
            match &term.op {
                Op::Sym(s) if self.b.symbols[*s].storage == Storage::Undeclared => {
                    return Err(format!(
                        "`{}` is not declared where the comment stands",
                        self.b.symbols[*s].name
                    )
                    .into())
                }
                Op::Reject(_) | Op::Call | Op::Launch | Op::Apply(_) | Op::InitList | Op::List => {
                    return Err(odd())
                }
                op if op.is_write() => return Err(format!("`{text}` changes something").into()),
                _ => stack.extend(term.args.iter().copied()),
            }
        }
        Ok(t)
    }
}
