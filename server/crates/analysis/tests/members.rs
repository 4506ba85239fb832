//! Integer members of structures that nobody else knows of: what a function gave them that made the structure, or a statement before.

mod common;

use analysis::{LoopFacts, MetBy, Verdict};
use common::{last_loop_of_f, last_of_depth_zero};

/// Whether the loop is independent without any condition left to be tested.
fn asks_nothing(function: &str) -> bool {
    let text = format!(
        "#include <stdlib.h>
         #include <string.h>
         #include <stdio.h>
         typedef unsigned long size;
         typedef struct {{ size n; double *data; }} block;
         typedef struct vec {{ int n, stride; double *x; struct vec *link; }} vec;
         typedef struct {{ size n, stride; double *data; block *of; }} view;
         typedef struct {{ int nx, ny; double *u; }} grid;
         typedef union {{ struct {{ int n, stride; }} s; int m[2]; }} either;
         static vec *last;
         void stranger(const char *, int);
         void told(vec *);
         void told_of(void *);
         static int *number;
         typedef void handler(const char *, int);
         static handler *on_error;
         static FILE *out;
         static void error(const char *why, int line) {{ if (on_error) {{ (*on_error)(why, line); return; }} if (out == NULL) out = stderr;
           fprintf(out, \"%s %d\", why, line); abort(); }}
         static vec *made(int n) {{ vec *v = malloc(sizeof *v); if (!v) return NULL; v->n = n; v->stride = 2; v->link = NULL;
           v->x = malloc(2 * n * sizeof(double)); for (int i = 0; i < 2 * n; i++) v->x[i] = 0; return v; }}
         static void grown(vec *v, int n) {{ free(v->x); v->x = malloc(4 * n * sizeof(double)); last->x = v->x; }}
         static vec *watched(int n) {{ vec *v = made(n); error((char *)v->x, 1); return v; }}
         static vec *named(int n) {{ vec *v = made(n); static vec *first; if (!first) first = v; return v; }}
         static vec *listed(int n) {{ vec *v = made(n); struct {{ vec *v; }} s = {{ v }}; told_of(&s); return v; }}
         static vec *global(int n) {{ last = made(n); return last; }}
         static vec *inner(int n) {{ vec *v = made(n); v->link = made(n); last = v->link; return v; }}
         static vec *resized(int n) {{ vec *v = made(n); grown(v, n); return v; }}
         static view *view_checked(size n) {{ view *v = malloc(sizeof(view)); if (v == 0) {{ do {{ error(\"no\", 1); return 0; }} while (0); }}
           v->data = malloc(n * sizeof(double)); v->n = n; v->stride = 1; v->of = 0; return v; }}
         static void put(view *v, size i, double x) {{ if (i >= v->n) {{ error(\"range\", 3); return; }} v->data[i * v->stride] = x; }}
         static block *block_new(size n) {{ block *b = malloc(sizeof(block)); if (b == 0) {{ stranger(\"no\", 1); return 0; }}
           b->data = malloc(n * sizeof(double)); if (b->data == 0) {{ free(b); return 0; }} b->n = n; return b; }}
         static view *view_new(size n) {{ view *v = malloc(sizeof(view)); block *b; if (v == 0) return 0;
           b = block_new(n); if (b == 0) {{ free(v); stranger(\"no\", 2); return 0; }}
           v->data = b->data; v->n = n; v->stride = 1; v->of = b; return v; }}
         static view *view_zero(size n) {{ view *v = view_new(n); if (v == 0) return 0; for (size i = 0; i < n; i++) v->data[i] = 0; return v; }}
         static vec *copy(const vec *o) {{ vec *v = made(o->n); memcpy(v->x, o->x, 2 * o->n * sizeof(double)); return v; }}
         static vec *linked(const vec *o) {{ vec *v = made(o->n); v->link = (vec *)o; return v; }}
         static vec *round(int n) {{ vec *v = made(n); v->link = v; v->stride = 2; return v; }}
         static vec *kept(int n) {{ vec *v = made(n); last = v; return v; }}
         static vec *handed(int n) {{ vec *v = made(n); told(v); return v; }}
         static vec *numbered(int n) {{ vec *v = made(n); stranger(\"\", (int)(long)v); return v; }}
         static vec *branched(int n) {{ vec *v = made(n); if (n > 7) v->stride = 3; return v; }}
         static vec *early(int n) {{ vec *v = malloc(sizeof *v); v->n = n; v->x = malloc(2 * n * sizeof(double)); v->link = 0;
           if (n > 100) return v; v->stride = 2; return v; }}
         static vec *moved(int n) {{ vec *v = made(n); n++; v->n = n; return v; }}
         static vec *wrapped(double *x, int n) {{ vec *v = made(n); v->x = x; return v; }}
         static vec *bytes(int n, const vec *o) {{ vec *v = made(n); for (size k = 0; k < sizeof v->x; k++) ((char *)&v->x)[k] = ((char *)&o->x)[k]; return v; }}
         static vec *pooled(int n) {{ static vec pool; pool.n = n; pool.stride = 2; return &pool; }}
         static void set(vec *v, int i, double y) {{ if (i < 0) stranger(\"range\", i); v->x[v->stride * i] = y; }}
         static void widen(vec *v) {{ v->stride++; }}
         static void keep(vec *v) {{ last = v; }}
         static void through(vec *v) {{ vec **p = &v; (*p)->stride = 3; }}
         static void boxed(vec *v) {{ vec *all[2] = {{ v, v }}; all[1]->stride = 3; }}
         static void point(vec *v) {{ number = &v->stride; }}
         static grid grid_new(int nx, int ny) {{ grid g; g.nx = nx; g.ny = ny; g.u = malloc(nx * ny * sizeof(double)); return g; }}
         static grid grid_list(int nx, int ny) {{ grid g = {{ nx, ny, 0 }}; g.u = malloc(nx * ny * sizeof(double)); return g; }}
         static void grid_size(const grid *g, int *n) {{ *n = g->nx * g->ny; }}
         static void grid_flip(grid *g) {{ int t = g->nx; g->nx = g->ny; g->ny = t; }}
         {function}"
    );
    // of a nest the outer loop
    let facts = match function.contains("int j") {
        true => last_of_depth_zero(&text),
        false => last_loop_of_f(&text),
    };
    facts.verdict == Verdict::Independent && is_proved(&facts)
}

/// Whether a verdict rests on nothing that is left to be tested.
fn is_proved(facts: &LoopFacts) -> bool {
    facts.conditions.iter().all(|c| c.met_by == MetBy::Proof)
}

#[test]
fn what_the_maker_gave_a_member_is_known() {
    for f in [
        "void f(size n) { view *v = view_new(n), *w = view_zero(n); for (size i = 0; i < v->n; i++) v->data[i * v->stride] = w->data[i * w->stride]; }",
        "void f(size n, double *y) { view *v = view_zero(n); for (size i = 0; i < n; i++) v->data[i * v->stride] = y[i]; free(v->data); }",
        "void f(int n, double *y) { vec *v = made(n); for (int i = 0; i < v->n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); set(v, 1, 2.0); for (int i = 0; i < v->n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n) { vec *v = made(n), *w = copy(v); for (int i = 0; i < n; i++) v->x[i * v->stride] = w->x[i * w->stride]; }",
        "void f(int n, double *y) { vec *v = made(n); for (int t = 0; t < 9; t++) { set(v, t, 2.0); for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; } }",
        "void f(int n, double *y) { vec *v = made(n); v->stride = 1; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(size n, double *y) { view *v = view_checked(n); for (size i = 0; i < n; i++) v->data[i * v->stride] = y[i]; }",
        "void f(size n, double *y) { view *v = view_checked(n), *w = view_checked(n); put(v, 1, 2.0); for (size i = 0; i < n; i++) v->data[i * v->stride] = w->data[i * w->stride]; }",
        "void f(int n, int m) { grid g = grid_new(n, m); for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) g.u[j * g.nx + i] = 0; }",
        "void f(int n, int m) { grid g = grid_list(n, m); for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) g.u[j * g.nx + i] = 0; }",
        "void f(int n, int m, double *y) { grid g = { n, m, y }; for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) g.u[j * g.nx + i] = 0; }",
        "void f(int n, int m, double *y) { grid g; g.nx = n; g.ny = m; g.u = y; int s; grid_size(&g, &s); for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) g.u[j * g.nx + i] = 0; }",
    ] {
        assert!(asks_nothing(f), "{f}");
    }
}

#[test]
fn what_may_have_changed_since_is_not_known() {
    for f in [
        "void f(int n, double *y) { vec *v = made(n); widen(v); for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); keep(v); last->stride = n; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); point(v); *number = n; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); through(v); for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); boxed(v); for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); told(v); for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); int *p = &v->stride; *p = n; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); if (n > 9) v->stride = n; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n); for (int t = 0; t < 9; t++) { for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; v->stride = t; } }",
        "void f(int n, double *y) { vec *v = made(n); for (int t = 0; t < 9; t++) { for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; widen(v); } }",
        "void f(int n, double *y) { vec *v = made(n); v = last; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = round(n); v->link->stride = n; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = round(n); v->stride = 1; v->link->stride = n; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = made(n), *w = linked(v); w->link->stride = n; for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n) { vec *v = made(n), *w = linked(v); for (int i = 0; i < n; i++) v->x[i * 2] = w->link->x[i * 2 + 1]; }",
        "void f(int n) { vec *v = kept(n); for (int i = 0; i < n; i++) v->x[2 * i] = last->x[i]; }",
        "void f(int n, double *y) { vec *v = handed(n); for (int i = 0; i < n; i++) v->x[2 * i] = last->x[i]; }",
        "void f(int n, double *y) { vec *v = numbered(n); for (int i = 0; i < n; i++) v->x[2 * i] = last->x[i]; }",
        "void f(int n) { vec *v = watched(n); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }",
        "void f(int n) { vec *v = named(n), *w = named(n); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }",
        "void f(int n) { vec *v = listed(n); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }",
        "void f(int n) { vec *v = global(n); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }",
        "void f(int n) { vec *v = inner(n); for (int i = 0; i < n; i++) v->link->x[i] = last->x[i + 1]; }",
        "void f(int n) { vec *v = resized(n); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }",
        "void f(int n) { vec *v = made(n); grown(v, n); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }",
        "void f(int n) { vec *v = made(n); error((const char *)v, n); for (int i = 0; i < n; i++) v->x[i] = last->x[i + 1]; }",
        "void f(int n, double *y) { vec *v = branched(n); for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = early(n); for (int i = 0; i < n; i++) v->x[i * v->stride] = y[i]; }",
        "void f(int n, double *y) { vec *v = moved(n); for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) v->x[j * v->n + i] = y[i]; }",
        "void f(int n, double *y) { vec *v = wrapped(y, n); for (int i = 0; i < n; i++) v->x[i] = y[i + 1]; }",
        "void f(int n, vec *o) { vec *v = bytes(n, o); for (int i = 0; i < n; i++) v->x[i] = o->x[i + 1]; }",
        "void f(int n) { vec *v = pooled(n), *w = pooled(n + 1); w->stride = n; for (int i = 0; i < n; i++) v->x[i * v->stride] = 0; }",
        "void f(size n) { view *v = view_new(n); for (size i = 0; i < n; i++) v->data[i] = v->of->data[i + 1]; }",
        "void f(size n) { view *v = view_new(n); block *b = v->of; for (size i = 0; i < n; i++) v->data[i] = b->data[i + 1]; }",
        "void f(size n, double *y) { view *v = view_new(n); v->of->data = y; v->data = v->of->data; for (size i = 0; i < n; i++) v->data[i] = y[i + 1]; }",
        "void f(int n, int m) { grid g = grid_new(n, m); grid_flip(&g); for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) g.u[j * g.nx + i] = 0; }",
        "void f(int n, int m) { grid g = grid_new(n, m), h = g; h.nx = n; g = h; for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) g.u[j * g.nx + i] = h.u[j * h.nx + i + 1]; }",
        "void f(int n, int m) { grid g = grid_new(n, m); n = n + 1; for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) g.u[j * g.nx + i] = 0; }",
        "void f(int n, double *y) { either e; e.s.stride = 1; e.m[1] = n; for (int i = 0; i < n; i++) y[i * e.s.stride] = 0; }",
        "void f(int n, double *y) { vec *v = made(n); memset(v, 0, sizeof *v); v->x = y; for (int i = 0; i < n; i++) v->x[i * v->stride] = 0; }",
    ] {
        assert!(!asks_nothing(f), "{f}");
    }
}

/// The loop that each of these ends with, behind a structure whose stride is 1 and whose `data` is its own, as far as it is made.
fn asks_nothing_behind(before: &str) -> bool {
    let text = format!(
        "#include <stdlib.h>
         #include <string.h>
         #include <stdio.h>
         typedef struct vec {{ int n, stride; double *data; char *text; struct vec *link; int odd[4]; }} vec;
         typedef struct {{ int n, stride; double *data; }} val;
         struct base {{ int stride; double *data; }};
         struct derived {{ struct base base; int stride; double *data; }};
         typedef union {{ double *arr; long num; char bytes[8]; }} value;
         union cell {{ double *at[2]; unsigned long w[2]; }};
         static char bytes[8]; static value values[4]; static long secret; static char *rest; static char text[40];
         static vec *vec_alloc(int n) {{ vec *v = malloc(sizeof *v); if (!v) return NULL; v->data = calloc(4 * n + 8, sizeof(double));
           v->text = calloc(n, 1); v->n = n; v->stride = 1; v->link = NULL; return v; }}
         static void zero(int *p) {{ *p = 0; }}
         static void look(const int *p) {{ printf(\"%d\", *p); }}
         static int read_int(FILE *fp, int *value) {{ return fscanf(fp, \"%d\", value) == 1; }}
         static int ask(int *value) {{ return scanf(\"%d\", value); }}
         static void fill(FILE *fp, int *value) {{ fread(value, sizeof *value, 1, fp); }}
         static void count(int *value) {{ printf(\"x%n\", value); }}
         static val val_new(int n) {{ val g; g.n = n; g.stride = 0; g.data = calloc(4 * n, 8); return g; }}
         static val val_view(int n) {{ val g; g.stride = 1; g = val_new(n); return g; }}
         static val val_maybe(int n) {{ val g; g.stride = 1; if (n > 3) g = val_new(n); return g; }}
         static void *derived_new(int n, double *x) {{ struct derived *d = malloc(sizeof *d); d->base.data = x; d->base.stride = 0;
           d->stride = 1; d->data = calloc(n, 8); return d; }}
         static struct base *base_new(size_t size) {{ struct base *b = calloc(1, size); b->stride = 1; b->data = malloc(8); return b; }}
         static vec *noted(int n) {{ vec *v = vec_alloc(n); value u; u.arr = v->data; for (int k = 0; k < 8; k++) bytes[k] = u.bytes[k]; return v; }}
         static double *note(void) {{ value u; for (int k = 0; k < 8; k++) u.bytes[k] = bytes[k]; return u.arr; }}
         static vec *stored(int n) {{ vec *v = vec_alloc(n); value t; t.arr = v->data; values[0].num = t.num; return v; }}
         static vec *begun(int n) {{ vec *v = vec_alloc(n); value t = {{ v->data }}; values[0].num = t.num; return v; }}
         static double *array_new(int n) {{ double *d = calloc(n + 9, 8); value t; t.arr = d; secret = t.num; return d; }}
         static vec *parsed(int n, const char *s) {{ vec *v = vec_alloc(n); strcpy(v->text, s); v->n = strtol(v->text, &rest, 10); return v; }}
         static void first(vec *v) {{ if (strtok(v->text, \" \")) v->n = 1; }}
         static void skip(vec *v) {{ v->n = strtol(v->text, &rest, 10); }}
         static char *text_new(int n, const char *s) {{ char *t = calloc(n + 9, 1); strcpy(t, s); secret = strtol(t, &rest, 10); return t; }}
         static vec *vec_of(int n, unsigned long bits) {{ vec *v = malloc(sizeof *v); union cell *c = malloc(sizeof *c); c->w[0] = bits;
           v->n = n; v->stride = 1; v->data = c->at[0]; free(c); return v; }}
         static vec *written(int n) {{ vec *v = vec_alloc(n); sprintf(text, \"%p\", (void *)v->data); return v; }}
         static double *found(void) {{ void *p; sscanf(text, \"%p\", &p); return p; }}
         static vec *vec_load(FILE *fp) {{ vec *v = malloc(sizeof *v); fread(v, sizeof *v, 1, fp); return v; }}
         {before} }}"
    );
    let facts = last_loop_of_f(&text);
    matches!(facts.verdict, Verdict::Independent | Verdict::Reduction) && is_proved(&facts)
}

#[test]
fn a_structure_is_told_of_in_more_ways_than_by_its_pointer() {
    let stride = "for (int i = 0; i < n; i++) v->data[i * v->stride] += i + v->data[i * v->stride];";
    let copy = "for (int i = 0; i < n; i++) v->data[i + 1] = p[i] + 1;";
    let letters = "for (int i = 0; i < n; i++) v->text[i + 4] = p[i] + 1;";
    for (still, before, then) in [
        // known
        (true, "void f(int n) { vec *v = vec_alloc(n);", stride),
        (true, "void f(int n) { vec *v = vec_alloc(n); look(&v->stride);", stride),
        (true, "void f(int n) { vec *v = vec_alloc(n); v->odd[2] = 0; zero(v->odd + 1); v->stride = 1;", stride),
        (true, "void f(int n, double *p) { vec *v = vec_alloc(n);", copy),
        (true, "void f(int n, char *p) { vec *v = vec_alloc(n); v->n = strtol(\"7\", &rest, 10);", letters),
        (true, "void f(int n) { vec *v = vec_alloc(n); printf(\"no %d in %s\", v->n, v->text);", stride),
        // written through the address of a member
        (false, "void f(int n) { vec *v = vec_alloc(n); (&v->stride)[0] = 0;", stride),
        (false, "void f(int n) { vec *v = vec_alloc(n); *(&v->stride + 0) = 0;", stride),
        (false, "void f(int n) { vec *v = vec_alloc(n); zero(&v->stride + 0);", stride),
        (false, "void f(int n) { vec *v = vec_alloc(n); for (int k = 0; k < 4; k++) ((unsigned char *)&v->stride)[k] = 0;", stride),
        (false, "void f(int n) { vec *v = vec_alloc(n); *(int *)((char *)&v->n + 4) = 0;", stride),
        (false, "void f(int n) { vec *v = vec_alloc(n); v->stride = 0; (&v->stride)[0] = 1;", stride),
        // read from outside in a function that is given its address
        (false, "void f(int n, FILE *in) { vec *v = vec_alloc(n); read_int(in, &v->stride);", stride),
        (false, "void f(int n) { vec *v = vec_alloc(n); ask(&v->stride);", stride),
        (false, "void f(int n, FILE *in) { vec *v = vec_alloc(n); fill(in, &v->stride);", stride),
        (false, "void f(int n) { vec *v = vec_alloc(n); count(&v->stride);", stride),
        // set before the whole is
        (false, "void f(int n) { val g = val_view(n), *v = &g;", "for (int i = 0; i < n; i++) g.data[i * g.stride] += i + g.data[i * g.stride];"),
        (false, "void f(int n) { val g = val_view(n);", "for (int i = 0; i < n; i++) g.data[i * g.stride] += i + g.data[i * g.stride];"),
        (false, "void f(int n) { val g = val_maybe(n);", "for (int i = 0; i < n; i++) g.data[i * g.stride] += i + g.data[i * g.stride];"),
        // members of another structure with the same names
        (false, "void f(int n, double *x) { struct base *v = derived_new(n, x);", stride),
        (false, "void f(int n, double *p) { struct base *v = derived_new(n, p);", copy),
        (false, "void f(int n, double *x) { struct derived *v = (struct derived *)base_new(sizeof *v); v->data = calloc(n, 8);", stride),
        // unions, texts and files
        (false, "void f(int n) { vec *v = noted(n); double *p = note();", copy),
        (false, "void f(int n) { vec *v = stored(n); double *p = values[0].arr;", copy),
        (false, "void f(int n) { vec *v = begun(n); double *p = values[0].arr;", copy),
        (false, "void f(int n) { double *d = array_new(n), *p = (double *)secret;", "for (int i = 0; i < n; i++) d[i + 1] = p[i] + 1;"),
        (false, "void f(int n, const char *s) { vec *v = parsed(n, s); char *p = rest;", letters),
        (false, "void f(int n) { vec *v = vec_alloc(n); first(v); char *p = strtok(NULL, \"!\");", letters),
        (false, "void f(int n) { vec *v = vec_alloc(n); skip(v); char *p = rest;", letters),
        (false, "void f(int n, const char *s) { char *t = text_new(n, s), *p = rest;", "for (int i = 0; i < n; i++) t[i + 4] = p[i] + 1;"),
        (false, "void f(int n, unsigned long bits, double *p) { vec *v = vec_of(n, bits);", copy),
        (false, "void f(int n) { vec *v = written(n); double *p = found();", copy),
        (false, "void f(int n, double *p, FILE *in) { vec *v = vec_load(in);", copy),
    ] {
        let text = format!("{before} {then}");
        assert_eq!(asks_nothing_behind(&text), still, "{text}");
    }
}
