//! The accesses of a kernel to memory that threads share, with what the warps of a known launch ask of it: all of it from the
//! trace where that knows it, else the requests of the first way to it, where its subscripts are made of indices,
//! parameters and constants; of a launch with very many threads, those of some of its blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::{Body, Len, Op, Space, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::anyshape::{AnyShape, WarpFindings};
use super::collect::{AccessKind, KernelAccess, Seen};
use super::eval::{Indices, Machine};
use super::requests::{Places, Requests};
use super::sampled::some_blocks;
use super::traced::Traced;
use super::{KernelLaunch, LocalArray};

/// An access of a kernel to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessFact {
    pub term: TermId,
    /// The array or variable.
    pub object: Arc<str>,
    pub space: Space,
    pub reads: bool,
    pub writes: bool,
    pub atomic: bool,
    /// Bytes a lane asks for.
    pub bytes: u64,
    /// What it asks for; `None`: launch or subscripts are not known.
    pub requests: Option<Requests>,
    /// Where those are not known: what it asks for whatever the launch.
    pub any_shape: Option<AnyShape>,
}

pub(super) fn accesses(
    body: &Body,
    seen: &Seen,
    launch: &KernelLaunch,
    traced: Option<&Traced>,
    locals: &[LocalArray],
    any: &WarpFindings,
) -> (Vec<AccessFact>, Option<Vec<Traffic>>) {
    let listed = |a: &KernelAccess| local(body, a, locals).or_else(|| one(body, seen, a, launch, traced));
    let known: Vec<(&KernelAccess, Option<AccessFact>)> =
        seen.accesses.iter().map(|a| (a, listed(a))).collect();
    let traffic = traffic(known.iter().filter_map(|k| k.1.as_ref()));
    let mut list: Vec<AccessFact> =
        known.into_iter().filter_map(|(a, fact)| with_any_shape(body, a, fact, any)).collect();
    for r in list.iter_mut().filter_map(|a| a.requests.as_mut()) {
        r.distinct = r.places.count().filter(|_| r.blocks.is_none());
        r.places = Places::default();
    }
    (list, traffic)
}

/// An access of an array that goes to local memory. What its warps ask for is not said: the compiler lays it out.
fn local(body: &Body, a: &KernelAccess, locals: &[LocalArray]) -> Option<AccessFact> {
    let s = super::local::root(body, a.place)?;
    locals.iter().find(|l| l.array == s)?;
    Some(AccessFact {
        term: a.term,
        object: body.symbols[s].name.clone(),
        space: Space::Local,
        reads: a.kind != AccessKind::Write,
        writes: a.kind != AccessKind::Read,
        atomic: a.kind == AccessKind::Atomic,
        bytes: body.types.size_align(body.ty(a.place))?.0,
        requests: None,
        any_shape: None,
    })
}

/// An access with what it asks for whatever the launch, where nothing else is known of it; one through a pointer that was followed
/// is an access of what it leads to.
fn with_any_shape(
    body: &Body,
    a: &KernelAccess,
    fact: Option<AccessFact>,
    any: &WarpFindings,
) -> Option<AccessFact> {
    let found = any.access(a.term).or_else(|| any.access(a.place));
    match (fact, found) {
        (Some(mut fact), Some(x)) => {
            let same = fact.object == x.object && fact.space == x.space;
            fact.any_shape = (same && fact.requests.is_none()).then(|| x.shape.clone());
            Some(fact)
        }
        (None, Some(x)) => Some(AccessFact {
            term: a.term,
            object: x.object.clone(),
            space: x.space,
            reads: a.kind != AccessKind::Write,
            writes: a.kind != AccessKind::Read,
            atomic: a.kind == AccessKind::Atomic,
            bytes: body.types.size_align(body.ty(a.place))?.0,
            requests: None,
            any_shape: Some(x.shape.clone()),
        }),
        (fact, None) => fact,
    }
}

/// What one array of global memory moves, over all accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traffic {
    pub object: Arc<str>,
    /// Elements that lanes read and write.
    pub read: u64,
    pub written: u64,
    /// Different ones among them.
    pub places_read: u64,
    pub places_written: u64,
}

/// `None`: not every access is known.
fn traffic<'f>(list: impl Iterator<Item = &'f AccessFact>) -> Option<Vec<Traffic>> {
    let mut out: Vec<(Traffic, FxHashSet<i64>, FxHashSet<i64>)> = Vec::new();
    for a in list.filter(|a| a.space == Space::Global) {
        let r = a.requests.as_ref().filter(|r| r.exact && !r.places.too_many)?;
        let at = match out.iter().position(|(t, ..)| t.object == a.object) {
            Some(k) => k,
            None => {
                let object = a.object.clone();
                let none = Traffic { object, read: 0, written: 0, places_read: 0, places_written: 0 };
                out.push((none, FxHashSet::default(), FxHashSet::default()));
                out.len() - 1
            }
        };
        let (t, read, written) = &mut out[at];
        if a.reads {
            t.read += r.lanes;
            read.extend(&r.places.seen);
        }
        if a.writes {
            t.written += r.lanes;
            written.extend(&r.places.seen);
        }
    }
    let counted = out.into_iter().map(|(t, read, written)| Traffic {
        places_read: read.len() as u64,
        places_written: written.len() as u64,
        ..t
    });
    Some(counted.collect())
}

/// A place's object, and what its byte offset is made of: subscripts with their scales, and a constant.
pub(super) struct ByteOffset {
    pub object: Arc<str>,
    pub space: Space,
    pub parts: Vec<(TermId, u64)>,
    offset: u64,
    /// The pointer it is found through.
    pointer: Option<SymbolId>,
}

impl ByteOffset {
    /// Whether the pointer may be another one than the kernel was given.
    pub(super) fn moved(&self, seen: &Seen) -> bool {
        self.pointer.is_some_and(|p| seen.definitions.contains_key(&p) || seen.exposed.contains(&p))
    }
}

fn one(
    body: &Body,
    seen: &Seen,
    a: &KernelAccess,
    launch: &KernelLaunch,
    traced: Option<&Traced>,
) -> Option<AccessFact> {
    let written = place(body, a.place);
    let (object, space) = match &written {
        Some(p) => (p.object.clone(), p.space),
        // through a pointer that was seen to lead there
        None => {
            let symbol = &body.symbols[(*traced?.objects.get(&a.place)?)?];
            (symbol.name.clone(), space(symbol.storage))
        }
    };
    let (bytes, _) = body.types.size_align(body.ty(a.place))?;
    let exact = traced.and_then(|t| t.requests(a.place, a.kind));
    let first = || requests(body, seen, a, written.as_ref()?, bytes, launch, traced.is_none());
    Some(AccessFact {
        term: a.term,
        object,
        space,
        reads: a.kind != AccessKind::Write,
        writes: a.kind != AccessKind::Read,
        atomic: a.kind == AccessKind::Atomic,
        bytes,
        requests: exact.or_else(first),
        any_shape: None,
    })
}

pub(super) fn place(body: &Body, t: TermId) -> Option<ByteOffset> {
    let mut out =
        ByteOffset { object: "".into(), space: Space::Global, parts: Vec::new(), offset: 0, pointer: None };
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
                out.space = space(symbol.storage);
                out.object = symbol.name.clone();
                let reaches = matches!(symbol.storage, Storage::Shared | Storage::Global { .. });
                return reaches.then_some(out);
            }
            _ => return None,
        }
    }
}

/// The memory that variables of a storage lie in, for all threads of a block; parameters point to global memory.
pub(super) fn space(storage: Storage) -> Space {
    match storage {
        Storage::Shared => Space::Shared,
        Storage::Global { constant: true, .. } => Space::Constant,
        _ => Space::Global,
    }
}

/// A parameter that points to global memory, or its sum with a number.
fn pointer(body: &Body, t: TermId, mut out: ByteOffset) -> Option<ByteOffset> {
    match (body.op(t), body.args(t)) {
        (Op::Sym(s), _) => {
            let symbol = &body.symbols[*s];
            out.object = symbol.name.clone();
            out.pointer = Some(*s);
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
    body.types.member_at(*r, name).map(|found| found.0)
}

/// The requests of the first way to an access. `alone`: nothing else has looked at the launch.
fn requests(
    body: &Body,
    seen: &Seen,
    a: &KernelAccess,
    place: &ByteOffset,
    bytes: u64,
    launch: &KernelLaunch,
    alone: bool,
) -> Option<Requests> {
    if a.at.murky || seen.unstructured.is_some() || has_open_length(body, a.place) || place.moved(seen) {
        return None;
    }
    let m = Machine::of(body, seen, launch)?;
    let blocks: Vec<[u32; 3]> = match m.is_small() {
        true => m.blocks().collect(),
        false => some_blocks(launch.grid?),
    };
    let looked_at = u32::try_from(blocks.len()).ok().filter(|_| !m.is_small());
    let mut out = Requests {
        exact: alone && a.at.loops.is_empty() && looked_at.is_none(),
        first_round: !a.at.loops.is_empty(),
        blocks: looked_at,
        ..Requests::default()
    };
    for block in blocks {
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
                warps.entry(number / m.lanes).or_default().push((number % m.lanes, offset));
            }
        }
        for lanes in warps.values() {
            out.add(place.space, lanes, bytes as i128);
        }
    }
    Some(out)
}

/// Whether a row's length is not a constant.
fn has_open_length(body: &Body, t: TermId) -> bool {
    body.walk(t).any(
        |x| matches!(body.types.kind(body.ty(x)), TypeKind::Array { len, .. } if matches!(len, Len::Term(_))),
    )
}
