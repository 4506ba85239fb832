//! One loop in C and in C#: the same facts, but for what the languages themselves make different.

use std::collections::BTreeSet;

use text::Text;

use super::{full, open};
use crate::{Doc, Language, Options};

fn open_csharp(code: &str) -> Doc {
    Doc::open(Language::CSharp, "test.cs", Text::new(code).expect("a small text"), Options::default())
}

/// Verdict, accumulators, variables of dependences, and the kinds of unproved conditions of the first loop.
fn facts(doc: &Doc) -> (String, String, String, BTreeSet<&'static str>) {
    let findings = full(doc);
    let l = findings.loops.first().expect("a loop").report();
    let reductions: Vec<String> =
        l.reductions.iter().map(|r| format!("{} {}", r.variable, r.operator)).collect();
    let dependences: BTreeSet<&str> = l.dependences.iter().map(|d| &*d.variable).collect();
    let dependences: Vec<&str> = dependences.into_iter().collect();
    let open = l.conditions.iter().filter(|c| c.met_by != "proof" && c.kind != "reassociate");
    (l.verdict.to_owned(), reductions.join(", "), dependences.join(", "), open.map(|c| c.kind).collect())
}

/// What C# has besides, or C has: kinds of conditions.
struct Row {
    /// Of both, with `A` for an array of floats, `I` for one of ints, in C and in C#.
    parameters: &'static str,
    body: &'static str,
    /// Conditions of C# that C has not.
    more: &'static [&'static str],
    /// Conditions of C that C# has not.
    less: &'static [&'static str],
    /// The verdict in C#, where it is another one, and why.
    other: Option<(&'static str, &'static str)>,
}

const fn row(
    parameters: &'static str,
    body: &'static str,
    more: &'static [&'static str],
    less: &'static [&'static str],
) -> Row {
    Row { parameters, body, more, less, other: None }
}

const BOUNDS: &[&str] = &["bounds", "not-null"];
/// An index that wraps never meets its bound.
const ENDS: &[&str] = &["bounds", "not-null", "terminates"];
const WRAPS: &[&str] = &["bounds", "no-wrap", "not-null"];

/// C: `double *a`; C#: `double[] a`, whose accesses are checked.
const ROWS: &[Row] = &[
    row("A a, int n", "for (int i = 0; i < n; i++) a[i] = i;", BOUNDS, &[]),
    row("A a, int n", "for (int i = 0; i < n; ++i) a[i] *= 2;", BOUNDS, &[]),
    row("A a, int n", "for (int i = n - 1; i >= 0; i--) a[i] += 1;", WRAPS, &[]),
    row("A a, A b, int n", "for (int i = 0; i < n; i++) a[i] = b[i];", BOUNDS, &[]),
    row("A a, A b, int n", "for (int i = 0; i < n; i++) a[i] = b[n - 1 - i];", BOUNDS, &[]),
    row("A a, A b, int n", "for (int i = 1; i < n; i++) a[i] = b[i - 1] + b[i];", BOUNDS, &[]),
    row("A a, A b, A c, int n", "for (int i = 0; i < n; i++) a[i] = b[i] * c[i];", BOUNDS, &[]),
    row("A a, int n", "for (int i = 1; i < n; i++) a[i] = a[i - 1];", &[], &[]),
    row("A a, int n", "for (int i = 2; i < n; i++) a[i] = a[i - 2] * 2;", &[], &[]),
    row("A a, int n", "for (int i = 0; i < n - 1; i++) a[i] = a[i + 1];", &[], &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) a[0] = i;", &[], &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) a[0] += i;", BOUNDS, &[]),
    row("A a, int n", "for (int i = 0; i < n; i += 2) a[i] = a[i + 1];", ENDS, &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) a[2 * i] = a[2 * i + 1];", WRAPS, &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) { double t = a[i]; a[i] = t * t; }", BOUNDS, &[]),
    row("A a, int n", "double t = 0; for (int i = 0; i < n; i++) { t = a[i]; a[i] = t * t; }", BOUNDS, &[]),
    row("A a, int n", "double s = 0; for (int i = 0; i < n; i++) s += a[i]; a[0] = s;", BOUNDS, &[]),
    row("A a, int n", "double s = 1; for (int i = 0; i < n; i++) s *= a[i]; a[0] = s;", BOUNDS, &[]),
    row("A a, int n", "double s = 0; for (int i = 0; i < n; i++) s = s + a[i]; a[0] = s;", BOUNDS, &[]),
    row("A a, int n", "double s = 0; for (int i = 0; i < n; i++) s = a[i] - s; a[0] = s;", &[], &[]),
    row("A a, int n", "double m = a[0]; for (int i = 0; i < n; i++) if (a[i] > m) m = a[i]; a[0] = m;", &["bounds"], &[]),
    row("I a, int n", "int s = 0; for (int i = 0; i < n; i++) s += a[i]; a[0] = s;", BOUNDS, &[]),
    row("I a, int n", "int s = 0; for (int i = 0; i < n; i++) s |= a[i]; a[0] = s;", BOUNDS, &[]),
    row("I a, int n", "int s = 0; for (int i = 0; i < n; i++) s ^= a[i]; a[0] = s;", BOUNDS, &[]),
    row("I a, int n", "int s = 0; for (int i = 0; i < n; i++) { s += a[i]; a[i] = s; }", &[], &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) if (a[i] > 0) a[i] = -a[i];", BOUNDS, &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) a[i] = a[i] > 0 ? a[i] : 0;", BOUNDS, &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) { if (a[i] < 0) continue; a[i] = 1; }", BOUNDS, &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) { if (a[i] < 0) break; a[i] = 1; }", &[], &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) { if (a[i] < 0) return; a[i] = 1; }", &[], &[]),
    row("A a, int n, int m", "for (int i = 0; i < n; i++) a[i] = a[i + m];", &[], &[]),
    row("A a, I k, int n", "for (int i = 0; i < n; i++) a[k[i]] = i;", &[], &[]),
    Row { other: Some(("independent", "an array knows its length, so that two are told apart")), ..row("A a, A b, I k, int n", "for (int i = 0; i < n; i++) a[i] = b[k[i]];", BOUNDS, &[]) },
    row("A a, int n", "int i = 0; while (i < n) { a[i] = i; i++; }", BOUNDS, &[]),
    row("A a, int n", "int i = 0; do { a[i] = i; i++; } while (i < n);", BOUNDS, &[]),
    row("A a, int n", "while (a[0] > n) a[0] /= 2;", &[], &[]),
    row("A a, int n", "int k = 0; for (int i = 0; i < n; i++) { a[k] = i; k += 2; }", WRAPS, &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] = j;", WRAPS, &[]),
    row("A a, int n", "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) a[j] = a[j] + i;", BOUNDS, &[]),
    row("A a, A b, int n", "for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < n; j++) s += b[j]; a[i] = s; }", BOUNDS, &[]),
    row("A a, int n", "for (int i = 0; i < n; i++) { switch (i & 3) { case 0: a[i] = 1; break; case 1: a[i] = 2; break; default: a[i] = 3; break; } }", BOUNDS, &[]),
    row("A a, int n", "for (int i = 0; i < 10; i++) a[i] = n;", BOUNDS, &[]),
    row("A a, int n", "for (int i = 0; i <= n; i++) a[i] = 0;", ENDS, &[]),
    row("I a, int n", "for (int i = 0; i < n; i++) a[i] = a[i] / 3;", BOUNDS, &[]),
    row("I a, int n", "for (int i = 0; i < n; i++) a[i] = a[i] % n;", &["bounds", "non-zero", "not-null"], &[]),
];

fn in_language(row: &Row, float: &str, int: &str) -> (String, String) {
    let one = |p: &str| {
        let (of, name) = p.trim().split_once(' ').expect("a type and a name");
        match of {
            "A" => format!("{float}{name}"),
            "I" => format!("{int}{name}"),
            of => format!("{of} {name}"),
        }
    };
    let parameters: Vec<String> = row.parameters.split(',').map(one).collect();
    (parameters.join(", "), row.body.to_owned())
}

#[test]
fn one_loop_in_c_and_in_csharp_gives_the_same_facts() {
    assert!(ROWS.len() >= 40);
    let mut wrong = Vec::new();
    for row in ROWS {
        let (parameters, body) = in_language(row, "double *", "int *");
        let c = facts(&open(&format!("void f({parameters}) {{ {body} }}")));
        let (parameters, body) = in_language(row, "double[] ", "int[] ");
        let cs = facts(&open_csharp(&format!("class A {{ static void F({parameters}) {{ {body} }} }}")));
        let mut conditions = c.3.clone();
        conditions.retain(|k| !row.less.contains(k));
        conditions.extend(row.more);
        let verdict = row.other.map_or(&*c.0, |o| o.0);
        let same = (verdict, &c.1, &c.2, &conditions) == (&cs.0, &cs.1, &cs.2, &cs.3);
        // of an unknown loop what was found on the way says nothing
        if !(same || (verdict == "unknown" && cs.0 == "unknown")) {
            wrong.push(format!("{}\n  C  {c:?}\n  C# {cs:?}", row.body));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Titles of offloads that are offered where the loop stands, and what is said there.
fn offered(text: &str) -> (Vec<String>, Vec<String>) {
    let doc = open_csharp(text);
    let findings = full(&doc);
    let at = text.find("for").expect("a loop");
    let here = base::Span::new(at, at);
    let all = crate::actions(&crate::Ask::thorough(&doc), &findings, here).into_iter();
    let offered = all.filter(|a| a.kind == crate::ActionKind::Offload && a.disabled.is_none());
    let said = findings.diagnostics.iter().map(|d| d.message.to_string());
    (offered.map(|a| a.title).collect(), said.collect())
}

/// A kernel is offered, and promised, where there is one; else it is said what stands against it.
#[test]
fn kernels_are_offered_where_they_are_made() {
    let (titles, said) = offered(
        "class A {\n    static void F(int[] a, int[] b) {\n        for (int i = 0; i < a.Length; i++) a[i] = 100 / b[i];\n    }\n}\n",
    );
    assert!(titles.iter().any(|t| t.contains("Offload to GPU")), "{titles:?}");
    assert!(said.iter().any(|m| m.contains("Can run on the GPU")), "{said:?}");
    let (titles, said) = offered(
        "class A {\n    static void F(int[] a) {\n        for (int i = 0; i < a.Length; i++) a[i] = checked(a[i] * 3);\n    }\n}\n",
    );
    assert_eq!(titles, Vec::<String>::new());
    assert!(said.iter().all(|m| !m.contains("Can run on the GPU")), "{said:?}");
}

fn offloaded(text: &str) -> crate::Offloaded {
    let doc = open_csharp(text);
    let findings = full(&doc);
    crate::offload(&crate::Ask::thorough(&doc), &findings, &crate::Which::Line(3)).expect("offloaded")
}

/// The bits of sums that wrap, masked counts of shifts, and what may throw, as the kernel has them.
#[test]
fn a_kernel_computes_as_the_language_does() {
    let done = offloaded(
        "class A {\n    static void F(int[] a, long[] b, byte[] c, int[] k, int s) {\n        for (int i = 0; i < k.Length; i++) {\n            \
         a[i] = a[i] * 31 + (k[i] << s); b[i] = -b[i]; c[i] += 200; a[i] += s; a[k[i] & 7]++; }\n    }\n}\n"
            .replace("a[k[i] & 7]++; ", "")
            .as_str(),
    );
    let text = &done.kernel_texts[0];
    for wanted in [
        "a[i] = (int)((unsigned int)a[i] * 31u + (unsigned int)",
        "<< (s & 31)",
        "b[i] = (long long)(0ull - (unsigned long long)b[i]);",
        "c[i] = (unsigned char)((unsigned int)c[i] + 200u);",
        "a[i] = (int)((unsigned int)a[i] + (unsigned int)s);",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    let checked = offloaded(
        "class A {\n    static void F(int[] a, double[] x, int[] k) {\n        for (int i = 0; i < k.Length; i++)\n            \
         a[i] = 100 / k[i] + (int)x[k[i]];\n    }\n}\n",
    );
    let text = &checked.kernel_texts[0];
    for wanted in
        ["100 / ww_by_int(k[i], ww_fault)", "ww_to_int(x[ww_inside(k[i], x_Length, ww_fault)], ww_fault)"]
    {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn the_editors_answers_speak_of_the_place() {
    let text = "class A {\n    static int F(int[] a) {\n        int s = 0;\n        foreach (var x in a) s += x;\n        return s;\n    }\n}\n";
    let doc = open_csharp(text);
    let l = &full(&doc).loops[0];
    assert_eq!((&*l.key, l.report().verdict), ("A.F#0", "reduction"));
}

/// What was looked into before it was set anew says nothing of what it holds then.
#[test]
fn a_parameter_that_is_set_anew_may_be_null() {
    let text = "class C {\n    static void F(int[] a, int[] b) {\n        int x = a[0];\n        a = b;\n        for (int i = 0; i < 4; i++)\n            a[i] = x;\n    }\n}\n";
    let met = |text: &str| {
        let findings = full(&open_csharp(text));
        let of_first = findings.loops.first().expect("a loop").report().conditions.iter();
        of_first.clone().find(|c| c.text == "not-null(a)").expect("a condition on the array").met_by
    };
    assert_eq!(met(text), "run-time check");
    assert_eq!(met(&text.replace("        a = b;\n", "")), "proof");
}

/// A field that a parameter or a variable hides keeps its `this` where the method is called.
#[test]
fn hidden_fields_are_named_in_full() {
    let call = |body: &str| {
        let fields = "double k = 3; double[] data = new double[9]; static double s = 1;";
        let written = offloaded(&format!(
            "class Gain {{ {fields}\n{}\n{} }}",
            &body[..body.find("for").unwrap()],
            &body[body.find("for").unwrap()..]
        ))
        .host;
        let line = written.lines().find(|l| l.contains("OnGpu(")).map(|l| l.trim().to_owned());
        line.unwrap_or(written)
    };
    let one = call(
        "void Apply(double[] a, double k) { for (int i = 0; i < a.Length; i++) a[i] = a[i] * k + this.k; }",
    );
    assert!(one.contains("(a, k, this.k)"), "{one}");
    let two =
        call("void Set(double[] data) { for (int i = 0; i < data.Length; i++) this.data[i] = data[i]; }");
    assert!(two.contains("(data, this.data)"), "{two}");
    let three = call(
        "void Add(double[] a, double s) { for (int i = 0; i < a.Length; i++) a[i] = a[i] * s + Gain.s; }",
    );
    assert!(three.contains("(a, s, Gain.s)"), "{three}");
    // in a setter `value` is what is set
    let set = "class Gain {\ndouble value; double[] a; double V { set { for (int i = 0; i < a.Length; i++)\n a[i] = a[i] * this.value + 1; } } }";
    let doc = open_csharp(set);
    let done = crate::offload(&crate::Ask::thorough(&doc), &full(&doc), &crate::Which::Line(2));
    assert!(done.map_or(true, |d| d.host.contains("this.value)")), "a setter's `value` is another");
    // nothing hides it
    let four = call("void Scale(double[] a) { for (int i = 0; i < a.Length; i++) a[i] = a[i] * this.k; }");
    assert!(four.contains("(a, k)"), "{four}");
}

/// A class that has the name of one of the library's, in another namespace, is not taken for it, nor it for the class.
#[test]
fn a_type_of_another_namespace_is_another_type() {
    let verdicts = |uses: &str| {
        let doc = open_csharp(&format!(
            "using System;
            namespace Lib {{ static class Math {{ public static double Sqrt(double x) {{ return 2 * x; }} }} }}
            {uses}"
        ));
        full(&doc).loops.iter().map(|l| l.report().verdict).collect::<Vec<_>>().join(" ")
    };
    let method =
        "static void Root(double[] a) { for (int i = 0; i < a.Length; i++) a[i] = Math.Sqrt(a[i]); }";
    assert_eq!(verdicts(&format!("namespace App {{ class P {{ {method} }} }}")), "unknown");
    // one space, one meaning
    let own = format!("namespace Lib {{ class P {{ {method} }} }}");
    assert_eq!(verdicts(&own), "independent");
}

/// What is `unchecked` where nothing is checked computes as everything does.
#[test]
fn unchecked_says_nothing_new() {
    let text = "class P { static void Mix(int[] a) { for (int i = 0; i < a.Length; i++) a[i] = unchecked(a[i] * 31); } }";
    assert_eq!(offered(text).0.len(), 1, "{:?}", offered(text));
}

/// A simple name means the type that is nearest where it stands: an alias, or one of the same namespace that another file declares.
#[test]
fn a_simple_name_is_only_believed_where_nothing_nearer_may_have_it() {
    let verdicts = |code: &str| {
        let doc = open_csharp(code);
        full(&doc).loops.iter().map(|l| l.report().verdict).collect::<Vec<_>>().join(" ")
    };
    let q = "class Q { public static int n = 3; public static int S(int x) => x; }";
    let u = "static class U { public static void B(int[] a) { for (int i = 0; i < a.Length; i++) a[i] = Q.S(a[i]); } }";
    assert_eq!(verdicts(&format!("namespace N {{ {q} }} namespace M {{ {u} }}")), "unknown");
    assert_eq!(verdicts(&format!("namespace N {{ {q} {u} }}")), "independent");
    assert_eq!(verdicts(&format!("class Holder {{ public {q} }} {u}")), "unknown");
    assert_eq!(verdicts(&format!("class Holder {{ public {q} public {u} }}")), "independent");
    assert_eq!(verdicts(&format!("using Q = M.R; {q} {u}")), "unknown");
    let max = "static class F { static void A(int[] a) { for (int i = 0; i < a.Length; i++) a[i] = Math.Max(a[i], 3); } }";
    assert_eq!(verdicts(&format!("using System; {max}")), "independent");
    assert_eq!(verdicts(&format!("using System; using Math = Evil; {max}")), "unknown");
    let long = "static class F { static void B(Int32[] a, int k) { for (int i = 0; i < a.Length; i++) a[i] = a[i] * k; } }";
    assert_eq!(verdicts(&format!("using System; {long}")), "independent");
    assert_ne!(verdicts(&format!("using Int32 = System.Int64; {long}")), "independent");
}

/// What is computed as `int` and put back into less throws under `checked`, and so does what `foreach` converts.
#[test]
fn what_is_put_back_into_less_may_throw() {
    let conditions = |code: &str| {
        let doc = open_csharp(code);
        let findings = full(&doc);
        let l = findings.loops.last().expect("a loop").report();
        (l.verdict.to_owned(), l.conditions.iter().any(|c| c.kind == "no-overflow"))
    };
    let method = |body: &str| {
        format!("static class F {{ static void M(byte[] a, int[] w, byte[] o, int n) {{ checked {{ {body} }} }} }}")
    };
    let over = |body: &str| conditions(&method(&format!("for (int i = 0; i < a.Length; i++) {{ {body} }}")));
    assert_eq!(over("a[i] <<= n;"), ("independent".to_owned(), true));
    assert_eq!(over("a[i] >>= n;"), ("independent".to_owned(), false));
    assert!(conditions(&method("foreach (byte x in w) o[x & 3] = 1;")).1);
    assert!(!conditions(&method("foreach (int x in w) o[x & 3] = 1;")).1);
}
