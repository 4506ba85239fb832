//! Threads without synchronisation: the four worked examples of FOUNDATIONS F4.5 as reports and hovers tell them.

use expect_test::{expect, Expect};

use super::{full, open};

const MATVEC: &str = "void matvec(int N, double A[N][N], double B[N], double C[N])
{
    for (int i = 0; i <= N - 1; i++) {
        C[i] = 0;
        for (int j = 0; j <= N - 1; j++)
            C[i] = C[i] + A[i][j] * B[j];
    }
}
";

const MATMULT: &str = "void matmult(int N, double A[N][N], double B[N][N], double C[N][N])
{
    for (int i = 0; i <= N - 1; i++)
        for (int j = 0; j <= N - 1; j++) {
            C[i][j] = 0;
            for (int k = 0; k <= N - 1; k++)
                C[i][j] = C[i][j] + A[i][k] * B[k][j];
        }
}
";

const POLY: &str = "void poly(int N, const double *restrict A, const double *restrict B, double *restrict C)
{
    for (int i = 0; i <= N; i++)
        for (int j = 0; j <= N; j++) {
            if (i == 0 || j == 0)
                C[i - j + N] = A[i] * B[N - j];
            if (i != 0 && j != 0)
                C[i - j + N] = C[i - j + N] + A[i] * B[N - j];
        }
}
";

const CROSS: &str = "void cross(int N, double X[N + 1][N + 1], double Y[N + 1][N + 1])
{
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) {
            X[i][j] = X[i][j] + Y[i - 1][j];
            Y[i][j] = Y[i][j] + X[i][j - 1];
        }
}
";

/// The thread map of the outermost loop.
fn check(code: &str, expected: Expect) {
    let doc = open(code);
    let findings = full(&doc);
    let map = findings.loops[0].report().thread_map.clone().expect("a thread map");
    expected.assert_eq(&format!("{} {:?} {}", map.dimension, map.maps, map.threads));
    // what lies inside has none of its own: its threads are those of the nest
    for inner in &findings.loops[1..] {
        let parallel = matches!(inner.report().verdict, "independent" | "reduction");
        assert!(parallel || inner.report().thread_map.is_none(), "{}", inner.key);
    }
}

/// What the hover says of threads.
fn check_hover(code: &str, expected: Expect) {
    let doc = open(code);
    let at = code.find("for").expect("a loop") as u32;
    let all = crate::hover(&crate::Ask::thorough(&doc), &full(&doc), at).expect("a hover").markdown;
    let said = |l: &&str| l.contains("without synchronisation") || l.starts_with("- where");
    expected.assert_eq(&all.lines().filter(said).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_worked_examples_have_their_maps() {
    check(MATVEC, expect![[r#"1 [("S1", "i"), ("S2", "i")] N"#]]);
    check(MATMULT, expect![[r#"2 [("S1", "(i, j)"), ("S2", "(i, j)")] N * N"#]]);
    check(POLY, expect![[r#"1 [("S1", "i - j + N"), ("S2", "i - j + N")] 2 * N + 1"#]]);
    check(CROSS, expect![[r#"1 [("S1", "i - j + N - 1"), ("S2", "i - j + N")] 2 * N"#]]);
}

#[test]
fn hovers_say_what_runs_at_once_though_no_loop_does() {
    check_hover(
        POLY,
        expect!["- but without synchronisation: `2 * N + 1` threads (every statement at `i - j + N`); what touches one cell runs in one thread, in order"],
    );
    check_hover(
        CROSS,
        expect![[r#"
            - but without synchronisation: `2 * N` threads (S1 at `i - j + N - 1`, S2 at `i - j + N`); what touches one cell runs in one thread, in order
            - where `no-alias(X,Y)`: `X` and `Y` do not overlap"#]],
    );
}

#[test]
fn a_chain_has_no_threads() {
    let doc = open(
        "void f(int n, double *a) {\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1] + 1;\n}\n",
    );
    let findings = full(&doc);
    assert_eq!(findings.loops[0].report().thread_map, None);
    let hover = crate::hover(&crate::Ask::thorough(&doc), &findings, 35).expect("a hover").markdown;
    assert!(!hover.contains("without synchronisation"), "{hover}");
}

/// The kernel of the outermost loop by its thread map, without its heading comment and launcher.
fn kernel(code: &str) -> String {
    let doc = open(code);
    let findings = full(&doc);
    let which = crate::Which::Key(findings.loops[0].key.to_string());
    let cancel = base::CancelToken::new();
    let done = crate::offload(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        &which,
    )
    .expect("an offload");
    let text = &done.edit.create[0].text;
    let from = text.find("extern \"C\" __global__").expect("a kernel");
    let to = text.find("#ifndef __CUDACC_RTC__").expect("a launcher");
    text[from..to].trim().to_owned() + "\n"
}

#[test]
fn kernels_scan_the_instances_of_one_thread() {
    expect![[r#"
        extern "C" __global__ void poly_i_kernel(long long ww_threads, long long ww_value_N, int N,
            const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C)
        {
            const long long ww_id = (long long)blockIdx.x * blockDim.x + threadIdx.x;
            if (ww_id < ww_threads) {
                if (ww_id >= ww_value_N + 1ll) {
                    const int i = (int)(ww_id - ww_value_N);
                    const int j = 0;
                    C[i - j + N] = A[i] * B[N - j];
                } else {
                    const int i = 0;
                    const int j = (int)(ww_value_N - ww_id);
                    C[i - j + N] = A[i] * B[N - j];
                }
                for (long long ww_c = max(1ll, ww_id - ww_value_N + 1ll); ww_c <= min(ww_value_N, ww_id); ++ww_c) {
                    const int i = (int)ww_c;
                    const int j = (int)(ww_value_N - ww_id + ww_c);
                    C[i - j + N] = C[i - j + N] + A[i] * B[N - j];
                }
            }
        }
    "#]]
    .assert_eq(&kernel(POLY));
    expect![[r#"
        extern "C" __global__ void cross_i_kernel(long long ww_threads, long long ww_value_N,
            long long ww_X_first, long long ww_X_row, long long ww_Y_row, double *__restrict__ X,
            double *__restrict__ Y)
        {
            const long long ww_id = (long long)blockIdx.x * blockDim.x + threadIdx.x;
            if (ww_id < ww_threads) {
                for (long long ww_c = max(1ll, ww_id - ww_value_N + 1ll); ww_c <= min(ww_value_N, ww_id + 1ll); ++ww_c) {
                    if (ww_value_N + ww_c >= ww_id + 2ll) {
                        const int i = (int)ww_c;
                        const int j = (int)(ww_value_N - ww_id + ww_c - 1ll);
                        X[(long long)i * ww_X_row + j - ww_X_first] = X[(long long)i * ww_X_row + j - ww_X_first] + Y[(long long)(i - 1) * ww_Y_row + j - 1];
                    }
                    if (ww_id >= ww_c) {
                        const int i = (int)ww_c;
                        const int j = (int)(ww_value_N - ww_id + ww_c);
                        Y[(long long)i * ww_Y_row + j - 1] = Y[(long long)i * ww_Y_row + j - 1] + X[(long long)i * ww_X_row + (j - 1) - ww_X_first];
                    }
                }
            }
        }
    "#]].assert_eq(&kernel(CROSS));
}

#[test]
fn the_action_names_the_threads() {
    let doc = open(CROSS);
    let findings = full(&doc);
    let at = CROSS.find("for").expect("a loop");
    let titles: Vec<String> = crate::actions(&crate::Ask::thorough(&doc), &findings, base::Span::new(at, at))
        .into_iter()
        .filter(|a| a.kind == crate::ActionKind::Offload)
        .map(|a| format!("{} {:?}", a.title, a.disabled))
        .collect();
    expect!["Run without synchronisation: loop i (2 * N threads) None"].assert_eq(&titles.join("\n"));
}

#[test]
fn generated_kernels_compute_the_same() {
    let temporary = POLY.replace(
        "C[i - j + N] = C[i - j + N] + A[i] * B[N - j];",
        "{ double t = A[i] * B[N - j]; C[i - j + N] += t; }",
    );
    let reversed = "void f(int n, int m, double A[n][m], double s[m])
{
    int i, j;
    for (i = n - 1; i >= 1; i--)
        for (j = 0; j < m; j += 2)
            if (i + j != 3)
                s[j] = s[j] * 0.5 + A[i][j];
}
";
    for code in [POLY, CROSS, &temporary, reversed] {
        let doc = open(code);
        let findings = full(&doc);
        let which = crate::Which::Key(findings.loops[0].key.to_string());
        let options = crate::VerifyOptions { cases: 14, ..crate::VerifyOptions::default() };
        let cancel = base::CancelToken::new();
        let reports = crate::verify(
            &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
            &findings,
            &which,
            &options,
        );
        assert_eq!(reports[0].outcome, crate::Outcome::Same, "{}\\n{code}", reports[0].summary);
        assert!(reports[0].cases.iter().any(|c| c.counted.launches > 0), "{}", reports[0].summary);
    }
}

#[test]
fn a_marked_nest_is_offloaded_by_its_threads() {
    let code = POLY.replacen("    for", "    // warpwright: offload(diagonals)\n    for", 1);
    let doc = open(&code);
    let findings = full(&doc);
    let codes: Vec<&str> = findings.diagnostics.iter().map(|d| d.code).collect();
    assert!(codes.contains(&"carried-dependence") && !codes.contains(&"marked-sequential"), "{codes:?}");
    let cancel = base::CancelToken::new();
    let done = crate::offload(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        &crate::Which::Marked,
    );
    assert_eq!(done.expect("an offload").loops[0].kernel_file, "diagonals.cu");
    // a chain stays an error
    let code = "void f(int n, double *a) {\n    // warpwright: offload\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1] + 1;\n}\n";
    let findings = full(&open(code));
    assert!(findings.diagnostics.iter().any(|d| d.code == "marked-sequential"));
}
