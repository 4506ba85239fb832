//! The analysis against what really happens: random functions are run with a record of every cell they touch, and every
//! verdict, condition and witness is held to it; offloaded loops are run beside the original; our machine is compared
//! with gcc. 2,000 functions, each with one nest or more, or as many as `WARPWRIGHT_NESTS` says (100,000 at night), from the
//! seed `WARPWRIGHT_NESTS_FROM` on.

use base::CancelToken;
use ide::{check, offload, verify, Doc, Memo, Options, Outcome, Settings, Tier, VerifyOptions, Which};
use testkit::judge::{judge, Failure, Stats};
use testkit::nests::{generate, shrink, Nest};

/// Statements in a function, about.
const SIZE: usize = 12;

fn wanted() -> u64 {
    number("WARPWRIGHT_NESTS", 2_000)
}

fn number(variable: &str, or: u64) -> u64 {
    std::env::var(variable).map_or(or, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

/// Runs `work` on `count` seeds, on all cores.
fn on_all_cores<T: Send>(count: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let from = number("WARPWRIGHT_NESTS_FROM", 0);
    std::thread::scope(|s| {
        let handles: Vec<_> = (0..threads)
            .map(|t| {
                let work = &work;
                s.spawn(move || {
                    (t..count).step_by(threads as usize).map(|n| work(from + n)).collect::<Vec<T>>()
                })
            })
            .collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    })
}

/// The failure's function made small.
fn small(f: &Failure) -> Failure {
    let again = |n: &Nest| judge(n, &mut Stats::default()).into_iter().find(|g| g.kind == f.kind);
    again(&shrink(&f.nest, |n| again(n).is_some())).unwrap_or_else(|| f.clone())
}

#[test]
fn claims_and_witnesses_hold() {
    let results = on_all_cores(wanted(), |seed| {
        let mut stats = Stats::default();
        let failures = judge(&generate(seed, SIZE), &mut stats);
        (stats, failures)
    });
    let mut stats = Stats::default();
    let mut failures = Vec::new();
    for (s, f) in &results {
        stats.add(s);
        failures.extend(f);
    }
    eprintln!("{stats}");
    // Known before anything is made small, which may take long.
    for f in &failures {
        eprintln!("[{}] seed {}: {}", f.kind, f.nest.seed, f.what);
    }
    let shown: Vec<String> = failures.iter().take(5).map(|f| small(f).to_string()).collect();
    assert!(failures.is_empty(), "{} wrong claims\n{}", failures.len(), shown.join("\n\n"));
    // a test that judges nothing proves nothing
    assert!(stats.claims > wanted() && stats.witnesses > wanted() / 2, "too little was judged");
}

/// What is wrong with the offload of a function's loops; counts of loops offloaded and of runs on kernels.
fn offloads(nest: &Nest) -> (u64, u64, Vec<String>) {
    let text = nest.text();
    let (memo, settings, cancel) = (Memo::default(), Settings::default(), CancelToken::new());
    let doc = Doc::open(
        ide::Language::C,
        "nest.c",
        text::Text::new(&text).expect("a short text"),
        Options::default(),
    );
    let findings = check(&ide::Ask::new(&doc, &memo, Tier::Full, &cancel), &settings).expect("not cancelled");
    let options = VerifyOptions { cases: 3, seed: nest.seed, steps: 3_000_000, ..Default::default() };
    let (mut loops, mut launches, mut wrong) = (0, 0, Vec::new());
    for l in &findings.loops {
        let which = Which::Key(l.key.to_string());
        if offload(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &findings, &which).is_err() {
            continue;
        }
        loops += 1;
        for r in verify(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &findings, &which, &options) {
            launches += r.cases.iter().map(|c| c.counted.launches).sum::<u64>();
            // what cannot be tried (no valid input found) is no failure of a random function
            if r.outcome == Outcome::Different {
                wrong.push(format!("seed {}, line {}: {}\n{text}", nest.seed, r.line, r.summary));
            }
        }
    }
    (loops, launches, wrong)
}

#[test]
fn offloaded_nests_compute_the_same() {
    // each takes as long as many judgments
    let results = on_all_cores(wanted() / 5, |seed| offloads(&generate(seed, SIZE)));
    let loops: u64 = results.iter().map(|r| r.0).sum();
    let launches: u64 = results.iter().map(|r| r.1).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|r| r.2).collect();
    eprintln!("{loops} loops offloaded, {launches} launches");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n\n"));
    assert!(loops > wanted() / 20 && launches > loops, "too little was offloaded");
}

#[test]
fn our_machine_agrees_with_gcc() {
    if std::process::Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("SKIPPED the comparison with gcc: gcc is not on PATH");
        assert!(std::env::var_os("CI").is_none(), "the comparison with gcc was skipped in CI");
        return;
    }
    let count = (wanted() / 5).max(300);
    let first = number("WARPWRIGHT_NESTS_FROM", 0);
    let mut calls = 0;
    for from in (first..first + count).step_by(400) {
        let dir = tempfile::tempdir().expect("a folder");
        let nests: Vec<Nest> = (from..(first + count).min(from + 400)).map(|s| generate(s, SIZE)).collect();
        let c = testkit::gcc::compare(&nests, 3, dir.path()).expect("gcc takes the functions");
        assert!(
            c.different.is_empty(),
            "{} differ\n{}",
            c.different.len(),
            c.different[..c.different.len().min(4)].join("\n\n")
        );
        calls += c.calls;
    }
    eprintln!("{calls} calls agree with gcc");
    assert!(calls as u64 > count, "too few calls were compared");
}

/// Facts of every loop of a text, and how many loops there are, in a thread with the stack that servers' threads have.
fn judged(text: String) -> (usize, bool) {
    let run = move || testkit::judge::survey(&text);
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread").join().expect("no panic")
}

#[test]
fn deep_nests_end() {
    let mut text = String::from("void f(int n, double *a) {\n");
    for k in 0..10 {
        text += &format!("for (int i{k} = 0; i{k} < n; i{k}++) {{\n");
    }
    text += "a[i0 + 2 * i1 + i9] = a[i3 + i4] + a[i0 * n + i1];\n";
    text += &"}".repeat(11);
    assert_eq!(judged(text).0, 10);
}

#[test]
fn deep_parentheses_end() {
    let deep = format!("{}i{}", "(".repeat(10_000), ")".repeat(10_000));
    let sums = format!("{}i{}", "(1 + ".repeat(10_000), ")".repeat(10_000));
    let signs = format!("{}i", "- ".repeat(10_000));
    let subscripts = format!("{}i{}", "p[".repeat(10_000), "]".repeat(10_000));
    for e in [deep, sums, signs, subscripts] {
        let text = format!("void f(int n, int *a, int *p) {{ for (int i = 0; i < n; i++) a[i] = {e}; }}");
        assert!(judged(text).0 <= 1);
    }
    let blocks = format!(
        "void f(int n) {{ {} {} }}",
        "for (int i = 0; i < n; i++) {".repeat(3_000),
        "}".repeat(3_000)
    );
    judged(blocks);
    let ifs = format!(
        "void f(int n, int *a) {{ for (int i = 0; i < n; i++) {} a[i] = 1; }}",
        "if (n > i) ".repeat(5_000)
    );
    judged(ifs);
}

#[test]
fn flattened_subscripts_with_a_symbolic_step_end() {
    // The least point of the cells' equation needs so many cutting planes that the search for it does not end.
    let text = "int a[12][14][16];
        void f(int n, int m, int k, int *b) {
            int u = 1;
            for (int i = 2; i < n; i += 2)
                for (int j = 0; j < m; j += k)
                    if (j < n - 1) {
                        a[j + 1][j + 2][2 * j + 2] = 2 * (j + a[3 * j - 2][i + 2][4]);
                        a[i][j + 3][j - 1] = i + j < n ? u : (b[i] > 5 ? b[j & 7] : a[j + 2][j + 2][j + 2]);
                    }
        }";
    assert_eq!(judged(text.to_owned()).0, 2);
}

#[test]
fn long_bodies_end() {
    let mut text = String::from(
        "void f(int n, double *restrict a, const double *restrict b) {\nfor (int i = 0; i < n; i++) {\n",
    );
    for k in 0..5_000 {
        text += &format!("a[5000 * i + {k}] = b[i] * {k};\n");
    }
    text += "}\n}\n";
    let start = std::time::Instant::now();
    assert_eq!(judged(text).0, 1);
    let mut chain =
        String::from("double f(int n, double *a) {\ndouble s = 0;\nfor (int i = 0; i < n; i++) {\n");
    for k in 0..5_000 {
        chain += &format!("double t{k} = a[i + {k}]; s += t{k};\n");
    }
    chain += "}\nreturn s;\n}\n";
    assert_eq!(judged(chain).0, 1);
    eprintln!("long bodies: {} ms", start.elapsed().as_millis());
}
