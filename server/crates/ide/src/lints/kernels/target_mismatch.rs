//! `target-mismatch`: a kernel that the device it is to be for cannot run, or runs otherwise than CUDA's.

use base::Span;

use crate::actions::kernel_header;
use crate::kernels::foreign;
use crate::lints::{Find, Lint, Message};
use crate::{Ask, Severity};

pub(super) const LINT: Lint = Lint {
    code: "target-mismatch",
    severity: Severity::Warning,
    summary: "A kernel is not for the target that is set.",
    page: include_str!("../../../../../../docs/codes/target-mismatch.md"),
    find: Find::Document(target_mismatch),
    fixes: &[],
};

fn target_mismatch(ask: &Ask) -> Vec<(Span, Message)> {
    let mut found = Vec::new();
    for item in ask.doc.unit().items.iter().filter(|i| i.is_kernel) {
        let Some(foreign) = foreign(ask, item) else { continue };
        let mut message = foreign.why;
        // a sentence of its own
        message.get_mut(..1).map(str::make_ascii_uppercase);
        let span = foreign.span.unwrap_or_else(|| kernel_header(&ask.doc, item));
        found.push((span, Message { message, ..Message::of(item) }));
    }
    found
}
