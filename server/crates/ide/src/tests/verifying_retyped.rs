//! Offloaded loops in programs that use memory as another type than it has.

use super::verifying::report;
use crate::Outcome;

const HEAD: &str =
    "void *malloc(unsigned long n);\nstruct base { double cutoff; char name[8]; int id, more; };\n\
                    struct full { double cutoff; double *a; double *b; };\n";

#[test]
fn addresses_that_a_run_keeps_in_another_structure_are_no_numbers() {
    // the loop's copies on the device take numbers of objects, too
    let code = format!(
        "{HEAD}void f(struct base *p, int n, const double *x, double *restrict y) {{\n    struct full *q = (struct full *)p;\n    for (int i = 0; i < n; i++)\n        y[i] = 2 * x[i];\n    q->b = malloc(16);\n    q->b[0] = n;\n    q->b[1] = 3;\n}}\n"
    );
    let report = report(&code, 6);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
}

#[test]
fn numbers_beside_them_are_compared() {
    let code = format!(
        "{HEAD}void f(struct base *p, int n, const double *x) {{\n    struct full *q = (struct full *)p;\n    int s = 0;\n    for (int i = 0; i < n; i++)\n        s += x[i] > 0;\n    q->b = malloc(16);\n    p->name[0] = s;\n}}\n"
    );
    let report = report(&code, 7);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
}

#[test]
fn regrouped_sums_in_another_structure_are_wrong_of_nothing() {
    let code = "struct base { int a, b, c, d; };\nstruct sums { double s; unsigned long bits; };\nvoid f(struct base *p, int n, const double *x) {\n    double s = 0;\n    for (int i = 0; i < n; i++)\n        s += x[i];\n    struct sums *q = (struct sums *)p;\n    q->s = s;\n    q->bits = *(unsigned long *)&s;\n}\n";
    let report = report(code, 5);
    assert_ne!(report.outcome, Outcome::Different, "{report:#?}");
}
