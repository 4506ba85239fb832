//! Actions: what is offered, and what they do.

use base::Span;
use expect_test::{expect, Expect};

use super::{cursor, everywhere, full, open};
use crate::offload::{offload, Refused, Which};
use crate::{actions, lenses, resolve, ActionKind, Doc, Language, Options, ResolveError, Resolved};

fn check_offered(code: &str, expected: Expect) {
    let (code, at) = cursor(code);
    let doc = open(&code);
    let findings = full(&doc);
    let mut out = String::new();
    for a in actions(&crate::Ask::thorough(&doc), &findings, Span { start: at, end: at }) {
        let answers: Vec<&str> = a.diagnostics.iter().map(|k| findings.diagnostics[*k].code).collect();
        out.push_str(&format!("{} | {} | {} | {}", a.id, a.kind.name(), a.title, answers.join(",")));
        if let Some(reason) = a.disabled {
            out.push_str(&format!(" | disabled: {reason}"));
        }
        out.push('\n');
    }
    expected.assert_eq(&out);
}

/// The text after the action whose id begins so.
fn check_edit(code: &str, id: &str, expected: Expect) {
    let (code, at) = cursor(code);
    let doc = open(&code);
    let findings = full(&doc);
    let offered = actions(&crate::Ask::thorough(&doc), &findings, Span { start: at, end: at });
    let action = offered.iter().find(|a| a.id.to_string().starts_with(id)).expect("the action is offered");
    let out = match resolve(&crate::Ask::thorough(&doc), &findings, &action.id) {
        Ok(Resolved::Edit(edit)) => {
            let mut out = String::new();
            for e in &edit.edits {
                assert_eq!(e.file, None);
                out.push_str(&e.edits.apply(doc.text()).expect("edits fit").to_string());
            }
            for f in &edit.create {
                out.push_str(&format!("==== {}\n{}", f.name, f.text));
            }
            out
        }
        Ok(Resolved::Show { title, markdown, .. }) => format!("{title}\n{markdown}\n"),
        Err(e) => format!("{e:?}\n"),
    };
    // line ends are part of an edit
    expected.assert_eq(&out.replace('\r', "<CR>"));
}

const CLEAR: &str = "void f(int n, float *a) {\n    f$0or (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n";
const MARKED: &str =
    "void f(int n, float *a) {\n    // warpwright: offload(k)\n    f$0or (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n";

/// The blanks before a loop belong to it, as its lens above them does.
#[test]
fn the_blanks_before_a_loop_are_on_it() {
    let ids = |at: &str| -> Vec<String> {
        let code = "int g(void);\nvoid f(int n, float *a) {\n    while (g()) {\n        for (int i = 0; i < n; i++)\n            a[i] = 0;\n    }\n}\n";
        let doc = open(code);
        let at = code.find(at).expect("a place") as u32;
        let all = actions(&crate::Ask::thorough(&doc), &full(&doc), Span { start: at, end: at });
        all.iter().map(|a| a.id.to_string()).collect()
    };
    assert_eq!(ids("        for"), ids("for"));
    assert!(ids("        for").contains(&"offload:f#1".to_owned()), "{:?}", ids("        for"));
    assert!(!ids("    while").contains(&"offload:f#1".to_owned()));
}

#[test]
fn offered_on_a_parallel_loop() {
    check_offered(
        CLEAR,
        expect![[r#"
            offload:f#0 | refactor.rewrite.warpwright.offload | Offload to GPU: loop i | 
            mark:f#0 | refactor.rewrite.warpwright.mark | Mark loop i for the GPU | 
            explain:f#0 | refactor.rewrite.warpwright.explain | Why is loop i parallel? | 
        "#]],
    );
}

#[test]
fn offered_on_a_marked_loop() {
    check_offered(
        MARKED,
        expect![[r#"
        offload:f#0 | refactor.rewrite.warpwright.offload | Offload to GPU: loop i | parallel-loop
        unmark:f#0 | quickfix | Remove the GPU mark of loop i | parallel-loop
        explain:f#0 | refactor.rewrite.warpwright.explain | Why is loop i parallel? | parallel-loop
        ignore:parallel-loop@60 | quickfix | Ignore `parallel-loop` here (adds a comment) | parallel-loop
    "#]],
    );
}

#[test]
fn offered_on_a_sequential_loop() {
    check_offered(
        "void f(int n, float *a) {\n    f$0or (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n",
        expect![[r#"
            explain:f#0 | refactor.rewrite.warpwright.explain | Why is loop i sequential? | carried-dependence
            ignore:carried-dependence@30 | quickfix | Ignore `carried-dependence` here (adds a comment) | carried-dependence
        "#]],
    );
}

#[test]
fn offered_on_a_marked_sequential_loop() {
    check_offered(
        "void f(int n, float *a) {\n    #pragma ops target\n    f$0or (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n",
        expect![[r#"
            offload:f#0 | refactor.rewrite.warpwright.offload | Offload to GPU: loop i | marked-sequential | disabled: Loop is sequential: iteration i=1 writes a[1] on line 4, iteration i=2 reads it on line 4, for n=3 (flow dependence on `a`, distance 1). This is a recurrence: each iteration needs what an earlier one left in `a`.
            unmark:f#0 | quickfix | Remove the GPU mark of loop i | marked-sequential
            explain:f#0 | refactor.rewrite.warpwright.explain | Why is loop i sequential? | marked-sequential
            ignore:marked-sequential@53 | quickfix | Ignore `marked-sequential` here (adds a comment) | marked-sequential
        "#]],
    );
}

#[test]
fn a_loop_is_reached_from_its_body_and_not_from_beside_it() {
    check_offered(
        "void f(int n, float *a) {\n    for (int i = 1; i < n; i++)\n        a[i] $0= a[i - 1];\n}\n",
        expect![[r#"
            explain:f#0 | refactor.rewrite.warpwright.explain | Why is loop i sequential? | carried-dependence
        "#]],
    );
    check_offered(
        "void f(int n, float *a) {\n    $0n++;\n    for (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n",
        expect![[""]],
    );
    // of a nest it is the outermost loop that can be offloaded
    check_offered(
        "void f(int t, int n, int m, float *a) {\n    for (int s = 0; s < t; s++)\n        for (int i = 0; i < n; i++)\n            for (int j = 0; j < m; j++)\n                a[i * m + j] $0+= 1;\n}\n",
        expect![[r#"
            offload:f#0 | refactor.rewrite.warpwright.offload | Offload to GPU: loop s (reduction) | reduction-loop
            mark:f#0 | refactor.rewrite.warpwright.mark | Mark loop s for the GPU | reduction-loop
            explain:f#0 | refactor.rewrite.warpwright.explain | Why is loop s a reduction? | reduction-loop
        "#]],
    );
}

/// What is not made into a kernel is not offered, and says why in the same words as the finding.
#[test]
fn the_outcome_is_known_before_anything_is_offered() {
    let (code, at) = cursor("void f(int n, const long double *restrict b, double *restrict a) {\n    f$0or (int i = 0; i < n; i++)\n        a[i] = 2 * b[i];\n}\n");
    let doc = open(&code);
    let memo = crate::Memo::new();
    let typing = crate::Ask::new(&doc, &memo, crate::Tier::Typing, &base::CancelToken::new());
    for tier in [crate::Tier::Typing, crate::Tier::Full] {
        let ask = typing.at(tier);
        let findings = crate::check(&ask, &crate::Settings::default()).expect("nobody cancels");
        let message = &*findings.diagnostics[0].message;
        assert!(message.starts_with("Parallel, not yet offloadable (long double): "), "{message}");
        assert!(!message.contains("Apply"), "{message}");
        let offered = actions(&ask, &findings, Span { start: at, end: at });
        let offload = offered.iter().find(|a| a.kind == ActionKind::Offload).expect("listed");
        let why = offload.disabled.as_deref().expect("disabled");
        assert!(why.starts_with("Not yet offloadable (long double). No kernel is made: "), "{why}");
        assert!(lenses(&ask, &findings).is_empty());
        let hints = crate::inlay_hints(&ask, &findings, everywhere(&doc), false);
        assert_eq!(hints[0].label, "parallel, not yet offloadable: long double");
        let report = findings.loops[0].report().offload.clone().expect("it is parallel");
        assert_eq!(report.label.as_deref(), Some("long double"));
        let hover = crate::hover(&ask, &findings, at).expect("a hover").markdown;
        // the finding beside it has the sentence
        assert!(hover.contains("- not yet offloadable (long double)"), "{hover}");
    }
}

#[test]
fn titles_are_short_and_suppressions_come_last() {
    let code = "void a_function_with_a_long_name(int number_of_rows, int number_of_columns, int *restrict sum_of_all_elements, const int *restrict a) {\n    f$0or (int a_row_with_a_long_name = 0; a_row_with_a_long_name < number_of_rows; a_row_with_a_long_name++)\n        for (int a_column_with_a_long_name = 0; a_column_with_a_long_name < number_of_columns; a_column_with_a_long_name++)\n            *sum_of_all_elements += a[a_row_with_a_long_name * number_of_columns + a_column_with_a_long_name];\n}\n";
    let (code, at) = cursor(code);
    let doc = open(&code);
    let findings = full(&doc);
    let ask = crate::Ask::thorough(&doc);
    let offered = actions(&ask, &findings, Span { start: at, end: at });
    assert!(offered.iter().all(|a| a.title.chars().count() <= 60), "{offered:#?}");
    assert!(
        offered[0].title.starts_with("Offload to GPU: loop a_row_with_a_long_name") && offered[0].preferred,
        "{offered:#?}"
    );
    assert!(offered.last().is_some_and(|a| a.title.starts_with("Ignore")), "{offered:#?}");
    assert_eq!(offered.iter().filter(|a| a.preferred).count(), 1);
}

#[test]
fn mark() {
    check_edit(
        CLEAR,
        "mark:",
        expect![[r#"
        void f(int n, float *a) {
            // warpwright: offload
            for (int i = 0; i < n; i++)
                a[i] = 0;
        }
    "#]],
    );
}

#[test]
fn mark_goes_directly_before_a_loop_in_the_middle_of_a_line() {
    check_edit(
        "void f(int n, float *a) {\n    if (n) f$0or (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n",
        "mark:",
        expect![[r#"
            void f(int n, float *a) {
                if (n) // warpwright: offload
                for (int i = 0; i < n; i++)
                    a[i] = 0;
            }
        "#]],
    );
}

#[test]
fn unmark_comment() {
    check_edit(
        MARKED,
        "unmark:",
        expect![[r#"
        void f(int n, float *a) {
            for (int i = 0; i < n; i++)
                a[i] = 0;
        }
    "#]],
    );
}

#[test]
fn unmark_pragma() {
    check_edit(
        "void f(int n, float *a) {\n    #pragma ops target collapse(1)\n    f$0or (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n",
        "unmark:",
        expect![[r#"
            void f(int n, float *a) {
                for (int i = 0; i < n; i++)
                    a[i] = 0;
            }
        "#]],
    );
}

#[test]
fn ignore() {
    check_edit(
        "void f(int n, float *a) {\r\n\tf$0or (int i = 1; i < n; i++)\r\n\t\ta[i] = a[i - 1];\r\n}\r\n",
        "ignore:",
        expect![[r#"
            void f(int n, float *a) {<CR>
            	// warpwright: ignore[carried-dependence]<CR>
            	for (int i = 1; i < n; i++)<CR>
            		a[i] = a[i - 1];<CR>
            }<CR>
        "#]],
    );
}

#[test]
fn remove_unused_suppression() {
    check_edit(
        "void f(int n) {\n    n = 1; // warpwright: ig$0nore[parallel-loop]\n    n = 2;\n}\n",
        "remove:",
        expect![[r#"
            void f(int n) {
                n = 1;
                n = 2;
            }
        "#]],
    );
}

#[test]
fn explain() {
    check_edit(
        "int g(int);\nvoid f(int n, int *a) {\n    f$0or (int i = 0; i < n; i++)\n        a[i] = g(i);\n}\n",
        "explain:",
        expect![[r#"
            Why is loop i unknown?
            Line 3, `for (int i = 0; i < n; i++)`:

            **Unknown whether loop iterations are independent** (loop `i`)

            - `g`, called on line 4, may read or write anything: it is not defined in this file

            If you know that it does no harm, promise so in a comment before the loop: `// warpwright: assume(pure(g))`.

            ---

            # `unknown-loop`: nothing is proved of the loop

            *Default level: information.*

            ## What it says

            It is neither proved that the iterations are independent nor that two of them depend on each other. The message names the
            construct that stopped the analysis and its line.

            Nothing is said unasked of a loop that prints or reads input, asks the clock, makes or frees memory, fills an array with numbers, only copies elements or sets
            pointers, goes over one row of a matrix whose rows differ in length, looks for something or
            checks it, goes through text, comes out of a macro, rests on a header that was not found (`missing-header` says that once), stands on the host's side of a
            CUDA file, where no offload starts, or is too small for a launch ever to pay. Nor of one that is far from a verdict: more than two kinds of reasons stand in
            its way, more than six reasons, more than two pairs of arrays that nobody can keep apart, or one that no change on the spot does away with (data that decides, pointers that go elsewhere, rounds that nobody can count, what functions do
            further down). Of functions of which nothing is known the first loop of a file that calls them tells, and how many more do. Hover, actions and reports answer for it all the same; a mark or a promise, or
            a level of your own for this code in `warpwright.levels`, has it told like any other.

            ## Why it matters

            What is unknown is said as unknown: the loop is not offloaded, and it may well be parallel.

            ## Example

            ```c
            void scatter(int n, const int *restrict idx, double *restrict a) {
                for (int i = 0; i < n; i++)
            //  ^^^^^^^^^^^^^^^^^^^^^^^^^^^ unknown-loop
                    a[idx[i]] = i;
            }
            ```

            ## What to do

            The message ends with what would settle it. Common cases:

            - *a function is called whose effects are not known*: write what it computes into the loop, or call it outside. Where a header defines it only under a macro, name the macro in
              `warpwright.defines`, or with `-D`.
            - *a subscript comes out of memory*: whether it has the same value twice cannot be seen from the text.
            - *the loop is not counted* (`while`, `break`, a bound that changes): write it as `for (i = a; i < b; i += c)` with fixed
              parts.
            - *two pointers may overlap and this cannot be tested*: declare them `restrict` if they do not.
            - *only you can know it*: promise it, `// warpwright: assume(injective(idx))`. The message has the comment, the light bulb writes it;
              what can be promised is in `docs/promises.md`.
            - *the limit of counted steps*: save the file, or wait a moment, for the limit that `warpwright analyze` has; the editor's command
              Analyze Fully goes on until it is done or called off.

        "#]],
    );
}

#[test]
fn every_edit_removes_what_it_answers() {
    // after the suppression no diagnostic is left, and none about the suppression
    let (code, at) =
        cursor("void f(int n, float *a) {\n    f$0or (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n");
    let doc = open(&code);
    let findings = full(&doc);
    let offered = actions(&crate::Ask::thorough(&doc), &findings, Span { start: at, end: at });
    let action = offered.iter().find(|a| a.id.to_string().starts_with("ignore:")).expect("offered");
    let Ok(Resolved::Edit(edit)) = resolve(&crate::Ask::thorough(&doc), &findings, &action.id) else {
        panic!("an edit");
    };
    let after = open(&edit.edits[0].edits.apply(doc.text()).expect("fits").to_string());
    assert_eq!(full(&after).diagnostics, []);
}

#[test]
fn an_id_of_another_version_is_stale() {
    let (code, _) = cursor(CLEAR);
    let doc = open(&code);
    let findings = full(&doc);
    for id in ["offload:g#0", "mark:f#7", "ignore:parallel-loop@1", "remove:0-3"] {
        let id = crate::ActionId::parse(id).expect("an id");
        let done = resolve(&crate::Ask::thorough(&doc), &findings, &id);
        assert!(matches!(done, Err(ResolveError::Stale)), "{id:?}");
    }
}

#[test]
fn loops_of_cuda_documents_are_judged_but_not_offered() {
    let code = "__global__ void k(int n, float *a) {\n  for (int i = 0; i < n; i++) a[i] = 1;\n}\n\
                void f(int n, float *a) {\n  // warpwright: offload\n  for (int i = 0; i < n; i++) a[i] = 1;\n\
                  for (int i = 0; i < n; i++) a[i] = 1;\n}\n";
    let text = text::Text::new(code).expect("a small text");
    let doc = Doc::open(Language::Cuda, "a.cu", text, Options::default());
    let findings = full(&doc);
    let verdicts: Vec<&str> = findings.loops.iter().map(|l| l.report().verdict).collect();
    assert_eq!(verdicts, ["independent"; 3]);
    let said: Vec<&str> = findings.diagnostics.iter().map(|d| &*d.message).collect();
    expect!["Marked for the GPU, and loop `i` is parallel. Offloading starts from C files, and this one is read as CUDA."]
        .assert_eq(&said.join("\n"));
    let kinds: Vec<ActionKind> = actions(&crate::Ask::thorough(&doc), &findings, everywhere(&doc))
        .into_iter()
        .map(|a| a.kind)
        .collect();
    assert!(!kinds.contains(&ActionKind::Offload) && !kinds.contains(&ActionKind::Mark), "{kinds:?}");
    let titles: Vec<String> =
        lenses(&crate::Ask::thorough(&doc), &findings).into_iter().map(|l| l.title).collect();
    assert_eq!(titles, ["Not offloaded: not a C file"]);
    for which in [Which::Marked, Which::Line(8)] {
        let refused = offload(&crate::Ask::thorough(&doc), &findings, &which).err();
        let why = "Offloading starts from C files, and this one is read as CUDA.";
        assert_eq!(refused, Some(Refused::Because(why.to_owned())));
    }
}

/// The setting decides what the action writes, and its title says so.
#[test]
fn the_offload_action_writes_for_the_target_of_the_settings() {
    let code = "void f(int n, float *restrict a, const float *restrict b) {\n    for (int i = 0; i < n; i++)\n        a[i] = b[i] * 2.0f;\n}\n";
    let at = code.find("for").expect("a loop") as u32;
    let made = |target: &str| {
        let options = Options { target: crate::Target::of(target).expect("a target"), ..Options::default() };
        let doc = Doc::open(Language::C, "a.c", text::Text::new(code).expect("short"), options);
        let findings = full(&doc);
        let ask = crate::Ask::thorough(&doc);
        let offered = actions(&ask, &findings, Span { start: at, end: at });
        let action = offered.iter().find(|a| a.id.to_string().starts_with("offload")).expect("offered");
        let Ok(Resolved::Edit(edit)) = resolve(&ask, &findings, &action.id) else { panic!("no edit") };
        let host = edit.edits[0].edits.apply(doc.text()).expect("edits fit").to_string();
        let [file] = &edit.create[..] else { panic!("{} files", edit.create.len()) };
        (action.title.clone(), host, file.name.clone(), file.text.clone())
    };
    let (title, host, name, kernel) = made("hip");
    assert!(title.contains("GPU (HIP)"), "{title}");
    assert!(host.contains("if (!f_i_on_gpu(n, a, b)) {"), "{host}");
    assert!(name.ends_with(".hip") && kernel.contains("#include <hip/hip_runtime.h>"), "{name}\n{kernel}");
    assert!(kernel.contains("hipMalloc("), "{kernel}");
    assert!(!host.contains("cuda") && !kernel.contains("cuda"), "{host}{kernel}");
    let (title, host, name, kernel) = made("cuda");
    assert!(title.contains("GPU") && !title.contains("HIP"), "{title}");
    assert!(host.contains("if (!f_i_on_gpu(n, a, b)) {") && kernel.contains("cudaMalloc("), "{host}");
    assert!(name.ends_with(".cu") && !host.contains("hip") && !kernel.contains("hip"), "{name}\n{kernel}");
}
