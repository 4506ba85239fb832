//! What has other types, and names, in C++ than in C: a distance that C would have keeps no iterations apart.

use super::full;
use crate::{Doc, Language, Options};

/// The verdict of the last loop.
fn verdict(code: &str) -> String {
    let text = text::Text::new(code).expect("a small text");
    let doc = Doc::open(Language::Cpp, "host.cpp", text, Options::default());
    full(&doc).loops.last().map_or_else(String::new, |l| l.report().verdict.to_owned())
}

/// The loop reads so far ahead; three elements are written.
fn shifted(before: &str, by: &str) -> String {
    verdict(&format!(
        "{before}\nvoid f(int *a, char c, short h)\n{{\n    for (int i = 0; i < 3; i++)\n        a[i] = a[i + ({by})];\n}}\n"
    ))
}

#[test]
fn alternatives_of_one_type_keep_it() {
    for by in
        ["sizeof(c ? 'a' : 'b')", "sizeof(h > 2 ? c : c)", "sizeof(c ? true : false)", "sizeof(c ? h : h)"]
    {
        assert_eq!(shifted("", by), "sequential", "{by}");
    }
    assert_eq!(shifted("", "sizeof(c ? h : c)"), "independent");
}

#[test]
fn enumerations_have_types_of_their_own() {
    for (before, by) in [
        ("enum C1 : char { Q1 };", "sizeof(Q1)"),
        ("enum E { A, B }; static E ev(int k) { return k ? B : A; }", "~ev(0) < 0 ? 1 : 4"),
        ("enum E { A, B }; static E ev(int k) { return k ? B : A; }", "(ev(1) | -2) < 0 ? 1 : 4"),
    ] {
        assert_eq!(shifted(before, by), "sequential", "{before} {by}");
    }
    // unsigned: the first is 1 and the second 4
    for by in ["G0 > -1 ? 4 : 1", "~G0 < 0 ? 4 : 1"] {
        assert_ne!(shifted("enum Big { G0, G1 = 0xffffffffu };", by), "independent", "{by}");
    }
    assert_ne!(shifted("enum Big { G0, G1 = 0xffffffffu };", "G0 - 1 < 0 ? 1 : 4"), "sequential");
    assert_ne!(shifted("enum F : unsigned { K = 1 };", "K - 2 < 0 ? 4 : 1"), "independent");
    for (before, by) in [("enum C1 : char { Q1 };", "sizeof(+Q1)"), ("enum E { A, B };", "~A < 0 ? 4 : 1")] {
        assert_eq!(shifted(before, by), "independent", "{before} {by}");
    }
}

/// A structure hides what is declared outside of its block (C++17 6.3.10).
#[test]
fn a_structure_of_a_block_hides_a_variable() {
    for (outside, inside) in [
        ("static int V = 4;", "struct V { char c; };"),
        ("typedef int V;", "struct V { char c; };"),
        ("static int V = 4;", "enum V : char { Q };"),
        ("static int V = 4;", "struct V { int c; }; { struct V { char c; };"),
    ] {
        let open = if inside.contains("; { ") { "}" } else { "" };
        let code = format!(
            "{outside}\nvoid f(int *a)\n{{\n    {inside}\n    for (int i = 0; i < 3; i++)\n        a[i] = a[i + sizeof(V)];\n{open}\n}}\n"
        );
        assert_eq!(verdict(&code), "sequential", "{code}");
    }
    // and is hidden by a variable of its own block
    let code = "void f(int *a)\n{\n    struct V { char c; };\n    int V = 4;\n    for (int i = 0; i < 3; i++)\n        a[i] = a[i + sizeof(V)];\n}\n";
    assert_eq!(verdict(code), "independent");
}

/// What a file's own `operator new` gives need not be new.
#[test]
fn new_that_the_file_replaces_makes_nothing_new() {
    let code = |own: &str| {
        format!("{own}\nvoid f(int *pool, int n)\n{{\n    int *t = new int[n];\n    for (int i = 0; i < n; i++)\n        t[i] = pool[i + 1];\n    delete[] t;\n}}\n")
    };
    let asked = |code: &str| {
        let text = text::Text::new(code).expect("a small text");
        let doc = Doc::open(Language::Cpp, "host.cpp", text, Options::default());
        let findings = full(&doc);
        findings.loops.last().is_some_and(|l| l.report().conditions.iter().any(|c| c.kind == "no-alias"))
    };
    assert!(!asked(&code("")));
    let own = "static char room[99];\nvoid *operator new[](unsigned long) { return room; }";
    assert!(asked(&code(own)));
}
