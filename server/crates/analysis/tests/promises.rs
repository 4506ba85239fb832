//! What promises settle, and what they do not.

use analysis::{analyze, ConditionKind, MetBy, Program, PromiseFate, SAVE};
use base::Budget;
use expect_test::{expect, Expect};
use front::{lower, Language, Memo, Options, Parsed};

/// Of each loop its verdict with what it rests on, and what became of the promises.
fn check(code: &str, expected: Expect) {
    let unit = lower(&Parsed::parse(Language::C, code), &Options::default(), &mut Memo::new());
    let item = unit.items.iter().rfind(|i| &*i.name == "f").expect("a function f");
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let facts = analyze(&item.body, &program, SAVE, &Budget::new(u64::MAX));
    let mut out = String::new();
    for l in facts.loops.iter() {
        let assumed = l.conditions.iter().filter(|c| c.met_by == MetBy::Assumed).map(|c| match c.kind {
            ConditionKind::Injective(_) => "injective",
            ConditionKind::InRange { .. } => "in-range",
            ConditionKind::Size { .. } => "size",
            ConditionKind::NoAlias(..) => "no-alias",
            ConditionKind::DistinctRows(_) => "distinct-rows",
            ConditionKind::Pure(_) => "pure",
            _ => "other",
        });
        let fates: Vec<&str> = l
            .promises
            .iter()
            .map(|p| match p.fate {
                PromiseFate::Used => "used",
                PromiseFate::Unused => "unused",
                PromiseFate::Meet { .. } | PromiseFate::Declared(_) | PromiseFate::NotPure => "refuted",
            })
            .collect();
        out += &format!("{:?} {:?} {:?}\n", l.verdict, assumed.collect::<Vec<_>>(), fates);
    }
    expected.assert_eq(&out);
}

/// A loop over i below n, with these promises, over restricted arrays of a function `f`.
fn check_loop(promises: &str, body: &str, expected: Expect) {
    check(
        &format!(
            "void f(int n, int m, int *restrict idx, int *restrict other, float *restrict x, float *restrict y) {{\n\
             // warpwright: assume({promises})\nfor (int i = 0; i < n; i++) {{ {body} }}\n}}\n"
        ),
        expected,
    );
}

#[test]
fn an_index_that_repeats_nothing() {
    check_loop(
        "injective(idx)",
        "y[idx[i]] = x[i];",
        expect![[r#"
        Independent ["injective"] ["used"]
    "#]],
    );
    check_loop(
        "injective(idx)",
        "int k = idx[i]; if (x[i] > 0) y[k + 1] += y[k + 1] * x[k];",
        expect![[r#"
        Independent ["injective"] ["used"]
    "#]],
    );
    check_loop(
        "injective(idx)",
        "y[idx[idx[i]]] = x[i];",
        expect![[r#"
        Independent ["injective"] ["used"]
    "#]],
    );
    check_loop(
        "injective(idx)",
        "y[idx[2 * i]] = x[idx[i]];",
        expect![[r#"
        Independent ["injective"] ["used"]
    "#]],
    );
    // what would be added up atomically is not shared
    check_loop(
        "injective(idx)",
        "y[idx[i]] += x[i];",
        expect![[r#"
        Independent ["injective"] ["used"]
    "#]],
    );
}

#[test]
fn an_element_that_two_iterations_read() {
    check_loop(
        "injective(idx)",
        "y[idx[i]] = y[idx[i + 1]];",
        expect![[r#"
        Unknown ["injective"] ["used"]
    "#]],
    );
    check_loop(
        "injective(idx)",
        "y[idx[i / 2]] = x[i];",
        expect![[r#"
        Unknown [] ["unused"]
    "#]],
    );
    check_loop(
        "injective(idx)",
        "for (int j = 0; j < m; j++) y[idx[j]] = x[i];",
        expect![[r#"
        Unknown [] ["unused"]
        Independent ["injective"] ["used"]
    "#]],
    );
}

#[test]
fn cells_that_no_promise_keeps_apart() {
    check_loop(
        "injective(idx), injective(other)",
        "y[idx[i]] = y[other[i]];",
        expect![[r#"
        Unknown ["injective"] ["used", "unused"]
    "#]],
    );
    check_loop(
        "injective(idx)",
        "y[idx[i]] = y[idx[i] + 1];",
        expect![[r#"
        Unknown ["injective"] ["used"]
    "#]],
    );
    check_loop(
        "injective(idx)",
        "for (int j = 0; j < m; j++) y[idx[i] + j] = x[i];",
        expect![[r#"
        Unknown [] ["unused"]
        Independent [] ["unused"]
    "#]],
    );
    check_loop(
        "injective(idx)",
        "y[idx[i] / 2] = x[i];",
        expect![[r#"
            Unknown [] ["unused"]
        "#]],
    );
}

#[test]
fn an_index_that_the_loop_changes_is_not_the_one_that_was_promised() {
    check_loop(
        "injective(idx)",
        "y[idx[i]] = x[i]; idx[i] = 0;",
        expect![[r#"
        Unknown [] ["unused"]
    "#]],
    );
    check_loop(
        "in-range(idx, 0, n), injective(idx)",
        "idx[i] = i / 2; y[idx[i]] = x[i];",
        expect![[r#"
        Unknown [] ["unused", "unused"]
    "#]],
    );
}

#[test]
fn ranges_keep_cells_apart() {
    check_loop(
        "injective(idx), in-range(idx, 0, n)",
        "y[idx[i]] = y[n + i];",
        expect![[r#"
        Independent ["injective", "in-range"] ["used", "used"]
    "#]],
    );
    check_loop(
        "in-range(idx, n, m)",
        "y[i] = y[idx[i]];",
        expect![[r#"
        Independent ["in-range"] ["used"]
    "#]],
    );
    check_loop(
        "in-range(idx, n - 1, m)",
        "y[i] = y[idx[i]];",
        expect![[r#"
        Unknown ["in-range"] ["used"]
    "#]],
    );
    // the bound is another one in each iteration
    check_loop(
        "in-range(idx, m, n)",
        "y[m] = y[idx[i]]; m--;",
        expect![[r#"
        Unknown [] ["unused"]
    "#]],
    );
}

#[test]
fn what_points_into_the_middle_says_nothing_of_the_rest() {
    check(
        "void f(int n, const int *restrict idx, float *restrict y) {\nconst int *p = idx + 1;\n\
         // warpwright: assume(injective(p))\nfor (int i = 0; i < n; i++) y[p[i - 1]] = i;\n}\n",
        expect![[r#"
            Unknown [] ["unused"]
        "#]],
    );
}

#[test]
fn a_witness_counts_more_than_a_promise() {
    check_loop(
        "injective(idx), size(x) = n",
        "x[i + 1] = x[i]; y[idx[i]] = x[i];",
        expect![[r#"
        Sequential [] ["used", "unused"]
    "#]],
    );
    check(
        "void f(int n, double *x) {\ndouble *y = x;\n// warpwright: assume(no-alias(x, y))\n\
         for (int i = 1; i < n; i++) x[i] = y[i - 1];\n}\n",
        expect![[r#"
            Sequential [] ["refuted"]
        "#]],
    );
    check(
        "static int calls;\nint g(int i) { calls++; return i; }\n// warpwright: assume(pure(g))\n\
         void f(int n, int *x) {\nfor (int i = 0; i < n; i++) x[i] = g(i);\n}\n",
        expect![[r#"
            Sequential [] ["refuted"]
        "#]],
    );
}

#[test]
fn a_promise_counts_for_the_loops_in_its_own_and_for_no_other() {
    check(
        "void f(int n, const int *restrict idx, float *restrict y) {\n\
         // warpwright: assume(injective(idx))\nfor (int t = 0; t < n; t++)\n\
         for (int i = 0; i < n; i++) y[idx[i]] = i;\nfor (int i = 0; i < n; i++) y[idx[i]] = i;\n}\n",
        expect![[r#"
            Unknown [] ["unused"]
            Independent ["injective"] ["used"]
            Unknown [] []
        "#]],
    );
}

#[test]
fn functions_that_touch_nothing() {
    let code = |promise: &str| {
        format!("double g(double);\nvoid f(int n, double *a) {{\n{promise}\nfor (int i = 0; i < n; i++) a[i] = g(a[i]);\n}}\n")
    };
    check(
        &code("// warpwright: assume(pure(g))"),
        expect![[r#"
        Independent ["pure"] ["used"]
    "#]],
    );
    check(
        &code(""),
        expect![[r#"
        Unknown [] []
    "#]],
    );
}
