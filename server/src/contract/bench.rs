//! Counts over files.

/// The loops of a file by verdict.
pub fn loop_counts(findings: &ide::Findings) -> wire::LoopCounts {
    let of = |verdict: &str| findings.loops.iter().filter(|l| l.report().verdict == verdict).count() as u64;
    wire::LoopCounts {
        independent: of("independent"),
        reduction: of("reduction"),
        sequential: of("sequential"),
        unknown: of("unknown"),
    }
}
