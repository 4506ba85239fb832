//! `warpwright verify`: kernels beside the loops they replace.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use clap::Args;

use super::reading::SourceArgs;
use super::writing::refusal;
use super::{note, print, rules, Done, Format};
use crate::compiler::project_of;
use crate::contract::{check, named, pretty, sentence, VERSION};
use crate::files;

#[derive(Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1); else the marked loops, else all that can be offloaded
    #[arg(long = "loop", value_name = "LINE")]
    loop_line: Option<u32>,
    /// Where: `simulator`; `machine`: the simulator, and what gcc or clang of the search path builds, the kernels on the
    /// CPU; `local` (a GPU here) or the name of a host
    #[arg(long, value_name = "WHERE", default_value = "machine")]
    on: String,
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
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(args: &VerifyArgs) -> anyhow::Result<Done> {
    if !["simulator", "machine"].contains(&args.on.as_str()) {
        anyhow::bail!(
            "verifying on \"{}\" is not supported yet: this version launches no kernels on a GPU. \
             Use --on simulator, which needs none.",
            args.on
        );
    }
    let input = files::read(&args.file)?;
    let memo = ide::Memo::new();
    let reader = args.source.reader(std::slice::from_ref(&input.path));
    let headers = reader.for_compiler(&input.path);
    let of_part = |place: &str| reader.for_compiler(Path::new(place));
    let mut report = reader.analyze(input, &memo)?;
    report.ask = report.ask.with_pages(&rules::pages_near(&args.file)?);
    let whiches = chosen(&report.findings, args.loop_line);
    if whiches.is_empty() {
        let why = "no loop here can be offloaded, so there is nothing to verify.";
        note(&format!("{}: {why}", args.file.display()));
        answer(args, Some(why.to_owned()), &[])?;
        return Ok(Done::Found);
    }
    let options = ide::VerifyOptions {
        cases: args.cases,
        seed: args.seed,
        given: args.given.clone(),
        ..Default::default()
    };
    // with several loops, each takes of the values those that it knows
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
    let (mut all_same, mut told, mut refused) = (true, Vec::new(), None);
    let folder = args.file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let outside = project_of(&args.file).unwrap_or_else(|| folder.to_owned());
    let compiler = (args.on == "machine").then(|| device::native_compiler(&outside)).flatten();
    let scratch = tempfile::tempdir()?;
    let verifier = ide::Verifier::new(&report.ask, &report.findings, &options).for_several(whiches.len() > 1);
    // where nobody chose, loops inside of one that gets no kernel are tried in its place
    let is_all = args.loop_line.is_none() && report.findings.marked().next().is_none();
    let mut left: VecDeque<ide::Which> = whiches.into();
    while let Some(which) = left.pop_front() {
        let which = &which;
        let tried = verifier.run(which);
        let reports: Vec<_> = tried
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
        if reports.is_empty() {
            all_same = false;
            let why = refusal(&ide::Refused::Stale, which, &report.findings);
            note(&why);
            refused.get_or_insert(why);
        }
        for one in &reports {
            all_same &= one.outcome == ide::Outcome::Same;
            if args.format == Format::Text {
                print(&format!("{}: {}\n", args.file.display(), sentence(one)))?;
                for said in one.copies_said() {
                    print(&format!("    {said}\n"))?;
                }
            }
            told.push(check(one));
            if is_all && !one.has_kernel {
                for inner in inside(&report.findings, &one.key).into_iter().rev() {
                    left.push_front(inner);
                }
            }
        }
    }
    answer(args, refused, &told)?;
    Ok(if all_same { Done::Ok } else { Done::Found })
}

/// For programs.
fn answer(args: &VerifyArgs, refused: Option<String>, loops: &[wire::Check]) -> anyhow::Result<()> {
    if args.format == Format::Text {
        return Ok(());
    }
    let path = named(&args.file);
    print(&pretty(&wire::Verification { version: VERSION, path, refused, loops: loops.to_vec() })?)
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
fn given(text: &str) -> Result<(String, i128), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as n=16")?;
    let value = value.trim().parse().map_err(|_| format!("`{value}` is no whole number"))?;
    Ok((name.trim().to_owned(), value))
}

/// The loop asked for; else the marked ones; else every outermost loop whose offload is offered.
pub fn chosen(findings: &ide::Findings, line: Option<u32>) -> Vec<ide::Which> {
    if let Some(line) = line {
        return vec![ide::Which::Line(line)];
    }
    if findings.marked().next().is_some() {
        return vec![ide::Which::Marked];
    }
    offloadable(findings).map(|l| ide::Which::Key(l.key.to_string())).collect()
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
