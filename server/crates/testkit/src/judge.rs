//! Holds what the analysis says of a random function to what traced runs of it really did.
//!
//! A verdict "independent" or "reduction" is judged on every run whose values meet its run-time conditions; a witness is
//! judged by a run with the witness's values. What cannot be arranged is counted, never taken for a success.

mod arranged;
mod asides;
mod case;
pub mod csharp;
pub mod programs;
mod promised;
pub mod sizes;

use std::collections::HashSet;

use analysis::{Facts, LoopId, Verdict};
use base::Budget;
use simulate::Program;
use term::Body;

use crate::fixture::{kind_name, verdict_name};
use crate::nests::{Call, Nest};
use crate::rng::Rng;

use case::{fault_name, Case, Given};

pub use crate::stats::Stats;

/// A wrong claim.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Names the kind of failure: shrinking keeps it.
    pub kind: &'static str,
    /// What is wrong, with the call and the loop.
    pub what: String,
    pub nest: Nest,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] seed {}: {}\n{}", self.kind, self.nest.seed, self.what, self.nest.text())
    }
}

/// Number of calls each function is judged on.
pub const CALLS: usize = 5;

/// Reads a text and analyzes all its functions at full budget: the number of loops, and whether the budget was spent.
pub fn survey(text: &str) -> (usize, bool) {
    let a = crate::fixture::analyze(text);
    (a.loops.len(), a.facts.iter().any(|f| f.out_of_budget))
}

/// Everything that is wrong about what is said of the function.
pub fn judge(nest: &Nest, stats: &mut Stats) -> Vec<Failure> {
    judge_with(nest, stats, |body, around| {
        analysis::analyze(body, around, analysis::SAVE, &Budget::new(u64::MAX))
    })
}

/// The same of somebody else's facts.
pub fn judge_with(
    nest: &Nest,
    stats: &mut Stats,
    analyze: impl Fn(&Body, &analysis::Program) -> Facts,
) -> Vec<Failure> {
    let text = nest.text();
    let parsed = front::Parsed::parse(front::Language::C, text.as_str());
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let mut failures = Vec::new();
    let fail = |failures: &mut Vec<Failure>, kind: &'static str, what: String| {
        failures.push(Failure { kind, what, nest: nest.clone() });
    };
    stats.functions += 1;
    let rejects = unit
        .rejects
        .iter()
        .chain(unit.items.iter().flat_map(|i| i.body.rejects()))
        .map(|r| r.reason.to_string())
        .collect::<Vec<_>>();
    if !rejects.is_empty() {
        fail(&mut failures, "front", format!("not understood: {}", rejects.join("; ")));
        return failures;
    }
    let Some(item) = unit.items.iter().find(|i| &*i.name == "f") else {
        fail(&mut failures, "front", "no function `f` was found".to_owned());
        return failures;
    };
    let body = &item.body;
    let facts = analyze(body, &analysis::Program::of(unit.items.iter().map(|i| &i.body)));
    let program = Program::of(unit.items.iter().map(|i| &*i.body));
    let apart = |sizes: &[Option<i128>], largest: usize| {
        let named = nest.sizes.iter().enumerate();
        let given = named.map(|(n, (name, _))| {
            let v = sizes.get(n).copied().flatten();
            v.unwrap_or(if name == "k" { 1 } else { largest as i128 + 2 })
        });
        let margin = (12 * largest * largest.min(60)).clamp(800, 40_000);
        given_for(nest, &Call::apart(nest, given.collect(), margin))
    };
    let case = Case::new(&text, item.span.start as usize, "f", body, &facts, &program, &apart);
    if case.watch.len() != facts.loops.len() {
        fail(&mut failures, "missing", "a loop has no facts".to_owned());
        return failures;
    }
    for l in facts.loops.iter() {
        stats.nests += u64::from(l.parent.is_none());
        *stats.verdicts.entry(verdict_name(l.verdict)).or_default() += 1;
        for problem in case.form(l) {
            fail(&mut failures, "form", problem);
        }
    }
    let mut rng = Rng::new(nest.seed ^ 0xCA11);
    let mut ran_twice: HashSet<LoopId> = HashSet::new();
    let mut carried: HashSet<LoopId> = HashSet::new();
    for n in 0..CALLS {
        let call = Call::random(nest, &mut rng, n >= 2);
        let ran = given_for(nest, &call).and_then(|mut given| Ok((case.run(&mut given)?, given)));
        let (trace, given) = match ran {
            Ok(ran) => ran,
            Err(why) => {
                if why.starts_with("not supported") {
                    stats.example(&why, || format!("seed {}", nest.seed));
                }
                *stats.faults.entry(why).or_default() += 1;
                continue;
            }
        };
        stats.runs += 1;
        for (id, l) in facts.loops.iter_ids() {
            if let Some(t) = trace.of(l.term) {
                if t.instances.iter().any(|i| i.starts > 2) {
                    ran_twice.insert(id);
                }
                let parallel = t.conflicts.iter().all(|c| {
                    c.header
                        || t.variables
                            .get(&c.variable)
                            .is_some_and(|v| v.private_like() && v.read_after.is_none() && !v.escapes)
                });
                // shared memory makes conflicts that a condition rules out
                if !parallel && n < 2 {
                    carried.insert(id);
                }
            }
            if matches!(l.verdict, Verdict::Independent | Verdict::Reduction) {
                let judged = case.claim(&given, &trace, id, l, stats);
                let judged = judged.and_then(|all| match all {
                    true => case.in_another_order(nest, &call, l, stats),
                    false => Ok(()),
                });
                if let Err(what) = judged {
                    fail(&mut failures, "claim", what);
                }
            }
        }
    }
    for (id, l) in facts.loops.iter_ids() {
        if ran_twice.contains(&id) && !carried.contains(&id) {
            stats.looked_parallel += 1;
            if l.verdict == Verdict::Unknown {
                let why = l.obstacles.first().map_or("none".to_owned(), |o| kind_name(&o.kind));
                stats.example(&why, || {
                    let at: Vec<String> = l
                        .obstacles
                        .iter()
                        .map(|o| format!("{:?} at `{}`", o.kind, case.source(o.term)))
                        .collect();
                    format!("seed {}: `{}`: {}", nest.seed, case.head(l), at.join(", "))
                });
                *stats.missed.entry(why).or_default() += 1;
            }
        } else if l.verdict == Verdict::Unknown && carried.contains(&id) {
            stats.rightly_unknown += 1;
        }
        if l.verdict == Verdict::Sequential {
            for d in l.dependences.iter().filter(|d| d.witness.is_some()).take(3) {
                if let Err(what) = case.witness(id, l, d, stats) {
                    fail(&mut failures, "witness", what);
                }
            }
        }
    }
    failures
}

fn given_for(nest: &Nest, call: &Call) -> Result<Given, String> {
    let memory = call.build(nest).map_err(|f| fault_name(&f.kind))?;
    let mut sizes: Vec<Option<i128>> = call.sizes.iter().map(|v| Some(*v)).collect();
    sizes.resize(memory.args.len(), None);
    Ok(Given { sizes, words: call.describe(nest), heap: memory.heap, args: memory.args, apart: false })
}

#[cfg(test)]
mod tests;
