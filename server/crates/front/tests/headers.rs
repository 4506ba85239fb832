//! What `#include` brings, with headers in memory.

mod common;

use std::sync::Arc;

use common::{body, options, show, statements, unit_with, Files};
use expect_test::{expect, Expect};
use front::{lower, Index, Language, Memo, Parsed, Taken, Unit};
use term::{Op, Origin};

fn check(text: &str, files: &[(&str, &str)], expect: Expect) {
    expect.assert_eq(&show(text, &unit_with(text, files, &[])));
}

fn configuration(unit: &Unit) -> Vec<String> {
    unit.configuration.iter().map(|c| format!("{}: {:?}", c.name, c.taken)).collect()
}

#[test]
fn what_headers_declare_is_visible() {
    check(
        "#include \"a.h\"\nreal f(struct p *q, int i) { grid[i] = q->x[i] + scale(N) + RED + M(i); return limit; }",
        &[(
            "a.h",
            "#pragma once\n#include \"b.h\"\ntypedef double real;\nstruct p { int n; real *x; };\n\
             enum color { RED = 7, GREEN };\nextern real grid[N];\nstatic const int limit = 3;\nreal scale(int);\n",
        ), ("b.h", "#ifndef B\n#define B\n#define N 10\n#define M(i) ((i) * N)\n#endif\n")],
        expect![[r#"
            f [Declaration(q,`struct p*`),Declaration(i,int)]
              Assignment(ArrayElement(grid,i),ArrayElement(Arrow(q,x),i)+MethodCall(scale,10)+RED+i*10)
              Return(limit)
        "#]],
    );
}

#[test]
fn headers_are_searched_from_where_they_are_included() {
    // `deep/a.h` finds its neighbour, `<…>` skips it, `#include_next` goes on after its own folder.
    let files = [
        ("deep/a.h", "#include \"b.h\"\n#include <b.h>\n"),
        ("deep/b.h", "#define NEAR 1\n"),
        ("inc/b.h", "#define FAR 2\n#include_next <b.h>\n"),
        ("sys/b.h", "#define NEXT 3\n"),
        ("b.h", "#define BESIDE 4\n"),
    ];
    check(
        "#include \"deep/a.h\"\nint f(void) { return NEAR + FAR + NEXT; }\n#include \"b.h\"\nint g(void) { return BESIDE; }",
        &files,
        expect![[r#"
            f NIL
              Return(1+2+3)
            g NIL
              Return(4)
        "#]],
    );
    check(
        "#define HEAD <b.h>\n#include HEAD\n#define Q(x) #x\n#include Q(deep/b.h)\nint f(void) { return FAR + NEAR; }",
        &files,
        expect![[r#"
            f NIL
              Return(2+1)
        "#]],
    );
}

#[test]
fn guards_once_and_recursion() {
    let unit = unit_with(
        "#include \"guarded.h\"\n#include \"guarded.h\"\n#include \"once.h\"\n#include \"once.h\"\n#include \"self.h\"\nint f(void) { return A + B + C; }",
        &[
            ("guarded.h", "/* one */\n#if !defined(G)\n#define G\n#ifdef A\n#undef A\n#define A 9\n#else\n#define A 1\n#endif\n#endif\n"),
            ("once.h", "#pragma once\n#ifdef B\n#undef B\n#define B 9\n#else\n#define B 2\n#endif\n"),
            // Never ends by itself.
            ("self.h", "#define C 3\n#include \"self.h\"\n"),
        ],
        &[],
    );
    let b = body(&unit, "f");
    assert_eq!(term::notation::print(b, statements(b)[0]), "Return(1+2+3)");
    assert_eq!(configuration(&unit), ["A: NotDefined", "B: NotDefined", "self.h: TooMuch"]);
}

#[test]
fn a_header_that_is_not_found_leaves_names_open() {
    let text = "#include \"gone.h\"\n#ifdef FAST\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n";
    let unit = unit_with(text, &[], &[]);
    assert_eq!(unit.rejects.len(), 1, "{:?}", unit.rejects);
    assert_eq!(configuration(&unit), ["gone.h: NotFound"]);
    // An unknown one in angle brackets is no part of the standard library either.
    let unit = unit_with(&text.replace("\"gone.h\"", "<vendor/gone.h>"), &[], &[]);
    assert_eq!(unit.rejects.len(), 1, "{:?}", unit.rejects);
    // Once found, the condition is decided.
    let unit = unit_with(text, &[("gone.h", "#define FAST\n")], &[]);
    assert!(unit.rejects.is_empty());
    assert_eq!(unit.items.len(), 1);
}

#[test]
fn choices_are_told() {
    let text = "#include \"size.h\"\n#ifdef _OPENMP\nint p;\n#endif\n#if defined(__GNUC__) && !defined(_WIN32)\nint g;\n#endif\n\
                #ifdef HOW\nint h;\n#endif\nint a[N];";
    let size =
        "#ifndef SIZE_H\n#define SIZE_H\n#if !defined(SMALL) && !defined(LARGE)\n#define LARGE\n#endif\n\
                #ifdef SMALL\n#define N 10\n#elif defined(LARGE)\n#define N 1000\n#endif\n#endif\n";
    let unit = unit_with(text, &[("size.h", size)], &[("HOW", "2")]);
    assert_eq!(
        configuration(&unit),
        [
            "SMALL: NotDefined",
            "LARGE: NotDefined",
            "_OPENMP: EitherWay",
            "__GNUC__: Platform",
            "_WIN32: Platform",
            "HOW: Given(\"2\")"
        ]
    );
    // what options decide is left open
    assert!(unit.items.iter().any(|i| &*i.name == "h") && unit.items.iter().any(|i| &*i.name == "p"));
    assert!(unit.rejects.iter().any(|r| r.reason.contains("#ifdef _OPENMP")), "{:?}", unit.rejects);
}

#[test]
fn the_library_means_the_same_with_and_without_its_headers() {
    let text = "#include <math.h>\n#include <limits.h>\n#include <stdlib.h>\n\
                double f(double x, int c) { return sqrt(x) + fabs(x) * M_PI + INT_MAX + isnan(x) + isdigit(c) + abs(c); }";
    let files = [
        ("sys/math.h", "#define __DECL(n) extern double n (double __x) __attribute__ ((__nothrow__ , __leaf__)); extern double __##n (double __x)\n\
          __DECL(sqrt);\nextern double fabs (double __x) __attribute__ ((__const__));\n# define M_PI\t\t3.14159265358979323846\n\
          # define isnan(x) __builtin_isnan (x)\n"),
        ("sys/limits.h", "#define INT_MAX __INT_MAX__\n"),
        ("sys/stdlib.h", "#include <ctype.h>\nextern int abs (int __x);\nextern __inline int atoi (const char *p) { return 3; }\n"),
        ("sys/ctype.h", "#define isdigit(c) ((*__ctype_b_loc ())[(int) ((c))] & 2048)\nextern int isdigit (int);\n"),
    ];
    let (with, without) = (unit_with(text, &files, &[]), unit_with(text, &[], &[]));
    let (a, b) = (body(&with, "f"), body(&without, "f"));
    assert_eq!(a.rejects().count() + b.rejects().count(), 0);
    assert_eq!(term::notation::print(a, a.root), term::notation::print(b, b.root));
    assert_eq!(a.library.len(), b.library.len());
    assert_eq!(a.hash, b.hash);
    // `#ifdef` sees that they are there.
    let text = "#include <limits.h>\n#if INT_MAX > 32767 && defined(INT_MAX)\nint wide;\n#endif\n#ifdef LONG_MAX\nint l;\n#endif\n";
    let unit = unit_with(text, &files, &[]);
    assert_eq!(unit.items.iter().map(|i| &*i.name).collect::<Vec<_>>(), ["wide"]);
}

#[test]
fn a_prototype_is_not_a_definition() {
    let text = "#include <stdio.h>\n#include \"mine.h\"\nvoid f(double *a, int n) { printf(\"x\"); a[0] = twice(n) + far(n) + sqrt(2); }";
    let unit = unit_with(
        text,
        &[
            ("sys/stdio.h", "extern int printf (const char *__restrict __format, ...);\nextern int dprintf (int __fd, const char *__restrict __fmt, ...);\n"),
            ("mine.h", "double sqrt(double);\nstatic inline int once(int x) { return x; }\nstatic inline int twice(int x) { return once(x) * 2; }\nint far(int);\nstatic inline int unused(int x) { return x; }\n"),
        ],
        &[],
    );
    let b = body(&unit, "f");
    let mut library: Vec<&str> = b.library.iter().map(|s| &*b.symbols[*s].name).collect();
    library.sort();
    assert_eq!(library, ["printf", "sqrt"]);
    // The functions of headers that are reached come along, others do not.
    let mut included: Vec<(&str, &str)> =
        unit.included.iter().map(|i| (i.header.name(), &*i.item.name)).collect();
    included.sort();
    assert_eq!(included, [("mine.h", "once"), ("mine.h", "twice")]);
    let twice = &unit.included.iter().find(|i| &*i.item.name == "twice").unwrap().item;
    assert_eq!(
        term::notation::print(&twice.body, statements(&twice.body)[0]),
        "Return(MethodCall(once,x)*2)"
    );
    assert_eq!(unit.items.len(), 1);
}

#[test]
fn what_is_not_understood_in_a_system_header_spoils_nothing() {
    let unit = unit_with(
        "#include <odd.h>\nint f(int n) { index_t k = n; return k + good(n); }",
        &[(
            "sys/odd.h",
            "__extension__ typedef unsigned long long int __q_t;\n@@ index_t f good ;\n\
             struct hidden { int x : 3; _Float128 y; } __attribute__ ((packed));\n\
             extern int (*table[3]) (int, _Float128) __asm__ (\"x\") __attribute__ ((weak));\n\
             typedef long index_t;\nextern int good (int n) __asm__ (\"good64\");\n",
        )],
        &[],
    );
    let b = body(&unit, "f");
    assert_eq!(b.rejects().count(), 0, "{:?}", b.rejects().collect::<Vec<_>>());
    assert_eq!(common::type_of(b, b.args(statements(b)[1])[0]), "long");
}

#[test]
fn a_file_included_inside_an_item_is_part_of_it() {
    check(
        "int t[] = {\n#include \"table.inc\"\n};\nvoid f(int *a, int n) {\n for (int i = 0; i < n; i++) {\n#include \"step.inc\"\n }\n}\nenum e {\n#define X(n) n,\n#include \"names.def\"\n};\nint h[THREE];",
        &[
            ("table.inc", "1, 2,\n3\n"),
            ("step.inc", "#define D 2\na[i] = D;\n#undef D\n"),
            ("names.def", "X(ONE)\nX(TWO)\n#if 1\nX(THREE)\n#endif\n#undef X\n"),
        ],
        expect![[r#"
            Program(DeclarationAssignment(t,`int[3]`,InitList(1,2,3)))
            f [Declaration(a,`int*`),Declaration(n,int)]
              For(DeclarationAssignment(i,int,0),i<n,Increment(i),[Assignment(ArrayElement(a,i),2)])
            Program(Declaration(h,`int[2]`))
        "#]],
    );
    // Not found: a gap, and never silence.
    check(
        "void f(int *a, int n) {\n for (int i = 0; i < n; i++) {\n a[i] = 0;\n#include \"more.inc\"\n }\n}",
        &[],
        expect![[r#"
            f [Declaration(a,`int*`),Declaration(n,int)]
              For(DeclarationAssignment(i,int,0),i<n,Increment(i),[Assignment(ArrayElement(a,i),0),Reject(Macro,"a file that was not found is included here")])
            ! Macro at `#include "more.inc"`: a file that was not found is included here
        "#]],
    );
    let text = "void f(int *a, int n) {\n#include \"loop.inc\"\n}";
    let unit = unit_with(text, &[("loop.inc", "for (int i = 0; i < n; i++) a[i] = 0;")], &[]);
    let b = body(&unit, "f");
    let l = b.loops(b.root).next().unwrap();
    assert_eq!(b.origin(l), Origin::Macro, "no edit may be made in what is included");
}

#[test]
fn kernels_in_the_style_of_polybench() {
    let kernel = "#include <stdio.h>\n#include <polybench.h>\n#include \"mm.h\"\n\
        static void kernel_mm(int ni, int nj, DATA_TYPE alpha, DATA_TYPE POLYBENCH_2D(C,NI,NJ,ni,nj), DATA_TYPE POLYBENCH_1D(x,NJ,nj))\n\
        {\n  int i, j;\n#pragma scop\n  for (i = 0; i < _PB_NI; i++)\n    for (j = 0; j < _PB_NJ; j++)\n      C[i][j] = SCALAR_VAL(2.0) * SQRT_FUN(x[j]);\n#pragma endscop\n}\n\
        int main(void) {\n  int ni = NI, nj = NJ;\n  POLYBENCH_2D_ARRAY_DECL(C,DATA_TYPE,NI,NJ,ni,nj);\n  POLYBENCH_1D_ARRAY_DECL(x,DATA_TYPE,NJ,nj);\n\
          polybench_start_instruments;\n  kernel_mm(ni, nj, 1.0, POLYBENCH_ARRAY(C), POLYBENCH_ARRAY(x));\n  polybench_stop_instruments;\n\
          polybench_print_instruments;\n  polybench_prevent_dce(print_array(ni, POLYBENCH_ARRAY(C)));\n  POLYBENCH_FREE_ARRAY(C);\n  return 0;\n}\n";
    let sizes = "#ifndef _MM_H\n# define _MM_H\n# if !defined(MINI_DATASET) && !defined(LARGE_DATASET)\n#  define LARGE_DATASET\n# endif\n\
        # if !defined(NI) && !defined(NJ)\n#  ifdef MINI_DATASET\n#   define NI 16\n#   define NJ 18\n#  endif\n\
        #  ifdef LARGE_DATASET\n#   define NI 1000\n#   define NJ 1100\n#  endif\n# endif\n\
        # define _PB_NI POLYBENCH_LOOP_BOUND(NI,ni)\n# define _PB_NJ POLYBENCH_LOOP_BOUND(NJ,nj)\n\
        # ifndef DATA_TYPE\n#  define DATA_TYPE double\n#  define SCALAR_VAL(x) x\n#  define SQRT_FUN(x) sqrt(x)\n# endif\n#endif\n";
    let unit = unit_with(kernel, &[("mm.h", sizes)], &[("MINI_DATASET", "1")]);
    let b = body(&unit, "kernel_mm");
    expect![[r#"
        kernel_mm [Declaration(ni,int),Declaration(nj,int),Declaration(alpha,double),Declaration(C,`double[18]*`),Declaration(x,`double*`)]
          Declaration(i,int)
          Declaration(j,int)
          For(Assignment(i,0),i<16,Increment(i),[For(Assignment(j,0),j<18,Increment(j),[Assignment(ArrayElement(ArrayElement(C,i),j),2.0*MethodCall(sqrt,ArrayElement(x,j)))])])
        main NIL
          DeclarationAssignment(ni,int,16)
          DeclarationAssignment(nj,int,18)
          DeclarationAssignment(C,`double[18][16]*`,Cast(`double[18][16]*`,MethodCall(polybench_alloc_data,(16+0)*(18+0),8)))
          DeclarationAssignment(x,`double[18]*`,Cast(`double[18]*`,MethodCall(polybench_alloc_data,18+0,8)))
          MethodCall(kernel_mm,ni,nj,1.0,Deref(C),Deref(x))
          MethodCall(free,Cast(`void*`,C))
          Return(0)
    "#]].assert_eq(&show(kernel, &unit));
    assert_eq!(b.rejects().count(), 0);
    let told = configuration(&unit);
    assert!(told.contains(&"polybench.h: StandIn".to_owned()), "{told:?}");
    assert!(told.contains(&"MINI_DATASET: Given(\"1\")".to_owned()), "{told:?}");
    // Where the header is there, it is read and ours is not.
    let own = [("mm.h", sizes), ("inc/polybench.h", "#define POLYBENCH_2D(a,b,c,d,e) a[b][c]\n")];
    let unit = unit_with(kernel, &own, &[]);
    assert!(unit.configuration.iter().all(|c| c.taken != Taken::StandIn));
}

#[test]
fn macros_paste_quote_and_take_lists() {
    check(
        "int g(); int ab, SELF;\n#define CAT(a, b) a ## b\n#define XCAT(a, b) CAT(a, b)\n#define LOG(fmt, args...) g(fmt, ## args)\n#define V(f, ...) f(__VA_ARGS__)\n\
         #define E(x) x\n#define S(x) #x\n#define XS(x) S(x)\n#define N 4\n#define SELF SELF + 1\n#define P(x, y) x ## y ## 3\n\
         void f(int a4, char *s) { XCAT(a, N) = CAT(, ab) + CAT(ab, ) + P(, 1); LOG(\"x\"); LOG(\"x\", 1, E(2)); V(g, E(E(3)), N); s = XS(N + N); ab = SELF; ab = E(E)(5); }",
        &[],
        expect![[r#"
            Program(Declaration(ab,int),Declaration(SELF,int))
            f [Declaration(a4,int),Declaration(s,`char*`)]
              Assignment(a4,ab+ab+13)
              MethodCall(g,"x")
              MethodCall(g,"x",1,2)
              MethodCall(g,3,4)
              Assignment(s,"4 + 4")
              Assignment(ab,SELF+1)
              Assignment(ab,5)
        "#]],
    );
}

#[test]
fn unchanged_headers_are_not_read_again() {
    let files = Files::new(&[
        ("a.h", "#include \"b.h\"\n#define N 8\ntypedef struct { double x[N]; } box;\n"),
        ("b.h", "typedef int index;\n"),
    ]);
    let index: Arc<Index> = Arc::default();
    let options = options(&files, &index, &[]);
    let mut memo = Memo::new();
    let text =
        "#include \"a.h\"\nvoid g(box *b) { for (index i = 0; i < N; i++) b->x[i] = 0; }\nvoid f(void) { }\n";
    let parsed = Parsed::parse(Language::C, text);
    let first = lower(&parsed, &options, &mut memo);
    let edited = text.replace("f(void) { }", "f(void) { int k; }");
    let again = lower(&parsed.reparse(&[], edited.as_str()), &options, &mut memo);
    assert!(Arc::ptr_eq(&first.items[0].body, &again.items[0].body));
    assert!(!Arc::ptr_eq(&first.items[1].body, &again.items[1].body));
    // Another document that begins with the same lines has them for the asking.
    let other =
        lower(&Parsed::parse(Language::C, "#include \"a.h\"\nint k = N;\n"), &options, &mut Memo::new());
    assert_eq!(other.items.len(), 1);
    // A header that changed is read, and what depends on it with it.
    let newer = Files::new(&[
        ("a.h", "#include \"b.h\"\n#define N 9\ntypedef struct { double x[N]; } box;\n"),
        ("b.h", "typedef int index;\n"),
    ]);
    let options = common::options(&newer, &index, &[]);
    let changed = lower(&parsed, &options, &mut memo);
    let b = &changed.items[0].body;
    let bound = b.args(b.loops(b.root).next().unwrap())[1];
    assert_eq!(b.op(b.args(bound)[1]), &Op::Int(9));
    // The old text's answer is still there, and right.
    let options = common::options(&files, &index, &[]);
    let b = lower(&parsed, &options, &mut memo).items[0].body.clone();
    assert_eq!(b.hash, first.items[0].body.hash);
}

#[test]
fn a_missing_header_of_the_project_leaves_the_system_alone() {
    let text = "#include \"config.h\"\n#include <stddef.h>\n#include \"marks.h\"\n__give int f(__keep int *p) { return p == NULL; }\n";
    let unit = unit_with(
        text,
        &[
            ("sys/stddef.h", "#ifdef __GNUG__\n#define NULL __null\n#else\n#define NULL ((void *)0)\n#endif\n"),
            ("marks.h", "#ifndef __give\n#define __give\n#endif\n#ifndef __keep\n#define __keep\n#endif\n#ifndef LIMIT\n#define LIMIT 3\n#endif\n"),
        ],
        &[],
    );
    let b = body(&unit, "f");
    assert_eq!(b.rejects().count(), 0, "{:?}", b.rejects().collect::<Vec<_>>());
    // A name of the project is another matter: the header that is missing may have defined it.
    let unit = unit_with(
        &format!("{text}int g(void) {{ return LIMIT; }}"),
        &[("marks.h", "#ifndef LIMIT\n#define LIMIT 3\n#endif\n")],
        &[],
    );
    assert_eq!(body(&unit, "g").rejects().count(), 1);
}

#[test]
fn a_missing_header_of_the_system_leaves_the_others_alone() {
    // What generated hosts begin with, read on a machine without CUDA.
    let text = "#include <cuda_runtime.h>\n#include <stddef.h>\nsize_t f(size_t n) { return n; }\n";
    let header =
        "#ifndef _SIZE_T_DECLARED\n#define _SIZE_T_DECLARED\ntypedef unsigned long size_t;\n#endif\n";
    let unit = unit_with(text, &[("sys/stddef.h", header)], &[]);
    let b = body(&unit, "f");
    assert_eq!(b.rejects().count(), 0, "{:?}", b.rejects().collect::<Vec<_>>());
    let n = b.symbols.iter().find(|s| &*s.name == "n").expect("the parameter");
    assert!(b.types.as_int(n.ty).is_some(), "{:?}", b.types.kind(n.ty));
}

#[test]
fn constants_and_their_addresses() {
    let text = "#include \"c.h\"\nconst int m = N + 1;\nint f(void) { const int *p = &n; return n + m + k + v + (p == &k); }";
    let unit = unit_with(
        text,
        &[(
            "c.h",
            "#define N 4\nstatic const int n = N;\nextern const int k;\nstatic const volatile int v = 3;\n",
        )],
        &[],
    );
    let b = body(&unit, "f");
    let constants: Vec<(&str, i128)> = b
        .symbols
        .iter()
        .filter_map(|s| match s.storage {
            term::Storage::Constant(v) => Some((&*s.name, v)),
            _ => None,
        })
        .collect();
    // `n` was named under `&` first and stays a variable there; `k` has no value here and `v` none for good.
    assert!(constants.iter().all(|(name, _)| matches!(*name, "n" | "m")), "{constants:?}");
    assert!(constants.contains(&("m", 5)), "{constants:?}");
    assert!(b.symbols.iter().any(|s| &*s.name == "n" && s.address_taken));
}

#[test]
fn macros_that_are_whole_items() {
    let unit = unit_with(
        "#define DECLARE(name) int name(int);\n#define DEFINE(name) int name(int x) { return x; }\n#define BOTH(a, b) int a(void) { return 1; } int b(void) { return 2; }\n\
         DECLARE(one)\nDEFINE(two)\nBOTH(three, four)\nint f(int x) { return one(x) + two(x) + three() + four(); }\n",
        &[],
        &[],
    );
    let b = body(&unit, "f");
    assert_eq!(b.rejects().count(), 0, "{:?}", b.rejects().collect::<Vec<_>>());
    assert!(unit.defines_function("two"));
    assert!(b.library.is_empty());
}

#[test]
fn a_file_that_may_be_included_inside_an_item_is_a_gap() {
    let text = "#include \"gone.h\"\nvoid f(int *a, int n) {\n for (int i = 1; i < n; i++) {\n a[i] = 0;\n#ifdef MORE\n#include \"more.inc\"\n#endif\n }\n}\n";
    let unit = unit_with(text, &[("more.inc", "a[i - 1] = 1;\n")], &[]);
    assert_eq!(body(&unit, "f").rejects().count(), 1);
    // Where the condition is decided, so is what stands there.
    let unit = unit_with(text, &[("more.inc", "a[i - 1] = 1;\n"), ("gone.h", "#define MORE\n")], &[]);
    assert_eq!(body(&unit, "f").rejects().count(), 0);
    assert!(show(text, &unit).contains("Assignment(ArrayElement(a,i-1),1)"), "{}", show(text, &unit));
    // What is there already adds nothing.
    let text = "#include \"g.h\"\nint f(int x) {\n#include \"g.h\"\n return x + G; }\n";
    let unit = unit_with(text, &[("g.h", "#ifndef G_H\n#define G_H\n#define G 1\n#endif\n")], &[]);
    assert_eq!(body(&unit, "f").rejects().count(), 0);
}

#[test]
fn what_a_conditional_declaration_says_again_stays_known() {
    // the missing header may define what decides; the types are the same either way
    check(
        "#include \"missing.h\"\n#ifdef MAYBE\n#include \"n.h\"\n#endif\n#include \"n.h\"\nword f(void *p, half h) { return (word)p + h + RED; }",
        &[("n.h", "#ifndef N\n#define N\ntypedef unsigned long word;\ntypedef short half;\nenum { RED = 3 };\n#endif\n")],
        expect![[r#"
            f [Declaration(p,`void*`),Declaration(h,short)]
              Return(Cast(`unsigned long`,p)+h+RED)
        "#]],
    );
    check(
        "#include \"missing.h\"\ntypedef int word;\n#ifdef MAYBE\ntypedef long word;\n#endif\nlong f(void *p) { return (word)p; }",
        &[],
        expect![[r#"
            f [Declaration(p,`void*`)]
              Return(Cast(word,p))
            !! Conditional at `#ifdef MAYBE`: this condition is not known here, so what stands under it may or may not be there (#ifdef MAYBE)
        "#]],
    );
}
