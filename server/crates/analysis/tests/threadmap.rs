//! Parallelism without synchronisation: the maps and thread counts of F4.5, and nests that must have none.

use analysis::{analyze, thread_map, Expr, LoopId, Param, Program};
use base::Budget;
use expect_test::{expect, Expect};
use term::Body;

/// A sum with its positive parts in order.
fn show(body: &Body, e: &Expr) -> String {
    match e {
        Expr::Int(n) => n.to_string(),
        Expr::Param(Param::Symbol(s)) => body.symbols[*s].name.to_string(),
        Expr::Param(Param::Term(t)) => term::notation::print(body, *t),
        Expr::Param(Param::Distance { .. }) => "end - first".to_string(),
        Expr::Param(Param::Row(k)) => format!("r{k}"),
        Expr::Param(Param::Longest(s)) => format!("longest({})", body.symbols[*s].name),
        Expr::Param(Param::End { .. }) => "an end".to_owned(),
        Expr::Add(es) => es.iter().map(|e| show(body, e)).collect::<Vec<_>>().join(" + "),
        Expr::Mul(k, e) => format!("{k}*{}", show(body, e)),
        Expr::Product(a, b) => format!("{}*{}", show(body, a), show(body, b)),
        Expr::FloorDiv(e, k) => format!("floor(({})/{k})", show(body, e)),
        Expr::Max(es) => format!("max({})", es.iter().map(|e| show(body, e)).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

fn maps_of(text: &str) -> String {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let body = unit.items.iter().map(|i| &i.body).find(|b| b.loops(b.root).next().is_some()).unwrap();
    let program = Program::default();
    let budget = Budget::new(analysis::FULL_STEPS);
    let facts = analyze(body, &program, analysis::SAVE, &budget);
    match thread_map(body, &program, &facts, LoopId(0), &budget) {
        Err(why) => {
            let kinds: Vec<String> = why
                .iter()
                .map(|o| format!("{:?}", o.kind).split(['(', '{']).next().unwrap_or("").trim().to_owned())
                .collect();
            format!("none {kinds:?}\n")
        }
        Ok(m) => {
            let mut out = String::new();
            for (k, s) in m.statements.iter().enumerate() {
                let c: Vec<String> = s.coordinates.iter().map(|e| show(body, e)).collect();
                out += &format!("S{}: ({})\n", k + 1, c.join(", "));
            }
            let e: Vec<String> = m.extents.iter().map(|e| show(body, e)).collect();
            out + &format!("threads {}\n", e.join(" x "))
        }
    }
}

fn check(text: &str, expect: Expect) {
    expect.assert_eq(&maps_of(text));
}

#[test]
fn matvec_has_a_thread_a_row() {
    check(
        "void f(int N, double A[N][N], double B[N], double C[N]) {
            for (int i = 0; i <= N - 1; i++) {
                C[i] = 0;
                for (int j = 0; j <= N - 1; j++) C[i] = C[i] + A[i][j] * B[j];
            }
        }",
        expect![[r#"
            S1: (i)
            S2: (i)
            threads N
        "#]],
    );
}

#[test]
fn matmult_has_a_thread_a_cell() {
    check(
        "void f(int N, double A[N][N], double B[N][N], double C[N][N]) {
            for (int i = 0; i <= N - 1; i++)
                for (int j = 0; j <= N - 1; j++) {
                    C[i][j] = 0;
                    for (int k = 0; k <= N - 1; k++) C[i][j] = C[i][j] + A[i][k] * B[k][j];
                }
        }",
        expect![[r#"
            S1: (i, j)
            S2: (i, j)
            threads N x N
        "#]],
    );
}

#[test]
fn poly_has_a_thread_a_coefficient() {
    check(
        "void f(int N, double *restrict A, double *restrict B, double *restrict C) {
            for (int i = 0; i <= N; i++)
                for (int j = 0; j <= N; j++) {
                    if (i == 0 || j == 0) C[i - j + N] = A[i] * B[N - j];
                    if (i != 0 && j != 0) C[i - j + N] = C[i - j + N] + A[i] * B[N - j];
                }
        }",
        expect![[r#"
            S1: (i + -1*j + N)
            S2: (i + -1*j + N)
            threads 1 + 2*N
        "#]],
    );
}

#[test]
fn cross_has_a_thread_a_diagonal() {
    check(
        "void f(int N, double X[N + 1][N + 1], double Y[N + 1][N + 1]) {
            for (int i = 1; i <= N; i++)
                for (int j = 1; j <= N; j++) {
                    X[i][j] = X[i][j] + Y[i - 1][j];
                    Y[i][j] = Y[i][j] + X[i][j - 1];
                }
        }",
        expect![[r#"
            S1: (i + -1*j + -1 + N)
            S2: (i + -1*j + N)
            threads 2*N
        "#]],
    );
}

/// Maps of a nest over `double A[M][M], B[M][M]; double a[M], b[M], c[M]` and ints n, m.
fn check_nest(nest: &str, expect: Expect) {
    let text = format!(
        "double A[200][200], B[200][200], a[200], b[200], c[200]; int p[200];
        void f(int n, int m) {{ {nest} }}"
    );
    check(&text, expect);
}

#[test]
fn what_is_chained_everywhere_has_no_map() {
    // Gauss-Seidel: both directions are chained.
    check_nest(
        "for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) A[i][j] = A[i - 1][j] + A[i][j - 1];",
        expect![[r#"
            none []
        "#]],
    );
    // Jacobi in time: neighbors feed each other through the second array.
    check_nest(
        "for (int t = 0; t < m; t++) {
            for (int i = 1; i < n; i++) b[i] = a[i - 1] + a[i + 1];
            for (int i = 1; i < n; i++) a[i] = b[i];
        }",
        expect![[r#"
            none []
        "#]],
    );
    check_nest(
        "for (int i = 1; i < n; i++) a[i] = a[i - 1] + 1;",
        expect![[r#"
        none []
    "#]],
    );
    // Even and odd iterations are apart, but no affine map says so.
    check_nest(
        "for (int i = 2; i < n; i++) a[i] = a[i - 2] + 1;",
        expect![[r#"
        none []
    "#]],
    );
    // A sum of everything.
    check_nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[0] += A[i][j];",
        expect![[r#"
        none []
    "#]],
    );
    // The window of one diagonal more: i - j and i - j + 1 meet.
    check_nest(
        "for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) A[i][j] = A[i - 1][j - 1] + A[i - 1][j];",
        expect![[r#"
            none []
        "#]],
    );
}

#[test]
fn what_is_not_affine_or_not_seen_has_no_map() {
    check_nest(
        "for (int i = 0; i < n; i++) a[p[i]] += 1;",
        expect![[r#"
        none ["IndirectSubscript"]
    "#]],
    );
    check_nest(
        "for (int i = 1; i < n; i++) if (b[i] > 0) a[i] = a[i - 1]; ",
        expect![[r#"
        none ["DataDependentCondition"]
    "#]],
    );
    check_nest(
        "for (int i = 1; i < n; i++) { if (a[i] > 9) break; a[i] = a[i - 1]; }",
        expect![[r#"
        none ["EarlyExit"]
    "#]],
    );
    check_nest(
        "for (int i = 1; i < n; i++) { g(a); a[i] = a[i - 1]; }",
        expect![[r#"
        none ["UnknownCall"]
    "#]],
    );
    check_nest(
        "for (int i = 1; i < n; i++) a[i * i] = a[i * i - 1]; ",
        expect![[r#"
        none ["NonAffineSubscript"]
    "#]],
    );
    check_nest(
        "int i = 0; while (i < n) { a[i] = b[i]; i++; }",
        expect![[r#"
        none ["NotCounted"]
    "#]],
    );
    // The bound is changed by the nest itself.
    check_nest(
        "for (int i = 1; i < n; i++) for (int j = 0; j < p[i]; j++) p[j] = 1;",
        expect![[r#"
        none ["IndirectSubscript"]
    "#]],
    );
    // Unsigned arithmetic that wraps as soon as there are two iterations: no test could be passed.
    check(
        "void f(unsigned n, double *restrict x, double *restrict y) {
            for (unsigned i = 0; i < n; i++) for (unsigned j = 0; j < n; j++) x[j - i] += y[i * 7u - j];
        }",
        expect![[r#"
            none ["NeedsPromise", "NeedsPromise"]
        "#]],
    );
}

#[test]
fn ids_begin_where_the_program_says() {
    let two = |guard: &str| {
        format!("void f(int n, int k, int m, double *restrict x) {{ {guard} for (int i = 1; i < n; i++) {{ x[i] *= 2; x[i + k - m] += 1; }} }}")
    };
    // Some id lies 2^32 below 0 for some k and m: as many threads would have nothing to do.
    check(
        &two(""),
        expect![[r#"
            none ["Unproved"]
        "#]],
    );
    check(
        &two("if (m - 9 <= k && k <= m)"),
        expect![[r#"
            S1: (i + -1 + m + -1*k)
            S2: (i + -1)
            threads -1 + m + -1*k + n
        "#]],
    );
}

#[test]
fn statements_are_aligned_and_moved() {
    // S2 feeds S1 of the next iteration.
    check_nest(
        "for (int i = 1; i < n; i++) { a[i] = b[i - 1]; b[i] = c[i]; }",
        expect![[r#"
        S1: (i + -1)
        S2: (i)
        threads n
    "#]],
    );
    // Across two loops of one body, and a reversed one.
    check_nest(
        "for (int t = 0; t < m; t++) {
            for (int i = 0; i < n; i++) A[t][i] = 0;
            for (int i = n - 1; i >= 0; i--) B[t][i] = A[t][n - 1 - i] + B[t][i];
        }",
        expect![[r#"
            S1: (t, i)
            S2: (t, -1*i + -1 + n)
            threads m x n
        "#]],
    );
    // A sum a column, and a transposed one.
    check_nest(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[j] += A[i][j] * b[i];",
        expect![[r#"
        S1: (j)
        threads m
    "#]],
    );
    // Steps, guards, triangles.
    check_nest(
        "for (int i = 0; i < n; i += 2) for (int j = i; j < n; j++) if (j != 3) a[j] += A[i][j];",
        expect![[r#"
            S1: (j)
            threads n
        "#]],
    );
    check_nest(
        "for (int i = 1; i < n; i++) for (int j = 3; j < n; j += 3) a[j] = a[j + 1] + i;",
        expect![[r#"
            S1: (floor((j + -3)/3))
            threads floor((n + 2)/3) + -1
        "#]],
    );
    // Different lengths of one coordinate.
    check_nest(
        "for (int t = 0; t < 4; t++) {
            for (int i = 0; i < n; i++) a[i] += t;
            for (int i = 2; i <= m; i++) b[i] += t;
        }",
        expect![[r#"
            S1: (i)
            S2: (i + -2)
            threads max(-1 + m, n)
        "#]],
    );
    // Coefficients: 2i and i of one cell.
    check_nest("for (int t = 0; t < 4; t++) { for (int i = 0; i < n; i++) a[2 * i] += t; for (int j = 0; j < n; j++) a[j] += t; }", expect![[r#"
        S1: (2*i)
        S2: (j)
        threads -1 + 2*n
    "#]]);
}

#[test]
fn temporaries_follow_their_iteration() {
    check(
        "void f(int N, double *restrict A, double *restrict B, double *restrict C) {
            for (int i = 0; i <= N; i++)
                for (int j = 0; j <= N; j++) {
                    double t = A[i] * B[j];
                    C[i - j + N] += t;
                }
        }",
        expect![[r#"
            S1: (i + -1*j + N)
            S2: (i + -1*j + N)
            threads 1 + 2*N
        "#]],
    );
    check(
        "void f(int N, double *restrict A, double *restrict B, double *restrict C) {
            int i, j; double t;
            for (i = 0; i <= N; i++)
                for (j = 0; j <= N; j++) {
                    t = A[i] * B[j];
                    C[i - j + N] += t;
                }
        }",
        expect![[r#"
            S1: (i + -1*j + N)
            S2: (i + -1*j + N)
            threads 1 + 2*N
        "#]],
    );
    // One temporary of the outer loop keeps its row together.
    check_nest(
        "for (int i = 0; i < n; i++) { double t = b[i]; for (int j = 0; j < n; j++) a[i - j + n] += t; }",
        expect![[r#"
            none []
        "#]],
    );
    // It carries a value on.
    check_nest(
        "double t = 0; for (int i = 0; i < n; i++) { a[i] = t; t = b[i]; }",
        expect![[r#"
        none []
    "#]],
    );
    // The index is used after its loop.
    check_nest(
        "int j; for (int i = 1; i < n; i++) { for (j = 0; j < i; j++) a[j] = 1; a[j] = a[0]; }",
        expect![[r#"
            none ["LiveOut"]
        "#]],
    );
}

/// The code of one thread, in short: `ID` is the thread, `c1`, `c2` are counters.
fn show_code(body: &Body, o: &analysis::ThreadCode, code: &analysis::Scan, indent: usize, out: &mut String) {
    use analysis::Scan;
    let pad = "  ".repeat(indent);
    let value = |v: &analysis::ThreadValue| show_value(body, o, v);
    match code {
        Scan::Loop { counter, first, last, step, body: inner } => {
            let by = if *step == 1 { String::new() } else { format!(" by {step}") };
            out.push_str(&format!("{pad}c{counter} = {} .. {}{by}\n", value(first), value(last)));
            show_code(body, o, inner, indent + 1, out);
        }
        Scan::If { condition, then, otherwise } => {
            out.push_str(&format!("{pad}if {}\n", value(condition)));
            show_code(body, o, then, indent + 1, out);
            if let Some(e) = otherwise {
                out.push_str(&format!("{pad}else\n"));
                show_code(body, o, e, indent + 1, out);
            }
        }
        Scan::Block(all) => all.iter().for_each(|c| show_code(body, o, c, indent, out)),
        Scan::Run { indices, .. } => {
            let all: Vec<String> =
                indices.iter().map(|(s, v)| format!("{} = {}", body.symbols[*s].name, value(v))).collect();
            out.push_str(&format!("{pad}run {}\n", all.join(", ")));
        }
    }
}

fn show_value(body: &Body, o: &analysis::ThreadCode, v: &analysis::ThreadValue) -> String {
    use analysis::ThreadValue as V;
    let show = |v: &V| show_value(body, o, v);
    let all = |vs: &[V]| vs.iter().map(show).collect::<Vec<_>>().join(", ");
    match v {
        V::Int(n) => n.to_string(),
        V::Param(p) => o.params.get(*p).map_or("ID".into(), |e| self::show(body, e)),
        V::Iter(i) => format!("c{i}"),
        V::Neg(a) => format!("-{}", show(a)),
        V::Add(a, b) => format!("{} + {}", show(a), show(b)),
        V::Sub(a, b) => format!("{} - {}", show(a), show(b)),
        V::Min(vs) => format!("min({})", all(vs)),
        V::Max(vs) => format!("max({})", all(vs)),
        V::Compare(c, a, b) => format!("{} {c:?} {}", show(a), show(b)),
        other => format!("{other:?}"),
    }
}

fn check_code(text: &str, expect: Expect) {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let body = unit.items.iter().map(|i| &i.body).find(|b| b.loops(b.root).next().is_some()).unwrap();
    let (program, budget) = (Program::default(), Budget::new(analysis::FULL_STEPS));
    let facts = analyze(body, &program, analysis::SAVE, &budget);
    let o = analysis::offload_threads(body, &program, &facts, LoopId(0), &Budget::new(analysis::FULL_STEPS))
        .unwrap();
    let code = o.threads.unwrap();
    let mut out = String::new();
    show_code(body, &code, &code.code, 0, &mut out);
    expect.assert_eq(&out);
}

#[test]
fn threads_scan_their_instances_with_exact_bounds() {
    // F4.6: i from max(0, ID - N) to min(N, ID), and j follows.
    check_code(
        "void f(int N, double *restrict A, double *restrict B, double *restrict C) {
            for (int i = 0; i <= N; i++)
                for (int j = 0; j <= N; j++) C[i - j + N] += A[i] * B[N - j];
        }",
        expect![[r#"
            c0 = max(0, -N + ID) .. min(N, ID)
              run i = c0, j = N - ID + c0
        "#]],
    );
    check_code(
        "void f(int N, double X[N + 1][N + 1], double Y[N + 1][N + 1]) {
            for (int i = 1; i <= N; i++)
                for (int j = 1; j <= N; j++) {
                    X[i][j] = X[i][j] + Y[i - 1][j];
                    Y[i][j] = Y[i][j] + X[i][j - 1];
                }
        }",
        expect![[r#"
            c0 = max(1, -N + ID + 1) .. min(N, ID + 1)
              if N + c0 Ge ID + 2
                run i = c0, j = N - ID + c0 - 1
              if ID Ge c0
                run i = c0, j = N - ID + c0
        "#]],
    );
    // A row of the matrix in order, an element of the vector a thread; counting down stays so.
    check_code(
        "void f(int n, int m, double A[n][m], double s[m]) {
            for (int i = n - 1; i >= 0; i--)
                for (int j = 0; j < m; j += 2) s[j] = s[j] * 0.5 + A[i][j];
        }",
        expect![[r#"
            if m Ge Mul(Int(2), Param(2)) + 1
              c0 = 0 .. n - 1
                run i = -c0 + -1 + n, j = Mul(Int(2), Param(2))
        "#]],
    );
}
