//! Documents among other files of their programs.

use std::sync::Arc;

use base::CancelToken;
use text::{PositionRange, Text};

use crate::{check, Ask, Doc, FileNames, Language, Memo, Options, Project, ProjectFile, Settings, Tier};

const DOCUMENT: &str = "double f(double);
void own(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = i; }
void calls(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = f(a[i]); }
";

fn project(files: &[(&str, &str)]) -> Project {
    let read = |(name, text): &(&str, &str)| {
        let text = Text::new(text).expect("a text");
        let never = CancelToken::new();
        let file = ProjectFile::read(Language::C, (name, name), text, Options::default(), &never);
        Arc::new(file.expect("not called off"))
    };
    Project::of(files.iter().map(read).collect(), Vec::new(), "these files")
}

fn open(text: &str) -> Doc {
    Doc::open(Language::C, "a.c", Text::new(text).expect("a text"), Options::default())
}

fn verdicts(doc: &Doc, memo: &Memo) -> Vec<&'static str> {
    let ask = Ask::new(doc, memo, Tier::Full, &CancelToken::new());
    let findings = check(&ask, &Settings::default()).expect("not called off");
    findings.loops.iter().map(|l| l.report().verdict).collect()
}

#[test]
fn of_what_other_files_may_say_nothing_is_said_before_they_are_read() {
    let said = |doc: &Doc, awaits: bool| {
        let ask = Ask::new(doc, &Memo::new(), Tier::Full, &CancelToken::new()).awaiting_others(awaits);
        let findings = check(&ask, &Settings::default()).expect("not called off");
        let codes: Vec<&str> = findings.diagnostics.iter().map(|d| d.code).collect();
        (codes, findings.awaits_others)
    };
    let alone = open(DOCUMENT);
    assert_eq!(said(&alone, true), (vec![], true));
    let hover = |doc: &Doc| {
        let ask = Ask::new(doc, &Memo::new(), Tier::Full, &CancelToken::new()).awaiting_others(true);
        let findings = check(&ask, &Settings::default()).expect("not called off");
        let loops = findings.loops.iter().filter(|l| l.report().verdict == "unknown");
        let hovers = loops.filter_map(|l| crate::hover(&ask, &findings, l.header.start));
        hovers.map(|h| h.markdown).collect::<Vec<_>>().join("\n")
    };
    assert!(hover(&alone).starts_with("**Still reading the other files"), "{}", hover(&alone));
    assert_eq!(said(&alone, false), (vec!["unknown-loop"], false));
    // they are known, and say nothing of it
    let among = alone.with_project(Some(project(&[("b.c", "double g(double x) { return x; }")])));
    assert_eq!(said(&among, true), (vec!["unknown-loop"], false));
    assert!(hover(&among).starts_with("**Unknown whether"), "{}", hover(&among));
}

/// What a header that is included behind a file's own variable does with it is not among the file's parts, nor what is done by who
/// includes a header.
#[test]
fn a_variable_is_its_files_own_behind_the_last_header() {
    let found = |name: &str, text: &str| {
        let doc = Doc::open(Language::C, name, Text::new(text).expect("a text"), Options::default());
        let ask = Ask::new(&doc, &Memo::new(), Tier::Full, &CancelToken::new());
        check(&ask, &Settings::default()).expect("not called off")
    };
    let asks_in = |name: &str, text: &str| {
        found(name, text).loops.iter().any(|l| l.report().conditions.iter().any(|c| c.kind == "no-alias"))
    };
    let asks = |text: &str| asks_in("a.c", text);
    assert!(asks_in(
        "a.h",
        "static int n; static void clear(int *p) { for (int i = 0; i < n; i++) p[i] = 0; }"
    ));
    let clear = "void clear(int *p) { for (int i = 0; i < n; i++) p[i] = 0; }\n";
    assert!(!asks(&format!("#include <stdlib.h>\nstatic int n;\nvoid set(int k) {{ n = k; }}\n{clear}")));
    assert!(asks(&format!("static int n;\n#include <stdlib.h>\nvoid set(int k) {{ n = k; }}\n{clear}")));
    // nor does it keep its first value
    let keeps = |text: &str| found("a.c", text).diagnostics.iter().any(|d| d.message.contains("k=3"));
    let spread = "void spread(double *p, int n) { for (int i = 0; i < n; i++) p[i + k] = p[i]; }\n";
    assert!(keeps(&format!("#include <stdlib.h>\nstatic int k = 3;\n{spread}")));
    assert!(!keeps(&format!("static int k = 3;\n#include <stdlib.h>\n{spread}")));
}

#[test]
fn a_project_changes_what_rests_on_it_and_nothing_else() {
    let memo = Memo::new();
    let alone = open(DOCUMENT);
    assert_eq!(alone.names_wanted().iter().map(|n| &**n).collect::<Vec<_>>(), ["f"]);
    assert_eq!(verdicts(&alone, &memo), ["independent", "unknown"]);
    let among = alone.with_project(Some(project(&[("b.c", "double f(double x) { return x; }")])));
    assert_eq!(verdicts(&among, &memo), ["independent", "independent"]);
    // the facts of what reaches no other file stay
    assert_eq!((alone.key(1), alone.key(2) == among.key(2)), (among.key(1), false));
    assert_eq!(memo.len(), 3);
    // the same files again are the same document
    let again = among.with_project(among.options().project.clone());
    assert_eq!(verdicts(&again, &memo), ["independent", "independent"]);
    assert_eq!(memo.len(), 3);
    // an edit keeps them, and costs the edited function alone
    let at =
        |line, from, to| PositionRange::new(text::Position::new(line, from), text::Position::new(line, to));
    let applied = among
        .text()
        .apply_lsp_change(Some(at(1, 73, 74)), "7", text::PositionEncoding::Utf16)
        .expect("an edit");
    let edited = among.edit(&[applied]);
    assert_eq!(verdicts(&edited, &memo), ["independent", "independent"]);
    assert_eq!(memo.len(), 4, "{}", edited.text());
    assert_eq!(verdicts(&edited.with_project(None), &memo), ["independent", "unknown"]);
}

#[test]
fn a_file_says_beforehand_what_it_may_define() {
    let names = FileNames::of("static int k(void) { return f(1); }\nint g(int x) { return k() + x; }\n");
    assert!(names.may_define("g") && names.may_define("k") && !names.may_define("f"));
    assert!(!names.watches() && FileNames::of("int g(void) { return errno; }").watches());
    assert_eq!(FileNames::known(names.all().iter().map(String::as_str), false), names);
}

#[test]
fn a_hover_names_the_files_that_a_loop_rests_on() {
    let doc = open(DOCUMENT);
    let file = "static double half(double x) { return x / 2; }\n\ndouble f(double x) { return half(x); }";
    let doc = doc.with_project(Some(project(&[("sub/b.c", file)])));
    let ask = Ask::thorough(&doc);
    let findings = check(&ask, &Settings::default()).expect("not called off");
    let said = |line: &str| {
        let at = DOCUMENT.find(line).and_then(|k| Some(k + DOCUMENT.get(k..)?.find("for")?)).expect("a loop");
        crate::hover(&ask, &findings, at as u32 + 1).expect("a hover").markdown
    };
    let calls = said("void calls");
    assert!(calls.contains("calls `f` of `b.c` (line 3)"), "{calls}");
    assert!(!said("void own").contains("b.c"));
}
