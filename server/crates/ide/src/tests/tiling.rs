//! Pages that stage what threads share in shared memory: programs written in many ways become the same kernels, compute what
//! they did, and ask memory for as little as F2.6 says.

use base::CancelToken;

use crate::kernels::{simulate_kernels, SimulateOptions};
use crate::{
    apply_rules, check as check_doc, Doc, Language, Memo, Options, RuleSet, RuleTarget, Settings, Tier,
};

fn doc(text: &str) -> Doc {
    Doc::open(Language::Cuda, "a.cu", text::Text::new(text).expect("a short text"), Options::default())
}

/// What a system makes of a program; `Err`: why nothing. Every result ran beside the original.
fn stepped(set: &RuleSet, text: &str, system: &str) -> Result<String, String> {
    let (doc, memo, cancel) = (doc(text), Memo::new(), CancelToken::new());
    let findings = check_doc(&crate::Ask::new(&doc, &memo, Tier::Full, &cancel), &Settings::default())
        .expect("not cancelled");
    let done = apply_rules(
        &crate::Ask::new(&doc, &crate::Memo::new(), crate::Tier::Full, &cancel),
        &findings,
        set,
        system,
        &RuleTarget::File,
    )
    .map_err(|why| format!("{why:?}"))?;
    assert!(done.checked.starts_with("Same results"), "{}\n{}", done.checked, done.text);
    Ok(done.text)
}

/// Elements and sectors of global memory, divided branches and idle threads of the one kernel.
fn costs(text: &str) -> (u64, u64, u64, u64) {
    let runs = simulate_kernels(&crate::Ask::thorough(&doc(text)), &SimulateOptions::default());
    let [run] = &runs[..] else { panic!("one kernel in\n{text}") };
    assert!(run.completed && run.races.is_empty() && run.problems.is_empty(), "{run:?}\n{text}");
    let sectors = run.accesses.iter().map(|a| a.count.sectors).sum();
    let divided = run.counts.branches.iter().map(|b| b.divergent).sum();
    (run.counts.global_elements(), sectors, divided, run.counts.idle_threads())
}

/// A cross: names, indices, bounds, subscripts, types, launches as different people write them.
const CROSSES: [&str; 6] = [
    "#define TX 32\n#define TY 4\n#define NX 70\n#define NY 11\nfloat a[NX * NY], b[NX * NY];
__global__ void heat(const float *t, float *out, int nx, int ny, float k) {
    int i = blockIdx.x * TX + threadIdx.x;
    int j = blockIdx.y * TY + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
        float c = t[j * nx + i];
        out[j * nx + i] = c + k * (t[j * nx + i - 1] + t[j * nx + i + 1] + t[(j - 1) * nx + i] +
                                   t[(j + 1) * nx + i] - 4.0f * c);
    }
}
void step(float k) {
    heat<<<dim3((NX + TX - 1) / TX, (NY + TY - 1) / TY), dim3(TX, TY)>>>(a, b, NX, NY, k);
}
",
    "#define W 20\n#define H 13\ndouble a[W * H], b[W * H];
__global__ void jacobi(double *u, double *v, int width, int height) {
    int y = threadIdx.y + blockDim.y * blockIdx.y;
    int x = threadIdx.x + blockDim.x * blockIdx.x;
    int idx = y * width + x;
    if (x >= width - 1 || y >= height - 1 || x == 0 || y == 0)
        return;
    v[idx] = 0.25 * (u[idx - 1] + u[idx + 1] + u[idx - width] + u[idx + width]);
}
void go(void) {
    dim3 threads(8, 8);
    jacobi<<<dim3((W + threads.x - 1) / threads.x, (H + threads.y - 1) / threads.y), threads>>>(a, b, W, H);
    jacobi<<<dim3((W + 7) / 8, (H + 7) / 8), threads>>>(b, a, W, H);
}
",
    // arrays just as large as the kernel needs, of any size
    "__global__ void relax(const float *__restrict__ src, float *__restrict__ dst, int m, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int r = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (r < m - 1 && c < n - 1)
        dst[c + r * n] = 0.25f * (src[c + (r - 1) * n] + src[c + (r + 1) * n] + src[c - 1 + r * n] + src[r * n + c + 1]);
}
void run(const float *src, float *dst, int m, int n) {
    if (m < 3 || n < 3)
        return;
    dim3 b(16, 4, 1);
    dim3 g((n - 2 + 15) / 16, (m - 2 + 3) / 4);
    relax<<<g, b>>>(src, dst, m, n);
}
",
    "#define N 30\nfloat u[N * N], v[N * N];
__global__ void step(float *a, float *b, float dt) {
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.x * blockDim.x + tx;
    const int j = blockIdx.y * blockDim.y + ty;
    if (i < 1 || i > N - 2) return;
    if (j < 1 || j > N - 2) return;
    float old = a[i + N * j];
    float lap = a[i + 1 + N * j] + a[i - 1 + N * j] + a[i + N * (j + 1)] + a[i + N * (j - 1)] - 4 * old;
    b[i + N * j] = old + dt * lap;
}
void all(float dt) {
    dim3 t(16, 16), g(2, 2);
    for (int k = 0; k < 2; k++) {
        step<<<g, t>>>(u, v, dt);
        step<<<g, t>>>(v, u, dt);
    }
}
",
    // whole numbers, a width of one block, a loop around a use
    "int a[19 * 9], b[19 * 9];
__global__ void spread(int *from, int *to, int w, int h) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (0 < row && row < h - 1)
        if (0 < col && w - 1 > col)
            for (int k = 0; k < 3; ++k)
                to[w * row + col] += k * (from[w * row + col - 1] + from[w * row + col + 1]) - from[w * row - w + col] +
                                     from[w * (row + 1) + col];
}
void go(void) { spread<<<dim3(3, 3), dim3(8, 3)>>>(a, b, 19, 9); }
",
    // bounds that leave out more than the border
    "float a[33 * 17], b[33 * 17];
__global__ void inner(const float *a, float *b, int nx) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= 3 && i < 29 && j >= 2 && j <= 13)
        b[j * nx + i] = a[j * nx + i] - a[j * nx + i + 1] + a[j * nx + i - 1] * a[(j + 1) * nx + i] + a[(j - 1) * nx + i];
}
void go(void) { inner<<<dim3(3, 5), dim3(13, 4)>>>(a, b, 33); }
",
];

/// All eight neighbours.
const SQUARE: &str = "
__global__ void blur(const float *in, const float *w, float *out, int nx, int ny) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= 1 && j >= 1 && i < nx - 1 && j < ny - 1) {
        float s = 0;
        s += in[(j - 1) * nx + i - 1] + in[(j - 1) * nx + i] + in[(j - 1) * nx + i + 1];
        s += in[j * nx + i - 1] + in[j * nx + i] + in[j * nx + i + 1];
        s += in[(j + 1) * nx + i - 1] + in[(j + 1) * nx + i] + in[(j + 1) * nx + i + 1];
        out[j * nx + i] = s * w[j * nx + i];
    }
}
void run(const float *in, const float *w, float *out, int nx, int ny) {
    if (nx < 3 || ny < 3) return;
    blur<<<dim3((nx + 7) / 8, (ny + 3) / 4), dim3(8, 4)>>>(in, w, out, nx, ny);
}
";

/// Each system takes each program, and what the steps make one after the other is what all steps make.
#[test]
fn stencils_are_tiled_however_they_are_written() {
    let set = RuleSet::shipped();
    for text in CROSSES.iter().chain([&SQUARE]) {
        let step = |text: &str, system: &str| {
            stepped(&set, text, system).unwrap_or_else(|why| panic!("{system}: {why}\n{text}"))
        };
        let halo = step(text, "stencil-halo");
        let tile = step(text, "stencil-tile");
        assert!(halo.contains("tile[ty") && tile.contains("tile[ty"), "{halo}\n{tile}");
        let narrowed = step(&halo, "stencil-tile");
        for of in [*text, tile.as_str(), narrowed.as_str()] {
            let strip = step(of, "stencil-strip");
            assert!(strip.contains("hands"), "{strip}");
            assert!(stepped(&set, &strip, "stencil").is_err(), "nothing is left to do");
        }
        // names that a step made are not free for the next
        let strip = |text: String| {
            let text = text.replace("_1", "").replace("_2", "");
            text.split("__shared__").nth(1).map(str::to_owned)
        };
        assert_eq!(strip(step(&narrowed, "stencil-strip")), strip(step(text, "stencil")), "{text}");
    }
}

/// What may not be tiled stays, with a reason.
#[test]
fn other_stencils_are_left_alone() {
    let set = RuleSet::shipped();
    let text = CROSSES[0];
    for (what, with, because) in [
        // blocks of another size somewhere
        ("NY, k);\n}", "NY, k);\n    heat<<<dim3(3, 6), dim3(32, 2)>>>(b, a, NX, NY, k);\n}", "no launch"),
        ("dim3(TX, TY)>>>", "dim3(TX, NY > 3 ? TY : 2)>>>", "no launch"),
        // indices and sizes that change
        ("float c =", "i += 0; float c =", "may write"),
        ("float c =", "nx += 0; float c =", "may change"),
        // bounds that are none
        ("j < ny - 1)", "j < ny - 1 && t[0] > 0)", "not compared as signed"),
        ("i > 0 &&", "(i > 0 || j > 5) &&", "no comparison"),
        ("i < nx - 1 && ", "", "nothing keeps `i`"),
        ("i < nx - 1", "i + j < nx - 1", "more than one of the indices"),
        // a wider cross, a cross that is not one, a grid of another width
        ("t[j * nx + i - 1]", "t[j * nx + i - 2]", "is not"),
        ("t[(j - 1) * nx + i]", "t[(j - 1) * nx + i - 1]", "is not"),
        ("t[(j - 1) * nx + i]", "t[(j - 1) * (nx + 1) + i]", "is not"),
        ("t[j * nx + i + 1]", "t[j * nx + i * 2]", "is not"),
        // rows and columns exchanged
        ("blockIdx.x * TX + threadIdx.x", "blockIdx.y * TX + threadIdx.y", "is not"),
    ] {
        let changed = text.replacen(what, with, 1);
        assert_ne!(changed, text, "{what}");
        for system in ["stencil-halo", "stencil-tile", "stencil-strip"] {
            let why = stepped(&set, &changed, system).expect_err("it is refused");
            assert!(why.contains(because), "{system}, {with}: {why}");
        }
    }
}

/// F2.6: a thread a node asks for 6 nodes, 5 to read and 1 to write; ideal are 2. With tiles it is the ideal and the border.
#[test]
fn tiles_ask_memory_for_what_the_lecture_says() {
    let text = "float a[66 * 34], b[66 * 34];
__global__ void heat(const float *t, float *out, int nx, int ny, float k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < nx - 1 && j < ny - 1)
        out[j * nx + i] = t[j * nx + i] + k * (t[j * nx + i - 1] + t[j * nx + i + 1] + t[(j - 1) * nx + i] +
                                               t[(j + 1) * nx + i] - 4.0f * t[j * nx + i]);
}
void step(void) { heat<<<dim3(2, 2), dim3(32, 16)>>>(a, b, 66, 34, 0.1f); }
";
    let set = RuleSet::shipped();
    let made = |system: &str| stepped(&set, text, system).expect("it applies");
    let [halo, tile, strip] = ["stencil-halo", "stencil-tile", "stencil-strip"].map(made);
    let nodes = 64 * 32;
    let [plain, halo, tile, strip] = [text, &halo, &tile, &strip].map(costs);
    // the centre is read twice in this text
    assert_eq!(plain.0, 7 * nodes);
    // of each tile of 32 by 16 the border but for its corners
    let border = 2 * 32 + 2 * 16;
    assert_eq!((halo.0, tile.0), (2 * nodes + 4 * border, 2 * nodes + 4 * border));
    // of each strip of 64 by 16
    assert_eq!(strip.0, 2 * nodes + 2 * (2 * 64 + 2 * 16));
    // a third of the sectors or less; strips load no column of the border by itself
    let all = format!("{plain:?} {halo:?} {tile:?} {strip:?}");
    assert!([halo.1, tile.1, strip.1].iter().all(|s| s * 5 < plain.1 * 2) && strip.1 < tile.1, "{all}");
    // the second way has idle threads, the third divided warps (F2.7)
    assert!(halo.3 > 0 && tile.3 == 0 && tile.2 > halo.2, "{all}");
}

/// Each element of a factor is asked for once a block of the result, and not once for each element of it.
#[test]
fn tiles_of_products_are_loaded_once_a_block() {
    let text = "double a[13 * 19], b[19 * 21], c[13 * 21];
__global__ void product(const double *x, const double *y, double *z, int m, int n, int depth) {
    int r = threadIdx.y + blockIdx.y * blockDim.y, q = threadIdx.x + blockIdx.x * blockDim.x;
    if (r >= m || q >= n)
        return;
    z[n * r + q] = 0;
    for (int k = 0; k < depth; k++)
        z[n * r + q] += x[r * depth + k] * y[q + n * k];
}
void multiply(void) { product<<<dim3(3, 2), dim3(8, 8)>>>(a, b, c, 13, 21, 19); }
";
    let set = RuleSet::shipped();
    let sum = stepped(&set, text, "sum-in-register").expect("it applies");
    let tiled = stepped(&set, &sum, "product-tile").expect("it applies");
    let registers = stepped(&set, &tiled, "product-registers").expect("it applies");
    // but for names
    assert_eq!(costs(&registers), costs(&stepped(&set, text, "product").expect("it applies")));
    let (m, n, depth) = (13, 21, 19);
    assert_eq!(costs(text).0, m * n * (1 + 4 * depth));
    assert_eq!(costs(&sum).0, m * n * (1 + 2 * depth));
    // three columns and two rows of blocks
    assert_eq!(costs(&tiled).0, m * n + 3 * m * depth + 2 * depth * n);
    // four times as many rows a block: one row of blocks
    assert_eq!(costs(&registers).0, m * n + 3 * m * depth + depth * n);
}
