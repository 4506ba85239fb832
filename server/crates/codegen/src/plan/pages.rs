//! A plan whose kernel has the form that rule pages read which optimise kernels written by hand: a thread an iteration, no grid
//! that strides, the indices of all loops and then one guard, and the program's own subscripts.
//!
//! What such a kernel cannot do is tested on the host: the grid has a block for every part of the loops, and all numbers are so small
//! that what pages add to them is an `int`. Deliberately absent: which pages there are, and what they make of it (`ide`).

use analysis::{ReductionOp, Step};
use term::{Body, IntKind, Op, SymbolId, TermId};

use super::{Dim, Plan};
use crate::limits::plan_pages::LARGEST;

impl<'a> Plan<'a> {
    /// The plan in that form, with blocks of so many threads along x and y. `Err`: why there is none, words that continue "because".
    pub fn for_pages(&self, block: [u32; 2]) -> Result<Plan<'a>, &'static str> {
        let mut plan = self.clone();
        let [kernel] = &mut plan.kernels[..] else { return Err("there is not one kernel") };
        if kernel.threads.is_some() {
            return Err("its threads follow a map of their own");
        }
        if let ([r], [], [_]) = (&kernel.reductions[..], &kernel.keyed[..], &kernel.dims[..]) {
            if r.op != ReductionOp::Add {
                return Err("what its threads have in common is no sum");
            }
            kernel.for_pages = true;
            return Ok(plan);
        }
        if kernel.dims.len() != 2 {
            return Err("it is neither a sum of one loop nor two loops whose iterations are threads");
        }
        if !kernel.reductions.is_empty() || !kernel.keyed.is_empty() {
            return Err("threads have results in common");
        }
        let moves = kernel.views.iter().any(|v| v.moves) || !kernel.walks.is_empty();
        if kernel.has_continue || moves || !kernel.inductions.is_empty() {
            return Err("an iteration has a `continue`, or variables that move with it");
        }
        if !kernel.dims.iter().all(|d| self.is_counted(d)) {
            return Err("an index does not count up from a number by one, or depends on the other");
        }
        let [x, y] = block;
        kernel.block = [x, y, 1];
        let grid = self.target.limits.grid;
        for (axis, most) in kernel.most_blocks.iter_mut().enumerate() {
            let threads = i128::from(kernel.block[axis].max(1));
            *most = grid[axis].min((LARGEST / threads).try_into().unwrap_or(u32::MAX));
        }
        for d in &mut kernel.dims {
            d.strided = false;
        }
        let body = self.body;
        let own = |s: &SymbolId| {
            body.types.as_int(body.symbols[*s].ty).is_some() && is_loops_alone(body, kernel.body, *s)
        };
        let (indices, privates) = kernel.privates.iter().partition(|s| own(s));
        (kernel.loop_indices, kernel.privates) = (indices, privates);
        kernel.for_pages = true;
        let counts = {
            let kernel = &plan.kernels[0];
            kernel.dims.iter().all(|d| plan.counts_in_int(kernel, d))
        };
        if !counts {
            return Err("a number of iterations may be larger than an `int`");
        }
        for b in plan.buffers.iter_mut().filter(|b| b.on_device) {
            if b.extent.is_none() || b.search.is_some() {
                let symbol = &plan.body.symbols[b.symbol];
                let bytes = plan.body.types.size_align(symbol.ty).map(|s| i128::from(s.0));
                if bytes.is_none_or(|n| n / i128::from(b.element_size.max(1)) > LARGEST) {
                    return Err("of an array it is not known which part is used");
                }
            }
            b.from_zero = !b.staged
                && b.rows.is_none()
                && b.part.is_none()
                && b.extent.is_some()
                && b.constant_first() != Some(0);
        }
        Ok(plan)
    }

    /// Whether a loop's index is a number more than the thread's.
    fn is_counted(&self, d: &Dim) -> bool {
        let first = match self.body.op(d.lower) {
            Op::Int(v) => (0..=1024).contains(v),
            _ => false,
        };
        let is_plain = d.rectangular && !d.lower_on_host && d.shift == 0 && !d.moves_inside && !d.pointer;
        first && is_plain && d.index_type == IntKind::Int && matches!(d.step, Step::Const(1))
    }
}

/// Whether a variable is used nowhere but in loops whose header sets it first, and moved by nothing else in them.
fn is_loops_alone(body: &Body, t: TermId, s: SymbolId) -> bool {
    if body.as_symbol(t) == Some(s) {
        return false;
    }
    let args = body.args(t);
    if let (Op::For, &[init, _, step, inner, ..]) = (body.op(t), args) {
        if let (Op::Assign, &[place, value]) = (body.op(init), body.args(init)) {
            let names = |t| body.walk(t).any(|x| body.as_symbol(x) == Some(s));
            let moves = |x: TermId| {
                (body.op(x).is_write() || *body.op(x) == Op::AddrOf)
                    && body.args(x).first().is_some_and(|&p| body.as_symbol(p) == Some(s))
            };
            let moved = body.walk(inner).any(moves) || body.walk(step).filter(|&x| moves(x)).count() > 1;
            if body.as_symbol(place) == Some(s) && !names(value) && !moved {
                return true;
            }
        }
    }
    args.iter().all(|&a| is_loops_alone(body, a, s))
}
