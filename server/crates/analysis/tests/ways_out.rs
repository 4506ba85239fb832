//! Branches that leave a loop, report or print: the loop is judged without them, under the condition that none is entered.

mod common;

use analysis::{ConditionKind, LoopFacts, MetBy, Verdict};
use common::last_of_depth_zero;

/// Whether the loop is parallel where its ways out are not taken, and on how many it rests that are tested.
fn granted(text: &str) -> (Verdict, Option<usize>) {
    let l = last_of_depth_zero(text);
    (l.verdict, l.granted.is_some().then(|| tested(&l)))
}

fn tested(l: &LoopFacts) -> usize {
    let asked = |c: &&analysis::Condition| matches!(c.kind, ConditionKind::Asserted(_));
    l.conditions.iter().filter(asked).filter(|c| c.met_by == MetBy::RunTimeCheck && c.check.is_some()).count()
}

const INDEPENDENT: (Verdict, Option<usize>) = (Verdict::Independent, Some(1));

#[test]
fn a_way_out_whose_condition_is_a_sum_of_indices_is_tested_before_the_loop() {
    for text in [
        "int f(int n, int m, double *a) { for (int i = 0; i < n; i++) { if (i >= m) return 1; a[i] = 2 * a[i]; } return 0; }",
        "void f(int n, int m, double *a) { for (int i = 0; i < n; i++) { if (i >= m) break; a[i] = 2 * a[i]; } }",
        "void f(int n, int m, double *a) { for (int i = 0; i < n; i++) { if (i < m) a[i] = 2 * a[i]; else break; } }",
        "#include <stdlib.h>\nvoid f(int n, int m, double *a) { for (int i = 0; i < n; i++) { int k = i + 3; if (k > m) exit(1); a[k] = 1; } }",
    ] {
        assert_eq!(granted(text), INDEPENDENT, "{text}");
    }
}

#[test]
fn so_is_one_whose_condition_stays_the_same() {
    for text in [
        "#include <stdio.h>\nvoid f(int n, int verbose, double *a) { for (int i = 0; i < n; i++) { a[i] = 1; if (verbose) printf(\"%d\", i); } }",
        "#include <stdio.h>\nvoid f(int n, int debug, double *a) { for (int i = 0; i < n; i++) { a[i] = 1; if (debug != 0) { for (int k = 0; k < 3; k++) printf(\"%d\", k); } } }",
        "#include <stdio.h>\nvoid f(int n, double eps, double *a) { for (int i = 0; i < n; i++) { if (eps <= 0) { puts(\"eps\"); return; } a[i] = eps; } }",
        "#include <stdio.h>\nvoid f(int n, const char *log, double *a) { for (int i = 0; i < n; i++) { if (log) puts(log); a[i] = 1; } }",
        "void g(int); void f(int n, int m, double *a) { for (int i = 0; i < n; i++) { if (m == 0) g(i); a[i] = 1; } }",
        // the one that stays the same, not the one that tells which iteration prints
        "#include <stdio.h>\nvoid f(int n, int v, double *a) { for (int i = 0; i < n; i++) { a[i] = 1; if (v > 1) { if (i % 100 == 0) printf(\"%d\", i); } } }",
    ] {
        assert_eq!(granted(text), INDEPENDENT, "{text}");
    }
}

#[test]
fn and_those_of_called_functions() {
    let vector = "#include <stdio.h>\n#include <stdlib.h>\n\
        struct v { long size; double *data; };\n\
        static void bad(const char *what) { fprintf(stderr, \"%s\", what); abort(); }\n\
        static double get(const struct v *v, long i) { if (i < 0 || i >= v->size) { bad(\"get\"); return 0; } return v->data[i]; }\n\
        static void set(struct v *v, long i, double x) { if (i >= v->size) bad(\"set\"); v->data[i] = x; }\n";
    let text = format!("{vector}void f(struct v *v, struct v *w) {{ for (long i = 0; i < v->size; i++) set(v, i, 2 * get(w, i)); }}");
    // what `set` asks is proved
    assert_eq!(granted(&text), INDEPENDENT, "{text}");
    let text = format!("{vector}double f(long n, struct v *w) {{ double s = 0; for (long i = 0; i < n; i++) s += get(w, i); return s; }}");
    assert_eq!(granted(&text), (Verdict::Reduction, Some(1)), "{text}");
}

#[test]
fn nothing_is_said_where_it_cannot_be_known_before_the_loop() {
    for text in [
        // of data, or of what the loop computes
        "#include <stdlib.h>\nvoid f(int n, double *a) { for (int i = 0; i < n; i++) { if (a[i] < 0) exit(1); a[i] = 1; } }",
        "int f(int n, double *a, double e) { double s = 0; for (int i = 0; i < n; i++) { s += a[i]; if (s > e) break; } return s > e; }",
        "int f(int n, const int *p, double *a) { for (int i = 0; i < n; i++) { if (p[i] >= n) return 1; a[i] = 1; } return 0; }",
        // always, some time, or only not where there is nothing to do
        "#include <stdio.h>\nvoid f(int n, double *a) { for (int i = 0; i < n; i++) { if (i % 100 == 0) printf(\"%d\", i); a[i] = 1; } }",
        "#include <stdio.h>\nvoid f(int n, double *a) { for (int i = 0; i < n; i++) { if (i < 1) puts(\"first\"); a[i] = 1; } }",
        "#include <stdio.h>\nvoid f(int n, double *a) { for (int i = 0; i < n; i++) { if (i == n - 1) puts(\"last\"); a[i] = 1; } }",
        "#include <stdio.h>\nvoid f(int n, double *a) { for (int i = 0; i < n; i++) { puts(\"each\"); a[i] = 1; } }",
        // the loop itself changes what is asked
        "#include <stdio.h>\nvoid f(int n, int m, double *a) { for (int i = 0; i < n; i++) { if (m) puts(\"m\"); m = a[i] > 0; a[i] = 1; } }",
        // asking does something
        "#include <stdio.h>\nvoid f(int n, int m, double *a) { for (int i = 0; i < n; i++) { if (m++ > 7) puts(\"m\"); a[i] = 1; } }",
        "#include <stdio.h>\nvoid f(int n, volatile int *m, double *a) { for (int i = 0; i < n; i++) { if (*m) puts(\"m\"); a[i] = 1; } }",
        // what is tested instead would say more
        "int f(int n, int m, double *a) { for (int i = 0; i < n; i++) { if ((i & 7) > m) return 1; a[i] = 1; } return 0; }",
        "#include <stdio.h>\nvoid f(int n, int b, double *a) { for (int i = 0; i < n; i++) { if (i == b) puts(\"b\"); a[i] = 1; } }",
        // somebody jumps into it
        "int f(int n, int c, int d, double *a) { for (int i = 0; i < n; i++) { switch (d) { case 0: if (c) { case 1: return 1; } a[i] = 3; } a[i] *= 2; } return 0; }",
        "int f(int n, int c, int d, double *a) { for (int i = 0; i < n; i++) { switch (d) { case 0: if (c) a[i] = 3; else { default: return 1; } } } return 0; }",
        "void f(int n, int m, double *a) { for (int i = 0; i < n; i++) { if (i < m) goto in; a[i] = 1; if (m > 9) { in: a[i] = 2; return; } } }",
    ] {
        assert_eq!(granted(text), (Verdict::Unknown, None), "{text}");
    }
}

#[test]
fn what_the_loop_does_without_it_stands_in_the_way_as_ever() {
    for text in [
        "int f(int n, int m, double *a) { for (int i = 1; i < n; i++) { if (i >= m) return 1; a[i] = 2 * a[i - 1]; } return 0; }",
        "int f(int n, int m, double *a, const int *p) { for (int i = 0; i < n; i++) { if (i >= m) return 1; a[p[i]] = i; } return 0; }",
    ] {
        assert_eq!(granted(text).1, None, "{text}");
    }
}

/// What a way out does is part of the function: earlier rounds of a loop around, or calls before, may have taken it.
#[test]
fn what_a_way_out_did_before_counts() {
    let leaked = "int g(void);\nvoid f(int n, int m, double *a) { double x = 0; double *p = a; \
        for (int t = 0; t < m; t++) { int k = g(); \
        for (int i = 0; i < n; i++) { if (k) { p = &x; break; } p[0] = i; x = a[i]; a[i] = x + 1; } } }";
    let inner = common::last_loop_of_f(leaked);
    assert_ne!(inner.verdict, Verdict::Independent, "{:?}", inner.conditions);
    let last = "int g(void);\nint f(int n, int m, double *a) { int last = 0, t; \
        for (t = 0; t < m; t++) { int k = g(); \
        for (int i = 0; i < n; i++) { if (k) { last = last + 1; break; } a[i] = last; } } return last; }";
    let inner = common::last_loop_of_f(last);
    assert_eq!(inner.verdict, Verdict::Independent, "{:?}", inner.obstacles);
    assert!(inner.privates.iter().all(|p| p.declared_inside), "{:?}", inner.privates);
}

/// What a way out would read of the loop's numbers is not left by it.
#[test]
fn numbers_that_only_ways_out_read_are_no_last_values() {
    for text in [
        "#include <stdio.h>\nvoid f(int n, int m, int v, double *a) { int i, j; for (i = 0; i < n; i++) for (j = 0; j < m; j++) { a[i * 100 + j % 100] = 1; if (v) printf(\"%d %d\", i, j); } }",
        "#include <stdio.h>\nvoid bad(void);\nstatic double get(const double *a, int n, int i) { if (i >= n) { bad(); return 0; } return a[i]; }\nvoid f(int n, int m, const double *restrict a, double *restrict b) { int i, j; for (i = 0; i < n; i++) { b[i] = 0; for (j = 0; j < m; j++) b[i] += get(a, 7, j); } }",
    ] {
        let l = last_of_depth_zero(text);
        assert!(l.granted.is_some(), "{text}");
        let last = l.reductions.iter().any(|r| r.op == analysis::ReductionOp::Last);
        assert!(!last, "{:?}\n{text}", l.reductions);
    }
}
