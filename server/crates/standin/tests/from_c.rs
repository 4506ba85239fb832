//! The built library under a C program, as its users load it.

use std::path::{Path, PathBuf};
use std::process::Command;

fn library() -> PathBuf {
    // tests stand beside the library they were built with
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let name = format!("{}standin{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    [deps.join(&name), deps.parent().unwrap().join(&name)]
        .into_iter()
        .find(|p| p.is_file())
        .expect("the library is built with its tests")
}

/// Runs a case of `program.c`; gives its counters.
fn run(case: &str, variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (binary, counts) = (folder.path().join("program"), folder.path().join("counts.json"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program.c");
    let built =
        Command::new("gcc").args(["-std=gnu11", "-w", "-o"]).arg(&binary).arg(source).arg("-ldl").output();
    let built = built.expect("gcc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut command = Command::new(&binary);
    command.arg(library()).arg(case).env("WARPWRIGHT_STANDIN_COUNTS", &counts);
    command.envs(variables.iter().copied());
    let out = command.output().unwrap();
    assert!(out.status.success(), "{case}: {:?}\n{}", out.status, String::from_utf8_lossy(&out.stderr));
    std::fs::read_to_string(counts).unwrap()
}

#[test]
fn source_to_result() {
    let counts = run("good", &[]);
    assert!(counts.contains("\"launches\": 2"), "{counts}");
    assert!(counts.contains("\"bytes_to_device\": 400"), "{counts}");
    assert!(counts.contains("\"bytes_to_host\": 1200"), "{counts}");
    assert!(counts.contains("\"cuMemAlloc_v2\": 3"), "{counts}");
    assert!(counts.contains("\"allocations\": 0, \"bytes\": 0, \"modules\": 1"), "{counts}");
    // counted, not measured
    assert_eq!(counts, run("good", &[]));
}

#[test]
fn wrong_calls_give_the_drivers_codes() {
    run("refused", &[]);
}

#[test]
fn a_kernel_that_faults_breaks_its_context() {
    run("wild", &[]);
    run("bent", &[]);
}

#[test]
fn a_kernel_without_end_times_out() {
    run("forever", &[("WARPWRIGHT_STANDIN_STEPS", "100000")]);
}

#[test]
fn a_call_fails_on_demand() {
    // the first one comes before there is a context
    run("on demand", &[("WARPWRIGHT_STANDIN_FAIL", "cuMemAlloc_v2:3")]);
}
