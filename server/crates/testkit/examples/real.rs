//! Holds what is said of a program that somebody else wrote to runs of its functions on made-up inputs:
//! `cargo run -p ww-testkit --example real FILE [-D NAME[=VALUE]]… [-I DIR]…`. One line a loop that is called parallel:
//! the claim was held to a run, a run does not speak against it, it would if its conditions hold, or it did not run three
//! iterations; then what was refuted. `cargo xtask metrics` reads it.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use analysis::Verdict;
use front::Options;
use testkit::judge::{programs, Stats};
use testkit::{fixture, headers};

/// More than for a fixture: functions that distinguish many cases.
const RUNS: usize = 36;

fn main() {
    // deep nesting of what others wrote, as in the product
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(work).expect("a thread");
    if thread.join().is_err() {
        std::process::exit(101);
    }
}

fn work() {
    let (mut file, mut defines, mut folders) = (None, Vec::new(), Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        match (a.as_str(), a.get(..2)) {
            (_, Some("-D")) => {
                let define = if a.len() > 2 { a[2..].to_owned() } else { args.next().unwrap_or_default() };
                let (name, value) = define.split_once('=').unwrap_or((&define, "1"));
                defines.push((name.to_owned(), value.to_owned()));
            }
            (_, Some("-I")) => {
                let folder = if a.len() > 2 { a[2..].to_owned() } else { args.next().unwrap_or_default() };
                folders.push(PathBuf::from(folder));
            }
            _ => file = Some(PathBuf::from(a)),
        }
    }
    let Some(file) = file else {
        println!("error no file");
        std::process::exit(2);
    };
    let text = match std::fs::read(&file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) => {
            println!("error {e}");
            std::process::exit(2);
        }
    };
    let headers = headers::of_this_machine(&file, &folders);
    let options = Options { defines, headers: Some(headers), ..Options::default() };
    let a = fixture::analyze_with(&text, &options);
    let mut stats = Stats::default();
    let j = programs::judge_in_runs("", &a, &[], RUNS, &mut stats);
    for l in &j.loops {
        if matches!(l.verdict, Verdict::Independent | Verdict::Reduction) {
            println!(
                "claim {} {} {} {}",
                l.line,
                fixture::verdict_name(l.verdict),
                l.function,
                match l {
                    _ if !l.held.is_empty() => "held",
                    _ if l.undecided.is_some() => "undecided",
                    _ if !l.unrefuted.is_empty() => "unrefuted",
                    _ => "not-run",
                }
            );
            if let Some(what) = &l.undecided {
                println!("undecided {} {}", l.line, what.replace('\n', " "));
            }
        }
    }
    println!("witnesses {}", stats.witnesses);
    for n in &j.never {
        println!("never {}", n.trim_start_matches(": "));
    }
    for w in &j.wrong {
        println!("refuted {}", w.replace('\n', " "));
    }
    println!("loops {}", j.loops.len());
}
