//! What nobody asked for: loops without findings, one finding a cause, hovers of a few lines.

use super::untrue::said;
use super::{full, full_with, open, open_cuda};
use crate::{hover, inlay_hints, lenses, unspoken, Ask, Level, Settings, Severity};
use base::Span;

/// Codes of the findings on loops, with their lines.
fn findings(code: &str) -> Vec<(u32, &'static str)> {
    let doc = open(code);
    let line = |d: &crate::Diagnostic| doc.lines().line_of(d.span.start) + 1;
    full(&doc).diagnostics.iter().map(|d| (line(d), d.code)).collect()
}

/// A function of this body, which is silent in findings, lenses and hints; its loops are listed all the same.
fn silent(inside: &str) {
    let code = format!(
        "#include <stdio.h>\n#include <stdlib.h>\nvoid f(int n, double *restrict a, double *restrict b, char *s, struct list *l)\n{{\n{inside}\n}}\n"
    );
    assert_eq!(findings(&code), [], "{code}");
    let (doc, ask) = (open(&code), Ask::thorough(&open(&code)));
    let found = full(&doc);
    let all = Span { start: 0, end: code.len() as u32 };
    assert_eq!(lenses(&ask, &found), [], "{code}");
    assert_eq!(inlay_hints(&ask, &found, all, false), [], "{code}");
    assert!(!unspoken(&ask, &found).is_empty(), "{code}");
    // whoever asks is answered
    let l = found.loops.first().expect("a loop");
    assert!(hover(&ask, &found, l.span.start).is_some(), "{code}");
}

/// Likewise, of which something is said.
fn told(inside: &str, code: &str) {
    let text = format!(
        "#include <stdio.h>\n#include <stdlib.h>\nvoid f(int n, double *restrict a, double *restrict b, unsigned char *restrict p, unsigned char *restrict q)\n{{\n{inside}\n}}\n"
    );
    let all = findings(&text);
    assert!(all.iter().any(|(_, c)| *c == code), "{text}{all:?}");
}

#[test]
fn loops_that_print_or_read_input() {
    silent("    for (int i = 0; i < n; i++)\n        printf(\"%g\\n\", a[i]);");
    silent("    for (int i = 0; i < n; i++)\n        if (scanf(\"%lf\", &a[i]) != 1)\n            a[i] = 0;");
    // a complaint is no output: the loop computes
    told(
        "    for (int i = 0; i < n; i++) {\n        if (a[i] < 0) {\n            fprintf(stderr, \"negative\\n\");\n            exit(1);\n        }\n        b[i] = a[i] * 2.0;\n    }",
        "unknown-loop",
    );
    // what is marked is spoken of
    told(
        "    // warpwright: offload\n    for (int i = 0; i < n; i++)\n        printf(\"%g\\n\", a[i]);",
        "marked-unknown",
    );
}

#[test]
fn loops_that_fill_or_are_small() {
    silent("    for (int i = 0; i < n; i++)\n        a[i] = 0;");
    silent("    for (int i = 0; i < n; i++)\n        for (int j = 0; j < n; j++)\n            a[i * n + j] = (i * j % n) / 3.0;");
    silent("    for (int i = 1; i < 64; i++)\n        a[i] = a[i - 1] * 0.5;");
    silent("    for (int i = 0; i < n; i++)\n        a[i] = b[i];");
    told("    for (int i = 0; i < n; i++)\n        a[i] = 2 * b[i];", "parallel-loop");
    told("    for (int i = 0; i < n; i++)\n        a[i] = b[p[i]];", "parallel-loop");
    told("    for (int i = 0; i < n; i++)\n        a[p[i]] = b[i];", "unknown-loop");
    silent("    int m = n % 7;\n    for (int i = 0; i < m; i++)\n        a[i] = 2 * b[i];");
    // much work for each element is computing, whatever it needs no memory for
    told(
        "    for (int i = 0; i < n; i++) {\n        double x = 0;\n        for (int k = 0; k < n; k++)\n            x = x * x + i;\n        a[i] = x;\n    }",
        "parallel-loop",
    );
}

#[test]
fn loops_that_look_for_something_or_go_through_text() {
    silent("    for (int i = 0; i < n; i++)\n        if (a[i] == 3.0)\n            break;");
    silent("    int k = 0;\n    for (int i = 0; i < n; i++)\n        if (s[i] != ' ')\n            s[k++] = s[i];");
    told(
        "    int k = 0;\n    for (int i = 0; i < n; i++)\n        if (a[i] > 0)\n            b[k++] = a[i];",
        "carried-dependence",
    );
    told("    for (int i = 1; i < n; i++)\n        p[i] = p[i - 1] + q[i];", "carried-dependence");
}

#[test]
fn a_nest_has_one_hint_at_the_end_of_its_line() {
    let code = "void f(int n, double *restrict a, double *restrict b)\n{\n    for (int i = 1; i < n; i++) { // rows\n        for (int j = 0; j < n; j++)\n            a[i * n + j] += b[j];\n    }\n    for (int i = 1; i < n; i++)\n        a[i] += a[i - 1];\n}\n";
    let (doc, ask) = (open(code), Ask::thorough(&open(code)));
    let found = full(&doc);
    let all = Span { start: 0, end: code.len() as u32 };
    let hints = inlay_hints(&ask, &found, all, false);
    let shown: Vec<(&str, &str)> = hints
        .iter()
        .map(|h| (code[..h.offset as usize].lines().last().unwrap_or_default().trim(), h.label.as_str()))
        .collect();
    // the second loop has a finding that is underlined
    assert_eq!(shown, [("for (int i = 1; i < n; i++) { // rows", "parallel")]);
    // where a lens offers the nest, the hint has nothing to add
    assert_eq!(inlay_hints(&ask, &found, all, true), []);
}

const WARP_SUM: &str = "// warpwright: launch(2, 64)\n__global__ void sum(const int *a, int *out) {\n    __shared__ int s[96];\n    int t = threadIdx.x;\n    s[t] = a[blockIdx.x * 64 + t];\n    if (t < 32)\n        s[64 + t] = 0;\n    __syncthreads();\n    if (t < 32) {\n        int v = s[t] + s[t + 32];\n        s[t] = v;\n        v += s[t + 16];\n        s[t] = v;\n        v += s[t + 8];\n        s[t] = v;\n        v += s[t + 4];\n        s[t] = v;\n        v += s[t + 2];\n        s[t] = v;\n        v += s[t + 1];\n        if (t == 0)\n            out[blockIdx.x] = v;\n    }\n}\n";

#[test]
fn a_missing_order_of_a_warp_is_one_error() {
    let doc = open_cuda(WARP_SUM);
    let found = full(&doc);
    let races: Vec<_> = found.diagnostics.iter().filter(|d| d.code == "shared-race").collect();
    assert_eq!(races.len(), 1, "{races:#?}");
    assert!(races[0].message.contains(" So it is on lines "), "{}", races[0].message);
    assert!(races[0].related.len() > 2, "{:#?}", races[0].related);
    // a quick fix mends all that is told at once; what shows behind it is mended likewise
    let mut text = WARP_SUM.to_owned();
    for round in 0..4 {
        if full(&open_cuda(&text)).diagnostics.iter().all(|d| d.code != "shared-race") {
            assert!(round > 0);
            return;
        }
        let (title, new) = super::kernels::mended(&text, "shared-race").expect("a repair");
        assert!(
            round > 0 || title.starts_with("Put `__syncwarp()` at ") && title.ends_with(" places"),
            "{title}"
        );
        text = new;
    }
    panic!("races are left: {text}");
}

#[test]
fn who_gives_a_code_a_level_sees_all() {
    let doc = open("void f(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n");
    let mut settings = crate::Settings::default();
    settings.levels.insert("parallel-loop".to_owned(), crate::Level::At(crate::Severity::Hint));
    assert_eq!(super::full_with(&doc, &settings).diagnostics.len(), 1);
    // and a comment that silences what is silent anyway is not called needless
    let ignored = "void f(int n, double *a)\n{\n    // warpwright: ignore[parallel-loop]\n    for (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n";
    assert_eq!(findings(ignored), []);
}

#[test]
fn different_causes_are_told_apart() {
    let two = "// warpwright: launch(2, 64)\n__global__ void k(int *a) {\n    __shared__ int s[64], r[64];\n    int t = threadIdx.x;\n    s[t] = a[t];\n    r[t] = a[t + 64];\n    a[t] = s[63 - t];\n    a[t + 64] = r[63 - t];\n}\n";
    let found = full(&open_cuda(two)).diagnostics;
    assert_eq!(found.iter().filter(|d| d.code == "shared-race").count(), 2, "{found:#?}");
}

/// Lines of the hover at the first loop.
fn lines(code: &str) -> Vec<String> {
    let (doc, ask) = (open(code), Ask::thorough(&open(code)));
    let found = full(&doc);
    let h = hover(&ask, &found, found.loops[0].span.start).expect("a hover");
    h.markdown.lines().filter(|l| !l.trim().is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_hover_is_short_and_counts_conditions_once() {
    let many = "void f(int n, float *a, float *b, float *c, float *d, float *e, float *g)\n{\n    for (int i = 0; i < n; i++) {\n        a[i] = b[i] + c[i];\n        d[i] = e[i] * g[i];\n    }\n}\n";
    let all = lines(many);
    assert!(all.len() <= 8, "{all:#?}");
    assert!(all.iter().any(|l| l.ends_with("overlap tests at run time")), "{all:#?}");
    let cells = "struct s { int x_[4]; };\nvoid f(int n, struct s *restrict p, int m_)\n{\n    for (int i_ = 1; i_ < n; i_++)\n        for (int j = 0; j < 4; j++)\n            p[i_].x_[j] = p[i_ - 1].x_[j] + m_;\n}\n";
    let all = lines(cells);
    assert!(all.iter().all(|l| !l.contains('\\')), "{all:#?}");
}

#[test]
fn loops_that_set_up_take_the_time_or_check() {
    silent("    double **rows = malloc(n * sizeof *rows);\n    for (int i = 0; i < n; i++)\n        rows[i] = (double *)malloc(n * sizeof **rows);");
    silent("    for (int i = 0; i < n; i++)\n        a[i] = rand() % 100;");
    let timed = "#include <time.h>\nvoid step(double *);\nvoid f(int n, double *a)\n{\n    for (int i = 0; i < n; i++) {\n        clock_t t = clock();\n        step(a);\n        a[i] = clock() - t;\n    }\n}\n";
    assert_eq!(findings(timed), []);
    let checked = "#include <assert.h>\nvoid f(int n, const int *a, const int *b)\n{\n    for (int i = 0; i < n; i++)\n        assert(a[i] == 2 * b[i]);\n}\n";
    assert_eq!(findings(checked), []);
    // random numbers that are used are computing
    told("    for (int i = 0; i < n; i++)\n        a[i] = b[i] + rand() % 100;", "unknown-loop");
}

#[test]
fn loops_of_macros_and_of_missing_headers() {
    let made = "#define COPY for (int i = 0; i < n; i++) a[i] = b[i];\nvoid f(int n, double *restrict a, double *restrict b)\n{\n    COPY\n}\n";
    assert_eq!(findings(made), []);
    let missing = "#include \"nowhere.h\"\nvoid f(thing *t, int n)\n{\n    for (int i = 0; i < n; i++) t->a[i] = t->b[i];\n    for (int i = 0; i < n; i++) t->a[i] *= 2;\n}\n";
    assert_eq!(findings(missing), [(1, "missing-header")]);
}

/// Codes of the findings of a CUDA document, with their lines and words.
fn of_cuda(code: &str) -> Vec<(u32, &'static str, String)> {
    let doc = open_cuda(code);
    let line = |d: &crate::Diagnostic| doc.lines().line_of(d.span.start) + 1;
    full(&doc).diagnostics.iter().map(|d| (line(d), d.code, d.message.to_string())).collect()
}

#[test]
fn the_host_of_kernels_is_not_spoken_of() {
    let code = "template <class T> struct List { void go(T t) { for (int i = 0; i < 9; i++) t.x(i); } };\nvoid f(int n, float *restrict a, const float *restrict b) {\n    for (int i = 0; i < n; i++) a[i] = b[i];\n    for (int i = 0; i < n; i++) a[i] = other(b, i);\n}\n";
    assert_eq!(of_cuda(code), []);
    let (doc, ask) = (open_cuda(code), Ask::thorough(&open_cuda(code)));
    let found = full(&doc);
    // whoever asks is answered
    assert!(hover(&ask, &found, code.find("for (int i = 0; i < n").unwrap_or_default() as u32).is_some());
}

#[test]
fn one_stride_is_told_once() {
    let code = "__global__ void f(const float *__restrict__ in, float *out, int C) {\n    int t = blockIdx.x * blockDim.x + threadIdx.x;\n    const float *x = in + t * C;\n    float m = 0, v = 0;\n    for (int i = 0; i < C; i++)\n        m += x[i];\n    for (int i = 0; i < C; i++)\n        v += (x[i] - m) * m;\n    out[t] = v;\n}\n";
    let all: Vec<_> = of_cuda(code).into_iter().filter(|f| f.1 == "strided-access").collect();
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].2.ends_with("Places as far apart are touched on line 8."), "{all:?}");
}

#[test]
fn loads_of_a_loop_by_the_grid_need_no_restrict() {
    let code = |step: &str| {
        format!("__global__ void f(float *out, const float *in, int n) {{\n    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += {step})\n        out[i] = in[i];\n}}\n")
    };
    let has = |step: &str| of_cuda(&code(step)).iter().any(|f| f.1 == "missing-restrict");
    assert!(!has("blockDim.x * gridDim.x") && has("1"));
}

#[test]
fn one_thread_with_nothing_to_divide_is_left_alone() {
    let code =
        "__global__ void once(int *a) {\n    *a = 1;\n}\nvoid go(int *a) {\n    once<<<1, 1>>>(a);\n}\n";
    assert!(of_cuda(code).iter().all(|f| f.1 != "block-size"));
}

#[test]
fn loops_of_few_rounds_and_along_links() {
    let few = "void send(int, double *);\nvoid f(double *a)\n{\n    for (int i = 0; i < 6; i++)\n        send(i, a);\n}\n";
    assert_eq!(findings(few), []);
    let links = "struct node { double v; struct node *next; };\nvoid f(struct node *n, double *a)\n{\n    int k = 0;\n    while (n) {\n        a[k++] = n->v;\n        n = n->next;\n    }\n}\n";
    assert_eq!(findings(links), []);
}

#[test]
fn loops_that_are_far_from_a_verdict() {
    // what is called can be given a definition, or promised to be pure
    told("    for (int i = 0; i < n; i++)\n        a[i] = look(b[i]) + see(b[i]);", "unknown-loop");
    silent("    for (int i = 0; i < n; i++)\n        if (look(b[i]) > 0)\n            break;\n        else\n            a[i + 1] = b[(int)b[i]] + a[i];");
    silent("    while (n > 1) {\n        a[n] = b[n] * 2.0 + a[n / 2];\n        n = n / 2;\n    }");
}

#[test]
fn parallel_loops_that_are_too_small_to_pay() {
    silent("    for (int i = 0; i < 20; i++) {\n        double x = a[i];\n        for (int k = 0; k < n; k++)\n            x = x * x + b[i];\n        a[i] = x;\n    }");
    told("    for (int i = 0; i < 2000; i++) {\n        double x = a[i];\n        for (int k = 0; k < n; k++)\n            x = x * x + b[i];\n        a[i] = x;\n    }", "parallel-loop");
}

#[test]
fn of_a_function_of_which_nothing_is_known_the_first_loop_tells() {
    let one = |name: &str, call: &str| {
        format!("void {name}(int n, double *a)\n{{\n    for (int i = 0; i < n; i++)\n        {call};\n}}\n")
    };
    let text =
        ["double get(const double *, int); void set(double *, int, double); extern int odd(int);\n"
            .to_owned()]
        .into_iter()
        .chain([
            one("f", "a[i] = get(a, i)"),
            one("g", "a[i] = 2 * get(a, i)"),
            one("h", "set(a, i, get(a, i))"),
        ])
        .chain([
            one("k", "set(a, i, 0)"),
            one("m", "a[i] = a[i / 2] + get(a, i)"),
            one("o", "a[odd(i)] = get(a, i)"),
        ])
        .collect::<String>();
    let found = full(&open(&text));
    let told: Vec<(u32, &str)> = found
        .diagnostics
        .iter()
        .map(|d| (text[..d.span.start as usize].matches('\n').count() as u32 + 1, &*d.message))
        .collect();
    let lines: Vec<u32> = told.iter().map(|t| t.0).collect();
    // the second, the fourth and the fifth tell nothing new
    assert_eq!(lines, [4, 14, 29], "{told:#?}");
    assert!(
        told[0].1.ends_with(" So it is with 2 more loops of this file, the next on line 9."),
        "{}",
        told[0].1
    );
    assert!(told[1].1.ends_with(" So it is with the loop on line 19."), "{}", told[1].1);
    // whoever asks of one that is silent is told why
    let doc = open(&text);
    let asked = text.match_indices("for (").nth(1).expect("a second loop").0 as u32;
    let answer = hover(&Ask::thorough(&doc), &found, asked).expect("a hover").markdown;
    assert!(answer.contains("`get`, called on line 10, may read or write anything"), "{answer}");
    // who asks for all of them is told of all
    let level = [("unknown-loop".to_owned(), Level::At(Severity::Warning))];
    let settings = Settings { levels: level.into_iter().collect() };
    let all = full_with(&open(&text), &settings);
    assert_eq!(all.diagnostics.len(), 6);
}

#[test]
fn a_function_of_any_number_of_arguments_is_not_called_one_of_another_type() {
    let all = said("#include <stdarg.h>\n#include <stdio.h>\nvoid told(int bad, const char *what, ...) { va_list ap; if (bad) { va_start(ap, what); vprintf(what, ap); va_end(ap); } }\nvoid f(int n, const double *restrict a, double *restrict b) {\n    for (int i = 0; i < n; i++) {\n        b[i] = a[i];\n        told(a[i] < 0, \"negative %d\", i);\n    }\n}\n");
    assert!(
        all.contains("it takes any number of arguments (`...`), and such functions are not looked into"),
        "{all}"
    );
    let all = said("void f(int n, const double *restrict a, double *restrict b) {\n    for (int i = 0; i < n; i++)\n        b[i] = later(a[i]);\n}\ndouble later(double x) { return -x; }\n");
    assert!(
        all.contains(
            "`later`, called on line 3, may read or write anything: it is called before it is declared"
        ),
        "{all}"
    );
}

/// The short line of a loop says what its being parallel rests on, also where nothing would test it.
#[test]
fn the_short_line_of_a_parallel_loop_says_what_it_rests_on() {
    let code = "void f(int n, float *a, const float *b) { for (int i = 0; i < n; i++) a[i] = b[i + 1]; }\n";
    for doc in [open(code), open_cuda(code)] {
        let ask = Ask::thorough(&doc);
        let found = full(&doc);
        let said: Vec<String> = unspoken(&ask, &found).into_iter().map(|(_, words)| words).collect();
        assert_eq!(said, ["loop `i`: parallel where `a` and `b` do not overlap"]);
    }
    let alone = open("void f(int n, float *a) { for (int i = 0; i < n; i++) a[i] = i; }\n");
    let said: Vec<String> =
        unspoken(&Ask::thorough(&alone), &full(&alone)).into_iter().map(|(_, words)| words).collect();
    assert_eq!(said, ["loop `i`: parallel"]);
}
