//! What is said of names: those that may be given, those that stood in.

use std::sync::Arc;

use simulate::Program;

/// A name or expression that can be given with `--given`, quoted where a shell wants that.
pub(super) fn ask_for(names: &[String]) -> String {
    match names.first() {
        Some(n) if n.contains('(') => format!("'{n}=16'"),
        Some(n) => format!("{n}=16"),
        None => String::new(),
    }
}

/// A list of which the end may be left out.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 6;
    match names.len() {
        n if n > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
        _ => names.join(", "),
    }
}

/// What stood in for functions, in words; nothing where nothing did.
pub(super) fn stood_in_words(names: &[Arc<str>]) -> String {
    let names: Vec<String> =
        names.iter().filter(|n| !Program::is_ending(n)).map(|n| format!("`{n}`")).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "Functions whose bodies are not known were stood in for by ones that do nothing and give made-up values: {}.",
            some_of(&names)
        ),
    }
}

pub(super) fn or_none(names: &[String]) -> String {
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// Why nothing is run of a language whose host text nothing here runs.
pub(super) fn not_interpreted(doc: &crate::Doc) -> String {
    format!(
        "Not run here: host text in {} is not run by the simulator yet. The kernel and the rewritten document were read again \
         and understood; where the driver says no, or the loop throws, the loop itself runs.",
        doc.language().title
    )
}
