//! `index-overflow`, held to whole numbers: `WARPWRIGHT_OVERFLOWS=100000` judges more kernels.

use testkit::overflows::{judge, Tally};

#[test]
fn what_is_said_of_subscripts_is_so_and_nothing_plain_is_missed() {
    let asked = std::env::var("WARPWRIGHT_OVERFLOWS").ok().and_then(|v| v.parse().ok());
    let cases: u64 = asked.unwrap_or(1500);
    let mut tally = Tally::default();
    for seed in 0..cases {
        judge(seed, &mut tally);
    }
    let few = tally.wrong.iter().take(3).cloned().collect::<Vec<_>>().join("\n");
    assert!(tally.wrong.is_empty(), "{} wrong\n{few}", tally.wrong.len());
    eprintln!("{tally:?}");
    assert!(tally.gaps * 500 <= cases as usize, "{tally:?}");
    let least = cases as usize / 20;
    assert!(tally.overflowing > least && tally.overflowing < tally.kernels * 19 / 20, "{tally:?}");
    assert!(tally.signed > least && tally.unsigned > least, "{tally:?}");
}
