//! `cargo xtask new lint|action NAME`: the files a new lint or action starts from, with its line in the list.
//!
//! What comes out compiles and says nothing yet: the finder answers "none". The pattern is in `server/crates/ide`.

use std::fs;
use std::path::Path;

use anyhow::{bail, ensure, Context, Result};

use crate::sh;

pub fn run(kind: &str, name: &str) -> Result<()> {
    let stem = name.replace('-', "_");
    let good = !stem.is_empty()
        && stem.starts_with(|c: char| c.is_ascii_lowercase())
        && stem.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    ensure!(good, "`{name}` is no name: lower-case letters, digits and `-`, a letter first");
    match kind {
        "lint" => lint(&sh::root(), &stem),
        "action" => action(&sh::root(), &stem),
        other => bail!("`{other}` is nothing that can be started; there are `lint` and `action`"),
    }
}

fn lint(root: &Path, stem: &str) -> Result<()> {
    let code = stem.replace('_', "-");
    let folder = root.join("server/crates/ide/src/lints");
    write_new(&folder.join(format!("{stem}.rs")), &LINT.replace("@stem", stem).replace("@code", &code))?;
    write_new(&root.join(format!("docs/codes/{code}.md")), &PAGE.replace("@code", &code))?;
    change(&folder.join("mod.rs"), |text| with_lint(text, stem))?;
    println!("Next: say in docs/codes/{code}.md what is wrong, why it matters and what to do; then find it.");
    Ok(())
}

fn action(root: &Path, stem: &str) -> Result<()> {
    let folder = root.join("server/crates/ide/src/actions");
    write_new(&folder.join(format!("{stem}.rs")), &ACTION.replace("@stem", stem))?;
    change(&folder.join("mod.rs"), |text| with_action(text, stem))?;
    println!("Next: offer it from memoized facts in `offer`; make the edit in `edit`.");
    Ok(())
}

fn with_lint(list: &str, stem: &str) -> Option<String> {
    let text = insert_sorted(list, &format!("mod {stem};"), is_mod)?;
    insert_sorted(&text, &format!("    {stem}::LINT,"), |l| l.starts_with("    ") && l.ends_with("::LINT,"))
}

fn with_action(list: &str, stem: &str) -> Option<String> {
    let text = insert_sorted(list, &format!("mod {stem};"), is_mod)?;
    // Offers stand in the order of the menu, so a new one comes last.
    let offer = format!("        offered.extend({stem}::offer(&at));");
    let text = insert_after_last(&text, &offer, |l| l.ends_with("::offer(&at));"))?;
    let arm = format!("        \"{stem}\" => {stem}::edit(&at),");
    insert_before(&text, &arm, "        _ => Err(ResolveError::Stale),")
}

fn is_mod(line: &str) -> bool {
    line.starts_with("mod ") && line.ends_with(';')
}

fn write_new(path: &Path, text: &str) -> Result<()> {
    ensure!(!path.exists(), "{} is there already", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::write(path, text).with_context(|| path.display().to_string())?;
    println!("new: {}", path.strip_prefix(sh::root()).unwrap_or(path).display());
    Ok(())
}

/// Changes the list of a module, or says that the list is not where it was when this was written.
fn change(path: &Path, edit: impl FnOnce(&str) -> Option<String>) -> Result<()> {
    let old = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let new = edit(&old)
        .with_context(|| format!("{} has no such list any more: add the lines by hand", path.display()))?;
    fs::write(path, new).with_context(|| path.display().to_string())?;
    println!("changed: {}", path.strip_prefix(sh::root()).unwrap_or(path).display());
    Ok(())
}

/// Puts a line among the lines that `is_entry` takes for entries of one sorted list.
fn insert_sorted(text: &str, line: &str, is_entry: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().rposition(|l| is_entry(l))?;
    let at = lines.iter().position(|l| is_entry(l) && *l > line).unwrap_or(last + 1);
    lines.insert(at, line);
    Some(lines.join("\n") + "\n")
}

fn insert_after_last(text: &str, line: &str, is_entry: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().rposition(|l| is_entry(l))?;
    lines.insert(last + 1, line);
    Some(lines.join("\n") + "\n")
}

fn insert_before(text: &str, line: &str, next: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|l| *l == next)?;
    lines.insert(at, line);
    Some(lines.join("\n") + "\n")
}

const LINT: &str = r#"//! `@code`: what is wrong, in one line.

use super::{At, Find, Lint, Said};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "@code",
    severity: Severity::Information,
    summary: "What is wrong, in one sentence.",
    page: include_str!("../../../../../docs/codes/@code.md"),
    find: Find::Loop(@stem),
};

fn @stem(_at: &At) -> Option<Said> {
    None
}
"#;

const PAGE: &str = "# `@code`: what is wrong\n\n*Default level: information.*\n\n## What it says\n\nWhat is wrong.\n\n\
    ## Why it matters\n\nWhat it costs or breaks.\n\n## Example\n\n```c\nvoid f(int n, double *a) {\n}\n```\n\n\
    ## What to do\n\nWhat to do about it.\n";

const ACTION: &str = r#"//! "What it does", as the menu says it.

use super::{Action, At, ResolveError, Resolved};

/// Reads facts only: it is asked at every move of the cursor. The action's id is `@stem:` and the loop's key.
pub(super) fn offer(_at: &At) -> Option<Action> {
    None
}

pub(super) fn edit(_at: &At) -> Result<Resolved, ResolveError> {
    Err(ResolveError::Stale)
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_where_the_list_has_their_place() {
        let text = "mod a;\nmod c;\n\nconst ALL: &[L] = &[\n    a::LINT,\n    c::LINT,\n];\n";
        let entry = |l: &str| l.starts_with("mod ");
        for (line, expected) in [("mod b;", 1), ("mod d;", 2), ("mod A;", 0)] {
            let new = insert_sorted(text, line, entry).expect("a list");
            assert_eq!(new.lines().position(|l| l == line), Some(expected), "{new}");
        }
        assert_eq!(insert_sorted("nothing\n", "mod b;", entry), None);
    }

    #[test]
    fn the_lists_in_the_tree_are_where_they_are_looked_for() {
        let folder = sh::root().join("server/crates/ide/src");
        let lints = fs::read_to_string(folder.join("lints/mod.rs")).expect("the list of lints");
        let new = with_lint(&lints, "strided_access").expect("a place for a lint");
        assert_eq!(new.lines().count(), lints.lines().count() + 2);
        let actions = fs::read_to_string(folder.join("actions/mod.rs")).expect("the list of actions");
        let new = with_action(&actions, "distribute_loop").expect("a place for an action");
        assert_eq!(new.lines().count(), actions.lines().count() + 3);
    }
}
