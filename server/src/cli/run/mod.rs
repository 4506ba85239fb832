//! `warpwright run`: a program with its kernels, built for this machine's CPU over the run time that ships, and run.
//!
//! Deliberately absent: what kernels mean. The run time (`ide::cpu_runtime`) counts, this command passes things through.

mod build;
mod counted;
mod signals;
mod sources;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{note, Done, Format};
use crate::compiler::project_of;
use crate::contract::VERSION;
use crate::files::{self, Existing};
use signals::Signals;

/// The command itself could not do its part.
const FAILED: u8 = 125;

#[derive(Args)]
pub struct RunArgs {
    /// C, C++ and CUDA files, objects and libraries, or folders of such files. What `offload` wrote stands for what it was made of:
    /// `run gpu src` takes from `src` only what is not in `gpu`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    options: CompilerArgs,
    /// Write what was counted into this file, as JSON, and say nothing of it
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Say nothing of what was counted
    #[arg(long, short = 'q', conflicts_with = "stats")]
    quiet: bool,
    /// Build in this folder and leave what was built there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Run nothing: write the run time and the kernels as C++ into this folder, with the lines that build the program there
    #[arg(long, value_name = "DIR", conflicts_with_all = ["stats", "quiet", "keep", "arguments"])]
    write_runtime: Option<PathBuf>,
    /// How what was counted is said, behind what the program says on standard error
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// For the program
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// What goes to the compilers.
#[derive(Args, Default)]
pub struct CompilerArgs {
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    defines: Vec<String>,
    /// Look for headers here
    #[arg(short = 'I', value_name = "DIR")]
    includes: Vec<String>,
    /// Look for libraries here
    #[arg(short = 'L', value_name = "DIR")]
    library_folders: Vec<String>,
    /// Link a library
    #[arg(short = 'l', value_name = "NAME")]
    libraries: Vec<String>,
    /// How much to optimise; 2 if nothing is said
    #[arg(short = 'O', value_name = "LEVEL")]
    level: Option<String>,
    /// Any other option, such as `-X -fopenmp`; may be given several times
    #[arg(short = 'X', long = "compiler-option", value_name = "OPTION", allow_hyphen_values = true)]
    others: Vec<String>,
    /// -fopenmp, -march=native and the like as they are written for a compiler
    #[arg(short = 'f', hide = true)]
    f: Vec<String>,
    #[arg(short = 'm', hide = true)]
    m: Vec<String>,
    #[arg(short = 'W', hide = true)]
    warnings: Vec<String>,
    #[arg(short = 'g', hide = true)]
    debug: bool,
    #[arg(short = 's', hide = true, value_parser = standard)]
    standard: Vec<String>,
    #[arg(short = 'p', hide = true, value_parser = threads)]
    threads: Vec<String>,
}

/// The rest of `-std=c11`.
fn standard(rest: &str) -> Result<String, String> {
    let is_one = rest.starts_with("td=") && rest.len() > 3;
    is_one
        .then(|| rest.to_owned())
        .ok_or_else(|| "write -std=c11, or give other options as `-X OPTION`".to_owned())
}

/// The rest of `-pthread`.
fn threads(rest: &str) -> Result<String, String> {
    (rest == "thread")
        .then(|| rest.to_owned())
        .ok_or_else(|| "write -pthread, or give other options as `-X OPTION`".to_owned())
}

pub fn run(args: &RunArgs) -> anyhow::Result<Done> {
    match done(args) {
        Ok(code) => Ok(Done::Code(code)),
        Err(e) => {
            note(&format!("error: {e:#}"));
            Ok(Done::Code(FAILED))
        }
    }
}

fn done(args: &RunArgs) -> anyhow::Result<u8> {
    let sources = sources::find(&args.files)?;
    if !sources.left_out.is_empty() {
        note(&format!("note: {}", sources.left_out()));
    }
    let first = args.files.first().map_or(Path::new("."), PathBuf::as_path);
    let outside = project_of(first).or_else(|| first.parent().map(Path::to_owned)).unwrap_or_default();
    let outside = if outside.as_os_str().is_empty() { PathBuf::from(".") } else { outside };
    let found = device::native_compiler(&outside);
    if let Some(folder) = &args.write_runtime {
        return write::write(folder, &sources, &args.options, found.as_ref()).map(|()| 0);
    }
    let compiler = found.ok_or_else(|| {
        anyhow::anyhow!(
            "no compiler for C and C++ was found: neither gcc with g++ nor clang with clang++ is in a folder of PATH outside of the \
             project. Install one (Debian and Ubuntu: `apt install g++`; Fedora: `dnf install gcc-c++`; Arch: `pacman -S gcc`)."
        )
    })?;
    let signals = Signals::listen()?;
    let temporary = match args.keep {
        Some(_) => None,
        None => Some(tempfile::Builder::new().prefix("warpwright-run-").tempdir()?),
    };
    let folder =
        args.keep.as_deref().or(temporary.as_ref().map(tempfile::TempDir::path)).unwrap_or(Path::new("."));
    let folder = std::path::absolute(folder)?;
    let built = build::build(&folder, &sources, &args.options, &compiler, &|| signals.was_interrupted());
    if signals.was_interrupted() {
        return Ok(130);
    }
    let program = built?;
    let told = folder.join("counted");
    // what an earlier run left is not this one's
    let _ = std::fs::remove_file(&told);
    let mut command = std::process::Command::new(&program);
    command.args(&args.arguments).env("WW_STATS", &told);
    let status =
        signals.wait(command).map_err(|e| anyhow::anyhow!("the program could not be started: {e}. Build it in a folder whose programs may be run with --keep DIR."))?;
    let counted = std::fs::read_to_string(&told).ok().and_then(|text| counted::read(&text));
    drop(temporary);
    let ended = Ended::of(status);
    let ran = wire::Ran {
        version: VERSION,
        compiler: compiler.name.clone(),
        status: ended.status,
        signal: ended.signal,
        counted,
    };
    say(args, &ran)?;
    Ok(ended.code())
}

/// How a program ended.
struct Ended {
    status: Option<i32>,
    signal: Option<i32>,
}

impl Ended {
    fn of(status: std::process::ExitStatus) -> Ended {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        Ended { status: status.code(), signal }
    }

    /// As a shell says it.
    fn code(&self) -> u8 {
        let code = self.status.or(self.signal.map(|s| 128 + s)).unwrap_or(i32::from(FAILED));
        u8::try_from(code & 0xff).unwrap_or(FAILED)
    }
}

fn say(args: &RunArgs, ran: &wire::Ran) -> anyhow::Result<()> {
    let line = serde_json::to_string(ran)?;
    if let Some(file) = &args.stats {
        return files::write(file, &format!("{line}\n"), Existing::Replace).map_err(|e| {
            anyhow::anyhow!("{} cannot be written: {e}. Name another file with --stats.", file.display())
        });
    }
    match args.format {
        _ if args.quiet => {}
        Format::Json => note(&line),
        Format::Text => note(counted::words(ran).trim_end()),
    }
    Ok(())
}
