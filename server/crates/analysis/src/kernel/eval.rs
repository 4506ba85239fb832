//! Witnesses: the conditions on the first way to a branch or barrier, evaluated for every thread of a block with small
//! values for what is not known.
//!
//! Only integers that are made of indices, parameters, constants and variables set once are evaluated, with C's
//! conversions; anything else ends the attempt. A loop is looked at in its first iteration.

use std::sync::Arc;

use term::device::{AtomicOp, Index, Scope, Word};
use term::{Arithmetic, BinOp, Body, IntKind, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::collect::{Barrier, Branch, DefinitionKind, Seen, Where};
use super::interpret::{walk, Arguments, Called, Values};
use super::{KernelLaunch, KernelObstacle, Split};
use crate::calls::function::Function;
use crate::limits::kernel_eval::{MAX_DEPTH, MAX_THREADS, PER_STEP, VARIED};
use crate::Program;

/// Values tried for parameters nobody gives.
const TRIED: [i128; 6] = [1, 40, 3, 64, 32, 0];

pub(super) struct Machine<'a> {
    pub(super) body: &'a Body,
    pub(super) seen: &'a Seen,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) values: Vec<(Arc<str>, i128)>,
    /// Of a warp.
    pub(super) lanes: u32,
}

/// A thread, by the indices it finds.
#[derive(Clone, Copy)]
pub(super) struct Indices {
    pub block: [u32; 3],
    pub thread: [u32; 3],
}

/// Two threads of one warp that decide the branch differently.
pub(super) fn branch(
    body: &Body,
    seen: &Seen,
    b: &Branch,
    launch: &KernelLaunch,
) -> Result<Split, KernelObstacle> {
    let truth = if b.truth { Some(b.condition) } else { None };
    let condition = truth.ok_or(KernelObstacle::Value(b.condition))?;
    search(body, seen, &b.at, Some(condition), launch, |m, block| {
        let mut found: Vec<(u32, [u32; 3], bool)> = Vec::new();
        for t in m.threads() {
            let at = Indices { block, thread: t };
            if m.reaches(&b.at, at)? {
                found.push((m.number(t) / m.lanes, t, m.eval(condition, at, 0)? != 0));
            }
        }
        let split = found.iter().filter(|x| x.2).find_map(|x| {
            let other = found.iter().find(|y| y.0 == x.0 && !y.2)?;
            Some((x.1, other.1))
        });
        Some(split)
    })
}

/// Two threads of one block of which one reaches the barrier and one does not.
pub(super) fn barrier(
    body: &Body,
    seen: &Seen,
    b: &Barrier,
    launch: &KernelLaunch,
) -> Result<Split, KernelObstacle> {
    search(body, seen, &b.at, None, launch, |m, block| {
        let (mut yes, mut no) = (None, None);
        for t in m.threads() {
            match m.reaches(&b.at, Indices { block, thread: t })? {
                true => yes = yes.or(Some(t)),
                false => no = no.or(Some(t)),
            }
        }
        Some(yes.zip(no))
    })
}

/// Tries launches and values until `look` finds two threads. `None` from it: something is not evaluated.
fn search(
    body: &Body,
    seen: &Seen,
    at: &Where,
    condition: Option<TermId>,
    launch: &KernelLaunch,
    look: impl Fn(&Machine<'_>, [u32; 3]) -> Option<Option<([u32; 3], [u32; 3])>>,
) -> Result<Split, KernelObstacle> {
    if let Some(t) = seen.unstructured {
        return Err(KernelObstacle::Structure(t));
    }
    let blame = at.guards.last().map(|g| g.0).or(condition).unwrap_or(body.root);
    if at.murky {
        return Err(KernelObstacle::Value(condition.unwrap_or(blame)));
    }
    let flat = !uses_axis(body, "y") && !uses_axis(body, "z");
    let tried = match launch.most_threads {
        Some(n) if n < 64 => [n.max(1), 1, 1],
        _ if flat => [64, 1, 1],
        _ => [8, 8, 1],
    };
    let block = launch.block.unwrap_or(tried);
    let grid = launch.grid.unwrap_or([2, if flat { 1 } else { 2 }, 1]);
    let open: Vec<Arc<str>> =
        parameters(body).filter(|n| !launch.values.iter().any(|(m, _)| m == n)).collect();
    let varied = open.len().min(VARIED);
    let mut evaluated = false;
    let threads = block.iter().fold(1u64, |p, &x| p.saturating_mul(x.into()));
    let cost = 1 + threads * (1 + at.conditions.len() as u64) / PER_STEP;
    for round in 0..TRIED.len().pow(varied as u32) {
        let mut values = launch.values.clone();
        let mut code = round;
        for (k, name) in open.iter().enumerate() {
            let value = if k < varied { TRIED[code % TRIED.len()] } else { TRIED[1] };
            code /= if k < varied { TRIED.len() } else { 1 };
            values.push((name.clone(), value));
        }
        let m = Machine { body, seen, grid, block, values, lanes: launch.limits.lanes };
        let last = [grid[0] - 1, grid[1] - 1, grid[2] - 1];
        for index in [[0, 0, 0], last] {
            if seen.budget.spend(cost).is_err() {
                return Err(KernelObstacle::Budget);
            }
            match look(&m, index) {
                None => {}
                Some(None) => evaluated = true,
                Some(Some((yes, no))) => {
                    let values = m.values;
                    return Ok(Split { grid, block, values, block_index: index, yes, no });
                }
            }
        }
    }
    Err(if evaluated { KernelObstacle::NotFound } else { KernelObstacle::Value(condition.unwrap_or(blame)) })
}

pub(super) fn uses_axis(body: &Body, axis: &str) -> bool {
    body.walk(body.root).any(|t| match (body.op(t), body.args(t)) {
        (Op::Member { field, .. }, &[base]) => {
            **field == *axis
                && body.as_symbol(base).is_some_and(|s| body.symbols[s].storage == Storage::Builtin)
        }
        _ => false,
    })
}

/// Axes that a kernel or a function that it calls names.
pub(super) fn axes(body: &Body, program: &Program) -> [bool; 3] {
    axes_by(body, program, uses_axis)
}

/// Those of which it names threads (or extents of blocks), and those of which it names blocks (or the grid's extents).
pub(super) fn axes_apart(body: &Body, program: &Program) -> [[bool; 3]; 2] {
    let of = |threads: bool| {
        axes_by(body, program, |b, axis| {
            b.walk(b.root).any(|t| match (b.op(t), b.args(t)) {
                (Op::Member { field, .. }, &[base]) if **field == *axis => {
                    let word = b.as_symbol(base).and_then(|s| b.symbols[s].device);
                    match word {
                        Some(Word::Index(Index::Thread | Index::BlockSize)) => threads,
                        Some(Word::Index(Index::Block | Index::GridSize)) => !threads,
                        _ => false,
                    }
                }
                _ => false,
            })
        })
    };
    [of(true), of(false)]
}

/// Whether it names blocks, or the grid's extents.
pub(super) fn names_blocks(body: &Body, program: &Program) -> bool {
    let names = |b: &Body, _: &str| {
        let is_grid = |w: Option<Word>| matches!(w, Some(Word::Index(Index::Block | Index::GridSize)));
        b.walk(b.root).any(|t| matches!(b.op(t), Op::Sym(s) if is_grid(b.symbols[*s].device)))
    };
    axes_by(body, program, names) != [false; 3]
}

fn axes_by(body: &Body, program: &Program, uses: impl Fn(&Body, &str) -> bool) -> [bool; 3] {
    let mut seen: Vec<Arc<str>> = Vec::new();
    let mut open: Vec<&Body> = vec![body];
    let mut out = [false; 3];
    while let Some(b) = open.pop() {
        for (named, axis) in out.iter_mut().zip(["x", "y", "z"]) {
            *named |= uses(b, axis);
        }
        for f in crate::calls::function::called(b) {
            let name = &b.symbols[f].name;
            if let (Some(f), false) = (program.function(name), seen.contains(name)) {
                seen.push(name.clone());
                open.push(&f.body);
            }
        }
    }
    out
}

/// All parameters.
pub(super) fn parameter_names(body: &Body) -> impl Iterator<Item = Arc<str>> + '_ {
    let list = body.args(body.root).first().copied();
    list.into_iter().flat_map(|l| body.args(l)).filter_map(|&p| match body.op(p) {
        Op::Declare(s) => Some(body.symbols[*s].name.clone()),
        _ => None,
    })
}

/// Integer parameters.
pub(super) fn parameters(body: &Body) -> impl Iterator<Item = Arc<str>> + '_ {
    let list = body.args(body.root).first().copied();
    list.into_iter().flat_map(|l| body.args(l)).filter_map(|&p| match body.op(p) {
        Op::Declare(s) => {
            let symbol = &body.symbols[*s];
            body.types.as_int(symbol.ty).map(|_| symbol.name.clone())
        }
        _ => None,
    })
}

impl<'a> Machine<'a> {
    /// For a launch that is known, however large.
    pub(super) fn of(body: &'a Body, seen: &'a Seen, launch: &KernelLaunch) -> Option<Machine<'a>> {
        Some(Machine {
            body,
            seen,
            grid: launch.grid?,
            block: launch.block?,
            values: launch.values.clone(),
            lanes: launch.limits.lanes,
        })
    }

    /// Whether all threads can be looked at.
    pub(super) fn is_small(&self) -> bool {
        let count = |e: [u32; 3]| e.iter().fold(1u64, |p, &x| p.saturating_mul(x as u64));
        count(self.grid).saturating_mul(count(self.block)) <= MAX_THREADS
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = [u32; 3]> {
        let [x, y, z] = self.grid;
        (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
    }
    pub(super) fn threads(&self) -> impl Iterator<Item = [u32; 3]> {
        let [x, y, z] = self.block;
        (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
    }
    pub(super) fn number(&self, t: [u32; 3]) -> u32 {
        t[0] + self.block[0] * (t[1] + self.block[1] * t[2])
    }

    /// Whether a thread gets to a place on the first way; a guard that fails hides those behind it.
    pub(super) fn reaches(&self, at: &Where, i: Indices) -> Option<bool> {
        for &(c, holds) in &at.guards {
            if (self.eval(c, i, 0)? != 0) != holds {
                return Some(false);
            }
        }
        Some(true)
    }

    fn kind(&self, t: TermId) -> Option<IntKind> {
        self.body.types.as_int(self.body.ty(t))
    }

    /// The value of an expression for a thread, where it is known.
    pub(super) fn eval(&self, t: TermId, i: Indices, depth: u32) -> Option<i128> {
        walk::eval(&mut Point { machine: self, at: i, depth }, t, ()).ok()
    }

    /// A variable that is set once, or the index of a loop in its first iteration.
    fn variable(&self, s: SymbolId, i: Indices, depth: u32) -> Option<i128> {
        let symbol = &self.body.symbols[s];
        let kind = match self.body.types.kind(symbol.ty) {
            TypeKind::Int(k) => *k,
            _ => return None,
        };
        match symbol.storage {
            Storage::Param(_) | Storage::Local if !self.seen.exposed.contains(&s) => {}
            _ => return None,
        }
        let list = self.seen.definitions.get(&s).map_or(&[][..], Vec::as_slice);
        match (symbol.storage, list) {
            (Storage::Param(_), []) => {
                let (_, v) = self.values.iter().find(|(n, _)| *n == symbol.name)?;
                (!kind.signed() || kind.wrap(*v) == *v).then(|| kind.wrap(*v))
            }
            (Storage::Local, [first, rest @ ..]) => {
                let DefinitionKind::Declared(of) = first.kind else { return None };
                let stepped =
                    |k: &DefinitionKind| matches!((k, of), (DefinitionKind::Stepped(l), Some(m)) if *l == m);
                if !rest.iter().all(|d| stepped(&d.kind)) {
                    return None;
                }
                let &[init] = first.from.as_slice() else { return None };
                self.kind(init)?;
                let v = self.eval(init, i, depth)?;
                Some(in_type(kind, v))
            }
            _ => None,
        }
    }
}

/// One thread's view of expressions: numbers that are known, and nothing that is set on the way. Asking further ends the walk.
struct Point<'m, 'a> {
    machine: &'m Machine<'a>,
    at: Indices,
    depth: u32,
}

/// Something is not known.
struct NotKnown;

type Known<T> = Result<T, NotKnown>;

impl Point<'_, '_> {
    fn kind(&self, t: TermId) -> Known<IntKind> {
        self.machine.kind(t).ok_or(NotKnown)
    }
}

impl<'a> Values<'a> for Point<'_, 'a> {
    type Val = i128;
    /// A variable of the thread.
    type Place = SymbolId;
    type Way = ();
    type Stop = NotKnown;

    fn body(&self) -> &'a Body {
        self.machine.body
    }
    /// Functions are not followed: those that are known by name are the library's.
    fn lanes(&self) -> u32 {
        self.machine.lanes
    }
    fn function(&self, _: &str) -> Option<&'a Function> {
        None
    }

    fn begin(&mut self, t: TermId, (): ()) -> Known<bool> {
        // what has no value here is not asked for one
        let body = self.machine.body;
        let valued =
            matches!(body.op(t), Op::Int(_) | Op::Sym(_) | Op::Member { .. } | Op::Cast | Op::Unary(_))
                || matches!(body.op(t), Op::Binary(_) | Op::Select | Op::Call);
        if !valued || self.depth > MAX_DEPTH {
            return Err(NotKnown);
        }
        self.depth += 1;
        Ok(true)
    }
    fn end(&mut self) {
        self.depth -= 1;
    }

    fn unknown(&mut self, _: TermId) -> Known<i128> {
        Err(NotKnown)
    }
    fn number(&mut self, v: i128) -> i128 {
        v
    }
    fn real(&mut self, _: TermId, _: f64) -> Known<i128> {
        Err(NotKnown)
    }
    fn text(&mut self, _: TermId) -> Known<i128> {
        Err(NotKnown)
    }
    fn index(&mut self, index: Index, axis: usize) -> i128 {
        let list = match index {
            Index::Thread => self.at.thread,
            Index::Block => self.at.block,
            Index::BlockSize => self.machine.block,
            Index::GridSize => self.machine.grid,
        };
        list[axis].into()
    }

    fn cast(&mut self, t: TermId, (a, v): (TermId, i128), (): ()) -> Known<i128> {
        self.kind(a)?;
        Ok(in_type(self.kind(t)?, v))
    }
    fn unary(&mut self, t: TermId, op: UnOp, (a, v): (TermId, i128), (): ()) -> Known<i128> {
        let kind = self.kind(a)?;
        let v = match op {
            UnOp::Not => Some((v == 0) as i128),
            UnOp::Plus => Some(v),
            UnOp::Neg | UnOp::BitNot => self.machine.body.arithmetic(t).unary(op, kind.promoted(), v).ok(),
        };
        v.ok_or(NotKnown)
    }
    fn binary(
        &mut self,
        t: TermId,
        op: BinOp,
        (a, x): (TermId, i128),
        (b, y): (TermId, i128),
        (): (),
    ) -> Known<i128> {
        let arithmetic = self.machine.body.arithmetic(t);
        binary(arithmetic, op, (self.kind(a)?, x), (self.kind(b)?, y)).ok_or(NotKnown)
    }
    fn stepped(&mut self, _: TermId, _: (TermId, &i128), _: i8, (): ()) -> Known<i128> {
        Err(NotKnown)
    }
    fn logical(&mut self, _: TermId, and: bool, [a, b]: [TermId; 2], (): ()) -> Known<i128> {
        let first = walk::eval(self, a, ())? != 0;
        if first != and {
            return Ok(first.into());
        }
        Ok((walk::eval(self, b, ())? != 0).into())
    }
    fn select(&mut self, _: TermId, [c, a, b]: [TermId; 3], (): ()) -> Known<i128> {
        let kind = self.kind(a)?.promoted().common(self.kind(b)?.promoted());
        let taken = if walk::eval(self, c, ())? != 0 { a } else { b };
        Ok(kind.wrap(walk::eval(self, taken, ())?))
    }
    fn call(&mut self, t: TermId, called: Called<'a>, arguments: Arguments<'_, i128>, (): ()) -> Known<i128> {
        let body = self.machine.body;
        // not a function of the program by that name
        let callee = body.args(t).first().and_then(|&f| body.as_symbol(f));
        let library = callee.is_some_and(|s| body.library.contains(&s));
        let (&[a, b], &[x, y], true) = (arguments.terms, &arguments.values[..], library) else {
            return Err(NotKnown);
        };
        let kind = self.kind(a)?.promoted().common(self.kind(b)?.promoted());
        let (x, y) = (kind.wrap(x), kind.wrap(y));
        match called {
            Called::Min => Ok(x.min(y)),
            Called::Max => Ok(x.max(y)),
            _ => Err(NotKnown),
        }
    }
    fn atomic(&mut self, _: TermId, _: (Option<AtomicOp>, Scope), _: &[TermId], (): ()) -> Known<i128> {
        Err(NotKnown)
    }
    fn other(&mut self, _: TermId, (): ()) -> Known<i128> {
        Err(NotKnown)
    }

    fn variable(&mut self, _: TermId, s: SymbolId) -> Known<SymbolId> {
        Ok(s)
    }
    fn element(&mut self, _: TermId, _: (TermId, SymbolId), _: (TermId, i128), (): ()) -> Known<SymbolId> {
        Err(NotKnown)
    }
    fn field(&mut self, _: TermId, _: SymbolId, _: Option<u64>, (): ()) -> Known<SymbolId> {
        Err(NotKnown)
    }
    fn pointed(&mut self, _: (TermId, i128)) -> Known<SymbolId> {
        Err(NotKnown)
    }
    fn no_place(&mut self, _: TermId, (): ()) -> Known<SymbolId> {
        Err(NotKnown)
    }
    fn address(&mut self, _: TermId, _: SymbolId) -> Known<i128> {
        Err(NotKnown)
    }
    fn load(&mut self, _: TermId, &s: &SymbolId, (): ()) -> Known<i128> {
        self.machine.variable(s, self.at, self.depth).ok_or(NotKnown)
    }
    fn write(&mut self, _: TermId, _: SymbolId, _: (TermId, i128), (): ()) -> Known<i128> {
        Err(NotKnown)
    }
}

/// A value converted to a type.
pub(super) fn in_type(kind: IntKind, v: i128) -> i128 {
    match kind {
        IntKind::Bool => (v != 0) as i128,
        k => k.wrap(v),
    }
}

/// An operation on operands of two types; `None` where it has no value.
pub(super) fn binary(
    arithmetic: Arithmetic,
    op: BinOp,
    (ka, a): (IntKind, i128),
    (kb, b): (IntKind, i128),
) -> Option<i128> {
    let shift = matches!(op, BinOp::Shl | BinOp::Shr);
    let kind = if shift { ka.promoted() } else { ka.promoted().common(kb.promoted()) };
    let (a, b) = (kind.wrap(a), if shift { b } else { kind.wrap(b) });
    arithmetic.binary(op, kind, a, b).ok()
}
