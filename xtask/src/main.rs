//! `cargo xtask`: the one entry for chores. Run it without arguments for the list.
//!
//! Deliberately absent: anything a user of the tool needs. Chores call the built `warpwright` like anybody else, through
//! its command line and its protocol, and never link it.
#![forbid(unsafe_code)]
// A chore's output is its purpose.
#![allow(clippy::print_stdout)]

mod bounds;
mod clicks;
mod client;
mod codegen;
mod demo;
mod dist;
mod draw;
mod growth;
mod kernels;
mod metrics;
mod noise;
mod program;
mod programs;
mod promises;
mod rules;
mod sample;
mod scaffold;
mod sh;
mod suites;
mod test;
mod tools;

use std::process::ExitCode;

use anyhow::{bail, Result};

const USAGE: &str = "\
cargo xtask demo               the whole way on one C file: findings, kernel, compile check, verification
cargo xtask test               installs what the tests need, then runs all of them
cargo xtask codegen [--check]  writes the generated files, or says which are stale
cargo xtask new KIND NAME      starts a lint, cuda-lint, action, transformation, rule, language, target, request, editor-command
                               or command: its files, its lines in the lists, a test that fails until it is filled in
cargo xtask metrics [typing|kernels|programs|rules|growth] [--write]
                               measures waiting times, the thirty kernels, twenty files of Debian packages, rewriting and
                               how costs grow with the input, or one of them; --write updates docs/performance.md
cargo xtask metrics bounds FOLDER [COUNT]
                               time and memory of verify and bench on COUNT (50) C files below a folder
cargo xtask metrics promises FOLDER [COUNT]
                               claims of offloads and actions on COUNT (40) C and CUDA files below a folder, each held to what comes of it
cargo xtask metrics clicks FOLDER [COUNT]
                               every action and lens at loops of COUNT (20) C files below a folder, clicked in a real VS Code
cargo xtask metrics draw FOLDER [COUNT [SEED]]
                               COUNT (200) findings of the programs below a folder, drawn by chance and written out for people to read
cargo xtask metrics noise FILE…|FOLDER [COUNT]
                               findings, lenses, inlay hints and lines of hovers of files, or of COUNT (20) below a folder
cargo xtask dist               release build and VS Code package, into target/dist/
cargo xtask tools              only installs what the tests need";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            // The chain of reasons, and no stack: these are failures of tools, not of this program.
            eprintln!("\nerror: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["demo"] => demo::run(),
        ["test"] => test::run(),
        ["codegen"] => codegen::run(codegen::Mode::Write),
        ["codegen", "--check"] => codegen::run(codegen::Mode::Check),
        ["new", kind, name] => scaffold::run(kind, name),
        ["metrics", "bounds", rest @ ..] => bounds::from_words(rest),
        ["metrics", "promises", rest @ ..] => promises::from_words(rest),
        ["metrics", "clicks", rest @ ..] => clicks::from_words(rest),
        ["metrics", "draw", rest @ ..] => draw::from_words(rest),
        ["metrics", "noise", rest @ ..] => noise::from_words(rest),
        ["metrics", rest @ ..] => measure(rest),
        ["dist"] => dist::run(),
        ["tools"] => test::install(),
        [] | ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            Ok(())
        }
        other => bail!("`{}` is no chore.\n{USAGE}", other.join(" ")),
    }
}

fn measure(words: &[&str]) -> Result<()> {
    let (mut parts, mut output) = (Vec::new(), metrics::Output::Print);
    for word in words {
        match (*word, metrics::Part::of(word)) {
            ("--write", _) => output = metrics::Output::Write,
            (_, Some(part)) => parts.push(part),
            _ => bail!("`{word}` is nothing that is measured.\n{USAGE}"),
        }
    }
    metrics::run(if parts.is_empty() { &metrics::Part::ALL } else { &parts }, output)
}
