//! `warpwright simulate`: kernels of a CUDA file run in the simulator, and what they asked of the hardware.

use std::path::PathBuf;

use base::Span;
use clap::{Args, ValueEnum};
use serde_json::{json, Value};
use text::PositionEncoding;

use super::reading::SourceArgs;
use super::{print, Done};
use crate::files;

#[derive(Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Only this kernel
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// A kernel's launch: NAME=GXxGYxGZ,BXxBYxBZ[,SHARED BYTES][,parameter=VALUE][,array[ELEMENTS]]
    #[arg(long = "launch", value_name = "NAME=GRID,BLOCK")]
    launches: Vec<String>,
    /// Seed of inputs and interleavings
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How counts are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn run(args: &SimulateArgs) -> anyhow::Result<Done> {
    let input = files::read(&args.file)?;
    let options = args.source.options_of(&input);
    let doc = ide::Doc::open(input.language, &input.name, input.text, options);
    let mut wanted =
        ide::SimulateOptions { kernel: args.kernel.clone(), seed: args.seed, ..Default::default() };
    wanted.launches = launches(&args.launches)?;
    let runs = ide::simulate_kernels(&ide::Ask::thorough(&doc), &wanted);
    shown(args, &doc, &wanted, &runs)
}

/// The launches of `--launch`, by kernel.
pub fn launches(texts: &[String]) -> anyhow::Result<Vec<(String, ide::Shape)>> {
    let mut out = Vec::new();
    for launch in texts {
        let Some((kernel, shape)) = launch.split_once('=') else {
            anyhow::bail!("--launch {launch}: write NAME=GRID,BLOCK");
        };
        let shape = ide::parse_shape(shape).map_err(|why| anyhow::anyhow!("--launch {launch}: {why}"))?;
        out.push((kernel.to_owned(), shape));
    }
    Ok(out)
}

fn shown(
    args: &SimulateArgs,
    doc: &ide::Doc,
    wanted: &ide::SimulateOptions,
    runs: &[ide::KernelRun],
) -> anyhow::Result<Done> {
    if runs.is_empty() {
        match &args.kernel {
            Some(k) => anyhow::bail!("{} has no kernel `{k}` that is understood", args.file.display()),
            None => anyhow::bail!("{} has no kernel that is understood", args.file.display()),
        }
    }
    if let Some((stray, _)) = wanted
        .launches
        .iter()
        .find(|(n, _)| !runs.iter().any(|r| r.name == *n || r.name.starts_with(&format!("{n}<"))))
    {
        anyhow::bail!("--launch names `{stray}`, which is no kernel of {}", args.file.display());
    }
    let shown = Shown { doc };
    match args.format {
        Format::Text => print(&runs.iter().map(|r| ide::kernel_text(doc, r)).collect::<Vec<_>>().join("\n"))?,
        Format::Json => {
            let path = args.file.to_string_lossy();
            let kernels: Vec<Value> = runs.iter().map(|r| shown.json(r)).collect();
            let all = json!({"version": 1, "files": [{"path": path, "kernels": kernels}]});
            print(&format!("{all:#}\n"))?;
        }
    }
    let wrong = runs.iter().any(|r| r.refused.is_some() || !r.races.is_empty() || !r.problems.is_empty());
    Ok(if wrong { Done::Found } else { Done::Ok })
}

struct Shown<'d> {
    doc: &'d ide::Doc,
}

impl Shown<'_> {
    /// 1-based line and column.
    fn place(&self, span: Span) -> (u32, u32) {
        let start = self.doc.range_of(span, PositionEncoding::Utf8).start;
        (start.line + 1, start.character + 1)
    }

    fn json(&self, run: &ide::KernelRun) -> Value {
        let place = |span: Span| self.place(span);
        let accesses = run.accesses.iter().map(|a| {
            let (line, column) = place(a.span);
            let c = &a.count;
            json!({
                "line": line, "column": column, "function": a.function, "array": c.object,
                "space": c.space.name(), "rw": a.rw, "atomic": a.atomic,
                "bytes": c.bytes, "sectors": c.worst.sectors, "ideal": c.worst.ideal, "ways": c.worst.ways,
                "active": c.worst.active, "colliding_lanes": c.worst.lanes, "requests": c.requests,
                "lanes": c.lanes, "all_sectors": c.sectors, "all_ideal": c.ideal,
                "wavefronts": c.wavefronts, "conflicts": c.conflicts, "same_cell": c.same_cell,
            })
        });
        let branches = run.branches.iter().map(|b| {
            let (line, column) = place(b.span);
            let lanes: Vec<Value> = b
                .count
                .lanes
                .iter()
                .map(|((active, holds), times)| json!({"active": active, "taken": holds, "times": times}))
                .collect();
            json!({
                "line": line, "column": column, "function": b.function, "kind": b.kind,
                "decided": b.count.decisions, "divergent": b.count.divergent, "active_lanes": lanes,
            })
        });
        let barriers = run.barriers.iter().map(|b| {
            let (line, column) = place(b.span);
            json!({
                "line": line, "column": column, "function": b.function, "name": b.name,
                "opened": b.count.opened, "threads": b.count.threads, "idle": b.count.idle,
            })
        });
        let warps = run.warp_operations.iter().map(|w| {
            let (line, column) = place(w.span);
            json!({"line": line, "column": column, "function": w.function, "name": w.name, "issued": w.issued})
        });
        let races = run.races.iter().map(|r| {
            let ((line, column), (other_line, _)) = (place(r.span), place(r.other));
            json!({
                "line": line, "column": column, "other_line": other_line, "array": r.object,
                "space": if r.shared { "shared" } else { "global" }, "witness": r.witness, "missing": r.missing,
            })
        });
        let problems = run.problems.iter().map(|p| {
            let (line, column) = place(p.span);
            json!({"kind": p.kind, "line": line, "column": column, "text": p.text})
        });
        let c = &run.counts;
        json!({
            "name": run.name,
            "line": place(run.span).0,
            "grid": run.shape.as_ref().map(|(s, _)| s.grid),
            "block": run.shape.as_ref().map(|(s, _)| s.block),
            "shared_bytes": run.shape.as_ref().map(|(s, _)| s.shared_bytes),
            "launch_from": run.shape.as_ref().map(|(_, o)| match o {
                ide::Origin::Asked => "option",
                ide::Origin::Comment => "comment",
                ide::Origin::Launch(_) => "launch",
            }),
            "inputs": run.inputs,
            "refused": run.refused,
            "completed": run.completed,
            "exact": run.completed && !c.out_of_step,
            "totals": {
                "blocks": c.blocks, "warps": c.warps, "threads": c.threads,
                "global_elements": c.global_elements(),
                "sectors": c.accesses.iter().map(|a| a.sectors).sum::<u64>(),
                "ideal": c.accesses.iter().map(|a| a.ideal).sum::<u64>(),
                "conflicts": c.bank_conflicts(), "divergent": run.divergent(),
                "barriers": c.barriers_opened(), "idle": c.idle_threads(),
            },
            "accesses": accesses.collect::<Vec<_>>(),
            "branches": branches.collect::<Vec<_>>(),
            "barriers": barriers.collect::<Vec<_>>(),
            "warp_operations": warps.collect::<Vec<_>>(),
            "races": races.collect::<Vec<_>>(),
            "problems": problems.collect::<Vec<_>>(),
        })
    }
}
