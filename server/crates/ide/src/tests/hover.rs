//! Hovers.

use expect_test::{expect, Expect};

use super::{cursor, full, open};
use crate::hover;

fn check(code: &str, expected: Expect) {
    let (code, at) = cursor(code);
    let doc = open(&code);
    let out = match hover(&crate::Ask::thorough(&doc), &full(&doc), at) {
        Some(h) => format!("{}\n=> {:?}\n", h.markdown, doc.slice(h.span)),
        None => "nothing\n".to_owned(),
    };
    expected.assert_eq(&out);
}

#[test]
fn on_a_parallel_nest() {
    check(
        "void f(int n, int m, double a[n][m], double *b) {\n    f$0or (int i = 0; i < n; i++)\n        for (int j = 0; j < m; j++)\n            a[i][j] = b[j];\n}\n",
        expect![[r#"
            **Loop iterations can be executed independently** (loop `i`)

            - on the GPU: one thread per iteration across 2 nested loops (`i` and `j`), `n * m` threads in blocks of 32 × 8 (x: j, y: i)
            - in a warp: every access coalesced or of one address
            - conditions: `a` and `b` do not overlap (tested before the launch)
            => "for (int i = 0; i < n; i++)"
        "#]],
    );
}

#[test]
fn on_a_reduction() {
    check(
        "float f(int n, const float *a) {\n    float s = 0;\n    for (int $0i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n",
        expect![[r#"
            **Loop iterations can be executed independently, as a reduction** (loop `i`)

            - on the GPU: one thread per iteration, `n` threads in blocks of 256
            - in a warp: every access coalesced or of one address
            - reduction: `s` with `+`
            - conditions: floating-point operations regrouped
            => "for (int i = 0; i < n; i++)"
        "#]],
    );
}

#[test]
fn on_a_sequential_loop() {
    check(
        "void f(int n, double a_b[]) {\n    for (int i = 2; i < n; i++)$0\n        a_b[i] = a_b[i - 2];\n}\n",
        expect![[r#"
            **Loop is sequential** (loop `i`)

            - iteration i=2 writes `a_b[2]` on line 3, iteration i=4 reads it on line 3, for n=5 (flow dependence on `a_b`, distance 2)
            => "for (int i = 2; i < n; i++)"
        "#]],
    );
}

#[test]
fn on_an_unknown_loop() {
    check(
        "void g(int);\nvoid f(int n) {\n    f$0or (int i = 2; i < n; i++)\n        g(i);\n}\n",
        expect![[r#"
            **Unknown whether loop iterations are independent** (loop `i`)

            - `g`, called on line 4, may read or write anything: it is not defined in this file
            => "for (int i = 2; i < n; i++)"
        "#]],
    );
}

#[test]
fn on_a_directive() {
    check(
        "void f(int n) {\n    // warpwright: off$0load\n    n = 2;\n}\n",
        expect![[r#"
            nothing
        "#]],
    );
}

#[test]
fn elsewhere_is_nothing() {
    check("void f(int n) {\n    n$0 = 2;\n}\n", expect![["nothing\n"]]);
}
