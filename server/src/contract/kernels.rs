//! What is proved of kernels. What no analysis says yet is null, not empty.

use text::PositionEncoding;

use super::FileReport;

pub fn kernel(report: &FileReport, k: &ide::KernelReport) -> wire::Kernel {
    let place = |span| report.place(span, PositionEncoding::Utf8);
    let (races, race_verdict) = races(report, &k.races);
    let given = |l: &ide::LaunchReport| wire::GivenLaunch {
        block: l.block,
        grid: l.grid,
        file: match &l.at {
            ide::LaunchPlace::Here(_) => None,
            ide::LaunchPlace::Elsewhere { file, .. } => Some(file.to_string()),
        },
        line: match &l.at {
            ide::LaunchPlace::Here(span) => place(*span)[0],
            ide::LaunchPlace::Elsewhere { line, .. } => *line,
        },
        taken: l.taken.clone(),
    };
    let out_of_range = |x: &ide::RangeReport| {
        let [line, column, ..] = place(x.span);
        wire::OutOfRange { array: x.object.clone(), column, line, when: x.when.clone() }
    };
    wire::Kernel {
        accesses: k.accesses.iter().map(|a| access(report, a)).collect(),
        barriers: k.barriers.iter().map(|b| barrier(report, b)).collect(),
        block: k.shape.as_ref().map(|(s, _)| s.block).or(k.launches.iter().find_map(|l| l.block)),
        branches: k.branches.iter().map(|b| branch(report, b)).collect(),
        grid: k.shape.as_ref().map(|(s, _)| s.grid),
        launches: k.launches.iter().map(given).collect(),
        line: place(k.span)[0],
        name: k.name.clone(),
        out_of_range: k.out_of_range.as_ref().map(|list| list.iter().map(out_of_range).collect()),
        race_verdict,
        races,
        taken: k.taken.clone(),
    }
}

fn access(report: &FileReport, a: &ide::AccessReport) -> wire::KernelAccess {
    let ([line, column, ..], f) = (report.place(a.span, PositionEncoding::Utf8), &a.fact);
    let rw = match (f.reads, f.writes) {
        (true, true) => "rw",
        (true, false) => "r",
        _ => "w",
    };
    let space = f.space.name();
    // sectors are a matter of global memory, ways of banks and of the addresses of constant memory
    let (asked, sectors) = (f.requests.as_ref(), space == "global");
    let (global, banks) = (asked.filter(|_| sectors), asked.filter(|_| !sectors));
    // sums over some blocks are no sums over the launch
    let all = asked.filter(|r| r.blocks.is_none());
    let (all_global, all_banks) = (all.filter(|_| sectors), all.filter(|_| !sectors));
    let any = f.any_shape.as_ref();
    let between = any.map(|a| wire::RequestCost::Between(a.cost));
    wire::KernelAccess {
        all_ideal: all_global.map(|r| r.ideal),
        all_sectors: all_global.map(|r| r.sectors),
        array: f.object.to_string(),
        assumes: any.map(|a| ide::assumed(a.assumed)),
        atomic: f.atomic,
        blocks: asked.and_then(|r| r.blocks),
        bytes: f.bytes,
        column,
        conflicts: all_banks.map(|r| r.conflicts),
        exact: asked.is_some_and(|r| r.exact),
        full_warp: any.map(|a| a.full),
        ideal: global.map(|r| r.worst_ideal),
        lanes: all.map(|r| r.lanes),
        line,
        pattern: any.map(|a| a.pattern.name().to_owned()),
        requests: all.map(|r| r.count),
        rw: rw.to_owned(),
        sectors: global.map(|r| wire::RequestCost::Worst(r.worst_sectors)).or(between.filter(|_| sectors)),
        space: space.to_owned(),
        stride: any.and_then(|a| a.pattern.stride()),
        ways: banks.map(|r| wire::RequestCost::Worst(r.ways)).or(between.filter(|_| !sectors)),
    }
}

fn branch(report: &FileReport, b: &ide::BranchReport) -> wire::KernelBranch {
    let [line, column, ..] = report.place(b.span, PositionEncoding::Utf8);
    let lanes = |&(active, taken, times): &(u32, u32, u64)| wire::Lanes { active, taken, times };
    let any = b.any_shape.as_ref();
    wire::KernelBranch {
        active_lanes: b.lanes.as_ref().map(|list| list.iter().map(lanes).collect()),
        assumes: any.map(|a| ide::assumed(a.assumed)),
        column,
        decided: any.and_then(|a| a.name()).map(str::to_owned),
        kind: b.kind.to_owned(),
        line,
        taken: any.map(|a| a.taken),
        uniform: b.uniform.to_owned(),
        witness: b.witness.clone(),
    }
}

fn barrier(report: &FileReport, b: &ide::BarrierReport) -> wire::KernelBarrier {
    let [line, column, ..] = report.place(b.span, PositionEncoding::Utf8);
    let count = b.count.as_ref();
    wire::KernelBarrier {
        column,
        idle: count.and_then(|c| c.idle),
        line,
        opened: count.map(|c| c.opened),
        redundant: b.redundant,
        threads: count.map(|c| c.threads),
        verdict: b.verdict.to_owned(),
        witness: b.witness.clone(),
    }
}

/// An empty list is a proof, `None` is none.
fn races(report: &FileReport, r: &ide::RacesReport) -> (Option<Vec<wire::KernelRace>>, wire::RaceVerdict) {
    let place = |span| report.place(span, PositionEncoding::Utf8);
    let race = |x: &ide::RaceReport| {
        let ([line, column, ..], [other_line, ..]) = (place(x.span), place(x.other));
        wire::KernelRace {
            array: x.object.clone(),
            column,
            index: x.index,
            line,
            missing: x.missing.map(str::to_owned),
            other_line,
            space: if x.shared { "shared" } else { "global" }.to_owned(),
            witness: x.witness.clone(),
        }
    };
    let verdict = wire::RaceVerdict {
        apart: r.apart.clone(),
        positive: r.positive.clone(),
        reason: r.reason.clone(),
        shapes: r.shapes.clone(),
        verdict: r.verdict.to_owned(),
    };
    ((r.verdict != "unknown").then(|| r.list.iter().map(race).collect()), verdict)
}
