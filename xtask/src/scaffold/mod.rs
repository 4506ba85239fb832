//! `cargo xtask new KIND NAME`: the files that a new lint, action, language, … starts from, with its lines in the lists.
//!
//! What comes out compiles and says nothing yet; a test named `is_filled_in` beside it fails until it does. CONTRIBUTING.md
//! tells what belongs into each. `tests` makes one of every kind in a copy of the workspace and holds them to that.

mod kinds;
mod lists;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure, Context, Result};

pub use kinds::{Kind, KINDS};

use crate::sh;

pub fn run(kind: &str, name: &str) -> Result<()> {
    let Some(kind) = KINDS.iter().find(|k| k.name == kind) else {
        let all: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
        bail!("`{kind}` is nothing that can be started; there are: {}", all.join(", "));
    };
    let changes = changes(&sh::root(), kind, name)?;
    for (path, text) in &changes.new {
        let to = sh::root().join(path);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(&to, text).with_context(|| to.display().to_string())?;
        println!("new: {}", path.display());
    }
    for (path, text) in &changes.listed {
        fs::write(sh::root().join(path), text).with_context(|| path.display().to_string())?;
        println!("changed: {}", path.display());
    }
    println!("Next: {}", kind.next);
    Ok(())
}

/// What a new thing comes to: paths are below the root.
#[derive(Default)]
pub struct Changes {
    pub new: BTreeMap<PathBuf, String>,
    /// Lists with a line more.
    pub listed: BTreeMap<PathBuf, String>,
}

/// The files of a new thing and the lists that name it, none of them written.
pub fn changes(root: &Path, kind: &Kind, name: &str) -> Result<Changes> {
    let stem = name.replace('-', "_");
    let good = stem.starts_with(|c: char| c.is_ascii_lowercase())
        && stem.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    ensure!(good, "`{name}` is no name: lower-case letters, digits and `-`, a letter first");
    let mut changes = Changes::default();
    for (path, text) in kind.files {
        let path = PathBuf::from(filled(path, &stem));
        ensure!(!root.join(&path).exists(), "{} is there already", path.display());
        changes.new.insert(path, filled(text, &stem));
    }
    for (path, edit) in kind.lists {
        let path = PathBuf::from(path);
        let old = match changes.listed.get(&path) {
            Some(text) => text.clone(),
            None => fs::read_to_string(root.join(&path)).with_context(|| path.display().to_string())?,
        };
        let new = edit(&old, &stem).with_context(|| {
            format!(
                "{} has no such list any more: add the lines by hand and mend `xtask new`",
                path.display()
            )
        })?;
        changes.listed.insert(path, new);
    }
    Ok(changes)
}

/// A template with its names: `@stem` (`strided_access`), `@code` (`strided-access`), `@Camel`, `@camel`, `@UPPER`.
fn filled(template: &str, stem: &str) -> String {
    template
        .replace("@stem", stem)
        .replace("@code", &stem.replace('_', "-"))
        .replace("@Camel", &lists::camel(stem, true))
        .replace("@camel", &lists::camel(stem, false))
        .replace("@UPPER", &stem.to_uppercase())
}
