//! `warpwright rules apply`: a system of rules applied to a file.

use std::path::{Path, PathBuf};

use clap::Args;

use super::set;
use crate::cli::reading::{collect, Reader, SourceArgs};
use crate::cli::writing::{put, put_new, Progress, Told};
use crate::cli::{note, Done, Format};
use crate::contract::{counted, named, VERSION};
use crate::diff::unified;
use crate::files;
use crate::prove::Prover;

#[derive(Args)]
pub struct ApplyArgs {
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
    /// Write nothing: print what `--in-place` would change, as `diff -u` does
    #[arg(long, conflicts_with_all = ["out", "in_place"])]
    diff: bool,
    /// Replace files of the names that the rules make
    #[arg(long)]
    replace: bool,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The system; `rules list` names them
    #[arg(value_name = "SYSTEM")]
    system: String,
    /// C or CUDA files, or folders of them; of several, what is written needs --out, --in-place or --diff
    #[arg(required = true, value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
}

pub fn run(args: &ApplyArgs) -> anyhow::Result<Done> {
    let reader = args.source.reader(&args.files);
    if let ([file], false) = (args.files.as_slice(), args.files.iter().any(|f| f.is_dir())) {
        let mut told = Told::new(args.format);
        let (answer, done) = one(args, file, args.out.as_deref(), &reader, &mut told)?;
        told.answer(|_| answer)?;
        return Ok(done);
    }
    if args.loop_line.is_some() {
        anyhow::bail!("--loop names a line of one file, and here are several or a folder. Name one file.");
    }
    if args.out.is_none() && !args.in_place && !args.diff {
        anyhow::bail!("what becomes of several files is printed as a difference or written. Say --diff, --out DIR or --in-place.");
    }
    let files = chosen(&args.files)?;
    let mut told = Told::new(args.format);
    let mut progress = Progress::new(files.len());
    let (mut answers, mut failed, mut applied, mut ran) = (Vec::new(), false, 0, true);
    for (file, within) in &files {
        progress.at(file);
        told.head(if args.diff { String::new() } else { format!("== {}\n", file.display()) });
        let out = args.out.as_ref().map(|o| o.join(within));
        match one(args, file, out.as_deref(), &reader, &mut told) {
            Ok((answer, _)) => {
                applied += usize::from(answer.refused.is_none());
                ran &= answer.ran || answer.refused.is_some();
                answers.push(answer);
            }
            Err(e) => {
                failed = true;
                note(&format!("error: {}: {e:#}", file.display()));
            }
        }
    }
    told.note(&format!("{} of {} files changed by `{}`.", applied, files.len(), args.system));
    told.answer(|_| wire::RulesApplicationToFiles { version: VERSION, files: answers })?;
    Ok(match (failed, applied, ran) {
        (true, ..) => Done::Code(2),
        (_, 0, _) => Done::Found,
        (_, _, false) => Done::Code(3),
        _ => Done::Ok,
    })
}

/// The files of files and folders, each with the folder below the named one that it lies in.
fn chosen(given: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
    let mut out = Vec::new();
    for path in given {
        for file in collect(path)? {
            let within = file.parent().and_then(|f| f.strip_prefix(path).ok()).map(Path::to_owned);
            out.push((file, within.unwrap_or_default()));
        }
    }
    match out.is_empty() {
        true => anyhow::bail!("there is no C or CUDA file. Name files, or folders of them."),
        false => Ok(out),
    }
}

/// One file: what was done, and how that ends.
fn one(
    args: &ApplyArgs,
    file: &Path,
    out: Option<&Path>,
    reader: &Reader,
    told: &mut Told,
) -> anyhow::Result<(wire::RulesApplication, Done)> {
    let mut set = set(file.parent().unwrap_or(Path::new("")), &args.pages)?;
    set.judge(Some(&Prover { cancel: &base::CancelToken::new() }));
    let input = files::read(file)?;
    let (file_name, form) = (input.name.clone(), input.form);
    let report = reader.analyze(input, &ide::Memo::new())?;
    let target = match (args.loop_line, &args.function) {
        (Some(line), _) => ide::RuleTarget::Loop(line),
        (None, Some(name)) => ide::RuleTarget::Function(name.clone()),
        (None, None) => ide::RuleTarget::File,
    };
    let mut answer = wire::RulesApplication {
        version: VERSION,
        path: named(file),
        system: args.system.clone(),
        refused: None,
        title: None,
        checked: None,
        ran: false,
        counted: None,
        derivation: Vec::new(),
        written: Vec::new(),
        diff: None,
    };
    let mut done = match ide::apply_rules(&report.ask, &report.findings, &set, &args.system, &target) {
        Ok(done) => done,
        Err(ide::Refused::Because(why)) => {
            // of several files those to which nothing applies are not spoken of
            if args.files.len() == 1 && !args.files[0].is_dir() {
                note(&format!("{}: {why}", file.display()));
            }
            answer.refused = Some(why);
            return Ok((answer, Done::Found));
        }
        Err(_) => anyhow::bail!("the file changed while it was read. Run the command again."),
    };
    if args.explain_in_kernel {
        done.explain_in_kernels();
    }
    let text = format!("{}{}", form.mark, done.text);
    if args.diff {
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let old = format!("{}{}", form.mark, report.doc.text());
        let mut all = unified(Some(&old), &text, &named(file));
        for f in &done.edit.create {
            all += &unified(None, &f.text, &named(&folder.join(&f.name)));
        }
        told.diff(&all)?;
        answer.diff = Some(all);
    }
    match (out, args.in_place) {
        _ if args.diff => {}
        (None, false) => {
            told.text(&file_name, "", &text)?;
            for f in &done.edit.create {
                told.text(&f.name, &format!("# {}\n", f.name), &f.text)?;
            }
        }
        _ => {
            // kernels first: a host file without its kernels would not link
            let folder = match args.in_place {
                true => file.parent().map(Path::to_owned).unwrap_or_default(),
                false => out.map(Path::to_owned).unwrap_or_default(),
            };
            if !args.in_place && !done.edit.create.is_empty() {
                std::fs::create_dir_all(&folder).map_err(|e| files::unmade(&folder, &e))?;
            }
            put_new(told, &folder, &done.edit.create, args.replace)?;
            put(told, &text, file, (&file_name, form), (out, args.in_place))?;
        }
    }
    if args.explain {
        for line in &done.derivation {
            told.note(line);
        }
    }
    told.note(&format!("{}. {}", done.title, done.checked));
    answer.ran = done.ran;
    answer.counted = done.counted.map(counted);
    answer.written = told.take_written();
    answer.title = Some(done.title);
    answer.checked = Some(done.checked);
    answer.derivation = done.derivation;
    Ok((answer, if done.ran { Done::Ok } else { Done::Code(3) }))
}
