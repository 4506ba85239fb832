//! "Offload to GPU and optimize": C loops go up the ladders of rule pages, a page a step, and end in the kernels that hand-written ones
//! end in: right, and asking memory for as little.

use expect_test::expect;

use super::{full, open};
use crate::kernels::{parse_shape, simulate_kernels, SimulateOptions};
use crate::{
    actions, apply_rules, check, offload_optimized, resolve, ActionId, Ask, Doc, Language, Offloaded,
    Options, Outcome, Refused, Resolved, RuleSet, RuleTarget, Settings, Target, Which,
};

/// The first loop of a program, offloaded and optimised: how, and the kernel's file. What comes back was run beside the loop.
fn optimized(code: &str) -> Result<Offloaded, String> {
    let doc = open(code);
    let line = code.lines().position(|l| l.trim_start().starts_with("for")).expect("a loop") as u32 + 1;
    match offload_optimized(&Ask::thorough(&doc), &full(&doc), &Which::Line(line)) {
        Ok((done, reports)) => {
            assert!(!reports.is_empty() && reports.iter().all(|r| r.outcome == Outcome::Same), "{reports:?}");
            assert!(reports.iter().flat_map(|r| &r.cases).any(|c| c.counted.launches > 0), "{reports:?}");
            Ok(done)
        }
        Err(Refused::Because(why)) => Err(why),
        Err(other) => panic!("{other:?}"),
    }
}

fn steps(code: &str) -> String {
    let done = optimized(code).unwrap_or_else(|why| panic!("{why}\n{code}"));
    done.loops[0].optimized_by.join(" ")
}

/// What one launch of the one kernel of a file asks for.
#[derive(PartialEq, Eq, Debug)]
struct Costs {
    /// Elements of global memory, and sectors.
    elements: u64,
    sectors: u64,
    conflicts: u64,
    idle: u64,
    barriers: u64,
}

fn costs(text: &str, launch: Option<&str>) -> Costs {
    let text = text::Text::new(text).expect("a short text");
    let doc = Doc::open(Language::Cuda, "k.cu", text, Options::default());
    let launches = launch.map(|l| ("f_i_kernel".to_owned(), parse_shape(l).expect("a launch")));
    let options = SimulateOptions { launches: launches.into_iter().collect(), ..Default::default() };
    let runs = simulate_kernels(&Ask::thorough(&doc), &options);
    let [run] = &runs[..] else { panic!("one kernel in\n{}", doc.source()) };
    assert!(run.completed && run.races.is_empty() && run.problems.is_empty(), "{run:?}\n{}", doc.source());
    Costs {
        elements: run.counts.global_elements(),
        sectors: run.accesses.iter().map(|a| a.count.sectors).sum(),
        conflicts: run.counts.bank_conflicts(),
        idle: run.counts.idle_threads(),
        barriers: run.counts.barriers.iter().map(|b| b.opened).sum(),
    }
}

/// Of the kernel that a C loop ends in, with this launch or the file's.
fn costs_of(code: &str, launch: Option<&str>) -> Costs {
    let done = optimized(code).unwrap_or_else(|why| panic!("{why}\n{code}"));
    costs(&done.edit.create[0].text, launch)
}

/// Of the kernel that one written by hand ends in, by all steps of a ladder.
fn costs_by_hand(text: &str, ladder: &str) -> Costs {
    let doc =
        Doc::open(Language::Cuda, "k.cu", text::Text::new(text).expect("a short text"), Options::default());
    let ask = Ask::thorough(&doc);
    let findings = check(&ask, &Settings::default()).expect("not cancelled");
    let done =
        apply_rules(&ask, &findings, &RuleSet::shipped(), ladder, &RuleTarget::File).expect("it applies");
    costs(&done.text, None)
}

/// However the loops are written; the sum in memory needs one step more.
#[test]
fn products_end_in_tiles_with_several_elements_a_thread() {
    let all = "sum-in-register product-tile product-registers";
    let short = "product-tile product-registers";
    let text = "
void f(int m, int n, int depth, const float *restrict a, const float *restrict b, float *restrict c) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int k = 0; k < depth; k++)
                sum += a[i * depth + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}
";
    assert_eq!(steps(text), short);
    assert_eq!(
        steps(&text.replace("float", "double").replace("0.0f", "0.0").replace("restrict ", "")),
        short
    );
    // indices that the function declares
    let outside = text.replace("int i", "i").replace("int j", "j").replace("int k", "k");
    let outside = outside.replace("    for (i", "    int i, j, k;\n    for (i").replace("k++", "++k");
    assert_eq!(steps(&outside), short);
    let text = "
#define M 13
#define N 21
#define K 19
int a[M][K], b[K][N], c[M][N];
void f(void) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            c[i][j] = 0;
            for (int k = 0; k < K; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
}
";
    assert_eq!(steps(text), all);
    // too many numbers to be run: the steps are run in the same program with smaller arrays
    let large = text.replace("M 13", "M 600").replace("N 21", "N 600").replace("K 19", "K 600");
    let done = optimized(&large).expect("it is optimised");
    assert_eq!(done.loops[0].optimized_by.join(" "), all);
    let said = done.loops[0].derivation.join("\n");
    assert!(said.contains("`M` 33 instead of 600"), "{said}");
}

/// Each element of a factor is asked for once a block of the result: as `tiles_of_products_are_loaded_once_a_block` says of kernels
/// that were written by hand.
#[test]
fn products_ask_memory_for_what_the_pages_say() {
    let (m, n, depth) = (13, 21, 19);
    let code = "
float a[13 * 19], b[19 * 21], c[13 * 21];
void f(void) {
    for (int i = 0; i < 13; i++)
        for (int j = 0; j < 21; j++) {
            float sum = 0;
            for (int k = 0; k < 19; k++)
                sum += a[i * 19 + k] * b[k * 21 + j];
            c[i * 21 + j] = sum;
        }
}
";
    let hand = "float a[13 * 19], b[19 * 21], c[13 * 21];
__global__ void product(const float *x, const float *y, float *z, int m, int n, int depth) {
    int r = threadIdx.y + blockIdx.y * blockDim.y, q = threadIdx.x + blockIdx.x * blockDim.x;
    if (r >= m || q >= n)
        return;
    z[n * r + q] = 0;
    for (int k = 0; k < depth; k++)
        z[n * r + q] += x[r * depth + k] * y[q + n * k];
}
void multiply(void) { product<<<dim3(2, 4), dim3(16, 16)>>>(a, b, c, 13, 21, 19); }
";
    let ours = costs_of(code, None);
    // two columns of blocks, and one row of them with four times as many rows
    assert_eq!(ours.elements, m * n + 2 * m * depth + depth * n);
    assert_eq!(ours, costs_by_hand(hand, "product"));
}

#[test]
fn stencils_end_in_strips() {
    let all = "stencil-halo stencil-tile stencil-strip";
    let text = "
void f(int n, int m, const float *restrict a, float *restrict b) {
    for (int y = 1; y < n - 1; y++)
        for (int x = 1; x < m - 1; x++)
            b[y * m + x] = 0.2f * (a[y * m + x] + a[y * m + x - 1] + a[y * m + x + 1] + a[(y - 1) * m + x] + a[(y + 1) * m + x]);
}
";
    assert_eq!(steps(text), all);
    // what is not restricted is tested; a step in time reads and writes arrays of several dimensions
    assert_eq!(steps(&text.replace("restrict ", "")), all);
    let grid = "
#define NX 70
#define NY 21
double t[NY][NX], next[NY][NX];
void f(double k) {
    for (int j = 1; j <= NY - 2; ++j)
        for (int i = 1; i <= NX - 2; ++i)
            next[j][i] = t[j][i] + k * (t[j][i - 1] + t[j][i + 1] + t[j - 1][i] + t[j + 1][i] - 4.0 * t[j][i]);
}
";
    assert_eq!(steps(grid), all);
}

/// F2.6: two numbers a node, and the border of each strip, as `tiles_ask_memory_for_what_the_lecture_says` says of kernels that were
/// written by hand.
#[test]
fn stencils_ask_memory_for_what_the_pages_say() {
    let code = "
float a[66 * 34], b[66 * 34];
void f(float k) {
    for (int j = 1; j < 33; j++)
        for (int i = 1; i < 65; i++)
            b[j * 66 + i] = a[j * 66 + i] + k * (a[j * 66 + i - 1] + a[j * 66 + i + 1] + a[(j - 1) * 66 + i] +
                                                 a[(j + 1) * 66 + i] - 4.0f * a[j * 66 + i]);
}
";
    let hand = "float a[66 * 34], b[66 * 34];
__global__ void heat(const float *t, float *out, int nx, int ny, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < nx - 1 && j < ny - 1)
        out[j * nx + i] = t[j * nx + i] + k * (t[j * nx + i - 1] + t[j * nx + i + 1] + t[(j - 1) * nx + i] +
                                               t[(j + 1) * nx + i] - 4.0f * t[j * nx + i]);
}
void step(void) { heat<<<dim3(2, 4), dim3(32, 8)>>>(a, b, 66, 34, 0.1f); }
";
    let ours = costs_of(code, None);
    let nodes = 64 * 32;
    // four strips of 64 by 8
    assert_eq!(ours.elements, 2 * nodes + 4 * (2 * 64 + 2 * 8));
    assert_eq!(ours, costs_by_hand(hand, "stencil"));
}

#[test]
fn sums_end_in_one_launch() {
    let all = "reduction-last-warp reduction-shuffle reduction-last-block";
    let text = "
float f(int n, const float *a, const float *b) {
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}
";
    assert_eq!(steps(text), all);
    assert_eq!(steps(&text.replace("float", "unsigned").replace("0.0f", "7")), all);
    // whole numbers wrap on the way
    assert_eq!(steps(&text.replace("float", "int").replace("0.0f", "7")), all);
    assert_eq!(steps("void f(int n, const double *a, double *s) {\n    for (int i = 0; i < n; i++)\n        s[0] += a[i];\n}\n"), all);
    let done = optimized(text).expect("it is optimised");
    let kernel = &done.edit.create[0].text;
    // the host has one number to add, whatever the number of blocks
    assert!(kernel.contains("*sum += ww_part_sum[0];") && !kernel.contains("ww_block++"), "{kernel}");
}

/// F1.10: half of a block's threads rest in the first round, three quarters in the second, and then all but one warp; each
/// number is read once, and of each block a sum is written, counted, and read by the last one.
#[test]
fn sums_ask_memory_for_what_the_pages_say() {
    let (n, threads, blocks) = (2048u64, 256u64, 8u64);
    let code = "
float a[2048], b[2048];
float f(void) {
    float sum = 0.0f;
    for (int i = 0; i < 2048; i++)
        sum += a[i] * b[i];
    return sum;
}
";
    let ours = costs_of(code, Some("8,256,ww_trips_i=2048,a[2048],b[2048],ww_part_sum[8]"));
    assert_eq!(ours.elements, 2 * n + 3 * blocks + 1);
    // of the sums and of the counter a sector a block, one as all sums are read, and one of the total
    assert_eq!(ours.sectors, 2 * n / 8 + 2 * blocks + 1 + 1);
    assert_eq!((ours.conflicts, ours.barriers), (0, 4 * blocks));
    assert_eq!(ours.idle, blocks * (threads / 2 + threads * 3 / 4 + threads - 32));
}

/// The bound lies in a structure, whose size the host's side tests: inputs that are made up meet that.
#[test]
fn sums_over_members_are_optimised() {
    let code = "typedef struct boxes { int count; int *atoms; } boxes;
int f(boxes *s) {
    int n = 0;
    for (int i = 0; i < s->count; i++)
        n += s->atoms[i];
    return n;
}
";
    assert_eq!(steps(code), "reduction-last-warp reduction-shuffle reduction-last-block");
}

/// No page takes the product with the second matrix transposed.
const TRANSPOSED: &str = "
float a[16 * 16], b[16 * 16], c[16 * 16];
void f(void) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += a[i * 16 + k] * b[j * 16 + k];
            c[i * 16 + j] = sum;
        }
}
";

/// Who chose the action gets a kernel in any case: one that no page optimises in the end as it is, and why is said.
#[test]
fn the_action_ends_in_a_kernel() {
    let doc = open(TRANSPOSED);
    let ask = Ask::thorough(&doc);
    let findings = full(&doc);
    let made = |id: &str| match resolve(&ask, &findings, &ActionId::parse(id).expect("an id")) {
        Ok(Resolved::Edit(edit)) => edit,
        other => panic!("{other:?}"),
    };
    let (edit, plain) = (made("optimize:f#0"), made("offload:f#0"));
    assert_eq!(edit.edits, plain.edits);
    expect!["The kernel of the loop on line 4 is not optimised. No page optimises this kernel. The page product-tile is not applied: product-tile: The condition of rule kernel is not proved: `j*16+k` is not `k*$broad+j` for any numbers."].assert_eq(&edit.told.join(" "));
    let [(text, plain)] = [(&edit.create[0].text, &plain.create[0].text)];
    let (head, rest) = text.split_once("*/").expect("a comment");
    assert!(
        head.contains("not optimized: No page optimises this kernel.")
            && !head.contains("\"Offload to GPU\""),
        "{head}"
    );
    assert_eq!(plain.split_once("*/").map(|p| p.1), Some(rest));
}

/// What pages have nothing to say to is refused with the reason.
#[test]
fn other_loops_are_told_why_not() {
    let why = |code: &str| optimized(code).expect_err("no page optimises it");
    expect![[r#"No page optimises this kernel, because it is neither a sum of one loop nor two loops whose iterations are threads. "Offload to GPU" offloads it."#]].assert_eq(&why(
        "void f(int n, float *restrict a) {\n    for (int i = 0; i < n; i++)\n        a[i] = 1;\n}\n",
    ));
    expect![[r#"No page optimises this kernel. The page product-tile is not applied: product-tile: The condition of rule kernel is not proved: `j*16+k` is not `k*$broad+j` for any numbers. "Offload to GPU" offloads it."#]].assert_eq(&why(TRANSPOSED));
    expect![[r#"No page optimises this kernel, because what its threads have in common is no sum. "Offload to GPU" offloads it."#]].assert_eq(&why(
        "float f(int n, const float *a) {\n    float m = 0;\n    for (int i = 0; i < n; i++)\n        if (a[i] > m) m = a[i];\n    return m;\n}\n",
    ));
}

/// Of several loops each goes as far as it can.
#[test]
fn of_several_loops_some_are_optimised() {
    let code = "float f(int n, const float *a) {
    float s = 0;
    // warpwright: offload
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
void g(int n, float s, float *b) {
    // warpwright: offload
    for (int i = 0; i < n; i++)
        b[i] = s;
}
";
    let doc = open(code);
    let (done, reports) =
        offload_optimized(&Ask::thorough(&doc), &full(&doc), &Which::Marked).expect("both are offloaded");
    assert!(reports.len() == 2 && reports.iter().all(|r| r.outcome == Outcome::Same), "{reports:?}");
    let steps: Vec<usize> = done.loops.iter().map(|l| l.optimized_by.len()).collect();
    assert_eq!(steps, [3, 0]);
    let note = done.notes.iter().find(|n| n.starts_with("The kernel of the loop on line 10"));
    expect!["The kernel of the loop on line 10 is not optimised. No page optimises this kernel, because it is neither a sum of one loop nor two loops whose iterations are threads."].assert_eq(note.map_or("", |n| n));
}

/// In the words of another vendor there are no such pages.
#[test]
fn kernels_for_other_targets_are_left_alone() {
    let code = "float f(int n, const float *a) {\n    float s = 0;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n";
    let options = Options { target: Target::of("hip").expect("a target"), ..Options::default() };
    let doc = Doc::open(Language::C, "test.c", text::Text::new(code).expect("a short text"), options);
    match offload_optimized(&Ask::thorough(&doc), &full(&doc), &Which::Line(3)) {
        Err(Refused::Because(why)) => {
            expect!["The pages that optimise kernels write CUDA, and not HIP."].assert_eq(&why)
        }
        other => panic!("{other:?}"),
    }
}

/// The action is there where some page has something to do, and makes what was checked.
#[test]
fn the_action_is_offered_where_a_page_matches() {
    let titles = |code: &str| -> Vec<String> {
        let doc = open(code);
        let ask = Ask::thorough(&doc);
        let findings = check(&ask, &Settings::default()).expect("not cancelled");
        let header = findings.loops[0].header;
        let all = actions(&ask, &findings, header);
        all.iter().filter(|a| a.id.to_string().starts_with("optimize")).map(|a| a.title.clone()).collect()
    };
    let dot = "float f(int n, const float *a) {\n    float s = 0;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n";
    assert_eq!(titles(dot), ["Offload to GPU and optimize: loop i"]);
    let none: [&str; 0] = [];
    assert_eq!(
        titles("void f(int n, float *a) {\n    for (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n"),
        none
    );
    assert_eq!(titles("void f(int n, float *a) {\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < n; j++)\n            a[i * n + j] = 0;\n}\n"), none);
    let doc = open(dot);
    let ask = Ask::thorough(&doc);
    let findings = check(&ask, &Settings::default()).expect("not cancelled");
    let all = actions(&ask, &findings, findings.loops[0].header);
    let action = all.iter().find(|a| a.id.to_string() == "optimize:f#0").expect("it is offered");
    let Ok(Resolved::Edit(edit)) = resolve(&ask, &findings, &action.id) else { panic!("an edit") };
    assert!(
        edit.create[0].text.contains("optimized by the page reduction-last-block"),
        "{}",
        edit.create[0].text
    );
}

/// A list that was called off is nothing to go by: whoever asks again is told of the pages.
#[test]
fn what_was_called_off_is_not_remembered_as_nothing() {
    let doc = open("float f(int n, const float *a) {\n    float s = 0;\n    for (int i = 0; i < n; i++)\n        s += a[i];\n    return s;\n}\n");
    let ask = Ask::thorough(&doc);
    let findings = full(&doc);
    let key = &findings.loops[0].key.to_string();
    let is_listed = |ask: &Ask| {
        let all = actions(ask, &findings, findings.loops[0].header);
        all.iter().any(|a| a.id.to_string() == format!("optimize:{key}"))
    };
    // the plan is known, and then the list is called off
    let view = findings.view(&ask, findings.loops[0].item).expect("a function");
    assert!(view.known_plan(findings.loops[0].id).is_some());
    let called_off = base::CancelToken::new();
    called_off.cancel();
    let late = Ask { cancel: called_off, ..ask.clone() };
    assert!(!is_listed(&late));
    assert!(is_listed(&ask));
}
