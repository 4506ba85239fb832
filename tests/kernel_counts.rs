//! What `warpwright analyze` says of the shipped kernels beside what `warpwright simulate` counts, entry by entry, and beside
//! what the documents say of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cuda");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the fixtures").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    // launches too large to be run: `server/crates/ide/src/tests/pairs.rs` holds what is said of them
    files.retain(|f| !f.ends_with("defects_large.cu"));
    files
}

/// The kernels of a file's report.
fn report(command: &[&str], file: &Path) -> Vec<Value> {
    let out =
        Command::new(env!("CARGO_BIN_EXE_warpwright")).args(command).arg(file).output().expect("it starts");
    let stdout = String::from_utf8_lossy(&out.stdout);
    let json: Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}{out:?}"));
    json["files"][0]["kernels"].as_array().expect("kernels").clone()
}

fn analysed(file: &Path) -> Vec<Value> {
    report(&["analyze", "--format", "json", "--fail-on", "never"], file)
}

fn list<'v>(kernel: &'v Value, key: &str) -> &'v [Value] {
    kernel[key].as_array().unwrap_or_else(|| panic!("{key} of {kernel:#}"))
}

/// Entries of one sort: how many there are, and of how many all is said.
#[derive(Default, Debug)]
struct Share {
    all: usize,
    exact: usize,
}

impl Share {
    fn note(&mut self, exact: bool) {
        self.all += 1;
        self.exact += exact as usize;
    }
}

#[derive(Default, Debug)]
struct Shares {
    kernels: usize,
    branches: Share,
    accesses: Share,
    barriers: Share,
    idle: Share,
    uniform: usize,
    /// Accesses that a run saw and analysis does not list.
    unlisted: usize,
}

#[test]
fn what_is_exact_is_what_the_simulator_counts() {
    let mut clean = Shares::default();
    for file in fixtures() {
        let defects = file.file_name().is_some_and(|n| n.to_string_lossy().starts_with("defects"));
        let run = report(&["simulate", "--format", "json"], &file);
        let mut mine = Shares::default();
        for (p, r) in analysed(&file).iter().zip(&run) {
            assert_eq!(p["name"], r["name"]);
            assert!(r["completed"] == true || defects, "{r:#}");
            // behind a barrier that not all reach, warps are no more in step
            let parted = list(r, "problems").iter().any(|x| x["kind"] == "barrier-divergence");
            if r["completed"] == true && !parted {
                compare(p, r, if defects { &mut mine } else { &mut clean });
            }
            verdicts(p, r);
        }
    }
    eprintln!("{clean:#?}");
    // 40 kernels with all their entries; what is not exact depends on what memory holds
    assert!(clean.kernels >= 50, "{clean:?}");
    assert_eq!(clean.unlisted, 0, "{clean:?}");
    for (s, least) in
        [(&clean.branches, 92), (&clean.accesses, 91), (&clean.barriers, 100), (&clean.idle, 92)]
    {
        assert!(s.exact * 100 >= s.all * least, "{clean:#?}");
    }
}

fn compare(p: &Value, r: &Value, shares: &mut Shares) {
    let name = &p["name"];
    shares.kernels += 1;
    for b in list(p, "branches") {
        let at = |x: &&Value| {
            ["line", "column", "kind", "function"].iter().all(|k| b[*k].is_null() || x[*k] == b[*k])
        };
        let counted = list(r, "branches").iter().find(at);
        let said = !b["active_lanes"].is_null();
        shares.branches.note(said);
        let Some(counted) = counted else {
            // no warp came there, or it is a `switch`
            assert!(!said || list(b, "active_lanes").is_empty(), "{name} {b:#}");
            continue;
        };
        if said {
            assert_eq!(b["active_lanes"], counted["active_lanes"], "{name} {b:#}");
            assert_eq!(b["uniform"] == "divergent", counted["divergent"] != 0, "{name} {b:#}");
        }
        if matches!(b["uniform"].as_str(), Some("grid" | "block" | "warp")) {
            assert_eq!(counted["divergent"], 0, "{name} {b:#}");
            shares.uniform += 1;
        }
    }
    // a structure's copy stands where its assignment does
    let same = |a: &Value, x: &Value| {
        let place = if a["bytes"].as_u64() > Some(8) { "line" } else { "column" };
        ["line", place, "array", "rw", "bytes"].iter().all(|k| x[k] == a[k])
    };
    for a in list(p, "accesses") {
        shares.accesses.note(a["exact"] == true);
        if a["exact"] != true {
            continue;
        }
        let Some(counted) = list(r, "accesses").iter().find(|x| same(a, x)) else {
            // no lane came there
            assert_eq!(a["requests"], 0, "{name} {a:#}");
            continue;
        };
        let keys: &[&str] = match a["space"] != "global" {
            true => &["space", "requests", "lanes", "ways", "conflicts"],
            false => &["space", "requests", "lanes", "all_sectors", "all_ideal", "sectors", "ideal"],
        };
        for k in keys {
            assert_eq!(a[k], counted[k], "{name}: {k}\n{a:#}\n{counted:#}");
        }
    }
    for x in list(r, "accesses").iter().filter(|x| x["function"] == *name) {
        if !list(p, "accesses").iter().any(|a| same(a, x)) {
            eprintln!("not listed: {name} {x}");
            shares.unlisted += 1;
        }
    }
    for b in list(p, "barriers") {
        shares.barriers.note(!b["opened"].is_null());
        shares.idle.note(!b["idle"].is_null());
        let counted =
            list(r, "barriers").iter().find(|x| x["line"] == b["line"] && x["column"] == b["column"]);
        for k in ["opened", "threads", "idle"] {
            let seen = counted.map_or(Value::from(0), |c| c[k].clone());
            assert!(b[k].is_null() || b[k] == seen, "{name}: {k} {b:#} {seen}");
        }
    }
}

/// A barrier is safe exactly where no thread of the run missed it.
fn verdicts(p: &Value, r: &Value) {
    for b in list(p, "barriers") {
        let missed =
            list(r, "problems").iter().any(|x| x["kind"] == "barrier-divergence" && x["line"] == b["line"]);
        assert!(b["verdict"] != "safe" || !missed, "{} {b:#}", p["name"]);
        if r["completed"] == true && list(r, "problems").is_empty() {
            assert_eq!(b["verdict"], "safe", "{} {b:#}", p["name"]);
        }
    }
}

/// What one kernel asks for in all, as `analyze` says it.
#[derive(Debug, PartialEq)]
struct Totals {
    /// Decisions that divide a warp.
    divided: u64,
    conflicts: u64,
    /// Threads idle before a barrier, each time.
    idle: u64,
    /// Numbers moved to and from global memory.
    moved: u64,
}

fn totals(file: &str, kernel: &str) -> Totals {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cuda").join(file);
    let kernels = analysed(&path);
    let k = kernels.iter().find(|k| k["name"] == kernel).expect("the kernel");
    let number = |v: &Value| v.as_u64().unwrap_or_else(|| panic!("{kernel}: {v}"));
    let mut out = Totals { divided: 0, conflicts: 0, idle: 0, moved: 0 };
    for b in list(k, "branches") {
        for l in list(b, "active_lanes") {
            let taken = number(&l["taken"]);
            out.divided += if taken > 0 && taken < number(&l["active"]) { number(&l["times"]) } else { 0 };
        }
    }
    for a in list(k, "accesses") {
        assert_eq!(a["exact"], true, "{kernel} {a:#}");
        match a["space"].as_str() {
            Some("shared") => out.conflicts += number(&a["conflicts"]),
            Some("global") => out.moved += number(&a["lanes"]),
            _ => {}
        }
    }
    out.idle = list(k, "barriers").iter().map(|b| number(&b["idle"])).sum();
    out
}

/// F1.10: what each stage of the tree mends, for blocks of 128 threads, is said of the kernels without a run.
#[test]
fn the_stages_of_the_tree_sum_mend_what_they_are_for() {
    let distances = || (0..7).map(|k| 1u64 << k);
    // additions of a block; threads that wait in its seven rounds
    let additions: u64 = distances().map(|s| 64 / s).sum();
    let idle: u64 = distances().map(|s| 128 - 64 / s).sum();
    assert_eq!((additions, idle), (127, 769));
    // every second lane, every fourth …: all four warps are divided until 64 threads lie between two that work; then `tid == 0`
    let scattered: u64 = distances().map(|s| (64 / s).min(4)).sum::<u64>() + 1;
    // the first 64 / s threads: divided where that is no whole warp
    let together = distances().filter(|s| 64 / s < 32).count() as u64 + 1;
    let of = |kernel: &str| totals("reduction.cu", kernel);
    let original = of("tree_global");
    let (blocks, half) = (4, 2);
    // read and written once, then two reads and a write an addition
    assert_eq!(original.moved, blocks * (2 * 128 + 3 * additions));
    assert_eq!((original.divided, original.idle), (blocks * (scattered - 1), blocks * idle));
    // 1: shared memory
    let moved = blocks * 129;
    let shared = of("tree_shared");
    assert_eq!(shared, Totals { divided: blocks * scattered, conflicts: 0, idle: blocks * idle, moved });
    // 2: no divergent branch, at the price of bank conflicts: lanes 2 s words apart
    let conflicts: u64 = distances()
        .map(|s| {
            let (lanes, warps) = if 64 / s > 32 { (32, 64 / s / 32) } else { (64 / s, 1) };
            let banks = (32 / (2 * s).min(32)).max(1);
            3 * warps * (lanes.div_ceil(banks) - 1)
        })
        .sum();
    let undivided = of("tree_undivided");
    let expected =
        Totals { divided: blocks * together, conflicts: blocks * conflicts, idle: blocks * idle, moved };
    assert_eq!(undivided, expected);
    assert!(conflicts > 0 && together < scattered / 3);
    // 3: no conflicts
    assert_eq!(of("tree_halving"), Totals { conflicts: 0, ..expected });
    // 4: half the threads for the same numbers
    let moved = half * (2 * 128 + 1);
    let loads = Totals { divided: half * together, conflicts: 0, idle: half * idle, moved };
    assert_eq!(of("tree_two_loads"), loads);
    // 5: one round of the block is left, and half of its threads wait there
    for kernel in ["tree_last_warp_printed", "tree_last_warp", "tree_shuffle"] {
        assert_eq!(of(kernel), Totals { divided: half, conflicts: 0, idle: half * 64, moved }, "{kernel}");
    }
}

/// F2.6 and F2.7: 6 n_x n_y numbers a step without tiles, about 2 n_x n_y with them.
#[test]
fn the_heat_stencils_move_what_the_lecture_says() {
    let of = |kernel: &str| totals("heat.cu", kernel);
    // 66 by 34 nodes: four tiles of 32 by 16 inner ones
    let (inner, tiles) = (64 * 32, 4);
    let plain = of("heat_global");
    assert_eq!((plain.moved, plain.conflicts, plain.idle), (6 * inner, 0, 0));
    // a halo a tile: 34 by 18 threads load, 32 by 16 compute
    let threads = of("heat_border_threads");
    assert_eq!(threads.moved, tiles * (34 * 18 + 32 * 16));
    // no corners; the lanes at the border load twice, which divides each row's warp at either end
    let branches = of("heat_border_branches");
    assert_eq!(branches.moved, tiles * (2 * 32 * 16 + 2 * 32 + 2 * 16));
    assert_eq!(branches.divided, tiles * 16 * 2);
    // two strips that read their 18 rows once
    let strip = of("heat_strip");
    assert_eq!(strip.moved, 2 * 18 * 66 + inner);
    for tiled in [&threads, &branches, &strip] {
        assert_eq!((tiled.conflicts, tiled.idle), (0, 0));
        assert!(tiled.moved >= 2 * inner && tiled.moved * 10 < 2 * inner * 11, "{tiled:?}");
    }
    assert!(strip.moved < branches.moved && branches.moved < threads.moved);
}
