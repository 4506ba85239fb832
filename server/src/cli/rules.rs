//! `warpwright rules`: pages checked, listed, and their systems applied to a file.

use std::path::{Path, PathBuf};

use base::CancelToken;
use clap::{Args, Subcommand};

use super::{analyze, note, offload, print, Done, SourceArgs};
use crate::files;
use crate::lsp::{
    self,
    pages::{Pages, Where},
};
use crate::prove::Prover;

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
    },
    /// Apply a system of rules to a file, printing or writing the checked result
    #[command(
        after_help = "Exit status: 0 done, 1 refused (the reason is printed), 2 could not run, 3 done, but the result was not run beside the original."
    )]
    Apply(ApplyArgs),
    /// List the systems there are
    List {
        /// Further pages, or folders of pages
        #[arg(long = "pages", value_name = "FILE|DIR")]
        pages: Vec<PathBuf>,
    },
}

#[derive(Args)]
struct ApplyArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1) instead of the whole file
    #[arg(long = "loop", value_name = "LINE", conflicts_with = "function")]
    loop_line: Option<u32>,
    /// The function of this name instead of the whole file
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Further pages, or folders of pages
    #[arg(long = "pages", value_name = "FILE|DIR")]
    pages: Vec<PathBuf>,
    /// Print each application: rule, bindings, proofs
    #[arg(long)]
    explain: bool,
    /// Write the same as a comment into the files that the rules make
    #[arg(long)]
    explain_in_kernel: bool,
    /// Write the result into this folder instead of printing it
    #[arg(long, value_name = "DIR", conflicts_with = "in_place")]
    out: Option<PathBuf>,
    /// Rewrite the file itself; files that the rules make are put beside it
    #[arg(long)]
    in_place: bool,
    /// Replace files of the names that the rules make
    #[arg(long)]
    replace: bool,
    /// The system; `rules list` names them
    #[arg(value_name = "SYSTEM")]
    system: String,
    /// A C or CUDA file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(args: &RulesArgs) -> anyhow::Result<Done> {
    match &args.command {
        RulesCommand::Check { paths } => check(paths),
        RulesCommand::Apply(args) => apply(args),
        RulesCommand::List { pages } => list(pages),
    }
}

/// A page's path as shown, its name and its text.
type Page = (String, String, String);

fn pages(paths: &[PathBuf]) -> anyhow::Result<Vec<Page>> {
    let mut out = Vec::new();
    for path in paths {
        let mut files = vec![path.clone()];
        if path.is_dir() {
            let entries = std::fs::read_dir(path)
                .map_err(|e| anyhow::anyhow!("the folder {} cannot be read: {e}", path.display()))?;
            files = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
            files.retain(|f| f.extension().is_some_and(|x| x == "md"));
            files.sort();
        }
        for f in files {
            let text = std::fs::read_to_string(&f)
                .map_err(|e| anyhow::anyhow!("{} cannot be read: {e}", f.display()))?;
            let name = f.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            out.push((f.display().to_string(), name, text));
        }
    }
    Ok(out)
}

/// The shipped pages, the user's own, those of the nearest `.warpwright/rules` above a place, as in the editor, and those given.
/// What is wrong with those given ends it; of the others it is said.
fn set(near: &Path, paths: &[PathBuf]) -> anyhow::Result<ide::RuleSet> {
    let near = std::path::absolute(near).unwrap_or_else(|_| near.to_owned());
    let places = Where { near: [near].into(), trusted: true, ..Where::default() };
    let loaded = lsp::pages::load(&places, &Pages::shipped(), &CancelToken::new());
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

fn check(paths: &[PathBuf]) -> anyhow::Result<Done> {
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
    let (mut errors, mut rules, mut examples) = (0, 0, 0);
    for (path, name, text) in &given {
        let done = ide::check_rule_page(&set, name, text, Some(&Prover { cancel: &cancel }), &cancel);
        for f in &done.findings {
            let word = match f.severity {
                ide::RuleSeverity::Error => "error",
                ide::RuleSeverity::Warning => "warning",
            };
            print(&format!("{path}:{}:{}: {word}: {}\n", f.line, f.column, f.message))?;
        }
        errors += done.findings.iter().filter(|f| f.severity == ide::RuleSeverity::Error).count();
        rules += done.rules;
        examples += done.examples;
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

fn list(paths: &[PathBuf]) -> anyhow::Result<Done> {
    let set = set(Path::new("."), paths)?;
    let width = set.pages.iter().flat_map(|p| &p.systems).map(|s| s.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for p in &set.pages {
        for s in &p.systems {
            let trust = p.trust.as_ref().map_or(String::new(), |t| t.text());
            out += &format!("{:width$}  {} ({trust}; {})\n", s.name, p.title, s.strategy.text());
        }
    }
    print(&out)?;
    Ok(Done::Ok)
}

fn apply(args: &ApplyArgs) -> anyhow::Result<Done> {
    let file: &Path = &args.file;
    let mut set = set(file.parent().unwrap_or(Path::new("")), &args.pages)?;
    set.judge(Some(&Prover { cancel: &CancelToken::new() }));
    let input = files::read(file)?;
    let (file_name, mark) = (input.name.clone(), input.mark);
    let memo = ide::Memo::new();
    let options = args.source.options_of(&input);
    let report = analyze::analyze(input, &options, &memo)?;
    let target = match (args.loop_line, &args.function) {
        (Some(line), _) => ide::RuleTarget::Loop(line),
        (None, Some(name)) => ide::RuleTarget::Function(name.clone()),
        (None, None) => ide::RuleTarget::File,
    };
    let cancel = CancelToken::new();
    let mut done = match ide::apply_rules(&report.doc, &report.findings, &set, &args.system, &target, &cancel)
    {
        Ok(done) => done,
        Err(ide::Refused::Because(why)) => {
            note(&format!("{}: {why}", file.display()));
            return Ok(Done::Found);
        }
        Err(_) => anyhow::bail!("the file changed while it was read"),
    };
    if args.explain_in_kernel {
        done.explain_in_kernels();
    }
    let text = format!("{mark}{}", done.text);
    match (&args.out, args.in_place) {
        (None, false) => {
            let files = done.edit.create.iter().map(|f| format!("# {}\n{}", f.name, f.text));
            print(&(text + &files.collect::<String>()))?;
        }
        _ => {
            // kernels first: a host file without its kernels would not link
            let folder = match args.in_place {
                true => file.parent().map(Path::to_owned).unwrap_or_default(),
                false => args.out.clone().unwrap_or_default(),
            };
            if !args.in_place && !done.edit.create.is_empty() {
                std::fs::create_dir_all(&folder)
                    .map_err(|e| anyhow::anyhow!("the folder {} cannot be made: {e}", folder.display()))?;
            }
            offload::put_new(&folder, &done.edit.create, args.replace)?;
            super::put(&text, file, &file_name, args.out.as_deref(), args.in_place)?;
        }
    }
    if args.explain {
        for line in &done.derivation {
            note(line);
        }
    }
    note(&format!("{}. {}", done.title, done.checked));
    Ok(if done.ran { Done::Ok } else { Done::Code(3) })
}
