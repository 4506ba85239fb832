//! `warpwright offload`: the rewritten host file and its kernels, as files.

use std::path::{Path, PathBuf};

use clap::Args;

use super::reading::SourceArgs;
use super::writing::{put_new, refusal, same_file, Told};
use super::written::{New, Written};
use super::{note, rules, Done, Format};
use crate::contract::{check, named, offloaded_loop, sentence, VERSION};
use crate::files::{self, Existing};

#[derive(Args)]
pub struct OffloadArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1); may be given several times
    #[arg(long = "loop", value_name = "LINE", conflicts_with = "marked")]
    loop_lines: Vec<u32>,
    /// All loops that carry a mark; the default
    #[arg(long)]
    marked: bool,
    /// All loops that are worth it, as far out as they can be; the others are listed with what stands against them
    #[arg(long, conflicts_with_all = ["loop_lines", "marked"])]
    worth: bool,
    /// With `--worth`: those of this function alone
    #[arg(long, value_name = "NAME", requires = "worth")]
    function: Option<String>,
    /// Folder for the new files; it is made if need be
    #[arg(long, value_name = "DIR", default_value = "warpwright-out", conflicts_with = "in_place")]
    out: PathBuf,
    /// Rewrite the file itself and put the kernels beside it
    #[arg(long)]
    in_place: bool,
    /// Then run the kernels beside the loops in the simulator, and say what came of it
    #[arg(long)]
    verify: bool,
    /// Have rule pages optimise the kernels: matrix products, stencils, sums. Each step is checked, and the last kernel is run beside
    /// the loop
    #[arg(long)]
    optimize: bool,
    /// Print each step of the rule pages that wrote what the host does
    #[arg(long)]
    explain: bool,
    /// How the answer is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(args: &OffloadArgs) -> anyhow::Result<Done> {
    let input = files::read(&args.file)?;
    let (name, mark) = (input.name.clone(), input.mark);
    let memo = ide::Memo::new();
    let reader = args.source.reader(std::slice::from_ref(&input.path));
    let mut report = reader.analyze(input, &memo)?;
    report.ask = report.ask.with_pages(&rules::pages_near(&args.file)?);
    let which = match args.loop_lines.as_slice() {
        [] if args.worth => ide::Which::Worth(args.function.clone()),
        [] => ide::Which::Marked,
        [line] => ide::Which::Line(*line),
        lines => ide::Which::Lines(lines.to_vec()),
    };
    let done = match args.optimize {
        // what is not run beside the loops is not written
        true => ide::offload_optimized(&report.ask, &report.findings, &which)
            .map(|(done, checks)| (done, Some(checks))),
        false => ide::offload(&report.ask, &report.findings, &which).map(|done| (done, None)),
    };
    let (done, checks) = match done {
        Ok(done) => done,
        Err(refused) => {
            let why = refusal(&refused, &which, &report.findings);
            note(&format!("{}: {why}", args.file.display()));
            Told::new(args.format)
                .answer(|written| wire::Offloading { refused: Some(why), ..answer(args, written) })?;
            return Ok(Done::Found);
        }
    };
    let folder = match args.in_place {
        true => args.file.parent().map(Path::to_owned).unwrap_or_default(),
        false => {
            std::fs::create_dir_all(&args.out)
                .map_err(|e| anyhow::anyhow!("the folder {} cannot be made: {e}", args.out.display()))?;
            args.out.clone()
        }
    };
    let host = folder.join(&name);
    if !args.in_place && same_file(&host, &args.file) {
        anyhow::bail!(
            "{} is the original. Name another folder with --out, or say --in-place.",
            host.display()
        );
    }
    let mut told = Told::new(args.format);
    let host_text = format!("{mark}{}", done.host);
    // kernels first: a host file without its kernels would not link; beside the original stand the user's own files
    if args.in_place {
        put_new(&mut told, &folder, &done.edit.create, false)?;
        files::write(&host, &host_text, Existing::Replace)
            .map_err(|e| anyhow::anyhow!("{} cannot be written: {e}", host.display()))?;
    } else {
        let new = New { name: &name, text: &host_text };
        put_in_folder(&mut told, &folder, &args.file, &done, &new, &report.findings)?;
    }
    told.wrote(&host, &host_text)?;
    for text in &done.notes {
        told.print(&format!("note: {text}\n"))?;
    }
    for l in &done.left_out {
        let inside = if l.around { "only loops in it are offloaded" } else { "left as it is" };
        told.print(&format!("line {}, in `{}`: {inside}. {}\n", l.line, l.function, l.reason))?;
    }
    for line in done.loops.iter().filter(|_| args.explain).flat_map(|l| &l.derivation) {
        told.note(line);
    }
    if !done.build_flags.is_empty() {
        told.print(&format!("note: compile the kernels with {}\n", done.build_flags.join(" ")))?;
    }
    let now = || ide::verify(&report.ask, &report.findings, &which, &ide::VerifyOptions::default());
    let checks = checks.or_else(|| args.verify.then(now));
    for one in checks.iter().flatten() {
        told.print(&format!("{}: {}\n", args.file.display(), sentence(one)))?;
    }
    let same = checks.iter().flatten().all(|c| c.outcome == ide::Outcome::Same);
    told.answer(|written| wire::Offloading {
        loops: done.loops.iter().map(offloaded_loop).collect(),
        notes: done.notes.clone(),
        build_flags: done.build_flags.iter().map(|f| (*f).to_owned()).collect(),
        left_out: done.left_out.iter().map(left_out).collect(),
        checks: checks.map(|all| all.iter().map(check).collect()),
        ..answer(args, written)
    })?;
    Ok(if same { Done::Ok } else { Done::Found })
}

/// An answer that says only what was written.
fn answer(args: &OffloadArgs, written: Vec<wire::Written>) -> wire::Offloading {
    wire::Offloading {
        version: VERSION,
        path: named(&args.file),
        refused: None,
        written,
        loops: Vec::new(),
        notes: Vec::new(),
        build_flags: Vec::new(),
        left_out: Vec::new(),
        checks: None,
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
    host: &New,
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
    files::write(&path, host.text, Existing::Replace)
        .map_err(|e| anyhow::anyhow!("{} cannot be written: {e}", path.display()))
}
