//! Variables of the file's own that no pointer shows.

mod common;

use analysis::{ConditionKind, LoopFacts, MetBy, ObstacleKind, Verdict};
use common::last_loop_of_f;

/// Whether the loop is asked to keep something apart.
fn asks(facts: &LoopFacts) -> bool {
    let shared = |k: &ConditionKind| matches!(k, ConditionKind::NoAlias(..));
    let open = |k: &ObstacleKind| matches!(k, ObstacleKind::MayAlias(..) | ObstacleKind::SameArray(..));
    facts.conditions.iter().any(|c| shared(&c.kind)) || facts.obstacles.iter().any(|o| open(&o.kind))
}

/// What is `static` at file scope is apart from what pointers show as long as no text of the file makes a pointer to it.
#[test]
fn a_static_variable_is_apart_from_what_pointers_show_until_one_is_made_to_it() {
    let apart = [
        ("static int n; static double dt;", "void f(double *p) { for (int i = 0; i < n; i++) p[i] *= dt; }"),
        (
            "static int n; void set(int k) { n = k; }",
            "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        ("static double g[100];", "void f(double *p) { for (int i = 0; i < 100; i++) p[i] = g[i]; }"),
        (
            "static double g[100]; int much = sizeof g;",
            "void f(double *p) { for (int i = 0; i < 100; i++) g[i] = p[i]; }",
        ),
        (
            "static struct { int n; double t[9]; } g;",
            "void f(double *p) { for (int i = 0; i < g.n; i++) p[i] = g.t[1]; }",
        ),
        (
            "static int n; extern void other(int);",
            "void f(int *p) { other(7); for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        (
            "static double g[9][9]; double at(int i, int j) { return g[i][j]; }",
            "void f(double *p) { for (int i = 0; i < 9; i++) p[i] = g[i][1]; }",
        ),
    ];
    for (file, function) in apart {
        assert!(!asks(&last_loop_of_f(&format!("{file} {function}"))), "{file} {function}");
    }
    let shown = [
        ("int n;", "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }"),
        (
            "static int n; int *give(void) { return &n; }",
            "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        ("static int n; int *kept = &n;", "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }"),
        (
            "static int n; struct s { int *p; } kept = { &n };",
            "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        (
            "static int n; struct s { int *p; } kept = { .p = &n };",
            "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        (
            "static int n; extern int m __attribute__((alias(\"n\")));",
            "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        ("static int n;\n#pragma weak m = n\n", "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }"),
        (
            "static int n; void g(void) { scanf(\"%d\", &n); }",
            "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        (
            "static int n; void g(void) { asm(\"\" : \"=m\"(n)); }",
            "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        (
            "static int n; void g(void) { int n = 3; { extern int n; take(&n); } }",
            "void f(int *p) { for (int i = 0; i < n; i++) p[i] = i; }",
        ),
        (
            "static double g[100]; double *give(void) { return g; }",
            "void f(double *p) { for (int i = 0; i < 100; i++) p[i] = g[i]; }",
        ),
        (
            "static double g[100]; double *give(int k) { return &g[k]; }",
            "void f(double *p) { for (int i = 0; i < 100; i++) p[i] = g[i]; }",
        ),
        (
            "static double g[100]; double *give(int k) { return g + k; }",
            "void f(double *p) { for (int i = 0; i < 100; i++) p[i] = g[i]; }",
        ),
        (
            "static double g[100]; void give(int k) { take(g); }",
            "void f(double *p) { for (int i = 0; i < 100; i++) p[i] = g[i]; }",
        ),
        (
            "static double g[9][9]; double *give(int k) { return g[k]; }",
            "void f(double *p) { for (int i = 0; i < 9; i++) p[i] = g[i][1]; }",
        ),
        (
            "static double g[9][9]; double *give(int k) { return *g; }",
            "void f(double *p) { for (int i = 0; i < 9; i++) p[i] = g[i][1]; }",
        ),
        (
            "static struct { int n; double t[9]; } g; double *give(void) { return g.t; }",
            "void f(double *p) { for (int i = 0; i < g.n; i++) p[i] = g.t[1]; }",
        ),
        (
            "static struct { int n; double t[9]; } g; int *give(void) { return &g.n; }",
            "void f(int *p) { for (int i = 0; i < g.n; i++) p[i] = 1; }",
        ),
        (
            "static double *rows[2];",
            "void f(double *p, int n) { rows[0] = p; for (int i = 0; i < n; i++) rows[0][i] = p[i + 1]; }",
        ),
        (
            "static double *row;",
            "void f(double *p, int n) { for (int i = 0; i < n; i++) row[i] = p[i + 1]; }",
        ),
    ];
    for (file, function) in shown {
        assert!(asks(&last_loop_of_f(&format!("{file} {function}"))), "{file} {function}");
    }
}

/// A number of the file in a subscript that is no sum is the same in all iterations as long as nothing sets it: then where arrays end is
/// found before the loop, and that it lies in none of them is tested, unless nobody points to it.
#[test]
fn numbers_that_others_may_reach_are_fixed_where_nothing_sets_them() {
    let apart = |l: &LoopFacts| {
        let tested = |c: &analysis::Condition| {
            matches!(c.kind, ConditionKind::NoAlias(..)) && c.met_by == MetBy::RunTimeCheck
        };
        l.conditions.iter().filter(|c| tested(c)).count()
    };
    for (function, tests) in [
        ("void f(int n, int *g, const int *f) { for (int i = 0; i < n; i++) g[i] = f[(i * 3) % NX]; }", 2),
        ("void f(int n, int *g, const int *f) { for (int i = 0; i < n; i++) g[i] = f[(i * 3) % SX]; }", 1),
        ("void f(int n, int *g, const int *f) { int m; get(&m); for (int i = 0; i < n; i++) g[i] = f[(i * 3) % m]; }", 1),
        ("void f(int n, int *g, const int *f) { static int k = 5; for (int i = 0; i < n; i++) g[i] = f[(i * 3) % k]; k++; }", 1),
    ] {
        let l = last_loop_of_f(&format!("int NX; static int SX; void get(int *); void set(void) {{ SX = NX; }} {function}"));
        assert_eq!((l.verdict, apart(&l)), (Verdict::Independent, tests), "{function} {:?}", l.obstacles);
    }
    for function in [
        "static void up(void) { NX++; } void f(int n, int *g, const int *f) { for (int i = 0; i < n; i++) { up(); g[i] = f[(i * 3) % NX]; } }",
        "void f(int n, int *g, const int *f) { for (int i = 0; i < n; i++) g[i] = f[(i * 3) % VX]; }",
        "void f(int n, int *g, const int *f) { int m = 3, *p = &m; for (int i = 0; i < n; i++) { *p = i + 1; g[i] = f[(i * 3) % m]; } }",
        "void f(int n, double *g, const double *f) { for (int i = 0; i < n; i++) { g[i] = f[(i * 3) % SX]; if (g[i] > 1) SX = 2; } }",
        "void f(int n, int *g, const int *f) { for (int i = 0; i < n; i++) { get(&NX); g[i] = f[(i * 3) % NX]; } }",
        "void f(int n, double *g, const double *f) { for (int i = 0; i < n; i++) g[i] = f[(i * 3) % NX++]; }",
    ] {
        let l = last_loop_of_f(&format!("int NX; static int SX; volatile int VX; void get(int *); {function}"));
        let is_parallel = matches!(l.verdict, Verdict::Independent | Verdict::Reduction);
        assert!(!is_parallel, "{function} {:?}", l.conditions);
    }
}
