//! The command line. One file per command; this one names them and turns outcomes into exit codes.

mod analyze;
mod bench;
mod contract;
mod demo;
mod explain;
mod hosts;
mod lsp;
mod offload;
mod profile;
mod rules;
mod run;
mod settings_schema;
mod show;
mod simulate;
mod transform;
mod verify;
mod worker;

mod reading;
mod reasons;
mod writing;
mod written;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::limits::cli::STACK_BYTES;

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
    /// Run the kernels of a file's loops on a GPU, here or on another machine, measure them and compare
    #[command(
        after_help = "Every number says how it was got. Exit status: 0 measured and the same, 1 different, not measured or refused, 2 could not run."
    )]
    Profile(profile::ProfileArgs),
    /// Say which machines answer, and which GPUs and compilers they have
    Hosts(hosts::HostsArgs),
    /// Build a program with its kernels for this machine's CPU and run it
    #[command(
        after_help = "-std=c11, -fopenmp, -march=native, -Wall, -g, -pthread and the like go to the compilers as they are; everything behind \
                      `--` goes to the program. Exit status: the program's own, 128 and the number of the signal \
                      that ended it, or 125 if it was not run; 97 or 98 if a kernel waits at a barrier that not all threads reach, \
                      or writes outside of an array."
    )]
    Run(run::RunArgs),
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
    Lsp(lsp::LspArgs),
    /// Compile and run kernels for another warpwright: lines of JSON on standard input and output
    Worker,
    /// Show all of it on a small example, in a temporary folder
    Demo,
    /// Analyze, offload and verify every file below a folder and measure it
    Bench(bench::BenchArgs),
    /// Print the settings as a JSON schema
    #[command(hide = true)]
    SettingsSchema,
    /// Print what other programs are told, as docs/contract.md
    #[command(hide = true)]
    Contract {
        /// As one JSON schema
        #[arg(long)]
        schema: bool,
    },
}

/// How a command answers.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON value, as docs/contract.md says
    Json,
}

/// What a command ends with.
pub enum Done {
    Ok,
    /// Findings, a difference, a refusal.
    Found,
    /// An exit status of its own.
    Code(u8),
}

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
        Command::Profile(args) => profile::run(&args),
        Command::Hosts(args) => hosts::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Transform(args) => transform::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Lsp(args) => lsp::run(&args),
        Command::Worker => return worker::run(),
        Command::Demo => demo::run(),
        Command::Bench(args) => bench::run(&args),
        Command::SettingsSchema => settings_schema::run(),
        Command::Contract { schema } => contract::run(schema),
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
    writing::clear_progress();
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        done => Ok(done?),
    }
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    writing::clear_progress();
    let painted = |word: &str, colour| writing::painted(writing::paints(&std::io::stderr()), colour, word);
    let text = match (text.strip_prefix("error:"), text.strip_prefix("note:")) {
        (Some(rest), _) => painted("error:", anstyle::AnsiColor::Red) + rest,
        (_, Some(rest)) => painted("note:", anstyle::AnsiColor::Cyan) + rest,
        _ => text.to_owned(),
    };
    let _ = writeln!(std::io::stderr(), "{text}");
}
