//! Sequential runs with a record of every cell touched by every iteration of watched loops.
//!
//! A cell is the smallest scalar of its object (see `Object::grain`); a variable declared again is new cells. For
//! each running loop a hash table holds, per cell, the last two iterations in which each term read or wrote it:
//! enough to see every pair of terms that conflict, without a log of all accesses. A bounded log answers questions
//! about two given iterations.
//!
//! What a called function touches counts as touched by the call's term.
//!
//! Deliberately absent: what follows from a conflict (see `oracle`).

use base::Budget;
use rustc_hash::FxHashMap;
use term::{Body, Storage, SymbolId, TermId};

use crate::code::Code;
use crate::compile::{compile, Options, Program};
use crate::exec::{Access, AccessKind, Hooks, LoopEvent};
use crate::fault::Fault;
use crate::limits::trace::INDEX_LIMIT;
use crate::machine::{run_code, Heap, Outcome, Value};
use crate::memory::{Memory, ObjectId};

/// Kind of conflict between an earlier and a later iteration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ConflictKind {
    /// Written, then read.
    Flow,
    /// Read, then written.
    Anti,
    /// Written twice.
    Output,
}

/// What a cell belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Variable {
    /// A variable of the traced function.
    Symbol(SymbolId),
    /// A buffer, a global, or a variable of a called function.
    Object(ObjectId),
}

/// A cell: an object's bytes `offset..offset+size`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cell {
    pub object: ObjectId,
    pub offset: u32,
    pub size: u32,
}

/// Two accesses to one cell in different iterations of one execution of a loop, one of them a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    pub kind: ConflictKind,
    pub variable: Variable,
    /// The access in the earlier iteration.
    pub source: TermId,
    /// The access in the later one.
    pub sink: TermId,
    /// Which execution of the loop: an index into [`LoopTrace::instances`].
    pub instance: u32,
    /// Iterations, counted from 0.
    pub source_iteration: i64,
    pub sink_iteration: i64,
    pub cell: Cell,
    /// How many times this pair of terms conflicted (each sighting of the later access counts once).
    pub count: u64,
    /// Whether it is only about the loop's own index, between header and body or within the header.
    pub header: bool,
    /// For flow: whether the value really passes (no write of the same iteration in between).
    pub passes: bool,
}

/// What happened to one variable in a loop.
#[derive(Clone, Debug, Default)]
pub struct VariableTrace {
    pub read: bool,
    pub written: bool,
    /// A read that no write of its own iteration precedes, of a cell that some iteration writes: (iteration, term).
    pub exposed: Option<(i64, TermId)>,
    /// A read after the loop of a value the loop left.
    pub read_after: Option<TermId>,
    /// Whether others than the traced call can see it afterwards.
    pub escapes: bool,
}

impl VariableTrace {
    /// Whether every iteration could have had its own copy: what it reads of it, it wrote before (or nobody writes it).
    pub fn private_like(&self) -> bool {
        self.exposed.is_none()
    }
}

/// One execution of a loop.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// Index values of the watched loops around it when it began.
    pub outer: Vec<(SymbolId, i64)>,
    /// Starts of iterations. The last may be only the test that failed.
    pub starts: u64,
    /// The index at the start of each iteration (the first thousands of them).
    pub index: Vec<i64>,
}

/// All executions of one watched loop.
#[derive(Clone, Debug)]
pub struct LoopTrace {
    pub term: TermId,
    pub index: Option<SymbolId>,
    pub instances: Vec<Instance>,
    pub conflicts: Vec<Conflict>,
    pub variables: FxHashMap<Variable, VariableTrace>,
}

/// One entry of the bounded log: a term touched a cell in an iteration (once per iteration, term and direction).
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Index into [`Trace::loops`].
    pub watched: u32,
    pub instance: u32,
    pub iteration: i64,
    pub term: TermId,
    pub write: bool,
    pub variable: Variable,
    pub cell: Cell,
    incarnation: u64,
}

impl Touch {
    /// Whether both are the same cell.
    pub fn same_cell(&self, other: &Touch) -> bool {
        self.incarnation == other.incarnation && self.cell.offset == other.cell.offset
    }
}

/// What a traced run recorded.
#[derive(Clone, Debug)]
pub struct Trace {
    pub loops: Vec<LoopTrace>,
    pub log: Vec<Touch>,
    /// Whether the log ran full: questions about pairs of iterations may then be unanswerable.
    pub log_full: bool,
    /// What pointer parameters refer to.
    pub points_to: Vec<(SymbolId, ObjectId)>,
    /// The objects of file-scope variables.
    pub globals: Vec<(SymbolId, ObjectId)>,
    pub outcome: Outcome,
}

/// Entries of the log kept.
pub const LOG_LIMIT: usize = 2_000_000;

/// Runs a function and watches its loops. Faults end the run and the trace: what ran before them is not judged.
pub fn run_traced(
    program: &Program<'_>,
    function: &str,
    args: &[Value],
    heap: &mut Heap,
    watch: &[TermId],
    options: &Options,
    budget: &Budget,
) -> Result<Trace, Fault> {
    let options = Options { watch: Some(watch.to_vec()), ..options.clone() };
    let code = compile(program, function, &options)?;
    let mut recorder = Recorder::new(&code);
    let outcome = run_code(&code, args, heap, budget, &mut recorder)?;
    recorder.leave_to(0);
    let (points_to, globals) = match program.function(function) {
        Some(body) => references(body, args, heap),
        None => Default::default(),
    };
    let loops = recorder
        .loops
        .into_iter()
        .map(|l| {
            let mut conflicts: Vec<Conflict> = l.conflicts.into_values().collect();
            conflicts.sort_by_key(|c| (c.source, c.sink, c.kind, c.variable));
            LoopTrace {
                term: l.term,
                index: l.index,
                instances: l.instances,
                conflicts,
                variables: l.variables,
            }
        })
        .collect();
    Ok(Trace { loops, log: recorder.log, log_full: recorder.log_full, points_to, globals, outcome })
}

type Names = Vec<(SymbolId, ObjectId)>;

/// What the parameters and file-scope names of a function refer to.
fn references(body: &Body, args: &[Value], heap: &Heap) -> (Names, Names) {
    let (mut params, mut globals) = (Vec::new(), Vec::new());
    for (s, symbol) in body.symbols.iter_ids() {
        match symbol.storage {
            Storage::Param(i) => {
                if let Some(Value::Pointer(o, _)) = args.get(i as usize) {
                    params.push((s, *o));
                }
            }
            Storage::Global { .. } => globals.extend(heap.global(&symbol.name).map(|o| (s, o))),
            _ => {}
        }
    }
    (params, globals)
}

#[derive(Clone, Copy)]
struct Entry {
    term: TermId,
    write: bool,
    last: i64,
    before: i64,
}

#[derive(Default)]
struct CellState {
    entries: Vec<Entry>,
    written_in: Option<i64>,
    exposed: Option<(i64, TermId)>,
}

type Key = (u64, u32);

struct Active {
    l: u32,
    instance: u32,
    iteration: i64,
    cells: FxHashMap<Key, CellState>,
}

#[derive(Clone, Copy)]
struct Info {
    object: ObjectId,
    grain: u32,
    variable: Variable,
    escapes: bool,
}

struct LoopRecord {
    term: TermId,
    index: Option<SymbolId>,
    instances: Vec<Instance>,
    conflicts: FxHashMap<(ConflictKind, Variable, TermId, TermId), Conflict>,
    variables: FxHashMap<Variable, VariableTrace>,
}

struct Recorder<'c> {
    code: &'c Code,
    loops: Vec<LoopRecord>,
    active: Vec<Active>,
    infos: FxHashMap<u64, Info>,
    /// Cells that exited loops wrote, and which loops (a bit each).
    after: FxHashMap<Key, u128>,
    calls: u32,
    site: TermId,
    log: Vec<Touch>,
    log_full: bool,
}

impl<'c> Recorder<'c> {
    fn new(code: &'c Code) -> Recorder<'c> {
        let loops = code
            .watched
            .iter()
            .map(|w| LoopRecord {
                term: w.term,
                index: w.index,
                instances: Vec::new(),
                conflicts: FxHashMap::default(),
                variables: FxHashMap::default(),
            })
            .collect();
        Recorder {
            code,
            loops,
            active: Vec::new(),
            infos: FxHashMap::default(),
            after: FxHashMap::default(),
            calls: 0,
            site: TermId(0),
            log: Vec::new(),
            log_full: false,
        }
    }

    /// Ends executions of loops until `depth` are open.
    fn leave_to(&mut self, depth: usize) {
        while self.active.len() > depth {
            let Some(a) = self.active.pop() else { return };
            let Some(record) = self.loops.get_mut(a.l as usize) else { continue };
            for (key, cell) in a.cells {
                let Some(info) = self.infos.get(&key.0) else { continue };
                let v = record.variables.entry(info.variable).or_default();
                v.escapes |= info.escapes;
                v.read |= cell.entries.iter().any(|e| !e.write);
                if cell.entries.iter().any(|e| e.write) {
                    v.written = true;
                    if v.exposed.is_none() {
                        v.exposed = cell.exposed;
                    }
                    // more than 128 loops: the last ones share a bit, which can only report more
                    *self.after.entry(key).or_default() |= 1 << a.l.min(127);
                }
            }
        }
    }

    /// An access that does not fit the cells of its object: from now on they are single bytes.
    fn refine(&mut self, incarnation: u64, grain: u32) {
        for a in &mut self.active {
            let old: Vec<Key> = a.cells.keys().filter(|k| k.0 == incarnation).copied().collect();
            for k in old {
                let Some(cell) = a.cells.remove(&k) else { continue };
                for b in 0..grain {
                    let copy = CellState { entries: cell.entries.clone(), ..cell };
                    a.cells.insert((incarnation, k.1 + b), copy);
                }
            }
        }
        let old: Vec<(Key, u128)> =
            self.after.iter().filter(|(k, _)| k.0 == incarnation).map(|(k, v)| (*k, *v)).collect();
        for (k, v) in old {
            for b in 0..grain {
                self.after.insert((incarnation, k.1 + b), v);
            }
        }
    }

    fn info(&mut self, mem: &Memory, a: &Access) -> Option<(u64, Info)> {
        let o = mem.get(a.object)?;
        let inc = o.incarnation;
        let info = *self.infos.entry(inc).or_insert_with(|| {
            let own = o.variable.1 == 0 && o.variable.0 != u32::MAX;
            let variable =
                if own { Variable::Symbol(SymbolId(o.variable.0)) } else { Variable::Object(a.object) };
            Info {
                object: a.object,
                grain: o.grain.max(1),
                variable,
                escapes: o.space != crate::memory::Space::Local,
            }
        });
        Some((inc, info))
    }

    fn touch(&mut self, key: Key, info: Info, term: TermId, write: bool) {
        if let Some(bits) = self.after.get(&key).copied() {
            if write {
                self.after.remove(&key);
            } else {
                for (l, record) in self.loops.iter_mut().enumerate() {
                    if bits & (1 << l.min(127)) != 0 {
                        let v = record.variables.entry(info.variable).or_default();
                        v.read_after.get_or_insert(term);
                    }
                }
            }
        }
        for a in &mut self.active {
            let k = a.iteration;
            let cell = a.cells.entry(key).or_default();
            let Some(record) = self.loops.get_mut(a.l as usize) else { continue };
            let killed = cell.written_in == Some(k);
            for e in &cell.entries {
                if !(e.write || write) {
                    continue;
                }
                let other = if e.last != k { e.last } else { e.before };
                if other < 0 {
                    continue;
                }
                let kind = match (e.write, write) {
                    (true, false) => ConflictKind::Flow,
                    (false, _) => ConflictKind::Anti,
                    (true, true) => ConflictKind::Output,
                };
                let passes = kind == ConflictKind::Flow && !killed;
                let c = record.conflicts.entry((kind, info.variable, e.term, term)).or_insert_with(|| {
                    let w = &self.code.watched[a.l as usize];
                    let index = w.index.map(Variable::Symbol) == Some(info.variable);
                    Conflict {
                        kind,
                        variable: info.variable,
                        source: e.term,
                        sink: term,
                        instance: a.instance,
                        source_iteration: other,
                        sink_iteration: k,
                        cell: Cell { object: info.object, offset: key.1, size: info.grain },
                        count: 0,
                        header: index && (w.header.contains(&e.term) || w.header.contains(&term)),
                        passes: false,
                    }
                });
                c.count += 1;
                c.passes |= passes;
            }
            if write {
                cell.written_in = Some(k);
            } else if !killed && cell.exposed.is_none() {
                cell.exposed = Some((k, term));
            }
            let first_this_iteration =
                match cell.entries.iter_mut().find(|e| e.term == term && e.write == write) {
                    Some(e) if e.last == k => false,
                    Some(e) => {
                        e.before = e.last;
                        e.last = k;
                        true
                    }
                    None => {
                        cell.entries.push(Entry { term, write, last: k, before: -1 });
                        true
                    }
                };
            if first_this_iteration {
                if self.log.len() >= LOG_LIMIT {
                    self.log_full = true;
                } else {
                    self.log.push(Touch {
                        watched: a.l,
                        instance: a.instance,
                        iteration: k,
                        term,
                        write,
                        variable: info.variable,
                        cell: Cell { object: info.object, offset: key.1, size: info.grain },
                        incarnation: key.0,
                    });
                }
            }
        }
    }
}

impl Hooks for Recorder<'_> {
    fn access(&mut self, mem: &Memory, a: Access) -> bool {
        if self.active.is_empty() && self.after.is_empty() {
            return false;
        }
        let term = if self.calls == 0 { a.term } else { self.site };
        let Some((inc, mut info)) = self.info(mem, &a) else { return false };
        if info.grain > 1 && !(a.offset.is_multiple_of(info.grain) && a.size.is_multiple_of(info.grain)) {
            self.refine(inc, info.grain);
            info.grain = 1;
            if let Some(i) = self.infos.get_mut(&inc) {
                i.grain = 1;
            }
        }
        let mut at = a.offset;
        while at < a.offset.saturating_add(a.size) {
            let key = (inc, at);
            if a.kind != AccessKind::Write {
                self.touch(key, info, term, false);
            }
            if a.kind != AccessKind::Read {
                self.touch(key, info, term, true);
            }
            at += info.grain;
        }
        false
    }

    fn looped(&mut self, e: LoopEvent) {
        // a recursive call of the traced function is a call like any other
        if self.calls > 0 {
            return;
        }
        match e {
            LoopEvent::Enter(l) => {
                let outer = self
                    .active
                    .iter()
                    .filter_map(|a| {
                        let record = self.loops.get(a.l as usize)?;
                        let value = record.instances.get(a.instance as usize)?.index.last()?;
                        Some((record.index?, *value))
                    })
                    .collect();
                let Some(record) = self.loops.get_mut(l as usize) else { return };
                record.instances.push(Instance { outer, ..Instance::default() });
                let instance = (record.instances.len() - 1) as u32;
                self.active.push(Active { l, instance, iteration: -1, cells: FxHashMap::default() });
            }
            LoopEvent::Iterate(l, index) => {
                // a jump can only lead out of loops, never into one that is not open
                let Some(at) = self.active.iter().rposition(|a| a.l == l) else { return };
                self.leave_to(at + 1);
                let Some(a) = self.active.last_mut() else { return };
                a.iteration += 1;
                let instance =
                    self.loops.get_mut(l as usize).and_then(|r| r.instances.get_mut(a.instance as usize));
                if let Some(i) = instance {
                    i.starts += 1;
                    if let Some(v) = index {
                        // the last value is always kept: loops inside ask for it
                        if i.index.len() >= INDEX_LIMIT {
                            i.index.pop();
                        }
                        i.index.push(v);
                    }
                }
            }
            LoopEvent::Exit(l) => {
                if let Some(at) = self.active.iter().rposition(|a| a.l == l) {
                    self.leave_to(at);
                }
            }
            LoopEvent::Sync(depth) => self.leave_to(depth as usize),
        }
    }

    fn called(&mut self, _func: u32, term: TermId) {
        if self.calls == 0 {
            self.site = term;
        }
        self.calls += 1;
    }

    fn returned(&mut self) {
        self.calls = self.calls.saturating_sub(1);
    }
}
