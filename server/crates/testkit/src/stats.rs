//! Counts of what was judged, so that a test can say that it judged enough.

use std::collections::BTreeMap;

/// What was seen while judging.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    pub functions: u64,
    /// Loops that stand in no other one, with all that is in them.
    pub nests: u64,
    /// Runs that ended, and those that did not, by reason.
    pub runs: u64,
    pub faults: BTreeMap<String, u64>,
    /// Loops by verdict.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Claims held to a run; those whose conditions did not hold, or could not be told to hold, in it.
    pub claims: u64,
    /// Loops run in another order beside the original, with the same results.
    pub permuted: u64,
    pub condition_fails: u64,
    pub condition_unknown: u64,
    /// Of the last: runs in which nothing spoke against the claim, and what did where something did.
    pub unrefuted: u64,
    pub undecided: Vec<String>,
    /// Witnesses seen to happen; not arranged, by reason.
    pub witnesses: u64,
    pub unarranged: BTreeMap<String, u64>,
    /// Loops that ran at least twice, and in all runs looked parallel; of these the unknown ones by first obstacle.
    pub looked_parallel: u64,
    pub missed: BTreeMap<String, u64>,
    /// Some of these: kind, seed and loop.
    pub examples: Vec<(String, String)>,
    /// Unknown loops that really carried something.
    pub rightly_unknown: u64,
}

impl Stats {
    /// Adds another's counts.
    pub fn add(&mut self, o: &Stats) {
        self.functions += o.functions;
        self.nests += o.nests;
        self.runs += o.runs;
        self.claims += o.claims;
        self.permuted += o.permuted;
        self.condition_fails += o.condition_fails;
        self.condition_unknown += o.condition_unknown;
        self.unrefuted += o.unrefuted;
        self.undecided.extend(o.undecided.iter().take(20).cloned());
        self.witnesses += o.witnesses;
        self.looked_parallel += o.looked_parallel;
        self.rightly_unknown += o.rightly_unknown;
        for e in &o.examples {
            self.example(&e.0, || e.1.clone());
        }
        for (k, v) in &o.faults {
            *self.faults.entry(k.clone()).or_default() += v;
        }
        for (k, v) in &o.unarranged {
            *self.unarranged.entry(k.clone()).or_default() += v;
        }
        for (k, v) in &o.missed {
            *self.missed.entry(k.clone()).or_default() += v;
        }
        for (k, v) in &o.verdicts {
            *self.verdicts.entry(k).or_default() += v;
        }
    }
}

impl Stats {
    pub(crate) fn example(&mut self, kind: &str, what: impl FnOnce() -> String) {
        if self.examples.iter().filter(|e| e.0 == kind).count() < 4 {
            self.examples.push((kind.to_owned(), what()));
        }
    }
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} functions with {} nests, {} runs; runs without end or with a fault: {:?}",
            self.functions, self.nests, self.runs, self.faults
        )?;
        writeln!(f, "loops: {:?}", self.verdicts)?;
        writeln!(
            f,
            "claims held to a run: {}, to runs in another order: {}; conditions not met: {}, not known: {}",
            self.claims, self.permuted, self.condition_fails, self.condition_unknown
        )?;
        writeln!(f, "witnesses seen: {}; not arranged: {:?}", self.witnesses, self.unarranged)?;
        write!(
            f,
            "loops that looked parallel: {}; of these unknown, by obstacle: {:?}; unknown and really carried: {}",
            self.looked_parallel, self.missed, self.rightly_unknown
        )
    }
}
