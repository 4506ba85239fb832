//! Reductions: identities, combination, and the tree in a block's shared memory.
//!
//! Threads start from the operation's identity, a block combines its threads in a tree, the host combines the blocks in
//! order with the variable's value before the loop. No atomics: the grouping, and so the result to the last bit, is the
//! same in every run and on every device. Reference: M. Harris, "Optimizing parallel reduction in CUDA", 2007.

use analysis::ReductionOp;
use term::device::{Index, Scope, Tally, Word};
use term::{BinOp, FloatKind, TypeKind};

use super::expr::{float, float_name, int_name, integer, Dialect};
use super::host_term::Term;
use super::index;
use super::{keyed, wrapped};
use crate::lines::Lines;
use crate::plan::{wrapping_kind, Kernel, MinMaxForm, Plan, ReductionPlan, BLOCK_THREADS};

/// The type of accumulators and partial results.
pub(crate) fn accumulator_type(plan: &Plan<'_>, r: &ReductionPlan, dialect: Dialect) -> &'static str {
    match plan.body.types.kind(r.ty) {
        TypeKind::Int(k) => int_name(wrapping_kind(r.op, *k), dialect),
        TypeKind::Float(k) => float_name(*k),
        _ => "void",
    }
}

/// The value that changes nothing.
pub(crate) fn identity(plan: &Plan<'_>, r: &ReductionPlan) -> String {
    let text = match plan.body.types.kind(r.ty) {
        TypeKind::Float(k) => float_identity(r, *k).0,
        TypeKind::Int(k) => {
            let kind = wrapping_kind(r.op, *k);
            let v = match r.op {
                ReductionOp::Add | ReductionOp::BitOr | ReductionOp::BitXor | ReductionOp::Or => 0,
                ReductionOp::Mul | ReductionOp::And => 1,
                ReductionOp::Min => kind.max(),
                ReductionOp::Max => kind.min(),
                ReductionOp::BitAnd => kind.wrap(-1),
                // Kept with the iteration they come from: see `keyed`.
                ReductionOp::ArgMin { .. } | ReductionOp::ArgMax { .. } | ReductionOp::Last => 0,
            };
            integer(v, kind).0
        }
        _ => String::new(),
    };
    text
}

fn float_identity(r: &ReductionPlan, kind: FloatKind) -> (String, u8) {
    let v = match (r.op, r.form) {
        // Minus zero: adding it keeps even the sign of a zero.
        (ReductionOp::Add, _) => -0.0,
        (ReductionOp::Min | ReductionOp::Max, MinMaxForm::Function) => f64::NAN,
        (ReductionOp::Min, _) => f64::INFINITY,
        (ReductionOp::Max, _) => f64::NEG_INFINITY,
        (ReductionOp::Or, _) => 0.0,
        _ => 1.0,
    };
    float(v, kind)
}

/// The kernel that puts together what blocks leave, where that stays on the device.
pub(crate) fn finish_name(plan: &Plan<'_>) -> String {
    format!("{}_finish", plan.name)
}

/// That kernel's text: one thread adds the blocks' results in their order.
pub(crate) fn finish(plan: &Plan<'_>, kernel: &Kernel, out: &mut Lines) {
    let p = &plan.prefix;
    let mut parameters = vec![format!("int {p}blocks")];
    for r in &kernel.reductions {
        let kind = match plan.body.types.kind(r.ty) {
            TypeKind::Int(k) => int_name(*k, Dialect::Device),
            TypeKind::Float(k) => float_name(*k),
            _ => "void",
        };
        let part = accumulator_type(plan, r, Dialect::Device);
        parameters.push(format!("const {part} *__restrict__ {}", r.partial_name));
        parameters.push(format!("{kind} *__restrict__ {p}into_{}", r.name));
    }
    let start = format!("extern \"C\" __global__ void {}(", finish_name(plan));
    out.line(&format!("{start}{})", wrapped(&parameters, start.len(), "    ")));
    out.open("{");
    out.open(&format!("for (int {p}block = 0; {p}block < {p}blocks; {p}block++) {{"));
    for r in &kernel.reductions {
        out.line(&combine(r, &format!("{p}into_{}[0]", r.name), &format!("{}[{p}block]", r.partial_name)));
    }
    out.close("}");
    out.close("}");
}

/// A kernel's statement that combines `b` into `a`.
fn combine(r: &ReductionPlan, a: &str, b: &str) -> String {
    match (r.op, r.form) {
        (ReductionOp::Add, _) => format!("{a} += {b};"),
        (ReductionOp::Mul, _) => format!("{a} *= {b};"),
        (ReductionOp::BitAnd, _) => format!("{a} &= {b};"),
        (ReductionOp::BitOr, _) => format!("{a} |= {b};"),
        (ReductionOp::BitXor, _) => format!("{a} ^= {b};"),
        (ReductionOp::And, _) => format!("{a} = {a} && {b};"),
        (ReductionOp::Or, _) => format!("{a} = {a} || {b};"),
        (ReductionOp::Min, MinMaxForm::Compare) => format!("if ({b} < {a}) {a} = {b};"),
        (ReductionOp::Max, MinMaxForm::Compare) => format!("if ({b} > {a}) {a} = {b};"),
        // A NaN stays: it says that the loop itself must decide.
        (ReductionOp::Min, MinMaxForm::Ordered) => format!("if ({b} < {a} || {b} != {b}) {a} = {b};"),
        (ReductionOp::Max, MinMaxForm::Ordered) => format!("if ({b} > {a} || {b} != {b}) {a} = {b};"),
        (ReductionOp::ArgMin { .. } | ReductionOp::ArgMax { .. } | ReductionOp::Last, _) => String::new(),
        // As fmin and fmax: a NaN gives way to anything.
        (ReductionOp::Min, MinMaxForm::Function) => format!("if ({b} < {a} || {a} != {a}) {a} = {b};"),
        (ReductionOp::Max, MinMaxForm::Function) => format!("if ({b} > {a} || {a} != {a}) {a} = {b};"),
    }
}

/// A statement of the host that combines a partial result into the user's variable.
pub(crate) fn combine_on_host(plan: &Plan<'_>, r: &ReductionPlan, variable: Term, partial: Term) -> Term {
    if let (TypeKind::Int(k), Some(op)) = (plan.body.types.kind(r.ty), infix(r.op)) {
        let wide = wrapping_kind(r.op, *k);
        if wide != *k {
            let value = Term::binary(op, Term::cast(wide.c_name(), variable.clone()), partial);
            return variable.assign(Term::cast(k.c_name(), value));
        }
    }
    let combined = |op: BinOp| variable.clone().assign(Term::binary(op, variable.clone(), partial.clone()));
    let compound = |head| Term::head(head, vec![variable.clone(), partial.clone()]);
    let replaced = |op: BinOp| {
        let is_better = Term::binary(op, partial.clone(), variable.clone());
        let test = match r.form {
            MinMaxForm::Compare => is_better,
            // as fmin and fmax: a NaN gives way to anything; of a loop whose order decides no partial result is one
            MinMaxForm::Function | MinMaxForm::Ordered => {
                let is_nan = Term::binary(BinOp::Ne, variable.clone(), variable.clone());
                Term::binary(BinOp::Or, is_better, is_nan)
            }
        };
        Term::when(test, vec![variable.clone().assign(partial.clone())])
    };
    match r.op {
        ReductionOp::Add => compound("PlusAssignment"),
        ReductionOp::Mul => compound("MulAssignment"),
        ReductionOp::BitAnd => compound("BitAndAssignment"),
        ReductionOp::BitOr => compound("BitOrAssignment"),
        ReductionOp::BitXor => compound("BitXorAssignment"),
        ReductionOp::And => combined(BinOp::And),
        ReductionOp::Or => combined(BinOp::Or),
        ReductionOp::Min => replaced(BinOp::Lt),
        ReductionOp::Max => replaced(BinOp::Gt),
        // Kept with the iteration they come from: see `keyed`.
        ReductionOp::ArgMin { .. } | ReductionOp::ArgMax { .. } | ReductionOp::Last => Term::List(Vec::new()),
    }
}

/// The variable that notes a NaN, for reductions whose result then depends on the order.
pub(crate) fn nan_flag(plan: &Plan<'_>, r: &ReductionPlan, name: &str) -> Option<String> {
    let float = plan.body.types.as_float(r.ty).is_some();
    (float && r.form == MinMaxForm::Ordered).then(|| format!("{}nan_{name}", plan.prefix))
}

fn infix(op: ReductionOp) -> Option<BinOp> {
    match op {
        ReductionOp::Add => Some(BinOp::Add),
        ReductionOp::Mul => Some(BinOp::Mul),
        _ => None,
    }
}

/// After the loops: the tree, and the block's partial results to memory.
pub(crate) fn tree(plan: &Plan<'_>, kernel: &Kernel, out: &mut Lines) {
    let p = &plan.prefix;
    // the number of one of several, in the order of their axes
    let number = |of: Index, among: Index| {
        let of = |axis| index(plan, of, axis);
        let among = |axis| index(plan, among, axis);
        match kernel.dims.len() {
            1 => of('x'),
            2 => format!("{} + {} * {}", of('x'), among('x'), of('y')),
            _ => format!("{} + {} * ({} + {} * {})", of('x'), among('x'), of('y'), among('y'), of('z')),
        }
    };
    let thread = number(Index::Thread, Index::BlockSize);
    let block = number(Index::Block, Index::GridSize);
    let barrier = format!("{}();", plan.target.said(Word::Barrier(Scope::Block, Tally::Nothing)));
    let shared = plan.target.shared;
    out.line("");
    out.line("/* combine the threads of the block, always in the same order */");
    for r in &kernel.reductions {
        let ty = accumulator_type(plan, r, Dialect::Device);
        out.line(&format!("{shared} {ty} {p}all_{}[{BLOCK_THREADS}];", r.name));
    }
    keyed::shared(plan, kernel, BLOCK_THREADS, out);
    for r in &kernel.reductions {
        if let Some(flag) = nan_flag(plan, r, &r.name) {
            let nan = match plan.body.types.kind(r.ty) {
                TypeKind::Float(k) => float(f64::NAN, *k).0,
                _ => String::new(),
            };
            out.line(&format!("if ({flag}) {} = {nan};", r.name));
        }
    }
    out.line(&format!("const int {p}thread = (int)({thread});"));
    for r in &kernel.reductions {
        out.line(&format!("{p}all_{0}[{p}thread] = {0};", r.name));
    }
    keyed::store(plan, kernel, out);
    out.line(&barrier);
    let halved = match kernel.for_pages {
        // as pages read it
        true => format!("{p}half = {} / 2; {p}half > 0; {p}half >>= 1", index(plan, Index::BlockSize, 'x')),
        false => format!("{p}half = {}; {p}half > 0; {p}half /= 2", BLOCK_THREADS / 2),
    };
    out.open(&format!("for (int {halved}) {{"));
    out.open(&format!("if ({p}thread < {p}half) {{"));
    for r in &kernel.reductions {
        let all = format!("{p}all_{}", r.name);
        out.line(&combine(r, &format!("{all}[{p}thread]"), &format!("{all}[{p}thread + {p}half]")));
    }
    keyed::combine(plan, kernel, out);
    out.close("}");
    out.line(&barrier);
    out.close("}");
    out.open(&format!("if ({p}thread == 0) {{"));
    for r in &kernel.reductions {
        out.line(&format!("{}[{block}] = {p}all_{}[0];", r.partial_name, r.name));
    }
    keyed::leave(plan, kernel, &block, out);
    out.close("}");
}
