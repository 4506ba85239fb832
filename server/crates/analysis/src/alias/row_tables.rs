//! Tables of rows that are surely distinct: each pointer in the table was stored there straight from an allocation.
//!
//! The argument. The table is a local pointer whose own memory is fresh, or a local array, that the function uses only as
//! the base of subscripts (and gives to `free`): so its cells are written by this function's stores to `table[…]` alone.
//! If each of those stores an allocation's result (or null), a cell that holds a live pointer holds the result of the
//! last allocation stored there; results of different executions are different objects while they live (C11 7.22.3p1),
//! and a row that is no longer alive may not be accessed (6.2.4p2). So different cells show different objects, and no
//! cell shows a parameter's, a variable's, or other fresh memory. Absent: tables inside structures, rows cut out of one
//! allocation.

use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use crate::flow::effects::Effects;
use crate::flow::fresh::{is_fresh_value, is_null};

/// Whether the symbol is a path (or family) of rows of such a table.
pub(crate) fn has_fresh_rows(body: &Body, effects: &Effects<'_>, rows: SymbolId) -> bool {
    let Some(load) = body.path_term(rows) else { return false };
    let (Op::Index | Op::Deref, Some(&base)) = (body.op(load), body.args(load).first()) else {
        return false;
    };
    let Some(table) = body.as_symbol(base) else { return false };
    let symbol = &body.symbols[table];
    if symbol.storage != Storage::Local || symbol.address_taken {
        return false;
    }
    // A table of plain pointers, not of tables.
    let holds_rows = |ty| {
        body.types.element(ty).is_some_and(|row| {
            matches!(body.types.kind(row), TypeKind::Pointer { .. })
                && body.types.element(row).is_some_and(|e| body.types.is_arithmetic(e))
        })
    };
    if !holds_rows(symbol.ty) {
        return false;
    }
    let opaque =
        body.walk(body.root).any(|t| matches!(body.op(t), Op::Reject(_) | Op::Launch | Op::Apply(_)));
    !opaque
        && body
            .walk(body.root)
            .filter(|&t| body.as_symbol(t) == Some(table))
            .all(|t| use_is_plain(body, effects, t))
        && declared_plainly(body, table)
}

/// Whether its declaration gives it nothing, null, or fresh memory.
fn declared_plainly(body: &Body, table: SymbolId) -> bool {
    body.walk(body.root).filter(|&t| *body.op(t) == Op::Declare(table)).all(|t| match body.args(t) {
        [] => true,
        &[e] => is_fresh_value(body, e) || is_null(body, e),
        _ => false,
    })
}

/// Whether one mention of the table keeps its cells to itself.
fn use_is_plain(body: &Body, effects: &Effects<'_>, t: TermId) -> bool {
    let Some(p) = effects.parent(t) else { return false };
    let args = body.args(p);
    match body.op(p) {
        Op::Index => args[0] == t && cell_is_plain(body, effects, p),
        Op::Deref => cell_is_plain(body, effects, p),
        // `table = malloc(…)`
        Op::Assign => {
            args[0] == t
                && (is_fresh_value(body, args[1]) || is_null(body, args[1]))
                && is_statement(body, effects, p)
        }
        Op::Call => is_free(body, p),
        Op::Cast => effects.parent(p).is_some_and(|c| *body.op(c) == Op::Call && is_free(body, c)),
        Op::Binary(BinOp::Eq | BinOp::Ne | BinOp::And | BinOp::Or) | Op::Unary(UnOp::Not) | Op::SizeOf => {
            true
        }
        // Nothing of this function runs after it is handed out.
        Op::Return => true,
        Op::If | Op::Select => args[0] == t,
        _ => false,
    }
}

/// Whether a cell `table[…]` is only read, or stored to straight from an allocation.
fn cell_is_plain(body: &Body, effects: &Effects<'_>, cell: TermId) -> bool {
    let Some(p) = effects.parent(cell) else { return false };
    match body.op(p) {
        Op::Assign if body.args(p)[0] == cell => {
            let value = body.args(p)[1];
            (is_fresh_value(body, value) || is_null(body, value)) && is_statement(body, effects, p)
        }
        Op::Compound(_) | Op::Step { .. } | Op::AddrOf => false,
        _ => true,
    }
}

/// Whether the value of an assignment is used for nothing: no second place gets it.
fn is_statement(body: &Body, effects: &Effects<'_>, t: TermId) -> bool {
    effects.parent(t).is_some_and(|p| {
        matches!(body.op(p), Op::List | Op::Binary(BinOp::Eq | BinOp::Ne) | Op::Unary(UnOp::Not))
    })
}

fn is_free(body: &Body, call: TermId) -> bool {
    let callee = body.callee(call);
    callee.is_some_and(|f| &*body.symbols[f].name == "free" && body.library.contains(&f))
}
