//! Findings as text for people, as the JSON of the command line's contract, as SARIF and as GitHub's annotations.
//!
//! All four are views of the same findings, which are the editor's. Lines and columns are 1-based; columns count
//! UTF-8 bytes, in SARIF and in annotations, whose readers count so, UTF-16 units.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{json, Value};
use text::PositionEncoding;

/// Results that GitHub takes in one run.
const SARIF_MAX_RESULTS: usize = 25_000;
/// Phrases of a file's configuration shown at most.
const SHOWN_CHOICES: usize = 8;
/// A source line is shown up to here.
const SHOWN_LINE_CHARS: usize = 160;

pub struct FileReport {
    pub path: PathBuf,
    pub doc: ide::Doc,
    pub findings: ide::Findings,
}

impl FileReport {
    fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// 1-based begin and end of a finding.
    fn place(&self, span: base::Span, encoding: PositionEncoding) -> [u32; 4] {
        let range = self.doc.text().range_of(span, encoding);
        [range.start.line + 1, range.start.character + 1, range.end.line + 1, range.end.character + 1]
    }
}

pub fn language_name(language: ide::Language) -> &'static str {
    match language {
        ide::Language::C => "c",
        ide::Language::CSharp => "csharp",
        ide::Language::Cuda => "cuda",
    }
}

/// For people: each finding with its line, then what all loops are.
pub fn text(reports: &[FileReport]) -> String {
    let mut out = String::new();
    for report in reports {
        for diagnostic in &report.findings.diagnostics {
            finding(&mut out, report, diagnostic);
        }
        // where something was not read, its loops were not either
        let silent = report.findings.loops.is_empty() && !report.findings.diagnostics.is_empty();
        let sum = if silent { "no loop could be analyzed".to_owned() } else { tally(&report.findings) };
        let _ = writeln!(out, "{}: {sum}", report.path());
        let words = report.doc.configuration_words();
        if !words.is_empty() && !report.findings.loops.is_empty() {
            let shown = words.get(..SHOWN_CHOICES).unwrap_or(&words).join(", ");
            let rest = match words.len().saturating_sub(SHOWN_CHOICES) {
                0 => String::new(),
                n => format!(" and {n} more (see --format json)"),
            };
            let _ = writeln!(out, "  read with {shown}{rest}");
        }
        out.push('\n');
    }
    if reports.len() > 1 {
        let all = reports.iter().flat_map(|r| r.findings.loops.iter());
        let _ = writeln!(out, "{} files: {}", reports.len(), tally_of(all));
    }
    out
}

fn finding(out: &mut String, report: &FileReport, d: &ide::Diagnostic) {
    let [line, column, end_line, end_column] = report.place(d.span, PositionEncoding::Utf8);
    let _ =
        writeln!(out, "{}:{line}:{column}: {}[{}]: {}", report.path(), d.severity.name(), d.code, d.message);
    let source = report.doc.text().line(line - 1).into_owned();
    let number = line.to_string();
    let shown: String = source.chars().take(SHOWN_LINE_CHARS).collect::<String>().trim_end().to_owned();
    let _ = writeln!(out, " {number} | {}", shown.replace('\t', " "));
    // the caret line counts characters, the finding bytes
    let chars = |bytes: u32| source.char_indices().take_while(|(at, _)| *at < bytes as usize).count();
    let from = chars(column - 1);
    let to = if end_line == line { chars(end_column - 1) } else { shown.chars().count() };
    if from <= shown.chars().count() {
        let carets = to.min(shown.chars().count()).saturating_sub(from).max(1);
        let _ = writeln!(out, " {:w$} | {:from$}{:^<carets$}", "", "", "", w = number.len());
    }
    for related in &d.related {
        let [line, column, ..] = report.place(related.span, PositionEncoding::Utf8);
        let _ = writeln!(out, " {:w$} = {line}:{column}: {}", "", related.message, w = number.len());
    }
}

/// `3 loops: 1 independent, 1 reduction, 1 sequential`.
pub fn tally(findings: &ide::Findings) -> String {
    tally_of(findings.loops.iter())
}

fn tally_of<'a>(loops: impl Iterator<Item = &'a ide::LoopFinding>) -> String {
    let verdicts: Vec<&str> = loops.map(|l| l.report().verdict).collect();
    let parts: Vec<String> = ["independent", "reduction", "sequential", "unknown"]
        .iter()
        .map(|verdict| (verdicts.iter().filter(|v| *v == verdict).count(), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {verdict}"))
        .collect();
    let loops = if verdicts.len() == 1 { "loop" } else { "loops" };
    match parts.is_empty() {
        true => "no loops".to_owned(),
        false => format!("{} {loops}: {}", verdicts.len(), parts.join(", ")),
    }
}

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
            language: language_name(r.doc.language()),
            configuration: r.doc.configuration().iter().map(choice_json).collect(),
            loops: r
                .findings
                .loops
                .iter()
                .map(|l| Loop { enabling: enabling_json(l, enabling), ..loop_json(l.report()) })
                .collect(),
            kernels: ide::kernel_reports(&r.doc, launches).iter().map(|k| kernel_json(r, k)).collect(),
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

/// SARIF 2.1.0, what code-scanning services take.
pub fn sarif(reports: &[FileReport]) -> anyhow::Result<String> {
    let level = |severity: ide::Severity| match severity {
        ide::Severity::Hint | ide::Severity::Information => "note",
        ide::Severity::Warning => "warning",
        ide::Severity::Error => "error",
    };
    let region = |report: &FileReport, span: base::Span| {
        let [line, column, end_line, end_column] = report.place(span, PositionEncoding::Utf16);
        json!({"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column})
    };
    let mut results: Vec<(ide::Severity, Value)> = Vec::new();
    for report in reports {
        let artifact = json!({"uri": sarif_uri(report)});
        for d in &report.findings.diagnostics {
            let related: Vec<Value> = d
                .related
                .iter()
                .enumerate()
                .map(|(id, r)| {
                    let place = json!({"artifactLocation": artifact, "region": region(report, r.span)});
                    json!({"id": id, "message": {"text": r.message}, "physicalLocation": place})
                })
                .collect();
            let place = json!({"artifactLocation": artifact, "region": region(report, d.span)});
            let result = json!({
                "ruleId": d.code, "level": level(d.severity), "message": {"text": d.message},
                "locations": [{"physicalLocation": place}], "relatedLocations": related,
            });
            results.push((d.severity, result));
        }
    }
    // where there are too many, the grave ones stay
    if results.len() > SARIF_MAX_RESULTS {
        results.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
        super::note(&format!(
            "note: only the gravest {SARIF_MAX_RESULTS} of {} results are listed.",
            results.len()
        ));
        results.truncate(SARIF_MAX_RESULTS);
    }
    let rules: Vec<Value> = ide::codes()
        .map(|code| json!({"id": code.code, "shortDescription": {"text": code.summary}}))
        .collect();
    let driver = json!({"name": "warpwright", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    let results: Vec<Value> = results.into_iter().map(|(_, result)| result).collect();
    let run = json!({"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results});
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run],
    });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

/// A relative reference with `/`, its special characters escaped.
fn sarif_uri(report: &FileReport) -> String {
    let path = report.path().replace('\\', "/");
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// GitHub's workflow commands: one annotation a finding.
pub fn github(reports: &[FileReport]) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for report in reports {
        for d in &report.findings.diagnostics {
            let kind = match d.severity {
                ide::Severity::Hint | ide::Severity::Information => "notice",
                ide::Severity::Warning => "warning",
                ide::Severity::Error => "error",
            };
            let [line, column, end_line, end_column] = report.place(d.span, PositionEncoding::Utf16);
            // GitHub takes columns only for findings on one line
            let end = if line == end_line { format!(",endColumn={end_column}") } else { String::new() };
            let _ = writeln!(
                out,
                "::{kind} file={},line={line},endLine={end_line},col={column}{end},title=warpwright {}::{}",
                property(&report.path()),
                property(d.code),
                data(&d.message)
            );
        }
    }
    out
}
