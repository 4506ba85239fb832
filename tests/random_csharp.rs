//! The analysis of C# against what really happens: random methods run with a record of every cell they touch, exceptions
//! included, and every claim is held to it and to the loop in other orders. 1,000 methods with two loops or more each, or as
//! many as `WARPWRIGHT_CSHARP` says, from the seed `WARPWRIGHT_CSHARP_FROM` on.

use testkit::csharp::generate;
use testkit::judge::csharp::judge_csharp;
use testkit::judge::Stats;

fn number(variable: &str, or: u64) -> u64 {
    std::env::var(variable).map_or(or, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

#[test]
fn claims_about_csharp_hold() {
    let (from, count) = (number("WARPWRIGHT_CSHARP_FROM", 0), number("WARPWRIGHT_CSHARP", 1_000));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let results: Vec<(Stats, Vec<String>)> = std::thread::scope(|s| {
        let share = |t: u64| {
            let (mut stats, mut wrong) = (Stats::default(), Vec::new());
            for seed in (from + t..from + count).step_by(threads as usize) {
                let method = generate(seed, 12);
                let found = judge_csharp(&method, &mut stats);
                wrong.extend(found.iter().map(|f| format!("[{}] seed {seed}: {}", f.kind, f.what)));
            }
            (stats, wrong)
        };
        let handles: Vec<_> = (0..threads).map(|t| s.spawn(move || share(t))).collect();
        handles.into_iter().flat_map(|h| h.join()).collect()
    });
    assert_eq!(results.len() as u64, threads, "a share ended by a panic");
    let (mut stats, mut wrong) = (Stats::default(), Vec::new());
    for (s, w) in results {
        stats.add(&s);
        wrong.extend(w);
    }
    eprintln!("{stats}");
    let some: Vec<&String> = wrong.iter().take(5).collect();
    assert!(wrong.is_empty(), "{} wrong claims: {some:#?}", wrong.len());
    let loops: u64 = stats.verdicts.values().sum();
    assert!(
        loops >= 2 * count && stats.claims >= count && stats.permuted >= count,
        "too little was judged: {stats}"
    );
    assert!(stats.faults.values().sum::<u64>() >= count / 2, "too little threw: {stats}");
}
