//! Every loop of the fixtures that can be offloaded is, and what is written compiles as C99 and as C++.

mod common;

use std::path::Path;
use std::process::Command;

use common::{offload, Outcome};
use front::{ItemKind, Language, Memo, Options, Parsed};

fn compile(name: &str, args: &[&str], dir: &Path) -> Result<(), String> {
    let out =
        Command::new(name).args(args).current_dir(dir).output().unwrap_or_else(|e| panic!("{name}: {e}"));
    if out.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&out.stderr).into_owned())
}

fn options() -> Options {
    Options { headers: Some(testkit::headers::of_fixtures()), ..Options::default() }
}

fn functions(text: &str) -> Vec<String> {
    let unit = front::lower(&Parsed::parse(Language::C, text), &options(), &mut Memo::default());
    unit.items.iter().filter(|i| i.kind == ItemKind::Function).map(|i| i.name.to_string()).collect()
}

fn outermost(text: &str, function: &str) -> usize {
    let unit = front::lower(&Parsed::parse(Language::C, text), &options(), &mut Memo::default());
    let item = unit.items.iter().find(|i| &*i.name == function).expect("the function");
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let facts = analysis::analyze(&item.body, &program, analysis::SAVE, &base::Budget::new(u64::MAX));
    facts.loops.iter().filter(|l| l.parent.is_none()).count()
}

#[test]
fn what_is_written_for_the_fixtures_compiles() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../../fixtures/c");
    let include = format!("-I{}", here.join("tests/shim").display());
    let dir = tempfile::tempdir().expect("temporary folder");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").flatten().map(|e| e.path()).collect();
    files.sort();
    let (mut done, mut complaints, mut refusals) = (0, Vec::new(), Vec::new());
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "c")) {
        let text = std::fs::read_to_string(file).expect("read");
        let mut host = text.clone();
        let mut kernels = String::new();
        for f in functions(&text) {
            // Backwards, so that earlier loops keep their numbers; each on the text the one before left.
            for k in (0..outermost(&text, &f)).rev() {
                match offload(&host, &f, k) {
                    Outcome::Done { host: h, output } => {
                        host = h;
                        // Each is a file of its own; structs of several may have one name.
                        kernels
                            .push_str(&format!("namespace file_{done} {{\n{}}}\n", output.kernel_file.text));
                        done += 1;
                    }
                    Outcome::Refused(r) => {
                        refusals.push(format!("{} {f} {k}: {:?}", file.display(), r.reasons))
                    }
                    Outcome::NotParallel(_) => {}
                }
            }
        }
        if let (Ok(keep), Some(stem)) = (std::env::var("KEEP_GENERATED"), file.file_stem()) {
            let name = format!("{}.cu", stem.to_string_lossy());
            std::fs::write(Path::new(&keep).join(name), &kernels).expect("write");
        }
        let mut kernel = String::new();
        let mut rest = kernels.as_str();
        // Launches are checked by the test that runs them.
        while let Some(at) = rest.find("<<<") {
            kernel.push_str(&rest[..at]);
            let close = at + rest[at..].find(">>>").expect(">>>");
            rest = &rest[close + 3..];
        }
        kernel.push_str(rest);
        std::fs::write(dir.path().join("host.c"), &host).expect("write");
        std::fs::write(dir.path().join("original.c"), &text).expect("write");
        std::fs::write(dir.path().join("kernels.cpp"), &kernel).expect("write");
        let as_c = ["-std=gnu99", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", &include];
        let c = |name| compile("gcc", &[&as_c[..], &[name]].concat(), dir.path());
        // Where the original is clean, so must ours be.
        if let (Ok(()), Err(why)) = (c("original.c"), c("host.c")) {
            complaints.push(format!("{}: {why}", file.display()));
        }
        // what is included in a namespace would be declared there
        let before = ["cuda_runtime.h", "stdint.h", "stdlib.h", "string.h"];
        let mut as_cpp = vec!["-std=c++17", "-fsyntax-only", "-Wall", &include, "kernels.cpp"];
        as_cpp.extend(before.iter().flat_map(|header| ["-include", header]));
        if let Err(why) = compile("g++", &as_cpp, dir.path()) {
            complaints.push(format!("{}: {why}", file.display()));
        }
    }
    if std::env::var_os("SHOW_REFUSALS").is_some() {
        eprintln!("{done} done, refused:\n{}", refusals.join("\n"));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(done >= 25, "only {done} loops offloaded; refused: {}", refusals.join("\n"));
}
