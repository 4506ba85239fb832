//! Runs one thread's instructions until it ends, faults, waits for others or has used its turn.
//!
//! All state is in [`Thread`]: it can stop anywhere and go on later. What others want to know of the run (accesses,
//! loops) they learn through [`Hooks`], which cost nothing where they are empty.
//!
//! Deliberately absent: scheduling (see `grid`) and any meaning of barriers.

mod memory;

use term::device::{AtomicOp, Scope, Tally};
use term::TermId;

use crate::arith;
use crate::code::*;
use crate::fault::{Fault, FaultKind};
use crate::math;
use crate::memory::{address, Memory, ObjectId, Spot};
use memory::{born, device, free, malloc, peek, pointer_difference, pointer_sum, Touch};

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
    /// Bytes were copied; `true`: that is all that is to be told of it.
    fn copied(&mut self, _mem: &Memory, _to: Spot, _from: Spot, _size: u32) -> bool {
        false
    }
    /// What the device's run time did, its value, and where.
    fn device(&mut self, _mem: &Memory, _op: DeviceOp, _args: &[u64], _value: u64, _at: (u32, TermId)) {}
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
        while !self.frames.is_empty() {
            if let Some(stop) = self.run_call(w, mem, hooks, fuel) {
                return stop;
            }
        }
        Stop::Done(None)
    }

    /// Runs the innermost call; `None` where another one is the innermost now.
    fn run_call<H: Hooks>(
        &mut self,
        w: &mut World<'_>,
        mem: &mut Memory,
        hooks: &mut H,
        fuel: &mut u64,
    ) -> Option<Stop> {
        let code = w.code;
        let Frame { func: fi, mut pc, base, slots, .. } = *self.frames.last()?;
        let func = &code.funcs[fi as usize];
        let (base, slots) = (base as usize, slots as usize);
        let r = &mut self.regs[base..base + func.regs as usize];
        // Static variables have their value before anything runs (C11 6.7.9p10): giving it is no access of the run.
        let mut told_from = 0;

        macro_rules! fault {
            ($kind:expr) => {
                return Some(fault(func, pc, $kind))
            };
        }
        macro_rules! get {
            ($e:expr) => {
                match $e {
                    Ok(v) => v,
                    Err(kind) => fault!(kind),
                }
            };
        }
        // What an instruction does to memory; where the observer says so, the turn is over behind it.
        macro_rules! touch {
            ($touch:ident($($arg:expr),*)) => {
                touch!($touch($($arg),*), costs 0)
            };
            ($touch:ident($($arg:expr),*), costs $cost:expr) => {{
                let mut t = Touch { mem, hooks, func: fi, terms: &func.terms, pc, told: pc >= told_from };
                let over = get!(t.$touch($($arg),*));
                *fuel = fuel.saturating_sub($cost);
                if over {
                    self.stand(pc + 1);
                    return Some(Stop::Turn);
                }
            }};
        }

        loop {
            if *fuel == 0 {
                self.stand(pc);
                return Some(Stop::Turn);
            }
            *fuel -= 1;
            match func.code[pc as usize] {
                // values
                Ins::Const { d, pool } => r[d as usize] = func.consts[pool as usize],
                Ins::Mov { d, a } => r[d as usize] = r[a as usize],
                Ins::Bin { op, d, a, b } => {
                    r[d as usize] = get!(arith::bin(op, r[a as usize], r[b as usize]))
                }
                Ins::Un { op, d, a } => r[d as usize] = get!(arith::un(op, r[a as usize])),
                Ins::PtrAdd { d, p, i, scale } => {
                    r[d as usize] = get!(pointer_sum(r[p as usize], r[i as usize] as i64, scale as i64))
                }
                Ins::PtrDiff { d, a, b, scale } => {
                    r[d as usize] = get!(pointer_difference(r[a as usize], r[b as usize], scale as i64))
                }
                Ins::Math { f, d, args } => {
                    let m = code.math[f as usize];
                    let from = args as usize;
                    match math::eval(m, &r[from..from + m.arity as usize]) {
                        Some(v) => r[d as usize] = v,
                        None => fault!(FaultKind::ConversionRange),
                    }
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

                // which instruction is next
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
                Ins::Once { flag, to } => {
                    if std::mem::replace(&mut w.once[flag as usize], true) {
                        pc = to;
                        continue;
                    }
                    told_from = to;
                }
                Ins::Call { f, d, args, n } => {
                    if self.frames.len() >= MAX_CALLS {
                        fault!(FaultKind::DepthLimit);
                    }
                    hooks.called(fi, func.terms[pc as usize]);
                    self.stand(pc + 1);
                    self.enter(code, f, base + args as usize..base + (args + n) as usize, d);
                    return None;
                }
                Ins::Ret { a } => {
                    let value = (a != NONE).then(|| r[a as usize]);
                    return get!(self.leave(mem, hooks, value));
                }

                // memory
                Ins::Load { kind, d, p } => touch!(load(kind, r[p as usize], &mut r[d as usize])),
                Ins::Store { kind, p, a } => touch!(store(kind, r[p as usize], r[a as usize])),
                Ins::Atomic { op, ty, d, p, args } => {
                    let third = if op == AtomicOp::CompareExchange { r[args as usize + 1] } else { 0 };
                    let operands = [r[args as usize], third];
                    touch!(atomic(op, ty, r[p as usize], operands, &mut r[d as usize]))
                }
                Ins::Copy { p, a, size } => touch!(copy(r[p as usize], r[a as usize], size as u64)),
                Ins::Zero { p, size } => touch!(fill(r[p as usize], 0, size as u64)),
                Ins::MemCopy { p, a, n } => {
                    let n = r[n as usize];
                    if n > 0 {
                        touch!(copy(r[p as usize], r[a as usize], n), costs n / 8);
                    }
                }
                Ins::MemSet { p, a, n } => {
                    let n = r[n as usize];
                    if n > 0 {
                        touch!(fill(r[p as usize], r[a as usize] as u8, n), costs n / 8);
                    }
                }
                Ins::Settle { p } => *fuel = fuel.saturating_sub(mem.settle(r[p as usize]) / 64),

                // lives of objects
                Ins::Alloc { d, var } => {
                    let v = &func.vars[var as usize];
                    let slot = &mut self.slots[slots + v.slot as usize];
                    r[d as usize] = get!(born(mem, slot, v, v.size, fi));
                }
                Ins::AllocSized { d, var, size } => {
                    let v = &func.vars[var as usize];
                    let size = r[size as usize];
                    *fuel = fuel.saturating_sub(size / 64);
                    let slot = &mut self.slots[slots + v.slot as usize];
                    r[d as usize] = get!(born(mem, slot, v, size, fi));
                }
                Ins::Malloc { d, n, zero } => {
                    let n = r[n as usize];
                    *fuel = fuel.saturating_sub(n / 64);
                    r[d as usize] = get!(malloc(mem, n, zero));
                }
                Ins::Free { p } => get!(free(mem, r[p as usize])),
                Ins::Device { op, d, args } => {
                    let at = args as usize;
                    let args = &r[at..at + op.arity()];
                    let (value, moved) = get!(device(mem, op, args));
                    hooks.device(mem, op, args, value, (fi, func.terms[pc as usize]));
                    r[d as usize] = value;
                    *fuel = fuel.saturating_sub(moved / 64);
                }
                Ins::CheckInit { flag, var } => {
                    if r[flag as usize] == 0 {
                        let object = func.reasons[var as usize].clone();
                        fault!(FaultKind::Uninitialized { object, offset: 0 });
                    }
                }
                Ins::CheckLen { a } => {
                    let length = r[a as usize] as i64;
                    if length < 0 {
                        fault!(FaultKind::BadLength { length });
                    }
                }

                Ins::Raise { what } => fault!(match what {
                    Raised::Null => FaultKind::NullDereference,
                    Raised::Overflow => FaultKind::SignedOverflow,
                    Raised::OutOfBounds => {
                        let object = func.name.clone();
                        FaultKind::OutOfBounds { object, object_bytes: 0, offset: 0, size: 0 }
                    }
                }),
                Ins::LengthOf { d, p, bytes } => {
                    let object = crate::memory::locate(r[p as usize]).and_then(|(o, _)| mem.get(o));
                    match object {
                        Some(o) => r[d as usize] = o.data.len() as u64 / u64::from(bytes.max(1)),
                        None => fault!(FaultKind::NullDereference),
                    }
                }

                // what others have to do with
                Ins::Barrier { kind, d, a } => {
                    let value = if a == NONE { 0 } else { r[a as usize] };
                    self.stand(pc + 1);
                    return Some(Stop::Barrier { kind, d, value, func: fi, pc });
                }
                Ins::Warp { kind, d, args, signed32 } => {
                    let x = args as usize;
                    let args = [r[x], r[x + 1], r[x + 2], r[x + 3]];
                    self.stand(pc + 1);
                    return Some(Stop::Warp { kind, d, args, signed32, func: fi, pc });
                }
                Ins::Launch { f, args, n } => {
                    let x = args as usize;
                    let config = std::array::from_fn(|k| r[x + k]);
                    let args = r[x + 7..x + 7 + n as usize].to_vec();
                    self.stand(pc + 1);
                    return Some(Stop::Launch { f, config, args, func: fi });
                }
                Ins::Fence { scope } => hooks.fence(scope),
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

    /// From where the innermost call goes on.
    #[inline(always)]
    fn stand(&mut self, pc: u32) {
        if let Some(frame) = self.frames.last_mut() {
            frame.pc = pc;
        }
    }

    /// A call begins: `args` are the caller's registers, `ret` is where it wants the value.
    fn enter(&mut self, code: &Code, func: u32, args: std::ops::Range<usize>, ret: Reg) {
        let callee = &code.funcs[func as usize];
        let base = self.frames.last().map_or(0, |f| (f.base + code.funcs[f.func as usize].regs) as usize);
        let need = base + callee.regs.max(args.len() as u32) as usize;
        if self.regs.len() < need {
            self.regs.resize(need, 0);
        }
        self.regs.copy_within(args, base);
        let slots = self.slots.len() as u32;
        self.slots.resize(self.slots.len() + callee.slots as usize, 0);
        self.frames.push(Frame { func, pc: 0, base: base as u32, slots, ret });
    }

    /// The innermost call ends, and its variables with it; its caller goes on, if there is one.
    fn leave<H: Hooks>(
        &mut self,
        mem: &mut Memory,
        hooks: &mut H,
        value: Option<u64>,
    ) -> Result<Option<Stop>, FaultKind> {
        let Some(frame) = self.frames.pop() else {
            return Ok(Some(Stop::Done(value)));
        };
        for s in self.slots.drain(frame.slots as usize..) {
            if s != 0 {
                mem.release(ObjectId(s));
            }
        }
        let Some(caller) = self.frames.last() else {
            return Ok(Some(Stop::Done(value)));
        };
        hooks.returned();
        if frame.ret != NONE {
            let value = value.ok_or(FaultKind::MissingReturn)?;
            self.regs[(caller.base + frame.ret) as usize] = value;
        }
        Ok(None)
    }
}

#[cold]
fn fault(func: &Func, pc: u32, kind: FaultKind) -> Stop {
    let term = func.terms.get(pc as usize).copied();
    Stop::Fault(Fault { kind, function: func.name.clone(), term, thread: None })
}
