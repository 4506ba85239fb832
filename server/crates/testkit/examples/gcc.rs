//! Compares random functions with gcc: `cargo run -p ww-testkit --example gcc FROM TO DIR`.
#![allow(clippy::print_stdout)]

use testkit::nests::generate;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, or: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(or);
    let nests: Vec<_> = (number(0, 0)..number(1, 100)).map(|s| generate(s, 12)).collect();
    let dir = std::path::PathBuf::from(args.get(2).cloned().unwrap_or_else(|| ".".to_owned()));
    match testkit::gcc::compare(&nests, 3, &dir) {
        Ok(c) => {
            for d in c.different.iter().take(6) {
                println!("{d}\n");
            }
            println!("{} calls compared, {} faults, {} different", c.calls, c.faults, c.different.len());
        }
        Err(e) => println!("{e}"),
    }
}
