//! What was done and why it was allowed: every application remembers its rule, place, bindings and proofs.

use std::sync::Arc;

use term::TermId;

use super::matching::Bindings;
use super::tree::{Subject, Tree};

/// Everything one run did, in order.
#[derive(Clone, Debug, Default)]
pub struct Derivation {
    pub steps: Vec<Applied>,
    /// Rules that matched and whose condition was not proved: the first few, each with its reason.
    pub refused: Vec<NotApplied>,
    /// System and rule of what was found and is to stay as it is: a rule whose rules belong together may leave what it
    /// matches, as that on which the others rest.
    pub recognized: Vec<(Arc<str>, Arc<str>)>,
}

/// One application of one rule.
#[derive(Clone, Debug)]
pub struct Applied {
    pub system: Arc<str>,
    pub rule: Arc<str>,
    /// The term that was there, if the place was read from text and not made by an earlier rule.
    pub place: Option<TermId>,
    pub before: Tree,
    pub after: Tree,
    pub bindings: Bindings,
    pub proofs: Vec<Proof>,
}

/// A guard that held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    pub guard: String,
    /// Why it holds: words that continue "because".
    pub because: String,
}

/// A rule whose source matched and whose condition did not hold.
#[derive(Clone, Debug)]
pub struct NotApplied {
    pub system: Arc<str>,
    pub rule: Arc<str>,
    pub place: Option<TermId>,
    /// The guard and what is missing: words that continue "because".
    pub because: String,
    /// Parts of the source, which all matched.
    pub parts: usize,
}

impl Derivation {
    /// One line a step, for people: rule, bindings, proofs.
    pub fn lines(&self, subject: &Subject) -> Vec<String> {
        let short = |t: &Tree| {
            let text = subject.print(t);
            match text.char_indices().nth(60) {
                Some((k, _)) => format!("{}…", &text[..k]),
                None => text,
            }
        };
        let one = |a: &Applied| {
            let bound: Vec<String> = a.bindings.iter().map(|(n, t)| format!("${n} = {}", short(t))).collect();
            let proved: Vec<String> =
                a.proofs.iter().map(|p| format!("{} because {}", p.guard, p.because)).collect();
            let mut line =
                format!("{} rule {}: {} -> {}", a.system, a.rule, short(&a.before), short(&a.after));
            if !bound.is_empty() {
                line += &format!("; {}", bound.join(", "));
            }
            if !proved.is_empty() {
                line += &format!("; {}", proved.join("; "));
            }
            line
        };
        self.steps.iter().map(one).collect()
    }
}
