//! Random functions of a host (`testkit::host_functions`): every loop of which the nests become kernels together is offloaded, and
//! what comes of it runs beside the original, with memory of its own for the device. No run may read a value that the other
//! side has newer, leave memory there, or copy what nobody needed on any input; on some functions every call of the run time and
//! every launch fails in turn.
//!
//! 600 functions, or as many as `WARPWRIGHT_HOSTS` says, from the seed `WARPWRIGHT_HOSTS_FROM` on; calls fail in one of
//! `WARPWRIGHT_HOSTS_FAILING` of them. With `WARPWRIGHT_HOSTS_TABLES` set to 1 only those with tables of rows are looked at.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use base::CancelToken;
use ide::{
    all_transferred, check, offload, verify, Ask, Doc, Findings, Memo, Options, Outcome, Settings, Tier,
    Transferred, VerifyOptions, VerifyReport, Which,
};
use testkit::{gathers, host_functions, structures, waves};

/// What came of one function.
#[derive(Clone, Debug, Default)]
struct Tried {
    /// Loops offloaded that stay on the host, and runs in which their kernels ran.
    together: u64,
    runs: u64,
    /// Those of which parts of arrays are found where they begin.
    found: u64,
    /// Loops with nests in them that were refused.
    refused: u64,
    /// Copies, and runs in which a call or a launch failed.
    copies: u64,
    failures: u64,
    /// Reports in which a call failed.
    failing: u64,
    /// What is wrong, each with the text.
    wrong: Vec<String>,
    /// What is copied to the device and not read there, comes back and is not read, and is copied again though nothing has
    /// changed or only one of a loop's copies is needed; likewise.
    not_read_there: Vec<String>,
    not_read_here: Vec<String>,
    again: Vec<String>,
}

/// Calls that fail in turn, at most.
const MOST_FAILURES: u64 = 400;
/// What is given for inputs on which somebody may need a copy that was not needed on the first ones.
const SECOND_LOOK: [&[(&str, i128)]; 5] = [
    &[("rounds", 1), ("start", 44)],
    &[("rounds", 2), ("start", 7), ("n", 9), ("m", 3)],
    &[("rounds", 0), ("n", 7)],
    &[("rounds", 4), ("start", 46), ("n", 12)],
    &[("rounds", 3), ("start", 9), ("m", 12)],
];

/// What is copied on these inputs as well, together. Ends where everything was needed.
fn second_look(
    ask: &Ask,
    findings: &Findings,
    which: &Which,
    options: &VerifyOptions,
    first: &VerifyReport,
) -> Vec<Transferred> {
    let mut all = first.transferred.clone();
    for given in SECOND_LOOK {
        let given = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let seed = options.seed + 1;
        let options = VerifyOptions { cases: 6, seed, steps: 2_000_000, given, failures: 0 };
        let more = verify(ask, findings, which, &options);
        all = all_transferred(all.iter().chain(more.iter().flat_map(|r| &r.transferred)));
        if all.iter().all(|t| t.too_much(&[]).is_none()) {
            break;
        }
    }
    all
}

/// At how many places of 600 functions something is copied to the device that nobody reads there, back that nobody reads, and
/// again; at most: a copy of one array counts once, however many of its rows it has. These can only go down, of as many loops: with those
/// that control leaves, and those with arrays that only some rounds use, 594 are offloaded. (Tables of rows, in
/// 15 % of the functions, are part of the second: packed copies of tables that exchange names come back though some rows are as
/// they were.)
const TOO_MUCH: [u64; 3] = [20, 28, 0];

/// Offloads every loop that is not simply parallel itself, and runs what comes of it.
fn judge(seed: u64, fails: bool) -> Tried {
    let text = host_functions::generate(seed);
    judge_text(seed, text, fails)
}

fn judge_text(seed: u64, text: String, fails: bool) -> Tried {
    let (memo, settings, cancel) = (Memo::default(), Settings::default(), CancelToken::new());
    let source = text::Text::new(&text).expect("a short text");
    let doc = Doc::open(ide::Language::C, "host.c", source, Options::default());
    let ask = || ide::Ask::new(&doc, &memo, Tier::Full, &cancel);
    let findings = check(&ask(), &settings).expect("not cancelled");
    // each call that fails is a run more
    let (failures, steps) = if fails { (MOST_FAILURES, 60_000_000) } else { (0, 2_000_000) };
    let options = VerifyOptions { cases: 6, seed, steps, failures, ..Default::default() };
    let mut tried = Tried::default();
    for l in &findings.loops {
        let which = Which::Key(l.key.to_string());
        let Ok(done) = offload(&ask(), &findings, &which) else {
            tried.refused +=
                u64::from(findings.loops.iter().any(|o| l.span.contains(o.span) && o.span != l.span));
            continue;
        };
        // several kernels, or one whose threads have cells of an array for themselves
        if !done.edit.create.iter().any(|f| f.text.contains("_steps(") || f.text.contains("_rows")) {
            continue;
        }
        tried.together += 1;
        let finds = |t: &str| t.contains("_steps(") && t.contains("_ends_of_");
        tried.found += u64::from(done.edit.create.iter().any(|f| finds(&f.text)));
        for r in verify(&ask(), &findings, &which, &options) {
            tried.runs += r.cases.iter().filter(|c| c.counted.launches > 0).count() as u64;
            tried.copies += r.transferred.iter().map(|t| t.copies.count).sum::<u64>();
            tried.failures += r.failures;
            tried.failing += u64::from(r.failures > 0);
            let told = |what: &str| format!("seed {seed}, line {}: {what}\n{text}", r.line);
            // what cannot be tried (no valid input found) is no failure of a random function
            if r.outcome == Outcome::Different || r.summary.contains("Please report") {
                tried.wrong.push(told(&r.summary));
            } else if r.transferred.iter().any(|t| t.too_much(&[]).is_some()) {
                let all = second_look(&ask(), &findings, &which, &options, &r);
                let mut seen = HashSet::new();
                for t in &all {
                    let Some(what) = t.too_much(&r.kernel_files) else { continue };
                    // `g[1]+0` and `g[2]+0` are rows of one copy
                    let array = t.array.split('[').next().unwrap_or_default().to_owned();
                    if !seen.insert((array, t.to_device, t.at)) {
                        continue;
                    }
                    match (t.can_be_left_out(), t.to_device) {
                        (true, true) if t.unchanged < t.judged => tried.not_read_there.push(told(&what)),
                        (true, false) if t.unchanged < t.judged => tried.not_read_here.push(told(&what)),
                        // what is called in each round of a loop copies in each round
                        _ if t.in_loop.is_some_and(|l| l.kernel_file.is_none()) => {}
                        // a table is copied with all its rows
                        _ if t.array.contains('[') && !t.to_device => tried.not_read_here.push(told(&what)),
                        _ => tried.again.push(told(&what)),
                    }
                }
            }
        }
    }
    tried
}

fn number(variable: &str, or: u64) -> u64 {
    std::env::var(variable).map_or(or, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

#[test]
fn nests_that_share_their_data_compute_the_same() {
    let (count, from) = (number("WARPWRIGHT_HOSTS", 600), number("WARPWRIGHT_HOSTS_FROM", 0));
    let each = number("WARPWRIGHT_HOSTS_FAILING", 20).max(1);
    let tables = number("WARPWRIGHT_HOSTS_TABLES", 0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let next = AtomicU64::new(0);
    let all: Vec<Tried> = std::thread::scope(|s| {
        let next = &next;
        let one = move || {
            let mine = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
            let mine = mine.take_while(|&n| n < count).map(|n| from + n);
            let chosen = mine.filter(|&seed| tables == 0 || host_functions::has_tables(seed));
            chosen.map(|seed| judge(seed, seed.is_multiple_of(each))).collect::<Vec<_>>()
        };
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(one)).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    });
    let sum = |of: fn(&Tried) -> u64| all.iter().map(of).sum::<u64>();
    let (together, runs) = (sum(|t| t.together), sum(|t| t.runs));
    let list = |of: fn(&Tried) -> &Vec<String>| all.iter().flat_map(of).collect::<Vec<&String>>();
    let wrong = list(|t| &t.wrong);
    let too_much = [list(|t| &t.not_read_there), list(|t| &t.not_read_here), list(|t| &t.again)];
    eprintln!(
        "{count} functions: {together} loops offloaded with what is in them, {} refused; {runs} runs with kernels, {} copies; in {} \
         more runs, of {} loops, a call or a launch failed; {} wrong; places that copy to the device what is not read there: {}, back what is \
         not read: {}, again: {}",
        sum(|t| t.refused),
        sum(|t| t.copies),
        sum(|t| t.failures),
        sum(|t| t.failing),
        wrong.len(),
        too_much[0].len(),
        too_much[1].len(),
        too_much[2].len(),
    );
    for what in too_much.iter().flatten().filter_map(|t| t.lines().next()) {
        eprintln!("{what}");
    }
    let shown = |list: &[&String]| list.iter().take(6).map(|w| w.as_str()).collect::<Vec<_>>().join("\n\n");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), shown(&wrong));
    for (places, most) in too_much.iter().zip(TOO_MUCH) {
        let most = (count * most).div_ceil(600);
        assert!(places.len() as u64 <= most, "{} places instead of {most}\n{}", places.len(), shown(places));
    }
    // a test that judges nothing proves nothing
    let count = all.len() as u64;
    assert!(together > count / 8 && runs > together, "too little was offloaded");
}

/// Nests that run in another order than the one they are written in (`testkit::waves`), or not at all. 100 functions, or as many as
/// `WARPWRIGHT_WAVES` says, from the seed `WARPWRIGHT_WAVES_FROM` on.
#[test]
fn nests_in_rounds_compute_the_same() {
    let (count, from) = (number("WARPWRIGHT_WAVES", 100), number("WARPWRIGHT_WAVES_FROM", 0));
    let all = in_threads(count, &|n| judge_text(from + n, waves::generate(from + n), false));
    let together = all_right(count, "nests", &all);
    let runs = all.iter().map(|t| t.runs).sum::<u64>();
    assert!(together > count / 8 && runs > together, "too little was offloaded");
}

/// Nests that reach arrays through others (`testkit::gathers`). 100 functions, or as many as `WARPWRIGHT_GATHERS` says, from the seed
/// `WARPWRIGHT_GATHERS_FROM` on; calls fail in one of 25.
#[test]
fn nests_whose_parts_are_found_compute_the_same() {
    let (count, from) = (number("WARPWRIGHT_GATHERS", 100), number("WARPWRIGHT_GATHERS_FROM", 0));
    let all = in_threads(count, &|n| {
        let seed = from + n;
        judge_text(seed, gathers::generate(seed), seed.is_multiple_of(25))
    });
    let together = all_right(count, "functions", &all);
    let sum = |of: fn(&Tried) -> u64| all.iter().map(of).sum::<u64>();
    let (runs, found) = (sum(|t| t.runs), sum(|t| t.found));
    eprintln!("of {found} parts of arrays are found");
    assert!(together > count / 8 && found > count / 8 && runs > together, "too little was offloaded");
}

/// The same functions with sizes and arrays as members of a structure (`testkit::structures`). 100 functions, or as many as
/// `WARPWRIGHT_STRUCTURES` says, from the seed `WARPWRIGHT_STRUCTURES_FROM` on; calls fail in one of 25.
#[test]
fn nests_told_by_structures_compute_the_same() {
    let (count, from) = (number("WARPWRIGHT_STRUCTURES", 100), number("WARPWRIGHT_STRUCTURES_FROM", 0));
    let all = in_threads(count, &|n| {
        let seed = from + n;
        let text =
            if !seed.is_multiple_of(3) { gathers::generate(seed) } else { host_functions::generate(seed) };
        judge_text(seed, structures::wrapped(&text, seed), seed.is_multiple_of(25))
    });
    let together = all_right(count, "functions", &all);
    let runs = all.iter().map(|t| t.runs).sum::<u64>();
    assert!(together > count / 8 && runs > together, "too little was offloaded");
}

/// What comes of so many texts, each tried by the thread that is free.
fn in_threads(count: u64, one: &(dyn Fn(u64) -> Tried + Sync)) -> Vec<Tried> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let next = &AtomicU64::new(0);
    std::thread::scope(|s| {
        let mine = move || {
            let mine = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
            mine.take_while(|&n| n < count).map(one).collect::<Vec<_>>()
        };
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(mine)).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    })
}

/// Says what was tried, and fails where anything is wrong. The answer is how many loops were offloaded.
fn all_right(count: u64, what: &str, all: &[Tried]) -> u64 {
    let sum = |of: fn(&Tried) -> u64| all.iter().map(of).sum::<u64>();
    let wrong: Vec<&String> = all.iter().flat_map(|t| &t.wrong).collect();
    let (together, runs) = (sum(|t| t.together), sum(|t| t.runs));
    eprintln!(
        "{count} {what}: {together} loops offloaded, {} refused; {runs} runs with kernels; {} wrong",
        sum(|t| t.refused),
        wrong.len()
    );
    let shown = wrong.iter().take(6).map(|w| w.as_str()).collect::<Vec<_>>().join("\n\n");
    assert!(wrong.is_empty(), "{} wrong\n{shown}", wrong.len());
    together
}
