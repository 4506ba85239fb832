//! Why there is no plan, and what would help. `ide` words these.

use std::sync::Arc;

use term::device::Word;
use term::{SymbolId, TermId, TypeId};

use super::checked::HostForm;
use super::functions::FunctionTrouble;

/// Why a loop is not offloaded though it could run in parallel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// At least one; all that were found, in textual order.
    pub reasons: Vec<Reason>,
}

/// One thing that stands in the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    pub kind: RefusalKind,
    pub term: TermId,
}

/// What stands in the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefusalKind {
    /// The facts are not those of a parallel counted loop of this body.
    NotParallel,
    /// Another language's arithmetic than C's.
    Semantics,
    /// The loop comes out of a macro: its text cannot be edited.
    InMacro,
    /// A place that was not understood.
    NotUnderstood,
    /// Nested too deep to be printed.
    TooDeep,
    /// `long double`: no GPU has it.
    LongDouble,
    /// A type that kernels cannot have (unknown, union, bit-field, pointer inside a struct, …).
    Type(TypeId),
    /// A struct whose members do not lie at multiples of their sizes, where a GPU cannot load them.
    Packed(TypeId),
    /// A variable that holds a pointer is used as a value or is local to the loop.
    PointerValue(SymbolId),
    /// `volatile` or `_Atomic`.
    Volatile(SymbolId),
    /// It is not known which part of the array is used.
    UnknownExtent(SymbolId),
    /// An array is used other than by subscripts down to its elements.
    PartialSubscript(SymbolId),
    /// No version for the device is known.
    NoDeviceVersion(SymbolId),
    /// A function of the program (or one that it calls, by name) cannot be had on the device.
    Function(SymbolId, Arc<str>, FunctionTrouble),
    /// A call whose function is not a plain name.
    IndirectCall,
    /// A local array whose length is not constant.
    VariableLengthLocal(SymbolId),
    /// A `static` variable inside the loop.
    StaticLocal(SymbolId),
    /// A name that no declaration explains.
    Undeclared(SymbolId),
    /// Read or written in the loop, but the facts do not say how.
    Unclassified(SymbolId),
    /// `goto`, labels, `return`: control flow that a kernel's iteration cannot have.
    ControlFlow,
    /// An operation kernels are not written with (string, address, initialiser of this kind, …).
    Operation,
    /// The accumulator is a cell that the host cannot name before the loop, or need not exist.
    ReductionCell,
    /// The value a variable has after the loop cannot be kept.
    LastValue(SymbolId),
    /// A private copy is too large for each thread to have one.
    LargePrivate(SymbolId),
    /// Each thread would need its own copy of an array of which parts are what they were before the loop.
    BegunPrivate(SymbolId),
    /// No atomic operation on the device does what the accumulation into these cells does.
    NoAtomic(SymbolId),
    /// The target has nothing for what the kernel would need.
    NoWord(Word),
    /// A floating minimum or maximum whose result depends on where NaNs stand.
    NanOrder(SymbolId),
    /// A function accumulates through the variable's address.
    CalledReduction(SymbolId),
    /// An integer accumulator with floating operands: rounding depends on the order.
    RoundedReduction(SymbolId),
    /// An induction variable under several parallel loops, or not an integer.
    Induction(SymbolId),
    /// A condition that no test on the host can settle.
    Untestable,
    /// An overlap that no test on the host can rule out.
    UntestableOverlap(SymbolId),
    /// A value that may not be read unless the loop's body is reached.
    ReadsTooEarly,
    /// The call of several nests reads what the program reads only where their loops run, and no test says whether they do.
    CallReadsTooEarly,
    /// The first value may be negative while the comparison is unsigned, and the host cannot test it.
    MixedSigns(SymbolId),
    /// An integer expression of the plan may overflow whatever is tested.
    Overflow,
    /// The host's language has no form for it that is written here.
    Host(HostForm),
}

/// What the user could do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NextStep {
    /// Align the members by their sizes.
    AlignMembers,
    /// Use `float` or `double`.
    UseNarrowerType,
    /// Give the array's size in the declaration, or a bound that is fixed before the loop.
    StateSize,
    /// Inline the function or replace it with a math function.
    InlineCall,
    /// Use a subscript instead of a moving or stored pointer.
    UseSubscripts,
    /// Give the local array a constant length.
    UseConstantLength,
    /// Copy the value into a local variable before the loop.
    UseLocalCopy,
    /// Rewrite the jump as a condition.
    RestructureFlow,
    /// Write `if (x < m) m = x`.
    UseCompareForm,
    /// Write the loop out instead of using a macro.
    ExpandMacro,
    /// Accumulate in a local scalar and store it after the loop.
    UseScalarAccumulator,
    /// Accumulate with `+=` into cells of `int`, `float` or `double`.
    UseNativeAtomic,
    /// Use `int` for bounds and sizes.
    UseSmallerBounds,
    /// Nothing simple.
    None,
}

impl RefusalKind {
    /// What the user could do about it.
    pub fn next_step(&self) -> NextStep {
        use RefusalKind::*;
        match self {
            LongDouble => NextStep::UseNarrowerType,
            Packed(_) => NextStep::AlignMembers,
            UnknownExtent(_) | UntestableOverlap(_) => NextStep::StateSize,
            NoDeviceVersion(_) | Function(..) | IndirectCall | CalledReduction(_) => NextStep::InlineCall,
            PointerValue(_) | PartialSubscript(_) => NextStep::UseSubscripts,
            VariableLengthLocal(_) => NextStep::UseConstantLength,
            Volatile(_) | StaticLocal(_) | ReadsTooEarly | CallReadsTooEarly | MixedSigns(_) => {
                NextStep::UseLocalCopy
            }
            ControlFlow | TooDeep => NextStep::RestructureFlow,
            NanOrder(_) => NextStep::UseCompareForm,
            InMacro => NextStep::ExpandMacro,
            LastValue(_) => NextStep::UseLocalCopy,
            LargePrivate(_) => NextStep::UseConstantLength,
            NoAtomic(_) => NextStep::UseNativeAtomic,
            ReductionCell | RoundedReduction(_) => NextStep::UseScalarAccumulator,
            Overflow => NextStep::UseSmallerBounds,
            NotParallel | Semantics | NotUnderstood | Type(_) | Undeclared(_) | Unclassified(_)
            | NoWord(_) | BegunPrivate(_) | Operation | Induction(_) | Untestable | Host(_) => NextStep::None,
        }
    }
}
