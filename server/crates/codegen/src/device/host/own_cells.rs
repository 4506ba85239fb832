//! Cells of an array that threads have for themselves: how many threads there may be, and the memory that they lie in.

use term::BinOp;

use super::checks::test;
use super::{let_, Host, Room, RoomSize, SIZE};
use crate::device::host_term::{Term, LONG_LONG};
use crate::limits::host_own_cells::{MOST_BYTES, MOST_THREADS};
use crate::plan::{BufferPlan, EachPlan};

/// A number that is at least one.
pub(super) fn at_least_one(n: Term) -> Term {
    Term::head("Select", vec![Term::binary(BinOp::Lt, n.clone(), Term::Int(1)), Term::Int(1), n])
}

/// The lesser of two numbers.
pub(super) fn least_of(a: Term, b: Term) -> Term {
    if let (Term::Int(a), Term::Int(b)) = (&a, &b) {
        return Term::Int(*a.min(b));
    }
    Term::head("Select", vec![Term::binary(BinOp::Lt, a.clone(), b.clone()), a, b])
}

/// Threads of one block, at most.
const LEAST_THREADS: i128 = 256;

impl<'p> Host<'p> {
    fn owned(&self) -> Vec<(&'p BufferPlan, &'p EachPlan)> {
        self.plan.device_buffers().filter_map(|b| Some((b, b.each.as_ref()?))).collect()
    }

    /// Bytes that the threads of a region's nest need at most, which runs so many iterations where the region can tell.
    pub(super) fn own_room(&mut self, b: &BufferPlan, trips: &[analysis::Expr]) -> Term {
        let array = || Term::name(&b.bytes_name);
        let of = |threads: i128| Term::binary(BinOp::Mul, Term::Int(threads), array());
        let few = least_of(of(MOST_THREADS), Term::cast(SIZE, Term::Int(MOST_BYTES)));
        let most = Term::binary(BinOp::Add, of(LEAST_THREADS), few);
        let mut used = Vec::new();
        trips.iter().for_each(|t| crate::plan::expr_params(t, &mut used));
        let is_known = |p: &analysis::Param| self.plan.values.iter().any(|v| v.param == *p);
        if !used.iter().all(is_known) {
            return most;
        }
        // each axis is rounded up to whole blocks
        let rounded = |n: Term| Term::binary(BinOp::Add, n, Term::Int(LEAST_THREADS));
        let threads = trips.iter().map(|t| Term::cast(SIZE, rounded(self.expr(t))));
        let threads: Vec<Term> = threads.collect();
        let threads =
            threads.into_iter().reduce(|a, b| Term::binary(BinOp::Mul, a, b)).unwrap_or(Term::Int(1));
        least_of(Term::binary(BinOp::Mul, threads, array()), most)
    }

    /// How many elements each thread has: from the first one of the array on the device.
    fn own_count(&mut self, b: &BufferPlan, e: &EachPlan) -> Term {
        let plus = |n: i128| analysis::Expr::Add(vec![e.last.clone(), analysis::Expr::Int(n)]);
        match (b.constant_first(), crate::plan::constant(&e.last)) {
            (Some(first), Some(last)) => Term::Int(last - first + 1),
            (Some(first), None) => self.expr(&plus(1 - first)),
            (None, _) => Term::binary(BinOp::Sub, self.expr(&plus(1)), Term::name(&b.first_name)),
        }
    }

    /// How many blocks there may be, for the memory that their threads need.
    pub(super) fn blocks_for_own(&mut self, tests: &mut Vec<Term>) -> Option<Term> {
        let each = self.owned();
        let block: i128 = self.kernel.block.iter().map(|&n| i128::from(n)).product();
        let mut most = Term::Int(MOST_THREADS / block);
        for (b, e) in &each {
            let count = self.own_count(b, e);
            tests.push(let_(&e.row_name, LONG_LONG, count.clone()));
            let elements = MOST_BYTES / i128::from(b.element_size.max(1));
            let row = || Term::name(&e.row_name);
            let mut fit = Term::binary(BinOp::Div, Term::Int(elements / block), row());
            match count {
                Term::Int(n) if (1..=elements).contains(&n) => fit = Term::Int((elements / block / n).max(1)),
                _ => {
                    let name = &self.plan.body.symbols[b.symbol].name;
                    let is_some = Term::binary(BinOp::Gt, row(), Term::Int(0));
                    let fits = Term::binary(BinOp::Le, row(), Term::Int(elements));
                    let holds = Term::binary(BinOp::And, is_some, fits);
                    tests.push(test(holds, &format!("each thread has room for {name}")));
                }
            }
            if !matches!(fit, Term::Int(_)) {
                let blocks = format!("{}_blocks", e.row_name.trim_end_matches("_count"));
                tests.push(let_(&blocks, LONG_LONG, at_least_one(fit)));
                fit = Term::Name(blocks);
            }
            most = least_of(fit, most);
        }
        let mut named = |most: Term| {
            let name = format!("{}most_blocks", self.plan.prefix);
            tests.push(let_(&name, LONG_LONG, most));
            Term::Name(name)
        };
        (!each.is_empty()).then(|| if matches!(most, Term::Int(_)) { most } else { named(most) })
    }

    /// The sizes of that memory.
    pub(super) fn own_sizes(&mut self, tests: &mut Vec<Term>) {
        if self.steps.is_some() {
            return;
        }
        let p = &self.plan.prefix;
        let block: i128 = self.kernel.block.iter().map(|&n| i128::from(n)).product();
        for (b, e) in self.owned() {
            let along = self.kernel.dims.iter().map(|d| Term::Name(format!("{p}grid_{}", d.axis.letter())));
            let threads = along.fold(Term::Int(block), |all, n| Term::binary(BinOp::Mul, all, n));
            let elements = Term::binary(BinOp::Mul, threads, Term::name(&e.row_name));
            let size = self.element_size(b);
            let bytes = Term::binary(BinOp::Mul, Term::cast(SIZE, elements), size);
            tests.push(let_(&e.bytes_name, SIZE, bytes));
        }
    }

    /// That memory: of the region's, if a region calls.
    pub(super) fn own_arrays(&mut self, out: &mut Vec<Term>) {
        for (b, e) in self.owned() {
            let ty = self.cpp.type_name(b.element);
            if let Some(steps) = self.steps {
                let own = e.kernel_name.strip_prefix(&self.plan.prefix).unwrap_or(&e.kernel_name);
                let name = format!("{}{}_{own}", steps.outer.prefix, self.plan.name);
                let trips = self.kernel.dims.iter().map(|d| d.trips.clone()).collect();
                let room = Room { name, ty, size: RoomSize::Own { of: b.symbol, trips } };
                let given = self.given.room(room, &e.device_name);
                debug_assert_eq!(given, e.device_name);
                continue;
            }
            let there = [Term::name(&e.device_name), Term::Name(format!("{ty}*")), Term::name(&e.bytes_name)];
            let parts = std::iter::once(Term::Int(0)).chain(there).chain([Term::name("none")]);
            out.push(Term::head("_Array", parts.collect()));
        }
    }
}
