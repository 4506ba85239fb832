//! `warpwright simulate`: kernels of a CUDA file run in the simulator, and what they asked of the hardware.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use base::{CancelToken, Span};
use clap::{Args, ValueEnum};
use serde_json::{json, Value};
use text::PositionEncoding;

use super::{print, Done, SourceArgs};
use crate::files;

/// Races of a kernel shown as text at most.
const SHOWN_RACES: usize = 8;

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
    let options = args.source.options(&Arc::default(), &args.file);
    let doc = ide::Doc::open(input.language, &input.name, input.text, options);
    let mut wanted =
        ide::SimulateOptions { kernel: args.kernel.clone(), seed: args.seed, ..Default::default() };
    wanted.launches = launches(&args.launches)?;
    let runs = ide::simulate_kernels(&doc, &wanted, &CancelToken::new());
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
    if let Some((stray, _)) = wanted.launches.iter().find(|(n, _)| !runs.iter().any(|r| r.name == *n)) {
        anyhow::bail!("--launch names `{stray}`, which is no kernel of {}", args.file.display());
    }
    let shown = Shown { doc };
    match args.format {
        Format::Text => print(&runs.iter().map(|r| shown.text(r)).collect::<Vec<_>>().join("\n"))?,
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

/// A text table: columns as wide as their widest cell, the first two and the last ones as they fit best.
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(head: &[&str]) -> Table {
        Table { rows: vec![head.iter().map(|h| (*h).to_owned()).collect()] }
    }
    fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.to_vec());
    }
    fn show(&self, out: &mut String) {
        if self.rows.len() < 2 {
            return;
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| {
            self.rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::from(" ");
            for (c, (cell, w)) in row.iter().zip(&widths).enumerate() {
                let number = c != 1 && cell.bytes().next().is_some_and(|b| b.is_ascii_digit());
                let _ = if number || c == 0 {
                    write!(line, " {cell:>w$} ")
                } else {
                    write!(line, " {cell:<w$} ")
                };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
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

    fn line(&self, span: Span) -> String {
        self.place(span).0.to_string()
    }

    fn text(&self, run: &ide::KernelRun) -> String {
        let mut out = format!("{} (line {})", run.name, self.line(run.span));
        if let Some((shape, origin)) = &run.shape {
            let _ = write!(out, " <<<{}, {}", extents(&shape.grid), extents(&shape.block));
            if shape.shared_bytes > 0 {
                let _ = write!(out, ", {}", shape.shared_bytes);
            }
            let from = match origin {
                ide::Origin::Asked => "as asked".to_owned(),
                ide::Origin::Comment => "from its comment".to_owned(),
                ide::Origin::Launch(at) => format!("as launched on line {}", self.line(*at)),
            };
            let _ = write!(out, ">>> {from}");
        }
        out.push('\n');
        if !run.inputs.is_empty() {
            let _ = writeln!(out, "  with {}", run.inputs.join(", "));
        }
        if let Some(why) = &run.refused {
            let _ = writeln!(out, "  not run: {why}");
            return out;
        }
        if !run.completed {
            out.push_str("  it did not run to its end: the counts are those up to there\n");
        }
        let c = &run.counts;
        let _ = writeln!(
            out,
            "  {} blocks, {} warps, {} threads; {} global elements in {} sectors (ideal {}); {} bank conflicts; {} divergent of {} branches; {} barriers; {} idle threads",
            c.blocks,
            c.warps,
            c.threads,
            c.global_elements(),
            c.accesses.iter().map(|a| a.sectors).sum::<u64>(),
            c.accesses.iter().map(|a| a.ideal).sum::<u64>(),
            c.bank_conflicts(),
            divergent(run),
            run.branches.iter().filter(|b| b.kind != "select").map(|b| b.count.decisions).sum::<u64>(),
            c.barriers_opened(),
            c.idle_threads(),
        );
        if c.out_of_step {
            out.push_str("  a lane waited for another of its warp: requests are those of smaller groups\n");
        }
        self.accesses(run).show(&mut out);
        self.branches(run).show(&mut out);
        self.barriers(run).show(&mut out);
        for r in run.races.iter().take(SHOWN_RACES) {
            let space = if r.shared { "shared" } else { "global" };
            let missing = r.missing.map_or(String::new(), |m| format!(" (missing: {m})"));
            let _ = writeln!(
                out,
                "  race in {space} memory on lines {} and {}{missing}: {}",
                self.line(r.span),
                self.line(r.other),
                r.witness
            );
        }
        if run.races.len() > SHOWN_RACES {
            let more = run.races.len() - SHOWN_RACES;
            let _ = writeln!(out, "  and {more} more races (see --format json)");
        }
        for p in &run.problems {
            let _ = writeln!(out, "  {} on line {}: {}", p.kind, self.line(p.span), p.text);
        }
        out
    }

    fn accesses(&self, run: &ide::KernelRun) -> Table {
        let mut table = Table::new(&[
            "line",
            "access",
            "rw",
            "requests",
            "lanes",
            "sectors",
            "ideal",
            "worst",
            "ways",
            "conflicts",
        ]);
        for a in &run.accesses {
            let c = &a.count;
            let space = if c.shared { "shared" } else { "global" };
            let dash = || "-".to_owned();
            let (sectors, ideal, worst) = match c.shared {
                true => (dash(), dash(), dash()),
                false => (
                    c.sectors.to_string(),
                    c.ideal.to_string(),
                    format!("{}/{}", c.worst.sectors, c.worst.ideal),
                ),
            };
            let (ways, conflicts) = match c.shared {
                true => (c.worst.ways.to_string(), c.conflicts.to_string()),
                false => (dash(), dash()),
            };
            let rw = if a.atomic { format!("atomic, {} to a cell", c.same_cell) } else { a.rw.to_owned() };
            table.row(&[
                self.line(a.span),
                format!("{space} {} ({} B)", c.object, c.bytes),
                rw,
                c.requests.to_string(),
                c.lanes.to_string(),
                sectors,
                ideal,
                worst,
                ways,
                conflicts,
            ]);
        }
        table
    }

    fn branches(&self, run: &ide::KernelRun) -> Table {
        let mut table =
            Table::new(&["line", "branch", "decided", "divergent", "active lanes: taken (times)"]);
        for b in &run.branches {
            let shown = b.count.lanes.iter().take(8);
            let mut lanes: Vec<String> =
                shown.map(|((active, holds), times)| format!("{active}: {holds} ({times})")).collect();
            if b.count.lanes.len() > 8 {
                lanes.push("…".to_owned());
            }
            table.row(&[
                self.line(b.span),
                b.kind.to_owned(),
                b.count.decisions.to_string(),
                b.count.divergent.to_string(),
                lanes.join(", "),
            ]);
        }
        table
    }

    fn barriers(&self, run: &ide::KernelRun) -> Table {
        let mut table = Table::new(&["line", "barrier", "opened", "idle threads"]);
        for b in &run.barriers {
            let count = &b.count;
            table.row(&[
                self.line(b.span),
                b.name.to_owned(),
                count.opened.to_string(),
                format!("{} of {}", count.idle, count.threads),
            ]);
        }
        for w in &run.warp_operations {
            table.row(&[self.line(w.span), w.name.to_owned(), w.issued.to_string(), "-".to_owned()]);
        }
        table
    }

    fn json(&self, run: &ide::KernelRun) -> Value {
        let place = |span: Span| self.place(span);
        let accesses = run.accesses.iter().map(|a| {
            let (line, column) = place(a.span);
            let c = &a.count;
            json!({
                "line": line, "column": column, "function": a.function, "array": c.object,
                "space": if c.shared { "shared" } else { "global" }, "rw": a.rw, "atomic": a.atomic,
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
                "conflicts": c.bank_conflicts(), "divergent": divergent(run),
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

/// Divided decisions of statements; a `?:` is mostly no jump at all.
fn divergent(run: &ide::KernelRun) -> u64 {
    run.branches.iter().filter(|b| b.kind != "select").map(|b| b.count.divergent).sum()
}

fn extents(e: &[u32; 3]) -> String {
    match e {
        [x, 1, 1] => format!("{x}"),
        [x, y, 1] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    }
}
