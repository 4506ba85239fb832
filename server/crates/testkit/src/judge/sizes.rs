//! Every loop's verdict beside what runs at several sizes show of it: the oracle of fixtures.
//!
//! A run is a sample and no proof. What is asked of a fixture is that every loop was seen with enough iterations at two
//! sizes at least (or at the one size it has), that no claim was refuted at any of them, and that what is called
//! sequential was seen to carry something.

use analysis::Verdict;

use super::programs::{judge_in_runs, Observed, MORE_RUNS};
use super::Stats;
use crate::fixture::{analyze, markers, verdict_name};

/// What came of one program's loops.
#[derive(Default)]
pub struct AtSizes {
    /// Loops whose verdict is not the oracle's, or of which too little was seen; one line each.
    pub wrong: Vec<String>,
    /// Unknown loops.
    pub unknown: Vec<String>,
    pub loops: usize,
}

/// Runs a program at several sizes. `never` names functions (`file: function`) that cannot run.
pub fn at_several_sizes(name: &str, text: &str, never: &[&str], stats: &mut Stats) -> AtSizes {
    let markers = markers(text).unwrap_or_default();
    let first = judge_in_runs(name, &analyze(text), &markers, MORE_RUNS, stats);
    let mut out = AtSizes { wrong: first.wrong, loops: first.loops.len(), ..AtSizes::default() };
    let mut loops = first.loops;
    if let (true, Some(smaller)) = (loops.iter().any(few), resized(text)) {
        let second = judge_in_runs(name, &analyze(&smaller), &[], MORE_RUNS, stats);
        out.wrong.extend(second.wrong.into_iter().map(|w| format!("{w} (with smaller sizes)")));
        for (l, other) in loops.iter_mut().zip(second.loops) {
            l.trips.extend(other.trips);
            l.held.extend(other.held);
        }
    }
    for l in &loops {
        let at = format!("{name}:{}", l.line);
        if l.verdict == Verdict::Unknown {
            out.unknown.push(at.clone());
            let marker = markers.iter().find(|m| m.line == l.line);
            if marker.is_some_and(|m| m.names.is_empty() && m.fixme.is_empty()) {
                out.wrong.push(format!("{at}: unknown, and the marker gives no reason"));
            }
        }
        if never.contains(&format!("{name}: {}", l.function).as_str()) {
            continue;
        }
        if few(l) {
            out.wrong.push(format!(
                "{at}: {} in `{}`: too little was seen: iterations {:?}, held to a claim {:?}",
                verdict_name(l.verdict),
                l.function,
                l.trips,
                l.held
            ));
        }
        if l.verdict == Verdict::Sequential && l.conflict.is_none() && !l.witnessed {
            out.wrong.push(format!("{at}: sequential, and nothing was carried"));
        }
    }
    out
}

/// Whether there were too few sizes.
fn few(l: &Observed) -> bool {
    let enough = |seen: usize| seen > 1 || (l.is_fixed && seen == 1);
    match l.verdict {
        Verdict::Independent | Verdict::Reduction => !enough(l.held.len()),
        Verdict::Sequential => !enough(l.trips.len()),
        // nothing is claimed
        Verdict::Unknown => l.trips.is_empty(),
    }
}

/// The program with smaller sizes: two thirds of every `#define NAME number` that can be one.
fn resized(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let size = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#define"), Some(name), Some(number), None) if !name.contains('(') => {
                number.parse::<u32>().ok().filter(|n| (8..=4096).contains(n)).map(|n| (name, n * 2 / 3))
            }
            _ => None,
        };
        match size {
            Some((name, n)) => {
                out += &format!("#define {name} {n}");
                changed = true;
            }
            None => out += line,
        }
        out.push('\n');
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_become_smaller() {
        let text = "#define N 40\n#define A(x) 12\n#define EPS 2\nint a[N];\n";
        assert_eq!(resized(text).unwrap(), "#define N 26\n#define A(x) 12\n#define EPS 2\nint a[N];\n");
        assert_eq!(resized("int a;\n"), None);
    }

    #[test]
    fn what_is_not_the_oracles_is_said() {
        let run = |text: &str| at_several_sizes("t.c", text, &[], &mut Stats::default()).wrong;
        let good =
            "void f(int n, double *a) {\n for (int i = 0; i < n; i++) //~ independent\n a[i] = 1;\n}\n";
        assert_eq!(run(good), [""; 0]);
        // one iteration at most: nothing can be seen
        let short = "void f(double *a) {\n for (int i = 0; i < 1; i++) //~ independent\n a[i] = 1;\n}\n";
        assert_eq!(run(short).len(), 1);
        let silent = "int f(int n, int *a) {\n for (int i = 0; i < n; i++) //~ unknown\n if (a[i] == 77) return i;\n return 0;\n}\n";
        assert!(run(silent).iter().any(|w| w.contains("no reason")), "{:?}", run(silent));
    }
}
