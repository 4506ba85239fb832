//! What a proof grants of numbers that are computed from indices and extents: that they fit their types. Whether they do in a launch
//! is seen when the launch is known.

use term::IntKind;

use super::SymbolicKernel;
use crate::algebra::poly::{Poly, Var};

/// Numbers that are taken to fit, and what their unknowns are.
pub(in crate::kernel) struct Granted {
    numbers: Vec<(Poly, IntKind)>,
    thread: [Poly; 3],
    block: [Poly; 3],
    extent: [Poly; 3],
    blocks: [Poly; 3],
    /// Whether threads are counted through rows of blocks.
    rows: bool,
}

impl SymbolicKernel<'_> {
    /// `rows`: whether threads were counted through rows of blocks.
    pub(super) fn granted(&self, rows: bool) -> Granted {
        Granted {
            rows,
            numbers: self.granted.clone(),
            thread: self.thread.clone(),
            block: self.block.clone(),
            extent: self.extent.clone(),
            blocks: self.blocks.clone(),
        }
    }
}

impl Granted {
    /// Whether a launch of blocks of so many threads has fewer than 2^31 threads along each axis, or through rows of blocks, and every
    /// number fits.
    pub(in crate::kernel) fn holds(&self, block: [u32; 3], grid: [u32; 3]) -> bool {
        let along = |a: usize| i128::from(block[a]) * i128::from(grid[a]);
        let through = if self.rows { i128::from(grid[1]) } else { 1 };
        let few = along(0) * through < 1 << 31 && (1..3).all(|a| along(a) < 1 << 31);
        let fits = |(p, kind): &(Poly, IntKind)| {
            let kind = *kind;
            self.most(p, block, grid).is_some_and(|m| m <= kind.max())
        };
        few && self.numbers.iter().all(fits)
    }

    /// No value of the number is greater.
    fn most(&self, p: &Poly, block: [u32; 3], grid: [u32; 3]) -> Option<i128> {
        let mut sum = 0i128;
        for (monomial, c) in p.terms() {
            let ends = monomial.iter().map(|&v| self.ends(v, block, grid));
            // no unknown is negative
            let mut product = ends.map(|e| e.map(|[low, high]| if c < 0 { low } else { high }));
            let product = product.try_fold(c, |all, end| all.checked_mul(end?))?;
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// The least and the greatest value of an index or an extent.
    fn ends(&self, v: Var, block: [u32; 3], grid: [u32; 3]) -> Option<[i128; 2]> {
        let is = |p: &Poly| p.as_var() == Some(v);
        (0..3).find_map(|a| {
            let (threads, blocks) = (i128::from(block[a]), i128::from(grid[a]));
            match () {
                () if is(&self.thread[a]) => Some([0, threads - 1]),
                () if is(&self.extent[a]) => Some([threads; 2]),
                () if is(&self.block[a]) => Some([0, blocks - 1]),
                () if is(&self.blocks[a]) => Some([blocks; 2]),
                () => None,
            }
        })
    }
}
