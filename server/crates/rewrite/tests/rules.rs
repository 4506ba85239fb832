//! Systems applied to functions: what is written, what stays as it was, what is refused.

use base::Budget;
use expect_test::{expect, Expect};
use front::{Language, Memo, Options, Parsed};
use rewrite::rules::{apply, load, Limits, RuleSet, Site, Trust};

/// What a system makes of the first function of a text, or why it makes nothing of it.
fn applied(language: Language, strategy: &str, rules: &str, text: &str) -> String {
    let page = format!("# Test\n\nTrust: exact\n\n```rules test {strategy}\n{rules}\n```\n");
    let (page, findings) = load("test", &page);
    let errors: Vec<&str> =
        findings.iter().map(|f| f.message.as_str()).filter(|m| !m.contains("example")).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let parsed = Parsed::parse(language, text);
    let options = Options::default();
    let unit = front::lower(&parsed, &options, &mut Memo::new());
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let item = unit.items.iter().position(|i| i.kind == front::ItemKind::Function).expect("a function");
    let budget = Budget::with_cancel(u64::MAX, base::CancelToken::new());
    let facts = analysis::analyze(&unit.items[item].body, &program, analysis::SAVE, &budget);
    let site = Site {
        unit: &unit,
        text,
        language,
        options: &options,
        program: &program,
        item,
        facts: &facts,
        budget: &budget,
        together: &rewrite::rules::Together::default(),
        memo: &Default::default(),
        reading: rewrite::rules::Reading::Alone,
    };
    let set = RuleSet::default();
    match apply(&site, &page.systems[0], &set.systems, &Trust::Exact, None, Limits::default()) {
        Ok(done) => done.applied_to(text).expect("edits that fit"),
        Err(no) => format!("{:?} because {}", no.kind, no.because),
    }
}

fn check(rules: &str, text: &str, expected: Expect) {
    // what a rule makes may be matched by it again
    let strategy = if rules.contains("for (") { "once(TopDown)" } else { "TopDown" };
    expected.assert_eq(&applied(Language::C, strategy, rules, text));
}

const POW: &str = "c`pow($x, 2)` [pure($x)] -> c`$x * $x`";

#[test]
fn expressions_keep_their_parts() {
    check(
        POW,
        "double pow(double, double);\ndouble f(double x, double y) {\n    /* a */ double z = pow(x /* b */ + y, 2); // c\n    return 1 / pow(z, 2) + pow(pow(x, 2), 2);\n}\n",
        expect![[r#"
            double pow(double, double);
            double f(double x, double y) {
                /* a */ double z = (x /* b */ + y) * (x /* b */ + y); // c
                return 1 / (z * z) + x * x * (x * x);
            }
        "#]],
    );
    check(
        POW,
        "double pow(double, double);\ndouble f(double x) { return pow(x++, 2); }\n",
        expect!["NothingApplies because the condition of rule 1 is not proved: `Increment(x)` writes"],
    );
    check(
        POW,
        "double pow(double, double);\ndouble f(double *x) { return pow(x[0], 3); }\n",
        expect!["NothingApplies because no rule matches anything here"],
    );
}

#[test]
fn macros_stay_or_go_as_a_whole() {
    check(
        "c`$x + 0` -> c`$x`",
        "#define NIL 0\n#define PLUS(a) ((a) + 0)\nint f(int x) {\n    return (x + NIL) * PLUS(x);\n}\n",
        expect![[r#"
            #define NIL 0
            #define PLUS(a) ((a) + 0)
            int f(int x) {
                return (x) * x;
            }
        "#]],
    );
    check(
        "c`$x * 2` -> c`$x + $x`",
        "#define TWICE(a) ((a) * 2)\n#define SUM a + b\nint f(int a, int b) {\n    return TWICE(a) + (SUM) * 2;\n}\n",
        expect![[r#"
            #define TWICE(a) ((a) * 2)
            #define SUM a + b
            int f(int a, int b) {
                return a + a + (SUM + (SUM));
            }
        "#]],
    );
}

#[test]
fn statements_come_and_go() {
    check(
        "c`$x = $x;` -> NIL",
        "int f(int x) {\n    // before\n    x = x; // gone\n    x = x;\n    if (x) x = x;\n    { int y = 1; y = y; x += y; }\n    return x;\n}\n",
        expect!["Wrong because statements are added or gone, and whether that is right is not checked"],
    );
    check(
        "c`$x += $y;` [fresh($t)] -> c`int $t = $y; $x = $x + $t;`",
        "int f(int x, int t) {\n\tif (x)\n\t\tx += t; // one\n\tx += 2;\n\treturn x;\n}\n",
        expect![[r#"
            int f(int x, int t) {
            	if (x) {
            		int t_2 = t;
            		x = x + t_2;
            	} // one
            	int t_1 = 2;
            	x = x + t_1;
            	return x;
            }
        "#]],
    );
}

/// What stands between a header and its statement stays inside the block that the statement becomes.
#[test]
fn comments_before_a_lone_statement_stay() {
    check(
        "c`$x += $y;` [fresh($t)] -> c`int $t = $y; $x = $x + $t;`",
        "int f(int x, int t) {\n    if (x)\n        // why\n        x += t;\n    else /* not */ x += 1;\n    return x;\n}\n",
        expect![[r#"
            int f(int x, int t) {
                if (x) {
                    // why
                    int t_1 = t;
                    x = x + t_1;
                }
                else {
                    /* not */
                    int t_2 = 1;
                    x = x + t_2;
                }
                return x;
            }
        "#]],
    );
}

/// A block that is written anew, because a part of it changed too, keeps what was said above its statements, marks included.
#[test]
fn comments_and_marks_in_a_block_go_with_it() {
    let swap = "c`if ($c) $t else $e` [!head($c, Not)] -> c`if (!$c) $e else $t`\nc`$x * 2` -> c`$x + $x`";
    let text = "void f(int n, int x, int *a) {
    if (x > 2) {
        // why
        a[5] = x; // here
        /* the rest */
        if (a[0] > x) {
            // one
            a[0] = a[0] - x * 2;
        }
    } else { // small
        // two
        a[2] = 3;
    }
}
";
    check(
        swap,
        text,
        expect![[r#"
            void f(int n, int x, int *a) {
                if (!(x > 2)) {
                    // two
                    a[2] = 3;
                } else { // small
                    // why
                    a[5] = x; // here
                    /* the rest */
                    if (a[0] > x) {
                        // one
                        a[0] = a[0] - (x + x);
                    }
                }
            }
        "#]],
    );
    let mark = "// warpwright: offload(device)\n        for (int i = 0; i < n; i++)\n            a[i] = x;";
    let marked =
        applied(Language::C, "TopDown", swap, &text.replace("// why\n        a[5] = x; // here", mark));
    assert!(marked.contains(&format!("}} else {{ // small\n        {mark}")), "{marked}");
}

#[test]
fn conditions_are_turned_and_become_expressions() {
    let text = "int f(int x, int *p) {\n    if (x > 2) { // big\n        p[0] = x;\n    } else\n        p[0] = -x; // small\n    if (x)\n        for (int i = 0; i < 3; i++) p[i] = x;\n    else\n        p[1] = 2;\n    return p[0];\n}\n";
    check(
        "c`if ($c) $t else $e` [!head($c, Not)] -> c`if (!$c) $e else $t`",
        text,
        expect![[r#"
            int f(int x, int *p) {
                if (!(x > 2)) { // big
                    p[0] = -x;
                } else
                    p[0] = x; // small
                if (!x)
                    p[1] = 2;
                else
                    for (int i = 0; i < 3; i++) p[i] = x;
                return p[0];
            }
        "#]],
    );
    check(
        "c`if ($c) $x = $a; else $x = $b;` -> c`$x = $c ? $a : $b;`",
        text,
        expect![[r#"
            int f(int x, int *p) {
                // big
                p[0] = x > 2 ? x : -x; // small
                if (x)
                    for (int i = 0; i < 3; i++) p[i] = x;
                else
                    p[1] = 2;
                return p[0];
            }
        "#]],
    );
    // the loop would run whether or not
    check(
        "c`if ($c) $t else $e` -> c`$t`",
        text,
        expect!["Wrong because statements are added or gone, and whether that is right is not checked"],
    );
}

const INTERCHANGE: &str = "c`for (int $i = $a; $i < $n; $i++) for (int $j = $b; $j < $m; $j++) $body` [permutable($i,$j)]\n -> c`for (int $j = $b; $j < $m; $j++) for (int $i = $a; $i < $n; $i++) $body`";

#[test]
fn loops_are_swapped_where_the_dependences_let_them() {
    let nest = |s: &str| {
        format!("double a[64][64];\nvoid f(void) {{\n    for (int i = 1; i < 64; i++) {{ // rows\n        for (int j = 0; j < 63; j++) {{\n            /* cell */\n            {s}\n        }}\n    }}\n}}\n")
    };
    // the guard refuses, and a rule without the guard is refused by the check
    let unguarded = INTERCHANGE.replace("[permutable($i,$j)]", "[$j != $i]");
    check(
        INTERCHANGE,
        &nest("a[i][j] = a[i - 1][j];"),
        expect![[r#"
        double a[64][64];
        void f(void) {
            for (int j = 0; j < 63; j++) { // rows
                for (int i = 1; i < 64; i++) {
                    /* cell */
                    a[i][j] = a[i - 1][j];
                }
            }
        }
    "#]],
    );
    check(INTERCHANGE, &nest("a[i][j] = a[i - 1][j + 1];"), expect!["NothingApplies because the condition of rule 1 is not proved: it breaks the flow dependence of `a` from `a[i][j]` to `a[i - 1][j + 1]` with the directions (<, >)"]);
    check(&unguarded, &nest("a[i][j] = a[i - 1][j + 1];"), expect!["Wrong because it breaks the flow dependence of `a` from `a[i][j]` to `a[i - 1][j + 1]` with the directions (<, >)"]);
}

#[test]
fn captured_variables_are_refused() {
    check(
        "c`{ int x = 1; $y = $z; }` -> c`{ int y = 1; $y = $z; }`",
        "int f(int y, int z) {\n    if (y) { int x = 1; y = z; }\n    return y;\n}\n",
        expect!["Wrong because `y` would mean another variable of that name"],
    );
}

/// Whether a guard holds where `mark(…)` stands in a function, or why it is not proved.
fn guard(language: Language, guard: &str, text: &str) -> String {
    let rules = format!("c`mark($x, $y);` [{guard}] -> c`done($x, $y);`");
    let said = applied(language, "once(TopDown)", &rules, text);
    match said.strip_prefix("NothingApplies because the condition of rule 1 is not proved: ") {
        Some(why) => format!("no: {why}"),
        None if said.contains("done(") => "holds".to_owned(),
        None => said,
    }
}

#[test]
fn guards_hold_with_a_proof_or_not_at_all() {
    let head = "int mark(int, int); int done(int, int); double fabs(double); int g(int);\nint big[8], other[8]; volatile int port;\n";
    let c = |g: &str, params: &str, body: &str| {
        guard(Language::C, g, &format!("{head}void f({params}) {{ {body} }}\n"))
    };
    let mut out = String::new();
    for (g, params, body) in [
        ("pure($x)", "int a, int b", "mark(a * 2 + b, 0);"),
        ("pure($x)", "int a, double b", "mark(fabs(b) > 1, 0);"),
        ("pure($x)", "int a", "mark(a++, 0);"),
        ("pure($x)", "int a", "mark(g(a), 0);"),
        ("pure($x)", "int *a", "mark(a[1], 0);"),
        ("pure($x)", "int a", "mark(port, 0);"),
        ("pure($x)", "int a", "int *p = &a; mark(a, 0); *p = 1;"),
        ("readonly($x)", "int *a, int n0", "mark(a[1] + n0, 0);"),
        ("readonly($x)", "volatile int *a", "mark(a[1], 0);"),
        ("readonly($x)", "int *a", "mark(a[1]++, 0);"),
        ("readonly($x)", "int *a", "mark(g(a), 0);"),
        ("affine($x)", "int a, int b", "mark(2 * a - b * 3 + 1, 0);"),
        ("affine($x)", "int a, int b", "mark(a * b, 0);"),
        ("const($x)", "int a", "mark(sizeof(int) * 2, 0);"),
        ("const($x)", "int a", "mark(a, 0);"),
        ("assoc($x)", "unsigned a, unsigned b", "mark(a + b, 0);"),
        ("assoc($x)", "int a, int b", "mark(a + b, 0);"),
        ("assoc($x)", "int a, int b", "mark(a ^ b, 0);"),
        ("noalias($x, $y)", "int n", "mark(big, other);"),
        ("noalias($x, $y)", "int *p", "mark(big, p);"),
        ("noalias($x, $y)", "int *p, int *q", "mark(p, q);"),
        ("noalias($x, $y)", "int *restrict p, int *restrict q", "mark(p, q);"),
        ("noalias($x, $y)", "int *restrict p, int *restrict q", "p = q; mark(p, q);"),
        ("noalias($x, $y)", "int *p", "int own[4]; own[0] = 1; mark(own, p);"),
        ("noalias($x, $y)", "int *p", "int own[4]; p = own; mark(own, p);"),
        ("noalias($x, $y)", "int *p", "static int own[4]; mark(own, p);"),
        ("unused($x, $y)", "int a, int b", "mark(a, b);"),
        ("unused($x, $y)", "int a, int b", "mark(a, a + b);"),
        ("unused($x, $y)", "int *p, int *q", "mark(p, q[1]);"),
        ("unwritten($x, $y)", "int *p, int *q", "mark(p, q[1]);"),
        ("unwritten($x, $y)", "int *p, int *q", "mark(p, q[1] = 2);"),
        ("unwritten($x, $y)", "int *p, int *q", "mark(p, g(1));"),
        ("unwritten($x, $y)", "int a, int b", "mark(a, g(1));"),
        ("$x != $y", "int a, int b", "mark(a, b);"),
        ("$x != $y", "int a, int b", "mark(a, a);"),
        ("$x * 2 < $y", "int a", "mark(3, 7);"),
        ("$x < $y", "int a", "mark(3, a);"),
        ("type($x, int) || type($x, float)", "float a", "mark(a, 0);"),
        ("!type($x, int)", "int a", "mark(a, 0);"),
        ("head($x, MethodCall)", "int a", "mark(g(a), 0);"),
    ] {
        out += &format!("{g} | {params} | {body} | {}\n", c(g, params, body));
    }
    expect![[r#"
        pure($x) | int a, int b | mark(a * 2 + b, 0); | holds
        pure($x) | int a, double b | mark(fabs(b) > 1, 0); | holds
        pure($x) | int a | mark(a++, 0); | no: `Increment(a)` writes
        pure($x) | int a | mark(g(a), 0); | no: nothing is known of the call `MethodCall(g,a)`
        pure($x) | int *a | mark(a[1], 0); | no: `ArrayElement(a,1)` reads memory
        pure($x) | int a | mark(port, 0); | no: `port` may be changed from elsewhere
        pure($x) | int a | int *p = &a; mark(a, 0); *p = 1; | no: `a` may be changed from elsewhere
        readonly($x) | int *a, int n0 | mark(a[1] + n0, 0); | holds
        readonly($x) | volatile int *a | mark(a[1], 0); | no: `ArrayElement(a,1)` may be changed from elsewhere
        readonly($x) | int *a | mark(a[1]++, 0); | no: `Increment(ArrayElement(a,1))` writes
        readonly($x) | int *a | mark(g(a), 0); | no: nothing is known of the call `MethodCall(g,a)`
        affine($x) | int a, int b | mark(2 * a - b * 3 + 1, 0); | holds
        affine($x) | int a, int b | mark(a * b, 0); | no: `a*b` is not linear
        const($x) | int a | mark(sizeof(int) * 2, 0); | holds
        const($x) | int a | mark(a, 0); | no: `a` is no constant
        assoc($x) | unsigned a, unsigned b | mark(a + b, 0); | holds
        assoc($x) | int a, int b | mark(a + b, 0); | no: signed integers may overflow where they did not before
        assoc($x) | int a, int b | mark(a ^ b, 0); | holds
        noalias($x, $y) | int n | mark(big, other); | holds
        noalias($x, $y) | int *p | mark(big, p); | no: `big` and `p` may be the same memory
        noalias($x, $y) | int *p, int *q | mark(p, q); | no: `p` and `q` may be the same memory
        noalias($x, $y) | int *restrict p, int *restrict q | mark(p, q); | holds
        noalias($x, $y) | int *restrict p, int *restrict q | p = q; mark(p, q); | no: `p` and `q` may be the same memory
        noalias($x, $y) | int *p | int own[4]; own[0] = 1; mark(own, p); | holds
        noalias($x, $y) | int *p | int own[4]; p = own; mark(own, p); | no: `own` and `p` may be the same memory
        noalias($x, $y) | int *p | static int own[4]; mark(own, p); | no: `own` and `p` may be the same memory
        unused($x, $y) | int a, int b | mark(a, b); | holds
        unused($x, $y) | int a, int b | mark(a, a + b); | no: it is read there
        unused($x, $y) | int *p, int *q | mark(p, q[1]); | no: `ArrayElement(q,1)` may read it
        unwritten($x, $y) | int *p, int *q | mark(p, q[1]); | holds
        unwritten($x, $y) | int *p, int *q | mark(p, q[1] = 2); | no: `Assignment(ArrayElement(q,1),2)` may write it
        unwritten($x, $y) | int *p, int *q | mark(p, g(1)); | no: `MethodCall(g,1)` may use it
        unwritten($x, $y) | int a, int b | mark(a, g(1)); | holds
        $x != $y | int a, int b | mark(a, b); | holds
        $x != $y | int a, int b | mark(a, a); | no: `a` and `a` are written alike
        $x * 2 < $y | int a | mark(3, 7); | holds
        $x < $y | int a | mark(3, a); | no: `3 < a` is not a comparison of constants
        type($x, int) || type($x, float) | float a | mark(a, 0); | holds
        !type($x, int) | int a | mark(a, 0); | no: `type($x,int)` holds
        head($x, MethodCall) | int a | mark(g(a), 0); | holds
    "#]].assert_eq(&out);
}

#[test]
fn uniform_is_what_no_thread_has_for_itself() {
    let kernel = |body: &str| {
        let head = "__device__ int mark(int, int);\n__device__ int done(int, int);\n";
        let text = format!("{head}__global__ void k(int n, int *a) {{ int t = threadIdx.x; {body} }}\n");
        guard(Language::Cuda, "uniform($x)", &text)
    };
    let mut out = String::new();
    for body in [
        "mark(n + blockIdx.x * blockDim.x, 0);",
        "mark(t, 0);",
        "int u = n; u = u * 2; mark(u, 0);",
        "int u = n; if (t > 3) u = 1; mark(u, 0);",
        "int u = n; if (n > 3) u = 1; mark(u, 0);",
        "for (int s = 1; s < blockDim.x; s *= 2) { mark(s, 0); }",
        "for (int s = 1; s < t; s *= 2) { mark(s, 0); }",
        "int u = 0; while (u < n) { u++; if (t == u) break; } mark(u, 0);",
        "mark(a[0], 0);",
        "int u = a[0]; int v = u; mark(v, 0);",
        "int v = 0; int u = v; v = t; mark(u, 0);",
        "int v = 0; int u = 0; while (n > u) { u = v; v = t; } mark(u, 0);",
    ] {
        out += &format!("{body} | {}\n", kernel(body));
    }
    expect![[r#"
        mark(n + blockIdx.x * blockDim.x, 0); | holds
        mark(t, 0); | no: `t` may differ from thread to thread
        int u = n; u = u * 2; mark(u, 0); | holds
        int u = n; if (t > 3) u = 1; mark(u, 0); | no: `u` may differ from thread to thread
        int u = n; if (n > 3) u = 1; mark(u, 0); | holds
        for (int s = 1; s < blockDim.x; s *= 2) { mark(s, 0); } | holds
        for (int s = 1; s < t; s *= 2) { mark(s, 0); } | no: `s` may differ from thread to thread
        int u = 0; while (u < n) { u++; if (t == u) break; } mark(u, 0); | no: `u` may differ from thread to thread
        mark(a[0], 0); | no: `ArrayElement(a,0)` may differ from thread to thread
        int u = a[0]; int v = u; mark(v, 0); | no: `v` may differ from thread to thread
        int v = 0; int u = v; v = t; mark(u, 0); | no: `u` may differ from thread to thread
        int v = 0; int u = 0; while (n > u) { u = v; v = t; } mark(u, 0); | no: `u` may differ from thread to thread
    "#]].assert_eq(&out);
}

/// Pages that somebody is in the middle of writing: whatever stands there is read or refused at its place, and what was
/// read can be applied; nothing panics and nothing runs away.
#[test]
fn broken_pages_do_no_harm() {
    let texts = [
        "int a[9]; unsigned u;\nint f(int x, int *p) {\n    for (int i = 0; i < 9; i++) { a[i] = x * 1 + u % 8; if (x) { x--; continue; } else p[i] = 2; }\n    do { x = -x; } while (x < 3 && x / 2);\n    switch (x) { case 1: x = 2; break; default: return sizeof(int); }\n    goto end;\n    end: return x ? (int)u : ~x;\n}\n",
        "#define BLOCK_SIZE 64\n__global__ void k(int *inData, int *outData) {\n    int tid = threadIdx.x;\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    outData[i] = inData[i];\n    __syncthreads();\n    for (int s = 1; s < blockDim.x; s *= 2) {\n        if (tid % (2 * s) == 0)\n            outData[i] += outData[i + s];\n        __syncthreads();\n    }\n}\nvoid go(int *a, int *b, int n) {\n    k<<<n / BLOCK_SIZE, BLOCK_SIZE>>>(a, b);\n}\n",
    ];
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let pages = RuleSet::shipped_pages();
    let set = RuleSet::shipped();
    let (mut read, mut applications) = (0, 0);
    for _ in 0..400 {
        let mut text = pages[below(pages.len())].1.to_owned();
        for _ in 0..1 + below(3) {
            let other = pages[below(pages.len())].1;
            let cut = |text: &str, at: usize| (0..=at).rev().find(|&k| text.is_char_boundary(k)).unwrap_or(0);
            let (from, len) = (below(text.len()), below(24));
            let (a, b) = (cut(&text, from), cut(&text, (from + len).min(text.len())));
            let there = below(other.len());
            let (c, d) = (cut(other, there), cut(other, (there + below(24)).min(other.len())));
            text.replace_range(a..b.max(a), &other[c..d.max(c)]);
        }
        let (page, _) = load("broken", &text);
        for system in &page.systems {
            read += system.rules.len();
            for (language, program) in [(Language::C, texts[0]), (Language::Cuda, texts[1])] {
                let parsed = Parsed::parse(language, program);
                let options = Options::default();
                let unit = front::lower(&parsed, &options, &mut Memo::new());
                let known = analysis::Program::of(unit.items.iter().map(|i| &i.body));
                let item = unit.items.iter().position(|i| i.kind == front::ItemKind::Function).expect("one");
                let budget = Budget::new(200_000);
                let facts = analysis::Facts::default();
                let site = Site {
                    unit: &unit,
                    text: program,
                    language,
                    options: &options,
                    program: &known,
                    item,
                    facts: &facts,
                    budget: &budget,
                    together: &rewrite::rules::Together::default(),
                    memo: &Default::default(),
                    reading: rewrite::rules::Reading::Alone,
                };
                let limits = Limits { steps: 50_000, applications: 300, ..Limits::default() };
                let done = apply(&site, system, &set.systems, &Trust::Assumes("all".into()), None, limits);
                applications += match done {
                    Ok(a) => a.derivation.steps.len(),
                    Err(no) => no.derivation.steps.len(),
                };
            }
        }
    }
    assert!(read > 1_000 && applications > 100, "too little was left of the pages: {read}, {applications}");
}

/// What a system makes of CUDA text.
fn cuda(rules: &str, text: &str, expected: Expect) {
    expected.assert_eq(&applied(Language::Cuda, "once(TopDown)", rules, text));
}

const PARAMETERS: &str = "__global__ void f(/* from */ float *a, const float *b /* all */,\n                  int (*t)[4], int n) {\n    int i = threadIdx.x;\n    if (i < n)\n        a[i] = b[i] + t[i][0];\n}\n";

#[test]
fn parameters_are_added_and_qualified() {
    cuda(
        "cuda`$a[$i] = $v;` [fresh($m, n)] -> cuda`$a[$m] = $v;` [AddParameter($m, int)]",
        "__global__ void f(float *a, int i) {\n    a[i] = 1;\n}\n",
        expect![[r#"
            __global__ void f(float *a, int i, int n) {
                a[n] = 1;
            }
        "#]],
    );
    let qualify = "Function($m,$t,$k,$all,$body) [in(Declaration($p,$type),$all), onlyread($p,$body)] -> Function($m,$t,$k,$new,$body) [Qualify($all,$p,$new)]";
    cuda(
        qualify,
        PARAMETERS,
        expect![[r#"
            __global__ void f(/* from */ float *a, const float *__restrict__ b /* all */,
                              int (*t)[4], int n) {
                int i = threadIdx.x;
                if (i < n)
                    a[i] = b[i] + t[i][0];
            }
        "#]],
    );
    // read as well as written; passed on; copied; its address taken; volatile
    for body in
        ["a[0] = a[1];", "f(a);", "float *q = a; x = q[0];", "const float *q = &a[0]; x = *q;", "x = a == 0;"]
    {
        let text =
            format!("void f(const float *);\n__global__ void g(float *a, float x) {{\n    {body}\n}}\n");
        let said = applied(Language::Cuda, "once(TopDown)", qualify, &text);
        assert!(said.starts_with("NothingApplies because the condition"), "{body}: {said}");
    }
    let text = "__global__ void g(const volatile float *a, float *b) {\n    b[0] = a[0];\n}\n";
    cuda(qualify, text, expect!["NothingApplies because the condition of rule 1 is not proved: what `a` points to is volatile; what `b` points to is written"]);
}

#[test]
fn items_of_lists_are_tried_in_turn() {
    let rule = "f($all) [in($x,$all), type($x,floating)] -> g($x)";
    let text = "void g(float); void f(int, float, float);\nvoid h(int a, float b, float c) { f(a, b, c); }\n";
    let rule = rule.replace("f($all)", "MethodCall(f,$a,$b,$c)").replace("in($x,$all)", "in($x,[$a,$b,$c])");
    check(
        &rule.replace("g($x)", "MethodCall(g,$x)"),
        text,
        expect![[r#"
            void g(float); void f(int, float, float);
            void h(int a, float b, float c) { g(b); }
        "#]],
    );
}

#[test]
fn expressions_are_replaced_within_expressions() {
    cuda(
        "c`return $e - $x;` -> c`return $new;` [Replace($e, $x, 1, $new)]",
        "int f(int x, int *y) {\n    return x + y[x - 1] * 2 - x;\n}\n",
        expect![[r#"
            int f(int x, int *y) {
                return 1 + y[0] * 2;
            }
        "#]],
    );
}

/// Where a variable lives is part of its declaration, read and written.
#[test]
fn storage_of_local_variables_is_kept() {
    cuda(
        "cuda`__shared__ int $x; $x = 1;` [fresh($n, n)] -> cuda`static unsigned int $n; __shared__ int $x; $x = $n;`",
        "__global__ void f(void) {\n    __shared__ int x;\n    x = 1;\n}\n",
        expect![[r#"
            __global__ void f(void) {
                static unsigned int n;
                __shared__ int x;
                x = n;
            }
        "#]],
    );
    // a static variable is none that begins anew
    cuda(
        "c`int $x = 0; $x = 1;` -> c`int $x = 1;`",
        "int f(void) {\n    static int x = 0;\n    x = 1;\n    return x;\n}\n",
        expect!["NothingApplies because no rule matches anything here"],
    );
}

#[test]
fn a_variable_that_is_used_elsewhere_is_not_changed() {
    let rule = "cuda`int $i = $e; $a[$i] = $v;` [inside($i)] -> cuda`int $i = 2 * $e; $a[$i] = $v;`";
    let kernel = |rest: &str| {
        format!("__global__ void f(int *a, int n) {{\n    int i = n;\n    a[i] = 1;\n    {rest}\n}}\n")
    };
    let done = applied(Language::Cuda, "once(TopDown)", rule, &kernel("a[n] = 2;"));
    assert!(done.contains("int i = 2 * n;"), "{done}");
    for rest in ["a[i + 1] = 2;", "int *p = &i; p[0] = 1;"] {
        let said = applied(Language::Cuda, "once(TopDown)", rule, &kernel(rest));
        assert!(said.starts_with("NothingApplies because the condition"), "{said}");
    }
}

/// What a pointer reads is not written by the kernel: `restrict` on the one that is written says so, arrays of the block's own
/// are elsewhere, and barriers let only the same statements run.
#[test]
fn what_is_only_read_is_told_from_what_may_be_written() {
    let rule = "Function($m,$t,$k,$all,$body) [in(Declaration($p,$type),$all), onlyread($p,$body), unwritten($p,$body)] -> Function($m,$t,$k,$new,$body) [Qualify($all,$p,$new)]";
    let holds = |params: &str, body: &str| {
        let text = format!("__global__ void g({params}, int n) {{\n    {body}\n}}\n");
        let said = applied(Language::Cuda, "once(TopDown)", rule, &text);
        assert!(said.contains("const float *__restrict__") || said.starts_with("NothingApplies"), "{said}");
        !said.starts_with("NothingApplies")
    };
    let restrict = "float *__restrict__ y, float *x";
    assert!(holds(restrict, "y[n] = x[n];"));
    assert!(holds(restrict, "__shared__ float s[32]; s[n] = x[n]; __syncthreads(); y[n] = s[0];"));
    assert!(holds("float *x", "float s[2][2]; s[0][n] = x[n]; s[1][n] += s[0][n];"));
    assert!(!holds("float *y, float *x", "y[n] = x[n];"));
    // a copy of the restrict pointer; one that changes; what a pointer in memory points to; an atomic operation; a call
    assert!(!holds(restrict, "float *z = y; z[n] = x[n];"));
    assert!(!holds(restrict, "x = y; y[n] = x[n];"));
    assert!(!holds("float **__restrict__ y, float *x", "y[0][n] = x[n];"));
    assert!(!holds("float *x", "float *s[2]; s[0][n] = x[n];"));
    assert!(!holds("float *y, float *x", "atomicAdd(&y[n], x[n]);"));
    assert!(!holds("float *x", "extern __device__ float f(float); float z = f(x[n]);"));
}
