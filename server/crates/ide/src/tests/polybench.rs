//! What the offload of whole kernels launches and copies, beside what an expert would: that stands at the end of each fixture.
//!
//! All loops that run at once are marked, the outermost ones, and offloaded together where they can be. An expert copies an
//! array in one piece, from the first to the last cell that is touched; what lies between cells that are written comes along
//! both ways. Deliberately absent: whether the results are right (`tests/fixtures.rs`).

use std::path::Path;

use super::{full, open};
use crate::{Outcome, Transferred, VerifyOptions, Which};

/// Kernels that are not offloaded as a whole: no loop of theirs runs at once, or one that does gets no kernel. The list can only
/// shrink.
const REFUSED: [&str; 0] = [];

/// Those that need more than an expert: launches, copies and their bytes, at most. The list and its numbers can only shrink.
const MORE: [(&str, [u64; 3]); 3] =
    [("durbin", [64, 3, 240]), ("gramschmidt", [53, 5, 3016]), ("ludcmp", [66, 6, 1920])];

/// Launches, and the bytes of each array that is copied, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Need {
    launches: u64,
    /// How many copies, both ways.
    copies: u64,
    into: Vec<(String, u64)>,
    out: Vec<(String, u64)>,
}

/// Name, text, sizes, and what is needed.
type Fixture = (String, String, Vec<(String, i128)>, Need);

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/c/polybench");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").flatten().map(|e| e.path()).collect();
    paths.sort();
    let one = |p: &std::path::PathBuf| {
        let text = std::fs::read_to_string(p).expect("a text");
        let name = p.file_stem().expect("a name").to_string_lossy().into_owned();
        let said = text.rsplit_once("/* At its best on the GPU, with ").expect("an optimum").1;
        let said = said.split_once(" (bytes)").expect("its end").0.replace("\n * ", " ");
        let (sizes, rest) = said.split_once(": ").expect("sizes");
        let sizes = sizes.split(", ").map(|s| {
            let (name, value) = s.split_once(" = ").expect("a size");
            (name.to_owned(), value.parse().expect("a number"))
        });
        let [launches, into, out] = rest.split("; ").collect::<Vec<_>>().try_into().expect("three parts");
        let arrays = |list: &str| {
            let mut all: Vec<(String, u64)> = list
                .split(", ")
                .map(|a| {
                    let (name, bytes) = a.split_once(' ').expect("an array");
                    (name.to_owned(), bytes.parse().expect("a number"))
                })
                .collect();
            all.sort();
            all
        };
        let (into, out) =
            (arrays(into.strip_prefix("in ").expect("in")), arrays(out.strip_prefix("out ").expect("out")));
        let need = Need {
            copies: (into.len() + out.len()) as u64,
            launches: launches.split(' ').next().and_then(|n| n.parse().ok()).expect("launches"),
            into,
            out,
        };
        (name, text.clone(), sizes.collect(), need)
    };
    paths.iter().map(one).collect()
}

/// A text with its outermost loops that run at once marked, those of its kernel; where there are none, with the outermost loops that
/// are offloaded with what is in them.
fn marked(text: &str) -> String {
    let doc = open(text);
    let findings = full(&doc);
    let mut lines: Vec<u32> = Vec::new();
    for parallel in [true, false] {
        let mut end = 0;
        if !lines.is_empty() {
            break;
        }
        for l in &findings.loops {
            let report = l.report();
            let fits = match parallel {
                true => matches!(report.verdict, "independent" | "reduction"),
                false => report.offload.as_ref().is_some_and(|o| o.refused.is_none()),
            };
            if report.function.starts_with("kernel_") && fits && l.span.start >= end {
                end = l.span.end;
                lines.push(l.line());
            }
        }
    }
    let mut out = String::new();
    for (k, line) in text.lines().enumerate() {
        if lines.contains(&(k as u32 + 1)) {
            out += "// warpwright: offload\n";
        }
        out += line;
        out.push('\n');
    }
    out
}

/// What the kernels of a text need, or why there are none.
fn needed(text: &str, sizes: &[(String, i128)]) -> Result<Need, String> {
    let doc = open(&marked(text));
    let findings = full(&doc);
    let ask = crate::Ask::thorough(&doc);
    let options = VerifyOptions { cases: 1, given: sizes.to_vec(), failures: 0, ..VerifyOptions::default() };
    let reports = crate::verify(&ask, &findings, &Which::Marked, &options);
    if reports.is_empty() {
        return Err("no loop in it runs at once".to_owned());
    }
    let mut need = Need::default();
    for r in &reports {
        assert!(r.outcome != Outcome::Different, "{r:#?}");
        if let Outcome::NotTried(why) = &r.outcome {
            return Err(format!("line {}: {why}", r.line));
        }
        need.launches += r.cases.iter().map(|c| c.counted.launches).sum::<u64>() / r.cases.len() as u64;
        let runs = r.cases.len() as u64;
        need.copies += r.transferred.iter().map(|t| t.copies.count / runs).sum::<u64>();
        let each = |t: &&Transferred| match t.copies.count / runs {
            1 => (t.array.clone(), t.copies.bytes / runs),
            n => (format!("{n} times {}", t.array), t.copies.bytes / runs),
        };
        need.into.extend(r.transferred.iter().filter(|t| t.to_device).map(|t| each(&t)));
        need.out.extend(r.transferred.iter().filter(|t| !t.to_device).map(|t| each(&t)));
    }
    need.into.sort();
    need.out.sort();
    Ok(need)
}

/// What is more than an expert needs, in a line; empty: nothing.
fn more(got: &Need, wanted: &Need) -> String {
    let mut out = Vec::new();
    if got.launches != wanted.launches {
        out.push(format!("{} launches instead of {}", got.launches, wanted.launches));
    }
    for (way, got, wanted) in [("in", &got.into, &wanted.into), ("out", &got.out, &wanted.out)] {
        for (array, bytes) in got.iter().filter(|a| !wanted.contains(a)) {
            let of = wanted.iter().find(|w| w.0 == *array).map_or(0, |w| w.1);
            out.push(format!("{way} {array} {bytes} instead of {of}"));
        }
        for (array, bytes) in wanted.iter().filter(|w| !got.iter().any(|g| g.0 == w.0)) {
            out.push(format!("{way} {array} 0 instead of {bytes}"));
        }
    }
    out.join(", ")
}

#[test]
fn whole_kernels_need_what_an_expert_would() {
    let (mut refused, mut worse, mut best) = (Vec::new(), Vec::new(), 0);
    let all = fixtures();
    assert_eq!(all.len(), 30);
    for (name, text, sizes, wanted) in &all {
        match needed(text, sizes) {
            Err(why) => {
                eprintln!("{name}: {why}");
                refused.push(name.as_str());
            }
            Ok(got) if got == *wanted => best += 1,
            Ok(got) => {
                let bytes = got.into.iter().chain(&got.out).map(|a| a.1).sum();
                let numbers = [got.launches, got.copies, bytes];
                eprintln!("{name}: {} ({numbers:?})", more(&got, wanted));
                worse.push((name.as_str(), numbers));
            }
        }
    }
    let count = all.len();
    eprintln!(
        "{best} of {count} kernels need what an expert would, {} more, {} are refused",
        worse.len(),
        refused.len()
    );
    assert_eq!(refused, REFUSED);
    let names = |list: &[(&'static str, [u64; 3])]| list.iter().map(|w| w.0).collect::<Vec<_>>();
    assert_eq!(worse.iter().map(|w| w.0).collect::<Vec<_>>(), names(&MORE));
    for ((name, got), (_, most)) in worse.iter().zip(MORE) {
        assert!(got.iter().zip(most).all(|(g, m)| *g <= m), "{name}: {got:?} are more than {most:?}");
    }
}
