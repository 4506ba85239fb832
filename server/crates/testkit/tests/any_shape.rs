//! What a warp asks of memory, and how it decides branches, for every launch: kernels whose answer a reader can work out, and random
//! ones held against counts with several launches. `WARPWRIGHT_ANYSHAPE=5000` judges more.

use analysis::{Assumed, KernelFacts, KernelLaunch, Program};
use front::{Language, Memo, Options, Parsed};
use testkit::any_shape::{judge, Tally};

fn facts(text: &str, launch: &KernelLaunch) -> KernelFacts {
    let unit = front::lower(&Parsed::parse(Language::Cuda, text), &Options::default(), &mut Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let item = unit.items.iter().find(|i| i.is_kernel).expect("a kernel");
    analysis::kernel(&item.body, &program, launch)
}

fn kernel(body: &str) -> String {
    format!(
        "struct P {{ float x, y, z; }};
        __device__ int at(int r, int c, int w) {{ return r * w + c; }}
        __global__ void k(float *a, const float *b, const int *idx, struct P *p, int n, int m) {{
            int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}"
    )
}

/// The last access that is told of: its pattern, the cost of any request, and that of one of all lanes.
fn said(body: &str) -> String {
    let all = facts(&kernel(body), &KernelLaunch::default());
    let told = all.accesses.iter().rev().filter(|a| &*a.object != "idx");
    let Some(any) = told.filter_map(|a| a.any_shape.clone()).next() else {
        return "nothing".into();
    };
    let stride = any.pattern.stride().map(|k| format!(" by {k}")).unwrap_or_default();
    let between = |[a, b]: [u64; 2]| if a == b { a.to_string() } else { format!("{a} to {b}") };
    let full = if any.cost == any.full { String::new() } else { format!(", of all {}", between(any.full)) };
    format!("{}{stride}: {}{full}", any.pattern.name(), between(any.cost))
}

#[test]
fn sectors_that_a_warp_asks_for_whatever_the_launch() {
    for (body, expected) in [
        ("a[i] = 1;", "coalesced: 4"),
        ("a[64 * i] = 1;", "strided by 64: 32"),
        ("a[2 * i + 1] = 1;", "strided by 2: 8"),
        ("a[n] = 1;", "uniform: 1"),
        ("a[blockIdx.x] = 1;", "uniform: 1"),
        // where the part begins is known up to an element
        ("a[i + 1] = 1;", "coalesced: 5"),
        ("a[i + n] = 1;", "coalesced: 4 to 5"),
        ("a[blockIdx.y * n + i] = 1;", "coalesced: 4 to 5"),
        ("a[-i] = 1;", "coalesced: 5"),
        // a bound takes lanes away
        ("if (i < n) a[i] = 1;", "coalesced: 1 to 4, of all 4"),
        ("if (i >= n) return; a[i] = 1;", "coalesced: 1 to 4, of all 4"),
        ("if (t == 0) a[n * t] = 1;", "uniform: 1"),
        ("if (t % 4 == 0) a[t] = 1;", "coalesced: 4"),
        // what only the run decides
        ("a[i * n] = 1;", "strided: 1 to 32"),
        ("for (int j = 0; j < m; j++) a[i * m + j] = 1;", "strided: 1 to 32"),
        ("for (int j = 0; j < m; j++) a[j * n + i] = 1;", "coalesced: 4 to 5"),
        ("for (int j = i; j < n; j += gridDim.x * blockDim.x) a[j] = 1;", "coalesced: 1 to 4, of all 4"),
        ("int j = i; while (j < n) { a[j] = 1; j += 32; }", "coalesced: 1 to 4, of all 4"),
        ("a[idx[i]] = 1;", "gather: 1 to 32"),
        ("a[idx[blockIdx.x] + t] = 1;", "coalesced: 4 to 5"),
        // quotients and bits
        ("int lane = t % 32, warp = t / 32; a[warp * 1024 + lane] = 1;", "coalesced: 4"),
        ("int lane = t & 31, warp = t >> 5; a[lane * 32 + warp] = 1;", "strided by 32: 32"),
        ("a[t / 2] = 1;", "coalesced: 2"),
        ("a[(i / n) * n + i % n] = 1;", "coalesced: 4"),
        ("a[t ^ 1] = 1;", "coalesced: 4"),
        ("a[t % n] = 1;", "irregular: 1 to 32"),
        // functions, pointers, fields
        ("a[at(t, 3, 33)] = 1;", "strided by 33: 32"),
        ("float *row = a + n * blockIdx.y; row[t] = 1;", "coalesced: 4 to 5"),
        ("p[i].y = 1;", "strided by 3: 12"),
        ("a[threadIdx.y * 32 + t] = 1;", "coalesced: 4"),
        ("a[t * blockDim.y + threadIdx.y] = 1;", "strided: 1 to 32"),
        ("a[n > 3 ? t : t + 8] = 1;", "coalesced: 4"),
        ("a[idx[t] > 3 ? t : t + 8] = 1;", "gather: 1 to 32"),
        ("int j = t; if (n > 3) j = t + m; a[j] = 1;", "coalesced: 4 to 5"),
    ] {
        assert_eq!(said(body), expected, "{body}");
    }
}

#[test]
fn ways_of_banks_whatever_the_launch() {
    for (body, expected) in [
        ("__shared__ float s[32][32]; s[threadIdx.y][t] = 1;", "coalesced: 1"),
        ("__shared__ float s[32][32]; s[t][threadIdx.y] = 1;", "strided by 32: 32"),
        ("__shared__ float s[32][33]; s[t][threadIdx.y] = 1;", "strided by 33: 1"),
        ("__shared__ float s[1024]; s[2 * t + n] = 1;", "strided by 2: 2"),
        ("__shared__ float s[1024]; s[t * n] = 1;", "strided: 1 to 32"),
        ("__shared__ float s[1024]; s[idx[t]] = 1;", "gather: 1 to 32"),
        // the row is chosen by half a warp: blocks of 16 by 16
        ("__shared__ float s[16][16]; s[threadIdx.y][t] = 1;", "coalesced: 1"),
        ("__shared__ float s[16][16]; s[t][threadIdx.y] = 1;", "irregular: 8"),
        // no room for 32 lanes, and no second axis that would say more
        ("__shared__ float s[16]; s[t] = 1;", "nothing"),
        // each round of a loop that doubles
        ("extern __shared__ float s[]; for (int j = 1; j < blockDim.x; j *= 2) if (t % (2 * j) == 0) s[t] += s[t + j];", "coalesced: 1"),
        ("extern __shared__ float s[]; for (int j = 1; j < 32; j *= 2) s[2 * j * t] = 1;", "strided: 2 to 32"),
    ] {
        assert_eq!(said(body), expected, "{body}");
    }
}

#[test]
fn what_is_taken_for_granted_of_blocks() {
    let assumed = |body: &str, launch: &KernelLaunch| {
        facts(&kernel(body), launch).accesses.iter().find_map(|a| Some(a.any_shape.as_ref()?.assumed))
    };
    let none = KernelLaunch::default();
    assert_eq!(assumed("a[t] = 1;", &none), Some(Assumed::RowsOfWarps));
    let tiled = "__shared__ float s[16][17]; s[threadIdx.y][t] = b[i]; a[i] = s[0][t];";
    assert_eq!(assumed(tiled, &none), Some(Assumed::Tile([16, 16, 1])));
    let block = KernelLaunch { block: Some([8, 8, 1]), ..none.clone() };
    assert_eq!(assumed(tiled, &block), Some(Assumed::Launch([8, 8, 1])));
    // what a known launch says is said by it alone
    let known = KernelLaunch { grid: Some([2, 1, 1]), ..block };
    assert_eq!(assumed("a[t] = 1;", &known), None);
    assert_eq!(assumed("a[idx[t]] = 1;", &known), Some(Assumed::Launch([8, 8, 1])));
}

#[test]
fn branches_whatever_the_launch() {
    let decided = |body: &str| {
        let all = facts(&kernel(body), &KernelLaunch::default());
        let b = all.branches.last().expect("a branch").any_shape.clone().expect("said");
        let name = b.name().unwrap_or("lanes");
        let parts = b.parts.map(|(holds, of)| format!(", {holds} of {of} at least")).unwrap_or_default();
        format!("{name} {} to {}{parts}", b.taken[0], b.taken[1])
    };
    for (body, expected) in [
        ("if (n > 3) a[t] = 1;", "alike 0 to 32"),
        ("if (threadIdx.y < 4) a[t] = 1;", "alike 0 to 32"),
        ("if (i < n) a[i] = 1;", "bound 0 to 32"),
        ("if (t == 0) a[0] = 1;", "lanes 0 to 1"),
        ("if (t % 32 == 0) a[t] = 1;", "lanes 1 to 1, 1 of 32 at least"),
        ("if (t % 2 == 0) a[t] = 1;", "lanes 16 to 16, 16 of 32 at least"),
        ("if (t < 32) a[t] = 1;", "alike 0 to 32"),
        ("if (t < 48) a[t] = 1;", "bound 0 to 32"),
        ("if (t / 32 == n) a[t] = 1;", "alike 0 to 32"),
        ("if (idx[t] > 0) a[t] = 1;", "data 0 to 32"),
        ("if (idx[n] > 0) a[t] = 1;", "alike 0 to 32"),
        (
            "for (int j = 1; j < blockDim.x; j *= 2) if (t % (2 * j) == 0) a[t] = 1;",
            "lanes 0 to 16, 1 of 32 at least",
        ),
    ] {
        assert_eq!(decided(body), expected, "{body}");
    }
}

#[test]
fn what_is_said_for_every_launch_holds_with_each() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (cases, first) = (number("WARPWRIGHT_ANYSHAPE", 10), number("WARPWRIGHT_ANYSHAPE_SEED", 1));
    let mut tally = Tally::default();
    for seed in first..first + cases {
        if let Err(what) = judge(seed, &mut tally) {
            panic!("{what}");
        }
    }
    let enough = tally.exact > 0 && tally.coalesced > 0 && tally.strided > 0 && tally.alike > 0;
    assert!(enough && tally.held > cases as usize, "{tally:?}");
}
