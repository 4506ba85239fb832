//! Parts of arrays that lie one behind the other: where they begin and end stands in an array that must be sorted.

mod common;

use analysis::{ConditionKind, MetBy, Verdict};
use common::last_of_depth_zero;

/// Whether the loop rests on an array being sorted, which the host tests.
fn is_tested(facts: &analysis::LoopFacts) -> bool {
    facts
        .conditions
        .iter()
        .any(|c| matches!(c.kind, ConditionKind::Sorted(_)) && c.met_by == MetBy::RunTimeCheck)
}

/// Compressed rows: iterations write parts of `x` that do not meet if the array of their ends is sorted.
#[test]
fn parts_between_elements_of_a_sorted_array_do_not_meet() {
    for body in [
        "for (int i = 0; i < n; i++) for (int k = p[i]; k < p[i + 1]; k++) x[k] *= d[i];",
        "for (int i = 0; i < n; i++) for (int k = p[i]; k < p[i + 1]; k++) x[k] = d[i];",
        "for (int i = 0; i < n; i++) for (int k = p[i + 1] - 1; k >= p[i]; k--) x[k] = d[i];",
        "for (int i = n - 1; i >= 0; i--) for (int k = p[i]; k < p[i + 1]; k++) x[k] = d[i];",
        "for (int i = 1; i <= n; i++) for (int k = p[i - 1]; k < p[i]; k++) x[k] = d[i];",
        "for (int i = 0; i < n; i++) { int from = p[i], to = p[i + 1]; for (int k = from; k < to; ++k) x[k] = d[i]; }",
        "for (int i = 0; i < n; i++) for (int k = p[i] - 1; k <= p[i + 1] - 2; k++) x[k] = d[i];",
        "for (int i = 0; i < n; i += 2) for (int k = p[i]; k < p[i + 2]; k++) x[k] = d[i];",
        "for (int i = 0; i < m->n; i++) for (int k = m->p[i]; k < m->p[i + 1]; k++) m->x[k] = d[i];",
        "for (int i = 0; i < m->n; i++) for (int k = m->p[i]; k < m->p[i + 1]; k++) if (m->c[k] == i) m->x[k] = d[i];",
        "for (int i = 0; i < n; i++) { double s = 0; for (int k = p[i]; k < p[i + 1]; k++) s += x[k]; for (int k = p[i]; k < p[i + 1]; k++) x[k] /= s; }",
    ] {
        let facts = last_of_depth_zero(&text(body));
        assert_eq!(facts.verdict, Verdict::Independent, "{body} {:?} {:?}", facts.obstacles, facts.dependences);
        assert!(is_tested(&facts), "{body}");
    }
}

/// Nothing is asked for where it would not help, and nothing is believed of what the loop changes.
#[test]
fn other_parts_may_meet() {
    for body in [
        // the ends themselves are shared
        "for (int i = 0; i < n; i++) for (int k = p[i]; k <= p[i + 1]; k++) x[k] = d[i];",
        "for (int i = 0; i < n; i++) for (int k = p[i] - 1; k < p[i + 1]; k++) x[k] = d[i];",
        "for (int i = 0; i < n; i++) for (int k = p[i]; k < p[i + 2]; k++) x[k] = d[i];",
        "for (int i = 0; i < n; i++) for (int k = p[i + 1]; k > p[i - 1]; k--) x[k] = d[i];",
        // more is written than the part
        "for (int i = 0; i < n; i++) for (int k = p[i]; k < p[i + 1]; k++) x[k + 1] = x[k] + d[i];",
        "for (int i = 0; i < n; i++) for (int k = p[i]; k < p[i + 1]; k++) x[c[k]] = d[i];",
        // the ends change, or are those of another array
        "for (int i = 0; i < n; i++) { for (int k = q[i]; k < q[i + 1]; k++) x[k] = d[i]; q[i + 1] = 3; }",
        "for (int i = 0; i < n; i++) for (int k = p[i]; k < c[i]; k++) x[k] = d[i];",
        "for (int i = 0; i < n; i++) for (int k = p[c[i]]; k < p[c[i] + 1]; k++) x[k] = d[i];",
        "for (int i = 0; i < n; i++) { for (int k = m->p[i]; k < m->p[i + 1]; k++) m->x[k] = d[i]; m = m->next; }",
        "for (int i = 0; i < n; i++) for (int k = m->p[i]; k < o->p[i + 1]; k++) x[k] = d[i];",
        // bytes may be anybody's
        "for (int i = 0; i < n; i++) for (int k = p[i]; k < p[i + 1]; k++) { x[k] = d[i]; ((char *)p)[k] = 0; }",
    ] {
        let facts = last_of_depth_zero(&text(body));
        assert_ne!(facts.verdict, Verdict::Independent, "{body} {:?}", facts.conditions);
    }
    // what is parallel in any case asks for nothing
    let sums = "for (int i = 0; i < n; i++) { double s = 0; for (int k = p[i]; k < p[i + 1]; k++) s += x[k]; d[i] = s; }";
    let facts = last_of_depth_zero(&text(sums));
    assert_eq!((facts.verdict, is_tested(&facts)), (Verdict::Independent, false), "{:?}", facts.conditions);
}

fn text(body: &str) -> String {
    format!(
        "typedef struct csr {{ int n; int *p, *c; double *x; struct csr *next; }} csr;
         void f(int n, const int *p, int *q, const int *restrict c, double *restrict x, double *restrict d, csr *m, csr *o) {{ {body} }}"
    )
}
