//! What a run has shown of the lines of a document, in a few words behind each, until the text is another.

use std::collections::BTreeMap;

/// Words for lines (from 0) of one version of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtLines {
    pub version: i32,
    pub lines: BTreeMap<u32, String>,
}

/// What a run of a kernel asks of the hardware, line by line: sectors of global memory, passes of shared memory, divergent branches.
pub fn of_run(run: &wire::SimulatedKernel, version: i32) -> AtLines {
    let mut lines: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    // line → sectors, ideal; passes, requests
    let mut memory: BTreeMap<u32, [u64; 4]> = BTreeMap::new();
    for a in &run.accesses {
        let sums = memory.entry(a.line).or_default();
        let (first, more) = match a.space.as_str() {
            "shared" | "constant" => (2, [a.wavefronts, a.requests]),
            "global" => (0, [a.all_sectors, a.all_ideal]),
            _ => continue,
        };
        sums[first] += more[0];
        sums[first + 1] += more[1];
    }
    for (line, [sectors, ideal, passes, requests]) in memory {
        let words = lines.entry(line).or_default();
        if sectors > 0 {
            words.push(match sectors > ideal {
                true => format!("{} {sectors} sectors, ideal {ideal}", bar(sectors - ideal, sectors)),
                false => format!("{sectors} sectors, ideal"),
            });
        }
        if passes > requests {
            words.push(format!("{} {passes} passes for {requests} requests", bar(passes - requests, passes)));
        }
    }
    for b in run.branches.iter().filter(|b| b.divergent > 0) {
        let words =
            format!("{} {} of {} decisions divergent", bar(b.divergent, b.decided), b.divergent, b.decided);
        lines.entry(b.line).or_default().push(words);
    }
    let filled = lines.into_iter().filter(|(line, words)| *line > 0 && !words.is_empty());
    AtLines { version, lines: filled.map(|(line, words)| (line - 1, words.join("; "))).collect() }
}

/// How much of a whole is wasted, in one character.
fn bar(part: u64, whole: u64) -> char {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let step = (8 * part / whole.max(1)).min(7) as usize;
    STEPS[step]
}
