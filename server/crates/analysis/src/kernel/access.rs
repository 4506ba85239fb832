//! What the warps of a known launch ask of memory with each access, where its subscripts are made of indices, parameters
//! and constants.
//!
//! The rules are those of the simulator's counters, found another way: from the subscripts, not from a run. A request is
//! one instruction for the active lanes of a warp; sectors have 32 bytes, arrays begin at one; the ideal is the fewest sectors
//! for the distinct bytes; ways are the most distinct 4-byte words in one of 32 banks (CUDA C++ Programming Guide, Device Memory
//! Accesses and Shared Memory).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use term::{Body, Len, Op, Storage, TermId, TypeId, TypeKind};

use super::collect::{Access, AccessKind, Seen};
use super::eval::{Indices, Machine};
use super::KernelLaunch;

const SECTOR: i128 = 32;
const BANKS: i128 = 32;

/// An access of a kernel to global or shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessFact {
    pub term: TermId,
    /// The array or variable.
    pub object: Arc<str>,
    pub shared: bool,
    pub reads: bool,
    pub writes: bool,
    pub atomic: bool,
    /// Bytes a lane asks for.
    pub bytes: u64,
    /// What it asks for; `None`: launch or subscripts are not known.
    pub requests: Option<Requests>,
}

/// All requests of an access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    /// Whether these are all: the access stands in no loop. Else they are those of the first iteration.
    pub exact: bool,
    pub count: u64,
    pub lanes: u64,
    pub sectors: u64,
    pub ideal: u64,
    /// Of the request with the most sectors beyond its ideal, then the most lanes.
    pub worst_sectors: u64,
    pub worst_ideal: u64,
    /// Most distinct words in one bank.
    pub ways: u64,
    /// Two lanes of one request that ask for different words of a bank, and the bank, where there are most.
    pub collide: Option<(u32, u32, u32)>,
    /// Bytes between what the first two lanes of the worst request ask for.
    pub stride: Option<i64>,
}

pub(super) fn accesses(body: &Body, seen: &Seen, launch: &KernelLaunch) -> Vec<AccessFact> {
    seen.accesses.iter().filter_map(|a| one(body, seen, a, launch)).collect()
}

/// A place's object, and what its byte offset is made of: subscripts with their scales, and a constant.
pub(super) struct Place {
    pub object: Arc<str>,
    pub shared: bool,
    pub parts: Vec<(TermId, u64)>,
    offset: u64,
}

fn one(body: &Body, seen: &Seen, a: &Access, launch: &KernelLaunch) -> Option<AccessFact> {
    let place = place(body, a.place)?;
    let (bytes, _) = body.types.size_align(body.ty(a.place))?;
    Some(AccessFact {
        term: a.term,
        object: place.object.clone(),
        shared: place.shared,
        reads: a.kind != AccessKind::Write,
        writes: a.kind != AccessKind::Read,
        atomic: a.kind == AccessKind::Atomic,
        bytes,
        requests: requests(body, seen, a, &place, bytes, launch),
    })
}

pub(super) fn place(body: &Body, t: TermId) -> Option<Place> {
    let mut out = Place { object: "".into(), shared: false, parts: Vec::new(), offset: 0 };
    let mut at = t;
    loop {
        match (body.op(at), body.args(at)) {
            (Op::Index, &[base, index]) => {
                let (size, _) = body.types.size_align(body.ty(at))?;
                out.parts.push((index, size));
                at = base;
                if !matches!(body.types.kind(body.ty(base)), TypeKind::Array { .. }) {
                    return pointer(body, at, out);
                }
            }
            (Op::Member { field, arrow: false }, &[base]) => {
                out.offset += field_offset(body, body.ty(base), field)?;
                at = base;
            }
            (Op::Deref, &[p]) => return pointer(body, p, out),
            (Op::Sym(s), _) => {
                let symbol = &body.symbols[*s];
                out.shared = symbol.storage == Storage::Shared;
                out.object = symbol.name.clone();
                let reaches = out.shared || matches!(symbol.storage, Storage::Global { .. });
                return reaches.then_some(out);
            }
            _ => return None,
        }
    }
}

/// A parameter that points to global memory, or its sum with a number.
fn pointer(body: &Body, t: TermId, mut out: Place) -> Option<Place> {
    match (body.op(t), body.args(t)) {
        (Op::Sym(s), _) => {
            let symbol = &body.symbols[*s];
            out.object = symbol.name.clone();
            matches!(symbol.storage, Storage::Param(_)).then_some(out)
        }
        (Op::Binary(term::BinOp::Add), &[a, b]) => {
            let (p, index) = if body.types.element(body.ty(a)).is_some() { (a, b) } else { (b, a) };
            let (size, _) = body.types.size_align(body.types.element(body.ty(p))?)?;
            out.parts.push((index, size));
            pointer(body, p, out)
        }
        _ => None,
    }
}

pub(super) fn field_offset(body: &Body, ty: TypeId, name: &str) -> Option<u64> {
    let TypeKind::Record(r) = body.types.kind(ty) else { return None };
    let record = body.types.record(*r);
    if record.is_union {
        return Some(0);
    }
    let mut offset = 0u64;
    for f in record.fields.as_ref()? {
        let (size, align) = body.types.size_align(f.ty)?;
        offset = offset.next_multiple_of(align.max(1));
        if &*f.name == name {
            return f.bits.is_none().then_some(offset);
        }
        offset += size;
    }
    None
}

fn requests(
    body: &Body,
    seen: &Seen,
    a: &Access,
    place: &Place,
    bytes: u64,
    launch: &KernelLaunch,
) -> Option<Requests> {
    if a.at.murky || seen.unstructured.is_some() || has_open_length(body, a.place) {
        return None;
    }
    let m = Machine::whole(body, seen, launch)?;
    let mut out = Requests { exact: a.at.loops.is_empty(), ..Requests::default() };
    let mut worst = None;
    for block in m.blocks() {
        // byte offsets of each warp's lanes
        let mut warps: BTreeMap<u32, Vec<(u32, i128)>> = BTreeMap::new();
        for thread in m.threads() {
            let at = Indices { block, thread };
            if m.reaches(&a.at, at)? {
                let mut offset = place.offset as i128;
                for &(index, scale) in &place.parts {
                    offset += m.eval(index, at, 0)? * scale as i128;
                }
                let number = m.number(thread);
                warps.entry(number / 32).or_default().push((number % 32, offset));
            }
        }
        for numbered in warps.values() {
            let size = bytes as i128;
            let lanes: Vec<i128> = numbered.iter().map(|l| l.1).collect();
            let stride = lanes.get(1).and_then(|b| i64::try_from(b - lanes[0]).ok());
            out.count += 1;
            out.lanes += lanes.len() as u64;
            if place.shared {
                let ways = ways(&lanes, size);
                if ways > out.ways {
                    (out.ways, out.stride, out.collide) = (ways, stride, collide(numbered));
                }
                continue;
            }
            let sectors: BTreeSet<i128> = lanes
                .iter()
                .flat_map(|&o| o.div_euclid(SECTOR)..=(o + size - 1).div_euclid(SECTOR))
                .collect();
            let touched: BTreeSet<i128> = lanes.iter().flat_map(|&o| o..o + size).collect();
            let (sectors, ideal) = (sectors.len() as u64, (touched.len() as u64).div_ceil(SECTOR as u64));
            out.sectors += sectors;
            out.ideal += ideal;
            let badness = (sectors - ideal.min(sectors), lanes.len());
            if worst.is_none_or(|w| badness > w) {
                worst = Some(badness);
                out.worst_sectors = sectors;
                out.worst_ideal = ideal;
                out.stride = stride;
            }
        }
    }
    Some(out)
}

fn ways(lanes: &[i128], size: i128) -> u64 {
    let words: BTreeSet<i128> =
        lanes.iter().flat_map(|&o| o.div_euclid(4)..=(o + size - 1).div_euclid(4)).collect();
    let mut banks: BTreeMap<i128, u64> = BTreeMap::new();
    for w in words {
        *banks.entry(w.rem_euclid(BANKS)).or_default() += 1;
    }
    banks.into_values().max().unwrap_or(0)
}

/// Two lanes with different words in one bank.
fn collide(lanes: &[(u32, i128)]) -> Option<(u32, u32, u32)> {
    lanes.iter().enumerate().find_map(|(k, &(a, x))| {
        let other = lanes[k + 1..].iter().find(|&&(_, y)| {
            x.div_euclid(4) != y.div_euclid(4) && (x.div_euclid(4) - y.div_euclid(4)) % BANKS == 0
        })?;
        Some((a, other.0, x.div_euclid(4).rem_euclid(BANKS) as u32))
    })
}

/// Whether a row's length is not a constant.
fn has_open_length(body: &Body, t: TermId) -> bool {
    body.walk(t).any(
        |x| matches!(body.types.kind(body.ty(x)), TypeKind::Array { len, .. } if matches!(len, Len::Term(_))),
    )
}
