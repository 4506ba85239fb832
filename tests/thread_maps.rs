//! Thread maps against what really happens: random nests are run with a record of every cell they touch, and every two
//! instances that share a cell, one of them writing, must have one thread; their kernels are run beside the original.
//! 120 nests, or as many as `WARPWRIGHT_NESTS` says.

use base::CancelToken;
use ide::{check, offload, verify, Doc, Memo, Options, Outcome, Settings, Tier, VerifyOptions, Which};
use testkit::threads::{judge, nest};

fn wanted() -> u64 {
    std::env::var("WARPWRIGHT_NESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(120)
}

#[test]
fn instances_that_share_a_cell_share_a_thread() {
    let (mut mapped, mut wrong) = (0, Vec::new());
    for seed in 0..wanted() {
        let text = nest(seed);
        let (has, problem) = judge(&text);
        mapped += u64::from(has);
        if let Some(p) = problem {
            wrong.push(format!("seed {seed}: {p}\n{text}"));
        }
    }
    eprintln!("{mapped} nests with a map");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n"));
    assert!(mapped > wanted() / 10, "only {mapped} nests had a map");
}

#[test]
fn kernels_by_thread_compute_the_same() {
    let (settings, cancel, memo) = (Settings::default(), CancelToken::new(), Memo::default());
    let (mut kernels, mut ran, mut wrong) = (0, 0, Vec::new());
    for seed in 0..wanted() / 3 {
        let text = nest(seed);
        let source = text::Text::new(&text).expect("a short text");
        let doc = Doc::open(ide::Language::C, "nest.c", source, Options::default());
        let findings =
            check(&ide::Ask::new(&doc, &memo, Tier::Full, &cancel), &settings).expect("not cancelled");
        let l = &findings.loops[0];
        let report = l.report();
        if report.thread_map.is_none() || matches!(report.verdict, "independent" | "reduction") {
            continue;
        }
        let which = Which::Key(l.key.to_string());
        if let Err(why) = offload(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &findings, &which) {
            eprintln!("seed {seed}: {why:?}");
            continue;
        }
        kernels += 1;
        let options = VerifyOptions { cases: 4, seed, steps: 5_000_000, ..Default::default() };
        for r in verify(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &findings, &which, &options) {
            ran += r.cases.iter().map(|c| c.counted.launches).sum::<u64>();
            if r.outcome == Outcome::Different {
                wrong.push(format!("seed {seed}: {}\n{text}", r.summary));
            }
        }
    }
    eprintln!("{kernels} kernels by thread, {ran} launches");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n"));
    assert!(kernels > wanted() / 100 && ran > 0, "only {kernels} kernels, {ran} launches");
}
