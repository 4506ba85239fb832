//! `warpwright offload`: the rewritten host file and its kernels, as files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::CancelToken;
use clap::{Args, ValueEnum};

use super::{analyze, note, print, Done, SourceArgs};
use crate::files::{self, Existing};

#[derive(Args)]
pub struct OffloadArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1)
    #[arg(long = "loop", value_name = "LINE", conflicts_with = "marked")]
    loop_line: Option<u32>,
    /// All loops that carry a mark; the default
    #[arg(long)]
    marked: bool,
    /// Folder for the new files; it is made if need be
    #[arg(long, value_name = "DIR", default_value = "warpwright-out", conflicts_with = "in_place")]
    out: PathBuf,
    /// Rewrite the file itself and put the kernels beside it
    #[arg(long)]
    in_place: bool,
    /// What kernels are written for
    #[arg(long, value_enum, default_value_t = Target::Cuda)]
    target: Target,
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    Cuda,
}

pub fn run(args: &OffloadArgs) -> anyhow::Result<Done> {
    let Target::Cuda = args.target;
    let input = files::read(&args.file)?;
    let (name, mark) = (input.name.clone(), input.mark);
    let memo = ide::Memo::new();
    let report = analyze::analyze(input, &args.source.options(&Arc::default(), &args.file), &memo)?;
    let which = match args.loop_line {
        Some(line) => ide::Which::Line(line),
        None => ide::Which::Marked,
    };
    let done = match ide::offload(&report.doc, &report.findings, &memo, &which, &CancelToken::new()) {
        Ok(done) => done,
        Err(refused) => {
            note(&format!("{}: {}", args.file.display(), refusal(&refused, &which, &report.findings)));
            return Ok(Done::Found);
        }
    };
    let folder = match args.in_place {
        true => args.file.parent().map(Path::to_owned).unwrap_or_default(),
        false => {
            std::fs::create_dir_all(&args.out)
                .map_err(|e| anyhow::anyhow!("the folder {} cannot be made: {e}", args.out.display()))?;
            args.out.clone()
        }
    };
    let host = folder.join(&name);
    if !args.in_place && same_file(&host, &args.file) {
        anyhow::bail!(
            "{} is the original. Name another folder with --out, or say --in-place.",
            host.display()
        );
    }
    // kernels first: a host file without its kernels would not link; beside the original stand the user's own files
    put_new(&folder, &done.edit.create, !args.in_place)?;
    files::write(&host, &format!("{mark}{}", done.host), Existing::Replace)
        .map_err(|e| anyhow::anyhow!("{} cannot be written: {e}", host.display()))?;
    print(&format!("wrote {}\n", host.display()))?;
    for text in &done.notes {
        print(&format!("note: {text}\n"))?;
    }
    if !done.build_flags.is_empty() {
        print(&format!("note: compile the kernels with {}\n", done.build_flags.join(" ")))?;
    }
    Ok(Done::Ok)
}

/// Writes new files into a folder. One that is there with another text is replaced only if that was asked for.
pub fn put_new(folder: &Path, new: &[ide::NewFile], replace: bool) -> anyhow::Result<()> {
    let existing = if replace { Existing::Replace } else { Existing::Keep };
    for file in new {
        let path = folder.join(&file.name);
        let same = std::fs::read_to_string(&path).is_ok_and(|text| text == file.text);
        if !same {
            files::write(&path, &file.text, existing).map_err(|e| match e.kind() {
                std::io::ErrorKind::AlreadyExists => anyhow::anyhow!(
                    "{} exists and is not replaced. Move it away, or write elsewhere with --out.",
                    path.display()
                ),
                _ => anyhow::anyhow!("{} cannot be written: {e}", path.display()),
            })?;
        }
        print(&format!("wrote {}\n", path.display()))?;
    }
    Ok(())
}

pub fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Why nothing was written, with what to do.
pub fn refusal(refused: &ide::Refused, which: &ide::Which, findings: &ide::Findings) -> String {
    let lines: Vec<String> = findings.loops.iter().map(|l| l.line().to_string()).collect();
    let loops = match lines.is_empty() {
        true => "The file has no loops.".to_owned(),
        false => format!("Loops begin on the lines {}.", lines.join(", ")),
    };
    match (refused, which) {
        (ide::Refused::Because(reason), _) => reason.clone(),
        (ide::Refused::Cancelled, _) => "Cancelled.".to_owned(),
        (ide::Refused::Stale, ide::Which::Line(line)) => format!("No loop begins on line {line}. {loops}"),
        (ide::Refused::Stale, _) => {
            format!("No loop is marked. Put `// warpwright: offload` before one, or name its line with --loop. {loops}")
        }
    }
}
