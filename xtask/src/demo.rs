//! `cargo xtask demo`: the whole way of one loop on a real C file, as a stranger would walk it on the command line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};

use crate::program::{self, Profile};
use crate::{sh, tools};

/// The 2-D heat equation: a nest to offload inside a time loop that must stay sequential.
const FIXTURE: &str = "fixtures/c/heat2d.c";
/// The first line of the function whose first loop is offloaded.
const FUNCTION: &str = "void heat_step(";
/// Lines of a new file that are shown.
const EXCERPT: usize = 28;

pub fn run() -> Result<()> {
    println!("Warpwright on {FIXTURE}: from the loops to a checked CUDA kernel.");
    heading(
        1,
        "Build",
        "cargo build --release (the first time takes a few minutes: it builds the integer-set library)",
    );
    tools::for_building()?;
    let program = program::build(Profile::Release)?;
    // The compile check needs NVIDIA's run-time compiler, not a GPU and not the CUDA toolkit.
    if let Err(e) = tools::nvrtc() {
        println!("The compile check will be skipped: NVRTC could not be installed ({e:#}).");
    }

    heading(2, "Findings: what every loop allows, and why", &format!("warpwright analyze {FIXTURE}"));
    // 1 means "there are findings", which is the point.
    call(&program, &["analyze", FIXTURE], &[0, 1])?;

    let line = line_of_loop()?.to_string();
    let out = fresh_output()?;
    let shown = Path::new("target/demo").to_string_lossy().into_owned();
    let arguments = ["offload", "--loop", &line, "--out", &shown, FIXTURE];
    heading(
        3,
        "Rewrite: a kernel file and a host file; the original is not touched",
        &format!("warpwright {}", arguments.join(" ")),
    );
    call(&program, &arguments, &[0])?;
    let mut files: Vec<PathBuf> =
        fs::read_dir(&out)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    // The kernel comes first: it is what the rest is for.
    files.sort_by_key(|file| (file.extension().is_none_or(|e| e != "cu"), file.clone()));
    ensure!(!files.is_empty(), "the rewrite made no files");
    for file in &files {
        excerpt(file, Path::new(&shown))?;
    }

    heading(
        4,
        "Compile check (NVRTC) and verification, of every loop that can be offloaded",
        &format!("warpwright bench {FIXTURE}"),
    );
    call(&program, &["bench", FIXTURE], &[0])?;

    let arguments = ["verify", "--loop", &line, FIXTURE];
    heading(
        5,
        "Verification of the kernel above: its text beside the original loop, in the simulator",
        &format!("warpwright {}", arguments.join(" ")),
    );
    call(&program, &arguments, &[0])?;

    println!("\n== In an editor");
    println!("  VS Code:  cargo xtask dist && code --install-extension target/dist/*.vsix");
    println!("            then open {FIXTURE}, point at a `for`, and press Ctrl+. on it.");
    println!("  Neovim:   vim.lsp.start_client({{ cmd = {{ 'target/release/warpwright', 'lsp' }} }})");
    println!("  others:   any editor with a language client: the command is `warpwright lsp`.");
    Ok(())
}

/// The line (from 1) of the first loop in the function.
fn line_of_loop() -> Result<usize> {
    let text = fs::read_to_string(sh::root().join(FIXTURE)).context(FIXTURE)?;
    let mut lines = text.lines().enumerate().skip_while(|(_, l)| !l.contains(FUNCTION));
    let found = lines.find(|(_, l)| l.contains("for (")).map(|(number, _)| number + 1);
    found.with_context(|| format!("{FIXTURE} has no loop after `{FUNCTION}`"))
}

fn heading(number: u32, what: &str, command: &str) {
    println!("\n== {number}. {what}\n   $ {command}\n");
}

fn call(program: &PathBuf, arguments: &[&str], good: &[i32]) -> Result<()> {
    let status =
        program::command(program).args(arguments).status().context("warpwright could not be started")?;
    let code = status.code().unwrap_or(-1);
    ensure!(good.contains(&code), "`warpwright {}` ended with {code}", arguments.join(" "));
    Ok(())
}

fn fresh_output() -> Result<PathBuf> {
    let out = sh::root().join("target/demo");
    if out.exists() {
        fs::remove_dir_all(&out).context("emptying target/demo")?;
    }
    fs::create_dir_all(&out).context("making target/demo")?;
    Ok(out)
}

/// The part of a new file that matters: its first kernel, or the allocations, copies and the launch.
fn excerpt(file: &Path, folder: &Path) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lines: Vec<&str> = text.lines().collect();
    let name = folder.join(file.file_name().unwrap_or_default());
    let first = |words: &str| lines.iter().position(|l| l.contains(words));
    let start =
        first("__global__").or_else(|| first("cudaMalloc(").map(|n| n.saturating_sub(3))).unwrap_or(0);
    let end = lines.len().min(start + EXCERPT);
    println!("\n--- {} ({} lines; {}–{} shown)", name.display(), lines.len(), start + 1, end);
    for line in lines.get(start..end).unwrap_or_default() {
        println!("    {line}");
    }
    Ok(())
}
