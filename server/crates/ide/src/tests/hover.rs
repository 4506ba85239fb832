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
            - in a warp, 32 neighboring iterations of `j`:
              - coalesced: `a[i][j]`, 8 to 9 sectors of 32 B a request (ideal 8)
              - coalesced: `b[j]`, 8 sectors of 32 B a request (ideal 8)
            - sectors of one request of every access: at most 17 with `j` along the lanes, at most 33 with `i`
            - because: no iteration writes a cell that another one reads or writes
            - condition `bounds(0<=j<m)`: `j` is never outside its dimension of length `m` (proved)
            - condition `no-alias(a,b)`: `a` and `b` do not overlap (checked before the launch, else the loop runs as it is)
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
            - in a warp, 32 neighboring iterations of `i`:
              - coalesced: `a[i]`, 4 sectors of 32 B a request (ideal 4)
            - reduction: `s` with `+`
            - condition `reassociate(float +)`: `+` on float is regrouped, so the last bits may differ (you accept it by offloading)
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

            - iteration i=2 writes a\_b\[2\] on line 3, iteration i=4 reads it on line 3, for n=5 (flow dependence on `a_b`, distance 2)

            This is a recurrence; only 2 neighboring iterations are independent at a time. Compute `a_b` from values that are there before the loop.
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

            - `g`, called on line 4, may read or write anything

            Write what `g` computes into the loop, or call it outside.
            => "for (int i = 2; i < n; i++)"
        "#]],
    );
}

#[test]
fn on_a_directive() {
    check(
        "void f(int n) {\n    // warpwright: off$0load\n    n = 2;\n}\n",
        expect![[r#"
            Mark without a loop: no `for` loop follows it, so nothing is offloaded. Move it directly above the loop, or remove it.

            `bad-mark`
            => "// warpwright: offload"
        "#]],
    );
}

#[test]
fn elsewhere_is_nothing() {
    check("void f(int n) {\n    n$0 = 2;\n}\n", expect![["nothing\n"]]);
}
