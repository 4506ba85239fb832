//! Real editors against the real server: VS Code (code-server in Chromium), headless Neovim and Emacs with eglot.
//!
//! The stories are told in `tests/editors/` in the editors' own languages; this file finds the tools, starts the stories
//! and relays what they say. `cargo xtask test` installs the tools. Where one is missing the story is skipped by name, and
//! in CI a skip is a failure. Deliberately absent: any knowledge of what the server answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = env!("CARGO_BIN_EXE_warpwright");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn neovim() {
    let Some(nvim) = on_path("nvim") else {
        return skip("Neovim", "nvim is not on PATH");
    };
    let project = fresh_dir("neovim-project");
    copy_flat(&root().join("tests/editors/project"), &project);
    let mut story = Command::new(nvim);
    story
        .args(["--headless", "-u", "NONE", "-n", "-c"])
        .arg(format!("luafile {}", root().join("tests/editors/nvim.lua").display()))
        .env("WARPWRIGHT", SERVER)
        .env("PROJECT", &project)
        .env("XDG_STATE_HOME", fresh_dir("neovim-state"))
        .env("XDG_CACHE_HOME", fresh_dir("neovim-cache"));
    run("Neovim", &mut story, Duration::from_secs(300));
}

#[test]
fn emacs() {
    let Some(emacs) = on_path("emacs") else {
        return skip("Emacs", "emacs is not on PATH");
    };
    if !Path::new("/usr/share/emacs/site-lisp/elpa")
        .read_dir()
        .is_ok_and(|mut d| d.any(|e| e.is_ok_and(|e| e.file_name().to_string_lossy().starts_with("eglot"))))
    {
        return skip("Emacs", "eglot is not installed (elpa-eglot)");
    }
    let project = fresh_dir("emacs-project");
    copy_flat(&root().join("tests/editors/project"), &project);
    let mut story = Command::new(emacs);
    story
        .args(["--batch", "-q", "-l"])
        .arg(root().join("tests/editors/emacs.el"))
        .env("WARPWRIGHT", SERVER)
        .env("PROJECT", &project)
        .env("HOME", fresh_dir("emacs-home"));
    run("Emacs", &mut story, Duration::from_secs(300));
}

#[test]
fn vscode() {
    let tools = std::env::var_os("WARPWRIGHT_TOOLS").map_or_else(|| root().join(".tools"), PathBuf::from);
    let code_server = tools.join("code-server");
    let node24 = tools.join("node24");
    let node = node24.join("bin/node");
    let extension = root().join("vscode-extension");
    let Some(chromium) = on_path("chromium") else {
        return skip("VS Code", "chromium is not on PATH");
    };
    for (needed, what) in [
        (code_server.join("node_modules/code-server/out/node/entry.js"), "code-server is not installed"),
        (node.clone(), "code-server's Node is not installed"),
        (extension.join("node_modules/esbuild"), "the extension's packages are not installed"),
        (root().join("tests/editors/node_modules/playwright-core"), "playwright-core is not installed"),
    ] {
        if !needed.exists() {
            return skip("VS Code", what);
        }
    }

    let vsix = fresh_dir("vscode-package").join("warpwright.vsix");
    let mut packaging = Command::new(&node);
    packaging.arg(extension.join("package.mjs")).args(["--server", SERVER, "--out"]).arg(&vsix);
    run("packaging", &mut packaging, Duration::from_secs(300));

    let mut story = Command::new(&node);
    story
        .arg(root().join("tests/editors/vscode.mjs"))
        .arg("--code-server")
        .arg(&code_server)
        .arg("--node")
        .arg(&node24)
        .arg("--vsix")
        .arg(&vsix)
        .arg("--chromium")
        .arg(&chromium)
        .arg("--project")
        .arg(root().join("tests/editors/project"))
        .arg("--out")
        .arg(root().join("test-output/vscode"));
    if let Some(picture) = std::env::var_os("WARPWRIGHT_SCREENSHOT") {
        story.arg("--screenshot").arg(picture);
    }
    run("VS Code", &mut story, Duration::from_secs(600));
}

/// Runs a story to its end, or ends it after `limit`; its words are this test's output.
fn run(name: &str, command: &mut Command, limit: Duration) {
    let log = fresh_dir(&format!("{}-log", name.replace(' ', "-"))).join("output.txt");
    let file = fs::File::create(&log).expect("a file for the story's output");
    let errors = file.try_clone().expect("a second handle of the file");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(errors)
        .spawn()
        .unwrap_or_else(|e| panic!("{name} did not start: {e}"));
    let end = Instant::now() + limit;
    let status = loop {
        match child.try_wait().expect("the state of a child") {
            Some(status) => break Some(status),
            None if Instant::now() > end => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let said = fs::read_to_string(&log).unwrap_or_default();
    match status {
        Some(status) if status.success() => print_out(&said),
        Some(status) => panic!("{name}: {status}\n{said}"),
        None => panic!("{name}: not finished after {} s\n{said}", limit.as_secs()),
    }
}

/// Says loudly what was not tested. `cargo test` hides the words of tests that pass, so they go to a file as well, from
/// which `cargo xtask test` reads them.
fn skip(name: &str, why: &str) {
    let line = format!("SKIPPED: {name}: {why}; `cargo xtask test` installs it\n");
    print_out(&line);
    if let Some(file) = std::env::var_os("WARPWRIGHT_SKIPS") {
        use std::io::Write;
        let opened = fs::OpenOptions::new().create(true).append(true).open(file);
        opened.and_then(|mut f| f.write_all(line.as_bytes())).expect("the list of skips");
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{line}");
}

/// `cargo test -- --nocapture` shows it; a failing test shows it in any case.
#[allow(clippy::print_stdout)]
fn print_out(text: &str) {
    print!("{text}");
}

fn root() -> &'static Path {
    Path::new(ROOT)
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn fresh_dir(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn copy_flat(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("the project of the stories") {
        let entry = entry.expect("an entry of it");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy of a file");
    }
}
