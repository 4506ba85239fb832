//! What is live of arrays behind and before statements, by the words `live` and `needs` that are expected of each.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::Budget;
use term::{Body, SymbolId, TermId, TypeKind};

use super::{file_arrays, lives, FileArrays};
use crate::Program;

fn bodies(text: &str) -> Vec<Arc<Body>> {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    unit.items.iter().map(|i| i.body.clone()).collect()
}

fn known(all: &[Arc<Body>]) -> (Program, FileArrays) {
    let program = Program::of(all);
    let functions: Vec<&Body> = all.iter().map(|b| &**b).collect();
    let file = file_arrays(&functions, &program, &Budget::new(u64::MAX));
    (program, file)
}

/// Of the last loop of `f` with `// here` in its text's first line: the arrays looked at, each with what becomes of it.
fn of_loop(text: &str, which: usize) -> String {
    let all = bodies(text);
    let (program, file) = known(&all);
    let body = all.iter().find(|b| &*b.name == "f").expect("a function f");
    let at: TermId = body.loops(body.root).nth(which).expect("a loop");
    let is_array = |s: &SymbolId| matches!(body.types.kind(body.symbols[*s].ty), TypeKind::Array { .. });
    let wanted: BTreeSet<SymbolId> = body.symbols.iter_ids().map(|(s, _)| s).filter(is_array).collect();
    let found = lives(body, &program, &[at], &wanted, &file, &Budget::new(u64::MAX)).unwrap_or_default();
    let mut said: Vec<String> = found
        .iter()
        .map(|(&s, l)| {
            let word = |is: bool, word: &str| if is { format!(" {word}") } else { String::new() };
            format!("{}:{}{}", body.symbols[s].name, word(l.after, "live"), word(l.before, "needs"))
        })
        .collect();
    said.sort();
    said.join(", ")
}

#[test]
fn what_nobody_reads_again_is_dead() {
    let text = "void f(int n, int *a) { int x[24]; for (int i = 0; i < 24; i++) x[i] = i; \
        for (int i = 1; i < n; i++) x[i] = a[i]; }";
    assert_eq!(of_loop(text, 0), "x:");
    assert_eq!(of_loop(text, 1), "x:");
    let read = "int f(int n, int *a) { int x[24]; for (int i = 0; i < 24; i++) x[i] = i; return x[n]; }";
    assert_eq!(of_loop(read, 0), "x: live");
    let partly = "int f(int n, int *a) { int x[24]; for (int i = 1; i < 24; i++) x[i] = i; return x[n]; }";
    assert_eq!(of_loop(partly, 0), "x: live needs");
}

#[test]
fn whole_writes_end_a_life_and_partial_ones_do_not() {
    let text = |from: &str, to: &str| {
        format!(
            "int f(int n) {{ int x[24], s = 0; for (int i = 0; i < 24; i++) x[i] = n; \
             for (int i = {from}; i < {to}; i++) x[i] = i; for (int i = 0; i < 24; i++) s += x[i]; return s; }}"
        )
    };
    assert_eq!(of_loop(&text("0", "24"), 0), "x:");
    assert_eq!(of_loop(&text("1", "24"), 0), "x: live");
    assert_eq!(of_loop(&text("0", "n"), 0), "x: live");
}

#[test]
fn the_part_that_is_read_counts() {
    // rows and columns that nobody writes are not read either
    let text = "double f(int n) { double g[10][12], s = 0.0; for (int t = 0; t < n; t++) { \
        for (int i = 1; i < 9; i++) for (int j = 1; j < 11; j++) g[i][j] = i + t; \
        for (int i = 2; i < 8; i++) for (int j = 1; j < 11; j++) s += g[i][j - 0] + g[i + 1][j]; } return s; }";
    assert_eq!(of_loop(text, 0), "g:");
    let wider = text.replace("g[i + 1][j]", "g[i + 2][j]");
    assert_eq!(of_loop(&wider, 0), "g: needs");
    // the parameter is the same in both
    let text = "int f(const int n, int *a) { int x[100], s = 0; for (int t = 0; t < 5; t++) { \
        for (int i = 0; i < n; i++) x[i] = a[i]; for (int i = 0; i < n; i++) s += x[i]; } return s; }";
    assert_eq!(of_loop(text, 0), "x:");
    let set = text.replace("s += x[i]; }", "s += x[i]; n++; }").replace("const int n", "int n");
    assert_eq!(of_loop(&set, 0), "x: needs");
}

#[test]
fn the_next_round_counts() {
    let text = "void f(int n, int *a) { int x[24]; for (int i = 0; i < 24; i++) x[i] = i; \
        for (int t = 0; t < n; t++) { for (int i = 0; i < 24; i++) a[i] += x[i]; for (int i = 0; i < 24; i++) x[i] = t; } }";
    assert_eq!(of_loop(text, 3), "x: live");
    assert_eq!(of_loop(text, 1), "x: needs");
}

#[test]
fn jumps_are_followed() {
    let text = "int f(int n, int *a) { int x[24]; again: for (int i = 0; i < 24; i++) x[i] = i; \
        for (int i = 0; i < 24; i++) x[i] += n; if (n < a[0]) goto out; return 0; out: return x[3]; }";
    assert_eq!(of_loop(text, 1), "x: live needs");
    let back = "int f(int n, int *a) { int x[24], s = 0; for (int i = 0; i < 24; i++) x[i] = 0; again: \
        for (int i = 0; i < 24; i++) s += x[i]; for (int i = 0; i < 24; i++) x[i] = n; if (s < a[0]) goto again; return s; }";
    assert_eq!(of_loop(back, 2), "x: live");
    let switched = "int f(int n) { int x[24]; for (int i = 0; i < 24; i++) x[i] = n; \
        switch (n) { case 0: return 1; case 1: return x[1]; default: break; } return 0; }";
    assert_eq!(of_loop(switched, 0), "x: live");
    let by_break = "int f(int n, int *a) { int x[24]; for (;;) { for (int i = 0; i < 24; i++) x[i] = n; \
        if (a[n++]) break; } return x[1]; }";
    assert_eq!(of_loop(by_break, 1), "x: live");
    let jumps =
        "int f(int n) { int x[24]; jmp_buf b; for (int i = 0; i < 24; i++) x[i] = n; setjmp(b); return 0; }";
    assert_eq!(of_loop(jumps, 0), "");
}

#[test]
fn who_is_given_an_array_may_read_it() {
    let call = |declared: &str, with: &str| {
        format!("{declared} int f(int n) {{ int x[24]; for (int i = 0; i < 24; i++) x[i] = n; {with}; return n; }}")
    };
    assert_eq!(of_loop(&call("int g(int *p);", "g(x)"), 0), "");
    assert_eq!(of_loop(&call("int g(const int *p, int k) { return p[k]; }", "n = g(x, n)"), 0), "x: live");
    let writes = "void g(int *p, int k) { p[k] = k; if (k) g(p, k - 1); }";
    assert_eq!(of_loop(&call(writes, "g(x, n)"), 0), "x:");
    assert_eq!(of_loop(&call(writes, "g(&x[x[1]], n)"), 0), "");
    assert_eq!(of_loop(&call("", "int *p = x; n = *p"), 0), "");
}

/// The function `f` before others of the file.
fn in_file(others: &str) -> String {
    let text = format!(
        "static double w[64]; double g(double *a); void f(int n, double *a) {{ for (int i = 0; i < 64; i++) w[i] = a[i]; \
         for (int i = 0; i < 64; i++) a[i] = w[63 - i]; }} {others}"
    );
    of_loop(&text, 0) + "; " + &of_loop(&text, 1)
}

#[test]
fn arrays_of_the_file_are_dead_where_every_function_begins_by_writing() {
    assert_eq!(in_file(""), "w: live; w: needs");
    let all = "void h(double *a) { for (int i = 0; i < 64; i++) w[i] = 1.0; for (int i = 0; i < 64; i++) a[i] += w[i]; }";
    assert_eq!(in_file(all), "w: live; w: needs");
    for reads in [
        // what others can call begins by reading
        "double h(int k) { return w[k]; }",
        "double h(int k) { for (int i = 1; i < 64; i++) w[i] = 1.0; return w[k]; }",
        // somebody may call `f` in between
        "double h(double *a, int k) { for (int i = 0; i < 64; i++) w[i] = 1.0; g(a); return w[k]; }",
        "double h(double *a, int k) { f(k, a); return w[k]; }",
        // the address leads elsewhere
        "double *h(void) { return w; }",
        "double *kept = w;",
        "void take(double *p); double h(int k) { for (int i = 0; i < 64; i++) w[i] = 1.0; take(w); return 0.0; }",
        "double *all; void h(double *p) { all = p; } void set(void) { h(w); }",
        // a function that only a pointer leads to
        "static double h(int k) { return w[k]; } double (*how)(int) = h;",
        // somebody else is waited for
        "volatile int flag; double h(int k) { for (int i = 0; i < 64; i++) w[i] = 1.0; while (flag); return w[k]; }",
        "double h(int k) { for (int i = 0; i < 64; i++) w[i] = 1.0; setjmp(0); return w[k]; }",
    ] {
        assert_eq!(in_file(reads), "; ", "{reads}");
    }
    // a function of the file that is called by its others only
    let inner = "static void set(void) { for (int i = 0; i < 64; i++) w[i] = 1.0; } double h(int k) { set(); return w[k]; }";
    assert_eq!(in_file(inner), "w: live; w: needs");
    let later = "static double get(int k) { return w[k]; } double h(int k) { return get(k); }";
    assert_eq!(in_file(later), "; ");
}
