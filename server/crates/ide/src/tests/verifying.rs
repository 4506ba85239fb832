//! Offloaded loops against their originals, in the simulator.

use base::CancelToken;

use super::{full, open};
use crate::{verify, Memo, Outcome, VerifyOptions, VerifyReport, Which};

pub(super) fn report(code: &str, line: u32) -> VerifyReport {
    let doc = open(code);
    let findings = full(&doc);
    let options = VerifyOptions { cases: 8, steps: 3_000_000, ..VerifyOptions::default() };
    let which = Which::Line(line);
    verify(&crate::Ask::thorough(&doc), &findings, &which, &options).remove(0)
}

pub(super) fn check_same(code: &str, line: u32) {
    let report = report(code, line);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
}

#[test]
fn saxpy() {
    check_same("void saxpy(int n, float a, const float *x, float *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n", 2);
}

#[test]
fn a_nest_with_a_local() {
    check_same("void f(int n, int m, double a[n][m], const double *restrict b) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++) {\n            double t = b[j];\n            a[i][j] = t * t + i;\n        }\n}\n", 2);
}

#[test]
fn partly_written() {
    check_same("void f(int n, int *restrict a, const int *restrict c) {\n    for (int i = 0; i < n; i += 3)\n        if (i != 6)\n            a[i] = c[i];\n}\n", 2);
}

#[test]
fn an_integer_sum() {
    check_same("long f(int n, const int *a) {\n    long s = 5;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n", 3);
}

#[test]
fn a_float_maximum() {
    check_same("float f(int n, const float *a) {\n    float m = a[0];\n    for (int i = 1; i < n; i++)\n        if (a[i] > m) m = a[i];\n    return m;\n}\n", 3);
}

#[test]
fn what_is_not_offloaded_is_not_verified() {
    let report =
        report("void f(int n, int *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n", 2);
    assert!(matches!(report.outcome, Outcome::NotTried(_)), "{report:#?}");
}

/// The offloaded text with one piece of it replaced must be found wrong.
pub(super) fn check_caught(code: &str, line: u32, from: &str, to: &str, expected: &str) {
    let (tried, cases) = with_replaced(code, line, from, to);
    tried.expect("tried");
    let first = cases.iter().find_map(|c| c.difference.as_deref()).unwrap_or("nothing differs");
    assert!(first.contains(expected), "{first}");
}

/// What is said of the offloaded text with one piece of it replaced.
pub(super) fn with_replaced(
    code: &str,
    line: u32,
    from: &str,
    to: &str,
) -> (Result<String, String>, Vec<crate::VerifyCase>) {
    let doc = open(code);
    let findings = full(&doc);
    let cancel = CancelToken::new();
    let done = crate::offload(
        &crate::Ask::new(&doc, &Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        &Which::Line(line),
    )
    .expect("offloaded");
    let kernel = &done.edit.create[0].text;
    assert!(done.host.contains(from) || kernel.contains(from), "{}\n{kernel}", done.host);
    let (host, kernel) = (done.host.replace(from, to), kernel.replace(from, to));
    let finding = findings.on_line(line).expect("a loop");
    let ask = crate::Ask::thorough(&doc);
    let place = findings.view(&ask, finding.item).expect("a function");
    let options = VerifyOptions { steps: 3_000_000, ..VerifyOptions::default() };
    let mut cases = Vec::new();
    let unit = crate::units::units(&ask, &findings, &Which::Line(line)).remove(0);
    let plenty = crate::verify::Share::plenty();
    let texts = (host.as_str(), &[kernel.as_str()][..]);
    let tried = crate::verify::run_cases(&doc, &place, &unit, texts, &options, &plenty, &cancel, &mut cases);
    (tried.map(|(_, said)| said), cases)
}

const SAXPY: &str = "void saxpy(int n, float a, const float *x, float *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n";
const SUM: &str = "long f(int n, const int *a) {\n    long s = 5;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n";

#[test]
fn wrong_arithmetic_is_caught() {
    check_caught(
        SAXPY,
        2,
        "y[i] = a * x[i] + y[i];\n    }\n}",
        "y[i] = a * x[i] - y[i];\n    }\n}",
        "instead of",
    );
}

#[test]
fn a_missing_guard_is_caught() {
    check_caught(SAXPY, 2, "if (i < ww_trips_i)", "if (true)", "in `saxpy_i_kernel`");
}

#[test]
fn a_missing_copy_is_caught() {
    check_caught(
        SAXPY,
        2,
        "&& cudaMemcpy(ww_gpu_y, y, ww_y_bytes, cudaMemcpyHostToDevice) == cudaSuccess",
        "",
        "in `saxpy_i_kernel`",
    );
}

/// Host and device have memory of their own, and every call fails once: what a host may do wrong is seen.
#[test]
fn faults_of_the_host_are_caught() {
    const IN: &str = "&& cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice) == cudaSuccess";
    const OUT: &str = "&& cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess";
    let planted = [
        // the wrong side
        (
            "memcpy(y, ww_new_y, ww_y_bytes);",
            "memcpy(y, ww_gpu_y, ww_y_bytes);",
            "the host uses memory of the device",
        ),
        ("            ww_gpu_x, ww_gpu_y);", "            x, ww_gpu_y);", "memory of the host (`x`)"),
        ("            ww_gpu_x, ww_gpu_y);", "            ww_gpu_x, ww_new_y);", "memory of the host (`malloc`)"),
        (IN, "&& (memcpy(ww_gpu_x, x, ww_x_bytes), true)", "the host uses memory of the device"),
        (
            IN,
            "&& cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyDeviceToHost) == cudaSuccess",
            "memory of the",
        ),
        (
            OUT,
            "&& cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyHostToDevice) == cudaSuccess",
            "memory of the",
        ),
        (
            OUT,
            "&& cudaMemcpy(ww_gpu_y, ww_new_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess",
            "memory of the",
        ),
        // what is not given back, or twice
        ("    (void)cudaFree(ww_gpu_x);\n", "", "not given back"),
        ("    free(ww_new_y);\n", "    (void)cudaFree(ww_gpu_x);\n", "device memory given back"),
        ("    free(ww_new_y);\n", "    (void)cudaFree(ww_new_y);\n", "device memory given back"),
        ("(void)cudaFree(ww_gpu_x);", "free(ww_gpu_x);", "`free`"),
        // the wrong amount
        (
            IN,
            "&& cudaMemcpy(ww_gpu_x, x, ww_x_bytes / 2, cudaMemcpyHostToDevice) == cudaSuccess",
            "uninitialized",
        ),
        (
            OUT,
            "&& cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes - 4, cudaMemcpyDeviceToHost) == cudaSuccess",
            "one of the two only",
        ),
        (
            "cudaMalloc((void **)&ww_gpu_x, ww_x_bytes)",
            "cudaMalloc((void **)&ww_gpu_x, ww_x_bytes - 4)",
            "access of",
        ),
        // what was there before, and not what should be
        (IN, "", "uninitialized"),
        (OUT, "", "one of the two only"),
        (
            "    if (ok)\n        memcpy(",
            "    if (ok)\n        saxpy_i_kernel<<<1, 256>>>(0, a, ww_gpu_x, ww_gpu_y);\n    ok = ok && \
             cudaMemcpy(ww_gpu_y, y, ww_y_bytes, cudaMemcpyHostToDevice) == cudaSuccess;\n    ok = ok && \
             cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;\n    if (ok)\n        memcpy(",
            "instead of",
        ),
        // what fails and is not asked, or asked too late
        (
            OUT,
            "&& (cudaMemcpy(ww_new_y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost), true)",
            "of the run time fails",
        ),
        (
            IN,
            "&& (cudaMemcpy(ww_gpu_x, x, ww_x_bytes, cudaMemcpyHostToDevice), true)",
            "of the run time fails",
        ),
        ("return ok;", "return 1;", "of the run time fails"),
        (
            OUT,
            "&& cudaMemcpy(y, ww_gpu_y, ww_y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess",
            "one of the two only",
        ),
        (
            "cudaMalloc((void **)&ww_gpu_y, ww_y_bytes) == cudaSuccess",
            "(cudaMalloc((void **)&ww_gpu_y, ww_y_bytes), true)",
            "of the run time fails",
        ),
        // a result that is not put in place
        ("memcpy(y, ww_new_y, ww_y_bytes);", ";", "instead of"),
    ];
    assert!(planted.len() >= 20);
    let mut missed = Vec::new();
    for (from, to, expected) in planted {
        let (tried, cases) = with_replaced(SAXPY, 2, from, to);
        tried.expect("tried");
        let first = cases.iter().find_map(|c| c.difference.as_deref()).unwrap_or("nothing differs");
        if !first.contains(expected) {
            missed.push(format!("{to}: {first}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_missing_overlap_check_is_caught() {
    let code = "void f(int n, const int *x, int *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = x[i] + 1;\n}\n";
    check_caught(
        code,
        2,
        "return (uintptr_t)a + a_bytes",
        "return 1 || (uintptr_t)a + a_bytes",
        "instead of",
    );
}

#[test]
fn a_missing_barrier_is_caught() {
    check_caught(SUM, 3, "__syncthreads();", "", "in `f_i_kernel`");
}

/// The summary for the loop on a line, with values given.
fn given(text: &str, line: u32, given: &[(&str, i128)]) -> String {
    let doc = open(text);
    let findings = full(&doc);
    let given = given.iter().map(|g| (g.0.to_owned(), g.1)).collect();
    let options = VerifyOptions { cases: 4, steps: 3_000_000, given, ..VerifyOptions::default() };
    let which = Which::Line(line);
    let reports = verify(&crate::Ask::thorough(&doc), &findings, &which, &options);
    let inputs: Vec<&str> = reports[0].cases.iter().map(|c| c.input.as_str()).collect();
    format!("{} {:?}", reports[0].summary, inputs)
}

#[test]
fn what_takes_too_much_memory_is_said_and_sizes_are_taken() {
    let large =
        "double x[20000000 + 1];\nvoid f(int n) {\n    for (int i = 0; i < n; i++)\n        x[i] = i;\n}\n";
    let said = given(large, 3, &[]);
    assert!(said.contains("more than the 32 MiB") && said.contains("--given n=16"), "{said}");
    let plain =
        "void f(int n, int *restrict a, int m) {\n    for (int i = 0; i < n; i++)\n        a[i] = m;\n}\n";
    let said = given(plain, 2, &[("n", 7)]);
    assert!(said.starts_with("Same results") && said.matches("n=7").count() == 4, "{said}");
    let said = given(plain, 2, &[("k", 7)]);
    assert!(said.contains("`k` is no integer") && said.contains("n, m"), "{said}");
}

#[test]
fn what_a_function_calls_is_stood_in_for() {
    let text = "#include <assert.h>\nvoid start(int which);\nvoid *get(unsigned long bytes);\ndouble half(void);\nint rows(const char *name);\nint f(const char *name, double *restrict a)\n{\n    start(3);\n    int n = rows(name);\n    assert(n > 2);\n    double *b = get(n * sizeof(double)), h = half();\n    for (int i = 0; i < n; i++)\n        b[i] = h + i;\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] * 2;\n    return n;\n}\n";
    let said = given(text, 14, &[]);
    assert!(said.starts_with("Same results"), "{said}");
    assert!(said.contains("stood in for") && said.contains("`start`, `rows`, `get`, `half`."), "{said}");
    // what a stand-in gives can be given, and an assertion that fails is no input
    let said = given(text, 14, &[("rows()", 16)]);
    assert!(said.starts_with("Same results") && said.contains("rows()=16"), "{said}");
    let said = given(text, 14, &[("rows()", 1)]);
    assert!(said.contains("an assertion that does not hold"), "{said}");
}

#[test]
fn what_ends_the_run_is_no_input() {
    let text = "#include <stdlib.h>\nint known(void);\nvoid f(int n, int *a)\n{\n    if (!known()) exit(1);\n    for (int i = 0; i < n; i++)\n        a[i] = i;\n}\n";
    let said = given(text, 6, &[("known()", 0)]);
    assert!(said.contains("`exit`, which ends the run"), "{said}");
    assert!(given(text, 6, &[]).starts_with("Same results"));
}

#[test]
fn steps_behind_pointers_are_met() {
    let text = "int axpy(int *n, float *a, float *x, int *incx, float *y, int *incy)\n{\n    if (*incx != 1 || *incy != 1 || *n <= 0)\n        return 0;\n    for (int i = 0; i < *n; i++)\n        y[i] += *a * x[i];\n    return 0;\n}\n";
    let said = given(text, 5, &[]);
    assert!(said.starts_with("Same results"), "{said}");
}

#[test]
fn structures_are_handed_over_and_back() {
    let text = "struct layer { int n; double *bias; struct layer *next; void (*f)(struct layer); };\nstruct layer scaled(struct layer l, double s)\n{\n    for (int i = 0; i < l.n; i++)\n        l.bias[i] *= s;\n    l.n += 1;\n    return l;\n}\n";
    let said = given(text, 4, &[]);
    assert!(said.starts_with("Same results"), "{said}");
}

#[test]
fn what_is_not_known_is_compared_as_bytes() {
    let text = "union word { int i; unsigned char c[4]; };\nstruct mixed { int n; union word w; int *a; };\nvoid f(struct mixed *m, void *state)\n{\n    for (int i = 0; i < m->n; i++)\n        m->a[i] = i;\n    m->w.i = m->n;\n    *(int *)state = 5;\n}\n";
    check_same(text, 5);
    check_caught(text, 5, "m->w.i = m->n;", "m->w.i = m->n + 1;", "differs");
    check_caught(text, 5, "*(int *)state = 5;", "*(int *)state = 6;", "is 6 instead of 5");
}

#[test]
fn a_function_may_free_what_it_is_given() {
    let text = "#include <stdlib.h>\nfloat *widened(unsigned char *data, int n)\n{\n    float *out = malloc(n * sizeof(float));\n    if (!out) { free(data); return 0; }\n    for (int i = 0; i < n; i++)\n        out[i] = data[i] / 255.0f;\n    free(data);\n    return out;\n}\n";
    check_same(text, 6);
}

#[test]
fn numbers_are_taken_from_zero_to_one_where_others_are_refused() {
    let text = "#include <math.h>\nvoid bytes(int n, const float *restrict x, unsigned char *restrict out)\n{\n    for (int i = 0; i < n; i++)\n        out[i] = (unsigned char)(powf(x[i], 0.5f) * 200);\n}\n";
    check_same(text, 4);
}

#[test]
fn smaller_arrays_are_tried_where_there_is_no_room() {
    let text = "#define N 4096\nstatic double a[N][N], b[N][N];\nvoid f(void)\n{\n    for (int j = 0; j < N; j++)\n        for (int i = 0; i < N; i++)\n            a[j][i] = b[j][i] + i;\n}\n";
    let said = given(text, 5, &[]);
    assert!(said.starts_with("With `N` 8 instead of 4096") && said.contains("Same results"), "{said}");
}

#[test]
fn a_chain_of_assignments_begins_a_loop() {
    check_same("void f(int n, int *restrict a)\n{\n    int k, j;\n    for (k = j = 0; k < n; ++k, j += 2)\n        a[j] = k;\n}\n", 4);
    check_same("int f(int n, int *restrict a)\n{\n    int k, j = 7;\n    for (k = j = 0; k < n; k++)\n        a[k] = 1;\n    return j;\n}\n", 4);
}

#[test]
fn a_sum_is_kept_apart_from_what_only_the_host_reads() {
    check_same("struct boxes { int count; int *atoms; };\nstruct all { int local, global; };\nstruct state { struct boxes *boxes; struct all *all; };\nvoid f(struct state *s)\n{\n    s->all->local = 0;\n    for (int i = 0; i < s->boxes->count; i++)\n        s->all->local += s->boxes->atoms[i];\n}\n", 7);
}

#[test]
fn functions_of_headers_are_run_and_not_stood_in_for() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("zero.h"), "static void zero(double *a) { a[0] = 0; a[1] = 0; }\n")
        .expect("a file");
    let options =
        crate::Options { headers: Some(testkit::headers::beside(folder.path())), ..Default::default() };
    let text = "#include \"zero.h\"\nvoid log_it(int n);\nvoid f(int n, double (*restrict a)[2])\n{\n    log_it(n);\n    for (int i = 0; i < n; i++)\n        zero(a[i]);\n}\n";
    let doc = crate::Doc::open(crate::Language::C, "a.c", text::Text::new(text).expect("short"), options);
    let findings = full(&doc);
    let options = VerifyOptions { cases: 8, steps: 3_000_000, ..VerifyOptions::default() };
    let report = verify(&crate::Ask::thorough(&doc), &findings, &Which::Line(6), &options).remove(0);
    assert_eq!(report.outcome, Outcome::Same, "{report:#?}");
    assert!(report.summary.ends_with("made-up values: `log_it`."), "{}", report.summary);
}

#[test]
fn whole_numbers_that_regrouped_sums_decide_are_not_compared() {
    // The sum's last bits reach `out[i]`, and the steps of the next sums, as whole numbers.
    let text = "struct box { char tag; int x; };\nint f(int n, float *a, const float *b, struct box *out)\n{\n    int last = 0;\n    for (int i = 0; i < n; i++) {\n        float sum = 0;\n        for (int k = 0; k < 4; k++)\n            sum += b[i + k] * 1e6f;\n        out[i].x = sum;\n        last += sum > a[i];\n        a[i] = sum;\n    }\n    return last;\n}\n";
    let said = given(text, 7, &[]);
    assert!(!said.contains("wrong"), "{said}");
    // Where whole numbers cannot come from the sum, they are.
    let text = "float f(int n, const float *restrict b, int *restrict out)\n{\n    float sum = 0;\n    for (int i = 0; i < n; i++) {\n        sum += b[i];\n        out[i] = i;\n    }\n    return sum;\n}\n";
    check_same(text, 4);
    check_caught(text, 4, "out[i] = i;", "out[i] = i + 1;", "instead of");
}

#[test]
fn a_label_may_stand_last_in_a_switch() {
    check_same("void f(int n, int *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        switch (a[i] & 3) {\n        case 0: a[i] = 1; break;\n        case 2: a[i] = 5;\n        default: ;\n        }\n}\n", 3);
}

#[test]
fn lengths_that_declarations_hold_are_made_smaller_where_a_run_would_take_too_long() {
    let text = "void product(double c[400][400], double a[400][400], double b[400][400])\n{\n    for (int i = 0; i < 400; i++)\n        for (int j = 0; j < 400; j++) {\n            double s = 0.0;\n            for (int k = 0; k < 400; k++)\n                s += a[i][k] * b[k][j];\n            c[i][j] = s;\n        }\n}\n";
    let said = given(text, 3, &[]);
    assert!(said.starts_with("With 8 instead of each 400, ") && said.contains("Same results"), "{said}");
}
