//! The evaluator that replays witnesses comes to the values that `simulate` comes to.

use testkit::evaluators::{hold, made, Held};

const PROGRAMS: u64 = 3_000;

#[test]
fn a_replay_computes_what_simulate_computes() {
    let (mut equal, mut left, mut undefined, mut known, mut unknown) = (0u64, 0u64, 0u64, 0usize, 0usize);
    let mut wrong = Vec::new();
    for seed in 0..PROGRAMS {
        let (text, args) = made(seed);
        match hold(&text, &args) {
            Held::Equal { known: k, unknown: u } => {
                equal += 1;
                known += k;
                unknown += u;
            }
            Held::Left(_) => left += 1,
            Held::Undefined => undefined += 1,
            Held::Different(what) => {
                if wrong.len() < 3 {
                    wrong.push(format!("seed {seed}: {what}\n{text}\ncalled with {args:?}"));
                }
            }
        }
    }
    let counts =
        format!("{equal} equal ({known} values, {unknown} unknown), {left} left, {undefined} undefined");
    assert!(wrong.is_empty(), "{counts}\n{}", wrong.join("\n\n"));
    assert!(equal >= PROGRAMS / 3, "{counts}");
    assert!(left * 6 <= equal, "{counts}");
    assert!(unknown * 10 <= known, "{counts}");
}
