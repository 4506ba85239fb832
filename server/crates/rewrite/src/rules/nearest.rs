//! Which rule came nearest to what a function holds, and the first thing in which the two differ.
//!
//! Asked once nothing applied, for people: every rule of the systems that were tried is held against every place again, and
//! who looks on counts. Deliberately absent: conditions (a rule whose source matched says itself what was not proved).

use std::sync::Arc;

use base::Span;
use rustc_hash::FxHashSet;
use term::{Body, Op, TermId, Types};

use super::matching::{fits, Bindings, Watch};
use super::page::{Rule, RuleSystem};
use super::pattern::Pattern;
use super::run::Systems;
use super::tree::{Node, Subject, Tree};
use crate::limits::rules_nearest::{FEWEST, MOST};

/// A rule whose source nearly matched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Miss {
    pub system: Arc<str>,
    pub rule: Arc<str>,
    /// Parts of the source that matched before the one that did not.
    pub matched: usize,
    /// What the rule has there, and what the program has, in notation.
    pub wanted: String,
    pub found: String,
    /// Where that stands, in the function.
    pub place: Option<Span>,
}

/// Counts what is met, up to the first thing that is not.
#[derive(Default)]
struct Count {
    met: usize,
    /// What was met last of what stands in the text.
    last: Option<TermId>,
    missed: Option<(Pattern, Tree)>,
}

impl Watch for Count {
    fn met(&mut self, n: &Tree) {
        self.met += 1;
        self.last = n.from.or(self.last);
    }
    fn missed(&mut self, p: &Pattern, n: &Tree) {
        if self.missed.is_none() {
            self.missed = Some((p.clone(), n.clone()));
        }
    }
}

/// The parts that a source has.
pub fn parts(p: &Pattern) -> usize {
    match p {
        Pattern::Variable { .. } | Pattern::Literal(_) => 1,
        Pattern::Cons(h, t) => parts(h) + parts(t),
        Pattern::Term(_, args) => 1 + args.iter().map(parts).sum::<usize>(),
    }
}

/// The rule of the system, or of those that it names, that came nearest to matching somewhere in a function.
pub fn nearest(system: &Arc<RuleSystem>, systems: &Systems, body: &Body, subject: &Subject) -> Option<Miss> {
    let (mut all, mut seen, mut at) = (vec![system.clone()], FxHashSet::default(), 0);
    while let Some(s) = all.get(at).cloned() {
        let mut named = Vec::new();
        s.strategy.systems(&mut named);
        all.extend(
            named.into_iter().filter(|n| seen.insert((*n).clone())).filter_map(|n| systems.get(n).cloned()),
        );
        at += 1;
    }
    let mut best: Option<(Count, Arc<str>, &Rule)> = None;
    let mut held = 0usize;
    for s in &all {
        for rule in &s.rules {
            for n in subject.root.walk() {
                held += 1;
                if held > MOST {
                    break;
                }
                let starts = if rule.run { n.args.len() } else { 1 };
                if rule.run && n.op != Op::List {
                    continue;
                }
                for start in 0..starts {
                    let count = held_against(subject, &subject.types, rule, &n, start);
                    let nearer = best.as_ref().is_none_or(|b| count.met > b.0.met);
                    if count.missed.is_some() && count.met >= FEWEST && nearer {
                        best = Some((count, s.name.clone(), rule));
                    }
                }
            }
        }
    }
    let (Count { met, last, missed }, system, rule) = best?;
    let (p, t) = missed?;
    let place = t.walk().find_map(|n| n.from).or(last).map(|id| body.span(id));
    let (wanted, found) = (short(&p.text()), short(&subject.print(&t)));
    Some(Miss { system, rule: rule.name.clone(), matched: met, wanted, found, place })
}

/// A source held against a place, or against the statements from `start` on.
fn held_against(subject: &Subject, types: &Types, rule: &Rule, n: &Tree, start: usize) -> Count {
    let (mut count, mut b) = (Count::default(), Bindings::default());
    let Pattern::Term(_, wanted) = &rule.source else {
        fits(subject, types, &rule.source, n, &mut b, &mut count);
        return count;
    };
    if !rule.run {
        fits(subject, types, &rule.source, n, &mut b, &mut count);
        return count;
    }
    for (k, p) in wanted.iter().enumerate() {
        let Some(item) = n.args.get(start + k) else {
            count.missed(p, &Node::list(Vec::new()));
            break;
        };
        if !fits(subject, types, p, item, &mut b, &mut count) {
            break;
        }
    }
    count
}

/// As much of it as a sentence bears.
fn short(text: &str) -> String {
    match text.char_indices().nth(70) {
        Some((k, _)) => format!("{}…", &text[..k]),
        None => text.to_owned(),
    }
}

impl Miss {
    /// A sentence without its end; `line`: where the place is.
    pub fn said(&self, line: Option<u32>) -> String {
        let line = line.map_or(String::new(), |l| format!(" on line {l}"));
        let found = match &*self.found {
            "NIL" => "nothing follows".to_owned(),
            found => format!("the program has `{}`", found.trim_matches('`')),
        };
        format!(
            "Rule {} of `{}` comes nearest{line}: where it has `{}`, {found}",
            self.rule, self.system, self.wanted
        )
    }
}
