//! What a measurement of a loop rests on, as a number: where it is another, the measurement is of another kernel.
//!
//! That is the loop, its function, what that calls and what else plans depend on. Positions are no part of it, and so are other
//! functions: typing above costs nothing. Deliberately absent: measurements, and where they are kept.

use text::ContentHash;

use crate::check::{Findings, LoopFinding};
use crate::Ask;

/// The number, in hexadecimal; it is the same in all runs of this program. `None`: the loop is of no function that is analyzed.
pub fn measured_of(ask: &Ask, findings: &Findings, l: &LoopFinding) -> Option<String> {
    let view = findings.view(ask, l.item)?;
    let item = ask.doc.unit().items.get(l.item)?;
    let meaning = format!("{:x} {:x}", item.body.hash, view.surroundings());
    let target = ask.doc.options().target.row().name;
    let parts = [ask.doc.slice(item.span), &*l.key, target, &meaning];
    let hash = ContentHash::of_chunks(parts.into_iter().flat_map(|p| [p, "\0"]));
    Some(format!("{:032x}", hash.0))
}
