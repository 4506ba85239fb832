//! Every loop of the fixtures that gets a kernel, for a target: what was written for it is built by the machine's compilers
//! over a stand-in for the target's run time, and leaves what the original loop leaves, byte for byte, or within 1e-4 where the
//! loop's sums are regrouped. The inputs are those on which the simulator found both the same.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use base::CancelToken;
use device::NativeCompiler;
use ide::{check, Doc, Memo, Natively, Options, Outcome, Settings, Target, Tier, Trial, Verifier};
use ide::{VerifyOptions, Which};

use crate::batch::{self, Part, Shared};
use crate::elsewhere::Elsewhere;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/c")
}

/// Names, below `fixtures/c`, and texts.
fn programs() -> Vec<(String, String)> {
    let (mut folders, mut out) = (vec![folder()], Vec::new());
    while let Some(at) = folders.pop() {
        for path in std::fs::read_dir(at).expect("a folder").flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "c") {
                let name = path.strip_prefix(folder()).expect("a fixture").display().to_string();
                out.push((name, std::fs::read_to_string(&path).expect("a text")));
            }
        }
    }
    out.sort();
    out
}

/// A loop with a kernel that is to be run.
struct Waiting {
    /// `jacobi.c: jacobi`
    place: String,
    line: u32,
    trial: Trial,
    of_program: Rc<[String]>,
    launches: Vec<String>,
}

/// What a program's own `main` is called beside the driver's.
const MAIN: &str = "ww_users_main";
/// Kernels that are built together.
const TOGETHER: usize = 30;

/// What came of the loops.
#[derive(Default)]
struct Tally {
    kernels: usize,
    same: usize,
    /// Loops that no driver can be made for, or whose kernel never ran: file and function, and what was said.
    not_run: Vec<(String, String)>,
    wrong: Vec<String>,
}

/// What programs of one text define; the native one has no other `main`.
fn names(text: &str) -> Rc<[String]> {
    let own = testkit::fixture::names(text).into_iter().filter(|n| n != "main");
    own.chain([MAIN.to_owned()]).collect()
}

/// The functions of a kernel's text that hosts call.
fn launches(kernels: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for line in kernels.iter().flat_map(|k| k.lines()) {
        let Some(rest) = line.strip_prefix("extern \"C\" ") else { continue };
        let head = rest.split('(').next().unwrap_or("");
        out.extend(head.split(|c: char| !(c.is_alphanumeric() || c == '_')).next_back().map(str::to_owned));
    }
    out
}

/// Offloads every loop of a program for a target, and has the simulator choose the inputs.
fn offload(name: &str, text: &str, target: Target, tally: &mut Tally) -> Vec<Waiting> {
    let (memo, settings, cancel) = (Memo::default(), Settings::default(), CancelToken::new());
    let options = Options { headers: Some(testkit::headers::of_fixtures()), target, ..Options::default() };
    let doc = Doc::open(ide::Language::C, name, text::Text::new(text).expect("a short text"), options);
    let ask = ide::Ask::new(&doc, &memo, Tier::Full, &cancel);
    let findings = check(&ask, &settings).expect("not cancelled");
    let options = VerifyOptions { cases: 4, steps: 4_000_000, ..VerifyOptions::default() };
    let (mut out, mut of_program) = (Vec::new(), None);
    for l in &findings.loops {
        let which = Which::Key(l.key.to_string());
        for (report, trial) in Verifier::new(&ask, &findings, &options).run(&which) {
            if !report.has_kernel {
                continue;
            }
            tally.kernels += 1;
            let (place, line) = (format!("{name}: {}", report.function), report.line);
            match (report.outcome, trial) {
                (Outcome::Different, _) => tally.wrong.push(format!("{place}: {line}: {}", report.summary)),
                (_, None) => tally.not_run.push((place, report.summary)),
                (_, Some(trial)) => {
                    let of_program = of_program.get_or_insert_with(|| names(text)).clone();
                    let launches = launches(&trial.kernels);
                    out.push(Waiting { place, line, trial, of_program, launches });
                }
            }
        }
    }
    out
}

fn part(w: &Waiting) -> Part<'_> {
    let shared = Shared { of_program: &w.of_program, launches: &w.launches };
    Part { trial: &w.trial, shared: Some(shared) }
}

fn parts(all: &[Waiting]) -> Vec<Part<'_>> {
    all.iter().map(part).collect()
}

fn run(all: &[Waiting], compiler: &NativeCompiler, folder: &Path, tally: &mut Tally) {
    // without `-fopenmp`: what threads that race leave is nobody's to compare
    let flags = [format!("-I{}", self::folder().display()), format!("-Dmain={MAIN}"), "-O0".to_owned()];
    note(all, batch::run(&parts(all), &flags, compiler, folder), tally);
}

fn note(all: &[Waiting], said: Vec<Result<Natively, String>>, tally: &mut Tally) {
    for (w, said) in all.iter().zip(said) {
        match said {
            Ok(Natively::Same(_)) => tally.same += 1,
            Ok(Natively::NoKernel) => tally.not_run.push((w.place.clone(), "no kernel ran".to_owned())),
            other => tally.wrong.push(format!("{}: {}: {other:?}", w.place, w.line)),
        }
    }
}

/// Why nothing can be run natively, and the functions of which that is true. Inputs are those that the simulator ran the whole
/// function on; where it ran the loop alone there is no program to hand them to.
const NOT_RUN: &[(&str, &[&str])] = &[
    (
        "a structure is handed over by value, which the driver cannot do",
        &[
            "accessors.c: transposed",
            "aliasing.c: scale",
            "traps/parts.c: own_parameter",
        ],
    ),
    ("a constant that another file may define is not the driver's to set", &["traps/promises.c: weak_constant"]),
    ("a function without a body would be missing", &["row_tables.c: handed_out"]),
    ("an array of another file would be missing", &["aliasing.c: weigh_by_another_file"]),
    (
        "the whole function takes more steps than this test allows the simulator, which tries the loop alone, if at all",
        &[
            "gemver_macros.c: kernel_gemver",
            "induction.c: flatten",
            "induction.c: flatten_overlap",
            "jumps.c: again_and_again",
            "lattice.c: collide",
            "lu.c: lu_flat",
            "matmul.c: matmul_fixed",
            "polybench/correlation.c: kernel_correlation",
            "read_inside.c: pool",
            "vectoriser/expansion.c: work_array_with_a_gap",
        ],
    ),
    (
        "on all inputs for the whole function the host's checks choose the original loop",
        &[
            "histogram.c: histogram_by_bin",
            "lattice.c: bounce",
            "row_tables.c: cut",
            "row_tables.c: shared",
            "traps/promises.c: around",
            "traps/promises.c: fresh_from_library",
            "traps/run_again.c: row_in_parts",
            "traps/run_again.c: row_with_ends",
            "traps/witnesses.c: two_returns",
        ],
    ),
    ("the function reads memory that nothing was written to", &["one_allocation.c: two_views"]),
    (
        "the simulator does not follow what stands beside the loop: `#if` of a name that only compilers know, statement \
         expressions, assembly",
        &[
            "traps/compilers_choice.c: a_call_before",
            "traps/ended_blocks.c: out_of_an_expression",
            "traps/gaps.c: compiler_barrier",
            "traps/gaps.c: read_by_assembly",
        ],
    ),
    (
        "the simulator has no `errno` and no flags of the floating-point unit",
        &[
            "traps/promises.c: before",
            "traps/promises.c: cleared",
            "traps/promises.c: cleared_flags",
            "traps/promises.c: domain",
            "traps/promises.c: inexact",
            "traps/promises.c: looks_by_call",
            "traps/promises.c: quiet",
            "traps/promises.c: range",
            "traps/promises.c: through_pointer",
            "traps/promises.c: whole",
        ],
    ),
];

/// For HIP, or for the target that `WARPWRIGHT_NATIVE_TARGET` names: of one target what stands here takes two processors a minute
/// and a half, and CUDA's kernels run natively on random programs and in the simulator on these.
fn target() -> Target {
    let name = std::env::var("WARPWRIGHT_NATIVE_TARGET").unwrap_or_else(|_| "hip".to_owned());
    Target::of(&name).unwrap_or_else(|| panic!("there is no target `{name}`"))
}

#[test]
fn kernels_of_the_fixtures_compute_the_same_natively() {
    let outside = tempfile::tempdir().expect("a folder");
    let Some(compiler) = crate::compiler(outside.path()) else { return };
    let elsewhere = Elsewhere::asked();
    let (target, programs, next) = (target(), programs(), AtomicUsize::new(0));
    let all = Mutex::new(Tally::default());
    std::thread::scope(|s| {
        for _ in 0..crate::number("WARPWRIGHT_THREADS", 2) {
            s.spawn(|| {
                let (mut waiting, mut here) = (Vec::new(), Tally::default());
                while let Some((name, text)) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let some = offload(name, text, target, &mut here);
                    match &elsewhere {
                        None => waiting.extend(some),
                        Some(e) => note(&some, e.at(name, &parts(&some), MAIN), &mut here),
                    }
                }
                let folder = tempfile::tempdir().expect("a folder");
                for some in waiting.chunks(TOGETHER) {
                    run(some, &compiler, folder.path(), &mut here);
                }
                let mut all = all.lock().expect("no panic");
                all.kernels += here.kernels;
                all.same += here.same;
                all.not_run.extend(here.not_run);
                all.wrong.extend(here.wrong);
            });
        }
    });
    let all = all.into_inner().expect("no panic");
    let known = |(place, _): &&(String, String)| NOT_RUN.iter().any(|n| n.1.contains(&place.as_str()));
    let (known, other): (Vec<_>, Vec<_>) = all.not_run.iter().partition(known);
    eprintln!("{} kernels, {} the same natively, {} not run", all.kernels, all.same, known.len());
    if elsewhere.as_ref().is_some_and(Elsewhere::only_writes) {
        return;
    }
    assert!(all.wrong.is_empty(), "{} wrong\n{}", all.wrong.len(), all.wrong.join("\n"));
    assert!(other.is_empty(), "not run, and not listed: {other:#?}");
    assert!(known.len() <= 48, "{} kernels were not run", known.len());
    assert!(all.same >= 1100, "only {} kernels were run", all.same);
}
