//! What blocks of a kernel leave on the device for the host: partial results of reductions, and values chosen by iterations.

use crate::device::expr::Dialect;
use crate::device::{keyed, reduce};
use crate::plan::{Kernel, Plan};

/// An array that blocks leave results in.
pub(super) struct Left<'p> {
    pub(super) ty: &'p str,
    /// Here, and on the device.
    pub(super) partial: &'p str,
    pub(super) device: &'p str,
}

/// What blocks leave of reductions and of chosen values.
pub(super) fn left_by_blocks<'p>(plan: &'p Plan<'_>, kernel: &'p Kernel) -> Vec<Left<'p>> {
    let mut left = Vec::new();
    for r in &kernel.reductions {
        let ty = reduce::accumulator_type(plan, r, Dialect::Device);
        left.push(Left { ty, partial: &r.partial_name, device: &r.device_name });
    }
    for k in &kernel.keyed {
        left.push(Left { ty: "long long", partial: &k.partial_name, device: &k.device_name });
        for v in keyed::noted(k) {
            let ty = keyed::type_name(plan, &v, Dialect::Device);
            left.push(Left { ty, partial: v.partial_name, device: v.device_name });
        }
    }
    left
}
