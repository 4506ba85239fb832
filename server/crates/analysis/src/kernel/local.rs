//! Arrays of a thread that registers cannot hold: a subscript changes with a loop that is not unrolled, depends on what only a run
//! knows, or the array is larger than all registers.
//!
//! A register has no address: an array stays in registers only where every subscript is a constant once loops of constant trip
//! counts are unrolled (CUDA C++ Programming Guide, Local Memory). NVCC unrolls such loops where they are short, and turns a few
//! accesses outside of loops into selections among registers; 12.9 was watched to do so. What it keeps out of registers for
//! certain is told apart from what it likely does. Subscripts of which it is not clear that they are no constants are left alone: loops with
//! any constant bound, calls, parameters of functions that may be inlined.
//!
//! Deliberately absent: registers that spill, arrays whose address a function takes.

use std::cell::Cell;

use rustc_hash::FxHashSet;
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

use super::collect::{collect, AccessKind, Definition, DefinitionKind, KernelAccess, Seen};
use crate::limits::kernel_local::FUEL;
use crate::Program;

/// Words of four bytes that a thread has registers for.
const REGISTERS: u64 = 255;
/// Elements up to which accesses in a loop may still become selections, where they read only and where they write too.
const SELECTED_READS: u64 = 15;
const SELECTED_WRITES: u64 = 7;
/// Elements of which one is chosen as cheaply as from memory.
const FEW: u64 = 4;

/// An array of a thread that goes to local memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalArray {
    pub array: SymbolId,
    pub bytes: u64,
    /// The access that decides it: one in a loop, if there is any.
    pub access: TermId,
    /// Its subscript that is no constant. `None`: the array is too large.
    pub index: Option<TermId>,
    /// The loop around it that is not unrolled.
    pub around: Option<TermId>,
    /// Else the compiler may choose among registers instead.
    pub certain: bool,
    /// Places where it is read and written.
    pub accesses: Vec<TermId>,
}

/// The arrays of a function of the device that go to local memory.
pub fn local_arrays(body: &Body, program: &Program, is_kernel: bool) -> Vec<LocalArray> {
    if !matches!(body.op(body.root), Op::Function(_)) {
        return Vec::new();
    }
    of(body, &collect(body, program, &base::Budget::default()), is_kernel)
}

pub(super) fn of(body: &Body, seen: &Seen, is_kernel: bool) -> Vec<LocalArray> {
    if seen.unstructured.is_some() {
        return Vec::new();
    }
    let look = Look { body, seen, is_kernel, fuel: Cell::new(FUEL) };
    let mut arrays: Vec<(SymbolId, Vec<&KernelAccess>)> = Vec::new();
    for a in &seen.accesses {
        let Some(s) = root(body, a.place) else { continue };
        match arrays.iter_mut().find(|(x, _)| *x == s) {
            Some((_, list)) => list.push(a),
            None => arrays.push((s, vec![a])),
        }
    }
    arrays.into_iter().filter_map(|(s, list)| look.array(s, &list)).collect()
}

/// The local array, or structure with one, that a place lies in.
pub(super) fn root(body: &Body, place: TermId) -> Option<SymbolId> {
    let (mut at, mut indexed) = (place, false);
    loop {
        match (body.op(at), body.args(at)) {
            (Op::Index, &[base, _]) if matches!(body.types.kind(body.ty(base)), TypeKind::Array { .. }) => {
                (at, indexed) = (base, true);
            }
            (Op::Member { arrow: false, .. }, &[base]) => at = base,
            (Op::Sym(s), _) => {
                return (indexed && body.symbols[*s].storage == Storage::Local).then_some(*s);
            }
            _ => return None,
        }
    }
}

fn indices(body: &Body, place: TermId) -> Vec<TermId> {
    let (mut at, mut out) = (place, Vec::new());
    loop {
        match (body.op(at), body.args(at)) {
            (Op::Index, &[base, index]) => {
                out.push(index);
                at = base;
            }
            (Op::Member { .. }, &[base]) => at = base,
            _ => return out,
        }
    }
}

struct Look<'a> {
    body: &'a Body,
    seen: &'a Seen,
    is_kernel: bool,
    /// Questions left; without, nothing is found.
    fuel: Cell<u32>,
}

impl Look<'_> {
    fn array(&self, s: SymbolId, list: &[&KernelAccess]) -> Option<LocalArray> {
        let body = self.body;
        let symbol = &body.symbols[s];
        let (bytes, _) = body.types.size_align(symbol.ty)?;
        let (mut written, mut read) = (false, false);
        for a in list {
            written |= a.kind != AccessKind::Read;
            read |= a.kind != AccessKind::Write;
        }
        // what nobody writes is a table of constants; what nobody reads is not kept
        if !written || !read {
            return None;
        }
        let accesses: Vec<TermId> = list.iter().map(|a| a.term).collect();
        let words = bytes.div_ceil(4);
        let found = |a: &KernelAccess, index, around, certain| LocalArray {
            array: s,
            bytes,
            access: a.term,
            index,
            around,
            certain,
            accesses: accesses.clone(),
        };
        let mut moving: Option<(&KernelAccess, TermId, TermId, bool)> = None;
        for a in list {
            for i in indices(body, a.place) {
                let around = a.at.loops.iter().rev().find(|&&l| {
                    self.rolled(l, &mut FxHashSet::default())
                        && self.moves(i, l, false, &mut FxHashSet::default())
                });
                let Some(&l) = around else { continue };
                let most = if a.kind == AccessKind::Read { SELECTED_READS } else { SELECTED_WRITES };
                let certain = words > most;
                if moving.is_none_or(|m| certain && !m.3) {
                    moving = Some((a, i, l, certain));
                }
            }
        }
        if let Some((a, i, l, certain)) = moving.filter(|m| m.3 || words > FEW) {
            return Some(found(a, Some(i), Some(l), certain));
        }
        if words > REGISTERS {
            let constant = |t: &TermId| matches!(body.op(*t), Op::Int(_));
            let a = list.iter().find(|a| !indices(body, a.place).iter().all(constant))?;
            return Some(found(a, None, None, true));
        }
        let chosen = list.iter().find_map(|a| {
            let open = |&i: &TermId| self.open(i, &mut FxHashSet::default());
            indices(body, a.place).into_iter().find(open).map(|i| (a, i))
        });
        let (a, i) = chosen.filter(|_| words > FEW)?;
        Some(found(a, Some(i), None, false))
    }

    fn burn(&self) -> bool {
        self.fuel.set(self.fuel.get().saturating_sub(1));
        self.fuel.get() > 0
    }

    fn definitions(&self, s: SymbolId) -> &[Definition] {
        self.seen.definitions.get(&s).map_or(&[], Vec::as_slice)
    }

    /// Whether a variable is given a value made of its own.
    fn updates(&self, s: SymbolId, d: &Definition) -> bool {
        d.from.iter().any(|&f| self.body.walk(f).any(|x| self.body.as_symbol(x) == Some(s)))
    }

    fn in_loop(&self, d: &Definition, l: TermId) -> bool {
        d.at.loops.contains(&l) || d.kind == DefinitionKind::Stepped(l)
    }

    /// Whether a variable is set before the first round of a loop, if at all.
    fn before_rounds(&self, d: &Definition, l: TermId) -> bool {
        !self.in_loop(d, l) || d.kind == DefinitionKind::Declared(Some(l))
    }

    /// Whether a value is surely no constant for the compiler: it comes from memory, parameters of the kernel or a thread's indices.
    fn open(&self, t: TermId, seen: &mut FxHashSet<SymbolId>) -> bool {
        if !self.burn() {
            return false;
        }
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Sym(s), _) => {
                let symbol = &body.symbols[*s];
                match symbol.storage {
                    Storage::Shared => true,
                    Storage::Global { .. } => !body.types.quals(symbol.ty).is_const,
                    Storage::Param(_) if self.definitions(*s).is_empty() => self.is_kernel,
                    Storage::Param(_) | Storage::Local if !symbol.address_taken && seen.insert(*s) => {
                        let list = self.definitions(*s);
                        // set by updates of what was open, or to open values only
                        let fresh: Vec<&Definition> = list.iter().filter(|d| !self.updates(*s, d)).collect();
                        let all = !fresh.is_empty()
                            && fresh.iter().all(|d| d.from.iter().any(|&f| self.open(f, seen)));
                        seen.remove(s);
                        all
                    }
                    _ => false,
                }
            }
            (Op::Member { arrow: false, .. }, &[base]) => match body.as_symbol(base) {
                Some(s) => body.symbols[s].storage == Storage::Builtin,
                None => self.loaded(t),
            },
            (Op::Index | Op::Deref | Op::Member { .. }, _) => self.loaded(t),
            (Op::Cast | Op::Unary(_), &[a]) => self.open(a, seen),
            (Op::Binary(op), &[a, b]) if !op.is_logical() => self.open(a, seen) || self.open(b, seen),
            (Op::Select, &[_, a, b]) => self.open(a, seen) && self.open(b, seen),
            _ => false,
        }
    }

    /// Whether a place is in memory that others write.
    fn loaded(&self, t: TermId) -> bool {
        let body = self.body;
        let mut at = t;
        loop {
            match (body.op(at), body.args(at)) {
                (Op::Index | Op::Member { .. } | Op::Deref, &[base, ..]) => at = base,
                (Op::Binary(BinOp::Add | BinOp::Sub), &[a, b]) => {
                    at = if body.types.element(body.ty(a)).is_some() { a } else { b };
                }
                (Op::Cast, &[a]) => at = a,
                (Op::Sym(s), _) => {
                    let symbol = &body.symbols[*s];
                    let pointer = body.types.element(symbol.ty).is_some();
                    return match symbol.storage {
                        Storage::Shared => true,
                        Storage::Global { .. } => !body.types.quals(symbol.ty).is_const,
                        Storage::Param(_) => self.is_kernel && pointer,
                        _ => false,
                    };
                }
                _ => return false,
            }
        }
    }

    /// Whether a loop surely is not unrolled away: when it ends is known to a run alone.
    fn rolled(&self, l: TermId, open: &mut FxHashSet<SymbolId>) -> bool {
        let body = self.body;
        let args = body.args(l);
        let condition = match body.op(l) {
            Op::For | Op::DoWhile => args.get(1),
            Op::While => args.first(),
            _ => None,
        };
        let Some(&condition) = condition else { return false };
        match body.op(condition) {
            Op::Empty => self.left(l, open),
            Op::Int(n) if *n != 0 => self.left(l, open),
            _ => self.unbounded(condition, l, open),
        }
    }

    /// Whether every way out of a loop without a condition hangs on what a run decides.
    fn left(&self, l: TermId, open: &mut FxHashSet<SymbolId>) -> bool {
        let mut ways = self
            .seen
            .escapes
            .iter()
            .filter(|e| e.at.loops.contains(&l) && (e.of == Some(l) || e.of.is_none()))
            .peekable();
        ways.peek().is_some()
            && ways.all(|e| e.at.conditions.last().is_some_and(|&c| self.unbounded(c, l, open)))
    }

    /// Whether no constant bounds how often a condition holds in a loop.
    fn unbounded(&self, c: TermId, l: TermId, open: &mut FxHashSet<SymbolId>) -> bool {
        let body = self.body;
        match (body.op(c), body.args(c)) {
            (Op::Binary(BinOp::And), &[a, b]) => self.unbounded(a, l, open) && self.unbounded(b, l, open),
            (Op::Binary(BinOp::Or), &[a, b]) => self.unbounded(a, l, open) && self.unbounded(b, l, open),
            (Op::Binary(_), &[a, b]) => self.decided(a, l, open) || self.decided(b, l, open),
            (Op::Unary(_) | Op::Cast, &[a]) => self.unbounded(a, l, open),
            _ => self.decided(c, l, open),
        }
    }

    /// Whether a part of a loop's condition is decided by a run: a bound without a bound of its own, or a value that the loop changes
    /// as memory says.
    fn decided(&self, t: TermId, l: TermId, open: &mut FxHashSet<SymbolId>) -> bool {
        if !self.burn() {
            return false;
        }
        let body = self.body;
        match (body.op(t), body.args(t)) {
            // what a mask or remainder leaves is small
            (Op::Binary(BinOp::BitAnd | BinOp::Rem | BinOp::Shr), _) | (Op::Select | Op::Call, _) => false,
            (Op::Binary(_), &[a, b]) => self.decided(a, l, open) || self.decided(b, l, open),
            (Op::Unary(_) | Op::Cast, &[a]) => self.decided(a, l, open),
            (Op::Sym(s), _) if !self.definitions(*s).is_empty() => {
                let symbol = &body.symbols[*s];
                if symbol.address_taken || !open.insert(*s) {
                    return false;
                }
                let list = self.definitions(*s);
                let fresh = || FxHashSet::default();
                let by_memory = list.iter().filter(|d| self.in_loop(d, l)).any(|d| {
                    if self.updates(*s, d) {
                        // `if (…) top++`
                        let inner = |c: &&TermId| body.walk(l).any(|x| x == **c);
                        let own = d.at.conditions.iter().filter(inner);
                        own.filter(|&&c| !self.heads(l, c)).any(|&c| self.memory(c, &mut fresh()))
                    } else {
                        d.from.iter().any(|&f| self.memory(f, &mut fresh()))
                    }
                });
                let moved = list.iter().any(|d| self.in_loop(d, l));
                let set = list.iter().filter(|d| !self.updates(*s, d));
                let begins: Vec<&Definition> = set.collect();
                // a count down from what only a run knows
                let mut bounded = |f: &TermId| self.decided(*f, l, open);
                let by_start = !begins.is_empty()
                    && begins.iter().all(|d| d.from.iter().any(&mut bounded))
                    && (!moved || begins.iter().all(|d| self.before_rounds(d, l)));
                open.remove(s);
                by_memory || by_start
            }
            _ => self.open(t, &mut FxHashSet::default()),
        }
    }

    /// Whether a condition is the loop's own.
    fn heads(&self, l: TermId, c: TermId) -> bool {
        self.body.args(l).contains(&c)
    }

    /// Whether something loaded from memory is part of a value.
    fn memory(&self, t: TermId, open: &mut FxHashSet<SymbolId>) -> bool {
        if !self.burn() {
            return false;
        }
        let body = self.body;
        body.walk(t).any(|x| match body.op(x) {
            Op::Index | Op::Deref | Op::Member { .. } => self.loaded(x),
            Op::Sym(s) if open.insert(*s) => {
                self.definitions(*s).iter().any(|d| d.from.iter().any(|&f| self.memory(f, open)))
            }
            _ => false,
        })
    }

    /// Whether a value changes from one round of a loop that is not unrolled to the next, by no constant pattern. `strict`: not by counting.
    fn moves(&self, t: TermId, l: TermId, strict: bool, open: &mut FxHashSet<SymbolId>) -> bool {
        if !self.burn() {
            return false;
        }
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Sym(s), _) => {
                let symbol = &body.symbols[*s];
                let own =
                    matches!(symbol.storage, Storage::Local | Storage::Param(_)) && !symbol.address_taken;
                if !own || !open.insert(*s) {
                    return false;
                }
                let list = self.definitions(*s);
                let carried = || {
                    let (again, fresh): (Vec<_>, Vec<_>) = list.iter().partition(|d| self.updates(*s, d));
                    again.iter().any(|d| self.in_loop(d, l)) && fresh.iter().all(|d| self.before_rounds(d, l))
                };
                let out = !strict && carried()
                    || list.iter().any(|d| {
                        !self.updates(*s, d)
                            && d.at.loops.contains(&l)
                            && d.from.iter().any(|&f| self.moves(f, l, strict, open))
                    });
                open.remove(s);
                out
            }
            // partly unrolled, a loop leaves a constant here
            (Op::Binary(BinOp::Rem | BinOp::BitAnd), &[a, b]) => {
                self.moves(a, l, true, open) || self.moves(b, l, true, open)
            }
            // what is loaded from a place that moves, however it does
            (Op::Index | Op::Deref | Op::Member { .. }, args) => {
                self.loaded(t) && args.iter().any(|&a| self.moves(a, l, false, &mut FxHashSet::default()))
            }
            (Op::Call | Op::Select, _) => false,
            (_, args) => args.iter().any(|&a| self.moves(a, l, strict, open)),
        }
    }
}
