//! Races of kernels without a known launch: textbook kernels, proved or not, and random ones held against runs.
//! `WARPWRIGHT_SHAPELESS=5000` judges more.

use analysis::{KernelLaunch, Program, RaceVerdict};
use front::{Language, Memo, Options, Parsed};
use testkit::shapeless::{judge, Tally};

fn verdict(text: &str, block: Option<[u32; 3]>) -> RaceVerdict {
    let unit = front::lower(&Parsed::parse(Language::Cuda, text), &Options::default(), &mut Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let item = unit.items.iter().find(|i| i.is_kernel).expect("a kernel");
    analysis::kernel_races(&item.body, &program, &KernelLaunch { block, ..KernelLaunch::default() })
}

/// The axes for which it is proved, and the block.
fn proved(text: &str) -> Option<(u32, Option<[u32; 3]>)> {
    match verdict(text, None) {
        RaceVerdict::Free { shapes: Some(s), positive, .. } if positive.is_empty() && !s.suggested => {
            Some((s.axes, s.block))
        }
        _ => None,
    }
}

/// The axes of threads and of blocks for which it is proved, and the parameters that must be positive.
fn proved_where(text: &str) -> Option<(u32, u32, Vec<String>)> {
    match verdict(text, None) {
        RaceVerdict::Free { shapes: Some(s), positive, .. } => {
            Some((s.axes, s.block_axes, positive.iter().map(|n| n.to_string()).collect()))
        }
        _ => None,
    }
}

const FLAT: &str = "int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;";
const PLANE: &str =
    "int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;";

fn flat(body: &str) -> String {
    format!("__global__ void k(float *a, const float *b, int n, int m) {{ extern __shared__ float s[]; {FLAT} {body} }}")
}

fn plane(body: &str) -> String {
    format!("__global__ void k(float *a, const float *b, int w, int h) {{ {PLANE} {body} }}")
}

#[test]
fn one_element_a_thread() {
    for body in [
        "if (i < n) a[i] = b[i] + 1;",
        "if (i >= n) return; a[i] += b[i];",
        "if (i < n) { a[2 * i] = 1; a[2 * i + 1] = 2; }",
        "if (i < n) { a[i] = a[i] + a[i + n]; a[2 * n + i] = 0; }",
        "for (int j = i; j < n; j += blockDim.x * gridDim.x) a[j] = 2 * a[j];",
        "unsigned j = i; while (j < n) { a[j] = b[j]; j += gridDim.x * blockDim.x; }",
        "if (i < n) for (int j = 0; j < m; j++) a[j * n + i] = j;",
        "if (i < n) a[i * n + i] = 1;",
        "float *p = a + blockIdx.x * blockDim.x; p[t] = 1;",
        "a[blockIdx.x * 2 * blockDim.x + t] = 1; a[blockIdx.x * 2 * blockDim.x + t + blockDim.x] = 1;",
        "if (t == 0) a[blockIdx.x] = 1;",
        "a[t * gridDim.x + blockIdx.x] = 1;",
        "size_t j = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (j < n) a[j] = 1;",
        "atomicAdd(&a[i / 2], 1.0f);",
    ] {
        assert_eq!(proved(&flat(body)), Some((1, None)), "{body}");
    }
    for body in [
        "a[i / 2] = i;",
        "a[t] = 1;",
        "a[i] = a[i + 1];",
        "if (i < n) a[i % m] = 1;",
        "a[i * m] = 1;",
        "a[(int)b[i]] = 1;",
    ] {
        assert_eq!(proved(&flat(body)), None, "{body}");
    }
}

#[test]
fn rows_and_columns() {
    for body in [
        "if (x < w && y < h) a[y * w + x] = b[x * h + y];",
        "if (x < w && y < h) a[x * h + y] = b[y * w + x];",
        "if (x >= w || y >= h) return; for (int z = 0; z < 10; z++) a[(z * h + y) * w + x] = 1;",
    ] {
        assert_eq!(proved(&plane(body)), Some((2, None)), "{body}");
    }
    // a column may be another row's
    for body in [
        "if (y < h) a[y * w + x] = 1;",
        "if (x < w && y < h) a[y * w + x + 1] = a[y * w + x];",
        "a[y + x] = 1;",
    ] {
        assert_eq!(proved(&plane(body)), None, "{body}");
    }
}

#[test]
fn barriers_between_phases_and_rounds() {
    for body in [
        "s[t] = b[i]; __syncthreads(); a[i] = s[blockDim.x - 1 - t];",
        "s[t] = b[i]; __syncthreads(); for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); } if (t == 0) a[blockIdx.x] = s[0];",
        "for (int r = 0; r < n; r++) { s[t] = b[r]; __syncthreads(); a[i] += s[0]; __syncthreads(); }",
        // the pages of a double buffer
        "for (int r = 0; r < n; r++) { s[(r & 1) * blockDim.x + t] = b[r]; __syncthreads(); a[i] += s[(r & 1) * blockDim.x + blockDim.x - 1 - t]; }",
        "do { s[t] = 1; __syncthreads(); a[i] = s[0]; __syncthreads(); n--; } while (n > 0);",
        "for (int j = t; j < 256; j += blockDim.x) s[j] = 0; __syncthreads(); if (t < 256) a[i] = s[255 - t];",
    ] {
        assert!(proved(&flat(body)).is_some(), "{body}: {:?}", verdict(&flat(body), None));
    }
    for body in [
        "s[t] = b[i]; a[i] = s[blockDim.x - 1 - t];",
        "for (int r = 0; r < n; r++) { s[t] = b[r]; __syncthreads(); a[i] += s[0]; }",
        "for (int r = 0; r < n; r++) { __syncthreads(); s[t] = b[r]; a[i] += s[t + 1]; }",
        "for (int r = 0; r < n; r++) { s[t] = b[r]; if (r > m) continue; __syncthreads(); a[i] += s[t]; __syncthreads(); s[t + 1] = 0; }",
        "s[t] = 1; if (m > 0) __syncthreads(); a[i] = s[t + 1];",
        "if (t < 32) __syncthreads(); s[t] = 1;",
    ] {
        assert_eq!(proved(&flat(body)), None, "{body}");
    }
}

#[test]
fn blocks_as_large_as_their_tile() {
    let text = "__global__ void k(const float *a, const float *b, float *c, int n) {
        __shared__ float s[16][16], t[16][16];
        int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
        float sum = 0;
        for (int k = 0; k < n / 16; k++) {
            s[threadIdx.y][threadIdx.x] = a[row * n + k * 16 + threadIdx.x];
            t[threadIdx.y][threadIdx.x] = b[(k * 16 + threadIdx.y) * n + col];
            __syncthreads();
            for (int j = 0; j < 16; j++) sum += s[threadIdx.y][j] * t[j][threadIdx.x];
            __syncthreads();
        }
        if (row < n && col < n) c[row * n + col] = sum;
    }";
    let tiles = |v: RaceVerdict| match v {
        RaceVerdict::Free { shapes: Some(s), .. } if s.suggested => Some((s.axes, s.block)),
        _ => None,
    };
    // nobody says that the blocks are the tile
    assert_eq!(tiles(verdict(text, None)), Some((2, Some([16, 16, 1]))));
    assert!(matches!(verdict(text, Some([16, 16, 1])), RaceVerdict::Free { .. }));
    let without = text.replacen("            __syncthreads();\n        }", "        }", 1);
    assert_ne!(without, text);
    assert_eq!(proved(&without), None);
    assert_eq!(tiles(verdict(&without, None)), None);
    assert!(!matches!(verdict(text, Some([32, 8, 1])), RaceVerdict::Free { .. }));
}

/// An axis that a kernel does not name has threads all the same if the launch says so, and every launch has some along x.
#[test]
fn threads_along_axes_that_are_not_named() {
    let one = "__global__ void k(float *a, const float *b) { for (int j = 0; j < 10; j++) a[j] = b[j]; }";
    assert_eq!(proved(one), None);
    let row = "__global__ void k(int *a, const int *b) { a[threadIdx.x] = b[threadIdx.x] % 7; }";
    // each block writes the same cells: of one block alone it is proved
    let alone = |v: RaceVerdict| matches!(v, RaceVerdict::Free { shapes: Some(s), .. } if s.block_axes == 0);
    assert!(alone(verdict(row, None)));
    let own = "__global__ void k(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 3; }";
    assert_eq!(proved(own), Some((1, None)));
    assert!(matches!(verdict(own, Some([64, 1, 1])), RaceVerdict::Free { .. }));
    assert!(!matches!(verdict(own, Some([16, 4, 1])), RaceVerdict::Free { .. }));
    // a function of the program names it
    let called = "__device__ int row() { return threadIdx.y; }
        __global__ void k(int *a) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (row() >= 0) a[i] = 3; }";
    assert_eq!(proved(called), None);
}

/// `atomicAdd_block` is atomic within a block alone.
#[test]
fn atomics_of_a_block_are_none_for_others() {
    let text = |array: &str, f: &str| {
        format!("__global__ void k(int *a) {{ __shared__ int s[4]; {f}(&{array}[threadIdx.x & 3], 1); }}")
    };
    let launched = |text: &str, grid: u32| {
        let unit = front::lower(&Parsed::parse(Language::Cuda, text), &Options::default(), &mut Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        let launch =
            KernelLaunch { grid: Some([grid, 1, 1]), block: Some([64, 1, 1]), ..KernelLaunch::default() };
        analysis::kernel_races(&unit.items[0].body, &program, &launch)
    };
    let free = |v: RaceVerdict| matches!(v, RaceVerdict::Free { .. });
    for f in ["atomicAdd", "atomicAdd_system", "atomicAdd_block"] {
        assert!(free(verdict(&text("s", f), None)), "{f}");
        assert!(free(launched(&text("s", f), 2)), "{f}");
        let all = f != "atomicAdd_block";
        // with one block it is right
        let any = verdict(&text("a", f), None);
        let blocks = matches!(&any, RaceVerdict::Free { shapes: Some(s), .. } if s.block_axes > 0);
        assert!(free(any) && blocks == all, "{f}");
        assert_eq!(free(launched(&text("a", f), 2)), all, "{f}");
        assert!(free(launched(&text("a", f), 1)), "{f}");
    }
}

/// Without a launch a race is told only if blocks that fit the arrays have it too.
#[test]
fn races_of_blocks_that_nobody_means() {
    let kernel = |body: &str| format!("__global__ void k(int *g) {{ int t = threadIdx.x; {body} }}");
    for body in [
        "__shared__ int s[8][8]; s[threadIdx.y][t] = g[t];",
        "__shared__ int s[8][9]; s[threadIdx.y][t] = g[t];",
        "__shared__ int s[64]; s[threadIdx.y * 8 + t] = g[t];",
        "__shared__ int s[256]; s[t & 255] = g[t];",
        "g[threadIdx.y * 8 + t] = 2 * t;",
    ] {
        assert!(!matches!(verdict(&kernel(body), None), RaceVerdict::Race(_)), "{body}");
    }
    for body in [
        "__shared__ int s[8][8]; s[threadIdx.y][t] = g[t]; g[t] = s[t][threadIdx.y];",
        "__shared__ int s[256]; s[t] = g[t]; g[t] = s[255 - t];",
        "__shared__ int s[32]; if (t < 64) s[t >> 1] = g[t];",
        "__shared__ int s[256], w[32]; s[t] = g[t]; if (t < 128) s[t] += s[t + 128]; w[t & 31] = s[t ^ 32];",
    ] {
        assert!(matches!(verdict(&kernel(body), None), RaceVerdict::Race(_)), "{body}");
    }
}

#[test]
fn functions_that_touch_memory() {
    let functions = "
        __device__ void put(float *p, int i, float v) { p[i] = v; }
        __device__ float get(const float *p, int i) { return p[i]; }
        __device__ void both(float *p, float *q, int i) { put(p, i, get(q, i)); __syncthreads(); }
        __device__ float halves(float *s, int t, int n) {
            for (int k = n / 2; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
            return s[0];
        }
        __device__ int guarded(float *p, int i, int n) { if (i >= n) return 0; p[i] = 1; return 1; }
        __device__ void wait(float *p, int n) { if (n > 3) return; __syncthreads(); p[threadIdx.x] = 1; }
        __device__ void phase(float *p, int i, float v) { __syncthreads(); p[i] = v; }
        __device__ float again(float *p, int n) { return n > 0 ? p[n] + again(p, n - 1) : 0; }
        __device__ void odd(float *p, int i) { if (i % 2) put(p, i, 1); else put(p, i + 1, 2); }";
    let with = |body: &str| format!("{functions}\n{}", flat(body));
    for body in [
        "if (i < n) put(a, i, b[i]);",
        "put(a, i, get(b, n));",
        "if (i < n) a[i] = get(a, i) + get(b, i + 1);",
        "if (guarded(a, i, n)) a[i] += 1;",
        "put(a + blockIdx.x * blockDim.x, t, 2);",
        "s[t] = b[i]; __syncthreads(); float v = halves(s, t, blockDim.x); if (t == 0) a[blockIdx.x] = v;",
        "s[t] = b[i]; __syncthreads(); if (halves(s, t, blockDim.x) > 0) put(a, i, 1);",
        // the argument is read before the barrier inside
        "s[t] = b[i]; __syncthreads(); phase(s, t, get(s, blockDim.x - 1 - t));",
    ] {
        assert_eq!(proved(&with(body)), Some((1, None)), "{body}: {:?}", verdict(&with(body), None));
    }
    for body in [
        "put(a, t, 1);",
        "put(a, i, get(a, i + 1));",
        "guarded(a, i / 2, n);",
        "a[i] = 0; guarded(a, i + 1, n);",
        "s[t] = b[i]; float v = halves(s, t, blockDim.x); a[i] = v;",
        "both(s, a, t); a[i] = s[t + 1]; both(s, a, t);",
        "s[t] = 1; wait(s, t); a[i] = s[t];",
        "wait(s, n); a[i] = s[0];",
        // the argument is read with what is written before the barrier inside
        "s[t] = b[i]; phase(s, t, get(s, blockDim.x - 1 - t));",
        "s[t] = b[i]; __syncthreads(); phase(s, t + 1, get(s, t)); a[i] = s[t];",
        "a[i] = again(s, t); s[t] = 1;",
        "odd(a, i);",
    ] {
        assert_eq!(proved(&with(body)), None, "{body}");
    }
    // barriers of functions are as good as others
    let both = "both(s, a, t); a[i] = s[t]; __syncthreads(); both(s, a, t);";
    assert!(!matches!(verdict(&with(both), None), RaceVerdict::Race(_)));
}

#[test]
fn no_kernel_proved_for_every_launch_shows_a_race() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (cases, first) = (number("WARPWRIGHT_SHAPELESS", 12), number("WARPWRIGHT_SHAPELESS_SEED", 1));
    let mut tally = Tally::default();
    for seed in first..first + cases {
        if let Err(what) = judge(seed, &mut tally) {
            panic!("{what}");
        }
    }
    assert!(tally.free + tally.block > 0 && tally.runs > cases as usize, "{tally:?}");
}

/// Threads of a row counted through a grid of two dimensions: proved for blocks of one dimension alone.
#[test]
fn rows_of_blocks() {
    let text = |index: &str| {
        format!("__global__ void k(float *a, const float *b, int n) {{ int i = {index}; if (i < n) a[i] = b[i]; }}")
    };
    let none: Vec<String> = Vec::new();
    for good in [
        "(blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x",
        "(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x",
    ] {
        assert_eq!(proved_where(&text(good)), Some((1, 2, none.clone())), "{good}");
        assert!(!matches!(verdict(&text(good), Some([16, 4, 1])), RaceVerdict::Free { .. }), "{good}");
    }
    for bad in [
        "(blockIdx.x + blockIdx.y * gridDim.y) * blockDim.x + threadIdx.x",
        "(blockIdx.x + blockIdx.y * gridDim.x) * (blockDim.x - 1) + threadIdx.x",
        "(blockIdx.x + blockIdx.y) * blockDim.x + threadIdx.x",
    ] {
        assert_eq!(proved_where(&text(bad)), None, "{bad}");
    }
}

/// A thread's number taken apart and put together in another order: each place once, if the digits fit.
#[test]
fn digits_in_another_order() {
    let of = |body: &str| {
        let text = format!("__global__ void k(float *a, const float *b, int B, int N, int H, int d) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}");
        proved_where(&text).map(|x| x.2.join(" "))
    };
    let all = Some("B H N d".to_owned());
    let down = "if (i >= B * H * N * d) return; int b_ = i / (H * N * d), r = i % (H * N * d), h = r / (N * d); r = r % (N * d); int n = r / d, e = r % d;";
    assert_eq!(of(&format!("{down} a[b_ * N * H * d + n * H * d + h * d + e] = b[i];")), all);
    assert_eq!(of(&format!("{down} a[((b_ * N + n) * H + h) * d + e] = b[i];")), all);
    // a place of three, and its neighbours
    let three = format!("{down} int k = b_ * N * 3 * H * d + n * 3 * H * d + h * d + e; a[k] += b[i]; a[k + H * d] += b[i]; a[k + 2 * (H * d)] += b[i];");
    assert_eq!(of(&three), all);
    assert_eq!(of(&three.replace("2 * (H", "3 * (H")), None);
    let up = "if (i >= B * H * N * d) return; int r = i, e = r % d; r /= d; int n = r % N; r /= N; int h = r % H; r /= H; int b_ = r;";
    // the number itself again, whatever the digits are
    assert_eq!(of(&format!("{up} a[((b_ * H + h) * N + n) * d + e] += 1;")), Some(String::new()));
    assert_eq!(of(&format!("{up} a[((e * H + h) * N + n) * B + b_] += 1;")), all);
    // digits of the whole
    let whole = "if (i >= B * N * d) return; int b_ = i / (N * d), n = (i / d) % N, e = i % d;";
    assert_eq!(of(&format!("{whole} a[b_ * N * d + n * d + e] += 1;")), Some("B N d".to_owned()));
    // a digit that is left out, or that has no room
    for wrong in [
        format!("{down} a[((b_ * N + n) * H + h) * d] = 1;"),
        format!("{down} a[((b_ * H + n) * H + h) * d + e] = 1;"),
        format!("{down} a[((b_ * N + n) * H + h) * d + e + e] = 1;"),
        format!("{up} a[((b_ * H + h) * N + n) * N + e] += 1;"),
        format!("{whole} a[b_ * N * d + n * d + b_] += 1;"),
        "if (i > B * N * d) return; int b_ = i / (N * d), n = (i / d) % N, e = i % d; a[(n * B + b_) * d + e] = 1;".to_owned(),
    ] {
        assert_eq!(of(&wrong), None, "{wrong}");
    }
}

/// What a stride or a divisor has to be is said with the verdict.
#[test]
fn strides_and_divisors_that_are_positive() {
    let of = |body: &str| proved_where(&flat(body)).map(|x| x.2.join(" "));
    let m = Some("m".to_owned());
    let both = Some("m n".to_owned());
    // of a stride of 0 all threads write one place
    assert_eq!(of("a[i * m] = 1;"), m);
    assert_eq!(of("a[n + i * m] = 1;"), m);
    // an index taken apart and put together again, and transposed
    assert_eq!(of("a[(i / m) * m + i % m] = 1;"), Some(String::new()));
    assert_eq!(of("if (i < n * m) a[(i % m) * n + i / m] = 1;"), both);
    // where it is not positive nobody comes
    assert_eq!(of("if (i < 8 * m) a[(i % m) * 8 + i / m] = 1;"), Some(String::new()));
    // nothing bounds the quotient
    assert_eq!(of("a[(i % m) * 8 + i / m] = 1;"), None);
    assert_eq!(of("a[i / m] = 1;"), None);
    assert_eq!(of("a[i % m] = 1;"), None);
    // neighbours meet where the stride is 1
    assert_eq!(of("a[i * m] = 1; a[i * m + 1] = 2;"), None);
    // a launch with all its numbers is judged with them
    let text = flat("a[i * m] = 1;");
    let unit = front::lower(&Parsed::parse(Language::Cuda, &*text), &Options::default(), &mut Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let with = |m: i128| {
        let values = vec![("n".into(), 64), ("m".into(), m)];
        let launch = KernelLaunch {
            grid: Some([2, 1, 1]),
            block: Some([64, 1, 1]),
            values,
            ..KernelLaunch::default()
        };
        analysis::kernel_races(&unit.items[0].body, &program, &launch)
    };
    assert!(matches!(with(3), RaceVerdict::Free { .. }));
    assert!(!matches!(with(0), RaceVerdict::Free { .. }));
}
