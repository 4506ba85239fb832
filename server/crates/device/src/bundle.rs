//! A bundle: everything that a machine needs to run what a loop became, as plain data. Kernels as text; what the host does
//! with the device's memory, in order; how the host's memory is made; and a C program that does what the loop did.
//!
//! Large memory is never sent: it is made where the bundle runs, from seed and rule ([`base::Made`]), and compared there.
//! A bundle comes from outside: all places in it are looked at before anything is done ([`Bundle::check`]).
//!
//! Deliberately absent: loops, and what computes the same.

use crate::{Arch, Unavailable, UnavailableKind};
use base::{Made, Scalar};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// See the module.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bundle {
    /// For messages, such as `saxpy, line 2`.
    pub name: String,
    /// CUDA C++ that NVRTC takes.
    pub source: String,
    /// As in [`crate::CompileRequest::fmad`].
    #[serde(default)]
    pub fmad: Option<bool>,
    /// As in [`crate::CompileRequest::options`].
    #[serde(default)]
    pub options: Vec<String>,
    /// For which architecture; `None`: the GPU's own.
    #[serde(default)]
    pub arch: Option<Arch>,
    /// As in [`crate::CompileRequest::library`].
    #[serde(default)]
    pub library: Option<PathBuf>,
    /// Pieces of the host's memory.
    pub host: Vec<HostMemory>,
    /// What the host does, in order.
    pub steps: Vec<Step>,
    /// The original.
    #[serde(default)]
    pub original: Option<Original>,
    /// The host's part itself, where the steps do not tell all that it does (or there are none).
    #[serde(default)]
    pub program: Option<Program>,
    /// What memory of the host must hold behind the steps where there is no original: by its number in `host`, in hexadecimal.
    #[serde(default)]
    pub expected: Vec<(u32, String)>,
    /// It is run once and compared; nothing is timed.
    #[serde(default)]
    pub untimed: bool,
    /// How far floating results may lie apart, relative, or absolute below 1; 0: not at all.
    #[serde(default)]
    pub tolerance: f64,
    /// Wall-clock limit of everything, in milliseconds.
    #[serde(default)]
    pub limit_ms: Option<u64>,
}

/// A piece of the host's memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostMemory {
    /// What it is called in the program.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// What it holds at first.
    pub contents: Contents,
    /// Addresses in it: where, and of what.
    #[serde(default)]
    pub links: Vec<(u64, Place)>,
    /// Numbers in an element, and the element's bytes: how it is compared. Empty: byte by byte.
    #[serde(default)]
    pub scalars: Vec<(u64, Number)>,
    #[serde(default)]
    pub element_bytes: u64,
}

/// What memory holds at first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Contents {
    /// Made up; see [`base::Made`].
    Made { seed: u64, below: u64 },
    /// These bytes, in hexadecimal, and zeros behind them.
    Bytes { hex: String },
    /// Nothing anybody reads.
    Unset,
}

/// A kind of number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Number {
    Whole1,
    Whole2,
    Whole4,
    Whole8,
    Truth,
    F32,
    F64,
}

impl Number {
    /// As `base` knows it.
    pub fn scalar(self) -> Scalar {
        match self {
            Number::Whole1 => Scalar::Whole(1),
            Number::Whole2 => Scalar::Whole(2),
            Number::Whole4 => Scalar::Whole(4),
            Number::Whole8 => Scalar::Whole(8),
            Number::Truth => Scalar::Truth,
            Number::F32 => Scalar::F32,
            Number::F64 => Scalar::F64,
        }
    }
}

/// A byte of a piece of memory: the host's by its number in [`Bundle::host`], the device's by its allocation's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    pub memory: u32,
    #[serde(default)]
    pub offset: u64,
}

/// One thing that the host does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Step {
    /// Memory of the device, numbered from 0 in the order of these.
    Allocate {
        bytes: u64,
    },
    Free {
        memory: u32,
    },
    ToDevice {
        to: Place,
        from: Place,
        bytes: u64,
    },
    FromDevice {
        to: Place,
        from: Place,
        bytes: u64,
        /// Whether the bytes are wanted as they are: whoever asked goes on with them.
        #[serde(default)]
        wanted: bool,
    },
    OnDevice {
        to: Place,
        from: Place,
        bytes: u64,
    },
    Set {
        to: Place,
        byte: u8,
        bytes: u64,
    },
    /// From the host's memory to the host's.
    OnHost {
        to: Place,
        from: Place,
        bytes: u64,
    },
    Launch {
        kernel: String,
        grid: [u32; 3],
        block: [u32; 3],
        #[serde(default)]
        shared_bytes: u32,
        arguments: Vec<Argument>,
    },
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Argument {
    /// By value: its bytes, little-endian, in hexadecimal.
    Value { hex: String },
    /// An address of the device.
    Memory { place: Place },
}

/// The original as C texts with a function `ww_native_call` that calls it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Original {
    /// Each with the options of its own.
    pub texts: Vec<(String, Vec<String>)>,
    /// What `ww_native_call` gets, in order.
    pub arguments: Vec<Word>,
    /// Of [`Bundle::host`] those that `ww_native_global` gives the places of, by their number there.
    pub globals: Vec<u32>,
}

/// The rewritten program, to be run where the bundle runs. It is called as the original is, and so are its file-scope variables.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// Why the steps are not enough, a phrase.
    pub because: String,
    /// C, each with the options of its own; one has `ww_native_call`.
    pub texts: Vec<(String, Vec<String>)>,
    /// C++: the kernels' files, their launches calls of `ww_launch_there`, which takes what `ww_launch` of `include` does but for the
    /// kernel itself and its arguments in place of a function.
    pub kernels: Vec<String>,
    /// What they include, by their names, and which of it is wanted before kernels.
    pub headers: Vec<(String, String)>,
    pub include: String,
}

/// An argument of the original.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Word {
    Whole {
        value: i64,
    },
    /// By its bits.
    Floating {
        bits: u64,
    },
    Memory {
        place: Place,
    },
}

impl Eq for Word {}

/// Bytes from hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    text.as_bytes().chunks(2).map(|p| Some(digit(p[0])? << 4 | digit(*p.get(1)?)?)).collect()
}

/// Hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

impl HostMemory {
    /// Makes it.
    pub(crate) fn make(&self) -> Option<Vec<u8>> {
        let size = usize::try_from(self.bytes).ok()?;
        let mut out = Vec::new();
        out.try_reserve_exact(size).ok()?;
        match &self.contents {
            Contents::Made { seed, below } => {
                out.resize(size, 0);
                let scalars = self.scalars.iter().map(|(at, n)| (*at, n.scalar())).collect();
                let (seed, below, element_bytes) = (*seed, *below, self.element_bytes);
                Made { seed, element_bytes, scalars, below }.fill(&mut out);
            }
            Contents::Bytes { hex } => {
                out = unhex(hex)?;
                out.resize(size, 0);
            }
            Contents::Unset => out.resize(size, 0xCB),
        }
        Some(out)
    }
}

impl Bundle {
    /// Bytes of the host's memory, and the most of the device's at once.
    pub fn sizes(&self) -> (u64, u64) {
        let host = self.host.iter().fold(0u64, |sum, m| sum.saturating_add(m.bytes));
        let (mut made, mut now, mut most) = (Vec::new(), 0u64, 0u64);
        for s in &self.steps {
            match s {
                Step::Allocate { bytes } => {
                    made.push(*bytes);
                    now = now.saturating_add(*bytes);
                    most = most.max(now);
                }
                Step::Free { memory } => {
                    now = now.saturating_sub(made.get(*memory as usize).copied().unwrap_or(0));
                }
                _ => {}
            }
        }
        (host, most)
    }

    /// Looks at all places in it. `Err`: what is wrong.
    pub fn check(&self) -> Result<(), Unavailable> {
        self.wrong().map_or(Ok(()), |what| {
            let reason = format!("The bundle is no bundle: {what}.");
            Err(Unavailable::new(
                UnavailableKind::Worker,
                reason,
                "Install the same version on both machines.",
            ))
        })
    }

    fn wrong(&self) -> Option<String> {
        let host: Vec<u64> = self.host.iter().map(|m| m.bytes).collect();
        let fits = |all: &[Option<u64>], p: &Place, bytes: u64| {
            let size = all.get(p.memory as usize).copied().flatten();
            size.is_some_and(|size| p.offset.checked_add(bytes).is_some_and(|end| end <= size))
        };
        let here: Vec<Option<u64>> = host.iter().map(|b| Some(*b)).collect();
        let mut there: Vec<Option<u64>> = Vec::new();
        for (n, step) in self.steps.iter().enumerate() {
            let is_right = match step {
                Step::Allocate { bytes } => {
                    there.push(Some(*bytes));
                    *bytes > 0
                }
                Step::Free { memory } => there.get_mut(*memory as usize).and_then(Option::take).is_some(),
                Step::ToDevice { to, from, bytes } => fits(&there, to, *bytes) && fits(&here, from, *bytes),
                Step::FromDevice { to, from, bytes, .. } => {
                    fits(&here, to, *bytes) && fits(&there, from, *bytes)
                }
                Step::OnDevice { to, from, bytes } => fits(&there, to, *bytes) && fits(&there, from, *bytes),
                Step::Set { to, bytes, .. } => fits(&there, to, *bytes),
                Step::OnHost { to, from, bytes } => fits(&here, to, *bytes) && fits(&here, from, *bytes),
                Step::Launch { arguments, .. } => arguments.iter().all(|a| match a {
                    Argument::Value { hex } => unhex(hex).is_some_and(|b| !b.is_empty()),
                    Argument::Memory { place } => fits(&there, place, 0),
                }),
            };
            if !is_right {
                return Some(format!("step {n} is outside of memory"));
            }
        }
        let original = self.original.iter();
        let words = original.clone().flat_map(|o| &o.arguments);
        let (fits, here) = (&fits, &here);
        let of_words = words.filter_map(|w| match w {
            Word::Memory { place } => Some(fits(here, place, 0)),
            _ => None,
        });
        let of_globals = original.flat_map(|o| &o.globals).map(|g| (*g as usize) < host.len());
        let of_links = self.host.iter().flat_map(|m| {
            let has_room = |at: u64| at.checked_add(8).is_some_and(|end| end <= m.bytes);
            m.links.iter().map(move |(at, to)| has_room(*at) && fits(here, to, 0))
        });
        let of_expected = self.expected.iter().map(|(at, hex)| {
            host.get(*at as usize).is_some_and(|bytes| hex.len() as u64 / 2 == *bytes && unhex(hex).is_some())
        });
        if !of_expected.clone().all(|fits| fits) {
            return Some("what memory must hold is another memory's".to_owned());
        }
        let all_fit = of_words.chain(of_globals).chain(of_links).all(|fits| fits);
        (!all_fit).then(|| "the original is called with no memory of it".to_owned())
    }
}
