//! Arrays whose elements a kernel counts from 0, as the program does, though only those from a first one on are copied: there is room
//! for all on the device, and nothing of the host's before the first is touched.

use term::BinOp;

use super::checks::test;
use super::SIZE;
use crate::device::host_term::Term;
use crate::limits::plan_pages::LARGEST;
use crate::plan::BufferPlan;

/// The test that there is room for what is before the first element.
pub(super) fn starts_in_range(name: &str, b: &BufferPlan) -> Option<Term> {
    if !b.from_zero || matches!(b.constant_first(), Some(0..=LARGEST)) {
        return None;
    }
    let ends = [(BinOp::Ge, 0), (BinOp::Le, LARGEST)];
    let fits = ends.map(|(op, end)| Term::binary(op, first(b), Term::Int(end)));
    let fits = Term::all(BinOp::And, fits.into_iter());
    Some(test(fits, &format!("the kernel counts the elements of {name} from 0")))
}

/// `_Within(host,device,first,type,bytes,room,way)`
pub(super) fn array(b: &BufferPlan, [here, there, ty, bytes]: [Term; 4], way: &str, size: Term) -> Term {
    let before = Term::binary(BinOp::Mul, Term::cast(SIZE, first(b)), size);
    let room = Term::binary(BinOp::Add, before, bytes.clone());
    Term::head("_Within", vec![here, there, first(b), ty, bytes, room, Term::name(way)])
}

fn first(b: &BufferPlan) -> Term {
    b.constant_first().map_or_else(|| Term::name(&b.first_name), Term::Int)
}
