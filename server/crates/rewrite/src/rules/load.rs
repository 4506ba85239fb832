//! A page's Markdown read: heading, prose, trust, systems, examples; and what is wrong with them.
//!
//! Deliberately absent: running the examples (that takes the simulator, which is `ide`'s), and other pages (see `set`).

use std::sync::Arc;

use base::Span;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::near::nearest;
use super::page::{
    Example, ExampleLanguage, Expected, Finding, RulePage, RuleSystem, Severity, Strategy, Trust,
};
use super::{lint, syntax};

/// A fenced block.
struct Block {
    info: String,
    /// Of the fence with its content.
    whole: Span,
    /// Of the content.
    inside: Span,
    content: String,
}

/// Reads a page. Findings are in the order of the page; one with an error must not be used.
pub fn load(name: &str, text: &str) -> (RulePage, Vec<Finding>) {
    let mut page = RulePage {
        name: name.into(),
        title: String::new(),
        trust: None,
        prose: String::new(),
        systems: Vec::new(),
        examples: Vec::new(),
        text: text.into(),
    };
    let mut findings = Vec::new();
    let blocks = outline(text, &mut page, &mut findings);
    for b in &blocks {
        if let Some(rest) = word_after(&b.info, "rules") {
            system(text, name, b, rest, &mut page, &mut findings);
        }
    }
    examples(&blocks, &mut page, &mut findings);
    let top = Span::new(0, text.lines().next().map_or(0, str::len));
    let mut missing = |message: &str| {
        findings.push(Finding { severity: Severity::Error, message: message.into(), place: top });
    };
    if page.title.is_empty() {
        missing("The page has no title. Begin it with a heading: `# What the rules do`.");
    }
    if page.trust.is_none() && !findings_about_trust(text) {
        missing(
            "The page does not say what its results are worth. Add a paragraph `Trust: exact`, `Trust: reassociates` or \
             `Trust: assumes …` with what it assumes.",
        );
    }
    if page.systems.is_empty() && !blocks.iter().any(|b| word_after(&b.info, "rules").is_some()) {
        missing("The page has no rules. Write them in a fenced block that begins with ```rules NAME.");
    }
    for s in &page.systems {
        lint::system(s, &mut findings);
        let about = |accepted: bool| {
            page.examples
                .iter()
                .any(|e| e.system == s.name && accepted == matches!(e.expected, Expected::Result(_)))
        };
        // a system of other systems' making is shown by theirs
        if !about(true) && page.main().is_some_and(|m| m.name == s.name) {
            findings.push(Finding {
                severity: Severity::Error,
                message: format!(
                    "The system `{}` has no example. Add a block ```c example with a program and behind it a block \
                     ```c result with what becomes of it.",
                    s.name
                ),
                place: s.place,
            });
        } else if !about(false) && page.main().is_some_and(|m| m.name == s.name) {
            findings.push(Finding {
                severity: Severity::Warning,
                message: format!(
                    "The system `{}` has no refused example. Add a block ```c refused with a program that looks alike \
                     and must stay as it is.",
                    s.name
                ),
                place: s.place,
            });
        }
    }
    findings.sort_by_key(|f| (f.place.start, f.place.end));
    (page, findings)
}

impl RulePage {
    /// The system that the page is about: the one with its name, else the last.
    pub fn main(&self) -> Option<&Arc<RuleSystem>> {
        self.systems.iter().find(|s| s.name == self.name).or(self.systems.last())
    }
}

fn findings_about_trust(text: &str) -> bool {
    text.lines().any(|l| l.trim_start().starts_with("Trust:"))
}

/// What follows a word that the text begins with.
fn word_after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.trim_start().strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

/// Heading, prose and trust into the page; the fenced blocks in order.
fn outline(text: &str, page: &mut RulePage, findings: &mut Vec<Finding>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let (mut in_heading, mut paragraph): (bool, Option<String>) = (false, None);
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level: pulldown_cmark::HeadingLevel::H1, .. }) => {
                in_heading = page.title.is_empty();
            }
            Event::End(TagEnd::Heading(_)) => in_heading = false,
            Event::Start(Tag::Paragraph) => paragraph = Some(String::new()),
            Event::End(TagEnd::Paragraph) => {
                let said = paragraph.take().unwrap_or_default();
                match said.trim().strip_prefix("Trust:") {
                    Some(rest) => trust(rest.trim(), Span::new(range.start, range.end), page, findings),
                    None if page.prose.is_empty() => page.prose = said.trim().to_owned(),
                    None => {}
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let whole = Span::new(range.start, range.end);
                let at = Span::new(range.end, range.end);
                open = Some(Block { info: info.to_string(), whole, inside: at, content: String::new() });
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            Event::Text(t) => {
                if let Some(b) = &mut open {
                    let start = if b.content.is_empty() { range.start } else { b.inside.start as usize };
                    b.inside = Span::new(start, range.end);
                    b.content.push_str(&t);
                } else if in_heading {
                    page.title.push_str(&t);
                } else if let Some(p) = &mut paragraph {
                    p.push_str(&t);
                }
            }
            Event::Code(t) => {
                if in_heading {
                    page.title.push_str(&t);
                } else if let Some(p) = &mut paragraph {
                    p.push_str(&format!("`{t}`"));
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(p) = &mut paragraph {
                    p.push(' ');
                }
            }
            _ => {}
        }
    }
    blocks
}

fn trust(said: &str, place: Span, page: &mut RulePage, findings: &mut Vec<Finding>) {
    let said = said.trim_end_matches('.');
    page.trust = match said.split_once(' ').map_or((said, ""), |(a, b)| (a, b.trim())) {
        ("exact", "") => Some(Trust::Exact),
        ("reassociates", "") => Some(Trust::Reassociates),
        ("assumes", what) if !what.is_empty() => Some(Trust::Assumes(what.to_owned())),
        ("reassociates,", rest) if rest.strip_prefix("assumes ").is_some_and(|w| !w.trim().is_empty()) => {
            let what = rest.strip_prefix("assumes ").unwrap_or("").trim();
            Some(Trust::ReassociatesAssuming(what.to_owned()))
        }
        _ => {
            findings.push(Finding {
                severity: Severity::Error,
                message: format!(
                    "`{said}` is no trust. Write `Trust: exact`, `Trust: reassociates` or `Trust: assumes …` with what \
                     it assumes."
                ),
                place,
            });
            None
        }
    };
}

fn system(
    text: &str,
    page_name: &str,
    b: &Block,
    rest: &str,
    page: &mut RulePage,
    findings: &mut Vec<Finding>,
) {
    let mut wrong = |message: String| {
        findings.push(Finding { severity: Severity::Error, message, place: b.whole });
    };
    let (name, strategy) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let name = if name.is_empty() { page_name } else { name };
    let word = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if !word || matches!(name, "TopDown" | "BottomUp" | "FirstTop") {
        wrong(format!("`{name}` cannot be a system's name. Write ```rules NAME STRATEGY, such as ```rules swap TopDown."));
        return;
    }
    if page.systems.iter().any(|s| *s.name == *name) {
        wrong(format!("There are two systems `{name}` on this page. Rename one."));
        return;
    }
    let strategy = if strategy.trim().is_empty() { "TopDown" } else { strategy };
    let strategy = match Strategy::parse(strategy) {
        Ok(s) => s,
        Err(why) => {
            wrong(format!("The strategy cannot be read: {why}."));
            return;
        }
    };
    let (rules, wrong) = syntax::rules(text, b.inside);
    findings.extend(wrong);
    page.systems.push(Arc::new(RuleSystem { name: name.into(), rules, strategy, place: b.whole }));
}

fn examples(blocks: &[Block], page: &mut RulePage, findings: &mut Vec<Finding>) {
    let mut k = 0;
    while let Some(b) = blocks.get(k) {
        k += 1;
        let mut wrong = |message: String, place: Span| {
            findings.push(Finding { severity: Severity::Error, message, place });
        };
        let (first, rest) = b.info.trim().split_once(char::is_whitespace).unwrap_or((b.info.trim(), ""));
        let (second, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        if first != "rules" && nearest(first, ["rules"].into_iter()).is_some() {
            wrong(format!("A block ```{first} is not read. Is ```rules meant?"), b.whole);
            continue;
        }
        let language = match first {
            "term" => ExampleLanguage::Term,
            name => match front::Language::named(name).filter(|l| l.quotes.is_some()) {
                Some(language) => ExampleLanguage::Source(language),
                None => continue,
            },
        };
        let kind = match second {
            "" => continue,
            "example" | "result" | "refused" => second,
            other => {
                let near = nearest(other, ["example", "result", "refused"].into_iter());
                match near {
                    Some(n) => wrong(format!("A block ```{first} {other} is not read. Is `{n}` meant?"), b.whole),
                    None => wrong(
                        format!("A block ```{first} {other} is not read. There are `example`, `result` and `refused`."),
                        b.whole,
                    ),
                }
                continue;
            }
        };
        let (of, because) = match options(rest) {
            Ok(found) => found,
            Err(why) => {
                wrong(why, b.whole);
                continue;
            }
        };
        let system: Arc<str> = match (of, page.main()) {
            (Some(of), _) if page.systems.iter().any(|s| *s.name == *of) => of.into(),
            (Some(of), _) => {
                wrong(format!("There is no system `{of}` on this page."), b.whole);
                continue;
            }
            (None, Some(main)) => main.name.clone(),
            (None, None) => continue,
        };
        let before = b.content.clone();
        let (place, mut result_place) = (b.inside, b.inside);
        let expected = match kind {
            "refused" => Expected::Refused(because.to_owned()),
            "result" => {
                wrong(
                    "A result stands behind no example. Put a block ```c example before it.".into(),
                    b.whole,
                );
                continue;
            }
            _ => match blocks.get(k).filter(|r| word_after(&r.info, first).is_some_and(|w| w == "result")) {
                Some(r) => {
                    k += 1;
                    result_place = r.inside;
                    Expected::Result(r.content.clone())
                }
                None => {
                    wrong(
                        format!("The example has no result. Put a block ```{first} result behind it."),
                        b.whole,
                    );
                    continue;
                }
            },
        };
        page.examples.push(Example { system, language, before, expected, place, result_place });
    }
}

/// `of NAME because WORDS`
fn options(text: &str) -> Result<(Option<&str>, &str), String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok((None, ""));
    }
    if let Some(rest) = word_after(text, "of") {
        let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        return options(rest).map(|(_, because)| (Some(name), because));
    }
    match word_after(text, "because") {
        Some(words) => Ok((None, words)),
        None => {
            Err(format!("`{text}` is not read here. Write `of SYSTEM` or `because WORDS OF THE REASON`."))
        }
    }
}
