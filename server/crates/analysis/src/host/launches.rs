//! What a launch asks for: sizes of blocks and grids, shared memory, and whether anybody looks at its outcome.

use std::sync::Arc;

use base::IndexId;
use term::device::Index;
use term::{BinOp, Body, Len, Op, Storage, SymbolId, TermId, TypeKind};

use super::{name, HostFault, Reader};
use crate::{launch_extent_terms, launch_extents, launch_only_value, launch_value};

impl<'a> Reader<'a> {
    pub(super) fn launch(&mut self, t: TermId) {
        let body = self.body;
        let &[_, grid, block, shared, _, ref args @ ..] = body.args(t) else { return };
        let Some(kernel) = body.callee_name(t) else { return };
        if let Some(d) = launch_extents(body, block) {
            let threads: u64 = d.iter().map(|&x| x as u64).product();
            let bound = (self.context.bounds)(kernel).filter(|&b| threads > b as u64);
            let limits = &self.context.limits;
            if !threads.is_multiple_of(limits.lanes.into()) || !limits.fits_block(d) {
                self.found.push((t, HostFault::BlockSize(threads)));
            } else if let Some(bound) = bound {
                self.found.push((t, HostFault::OverBounds(threads, bound)));
            }
        }
        let Some(k) = self.context.program.body(kernel).cloned() else { return };
        if let Some(fault) = self.shared_bytes(&k, block, shared) {
            self.found.push((t, fault));
        }
        self.extents(t, &k, grid, block, args);
    }

    /// `n / b` blocks of `b` threads for `n` elements, rounded down with a guard or up without one.
    fn extents(&mut self, t: TermId, k: &Body, grid: TermId, block: TermId, args: &[TermId]) {
        let body = self.body;
        let (Some(grids), Some(blocks)) = (launch_extent_terms(body, grid), launch_extent_terms(body, block))
        else {
            return;
        };
        let sizes = launch_extents(body, block);
        // a kernel that goes on by the size of the grid covers everything
        if k.uses_index(k.root, Index::GridSize) {
            return;
        }
        let guarded = k.walk(k.root).any(|t| matches!(k.op(t), Op::If));
        for (axis, &g) in grids.iter().enumerate() {
            let g = body.as_symbol(g).and_then(|s| launch_only_value(body, s)).unwrap_or(g);
            let (Op::Binary(BinOp::Div), &[num, by]) = (body.op(g), body.args(g)) else { continue };
            let threads = blocks.get(axis).copied();
            let same_block = threads.is_some_and(|b| body.same(by, b))
                || launch_value(body, by)
                    .zip(sizes)
                    .is_some_and(|(v, d)| d.get(axis).is_some_and(|&d| v == d as i64));
            if !same_block {
                continue;
            }
            let exact = |n: TermId| {
                let both = launch_value(body, n).zip(launch_value(body, by));
                both.is_some_and(|(n, b)| b > 0 && n % b == 0)
            };
            let given = |s: SymbolId| args.iter().any(|&a| body.as_symbol(a) == Some(s));
            match (body.as_symbol(num), self.rounded_up(num, by)) {
                (Some(s), _) if guarded && !exact(num) && given(s) => {
                    self.found.push((t, HostFault::ShortGrid(num, by)));
                    return;
                }
                (None, Some(n)) if !exact(n) && asks_nothing(k, self.context.program) => {
                    self.found.push((t, HostFault::Overrun(n)));
                    return;
                }
                _ => {}
            }
        }
    }

    /// The `n` of `n + b - 1`, however it is written.
    fn rounded_up(&self, num: TermId, by: TermId) -> Option<TermId> {
        let body = self.body;
        let mut parts = Vec::new();
        summands(body, num, 1, &mut parts);
        let at = parts
            .iter()
            .position(|&(t, sign)| sign == 1 && launch_number(body, t).is_none() && !body.same(t, by))?;
        let (n, _) = parts.remove(at);
        let (mut constant, mut blocks) = (0, 0);
        for (t, sign) in parts {
            if body.same(t, by) && launch_number(body, t).is_none() {
                blocks += sign;
            } else {
                constant += sign * launch_value(body, t)?;
            }
        }
        let whole = match launch_value(body, by) {
            Some(b) => blocks * b + constant == b - 1,
            None => blocks == 1 && constant == -1,
        };
        whole.then_some(n)
    }

    /// The kernel's array in dynamic shared memory, if the launch gives nothing for it, or its elements instead of bytes.
    fn shared_bytes(&self, k: &Body, block: TermId, shared: TermId) -> Option<HostFault> {
        let body = self.body;
        let dynamic = |(_, s): &(SymbolId, &term::Symbol)| {
            let open = matches!(k.types.kind(s.ty), TypeKind::Array { len: Len::Unknown, .. });
            s.storage == Storage::Shared && open
        };
        let (s, symbol) = k.symbols.iter_ids().find(dynamic)?;
        if !k.walk(k.root).any(|t| k.as_symbol(t) == Some(s) && !matches!(k.op(t), Op::Declare(_))) {
            return None;
        }
        let name: Arc<str> = symbol.name.clone();
        if matches!(body.op(shared), Op::Empty) || launch_value(body, shared) == Some(0) {
            return Some(HostFault::ShortShared(name, None));
        }
        let (size, _) = k.types.size_align(k.types.element(symbol.ty)?)?;
        // as many bytes as the block has threads: then the elements of the threads were meant
        let by_thread = k.uses_index(k.root, Index::Thread);
        let block = launch_extent_terms(body, block).filter(|b| b.len() == 1)?[0];
        let same = body.same(shared, block) && launch_value(body, block).is_none()
            || launch_value(body, shared).is_some_and(|v| Some(v) == launch_value(body, block));
        (size > 1 && by_thread && same).then_some(HostFault::ShortShared(name, Some((shared, size))))
    }

    pub(super) fn unchecked(&mut self) {
        let body = self.body;
        let launches = self.order.iter().copied().filter(|t| matches!(body.op(*t), Op::Launch));
        let launches: Vec<TermId> = launches.collect();
        // a macro that is not seen may have taken the launch itself
        let is_taken = |t: &TermId| {
            self.parent(*t).is_some_and(|up| match body.op(up) {
                Op::Call => true,
                // a call of the runtime's that launches
                Op::Comma => is_used(body, &self.parents, up),
                _ => false,
            })
        };
        if !launches.iter().any(is_taken) && !asks(body, &self.parents, self.context.program, 0) {
            self.found.extend(launches.into_iter().map(|t| (t, HostFault::Unchecked)));
        }
    }
}

/// Whether a function asks what came of launches, itself or by functions of the program that it calls.
pub fn asks_of_launches(body: &Body, program: &crate::Program) -> bool {
    asks(body, &body.parents(), program, 0)
}

/// Functions of the program's own that are looked into, one called by the other.
const DEEP: u32 = 4;

/// Whether a function asks what came of launches, itself or by functions of the program that it calls: by the error that is kept, or
/// by what waiting for the device gives.
fn asks(body: &Body, parents: &[Option<TermId>], program: &crate::Program, deep: u32) -> bool {
    let looks = |t: TermId| match name(body, t) {
        Some("cudaGetLastError" | "cudaPeekAtLastError") => true,
        Some("cudaDeviceSynchronize" | "cudaThreadSynchronize" | "cudaStreamSynchronize") => {
            is_used(body, parents, t)
        }
        // a wrapper that is not seen may check
        Some(n) if n.to_lowercase().contains("check") => true,
        Some(n) if deep < DEEP => {
            program.body(n).is_some_and(|called| asks(called, &called.parents(), program, deep + 1))
        }
        _ => false,
    };
    body.walk(body.root).any(looks)
}

/// Whether somebody looks at the value of a call.
fn is_used(body: &Body, parents: &[Option<TermId>], call: TermId) -> bool {
    let Some(up) = parents.get(call.index()).copied().flatten() else { return false };
    let args = body.args(up);
    match body.op(up) {
        Op::List | Op::Cast => false,
        Op::If | Op::While | Op::Switch => args.first() == Some(&call),
        Op::For | Op::DoWhile => args.get(1) == Some(&call),
        _ => true,
    }
}

/// A number as it is written.
fn launch_number(body: &Body, t: TermId) -> Option<i128> {
    match (body.op(t), body.args(t)) {
        (Op::Int(v), _) => Some(*v),
        (Op::Cast, &[a]) => launch_number(body, a),
        (Op::Sym(s), _) => match body.symbols[*s].storage {
            Storage::Constant(v) => Some(v),
            _ => None,
        },
        _ => None,
    }
}

fn summands(body: &Body, t: TermId, sign: i64, out: &mut Vec<(TermId, i64)>) {
    match (body.op(t), body.args(t)) {
        (Op::Binary(BinOp::Add), &[a, b]) => {
            summands(body, a, sign, out);
            summands(body, b, sign, out);
        }
        (Op::Binary(BinOp::Sub), &[a, b]) => {
            summands(body, a, sign, out);
            summands(body, b, -sign, out);
        }
        (Op::Cast, &[a]) => summands(body, a, sign, out),
        _ => out.push((t, sign)),
    }
}

/// Whether a kernel touches elements by its indices and nowhere decides anything: no branch, no minimum, no remainder.
fn asks_nothing(k: &Body, program: &crate::Program) -> bool {
    let decides = |t: TermId| match k.op(t) {
        Op::If
        | Op::Select
        | Op::Switch
        | Op::While
        | Op::DoWhile
        | Op::Return
        | Op::Goto(_)
        | Op::Reject(_) => true,
        Op::Binary(op) => op.is_logical() || matches!(op, BinOp::Rem | BinOp::BitAnd),
        Op::Call => name(k, t).is_none_or(|n| matches!(n, "min" | "max") || program.body(n).is_some()),
        _ => false,
    };
    let writes = |t: TermId| {
        matches!(k.op(t), Op::Assign | Op::Compound(_) | Op::Step { .. })
            && k.args(t).first().is_some_and(|&p| matches!(k.op(p), Op::Index))
    };
    k.uses_index(k.root, Index::Block) && !k.walk(k.root).any(decides) && k.walk(k.root).any(writes)
}
