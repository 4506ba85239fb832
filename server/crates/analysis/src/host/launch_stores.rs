//! What a function of the host stores in its variables, as far as launches ask.

use std::sync::Arc;

use term::{Body, Op, SymbolId, TermId};

/// What is stored in a variable, in textual order.
#[derive(Clone, Default)]
pub(super) struct Stores {
    /// Whole values: the first by its declaration, if `declared`.
    pub(super) whole: Vec<TermId>,
    pub(super) declared: bool,
    /// By field.
    pub(super) fields: Vec<(Arc<str>, TermId)>,
    /// `+=` and the like, or somebody else by its address.
    pub(super) others: bool,
    /// `+=` and the like: it has several values in turn, or, outside of loops, another one than at first.
    pub(super) goes_on: bool,
    pub(super) moves_on: bool,
    /// Whether a value is stored whatever happens, behind its declaration.
    pub(super) replaced: bool,
}

impl Stores {
    pub(super) fn of(body: &Body, s: SymbolId) -> Stores {
        let mut out = Stores { others: body.symbols[s].address_taken, ..Stores::default() };
        let always: Vec<TermId> = body.args(body.root).last().map_or(Vec::new(), |&b| body.args(b).to_vec());
        for t in body.walk(body.root) {
            let args = body.args(t);
            match (body.op(t), args) {
                (Op::Declare(d), &[init]) if *d == s => {
                    out.whole.insert(0, init);
                    out.declared = true;
                }
                (Op::Assign, &[place, value]) => match (body.op(place), body.args(place)) {
                    (Op::Sym(p), _) if *p == s => {
                        out.whole.push(value);
                        out.replaced |= always.contains(&t);
                    }
                    (Op::Member { field, arrow: false }, &[base]) if body.as_symbol(base) == Some(s) => {
                        out.fields.push((field.clone(), value))
                    }
                    _ => out.others |= base_of(body, place) == Some(s),
                },
                (Op::Compound(_) | Op::Step { .. }, &[place, ..]) if base_of(body, place) == Some(s) => {
                    (out.others, out.goes_on) = (true, true);
                    let span = body.span(t);
                    out.moves_on |= !body.loops(body.root).any(|l| body.span(l).contains(span));
                }
                _ => {}
            }
        }
        out
    }
}

/// The variable of which a place is a part.
fn base_of(body: &Body, mut place: TermId) -> Option<SymbolId> {
    while let (Op::Member { arrow: false, .. } | Op::Index | Op::Cast, &[base, ..]) =
        (body.op(place), body.args(place))
    {
        place = base;
    }
    body.as_symbol(place)
}

/// Whether nothing happens to an array but that its elements are read: nobody is given it.
pub(super) fn is_only_read(body: &Body, array: SymbolId) -> bool {
    let is_array = |t: &TermId| body.as_symbol(*t) == Some(array);
    let read = |t: TermId| match (body.op(t), body.args(t)) {
        (Op::Index, [base, _]) => is_array(base),
        (Op::SizeOf, [of]) => is_array(of),
        _ => false,
    };
    let all = body.walk(body.root).filter(is_array).count();
    all == body.walk(body.root).filter(|&t| read(t)).count()
}
