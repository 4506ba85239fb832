//! Names that the header of a statement declares end with it.

mod common;

use analysis::Verdict;
use common::last_of_depth_zero;

#[test]
fn what_a_header_declares_ends_with_the_statement() {
    for head in [
        "if (sizeof(enum { STEP = 4 }) > 100) a[0] = 1;",
        "while (sizeof(enum { STEP = 4 }) > 100) a[0] = 1;",
        "switch (sizeof(enum { STEP = 4 })) { case 100: a[0] = 1; }",
        "do a[0] = 1; while (sizeof(enum { STEP = 4 }) > 100);",
    ] {
        let l = last_of_depth_zero(&format!(
            "enum {{ STEP = 1 }};\nvoid f(int *a) {{ {head} for (int i = 0; i < 4; i++) a[i] = a[i + STEP]; }}"
        ));
        assert_eq!(l.verdict, Verdict::Sequential, "{head}");
    }
    let inside = last_of_depth_zero(
        "enum { STEP = 1 };\nvoid f(int *a) { for (int i = 0; i < 4; i++) if (sizeof(enum { STEP = 4 }) < 100) a[i] = a[i + STEP]; }",
    );
    assert_eq!(inside.verdict, Verdict::Independent);
}
