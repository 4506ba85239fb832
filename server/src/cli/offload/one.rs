//! One file: its loops chosen, rewritten and written.

use std::path::{Path, PathBuf};

use super::super::reading::Reader;
use super::super::writing::{no_function, put_new, refusal, same_file, Told};
use super::super::written::{New, Written};
use super::super::{note, reasons, rules, Done};
use super::OffloadArgs;
use crate::contract::{check, named, offloaded_loop, sentence, FileReport, VERSION};
use crate::diff::unified;
use crate::files;

/// What came of a file.
pub struct One {
    /// Whether what was run beside the loops left the same.
    pub same: bool,
    /// The source.
    pub file: PathBuf,
    /// Where the rewritten file is, or would be.
    pub host: PathBuf,
    pub answer: wire::Offloading,
}

impl One {
    pub fn ended(&self) -> Done {
        match self.same && self.answer.refused.is_none() {
            true => Done::Ok,
            false => Done::Found,
        }
    }
}

pub fn offload(
    args: &OffloadArgs,
    file: &Path,
    out: &Path,
    (reader, memo): (&Reader, &ide::Memo),
    told: &mut Told,
) -> anyhow::Result<One> {
    let input = files::read(file)?;
    let (name, form) = (input.name.clone(), input.form);
    let mut report = reader.analyze(input, memo)?;
    report.ask = report.ask.with_pages(&rules::pages_near(file)?);
    let which = which(args);
    let beside = args.in_place || args.diff;
    let folder = if beside { file.parent().map(Path::to_owned).unwrap_or_default() } else { out.to_owned() };
    let host = folder.join(&name);
    let one =
        |answer: wire::Offloading| One { same: true, file: file.to_owned(), host: host.clone(), answer };
    let done = match rewritten(args, &report, &which) {
        Ok(done) => done,
        Err(why) => {
            // of several files those without a mark are not spoken of
            if !told.has_head() || args.worth || args.function.is_some() {
                note(&format!("{}: {why}", file.display()));
            }
            return Ok(one(wire::Offloading { refused: Some(why), ..empty(file) }));
        }
    };
    let (mut done, checks) = done;
    if args.with_reasons {
        done.edit.create.iter_mut().for_each(|f| f.text = reasons::self_contained(&f.text));
    }
    let host_text = format!("{}{}", form.mark, done.host);
    let mut diff = None;
    if args.diff {
        let old = format!("{}{}", form.mark, report.doc.text());
        let mut all = unified(Some(&old), &host_text, &named(file));
        for f in &done.edit.create {
            all += &unified(None, &f.text, &named(&folder.join(&f.name)));
        }
        told.diff(&all)?;
        diff = Some(all);
    } else if args.in_place {
        // kernels first: a host file without its kernels would not link; beside the original stand the user's own files
        put_new(told, &folder, &done.edit.create, false)?;
        files::rewrite(&host, &host_text, form).map_err(|e| files::unwritten(&host, &e))?;
        told.wrote(&host, &host_text)?;
    } else {
        std::fs::create_dir_all(&folder).map_err(|e| files::unmade(&folder, &e))?;
        if same_file(&host, file) {
            anyhow::bail!(
                "{} is the original. Name another folder with --out, or say --in-place.",
                host.display()
            );
        }
        let new = New { name: &name, text: &host_text };
        put_in_folder(told, &folder, file, &done, (&new, form), &report.findings)?;
        told.wrote(&host, &host_text)?;
    }
    let checks = say(args, file, &report, &which, (&done, checks), told)?;
    let answer = wire::Offloading {
        written: told.take_written(),
        loops: done.loops.iter().map(offloaded_loop).collect(),
        notes: done.notes.clone(),
        build_flags: done.build_flags.iter().map(|f| (*f).to_owned()).collect(),
        left_out: done.left_out.iter().map(left_out).collect(),
        checks: checks.as_ref().map(|all| all.iter().map(check).collect()),
        diff,
        ..empty(file)
    };
    let same = checks.iter().flatten().all(|c| c.outcome == ide::Outcome::Same);
    Ok(One { same, ..one(answer) })
}

/// The loops meant.
fn which(args: &OffloadArgs) -> ide::Which {
    match (args.loop_lines.as_slice(), &args.function) {
        ([], Some(name)) if args.marked => ide::Which::MarkedIn(name.clone()),
        ([], Some(name)) => ide::Which::Worth(Some(name.clone())),
        ([], None) if args.worth => ide::Which::Worth(None),
        ([], None) => ide::Which::Marked,
        ([line], _) => ide::Which::Line(*line),
        (lines, _) => ide::Which::Lines(lines.to_vec()),
    }
}

type Rewritten = (ide::Offloaded, Option<Vec<ide::VerifyReport>>);

/// The rewritten file, with what came of checks that were made on the way; or why there is none.
fn rewritten(args: &OffloadArgs, report: &FileReport, which: &ide::Which) -> Result<Rewritten, String> {
    if let Some(why) = args.function.as_deref().and_then(|f| no_function(f, &report.findings)) {
        return Err(why);
    }
    let done = match args.optimize {
        // what is not run beside the loops is not written
        true => ide::offload_optimized(&report.ask, &report.findings, which)
            .map(|(done, checks)| (done, Some(checks))),
        false => ide::offload(&report.ask, &report.findings, which).map(|done| (done, None)),
    };
    done.map_err(|refused| refusal(&refused, which, &report.findings))
}

/// Says what is to be known of the rewritten loops, and runs them if that was asked for.
fn say(
    args: &OffloadArgs,
    file: &Path,
    report: &FileReport,
    which: &ide::Which,
    (done, checks): (&ide::Offloaded, Option<Vec<ide::VerifyReport>>),
    told: &Told,
) -> anyhow::Result<Option<Vec<ide::VerifyReport>>> {
    // a difference is for programs as well
    let print = |text: &str| match args.diff {
        true => {
            told.note(text.trim_end());
            Ok(())
        }
        false => told.print(text),
    };
    for text in &done.notes {
        print(&format!("note: {text}\n"))?;
    }
    for l in &done.left_out {
        let inside = if l.around { "only loops in it are offloaded" } else { "left as it is" };
        print(&format!("line {}, in `{}`: {inside}. {}\n", l.line, l.function, l.reason))?;
    }
    for line in done.loops.iter().filter(|_| args.explain).flat_map(|l| &l.derivation) {
        told.note(line);
    }
    let now = || ide::verify(&report.ask, &report.findings, which, &ide::VerifyOptions::default());
    let checks = checks.or_else(|| args.verify.then(now));
    for one in checks.iter().flatten() {
        print(&format!("{}: {}\n", file.display(), sentence(one)))?;
    }
    Ok(checks)
}

/// An answer that says nothing.
fn empty(file: &Path) -> wire::Offloading {
    wire::Offloading {
        version: VERSION,
        path: named(file),
        refused: None,
        written: Vec::new(),
        loops: Vec::new(),
        notes: Vec::new(),
        build_flags: Vec::new(),
        left_out: Vec::new(),
        checks: None,
        diff: None,
    }
}

fn left_out(l: &ide::LeftOut) -> wire::LeftOut {
    wire::LeftOut { line: l.line, function: l.function.clone(), around: l.around, reason: l.reason.clone() }
}

/// Writes host and kernels into a folder, all or nothing. What is there is replaced only if it came of the same file and
/// nobody changed it since, and no kernel is dropped that the host file there has.
fn put_in_folder(
    told: &mut Told,
    folder: &Path,
    source: &Path,
    done: &ide::Offloaded,
    (host, form): (&New, files::Form),
    findings: &ide::Findings,
) -> anyhow::Result<()> {
    let mut written = Written::of(folder);
    let loops: Vec<String> = done.loops.iter().map(|l| l.key.clone()).collect();
    let mut lines: Vec<u32> = done.loops.iter().map(|l| l.line).collect();
    let before = written.loops(host.name, source).iter().filter(|k| !loops.contains(k));
    let dropped: Vec<u32> = before.filter_map(|k| findings.by_key(k)).map(|l| l.line()).collect();
    if !dropped.is_empty() && folder.join(host.name).exists() {
        lines.extend(dropped);
        lines.sort_unstable();
        let all: Vec<String> = lines.iter().map(|l| format!("--loop {l}")).collect();
        anyhow::bail!(
            "{} holds kernels of other loops, which would be lost. Offload all of them at once ({}), or write \
             elsewhere with --out.",
            folder.join(host.name).display(),
            all.join(" ")
        );
    }
    let kernels: Vec<New> = done.edit.create.iter().map(|f| New { name: &f.name, text: &f.text }).collect();
    for new in kernels.iter().chain([host]) {
        if let Some(objection) = written.objection(folder, new, source) {
            anyhow::bail!("{objection}");
        }
    }
    for new in &kernels {
        written.note(new, source, Vec::new());
    }
    written.note(host, source, loops);
    // the record first: what is then not written has another hash and is left alone
    written.save(folder)?;
    put_new(told, folder, &done.edit.create, true)?;
    let path = folder.join(host.name);
    files::rewrite(&path, host.text, form).map_err(|e| files::unwritten(&path, &e))
}
