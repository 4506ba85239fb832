//! The judge is judged: lies must be found.

use super::*;
use crate::nests::generate;

fn honest(body: &Body, around: &analysis::Program) -> Facts {
    analysis::analyze(body, around, analysis::SAVE, &Budget::new(u64::MAX))
}

/// A judge that lets everything pass would be no judge: lies must be found.
#[test]
fn lies_are_found() {
    let (mut bold, mut shifted, mut careless) = (0, 0, 0);
    for seed in 0..60 {
        let nest = generate(seed, 10);
        bold += judge_with(&nest, &mut Stats::default(), |body, around| {
            let mut facts = honest(body, around);
            for id in facts.loops.ids().collect::<Vec<_>>() {
                let l = &mut facts.loops[id];
                if l.verdict == Verdict::Sequential {
                    l.verdict = Verdict::Independent;
                    l.reductions.clear();
                }
            }
            facts
        })
        .iter()
        .filter(|f| f.kind == "claim")
        .count();
        shifted += judge_with(&nest, &mut Stats::default(), |body, around| {
            let mut facts = honest(body, around);
            for id in facts.loops.ids().collect::<Vec<_>>() {
                for d in &mut facts.loops[id].dependences {
                    if let Some(w) = &mut d.witness {
                        w.source_iteration += 1_000;
                    }
                }
            }
            facts
        })
        .iter()
        .filter(|f| f.kind == "witness")
        .count();
        careless += judge_with(&nest, &mut Stats::default(), |body, around| {
            let mut facts = honest(body, around);
            for id in facts.loops.ids().collect::<Vec<_>>() {
                facts.loops[id].reductions.clear();
                facts.loops[id].conditions.clear();
            }
            facts
        })
        .iter()
        .filter(|f| f.kind == "claim")
        .count();
    }
    assert!(bold > 20 && shifted > 20 && careless > 3, "{bold} {shifted} {careless}");
}

/// A loop that is judged without its ways out, and leaves by one of them all the same.
#[test]
fn a_way_out_that_is_taken_is_found() {
    let mut found = 0;
    for seed in 0..240 {
        let nest = generate(seed, 10);
        let wrong = judge_with(&nest, &mut Stats::default(), |body, around| {
            let mut facts = honest(body, around);
            for id in facts.loops.ids().collect::<Vec<_>>() {
                if facts.loops[id].granted.is_some() {
                    facts.loops[id].conditions.clear();
                }
            }
            facts
        });
        found += wrong.iter().filter(|f| f.what.contains("left early")).count();
    }
    assert!(found > 2, "{found}");
}
