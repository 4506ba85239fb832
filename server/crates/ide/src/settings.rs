//! What the user may change about findings.

use std::collections::BTreeMap;

use crate::Severity;

/// The level of one code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Not shown.
    Off,
    /// Shown with this severity.
    At(Severity),
}

impl Level {
    /// From a setting's text: `off`, `hint`, `information` (or `info`), `warning`, `error`.
    pub fn from_name(name: &str) -> Option<Level> {
        Some(match name {
            "off" => Level::Off,
            "hint" => Level::At(Severity::Hint),
            "information" | "info" => Level::At(Severity::Information),
            "warning" => Level::At(Severity::Warning),
            "error" => Level::At(Severity::Error),
            _ => return None,
        })
    }

    /// As written in settings.
    pub fn name(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::At(severity) => severity.name(),
        }
    }
}

/// Settings that change what is shown; facts do not depend on them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Levels by code, where they differ from the code's default. Unknown codes are ignored.
    pub levels: BTreeMap<String, Level>,
}

impl Settings {
    /// The level of a code with this default.
    pub(crate) fn level(&self, code: &str, default: Severity) -> Level {
        self.levels.get(code).copied().unwrap_or(Level::At(default))
    }
}
