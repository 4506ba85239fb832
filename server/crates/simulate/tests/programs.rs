//! Whole C functions from text: executed here and by gcc, which must agree.
use std::fmt::Write as _;
use std::process::Command;

use base::Budget;
use front::{lower, Language, Memo, Parsed};
use simulate::*;
use term::Body;

pub fn bodies(language: Language, text: &str) -> Vec<Body> {
    let parsed = Parsed::parse(language, text);
    let unit = lower(&parsed, &front::Options::default(), &mut Memo::default());
    assert!(unit.rejects.is_empty(), "{:?}", unit.rejects);
    unit.items.iter().map(|i| (*i.body).clone()).collect()
}

/// Declarations, and functions `long long fN(void)`.
const FILE_LEVEL: &str = r#"
typedef unsigned char byte;
typedef struct { int x, y; } point;
struct node { int value; struct node *next; };
union both { unsigned u; float f; byte b[4]; };
enum color { RED, GREEN = 5, BLUE };
#define N 6
#define SQ(x) ((x) * (x))
static int table[N] = {3, 1, 4, 1, 5, 9};
static const char text[] = "warp";
int counter = 10;
double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
point origin = {7, -8};
static int next(void) { static int calls = 100; return ++calls; }
static int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
static point add(point a, point b) { point r = a; r.x += b.x; r.y += b.y; return r; }
static void swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }
static double dot(int n, const double a[n], const double b[n]) { double s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
static void fill(int n, int m, int a[n][m]) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = 10 * i + j; }
static int is_odd(unsigned n);
static int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
static int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }
"#;

const CASES: &[&str] = &[
    "int s = 0; for (int i = 0; i < N; i++) s += table[i]; return s;",
    "int s = 0, i = 0; while (i < 10) { if (i++ % 2) continue; if (i > 7) break; s += i; } return s * 100 + i;",
    "int i = 0, s = 0; do { s += i; } while (++i < 5); return s;",
    "return fact(10);",
    "next(); next(); return next();",
    "point p = {1, 2}, q = {.5 + 3, 4}; p = add(p, q); return p.x * 100 + p.y;",
    "int a = 3, b = 4; swap(&a, &b); return a * 10 + b;",
    "double x[3] = {1, 2, 3}; return (long long)(dot(3, x, matrix[1]) * 10);",
    "int n = 3, m = 4; int a[n][m]; fill(n, m, a); return a[2][3] + (long long)sizeof(a) + (long long)sizeof a[0];",
    "return is_even(20) * 10 + is_odd(7);",
    "int r = 0; for (int i = 0; i < 7; i++) switch (i) { case 0: r += 1; case 1: r += 10; break; case 4: { r += 100; } default: r += 1000; } return r;",
    "int i = 0; again: i += 3; if (i < 20) goto again; return i;",
    "for (int i = 0; i < 10; i++) for (int j = 0; j < 10; j++) if (i * j == 42) { counter = i * 100 + j; goto out; } out: return counter;",
    "byte b = 250; b += 10; signed char c = 127; c++; return b * 1000 + c;",
    "unsigned u = 1; u <<= 31; int s = -17; s >>= 2; return (long long)u + s + (-17 / 4) + (-17 % 4);",
    "union both x; x.f = 1.0f; return x.u + x.b[3];",
    "struct node c = {3, 0}, b = {2, &c}, a = {1, &b}; long long s = 0; for (struct node *p = &a; p; p = p->next) s = s * 10 + p->value; return s;",
    "int *p = table + 2, *q = &table[5]; return (q - p) * 100 + *p++ * 10 + *p + (p > q) + p[-1];",
    "const char *s = text; int n = 0; while (*s) n = n * 31 + *s++; return n + sizeof text;",
    "int x = 5; int y = (x++, x * 2); return y * 10 + (x > 3 ? x < 7 ? 1 : 2 : 3);",
    "return SQ(3 + 1) + BLUE * GREEN + RED;",
    "float f = 16777216.0f; f += 1.0f; double d = f; d += 1; return (long long)d;",
    "float a = 0.1f, b = 0.2f; double c = a + b; return (long long)(c * 1e15);",
    "long long s = 0; for (int i = 5; i > 0; i -= 2) s = s * 10 + i; for (unsigned k = 3; k-- > 0;) s = s * 10 + k; return s;",
    "int a[2][3][2] = {{{1, 2}, {3}}, {{4, 5}, {6, 7}, {8, 9}}}; int s = 0; for (int i = 0; i < 12; i++) s = s * 3 + (&a[0][0][0])[i] % 3; return s + a[1][2][1];",
    "int a[5] = {1, 2}; int s = 0; for (int i = 0; i < 5; i++) s = s * 10 + a[i]; return s;",
    "int (*row)[3]; int a[2][3] = {{1, 2, 3}, {4, 5, 6}}; row = a; row++; return (*row)[1] * 10 + row[0][2];",
    "_Bool t = 0.5; _Bool u = (_Bool)256; return t + u * 2 + !t * 4 + !!7 * 8;",
    "int x = 7; x ^= 2; x |= 8; x &= ~1; x %= 9; x *= -3; return x;",
    "return origin.x * 10 + origin.y + (matrix[1][1] > 4.5 && origin.y < 0 || 1 / (origin.x - 7));",
    "short h = -1; unsigned short us = h; unsigned long ul = h; return us + (ul == -1L) + (h < 0u);",
    "char s[8] = \"abc\"; s[1] = 'X'; return s[0] * 65536 + s[1] * 256 + s[7] + s[2];",
    "int n = 4; double a[n]; for (int i = 0; i < n; i++) a[i] = i / 2.0; double *end = a + n, s = 0; for (double *p = a; p < end; p++) s += *p; return (long long)(s * 100);",
    "return (int)sizeof(point) + (int)sizeof(union both) * 10 + (int)sizeof(struct node) * 100 + (int)sizeof(table);",
    "long long v = 1; for (int i = 0; i < 62; i++) v += v; return v + 0x7fLL + 'a' + '\\n' + 0b0 + 017;",
    "int s = 0; for (int i = 0, j = 10; i < j; i++, j--) s += i * j; return s;",
    "unsigned char c = 'z'; switch (c) { case 'a' ... 'f': return 1; default: return 2; }",
];

fn gcc() -> bool {
    let there = Command::new("gcc").arg("--version").output().is_ok();
    assert!(there || std::env::var("CI").as_deref() != Ok("true"), "gcc is needed where CI=true");
    if !there {
        eprintln!("SKIPPED: gcc was not found; programs were not compared");
    }
    there
}

fn file() -> String {
    let mut c = String::from(FILE_LEVEL);
    for (i, body) in CASES.iter().enumerate() {
        writeln!(c, "long long f{i}(void) {{ {body} }}").unwrap();
    }
    c
}

#[test]
fn functions_agree_with_gcc() {
    let c = file();
    let bodies = bodies(Language::C, &c);
    let program = Program::of(&bodies);
    let got: Vec<Result<i128, Fault>> = (0..CASES.len())
        .map(|i| {
            // a heap each: globals start afresh, as in a process each
            let mut heap = Heap::new();
            let o = run(
                &program,
                &format!("f{i}"),
                &[],
                &mut heap,
                &Options::default(),
                &Budget::new(1_000_000),
            )?;
            match o.value {
                Some(Value::Int(v)) => Ok(v),
                v => panic!("{v:?}"),
            }
        })
        .collect();
    for (i, g) in got.iter().enumerate() {
        // what is not executed says so; case ranges are the only ones here
        let refused = matches!(g, Err(f) if f.is_unknown());
        assert!(!refused || CASES[i].contains("..."), "{}: {:?}", CASES[i], g);
    }
    if !gcc() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut main = format!(
        "#include <stdio.h>\n#include <stdlib.h>\n{c}\nint main(int n, char **v) {{ switch (atoi(v[1])) {{\n"
    );
    for i in 0..CASES.len() {
        writeln!(main, "case {i}: printf(\"%lld\\n\", f{i}()); break;").unwrap();
    }
    main.push_str("} return 0; }\n");
    let (src, exe) = (dir.path().join("p.c"), dir.path().join("p"));
    std::fs::write(&src, main).unwrap();
    let o = Command::new("gcc")
        .args(["-std=gnu11", "-w", "-ffp-contract=off", "-o"])
        .arg(&exe)
        .arg(&src)
        .output()
        .unwrap();
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    for (i, g) in got.iter().enumerate() {
        let Ok(g) = g else {
            assert!(CASES[i].contains("..."), "{}: {g:?}", CASES[i]);
            continue;
        };
        let o = Command::new(&exe).arg(i.to_string()).output().unwrap();
        let want: i128 = String::from_utf8_lossy(&o.stdout).trim().parse().unwrap();
        assert_eq!(*g, want, "{}", CASES[i]);
    }
}

/// What must be reported, and not executed as if it meant something.
#[test]
fn undefined_behaviour_is_reported() {
    type Check = fn(&FaultKind) -> bool;
    let cases: &[(&str, Check)] = &[
        ("int a[4]; return a[4] = 1;", |f| matches!(f, FaultKind::OutOfBounds { offset: 16, size: 4, .. })),
        ("int a[4]; return a[0];", |f| matches!(f, FaultKind::Uninitialized { .. })),
        ("int x; return x + 1;", |f| matches!(f, FaultKind::Uninitialized { .. })),
        // a jump passes the initializer: the value of the iteration before is gone (C11 6.2.4p6)
        ("int s = 0; for (int i = 0; i < 2; i++) { if (i == 1) goto on; int x = 3; on: s += x; } return s;", |f| {
            matches!(f, FaultKind::Uninitialized { .. })
        }),
        ("int s = 0; for (int i = 0; i < 2; i++) switch (i) { case 5: ; int x; case 0: x = 3; case 1: s += x; } return s;", |f| {
            matches!(f, FaultKind::Uninitialized { .. })
        }),
        ("int s = 0, i = 0; again: if (i == 1) goto in; { int x = 3; in: s += x; } if (i++ < 1) goto again; return s;", |f| {
            matches!(f, FaultKind::Uninitialized { .. })
        }),
        ("int *p = 0; return *p;", |f| matches!(f, FaultKind::NullDereference)),
        ("int n = -1; int a[n]; return 1;", |f| matches!(f, FaultKind::BadLength { length: -1 })),
        ("int x = 2147483647; return ++x;", |f| matches!(f, FaultKind::SignedOverflow)),
        ("int x = 1; return x << 40;", |f| matches!(f, FaultKind::ShiftRange { count: 40 })),
        ("double d = 1e20; return (int)d;", |f| matches!(f, FaultKind::ConversionRange)),
        ("static int q(int a) { if (a) return 1; } int r = q(0); return r;", |_| true),
        ("char a[8] = {0}; return *(int *)(a + 1);", |f| matches!(f, FaultKind::Misaligned { .. })),
        ("\"abc\"[1] = 'x'; return 1;", |f| matches!(f, FaultKind::WriteToConst { .. })),
        ("return rand();", |f| matches!(f, FaultKind::NotSupported { .. })),
        // what stands beside a gap leads into it, not to other code
        ("int i, n = 0; for (i = 0; i < 3; i++) { n += i > 1 ? n : rand(); } return n;", |f| {
            matches!(f, FaultKind::NotSupported { .. })
        }),
        ("int i, n = 0; for (i = 0; i < 3; i++) { n += i && rand() ? 1 : 2; } return n;", |f| {
            matches!(f, FaultKind::NotSupported { .. })
        }),
        ("return *escape();", |f| matches!(f, FaultKind::DeadObject { .. })),
        ("int a[3] = {0}, b[3] = {0}; return &a[0] - &b[0];", |f| matches!(f, FaultKind::PointerRange)),
        ("int a[2][3]; int i = 0; for (; i < 7; i++) a[0][i] = i; return 0;", |f| {
            matches!(f, FaultKind::OutOfBounds { .. })
        }),
    ];
    for (text, expected) in cases {
        let c = format!("int rand(void); int *escape(void) {{ int x = 1; int *p = &x; return p; }}\nlong long f(void) {{ {text} }}");
        let parsed = Parsed::parse(Language::C, c.as_str());
        let unit = lower(&parsed, &front::Options::default(), &mut Memo::default());
        let bodies: Vec<Body> = unit.items.iter().map(|i| (*i.body).clone()).collect();
        let p = Program::of(&bodies);
        let r = run(&p, "f", &[], &mut Heap::new(), &Options::default(), &Budget::new(10_000));
        let e = r.expect_err(text);
        assert!(expected(&e.kind), "{text}: {e}");
    }
}
