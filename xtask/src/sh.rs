//! Running programs and naming places, the way every chore does it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{bail, Context, Result};

/// The repository's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that runs us.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// Runs a command with its output on ours; anything but success is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let words = words(command);
    let status = command.status().with_context(|| format!("`{words}` could not be started"))?;
    if !status.success() {
        bail!("`{words}` failed ({status})");
    }
    Ok(())
}

/// Runs a command and keeps its output, whatever its exit code.
pub fn output(command: &mut Command) -> Result<Output> {
    let words = words(command);
    command.stdin(Stdio::null()).output().with_context(|| format!("`{words}` could not be started"))
}

/// Runs a chatty command silently; its output is shown only when it fails.
pub fn quietly(command: &mut Command) -> Result<()> {
    let words = words(command);
    let done = output(command)?;
    if !done.status.success() {
        let said = [done.stdout, done.stderr].concat();
        bail!("`{words}` failed ({}):\n{}", done.status, last_lines(&String::from_utf8_lossy(&said), 60));
    }
    Ok(())
}

/// How many bytes are free where the repository lies, if `df` knows.
pub fn free_space() -> Option<u64> {
    let shown = output(Command::new("df").args(["-Pk", "."]).current_dir(root())).ok()?;
    let line = String::from_utf8_lossy(&shown.stdout).lines().nth(1)?.to_owned();
    Some(line.split_whitespace().nth(3)?.parse::<u64>().ok()? * 1024)
}

/// Runs one step of a chore under a heading with its time.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("\n== {name}");
    let start = Instant::now();
    let result = work().with_context(|| format!("step \"{name}\""))?;
    println!("   {name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(result)
}

/// Where on PATH a program is.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

fn words(command: &Command) -> String {
    let program =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    std::iter::once(program)
        .chain(command.get_args().map(|a| a.to_string_lossy().into_owned()))
        .collect::<Vec<_>>()
        .join(" ")
}
