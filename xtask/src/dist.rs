//! `cargo xtask dist`: what users install, made here: the stripped program and the VS Code package with it inside.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::program::{self, Profile};
use crate::{sh, tools};

/// The only system whose programs can be built on a Linux x86-64 machine without further Rust targets.
const TARGET: &str = "linux-x64";

pub fn run() -> Result<()> {
    let out = sh::root().join("target/dist");
    fs::create_dir_all(&out).context("making target/dist")?;
    sh::step("tools for building", tools::for_building)?;
    sh::step("packages of the extension", || tools::npm_packages("vscode-extension"))?;
    let program = sh::step("release build", || program::build(Profile::Release))?;
    let copy = out.join(format!("warpwright-{TARGET}"));
    if sh::quietly(Command::new("strip").arg("-o").arg(&copy).arg(&program)).is_err() {
        fs::copy(&program, &copy).context("copying the program")?;
    }
    let package = out.join(format!("warpwright-{TARGET}-{}.vsix", env!("CARGO_PKG_VERSION")));
    sh::step("packaging", || {
        sh::run(
            Command::new("node")
                .current_dir(sh::root())
                .arg("vscode-extension/package.mjs")
                .args(["--target", TARGET, "--server"])
                .arg(&copy)
                .arg("--out")
                .arg(&package),
        )
    })?;
    println!("\nIn target/dist:");
    for file in [&copy, &package] {
        let bytes = fs::metadata(file).with_context(|| file.display().to_string())?.len();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        println!("  {name}  {:.1} MB", bytes as f64 / 1e6);
    }
    println!("Install with: code --install-extension target/dist/*.vsix");
    Ok(())
}
