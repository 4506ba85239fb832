//! Judges random functions: `cargo run -p ww-testkit --example nests FROM TO [SIZE]`; `show SEED` prints one.
#![allow(clippy::print_stdout)]

use testkit::judge::{judge, Stats};
use testkit::nests::{generate, shrink};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, or: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(or);
    if args.first().is_some_and(|a| a == "show") {
        println!("{}", generate(number(1, 0), number(2, 12) as usize).text());
        return;
    }
    let (from, to, size) = (number(0, 0), number(1, 100), number(2, 12) as usize);
    let mut stats = Stats::default();
    let mut wrong = 0;
    let mut slow = (0, 0);
    for seed in from..to {
        let nest = generate(seed, size);
        let time = std::time::Instant::now();
        let failures = judge(&nest, &mut stats);
        let ms = time.elapsed().as_millis();
        if ms > slow.0 {
            slow = (ms, seed);
        }
        if let Some(f) = failures.first() {
            wrong += 1;
            if wrong <= 12 {
                // Known before it is made small, which may take long.
                println!("[{}] seed {seed}: {}", f.kind, f.what);
                let kind = f.kind;
                let small = shrink(&nest, |n| judge(n, &mut Stats::default()).iter().any(|f| f.kind == kind));
                let again = judge(&small, &mut Stats::default());
                let f = again.iter().find(|f| f.kind == kind).unwrap_or(f);
                println!("{f}\n");
            }
        }
    }
    if std::env::var_os("EXAMPLES").is_some() {
        for (kind, what) in &stats.examples {
            println!("{kind}: {what}");
        }
    }
    println!("{stats}\n{wrong} functions with wrong claims; slowest: seed {} with {} ms", slow.1, slow.0);
}
