//! Truth from the compiler: a program is marked (which loop, which iteration), built with `gcc -fsanitize=thread` against
//! a runtime of ours that records every load and store, and run on made-up inputs. What the analysis says of its loops is
//! held to that record. Neither our front end's idea of the program's meaning nor our interpreter takes part: both are
//! judged as well.
//!
//! Deliberately absent: any opinion on which loops are parallel, and layout: sizes, offsets and conversions are gcc's.

mod build;
mod calls;
mod inputs;
mod interpreter;
mod judge;
mod marks;
mod print;
mod text;

pub use build::{Batch, Built};
pub use judge::{judge, judge_files, Failure, Judged};

/// Whether there is a gcc to ask.
pub fn is_available() -> bool {
    std::process::Command::new("gcc").arg("--version").output().is_ok_and(|o| o.status.success())
}

/// The text with these names made different from those of other programs, so that many can be built together.
pub fn renamed(text: &str, names: &[&str], number: u64) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::with_capacity(text.len() * 2), text);
    while let Some(at) = rest.find(is_word) {
        out += &rest[..at];
        let word = &rest[at..];
        let word = &word[..word.find(|c| !is_word(c)).unwrap_or(word.len())];
        out += word;
        if names.contains(&word) {
            out += &format!("_{number}");
        }
        rest = &rest[at + word.len()..];
    }
    out + rest
}

/// A random function as a file of its own whose names no other one has.
pub fn nest_text(nest: &crate::nests::Nest) -> String {
    let pairs: Vec<String> = nest.arrays.iter().map(|a| format!("pair_{}", a.name)).collect();
    let mut names: Vec<&str> = vec!["f"];
    names.extend(nest.arrays.iter().filter(|a| !a.is_param()).map(|a| &*a.name));
    names.extend(pairs.iter().map(String::as_str));
    let text = nest.text();
    // helpers, and what they keep
    let kept: Vec<String> = nest
        .helpers
        .iter()
        .flat_map(|h| [h.name.clone(), format!("{}_last", h.name), format!("{}_at", h.name)])
        .collect();
    names.extend(kept.iter().map(String::as_str));
    renamed(&text, &names, nest.seed)
}
