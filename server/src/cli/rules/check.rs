//! `warpwright rules check`: pages read, their examples run, their claims proved.

use std::path::{Path, PathBuf};

use base::CancelToken;

use super::pages;
use crate::cli::{note, print, Done, Format};
use crate::contract::{checked_page, pretty, severity, VERSION};
use crate::files;
use crate::prove::Prover;

pub fn run(paths: &[PathBuf], update: bool, format: Format) -> anyhow::Result<Done> {
    if update && paths.is_empty() {
        anyhow::bail!("--update needs the pages that it is to write. Name them, or their folder.");
    }
    let mut set = ide::RuleSet::shipped();
    let mut given = match paths {
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
    for (path, name, text) in &mut given {
        let check =
            |text: &str| ide::check_rule_page(&set, name, text, Some(&Prover { cancel: &cancel }), &cancel);
        let mut done = check(text);
        if let (true, Some((new, count))) = (update, updated(text, &done)) {
            let place = Path::new(&*path);
            files::write(place, &new, files::Existing::Replace).map_err(|e| files::unwritten(place, &e))?;
            note(&format!("{path}: {} written anew", counted(count, "result")));
            *text = new;
            done = check(text);
        }
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
    note(&format!(
        "{}, {}, {} as written, {}.",
        counted(given.len(), "page"),
        counted(rules, "rule"),
        counted(examples, "example"),
        counted(errors, "error")
    ));
    Ok(if errors > 0 { Done::Found } else { Done::Ok })
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The page with what its examples become, and of how many that was something else. What else is wrong with it stays.
fn updated(text: &str, check: &ide::PageCheck) -> Option<(String, usize)> {
    let results = check.findings.iter().filter_map(|f| f.fix.as_ref()).filter(|fix| fix.is_result);
    let edits: Vec<text::Edit> = results.map(|f| text::Edit::replace(f.span, f.text.clone())).collect();
    let count = edits.len();
    let new = text::EditSet::new(edits).ok()?.apply(&text::Text::new(text).ok()?).ok()?.to_string();
    (count > 0).then_some((new, count))
}
