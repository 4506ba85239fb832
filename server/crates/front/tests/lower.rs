//! Statements and declarations of C as terms.

mod common;

use common::{show, unit};
use expect_test::{expect, Expect};

fn check(statements: &str, expect: Expect) {
    let text = format!("void f(int n, int m, double *a, double b[n][m]) {{ {statements} }}");
    let shown = show(&text, &unit(&text));
    let (_, rest) = shown.split_once('\n').unwrap_or(("", ""));
    let lines: String = rest.lines().map(|l| format!("{}\n", l.trim_start())).collect();
    expect.assert_eq(&lines);
}

fn check_file(text: &str, expect: Expect) {
    expect.assert_eq(&show(text, &unit(text)));
}

#[test]
fn loops() {
    check(
        "for (int i = 0; i < n; i++) a[i] = 2 * a[i];",
        expect![[r#"
          For(DeclarationAssignment(i,int,0),i<n,Increment(i),[Assignment(ArrayElement(a,i),2*ArrayElement(a,i))])
    "#]],
    );
    check(
        "int i; for (i = n - 1; i >= 0; i -= 2) { a[i] += 1; }",
        expect![[r#"
          Declaration(i,int)
          For(Assignment(i,n-1),i>=0,MinusAssignment(i,2),[PlusAssignment(ArrayElement(a,i),1)])
    "#]],
    );
    check(
        "for (;;) { if (n) break; else continue; }",
        expect![[r#"
          For(Empty,Empty,Empty,[If(n,[Break],[Continue])])
    "#]],
    );
    check(
        "for (int i = 0, j = n; i != j; ++i, j--) ;",
        expect![[r#"
          For([DeclarationAssignment(i,int,0),DeclarationAssignment(j,int,n)],NotEquals(i,j),Comma(PreIncrement(i),Decrement(j)),NIL)
    "#]],
    );
    check(
        "while (n--) { } do m <<= 1; while (m < n);",
        expect![[r#"
          While(Decrement(n),NIL)
          DoWhile([LShiftAssignment(m,1)],m<n)
    "#]],
    );
    check(
        "for (long i = 0; i < n; i++) for (long j = i; j <= m; j++) b[i][j] = b[j][i];",
        expect![[r#"
          For(DeclarationAssignment(i,long,0),i<n,Increment(i),[For(DeclarationAssignment(j,long,i),j<=m,Increment(j),[Assignment(ArrayElement(ArrayElement(b,i),j),ArrayElement(ArrayElement(b,j),i))])])
    "#]],
    );
    check(
        "again: if (n > 0) { n--; goto again; }",
        expect![[r#"
          Label(again)
          If(n>0,[Decrement(n),Goto(again)])
    "#]],
    );
    check(
        "switch (n) { case 1: case 2: m = 1; break; default: m = 0; case 3 + 1: { n = 2; } }",
        expect![[r#"
          Switch(n,[Case(1),Case(2),Assignment(m,1),Break,Default,Assignment(m,0),Case(3+1),[Assignment(n,2)]])
    "#]],
    );
    check(
        "if (n) m = 1; else if (m) n = 1; else { n = m = 0; }",
        expect![[r#"
          If(n,[Assignment(m,1)],[If(m,[Assignment(n,1)],[Assignment(n,Assignment(m,0))])])
    "#]],
    );
    check(
        "return;",
        expect![[r#"
          Return
    "#]],
    );
}

#[test]
fn expressions() {
    check(
        "n = m ? n : m, n; (void) n; a[0] = -n + ~m * !n;",
        expect![[r#"
          Comma(Assignment(n,Select(m,n,m)),n)
          Cast(void,n)
          Assignment(ArrayElement(a,0),(-n)+(~m)*Not(n))
    "#]],
    );
    check(
        "*a = *(a + 1); a = &b[1][2]; n[a] = 0;",
        expect![[r#"
          Assignment(Deref(a),Deref(a+1))
          Assignment(a,AddressOf(ArrayElement(ArrayElement(b,1),2)))
          Assignment(ArrayElement(a,n),0)
    "#]],
    );
    check(
        "n = m++ + --m; n %= 3; n ^= m & 1 | 2;",
        expect![[r#"
          Assignment(n,Increment(m)+PreDecrement(m))
          ModAssignment(n,3)
          BitXorAssignment(n,m&1|2)
    "#]],
    );
    check(
        "n = sizeof(int) + sizeof n + sizeof b + sizeof(double[3]) + sizeof b[0];",
        expect![[r#"
          Assignment(n,4+4+8+24+SizeOf(ArrayElement(b,0)))
    "#]],
    );
    check(
        "char *s = \"a\\n\" \"b\"; n = 'x'; a = NULL;",
        expect![[r#"
          DeclarationAssignment(s,`char*`,"a\nb")
          Assignment(n,120)
          Assignment(a,Cast(`void*`,0))
    "#]],
    );
    check(
        "n = (n < m) == (n && m || !n);",
        expect![[r#"
          Assignment(n,Equals(n<m,Or(And(n,m),Not(n))))
    "#]],
    );
    check(
        "n = ((n)) + (m); n = (int) (unsigned char) m;",
        expect![[r#"
          Assignment(n,n+m)
          Assignment(n,Cast(int,Cast(`unsigned char`,m)))
    "#]],
    );
    check(
        "a[0] = sqrt(2) + fabsf(1.5f) + pow(a[0], 2); n = abs(m);",
        expect![[r#"
          Assignment(ArrayElement(a,0),MethodCall(sqrt,2)+MethodCall(fabsf,1.5)+MethodCall(pow,ArrayElement(a,0),2))
          Assignment(n,MethodCall(abs,m))
    "#]],
    );
}

#[test]
fn declarations() {
    check(
        "int x, *p = &x, v[3] = {1, 2, 3}, w[] = {1, 2}; const double c = 1;",
        expect![[r#"
          Declaration(x,int)
          DeclarationAssignment(p,`int*`,AddressOf(x))
          DeclarationAssignment(v,`int[3]`,InitList(1,2,3))
          DeclarationAssignment(w,`int[2]`,InitList(1,2))
          DeclarationAssignment(c,`const double`,1)
    "#]],
    );
    check(
        "static int count = 0; extern int shared; unsigned long long u; char s[] = \"abc\";",
        expect![[r#"
          DeclarationAssignment(count,int,0)
          Declaration(shared,int)
          Declaration(u,`unsigned long long`)
          DeclarationAssignment(s,`char[4]`,"abc")
    "#]],
    );
    check(
        "struct { int a, b; } s; s.a = 1; s.b = s.a;",
        expect![[r#"
          Declaration(s,`struct <anonymous 3dc1c65f182cf74c.1>`)
          Assignment(Dot(s,a),1)
          Assignment(Dot(s,b),Dot(s,a))
    "#]],
    );
    check(
        "double vla[n][m + 1]; vla[0][0] = 1;",
        expect![[r#"
          Declaration(vla,`double[?][?]`)
          Assignment(ArrayElement(ArrayElement(vla,0),0),1)
    "#]],
    );
    check(
        "typedef float real; real r = (real) 1; real *q = (real *) a; r = (real) -r * 2;",
        expect![[r#"
          DeclarationAssignment(r,float,Cast(float,1))
          DeclarationAssignment(q,`float*`,Cast(`float*`,a))
          Assignment(r,Cast(float,-r)*2)
    "#]],
    );
    // what stands behind a cast in parentheses is no cast of what follows
    check(
        "typedef unsigned long size; a[(size) (n) + (size) m * (size) (n)] = (double) (n) - m; a[n] = *((double *) (a) + m);",
        expect![[r#"
          Assignment(ArrayElement(a,Cast(`unsigned long`,n)+Cast(`unsigned long`,m)*Cast(`unsigned long`,n)),Cast(double,n)-m)
          Assignment(ArrayElement(a,n),Deref(Cast(`double*`,a)+m))
    "#]],
    );
    check(
        "int (*g)(int) = 0; g(1); (*g)(2); int h(double);",
        expect![[r#"
          DeclarationAssignment(g,`int()*`,0)
          MethodCall(g,1)
          MethodCall(Deref(g),2)
    "#]],
    );
    check(
        "enum { A, B = 4, C }; n = A + B + C;",
        expect![[r#"
          Assignment(n,A+B+C)
    "#]],
    );
    check_file("typedef struct node { struct node *next; int v; } node_t; int f(node_t *p) { int s = 0; for (; p; p = p->next) s += p->v; return s; }", expect![[r#"
        f [Declaration(p,`struct node*`)]
          DeclarationAssignment(s,int,0)
          For(Empty,p,Assignment(p,Arrow(p,next)),[PlusAssignment(s,Arrow(p,v))])
          Return(s)
    "#]]);
    check_file("static const int N = 3, M[2][2] = {{1, 2}, {3, 4}}; extern double g[]; double g[10]; int f(void) { return N + M[0][1] + (int) g[1]; }", expect![[r#"
        Program(DeclarationAssignment(N,`const int`,3),DeclarationAssignment(M,`const int[2][2]`,InitList(InitList(1,2),InitList(3,4))))
        Program(Declaration(g,`double[]`))
        Program(Declaration(g,`double[10]`))
        f NIL
          Return(N+ArrayElement(ArrayElement(M,0),1)+Cast(int,ArrayElement(g,1)))
    "#]]);
    check_file("inline static int __attribute__((noinline)) f(register int a, const volatile int *restrict p) { return a + *p; }", expect![[r#"
        f [Declaration(a,int),Declaration(p,`const volatile int* restrict`)]
          Return(a+Deref(p))
    "#]]);
    check_file(
        "int x; void f() { { int x; x = 1; } x = 2; for (int x = 0; x < 3; x++) { int x = 5; x++; } }",
        expect![[r#"
        Program(Declaration(x,int))
        f NIL
          [Declaration(x,int),Assignment(x,1)]
          Assignment(x,2)
          For(DeclarationAssignment(x,int,0),x<3,Increment(x),[DeclarationAssignment(x,int,5),Increment(x)])
    "#]],
    );
}

#[test]
fn type_names_may_be_names_of_something_else() {
    check_file(
        "typedef int len; struct s { len len; }; int f(struct s *p, int uint) { len a = p->len; { int len = 3; a = len * uint + (len) - 1; } return (len) a; }",
        expect![[r#"
            f [Declaration(p,`struct s*`),Declaration(uint,int)]
              DeclarationAssignment(a,int,Arrow(p,len))
              [DeclarationAssignment(len,int,3),Assignment(a,len*uint+len-1)]
              Return(Cast(int,a))
        "#]],
    );
}

#[test]
fn what_is_not_followed_is_said() {
    check(
        "LOCK; UNLOCK(a); _Pragma(\"omp parallel\") n = 1;",
        expect![[r#"
            Reject(Macro,"`LOCK` may be a macro of a header that was not read",LOCK)
            Reject(Unread,"`UNLOCK` may be a macro of a header that was not read",a)
            Assignment(n,1)
            ! Macro at `LOCK;`: `LOCK` may be a macro of a header that was not read
            ! Unread at `UNLOCK(a)`: `UNLOCK` may be a macro of a header that was not read
        "#]],
    );
    check(
        "struct { unsigned b : 3; int c; } s; n = s.b - 5; m = s.c;",
        expect![[r#"
        Declaration(s,`struct <anonymous 77ad5f988e811743.1>`)
        Assignment(n,Dot(s,b)-5)
        Assignment(m,Dot(s,c))
    "#]],
    );
    check(
        "asm volatile(\"nop\"); n = ({ int t = 1; t; });",
        expect![[r#"
            Reject(Unsupported,"inline assembly is not followed")
            Assignment(n,Reject(Unsupported,"a statement expression with statements in it is not followed",[DeclarationAssignment(t,int,1),t]))
            ! Unsupported at `asm volatile("nop")`: inline assembly is not followed
            ! Unsupported at `{ int t = 1; t; }`: a statement expression with statements in it is not followed
        "#]],
    );
    check(
        "struct p { int x; } q = (struct p){1}; int v[4] = {[2] = 1};",
        expect![[r#"
            DeclarationAssignment(q,`struct p`,Reject(Unsupported,"an object without a name (a compound literal) is not followed",InitList(1)))
            DeclarationAssignment(v,`int[4]`,InitList(0,0,1))
            ! Unsupported at `(struct p){1}`: an object without a name (a compound literal) is not followed
        "#]],
    );
    check(
        "void *l = &&x; goto *l; x: n = 1;",
        expect![[r#"
            DeclarationAssignment(l,`void*`,Reject(Unsupported,"addresses of labels are not followed"))
            Reject(Syntax,"the parser reports an error here")
            Label(x)
            Assignment(n,1)
            ! Unsupported at `&&x`: addresses of labels are not followed
            ! Syntax at `goto *l;`: the parser reports an error here
        "#]],
    );
    check(
        "int g(int z) { return z; } n = g(1);",
        expect![[r#"
            Reject(Unsupported,"nested functions are not followed")
            Assignment(n,MethodCall(Reject(Unsupported,"the declaration of `g` was not understood"),1))
            ! Unsupported at `int g(int z) { return z; }`: nested functions are not followed
            ! Unsupported at `g`: the declaration of `g` was not understood
        "#]],
    );
    check(
        "n = 1 +; m = 2;",
        expect![[r#"
            Reject(Syntax,"the parser reports an error here")
            Assignment(m,2)
            ! Syntax at `n = 1 +;`: the parser reports an error here
        "#]],
    );
    check(
        "for (int i = 0; i < n i++) { a[i] = 1; } n = 2;",
        expect![[r#"
            Reject(Syntax,"the parser reports an error here")
            Assignment(n,2)
            ! Syntax at `for (int i = 0; i < n i++) { a[i] = 1; }`: the parser reports an error here
        "#]],
    );
    check(
        "for (int i = 0; i < n; i++) { a[i] = ; a[i] = 2; }",
        expect![[r#"
            For(DeclarationAssignment(i,int,0),i<n,Increment(i),[Reject(Syntax,"the parser reports an error here"),Assignment(ArrayElement(a,i),2)])
            ! Syntax at `a[i] = ;`: the parser reports an error here
        "#]],
    );
    check(
        "switch (n) { case 1 ... 3: m = 1; }",
        expect![[r#"
            Switch(n,[Case(1),Case(2),Case(3),Assignment(m,1)])
        "#]],
    );
    check(
        "n = L'x' + 'ab'; _Complex double z; ",
        expect![[r#"
            Assignment(n,Reject(Unsupported,"this constant's value is not understood")+Reject(Unsupported,"this constant's value is not understood"))
            Reject(Syntax,"the parser reports an error in this declaration")
            ! Unsupported at `L'x'`: this constant's value is not understood
            ! Unsupported at `'ab'`: this constant's value is not understood
            ! Syntax at `_Complex double z;`: the parser reports an error in this declaration
        "#]],
    );
    check(
        "unknown_t x; unknown_t *y = (unknown_t *) a; n = (unknown_t) - m; n = (unknown_t)(m);",
        expect![[r#"
            Declaration(x,unknown_t)
            DeclarationAssignment(y,`unknown_t*`,Cast(`unknown_t*`,a))
            Assignment(n,Reject(Unsupported,"a name in parentheses that is declared nowhere here may be a type",unknown_t))
            Assignment(n,Reject(Unsupported,"a name in parentheses that is declared nowhere here may be a type",unknown_t,m))
            ! Unsupported at `(unknown_t) - m`: a name in parentheses that is declared nowhere here may be a type
            ! Unsupported at `(unknown_t)(m)`: a name in parentheses that is declared nowhere here may be a type
        "#]],
    );
    check_file(
        "int f(a, b) int a; double b; { return a; }\nint g(void) { return 1; }",
        expect![[r#"
            f [Declaration(a,int),Declaration(b,double)]
              Return(a)
            g NIL
              Return(1)
        "#]],
    );
    check_file(
        "void k(double POLYBENCH_2D(A,N,M,n,m), int n) { A[0][0] = n; }",
        expect![[r#"
            k [Declaration(POLYBENCH_2D,`double POLYBENCH_2D ( A , N , M , n , m )`),Declaration(n,int)]
              Reject(Macro,"this parameter's declaration is not understood")
              Assignment(ArrayElement(ArrayElement(A,0),0),n)
            ! Macro at `double POLYBENCH_2D(A,N,M,n,m)`: this parameter's declaration is not understood
        "#]],
    );
    check_file(
        "typedef float v4 __attribute__((vector_size(16)));\nv4 f(v4 x) { return x; }",
        expect![[r#"
        Program(Reject(Syntax,"the parser reports an error here"))
        ! Syntax at `typedef float v4 __attribute__((vector_size(16)));`: the parser reports an error here
        f [Declaration(x,v4)]
          Return(x)
    "#]],
    );
    check_file(
        "DECLARE_THING(a)\nint f(void) { return 1; }\nDECLARE_THING(b);",
        expect![[r#"
        Program(Reject(Macro,"`DECLARE_THING` may be a macro that is not defined here"))
        ! Macro at `DECLARE_THING(a)`: `DECLARE_THING` may be a macro that is not defined here
        f NIL
          Return(1)
        Program(Reject(Macro,"a macro that is not defined in this file seems to stand here"))
        ! Macro at `DECLARE_THING(b);`: a macro that is not defined in this file seems to stand here
    "#]],
    );
    check_file(
        "int f(void) { if (1) { return 2;\n\nint g(void) { return 3; }\n",
        expect![[r#"
        f NIL
          If(1,[Return(2)])
          Reject(Syntax,"a closing brace is missing")
        ! Syntax at `;`: a closing brace is missing
        g NIL
          Return(3)
    "#]],
    );
    check_file(
        "} int f(void) { return 1; } }",
        expect![[r#"
        f NIL
          Return(1)
        !! Syntax at `}`: this closing brace closes nothing
        !! Syntax at `}`: this closing brace closes nothing
    "#]],
    );
}
