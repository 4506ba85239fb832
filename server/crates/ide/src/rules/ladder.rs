//! A ladder of pages as far as it goes: a step whose result is not right is left out, and the others are kept.
//!
//! Which step it is is found by halves: the first so many steps are right, and with one more they are not. Deliberately
//! absent: ladders of offloaded loops, whose steps are looked at one by one (`optimize`).

use std::sync::Arc;

use rewrite::rules::{RuleSet, RuleSystem};

use super::{steps_of_ladder, Failed, RulesApplied};
use crate::limits::rules::LEFT_OUT;
use crate::Refused;

/// What an attempt makes with all steps, or with those that are right.
pub(super) fn applied(
    set: &RuleSet,
    system: &Arc<RuleSystem>,
    attempt: impl Fn(&RuleSet) -> Result<RulesApplied, Failed>,
) -> Result<RulesApplied, Refused> {
    let mut steps: Vec<Arc<str>> =
        steps_of_ladder(system).map_or(Vec::new(), |s| s.into_iter().cloned().collect());
    let (mut rest, mut left_out) = (set.clone(), Vec::new());
    // why all of it is refused, if nothing is left
    let mut first: Option<String> = None;
    loop {
        let (refused, why) = match attempt(&rest) {
            Ok(mut done) => {
                done.checked.extend(left_out);
                return Ok(done);
            }
            Err(Failed { refused: Refused::Because(why), is_wrong: true }) => {
                (Refused::Because(why.clone()), why)
            }
            Err(Failed { refused: Refused::Because(why), .. }) => {
                return Err(Refused::Because(first.unwrap_or(why)));
            }
            Err(failed) => return Err(failed.refused),
        };
        first.get_or_insert_with(|| why.clone());
        if steps.len() < 2 || left_out.len() == LEFT_OUT {
            return Err(refused);
        }
        // `good` steps are right, `bad` are not; without any there is nothing that could be wrong
        let (mut good, mut bad, mut because) = (0, steps.len(), why);
        while bad - good > 1 {
            let middle = (good + bad) / 2;
            let mut first = rest.clone();
            steps[middle..].iter().for_each(|s| _ = first.systems.remove(s));
            match attempt(&first) {
                Err(Failed { refused: Refused::Because(why), is_wrong: true }) => {
                    (bad, because) = (middle, why)
                }
                Err(Failed { refused: refused @ (Refused::Stale | Refused::Cancelled), .. }) => {
                    return Err(refused)
                }
                _ => good = middle,
            }
        }
        let step = steps.remove(good);
        rest.systems.remove(&step);
        left_out.push(format!(" Without the step `{step}`: {because}"));
    }
}
