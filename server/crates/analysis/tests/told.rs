//! Memory of which somebody is told later than a loop runs.

mod common;

use analysis::{Condition, ConditionKind, MetBy, Verdict};
use common::last_loop_of_f;

/// What happens behind the outermost loop around a loop tells nobody anything while it runs; what comes before, or again, does.
#[test]
fn what_is_told_behind_a_loop_is_not_known_in_it() {
    let each = "for (int i = 0; i < n; i++)";
    for (function, told) in [
        ("void f(int n, image w) { char *p = malloc(n); EACH p[i] = w.x[i + 1]; give(p); free(p); }", "independent"),
        ("void f(int n, image *w) { char *p = malloc(n); EACH p[i] = w->x[i + 1]; give(p); free(p); }", "independent"),
        ("void f(int n, image *w) { char *p = malloc(n); EACH p[i] = w->x[i + 1]; w->x = p; }", "independent"),
        ("void f(int n, image *w) { char *p = malloc(n); w->x = p; EACH p[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, image *w) { for (int k = 0; k < 2; k++) { char *p = malloc(n); EACH p[i] = w->x[i + 1]; w->x = p; } }", "independent"),
        ("void f(int n, image *w) { char *p = malloc(n); for (int k = 0; k < 2; k++) { EACH p[i] = w->x[i + 1]; w->x = p; } }", "?"),
        ("void f(int n, image *w) { char *p = malloc(n); int k = 0; again: EACH p[i] = w->x[i + 1]; w->x = p; if (k++ < 2) goto again; }", "?"),
        ("void f(int n, image *w) { char *p = malloc(n); switch (n) { case 7: w->x = p; default: EACH p[i] = w->x[i + 1]; } }", "?"),
        ("void f(int n, image *w) { char *p = malloc(n); if (setjmp(here) == 3) return; EACH p[i] = w->x[i + 1]; w->x = p; longjmp(here, 1); }", "?"),
        ("void f(int n, image *w) { char p[100]; EACH p[i] = w->x[i + 1]; give(p); }", "independent"),
        ("void f(int n, image *w) { char p[100]; give(p); EACH p[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, image *w) { char p[100]; do { EACH p[i] = w->x[i + 1]; w->x = p; } while (n++ < 9); }", "?"),
        ("void f(int n, image *w) { static char p[100]; EACH p[i] = w->x[i + 1]; w->x = p; }", "?"),
        ("void f(int n, image *w) { for (int k = 0; k < 2; k++) { char p[100]; EACH p[i] = w->x[i + 1]; give(p); } }", "independent"),
        ("void f(int n, image *w) { char *p; for (int k = 0; k < 2; k++) { if (!k) p = malloc(n); EACH p[i] = w->x[i + 1]; w->x = p; } }", "?"),
        ("void f(int n, image *w) { for (int k = 0; k < 2; k++) { char *p = malloc(n); for (int l = 0; l < 2; l++) { EACH p[i] = w->x[i + 1]; w->x = p; } } }", "?"),
        ("void f(int n, image *w) { static char *p; if (!p) p = malloc(n); EACH p[i] = w->x[i + 1]; w->x = p; }", "?"),
        ("void f(int n, image *w) { image v = made(n); EACH v.x[i] = w->x[i + 1]; *w = v; }", "independent"),
        ("void f(int n, image *w) { image v = made(n); EACH v.x[i] = w->x[i + 1]; both(&v, w); }", "independent"),
        ("void f(int n, image *w) { image v = made(n); both(&v, w); EACH v.x[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, image *w) { image v = made(n); for (int k = 0; k < 2; k++) { EACH v.x[i] = w->x[i + 1]; *w = v; } }", "?"),
        ("void f(int n, image *w) { image v = made(n); EACH v.x[i] = w->x[i + 1]; v.x = w->x; }", "independent"),
        // copies that stay
        ("void f(int n, image *w) { char *p = malloc(n), *q = p + 7; EACH p[i] = w->x[i + 1]; q[0] = 1; }", "independent"),
        ("void f(int n, image *w) { char *p, *q, *r; if ((p = malloc(n)) == NULL) return; q = p + 7; r = &q[1]; EACH p[i] = w->x[i + 1]; r[0] = 1; }", "independent"),
        ("void f(int n) { char *p = malloc(n), *q = p + 7; EACH p[i] = q[i]; }", "?"),
        ("void f(int n, int c) { char *p = malloc(n), *q = p + 7, *r = c ? p : q; EACH p[i] = r[i]; }", "?"),
        ("void f(int n, image *w) { char *p = malloc(n), *q = p + 7; w->x = q; EACH p[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, image *w) { char *p = malloc(n), *q = p + 7, **r = &q; w->x = *r; EACH p[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, image *w) { char *p = malloc(n); static char *q; q = p; w->x = q; EACH p[i] = w->x[i + 1]; }", "?"),
        ("void f(int n, image *w) { char *p = malloc(n), *q; w->x = q = p; EACH p[i] = w->x[i + 1]; }", "?"),
        // what is declared in the header of a loop is the same in all its rounds; a copy tells for the pointer that it is of
        ("void f(int n, image *w) { for (char p[100] = {1}, *q = 0; n-- > 3; ) { EACH p[i] = w->x[i + 1]; w->x = p; } }", "?"),
        ("void f(int n, image *w) { for (char *p = malloc(n); n-- > 3; ) { EACH p[i] = w->x[i + 1]; w->x = p; } }", "?"),
        ("void f(int n, image *w) { for (image v = made(n); n-- > 3; ) { EACH v.x[i] = w->x[i + 1]; w->x = v.x; } }", "?"),
        ("void f(int n, image *w) { char *p = malloc(n); for (int k = 0; k < n; k++) { EACH p[i] = w->x[i + 1]; char *t = p; w->x = t; } }", "?"),
        // pointers behind casts, subscripts and numbers
        ("void f(int n) { char p[100]; char *q = &((unsigned char *)p)[3]; EACH p[i] = q[i]; }", "?"),
        ("void f(int n) { char p[100]; char *q = ((image *)p)->all; EACH p[i] = q[i]; }", "?"),
        ("void f(int n) { char p[100]; char *q = (&p)[0]; EACH p[i] = q[i]; }", "?"),
        ("void f(int n) { char p[100]; char *q = *(char (*)[100])p; EACH p[i] = q[i]; }", "?"),
        ("void f(int n) { char *p = malloc(n), *q = &((char *)((unsigned long)(p + 15) & ~15ul))[0]; EACH p[i] = q[i]; }", "?"),
        ("void f(int n) { char *p = malloc(n), *q = ((image *)((unsigned long)p & ~15ul))->all; EACH p[i] = q[i]; }", "?"),
        ("void f(int n, image *w) { image v; v.all[1] = w->all[2]; EACH v.all[i] = w->x[i + 1]; give(w->x); }", "independent"),
        // a part of what was handed in
        ("void f(int n, image w) { char p[100]; give(p); EACH p[i] = w.x[i + 1]; }", "independent"),
        ("void f(int n, image w) { char p[100]; w.x = p; EACH p[i] = w.x[i + 1]; }", "?"),
        ("void f(int n, image w) { char p[100]; w = keep; give(p); EACH p[i] = w.x[i + 1]; }", "?"),
        ("void f(int n, image w) { char p[100]; set(&w, p); EACH p[i] = w.x[i + 1]; }", "?"),
        ("void f(int n, image w) { char *p = malloc(n); keep.x = p; EACH p[i] = w.x[i + 1]; }", "independent"),
        ("void f(int n, image w, char *p) { EACH p[i] = w.x[i + 1]; }", "?"),
        ("void f(int n, image w) { EACH all[i] = w.x[i + 1]; }", "?"),
    ] {
        let text = format!(
            "#include <stdlib.h>
             #include <setjmp.h>
             typedef struct {{ int n; char *x; char all[8]; }} image;
             static image keep; char all[100]; static jmp_buf here;
             void give(char *); void set(image *, char *); void both(image *, image *);
             static image made(int n) {{ image v; v.n = n; v.x = calloc(n, 1); return v; }}
             {}\n",
            function.replace("EACH", each)
        );
        let l = last_loop_of_f(&text);
        let is_asked = |c: &Condition| matches!(c.kind, ConditionKind::NoAlias(..)) && c.met_by != MetBy::Proof;
        let asked = l.verdict != Verdict::Independent || l.conditions.iter().any(is_asked);
        assert_eq!(asked, told == "?", "{function} {:?} {:?}", l.verdict, l.conditions);
    }
}
