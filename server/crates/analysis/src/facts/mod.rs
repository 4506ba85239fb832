//! What is said of loops: the central types that every view and every plan reads.
//!
//! A claim is made per loop. Its verdict rests on evidence that stands beside it: dependences with witnesses for
//! "sequential", obstacles for "unknown", conditions with the way each is met for the rest. No sentence is made here;
//! `ide` words them.

mod choices;
mod conditions;
pub(crate) mod entries;
mod lanes;
pub(crate) mod marks;
pub(crate) mod memo;
mod offload;
mod promises;
mod region;
mod summaries;
mod threads;

pub use choices::is_choice;
pub use conditions::{Columns, Condition, ConditionKind, MetBy};
pub use lanes::*;
pub use marks::MarkFacts;
pub use offload::{Buffer, Final, Holders, Length, Offload, Rows, Search, SearchStep, Subscripts, Walk};
pub use promises::{PromiseFacts, PromiseFate};
pub use region::{
    Exchanged, FoundPart, Left, Region, RegionArray, RegionRows, RegionScalar, RegionTrouble,
    RegionTroubleKind, Surely, Way,
};
pub use summaries::*;
pub use threads::*;

use std::sync::Arc;

use base::IdVec;
use term::{BinOp, IntKind, SymbolId, TermId, TypeId};

use crate::Entry;

base::id!(
    /// A loop of one body, in textual order.
    pub struct LoopId
);

/// All that is known of the loops of one body.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Outermost first, textual order: a loop's id is greater than its parent's.
    pub loops: IdVec<LoopId, LoopFacts>,
    /// Whether some answer is `unknown` only because the budget was spent: a larger one may say more.
    pub out_of_budget: bool,
    /// Counted steps that finding them took: what a caller takes from the steps of the file.
    pub steps: u64,
    /// Functions and file-scope constants whose text was followed to find out, each with [`crate::Program::text_of`] it: where
    /// one is another, these are no longer the facts.
    pub rests_on: Vec<(Arc<str>, u64)>,
    /// Thread maps found on demand (see [`crate::thread_map`]).
    pub thread_maps: crate::LazyFacts<Result<Arc<crate::ThreadMap>, Vec<Obstacle>>>,
    /// What nests are like along the lanes of warps, found on demand (see [`crate::lane_mapping`]).
    pub lane_mappings: crate::LazyFacts<Option<Arc<crate::Mapping>>>,
    /// Which dependence test answered how often.
    pub tests: TestCounts,
}

/// How many questions ("can these two accesses meet so?") each test answered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TestCounts {
    pub ziv: u64,
    pub strong_siv: u64,
    pub weak_zero_siv: u64,
    pub weak_crossing_siv: u64,
    pub gcd: u64,
    pub exact_siv: u64,
    pub banerjee: u64,
    /// Proved impossible by elimination.
    pub elimination: u64,
    /// A pair was found by elimination, and checked.
    pub point: u64,
    /// Asked before.
    pub memo: u64,
    pub isl: u64,
}

impl TestCounts {
    /// Name and count of each, cheapest first.
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("ZIV", self.ziv),
            ("strong SIV", self.strong_siv),
            ("weak-zero SIV", self.weak_zero_siv),
            ("weak-crossing SIV", self.weak_crossing_siv),
            ("GCD", self.gcd),
            ("exact SIV and RDIV", self.exact_siv),
            ("Banerjee", self.banerjee),
            ("elimination: none", self.elimination),
            ("elimination: a pair", self.point),
            ("asked before", self.memo),
            ("isl", self.isl),
        ]
    }
    /// Adds another's counts.
    pub fn add(&mut self, o: &TestCounts) {
        self.ziv += o.ziv;
        self.strong_siv += o.strong_siv;
        self.weak_zero_siv += o.weak_zero_siv;
        self.weak_crossing_siv += o.weak_crossing_siv;
        self.gcd += o.gcd;
        self.exact_siv += o.exact_siv;
        self.banerjee += o.banerjee;
        self.elimination += o.elimination;
        self.point += o.point;
        self.memo += o.memo;
        self.isl += o.isl;
    }
}

impl Facts {
    /// The loop whose term this is.
    pub fn of_term(&self, term: TermId) -> Option<LoopId> {
        self.loops.iter_ids().find(|(_, l)| l.term == term).map(|(id, _)| id)
    }
    /// The loops directly inside.
    pub fn children(&self, id: LoopId) -> impl Iterator<Item = LoopId> + '_ {
        self.loops.iter_ids().filter(move |(_, l)| l.parent == Some(id)).map(|(id, _)| id)
    }
}

/// Whether the iterations of a loop can run at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// Proved: no two iterations touch the same cell with a write, privates aside, under the conditions listed.
    Independent,
    /// Independent but for the recognised reductions listed.
    Reduction,
    /// Proved not to be: at least one dependence listed has a witness.
    Sequential,
    /// Neither: the obstacles listed stopped us.
    Unknown,
}

/// One loop.
#[derive(Clone, Debug)]
pub struct LoopFacts {
    /// The `For`, `While` or `DoWhile` term.
    pub term: TermId,
    /// The loop directly around it.
    pub parent: Option<LoopId>,
    /// Number of loops around it.
    pub depth: u32,
    /// How it counts, or why it is not a counted loop.
    pub control: Result<Control, Obstacle>,
    /// How many iterations there are at most, where that is proved to be few: what is left over behind an unrolled loop.
    pub most_rounds: Option<u64>,
    pub verdict: Verdict,
    /// What an `Independent` or `Reduction` verdict needs (all of them must hold together).
    pub conditions: Vec<Condition>,
    /// Dependences carried by this loop, those that can be proved first. Privatised and reduced ones are not listed.
    pub dependences: Vec<Dependence>,
    /// Whether there may be more dependences than are listed.
    pub more_dependences: bool,
    /// Why nothing (more) can be said. Filled for `Unknown`.
    pub obstacles: Vec<Obstacle>,
    /// What each iteration writes before it reads: each thread has its own. What is kept is listed among the reductions
    /// too, with [`ReductionOp::Last`].
    pub privates: Vec<Private>,
    pub reductions: Vec<Reduction>,
    /// Scalars that each iteration can compute by itself: those that move by a constant, and other closed forms.
    pub inductions: Vec<Induction>,
    /// What the loop computes from iteration to iteration, where that has a name. Only of loops that are not parallel;
    /// the verdict does not rest on it.
    pub recurrences: Vec<Recurrence>,
    /// Where the facts are those of the loop without its ways out ([`crate::without_ways_out`]), which its conditions then say are not
    /// taken: those that stand in the loop itself.
    pub granted: Option<Vec<WayOut>>,
    /// The user's request to offload this loop, if it has one.
    pub mark: Option<MarkFacts>,
    /// What became of the promises that count for the loop.
    pub promises: Vec<PromiseFacts>,
}

/// A branch that a loop is judged without: it leaves the loop, prints, or calls what is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WayOut {
    /// The `If`.
    pub check: TermId,
    /// What its condition then is whenever it is evaluated.
    pub always: bool,
}

/// A counted loop: before each test the index is `lower + step * iteration`, and the loop goes on while
/// `index + offset REL bound`, all of these being fixed during the loop. `for (i = a; i < b; i += c)` is the plain form;
/// `while (n-- > 0)`, `do … while (++i < n)` and bodies that move the index themselves count as well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    pub index: SymbolId,
    /// The index's integer type.
    pub index_type: IntKind,
    /// Whether the index is declared in the loop's own header (and so dies with it).
    pub declared_here: bool,
    /// The first value; converted to the index type. Where the header gives none it is an occurrence of the index in
    /// the condition and stands for the value the index has when the loop begins.
    pub lower: TermId,
    /// The other side of the comparison; `None`: zero.
    pub bound: Option<TermId>,
    /// How index (left) and bound (right) are compared: `Lt`, `Le`, `Gt`, `Ge` or `Ne`.
    pub relation: BinOp,
    pub step: Step,
    /// What is compared is the index at the start of the iteration plus this (`--n > 0`, `i + 3 < n`).
    pub offset: i128,
    /// What the condition itself has added to the index when the body begins (`while (n--)`: −1).
    pub shift: i128,
    /// Whether the first iteration runs without a test (`do … while`).
    pub at_least_once: bool,
    /// Whether nothing but the header's step moves the index: it then has one value during an iteration.
    pub header_only: bool,
    /// Whether the index is a pointer: it counts elements from where it points at first, and so do step and bound.
    pub pointer: bool,
}

impl Control {
    /// Whether the loop has the form `for (i = a; i REL b; i += c)`, with nothing to add.
    pub fn is_plain(&self) -> bool {
        let moves_plainly = self.header_only && self.offset == 0 && !self.at_least_once;
        moves_plainly && self.bound.is_some() && !self.pointer
    }
}

/// How far the index moves each iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A constant, not 0.
    Const(i128),
    /// An invariant term added (or subtracted: `negated`) each iteration; its sign must be that of the relation.
    Term { term: TermId, negated: bool },
}

/// A piece of memory that subscripts select cells of.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Object {
    /// The array, pointer or scalar variable.
    pub symbol: SymbolId,
    /// Field path after the last subscript (`p[i].x` → `["x"]`).
    pub fields: Vec<Arc<str>>,
}

/// Kind of dependence (Allen & Kennedy, ch. 2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DependenceKind {
    /// A write, then a read of the same cell.
    Flow,
    /// A read, then a write.
    Anti,
    /// Two writes.
    Output,
}

/// The orders in which source and sink may stand at one level, a set. Starts full; tests only remove.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Direction {
    /// Source iteration before sink iteration.
    pub lt: bool,
    pub eq: bool,
    pub gt: bool,
}

impl Direction {
    pub const ANY: Direction = Direction { lt: true, eq: true, gt: true };
    pub const LT: Direction = Direction { lt: true, eq: false, gt: false };
    pub const EQ: Direction = Direction { lt: false, eq: true, gt: false };
    pub const GT: Direction = Direction { lt: false, eq: false, gt: true };
    /// `<`, `<=`, `*`, …
    pub fn symbol(self) -> &'static str {
        match (self.lt, self.eq, self.gt) {
            (true, true, true) => "*",
            (true, true, false) => "<=",
            (true, false, true) => "<>",
            (true, false, false) => "<",
            (false, true, true) => ">=",
            (false, true, false) => "=",
            (false, false, true) => ">",
            (false, false, false) => "0",
        }
    }
}

/// Two accesses of which one writes, in different iterations of the loop they are listed at.
#[derive(Clone, PartialEq, Debug)]
pub struct Dependence {
    pub kind: DependenceKind,
    pub object: Object,
    /// The access that comes first (an `Index`, `Sym`, `Member` or `Deref` term).
    pub source: TermId,
    pub sink: TermId,
    /// The loops around both, from the one that carries it inwards.
    pub loops: Vec<LoopId>,
    /// Per loop of `loops`; the first is `<`.
    pub direction: Vec<Direction>,
    /// Per loop of `loops`: iterations from source to sink where that is one constant.
    pub distance: Vec<Option<i128>>,
    /// Two concrete iterations and the cell they share; `None` where it may exist but is not proved to.
    pub witness: Option<Witness>,
}

/// A proof that a dependence exists: run the loop with these parameter values and it happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// Values of what is fixed during the loop (outer indices included).
    pub params: Vec<(Param, i128)>,
    /// Index values (by loop of `loops` and then of the loops around the source alone) at the source.
    pub source: Vec<(SymbolId, i128)>,
    /// Likewise at the sink.
    pub sink: Vec<(SymbolId, i128)>,
    /// Iteration numbers of the carrying loop, counted from 0.
    pub source_iteration: i128,
    pub sink_iteration: i128,
    /// The shared cell's subscripts (empty for a scalar).
    pub cell: Vec<i128>,
    /// Whether conditions on data decide that both accesses happen, whatever the values above.
    pub on_data: bool,
    /// What a run of the function that showed it began with: what it read, and some that other runs did. Everything else
    /// may be anything.
    pub entry: Vec<Entry>,
}

/// A value that is fixed during the loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Param {
    /// A variable.
    Symbol(SymbolId),
    /// Any other invariant integer term (`p->n`, `n*m`, `dims[0]`); equal terms are one parameter.
    Term(TermId),
    /// Number of elements from one pointer to another, both evaluated before the loop (`end - p`).
    Distance { from: TermId, to: TermId },
    /// One of the subscripts that lead to a row, outermost first; only in what is said of one row ([`Rows`]).
    Row(u32),
    /// How many elements the longest of these rows (`a[]`) has, in a language whose arrays know their lengths; 0 where there is none.
    Longest(SymbolId),
    /// The first or the last element that a search finds ([`crate::FoundPart`]) of that nest and array, where a region begins.
    End { nest: TermId, array: SymbolId, last: bool },
}

/// Why something is unknown, at its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    pub kind: ObstacleKind,
    /// The term that stopped us.
    pub term: TermId,
}

/// What stopped us.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObstacleKind {
    /// The front end did not understand this place.
    NotUnderstood,
    /// `while`, `do`, or a `for` that does not count: the number of iterations is not known beforehand.
    NotCounted(NotCounted),
    /// A call to a function whose effects are not known.
    UnknownCall(SymbolId),
    /// A call through a pointer.
    IndirectCall,
    /// A call to a function that we know, but that does what cannot be seen through. `name`: the function (or static
    /// variable) that does it, called from `function` or from what that calls; `function`'s own if it is empty.
    Call { function: SymbolId, why: crate::TroubleKind, name: Arc<str> },
    /// A subscript that depends on memory (`a[idx[i]]`): injective(idx) would settle it.
    IndirectSubscript(TermId),
    /// A subscript that is not affine in the indices.
    NonAffineSubscript,
    /// The cells that accesses of an array touch are no part of it that can be described.
    NoExtent,
    /// Whether the access happens depends on data.
    DataDependentCondition,
    /// A `break`, `return` or `goto` leaves the loop early.
    EarlyExit,
    /// A pointer whose target is not known (`*p` of a moving pointer, pointer to pointer).
    UnknownPointer(SymbolId),
    /// What is touched of the array cannot be told, nor does anything say how many elements it has: its size would settle it.
    Unsized(SymbolId),
    /// The two may overlap and the emitted code cannot test it.
    MayAlias(Object, Object),
    /// The two start in one array at places a constant apart, so that a test whether they overlap always says yes.
    SameArray(Object, Object),
    /// A scalar whose value passes from one iteration to the next in a way we do not know.
    CarriedScalar(SymbolId),
    /// A scalar of which each iteration surely uses what the one before it left; no run that comes to a second iteration was followed.
    HandedOn(SymbolId),
    /// A scalar (or array) written in the loop and read after it, whose last value we cannot give.
    LiveOut(SymbolId),
    /// An array or a structure of which each iteration needs a copy as it was before the loop, and whose last copy is
    /// read later.
    CopiedBothWays(SymbolId),
    /// An array of pointers of which more is used than the rows that they show.
    PointerElements(SymbolId),
    /// An array of which each iteration needs cells of its own, where more is done with it than to reach elements by
    /// subscripts.
    OwnCells(SymbolId),
    /// A variable that may hold no value when the loop starts, so that it cannot be passed to a kernel.
    Unset(SymbolId),
    /// Volatile or atomic memory.
    Volatile,
    /// The loop changes what is no variable of the program, and the program looks at it.
    Watched(crate::Watched),
    /// Union members or bit-fields share bytes.
    SharedBytes,
    /// A dependence that may exist for some values, without a concrete case.
    Unproved,
    /// Two iterations that meet were found, but no run of the function from its beginning could be followed to where they do.
    NotReplayed(NotReplayed),
    /// A condition only the user can promise.
    NeedsPromise(ConditionKind),
    /// The counted steps are used up.
    Budget(Work),
}

/// What was being done when the counted steps were used up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Work {
    /// Seeing what the statements of the function write, its calls written out.
    Effects,
    /// Finding out which variables are read later.
    Liveness,
    /// Reading bounds, conditions and subscripts of the loop and of what stands before it.
    Model,
    /// Proving that what the model takes for granted holds: arithmetic, rows, distinct objects.
    Obligations,
    /// Asking for pairs of accesses whether iterations meet in them.
    Dependences,
    /// Following a run of the function to show two iterations that meet.
    Witness,
    /// Finding the statements' maps to threads.
    Threads,
    /// Describing the memory that a kernel would need.
    Extents,
    /// Nothing of this loop: those before it in the function, or in the file, had used them.
    Others,
}

/// Why a pair of iterations that meet could not be shown by following a run of the function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NotReplayed {
    /// No inputs were found with which a run comes to the loop with the values that the pair needs.
    NotReached,
    /// Runs came there, and the two iterations did not meet.
    NotMet,
    /// Where the run goes depends on a value that is not followed.
    Value,
    /// It comes to a place that was not understood.
    NotUnderstood,
    /// It is longer than is followed.
    Steps,
}

/// Why a loop does not count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NotCounted {
    /// `while` or `do`.
    While,
    NoInit,
    NoCondition,
    /// The condition is not a comparison of the index with an invariant.
    Condition,
    /// The step does not add an invariant to the index.
    Step,
    /// The index is written in the body.
    IndexWritten,
    /// The index may be written by a place that was not understood, which the obstacle names, and by nothing else in the body.
    IndexHidden,
    /// The bound is written in the body.
    BoundVaries,
    /// Step and comparison point in different directions, so it runs at most once or never ends.
    WrongWay,
    /// It is counted, but what tells how often is not the host's to compute.
    Rounds,
    /// Index of floating or pointer type.
    IndexType,
    /// The index's address is taken or it is not a local variable.
    IndexEscapes,
}

/// A variable, array or struct of which each iteration has its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Private {
    pub symbol: SymbolId,
    /// Whether it is declared inside the loop (and so private by itself).
    pub declared_inside: bool,
    /// Whether it is read after the loop: what the last iteration leaves is kept. That iteration surely writes all of
    /// it that any iteration writes.
    pub kept: bool,
    /// Whether parts of it are read that no iteration writes: each copy begins as the variable is before the loop.
    pub copied_in: bool,
}

/// Operators of recognised reductions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReductionOp {
    Add,
    Mul,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    /// `s = s && x`
    And,
    /// `s = s || x`
    Or,
    /// `if (x < m) { m = x; k = i; }`: the least value, and what belongs to it. `last`: among equal values the one of
    /// the last iteration counts (`<=`), else that of the first (`<`).
    ArgMin {
        last: bool,
    },
    /// Likewise the greatest.
    ArgMax {
        last: bool,
    },
    /// The value that the last iteration assigns of those that assign at all: `if (c) k = i;`
    Last,
}

/// Where a reduction accumulates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cells {
    /// In a variable.
    Variable,
    /// In one cell of memory, the same throughout the loop: `a[0] += x`, `s->sum += x`.
    One,
    /// In several cells, of which different iterations may meet in one: `h[b[i]]++`, `y[j] += x` over i.
    Many,
}

/// A value accumulated over the iterations with an associative operator and used for nothing else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    pub object: Object,
    /// The accumulator as written: a `Sym`, or (for cells) an `Index`, `Member` or `Deref`.
    pub place: TermId,
    pub cells: Cells,
    pub op: ReductionOp,
    pub ty: TypeId,
    /// For what belongs to an extreme (`k` of `if (x < m) { m = x; k = i; }`): the place of the reduction that keeps the extreme.
    pub key: Option<TermId>,
    /// The statements that accumulate: `s += e`, `s = s + e`, `if (x < s) s = x`, …. None for a private whose last
    /// value is kept: every iteration writes it.
    pub updates: Vec<TermId>,
}

/// A computation that passes from iteration to iteration and for which there is a parallel method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recurrence {
    pub kind: RecurrenceKind,
    /// What passes; `None` for a search.
    pub object: Option<Object>,
    /// The statement that does it.
    pub term: TermId,
}

/// Names of recurrences.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecurrenceKind {
    /// A prefix sum (with any reduction's operator): `s += a[i]; b[i] = s;`. `exclusive`: the value is used before the
    /// iteration's own is added.
    Scan { op: ReductionOp, exclusive: bool },
    /// `x[i] = c[i]*x[i-d] + e[i]`
    Linear { distance: i128 },
    /// Left at the first element that fits.
    Search,
    /// `if (c) b[j++] = a[i];`
    Packing { counter: SymbolId },
    /// A variable that holds the value of the iteration before.
    WrapAround,
}

/// A scalar whose value at the start of each iteration is known without running the iterations before:
/// `start + step * iteration` where there is a step, another closed form otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Induction {
    pub symbol: SymbolId,
    pub step: Option<i128>,
    /// The one statement that moves it.
    pub update: TermId,
}

/// An integer expression the host can evaluate before the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    Int(i128),
    Param(Param),
    Add(Vec<Expr>),
    Mul(i128, Box<Expr>),
    /// Product of two parameters (delinearised strides).
    Product(Box<Expr>, Box<Expr>),
    /// Rounded towards minus infinity; the divisor is positive.
    FloorDiv(Box<Expr>, i128),
    /// The same by an expression; 0 where that is not positive.
    Quotient(Box<Expr>, Box<Expr>),
    Min(Vec<Expr>),
    Max(Vec<Expr>),
    Select(Box<Pred>, Box<Expr>, Box<Expr>),
}

/// A condition the host can evaluate before the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pred {
    True,
    False,
    /// `e >= 0`
    NonNegative(Expr),
    /// `e == 0`
    Zero(Expr),
    And(Vec<Pred>),
    Or(Vec<Pred>),
    Not(Box<Pred>),
}
