//! Nests that become kernels together: one copy each way for an array, whatever the number of rounds.

use super::verifying::report;
use crate::{Copies, Outcome, VerifyReport};

const REGIONS: &str = include_str!("../../../../../fixtures/c/regions.c");
const LU: &str = include_str!("../../../../../fixtures/c/lu.c");

/// The report of the first loop in a function of the fixture.
fn of(code: &str, function: &str) -> VerifyReport {
    let at = code.find(&format!("{function}(")).expect("the function");
    let line = code[..at].lines().count() as u32;
    let inside = code.lines().skip(line as usize).position(|l| {
        let l = l.trim_start();
        l.starts_with("for ") || l.starts_with("while ")
    });
    let report = report(code, line + 1 + inside.expect("a loop") as u32);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
    assert!(report.cases.iter().any(|c| c.counted.launches > 0), "{report:#?}");
    report
}

/// How many copies there were, of each run in which kernels ran.
fn copies(report: &VerifyReport, way: fn(&crate::Counted) -> Copies) -> Vec<u64> {
    let ran = report.cases.iter().filter(|c| c.counted.launches > 0);
    ran.map(|c| way(&c.counted).count).collect()
}

fn each_is(all: &[u64], wanted: u64) {
    assert!(!all.is_empty() && all.iter().all(|&n| n == wanted), "{all:?} are not {wanted}");
}

/// Arrays in and out, once.
fn check(report: &VerifyReport, into: u64, out: u64) {
    each_is(&copies(report, |c| c.to_device), into);
    each_is(&copies(report, |c| c.from_device), out);
    assert!(report.cases.iter().any(|c| c.counted.launches > 4), "several rounds: {report:#?}");
}

#[test]
fn elimination_copies_its_matrix_once_each_way() {
    check(&of(LU, "void lu"), 1, 1);
    check(&of(REGIONS, "void lu_scaled"), 1, 1);
}

#[test]
fn exchanged_buffers_come_and_go_once_and_their_ends_when_they_are_first_used() {
    let report = of(REGIONS, "void exchanged");
    // the second buffer's two ends follow in the second round
    assert!(copies(&report, |c| c.to_device).iter().all(|&n| n == 2 || n == 4), "{report:#?}");
    each_is(&copies(&report, |c| c.from_device), 2);
}

#[test]
fn only_the_residual_comes_back_in_between() {
    let report = of(REGIONS, "double until_small");
    for c in report.cases.iter().filter(|c| c.counted.launches > 0) {
        // beside the two buffers a partial sum a residual: every round launches one kernel, every tenth one more
        let rounds = c.counted.launches - (c.counted.from_device.count - 2);
        assert_eq!(c.counted.from_device.count - 2, rounds.div_ceil(10), "{c:#?}");
    }
}

#[test]
fn pointers_that_are_read_afterwards_show_what_the_programs_would() {
    check(&of(REGIONS, "double *returned"), 2, 2);
}

#[test]
fn a_declared_array_is_there_for_who_uses_a_part_of_it_sometimes() {
    check(&of(REGIONS, "void sometimes"), 2, 2);
}

#[test]
fn what_is_written_first_does_not_go_and_what_nobody_reads_does_not_come() {
    check(&of(REGIONS, "void scratch"), 1, 1);
}

#[test]
fn output_between_kernels_keeps_them_apart() {
    let report = report(
        REGIONS,
        1 + REGIONS[..REGIONS
            .find("t < rounds; t++) {          //~ unknown; no-offload\n        for (int i = 0; i < n")
            .unwrap()]
            .lines()
            .count() as u32
            - 1,
    );
    let Outcome::NotTried(why) = &report.outcome else { panic!("{report:#?}") };
    assert!(why.contains("what `printf` does cannot be taken back or done over (line"), "{why}");
}
