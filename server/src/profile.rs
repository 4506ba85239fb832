//! A loop's kernels on a machine with a GPU: what `ide` recorded as the bundle that `device` runs, and what came back as the
//! contract has it. Deliberately absent: how it is shown, and what either room knows.

mod kernels;
mod variants;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use base::{CancelToken, Scalar};
use device::bundle::{
    self, Argument, Bundle, Contents, HostMemory, Number, Original, Place, Program, Step, Word,
};

use crate::contract::named;
use crate::limits::profile::START;

pub use kernels::{run_kernel, simulated_kernel};
pub use variants::{best_first, run_variant};

/// Whose findings are asked.
pub struct Source<'a> {
    pub path: &'a Path,
    pub ask: &'a ide::Ask,
    pub findings: &'a ide::Findings,
    /// Options that say where headers are, for the document and for a part of the program by its place.
    pub headers: Vec<String>,
    pub of_part: &'a dyn Fn(&str) -> Vec<String>,
    /// For all that is done there.
    pub limit: Duration,
}

/// A client for what a worker's command starts.
pub fn client(command: device::WorkerCommand, limit: Duration) -> device::Client {
    let limits =
        device::Limits { memory_bytes: None, start: START, request: limit, grace: Duration::from_secs(2) };
    device::Client::lazy(command, limits)
}

/// Runs what was recorded there; where that is not possible, in the simulator.
pub fn run(
    source: &Source<'_>,
    recorded: &ide::Recorded,
    target: &str,
    client: &mut device::Client,
    cancel: &CancelToken,
    tell: &mut dyn FnMut(&str),
) -> wire::ProfileRun {
    ran(source, recorded, target, client, cancel, tell)
        .unwrap_or_else(|why| simulated(source, recorded, target, &why))
}

/// The same; `Err`: why it did not run there.
pub fn ran(
    source: &Source<'_>,
    recorded: &ide::Recorded,
    target: &str,
    client: &mut device::Client,
    cancel: &CancelToken,
    tell: &mut dyn FnMut(&str),
) -> Result<wire::ProfileRun, String> {
    let bundle = bundle_of(source, recorded);
    match client.profile(bundle, cancel, tell) {
        Ok(device::ProfileOutcome::Measured(m)) => Ok(measured(source, recorded, target, &m)),
        Ok(device::ProfileOutcome::Unavailable(why)) => Err(why.to_string()),
        Ok(device::ProfileOutcome::Broken { reason, .. }) => Ok(wire::ProfileRun {
            checked: "different".to_owned(),
            ..plain(source, recorded, target, reason)
        }),
        Err(error) => Err(error.to_string()),
    }
}

/// Holds a report of the simulator against a run there, too: once, at the sizes that were given or at large ones.
pub fn also_there(
    source: &Source<'_>,
    report: &mut ide::VerifyReport,
    given: &[(String, i128)],
    on: &str,
    client: &mut device::Client,
) {
    let which = ide::Which::Key(report.key.clone());
    let names = ide::given_names(source.ask, source.findings, &which);
    let given: Vec<_> = given.iter().filter(|g| names.contains(&g.0)).cloned().collect();
    let recorded = ide::record(source.ask, source.findings, &which, &given).into_iter().next();
    let not_tried =
        |why: &str| (ide::Outcome::NotTried(why.to_owned()), format!("It was not run on {on}: {why}"));
    (report.outcome, report.summary) = match recorded {
        Some((_, Ok(one))) => {
            let ran = run(source, &one, on, client, &CancelToken::new(), &mut |_| {});
            match (ran.checked.as_str(), &ran.device) {
                ("same", Some(device)) => {
                    report.checked.push(format!("on {on} ({device})"));
                    report.summary += &format!(" The same on {on} ({device}).");
                    return;
                }
                ("different", _) => (ide::Outcome::Different, format!("On {on}: {}", ran.said)),
                _ => not_tried(&ran.said),
            }
        }
        Some((_, Err(why))) => not_tried(&why),
        None => not_tried("The loop is not there any more."),
    };
}

/// Without a GPU: what the simulator says of the same loop, and why nothing was measured.
pub fn simulated(source: &Source<'_>, recorded: &ide::Recorded, target: &str, why: &str) -> wire::ProfileRun {
    let which = ide::Which::Key(recorded.key.clone());
    let options = ide::VerifyOptions::default();
    let report = ide::verify(source.ask, source.findings, &which, &options).into_iter().next();
    let (checked, summary) = report.map_or(("not tried".to_owned(), String::new()), |r| {
        let check = crate::contract::check(&r);
        (check.outcome, check.summary)
    });
    let before = if why.is_empty() { String::new() } else { format!("{why} ") };
    let said = format!("{before}No time was measured. In the simulator, at small sizes: {summary}");
    wire::ProfileRun { checked, ..plain(source, recorded, target, said) }
}

/// All that is known without a run.
fn plain(source: &Source<'_>, r: &ide::Recorded, target: &str, said: String) -> wire::ProfileRun {
    let mut kernel: Vec<String> = Vec::new();
    let (mut launches, mut copied) = (0, [0, 0]);
    for step in &r.steps {
        match step {
            ide::HostStep::Launch { kernel: name, .. } => {
                launches += 1;
                if !kernel.contains(name) {
                    kernel.push(name.clone());
                }
            }
            ide::HostStep::ToDevice { bytes, .. } => copied[0] += bytes,
            ide::HostStep::FromDevice { bytes, .. } => copied[1] += bytes,
            _ => {}
        }
    }
    let sizes = r.sizes.iter().map(|(n, v)| (n.clone(), i64::try_from(*v).unwrap_or(i64::MAX)));
    wire::ProfileRun {
        file: named(source.path),
        line: r.line,
        function: r.function.clone(),
        kernel,
        target: target.to_owned(),
        device: None,
        rung: "simulator".to_owned(),
        sizes: sizes.collect::<BTreeMap<_, _>>(),
        checked: "not tried".to_owned(),
        kernel_ns: None,
        copies_ns: None,
        call_ns: None,
        cpu_ns: wire::CpuNanoseconds { one: None, all: None },
        launches,
        copied_bytes: copied,
        bytes: (launches == 1).then_some(copied[0] + copied[1]),
        flops: None,
        share_of_ceiling: None,
        variant: None,
        sectors: None,
        predicted_ns: None,
        hash: r.hash.clone(),
        said,
    }
}

/// Median and spread of runs; `None` where there are none, or where they take no time that can be told.
fn times(ns: &[u64]) -> Option<wire::Nanoseconds> {
    let mut sorted = ns.to_vec();
    sorted.sort_unstable();
    let at = |part: usize| sorted.get(sorted.len() * part / 4).copied().unwrap_or(0);
    let spread = at(3) - at(1);
    (at(2) > 0).then(|| wire::Nanoseconds { median: at(2), spread, runs: ns.len() as u64 })
}

fn measured(source: &Source<'_>, r: &ide::Recorded, target: &str, m: &device::Measured) -> wire::ProfileRun {
    let mut known = plain(source, r, target, String::new());
    if m.value.is_some() {
        known.launches = m.kernels.iter().map(|k| k.launches).sum();
        known.kernel = m.kernels.iter().map(|k| k.name.clone()).collect();
        known.copied_bytes = [m.to_device.bytes, m.from_device.bytes];
        known.bytes = (known.launches == 1).then_some(m.to_device.bytes + m.from_device.bytes);
    }
    let copies: Vec<u64> = m.to_device.ns.iter().zip(&m.from_device.ns).map(|(a, b)| a + b).collect();
    // steps of a simulator are no times
    let of_gpu = |ns: &[u64]| if m.simulated { None } else { times(ns) };
    let kernel_ns = of_gpu(&m.kernels_ns);
    let share = match (known.bytes, kernel_ns, m.memory_bandwidth) {
        (Some(bytes), Some(k), Some(most)) => Some(bytes as f64 * 1e9 / k.median as f64 / most),
        _ => None,
    };
    let (checked, compared) = checked(source, r, m);
    let is_small = r.host.iter().any(|p| matches!(p.holds, ide::Holds::Exactly { .. }));
    let mut run = wire::ProfileRun {
        device: Some(m.gpu.name.clone()),
        rung: if m.simulated { "simulator" } else { "events" }.to_owned(),
        checked: checked.to_owned(),
        kernel_ns,
        copies_ns: of_gpu(&copies),
        call_ns: of_gpu(&m.call_ns),
        cpu_ns: wire::CpuNanoseconds { one: m.cpu.as_ref().and_then(|c| times(&c.ns)), all: None },
        share_of_ceiling: share,
        ..known
    };
    run.said = said(&run, m, &compared);
    if is_small {
        run.said +=
            " The input is one of those that verification makes: a small one, of which times say little.";
    }
    run
}

/// Whether what was left is the same, with a sentence.
fn checked(source: &Source<'_>, r: &ide::Recorded, m: &device::Measured) -> (&'static str, String) {
    let not_tried = |why: &str| ("not tried", format!("Results were not compared: {why}."));
    if m.kernels.is_empty() {
        return not_tried("no kernel was launched with this input, the original loop ran");
    }
    let returned = match &r.original {
        Err(why) => return not_tried(why),
        Ok(original) if r.returns_copied || m.value.is_some() => match returned(source, r, original, m) {
            Ok(different) => different,
            Err(why) => return not_tried(&why),
        },
        Ok(_) => None,
    };
    match (&m.check, returned) {
        (device::Check::NotTried { why }, _) => not_tried(why),
        (device::Check::Different { memory, element, want, got }, _) => {
            ("different", format!("Different: `{memory}[{element}]` is {got} in place of {want}."))
        }
        (_, Some(different)) => ("different", different),
        (device::Check::Same { compared, most_ulps, most_relative }, None) => {
            let apart = apart(*most_ulps, *most_relative);
            ("same", format!("The same as the original leaves, {apart} ({compared} numbers compared)."))
        }
    }
}

/// Whether the function returns something else, where the host's program ran or puts that together from what came back: a sentence. `Err`: it cannot
/// be told, a phrase.
fn returned(
    source: &Source<'_>,
    r: &ide::Recorded,
    original: &ide::OriginalText,
    m: &device::Measured,
) -> Result<Option<String>, String> {
    let cpu = m.cpu.as_ref().ok_or_else(|| m.cpu_reason.clone().unwrap_or_default())?;
    let got = match m.value {
        Some(_) if original.returns.is_none() => return Ok(None),
        Some(value) => value,
        None => {
            let answers: Vec<Vec<u8>> = m.wanted.iter().filter_map(|h| bytes_of(h)).collect();
            ide::returned(source.ask, source.findings, r, &answers)?
        }
    };
    let want = cpu.value;
    if !original.returns.is_some_and(ide::ElementKind::is_float) {
        let words = || format!("Different: {} is returned in place of {}.", got as i64, want as i64);
        return Ok((want != got).then(words));
    }
    let (want, got) = (f64::from_bits(want), f64::from_bits(got));
    let apart = (want - got).abs() / want.abs().max(got.abs()).max(1.0);
    let is_same =
        want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan() || r.regrouped && apart <= NEAR;
    Ok((!is_same).then(|| format!("Different: {got} is returned in place of {want}.")))
}

/// How far regrouped sums may lie apart, as for `verify`.
const NEAR: f64 = 1e-4;

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    hex.as_bytes().chunks(2).map(|p| u8::from_str_radix(std::str::from_utf8(p).ok()?, 16).ok()).collect()
}

/// How far results lie apart.
fn apart(most_ulps: u64, most_relative: f64) -> String {
    match most_ulps {
        0 => "to the last bit".to_owned(),
        n => format!("at most {n} representable numbers ({most_relative:.1e}) apart"),
    }
}

/// `0.42 ms (median of 20, spread 3 %)`
fn ms(t: wire::Nanoseconds) -> String {
    let percent = 100.0 * t.spread as f64 / t.median as f64;
    format!("{} (median of {}, spread {percent:.0} %)", time(t.median), t.runs)
}

/// That no GPU ran it; `None`: one did.
fn by_whom(m: &device::Measured) -> Option<String> {
    let who =
        || format!("Run by {}: launches and results are real, times are not and are left out.", m.gpu.name);
    m.simulated.then(who)
}

fn said(run: &wire::ProfileRun, m: &device::Measured, compared: &str) -> String {
    let mut out: Vec<String> = by_whom(m).into_iter().collect();
    if let Some(k) = run.kernel_ns {
        let mut kernels = format!("Kernels {} by events on {}", ms(k), m.gpu.name);
        if let (Some(bytes), Some(share), Some(most)) = (run.bytes, run.share_of_ceiling, m.memory_bandwidth)
        {
            let rate = bytes as f64 / k.median as f64;
            kernels += &format!(
                ", at least {rate:.0} GB/s = {:.0} % of the {:.0} that a copy there reaches",
                100.0 * share,
                most / 1e9
            );
        }
        out.push(kernels + ".");
    }
    if let (Some(copies), Some(call)) = (run.copies_ns, run.call_ns) {
        out.push(format!("Copies {}, the whole call {}.", ms(copies), ms(call)));
    }
    match (run.cpu_ns.one, &m.cpu, &m.cpu_reason) {
        (Some(one), Some(cpu), _) => {
            let mut original = format!("The original {} on one core ({})", ms(one), cpu.compiler);
            if let (Some(k), Some(call)) = (run.kernel_ns, run.call_ns) {
                let times = |gpu: u64| one.median as f64 / gpu as f64;
                original += &format!(
                    ": {:.1}× without copies, {:.1}× as the call stands",
                    times(k.median),
                    times(call.median)
                );
            }
            out.push(original + ".");
        }
        (_, _, Some(why)) => out.push(format!("The original was not timed: {why}.")),
        _ => {}
    }
    out.push(compared.to_owned());
    out.join(" ")
}

/// 0.42 ms
pub fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        _ if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

fn bundle_of(source: &Source<'_>, r: &ide::Recorded) -> Bundle {
    let texts = |texts: &[(String, Vec<String>, Option<String>)]| -> Vec<(String, Vec<String>)> {
        let with_headers = |(text, flags, place): &(String, Vec<String>, Option<String>)| {
            let headers = place.as_ref().map_or_else(|| source.headers.clone(), |p| (source.of_part)(p));
            (text.clone(), headers.into_iter().chain(flags.iter().cloned()).collect())
        };
        texts.iter().map(with_headers).collect()
    };
    let original = r.original.as_ref().ok().map(|o| Original {
        texts: texts(&o.texts),
        arguments: o.arguments.iter().map(word).collect(),
        globals: o.globals.iter().map(|g| *g as u32).collect(),
    });
    let program = r.program.as_ref().map(|p| Program {
        because: p.because.clone(),
        texts: texts(&p.texts),
        kernels: p.kernels.clone(),
        headers: p.headers.clone(),
        include: p.include.to_owned(),
    });
    Bundle {
        name: format!("{}, line {}", r.function, r.line),
        source: r.source.clone(),
        fmad: r.unfused.then_some(false),
        options: Vec::new(),
        arch: None,
        library: None,
        host: r.host.iter().map(piece).collect(),
        steps: r.steps.iter().map(step).collect(),
        original,
        program,
        expected: Vec::new(),
        untimed: false,
        tolerance: if r.regrouped { NEAR } else { 0.0 },
        limit_ms: u64::try_from(source.limit.as_millis()).ok(),
    }
}

fn word(a: &ide::OriginalArgument) -> Word {
    match a {
        ide::OriginalArgument::Whole(value) => Word::Whole { value: *value },
        ide::OriginalArgument::Floating(value) => Word::Floating { bits: value.to_bits() },
        ide::OriginalArgument::Place(s) => Word::Memory { place: place(s) },
    }
}

fn place(s: &ide::Spot) -> Place {
    Place { memory: s.memory as u32, offset: s.offset }
}

fn piece(p: &ide::HostPiece) -> HostMemory {
    let number = |s: Scalar| match s {
        Scalar::Whole(1) => Number::Whole1,
        Scalar::Whole(2) => Number::Whole2,
        Scalar::Whole(4) => Number::Whole4,
        Scalar::Whole(_) => Number::Whole8,
        Scalar::Truth => Number::Truth,
        Scalar::F32 => Number::F32,
        Scalar::F64 => Number::F64,
    };
    let mut links = Vec::new();
    let (contents, scalars, element_bytes) = match &p.holds {
        ide::Holds::Made(made) => (
            Contents::Made { seed: made.seed, below: made.below },
            made.scalars.iter().map(|(at, s)| (*at, number(*s))).collect(),
            made.element_bytes,
        ),
        ide::Holds::These(bytes) => (Contents::Bytes { hex: bundle::hex(bytes) }, Vec::new(), 1),
        ide::Holds::Exactly { bytes, element_bytes, scalars, links: all } => {
            links = all.iter().map(|(at, to)| (*at, place(to))).collect();
            let scalars = scalars.iter().map(|(at, s)| (*at, number(*s))).collect();
            (Contents::Bytes { hex: bundle::hex(bytes) }, scalars, *element_bytes)
        }
        ide::Holds::Nothing => (Contents::Unset, Vec::new(), 1),
    };
    HostMemory { name: p.name.clone(), bytes: p.bytes, contents, links, scalars, element_bytes }
}

fn step(s: &ide::HostStep) -> Step {
    match s {
        ide::HostStep::Allocate { bytes } => Step::Allocate { bytes: *bytes },
        ide::HostStep::Free { memory } => Step::Free { memory: *memory as u32 },
        ide::HostStep::ToDevice { to, from, bytes } => {
            Step::ToDevice { to: place(to), from: place(from), bytes: *bytes }
        }
        ide::HostStep::FromDevice { to, from, bytes, wanted } => {
            Step::FromDevice { to: place(to), from: place(from), bytes: *bytes, wanted: *wanted }
        }
        ide::HostStep::OnDevice { to, from, bytes } => {
            Step::OnDevice { to: place(to), from: place(from), bytes: *bytes }
        }
        ide::HostStep::Set { to, byte, bytes } => Step::Set { to: place(to), byte: *byte, bytes: *bytes },
        ide::HostStep::OnHost { to, from, bytes } => {
            Step::OnHost { to: place(to), from: place(from), bytes: *bytes }
        }
        ide::HostStep::Launch { kernel, grid, block, shared_bytes, arguments } => Step::Launch {
            kernel: kernel.clone(),
            grid: *grid,
            block: *block,
            shared_bytes: u32::try_from(*shared_bytes).unwrap_or(u32::MAX),
            arguments: arguments
                .iter()
                .map(|a| match a {
                    ide::KernelArgument::Plain(bytes) => Argument::Value { hex: bundle::hex(bytes) },
                    ide::KernelArgument::Device(s) => Argument::Memory { place: place(s) },
                })
                .collect(),
        },
    }
}
