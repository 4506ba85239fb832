//! `warpwright profile --variants mappings`: all ways to lay out a loop's threads, on the stand-in for a driver and in the simulator.
#![cfg(target_os = "linux")]

#[path = "support/standin.rs"]
mod standin;
mod support;

use std::process::Output;

use standin::StandIn;

const ADD: &str = "\
void add(int n, int m, float *restrict a, const float *restrict b) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i * m + j] = b[i * m + j] + 1.0f;
}
";

fn profiled(program: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("program.c"), program).expect("program");
    let standin = StandIn::new();
    let mut command = standin.server();
    command.current_dir(folder.path()).args(["profile", "program.c", "--variants", "mappings"]);
    command.args(arguments).output().expect("runs")
}

fn runs(out: &Output) -> Vec<wire::ProfileRun> {
    let profile: wire::Profile =
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
    profile.runs
}

#[test]
fn every_way_is_run_and_the_best_comes_first() {
    let out = profiled(ADD, &["--format", "json", "-s", "n=40", "-s", "m=70"]);
    let runs = runs(&out);
    let names: Vec<&str> = runs.iter().filter_map(|r| r.variant.as_deref()).collect();
    assert_eq!(names.len(), 12, "{names:#?}");
    assert!(names.contains(&"j along x, i along y, blocks of 32 by 8 (as offloaded)"), "{names:#?}");
    assert!(runs.iter().all(|r| r.checked == "same" && r.device.is_some()), "{runs:#?}");
    assert_eq!(out.status.code(), Some(0));
    // neighbours in memory are neighbouring lanes in the first, and not in the last
    assert!(names[0].starts_with("j along x"), "{names:#?}");
    assert!(names[11].starts_with("i along x"), "{names:#?}");
    let sectors: Vec<u64> = runs.iter().filter_map(|r| r.sectors).collect();
    assert!(sectors.len() == 12 && sectors.is_sorted() && sectors[11] > 3 * sectors[0], "{sectors:?}");
    // other launches, and no times of a simulator
    let hashes: std::collections::BTreeSet<&str> = runs.iter().map(|r| r.hash.as_str()).collect();
    assert_eq!(hashes.len(), 12);
    assert!(runs.iter().all(|r| r.kernel_ns.is_none() && r.rung == "simulator"));
}

#[test]
fn a_table_that_says_how_it_is_ordered() {
    let out = profiled(ADD, &["-s", "n=40", "-s", "m=70", "--on", "simulator"]);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.contains("Ordered by the sectors that the simulator counted"), "{text}");
    assert!(text.contains("no time was measured"), "{text}");
    let table: Vec<&str> = text.lines().filter(|l| l.contains("along x")).collect();
    assert!(table.len() >= 12 && table.iter().take(12).all(|l| l.ends_with("  same")), "{text}");
    assert_eq!(out.status.code(), Some(0));
}

#[test]
fn sums_keep_their_number_of_threads_and_kernels_of_a_file_have_their_own() {
    let sum = "double sum(int n, const double *x) {\n    double s = 0;\n    for (int i = 0; i < n; i++)\n        s += x[i];\n    return s;\n}\n";
    let out = profiled(sum, &["--format", "json", "-s", "n=500"]);
    let runs = runs(&out);
    // a tree of 256 threads in each block
    let names: Vec<&str> = runs.iter().filter_map(|r| r.variant.as_deref()).collect();
    assert_eq!(names, ["i along x, blocks of 256 (as offloaded)"]);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("k.cu"),
        "// warpwright: launch(1, 32)\n__global__ void k(int *x) { x[threadIdx.x] = 1; }\n",
    )
    .expect("program");
    let mut command = support::server();
    command.current_dir(folder.path()).args(["profile", "k.cu", "--variants", "mappings"]);
    let out = command.output().expect("runs");
    assert!(String::from_utf8_lossy(&out.stderr).contains("laid out by their own text"), "{out:?}");
    assert_eq!(out.status.code(), Some(2));
}
