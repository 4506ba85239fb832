//! Accumulations into cells that several threads may meet in.
//!
//! Integers are exact in any order. Floating sums are grouped as the threads happen to come, so their last bits may
//! differ from run to run; the plan's notes say so.

use term::strength::UNARY;

use super::expr::Exprs;
use crate::plan::{AtomicKind, AtomicOp, AtomicPlan, Operand};

/// `atomicAdd(&h[x], 1);`
pub(crate) fn line(exprs: &Exprs<'_>, a: &AtomicPlan) -> String {
    let function = match a.op {
        AtomicOp::Add => "atomicAdd",
        AtomicOp::Min => "atomicMin",
        AtomicOp::Max => "atomicMax",
        AtomicOp::And => "atomicAnd",
        AtomicOp::Or => "atomicOr",
        AtomicOp::Xor => "atomicXor",
    };
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
    format!("{function}({cell}, {value});")
}
