//! What a kernel and its launcher are called with, in one order for declaration and call.

use term::TypeKind;

use super::expr::{Dialect, Exprs};
use super::host_expr::{element_name, expr, symbol_text, term_text, Helpers};
use super::{keyed, reduce};
use crate::plan::{Kernel, Plan};

/// One argument.
pub(crate) struct Arg {
    /// Declared as in the kernel; `None` if only the launcher needs it.
    pub(crate) in_kernel: Option<String>,
    /// Declared as in the launcher (C++).
    pub(crate) in_launcher: String,
    /// Declared as in the host's prototype (C).
    pub(crate) in_host: String,
    /// What the launcher passes on.
    pub(crate) pass: String,
    /// What the host passes.
    pub(crate) value: String,
}

impl Arg {
    fn same(declaration: &str, name: &str, value: &str) -> Arg {
        Arg {
            in_kernel: Some(format!("{declaration}{name}")),
            in_launcher: format!("{declaration}{name}"),
            in_host: format!("{declaration}{name}"),
            pass: name.to_string(),
            value: value.to_string(),
        }
    }
}

/// All arguments, in order.
pub(crate) fn args(plan: &Plan<'_>, kernel: &Kernel) -> Vec<Arg> {
    let device = Exprs { plan, kernel, dialect: Dialect::Device };
    let host = Exprs { plan, kernel, dialect: Dialect::Host };
    let mut out = Vec::new();
    counts(plan, kernel, &host, &mut out);
    values(plan, kernel, [&device, &host], &mut out);
    memory(plan, kernel, [&device, &host], &mut out);
    out
}

/// Of loops and arrays: how many there are, where they begin.
fn counts(plan: &Plan<'_>, kernel: &Kernel, host: &Exprs<'_>, out: &mut Vec<Arg>) {
    let body = plan.body;
    for d in &kernel.dims {
        let mut trips = Arg::same("long long ", &d.trips_name, &d.trips_name);
        if !d.rectangular {
            trips.in_kernel = None;
        }
        out.push(trips);
        if d.lower_on_host {
            let ty = super::expr::int_name(d.index_type, Dialect::Host);
            let value = format!("({ty}){}", term_text(host, d.lower));
            out.push(Arg::same("long long ", &d.lower_name, &value));
        }
        if let (analysis::Step::Term { term, .. }, true) = (&d.step, d.step_on_host) {
            out.push(Arg::same("long long ", &d.step_name, &term_text(host, *term)));
        }
    }
    if let Some(t) = &kernel.threads {
        let mut none = Helpers::default();
        for (name, e) in t.params.iter().zip(&t.code.params) {
            out.push(Arg::same("long long ", name, &expr(plan, e, &mut none)));
        }
    }
    for b in plan.device_buffers().filter(|b| b.constant_first().is_none()) {
        out.push(Arg::same("long long ", &b.first_name, &b.first_name));
    }
    for s in &kernel.strides {
        let b = &plan.buffers[s.buffer];
        if !b.on_device {
            continue;
        }
        let row = format!("{}{}", body.symbols[b.symbol].name, "[0]".repeat(s.dimension));
        let value = format!("(long long)(sizeof({row}) / sizeof({row}[0]))");
        out.push(Arg::same("long long ", &s.name, &value));
    }
}

/// Of variables: what they hold, where loops count with them what they begin with, and where pointers point.
fn values(plan: &Plan<'_>, kernel: &Kernel, [device, host]: [&Exprs<'_>; 2], out: &mut Vec<Arg>) {
    let body = plan.body;
    for s in &kernel.scalars {
        let (name, theirs) = (device.name(s.symbol), body.symbols[s.symbol].name.to_string());
        if matches!(body.types.kind(s.ty), TypeKind::Record(_)) {
            let ty = device.type_name(s.ty);
            out.push(Arg {
                in_kernel: Some(format!("{ty} {name}")),
                in_launcher: format!("const void *{name}"),
                in_host: format!("const void *{name}"),
                pass: format!("*(const {ty} *){name}"),
                value: format!("&{theirs}"),
            });
        } else {
            out.push(Arg {
                in_kernel: Some(format!("{} {name}", device.type_name(s.ty))),
                in_launcher: format!("{} {name}", device.type_name(s.ty)),
                in_host: format!("{} {name}", host.type_name(s.ty)),
                pass: name,
                value: theirs,
            });
        }
    }
    for i in &kernel.inductions {
        out.push(Arg::same(
            "long long ",
            &i.start_name,
            &format!("(long long){}", symbol_text(host, i.symbol)),
        ));
    }
    for v in kernel.views.iter().filter(|v| !v.declared_inside) {
        let (name, theirs) = (device.name(v.symbol), &body.symbols[v.symbol].name);
        let mut into = v.into;
        while let Some(o) = kernel.views.iter().find(|o| o.symbol == into) {
            into = o.into;
        }
        let base = match plan.buffers.iter().find(|b| b.symbol == into) {
            Some(b) if b.rank > 1 => format!("&{}{}", body.symbols[into].name, "[0]".repeat(b.rank)),
            _ => body.symbols[into].name.to_string(),
        };
        out.push(Arg::same("long long ", &name, &format!("(long long)({theirs} - {base})")));
    }
}

/// Of arrays, and of what blocks leave their results in.
fn memory(plan: &Plan<'_>, kernel: &Kernel, [device, host]: [&Exprs<'_>; 2], out: &mut Vec<Arg>) {
    let body = plan.body;
    for b in plan.device_buffers() {
        let quals = if b.written { "" } else { "const " };
        let name = &b.kernel_name;
        let ty = device.type_name(b.element);
        let record = matches!(body.types.kind(b.element), TypeKind::Record(_));
        let outside = if record { "void".to_string() } else { ty.clone() };
        out.push(Arg {
            // Each buffer is an allocation of its own, so nothing else shows its cells.
            in_kernel: Some(format!("{quals}{ty} *__restrict__ {name}")),
            in_launcher: format!("{quals}{outside} *{name}"),
            in_host: format!("{quals}{} *{name}", element_name(host, b)),
            pass: if record { format!("({quals}{ty} *){name}") } else { name.clone() },
            value: b.device_name.clone(),
        });
    }
    for r in &kernel.reductions {
        let of = |dialect| reduce::accumulator_type(plan, r, dialect);
        out.push(Arg {
            in_kernel: Some(format!("{} *__restrict__ {}", of(Dialect::Device), r.partial_name)),
            in_launcher: format!("{} *{}", of(Dialect::Device), r.partial_name),
            in_host: format!("{} *{}", of(Dialect::Host), r.partial_name),
            pass: r.partial_name.clone(),
            value: r.device_name.clone(),
        });
    }
    for k in &kernel.keyed {
        let mut add = |declared: [&str; 2], partial: &str, device: &str| {
            out.push(Arg {
                in_kernel: Some(format!("{} *__restrict__ {partial}", declared[0])),
                in_launcher: format!("{} *{partial}", declared[0]),
                in_host: format!("{} *{partial}", declared[1]),
                pass: partial.to_string(),
                value: device.to_string(),
            });
        };
        add(["long long"; 2], &k.partial_name, &k.device_name);
        for v in &k.variables {
            let of = |dialect| keyed::type_name(plan, v, dialect);
            add([of(Dialect::Device), of(Dialect::Host)], &v.partial_name, &v.device_name);
        }
    }
    if kernel.has_partials() {
        let name = format!("{}blocks", plan.prefix);
        out.push(Arg {
            in_kernel: None,
            in_launcher: format!("int *{name}"),
            in_host: format!("int *{name}"),
            pass: String::new(),
            value: format!("&{name}"),
        });
    }
}
