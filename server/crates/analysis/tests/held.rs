//! Values that a program never gives its variables: a dependence that needs one cannot happen.

mod common;

use std::sync::Arc;

use analysis::{analyze, FilePart, Linkage, OtherFiles, Program, Verdict};
use base::Budget;
use common::last_loop_of_f;

/// With what the file holds beside `f`, and the distance that its loop reads ahead over four elements.
fn verdict(file: &str, function: &str) -> Verdict {
    last_loop_of_f(&format!("{file}\n{function}")).verdict
}

const SHIFT: &str = "void f(int *a) { for (int i = 0; i < 4; i++) a[i] = a[i + ahead]; }";

#[test]
fn a_variable_of_the_file_holds_what_its_statements_give_it() {
    for file in [
        "static int ahead = 4; void wide(void) { ahead = 8; }",
        "static int ahead = 4; void wide(int far) { ahead = far ? 8 : 16; }",
        "static int ahead = 4; int get(void) { const int *p = 0; return ahead + (p == 0); } void wide(void) { ahead = 8; }",
        "static int ahead = 4; void further(void) { ahead += 4; }",
        "static int ahead = 4; void further(void) { ahead++; }",
        "static int ahead = 4; static const int far = 9; void wide(void) { ahead = far; }",
        "enum { FAR = 9 }; static int ahead = 4; void wide(void) { ahead = FAR; }",
        "static int ahead = 4; void wide(void) { int far = 6; ahead = far; }",
    ] {
        assert_ne!(verdict(file, SHIFT), Verdict::Sequential, "{file}");
    }
    for file in [
        "static int ahead = 4; void set(int k) { ahead = k; }",
        "static int ahead = 4; void set(const int *k) { ahead = *k + 1; }",
        "int other(void); static int ahead = 4; void set(void) { ahead = other(); }",
        "static int ahead = 4; void near(void) { ahead = 2; }",
        "static int ahead; void near(void) { ahead = 4; ahead++; ahead--; ahead -= 2; }",
        "static int ahead; void near(void) { for (ahead = 0; ahead < 9; ahead++) ; }",
        "static int ahead = 4; int scanf(const char *, ...); void set(void) { scanf(\"%d\", &ahead); }",
        "static int ahead = 4; void set(int k) { int far = 2; if (k > 3) far = k; ahead = far; }",
        "int ahead = 4; void wide(void) { ahead = 8; }",
    ] {
        assert_eq!(verdict(file, SHIFT), Verdict::Sequential, "{file}");
    }
}

#[test]
fn a_part_holds_what_is_stored_in_that_part() {
    let far = "void f(int *a) { for (int i = 0; i < 4; i++) a[i] = a[i + off.far]; }";
    for (file, sequential) in [
        ("static struct { int near, far; } off = {1, 4}; void set(int k) { off.near = k; }", false),
        ("static struct { int near, far; } off = {1, 4}; void set(int k) { off.far = k; }", true),
        (
            "static struct { int near, far; } off = {1, 4}; void set(void) { off.far = 9; off.near = 1; }",
            false,
        ),
        ("static struct o { int near, far; } off = {1, 4}; void set(struct o k) { off = k; }", true),
        ("static union { int near, far; } off = {4}; void set(int k) { off.near = k; }", true),
    ] {
        assert_eq!(verdict(file, far) == Verdict::Sequential, sequential, "{file}");
    }
    let table = "void f(int *a) { for (int i = 0; i < 4; i++) a[i] = a[i + t[2]]; }";
    for (file, sequential) in [
        ("static int t[3] = {4, 5, 6}; void set(int k) { t[k] = 7; }", false),
        ("static int t[3] = {4, 5, 6}; void set(int k) { t[k] = 2; }", true),
        ("static int t[3] = {4, 5, 6}; void set(int k) { t[1] = k; }", true),
        ("static int t[3][2] = {{4, 5}, {6}}; void set(int k) { t[k][1] = 7; }", false),
    ] {
        let table = if file.contains("[2] =") { table.replace("t[2]", "t[2][1]") } else { table.to_string() };
        // an element that nothing is given is 0, and that is no distance between two iterations
        assert_eq!(verdict(file, &table) == Verdict::Sequential, sequential, "{file}");
    }
}

#[test]
fn a_static_variable_of_a_function_holds_what_the_function_gives_it() {
    let f = |more: &str| {
        format!("void f(int *a, int k) {{ static int ahead = 4; {more} for (int i = 0; i < 4; i++) a[i] = a[i + ahead]; }}")
    };
    assert_ne!(verdict("", &f("if (k) ahead = 8;")), Verdict::Sequential);
    assert_ne!(verdict("", &f("if (k > 3) ahead += 1;")), Verdict::Sequential);
    assert_eq!(verdict("", &f("if (k > 3) ahead = k - 3;")), Verdict::Sequential);
    assert_eq!(verdict("", &f("if (k > 3) ahead = 3;")), Verdict::Sequential);
}

/// The verdict of the loop of `f`, which nobody outside the file may call.
fn verdict_of_internal(text: &str) -> Verdict {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let parts = unit.items.iter().map(|i| match &*i.name {
        "f" => FilePart { linkage: Linkage::Internal, ..FilePart::external(&i.body) },
        _ => FilePart::external(&i.body),
    });
    let program = Program::among(&Program::default(), parts, &Arc::new(OtherFiles::default()));
    let is_definition = |i: &&front::Item| matches!(i.body.op(i.body.root), term::Op::Function(_));
    let f = unit.items.iter().filter(is_definition).find(|i| &*i.name == "f").expect("it is there");
    analyze(&f.body, &program, analysis::SAVE, &Budget::new(u64::MAX))
        .loops
        .iter()
        .last()
        .expect("a loop")
        .verdict
}

#[test]
fn a_function_of_the_file_is_given_what_its_calls_give_it() {
    let f = "static void f(int *a, int n, int by) { for (int i = 0; i < n; i++) a[i] = a[i + by]; }";
    for (calls, sequential) in [
        ("void four(int *a) { f(a, 4, 4); } void eight(int *a) { f(a, 8, 8); }", false),
        ("void four(int *a) { f(a, 4, 4); } void eight(int *a) { f(a, 8, 7); }", true),
        ("void four(int *a) { f(a, 4, 4); } void any(int *a, int n) { f(a, n, 1); }", true),
        ("void four(int *a) { f(a, 4, 4); } void any(int *a, int by) { f(a, 2, by); }", true),
        ("void four(int *a) { f(a, 4, 4); } void (*kept)(int *, int, int) = f;", true),
        ("void four(int *a) { f(a, 4, 4); } void *give(void) { return (void *)f; }", true),
        ("", true),
    ] {
        let text = format!("static void f(int *a, int n, int by);\n{calls}\n{f}");
        assert_eq!(verdict_of_internal(&text) == Verdict::Sequential, sequential, "{calls}");
    }
    let text = "void f(int *a, int n, int by);\nvoid four(int *a) { f(a, 4, 4); }";
    assert_eq!(verdict(text, f.trim_start_matches("static ")), Verdict::Sequential);
}

/// `getchar` gives a character or -1, `scanf` how many values it read.
#[test]
fn what_the_library_returns_keeps_to_its_range() {
    let f = |declared: &str, call: &str, by: &str| {
        format!("{declared}\nvoid f(int *a) {{ int w = {call}; for (int i = 0; i < 4; i++) a[i] = a[i + {by}]; }}")
    };
    for (declared, call, by, sequential) in [
        ("int getchar(void);", "getchar()", "5 + w", false),
        ("int getchar(void);", "getchar()", "4 + w", true),
        ("int scanf(const char *, ...);", "scanf(\"%*d\")", "5 + w", false),
        ("int scanf(const char *, ...);", "scanf(\"%*d\")", "4 + w", true),
        ("int rand(void);", "rand()", "4 + w", false),
        ("int rand(void);", "rand()", "1 + w", true),
        ("int other(void);", "other()", "4 + w", true),
    ] {
        let text = f(declared, call, by);
        assert_eq!(
            last_loop_of_f(&text).verdict == Verdict::Sequential,
            sequential,
            "{text:?} {declared} {call} {by}"
        );
    }
}
