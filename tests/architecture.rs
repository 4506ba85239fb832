//! The house's rules as tests: who may import whom, who alone may name an outside crate, where `unsafe` may stand, and
//! that ARCHITECTURE.md speaks of files that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[path = "architecture/analysis.rs"]
mod analysis;
#[path = "architecture/functions.rs"]
mod functions;
#[path = "architecture/names.rs"]
mod names;

/// Room, the rooms it may import (everyone may use `base`), and the outside crates it alone may name.
const ROOMS: &[(&str, &[&str], &[&str])] = &[
    ("base", &[], &[]),
    ("text", &[], &["ropey"]),
    ("term", &["text"], &[]),
    ("print", &["term"], &[]),
    ("gpu", &["term"], &[]),
    (
        "front",
        &["term", "gpu", "text"],
        &["tree-sitter", "tree-sitter-c", "tree-sitter-c-sharp", "tree-sitter-cuda"],
    ),
    ("poly", &[], &["isl-rs"]),
    ("analysis", &["term", "gpu", "poly"], &[]),
    ("rewrite", &["analysis", "term", "print", "gpu", "text", "front"], &["pulldown-cmark"]),
    ("codegen", &["analysis", "term", "print", "gpu"], &[]),
    ("simulate", &["term", "gpu"], &[]),
    ("ide", &["front", "rewrite", "codegen", "analysis", "simulate", "term", "print", "gpu", "text"], &[]),
    ("wire", &[], &[]),
    ("device", &[], &["cudarc", "libloading"]),
    ("standin", &["front", "gpu", "simulate", "term"], &[]),
    (
        "testkit",
        &["text", "term", "gpu", "front", "analysis", "simulate", "codegen", "ide", "rewrite", "device"],
        &[],
    ),
    ("warpwright", &["ide", "wire", "device", "text"], &["tower-lsp", "tokio", "clap", "tracing-subscriber"]),
];

/// `unsafe` may stand in these rooms.
const UNSAFE: &[&str] = &["poly", "device", "standin"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn manifest(room: &str) -> PathBuf {
    match room {
        "warpwright" => root().join("Cargo.toml"),
        _ => root().join("server/crates").join(room).join("Cargo.toml"),
    }
}

/// Names in `[dependencies]` (not those for tests or for building).
fn dependencies(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut here = false;
    let mut out = BTreeSet::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            here = line == "[dependencies]"
                || (line.starts_with("[target.") && line.ends_with(".dependencies]"));
            continue;
        }
        if here && !line.is_empty() && !line.starts_with('#') {
            let name: String =
                line.chars().take_while(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect();
            out.insert(name);
        }
    }
    out
}

#[test]
fn rooms_import_only_what_they_may() {
    let names: BTreeSet<&str> = ROOMS.iter().map(|r| r.0).collect();
    let owners: BTreeMap<&str, &str> =
        ROOMS.iter().flat_map(|(room, _, alone)| alone.iter().map(move |c| (*c, *room))).collect();
    let mut faults = Vec::new();
    for (room, may, _) in ROOMS {
        for d in dependencies(&manifest(room)) {
            let d = d.as_str();
            if names.contains(d) && d != "base" && !may.contains(&d) {
                faults.push(format!("{room} imports {d}"));
            }
            if let Some(owner) = owners.get(d) {
                if owner != room {
                    faults.push(format!("{room} names {d}, which only {owner} may"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "arrows of ARCHITECTURE.md broken:\n{}", faults.join("\n"));
}

#[test]
fn every_room_is_in_the_table() {
    let mut found = BTreeSet::from(["warpwright".to_string()]);
    for entry in std::fs::read_dir(root().join("server/crates")).unwrap() {
        found.insert(entry.unwrap().file_name().into_string().unwrap());
    }
    let listed: BTreeSet<String> = ROOMS.iter().map(|r| r.0.to_string()).collect();
    assert_eq!(found, listed);
}

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// What a device provides is resolved when CUDA is read: nobody else asks for it by a vendor's spelling. Comments count; tests (in
/// files and modules of their own) speak of programs and may.
#[test]
fn vendors_words_stay_in_their_rows() {
    const WORDS: [&str; 3] = ["threadIdx", "__syncthreads", "atomicAdd"];
    let may = ["server/crates/gpu/src", "server/crates/front/src/cuda"];
    let mut files = Vec::new();
    sources(&root().join("server/src"), &mut files);
    for (room, ..) in ROOMS {
        // testkit makes programs for tests
        if !matches!(*room, "warpwright" | "testkit") {
            sources(&root().join("server/crates").join(room).join("src"), &mut files);
        }
    }
    let (mut faults, mut looked) = (Vec::new(), 0);
    for f in files {
        let name = f.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let is_test = name.contains("/tests/") || name.ends_with("tests.rs");
        if is_test || may.iter().any(|m| name.starts_with(m)) {
            continue;
        }
        let text = std::fs::read_to_string(&f).unwrap();
        let product = product(&text);
        looked += 1;
        for w in WORDS.iter().filter(|w| product.contains(**w)) {
            faults.push(format!("{name} names {w}"));
        }
    }
    assert!(looked > 300, "{looked} files");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn unsafe_stays_in_its_rooms() {
    for (room, _, _) in ROOMS {
        let src = match *room {
            "warpwright" => root().join("server/src"),
            _ => root().join("server/crates").join(room).join("src"),
        };
        let front = if *room == "warpwright" { src.join("main.rs") } else { src.join("lib.rs") };
        let text = std::fs::read_to_string(&front).unwrap();
        assert_eq!(
            text.contains("#![forbid(unsafe_code)]"),
            !UNSAFE.contains(room),
            "{} must forbid unsafe code, {UNSAFE:?} excepted",
            front.display()
        );
    }
}

/// Files that ask whether a type has negative values, and what for. What overflow does is another question: a file that asks
/// for a sign here to find that out is wrong (see `Body::overflow`).
const ASK_FOR_A_SIGN: &[(&str, &str)] = &[
    ("analysis/src/flow/counted_loop.rs", "an index may be compared below zero"),
    ("analysis/src/kernel/eval.rs", "a launch's argument in the parameter's type"),
    ("analysis/src/nest/bits.rs", "masks as signed numbers"),
    ("analysis/src/nest/context.rs", "ranges of types, comparisons that convert"),
    ("analysis/src/nest/operators.rs", "complements"),
    ("analysis/src/nest/paths/cases.rs", "ranges of types"),
    ("analysis/src/nest/paths/values.rs", "ranges of types, signs of quotients"),
    ("analysis/src/nest/values.rs", "values that a variable holds"),
    ("analysis/src/replay_witness/expressions/accesses.rs", "ranges of inputs"),
    ("analysis/src/replay_witness/expressions/operators.rs", "complements and masks"),
    ("analysis/src/replay_witness/layout.rs", "bytes as numbers"),
    ("codegen/src/device/checked.rs", "ends of types, and which quotient is none"),
    ("codegen/src/device/expr.rs", "shifts to the right in another type"),
    ("codegen/src/device/host_expr.rs", "literals, and operands that would take the sign of others away"),
    ("codegen/src/device/promises.rs", "what is too large for 64 bits with a sign"),
    ("codegen/src/device/wrapping.rs", "what C++ does not wrap by itself"),
    ("codegen/src/plan/cells.rs", "which atomic function"),
    ("codegen/src/plan/conditions.rs", "comparisons that convert"),
    ("codegen/src/plan/values.rs", "comparisons that convert"),
    ("front/src/c/placing.rs", "the type of an enumeration"),
    ("ide/src/words/conditions.rs", "conversions in words"),
    ("rewrite/src/rules/algebra.rs", "conversions and comparisons"),
    ("rewrite/src/rules/exact/arith.rs", "which of two operations on bits"),
    ("rewrite/src/rules/exact/cases.rs", "which of two operations on bits"),
    ("rewrite/src/rules/exact/mod.rs", "which types a case has"),
    ("rewrite/src/rules/exact/witness.rs", "how a number is written"),
    ("rewrite/src/rules/runs.rs", "comparisons that convert"),
    ("rewrite/src/transform/split.rs", "halves round towards zero"),
    ("rewrite/src/transform/strip_mine.rs", "a wider type of the same sign"),
    ("simulate/src/arith.rs", "which instruction"),
    ("simulate/src/compare.rs", "how a value is read"),
    ("simulate/src/compile/call.rs", "which instruction"),
    ("simulate/src/compile/expr.rs", "which instruction"),
    ("simulate/src/compile/types.rs", "which instruction"),
    ("simulate/src/device_math.rs", "how a value is read"),
    ("simulate/src/hosted.rs", "how a value is read"),
    ("simulate/src/machine.rs", "how a value is read"),
    ("standin/src/program.rs", "how an argument is read"),
    ("simulate/src/compile/throws.rs", "which comparison tells that a value leaves a type"),
];

/// "Signed and at least 32 bits is exact" was assumed in sixteen places; it is asked of the body's row now.
#[test]
fn what_overflow_does_is_asked_in_one_place() {
    let crates = root().join("server/crates");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    let mut faults = Vec::new();
    let mut asked = BTreeSet::new();
    for f in files {
        let name = f.strip_prefix(&crates).unwrap().display().to_string().replace('\\', "/");
        let tests = name.contains("/tests") || name.starts_with("testkit/") || name.contains("/examples/");
        if tests || name.starts_with("term/") {
            continue;
        }
        let text = std::fs::read_to_string(&f).unwrap();
        let code: String = text
            .lines()
            .filter(|l| !l.trim_start().starts_with("//"))
            .flat_map(|l| l.chars().filter(|c| !c.is_whitespace()))
            .collect();
        // The width of `int` in disguise: whether a type is promoted is asked as well.
        for width in [".bits()<32", ".bits()>=32", ".bits()>31", ".bits()>16", "IntKind::Int.rank()"] {
            if code.contains(width) {
                faults.push(format!("{name}: `{width}`: ask `Arithmetic::promotes` or `Body::overflow`"));
            }
        }
        if code.contains(".signed()") || code.contains("IntKind::signed") {
            asked.insert(name);
        }
    }
    let listed: BTreeSet<String> = ASK_FOR_A_SIGN.iter().map(|(f, _)| f.to_string()).collect();
    for f in asked.difference(&listed) {
        faults.push(format!("{f} asks for the sign of a type: if it wants to know what overflow does, `Body::overflow` says it; else list it with what it wants"));
    }
    for f in listed.difference(&asked) {
        faults.push(format!("{f} no longer asks for the sign of a type: take it off the list"));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn long_files_say_why() {
    let mut files = Vec::new();
    sources(&root().join("server"), &mut files);
    sources(&root().join("xtask"), &mut files);
    let mut faults = Vec::new();
    for f in files {
        let text = std::fs::read_to_string(&f).unwrap();
        let lines = text.lines().count();
        if lines > 620 && !text.contains("Long because") {
            faults.push(format!("{}: {lines} lines and no \"Long because\" in its text", f.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn limits_stand_in_the_file_of_their_room() {
    let mut files = Vec::new();
    sources(&root().join("server"), &mut files);
    let mut faults = Vec::new();
    for f in files
        .iter()
        .filter(|f| !f.ends_with("limits.rs") && !f.iter().any(|p| p == "testkit" || p == "tests"))
    {
        let text = std::fs::read_to_string(f).unwrap();
        let private = ["const MAX_", "pub(super) const MAX_", "pub(crate) const MAX_"];
        let own = text.lines().filter(|l| private.iter().any(|p| l.starts_with(p)));
        faults.extend(own.map(|l| format!("{}: {l}", f.display())));
    }
    assert!(faults.is_empty(), "these belong into the room's limits.rs:\n{}", faults.join("\n"));
}

#[test]
fn the_architecture_page_names_files_that_exist() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let page = read("ARCHITECTURE.md");
    let all = [&page, &read("docs/analysis.md"), &read("CONTRIBUTING.md")];
    let mut missing = Vec::new();
    for word in all.iter().flat_map(|p| p.split('`').skip(1).step_by(2)) {
        let path = word.trim_end_matches('/');
        let looks_like_path = path.contains('/') && !path.contains([' ', '(', '*', '<', '{', '$', ':']);
        if looks_like_path && !root().join(path).exists() {
            missing.push(path.to_string());
        }
    }
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
    for (room, may, _) in ROOMS {
        assert!(page.contains(&format!("| {room} |")), "ARCHITECTURE.md has no row for {room}");
        for m in *may {
            if *room != "testkit" {
                let row = page.lines().find(|l| l.starts_with(&format!("| {room} |"))).unwrap();
                assert!(row.contains(m), "ARCHITECTURE.md's row of {room} lacks {m}");
            }
        }
    }
}

/// The command line and the language server know nothing of one another, but for the command that starts the server.
#[test]
fn command_line_and_server_are_apart() {
    let mut files = Vec::new();
    sources(&root().join("server/src/cli"), &mut files);
    sources(&root().join("server/src/lsp"), &mut files);
    assert!(files.len() > 40, "{files:?}");
    let mut faults = Vec::new();
    for f in files {
        let text = std::fs::read_to_string(&f).unwrap();
        let of_cli = f.starts_with(root().join("server/src/cli"));
        let other = if of_cli { "crate::lsp" } else { "crate::cli" };
        if text.contains(other) && !f.ends_with("cli/lsp.rs") {
            faults.push(format!("{} names {other}", f.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A file for each request, each command of the protocol and each command of the command line, and no other file beside
/// them: those that several share are named here.
#[test]
fn requests_and_commands_have_files() {
    let stems = |folder: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        let stem = |e: std::fs::DirEntry| e.path().file_stem().unwrap().to_string_lossy().into_owned();
        entries.map(|e| stem(e.unwrap())).filter(|n| n != "mod").collect()
    };
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let snake = |camel: &str| -> String {
        let one = |c: char| if c.is_uppercase() { format!("_{}", c.to_lowercase()) } else { c.to_string() };
        camel.chars().map(one).collect()
    };
    let with = |names: BTreeSet<String>, more: &[&str]| -> BTreeSet<String> {
        names.into_iter().chain(more.iter().map(|m| (*m).to_owned())).collect()
    };
    let after = |text: &str, mark: &str| -> BTreeSet<String> {
        let word =
            |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned();
        text.split(mark).skip(1).map(word).collect()
    };
    let commands = after(&read("server/src/lsp/commands/mod.rs"), "    \"warpwright.");
    let commands = commands.iter().map(|c| snake(c)).collect();
    assert_eq!(stems("server/src/lsp/commands"), with(commands, &["carry_out", "progress", "target"]));
    let requests = after(&read("server/src/lsp/backend.rs"), "requests::");
    assert_eq!(stems("server/src/lsp/requests"), requests);
    let subcommands = after(&read("server/src/cli/mod.rs"), "        Command::");
    let subcommands = subcommands.iter().map(|c| snake(c).trim_start_matches('_').to_owned()).collect();
    assert_eq!(stems("server/src/cli"), with(subcommands, &["reading", "reasons", "writing", "written"]));
}

/// The text of a source file without its tests: a module of tests that is written there ends it, one in a file of its own does
/// not.
fn product(text: &str) -> &str {
    const TESTS: &str = "#[cfg(test)]\nmod ";
    let written_here = |at: &usize| text[at + TESTS.len()..].lines().next().is_some_and(|l| l.ends_with('{'));
    text.match_indices(TESTS).map(|(at, _)| at).find(written_here).map_or(text, |at| &text[..at])
}

/// The files that the product is built from, with their paths from the root.
fn product_sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (room, _, _) in ROOMS.iter().filter(|r| r.0 != "testkit") {
        match *room {
            "warpwright" => sources(&root().join("server/src"), &mut files),
            _ => sources(&root().join("server/crates").join(room).join("src"), &mut files),
        }
    }
    let mut out: Vec<(String, String)> = files
        .into_iter()
        .map(|f| (f.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"), f))
        .filter(|(path, _)| !path.contains("/tests/") && !path.ends_with("/tests.rs"))
        .map(|(path, f)| (path, std::fs::read_to_string(f).unwrap()))
        .collect();
    out.sort();
    out
}

/// Where a text decides by which language something is in: a comparison with a language, or an arm for one.
fn language_decisions(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("Language::") {
        let rest = &text[at + "Language::".len()..];
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let is_other = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if is_other || !word.starts_with(char::is_uppercase) {
            continue;
        }
        let before =
            text[..at].trim_end_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ':').trim_end();
        let after = rest[word.len()..].trim_start();
        if before.ends_with("==")
            || before.ends_with("!=")
            || ["==", "!=", "=>", "| "].iter().any(|o| after.starts_with(o))
            || before.rfind("matches!(").is_some_and(|m| !before[m..].contains([';', '{']))
        {
            found.push(at);
        }
    }
    // by its name
    for ask in ["language", "language()"] {
        for (at, _) in text.match_indices(&format!("{ask}.name")) {
            let after = text[at + ask.len() + ".name".len()..].trim_start();
            let compared = after.strip_prefix("==").or_else(|| after.strip_prefix("!="));
            if compared.is_some_and(|c| c.trim_start().starts_with('"')) || after.starts_with("{\n") {
                found.push(at);
            }
        }
    }
    found
}

/// What differs between languages is asked of their rows: nobody asks which language it is.
#[test]
fn no_one_asks_which_language_it_is() {
    for (text, n) in [
        ("if doc.language() == Language::Cuda {", 1),
        ("language != crate::Language::C", 1),
        ("match l { ide::Language::C => 1, _ => 2 }", 1),
        ("Language::C | Language::Cuda => 1", 2),
        ("matches!(l, Language::C)", 1),
        ("if doc.language().name == \"c\" {", 1),
        ("Parsed::parse(Language::Cuda, text)", 0),
        ("ExampleLanguage::Term => true", 0),
        ("Language::named(name).filter(|l| l.kernels)", 0),
    ] {
        assert_eq!(language_decisions(text).len(), n, "{text}");
    }
    let mut faults = Vec::new();
    for (path, text) in product_sources() {
        let text = product(&text);
        for at in language_decisions(text) {
            faults.push(format!("{path}:{}", text[..at].lines().count()));
        }
    }
    assert!(
        faults.is_empty(),
        "ask the language's row (server/crates/front/src/language.rs):\n{}",
        faults.join("\n")
    );
}

/// Where a language is named outside of the rows and tests: texts that we generate ourselves are read again in the language
/// that they are printed in. Elsewhere the document, the file's name or a page says it.
#[test]
fn few_files_name_a_language() {
    const MAY: [&str; 5] = [
        "server/crates/ide/src/offload.rs",
        "server/crates/ide/src/verify/cases.rs",
        "server/crates/ide/src/verify/mod.rs",
        "server/crates/rewrite/src/rules/emit.rs",
        "server/crates/standin/src/program.rs",
    ];
    let named = |text: &str| {
        ["Language::C,", "Language::C)", "Language::C;", "Language::CSharp", "Language::Cuda"]
            .iter()
            .any(|n| product(text).contains(n))
    };
    let found: Vec<String> = product_sources()
        .into_iter()
        .filter(|(path, text)| !path.ends_with("front/src/language.rs") && named(text))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(found, MAY);
}

/// Whoever is new reads the page in ten minutes, and follows each of three walks in eight stops at most.
#[test]
fn three_walks_of_eight_stops() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let words = page.split_whitespace().count();
    assert!(
        words < 3100,
        "{words} words are more than ten minutes: what is to be looked up goes to docs/analysis.md"
    );
    let walks = page.split("## Three walks").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let walks: Vec<&str> = walks.split("\n### ").skip(1).collect();
    assert_eq!(walks.len(), 3);
    for walk in walks {
        let stops: Vec<&str> = walk.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit())).collect();
        assert!((3..=8).contains(&stops.len()), "{walk}");
        for (k, stop) in stops.iter().enumerate() {
            assert!(stop.starts_with(&format!("{}. `", k + 1)), "{stop}");
            let path = stop.split('`').nth(1).unwrap();
            assert!(root().join(path).is_file(), "{path} is no file");
        }
    }
}

/// What a tool leaves in the folder it was run from does not belong to the project.
#[test]
fn the_root_holds_nothing_else() {
    const FOLDERS: [&str; 9] = [
        "docs",
        "fixtures",
        "rules",
        "server",
        "target",
        "test-output",
        "tests",
        "vscode-extension",
        "xtask",
    ];
    let mut strange = Vec::new();
    for e in std::fs::read_dir(root()).unwrap() {
        let e = e.unwrap();
        let name = e.file_name().to_string_lossy().into_owned();
        let known = match e.file_type().unwrap().is_dir() {
            true => FOLDERS.contains(&name.as_str()),
            false => ["md", "toml", "lock"].iter().any(|x| name.ends_with(&format!(".{x}"))),
        };
        if !known && !name.starts_with('.') && !name.starts_with("LICENSE") {
            strange.push(name);
        }
    }
    assert!(strange.is_empty(), "not of this project: {strange:?}");
}
