//! What a sentence leaves out: conditions that only a copy needs, the same said twice, advice that frees nothing.

use super::untrue::said;
use super::{full, open, open_cuda};

fn findings(code: &str) -> String {
    full(&open(code)).diagnostics.iter().map(|d| format!("{}: {}\n", d.code, d.message)).collect()
}

#[test]
fn what_only_a_copy_needs_is_no_condition_of_the_verdict() {
    // no kernel is made of it, and `a` is only read: in which rows its elements lie does not matter
    let text = "#include <stddef.h>\nvoid f(size_t n, size_t s, size_t t, double *w, const double *a, const int *k) {\n    for (size_t i = 0; i < n; i++) {\n        char *mark = __builtin_alloca(4);\n        mark[0] = 0;\n        w[i * t] += a[i * s] + mark[0];\n    }\n}\n";
    let all = findings(text);
    assert!(!all.contains("`a[i * s]`") && !all.contains("`i * s`"), "{all}");
    // and one that is offered is tested for it
    let text = "#include <stddef.h>\ndouble f(size_t n, size_t s, const double *a) {\n    double t = 0;\n    for (size_t i = 0; i < n; i++) t += a[i * s];\n    return t;\n}\n";
    let all = findings(text);
    assert!(
        all.contains("Can run on the GPU") && all.contains("checks that") && all.contains("`i * s`"),
        "{all}"
    );
}

#[test]
fn functions_of_which_nothing_is_known_are_told_together() {
    let text = "int f(int); int g(int); int h(int);\nvoid k(int n, int *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = f(i) + g(i) + h(i);\n}\n";
    let all = findings(text);
    assert!(all.contains("`f` (line 4), `g` (line 4) and `h` (line 4) may read or write anything: they are not defined in this file"), "{all}");
    assert_eq!(all.matches("may read or write anything").count(), 1, "{all}");
}

#[test]
fn a_scan_of_one_variable_does_not_free_the_others() {
    let text = "float f(int n, const float *a) {\n    float p = 1, x = 0, y = 1;\n    for (int i = 0; i < n; i++) {\n        p *= a[i];\n        float z = a[i] * y - x * p;\n        x = y;\n        y = z * z;\n    }\n    return p + y;\n}\n";
    let all = findings(text);
    assert!(!all.contains("parallel scan") || all.contains("carried besides"), "{all}");
    let alone = "void f(int n, const int *a, int *restrict b) {\n    int s = 0;\n    for (int i = 0; i < n; i++) {\n        b[i] = s;\n        s += a[i];\n    }\n}\n";
    let all = findings(alone);
    assert!(all.contains("a parallel scan could compute it") && !all.contains("besides"), "{all}");
}

/// What is made of two neighbours that are both new is no chain: no scan computes it, however the array is reached.
#[test]
fn sweeps_over_two_dimensions_are_no_scan() {
    for (head, body) in [
        (
            "typedef struct { double *u; } G; void f(int n, G *g)",
            "g->u[i*n+j] = 0.25 * (g->u[(i-1)*n+j] + g->u[(i+1)*n+j] + g->u[i*n+j-1] + g->u[i*n+j+1]);",
        ),
        (
            "typedef struct { double **p; } G; void f(int n, G *g)",
            "g->p[i][j] = 0.25 * (g->p[i-1][j] + g->p[i+1][j] + g->p[i][j-1] + g->p[i][j+1]);",
        ),
        (
            "void f(int n, double **u)",
            "u[i][j] += 0.25 * (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1] - 4 * u[i][j]);",
        ),
        (
            "void f(int n, double *u)",
            "u[i*n+j] = 0.25 * (u[(i-1)*n+j] + u[(i+1)*n+j] + u[i*n+j-1] + u[i*n+j+1]);",
        ),
    ] {
        let all = findings(&format!("{head} {{\n    for (int i = 1; i < n - 1; i++)\n        for (int j = 1; j < n - 1; j++)\n            {body}\n}}\n"));
        assert!(all.contains("sequential") && !all.contains("parallel scan"), "{all}");
    }
    let rows = "typedef struct { double *u; } G; void f(int n, int m, G *g) {\n    for (int i = 1; i < n; i++)\n        for (int j = 0; j < m; j++)\n            g->u[i*m+j] = 0.5 * g->u[(i-1)*m+j] + g->u[i*m+j];\n}\n";
    let all = findings(rows);
    assert!(all.contains("first-order linear recurrence"), "{all}");
}

#[test]
fn sums_in_places_are_no_recurrence() {
    let text = "typedef struct { float r, i; } cx;\nvoid f(int n, int lda, cx *y, const cx *a, const cx *x) {\n    for (int j = 1; j <= n; ++j)\n        for (int i = 1; i <= j - 1; ++i) {\n            float q = a[i + j * lda].r * x[j].r;\n            float p = y[i].r + q;\n            y[i].r = p;\n        }\n}\n";
    let all = findings(text);
    assert!(!all.contains("This is a recurrence"), "{all}");
    assert!(all.contains("Iterations change what others left in `y.r`"), "{all}");
    let advised = |body: &str| {
        findings(&format!("void f(int n, float c, float *a, unsigned char *b, float *y) {{\n    for (int i = 0; i < n; i++) {{ {body} }}\n}}\n"))
    };
    for sum in ["y[i % 4] += a[i]; y[i % 3] = a[i] + y[i % 3];", "y[i % 4] = y[i % 4] - a[i] + c; y[0] -= c;"]
    {
        assert!(!advised(sum).contains("This is a recurrence"), "{}", advised(sum));
    }
    // what is taken away, doubled, made smaller, or used in between
    for other in [
        "y[0] = c - y[0];",
        "y[0] = y[0] + y[0];",
        "b[i % 4] = (unsigned char)(b[i % 4] + c);",
        "float p = y[0]; a[i] = p; y[0] = p + c;",
        "int j = i; float p = y[j]; j = j + 1; y[j] = p + c;",
    ] {
        assert!(!advised(other).contains("atomic operations"), "{}", advised(other));
    }
    // what a place takes from another is
    let text = "void f(int n, float *a) {\n    for (int i = 1; i < n; i++) a[i] = a[i - 1] + 1;\n}\n";
    assert!(findings(text).contains("This is a recurrence"), "{}", findings(text));
}

#[test]
fn loops_that_free_are_left_alone() {
    for free in ["free(v[i])", "give(v[i])"] {
        let text = format!("#include <stdlib.h>\nstatic void give(void *p) {{ free(p); }}\nvoid f(double **v, int n) {{\n    for (int i = 0; i < n; i++) {free};\n}}\n");
        assert!(!findings(&text).contains("promise"), "{}", findings(&text));
        assert!(!findings(&text).contains("unknown-loop"), "{}", findings(&text));
    }
}

#[test]
fn the_increment_of_a_vector_is_no_tile() {
    let text = "__global__ void k(int n, float *x, int incx) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i * incx] = 0;\n}\n__global__ void rows(int n, float *x, int ld) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) for (int j = 0; j < 4; j++) x[i * ld + j] = 0;\n}\n";
    let found = full(&open_cuda(text));
    let of = |line: u32| {
        let on = |d: &&crate::Diagnostic| {
            d.code == "strided-access"
                && text[..d.span.start as usize].matches('\n').count() as u32 + 1 == line
        };
        found.diagnostics.iter().filter(on).map(|d| d.message.to_string()).collect::<String>()
    };
    assert!(of(3).contains("With `incx` = 1") && !of(3).contains("tile"), "{}", of(3));
    assert!(of(7).contains("tile"), "{}", of(7));
}

#[test]
fn values_that_end_a_run_are_said_of_variables_as_well() {
    let text = "void f(int n, int *xa, const int *p) {\n    int k = 0, s = xa[0];\n    for (int i = 1; i < n; i++) { k += s; s = xa[p[i]]; xa[p[i]] = k; }\n}\n";
    assert!(!said(text).contains("meet by their subscripts, but no run shows it"), "{}", said(text));
}

/// A value flows where it is still there when it is read.
#[test]
fn what_is_written_over_does_not_flow() {
    let work = "void f(int n, int m, const int *restrict row, const double *restrict a, double *restrict w, double *restrict out) {\n    for (int k = 0; k < m; ++k) {\n        for (int i = 0; i < n; ++i)\n            w[i] = a[i + k * n];\n        for (int i = 0; i < n; ++i)\n            w[row[i]] += 1;\n        out[k] = w[0];\n    }\n}\n";
    let all = findings(work);
    assert!(all.contains("dependence on `w`"), "{all}");
    assert!(!all.contains("flow dependence") && !all.contains("recurrence"), "{all}");
    // what an iteration does not overwrite does
    let kept = work.replace("w[i] = a", "w[i + 1] = a");
    assert!(findings(&kept).contains("dependence on `w`"), "{}", findings(&kept));
    let passed = "void f(int n, int m, const double *restrict a, double *restrict w) {\n    for (int k = 0; k < m; ++k)\n        for (int i = 0; i < n; ++i)\n            w[i] = w[i] * a[k] + 1;\n}\n";
    assert!(findings(passed).contains("flow dependence on `w`"), "{}", findings(passed));
}

#[test]
fn recurrences_are_of_their_order() {
    let of = |value: &str| {
        findings(&format!("void f(int n, float c, float *a, const float *b) {{\n    for (int i = 2; i < n; i++) {{ float t = a[i - 2]; a[i] = {value}; (void)t; }}\n}}\n"))
    };
    for first in ["c * a[i - 1] + b[i]", "b[i] - a[i - 1]", "a[i] + c * a[i - 1]"] {
        assert!(of(first).contains("parallel scan"), "{first}: {}", of(first));
    }
    for other in [
        "c * a[i - 1] - a[i - 2]",
        "c * a[i - 1] - t",
        "a[i - 1] * a[i - 1]",
        "a[i - 1] + a[(int)b[i]]",
        "(int)(c * a[i - 1])",
    ] {
        assert!(!of(other).contains("parallel scan"), "{other}: {}", of(other));
    }
}

/// The running mean: whatever a stride without a sign is, each iteration needs the one before.
#[test]
fn a_running_mean_is_sequential() {
    let all = findings("#include <stddef.h>\ndouble mean(const double *x, size_t stride, size_t n) {\n    double m = 0;\n    for (size_t i = 0; i < n; i++)\n        m += (x[i * stride] - m) / (i + 1);\n    return m;\n}\n");
    assert!(all.contains("iteration i=0 writes m on line 5, iteration i=1 reads it on line 5"), "{all}");
    assert!(all.contains("Each iteration needs `m`") && !all.contains("only accumulates"), "{all}");
}

#[test]
fn that_a_generator_is_pure_is_not_asked() {
    let of = |function: &str, parameters: &str| {
        let name = function.split('(').next().unwrap_or("");
        findings(&format!("struct s; double {name}({parameters});\nvoid f(int n, struct s *r, double *restrict a) {{\n    for (int i = 0; i < n; i++)\n        a[i] = {function};\n}}\n"))
    };
    assert!(of("weight(i)", "int").contains("assume(pure(weight))"));
    assert!(of("definite(r, i)", "const struct s *, int").contains("assume(pure(definite))"));
    for (call, parameters) in [
        ("my_rng_get(r)", "const struct s *"),
        ("uniform()", "void"),
        ("next_value(i)", "int"),
        ("weight(r)", "struct s *"),
    ] {
        assert!(!of(call, parameters).contains("assume(pure"), "{call}");
    }
}

/// `y[i] += …` in the loop over a row's elements: which rows have some is known, and that `y` is apart from their ends, before these
/// say what else is read.
#[test]
fn rows_of_sparse_matrices_are_summed_in_place() {
    let all = findings("void f(int n, const double *v, const int *row, const int *col, const double *x, double *y) {\n    for (int i = 0; i < n; ++i)\n        for (int p = row[i]; p < row[i + 1]; ++p)\n            y[i] += v[p] * x[col[p]];\n}\n");
    assert!(all.starts_with("parallel-loop: Can run on the GPU: the iterations of loop `i`"), "{all}");
}

/// Memory that functions of the program make, which say so where there is none.
#[test]
fn what_functions_make_is_apart_from_what_was_given() {
    let all = findings("#include <stdio.h>\n#include <stdlib.h>\nstatic void stop(const char *why) { fprintf(stderr, \"%s\", why); exit(-1); }\nstatic int *made(int n) {\n    int *p = (int *) malloc((size_t) n * sizeof(int));\n    if (!p) { char why[256]; snprintf(why, sizeof(why), \"%s at line %d in file %s\\n\", \"none\", __LINE__, __FILE__); stop(why); }\n    return p;\n}\nvoid f(int n, const int *a, const int *b) {\n    int *t = made(n);\n    for (int i = 0; i < n; i++) t[i] = a[b[i]];\n    printf(\"%d\", t[0]);\n}\n");
    assert!(all.contains("loop `i` can be executed independently. Apply"), "{all}");
}
