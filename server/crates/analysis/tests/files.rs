//! Loops that call functions of other files of their program: which definition a name means, and what is not believed.

use std::sync::Arc;

use analysis::{
    analyze, ConditionKind, FilePart, Linkage, LoopId, ObstacleKind, OtherFile, OtherFiles, Program,
    Unlinked, Verdict,
};
use base::Budget;
use front::{Item, ItemKind, Unit};

fn unit(text: &str) -> Unit {
    let parsed = front::Parsed::parse(front::Language::C, text);
    front::lower(&parsed, &front::Options::default(), &mut front::Memo::new())
}

fn linkage(item: &Item) -> Linkage {
    match item.kind {
        ItemKind::Function if item.is_static => Linkage::Internal,
        _ => Linkage::External,
    }
}

fn parts(unit: &Unit) -> Vec<FilePart<'_>> {
    unit.items
        .iter()
        .map(|i| FilePart { body: &i.body, header: None, line: 1, linkage: linkage(i), is_shared: false })
        .collect()
}

/// Files by name; `dir/x.c` is not of the folder.
fn others(files: &[(&str, &str)]) -> Arc<OtherFiles> {
    let read = |far: bool| -> Vec<Arc<OtherFile>> {
        let of = files.iter().filter(|(name, _)| name.contains('/') == far);
        of.map(|(name, text)| Arc::new(OtherFile::of(name, name, parts(&unit(text))))).collect()
    };
    Arc::new(OtherFiles::of(&read(false), &read(true), "these files"))
}

/// The verdicts of a text's loops, with what stands in the way.
fn verdicts(text: &str, files: &[(&str, &str)]) -> String {
    let unit = unit(text);
    let program = Program::among(&Program::default(), parts(&unit), &others(files));
    let mut out = Vec::new();
    for item in &unit.items {
        let facts = analyze(&item.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
        for l in facts.loops.iter() {
            let verdict = match l.verdict {
                Verdict::Independent => "independent",
                Verdict::Reduction => "reduction",
                Verdict::Sequential => "sequential",
                Verdict::Unknown => "unknown",
            };
            let why = l.obstacles.iter().map(|o| match &o.kind {
                ObstacleKind::UnknownCall(f) => format!(" !calls {}", item.body.symbols[*f].name),
                ObstacleKind::Call { function, why, name } => {
                    format!(" !{why:?} {}({name})", item.body.symbols[*function].name)
                }
                k => format!(" !{}", format!("{k:?}").split(['(', ' ']).next().unwrap_or("")),
            });
            out.push(format!("{verdict}{}", why.collect::<String>()));
        }
    }
    out.join("; ")
}

const CALLS_F: &str = "double f(double);
    void g(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = f(a[i]); }";

/// The specification: a function of another file is seen through as one of the file's own would be, with what its file keeps to
/// itself, and the file's own names mean what they mean.
#[test]
fn a_function_of_another_file_is_seen_through() {
    let b = "static double k(double x) { return x * 2; } double f(double x) { return k(x) + 1; }";
    assert_eq!(verdicts(CALLS_F, &[("b.c", b)]), "independent");
    assert_eq!(verdicts(CALLS_F, &[]), "unknown !calls f");
    // another `k` of the file itself
    let own = format!(
        "static int s; static double k(double x) {{ s++; return x; }} {CALLS_F}
        void h(double *a) {{ *a = k(1); }}"
    );
    assert_eq!(verdicts(&own, &[("b.c", b)]), "independent");
    // a chain through a third file, and back into the first
    let c = "double k(double); double f(double x) { return k(x); }";
    let back = format!("double k(double x) {{ return x * 3; }} {CALLS_F}");
    assert_eq!(verdicts(&back, &[("c.c", c)]), "independent");
    let state = format!("static int s; double k(double x) {{ s++; return s * x; }} {CALLS_F}");
    assert_ne!(verdicts(&state, &[("c.c", c)]), "independent");
}

#[test]
fn what_a_file_keeps_to_itself_is_seen_by_nobody() {
    let hidden = "static double f(double x) { return x; }";
    assert_eq!(verdicts(CALLS_F, &[("b.c", hidden)]), "unknown !calls f");
    // declared `static` and defined without the word (C11 6.2.2p5)
    let later = "static double f(double x); double f(double x) { return x; }";
    assert_eq!(verdicts(CALLS_F, &[("b.c", later)]), "unknown !calls f");
    // state of the other file's own is told as such, by the name it has there
    let state = "static double last; double f(double x) { double y = last; last = x; return y; }";
    let said = verdicts(CALLS_F, &[("b.c", state)]);
    assert!(said != "independent" && !said.contains("_ww_in_"), "{said}");
    // a name that the file keeps to itself is another one in the other file
    let outside = "double level; double f(double x) { return x * level; }";
    let own = format!("static double level; {CALLS_F} void h(double x) {{ level = x; }}");
    assert_eq!(verdicts(&own, &[("b.c", outside)]), "unknown !calls f");
}

#[test]
fn of_two_different_definitions_neither_is_believed() {
    let (one, two) = ("double f(double x) { return x; }", "double f(double x) { return x + 1; }");
    assert_eq!(verdicts(CALLS_F, &[("b.c", one), ("c.c", two)]), "unknown !calls f");
    assert_eq!(verdicts(CALLS_F, &[("b.c", one), ("c.c", one)]), "independent");
    // the folder's own goes before others of the program
    assert_eq!(verdicts(CALLS_F, &[("b.c", one), ("far/c.c", two)]), "independent");
    // the same text, with another meaning of what it names
    let named = |k: &str| {
        format!("static int k = {k}; void s(void) {{ k++; }} double f(double x) {{ return x * k; }}")
    };
    let (a, b) = (named("1"), named("2"));
    assert_eq!(verdicts(CALLS_F, &[("b.c", &a), ("c.c", &b)]), "unknown !calls f");
    let weak = "__attribute__((weak)) double f(double x) { return x; }";
    assert_eq!(verdicts(CALLS_F, &[("b.c", weak)]), "unknown !calls f");
    let variable = "double f = 1;";
    assert_eq!(verdicts(CALLS_F, &[("b.c", one), ("c.c", variable)]), "unknown !calls f");
}

#[test]
fn files_of_different_programs_are_told_apart() {
    let own = format!("{CALLS_F} int main(void) {{ return 0; }}");
    let other = "double f(double x) { return x; } int main(void) { return 1; }";
    assert_eq!(verdicts(&own, &[("b.c", other)]), "unknown !calls f");
    let unit = unit(&own);
    let program = Program::among(&Program::default(), parts(&unit), &others(&[("b.c", other)]));
    assert_eq!(program.unlinked("f"), Some(&Unlinked::OtherProgram("b.c".into(), "main".into())));
    // alike they cannot be linked either; what is not given a value can (C11 J.5.11)
    let alike = "double f(double x) { return x; } int main(void) { return 0; }";
    assert_eq!(verdicts(&own, &[("b.c", alike)]), "unknown !calls f");
    let tentative = |text: &str| format!("int steps; {text}");
    let other = tentative("double f(double x) { return x; }");
    assert_eq!(verdicts(&tentative(CALLS_F), &[("b.c", &other)]), "independent");
    // a type that the call does not have
    let float = "float f(float x) { return x; }";
    assert_eq!(verdicts(CALLS_F, &[("b.c", float)]), "unknown !calls f");
    // a name of the library that another file makes its own
    let library = "#include <stdlib.h>\ndouble f(double x) { return abs((int)x); }";
    let own = format!("int abs(int x) {{ return x; }} {CALLS_F}");
    assert_eq!(verdicts(&own, &[("b.c", library)]), "unknown !calls f");
    assert_eq!(verdicts(CALLS_F, &[("b.c", library)]), "independent");
}

#[test]
fn constants_of_other_files_are_those_that_are_defined_so() {
    let own = "extern const int N; extern int M; extern int K;
        int g(void) { return N + M + K; }";
    let kept = |files: &[(&str, &str)]| {
        let unit = unit(own);
        let program = Program::among(&Program::default(), parts(&unit), &others(files));
        ["N", "M", "K"].map(|n| program.keeps_first_value(n))
    };
    // `M` is nobody's constant: a file that is not seen may write it; `K` is declared otherwise than defined
    assert_eq!(kept(&[("b.c", "const int N = 4; int M = 5; const int K = 6;")]), [true, false, false]);
    assert_eq!(kept(&[("b.c", "const int N = 4;"), ("c.c", "const int N = 5;")]), [false; 3]);
    assert_eq!(kept(&[("b.c", "static const int N = 4;")]), [false; 3]);
}

/// What was taken over from an earlier program is what is found anew.
#[test]
fn an_edit_is_as_if_read_afresh() {
    let files = [("b.c", "double f(double x) { return x; } double k(double x) { return f(x); }")];
    let texts = [
        "double f(double); void g(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = f(a[i]); }",
        "double f(double); void g(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = 1; }",
        "double k(double); void g(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = k(a[i]); }",
        "double k(double); static double f(double x) { return 0; }
         void g(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = k(a[i]) + f(1); }",
        "double k(double); double h(double); void g(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = h(k(a[i])); }",
    ];
    let all = others(&files);
    let mut before = Program::default();
    for text in texts {
        let unit = unit(text);
        let fresh = Program::among(&Program::default(), parts(&unit), &all);
        let edited = Program::among(&before, parts(&unit), &all);
        for item in &unit.items {
            assert_eq!(fresh.key_for(&item.body), edited.key_for(&item.body), "{text}");
        }
        for name in ["f", "k", "h"] {
            assert_eq!(fresh.summary(name), edited.summary(name), "{name} in {text}");
            assert_eq!(fresh.defined_in(name), edited.defined_in(name), "{name} in {text}");
        }
        before = edited;
    }
}

/// A file that calls a function and then looks at `errno` keeps that function's loops from leaving something else in it.
#[test]
fn a_file_that_looks_at_errno_is_minded() {
    let own = "#include <math.h>
        void g(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = sqrt(a[i]); }";
    let looks = "#include <errno.h>
        void g(int, double *); void step(int n, double *a) { g(n, a); }";
    let main = "#include <errno.h>
        extern int errno; void step(int, double *); int top(int n, double *a) { step(n, a); return errno; }";
    assert_eq!(verdicts(own, &[]), "independent");
    assert_eq!(verdicts(own, &[("b.c", looks)]), "independent");
    assert_eq!(verdicts(own, &[("b.c", looks), ("c.c", main)]), "unknown !Watched");
}

/// A function that sets the rounding mode leaves others what they are, where the host is asked how it rounds; its own loops are not
/// a device's, whatever map of threads is found for them.
#[test]
fn a_rounding_mode_set_elsewhere_is_asked_for() {
    let sets = "#include <fenv.h>
        void up(void) { fesetround(FE_UPWARD); }";
    let own = "void g(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = a[i] / 3; }
        void h(int n, int *restrict a) { for (int i = 0; i < n; i++) a[i] = a[i] / 3; }";
    let asked_for = |kind: ConditionKind, text: &str, files: &[(&str, &str)]| {
        let unit = unit(text);
        let program = Program::among(&Program::default(), parts(&unit), &others(files));
        let rounds = |f: &analysis::Facts| {
            f.loops.iter().map(|l| l.conditions.iter().any(|c| c.kind == kind)).collect()
        };
        let of =
            |i: &front::Item| rounds(&analyze(&i.body, &program, analysis::SAVE, &Budget::new(u64::MAX)));
        unit.items.iter().flat_map(|i| -> Vec<bool> { of(i) }).collect::<Vec<bool>>()
    };
    let asked = |text: &str, files: &[(&str, &str)]| asked_for(ConditionKind::RoundsToNearest, text, files);
    assert_eq!(verdicts(own, &[("b.c", sets)]), "independent; independent");
    assert_eq!(asked(own, &[]), [false, false]);
    assert_eq!(asked(own, &[("b.c", sets)]), [true, false]);
    // a copy, a sign and a number that is written down are what they are in every mode
    let copies = "void g(int n, double *restrict a, const double *restrict b) {
            for (int i = 0; i < n; i++) a[i] = b[i];
            for (int i = 0; i < n; i++) a[i] = -b[i];
            for (int i = 0; i < n; i++) a[i] = i % 2 ? 0.1 : b[i];
            for (int i = 0; i < n; i++) a[i] = i % 2 ? 0 : 3;
            for (int i = 0; i < n; i++) a[i] = (float)b[i];
            for (int i = 0; i < n; i++) if (b[i] > 0) a[i] = 0;
        }";
    assert_eq!(asked(copies, &[("b.c", sets)]), [false, false, false, true, true, false]);
    // what is compared may be taken for zero
    let small = asked_for(ConditionKind::KeepsSmall, copies, &[("b.c", sets)]);
    assert_eq!(small, [false, false, false, false, false, true]);
    // traps on another system, whose header is not here; and on this one
    let elsewhere = "void on(void) { fpsetmask(1); }";
    assert_eq!(verdicts(own, &[("b.c", elsewhere)]), "independent; independent");
    assert_eq!(asked(own, &[("b.c", elsewhere)]), [true, false]);
    let declared = format!("int fpsetmask(int); {elsewhere}");
    assert_eq!(verdicts(own, &[("b.c", &declared)]), "unknown !Watched; independent");
    let here = "#include <fenv.h>
        void g(int n, double *restrict a) {
            fesetround(FE_UPWARD);
            for (int i = 0; i < n; i++) a[i] = a[i] / 3;
        }";
    assert_eq!(verdicts(here, &[]), "unknown !Watched");
    let unit = unit(here);
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let body = &unit.items.iter().rfind(|i| &*i.name == "g").expect("a function").body;
    let budget = Budget::new(u64::MAX);
    let facts = analyze(body, &program, analysis::SAVE, &budget);
    let found = analysis::thread_map(body, &program, &facts, LoopId(0), &budget);
    assert!(matches!(&found, Err(why) if why.iter().any(|o| matches!(o.kind, ObstacleKind::Watched(_)))));
}
