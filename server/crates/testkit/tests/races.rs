//! Races of random kernels: `WARPWRIGHT_KERNELS=100000` judges more, `WARPWRIGHT_KERNEL_SEED` begins elsewhere.

use testkit::races::{judge, Tally};

#[test]
fn no_kernel_called_free_of_races_shows_one() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (cases, first) = (number("WARPWRIGHT_KERNELS", 400), number("WARPWRIGHT_KERNEL_SEED", 1));
    let mut tally = Tally::default();
    for seed in first..first + cases {
        if let Err(what) = judge(seed, &mut tally) {
            panic!("{what}");
        }
    }
    let cases = cases as usize;
    assert!(tally.free > cases / 20 && tally.racing > cases / 5 && tally.runs > cases, "{tally:?}");
}
