//! A small budget may leave a loop unknown; it never says something else than the full one.

use analysis::{analyze, Program, Verdict, SAVE, TYPING_STEPS};
use base::{Budget, CancelToken};

fn programs() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/c");
    let (mut folders, mut out) = (vec![std::path::PathBuf::from(folder)], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "c") {
                out.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    out.sort();
    assert!(out.len() > 20);
    out
}

#[test]
fn verdicts_only_go_from_unknown_to_known() {
    let budget = Budget::new(u64::MAX);
    for (name, text) in programs() {
        let parsed = front::Parsed::parse(front::Language::C, text);
        let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
        let program = Program::of(unit.items.iter().map(|i| &i.body));
        for item in &unit.items {
            let full = analyze(&item.body, &program, SAVE, &budget);
            for steps in [1, 300, 3_000, TYPING_STEPS] {
                let quick = analyze(&item.body, &program, base::Effort::each_loop(steps), &budget);
                assert_eq!(quick.loops.len(), full.loops.len());
                for (q, f) in quick.loops.iter().zip(full.loops.iter()) {
                    assert!(
                        q.verdict == f.verdict || q.verdict == Verdict::Unknown,
                        "{name}, {}: {:?} with {steps} steps, {:?} with all",
                        item.name,
                        q.verdict,
                        f.verdict
                    );
                    if q.verdict == Verdict::Unknown && f.verdict != Verdict::Unknown {
                        assert!(
                            quick.out_of_budget,
                            "{name}, {}: unknown for no reason with {steps} steps: {:?}",
                            item.name, q.obstacles
                        );
                    }
                }
            }
            let again = analyze(&item.body, &program, SAVE, &budget);
            assert_eq!(format!("{full:?}"), format!("{again:?}"), "the same input gives the same answer");
        }
    }
}

#[test]
fn cancelled_work_says_nothing_wrong() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let budget = Budget::with_cancel(u64::MAX, cancel);
    let text = "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = a[i + 1]; }";
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let facts = analyze(&unit.items[0].body, &Program::default(), SAVE, &budget);
    assert!(facts.loops.iter().all(|l| l.verdict == Verdict::Unknown));
}
