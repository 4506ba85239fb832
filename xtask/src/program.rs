//! Building the server and finding what was built.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::sh;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Debug,
    Release,
}

/// Builds `warpwright` and gives the program's path; or the one that WARPWRIGHT_PROGRAM names, to compare builds.
pub fn build(profile: Profile) -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("WARPWRIGHT_PROGRAM") {
        return Ok(program.into());
    }
    built(profile, "warpwright", &["--package", "warpwright", "--bin", "warpwright"])
}

/// Builds an example of the test kit and gives the program's path.
pub fn example(profile: Profile, name: &str) -> Result<PathBuf> {
    built(profile, name, &["--package", "ww-testkit", "--example", name])
}

fn built(profile: Profile, name: &str, target: &[&str]) -> Result<PathBuf> {
    let mut cargo = sh::cargo();
    cargo.arg("build").args(target).args(["--message-format", "json-render-diagnostics"]);
    if profile == Profile::Release {
        cargo.arg("--release");
    }
    cargo.stderr(std::process::Stdio::inherit());
    let built = sh::output(&mut cargo)?;
    if !built.status.success() {
        anyhow::bail!("{name} does not build");
    }
    // Cargo says where it put the program, whatever the target directory is.
    String::from_utf8_lossy(&built.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back()
        .context("cargo did not say where the program is")
}

/// The program with the environment that finds the tools of `.tools/`.
pub fn command(program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.current_dir(sh::root());
    for (name, value) in crate::tools::environment() {
        command.env(name, value);
    }
    command
}
