//! Witnesses: the conditions on the first way to a branch or barrier, evaluated for every thread of a block with small
//! values for what is not known.
//!
//! Only integers that are made of indices, parameters, constants and variables set once are evaluated, with C's
//! conversions; anything else ends the attempt. A loop is looked at in its first iteration.

use std::sync::Arc;

use term::device::{Index, Word};
use term::{Arithmetic, BinOp, Body, IntKind, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::collect::{Barrier, Branch, DefinitionKind, Seen, Where};
use super::{callee, KernelLaunch, KernelObstacle, Split};
use crate::Program;

const MAX_DEPTH: u32 = 100;
/// Values tried for parameters nobody gives.
const TRIED: [i128; 6] = [1, 40, 3, 64, 32, 0];
/// Parameters that are varied together at most.
const VARIED: usize = 2;
/// Conditions evaluated for one thread that are one step of the budget.
const PER_STEP: u64 = 16;
/// Threads of a launch looked at at most.
const MAX_THREADS: u64 = 1 << 16;

pub(super) struct Machine<'a> {
    pub(super) body: &'a Body,
    pub(super) seen: &'a Seen,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) values: Vec<(Arc<str>, i128)>,
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
                found.push((m.number(t) / 32, t, m.eval(condition, at, 0)? != 0));
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
        let m = Machine { body, seen, grid, block, values };
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
    let mut seen: Vec<Arc<str>> = Vec::new();
    let mut open: Vec<&Body> = vec![body];
    let mut out = [false; 3];
    while let Some(b) = open.pop() {
        for (named, axis) in out.iter_mut().zip(["x", "y", "z"]) {
            *named |= uses_axis(b, axis);
        }
        for f in crate::program::called(b) {
            let name = &b.symbols[f].name;
            if let (Some(f), false) = (program.function(name), seen.contains(name)) {
                seen.push(name.clone());
                open.push(&f.body);
            }
        }
    }
    out
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
    /// For a launch that is known and not too large to look at thread by thread.
    pub(super) fn whole(body: &'a Body, seen: &'a Seen, launch: &KernelLaunch) -> Option<Machine<'a>> {
        let (grid, block) = (launch.grid?, launch.block?);
        let count = |e: [u32; 3]| e.iter().fold(1u64, |p, &x| p.saturating_mul(x as u64));
        let few = count(grid).saturating_mul(count(block)) <= MAX_THREADS;
        few.then(|| Machine { body, seen, grid, block, values: launch.values.clone() })
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

    pub(super) fn eval(&self, t: TermId, i: Indices, depth: u32) -> Option<i128> {
        if depth > MAX_DEPTH {
            return None;
        }
        let body = self.body;
        let args = body.args(t);
        let sub = |t: TermId| self.eval(t, i, depth + 1);
        match (body.op(t), args) {
            (Op::Int(v), _) => Some(*v),
            (Op::Sym(s), _) => self.variable(*s, i, depth),
            (Op::Member { field, .. }, &[base]) => {
                let symbol = &body.symbols[body.as_symbol(base)?];
                if symbol.storage != Storage::Builtin {
                    return None;
                }
                let axis = term::device::axis(field)?;
                let Some(Word::Index(index)) = symbol.device else { return None };
                let list = match index {
                    Index::Thread => i.thread,
                    Index::Block => i.block,
                    Index::BlockSize => self.block,
                    Index::GridSize => self.grid,
                };
                Some(list[axis] as i128)
            }
            (Op::Cast, &[a]) => {
                self.kind(a)?;
                let v = sub(a)?;
                Some(in_type(self.kind(t)?, v))
            }
            (Op::Unary(op), &[a]) => {
                let kind = self.kind(a)?;
                let v = sub(a)?;
                match op {
                    UnOp::Not => Some((v == 0) as i128),
                    UnOp::Plus => Some(v),
                    UnOp::Neg | UnOp::BitNot => body.arithmetic(t).unary(*op, kind.promoted(), v).ok(),
                }
            }
            (Op::Binary(BinOp::And), &[a, b]) => Some((sub(a)? != 0 && sub(b)? != 0) as i128),
            (Op::Binary(BinOp::Or), &[a, b]) => Some((sub(a)? != 0 || sub(b)? != 0) as i128),
            (Op::Binary(op), &[a, b]) => {
                let (ka, kb) = (self.kind(a)?, self.kind(b)?);
                binary(body.arithmetic(t), *op, (ka, sub(a)?), (kb, sub(b)?))
            }
            (Op::Select, &[c, a, b]) => {
                let (ka, kb) = (self.kind(a)?, self.kind(b)?);
                let v = if sub(c)? != 0 { sub(a)? } else { sub(b)? };
                Some(ka.promoted().common(kb.promoted()).wrap(v))
            }
            (Op::Call, &[_, a, b]) => {
                // not a function of the program by that name
                let library = body.as_symbol(args[0]).is_some_and(|s| body.library.contains(&s));
                let name = callee(body, t).filter(|_| library)?;
                let kind = self.kind(a)?.promoted().common(self.kind(b)?.promoted());
                let (x, y) = (kind.wrap(sub(a)?), kind.wrap(sub(b)?));
                match name {
                    "min" => Some(x.min(y)),
                    "max" => Some(x.max(y)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A variable that is set once, or the index of a loop in its first iteration.
    fn variable(&self, s: SymbolId, i: Indices, depth: u32) -> Option<i128> {
        let symbol = &self.body.symbols[s];
        let kind = match self.body.types.kind(symbol.ty) {
            TypeKind::Int(k) => *k,
            _ => return None,
        };
        match symbol.storage {
            Storage::Constant(v) => return Some(v),
            Storage::Builtin if symbol.device == Some(Word::Lanes) => {
                return Some(super::LIMITS.lanes.into())
            }
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
                let v = self.eval(init, i, depth + 1)?;
                Some(in_type(kind, v))
            }
            _ => None,
        }
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
