//! What a function has tested on its way to a loop.

mod common;

use analysis::{ConditionKind, MetBy};
use common::last_loop_of_f;

/// A stride that was found positive needs no test, wherever it stands, as long as nothing may have changed it since.
#[test]
fn what_was_tested_before_a_loop_is_known_in_it() {
    for (function, met_by) in [
        ("void f(int *n, double *x, int *s) { if (*n <= 0 || *s <= 0) return; for (int i = 0; i < *n; i++) x[i * *s] = 0; }", MetBy::Proof),
        ("void f(vec *v) { if (v->s < 1) fatal(\"s\"); for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; }", MetBy::Proof),
        ("void f(vec *v) { if (v->s < 1) { printf(\"s\"); return; } for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; }", MetBy::Proof),
        ("void f(int n, int s, double *x) { if (s <= 0) { printf(\"s\"); exit(1); } for (int i = 0; i < n; i++) x[i * s] = 1; }", MetBy::Proof),
        ("void f(int n, double *x) { if (width > 0) for (int i = 0; i < n; i++) x[i * width] = 1; }", MetBy::Proof),
        ("void f(vec *v) { if (v->all[1] <= 0) return; for (int i = 0; i < v->n; i++) v->x[i * v->all[1]] = 1; }", MetBy::Proof),
        // not what another branch has seen, nor what may have been written since
        ("void f(vec *v, int c) { if (c) if (v->s < 1) return; for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; }", MetBy::RunTimeCheck),
        ("void f(vec *v) { if (v->s < 1) printf(\"s\"); for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; }", MetBy::RunTimeCheck),
        ("void f(vec *v, int *p) { if (v->s < 1) return; *p = 0; for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; }", MetBy::RunTimeCheck),
        ("void f(vec *v, int *p) { if (v->s < 1) return; for (int i = 0; i < 4; i++) p[i] = 0; for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; }", MetBy::RunTimeCheck),
        ("void f(vec *v) { if (v->s < 1) return; change(); for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; }", MetBy::RunTimeCheck),
        ("void f(vec *v, vec *w) { if (v->s < 1) return; v = w; for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; }", MetBy::RunTimeCheck),
        ("void f(vec *v) { if (v->s < 1) return; for (int k = 0; k < 3; k++) { for (int i = 0; i < v->n; i++) v->x[i * v->s] = 1; v->s--; } }", MetBy::RunTimeCheck),
        ("void f(int n, double *x) { if (width <= 0) return; change(); for (int i = 0; i < n; i++) x[i * width] = 1; }", MetBy::RunTimeCheck),
        ("void f(vec *v, int k) { if (v->all[k] <= 0) return; k++; for (int i = 0; i < v->n; i++) v->x[i * v->all[k]] = 1; }", MetBy::RunTimeCheck),
        ("void f(volatile int *s, int n, double *x) { if (*s <= 0) return; int k = *s; for (int i = 0; i < n; i++) x[i * k] = 1; }", MetBy::RunTimeCheck),
        ("void f(int n, int s, double *x) { if (s <= 0) sometimes(s); for (int i = 0; i < n; i++) x[i * s] = 1; }", MetBy::RunTimeCheck),
        ("void f(int n, int s, double *x) { if (s <= 0) jumps(s); for (int i = 0; i < n; i++) x[i * s] = 1; }", MetBy::RunTimeCheck),
        ("void f(int n, int s, double *x) { if (s <= 0) replaced(); for (int i = 0; i < n; i++) x[i * s] = 1; }", MetBy::RunTimeCheck),
        ("void f(int n, double *x) { int *p = &width; if (*p <= 0) return; width = -1; for (int i = 0; i < n; i++) x[i * *p] = 1; }", MetBy::RunTimeCheck),
        ("void f(int n, double *x) { int s, *p = &s; change(); if (*p <= 0) return; s = -1; for (int i = 0; i < n; i++) x[i * *p] = 1; }", MetBy::RunTimeCheck),
        ("void f(int n, double *x, int s, int k) { switch (k) { case 0: { if (s <= 0) return; case 5: for (int i = 0; i < n; i++) x[i * s] = 1; } } }", MetBy::RunTimeCheck),
        ("void f(int n, double *x, int s, int k) { if (s <= 0) return; switch (k) { case 0: case 5: for (int i = 0; i < n; i++) x[i * s] = 1; } }", MetBy::Proof),
        ("void f(int n, int s, double *x) { if (s <= 0) both(s); for (int i = 0; i < n; i++) x[i * s] = 1; }", MetBy::Proof),
    ] {
        let text = format!(
            "#include <stdlib.h>
             #include <stdio.h>
             typedef struct {{ int n, s; int all[4]; double *x; }} vec;
             static int width;
             void change(void);
             static void fatal(const char *m) {{ fprintf(stderr, \"%s\", m); exit(1); }}
             static void sometimes(int x) {{ if (x) return; exit(1); }}
             static void jumps(int x) {{ if (x) goto out; exit(1); out: ; }}
             static void both(int x) {{ if (x) exit(1); else fatal(\"x\"); return; }}
             __attribute__((weak)) void replaced(void) {{ exit(1); }}
             {function}"
        );
        let l = last_loop_of_f(&text);
        let strides = l.conditions.iter().filter(|c| matches!(c.kind, ConditionKind::InRow { .. }));
        let how: Vec<MetBy> = strides.map(|c| c.met_by).collect();
        assert_eq!(how, [met_by], "{function} {:?} {:?}", l.verdict, l.obstacles);
    }
}
