//! Results as reports: tables, bars and graphs out of what the contract says of them.

use super::{Cell, Edge, Graph, Part, Report, Table};
use crate::limits::lsp_panel_reports::SHOWN;
use crate::lsp::measured::Measurement;

/// Kernels beside their loops.
pub fn verified(checks: &[wire::Check]) -> Report {
    let mut out = Report { title: "Verification".to_owned(), parts: Vec::new() };
    if let [one] = checks {
        out.title = format!("Verification of `{}`, line {}", one.function, one.line);
    } else if checks.is_empty() {
        out.parts.push(Part::Text("There is no kernel to run beside this loop.".to_owned()));
    }
    for c in checks {
        if checks.len() > 1 {
            out.parts.push(Part::Heading(2, format!("`{}`, line {}", c.function, c.line)));
        }
        verified_loop(c, &mut out.parts);
    }
    out
}

/// Kernels on a machine, with what was measured of the same function before, newest first.
pub fn profiled(r: &wire::ProfileRun, history: &[Measurement]) -> Report {
    let mut out =
        Report { title: format!("Measurement of `{}`, line {}", r.function, r.line), parts: Vec::new() };
    out.parts.push(Part::Text(r.said.clone()));
    let row = |what: &str, how: &str, t: Option<wire::Nanoseconds>| {
        let t = t?;
        let words = |s: &str| Cell::Words(s.to_owned());
        Some(vec![
            words(what),
            words(how),
            Cell::Number(t.median),
            Cell::Number(t.spread),
            Cell::Number(t.runs),
        ])
    };
    let rows = [
        row("kernels", &r.rung, r.kernel_ns),
        row("copies", "clock", r.copies_ns),
        row("whole call", "clock", r.call_ns),
        row("original, one core", "clock", r.cpu_ns.one),
    ];
    let rows: Vec<Vec<Cell>> = rows.into_iter().flatten().collect();
    if !rows.is_empty() {
        let heads = vec!["what", "by", "median ns", "spread ns", "runs"];
        out.parts.push(Part::Table(Table { heads, rows }));
    }
    let is_same = r.checked == "same";
    out.parts.push(Part::Table(Table {
        heads: vec!["loop", "results", "kernels", "launches", "bytes to it", "bytes from it"],
        rows: vec![vec![
            Cell::Line(r.line, format!("line {}", r.line)),
            Cell::Verdict(is_same, r.checked.clone()),
            Cell::Words(r.kernel.join(", ")),
            Cell::Number(r.launches),
            Cell::Number(r.copied_bytes[0]),
            Cell::Number(r.copied_bytes[1]),
        ]],
    }));
    let same = history.iter().filter(|m| m.run.function == r.function).take(SHOWN);
    let rows: Vec<Vec<Cell>> = same.map(measurement).collect();
    if rows.len() > 1 {
        out.parts.push(Part::Heading(2, "Measured so far".to_owned()));
        let heads = vec!["when (UTC)", "line", "on", "by", "results", "kernels ns", "call ns", "kernel"];
        out.parts.push(Part::Table(Table { heads, rows }));
    }
    out
}

fn measurement(m: &Measurement) -> Vec<Cell> {
    let words = |s: &str| Cell::Words(s.to_owned());
    let number = |t: Option<wire::Nanoseconds>| t.map_or_else(|| words("–"), |t| Cell::Number(t.median));
    let r = &m.run;
    vec![
        words(&date(m.at)),
        Cell::Number(u64::from(r.line)),
        words(r.device.as_deref().unwrap_or("–")),
        words(&r.rung),
        Cell::Verdict(r.checked == "same", r.checked.clone()),
        number(r.kernel_ns),
        number(r.call_ns),
        // another text is another kernel
        words(r.hash.get(..8).unwrap_or("–")),
    ]
}

/// `2026-11-27 11:05` from seconds since 1970, after the calendar of Gregory.
fn date(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    let from_march = days + 719_468;
    let (era, day) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) =
        (if month < 10 { month + 3 } else { month - 9 }, year + era * 400 + i64::from(month >= 10));
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", rest / 3600, rest / 60 % 60)
}

fn verified_loop(c: &wire::Check, parts: &mut Vec<Part>) {
    parts.push(Part::Text(c.summary.clone()));
    let is_same = c.outcome == "same";
    let runs = c.cases.iter().filter(|x| x.launches > 0).count();
    let outcome = Cell::Verdict(is_same, c.outcome.clone());
    parts.push(Part::Table(Table {
        heads: vec!["loop", "outcome", "checked", "inputs", "with a kernel"],
        rows: vec![vec![
            Cell::Line(c.line, format!("line {}", c.line)),
            outcome,
            Cell::Words(c.checked.join(", ")),
            Cell::Number(c.cases.len() as u64),
            Cell::Number(runs as u64),
        ]],
    }));
    if !c.cases.is_empty() {
        parts.push(Part::Heading(2, "Inputs".to_owned()));
        parts.push(Part::Table(cases(c)));
    }
    if !c.transfers.is_empty() {
        parts.push(Part::Heading(2, "Copies between host and device".to_owned()));
        parts.push(Part::Table(transfers(c)));
        let sayings: Vec<(usize, String)> =
            c.transfers.iter().filter_map(|t| t.too_much.clone()).map(|words| (0, words)).collect();
        if !sayings.is_empty() {
            parts.push(Part::List(sayings));
        }
    }
}

fn cases(c: &wire::Check) -> Table {
    let most = c.cases.iter().map(|x| x.to_device.bytes.max(x.from_device.bytes)).max().unwrap_or(0);
    let copied = |b: &wire::Copies| Cell::Bar { value: b.bytes, of: most, words: bytes(b.bytes) };
    let row = |x: &wire::Case| {
        let input =
            if x.input.is_empty() { "nothing to choose".to_owned() } else { format!("`{}`", x.input) };
        let how = match x.launches {
            0 => "fallback".to_owned(),
            n => n.to_string(),
        };
        let result = match &x.difference {
            None => Cell::Verdict(true, "same".to_owned()),
            Some(what) => Cell::Verdict(false, what.clone()),
        };
        vec![Cell::Words(input), result, Cell::Words(how), copied(&x.to_device), copied(&x.from_device)]
    };
    Table {
        heads: vec!["input", "result", "kernels", "to the device", "back"],
        rows: c.cases.iter().map(row).collect(),
    }
}

fn transfers(c: &wire::Check) -> Table {
    let most = c.transfers.iter().map(|t| t.copies.bytes).max().unwrap_or(0);
    let row = |t: &wire::Transfer| {
        // lines are those of the texts that were written, which may be nowhere yet
        let place = t.place.as_ref().map_or(String::new(), |p| match &p.kernel_file {
            Some(file) => format!("`{file}`, line {}", p.line),
            None => format!("rewritten file, line {}", p.line),
        });
        let way = if t.to_device { "to the device" } else { "back" };
        let needed = match t.followed {
            0 => String::new(),
            n => format!("{} of {n}", t.needed),
        };
        vec![
            Cell::Words(format!("`{}`", t.array)),
            Cell::Words(way.to_owned()),
            Cell::Number(t.copies.count),
            Cell::Bar { value: t.copies.bytes, of: most, words: bytes(t.copies.bytes) },
            Cell::Words(needed),
            Cell::Words(place),
        ]
    };
    Table {
        heads: vec!["array", "way", "copies", "bytes", "needed", "written at"],
        rows: c.transfers.iter().map(row).collect(),
    }
}

/// A kernel in the simulator; `proved`: what is known without running, in Markdown.
pub fn simulated(run: &wire::SimulatedKernel, proved: &str) -> Report {
    let mut out = Report { title: format!("`{}` in the simulator", run.name), parts: Vec::new() };
    let parts = &mut out.parts;
    parts.extend(super::markdown::read(proved));
    if let Some(why) = &run.refused {
        parts.push(Part::Text(sentence(why)));
    }
    if !run.inputs.is_empty() {
        parts.push(Part::Text(format!("Run with {}.", run.inputs.join(", "))));
    }
    if run.grid.is_some() {
        parts.push(totals(run));
    }
    faults(run, parts);
    if !run.accesses.is_empty() {
        parts.push(Part::Heading(2, "Memory, line by line".to_owned()));
        parts.push(Part::Table(accesses(run)));
        parts.push(Part::Text(
            "Sectors are of 32 bytes; the ideal is the fewest that could bring what the lanes ask for."
                .to_owned(),
        ));
    }
    if !run.branches.is_empty() {
        let row = |b: &wire::SimulatedBranch| {
            let words = format!("{} of {}", b.divergent, b.decided);
            vec![
                Cell::Line(b.line, format!("line {}", b.line)),
                Cell::Words(format!("`{}`", b.kind)),
                Cell::Bar { value: b.divergent, of: b.decided, words },
            ]
        };
        parts.push(Part::Heading(2, "Branches".to_owned()));
        let rows = run.branches.iter().map(row).collect();
        parts
            .push(Part::Table(Table { heads: vec!["line", "branch", "divergent decisions of warps"], rows }));
    }
    if !run.barriers.is_empty() {
        let row = |b: &wire::SimulatedBarrier| {
            let words = format!("{} of {}", b.idle, b.threads);
            vec![
                Cell::Line(b.line, format!("line {}", b.line)),
                Cell::Words(format!("`{}`", b.name)),
                Cell::Number(b.opened),
                Cell::Bar { value: b.idle, of: b.threads, words },
            ]
        };
        parts.push(Part::Heading(2, "Barriers".to_owned()));
        let rows = run.barriers.iter().map(row).collect();
        parts.push(Part::Table(Table { heads: vec!["line", "barrier", "opened", "idle threads"], rows }));
    }
    out
}

fn totals(run: &wire::SimulatedKernel) -> Part {
    // blanks that do not break
    let size = |e: &Option<[u32; 3]>| match e {
        None => String::new(),
        Some([x, 1, 1]) => x.to_string(),
        Some([x, y, 1]) => format!("{x}\u{a0}×\u{a0}{y}"),
        Some([x, y, z]) => format!("{x}\u{a0}×\u{a0}{y}\u{a0}×\u{a0}{z}"),
    };
    let t = &run.totals;
    let heads =
        ["kernel", "grid", "block", "threads", "warps", "sectors", "ideal", "bank conflicts", "divergent"];
    let row = vec![
        Cell::Line(run.line, format!("line {}", run.line)),
        Cell::Words(size(&run.grid)),
        Cell::Words(size(&run.block)),
        Cell::Number(t.threads),
        Cell::Number(t.warps),
        Cell::Number(t.sectors),
        Cell::Number(t.ideal),
        Cell::Number(t.conflicts),
        Cell::Number(t.divergent),
    ];
    Part::Table(Table { heads: heads.to_vec(), rows: vec![row] })
}

/// Races and what else went wrong.
fn faults(run: &wire::SimulatedKernel, parts: &mut Vec<Part>) {
    let race = |r: &wire::SimulatedRace| {
        let places = match r.line == r.other_line {
            true => format!("line {}", r.line),
            false => format!("lines {} and {}", r.line, r.other_line),
        };
        vec![
            Cell::Line(r.line, places),
            Cell::Verdict(false, format!("race in {} memory", r.space)),
            Cell::Words(r.witness.clone()),
        ]
    };
    let problem = |p: &wire::Problem| {
        vec![
            Cell::Line(p.line, format!("line {}", p.line)),
            Cell::Verdict(false, p.kind.replace('-', " ")),
            Cell::Words(p.text.clone()),
        ]
    };
    let rows: Vec<Vec<Cell>> = run.races.iter().map(race).chain(run.problems.iter().map(problem)).collect();
    if !rows.is_empty() {
        parts.push(Part::Heading(2, "What went wrong".to_owned()));
        parts.push(Part::Table(Table { heads: vec!["where", "what", "shown by"], rows }));
    }
}

fn accesses(run: &wire::SimulatedKernel) -> Table {
    let most = run.accesses.iter().map(|a| a.all_sectors.max(a.wavefronts)).max().unwrap_or(0);
    let row = |a: &wire::SimulatedAccess| {
        let how = match a.rw.as_str() {
            _ if a.atomic => "atomic",
            "r" => "read",
            "w" => "write",
            _ => "update",
        };
        let (value, words) = match a.space.as_str() {
            "shared" | "constant" => {
                (a.wavefronts, format!("{} passes for {} requests", a.wavefronts, a.requests))
            }
            _ => (a.all_sectors, format!("{} sectors, ideal {}", a.all_sectors, a.all_ideal)),
        };
        vec![
            Cell::Line(a.line, format!("line {}", a.line)),
            Cell::Words(format!("`{}`", a.array)),
            Cell::Words(format!("{how}, {}", a.space)),
            Cell::Number(a.requests),
            Cell::Bar { value, of: most, words },
        ]
    };
    Table {
        heads: vec!["line", "array", "access", "requests", "what they cost"],
        rows: run.accesses.iter().map(row).collect(),
    }
}

/// What a loop carries: the graph, then the page.
pub fn dependences(view: &ide::View) -> Report {
    let mut out = Report::of_markdown(&view.title, &view.markdown);
    if let Some(drawn) = view.graph.as_ref().filter(|g| !g.edges.is_empty()) {
        let edge =
            |e: &ide::DrawnEdge| Edge { from: e.from, to: e.to, words: e.words.clone(), dashed: e.dashed };
        let nodes = drawn.nodes.iter().map(|n| (n.words.clone(), n.line)).collect();
        let graph = Graph { nodes, edges: drawn.edges.iter().map(edge).collect() };
        out.parts.insert(0, Part::Graph(graph));
    }
    out
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let mut chars = phrase.chars();
    let first: String = chars.next().map_or(String::new(), |c| c.to_uppercase().collect());
    let end = if phrase.ends_with(['.', '`']) { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

/// `12 B`, `3.4 kB`
fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}
