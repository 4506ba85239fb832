//! The same inputs on programs that a compiler of the machine built: offloads of what people write around loops compute the
//! same there, and what is planted in either program is found. 8 programs, or as many as `WARPWRIGHT_NATIVE` says, from the
//! seed `WARPWRIGHT_NATIVE_FROM` on.

use std::path::Path;

use base::CancelToken;
use device::{native_compiler, NativeCompiler, NativeTrial};
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
    let both = NativeTrial {
        original: &trial.original,
        rewritten: &trial.rewritten,
        kernels: &trial.kernels,
        include: trial.include,
        driver: &trial.driver,
        support: &trial.support,
        flags: &trial.flags(),
        input: &trial.input,
    };
    let (original, rewritten) = compiler.try_both(folder, &both).expect("it is built and runs");
    trial.compare(&original, &rewritten)
}

/// What the simulator says of each offload of a text, with its trial.
fn trials(text: &str) -> Vec<(Outcome, Option<Trial>)> {
    let (memo, settings, cancel) = (Memo::default(), Settings::default(), CancelToken::new());
    let text = text::Text::new(text).expect("a short text");
    let doc = Doc::open(ide::Language::C, "program.c", text, Options::default());
    let findings = check(&doc, &memo, &settings, Tier::Full, &cancel).expect("not cancelled");
    let options = VerifyOptions { cases: 4, steps: 3_000_000, ..Default::default() };
    let all = findings.loops.iter().map(|l| Which::Key(l.key.to_string()));
    all.flat_map(|which| Verifier::new(&doc, &findings, &memo, &options).run(&which, &cancel))
        .map(|(r, t)| (r.outcome, t))
        .collect()
}

const TEXT: &str = "struct s { char tag; double x; };\nint scale = 3;\ndouble f(int n, struct s *a, const float *restrict b)\n{\n    for (int i = 0; i < n; i++)\n        a[i].x = b[i] * scale + a[i].tag;\n    return n;\n}\n";

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
fn offloaded_programs_compute_the_same_natively() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(compiler) = compiler(folder.path()) else { return };
    let (from, count) = (number("WARPWRIGHT_NATIVE_FROM", 0), number("WARPWRIGHT_NATIVE", 8));
    let (mut same, mut wrong, mut seed) = (0, Vec::new(), from);
    while same + (wrong.len() as u64) < count && seed < from + 40 * count {
        let text = testkit::programs::program(seed);
        // until layouts follow these attributes, simulator and machine rightly disagree
        if text.contains("pack") {
            seed += 1;
            continue;
        }
        for (outcome, trial) in trials(&text) {
            let (Outcome::Same, Some(trial)) = (outcome, trial) else { continue };
            match run(&trial, &compiler, folder.path()) {
                Natively::Same(_) => same += 1,
                other => wrong.push(format!("seed {seed}: {other:?}\n{text}")),
            }
        }
        seed += 1;
    }
    eprintln!("{same} offloads of the programs {from} to {seed} are the same natively");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(same >= count, "too few offloads were tried");
}
