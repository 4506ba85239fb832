//! `device-pointer-on-host`: memory of the device that the host touches.

use analysis::HostFault;

use crate::kernels::line;
use crate::lints::{Find, Lint};
use crate::Severity;

pub(super) const LINT: Lint = Lint {
    code: "device-pointer-on-host",
    severity: Severity::Error,
    summary: "The host touches memory of the device.",
    page: include_str!("../../../../../../docs/codes/device-pointer-on-host.md"),
    find: Find::Document(|ask| super::told(ask, words)),
    fixes: &[],
};

fn words(doc: &crate::Doc, body: &term::Body, start: u32, fault: &HostFault) -> Option<String> {
    let name = |s: term::SymbolId| body.symbols[s].name.clone();
    let at = |t| line(doc, body.span(t).shifted(start));
    Some(match fault {
        HostFault::DevicePointer(s, a) => format!(
            "`{}` points to memory of the device (`cudaMalloc` on line {}), and the host touches it here: that is a segmentation fault. Copy the data \
             with `cudaMemcpy`, or allocate with `cudaMallocManaged`.",
            name(*s),
            at(*a)
        ),
        _ => return None,
    })
}
