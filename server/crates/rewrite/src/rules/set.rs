//! All pages that are in use, and the pages that ship.
//!
//! Later pages win over earlier ones of the same name: a user's page stands in for a shipped one. Deliberately absent:
//! files and watching them (the shell's).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::exact::{self, Doubt, Prover};
use super::load::load;
use super::page::{Finding, RulePage, RuleSystem, Severity};
use super::run::Systems;

/// Name and text of every page in `rules/`.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Pages with what they define.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    pub pages: Vec<Arc<RulePage>>,
    pub systems: Systems,
    /// What was found of pages that claim to be exact, by the hash of their rules; `None`: it is proved.
    judged: FxHashMap<String, Option<String>>,
}

impl RuleSet {
    /// The pages that ship.
    pub fn shipped() -> RuleSet {
        let mut set = RuleSet::default();
        for (name, text) in SHIPPED {
            set.add(name, text);
        }
        set
    }

    /// Name and text of each page that ships.
    pub fn shipped_pages() -> &'static [(&'static str, &'static str)] {
        SHIPPED
    }

    /// Reads a page and takes it in, unless it has errors; a page of its name goes. What is to be said of it.
    pub fn add(&mut self, name: &str, text: &str) -> Vec<Finding> {
        let (page, mut findings) = load(name, text);
        for s in &page.systems {
            let other =
                self.pages.iter().find(|p| p.name != page.name && p.systems.iter().any(|o| o.name == s.name));
            if let Some(other) = other {
                findings.push(Finding {
                    severity: Severity::Error,
                    message: format!(
                        "The page `{}` has a system `{}` already. Rename this one.",
                        other.name, s.name
                    ),
                    place: s.place,
                });
            }
        }
        if findings.iter().all(|f| f.severity != Severity::Error) {
            self.pages.retain(|p| p.name != page.name);
            self.pages.push(Arc::new(page));
            self.pages.sort_by(|a, b| a.name.cmp(&b.name));
            self.systems = self
                .pages
                .iter()
                .flat_map(|p| p.systems.iter().map(|s| (s.name.clone(), s.clone())))
                .collect();
        }
        findings
    }

    /// Makes the proofs that pages claim, as far as they are not made yet.
    pub fn judge(&mut self, prover: Option<&dyn Prover>) {
        for page in self.pages.clone() {
            if self.claim(&page).is_none() {
                let found = exact::doubts(&page, prover).first().map(Doubt::words);
                self.keep_judgement(exact::hash(&page), found);
            }
        }
    }
    /// Remembers what was found of the rules with this hash; `None`: their page's claim is proved.
    pub fn keep_judgement(&mut self, hash: String, doubt: Option<String>) {
        self.judged.insert(hash, doubt);
    }
    /// What is known of a page's claim: `Some(Ok)`: it is proved, or it claims nothing; `Some(Err)`: it is not, with a phrase;
    /// `None`: nobody has asked.
    pub fn claim(&self, page: &RulePage) -> Option<Result<(), String>> {
        if !exact::claims(page.trust.as_ref()) || exact::recorded(page) {
            return Some(Ok(()));
        }
        self.judged.get(&exact::hash(page)).map(|known| known.clone().map_or(Ok(()), Err))
    }

    /// Strategies that name systems which are not there, page by page: asked when all pages are in.
    pub fn unknown_systems(&self, page: &RulePage) -> Vec<Finding> {
        let mut findings = Vec::new();
        for s in &page.systems {
            let mut named = Vec::new();
            s.strategy.systems(&mut named);
            for n in named {
                if self.systems.contains_key(n) && *n != s.name {
                    continue;
                }
                let near = super::near::nearest(n, self.systems.keys().map(|k| &**k));
                let message = match near {
                    _ if *n == s.name => format!("The system `{n}` calls itself. Use `repeat`."),
                    Some(near) => format!("There is no system `{n}`. Is `{near}` meant?"),
                    None => format!("There is no system `{n}`, and `TopDown`, `BottomUp` and `FirstTop` are the strategies."),
                };
                findings.push(Finding { severity: Severity::Error, message, place: s.place });
            }
        }
        findings
    }

    /// A system by its name, with its page.
    pub fn find(&self, name: &str) -> Option<(&Arc<RulePage>, &Arc<RuleSystem>)> {
        self.pages.iter().find_map(|p| p.systems.iter().find(|s| *s.name == *name).map(|s| (p, s)))
    }
    /// The known name nearest to one that is not known.
    pub fn near(&self, name: &str) -> Option<&str> {
        super::near::nearest(name, self.systems.keys().map(|k| &**k))
    }
}
