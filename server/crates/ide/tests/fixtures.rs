//! The fixtures: what is said to be offloaded is offloaded and verifies, what must not be offloaded is refused.
//!
//! Beside a loop, `//~ verdict; offload` or `//~ verdict; no-offload` says what is expected. (Verdicts themselves are
//! checked by the room that finds them.)

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use base::CancelToken;
use ide::{
    check, offload, verify, Doc, Language, Memo, Options, Outcome, Settings, Tier, VerifyOptions, Which,
};
use text::Text;

/// FIXME: loops that should be offloaded and verify, and do not yet: file, function, and what is missing. A wrong
/// result is never among them.
const NOT_YET: &[(&str, &str, &str)] = &[
    ("aliasing.c", "scale", "a struct with a pointer as a random parameter"),
    ("early_exit.c", "classify", "extent under a condition on data"),
    ("early_exit.c", "find_all", "break of an inner loop in a band"),
    ("heat2d.c", "heat_flat", "extent of a flattened subscript"),
    ("index_types.c", "flat_unsigned", "extent of a flattened subscript"),
    ("life.c", "blocked", "bound with a minimum"),
    ("life.c", "life", "extent of a subscript through a private"),
    ("macros.c", "block", "bound with a minimum"),
    ("mandelbrot.c", "julia", "extent of a flattened subscript"),
    ("matmul.c", "gemm_flat", "extent of a flattened subscript"),
    ("matvec.c", "matvec_cell", "extent of a flattened subscript"),
    ("sieve.c", "sieve", "condition on a product"),
    ("strides.c", "reverse", "two indices"),
];

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/c");
    let entries = std::fs::read_dir(folder).expect("the fixtures");
    let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "c"));
    files.sort();
    files
}

/// What is expected of the loops of one line, after the verdict.
fn wish(line: &str) -> Option<&str> {
    let (_, expected) = line.split_once("//~")?;
    expected.split(';').map(str::trim).find(|w| matches!(*w, "offload" | "no-offload"))
}

/// What came of one file: loops that verify, and what is wrong.
fn judge(file: &Path) -> (usize, Vec<String>) {
    let (mut same, mut wrong) = (0, Vec::new());
    let name = file.file_name().and_then(|n| n.to_str()).expect("a name").to_owned();
    let code = std::fs::read_to_string(file).expect("a fixture");
    let options = Options { headers: Some(testkit::headers::of_fixtures()), ..Options::default() };
    let doc = Doc::open(Language::C, &name, Text::new(&code).expect("small"), options);
    let (memo, cancel) = (Memo::new(), CancelToken::new());
    let findings = check(&ide::Ask::new(&doc, &memo, Tier::Full, &cancel), &Settings::default())
        .expect("nobody cancels");
    for l in &findings.loops {
        let line = code.lines().nth(l.report().line as usize - 1).unwrap_or("");
        let place = format!("{name}:{} {}", l.report().line, l.report().function);
        let which = Which::Key(l.key.to_string());
        match wish(line) {
            Some("offload") => {
                let options = VerifyOptions { cases: 4, steps: 20_000_000, ..VerifyOptions::default() };
                let report = verify(
                    &ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel),
                    &findings,
                    &which,
                    &options,
                )
                .remove(0);
                let known = NOT_YET.iter().any(|(f, g, _)| *f == name && *g == l.report().function);
                match report.outcome {
                    Outcome::Same => same += 1,
                    Outcome::NotTried(_) if known => {}
                    _ => wrong.push(format!("{place}: {}", report.summary)),
                }
            }
            Some(_)
                if offload(&ide::Ask::new(&doc, &memo, ide::Tier::Full, &cancel), &findings, &which)
                    .is_ok() =>
            {
                wrong.push(format!("{place}: is offloaded, and must not be"));
            }
            _ => {}
        }
    }
    (same, wrong)
}

#[test]
fn offloadable_fixtures_verify_in_the_simulator() {
    // WW_FIXTURE=lu looks at one file
    let only = std::env::var("WW_FIXTURE").unwrap_or_default();
    let files: Vec<PathBuf> =
        fixtures().into_iter().filter(|f| f.to_string_lossy().contains(only.as_str())).collect();
    let next = AtomicUsize::new(0);
    let all = Mutex::new((0, Vec::new()));
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (same, mut wrong) = judge(file);
            let mut all = all.lock().expect("no panic");
            all.0 += same;
            all.1.append(&mut wrong);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for w in workers {
            w.join().expect("no panic");
        }
    });
    let (same, wrong) = all.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{same} loops verify, {} do not:\n{}", wrong.len(), wrong.join("\n"));
    assert!(!only.is_empty() || same > 100, "only {same} loops verify");
}
