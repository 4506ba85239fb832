//! Memory of a replay: objects with cells that are made when they are first touched.

use std::collections::BTreeMap;

use super::inputs::Owner;
use super::layout::Bits;
use super::values::{Address, Value};

/// What a cell holds that nobody has written since.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Rest {
    Input(Owner),
    Zero,
    /// Indeterminate, or not followed.
    Any,
}

#[derive(Clone, Debug)]
struct Cell {
    size: i64,
    value: Value,
}

#[derive(Clone, Debug)]
pub(super) struct ReplayObject {
    cells: BTreeMap<i64, Cell>,
    /// Bit-fields, by their first bit: width and value. Their bytes hold no cells.
    bits: BTreeMap<i64, (u32, Value)>,
    rest: Rest,
    /// Stretches that hold something else than `rest`; the last one that covers a byte counts.
    stretches: Vec<(i64, i64, Rest)>,
    /// Bytes, where they are known: no other may be touched.
    pub size: Option<i64>,
    /// A variable that nothing but its name reaches.
    pub own: bool,
    /// The input pointer that led here first.
    pub behind: Option<u32>,
}

/// What was found at a place.
pub(super) enum Contents {
    Value(Value),
    /// Nothing was written there.
    Rest(Rest),
    /// Parts of other cells.
    Mixed,
}

/// Cells are at most so large.
const LARGEST: i64 = 16;

#[derive(Default)]
pub(super) struct Memory {
    pub objects: Vec<ReplayObject>,
}

impl ReplayObject {
    pub fn new(rest: Rest, size: Option<i64>) -> ReplayObject {
        let (cells, bits, stretches) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        ReplayObject { cells, bits, rest, stretches, size, own: false, behind: None }
    }
    fn overlapping(&self, at: i64, size: i64) -> impl Iterator<Item = (&i64, &Cell)> {
        self.cells.range(at - LARGEST + 1..at + size.max(1)).filter(move |(k, c)| *k + c.size > at)
    }
    /// The bit-fields in these bits.
    fn bits_in(&self, from: i64, to: i64) -> impl Iterator<Item = (i64, u32)> + '_ {
        let all = (!self.bits.is_empty()).then(|| self.bits.range(from.saturating_sub(64)..to));
        all.into_iter().flatten().map(|(k, b)| (*k, b.0)).filter(move |(k, w)| k + i64::from(*w) > from)
    }
    fn bits_of(at: i64, size: i64) -> (i64, i64) {
        (at.saturating_mul(8), at.saturating_add(size).saturating_mul(8))
    }
    /// Bytes that are no longer made of bit-fields.
    fn end_bits(&mut self, at: i64, size: i64) {
        if self.bits.is_empty() {
            return;
        }
        let (from, to) = Self::bits_of(at, size);
        let over: Vec<(i64, u32)> = self.bits_in(from, to).collect();
        for (k, w) in over {
            self.bits.remove(&k);
            if k < from || k + i64::from(w) > to {
                let first = k.div_euclid(8);
                self.stretch(first, (k + i64::from(w) + 7).div_euclid(8) - first, Rest::Any);
            }
        }
    }
    pub fn load_bits(&self, at: i64, b: Bits) -> Contents {
        let first = at.saturating_mul(8).saturating_add(b.first.into());
        if self.overlapping(at, b.bytes).next().is_some() {
            return Contents::Mixed;
        }
        let mut over = self.bits_in(first, first + i64::from(b.width));
        match over.next() {
            None => self.resting(at, b.bytes),
            Some((k, w)) if (k, w) == (first, b.width) => {
                self.bits.get(&k).map_or(Contents::Mixed, |b| Contents::Value(b.1.clone()))
            }
            Some(_) => Contents::Mixed,
        }
    }
    pub fn store_bits(&mut self, at: i64, b: Bits, value: Value) {
        let first = at.saturating_mul(8).saturating_add(b.first.into());
        let cells: Vec<(i64, i64)> = self.overlapping(at, b.bytes).map(|(k, c)| (*k, c.size)).collect();
        for (k, n) in cells {
            self.cells.remove(&k);
            self.stretch(k, n, Rest::Any);
        }
        let over: Vec<(i64, u32)> = self.bits_in(first, first + i64::from(b.width)).collect();
        for (k, w) in over {
            self.bits.remove(&k);
            if (k, w) != (first, b.width) {
                let byte = k.div_euclid(8);
                self.stretch(byte, (k + i64::from(w) + 7).div_euclid(8) - byte, Rest::Any);
            }
        }
        self.bits.insert(first, (b.width, value));
    }
    pub fn load(&self, at: i64, size: i64) -> Contents {
        let (from, to) = Self::bits_of(at, size);
        if self.bits_in(from, to).next().is_some() {
            return Contents::Mixed;
        }
        let mut over = self.overlapping(at, size);
        match (over.next(), over.next()) {
            (None, _) => self.resting(at, size),
            (Some((&k, c)), None) if k == at && c.size == size => Contents::Value(c.value.clone()),
            _ => Contents::Mixed,
        }
    }
    /// What lies there that nobody has written.
    fn resting(&self, at: i64, size: i64) -> Contents {
        let covering = |s: &&(i64, i64, Rest)| s.0 < at.saturating_add(size) && at < s.0.saturating_add(s.1);
        match self.stretches.iter().rev().find(covering) {
            Some((from, n, rest)) if *from <= at && at + size <= from.saturating_add(*n) => {
                Contents::Rest(rest.clone())
            }
            Some(_) => Contents::Mixed,
            None => Contents::Rest(self.rest.clone()),
        }
    }
    pub fn store(&mut self, at: i64, size: i64, value: Value) {
        self.end_bits(at, size);
        if let Some(c) = self.cells.get_mut(&at).filter(|c| c.size == size) {
            c.value = value;
            return;
        }
        let over: Vec<(i64, i64)> = self.overlapping(at, size).map(|(k, c)| (*k, c.size)).collect();
        for (k, n) in over {
            self.cells.remove(&k);
            self.stretch(k, n, Rest::Any);
        }
        self.cells.insert(at, Cell { size, value });
    }
    /// From here on the stretch holds this.
    pub fn fill(&mut self, at: i64, size: i64, rest: Rest) {
        if self.size.is_some_and(|n| at <= 0 && at.saturating_add(size) >= n) {
            return self.refill(rest);
        }
        self.end_bits(at, size);
        let over: Vec<(i64, i64)> = self.overlapping(at, size).map(|(k, c)| (*k, c.size)).collect();
        for (k, n) in over {
            self.cells.remove(&k);
            if k < at || k + n > at.saturating_add(size) {
                self.stretch(k, n, Rest::Any);
            }
        }
        self.stretch(at, size, rest);
    }
    fn stretch(&mut self, at: i64, size: i64, rest: Rest) {
        self.stretches.retain(|s| !(at <= s.0 && s.0 + s.1 <= at.saturating_add(size)));
        self.stretches.push((at, size, rest));
        if self.stretches.len() > 64 {
            self.refill(Rest::Any);
        }
    }
    /// From here on all of it holds this.
    pub fn refill(&mut self, rest: Rest) {
        self.cells.clear();
        self.bits.clear();
        self.stretches.clear();
        self.rest = rest;
    }
    /// The same bytes as another object's, from other places on.
    pub fn copy_from(&mut self, to: i64, other: &ReplayObject, from: i64, size: i64) {
        self.fill(to, size, Rest::Any);
        for (k, c) in other.cells.range(from..from.saturating_add(size)) {
            if k + c.size <= from.saturating_add(size) {
                self.store(to + (k - from), c.size, c.value.clone());
            }
        }
        let ((first, last), moved) = (Self::bits_of(from, size), (to - from).saturating_mul(8));
        for (k, w) in other.bits_in(first, last) {
            if let Some((_, v)) = other.bits.get(&k).filter(|_| k >= first && k + i64::from(w) <= last) {
                self.bits.insert(k + moved, (w, v.clone()));
            }
        }
    }
}

impl Memory {
    pub fn add(&mut self, object: ReplayObject) -> u32 {
        self.objects.push(object);
        (self.objects.len() - 1) as u32
    }
    pub fn at(&mut self, a: Address) -> Option<&mut ReplayObject> {
        self.objects.get_mut(a.object as usize)
    }
}
