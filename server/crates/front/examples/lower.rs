//! Lowers files and says what came of it: `lower [-v] FILE…`. A tool for those who work on this crate.
#![allow(clippy::print_stdout)]

use front::{detect, lower, Language, Memo, Options, Parsed};

fn main() {
    let verbose = std::env::args().any(|a| a == "-v");
    for path in std::env::args().skip(1).filter(|a| a != "-v") {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let language = detect(&path, None, &text).unwrap_or(Language::C);
        let mut memo = Memo::new();
        let started = std::time::Instant::now();
        let parsed = Parsed::parse(language, text.as_str());
        let parsing = started.elapsed();
        let unit = lower(&parsed, &Options::default(), &mut memo);
        let lowering = started.elapsed();
        let mut edited = text.clone();
        edited.insert(text.rfind("++").unwrap_or(0), ' ');
        let started = std::time::Instant::now();
        let again = lower(&parsed.reparse(&[], edited), &Options::default(), &mut memo);
        let editing = started.elapsed();
        let shared = unit
            .items
            .iter()
            .filter(|a| again.items.iter().any(|b| std::sync::Arc::ptr_eq(&a.body, &b.body)))
            .count();
        let rejects: usize = unit.items.iter().map(|i| i.body.rejects().count()).sum();
        println!(
            "{path}: {} items, {rejects} rejects; tokens {parsing:?}, all {lowering:?}; one edit {editing:?}, {shared} items kept",
            unit.items.len()
        );
        for r in &unit.rejects {
            println!("  {:?} {}: {}", r.kind, r.span.start, r.reason);
        }
        for i in &unit.items {
            if verbose {
                println!("  {:?} {}", i.kind, term::notation::print(&i.body, i.body.root));
            }
            for r in i.body.rejects() {
                let place = text.get(r.span.shifted(i.span.start).range()).unwrap_or("");
                let place: String = place.chars().take(60).collect();
                println!("    {:?} {} at {place:?}", r.kind, r.reason);
            }
        }
    }
}
