//! Compares random functions with gcc: `cargo run -p ww-testkit --example gcc FROM TO [DIR]`. What it writes stays in DIR;
//! without one it goes to a temporary folder.
#![allow(clippy::print_stdout)]

use testkit::nests::generate;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, or: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(or);
    let nests: Vec<_> = (number(0, 0)..number(1, 100)).map(|s| generate(s, 12)).collect();
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let dir = args.get(2).map_or(temporary.path(), std::path::Path::new);
    match testkit::gcc::compare(&nests, 3, dir) {
        Ok(c) => {
            for d in c.different.iter().take(6) {
                println!("{d}\n");
            }
            println!("{} calls compared, {} faults, {} different", c.calls, c.faults, c.different.len());
        }
        Err(e) => println!("{e}"),
    }
}
