//! A run in the simulator as text: what the command line prints and what the editor shows.

use std::fmt::Write;

use base::Span;

use super::{KernelRun, Origin};
use crate::limits::kernels_printed::SHOWN_RACES;
use crate::Doc;

/// What a kernel's run gave, line by line of its text.
pub fn kernel_text(doc: &Doc, run: &KernelRun) -> String {
    Shown { doc }.text(run)
}

impl KernelRun {
    /// Divided decisions of statements; a `?:` is mostly no jump at all.
    pub fn divergent(&self) -> u64 {
        self.branches.iter().filter(|b| b.kind != "select").map(|b| b.count.divergent).sum()
    }
}

struct Shown<'d> {
    doc: &'d Doc,
}

impl Shown<'_> {
    /// 1-based.
    fn line(&self, span: Span) -> String {
        super::line(self.doc, span).to_string()
    }

    fn text(&self, run: &KernelRun) -> String {
        let mut out = format!("{} (line {})", run.name, self.line(run.span));
        if let Some((shape, origin)) = &run.shape {
            let _ = write!(out, " <<<{}, {}", extents(&shape.grid), extents(&shape.block));
            if shape.shared_bytes > 0 {
                let _ = write!(out, ", {}", shape.shared_bytes);
            }
            let from = match origin {
                Origin::Asked => "as asked".to_owned(),
                Origin::Comment => "from its comment".to_owned(),
                Origin::Launch(at) => format!("as launched {}", super::said::launch_place(self.doc, at)),
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
            run.divergent(),
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

    fn accesses(&self, run: &KernelRun) -> Table {
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
            let space = c.space.name();
            let dash = || "-".to_owned();
            let sectors = c.space == term::Space::Global;
            let (ways, conflicts) = match sectors {
                true => (dash(), dash()),
                false => (c.worst.ways.to_string(), c.conflicts.to_string()),
            };
            let (sectors, ideal, worst) = match sectors {
                false => (dash(), dash(), dash()),
                true => (
                    c.sectors.to_string(),
                    c.ideal.to_string(),
                    format!("{}/{}", c.worst.sectors, c.worst.ideal),
                ),
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

    fn branches(&self, run: &KernelRun) -> Table {
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

    fn barriers(&self, run: &KernelRun) -> Table {
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

fn extents(e: &[u32; 3]) -> String {
    match e {
        [x, 1, 1] => format!("{x}"),
        [x, y, 1] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    }
}
