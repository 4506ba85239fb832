//! Nests that become kernels together: one copy each way for an array, whatever the number of rounds.

use super::verifying::report;
use super::{full, open};
use crate::{Copies, Outcome, VerifyOptions, VerifyReport, Which};

const REGIONS: &str = include_str!("../../../../../fixtures/c/regions.c");
const WHOLE: &str = include_str!("../../../../../fixtures/c/whole_functions.c");
const ROWS: &str = include_str!("../../../../../fixtures/c/row_regions.c");
const LEFT: &str = include_str!("../../../../../fixtures/c/left_regions.c");
const PROMISES: &str = include_str!("../../../../../fixtures/c/promises.c");
const LU: &str = include_str!("../../../../../fixtures/c/lu.c");

/// The line of the first loop in a function of the fixture.
fn first_loop(code: &str, function: &str) -> u32 {
    let at = code.find(&format!("{function}(")).expect("the function");
    let line = code[..at].lines().count() as u32;
    let inside = code.lines().skip(line as usize).position(|l| {
        let l = l.trim_start();
        l.starts_with("for ") || l.starts_with("while ")
    });
    line + 1 + inside.expect("a loop") as u32
}

/// The report of the first loop in a function of the fixture.
fn of(code: &str, function: &str) -> VerifyReport {
    let report = report(code, first_loop(code, function));
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
    // of the second buffer nothing but its two ends goes, in the second round
    assert!(copies(&report, |c| c.to_device).iter().all(|&n| n == 1 || n == 3), "{report:#?}");
    each_is(&copies(&report, |c| c.from_device), 2);
}

/// Rows that lie apart are packed once, whatever the number of rounds, and each of those that are written is put back once.
#[test]
fn rows_of_tables_go_once() {
    for (function, tables) in [("void lu", 1), ("void adi", 3)] {
        let report = of(ROWS, function);
        each_is(&copies(&report, |c| c.to_device), tables);
        assert!(report.cases.iter().any(|c| c.counted.launches > 4), "several rounds: {report:#?}");
    }
}

/// Exchanged tables go once, and once more when the run comes to what only the second round touches.
#[test]
fn exchanged_tables_go_twice_at_most() {
    let report = of(ROWS, "float **newest");
    assert!(copies(&report, |c| c.to_device).iter().all(|&n| n == 2), "{report:#?}");
    let report = of(ROWS, "double jacobi");
    assert!(copies(&report, |c| c.to_device).iter().all(|&n| n == 3 || n == 6), "{report:#?}");
}

#[test]
fn rows_that_a_condition_chooses_are_followed_when_it_holds() {
    let report = of(ROWS, "void corrected");
    let all = copies(&report, |c| c.to_device);
    // without the correction its rows stay where they are
    assert!(all.iter().all(|&n| n == 2 || n == 5), "{report:#?}");
}

#[test]
fn tables_whose_rows_are_exchanged_are_none_of_a_region() {
    let at = ROWS.find("void pivoted(").expect("the function");
    let report = report(ROWS, ROWS[..at].lines().count() as u32 + 3);
    let Outcome::NotTried(why) = &report.outcome else { panic!("{report:#?}") };
    assert!(why.contains("`t` is set to more than another pointer of these arrays"), "{why}");
}

/// After `a = b` both names show one array: the loop's own order counts then.
#[test]
fn names_that_come_to_show_one_array_end_the_run() {
    let flat = "void f(int n, int steps, double *a, double *b)\n{\n    for (int t = 0; t < steps; t++) {\n        \
        for (int i = 1; i < n - 1; i++)\n            b[i] = 0.5 * (a[i - 1] + a[i + 1]);\n        a = b;\n    }\n}\n";
    let rows = "void f(int n, int m, int steps, double **a, double **b)\n{\n    for (int t = 0; t < steps; t++) {\n        \
        for (int i = 1; i < n - 1; i++)\n            for (int j = 0; j < m; j++)\n                \
        b[i][j] = 0.5 * (a[i - 1][j] + a[i + 1][j]);\n        a = b;\n    }\n}\n";
    for code in [flat, rows] {
        assert_eq!(report(code, 3).outcome, Outcome::Same);
    }
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
    // the second buffer is written as a whole before anything of it is read
    check(&of(REGIONS, "double *returned"), 1, 2);
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
fn functions_called_between_kernels_are_looked_through() {
    let report = of(WHOLE, "int conjugate_gradients");
    for c in report.cases.iter().filter(|c| c.counted.launches > 0) {
        // four vectors come and go once; beside them the residual comes back in each round, and the step's length never does
        assert_eq!(c.counted.to_device.count, 4, "{c:#?}");
        let rounds = c.counted.from_device.count - 4;
        assert!(c.counted.launches <= 10 * rounds && c.counted.launches > 10 * (rounds - 1), "{c:#?}");
    }
    // single statements on arrays run on the device
    check(&of(WHOLE, "void burgers"), 1, 2);
}

/// Cells that loops accumulate in, single statements and numbers that only kernels need: nothing of it comes back in between.
#[test]
fn factorizations_copy_once_each_way() {
    macro_rules! polybench {
        ($name:literal) => {
            include_str!(concat!("../../../../../fixtures/c/polybench/", $name, ".c"))
        };
    }
    check(&of(polybench!("cholesky"), "void kernel_cholesky"), 1, 1);
    check(&of(polybench!("lu"), "void kernel_lu"), 1, 1);
    check(&of(polybench!("ludcmp"), "void kernel_ludcmp"), 1, 1);
    check(&of(polybench!("trisolv"), "void kernel_trisolv"), 2, 1);
    check(&of(polybench!("durbin"), "void kernel_durbin"), 2, 1);
    // a part of `R` is written
    check(&of(polybench!("gramschmidt"), "void kernel_gramschmidt"), 2, 3);
    check(&of(polybench!("nussinov"), "void kernel_nussinov"), 2, 1);
}

#[test]
fn a_recurrence_is_no_region() {
    let code = "void f(int n, int rounds, double *restrict x, double *restrict y)\n{\n    for (int t = 0; t < rounds; t++) {\n        \
        for (int i = 1; i < n; i++)\n            x[i] += x[i - 1];\n        for (int i = 0; i < n; i++)\n            \
        y[i] += x[i];\n    }\n}\n";
    for line in [3, 4] {
        let report = report(code, line);
        assert!(matches!(report.outcome, Outcome::NotTried(_)), "{report:#?}");
    }
}

#[test]
fn output_between_kernels_keeps_them_apart() {
    let code = "int printf(const char *, ...);\nvoid f(int n, int rounds, double *x)\n{\n    \
        for (int t = 0; t < rounds; t++) {\n        for (int i = 0; i < n; i++)\n            x[i] *= 1.5;\n        \
        printf(\"%d\\n\", t);\n    }\n}\n";
    let report = report(code, 4);
    let Outcome::NotTried(why) = &report.outcome else { panic!("{report:#?}") };
    assert!(why.contains("what `printf` does cannot be taken back or done over (line 7)"), "{why}");
}

/// Marked loops of two functions: neighbors with a number between them, and two in a loop over time.
const MARKED: &str = "void chain(double A[8][8], double E[8][8], double C[8][8], double x)\n{\n    // warpwright: offload\n    \
    for (int i = 0; i < 8; i++)\n        for (int j = 0; j < 8; j++)\n            E[i][j] = A[i][j] * x;\n    x = x * 2;\n    \
    // warpwright: offload\n    for (int i = 0; i < 8; i++)\n        for (int j = 0; j < 8; j++)\n            \
    C[i][j] = E[j][i] + x;\n}\n\nvoid steps(int n, int rounds, float *u, float *v)\n{\n    for (int t = 0; t < rounds; t++) {\n        \
    // warpwright: offload(up)\n        for (int i = 1; i < n - 1; i++)\n            v[i] = u[i - 1] + u[i + 1];\n        \
    // warpwright: offload(down)\n        for (int i = 1; i < n - 1; i++)\n            u[i] = v[i] * 0.5f;\n    }\n}\n";

#[test]
fn marked_loops_of_a_function_share_their_data() {
    let doc = open(MARKED);
    let findings = full(&doc);
    let ask = crate::Ask::thorough(&doc);
    let done = crate::offload(&ask, &findings, &Which::Marked).expect("offloaded");
    let names: Vec<&str> = done.edit.create.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["chain_i.cu", "steps_t.cu"]);
    let kernels = |k: usize| done.edit.create[k].text.matches("__global__").count();
    assert_eq!((kernels(0), kernels(1)), (2, 2));
    assert!(done.edit.create[1].text.contains("void up_kernel("), "{}", done.edit.create[1].text);
    assert!(
        done.host.contains("    if (!steps_t_on_gpu(rounds, n, u, v)) {\n    for (int t"),
        "{}",
        done.host
    );
    assert!(!done.host.contains("warpwright:"), "{}", done.host);
    let options = VerifyOptions { cases: 8, steps: 3_000_000, ..VerifyOptions::default() };
    let reports = crate::verify(&ask, &findings, &Which::Marked, &options);
    assert_eq!(reports.len(), 2);
    for r in &reports {
        assert_eq!(r.outcome, Outcome::Same, "{r:#?}");
    }
    // between the neighbors nothing is copied
    each_is(&copies(&reports[0], |c| c.to_device), 1);
    each_is(&copies(&reports[0], |c| c.from_device), 2);
}

/// A field that is read, written elsewhere, and written back in a later nest, with the largest change of a round.
const FIELD: &str = "#include <math.h>\ndouble field[64], next[64];\ndouble f(int steps)\n{\n    double worst = 0;\n    \
    for (int s = 0; s < steps; s++) {\n        for (int i = 1; i < 63; i++)\n            next[i] = field[i - 1] + field[i + 1];\n        \
    worst = 0;\n        for (int i = 1; i < 63; i++) {\n            double d = fabs(next[i] - field[i]);\n            \
    if (d > worst)\n                worst = d;\n        }\n        for (int i = 1; i < 63; i++)\n            field[i] = next[i];\n    \
    }\n    return worst;\n}\n";

#[test]
fn a_copy_is_not_advised_where_later_iterations_read_what_is_written() {
    // large enough that a run to the read of what was written is not followed
    let code = "double field[40][48], next[40][48], dt = 0.1;\nvoid f(int steps)\n{\n    \
        for (int s = 0; s < steps; s++) {\n        for (int j = 1; j < 39; j++)\n            for (int i = 1; i < 47; i++)\n                \
        next[j][i] = field[j][i] + dt * (field[j][i + 1] - 2 * field[j][i] + field[j][i - 1] + field[j + 1][i]\n                    \
        + field[j - 1][i]);\n        for (int j = 1; j < 39; j++)\n            for (int i = 1; i < 47; i++)\n                \
        field[j][i] = next[j][i];\n    }\n}\n";
    let doc = open(code);
    let findings = full(&doc);
    let l = findings.on_line(4).expect("a loop");
    let view = findings.view(&crate::Ask::thorough(&doc), l.item).map(|v| crate::words::remedy(&v, l.id));
    let said = view.expect("a function");
    assert!(said.contains("a copy of it would not be enough") || said.contains("recurrence"), "{said}");
    assert!(!said.contains("the dependence is gone"), "{said}");
}

#[test]
fn what_is_the_same_to_the_bit_has_no_note() {
    let doc = open(FIELD);
    let done = crate::offload(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(6)).expect("offloaded");
    assert_eq!(done.notes, Vec::<String>::new());
    let sum = FIELD.replace("if (d > worst)\n                worst = d;", "worst += exp(d);");
    let doc = open(&sum);
    let done = crate::offload(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(6)).expect("offloaded");
    assert!(done.notes.len() == 2 && done.notes[1].contains("`exp`"), "{:?}", done.notes);
}

/// Smooths with arrays that only the file can name; `others` stands behind.
fn smoothing(others: &str) -> String {
    format!(
        "static double next[40], flow[40];
void smooth(int steps, double *restrict u) {{
    for (int t = 0; t < steps; t++) {{
        for (int i = 0; i < 39; i++)
            flow[i] = u[i + 1] - u[i];
        for (int i = 1; i < 39; i++)
            next[i] = u[i] + 0.25 * (flow[i] - flow[i - 1]);
        for (int i = 1; i < 39; i++)
            u[i] = next[i];
    }}
}}
{others}"
    )
}

#[test]
fn arrays_of_the_file_that_nobody_reads_later_stay_on_the_device() {
    check(&of(&smoothing(""), "void smooth"), 1, 1);
    let writes =
        "double sum(const double *a) { double s = 0.0; for (int i = 1; i < 39; i++) next[i] = a[i]; \
                  for (int i = 1; i < 39; i++) s += next[i]; return s; }";
    check(&of(&smoothing(writes), "void smooth"), 1, 1);
    // one of them is read first: it comes back, and with it what it held where it is not written
    check(&of(&smoothing("double flowed(void) { return flow[3]; }"), "void smooth"), 1, 2);
    check(&of(&smoothing("double kept(void) { return next[3]; }"), "void smooth"), 1, 2);
    check(&of(&smoothing("#include \"more.h\"\n"), "void smooth"), 1, 3);
}

#[test]
fn local_arrays_come_back_as_far_as_somebody_reads_them() {
    let text = |after: &str| {
        format!(
            "double steps(int rounds, double *restrict u) {{
    double work[40];
    for (int i = 0; i < 40; i++)
        work[i] = 0.0;
    for (int t = 0; t < rounds; t++) {{
        for (int i = 1; i < 39; i++)
            work[i] = u[i - 1] + u[i + 1];
        for (int i = 1; i < 39; i++)
            u[i] = 0.5 * work[i];
    }}
    {after}
}}"
        )
    };
    check(&of_second(&text("return 0.0;")), 1, 1);
    check(&of_second(&text("for (int i = 0; i < 40; i++) work[i] = u[i]; return work[7];")), 1, 1);
    check(&of_second(&text("return work[7];")), 1, 2);
}

/// The report of the loop around the others.
fn of_second(code: &str) -> VerifyReport {
    let line = code.lines().position(|l| l.contains("int t = 0")).expect("the loop") as u32 + 1;
    let report = report(code, line);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
    report
}

/// Control that leaves the statements, or jumps about in them: kernels run all the same, and the program goes on where it would.
#[test]
fn what_control_leaves_is_offloaded_with_its_ways_out() {
    let heads = [
        "int rounds_until",
        "long passes",
        "void operations",
        "int states",
        "void jumps_on",
        "void until_large",
    ];
    for function in heads {
        let report = of(LEFT, function);
        // what only some runs come to goes once at most, whatever the number of rounds
        let arrays = copies(&report, |c| c.to_device);
        assert!(arrays.iter().all(|&n| n <= 2), "{function}: {arrays:?}");
    }
}

/// What is promised of an array that the statements leave alone is tested where they begin, not before each kernel.
#[test]
fn promises_are_tested_once() {
    let report = of(PROMISES, "void spread_in_rounds");
    check(&report, 3, 1);
    let doc = open(PROMISES);
    let which = Which::Line(first_loop(PROMISES, "void spread_in_rounds"));
    let done = crate::offload(&crate::Ask::thorough(&doc), &full(&doc), &which).expect("offloaded");
    let made = &done.edit.create[0].text;
    assert_eq!(made.matches("_at_in_range(at").count(), 1, "{made}");
    assert_eq!(made.matches("_at_distinct(at").count(), 1, "{made}");
}

/// Pointers that kernels only read are given as such, and the program's own may be for more.
#[test]
fn pointers_to_what_is_only_read_are_set_as_the_program_declares_them() {
    let code = "int f(int n, int steps, double *a, double *b) {\n    double *p = a, *q = b;\n    for (int t = 0; t < steps; t++) {\n        for (int i = 1; i < n; i++)\n            a[i] = 2 * p[0];\n        double *z = p;\n        p = q;\n        q = z;\n    }\n    return p == b;\n}\n";
    let doc = open(code);
    let done = crate::offload(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(3)).expect("offloaded");
    let made = &done.edit.create[0].text;
    assert!(made.contains("? (double *)q : (double *)p;"), "{made}");
}
