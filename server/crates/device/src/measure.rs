//! Runs a bundle on the GPU of this process: once with everything looked at, then again and again with events around each
//! launch, until the median stands still; and compares what is left with what the original leaves.
//!
//! Only a worker does that: what a kernel does to a driver, it does to this process.
//!
//! Deliberately absent: what the numbers mean for the loop.

use crate::bundle::{Bundle, Word};
use crate::gpu::{CallFailed, Device, Event};
use crate::hosted::Hosted;
use crate::limits::measure::{
    BANDWIDTH_BYTES, BANDWIDTH_TIMES, LEAST_RUNS, MOST_RUNS, STEADY, TIMING, WARM_UP,
};
use crate::original::{self, CpuTimes};
use crate::running::{Host, Looking, Observer, Running, Stopped};
use crate::same::{compare, Check};
use crate::{
    bundle, Arch, CompileOutcome, CompileRequest, Gpu, KernelResources, LibraryInfo, Unavailable,
    UnavailableKind,
};
use base::CancelToken;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What came of a bundle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ProfileOutcome {
    Measured(Box<Measured>),
    /// The kernels do not compile, or the GPU stopped one: a sentence.
    Broken {
        reason: String,
        /// Whether it is the compiler that did not take them.
        #[serde(default)]
        uncompiled: bool,
    },
    /// It could not be tried.
    Unavailable(Unavailable),
}

/// A bundle that ran to its end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    pub gpu: Gpu,
    /// Whether it is our simulator behind a driver's names: then nothing here was measured.
    pub simulated: bool,
    /// The newest CUDA that the driver runs.
    pub driver: Option<(u32, u32)>,
    /// Who compiled the kernels, and for what.
    pub nvrtc: LibraryInfo,
    pub arch: Arch,
    /// By event, of each kernel in the order of their first launches.
    pub kernels: Vec<KernelTimes>,
    /// Of each timed run: all kernels together.
    pub kernels_ns: Vec<u64>,
    /// Copies to the device and from it, by the clock of that machine; the memory is pageable.
    pub to_device: CopyTimes,
    pub from_device: CopyTimes,
    /// Of each timed run: the whole call, with allocations and copies.
    pub call_ns: Vec<u64>,
    /// Bytes a second that one large copy on the device reads and writes together.
    pub memory_bandwidth: Option<f64>,
    /// What the compiler says that each kernel uses.
    pub resources: Vec<KernelResources>,
    /// The original on that machine, one core.
    pub cpu: Option<CpuTimes>,
    /// Why the original did not run there.
    pub cpu_reason: Option<String>,
    pub check: Check,
    /// The bytes that were wanted, in the order of the steps, in hexadecimal.
    pub wanted: Vec<String>,
    /// Where the host's program ran: what the function returned, as a word.
    #[serde(default)]
    pub value: Option<u64>,
}

/// Times of one kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KernelTimes {
    pub name: String,
    /// Launches in one run.
    pub launches: u64,
    /// Of each timed run: all its launches together.
    pub ns: Vec<u64>,
}

/// Copies between host and device.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CopyTimes {
    /// In one run.
    pub count: u64,
    pub bytes: u64,
    /// Of each timed run.
    pub ns: Vec<u64>,
}

/// Runs a bundle in this process. `tell` hears what is done.
pub fn profile(bundle: &Bundle, cancel: &CancelToken, tell: &dyn Fn(&str)) -> ProfileOutcome {
    // cudarc panics where the driver lacks a function
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(bundle, cancel, tell)));
    match ran {
        Ok(Ok(measured)) => ProfileOutcome::Measured(Box::new(measured)),
        Ok(Err(Stopped::Broken(reason))) => ProfileOutcome::Broken { reason, uncompiled: false },
        Ok(Err(Stopped::Uncompiled(reason))) => ProfileOutcome::Broken { reason, uncompiled: true },
        Ok(Err(Stopped::Unavailable(why))) => ProfileOutcome::Unavailable(why),
        Err(_) => ProfileOutcome::Unavailable(Unavailable::new(
            UnavailableKind::NoGpu,
            "The CUDA driver lacks a function that is needed.",
            "Install a newer driver.",
        )),
    }
}

fn run(bundle: &Bundle, cancel: &CancelToken, tell: &dyn Fn(&str)) -> Result<Measured, Stopped> {
    bundle.check()?;
    let device = Device::open()?;
    let gpus = crate::gpus();
    let gpu = gpus.list.into_iter().next().ok_or_else(|| {
        let reason = gpus.reason.unwrap_or_else(|| "The CUDA driver sees no GPU.".to_owned());
        Unavailable::new(UnavailableKind::NoGpu, reason, "Check CUDA_VISIBLE_DEVICES and nvidia-smi.")
    })?;
    let (_, needed) = bundle.sizes();
    let free = device.free_bytes()?;
    if needed > free {
        let reason =
            format!("It takes {} MiB of the GPU's memory, and {} are free.", needed >> 20, free >> 20);
        let next = "Give smaller sizes (-s n=…), or free memory of the GPU (nvidia-smi shows who holds it).";
        return Err(Unavailable::new(UnavailableKind::MemoryLimit, reason, next).into());
    }
    tell("compiling the kernels");
    let (compiled, image) = compiled(bundle, &gpu, cancel)?;
    let loaded = device.load(&image)?;
    let (hosted, unhosted) = match hosted(bundle, cancel, tell)? {
        Ok(hosted) => (hosted, None),
        Err(why) => (None, Some(why)),
    };
    tell("making the inputs");
    let host = Host::make(bundle, hosted.is_some())?;
    let kernels = BTreeMap::new();
    let (device, module) = (&device, &loaded);
    let compiled_as = entries(bundle, &compiled.kernels)?;
    let mut running =
        Running { bundle, device, module, host, cancel, kernels, compiled_as, hosted, value: None };
    tell("running it once, with everything looked at");
    let mut wanted = Vec::new();
    running.run(&mut Looking { wanted: &mut wanted })?;
    let (left, value) = (running.host.memory.clone(), running.value);
    let (cpu, cpu_reason, mut check) = match bundle.expected.is_empty() {
        true => {
            tell("running the original on that machine's CPU");
            beside(bundle, &left, cancel)
        }
        false => (None, None, as_expected(bundle, &left)),
    };
    if let Some(why) = unhosted {
        check = Check::NotTried { why };
    }
    let mut times = Times::default();
    if !bundle.untimed {
        tell("measuring");
        times.measure(&mut running)?;
    }
    if let (true, Some(changed)) = (bundle.tolerance == 0.0, running.host.changed(&left)) {
        check = Check::Different {
            memory: bundle.host[changed].name.clone(),
            element: 0,
            want: "the same in every run".to_owned(),
            got: "other numbers in a later run".to_owned(),
        };
    }
    let memory_bandwidth = if bundle.untimed { None } else { bandwidth(device, free)? };
    let driver = gpus.driver;
    drop(running);
    device.unload(loaded)?;
    Ok(Measured {
        simulated: gpu.name.starts_with("Warpwright stand-in"),
        gpu,
        driver,
        nvrtc: compiled.library,
        arch: compiled.arch,
        kernels: times.kernels,
        kernels_ns: times.all_ns,
        to_device: times.to_device,
        from_device: times.from_device,
        call_ns: times.call_ns,
        memory_bandwidth,
        resources: compiled.kernels,
        cpu,
        cpu_reason,
        check,
        wanted: wanted.iter().map(|b| bundle::hex(b)).collect(),
        value,
    })
}

/// What is left, held against what the bundle says must be.
fn as_expected(bundle: &Bundle, left: &[Vec<u8>]) -> Check {
    let all = bundle.expected.iter().filter_map(|(at, hex)| Some((*at as usize, bundle::unhex(hex)?)));
    let all: Vec<(usize, Vec<u8>)> = all.collect();
    let pairs = all
        .iter()
        .filter_map(|(at, want)| Some((bundle.host.get(*at)?, want.as_slice(), left.get(*at)?.as_slice())));
    compare(pairs, bundle.tolerance)
}

/// The names that kernels have in what was compiled, by those that they are launched by.
fn entries(bundle: &Bundle, compiled: &[KernelResources]) -> Result<BTreeMap<String, String>, Stopped> {
    let names: Vec<&str> = compiled.iter().map(|k| k.name.as_str()).collect();
    let mut out = BTreeMap::new();
    for step in &bundle.steps {
        let bundle::Step::Launch { kernel, .. } = step else { continue };
        let found = crate::entries::named(kernel, &names).map_err(|several| {
            let reason = format!("{several} kernels are called `{kernel}`, with other parameters each.");
            let next = "Give the one that is meant a name of its own.";
            Unavailable::new(UnavailableKind::BadOption, reason, next)
        })?;
        out.insert(kernel.clone(), found.unwrap_or(kernel).to_owned());
    }
    Ok(out)
}

/// The host's program where it is needed. The inner `Err`: it cannot be had, a phrase, and its steps tell what is measured, not what
/// is left.
fn hosted(
    bundle: &Bundle,
    cancel: &CancelToken,
    tell: &dyn Fn(&str),
) -> Result<Result<Option<Hosted>, String>, Stopped> {
    let Some(program) = &bundle.program else { return Ok(Ok(None)) };
    tell("building the host's program");
    match Hosted::build(program, cancel) {
        Ok(hosted) => Ok(Ok(Some(hosted))),
        Err(why) if bundle.steps.is_empty() => {
            let reason = format!("The host's part could not be run there: {why}.");
            let next = "Install gcc and g++ on that machine; --on simulator needs none.";
            Err(Unavailable::new(UnavailableKind::NoCompiler, reason, next).into())
        }
        Err(why) => Ok(Err(format!("{}, and it could not be run there: {why}", program.because))),
    }
}

fn compiled(bundle: &Bundle, gpu: &Gpu, cancel: &CancelToken) -> Result<(crate::Compiled, Vec<u8>), Stopped> {
    let (major, minor) = gpu.compute_capability;
    let own = u16::try_from(10 * major + minor).map(Arch::sm).ok();
    let arch = bundle.arch.or(own).ok_or_else(|| {
        let reason = format!("The GPU says of itself that its compute capability is {major}.{minor}.");
        Unavailable::new(UnavailableKind::NoGpu, reason, "Install another driver.")
    })?;
    let request = CompileRequest {
        fmad: bundle.fmad,
        options: bundle.options.clone(),
        library: bundle.library.clone(),
        ..CompileRequest::new(bundle.source.as_str(), "kernels.cu", arch)
    };
    match crate::compile::compile_image(&request, cancel) {
        (CompileOutcome::Compiled(compiled), image) => Ok((compiled, image)),
        (CompileOutcome::Failed(failed), _) => {
            let first = failed.messages.iter().find(|m| m.severity == crate::Severity::Error);
            let what = first.map_or_else(|| failed.log.clone(), |m| m.text.clone());
            let line = first.and_then(|m| m.line).map(|l| format!(", line {l}")).unwrap_or_default();
            Err(Stopped::Uncompiled(format!("The kernels do not compile for {}{line}: {what}", failed.arch)))
        }
        (CompileOutcome::Unavailable(why), _) => Err(why.into()),
    }
}

/// The original on this machine's CPU, and what is left held against it.
fn beside(
    bundle: &Bundle,
    left: &[Vec<u8>],
    cancel: &CancelToken,
) -> (Option<CpuTimes>, Option<String>, Check) {
    let Some(original) = &bundle.original else {
        let why = "the original did not come along".to_owned();
        return (None, Some(why.clone()), Check::NotTried { why });
    };
    match original::run(bundle, original, cancel) {
        Ok((times, memory)) => {
            let words = original.arguments.iter().filter_map(|w| match w {
                Word::Memory { place } => Some(place.memory),
                _ => None,
            });
            let linked = bundle.host.iter().flat_map(|m| m.links.iter().map(|l| l.1.memory));
            let mut all: Vec<u32> = words.chain(original.globals.iter().copied()).chain(linked).collect();
            all.sort_unstable();
            all.dedup();
            let pairs = all.iter().filter_map(|&m| {
                let m = m as usize;
                Some((bundle.host.get(m)?, memory.get(m)?.as_slice(), left.get(m)?.as_slice()))
            });
            (Some(times), None, compare(pairs, bundle.tolerance))
        }
        Err(why) => (None, Some(why.clone()), Check::NotTried { why }),
    }
}

/// What the timed runs took.
#[derive(Default)]
struct Times {
    kernels: Vec<KernelTimes>,
    all_ns: Vec<u64>,
    to_device: CopyTimes,
    from_device: CopyTimes,
    call_ns: Vec<u64>,
}

/// Events of one timed run.
#[derive(Default)]
struct Timing {
    events: Vec<Event>,
    used: usize,
    names: Vec<String>,
    copies: [(u64, u64, u64); 2],
}

impl Timing {
    fn record(&mut self, device: &Device) -> Result<(), CallFailed> {
        if self.used == self.events.len() {
            self.events.push(device.event()?);
        }
        device.record(&self.events[self.used])?;
        self.used += 1;
        Ok(())
    }
}

impl Observer for Timing {
    fn before_launch(&mut self, device: &Device) -> Result<(), CallFailed> {
        self.record(device)
    }
    fn after_launch(&mut self, device: &Device, kernel: &str) -> Result<(), CallFailed> {
        self.names.push(kernel.to_owned());
        self.record(device)
    }
    fn copied(&mut self, to_device: bool, bytes: &[u8], _: bool, ns: u64) {
        let of = &mut self.copies[usize::from(!to_device)];
        *of = (of.0 + 1, of.1 + bytes.len() as u64, of.2 + ns);
    }
}

impl Times {
    fn measure(&mut self, running: &mut Running<'_>) -> Result<(), Stopped> {
        let began = Instant::now();
        let limit = running.bundle.limit_ms.map_or(TIMING, |ms| Duration::from_millis(ms / 4)).min(TIMING);
        let mut timing = Timing::default();
        for run in 0..WARM_UP + MOST_RUNS {
            (timing.used, timing.copies) = (0, Default::default());
            timing.names.clear();
            let call_ns = running.run(&mut timing)?;
            if run < WARM_UP {
                continue;
            }
            self.add(running.device, &timing)?;
            self.call_ns.push(call_ns);
            let is_enough = self.all_ns.len() >= LEAST_RUNS && spread(&self.all_ns) <= STEADY;
            if is_enough || began.elapsed() > limit {
                break;
            }
        }
        timing.events.into_iter().try_for_each(|e| running.device.end_event(e))?;
        Ok(())
    }

    fn add(&mut self, device: &Device, timing: &Timing) -> Result<(), CallFailed> {
        let mut by_name: Vec<(&str, u64, u64)> = Vec::new();
        for (name, pair) in timing.names.iter().zip(timing.events[..timing.used].chunks_exact(2)) {
            let ns = device.between(&pair[0], &pair[1])?;
            match by_name.iter_mut().find(|k| k.0 == name) {
                Some(k) => *k = (k.0, k.1 + 1, k.2 + ns),
                None => by_name.push((name, 1, ns)),
            }
        }
        self.all_ns.push(by_name.iter().map(|k| k.2).sum());
        for (name, launches, ns) in by_name {
            match self.kernels.iter_mut().find(|k| k.name == name) {
                Some(k) => k.ns.push(ns),
                None => self.kernels.push(KernelTimes { name: name.to_owned(), launches, ns: vec![ns] }),
            }
        }
        for (times, (count, bytes, ns)) in
            [&mut self.to_device, &mut self.from_device].into_iter().zip(timing.copies)
        {
            (times.count, times.bytes) = (count, bytes);
            times.ns.push(ns);
        }
        Ok(())
    }
}

/// How far the middle half of the numbers lies apart, of the median.
fn spread(ns: &[u64]) -> f64 {
    let mut sorted = ns.to_vec();
    sorted.sort_unstable();
    let at = |part: usize| sorted.get(sorted.len() * part / 4).copied().unwrap_or(0) as f64;
    match at(2) {
        middle if middle > 0.0 => (at(3) - at(1)) / middle,
        _ => 0.0,
    }
}

/// Bytes that one large copy on the device reads and writes a second; `None` where it takes no time that can be told.
fn bandwidth(device: &Device, free: u64) -> Result<Option<f64>, CallFailed> {
    let bytes = BANDWIDTH_BYTES.min(free / 64);
    if bytes == 0 {
        return Ok(None);
    }
    let (from, to) = (device.allocate(bytes)?, device.allocate(bytes)?);
    device.set(from, 1, bytes)?;
    let (begin, end) = (device.event()?, device.event()?);
    let mut best = u64::MAX;
    for _ in 0..BANDWIDTH_TIMES {
        device.record(&begin)?;
        device.on_device(to, from, bytes)?;
        device.record(&end)?;
        device.wait()?;
        best = best.min(device.between(&begin, &end)?);
    }
    [from, to].into_iter().try_for_each(|m| device.free(m))?;
    [begin, end].into_iter().try_for_each(|e| device.end_event(e))?;
    Ok((best > 0).then(|| 2.0 * bytes as f64 * 1e9 / best as f64))
}
