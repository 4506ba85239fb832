//! Finds the NVRTC libraries that the tests run with, and says loudly when there are none.
#![allow(dead_code)] // each test uses its part

use device::{Client, CompileRequest, Limits, WorkerCommand};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The worker's program.
pub const WORKER: &str = env!("CARGO_BIN_EXE_ww-device-worker");

/// Folders or files that hold an NVRTC: those of `WARPWRIGHT_NVRTC`, and those that `cargo xtask test` installs.
pub fn places() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = match std::env::var_os("WARPWRIGHT_NVRTC") {
        Some(list) => std::env::split_paths(&list).collect(),
        None => Vec::new(),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    found.extend([".tools/python", ".tools/nvrtc12", ".tools/nvrtc13"].map(|f| root.join(f)));
    found.retain(|p| p.exists());
    found
}

/// The library files of [`places`], each version once.
pub fn libraries() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for place in places() {
        collect(&place, 8, &mut files);
    }
    files.sort_by_key(|f| f.file_name().map(ToOwned::to_owned));
    files.dedup_by_key(|f| f.file_name().map(ToOwned::to_owned));
    if files.is_empty() {
        skipped("libnvrtc (cargo xtask test installs it; or set WARPWRIGHT_NVRTC)");
    }
    files
}

fn collect(place: &Path, depth: u32, files: &mut Vec<PathBuf>) {
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if place.is_file() && name.starts_with("libnvrtc.so") {
        files.push(place.to_owned());
    } else if depth > 0 && place.is_dir() && !place.is_symlink() {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            collect(&entry.path(), depth - 1, files);
        }
    }
}

/// A test without its tool: loud here, an error where everything must be there.
pub fn skipped(tool: &str) {
    assert!(std::env::var_os("CI").is_none_or(|v| v != "true"), "missing tool: {tool}");
    // not `eprintln!`, which the test harness keeps to itself
    let _ = writeln!(std::io::stderr(), "SKIPPED, missing tool: {tool}");
}

pub fn client(limits: Limits) -> Client {
    Client::spawn(WorkerCommand::new([WORKER]), limits).expect("the worker starts")
}

/// A worker played by a shell script.
pub fn script(text: &str) -> WorkerCommand {
    WorkerCommand::new(["sh", "-c", text])
}

pub const SAXPY: &str = r#"extern "C" __global__ void saxpy(float a, const float *__restrict__ x, float *y, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"#;

/// Each sine is expanded in place: tens of seconds in the assembler.
pub fn slow_kernel() -> String {
    let mut source =
        "extern \"C\" __global__ void slow(double *a, int m)\n{\n    double s = a[0];\n".to_owned();
    for i in 0..600 {
        source += &format!("    s = s * a[{i}] + sin(s * a[m + {i}]) / a[{}];\n", i + 3);
    }
    source + "    a[0] = s;\n}\n"
}

pub fn with_library(mut request: CompileRequest, library: &Path) -> CompileRequest {
    request.library = Some(library.to_owned());
    request
}
