//! What runs of kernels asked of the hardware.

use base::Span;
use text::PositionEncoding;

/// A kernel of a document and what its run gave.
pub fn kernel_run(doc: &ide::Doc, run: &ide::KernelRun) -> wire::SimulatedKernel {
    let at = At { doc };
    let shape = run.shape.as_ref();
    let from = |origin: &ide::Origin| match origin {
        ide::Origin::Asked => "option",
        ide::Origin::Comment => "comment",
        ide::Origin::Launch(_) => "launch",
    };
    wire::SimulatedKernel {
        accesses: run.accesses.iter().map(|a| at.access(a)).collect(),
        barriers: run.barriers.iter().map(|b| at.barrier(b)).collect(),
        block: shape.map(|(s, _)| s.block),
        branches: run.branches.iter().map(|b| at.branch(b)).collect(),
        completed: run.completed,
        exact: run.completed && !run.counts.out_of_step,
        grid: shape.map(|(s, _)| s.grid),
        inputs: run.inputs.clone(),
        launch_from: shape.map(|(_, origin)| from(origin).to_owned()),
        line: at.place(run.span).0,
        name: run.name.clone(),
        problems: run.problems.iter().map(|p| at.problem(p)).collect(),
        races: run.races.iter().map(|r| at.race(r)).collect(),
        refused: run.refused.clone(),
        shared_bytes: shape.map(|(s, _)| s.shared_bytes),
        totals: totals(run),
        warp_operations: run.warp_operations.iter().map(|w| at.warp_operation(w)).collect(),
    }
}

fn totals(run: &ide::KernelRun) -> wire::Totals {
    let c = &run.counts;
    wire::Totals {
        barriers: c.barriers_opened(),
        blocks: c.blocks,
        conflicts: c.bank_conflicts(),
        divergent: run.divergent(),
        global_elements: c.global_elements(),
        ideal: c.accesses.iter().map(|a| a.ideal).sum(),
        idle: c.idle_threads(),
        sectors: c.accesses.iter().map(|a| a.sectors).sum(),
        threads: c.threads,
        warps: c.warps,
    }
}

struct At<'d> {
    doc: &'d ide::Doc,
}

impl At<'_> {
    /// 1-based line and column.
    fn place(&self, span: Span) -> (u32, u32) {
        let start = self.doc.range_of(span, PositionEncoding::Utf8).start;
        (start.line + 1, start.character + 1)
    }

    fn access(&self, a: &ide::CountedAccess) -> wire::SimulatedAccess {
        let ((line, column), c) = (self.place(a.span), &a.count);
        wire::SimulatedAccess {
            active: c.worst.active,
            all_ideal: c.ideal,
            all_sectors: c.sectors,
            array: c.object.to_string(),
            atomic: a.atomic,
            bytes: c.bytes,
            colliding_lanes: c.worst.lanes.clone(),
            column,
            conflicts: c.conflicts,
            function: a.function.clone(),
            ideal: c.worst.ideal,
            lanes: c.lanes,
            line,
            requests: c.requests,
            rw: a.rw.to_owned(),
            same_cell: c.same_cell,
            sectors: c.worst.sectors,
            space: c.space.name().to_owned(),
            wavefronts: c.wavefronts,
            ways: c.worst.ways,
        }
    }

    fn branch(&self, b: &ide::Branch) -> wire::SimulatedBranch {
        let (line, column) = self.place(b.span);
        let lanes = b.count.lanes.iter();
        wire::SimulatedBranch {
            active_lanes: lanes
                .map(|(&(active, taken), &times)| wire::Lanes { active, taken, times })
                .collect(),
            column,
            decided: b.count.decisions,
            divergent: b.count.divergent,
            function: b.function.clone(),
            kind: b.kind.to_owned(),
            line,
        }
    }

    fn barrier(&self, b: &ide::Barrier) -> wire::SimulatedBarrier {
        let (line, column) = self.place(b.span);
        wire::SimulatedBarrier {
            column,
            function: b.function.clone(),
            idle: b.count.idle,
            line,
            name: b.name.to_owned(),
            opened: b.count.opened,
            threads: b.count.threads,
        }
    }

    fn warp_operation(&self, w: &ide::WarpOperation) -> wire::WarpOperation {
        let (line, column) = self.place(w.span);
        wire::WarpOperation {
            column,
            function: w.function.clone(),
            issued: w.issued,
            line,
            name: w.name.to_owned(),
        }
    }

    fn race(&self, r: &ide::Race) -> wire::SimulatedRace {
        let ((line, column), (other_line, _)) = (self.place(r.span), self.place(r.other));
        wire::SimulatedRace {
            array: r.object.clone(),
            column,
            line,
            missing: r.missing.map(str::to_owned),
            other_line,
            space: if r.shared { "shared" } else { "global" }.to_owned(),
            witness: r.witness.clone(),
        }
    }

    fn problem(&self, p: &ide::Problem) -> wire::Problem {
        let (line, column) = self.place(p.span);
        wire::Problem { column, kind: p.kind.to_owned(), line, text: p.text.clone() }
    }
}
