//! Accumulations into cells that several threads may meet in.
//!
//! Integers are exact in any order. Floating sums are grouped as the threads happen to come, so their last bits may
//! differ from run to run; the plan's notes say so.

use term::device::{AtomicOp, Scope, Word};
use term::strength::UNARY;

use super::expr::Exprs;
use crate::plan::{AtomicKind, AtomicPlan, Operand};

/// One call, such as of addition with `(&h[x], 1)`; or a loop that exchanges, where the device has no such operation.
pub(crate) fn line(exprs: &Exprs<'_>, a: &AtomicPlan) -> String {
    let row = exprs.plan.target;
    let function = row.said(Word::Atomic(Some(a.op), Scope::Device));
    let (ty, wide) = match a.kind {
        AtomicKind::Int => ("int", false),
        AtomicKind::UInt => ("unsigned int", false),
        AtomicKind::Wide => ("unsigned long long", true),
        AtomicKind::SignedWide => ("long long", true),
        AtomicKind::Float => ("float", false),
        AtomicKind::Double => ("double", false),
    };
    let place = exprs.at(a.place, UNARY);
    let cell = if wide { format!("({ty} *)&{place}") } else { format!("&{place}") };
    let value = match a.operand {
        Operand::Constant(c) => format!("({ty}){}", if c < 0 { format!("({c})") } else { c.to_string() }),
        Operand::Term(t) => format!("({ty}){}", exprs.at(t, UNARY)),
    };
    let value = match (a.negated, a.kind) {
        (false, _) => value,
        (true, AtomicKind::Float | AtomicKind::Double) => format!("-{value}"),
        // Taken as unsigned, so that nothing overflows.
        (true, AtomicKind::Int) => format!("(int)(0u - (unsigned int){value})"),
        (true, _) => format!("0 - {value}"),
    };
    if a.kind == AtomicKind::SignedWide && row.without_signed_wide.contains(&a.op) {
        return exchanged(exprs, a.op, &place, &value);
    }
    format!("{function}({cell}, {value});")
}

/// The smaller or larger of a cell and a value, by comparing and exchanging until nobody came between. The first look is atomic,
/// too.
fn exchanged(exprs: &Exprs<'_>, op: AtomicOp, place: &str, value: &str) -> String {
    let p = &exprs.plan.prefix;
    let cas = exprs.plan.target.said(Word::Atomic(Some(AtomicOp::CompareExchange), Scope::Device));
    let better = if op == AtomicOp::Min { '<' } else { '>' };
    let unsigned = "unsigned long long";
    [
        "{".to_owned(),
        format!("    {unsigned} *{p}cell = ({unsigned} *)&{place};"),
        format!("    const long long {p}value = {value};"),
        format!("    {unsigned} {p}old = {cas}({p}cell, 0ull, 0ull);"),
        format!("    for ({unsigned} {p}seen = {p}old + 1ull; {p}value {better} (long long){p}old && {p}seen != {p}old;) {{"),
        format!("        {p}seen = {p}old;"),
        format!("        {p}old = {cas}({p}cell, {p}seen, ({unsigned}){p}value);"),
        "    }".to_owned(),
        "}".to_owned(),
    ]
    .join("\n")
}
