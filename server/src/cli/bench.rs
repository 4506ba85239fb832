//! `warpwright bench`: every source file below a path, analyzed, offloaded and verified, with times.
//!
//! Kernels are compiled where NVRTC is; none is launched on a GPU yet, and the last line says so.

use std::path::PathBuf;
use std::time::Instant;

use base::CancelToken;
use clap::Args;

use super::analyze::tally;
use super::reading::{collect, disk_for, Reader};
use super::writing::refusal;
use super::{note, print, verify, Done, Format};
use crate::compile::compile;
use crate::compiler::Wanted;
use crate::contract::{check, loop_counts, named, pretty, sentence, FileReport, VERSION};
use crate::files::{self, InputError};
use crate::includes::Given;
use crate::settings::Settings;

#[derive(Args)]
pub struct BenchArgs {
    /// What kernels are compiled for
    #[arg(long, default_value = "sm_80")]
    arch: String,
    /// Do not run the simulator
    #[arg(long)]
    no_verify: bool,
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
}

pub fn run(args: &BenchArgs) -> anyhow::Result<Done> {
    let paths = collect(&args.path)?;
    let settings = Settings { architecture: args.arch.clone(), ..Default::default() };
    let mut run = Run { args, settings, totals: Default::default(), no_compiler: None };
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
        "{} loops, {} offloaded; compiled {}, not compiled {}; verified {}, different {}, not tried {}\n",
        t.loops, t.offloaded, t.compiled, t.not_compiled, t.same, t.different, t.not_tried
    ))?;
    if let Some(why) = &run.no_compiler {
        run.print(&format!("no compile check: {why}\n"))?;
    }
    run.print("no GPU times: this version launches no kernels on a GPU\n")?;
    if args.format == Format::Json {
        let no_compiler = run.no_compiler;
        print(&pretty(&wire::Bench { version: VERSION, files: measured, totals: t, no_compiler })?)?;
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
            let (one, words) = self.one(&report, l);
            self.print(&format!("  line {}: {words}\n", l.line()))?;
            offloads.push(one);
        }
        let loops = loop_counts(&report.findings);
        Ok(wire::BenchFile { path: named(&path), loops, milliseconds: took, offloads })
    }

    /// A loop offloaded, compiled and verified; also in words.
    fn one(&mut self, report: &FileReport, l: &ide::LoopFinding) -> (wire::BenchOffload, String) {
        let which = ide::Which::Key(l.key.to_string());
        let started = Instant::now();
        let offloaded = ide::offload(&report.ask, &report.findings, &which);
        let took = milliseconds(started);
        let (compiled, checks) = (Vec::new(), Vec::new());
        let mut out =
            wire::BenchOffload { line: l.line(), refused: None, milliseconds: took, compiled, checks };
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
        (out, words)
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
