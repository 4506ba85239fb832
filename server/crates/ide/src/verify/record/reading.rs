//! From what a run told to steps: addresses become pieces of memory and bytes of them.

use rustc_hash::FxHashMap;
use simulate::{locate, ObjectId, Skipped, Value};

use super::{plain, Holds, HostPiece, HostStep, KernelArgument, Run, Spot};

type ReadRun = (Vec<HostPiece>, Result<Vec<HostStep>, String>);

/// The host's memory and its steps; or why these cannot be done by somebody else, a sentence. `Err`: why nothing is known, likewise.
pub(super) fn read(run: &Run) -> Result<ReadRun, String> {
    let mut reading = Reading {
        run,
        host: Vec::new(),
        pieces: FxHashMap::default(),
        device: FxHashMap::default(),
        allocations: Vec::new(),
        steps: Vec::new(),
        refused: None,
    };
    for (o, s) in &run.stands {
        let piece = HostPiece {
            name: s.name.to_string(),
            bytes: s.fixed.or(s.real).unwrap_or(0),
            holds: Holds::Made(s.made.clone()),
        };
        reading.pieces.insert(*o, reading.host.len());
        reading.host.push(piece);
    }
    let mut launches = run.launches.iter().peekable();
    for (n, told) in run.told.iter().enumerate() {
        while let Some((_, l)) = launches.next_if(|l| l.0 <= n) {
            reading.launch(l);
        }
        reading.step(*told)?;
    }
    for (_, l) in launches {
        reading.launch(l);
    }
    // elements are whole
    for piece in &mut reading.host {
        if let Holds::Made(made) = &piece.holds {
            piece.bytes = piece.bytes.next_multiple_of(made.element_bytes.max(1));
        }
    }
    Ok((reading.host, reading.refused.map_or(Ok(reading.steps), Err)))
}

struct Reading<'r> {
    run: &'r Run,
    host: Vec<HostPiece>,
    /// The host's pieces, and the device's allocations, by their objects.
    pieces: FxHashMap<ObjectId, usize>,
    device: FxHashMap<ObjectId, usize>,
    /// Bytes of the device's allocations.
    allocations: Vec<u64>,
    steps: Vec<HostStep>,
    /// Why some launch is known to the host alone.
    refused: Option<String>,
}

impl Reading<'_> {
    fn step(&mut self, [what, to, from, bytes, more]: [u64; 5]) -> Result<(), String> {
        let step = match what {
            1 => {
                let (o, _) = locate(to).ok_or("The host's part allocates nothing.")?;
                self.device.insert(o, self.allocations.len());
                self.allocations.push(bytes);
                HostStep::Allocate { bytes }
            }
            2 => HostStep::Free { memory: self.on_device(to, 0)?.memory },
            4 => HostStep::ToDevice {
                to: self.on_device(to, bytes)?,
                from: self.sent(from, bytes, more)?,
                bytes,
            },
            5 => HostStep::FromDevice {
                from: self.on_device(from, bytes)?,
                to: self.on_host(to, bytes)?,
                bytes,
                wanted: more == 1 && !self.is_callers(to),
            },
            6 => HostStep::OnDevice {
                to: self.on_device(to, bytes)?,
                from: self.on_device(from, bytes)?,
                bytes,
            },
            7 => HostStep::Set { to: self.on_device(to, bytes)?, byte: more as u8, bytes },
            8 => {
                HostStep::OnHost { to: self.on_host(to, bytes)?, from: self.sent(from, bytes, more)?, bytes }
            }
            _ => return Err("The host's part copies in no known direction.".to_owned()),
        };
        self.steps.push(step);
        Ok(())
    }

    fn launch(&mut self, l: &Skipped) {
        match self.arguments(l) {
            Ok(arguments) => self.steps.push(HostStep::Launch {
                kernel: l.kernel.to_string(),
                grid: l.launch.grid,
                block: l.launch.block,
                shared_bytes: l.launch.shared_bytes,
                arguments,
            }),
            Err(why) => self.refused = Some(why),
        }
    }

    fn arguments(&self, l: &Skipped) -> Result<Vec<KernelArgument>, String> {
        let mut arguments = Vec::new();
        for (kind, value) in &l.args {
            arguments.push(match value {
                Value::Pointer(o, at) => match self.device.get(o) {
                    Some(&memory) => {
                        let offset = u64::try_from(*at).map_err(|_| BEFORE.to_owned())?;
                        KernelArgument::Device(Spot { memory, offset })
                    }
                    None => return Err(format!("The kernel `{}` gets memory of the host.", l.kernel)),
                },
                other => KernelArgument::Plain(plain(kind, other).ok_or_else(|| {
                    format!("An argument of the kernel `{}` is of a kind that is not sent yet.", l.kernel)
                })?),
            });
        }
        Ok(arguments)
    }

    fn on_device(&self, address: u64, bytes: u64) -> Result<Spot, String> {
        let found = locate(address).and_then(|(o, at)| Some((*self.device.get(&o)?, at)));
        let (memory, at) = found.ok_or("The host's part uses memory of the device that it does not have.")?;
        let offset = u64::try_from(at).map_err(|_| BEFORE.to_owned())?;
        let end = offset.checked_add(bytes);
        match end.is_some_and(|end| end <= self.allocations[memory]) {
            true => Ok(Spot { memory, offset }),
            false => Err("The host's part goes beyond its memory of the device.".to_owned()),
        }
    }

    /// A place of the host's, which grows with what is used of it.
    fn on_host(&mut self, address: u64, bytes: u64) -> Result<Spot, String> {
        let (o, at) = locate(address).ok_or("The host's part copies from or to nowhere.")?;
        let offset = u64::try_from(at).map_err(|_| BEFORE.to_owned())?;
        let (host, names) = (&mut self.host, &self.run.names);
        let memory = *self.pieces.entry(o).or_insert_with(|| {
            let name = names.get(&o).map_or_else(|| "memory".to_owned(), |n| n.to_string());
            host.push(HostPiece { name, bytes: 0, holds: Holds::Nothing });
            host.len() - 1
        });
        let piece = &mut self.host[memory];
        piece.bytes = piece.bytes.max(offset.saturating_add(bytes));
        Ok(Spot { memory, offset })
    }

    /// Whether it is memory of the function's caller.
    fn is_callers(&self, address: u64) -> bool {
        locate(address).is_some_and(|(o, _)| self.run.stands.iter().any(|s| s.0 == o))
    }

    /// What goes to the device: of memory that the host has, its bytes come along.
    fn sent(&mut self, from: u64, bytes: u64, more: u64) -> Result<Spot, String> {
        if more == u64::MAX && !self.is_callers(from) {
            self.refused = Some("The host sends more memory of its own than is taken along.".to_owned());
            return self.on_host(from, bytes);
        }
        let saved = more.checked_sub(1).filter(|_| !self.is_callers(from)).and_then(|at| {
            self.run.saved.get(usize::try_from(at).ok()?..)?.get(..usize::try_from(bytes).ok()?)
        });
        match saved {
            Some(bytes) => {
                let (name, size) = ("memory of the host".to_owned(), bytes.len() as u64);
                self.host.push(HostPiece { name, bytes: size, holds: Holds::These(bytes.to_vec()) });
                Ok(Spot { memory: self.host.len() - 1, offset: 0 })
            }
            None => self.on_host(from, bytes),
        }
    }
}

const BEFORE: &str = "An array is used before the element that its pointer points to; such loops are not run on a GPU from here yet.";
