//! `warpwright offload`: the rewritten host file and its kernels, as files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::reading::{analyze, SourceArgs};
use super::writing::{put_new, refusal, same_file};
use super::written::{New, Written};
use super::{note, print, Done};
use crate::files::{self, Existing};

#[derive(Args)]
pub struct OffloadArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1); may be given several times
    #[arg(long = "loop", value_name = "LINE", conflicts_with = "marked")]
    loop_lines: Vec<u32>,
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
    let options = args.source.options_of(&input);
    let report = analyze(input, &options, &memo)?;
    let which = match args.loop_lines.as_slice() {
        [] => ide::Which::Marked,
        [line] => ide::Which::Line(*line),
        lines => ide::Which::Lines(lines.to_vec()),
    };
    let done = match ide::offload(&report.ask, &report.findings, &which) {
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
    let host_text = format!("{mark}{}", done.host);
    // kernels first: a host file without its kernels would not link; beside the original stand the user's own files
    if args.in_place {
        put_new(&folder, &done.edit.create, false)?;
        files::write(&host, &host_text, Existing::Replace)
            .map_err(|e| anyhow::anyhow!("{} cannot be written: {e}", host.display()))?;
    } else {
        let new = New { name: &name, text: &host_text };
        put_in_folder(&folder, &args.file, &done, &new, &report.findings)?;
    }
    print(&format!("wrote {}\n", host.display()))?;
    for text in &done.notes {
        print(&format!("note: {text}\n"))?;
    }
    if !done.build_flags.is_empty() {
        print(&format!("note: compile the kernels with {}\n", done.build_flags.join(" ")))?;
    }
    Ok(Done::Ok)
}

/// Writes host and kernels into a folder, all or nothing. What is there is replaced only if it came of the same file and
/// nobody changed it since, and no kernel is dropped that the host file there has.
fn put_in_folder(
    folder: &Path,
    source: &Path,
    done: &ide::Offloaded,
    host: &New,
    findings: &ide::Findings,
) -> anyhow::Result<()> {
    let mut written = Written::of(folder);
    let loops: Vec<String> = done.loops.iter().map(|l| l.key.clone()).collect();
    let mut lines: Vec<u32> = done.loops.iter().map(|l| l.line).collect();
    let before = written.loops(host.name, source).iter().filter(|k| !loops.contains(k));
    let dropped: Vec<u32> = before.filter_map(|k| findings.by_key(k)).map(|l| l.line()).collect();
    if !dropped.is_empty() && folder.join(host.name).exists() {
        lines.extend(dropped);
        lines.sort_unstable();
        let all: Vec<String> = lines.iter().map(|l| format!("--loop {l}")).collect();
        anyhow::bail!(
            "{} holds kernels of other loops, which would be lost. Offload all of them at once ({}), or write \
             elsewhere with --out.",
            folder.join(host.name).display(),
            all.join(" ")
        );
    }
    let kernels: Vec<New> = done.edit.create.iter().map(|f| New { name: &f.name, text: &f.text }).collect();
    for new in kernels.iter().chain([host]) {
        if let Some(objection) = written.objection(folder, new, source) {
            anyhow::bail!("{objection}");
        }
    }
    for new in &kernels {
        written.note(new, source, Vec::new());
    }
    written.note(host, source, loops);
    // the record first: what is then not written has another hash and is left alone
    written.save(folder)?;
    put_new(folder, &done.edit.create, true)?;
    let path = folder.join(host.name);
    files::write(&path, host.text, Existing::Replace)
        .map_err(|e| anyhow::anyhow!("{} cannot be written: {e}", path.display()))
}
