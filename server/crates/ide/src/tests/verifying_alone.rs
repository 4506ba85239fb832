//! Loops of functions that cannot be run as a whole: tried alone, with made-up values for what comes before them.

use super::verifying::{report, with_replaced};
use crate::Outcome;

/// The same results, of the loop alone for the reason given.
fn check_alone(code: &str, line: u32, because: &str) {
    let report = report(code, line);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
    let said = &report.summary;
    assert!(
        said.contains("The loop was tried alone, with made-up values for what comes before it"),
        "{said}"
    );
    assert!(said.contains(because), "{said}");
}

/// A piece of the rewritten text replaced makes a difference, which is told: the loop is the same wherever it stands.
fn check_wrong(code: &str, line: u32, from: &str, to: &str, expected: &str) {
    let (tried, cases) = with_replaced(code, line, from, to);
    tried.expect("tried");
    let wrong = cases.iter().find_map(|c| Some((c.input.clone(), c.difference.clone()?)));
    let (input, what) = wrong.expect("something differs");
    assert!(input.starts_with("the loop alone with "), "{input}");
    assert!(what.contains(expected), "{what}");
}

/// The same results, and a piece replaced is seen.
fn check_seen(code: &str, line: u32, because: &str, from: &str, to: &str, expected: &str) {
    check_alone(code, line, because);
    check_wrong(code, line, from, to, expected);
}

/// A driver: what stands around the loop asks the time, opens a file, prints.
const DRIVER: &str = "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/time.h>\nint main(int argc, char **argv)\n{\n    struct timeval t;\n    int n = atoi(argv[1]), i, k = 0;\n    double *a = malloc(n * sizeof(double)), s = 0;\n    FILE *f = fopen(argv[2], \"r\");\n    if (!f || fread(a, 8, n, f) != n) { fprintf(stderr, \"%s\\n\", argv[2]); return 1; }\n    gettimeofday(&t, NULL);\n    for (int it = 0; it < 10; it++) {\n        for (i = 0; i < n; i++) {\n            double d = a[i] * it;\n            s += d;\n            if (d > 3) k = i;\n        }\n        printf(\"%d %g %d %ld\\n\", i, s, k, t.tv_sec);\n    }\n    return k;\n}\n";

#[test]
fn a_driver_is_left_out() {
    check_alone(DRIVER, 13, "did not run on any input");
}

#[test]
fn what_is_wanted_of_a_loop_alone_is_compared() {
    check_wrong(DRIVER, 13, "*i = (int)n;", "*i = (int)n + 1;", "`i[0]` is");
    check_wrong(DRIVER, 13, "*s += ww_part_s[ww_block];", "*s = ww_part_s[ww_block];", "`s[0]` is");
    check_wrong(DRIVER, 13, "*k = ww_part_k[ww_best_k];", "*k = 0;", "`k[0]` is");
}

#[test]
fn what_differs_where_the_function_knows_more_decides_nothing() {
    // that `m` is above `2 * n` is what the loop rests on
    let text = "void f(int (*get)(void), int n, int m, double *a)\n{\n    if (get() != 0 || m <= 2 * n)\n        return;\n    for (int i = 0; i < n; i++)\n        a[i] = a[i + m - n - 1];\n}\n";
    let said = report(text, 5);
    let Outcome::NotTried(why) = &said.outcome else { panic!("{said:#?}") };
    assert!(why.contains("may never come to the loop with such values"), "{why}");
    assert!(why.contains("`get`") && why.contains("differs for"), "{why}");
}

#[test]
fn rows_have_the_lengths_that_are_set_before_them() {
    let text = "int main(void (*log)(int), char **argv)\n{\n    int n = 24, m = n - 4;\n    float a[n][m], b[n][m];\n    float (*rows)[m] = b;\n    log(n);\n    for (int j = 1; j < n - 1; j++)\n        for (int i = 1; i < m - 1; i++)\n            a[j][i] = rows[j - 1][i] * 3.0f + rows[j + 1][i];\n    log(a[3][4]);\n    for (int i = 0; i < n; i++)\n        a[i][0] = a[i][m - 1];\n    log(a[3][0]);\n    return 0;\n}\n";
    check_seen(text, 7, "`log`", "* 3.0f", "* 2.0f", "`a[");
    check_alone(text, 11, "`log`");
    let text = "void f(void (*log)(int), int n, int m, float a[n][m])\n{\n    int half = m / 2;\n    float (*left)[half] = 0;\n    log(n);\n    left = (float (*)[half])a;\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < half; j++)\n            left[i][j] = i + j;\n    log(a[3][0]);\n}\n";
    let said = report(text, 7);
    assert_ne!(said.outcome, Outcome::Different, "{said:#?}");
}

#[test]
fn what_nobody_wants_of_a_loop_alone_is_not_compared() {
    let text = "#include <stdio.h>\nvoid f(double *restrict a, int n, void (*log)(int))\n{\n    int i, j;\n    double t, w[3];\n    log(n);\n    for (i = 0; i < n; i++) {\n        for (j = 0; j < 3; j++)\n            w[j] = i + j;\n        t = w[0] * w[2];\n        a[i] = t;\n    }\n}\n";
    check_alone(text, 7, "`log`");
}

#[test]
fn functions_handed_over_are_left_out() {
    let text = "struct gen { unsigned long (*next)(void *); void *state; };\nvoid sphere(const struct gen *g, unsigned long (*other)(int), int n, double *x)\n{\n    double d = 0;\n    do {\n        d = 0;\n        for (int i = 0; i < n; i++)\n            x[i] = other(i) + g->next(g->state);\n        for (int i = 0; i < n; i++)\n            d += x[i] * x[i];\n    } while (d == 0);\n    for (int i = 0; i < n; i++)\n        x[i] *= d;\n}\n";
    check_alone(text, 12, "no input can be made up for the parameter `other`");
    check_seen(
        text,
        9,
        "no input can be made up for the parameter `other`",
        "d += ww_part_d[ww_block];",
        "d += 1 + ww_part_d[ww_block];",
        "`d[0]` is",
    );
}

#[test]
fn what_is_set_once_keeps_its_value() {
    // with other numbers than these the copies would be too small or too large
    let text = "#include <stdio.h>\nint main(void (*log)(int))\n{\n    const int n = 20, m = n + 4;\n    static const double w[3] = {1, 2, 1};\n    const float pi = 3.0f;\n    double a[24][24], b[24][24];\n    if (fread(a, sizeof(a), 1, stdin) != 1) return 1;\n    for (int i = 1; i < m - 1; i++)\n        for (int j = 1; j <= n; j++)\n            b[i][j] = w[0] * a[i - 1][j] + w[1] * a[i][j] + w[2] * a[i + 1][j] + pi;\n    fwrite(b, sizeof(b), 1, stdout);\n    return 0;\n}\n";
    check_seen(text, 9, "`log`", "w[1] *", "w[2] *", "`b[");
}

#[test]
fn arrays_of_variable_length_structures_and_pointers_that_move() {
    let text = "#include <stdio.h>\nstruct box { double low, high; int n; };\nvoid f(int n, int m, FILE *from, void (*log)(int))\n{\n    double a[n][m], *p = a[0];\n    struct box b;\n    if (fread(&b, sizeof b, 1, from) != 1 || fread(a, sizeof a, 1, from) != 1 || !stdout) return;\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++)\n            a[i][j] = a[i][j] * b.low + b.n;\n    fwrite(a, sizeof a, 1, stdout);\n}\n";
    check_seen(text, 8, "`log`", "* b.low", "+ b.low", "`a[0]` is");
    let text = "#include <stdio.h>\nvoid f(int (*get)(void), float *x, FILE *to)\n{\n    float *p = x, *q;\n    int n = get();\n    q = p + n;\n    for (int i = 0; i < n; i++)\n        p[i] = i;\n    fprintf(to, \"%d\", (int)(q - p));\n}\n";
    check_alone(text, 7, "`get`");
}

#[test]
fn a_variable_of_the_function_hides_one_of_the_file() {
    let text = "#include <stdio.h>\nint n = 3, s;\nvoid g(void) { s = n; }\nvoid f(int *restrict a, int (*get)(void))\n{\n    int n = get();\n    double s = 0;\n    for (int i = 0; i < n; i++) {\n        a[i] = i;\n        s += i;\n    }\n    printf(\"%g\", s);\n}\n";
    check_seen(text, 8, "`get`", "s += ww_part_s[ww_block];", "s += 1;", "`s (local)[0]` is");
}

#[test]
fn whole_functions_are_preferred() {
    let report = report(
        "void f(int n, double *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = i;\n}\n",
        2,
    );
    assert!(!report.summary.contains("alone"), "{}", report.summary);
}

#[test]
fn what_cannot_stand_alone_either_says_both() {
    let text = "struct node { struct node *next; };\nextern struct rest late;\nvoid f(void (*g)(void), int n, long double x, double *a)\n{\n    g();\n    for (int i = 0; i < n; i++)\n        a[i] = (double)i;\n    for (int i = 0; i < n; i++)\n        a[i] = i / 0;\n}\n";
    let report = report(text, 8);
    let Outcome::NotTried(why) = report.outcome else { panic!("{report:#?}") };
    assert!(why.contains("parameter `g`"), "{why}");
    assert!(why.contains("Nor was the loop alone compared") || why.contains("No kernel"), "{why}");
}
