//! Checks the markers of the C files named, or of all fixtures, and holds the answers to runs of the functions:
//! `cargo run -p ww-testkit --example fixtures [FILE…]`.
#![allow(clippy::print_stdout)]

use testkit::fixture;
use testkit::judge::{programs, Stats};

fn c_files(dir: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
    for e in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let p = e.path();
        if p.is_dir() {
            c_files(&p, out);
        } else if p.extension().is_some_and(|e| e == "c") {
            out.push(p);
        }
    }
}

fn main() {
    let mut files: Vec<std::path::PathBuf> = std::env::args().skip(1).map(Into::into).collect();
    let dir = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/c"));
    if files.is_empty() {
        c_files(dir, &mut files);
    }
    files.sort();
    let mut all = fixture::Compared::default();
    let (mut stats, mut ran, mut never, mut missed) = (Stats::default(), 0, Vec::new(), Vec::new());
    for f in files {
        let Ok(text) = std::fs::read_to_string(&f) else {
            println!("{}: cannot be read", f.display());
            continue;
        };
        let name = f.strip_prefix(dir).unwrap_or(&f).display().to_string();
        let time = std::time::Instant::now();
        let c = fixture::compare_all(&name, &text);
        if time.elapsed().as_millis() > 2000 {
            println!("{name}: took {} ms", time.elapsed().as_millis());
        }
        all.loops += c.loops;
        all.wrong.extend(c.wrong);
        all.missed.extend(c.missed);
        all.mended.extend(c.mended);
        let markers = fixture::markers(&text).unwrap_or_default();
        let j = programs::judge_program(&name, &fixture::analyze(&text), &markers, &mut stats);
        all.wrong.extend(j.wrong.into_iter().map(|w| format!("REFUTED {w}")));
        ran += j.ran;
        never.extend(j.never);
        missed.extend(j.missed);
    }
    for (head, lines) in [
        ("FIXME", &all.missed),
        ("mended", &all.mended),
        ("MISSED?", &missed),
        ("never ran", &never),
        ("WRONG", &all.wrong),
    ] {
        for l in lines {
            println!("{head} {l}");
        }
    }
    println!("{stats}");
    println!(
        "{} loops, {} wrong, {} FIXME, {} mended; {ran} functions ran",
        all.loops,
        all.wrong.len(),
        all.missed.len(),
        all.mended.len()
    );
}
