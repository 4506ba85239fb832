//! What a kernel looks at while it runs ([`crate::plan::Checked`]): functions that give a value back that can be used, and note
//! where it was none.

use term::{FloatKind, IntKind};

use super::expr::{float_name, int_name, Dialect};
use crate::lines::Lines;
use crate::plan::{Kernel, Noticed, Plan};

/// The function that gives a subscript back.
pub(super) fn inside(plan: &Plan<'_>) -> String {
    format!("{}inside", plan.prefix)
}

/// The function that gives the length of a row back.
pub(super) fn length(plan: &Plan<'_>) -> String {
    format!("{}length", plan.prefix)
}

/// The function that gives a divisor back.
pub(super) fn divisor(plan: &Plan<'_>, kind: IntKind) -> String {
    format!("{}by_{}", plan.prefix, word(kind))
}

/// The function that makes a whole number of a floating one.
pub(super) fn conversion(plan: &Plan<'_>, kind: IntKind) -> String {
    format!("{}to_{}", plan.prefix, word(kind))
}

/// The function that stands for one of .NET's library.
pub(super) fn of_library(plan: &Plan<'_>, n: Noticed) -> String {
    let name = match n {
        Noticed::Extreme { greater: true, kind } => format!("max_{}", float_name(kind)),
        Noticed::Extreme { greater: false, kind } => format!("min_{}", float_name(kind)),
        Noticed::Power(kind) => format!("pow_{}", float_name(kind)),
        Noticed::Absolute(kind) => format!("abs_{}", word(kind)),
    };
    format!("{}{name}", plan.prefix)
}

/// Its head up to its last parameter, where it gives the same everywhere, what it gives there, and what otherwise.
fn noticed(plan: &Plan<'_>, n: Noticed) -> [String; 4] {
    let name = of_library(plan, n);
    let numbers = |kind| {
        let ty = float_name(kind);
        format!("{ty} {name}({ty} a, {ty} b")
    };
    let (head, is_fine, value) = match n {
        Noticed::Extreme { greater, kind } => {
            let (op, first, second) = if greater { ('>', '>', '<') } else { ('<', '<', '>') };
            let unlike = format!("!(a == 0 && b == 0 && 1 / a {first} 0 && 1 / b {second} 0)");
            (numbers(kind), unlike, format!("a {op} b || a != a ? a : b"))
        }
        Noticed::Power(kind) => {
            let unlike = "!((a == 1 || a == -1) && b - b != 0) && !(a != a && b == 0)";
            let function = if kind == FloatKind::F32 { "powf" } else { "pow" };
            (numbers(kind), unlike.to_owned(), format!("{function}(a, b)"))
        }
        Noticed::Absolute(kind) => {
            let ty = int_name(kind, Dialect::Device);
            let most = print::integer(&print::CPP, kind.max(), kind).0;
            let head = format!("{ty} {name}({ty} value");
            (head, format!("value >= -{most}"), "value < 0 ? -value : value".to_owned())
        }
    };
    [head, is_fine, value, "0".to_owned()]
}

/// A type's name as part of another.
fn word(kind: IntKind) -> String {
    int_name(kind, Dialect::Device).replace(' ', "_")
}

/// The functions that a kernel calls, without those that are there already.
pub(super) fn helpers(plan: &Plan<'_>, k: &Kernel, known: &mut Vec<String>, out: &mut Lines) {
    let (body, checked) = (plan.body, &k.checked);
    let fault = &checked.fault_name;
    let mut function = |head: String, is_fine: String, value: &str, otherwise: &str| {
        if known.contains(&head) {
            return;
        }
        known.push(head.clone());
        out.line("");
        out.line(&format!("static __device__ {head}, int *{fault})"));
        out.open("{");
        out.line(&format!("if ({is_fine})"));
        out.line(&format!("    return {value};"));
        out.line(&format!("atomicExch({fault}, 1); /* the loop itself throws */"));
        out.line(&format!("return {otherwise};"));
        out.close("}");
    };
    if !checked.subscripts.is_empty() || !checked.in_rows.is_empty() {
        let head = format!("long long {}(long long at, long long length", inside(plan));
        function(head, "at >= 0 && at < length".to_owned(), "at", "0");
    }
    if checked.asks_lengths {
        let head = format!("int {}(int length", length(plan));
        function(head, "length >= 0".to_owned(), "length", "0");
    }
    for &n in &checked.noticed {
        let [head, is_fine, value, otherwise] = noticed(plan, n);
        function(head, is_fine, &value, &otherwise);
    }
    let kind = |t: &term::TermId| body.types.as_int(body.ty(*t)).unwrap_or(IntKind::Int);
    let mut divisors: Vec<IntKind> = checked.divisors.iter().map(|t| kind(t).promoted()).collect();
    divisors.sort();
    divisors.dedup();
    for k in divisors {
        let ty = int_name(k, Dialect::Device);
        let head = format!("{ty} {}({ty} by", divisor(plan, k));
        // the quotient of the least number and -1 is none either
        let is_fine = if k.signed() { "by != 0 && by != -1" } else { "by != 0" };
        function(head, is_fine.to_owned(), "by", "1");
    }
    let mut conversions: Vec<IntKind> = checked.conversions.iter().map(kind).collect();
    conversions.sort();
    conversions.dedup();
    for k in conversions {
        let ty = int_name(k, Dialect::Device);
        let head = format!("{ty} {}(double value", conversion(plan, k));
        // both ends are numbers that `double` has; of 64 bits the least itself is one, and none is between it and the next
        let (below, least) = match k.bits() {
            64 if k.signed() => ("value >=", k.min() as f64),
            _ => ("value >", k.min() as f64 - 1.0),
        };
        let above = k.max() as f64 + if k.bits() == 64 { 0.0 } else { 1.0 };
        function(head, format!("{below} {least:.1} && value < {above:.1}"), &format!("({ty})value"), "0");
    }
}
