//! Functions judged before the rest of their document is read: what is said of them is what is said of them in the whole.

use std::path::{Path, PathBuf};

use base::{CancelToken, Span};
use text::Text;

use crate::{check, known, warm_at, Ask, Diagnostic, Doc, Language, Memo, Options, Parts, Settings, Tier};

/// What is said within a span while somebody types.
fn said(all: Vec<Diagnostic>, within: Span) -> Vec<String> {
    let here = all.into_iter().filter(|d| within.contains(d.span));
    here.map(|d| format!("{:?} {} {:?} {:?}", d.span, d.code, d.message, d.related)).collect()
}

fn part_of(doc: &Doc, at: u32) -> Option<Doc> {
    after(&Parts::default(), doc, at)
}

/// Likewise, where other parts were read before.
fn after(parts: &Parts, doc: &Doc, at: u32) -> Option<Doc> {
    let text = (doc.name(), doc.text().clone());
    parts.open(doc.language(), text, doc.options().clone(), at, &CancelToken::new())
}

/// What is said of the function around `at` when nothing else is read.
fn alone(parts: &Parts, doc: &Doc, at: u32, function: Span) -> Option<Vec<String>> {
    let ask = Ask::new(&after(parts, doc, at)?, &Memo::new(), Tier::Typing, &CancelToken::new());
    warm_at(&ask, &[Span { start: at, end: at }]);
    Some(said(known(&ask, &Settings::default()).diagnostics, function))
}

fn open(code: &str) -> Doc {
    let text = Text::new(code).expect("a small text");
    Doc::open(Language::C, "test.c", text, Options::default())
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the fixtures").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "c") {
            out.push(path);
        }
    }
}

#[test]
fn a_function_alone_is_what_it_is_in_its_document() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/c"), &mut files);
    files.sort();
    let (mut told, mut parts, mut asked) = (0, 0, 0);
    // two files make a document, so that much is left out
    for pair in files.chunks_exact(2) {
        let [a, b] = pair else { continue };
        let code = [a, b].map(|p| std::fs::read_to_string(p).expect("a fixture")).concat();
        let doc = open(&code);
        let ask = Ask::new(&doc, &Memo::new(), Tier::Typing, &CancelToken::new());
        let whole = check(&ask, &Settings::default()).expect("nobody cancels").diagnostics;
        let read = Parts::default();
        for item in doc.unit().items.iter().filter(|i| i.kind == front::ItemKind::Function) {
            let body = doc.slice(item.span).find('{').map_or(item.span.start, |k| item.span.start + k as u32);
            asked += 1;
            let Some(alone) = alone(&read, &doc, body + 1, item.span) else { continue };
            parts += 1;
            told += alone.len();
            let whole = said(whole.clone(), item.span);
            assert_eq!(alone, whole, "{} in {} and {}", item.name, a.display(), b.display());
        }
    }
    assert!(parts * 3 > asked && told > 300, "{parts} of {asked} functions alone, {told} findings");
}

/// Keystrokes in one function and then in another are judged with what was read before, and come out as the document does.
#[test]
fn parts_one_after_the_other_are_what_each_is_by_itself() {
    let code = |f: &str, g: &str| {
        format!(
            "#define HALF(x) ((x) / 2)\ntypedef struct {{ int n; double *a; }} grid;\n\
             void f(grid *s, int n) {{\n    for (int i = 1; i < n; i++) s->a[i] = {f};\n}}\n\
             static double of(const double *b, int i) {{ return b[i]; }}\n\
             void g(const double *restrict b, double *restrict c, int n) {{\n    for (int i = 0; i < n; i++) c[i] = {g};\n}}\n\
             void other(void) {{ }}\n"
        )
    };
    let edits = [
        ("s->a[i - 1]", "0"),
        ("s->a[i - 1", "0"),
        ("s->a[i - 10]", "0"),
        ("s->a[i]", "0"),
        ("s->a[i]", "of(b, i)"),
        ("s->a[i]", "of(b, HALF(i)) + c[i + 1]"),
        ("HALF(i)", "of(b, HALF(i)) + c[i + 1]"),
        ("HALF(s->n) + s->a[", "of(b, HALF(i)) + c[i + 1]"),
    ];
    let (parts, mut told) = (Parts::default(), 0);
    for (f, g) in edits {
        let doc = open(&code(f, g));
        let ask = Ask::new(&doc, &Memo::new(), Tier::Typing, &CancelToken::new());
        let whole = check(&ask, &Settings::default()).expect("nobody cancels").diagnostics;
        for name in ["f", "g"] {
            let Some(item) = doc.unit().items.iter().find(|i| &*i.name == name) else { continue };
            let body = item.span.start + doc.slice(item.span).find('{').expect("a body") as u32;
            let Some(alone) = alone(&parts, &doc, body + 1, item.span) else { continue };
            told += 1;
            assert_eq!(alone, said(whole.clone(), item.span), "{f} and {g}");
        }
    }
    assert!(told >= 12, "{told}");
}

/// Whether the function that says `HERE` can be judged alone.
fn is_told(code: &str) -> bool {
    let doc = open(code);
    part_of(&doc, code.find("HERE").expect("a place") as u32).is_some()
}

#[test]
fn what_the_rest_of_the_document_decides_is_not_told_without_it() {
    const LOOP: &str = "void f(double *a) { /* HERE */ for (int i = 0; i < n; i++) a[i] = i; }\n";
    assert!(is_told(&format!("const int n = 8;\n{LOOP}void g(void) {{ }}\n")));
    assert!(is_told(&format!("int n = 8;\n{LOOP}void g(void) {{ n = 9; }}\n")));
    // whether anything writes it
    assert!(!is_told(&format!("static int n = 8;\n{LOOP}void g(void) {{ n = 9; }}\n")));
    // whether its caller looks
    assert!(!is_told(&format!("const int n = 8;\n{LOOP}void g(double *a) {{ f(a); if (errno) n = 0; }}\n")));
    assert!(!is_told(&format!("const int n = 8;\n{LOOP}void g(double *a) {{ f(a); perror(\"f\"); }}\n")));
    // what it is
    assert!(!is_told(&format!("const int n = 8;\n#ifdef M\n{LOOP}#endif\n}}")));
}
