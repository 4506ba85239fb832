//! Ways to lay out threads side by side, the best first.
//!
//! Deliberately absent: a choice. What is measured decides; where nothing is, what the simulator counts, and that is said.

use base::CancelToken;

use super::{run, simulated, Source};

/// Runs one of them there; without a `client` it is verified in the simulator.
pub fn run_variant(
    source: &Source<'_>,
    v: &ide::Variant,
    target: &str,
    client: Option<&mut device::Client>,
    cancel: &CancelToken,
    tell: &mut dyn FnMut(&str),
) -> wire::ProfileRun {
    // its own text is verified
    let source = Source { ask: &v.ask, of_part: source.of_part, headers: source.headers.clone(), ..*source };
    let ran = match client {
        Some(client) => run(&source, &v.recorded, target, client, cancel, tell),
        None => simulated(&source, &v.recorded, target, ""),
    };
    let counted = match &v.counted {
        Ok(c) => {
            let sizes: Vec<String> = c.sizes.iter().map(|(n, value)| format!("{n}={value}")).collect();
            let with = if sizes.is_empty() { String::new() } else { format!(" with {}", sizes.join(", ")) };
            format!(
                "Counted in the simulator{with}: {} sectors asked of memory where {} would do.",
                c.sectors, c.ideal
            )
        }
        Err(why) => format!("What it asks of memory was not counted: {why}."),
    };
    let own = if v.is_own { " (as offloaded)" } else { "" };
    wire::ProfileRun {
        variant: Some(format!("{}{own}", v.name)),
        sectors: v.counted.as_ref().ok().map(|c| c.sectors),
        said: format!("{} {counted}", ran.said),
        ..ran
    }
}

/// Puts the best first: by measured times where all that computes the same was measured, else by counted sectors; what computes
/// something else, or has no number, comes last. Gives how they are ordered, a sentence.
pub fn best_first(runs: &mut [wire::ProfileRun]) -> &'static str {
    let wrong = |r: &wire::ProfileRun| r.checked == "different";
    let is_measured =
        runs.iter().filter(|r| !wrong(r)).all(|r| r.kernel_ns.is_some()) && !runs.iter().all(wrong);
    let by = |r: &wire::ProfileRun| match is_measured {
        true => r.kernel_ns.map(|t| t.median),
        false => r.sectors,
    };
    // what the offload writes stands first among equals
    runs.sort_by_key(|r| (wrong(r), by(r).unwrap_or(u64::MAX)));
    match is_measured {
        true => "Ordered by the kernels' measured times.",
        false => "Ordered by the sectors that the simulator counted at small sizes, which is no time: no time was measured of all of them.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(variant: &str, checked: &str, ns: Option<u64>, sectors: Option<u64>) -> wire::ProfileRun {
        let text = r#"{"file":"f","line":1,"function":"f","kernel":[],"target":"local","device":null,"rung":"events","sizes":{},
            "checked":"same","kernel_ns":null,"copies_ns":null,"call_ns":null,"cpu_ns":{"one":null,"all":null},"launches":1,
            "copied_bytes":[0,0],"bytes":null,"flops":null,"share_of_ceiling":null,"variant":null,"sectors":null,
            "predicted_ns":null,"hash":"","said":""}"#;
        let run: wire::ProfileRun = serde_json::from_str(text).expect("the contract");
        let kernel_ns = ns.map(|median| wire::Nanoseconds { median, spread: 0, runs: 7 });
        wire::ProfileRun {
            variant: Some(variant.to_owned()),
            checked: checked.to_owned(),
            kernel_ns,
            sectors,
            ..run
        }
    }

    fn order(mut runs: Vec<wire::ProfileRun>) -> (String, bool) {
        let is_measured = best_first(&mut runs).contains("measured times");
        (runs.iter().filter_map(|r| r.variant.clone()).collect::<Vec<_>>().join(" "), is_measured)
    }

    #[test]
    fn measured_times_decide_where_there_are_any_and_counts_else() {
        let (a, b) = (ran("a", "same", Some(20), Some(1)), ran("b", "same", Some(10), Some(9)));
        let wrong = ran("wrong", "different", Some(1), Some(0));
        assert_eq!(order(vec![wrong.clone(), a.clone(), b.clone()]), ("b a wrong".to_owned(), true));
        // one without a time: times are not compared with counts
        let unmeasured = ran("c", "same", None, Some(5));
        assert_eq!(order(vec![b, unmeasured, a, wrong]), ("a c b wrong".to_owned(), false));
        let uncounted = ran("d", "same", None, None);
        let (x, y) = (ran("x", "same", None, Some(3)), ran("y", "same", None, Some(3)));
        assert_eq!(order(vec![uncounted, x, y]), ("x y d".to_owned(), false));
    }
}
