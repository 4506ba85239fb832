//! Reductions into memory, extremes with their place, last values, work arrays, and the names of recurrences: what is
//! accepted, and beside it the nearest thing that must not be.

mod common;

use analysis::{analyze, Cells, Program, RecurrenceKind, Verdict};
use base::Budget;
use common::last_of_depth_zero;

/// The outermost loop in one line: verdict, reductions, privates, recurrences.
fn said(text: &str) -> String {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let body = &unit.items.last().expect("a function").body;
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let facts = analyze(body, &program, analysis::SAVE, &Budget::new(u64::MAX));
    let name = |s| body.symbols[s].name.to_string();
    let l = facts.loops.iter().next().expect("a loop");
    let mut out = match l.verdict {
        Verdict::Independent => "independent",
        Verdict::Reduction => "reduction",
        Verdict::Sequential => "sequential",
        Verdict::Unknown => "unknown",
    }
    .to_owned();
    if l.verdict == Verdict::Reduction {
        for r in &l.reductions {
            let cells = match r.cells {
                Cells::Variable => "",
                Cells::One => "[.]",
                Cells::Many => "[*]",
            };
            out += &format!(" {:?}({}{cells})", r.op, name(r.object.symbol));
        }
    }
    for p in l.privates.iter().filter(|p| !p.declared_inside && !p.kept) {
        out += &format!(" private({})", name(p.symbol));
    }
    for r in &l.recurrences {
        let what = match r.kind {
            RecurrenceKind::Scan { op, exclusive } => {
                format!("scan {op:?}{}", if exclusive { " exclusive" } else { "" })
            }
            RecurrenceKind::Linear { distance } => format!("linear {distance}"),
            RecurrenceKind::Search => "search".to_owned(),
            RecurrenceKind::Packing { .. } => "packing".to_owned(),
            RecurrenceKind::WrapAround => "wrap-around".to_owned(),
        };
        let of = r.object.as_ref().map(|o| name(o.symbol)).unwrap_or_default();
        out += &format!(" {what}:{of}");
    }
    out
}

fn check(body: &str, expected: &str) {
    let text = format!(
        "int h[64]; double w[64];\n\
         int f(int n, int m, const int *restrict a, const int *restrict g, int *restrict b, int d[n][m],\n\
               const float *restrict x) {{ int s = 0, k = 0, t = 0; {body} }}"
    );
    assert_eq!(said(&text), expected, "{body}");
}

#[test]
fn cells_that_the_data_choose() {
    check("for (int i = 0; i < n; i++) h[a[i] & 63]++; return 0;", "reduction Add(h[*])");
    check("for (int i = 0; i < n; i++) w[a[i] & 63] -= x[i]; return 0;", "reduction Add(w[*])");
    check(
        "for (int i = 0; i < n; i++) h[a[i] & 63] = h[a[i] & 63] | g[i]; return 0;",
        "reduction BitOr(h[*])",
    );
    check(
        "for (int i = 0; i < n; i++) { h[a[i] & 63] += 1; h[g[i] & 63] -= 2; } return 0;",
        "reduction Add(h[*])",
    );
    check("for (int i = 0; i < n; i++) { h[a[i] & 63] += 1; h[g[i] & 63] *= 2; } return 0;", "unknown");
    check("for (int i = 0; i < n; i++) { h[a[i] & 63] += 1; b[i] = h[3]; } return 0;", "unknown");
    check("for (int i = 0; i < n; i++) h[a[i] & 63] = g[i] - h[a[i] & 63]; return 0;", "unknown");
    check("for (int i = 0; i < n; i++) h[a[i] & 63] = h[g[i] & 63] + 1; return 0;", "unknown");
    check("for (int i = 0; i < n; i++) h[a[i] & 63] += h[5]; return 0;", "unknown");
    // Beside the cells that accumulate, others may be read.
    check("for (int i = 0; i < n; i++) { h[a[i] & 31] += 1; } return h[40];", "reduction Add(h[*])");
}

#[test]
fn sections_and_single_cells() {
    check(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) b[j] += d[i][j]; return 0;",
        "reduction Add(b[*])",
    );
    check("for (int i = 0; i < n; i++) b[3] += a[i]; return 0;", "reduction Add(b[.])");
    check("for (int i = 0; i < n; i++) b[2 * i] += a[i]; return 0;", "independent");
    // Nothing is accumulated where no two iterations meet in the cell, whatever else is done to it there.
    check("for (int i = 0; i < 1; i++) { b[m] += a[i]; b[m] = g[i]; } return 0;", "independent");
    check("for (int i = 0; i < n; i++) if (i == 3) { b[m] += a[i]; b[m] = g[i]; } return 0;", "independent");
    check("for (int i = 0; i < 2; i++) { b[m] += a[i]; b[m] = g[i]; } return 0;", "sequential");
    check("for (int i = 0; i < n; i++) b[3] += b[i]; return 0;", "sequential");
    check(
        "for (int i = 0; i < n; i++) { b[3] += a[i]; b[4] *= 2; } return 0;",
        "reduction Add(b[.]) Mul(b[.])",
    );
    check("for (int i = 0; i < n; i++) { b[m] += a[i]; b[4] *= 2; } return 0;", "sequential");
}

#[test]
fn extremes_with_their_place() {
    check(
        "for (int i = 0; i < n; i++) if (a[i] < s) { s = a[i]; k = i; } return k;",
        "reduction ArgMin { last: false }(s) ArgMin { last: false }(k)",
    );
    check(
        "for (int i = 0; i < n; i++) if (s <= a[i]) { k = i; s = a[i]; } return k;",
        "reduction ArgMax { last: true }(s) ArgMax { last: true }(k)",
    );
    check(
        "for (int i = 0; i < n; i++) if (g[i] && a[i] > s) { s = a[i]; k = i; } return k;",
        "reduction ArgMax { last: false }(s) ArgMax { last: false }(k)",
    );
    check(
        "for (int i = 0; i < n; i++) if (a[i] < a[k]) k = i; return k;",
        "reduction ArgMin { last: false }(k)",
    );
    // The value kept is another one; the pair is looked at; the kinds differ; the comparison uses the old place.
    check("for (int i = 0; i < n; i++) if (a[i] < s) { s = g[i]; k = i; } return k;", "sequential");
    check(
        "for (int i = 0; i < n; i++) { if (a[i] < s) { s = a[i]; k = i; } b[i] = k; } return k;",
        "sequential",
    );
    check("for (int i = 0; i < n; i++) if (x[i] < s) { s = x[i]; k = i; } return k;", "sequential");
    check("for (int i = 0; i < n; i++) if (a[i] < a[k] + i) k = i; return k;", "sequential");
    check("for (int i = 0; i < n; i++) if (a[i] < s) { s = a[i]; k += i; } return k;", "sequential");
    check("for (int i = 0; i < n; i++) { if (b[i] > b[k]) k = i; b[i] = 0; } return k;", "unknown");
}

/// The same, kept in memory: where nothing else of the loop touches the cells, or may touch them.
#[test]
fn extremes_kept_in_memory() {
    let pair = "reduction ArgMin { last: false }(b[.]) ArgMin { last: false }(h[.])";
    check("for (int i = 0; i < n; i++) if (a[i] < *b) { *b = a[i]; *h = i; } return 0;", pair);
    check("for (int i = 0; i < n; i++) if (a[i] < *b) { *h = i; *b = a[i]; } return 0;", pair);
    check("for (int i = 0; i < n; i++) if (b[m] > a[i]) { h[3] = i; b[m] = a[i]; } return 0;", pair);
    check("for (int i = 0; i < n; i++) if (g[i] && a[i] < *b) { *b = a[i]; *h = i; } return 0;", pair);
    check(
        "for (int i = 0; i < n; i++) if (a[i] >= s) { s = a[i]; *h = i; } return s;",
        "reduction ArgMax { last: true }(s) ArgMax { last: true }(h[.])",
    );
    check(
        "for (int i = 0; i < n; i++) if (a[i] >= h[0]) { h[0] = a[i]; k = i; } return k;",
        "reduction ArgMax { last: true }(h[.]) ArgMax { last: true }(k)",
    );
    check(
        "for (int i = 0; i < n; i++) if (a[i] > a[*h]) *h = i; return 0;",
        "reduction ArgMax { last: false }(h[.])",
    );
    // in each row its own
    check(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if (d[i][j] < b[i]) b[i] = d[i][j]; return 0;",
        "independent",
    );
}

/// And beside it what must not be.
#[test]
fn no_extremes_kept_in_memory() {
    for body in [
        // the cell is what is searched, or one of it
        "if (b[i] < *b) { *b = b[i]; *h = i; }",
        "if (b[i] < b[m]) { b[m] = b[i]; *h = i; }",
        "if (a[i] < *b) { *b = a[i]; b[i] = i; }",
        // another use of a cell
        "if (a[i] < *b) { *b = a[i]; *h = i; } k += *h;",
        "if (a[i] < *b) { *b = a[i]; *h = i; } *h = 0;",
        "k += b[0]; if (a[i] < *b) { *b = a[i]; *h = i; }",
        "if (a[i] < *b) { *b = a[i]; *h = i; } if (g[i] < *b) *b = g[i];",
        "if (a[i] < *b) { *b = a[i]; *h = i; } else *b += 1;",
        // what is kept is another value, or depends on what was kept
        "if (a[i] < *b) { *b = g[i]; *h = i; }",
        "if (a[i] < *b) { *b = a[i]; *h += i; }",
        "if (a[i] < *b) { *b = a[i]; *h = *b + i; }",
        "if (a[i] < *b + i) { *b = a[i]; *h = i; }",
        // the cells move, or are one
        "if (a[i] < b[i & 1]) { b[i & 1] = a[i]; *h = i; }",
        "if (a[i] < *b) { *b = a[i]; h[i & 1] = i; }",
        "if (a[i] < *b) { *b = a[i]; *b = i; }",
        "if (a[i] < *b) { *b = a[i]; *h = i; b = h; }",
        "if (a[i] < a[*h]) { *h = i; h++; }",
        // least and greatest share the place
        "if (a[i] < *b) { *b = a[i]; *h = i; } if (a[i] > b[1]) { b[1] = a[i]; *h = i; }",
        // what is searched is written
        "if (b[i] > b[*h]) *h = i; b[i] = 0;",
        "if (h[i] > h[h[0]]) h[0] = i;",
        // in another type it is ordered otherwise
        "if (x[i] < w[0]) { w[0] = x[i]; *h = i; }",
        "if (a[i] < ((unsigned *)b)[0]) { ((unsigned *)b)[0] = a[i]; *h = i; }",
        "if (((volatile int *)b)[0] > a[i]) { ((volatile int *)b)[0] = a[i]; *h = i; }",
    ] {
        let text = format!(
            "int h[64]; double w[64];\n\
             int f(int n, int m, const int *restrict a, const int *restrict g, int *restrict b,\n\
                   const float *restrict x) {{ int k = 0; for (int i = 0; i < n; i++) {{ {body} }} return k; }}"
        );
        let found = said(&text);
        assert!(["sequential", "unknown"].iter().any(|v| found.starts_with(v)), "{body}: {found}");
    }
}

#[test]
fn last_values() {
    check("for (int i = 0; i < n; i++) { t = a[i]; b[i] = t * t; } return t;", "reduction Last(t)");
    check("for (int i = 0; i < n; i++) if (a[i] < 0) k = i; return k;", "reduction Last(k)");
    check("for (int i = 0; i < n; i++) { if (a[i] < 0) k = i; b[i] = k; } return 0;", "sequential");
    check(
        "for (int i = 0; i < n; i++) { if (a[i] < 0) k = i; else k = -i; b[i] = k; } return 0;",
        "independent private(k)",
    );
    check(
        "for (int i = 0; i < n; i++) { for (int j = 0; j < 3; j++) t = a[i + j]; b[i] = t; } return 0;",
        "independent private(t)",
    );
    // One that only the header sets is none of the loop's.
    check("int i; for (i = 0, t = 5; i < n; i++) b[i] = a[i]; return t;", "independent");
    // What one cell holds is a result, not a work array.
    check("for (int i = 0; i < n; i++) b[0] = a[i]; return 0;", "sequential");
}

#[test]
fn work_arrays() {
    let fill = "int v[4]; for (int i = 0; i < n; i++) { for (int j = 0; j < 4; j++) v[j] = a[i + j];";
    check(&format!("{fill} b[i] = v[3] - v[0]; }} return 0;"), "independent private(v)");
    check(&format!("{fill} b[i] = v[g[i]]; }} return 0;"), "independent private(v)");
    check(&format!("{fill} b[i] = v[3]; }} return v[2];"), "reduction Last(v[*])");
    let short = "int v[4] = {0}; for (int i = 0; i < n; i++) { for (int j = 0; j < 3; j++) v[j] = a[i + j];";
    // What no iteration writes is in all of them what it was before the loop.
    check(&format!("{short} b[i] = v[3]; }} return 0;"), "independent private(v)");
    check(&format!("{short} b[i] = v[g[i]]; }} return 0;"), "independent private(v)");
    check(&format!("{short} b[i] = v[g[i]]; v[3] = i; }} return 0;"), "sequential");
    check(
        "int v[4] = {0}; for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) v[0] = a[i]; b[i] = v[0]; } return 0;",
        "independent private(v)",
    );
    check(
        "int v[4] = {0}; for (int i = 0; i < n; i++) { for (int j = i; j < m; j++) v[0] = a[i]; b[i] = v[0]; } return 0;",
        "sequential",
    );
    check(
        "int v[4] = {0}; for (int i = 0; i < n; i++) { if (a[i]) v[0] = a[i]; b[i] = v[0]; } return 0;",
        "sequential",
    );
    check(
        "int v[4] = {0}, *p = v; for (int i = 0; i < n; i++) { v[0] = a[i]; b[i] = v[0]; } return p[0];",
        "reduction Last(v[*])",
    );
}

#[test]
fn names_of_recurrences() {
    check("for (int i = 0; i < n; i++) { s += a[i]; b[i] = s; } return s;", "sequential scan Add:s");
    check(
        "for (int i = 0; i < n; i++) { b[i] = s; s += a[i]; } return s;",
        "sequential scan Add exclusive:s",
    );
    check("for (int i = 1; i < n; i++) b[i] = b[i - 1] + a[i]; return 0;", "sequential scan Add:b");
    check("for (int i = 1; i < n; i++) b[i] = 3 * b[i - 1] + a[i]; return 0;", "sequential linear 1:b");
    check("for (int i = 2; i < n; i++) b[i] = b[i - 2] + a[i]; return 0;", "sequential linear 2:b");
    check("for (int i = 1; i < n; i++) b[i] = b[i - 1] / 2; return 0;", "sequential");
    check("for (int i = 0; i < n; i++) if (a[i] == m) { k = i; break; } return k;", "unknown search:");
    check("for (int i = 0; i < n; i++) { b[i] = 1; if (a[i] == m) break; } return k;", "unknown");
    check("for (int i = 0; i < n; i++) if (a[i] > 0) b[k++] = a[i]; return k;", "sequential packing:b");
    check("for (int i = 0; i < n; i++) { b[i] = a[i] + t; t = a[i]; } return 0;", "sequential wrap-around:t");
    // elements change places, which packs nothing
    let swaps = "if (a[i] == 0) { int t = a[i]; a[i] = a[k]; a[k] = t; --k; }";
    check(&format!("for (int i = 0; i < n; i++) {swaps} return k;"), "sequential");
    // a call of which nothing is known stays in the way whatever is done about the sum
    check("for (int i = 0; i < n; i++) { s += a[i]; b[i] = s; unknown_to_us(b); } return s;", "unknown");
    check("for (int i = 0; i < n; i++) { b[i] = t; t = t / 2 + a[i]; } return 0;", "sequential");
}

/// `t = s, u = |a[i]|; s = t > u ? t : u;`, as translators from Fortran write what is the largest.
#[test]
fn the_largest_through_a_copy_of_it() {
    for (inside, found) in [
        ("d = s; e = a[i] < 0 ? -a[i] : a[i]; s = d >= e ? d : e;", Verdict::Reduction),
        ("d = s, e = fabs(a[i]); s = d > e ? d : e;", Verdict::Reduction),
        ("d = s; s = fmax(d, a[i]);", Verdict::Reduction),
        ("d = s; s = d + a[i];", Verdict::Reduction),
        // it is read besides
        ("d = s; s = d > a[i] ? d : a[i]; b[i] = d;", Verdict::Unknown),
        ("d = s; b[i] = s; s = d > a[i] ? d : a[i];", Verdict::Unknown),
        // it is no copy of what is there when the update begins
        ("d = s; s = a[i]; s = d > a[i] ? d : a[i];", Verdict::Unknown),
        ("d = s; d = a[i + 1]; s = d > a[i] ? d : a[i];", Verdict::Unknown),
        ("d = s; if (i % 3) d = 0; s = d > a[i] ? d : a[i];", Verdict::Unknown),
        ("if (i % 3) d = s; s = d > a[i] ? d : a[i];", Verdict::Unknown),
        ("d = s; s = d > a[i] ? a[i + 1] : d;", Verdict::Unknown),
    ] {
        let text = format!(
            "#include <math.h>\ndouble f(int n, const double *restrict a, double *restrict b) {{ double s = 0, d = 0, e = 0; for (int i = 0; i < n; i++) {{ {inside} }} return s; }}"
        );
        let verdict = last_of_depth_zero(&text).verdict;
        match found {
            Verdict::Reduction => assert_eq!(verdict, Verdict::Reduction, "{text}"),
            _ => assert!(matches!(verdict, Verdict::Unknown | Verdict::Sequential), "{text}"),
        }
    }
    let kept = "double f(int n, const double *restrict a) { double s = 0, d = 0; for (int i = 0; i < n; i++) { d = s; s = d > a[i] ? d : a[i]; } return s + d; }";
    assert!(!matches!(last_of_depth_zero(kept).verdict, Verdict::Reduction | Verdict::Independent));
}

/// What is counted may be found on the way (`count[*p++]++`), and what is added may be kept (`s += a[i] = e`).
#[test]
fn places_that_move_and_values_that_are_kept() {
    for (text, expected) in [
        ("void f(const unsigned char *p, const unsigned char *end, int *count) { while (p != end) count[*p++]++; }", "reduction Add(count[*])"),
        ("void f(const unsigned char *p, int n, int *count) { const unsigned char *end = p + n; while (p < end) count[*p++] += 2; }", "reduction Add(count[*])"),
        ("void f(const unsigned char *p, int n, unsigned count[256]) { while (n--) count[*p++]++; }", "reduction Add(count[*])"),
        ("double f(int n, double *k, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += k[i] = x[i] * x[i]; return s; }", "reduction Add(s)"),
        ("double f(int n, double *k, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += k[i] *= x[i]; return s; }", "reduction Add(s)"),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
    // what is read of the place, of the sum, or of what another iteration keeps
    for text in [
        "int f(const unsigned char *p, int n, int *count) { int m = 0; for (int i = 0; i < n; i++) m += count[*p++]++; return m; }",
        "void f(unsigned char *p, int n, unsigned char *last) { while (n--) last[*p++]++, *last = last[*p]; }",
        "void f(int n, int *count) { int *p = count; while (n--) count[*p++]++; }",
        "void f(int n, int *p, int *count) { for (int i = 0; i < n; i++) count[p[0]++]++; }",
        "double f(int n, double *k) { double s = 0; for (int i = 0; i < n; i++) s += k[i] = s; return s; }",
        "double f(int n, double *k) { double s = 0; for (int i = 0; i < n; i++) s += k[i + 1] = k[i] * 2; return s; }",
        "double f(int n, double *k) { double s = 0; for (int i = 0; i < n; i++) s += k[0] = i + k[0]; return s; }",
        "int f(int n, int *k) { int s = 0, *q = &s; for (int i = 0; i < n; i++) s += *q = i; return s; }",
        "int s; int f(int n, int *k) { for (int i = 0; i < n; i++) s += *k = i; return s; }",
        "double f(int n, double *k, int *j) { double s = 0; for (int i = 0; i < n; i++) s += k[j[i]] = i; return s; }",
    ] {
        let found = said(text);
        assert!(!found.starts_with("independent") && !found.starts_with("reduction"), "{text} {found}");
    }
}
