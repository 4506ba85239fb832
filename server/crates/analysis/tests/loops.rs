//! What is said of small loops. One line a loop: function line, verdict, conditions, what carries it.

mod common;

use analysis::{analyze, ConditionKind, Facts, MetBy, ObstacleKind, Param, Program, Verdict};
use base::Budget;
use common::last_of_depth_zero;
use expect_test::{expect, Expect};
use term::Body;

fn symbol(body: &Body, s: term::SymbolId) -> String {
    body.symbols[s].name.to_string()
}

fn describe(body: &Body, facts: &Facts) -> String {
    let mut out = String::new();
    for l in facts.loops.iter() {
        let verdict = match l.verdict {
            Verdict::Independent => "independent",
            Verdict::Reduction => "reduction",
            Verdict::Sequential => "sequential",
            Verdict::Unknown => "unknown",
        };
        out += &format!("{}{verdict}", "  ".repeat(l.depth as usize));
        for r in &l.reductions {
            out += &format!(" {:?}({})", r.op, symbol(body, r.object.symbol));
        }
        for i in &l.inductions {
            let step = i.step.map_or("?".to_string(), |k| k.to_string());
            out += &format!(" {}+={step}", symbol(body, i.symbol));
        }
        let privates: Vec<String> =
            l.privates.iter().filter(|p| !p.declared_inside).map(|p| symbol(body, p.symbol)).collect();
        if !privates.is_empty() {
            out += &format!(" private({})", privates.join(","));
        }
        for c in l.conditions.iter().filter(|c| c.met_by == MetBy::RunTimeCheck) {
            out += &match &c.kind {
                ConditionKind::NoAlias(a, b) => {
                    format!(" no-alias({},{})", symbol(body, a.symbol), symbol(body, b.symbol))
                }
                ConditionKind::NoWrap(_) => " no-wrap".into(),
                ConditionKind::Bounds { .. } => " bounds".into(),
                ConditionKind::InRow { .. } => " in-row".into(),
                ConditionKind::StepSign(_) => " step-sign".into(),
                ConditionKind::Terminates(_) => " terminates".into(),
                other => format!(" {other:?}"),
            };
        }
        if l.verdict == Verdict::Sequential {
            let d = &l.dependences[0];
            let w = d.witness.as_ref().unwrap();
            let directions: Vec<&str> = d.direction.iter().map(|d| d.symbol()).collect();
            let params: Vec<String> = w
                .params
                .iter()
                .map(|(p, v)| match p {
                    Param::Symbol(s) => format!("{}={v}", symbol(body, *s)),
                    Param::Term(_)
                    | Param::Distance { .. }
                    | Param::Row(_)
                    | Param::Longest(_)
                    | Param::End { .. } => {
                        format!("?={v}")
                    }
                })
                .collect();
            out += &format!(
                " {:?} {} ({}) {:?} i{}->i{} cell{:?} [{}]",
                d.kind,
                symbol(body, d.object.symbol),
                directions.join(","),
                d.distance,
                w.source_iteration,
                w.sink_iteration,
                w.cell,
                params.join(" "),
            );
        }
        for o in &l.obstacles {
            let name = match &o.kind {
                ObstacleKind::UnknownCall(f) => format!("UnknownCall({})", symbol(body, *f)),
                ObstacleKind::CarriedScalar(f) => format!("CarriedScalar({})", symbol(body, *f)),
                ObstacleKind::UnknownPointer(f) => format!("UnknownPointer({})", symbol(body, *f)),
                other => format!("{other:?}").split('(').next().unwrap_or("").to_string(),
            };
            out += &format!(" !{name}");
        }
        out.push('\n');
    }
    out
}

fn check(text: &str, expect: Expect) {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let mut out = String::new();
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    for item in &unit.items {
        let facts = analyze(&item.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
        out += &describe(&item.body, &facts);
    }
    expect.assert_eq(&out);
}

#[test]
fn saxpy() {
    check(
        "void f(int n, float a, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] = a*x[i] + y[i]; }",
        expect![[r#"
            independent no-alias(x,y)
        "#]],
    );
    check(
        "void f(int n, float a, const float *restrict x, float *restrict y) { for (int i = 0; i < n; i++) y[i] += a*x[i]; }",
        expect![[r#"
            independent
        "#]],
    );
}

#[test]
fn recurrences() {
    check(
        "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i+1] = a[i]; }",
        expect![[r#"
        sequential Flow a (<) [Some(1)] i0->i1 cell[1] [n=2]
    "#]],
    );
    check(
        "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i+2] = a[i]; }",
        expect![[r#"
        sequential Flow a (<) [Some(2)] i0->i2 cell[2] [n=3]
    "#]],
    );
    check(
        "void f(int n, int *a) { for (int i = n-1; i >= 0; i--) a[i+1] = a[i]; }",
        expect![[r#"
        sequential Anti a (<) [Some(1)] i0->i1 cell[1] [n=2]
    "#]],
    );
    check(
        "void f(int n, int *a) { for (int i = 0; i < n; i++) a[2*i] = a[2*i+1]; }",
        expect![[r#"
        independent
    "#]],
    );
    check(
        "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = a[n-1-i]; }",
        expect![[r#"
            sequential Flow a (<) [None] i0->i1 cell[0] [n=2]
        "#]],
    );
    check(
        "void f(int n, int *a) { for (int i = 0; i < n; i++) a[0] = i; }",
        expect![[r#"
        sequential Output a (<) [None] i0->i1 cell[0] [n=2]
    "#]],
    );
}

#[test]
fn scalars() {
    check(
        "void f(int n, const float *restrict x, float *restrict y) { float t; for (int i = 0; i < n; i++) { t = x[i]; y[i] = t*t; } }",
        expect![[r#"
            independent private(t)
        "#]],
    );
    check(
        "float f(int n, const float *restrict x, float *restrict y) { float t = 0; for (int i = 0; i < n; i++) { t = x[i]; y[i] = t*t; } return t; }",
        expect![[r#"
            reduction Last(t) private(t)
        "#]],
    );
    check(
        "double f(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }",
        expect![[r#"
            reduction Add(s)
        "#]],
    );
    check("int f(int n, const int *x) { int m = x[0]; for (int i = 0; i < n; i++) if (x[i] < m) m = x[i]; return m; }", expect![[r#"
        reduction Min(m)
    "#]]);
    check("int f(int n, const int *x) { int m = x[0]; for (int i = 0; i < n; i++) m = x[i] > m ? x[i] : m; return m; }", expect![[r#"
        reduction Max(m)
    "#]]);
    check(
        "int f(int n, int *x) { int s = 0; for (int i = 0; i < n; i++) { s += x[i]; x[i] = s; } return s; }",
        expect![[r#"
            sequential Flow s (<) [None] i0->i1 cell[] [n=2]
        "#]],
    );
    check("void f(int n, int *restrict x, int *restrict y) { int k = 0; for (int i = 0; i < n; i++) { x[k] = y[i]; k += 2; } }", expect![[r#"
        independent k+=2
    "#]]);
    check("void f(int n, int *restrict x, int *restrict y) { int k = 0; for (int i = 0; i < n; i++) if (y[i]) x[k++] = y[i]; }", expect![[r#"
        sequential Flow k (<) [None] i0->i1 cell[] [n=2]
    "#]]);
}

#[test]
fn nests() {
    check(
        "void mm(int n, double A[n][n], double B[n][n], double C[n][n]) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { C[i][j] = 0; for (int k = 0; k < n; k++) C[i][j] += A[i][k]*B[k][j]; } }",
        expect![[r#"
            independent no-alias(A,C) no-alias(B,C)
              independent no-alias(A,C) no-alias(B,C)
                reduction Add(C) no-alias(A,C) no-alias(B,C)
        "#]],
    );
    check(
        "void lu(int N, double *A) { for (int k = 0; k < N; k++) { for (int j = k+1; j < N; j++) A[k*N+j] = A[k*N+j] / A[k*N+k]; for (int i = k+1; i < N; i++) for (int j = k+1; j < N; j++) A[i*N+j] = A[i*N+j] - A[i*N+k]*A[k*N+j]; } }",
        expect![[r#"
            sequential Add(A) Flow A (<) [None] i0->i1 cell[1, 2] [N=3]
              independent
              independent
                independent
        "#]],
    );
    check(
        "void lu(int N, double A[N][N]) { for (int k = 0; k < N; k++) { for (int j = k+1; j < N; j++) A[k][j] = A[k][j] / A[k][k]; for (int i = k+1; i < N; i++) for (int j = k+1; j < N; j++) A[i][j] -= A[i][k]*A[k][j]; } }",
        expect![[r#"
            sequential Add(A) Flow A (<) [None] i0->i1 cell[1, 2] [N=3]
              independent
              independent
                independent
        "#]],
    );
    check(
        "void fw(int n, int d[n][n]) { for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (d[i][k] + d[k][j] < d[i][j]) d[i][j] = d[i][k] + d[k][j]; }",
        expect![[r#"
            unknown Min(d) !DataDependentCondition
              unknown !DataDependentCondition
                unknown !DataDependentCondition
        "#]],
    );
    check(
        "void gs(int n, double a[n][n]) { for (int i = 1; i < n-1; i++) for (int j = 1; j < n-1; j++) a[i][j] = 0.25*(a[i-1][j]+a[i+1][j]+a[i][j-1]+a[i][j+1]); }",
        expect![[r#"
            sequential Flow a (<,=) [Some(1), Some(0)] i0->i1 cell[1, 1] [n=4]
              sequential Flow a (<) [Some(1)] i0->i1 cell[1, 1] [n=4 i=1]
        "#]],
    );
    check(
        "void cross(int N, double X[N+1][N+1], double Y[N+1][N+1]) { for (int i = 1; i <= N; i++) for (int j = 1; j <= N; j++) { X[i][j] = X[i][j] + Y[i-1][j]; Y[i][j] = Y[i][j] + X[i][j-1]; } }",
        expect![[r#"
            sequential Flow Y (<,=) [Some(1), Some(0)] i0->i1 cell[1, 1] [N=2]
              sequential Flow X (<) [Some(1)] i0->i1 cell[1, 1] [N=2 i=1]
        "#]],
    );
    check(
        "void poly(int N, double *C, double *A, double *B) { for (int i = 0; i <= N; i++) for (int j = 0; j <= N; j++) { if (i == 0 || j == 0) C[i-j+N] = A[i]*B[N-j]; if (i != 0 && j != 0) C[i-j+N] = C[i-j+N] + A[i]*B[N-j]; } }",
        expect![[r#"
            sequential Add(C) Flow C (<,<) [None, None] i0->i1 cell[1] [N=1]
              independent no-alias(C,A) no-alias(C,B)
        "#]],
    );
    check(
        "void heat(int n, int m, double a[n][m], double b[n][m], double c) { for (int i = 1; i < n-1; i++) for (int j = 1; j < m-1; j++) b[i][j] = a[i][j] + c*(a[i-1][j]+a[i+1][j]+a[i][j-1]+a[i][j+1]-4*a[i][j]); }",
        expect![[r#"
            independent no-alias(a,b)
              independent no-alias(a,b)
        "#]],
    );
    check(
        "void tri(int n, double a[n][n], double b[n][n]) { for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) a[i][j] = b[j][i]; }",
        expect![[r#"
            independent no-alias(a,b)
              independent no-alias(a,b)
        "#]],
    );
}

#[test]
fn unknowns() {
    check(
        "void f(int n, int *restrict a, const int *restrict p) { for (int i = 0; i < n; i++) a[p[i]] = i; }",
        expect![[r#"
            unknown !IndirectSubscript
        "#]],
    );
    check("void f(int n, int *restrict a, const int *restrict p) { for (int i = 0; i < n; i++) a[i] = p[p[i]]; }", expect![[r#"
        independent
    "#]]);
    check(
        "int g(int); void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = g(i); }",
        expect![[r#"
        unknown !UnknownCall(g)
    "#]],
    );
    check(
        "int f(int n, int *a, int v) { int i; for (i = 0; i < n; i++) if (a[i] == v) return i; return -1; }",
        expect![[r#"
            unknown !EarlyExit
        "#]],
    );
    check("struct n { int v; struct n *next; }; int f(struct n *p) { int s = 0; while (p) { s += p->v; p = p->next; } return s; }", expect![[r#"
        unknown !NotCounted
    "#]]);
    check(
        "void f(int n, int m, int *a) { for (int i = 0; i < n; i++) a[i*m] = i; }",
        expect![[r#"
        independent in-row
    "#]],
    );
    check(
        "void f(int n, int k, int *a) { for (int i = 0; i < n; i++) a[i+k] = a[i]; }",
        expect![[r#"
            sequential Flow a (<) [None] i0->i1 cell[1] [n=2 k=1]
        "#]],
    );
    check("void f(int n, int *restrict a, int *restrict c) { for (int i = 0; i < n; i++) if (c[i] > 0) a[i+1] = a[i]; }", expect![[r#"
        sequential Flow a (<) [Some(1)] i0->i1 cell[1] [n=2]
    "#]]);
}

#[test]
fn types_and_wrap() {
    check(
        "void f(unsigned n, int *a) { for (unsigned i = 0; i < n; i++) a[i] = a[i] + 1; }",
        expect![[r#"
            independent
        "#]],
    );
    check(
        "void f(int n, int *a) { for (unsigned long i = 0; i < n; i++) a[i] = 1; }",
        expect![[r#"
            independent no-wrap
        "#]],
    );
    check(
        "void f(unsigned n, int *a) { for (unsigned i = 0; i <= n; i++) a[i] = 1; }",
        expect![[r#"
        independent terminates
    "#]],
    );
    check(
        "void f(int n, int *a) { for (unsigned char i = 0; i < n; i++) a[i] = 1; }",
        expect![[r#"
        independent terminates
    "#]],
    );
    // Nothing is undefined where a signed index misses its bound if a jump ends the loop: that it meets it is asked for.
    check("void f(int n, int m, int *restrict b, int *restrict c) { for (int i = 0; i < m; i++) for (int j = 0; j != n; j++) { b[i*n+j] = 1; if (c[j] > 2) break; } }", expect![[r#"
        independent terminates
          unknown !EarlyExit
    "#]]);
    check("void f(int n, int m, int *restrict b, int *restrict c) { for (int i = 0; i < m; i++) for (int j = 0; j != n; j++) b[i*n+j] = c[j]; }", expect![[r#"
        independent
          independent
    "#]]);
    check("void f(int n, int m, int *restrict b, int *restrict c) { for (int i = 0; i < m; i++) for (int j = 0; j != n; j += 2) { b[i*n+j] = 1; if (c[j] > 2) break; } }", expect![[r#"
        unknown !DataDependentCondition
          unknown !NotCounted
    "#]]);
    check(
        "void f(unsigned n, int *a) { for (unsigned i = 0; i < n; i++) a[i-1] = 1; }",
        expect![[r#"
            unknown !NeedsPromise
        "#]],
    );
    check("void f(unsigned long n, unsigned long m, double *a) { for (unsigned long i = 0; i < n; i++) for (unsigned long j = 0; j < m; j++) a[i*m+j] = 0; }", expect![[r#"
        independent no-wrap no-wrap
          independent no-wrap no-wrap
    "#]]);
    check(
        "void f(int n, int s, int *a) { for (int i = 0; i < n; i += s) a[i] = 1; }",
        expect![[r#"
        independent step-sign
    "#]],
    );
    check(
        "void f(int n, int *a) { for (int i = 0; i != n; ++i) a[i] = 1; }",
        expect![[r#"
        independent
    "#]],
    );
    check("double A[100][50]; void f(int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = 1; }", expect![[r#"
        independent bounds
          independent bounds
    "#]]);
    check(
        "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i/2] = i; }",
        expect![[r#"
            sequential Output a (<) [Some(1)] i0->i1 cell[0] [n=2]
        "#]],
    );
    check("void f(int n, int *a, const int *restrict b) { for (int i = 0; i < n; i++) { int k = i % 4; a[4*i + k] = b[i]; } }", expect![[r#"
        independent
    "#]]);
}

/// What the length of a type is computed from is read where the type stands (C11 6.7.6.2p5).
#[test]
fn lengths_of_types_are_read_where_they_stand() {
    let made = "int x = 1; for (int k = 0; k < n; k++) { ";
    for (inner, verdict) in [
        ("double c[x]; b[k] = sizeof c; x = a[k]; }", Verdict::Sequential),
        ("b[k] = sizeof(double[x]); x = a[k]; }", Verdict::Sequential),
        ("typedef double row[x]; b[k] = sizeof(row); x = a[k]; }", Verdict::Sequential),
        ("x += a[k]; double c[x]; b[k] = sizeof c; }", Verdict::Sequential),
        ("typedef double row[x]; x = a[k]; b[k] = sizeof(row); }", Verdict::Sequential),
        ("typedef double row[x]; x = a[k]; row c; b[k] = sizeof c; }", Verdict::Sequential),
        ("b[k] = sizeof *(double (*)[x])b; x = a[k]; }", Verdict::Unknown),
        ("x = a[k]; } b[0] = sizeof ((double (*)[x])b)[0];", Verdict::Reduction),
        ("b[k * sizeof(char[x])] = a[k]; x++; }", Verdict::Unknown),
        ("char c[n - k]; b[k * sizeof c] = a[k]; }", Verdict::Unknown),
        ("x = a[k]; double c[x]; b[k] = sizeof c; }", Verdict::Independent),
        ("x = k * 2; } double c[x]; b[0] = sizeof c;", Verdict::Reduction),
    ] {
        let text = format!("void f(int n, const int *restrict a, long *restrict b) {{ {made}{inner} }}");
        assert_eq!(last_of_depth_zero(&text).verdict, verdict, "{text}");
    }
}

/// `i > 0 && i--` tests, and moves where it goes on.
#[test]
fn a_move_behind_its_test_begins_the_body() {
    for (text, found) in [
        ("void f(int n, double *x) { for (int i = n; i > 0 && i--;) x[i] *= 2; }", Verdict::Independent),
        ("void f(long n, double *x) { for (long i = n; i != 0 && i--;) { if (i % 3) continue; x[i] *= 2; } }", Verdict::Independent),
        ("void f(int n, double *x) { for (int i = n - 1; i > 0 && i--;) x[i] = x[i + 1] / 2; }", Verdict::Sequential),
        // it goes on where the move gives 0, and not where the index does
        ("void f(int n, double *x) { for (int i = n; i > 0 && --i;) x[i] = 2; }", Verdict::Unknown),
        ("void f(int n, double *x) { for (int i = n; i > -9 && i--;) x[i] = 2; }", Verdict::Unknown),
        ("void f(int n, int k, double *x) { for (int i = n; k > 0 && i--;) x[i] = 2; }", Verdict::Unknown),
    ] {
        assert_eq!(last_of_depth_zero(text).verdict, found, "{text}");
    }
}

/// `i + 1 < n` of unsigned numbers: counted up by one from a small number, the sum goes round nowhere.
#[test]
fn sums_of_unsigned_numbers_are_compared() {
    for (header, found) in [
        ("size_t i = 0; i + 1 < n; i++", Verdict::Independent),
        ("size_t i = 1; n > i + 2; ++i", Verdict::Independent),
        ("size_t i = 0; i + 1 < n; i += 2", Verdict::Unknown),
        ("size_t i = k; i + 1 < n; i++", Verdict::Unknown),
        ("size_t i = 1; i - 1 < n; i++", Verdict::Unknown),
        ("size_t i = 0; i + 1 <= n; i++", Verdict::Unknown),
        ("unsigned i = 0; i + 1 < n; i++", Verdict::Unknown),
    ] {
        let text = format!(
            "#include <stddef.h>\nvoid f(size_t n, size_t k, double *restrict x) {{ for ({header}) x[i] = 1; }}"
        );
        assert_eq!(last_of_depth_zero(&text).verdict, found, "{text}");
    }
}
