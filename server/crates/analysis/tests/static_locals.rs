//! Static variables of a function: what calls are given them and keep nothing, no parameter of the function is.

mod common;

use analysis::{ConditionKind, Verdict};
use common::last_loop_of_f;

/// Whether the loop is independent, and how many pairs are to be told apart.
fn asked(text: &str) -> (Verdict, usize) {
    let l = last_loop_of_f(text);
    (l.verdict, l.conditions.iter().filter(|c| matches!(c.kind, ConditionKind::NoAlias(..))).count())
}

const FILL: &str = "static void fill(int n, double *v) { for (int i = 0; i < n; i++) v[i] = i; }\n";
const LOOP: &str = "for (int i = 0; i < n; i++) x[i] = 2 * u[i]; }";

#[test]
fn what_is_only_used_by_calls_is_no_parameters() {
    let text = format!("{FILL}void f(int n, double *x) {{ static double u[128]; fill(n, u); {LOOP}");
    assert_eq!(asked(&text), (Verdict::Independent, 0), "{text}");
}

#[test]
fn what_somebody_may_have_kept_is_asked_of() {
    for body in [
        // kept, handed to nobody knows whom, or to the function itself
        "static double u[128]; keep(u);",
        "static double u[128]; other(n, u);",
        "static double u[128]; fill(n, u); if (n > 5) f(n - 1, u);",
        "static double u[128]; fill(n, u); if (n > 5) g(n - 1, u);",
        "static double u[128]; kept = u;",
        "static double u[128]; keep_by_way(u);",
        "static double u[128]; fill(n, u); if (n > 5) (*called)(n);",
    ] {
        let text = format!(
            "{FILL}void other(int n, double *v);\nvoid f(int n, double *x);\nvoid (*called)(int);\nstatic void g(int n, double *x) {{ f(n, x); }}\n\
             double *kept;\nstatic void keep(double *v) {{ kept = v; }}\nstatic void keep_by_way(double *v) {{ static double *mine; mine = v; kept = mine; }}\nvoid f(int n, double *x) {{ {body} {LOOP}"
        );
        assert_eq!(asked(&text), (Verdict::Independent, 1), "{text}");
    }
}
