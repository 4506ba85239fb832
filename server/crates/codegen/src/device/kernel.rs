//! The kernel file: structs, functions of the program, kernels, and the host's side.

use analysis::Step;
use term::strength::UNARY;
use term::{IntKind, Op};

use super::args::args;
use super::expr::{int_name, Dialect, Exprs};
use super::host::HostText;
use super::stmt::Stmts;
use super::{checked, field_name, keyed, number, reduce, rounds, threads, wrapped};
use crate::lines::{LineOrigin, Lines};
use crate::plan::{DeviceFunction, Dim, Kernel, Plan, RegionPlan};
use crate::HostSide;

/// The file's text, and where its lines come from.
pub(crate) fn file(plan: &Plan<'_>, file_name: &str, host: Option<&HostText>) -> (String, Vec<LineOrigin>) {
    let mut out = Lines::new("    ");
    let site = &plan.site;
    let indices: Vec<&str> =
        plan.kernels.iter().flat_map(|k| &k.dims).map(|d| &*plan.body.symbols[d.index].name).collect();
    let threads = plan.kernels.iter().any(|k| k.threads.is_some());
    let indices = if threads { &indices[..1] } else { &indices[..] };
    let what = match (threads, indices.len()) {
        (true, _) => "nest over",
        (_, 1) => "loop over",
        _ => "loops over",
    };
    out.line(&format!(
        "/* {}, line {}: the {what} {} in {}, as a {} kernel. Written by Warpwright.",
        site.file_name,
        site.line,
        indices.join(", "),
        plan.body.name,
        plan.target.title
    ));
    compiled(plan, std::slice::from_ref(plan), file_name, host, &mut out);
    for &r in &plan.records {
        out.line("");
        record(plan, r, &mut out);
    }
    for k in &plan.kernels {
        checked::helpers(plan, k, &mut Vec::new(), &mut out);
    }
    for f in &plan.functions {
        out.line("");
        function(plan, f, &mut out);
    }
    for k in &plan.kernels {
        out.line("");
        kernel(plan, k, &mut out);
    }
    for_host(plan, file_name, host, &mut out);
    let origins = out.origins(plan.body);
    (out.into_text(), origins)
}

/// The file of a region: the kernels of all its nests, what each of them needs once.
pub(crate) fn region_file(
    region: &RegionPlan<'_>,
    file_name: &str,
    host: Option<&HostText>,
) -> (String, Vec<LineOrigin>) {
    let outer = &region.outer;
    let mut out = Lines::new("    ");
    let count = region.nests.len();
    out.line(&format!(
        "/* {}, from line {}: {count} {} of {} as {} kernels, between which arrays stay on the GPU. Written by Warpwright.",
        outer.site.file_name,
        outer.site.line,
        if count == 1 { "nest" } else { "nests" },
        outer.body.name,
        outer.target.title
    ));
    compiled(outer, &region.nests, file_name, host, &mut out);
    for &r in &outer.records {
        out.line("");
        record(outer, r, &mut out);
    }
    let mut looked: Vec<String> = Vec::new();
    for (nest, k) in region.nests.iter().flat_map(|n| n.kernels.iter().map(move |k| (n, k))) {
        checked::helpers(nest, k, &mut looked, &mut out);
    }
    let mut known: Vec<(&str, &str)> = Vec::new();
    for nest in &region.nests {
        for f in &nest.functions {
            let name = (nest.prefix.as_str(), &*f.name);
            if !known.contains(&name) {
                known.push(name);
                out.line("");
                function(nest, f, &mut out);
            }
        }
    }
    for nest in &region.nests {
        for k in &nest.kernels {
            out.line("");
            kernel(nest, k, &mut out);
            if k.reductions.iter().any(|r| r.cell) {
                out.line("");
                reduce::finish(nest, k, &mut out);
            }
        }
    }
    for_host(outer, file_name, host, &mut out);
    let origins = out.origins(outer.body);
    (out.into_text(), origins)
}

/// The rest of the head: how it is compiled, what is included.
fn compiled(
    plan: &Plan<'_>,
    kernels: &[Plan<'_>],
    file_name: &str,
    host: Option<&HostText>,
    out: &mut Lines,
) {
    if plan.host() == HostSide::Method {
        return out.line("   Compiled without fused multiply-adds, which would round differently. */");
    }
    let (guard, compiler, _) = plan.target.file.run_time;
    let mut promises: Vec<String> = kernels.iter().flat_map(super::promises::relied_on).collect();
    promises.dedup();
    for promise in promises {
        out.line(&format!("   {promise}"));
    }
    let file = &plan.target.file;
    for line in format!("   Compile with {} {file_name}: {} */", file.compile, file.rounding).lines() {
        out.line(line);
    }
    if host.is_some() {
        out.flush_left(&format!("#ifndef {}", plan.target.host.off_switch));
    }
    if let Some(header) = plan.target.file.header {
        out.flush_left(&format!("#ifndef {guard} /* {compiler} knows it */"));
        out.flush_left(&format!("#include {header}"));
        out.flush_left("#endif");
    }
}

/// Behind the kernels the host's side, and what stands for it without the device.
fn for_host(plan: &Plan<'_>, file_name: &str, host: Option<&HostText>, out: &mut Lines) {
    if plan.host() == HostSide::Method {
        return;
    }
    let (guard, compiler, _) = plan.target.file.run_time;
    let off = plan.target.host.off_switch;
    out.line("");
    out.flush_left(&format!("#ifndef {guard} /* {compiler} compiles kernels only */"));
    for include in host.iter().flat_map(|h| &h.includes) {
        out.flush_left(&format!("#include {include}"));
    }
    if let Some(host) = host {
        if !host.includes.is_empty() {
            out.line("");
        }
        out.line(host.functions.trim_end());
    }
    out.flush_left("#endif");
    if let Some(host) = host {
        out.flush_left("");
        out.flush_left(&format!(
            "#else /* cc -x c -D{off} -c {file_name}: to build without {}, with the loop as it was */",
            plan.target.title
        ));
        for line in host.stand_in.lines() {
            out.flush_left(line);
        }
        out.flush_left("#endif");
    }
}

fn record(plan: &Plan<'_>, r: term::RecordId, out: &mut Lines) {
    let Some(k) = plan.kernels.first() else { return };
    let exprs = Exprs { plan, kernel: k, dialect: Dialect::Device };
    let types = &plan.body.types;
    let name = exprs.record_name(r);
    let (Some(form), Some(layout)) = (types.aligned_form(r), types.layout(r)) else { return };
    let ask = |bytes: Option<u64>| bytes.map_or_else(String::new, |n| format!("alignas({n}) "));
    out.open(&format!("struct {}{name} {{", ask(form.whole)));
    for (f, bytes) in types.record(r).fields.iter().flatten().zip(&form.members) {
        out.line(&format!("{}{};", ask(*bytes), exprs.declarator(f.ty, &field_name(&f.name))));
    }
    out.close("};");
    let holds = |what: String| format!("static_assert({what}, \"laid out as in {}\");", plan.site.file_name);
    out.line(&holds(format!("sizeof(struct {name}) == {}", layout.size)));
    let (guard, _, compiler) = plan.target.file.run_time;
    out.flush_left(&format!("#ifndef {guard} /* {compiler} has no offsetof */"));
    for (f, m) in types.record(r).fields.iter().flatten().zip(&layout.members) {
        let at = format!("__builtin_offsetof(struct {name}, {})", field_name(&f.name));
        out.line(&holds(format!("{at} == {}", m.bit / 8)));
    }
    out.flush_left("#endif");
}

/// A function of the program, for the device.
fn function(plan: &Plan<'_>, f: &DeviceFunction, out: &mut Lines) {
    let body = &*f.body;
    let (&Op::Function(symbol), &[params, list]) = (body.op(body.root), body.args(body.root)) else { return };
    let term::TypeKind::Function { ret, .. } = body.types.kind(body.symbols[symbol].ty) else { return };
    // Printed as a kernel's statements are, with the function's own terms and names.
    let Some(k) = plan.kernels.first() else { return };
    let inner = Kernel {
        dims: Vec::new(),
        scalars: Vec::new(),
        strides: Vec::new(),
        privates: Vec::new(),
        reductions: Vec::new(),
        inductions: Vec::new(),
        walks: Vec::new(),
        views: Vec::new(),
        names: f.names.clone(),
        body: list,
        has_continue: false,
        tables: Default::default(),
        checked: Default::default(),
        ..k.clone()
    };
    let own = Plan {
        ends: Vec::new(),
        body,
        target: plan.target,
        kernels: Vec::new(),
        buffers: Vec::new(),
        values: Vec::new(),
        guards: Vec::new(),
        tests: Vec::new(),
        first_values: Default::default(),
        finals: Vec::new(),
        records: f.records.clone(),
        functions: Vec::new(),
        notes: Vec::new(),
        site: plan.site,
        name: plan.name.clone(),
        prefix: plan.prefix.clone(),
    };
    let exprs = Exprs { plan: &own, kernel: &inner, dialect: Dialect::Device };
    let declared: Vec<String> = body
        .args(params)
        .iter()
        .filter_map(|&p| match body.op(p) {
            Op::Declare(s) => Some(exprs.variable(body.symbols[*s].ty, &exprs.name(*s))),
            _ => None,
        })
        .collect();
    let mut lines = Lines::new("    ");
    let start = format!("static __device__ {}(", exprs.variable(*ret, &exprs.function_name(&f.name)));
    lines.line(&heading(&start, &declared));
    lines.open("{");
    Stmts { exprs, out: &mut lines, instead: &[] }.block(list);
    lines.close("}");
    for line in lines.into_text().lines() {
        out.from(f.called_at, line);
    }
}

fn heading(start: &str, items: &[String]) -> String {
    format!("{start}{})", wrapped(items, start.len(), "    "))
}

fn kernel(plan: &Plan<'_>, k: &Kernel, out: &mut Lines) {
    let exprs = Exprs { plan, kernel: k, dialect: Dialect::Device };
    let arguments = args(plan, k, &Exprs { plan, kernel: k, dialect: Dialect::of_host(plan) });
    let declared: Vec<String> = arguments.into_iter().map(|a| a.declared).collect();
    out.line(&heading(&format!("extern \"C\" __global__ void {}(", k.name), &declared));
    out.open("{");
    for r in &k.reductions {
        let name = r.name.clone();
        let ty = reduce::accumulator_type(plan, r, Dialect::Device);
        out.line(&format!("{ty} {name} = {};", reduce::identity(plan, r)));
        if let Some(flag) = reduce::nan_flag(plan, r, &name) {
            out.line(&format!("bool {flag} = false; /* with a NaN, the result depends on the order */"));
        }
    }
    keyed::declare(plan, k, out);
    let for_pages = k.for_pages && !k.has_partials();
    for d in k.dims.iter().filter(|_| !for_pages) {
        match &k.threads {
            Some(_) => threads::id(plan, d, out),
            None => dim(&exprs, d, out),
        }
    }
    if for_pages {
        dims_for_pages(&exprs, out);
    }
    for c in k.keyed.iter().filter(|c| c.marks.is_empty()) {
        let counter = k.dims.first().map_or("0", |d| d.counter_name.as_str());
        out.line(&format!("{} = {counter};", c.at_name));
    }
    for i in &k.inductions {
        let name = exprs.name(i.symbol);
        let ty = int_name(i.kind, Dialect::Device);
        let counter = k.dims.first().map_or("0", |d| d.counter_name.as_str());
        // Unsigned, so that nothing on the way overflows.
        let sign = if i.step < 0 { '-' } else { '+' };
        let step = match &i.by {
            Some((name, _)) => format!("(unsigned long long){name}"),
            None => format!("{}ull", i.step.unsigned_abs()),
        };
        let by = format!("{step} * (unsigned long long){counter}");
        let moved = format!("(unsigned long long){} {sign} {by}", i.start_name);
        out.line(&format!("{ty} {name} = ({ty})({moved});"));
    }
    positions(&exprs, out);
    own_cells(&exprs, out);
    for &s in &k.privates {
        let name = exprs.name(s);
        out.line(&format!("{};", exprs.declarator(plan.body.symbols[s].ty, &name)));
    }
    // A `continue` must end this iteration and no more.
    let wrap = k.has_continue && k.dims.last().is_some_and(|d| !d.strided);
    if wrap {
        out.open("do {");
    }
    match &k.threads {
        Some(plan) => threads::code(&exprs, plan, out),
        None => Stmts { exprs, out, instead: &[] }.block(k.body),
    }
    if wrap {
        out.close("} while (0);");
    }
    // one guard of all where pages are to read it
    for _ in k.dims.iter().take(if for_pages { 1 } else { k.dims.len() }) {
        out.close("}");
    }
    if k.has_partials() {
        reduce::tree(plan, k, out);
    }
    out.close("}");
}

/// Where the cells are that an iteration has for itself.
fn own_cells(exprs: &Exprs<'_>, out: &mut Lines) {
    let (plan, k) = (exprs.plan, exprs.kernel);
    let mine: Vec<_> = plan.device_buffers().filter_map(|b| Some((b, b.each.as_ref()?))).collect();
    if mine.is_empty() {
        return;
    }
    let (mut thread, mut threads) = (String::new(), String::new());
    let mut axes: Vec<char> = k.dims.iter().map(|d| d.axis.letter()).collect();
    axes.sort_unstable();
    for a in axes.into_iter().rev() {
        let (first, many) = rounds(plan, a);
        thread = match thread.is_empty() {
            true => first,
            false => format!("({thread}) * ({many}) + {first}"),
        };
        threads = if threads.is_empty() { many } else { format!("({threads}) * ({many})") };
    }
    let p = &plan.prefix;
    let (my, all) = (format!("{p}thread"), format!("{p}threads"));
    out.line(&format!("const long long {my} = {thread};"));
    out.line(&format!("const long long {all} = {threads};"));
    let is_last: Vec<String> =
        k.dims.iter().map(|d| format!("{} == {} - 1", d.counter_name, d.trips_name)).collect();
    let last = format!("{p}is_last");
    if mine.iter().any(|m| m.1.kept) {
        out.line(&format!("const bool {last} = {}; /* whose results stay */", is_last.join(" && ")));
    }
    for (b, each) in mine {
        let (ty, at, step) = (exprs.type_name(b.element), &each.at_name, &each.step_name);
        let rows = format!("{} + {my}", each.kernel_name);
        let (where_, by) = match each.kept {
            true => (format!("{last} ? {} : {rows}", b.kernel_name), format!("{last} ? 1 : {all}")),
            false => (rows, all.clone()),
        };
        out.line(&format!("{ty} *const {at} = {where_};"));
        out.line(&format!("const long long {step} = {by};"));
    }
}

/// Where pointers that move stand when the iteration begins.
fn positions(exprs: &Exprs<'_>, out: &mut Lines) {
    let k = exprs.kernel;
    let counter = k.dims.first().map_or("0", |d| d.counter_name.as_str());
    for v in k.views.iter().filter(|v| v.moves && !v.declared_inside) {
        let name = exprs.name(v.symbol);
        let Some(w) = k.walks.iter().find(|w| w.symbol == v.symbol) else {
            out.line(&format!("long long {name};"));
            continue;
        };
        let (negative, moved) = match crate::plan::constant(&w.step) {
            Some(1) => (false, counter.to_string()),
            Some(-1) => (true, counter.to_string()),
            Some(s) => (s < 0, format!("{} * (long long){counter}", s.unsigned_abs())),
            None => (false, format!("{} * {counter}", w.step_name)),
        };
        let mut text = match (&w.start_name, negative) {
            (Some(start), false) => format!("{start} + {moved}"),
            (Some(start), true) => format!("{start} - {moved}"),
            (None, false) => moved,
            (None, true) => format!("-(long long){moved}"),
        };
        match w.shift {
            0 => {}
            s if s < 0 => text = format!("{text} - {}", s.unsigned_abs()),
            s => text = format!("{text} + {s}"),
        }
        let fixed = if w.moves_inside { "" } else { "const " };
        out.line(&format!("{fixed}long long {name} = {text};"));
    }
}

/// One parallel loop: this thread's iteration, the guard, the index.
fn dim(exprs: &Exprs<'_>, d: &Dim, out: &mut Lines) {
    let body = exprs.plan.body;
    let a = d.axis.letter();
    let t = &d.counter_name;
    let (start, round) = rounds(exprs.plan, a);
    let in_int = exprs.plan.counts_in_int(exprs.kernel, d);
    if in_int && is_counter(exprs, d) {
        let name = exprs.name(d.index);
        out.from(d.term, &format!("const int {name} = {};", number(exprs.plan, a)));
        out.from(d.term, &format!("if ({name} < {}) {{", d.trips_name));
        out.indent();
        return;
    }
    let (value, is_int) = if d.pointer { (String::new(), false) } else { index_value(exprs, d, in_int) };
    let guard = if d.rectangular {
        format!("{t} < {}", d.trips_name)
    } else {
        let bound = match d.bound.map(|b| (b, body.op(b))) {
            None => "0".to_string(),
            Some((_, Op::Int(v))) => format!("{v}"),
            Some((b, _)) => format!("(long long){}", exprs.at(b, UNARY)),
        };
        format!("{value} {} {bound}", d.relation.symbol())
    };
    if d.strided {
        let line = format!("for (long long {t} = {start}; {guard}; {t} += {round}) {{");
        let line = if line.len() > 110 {
            format!("for (long long {t} = {start}; {guard};\n     {t} += {round}) {{")
        } else {
            line
        };
        out.from(d.term, &line);
    } else {
        match in_int {
            true => out.from(d.term, &format!("const int {t} = {};", number(exprs.plan, a))),
            false => out.from(d.term, &format!("const long long {t} = {start};")),
        }
        out.from(d.term, &format!("if ({guard}) {{"));
    }
    out.indent();
    if d.pointer || !is_named(exprs, d) {
        return;
    }
    let ty = int_name(d.index_type, Dialect::Device);
    let name = exprs.name(d.index);
    let value = if d.index_type == IntKind::LongLong || is_int {
        value
    } else if value == *t {
        format!("({ty}){value}")
    } else {
        format!("({ty})({value})")
    };
    // Where the body moves its index, each thread moves its own.
    let fixed = if d.moves_inside { "" } else { "const " };
    out.from(d.term, &format!("{fixed}{ty} {name} = {value};"));
}

/// The parallel loops as rule pages read them ([`Plan::for_pages`]): all indices, columns first, then one guard.
fn dims_for_pages(exprs: &Exprs<'_>, out: &mut Lines) {
    let mut dims: Vec<&Dim> = exprs.kernel.dims.iter().collect();
    dims.sort_by_key(|d| d.axis);
    let guards = dims.iter().map(|d| {
        let name = exprs.name(d.index);
        let (first, end) = match exprs.plan.body.op(d.lower) {
            Op::Int(v) if *v > 0 => (format!(" + {v}"), format!("{} + {v}", d.trips_name)),
            _ => (String::new(), d.trips_name.clone()),
        };
        let is = number(exprs.plan, d.axis.letter());
        out.from(d.term, &format!("const int {name} = {is}{first};"));
        format!("{name} < {end}")
    });
    let guards: Vec<String> = guards.collect();
    out.line(&format!("if ({}) {{", guards.join(" && ")));
    out.indent();
}

/// Whether the kernel names the index: compilers warn of one that nothing names.
fn is_named(exprs: &Exprs<'_>, d: &Dim) -> bool {
    let body = exprs.plan.body;
    let names = |t| body.walk(t).any(|x| body.as_symbol(x) == Some(d.index));
    let dims = &exprs.kernel.dims;
    // what the host computes is not written here
    let lower = |o: &Dim| !o.lower_on_host && names(o.lower);
    let bound = |o: &Dim| !o.rectangular && o.bound.is_some_and(names);
    names(exprs.kernel.body) || dims.iter().any(|o| lower(o) || bound(o))
}

/// Whether the index is the thread's number.
fn is_counter(exprs: &Exprs<'_>, d: &Dim) -> bool {
    let from_zero = !d.lower_on_host && d.shift == 0 && *exprs.plan.body.op(d.lower) == Op::Int(0);
    let is_plain = from_zero && !d.moves_inside && matches!(d.step, Step::Const(1));
    let moves = !exprs.kernel.inductions.is_empty() || !exprs.kernel.walks.is_empty();
    is_plain && d.index_type == IntKind::Int && !moves && is_named(exprs, d)
}

/// `lower + step * iteration`: in 64 bits, or in `int`, where `in_int` says that the iteration is one and every value of the
/// index is the one sum. With it, whether it is an `int`.
fn index_value(exprs: &Exprs<'_>, d: &Dim, in_int: bool) -> (String, bool) {
    let body = exprs.plan.body;
    let is_int = in_int
        && d.index_type == IntKind::Int
        && d.shift == 0
        && !d.lower_on_host
        && matches!(d.step, Step::Const(1 | -1));
    let wide = if is_int { "" } else { "(long long)" };
    let t =
        &if in_int && !is_int { format!("(long long){}", d.counter_name) } else { d.counter_name.clone() };
    let lower = if d.lower_on_host {
        d.lower_name.clone()
    } else {
        match body.op(d.lower) {
            Op::Int(0) => String::new(),
            Op::Int(v) => d.index_type.wrap(*v).to_string(),
            _ if body.types.as_int(body.ty(d.lower)) == Some(d.index_type) => {
                // the sum with what is not negative
                let strength = if is_int { term::strength::ADD } else { UNARY };
                format!("{wide}{}", exprs.at(d.lower, strength))
            }
            _ => format!("{wide}({}){}", int_name(d.index_type, Dialect::Device), exprs.at(d.lower, UNARY)),
        }
    };
    let (negative, part) = match &d.step {
        Step::Const(1) => (false, t.clone()),
        Step::Const(-1) => (true, t.clone()),
        Step::Const(s) => (*s < 0, format!("{} * {t}", s.unsigned_abs())),
        Step::Term { term, negated } => {
            let by = if d.step_on_host {
                d.step_name.clone()
            } else {
                format!("(long long){}", exprs.at(*term, UNARY))
            };
            (*negated, format!("{by} * {t}"))
        }
    };
    let lower = match (d.shift, lower.is_empty()) {
        (0, _) => lower,
        (s, true) => s.to_string(),
        (s, false) if s < 0 => format!("{lower} - {}", s.unsigned_abs()),
        (s, false) => format!("{lower} + {s}"),
    };
    let value = match (lower.is_empty(), negative) {
        (true, false) => part,
        (true, true) => format!("-{part}"),
        (false, false) => format!("{lower} + {part}"),
        (false, true) => format!("{lower} - {part}"),
    };
    (value, is_int)
}
