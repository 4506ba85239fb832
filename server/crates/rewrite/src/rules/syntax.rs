//! The text of a system, read: `source [condition] -> destination [action]`, one rule after the other.
//!
//! Parts are terms in the notation of F1.1 or quoted source (see `quoted`). A rule may begin with its number (`1.`) or
//! with a name (`swap:`); `#` begins a remark. `Run(a,b)` as a source is two statements one after the other anywhere in a
//! block, as quoted statements are. What is wrong with one rule is said at its place, and reading goes on with
//! the next. Deliberately absent: whether a rule makes sense (see `load`).

use std::sync::Arc;

use base::Span;
use term::notation::read_prefix;
use term::Op;

use super::action::Action;
use super::guard::Guard;
use super::page::{Finding, Rule, Severity};
use super::pattern::Pattern;
use super::quoted::{self, Quoted};
use super::tree::Subject;

/// Reads all rules of `text[block]`. Places are those of the text.
pub(super) fn rules(text: &str, block: Span) -> (Vec<Rule>, Vec<Finding>) {
    let end = (block.end as usize).min(text.len());
    let mut r = Reader { text: text.get(..end).unwrap_or(""), at: block.start as usize };
    let (mut rules, mut findings) = (Vec::new(), Vec::new());
    loop {
        r.space();
        if r.rest().is_empty() {
            return (rules, findings);
        }
        let start = r.at;
        match r.rule(rules.len() + 1) {
            Ok(rule) => rules.push(rule),
            Err(wrong) => {
                findings.push(wrong);
                r.skip_rule(start);
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

type Read<T> = Result<T, Finding>;

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if self.rest().starts_with('#') {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else {
                return;
            }
        }
    }
    fn eat(&mut self, what: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }
    fn wrong<T>(&self, message: impl Into<String>) -> Read<T> {
        let len = self.rest().chars().next().map_or(0, char::len_utf8);
        self.wrong_at(Span::new(self.at, self.at + len), message)
    }
    fn wrong_at<T>(&self, place: Span, message: impl Into<String>) -> Read<T> {
        let mut message = message.into();
        if let Some(first) = message.chars().next().filter(|c| c.is_lowercase()) {
            message.replace_range(..first.len_utf8(), &first.to_uppercase().to_string());
        }
        if !message.ends_with(['.', '?']) {
            message.push('.');
        }
        Err(Finding { severity: Severity::Error, message, place })
    }
    /// Goes to where the next rule may begin: the next numbered or blank line.
    fn skip_rule(&mut self, start: usize) {
        self.at = self.at.max(start + 1);
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        loop {
            let Some(k) = self.rest().find('\n') else {
                self.at = self.text.len();
                return;
            };
            self.at += k + 1;
            let line = self.rest().lines().next().unwrap_or("");
            if line.trim().is_empty()
                || number(line.trim_start()).is_some()
                || label(line.trim_start()).is_some()
            {
                return;
            }
        }
    }

    fn rule(&mut self, count: usize) -> Read<Rule> {
        let mut name: Arc<str> = count.to_string().into();
        if let Some((n, len)) = number(self.rest()) {
            name = n.into();
            self.at += len;
            self.space();
        }
        if let Some((n, len)) = label(self.rest()) {
            name = n.into();
            self.at += len;
            self.space();
        }
        let start = self.at;
        let (source, what) = self.part("the source")?;
        let (source, run) = match (what, source) {
            (Quoted::Statements, s) => (s, true),
            // `x = 1;` is the statement alone, not the same assignment in a loop's header or in another expression
            (Quoted::Statement, s) if !is_compound(&s) => (Pattern::Term(Op::List, vec![s]), true),
            (_, s) => (s, false),
        };
        let guard = self.condition()?;
        if !self.eat("->") {
            self.space();
            return self.wrong("`->` is expected after the source and its condition");
        }
        self.space();
        let (destination, _) = self.part("the destination")?;
        let actions = self.actions()?;
        let place = Span::new(start, self.at);
        self.eat(";");
        Ok(Rule { name, source, run, guard, destination, actions, place })
    }

    fn part(&mut self, what: &str) -> Read<(Pattern, Quoted)> {
        self.space();
        let word = self.rest().find(|c: char| !c.is_ascii_lowercase()).unwrap_or(0);
        if word > 0 && self.rest()[word..].starts_with('`') {
            return self.quoted(word);
        }
        if self.rest().is_empty() {
            return self.wrong(format!("{what} of the rule is missing"));
        }
        Ok(match self.term()? {
            // statements one after the other, wherever they stand in a block
            Pattern::Term(Op::Apply(head), items) if &*head == "Run" && items.len() > 1 => {
                (Pattern::Term(Op::List, items), Quoted::Statements)
            }
            p => (p, Quoted::Expression),
        })
    }

    fn quoted(&mut self, word: usize) -> Read<(Pattern, Quoted)> {
        let start = self.at;
        let language = self.rest()[..word].to_owned();
        let inside = self.rest()[word + 1..].find('`');
        let Some(len) = inside else {
            return self.wrong(format!("{language}` is not closed by another `"));
        };
        let text = self.rest()[word + 1..word + 1 + len].to_owned();
        let end = start + word + len + 2;
        match quoted::pattern(&language, &text) {
            Ok(p) => {
                self.at = end;
                Ok(p)
            }
            Err(why) => self.wrong_at(Span::new(start, end), why),
        }
    }

    fn term(&mut self) -> Read<Pattern> {
        match read_prefix(self.text, self.at) {
            Ok((body, end)) => {
                self.at = end;
                let subject = Subject::of(&body, "", 0, false, false);
                Ok(Pattern::of(&subject, &subject.root, &|_| None))
            }
            Err(e) => self.wrong_at(e.span, e.message),
        }
    }

    /// `[guard, guard]`
    fn condition(&mut self) -> Read<Option<Guard>> {
        if !self.eat("[") {
            return Ok(None);
        }
        let mut all = Vec::new();
        loop {
            self.space();
            let start = self.at;
            let p = self.term()?;
            match Guard::of(&p) {
                Ok(g) => all.push(g),
                Err(why) => return self.wrong_at(Span::new(start, self.at), why),
            }
            if self.eat("]") {
                break;
            }
            if !self.eat(",") && !self.eat(";") {
                return self.wrong("`,` or `]` is expected in the condition");
            }
        }
        Ok(Some(if all.len() == 1 { all.remove(0) } else { Guard::And(all) }))
    }

    /// `[action; action]`, unless it is the list that the next rule begins with.
    fn actions(&mut self) -> Read<Vec<Action>> {
        let before = self.at;
        if !self.eat("[") {
            return Ok(Vec::new());
        }
        if self.is_next_rule(before) {
            self.at = before;
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        loop {
            self.space();
            let start = self.at;
            let p = self.term()?;
            match Action::of(&p) {
                Ok(a) => all.push(a),
                Err(why) => return self.wrong_at(Span::new(start, self.at), why),
            }
            if self.eat("]") {
                return Ok(all);
            }
            if !self.eat(";") && !self.eat(",") {
                return self.wrong("`;` or `]` is expected between actions");
            }
        }
    }
    /// Whether what begins here is a source: an arrow or a condition and an arrow follow the bracket.
    fn is_next_rule(&self, from: usize) -> bool {
        let Ok((body, end)) = read_prefix(self.text, from) else { return false };
        if !matches!(body.op(body.root), Op::List | Op::Cons) {
            // an operator follows: no action has one
            return true;
        }
        let rest = self.text.get(end..).unwrap_or("").trim_start();
        rest.starts_with("->")
            || (rest.starts_with('[')
                && read_prefix(self.text, self.text.len() - rest.len())
                    .is_ok_and(|(_, e)| self.text.get(e..).unwrap_or("").trim_start().starts_with("->")))
    }
}

/// Whether a statement's head tells it from every expression.
fn is_compound(p: &Pattern) -> bool {
    match p {
        Pattern::Term(op, _) => {
            op.is_loop()
                || matches!(
                    op,
                    Op::If
                        | Op::List
                        | Op::Switch
                        | Op::Break
                        | Op::Continue
                        | Op::Return
                        | Op::Case
                        | Op::Default
                )
        }
        _ => false,
    }
}

/// `12.` at the start of a rule.
fn number(text: &str) -> Option<(&str, usize)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).filter(|&k| k > 0)?;
    let rest = text[digits..].strip_prefix('.')?;
    rest.starts_with(char::is_whitespace).then_some((&text[..digits], digits + 1))
}

/// `swap:` at the start of a rule.
fn label(text: &str) -> Option<(&str, usize)> {
    let len = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))?;
    let rest = text[len..].strip_prefix(':')?;
    let first = text.chars().next().is_some_and(char::is_alphabetic);
    (first && rest.starts_with(char::is_whitespace)).then_some((&text[..len], len + 1))
}
