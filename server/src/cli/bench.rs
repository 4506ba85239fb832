//! `warpwright bench`: every source file below a path, analyzed, offloaded and verified, with times.
//!
//! Kernels are compiled where NVRTC is, and run and measured where a GPU is: as `profile` does it, at its sizes. Where none is, the
//! last line says why.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::CancelToken;
use clap::Args;

use super::analyze::tally;
use super::profile::ThereArgs;
use super::reading::{collect, disk_for, Reader};
use super::writing::refusal;
use super::{note, print, verify, Done, Format};
use crate::compile::compile;
use crate::compiler::Wanted;
use crate::contract::{check, loop_counts, named, pretty, sentence, FileReport, VERSION};
use crate::files::{self, InputError};
use crate::includes::Given;
use crate::limits::profile::LIMIT;
use crate::profile::{self, client, Source};
use crate::settings::Settings;

#[derive(Args)]
pub struct BenchArgs {
    /// What kernels are compiled for
    #[arg(long, default_value = "sm_80")]
    arch: String,
    /// Do not run the simulator
    #[arg(long)]
    no_verify: bool,
    /// Where kernels run, if a GPU is there: `local`, the name of a host as `ssh` takes it, or `slurm:PARTITION`; `simulator`: nowhere
    #[arg(long, value_name = "WHERE", default_value = "local")]
    on: String,
    /// The value of an integer parameter or file-scope variable there, as `profile` takes it
    #[arg(short = 's', long = "size", value_name = "NAME=VALUE", value_parser = super::verify::given)]
    sizes: Vec<(String, i128)>,
    /// Seconds for one loop there: compiled, run, beside the original
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    limit: u64,
    #[command(flatten)]
    there: ThereArgs,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// A file or a folder
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

/// What is measured so far.
struct Run<'a> {
    args: &'a BenchArgs,
    settings: Settings,
    totals: wire::BenchTotals,
    /// Why kernels are not compiled, once that is known.
    no_compiler: Option<String>,
    gpu: Gpu,
}

/// Where kernels run.
enum Gpu {
    There(Box<device::Client>),
    /// Nowhere: why, in sentences.
    Missing(String),
}

impl Gpu {
    /// Asks whether a GPU and a compiler for it are there.
    fn find(args: &BenchArgs) -> Gpu {
        if args.on == "simulator" {
            return Gpu::Missing("None was asked for.".to_owned());
        }
        let command = match args.there.worker(&args.on) {
            Ok(command) => command,
            Err(why) => return Gpu::Missing(format!("{why:#}")),
        };
        let mut there = client(command, Duration::from_secs(args.limit).max(LIMIT));
        match there.machine(None, &CancelToken::new()) {
            Ok(m) => {
                let no_compiler = m.nvrtc_reason.filter(|_| m.nvrtc.is_none()).map(|r| r.to_string());
                match m.gpus.reason.filter(|_| m.gpus.list.is_empty()).or(no_compiler) {
                    Some(why) => Gpu::Missing(why),
                    None => Gpu::There(Box::new(there)),
                }
            }
            Err(e) => Gpu::Missing(e.to_string()),
        }
    }
}

pub fn run(args: &BenchArgs) -> anyhow::Result<Done> {
    let paths = collect(&args.path)?;
    let settings = Settings { architecture: args.arch.clone(), ..Default::default() };
    let gpu = Gpu::find(args);
    let mut run = Run { args, settings, totals: Default::default(), no_compiler: None, gpu };
    let disk = disk_for(&paths, Wanted::Found);
    let reader = Reader::new(disk, Given::default(), std::slice::from_ref(&args.path));
    let mut measured = Vec::new();
    for path in &paths {
        let input = match files::read(path) {
            Ok(input) => input,
            Err(InputError::Language(_)) if paths.len() > 1 => continue,
            Err(e) => {
                note(&format!("error: {e}"));
                continue;
            }
        };
        measured.push(run.file(input, &reader)?);
    }
    let t = run.totals;
    run.print(&format!(
        "{} loops, {} offloaded; compiled {}, not compiled {}; verified {}, different {}, not tried {}; measured {}\n",
        t.loops, t.offloaded, t.compiled, t.not_compiled, t.same, t.different, t.not_tried, t.measured
    ))?;
    if let Some(why) = &run.no_compiler {
        run.print(&format!("no compile check: {why}\n"))?;
    }
    let no_gpu = match &run.gpu {
        Gpu::There(_) => None,
        Gpu::Missing(why) => Some(why.clone()),
    };
    if let Some(why) = &no_gpu {
        run.print(&format!("no GPU times: {why}\n"))?;
    }
    if args.format == Format::Json {
        let no_compiler = run.no_compiler;
        print(&pretty(&wire::Bench { version: VERSION, files: measured, totals: t, no_compiler, no_gpu })?)?;
    }
    Ok(if t.different + t.not_compiled > 0 { Done::Found } else { Done::Ok })
}

impl Run<'_> {
    /// For people alone.
    fn print(&self, text: &str) -> anyhow::Result<()> {
        match self.args.format {
            Format::Text => print(text),
            Format::Json => Ok(()),
        }
    }

    fn file(&mut self, input: files::Input, reader: &Reader) -> anyhow::Result<wire::BenchFile> {
        let path = input.path.clone();
        let memo = ide::Memo::new();
        let started = Instant::now();
        let report = reader.analyze(input, &memo)?;
        let took = milliseconds(started);
        self.print(&format!("{}: {} in {took:.1} ms\n", path.display(), tally(&report.findings)))?;
        self.totals.loops += report.findings.loops.len() as u64;
        let mut offloads = Vec::new();
        for l in verify::offloadable(&report.findings) {
            let (one, words) = self.one(&path, reader, &report, l);
            self.print(&format!("  line {}: {words}\n", l.line()))?;
            offloads.push(one);
        }
        let loops = loop_counts(&report.findings);
        Ok(wire::BenchFile { path: named(&path), loops, milliseconds: took, offloads })
    }

    /// A loop offloaded, compiled and verified; also in words.
    fn one(
        &mut self,
        path: &Path,
        reader: &Reader,
        report: &FileReport,
        l: &ide::LoopFinding,
    ) -> (wire::BenchOffload, String) {
        let which = ide::Which::Key(l.key.to_string());
        let started = Instant::now();
        let offloaded = ide::offload(&report.ask, &report.findings, &which);
        let took = milliseconds(started);
        let mut out = wire::BenchOffload {
            line: l.line(),
            refused: None,
            milliseconds: took,
            compiled: Vec::new(),
            checks: Vec::new(),
            runs: Vec::new(),
        };
        let done = match offloaded {
            Ok(done) => done,
            Err(refused) => {
                let why = refusal(&refused, &which, &report.findings);
                out.refused = Some(why.clone());
                return (out, why);
            }
        };
        self.totals.offloaded += 1;
        let mut words = format!("offloaded in {took:.1} ms");
        for file in done.edit.create.iter().filter(|f| f.name.ends_with(".cu")) {
            if self.no_compiler.is_some() {
                break;
            }
            words += &self.compile(file, &done, &mut out);
        }
        if !self.args.no_verify {
            let options = ide::VerifyOptions::default();
            let started = Instant::now();
            for r in ide::verify(&report.ask, &report.findings, &which, &options) {
                let took = milliseconds(started);
                words += &match &r.outcome {
                    ide::Outcome::Same => format!(", verified on {} inputs in {took:.0} ms", r.cases.len()),
                    _ => format!(", {}", sentence(&r)),
                };
                match &r.outcome {
                    ide::Outcome::Same => self.totals.same += 1,
                    ide::Outcome::Different => self.totals.different += 1,
                    ide::Outcome::NotTried(_) => self.totals.not_tried += 1,
                }
                out.checks.push(wire::BenchCheck { milliseconds: took, check: check(&r) });
            }
        }
        words += &self.measure(path, reader, report, &which, &mut out);
        (out, words)
    }

    /// Runs a loop's kernels on the GPU, at the sizes that `profile` takes; what is said of it.
    fn measure(
        &mut self,
        path: &Path,
        reader: &Reader,
        report: &FileReport,
        which: &ide::Which,
        out: &mut wire::BenchOffload,
    ) -> String {
        let Gpu::There(there) = &mut self.gpu else { return String::new() };
        let headers = reader.for_compiler(path);
        let of_part = |place: &str| reader.for_compiler(Path::new(place));
        let (ask, findings, limit) = (&report.ask, &report.findings, Duration::from_secs(self.args.limit));
        let source = Source { path, ask, findings, headers, of_part: &of_part, limit };
        let mut words = String::new();
        let names = ide::given_names(ask, findings, which);
        let sizes: Vec<(String, i128)> =
            self.args.sizes.iter().filter(|s| names.contains(&s.0)).cloned().collect();
        for (_, recorded) in ide::record(ask, findings, which, &sizes) {
            let one = match recorded {
                Ok(one) => one,
                Err(why) => {
                    words += &format!("; not measured: {why}");
                    continue;
                }
            };
            let cancel = CancelToken::new();
            match profile::ran(&source, &one, &self.args.on, there, &cancel, &mut |_| {}) {
                Ok(ran) => {
                    match ran.checked.as_str() {
                        "different" => self.totals.different += 1,
                        _ => self.totals.measured += u64::from(ran.rung == "events"),
                    }
                    words += &format!("; {}", ran.said);
                    out.runs.push(ran);
                }
                Err(why) => words += &format!("; not measured: {why}"),
            }
        }
        words
    }

    /// Compiles a kernel file; what is said of it.
    fn compile(
        &mut self,
        file: &ide::NewFile,
        done: &ide::Offloaded,
        out: &mut wire::BenchOffload,
    ) -> String {
        let started = Instant::now();
        let outcome = compile(&file.name, &file.text, &done.build_flags, &self.settings, &CancelToken::new());
        let milliseconds = milliseconds(started);
        match outcome {
            Ok(device::CompileOutcome::Compiled(_)) => {
                self.totals.compiled += 1;
                out.compiled.push(wire::BenchCompiled { error: None, milliseconds });
                format!(", compiled in {milliseconds:.0} ms")
            }
            Ok(device::CompileOutcome::Failed(failed)) => {
                self.totals.not_compiled += 1;
                let first = failed.messages.first().map(|m| m.text.clone()).unwrap_or_default();
                out.compiled.push(wire::BenchCompiled { error: Some(first.clone()), milliseconds });
                format!(", DOES NOT COMPILE: {first}")
            }
            Ok(device::CompileOutcome::Unavailable(why)) => {
                self.no_compiler = Some(why.to_string());
                String::new()
            }
            Err(why) => {
                self.no_compiler = Some(why);
                String::new()
            }
        }
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
