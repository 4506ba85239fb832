//! Holds what is said of a written program to what its functions really do, on inputs nobody chose.
//!
//! The markers of the program are held to the same runs: a marker is an opinion too.

use std::collections::{BTreeSet, HashMap};

use analysis::{ConditionKind, LoopFacts, LoopId, Step, Verdict};
use simulate::{ElementKind, Heap, ObjectId, Program, Trace, Value, Variable};
use term::{Body, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind, Types};

use super::case::{Case, Given};
use super::{promised, Stats};
use crate::fixture::{Analyzed, Expected};
use crate::rng::Rng;

/// Runs each function is judged on.
pub const RUNS: usize = 6;
/// At most so many more show the loops of which too little was seen.
pub const MORE_RUNS: usize = 6;
/// Elements before and after the place a pointer points to.
const MARGIN: u64 = 400;
/// Objects that the pointers of one table show, where these hold pointers again and where they do not.
const FEW: usize = 30;
const ROWS: usize = 40;
/// Elements of more bytes are few.
const LARGE: u64 = 512;
/// Elements in it.
const ROOM: u64 = 2_500;
/// Of one run.
const STEPS: u64 = 3_000_000;
/// Of one run for loops of which too little was seen.
const MORE_STEPS: u64 = 200_000;

/// What came of one program.
#[derive(Default)]
pub struct Judged {
    /// Wrong claims and wrong markers, one line each.
    pub wrong: Vec<String>,
    /// Loops not called parallel whose iterations met in no run: missed, or kept for reasons that runs do not show.
    pub missed: Vec<String>,
    /// Functions with loops that ran at least once, and those that never did, with the reason.
    pub ran: usize,
    pub never: Vec<String>,
    /// What runs showed of each loop.
    pub loops: Vec<Observed>,
}

/// What runs showed of one loop. A run shows something when some execution of the loop had three iterations or more.
#[derive(Clone, Debug)]
pub struct Observed {
    pub line: u32,
    pub function: String,
    pub verdict: Verdict,
    /// The most iterations of one execution, of every run in which memory was not shared.
    pub trips: BTreeSet<u64>,
    /// Likewise of the runs to which a claim was held.
    pub held: BTreeSet<u64>,
    /// Likewise of runs that do not speak against a claim, where it cannot be told whether its conditions hold.
    pub unrefuted: BTreeSet<u64>,
    /// What speaks against it in such a run, if its conditions should hold.
    pub undecided: Option<String>,
    /// Whether it always makes the same number of iterations.
    pub is_fixed: bool,
    /// Iterations met, in a cell that cannot be each one's own.
    pub conflict: Option<String>,
    /// A dependence was seen to happen as it is told.
    pub witnessed: bool,
}

/// One scalar of an element, at a byte offset.
#[derive(Clone, Debug)]
enum Leaf {
    Number(u64, ElementKind),
    /// To memory of its own: the elements it points to.
    Pointer(u64, Layout),
}

#[derive(Clone, Debug)]
struct Layout {
    bytes: u64,
    leaves: Vec<Leaf>,
}

impl Layout {
    fn of(types: &Types, ty: TypeId, depth: u32) -> Option<Layout> {
        let (bytes, _) = types.size_align(ty)?;
        let mut leaves = Vec::new();
        push(types, ty, 0, &mut leaves, depth)?;
        Some(Layout { bytes: bytes.max(1), leaves })
    }
    /// Elements before and after the place a pointer points to.
    fn margin(&self) -> u64 {
        if self.bytes > LARGE {
            2
        } else {
            MARGIN
        }
    }
    /// The unit of traces: its smallest scalar.
    fn grain(&self) -> u64 {
        let size = |l: &Leaf| match l {
            Leaf::Number(_, k) => k.size() as u64,
            Leaf::Pointer(..) => 8,
        };
        self.leaves.iter().map(size).min().unwrap_or(1)
    }
}

/// What is left out holds zeroes: functions, what only others know, the end of a chain, most of a huge array.
fn push(types: &Types, ty: TypeId, at: u64, out: &mut Vec<Leaf>, depth: u32) -> Option<()> {
    if depth > 6 || out.len() > 2048 {
        return Some(());
    }
    match types.kind(ty) {
        TypeKind::Int(_) | TypeKind::Float(_) => out.push(Leaf::Number(at, ElementKind::of(types, ty)?)),
        TypeKind::Pointer { to, .. } if depth < 6 => {
            out.extend(target(types, *to, depth + 2).map(|layout| Leaf::Pointer(at, layout)));
        }
        TypeKind::Pointer { .. } => {}
        TypeKind::Array { of, len: Len::Const(n) } => {
            let (size, _) = types.size_align(*of)?;
            for k in 0..*n {
                push(types, *of, at + k * size, out, depth + 1)?;
            }
        }
        TypeKind::Record(r) => {
            let record = types.record(*r);
            for (f, m) in record.fields.as_ref()?.iter().zip(&types.layout(*r)?.members) {
                if f.bits.is_some() {
                    return None;
                }
                push(types, f.ty, at + m.bit / 8, out, depth + 1)?;
                if record.is_union {
                    break;
                }
            }
        }
        _ => return None,
    }
    Some(())
}

/// What a pointer points to, arrays unwrapped.
fn target(types: &Types, to: TypeId, depth: u32) -> Option<Layout> {
    let mut element = to;
    while let TypeKind::Array { of, .. } = types.kind(element) {
        element = *of;
    }
    if *types.kind(element) == TypeKind::Void {
        // memory of some kind
        return Some(Layout { bytes: 1, leaves: vec![Leaf::Number(0, ElementKind::U8)] });
    }
    Layout::of(types, element, depth)
}

/// How the buffers of a call are made.
#[derive(Clone, Copy)]
struct How<'a> {
    room: u64,
    /// Whether pointers may name one buffer.
    overlap: bool,
    /// Parameters that are small.
    small: &'a [SymbolId],
    /// Whether the function may free what it is given: it is as if just allocated.
    owned: bool,
}

/// The buffers of one call.
struct Maker<'a> {
    body: &'a Body,
    rng: Rng,
    heap: Heap,
    /// Buffers that another pointer may share, by bytes and kind of element.
    shared: HashMap<String, ObjectId>,
    words: Vec<String>,
    how: How<'a>,
}

impl Maker<'_> {
    fn buffer(&mut self, name: &str, layout: &Layout, count: u64) -> Option<ObjectId> {
        let grain = layout.grain();
        let o = self.heap.alloc(name, grain as u32, layout.bytes * count / grain).ok()?;
        let mut rows: Vec<ObjectId> = Vec::new();
        let mut bytes = vec![0u8; (layout.bytes * count) as usize];
        let mut pointers = Vec::new();
        for (n, element) in bytes.chunks_exact_mut(layout.bytes as usize).enumerate() {
            for leaf in &layout.leaves {
                match leaf {
                    Leaf::Number(at, kind) => {
                        let slot = &mut element[*at as usize..*at as usize + kind.size()];
                        let whole = self.rng.between(0, 9);
                        let real = self.rng.between(-512, 512) as f64 / 256.0;
                        kind.put(slot, real, whole);
                    }
                    Leaf::Pointer(at, to) => pointers.push((n as u64 * layout.bytes + at, to)),
                }
            }
        }
        self.heap.write(o, 0, &bytes).ok()?;
        // A few targets: some are the same where memory is shared, else only those of elements far apart.
        for (n, (at, to)) in pointers.into_iter().enumerate() {
            let most = if to.leaves.iter().any(|l| matches!(l, Leaf::Pointer(..))) { FEW } else { ROWS };
            let fresh = rows.is_empty() || rows.len() < most && !(self.how.overlap && self.rng.chance(10));
            if fresh {
                let row = self.buffer("row", &to.clone(), 2 * to.margin().min(100))?;
                rows.push(row);
            }
            let known = if self.how.overlap { self.rng.below(rows.len()) } else { n % rows.len() };
            let row = if fresh { *rows.last()? } else { *rows.get(known)? };
            let address = simulate::address_of(row, (to.margin().min(100) * to.bytes) as i64);
            self.heap.write(o, at, &address.to_le_bytes()).ok()?;
        }
        Some(o)
    }

    fn parameter(&mut self, of: SymbolId, size: i128, fixed: Option<i128>) -> Result<Value, String> {
        let (name, ty) = (&*self.body.symbols[of].name, self.body.symbols[of].ty);
        let unknown = || format!("no input for `{name}`");
        let types = &self.body.types;
        Ok(match types.kind(ty) {
            TypeKind::Int(k) => {
                let small = self.rng.chance(12);
                let v = fixed.unwrap_or_else(|| match () {
                    () if small => i128::from(self.rng.between(-2, 2)),
                    () if self.how.small.contains(&of) => i128::from(self.rng.between(1, 3)),
                    () => size + i128::from(self.rng.between(-2, 2)),
                });
                let v = if fixed.is_none() && k.wrap(v) != v { 1 } else { v };
                self.words.push(format!("{name}={v}"));
                Value::Int(v)
            }
            TypeKind::Float(term::FloatKind::F32) => Value::F32(self.rng.between(-500, 500) as f32 / 250.0),
            TypeKind::Float(term::FloatKind::F64) => Value::F64(self.rng.between(-500, 500) as f64 / 250.0),
            TypeKind::Pointer { to, .. } => {
                let Some(layout) = target(types, *to, 0) else { return Ok(Value::Null) };
                let free = !types.quals(ty).is_restrict;
                let key = format!("{:?}", layout);
                let middle = if self.how.owned { 0 } else { (layout.margin() * layout.bytes) as i64 };
                if let (true, Some(&o)) =
                    (self.how.overlap && free && self.rng.chance(50), self.shared.get(&key))
                {
                    let shift = self.rng.between(-3, 3);
                    self.words.push(format!("{name} shares memory, moved by {shift}"));
                    return Ok(Value::Pointer(o, middle + shift * layout.bytes as i64));
                }
                let pointers = layout.leaves.iter().any(|l| matches!(l, Leaf::Pointer(..)));
                let count = match layout.bytes {
                    LARGE.. => 8,
                    _ if pointers => 60,
                    _ => self.how.room,
                } + 2 * layout.margin();
                let name = if self.how.owned { "malloc" } else { name };
                let o = self.buffer(name, &layout, count).ok_or_else(unknown)?;
                if free {
                    self.shared.insert(key, o);
                }
                Value::Pointer(o, middle)
            }
            _ => return Err(unknown()),
        })
    }

    /// File-scope variables that the program can change: known, random contents.
    fn globals(&mut self, size: i128) {
        for s in self.body.symbols.iter() {
            if !matches!(s.storage, Storage::Global { .. }) || self.body.types.quals(s.ty).is_const {
                continue;
            }
            let (mut element, mut count) = (s.ty, 1u64);
            while let TypeKind::Array { of, len: Len::Const(n) } = self.body.types.kind(element) {
                count = count.saturating_mul(*n);
                element = *of;
            }
            if self.body.types.quals(element).is_const || count > 1 << 20 {
                continue;
            }
            let Some(layout) = Layout::of(&self.body.types, element, 0) else { continue };
            let Some(o) = self.buffer(&s.name, &layout, count) else { continue };
            if let (1, TypeKind::Int(_)) = (count, self.body.types.kind(s.ty)) {
                let bytes = size.to_le_bytes();
                let _ = self.heap.write(o, 0, &bytes[..layout.bytes as usize]);
            }
            self.heap.provide(&s.name, o);
        }
    }
}

/// A call of a function: random where nothing is given.
fn call(body: &Body, seed: u64, size: i128, given: &[Option<i128>], how: How<'_>) -> Result<Given, String> {
    let mut m = Maker {
        body,
        rng: Rng::new(seed),
        heap: Heap::new(),
        shared: HashMap::new(),
        words: Vec::new(),
        how,
    };
    m.globals(size);
    let list = body.args(body.root).first().copied();
    let mut args = Vec::new();
    for (n, &p) in list.iter().flat_map(|&l| body.args(l)).enumerate() {
        let Op::Declare(s) = *body.op(p) else { continue };
        args.push(m.parameter(s, size, given.get(n).copied().flatten())?);
    }
    let sizes: Vec<Option<i128>> =
        args.iter().map(|v| if let Value::Int(v) = v { Some(*v) } else { None }).collect();
    promised::keep(body, &mut m.heap, &args, &sizes, seed);
    let apart = !how.overlap;
    Ok(Given { sizes, words: m.words.join(", "), heap: m.heap, args, apart })
}

/// What runs showed of one loop.
#[derive(Default)]
struct Seen {
    /// Some execution had two iterations.
    twice: bool,
    /// Iterations met in some cell that could not be each one's own, in a run without overlaps.
    carried: bool,
    /// Where, the first time.
    place: Option<String>,
    /// The same, and the cell was no scalar variable.
    carried_in_memory: Option<String>,
    trips: BTreeSet<u64>,
    held: BTreeSet<u64>,
    unrefuted: BTreeSet<u64>,
    undecided: Option<String>,
    witnessed: bool,
}

impl Seen {
    /// At two sizes.
    fn is_enough(&self, verdict: Verdict) -> bool {
        let claim = matches!(verdict, Verdict::Independent | Verdict::Reduction);
        self.trips.len() > 1 && (!claim || self.held.len() > 1)
    }
}

/// Runs every function of the program that has loops, and compares.
pub fn judge_program(name: &str, a: &Analyzed, markers: &[Expected], stats: &mut Stats) -> Judged {
    judge_in_runs(name, a, markers, 0, stats)
}

/// The same, with at most so many `more` runs until each loop was seen at two sizes.
pub fn judge_in_runs(
    name: &str,
    a: &Analyzed,
    markers: &[Expected],
    more: usize,
    stats: &mut Stats,
) -> Judged {
    let mut out = Judged::default();
    let program = Program::of(a.unit.items.iter().map(|i| &*i.body));
    for (n, item) in a.unit.items.iter().enumerate() {
        let (body, facts) = (&*item.body, &a.facts[n]);
        if facts.loops.is_empty() {
            continue;
        }
        let small = steps(body, facts);
        let plain = How { room: ROOM, overlap: false, small: &small, owned: false };
        let apart = |sizes: &[Option<i128>], largest: usize| {
            let room = (2 * largest * largest).clamp(ROOM as usize, 200_000) as u64;
            call(body, 77, largest as i128 + 2, sizes, How { room, ..plain })
        };
        let start = item.span.start as usize;
        let mut case = Case::new(&a.text, start, &item.name, body, facts, &program, &apart);
        case.steps = STEPS;
        let line = |id: LoopId| a.loops.iter().find(|l| l.item == n && l.id == id).map_or(0, |l| l.line);
        for (id, l) in facts.loops.iter_ids() {
            out.wrong.extend(case.form(l).into_iter().map(|w| format!("{name}:{}: {w}", line(id))));
        }
        let mut seen: HashMap<LoopId, Seen> = HashMap::new();
        let (mut ran, mut why_not, mut owned) = (false, String::new(), false);
        for run in 0..RUNS + more {
            let enough =
                |(id, l): (LoopId, &LoopFacts)| seen.get(&id).is_some_and(|s| s.is_enough(l.verdict));
            if run >= RUNS && facts.loops.iter_ids().all(enough) {
                break;
            }
            if run == RUNS + MORE_RUNS {
                case.steps = MORE_STEPS;
            }
            // at last small ones, which cases distinguish
            let size =
                [6, 5, 13, 3, 8, 2, 9, 17, 7, 24, 5, 12].get(run).copied().unwrap_or(3 + run as i128 % 4);
            let overlap = run < RUNS && run % 3 == 1;
            let made = call(body, run as u64 + 1, size, &[], How { overlap, owned, ..plain });
            let done = made.and_then(|mut given| Ok((case.run(&mut given)?, given)));
            let (trace, given) = match done {
                Ok(done) => done,
                Err(why) => {
                    *stats.faults.entry(why.clone()).or_default() += 1;
                    owned |= why == "DeadObject";
                    why_not = why;
                    continue;
                }
            };
            ran = true;
            stats.runs += 1;
            for (id, l) in facts.loops.iter_ids() {
                let seen = seen.entry(id).or_default();
                let trips = if overlap { None } else { look(&case, &trace, l.term, seen) };
                if matches!(l.verdict, Verdict::Independent | Verdict::Reduction) {
                    let before = (stats.claims, stats.unrefuted, stats.undecided.len());
                    if let Err(what) = case.claim(&given, &trace, id, l, stats) {
                        out.wrong.push(format!("{name}:{}: {what}", line(id)));
                    }
                    seen.held.extend(trips.filter(|_| stats.claims > before.0));
                    seen.unrefuted.extend(trips.filter(|_| stats.unrefuted > before.1));
                    if stats.undecided.len() > before.2 && !overlap {
                        seen.undecided = stats.undecided.last().cloned();
                    }
                }
            }
        }
        if !ran {
            out.never.push(format!("{name}: `{}`: {why_not}", item.name));
        }
        out.ran += usize::from(ran);
        for (id, l) in facts.loops.iter_ids() {
            for d in l.dependences.iter().filter(|d| d.witness.is_some()).take(2) {
                let before = stats.witnesses;
                if let Err(what) = case.witness(id, l, d, stats) {
                    out.wrong.push(format!("{name}:{}: {what}", line(id)));
                }
                seen.entry(id).or_default().witnessed |= stats.witnesses > before;
            }
            let parallel = matches!(l.verdict, Verdict::Independent | Verdict::Reduction);
            if seen.get(&id).is_some_and(|s| s.trips.len() > 1 && !s.carried) && !parallel {
                let why: Vec<String> = l.obstacles.iter().map(|o| obstacle(&case, o)).collect();
                out.missed.push(format!("{name}:{}: {:?} {}", line(id), l.verdict, why.join(", ")));
            }
            let (Some(e), Some(s)) = (markers.iter().find(|e| e.line == line(id)), seen.get(&id)) else {
                continue;
            };
            // what is found in runs are no sorted arrays, nor lengths of rows
            let of_elements = |c: &analysis::Condition| {
                matches!(c.kind, ConditionKind::Sorted(_) | ConditionKind::AtMost { .. })
            };
            let sorted = l.conditions.iter().any(of_elements);
            match (e.verdict, &s.carried_in_memory) {
                (Verdict::Independent, Some(what)) if !sorted => {
                    out.wrong.push(format!("{name}:{}: marked independent, but {what}", e.line));
                }
                // a proved one has its witness, held to a run above
                (Verdict::Sequential, _) if s.twice && !s.carried && l.verdict != Verdict::Sequential => {
                    out.wrong.push(format!("{name}:{}: marked sequential, and nothing was carried", e.line));
                }
                _ => {}
            }
        }
        for (id, l) in facts.loops.iter_ids() {
            let seen = seen.remove(&id).unwrap_or_default();
            out.loops.push(Observed {
                line: line(id),
                function: item.name.to_string(),
                verdict: l.verdict,
                is_fixed: is_fixed(body, l),
                trips: seen.trips,
                held: seen.held,
                unrefuted: seen.unrefuted,
                undecided: seen.undecided,
                conflict: seen.place,
                witnessed: seen.witnessed,
            });
        }
    }
    out
}

fn obstacle(case: &Case<'_>, o: &analysis::Obstacle) -> String {
    let kind = format!("{:?}", o.kind);
    let kind = kind.split(['(', ' ']).next().unwrap_or_default();
    format!("{kind} at `{}`", case.source(o.term).replace('\n', " "))
}

/// Whether there is one number of iterations: the header says it, or nothing that the function is given could change it.
fn is_fixed(body: &Body, l: &LoopFacts) -> bool {
    if body.args(body.root).first().is_some_and(|&list| body.args(list).is_empty()) {
        return true;
    }
    let constant = |t: TermId| analysis::constant(body, t).is_some();
    let Ok(c) = &l.control else { return false };
    matches!(c.step, Step::Const(_)) && constant(c.lower) && c.bound.is_none_or(constant)
}

/// Parameters that loops step by: as large as the others they would leave one iteration.
fn steps(body: &Body, facts: &analysis::Facts) -> Vec<SymbolId> {
    let step = |l: &LoopFacts| match l.control.as_ref().ok()?.step {
        Step::Term { term, .. } => body.as_symbol(term),
        Step::Const(_) => None,
    };
    facts.loops.iter().filter_map(step).collect()
}

/// Notes what a run without overlaps showed of a loop, and gives the number of its iterations where they are enough.
fn look(case: &Case<'_>, trace: &Trace, of: TermId, seen: &mut Seen) -> Option<u64> {
    let t = trace.of(of)?;
    // the last start may be only the test that failed
    let trips = t.instances.iter().map(|i| i.starts).max().filter(|starts| *starts > 3).map(|s| s - 1);
    seen.twice |= trips.is_some();
    seen.trips.extend(trips);
    for c in t.conflicts.iter().filter(|c| !c.header) {
        let own = t.variables.get(&c.variable).is_some_and(|v| v.private_like());
        let wanted = t.variables.get(&c.variable).is_some_and(|v| v.read_after.is_some() || v.escapes);
        let place = || {
            format!(
                "`{}` in iteration {} and `{}` in iteration {} meet ({:?})",
                case.source(c.source),
                c.source_iteration,
                case.source(c.sink),
                c.sink_iteration,
                c.kind
            )
        };
        if !own || wanted {
            seen.carried = true;
            seen.place.get_or_insert_with(place);
        }
        let scalar = match c.variable {
            Variable::Symbol(s) => case.body.types.kind(case.body.symbols[s].ty),
            Variable::Object(_) => &TypeKind::Void,
        };
        if !own && !matches!(scalar, TypeKind::Int(_) | TypeKind::Pointer { .. }) {
            seen.carried_in_memory = Some(place());
        }
    }
    trips
}
