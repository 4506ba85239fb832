//! `shapeless FIRST COUNT`: what is said of random kernels for every launch, held against runs with several. `shapeless show SEED`
//! prints one.
#![allow(clippy::print_stdout)]

use testkit::shapeless::{judge, text, Tally};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [show, seed] = &args[..] {
        if show == "show" {
            print!("{}", text(seed.parse().unwrap_or(1)));
            return;
        }
    }
    let number = |k: usize, default: u64| args.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (first, count) = (number(0, 1), number(1, 500));
    let (mut tally, mut wrong) = (Tally::default(), 0);
    for seed in first..first + count {
        if let Err(what) = judge(seed, &mut tally) {
            wrong += 1;
            println!("{what}");
        }
    }
    println!("{tally:?}, {wrong} wrong");
    std::process::exit((wrong > 0) as i32);
}
