//! Rules that are right and rules that are not, one a line: the right ones are proved, the wrong ones are not.
//!
//! The files in `rules/` beside this hold right rules and mutations of them. Needs Z3 (`cargo xtask test` installs it); where it is missing
//! that is said, and only the wrong ones are held: none of them may pass without it either. `WARPWRIGHT_RULE_TRUTH` chooses the rules
//! in which its text stands.

use std::time::Instant;

use base::CancelToken;
use rewrite::rules::exact::{self, Judgement, Prover};
use rewrite::rules::{load, RuleSet, Severity};

/// Z3 in this process.
struct Z3;

impl Prover for Z3 {
    fn ask(&self, script: &str) -> Result<String, String> {
        let request =
            device::ProveRequest { script: script.to_owned(), limit_ms: Some(60_000), library: None };
        match device::prove(&request, &CancelToken::new()) {
            device::ProveOutcome::Answered { text, .. } => Ok(text),
            device::ProveOutcome::Unavailable(why) => Err(why.to_string()),
        }
    }
}

/// Whether Z3 is there; said loudly where it is not, and a failure where the tools are installed for tests.
fn solver() -> Option<Z3> {
    match Z3.ask("(check-sat)") {
        Ok(_) => Some(Z3),
        Err(why) => {
            eprintln!("NOT TESTED: {why}");
            assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "{why}");
            None
        }
    }
}

struct Line {
    text: &'static str,
    place: String,
    right: bool,
    regroups: bool,
}

fn table(name: &str, text: &'static str) -> Vec<Line> {
    let chosen = std::env::var("WARPWRIGHT_RULE_TRUTH").unwrap_or_default();
    let mut out = Vec::new();
    for (k, line) in text.lines().enumerate() {
        let (regroups, rest) = match line.strip_prefix('~') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (right, text) = match (rest.strip_prefix("= "), rest.strip_prefix("! ")) {
            (Some(text), _) => (true, text),
            (_, Some(text)) => (false, text),
            _ => continue,
        };
        if text.contains(&chosen) {
            out.push(Line { text, place: format!("{name}:{}", k + 1), right, regroups });
        }
    }
    out
}

/// What is made of a rule.
fn judged(line: &Line, prover: Option<&dyn Prover>) -> Judgement {
    let trust = if line.regroups { "reassociates" } else { "exact" };
    let page = format!("# T\n\nTrust: {trust}\n\n```rules t TopDown\nrule: {}\n```\n", line.text);
    let (page, findings) = load("t", &page);
    let errors = findings.iter().filter(|f| f.severity == Severity::Error).map(|f| &f.message);
    let errors: Vec<&String> = errors.filter(|m| !m.contains("example")).collect();
    assert!(errors.is_empty() && page.systems.len() == 1, "{}: {errors:?}", line.place);
    let doubts = exact::doubts(&page, prover);
    doubts.into_iter().next().map_or(Judgement::Proved, |d| d.judgement)
}

/// Judges a table. `(right, wrong)`: how many lines of each there are.
fn holds(name: &str, text: &'static str) -> (usize, usize) {
    let solver = solver();
    let prover = solver.as_ref().map(|s| s as &dyn Prover);
    let (mut failed, mut counts, mut shown) = (Vec::new(), (0, 0), 0);
    for line in table(name, text) {
        let start = Instant::now();
        let judgement = judged(&line, prover);
        let took = start.elapsed().as_millis();
        if std::env::var_os("WARPWRIGHT_RULE_TRUTH").is_some() || took > 3000 {
            eprintln!("{} {took} ms {}: {judgement:?}", line.place, line.text);
        }
        match line.right {
            true => counts.0 += 1,
            false => counts.1 += 1,
        }
        shown += usize::from(matches!(judgement, Judgement::Wrong(_)));
        let undecided_without = solver.is_none() && matches!(judgement, Judgement::Undecided(_));
        if (judgement == Judgement::Proved) != line.right && !(line.right && undecided_without) {
            failed.push(format!("{}: {}\n    {judgement:?}", line.place, line.text));
        }
    }
    eprintln!("{name}: {} right, {} wrong, {shown} with a counter-example", counts.0, counts.1);
    assert!(failed.is_empty(), "{} wrong judgements\n{}", failed.len(), failed.join("\n"));
    counts
}

#[test]
fn integers() {
    holds("integers", include_str!("rules/integers.txt"));
}

/// Every page that ships and claims to be exact, or a regrouping, is proved, and the record says so.
#[test]
fn shipped_pages_are_proved() {
    let Some(solver) = solver() else { return };
    let mut record = String::new();
    for (name, text) in RuleSet::shipped_pages() {
        let (page, _) = load(name, text);
        if !exact::claims(page.trust.as_ref()) {
            continue;
        }
        let doubts = exact::doubts(&page, Some(&solver));
        assert!(doubts.is_empty(), "{name}: {doubts:#?}");
        record += &format!("{name} {}\n", exact::hash(&page));
    }
    // `UPDATE_EXPECT=1` writes it
    expect_test::expect_file!["../../../../rules/proofs.txt"].assert_eq(&record);
}

#[test]
fn more_integers() {
    holds("more", include_str!("rules/more.txt"));
}

#[test]
fn floats() {
    holds("floats", include_str!("rules/floats.txt"));
}

#[test]
fn statements() {
    holds("statements", include_str!("rules/statements.txt"));
}

/// As many as the issue asks for.
#[test]
fn the_tables_are_long() {
    let all = [
        include_str!("rules/integers.txt"),
        include_str!("rules/more.txt"),
        include_str!("rules/floats.txt"),
        include_str!("rules/statements.txt"),
    ];
    let lines = || all.iter().flat_map(|t| table("", t));
    if std::env::var_os("WARPWRIGHT_RULE_TRUTH").is_none() {
        let right = lines().filter(|l| l.right).count();
        assert!(right >= 100 && lines().count() - right >= 300, "{right} of {}", lines().count());
    }
}
