//! What the counters say of the stages of a tree sum (FOUNDATIONS.md F1.10): each stage mends what it is for.
#[path = "common/fixture.rs"]
mod fixture;

use fixture::{ptr, File};
use simulate::*;

const BLOCK: usize = 128;

/// Runs a stage on `blocks * span` numbers, checks its sums against the reference, and gives what was counted.
fn stage(file: &File, kernel: &str, blocks: usize, span: usize, schedule: Schedule) -> GridReport {
    let n = blocks * span;
    let mut rng = Rng(n as u64);
    let data: Vec<i32> = (0..n).map(|_| rng.below(2001) as i32 - 1000).collect();
    let mut heap = Heap::new();
    let input = heap.buffer("in", &data).unwrap();
    let out = heap.alloc("out", 4, n as u64).unwrap();
    let want = heap.alloc("want", 4, blocks as u64).unwrap();
    let (b, s) = (Value::Int(blocks as i128), Value::Int(span as i128));
    file.reference(&mut heap, "reference_sums", &[ptr(input), ptr(want), b, s]);
    let launch = Launch::linear(blocks as u32, BLOCK as u32);
    let report = file.run(&mut heap, kernel, launch, &[ptr(input), ptr(out)], schedule);
    if report.is_clean() {
        let got = heap.read::<i32>(out);
        let want = heap.read::<i32>(want);
        for (k, sum) in want.into_iter().enumerate() {
            // the original leaves its sums where its blocks began
            let at = if kernel == "tree_global" { k * span } else { k };
            assert_eq!(got[at], sum, "{kernel}, block {k}");
        }
    }
    report
}

/// What each stage costs.
#[derive(Debug, PartialEq)]
struct Costs {
    global_elements: u64,
    sectors: u64,
    divergent: u64,
    conflicts: u64,
    idle: u64,
    barriers: u64,
}

fn costs(file: &File, kernel: &str, blocks: usize, span: usize) -> Costs {
    let report = stage(file, kernel, blocks, span, Schedule::counted(7));
    assert!(report.is_clean(), "{kernel}: {:?}", report.findings);
    let c = report.counts.expect("counted");
    assert!(!c.out_of_step);
    Costs {
        global_elements: c.global_elements(),
        sectors: c.accesses.iter().map(|a| a.sectors).sum(),
        divergent: c.branches.iter().map(|b| b.divergent).sum(),
        conflicts: c.bank_conflicts(),
        idle: c.idle_threads(),
        barriers: c.barriers_opened(),
    }
}

/// Closed forms of what a block of 128 threads must do, so that no number here rests on the simulator alone.
#[test]
fn every_stage_of_the_tree_sum_mends_what_it_is_for() {
    let file = File::open("reduction.cu");
    for runs in [2usize, 8] {
        let b = runs as u64;
        let wide = |kernel| costs(&file, kernel, runs, BLOCK);
        let narrow = |kernel| costs(&file, kernel, runs / 2, 2 * BLOCK);
        let original = wide("tree_global");
        let shared = wide("tree_shared");
        let undivided = wide("tree_undivided");
        let halving = wide("tree_halving");
        let two_loads = narrow("tree_two_loads");
        let last_warp = narrow("tree_last_warp");
        let shuffle = narrow("tree_shuffle");

        // 1: a load and a store a number, and 127 additions of two loads and a store, become a load and one store a block
        assert_eq!(original.global_elements, b * (2 * 128 + 3 * 127));
        assert_eq!(shared.global_elements, b * (128 + 1));
        assert_eq!(shared.sectors, b * (128 * 4 / 32 + 1));
        // 2: in seven rounds 4, 4, 4, 4, 4, 2 and 1 warps were divided, and one by `tid == 0`; now only those rounds
        // divide a warp that have work for less than one
        assert_eq!(original.divergent, b * 23);
        assert_eq!(shared.divergent, b * 24);
        assert_eq!(undivided.divergent, b * (5 + 1));
        assert_eq!(halving.divergent, b * (5 + 1));
        // 3: threads 2s numbers apart meet in a bank 2s deep; next to each other they do not meet
        assert_eq!(shared.conflicts, 0);
        assert!(undivided.conflicts > 0);
        assert_eq!(halving.conflicts, 0);
        // with work for 64, 32, 16 … threads, 2, 4, 8, … numbers apart; three accesses a round
        let round = |threads: u64, apart: u64| {
            let (warps, lanes) = (threads.div_ceil(32), threads.min(32));
            warps * (lanes.div_ceil(32 / apart.min(32)) - 1)
        };
        let a_block: u64 = (0..7).map(|k| 3 * round(64 >> k, 2 << k)).sum();
        assert_eq!(undivided.conflicts, b * a_block);
        // 4: the same numbers by half the threads: half as many idle, half the barriers
        assert_eq!(two_loads.idle * 2, halving.idle);
        assert_eq!(two_loads.barriers * 2, halving.barriers);
        // 64, 96, … 127 threads have nothing to do in a round, and 127 when it is over
        assert_eq!(halving.idle, b * ((64 + 96 + 112 + 120 + 124 + 126 + 127) + 127));
        // 5: of eight barriers two remain, and no round divides a warp
        assert_eq!(two_loads.barriers, b / 2 * 8);
        assert_eq!(last_warp.barriers, b / 2 * 2);
        assert_eq!(last_warp.divergent, b / 2);
        assert_eq!(last_warp.conflicts, 0);
        assert_eq!(shuffle.barriers, b / 2 * 2);
        assert_eq!(shuffle.divergent, b / 2);
        assert!(last_warp.idle < two_loads.idle, "{last_warp:?} {two_loads:?}");
    }
}

/// The stages again under random interleavings: right sums, nothing reported.
#[test]
fn the_stages_are_right_under_every_interleaving_tried() {
    let file = File::open("reduction.cu");
    for kernel in ["tree_global", "tree_shared", "tree_undivided", "tree_halving"] {
        for seed in 0..3 {
            let r = stage(&file, kernel, 3, BLOCK, Schedule::seeded(seed));
            assert!(r.is_clean(), "{kernel}: {:?}", r.findings);
        }
    }
    for kernel in ["tree_two_loads", "tree_last_warp", "tree_shuffle"] {
        for seed in 0..3 {
            let r = stage(&file, kernel, 3, 2 * BLOCK, Schedule::seeded(seed));
            assert!(r.is_clean(), "{kernel}: {:?}", r.findings);
        }
    }
}

/// Step 5 as printed (F1.11): a race, whether lanes step together or not, between two lanes of one warp.
#[test]
fn the_printed_last_warp_is_a_race() {
    let file = File::open("reduction.cu");
    for schedule in [Schedule::counted(1), Schedule::seeded(1)] {
        let r = stage(&file, "tree_last_warp_printed", 2, 2 * BLOCK, schedule);
        let races: Vec<&Race> = r
            .findings
            .iter()
            .filter_map(|f| match f {
                Finding::Race(r) => Some(&**r),
                _ => None,
            })
            .collect();
        assert!(!races.is_empty());
        for r in races {
            assert!(r.shared && &*r.name == "data");
            let (a, b) = (r.first.thread, r.second.thread);
            assert_eq!(a.block, b.block);
            assert!(a.thread[0] < 32 && b.thread[0] < 32 && a != b, "{r:?}");
        }
    }
}

#[test]
fn the_last_block_finishes_the_sum() {
    let file = File::open("reduction.cu");
    for n in [1usize, 127, 128, 129, 1000] {
        for schedule in [Schedule::counted(n as u64), Schedule::seeded(n as u64)] {
            let mut heap = Heap::new();
            let data: Vec<i32> = (0..n as i32).map(|k| k * 7 - 3).collect();
            let input = heap.buffer("in", &data).unwrap();
            let partial = heap.alloc("partial", 4, 3).unwrap();
            let total = heap.alloc("total", 4, 1).unwrap();
            let args = [ptr(input), ptr(partial), ptr(total), Value::Int(n as i128)];
            let r = file.run(&mut heap, "sum_last_block", Launch::linear(3, 128), &args, schedule);
            assert!(r.is_clean(), "{:?}", r.findings);
            assert_eq!(heap.read::<i32>(total), [Some(data.iter().sum())]);
        }
    }
}
