//! Launches that are too large to follow thread by thread: what a part of them shows, and that it shows nothing of a kernel that is
//! right. With and without the values of parameters.

use analysis::{BarrierVerdict, KernelFacts, KernelLaunch, Program, RaceVerdict, Reach};
use front::{Language, Memo, Options, Parsed};

fn facts(text: &str, launch: &KernelLaunch) -> KernelFacts {
    let unit = front::lower(&Parsed::parse(Language::Cuda, text), &Options::default(), &mut Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let item = unit.items.iter().find(|i| i.is_kernel).expect("a kernel");
    analysis::kernel(&item.body, &program, launch)
}

fn launch(grid: [u32; 3], block: [u32; 3], values: &[(&str, i128)]) -> KernelLaunch {
    let values = values.iter().map(|(n, v)| ((*n).into(), *v)).collect();
    KernelLaunch { grid: Some(grid), block: Some(block), values, ..KernelLaunch::default() }
}

/// How far apart the first race's threads are.
fn race(text: &str, launch: &KernelLaunch) -> Option<Reach> {
    match facts(text, launch).races {
        RaceVerdict::Race(list) => list.first().map(|w| w.reach),
        _ => None,
    }
}

fn is_free(text: &str, launch: &KernelLaunch) -> bool {
    matches!(facts(text, launch).races, RaceVerdict::Free { .. })
}

const LAST: &str = "        __syncthreads();\n    }\n";

fn product(tile: u32) -> String {
    format!(
        "#define T {tile}
__global__ void k(const float *a, const float *b, float *c, int n) {{
    __shared__ float s[T][T], t[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n / T; k++) {{
        s[threadIdx.y][threadIdx.x] = a[row * n + k * T + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k * T + threadIdx.y) * n + col];
        __syncthreads();
        for (int j = 0; j < T; j++)
            sum += s[threadIdx.y][j] * t[j][threadIdx.x];
{LAST}    c[row * n + col] = sum;
}}
"
    )
}

#[test]
fn a_tiled_product_without_its_last_barrier() {
    for tile in [16, 32] {
        let guarded = "if (row < n && col < n) c[row * n";
        let right = product(tile).replace("c[row * n", guarded);
        let wrong = right.replace(LAST, "    }\n");
        assert_ne!(right, wrong);
        let block = [tile, tile, 1];
        let all = [
            launch([64, 64, 1], block, &[("n", 64 * tile as i128)]),
            KernelLaunch::default(),
            launch([64, 64, 1], block, &[]),
            launch([1, 1, 1], block, &[("n", 1 << 20)]),
            launch([65535, 65535, 1], block, &[("n", 1 << 20)]),
            KernelLaunch { block: Some(block), ..KernelLaunch::default() },
        ];
        for launch in &all[..if tile == 16 { 6 } else { 2 }] {
            // a row of 16 is half a warp's: the other tile is everybody's
            let told = facts(&wrong, launch).races;
            let RaceVerdict::Race(list) = &told else { panic!("{tile} {launch:?}: {told:?}") };
            assert!(list.iter().any(|w| w.reach == Reach::Block), "{tile} {list:?}");
            // blocks of another shape than the tile may race
            if launch.block.is_none() {
                assert!(!matches!(facts(&right, launch).races, RaceVerdict::Race(_)), "{tile}");
                continue;
            }
            assert!(is_free(&right, launch), "{tile} {launch:?}: {:?}", facts(&right, launch).races);
        }
    }
}

#[test]
fn a_part_proves_nothing() {
    // the race is where nobody looks: in the block in the middle
    let text = "__global__ void k(int *a, const int *b) { __shared__ int s[256];
        s[threadIdx.x] = b[threadIdx.x];
        if (blockIdx.x != 5000) __syncthreads();
        a[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x]; }";
    let large = launch([10_000, 1, 1], [256, 1, 1], &[]);
    assert!(matches!(facts(text, &large).races, RaceVerdict::Unknown(_)));
    assert!(facts(text, &large).barriers.iter().all(|b| b.redundant.is_none()));
}

#[test]
fn neighbouring_blocks() {
    let large = launch([10_000, 1, 1], [256, 1, 1], &[("n", 2_560_000)]);
    let shift = "__global__ void k(int *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;
        int next = a[i + 1]; __syncthreads(); a[i] = next; }";
    assert_eq!(race(shift, &large), Some(Reach::Grid));
    let two = shift.replace("int next = a[i + 1]", "int next = a[i]");
    assert!(is_free(&two, &large));
    // the last row of a launch, and its length, are known
    let grid = launch([64, 64, 1], [16, 16, 1], &[("n", 1024)]);
    let rows = "__global__ void k(int *a, int n) {
        a[(blockIdx.y * 16 + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x] = n; }";
    assert!(is_free(rows, &grid));
    assert!(!is_free(rows, &KernelLaunch { values: vec![("n".into(), 1023)], ..grid.clone() }));
    // rows of blocks
    let plane = launch([500, 500, 1], [16, 16, 1], &[("n", 8000)]);
    let below = "__global__ void k(int *a, int n) {
        int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
        int v = 0; if (x > 0 && threadIdx.y == 15 && x < n) v = a[(y + 1) * n + x];
        __syncthreads(); if (x < n) a[y * n + x] = v; }";
    assert_eq!(race(below, &plane), Some(Reach::Grid));
    // a counter's fence may order blocks
    let fenced = shift.replace("__syncthreads();", "__threadfence(); atomicAdd(&a[n], 1);");
    assert_ne!(race(&fenced, &large), Some(Reach::Grid));
}

#[test]
fn missed_barriers_and_sizes() {
    // only the last block's threads part, and not all of them are far in
    let text = "__global__ void k(int *a, int n) { __shared__ int s[256];
        int i = blockIdx.x * 256 + threadIdx.x;
        for (int r = 0; r < n; r++) { if (i < n) { s[threadIdx.x] = a[i]; __syncthreads(); } } }";
    let large = launch([100_000, 1, 1], [256, 1, 1], &[("n", 25_599_990)]);
    let whole = launch([100_000, 1, 1], [256, 1, 1], &[("n", 25_600_000)]);
    assert!(matches!(facts(text, &large).barriers[0].verdict, BarrierVerdict::Divergent(_)));
    assert!(!matches!(facts(text, &whole).barriers[0].verdict, BarrierVerdict::Divergent(_)));
    let outside = "__global__ void k(int *a) { __shared__ int s[128]; s[threadIdx.x] = 1; a[0] = 0; }";
    let f = facts(outside, &large);
    let first = f.out_of_range.as_ref().and_then(|l| l.first()).expect("an access outside");
    assert_eq!((first.index, first.length, first.threads), (128, 128, None));
    assert_eq!(facts(&outside.replace("[128]", "[256]"), &large).out_of_range, None);
}

#[test]
fn lanes_that_are_cut_wait_for_nobody() {
    // every lane passes the same barriers; that they are left at different ones means nothing
    let text = "__global__ void k(int *a, int n) { __shared__ int s[64];
        for (int r = 0; r < n; r++) {
            if (threadIdx.x % 2 == 0) for (int j = 0; j < 40; j++) a[blockIdx.x * 64 + threadIdx.x] += j;
            s[threadIdx.x] = r; __syncwarp(); __syncthreads(); } }";
    let large = launch([100_000, 1, 1], [64, 1, 1], &[("n", 1_000_000)]);
    let f = facts(text, &large);
    assert!(
        f.barriers.iter().all(|b| !matches!(b.verdict, BarrierVerdict::Divergent(_))),
        "{:?}",
        f.barriers
    );
    assert!(matches!(f.races, RaceVerdict::Free { .. }), "{:?}", f.races);
    let neighbour =
        text.replace("s[threadIdx.x] = r", "s[threadIdx.x] = r; a[threadIdx.x] = s[threadIdx.x ^ 1]");
    assert_eq!(race(&neighbour, &large), Some(Reach::Warp), "{:?}", facts(&neighbour, &large).races);
    let waited = neighbour.replace("= r;", "= r; __syncwarp();");
    assert!(!matches!(facts(&waited, &large).races, RaceVerdict::Race(ref l) if l[0].shared));
}

#[test]
fn values_that_nobody_gives() {
    // all that are tried must show it: here only rows shorter than the block meet
    let rows = "__global__ void k(int *a, int n) { a[threadIdx.y * n + threadIdx.x] = threadIdx.y; }";
    assert_eq!(race(rows, &launch([1, 1, 1], [32, 8, 1], &[])), None);
    assert_eq!(race(rows, &launch([1, 1, 1], [32, 8, 1], &[("n", 31)])), Some(Reach::Block));
    let offset = "__global__ void k(int *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i + n < gridDim.x * blockDim.x) a[i] = a[i + n]; }";
    assert_eq!(race(offset, &launch([64, 1, 1], [256, 1, 1], &[])), None);
    let scan = "__global__ void k(float *a, int n) { __shared__ float s[256]; int t = threadIdx.x;
        s[t] = a[t];
        for (int d = 1; d < n; d *= 2) { __syncthreads(); if (t >= d) s[t] += s[t - d]; }
        a[t] = s[t]; }";
    assert_eq!(race(scan, &launch([1, 1, 1], [256, 1, 1], &[])), Some(Reach::Block));
}
