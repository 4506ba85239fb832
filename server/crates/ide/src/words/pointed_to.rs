//! What is said of pointers that are themselves members, or elements, and are not followed.

use term::{Op, SymbolId};

use crate::function_view::FunctionView;

/// Of pointers that stand in memory one beside the other, and of one that is only known as one of such: the reason, and what to do.
pub(super) fn by_rows(view: &FunctionView, symbol: SymbolId, line: u32) -> (String, &'static str) {
    if let Some(one) = behind_one_pointer(view, symbol) {
        return (format!("what `{one}` points to on line {line} is not followed"), "");
    }
    let name = view.symbol(symbol);
    (
        format!("the rows `{name}` on line {line} are pieces of memory of their own, which are not copied to the GPU yet"),
        "Offload the loop along one row, or keep the matrix in one array.",
    )
}

/// How the text says a member behind a pointer that is nowhere indexed: `m->data`, which the analysis knows as one of `m[].data`.
fn behind_one_pointer(view: &FunctionView, symbol: SymbolId) -> Option<String> {
    let name = view.symbol(symbol);
    let (pointer, member) = name.split_once("[].")?;
    let body = view.body();
    let is_indexed = body.walk(body.root).any(|t| {
        *body.op(t) == Op::Index && body.args(t).first().is_some_and(|&of| *view.text(of) == *pointer)
    });
    (!is_indexed && !member.contains("[]")).then(|| format!("{pointer}->{member}"))
}
