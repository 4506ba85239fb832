//! `fixtures/cuda/traps_*.cu`: kernels in which something is easily taken for what it is not, with what is true of them.

use std::path::Path;

use super::{full, open_cuda};
use crate::function_view::line_column;
use crate::kernels::{kernel_reports, parse_shape, simulate_kernels, SimulateOptions};
use crate::Doc;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/cuda-traps");
    std::fs::read_to_string(folder.join(name)).expect("the fixture")
}

/// The words behind `//~`, by line.
fn marks(text: &str) -> Vec<(u32, String)> {
    let of = |(k, line): (usize, &str)| Some((k as u32 + 1, line.split_once("//~ ")?.1.trim().to_owned()));
    text.lines().enumerate().filter_map(of).collect()
}

#[test]
fn code_that_is_not_read_leaves_a_kernel_unknown_and_nothing_else_does() {
    let text = fixture("cpp.cu");
    let doc = open_cuda(&text);
    let reports = kernel_reports(&crate::Ask::thorough(&doc), &[]);
    let marks = marks(&text);
    assert!(marks.len() >= 55, "{}", marks.len());
    let mut wrong = Vec::new();
    for (line, expected) in marks {
        let name = text.lines().nth(line as usize - 1).unwrap_or("");
        let name = name.split("__global__ void ").nth(1).and_then(|n| n.split('(').next()).unwrap_or("");
        // a kernel that is no function for us has no report, and nothing is claimed of it
        let Some(k) = reports.iter().find(|k| k.name == *name) else {
            wrong.push(format!("{name}: is not there"));
            continue;
        };
        // read, and unknown for another reason
        let (expected, read) = match expected.split_once(' ') {
            Some((verdict, _)) => (verdict, true),
            None => (expected.as_str(), false),
        };
        if k.races.verdict != expected {
            wrong.push(format!("{name}: {} for {expected}, {:?}", k.races.verdict, k.races.reason));
        }
        if expected == "unknown" && !read {
            let claimed =
                k.barriers.iter().any(|b| b.verdict == "safe" || b.redundant.is_some() || b.count.is_some());
            let counted =
                |a: &crate::kernels::AccessReport| a.fact.requests.as_ref().is_some_and(|r| r.exact);
            let counted = k.accesses.iter().any(counted);
            let decided = k.branches.iter().any(|b| !matches!(b.uniform, "unknown" | "divergent"));
            if claimed || counted || decided {
                wrong.push(format!("{name}: something is claimed across what is not known"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether some run of some kernel shows a race.
fn races(doc: &Doc) -> bool {
    let shape = parse_shape("1,64").expect("a shape");
    (1..=6).any(|seed| {
        let launches = vec![("launched_twice".to_owned(), shape.clone())];
        let options = SimulateOptions { seed, launches, ..SimulateOptions::default() };
        simulate_kernels(&crate::Ask::thorough(doc), &options).iter().any(|r| !r.races.is_empty())
    })
}

#[test]
fn a_barrier_is_called_needless_only_where_no_data_needs_it() {
    let text = fixture("barriers.cu");
    let doc = open_cuda(&text);
    assert!(!races(&doc));
    let needless: Vec<u32> = full(&doc)
        .diagnostics
        .into_iter()
        .filter(|d| d.code == "redundant-barrier")
        .map(|d| line_column(&doc, d.span.start).line)
        .collect();
    let (mut wrong, mut needed) = (Vec::new(), 0);
    for (line, expected) in marks(&text) {
        if (expected == "needless") != needless.contains(&line) {
            wrong.push(format!("{line}: {expected}"));
        }
        // the simulator is the judge
        let without: String = text
            .lines()
            .enumerate()
            .map(|(k, l)| if k as u32 + 1 == line { l.replace("__syncthreads();", ";") } else { l.to_owned() } + "\n")
            .collect();
        if (expected == "needed") != races(&open_cuda(&without)) {
            wrong.push(format!("{line}: the simulator does not find it {expected}"));
        }
        needed += (expected == "needed") as u32;
    }
    for k in kernel_reports(&crate::Ask::thorough(&doc), &[]) {
        for b in &k.barriers {
            let line = line_column(&doc, b.span.start).line;
            if b.redundant == Some(true) && !needless.contains(&line) {
                wrong.push(format!("{line}: needless in the report"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(needed >= 25, "{needed}");
}
