//! What a warp asks of memory, and how its lanes decide branches, whatever the launch: one warp followed with everything that its
//! lanes share unknown.
//!
//! A value is a [`Form`]: how much lanes differ by is known where what they share cancels, though nobody knows what that is
//! (a parameter, a block's number, a loop's round). From there on everything is counted as for a launch: an access takes at
//! least and at most so many sectors, over where its array's part may begin and over which lanes come to it.
//!
//! The lanes of a warp have consecutive indices along x and one index along y and along z where blocks are a multiple of 32
//! threads wide; that is taken for granted, unless the block is known or a shared array says that it is narrower, and told
//! ([`Assumed`]). Indices and what is made of them do not pass 2147483647. Lanes step together as in `trace`.
//!
//! Deliberately absent: what memory holds, values exchanged between lanes, accesses of functions that are called.

mod arithmetic;
mod asked;
mod calls;
mod eval;
mod form;
mod record;
mod walk;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, SymbolId, TermId, TypeKind};

use super::collect::Seen;
use super::KernelLaunch;
use crate::limits::kernel_anyshape::{FUEL, PER_STEP};
use crate::Program;
use form::{Atom, Form, Mask};

/// What is taken for granted of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Assumed {
    /// Blocks are a multiple of 32 threads wide.
    RowsOfWarps,
    /// Blocks of this shape: the launch's.
    Launch([u32; 3]),
    /// Blocks of this shape: a shared array has no room for wider ones.
    Tile([u32; 3]),
}

/// How the places of a warp's lanes lie to one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// All lanes ask for one place.
    Uniform,
    /// Neighbouring lanes ask for neighbouring elements, or for the same sectors in another order.
    Coalesced,
    /// Each lane asks for a place as many elements behind the one before; `None`: it is always the same distance, which is not
    /// known, or no whole number of elements.
    Strided(Option<i64>),
    /// Neither.
    Irregular,
    /// What memory holds decides.
    Gather,
}

impl Pattern {
    /// As the command line's contract names it.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::Coalesced => "coalesced",
            Pattern::Strided(_) => "strided",
            Pattern::Irregular => "irregular",
            Pattern::Gather => "gather",
        }
    }
    /// Elements between neighbouring lanes, where it is strided by a known number.
    pub fn stride(self) -> Option<i64> {
        match self {
            Pattern::Strided(k) => k,
            _ => None,
        }
    }
}

impl AnyShape {
    /// Whether all lanes together ask for so much more than their data fills that it is worth a word, and whether for much more:
    /// a part that begins elsewhere costs one sector more and needs none.
    pub fn wastes_sectors(&self) -> Option<bool> {
        let wasted = self.worst >= 2 * self.ideal && self.worst >= self.ideal + 4;
        wasted.then_some(self.worst >= 4 * self.ideal)
    }
}

/// What an access asks for, whatever the launch. Costs are sectors of global memory, ways of shared and constant memory, of one
/// request: least and most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnyShape {
    pub pattern: Pattern,
    /// Of any request.
    pub cost: [u64; 2],
    /// Of a request of all lanes that may come to it.
    pub full: [u64; 2],
    /// Of the round of its loops in which a request of all lanes costs most above what it needs: the least it costs, what it needs,
    /// and how many lanes they are.
    pub worst: u64,
    pub ideal: u64,
    pub lanes: u32,
    /// Whether some request may be one of fewer lanes.
    pub partial: bool,
    /// Whether the distance between neighbouring lanes is the same for all, and a number that only the run decides.
    pub run_time: bool,
    /// That distance in elements, where it is a parameter's value times a number.
    pub by: Option<(SymbolId, i64)>,
    pub assumed: Assumed,
}

/// How a warp decides a branch, whatever the launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnyDecision {
    /// Lanes for which it holds, of one decision: least and most.
    pub taken: [u32; 2],
    /// All lanes that come to it decide alike, always.
    pub alike: bool,
    /// All lanes come to it in some round of its loops, and part: it holds for so many of so many where it holds for fewest.
    pub parts: Option<(u32, u32)>,
    pub undecided: Undecided,
    pub assumed: Assumed,
}

impl AnyDecision {
    /// As the command line's contract names it.
    pub fn name(&self) -> Option<&'static str> {
        match (self.alike, self.undecided) {
            (true, _) => Some("alike"),
            (_, Undecided::Bound) => Some("bound"),
            (_, Undecided::Data) => Some("data"),
            (_, Undecided::No) => None,
        }
    }
}

/// Why it is not known for which lanes a condition holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undecided {
    /// It is known, or all of those that are not known decide alike.
    No,
    /// It holds on one side of a lane: at the end of what is worked on.
    Bound,
    /// What memory holds decides, or something that is not followed.
    Data,
}

/// All that was found.
#[derive(Default)]
pub(super) struct WarpFindings {
    /// By place.
    pub accesses: FxHashMap<TermId, WarpAccess>,
    /// Places that lie in one object and another, or nobody knows where.
    pub elsewhere: FxHashSet<TermId>,
    /// By branch.
    pub decisions: FxHashMap<TermId, AnyDecision>,
}

impl WarpFindings {
    /// What was found of a place, if it lies in one object always.
    pub(super) fn access(&self, place: TermId) -> Option<&WarpAccess> {
        self.accesses.get(&place).filter(|_| !self.elsewhere.contains(&place))
    }
}

/// An access, and the array that it reaches.
pub(super) struct WarpAccess {
    pub object: Arc<str>,
    pub space: term::Space,
    pub shape: AnyShape,
}

/// A value of the lanes.
#[derive(Clone, PartialEq, Debug)]
enum Val {
    Int(Number),
    Truth(Truth),
    /// Into an object, with an offset in bytes.
    Ptr(Option<WarpObject>, Form),
    /// Another value: whether it is one for all lanes.
    Other(bool),
}

/// An integer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Number {
    form: Form,
    /// Whether it is the form's value; else only up to what its type holds, as if it had wrapped.
    exact: bool,
}

/// For which lanes a condition holds.
#[derive(Clone, PartialEq, Debug)]
struct Truth {
    yes: Mask,
    no: Mask,
    /// The others decide alike.
    together: bool,
    /// It holds for one lane at most.
    one: bool,
    undecided: Undecided,
}

/// Memory that threads share.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct WarpObject {
    name: Arc<str>,
    space: term::Space,
}

/// Who goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way {
    /// No other lanes.
    may: Mask,
    /// All of those, if any.
    must: Mask,
    /// One lane at most.
    one: bool,
}

/// What is known of an atom.
#[derive(Clone, Copy, Debug)]
struct Unknown {
    /// One number for all lanes.
    shared: bool,
    /// What memory holds decides.
    data: bool,
    low: Option<i128>,
    high: Option<i128>,
    /// An index or extent.
    index: bool,
}

/// All atoms.
#[derive(Default, Debug)]
pub(super) struct Unknowns {
    list: Vec<Unknown>,
    /// Those that parameters hold at first.
    parameters: FxHashMap<Atom, SymbolId>,
    /// Ranges of sums that quotients left.
    bounds: FxHashMap<Form, [i128; 2]>,
    /// Quotients that have an atom, rounded downwards or as C does.
    quotients: FxHashMap<(bool, Form, Form), Atom>,
}

impl Unknowns {
    fn is_shared(&self, a: Atom) -> bool {
        self.list[a as usize].shared
    }
    fn is_data(&self, a: Atom) -> bool {
        self.list[a as usize].data
    }
    fn count(&self) -> usize {
        self.list.len()
    }
    /// The number of a loop's round; what it counts does not pass the end of its type, as is told of indices.
    fn counter(&mut self) -> Atom {
        self.add(Unknown { shared: true, data: false, low: Some(0), high: None, index: true })
    }
    fn add(&mut self, u: Unknown) -> Atom {
        self.list.push(u);
        (self.list.len() - 1) as Atom
    }
}

/// Why the walk ends.
enum Stop {
    /// It takes too long.
    Fuel,
    /// It jumps to labels, or is too deep.
    Structure,
}

type Run<T> = Result<T, Stop>;
type Locals = FxHashMap<SymbolId, Val>;

/// Where a loop or function may be left before its end.
#[derive(Default)]
struct Nest {
    /// Lanes that come to its beginning.
    whole: Mask,
    /// Lanes that may have left by a jump of their own, and what variables held.
    left: Mask,
    breaks: Vec<(Locals, Way)>,
    continues: Vec<(Locals, Way)>,
    is_switch: bool,
}

/// A function that is walked, and what it returned so far.
#[derive(Default)]
struct WalkedCall {
    returned: Mask,
    whole: Mask,
    /// Integers with the type they have there.
    values: Vec<(Val, Option<term::IntKind>)>,
}

/// The walk of one warp.
struct WarpWalk<'a> {
    body: &'a Body,
    program: &'a Program,
    seen: &'a Seen,
    launch: &'a KernelLaunch,
    assumed: Assumed,
    unknowns: Unknowns,
    thread: [Form; 3],
    block: [Form; 3],
    extent: [Form; 3],
    blocks: [Form; 3],
    locals: Locals,
    nest: Vec<Nest>,
    /// Lanes that may have jumped away from where they were.
    gone: Mask,
    frames: Vec<WalkedCall>,
    /// Whether this round is only tried.
    tried: u32,
    fuel: u64,
    depth: u32,
    /// An array is narrower than the lanes that would step through it: blocks are not what is taken for granted.
    narrow: bool,
    found: WarpFindings,
}

/// Follows a warp of a kernel; nothing, where that takes too long or the kernel jumps to labels.
pub(super) fn any_shape(body: &Body, program: &Program, seen: &Seen, launch: &KernelLaunch) -> WarpFindings {
    if launch.limits.lanes != form::LANES as u32 {
        return WarpFindings::default();
    }
    let assumed = match launch.block {
        Some(b) => Assumed::Launch(b),
        None => tile(body, program).map_or(Assumed::RowsOfWarps, Assumed::Tile),
    };
    let mut found = WarpFindings::default();
    let mut fuel = FUEL.min(seen.budget.left().saturating_mul(PER_STEP));
    let before = fuel;
    for warp in warps(assumed) {
        let mut w = WarpWalk::new(body, program, seen, launch, assumed, warp);
        w.found = std::mem::take(&mut found);
        w.fuel = fuel;
        let done = w.kernel();
        fuel = w.fuel;
        let known = matches!(assumed, Assumed::Launch(_));
        found = w.found;
        if done.is_err() || w.narrow && !known {
            found = WarpFindings::default();
            break;
        }
    }
    let _ = seen.budget.spend((before - fuel) / PER_STEP);
    found
}

/// The block that a narrow shared array is made for, padding and borders left out, if the kernel names two axes.
fn tile(body: &Body, program: &Program) -> Option<[u32; 3]> {
    let [x, y, _] = super::shapes::tile_of(body)?;
    let down = |n: u32| 1 << n.max(1).ilog2();
    let block = [down(x), down(y), 1];
    let named = super::eval::axes(body, program);
    let whole = block[1] > 1 && block[0] * block[1] % form::LANES as u32 == 0;
    (block[0] < form::LANES as u32 && whole && named[1] && !named[2]).then_some(block)
}

/// The warps of a block that are looked at, one after the other: each by its number, where the block's shape is known.
fn warps(assumed: Assumed) -> Vec<Option<u32>> {
    match assumed {
        Assumed::RowsOfWarps => vec![None],
        Assumed::Launch(b) | Assumed::Tile(b) => {
            let threads: u64 = b.iter().map(|&x| u64::from(x)).product();
            (0..threads.div_ceil(32).min(64) as u32).map(Some).collect()
        }
    }
}

impl<'a> WarpWalk<'a> {
    fn new(
        body: &'a Body,
        program: &'a Program,
        seen: &'a Seen,
        launch: &'a KernelLaunch,
        assumed: Assumed,
        warp: Option<u32>,
    ) -> WarpWalk<'a> {
        let zero = || [Form::default(), Form::default(), Form::default()];
        let mut w = WarpWalk {
            body,
            program,
            seen,
            launch,
            assumed,
            unknowns: Unknowns::default(),
            thread: zero(),
            block: zero(),
            extent: zero(),
            blocks: zero(),
            locals: Locals::default(),
            nest: Vec::new(),
            gone: 0,
            frames: Vec::new(),
            tried: 0,
            fuel: 0,
            depth: 0,
            narrow: false,
            found: WarpFindings::default(),
        };
        let one = |v: u32| Form::constant(v.into()).unwrap_or_default();
        for a in 0..3 {
            w.extent[a] = match assumed {
                Assumed::Launch(b) | Assumed::Tile(b) => one(b[a]),
                Assumed::RowsOfWarps if a == 0 => w.extent_of_warps(launch),
                Assumed::RowsOfWarps => w.index(1, 1024),
            };
            let most = launch.grid.map_or(i32::MAX.into(), |g| i128::from(g[a]));
            w.blocks[a] = match launch.grid {
                Some(g) => one(g[a]),
                None => w.index(1, most),
            };
            w.block[a] = if most == 1 { Form::default() } else { w.index(0, most - 1) };
            w.thread[a] = match (assumed, warp) {
                (Assumed::Launch(b) | Assumed::Tile(b), Some(n)) => {
                    let at = |l: usize| {
                        let t = u64::from(n) * 32 + l as u64;
                        let [x, y, _] = b.map(u64::from);
                        [t % x, t / x % y, t / (x * y)][a] as i64
                    };
                    Form::of_lanes(at).unwrap_or_default()
                }
                _ if a == 0 => {
                    // 32 times the warp's number in its row, and the lane
                    let row = w.index(0, 31).scale(32);
                    let lane = Form::of_lanes(|l| l as i64);
                    row.zip(lane).and_then(|(r, l)| r.add(&l)).unwrap_or_default()
                }
                _ => w.index(0, 1023),
            };
        }
        w.frames.push(WalkedCall { whole: w.all(warp), ..WalkedCall::default() });
        w
    }

    /// Threads of a row of a block: a multiple of a warp's.
    fn extent_of_warps(&mut self, launch: &KernelLaunch) -> Form {
        let most = launch.most_threads.unwrap_or(launch.limits.block_threads).max(32) / 32;
        self.index(1, most.into()).scale(32).unwrap_or_default()
    }

    /// The lanes that there are.
    fn all(&self, warp: Option<u32>) -> Mask {
        let (Assumed::Launch(b) | Assumed::Tile(b), Some(n)) = (self.assumed, warp) else { return Mask::MAX };
        let threads: u64 = b.iter().map(|&x| u64::from(x)).product();
        let here = threads.saturating_sub(u64::from(n) * 32).min(32) as u32;
        Mask::MAX.checked_shr(32 - here).unwrap_or(0)
    }

    /// An index or extent.
    fn index(&mut self, low: i128, high: i128) -> Form {
        let u = Unknown { shared: true, data: false, low: Some(low), high: Some(high), index: true };
        Form::atom(self.unknowns.add(u))
    }

    fn kernel(&mut self) -> Run<()> {
        let body = self.body;
        let Some(&[parameters, statements]) = body.args(body.root).first_chunk::<2>() else {
            return Err(Stop::Structure);
        };
        for &p in body.args(parameters) {
            let Op::Declare(s) = *body.op(p) else { continue };
            let symbol = &body.symbols[s];
            let known = self.launch.values.iter().find(|(n, _)| *n == symbol.name).map(|x| x.1);
            let v = match body.types.kind(symbol.ty) {
                &TypeKind::Int(kind) => {
                    let known = known.filter(|v| (kind.min()..=kind.max()).contains(v));
                    match known.and_then(Form::constant) {
                        Some(form) => Val::Int(Number { form, exact: true }),
                        None => {
                            let any = self.any_int(kind, true, false);
                            let atom = match &any {
                                Val::Int(n) => n.form.atoms().next(),
                                _ => None,
                            };
                            let kept = !self.seen.definitions.contains_key(&s);
                            self.unknowns.parameters.extend(atom.filter(|_| kept).map(|a| (a, s)));
                            any
                        }
                    }
                }
                TypeKind::Pointer { .. } => {
                    let object = WarpObject { name: symbol.name.clone(), space: term::Space::Global };
                    Val::Ptr(Some(object), Form::default())
                }
                _ => Val::Other(true),
            };
            self.locals.insert(s, v);
        }
        let whole = self.frames.last().map_or(0, |f| f.whole);
        let way = Way { may: whole, must: whole, one: false };
        super::interpret::walk::statement(self, statements, way).map(drop)
    }

    /// Variables that are not followed: something else may change them.
    fn is_open(&self, s: SymbolId) -> bool {
        self.body.symbols[s].address_taken || self.frames.len() == 1 && self.seen.exposed.contains(&s)
    }
}
