//! Buffers, arguments and sequential runs: the face of the machine for everybody outside.
//!
//! A [`Heap`] outlives runs: a host function and several kernels work on the same one. Device buffers are further
//! objects of the same heap; copies between them are explicit.

use std::sync::Arc;

use base::{Budget, Stop as BudgetStop};
use rustc_hash::FxHashMap;

use crate::code::{Code, ParamKind, RetKind};
use crate::compile::{compile, Options, Program};
use crate::exec::{Hooks, NoHooks, Stop, Thread, World};
use crate::fault::{Fault, FaultKind};
use crate::memory::{address, locate, Memory, ObjectId, Space, POISON};

/// A scalar given to or returned by a program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// Any integer; it must fit the parameter's type.
    Int(i128),
    F32(f32),
    F64(f64),
    /// An object and a byte offset.
    Pointer(ObjectId, i64),
    Null,
}

/// A type that buffers can hold.
pub trait Element: Copy {
    /// Bytes.
    const SIZE: usize;
    /// Little-endian bytes.
    fn put(self, out: &mut Vec<u8>);
    /// From little-endian bytes; `None` if there are too few.
    fn take(bytes: &[u8]) -> Option<Self>;
}
macro_rules! element {
    ($($t:ty),*) => {$(
        impl Element for $t {
            const SIZE: usize = std::mem::size_of::<$t>();
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn take(bytes: &[u8]) -> Option<Self> {
                Some(<$t>::from_le_bytes(bytes.try_into().ok()?))
            }
        }
    )*};
}
element!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

/// The bytes of an object at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    pub data: Vec<u8>,
    /// 1 where the byte was written.
    pub init: Vec<u8>,
}

/// Buffers and file-scope variables.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    pub(crate) mem: Memory,
    globals: FxHashMap<Arc<str>, ObjectId>,
    /// Which launch of a hosted run fails, and where that is noted.
    pub(crate) failing: Option<(u64, ObjectId)>,
}

impl Heap {
    /// Empty, with room for 2 GiB.
    pub fn new() -> Heap {
        Heap::default()
    }
    /// With a limit of bytes alive at once; beyond it runs end with [`FaultKind::MemoryLimit`].
    pub fn limited(bytes: u64) -> Heap {
        let mut heap = Heap::new();
        heap.mem.limit = bytes;
        heap
    }
    /// A buffer of `count` elements of `element_bytes` each, uninitialized (poisoned).
    pub fn alloc(&mut self, name: &str, element_bytes: u32, count: u64) -> Result<ObjectId, Fault> {
        let bytes = count.saturating_mul(element_bytes as u64);
        self.mem.allocate(&name.into(), bytes, element_bytes, Space::Global).map_err(Fault::plain)
    }
    /// A buffer that holds these elements.
    pub fn buffer<T: Element>(&mut self, name: &str, values: &[T]) -> Result<ObjectId, Fault> {
        let o = self.alloc(name, T::SIZE as u32, values.len() as u64)?;
        self.write(o, 0, values)?;
        Ok(o)
    }
    /// Lets the program itself end a buffer's life, by `free` of the address of this byte.
    pub fn may_free(&mut self, o: ObjectId, at: i64) {
        if let Some(x) = self.mem.get_mut(o) {
            x.freed_at = Some(at);
        }
    }
    /// Ends a buffer's life.
    pub fn free(&mut self, o: ObjectId) {
        self.mem.release(o);
    }
    /// From now on the host and the device have memory of their own; all that is there is the host's.
    pub fn keep_apart(&mut self) {
        self.mem.keep_apart();
    }
    /// Memory of the device that was not given back: of how many pieces, and bytes.
    pub fn left_on_device(&self) -> (usize, u64) {
        self.mem.left_on_device()
    }
    /// The object of a file-scope variable, once a run has made it or [`Heap::provide`] has named it.
    pub fn global(&self, name: &str) -> Option<ObjectId> {
        self.globals.get(name).copied()
    }
    /// Lets programs find a buffer as the file-scope variable of this name.
    pub fn provide(&mut self, name: &str, o: ObjectId) {
        self.globals.insert(name.into(), o);
    }
    /// Takes these file-scope variables in the place of its own: programs that share memory have names of their own.
    pub fn swap_globals(&mut self, names: &mut FxHashMap<Arc<str>, ObjectId>) {
        std::mem::swap(&mut self.globals, names);
    }
    /// Makes the file-scope variables of a program before it runs for the first time.
    pub fn make_globals(&mut self, code: &Code, budget: &Budget) -> Result<(), Fault> {
        let (globals, _) = link(code, self, budget)?;
        unlink(code, &globals, self);
        Ok(())
    }
    /// Size in bytes; `None` if it is not alive.
    pub fn bytes(&self, o: ObjectId) -> Option<u64> {
        self.mem.get(o).filter(|x| x.live).map(|x| x.data.len() as u64)
    }
    /// Writes elements from a byte offset on.
    pub fn write<T: Element>(&mut self, o: ObjectId, offset: u64, values: &[T]) -> Result<(), Fault> {
        let mut bytes = Vec::with_capacity(values.len() * T::SIZE);
        for v in values {
            v.put(&mut bytes);
        }
        let at = self.range(o, offset, bytes.len() as u64)?;
        if let Some(x) = self.mem.get_mut(o) {
            x.data[at.clone()].copy_from_slice(&bytes);
            x.init[at].fill(1);
        }
        Ok(())
    }
    /// Stores a pointer at a byte offset.
    pub fn write_pointer(
        &mut self,
        o: ObjectId,
        offset: u64,
        target: ObjectId,
        target_offset: i64,
    ) -> Result<(), Fault> {
        self.write(o, offset, &[address(target, target_offset)])
    }
    /// All elements; those with an unwritten byte are `None`.
    pub fn read<T: Element>(&self, o: ObjectId) -> Vec<Option<T>> {
        let Some(x) = self.mem.get(o) else {
            return Vec::new();
        };
        x.data
            .chunks_exact(T::SIZE)
            .zip(x.init.chunks_exact(T::SIZE))
            .map(|(d, i)| if i.iter().all(|&b| b == 1) { T::take(d) } else { None })
            .collect()
    }
    /// All elements, poison included.
    pub fn read_raw<T: Element>(&self, o: ObjectId) -> Vec<T> {
        let Some(x) = self.mem.get(o) else {
            return Vec::new();
        };
        x.data.chunks_exact(T::SIZE).filter_map(T::take).collect()
    }
    /// Copies bytes with their "initialized" marks, as `cudaMemcpy` does.
    pub fn copy(
        &mut self,
        to: ObjectId,
        to_offset: u64,
        from: ObjectId,
        from_offset: u64,
        bytes: u64,
    ) -> Result<(), Fault> {
        self.range(to, to_offset, bytes)?;
        self.range(from, from_offset, bytes)?;
        self.mem
            .copy(address(to, to_offset as i64), address(from, from_offset as i64), bytes)
            .map(|_| ())
            .map_err(Fault::plain)
    }
    /// Makes all bytes uninitialized.
    pub fn poison(&mut self, o: ObjectId) {
        if let Some(x) = self.mem.get_mut(o) {
            x.data.fill(POISON);
            x.init.fill(0);
        }
    }
    /// The bytes as they are.
    pub fn snapshot(&self, o: ObjectId) -> Snapshot {
        match self.mem.get(o) {
            Some(x) => Snapshot { data: x.data.clone(), init: x.init.clone() },
            None => Snapshot { data: Vec::new(), init: Vec::new() },
        }
    }
    /// Puts a snapshot of the same size back.
    pub fn restore(&mut self, o: ObjectId, s: &Snapshot) -> Result<(), Fault> {
        match self.mem.get_mut(o) {
            Some(x) if x.live && x.data.len() == s.data.len() && x.init.len() == s.init.len() => {
                x.data.copy_from_slice(&s.data);
                x.init.copy_from_slice(&s.init);
                Ok(())
            }
            _ => Err(Fault::bad_call("a snapshot of another object")),
        }
    }
    /// The n-th launch of a hosted run, from 0, does not happen; that it failed is left in a variable of `int`: 1.
    pub fn fail_launch(&mut self, nth: u64, noted: ObjectId) {
        self.failing = Some((nth, noted));
    }
    /// Direct access for observers.
    pub fn memory(&self) -> &Memory {
        &self.mem
    }

    fn range(&self, o: ObjectId, offset: u64, bytes: u64) -> Result<std::ops::Range<usize>, Fault> {
        let size = self.bytes(o).ok_or_else(|| Fault::bad_call("a buffer that does not live"))?;
        match offset.checked_add(bytes) {
            Some(end) if end <= size => Ok(offset as usize..end as usize),
            _ => Err(Fault::bad_call("a range outside its buffer")),
        }
    }
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The function's value.
    pub value: Option<Value>,
    /// Instructions executed.
    pub steps: u64,
}

/// Compiles and runs a function.
pub fn run(
    program: &Program<'_>,
    function: &str,
    args: &[Value],
    heap: &mut Heap,
    options: &Options,
    budget: &Budget,
) -> Result<Outcome, Fault> {
    let code = compile(program, function, options)?;
    run_code(&code, args, heap, budget, &mut NoHooks)
}

/// Runs the entry function of compiled code (its function 0).
pub fn run_code<H: Hooks>(
    code: &Code,
    args: &[Value],
    heap: &mut Heap,
    budget: &Budget,
    hooks: &mut H,
) -> Result<Outcome, Fault> {
    let regs = arguments(code, 0, args)?;
    let (globals, mut once) = link(code, heap, budget)?;
    let mut world = World { code, globals: &globals, once: &mut once };
    let mut thread = Thread::start(code, 0, &regs);
    let mut steps = 0;
    let r = drive(&mut thread, &mut world, &mut heap.mem, hooks, budget, &mut steps);
    thread.release(&mut heap.mem);
    unlink(code, &globals, heap);
    Ok(Outcome { value: value_of(code, 0, r?), steps })
}

/// Runs one thread to its end.
fn drive<H: Hooks>(
    thread: &mut Thread,
    world: &mut World<'_>,
    mem: &mut Memory,
    hooks: &mut H,
    budget: &Budget,
    steps: &mut u64,
) -> Result<Option<u64>, Fault> {
    let mut fuel = 0;
    loop {
        if fuel == 0 {
            fuel = refuel(budget, 4096)?;
        }
        let before = fuel;
        let stop = thread.run(world, mem, hooks, &mut fuel);
        *steps += before - fuel;
        match stop {
            Stop::Done(v) => return Ok(v),
            Stop::Turn => {}
            Stop::Fault(f) => return Err(f),
            Stop::Launch { func, .. } => return Err(crate::hosted::misplaced_launch(world.code, func)),
            Stop::Barrier { func, .. } | Stop::Warp { func, .. } => {
                let mut f = Fault::plain(crate::compile::not_supported("a barrier outside of a grid"));
                f.function = world.code.funcs[func as usize].name.clone();
                return Err(f);
            }
        }
    }
}

/// Takes up to `want` steps.
pub(crate) fn refuel(budget: &Budget, want: u64) -> Result<u64, Fault> {
    let take = budget.left().min(want).max(1);
    match budget.spend(take) {
        Ok(()) => Ok(take),
        Err(BudgetStop::Spent) => Err(Fault::plain(FaultKind::OutOfFuel)),
        Err(BudgetStop::Cancelled) => Err(Fault::plain(FaultKind::Cancelled)),
    }
}

/// Arguments as a function's registers.
pub(crate) fn arguments(code: &Code, func: u32, args: &[Value]) -> Result<Vec<u64>, Fault> {
    let f = code.funcs.get(func as usize).ok_or_else(|| Fault::bad_call("no such function"))?;
    // a struct is returned into memory of the caller, whose address comes last
    let hidden = matches!(f.ret, RetKind::Record(_)).then_some(ParamKind::Pointer);
    if hidden.is_some() && f.params.len() == args.len() {
        return Err(Fault::bad_call("a function that returns a struct"));
    }
    if f.params.len() + usize::from(hidden.is_some()) != args.len() {
        return Err(Fault::bad_call(&format!(
            "`{}` takes {} arguments, {} were given",
            f.name,
            f.params.len(),
            args.len()
        )));
    }
    let mut regs = Vec::with_capacity(args.len());
    for (i, (k, v)) in f.params.iter().chain(&hidden).zip(args).enumerate() {
        regs.push(match (k, v) {
            (ParamKind::Int(k), Value::Int(v)) if k.wrap(*v) == *v => *v as u64,
            (ParamKind::F32, Value::F32(v)) => v.to_bits() as u64,
            (ParamKind::F64, Value::F64(v)) => v.to_bits(),
            (ParamKind::Pointer, Value::Pointer(o, at)) => address(*o, *at),
            (ParamKind::Record(_), Value::Pointer(o, at)) => address(*o, *at),
            (ParamKind::Pointer, Value::Null) => 0,
            _ => return Err(Fault::bad_call(&format!("argument {i} of `{}` does not fit: {v:?}", f.name))),
        });
    }
    Ok(regs)
}

pub(crate) fn value_of(code: &Code, func: u32, v: Option<u64>) -> Option<Value> {
    let v = v?;
    match code.funcs.get(func as usize)?.ret {
        RetKind::Value(ParamKind::Int(k)) => {
            Some(Value::Int(if k.signed() { v as i64 as i128 } else { v as i128 }))
        }
        RetKind::Value(ParamKind::F32) => Some(Value::F32(f32::from_bits(v as u32))),
        RetKind::Value(ParamKind::F64) => Some(Value::F64(f64::from_bits(v))),
        RetKind::Value(ParamKind::Pointer) => Some(match locate(v) {
            Some((o, at)) => Value::Pointer(o, at),
            None => Value::Null,
        }),
        _ => None,
    }
}

/// Finds or makes the globals and runs the initializers of those it made.
pub(crate) fn link(
    code: &Code,
    heap: &mut Heap,
    budget: &Budget,
) -> Result<(Vec<ObjectId>, Vec<bool>), Fault> {
    let mut globals = Vec::with_capacity(code.globals.len());
    let mut fresh = Vec::new();
    for g in &code.globals {
        let shared_by_name = g.bytes.is_none() && g.variable.0 == u32::MAX;
        if shared_by_name {
            if let Some(&o) = heap.globals.get(&g.name) {
                globals.push(o);
                continue;
            }
            if g.provided {
                return Err(Fault::bad_call(&format!("the external variable `{}` was not provided", g.name)));
            }
        }
        let space = if g.constant { Space::Constant } else { Space::Global };
        let o = heap.mem.allocate(&g.name, g.size, g.grain, space).map_err(Fault::plain)?;
        if let Some(x) = heap.mem.get_mut(o) {
            x.data.fill(0);
            x.init.fill(1);
            if let Some(bytes) = &g.bytes {
                x.data.copy_from_slice(bytes);
            }
            x.read_only = g.read_only;
            x.variable = g.variable;
        }
        if shared_by_name {
            heap.globals.insert(g.name.clone(), o);
            fresh.push(globals.len() as u32);
        }
        globals.push(o);
    }
    let mut once = vec![false; code.flags as usize];
    // what an earlier run made keeps its value
    for &(_, f) in code.init.iter().filter(|(g, _)| fresh.contains(g)) {
        let mut world = World { code, globals: &globals, once: &mut once };
        let mut thread = Thread::start(code, f, &[]);
        let mut steps = 0;
        let r = drive(&mut thread, &mut world, &mut heap.mem, &mut NoHooks, budget, &mut steps);
        thread.release(&mut heap.mem);
        r?;
    }
    Ok((globals, once))
}

/// Whether `__constant__` variables are read-only: they are for the threads of a grid.
pub(crate) fn guard(code: &Code, globals: &[ObjectId], heap: &mut Heap, on: bool) {
    for (_, &o) in code.globals.iter().zip(globals).filter(|(g, _)| g.constant) {
        if let Some(x) = heap.mem.get_mut(o) {
            x.read_only = on;
        }
    }
}

/// Ends the lives of what only this run knew: strings and static locals.
pub(crate) fn unlink(code: &Code, globals: &[ObjectId], heap: &mut Heap) {
    for (g, &o) in code.globals.iter().zip(globals) {
        if g.bytes.is_some() || g.variable.0 != u32::MAX {
            heap.mem.release(o);
        }
    }
}
