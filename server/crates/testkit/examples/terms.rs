//! Prints the terms of a C file: `cargo run -p ww-testkit --example terms FILE`.
#![allow(clippy::print_stdout)]

fn main() {
    for f in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&f).unwrap_or_default();
        let parsed = front::Parsed::parse(front::Language::C, text);
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        for i in &unit.items {
            println!("{}", term::notation::print(&i.body, i.body.root));
            for r in i.body.rejects() {
                println!("reject: {}", r.reason);
            }
        }
    }
}
