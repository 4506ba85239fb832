//! What host code does around launches: sizes, directions and the order of copies, launches and frees.
//!
//! Straight-line reading: what stands earlier in the text of one function counts as done before, within one list of statements
//! and the lists inside it. What is not seen set is not judged. Deliberately absent: pointers that are stored away or passed on,
//! other functions, streams.

mod copies;
pub(crate) mod launch_extents;
pub(crate) mod launch_given;
mod launch_numbers;
mod launch_stores;
mod launches;
mod memory;
mod reaching;
mod steps;

use base::IndexId;
pub use launches::asks_of_launches;
use rustc_hash::FxHashMap;
use term::{BinOp, Body, Op, SymbolId, TermId, TypeKind};

use crate::Program;

/// A fault in host code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostFault {
    /// Threads of a block.
    BlockSize(u64),
    /// Threads of a block, and the most that the kernel's `__launch_bounds__` allows.
    OverBounds(u64, u32),
    /// Elements are rounded up to whole blocks, and the kernel asks nowhere whether its element is there.
    Overrun(TermId),
    /// The kernel's array in dynamic shared memory, and what the launch gives for it: nothing, or a number of elements of
    /// so many bytes.
    ShortShared(SharedArray, Option<(TermId, u64)>),
    /// (what is divided, by what)
    ShortGrid(TermId, TermId),
    /// The size, and the pointer.
    Elements(TermId, TermId),
    /// The direction given, and the one that the pointers have.
    Direction(&'static str, &'static str),
    /// Neither the function nor what it calls asks what came of it.
    Unchecked,
    /// Memory the launch (second) writes is touched before anything waits for it.
    Unsynchronised(SymbolId, TermId),
    /// Memory of the device, allocated there, is touched by the host.
    DevicePointer(SymbolId, TermId),
    /// Freed there.
    Freed(SymbolId, TermId),
    /// A copy in this loop moves what nothing in the loop changes, or looks at; `true`: to the device.
    InvariantCopy(TermId, bool),
    /// Every round of this loop computes the second array from the first, and the two are never exchanged.
    MissingSwap(TermId, SymbolId, SymbolId),
}

/// The name of an array of dynamic shared memory.
pub type SharedArray = std::sync::Arc<str>;

/// What stands around the function that is read.
#[derive(Clone, Copy)]
pub struct HostContext<'a> {
    pub program: &'a Program,
    /// Most threads of a block by `__launch_bounds__`, for a kernel's name.
    pub bounds: &'a dyn Fn(&str) -> Option<u32>,
    /// Whether a term is written with `sizeof`: it is read as its value.
    pub is_size: &'a dyn Fn(TermId) -> bool,
    /// What the device takes.
    pub limits: gpu::Limits,
}

/// What a pointer of a function points to, by how it got its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Host,
    Device,
    Managed,
}

struct Reader<'a> {
    context: HostContext<'a>,
    body: &'a Body,
    order: Vec<TermId>,
    position: FxHashMap<TermId, usize>,
    parents: Vec<Option<TermId>>,
    memory: FxHashMap<SymbolId, (Memory, TermId)>,
    found: Vec<(TermId, HostFault)>,
}

/// The faults of a function of the host, in the order of its text.
pub fn host_faults(body: &Body, context: HostContext<'_>) -> Vec<(TermId, HostFault)> {
    let order: Vec<TermId> = body.walk(body.root).collect();
    let relevant = |t: &TermId| {
        matches!(body.op(*t), Op::Launch) || name(body, *t).is_some_and(|n| n.starts_with("cuda"))
    };
    if !order.iter().any(relevant) {
        return Vec::new();
    }
    let position = order.iter().enumerate().map(|(k, t)| (*t, k)).collect();
    let parents = body.parents();
    let mut r =
        Reader { context, body, order, position, parents, memory: FxHashMap::default(), found: Vec::new() };
    r.allocations();
    for k in 0..r.order.len() {
        let t = r.order[k];
        match body.op(t) {
            Op::Launch => r.launch(t),
            Op::Call => r.call(t),
            _ => {}
        }
    }
    r.unchecked();
    r.touched_too_soon();
    r.used_after_free();
    r.invariant_copies();
    r.missing_swaps();
    r.found.sort_by_key(|(t, _)| r.position.get(t).copied());
    r.found
}

/// The name a call calls.
fn name(body: &Body, t: TermId) -> Option<&str> {
    body.callee_name(t).filter(|_| matches!(body.op(t), Op::Call))
}

/// `x`, `(T)x`, `x + n`: the pointer, and whether it is its very value.
fn pointer(body: &Body, t: TermId) -> Option<(SymbolId, bool)> {
    match (body.op(t), body.args(t)) {
        (Op::Sym(s), _) => Some((*s, true)),
        (Op::Cast, &[a]) => pointer(body, a),
        (Op::Binary(BinOp::Add), &[a, _]) => pointer(body, a).map(|(s, _)| (s, false)),
        (Op::AddrOf, &[p]) => match (body.op(p), body.args(p)) {
            (Op::Index, &[b, _]) => pointer(body, b).map(|(s, _)| (s, false)),
            _ => None,
        },
        _ => None,
    }
}

/// `&p`, whatever it is cast to.
fn address(body: &Body, t: TermId) -> Option<SymbolId> {
    match (body.op(t), body.args(t)) {
        (Op::Cast, &[a]) => address(body, a),
        (Op::AddrOf, &[p]) => body.as_symbol(p),
        _ => None,
    }
}

impl Reader<'_> {
    /// Pointers that get all their values from one kind of allocation.
    fn allocations(&mut self) {
        let body = self.body;
        let mut set: FxHashMap<SymbolId, Vec<(Option<Memory>, TermId)>> = FxHashMap::default();
        for &t in &self.order {
            let args = body.args(t);
            let (s, kind) = match (body.op(t), name(body, t)) {
                (Op::Call, Some("cudaMalloc" | "cudaMallocAsync" | "cudaMallocPitch")) => {
                    (args.get(1).and_then(|&a| address(body, a)), Some(Memory::Device))
                }
                (Op::Call, Some("cudaMallocManaged")) => {
                    (args.get(1).and_then(|&a| address(body, a)), Some(Memory::Managed))
                }
                (Op::Call, Some("cudaMallocHost" | "cudaHostAlloc")) => {
                    (args.get(1).and_then(|&a| address(body, a)), Some(Memory::Host))
                }
                (Op::Call, Some(_)) => {
                    // another function may set what it gets the address of
                    for &a in &args[1..] {
                        if let Some(s) = address(body, a) {
                            set.entry(s).or_default().push((None, t));
                        }
                    }
                    continue;
                }
                (Op::Declare(s), _) => match args.first() {
                    Some(&v) => (Some(*s), self.host_value(v)),
                    None if matches!(body.types.kind(body.symbols[*s].ty), TypeKind::Array { .. }) => {
                        (Some(*s), Some(Memory::Host))
                    }
                    None => continue,
                },
                (Op::Assign, _) => (body.as_symbol(args[0]), self.host_value(args[1])),
                (Op::Compound(_) | Op::Step { .. }, _) => (body.as_symbol(args[0]), None),
                _ => continue,
            };
            if let Some(s) = s {
                set.entry(s).or_default().push((kind, t));
            }
        }
        for (s, list) in set {
            // a null pointer that is set later says nothing
            let kinds: Vec<_> = list.iter().filter(|(_, t)| !self.is_null(*t)).collect();
            if let [(Some(first), t), rest @ ..] = kinds.as_slice() {
                if rest.iter().all(|(k, _)| k == &Some(*first)) {
                    self.memory.insert(s, (*first, *t));
                }
            }
        }
    }

    fn is_null(&self, t: TermId) -> bool {
        let value = match (self.body.op(t), self.body.args(t)) {
            (Op::Declare(_), &[v]) | (Op::Assign, &[_, v]) => v,
            _ => return false,
        };
        self.body.walk(value).any(|x| matches!(self.body.op(x), Op::Int(0)))
            && self.body.walk(value).all(|x| matches!(self.body.op(x), Op::Int(0) | Op::Cast))
            || matches!(self.body.op(value), Op::Sym(s) if matches!(&*self.body.symbols[*s].name, "NULL" | "nullptr"))
    }

    fn host_value(&self, v: TermId) -> Option<Memory> {
        let body = self.body;
        match (body.op(v), body.args(v)) {
            (Op::Cast, &[a]) => self.host_value(a),
            (Op::Call, _) => matches!(name(body, v), Some("malloc" | "calloc")).then_some(Memory::Host),
            (Op::InitList, _) => Some(Memory::Host),
            _ => None,
        }
    }

    fn kind_of(&self, t: TermId) -> Option<Memory> {
        let (s, _) = pointer(self.body, t)?;
        self.memory.get(&s).map(|m| m.0)
    }

    fn parent(&self, t: TermId) -> Option<TermId> {
        self.parents.get(t.index()).copied().flatten()
    }
}
