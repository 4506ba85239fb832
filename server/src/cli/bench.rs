//! `warpwright bench`: every source file below a path, analyzed, offloaded and verified, with times.
//!
//! Kernels are compiled where NVRTC is; none is launched on a GPU yet, and the last line says so.

use std::path::{Path, PathBuf};
use std::time::Instant;

use base::CancelToken;
use clap::Args;

use super::analyze::tally;
use super::reading::{analyze, disk_for};
use super::writing::refusal;
use super::{note, print, verify, Done};
use crate::compile::compile;
use crate::compiler::Wanted;
use crate::contract::sentence;
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
    /// A file or a folder
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

#[derive(Default)]
struct Totals {
    loops: usize,
    offloaded: usize,
    compiled: usize,
    not_compiled: usize,
    same: usize,
    different: usize,
    not_tried: usize,
}

pub fn run(args: &BenchArgs) -> anyhow::Result<Done> {
    let mut paths = Vec::new();
    collect(&args.path, &mut paths)?;
    paths.sort();
    let settings = Settings { architecture: args.arch.clone(), ..Default::default() };
    let mut totals = Totals::default();
    let mut compiler = None;
    let disk = disk_for(&paths, Wanted::Found);
    for path in &paths {
        let input = match files::read(path) {
            Ok(input) => input,
            Err(InputError::Language(_)) if paths.len() > 1 => continue,
            Err(e) => {
                note(&format!("error: {e}"));
                continue;
            }
        };
        let options = disk.options(Some(path), input.language, &Given::default());
        one(args, &settings, input, &options, &mut totals, &mut compiler)?;
    }
    let t = &totals;
    print(&format!(
        "{} loops, {} offloaded; compiled {}, not compiled {}; verified {}, different {}, not tried {}\n",
        t.loops, t.offloaded, t.compiled, t.not_compiled, t.same, t.different, t.not_tried
    ))?;
    if let Some(why) = compiler {
        print(&format!("no compile check: {why}\n"))?;
    }
    print("no GPU times: this version launches no kernels on a GPU\n")?;
    Ok(if t.different + t.not_compiled > 0 { Done::Found } else { Done::Ok })
}

fn one(
    args: &BenchArgs,
    settings: &Settings,
    input: files::Input,
    options: &ide::Options,
    totals: &mut Totals,
    compiler: &mut Option<String>,
) -> anyhow::Result<()> {
    let path = input.path.clone();
    let memo = ide::Memo::new();
    let never = CancelToken::new();
    let started = Instant::now();
    let report = analyze(input, options, &memo)?;
    print(&format!(
        "{}: {} in {:.1} ms\n",
        path.display(),
        tally(&report.findings),
        started.elapsed().as_secs_f64() * 1e3
    ))?;
    totals.loops += report.findings.loops.len();
    for l in verify::offloadable(&report.findings) {
        let which = ide::Which::Key(l.key.to_string());
        let started = Instant::now();
        let mut line = format!("  line {}: ", l.line());
        match ide::offload(&report.ask, &report.findings, &which) {
            Err(refused) => {
                line += &refusal(&refused, &which, &report.findings);
                print(&(line + "\n"))?;
                continue;
            }
            Ok(done) => {
                totals.offloaded += 1;
                line += &format!("offloaded in {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
                for file in done.edit.create.iter().filter(|f| f.name.ends_with(".cu")) {
                    if compiler.is_some() {
                        break;
                    }
                    let started = Instant::now();
                    match compile(&file.name, &file.text, &done.build_flags, settings, &never) {
                        Ok(device::CompileOutcome::Compiled(_)) => {
                            totals.compiled += 1;
                            line += &format!(", compiled in {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
                        }
                        Ok(device::CompileOutcome::Failed(failed)) => {
                            totals.not_compiled += 1;
                            let first = failed.messages.first().map(|m| m.text.clone()).unwrap_or_default();
                            line += &format!(", DOES NOT COMPILE: {first}");
                        }
                        Ok(device::CompileOutcome::Unavailable(why)) => *compiler = Some(why.to_string()),
                        Err(why) => *compiler = Some(why),
                    }
                }
            }
        }
        if !args.no_verify {
            let options = ide::VerifyOptions::default();
            let started = Instant::now();
            for r in ide::verify(&report.ask, &report.findings, &which, &options) {
                let time = started.elapsed().as_secs_f64() * 1e3;
                match &r.outcome {
                    ide::Outcome::Same => totals.same += 1,
                    ide::Outcome::Different => totals.different += 1,
                    ide::Outcome::NotTried(_) => totals.not_tried += 1,
                }
                line += &match &r.outcome {
                    ide::Outcome::Same => format!(", verified on {} inputs in {time:.0} ms", r.cases.len()),
                    _ => format!(", {}", sentence(&r)),
                };
            }
        }
        print(&(line + "\n"))?;
    }
    Ok(())
}

fn collect(path: &Path, into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let metadata = std::fs::symlink_metadata(path)
        .map_err(|e| anyhow::anyhow!("{} cannot be read: {e}. Name a file or a folder.", path.display()))?;
    if !metadata.is_dir() {
        into.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?.path();
        // links are not followed, so no folder is entered twice
        if entry.symlink_metadata()?.is_dir() || known_extension(&entry) {
            collect(&entry, into)?;
        }
    }
    Ok(())
}

fn known_extension(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| ide::LANGUAGES.iter().any(|l| l.files.always.contains(&e)))
}
