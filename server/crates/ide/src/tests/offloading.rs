//! Offloading: what is written, and what is refused.

use expect_test::{expect, Expect};

use super::{full, open};
use crate::{offload, Which};

fn check(code: &str, which: Which, expected: Expect) {
    let doc = open(code);
    let findings = full(&doc);
    let out = match offload(&crate::Ask::thorough(&doc), &findings, &which) {
        Ok(done) => {
            // the texts themselves are codegen's to test
            assert!(!done.host.contains("cuda_runtime") && !done.host.contains("ww_"), "{}", done.host);
            let mut out = String::new();
            for file in &done.edit.create {
                let kernels =
                    done.loops.iter().filter(|l| l.kernel_file == file.name).flat_map(|l| &l.kernels);
                for k in kernels {
                    assert!(file.text.contains(&format!("{}(", k.name)) && done.host.contains(&k.launcher));
                    out.push_str(&format!(
                        "{}: {} {:?} {:?} {:?}\n",
                        file.name, k.name, k.block, k.grid, k.axes
                    ));
                }
            }
            for l in &done.loops {
                out.push_str(&format!(
                    "==== {} line {} in {}, {:?}\n",
                    l.key, l.line, l.kernel_file, l.line_map
                ));
            }
            out.push_str(&format!("{:?} {:?}\n", done.notes, done.build_flags));
            // what was written is not offered again, and leaves no mark behind
            let after = open(&done.host);
            assert_eq!(done.edit.edits[0].edits.apply(doc.text()).expect("edits fit").to_string(), done.host);
            for d in full(&after).diagnostics {
                out.push_str(&format!("{} {}\n", d.code, after.slice(d.span)));
            }
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
            saxpy_i.cu: saxpy_i_kernel [256, 1, 1] ["(ww_trips_i + 255) / 256"] [("x", "i")]
            ==== saxpy#0 line 2 in saxpy_i.cu, [(8, 2), (9, 2), (10, 3)]
            [] ["-fmad=false"]
        "#]],
    );
}

#[test]
fn all_marked_loops() {
    check(
        "void f(int n, int *restrict a, const int *restrict b) {\n    // warpwright: offload(first)\n    for (int i = 0; i < n; i++)\n        a[i] = b[i];\n    // warpwright: offload\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n    // warpwright: offload(second)\n    for (int i = 0; i < n; i++)\n        a[i] += 1;\n}\n",
        Which::Marked,
        expect![[r#"
            first.cu: first_kernel [256, 1, 1] ["(ww_trips_i + 255) / 256"] [("x", "i")]
            second.cu: second_kernel [256, 1, 1] ["(ww_trips_i + 255) / 256"] [("x", "i")]
            ==== f#0 line 3 in first.cu, [(8, 3), (9, 3), (10, 4)]
            ==== f#2 line 9 in second.cu, [(7, 9), (8, 9), (9, 10)]
            ["The loop on line 6 is left as it is. Loop is sequential: iteration i=1 writes a[1] on line 7, iteration i=2 reads it on line 7, for n=3 (flow dependence on `a`, distance 1). This is a recurrence: each iteration needs what an earlier one left in `a`."] ["-fmad=false"]
            marked-sequential for (int i = 1; i < n; i++)
        "#]],
    );
}

#[test]
fn several_without_names_get_names() {
    check(
        "void f(int n, int *a, const int *b) {\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        a[i] = b[i];\n    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        a[i] += b[i];\n}\n",
        Which::Marked,
        expect![[r#"
            f_i.cu: f_i_i_kernel [256, 1, 1] ["(ww_trips_i + 255) / 256"] [("x", "i")]
            f_i.cu: f_i_i_2_kernel [256, 1, 1] ["(ww_trips_i + 255) / 256"] [("x", "i")]
            ==== f#0 line 3 in f_i.cu, [(8, 3), (9, 3), (10, 4), (17, 6), (18, 6), (19, 7)]
            [] ["-fmad=false"]
        "#]],
    );
}

#[test]
fn a_sequential_loop() {
    check(
        "void f(int n, int *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n",
        Which::Line(2),
        expect![[r#"
            Because("Loop is sequential: iteration i=1 writes a[1] on line 3, iteration i=2 reads it on line 3, for n=3 (flow dependence on `a`, distance 1). This is a recurrence: each iteration needs what an earlier one left in `a`.")
        "#]],
    );
}

#[test]
fn no_loop_there() {
    check(
        "void f(int n, int *a) {\n    a[0] = n;\n}\n",
        Which::Line(2),
        expect![[r#"
        Because("No loop begins on line 2.")
    "#]],
    );
    check(
        "void f(int n, int *a) {\n    a[0] = n;\n}\n",
        Which::Marked,
        expect![[r#"
        Because("No loop is marked. Write `// warpwright: offload` above the loops to offload.")
    "#]],
    );
}

#[test]
fn a_program_with_its_own_allocation() {
    check(
        "static double pool[100];\nvoid *malloc(unsigned long n) { return n ? pool : 0; }\nvoid f(int n, double *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = 1;\n}\n",
        Which::Line(4),
        expect![[r#"
            Because("No kernel is made, because this program has its own `malloc`, and host code needs the library's. Give it another name.")
        "#]],
    );
}

#[test]
fn what_a_called_function_does_is_said_of_its_call() {
    check(
        "static int get(const int *p, const int *ix, int i) { return p[ix[i]]; }\nvoid f(int n, int *restrict a, const int *restrict b, const int *restrict ix) {\n    for (int i = 0; i < n; i++)\n        a[i] = get(b, ix, i);\n}\n",
        Which::Line(3),
        expect![[r#"
            f_i.cu: f_i_kernel [256, 1, 1] ["(ww_trips_i + 255) / 256"] [("x", "i")]
            ==== f#0 line 3 in f_i.cu, [(8, 3), (9, 3), (10, 4)]
            ["Before each launch the host goes through the loop's subscripts, to find which part of `b` it uses: that takes time of its own."] ["-fmad=false"]
        "#]],
    );
    check(
        "static void add(int *p, int v) { *p += v; }\nint f(int n, const int *restrict a, const int *restrict b) {\n    int sum = 0;\n    for (int i = 0; i < n; i++) {\n        add(&sum, a[i]);\n        sum += b[i];\n    }\n    return sum;\n}\n",
        Which::Line(4),
        expect![[r#"
            f_i.cu: f_i_kernel [256, 1, 1] ["(ww_trips_i + 255) / 256"] [("x", "i")]
            ==== f#0 line 4 in f_i.cu, [(9, 4), (11, 4), (13, 5), (14, 5), (16, 6)]
            [] ["-fmad=false"]
        "#]],
    );
    let pair = "struct p { int x; int v[2]; };\nstatic struct p mk(int x) { struct p r = { x }; r.v[0] = x; return r; }\nvoid f(int n, struct p *restrict s) {\n    int m;\n    if (n > 3)\n        m = n;\n    for (int i = 0; i < n; i++)\n        s[i] = mk(m);\n}\n";
    check(
        pair,
        Which::Line(7),
        expect![[r#"
        Because("No kernel is made, because `m` (line 8) may hold no value when the loop starts. Give `m` a value where it is declared.")
    "#]],
    );
    // parameters have values, whatever stands before the loop
    check(
        "void f(int n, int m, int *restrict a) {\n    switch (m > 3) case 1: {\n        for (int i = 0; i < n; i++)\n            a[i] = m;\n    }\n}\n",
        Which::Line(3),
        expect![[r#"
            f_i.cu: f_i_kernel [256, 1, 1] ["(ww_trips_i + 255) / 256"] [("x", "i")]
            ==== f#0 line 3 in f_i.cu, [(7, 3), (8, 3), (9, 4)]
            [] ["-fmad=false"]
        "#]],
    );
}

/// Two ways of rounding: the file says how it is to be compiled, the action what it makes, and the runs are fused as the file will be.
#[test]
fn products_are_fused_where_that_is_asked() {
    let code = "void axpy(int n, double a, const double *restrict x, double *restrict y) {\n    for (int i = 0; i < n; i++)\n        y[i] = a * x[i] + y[i];\n}\n";
    for (is_fused, compile, title) in [
        (false, "nvcc -fmad=false -c axpy_i.cu: fused multiply-adds would round differently.", "GPU:"),
        (true, "nvcc -fmad=true -c axpy_i.cu: products are fused with sums", "GPU (CUDA, fused):"),
    ] {
        let options =
            crate::Options { target: crate::Target::default().fused(is_fused), ..Default::default() };
        let text = text::Text::new(code).expect("small");
        let doc = crate::Doc::open(crate::Language::C, "axpy.c", text, options);
        let findings = full(&doc);
        let ask = crate::Ask::thorough(&doc);
        let done = offload(&ask, &findings, &Which::Line(2)).expect("it is parallel");
        assert!(done.edit.create[0].text.contains(compile), "{}", done.edit.create[0].text);
        assert_eq!(done.build_flags, [if is_fused { "-fmad=true" } else { "-fmad=false" }]);
        assert_eq!(done.notes.iter().any(|n| n.contains("0.0001")), is_fused, "{:?}", done.notes);
        let header = base::Span::new(code.find("for").expect("a loop"), code.find("for").expect("a loop"));
        let actions = crate::actions(&ask, &findings, header);
        assert!(actions.iter().any(|a| a.title.contains(title)), "{actions:?}");
        let report = crate::verify(&ask, &findings, &Which::Line(2), &Default::default()).remove(0);
        assert_eq!(report.outcome, crate::Outcome::Same, "{}", report.summary);
        assert_eq!(report.summary.contains("Products were fused"), is_fused, "{}", report.summary);
    }
}

/// Which zero an extreme keeps, the loop decides where a value may be a negative one.
#[test]
fn signs_of_zeros_are_the_loops() {
    let asks = |ty: &str, step: &str| {
        let text = format!(
            "#include <math.h>\n{ty} f(int n, const double *x, {ty} m) {{\n    for (int i = 0; i < n; i++) {{ {step} }}\n    return m;\n}}\n"
        );
        let doc = open(&text);
        let done = crate::offload(&crate::Ask::thorough(&doc), &full(&doc), &crate::Which::Line(3));
        let done = done.unwrap_or_else(|e| panic!("{step}: {e:?}"));
        done.edit.create.iter().any(|f| f.text.contains("decide its sign"))
    };
    for may in [
        "if (x[i] < m) m = x[i];",
        "if (x[i] >= m) m = x[i];",
        "m = m > x[i] ? m : x[i];",
        "double d = x[i] - 1; if (d < m) m = d;",
        // an equal one replaces what may be -0.0
        "m = m > fabs(x[i]) ? m : fabs(x[i]);",
    ] {
        assert!(asks("double", may), "{may}");
    }
    for never in [
        "if (fabs(x[i]) > m) m = fabs(x[i]);",
        "if (x[i] * x[i] < m) m = x[i] * x[i];",
        "double d = sqrt(x[i] * x[i] + 1); if (d < m) m = d;",
        "double d = x[i] + 0.0; if (d < m) m = d;",
    ] {
        assert!(!asks("double", never), "{never}");
    }
    // what is too small for a float becomes -0.0
    assert!(asks("float", "float d = x[i] + 0.0; if (d < m) m = d;"));
    assert!(!asks("float", "float d = x[i] * x[i]; if (d < m) m = d;"));
    // and replaces another zero, though an equal value would not
    let (wide, same) =
        (zero_test("float", "if (x[i] < m) m = x[i];"), zero_test("double", "if (x[i] < m) m = x[i];"));
    assert!(wide.contains("*m < ") && same.contains("*m <= "), "{wide}\n{same}");
}

/// The line behind the comment on what decides the sign of a zero.
fn zero_test(ty: &str, step: &str) -> String {
    let text = format!(
        "{ty} f(int n, const double *x, {ty} m) {{\n    for (int i = 0; i < n; i++) {{ {step} }}\n    return m;\n}}\n"
    );
    let doc = open(&text);
    let done = crate::offload(&crate::Ask::thorough(&doc), &full(&doc), &crate::Which::Line(2));
    let made = done.expect("a kernel").edit.create;
    let behind = made.iter().find_map(|f| f.text.split_once("decide its sign"));
    behind.map(|(_, t)| t.lines().skip(1).take(4).collect::<Vec<_>>().join("\n")).unwrap_or_default()
}

/// What the host looks for in rows of constant length it is given one behind the other.
#[test]
fn ends_are_looked_for_in_rows_of_constant_length() {
    for code in [
        "void f(int n, const int (*edge)[2], const float *w, float *res)\n{\n    for (int e = 0; e < n; e++) { res[edge[e][0]] -= w[e]; res[edge[e][1]] += w[e]; }\n}\n",
        "int pairs[1000][3];\nvoid f(int n, float *res) {\n    for (int e = 0; e < n; e++) res[pairs[e][2]] += 1.0f;\n}\n",
        "\nvoid f(int n, const int (*g)[2][3], float *res) {\n    for (int e = 0; e < n; e++) res[g[e][1][2]] += 1.0f;\n}\n",
    ] {
        let doc = open(code);
        let report =
            crate::verify(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(3), &Default::default()).remove(0);
        assert_eq!(report.outcome, crate::Outcome::Same, "{code}{}", report.summary);
    }
    // how long its rows are the function does not know
    let code = "\nvoid f(int n, int m, const int p[n][m], float *res) {\n    for (int e = 0; e < n; e++) res[p[e][1]] += 1.0f;\n}\n";
    let doc = open(code);
    assert!(offload(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(3)).is_err());
}

/// Cubes behind an index macro, red and black in turn: what the host tests before a launch is met by any cube.
#[test]
fn cells_of_a_cube() {
    let code = "typedef double real;\n#define I3(k, j, i) (((size_t)(k) * n + (j)) * n + (i))\nvoid relax(real *u, const real *f, int n, real h, int colour)\n{\n    int i, j, k;\n    for (k = 1; k < n - 1; k++)\n        for (j = 1; j < n - 1; j++)\n            for (i = 1 + ((k + j + colour) & 1); i < n - 1; i += 2)\n                u[I3(k, j, i)] = (h * h * f[I3(k, j, i)] + u[I3(k - 1, j, i)] + u[I3(k + 1, j, i)] + u[I3(k, j - 1, i)] + u[I3(k, j, i - 1)] + u[I3(k, j, i + 1)]) / 6.0;\n}\n";
    let doc = open(&format!("typedef unsigned long size_t;\n{code}"));
    let options = crate::VerifyOptions { cases: 6, ..Default::default() };
    let reports = crate::verify(&crate::Ask::thorough(&doc), &full(&doc), &Which::Line(7), &options);
    assert!(!reports.is_empty());
    for report in reports {
        assert_eq!(report.outcome, crate::Outcome::Same, "{}", report.summary);
        let ran = report.cases.iter().filter(|c| c.counted.launches > 0).count();
        assert!(ran >= 2, "the kernel ran on {ran} inputs");
    }
}
