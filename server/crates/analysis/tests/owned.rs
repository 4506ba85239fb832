//! Memory that the members of structures own.

mod common;

use analysis::{Condition, ConditionKind, MetBy, Verdict};
use common::last_loop_of_f;

/// Memory that a structure's member alone leads to is apart from all else, until somebody may know of it.
#[test]
fn members_of_new_structures_lead_to_memory_of_their_own() {
    for (function, told) in [
        ("double *f(int n, double *x) { vec *v = made(n); for (int i = 0; i < n; i++) v->x[i] = x[i + 1]; return v->x; }", "independent"),
        ("void f(int n, vec *w) { vec v = by_value(n); for (int i = 0; i < n; i++) v.x[i] = w->x[i + 1]; released(&v); }", "independent"),
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
        ("void f(int n) { vec v = by_value(n); double *q = &v.x[0]; for (int i = 0; i < n; i++) v.x[i] = q[i + 1]; }", "?"),
        ("void f(int n) { vec *v = made(n); put(&v->link); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }", "?"),
        ("void f(int n) { vec *v = made(n); looked(&v->link, v->n); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }", "independent"),
        ("void f(int n) { vec *v = made(n); bytes(v); for (int i = 0; i < n; i++) v->x[i] = copy.x[i + 1]; }", "?"),
        ("void f(int n) { vec *v = made(n); for (int b = 0; b < sizeof *v; b++) ((char *)&copy)[b] = ((char *)v)[b]; for (int i = 0; i < n; i++) v->x[i] = copy.x[i + 1]; }", "?"),
        ("void f(int n) { vec *v = made(n); pointer(&v->x); for (int i = 0; i < n; i++) v->x[i] = copy.x[i + 1]; }", "?"),
        ("void f(int n) { vec *v = made(n); punned(v); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); v[0].x = w->x; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); (v + 0)->x = w->x; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); *(double **)((char *)v + 16) = w->x; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); ((two *)v)->y = w->x; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n) { vec *v = made(n); vec k = v[0]; for (int i = 0; i < n; i++) v->x[i] = k.x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec v[2]; for (int k = 0; k < 2; k++) v[k].x = w->x; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec *v = made(n); memcpy((char *)v + 16, &w->x, 8); for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n) { vec *v = made(n), *u = made(n); double *r = u->x; swapped(v, u, sizeof *v); for (int i = 0; i < n; i++) v->x[i] = r[i + 1]; }", "?"),
        ("void f(int n) { vec v = by_value(n); double *q = 0; leaked(v.x, &q); for (int i = 0; i < n; i++) v.x[i] = q[i + 1]; }", "?"),
        ("void f(int n, vec *w) { named *v = malloc(sizeof *v); v->x = malloc(n); ((named *)v->name)->x = w->x; for (int i = 0; i < n; i++) v->x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, vec *w) { vec v = replaced(n); for (int i = 0; i < n; i++) v.x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, int k) { vec v = by_value(n); if (k) store = &v.x[k]; for (int i = 0; i < n; i++) v.x[i] = store[i]; }", "?"),
        ("int f(int n, int k) { pool v; v.nodes = calloc(n, sizeof(node)); for (int i = 0; i < n - 1; i++) v.nodes[i].next = &v.nodes[i + 1]; node *q = v.nodes[k].next; for (int i = 0; i < n; i++) v.nodes[i].v = q[i].v; return n; }", "?"),
        ("void f(int n) { vec v = hidden(n); for (int i = 0; i < n; i++) v.x[i] = copy.x[i + 1]; }", "?"),
        ("void f(int n) { either v = one(n); for (int i = 0; i < n; i++) v.x[i] = v.y[i + 1]; }", "?"),
        ("void f(int n, vec *w) { two v = halves(n); for (int i = 0; i < n; i++) v.x[i] = v.y[i + 1]; }", "?"),
        ("void f(int n, vec *w) { double *q = n ? (double *)0 : w->x; vec *v = made(n); q = v->x; for (int i = 0; i < n; i++) v->x[i] = q[i + 1]; }", "?"),
    ] {
        let text = format!(
            "#include <stdlib.h>
             #include <string.h>
             #include <stdio.h>
             typedef struct {{ struct link {{ struct link *next; }} link; int n; double *x; }} vec;
             typedef struct {{ char name[8]; double *x; }} named;
             typedef struct node {{ struct node *next; int v; }} node;
             typedef struct {{ int n; node *nodes; }} pool;
             static struct link *head;
             static unsigned long number;
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
             static void swapped(void *a, void *b, unsigned long n) {{ unsigned char *x = a, *y = b; while (n--) {{ unsigned char t = *x; *x++ = *y; *y++ = t; }} }}
             static void leaked(double *x, void *o) {{ *(long *)o = *(long *)&x; }}
             __attribute__((weak)) vec replaced(int n) {{ vec v; v.n = n; v.x = malloc(n); return v; }}
             static void put(struct link *l) {{ l->next = head; head = l; }}
             static int looked(const struct link *l, int n) {{ return l->next != NULL || n; }}
             static void bytes(void *p) {{ for (int b = 0; b < sizeof copy; b++) ((char *)&copy)[b] = ((char *)p)[b]; }}
             static void pointer(double **p) {{ copy.x = *p; }}
             static void punned(vec *v) {{ union {{ vec *v; unsigned long n; }} u; u.v = v; number = u.n; }}
             static vec hidden(int n) {{ vec v = empty(n); v.x = malloc(n * sizeof(double)); copy.x = &v.x[0]; return v; }}
             static void printed(const vec *v) {{ for (int i = 0; i < v->n; i++) printf(\"%f\", v->x[i]); }}
             static void freed(vec *v) {{ free(v->x); free(v); }}
             static void released(vec *v) {{ free(v->x); }}
             static void kept(vec *v) {{ last = v; }}
             static void copied(vec v) {{ copy = v; }}
             static void shared(vec *v, const vec *w) {{ v->x = w->x; }}
             {function}"
        );
        let l = last_loop_of_f(&text);
        let is_asked = |c: &Condition| matches!(c.kind, ConditionKind::NoAlias(..)) && c.met_by != MetBy::Proof;
        let asked = l.verdict != Verdict::Independent || l.conditions.iter().any(is_asked);
        assert_eq!(asked, told == "?", "{function} {:?} {:?}", l.verdict, l.conditions);
    }
}

/// The text that `%p` prints may be read back as the pointer (C11 7.21.6.1p8), whoever has it by then.
#[test]
fn what_is_printed_as_a_pointer_is_known() {
    for (print, told) in [
        ("sprintf(b, \"%p\", (void *)t);", "?"),
        ("snprintf(b, 40, \"at %-20p\", (void *)t);", "?"),
        ("sprintf(b, how, t);", "?"),
        ("printf(\"%p\", (void *)t);", "?"),
        ("fprintf(stderr, \"%d %p\\n\", n, (void *)t);", "?"),
        ("told(b, t);", "?"),
        ("told(b, x); sprintf(b, \"%d\", n);", "independent"),
        ("sprintf(b, \"%f\", t[0]);", "independent"),
        ("printf(\"%g of %d\\n\", t[0], n);", "independent"),
        ("printf(\"help\");", "independent"),
    ] {
        let text = format!(
            "#include <stdlib.h>
             #include <stdio.h>
             static void told(char *b, double *p) {{ sprintf(b, \"%p\", (void *)p); }}
             void f(int n, double *x, char *b, const char *how) {{
                 double *t = malloc((n + 1) * sizeof *t), *q;
                 t[0] = 1;
                 {print}
                 sscanf(b, \"%p\", (void **)&q);
                 for (int i = 0; i < n; i++) t[i] = q[i + 1];
             }}"
        );
        let l = last_loop_of_f(&text);
        let is_asked =
            |c: &Condition| matches!(c.kind, ConditionKind::NoAlias(..)) && c.met_by != MetBy::Proof;
        let asked = l.verdict != Verdict::Independent || l.conditions.iter().any(is_asked);
        assert_eq!(asked, told == "?", "{print} {:?} {:?}", l.verdict, l.conditions);
    }
}
