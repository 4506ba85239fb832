//! The fixtures: what is said to be offloaded is offloaded and verifies, what must not be offloaded is refused.
//!
//! Beside a loop, `//~ verdict; offload` or `//~ verdict; no-offload` says what is expected. (Verdicts themselves are
//! checked by the room that finds them.)

use std::path::{Path, PathBuf};

use base::CancelToken;
use ide::{
    check, offload, verify, Doc, Language, Memo, Options, Outcome, Settings, Tier, VerifyOptions, Which,
};
use text::Text;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/c");
    let entries = std::fs::read_dir(folder).expect("the fixtures");
    let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "c"));
    files.sort();
    files
}

/// What is expected of the loops of one line, after the verdict.
fn wish(line: &str) -> Option<&str> {
    let (_, expected) = line.split_once("//~")?;
    expected.split(';').map(str::trim).find(|w| matches!(*w, "offload" | "no-offload"))
}

#[test]
fn offloadable_fixtures_verify_in_the_simulator() {
    let only = std::env::var("WW_FIXTURE").ok();
    let mut wrong = Vec::new();
    let mut same = 0;
    for file in fixtures() {
        let name = file.file_name().and_then(|n| n.to_str()).expect("a name").to_owned();
        if only.as_ref().is_some_and(|o| !name.contains(o.as_str())) {
            continue;
        }
        let code = std::fs::read_to_string(&file).expect("a fixture");
        let doc = Doc::open(Language::C, &name, Text::new(&code).expect("small"), Options::default());
        let (memo, cancel) = (Memo::new(), CancelToken::new());
        let findings = check(&doc, &memo, &Settings::default(), Tier::Full, &cancel).expect("nobody cancels");
        for l in &findings.loops {
            let line = code.lines().nth(l.report.line as usize - 1).unwrap_or("");
            let place = format!("{name}:{} {}", l.report.line, l.report.function);
            let which = Which::Key(l.key.clone());
            match wish(line) {
                Some("offload") => {
                    let options = VerifyOptions { cases: 6, steps: 2_000_000, ..VerifyOptions::default() };
                    let reports = verify(&doc, &findings, &memo, &which, &options, &cancel);
                    match reports.first().map(|r| &r.outcome) {
                        Some(Outcome::Same) => same += 1,
                        _ => wrong.push(format!("{place}: {}", reports.first().map_or("", |r| &r.summary))),
                    }
                }
                Some(_) if offload(&doc, &findings, &memo, &which, &cancel).is_ok() => {
                    wrong.push(format!("{place}: is offloaded, and must not be"));
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{same} loops verify, {} do not:\n{}", wrong.len(), wrong.join("\n"));
}
