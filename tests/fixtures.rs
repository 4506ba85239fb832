//! Real programs with the expected verdict beside every loop: judged, offloaded, run in the simulator beside the
//! original, and their kernels compiled by NVRTC.
//!
//! The programs stand in `fixtures/c`; what the markers mean is said in `testkit::fixture`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base::CancelToken;
use device::{compile_check, newest_arch, Arch, CompileOutcome, CompileRequest};
use ide::{check, offload, verify, Doc, Memo, Options, Outcome, Settings, Tier, VerifyOptions, Which};
use testkit::fixture;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn programs() -> Vec<(String, String)> {
    let mut files: Vec<PathBuf> = fs::read_dir(root().join("fixtures/c"))
        .expect("fixtures/c")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    assert!(files.len() >= 25, "only {} programs in fixtures/c", files.len());
    files
        .iter()
        .map(|p| {
            let name = p.file_name().expect("a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(p).expect("a text"))
        })
        .collect()
}

/// A tool that is not there: said aloud, and a failure where everything must run.
fn skip(what: &str, why: &str) {
    eprintln!("SKIPPED {what}: {why}");
    assert!(std::env::var_os("CI").is_none(), "{what} was skipped in CI: {why}");
}

#[test]
fn every_loop_has_its_verdict() {
    let wrong: Vec<String> = programs().iter().flat_map(|(name, text)| fixture::check(name, text)).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn programs_are_clean_c() {
    if Command::new("gcc").arg("--version").output().is_err() {
        return skip("the fixtures' compilation", "gcc is not on PATH");
    }
    for (name, _) in programs() {
        let out = Command::new("gcc")
            .args(["-std=c99", "-Wall", "-Wno-unknown-pragmas", "-Werror", "-c", "-o", "/dev/null"])
            .arg(root().join("fixtures/c").join(&name))
            .output()
            .expect("gcc");
        assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

/// Where NVRTC may be: what `cargo xtask test` installed, else wherever the room finds one.
fn nvrtc() -> Option<PathBuf> {
    let ours = std::env::var_os("WARPWRIGHT_TOOLS")
        .map_or_else(|| root().join(".tools"), PathBuf::from)
        .join("python");
    ours.is_dir().then_some(ours)
}

fn archs() -> Option<Vec<Arch>> {
    match newest_arch(nvrtc().as_deref()) {
        Ok(newest) => {
            let mut all = vec![Arch::sm(70), Arch::sm(90)];
            if !all.contains(&newest) {
                all.push(newest);
            }
            Some(all)
        }
        Err(e) => {
            skip("the kernels' compilation", &format!("{e:?}"));
            None
        }
    }
}

fn compiles(source: &str, name: &str, flags: &[&str], arch: Arch) -> Result<(), String> {
    let mut request = CompileRequest::new(source, name, arch);
    request.library = nvrtc();
    request.fmad = flags.contains(&"-fmad=false").then_some(false);
    match compile_check(&request, &CancelToken::new()) {
        // a generated text has no business to be warned about; that an architecture is old is not its fault
        CompileOutcome::Compiled(c) => match c.messages.iter().find(|m| m.line.is_some()) {
            Some(m) => Err(format!("warned for {arch:?}: {}", m.text)),
            None => Ok(()),
        },
        CompileOutcome::Failed(f) => Err(format!(
            "does not compile for {arch:?}: {}",
            f.messages.iter().map(|m| m.text.as_str()).collect::<Vec<_>>().join("; ")
        )),
        CompileOutcome::Unavailable(u) => Err(format!("no compiler for {arch:?}: {u:?}")),
    }
}

/// What came of one program's offloads.
#[derive(Default)]
struct Tried {
    offloaded: usize,
    compiled: usize,
    wrong: Vec<String>,
}

fn try_program(name: &str, text: &str, archs: &[Arch]) -> Tried {
    let (settings, cancel, memo) = (Settings::default(), CancelToken::new(), Memo::default());
    let mut tried = Tried::default();
    let wrong = &mut tried.wrong;
    let options = Options { headers: Some(testkit::headers::of_fixtures()), ..Options::default() };
    let doc = Doc::open(ide::Language::C, name, text::Text::new(text).expect("a short text"), options);
    let findings = check(&doc, &memo, &settings, Tier::Full, &cancel).expect("not cancelled");
    for e in fixture::markers(text).expect("markers") {
        let Some(expected) = e.offload else { continue };
        let which = Which::Line(e.line);
        let done = match (offload(&doc, &findings, &memo, &which, &cancel), expected) {
            (Ok(done), true) => done,
            (Err(_), false) => continue,
            (Ok(_), false) => {
                wrong.push(format!("{name}:{}: offloaded, and should not be", e.line));
                continue;
            }
            (Err(why), true) => {
                wrong.push(format!("{name}:{}: not offloaded: {why:?}", e.line));
                continue;
            }
        };
        tried.offloaded += 1;
        for f in &done.edit.create {
            for arch in archs {
                match compiles(&f.text, &f.name, &done.build_flags, *arch) {
                    Ok(()) => tried.compiled += 1,
                    Err(why) => wrong.push(format!("{name}:{}: {} {why}", e.line, f.name)),
                }
            }
        }
        let options = VerifyOptions { cases: 8, ..VerifyOptions::default() };
        for r in verify(&doc, &findings, &memo, &which, &options, &cancel) {
            if r.outcome != Outcome::Same {
                wrong.push(format!("{name}:{}: {} ({:?})", e.line, r.summary, r.outcome));
            }
        }
    }
    tried
}

#[test]
fn offloaded_loops_compute_the_same_and_compile() {
    let archs = archs().unwrap_or_default();
    let programs = programs();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let results: Vec<Tried> = std::thread::scope(|s| {
        let work = || {
            let mut out = Vec::new();
            while let Some((name, text)) =
                programs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
            {
                out.push(try_program(name, text, &archs));
            }
            out
        };
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        handles.into_iter().flat_map(|h| h.join().expect("no panic")).collect()
    });
    let offloaded: usize = results.iter().map(|r| r.offloaded).sum();
    let compiled: usize = results.iter().map(|r| r.compiled).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|r| r.wrong).collect();
    eprintln!("{offloaded} loops offloaded, {compiled} kernels compiled");
    assert!(wrong.is_empty(), "\n{}\n{} wrong", wrong.join("\n"), wrong.len());
    assert!(offloaded >= 25, "only {offloaded} loops were offloaded");
}
