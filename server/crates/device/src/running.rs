//! One run of a bundle: the host's steps one by one, or the host's program itself ([`crate::hosted`]), with somebody who looks on.
//!
//! Deliberately absent: how often, and what is made of it.

use crate::bundle::{self, Argument, Bundle, Contents, Place, Step};
use crate::gpu::{Address, CallFailed, Device, Kernel, Module};
use crate::hosted::Hosted;
use crate::limits::measure::WANTED_BYTES;
use crate::{Unavailable, UnavailableKind};
use base::CancelToken;
use std::collections::BTreeMap;
use std::time::Instant;

/// Why a run did not come to its end.
pub(crate) enum Stopped {
    Broken(String),
    /// The compiler takes no kernel of it.
    Uncompiled(String),
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

/// The host's memory, and what it held at first of that which the steps change.
pub(crate) struct Host {
    pub memory: Vec<Vec<u8>>,
    first: BTreeMap<usize, Vec<u8>>,
}

impl Host {
    pub fn make(bundle: &Bundle, all_change: bool) -> Result<Host, Stopped> {
        let mut memory = Vec::new();
        for m in &bundle.host {
            memory.push(m.make().ok_or_else(|| {
                let reason = format!("The {} bytes of `{}` could not be made there.", m.bytes, m.name);
                let next = "Give smaller sizes (-s n=…).";
                Unavailable::new(UnavailableKind::MemoryLimit, reason, next)
            })?);
        }
        let mut first = BTreeMap::new();
        if all_change {
            first = memory.iter().cloned().enumerate().collect();
        }
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

    pub fn restore(&mut self) {
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
    pub fn changed(&self, before: &[Vec<u8>]) -> Option<usize> {
        self.first.keys().copied().find(|&at| self.memory[at] != before[at])
    }
}

/// What looks on while a bundle runs.
pub(crate) trait Observer {
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
pub(crate) struct Looking<'w> {
    pub wanted: &'w mut Vec<Vec<u8>>,
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

/// What a run needs.
pub(crate) struct Running<'r> {
    pub bundle: &'r Bundle,
    pub device: &'r Device,
    pub module: &'r Module,
    pub host: Host,
    pub cancel: &'r CancelToken,
    pub kernels: BTreeMap<String, Kernel>,
    /// The names of kernels for the driver, by those that they are launched by, where these are others.
    pub compiled_as: BTreeMap<String, String>,
    /// The host's program, where its steps do not tell all.
    pub hosted: Option<Hosted>,
    /// What the function returned in the last run of the program, as a word.
    pub value: Option<u64>,
}

impl Running<'_> {
    /// All from the beginning, with the host's memory as it was at first. Gives what it took.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<u64, Stopped> {
        self.host.restore();
        match self.hosted.take() {
            Some(hosted) => {
                let ran = hosted.run(self, observer);
                self.hosted = Some(hosted);
                let (ns, value) = ran?;
                self.value = Some(value);
                Ok(ns)
            }
            None => {
                let began = Instant::now();
                self.replay(observer)?;
                Ok(nanoseconds(began))
            }
        }
    }

    /// All steps.
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
                        .map_err(|e| stopped_in(kernel, &format!(" (step {n})"), &e))?;
                }
            }
        }
        device
            .wait()
            .map_err(|e| Stopped::Broken(format!("A kernel failed on the GPU: {} ({}).", e.words, e.name)))
    }

    pub fn kernel(&mut self, name: &str, shared_bytes: u32) -> Result<Kernel, Stopped> {
        if let Some(k) = self.kernels.get(name) {
            return Ok(*k);
        }
        let k = self.device.kernel(self.module, self.compiled_as.get(name).map_or(name, String::as_str))?;
        if shared_bytes > 48 << 10 {
            self.device.allow_shared(k, shared_bytes)?;
        }
        self.kernels.insert(name.to_owned(), k);
        Ok(k)
    }
}

/// A kernel that takes too long says nothing of its results.
pub(crate) fn stopped_in(kernel: &str, place: &str, e: &CallFailed) -> Stopped {
    let words = format!("The GPU stopped the kernel `{kernel}`{place}: {} ({}).", e.words, e.name);
    if e.is_too_long() {
        let next = "Give smaller sizes (-s n=…), or look for a kernel that does not end.";
        return Unavailable::new(UnavailableKind::TimeLimit, words, next).into();
    }
    Stopped::Broken(words)
}

pub(crate) fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
