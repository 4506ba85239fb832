//! The kernels of `fixtures/cuda` beside their plain C references, at sizes that fit and sizes that do not, under warps in
//! step and under random interleavings; and counts that follow from the mathematics alone.
#[path = "common/fixture.rs"]
mod fixture;

use fixture::{int, ptr, File};
use simulate::*;

/// An array parameter: contents, and how far results may differ (0: not at all).
enum Data {
    Floats(Vec<f32>),
    Ints(Vec<i32>),
    Bytes(Vec<u8>),
}

enum Arg {
    Array(Data),
    Value(Value),
}

fn floats(n: usize, seed: u64) -> Arg {
    let mut rng = Rng(seed);
    Arg::Array(Data::Floats((0..n).map(|_| rng.below(2001) as f32 / 1000.0 - 1.0).collect()))
}
fn ints(n: usize, seed: u64) -> Arg {
    let mut rng = Rng(seed);
    Arg::Array(Data::Ints((0..n).map(|_| rng.below(2001) as i32 - 1000).collect()))
}
fn size(n: usize) -> Arg {
    Arg::Value(int(n))
}

fn heap_of(args: &[Arg]) -> (Heap, Vec<Value>, Vec<ObjectId>) {
    let (mut heap, mut values, mut objects) = (Heap::new(), Vec::new(), Vec::new());
    for (k, a) in args.iter().enumerate() {
        let name = format!("array {k}");
        let o = match a {
            Arg::Value(v) => {
                values.push(*v);
                continue;
            }
            Arg::Array(Data::Floats(v)) => heap.buffer(&name, v),
            Arg::Array(Data::Ints(v)) => heap.buffer(&name, v),
            Arg::Array(Data::Bytes(v)) => heap.buffer(&name, v),
        }
        .unwrap();
        values.push(ptr(o));
        objects.push(o);
    }
    (heap, values, objects)
}

/// Runs kernel and reference on the same arguments and compares all arrays; the counts of the run in step.
fn check(file: &File, kernel: &str, reference: &str, launch: Launch, args: &[Arg], tolerance: f32) -> Counts {
    let (mut want, values, objects) = heap_of(args);
    file.reference(&mut want, reference, &values);
    let mut counts = None;
    for schedule in [Schedule::counted(5), Schedule::seeded(1), Schedule::seeded(2)] {
        let (mut heap, values, _) = heap_of(args);
        let report = file.run(&mut heap, kernel, launch, &values, schedule);
        assert!(report.is_clean(), "{kernel} {launch:?}: {:?}", report.findings);
        for (&o, a) in objects.iter().zip(args.iter().filter(|a| matches!(a, Arg::Array(_)))) {
            if matches!(a, Arg::Array(Data::Floats(_))) {
                for (k, (x, y)) in want.read::<f32>(o).into_iter().zip(heap.read::<f32>(o)).enumerate() {
                    let (x, y) = (x.unwrap(), y.unwrap());
                    let near = (x - y).abs() <= tolerance * x.abs().max(1.0);
                    assert!(near, "{kernel} {launch:?}: element {k}: {x} {y}");
                }
            } else {
                assert_eq!(want.read::<u8>(o), heap.read::<u8>(o), "{kernel} {launch:?}");
            }
        }
        counts = counts.or(report.counts);
    }
    counts.expect("the first run is counted")
}

fn grid(grid: [usize; 2], block: [u32; 2]) -> Launch {
    let [x, y] = grid.map(|n| n as u32);
    Launch { grid: [x, y, 1], block: [block[0], block[1], 1], shared_bytes: 0 }
}

fn heat(file: &File, kernel: &str, nx: usize, ny: usize) -> Counts {
    let (bx, by) = ((nx - 2).div_ceil(32), (ny - 2).div_ceil(16));
    let launch = match kernel {
        "heat_global" => grid([nx.div_ceil(32), ny.div_ceil(16)], [32, 16]),
        "heat_border_threads" => grid([bx, by], [34, 18]),
        "heat_border_branches" => grid([bx, by], [32, 16]),
        _ => grid([by, 1], [32, 16]),
    };
    let args = [floats(nx * ny, 1), floats(nx * ny, 2), size(nx), size(ny), Arg::Value(Value::F32(0.125))];
    check(file, kernel, "reference_heat", launch, &args, 1e-5)
}

const HEAT: [&str; 4] = ["heat_global", "heat_border_threads", "heat_border_branches", "heat_strip"];

#[test]
fn the_four_heat_stencils_compute_one_step() {
    let file = File::open("heat.cu");
    for kernel in HEAT {
        for (nx, ny) in [(3usize, 3usize), (34, 18), (35, 19), (33, 17), (67, 35), (40, 5)] {
            heat(&file, kernel, nx, ny);
        }
    }
}

/// F2.6: the plain kernel moves 6 numbers a node, tiles about 2. On grids that the tiles fill, exactly so many.
#[test]
fn tiles_save_the_traffic_that_the_lecture_says() {
    let file = File::open("heat.cu");
    let divided = |c: &Counts| c.branches.iter().map(|b| b.divergent).sum::<u64>();
    for (a, b) in [(1usize, 1usize), (2, 3)] {
        let (nx, ny) = (32 * a + 2, 16 * b + 2);
        let (tiles, inner) = ((a * b) as u64, ((nx - 2) * (ny - 2)) as u64);
        let [plain, threads, branches, strip] = HEAT.map(|k| heat(&file, k, nx, ny));
        assert_eq!(plain.global_elements(), 6 * inner);
        assert_eq!(threads.global_elements(), tiles * (34 * 18 + 32 * 16));
        assert_eq!(branches.global_elements(), tiles * (32 * 16 + 2 * 32 + 2 * 16 + 32 * 16));
        // a strip reads each of its 18 rows once, whatever its length
        assert_eq!(strip.global_elements(), b as u64 * (18 * nx as u64) + inner);
        for tiled in [&threads, &branches, &strip] {
            let a_node = tiled.global_elements() as f64 / inner as f64;
            assert!((2.0..2.3).contains(&a_node), "{a_node}");
        }
        assert!(strip.global_elements() < threads.global_elements() || a == 1);
        // variant 3 divides the warps that load a border: every row's first and last lane
        let decided = |c: &Counts| c.branches.iter().map(|b| b.divergent).max().unwrap_or(0);
        assert_eq!(decided(&branches), tiles * 16);
        assert!(divided(&branches) > 0);
    }
}

#[test]
fn transposing_by_tiles_mends_sectors_and_padding_mends_banks() {
    let file = File::open("transpose.cu");
    for (n, m) in [(1usize, 1usize), (31, 33), (64, 32), (40, 70)] {
        let launch = grid([m.div_ceil(32), n.div_ceil(32)], [32, 8]);
        let run = |kernel| {
            let args = [floats(n * m, 3), floats(n * m, 4), size(n), size(m)];
            check(&file, kernel, "reference_transpose", launch, &args, 0.0)
        };
        let [direct, tile, padded] = ["transpose_direct", "transpose_tile", "transpose_padded"].map(run);
        if (n, m) == (64, 32) {
            let sectors = |c: &Counts, write: bool| {
                let kind = if write { AccessKind::Write } else { AccessKind::Read };
                let mine = c.accesses.iter().filter(|a| a.space == term::Space::Global && a.kind == kind);
                mine.map(|a| a.sectors).sum::<u64>()
            };
            let ideal = (n * m * 4 / 32) as u64;
            assert_eq!((sectors(&direct, false), sectors(&direct, true)), (ideal, (n * m) as u64));
            assert_eq!((sectors(&tile, false), sectors(&tile, true)), (ideal, ideal));
            // each of the 64 requests that read a column needs 32 passes
            assert_eq!(tile.bank_conflicts(), 64 * 31);
            let worst = tile.accesses.iter().map(|a| a.worst.ways).max();
            assert_eq!(worst, Some(32));
        }
        assert_eq!(padded.bank_conflicts(), 0);
    }
}

#[test]
fn products_histograms_and_bodies_are_right() {
    let file = File::open("product.cu");
    for (n, l, m) in [(1usize, 1usize, 1usize), (16, 16, 16), (17, 15, 33), (5, 40, 20)] {
        for kernel in ["product_direct", "product_tiled"] {
            let args = [floats(n * l, 1), floats(l * m, 2), floats(n * m, 3), size(n), size(l), size(m)];
            let launch = grid([m.div_ceil(16), n.div_ceil(16)], [16, 16]);
            let counts = check(&file, kernel, "reference_product", launch, &args, 1e-4);
            if (n, l, m) == (16, 16, 16) {
                // a tile of each factor once, against a row and a column a thread
                let reads = if kernel == "product_tiled" { 2 * 256 } else { 2 * 16 * 256 };
                assert_eq!(counts.global_elements(), reads + 256);
            }
        }
    }
    let file = File::open("histogram.cu");
    for n in [0usize, 1, 127, 1000] {
        for kernel in ["histogram_global", "histogram_block"] {
            let mut rng = Rng(n as u64);
            let data = (0..n.max(1)).map(|_| rng.below(256) as u8).collect();
            let args = [Arg::Array(Data::Bytes(data)), ints(64, 9), size(n)];
            let launch = Launch::linear(3, 96);
            let counts = check(&file, kernel, "reference_histogram", launch, &args, 0.0);
            let global = counts
                .accesses
                .iter()
                .filter(|a| a.space == term::Space::Global && a.kind == AccessKind::Atomic);
            // one atomic a byte, or one a bin and block
            let expected = if kernel == "histogram_global" { n as u64 } else { 3 * 64 };
            assert_eq!(global.map(|a| a.lanes).sum::<u64>(), expected);
        }
    }
    let file = File::open("bodies.cu");
    for n in [1usize, 64, 65, 100] {
        for kernel in ["bodies_direct", "bodies_tiled"] {
            let args = [floats(4 * n, 1), floats(4 * n, 2), size(n)];
            let launch = Launch::linear(n.div_ceil(64) as u32, 64);
            check(&file, kernel, "reference_bodies", launch, &args, 1e-3);
        }
    }
}

#[test]
fn scans_and_sorts_are_right() {
    let file = File::open("scan.cu");
    for blocks in [1usize, 3] {
        for (kernel, reference, threads) in [
            ("scan_doubling", "reference_inclusive", 128),
            ("scan_shuffle", "reference_inclusive", 128),
            ("scan_tree", "reference_exclusive", 64),
        ] {
            let args = [ints(128 * blocks, 1), ints(128 * blocks, 2), size(blocks)];
            let launch = Launch::linear(blocks as u32, threads);
            let counts = check(&file, kernel, reference, launch, &args, 0.0);
            if kernel == "scan_shuffle" {
                assert_eq!(counts.barriers_opened(), blocks as u64);
                assert_eq!(counts.bank_conflicts(), 0);
            }
        }
    }
    let file = File::open("sort.cu");
    for blocks in [1usize, 2] {
        let args = [ints(128 * blocks, 3), size(blocks)];
        check(&file, "sort_bitonic", "reference_bitonic", Launch::linear(blocks as u32, 64), &args, 0.0);
    }
    for n in [0usize, 1, 2, 99, 100] {
        for odd in [0, 1] {
            let args = [ints(n.max(1), 4), size(n), size(odd)];
            let launch = Launch::linear(2, 32);
            check(&file, "sort_odd_even", "reference_odd_even", launch, &args, 0.0);
        }
    }
}

/// Whole numbers from 0 on.
fn below(n: usize, limit: u32, seed: u64) -> Vec<i32> {
    let mut rng = Rng(seed);
    (0..n).map(|_| rng.below(limit as usize) as i32).collect()
}
fn whole(v: Vec<i32>) -> Arg {
    Arg::Array(Data::Ints(v))
}
fn bytes(n: usize, seed: u64) -> Arg {
    Arg::Array(Data::Bytes(below(n, 256, seed).into_iter().map(|v| v as u8).collect()))
}
fn zeros(n: usize) -> Arg {
    whole(vec![0; n])
}

#[test]
fn matrices_times_vectors_are_right() {
    let file = File::open("vectors.cu");
    for (n, m) in [(1usize, 1usize), (100, 48), (33, 100)] {
        for kernel in ["matvec_rows", "matvec_warps"] {
            let args = [floats(n * m, 1), floats(m, 2), floats(n, 3), size(n), size(m)];
            let launch = match kernel {
                "matvec_rows" => Launch::linear(n.div_ceil(64) as u32, 64),
                _ => Launch::linear(n.div_ceil(4) as u32, 128),
            };
            let counts = check(&file, kernel, "reference_matvec", launch, &args, 1e-4);
            if (n, m) == (100, 48) {
                let a = counts.accesses.iter().find(|c| &*c.object == "array 0").expect("the matrix");
                // a sector a lane, against rows of neighbours: 32 lanes are four sectors
                let worst = if kernel == "matvec_rows" { 32 } else { 4 };
                assert_eq!(a.worst.sectors, worst, "{kernel}");
            }
        }
    }
    for n in [1usize, 40, 70] {
        let lengths = below(n, 9, 5);
        let mut start = vec![0];
        for l in &lengths {
            start.push(start[start.len() - 1] + l);
        }
        let all = (start[n] as usize).max(1);
        for kernel in ["sparse_rows", "sparse_warps"] {
            let launch = match kernel {
                "sparse_rows" => Launch::linear(n.div_ceil(32) as u32, 32),
                _ => Launch::linear(n.div_ceil(4) as u32, 128),
            };
            let args = [
                whole(start.clone()),
                whole(below(all, 30, 6)),
                floats(all, 7),
                floats(30, 8),
                floats(n, 9),
                size(n),
            ];
            check(&file, kernel, "reference_sparse", launch, &args, 1e-4);
        }
    }
    for n in [0usize, 1, 191, 1000] {
        let args = [floats(n.max(1), 1), floats(n.max(1), 2), Arg::Value(Value::F32(0.5)), size(n)];
        check(&file, "update_strided", "reference_update", Launch::linear(3, 64), &args, 1e-6);
        let args = [floats(n.max(1), 1), floats(n.max(1), 2), floats(3, 3), size(n), size(3), size(128)];
        check(&file, "dot_blocks", "reference_dot", Launch::linear(3, 128), &args, 1e-4);
    }
}

#[test]
fn neighbourhoods_are_right() {
    let file = File::open("stencil.cu");
    for n in [1usize, 64, 65, 250] {
        for kernel in ["convolve_direct", "convolve_tiled"] {
            let args = [floats(n, 1), floats(n, 2), size(n)];
            let launch = Launch::linear(n.div_ceil(64) as u32, 64);
            check(&file, kernel, "reference_convolution", launch, &args, 1e-5);
        }
    }
    for (nx, ny, nz) in [(3usize, 3usize, 3usize), (20, 14, 6), (18, 6, 4)] {
        let args = [floats(nx * ny * nz, 1), floats(nx * ny * nz, 2), size(nx), size(ny), size(nz)];
        let launch = grid([(nx - 2).div_ceil(16), (ny - 2).div_ceil(4)], [16, 4]);
        check(&file, "cross_layers", "reference_cross", launch, &args, 1e-5);
    }
    for (n, m) in [(3usize, 3usize), (40, 30), (16, 16)] {
        let args = [bytes(n * m, 1), bytes(n * m, 2), size(n), size(m)];
        check(
            &file,
            "life_step",
            "reference_life",
            grid([m.div_ceil(16), n.div_ceil(16)], [16, 16]),
            &args,
            0.0,
        );
    }
    for n in [3usize, 18, 19, 44] {
        let args = [floats(n * n, 1), floats(n * n, 2), floats(n * n, 3), size(n)];
        let blocks = (n - 2).div_ceil(16);
        check(&file, "jacobi_halo", "reference_jacobi", grid([blocks, blocks], [16, 16]), &args, 1e-5);
    }
}

#[test]
fn counts_choices_merges_and_ranks_are_right() {
    let file = File::open("order.cu");
    for (n, blocks) in [(0usize, 1usize), (1, 1), (128, 1), (300, 3)] {
        for kernel in ["digits_block", "digits_votes"] {
            let data = whole(below(n.max(1), 1 << 20, 3));
            let args = [data, zeros(16 * blocks), size(n), size(2), size(blocks)];
            let launch = Launch::linear(blocks as u32, 128);
            check(&file, kernel, "reference_digits", launch, &args, 0.0);
        }
        let data = whole(below(n.max(1), 1000, 4));
        let args = [data, zeros(128 * blocks), zeros(blocks), size(n), size(blocks)];
        check(&file, "odd_ballot", "reference_odd", Launch::linear(blocks as u32, 128), &args, 0.0);
    }
    for (n, m) in [(0usize, 5usize), (1, 1), (90, 110), (7, 200)] {
        let sorted = |n: usize, seed| {
            let mut v = below(n.max(1), 50, seed);
            v.sort();
            whole(v)
        };
        let args = [sorted(n, 1), sorted(m, 2), zeros(n + m), size(n), size(m)];
        let launch = Launch::linear((n + m).div_ceil(4 * 32) as u32, 32);
        check(&file, "merge_paths", "reference_merge", launch, &args, 0.0);
    }
    for n in [1usize, 128, 200] {
        let args = [whole(below(n, 40, 1)), zeros(n), size(n)];
        let launch = Launch::linear(n.div_ceil(128) as u32, 128);
        check(&file, "ranks_tiled", "reference_ranks", launch, &args, 0.0);
    }
}

#[test]
fn tables_are_right() {
    let file = File::open("dense.cu");
    let n = 32usize;
    let args = [floats(n * n, 1), floats(n * n, 2), floats(n * n, 3), size(n)];
    let launch = grid([n / 32, n / 32], [16, 16]);
    let counts = check(&file, "product_registers", "reference_square", launch, &args, 1e-4);
    // a tile of 32 rows serves 32 columns
    assert_eq!(counts.global_elements(), (2 * n * n * n / 32 + n * n) as u64);
    let args = [floats(n * n, 1), floats(n * n, 2), size(n)];
    let launch = grid([n / 32, n / 32], [32, 8]);
    let counts = check(&file, "transpose_swizzled", "reference_swizzled", launch, &args, 0.0);
    assert_eq!(counts.bank_conflicts(), 0);
    let args = [whole(below(256, 1000, 1))];
    check(&file, "ways_tile", "reference_ways", grid([1, 1], [16, 16]), &args, 0.0);
    for m in [1usize, 64, 100] {
        let args = [floats(3 * m, 1), floats(3 * m, 2), size(3), size(m)];
        check(&file, "softmax_rows", "reference_softmax", Launch::linear(3, 64), &args, 1e-4);
    }
    let args = [ints(256, 1), size(2)];
    let launch = Launch { shared_bytes: 512, ..Launch::linear(2, 64) };
    check(&file, "walsh_shared", "reference_walsh", launch, &args, 0.0);
    for (n, m) in [(1usize, 1usize), (20, 40)] {
        let args = [zeros(n * m), size(n), size(m), size(30)];
        check(
            &file,
            "fractal",
            "reference_fractal",
            grid([m.div_ceil(16), n.div_ceil(8)], [16, 8]),
            &args,
            0.0,
        );
    }
    for seed in 1..4 {
        let args = [bytes(32, seed), bytes(32, seed + 9), zeros(1)];
        check(&file, "edits_front", "reference_edits", Launch::linear(1, 32), &args, 0.0);
    }
}
