//! What a kernel is called with, in one order for declaration and call.

use std::collections::BTreeSet;

use analysis::{Expr, Param};
use term::SymbolId;

use super::expr::{Dialect, Exprs};
use super::host_expr::{pointer_text, symbol_text, term_text};
use super::{keyed, reduce};
use crate::plan::{Checked, Kernel, Plan};

/// One argument.
pub(crate) struct Arg {
    /// Declared in the kernel.
    pub(crate) declared: String,
    /// What the kernel is called with.
    pub(crate) value: Value,
}

/// What the host function calls the kernel with.
pub(crate) enum Value {
    /// It has that itself.
    Here(String),
    /// It has that itself, as a wider number than the kernel takes: an `int`.
    Narrowed(String),
    /// An expression of the plan.
    Expr(Expr),
    /// The value of a variable of the program.
    Variable(SymbolId),
    /// An array on the device, by its position among the plan's.
    Array(usize),
    /// A number of 64 bits that is computed where the function is called, and what it may be called.
    Number { wish: String, text: String },
    /// Likewise one that only the user's file can compute, and that never changes.
    Fixed { wish: String, text: String },
}

impl Arg {
    fn new(declaration: &str, name: &str, value: Value) -> Arg {
        Arg { declared: format!("{declaration}{name}"), value }
    }

    fn here(declaration: &str, name: &str) -> Arg {
        Arg::new(declaration, name, Value::Here(name.to_string()))
    }
}

/// All arguments, in order. `caller`: how the program's expressions are written where the host's function is called.
pub(crate) fn args(plan: &Plan<'_>, kernel: &Kernel, caller: &Exprs<'_>) -> Vec<Arg> {
    let device = Exprs { plan, kernel, dialect: Dialect::Device };
    let mut out = Vec::new();
    counts(plan, kernel, caller, &mut out);
    values(plan, kernel, [&device, caller], &mut out);
    memory(plan, kernel, &device, &mut out);
    out
}

/// Of loops and arrays: how many there are, where they begin.
fn counts(plan: &Plan<'_>, kernel: &Kernel, host: &Exprs<'_>, out: &mut Vec<Arg>) {
    let body = plan.body;
    for d in &kernel.dims {
        if plan.counts_in_int(kernel, d) {
            out.push(Arg::new("int ", &d.trips_name, Value::Narrowed(d.trips_name.clone())));
        } else if d.rectangular {
            out.push(Arg::here("long long ", &d.trips_name));
        }
        if d.lower_on_host {
            let ty = super::expr::int_name(d.index_type, Dialect::of_host(plan));
            let text = format!("({ty}){}", term_text(host, d.lower));
            let wish = format!("first_{}", body.symbols[d.index].name);
            out.push(Arg::new("long long ", &d.lower_name, Value::Number { wish, text }));
        }
        if let (analysis::Step::Term { term, .. }, true) = (&d.step, d.step_on_host) {
            let wish = format!("step_{}", body.symbols[d.index].name);
            let text = term_text(host, *term);
            out.push(Arg::new("long long ", &d.step_name, Value::Number { wish, text }));
        }
    }
    if let Some(t) = &kernel.threads {
        for (name, e) in t.params.iter().zip(&t.code.params) {
            out.push(Arg::new("long long ", name, Value::Expr(e.clone())));
        }
    }
    for b in plan.device_buffers().filter(|b| b.counted_from().is_none()) {
        out.push(Arg::here("long long ", &b.first_name));
    }
    for s in &kernel.strides {
        let b = &plan.buffers[s.buffer];
        if !b.on_device {
            continue;
        }
        if let Some(name) = b.rows.as_ref().and_then(|r| r.length_name(s.dimension)) {
            let wish = s.name.strip_prefix(&plan.prefix).unwrap_or(&s.name).to_string();
            out.push(Arg::new("long long ", &s.name, Value::Number { wish, text: name.to_owned() }));
            continue;
        }
        if let Some(length) = b.rows.as_ref().and_then(|r| r.length(s.dimension)) {
            out.push(Arg::new("long long ", &s.name, Value::Expr(length)));
            continue;
        }
        let row = format!("{}{}", body.symbols[b.symbol].name, "[0]".repeat(s.dimension));
        let text = format!("(long long)(sizeof({row}) / sizeof({row}[0]))");
        let wish = s.name.strip_prefix(&plan.prefix).unwrap_or(&s.name).to_string();
        out.push(Arg::new("long long ", &s.name, Value::Fixed { wish, text }));
    }
}

/// Of variables: what they hold, where loops count with them what they begin with, and where pointers point.
fn values(plan: &Plan<'_>, kernel: &Kernel, [device, host]: [&Exprs<'_>; 2], out: &mut Vec<Arg>) {
    let body = plan.body;
    for s in &kernel.scalars {
        let (name, ty) = (device.name(s.symbol), device.type_name(s.ty));
        out.push(Arg::new(&format!("{ty} "), &name, Value::Variable(s.symbol)));
    }
    let mut named = BTreeSet::new();
    for c in kernel.choices.iter().filter(|c| named.insert(&c.name)) {
        out.push(Arg::new("int ", &c.name, Value::Expr(Expr::Param(Param::Term(c.term)))));
    }
    for i in &kernel.inductions {
        let wish = format!("first_{}", body.symbols[i.symbol].name);
        let text = format!("({}){}", host.wide_name(), symbol_text(host, i.symbol));
        out.push(Arg::new("long long ", &i.start_name, Value::Number { wish, text }));
        if let Some((name, step)) = &i.by {
            out.push(Arg::new("long long ", name, Value::Expr(step.clone())));
        }
    }
    let base = |mut into: SymbolId| {
        while let Some(o) = kernel.views.iter().find(|o| o.symbol == into && o.into != into) {
            into = o.into;
        }
        match plan.buffers.iter().find(|b| b.symbol == into) {
            Some(b) if b.rank > 1 => format!("&{}{}", body.symbols[into].name, "[0]".repeat(b.rank)),
            _ => pointer_text(host, into),
        }
    };
    for v in kernel.views.iter().filter(|v| !v.declared_inside && !v.moves) {
        let (name, theirs) = (device.name(v.symbol), &body.symbols[v.symbol].name);
        let (wish, text) = (format!("{theirs}_at"), format!("(long long)({theirs} - {})", base(v.into)));
        out.push(Arg::new("long long ", &name, Value::Fixed { wish, text }));
    }
    for w in &kernel.walks {
        let theirs = &body.symbols[w.symbol].name;
        if let Some(name) = &w.start_name {
            let first = pointer_text(host, w.symbol);
            let (wish, text) = (format!("{theirs}_at"), format!("(long long)({first} - {})", base(w.into)));
            out.push(Arg::new("long long ", name, Value::Number { wish, text }));
        }
        if !w.step_name.is_empty() {
            out.push(Arg::new("long long ", &w.step_name, Value::Expr(w.step.clone())));
        }
    }
}

/// Of arrays, and of what blocks leave their results in.
fn memory(plan: &Plan<'_>, kernel: &Kernel, device: &Exprs<'_>, out: &mut Vec<Arg>) {
    for (k, b) in plan.buffers.iter().enumerate().filter(|(_, b)| b.on_device) {
        let quals = if b.written { "" } else { "const " };
        let ty = device.type_name(b.element);
        // Each buffer is an allocation of its own, so nothing else shows its cells.
        let declaration = format!("{quals}{ty} *__restrict__ ");
        if b.is_given() {
            out.push(Arg::new(&declaration, &b.kernel_name, Value::Array(k)));
        }
        if let Some(lengths) = plan.lengths_of_rows(b.symbol) {
            let here = Value::Here(lengths.device_name.clone());
            out.push(Arg::new("const int *__restrict__ ", &lengths.lengths_name, here));
        }
        if let Some(each) = &b.each {
            out.push(left(&ty, &each.kernel_name, &each.device_name));
        }
    }
    for r in &kernel.reductions {
        let ty = reduce::accumulator_type(plan, r, Dialect::Device);
        out.push(left(ty, &r.partial_name, &r.device_name));
    }
    if kernel.checked.is_any() {
        let Checked { fault_name, device_name, .. } = &kernel.checked;
        out.push(left("int", fault_name, device_name));
    }
    for k in &kernel.keyed {
        out.push(left("long long", &k.partial_name, &k.device_name));
        for v in keyed::noted(k) {
            let ty = keyed::type_name(plan, &v, Dialect::Device);
            out.push(left(ty, v.partial_name, v.device_name));
        }
    }
}

/// What blocks leave their results in.
fn left(ty: &str, partial: &str, on_device: &str) -> Arg {
    Arg::new(&format!("{ty} *__restrict__ "), partial, Value::Here(on_device.to_string()))
}
