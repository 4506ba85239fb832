//! Inputs for a function nobody described: sizes, buffers that are just as large as the function needs, random contents.
//!
//! How large a buffer must be is not guessed: the original runs once on buffers with wide margins while its accesses are
//! watched, and the runs that are compared get buffers that end where those accesses ended. One element copied too many
//! is then an access out of bounds.

use std::sync::Arc;

use base::Budget;
use rustc_hash::FxHashMap;
use simulate::{Access, ElementKind, Fault, Heap, Hooks, Memory, ObjectId, Program, Rng, Snapshot, Value};
use term::{Body, Len, Op, Storage, SymbolId, TypeId, TypeKind, Types};

/// Elements before and after a pointer's target in the first run.
const MARGIN: u64 = 4096;
/// Elements in it.
const ROOM: u64 = 1 << 17;

/// The scalars of one element: byte offset and kind.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub bytes: u64,
    pub leaves: Vec<(u64, ElementKind)>,
}

impl Layout {
    fn of(types: &Types, ty: TypeId) -> Option<Layout> {
        let (bytes, _) = types.size_align(ty)?;
        let mut leaves = Vec::new();
        push_leaves(types, ty, 0, &mut leaves, 0)?;
        Some(Layout { bytes: bytes.max(1), leaves })
    }
    /// The kind of all scalars, if they are all alike and fill the element.
    pub(super) fn uniform(&self) -> Option<ElementKind> {
        let first = self.leaves.first()?.1;
        let packed = first.size() as u64 * self.leaves.len() as u64 == self.bytes;
        (packed && self.leaves.iter().all(|l| l.1 == first)).then_some(first)
    }
}

fn push_leaves(
    types: &Types,
    ty: TypeId,
    at: u64,
    out: &mut Vec<(u64, ElementKind)>,
    depth: u32,
) -> Option<()> {
    if depth > 16 || out.len() > 4096 {
        return None;
    }
    match types.kind(ty) {
        TypeKind::Int(_) | TypeKind::Float(_) => out.push((at, ElementKind::of(types, ty)?)),
        TypeKind::Array { of, len: Len::Const(n) } => {
            let (size, _) = types.size_align(*of)?;
            for k in 0..*n {
                push_leaves(types, *of, at + k * size, out, depth + 1)?;
            }
        }
        TypeKind::Record(r) => {
            let record = types.record(*r);
            if record.is_union {
                return None;
            }
            let mut offset = 0u64;
            for f in record.fields.as_ref()? {
                let (size, align) = types.size_align(f.ty)?;
                offset = offset.next_multiple_of(align);
                push_leaves(types, f.ty, at + offset, out, depth + 1)?;
                offset += size;
            }
        }
        _ => return None,
    }
    Some(())
}

/// What the function takes.
#[derive(Clone, Debug)]
pub(super) enum Parameter {
    Size { name: Arc<str>, max: i128 },
    Real { double: bool },
    Buffer { name: Arc<str>, layout: Layout, may_alias: bool },
}

/// A file-scope variable the function uses.
#[derive(Clone, Debug)]
pub(super) struct Global {
    pub name: Arc<str>,
    pub layout: Layout,
    pub count: u64,
    is_size: bool,
}

/// All a run of the function depends on.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub parameters: Vec<Parameter>,
    pub globals: Vec<Global>,
}

/// Reads what a function takes; `Err`: what cannot be made up, in words that follow "because".
pub(super) fn signature(body: &Body) -> Result<Signature, String> {
    let list = body.args(body.root).first().copied();
    let mut parameters = Vec::new();
    for &p in list.iter().flat_map(|&l| body.args(l)) {
        let Op::Declare(s) = *body.op(p) else { continue };
        let symbol = &body.symbols[s];
        let unknown = || Err(format!("no input can be made up for the parameter `{}`", symbol.name));
        parameters.push(match body.types.kind(symbol.ty) {
            &TypeKind::Int(k) => Parameter::Size { name: symbol.name.clone(), max: k.max() },
            TypeKind::Float(term::FloatKind::F32) => Parameter::Real { double: false },
            TypeKind::Float(term::FloatKind::F64) => Parameter::Real { double: true },
            TypeKind::Pointer { to, .. } => {
                let mut element = *to;
                while let TypeKind::Array { of, .. } = body.types.kind(element) {
                    element = *of;
                }
                match Layout::of(&body.types, element) {
                    Some(layout) => Parameter::Buffer {
                        name: symbol.name.clone(),
                        layout,
                        may_alias: !body.types.quals(symbol.ty).is_restrict,
                    },
                    None => return unknown(),
                }
            }
            _ => return unknown(),
        });
    }
    let mut globals = Vec::new();
    let used: rustc_hash::FxHashSet<SymbolId> =
        body.walk(body.root).filter_map(|t| body.as_symbol(t)).collect();
    for (id, symbol) in body.symbols.iter_ids() {
        if !used.contains(&id) || !matches!(symbol.storage, Storage::Global { .. }) {
            continue;
        }
        if body.types.quals(symbol.ty).is_const {
            continue;
        }
        let (mut element, mut count) = (symbol.ty, 1u64);
        while let TypeKind::Array { of, len } = body.types.kind(element) {
            let Len::Const(n) = len else {
                return Err(format!("the size of the array `{}` is not known", symbol.name));
            };
            count = count.saturating_mul(*n);
            element = *of;
        }
        let Some(layout) = Layout::of(&body.types, element) else {
            return Err(format!("no contents can be made up for the variable `{}`", symbol.name));
        };
        let is_size = matches!(body.types.kind(symbol.ty), TypeKind::Int(_));
        globals.push(Global { name: symbol.name.clone(), layout, count, is_size });
    }
    Ok(Signature { parameters, globals })
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
}

/// How an input is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub size: u64,
    /// Whether all sizes are equal.
    pub equal: bool,
    /// Whether pointers that may overlap do.
    pub overlap: bool,
    pub seed: u64,
}

/// A heap, the arguments, and the objects of buffers and of globals.
pub(super) type Placed = (Heap, Vec<Value>, Vec<ObjectId>, Vec<ObjectId>);

impl Input {
    /// Objects with these contents, and the arguments.
    pub(super) fn place(&self, signature: &Signature) -> Result<Placed, Fault> {
        let mut heap = Heap::new();
        let mut make = |c: &Contents| -> Result<ObjectId, Fault> {
            let grain = c.layout.leaves.iter().map(|l| l.1.size()).min().unwrap_or(1) as u32;
            let o = heap.alloc(&c.name, grain, c.snapshot.data.len() as u64 / u64::from(grain))?;
            heap.restore(o, &c.snapshot)?;
            Ok(o)
        };
        let buffers = self.buffers.iter().map(&mut make).collect::<Result<Vec<_>, _>>()?;
        let globals = self.globals.iter().map(&mut make).collect::<Result<Vec<_>, _>>()?;
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

/// Makes an input: runs the original on wide buffers and cuts them to what it touched. `Err` says why this choice gives
/// none (the original itself fails on it, mostly).
pub(super) fn make(
    program: &Program<'_>,
    function: &str,
    signature: &Signature,
    choice: Choice,
    budget: &Budget,
) -> Result<Input, Fault> {
    let mut rng = Rng(choice.seed);
    let mut text = Vec::new();
    let size = |rng: &mut Rng| {
        if choice.equal {
            choice.size
        } else {
            choice.size.saturating_add(rng.below(4) as u64).saturating_sub(rng.below(3) as u64)
        }
    };
    let mut wide =
        Input { values: Vec::new(), buffers: Vec::new(), globals: Vec::new(), text: String::new() };
    for p in &signature.parameters {
        let given = match p {
            Parameter::Size { name, max } => {
                let v = i128::from(size(&mut rng)).min(*max);
                text.push(format!("{name}={v}"));
                Given::Plain(Value::Int(v))
            }
            Parameter::Real { double } => {
                let v = rng.below(2001) as f64 / 500.0 - 2.0;
                Given::Plain(if *double { Value::F64(v) } else { Value::F32(v as f32) })
            }
            Parameter::Buffer { name, layout, may_alias } => {
                let shared = wide.buffers.iter().position(|b: &Contents| {
                    choice.overlap
                        && *may_alias
                        && b.layout.bytes == layout.bytes
                        && b.layout.uniform() == layout.uniform()
                });
                match shared {
                    Some(b) => {
                        let shift = rng.below(2) as i64 * layout.bytes as i64;
                        text.push(format!("{name} overlaps {}", wide.buffers[b].name));
                        Given::Pointer(b, (MARGIN * layout.bytes) as i64 + shift)
                    }
                    None => {
                        let count = ROOM + 2 * MARGIN;
                        wide.buffers.push(random(name, layout, count, choice.size, &mut rng));
                        Given::Pointer(wide.buffers.len() - 1, (MARGIN * layout.bytes) as i64)
                    }
                }
            }
        };
        wide.values.push(given);
    }
    for g in &signature.globals {
        let mut c = random(&g.name, &g.layout, g.count, choice.size, &mut rng);
        if g.is_size {
            let v = size(&mut rng);
            text.push(format!("{}={v}", g.name));
            let n = c.snapshot.data.len();
            c.snapshot.data.copy_from_slice(&v.to_le_bytes()[..n]);
        }
        wide.globals.push(c);
    }
    wide.text = text.join(", ");

    let (mut heap, args, buffers, _) = wide.place(signature)?;
    let code = simulate::compile(program, function, &simulate::Options::default())?;
    let mut reach = Reach::default();
    simulate::run_code(&code, &args, &mut heap, budget, &mut reach)?;

    // Cut each buffer to what was touched. All of it holds known values: what the loop leaves alone must survive.
    let mut cut = wide.clone();
    for (b, &o) in buffers.iter().enumerate() {
        let layout = wide.buffers[b].layout.clone();
        let base = MARGIN * layout.bytes;
        let (first, end) = reach.touched.get(&o).copied().unwrap_or((base, base));
        let first = first.min(base) / layout.bytes * layout.bytes;
        let end = end.max(base).next_multiple_of(layout.bytes);
        let range = first as usize..end as usize;
        let s = &wide.buffers[b].snapshot;
        let init = s.init[range.clone()].to_vec();
        cut.buffers[b].snapshot = Snapshot { data: s.data[range].to_vec(), init };
        for v in &mut cut.values {
            if let Given::Pointer(k, offset) = v {
                if *k == b {
                    *offset -= first as i64;
                }
            }
        }
    }
    Ok(cut)
}

fn random(name: &Arc<str>, layout: &Layout, count: u64, size: u64, rng: &mut Rng) -> Contents {
    let bytes = (layout.bytes * count) as usize;
    let mut snapshot = Snapshot { data: vec![0; bytes], init: vec![1; bytes] };
    // Small whole numbers now and then serve as subscripts; sometimes they are negative.
    let limit = size.max(1) as usize;
    for element in snapshot.data.chunks_exact_mut(layout.bytes as usize) {
        for &(at, kind) in &layout.leaves {
            let slot = &mut element[at as usize..at as usize + kind.size()];
            let whole = rng.below(limit) as i64;
            let real = rng.below(1 << 20) as f64 / (1 << 18) as f64 - 2.0;
            match kind {
                ElementKind::F64 => slot.copy_from_slice(&real.to_le_bytes()),
                ElementKind::F32 => slot.copy_from_slice(&(real as f32).to_le_bytes()),
                _ => {
                    let n = slot.len();
                    slot.copy_from_slice(&whole.to_le_bytes()[..n]);
                }
            }
        }
    }
    Contents { name: name.clone(), layout: layout.clone(), snapshot }
}
