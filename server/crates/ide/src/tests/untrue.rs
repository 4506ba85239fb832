//! Sentences that were said and were not true, each of a program that got it: none may come back.

use super::{full, open, open_cuda};
use crate::{hover, offload, Ask, Which};

/// All that is said of a document's loops: findings and hovers.
pub(super) fn said(code: &str) -> String {
    let doc = open(code);
    let (findings, ask) = (full(&doc), Ask::thorough(&doc));
    let messages = findings.diagnostics.iter().map(|d| format!("{}: {}\n", d.code, d.message));
    let hovers = findings.loops.iter().filter_map(|l| Some(hover(&ask, &findings, l.header.start)?.markdown));
    messages.chain(hovers).collect()
}

/// What is said of every place of a CUDA document that has a hover.
pub(super) fn said_of_cuda(code: &str) -> String {
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
    assert!(!all.contains("depends on data") && all.contains("Can run on the GPU"), "{all}");
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
    assert!(!all.contains("not an integer") && !all.contains("no check at run time is made"), "{all}");
    assert!(all.contains("no declaration of the type `int_t` was found, which `i` (line 5) needs"), "{all}");
    assert!(all.contains("missing-header: `config.h` was not found, and `int_t` is declared in nothing that was read: what uses it is not known"), "{all}");
    // several are told together, and what a toolkit brings is not missed
    let all = said("#include \"a.h\"\n#include \"cuda_runtime.h\"\n#include \"b.h\"\nvoid f(double *a) {\n    for (int i = 0; i < CELLS; i++) a[i] = 0;\n    cudaDeviceSynchronize();\n}\n");
    assert_eq!(all.matches("missing-header").count(), 1, "{all}");
    assert!(
        all.contains(
            "`a.h` and another header were not found, and `CELLS` is declared in nothing that was read"
        ),
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
    let all = said("void f(int n, const float *w, const float *a, float *b) {\n    for (int i = 0; i < n; i++)\n        b[i] = a[(int)w[i]];\n}\n");
    assert!(all.contains("Declare `") && all.contains("`restrict` if it never overlaps"), "{all}");
    // with it the loop would still not be parallel
    let all = said("void f(int n, int *head, int *next, const int *row) {\n    for (int i = 0; i < n; i++) {\n        int k = row[i];\n        next[i] = head[k];\n        head[k] = i;\n    }\n}\n");
    assert!(!all.contains("`restrict`"), "{all}");
    // one alone is not enough
    let all = said("void f(int n, const int *p, const int *r, const float *restrict q, int *a, int *b) {\n    for (int i = 0; i < n; i++) {\n        a[i] = p[(int)q[i]];\n        b[i] = r[(int)q[i]];\n    }\n}\n");
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
    assert!(all.contains("by a pointer in it (`p = p->next`)") && !all.contains("Write it as"), "{all}");
    // a pointer that is set to another place is no subscript
    let text = "#include <string.h>\n#include <stdlib.h>\nvoid f(int n, char *s, int *restrict out) {\n    for (int i = 0; i < n; i++) {\n        out[i] = atoi(s);\n        s = strchr(s, ',') + 1;\n    }\n}\n";
    let all = said(text);
    assert!(all.contains("where `s` points") && !all.contains("Use `s` as an array"), "{all}");
    // one of two things that stand in the way
    let two = "int f(int); int g(int);\nvoid h(int n, int *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = f(i) + g(i);\n}\n";
    let all = said(two);
    assert!(
        all.contains("`f` (line 4) and `g` (line 4) may read") && !all.contains("Write what `f` computes"),
        "{all}"
    );
}

#[test]
fn the_size_of_a_launch_is_not_blamed_on_memory() {
    let all = said_of_cuda("__global__ void wide(float *a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i % 2) a[i] = 2; else a[i] = 3;\n}\nvoid go(float *a) {\n    wide<<<4096, 256>>>(a);\n}\n");
    assert!(!all.contains("depend on what memory holds"), "{all}");
    assert!(!all.contains("launched is not known"), "{all}");
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
    assert!(!all.contains("launched is not known"), "{all}");
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
    assert!(said(&maybe).contains("it was not found out whether `n`"), "{}", said(&maybe));
    let read = maybe.replace("    START(\"f\") { }\n", "");
    assert!(said(&read).contains("may hold no value"), "{}", said(&read));
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

#[test]
fn a_condition_that_no_memory_takes_part_in_does_not_depend_on_data() {
    // a product of a loop's index and a parameter
    let all = said("void f(int n, int m, int stride, int pad, float *restrict out, const float *restrict in) {\n    for (int i = 0; i < n; i++)\n        for (int k = 0; k < m; k++) {\n            int row = k + i * stride - pad;\n            if (row >= 0 && row < m) out[k * n + i] += in[row];\n        }\n}\n");
    assert!(!all.contains("depends on data"), "{all}");
    // what decides is loaded, in some way or other
    let all = said("void f(int n, const int *restrict k, float *restrict a) {\n    for (int i = 0; i < n; i++) {\n        int wanted = 0;\n        if (k[i] > 3) wanted = 1;\n        if (wanted) a[i / 2] = 1;\n    }\n}\n");
    assert!(all.contains("depends on data"), "{all}");
}

#[test]
fn a_clock_keeps_no_state() {
    let all = said("#include <sys/time.h>\nstatic double now(void) {\n    struct timeval t;\n    gettimeofday(&t, 0);\n    return t.tv_sec;\n}\nvoid f(int n, double *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = now();\n}\n");
    assert!(!all.contains("keeps a state") && !all.contains("state of its own"), "{all}");
    assert!(all.contains("reads the clock"), "{all}");
}

#[test]
fn what_calls_back_is_not_missed() {
    let all = said("#include <stdlib.h>\nint before(const void *, const void *);\nvoid f(int n, int *restrict a, const int *restrict b) {\n    for (int i = 0; i < n; i++)\n        a[i] = bsearch(&a[i], b, 9, sizeof *b, before) != 0;\n}\n");
    assert!(all.contains("`bsearch`, called on line 5, may read or write anything: it calls the function that is handed to it"), "{all}");
}

#[test]
fn a_function_of_the_document_that_was_not_understood_is_said_to_be_there() {
    let all = said("#include \"nowhere.h\"\nstatic int first(float w[CLASSES][4], int x, INFO *v)\n{\n    return (int)w[x][0];\n}\nvoid build(int n, float (*w)[4], int *restrict out)\n{\n    for (int i = 0; i < n; i++)\n        out[i] = first(w, i, 0);\n}\n");
    assert!(all.contains("its definition on line 2 was not understood ("), "{all}");
}

#[test]
fn a_barrier_is_not_said_to_write_anything() {
    let all = said_of_cuda("__global__ void sum(float *a) {\n    __shared__ float s[256];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    for (int k = blockDim.x / 2; k > 0; k /= 2) {\n        __syncthreads();\n        if (t < k) s[t] += s[t + k];\n    }\n    if (t == 0) a[0] = s[0];\n}\n");
    assert!(!all.contains("may read or write anything"), "{all}");
    assert!(all.contains("makes the threads of a block or warp wait for one another"), "{all}");
}

#[test]
fn what_a_launch_gives_is_told_with_what_rests_on_it() {
    let code = "__global__ void rows(float *out, const float *in, int len, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    for (int k = 0; k < n; k++) {\n        if (in[k] < 0) break;\n        out[i * len + k] = 1;\n    }\n}\nvoid go(float *out, const float *in) {\n    rows<<<8, 64>>>(out, in, 32, 16);\n}\n";
    let all = said_of_cuda(code);
    assert!(!all.contains("whatever launch of blocks"), "{all}");
    assert!(all.contains("8 blocks of 64 threads, `len` = 32"), "{all}");
}

#[test]
fn one_thread_is_not_told_to_be_many() {
    let all = said_of_cuda(
        "__global__ void once(int *a) {\n    for (int i = 0; i < 900; i++) a[i] = 1;\n}\nvoid go(int *a) {\n    once<<<1, 1>>>(a);\n}\n",
    );
    assert!(!all.contains("1 threads") && !all.contains("Make the block a multiple"), "{all}");
    assert!(all.contains("One thread of each block does all of its work"), "{all}");
}

#[test]
fn no_sum_is_advised_where_none_is_made() {
    let update = |value: &str| {
        format!("__global__ void f(int *a, const int *k, int n) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[k[i]] = {value};\n}}\n")
    };
    let all = said_of_cuda(&update("i - a[k[i]]"));
    assert!(all.contains("one of the two updates is lost") && !all.contains("atomicAdd"), "{all}");
    assert!(!all.contains("`atomicCAS`") && all.contains("No atomic operation helps"), "{all}");
    assert!(said_of_cuda(&update("i + a[k[i]]")).contains("atomicAdd"));
}

#[test]
fn what_a_file_declares_is_not_said_to_be_declared_nowhere() {
    let all = said("#include \"assert.h\"\nvoid f(int n, double *a) {\n    for (int i = 0; i < n; i++) a[i] = CELLS;\n}\n");
    assert!(!all.contains("missing-header"), "{all}");
    let all = said_of_cuda("#include <cub/cub.cuh>\ntemplate <int N> class Box { typedef int Inner; };\n__global__ void f(int *a) {\n    typename Box<3>::Inner kept;\n    a[0] = kept;\n}\n");
    assert!(!all.contains("`kept`"), "{all}");
}

#[test]
fn a_condition_of_the_build_is_to_be_decided() {
    let all = said("void f(int n, int *restrict a) {\n#if FAST > 1\n    for (int i = 0; i < n; i++) {\n#else\n    for (int i = 0; i < n; i += 2) {\n#endif\n        a[i] = 1;\n    }\n}\n#include \"options.h\"\nvoid g(int n, int *a) {\n#ifdef FAST\n    for (int i = 0; i < n; i++) a[i] = 1;\n#endif\n}\n");
    assert!(!all.contains("is not known here). Nothing is said"), "{all}");
}

#[test]
fn a_variable_that_a_header_of_a_loop_sets_holds_a_value() {
    let text = "static double sum[4], times[4][10];\nint main(void)\n{\n    int k, j;\n#ifdef _OPENMP\n    k = 0;\n#endif\n    for (k = 1; k < 10; k++)\n        for (j = 0; j < 4; j++)\n            sum[j] = sum[j] + times[j][k];\n    return 0;\n}\n";
    let all = said(text);
    assert!(!all.contains("may hold no value"), "{all}");
}

#[test]
fn what_cuda_computes_is_not_said_to_write_anything() {
    let all = said_of_cuda("__global__ void f(float *a, const float *__restrict__ b, int n) {\n    float s = 0;\n    for (int i = 0; i < n; i++)\n        s += __expf(b[i]) + rsqrtf(b[i]);\n    a[threadIdx.x] = s;\n}\n");
    assert!(!all.contains("may read or write anything"), "{all}");
}

#[test]
fn a_guard_does_not_depend_on_what_memory_holds() {
    let all = said_of_cuda("__global__ void f(float *a, int n, int m) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    int j = i % m;\n    if (j * j < n) a[i] = 2;\n}\n");
    assert!(!all.contains("it depends on what memory holds"), "{all}");
    let all = said_of_cuda("__global__ void f(float *a, const int *k, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (k[i] < n) a[i] = 2;\n}\n");
    assert!(!all.contains("depends on how the kernel is launched"), "{all}");
}

#[test]
fn a_program_of_csharp_includes_no_headers_and_prints_in_order() {
    let findings = |printed: &str| {
        let code = format!("using System;\nclass A {{\n    static void F(int[] a, string s, A o) {{\n        for (int i = 0; i < a.Length; i++)\n            Console.WriteLine({printed});\n        for (int i = 0; i < a.Length; i++)\n            a[i] = int.Parse(s);\n    }}\n}}\n");
        let text = text::Text::new(&code).expect("a small text");
        full(&crate::Doc::open(crate::Language::CSharp, "test.cs", text, crate::Options::default()))
    };
    let obstacles = |printed: &str| -> Vec<&'static str> {
        findings(printed).loops[0].report().obstacles.iter().map(|o| o.kind).collect()
    };
    let all: String = findings("a[i]").diagnostics.iter().map(|d| format!("{}\n", d.message)).collect();
    // of loops that print nobody needs to hear, as in C
    let parsed: String =
        findings("a[i]").loops[1].report().obstacles.iter().map(|o| o.text.clone()).collect();
    assert!(!all.contains("Console") && parsed.contains("int.Parse"), "{all} {parsed}");
    assert!(!parsed.contains("header") && !parsed.contains("no declaration of the type"), "{parsed}");
    assert_eq!(obstacles("a[i]"), ["ordered-output"]);
    // an object is asked for its text, by code that may do anything
    assert_eq!(obstacles("o"), ["unknown-call"]);
}

#[test]
fn a_loop_shorter_than_a_warp_makes_no_requests_of_full_warps() {
    let text = |n: u32| {
        format!("static double sum[64], times[64][10];\nvoid f(int k)\n{{\n    for (int j = 0; j < {n}; j++)\n        sum[j] = times[j][k];\n}}\n")
    };
    assert!(!said(&text(4)).contains("a request"), "{}", said(&text(4)));
    assert!(said(&text(64)).contains("a request"), "{}", said(&text(64)));
}

#[test]
fn a_function_that_is_called_by_its_name_is_not_called_through_a_pointer() {
    let all = said("typedef struct H { int (*load)(void *p, int n); int n; } H;\nvoid exchange(H *h, void *data, int axis);\nvoid outer(H *h, void *data) {\n    for (int i = 0; i < 3; ++i)\n        exchange(h, data, i);\n}\nvoid exchange(H *h, void *data, int axis) {\n    h->n = h->load(data, axis);\n}\n");
    assert!(!all.contains("`exchange(h, data, i)` on line 5 calls through a pointer"), "{all}");
    assert!(all.contains("`exchange`, called on line 5, calls through a pointer"), "{all}");
}

#[test]
fn a_function_of_the_library_is_not_to_be_moved_into_the_file() {
    let all = said("#include <stdlib.h>\nint before(const void *, const void *);\nstatic void order(int *a, int n) { qsort(a, n, sizeof *a, before); }\nvoid f(int n, int *a) {\n    for (int i = 0; i < n; i++)\n        order(a + 8 * i, 8);\n}\n");
    assert!(all.contains("`qsort`") && !all.contains("into this file"), "{all}");
}

#[test]
fn a_call_is_no_subscript() {
    let all = said("void act(float *x, int n, int k) { for (int i = 0; i < n; i++) x[i * k] = x[i] * 2; }\nvoid g(float *o, int n, int m, int w, int h) {\n    for (int b = 0; b < n; b++)\n        act(o + b * w * h, m, b);\n}\n");
    assert!(!all.contains("the subscript `act("), "{all}");
    assert!(all.contains("a subscript in `act`, called on line 4,"), "{all}");
}

#[test]
fn a_pointer_to_numbers_has_one_subscript() {
    let all = said("static void add(int m, int n, float *c) {\n    for (int i = 0; i < m; i++)\n        for (int j = 0; j < n; j++)\n            c[i * n + j] = 2 * c[i * n + j] + 1;\n}\nvoid f(int m, int n, float *c) {\n    for (int i = 0; i < 10; i++)\n        add(m, n, c);\n}\n");
    assert!(all.contains("Loop is sequential") && !all.contains("c[0][0]"), "{all}");
}

#[test]
fn what_the_compiler_says_of_a_place_needs_no_declaration() {
    let all = said("void complain(const char *, const char *, int);\nvoid f(int n, float *a) {\n    for (int i = 0; i < n; i++)\n        if (a[i] < 0) complain(__FILE__, __func__, __LINE__);\n}\n");
    assert!(!all.contains("__FILE__` was found") && !all.contains("__func__` was found"), "{all}");
}

#[test]
fn what_grows_by_the_same_is_no_prefix_sum() {
    let of = |step: &str| {
        said(&format!("void f(int n, int inc, const int *step, const int *w, int *y) {{\n    int ix = 0;\n    for (int i = 0; i < n; i++) {{\n        y[i * i] = ix;\n        ix += {step};\n    }}\n}}\n"))
    };
    assert!(!of("inc").contains("prefix sum"), "{}", of("inc"));
    assert!(!of("*step").contains("prefix sum"), "{}", of("*step"));
    assert!(of("w[i]").contains("prefix sum"), "{}", of("w[i]"));
}

#[test]
fn a_recurrence_is_not_said_to_be_computed_anew() {
    // Clenshaw's
    let all = said("double f(const double *c, int n, double u) {\n    double b1 = 0.0, b = c[n], next;\n    for (int i = n; i > 0; i--) {\n        next = 2.0 * u * b - b1 + c[i - 1];\n        b1 = b;\n        b = next;\n    }\n    return b - u * b1;\n}\n");
    assert!(!all.contains("computed anew"), "{all}");
    // up a heap
    let all = said("void f(int n, int pos, int *q, const int *key, int k) {\n    for (int i = 0; i < n; i++) {\n        if (pos <= 1) break;\n        int up = pos / 2;\n        if (key[q[up]] < k) break;\n        q[pos] = q[up];\n        pos = up;\n    }\n}\n");
    assert!(!all.contains("computed anew"), "{all}");
    let all = said("void f(int n, const double *restrict x, double *restrict y) {\n    double t = 0;\n    for (int i = 0; i < n; i++) {\n        y[i] = x[i] + t;\n        t = x[i];\n    }\n}\n");
    assert!(all.contains("computed anew"), "{all}");
}

#[test]
fn none_of_several_missing_headers_is_blamed_alone() {
    let all = said("#include \"config.h\"\n#include \"histogram.h\"\nvoid f(histogram *h, int n) {\n    for (int i = 0; i < n; i++) h->bin[i] = 2 * h->range[i];\n}\n");
    assert!(all.contains("`config.h` and 1 more header"), "{all}");
    assert!(!all.contains("`config.h`, which the file includes, was not found"), "{all}");
}

#[test]
fn a_type_that_is_declared_is_not_said_to_be_declared_nowhere() {
    let all = said("#include \"nowhere.h\"\ntypedef half_type number;\nvoid f(const number *in, float *restrict out, int n) {\n    for (int i = 0; i < n; i++) out[i] = (float)in[i];\n}\n");
    assert!(!all.contains("no declaration of the type `number`"), "{all}");
    // as a parameter whose type a macro writes
    let all = said("#include \"nowhere.h\"\nvoid FUNCTION(real, transform)(float data[], const TYPE(wavetable) * table, int n) {\n    for (int i = 0; i < n; i++) data[i] = table->nf;\n}\n");
    assert!(!all.contains("`table`") || !all.contains("declared in nothing"), "{all}");
}

#[test]
fn names_of_host_code_of_cplusplus_are_not_said_to_be_declared_nowhere() {
    let all = said_of_cuda("#include <NvInfer.h>\n#include <iostream>\nusing namespace std;\n__device__ double3 moved(double3 a) { a.x += normcdf(a.y); return a; }\nvoid go(int n) {\n    for (int i = 0; i < n; i++) cout << i << endl;\n    eglGetDisplay(0);\n}\n");
    assert!(!all.contains("declared in nothing"), "{all}");
    let all = said_of_cuda("#include \"mine.h\"\n__global__ void f(float *a) {\n    a[threadIdx.x] = scaled(a[threadIdx.x], FACTOR);\n}\n");
    assert!(all.contains("`FACTOR`") || all.contains("`scaled`"), "{all}");
    let code = "#include <NvInfer.h>\n#include <iostream>\nusing namespace std;\nvoid go(int n) {\n    for (int i = 0; i < n; i++) cout << i << endl;\n}\n";
    let text = text::Text::new(code).expect("a small text");
    let doc = crate::Doc::open(crate::Language::Cpp, "host.cpp", text, crate::Options::default());
    assert!(full(&doc).diagnostics.iter().all(|d| d.code != "missing-header"));
}

#[test]
fn a_bound_of_a_type_that_was_not_found_is_fixed() {
    let all = said("#include \"types.h\"\nstruct S { int_t *colptr; };\nvoid f(struct S *s, float *restrict a, int j) {\n    for (int i = 0; i < s->colptr[j]; i++) a[i] = 2 * a[i];\n}\n");
    assert!(!all.contains("fixed bound"), "{all}");
}

#[test]
fn a_static_index_is_called_static() {
    let all =
        said("void f(int n, float *a) {\n    static int j;\n    for (; j < n; j++) a[j] = 2 * a[j];\n}\n");
    assert!(all.contains("`j`, which the loop on line 3 counts with, is `static`"), "{all}");
}

#[test]
fn a_trap_ends_the_program() {
    let all = said("void f(int n, float *a) {\n    for (int i = 0; i < n; i++) {\n        if (a[i] < 0) __builtin_trap();\n        a[i] *= 2;\n    }\n}\n");
    assert!(!all.contains("may read or write anything"), "{all}");
}

#[test]
fn a_selection_of_values_is_no_branch_that_parts_a_warp() {
    let all = said("void f(int n, const double *restrict a, double *restrict b) {\n    for (int i = 0; i < n; i++)\n        b[i] = a[i] >= 0 ? a[i] : -a[i];\n}\n");
    assert!(all.contains("on the GPU") && !all.contains("diverge"), "{all}");
}

#[test]
fn a_loop_of_a_thread_is_not_offered_to_threads() {
    let code = "__global__ void rows(float *out, const float *in, int n) {\n    float s = 0;\n    for (int k = 0; k < n; k++)\n        s += in[k];\n    for (int k = threadIdx.x; k < n; k += blockDim.x)\n        out[k] = s;\n}\n";
    let all = said_of_cuda(code);
    assert!(all.contains("each thread that comes here runs it by itself"), "{all}");
    assert!(!all.contains("Offloading starts") && !all.contains("one thread per iteration"), "{all}");
    // what the device provides lies in no memory
    assert!(!all.contains("`blockDim` and") && !all.contains("and `blockDim`"), "{all}");
}

#[test]
fn a_launch_that_is_not_understood_is_not_said_to_be_missing() {
    let code = "#define BLOCKS(n) (((n) + 511) / 512)\ntemplate <typename T> __global__ void f(T *a, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[i] = 1;\n}\ntemplate <typename T> void Layer<T>::go(T *a) {\n    f<T><<<BLOCKS(this->count()), 512>>>(a, this->count());\n}\ntemplate __global__ void f<float>(float *, int);\n";
    let all = said_of_cuda(code);
    assert!(!all.contains("nothing says how"), "{all}");
}

#[test]
fn threads_that_may_part_are_not_said_to_do_it() {
    let all = said_of_cuda("__global__ void f(float *a, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[i] = 2;\n}\n");
    assert!(!all.contains("threads of a warp go both ways"), "{all}");
}

#[test]
fn narrow_blocks_are_to_be_wider() {
    let code = "__global__ void y(float *df, const float *f) {\n    __shared__ float s[64][4];\n    int i = blockIdx.x * blockDim.x + threadIdx.x, j = threadIdx.y;\n    int at = blockIdx.y * 64 * 64 + j * 64 + i;\n    s[j][threadIdx.x] = f[at];\n    __syncthreads();\n    df[at] = s[63 - j][threadIdx.x];\n}\nvoid go(float *df, const float *f) {\n    y<<<dim3(16, 64), dim3(4, 64)>>>(df, f);\n}\n";
    let all = said_of_cuda(code);
    assert!(
        all.contains("Make the blocks wider along x: their rows are 4 threads, 16 bytes, long."),
        "{all}"
    );
    assert!(!all.contains("neighbouring threads touch neighbouring elements"), "{all}");
}

#[test]
fn what_a_called_function_does_is_not_said_to_be_called_here() {
    let all = said("#include <assert.h>\ntypedef struct { int n; const unsigned char *p; } Z;\nstatic int get(const Z *z, int k) { assert(z->n < 9); return z->p[k] & 7; }\nvoid f(const Z *a, int n, unsigned char *restrict s) {\n    for (int i = 0; i < n; ++i)\n        s[i] = (unsigned char)get(a, i);\n}\n");
    assert!(!all.contains("`assert`, called on line 6"), "{all}");
}

#[test]
fn an_index_is_not_said_to_be_no_sum() {
    let all = said("void f(float *restrict w, const float *restrict d, const int *restrict inp, int n, int c) {\n    for (int t = 0; t < n; t++) {\n        float *row = w + inp[t] * c;\n        for (int i = 0; i < c; i++)\n            row[i] += d[t * c + i];\n    }\n}\n");
    assert!(!all.contains("because the subscript `i` on line 5"), "{all}");
}

#[test]
fn a_member_behind_a_pointer_is_written_so() {
    let all = said("typedef struct { unsigned code; int n; } Z;\nvoid f(Z *a, int n, unsigned char *restrict s) {\n    for (int i = 0; i < n; ++i) {\n        s[i] = a->code & 7;\n        a->code >>= 3;\n    }\n}\n");
    assert!(all.contains("writes a->code on line 5") && !all.contains("a.code[0]"), "{all}");
}

#[test]
fn a_function_of_the_toolkit_needs_no_declaration() {
    let all = said_of_cuda("#include <cufft.h>\nvoid f(cufftHandle p, float *in, cufftComplex *out) {\n    for (int i = 0; i < 9; i++) cufftExecR2C(p, in, out);\n}\n");
    assert!(
        !all.contains("no declaration of `cufftExecR2C`") && !all.contains("include the header"),
        "{all}"
    );
}

#[test]
fn a_member_function_is_no_pointer() {
    let code = "struct Net { int size() const; };\nvoid f(const Net *net, float *a) {\n    for (int i = 0; i < net->size(); i++) a[i] = 1;\n}\n";
    let text = text::Text::new(code).expect("a small text");
    let doc = crate::Doc::open(crate::Language::Cpp, "host.cpp", text, crate::Options::default());
    let all: String = full(&doc).diagnostics.iter().map(|d| format!("{}\n", d.message)).collect();
    assert!(!all.contains("through a pointer") && !all.contains("changes during"), "{all}");
}

/// `launch` is the host's text behind a sum of a block by a tree of branches.
fn tree(launch: &str) -> String {
    format!("__global__ void sum(int *v, int *out) {{\n    __shared__ int part[256];\n    part[threadIdx.x] = v[blockIdx.x * blockDim.x + threadIdx.x];\n    __syncthreads();\n    for (int s = 1; s < blockDim.x; s *= 2) {{\n        if (threadIdx.x % (2 * s) == 0) part[threadIdx.x] += part[threadIdx.x + s];\n        __syncthreads();\n    }}\n    if (threadIdx.x == 0) out[blockIdx.x] = part[0];\n}}\n{launch}")
}

#[test]
fn the_warps_that_would_do_are_those_of_each_round() {
    // a block decides eight times: 4, 2 and then 1 warp would do
    let all = said_of_cuda(&tree("void f(int *a, int *b) {\n    sum<<<256, 256>>>(a, b);\n}\n"));
    assert!(
        all.contains("12032 of them run what is behind it") && all.contains("where 3072 would do"),
        "{all}"
    );
    assert!(!all.contains("the launch on line"), "{all}");
}

#[test]
fn of_several_launches_the_one_is_named_that_was_counted() {
    let two = "void f(int *a, int *b) {\n    sum<<<16, 256>>>(a, b);\n    sum<<<1, 256>>>(b, b);\n}\n";
    let all = said_of_cuda(&tree(two));
    let with = "with 16 blocks of 256 threads (the launch on line 12)";
    assert!(all.contains(&format!("**Kernel `sum`** {with}")), "{all}");
    assert!(all.contains(&format!("- {with} it opens 128 times for 32768 threads in all")), "{all}");
    assert!(!all.contains(crate::hover::STILL), "{all}");
    // what was found out once is known to a hover that finds nothing out
    let code = tree(two);
    let (doc, at) = (open_cuda(&code), code.find("__syncthreads").unwrap_or_default() as u32);
    let (findings, ask) = (full(&doc), Ask::thorough(&doc));
    let whole = hover(&ask, &findings, at).expect("a barrier").markdown;
    let known = hover(&ask.at(crate::Tier::Known), &findings, at).expect("a barrier").markdown;
    assert!(whole == known && known.contains("needed: without it"), "{known}");
}

/// The last subscript is the thread's already: where it begins to count decides.
#[test]
fn threads_that_begin_apart_are_not_told_to_use_the_last_subscript() {
    let all = said_of_cuda("__global__ void f(float *out, const float *in, int n) {\n    int own = blockIdx.x * blockDim.x + threadIdx.x;\n    if (own < n)\n        for (int t = own; t < n; t++)\n            out[t * n + own] = in[own];\n}\n");
    assert!(all.contains("whose distance only the run decides"), "{all}");
    assert!(all.contains("Let neighbouring threads touch neighbouring elements"), "{all}");
    // a distance that a parameter gives is named
    let all = said_of_cuda("__global__ void f(float *out, const float *in, int n, int m) {\n    int own = blockIdx.x * blockDim.x + threadIdx.x;\n    if (own < n) out[2 * own * m + 1] = in[own];\n}\n");
    assert!(all.contains("Neighbouring threads touch elements of `out` 2 × `m` apart"), "{all}");
    assert!(all.contains("neighbouring threads ask for elements 2 × `m` apart"), "{all}");
}

#[test]
fn a_barrier_behind_a_return_stands_in_no_condition() {
    let code = "// warpwright: launch(1, 64, n = 40)\n__global__ void f(float *a, int n) {\n    int i = threadIdx.x;\n    if (i >= n) return;\n    a[i] = 1;\n    __syncthreads();\n    a[i] += 1;\n}\n";
    let all = said_of_cuda(code);
    assert!(
        all.contains("`return` on line 4 leaves before it") && !all.contains("out of the condition"),
        "{all}"
    );
    // of two behind it one is told
    let twice = said_of_cuda(&code.replace("a[i] += 1;", "a[i] += 1;\n    __syncthreads();"));
    assert_eq!(twice.matches("Not all threads of a block reach this barrier").count(), 1, "{twice}");
    let inside = code.replace("if (i >= n) return;", "").replace("    __sync", "    if (i < n) __sync");
    let all = said_of_cuda(&inside);
    assert!(all.contains("Move the barrier out of the condition") && !all.contains("leaves before"), "{all}");
}

#[test]
fn a_comment_alone_is_not_said_to_give_numbers() {
    let all = said_of_cuda("template <typename T> __global__ void f(T *a, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[i] = 1;\n}\ntemplate <class T> struct S { void go(T *a, int n) { f<<<n, 32>>>(a, n); } };\ntemplate struct S<float>;\n");
    assert!(!all.contains("gives the numbers") && !all.contains("`f<float>`"), "{all}");
    // few threads that never end are not too many
    let all = said_of_cuda("// warpwright: launch(1, 32)\n__global__ void f(float *p, unsigned n) {\n    unsigned t = threadIdx.x;\n    float sum = 0;\n    while (1) {\n        if (t - threadIdx.x > n) break;\n        if (t < n) sum += p[t];\n        t += 32;\n        __syncthreads();\n    }\n    if (threadIdx.x == 0) p[0] = sum;\n}\n");
    assert!(!all.contains("too large"), "{all}");
}

#[test]
fn operations_of_groups_are_called_as_they_are_written() {
    let all = said_of_cuda("#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n__global__ void k(float *out, const float *a, int n, int m) {\n    namespace cg = cooperative_groups;\n    cg::thread_block block = cg::this_thread_block();\n    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);\n    for (int t = 0; t < n; t++) {\n        float r = 0;\n        for (int i = warp.thread_rank(); i <= t; i += warp.size())\n            r += a[t * m + i];\n        r = cg::reduce(warp, r, cg::plus<float>());\n        warp.sync();\n        if (warp.thread_rank() == 0) out[t] = r;\n    }\n}\n");
    assert!(all.contains("`cg::reduce`, called on line 11") && all.contains("**`warp.sync()`**"), "{all}");
    assert!(!all.contains("__cg_reduce_sync") && !all.contains("__syncwarp"), "{all}");
    assert!(all.contains("loop `i` on line 9 is parallel as a reduction."), "{all}");
}

#[test]
fn lanes_are_those_that_a_loop_fills() {
    let few = "enum { COUNT = 11 };\nstruct T { double x, y, z; } t[COUNT];\nvoid f(double *restrict o) {\n    for (int i = 0; i < COUNT; i++)\n        o[i] = t[i].y;\n}\n";
    assert!(!said(few).contains("in a warp"), "{}", said(few));
    let many = few.replace("= 11", "= 64");
    assert!(said(&many).contains("in a warp"), "{}", said(&many));
    // the same place with other blanks is one, and the worst is named
    let places = "#define A(I, J) a[(I) + 2 * (J)]\nstruct C { float r, i; };\nvoid g(int n, float *restrict c, const struct C *restrict a, const float *restrict q) {\n    for (int i = 0; i < n; i++)\n        c[i] = A(i,1).r * A(i,1) .rMORE;\n}\n";
    let one = said(&places.replace("MORE", ""));
    assert!(one.contains("strided: `A(i,1).r`, lanes 8 B apart"), "{one}");
    let two = said(&places.replace("MORE", " + q[9 * i]"));
    assert!(two.contains("accesses strided; strided: `q[9 * i]`, lanes 36 B apart"), "{two}");
    // what moves by a fixed amount
    let moved = said("void h(int n, float beta, float *restrict y, const int *restrict incy) {\n    int iy = 0;\n    for (int i = 0; i < n; i++) {\n        y[iy] = beta * y[iy];\n        iy += *incy;\n    }\n}\n");
    assert!(moved.contains("strided: `y[iy]`, lanes `*incy` × 4 B apart"), "{moved}");
}

#[test]
fn what_cpp_says_has_no_plain_form() {
    let all = said_of_cuda("#include <vector>\nvoid f(int n, float *a) {\n    for (int i = 0; i < n; i++)\n        a[i] = std::get<0>(std::make_tuple(1.0f, i));\n}\n");
    assert!(all.contains("not understood") && !all.contains("plain form"), "{all}");
}
