//! `warpwright rules check`: pages read, their examples run, their claims proved.

use std::path::PathBuf;

use base::CancelToken;

use super::pages;
use crate::cli::{note, print, Done, Format};
use crate::contract::{checked_page, pretty, severity, VERSION};
use crate::prove::Prover;

pub fn run(paths: &[PathBuf], format: Format) -> anyhow::Result<Done> {
    let mut set = ide::RuleSet::shipped();
    let given = match paths {
        [] => ide::RuleSet::shipped_pages()
            .iter()
            .map(|(name, text)| (format!("rules/{name}.md"), (*name).to_owned(), (*text).to_owned()))
            .collect(),
        paths => pages(paths)?,
    };
    // pages may name one another's systems
    for (_, name, text) in &given {
        set.add(name, text);
    }
    let cancel = CancelToken::new();
    let mut checked = Vec::new();
    let (mut errors, mut rules, mut examples) = (0, 0, 0);
    for (path, name, text) in &given {
        let done = ide::check_rule_page(&set, name, text, Some(&Prover { cancel: &cancel }), &cancel);
        if format == Format::Text {
            for f in &done.findings {
                let word = severity(f.severity);
                print(&format!("{path}:{}:{}: {word}: {}\n", f.line, f.column, f.message))?;
            }
        }
        checked.push(checked_page(path, &done));
        errors += done.findings.iter().filter(|f| f.severity == ide::RuleSeverity::Error).count();
        rules += done.rules;
        examples += done.examples;
    }
    if format == Format::Json {
        print(&pretty(&wire::RulesCheck { version: VERSION, pages: checked })?)?;
        return Ok(if errors > 0 { Done::Found } else { Done::Ok });
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    note(&format!(
        "{}, {}, {} as written, {}.",
        count(given.len(), "page"),
        count(rules, "rule"),
        count(examples, "example"),
        count(errors, "error")
    ));
    Ok(if errors > 0 { Done::Found } else { Done::Ok })
}
