//! Judges random C# methods: `cargo run -p ww-testkit --example csharp FROM TO [SIZE]`; `show SEED` prints one.
#![allow(clippy::print_stdout)]

use testkit::csharp::generate;
use testkit::judge::csharp::judge_csharp;
use testkit::judge::Stats;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, or: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(or);
    if args.first().is_some_and(|a| a == "show") {
        return println!("{}", generate(number(1, 0), number(2, 12) as usize).text());
    }
    let (from, to, size) = (number(0, 0), number(1, 100), number(2, 12) as usize);
    let mut stats = Stats::default();
    let (mut wrong, mut slow) = (0, (0, 0));
    for seed in from..to {
        let method = generate(seed, size);
        let time = std::time::Instant::now();
        let found = judge_csharp(&method, &mut stats);
        slow = slow.max((time.elapsed().as_millis(), seed));
        if let Some(f) = found.first() {
            wrong += 1;
            if wrong <= 12 {
                println!("[{}] seed {seed}: {}\n{}", f.kind, f.what, method.text());
            }
        }
    }
    if std::env::var_os("EXAMPLES").is_some() {
        for (kind, what) in &stats.examples {
            println!("{kind}: {what}");
        }
    }
    println!("{stats}\n{wrong} methods with wrong claims; slowest: seed {} with {} ms", slow.1, slow.0);
}
