//! What can go wrong while a program runs: values, never panics.
//!
//! Deliberately absent: sentences for users. `Display` gives one plain line for tests and logs.

use std::fmt;
use std::sync::Arc;

use term::TermId;

/// A thread of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ThreadId {
    /// `blockIdx`.
    pub block: [u32; 3],
    /// Its index in the block.
    pub thread: [u32; 3],
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// An access through a null pointer (or an integer that is no address).
    NullDereference,
    /// An access outside its object.
    OutOfBounds {
        /// What the object is called.
        object: Arc<str>,
        /// Its size in bytes.
        object_bytes: u64,
        /// First byte of the access.
        offset: i64,
        /// Bytes accessed.
        size: u64,
    },
    /// A value was used that nobody wrote.
    Uninitialized {
        /// The object or variable.
        object: Arc<str>,
        /// First byte of the access.
        offset: i64,
    },
    /// An address that its type's alignment forbids.
    Misaligned { offset: i64, size: u64 },
    /// An access to an object whose life is over.
    DeadObject { object: Arc<str> },
    /// The host uses memory of the device, or a kernel that of the host.
    OtherSide { object: Arc<str>, on_device: bool },
    /// A write to constant data.
    WriteToConst { object: Arc<str> },
    /// Signed arithmetic left its type (undefined in C, an exception in checked C#).
    SignedOverflow,
    /// A shift by a negative count or by the width or more.
    ShiftRange { count: i64 },
    /// `/ 0` or `% 0` on integers.
    DivisionByZero,
    /// A floating value converted to an integer type that cannot hold it.
    ConversionRange,
    /// Pointer arithmetic that left the address range of its object by far, or a difference between two objects.
    PointerRange,
    /// The value of a call was used whose function returned none.
    MissingReturn,
    /// A negative or zero VLA length.
    BadLength { length: i64 },
    /// Calls nested deeper than allowed.
    DepthLimit,
    /// More memory than allowed.
    MemoryLimit,
    /// The counted steps are used up.
    OutOfFuel,
    /// Nobody wants the answer any more.
    Cancelled,
    /// All threads wait and none can go on.
    Deadlock,
    /// Something this machine does not execute; never guessed.
    NotSupported { reason: Arc<str> },
    /// An input that is not meant: whoever made it says why.
    NotMeant { reason: Arc<str> },
    /// The caller asked for something impossible (no such function, wrong arguments).
    BadCall { reason: Arc<str> },
}

/// What happened, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    /// The function that was executing.
    pub function: Arc<str>,
    /// The term of that function's body, if there is one.
    pub term: Option<TermId>,
    /// The thread, in a grid.
    pub thread: Option<ThreadId>,
}

impl Fault {
    /// A fault that stands at no term.
    pub fn plain(kind: FaultKind) -> Fault {
        Fault { kind, function: "".into(), term: None, thread: None }
    }
    /// The caller asked for something impossible.
    pub fn bad_call(reason: &str) -> Fault {
        Fault::plain(FaultKind::BadCall { reason: reason.into() })
    }
    /// Whether it says nothing about the program: fuel, limits, and what we do not execute.
    pub fn is_unknown(&self) -> bool {
        matches!(
            self.kind,
            FaultKind::OutOfFuel
                | FaultKind::Cancelled
                | FaultKind::NotSupported { .. }
                | FaultKind::DepthLimit
                | FaultKind::MemoryLimit
        )
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::NullDereference => write!(f, "null dereference"),
            FaultKind::OutOfBounds { object, object_bytes, offset, size } => {
                write!(f, "access of {size} bytes at offset {offset} of `{object}` ({object_bytes} bytes)")
            }
            FaultKind::Uninitialized { object, offset } => {
                write!(f, "use of an uninitialized value: `{object}` at offset {offset}")
            }
            FaultKind::Misaligned { offset, size } => {
                write!(f, "misaligned access of {size} bytes at offset {offset}")
            }
            FaultKind::DeadObject { object } => write!(f, "access to `{object}` after its life"),
            FaultKind::OtherSide { object, on_device: true } => {
                write!(f, "the host uses memory of the device (`{object}`)")
            }
            FaultKind::OtherSide { object, on_device: false } => {
                write!(f, "memory of the host (`{object}`) is used where memory of the device must be")
            }
            FaultKind::WriteToConst { object } => write!(f, "write to constant `{object}`"),
            FaultKind::SignedOverflow => write!(f, "signed overflow"),
            FaultKind::ShiftRange { count } => write!(f, "shift by {count}"),
            FaultKind::DivisionByZero => write!(f, "integer division by zero"),
            FaultKind::ConversionRange => write!(f, "floating value does not fit the integer type"),
            FaultKind::PointerRange => write!(f, "pointer arithmetic across objects"),
            FaultKind::MissingReturn => write!(f, "value of a call that returned none"),
            FaultKind::BadLength { length } => write!(f, "array length {length}"),
            FaultKind::DepthLimit => write!(f, "calls nested too deep"),
            FaultKind::MemoryLimit => write!(f, "memory limit"),
            FaultKind::OutOfFuel => write!(f, "out of fuel"),
            FaultKind::Cancelled => write!(f, "cancelled"),
            FaultKind::Deadlock => write!(f, "all threads wait"),
            FaultKind::NotSupported { reason } => write!(f, "not supported: {reason}"),
            FaultKind::NotMeant { reason } => write!(f, "{reason}"),
            FaultKind::BadCall { reason } => write!(f, "bad call: {reason}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if !self.function.is_empty() {
            write!(f, " in `{}`", self.function)?;
        }
        if let Some(t) = self.thread {
            write!(f, " (block {:?} thread {:?})", t.block, t.thread)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
