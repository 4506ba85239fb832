//! Memory that the members of structures own.

use analysis::{analyze, ConditionKind, MetBy, Program, Verdict};
use base::Budget;

/// Memory that a structure's member alone leads to is apart from all else, until somebody may know of it.
#[test]
fn members_of_new_structures_lead_to_memory_of_their_own() {
    for (function, told) in [
        ("double *f(int n, double *x) { vec *v = made(n); for (int i = 0; i < n; i++) v->x[i] = x[i + 1]; return v->x; }", "independent"),
        ("void f(int n, vec *w) { vec v = by_value(n); for (int i = 0; i < n; i++) v.x[i] = w->x[i + 1]; released(&v); }", "?"),
        ("void f(int n, vec *w) { vec v = by_value(n); for (int i = 0; i < n; i++) v.x[i] = w->x[i + 1]; free(v.x); }", "independent"),
        ("void f(int n) { vec v = again(n), w = again(n); for (int i = 0; i < n; i++) v.x[i] = w.x[i + 1]; }", "independent"),
        ("void f(int n, vec *w) { vec *v = made(n); printed(v); for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; freed(v); }", "independent"),
        ("void f(int n, vec *w) { vec *v = made(n); memset(v->x, 0, n); for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "independent"),
        ("void f(int n, vec *w) { vec *v = made(n); kept(v); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); shared(v, w); for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); shared(w, v); for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); w->x = v->x; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); *w = *v; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); memcpy(w, v, sizeof *v); for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); v = w; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); v->x = w->x; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec v = by_value(n); copied(v); for (int i = 0; i < n; i++) v.x[i] = copy.x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec v = by_value(n); unknown_to_us(v.x); for (int i = 0; i < n; i++) v.x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec v = wrapped(w->x); for (int i = 0; i < n; i++) v.x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec v = cached(n); for (int i = 0; i < n; i++) v.x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n) { either v = one(n); for (int i = 0; i < n; i++) v.x[i] = v.y[i + 1]; }", "?"),
        ("void f(int n, vec *w) { two v = halves(n); for (int i = 0; i < n; i++) v.x[i] = v.y[i + 1]; }", "?"),
        ("void f(int n, vec *w) { double *q = n ? (double *)0 : w->x; vec *v = made(n); q = v->x; for (int i = 0; i < n; i++) v->x[i] = q[i + 1]; }", "?"),
    ] {
        let text = format!(
            "#include <stdlib.h>
             #include <string.h>
             #include <stdio.h>
             typedef struct {{ int n; double *x; }} vec;
             typedef struct {{ double *x, *y; }} two;
             typedef union {{ double *x; double *y; }} either;
             static vec *last, copy;
             static double *store;
             void unknown_to_us(double *);
             static vec empty(int n) {{ vec v = {{0}}; v.n = n; return v; }}
             static vec by_value(int n) {{ vec v = empty(n); v.x = calloc(n, sizeof *v.x); if (!v.x) {{ perror(\"no memory\"); exit(1); }} for (int i = 0; i < n; i++) v.x[i] = i; return v; }}
             static vec again(int n) {{ return by_value(n); }}
             static vec *made(int n) {{ vec *v = malloc(sizeof *v); if (v == NULL) return NULL; v->n = n; v->x = (double *)malloc(n * sizeof(double)); return v; }}
             static vec wrapped(double *x) {{ vec v; v.n = 1; v.x = x; return v; }}
             static vec cached(int n) {{ vec v; v.n = n; v.x = malloc(n * sizeof(double)); store = v.x; return v; }}
             static two halves(int n) {{ two v; v.x = malloc(2 * n * sizeof(double)); v.y = v.x + n; return v; }}
             static either one(int n) {{ either v; v.x = malloc(n * sizeof(double)); return v; }}
             static void printed(const vec *v) {{ for (int i = 0; i < v->n; i++) printf(\"%f\", v->x[i]); }}
             static void freed(vec *v) {{ free(v->x); free(v); }}
             static void released(vec *v) {{ free(v->x); }}
             static void kept(vec *v) {{ last = v; }}
             static void copied(vec v) {{ copy = v; }}
             static void shared(vec *v, const vec *w) {{ v->x = w->x; }}
             {function}"
        );
        let parsed = front::Parsed::parse(front::Language::C, &*text);
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        let f = unit.items.iter().find(|i| &*i.name == "f").expect("it is there");
        let facts = analyze(&f.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
        let l = facts.loops.iter().next().expect("a loop");
        let asked = l.verdict != Verdict::Independent
            || l.conditions.iter().any(|c| matches!(c.kind, ConditionKind::NoAlias(..)) && c.met_by != MetBy::Proof);
        assert_eq!(asked, told == "?", "{function} {:?} {:?}", l.verdict, l.conditions);
    }
}
