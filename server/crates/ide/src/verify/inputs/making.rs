//! Contents of an input in the making: which numbers, how much memory, what overlaps, and how all is cut to what a run of the
//! original touched. Deliberately absent: whose input it is.

use std::sync::Arc;

use simulate::{ElementKind, Fault, FaultKind, ObjectId, Rng, Snapshot, Value};

use super::promised::PromisedEnd;
use super::{
    Choice, Contents, Given, Held, Input, Layout, Link, Parameter, Reach, Room, Signature, Sizes, MOST_BYTES,
};
use crate::limits::verify_inputs_making::{
    INNER_MARGIN, LARGEST_BUFFER, LEAST_ROOM, SHARED_PARTS, SHARED_ROOM,
};

/// Floating numbers that behave like no other.
const AWKWARD: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    1e-45,
    2_147_483_648.0,
];

/// An input whose buffers have room on both sides.
pub(super) fn wide(
    signature: &Signature,
    choice: Choice,
    given: &[(String, i128)],
    made: &mut u64,
) -> Result<Wide, Fault> {
    let mut text = Vec::new();
    let asked = |name: &str| given.iter().find(|g| g.0 == name).map(|g| g.1);
    // arrays of the file have the size they have
    let fixed = signature.globals.iter().map(|g| g.layout.bytes.saturating_mul(g.count));
    if fixed.fold(0u64, u64::saturating_add) > MOST_BYTES {
        return Err(Fault::plain(FaultKind::MemoryLimit));
    }
    // what is reached through a restrict pointer is reached through no other
    let mut open: Vec<usize> = Vec::new();
    let wide = Input { values: Vec::new(), buffers: Vec::new(), globals: Vec::new(), text: String::new() };
    let mut w =
        Wide { input: wide, bases: Vec::new(), whole: Vec::new(), made: 0, rng: Rng(choice.seed), choice };
    for p in &signature.parameters {
        let given = match p {
            Parameter::Size { name, max, only, enters } => {
                // once in a while it is another
                let is_asked = only.is_some() || enters.is_some();
                let only = if is_asked && w.rng.below(8) == 0 { *enters } else { *only };
                let v = match (asked(name).or(only), choice.wild) {
                    (Some(v), _) => v.min(*max),
                    (None, true) => w.number(*max),
                    (None, false) => i128::from(w.size()).min(*max),
                };
                text.push(format!("{name}={v}"));
                Given::Plain(Value::Int(v))
            }
            Parameter::Real { double } => w.real(*double),
            Parameter::Whole { name, layout } => {
                let b = w.table(name, layout, &mut text, 0);
                w.whole.push(b);
                Given::Pointer(b, 0)
            }
            Parameter::Buffer { name, asked: true, .. } if w.rng.below(3) == 0 => {
                text.push(format!("{name} is null"));
                Given::Plain(Value::Null)
            }
            Parameter::Buffer { name, layout, may_alias, square, asked: _ } => {
                let shared = w.input.buffers.iter().enumerate().position(|(k, b): (usize, &Contents)| {
                    choice.overlap
                        && *may_alias
                        && open.contains(&k)
                        && layout.pointers.is_empty()
                        && b.layout.bytes == layout.bytes
                        && b.layout.uniform() == layout.uniform()
                });
                match shared {
                    Some(b) => {
                        let shift = w.rng.below(2) as i64 * layout.bytes as i64;
                        text.push(format!("{name} overlaps {}", w.input.buffers[b].name));
                        Given::Pointer(b, w.bases[b] as i64 + shift)
                    }
                    None if layout.pointers.is_empty() => {
                        let is_wide = choice.room == Room::WIDE;
                        let square = if is_wide { square.saturating_mul(layout.bytes) } else { 0 };
                        if square > MOST_BYTES.saturating_sub(w.made) {
                            return Err(Fault::plain(FaultKind::MemoryLimit));
                        }
                        let b = w.numbers(name, layout, choice.room, square);
                        if *may_alias {
                            open.push(b);
                        }
                        Given::Pointer(b, w.bases[b] as i64)
                    }
                    None => match w.same_table(layout).filter(|_| *may_alias) {
                        Some(b) => {
                            text.push(format!("{name} is {}", w.input.buffers[b].name));
                            Given::Pointer(b, 0)
                        }
                        None => Given::Pointer(w.table(name, layout, &mut text, 0), 0),
                    },
                }
            }
        };
        w.input.values.push(given);
    }
    for g in &signature.globals {
        let mut c = random(&g.name, &g.layout, g.count, choice, &mut w.rng);
        if g.is_size {
            let v = asked(&g.name).and_then(|v| u64::try_from(v).ok()).unwrap_or_else(|| w.size());
            text.push(format!("{}={v}", g.name));
            let n = c.snapshot.data.len();
            c.snapshot.data.copy_from_slice(&v.to_le_bytes()[..n]);
        }
        w.fill_pointers(&mut c, g.count, &mut text, 0);
        w.input.globals.push(c);
    }
    *made += w.made + w.input.globals.iter().map(|g| g.snapshot.data.len() as u64).sum::<u64>();
    if w.made > 2 * MOST_BYTES {
        return Err(Fault::plain(FaultKind::MemoryLimit));
    }
    w.input.text = text.join(", ");
    Ok(w)
}

/// Elements drawn for a buffer; from there on they come again. Prime, so that no row or column of a matrix looks like another.
const DRAWN: usize = 8191;

fn random(name: &Arc<str>, layout: &Layout, count: u64, choice: Choice, rng: &mut Rng) -> Contents {
    let Choice { size, awkward, held, .. } = choice;
    let bytes = (layout.bytes * count) as usize;
    let mut snapshot = Snapshot { data: vec![0; bytes], init: vec![1; bytes] };
    // Small whole numbers now and then serve as subscripts; sometimes they are negative.
    let limit = if held == Held::Any { size.max(1) as usize } else { 3 };
    let alike = match (held, rng.below(3)) {
        (Held::Alike, 0) => Some(1),
        (Held::Alike, 1) => Some(size as i64),
        _ => None,
    };
    let low = if held == Held::Any { -2.0 } else { 0.0 };
    let unit = if held == Held::Any { (1 << 18) as f64 } else { (1 << 20) as f64 };
    let drawn = bytes.min(DRAWN * layout.bytes as usize);
    for element in snapshot.data[..drawn].chunks_exact_mut(layout.bytes as usize) {
        for &(at, kind) in &layout.leaves {
            let slot = &mut element[at as usize..at as usize + kind.size()];
            let whole = rng.below(limit) as i64;
            let real = match awkward && rng.below(3) == 0 {
                true => AWKWARD[rng.below(AWKWARD.len())],
                false => rng.below(1 << 20) as f64 / unit + low,
            };
            let whole = match awkward && rng.below(6) == 0 {
                true => [i64::MAX, i64::MIN, -1][rng.below(3)] >> (64 - 8 * kind.size().clamp(1, 8)),
                false => alike.unwrap_or(whole),
            };
            kind.put(slot, real, whole);
        }
    }
    if choice.seed % 3 == 1 {
        sort(layout, &mut snapshot.data[..drawn]);
    }
    for at in (drawn..bytes).step_by(drawn.max(1)) {
        snapshot.data.copy_within(..drawn.min(bytes - at), at);
    }
    Contents { name: name.clone(), layout: layout.clone(), snapshot, links: Vec::new() }
}

/// Sorts whole numbers: what says where parts of other arrays begin and end is only of use like that.
fn sort(layout: &Layout, data: &mut [u8]) {
    let Some(kind) = layout.uniform().filter(|k| !k.is_float() && k.size() > 1) else { return };
    let value = |slot: &[u8]| {
        let mut wide = [0u8; 8];
        wide[..slot.len()].copy_from_slice(slot);
        let unused = 64 - 8 * slot.len() as u32;
        let value = i64::from_le_bytes(wide) << unused;
        match kind {
            ElementKind::U16 | ElementKind::U32 => ((value as u64) >> unused) as i64,
            _ => value >> unused,
        }
    };
    let mut values: Vec<i64> = data.chunks_exact(kind.size()).map(value).collect();
    match kind {
        ElementKind::U64 => values.sort_unstable_by_key(|&v| v as u64),
        _ => values.sort_unstable(),
    }
    for (slot, v) in data.chunks_exact_mut(kind.size()).zip(values) {
        kind.put(slot, 0.0, v);
    }
}

/// An input in the making.
pub(super) struct Wide {
    pub input: Input,
    /// By buffer: the byte its pointers point to.
    pub(super) bases: Vec<u64>,
    /// Buffers that stay as large as they are.
    whole: Vec<usize>,
    /// Bytes made so far.
    made: u64,
    pub(super) rng: Rng,
    pub(super) choice: Choice,
}

impl Wide {
    /// Cuts each buffer to what was touched. All of it holds known values: what the loop leaves alone must survive.
    /// What has a promised size keeps that, too.
    pub(super) fn cut(self, buffers: &[ObjectId], reach: &Reach, least: &[PromisedEnd]) -> Input {
        let Wide { input: mut cut, bases, whole, choice, .. } = self;
        let mut firsts = vec![0; buffers.len()];
        for (b, &o) in buffers.iter().enumerate() {
            if whole.contains(&b) {
                continue;
            }
            let layout = cut.buffers[b].layout.clone();
            let base = bases[b];
            let (first, end) = reach.touched.get(&o).copied().unwrap_or((base, base));
            let first = first.min(base) / layout.bytes * layout.bytes;
            let promised = least.iter().find(|p| p.buffer == b).map_or(base, |p| p.end);
            let end = end.max(promised).next_multiple_of(layout.bytes);
            let range = first as usize..end as usize;
            let s = &mut cut.buffers[b].snapshot;
            *s = Snapshot { data: s.data[range.clone()].to_vec(), init: s.init[range].to_vec() };
            cut.buffers[b].links.retain_mut(|l| {
                let inside = l.at >= first && l.at + 8 <= end;
                l.at = l.at.saturating_sub(first);
                inside
            });
            firsts[b] = first as i64;
        }
        // pointers of a table that the original did not follow need not point to anything
        let is_followed = |l: &Link| buffers.get(l.buffer).is_some_and(|o| reach.touched.contains_key(o));
        let is_table = |c: &Contents| c.layout.leaves.is_empty() && c.layout.pointers.len() == 1;
        if choice.seed % 2 == 1 {
            for c in cut.buffers.iter_mut().filter(|c| is_table(c)) {
                c.links.retain(is_followed);
            }
        }
        for l in cut.buffers.iter_mut().chain(&mut cut.globals).flat_map(|c| &mut c.links) {
            l.offset -= firsts[l.buffer];
        }
        for v in &mut cut.values {
            if let Given::Pointer(b, offset) = v {
                *offset -= firsts[*b];
            }
        }
        cut
    }

    /// A floating-point number.
    fn real(&mut self, double: bool) -> Given {
        let v = match (self.choice.awkward, self.choice.held) {
            (true, _) => AWKWARD[self.rng.below(AWKWARD.len())],
            (false, Held::Any) => self.rng.below(2001) as f64 / 500.0 - 2.0,
            (false, _) => self.rng.below(1001) as f64 / 1000.0,
        };
        Given::Plain(if double { Value::F64(v) } else { Value::F32(v as f32) })
    }

    /// Any number of a type whose largest is given.
    fn number(&mut self, max: i128) -> i128 {
        if max <= 1 {
            return i128::from(self.rng.below(2) == 1);
        }
        if self.choice.awkward {
            // the smallest of an unsigned type is 0
            let least = if (max + 1).trailing_zeros() % 2 == 1 { -max - 1 } else { 0 };
            return [0, 1, -1, max, least, max - 1, least + 1, 2][self.rng.below(8)].max(least);
        }
        // the largest of a signed type is one less than an odd power of two
        let signed = (max + 1).trailing_zeros() % 2 == 1;
        const SIGNED: [i128; 8] = [-1, -7, -2, -33, 11, -128, 6, -5];
        let k = self.rng.below(8);
        match signed {
            true => SIGNED[k],
            false => [max, 13, max - 6, 40, max / 2 + 1, 3, 7, max - 31][k],
        }
    }
    fn size(&mut self) -> u64 {
        if self.choice.held == Held::Alike && self.rng.below(3) == 0 {
            return 1;
        }
        let size = self.choice.size;
        match self.choice.sizes {
            Sizes::Equal => size,
            Sizes::Near => {
                size.saturating_add(self.rng.below(4) as u64).saturating_sub(self.rng.below(3) as u64)
            }
            Sizes::Apart => [1, 2, 3, size, size, 2 * size][self.rng.below(6)],
        }
    }

    fn push(&mut self, c: Contents, base: u64) -> usize {
        self.made = self.made.saturating_add(c.snapshot.data.len() as u64);
        self.input.buffers.push(c);
        self.bases.push(base);
        self.input.buffers.len() - 1
    }

    /// A buffer of elements without pointers. So many `bytes` it has surely.
    fn numbers(&mut self, name: &Arc<str>, layout: &Layout, room: Room, bytes: u64) -> usize {
        let Room { elements, margin } = room;
        let most = match self.made {
            m if m > MOST_BYTES => 64 * layout.bytes,
            m if m > MOST_BYTES / 2 => LARGEST_BUFFER / 64,
            _ => LARGEST_BUFFER,
        };
        let fits = (most.max(bytes) / layout.bytes.max(1)).max(64);
        let margin = margin.min(fits / 16);
        let elements = elements.max(bytes / layout.bytes.max(1)).min(fits);
        let c = random(name, layout, elements + 2 * margin, self.choice, &mut self.rng);
        self.push(c, margin * layout.bytes)
    }

    /// A buffer of elements with pointers: as many as an index up to the size can reach.
    fn table(&mut self, name: &Arc<str>, layout: &Layout, text: &mut Vec<String>, level: u32) -> usize {
        let most = if self.made > MOST_BYTES / 2 { 2 } else { 16 };
        let count = if level == 0 { self.choice.size + 8 } else { self.choice.size.min(most) + 8.min(most) };
        // of structures that are programs of their own there are few
        let count = count.min(SHARED_PARTS / layout.parts().max(1)).max(1);
        let mut c = random(name, layout, count, self.choice, &mut self.rng);
        // Beside pointers, integers are sizes.
        let integers: Vec<(u64, ElementKind)> =
            layout.leaves.iter().filter(|l| !l.1.is_float() && l.1.size() >= 4).copied().collect();
        for (k, element) in c.snapshot.data.chunks_exact_mut(layout.bytes as usize).enumerate() {
            for &(at, kind) in &integers {
                let v = self.size();
                if k == 0 && level == 0 {
                    text.push(format!("{name}->#{at}={v}"));
                }
                element[at as usize..at as usize + kind.size()]
                    .copy_from_slice(&v.to_le_bytes()[..kind.size()]);
            }
        }
        self.fill_pointers(&mut c, count, text, level);
        self.push(c, 0)
    }

    /// A table of such rows that was handed over before, where that may be.
    fn same_table(&mut self, layout: &Layout) -> Option<usize> {
        let row = |l: &Layout| match &l.pointers[..] {
            [(0, Some(row))] if l.leaves.is_empty() => row.uniform(),
            _ => None,
        };
        let wanted = row(layout).filter(|_| self.choice.overlap)?;
        let given = self.input.values.iter().filter_map(|v| match v {
            Given::Pointer(b, 0) => Some(*b),
            _ => None,
        });
        let same = given.into_iter().find(|&b| row(&self.input.buffers[b].layout) == Some(wanted))?;
        (self.rng.below(2) == 0).then_some(same)
    }

    /// Now and then the rows of a table lie in one block, one behind the other or in any order.
    fn is_one_block(
        &mut self,
        c: &mut Contents,
        layout: &Layout,
        count: u64,
        text: &mut Vec<String>,
    ) -> bool {
        let [(at, Some(row))] = &layout.pointers[..] else { return false };
        if !layout.leaves.is_empty() || !row.pointers.is_empty() || self.rng.below(4) != 0 {
            return false;
        }
        let is_mixed = self.rng.below(2) == 0;
        let width = self.choice.size + self.rng.below(3) as u64;
        let name: Arc<str> = format!("{}[]", c.name).into();
        let elements = (count * width).saturating_add(INNER_MARGIN);
        let block = self.numbers(&name, row, Room { elements, margin: INNER_MARGIN }, 0);
        let mut places: Vec<u64> = (0..count).collect();
        for k in (1..places.len()).rev().filter(|_| is_mixed) {
            places.swap(k, self.rng.below(k + 1));
        }
        let room = self.input.buffers[block].snapshot.data.len() as u64;
        for (k, place) in places.into_iter().enumerate() {
            let offset = (self.bases[block] + place * width * row.bytes).min(room) as i64;
            c.links.push(Link { at: k as u64 * layout.bytes + at, buffer: block, offset });
        }
        text.push(format!("the rows of {} in one block{}", c.name, if is_mixed { ", mixed" } else { "" }));
        true
    }

    /// Makes what the pointers in a piece of memory point to.
    fn fill_pointers(&mut self, c: &mut Contents, count: u64, text: &mut Vec<String>, level: u32) {
        let layout = c.layout.clone();
        let structure = !layout.leaves.is_empty() || layout.pointers.len() > 1;
        let share = (SHARED_ROOM / (count * layout.pointers.len().max(1) as u64).max(1)).max(LEAST_ROOM);
        let (first_new, mut told) = (self.input.buffers.len(), false);
        if self.is_one_block(c, &layout, count, text) {
            return;
        }
        for k in 0..count {
            for (inside, to) in &layout.pointers {
                let at = k * layout.bytes + inside;
                let Some(to) = to else {
                    c.snapshot.data[at as usize..at as usize + 8].fill(0);
                    continue;
                };
                let member = layout.names.iter().find(|n| n.0 == *inside).map(|n| &n.1);
                let name: Arc<str> = match (member, k) {
                    (Some(member), 0) => format!("{}->{member}", c.name).into(),
                    (Some(member), _) => format!("{}[{k}].{member}", c.name).into(),
                    (None, _) => format!("{}[{k}]+{inside}", c.name).into(),
                };
                let twin = (first_new..self.input.buffers.len()).rev().find(|&b| {
                    to.pointers.is_empty() && self.input.buffers[b].layout.uniform() == to.uniform()
                });
                let shared = twin.filter(|_| self.choice.overlap && self.rng.below(3) == 0);
                let (buffer, shift) = match shared {
                    Some(b) => {
                        if !told {
                            text.push(format!("{name} overlaps {}", self.input.buffers[b].name));
                            told = true;
                        }
                        (b, self.rng.below(2) as u64 * to.bytes)
                    }
                    None if to.pointers.is_empty() => {
                        let room =
                            if structure && k == 0 && level == 0 { self.choice.room.elements } else { share };
                        (self.numbers(&name, to, Room { elements: room, margin: INNER_MARGIN }, 0), 0)
                    }
                    None => (self.table(&name, to, text, level + 1), 0),
                };
                let offset = (self.bases[buffer] + shift) as i64;
                c.links.push(Link { at, buffer, offset });
            }
        }
    }
}
