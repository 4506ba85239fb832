//! The host file's edits: includes and prototypes once, and a block around each offloaded loop.
//!
//! The block tests what the plan lists, copies in, launches, and copies out; `ww_done` then skips the original loop.
//! Arrays that the loop also reads come back into memory of their own and are put in place only when everything has
//! arrived; arrays that it only writes come back directly, since running the original loop over them again gives the
//! same result.

mod head;

pub(crate) use head::heads;

use analysis::{ConditionKind, Param};
use base::Span;
use term::{IntKind, TypeKind};

use self::head::head;
use super::args::args;
use super::expr::{Dialect, Exprs};
use super::host_expr::{element_name, expr, number, pred, quoted, symbol_text, term_text, Helpers};
use super::site::{closing, indentation, line_end, opening};
use super::{keyed, reduce, wrapped, wrapped_by};
use crate::lines::Lines;
use crate::plan::{constant, BufferPlan, HostValue, Kernel, Plan, ReductionPlan, TestKind};
use crate::{HostEdit, HostHead};

/// What the block needs before it, and the block's own edits.
pub(crate) fn edits(plan: &Plan<'_>, file_name: &str) -> (HostHead, Vec<HostEdit>) {
    let site = &plan.site;
    let eol = line_end(site.file_text);
    let (base, step) = indentation(site);
    let mut helpers = Helpers::default();
    let mut out = Lines::new(&step);
    block(plan, file_name, &mut out, &mut helpers);
    let (open_at, own_line) = opening(site);
    let mut before = indented(out.text(), &base);
    if !own_line {
        // The loop's own indentation stands before the first line already, and must stand before the loop again.
        before = format!("{}{base}", &before[base.len().min(before.len())..]);
    }
    let after = format!("\n{base}}}\n{base}}}");
    let edit =
        |from: usize, text: &str| HostEdit { span: Span::new(from, from), text: text.replace('\n', eol) };
    (head(plan, &helpers), vec![edit(open_at, &before), edit(closing(site), &after)])
}

/// Every line but directives and empty ones moved right.
fn indented(text: &str, base: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if !line.is_empty() && !line.starts_with('#') {
            out.push_str(base);
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Statements that do not compile where a struct is not laid out here as in the kernel.
fn layouts(plan: &Plan<'_>) -> Vec<String> {
    let types = &plan.body.types;
    let mut records: Vec<term::RecordId> = Vec::new();
    for b in plan.device_buffers() {
        let mut element = b.element;
        while let TypeKind::Array { of, .. } = types.kind(element) {
            element = *of;
        }
        match types.kind(element) {
            TypeKind::Record(r) if !records.contains(r) => records.push(*r),
            _ => {}
        }
    }
    let text = |r: &term::RecordId| {
        let (record, layout) = (types.record(*r), types.layout(*r)?);
        // one without a tag has no name that can be written here
        let is_tag = record.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_tag || record.name.is_empty() {
            return None;
        }
        let name = format!("struct {}", record.name);
        let mut same = vec![format!("sizeof({name}) == {}", layout.size)];
        let members = record.fields.iter().flatten().zip(&layout.members);
        same.extend(members.map(|(f, m)| format!("__builtin_offsetof({name}, {}) == {}", f.name, m.bit / 8)));
        let start = "(void)sizeof(char[";
        Some(format!(
            "{start}{} ? 1 : -1]); /* as in the kernel */",
            wrapped_by(&same, " &&", start.len(), "    ")
        ))
    };
    records.iter().filter_map(text).collect()
}

fn block(plan: &Plan<'_>, file_name: &str, out: &mut Lines, h: &mut Helpers) {
    let Some(kernel) = plan.kernels.first() else { return };
    let p = &plan.prefix;
    let host = Exprs { plan, kernel, dialect: Dialect::Host };
    out.open("{");
    out.line(&format!(
        "/* Warpwright: the loop below as {} on the GPU (see {file_name}). Where a test fails or a call",
        kernel.name
    ));
    out.line(
        "   does not succeed, nothing has been changed that the loop reads, and the loop itself runs. */",
    );
    out.line(&format!("int {p}done = 0;"));
    for line in layouts(plan) {
        out.line(&line);
    }
    out.flush_left(&format!("#ifndef {}", plan.target.host.off_switch));
    values(&host, true, out);
    // Trip counts that need nothing but values which may always be read.
    let early = |e: &analysis::Expr| {
        let mut used = Vec::new();
        crate::plan::expr_params(e, &mut used);
        plan.values.iter().filter(|v| used.contains(&v.param)).all(|v| v.early)
    };
    let (first, rest): (Vec<_>, Vec<_>) = kernel.dims.iter().partition(|d| early(&d.trips));
    let mut outer: Vec<(String, String)> = Vec::new();
    if plan.values.iter().any(|v| v.early && v.limit.is_some()) {
        outer.push((format!("{p}small"), "no size below overflows".to_string()));
    }
    for d in &first {
        outer.push((format!("{} > 0", d.trips_name), String::new()));
        out.line(&format!("const long long {} = {};", d.trips_name, expr(plan, &d.trips, h)));
    }
    if outer.is_empty() {
        outer.push(("1".to_string(), String::new()));
    }
    condition(&outer, out);
    values(&host, false, out);
    let mut inner: Vec<(String, String)> = Vec::new();
    if plan.values.iter().any(|v| !v.early && v.limit.is_some()) {
        inner.push((format!("{p}small_too"), "no size below overflows".to_string()));
    }
    for d in &rest {
        out.line(&format!("const long long {} = {};", d.trips_name, expr(plan, &d.trips, h)));
        inner.push((format!("{} > 0", d.trips_name), String::new()));
    }
    for (k, b) in plan.buffers.iter().enumerate() {
        extent(&host, k, b, out, h);
    }
    tests(&host, &mut inner, h);
    if inner.is_empty() {
        offload(&host, out, h);
    } else {
        condition(&inner, out);
        offload(&host, out, h);
        out.close("}");
    }
    out.close("}");
    out.flush_left("#endif");
    out.close(&format!("if (!{p}done) {{"));
}

/// Values read once. Those with a limit are 0 where they exceed it, and `small` says so.
fn values(host: &Exprs<'_>, early: bool, out: &mut Lines) {
    let plan = host.plan;
    let small = format!("{}{}", plan.prefix, if early { "small" } else { "small_too" });
    let mine: Vec<&HostValue> = plan.values.iter().filter(|v| v.early == early).collect();
    let text = |v: &HostValue| match v.param {
        Param::Symbol(s) => symbol_text(host, s),
        Param::Term(t) => term_text(host, t),
        Param::Distance { from, to } => format!("({} - {})", term_text(host, to), term_text(host, from)),
    };
    let mut limits = Vec::new();
    for v in &mine {
        let Some(limit) = v.limit else { continue };
        if v.kind.signed() {
            limits.push(format!("{} >= -{} && {} <= {}", text(v), number(limit), text(v), number(limit)));
        } else {
            limits.push(format!("{} <= {limit}u", text(v)));
        }
    }
    if !limits.is_empty() {
        out.line(&format!("const int {small} = {};", limits.join(" && ")));
    }
    for v in mine.iter().filter(|v| v.used) {
        let cast = if v.kind == IntKind::ULong || v.kind == IntKind::ULongLong { "(long long)" } else { "" };
        match v.limit {
            Some(_) => {
                out.line(&format!("const long long {} = {small} ? (long long){} : 0;", v.name, text(v)))
            }
            None => out.line(&format!("const long long {} = {cast}{};", v.name, text(v))),
        }
    }
}

/// `if (a /* why */ && b) {`
fn condition(parts: &[(String, String)], out: &mut Lines) {
    let short =
        parts.iter().all(|p| p.1.is_empty()) && parts.iter().map(|p| p.0.len() + 4).sum::<usize>() < 90;
    if short {
        let all: Vec<&str> = parts.iter().map(|p| p.0.as_str()).collect();
        return out.open(&format!("if ({}) {{", all.join(" && ")));
    }
    for (k, (text, why)) in parts.iter().enumerate() {
        let lead = if k == 0 { "if (" } else { "    && " };
        let end = if k + 1 == parts.len() { ") {" } else { "" };
        let why = if why.is_empty() { String::new() } else { format!(" /* {why} */") };
        out.line(&format!("{lead}{text}{end}{why}"));
    }
    out.indent();
}

fn cell(host: &Exprs<'_>, b: &BufferPlan) -> String {
    format!("{}{}", host.plan.body.symbols[b.symbol].name, "[0]".repeat(b.rank))
}

/// A pointer to the first element copied.
fn pointer(host: &Exprs<'_>, b: &BufferPlan) -> String {
    let base = if b.rank == 1 {
        host.plan.body.symbols[b.symbol].name.to_string()
    } else {
        format!("&{}", cell(host, b))
    };
    match b.constant_first() {
        Some(0) => base,
        Some(c) if c < 0 => format!("{base} - {}", number(-c)),
        Some(c) => format!("{base} + {}", number(c)),
        None => format!("{base} + {}", b.first_name),
    }
}

/// First element, number of elements, size in bytes.
fn extent(host: &Exprs<'_>, k: usize, b: &BufferPlan, out: &mut Lines, h: &mut Helpers) {
    let plan = host.plan;
    // What only the host reads, and nothing is compared with, has no size that matters.
    let sized = b.on_device
        || plan.tests.iter().any(|t| match t.kind {
            TestKind::Apart(i, j) => i == k || j == k,
            TestKind::Outside { buffer, .. } | TestKind::CellInBuffer { buffer, .. } => buffer == k,
            _ => false,
        });
    let counted =
        b.constant_count().is_none_or(|c| c <= 0) && plan.tests.iter().any(|t| t.kind == TestKind::Extent(k));
    if !sized && !counted {
        return;
    }
    let Some((first, last)) = &b.extent else {
        return out
            .line(&format!("const size_t {} = sizeof({});", b.bytes_name, plan.body.symbols[b.symbol].name));
    };
    if b.constant_first().is_none() {
        out.line(&format!("const long long {} = {};", b.first_name, expr(plan, first, h)));
    }
    let count = match b.constant_first() {
        Some(c) => expr(plan, &analysis::Expr::Add(vec![last.clone(), analysis::Expr::Int(1 - c)]), h),
        None => match constant(&analysis::Expr::Add(vec![last.clone()])) {
            Some(c) => format!("{} - {}", number(c + 1), b.first_name),
            None => {
                let end = expr(plan, &analysis::Expr::Add(vec![last.clone(), analysis::Expr::Int(1)]), h);
                format!("{end} - {}", b.first_name)
            }
        },
    };
    out.line(&format!("const long long {} = {count};", b.count_name));
    if !sized {
        return;
    }
    out.line(&format!(
        "const size_t {} = (size_t){} * sizeof({});",
        b.bytes_name,
        b.count_name,
        cell(host, b)
    ));
}

fn tests(host: &Exprs<'_>, parts: &mut Vec<(String, String)>, h: &mut Helpers) {
    let plan = host.plan;
    let name = |s| plan.body.symbols[s].name.to_string();
    for t in &plan.tests {
        match &t.kind {
            TestKind::Extent(k) => {
                let b = &plan.buffers[*k];
                if matches!(plan.body.types.kind(b.element), TypeKind::Record(_)) {
                    let why = "laid out as the kernel takes it".to_string();
                    parts.push((format!("sizeof({}) == {}", cell(host, b), b.element_size), why));
                }
                if b.extent.is_some() && b.constant_count().is_none_or(|c| c <= 0) {
                    let most = (1i128 << 62) / i128::from(b.element_size.max(1));
                    let why = format!("{} is used, and its size fits", name(b.symbol));
                    parts.push((format!("{0} > 0 && {0} <= {1}", b.count_name, number(most)), why));
                }
            }
            TestKind::Apart(i, j) => {
                h.apart = true;
                let (a, b) = (&plan.buffers[*i], &plan.buffers[*j]);
                let text = format!(
                    "{}apart({}, {}, {}, {})",
                    plan.prefix,
                    pointer(host, a),
                    a.bytes_name,
                    pointer(host, b),
                    b.bytes_name
                );
                parts.push((text, format!("{} and {} do not overlap", name(a.symbol), name(b.symbol))));
            }
            TestKind::Outside { symbol, buffer } => {
                h.apart = true;
                let b = &plan.buffers[*buffer];
                let s = name(*symbol);
                let text = format!(
                    "{}apart(&{s}, sizeof({s}), {}, {})",
                    plan.prefix,
                    pointer(host, b),
                    b.bytes_name
                );
                parts.push((text, format!("{s} does not lie in {}", name(b.symbol))));
            }
            TestKind::CellInBuffer { .. } | TestKind::CellInCell { .. } | TestKind::CellInVariable { .. } => {
                h.apart = true;
                parts.extend(cell_test(host, &t.kind));
            }
            TestKind::RecordSize { symbol, bytes } => {
                parts.push((
                    format!("sizeof({}) == {bytes}", name(*symbol)),
                    "laid out as the kernel takes it".to_string(),
                ));
            }
            TestKind::Holds(p) => {
                let text = pred(plan, p, 6, h);
                parts.push((text, t.meets.as_ref().map_or_else(String::new, |c| why(host, c))));
            }
            TestKind::FirstNotNegative(lower) => {
                let why = "compared as unsigned".to_string();
                parts.push((format!("{} >= 0", term_text(host, *lower)), why));
            }
        }
    }
}

/// That the cell of a reduction is nothing else that the kernel uses.
fn cell_test(host: &Exprs<'_>, kind: &TestKind) -> Option<(String, String)> {
    let plan = host.plan;
    let place = |k: usize| host.kernel.reductions.get(k).map(|r| term_text(host, r.place));
    let (cell, other, bytes, name) = match *kind {
        TestKind::CellInBuffer { cell, buffer } => {
            let b = plan.buffers.get(buffer)?;
            let name = plan.body.symbols[b.symbol].name.to_string();
            (place(cell)?, pointer(host, b), b.bytes_name.clone(), name)
        }
        TestKind::CellInCell { cell, other } => {
            let o = place(other)?;
            (place(cell)?, format!("&{o}"), format!("sizeof({o})"), o)
        }
        TestKind::CellInVariable { cell, symbol } => {
            let s = plan.body.symbols[symbol].name.to_string();
            (place(cell)?, format!("&{s}"), format!("sizeof({s})"), s)
        }
        _ => return None,
    };
    let text = format!("{}apart(&{cell}, sizeof({cell}), {other}, {bytes})", plan.prefix);
    Some((text, format!("{cell} does not lie in {name}")))
}

/// Which condition of the verdict a test meets.
fn why(host: &Exprs<'_>, c: &ConditionKind) -> String {
    let q = |t| quoted(host, t);
    match c {
        ConditionKind::NoWrap(t) => format!("{} does not wrap around", q(*t)),
        ConditionKind::Bounds { access, .. } => format!("{} stays inside its dimensions", q(*access)),
        ConditionKind::InRow { access, stride } => {
            format!("{} stays in its row of {}", q(*access), q(*stride))
        }
        ConditionKind::Injective(t) => format!("no two iterations see the same {}", q(*t)),
        ConditionKind::StepSign(t) => format!("{} has the sign the comparison needs", q(*t)),
        ConditionKind::Terminates(_) => "the loop ends".to_string(),
        ConditionKind::Trips(_) => "an inner loop runs as often as its bounds say".to_string(),
        ConditionKind::NoAlias(..)
        | ConditionKind::DistinctRows(_)
        | ConditionKind::Pure(_)
        | ConditionKind::Reassociate(..) => String::new(),
    }
}

/// Allocate, copy in, launch, copy out, put results in place, free.
fn offload(host: &Exprs<'_>, out: &mut Lines, h: &mut Helpers) {
    let (plan, kernel) = (host.plan, host.kernel);
    let (p, api) = (&plan.prefix, &plan.target.host);
    for f in &plan.finals {
        out.line(&format!(
            "const {} {} = ({})({});",
            f.kind.c_name(),
            f.name,
            f.kind.c_name(),
            expr(plan, &f.value, h)
        ));
    }
    let left = left_by_blocks(plan, kernel);
    let (mut steps, frees) = declarations(host, &left, out);
    steps.extend(calls(host, &left));
    let ordered: Vec<_> =
        kernel.reductions.iter().filter(|r| reduce::nan_flag(plan, r, "").is_some()).collect();
    let kind = if ordered.is_empty() { "const int" } else { "int" };
    let last = steps.len() - 1;
    for (k, s) in steps.iter().enumerate() {
        let lead = if k == 0 { format!("{kind} {p}ok = ") } else { "    && ".to_string() };
        out.line(&format!("{lead}{s}{}", if k == last { ";" } else { "" }));
    }
    if !ordered.is_empty() {
        out.open(&format!("for (int {p}block = 0; {p}ok && {p}block < {p}blocks; {p}block++) {{"));
        for r in &ordered {
            let part = format!("{}[{p}block]", r.partial_name);
            out.line(&format!("if ({part} != {part}) {p}ok = 0; /* a NaN: the loop's order decides */"));
        }
        out.close("}");
    }
    out.open(&format!("if ({p}ok) {{"));
    results(host, out);
    out.line(&format!("{p}done = 1;"));
    out.dedent();
    out.open("} else {");
    out.line(&format!("(void){}(); /* the loop takes over: leave no error behind */", api.last_error));
    out.close("}");
    for f in frees {
        out.line(&f);
    }
}

/// An array that blocks leave results in.
struct Left<'p> {
    ty: &'p str,
    /// Here, and on the device.
    partial: &'p str,
    device: &'p str,
}

/// What blocks leave of chosen values.
fn left_by_blocks<'p>(plan: &'p Plan<'_>, kernel: &'p Kernel) -> Vec<Left<'p>> {
    let mut left = Vec::new();
    for k in &kernel.keyed {
        left.push(Left { ty: "long long", partial: &k.partial_name, device: &k.device_name });
        for v in &k.variables {
            let ty = keyed::type_name(plan, v, Dialect::Host);
            left.push(Left { ty, partial: &v.partial_name, device: &v.device_name });
        }
    }
    left
}

/// Declares what is used on the way: what must hold of it first, and how it is given back.
fn declarations(host: &Exprs<'_>, left: &[Left<'_>], out: &mut Lines) -> (Vec<String>, Vec<String>) {
    let (plan, kernel) = (host.plan, host.kernel);
    let (p, api) = (&plan.prefix, &plan.target.host);
    let mut steps = Vec::new();
    let mut frees = Vec::new();
    for b in plan.device_buffers() {
        let ty = element_name(host, b);
        out.line(&format!("{ty} *{} = 0;", b.device_name));
        if b.staged {
            let cast = if ty == "void" { String::new() } else { format!("({ty} *)") };
            out.line(&format!("{ty} *{} = {cast}malloc({});", b.staging_name, b.bytes_name));
            steps.push(format!("{} != 0", b.staging_name));
            frees.push(format!("free({});", b.staging_name));
        }
        frees.push(format!("(void){}({});", api.free, b.device_name));
    }
    let blocks = kernel
        .most_blocks
        .iter()
        .zip(&kernel.block)
        .take(kernel.dims.len())
        .map(|(m, _)| *m as u64)
        .product::<u64>();
    for r in &kernel.reductions {
        let ty = reduce::accumulator_type(plan, r, Dialect::Host);
        out.line(&format!("{ty} {}[{blocks}];", r.partial_name));
        out.line(&format!("{ty} *{} = 0;", r.device_name));
        frees.push(format!("(void){}({});", api.free, r.device_name));
    }
    for Left { ty, partial, device } in left {
        out.line(&format!("{ty} {partial}[{blocks}];"));
        out.line(&format!("{ty} *{device} = 0;"));
        frees.push(format!("(void){}({device});", api.free));
    }
    if kernel.has_partials() {
        out.line(&format!("int {p}blocks = 0;"));
    }
    (steps, frees)
}

/// The calls one after the other, each of which must succeed.
fn calls(host: &Exprs<'_>, left: &[Left<'_>]) -> Vec<String> {
    let (plan, kernel) = (host.plan, host.kernel);
    let (p, api) = (&plan.prefix, &plan.target.host);
    let (copy, to_device, to_host) = (api.copy, api.to_device, api.to_host);
    let mut steps = Vec::new();
    let ok = |call: String| format!("{call} == {}", api.success);
    for b in plan.device_buffers() {
        steps.push(ok(format!("{}((void **)&{}, {})", api.allocate, b.device_name, b.bytes_name)));
    }
    for r in &kernel.reductions {
        steps.push(ok(format!("{}((void **)&{}, sizeof({}))", api.allocate, r.device_name, r.partial_name)));
    }
    for Left { partial, device, .. } in left {
        steps.push(ok(format!("{}((void **)&{device}, sizeof({partial}))", api.allocate)));
    }
    for b in plan.device_buffers().filter(|b| b.copy_in) {
        let from = pointer(host, b);
        steps.push(ok(format!("{copy}({}, {from}, {}, {to_device})", b.device_name, b.bytes_name)));
    }
    steps.push(launch(plan, kernel));
    steps.push(ok(format!("{}()", api.synchronize)));
    for r in &kernel.reductions {
        let size = format!("(size_t){p}blocks * sizeof({}[0])", r.partial_name);
        steps.push(ok(format!("{copy}({}, {}, {size}, {to_host})", r.partial_name, r.device_name)));
    }
    for Left { partial, device, .. } in left {
        let size = format!("(size_t){p}blocks * sizeof({partial}[0])");
        steps.push(ok(format!("{copy}({partial}, {device}, {size}, {to_host})")));
    }
    // What only the loop writes comes last and directly: nothing after it can fail but the like.
    for b in plan.device_buffers().filter(|b| b.staged) {
        steps.push(ok(format!("{copy}({}, {}, {}, {to_host})", b.staging_name, b.device_name, b.bytes_name)));
    }
    for b in plan.device_buffers().filter(|b| b.written && !b.staged) {
        steps.push(ok(format!(
            "{copy}({}, {}, {}, {to_host})",
            pointer(host, b),
            b.device_name,
            b.bytes_name
        )));
    }
    steps
}

/// Puts results where the loop would have.
fn results(host: &Exprs<'_>, out: &mut Lines) {
    let (plan, kernel) = (host.plan, host.kernel);
    let p = &plan.prefix;
    for b in plan.device_buffers().filter(|b| b.staged) {
        out.line(&format!("memcpy({}, {}, {});", pointer(host, b), b.staging_name, b.bytes_name));
    }
    if !kernel.reductions.is_empty() {
        out.open(&format!("for (int {p}block = 0; {p}block < {p}blocks; {p}block++) {{"));
        for r in &kernel.reductions {
            out.line(&reduce::combine_on_host(
                plan,
                r,
                &accumulator(host, r),
                &format!("{}[{p}block]", r.partial_name),
            ));
        }
        out.close("}");
    }
    for k in &kernel.keyed {
        keyed::on_host(plan, k, out);
    }
    for f in &plan.finals {
        out.line(&format!("{} = {};", plan.body.symbols[f.symbol].name, f.name));
    }
}

/// The user's variable or cell that a reduction ends in.
fn accumulator(host: &Exprs<'_>, r: &ReductionPlan) -> String {
    match r.cell {
        true => term_text(host, r.place),
        false => host.plan.body.symbols[r.symbol].name.to_string(),
    }
}

fn launch(plan: &Plan<'_>, kernel: &Kernel) -> String {
    let values: Vec<String> = args(plan, kernel).into_iter().map(|a| a.value).collect();
    let start = format!("{}(", kernel.launcher);
    format!("{start}{}) == {}", wrapped(&values, start.len() + 20, "           "), plan.target.host.success)
}
