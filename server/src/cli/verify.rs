//! `warpwright verify`: kernels beside the loops they replace.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use clap::Args;

use super::profile::ThereArgs;
use super::reading::{chosen as chosen_files, Reader, SourceArgs};
use super::writing::{no_function, no_loop, refusal, Progress};
use super::{note, print, rules, Done, Format};
use crate::compiler::project_of;
use crate::contract::{check, named, pretty, sentence, FileReport, VERSION};
use crate::files;
use crate::limits::profile::LIMIT;
use crate::profile::{also_there, client, Source};

#[derive(Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1), may be given several times; else the marked loops, else all that can be offloaded
    #[arg(long = "loop", value_name = "LINE")]
    loop_lines: Vec<u32>,
    /// Likewise in this function alone
    #[arg(long, value_name = "NAME", conflicts_with = "loop_lines")]
    function: Option<String>,
    /// Where: `simulator`; `machine`: the simulator, and what gcc or clang of the search path builds, the kernels on the
    /// CPU; `local` (a GPU here), the name of a host, or `slurm:PARTITION`: the simulator, and once there
    #[arg(long, value_name = "WHERE", default_value = "machine")]
    on: String,
    #[command(flatten)]
    there: ThereArgs,
    /// Number of random inputs
    #[arg(long, default_value_t = 12)]
    cases: u32,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The value of an integer parameter or file-scope variable in all inputs; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = given)]
    given: Vec<(String, i128)>,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// C files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub fn run(args: &VerifyArgs) -> anyhow::Result<Done> {
    if !matches!(args.on.as_str(), "simulator" | "machine") {
        // a name that is none is told before anything is read
        device::Target::read(&args.on).map_err(anyhow::Error::msg)?;
    }
    let reader = args.source.reader(&args.files);
    let memo = ide::Memo::new();
    if let ([file], false) = (args.files.as_slice(), args.files.iter().any(|f| f.is_dir())) {
        let (answer, is_same) = one(args, file, (&reader, &memo))?;
        if let Some(why) = &answer.refused {
            note(&format!("{}: {why}", file.display()));
        }
        if args.format == Format::Json {
            print(&pretty(&answer)?)?;
        }
        return Ok(if is_same { Done::Ok } else { Done::Found });
    }
    if !args.loop_lines.is_empty() || !args.given.is_empty() {
        anyhow::bail!(
            "--loop and --given are for one file, and here are several or a folder. Name one file."
        );
    }
    let (mut all_same, mut failed, mut done) = (true, false, Vec::new());
    let files = chosen_files(&args.files, Path::new(""))?;
    let mut progress = Progress::new(files.len());
    for (file, _) in &files {
        progress.at(file);
        match one(args, file, (&reader, &memo)) {
            // a file without loops for a GPU is nothing wrong among others
            Ok((answer, is_same)) => {
                all_same &= is_same || answer.loops.is_empty();
                done.push(answer);
            }
            Err(e) => {
                failed = true;
                note(&format!("error: {}: {e:#}", file.display()));
            }
        }
    }
    let nothing = done.iter().all(|d| d.loops.is_empty());
    match args.format {
        Format::Text => print(&summary(&done))?,
        Format::Json => print(&pretty(&wire::VerificationOfFiles { version: VERSION, files: done })?)?,
    }
    Ok(match (failed, all_same && !nothing) {
        (true, _) => Done::Code(2),
        (_, true) => Done::Ok,
        _ => Done::Found,
    })
}

/// Several files in a line.
fn summary(done: &[wire::Verification]) -> String {
    let all = || done.iter().flat_map(|d| &d.loops);
    let of = |outcome: &str| all().filter(|l| l.outcome == outcome).count();
    format!(
        "{} files: {} loops the same, {} different, {} not tried\n",
        done.len(),
        of("same"),
        of("different"),
        of("not tried")
    )
}

/// What came of the loops of a file, and whether all left the same.
fn one(
    args: &VerifyArgs,
    file: &Path,
    (reader, memo): (&Reader, &ide::Memo),
) -> anyhow::Result<(wire::Verification, bool)> {
    let input = files::read(file)?;
    let headers = reader.for_compiler(&input.path);
    let of_part = |place: &str| reader.for_compiler(Path::new(place));
    let mut report = reader.analyze(input, memo)?;
    report.ask = report.ask.with_pages(&rules::pages_near(file)?);
    let findings = &report.findings;
    let answer = |refused: Option<String>, loops: Vec<wire::Check>| wire::Verification {
        version: VERSION,
        path: named(file),
        refused,
        loops,
    };
    let missing = args.loop_lines.iter().find(|l| findings.on_line(**l).is_none());
    let wrong = match (missing, &args.function) {
        (Some(line), _) => Some(no_loop(*line, findings)),
        (None, Some(name)) => no_function(name, findings),
        (None, None) => None,
    };
    let whiches = match &wrong {
        Some(_) => Vec::new(),
        None => chosen(findings, &args.loop_lines, args.function.as_deref()),
    };
    if whiches.is_empty() {
        let nothing = || "no loop here can be offloaded, so there is nothing to verify.".to_owned();
        return Ok((answer(Some(wrong.unwrap_or_else(nothing)), Vec::new()), false));
    }
    let options = ide::VerifyOptions {
        cases: args.cases,
        seed: args.seed,
        given: args.given.clone(),
        ..Default::default()
    };
    known(args, &report, &whiches)?;
    let (mut all_same, mut told, mut refused) = (true, Vec::new(), None);
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let outside = project_of(file).unwrap_or_else(|| folder.to_owned());
    let compiler = (args.on == "machine").then(|| device::native_compiler(&outside)).flatten();
    let scratch = tempfile::tempdir()?;
    let is_there = !matches!(args.on.as_str(), "simulator" | "machine");
    let (mut there, ask) = (None, &report.ask);
    let source =
        Source { path: file, ask, findings, headers: headers.clone(), of_part: &of_part, limit: LIMIT };
    let verifier = ide::Verifier::new(&report.ask, findings, &options).for_several(whiches.len() > 1);
    // where nobody chose, loops inside of one that gets no kernel are tried in its place
    let is_all = args.loop_lines.is_empty() && findings.marked().next().is_none();
    let mut left: VecDeque<ide::Which> = whiches.into();
    while let Some(which) = left.pop_front() {
        let which = &which;
        let tried = verifier.run(which);
        let mut reports: Vec<_> = tried
            .into_iter()
            .map(|(mut one, trial)| {
                if let (Some(compiler), ide::Outcome::Same) = (&compiler, &one.outcome) {
                    natively(
                        &mut one,
                        trial.as_ref(),
                        &verifier,
                        compiler,
                        (scratch.path(), &headers, &of_part),
                    );
                }
                one
            })
            .collect();
        for one in reports.iter_mut().filter(|r| is_there && r.outcome == ide::Outcome::Same) {
            let there = match &mut there {
                Some(there) => there,
                None => there.insert(client(args.there.worker(&args.on)?, LIMIT)),
            };
            also_there(&source, one, &args.given, &args.on, there);
        }
        if reports.is_empty() {
            all_same = false;
            refused.get_or_insert(refusal(&ide::Refused::Stale, which, findings));
        }
        for one in &reports {
            all_same &= one.outcome == ide::Outcome::Same;
            if args.format == Format::Text {
                print(&format!("{}: {}\n", file.display(), sentence(one)))?;
                for said in one.copies_said() {
                    print(&format!("    {said}\n"))?;
                }
            }
            told.push(check(one));
            if is_all && !one.has_kernel {
                for inner in inside(findings, &one.key).into_iter().rev() {
                    left.push_front(inner);
                }
            }
        }
    }
    Ok((answer(refused, told), all_same))
}

/// With several loops, each takes of the values those that it knows; one that none of them knows is a mistake.
fn known(args: &VerifyArgs, report: &FileReport, whiches: &[ide::Which]) -> anyhow::Result<()> {
    let names: Vec<Vec<String>> =
        whiches.iter().map(|w| ide::given_names(&report.ask, &report.findings, w)).collect();
    if let Some((name, _)) =
        args.given.iter().find(|g| names.len() > 1 && !names.iter().flatten().any(|n| *n == g.0))
    {
        let mut all: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        anyhow::bail!(
            "`{name}` is no integer that one of these functions gets from outside. Values can be given for: {}.",
            all.join(", ")
        );
    }
    Ok(())
}

/// What compilers are told for a part of the program, by its name.
type Flags<'f> = &'f dyn Fn(&str) -> Vec<String>;

/// Tries the same inputs on programs that a compiler built, in a folder of their own.
fn natively(
    report: &mut ide::VerifyReport,
    trial: Option<&ide::Trial>,
    verifier: &ide::Verifier<'_>,
    compiler: &device::NativeCompiler,
    (folder, headers, of_part): (&Path, &[String], Flags<'_>),
) {
    let Some(trial) = trial else {
        return report.not_native(
            "functions were stood in for, or this one cannot be called from outside with what was made up",
        );
    };
    if !verifier.may_build(trial) {
        return report.not_native(&format!(
            "what one command may build was built for the loops before it; ask for this one alone with `--loop {}`",
            report.line
        ));
    }
    let by = match trial.has_regions() {
        true => format!("{} with OpenMP regions by {} threads", compiler.name, device::NATIVE_THREADS),
        false => compiler.name.clone(),
    };
    match crate::native::run(trial, compiler, folder, headers, of_part) {
        Ok(ran) => {
            report.add_native(&by, &crate::native::said(trial, &ran));
        }
        Err(why) => report.not_native(&format!("{} says: {why}", compiler.name)),
    }
}

/// `n=16`
pub fn given(text: &str) -> Result<(String, i128), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as n=16")?;
    let value = value.trim().parse().map_err(|_| format!("`{value}` is no whole number"))?;
    Ok((name.trim().to_owned(), value))
}

/// The loops asked for; else the marked ones; else every outermost loop whose offload is offered. `function`: those of it alone.
pub fn chosen(findings: &ide::Findings, lines: &[u32], function: Option<&str>) -> Vec<ide::Which> {
    if !lines.is_empty() {
        return lines.iter().map(|l| ide::Which::Line(*l)).collect();
    }
    let meant = |l: &ide::LoopFinding| function.is_none_or(|f| l.report().function == f);
    if findings.marked().any(meant) {
        return vec![function.map_or(ide::Which::Marked, |f| ide::Which::MarkedIn(f.to_owned()))];
    }
    outermost(findings.loops.iter().filter(|l| meant(l)))
        .map(|l| ide::Which::Key(l.key.to_string()))
        .collect()
}

/// Parallel loops with a thread map that lie in no other such loop.
pub fn offloadable(findings: &ide::Findings) -> impl Iterator<Item = &ide::LoopFinding> {
    outermost(findings.loops.iter())
}

/// Likewise of those inside the loop of a key.
fn inside(findings: &ide::Findings, key: &str) -> Vec<ide::Which> {
    let Some(around) = findings.by_key(key) else { return Vec::new() };
    let inner = findings.loops.iter().filter(|l| around.span.contains(l.span) && l.span != around.span);
    outermost(inner).map(|l| ide::Which::Key(l.key.to_string())).collect()
}

fn outermost<'a>(
    loops: impl Iterator<Item = &'a ide::LoopFinding>,
) -> impl Iterator<Item = &'a ide::LoopFinding> {
    let mut end = 0;
    loops.filter(move |l| {
        let parallel = matches!(l.report().verdict, "independent" | "reduction");
        let outermost = parallel && l.report().thread_map.is_some() && l.span.start >= end;
        if outermost {
            end = l.span.end;
        }
        outermost
    })
}
