//! The analysis against what gcc's instrumentation saw: fixtures, random functions, and lies that must be found.
//! `WARPWRIGHT_TRACED` says how many random functions, `WARPWRIGHT_TRACED_FROM` from which seed on.

use std::path::{Path, PathBuf};

use analysis::Verdict;
use testkit::fixture::{analyze, markers, Analyzed};
use testkit::nests::generate;
use testkit::traced::{judge_files, nest_text, Judged};

/// Statements of a random function, about.
const SIZE: usize = 12;
/// Functions built together.
const TOGETHER: usize = 150;

fn number(variable: &str, or: u64) -> u64 {
    std::env::var(variable).map_or(or, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

/// Without gcc nothing can be said, which CI does not accept.
fn skipped() -> bool {
    let here = testkit::traced::is_available();
    if !here {
        eprintln!("SKIPPED the traced judge: gcc is not on PATH");
        assert!(std::env::var_os("CI").is_none(), "the traced judge was skipped in CI");
    }
    !here
}

fn fixtures() -> Vec<PathBuf> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/c").canonicalize().expect("fixtures");
    let (mut folders, mut out) = (vec![root], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "c") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn on_two_threads<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (a, b) = all.split_at(all.len() / 2);
    std::thread::scope(|s| {
        let other = s.spawn(|| b.iter().map(&work).collect::<Vec<R>>());
        let mut first: Vec<R> = a.iter().map(&work).collect();
        first.extend(other.join().expect("no panic"));
        first
    })
}

/// Functions of fixtures that never come to an end under the marks: they call what no text defines, do what C leaves
/// undefined, or too much.
const NEVER: usize = 14;

/// Where the interpreter and the machine do not agree yet: file and line of the function's first loop.
const DISAGREE: [(&str, u32); 1] = [("doitgen.c", 21)];

#[test]
fn fixtures_are_as_the_compiler_sees_them() {
    if skipped() {
        return;
    }
    let results = on_two_threads(&fixtures(), |path| {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let text = std::fs::read_to_string(path).expect("a text");
        let expected = markers(&text).expect("markers");
        let files = [(name.clone(), analyze(&text))];
        let dir = tempfile::tempdir().expect("a folder");
        let folders: Vec<String> =
            path.ancestors().skip(1).take(2).map(|f| format!("-I{}", f.display())).collect();
        let flags: Vec<&str> = folders.iter().map(String::as_str).collect();
        let (judged, refused) = judge_files(&files, dir.path(), &flags, 5).expect("it runs");
        let mut wrong: Vec<String> = refused.into_iter().map(|(n, why)| format!("{n}: {why}")).collect();
        for f in &judged.failures {
            if f.kind != "interpreter" || !DISAGREE.contains(&(name.as_str(), f.line)) {
                wrong.push(format!("{name}:{}: [{}] {}", f.line, f.kind, f.what));
            }
        }
        for e in &expected {
            let at = (0, e.line);
            if e.verdict == Verdict::Independent && judged.flows.contains(&at) {
                wrong.push(format!(
                    "{name}:{}: marked independent, but iterations read what others left",
                    e.line
                ));
            }
            if e.verdict == Verdict::Sequential && judged.looked_parallel.contains(&at) {
                wrong.push(format!("{name}:{}: marked sequential, and nothing was carried", e.line));
            }
        }
        (judged, wrong)
    });
    let (mut all, mut wrong) = (Judged::default(), Vec::new());
    for (j, w) in results {
        all.add(j);
        wrong.extend(w);
    }
    eprintln!("{all}\nnever run: {:?}", all.never);
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(all.never.len() <= NEVER, "{} functions never ran", all.never.len());
    assert!(all.claims > 700 && all.witnesses > 550, "too little was judged");
}

fn nests(from: u64, count: u64, lie: impl Fn(&mut Analyzed) + Sync) -> Judged {
    random(from, count, &|s| nest_text(&generate(s, SIZE)), &["-fno-sanitize=vla-bound"], lie)
}

/// Judges random functions, so many at once.
fn random(
    from: u64,
    count: u64,
    text: &(dyn Fn(u64) -> String + Sync),
    flags: &[&str],
    lie: impl Fn(&mut Analyzed) + Sync,
) -> Judged {
    let batches: Vec<Vec<u64>> =
        (from..from + count).collect::<Vec<_>>().chunks(TOGETHER).map(<[u64]>::to_vec).collect();
    let results = on_two_threads(&batches, |seeds| {
        let files: Vec<(String, Analyzed)> = seeds
            .iter()
            .map(|&s| {
                let mut a = analyze(&text(s));
                lie(&mut a);
                (format!("seed {s}"), a)
            })
            .collect();
        let dir = tempfile::tempdir().expect("a folder");
        let (mut judged, refused) = judge_files(&files, dir.path(), flags, 0).expect("it runs");
        // a program that is no C is none of ours; few may be
        assert!(refused.len() * 20 <= files.len(), "gcc refused {refused:?}");
        for f in &mut judged.failures {
            f.what = format!("{}:{}: {}\n{}", files[f.file].0, f.line, f.what, files[f.file].1.text);
        }
        judged
    });
    let mut all = Judged::default();
    results.into_iter().for_each(|j| all.add(j));
    all
}

/// `unmet_of`: of so many programs one witness may be such that its run does what C leaves undefined.
fn accepted(all: &Judged, count: u64, unmet_of: u64) {
    eprintln!("{all}");
    let wrong: Vec<String> = all.failures.iter().map(|f| format!("[{}] {}", f.kind, f.what)).collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(all.unmet <= count / unmet_of, "{} witnesses whose values no run had", all.unmet);
    assert!(all.interpreted > count / 4, "too little was compared with the interpreter");
    assert!(all.claims > count / 3 && all.witnesses > count / 4, "too little was judged");
}

#[test]
fn random_nests_are_as_the_compiler_sees_them() {
    if skipped() {
        return;
    }
    let count = number("WARPWRIGHT_TRACED", 2_000) / 8;
    accepted(&nests(number("WARPWRIGHT_TRACED_FROM", 0), count, |_| {}), count, 2);
}

#[test]
fn random_programs_are_as_the_compiler_sees_them() {
    if skipped() {
        return;
    }
    let count = number("WARPWRIGHT_TRACED", 2_000);
    let from = number("WARPWRIGHT_TRACED_FROM", 0);
    accepted(&random(from, count, &testkit::programs::program, &[], |_| {}), count, 20);
}

/// A judge that lets everything pass would be no judge.
#[test]
fn lies_are_found() {
    if skipped() {
        return;
    }
    let lies = |lie: &(dyn Fn(&mut analysis::LoopFacts) + Sync)| {
        let all = nests(0, 40, |a| {
            for f in &mut a.facts {
                for id in f.loops.ids().collect::<Vec<_>>() {
                    lie(&mut f.loops[id]);
                }
            }
        });
        move |kind: &str| all.failures.iter().filter(|f| f.kind == kind).count()
    };
    let bold = lies(&|l| {
        if l.verdict == Verdict::Sequential {
            l.verdict = Verdict::Independent;
            l.reductions.clear();
        }
    })("claim");
    let shifted = lies(&|l| {
        for w in l.dependences.iter_mut().filter_map(|d| d.witness.as_mut()) {
            w.source_iteration += 1_000;
        }
    })("witness");
    let careless = lies(&|l| {
        l.reductions.clear();
        l.conditions.clear();
    })("claim");
    let owned = lies(&|l| {
        let symbols: Vec<_> = l.reductions.drain(..).map(|r| r.object.symbol).collect();
        l.privates.extend(symbols.into_iter().map(|symbol| analysis::Private {
            symbol,
            declared_inside: false,
            kept: false,
            copied_in: false,
        }));
    });
    let found = [bold, shifted, careless, owned("private"), owned("live-out")];
    assert!(found.iter().zip([15, 15, 2, 2, 2]).all(|(f, least)| *f >= least), "{found:?}");
}

/// A witness whose values no execution reaches is told from one that merely does not happen.
#[test]
fn unreal_witnesses_are_found() {
    if skipped() {
        return;
    }
    let text = "void f(int n, int m, double *a)\n{\n    if (m > 6) m = 6;\n    for (int i = 0; i < n; i++)\n        a[i] = a[i + m] + 1;\n}\n";
    let mut a = analyze(text);
    for f in &mut a.facts {
        for id in f.loops.ids().collect::<Vec<_>>() {
            for w in f.loops[id].dependences.iter_mut().filter_map(|d| d.witness.as_mut()) {
                w.params.iter_mut().for_each(|p| p.1 = p.1.max(0) + 7);
            }
        }
    }
    let dir = tempfile::tempdir().expect("a folder");
    let (judged, refused) = judge_files(&[("f".to_owned(), a)], dir.path(), &[], 0).expect("it runs");
    assert!(refused.is_empty(), "{refused:?}");
    assert!(judged.failures.iter().any(|f| f.kind == "unmet"), "{judged}");
}
