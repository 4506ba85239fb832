//! The words of messages.

use expect_test::{expect, Expect};

use super::{full, open};

fn check(code: &str, expected: Expect) {
    let doc = open(code);
    let mut out = String::new();
    for d in full(&doc).diagnostics {
        let at = crate::function_view::line_column(&doc, d.span.start);
        out.push_str(&format!("{}:{} {}[{}] {}\n", at.line, at.column, d.severity.name(), d.code, d.message));
        for r in d.related {
            let at = crate::function_view::line_column(&doc, r.span.start);
            out.push_str(&format!("  {}:{} {}\n", at.line, at.column, r.message));
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn independent() {
    check(
        "void f(int n, float *a, float *b) {\n    for (int i = 0; i < n; i++) { float t = b[i]; a[i] = t * t; }\n}\n",
        expect![[r#"
            2:5 hint[parallel-loop] Can run on the GPU: the iterations of loop `i` can be executed independently. The generated code first checks that `a` and `b` do not overlap, and else runs this loop as it is. Apply "Offload to GPU" to rewrite it.
        "#]],
    );
}

#[test]
fn independent_nest() {
    check(
        "void f(int n, int m, double a[n][m]) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++)\n            a[i][j] *= i + j;\n}\n",
        expect![[r#"
            2:5 hint[parallel-loop] Can run on the GPU: loop iterations can be executed independently (2 nested loops: `i` and `j`). Apply "Offload to GPU" to rewrite it.
        "#]],
    );
}

#[test]
fn reduction() {
    check(
        "double f(int n, const double *a) {\n    double s = 0;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n",
        expect![[r#"
            3:5 hint[reduction-loop] Can run on the GPU as a reduction: the iterations of loop `i` are independent but for `s` (+). Floating-point operations are regrouped, so the last bits may differ. Apply "Offload to GPU" to rewrite it.
        "#]],
    );
}

#[test]
fn recurrence() {
    check(
        "void f(int n, double *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n",
        expect![[r#"
            2:5 information[carried-dependence] Loop is sequential: iteration i=1 writes a[1] on line 3, iteration i=2 reads it on line 3, for n=3 (flow dependence on `a`, distance 1). This is a recurrence: each iteration needs what an earlier one left in `a`.
              3:9 writes here, in an earlier iteration
              3:16 reads here, in a later iteration
        "#]],
    );
}

#[test]
fn anti_dependence() {
    check(
        "void f(int n, double *a) {\n    for (int i = 0; i < n; i++)\n        a[i] = a[i + 1];\n}\n",
        expect![[r#"
            2:5 information[carried-dependence] Loop is sequential: iteration i=0 reads a[1] on line 3, iteration i=1 writes it on line 3, for n=2 (anti dependence on `a`, distance 1). Read from a copy of `a` made before the loop, and the dependence is gone.
              3:16 reads here, in an earlier iteration
              3:9 writes here, in a later iteration
        "#]],
    );
}

/// Where more dependences are carried than are listed, nobody knows that a copy would do.
#[test]
fn more_dependences_than_are_listed() {
    let reads: Vec<String> = (1..=14).map(|d| format!("a[i + {d}]")).collect();
    let text = format!(
        "void f(int n, double *a, double *restrict b) {{\n    for (int i = 1; i < n; i++) {{\n        a[i] = {} + a[i - 1];\n    }}\n}}\n",
        reads.join(" + ")
    );
    let doc = open(&text);
    let said: String = full(&doc).diagnostics.into_iter().map(|d| d.message.to_string()).collect();
    assert!(said.contains("Loop is sequential") && !said.contains("copy"), "{said}");
}

#[test]
fn output_dependence() {
    check(
        "void f(int n, int m, double *restrict a, const double *restrict b) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++)\n            a[j] = b[i];\n}\n",
        expect![[r#"
            2:5 information[carried-dependence] Loop is sequential: iteration i=0, j=0 writes a[0] on line 4, iteration i=1, j=0 writes it on line 4, for n=2, m=1 (output dependence on `a`). Give every iteration its own cell of `a`, or write only in the last iteration that counts. Inside it, loop `j` on line 3 can run on the GPU.
              4:13 writes here, in an earlier iteration
              4:13 writes here, in a later iteration
        "#]],
    );
}

#[test]
fn carried_scalar() {
    check(
        "int f(int n, const int *a) {\n    int x = 1;\n    for (int i = 0; i < n; i++)\n        x = a[i] - x;\n    return x;\n}\n",
        expect![[r#"
            3:5 information[carried-dependence] Loop is sequential: iteration i=0 writes x on line 4, iteration i=1 reads it on line 4, for n=2 (flow dependence on `x`). If `x` only accumulates, write it as `x = x + …` (or `*`, min, max) and use it for nothing else in the loop: it is then a reduction. Else compute it from the loop's index.
              4:9 writes here, in an earlier iteration
              4:20 reads here, in a later iteration
        "#]],
    );
}

#[test]
fn unknown_call() {
    check(
        "int g(int);\nvoid f(int n, int *a) {\n    for (int i = 0; i < n; i++)\n        a[i] = g(i);\n}\n",
        expect![[r#"
            3:5 information[unknown-loop] Unknown whether loop iterations are independent: `g`, called on line 4, may read or write anything: it is not defined in this file. If you know that it does no harm, promise so in a comment before the loop: `// warpwright: assume(pure(g))`.
              4:16 `g`, called on line 4, may read or write anything: it is not defined in this file
        "#]],
    );
}

#[test]
fn indirect_subscript() {
    check(
        "void f(int n, const int *restrict idx, int *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[idx[i]] = i;\n}\n",
        expect![[r#"
            2:5 information[unknown-loop] Unknown whether loop iterations are independent: the subscript `idx[i]` on line 3 comes out of memory and may have the same value twice. If you know that it does no harm, promise so in a comment before the loop: `// warpwright: assume(injective(idx))`.
              3:11 The subscript `idx[i]` on line 3 comes out of memory and may have the same value twice
        "#]],
    );
}

#[test]
fn pointers_into_one_array() {
    check(
        "void f(int n, int *a) {\n    int *b = a;\n    b++;\n    for (int i = 0; i < n; i++)\n        b[i] = a[i];\n}\n",
        expect![[r#"
            4:5 information[unknown-loop] Unknown whether loop iterations are independent: `a` and `b` start in the same array (line 5), and how far apart they are is not known. Reach both through the array's own name and subscripts, so that their distance can be seen.
              5:9 `a` and `b` start in the same array (line 5), and how far apart they are is not known
        "#]],
    );
}

#[test]
fn early_exit() {
    check(
        "int f(int n, const int *restrict a, int *restrict b) {\n    for (int i = 0; i < n; i++) {\n        b[i] = a[i];\n        if (a[i] == 0)\n            return i;\n    }\n    return -1;\n}\n",
        expect![[r#"
            2:5 information[unknown-loop] Unknown whether loop iterations are independent: `return` on line 5 may leave the loop before its end.
              5:13 `return` on line 5 may leave the loop before its end
        "#]],
    );
}

#[test]
fn list_traversal() {
    check(
        "struct node { struct node *next; int value; };\nvoid f(struct node *p, int *a) {\n    while (p) {\n        a[p->value] = 0;\n        p = p->next;\n    }\n}\n",
        // nobody needs to be told
        expect![""],
    );
}

#[test]
fn marked() {
    check(
        "void f(int n, double *a) {\n    #pragma ops target\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n    // warpwright: offload(k)\n    for (int i = 1; i < n; i++)\n        a[i * i] = 0;\n    // warpwright: offload(z)\n    for (int i = 1; i < n; i++)\n        a[i] = 0;\n}\n",
        expect![[r#"
            3:5 error[marked-sequential] Marked for the GPU, but must not be offloaded. Loop is sequential: iteration i=1 writes a[1] on line 4, iteration i=2 reads it on line 4, for n=3 (flow dependence on `a`, distance 1). This is a recurrence: each iteration needs what an earlier one left in `a`. Or remove the mark.
              4:9 writes here, in an earlier iteration
              4:16 reads here, in a later iteration
            6:5 warning[marked-unknown] Marked for the GPU, but not offloaded. Unknown whether loop iterations are independent: the subscript `i * i` on line 7 is not a sum of loop indices with constant factors.
              7:11 The subscript `i * i` on line 7 is not a sum of loop indices with constant factors
            9:5 hint[parallel-loop] Can run on the GPU: the iterations of loop `i` can be executed independently. Marked: apply "Offload to GPU" to rewrite it.
        "#]],
    );
}

#[test]
fn an_array_that_iterations_need_for_themselves_is_reached_by_subscripts() {
    check(
        "void use(double *w, const double *u, int m) { for (int i = 0; i < m; i++) w[i] = u[i]; }\nvoid f(int n, int m, double u[restrict n][m], double v[restrict n][m], double *restrict w) {\n    for (int k = 0; k < n; k++) {\n        double *q = w;\n        for (int i = 0; i < m; i++)\n            *q++ = u[k][i];\n        for (int i = 0; i < m; i++)\n            v[k][i] = w[m - 1 - i];\n    }\n}\n",
        expect![[r#"
            3:5 hint[reduction-loop] Parallel as a reduction, not yet offloadable (w for each iteration): the iterations of loop `k` are independent but for `w` (last). No kernel is made, because each iteration would need a `w` of its own, and on line 4 more is done with it than to reach its elements by subscripts. Use `w` with subscripts alone in this loop, without passing it on or setting another pointer to it.
        "#]],
    );
}
