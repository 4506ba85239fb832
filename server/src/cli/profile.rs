//! `warpwright profile`: kernels on a GPU, here or on a host: those of loops, measured and held against the original, and those that a
//! CUDA file has already.

mod kernels;
mod variants;

use std::path::{Path, PathBuf};
use std::time::Duration;

use base::CancelToken;
use clap::Args;

use super::reading::SourceArgs;
use super::verify::chosen;
use super::writing::{no_function, no_loop};
use super::{note, print, rules, Done, Format};
use crate::contract::{pretty, VERSION};
use crate::files;
use crate::limits::profile::LIMIT;
use crate::profile::{client, run as run_there, simulated, Source};

#[derive(Args)]
pub struct ProfileArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1), may be given several times; else the marked loops, else all that can be offloaded
    #[arg(long = "loop", value_name = "LINE")]
    loop_lines: Vec<u32>,
    /// Likewise in this function alone
    #[arg(long, value_name = "NAME", conflicts_with = "loop_lines")]
    function: Option<String>,
    /// The marked loops, and no others
    #[arg(long, conflicts_with = "loop_lines")]
    marked: bool,
    /// Of a CUDA file: this kernel; else every one whose launch is known
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// A kernel's launch, as `simulate` takes it: NAME=GXxGYxGZ,BXxBYxBZ[,SHARED BYTES][,parameter=VALUE][,array[ELEMENTS]]
    #[arg(long = "launch", value_name = "NAME=GRID,BLOCK")]
    launches: Vec<String>,
    /// Each way to lay out the threads of a loop's kernel, side by side: `mappings`, which loop runs along x and how large blocks are
    #[arg(long, value_enum, value_name = "WHICH")]
    variants: Option<Variants>,
    #[command(flatten)]
    there: ThereArgs,
    /// Where: `local` (a GPU of this machine), `simulator` (none), the name of a host as `ssh` takes it, or `slurm:PARTITION`, a GPU that
    /// `srun` asks for (`slurm:` alone: of the default partition)
    #[arg(long, value_name = "WHERE", default_value = "local")]
    on: String,
    /// The value of an integer parameter or file-scope variable; may be given several times. Those left out are all the same: as
    /// large as makes the largest array 64 MiB. Of a kernel: a whole parameter's value, or an array's elements; those left out are
    /// as its launch says
    #[arg(short = 's', long = "size", value_name = "NAME=VALUE", value_parser = super::verify::given)]
    sizes: Vec<(String, i128)>,
    /// Seconds for one loop: compiled, run, beside the original
    #[arg(long, value_name = "SECONDS", default_value_t = LIMIT.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: u64,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// A C file, or a CUDA file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// What is run side by side.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Variants {
    Mappings,
}

/// How hosts are reached.
#[derive(Args)]
pub struct ThereArgs {
    /// The configuration for `ssh -F`; else the user's own
    #[arg(long, value_name = "FILE")]
    ssh_config: Option<PathBuf>,
}

impl ThereArgs {
    /// The command of a worker there.
    pub fn worker(&self, on: &str) -> anyhow::Result<device::WorkerCommand> {
        let target = device::Target::read(on).map_err(anyhow::Error::msg)?;
        let mut transport = device::Transport::of_this_program()?;
        transport.ssh_config.clone_from(&self.ssh_config);
        transport.command(&target, &|what| note(&format!("note: {what}"))).map_err(anyhow::Error::msg)
    }
}

pub fn run(args: &ProfileArgs) -> anyhow::Result<Done> {
    let is_simulated = args.on == "simulator";
    if !is_simulated {
        // a name that is none is told before anything is read
        device::Target::read(&args.on).map_err(anyhow::Error::msg)?;
    }
    let input = files::read(&args.file)?;
    if input.language.kernels {
        return kernels::run(args, input);
    }
    if !input.language.offloads {
        anyhow::bail!(
            "{} is not profiled: loops of C files that become kernels are, and kernels of CUDA files.",
            args.file.display()
        );
    }
    if args.kernel.is_some() || !args.launches.is_empty() {
        anyhow::bail!(
            "{} has no kernels of its own; its loops are chosen by --loop or --function.",
            args.file.display()
        );
    }
    let reader = args.source.reader(std::slice::from_ref(&args.file));
    let headers = reader.for_compiler(&input.path);
    let of_part = |place: &str| reader.for_compiler(Path::new(place));
    let memo = ide::Memo::new();
    let mut report = reader.analyze(input, &memo)?;
    report.ask = report.ask.with_pages(&rules::pages_near(&args.file)?);
    let findings = &report.findings;
    if let Some(line) = args.loop_lines.iter().find(|l| findings.on_line(**l).is_none()) {
        anyhow::bail!("{}", no_loop(*line, findings));
    }
    if let Some(why) = args.function.as_ref().and_then(|name| no_function(name, findings)) {
        anyhow::bail!("{why}");
    }
    let whiches = match args.marked {
        true => vec![args.function.clone().map_or(ide::Which::Marked, ide::Which::MarkedIn)],
        false => chosen(findings, &args.loop_lines, args.function.as_deref()),
    };
    let (limit, ask) = (Duration::from_secs(args.limit), &report.ask);
    let source = Source { path: &args.file, ask, findings, headers, of_part: &of_part, limit };
    if args.variants == Some(Variants::Mappings) {
        return variants::run(args, &source, &whiches);
    }
    let several = whiches.len() > 1;
    let recorded: Vec<(u32, Result<ide::Recorded, String>)> = whiches
        .iter()
        .flat_map(|which| {
            let mut sizes = args.sizes.clone();
            if several {
                let names = ide::given_names(&report.ask, findings, which);
                sizes.retain(|s| names.contains(&s.0));
            }
            ide::record(&report.ask, findings, which, &sizes)
        })
        .collect();
    if recorded.is_empty() {
        anyhow::bail!(
            "no loop here becomes a kernel, so there is nothing to measure. `warpwright offload` says why."
        );
    }
    let mut there = None;
    let (mut runs, mut refused) = (Vec::new(), false);
    for (line, one) in recorded {
        let one = match one {
            Ok(one) => one,
            Err(why) => {
                refused = true;
                note(&format!("{}, line {line}: not measured: {why}", args.file.display()));
                continue;
            }
        };
        let answer = if is_simulated {
            simulated(&source, &one, &args.on, "")
        } else {
            let there = match &mut there {
                Some(there) => there,
                None => there.insert(client(args.there.worker(&args.on)?, limit)),
            };
            shown_before(&one, &args.on);
            let mut tell = |what: &str| note(&format!("note: {what}"));
            run_there(&source, &one, &args.on, there, &CancelToken::new(), &mut tell)
        };
        if args.format == Format::Text {
            print(&text(&answer))?;
        }
        runs.push(answer);
    }
    let is_good = |r: &wire::ProfileRun| r.checked == "same" && (is_simulated || r.device.is_some());
    let all_good = !refused && !runs.is_empty() && runs.iter().all(is_good);
    if args.format == Format::Json {
        print(&pretty(&wire::Profile { version: VERSION, runs })?)?;
    }
    Ok(if all_good { Done::Ok } else { Done::Found })
}

/// What goes where, and how large it is there.
fn shown_before(one: &ide::Recorded, on: &str) {
    let host: u64 = one.host.iter().map(|p| p.bytes).sum();
    let source =
        one.source.len() + one.original.as_ref().map_or(0, |o| o.texts.iter().map(|t| t.0.len()).sum());
    note(&format!(
        "note: {}, line {}: {} of source go to {on}; {} MiB of arrays are made there",
        one.function,
        one.line,
        match source {
            0..10_000 => format!("{source} bytes"),
            _ => format!("{} KB", source / 1000),
        },
        host >> 20
    ));
}

fn text(r: &wire::ProfileRun) -> String {
    let sizes: Vec<String> = r.sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let sizes = if sizes.is_empty() { String::new() } else { format!(" ({})", sizes.join(", ")) };
    format!("{}:{}: {}{sizes} on {}, by {}: {}\n", r.file, r.line, r.function, r.target, r.rung, r.said)
}
