//! The JSON of `analyze`: loops, kernels, findings.

use serde::Serialize;
use serde_json::{json, Value};
use text::PositionEncoding;

use super::FileReport;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    path: String,
    language: &'static str,
    /// What conditions took for granted, where it could as well be otherwise; left out where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    configuration: Vec<Choice<'a>>,
    loops: Vec<Loop<'a>>,
    /// Of CUDA documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kernels: Vec<Value>,
    diagnostics: Vec<Diagnostic<'a>>,
}

/// A macro or a header and how it was taken: `not defined`, `defined`, `platform` (as gcc on x86-64 Linux has it),
/// `compiler` (as the one that was asked says, with its name), `either way` (left open: the compiler's options decide),
/// `not found`, `found nearby` (where nobody said to look), `stand-in`, `not read`.
#[derive(Serialize)]
struct Choice<'a> {
    name: &'a str,
    taken: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
}

fn choice_json(choice: &ide::Choice) -> Choice<'_> {
    let (taken, value) = match &choice.taken {
        ide::Taken::NotDefined => ("not defined", None),
        ide::Taken::Given(value) => ("defined", Some(&**value)),
        ide::Taken::Platform => ("platform", None),
        ide::Taken::Compiler(name) => ("compiler", Some(&**name)),
        ide::Taken::EitherWay => ("either way", None),
        ide::Taken::NotFound => ("not found", None),
        ide::Taken::Guessed => ("found nearby", None),
        ide::Taken::StandIn => ("stand-in", None),
        ide::Taken::TooMuch => ("not read", None),
    };
    Choice { name: &choice.name, taken, value }
}

#[derive(Serialize)]
struct Loop<'a> {
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    function: &'a str,
    verdict: &'a str,
    conditions: Vec<Condition<'a>>,
    private: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inductions: Vec<Induction<'a>>,
    reductions: Vec<Reduction<'a>>,
    dependences: Vec<Dependence<'a>>,
    obstacles: Vec<Obstacle<'a>>,
    thread_map: Option<Value>,
    /// Whether a kernel can be made, and why not; null where nothing could run at once.
    offload: Option<Value>,
    /// Only where it was asked for and found.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabling: Option<Enabling<'a>>,
}

#[derive(Serialize)]
struct Induction<'a> {
    variable: &'a str,
    step: Option<i64>,
}

#[derive(Serialize)]
struct Enabling<'a> {
    text: &'a str,
    steps: Vec<EnablingStep<'a>>,
}

#[derive(Serialize)]
struct EnablingStep<'a> {
    name: &'a str,
    with: &'a str,
    line: u32,
}

#[derive(Serialize)]
struct Condition<'a> {
    kind: &'a str,
    text: &'a str,
    met_by: &'a str,
}

#[derive(Serialize)]
struct Reduction<'a> {
    variable: &'a str,
    operator: &'a str,
}

#[derive(Serialize)]
struct LineColumn {
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Dependence<'a> {
    kind: &'a str,
    variable: &'a str,
    source: LineColumn,
    sink: LineColumn,
    direction: &'a [&'static str],
    distance: &'a [Option<i64>],
    witness: Option<&'a str>,
}

#[derive(Serialize)]
struct Obstacle<'a> {
    kind: &'a str,
    text: &'a str,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Diagnostic<'a> {
    code: &'a str,
    severity: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    message: &'a str,
}

/// The contract of DESIGN, "What the command line promises".
pub fn json(
    reports: &[FileReport],
    enabling: bool,
    launches: &[(String, ide::Shape)],
) -> anyhow::Result<String> {
    let files = reports
        .iter()
        .map(|r| File {
            path: r.path(),
            language: r.doc.language().name,
            configuration: r.doc.configuration().iter().map(choice_json).collect(),
            loops: r
                .findings
                .loops
                .iter()
                .map(|l| Loop { enabling: enabling_json(l, enabling), ..loop_json(l.report()) })
                .collect(),
            kernels: ide::kernel_reports(&r.ask, launches).iter().map(|k| kernel_json(r, k)).collect(),
            diagnostics: r.findings.diagnostics.iter().map(|d| diagnostic_json(r, d)).collect(),
        })
        .collect();
    Ok(serde_json::to_string_pretty(&Report { version: 1, files })? + "\n")
}

/// A kernel as the contract has it. What no analysis says yet is null, not empty.
fn kernel_json(report: &FileReport, k: &ide::KernelReport) -> Value {
    let place = |span| report.place(span, PositionEncoding::Utf8);
    let branches = k.branches.iter().map(|b| {
        let [line, column, ..] = place(b.span);
        let lanes = b.lanes.as_ref().map(|list| {
            list.iter().map(|(a, h, n)| json!({"active": a, "taken": h, "times": n})).collect::<Vec<_>>()
        });
        json!({
            "line": line, "column": column, "kind": b.kind, "uniform": b.uniform, "active_lanes": lanes,
            "witness": b.witness,
        })
    });
    let barriers = k.barriers.iter().map(|b| {
        let [line, column, ..] = place(b.span);
        let count = b.count.as_ref();
        json!({
            "line": line, "column": column, "verdict": b.verdict, "redundant": b.redundant, "witness": b.witness,
            "opened": count.map(|c| c.opened), "threads": count.map(|c| c.threads),
            "idle": count.and_then(|c| c.idle),
        })
    });
    let accesses = k.accesses.iter().map(|a| {
        let ([line, column, ..], f) = (place(a.span), &a.fact);
        let rw = match (f.reads, f.writes) {
            (true, true) => "rw",
            (true, false) => "r",
            _ => "w",
        };
        let space = f.space.name();
        // sectors are a matter of global memory, ways of banks and of the addresses of constant memory
        let (asked, sectors) = (f.requests.as_ref(), space == "global");
        let global = |n: fn(&ide::Requests) -> u64| asked.filter(|_| sectors).map(n);
        json!({
            "line": line, "column": column, "array": f.object, "space": space, "rw": rw, "atomic": f.atomic,
            "bytes": f.bytes, "sectors": global(|r| r.worst_sectors), "ideal": global(|r| r.worst_ideal),
            "ways": asked.filter(|_| !sectors).map(|r| r.ways), "exact": asked.is_some_and(|r| r.exact),
            "requests": asked.map(|r| r.count), "lanes": asked.map(|r| r.lanes),
            "all_sectors": global(|r| r.sectors), "all_ideal": global(|r| r.ideal),
            "conflicts": asked.filter(|_| !sectors).map(|r| r.conflicts),
        })
    });
    let r = &k.races;
    let races: Vec<Value> = r
        .list
        .iter()
        .map(|x| {
            let ([line, column, ..], [other, ..]) = (place(x.span), place(x.other));
            let space = if x.shared { "shared" } else { "global" };
            json!({
                "line": line, "column": column, "other_line": other, "space": space, "array": x.object,
                "index": x.index, "witness": x.witness, "missing": x.missing,
            })
        })
        .collect();
    let out_of_range = k.out_of_range.as_ref().map(|list| {
        let one = |x: &ide::RangeReport| {
            let [line, column, ..] = place(x.span);
            json!({"line": line, "column": column, "array": x.object, "when": x.when})
        };
        list.iter().map(one).collect::<Vec<_>>()
    });
    json!({
        "name": k.name,
        "line": place(k.span)[0],
        "grid": k.shape.as_ref().map(|(s, _)| s.grid),
        "block": k.shape.as_ref().map(|(s, _)| s.block),
        "branches": branches.collect::<Vec<_>>(),
        "barriers": barriers.collect::<Vec<_>>(),
        "accesses": accesses.collect::<Vec<_>>(),
        // an empty list is a proof, `null` is none
        "races": (r.verdict != "unknown").then_some(races),
        "race_verdict": {"verdict": r.verdict, "reason": r.reason, "apart": r.apart, "shapes": r.shapes},
        "out_of_range": out_of_range,
    })
}

fn diagnostic_json<'a>(report: &FileReport, d: &'a ide::Diagnostic) -> Diagnostic<'a> {
    let [line, column, end_line, end_column] = report.place(d.span, PositionEncoding::Utf8);
    Diagnostic {
        code: d.code,
        severity: d.severity.name(),
        line,
        column,
        end_line,
        end_column,
        message: &d.message,
    }
}

/// What would make a sequential loop parallel, where that was asked for.
fn enabling_json(l: &ide::LoopFinding, asked: bool) -> Option<Enabling<'_>> {
    if !asked {
        return None;
    }
    let found = l.enabling()?;
    let steps = found.steps.iter();
    let step = |s: &ide::EnablingStep| EnablingStep { name: s.name, with: s.with, line: s.line };
    Some(Enabling { text: &found.sentence, steps: steps.map(step).collect() })
}

/// One loop as in the JSON contract; the editor's `showDependences` answers it too.
pub fn loop_value(report: &ide::LoopReport) -> Value {
    json!(loop_json(report))
}

fn loop_json(l: &ide::LoopReport) -> Loop<'_> {
    let at = |p: &ide::LineColumn| LineColumn { line: p.line, column: p.column };
    Loop {
        line: l.line,
        column: l.column,
        end_line: l.end_line,
        end_column: l.end_column,
        function: &l.function,
        verdict: l.verdict,
        conditions: l
            .conditions
            .iter()
            .map(|c| Condition { kind: c.kind, text: &c.text, met_by: c.met_by })
            .collect(),
        private: &l.private,
        inductions: l.inductions.iter().map(|i| Induction { variable: &i.variable, step: i.step }).collect(),
        reductions: l
            .reductions
            .iter()
            .map(|r| Reduction { variable: &r.variable, operator: r.operator })
            .collect(),
        dependences: l
            .dependences
            .iter()
            .map(|d| Dependence {
                kind: d.kind,
                variable: &d.variable,
                source: at(&d.source),
                sink: at(&d.sink),
                direction: &d.direction,
                distance: &d.distance,
                witness: d.witness.as_deref(),
            })
            .collect(),
        obstacles: l
            .obstacles
            .iter()
            .map(|o| Obstacle { kind: o.kind, text: &o.text, line: o.line, column: o.column })
            .collect(),
        enabling: None,
        thread_map: l.thread_map.as_ref().map(|t| {
            let maps: serde_json::Map<String, Value> =
                t.maps.iter().map(|(statement, map)| (statement.clone(), json!(map))).collect();
            json!({"dimension": t.dimension, "maps": maps, "threads": t.threads})
        }),
        offload: l.offload.as_ref().map(|o| json!({"possible": o.refused.is_none(), "reason": o.refused})),
    }
}
