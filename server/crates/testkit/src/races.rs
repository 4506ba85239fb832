//! What analysis says of the races of kernels nobody wrote, held against runs: a kernel called free shows none and misses no
//! barrier, and a race that is told is seen.

use analysis::{KernelLaunch, Program, RaceVerdict};
use base::Budget;
use front::{Language, Memo, Options, Parsed};
use simulate::{Finding, Heap, Launch, Schedule, Value};

use crate::random_kernels::{kernel, racing_kernel, ELEMENTS};
use crate::rng::Rng;

/// How often each was said.
#[derive(Default, Clone, Copy, Debug)]
pub struct Tally {
    pub free: usize,
    pub racing: usize,
    pub unknown: usize,
    /// Races told without a launch.
    pub guessed: usize,
    /// Runs that ended.
    pub runs: usize,
    /// Kernels of which nothing was said and that showed a race.
    pub missed: usize,
}

/// The kernel of a number; some are those of [`kernel`], whose subscripts are wilder.
pub fn text(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    match seed % 8 {
        0 => kernel(&mut rng, true),
        _ => racing_kernel(&mut rng),
    }
}

/// Judges the kernel of a number under one launch. `Err`: what does not hold, with the text.
pub fn judge(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let text = text(seed);
    let mut rng = Rng::new(seed ^ 0x51ed);
    let grid = [*rng.pick(&[1, 1, 2, 3]), 1, 1];
    let block = *rng.pick(&[[64, 1, 1], [64, 1, 1], [40, 1, 1], [16, 4, 1], [32, 1, 1], [128, 1, 1]]);
    let n = rng.below(70) as i128;
    let known = rng.below(3) > 0;
    let parsed = Parsed::parse(Language::Cuda, text.as_str());
    let unit = front::lower(&parsed, &Options::default(), &mut Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let Some(item) = unit.items.iter().find(|i| i.is_kernel) else {
        return Err(format!("no kernel:\n{text}"));
    };
    let values = if known { vec![("n".into(), n), ("m".into(), 5)] } else { Vec::new() };
    let launch = KernelLaunch {
        grid: Some(grid),
        block: Some(block),
        values,
        most_threads: None,
        ..Default::default()
    };
    let verdict = analysis::kernel_races(&item.body, &program, &launch);
    match &verdict {
        RaceVerdict::Free { .. } => tally.free += 1,
        RaceVerdict::Race(_) => tally.racing += 1,
        RaceVerdict::Unknown(_) => tally.unknown += 1,
    }
    let bodies = simulate::Program::of(unit.items.iter().map(|i| &*i.body));
    let options = simulate::Options { overloads: true, decisions: true, ..Default::default() };
    let code = simulate::compile(&bodies, "k", &options).map_err(|f| format!("{f}\n{text}"))?;
    let mut races: Vec<(String, u64)> = Vec::new();
    let mut ended = false;
    for run in 0..3u64 {
        let schedule = if run == 0 { Schedule::counted(seed) } else { Schedule::seeded(seed + run) };
        let mut heap = Heap::new();
        let data: Vec<i32> = (0..ELEMENTS as i32).map(|k| k * 7 % 32).collect();
        let (a, b) = (heap.buffer("a", &data), heap.buffer("b", &data));
        let (Ok(a), Ok(b)) = (a, b) else { return Err("no room".to_owned()) };
        let arguments = [Value::Pointer(a, 0), Value::Pointer(b, 0), Value::Int(n), Value::Int(5)];
        let launch = Launch { grid, block, shared_bytes: 0 };
        let budget = Budget::new(20_000_000);
        let report = simulate::run_grid_code(&code, &arguments, &mut heap, &launch, &schedule, &budget);
        let Ok(report) = report else { continue };
        ended |= report.completed;
        tally.runs += report.completed as usize;
        for f in &report.findings {
            let wrong = match f {
                Finding::Race(r) => {
                    races.push((r.name.to_string(), r.offset as u64));
                    true
                }
                Finding::BarrierDivergence { .. } => true,
                _ => false,
            };
            if wrong && matches!(verdict, RaceVerdict::Free { .. }) {
                return Err(format!("seed {seed}, called free: {f:?}\n{grid:?} {block:?} n = {n}\n{text}"));
            }
        }
    }
    if let (RaceVerdict::Race(list), true) = (&verdict, ended) {
        for w in list.iter().take(1) {
            // values may have been tried that are not those of the runs above
            if !known && w.launch != launch {
                seen(w, &code, seed).map_err(|why| format!("seed {seed}, {why}: {w:?}\n{text}"))?;
                continue;
            }
            if !races.iter().any(|(name, _)| **name == *w.object) {
                return Err(format!("seed {seed}, not seen: {w:?}\n{grid:?} {block:?} n = {n}\n{text}"));
            }
        }
    }
    // without a launch, a race that is told comes with one
    if seed % 4 == 1 {
        let guessed = analysis::kernel_races(&item.body, &program, &KernelLaunch::default());
        if let RaceVerdict::Race(list) = guessed {
            tally.guessed += 1;
            seen(&list[0], &code, seed)
                .map_err(|why| format!("seed {seed}, {why}: {:?}\n{text}", list[0]))?;
        }
    }
    tally.missed += (matches!(verdict, RaceVerdict::Unknown(_)) && !races.is_empty()) as usize;
    Ok(())
}

/// Runs the launch that a witness names. `Err`: it ends and shows no race on that object.
fn seen(w: &analysis::RaceWitness, code: &simulate::Code, seed: u64) -> Result<(), String> {
    let value = |name: &str| w.launch.values.iter().find(|(n, _)| &**n == name).map_or(0, |v| v.1);
    let (Some(grid), Some(block)) = (w.launch.grid, w.launch.block) else {
        return Err("no launch".to_owned());
    };
    let mut ended = false;
    for run in 0..3u64 {
        let schedule = if run == 0 { Schedule::counted(seed) } else { Schedule::seeded(seed + run) };
        let mut heap = Heap::new();
        let data: Vec<i32> = (0..ELEMENTS as i32).map(|k| k * 7 % 32).collect();
        let (Ok(a), Ok(b)) = (heap.buffer("a", &data), heap.buffer("b", &data)) else { return Ok(()) };
        let arguments =
            [Value::Pointer(a, 0), Value::Pointer(b, 0), Value::Int(value("n")), Value::Int(value("m"))];
        let launch = Launch { grid, block, shared_bytes: 0 };
        let budget = Budget::new(40_000_000);
        let report = simulate::run_grid_code(code, &arguments, &mut heap, &launch, &schedule, &budget);
        let Ok(report) = report else { continue };
        ended |= report.completed;
        if report.findings.iter().any(|f| matches!(f, Finding::Race(r) if *r.name == *w.object)) {
            return Ok(());
        }
    }
    if ended {
        Err("not seen".to_owned())
    } else {
        Ok(())
    }
}
