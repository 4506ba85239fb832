//! What was offloaded, and what came of running kernels beside their loops.

/// One report in a sentence.
pub fn sentence(report: &ide::VerifyReport) -> String {
    format!("{}, line {}: {}", report.function, report.line, report.summary)
}

/// A loop and its kernel, run on the same inputs.
pub fn check(report: &ide::VerifyReport) -> wire::Check {
    let outcome = match &report.outcome {
        ide::Outcome::Same => "same",
        ide::Outcome::Different => "different",
        ide::Outcome::NotTried(_) => "not tried",
    };
    let case = |c: &ide::VerifyCase| wire::Case {
        input: c.input.clone(),
        launches: c.counted.launches,
        difference: c.difference.clone(),
        to_device: copies(c.counted.to_device),
        from_device: copies(c.counted.from_device),
    };
    wire::Check {
        function: report.function.clone(),
        line: report.line,
        outcome: outcome.to_owned(),
        summary: report.summary.clone(),
        checked: report.checked.clone(),
        cases: report.cases.iter().map(case).collect(),
        counted: counted(report.cases.iter().map(|c| c.counted).sum()),
        transfers: report.transferred.iter().map(|t| transfer(t, &report.kernel_files)).collect(),
    }
}

fn transfer(t: &ide::Transferred, files: &[String]) -> wire::Transfer {
    let line = |at: ide::At| wire::TextLine {
        kernel_file: at.kernel_file.and_then(|k| files.get(k).cloned()),
        line: at.line,
    };
    wire::Transfer {
        array: t.array.clone(),
        to_device: t.to_device,
        place: t.at.map(line),
        in_loop: t.in_loop.map(line),
        copies: copies(t.copies),
        followed: t.judged,
        needed: t.needed,
        too_much: t.too_much(files),
    }
}

/// What runs counted.
pub fn counted(c: ide::Counted) -> wire::Counted {
    wire::Counted { launches: c.launches, to_device: copies(c.to_device), from_device: copies(c.from_device) }
}

fn copies(c: ide::Copies) -> wire::Copies {
    wire::Copies { count: c.count, bytes: c.bytes }
}

/// A loop that became kernels.
pub fn offloaded_loop(l: &ide::OffloadedLoop) -> wire::OffloadedLoop {
    let kernel = |k: &ide::KernelShape| wire::OffloadedKernel {
        name: k.name.clone(),
        launcher: k.launcher.clone(),
        block: k.block,
        grid: k.grid.clone(),
        axes: k
            .axes
            .iter()
            .map(|(axis, index)| wire::Axis { axis: axis.clone(), index: index.clone() })
            .collect(),
    };
    wire::OffloadedLoop {
        line: l.line,
        function: l.function.clone(),
        kernel_file: l.kernel_file.clone(),
        kernels: l.kernels.iter().map(kernel).collect(),
        derivation: l.derivation.clone(),
    }
}
