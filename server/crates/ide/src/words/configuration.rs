//! Under which configuration a document was read, where another is possible: what its conditions took for granted.

use front::{Choice, Taken};

/// Phrases that continue "read with …" or "where …", each once. The compiler and system are one phrase, and so is what the
/// compiler's options leave open.
pub(crate) fn configuration(choices: &[Choice]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let (mut platform, mut guessed) = (None, Vec::new());
    let mut open: Vec<&str> = Vec::new();
    for c in choices {
        match &c.taken {
            Taken::Platform => platform = Some("gcc on x86-64 Linux".to_owned()),
            Taken::Compiler(name) => platform = Some(format!("{name} as found here")),
            Taken::EitherWay => open.push(&c.name),
            Taken::Guessed => guessed.push(&c.name),
            _ => out.extend(phrase(c)),
        }
    }
    match guessed.as_slice() {
        [] => {}
        [only] => out.push(format!("`{only}` from a folder around the file")),
        [first, rest @ ..] => {
            out.push(format!(
                "`{first}` and {} from folders around the file",
                super::plural(rest.len(), "more header")
            ));
        }
    }
    if let [first @ .., last] = open.as_slice() {
        let all = match first {
            [] => format!("`{last}`"),
            _ => format!("`{}` and `{last}`", first.join("`, `")),
        };
        out.push(format!("{all} defined or not, which the compiler's options decide"));
    }
    out.extend(platform);
    out
}

fn phrase(choice: &Choice) -> Option<String> {
    let name = &choice.name;
    Some(match &choice.taken {
        Taken::NotDefined => format!("`{name}` not defined"),
        Taken::Given(value) if &**value == "1" => format!("`{name}` defined"),
        Taken::Given(value) => format!("`{name}` = `{value}`"),
        // nothing is missing without those that are known without their text
        Taken::NotFound if crate::lints::is_known_header(name) => return None,
        Taken::NotFound => format!("`{name}` not found"),
        Taken::NotFoundIf(_) if crate::lints::is_known_header(name) => return None,
        Taken::NotFoundIf(why) => format!("`{name}` not found, if it is included ({why})"),
        Taken::Template(file) => {
            format!("`{name}` as `{file}` has it with nothing configured but what every C has")
        }
        Taken::Around { line, others: 0 } => {
            format!("what stands in `{name}` before line {line}, which includes this file")
        }
        Taken::Around { line, others } => format!(
            "what stands in `{name}` before line {line}, which includes this file, as {} {}",
            super::plural(*others as usize, "more place"),
            if *others == 1 { "does" } else { "do" }
        ),
        Taken::StandIn => format!("`{name}` not found and a text of Warpwright's own in its place"),
        Taken::TooMuch => format!("`{name}` not read, because headers are nested too deeply or too long"),
        Taken::Platform | Taken::Compiler(_) | Taken::EitherWay | Taken::Guessed => return None,
    })
}
