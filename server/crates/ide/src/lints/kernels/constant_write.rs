//! `constant-write`: a kernel writes to constant memory.

use base::Span;
use term::device::Word;
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::lints::{Find, Lint, Message};
use crate::{Ask, Severity};

pub(super) const LINT: Lint = Lint {
    code: "constant-write",
    severity: Severity::Error,
    summary: "Code of the device writes to constant memory.",
    page: include_str!("../../../../../../docs/codes/constant-write.md"),
    find: Find::Document(constant_write),
    fixes: &[],
};

fn constant_write(ask: &Ask) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for item in doc.unit().items.iter().filter(|i| i.is_kernel || i.is_device) {
        let body = &item.body;
        for t in body.walk(body.root) {
            let Some((place, s)) = written(body, t).and_then(|p| Some((p, constant(body, p)?))) else {
                continue;
            };
            let message = format!(
                "`{}` lies in constant memory, which code of the device cannot write. Set it from the host with `cudaMemcpyToSymbol`, or declare it \
                 `__device__`.",
                body.symbols[s].name
            );
            found.push((body.span(place).shifted(item.span.start), Message { message, ..Message::of(item) }));
        }
    }
    found
}

/// The place that a term writes.
fn written(body: &Body, t: TermId) -> Option<TermId> {
    match (body.op(t), body.args(t)) {
        (Op::Assign | Op::Compound(_) | Op::Step { .. }, &[place, ..]) => Some(place),
        (Op::Call, &[_, pointer, ..]) => match (body.op(pointer), body.args(pointer)) {
            (Op::AddrOf, &[place]) if body.called_word(t).is_some_and(Word::is_atomic) => Some(place),
            _ => None,
        },
        _ => None,
    }
}

/// The `__constant__` variable that a place lies in.
fn constant(body: &Body, place: TermId) -> Option<SymbolId> {
    let mut at = place;
    loop {
        match (body.op(at), body.args(at)) {
            (Op::Index, &[base, _]) if matches!(body.types.kind(body.ty(base)), TypeKind::Array { .. }) => {
                at = base;
            }
            (Op::Member { arrow: false, .. }, &[base]) => at = base,
            (Op::Sym(s), _) => {
                let storage = body.symbols[*s].storage;
                return matches!(storage, Storage::Global { constant: true, .. }).then_some(*s);
            }
            _ => return None,
        }
    }
}
