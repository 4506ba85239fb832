//! What pages claim of their rules, held: only what is proved to be exact is applied as exact.
//!
//! Whether a rule is exact is decided in `rewrite` (`rules/exact`) with an answer from outside; here it is asked for before a
//! system is applied, and of every application whether it is one of those that the proof is about.

use std::sync::Arc;

use rewrite::rules::{exact, Application, NoApplication, NoResult, RuleSet, RuleSystem, Trust};

/// That the pages of a system and of those it names are what they claim. `Err`: sentences.
pub(super) fn hold(set: &RuleSet, system: &Arc<RuleSystem>) -> Result<(), String> {
    let mut all: Vec<&Arc<RuleSystem>> = vec![system];
    let mut at = 0;
    while let Some(s) = all.get(at).copied() {
        at += 1;
        let mut named = Vec::new();
        s.strategy.systems(&mut named);
        for other in named.into_iter().filter_map(|n| set.systems.get(n)) {
            if !all.iter().any(|a| a.name == other.name) {
                all.push(other);
            }
        }
        let Some((page, _)) = set.find(&s.name) else { continue };
        let known = match set.claim(page) {
            Some(known) => known,
            // what needs no decision procedure is decided here
            None => exact::doubts(page, None).first().map_or(Ok(()), |d| Err(d.words())),
        };
        if let Err(why) = known {
            let claim = page.trust.as_ref().map_or(String::new(), Trust::text);
            return Err(format!(
                "The page `{}` says `Trust: {claim}`, and {why}. So it is not applied. `warpwright rules check` says what to do.",
                page.name
            ));
        }
    }
    Ok(())
}

/// That the proofs of the rules are about what they were applied to.
pub(super) fn cover(a: Application, set: &RuleSet) -> Result<Application, Box<NoApplication>> {
    for step in &a.derivation.steps {
        let Some((page, system)) = set.find(&step.system) else { continue };
        let rules = system.rules.iter().filter(|r| r.name == step.rule);
        if !exact::claims(page.trust.as_ref()) {
            continue;
        }
        // rules of one name are alternatives
        let because = rules.map(|r| exact::covered(&a.subject, &a.types, r, step)).reduce(Result::or);
        if let Some(Err(because)) = because {
            return Err(Box::new(NoApplication {
                kind: NoResult::NothingApplies,
                because,
                derivation: a.derivation.clone(),
                subject: Some(a.subject),
                matched: 0,
            }));
        }
    }
    Ok(a)
}
