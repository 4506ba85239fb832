//! Lints of the host code around launches: each tells one kind of fault that `analysis` found.

mod block_size;
mod bytes_not_elements;
mod copy_direction;
mod device_pointer_on_host;
mod invariant_copy;
mod missing_swap;
mod missing_synchronisation;
mod short_grid;
mod short_shared;
mod unchecked_launch;
mod unguarded_grid;
mod use_after_free;

use base::Span;
use term::{Body, TermId};
use text::Edit;

use crate::lints::{Lint, Message};
use crate::repairs::{Repair, Site};
use crate::{Ask, Doc, Fact};

/// Sorted by code.
pub(super) const LINTS: &[Lint] = &[
    block_size::LINT,
    bytes_not_elements::LINT,
    copy_direction::LINT,
    device_pointer_on_host::LINT,
    invariant_copy::LINT,
    missing_swap::LINT,
    missing_synchronisation::LINT,
    short_grid::LINT,
    short_shared::LINT,
    unchecked_launch::LINT,
    unguarded_grid::LINT,
    use_after_free::LINT,
];

/// A title and its edits, not yet tried.
type Edits = (String, Vec<Edit>);

/// What one lint says of the faults of host code.
fn told(
    ask: &Ask,
    words: fn(&Doc, &Body, u32, &analysis::HostFault) -> Option<String>,
) -> Vec<(Span, Message)> {
    let doc = &ask.doc;
    let mut found = Vec::new();
    for (item, faults) in doc.unit().items.iter().zip(doc.host_faults()) {
        for (t, fault) in faults {
            if let Some(message) = words(doc, &item.body, item.span.start, fault) {
                let said =
                    Message { message, instance: None, ..Message::on(item, Fact::Host(*t, fault.clone())) };
                found.push((item.body.span(*t).shifted(item.span.start), said));
            }
        }
    }
    found
}

/// The repair of a fault, if the fault is gone with it, no other came, and no kernel is worse.
fn fixed(
    site: &Site,
    fact: &Fact,
    fix: fn(&Site, TermId, &analysis::HostFault) -> Option<Edits>,
) -> Option<Repair> {
    let Fact::Host(t, fault) = fact else { return None };
    let (title, edits) = fix(site, *t, fault)?;
    site.checked_on_host(fault, title, edits)
}
