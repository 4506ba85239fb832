//! Reasons are told as what they are: bounds as bounds, pointers that a loop sets, directives that have brought a loop elsewhere.

use super::untrue::said;

#[test]
fn what_directives_bring_to_a_device_gets_no_second_kernel() {
    let loops = "for (int i = 0; i < n; i++) a[i] = 2 * a[i];";
    let under = |directive: &str| {
        said(&format!("void f(int n, float *restrict a) {{\n{directive}\n    {loops}\n}}\n"))
    };
    assert!(under("").contains("Can run on the GPU"), "{}", under(""));
    for directive in [
        "#pragma acc kernels loop",
        "#pragma acc data copy(a)",
        "#pragma omp target teams distribute parallel for",
    ] {
        let all = under(directive);
        assert!(all.contains("brings it") && !all.contains("Can run on the GPU"), "{all}");
    }
}

#[test]
fn where_a_loop_ends_is_no_subscript() {
    let all = said("void f(int m, const int *restrict n, double *restrict p) {\n    for (int b = 0; b < m; b++)\n        for (int i = 0; i < n[b]; i++)\n            p[64 * b + i] = 0.5 * b;\n}\n");
    assert!(all.contains("how far the loop on line 3 runs, `n[b]`, comes out of memory"), "{all}");
    assert!(all.contains("assume(in-range(n, 0, 65))") && !all.contains("subscript"), "{all}");
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
