//! Loops that call functions of their program: what is seen through, and what must not be.

use analysis::{analyze, ConditionKind, Facts, MetBy, ObstacleKind, Program, Verdict};
use base::Budget;
use expect_test::{expect, Expect};
use term::Body;

fn describe(body: &Body, facts: &Facts) -> String {
    let mut out = String::new();
    for l in facts.loops.iter() {
        let verdict = match l.verdict {
            Verdict::Independent => "independent",
            Verdict::Reduction => "reduction",
            Verdict::Sequential => "sequential",
            Verdict::Unknown => "unknown",
        };
        let index = l.control.as_ref().map_or("?", |c| &*body.symbols[c.index].name);
        out += &format!("{} {index}: {verdict}", body.name);
        for o in &l.obstacles {
            out += &match &o.kind {
                ObstacleKind::UnknownCall(f) => format!(" !calls {}", body.symbols[*f].name),
                ObstacleKind::Call { function, why, name } => {
                    format!(" !{why:?} {}({name})", body.symbols[*function].name)
                }
                ObstacleKind::MayAlias(a, b) => {
                    format!(" !alias({},{})", body.symbols[a.symbol].name, body.symbols[b.symbol].name)
                }
                k => format!(" !{}", format!("{k:?}").split(['(', ' ']).next().unwrap_or("")),
            };
        }
        let compared = l
            .conditions
            .iter()
            .any(|c| matches!(c.kind, ConditionKind::NoAlias(..)) && c.met_by == MetBy::RunTimeCheck);
        if compared {
            out += " if apart";
        }
        out.push('\n');
    }
    out
}

fn check(text: &str, expect: Expect) {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let mut out = String::new();
    for item in &unit.items {
        let facts = analyze(&item.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
        out += &describe(&item.body, &facts);
    }
    expect.assert_eq(&out);
}

#[test]
fn elements_through_a_pointer_are_those_it_is_given() {
    check(
        "static void put(double *a, int i, double v) { a[i] = v; }
         static double get(const double *a, int i) { return a[i]; }
         void one(int n, double *restrict a, const double *restrict b) {
             for (int i = 0; i < n; i++) put(a, i, get(b, i));
         }
         void shifted(int n, double *restrict a) {
             for (int i = 1; i < n; i++) put(a, i, get(a, i - 1));
         }
         void moved(int n, double *restrict a) {
             for (int i = 0; i < n; i++) put(a + i, 1, 0.0);
         }
         void same(int n, double *restrict a) {
             for (int i = 0; i < n; i++) put(a, 0, i);
         }",
        expect![[r#"
            one i: independent
            shifted i: sequential
            moved i: independent
            same i: sequential
        "#]],
    );
}

#[test]
fn index_functions_are_seen_through() {
    check(
        "static int at(int i, int j, int n) { return i * n + j; }
         static inline int max(int a, int b) { return a > b ? a : b; }
         static int clamp(int x, int lo, int hi) {
             if (x < lo) return lo;
             if (x > hi) return hi;
             return x;
         }
         void rows(int n, double *restrict a) {
             for (int i = 0; i < n; i++)
                 for (int j = 0; j < n; j++) a[at(i, j, n)] = 0;
         }
         void edge(int n, double *restrict a) {
             for (int i = 0; i < n; i++) a[max(i, 1)] = i;
         }
         void clamped(int n, double *restrict a, const double *restrict b) {
             for (int i = 0; i < n; i++) a[i] = b[clamp(i - 1, 0, n - 1)];
         }
         void clamped_write(int n, double *restrict a) {
             for (int i = 0; i < n; i++) a[clamp(i, 2, 5)] = i;
         }
         void bound(int n, double *restrict a) {
             for (int i = max(n, 3); i < max(n, 9); i++) a[i] = 1;
         }",
        expect![[r#"
            rows i: independent
            rows j: independent
            edge i: sequential
            clamped i: independent
            clamped_write i: sequential
            bound i: independent
        "#]],
    );
}

#[test]
fn a_scalar_by_address_is_that_scalar() {
    check(
        "static void split(double x, double *lo, double *hi) { *lo = x - 1; *hi = x + 1; }
         static void add(double *sum, double x) { *sum += x; }
         void inside(int n, double *restrict a, const double *restrict b) {
             for (int i = 0; i < n; i++) { double l, h; split(b[i], &l, &h); a[i] = l * h; }
         }
         void outside(int n, double *restrict a, const double *restrict b) {
             double l, h;
             for (int i = 0; i < n; i++) { split(b[i], &l, &h); a[i] = l * h; }
         }
         double sum(int n, const double *restrict b) {
             double s = 0;
             for (int i = 0; i < n; i++) add(&s, b[i]);
             return s;
         }
         double carried(int n, double *restrict a, const double *restrict b) {
             double l = 0, h = 0;
             for (int i = 0; i < n; i++) { a[i] = l; split(b[i], &l, &h); }
             return h;
         }",
        expect![[r#"
            inside i: independent
            outside i: independent
            sum i: reduction
            carried i: sequential
        "#]],
    );
}

#[test]
fn loops_inside_functions_are_followed() {
    check(
        "static double dot(int n, const double *x, const double *y) {
             double s = 0;
             for (int k = 0; k < n; k++) s += x[k] * y[k];
             return s;
         }
         static void clear(double *row, int m) { for (int k = 0; k < m; k++) row[k] = 0; }
         void product(int n, double a[n][n], double b[n][n], double *restrict y, const double *restrict x) {
             for (int i = 0; i < n; i++) y[i] = dot(n, a[i], x);
         }
         void all(int n, int m, double *restrict a) {
             for (int i = 0; i < n; i++) clear(a + i * m, m);
         }
         void overlapping(int n, int m, double *restrict a) {
             for (int i = 0; i < n; i++) clear(a + i * m, m + 1);
         }
         void matrix(double a[20][30]) { for (int i = 0; i < 20; i++) clear(a[i], 30); }",
        expect![[r#"
            dot k: reduction
            clear k: independent
            product i: independent
            all i: independent
            overlapping i: unknown !NonAffineSubscript
            matrix i: independent
        "#]],
    );
}

#[test]
fn what_cannot_be_seen_through_is_named() {
    check(
        "#include <stdio.h>
         #include <stdlib.h>
         extern double outside(double);
         extern double other(double);
         static double via(double x) { return other(x) + 1; }
         static void show(double x) { printf(\"%f\\n\", x); }
         static double noise(void) { return rand(); }
         static int counter(void) { static int n; return n++; }
         static void check(double x) { if (x < 0) exit(1); }
         static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
         static double deep(double **p, int i) { return p[i][0]; }
         static void fill(double *p, int n) { while (n > 0) { n--; if (p[n] > 0) return; p[n] = 1; } }
         void f(int n, double *restrict a, double (*g)(double), double **rows) {
             for (int i = 0; i < n; i++) a[i] = outside(a[i]);
             for (int i = 0; i < n; i++) a[i] = via(a[i]);
             for (int i = 0; i < n; i++) show(a[i]);
             for (int i = 0; i < n; i++) a[i] = noise();
             for (int i = 0; i < n; i++) a[i] = counter();
             for (int i = 0; i < n; i++) check(a[i]);
             for (int i = 0; i < n; i++) a[i] = g(a[i]);
             for (int i = 0; i < n; i++) a[i] = fib(i);
             for (int i = 0; i < n; i++) a[i] = deep(rows, i);
             for (int i = 0; i < n; i++) fill(a, i);
         }",
        expect![[r#"
            fill n: unknown !EarlyExit
            f i: unknown !calls outside
            f i: unknown !UnknownCall via(other)
            f i: unknown !Ordered show(printf)
            f i: unknown !State noise(rand)
            f i: sequential
            f i: unknown !NoReturn check(exit)
            f i: unknown !IndirectCall
            f i: independent
            f i: unknown !Memory deep(rows[])
            f i: unknown !DataDependentCondition
        "#]],
    );
}

#[test]
fn globals_of_functions_count() {
    check(
        "static double total;
         static double scale = 2;
         static const double table[4] = {1, 2, 3, 4};
         static double grid[100];
         static void add(double x) { total += x; }
         static double scaled(double x) { return x * scale; }
         static double looked(int k) { return table[k & 3]; }
         static void set(int i, double x) { grid[i] = x; }
         static void twice(int i, double x) { for (int k = i; k < 100; k++) { grid[k] = x; if (x > 3) return; } }
         void f(int n, double *restrict a) {
             for (int i = 0; i < n; i++) add(a[i]);
             for (int i = 0; i < n; i++) a[i] = scaled(a[i]);
             for (int i = 0; i < n; i++) a[i] = looked(i);
             for (int i = 0; i < 100; i++) set(i, i);
             for (int i = 0; i < 100; i++) set(0, i);
             for (int i = 0; i < 100; i++) twice(i, i);
         }",
        expect![[r#"
            twice k: independent
            f i: unknown !State add(total)
            f i: independent
            f i: independent
            f i: independent
            f i: sequential
            f i: unknown !DataDependentCondition
        "#]],
    );
}

#[test]
fn the_library_is_known() {
    check(
        "#include <string.h>
         #include <ctype.h>
         #include <math.h>
         void f(int n, int m, double *restrict a, const double *restrict b, char *restrict s, int *restrict e) {
             for (int i = 0; i < n; i++) memcpy(a, b, 8);
             for (int i = 0; i < n; i++) s[i] = toupper(s[i]);
             for (int i = 0; i < n; i++) a[i] = strlen(s);
             for (int i = 0; i < n; i++) a[i] = frexp(b[i], &e[i]);
             for (int i = 0; i < n; i++) { int x; a[i] = frexp(b[i], &x) + x; }
             for (int i = 0; i < n; i++) { double t[4]; memset(t, 0, sizeof t); a[i] = t[0]; }
         }",
        expect![[r#"
            f i: sequential
            f i: independent
            f i: independent
            f i: unknown !DataDependentCondition
            f i: independent
            f i: independent
        "#]],
    );
}

#[test]
fn definitions_that_do_not_fit_are_not_used() {
    check(
        "static void two(double *a, int i) { a[i] = 0; }
         void f(int n, double *restrict a, float *restrict b, int *restrict c) {
             for (int i = 0; i < n; i++) two(a);
             for (int i = 0; i < n; i++) two(b, i);
             for (int i = 0; i < n; i++) two((double *)c, i);
             for (int i = 0; i < n; i++) two(a, 2.0 * i);
         }",
        expect![[r#"
            f i: unknown !calls two
            f i: unknown !calls two
            f i: unknown !UnknownPointer
            f i: unknown !NonAffineSubscript
        "#]],
    );
}

#[test]
fn values_change_between_looks() {
    // What a pointer or a call may have written is not what it was.
    check(
        "static int flip(int *t) { while (*t) { if (*t > 3) return 1; --*t; } return 0; }
         void f(int n, double *restrict a) {
             for (int i = 0; i < n; i++) {
                 int t = i & 1;
                 if (t == 0) { flip(&t); if (t == 1) a[0] = i; }
             }
             for (int i = 0; i < n; i++) {
                 int t = 0;
                 int *p = &t;
                 if (t == 0) { *p = 1; if (t == 1) a[0] = i; }
             }
         }",
        expect![[r#"
            flip ?: unknown !NotCounted
            f i: unknown !DataDependentCondition
            f i: unknown !UnknownPointer
        "#]],
    );
}

#[test]
fn memory_that_somebody_was_told_of_may_be_shown_by_what_memory_holds() {
    let functions = |ways: &[&str]| -> String {
        let one = |(k, way): (usize, &&str)| {
            format!(
                "void f{k}(struct s *l, int n, int c) {{
                     float *t = malloc(n * sizeof(float)), *u; float (*r)[8] = malloc(n * sizeof *r);
                     {way}
                     for (int i = 0; i + 1 < n; i++) t[i] = l->rows[i + 1] + r[i][0];
                     free(t);
                 }}"
            )
        };
        let head = "#include <stdlib.h>\n#include <string.h>\nstruct s { float *rows, *more[4]; }; static float *kept; float *unseen(float *);
             static void keeps(struct s *l, float *p) { l->more[2] = p; } static float *gives(float *p) { return p + 1; }
             static float reads(const float *p) { return p[0]; }
             static void number(struct s *l, unsigned long p) { l->rows = (float *)p; }
             static void copies(struct s *l, float *p) { memcpy(&l->rows, &p, sizeof p); }
             static void bytes(float *p) { char *from = (char *)&p, *to = (char *)&kept; for (int b = 0; b < 8; b++) to[b] = from[b]; }
             static float *made(int n) { float *p = malloc(n * sizeof *p); if (!p) abort(); return p; }
             static float *noted(int n) { float *p = malloc(n * sizeof *p); kept = p; return p; }
             static float *cached(int n) { static float *p; if (!p) p = malloc(n * sizeof *p); return p; }
             static float *pooled(int n) { if (!kept) kept = malloc(n * sizeof *kept); return kept; }
             static float *either(struct s *l, int n) { return n > 3 ? malloc(n) : l->rows; }\n";
        head.to_owned() + &ways.iter().enumerate().map(one).collect::<Vec<_>>().join("\n")
    };
    let count = |ways: &[&str]| {
        let parsed = front::Parsed::parse(front::Language::C, functions(ways));
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        let mut asked = Vec::new();
        for item in unit.items.iter().filter(|i| i.name.starts_with('f')) {
            let facts = analyze(&item.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
            let l = &facts.loops.iter().next().expect("there is a loop");
            let text = describe(&item.body, &facts);
            assert_eq!(l.verdict, Verdict::Independent, "{} {text}", ways[asked.len()]);
            asked.push(text.contains("if apart"));
        }
        asked
    };
    let told = [
        "l->rows = t;",
        "l->more[1] = t + 1;",
        "l->rows = &t[1];",
        "l->rows = &1[t];",
        "l->rows = &*t;",
        "l->rows = memset(t, 0, n);",
        "kept = c ? t : NULL;",
        "l->rows = u = t;",
        "u = t; l->rows = u;",
        "l->rows = (c++, t);",
        "keeps(l, t);",
        "number(l, (unsigned long)t);",
        "copies(l, t);",
        "bytes(t);",
        "bytes(t + 1);",
        "l->rows = gives(t);",
        "unseen(t);",
        "l->rows = (t = malloc(n));",
        "float *v[2] = { t, t }; l->rows = v[c];",
        "struct s w = { t }; *l = w;",
        "float **p = &t; l->rows = *p;",
        "memcpy(&l->rows, &t, sizeof t);",
        "kept = (float *)(unsigned long)t;",
        "if (c) goto out; out: l->rows = t;",
        "t = noted(n);",
        "t = cached(n);",
        "t = pooled(n);",
        "t = either(l, n);",
    ];
    let alone = [
        "",
        "if (!t) return;",
        "if (t == NULL) return;",
        "memset(t, 0, n * sizeof(float));",
        "t[0] = reads(t);",
        "c = reads(&t[1]);",
        "l->rows[0] = t[1];",
        "c = t ? 1 : 0;",
        "c = (unsigned long)t > 99;",
        "(void)t;",
        "t[1] = *t;",
        "t = made(n);",
        "memcpy(t, l->rows, n * sizeof(float));",
    ];
    for (ways, is_told) in [(&told[..], true), (&alone[..], false)] {
        for (way, asked) in ways.iter().zip(count(ways)) {
            assert_eq!(asked, is_told, "{way}");
        }
    }
}

#[test]
fn a_restrict_pointer_that_was_handed_on_may_be_anywhere() {
    check(
        "static double *kept;
         static void keep(double *p) { kept = p; }
         static double read(const double *p) { return p[0]; }
         extern void elsewhere(double *p);
         void stored(int n, double *restrict a) {
             keep(a);
             for (int i = 0; i < n; i++) a[i] = kept[i + 1];
         }
         void handed(int n, double *restrict a) {
             elsewhere(a);
             for (int i = 0; i < n; i++) a[i] = kept[i + 1];
         }
         void looked(int n, double *restrict a) {
             double x = read(a);
             for (int i = 0; i < n; i++) a[i] = kept[i + 1] + x;
         }",
        expect![[r#"
            stored i: independent if apart
            handed i: independent if apart
            looked i: independent
        "#]],
    );
}

/// What is compared and what is kept are one value where the function that gives both writes nothing.
#[test]
fn extremes_of_what_functions_give() {
    let head = "static double clamp(double x) { if (x < 0) return 0; if (x > 1) return 1; return x; }
         struct c { double r, i; };
         static double size(const struct c *z) { double a = z->r < 0 ? -z->r : z->r; if (a > 9) a = 9; return a; }
         static int get(const int *p) { if (*p < 0) return 0; return *p; } static int zero(int *p) { *p &= 1; return 1; }
         static int calls; static double counted(double x) { calls++; if (x < 0) return 0; return x; }
         static double level; static double above(double x) { if (x < level) return level; return x; }
         #define MAX(a, b) ((a) > (b) ? (a) : (b))\n";
    let of = |text: &str| {
        let text = format!("{head}double f(int n, const double *a, const struct c *z, double *m, double (*g)(double)) {{ double v = 0; int k = 0; {text} return v + k; }}");
        let parsed = front::Parsed::parse(front::Language::C, &*text);
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        let f = unit.items.iter().find(|i| &*i.name == "f").expect("it is there");
        let facts = analyze(&f.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
        facts.loops.iter().next().expect("there is a loop").verdict
    };
    for one in [
        "for (int i = 0; i < n; i++) if (clamp(a[i]) > v) v = clamp(a[i]);",
        "for (int i = 0; i < n; i++) v = MAX(v, clamp(a[i]));",
        "for (int i = 0; i < n; i++) v = MAX(v, size(&z[i]));",
        "for (int i = 0; i < n; i++) { if (size(&z[i]) > v) v = size(&z[i]); }",
    ] {
        assert_eq!(of(one), Verdict::Reduction, "{one}");
    }
    for other in [
        "for (int i = 0; i < n; i++) v = MAX(v, counted(a[i]));",
        "for (int i = 0; i < n; i++) v = MAX(v, above(a[i])), level = v;",
        "for (int i = 0; i < n; i++) if (clamp(a[i]) > v) v = clamp(a[i + 1]);",
        "for (int i = 0; i < n; i++) v = MAX(v, clamp(v));",
        "for (int i = 0; i < n; i++) v = MAX(v, g(a[i]));",
        "for (int i = 0; i < n; i++) if (clamp(m[0]) > v) { m[0] = a[i]; v = clamp(m[0]); }",
        "for (int i = 0; i < n; i++) if (clamp(a[k]) > v) { k = i; v = clamp(a[k]); }",
        "for (int i = 0; i < n; i++) { int j = i, q = i; if (get(&j) >= 0 && zero(&j)) q = get(&j); m[q] = a[i]; }",
        "for (int i = 0; i < n; i++) { int j = i, q = i; if (get(&j) + zero(&j) >= 0) q = get(&j); m[q] = a[i]; }",
        "for (int i = 0; i < n; i++) { int j = i, q; q = get(&j) >= 0 && zero(&j) ? get(&j) : i; m[q] = a[i]; }",
    ] {
        assert_ne!(of(other), Verdict::Reduction, "{other}");
        assert_ne!(of(other), Verdict::Independent, "{other}");
    }
}

#[test]
fn an_array_whose_address_went_elsewhere_may_be_anywhere() {
    for (given, told) in [
        ("stored((int *)x);", "?"),
        ("number((unsigned long)x);", "?"),
        ("copied(x);", "?"),
        ("copied(x + 1);", "?"),
        ("bytes(x);", "?"),
        ("by(x);", "?"),
        ("reads(x);", "independent"),
        ("prints(x);", "independent"),
        ("printf(\"%d\", x[0]); scanf(\"%d\", &x[1]);", "independent"),
        ("strtok((char *)x, \" \");", "?"),
        ("splits((char *)x);", "?"),
        ("lines((char *)x);", "?"),
    ] {
        let text = format!(
            "#include <string.h>
             #include <stdio.h>
             static int *kept;
             static void prints(int *p) {{ static int times; printf(\"%d %d\", p[0], times++); }}
             static void lines(char *p) {{ kept = (int *)fgets(p, 80, stdin); }}
             static void splits(char *p) {{ strtok(p, \" \"); }}
             static void stored(int *p) {{ kept = p; }}
             static void number(unsigned long p) {{ kept = (int *)p; }}
             static void copied(int *p) {{ memcpy(&kept, &p, sizeof p); }}
             static void bytes(void *p) {{ char *c = (char *)&p, *d = (char *)&kept; for (int b = 0; b < 8; b++) d[b] = c[b]; }}
             static void by(int *p) {{ number((unsigned long)p); }}
             static int reads(int *p) {{ return p[3]; }}
             void f(int *restrict a) {{ int x[1000]; {given} int *q = kept; for (int i = 0; i < 500; i++) {{ q[i] = i; a[i] = x[i + 1]; }} }}"
        );
        let parsed = front::Parsed::parse(front::Language::C, &*text);
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        let f = unit.items.iter().find(|i| &*i.name == "f").expect("it is there");
        let facts = analyze(&f.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
        let said = describe(&f.body, &facts);
        let asked = said.contains("if apart") || !said.contains("independent");
        assert_eq!(asked, told == "?", "{given} {said}");
    }
}

/// What a program says after an edit is what it says when it is made anew, though it takes answers over.
#[test]
fn a_program_after_an_edit_is_the_program_made_anew() {
    use std::sync::Arc;
    let bodies = |text: &str| -> Vec<Arc<Body>> {
        let parsed = front::Parsed::parse(front::Language::C, text);
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        unit.items.iter().map(|i| i.body.clone()).collect()
    };
    let text = |c: &str, more: &str| {
        format!(
            "int g;\ndouble c(double x) {{ {c} }}\ndouble b(double x) {{ return c(x) + 1; }}\n\
             double even(int n);\ndouble odd(int n) {{ return n ? even(n - 1) : b(n); }}\n\
             double even(int n) {{ return n ? odd(n - 1) : 1; }}\n\
             double a(double x) {{ return b(x) + d(x); }}\nvoid e(double *p) {{ p[0] = a(p[1]); }}\n{more}"
        )
    };
    let texts = [
        text("return x * x;", ""),
        text("g++; return x;", ""),
        text("return c(x - 1);", ""),
        text("return x * x;", "double d(double x) { g = 3; return x; }\n"),
        text("return even(2);", "double d(double x) { return x; }\n"),
    ];
    for from in &texts {
        for to in &texts {
            let (old, new) = (bodies(from), bodies(to));
            // What did not change is the same body, as in an editor.
            let kept: Vec<Arc<Body>> = new
                .iter()
                .map(|n| {
                    let whole = |b: &Body| format!("{b:?}");
                    old.iter().find(|o| whole(o) == whole(n)).unwrap_or(n).clone()
                })
                .collect();
            let before = Program::of(&old);
            let (after, anew) = (Program::after(&before, &kept), Program::of(&kept));
            assert_eq!(format!("{:?}", after.functions()), format!("{:?}", anew.functions()));
            for b in &kept {
                assert_eq!(after.key_for(b), anew.key_for(b), "{}", b.name);
            }
        }
    }
}
