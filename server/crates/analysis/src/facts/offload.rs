//! What a kernel for a loop needs to know beyond the loop's verdict: the loops it spreads, the memory it touches, what the
//! host tests before the launch and what stands in variables after it. Deliberately absent: how it is found ([`crate::offload`]).

use term::{BinOp, SymbolId, TermId, TypeId};

use super::{Condition, Expr, Induction, LoopId, Private, Reduction};

/// What a kernel for a loop needs to know beyond its verdict; made on demand by [`crate::offload`].
#[derive(Clone, Debug)]
pub struct Offload {
    /// One to three loops, outermost first, each directly and alone inside the one before it, whose iterations all
    /// run at once. Their bounds may depend on outer ones.
    pub band: Vec<LoopId>,
    /// Position in the band of the loop that runs along the lanes of warps.
    pub lanes: usize,
    /// Per loop of the band its largest trip count over the outer ones (F3.4's n_max), and its trip count for given
    /// outer indices is computed in the kernel from `Control`.
    pub max_trips: Vec<Expr>,
    /// Memory the loop touches through arrays and pointers, by object, without privates.
    pub buffers: Vec<Buffer>,
    /// Buffers that are proved to share no memory.
    pub apart: Vec<(SymbolId, SymbolId)>,
    /// Pointer variables that hold one address throughout, with the buffer's variable they point into.
    pub views: Vec<(SymbolId, SymbolId)>,
    /// Pointers that every iteration moves by the same number of elements.
    pub walks: Vec<Walk>,
    /// Scalars that are only read: passed by value.
    pub inputs: Vec<SymbolId>,
    pub privates: Vec<Private>,
    pub reductions: Vec<Reduction>,
    pub inductions: Vec<Induction>,
    /// Indices and privates declared outside the loop that may be read after it, with the value each then has
    /// (only valid if the loop ran at least once; otherwise the index has its first value).
    pub finals: Vec<Final>,
    /// Conditions the host must test before the launch.
    pub conditions: Vec<Condition>,
    /// Pure functions called, with the type of computation each has in C.
    pub calls: Vec<SymbolId>,
    /// The code of one thread where statements are spread by a thread map ([`crate::offload_threads`]): the band is
    /// then the nest's outermost loop alone, and there is a number of ids instead of trips per coordinate of a thread.
    pub threads: Option<crate::ThreadCode>,
}

impl Offload {
    /// Whether two buffers are proved to share no memory.
    pub fn are_apart(&self, a: SymbolId, b: SymbolId) -> bool {
        self.apart.contains(&(a, b)) || self.apart.contains(&(b, a))
    }
}

/// The value a variable has after the loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Final {
    pub symbol: SymbolId,
    /// Of a pointer, by how many elements it has moved from where it points when the first iteration begins.
    pub value: Expr,
}

/// A pointer that every iteration moves: in iteration t it is `step * t` elements from where it points when the first one
/// begins.
#[derive(Clone, PartialEq, Debug)]
pub struct Walk {
    pub symbol: SymbolId,
    /// The variable of the buffer that it moves in: the pointer itself, where only it leads there. The buffer's elements then
    /// count from where it points at first.
    pub into: SymbolId,
    pub step: Expr,
}

/// Whose the cells of an object are while a loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Holders {
    /// All iterations use the object itself.
    #[default]
    All,
    /// Each iteration has cells of its own, and nobody reads what it leaves there.
    Each,
    /// Each iteration but the last has cells of its own; the last one, which writes all that any iteration writes, uses the
    /// object.
    EachButLast,
}

/// One object the kernel uses.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// The array or pointer variable.
    pub symbol: SymbolId,
    pub holders: Holders,
    /// Type of one element as the kernel sees it (all subscripts applied; a struct for arrays of structs).
    pub element: TypeId,
    /// How many subscripts reach an element, and the inner dimensions' lengths from the second on.
    pub inner_lengths: Vec<Length>,
    pub read: bool,
    pub written: bool,
    /// Whether the loop surely writes every element of the extent before it reads it (then it need not be copied in).
    pub wholly_written: bool,
    /// Whether it has surely written every element of the extent when it is over.
    pub all_written: bool,
    /// First and last element touched, counted in elements from the base; `None`: the whole declared array, or [`Rows`].
    pub extent: Option<(Expr, Expr)>,
    /// First and last element that may be written, where it is known that these are fewer. Where none is written, the last is
    /// before the first.
    pub written_part: Option<(Expr, Expr)>,
    /// How the host finds the first and last element where no expression says them; there is no `extent` then.
    pub search: Option<Search>,
    /// What a table of pointers shows: then the symbol is that of all its rows (`a[]`), an element is one of a row, and there
    /// is no `extent`.
    pub rows: Option<Rows>,
}

/// Rows that each lie somewhere, shown by a table of pointers: `a[i][j]` of `double **a`, `f[i][j][k]` of `float ***f`.
///
/// ```text
/// a ──> ┌────┐                    subscripts[0]: the pointers that the loop follows; subscripts[1]: what it touches of a row.
///       │ a[0] ──> not followed    `all` is over all rows, what the device has room for:
///       │ a[1] ──> · x x x x ·                    ┌─────────────┐
///       │ a[2] ──>   · · x x x x x ·              │ x x x x     │
///       └────┘                                    │     x x x x x │
/// ```
///
/// All that is said holds exactly of what the loop surely does: the host reads no other pointer and no other element.
#[derive(Clone, PartialEq, Debug)]
pub struct Rows {
    /// The pointer to the table, which keeps its value: `a`, `g->u`.
    pub table: TermId,
    /// The subscripts of pointers, outermost first, and last those of elements: at least two.
    pub subscripts: Vec<Subscripts>,
    /// First and last element of one row that may be written.
    pub written: Option<(Expr, Expr)>,
}

impl Rows {
    /// All first and last values.
    pub fn ends(&self) -> impl Iterator<Item = &(Expr, Expr)> {
        self.subscripts.iter().flat_map(|s| [&s.all, &s.one]).chain(&self.written)
    }
}

/// The values of one subscript.
#[derive(Clone, PartialEq, Debug)]
pub struct Subscripts {
    /// The least and the greatest of all.
    pub all: (Expr, Expr),
    /// First and last where the subscripts before it ([`crate::Param::Row`]) have certain values, each from its own first to
    /// its own last. Where there are none the last is before the first: then the loop does not follow the pointer.
    pub one: (Expr, Expr),
}

impl Buffer {
    /// How many subscripts reach an element.
    pub fn rank(&self) -> usize {
        self.rows.as_ref().map_or(self.inner_lengths.len() + 1, |r| r.subscripts.len())
    }
}

/// What is left of an iteration where only the subscripts of one array matter: the host runs through it before the loop, and
/// reads no memory but elements of arrays that the loop leaves alone, which the loop reads there as well.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    pub steps: Vec<SearchStep>,
    /// Variables that the steps use and the loop does not change.
    pub inputs: Vec<SymbolId>,
    /// Variables that an iteration sets before it uses them. Those with one name have one type.
    pub set: Vec<SymbolId>,
    /// Arrays of which it reads elements.
    pub reads: Vec<SymbolId>,
    /// Whether what it reads decides what else it reads, or how often it goes round: then it may run only where nothing that the loop
    /// writes can change what it reads.
    pub chained: bool,
}

/// One step of a [`Search`].
#[derive(Clone, PartialEq, Debug)]
pub enum SearchStep {
    /// A variable gets a value.
    Set {
        symbol: SymbolId,
        value: TermId,
    },
    If {
        condition: TermId,
        holds: bool,
        then: Vec<SearchStep>,
    },
    /// A variable becomes what an operation makes of it and a number; `None`: 1.
    Update {
        symbol: SymbolId,
        op: BinOp,
        by: Option<TermId>,
    },
    /// A pointer into the array comes to point so many elements from its beginning: as many as another pointer, and more or fewer.
    Point {
        symbol: SymbolId,
        from: Option<SymbolId>,
        by: Vec<(BinOp, TermId)>,
    },
    /// As long as the condition holds.
    While {
        condition: TermId,
        then: Vec<SearchStep>,
    },
    /// The element is touched, surely or perhaps; counted from where a pointer into the array points.
    Touch {
        from: Option<SymbolId>,
        subscript: TermId,
        sure: bool,
    },
}

/// Length of an inner array dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Length {
    Const(u64),
    /// The VLA's length term; its value was fixed where the array was declared.
    Term(TermId),
}
