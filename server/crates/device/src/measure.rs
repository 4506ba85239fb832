//! Runs a bundle on the GPU of this process: once with everything looked at, then again and again with events around each
//! launch, until the median stands still; and compares what is left with what the original leaves.
//!
//! Only a worker does that: what a kernel does to a driver, it does to this process.
//!
//! Deliberately absent: what the numbers mean for the loop.

use crate::bundle::{Argument, Bundle, Contents, Place, Step, Word};
use crate::gpu::{Address, CallFailed, Device, Event, Kernel, Module};
use crate::limits::measure::{
    BANDWIDTH_BYTES, BANDWIDTH_TIMES, LEAST_RUNS, MOST_RUNS, STEADY, TIMING, WANTED_BYTES, WARM_UP,
};
use crate::original::{self, CpuTimes};
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

/// Why a run did not come to its end.
enum Stopped {
    Broken(String),
    Unavailable(Unavailable),
}

impl From<Unavailable> for Stopped {
    fn from(u: Unavailable) -> Stopped {
        Stopped::Unavailable(u)
    }
}

impl From<CallFailed> for Stopped {
    fn from(e: CallFailed) -> Stopped {
        let reason = format!("The CUDA driver refused {}: {} ({}).", e.call, e.words, e.name);
        Stopped::Unavailable(match e.is_out_of_memory() {
            true => Unavailable::new(
                UnavailableKind::MemoryLimit,
                reason,
                "Give smaller sizes (-s n=…), or free memory of the GPU (nvidia-smi shows who holds it).",
            ),
            false => Unavailable::new(
                UnavailableKind::NoGpu,
                reason,
                "Check nvidia-smi there, and try again; --on simulator needs no GPU.",
            ),
        })
    }
}

/// Runs a bundle in this process. `tell` hears what is done.
pub fn profile(bundle: &Bundle, cancel: &CancelToken, tell: &dyn Fn(&str)) -> ProfileOutcome {
    // cudarc panics where the driver lacks a function
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(bundle, cancel, tell)));
    match ran {
        Ok(Ok(measured)) => ProfileOutcome::Measured(Box::new(measured)),
        Ok(Err(Stopped::Broken(reason))) => ProfileOutcome::Broken { reason },
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
    let module = device.load(&image)?;
    tell("making the inputs");
    let host = Host::make(bundle)?;
    let mut running =
        Running { bundle, device: &device, module: &module, host, cancel, kernels: BTreeMap::new() };
    tell("running it once, with everything looked at");
    let mut wanted = Vec::new();
    running.host.restore();
    running.replay(&mut Looking { wanted: &mut wanted })?;
    let left = running.host.memory.clone();
    tell("running the original on that machine's CPU");
    let (cpu, cpu_reason, mut check) = beside(bundle, &left, cancel);
    tell("measuring");
    let mut times = Times::default();
    times.measure(&mut running)?;
    if let (true, Some(changed)) = (bundle.tolerance == 0.0, running.host.changed(&left)) {
        check = Check::Different {
            memory: bundle.host[changed].name.clone(),
            element: 0,
            want: "the same in every run".to_owned(),
            got: "other numbers in a later run".to_owned(),
        };
    }
    let memory_bandwidth = bandwidth(&device, free)?;
    let driver = gpus.driver;
    device.unload(module)?;
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
    })
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
        library: bundle.library.clone(),
        ..CompileRequest::new(bundle.source.as_str(), "kernels.cu", arch)
    };
    match crate::compile::compile_image(&request, cancel) {
        (CompileOutcome::Compiled(compiled), image) => Ok((compiled, image)),
        (CompileOutcome::Failed(failed), _) => {
            let first = failed.messages.iter().find(|m| m.severity == crate::Severity::Error);
            let what = first.map_or_else(|| failed.log.clone(), |m| m.text.clone());
            let line = first.and_then(|m| m.line).map(|l| format!(", line {l}")).unwrap_or_default();
            Err(Stopped::Broken(format!("The kernels do not compile for {}{line}: {what}", failed.arch)))
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
            let mut all: Vec<u32> = words.chain(original.globals.iter().copied()).collect();
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

/// The host's memory, and what it held at first of that which the steps change.
struct Host {
    memory: Vec<Vec<u8>>,
    first: BTreeMap<usize, Vec<u8>>,
}

impl Host {
    fn make(bundle: &Bundle) -> Result<Host, Stopped> {
        let mut memory = Vec::new();
        for m in &bundle.host {
            memory.push(m.make().ok_or_else(|| {
                let reason = format!("The {} bytes of `{}` could not be made there.", m.bytes, m.name);
                let next = "Give smaller sizes (-s n=…).";
                Unavailable::new(UnavailableKind::MemoryLimit, reason, next)
            })?);
        }
        let mut first = BTreeMap::new();
        for step in &bundle.steps {
            if let Step::FromDevice { to, .. } | Step::OnHost { to, .. } = step {
                let at = to.memory as usize;
                if bundle.host[at].contents != Contents::Unset {
                    first.entry(at).or_insert_with(|| memory[at].clone());
                }
            }
        }
        Ok(Host { memory, first })
    }

    fn restore(&mut self) {
        for (at, bytes) in &self.first {
            self.memory[*at].copy_from_slice(bytes);
        }
    }

    fn slice(&self, p: Place, bytes: u64) -> &[u8] {
        &self.memory[p.memory as usize][p.offset as usize..][..bytes as usize]
    }

    fn slice_mut(&mut self, p: Place, bytes: u64) -> &mut [u8] {
        &mut self.memory[p.memory as usize][p.offset as usize..][..bytes as usize]
    }

    fn copy(&mut self, to: Place, from: Place, bytes: u64) {
        let (t, f, n) = (to.offset as usize, from.offset as usize, bytes as usize);
        match self.memory.get_disjoint_mut([to.memory as usize, from.memory as usize]) {
            Ok([to, from]) => to[t..t + n].copy_from_slice(&from[f..f + n]),
            // within one piece
            Err(_) => self.memory[to.memory as usize].copy_within(f..f + n, t),
        }
    }

    /// Which memory holds something else than before, by its number.
    fn changed(&self, before: &[Vec<u8>]) -> Option<usize> {
        self.first.keys().copied().find(|&at| self.memory[at] != before[at])
    }
}

/// What looks on while a bundle runs.
trait Observer {
    /// New memory; what it holds is nobody's.
    fn allocated(&mut self, _: &Device, _: Address, _bytes: u64) -> Result<(), CallFailed> {
        Ok(())
    }
    fn before_launch(&mut self, _: &Device) -> Result<(), CallFailed> {
        Ok(())
    }
    fn after_launch(&mut self, _: &Device, _kernel: &str) -> Result<(), CallFailed> {
        Ok(())
    }
    fn copied(&mut self, _to_device: bool, _bytes: &[u8], _wanted: bool, _ns: u64) {}
}

/// The first run.
struct Looking<'w> {
    wanted: &'w mut Vec<Vec<u8>>,
}

impl Observer for Looking<'_> {
    fn allocated(&mut self, device: &Device, at: Address, bytes: u64) -> Result<(), CallFailed> {
        // a kernel that leaves out an element shows it
        device.set(at, 0xCB, bytes)
    }
    fn after_launch(&mut self, device: &Device, _: &str) -> Result<(), CallFailed> {
        // what goes wrong is this launch's doing
        device.wait()
    }
    fn copied(&mut self, to_device: bool, bytes: &[u8], wanted: bool, _: u64) {
        if wanted && !to_device {
            self.wanted.push(bytes.get(..WANTED_BYTES).unwrap_or(bytes).to_vec());
        }
    }
}

struct Running<'r> {
    bundle: &'r Bundle,
    device: &'r Device,
    module: &'r Module,
    host: Host,
    cancel: &'r CancelToken,
    kernels: BTreeMap<String, Kernel>,
}

impl Running<'_> {
    /// All steps from the beginning.
    fn replay(&mut self, observer: &mut dyn Observer) -> Result<(), Stopped> {
        let mut there: Vec<Option<Address>> = Vec::new();
        let done = self.steps(&mut there, observer);
        if done.is_ok() {
            for at in there.into_iter().flatten() {
                self.device.free(at)?;
            }
            self.device.wait()?;
        }
        done
    }

    fn steps(
        &mut self,
        there: &mut Vec<Option<Address>>,
        observer: &mut dyn Observer,
    ) -> Result<(), Stopped> {
        let device = self.device;
        let address = |there: &[Option<Address>], p: &Place| match there.get(p.memory as usize) {
            Some(Some(at)) => Address(at.0.wrapping_add(p.offset)),
            _ => Address(0),
        };
        for (n, step) in self.bundle.steps.iter().enumerate() {
            if self.cancel.is_cancelled() {
                return Err(Unavailable::cancelled().into());
            }
            match step {
                Step::Allocate { bytes } => {
                    let at = device.allocate(*bytes)?;
                    there.push(Some(at));
                    observer.allocated(device, at, *bytes)?;
                }
                Step::Free { memory } => {
                    if let Some(at) = there.get_mut(*memory as usize).and_then(Option::take) {
                        device.free(at)?;
                    }
                }
                Step::ToDevice { to, from, bytes } => {
                    let from = self.host.slice(*from, *bytes);
                    let began = Instant::now();
                    device.bring(address(there, to), from)?;
                    observer.copied(true, from, false, nanoseconds(began));
                }
                Step::FromDevice { to, from, bytes, wanted } => {
                    let to = self.host.slice_mut(*to, *bytes);
                    device.wait()?;
                    let began = Instant::now();
                    device.fetch(to, address(there, from))?;
                    observer.copied(false, to, *wanted, nanoseconds(began));
                }
                Step::OnDevice { to, from, bytes } => {
                    device.on_device(address(there, to), address(there, from), *bytes)?;
                }
                Step::Set { to, byte, bytes } => device.set(address(there, to), *byte, *bytes)?,
                Step::OnHost { to, from, bytes } => {
                    self.host.copy(*to, *from, *bytes);
                }
                Step::Launch { kernel, grid, block, shared_bytes, arguments } => {
                    let arguments: Vec<Vec<u8>> = arguments
                        .iter()
                        .map(|a| match a {
                            Argument::Value { hex } => bundle::unhex(hex).unwrap_or_default(),
                            Argument::Memory { place } => address(there, place).0.to_le_bytes().to_vec(),
                        })
                        .collect();
                    let k = self.kernel(kernel, *shared_bytes)?;
                    observer.before_launch(device)?;
                    device
                        .launch(k, (*grid, *block), *shared_bytes, &arguments)
                        .and_then(|()| observer.after_launch(device, kernel))
                        .map_err(|e| stopped_in(kernel, n, &e))?;
                }
            }
        }
        device
            .wait()
            .map_err(|e| Stopped::Broken(format!("A kernel failed on the GPU: {} ({}).", e.words, e.name)))
    }

    fn kernel(&mut self, name: &str, shared_bytes: u32) -> Result<Kernel, Stopped> {
        if let Some(k) = self.kernels.get(name) {
            return Ok(*k);
        }
        let k = self.device.kernel(self.module, name)?;
        if shared_bytes > 48 << 10 {
            self.device.allow_shared(k, shared_bytes)?;
        }
        self.kernels.insert(name.to_owned(), k);
        Ok(k)
    }
}

/// A kernel that takes too long says nothing of its results.
fn stopped_in(kernel: &str, step: usize, e: &CallFailed) -> Stopped {
    let words = format!("The GPU stopped the kernel `{kernel}` (step {step}): {} ({}).", e.words, e.name);
    if e.is_too_long() {
        let next = "Give smaller sizes (-s n=…), or look for a kernel that does not end.";
        return Unavailable::new(UnavailableKind::TimeLimit, words, next).into();
    }
    Stopped::Broken(words)
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
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
            running.host.restore();
            let call = Instant::now();
            running.replay(&mut timing)?;
            let call_ns = nanoseconds(call);
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
