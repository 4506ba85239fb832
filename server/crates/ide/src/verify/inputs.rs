//! Inputs for a function nobody described: sizes, buffers that are just as large as the function needs, random contents.
//!
//! How large a buffer must be is not guessed: the original runs once on buffers with wide margins while its accesses are
//! watched, and the runs that are compared get buffers that end where those accesses ended. One element copied too many
//! is then an access out of bounds.

mod layout;
mod making;
mod promised;
mod signature;
mod stand_ins;
#[cfg(test)]
mod tests;

pub(crate) use layout::Layout;
pub(super) use promised::{number_of, Number};
pub(super) use signature::{signature, Global, Parameter, Signature};
pub(super) use stand_ins::stand_ins;

use making::wide;

use std::sync::Arc;

use base::Budget;
use rustc_hash::FxHashMap;
use simulate::{Access, Fault, FaultKind, Heap, Hooks, Memory, ObjectId, Program, Snapshot, Value};

pub(super) use crate::limits::verify_inputs::MOST_BYTES;
use crate::limits::verify_inputs::MOST_HELD;

/// Elements of a pointer's target in the first run, and before and after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub elements: u64,
    pub margin: u64,
}

impl Room {
    /// For the sizes that kernels are tried with.
    pub(super) const WIDE: Room = Room { elements: 1 << 17, margin: 4096 };
    /// For small sizes: contents are made up much faster.
    pub(super) const SMALL: Room = Room { elements: 1 << 13, margin: 1024 };
}

/// One input, ready to be given to any number of runs.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// Per parameter.
    pub values: Vec<Given>,
    pub buffers: Vec<Contents>,
    /// Parallel to the signature's globals.
    pub globals: Vec<Contents>,
    /// As shown to the user.
    pub text: String,
}

#[derive(Clone, Debug)]
pub(super) enum Given {
    Plain(Value),
    /// Number of the buffer and byte offset of the pointer in it.
    Pointer(usize, i64),
}

#[derive(Clone, Debug)]
pub(super) struct Contents {
    pub name: Arc<str>,
    pub layout: Layout,
    pub snapshot: Snapshot,
    /// Pointers that lie in it.
    pub links: Vec<Link>,
}

/// A pointer in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Byte offset of the pointer.
    pub at: u64,
    /// Number of the buffer it points into, and the byte offset there.
    pub buffer: usize,
    pub offset: i64,
}

/// How an input is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub size: u64,
    /// How the sizes lie to each other.
    pub sizes: Sizes,
    /// Whether pointers that may overlap do.
    pub overlap: bool,
    pub seed: u64,
    /// Where pointers point to.
    pub room: Room,
    /// Whether the function launches kernels.
    pub launches: bool,
    /// Whether numbers are not taken for sizes: negative ones and the largest occur as well.
    pub wild: bool,
    /// What memory holds.
    pub held: Held,
    /// Whether limits of types, and numbers that behave like no other (NaN, infinities, -0.0, denormals), occur.
    pub awkward: bool,
}

/// How the sizes of one input lie to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sizes {
    /// All are the size chosen.
    Equal,
    /// At most three apart.
    Near,
    /// Small ones beside large ones: a width is several times the number of its parts only so.
    Apart,
}

/// What made-up memory holds, for programs that do not take everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Held {
    /// Whole numbers below the size, floating ones on both sides of zero.
    #[default]
    Any,
    /// Whole numbers below 3, floating ones from 0 to 1.
    Gentle,
    /// Of each object by chance: all ones, all the size, or as it is gentle; integers that are handed over are one or the
    /// size. So lengths and steps behind pointers are met.
    Alike,
}

/// A heap, the arguments, and the objects of buffers and of globals.
pub(super) type Placed = (Heap, Vec<Value>, Vec<ObjectId>, Vec<ObjectId>);

impl Input {
    /// Objects with these contents, and the arguments.
    pub(super) fn place(&self, signature: &Signature) -> Result<Placed, Fault> {
        let mut heap = Heap::limited(MOST_HELD);
        let mut make = |c: &Contents| -> Result<ObjectId, Fault> {
            let least = c.layout.leaves.iter().map(|l| l.1.size()).min();
            let grain = least.unwrap_or(if c.layout.pointers.is_empty() { 1 } else { 8 }) as u32;
            let o = heap.alloc(&c.name, grain, c.snapshot.data.len() as u64 / u64::from(grain))?;
            heap.restore(o, &c.snapshot)?;
            Ok(o)
        };
        let buffers = self.buffers.iter().map(&mut make).collect::<Result<Vec<_>, _>>()?;
        let globals = self.globals.iter().map(&mut make).collect::<Result<Vec<_>, _>>()?;
        let from = self.buffers.iter().zip(&buffers).chain(self.globals.iter().zip(&globals));
        for (c, &o) in from {
            for l in &c.links {
                if let Some(&target) = buffers.get(l.buffer) {
                    heap.write_pointer(o, l.at, target, l.offset)?;
                }
            }
        }
        // what the program frees was allocated by somebody
        let pointed = self.buffers.iter().chain(&self.globals).flat_map(|c| &c.links);
        for l in pointed {
            if let Some(&o) = buffers.get(l.buffer) {
                heap.may_free(o, l.offset);
            }
        }
        for v in &self.values {
            if let Given::Pointer(b, offset) = v {
                if let Some(&o) = buffers.get(*b) {
                    heap.may_free(o, *offset);
                }
            }
        }
        for (g, &o) in signature.globals.iter().zip(&globals) {
            heap.provide(&g.name, o);
        }
        let values = self
            .values
            .iter()
            .map(|v| match v {
                Given::Plain(v) => *v,
                Given::Pointer(b, offset) => match buffers.get(*b) {
                    Some(&o) => Value::Pointer(o, *offset),
                    None => Value::Null,
                },
            })
            .collect();
        Ok((heap, values, buffers, globals))
    }
}

/// First and last byte touched in each object.
#[derive(Default)]
struct Reach {
    touched: FxHashMap<ObjectId, (u64, u64)>,
}

impl Hooks for Reach {
    fn access(&mut self, _mem: &Memory, a: Access) -> bool {
        let (first, end) = (u64::from(a.offset), u64::from(a.offset) + u64::from(a.size));
        let e = self.touched.entry(a.object).or_insert((first, end));
        e.0 = e.0.min(first);
        e.1 = e.1.max(end);
        false
    }
}

/// Whose input is made.
#[derive(Clone, Copy)]
pub(super) struct Of<'a, 'p> {
    pub program: &'a Program<'p>,
    pub function: &'a str,
    pub signature: &'a Signature,
    /// Values that somebody gave, by name.
    pub given: &'a [(String, i128)],
}

impl Of<'_, '_> {
    /// Makes an input: runs the original on wide buffers and cuts them to what it touched. `Err` says why this choice gives
    /// none (the original itself fails on it, mostly). `made` gets the bytes of the input before it is cut. Most functions touch
    /// little: much room is made up only for those that leave a little.
    pub(super) fn make(self, choice: Choice, budget: &Budget, made: &mut u64) -> Result<Input, Fault> {
        if choice.room == Room::WIDE && !choice.launches {
            let little = Choice { room: Room::SMALL, ..choice };
            match self.make_in(little, budget, made) {
                Err(Fault { kind: FaultKind::OutOfBounds { .. } | FaultKind::PointerRange, .. }) => {}
                done => return done,
            }
        }
        self.make_in(choice, budget, made)
    }

    /// The same with the room that was chosen.
    fn make_in(self, choice: Choice, budget: &Budget, made: &mut u64) -> Result<Input, Fault> {
        let mut wide = wide(self.signature, choice, self.given, made)?;
        let least = wide.keep_promises(self.signature)?;
        if choice.launches {
            // what kernels touch is not watched from here: the buffers keep their margins
            return Ok(wide.input);
        }
        let (mut heap, args, buffers, _) = wide.input.place(self.signature)?;
        let code = simulate::compile(self.program, self.function, &simulate::Options::default())?;
        let mut reach = Reach::default();
        simulate::run_code(&code, &args, &mut heap, budget, &mut reach)?;
        promised::is_within(&least, &buffers, &reach)?;
        Ok(wide.cut(&buffers, &reach, &least))
    }
}
