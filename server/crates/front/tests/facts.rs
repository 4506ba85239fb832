//! Types, symbols, marks, items: what stands beside the terms.

mod common;

use common::{body, statements, type_of, unit, unit_as};
use expect_test::{expect, Expect};
use front::{
    detect, item_at, loop_header_span, lower, term_at, DirectiveKind, Language, Memo, Options, Parsed,
};
use term::{Op, Storage};

/// The type of each expression statement.
fn check_types(declarations: &str, expressions: &[(&str, &str)]) {
    let list: String = expressions.iter().map(|(e, _)| format!("({e});\n")).collect();
    let text = format!("{declarations}\nvoid test_fn(void) {{\n{list}}}");
    let u = unit(&text);
    let b = body(&u, "test_fn");
    for (&s, (e, want)) in statements(b).iter().zip(expressions) {
        assert_eq!(&type_of(b, s), want, "{e}");
    }
    assert_eq!(statements(b).len(), expressions.len());
}

#[test]
fn expressions_have_the_types_of_c11() {
    check_types(
        "char c; short s; unsigned short us; int i; unsigned u; long l; unsigned long ul; long long ll; float f; double d;\
         long double ld; _Bool b; int *p; const double a[3][4]; struct p { int x; const float y; } t, *tp; int (*fp)(double);\
         void *v; size_t z; int8_t i8; uint32_t u32;",
        &[
            ("c + c", "int"),
            ("us << 1l", "int"),
            ("i + u", "unsigned int"),
            ("l + u", "long"),
            ("ul + ll", "unsigned long long"),
            ("i * f", "float"),
            ("f + d", "double"),
            ("d + ld", "long double"),
            ("i < d", "int"),
            ("!d", "int"),
            ("~b", "int"),
            ("-c", "int"),
            ("-f", "float"),
            ("b ? i : l", "long"),
            ("c = d", "char"),
            ("us += 1", "unsigned short"),
            ("c++", "char"),
            ("p + 1", "int*"),
            ("1 + p", "int*"),
            ("p - p", "long"),
            ("*p", "int"),
            ("&i", "int*"),
            ("a[1][2]", "const double"),
            ("a[1]", "const double[4]"),
            ("&a[1]", "const double[4]*"),
            ("*a", "const double[4]"),
            ("a + 1", "const double[4]*"),
            ("t.x", "int"),
            ("tp->y", "const float"),
            ("&t", "struct p*"),
            ("fp(1)", "int"),
            ("(*fp)(1)", "int"),
            ("sizeof i", "unsigned long"),
            ("(short) i", "short"),
            ("i, d", "double"),
            ("i ? p : 0", "int*"),
            ("i ? p : v", "void*"),
            ("i ? p : NULL", "int*"),
            ("sqrt(f)", "double"),
            ("sqrtf(d)", "float"),
            ("abs(c)", "int"),
            ("isnan(f)", "int"),
            ("lround(d)", "long"),
            ("malloc(3)", "void*"),
            ("strlen(v)", "unsigned long"),
            ("mystery(3)", "?"),
            ("mystery2 + 1", "?"),
            ("z + i", "unsigned long"),
            ("i8 + i8", "int"),
            ("u32 + i", "unsigned int"),
            ("'a'", "int"),
            ("\"abc\"", "char[4]"),
            ("0x80000000", "unsigned int"),
            ("2147483648", "long"),
            ("1.0f", "float"),
            ("INT_MAX", "int"),
            ("SIZE_MAX", "unsigned long"),
            ("d % i", "?"),
            ("u >> l", "unsigned int"),
        ],
    );
}

fn check_symbols(text: &str, expect: Expect) {
    let u = unit(text);
    let b = body(&u, "f");
    let mut out = String::new();
    for s in b.symbols.iter() {
        let ty = term::notation::type_text(&b.types, s.ty);
        let taken = if s.address_taken { " taken" } else { "" };
        out += &format!("{}: {ty} {:?}{taken}\n", s.name, s.storage);
    }
    expect.assert_eq(&out);
}

#[test]
fn symbols_and_their_scopes() {
    check_symbols(
        "int g; extern int e; static double s[3]; enum { K = 3 };\nint f(int a, double v[a]) { int x = g + e + K; { int x = s[0]; static int y; x += y; } return x + h(v) + w + sin(a); }",
        expect![[r#"
            f: int() Function
            a: int Param(0)
            v: double* Param(1)
            x: int Local
            g: int Global { defined_here: true, internal: false, constant: false }
            e: int Global { defined_here: false, internal: false, constant: false }
            K: int Constant(3)
            x: int Local
            s: double[3] Global { defined_here: true, internal: true, constant: false }
            y: int StaticLocal { kept: true }
            h: ? Undeclared
            w: ? Undeclared
            sin: double() Function
        "#]],
    );
    check_symbols(
        "void use(void *); struct t { int a[4]; int x; };\nvoid f(int n, int *p) { int a[4], b[4], c[4], d[4], e[4], x, y, z; struct t t, u; int *q = a; use(b); c[n] = 1; *d = *(d + 1); use(&e[1]); use(&x); y = z; use(&p[1]); use(&t.x); use(u.a); sizeof(z); }",
        expect![[r#"
            f: void() Function
            n: int Param(0)
            p: int* Param(1)
            a: int[4] Local taken
            b: int[4] Local taken
            c: int[4] Local
            d: int[4] Local
            e: int[4] Local taken
            x: int Local taken
            y: int Local
            z: int Local
            t: struct t Local taken
            u: struct t Local taken
            q: int* Local
            use: void() Function
            (*d): int Path taken
        "#]],
    );
}

#[test]
fn parameters_decay_and_keep_what_was_promised() {
    let u = unit("void f(int n, double a[n], double b[static 8], double c[const 3][n], int g(int), double *restrict d) {}");
    let b = body(&u, "f");
    let mut out = String::new();
    for s in b.symbols.iter() {
        if matches!(s.storage, Storage::Param(_)) {
            out += &format!("{} {:?}\n", s.name, b.types.get(s.ty));
        }
    }
    expect![[r#"
        n Type { kind: Int(Int), quals: Quals { is_const: false, is_volatile: false, is_restrict: false, is_atomic: false } }
        a Type { kind: Pointer { to: TypeId(3), declared: Term(TermId(0)), is_static: false }, quals: Quals { is_const: false, is_volatile: false, is_restrict: false, is_atomic: false } }
        b Type { kind: Pointer { to: TypeId(3), declared: Const(8), is_static: true }, quals: Quals { is_const: false, is_volatile: false, is_restrict: false, is_atomic: false } }
        c Type { kind: Pointer { to: TypeId(8), declared: Const(3), is_static: false }, quals: Quals { is_const: true, is_volatile: false, is_restrict: false, is_atomic: false } }
        g Type { kind: Pointer { to: TypeId(11), declared: Unknown, is_static: false }, quals: Quals { is_const: false, is_volatile: false, is_restrict: false, is_atomic: false } }
        d Type { kind: Pointer { to: TypeId(3), declared: Unknown, is_static: false }, quals: Quals { is_const: false, is_volatile: false, is_restrict: true, is_atomic: false } }
    "#]].assert_eq(&out);
}

#[test]
fn marks_and_other_words_addressed_to_us() {
    let text = "void f(int n, double *a) {\n#pragma ops target collapse(2)\nfor (int i = 0; i < n; i++) a[i] = 0;\n\
        // warpwright: offload(name) collapse(3)\nfor (int i = 0; i < n; i++) a[i] = 0; // warpwright: ignore[strided-access, x]\n\
        /* warpwright: launch(4, 256) */\n#pragma omp parallel for\n#pragma warpwright offload(k)\nfor (;;) { }\n\
        // warpwright: offload\nwhile (n) n--;\nchar *s = \"// warpwright: offload(no)\";\n// warpwright: ignore\n}\n";
    let u = unit(text);
    let b = body(&u, "f");
    let mut out = String::new();
    for l in b.loops(b.root) {
        let marks: Vec<String> = b.args(l).iter().skip(4).map(|&m| term::notation::print(b, m)).collect();
        out += &format!("{marks:?}\n");
    }
    for d in &u.directives {
        out += &format!("{} {:?}\n", d.line, d.kind);
    }
    expect![[r#"
        ["_MARK_CUDA(``,collapse(2))"]
        ["_MARK_CUDA(name,collapse(3))"]
        ["_MARK_CUDA(k)"]
        []
        1 Mark { name: None, collapse: Some(2), attached: true }
        3 Mark { name: Some("name"), collapse: Some(3), attached: true }
        4 Ignore(["strided-access", "x"])
        5 Other("launch", "4, 256")
        6 Foreign("omp parallel for")
        7 Mark { name: Some("k"), collapse: None, attached: true }
        9 Mark { name: None, collapse: None, attached: false }
        12 Ignore([])
    "#]]
    .assert_eq(&out);
    assert!(matches!(u.directives[0].kind, DirectiveKind::Mark { attached: true, .. }));
}

/// What is promised of each loop, and of the function.
fn promised(text: &str) -> String {
    let u = unit(text);
    let b = body(&u, "f");
    let loops: Vec<term::TermId> = b.loops(b.root).collect();
    let mut out = String::new();
    for p in &b.said.promises {
        let of =
            p.of.map_or("f".to_owned(), |l| format!("loop {}", loops.iter().position(|&t| t == l).unwrap()));
        let terms: Vec<String> = p.says.terms().map(|t| term::notation::print(b, t)).collect();
        let words = match &p.says {
            term::Promised::Pure(f) => format!("Pure {}", b.symbols[*f].name),
            term::Promised::Not(why) => format!("Not: {why}"),
            says => format!("{} {}", format!("{says:?}").split([' ', '(']).next().unwrap(), terms.join(" ")),
        };
        out += &format!("{of} {}: {words}\n", p.number);
    }
    out
}

#[test]
fn promises_are_read_in_the_scope_of_their_loop() {
    let text = "#define N 8\nstruct s { int *col; int n; };\ndouble g(double);\n\
        // warpwright: assume(size(x) = n * N, pure(g))\n\
        void f(int n, const struct s *s, double *x) {\n\
        int m = n; // warpwright: assume(in-range(s->col, 0, m + s->n))\n\
        /* warpwright: assume(injective(s->col),\n   no-alias(x, s->col)) */\n#pragma omp parallel for\n// warpwright: offload\n\
        for (int i = 0; i < n; i++) x[s->col[i]] = g(i);\n\
        // warpwright: assume(size(x) = i)\nwhile (m--) x[m] = 0;\n}\n";
    expect![[r#"
        f 0: Size x n*8
        f 1: Pure g
        loop 0 0: InRange Arrow(s,col) 0 m+Arrow(s,n)
        loop 0 1: Injective Arrow(s,col)
        loop 0 2: NoAlias x Arrow(s,col)
        loop 1 0: Not: `i` is not declared where the comment stands
    "#]]
    .assert_eq(&promised(text));
    // the comment before the function is not in its text
    let mut memo = front::Memo::new();
    let lowered = |memo: &mut front::Memo, text: &str| {
        let parsed = front::Parsed::parse(front::Language::C, text);
        let u = front::lower(&parsed, &Default::default(), memo);
        format!("{:?}", body(&u, "f").said.promises.len())
    };
    assert_eq!(lowered(&mut memo, text), "6");
    assert_eq!(lowered(&mut memo, &text.replace(", pure(g))", ")")), "5");
    let plain = "void f(int n, double *x) {\nfor (int i = 0; i < n; i++) x[i] = 0;\n}\n";
    assert_eq!(lowered(&mut memo, plain), "0");
    assert_eq!(lowered(&mut memo, &format!("// warpwright: assume(size(x) = n)\n{plain}")), "1");
    assert_eq!(
        lowered(
            &mut memo,
            &format!("// warpwright: assume(size(x) = n)\n{}", plain.replace("= 0;\n", "= 1;\n"))
        ),
        "1"
    );
    assert_eq!(lowered(&mut memo, &plain.replace("for", "// warpwright: assume(size(x) = n)\nfor")), "1");
}

#[test]
fn places() {
    let text = "int z;\nvoid f(int n, double *a) { for (int i = 0; i < n; i++) { a[i] = a[i] + 1; } while (n) { } do n--; while (n); }";
    let u = unit(text);
    let item = item_at(&u, text.find("a[i]").unwrap() as u32).unwrap();
    assert_eq!(&*item.name, "f");
    let b = &item.body;
    let s = |span: base::Span| &text[span.shifted(item.span.start).range()];
    let heads: Vec<&str> = b.loops(b.root).map(|l| s(loop_header_span(b, l))).collect();
    assert_eq!(heads, ["for (int i = 0; i < n; i++)", "while (n)", "do"]);
    let at = text.rfind("a[i]").unwrap() as u32 - item.span.start;
    let t = term_at(b, at).unwrap();
    assert!(matches!(b.op(t), Op::Sym(_)));
    assert_eq!(s(b.span(t)), "a");
    let all: Vec<&str> = b
        .walk(b.root)
        .filter(|&t| matches!(b.op(t), Op::Binary(_) | Op::Assign | Op::Index))
        .map(|t| s(b.span(t)))
        .collect();
    assert_eq!(all, ["i < n", "a[i] = a[i] + 1", "a[i]", "a[i] + 1", "a[i]"]);
}

#[test]
fn languages() {
    let k = "__global__ void k() {}";
    assert_eq!(detect("a.c", None, "int x;"), Some(Language::C));
    assert_eq!(detect("a.c", Some("c"), k), Some(Language::Cuda));
    assert_eq!(detect("a.h", Some("cpp"), "// __global__\nint x; // <<<"), Some(Language::C));
    assert_eq!(detect("a.cu", None, ""), Some(Language::Cuda));
    assert_eq!(detect("dir.c/a.cpp", Some("cpp"), "int x;"), Some(Language::Cpp));
    assert_eq!(detect("a.cpp", Some("cpp"), "void h() { k<<<1, 2>>>(); }"), Some(Language::Cuda));
    assert_eq!(detect("untitled", Some("cuda-cpp"), ""), Some(Language::Cuda));
    assert_eq!(detect("a.cs", Some("c"), ""), Some(Language::CSharp));
    assert_eq!(detect("a.py", Some("python"), k), None);
    assert_eq!(unit_as(Language::CSharp, "class A {}", &[]).rejects.len(), 0);
}

#[test]
fn cuda() {
    let text = "#include <cuda.h>\nextern \"C\" {\n__device__ float sq(float x) { return sqrt(x) * x; }\n\
        __constant__ float table[4];\n\
        __global__ void __launch_bounds__(128) k(const double* __restrict__ a, double *o, long long n) {\n\
        __shared__ double s[256]; extern __shared__ float dyn[];\n\
        long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n\
        if (i < n && n > (3)) s[threadIdx.x] = a[i];\n__syncthreads();\n\
        double v = __shfl_down_sync(0xffffffffu, s[0], 16); atomicAdd(&o[0], v); float q = sq(dyn[0]) + table[1]; bool b = true; }\n}\n\
        void host(double *a) { dim3 g(2, 3); k<<<g, dim3(16, 16)>>>(a, a, 1); k<<<1, 2, 3, 0>>>(a, a, 1); }\n\
        int c(double v) { return static_cast<int>(v); }\nint d(int x) { int &y = x; return y; }\n\
        template <typename T> T id(T x) { return x; }\n";
    let u = unit_as(Language::Cuda, text, &[]);
    let mut out = String::new();
    for i in &u.items {
        out += &format!(
            "{} kernel={} device={} host={} bounds={:?}\n",
            i.name, i.is_kernel, i.is_device, i.is_host, i.launch_bounds
        );
    }
    let b = body(&u, "k");
    for s in b.symbols.iter() {
        out += &format!("{}: {} {:?}\n", s.name, term::notation::type_text(&b.types, s.ty), s.storage);
    }
    out += &common::show(text, &u);
    expect![[r#"
        sq kernel=false device=true host=false bounds=None
        table kernel=false device=false host=true bounds=None
        k kernel=true device=false host=false bounds=Some(128)
        host kernel=false device=false host=true bounds=None
        c kernel=false device=false host=true bounds=None
        d kernel=false device=false host=true bounds=None
        id<int> kernel=false device=false host=true bounds=None
        k: void() Function
        a: const double* restrict Param(0)
        o: double* Param(1)
        n: long long Param(2)
        s: double[256] Shared
        dyn: float[] Shared
        i: long long Local
        blockIdx: struct uint3 Builtin
        blockDim: struct dim3 Builtin
        threadIdx: struct uint3 Builtin
        __syncthreads: void() Function
        v: double Local
        __shfl_down_sync: double() Function
        atomicAdd: double() Function
        q: float Local
        sq: float() Function
        table: float[4] Global { defined_here: true, internal: false, constant: true }
        b: _Bool Local
        sq [Declaration(x,float)]
          Return(MethodCall(sqrt,x)*x)
        Program(Declaration(table,`float[4]`))
        k [Declaration(a,`const double* restrict`),Declaration(o,`double*`),Declaration(n,`long long`)]
          Declaration(s,`double[256]`)
          Declaration(dyn,`float[]`)
          DeclarationAssignment(i,`long long`,Cast(`long long`,Dot(blockIdx,x))*Dot(blockDim,x)+Dot(threadIdx,x))
          If(And(i<n,n>3),[Assignment(ArrayElement(s,Dot(threadIdx,x)),ArrayElement(a,i))])
          MethodCall(__syncthreads)
          DeclarationAssignment(v,double,MethodCall(__shfl_down_sync,4294967295,ArrayElement(s,0),16))
          MethodCall(atomicAdd,AddressOf(ArrayElement(o,0)),v)
          DeclarationAssignment(q,float,MethodCall(sq,ArrayElement(dyn,0))+ArrayElement(table,1))
          DeclarationAssignment(b,_Bool,1)
        host [Declaration(a,`double*`)]
          DeclarationAssignment(g,`struct dim3`,MethodCall(dim3,2,3))
          CallKernel(Shape(g,MethodCall(dim3,16,16),Empty,Empty),k,[a,a,1])
          CallKernel(Shape(1,2,3,0),k,[a,a,1])
        c [Declaration(v,double)]
          Return(Cast(int,v))
        d [Declaration(x,int)]
          DeclarationAssignment(y,`int*`,AddressOf(x))
          Return(Deref(y))
        id<int> [Declaration(x,int)]
          Return(x)
    "#]].assert_eq(&out);
}

#[test]
fn an_edit_costs_the_item_it_is_in() {
    let one = "#define N 3\nint g;\nint f(int a) { return a + N; }\nint h(void) { return f(g); }\n";
    let options = Options::default();
    let same = |text: &str| -> Vec<bool> {
        let mut memo = Memo::new();
        let old = Parsed::parse(Language::C, one);
        let a = lower(&old, &options, &mut memo);
        let b = lower(&old.reparse(&[], text), &options, &mut memo);
        let was = |x: &front::Item| a.items.iter().any(|y| std::sync::Arc::ptr_eq(&x.body, &y.body));
        b.items.iter().map(was).collect()
    };
    assert_eq!(same(&one.replace("a + N", "a - N")), [true, false, true]);
    assert_eq!(same(&one.replace("int g;", "\n\n/* c */ int g;")), [true, true, true]);
    assert_eq!(same(&one.replace("int a", "long a")), [true, false, false]);
    assert_eq!(same(&one.replace("N 3", "N 4")), [false, false, false]);
    assert_eq!(same(&one.replace("int g", "long g")), [false, false, false]);
}

#[test]
fn words_of_comments_and_literals_are_no_loops() {
    let first = |text: &str| Language::Cpp.first_loop(text);
    assert_eq!(first("// options for (base)\n/* do { } */ f(\"for (;;)\", '\\'', \"\\\"\");"), None);
    assert_eq!(first("x = wait_for(3); // \u{e9}"), None);
    assert_eq!(first("/* \u{e9} */ for (;;)"), Some(9));
    assert_eq!(first("do { } while (x)"), Some(0));
    assert_eq!(first("'\\\u{e9}"), None);
    assert_eq!(first("/*"), None);
    assert_eq!(Language::CSharp.first_loop("foreach (var x in y)"), Some(0));
}

#[test]
fn statics_that_hold_nothing_between_calls() {
    let cases = [
        // written first, on every way
        ("static int i; for (i = 0; i < n; ++i) a[i] = i; return i;", false),
        ("static int i; i = n; do { a[i] = 0; } while (--i > 0); return i;", false),
        ("static int i; if (n) i = 1; else i = 2; return i;", false),
        ("static int i; if (n) i = 1; else return 0; return i;", false),
        ("static int i; while (1) { i = n; if (i) break; } return i;", false),
        ("static int i; for (;;) { i = n; if (i > 3) break; n++; } return i;", false),
        ("static int i; n && (i = n); i = 2; return i;", false),
        ("static int i; i = 0; goto out; out: i = 1; return i;", false),
        ("static int i; i = sqrt(n); return i;", false),
        ("static int i; i = n; n = (int)sqrt(n); return i;", false),
        ("static int i; g(n); i = n; return i;", false),
        ("int k; for (k = 0; k < n; k++) { static int i; i = k; a[i] = 0; } return 0;", false),
        // read before it is written, on some way
        ("static int i; return i;", true),
        ("static int i = 3; a[i] = 0; i = 4; return i;", true),
        ("static int i; for (; i < n; ++i) a[i] = i; return 0;", true),
        ("static int i; if (n) i = 1; return i;", true),
        ("static int i; while (n--) i = n; return i;", true),
        ("static int i; for (int k = 0; k < n; k++) { if (k) a[k] = i; i = k; } return 0;", true),
        ("static int i; while (n--) { if (n > 3) continue; i = n; } return i;", true),
        ("static int i; do { if (n) break; i = 1; } while (n--); return i;", true),
        ("static int i; n && (i = n); return i;", true),
        ("static int i; i += n; return 0;", true),
        ("static int i; i++; return 0;", true),
        ("static int i; i = 0; if (n) goto out; i = 1; out: return i;", true),
        ("static int i; switch (n) { case 1: i = 1; break; default: i = 2; } return i;", true),
        ("int k; for (k = 0; k < n; k++) { static int i; a[k] = i; i = k; } return 0;", true),
        ("static int i; { int v[i + 1]; v[0] = n; n = v[0]; } i = n; return i;", true),
        ("static int i; n = sizeof(int[i]); i = n; return i;", true),
        // a call in between may run the function once more
        ("static int i; i = n; g(n); return i;", true),
        ("static int i; for (i = 0; i < n; ++i) g(i); return 0;", true),
        // others reach it, or may change it
        ("static int i; int *p = &i; i = n; *p = 2; return i;", true),
        ("static volatile int i; i = n; return i;", true),
        (
            "static int i; i = n;\n#pragma omp parallel for\nfor (int k = 0; k < n; k++) a[k] = i; return i;",
            true,
        ),
    ];
    for (text, want) in cases {
        let u = unit(&format!("int g(int); double sqrt(double);\nint f(int n, int *a) {{ {text} }}"));
        let b = body(&u, "f");
        let kept = |s: &term::Symbol| s.storage == Storage::StaticLocal { kept: true };
        let one = b.symbols.iter().find(|s| &*s.name == "i").expect("there is one");
        assert_eq!(kept(one), want, "{text}");
    }
}
