//! `warpwright verify`: kernels beside the loops they replace.

use std::path::PathBuf;
use std::sync::Arc;

use base::CancelToken;
use clap::Args;

use super::{analyze, note, print, Done, SourceArgs};
use crate::files;
use crate::lsp::sentence;

#[derive(Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The loop that begins on this line (from 1); else the marked loops, else all that can be offloaded
    #[arg(long = "loop", value_name = "LINE")]
    loop_line: Option<u32>,
    /// Where: `simulator`, `local` (a GPU here) or the name of a host
    #[arg(long, value_name = "WHERE", default_value = "simulator")]
    on: String,
    /// Number of random inputs
    #[arg(long, default_value_t = 12)]
    cases: u32,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(args: &VerifyArgs) -> anyhow::Result<Done> {
    if args.on != "simulator" {
        anyhow::bail!(
            "verifying on \"{}\" is not supported yet: this version launches no kernels on a GPU. \
             Use --on simulator, which needs none.",
            args.on
        );
    }
    let input = files::read(&args.file)?;
    let memo = ide::Memo::new();
    let report = analyze::analyze(input, &args.source.options(&Arc::default(), &args.file), &memo)?;
    let whiches = chosen(&report.findings, args.loop_line);
    if whiches.is_empty() {
        note(&format!(
            "{}: no loop here can be offloaded, so there is nothing to verify.",
            args.file.display()
        ));
        return Ok(Done::Found);
    }
    let options = ide::VerifyOptions { cases: args.cases, seed: args.seed, ..Default::default() };
    let mut all_same = true;
    for which in &whiches {
        let reports = ide::verify(&report.doc, &report.findings, &memo, which, &options, &CancelToken::new());
        if reports.is_empty() {
            all_same = false;
            note(&super::offload::refusal(&ide::Refused::Stale, which, &report.findings));
        }
        for one in &reports {
            all_same &= one.outcome == ide::Outcome::Same;
            print(&format!("{}: {}\n", args.file.display(), sentence(one)))?;
        }
    }
    Ok(if all_same { Done::Ok } else { Done::Found })
}

/// The loop asked for; else the marked ones; else every outermost loop whose offload is offered.
pub fn chosen(findings: &ide::Findings, line: Option<u32>) -> Vec<ide::Which> {
    if let Some(line) = line {
        return vec![ide::Which::Line(line)];
    }
    if findings.marked().next().is_some() {
        return vec![ide::Which::Marked];
    }
    offloadable(findings).map(|l| ide::Which::Key(l.key.to_string())).collect()
}

/// Parallel loops with a thread map that lie in no other such loop.
pub fn offloadable(findings: &ide::Findings) -> impl Iterator<Item = &ide::LoopFinding> {
    let mut end = 0;
    findings.loops.iter().filter(move |l| {
        let parallel = matches!(l.report().verdict, "independent" | "reduction");
        let outermost = parallel && l.report().thread_map.is_some() && l.span.start >= end;
        if outermost {
            end = l.span.end;
        }
        outermost
    })
}
