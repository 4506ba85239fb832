//! What is said of loops before they are kernels, held to what the simulator counts in the kernels made of them.

use analysis::Across;
use expect_test::expect;

use super::{full, open};
use crate::kernels::{simulate_kernels, Shape, SimulateOptions};
use crate::{offload, Doc, Language, Options, Which};

/// What was compared.
#[derive(Default, Debug)]
struct Compared {
    /// Seen in requests of full warps.
    accesses: usize,
    /// Of those, with one number of sectors and no other.
    exact: usize,
    uniform: usize,
    divergent: usize,
}

/// Offloads the loop at a line and compares; `values`: parameters of the kernel by name. `None`: there is no kernel, or it
/// does not run with these.
fn compare(code: &str, line: u32, values: &[(&str, i128)], done: &mut Compared) -> Option<()> {
    let doc = open(code);
    let findings = full(&doc);
    let made = offload(&crate::Ask::thorough(&doc), &findings, &Which::Line(line));
    let made = made.ok()?;
    let (target, kernel) = (&made.loops[0], &made.loops[0].kernels[0]);
    let l = findings.loops.iter().find(|l| *l.key == *target.key).expect("the loop");
    let ask = crate::Ask::thorough(&doc);
    let place = findings.view(&ask, l.item).expect("a place");
    let m = match place.planned(l.id) {
        crate::plans::Planned::Kernel(outline) => crate::words::mappings(&place, &outline),
        crate::plans::Planned::Together(_) | crate::plans::Planned::No(_) => None,
    };
    let m = m?;
    let mapping = &m.all[m.lanes];

    let file = &made.edit.create[0];
    let cuda = text::Text::new(&file.text).expect("a short text");
    let cuda = Doc::open(Language::Cuda, "k.cu", cuda, Options::default());
    let grid = [3u32, if kernel.axes.len() > 1 { 8 } else { 1 }, 1];
    let head = file.text.split("__global__").nth(1).and_then(|t| t.split('{').next()).unwrap_or("");
    // what the host would pass, and nobody makes up right
    if head.contains("ww_from_") || head.contains("ww_by_") {
        return None;
    }
    let trips = head.split([' ', ',', ')', '(']).filter(|w| w.starts_with("ww_trips_"));
    let shape = Shape {
        grid,
        block: kernel.block,
        shared_bytes: 0,
        values: match values {
            // enough iterations for whole warps
            [] => trips.map(|n| (n.to_owned(), "64".to_owned())).collect(),
            values => values.iter().map(|(n, v)| ((*n).to_owned(), v.to_string())).collect(),
        },
        elements: Vec::new(),
        allocated: Vec::new(),
        taken: Vec::new(),
    };
    let options =
        SimulateOptions { launches: vec![(kernel.name.clone(), shape)], ..SimulateOptions::default() };
    let runs = simulate_kernels(&crate::Ask::thorough(&cuda), &options);
    let run = runs.iter().find(|r| r.name == kernel.name).expect("a run");
    if !run.completed || !run.problems.is_empty() {
        return None;
    }
    let source = |span: base::Span| {
        let line = crate::function_view::line_column(&cuda, span.start).line;
        target.line_map.iter().find(|(k, _)| *k == line).map(|&(_, s)| s)
    };
    for a in run.accesses.iter().filter(|a| a.count.space == term::Space::Global) {
        let Some(line) = source(a.span) else { continue };
        let here = mapping
            .accesses
            .iter()
            .filter(|p| place.line(p.term) == line && place.symbol(p.base) == &*a.count.object);
        let ranges: Vec<(u64, u64)> = here.map(|p| p.sectors.unwrap_or((1, 32))).collect();
        let least = ranges.iter().map(|r| r.0).min();
        let most = ranges.iter().map(|r| r.1).max();
        let (Some(least), Some(most)) = (least, most) else {
            panic!("`{}` on line {line} is not predicted\n{code}\n{}", a.count.object, file.text)
        };
        let c = &a.count;
        assert!(c.sectors <= most * c.requests, "line {line}: {c:?}, said {ranges:?}\n{code}");
        // fewer lanes may need fewer
        if c.lanes == 32 * c.requests {
            assert!(least * c.requests <= c.sectors, "line {line}: {c:?}, said {ranges:?}\n{code}");
            done.accesses += 1;
            done.exact += usize::from(least == most);
        }
    }
    for b in &run.branches {
        let Some(line) = source(b.span) else { continue };
        let here: Vec<Across> =
            mapping.branches.iter().filter(|p| place.line(p.term) == line).map(|p| p.across).collect();
        if here.is_empty() {
            continue;
        }
        if here.iter().all(|a| *a != Across::Nothing) {
            assert_eq!(b.count.divergent, 0, "line {line}: {b:?}\n{code}\n{}", file.text);
            done.uniform += 1;
        } else {
            done.divergent += usize::from(b.count.divergent > 0);
        }
    }
    Some(())
}

const STENCIL: &str = "void smooth(int n, int m, double *restrict out, const double *restrict in) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++) {
            if ((i + j) % 2 == 0)
                out[i * m + j] = in[i * m + j - 1] + in[i * m + j + 1];
            else if (i < 4)
                out[i * m + j] = in[(i - 1) * m + j];
            else
                out[i * m + j] = 0;
        }
}
";

const TRANSPOSE: &str = "void t(double a[96][96], const double b[96][96]) {
    for (int i = 0; i < 96; i++)
        for (int j = 0; j < 96; j++)
            a[i][j] = b[j][i];
}
";

const COLUMNS: &str = "void c(float a[96][96], const float x[96]) {
    for (int j = 0; j < 96; j++)
        for (int i = 0; i < 96; i++)
            a[i][j] = a[i][j] * x[i] + a[95 - i][j];
}
";

const RECORDS: &str = "struct body { float x, y, z, m; };
void r(int n, struct body *restrict p, const short *restrict k, double *restrict e) {
    for (int i = 0; i < n; i++) {
        p[i].x = p[i].y + k[3 * i];
        if (k[i] > 2)
            e[i] = p[i].z;
        for (int j = 0; j < 5; j++)
            e[i] += k[j];
        for (int j = 0; j < i; j++)
            p[i].m += 1;
    }
}
";

const TRIANGLE: &str = "void u(double a[96][96], double b[96]) {
    for (int i = 0; i < 96; i++)
        for (int j = i; j < 96; j++)
            a[i][j] = b[j] + b[j - i];
}
";

const SUM: &str = "double s(const double *a, const float *b) {
    double s = 0;
    for (int i = 0; i < 96; i++)
        s += a[i] * b[2 * i + 1];
    return s;
}
";

const TABLE: &str = "static int x[64];
void g(int *restrict y, const int *restrict at, int k) {
    for (int i = 95; i >= 0; i--) {
        int v = 7;
        if (k > 3)
            v = at[i];
        if (v > 5)
            v = 1;
        y[i] = x[at[i] & 63] + v;
    }
}
";

#[test]
fn predictions_are_what_the_simulator_counts() {
    let mut done = Compared::default();
    let mut run = |code, line, values: &[(&str, i128)]| {
        compare(code, line, values, &mut done).unwrap_or_else(|| panic!("no run of\n{code}"));
    };
    let square: &[(&str, i128)] = &[("ww_trips_i", 96), ("ww_trips_j", 96)];
    run(
        STENCIL,
        2,
        &[("ww_trips_i", 94), ("ww_trips_j", 94), ("ww_out_first", 97), ("ww_in_first", 1), ("m", 96)],
    );
    run(TRANSPOSE, 2, square);
    run(COLUMNS, 2, &[("ww_trips_j", 96)]);
    run(RECORDS, 3, &[("ww_trips_i", 96)]);
    run(TRIANGLE, 2, &[("ww_trips_i", 96)]);
    run(SUM, 3, &[("ww_trips_i", 96)]);
    run(TABLE, 3, &[("ww_trips_i", 96), ("k", 1)]);
    assert!(done.accesses >= 18 && done.exact >= 15 && done.uniform >= 2 && done.divergent >= 3, "{done:?}");
}

/// Nests that nobody wrote for this: all that run with made-up parameters.
#[test]
fn predictions_of_random_nests() {
    let mut done = Compared::default();
    let mut ran = 0;
    let seeds = std::env::var("WARPWRIGHT_NESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    for seed in 0..seeds {
        let text = testkit::nests::generate(seed, 8).text();
        let doc = open(&text);
        for l in &full(&doc).loops {
            let line = crate::function_view::line_column(&doc, l.header.start).line;
            ran += usize::from(compare(&text, line, &[], &mut done).is_some());
        }
    }
    let enough = ran > 5 && done.accesses > 5 && done.exact > 3 && done.uniform + done.divergent > 0;
    assert!(enough, "{ran} {done:?}");
}

#[test]
fn what_is_said_beside_the_loop_and_on_hover() {
    let said = |code: &str, at: &str| {
        let (doc, offset) = (open(code), code.find(at).expect("the place") as u32);
        let findings = full(&doc);
        let hints =
            crate::inlay_hints(&crate::Ask::thorough(&doc), &findings, super::everywhere(&doc), false);
        let labels: Vec<String> = hints.into_iter().map(|h| h.label).collect();
        let ask = crate::Ask::thorough(&doc);
        let l = findings.loops.iter().find(|l| l.header.touches(offset)).expect("a loop");
        let view = findings.view(&ask, l.item).expect("its function");
        let hover = crate::hover::loop_markdown(&view, l);
        let lines = hover.lines().filter(|l| l.starts_with("  ") || l.contains(" lanes, "));
        let labels = if labels.is_empty() { "no hint".to_owned() } else { labels.join(" | ") };
        format!("{labels}\n{}\n", lines.collect::<Vec<_>>().join("\n"))
    };
    expect![[r#"
        no hint
          - coalesced: `a[i][j]`, 8 sectors of 32 B a request (ideal 8)
          - strided: `b[j][i]`, lanes 768 B apart, 32 sectors of 32 B a request (ideal 8)
        - sectors of one request of every access: 40 with `j` along the lanes, 40 with `i`
    "#]]
    .assert_eq(&said(TRANSPOSE, "for (int i"));
    expect![[r#"
        parallel, 1 branch may diverge
          - coalesced: `out[i * m + j]`, `in[i * m + j - 1]`, `in[i * m + j + 1]` and `in[(i - 1) * m + j]`, 8 to 9 sectors of 32 B a request (ideal 8)
          - `if` on line 4: lanes may diverge
          - 1 branch is uniform across each warp
        - sectors of one request of every access: at most 54 with `j` along the lanes, at most 192 with `i`
    "#]].assert_eq(&said(STENCIL, "for (int i"));
    expect![[r#"
        parallel, 5 of 9 accesses strided, 2 branches may diverge
          - strided: `p[i].x`, `p[i].y`, `p[i].z` and `p[i].m`, lanes 16 B apart, 16 to 17 sectors of 32 B a request (ideal 4)
          - strided: `k[3 * i]`, lanes 6 B apart, 6 sectors of 32 B a request (ideal 2)
          - coalesced: `k[i]`, 2 sectors of 32 B a request (ideal 2)
          - coalesced: `e[i]`, 8 sectors of 32 B a request (ideal 8)
          - one address for all lanes: `k[j]`, 1 sector
          - `if` on line 5: lanes may diverge
          - loop on line 9: lanes may run it for different numbers of iterations
          - 1 branch is uniform across each warp
    "#]].assert_eq(&said(RECORDS, "for (int i"));
    expect![[r#"
        no hint
          - coalesced: `at[i]` and `y[i]`, 4 sectors of 32 B a request (ideal 4)
          - in an order that is not followed: `x[at[i] & 63]`, up to 9 sectors of 32 B a request (ideal 4)
          - `if` on line 7: lanes may diverge
          - 1 branch is uniform across each warp
    "#]]
    .assert_eq(&said(TABLE, "for (int i"));
    // neighbours of one array begin elsewhere in their sectors
    let shifted = "void s(int n, float *restrict y, const float *restrict x) {\n    for (int i = 0; i < n; i++)\n        y[i] = x[i] + x[i + 1];\n}\n";
    expect![[r#"
        parallel
          - coalesced: `y[i]` and `x[i]`, 4 sectors of 32 B a request (ideal 4)
          - coalesced: `x[i + 1]`, 5 sectors of 32 B a request (ideal 4)
    "#]]
    .assert_eq(&said(shifted, "for (int i"));
}
