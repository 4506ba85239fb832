//! `warpwright rules`: pages checked, listed, and their systems applied to a file.

mod apply;
mod check;
mod list;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::CancelToken;
use clap::{Args, Subcommand};

use super::{note, Done, Format};
use crate::rule_pages::{self, Pages, Where};

#[derive(Args)]
pub struct RulesArgs {
    #[command(subcommand)]
    command: RulesCommand,
}

#[derive(Subcommand)]
enum RulesCommand {
    /// Check rule pages and run their examples; without a file, the pages that ship
    #[command(
        after_help = "Exit status: 0 all is well (warnings aside), 1 errors were found, 2 could not run."
    )]
    Check {
        /// Pages, or folders of pages
        #[arg(value_name = "FILE|DIR")]
        paths: Vec<PathBuf>,
        /// Write into the pages what their examples become
        #[arg(long)]
        update: bool,
        /// How the answer is printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Apply a system of rules to a file, printing or writing the checked result
    #[command(
        after_help = "Exit status: 0 done, 1 refused (the reason is printed), 2 could not run, 3 done, but the result was not run beside the original."
    )]
    Apply(apply::ApplyArgs),
    /// List the systems there are
    List {
        /// Further pages, or folders of pages
        #[arg(long = "pages", value_name = "FILE|DIR")]
        pages: Vec<PathBuf>,
        /// How the answer is printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}

pub fn run(args: &RulesArgs) -> anyhow::Result<Done> {
    match &args.command {
        RulesCommand::Check { paths, update, format } => check::run(paths, *update, *format),
        RulesCommand::Apply(args) => apply::run(args),
        RulesCommand::List { pages, format } => list::run(pages, *format),
    }
}

/// A page's path as shown, its name and its text.
type Page = (String, String, String);

fn pages(paths: &[PathBuf]) -> anyhow::Result<Vec<Page>> {
    let mut out = Vec::new();
    for path in paths {
        let mut files = vec![path.clone()];
        if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(|e| {
                anyhow::anyhow!(
                    "the folder {} cannot be read: {e}. Check the path and its permissions.",
                    path.display()
                )
            })?;
            files = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
            files.retain(|f| f.extension().is_some_and(|x| x == "md"));
            files.sort();
        }
        for f in files {
            let text = std::fs::read_to_string(&f).map_err(|e| {
                anyhow::anyhow!("{} cannot be read: {e}. Check the path; pages are UTF-8 texts.", f.display())
            })?;
            let name = f.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            out.push((f.display().to_string(), name, text));
        }
    }
    Ok(out)
}

/// The pages in use for a file, as in the editor.
pub fn pages_near(file: &Path) -> anyhow::Result<Arc<ide::RuleSet>> {
    set(file.parent().unwrap_or(Path::new("")), &[]).map(Arc::new)
}

/// The shipped pages, the user's own, those of the nearest `.warpwright/rules` above a place, as in the editor, and those given.
/// What is wrong with those given ends it; of the others it is said.
fn set(near: &Path, paths: &[PathBuf]) -> anyhow::Result<ide::RuleSet> {
    let near = std::path::absolute(near).unwrap_or_else(|_| near.to_owned());
    let places = Where { near: [near].into(), trusted: true, ..Where::default() };
    let loaded = rule_pages::load(&places, &Pages::shipped(), &CancelToken::new());
    for (path, why) in &loaded.refused {
        note(&format!("{}: not used: {why}", path.display()));
    }
    let mut set = (*loaded.set).clone();
    for (path, name, text) in pages(paths)? {
        let found = set.add(&name, &text);
        if found.iter().any(|f| f.severity == ide::RuleSeverity::Error) {
            anyhow::bail!("{path} has errors: see warpwright rules check {path}");
        }
    }
    Ok(set)
}
