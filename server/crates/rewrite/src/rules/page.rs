//! The types everything here speaks of: pages, systems, rules, strategies, examples, findings.
//!
//! A page is documentation, definition and test in one (F1.2, F1.3): one Markdown file, one transformation.

use std::sync::Arc;

use base::Span;

use super::action::Action;
use super::guard::Guard;
use super::pattern::Pattern;

/// A Markdown page with rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RulePage {
    /// The file's name without its ending.
    pub name: Arc<str>,
    /// The first heading.
    pub title: String,
    /// `None`: the page does not say; it is then not used.
    pub trust: Option<Trust>,
    /// The first paragraph: what the editor shows.
    pub prose: String,
    /// In the order of the page; the last is what the page's name means, unless one has the page's own name.
    pub systems: Vec<Arc<RuleSystem>>,
    pub examples: Vec<Example>,
    /// What the page's source is, for places in it.
    pub text: Arc<str>,
}

/// What the author says of results; it is said to whoever is offered one, and decides what examples may differ in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Trust {
    /// Every result is the same, bit for bit.
    Exact,
    /// Floating-point operations are regrouped: last bits may differ.
    Reassociates,
    /// Right if this holds, which nobody proves.
    Assumes(String),
    /// Both: floating-point operations are regrouped, and it is right if this holds.
    ReassociatesAssuming(String),
}

/// Ordered rules and how they are applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleSystem {
    pub name: Arc<str>,
    pub rules: Vec<Rule>,
    pub strategy: Strategy,
    /// Of the block, in the page.
    pub place: Span,
}

/// `source [condition] -> destination [action]`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// As labelled, or its number.
    pub name: Arc<str>,
    pub source: Pattern,
    /// The source is a list of statements that may stand anywhere in a block, one after the other: a quoted source of
    /// several statements.
    pub run: bool,
    pub guard: Option<Guard>,
    pub destination: Pattern,
    pub actions: Vec<Action>,
    /// In the page.
    pub place: Span,
}

/// In which order places are tried.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Strategy {
    /// A term before its parts, again and again until nothing applies anywhere.
    TopDown,
    /// The parts before the term.
    BottomUp,
    /// The first place from the top, then from the top again.
    FirstTop,
    /// At most one rule, once.
    Once(Box<Strategy>),
    /// Until it changes nothing.
    Repeat(Box<Strategy>),
    /// That nothing applies is no failure.
    Try(Box<Strategy>),
    /// One after the other; if one of them applies nowhere, none counts.
    Then(Vec<Strategy>),
    /// Every rule of the system applies somewhere in the file and every launch of what it rewrites is rewritten, or none
    /// counts: a kernel with those who start it. Rules of one name count as one. Decided by who applies it to a file.
    Together(Box<Strategy>),
    /// The loops meant are planned, and what puts the call of each into the program (`_Offloaded(…)`) is rewritten. Planned by who
    /// applies it to a file.
    Planned(Box<Strategy>),
    /// The first of them that applies.
    Or(Vec<Strategy>),
    /// Another system, with its own strategy.
    System(Arc<str>),
}

/// A program on the page and what becomes of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// The system it is for.
    pub system: Arc<str>,
    pub language: ExampleLanguage,
    pub before: String,
    pub expected: Expected,
    /// Of the program, in the page.
    pub place: Span,
    /// Of the result, in the page.
    pub result_place: Span,
}

/// What is expected of an example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expected {
    /// This text, byte for byte.
    Result(String),
    /// No result, for a reason in which these words occur (if there are any).
    Refused(String),
}

/// What an example is written in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExampleLanguage {
    Source(front::Language),
    /// The notation of F1.1.
    Term,
}

/// Something to say of a page, at its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub severity: Severity,
    /// What is wrong and what to write instead; sentences.
    pub message: String,
    /// In the page.
    pub place: Span,
}

/// Whether the page can be used all the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    Error,
    Warning,
}

impl RulePage {
    /// 1-based line and byte column of a place.
    pub fn line_column(&self, place: Span) -> (u32, u32) {
        line_column(&self.text, place.start)
    }
}

/// 1-based line and byte column.
pub fn line_column(text: &str, offset: u32) -> (u32, u32) {
    let before = text.as_bytes().get(..offset as usize).unwrap_or(text.as_bytes());
    let line = before.iter().filter(|&&b| b == b'\n').count() as u32 + 1;
    let column = before.iter().rev().take_while(|&&b| b != b'\n').count() as u32 + 1;
    (line, column)
}

impl Trust {
    pub fn text(&self) -> String {
        match self {
            Trust::Exact => "exact".into(),
            Trust::Reassociates => "reassociates".into(),
            Trust::Assumes(what) => format!("assumes {what}"),
            Trust::ReassociatesAssuming(what) => format!("reassociates, assumes {what}"),
        }
    }
    /// Whether last bits of floating-point results may differ.
    pub fn regroups(&self) -> bool {
        matches!(self, Trust::Reassociates | Trust::ReassociatesAssuming(_))
    }
    /// What is taken for granted.
    pub fn assumed(&self) -> Option<&str> {
        match self {
            Trust::Assumes(what) | Trust::ReassociatesAssuming(what) => Some(what),
            Trust::Exact | Trust::Reassociates => None,
        }
    }
}

impl Strategy {
    /// Reads `then(try(a), repeat(TopDown))`. `Err`: what is wrong.
    pub fn parse(text: &str) -> Result<Strategy, String> {
        let mut at = 0;
        let s = strategy(text, &mut at, 0)?;
        match text[at..].trim() {
            "" => Ok(s),
            rest => Err(format!("the strategy ends before `{rest}`")),
        }
    }
    pub fn text(&self) -> String {
        match self {
            Strategy::TopDown => "TopDown".into(),
            Strategy::BottomUp => "BottomUp".into(),
            Strategy::FirstTop => "FirstTop".into(),
            Strategy::Once(s) => format!("once({})", s.text()),
            Strategy::Repeat(s) => format!("repeat({})", s.text()),
            Strategy::Try(s) => format!("try({})", s.text()),
            Strategy::Together(s) => format!("together({})", s.text()),
            Strategy::Planned(s) => format!("planned({})", s.text()),
            Strategy::Then(all) | Strategy::Or(all) => {
                let word = if matches!(self, Strategy::Or(_)) { "or" } else { "then" };
                format!("{word}({})", all.iter().map(Strategy::text).collect::<Vec<_>>().join(", "))
            }
            Strategy::System(n) => n.to_string(),
        }
    }
    /// The systems it names.
    /// The systems that need not apply.
    pub fn tried(&self) -> Vec<&Arc<str>> {
        let mut out = Vec::new();
        match self {
            Strategy::Try(inner) => inner.systems(&mut out),
            Strategy::Then(all) | Strategy::Or(all) => out.extend(all.iter().flat_map(Strategy::tried)),
            Strategy::Once(inner) | Strategy::Repeat(inner) => out = inner.tried(),
            _ => {}
        }
        out
    }
    pub fn systems<'a>(&'a self, out: &mut Vec<&'a Arc<str>>) {
        match self {
            Strategy::Once(s) | Strategy::Repeat(s) | Strategy::Try(s) | Strategy::Together(s) => {
                s.systems(out)
            }
            Strategy::Planned(s) => s.systems(out),
            Strategy::Then(all) | Strategy::Or(all) => all.iter().for_each(|s| s.systems(out)),
            Strategy::System(n) => out.push(n),
            _ => {}
        }
    }
}

fn strategy(text: &str, at: &mut usize, depth: u32) -> Result<Strategy, String> {
    if depth > 20 {
        return Err("the strategy is nested too deeply".into());
    }
    let skip = |at: &mut usize| *at += text[*at..].len() - text[*at..].trim_start().len();
    skip(at);
    let rest = &text[*at..];
    let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
    let word = &rest[..len];
    *at += len;
    skip(at);
    let mut parts = Vec::new();
    let called = text[*at..].starts_with('(');
    if called {
        loop {
            *at += 1;
            parts.push(strategy(text, at, depth + 1)?);
            skip(at);
            match text[*at..].chars().next() {
                Some(',') => {}
                Some(')') => break,
                _ => return Err("`,` or `)` is expected in the strategy".into()),
            }
        }
        *at += 1;
    }
    let one = |parts: Vec<Strategy>| match <[Strategy; 1]>::try_from(parts) {
        Ok([s]) => Ok(Box::new(s)),
        Err(_) => Err(format!("`{word}` takes one strategy: `{word}(TopDown)`")),
    };
    match (word, called) {
        ("TopDown", false) => Ok(Strategy::TopDown),
        ("BottomUp", false) => Ok(Strategy::BottomUp),
        ("FirstTop", false) => Ok(Strategy::FirstTop),
        ("once", true) => Ok(Strategy::Once(one(parts)?)),
        ("repeat", true) => Ok(Strategy::Repeat(one(parts)?)),
        ("try", true) => Ok(Strategy::Try(one(parts)?)),
        ("together", true) => Ok(Strategy::Together(one(parts)?)),
        ("planned", true) => Ok(Strategy::Planned(one(parts)?)),
        ("then", true) => Ok(Strategy::Then(parts)),
        ("or", true) => Ok(Strategy::Or(parts)),
        ("", _) => Err("a strategy is expected: TopDown, BottomUp, FirstTop, once(…), repeat(…), try(…), \
                        then(…, …), or(…, …), together(…), planned(…) or the name of a system"
            .into()),
        (_, true) => Err(format!(
            "there is no way `{word}` of combining strategies. There are: once, repeat, try, then, or, together, planned"
        )),
        (name, false) => Ok(Strategy::System(name.into())),
    }
}
