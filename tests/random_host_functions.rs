//! Random functions of a host (`testkit::host_functions`): every loop of which the nests become kernels together is offloaded, and
//! what comes of it runs beside the original, with memory of its own for the device, every call of the run time failing in turn on
//! one of the inputs. 1,000 functions, or as many as `WARPWRIGHT_HOSTS` says, from the seed `WARPWRIGHT_HOSTS_FROM` on.

use base::CancelToken;
use ide::{check, offload, verify, Doc, Memo, Options, Outcome, Settings, Tier, VerifyOptions, Which};
use testkit::host_functions::generate;

/// What came of one function.
#[derive(Clone, Debug, Default)]
struct Tried {
    /// Loops offloaded that stay on the host, and runs in which their kernels ran.
    together: u64,
    runs: u64,
    /// What is wrong, each with the text.
    wrong: Vec<String>,
}

/// Offloads every loop that is not parallel itself, and runs what comes of it.
fn judge(seed: u64) -> Tried {
    let text = generate(seed);
    let (memo, settings, cancel) = (Memo::default(), Settings::default(), CancelToken::new());
    let source = text::Text::new(&text).expect("a short text");
    let doc = Doc::open(ide::Language::C, "host.c", source, Options::default());
    let ask = || ide::Ask::new(&doc, &memo, Tier::Full, &cancel);
    let findings = check(&ask(), &settings).expect("not cancelled");
    let options = VerifyOptions { cases: 6, seed, steps: 2_000_000, ..Default::default() };
    let mut tried = Tried::default();
    for l in &findings.loops {
        let which = Which::Key(l.key.to_string());
        let Ok(done) = offload(&ask(), &findings, &which) else { continue };
        if !done.edit.create.iter().any(|f| f.text.contains("_steps(")) {
            continue;
        }
        tried.together += 1;
        for r in verify(&ask(), &findings, &which, &options) {
            tried.runs += r.cases.iter().filter(|c| c.counted.launches > 0).count() as u64;
            // what cannot be tried (no valid input found) is no failure of a random function
            if r.outcome == Outcome::Different || r.summary.contains("Please report") {
                tried.wrong.push(format!("seed {seed}, line {}: {}\n{text}", r.line, r.summary));
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
    let (count, from) = (number("WARPWRIGHT_HOSTS", 1_000), number("WARPWRIGHT_HOSTS_FROM", 0));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let all: Vec<Tried> = std::thread::scope(|s| {
        let one = |t: u64| (t..count).step_by(threads as usize).map(|n| judge(from + n)).collect::<Vec<_>>();
        let handles: Vec<_> = (0..threads).map(|t| s.spawn(move || one(t))).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    });
    let (together, runs) = all.iter().fold((0, 0), |a, t| (a.0 + t.together, a.1 + t.runs));
    let wrong: Vec<&String> = all.iter().flat_map(|t| &t.wrong).collect();
    eprintln!(
        "{together} loops offloaded with what is in them, {runs} runs with kernels, {} wrong",
        wrong.len()
    );
    let shown: Vec<&str> = wrong.iter().take(6).map(|w| w.as_str()).collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), shown.join("\n\n"));
    // a test that judges nothing proves nothing
    assert!(together > count / 4 && runs > together, "too little was offloaded");
}
