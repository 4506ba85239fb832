//! Runs one thread's instructions until it ends, faults, waits for others or has used its turn.
//!
//! All state is in [`Thread`]: it can stop anywhere and go on later. What others want to know of the run (accesses,
//! loops) they learn through [`Hooks`], which cost nothing where they are empty.
//!
//! Deliberately absent: scheduling (see `grid`) and any meaning of barriers.

use term::device::{AtomicOp, Scope, Tally};
use term::TermId;

use crate::arith;
use crate::code::*;
use crate::fault::{Fault, FaultKind};
use crate::math;
use crate::memory::{address, locate, Memory, ObjectId, Space};

/// Deepest nesting of calls.
pub const MAX_CALLS: usize = 10_000;

#[derive(Clone, Copy, Debug)]
struct Frame {
    func: u32,
    pc: u32,
    base: u32,
    slots: u32,
    /// Where the caller wants the value.
    ret: Reg,
}

/// The state of one thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    frames: Vec<Frame>,
    regs: Vec<u64>,
    slots: Vec<u32>,
}

/// How memory was touched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    Read,
    Write,
    Atomic,
}

/// One access, after its checks.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub object: ObjectId,
    pub offset: u32,
    pub size: u32,
    pub kind: AccessKind,
    pub func: u32,
    pub term: TermId,
}

/// What happens to watched loops.
#[derive(Clone, Copy, Debug)]
pub enum LoopEvent {
    Enter(u32),
    /// The next iteration begins; the index's value, if there is an integer one.
    Iterate(u32, Option<i64>),
    Exit(u32),
    /// Only so many stay open in this call.
    Sync(u32),
}

/// What an observer of a run may see and provide.
pub trait Hooks {
    /// An access to memory; `true` ends the thread's turn.
    fn access(&mut self, _mem: &Memory, _a: Access) -> bool {
        false
    }
    /// A loop event in the traced function.
    fn looped(&mut self, _e: LoopEvent) {}
    /// A call at this term, and its return.
    fn called(&mut self, _func: u32, _term: TermId) {}
    fn returned(&mut self) {}
    /// A branch was taken or not.
    fn branch(&mut self, _func: u32, _pc: u32, _taken: bool) {}
    /// A part of an index variable.
    fn special(&self, _what: Special) -> Option<u64> {
        None
    }
    /// The block's object for a `__shared__` variable.
    fn shared(&self, _n: u32) -> Option<ObjectId> {
        None
    }
    /// A fence or a barrier matters only among threads.
    fn fence(&mut self, _scope: Scope) {}
}

/// No observer.
pub struct NoHooks;
impl Hooks for NoHooks {}

/// Why a thread stopped.
#[derive(Clone, Debug)]
pub enum Stop {
    /// It returned; the value if there is one.
    Done(Option<u64>),
    /// Its turn is over (`fuel` is used up, or the observer said so).
    Turn,
    Barrier {
        kind: Tally,
        d: Reg,
        value: u64,
        func: u32,
        pc: u32,
    },
    Warp {
        kind: WarpKind,
        d: Reg,
        args: [u64; 4],
        signed32: bool,
        func: u32,
        pc: u32,
    },
    /// Host code launches the kernel that is function `f` of this code.
    Launch {
        f: u32,
        /// Grid, block, bytes of shared memory.
        config: [u64; 7],
        args: Vec<u64>,
        func: u32,
    },
    Fault(Fault),
}

/// What all threads share besides memory.
pub struct World<'w> {
    pub code: &'w Code,
    pub globals: &'w [ObjectId],
    /// Which `Once` flags are set.
    pub once: &'w mut [bool],
}

impl Thread {
    /// A thread about to run a function with these arguments.
    pub fn start(code: &Code, func: u32, args: &[u64]) -> Thread {
        let f = &code.funcs[func as usize];
        let mut regs = vec![0; f.regs.max(args.len() as u32) as usize];
        regs[..args.len()].copy_from_slice(args);
        Thread {
            frames: vec![Frame { func, pc: 0, base: 0, slots: 0, ret: NONE }],
            regs,
            slots: vec![0; f.slots as usize],
        }
    }

    /// The function and instruction it stands at.
    pub(crate) fn place(&self) -> Option<(u32, u32)> {
        self.frames.last().map(|f| (f.func, f.pc))
    }
    /// Which of two threads of one kernel stands earlier, as if every call were written out at its place.
    pub(crate) fn compare(&self, other: &Thread) -> std::cmp::Ordering {
        for (a, b) in self.frames.iter().zip(&other.frames) {
            let order = (a.pc, a.func).cmp(&(b.pc, b.func));
            if order.is_ne() {
                return order;
            }
        }
        // deeper in a call: its caller goes on only after it
        other.frames.len().cmp(&self.frames.len())
    }
    /// How many instructions further on the other stands in the same call.
    pub(crate) fn ahead(&self, other: &Thread) -> Option<u32> {
        let ([outer @ .., mine], [others @ .., its]) = (self.frames.as_slice(), other.frames.as_slice())
        else {
            return None;
        };
        let same = |(a, b): (&Frame, &Frame)| (a.func, a.pc) == (b.func, b.pc);
        let calls = outer.len() == others.len() && outer.iter().zip(others).all(same);
        (calls && mine.func == its.func && its.pc > mine.pc).then(|| its.pc - mine.pc)
    }

    /// Sets a register of the current call.
    pub fn set(&mut self, r: Reg, v: u64) {
        let Some(f) = self.frames.last() else { return };
        if let Some(x) = self.regs.get_mut((f.base + r) as usize).filter(|_| r != NONE) {
            *x = v;
        }
    }

    /// Ends the lives of all its variables (after a fault or at the end).
    pub fn release(&mut self, mem: &mut Memory) {
        for s in self.slots.drain(..) {
            mem.release(ObjectId(s));
        }
        self.frames.clear();
    }

    /// Runs until a [`Stop`]; every instruction takes one from `fuel`.
    pub fn run<H: Hooks>(
        &mut self,
        w: &mut World<'_>,
        mem: &mut Memory,
        hooks: &mut H,
        fuel: &mut u64,
    ) -> Stop {
        let code = w.code;
        'call: loop {
            let Some(frame) = self.frames.last_mut() else {
                return Stop::Done(None);
            };
            let fi = frame.func;
            let func = &code.funcs[fi as usize];
            let mut pc = frame.pc;
            let base = frame.base as usize;
            let slots = frame.slots as usize;
            let r = &mut self.regs[base..base + func.regs as usize];
            // Static variables have their value before anything runs (C11 6.7.9p10): giving it is no access of the run.
            let mut told_from = 0;

            macro_rules! fault {
                ($kind:expr) => {{
                    let kind = $kind;
                    return Stop::Fault(Fault {
                        kind,
                        function: func.name.clone(),
                        term: func.terms.get(pc as usize).copied(),
                        thread: None,
                    });
                }};
            }
            macro_rules! get {
                ($e:expr) => {
                    match $e {
                        Ok(v) => v,
                        Err(kind) => fault!(kind),
                    }
                };
            }
            macro_rules! saw {
                ($object:expr, $offset:expr, $size:expr, $kind:expr) => {
                    pc >= told_from
                        && hooks.access(
                            mem,
                            Access {
                                object: $object,
                                offset: $offset as u32,
                                size: $size as u32,
                                kind: $kind,
                                func: fi,
                                term: func.terms[pc as usize],
                            },
                        )
                };
            }
            macro_rules! turn_over {
                () => {{
                    if let Some(f) = self.frames.last_mut() {
                        f.pc = pc + 1;
                    }
                    return Stop::Turn;
                }};
            }

            loop {
                if *fuel == 0 {
                    if let Some(f) = self.frames.last_mut() {
                        f.pc = pc;
                    }
                    return Stop::Turn;
                }
                *fuel -= 1;
                match func.code[pc as usize] {
                    Ins::Const { d, pool } => r[d as usize] = func.consts[pool as usize],
                    Ins::Mov { d, a } => r[d as usize] = r[a as usize],
                    Ins::Bin { op, d, a, b } => {
                        r[d as usize] = get!(arith::bin(op, r[a as usize], r[b as usize]))
                    }
                    Ins::Un { op, d, a } => r[d as usize] = get!(arith::un(op, r[a as usize])),
                    Ins::Jump { to } => {
                        pc = to;
                        continue;
                    }
                    Ins::JumpZ { a, to } => {
                        let taken = r[a as usize] == 0;
                        hooks.branch(fi, pc, taken);
                        if taken {
                            pc = to;
                            continue;
                        }
                    }
                    Ins::JumpNZ { a, to } => {
                        let taken = r[a as usize] != 0;
                        hooks.branch(fi, pc, taken);
                        if taken {
                            pc = to;
                            continue;
                        }
                    }
                    Ins::Load { kind, d, p } => {
                        let p = r[p as usize];
                        let (v, o, at) = get!(load(mem, kind, p));
                        r[d as usize] = v;
                        if saw!(o, at, kind.size(), AccessKind::Read) {
                            turn_over!();
                        }
                    }
                    Ins::Store { kind, p, a } => {
                        let (o, at) = get!(store(mem, kind, r[p as usize], r[a as usize]));
                        if saw!(o, at, kind.size(), AccessKind::Write) {
                            turn_over!();
                        }
                    }
                    Ins::PtrAdd { d, p, i, scale } => {
                        let p = r[p as usize];
                        let i = r[i as usize] as i64;
                        // |i| < 2^32 keeps the product exact; leaving the 4 GiB around an object would name another
                        let near = (i.wrapping_add(1 << 32) as u64) < 1 << 33;
                        let by = i.wrapping_mul(scale as i64);
                        let by_fits = near && (by.wrapping_add(1 << 32) as u64) < 1 << 33;
                        let q = p.wrapping_add(by as u64);
                        if q >> 32 != p >> 32 || !by_fits {
                            fault!(if p >> 32 == 0 {
                                FaultKind::NullDereference
                            } else {
                                FaultKind::PointerRange
                            });
                        }
                        r[d as usize] = q;
                    }
                    Ins::PtrDiff { d, a, b, scale } => {
                        let (a, b) = (r[a as usize], r[b as usize]);
                        if a >> 32 != b >> 32 {
                            fault!(FaultKind::PointerRange);
                        }
                        r[d as usize] = ((a.wrapping_sub(b)) as i64 / scale as i64) as u64;
                    }
                    Ins::Copy { p, a, size } => {
                        let (to, from) = get!(mem.copy(r[p as usize], r[a as usize], size as u64));
                        let x = saw!(from.0, from.1, size, AccessKind::Read);
                        let y = saw!(to.0, to.1, size, AccessKind::Write);
                        if x || y {
                            turn_over!();
                        }
                    }
                    Ins::Zero { p, size } => {
                        let (o, at) = get!(mem.fill(r[p as usize], 0, size as u64));
                        if saw!(o, at, size, AccessKind::Write) {
                            turn_over!();
                        }
                    }
                    Ins::MemCopy { p, a, n } => {
                        let n = r[n as usize];
                        if n > 0 {
                            let (to, from) = get!(mem.copy(r[p as usize], r[a as usize], n));
                            let x = saw!(from.0, from.1, n, AccessKind::Read);
                            let y = saw!(to.0, to.1, n, AccessKind::Write);
                            *fuel = fuel.saturating_sub(n / 8);
                            if x || y {
                                turn_over!();
                            }
                        }
                    }
                    Ins::MemSet { p, a, n } => {
                        let n = r[n as usize];
                        if n > 0 {
                            let (o, at) = get!(mem.fill(r[p as usize], r[a as usize] as u8, n));
                            *fuel = fuel.saturating_sub(n / 8);
                            if saw!(o, at, n, AccessKind::Write) {
                                turn_over!();
                            }
                        }
                    }
                    Ins::Settle { p } => {
                        *fuel = fuel.saturating_sub(mem.settle(r[p as usize]) / 64);
                    }
                    Ins::CheckInit { flag, var } => {
                        if r[flag as usize] == 0 {
                            fault!(FaultKind::Uninitialized {
                                object: func.reasons[var as usize].clone(),
                                offset: 0,
                            });
                        }
                    }
                    Ins::Alloc { d, var } => {
                        let v = &func.vars[var as usize];
                        r[d as usize] =
                            get!(born(mem, &mut self.slots[slots + v.slot as usize], v, v.size, fi));
                    }
                    Ins::AllocSized { d, var, size } => {
                        let v = &func.vars[var as usize];
                        let size = r[size as usize];
                        *fuel = fuel.saturating_sub(size / 64);
                        r[d as usize] =
                            get!(born(mem, &mut self.slots[slots + v.slot as usize], v, size, fi));
                    }
                    Ins::CheckLen { a } => {
                        let length = r[a as usize] as i64;
                        if length < 0 {
                            fault!(FaultKind::BadLength { length });
                        }
                    }
                    Ins::Call { f, d, args, n } => {
                        if self.frames.len() >= MAX_CALLS {
                            fault!(FaultKind::DepthLimit);
                        }
                        hooks.called(fi, func.terms[pc as usize]);
                        let callee = &code.funcs[f as usize];
                        let new_base = base + func.regs as usize;
                        let from = base + args as usize;
                        let need = new_base + callee.regs.max(n) as usize;
                        if self.regs.len() < need {
                            self.regs.resize(need, 0);
                        }
                        self.regs.copy_within(from..from + n as usize, new_base);
                        let new_slots = self.slots.len() as u32;
                        self.slots.resize(self.slots.len() + callee.slots as usize, 0);
                        if let Some(frame) = self.frames.last_mut() {
                            frame.pc = pc + 1;
                        }
                        self.frames.push(Frame {
                            func: f,
                            pc: 0,
                            base: new_base as u32,
                            slots: new_slots,
                            ret: d,
                        });
                        continue 'call;
                    }
                    Ins::Math { f, d, args } => {
                        let m = code.math[f as usize];
                        let from = args as usize;
                        match math::eval(m, &r[from..from + m.arity as usize]) {
                            Some(v) => r[d as usize] = v,
                            None => fault!(FaultKind::ConversionRange),
                        }
                    }
                    Ins::Malloc { d, n, zero } => {
                        let n = r[n as usize];
                        *fuel = fuel.saturating_sub(n / 64);
                        let o = get!(mem.allocate(&"malloc".into(), n, 1, Space::Global));
                        if zero && n > 0 {
                            get!(mem.fill(address(o, 0), 0, n));
                        }
                        r[d as usize] = address(o, 0);
                    }
                    Ins::Free { p } => {
                        let p = r[p as usize];
                        if p != 0 {
                            match locate(p) {
                                Some((o, at))
                                    if mem.get(o).is_some_and(|x| {
                                        x.live && (at == 0 && &*x.name == "malloc" || x.freed_at == Some(at))
                                    }) =>
                                {
                                    mem.release(o)
                                }
                                _ => fault!(FaultKind::DeadObject { object: "free".into() }),
                            }
                        }
                    }
                    Ins::Ret { a } => {
                        let value = (a != NONE).then(|| r[a as usize]);
                        let Some(frame) = self.frames.pop() else {
                            return Stop::Done(value);
                        };
                        for s in self.slots.drain(frame.slots as usize..) {
                            if s != 0 {
                                mem.release(ObjectId(s));
                            }
                        }
                        let Some(caller) = self.frames.last() else {
                            return Stop::Done(value);
                        };
                        hooks.returned();
                        if frame.ret != NONE {
                            match value {
                                Some(v) => self.regs[(caller.base + frame.ret) as usize] = v,
                                None => fault!(FaultKind::MissingReturn),
                            }
                        }
                        continue 'call;
                    }
                    Ins::GlobalAddr { d, global } => r[d as usize] = address(w.globals[global as usize], 0),
                    Ins::SharedAddr { d, shared } => match hooks.shared(shared) {
                        Some(o) => r[d as usize] = address(o, 0),
                        None => fault!(crate::compile::not_supported("shared memory outside of a grid")),
                    },
                    Ins::Special { d, what } => match hooks.special(what) {
                        Some(v) => r[d as usize] = v,
                        None => fault!(crate::compile::not_supported("a thread index outside of a grid")),
                    },
                    Ins::Atomic { op, ty, d, p, args } => {
                        let kind = match ty {
                            AtomicTy::I32 => Mem::I32,
                            AtomicTy::U32 | AtomicTy::F32 => Mem::U32,
                            _ => Mem::B64,
                        };
                        let p = r[p as usize];
                        let (old, o, at) = get!(load(mem, kind, p));
                        let third = if op == AtomicOp::CompareExchange { r[args as usize + 1] } else { 0 };
                        let new = arith::atomic(op, ty, old, r[args as usize], third);
                        get!(store(mem, kind, p, new));
                        r[d as usize] = old;
                        if saw!(o, at, kind.size(), AccessKind::Atomic) {
                            turn_over!();
                        }
                    }
                    Ins::Barrier { kind, d, a } => {
                        let value = if a == NONE { 0 } else { r[a as usize] };
                        if let Some(f) = self.frames.last_mut() {
                            f.pc = pc + 1;
                        }
                        return Stop::Barrier { kind, d, value, func: fi, pc };
                    }
                    Ins::Warp { kind, d, args, signed32 } => {
                        let x = args as usize;
                        let args = [r[x], r[x + 1], r[x + 2], r[x + 3]];
                        if let Some(f) = self.frames.last_mut() {
                            f.pc = pc + 1;
                        }
                        return Stop::Warp { kind, d, args, signed32, func: fi, pc };
                    }
                    Ins::Launch { f, args, n } => {
                        let x = args as usize;
                        let config = std::array::from_fn(|k| r[x + k]);
                        let args = r[x + 7..x + 7 + n as usize].to_vec();
                        if let Some(f) = self.frames.last_mut() {
                            f.pc = pc + 1;
                        }
                        return Stop::Launch { f, config, args, func: fi };
                    }
                    Ins::Fence { scope } => hooks.fence(scope),
                    Ins::Once { flag, to } => {
                        if std::mem::replace(&mut w.once[flag as usize], true) {
                            pc = to;
                            continue;
                        }
                        told_from = to;
                    }
                    Ins::LoopEnter { l } => hooks.looped(LoopEvent::Enter(l)),
                    Ins::LoopIter { l, index, index_kind } => {
                        let v = (index != NONE).then(|| peek(mem, index_kind, r[index as usize])).flatten();
                        hooks.looped(LoopEvent::Iterate(l, v));
                    }
                    Ins::LoopExit { l } => hooks.looped(LoopEvent::Exit(l)),
                    Ins::LoopSync { depth } => hooks.looped(LoopEvent::Sync(depth)),
                    Ins::Unsupported { reason } => {
                        fault!(FaultKind::NotSupported { reason: func.reasons[reason as usize].clone() })
                    }
                }
                pc += 1;
            }
        }
    }
}

/// (Re)creates a variable's object.
fn born(mem: &mut Memory, slot: &mut u32, v: &Var, size: u64, func: u32) -> Result<u64, FaultKind> {
    let old = ObjectId(*slot);
    let same = *slot != 0 && mem.get(old).is_some_and(|o| o.live && o.data.len() as u64 == size);
    if same {
        mem.rebirth(old);
        return Ok(address(old, 0));
    }
    mem.release(old);
    let o = mem.allocate(&v.name, size, v.grain, Space::Local)?;
    if let Some(x) = mem.get_mut(o) {
        x.variable = (v.symbol.0, func);
    }
    *slot = o.0;
    Ok(address(o, 0))
}

#[inline(always)]
fn load(mem: &Memory, kind: Mem, p: u64) -> Result<(u64, ObjectId, usize), FaultKind> {
    let (v, o, at) = match kind.size() {
        1 => {
            let (b, o, at) = mem.load::<1>(p)?;
            (b[0] as u64, o, at)
        }
        2 => {
            let (b, o, at) = mem.load::<2>(p)?;
            (u16::from_le_bytes(b) as u64, o, at)
        }
        4 => {
            let (b, o, at) = mem.load::<4>(p)?;
            (u32::from_le_bytes(b) as u64, o, at)
        }
        _ => {
            let (b, o, at) = mem.load::<8>(p)?;
            (u64::from_le_bytes(b), o, at)
        }
    };
    Ok((arith::from_memory(kind, v), o, at))
}

#[inline(always)]
fn store(mem: &mut Memory, kind: Mem, p: u64, v: u64) -> Result<(ObjectId, usize), FaultKind> {
    match kind.size() {
        1 => mem.store(p, [v as u8]),
        2 => mem.store(p, (v as u16).to_le_bytes()),
        4 => mem.store(p, (v as u32).to_le_bytes()),
        _ => mem.store(p, v.to_le_bytes()),
    }
}

/// An index's value without an access; `None` if it is not set.
fn peek(mem: &Memory, kind: u8, p: u64) -> Option<i64> {
    const KINDS: [Mem; 8] = [Mem::Bool, Mem::I8, Mem::U8, Mem::I16, Mem::U16, Mem::I32, Mem::U32, Mem::B64];
    load(mem, *KINDS.get(kind as usize)?, p).ok().map(|(v, _, _)| v as i64)
}
