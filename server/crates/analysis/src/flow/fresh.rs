//! Values that are new memory, or none.

use term::{Body, Op, TermId};

/// The value before it is converted.
pub(crate) fn uncast(body: &Body, mut e: TermId) -> TermId {
    while let (Op::Cast, &[inner]) = (body.op(e), body.args(e)) {
        e = inner;
    }
    e
}

/// Whether the expression gives memory fresh from an allocation function.
pub(crate) fn is_fresh_value(body: &Body, e: TermId) -> bool {
    is_allocation(body, uncast(body, e))
}

/// A null pointer constant.
pub(crate) fn is_null(body: &Body, e: TermId) -> bool {
    body.as_int(uncast(body, e)) == Some(0)
}

pub(crate) fn is_allocation(body: &Body, e: TermId) -> bool {
    *body.op(e) == Op::Call
        && body.callee(e).is_some_and(|f| {
            // A function of the program's own under that name may give the same memory twice.
            body.library.contains(&f)
                && matches!(&*body.symbols[f].name, "malloc" | "calloc" | "aligned_alloc")
        })
}
