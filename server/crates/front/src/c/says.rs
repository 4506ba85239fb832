//! Pragmas that say something of the program: symbols that are weak, and that the floating-point environment is used.

use std::sync::Arc;

/// What a pragma says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Says {
    /// `#pragma STDC FENV_ACCESS …` (C11 7.6.1).
    FloatingEnvironment(bool),
    /// `#pragma weak name`: another definition may replace this one when the program is linked.
    Weak(Arc<str>),
    /// `#pragma weak name = other`, `#pragma redefine_extname name other`: both are one object.
    SecondName(Arc<str>, Arc<str>),
}

/// Reads a directive, or the text of a `_Pragma`.
pub(crate) fn pragma(text: &str) -> Option<Says> {
    let words = crate::c::pp::words(text.trim_start_matches(['#', ' ', '\t']));
    let words: Vec<&str> = words.iter().map(|w| &**w).collect();
    let words = words.strip_prefix(&["pragma"]).unwrap_or(&words);
    match words {
        ["STDC", "FENV_ACCESS", how] => Some(Says::FloatingEnvironment(*how != "OFF")),
        // Visual C's way to say it.
        ["fenv_access", "(", how, ")"] => Some(Says::FloatingEnvironment(*how != "off")),
        ["weak", name, "=", other, ..] | ["redefine_extname", name, other] => {
            Some(Says::SecondName((*name).into(), (*other).into()))
        }
        ["weak", name, ..] => Some(Says::Weak((*name).into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pragmas_are_read() {
        assert_eq!(pragma("#pragma weak f"), Some(Says::Weak("f".into())));
        assert_eq!(pragma("#pragma weak f = g"), Some(Says::SecondName("f".into(), "g".into())));
        assert_eq!(pragma("#  pragma STDC FENV_ACCESS ON"), Some(Says::FloatingEnvironment(true)));
        assert_eq!(pragma("STDC FENV_ACCESS OFF"), Some(Says::FloatingEnvironment(false)));
        assert_eq!(pragma("#pragma omp parallel for"), None);
    }
}
