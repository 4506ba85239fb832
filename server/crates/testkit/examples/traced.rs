//! Holds verdicts to programs that gcc built.
//!
//! `cargo run --release -p ww-testkit --example traced FIRST COUNT`: random programs; `… nests FIRST COUNT`: random nests;
//! `… FILE…`: files; `… show SEED`, `… mild SEED`: prints a program, or one that is mostly offloaded; `… coverage COUNT`:
//! writes which productions of C's grammar so many programs have (`docs/judged.md`).
#![allow(clippy::print_stdout)]

use testkit::fixture::{analyze, Analyzed};
use testkit::nests::generate;
use testkit::programs::program;
use testkit::traced::{judge_files, nest_text, Judged};

/// Functions built together.
const TOGETHER: u64 = 150;

fn batch(seeds: std::ops::Range<u64>, text: &dyn Fn(u64) -> String, bounds: bool) -> (Judged, Vec<String>) {
    let files: Vec<(String, Analyzed)> = seeds.map(|s| (format!("seed {s}"), analyze(&text(s)))).collect();
    let dir = tempfile::tempdir().expect("a temporary folder");
    let flags: &[&str] = if bounds { &[] } else { &["-fno-sanitize=bounds,vla-bound"] };
    let (judged, refused) = judge_files(&files, dir.path(), flags, 0).expect("it runs");
    let mut said: Vec<String> = refused.iter().map(|(n, why)| format!("{n}: {why}")).collect();
    for f in &judged.failures {
        let (name, a) = &files[f.file];
        said.push(format!("{name}:{}: [{}] {}\n{}", f.line, f.kind, f.what, a.text));
    }
    (judged, said)
}

fn random(first: u64, count: u64, text: &(dyn Fn(u64) -> String + Sync), bounds: bool) {
    let starts: Vec<u64> = (first..first + count).step_by(TOGETHER as usize).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let all = std::sync::Mutex::new((Judged::default(), 0u64));
    std::thread::scope(|s| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            s.spawn(|| loop {
                let n = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(&from) = starts.get(n) else { break };
                let (judged, said) = batch(from..(from + TOGETHER).min(first + count), text, bounds);
                let mut all = all.lock().expect("no panic");
                said.iter().for_each(|s| println!("{s}\n"));
                all.1 += said.iter().filter(|s| s.contains(": gcc: ")).count() as u64;
                all.0.add(judged);
            });
        }
    });
    let all = all.into_inner().expect("no panic");
    println!("{}\nprograms that gcc refused: {}", all.0, all.1);
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize| args.get(n).and_then(|a| a.parse::<u64>().ok());
    match (args.first().map(String::as_str), number(0), number(1), number(2)) {
        (_, Some(first), Some(count), _) => random(first, count, &program, true),
        (Some("nests"), _, Some(first), Some(count)) => {
            random(first, count, &|s| nest_text(&generate(s, 12)), false);
        }
        (Some("coverage"), _, Some(count), _) => print!("{}", testkit::programs::coverage(count)),
        (Some("show"), _, Some(seed), _) => println!("{}", program(seed)),
        (Some("mild"), _, Some(seed), _) => println!("{}", testkit::programs::mild(seed)),
        _ => files(&args),
    }
}

fn files(paths: &[String]) {
    let mut all = Judged::default();
    let dir = tempfile::tempdir().expect("a temporary folder");
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let files = [(path.clone(), analyze(&text))];
        let here = std::path::Path::new(path).canonicalize().unwrap_or_default();
        let include: Vec<String> =
            here.ancestors().skip(1).take(2).map(|f| format!("-I{}", f.display())).collect();
        let flags: Vec<&str> = include.iter().map(String::as_str).collect();
        match judge_files(&files, dir.path(), &flags, 5) {
            Ok((j, refused)) => {
                for f in &j.failures {
                    println!("{path}:{}: [{}] {}", f.line, f.kind, f.what);
                }
                refused.iter().for_each(|(n, why)| println!("{n}: {why}"));
                j.never.iter().for_each(|n| println!("  never: {n}"));
                all.add(j);
            }
            Err(e) => println!("{path}: {e}"),
        }
    }
    println!("{all}");
}
