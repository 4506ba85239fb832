//! What terms are compiled to before they run: instructions over numbered 64-bit registers.
//!
//! A register holds an integer in canonical extension (signed types sign-extended, unsigned zero-extended), a double's
//! bits, a float's bits in the low half, or an address (see `memory`). Each instruction knows its types, so registers
//! carry none. A thread is then a few vectors and a program counter and can stop and go on anywhere.
//!
//! Deliberately absent: optimization. What is executed is what was written.

use std::sync::Arc;

use term::device::{AtomicOp, Index, Scope, Shuffle, Tally, Vote, Word};
use term::{IntKind, SymbolId, TermId};

/// A register of the current call.
pub type Reg = u32;
/// "No register": the value is not wanted.
pub const NONE: Reg = u32::MAX;

/// Two-operand operations; the suffix is the operand type (`I32` signed and checked, `U32` unsigned, …).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bin {
    AddI32,
    AddI64,
    AddU32,
    AddU64,
    SubI32,
    SubI64,
    SubU32,
    SubU64,
    MulI32,
    MulI64,
    MulU32,
    MulU64,
    DivI32,
    DivI64,
    DivU,
    RemI32,
    RemI64,
    RemU,
    ShlI32,
    ShlI64,
    ShlU32,
    ShlU64,
    ShrI32,
    ShrI64,
    ShrU32,
    ShrU64,
    And,
    Or,
    Xor,
    LtS,
    LeS,
    LtU,
    LeU,
    Eq,
    Ne,
    AddF32,
    SubF32,
    MulF32,
    DivF32,
    LtF32,
    LeF32,
    EqF32,
    NeF32,
    AddF64,
    SubF64,
    MulF64,
    DivF64,
    LtF64,
    LeF64,
    EqF64,
    NeF64,
}

/// One-operand operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Un {
    /// Convert an integer to a narrower kind (or `_Bool`).
    Wrap(IntKind),
    SignedToF32,
    SignedToF64,
    UnsignedToF32,
    UnsignedToF64,
    F32ToF64,
    F64ToF32,
    F32ToInt(IntKind),
    F64ToInt(IntKind),
    /// `!= 0`
    TruthInt,
    TruthF32,
    TruthF64,
    /// `== 0`
    NotInt,
    NotF32,
    NotF64,
    NegF32,
    NegF64,
    /// `~` on canonical integers of 64 bits or signed 32.
    BitNot,
    BitNotU32,
}

/// How a scalar lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mem {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    /// Also `float`.
    U32,
    /// All 64-bit integers, `double`, pointers.
    B64,
}

impl Mem {
    /// Bytes.
    pub fn size(self) -> u32 {
        match self {
            Mem::Bool | Mem::I8 | Mem::U8 => 1,
            Mem::I16 | Mem::U16 => 2,
            Mem::I32 | Mem::U32 => 4,
            Mem::B64 => 8,
        }
    }
}

/// Values a thread finds set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Special {
    pub index: Index,
    /// 0 is `x`.
    pub axis: u8,
}

/// What an atomic works on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicTy {
    I32,
    U32,
    U64,
    I64,
    F32,
    F64,
}

/// Operations of a warp. Which lanes are active is not here: what is returned for that depends on the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WarpKind {
    /// (mask)
    Sync,
    /// (mask, value, lane, width)
    Shuffle(Shuffle),
    /// (mask, predicate)
    Vote(Vote),
    /// (mask, value)
    Reduce(AtomicOp, AtomicTy),
    /// (mask, value)
    Match,
}

impl WarpKind {
    /// What programs call it by.
    pub fn word(self) -> Word {
        match self {
            WarpKind::Sync => Word::Barrier(Scope::Warp, Tally::Nothing),
            WarpKind::Shuffle(s) => Word::Shuffle(s),
            WarpKind::Vote(v) => Word::Vote(v),
            WarpKind::Reduce(op, _) => Word::Reduce(op),
            WarpKind::Match => Word::Match,
        }
    }
}

/// One instruction. `d` is where the result goes, `p` an address, `a`, `b` operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ins {
    /// From the pool of constants.
    Const {
        d: Reg,
        pool: u32,
    },
    Mov {
        d: Reg,
        a: Reg,
    },
    Bin {
        op: Bin,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Un {
        op: Un,
        d: Reg,
        a: Reg,
    },
    Jump {
        to: u32,
    },
    /// If zero.
    JumpZ {
        a: Reg,
        to: u32,
    },
    /// If not zero.
    JumpNZ {
        a: Reg,
        to: u32,
    },
    Load {
        kind: Mem,
        d: Reg,
        p: Reg,
    },
    Store {
        kind: Mem,
        p: Reg,
        a: Reg,
    },
    /// `d = p + i * scale` bytes.
    PtrAdd {
        d: Reg,
        p: Reg,
        i: Reg,
        scale: i32,
    },
    /// `(a - b) / scale` elements; `size` is a register in bytes if not `NONE`.
    PtrDiff {
        d: Reg,
        a: Reg,
        b: Reg,
        scale: u32,
    },
    /// Struct copy of a constant number of bytes.
    Copy {
        p: Reg,
        a: Reg,
        size: u32,
    },
    /// Zero bytes.
    Zero {
        p: Reg,
        size: u32,
    },
    /// `memcpy(p, a, n)`, `memset(p, a, n)`
    MemCopy {
        p: Reg,
        a: Reg,
        n: Reg,
    },
    MemSet {
        p: Reg,
        a: Reg,
        n: Reg,
    },
    /// Zeros where nobody wrote yet, from an address to the end of its object; nothing where there is none.
    Settle {
        p: Reg,
    },
    /// Faults if the flag register is zero: the variable was never written.
    CheckInit {
        flag: Reg,
        var: u32,
    },
    /// (Re)creates the variable's object; its address goes to `d`.
    Alloc {
        d: Reg,
        var: u32,
    },
    /// The same, with the size in bytes in a register.
    AllocSized {
        d: Reg,
        var: u32,
        size: Reg,
    },
    /// Faults if a VLA length is not positive.
    CheckLen {
        a: Reg,
    },
    /// Ends the run by an exception.
    Raise {
        what: Raised,
    },
    /// How many elements of so many bytes the array at `p` has; faults on null.
    LengthOf {
        d: Reg,
        p: Reg,
        bytes: u32,
    },
    /// Arguments stand in `args..args+n`.
    Call {
        f: u32,
        d: Reg,
        args: Reg,
        n: u32,
    },
    /// Grid (x, y, z), block (x, y, z), bytes of shared memory and then `n` arguments stand in `args..`.
    Launch {
        f: u32,
        args: Reg,
        n: u32,
    },
    /// A pure function of `math.h`; arguments stand in `args..`.
    Math {
        f: u32,
        d: Reg,
        args: Reg,
    },
    Malloc {
        d: Reg,
        n: Reg,
        zero: bool,
    },
    Free {
        p: Reg,
    },
    /// What a run time for devices is made of.
    Device {
        op: DeviceOp,
        d: Reg,
        args: Reg,
    },
    Ret {
        a: Reg,
    },
    GlobalAddr {
        d: Reg,
        global: u32,
    },
    SharedAddr {
        d: Reg,
        shared: u32,
    },
    Special {
        d: Reg,
        what: Special,
    },
    /// `d = old; *p = op(old, v, w)`; `v` at `args`, `w` at `args + 1`.
    Atomic {
        op: AtomicOp,
        ty: AtomicTy,
        d: Reg,
        p: Reg,
        args: Reg,
    },
    Barrier {
        kind: Tally,
        d: Reg,
        a: Reg,
    },
    /// Arguments (mask, value, lane, width) stand in `args..args+4`; `bits` of the value.
    Warp {
        kind: WarpKind,
        d: Reg,
        args: Reg,
        signed32: bool,
    },
    Fence {
        scope: Scope,
    },
    /// Static initializers run once.
    Once {
        flag: u32,
        to: u32,
    },
    /// Loop events of traced functions; `l` counts the watched loops.
    LoopEnter {
        l: u32,
    },
    LoopIter {
        l: u32,
        index: Reg,
        index_kind: u8,
    },
    LoopExit {
        l: u32,
    },
    /// At labels: leaves watched loops until `depth` are open in this call.
    LoopSync {
        depth: u32,
    },
    /// Not executed by this machine.
    Unsupported {
        reason: u32,
    },
}

/// A variable that lives in memory.
#[derive(Clone, Debug)]
pub struct Var {
    pub name: Arc<str>,
    pub symbol: SymbolId,
    /// Bytes, if constant.
    pub size: u64,
    pub grain: u32,
    /// Its place among the call's objects.
    pub slot: u32,
}

/// A parameter as a callee wants it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    Int(IntKind),
    F32,
    F64,
    Pointer,
    /// Passed as an address, copied by the callee; bytes.
    Record(u32),
}

/// What a function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetKind {
    Void,
    Value(ParamKind),
    /// Written to an address passed as a hidden last argument; bytes.
    Record(u32),
}

/// A file-scope or static variable, or a string.
#[derive(Clone, Debug)]
pub struct Global {
    pub name: Arc<str>,
    pub size: u64,
    pub grain: u32,
    /// Initial bytes (zeros otherwise).
    pub bytes: Option<Arc<[u8]>>,
    pub read_only: bool,
    /// `__constant__`: read-only while a grid runs.
    pub constant: bool,
    /// Declared `extern` only: a caller must provide it.
    pub provided: bool,
    /// The function and symbol of a static local.
    pub variable: (u32, u32),
}

/// A `__shared__` variable.
#[derive(Clone, Debug)]
pub struct Shared {
    pub name: Arc<str>,
    /// `None`: `extern __shared__`, sized by the launch.
    pub size: Option<u64>,
    pub grain: u32,
}

/// One compiled function.
#[derive(Clone, Debug)]
pub struct Func {
    pub name: Arc<str>,
    pub params: Vec<ParamKind>,
    pub ret: RetKind,
    pub code: Vec<Ins>,
    /// The term each instruction stands for.
    pub terms: Vec<TermId>,
    pub consts: Vec<u64>,
    pub vars: Vec<Var>,
    pub reasons: Vec<Arc<str>>,
    pub regs: u32,
    pub slots: u32,
}

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Of the device it was compiled for.
    pub limits: gpu::Limits,
    pub funcs: Vec<Func>,
    pub globals: Vec<Global>,
    pub shared: Vec<Shared>,
    pub math: Vec<crate::math::MathFn>,
    /// Number of `Once` flags.
    pub flags: u32,
    /// Globals with an initializer, and the function that runs it.
    pub init: Vec<(u32, u32)>,
    /// The loops that are watched, in the traced function.
    pub watched: Vec<Watched>,
    /// The traced function.
    pub traced: Option<u32>,
    /// Function and instruction of the jumps that decide a statement, a `?:` or a `case`, and the term they decide
    /// (where the options ask for it).
    pub decisions: rustc_hash::FxHashMap<(u32, u32), TermId>,
}

/// Exceptions of C# that no access of memory and no operation raises by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Raised {
    Null,
    OutOfBounds,
    Overflow,
}

/// A watched loop.
#[derive(Clone, Debug)]
pub struct Watched {
    pub term: TermId,
    /// The variable its header moves.
    pub index: Option<SymbolId>,
    /// The terms of its header (first, condition, step): their accesses to the index are the loop's own.
    pub header: rustc_hash::FxHashSet<TermId>,
}

impl Code {
    /// What would fault as "not supported" if it were reached: function and reason. Empty: all of it can run.
    pub fn gaps(&self) -> impl Iterator<Item = String> + '_ {
        self.funcs.iter().flat_map(|f| {
            f.code.iter().filter_map(|i| match i {
                Ins::Unsupported { reason } => {
                    let reason = f.reasons.get(*reason as usize)?;
                    Some(format!("{}: {reason}", f.name))
                }
                _ => None,
            })
        })
    }
    /// Instructions on the shortest way through function 0: no thread that comes to its end takes fewer steps.
    pub fn least_steps(&self) -> u64 {
        let Some(code) = self.funcs.first().map(|f| &f.code) else { return 0 };
        let mut steps: Vec<Option<u64>> = vec![None; code.len()];
        let mut open = std::collections::VecDeque::from([(0usize, 1u64)]);
        while let Some((at, taken)) = open.pop_front() {
            let Some(ins) = code.get(at) else { return taken };
            if steps[at].replace(taken).is_some() {
                continue;
            }
            let (next, jump) = match ins {
                Ins::Ret { .. } => return taken,
                Ins::Jump { to } => (None, Some(*to)),
                Ins::JumpZ { to, .. } | Ins::JumpNZ { to, .. } => (Some(at + 1), Some(*to)),
                _ => (Some(at + 1), None),
            };
            open.extend(next.into_iter().chain(jump.map(|to| to as usize)).map(|n| (n, taken + 1)));
        }
        // no way leads to the end: it ends by a fault, or never
        1
    }
    /// The function of this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.funcs.iter().position(|f| &*f.name == name).map(|i| i as u32)
    }
}

/// What a run time for devices is made of; arguments stand one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceOp {
    /// Memory of the device: bytes.
    Allocate,
    /// Gives it back: address.
    Free,
    /// Between the sides: to, from, bytes, direction as in `cudaMemcpyKind`.
    Copy,
    /// Memory of the device: address, byte, bytes.
    Fill,
}

impl DeviceOp {
    /// The functions that do it, which texts of our own call, by their names without `__builtin_`.
    pub fn of(name: &str) -> Option<DeviceOp> {
        Some(match name {
            "ww_device_malloc" => DeviceOp::Allocate,
            "ww_device_free" => DeviceOp::Free,
            "ww_device_copy" => DeviceOp::Copy,
            "ww_device_set" => DeviceOp::Fill,
            _ => return None,
        })
    }

    /// How many arguments.
    pub fn arity(self) -> usize {
        match self {
            DeviceOp::Allocate | DeviceOp::Free => 1,
            DeviceOp::Fill => 3,
            DeviceOp::Copy => 4,
        }
    }
}
