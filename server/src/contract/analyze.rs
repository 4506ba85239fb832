//! Loops and findings of files.

use text::PositionEncoding;
use wire::{Analysis, File, Place};

use super::{kernels, FileReport, VERSION};

/// The answer of `analyze`; `enabling`: whether transformations are searched for.
pub fn analysis(reports: &[FileReport], enabling: bool, launches: &[(String, ide::Shape)]) -> Analysis {
    let file = |r: &FileReport| {
        let one = |l: &ide::LoopFinding| wire::Loop {
            // the search takes long
            enabling: enabling.then(|| l.enabling()).flatten().map(enabling_of),
            ..loop_of(l.report())
        };
        File {
            path: r.path(),
            language: r.doc.language().name.to_owned(),
            configuration: r.doc.configuration().iter().map(choice).collect(),
            loops: r.findings.loops.iter().map(one).collect(),
            kernels: ide::kernel_reports(&r.ask, launches).iter().map(|k| kernels::kernel(r, k)).collect(),
            diagnostics: r.findings.diagnostics.iter().map(|d| diagnostic(r, d)).collect(),
        }
    };
    Analysis { version: VERSION, files: reports.iter().map(file).collect() }
}

fn choice(choice: &ide::Choice) -> wire::Choice {
    let (taken, value) = match &choice.taken {
        ide::Taken::NotDefined => ("not defined", None),
        ide::Taken::Given(value) => ("defined", Some(value.to_string())),
        ide::Taken::Platform => ("platform", None),
        ide::Taken::Compiler(name) => ("compiler", Some(name.to_string())),
        ide::Taken::EitherWay => ("either way", None),
        ide::Taken::NotFound => ("not found", None),
        ide::Taken::NotFoundIf(why) => ("not found", Some(why.to_string())),
        ide::Taken::Guessed => ("found nearby", None),
        ide::Taken::Template(file) => ("template", Some(file.to_string())),
        ide::Taken::Around { line, .. } => ("includes this file", Some(line.to_string())),
        ide::Taken::StandIn => ("stand-in", None),
        ide::Taken::TooMuch => ("not read", None),
    };
    wire::Choice { name: choice.name.to_string(), taken: taken.to_owned(), value }
}

fn diagnostic(report: &FileReport, d: &ide::Diagnostic) -> wire::Diagnostic {
    let [line, column, end_line, end_column] = report.place(d.span, PositionEncoding::Utf8);
    wire::Diagnostic {
        code: d.code.to_owned(),
        severity: d.severity.name().to_owned(),
        line,
        column,
        end_line,
        end_column,
        message: d.message.to_string(),
    }
}

fn enabling_of(found: &ide::Enabling) -> wire::Enabling {
    let step = |s: &ide::EnablingStep| wire::EnablingStep {
        name: s.name.to_owned(),
        with: s.with.to_owned(),
        line: s.line,
    };
    wire::Enabling { text: found.sentence.clone(), steps: found.steps.iter().map(step).collect() }
}

/// One loop; the editor's `showDependences` answers it, too.
pub fn loop_of(l: &ide::LoopReport) -> wire::Loop {
    let conditions = l.conditions.iter().map(|c| wire::Condition {
        kind: c.kind.to_owned(),
        text: c.text.clone(),
        met_by: c.met_by.to_owned(),
    });
    let inductions =
        l.inductions.iter().map(|i| wire::Induction { variable: i.variable.clone(), step: i.step });
    let reductions = l
        .reductions
        .iter()
        .map(|r| wire::Reduction { variable: r.variable.clone(), operator: r.operator.to_owned() });
    let obstacles = l.obstacles.iter().map(|o| wire::Obstacle {
        kind: o.kind.to_owned(),
        text: o.text.clone(),
        line: o.line,
        column: o.column,
    });
    let thread_map = l.thread_map.as_ref().map(|t| wire::ThreadMap {
        dimension: t.dimension,
        maps: t.maps.iter().cloned().collect(),
        threads: t.threads.clone(),
    });
    let offload = l.offload.as_ref().map(|o| wire::Offload {
        possible: o.refused.is_none(),
        reason: o.refused.clone(),
        label: o.label.clone(),
    });
    wire::Loop {
        line: l.line,
        column: l.column,
        end_line: l.end_line,
        end_column: l.end_column,
        function: l.function.clone(),
        verdict: l.verdict.to_owned(),
        conditions: conditions.collect(),
        private: l.private.clone(),
        inductions: inductions.collect(),
        reductions: reductions.collect(),
        dependences: l.dependences.iter().map(dependence).collect(),
        obstacles: obstacles.collect(),
        thread_map,
        offload,
        cost: l.cost.as_ref().map(cost_of),
        enabling: None,
    }
}

fn cost_of(c: &ide::Cost) -> wire::Cost {
    let amount = |a: &Option<ide::Amount>| {
        a.as_ref().map(|a| match a {
            ide::Amount::Exactly(n) => wire::Amount::Number(*n),
            ide::Amount::Text(t) => wire::Amount::Expression(t.clone()),
        })
    };
    wire::Cost {
        operations: amount(&c.operations),
        bytes_to_device: amount(&c.to_device),
        bytes_from_device: amount(&c.from_device),
        launches: amount(&c.launches),
    }
}

fn dependence(d: &ide::DependenceReport) -> wire::Dependence {
    let at = |p: &ide::LineColumn| Place { line: p.line, column: p.column };
    wire::Dependence {
        kind: d.kind.to_owned(),
        variable: d.variable.clone(),
        source: at(&d.source),
        sink: at(&d.sink),
        direction: d.direction.iter().map(|w| (*w).to_owned()).collect(),
        distance: d.distance.clone(),
        witness: d.witness.clone(),
    }
}
