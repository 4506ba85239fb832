//! The same inputs on programs that a compiler of the machine built: offloads of what people write around loops compute the
//! same there, and what is planted in either program is found. 30 programs with offloads, or as many as `WARPWRIGHT_NATIVE`
//! says, from the seed `WARPWRIGHT_NATIVE_FROM` on, by `WARPWRIGHT_THREADS` threads.

mod batch;
mod elsewhere;
mod fixtures;
#[path = "../../server/src/native.rs"]
mod native;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use base::CancelToken;
use device::{native_compiler, NativeCompiler};
use ide::{
    check, Doc, Memo, Natively, Options, Outcome, Settings, Tier, Trial, Verifier, VerifyOptions, Which,
};

fn number(variable: &str, or: u64) -> u64 {
    std::env::var(variable).map_or(or, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

fn compiler(outside: &Path) -> Option<NativeCompiler> {
    let found = native_compiler(outside);
    if found.is_none() {
        eprintln!("SKIPPED: no gcc or clang on PATH");
        assert!(std::env::var_os("CI").is_none(), "native runs were skipped in CI");
    }
    found
}

fn run(trial: &Trial, compiler: &NativeCompiler, folder: &Path) -> Natively {
    let ran = native::run(trial, compiler, folder, &[], &|_| Vec::new()).expect("it is built and runs");
    native::said(trial, &ran)
}

/// What the simulator says of each offload of a text, with its trial.
fn trials(text: &str) -> Vec<(Outcome, Option<Trial>)> {
    let (memo, settings, cancel) = (Memo::default(), Settings::default(), CancelToken::new());
    let text = text::Text::new(text).expect("a short text");
    let doc = Doc::open(ide::Language::C, "program.c", text, Options::default());
    let ask = ide::Ask::new(&doc, &memo, Tier::Full, &cancel);
    let findings = check(&ask, &settings).expect("not cancelled");
    let options = VerifyOptions { cases: 4, steps: 3_000_000, ..Default::default() };
    let all = findings.loops.iter().map(|l| Which::Key(l.key.to_string()));
    all.flat_map(|which| Verifier::new(&ask, &findings, &options).run(&which))
        .map(|(r, t)| (r.outcome, t))
        .collect()
}

const TEXT: &str = "struct s { char tag; double x; };\nint scale = 3;\ndouble f(int n, struct s *a, const float *restrict b)\n{\n    for (int i = 0; i < n; i++)\n        a[i].x = b[i] * scale + a[i].tag;\n    return n;\n}\n";

#[test]
fn constants_of_the_file_are_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(compiler) = compiler(folder.path()) else { return };
    let text = "typedef const short fixed;\nstatic const int tab[4] = { 1, 0, [2] = 3, 2 };\nconst double grid[2][2] = { { 1, 2 }, { 3 } };\nfixed steps[] = { 4, 5, 6, 7 };\nconst struct { int a; float b; } pairs[2] = { { 1, 2 }, { .b = 3 } };\nvoid f(int n, double *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = tab[i & 3] + grid[1][i & 1] + steps[i & 3] * pairs[i & 1].b;\n}\n";
    let (outcome, trial) = trials(text).pop().expect("one loop");
    assert_eq!(outcome, Outcome::Same);
    let said = run(&trial.expect("it can be called"), &compiler, folder.path());
    assert!(matches!(said, Natively::Same(_)), "{said:?}");
}

#[test]
fn a_programs_own_main_is_called() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(compiler) = compiler(folder.path()) else { return };
    let text = "int missing(void);\nint left[64];\nint other(void) { return missing(); }\nint main(int argc, char **argv)\n{\n    for (int i = 0; i < 64; i++)\n        left[i] = i * argc;\n    return 3;\n}\n";
    let (outcome, trial) = trials(text).pop().expect("one loop");
    assert_eq!(outcome, Outcome::Same);
    let said = run(&trial.expect("it can be called"), &compiler, folder.path());
    assert!(matches!(said, Natively::Same(_)), "{said:?}");
}

#[test]
fn addresses_among_numbers_are_not_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(compiler) = compiler(folder.path()) else { return };
    let text = "void *malloc(unsigned long n);\nunsigned long f(int n, unsigned long *keep, const double *b, double *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] + 1;\n    keep[0] = (unsigned long)malloc(8);\n    keep[1] = (unsigned long)a;\n    keep[2] = n;\n    return keep[0];\n}\n";
    let (outcome, trial) = trials(text).pop().expect("one loop");
    assert_eq!(outcome, Outcome::Same);
    let trial = trial.expect("it can be called");
    let said = run(&trial, &compiler, folder.path());
    assert!(matches!(said, Natively::Same(_)), "{said:?}");
    // what is no address still is
    let mut misread = trial.clone();
    misread.original = misread.original.replace("keep[2] = n;", "keep[2] = n + 1;");
    assert!(matches!(run(&misread, &compiler, folder.path()), Natively::Disagree(_)));
}

#[test]
fn what_is_planted_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(compiler) = compiler(folder.path()) else { return };
    let (outcome, trial) = trials(TEXT).pop().expect("one loop");
    let trial = trial.expect("it can be called");
    assert_eq!(outcome, Outcome::Same);
    assert!(matches!(run(&trial, &compiler, folder.path()), Natively::Same(4)));
    let mut wrong = trial.clone();
    wrong
        .kernels
        .iter_mut()
        .for_each(|k| *k = k.replace("scale +", "scale -").replace("scale) +", "scale) -"));
    assert_ne!(wrong.kernels, trial.kernels, "the kernel has another form now");
    assert!(matches!(run(&wrong, &compiler, folder.path()), Natively::Different(_)));
    let mut misread = trial.clone();
    misread.original = misread.original.replace("* scale +", "* scale -");
    assert!(matches!(run(&misread, &compiler, folder.path()), Natively::Disagree(_)));
    let mut broken = trial.clone();
    broken.rewritten = broken.rewritten.replace("return n;", "return *(volatile double *)1;");
    assert!(matches!(run(&broken, &compiler, folder.path()), Natively::Different(_)));
    let mut never = trial.clone();
    never.rewritten = never.original.clone();
    never.kernels.clear();
    assert!(matches!(run(&never, &compiler, folder.path()), Natively::NoKernel));
}

/// What came of many programs.
#[derive(Default)]
struct Tally {
    /// Programs read, and those of which an offload was run.
    programs: u64,
    offloaded: u64,
    /// Offloads that are the same, and those whose kernels never ran.
    same: u64,
    no_kernel: u64,
    wrong: Vec<String>,
}

/// Offloads that are built together, their bytes of input, and programs that are read before it is asked whether there are enough.
const TOGETHER: usize = 40;
const BYTES: usize = 32 << 20;
const READ: u64 = 20;

/// Offloads that wait to be built: each program's first, second, … loops with those of the others.
#[derive(Default)]
struct Waiting {
    rounds: Vec<Vec<(u64, Trial)>>,
    bytes: usize,
}

impl Waiting {
    /// Reads one program.
    fn add(&mut self, seed: u64, out: &mut Tally) {
        let text = text(seed);
        let mut some = 0;
        let Ok(all) = std::panic::catch_unwind(|| trials(&text)) else {
            out.wrong.push(format!("seed {seed}: a panic\n{text}"));
            return;
        };
        for (outcome, trial) in all {
            match (outcome, trial) {
                (Outcome::Same, Some(trial)) => {
                    if self.rounds.len() == some {
                        self.rounds.push(Vec::new());
                    }
                    self.bytes += trial.input.len();
                    self.rounds[some].push((seed, trial));
                    some += 1;
                }
                (Outcome::Different, _) => out.wrong.push(format!("seed {seed}: in the simulator\n{text}")),
                _ => {}
            }
        }
        out.programs += 1;
        out.offloaded += u64::from(some > 0);
    }

    fn is_enough(&self) -> bool {
        self.bytes > BYTES || self.rounds.first().is_some_and(|r| r.len() >= TOGETHER)
    }

    fn run(&mut self, compiler: &NativeCompiler, folder: &Path, out: &mut Tally) {
        self.bytes = 0;
        for round in self.rounds.drain(..) {
            let all: Vec<_> = round.iter().map(|(_, trial)| batch::Part { trial, shared: None }).collect();
            let flags = round.first().map_or_else(Vec::new, |(_, t)| t.flags());
            for ((seed, _), said) in round.iter().zip(batch::run(&all, &flags, compiler, folder)) {
                match said {
                    Ok(Natively::Same(_)) => out.same += 1,
                    Ok(Natively::NoKernel) => out.no_kernel += 1,
                    other => out.wrong.push(format!("seed {seed}: {other:?}\n{}", text(*seed))),
                }
            }
        }
    }
}

/// Every third program is any one, the others are such as can mostly be offloaded.
fn text(seed: u64) -> String {
    match seed % 3 {
        0 => testkit::programs::program(seed),
        _ => testkit::programs::mild(seed),
    }
}

#[test]
fn inputs_on_which_threads_race_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(compiler) = compiler(folder.path()) else { return };
    // with threads, who comes last is open; with one it is the last
    let text = "void f(int n, int *restrict a, int *restrict last)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = i;\n#pragma omp parallel for schedule(static, 1)\n    for (int i = 0; i < n; i++)\n        last[0] = n - i;\n}\n";
    let apart = text.replace("last[0] = n - i", "last[i] = n - i");
    for (text, races) in [(text.to_owned(), true), (apart, false)] {
        let (outcome, trial) = trials(&text).swap_remove(0);
        assert_eq!(outcome, Outcome::Same);
        let said = run(&trial.expect("it can be called"), &compiler, folder.path());
        match races {
            true => assert!(matches!(said, Natively::Raced | Natively::Same(_)), "{said:?}"),
            false => assert!(matches!(said, Natively::Same(_)), "{said:?}"),
        }
    }
}

#[test]
fn offloaded_programs_compute_the_same_natively() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(compiler) = compiler(folder.path()) else { return };
    let (from, count) = (number("WARPWRIGHT_NATIVE_FROM", 0), number("WARPWRIGHT_NATIVE", 30));
    let threads = number("WARPWRIGHT_THREADS", 2);
    let (next, all) = (AtomicU64::new(from), Mutex::new(Tally::default()));
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                let folder = tempfile::tempdir().expect("a folder");
                let mut waiting = Waiting::default();
                loop {
                    let at = next.fetch_add(READ, Ordering::Relaxed);
                    let enough =
                        at >= from + 20 * count || all.lock().expect("no panic").offloaded >= count;
                    let mut here = Tally::default();
                    if !enough {
                        (at..at + READ).for_each(|seed| waiting.add(seed, &mut here));
                    }
                    if enough || waiting.is_enough() {
                        waiting.run(&compiler, folder.path(), &mut here);
                    }
                    let mut all = all.lock().expect("no panic");
                    here.wrong.iter().for_each(|w| eprintln!("{w}\n"));
                    all.programs += here.programs;
                    all.offloaded += here.offloaded;
                    all.same += here.same;
                    all.no_kernel += here.no_kernel;
                    all.wrong.extend(here.wrong);
                    if here.same > 0 {
                        eprintln!(
                            "{} programs from seed {from} on, {} with offloads; {} offloads are the same natively, {} ran no kernel; wrong: {}",
                            all.programs, all.offloaded, all.same, all.no_kernel, all.wrong.len()
                        );
                    }
                    if enough {
                        break;
                    }
                }
            });
        }
    });
    let all = all.into_inner().expect("no panic");
    assert!(all.wrong.is_empty(), "{} wrong\n{}", all.wrong.len(), all.wrong.join("\n\n"));
    assert!(all.offloaded >= count && all.same >= count / 2, "too few offloads were tried");
}
