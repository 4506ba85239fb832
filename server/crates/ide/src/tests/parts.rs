//! Functions judged before the rest of their document is read: what is said of them is what is said of them in the whole.

use std::path::{Path, PathBuf};

use base::{CancelToken, Span};
use text::Text;

use crate::{check, known, warm_at, Ask, Diagnostic, Doc, Language, Memo, Options, Settings, Tier};

/// What is said within a span while somebody types.
fn said(all: Vec<Diagnostic>, within: Span) -> Vec<String> {
    let here = all.into_iter().filter(|d| within.contains(d.span));
    here.map(|d| format!("{:?} {} {:?} {:?}", d.span, d.code, d.message, d.related)).collect()
}

fn part_of(doc: &Doc, at: u32) -> Option<Doc> {
    Doc::open_part(doc.language(), doc.name(), doc.text().clone(), doc.options().clone(), at)
}

/// What is said of the function around `at` when nothing else is read.
fn alone(doc: &Doc, at: u32, function: Span) -> Option<Vec<String>> {
    let ask = Ask::new(&part_of(doc, at)?, &Memo::new(), Tier::Typing, &CancelToken::new());
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
        for item in doc.unit().items.iter().filter(|i| i.kind == front::ItemKind::Function) {
            let body = doc.slice(item.span).find('{').map_or(item.span.start, |k| item.span.start + k as u32);
            asked += 1;
            let Some(alone) = alone(&doc, body + 1, item.span) else { continue };
            parts += 1;
            told += alone.len();
            let whole = said(whole.clone(), item.span);
            assert_eq!(alone, whole, "{} in {} and {}", item.name, a.display(), b.display());
        }
    }
    assert!(parts * 3 > asked && told > 300, "{parts} of {asked} functions alone, {told} findings");
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
