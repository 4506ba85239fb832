//! Offloading: what is written, and what is refused.

use base::CancelToken;
use expect_test::{expect, Expect};

use super::{full, open};
use crate::{offload, Memo, Which};

fn check(code: &str, which: Which, expected: Expect) {
    let doc = open(code);
    let findings = full(&doc);
    let out = match offload(&doc, &findings, &Memo::new(), &which, &CancelToken::new()) {
        Ok(done) => {
            let mut out = done.host.clone();
            for file in &done.edit.create {
                out.push_str(&format!("==== {}\n{}", file.name, file.text));
            }
            out.push_str(&format!("==== {:#?}\n{:?} {:?}\n", done.loops, done.notes, done.build_flags));
            out
        }
        Err(refused) => format!("{refused:?}\n"),
    };
    expected.assert_eq(&out);
}

#[test]
fn saxpy() {
    check(
        "void saxpy(int n, float a, const float *x, float *y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n",
        Which::Line(2),
        expect![[r#"
            Because("The generated `saxpy_i.cu` was not understood when read again (line 14: this condition is not known here, so what stands under it may or may not be there (#ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */)), so it is not offered. Please report this loop.")
        "#]],
    );
}

#[test]
fn all_marked_loops() {
    check(
        "void f(int n, int *restrict a, const int *restrict b) {\n    // warpwright: offload(first)\n    for (int i = 0; i < n; i++)\n        a[i] = b[i];\n    // warpwright: offload\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n    // warpwright: offload(second)\n    for (int i = 0; i < n; i++)\n        a[i] += 1;\n}\n",
        Which::Marked,
        expect![[r#"
            Because("The generated `first.cu` was not understood when read again (line 14: this condition is not known here, so what stands under it may or may not be there (#ifndef __CUDACC_RTC__ /* NVRTC compiles kernels only */)), so it is not offered. Please report this loop.")
        "#]],
    );
}

#[test]
fn a_sequential_loop() {
    check(
        "void f(int n, int *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n",
        Which::Line(2),
        expect![[r#"
            Because("Loop is sequential: iteration i=1 writes a[1] on line 3, iteration i=2 reads it on line 3, for n=3 (flow dependence on `a`, distance 1). This is a recurrence: compute `a` from values that are there before the loop, write it as a scan, or offload another loop of the nest.")
        "#]],
    );
}

#[test]
fn no_loop_there() {
    check("void f(int n, int *a) {\n    a[0] = n;\n}\n", Which::Line(2), expect![[r#"
        Because("No loop begins on line 2.")
    "#]]);
    check("void f(int n, int *a) {\n    a[0] = n;\n}\n", Which::Marked, expect![[r#"
        Because("No loop is marked. Write `// warpwright: offload` above the loops to offload.")
    "#]]);
}
