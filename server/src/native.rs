//! A trial of `ide` as `device` builds and runs it. Deliberately absent: what either of them knows.

use std::path::Path;

/// Builds and runs a trial in a folder of its own; `headers`: options that say where the document's headers are; `of_part`: and those
/// of a part, by its place.
pub fn run(
    trial: &ide::Trial,
    compiler: &device::NativeCompiler,
    folder: &Path,
    headers: &[String],
    of_part: &dyn Fn(&str) -> Vec<String>,
) -> Result<device::NativeRuns, String> {
    let flags: Vec<String> = headers.iter().cloned().chain(trial.flags()).collect();
    let parts: Vec<device::NativePart> = trial
        .parts
        .iter()
        .map(|p| {
            let flags = of_part(&p.place).into_iter().chain(p.flags.iter().cloned()).collect();
            device::NativePart { text: p.text.clone(), flags }
        })
        .collect();
    let both = device::NativeTrial {
        original: &trial.original,
        rewritten: &trial.rewritten,
        parts: &parts,
        kernels: &trial.kernels,
        include: trial.include,
        driver: &trial.driver,
        support: &trial.support,
        flags: &flags,
        input: &trial.input,
    };
    compiler.try_both(folder, &both)
}

/// What the runs say of it.
pub fn said(trial: &ide::Trial, ran: &device::NativeRuns) -> ide::Natively {
    trial.compare(&ran.original, ran.alone.as_ref(), &ran.rewritten)
}
