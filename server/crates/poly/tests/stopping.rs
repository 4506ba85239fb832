//! Work can be stopped at any step: no crash, no wrong answer.

mod work;

use base::Budget;
use work::{big, product, scanned};

/// Stops flow analysis and scanning after every possible number of steps (or each `stride`-th).
fn stopped_everywhere(stride: usize) {
    let (flow, ast) = (product(&big()).unwrap(), scanned(&big()).unwrap());
    let cost = |work: &dyn Fn(&Budget)| {
        let budget = big();
        work(&budget);
        (1u64 << 40) - budget.left()
    };
    let most = cost(&|b| drop(product(b)));
    for steps in (1..most + 2).step_by(stride) {
        match product(&Budget::new(steps)) {
            Ok(n) => assert_eq!(n, flow),
            Err(e) => assert_eq!(e, poly::Error::Spent, "{steps}"),
        }
    }
    let most = cost(&|b| drop(scanned(b)));
    for steps in (1..most + 2).step_by(stride) {
        match scanned(&Budget::new(steps)) {
            Ok(a) => assert_eq!(a, ast),
            Err(e) => assert_eq!(e, poly::Error::Spent, "{steps}"),
        }
    }
}

/// `WARPWRIGHT_EVERY_STEP=1` tries every step; it takes a minute.
#[test]
fn work_can_be_stopped_anywhere() {
    let every = std::env::var_os("WARPWRIGHT_EVERY_STEP").is_some();
    stopped_everywhere(if every { 1 } else { 97 });
}
