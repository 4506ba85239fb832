//! The plan of an offload: every decision, before any text.
//!
//! Which loop runs along which axis, how large a block is, what is copied where, what is tested on the host first, how
//! reductions are combined. A plan can only be made by [`plan`], which refuses what cannot be right.

mod amounts;
mod bounds;
mod build;
mod cells;
mod checked;
mod choices;
mod conditions;
mod deepest;
mod dims;
mod ends;
mod functions;
mod jagged;
mod keyed;
mod memory;
mod names;
mod naming;
mod noticed;
mod pages;
mod pointers;
mod promises;
mod refuse;
mod region;
mod region_rows;
mod rows;
mod scalars;
mod shape;
mod signed_zeros;
mod simplify;
mod support;
mod threads;
mod values;

pub(crate) use scalars::wrapping_kind;
use std::collections::BTreeMap;

use analysis::{ConditionKind, Expr, Facts, Offload, Param, Pred, Program, ReductionOp, Step};
use base::Span;
use term::device::AtomicOp;
use term::{BinOp, Body, IntKind, RecordId, SymbolId, TermId, TypeId};

use crate::limits::plan_pages::LARGEST as LARGEST_FOR_PAGES;
use crate::HostSide;
pub use amounts::{widest, Ends};
pub(crate) use bounds::{constant, params as expr_params, pred_params};
pub use build::plan;
pub(crate) use checked::{is_span, length_of};
pub use checked::{Checked, HostForm};
pub use ends::{EarlyApart, EndsPlan};
pub use functions::{DeviceFunction, FunctionTrouble};
pub(crate) use jagged::row_length;
pub use jagged::RowLengths;
pub(crate) use keyed::{held, Held};
pub use keyed::{Choice, KeyedPlan, KeyedVariable};
pub use memory::{BufferPlan, EachPlan};
pub use names::has_word;
pub(crate) use names::{part as name_part, Namer};
pub(crate) use noticed::{noticed, Noticed};
pub use refuse::{NextStep, Reason, Refusal, RefusalKind};
pub use region::{plan_name, plan_region, region_needs, RegionPlan};
pub use rows::{RowsPart, RowsPlan};
pub use shape::ThreadShape;
pub use signed_zeros::Zeros;
pub(crate) use support::is_written_out;
pub(crate) use threads::comparison;
pub use threads::ThreadPlan;
pub(crate) use values::may_trap;
pub use values::{Guard, HostValue};

/// Threads in a block, whatever its shape. A power of two: the reduction tree halves it.
pub const BLOCK_THREADS: u32 = 256;

/// What a plan is made from.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub body: &'a Body,
    /// Where the functions are that it calls.
    pub program: &'a Program,
    pub facts: &'a Facts,
    pub offload: &'a Offload,
    /// What the text is written for.
    pub target: &'static gpu::Row,
    /// The body's own text; its spans index into it.
    pub text: &'a str,
    /// Where `text` begins in the file, in bytes.
    pub base_offset: u32,
    pub file_text: &'a str,
    /// The host file's name without folders.
    pub file_name: &'a str,
    /// Base of all generated names; empty: the function's name and the outermost index.
    pub name: &'a str,
    /// Bases that are taken, by other loops of the file for example.
    pub taken: &'a [String],
    /// Where pragmas of other tools that belong to the loop begin, in the file; `None`: there are none.
    pub opening: Option<u32>,
    /// How its threads are laid out.
    pub threads: ThreadShape,
}

/// Where the host code stands.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub text: &'a str,
    pub base_offset: u32,
    pub file_text: &'a str,
    pub file_name: &'a str,
    /// The replaced loop, relative to the body.
    pub span: Span,
    /// 1-based line of the loop in the file.
    pub line: u32,
    /// Where the loop begins, with the pragmas of other tools that belong to it, in the file.
    pub opening: u32,
}

/// An axis of the grid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    /// `x`, `y`, `z`
    pub fn letter(self) -> char {
        match self {
            Axis::X => 'x',
            Axis::Y => 'y',
            Axis::Z => 'z',
        }
    }
    /// 0, 1, 2
    pub fn number(self) -> usize {
        self as usize
    }
}

/// All decisions of one offload.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    pub body: &'a Body,
    /// What the text is written for.
    pub target: &'static gpu::Row,
    pub site: Site<'a>,
    /// Base of generated names.
    pub name: String,
    /// Begins every name we add; no name of the function begins with it.
    pub prefix: String,
    /// The kernels launched one after the other in place of the loop.
    pub kernels: Vec<Kernel>,
    /// Device copies of host memory.
    pub buffers: Vec<BufferPlan>,
    /// Values the expressions below are made of.
    pub values: Vec<HostValue>,
    /// What must hold for the guarded ones to be read, and for pointers that are loaded.
    pub guards: Vec<Guard>,
    /// Parts of arrays that are found where a region begins, in the order in which that is done.
    pub ends: Vec<EndsPlan>,
    /// What must hold before the launch, in order; a later test may rely on an earlier one.
    pub tests: Vec<Test>,
    /// Variables that the loop's own header sets, with the value it gives them.
    pub first_values: BTreeMap<SymbolId, TermId>,
    /// Variables set after success.
    pub finals: Vec<FinalValue>,
    /// Structs that the kernel file must define, inner ones first.
    pub records: Vec<RecordId>,
    /// Functions that the kernel file must define, callees first.
    pub functions: Vec<DeviceFunction>,
    /// What the user should know though nothing is wrong.
    pub notes: Vec<Note>,
}

/// Something to show beside the offload.
#[derive(Clone, PartialEq, Debug)]
pub enum Note {
    /// Partial results are combined in another order than the loop's (but always the same one).
    Regrouped { symbol: SymbolId, op: ReductionOp, ty: TypeId },
    /// Atomic operations on floating cells come in another order in every run.
    AnyOrder { symbol: SymbolId, op: ReductionOp, ty: TypeId },
    /// Math functions may differ from the host's library in the last bits.
    MathLibrary(SymbolId),
    /// It rests on a promise of the user's that nobody tests.
    Promise(ConditionKind),
    /// The host goes through the iterations to find out which parts of these arrays are touched.
    Searched(Vec<SymbolId>),
    /// The same, once for a region.
    SearchedOnce(Vec<SymbolId>),
}

/// One kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    /// The loops it runs in parallel, outermost first.
    pub dims: Vec<Dim>,
    /// Threads per block along x, y, z.
    pub block: [u32; 3],
    /// Blocks at most along x, y, z; threads then stride over the rest.
    pub most_blocks: [u32; 3],
    /// Passed by value.
    pub scalars: Vec<Scalar>,
    /// Conditions that the host finds.
    pub choices: Vec<HostCondition>,
    /// Lengths of inner dimensions that are passed by value.
    pub strides: Vec<Stride>,
    /// Each thread has its own; declared in the kernel.
    pub privates: Vec<SymbolId>,
    pub reductions: Vec<ReductionPlan>,
    /// Variables that one iteration decides.
    pub keyed: Vec<KeyedPlan>,
    /// Accumulations into cells that several threads may meet in.
    pub atomics: Vec<AtomicPlan>,
    pub inductions: Vec<InductionPlan>,
    pub walks: Vec<WalkPlan>,
    /// Pointers into buffers; in the kernel they are positions, counted in elements.
    pub views: Vec<View>,
    /// Names inside the kernel that differ from the source's or need to be known.
    pub names: BTreeMap<SymbolId, String>,
    /// The innermost loop's body.
    pub body: TermId,
    /// Whether a `continue` ends an iteration of the innermost parallel loop.
    pub has_continue: bool,
    /// Whether it has the form that rule pages read which optimise kernels: see [`Plan::for_pages`].
    pub for_pages: bool,
    /// Of each thread's own variables those that the headers of their loops declare.
    pub loop_indices: Vec<SymbolId>,
    /// The code of one thread where it is not the innermost loop's body: the dimensions are then those of thread ids.
    pub threads: Option<ThreadPlan>,
    /// The buffers that are rows of tables.
    pub(crate) tables: crate::access::Tables,
    /// What may throw while the kernel runs.
    pub(crate) checked: Checked,
}

/// One parallel loop.
#[derive(Clone, Debug)]
pub struct Dim {
    pub term: TermId,
    pub index: SymbolId,
    pub index_type: IntKind,
    pub axis: Axis,
    /// Whether threads take several iterations, a grid apart.
    pub strided: bool,
    /// Whether the trip count does not depend on outer indices; it is then passed to the kernel.
    pub rectangular: bool,
    /// Largest trip count over the outer indices.
    pub trips: Expr,
    pub lower: TermId,
    /// Whether the first value is computed on the host and passed.
    pub lower_on_host: bool,
    /// `None`: zero.
    pub bound: Option<TermId>,
    /// What the condition adds to the index before the body.
    pub shift: i128,
    /// Whether the body moves the index on its own copy.
    pub moves_inside: bool,
    /// Whether the index is a pointer: it is among [`Kernel::walks`].
    pub pointer: bool,
    /// `Lt`, `Le`, `Gt` or `Ge`.
    pub relation: BinOp,
    pub step: Step,
    /// Whether the step is computed on the host and passed.
    pub step_on_host: bool,
    /// Name of the number of iterations, of the thread's iteration, of a passed first value, of a passed step.
    pub trips_name: String,
    pub counter_name: String,
    pub lower_name: String,
    pub step_name: String,
}

/// A variable passed by value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scalar {
    pub symbol: SymbolId,
    pub ty: TypeId,
}

/// A condition that has one answer for all threads, and that only the host can find: whether a pointer points anywhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostCondition {
    pub term: TermId,
    /// The kernel's parameter, which others of the same text have as well.
    pub name: String,
}

/// A pointer into a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    pub symbol: SymbolId,
    /// What it points into: a buffer's variable, or another view. Itself, where it is the buffer's variable and moves.
    pub into: SymbolId,
    /// Whether it is declared in the kernel's text; otherwise its position is passed, or begins with the iteration.
    pub declared_inside: bool,
    /// Whether it changes.
    pub moves: bool,
}

/// A pointer that every iteration moves by the same number of elements.
#[derive(Clone, PartialEq, Debug)]
pub struct WalkPlan {
    pub symbol: SymbolId,
    /// The buffer's variable.
    pub into: SymbolId,
    pub step: Expr,
    /// What the loop's condition has added when the body begins.
    pub shift: i128,
    /// Whether the body moves it on its own copy.
    pub moves_inside: bool,
    /// Name of its first position; `None`: zero, where the buffer begins.
    pub start_name: Option<String>,
    /// Name of the step where it is no constant.
    pub step_name: String,
}

/// The length of an inner dimension of a variable-length array, passed by value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stride {
    /// Position in [`Plan::buffers`].
    pub buffer: usize,
    /// 1 is the first inner dimension.
    pub dimension: usize,
    pub name: String,
}

/// How long an inner dimension is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StrideSource {
    Const(u64),
    /// A variable that still has the value it had at the array's declaration.
    Symbol(SymbolId),
    /// Position in [`Kernel::strides`].
    Passed(usize),
}

impl Plan<'_> {
    /// The language of the host's side: that of the program.
    pub fn host(&self) -> HostSide {
        match self.body.semantics.checked_bounds {
            true => HostSide::Method,
            false => HostSide::Function,
        }
    }

    /// The buffers the kernels use.
    pub fn device_buffers(&self) -> impl Iterator<Item = &BufferPlan> {
        self.buffers.iter().filter(|b| b.on_device)
    }
}

/// How many elements lie from the first to the last.
fn elements(first: &Expr, last: &Expr) -> Expr {
    let minus = Expr::Mul(-1, Box::new(first.clone()));
    Expr::Add(vec![last.clone(), minus, Expr::Int(1)])
}

impl Plan<'_> {
    /// What is to be tested of a buffer's number of elements: that it is positive, and that it is at most so many; neither
    /// where types and the loops' own numbers of iterations, which are positive, say so.
    pub(crate) fn count_tests(&self, buffer: usize) -> (bool, Option<i128>) {
        let Some(b) = self.buffers.get(buffer) else { return (false, None) };
        if b.search.is_some() {
            return (true, Some((1i128 << 62) / i128::from(b.element_size.max(1))));
        }
        let Some((first, last)) = b.extent.as_ref().filter(|_| b.constant_count().is_none_or(|c| c <= 0))
        else {
            return (false, None);
        };
        let count = elements(first, last);
        let largest = self.range(&count).1;
        let most = match self.kernels.iter().any(|k| k.for_pages && !k.has_partials()) {
            true => LARGEST_FOR_PAGES,
            false => (1i128 << 62) / i128::from(b.element_size.max(1)),
        };
        let is_tested = !self.has_elements(&count) && !self.may_be_empty(buffer);
        (is_tested, (largest > most).then_some(most))
    }

    /// Whether a number of elements is positive, by the loops' own numbers of iterations.
    fn has_elements(&self, count: &Expr) -> bool {
        let runs = self.kernels.iter().flat_map(|k| &k.dims).map(|d| &d.trips);
        let is_positive = |trips: &Expr| bounds::distance(count, trips).is_some_and(|d| d >= 0);
        self.range(count).0 > 0 || runs.into_iter().any(is_positive)
    }

    /// Whether the device's copy of an array may have no elements, where a condition that the host finds keeps all threads from it:
    /// then nothing of it is read, and nothing comes back.
    pub(crate) fn may_be_empty(&self, buffer: usize) -> bool {
        let Some(b) = self.buffers.get(buffer) else { return false };
        let is_chosen = self.kernels.iter().any(|k| !k.choices.is_empty());
        let is_plain = b.rows.is_none() && b.each.is_none() && b.search.is_none() && b.part.is_none();
        let extent = b.extent.as_ref().filter(|_| is_chosen && is_plain && b.on_device && !b.written);
        extent.is_some_and(|(first, last)| !self.has_elements(&elements(first, last)))
    }

    /// Whether the numbers of all threads along a loop's axis, those behind its end too, are an `int`: a number of iterations that
    /// is one, rounded up to whole blocks whose size divides 2^31.
    pub(crate) fn counts_in_int(&self, k: &Kernel, d: &Dim) -> bool {
        let covers = d.rectangular && !d.strided && k.threads.is_none() && !k.has_partials();
        covers && k.block[d.axis.number()].is_power_of_two() && self.range(&d.trips).1 <= i128::from(i32::MAX)
    }

    /// Where extents are not computed: takes away the limits of values that nothing else needs.
    fn forget_limits(&mut self) {
        let natural = |p: Param| {
            let v = self.values.iter().find(|v| v.param == p);
            v.map_or(bounds::SAFE * 2, |v| IntKind::max(v.kind).max(-IntKind::min(v.kind)))
        };
        let trips = self.kernels.iter().flat_map(|k| &k.dims).map(|d| &d.trips);
        let mut exprs = trips.chain(self.finals.iter().map(|f| &f.value));
        let tested = self.tests.iter().any(|t| matches!(t.kind, TestKind::Holds(_)));
        let threads = self.kernels.iter().any(|k| k.threads.is_some());
        let named = self.buffers.iter().any(|b| b.constant_first().is_none() || b.part.is_some());
        if !tested && !threads && !named && exprs.all(|e| bounds::peak(e, &natural) < bounds::SAFE) {
            self.values.iter_mut().for_each(|v| v.limit = None);
            self.values.retain(|v| v.used);
        }
    }
}

/// Something the host tests.
#[derive(Clone, PartialEq, Debug)]
pub struct Test {
    pub kind: TestKind,
    /// The condition of the verdict that it meets, if it is one.
    pub meets: Option<ConditionKind>,
}

/// What is tested.
#[derive(Clone, PartialEq, Debug)]
pub enum TestKind {
    /// The stretch holds at least one element and its size in bytes fits.
    Extent(usize),
    /// The part of a buffer that comes back has elements.
    Back(usize),
    /// Two buffers do not overlap.
    Apart(usize, usize),
    /// Of all buffers, of the pointers to their rows, of these variables and of these cells of reductions nothing that is written
    /// overlaps anything else.
    RowsApart {
        variables: Vec<SymbolId>,
        cells: Vec<usize>,
    },
    /// A variable does not lie inside a buffer.
    Outside {
        symbol: SymbolId,
        buffer: usize,
    },
    /// The cell of a reduction or of a chosen value (by position in [`held`]) does not lie inside a buffer, is not another
    /// reduction's, and is no part of a variable.
    CellInBuffer {
        cell: usize,
        buffer: usize,
    },
    CellInCell {
        cell: usize,
        other: usize,
    },
    CellInVariable {
        cell: usize,
        symbol: SymbolId,
    },
    /// A struct passed by value has the size it has in the kernel file.
    RecordSize {
        symbol: SymbolId,
        bytes: u64,
    },
    /// A condition by value.
    Holds(Pred),
    /// There is an array.
    NotNull(SymbolId),
    /// The first value of an index that is compared as unsigned is not negative.
    FirstNotNegative(TermId),
    /// Each element of a buffer of integers is at least the one and less than the other, as the user promises.
    InRange {
        buffer: usize,
        low: Expr,
        high: Expr,
    },
    /// No two elements of a buffer of integers are equal, as the user promises.
    Distinct(usize),
    /// No element of a buffer of integers is less than the one before it.
    Sorted(usize),
    /// The host rounds as the device does.
    RoundsToNearest,
}

/// A variable's value after the loop.
#[derive(Clone, PartialEq, Debug)]
pub struct FinalValue {
    pub symbol: SymbolId,
    /// Of a pointer, by how many elements it has moved from where it points when the first iteration begins.
    pub value: Expr,
    pub kind: IntKind,
}

/// How a floating minimum or maximum treats NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinMaxForm {
    /// `if (x < m) m = x`: a NaN never replaces, and is never replaced.
    Compare,
    /// `m = fmin(m, x)`: a NaN is always replaced.
    Function,
    /// `m = m < x ? m : x`: a NaN replaces and is replaced, so that the result depends on where NaNs stand. The kernel
    /// notices them, and the original loop then decides.
    Ordered,
}

/// A reduction: one accumulator a thread, a tree in each block, partial results combined on the host in block order.
#[derive(Clone, PartialEq, Debug)]
pub struct ReductionPlan {
    pub symbol: SymbolId,
    /// The accumulator as written; a cell of memory if `cell`.
    pub place: TermId,
    pub cell: bool,
    /// The thread's accumulator.
    pub name: String,
    pub op: ReductionOp,
    pub ty: TypeId,
    pub form: MinMaxForm,
    pub zeros: Zeros,
    /// The statements that accumulate.
    pub updates: Vec<TermId>,
    /// Names in the host block.
    pub device_name: String,
    pub partial_name: String,
}

impl Kernel {
    /// What reductions end in, then what chosen values do.
    pub(crate) fn held(&self) -> Vec<Held> {
        held(&self.reductions, &self.keyed)
    }

    /// Whether blocks leave partial results that the host combines.
    pub fn has_partials(&self) -> bool {
        !self.reductions.is_empty() || !self.keyed.is_empty()
    }
}

/// A statement that is printed as an atomic operation.
#[derive(Clone, PartialEq, Debug)]
pub struct AtomicPlan {
    pub statement: TermId,
    pub place: TermId,
    pub op: AtomicOp,
    pub kind: AtomicKind,
    pub operand: Operand,
    /// Whether the operand is subtracted.
    pub negated: bool,
}

/// Types of cells that atomic operations take (CUDA C++ Programming Guide, Atomic Functions; `double` since compute
/// capability 6.0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicKind {
    Int,
    UInt,
    /// 64 bits, taken as `unsigned long long`: sums and bits are the same for signed ones.
    Wide,
    /// 64 bits, taken as `long long`.
    SignedWide,
    Float,
    Double,
}

/// What an atomic operation combines with its cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    Constant(i64),
    Term(TermId),
}

/// A variable that moves by a constant each iteration.
#[derive(Clone, PartialEq, Debug)]
pub struct InductionPlan {
    pub symbol: SymbolId,
    pub kind: IntKind,
    pub step: i128,
    /// The step where it is no constant, and what it is called.
    pub by: Option<(String, Expr)>,
    /// Name of its first value, in host and kernel.
    pub start_name: String,
}
