//! Sentences that were said and were not true, each of a program that got it: none may come back.

use super::{full, open, open_cuda};
use crate::{hover, offload, Ask, Which};

/// All that is said of a document's loops: findings and hovers.
fn said(code: &str) -> String {
    let doc = open(code);
    let (findings, ask) = (full(&doc), Ask::thorough(&doc));
    let messages = findings.diagnostics.iter().map(|d| format!("{}: {}\n", d.code, d.message));
    let hovers = findings.loops.iter().filter_map(|l| Some(hover(&ask, &findings, l.header.start)?.markdown));
    messages.chain(hovers).collect()
}

/// What is said of every place of a CUDA document that has a hover.
fn said_of_cuda(code: &str) -> String {
    let doc = open_cuda(code);
    let (findings, ask) = (full(&doc), Ask::thorough(&doc));
    let places = (0..code.len() as u32).filter_map(|at| Some(hover(&ask, &findings, at)?.markdown));
    let mut all: Vec<String> = places.collect();
    all.dedup();
    all.extend(findings.diagnostics.iter().map(|d| d.message.to_string()));
    all.join("\n")
}

#[test]
fn pointers_to_rows_that_are_only_read_may_be_equal() {
    let all = said("void f(int n, const float **rows, const int *which, float *restrict y) {\n    for (int i = 0; i < n; i++) {\n        const float *r = rows[which[i]];\n        y[i] = r[0] + r[1];\n    }\n}\n");
    assert!(!all.contains("the same value twice"), "{all}");
}

#[test]
fn a_column_is_not_compared_with_its_own_access() {
    let all = said("typedef struct { int h, w, c; float *data; } image;\nvoid f(image *image, int k, float v) {\n    for (int i = 0; i < k; i++)\n        for (int j = 0; j < image[i].h; j++)\n            image[i].data[j * image[i].w] = v;\n}\n");
    for part in all.split("the column in `").skip(1) {
        let access = part.split('`').next().unwrap_or_default();
        assert!(!part.contains(&format!("stays below `{access}`")), "{part}");
    }
}

#[test]
fn a_condition_that_no_iteration_changes_does_not_depend_on_data() {
    let all = said("#include <stddef.h>\nvoid f(int n, int m, float *restrict out, const float *restrict bias) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++)\n            if (bias != NULL) out[i * m + j] += bias[j];\n}\n");
    assert!(!all.contains("depends on data"), "{all}");
    assert!(
        all.contains("not yet offloadable (bias != NULL)") && all.contains("is the same in all iterations"),
        "{all}"
    );
    // and one that they do change does
    let all = said("void f(int n, const int *restrict k, float *restrict a, const float *b) {\n    for (int i = 0; i < n; i++) {\n        int wanted = k[i];\n        if (wanted) a[i] = b[i];\n    }\n}\n");
    assert!(!all.contains("is the same in all iterations"), "{all}");
}

#[test]
fn functions_that_round_alike_are_not_said_to_differ() {
    let doc = open("#include <math.h>\nvoid f(int n, const double *restrict a, double *restrict b) {\n    for (int i = 0; i < n; i++)\n        b[i] = fabs(a[i]) + fmax(a[i], 0.0) + fmin(a[i], 1.0) + floor(a[i]) + sqrt(a[i]);\n}\nvoid g(int n, const double *restrict a, double *restrict b) {\n    for (int i = 0; i < n; i++)\n        b[i] = exp(a[i]);\n}\n");
    let findings = full(&doc);
    let notes = |line| offload(&Ask::thorough(&doc), &findings, &Which::Line(line)).expect("a kernel").notes;
    assert_eq!(notes(3), [] as [&str; 0]);
    assert!(notes(7).iter().any(|n| n.contains("`exp`") && n.contains("last bits")), "{:?}", notes(7));
}

#[test]
fn arrays_in_structs_are_not_said_to_have_strange_subscripts() {
    let all = said("struct tokens { char pieces[512]; int *vocab; };\nvoid f(struct tokens *t) {\n    for (int i = 0; i < 256; i++) {\n        t->pieces[i * 2] = (char)i;\n        t->pieces[i * 2 + 1] = 0;\n    }\n}\n");
    assert!(!all.contains("not a sum of loop indices"), "{all}");
}

#[test]
fn what_a_missing_header_declares_is_not_blamed_on_subscripts() {
    let all = said("#include \"sizes.h\"\nextern double forcing[KMAX][JMAX][IMAX][5];\nvoid f(int n) {\n    int i, j, k, m;\n    for (k = 0; k < n; k++)\n        for (j = 0; j < n; j++)\n            for (i = 0; i < n; i++)\n                for (m = 0; m < 5; m++)\n                    forcing[k][j][i][m] = 0.0;\n}\nvoid g(void) {\n    int i;\n    for (i = 0; i < grid_points[2]; i++)\n        rhs[i] = forcing[i][0][0][0];\n}\n");
    assert!(!all.contains("not a sum of loop indices") && !all.contains("it is not known where"), "{all}");
    assert!(all.contains("no declaration of `grid_points` (line 13) was found"), "{all}");
    assert!(all.contains("how long the rows of `forcing`"), "{all}");
    assert!(all.contains("`sizes.h`, which the file includes, was not found"), "{all}");
}

#[test]
fn a_type_that_a_missing_header_declares_is_named() {
    let all = said("#include \"config.h\"\nstruct matrix { int_t rows; };\nint f(int_t *marker, struct matrix *m, int n, int *restrict w) {\n    int_t i;\n    for (i = 1; i <= n; ++i)\n        if (marker[i] < 3) marker[i] = 0;\n    for (int k = 0; k < m->rows; k++)\n        w[k] = 2;\n    return 0;\n}\n");
    assert!(!all.contains("not an integer") && !all.contains("a check at run time cannot tell"), "{all}");
    assert!(all.contains("no declaration of the type `int_t` was found, which `i` (line 5) needs"), "{all}");
    assert!(all.contains("missing-header: `config.h` was not found, and `int_t` is declared nowhere: what uses it is not known"), "{all}");
    // several are told together, and what a toolkit brings is not missed
    let all = said("#include \"a.h\"\n#include \"cuda_runtime.h\"\n#include \"b.h\"\nvoid f(double *a) {\n    for (int i = 0; i < CELLS; i++) a[i] = 0;\n    cudaDeviceSynchronize();\n}\n");
    assert_eq!(all.matches("missing-header").count(), 1, "{all}");
    assert!(
        all.contains("`a.h` and another header were not found, and `CELLS` is declared nowhere"),
        "{all}"
    );
    let all = said("#include \"cuda_runtime.h\"\n#include <nvml.h>\nvoid f(void) {\n    cudaDeviceSynchronize();\n    nvmlInit();\n}\n");
    assert!(!all.contains("missing-header"), "{all}");
    // what really is no integer is said to be none
    let all = said("void f(double x, double *a) {\n    for (double t = 0; t < x; t += 0.5)\n        a[(int)(2 * t)] = t;\n}\n");
    assert!(all.contains("is not an integer"), "{all}");
}

#[test]
fn a_pointer_is_not_called() {
    let all = said("void part(float *out, const float *in, int n, int at) {\n    const float *x = in + at;\n    while (n-- > 0) {\n        *out++ = *x++;\n    }\n}\nvoid f(int n, float *out, const float *in) {\n    for (int i = 0; i < n; i++)\n        part(out + i, in, n, i);\n}\n");
    assert!(!all.contains("`x`, called from"), "{all}");
}

#[test]
fn advice_fits_what_the_loop_does() {
    // `rho` is begun anew in each iteration, and read: it accumulates nothing
    let all = said("double f(int n, double *r) {\n    double rho = 0, old;\n    for (int it = 0; it < 10; it++) {\n        old = rho;\n        rho = 0;\n        for (int j = 0; j < n; j++) rho = rho + r[j] * r[j];\n        for (int j = 0; j < n; j++) r[j] = r[j] * (old - rho);\n    }\n    return rho;\n}\n");
    assert!(!all.contains("only accumulates") && !all.contains("Declare `rho`"), "{all}");
    // a copy takes no flow dependence away
    let all = said("void f(int n, float *a) {\n    for (int i = 1; i < n - 1; i++)\n        a[i] = a[i - 1] + a[i + 1];\n}\n");
    assert!(!all.contains("from a copy"), "{all}");
    // what is read after the loop cannot be declared in it
    let all = said("double f(int n, const double *restrict x, double *restrict y) {\n    double rho = 0;\n    for (int i = 0; i < n; i++) {\n        if (x[i] > 0) rho = x[i] * 2;\n        y[i] = rho;\n    }\n    return rho;\n}\n");
    assert!(!all.contains("Declare `rho` inside"), "{all}");
}

#[test]
fn restrict_is_advised_where_it_helps() {
    // a pointer that is loaded gains nothing by it
    let all = said("struct s { float *a, *b; int n; };\nvoid f(struct s *s) {\n    for (int i = 0; i < s->n; i++)\n        for (int j = 0; j < 8; j++)\n            s->a[i * i + j] = s->b[j];\n}\n");
    assert!(!all.contains("`restrict`"), "{all}");
    let all = said("void f(int n, const int *idx, const float *a, float *b) {\n    for (int i = 0; i < n; i++)\n        b[i] = a[idx[i]];\n}\n");
    assert!(all.contains("Declare `") && all.contains("`restrict` if it never overlaps"), "{all}");
    // with it the loop would still not be parallel
    let all = said("void f(int n, int *head, int *next, const int *row) {\n    for (int i = 0; i < n; i++) {\n        int k = row[i];\n        next[i] = head[k];\n        head[k] = i;\n    }\n}\n");
    assert!(all.contains("may overlap") && !all.contains("`restrict`"), "{all}");
    // one alone is not enough
    let all = said("void f(int n, const int *p, const int *r, const int *restrict q, int *a, int *b) {\n    for (int i = 0; i < n; i++) {\n        a[i] = p[q[i]];\n        b[i] = r[q[i]];\n    }\n}\n");
    assert!(all.contains(" `restrict` if they never overlap."), "{all}");
}

#[test]
fn a_loop_is_not_said_to_be_parallel_under_a_condition_that_is_not_enough() {
    // that no element of `idx` stands there twice does not tell `b[idx[i]]` from `b[i]`
    let all = said("void f(int n, int *b, const int *restrict idx) {\n    for (int i = 0; i < n; i++)\n        b[idx[i]] = b[i];\n}\n");
    assert!(all.contains("comes out of memory") && !all.contains("would be parallel"), "{all}");
    assert!(!all.contains("assume("), "{all}");
}

#[test]
fn what_cannot_be_written_otherwise_is_not_asked_for() {
    let list = "struct node { struct node *next; int value; };\nvoid clear(struct node *p) {\n    while (p) {\n        p->value = 0;\n        p = p->next;\n    }\n}\n";
    let all = said(list);
    assert!(all.contains("does not count") && !all.contains("Write it as"), "{all}");
    // a pointer that is set to another place is no subscript
    let text = "#include <string.h>\n#include <stdlib.h>\nvoid f(int n, char *s, int *restrict out) {\n    for (int i = 0; i < n; i++) {\n        out[i] = atoi(s);\n        s = strchr(s, ',') + 1;\n    }\n}\n";
    let all = said(text);
    assert!(all.contains("where `s` points") && !all.contains("Use `s` as an array"), "{all}");
    // one of two things that stand in the way
    let two = "int f(int); int g(int);\nvoid h(int n, int *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = f(i) + g(i);\n}\n";
    let all = said(two);
    assert!(all.contains("Also, `g`") && !all.contains("Write what `f` computes"), "{all}");
}

#[test]
fn the_size_of_a_launch_is_not_blamed_on_memory() {
    let all = said_of_cuda("__global__ void wide(float *a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i % 2) a[i] = 2; else a[i] = 3;\n}\nvoid go(float *a) {\n    wide<<<4096, 256>>>(a);\n}\n");
    assert!(!all.contains("depend on what memory holds"), "{all}");
    assert!(!all.contains("nothing says how"), "{all}");
    assert!(all.contains("in the 5 blocks looked at") && !all.contains("reuse"), "{all}");
}

#[test]
fn a_loop_is_not_a_type() {
    let all = said("void f(int n, const long double *restrict b, double *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = b[i];\n}\n");
    assert!(
        !all.contains("the loop on line 2 is a") && all.contains("`long double`, which no GPU has"),
        "{all}"
    );
}

#[test]
fn a_launch_in_the_file_says_how_a_kernel_is_launched() {
    let all = said_of_cuda("template <typename T> __global__ void gen(T *a, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[i] = 2;\n}\nvoid go(float *a, int n) {\n    int block = 512;\n    gen<<<(n + block - 1) / block, block>>>(a, n);\n}\n");
    assert!(!all.contains("nothing says how"), "{all}");
}

#[test]
fn what_is_in_a_variable_already_is_not_to_be_copied_to_one() {
    let all = said("void f(int n, int heads, int c, int b, float *restrict out, const float *restrict in) {\n    int size = c / heads;\n    for (int i = 0; i < n; i++)\n        for (int k = 0; k < size; k++)\n            out[i * c + b * size + k] = in[i * c + b * size + k];\n}\n");
    assert!(!all.contains("Copy the value to a local variable"), "{all}");
}

#[test]
fn a_variable_that_is_set_first_is_not_said_to_hold_nothing() {
    // what the macro does is not known, but nothing leads around the assignment
    let text = "void f(double *restrict a)\n{\n    int n;\n    n = 8;\n    START(\"f\") { }\n    for (int i = 0; i < n; i++)\n        a[i] = i;\n}\n";
    assert!(!said(text).contains("may hold no value"), "{}", said(text));
    let maybe = text.replace("    n = 8;", "    if (a[0] > 0)\n        n = 8;");
    assert!(said(&maybe).contains("may hold no value"), "{}", said(&maybe));
}

#[test]
fn the_place_of_a_called_function_that_was_not_understood_is_named() {
    let text = "static int g(int k)\n{\n    int r = k;\n    BEGIN_COUNT { r++; }\n    return r;\n}\nvoid f(int n, int *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = g(i);\n}\n";
    let all = said(text);
    assert!(all.contains("`g`, called on line 10, has a place that was not understood (line 4: "), "{all}");
}

#[test]
fn a_factor_that_stays_the_same_is_not_said_to_come_twice() {
    let all = said("typedef struct { int w, h; float *data; } image;\nvoid blocky(image im, int s)\n{\n    for (int j = 0; j < im.h; ++j)\n        for (int i = 0; i < im.w; ++i)\n            im.data[i + im.w * j] = im.data[i / s * s + im.w * (j / s * s)];\n}\n");
    assert!(!all.contains("comes out of memory"), "{all}");
}

#[test]
fn a_function_declared_without_parameters_is_the_one_that_is_defined() {
    let all = said("float half();\nvoid f(int n, float *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = half();\n}\nfloat half()\n{\n    return 0.5f;\n}\n");
    assert!(!all.contains("another type") && all.contains("Can run on the GPU"), "{all}");
}
