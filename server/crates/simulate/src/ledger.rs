//! Which side has the newest value of a cell, and what each transfer was good for.
//!
//! Host and device have memory of their own ([`crate::Memory::keep_apart`]); a transfer makes two cells a pair. Every byte of
//! what takes part has a version, a number that each write makes anew and a transfer hands on. A read of a byte whose
//! pair holds a newer version is stale. What a byte was brought by is remembered with it, so that a read says which
//! transfers were needed for it:
//!
//! ```text
//! host   a[3] v7  ──copy #0──▶  device a[3] v7 {#0}      kernel writes: v9 {}
//! host   a[3] v9 {#1}  ◀──copy #1──  device a[3] v9      host reads: #1 was needed; nobody read #0
//! ```
//!
//! A transfer that finds the same version at its target changes nothing there; but if others of its bytes are needed, it
//! would have brought something else without the transfers before it, so these are needed, too. A copy on one side
//! (`memcpy`) hands on what is known of the bytes.
//!
//! This is the rule of copy placement, held against a run: between a write on one side and a read on the other
//! there is a transfer, and every transfer is read. Deliberately absent: how the text came to be, and what another
//! input would show.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use term::TermId;

use crate::code::{Code, DeviceOp};
use crate::exec::{Access, AccessKind, Hooks};
use crate::limits::ledger::{MOST_BYTES, MOST_STALE};
use crate::memory::{locate, Memory, ObjectId, Spot};

/// A place of the program that ran.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub function: Arc<str>,
    pub term: TermId,
}

/// One copy between the sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub to_device: bool,
    /// What the host's memory is called.
    pub array: Arc<str>,
    /// Which memory of the host that is.
    pub object: ObjectId,
    pub bytes: u64,
    /// The calls that led to it, the innermost first.
    pub calls: Vec<Place>,
    /// Whether it brought anything that was not there already.
    pub changed: bool,
    /// Whether somebody read what it brought before that was overwritten. What several brought, the first of them did.
    pub needed: bool,
    /// Likewise, if the last of them did.
    pub needed_as_last: bool,
}

/// A read of a value that the other side has newer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stale {
    /// What the host's memory is called.
    pub array: Arc<str>,
    /// The byte of what was read.
    pub offset: u32,
    /// Who reads: a kernel, or the host.
    pub by_device: bool,
    /// `None`: whoever called the program, after its end.
    pub place: Option<Place>,
    /// The transfer that overwrote the newest value, if one did: the newest one is nowhere any more.
    pub overwritten_by: Option<usize>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Ledger {
    shadows: Vec<Option<Box<Shadow>>>,
    bytes: u64,
    /// The last version that was given.
    version: u32,
    nodes: Vec<Node>,
    known: FxHashMap<Node, u32>,
    /// Nodes whose bytes were read, and those for the last that brought them.
    used: Vec<bool>,
    used_last: Vec<bool>,
    transfers: Vec<Transfer>,
    /// What is needed as soon as a transfer is.
    waiting: FxHashMap<u32, Vec<u32>>,
    stale: Vec<Stale>,
    /// Functions of the code that runs, by number.
    functions: Vec<Arc<str>>,
    calls: Vec<Place>,
    on_device: bool,
    gave_up: bool,
}

/// What is known of the bytes of an object.
#[derive(Debug)]
struct Shadow {
    incarnation: u64,
    on_device: bool,
    version: Vec<u32>,
    /// The newest version of the byte and of the one it is a pair with.
    newest: Vec<u32>,
    /// Object and byte that it was last copied to or from; pairs name each other.
    pair: Vec<(u32, u32)>,
    node: Vec<u32>,
    /// Bytes whose newest version was on the device when that memory was given back.
    lost: Vec<bool>,
}

/// What brought a byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Node {
    transfer: u32,
    /// What had brought that which the transfer moved.
    from: u32,
    /// Where the transfer found at its target what it moves: what had brought that. Without the transfer it would be there
    /// as well.
    instead: Option<u32>,
}

/// No transfer; as a node: nothing but the program wrote the byte.
const NOBODY: u32 = u32::MAX;

impl Shadow {
    fn new(incarnation: u64, on_device: bool, bytes: usize) -> Shadow {
        Shadow {
            incarnation,
            on_device,
            version: vec![0; bytes],
            newest: vec![0; bytes],
            pair: vec![(0, 0); bytes],
            node: vec![NOBODY; bytes],
            lost: vec![false; bytes],
        }
    }
}

impl Ledger {
    /// All copies between the sides, in their order.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// Reads of old values.
    pub fn stale(&self) -> &[Stale] {
        &self.stale
    }

    /// Whether cells were followed to the end: memory was not too large. If not, transfers are counted and not judged.
    pub fn is_complete(&self) -> bool {
        !self.gave_up
    }

    /// Whether the newest value of some byte of an object was only on the device when that memory was given back.
    pub fn is_lost(&self, object: ObjectId) -> bool {
        self.shadow(object.0).is_some_and(|s| s.lost.contains(&true))
    }

    /// The program has ended, and its caller looks at all memory of the host's that is left, but for these.
    pub fn read_by_caller(&mut self, mem: &Memory, but: &[ObjectId]) {
        for object in (1..self.shadows.len() as u32).map(ObjectId).filter(|o| !but.contains(o)) {
            let of_host = self.current(object, mem).filter(|s| !s.on_device);
            let Some(bytes) = of_host.map(|s| s.version.len()) else { continue };
            self.read(mem, (object, 0, bytes as u32), None);
        }
    }

    /// From now on this code runs.
    pub(crate) fn enter(&mut self, code: &Code, on_device: bool) -> Vec<Arc<str>> {
        self.on_device = on_device;
        std::mem::replace(&mut self.functions, code.funcs.iter().map(|f| f.name.clone()).collect())
    }

    /// The host's code goes on.
    pub(crate) fn leave(&mut self, functions: Vec<Arc<str>>) {
        self.on_device = false;
        self.functions = functions;
    }

    fn place(&self, func: u32, term: TermId) -> Place {
        let function = self.functions.get(func as usize).cloned().unwrap_or_else(|| "".into());
        Place { function, term }
    }

    fn shadow(&self, object: u32) -> Option<&Shadow> {
        self.shadows.get(object as usize)?.as_deref()
    }

    fn shadow_mut(&mut self, object: u32) -> Option<&mut Shadow> {
        self.shadows.get_mut(object as usize)?.as_deref_mut()
    }

    /// What is known of an object that lives; what was known of another one in its place is forgotten.
    fn current(&mut self, object: ObjectId, mem: &Memory) -> Option<&Shadow> {
        let slot = self.shadows.get_mut(object.0 as usize)?;
        let shadow = slot.as_deref()?;
        let lives = mem.get(object).is_some_and(|o| o.live && o.incarnation == shadow.incarnation);
        if !lives {
            self.bytes -= shadow.version.len() as u64;
            *slot = None;
        }
        slot.as_deref()
    }

    /// Follows an object from here on. `false`: there is too much to follow.
    fn follow(&mut self, object: ObjectId, on_device: bool, mem: &Memory) -> bool {
        if self.current(object, mem).is_some() {
            return true;
        }
        let Some(o) = mem.get(object) else { return false };
        let bytes = o.data.len();
        self.bytes += bytes as u64;
        if self.bytes > MOST_BYTES || !self.has_versions(bytes) {
            self.give_up();
            return false;
        }
        let mut shadow = Shadow::new(o.incarnation, on_device, bytes);
        if !on_device {
            // what is there has a version of its own in every byte
            for k in 0..bytes {
                shadow.version[k] = self.version + 1 + k as u32;
                shadow.newest[k] = shadow.version[k];
            }
            self.version += bytes as u32;
        }
        let at = object.0 as usize;
        if self.shadows.len() <= at {
            self.shadows.resize_with(at + 1, || None);
        }
        self.shadows[at] = Some(Box::new(shadow));
        true
    }

    fn has_versions(&self, more: usize) -> bool {
        u32::try_from(more).is_ok_and(|n| self.version.checked_add(n).is_some_and(|v| v < u32::MAX))
    }

    fn give_up(&mut self) {
        self.gave_up = true;
        self.shadows = Vec::new();
    }

    /// Somebody reads bytes. `at`: the place, if it is one of the program.
    fn read(
        &mut self,
        mem: &Memory,
        (object, offset, size): (ObjectId, u32, u32),
        at: Option<(u32, TermId)>,
    ) {
        let Some(shadow) = self.shadow(object.0) else { return };
        let range = offset as usize..(offset + size) as usize;
        let (Some(nodes), Some(versions), Some(newest)) =
            (shadow.node.get(range.clone()), shadow.version.get(range.clone()), shadow.newest.get(range))
        else {
            return;
        };
        let old = versions.iter().zip(newest).position(|(v, n)| v < n);
        if nodes.iter().any(|&n| n != NOBODY && !self.used[n as usize]) {
            let mut brought = nodes.to_vec();
            brought.dedup();
            brought.into_iter().for_each(|n| self.was_read(n));
        }
        if let Some(old) = old {
            self.is_stale(mem, (object, offset + old as u32), at);
        }
    }

    fn is_stale(&mut self, mem: &Memory, (object, offset): (ObjectId, u32), at: Option<(u32, TermId)>) {
        let Some(shadow) = self.shadow(object.0) else { return };
        let byte = offset as usize;
        let pair = shadow.pair[byte];
        let elsewhere = self
            .shadow(pair.0)
            .and_then(|p| Some((p.pair.get(pair.1 as usize)?, p.version.get(pair.1 as usize)?)))
            .is_some_and(|(back, v)| *back == (object.0, offset) && *v == shadow.newest[byte]);
        let last = self.nodes.get(shadow.node[byte] as usize).map(|n| n.transfer as usize);
        let other = self.shadow(pair.0).and_then(|p| p.node.get(pair.1 as usize));
        let others = other.and_then(|&n| self.nodes.get(n as usize)).map(|n| n.transfer as usize);
        let overwritten_by =
            (!elsewhere).then(|| last.max(others).filter(|t| *t < self.transfers.len())).flatten();
        let by_device = shadow.on_device;
        let named = if by_device { ObjectId(pair.0) } else { object };
        let array = mem.get(named).map_or_else(|| "".into(), |o| o.name.clone());
        let place = at.map(|(func, term)| self.place(func, term));
        let same = |s: &Stale| s.array == array && s.place == place && s.by_device == by_device;
        if self.stale.len() < MOST_STALE && !self.stale.iter().any(same) {
            self.stale.push(Stale { array, offset, by_device, place, overwritten_by });
        }
    }

    /// Who brought this was needed, and who had brought that which they moved.
    fn was_read(&mut self, node: u32) {
        self.was_read_of_last(node);
        let mut left = vec![node];
        while let Some(n) = left.pop() {
            let Some(seen) = self.used.get_mut(n as usize) else { continue };
            if std::mem::replace(seen, true) {
                continue;
            }
            let Node { transfer, from, instead } = self.nodes[n as usize];
            let Some(t) = self.transfers.get_mut(transfer as usize) else { continue };
            match instead {
                Some(instead) => {
                    left.push(instead);
                    match t.needed {
                        true => left.push(from),
                        false => self.waiting.entry(transfer).or_default().push(from),
                    }
                }
                None => {
                    t.needed = true;
                    left.push(from);
                    left.extend(self.waiting.remove(&transfer).unwrap_or_default());
                }
            }
        }
    }

    fn was_read_of_last(&mut self, mut node: u32) {
        while let Some(seen) = self.used_last.get_mut(node as usize) {
            if std::mem::replace(seen, true) {
                break;
            }
            let Node { transfer, from, .. } = self.nodes[node as usize];
            if let Some(t) = self.transfers.get_mut(transfer as usize) {
                t.needed_as_last = true;
            }
            node = from;
        }
    }

    fn node(&mut self, node: Node) -> u32 {
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.used.push(false);
            self.used_last.push(false);
            (self.nodes.len() - 1) as u32
        })
    }

    /// Somebody writes bytes.
    fn written(&mut self, object: ObjectId, offset: u32, size: u32) {
        if self.shadow(object.0).is_none() {
            return;
        }
        if !self.has_versions(size as usize) {
            return self.give_up();
        }
        let first = self.version + 1;
        self.version += size;
        for k in 0..size {
            let (byte, version) = ((offset + k) as usize, first + k);
            let Some(shadow) = self.shadow_mut(object.0) else { return };
            let Some(pair) = shadow.pair.get(byte).copied() else { return };
            shadow.version[byte] = version;
            shadow.newest[byte] = version;
            shadow.node[byte] = NOBODY;
            shadow.lost[byte] = false;
            if let Some(p) = self.shadow_mut(pair.0) {
                let other = pair.1 as usize;
                if p.pair.get(other) == Some(&(object.0, offset + k)) {
                    p.newest[other] = version;
                }
            }
        }
    }

    /// Bytes went from one object to another, of which one is the device's.
    fn copied(
        &mut self,
        to: (ObjectId, u32),
        from: (ObjectId, u32),
        size: u32,
        to_device: bool,
        mem: &Memory,
    ) {
        let host = if to_device { from.0 } else { to.0 };
        let number = self.transfers.len();
        self.transfers.push(Transfer {
            to_device,
            array: mem.get(host).map_or_else(|| "".into(), |o| o.name.clone()),
            object: host,
            bytes: u64::from(size),
            calls: self.calls.iter().rev().cloned().collect(),
            changed: false,
            needed: false,
            needed_as_last: false,
        });
        if self.gave_up || !self.follow(to.0, to_device, mem) || !self.follow(from.0, !to_device, mem) {
            return;
        }
        for k in 0..size {
            let (to, from) = ((to.0, to.1 + k), (from.0, from.1 + k));
            self.transfers[number].changed |= !self.is_there(to, from);
            self.transferred(to, from, number as u32);
        }
    }

    /// Bytes went from one place of the side that runs to another.
    fn moved(&mut self, to: (ObjectId, u32), from: (ObjectId, u32), size: u32, mem: &Memory) {
        if self.current(from.0, mem).is_none() {
            if self.current(to.0, mem).is_some() {
                self.written(to.0, to.1, size);
            }
            return;
        }
        if !self.follow(to.0, self.on_device, mem) {
            return;
        }
        // what one call moves is what one transfer brought: its last home is what that is called after
        let last = self.shadow(from.0 .0).and_then(|s| s.node.get(from.1 as usize)).copied();
        let brought = last.and_then(|n| self.nodes.get(n as usize)).map(|n| n.transfer as usize);
        if let Some(t) = brought.and_then(|t| self.transfers.get_mut(t)).filter(|t| t.object == from.0) {
            t.object = to.0;
            t.array = mem.get(to.0).map_or_else(|| "".into(), |o| o.name.clone());
        }
        for k in 0..size {
            self.moved_byte((to.0, to.1 + k), (from.0, from.1 + k));
        }
    }

    fn moved_byte(&mut self, to: (ObjectId, u32), from: (ObjectId, u32)) {
        let is_there = self.is_there(to, from);
        let byte = from.1 as usize;
        let Some(source) = self.shadow(from.0 .0) else { return };
        let (version, newest, pair, brought) =
            (source.version[byte], source.newest[byte], source.pair[byte], source.node[byte]);
        let byte = to.1 as usize;
        let Some(before) = self.shadow(to.0 .0).map(|s| s.node[byte]) else { return };
        let node = match self.nodes.get(brought as usize).copied() {
            Some(n) if is_there && n.instead.is_none() => self.node(Node { instead: Some(before), ..n }),
            _ if is_there => before,
            _ => brought,
        };
        let Some(there) = self.shadow_mut(to.0 .0) else { return };
        there.version[byte] = version;
        there.newest[byte] = newest;
        there.pair[byte] = pair;
        there.node[byte] = node;
        there.lost[byte] = false;
        let is_pair = |p: &&mut Shadow| p.pair.get(pair.1 as usize) == Some(&(from.0 .0, from.1));
        if let Some(p) = self.shadow_mut(pair.0).filter(is_pair) {
            p.pair[pair.1 as usize] = (to.0 .0, to.1);
        }
    }

    /// Whether a byte has the version already that would be copied to it.
    fn is_there(&self, to: (ObjectId, u32), from: (ObjectId, u32)) -> bool {
        let version = |(o, k): (ObjectId, u32)| self.shadow(o.0)?.version.get(k as usize).copied();
        version(from).is_some_and(|v| v != 0 && version(to) == Some(v))
    }

    fn transferred(&mut self, to: (ObjectId, u32), from: (ObjectId, u32), transfer: u32) {
        let is_there = self.is_there(to, from);
        let byte = from.1 as usize;
        let Some(source) = self.shadow_mut(from.0 .0) else { return };
        let was_pair = source.pair[byte] == (to.0 .0, to.1);
        let (version, newest, brought) = (source.version[byte], source.newest[byte], source.node[byte]);
        source.pair[byte] = (to.0 .0, to.1);
        let byte = to.1 as usize;
        let Some(there) = self.shadow(to.0 .0) else { return };
        let was_pair = was_pair && there.pair[byte] == (from.0 .0, from.1);
        let newest = if was_pair { newest.max(there.newest[byte]) } else { newest };
        let before = there.node[byte];
        let node = self.node(Node { transfer, from: brought, instead: is_there.then_some(before) });
        let Some(there) = self.shadow_mut(to.0 .0) else { return };
        there.version[byte] = version;
        there.newest[byte] = newest;
        there.pair[byte] = (from.0 .0, from.1);
        there.node[byte] = node;
        there.lost[byte] = false;
        if let Some(source) = self.shadow_mut(from.0 .0) {
            source.newest[from.1 as usize] = newest;
        }
    }

    /// Memory of the device is given back. The host goes on with what it has: that is what a program does that starts over.
    fn given_back(&mut self, object: ObjectId) {
        let Some(shadow) = self.shadows.get_mut(object.0 as usize).and_then(Option::take) else { return };
        self.bytes -= shadow.version.len() as u64;
        for (k, &(host, byte)) in shadow.pair.iter().enumerate() {
            let (version, newest) = (shadow.version[k], shadow.newest[k]);
            let Some(h) = self.shadow_mut(host) else { continue };
            let byte = byte as usize;
            if h.pair.get(byte) == Some(&(object.0, k as u32)) && h.version[byte] < newest {
                h.newest[byte] = h.version[byte];
                h.lost[byte] = version == newest;
            }
        }
    }

    /// What the run time did, after it succeeded.
    fn of_device(&mut self, mem: &Memory, op: DeviceOp, args: &[u64], value: u64, at: (u32, TermId)) {
        let spot = |address: u64| locate(address).map(|(o, k)| (o, k as u32));
        match (op, args) {
            (DeviceOp::Allocate, _) => {
                if let Some((o, _)) = spot(value).filter(|_| !self.gave_up) {
                    self.follow(o, true, mem);
                }
            }
            (DeviceOp::Free, &[p]) => {
                if let Some((o, _)) = spot(p) {
                    self.given_back(o);
                }
            }
            (DeviceOp::Copy, &[to, from, bytes, direction]) if bytes > 0 => {
                let (Some(to), Some(from), Ok(size)) = (spot(to), spot(from), u32::try_from(bytes)) else {
                    return;
                };
                match direction {
                    1 | 2 => self.copied(to, from, size, direction == 1, mem),
                    _ => {
                        self.read(mem, (from.0, from.1, size), Some(at));
                        self.written(to.0, to.1, size);
                    }
                }
            }
            (DeviceOp::Fill, &[to, _, bytes]) => {
                if let (Some(to), Ok(size)) = (spot(to), u32::try_from(bytes)) {
                    self.written(to.0, to.1, size);
                }
            }
            _ => {}
        }
    }

    /// An access of whoever runs.
    pub(crate) fn touched(&mut self, mem: &Memory, a: &Access) {
        if !matches!(self.shadows.get(a.object.0 as usize), Some(Some(_)))
            || self.current(a.object, mem).is_none()
        {
            return;
        }
        if a.kind != AccessKind::Write {
            self.read(mem, (a.object, a.offset, a.size), Some((a.func, a.term)));
        }
        if a.kind != AccessKind::Read {
            self.written(a.object, a.offset, a.size);
        }
    }
}

/// The host's run, told to a ledger where there is one.
pub(crate) struct Told<'l>(pub Option<&'l mut Ledger>);

impl Hooks for Told<'_> {
    fn access(&mut self, mem: &Memory, a: Access) -> bool {
        if let Some(ledger) = &mut self.0 {
            ledger.touched(mem, &a);
        }
        false
    }

    fn copied(&mut self, mem: &Memory, to: Spot, from: Spot, size: u32) -> bool {
        let Some(ledger) = &mut self.0 else { return false };
        ledger.moved((to.0, to.1 as u32), (from.0, from.1 as u32), size, mem);
        true
    }

    fn called(&mut self, func: u32, term: TermId) {
        if let Some(ledger) = &mut self.0 {
            let place = ledger.place(func, term);
            ledger.calls.push(place);
        }
    }

    fn returned(&mut self) {
        if let Some(ledger) = &mut self.0 {
            ledger.calls.pop();
        }
    }

    fn device(&mut self, mem: &Memory, op: DeviceOp, args: &[u64], value: u64, at: (u32, TermId)) {
        if let Some(ledger) = &mut self.0 {
            ledger.of_device(mem, op, args, value, at);
        }
    }
}

#[cfg(test)]
mod tests;
