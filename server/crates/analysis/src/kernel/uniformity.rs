//! Uniformity by operands: a value is as uniform as the least uniform thing it is made of, a variable as its least uniform
//! definition and the conditions that definition stands under.

use std::cell::Cell;

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::device::{Index, Scope, Shuffle, Tally, Word};
use term::{BinOp, Body, Op, Storage, SymbolId, TermId};

use super::collect::{Barrier, Escape, Seen, Where};
use super::{callee, KernelLaunch};
use crate::limits::kernel_uniformity::{MAX_DEPTH, TERMS};
use crate::Across;
use crate::Program;

/// Levels of all variables.
pub(super) struct Levels<'a> {
    body: &'a Body,
    program: &'a Program,
    launch: &'a KernelLaunch,
    stores: bool,
    variables: FxHashMap<SymbolId, Across>,
    /// How uniformly threads leave each loop by jumps.
    leaving: FxHashMap<TermId, Across>,
    unstructured: bool,
    /// The loops of a host's function that are spread over threads; `None`: the body is a kernel.
    spread: Option<Spread>,
    budget: Budget,
    /// Terms looked at that are not paid for.
    unpaid: Cell<u64>,
    /// Whether the steps were used up: then nothing is uniform.
    cut_short: Cell<bool>,
}

/// Loops that are to be spread over threads.
pub(super) struct Spread {
    /// Their indices, and across which threads each is the same.
    pub indices: FxHashMap<SymbolId, Across>,
    /// The terms of the innermost one's body: what stands outside of it is the host's, one value for all threads.
    pub inside: FxHashSet<TermId>,
}

pub(super) fn levels<'a>(
    body: &'a Body,
    program: &'a Program,
    seen: &Seen,
    launch: &'a KernelLaunch,
    spread: Option<Spread>,
) -> Levels<'a> {
    let mut l = Levels {
        body,
        program,
        launch,
        stores: seen.stores,
        variables: seen.exposed.iter().map(|&s| (s, Across::Nothing)).collect(),
        leaving: FxHashMap::default(),
        unstructured: seen.unstructured.is_some(),
        spread,
        budget: seen.budget.clone(),
        unpaid: Cell::new(0),
        cut_short: Cell::new(false),
    };
    // from the most uniform downwards until nothing changes: at most three steps for each variable and loop
    loop {
        let mut changed = false;
        for e in &seen.escapes {
            let level = l.control(&e.at);
            for inner in l.left_by(e) {
                let before = l.leaving.entry(inner).or_insert(Across::Grid);
                changed |= level > *before;
                *before = level.max(*before);
            }
        }
        for (&s, list) in &seen.definitions {
            for d in list {
                if !l.is_threads(s, &d.from) {
                    continue;
                }
                let values = d.from.iter().map(|&t| l.of(t)).max().unwrap_or(Across::Grid);
                let level = values.max(l.control(&d.at));
                let before = l.variables.entry(s).or_insert(Across::Grid);
                changed |= level > *before;
                *before = level.max(*before);
            }
        }
        if l.cut_short.get() {
            l.unstructured = true;
        }
        if !changed || l.cut_short.get() {
            return l;
        }
    }
}

impl Levels<'_> {
    /// So many terms were looked at.
    fn look(&self, terms: u64) {
        let unpaid = self.unpaid.get() + terms;
        self.unpaid.set(unpaid % TERMS);
        if unpaid >= TERMS && self.budget.spend(unpaid / TERMS).is_err() {
            self.cut_short.set(true);
        }
    }

    /// The loops whose iterations a jump makes uneven, or the `switch` whose cases.
    fn left_by(&self, e: &Escape) -> Vec<TermId> {
        match e.of {
            Some(l) => vec![l],
            None => e.at.loops.clone(),
        }
    }

    /// Whether a thread itself does what is told of a term.
    fn is_inside(&self, t: TermId) -> bool {
        self.spread.as_ref().is_none_or(|s| s.inside.contains(&t))
    }
    /// Whether a definition of a variable, out of these values, is a thread's: not the host's, and not the header's of a
    /// loop that is spread.
    fn is_threads(&self, s: SymbolId, from: &[TermId]) -> bool {
        self.spread.as_ref().is_none_or(|x| {
            !x.indices.contains_key(&s) && (from.is_empty() || from.iter().any(|t| x.inside.contains(t)))
        })
    }

    /// How uniformly a place is reached.
    fn control(&self, at: &Where) -> Across {
        let conditions = at.conditions.iter().filter(|&&c| self.is_inside(c)).map(|&c| self.of(c));
        let left = at.loops.iter().chain(&at.switches).filter(|&&l| self.is_inside(l));
        let loops = left.map(|l| self.leaving.get(l).copied().unwrap_or(Across::Grid));
        let level = conditions.chain(loops).max().unwrap_or(Across::Grid);
        if self.unstructured || self.cut_short.get() {
            Across::Nothing
        } else {
            level
        }
    }

    /// How uniformly a barrier is reached: threads that have returned count too.
    pub(super) fn barrier(&self, seen: &Seen, b: &Barrier) -> Across {
        let gone = seen.escapes.iter().filter(|e| {
            e.of.is_none() && (e.at.order < b.at.order || e.at.loops.iter().any(|l| b.at.loops.contains(l)))
        });
        gone.map(|e| self.control(&e.at)).max().unwrap_or(Across::Grid).max(self.control(&b.at))
    }

    /// Across which threads an expression has one value.
    pub(super) fn of(&self, t: TermId) -> Across {
        self.level(t, 0)
    }

    fn all(&self, list: &[TermId], depth: u32) -> Across {
        list.iter().map(|&t| self.level(t, depth + 1)).max().unwrap_or(Across::Grid)
    }

    fn level(&self, t: TermId, depth: u32) -> Across {
        self.look(1);
        if depth > MAX_DEPTH || self.cut_short.get() {
            return Across::Nothing;
        }
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::Int(_) | Op::Float(_) | Op::Str(_) | Op::SizeOfType(_) | Op::SizeOf, _) => Across::Grid,
            (Op::Sym(s), _) => self.symbol(*s),
            (Op::Member { field, .. }, &[base]) => match self.builtin(base, field) {
                Some(level) => level,
                None => self.load(t, depth),
            },
            (Op::Binary(op), &[a, b]) if self.is_warp_number(*op, a, b) => Across::Warp,
            (Op::Comma, &[_, value]) => self.level(value, depth + 1),
            (Op::Unary(_) | Op::Binary(_) | Op::Cast | Op::Select, _) => self.all(args, depth),
            // the value of an assignment is that of its parts
            (Op::Assign | Op::Compound(_), _) => self.all(args, depth),
            (Op::Index | Op::Deref, _) => self.load(t, depth),
            (Op::AddrOf, &[place]) => self.address(place, depth),
            (Op::InitList, _) => self.all(args, depth),
            (Op::Call, [_, rest @ ..]) => self.call(t, rest, depth),
            _ => Across::Nothing,
        }
    }

    /// Of a warp.
    pub(super) fn lanes(&self) -> u32 {
        self.launch.limits.lanes
    }

    pub(super) fn symbol(&self, s: SymbolId) -> Across {
        if let Some(&across) = self.spread.as_ref().and_then(|x| x.indices.get(&s)) {
            return across;
        }
        let symbol = &self.body.symbols[s];
        match symbol.storage {
            Storage::Constant(_) | Storage::Function => Across::Grid,
            Storage::Builtin => match symbol.device {
                Some(Word::Index(Index::BlockSize | Index::GridSize) | Word::Lanes) => Across::Grid,
                Some(Word::Index(Index::Block)) => Across::Block,
                _ => Across::Nothing,
            },
            // a parameter is the same for all threads until it is set
            Storage::Param(_) | Storage::Local if self.unstructured => Across::Nothing,
            Storage::Param(_) | Storage::Local => self.variables.get(&s).copied().unwrap_or(Across::Grid),
            // arrays stand for their addresses
            Storage::Shared if matches!(self.body.types.kind(symbol.ty), term::TypeKind::Array { .. }) => {
                Across::Block
            }
            Storage::Global { .. }
                if matches!(self.body.types.kind(symbol.ty), term::TypeKind::Array { .. }) =>
            {
                Across::Grid
            }
            Storage::Global { constant: true, .. } => Across::Grid,
            Storage::Global { .. } if self.body.types.quals(symbol.ty).is_const => Across::Grid,
            _ => Across::Nothing,
        }
    }

    fn builtin(&self, base: TermId, field: &str) -> Option<Across> {
        let s = self.body.as_symbol(base)?;
        let symbol = &self.body.symbols[s];
        if symbol.storage != Storage::Builtin {
            return None;
        }
        Some(match symbol.device {
            Some(Word::Index(Index::BlockSize | Index::GridSize)) => Across::Grid,
            Some(Word::Index(Index::Block)) => Across::Block,
            Some(Word::Index(Index::Thread)) => self.thread_index(field),
            _ => Across::Nothing,
        })
    }

    fn thread_index(&self, field: &str) -> Across {
        let Some([x, y, z]) = self.launch.block else { return Across::Nothing };
        let (extent, below) = match field {
            "x" => (x, 1),
            "y" => (y, x),
            _ => (z, x.saturating_mul(y)),
        };
        match (extent, below % self.lanes()) {
            (1, _) => Across::Grid,
            (_, 0) => Across::Warp,
            _ => Across::Nothing,
        }
    }

    /// The thread's index along x by the lanes of a warp (`/ 32` or `>> 5`), also of a variable that holds it, where rows of the block are whole warps.
    fn is_warp_number(&self, op: BinOp, a: TermId, b: TermId) -> bool {
        let Some([x, y, z]) = self.launch.block else { return false };
        let rows_are_warps = x % self.lanes() == 0 || y == 1 && z == 1;
        let lanes = self.lanes();
        let by_warp = match (op, self.body.as_int(b)) {
            (BinOp::Div, Some(n)) => n == lanes.into(),
            (BinOp::Shr, Some(n)) => n == lanes.trailing_zeros().into(),
            _ => false,
        };
        rows_are_warps && by_warp && self.is_thread_x(a, 0)
    }

    fn is_thread_x(&self, t: TermId, depth: u32) -> bool {
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Member { .. }, _) => body.index_part(t) == Some((Index::Thread, 0)),
            (Op::Sym(s), _) if depth < 8 && body.symbols[*s].is_own_scalar() => {
                // set once, where it is declared
                let sets = |t: &TermId| match (body.op(*t), body.args(*t).first()) {
                    (Op::Declare(d), Some(_)) => d == s,
                    (Op::Assign | Op::Compound(_) | Op::Step { .. }, Some(&p)) => {
                        body.as_symbol(p) == Some(*s)
                    }
                    _ => false,
                };
                self.look(body.len() as u64);
                let all: Vec<TermId> = body.walk(body.root).filter(sets).collect();
                match all.as_slice() {
                    [one] if matches!(body.op(*one), Op::Declare(_)) => {
                        body.args(*one).first().is_some_and(|&init| self.is_thread_x(init, depth + 1))
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// An address: that of its object and its subscripts.
    fn address(&self, t: TermId, depth: u32) -> Across {
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Index, &[base, index]) => {
                self.level(index, depth + 1).max(match body.types.kind(body.ty(base)) {
                    term::TypeKind::Array { .. } => self.address(base, depth + 1),
                    _ => self.level(base, depth + 1),
                })
            }
            (Op::Deref, &[p]) => self.level(p, depth + 1),
            _ => Across::Nothing,
        }
    }

    /// A value out of memory, or a part of a variable.
    fn load(&self, t: TermId, depth: u32) -> Across {
        let body = self.body;
        let (mut at, mut level) = (t, Across::Grid);
        let mut through = false;
        loop {
            match (body.op(at), body.args(at)) {
                (Op::Index, &[base, index]) => {
                    level = level.max(self.level(index, depth + 1));
                    through |= !matches!(body.types.kind(body.ty(base)), term::TypeKind::Array { .. });
                    at = base;
                }
                (Op::Member { arrow, .. }, &[base]) => {
                    through |= *arrow;
                    at = base;
                }
                (Op::Deref, &[base]) => {
                    through = true;
                    at = base;
                }
                _ => break,
            }
        }
        let Some(s) = body.as_symbol(at) else { return Across::Nothing };
        let symbol = &body.symbols[s];
        match symbol.storage {
            Storage::Local | Storage::Param(_) if !through => level.max(self.symbol(s)),
            // not a local pointer, which may point to shared memory, nor a parameter that was set to such a place
            Storage::Param(_) if !self.variables.contains_key(&s) => {
                // what nobody writes while the kernel runs is the same for all who read it
                let quals = body.types.quals(symbol.ty);
                let of = body.types.element(symbol.ty).map(|e| body.types.quals(e));
                // somebody else does: the host, another kernel
                let is_watched = of.is_none_or(|q| q.is_volatile) || body.types.quals(body.ty(t)).is_volatile;
                if !is_watched && (!self.stores || of.is_some_and(|q| q.is_const) && quals.is_restrict) {
                    level.max(self.symbol(s))
                } else {
                    Across::Nothing
                }
            }
            Storage::Global { constant: true, .. } if !through => level,
            Storage::Global { .. } if !through && (!self.stores || body.types.quals(symbol.ty).is_const) => {
                level
            }
            _ => Across::Nothing,
        }
    }

    fn call(&self, t: TermId, args: &[TermId], depth: u32) -> Across {
        let Some(name) = callee(self.body, t) else { return Across::Nothing };
        let whole_warp = || {
            let all = i128::from(u64::MAX >> (64 - self.lanes()));
            args.first().is_some_and(|&m| self.body.as_int(m) == Some(all))
        };
        match self.body.called_word(t) {
            Some(Word::Barrier(Scope::Block, Tally::Count | Tally::And | Tally::Or)) => return Across::Block,
            Some(Word::Vote(_) | Word::Reduce(_)) if whole_warp() => return Across::Warp,
            Some(Word::Shuffle(Shuffle::From)) if whole_warp() && args.len() == 3 => {
                let source = self.level(args[2], depth + 1);
                return if source <= Across::Warp { Across::Warp } else { Across::Nothing };
            }
            _ => {}
        }
        let function = self.program.function(name);
        self.look(function.map_or(1, |f| f.body.len() as u64));
        match function {
            Some(f) if is_pure(&f.body, self.program, 0) => self.all(args, depth),
            Some(_) => Across::Nothing,
            None if is_arithmetic(name) => self.all(args, depth),
            None => Across::Nothing,
        }
    }
}

/// Functions whose value is that of their arguments and nothing else.
fn is_arithmetic(name: &str) -> bool {
    term::intrinsic(name).is_some()
        || matches!(name, "min" | "max" | "dim3")
        || gpu::math::function(name).is_some()
        || gpu::toolkit::function(name).is_some_and(|f| f.changes.is_none())
}

/// Calls of library functions that store nothing to global memory.
pub(super) fn is_harmless(body: &Body, call: TermId) -> bool {
    let Some(name) = callee(body, call) else { return false };
    let of_device = body.called_word(call).is_some_and(|w| !matches!(w, Word::Atomic(..) | Word::OfLanes));
    of_device
        || is_arithmetic(name)
        || is_vector(name)
        || matches!(
            name,
            "__cg_reduce_sync" | "__cub_collective" | "clock" | "clock64" | "__nanosleep" | "__prof_trigger"
        )
}

/// Vectors made of their parts.
pub(super) fn is_vector(name: &str) -> bool {
    let name = name.strip_prefix("make_").unwrap_or(name);
    let base = name.trim_end_matches(['1', '2', '3', '4']);
    base.len() + 1 == name.len()
        && matches!(
            base,
            "char"
                | "uchar"
                | "short"
                | "ushort"
                | "int"
                | "uint"
                | "long"
                | "ulong"
                | "longlong"
                | "ulonglong"
                | "float"
                | "double"
        )
}

/// Whether a function computes a value from its scalar arguments alone.
pub(super) fn is_pure(body: &Body, program: &Program, depth: u32) -> bool {
    depth < 8
        && body.rejects().next().is_none()
        && body.walk(body.root).all(|t| match body.op(t) {
            Op::Index | Op::Deref | Op::AddrOf | Op::Launch | Op::Goto(_) => false,
            Op::Member { arrow, .. } => !arrow,
            Op::Sym(s) => match body.symbols[*s].storage {
                Storage::Param(_) | Storage::Local => !matches!(
                    body.types.kind(body.symbols[*s].ty),
                    term::TypeKind::Pointer { .. } | term::TypeKind::Array { .. }
                ),
                Storage::Function | Storage::Constant(_) => true,
                _ => false,
            },
            Op::Call => match callee(body, t) {
                Some(name) => match program.function(name) {
                    Some(f) => is_pure(&f.body, program, depth + 1),
                    None => is_arithmetic(name),
                },
                None => false,
            },
            _ => true,
        })
}
