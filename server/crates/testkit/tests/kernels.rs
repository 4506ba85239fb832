//! What analysis says of kernels nobody wrote, held against runs: no branch called uniform divides a warp, no barrier
//! called safe is missed by a thread, and every witness is one.
//!
//! `WARPWRIGHT_KERNELS=100000` runs more, `WARPWRIGHT_KERNEL_SEED` begins elsewhere.

use std::sync::Arc;

use analysis::{BarrierVerdict, KernelFacts, KernelLaunch, Program, Split, Uniformity};
use base::Budget;
use front::{Language, Memo, Options, Parsed, Unit};
use simulate::{AccessKind, Counts, Finding, GridReport, Heap, Launch, Schedule, Value};
use term::{Body, Op, TermId};
use testkit::random_kernels::{kernel, racing_kernel, stepping_kernel, ELEMENTS};
use testkit::rng::Rng;

struct Case {
    text: String,
    unit: Unit,
    program: Program,
    limits: gpu::Limits,
}

impl Case {
    fn new(text: String) -> Case {
        let parsed = Parsed::parse(Language::Cuda, text.as_str());
        let unit = front::lower(&parsed, &Options::default(), &mut Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        Case { text, unit, program, limits: gpu::CUDA.limits }
    }
    fn body(&self) -> &Body {
        let k = self.unit.items.iter().find(|i| i.is_kernel).expect("a kernel");
        let gaps: Vec<_> = k.body.rejects().map(|r| format!("{r:?}")).collect();
        assert_eq!(gaps, [""; 0], "{}", self.text);
        &k.body
    }
    fn facts(&self, launch: &KernelLaunch) -> KernelFacts {
        let launch = KernelLaunch { limits: self.limits, ..launch.clone() };
        analysis::kernel(self.body(), &self.program, &launch)
    }
    /// Runs it in step. `None`: it says nothing (out of fuel).
    fn run(&self, grid: [u32; 3], block: [u32; 3], values: &[(Arc<str>, i128)]) -> Option<GridReport> {
        let get = |name: &str| values.iter().find(|(n, _)| &**n == name).map_or(0, |v| v.1);
        let mut heap = Heap::new();
        let data: Vec<i32> = (0..ELEMENTS as i32).map(|k| k * 7 % 32).collect();
        let a = heap.buffer("a", &data).expect("room");
        let b = heap.buffer("b", &data).expect("room");
        let args = [Value::Pointer(a, 0), Value::Pointer(b, 0), Value::Int(get("n")), Value::Int(get("m"))];
        let limits = self.limits;
        let options = simulate::Options { overloads: true, decisions: true, limits, ..Default::default() };
        let program = simulate::Program::of(self.unit.items.iter().map(|i| &*i.body));
        let launch = Launch { grid, block, shared_bytes: 0 };
        let budget = Budget::new(20_000_000);
        simulate::run_grid(&program, "k", &args, &mut heap, &launch, &Schedule::counted(3), &options, &budget)
            .ok()
    }
    fn line(&self, t: TermId) -> usize {
        let k = self.unit.items.iter().find(|i| i.is_kernel).expect("a kernel");
        self.text[..(k.span.start + k.body.span(t).start) as usize].matches('\n').count() + 1
    }
}

#[derive(Default, Debug)]
struct Tally {
    uniform: usize,
    divergent: usize,
    unknown: usize,
    exact: usize,
    requests: usize,
    openings: usize,
    safe: usize,
    missed: usize,
    undecided: usize,
}

/// Whether the barrier or branch stands in no loop: its first way is then its only one.
fn outside_loops(body: &Body, t: TermId) -> bool {
    !body.walk(body.root).filter(|&l| body.op(l).is_loop()).any(|l| body.walk(l).any(|x| x == t))
}

fn check(case: &Case, launch: &KernelLaunch, tally: &mut Tally, seed: u64) {
    let facts = case.facts(launch);
    let body = case.body();
    let mut rng = Rng::new(seed ^ 77);
    for _ in 0..2 {
        let grid = launch.grid.unwrap_or([2, 1, 1]);
        let block =
            launch.block.unwrap_or(*rng.pick(&[[64, 1, 1], [40, 1, 1], [16, 4, 1], [33, 1, 1], [1, 1, 1]]));
        let mut values = launch.values.clone();
        for name in ["n", "m"] {
            if !values.iter().any(|(v, _)| &**v == name) {
                values.push((name.into(), rng.below(50) as i128));
            }
        }
        let Some(report) = case.run(grid, block, &values) else { continue };
        let counts = report.counts.as_ref().expect("counted");
        let all_safe = facts.barriers.iter().all(|b| b.verdict == BarrierVerdict::Safe);
        let missed = report.findings.iter().find(|f| matches!(f, Finding::BarrierDivergence { .. }));
        if all_safe {
            assert!(missed.is_none(), "{}\n{block:?} {values:?}\n{missed:?}", case.text);
        }
        // after a barrier that some have missed, anything may happen
        if missed.is_some() {
            continue;
        }
        if report.completed {
            requests(case, &facts, counts, tally);
            openings(case, &facts, counts, tally);
        }
        for b in &facts.branches {
            let counted = counts.branches.iter().filter(|c| c.term == b.term);
            for c in counted {
                let at = || format!("{}\nline {} {block:?} {values:?}\n{c:?}", case.text, case.line(b.term));
                if !matches!(b.uniformity, Uniformity::Divergent(_) | Uniformity::Unknown(_)) {
                    assert_eq!(c.divergent, 0, "{:?}\n{}", b.uniformity, at());
                }
                if let Some(lanes) = b.lanes.as_ref().filter(|_| report.completed) {
                    assert_eq!(lanes, &c.lanes, "{}", at());
                    tally.exact += 1;
                }
            }
        }
    }
    for b in &facts.branches {
        match &b.uniformity {
            Uniformity::Divergent(split) => {
                tally.divergent += 1;
                let Some(report) = witnessed(case, split) else { continue };
                let counts = report.counts.as_ref().expect("counted");
                let seen = counts.branches.iter().any(|c| c.term == b.term && c.divergent > 0);
                let missed = |f: &Finding| matches!(f, Finding::BarrierDivergence { .. });
                assert!(
                    seen || report.findings.iter().any(missed),
                    "{}\nline {}: {split:?}",
                    case.text,
                    case.line(b.term)
                );
            }
            Uniformity::Unknown(_) => tally.unknown += 1,
            _ => tally.uniform += 1,
        }
    }
    for b in &facts.barriers {
        match &b.verdict {
            BarrierVerdict::Safe => tally.safe += 1,
            BarrierVerdict::Unknown(_) => tally.undecided += 1,
            BarrierVerdict::Divergent(split) => {
                tally.missed += 1;
                // in a loop the threads may come together at other iterations
                if !outside_loops(body, b.term) {
                    continue;
                }
                let Some(report) = witnessed(case, split) else { continue };
                let seen = report.findings.iter().any(|f| matches!(f, Finding::BarrierDivergence { .. }));
                assert!(seen, "{}\nline {}: {split:?}", case.text, case.line(b.term));
            }
        }
    }
}

/// Requests that are said exactly are those counted.
fn requests(case: &Case, facts: &KernelFacts, counts: &Counts, tally: &mut Tally) {
    let start = |t: TermId| case.body().span(t).start;
    for f in &facts.accesses {
        let Some(asked) = f.requests.as_ref().filter(|r| r.exact) else { continue };
        let kind = match (f.reads, f.writes) {
            (true, true) => AccessKind::Atomic,
            (true, false) => AccessKind::Read,
            _ => AccessKind::Write,
        };
        let same = |c: &&simulate::AccessCount| {
            c.kind == kind && c.object == f.object && start(c.term) == start(f.term)
        };
        let at = || format!("{}\nline {}: {f:?}", case.text, case.line(f.term));
        match counts.accesses.iter().find(same) {
            None => assert_eq!(asked.count, 0, "{}", at()),
            Some(c) => {
                assert_eq!((asked.count, asked.lanes), (c.requests, c.lanes), "{}\n{c:?}", at());
                if f.space != term::Space::Global {
                    assert_eq!(
                        (asked.ways, asked.conflicts),
                        (c.worst.ways as u64, c.conflicts),
                        "{}\n{c:?}",
                        at()
                    );
                } else {
                    assert_eq!((asked.sectors, asked.ideal), (c.sectors, c.ideal), "{}\n{c:?}", at());
                    let worst = (c.worst.sectors as u64, c.worst.ideal as u64);
                    assert_eq!((asked.worst_sectors, asked.worst_ideal), worst, "{}\n{c:?}", at());
                }
                tally.requests += 1;
            }
        }
    }
}

/// So are openings of barriers.
fn openings(case: &Case, facts: &KernelFacts, counts: &Counts, tally: &mut Tally) {
    for b in &facts.barriers {
        let Some(said) = &b.count else { continue };
        let seen = counts.barriers.iter().find(|c| c.term == b.term);
        let (opened, threads, idle) = seen.map_or((0, 0, 0), |c| (c.opened, c.threads, c.idle));
        let at = || format!("{}\nline {}: {b:?}\n{seen:?}", case.text, case.line(b.term));
        assert_eq!((said.opened, said.threads), (opened, threads), "{}", at());
        if let Some(n) = said.idle {
            assert_eq!(n, idle, "{}", at());
            tally.openings += 1;
        }
    }
}

/// The run that a witness describes, where it went on to its end.
fn witnessed(case: &Case, split: &Split) -> Option<GridReport> {
    case.run(split.grid, split.block, &split.values).filter(|r| r.completed)
}

#[test]
fn what_is_said_of_random_kernels_holds_in_runs() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (cases, first) = (number("WARPWRIGHT_KERNELS", 100), number("WARPWRIGHT_KERNEL_SEED", 1));
    let mut tally = Tally::default();
    for seed in first..first + cases {
        let mut rng = Rng::new(seed);
        let case = Case::new(kernel(&mut rng, seed % 3 > 0));
        assert!(matches!(case.body().op(case.body().root), Op::Function(_)), "{}", case.text);
        check(&case, &KernelLaunch::default(), &mut tally, seed);
        let block = *rng.pick(&[[64, 1, 1], [40, 1, 1], [16, 4, 1], [32, 2, 1], [31, 1, 1]]);
        let values = vec![("n".into(), rng.below(70) as i128), ("m".into(), rng.below(70) as i128)];
        check(
            &case,
            &KernelLaunch {
                grid: Some([2, 1, 1]),
                block: Some(block),
                values,
                most_threads: None,
                ..Default::default()
            },
            &mut tally,
            seed,
        );
    }
    // all that can be said is said of some
    eprintln!("{tally:?}");
    let said = [tally.uniform, tally.divergent, tally.exact, tally.requests, tally.safe, tally.openings];
    assert!(said.iter().all(|&n| n as u64 > cases / 4) && tally.missed > 0, "{tally:?}");
}

/// Where indices decide nearly everything, nearly all is said exactly, and a run counts it so.
#[test]
fn what_indices_decide_is_followed_through_loops() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (cases, first) = (number("WARPWRIGHT_KERNELS", 60), number("WARPWRIGHT_KERNEL_SEED", 1));
    let (mut tally, mut listed, mut exact) = (Tally::default(), 0, 0);
    for seed in first..first + cases {
        let mut rng = Rng::new(seed ^ 0x5eed);
        let text = if seed % 4 == 0 { racing_kernel(&mut rng) } else { stepping_kernel(&mut rng) };
        let case = Case::new(text);
        let block = *rng.pick(&[[64, 1, 1], [40, 1, 1], [16, 4, 1], [32, 2, 1], [31, 1, 1]]);
        let values = vec![("n".into(), rng.below(70) as i128), ("m".into(), rng.below(70) as i128)];
        let launch = KernelLaunch { grid: Some([2, 1, 1]), block: Some(block), values, ..Default::default() };
        check(&case, &launch, &mut tally, seed);
        let facts = case.facts(&launch);
        listed += facts.accesses.len();
        exact += facts.accesses.iter().filter(|a| a.requests.as_ref().is_some_and(|r| r.exact)).count();
    }
    eprintln!("{exact} of {listed} accesses are exact; {tally:?}");
    assert!(2 * exact > listed && tally.exact as u64 > cases, "{exact} of {listed}, {tally:?}");
}

/// The same in warps of 64 lanes: what is said exactly is what a run in such warps counts.
#[test]
fn warps_of_64_lanes_are_followed_and_counted_as_they_run() {
    let (mut tally, mut listed, mut exact, mut whole) = (Tally::default(), 0, 0, 0);
    for seed in 1..=30 {
        let mut rng = Rng::new(seed ^ 0x6464);
        let text = match seed % 4 {
            0 => racing_kernel(&mut rng),
            1 => kernel(&mut rng, true),
            _ => stepping_kernel(&mut rng),
        };
        let case = Case { limits: gpu::HIP.limits, ..Case::new(text) };
        let block = *rng.pick(&[[128, 1, 1], [64, 1, 1], [100, 1, 1], [16, 8, 1], [33, 3, 1]]);
        let values = vec![("n".into(), rng.below(150) as i128), ("m".into(), rng.below(150) as i128)];
        let launch = KernelLaunch { grid: Some([2, 1, 1]), block: Some(block), values, ..Default::default() };
        check(&case, &launch, &mut tally, seed);
        let facts = case.facts(&launch);
        let asked = || facts.accesses.iter().filter_map(|a| a.requests.as_ref()).filter(|r| r.exact);
        listed += facts.accesses.len();
        exact += asked().count();
        // more lanes in one request than a mask of 32 bits holds
        whole += asked().filter(|r| r.count > 0 && r.lanes > 32 * r.count).count();
    }
    eprintln!("{exact} of {listed} accesses are exact, {whole} of them with more than 32 lanes a request; {tally:?}");
    assert!(2 * exact > listed && whole > 60 && tally.exact > 60, "{exact} of {listed}, {whole}, {tally:?}");
}

/// The verdicts on the barriers and branches of a kernel, as `line: word`.
fn verdicts(text: &str, launch: &KernelLaunch) -> Vec<String> {
    let case = Case::new(text.to_owned());
    let facts = case.facts(launch);
    let branches = facts.branches.iter().map(|b| (case.line(b.term), b.uniformity.name()));
    let barriers = facts.barriers.iter().map(|b| {
        let word = match b.verdict {
            BarrierVerdict::Safe => "safe",
            BarrierVerdict::Divergent(_) => "missed",
            BarrierVerdict::Unknown(_) => "undecided",
        };
        (case.line(b.term), word)
    });
    let mut all: Vec<(usize, &str)> = branches.chain(barriers).collect();
    all.sort();
    all.into_iter().map(|(l, w)| format!("{l}: {w}")).collect()
}

#[test]
fn barriers_and_branches_of_small_kernels() {
    let k = |body: &str| {
        format!("__global__ void k(int *a, const int *__restrict__ b, int n, int m) {{ int t = threadIdx.x;\n{body}\n}}")
    };
    let any = KernelLaunch::default();
    let check = |body: &str, launch: &KernelLaunch, expected: &[&str]| {
        assert_eq!(verdicts(&k(body), launch), expected, "{body}");
    };
    check("if (n > 3)\n__syncthreads();", &any, &["2: grid", "3: safe"]);
    check("if (blockIdx.x < n)\n__syncthreads();", &any, &["2: block", "3: safe"]);
    check("if (t < n)\n__syncthreads();", &any, &["2: divergent", "3: missed"]);
    check("if (t >= n) return;\n__syncthreads();", &any, &["2: divergent", "3: missed"]);
    check("for (int i = 0; i < n; i++)\n__syncthreads();", &any, &["2: grid", "3: safe"]);
    check("for (int i = t; i < n; i += 32)\n__syncthreads();", &any, &["2: divergent", "3: missed"]);
    check(
        "a[t] = m; for (int i = 0; i < n; i++) { if (a[i] > m) break;\n__syncthreads(); }",
        &any,
        &["2: unknown", "2: unknown", "3: undecided"],
    );
    check("if (b[blockIdx.x] > 3)\n__syncthreads();", &any, &["2: block", "3: safe"]);
    // what may be written meanwhile is not known to be the same for all
    check("a[t] = 1; if (a[0] > 3)\n__syncthreads();", &any, &["2: unknown", "3: undecided"]);
    check("if (__syncthreads_or(t < n))\n__syncthreads();", &any, &["2: block", "2: safe", "3: safe"]);
    // blocks are no larger than the kernel says
    let narrow = KernelLaunch { most_threads: Some(32), ..KernelLaunch::default() };
    check("if (t < 32)\n__syncthreads();", &narrow, &["2: unknown", "3: undecided"]);
    check("if (t < 32)\n__syncthreads();", &any, &["2: unknown", "3: missed"]);
    let wide = KernelLaunch { block: Some([64, 1, 1]), ..KernelLaunch::default() };
    check("if (t / 32 == 1)\na[t] = 1;\nif (threadIdx.y > 0) a[t] = 2;", &wide, &["2: warp", "4: grid"]);
    check("if (t / 32 == 1)\n__syncthreads();", &wide, &["2: warp", "3: missed"]);
    // a variable set under a divergent condition is not uniform
    check(
        "int x = 0; if (t == 3) x = 1;\nif (x > 0)\n__syncthreads();",
        &any,
        &["2: divergent", "3: unknown", "4: undecided"],
    );
}
