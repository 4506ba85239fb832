//! Installs what building and testing need. Idempotent, and quick when everything is there.
//!
//! Programs come from Debian, NVRTC from Python wheels, editors' parts from npm; all but Debian's go to `.tools/`, which
//! git ignores. What cannot be installed (no root, no network) becomes a [`Missing`] with its name, which the caller
//! prints loudly. Deliberately absent: editors for people, and anything that needs a GPU.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::sh;

/// A tool that is not there, and why.
pub struct Missing {
    pub tool: String,
    pub why: String,
}

/// The version that `tests/editors/` was written against; 4.x is VS Code 1.x.
const CODE_SERVER: &str = "code-server@4.139.1";
/// The version of Node that this code-server is built for.
const NODE: &str = "node@24";
/// Both: 12 still compiles for sm_50 to sm_70, 13 for the newest.
const WHEELS: [&str; 2] = ["nvidia-cuda-nvrtc-cu12==12.9.*", "nvidia-cuda-nvrtc==13.*"];

/// Debian packages, each with a program on PATH or a file that shows it is there.
const BUILD: &[(&str, &str)] = &[
    ("autoconf", "autoconf"),
    ("automake", "automake"),
    ("libtool", "libtoolize"),
    ("make", "make"),
    ("gcc", "gcc"),
    ("g++", "g++"),
];
/// Compiles kernels written for HIP.
const HIP: &[(&str, &str)] = &[("hipcc", "hipcc")];
/// Compiles and runs C# programs that our machine is compared with.
const MONO: &[(&str, &str)] = &[
    ("mono-mcs", "mcs"),
    ("mono-runtime", "mono"),
    ("libmono-corlib4.5-cil", "/usr/lib/mono/4.5/mscorlib.dll"),
    ("libmono-system-core4.0-cil", "/usr/lib/mono/4.5/System.Core.dll"),
];
const PYTHON: &[(&str, &str)] = &[("python3", "python3")];
/// A host of its own on this machine, for runs on hosts.
const SSH: &[(&str, &str)] = &[("openssh-server", "/usr/sbin/sshd"), ("openssh-client", "ssh")];
/// Decides what rule pages claim; loaded at run time.
const SOLVER: &[(&str, &str)] = &[("libz3-4", "/usr/share/doc/libz3-4")];
const EDITORS: &[(&str, &str)] = &[
    ("nodejs", "node"),
    ("npm", "npm"),
    ("neovim", "nvim"),
    ("emacs-nox", "emacs"),
    ("elpa-eglot", "/usr/share/doc/elpa-eglot"),
    ("chromium", "chromium"),
    ("fonts-dejavu-core", "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"),
    ("libkrb5-dev", "/usr/include/krb5.h"),
    ("pkg-config", "pkg-config"),
];

/// What the build needs. Missing tools are an error here: nothing works without them.
pub fn for_building() -> Result<()> {
    debian(BUILD)
}

/// Everything that the tests use. Gives the names of what is missing.
pub fn for_testing() -> Vec<Missing> {
    let mut missing = quick();
    missing.extend(slow());
    missing
}

/// What takes minutes and is used by the last tests alone: it may be installed beside other work.
pub fn slow() -> Option<Missing> {
    let why = code_server().err()?;
    Some(Missing { tool: "code-server".to_owned(), why: format!("{why:#}") })
}

/// All but what is [`slow`].
pub fn quick() -> Vec<Missing> {
    let mut missing = Vec::new();
    let mut attempt = |tool: &str, install: &dyn Fn() -> Result<()>| {
        if let Err(e) = install() {
            missing.push(Missing { tool: tool.to_owned(), why: format!("{e:#}") });
        }
    };
    attempt("build tools", &for_building);
    attempt("packages of the editors", &|| debian(EDITORS));
    attempt("Z3", &|| debian(SOLVER));
    attempt("hipcc", &|| debian(HIP));
    attempt("mono", &|| debian(MONO));
    attempt("ssh", &|| debian(SSH));
    attempt("NVRTC", &nvrtc);
    attempt("packages of the extension", &|| npm_packages("vscode-extension"));
    attempt("packages of the editor tests", &|| npm_packages("tests/editors"));
    missing
}

/// Debian packages with programs of other people to measure by. Gives those that are not there.
pub fn programs(packages: &[(&str, &str)]) -> Vec<Missing> {
    // all at once is quicker; one that is gone must not take the others with it
    if debian(packages).is_ok() {
        return Vec::new();
    }
    let one = |p: &(&str, &str)| {
        debian(&[*p]).err().map(|e| Missing { tool: p.0.to_owned(), why: format!("{e:#}") })
    };
    packages.iter().filter_map(one).collect()
}

/// NVRTC's wheels in a virtual environment of their own.
pub fn nvrtc() -> Result<()> {
    let home = folder().join("python");
    installed_once(&home, &WHEELS.join("\n"), || {
        debian(PYTHON)?;
        println!("   installing NVRTC's wheels (about 250 MB unpacked each)");
        let make = || sh::quietly(Command::new("python3").args(["-m", "venv"]).arg(&home));
        if make().is_err() {
            // Debian keeps the module apart from its Python.
            debian(&[("python3-venv", "python3-venv")])?;
            make()?;
        }
        sh::quietly(
            Command::new(home.join("bin/python")).args(["-m", "pip", "install", "--quiet"]).args(WHEELS),
        )
    })
}

/// `npm ci` in a folder, when its lock file is not the one that was installed last.
pub fn npm_packages(part: &str) -> Result<()> {
    let folder = sh::root().join(part);
    let lock = fs::read_to_string(folder.join("package-lock.json"))
        .with_context(|| format!("{part}/package-lock.json"))?;
    installed_once(&folder.join("node_modules"), &lock, || {
        println!("   installing the packages of {part}");
        sh::quietly(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder))
    })
}

/// VS Code for browsers, built here for the Node it wants.
fn code_server() -> Result<()> {
    let node = folder().join("node");
    installed_once(&node, NODE, || npm_install(&node, NODE, None))?;
    let link = folder().join("node24");
    let real = ["node_modules/node/node_modules", "node_modules"]
        .iter()
        .flat_map(|place| fs::read_dir(node.join(place)).into_iter().flatten().flatten())
        .find(|entry| entry.file_name().to_string_lossy().starts_with("node-linux-"))
        .context("the package `node` brought no Node for this system")?
        .path();
    if fs::read_link(&link).ok().as_ref() != Some(&real) {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&real, &link).context("linking .tools/node24")?;
    }
    let home = folder().join("code-server");
    installed_once(&home, CODE_SERVER, || {
        println!("   installing {CODE_SERVER} (three to five minutes, 620 MB)");
        npm_install(&home, CODE_SERVER, Some(&link))
    })
}

fn npm_install(home: &Path, package: &str, node: Option<&Path>) -> Result<()> {
    fs::write(home.join("package.json"), "{\"private\": true}\n").context("package.json")?;
    let mut npm = Command::new("npm");
    npm.current_dir(home).args(["install", "--no-package-lock", "--no-audit", "--no-fund"]);
    npm.args(["--unsafe-perm", "--foreground-scripts", package]);
    if let Some(node) = node {
        let mut path = OsString::from(node.join("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        npm.env("PATH", path).env("npm_config_nodedir", node);
    }
    sh::quietly(&mut npm)
}

/// Installs into `home` unless a stamp there says that this very thing was installed to its end.
fn installed_once(home: &Path, what: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let stamp = home.join(".warpwright-installed");
    if fs::read_to_string(&stamp).is_ok_and(|done| done == what) {
        return Ok(());
    }
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("removing {}", home.display()))?;
    }
    fs::create_dir_all(home).with_context(|| format!("making {}", home.display()))?;
    install()?;
    fs::create_dir_all(home)?;
    fs::write(&stamp, what).context("writing the stamp")
}

fn debian(packages: &[(&str, &str)]) -> Result<()> {
    let absent = |probe: &str| {
        if probe.starts_with('/') {
            !Path::new(probe).exists()
        } else {
            sh::on_path(probe).is_none()
        }
    };
    let mut wanted: Vec<&str> =
        packages.iter().filter(|(_, probe)| absent(probe)).map(|(name, _)| *name).collect();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(());
    }
    let names = wanted.join(" ");
    anyhow::ensure!(
        sh::on_path("apt-get").is_some(),
        "not installed: {names} (and there is no apt-get here; install them by hand)"
    );
    println!("   installing {names}");
    let apt = |arguments: &[&str]| {
        let root = fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
        let mut command = Command::new(if root { "apt-get" } else { "sudo" });
        if !root {
            command.args(["-n", "apt-get"]);
        }
        sh::quietly(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update"])?;
    apt(&[&["install", "-y", "--no-install-recommends"][..], &wanted].concat())
        .with_context(|| format!("install by hand: apt-get install {names}"))
}

/// `.tools/`, or what WARPWRIGHT_TOOLS names.
pub fn folder() -> PathBuf {
    std::env::var_os("WARPWRIGHT_TOOLS").map_or_else(|| sh::root().join(".tools"), PathBuf::from)
}

/// What tells programs and tests where the tools are.
pub fn environment() -> Vec<(&'static str, OsString)> {
    let mut variables = vec![("WARPWRIGHT_TOOLS", folder().into_os_string())];
    // The program looks through a virtual environment for every version of NVRTC by itself.
    let python = folder().join("python");
    if python.exists() && std::env::var_os("WARPWRIGHT_NVRTC").is_none() {
        variables.push(("WARPWRIGHT_NVRTC", python.into_os_string()));
    }
    variables
}
