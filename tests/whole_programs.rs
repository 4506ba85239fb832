//! Programs of some thousand lines, offloaded file by file with `--worth` and run by `warpwright run` on this machine's CPU: they
//! print what the originals print, and copy and launch what is stated here.

mod support;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use device::native_compiler;
use support::server;

/// Copies to the device and back, with their bytes, and launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    to_device: [u64; 2],
    from_device: [u64; 2],
    launches: u64,
}

/// What came of a program.
struct Whole {
    folder: tempfile::TempDir,
    /// `file.c: function`, with a `+` where loops in the loop are offloaded.
    left_out: Vec<String>,
    /// Calls of kernels in the program's own files.
    calls: usize,
}

fn project(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/projects").join(name)
}

fn sources(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path());
    let mut all: Vec<PathBuf> = all.filter(|p| p.extension().is_some_and(|e| e == extension)).collect();
    all.sort();
    all
}

fn name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Offloads all that is worth it in all files.
fn offloaded(program: &str) -> Whole {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("gpu");
    let (mut left_out, mut calls) = (Vec::new(), 0);
    for file in sources(&project(program), "c") {
        let output = server()
            .args(["offload", "--worth", "--format", "json", "--out"])
            .arg(&out)
            .arg(&file)
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let done: wire::Offloading = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{}: {e} {said}", file.display()));
        calls += done.loops.len();
        if done.refused.is_some() {
            left_out.push(format!("{}: all", name(&file)));
        }
        for l in &done.left_out {
            let around = if l.around { "+" } else { "" };
            left_out.push(format!("{}: {}{around}", name(&file), l.function));
        }
    }
    left_out.dedup();
    Whole { folder, left_out, calls }
}

impl Whole {
    /// Runs both programs: what they print, and what the offloaded one counted. `None`: there is no compiler.
    fn run(&self, program: &str) -> Option<(String, String, Counts)> {
        native_compiler(&project(program))?;
        let (before, none) = self.ran(program, &[project(program)]);
        assert_eq!(none.launches, 0);
        let (after, counted) = self.ran(program, &[self.folder.path().join("gpu"), project(program)]);
        assert_eq!(counted.never_freed, wire::Copies::default(), "{program}");
        let pair = |c: wire::Copies| [c.count, c.bytes];
        let counts = Counts {
            to_device: pair(counted.to_device),
            from_device: pair(counted.from_device),
            launches: counted.launches,
        };
        Some((before, after, counts))
    }

    /// What the program of these folders prints, and what was counted.
    fn ran(&self, program: &str, folders: &[PathBuf]) -> (String, wire::RanCounts) {
        let stats = self.folder.path().join("stats.json");
        let mut command = server();
        command.args(["run", "-O1", "-fwrapv", "--stats"]).arg(&stats).args(folders).stdin(Stdio::null());
        let output = command.output().expect("it runs");
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{program}: {}", said(&output.stderr));
        let text = std::fs::read_to_string(&stats).expect("written");
        let ran: wire::Ran = serde_json::from_str(&text).expect("what the contract says");
        (said(&output.stdout), ran.counted.expect("it told"))
    }
}

/// The same words, and numbers that differ by no more than `tolerance` of them.
fn alike(original: &str, rewritten: &str, tolerance: f64) {
    assert!(original.lines().count() > 8, "{original}");
    fn words(line: &str) -> impl Iterator<Item = &str> + Clone {
        line.split([' ', ',']).filter(|w| !w.is_empty())
    }
    for (a, b) in original.lines().zip(rewritten.lines()) {
        let (words, others) = (words(a), words(b));
        let same = words.clone().count() == others.clone().count()
            && words.zip(others).all(|(a, b)| match (a.parse::<f64>(), b.parse::<f64>()) {
                _ if a == b => true,
                (Ok(a), Ok(b)) => (a - b).abs() <= tolerance * a.abs().max(b.abs()),
                _ => false,
            });
        assert!(same, "{a}\n{b}");
    }
    assert_eq!(original.lines().count(), rewritten.lines().count());
}

/// `tolerance`: for what is printed of sums that are regrouped. `calls`: of kernels' files, in the program's own.
fn check(program: &str, tolerance: f64, calls: usize, left_out: &[&str], counts: Counts) {
    let whole = offloaded(program);
    let left: Vec<&str> = whole.left_out.iter().map(String::as_str).collect();
    let ran = whole.run(program);
    let counted = ran.as_ref().map_or(counts, |r| r.2);
    assert_eq!((left.as_slice(), whole.calls, counted), (left_out, calls, counts), "{program}");
    if let Some((original, rewritten, _)) = ran {
        alike(&original, &rewritten, tolerance);
    }
}

// What a person would place, loop by loop, stands in `docs/projects.md`.

#[test]
fn a_flow_in_a_rectangle() {
    // printed, in order; data decides; too little by themselves (in `advance` they are kernels with the others)
    let left_out = [
        "boundary.c: all",
        "diagnostics.c: histogram",
        "main.c: all",
        "output.c: print_profile",
        "output.c: print_histogram",
        "output.c: print_picture",
        "output.c: print_checksum",
        "setup.c: clear",
        "update.c: average",
        "update.c: keep",
    ];
    let counts = Counts { to_device: [54, 1_192_032], from_device: [67, 360_000], launches: 1036 };
    check("cfd", 1e-6, 28, &left_out, counts);
}

#[test]
fn a_pipeline_of_images() {
    let left_out = ["geometry.c: halve+", "histogram.c: equalize", "histogram.c: otsu", "show.c: all"];
    let counts = Counts { to_device: [77, 2_236_288], from_device: [248, 1_747_688], launches: 392 };
    check("images", 0.0, 48, &left_out, counts);
}

#[test]
fn conjugate_gradients() {
    let left_out = [
        "assemble.c: count_entries",
        "assemble.c: assemble",
        "chebyshev.c: begin",
        "check.c: all",
        "main.c: all",
        "multigrid.c: restrict_down",
        "multigrid.c: prolong",
        "multigrid.c: two_level",
        "precondition.c: all",
        "show.c: all",
        "solve.c: sweeping_cg",
        "solve.c: richardson",
        "stencil.c: stencil_rows",
        "stencil.c: to_field",
        "stencil.c: to_vector",
        "stencil.c: field_dot",
        "stencil.c: field_axpy",
        "stencil.c: field_xpay",
        "stencil.c: field_zero",
        "stencil.c: field_divide",
        "vector.c: all",
    ];
    let counts = Counts { to_device: [486, 7_519_064], from_device: [371, 1_010_128], launches: 5203 };
    check("cg", 2e-6, 18, &left_out, counts);
}
