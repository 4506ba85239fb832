//! The command line. One file per command; this one names them and turns outcomes into exit codes.

mod analyze;
mod bench;
mod demo;
mod explain;
mod offload;
pub mod report;
mod rules;
mod show;
mod simulate;
mod transform;
mod verify;
mod written;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};

use crate::compiler::{project_of, Compilers, Wanted};
use crate::files::{self, Existing, Input};
use crate::includes::{Disk, Given};

/// Says of loops whether they can run on a GPU, and rewrites them into checked CUDA kernels.
#[derive(Parser)]
#[command(name = "warpwright", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say of every loop whether its iterations can run at once, and why not
    #[command(
        after_help = "Exit status: 0 nothing at or above the failing level, 1 findings, 2 could not run."
    )]
    Analyze(analyze::AnalyzeArgs),
    /// Rewrite loops into CUDA kernels with their host code
    #[command(
        after_help = "Exit status: 0 files written, 1 refused (the reason is printed), 2 could not run."
    )]
    Offload(offload::OffloadArgs),
    /// Run the kernels of a file beside its loops and compare
    #[command(after_help = "Exit status: 0 equal, 1 different or refused, 2 could not run.")]
    Verify(verify::VerifyArgs),
    /// Run the kernels of a CUDA file in the simulator and count what they ask of the hardware
    #[command(
        after_help = "Exit status: 0 all ran and nothing wrong was seen, 1 something was, 2 could not run."
    )]
    Simulate(simulate::SimulateArgs),
    /// Rewrite a loop: interchange, distribute, peel, …; or list what applies to it
    #[command(after_help = "Exit status: 0 done, 1 refused (the reason is printed), 2 could not run.")]
    Transform(transform::TransformArgs),
    /// Check, list and apply rewrite rules that are written as pages
    Rules(rules::RulesArgs),
    /// Show dependences, calls or terms of a file as a page or a graph
    #[command(after_help = "Exit status: 0 shown, 1 there is no such loop, 2 could not run.")]
    Show(show::ShowArgs),
    /// Explain a finding's code
    Explain(explain::ExplainArgs),
    /// Serve an editor: the Language Server Protocol on standard input and output
    Lsp {
        /// Accepted because editors pass it; standard input and output are always used
        #[arg(long)]
        stdio: bool,
        /// The editor's process (editors pass it; the same number comes with `initialize`)
        #[arg(long = "clientProcessId", hide = true)]
        client_process_id: Option<u32>,
    },
    /// Compile kernels for another warpwright: lines of JSON on standard input and output
    Worker,
    /// Show all of it on a small example, in a temporary folder
    Demo,
    /// Analyze, offload and verify every file below a folder and measure it
    Bench(bench::BenchArgs),
    /// Print the settings as a JSON schema
    #[command(hide = true)]
    SettingsSchema,
}

/// What the compiler would be told.
#[derive(Args, Clone, Debug, Default)]
pub struct SourceArgs {
    /// Define a macro, as for the compiler
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    defines: Vec<String>,
    /// Look for headers here, as the compiler does
    #[arg(short = 'I', value_name = "DIR")]
    includes: Vec<PathBuf>,
    /// The compiler that is asked what it defines, by its absolute path; `off`: none. Without this it is the search path's,
    /// unless it lies in the project of a file
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    compiler: String,
}

/// Where headers and compilers are found for these files.
pub fn disk_for(files: &[PathBuf], wanted: Wanted) -> Arc<Disk> {
    let here = std::env::current_dir().ok().filter(|f| f.parent().is_some());
    let outside = files.iter().filter_map(|f| project_of(f)).chain(here).collect();
    Arc::new(Disk::asking(Arc::new(Compilers::now(wanted, outside))))
}

impl SourceArgs {
    /// Where headers and compilers are found for these files.
    fn disk(&self, files: &[PathBuf]) -> Arc<Disk> {
        disk_for(files, Wanted::read(&self.compiler))
    }

    /// How the only file is read.
    fn options_of(&self, input: &Input) -> ide::Options {
        self.options(&self.disk(std::slice::from_ref(&input.path)), input)
    }

    /// How a file is read.
    fn options(&self, disk: &Arc<Disk>, input: &Input) -> ide::Options {
        disk.options(Some(&input.path), input.language, &self.given())
    }

    fn given(&self) -> Given {
        // as for the compiler, folders are below the current one
        let includes = self.includes.iter().map(|f| std::path::absolute(f).unwrap_or_else(|_| f.clone()));
        Given { defines: self.defines.clone(), includes: includes.collect() }
    }
}

/// What a command ends with.
pub enum Done {
    Ok,
    /// Findings, a difference, a refusal.
    Found,
    /// An exit status of its own.
    Code(u8),
}

/// Deeply nested input recurses in parsers and printers.
const STACK_BYTES: usize = 256 * 1024 * 1024;

pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    let thread = std::thread::Builder::new().name("ww-main".to_owned()).stack_size(STACK_BYTES);
    // a panic has already said what it had to say
    match thread.spawn(move || run(command)).map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => ExitCode::from(2),
        Err(e) => {
            note(&format!("error: no thread could be started: {e}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> ExitCode {
    let outcome = match command {
        Command::Analyze(args) => analyze::run(&args),
        Command::Offload(args) => offload::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Transform(args) => transform::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Lsp { stdio: _, client_process_id: _ } => crate::lsp::run().map(Done::Code),
        Command::Worker => return device::worker::main(),
        Command::Demo => demo::run(),
        Command::Bench(args) => bench::run(&args),
        Command::SettingsSchema => print(&format!("{:#}\n", crate::settings::schema())).map(|()| Done::Ok),
    };
    match outcome {
        Ok(Done::Ok) => ExitCode::SUCCESS,
        Ok(Done::Found) => ExitCode::from(1),
        Ok(Done::Code(code)) => ExitCode::from(code),
        Err(e) => {
            note(&format!("error: {e:#}"));
            ExitCode::from(2)
        }
    }
}

/// Writes to standard output. A reader that left early (`| head`) ends the program quietly.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        done => Ok(done?),
    }
}

/// Puts a rewritten file where it is wanted: into its own place, into a folder, or on standard output.
fn put(text: &str, file: &Path, file_name: &str, out: Option<&Path>, in_place: bool) -> anyhow::Result<()> {
    let path = match (out, in_place) {
        (_, true) => file.to_owned(),
        (Some(folder), _) => {
            std::fs::create_dir_all(folder)
                .map_err(|e| anyhow::anyhow!("the folder {} cannot be made: {e}", folder.display()))?;
            folder.join(file_name)
        }
        (None, false) => return print(text),
    };
    if !in_place && offload::same_file(&path, file) {
        anyhow::bail!("{} is the original. Name another folder, or say --in-place.", path.display());
    }
    files::write(&path, text, Existing::Replace)
        .map_err(|e| anyhow::anyhow!("{} cannot be written: {e}", path.display()))?;
    print(&format!("wrote {}\n", path.display()))
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
