//! One of every kind, made in a copy of the workspace below `target`: it compiles, and its test fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{changes, filled, KINDS};
use crate::sh;

/// What a new thing costs: files of its own, and lists that get a line. More than this is a wall in the wrong place.
const TOUCHED: [(&str, usize, usize); 10] = [
    ("lint", 2, 1),
    ("cuda-lint", 3, 1),
    ("action", 1, 1),
    ("transformation", 2, 2),
    ("rule", 1, 0),
    ("language", 1, 2),
    ("target", 1, 1),
    ("request", 1, 3),
    ("editor-command", 1, 1),
    ("command", 1, 1),
];

/// The stem that a thing of a kind gets here.
fn stem(kind: &str) -> String {
    format!("new_{}", kind.replace('-', "_"))
}

#[test]
fn files_touched_are_few() {
    let root = sh::root();
    let touched: Vec<(&str, usize, usize)> = KINDS
        .iter()
        .map(|k| {
            let c = changes(&root, k, &stem(k.name)).unwrap_or_else(|e| panic!("{}: {e:#}", k.name));
            (k.name, c.new.len(), c.listed.len())
        })
        .collect();
    assert_eq!(touched, TOUCHED);
}

#[test]
fn names_are_checked_and_nothing_is_overwritten() {
    let root = sh::root();
    let Some(lint) = KINDS.first() else { panic!("no kinds") };
    assert!(changes(&root, lint, "Bad Name").is_err());
    assert!(changes(&root, lint, "strided-access").is_err());
}

/// Whatever the copy needs of the workspace.
const COPIED: [&str; 9] =
    ["Cargo.toml", "Cargo.lock", "server", "xtask", "tests", "fixtures", "rules", "docs", "rustfmt.toml"];

/// Makes `to` a copy of `from`; files that are the same keep their times, so that little is compiled again.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        let text = fs::read(from).expect("a file");
        if fs::read(to).ok().as_ref() != Some(&text) {
            fs::write(to, text).expect("written");
        }
        return;
    }
    fs::create_dir_all(to).expect("a folder");
    let names = |folder: &Path| -> BTreeSet<PathBuf> {
        fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").file_name().into()).collect()
    };
    let (there, wanted) = (names(to), names(from));
    for name in there.difference(&wanted) {
        let old = to.join(name);
        // things that were made here before are made again
        if !name.to_string_lossy().replace('-', "_").contains("new_") {
            let _ = fs::remove_file(&old).or_else(|_| fs::remove_dir_all(&old));
        }
    }
    for name in wanted.iter().filter(|n| n.as_os_str() != "target") {
        copy(&from.join(name), &to.join(name));
    }
}

/// All changes of one kind behind those of another, so that lists get all lines.
fn make_all(root: &Path) {
    for kind in KINDS {
        let name = stem(kind.name);
        for (path, _) in kind.files {
            let _ = fs::remove_file(root.join(filled(path, &name)));
        }
        let made = changes(root, kind, &name).unwrap_or_else(|e| panic!("{}: {e:#}", kind.name));
        for (path, text) in made.new.iter().chain(&made.listed) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
    }
}

#[test]
fn each_compiles_and_its_test_fails() {
    let root = sh::root();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let there = target.join("xtask-new");
    fs::create_dir_all(&there).expect("a folder");
    for name in COPIED {
        copy(&root.join(name), &there.join(name));
    }
    // under another version, or cargo would take what it builds here for the workspace's own
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the manifest");
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&version), "{version}");
    fs::write(there.join("Cargo.toml"), manifest.replacen(&version, "version = \"0.0.0\"", 1))
        .expect("written");
    make_all(&there);
    let packages = ["ww-front", "ww-gpu", "ww-rewrite", "ww-ide", "warpwright"];
    let mut cargo = sh::cargo();
    cargo.current_dir(&there).env("CARGO_TARGET_DIR", &target).args([
        "test",
        "--no-fail-fast",
        "--lib",
        "--bins",
    ]);
    // what is compiled only to see that it compiles needs no debug information, for the disk of a machine is small, and nothing
    // made fast
    let rooms = fs::read_dir(root.join("server/crates")).expect("the rooms").flatten();
    let rooms = rooms.map(|r| format!("ww-{}", r.file_name().to_string_lossy()));
    for room in rooms.chain(["warpwright".to_owned()]) {
        for is in ["debug=false", "opt-level=0"] {
            cargo.args(["--config".to_owned(), format!("profile.dev.package.{room}.{is}")]);
        }
    }
    cargo.args(packages.iter().flat_map(|p| ["-p", p])).args([
        "--",
        "is_filled_in",
        "shipped_pages_are_right",
    ]);
    let output = sh::output(&mut cargo).expect("cargo runs");
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(!errors.contains("could not compile"), "{errors}");
    for kind in KINDS {
        let test = match kind.test {
            // the page's own example is its test
            "" => "tests::rules::shipped_pages_are_right".to_owned(),
            path => format!("{}::is_filled_in", filled(path, &stem(kind.name))),
        };
        assert!(said.contains(&format!("test {test} ... FAILED")), "{}: {test}: {said}", kind.name);
    }
    assert!(!said.contains("is_filled_in ... ok"), "{said}");
}
