//! How many blocks a launch has.

use term::BinOp;

use super::checks::test;
use super::{let_, own_cells, Host, BLOCKS};
use crate::device::host_term::{Term, LONG_LONG};
use crate::plan::{Axis, Dim};

impl Host<'_> {
    /// How many blocks there are along every axis; tests that there may be so many.
    pub(super) fn grid(&mut self, tests: &mut Vec<Term>) -> Vec<Term> {
        let (plan, kernel) = (self.plan, self.kernel);
        let p = &plan.prefix;
        debug_assert!(kernel.dims.iter().all(|d| d.relation != BinOp::Ne));
        let mut counts = Vec::new();
        let mut left = self.blocks_for_own(tests);
        for axis in [Axis::X, Axis::Y, Axis::Z] {
            let Some(d) = kernel.dims.iter().find(|d| d.axis == axis) else { continue };
            let (n, most, a) =
                (kernel.block[axis.number()], kernel.most_blocks[axis.number()], axis.letter());
            let trips = Term::name(&d.trips_name);
            let count = match n {
                1 => trips,
                n => {
                    let more = Term::binary(BinOp::Add, trips, Term::Int(i128::from(n) - 1));
                    Term::binary(BinOp::Div, more, Term::Int(n.into()))
                }
            };
            let (grid, mut most_blocks) = (format!("{p}grid_{a}"), Term::Int(most.into()));
            if let Some(left) = &left {
                most_blocks = match kernel.dims.len() {
                    1 => left.clone(),
                    _ => own_cells::least_of(left.clone(), most_blocks),
                };
            }
            if d.strided {
                let name = format!("{p}all_{a}");
                tests.push(let_(&name, LONG_LONG, count));
                tests.push(let_(&grid, LONG_LONG, own_cells::least_of(Term::Name(name), most_blocks)));
                // along the other axes there may be so many
                left = left
                    .map(|left| own_cells::at_least_one(Term::binary(BinOp::Div, left, Term::name(&grid))));
            } else if plan.range(&d.trips).1 <= i128::from(n) * i128::from(most) && !kernel.has_partials() {
                counts.push(Term::cast(BLOCKS, count));
                continue;
            } else {
                tests.push(let_(&grid, LONG_LONG, count));
                let fits = Term::binary(BinOp::Le, Term::name(&grid), most_blocks);
                tests.push(test(fits, "a grid has so many blocks"));
            }
            counts.push(Term::cast(BLOCKS, Term::Name(grid)));
        }
        if kernel.has_partials() {
            let along = |d: &Dim| Term::Name(format!("{p}grid_{}", d.axis.letter()));
            let product = kernel.dims.iter().map(along).reduce(|a, b| Term::binary(BinOp::Mul, a, b));
            let product = product.unwrap_or(Term::Int(1));
            tests.push(let_(&self.blocks_name(), "int", Term::cast("int", product)));
        }
        counts
    }

    /// How many blocks leave results.
    pub(super) fn blocks(&self) -> Term {
        Term::Name(self.blocks_name())
    }
    fn blocks_name(&self) -> String {
        format!("{}blocks", self.plan.prefix)
    }
}
