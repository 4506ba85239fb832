//! `warpwright offload`: the rewritten host files and their kernels, as files or as a difference.

mod build;
mod one;
mod summary;

use std::path::PathBuf;

use clap::Args;

use super::reading::{chosen, SourceArgs};
use super::writing::{Progress, Told};
use super::{note, Done, Format};
use crate::contract::VERSION;
use one::One;

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
    /// All loops that are worth it, as far out as they can be; the others are listed with what stands against them
    #[arg(long, conflicts_with_all = ["loop_lines", "marked"])]
    worth: bool,
    /// Those of this function alone: what is worth it, or with `--marked` what is marked
    #[arg(long, value_name = "NAME", conflicts_with = "loop_lines")]
    function: Option<String>,
    /// Folder for the new files; it is made if need be
    #[arg(long, value_name = "DIR", default_value = "warpwright-out", conflicts_with = "in_place")]
    out: PathBuf,
    /// Rewrite the file itself and put the kernels beside it
    #[arg(long)]
    in_place: bool,
    /// Write nothing: print what `--in-place` would change, as `diff -u` does
    #[arg(long, conflicts_with_all = ["out", "in_place"])]
    diff: bool,
    /// Then run the kernels beside the loops in the simulator, and say what came of it
    #[arg(long)]
    verify: bool,
    /// Have rule pages optimise the kernels: matrix products, stencils, sums. Each step is checked, and the last kernel is run beside
    /// the loop
    #[arg(long)]
    optimize: bool,
    /// What is written says at run time, where `WW_VERBOSE=1` is in the environment, whether a loop ran on the GPU, and why not
    #[arg(long)]
    with_reasons: bool,
    /// Print each step of the rule pages that wrote what the host does
    #[arg(long)]
    explain: bool,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// C files, or folders of them; what lies in a folder keeps its place below the new one
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub fn run(args: &OffloadArgs) -> anyhow::Result<Done> {
    let reader = args.source.reader(&args.files);
    let memo = ide::Memo::new();
    if let ([file], false) = (args.files.as_slice(), args.files.iter().any(|f| f.is_dir())) {
        let mut told = Told::new(args.format);
        let one = one::offload(args, file, &args.out, (&reader, &memo), &mut told)?;
        build::tell(args, std::slice::from_ref(&one), &told)?;
        let ended = one.ended();
        told.answer(|_| one.answer)?;
        return Ok(ended);
    }
    if !args.loop_lines.is_empty() {
        anyhow::bail!("--loop names a line of one file, and here are several or a folder. Name one file, or use --worth.");
    }
    let files = chosen(&args.files, &args.out)?;
    let mut told = Told::new(args.format);
    let mut failed = false;
    let mut done: Vec<One> = Vec::new();
    let mut progress = Progress::new(files.len());
    for (file, within) in &files {
        progress.at(file);
        told.head(format!("== {}\n", file.display()));
        match one::offload(args, file, &args.out.join(within), (&reader, &memo), &mut told) {
            Ok(one) => done.push(one),
            Err(e) => {
                failed = true;
                note(&format!("error: {}: {e:#}", file.display()));
            }
        }
    }
    told.head(String::new());
    told.print(&summary::words(&done))?;
    build::tell(args, &done, &told)?;
    let nothing = done.iter().all(|o| o.answer.loops.is_empty());
    let same = done.iter().all(|o| o.same);
    told.answer(|_| wire::OffloadingOfFiles {
        version: VERSION,
        files: done.into_iter().map(|o| o.answer).collect(),
    })?;
    Ok(match (failed, nothing || !same) {
        (true, _) => Done::Code(2),
        (_, true) => Done::Found,
        _ => Done::Ok,
    })
}
