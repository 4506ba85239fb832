//! The preprocessor, seen through terms.

mod common;

use common::{show, unit_as};
use expect_test::{expect, Expect};
use front::Language;
use term::Origin;

fn check_with(text: &str, defines: &[(&str, &str)], expect: Expect) {
    expect.assert_eq(&show(text, &unit_as(Language::C, text, defines)));
}

fn check(text: &str, expect: Expect) {
    check_with(text, &[], expect);
}

/// GNU's `&&label` is no operand of what stands in parentheses, unless that is a type.
#[test]
fn a_bound_in_parentheses_before_and_is_no_cast() {
    check(
        "#define N (n)\ntypedef int word;\nint f(int n, int *a, int i) { while (i < N && a[i]) i++; return (word) i + (N && (i)); }",
        expect![[r#"
            f [Declaration(n,int),Declaration(a,`int*`),Declaration(i,int)]
              While(And(i<n,ArrayElement(a,i)),[Increment(i)])
              Return(Cast(int,i)+And(n,i))
        "#]],
    );
}

#[test]
fn macros_mean_what_a_compiler_takes_them_to_mean() {
    check(
        "#define N 10\nint a[N]; void f(void) { for (int i = 0; i < N; i++) a[i] = N; }",
        expect![[r#"
        Program(Declaration(a,`int[10]`))
        f NIL
          For(DeclarationAssignment(i,int,0),i<10,Increment(i),[Assignment(ArrayElement(a,i),10)])
    "#]],
    );
    check(
        "#define T double\n#define P 1 + 2\nT f(T x) { return x * P * (T) x; }",
        expect![[r#"
        f [Declaration(x,double)]
          Return(x*1+2*Cast(double,x))
    "#]],
    );
    check("#define MIN(a,b) ((a)<(b)?(a):(b))\n#define IDX(i,j) ((i)*4+(j))\nint f(int *p, int n) { return p[IDX(n, MIN(n, 3))]; }", expect![[r#"
        f [Declaration(p,`int*`),Declaration(n,int)]
          Return(ArrayElement(p,n*4+Select(n<3,n,3)))
    "#]]);
    check(
        "#define A B\n#define B A + 1\nint f(int A) { return A; }",
        expect![[r#"
        f Program(Reject(Syntax,"the function's header could not be read"))
        ! Syntax at `int f(int A) { return A; }`: the function's header could not be read
    "#]],
    );
    check("#define CAT(x,y) x##y\n#define STR(x) #x\n#define V(...) g(__VA_ARGS__)\nint ab; int g(); char *f(void) { CAT(a,b) = 1; V(1, 2); return STR(a + \"b\"); }", expect![[r#"
        Program(Declaration(ab,int))
        f NIL
          Assignment(ab,1)
          MethodCall(g,1,2)
          Return("a + \"b\"")
    "#]]);
    check(
        "#define SWAP(a,b) do { int t = a; a = b; b = t; } while (0)\nvoid f(int x, int y) { SWAP(x, y); }",
        expect![[r#"
            f [Declaration(x,int),Declaration(y,int)]
              [DeclarationAssignment(t,int,x),Assignment(x,y),Assignment(y,t)]
        "#]],
    );
    check(
        "#define FOR(i,n) for (int i = 0; i < n; i++)\nvoid f(int *a, int n) { FOR(k, n) a[k] = 1; }",
        expect![[r#"
        f [Declaration(a,`int*`),Declaration(n,int)]
          For(DeclarationAssignment(k,int,0),k<n,Increment(k),[Assignment(ArrayElement(a,k),1)])
    "#]],
    );
    check("#define N 1\nint f(void) { return N; }\n#undef N\n#define N 2\nint g(void) { return N; }\n#undef N\nint h(void) { return N; }", expect![[r#"
        f NIL
          Return(1)
        g NIL
          Return(2)
        h NIL
          Return(N)
    "#]]);
    check("int f(int x) {\n#define K 3\n  x += K;\n#undef K\n#define K 4\n  return x + K;\n}\nint g(void) { return K; }", expect![[r#"
        f [Declaration(x,int)]
          PlusAssignment(x,3)
          Return(x+4)
        g NIL
          Return(4)
    "#]]);
    check_with(
        "int a[N]; int f(void) { return N * SQ(3); }",
        &[("N", "5"), ("SQ(x)", "((x)*(x))")],
        expect![[r#"
        Program(Declaration(a,`int[5]`))
        f NIL
          Return(5*(3*3))
    "#]],
    );
    check(
        "#define F(x) x\nint f(void) { return F(1, 2) + F; }",
        expect![[r#"
        f NIL
          Return(Reject(Macro,"the use of macro `F` does not fit its definition")+F)
        ! Macro at `F(1, 2)`: the use of macro `F` does not fit its definition
    "#]],
    );
    check(
        "#define E\n#define BEGIN {\n#define END }\nint f(void) BEGIN return E 1; END",
        expect![[r#"
            f NIL
              Return(1)
        "#]],
    );
}

#[test]
fn conditionals() {
    check("#define A 2\n#if A > 1 && !defined(B)\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif", expect![[r#"
        f NIL
          Return(1)
    "#]]);
    check(
        "int f(int x) {\n#ifdef DEBUG\n x++;\n#elif 1\n x--;\n#else\n x = 3;\n#endif\n return x; }",
        expect![[r#"
        f [Declaration(x,int)]
          Decrement(x)
          Return(x)
    "#]],
    );
    check_with(
        "int f(int x) {\n#ifdef DEBUG\n x++;\n#endif\n return x; }",
        &[("DEBUG", "1")],
        expect![[r#"
        f [Declaration(x,int)]
          Increment(x)
          Return(x)
    "#]],
    );
    check(
        "#ifndef N\n#define N 7\n#endif\nint f(void) { return N; }",
        expect![[r#"
        f NIL
          Return(7)
    "#]],
    );
    check(
        "#include \"mine.h\"\n#ifndef N\n#define N 7\n#endif\nint f(void) { return N; }",
        expect![[r#"
            f NIL
              Return(Reject(Unread,"the macro `N` is unknown: it depends on `#ifndef N`"))
            ! Unread at `N`: the macro `N` is unknown: it depends on `#ifndef N`
        "#]],
    );
    check("#include \"mine.h\"\n#ifdef FLOAT\ntypedef float real;\n#else\ntypedef double real;\n#endif\nreal f(real x) { return x; }", expect![[r#"
        f [Declaration(x,real)]
          Return(x)
        !! Conditional at `#ifdef FLOAT`: this condition is not known here, so what stands under it may or may not be there (#ifdef FLOAT)
    "#]]);
    check(
        "#include \"mine.h\"\nint f(int x) {\n#ifdef FAST\n x++;\n#else\n x--;\n#endif\n return x; }",
        expect![[r#"
        f [Declaration(x,int)]
          Reject(Conditional,"the condition `#ifdef FAST` is not known here")
          Return(x)
        ! Conditional at `#ifdef FAST⏎ x++;⏎#else⏎ x--;⏎#endif`: the condition `#ifdef FAST` is not known here
    "#]],
    );
    check("#include \"mine.h\"\nint f(int n, int *a) {\n#ifdef FAST\n for (int i = 0; i < n; i++) {\n#else\n for (int i = n; i > 0; i--) {\n#endif\n a[i] = 1; } return 0; }\nint g(void) { return 1; }", expect![[r#"
        Program(Reject(Conditional,"the condition `#ifdef FAST` is not known here, and its arms do not hold whole statements"))
        ! Conditional at `int f(int n, int *a) {⏎#ifdef FAST⏎ for (int i = 0; i < n; i++) {⏎#else⏎ for (int i = n; i > 0; i--) {⏎#endif⏎ a[i] = 1; } return 0; }`: the condition `#ifdef FAST` is not known here, and its arms do not hold whole statements
        g NIL
          Return(1)
    "#]]);
    check(
        "int f(int n) {\n#ifdef X\n if (n) {\n#else\n while (n) {\n#endif\n n--; } return n; }",
        expect![[r#"
        f [Declaration(n,int)]
          While(n,[Decrement(n)])
          Return(n)
    "#]],
    );
    check("#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\nint g(void) { return f(); }", expect![[r#"
        g NIL
          Return(MethodCall(f))
    "#]]);
    check(
        "#if 0\ngarbage ((({\n#endif\nint f(void) { return 1; }",
        expect![[r#"
        f NIL
          Return(1)
    "#]],
    );
    check(
        "#include <math.h>\n#ifndef M_PI\n#define M_PI 3\n#endif\ndouble f(void) { return M_PI; }",
        expect![[r#"
        f NIL
          Return(3.141592653589793)
    "#]],
    );
}

#[test]
fn what_comes_out_of_a_macro_says_so() {
    let text = "#define SQ(x) ((x)*(x))\n#define N 4\nint f(int a) { return SQ(a) + N * a; }";
    let u = unit_as(Language::C, text, &[]);
    let item = &u.items[0];
    let b = &item.body;
    let mut out = String::new();
    for t in b.walk(common::statements(b)[0]) {
        let place = &text[b.span(t).shifted(item.span.start).range()];
        let from = if b.origin(t) == Origin::Macro { "macro" } else { "source" };
        out += &format!("{} `{}` {}\n", term::notation::print(b, t), place, from);
    }
    expect![[r#"
        Return(a*a+4*a) `return SQ(a) + N * a;` source
        a*a+4*a `SQ(a) + N * a` source
        a*a `SQ(a)` macro
        a `SQ(a)` macro
        a `SQ(a)` macro
        4*a `N * a` source
        4 `N` macro
        a `a` source
    "#]]
    .assert_eq(&out);
}
