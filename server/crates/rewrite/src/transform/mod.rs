//! Loop transformations: the user's text rewritten so that a loop can run in parallel, or so that the reader sees why.
//!
//! One file a transformation, each with its shape, its legality as facts of the analysis (never decided here by text),
//! and its edits, which move the user's own characters. The catalogue follows Bacon, Graham & Sharp ("Compiler
//! transformations for high-performance computing", ACM Computing Surveys 26(4), 1994); the legality conditions are
//! those of Allen & Kennedy ("Optimizing Compilers for Modern Architectures", 2002) and Wolfe ("High Performance
//! Compilers for Parallel Computing", 1996). Floating-point results keep their bits unless a title says otherwise.
//!
//! Deliberately absent: running the result beside the original (that is `ide`'s), and versions guarded at run time: what
//! is not proved is refused.

/// The name of a transformation and of its kind of action.
macro_rules! named {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }
        fn kind(&self) -> &'static str {
            concat!("refactor.rewrite.warpwright.", $name)
        }
    };
}

mod count;
mod distribute;
mod expand_scalar;
mod forms;
mod fuse;
mod induction;
mod inline;
mod interchange;
mod operators;
mod peel;
mod privatize;
mod refusal;
mod reorder;
mod reverse;
mod site;
mod skew;
mod split;
mod strip_mine;
mod subst;
pub(crate) mod text;
mod unroll;
mod write;

pub use refusal::Refusal;
pub use site::{Site, Source};

use ::text::Edit;

/// What `--with` said: `factor=4`, or a value alone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct With {
    options: Vec<(String, String)>,
}

impl With {
    /// Reads `name=value` or `value`, several separated by `;`.
    pub fn parse(text: &str) -> With {
        let one = |part: &str| match part.split_once('=').filter(|(n, _)| is_word(n.trim())) {
            Some((n, v)) => (n.trim().to_owned(), v.trim().to_owned()),
            None => (String::new(), part.trim().to_owned()),
        };
        With { options: text.split(';').filter(|p| !p.trim().is_empty()).map(one).collect() }
    }
    /// The value of an option, or the value given alone.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let named = self.options.iter().find(|(n, _)| n == name);
        named.or_else(|| self.options.iter().find(|(n, _)| n.is_empty())).map(|(_, v)| v.as_str())
    }
    /// That a transformation takes what is said; `takes` is its own description, such as `at=EXPR | middle`.
    pub fn fits(&self, takes: &str) -> Result<(), Refusal> {
        let known = |name: &str| {
            takes.split([' ', ';', '|']).any(|w| w.split_once('=').is_some_and(|(n, _)| n == name))
        };
        let takes_it = |n: &str| if n.is_empty() { !takes.is_empty() } else { known(n) };
        let Some((name, value)) = self.options.iter().find(|(n, _)| !takes_it(n)) else { return Ok(()) };
        let said = if name.is_empty() { value } else { name };
        let takes = if takes.is_empty() { "nothing".to_owned() } else { format!("`{takes}`") };
        Err(Refusal::Option(format!("`{said}` is not understood: it takes {takes}")))
    }
    /// Whether a word stands alone: `last`.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.options.iter().any(|(n, v)| n.is_empty() && v == word)
    }
    /// A number from `from` to `to`, or the one meant if none is said.
    pub(crate) fn number(&self, name: &str, default: i128, from: i128, to: i128) -> Result<i128, Refusal> {
        let Some(text) = self.get(name) else { return Ok(default) };
        match text.parse::<i128>() {
            Ok(n) if (from..=to).contains(&n) => Ok(n),
            _ => {
                Err(Refusal::Option(format!("`{name}` is to be a number from {from} to {to}, not `{text}`")))
            }
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// A transformation that applies: how it is called here, and its edits once somebody wants them.
pub struct Plan<'s> {
    /// Essential words: "Interchange i and j".
    pub title: String,
    make: Make<'s>,
}

type Make<'s> = Box<dyn FnOnce() -> Result<Vec<Edit>, Refusal> + 's>;

impl<'s> Plan<'s> {
    fn new(
        title: impl Into<String>,
        make: impl FnOnce() -> Result<Vec<Edit>, Refusal> + 's,
    ) -> Result<Plan<'s>, Refusal> {
        Ok(Plan { title: title.into(), make: Box::new(make) })
    }
    /// The edits, in bytes of the file.
    pub fn edits(self) -> Result<Vec<Edit>, Refusal> {
        (self.make)()
    }
}

/// One transformation.
pub trait Transformation: Sync {
    /// Its name, as on the command line.
    fn name(&self) -> &'static str;
    /// How editors filter for it.
    fn kind(&self) -> &'static str;
    /// What it does, a phrase.
    fn about(&self) -> &'static str;
    /// What `--with` may say, or nothing.
    fn with(&self) -> &'static str {
        ""
    }
    /// Whether it may make a loop parallel that was not.
    fn enables(&self) -> bool;
    /// Finds out whether it applies to the site's loop and may be made.
    fn plan<'s>(&self, site: &'s Site<'_>, with: &With) -> Result<Plan<'s>, Refusal>;
}

/// All of them; those that make loops parallel first.
pub const ALL: &[&dyn Transformation] = &[
    &interchange::Interchange,
    &distribute::Distribute,
    &skew::Wavefront,
    &split::Split,
    &peel::Peel,
    &expand_scalar::ExpandScalar,
    &fuse::Fuse,
    &reverse::Reverse,
    &skew::Skew,
    &reorder::Reorder,
    &privatize::Privatize,
    &induction::Induction,
    &count::Count,
    &inline::Inline,
    &forms::RemoveHeader,
    &strip_mine::StripMine,
    &forms::Nesting,
    &forms::Collapse,
    &unroll::Unroll,
    &unroll::UnrollFully,
    &operators::ExpandOperators,
];

/// The transformation of a name.
pub fn by_name(name: &str) -> Option<&'static dyn Transformation> {
    ALL.iter().copied().find(|t| t.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_nobody_takes_are_refused() {
        for (said, takes, fits) in [
            ("size=8", "size=32", true),
            ("8", "size=32", true),
            ("factor=8", "size=32", false),
            ("middle", "at=EXPR | middle", true),
            ("at=m + 1", "at=EXPR | middle", true),
            ("first", "", false),
            ("", "", true),
        ] {
            assert_eq!(With::parse(said).fits(takes).is_ok(), fits, "{said} for {takes}");
        }
    }
}
