//! Documents of C++: loops that C could have are judged, others are said not to be read.

use super::full;
use crate::{Doc, Language, Options};

/// Verdicts, or why there is none, line by line.
fn said(code: &str) -> String {
    let text = text::Text::new(code).expect("a small text");
    let language = Doc::detect("host.cpp", None, &text).expect("C++");
    assert_eq!(language, Language::Cpp);
    let doc = Doc::open(language, "host.cpp", text, Options::default());
    let findings = full(&doc);
    let mut out: Vec<(u32, String)> =
        findings.loops.iter().map(|l| (l.line(), l.report().verdict.to_owned())).collect();
    for d in findings.diagnostics.iter().filter(|d| d.code == "not-understood") {
        let reason = d.message.split_once('(').and_then(|m| m.1.split_once(").")).map_or("", |m| m.0);
        let line = code[..d.span.start as usize].matches('\n').count() as u32 + 1;
        out.push((line, format!("not read: {reason}")));
    }
    out.sort();
    out.iter().map(|(line, what)| format!("{line}: {what}\n")).collect()
}

#[test]
fn loops_over_arrays_are_judged() {
    let said = said(
        "#include <algorithm>
namespace sim {
void axpy(int n, double a, const double *x, double *__restrict y)
{
    for (int i = 0; i < n; ++i)
        y[i] += a * x[i];
}
}
void clamp(float *a, int n, float lo, float hi)
{
    for (auto i = 0; i < n; i++)
        a[i] = std::min(std::max(a[i], lo), hi);
}
int greatest(const int *a, int n)
{
    int m = a[0];
    for (int i = 1; i < n; i++)
        m = std::max(m, a[i]);
    return m;
}
void turn(double *a, int n)
{
    double *t = new double[n];
    for (int i = 0; i < n; i++)
        t[i] = a[i];
    for (int i = 0; i < n; i++)
        a[i] = t[n - 1 - i];
    delete[] t;
    for (int i = 1; i < n; i++)
        a[i] += a[i - 1];
}
",
    );
    expect_test::expect![[r#"
        5: independent
        11: independent
        17: reduction
        24: independent
        26: independent
        29: sequential
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_is_not_read_is_said() {
    let said = said(
        "#include <vector>
double norm(const std::vector<double> &v)
{
    double s = 0;
    for (double x : v)
        s += x * x;
    return s;
}
class Grid {
    double *u; int n;
public:
    int size() const { return n; }
    void step(double dt)
    {
        for (int i = 1; i < n; i++)
            u[i] *= dt;
    }
};
template <typename T> void fill(T *a, int n, T v)
{
    for (int i = 0; i < n; i++)
        a[i] = v;
}
struct Big { double d; Big(); Big &operator=(const Big &); };
void copy(Big *a, const Big *b, int n)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i];
}
",
    );
    expect_test::expect![[r#"
        5: not read: names with `::` are not followed
        15: not read: functions of classes are not followed
        21: not read: `fill` is a template: what its parameters stand for is not followed
        27: unknown
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_is_not_read_is_said_once_for_each_reason() {
    let method = "struct S { double *u; void f(int n); };\nvoid S::f(int n) { for (int i = 0; i < n; i++) u[i] = 0; }\n";
    let template = |name: &str| {
        format!("template <typename T> void {name}(T *a) {{ for (int i = 0; i < 4; i++) a[i] = 0; }}\n")
    };
    let code = [method, &template("f"), &template("g"), &template("h"), method].concat();
    let text = text::Text::new(&code).expect("a small text");
    let doc = Doc::open(Language::Cpp, "host.cpp", text, Options::default());
    let findings = full(&doc);
    let said: Vec<&str> = findings.diagnostics.iter().map(|d| &*d.message).collect();
    expect_test::expect![[r#"
        Loops here are not analyzed: this place was not understood (names with `::` are not followed). Nothing is said of them. Nor are those on line 7.
        Loops here are not analyzed: this place was not understood (`f` is a template: what its parameters stand for is not followed). Nothing is said of them. Nor are those of 2 more places, the next on line 4."#]].assert_eq(&said.join("\n"));
}

#[test]
fn references_are_the_places_that_they_stand_for() {
    let said = said(
        "int g;
void add(double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        double &x = a[i];
        x += b[i];
    }
}
void into(int *a, int n)
{
    int &r = g;
    for (int i = 0; i < n; i++)
        r += a[i];
    int &first = a[0];
    for (int i = 0; i < n; i++)
        a[i] = first;
    for (int i = 1; i < n; i++) {
        auto &x = a[i];
        auto &y = a[i - 1];
        x = y;
    }
}
void sum(const double *a, const int &n, double &total)
{
    for (int i = 0; i < n; i++)
        total += a[i];
}
void again(int *a, int n, int &k)
{
    for (int i = 0; i < n; i++) {
        int k = i;
        a[i] = k;
    }
}
static void bump(int &x) { x++; }
void called(int *a, int n)
{
    int t = 0;
    for (int i = 0; i < n; i++) {
        bump(t);
        a[t] = i;
    }
}
void copies(double *a, int n)
{
    for (int i = 0; i < n; i++) {
        const double &x = a[i];
        a[i] = 2 * x;
    }
}
",
    );
    expect_test::expect![[r#"
        4: independent
        12: reduction
        15: sequential
        17: sequential
        25: reduction
        28: not read: the function's header could not be read
        39: independent
        46: unknown
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_the_library_computes_may_be_turned_around() {
    let code = "#include <algorithm>\nvoid clip(float *a, int n, float top)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = std::min(a[i], top);\n}\n";
    let text = text::Text::new(code).expect("a small text");
    let doc = Doc::open(Language::Cpp, "host.cpp", text, Options::default());
    let findings = full(&doc);
    let done =
        crate::transform(&crate::Ask::thorough(&doc), &findings, &crate::Which::Line(4), "reverse", "");
    let text = done.expect("it is reversed").text;
    assert!(
        text.contains("for (int i = n - 1; i >= 0; i--)") && text.contains("std::min(a[i], top)"),
        "{text}"
    );
}

/// A static variable that code gives its value, and a template that fits better than the function of its name, are not read as C.
#[test]
fn what_only_cpp_computes_is_not_read_as_c() {
    let unknown = |code: &str| {
        let said = said(code);
        assert!(!said.contains("independent") && !said.contains("reduction"), "{code}\n{said}");
    };
    for init in ["i", "a[0]", "1 + i", "next()"] {
        unknown(&format!(
            "int next();\nvoid first(int *a, int m)\n{{\n    for (int i = 0; i < m; i++) {{\n        static int c = {init};\n        a[i] = c;\n    }}\n}}\n"
        ));
    }
    unknown(
        "static int first(int i) { static int c = i; return c; }\nvoid all(int *a, int m)\n{\n    for (int i = 0; i < m; i++)\n        a[i] = first(i);\n}\n",
    );
    unknown(
        "template <class T> static int ahead(T) { return 1; }\nstatic int ahead(int) { return 4; }\nvoid shift(int *a)\n{\n    for (int i = 0; i < 4; i++)\n        a[i] = a[i + ahead(1L)];\n}\n",
    );
    // what is known before the program begins is
    let table = said(
        "void scaled(int *a, int m)\n{\n    static const int by[2] = {3, 4};\n    static const int *const first = &by[0];\n    for (int i = 0; i < m; i++)\n        a[i] *= by[i & 1];\n}\n",
    );
    assert!(table.contains("independent"), "{table}");
}
