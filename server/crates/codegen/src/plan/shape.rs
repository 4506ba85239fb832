//! Another way to lay out threads than the plan's own, for whoever compares them.

/// What is asked for; the rest is as the plan chooses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ThreadShape {
    /// Which loop of the band runs along x, from 0 at the outermost.
    pub x: Option<usize>,
    /// Threads of a block along x, y, z. It is taken where the kernel has these axes, the device such blocks, and, for kernels that
    /// leave partial results, where there are as many threads as in the plan's own.
    pub block: Option<[u32; 3]>,
}

impl ThreadShape {
    /// The block that is asked for, if a kernel with so many axes can have it.
    pub(super) fn fitting(&self, axes: usize, partials: bool, limits: &gpu::Limits) -> Option<[u32; 3]> {
        let threads = |b: &[u32; 3]| b.iter().product::<u32>();
        self.block.filter(|b| {
            b.iter().all(|n| n.is_power_of_two())
                && b.iter().skip(axes).all(|n| *n == 1)
                && limits.fits_block(*b)
                && (!partials || threads(b) == super::BLOCK_THREADS)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_a_kernel_can_have() {
        let limits = gpu::CUDA.limits;
        let of = |block| ThreadShape { x: None, block: Some(block) };
        assert_eq!(of([16, 16, 1]).fitting(2, false, &limits), Some([16, 16, 1]));
        assert_eq!(of([16, 16, 1]).fitting(1, false, &limits), None);
        assert_eq!(of([64, 1, 1]).fitting(1, true, &limits), None);
        assert_eq!(of([256, 1, 1]).fitting(1, true, &limits), Some([256, 1, 1]));
        for wrong in [[2048, 1, 1], [96, 1, 1], [0, 1, 1]] {
            assert_eq!(of(wrong).fitting(1, false, &limits), None);
        }
        assert_eq!(ThreadShape::default().fitting(1, false, &limits), None);
    }
}
