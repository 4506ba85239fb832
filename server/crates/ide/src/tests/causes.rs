//! Reasons are told as what they are: bounds as bounds, pointers that a loop sets, directives that have brought a loop elsewhere.

use super::untrue::said;

#[test]
fn what_directives_bring_to_a_device_gets_no_second_kernel() {
    let one = "for (int i = 0; i < n; i++) a[i] = 2 * a[i];";
    let under = |directive: &str, body: &str| {
        said(&format!("void f(int n, float *restrict a) {{\n{directive}\n    {body}\n}}\n"))
    };
    let many = format!("for (int k = 0; k < 9; k++) {{\n    {one}\n    a[0] = a[n - 1];\n    }}");
    for directive in ["#pragma acc data copy(a)", "#pragma omp target data map(a)"] {
        let all = under(directive, &many);
        assert!(all.contains("to a device already") && !all.contains("Can run on the GPU"), "{all}");
        assert!(under("", &many).contains("an run on the GPU"), "{}", under("", &many));
    }
    // what lies there already is not on the host
    for directive in
        ["#pragma acc parallel loop present(a)", "#pragma acc enter data copyin(a)\n#pragma acc kernels loop"]
    {
        let all = under(directive, one);
        assert!(all.contains("to a device already") && !all.contains("Can run on the GPU"), "{all}");
    }
    // one that is brought there by itself comes back
    for directive in ["#pragma acc parallel loop", "#pragma omp target teams distribute parallel for"] {
        let all = under(directive, one);
        assert!(all.contains("Can run on the GPU"), "{all}");
    }
}

#[test]
fn where_a_loop_ends_is_no_subscript() {
    let rows = "void f(int m, const int *restrict n, double *restrict p) {\n    for (int b = 0; b < m; b++)\n        for (int i = 0; i < n[b]; i++)\n            p[64 * b + i] = 0.5 * b;\n}\n";
    let all = said(rows);
    assert!(all.contains("no element of `n` that the loop reads is larger than `64`"), "{all}");
    assert!(all.contains("(tested before the launch)") && !all.contains("subscript"), "{all}");
    let all = said(&rows.replace("i < n[b]", "i < 2 * n[b]"));
    assert!(all.contains("how far the loop on line 3 runs"), "{all}");
    assert!(!all.contains("subscript"), "{all}");
    let all = said("void f(int m, int *restrict n, int *restrict t) {\n    for (int i = 0; i < m; i++) t[(*n)++] = i;\n}\n");
    assert!(!all.contains("the same value twice"), "{all}");
}

#[test]
fn a_pointer_that_the_loop_sets_says_so() {
    let all = said("#include <string.h>\nvoid f(int n, char *list, int *out) {\n    for (int i = 0; i < n; i++) {\n        out[i] = list[0];\n        list = strchr(list, 44) + 1;\n    }\n}\n");
    assert!(all.contains("line 5 sets it in the loop"), "{all}");
}

#[test]
fn of_a_file_without_loops_no_header_is_missed() {
    let of =
        |body: &str| said(&format!("#include \"sizes.h\"\nvoid f(int n, float *a) {{\n    {body}\n}}\n"));
    assert!(of("for (int i = 0; i < COUNT; i++) a[i] = 0;").contains("`sizes.h` was not found"));
    assert!(!of("a[0] = COUNT;").contains("was not found"));
}

#[test]
fn functions_of_the_library_may_be_declared_in_a_block() {
    let of = |declared: &str| {
        said(&format!("int f(int n, const double *restrict x, double *restrict y) {{\n    {declared}\n    int i;\n    for (i = 0; i < n; i++) y[i] = sqrt(x[i]);\n    return 0;\n}}\n"))
    };
    assert!(of("double sqrt(double), other(double *);").contains("Can run on the GPU"));
    // of another type it is another function
    assert!(!of("float sqrt(int);").contains("Can run on the GPU"));
}

#[test]
fn an_address_that_is_handed_on_before_the_loop_is_named() {
    let all = said("void report(const char *, int *);\nvoid f(int n, double *restrict x) {\n    int i = 0;\n    report(\"f\", &i);\n    for (i = 0; i < n; i++) x[i] *= 2;\n}\n");
    assert!(all.contains("through its address, which is taken on line 4"), "{all}");
    let all = said("void report(const char *, int *);\nvoid f(int n, double *restrict x) {\n    int i = n < 0;\n    if (i) {\n        report(\"f\", &i);\n        return;\n    }\n    for (i = 0; i < n; i++) x[i] *= 2;\n}\n");
    assert!(all.contains("Can run on the GPU"), "{all}");
}

#[test]
fn iterations_from_a_number_on_are_counted() {
    let of = |end: &str| {
        said(&format!("void f(int first, int n, float *restrict a) {{\n    for (int i = first; i < {end}; i++) a[i] = 2 * a[i];\n}}\n"))
    };
    assert!(of("first + n").contains("`n` threads"), "{}", of("first + n"));
    let more = of("first + n + 3");
    assert!(!more.contains("`n` threads") && more.contains("+ 3` threads"), "{more}");
}

#[test]
fn what_a_call_does_is_said_of_the_call_in_the_loop() {
    let all = said("#include <stdio.h>\nstatic void note(int k) { printf(\"%d\\n\", k); }\nstatic void one(int k, int *a) { a[k] = k; note(k); }\nstatic void other(int k, int *a) { a[k] = 2 * k; note(k); }\nvoid f(int n, int *a, int *b) {\n    for (int i = 0; i < n; i++) { a[i] = i; one(i, a); }\n    for (int i = 0; i < n; i++) { b[i] = a[i]; other(i, b); }\n}\n");
    assert!(all.contains("`printf`, which `one`, called on line 6, calls through other functions"), "{all}");
    assert!(
        all.contains("`printf`, which `other`, called on line 7, calls through other functions"),
        "{all}"
    );
}

#[test]
fn what_an_assert_says_of_memory_is_a_condition() {
    let all = said("#include <assert.h>\nvoid f(int n, const int *restrict k, double *restrict a) {\n    for (int i = 0; i < n; i++) {\n        assert(k[i] >= 0);\n        a[i] = 2.0 * k[i];\n    }\n}\n");
    assert!(all.contains("not yet offloadable"), "{all}");
    assert!(all.contains("This holds where what is asserted on line 4 holds: `k[i] >= 0`"), "{all}");
}

#[test]
fn what_is_taken_away_and_depends_on_what_is_left_is_no_prefix_sum() {
    let of = |coordinate: &str| {
        said(&format!("int f(int n, int at, const int *restrict d, int *restrict c) {{\n    for (int i = 0; i < n; i++) {{\n        int q = {coordinate};\n        c[i] = at;\n        at -= q * d[i];\n    }}\n    return at;\n}}\n"))
    };
    assert!(!of("at / d[i]").contains("prefix sum"), "{}", of("at / d[i]"));
    assert!(of("d[i] / 2").contains("prefix sum"), "{}", of("d[i] / 2"));
}

#[test]
fn the_part_of_a_launch_that_is_known_is_told() {
    let code = "#define THREADS 256\n__global__ void up(int n, float *a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[i] += 1;\n}\nvoid go(int n, float *a) {\n    up<<<(n + THREADS - 1) / THREADS, THREADS>>>(n, a);\n}\n";
    let doc = super::open_cuda(code);
    let (ask, found) = (crate::Ask::thorough(&doc), super::full(&doc));
    let at = u32::try_from(code.find("up(int").expect("the kernel")).expect("short");
    let h = crate::hover(&ask, &found, at).expect("a hover");
    assert!(
        h.markdown
            .contains("the launch on line 7 has blocks of 256 threads; its grid is not known as a number"),
        "{}",
        h.markdown
    );
}

#[test]
fn a_parameter_that_moves_once_is_none_of_the_locals() {
    let all = said("int other(int *);\nvoid f(int n, double *x, int lda) {\n    int last = n;\n    other(&last);\n    x -= 1 + lda;\n    for (int i = 1; i <= last; i++)\n        x[i] = 2 * x[i];\n}\n");
    assert!(all.contains("Can run on the GPU") && !all.contains("overlap"), "{all}");
}

#[test]
fn a_cast_that_is_not_followed_is_said_to_be_one() {
    let of = |before: &str, from: &str| {
        said(&format!("struct field {{ void *data; int n; }};\nvoid f(int n, struct field *p, struct field *all, double *restrict y) {{\n    {before}\n    for (int i = 0; i < n; i++) {{\n        struct field *here = &all[i];\n        y[i] = {from}[i] + here->n;\n    }}\n}}\n"))
    };
    let all = of("", "((double *)p->data)");
    assert!(all.contains("the cast `(double *)p->data` on line 6 is not followed"), "{all}");
    assert!(
        all.contains("Set a pointer of that type to it before the loop") && !all.contains("rows"),
        "{all}"
    );
    // as advised
    let advised = of("const double *d = p->data;", "d");
    assert!(!advised.contains("Unknown whether"), "{advised}");
    // what each iteration has of its own cannot be set before
    let own = of("", "((double *)here->data)");
    assert!(own.contains("the cast") && !own.contains("Set a pointer"), "{own}");
}

#[test]
fn a_list_has_no_index() {
    let node = "struct node { int v; struct node *next; };\nvoid drop(struct node *);\n";
    for (text, step) in [
        ("void f(struct node *list) {\n    for (struct node *p = list; p; p = p->next)\n        p->v++;\n}\n", "p = p->next"),
        ("int f(struct node *p) {\n    int n = 0;\n    while (p != 0) {\n        n += p->v;\n        p = p->next;\n    }\n    return n;\n}\n", "p = p->next"),
        ("struct node *f(struct node *p) {\n    struct node *r = 0;\n    while (p) {\n        struct node *next = p->next;\n        p->next = r;\n        r = p;\n        p = next;\n    }\n    return r;\n}\n", "struct node *next = p->next"),
    ] {
        let all = said(&format!("{node}{text}"));
        assert!(all.contains("goes from one element to the next") && all.contains(step), "{all}");
    }
    // what goes along a list inside goes around by something else
    let all = said(&format!("{node}void f(struct node *list, int k) {{\n    while (k != 1) {{\n        k = k % 2 ? 3 * k + 1 : k / 2;\n        for (struct node *p = list; p; p = p->next)\n            p->v++;\n    }}\n}}\n"));
    let outer = all.lines().find(|l| l.contains("line 4")).unwrap_or_default();
    assert!(!outer.contains("goes from one element"), "{all}");
}

#[test]
fn a_stride_may_be_negative() {
    let all = said("void f(int n, float a, const float *restrict x, int incx, float *restrict y, int incy) {\n    for (int i = 0; i < n; i++)\n        y[i * incy] += a * x[i * incx];\n}\n");
    assert!(all.contains("`incy` is not 0") && !all.contains("is positive"), "{all}");
}
