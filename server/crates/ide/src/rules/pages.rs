//! A rule page checked: what its text shows, and its examples run.
//!
//! Deliberately absent: paths; a page is a name and a text.

use base::{CancelToken, Span};
use rewrite::rules::{
    exact, load, misspelt, run, words, Doubt, Ended, Example, ExampleLanguage, Expected, Judgement, Limits,
    NoResult, Prover, RulePage, RuleSet, RuleSystem, Severity, Subject, Systems, Trust,
};

use super::planned::{self, is_planned};
use super::{rewritten, verified, RuleTarget, Verified};
use crate::check::{check, Findings, Tier};
use crate::limits::rules::{ALL_RUNS, FILE_STEPS};
use crate::{Ask, Doc, Language, Memo, Options, Refused, Settings};

/// Something to say of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageFinding {
    pub severity: Severity,
    /// 1-based; the column in UTF-8 bytes.
    pub line: u32,
    pub column: u32,
    /// In the page.
    pub span: Span,
    /// Sentences.
    pub message: String,
    pub fix: Option<PageFix>,
}

/// What mends a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageFix {
    pub title: String,
    /// What is replaced, in the page.
    pub span: Span,
    pub text: String,
    /// Whether it is what an example becomes, which is written anew rather than mended.
    pub is_result: bool,
}

/// What checking a page came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageCheck {
    /// In the order of the page.
    pub findings: Vec<PageFinding>,
    pub rules: usize,
    /// Examples that came out as the page says.
    pub examples: usize,
    /// What was run beside what, one sentence for each example that has a result.
    pub ran: Vec<String>,
    /// Of a page that claims to be exact the hash of its rules, and what speaks against the claim.
    pub claim: Option<(String, Option<String>)>,
}

impl PageCheck {
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }
}

/// Checks a page among others: it may name their systems. `prover`: who decides what the page claims of its rules.
pub fn check_rule_page(
    set: &RuleSet,
    name: &str,
    text: &str,
    prover: Option<&dyn Prover>,
    cancel: &CancelToken,
) -> PageCheck {
    let mut set = set.clone();
    let mut found = set.add(name, text);
    let (page, _) = load(name, text);
    let mut out =
        PageCheck { rules: page.systems.iter().map(|s| s.rules.len()).sum(), ..PageCheck::default() };
    let usable = found.iter().all(|f| f.severity != Severity::Error);
    if usable {
        found.extend(set.unknown_systems(&page));
    }
    let mut say = |severity, place: Span, message: String, fix: Option<PageFix>| {
        let (line, column) = page.line_column(place);
        out.findings.push(PageFinding { severity, line, column, span: place, message, fix });
    };
    for f in found {
        let fix = misspelt(text, f.place, &f.message).map(|(span, meant)| PageFix {
            title: format!("Write `{meant}`"),
            span,
            text: meant,
            is_result: false,
        });
        say(f.severity, f.place, f.message, fix);
    }
    if usable && exact::claims(page.trust.as_ref()) {
        // a proof that is made needs not be made again; a doubt is told at its rule
        let doubts = match set.claim(&page) {
            Some(Ok(())) => Vec::new(),
            _ => exact::doubts(&page, prover),
        };
        for d in &doubts {
            say(Severity::Error, d.place, doubted(&page, d), None);
        }
        out.claim = Some((exact::hash(&page), doubts.first().map(Doubt::words)));
    }
    if usable {
        for (k, e) in page.examples.iter().enumerate() {
            if cancel.is_cancelled() {
                break;
            }
            match example(&set, &page, e, cancel) {
                Ok(ran) => {
                    out.examples += 1;
                    out.ran.extend(ran.map(|r| format!("{}, example {}: {r}", e.system, k + 1)));
                }
                Err(Fault { severity, place, message, becomes }) => {
                    let fix = becomes.map(|text| PageFix {
                        title: "Write the result anew".to_owned(),
                        span: e.result_place,
                        text,
                        is_result: true,
                    });
                    say(severity, place, format!("Rule {}, example {}: {message}", e.system, k + 1), fix);
                }
            }
        }
    }
    out.findings.sort_by_key(|f| f.span.start);
    out
}

/// What is wrong with a claim, and what to do.
fn doubted(page: &RulePage, d: &Doubt) -> String {
    let what = if page.trust.as_ref().is_some_and(Trust::regroups) { "a regrouping" } else { "exact" };
    match &d.judgement {
        Judgement::Undecided(why) => format!(
            "It is not proved that rule {} is {what}: {why}. Ask for more in its condition, or write `Trust: assumes …` with \
             what makes it right.",
            d.rule
        ),
        Judgement::Wrong(why) => format!(
            "Rule {} is not {what}: {why}. Mend it, or ask for more in its condition.",
            d.rule
        ),
        Judgement::Proved => format!("Rule {} is {what}.", d.rule),
    }
}

/// What is wrong with an example.
struct Fault {
    severity: Severity,
    place: Span,
    message: String,
    /// What the program becomes, where the page has something else.
    becomes: Option<String>,
}

type Ran = Result<Option<String>, Fault>;

fn example(set: &RuleSet, page: &RulePage, e: &Example, cancel: &CancelToken) -> Ran {
    match e.language {
        ExampleLanguage::Source(language) => source(set, page, e, language, cancel),
        ExampleLanguage::Term => term(set, e),
    }
}

fn wrong<T>(place: Span, message: String) -> Result<T, Fault> {
    Err(Fault { severity: Severity::Error, place, message, becomes: None })
}

/// An example that becomes something else than its page says.
fn other(what: &str, place: Span, becomes: String) -> Ran {
    let message = format!("The {what} becomes something else than this:\n{}", becomes.trim_end());
    let ends = becomes.ends_with('\n') || becomes.is_empty();
    let becomes = Some(if ends { becomes } else { becomes + "\n" });
    Err(Fault { severity: Severity::Error, place, message, becomes })
}

/// That a result was not run.
fn untried(place: Span, message: String) -> Ran {
    Err(Fault { severity: Severity::Warning, place, message, becomes: None })
}

fn source(set: &RuleSet, page: &RulePage, e: &Example, language: Language, cancel: &CancelToken) -> Ran {
    let name = format!("example.{}", language.extension);
    let Ok(text) = text::Text::new(&e.before) else {
        return wrong(e.place, "The program is too long.".to_owned());
    };
    let doc = Doc::open(language, &name, text, Options::default());
    if let Some((_, reason)) = crate::offload::rejects(doc.unit()).next() {
        return wrong(e.place, format!("The program itself is not understood: {reason}."));
    }
    let ask = Ask::new(&doc, &Memo::new(), Tier::Full, cancel);
    let Ok(findings) = check(&ask, &Settings::default()) else {
        return Ok(None);
    };
    let Some(system) = set.systems.get(&e.system) else {
        return wrong(e.place, format!("There is no system `{}`.", e.system));
    };
    if is_planned(system) {
        return planned_loops(set, system, e, &ask, &findings);
    }
    let trust = page.trust.clone().unwrap_or(Trust::Exact);
    let mut done =
        rewritten(&ask, &findings, set, system, &trust, &RuleTarget::File, &ask.budget(FILE_STEPS));
    // an example in which a rule goes wrong is no example
    if let Some(left) = done.as_mut().ok().and_then(|d| d.left.pop()) {
        done = Err(left);
    }
    match (done, &e.expected) {
        (Ok(done), Expected::Result(want)) => {
            let files = done.files.iter().map(|f| format!("# {}\n{}", f.name, f.text));
            let got = done.text.clone() + &files.collect::<String>();
            if got != *want {
                return other("program", e.result_place, got);
            }
            match verified(&ask, &findings, &done, &trust, &ask.budget(ALL_RUNS)) {
                Verified::Same(said, _) => Ok(Some(said)),
                Verified::Different(what) => {
                    wrong(e.place, format!("The result computes something else than the program: {what}."))
                }
                Verified::Worse(what) => {
                    wrong(e.place, format!("The result has a fault that the program has not: {what}."))
                }
                Verified::Foreign(what) => {
                    wrong(e.place, format!("The result is not for this target: {what}."))
                }
                Verified::NotTried(why) | Verified::Pieces(why) => {
                    untried(e.place, format!("The result was not run beside the program: {why}"))
                }
                Verified::Cancelled => Ok(None),
            }
        }
        (Ok(done), Expected::Refused(_)) => wrong(
            e.place,
            format!(
                "This is to be refused, but the rules apply ({}):\n{}",
                done.derivation().first().map_or("", String::as_str),
                done.text.trim_end()
            ),
        ),
        (Err(no), Expected::Result(_)) => {
            wrong(e.place, format!("There is no result, because {}.", no.because))
        }
        (Err(no), Expected::Refused(words)) => {
            // a rule whose guard holds where the check fails is refused everywhere, and its author is to know
            if matches!(no.kind, NoResult::Wrong | NoResult::Limits) {
                return wrong(e.place, format!("The condition holds, but {}.", no.because));
            }
            if !words.is_empty()
                && !no.because.contains(&**words)
                && !no.reasons.iter().any(|r| r.contains(&**words))
            {
                return wrong(
                    e.place,
                    format!("This is refused for another reason than `{words}`: {}.", no.because),
                );
            }
            Ok(None)
        }
    }
}

/// An example whose loops are planned.
fn planned_loops(set: &RuleSet, system: &RuleSystem, e: &Example, ask: &Ask, findings: &Findings) -> Ran {
    let file = RuleTarget::File;
    let done = planned::offloaded(ask, findings, set, system, &file);
    match (done, &e.expected) {
        (Err(Refused::Cancelled), _) => Ok(None),
        (Err(no), Expected::Result(_)) => {
            wrong(e.place, format!("There is no result: {}", planned::words(&no)))
        }
        (Err(no), Expected::Refused(words)) => match planned::words(&no) {
            why if why.contains(&**words) => Ok(None),
            why => wrong(e.place, format!("This is refused for another reason than `{words}`: {why}")),
        },
        (Ok(done), Expected::Refused(_)) => {
            wrong(e.place, format!("This is to be refused, but it is offloaded:\n{}", done.host.trim_end()))
        }
        (Ok(done), Expected::Result(want)) => {
            let files = done.edit.create.iter().map(|f| format!("# {}\n{}", f.name, f.text));
            let got = done.host + &files.collect::<String>();
            if got != *want {
                return other("program", e.result_place, got);
            }
            match planned::ran(ask, findings, set, system, &file) {
                Ok(planned::Ran::Same(said, true, _)) => Ok(Some(said)),
                Ok(planned::Ran::Same(why, false, _)) => untried(e.place, why),
                Ok(planned::Ran::Different(what)) => {
                    wrong(e.place, format!("The result computes something else than the program: {what}"))
                }
                Err(_) => Ok(None),
            }
        }
    }
}

/// Terms, and behind them the files that were made, each after a line `# NAME`.
fn term(set: &RuleSet, e: &Example) -> Ran {
    let read = |text: &str, place: Span| {
        term::notation::read(text.trim())
            .or_else(|err| wrong(place, format!("The term cannot be read: {err}.")))
    };
    let body = read(&e.before, e.place)?;
    let subject = Subject::of(&body, "", 0, false, false);
    let Some(system) = set.systems.get(&e.system) else {
        return wrong(e.place, format!("There is no system `{}`.", e.system));
    };
    let systems: &Systems = &set.systems;
    let out = run(system, systems, &subject, &subject.root, None, Limits::default());
    if out.ended != Ended::Done {
        return wrong(e.place, format!("{}.", super::capital(&words(out.ended, out.derivation.steps.len()))));
    }
    let mut files: Vec<(String, String)> = vec![(String::new(), subject.print(&out.tree))];
    files.extend(out.emitted.iter().map(|f| (f.name.to_string(), subject.print(&f.content))));
    let changed = !out.derivation.steps.is_empty();
    match &e.expected {
        Expected::Refused(words) => {
            if changed {
                return wrong(e.place, format!("This is to be refused, but it becomes {}.", files[0].1));
            }
            let reasons: Vec<&str> = out.derivation.refused.iter().map(|r| r.because.as_str()).collect();
            if !words.is_empty() && !reasons.iter().any(|r| r.contains(&**words)) {
                return wrong(
                    e.place,
                    format!("This is refused for another reason than `{words}`: {reasons:?}."),
                );
            }
            Ok(None)
        }
        Expected::Result(text) => {
            let mut wanted: Vec<(String, String)> = Vec::new();
            let mut open = (String::new(), String::new());
            for line in text.lines() {
                match line.strip_prefix("# ") {
                    Some(file) => {
                        wanted.push(std::mem::replace(&mut open, (file.trim().to_owned(), String::new())));
                    }
                    None => open.1 += &format!("{line}\n"),
                }
            }
            wanted.push(open);
            for w in &mut wanted {
                let body = read(&w.1, e.result_place)?;
                let subject = Subject::of(&body, "", 0, false, false);
                w.1 = subject.print(&subject.root);
            }
            if wanted == files {
                return Ok(None);
            }
            let shown: Vec<String> = files
                .iter()
                .map(|(n, t)| if n.is_empty() { t.clone() } else { format!("# {n}\n{t}") })
                .collect();
            other("term", e.result_place, shown.join("\n"))
        }
    }
}
