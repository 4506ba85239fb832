//! Compares random C# methods with mono: `cargo run -p ww-testkit --example mono FROM TO [DIR]`. What it writes stays in DIR;
//! without one it goes to a temporary folder.
#![allow(clippy::print_stdout)]

use testkit::csharp::generate;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, or: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(or);
    let methods: Vec<_> = (number(0, 0)..number(1, 100)).map(|s| generate(s, 12)).collect();
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let dir = args.get(2).map_or(temporary.path(), std::path::Path::new);
    match testkit::mono::compare(&methods, 4, dir) {
        Ok(c) => {
            for d in c.different.iter().take(6) {
                println!("{d}\n");
            }
            let (calls, threw, differ) = (c.calls, c.threw, c.different.len());
            println!("{calls} calls compared, {threw} threw, {} left out, {differ} different", c.left_out);
        }
        Err(e) => println!("{e}"),
    }
}
