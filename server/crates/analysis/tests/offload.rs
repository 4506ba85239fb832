//! What a kernel needs to know: extents, trips and final values as the host will compute them.

use analysis::{analyze, offload, Expr, LoopId, Param, Pred, Program};
use base::Budget;
use expect_test::{expect, Expect};
use term::Body;

fn show(body: &Body, e: &Expr) -> String {
    match e {
        Expr::Int(n) => n.to_string(),
        Expr::Param(Param::Symbol(s)) => body.symbols[*s].name.to_string(),
        Expr::Param(Param::Term(t)) => term::notation::print(body, *t),
        Expr::Param(Param::Distance { .. }) => "end - first".to_string(),
        Expr::Param(Param::Row(k)) => format!("r{k}"),
        Expr::Param(Param::Longest(s)) => format!("longest({})", body.symbols[*s].name),
        Expr::Param(Param::End { .. }) => "an end".to_owned(),
        Expr::Add(es) => format!("({})", es.iter().map(|e| show(body, e)).collect::<Vec<_>>().join(" + ")),
        Expr::Mul(k, e) => format!("{k}*{}", show(body, e)),
        Expr::Product(a, b) => format!("{}*{}", show(body, a), show(body, b)),
        Expr::FloorDiv(e, k) => format!("floor({}/{k})", show(body, e)),
        Expr::Quotient(a, b) => format!("floor({}/{})", show(body, a), show(body, b)),
        Expr::Min(es) => format!("min({})", es.iter().map(|e| show(body, e)).collect::<Vec<_>>().join(", ")),
        Expr::Max(es) => format!("max({})", es.iter().map(|e| show(body, e)).collect::<Vec<_>>().join(", ")),
        Expr::Select(p, a, b) => format!("({} ? {} : {})", show_pred(body, p), show(body, a), show(body, b)),
    }
}

fn show_pred(body: &Body, p: &Pred) -> String {
    match p {
        Pred::True => "true".into(),
        Pred::False => "false".into(),
        Pred::NonNegative(e) => format!("{} >= 0", show(body, e)),
        Pred::Zero(e) => format!("{} == 0", show(body, e)),
        Pred::And(ps) => ps.iter().map(|p| show_pred(body, p)).collect::<Vec<_>>().join(" && "),
        Pred::Or(ps) => {
            format!("({})", ps.iter().map(|p| show_pred(body, p)).collect::<Vec<_>>().join(" || "))
        }
        Pred::Not(p) => format!("!({})", show_pred(body, p)),
    }
}

/// The first loop of the text, offloaded.
fn check(text: &str, expect: Expect) {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let body = unit.items.iter().map(|i| &i.body).find(|b| b.loops(b.root).next().is_some()).unwrap();
    let budget = Budget::new(u64::MAX);
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let facts = analyze(body, &program, analysis::SAVE, &budget);
    let mut out = String::new();
    match offload(body, &program, &facts, LoopId(0), None, &budget) {
        Err(why) => out += &format!("refused: {:?}\n", why.iter().map(|o| &o.kind).collect::<Vec<_>>()),
        Ok(o) => {
            for t in &o.max_trips {
                out += &format!("trips {}\n", show(body, t));
            }
            for b in &o.buffers {
                let how = match (b.read, b.written, b.wholly_written) {
                    (true, true, _) => "in and out",
                    (true, false, _) => "in",
                    (_, _, true) => "out",
                    _ => "partly out",
                };
                let range =
                    |(first, last): &(Expr, Expr)| format!("{} .. {}", show(body, first), show(body, last));
                let extent = match (&b.extent, &b.rows) {
                    (Some(all), _) => range(all),
                    (None, Some(rows)) => format!("rows of {}", term::notation::print(body, rows.table)),
                    (None, None) => match &b.search {
                        Some(search) => {
                            let read = search.reads.iter().map(|&s| &*body.symbols[s].name);
                            format!("what the host finds, reading {:?}", read.collect::<Vec<_>>())
                        }
                        None => "whole".into(),
                    },
                };
                out += &format!("{} {how}: {extent}\n", body.symbols[b.symbol].name);
                let Some(rows) = &b.rows else { continue };
                for (k, s) in rows.subscripts.iter().enumerate() {
                    out += &format!("  subscript {k} of all: {}\n", range(&s.all));
                    out += &format!("    of one: {}\n", range(&s.one));
                }
                out.extend(rows.written.iter().map(|w| format!("    written: {}\n", range(w))));
            }
            for f in &o.finals {
                out += &format!("finally {} = {}\n", body.symbols[f.symbol].name, show(body, &f.value));
            }
        }
    }
    expect.assert_eq(&out);
}

#[test]
fn lines() {
    check(
        "void f(int n, float *x, float *y) { for (int i = 0; i < n; i++) y[i] = x[i]; }",
        expect![[r#"
        trips max(0, n)
        x in: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
        y out: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
    "#]],
    );
    check(
        "void f(int n, float *x) { for (int i = 2; i < n - 1; i += 3) x[2*i] = 0; }",
        expect![[r#"
        trips max(0, floor((-1 + n)/3))
        x partly out: 4 .. ((n + -4) >= 0 ? ((-1*2*((n + -1) + -3*floor((n + -1)/3)) + 2*n) + -4) : (4 + -1))
    "#]],
    );
    check(
        "int f(int n, float *x) { int i; for (i = n - 1; i >= 0; i--) x[i] = 0; return i; }",
        expect![[r#"
        trips max(0, n)
        x out: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
        finally i = ((-1 + n) + -1*max(0, n))
    "#]],
    );
    check("void f(int n, float *x) { for (int i = 0; i < n / 2; i++) { float t = x[i]; x[i] = x[n-1-i]; x[n-1-i] = t; } }", expect![[r#"
        trips ((n + -2) >= 0 ? ((floor(n/2) + -1) + 1) : 0)
        x in and out: 0 .. ((n + -2) >= 0 ? (n + -1) : (0 + -1))
    "#]]);
    check("void f(int n, float *restrict x, const int *restrict c) { for (int i = 0; i < n; i++) if (c[i]) x[i+1] = 0; }", expect![[r#"
        trips max(0, n)
        x partly out: what the host finds, reading ["c"]
        c in: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
    "#]]);
    check("void f(int n, const int *restrict r, const int *restrict c, const double *restrict x, double *restrict y) { for (int i = 0; i < n; i++) { double s = 0; for (int k = r[i]; k < r[i+1]; k++) s += x[c[k]]; y[i] = s; } }", expect![[r#"
        trips max(0, n)
        r in: 0 .. ((n + -1) >= 0 ? n : (0 + -1))
        c in: what the host finds, reading ["r"]
        x in: what the host finds, reading ["r", "c"]
        y out: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
    "#]]);
}

#[test]
fn planes() {
    check("void f(int n, int m, double *a) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i*m+j] = 1; }", expect![[r#"
        trips max(0, n)
        trips ((n + -1) >= 0 && (m + -1) >= 0 ? ((m + -1) + 1) : 0)
        a out: (0*m + 0) .. ((n + -1) >= 0 && (m + -1) >= 0 ? ((n + -1)*m + (m + -1)) : ((0*m + 0) + -1))
    "#]]);
    check("void f(int n, const double *restrict A, const double *restrict x, double *restrict y) { for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < n; j++) s += A[i*n+j] * x[j]; y[i] = s; } }", expect![[r#"
        trips max(0, n)
        A in: (0*n + 0) .. ((n + -1) >= 0 ? ((n + -1)*n + (n + -1)) : ((0*n + 0) + -1))
        x in: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
        y out: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
    "#]]);
    check("void f(int n, double a[n][n]) { for (int i = 1; i < n - 1; i++) for (int j = 1; j < i; j++) a[i][j] = 1; }", expect![[r#"
        trips max(0, (-2 + n))
        trips ((n + -4) >= 0 ? ((n + -4) + 1) : 0)
        a partly out: (2*n + 1) .. ((n + -4) >= 0 ? ((n + -2)*n + (n + -3)) : ((2*n + 1) + -1))
    "#]]);
    check("double A[100][50]; void f(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < 50; j++) A[i][j] = 1; }", expect![[r#"
        trips max(0, n)
        trips ((n + -1) >= 0 ? (49 + 1) : 0)
        A out: (50*0 + 0) .. ((n + -1) >= 0 ? (50*(n + -1) + 49) : ((50*0 + 0) + -1))
    "#]]);
    check("void f(unsigned long n, unsigned long m, double *a) { for (unsigned long i = 0; i < n; i++) for (unsigned long j = 0; j < m; j++) a[i*m+j] = 0; }", expect![[r#"
        trips max(0, n)
        a out: (0*m + 0) .. ((m + -1) >= 0 && (n + -1) >= 0 ? ((n + -1)*m + (m + -1)) : ((0*m + 0) + -1))
    "#]]);
    check("void f(int n, double *out) { for (int i = 0; i < n; i++) for (int j = 0; j < n - i; j++) for (int k = 0; k < n - i - j; k++) out[(i*n+j)*n+k] = 1; }", expect![[r#"
        trips max(0, n)
        trips ((n + -1) >= 0 ? ((n + -1) + 1) : 0)
        trips ((n + -1) >= 0 ? ((n + -1) + 1) : 0)
        out partly out: ((0*n + 0)*n + 0) .. ((n + -1) >= 0 ? (((n + -1)*n + 0)*n + 0) : (((0*n + 0)*n + 0) + -1))
    "#]]);
}

#[test]
fn a_row_length_that_changed_is_not_used() {
    // The rows of `a` have the length `m` had at the start; the host cannot compute extents from the new `m`.
    check(
        "void f(int n, int m, double a[n][m]) { m = 3; for (int i = 0; i < n; i++) a[i][0] = 1; }",
        expect![[r#"
            refused: [NeedsPromise(Bounds { access: TermId(20), length_term: Some(TermId(0)), length: None })]
        "#]],
    );
    check(
        "void f(int n, int m, double a[n][m]) { for (int i = 0; i < n; i++) a[i][0] = 1; }",
        expect![[r#"
            trips max(0, n)
            a partly out: (0*m + 0) .. ((n + -1) >= 0 ? ((n + -1)*m + 0) : ((0*m + 0) + -1))
        "#]],
    );
}

#[test]
fn a_variable_without_a_value_is_not_passed() {
    check(
        "void f(int n, int m, double *a) { double t; if (m > 0) t = 1; for (int i = 0; i < n; i++) if (m > 0) a[i] = t; }",
        expect![[r#"
            refused: [Unset(SymbolId(4))]
        "#]],
    );
    check(
        "void f(int n, int m, double *a) { double t; if (m > 0) t = 1; else t = 2; for (int i = 0; i < n; i++) a[i] = t; }",
        expect![[r#"
            trips max(0, n)
            a out: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
        "#]],
    );
}

/// What is said of rows that a table shows: which pointers the loop surely follows, and what it touches of the row that each shows
/// (`r0`: the subscript of its pointer). The device has room for all rows as long as the longest; the host reads no other pointer,
/// and no element outside `of one`.
#[test]
fn rows_of_a_table() {
    // the rows at the ends have no corners
    check(
        "void f(double **a, double **b, int n, int m) { for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
           b[i][j] = a[i-1][j] + a[i+1][j] + a[i][j-1] + a[i][j+1]; }",
        expect![[r#"
            trips max(0, (-2 + n))
            trips ((n + -3) >= 0 && (m + -3) >= 0 ? ((m + -3) + 1) : 0)
            b[] out: rows of b
              subscript 0 of all: 1 .. ((n + -3) >= 0 && (m + -3) >= 0 ? (n + -2) : (1 + -1))
                of one: 1 .. ((n + -3) >= 0 && (m + -3) >= 0 ? (n + -2) : (1 + -1))
              subscript 1 of all: 1 .. ((n + -3) >= 0 && (m + -3) >= 0 ? (m + -2) : (1 + -1))
                of one: 1 .. (m + -2)
                written: 1 .. (m + -2)
            a[] in: rows of a
              subscript 0 of all: 0 .. ((n + -3) >= 0 && (m + -3) >= 0 ? (n + -1) : (0 + -1))
                of one: 0 .. ((n + -3) >= 0 && (m + -3) >= 0 ? (n + -1) : (0 + -1))
              subscript 1 of all: 0 .. ((n + -3) >= 0 && (m + -3) >= 0 ? (m + -1) : (0 + -1))
                of one: ((n + -1*(r0 + 2)) >= 0 && (r0 + -1) >= 0 ? 0 : 1) .. ((n + -1*(r0 + 2)) >= 0 && (r0 + -1) >= 0 ? (m + -1) : (m + -2))
        "#]],
    );
    // each row as far as its diagonal
    check(
        "void f(double **l, int n) { for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) l[i][j] *= 2; }",
        expect![[r#"
            trips max(0, n)
            trips ((n + -1) >= 0 ? ((n + -1) + 1) : 0)
            l[] in and out: rows of l
              subscript 0 of all: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
                of one: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
              subscript 1 of all: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
                of one: 0 .. r0
                written: 0 .. r0
        "#]],
    );
    // rows that are left out are not followed
    check(
        "void f(float **a, int n) { for (int i = 0; i < n; i += 2) a[i][3] = 0; }",
        expect![[r#"
            trips max(0, floor((1 + n)/2))
            a[] out: rows of a
              subscript 0 of all: 0 .. ((n + -1) >= 0 ? (((n + -2*floor(n/2)) + n) + -2) : (0 + -1))
                of one: 0 .. ((n + -1) >= 0 ? (((n + -2*floor(n/2)) + n) + -2) : (0 + -1))
              subscript 1 of all: 3 .. ((n + -1) >= 0 ? 3 : (3 + -1))
                of one: 3 .. ((n + -1*(r0 + 1)) >= 0 && r0 >= 0 && (r0 + -2*floor(r0/2)) == 0 ? 3 : (3 + -1))
                written: 3 .. ((n + -1*(r0 + 1)) >= 0 && r0 >= 0 && (r0 + -2*floor(r0/2)) == 0 ? 3 : (3 + -1))
        "#]],
    );
    // three levels, behind a structure
    check(
        "struct grid { int n; float ***u; }; void f(struct grid *g, int n, int m, int l) {
           for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 1; k < l; k++) g->u[i][j][k] = k; }",
        expect![[r#"
            trips max(0, n)
            trips ((n + -1) >= 0 && (m + -1) >= 0 ? ((m + -1) + 1) : 0)
            trips ((n + -1) >= 0 && (m + -1) >= 0 && (l + -2) >= 0 ? ((l + -2) + 1) : 0)
            g->u[][] out: rows of Arrow(g,u)
              subscript 0 of all: 0 .. ((n + -1) >= 0 && (m + -1) >= 0 && (l + -2) >= 0 ? (n + -1) : (0 + -1))
                of one: 0 .. ((n + -1) >= 0 && (m + -1) >= 0 && (l + -2) >= 0 ? (n + -1) : (0 + -1))
              subscript 1 of all: 0 .. ((n + -1) >= 0 && (m + -1) >= 0 && (l + -2) >= 0 ? (m + -1) : (0 + -1))
                of one: 0 .. (m + -1)
              subscript 2 of all: 1 .. ((n + -1) >= 0 && (m + -1) >= 0 && (l + -2) >= 0 ? (l + -1) : (1 + -1))
                of one: 1 .. (l + -1)
                written: 1 .. (l + -1)
        "#]],
    );
    // the loop may come to no row at all: nothing says which
    check(
        "void f(float **a, int *keep, int n, int m) { for (int i = 0; i < n; i++) if (keep[i])
           for (int j = 0; j < m; j++) a[i][j] = 0; }",
        expect![[r#"
            refused: [DataDependentCondition]
        "#]],
    );
}

/// Of an array of structures elements are copied as a whole, whatever arrays in them are used.
#[test]
fn arrays_in_structures_are_parts_of_elements() {
    check(
        "typedef struct { double pos[3], vel[3], mass; } P; void f(int n, P *p, double dt) { for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++) p[i].pos[k] += dt * p[i].vel[k]; }",
        expect![[r#"
            trips max(0, n)
            trips ((n + -1) >= 0 ? (2 + 1) : 0)
            p in and out: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
        "#]],
    );
    check(
        "typedef struct { int key[2]; double c[4][4]; } P; void f(int n, int m, const P (*restrict p)[8], double *restrict b) { for (int i = 0; i < n; i++) for (int k = 0; k < 4; k++) b[i] += p[i][3].c[k][1]; }",
        expect![[r#"
            trips max(0, n)
            p in: (8*0 + 3) .. ((n + -1) >= 0 ? (8*(n + -1) + 3) : ((8*0 + 3) + -1))
            b in and out: 0 .. ((n + -1) >= 0 ? (n + -1) : (0 + -1))
        "#]],
    );
}

/// A step that a variable holds, whose value is known: the number of iterations is a number, not a truth.
#[test]
fn a_known_step_of_a_name() {
    for (step, last) in [("int t = 2;", "i += t"), ("int t = 5;", "i += 1 + (t & 1)")] {
        check(
            &format!("int f(int n, const int *c) {{ int s = 0; {step} for (int i = 1; i < n; {last}) s += c[i]; return s; }}"),
            expect![[r#"
                trips max(0, floor(((-2 + n) + 2)/2))
                c in: 1 .. ((max(0, floor(((-2 + n) + 2)/2)) + -1) >= 0 ? (2*max(0, floor(((-2 + n) + 2)/2)) + -1) : (1 + -1))
            "#]],
        );
    }
}
