//! The host's side of a loop: a function beside the kernel that stands for it, and the call of that function in the user's
//! file, where the loop stays for when it says no.
//!
//! The function tests what the plan lists, copies in, launches, and copies out. Arrays that the loop also reads come back
//! into memory of their own and are put in place only when everything has arrived; arrays that it only writes come back
//! directly, since running the original loop over them again gives the same result.

mod call;
mod checks;
mod given;

pub(crate) use call::{edits, heads};

use analysis::Param;
use term::strength::{ADD, AND, NONE};
use term::{BinOp, TypeKind};

use self::given::{has_type, Givens};
use super::args::{args, Value};
use super::expr::{Dialect, Exprs};
use super::host_expr::{Helpers, Named, Scope};
use super::host_term::Term;
use super::{keyed, reduce, wrapped};
use crate::lines::Lines;
use crate::plan::{Axis, BufferPlan, Dim, Kernel, Plan, ReductionPlan, Test, TestKind};

/// The host's side of a plan, in three texts.
pub(crate) struct HostText {
    /// For the kernel file: helper functions, and the function that stands for the loop.
    pub(crate) functions: String,
    /// The same for who builds without the device: it always says no. C.
    pub(crate) stand_in: String,
    /// Headers that the functions need.
    pub(crate) includes: Vec<&'static str>,
    /// For the user's file.
    pub(crate) call: call::Call,
}

/// What the function that stands for the loop is called.
pub(crate) fn function_name(plan: &Plan<'_>) -> String {
    format!("{}{}", plan.name, crate::ON_GPU)
}

/// Writes the host's side.
pub(crate) fn text(plan: &Plan<'_>, file_name: &str) -> Option<HostText> {
    let kernel = plan.kernels.first()?;
    let mut host = Host {
        plan,
        kernel,
        c: Exprs { plan, kernel, dialect: Dialect::Host },
        cpp: Exprs { plan, kernel, dialect: Dialect::Device },
        given: Givens::new(plan, kernel),
        helpers: Helpers::default(),
    };
    let mut body = Lines::new("    ");
    body.indent();
    host.body(&mut body);
    let name = function_name(plan);
    let given = &host.given;
    let heading = |start: &str, all: Vec<String>| match all.is_empty() {
        true => format!("{start}void)"),
        false => format!("{start}{})", wrapped(&all, start.len(), "    ")),
    };
    let in_cpp: Vec<String> =
        given.all.iter().map(|g| format!("{}{}", type_before_name(&g.ty), g.name)).collect();
    let in_c: Vec<String> = given.all.iter().map(|g| g.in_c.clone()).collect();
    let mut functions = host.helper_functions();
    functions.push_str(&format!(
        "/* Runs the {} of {}, line {}, on the GPU. 0: it did not, nothing has changed that the loop reads, and\n   \
         the loop itself is to run. */\n{}\n{{\n{}}}\n",
        if kernel.threads.is_some() { "nest" } else { "loop" },
        plan.site.file_name,
        plan.site.line,
        heading(&format!("extern \"C\" int {name}("), in_cpp),
        body.text()
    ));
    let mut stand_in = "#ifdef __cplusplus\nextern \"C\"\n#endif\n".to_string();
    stand_in.push_str(&format!("{}\n{{\n", heading(&format!("int {name}("), in_c.clone())));
    let unused: Vec<String> = given.all.iter().map(|g| format!("(void){}", g.name)).collect();
    if !unused.is_empty() {
        stand_in.push_str(&format!("    {};\n", wrapped(&unused, 4, "    ")));
    }
    stand_in.push_str("    return 0;\n}\n");
    let staged = plan.device_buffers().any(|b| b.staged);
    let wanted = [("<stdint.h>", host.helpers.apart.get()), ("<stdlib.h>", staged), ("<string.h>", staged)];
    let prototype = format!("{};", heading(&format!("extern int {name}("), in_c));
    Some(HostText {
        functions,
        stand_in,
        includes: wanted.into_iter().filter(|w| w.1).map(|w| w.0).collect(),
        call: host.call(&name, prototype, file_name),
    })
}

/// What the function is written from.
struct Host<'p> {
    plan: &'p Plan<'p>,
    kernel: &'p Kernel,
    c: Exprs<'p>,
    cpp: Exprs<'p>,
    given: Givens<'p>,
    helpers: Helpers,
}

impl<'p> Host<'p> {
    /// Makes sure that the values of some expressions are given; then they can be written.
    fn need(&mut self, params: &[Param]) {
        for p in params {
            self.given.value(p);
        }
    }

    fn need_all(&mut self, e: &analysis::Expr) {
        let mut used = Vec::new();
        crate::plan::expr_params(e, &mut used);
        self.need(&used);
    }

    /// An expression of the plan.
    fn expr(&mut self, e: &analysis::Expr) -> Term {
        self.need_all(e);
        self.scoped(|scope| scope.expr(e))
    }

    fn pred(&mut self, p: &analysis::Pred) -> Term {
        let mut used = Vec::new();
        crate::plan::pred_params(p, &mut used);
        self.need(&used);
        self.scoped(|scope| scope.pred(p))
    }

    fn scoped(&mut self, print: impl FnOnce(&Scope<'_>) -> Term) -> Term {
        // what is asked for is given by now
        let given = std::cell::RefCell::new(&mut self.given);
        let values = |p: &Param| -> Option<Named> { given.borrow_mut().value(p) };
        print(&Scope { helper: &self.plan.name, values: &values, helpers: Some(&self.helpers) })
    }

    fn helper_functions(&self) -> String {
        // several kernel files may be one text
        let p = &self.plan.name;
        let h = &self.helpers;
        let two = "long long a, long long b";
        let all = [
            (h.min.get(), "min", two, "long long", "a < b ? a : b"),
            (h.max.get(), "max", two, "long long", "a > b ? a : b"),
            (h.floor_div.get(), "floor_div", two, "long long", "a / b - (a % b < 0)"),
            (
                h.apart.get(),
                "apart",
                "const void *a, size_t a_bytes, const void *b, size_t b_bytes",
                "bool",
                "(uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a",
            ),
        ];
        all.into_iter()
            .filter(|f| f.0)
            .map(|(_, name, parameters, result, value)| {
                format!("static {result} {p}_{name}({parameters})\n{{\n    return {value};\n}}\n\n")
            })
            .collect()
    }

    fn body(&mut self, out: &mut Lines) {
        let plan = self.plan;
        // in the order in which a reader would give them: sizes, scalars, arrays, results
        let params: Vec<Param> = plan.values.iter().map(|v| v.param).collect();
        self.need(&params);
        for s in &self.kernel.scalars {
            self.given.variable(s.symbol);
        }
        for b in &plan.buffers {
            if self.is_sized(b) || b.on_device {
                self.given.array(b);
            }
        }
        if let Some(limits) = self.limits() {
            unless(&[limits], out);
        }
        let mut counts: Vec<String> = Vec::new();
        for d in &self.kernel.dims {
            let trips = self.expr(&d.trips).c(NONE);
            out.line(&format!("const long long {} = {trips};", d.trips_name));
            counts.push(format!("{} <= 0", d.trips_name));
        }
        out.open(&format!("if ({}) {{", counts.join(" || ")));
        out.line("return 0;");
        out.close("}");
        for b in &plan.buffers {
            self.extent(b, out);
        }
        unless(&self.tests(), out);
        let grid = self.grid(out);
        self.offload(&grid, out);
    }

    /// Whether the array's size in bytes is needed: what only the host reads, and nothing is compared with, has none that
    /// matters.
    fn is_sized(&self, b: &BufferPlan) -> bool {
        let is = |k: usize| self.plan.buffers.get(k).is_some_and(|o| o.symbol == b.symbol);
        b.on_device
            || self.plan.tests.iter().any(|t| match t.kind {
                TestKind::Apart(i, j) => is(i) || is(j),
                TestKind::Outside { buffer, .. } | TestKind::CellInBuffer { buffer, .. } => is(buffer),
                _ => false,
            })
    }

    /// `sizeof(double)`
    fn element_size(&self, b: &BufferPlan) -> String {
        match has_type(self.plan, b) {
            true => format!("sizeof({})", self.cpp.type_name(b.element)),
            false => b.element_size.to_string(),
        }
    }

    /// First element, number of elements, size in bytes.
    fn extent(&mut self, b: &BufferPlan, out: &mut Lines) {
        let plan = self.plan;
        let k = plan.buffers.iter().position(|o| o.symbol == b.symbol);
        let is_tested = |t: &Test| matches!(t.kind, TestKind::Extent(j) if Some(j) == k);
        let is_counted =
            plan.tests.iter().any(is_tested) && k.is_some_and(|k| plan.count_tests(k) != (false, None));
        let is_sized = self.is_sized(b);
        if !is_sized && !is_counted {
            return;
        }
        let size = self.element_size(b);
        let bytes = |count: &str| format!("const size_t {} = {count} * {size};", b.bytes_name);
        let Some((first, last)) = &b.extent else {
            let symbol = &plan.body.symbols[b.symbol];
            let whole = plan.body.types.size_align(symbol.ty).map(|s| s.0 / b.element_size.max(1));
            return match whole {
                Some(count) => out.line(&bytes(&count.to_string())),
                None => {
                    let name = self.given.bytes(&format!("{}_bytes", symbol.name), &symbol.name);
                    out.line(&format!("const size_t {} = {name};", b.bytes_name));
                }
            };
        };
        if b.constant_first().is_none() {
            let first = self.expr(first).c(NONE);
            out.line(&format!("const long long {} = {first};", b.first_name));
        }
        let plus = |n: i128| analysis::Expr::Add(vec![last.clone(), analysis::Expr::Int(n)]);
        let count = match b.constant_first() {
            Some(c) => self.expr(&plus(1 - c)).c(NONE),
            None => format!("{} - {}", self.expr(&plus(1)).c(ADD), b.first_name),
        };
        if is_counted {
            out.line(&format!("const long long {} = {count};", b.count_name));
        }
        if is_sized {
            let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
            let count = match (is_counted, count.chars().all(is_name)) {
                (true, _) => b.count_name.clone(),
                (false, true) => count,
                (false, false) => format!("({count})"),
            };
            out.line(&bytes(&format!("(size_t){count}")));
        }
    }

    /// A pointer to the first element copied.
    fn pointer(&mut self, b: &BufferPlan) -> Term {
        let base = Term::Name(self.given.array(b));
        let first = b.constant_first().map_or_else(|| Term::name(&b.first_name), Term::Int);
        if !has_type(self.plan, b) {
            let bytes = Term::binary(BinOp::Mul, first, Term::Int(i128::from(b.element_size)));
            return Term::binary(BinOp::Add, Term::cast("const char*", base), bytes);
        }
        match first {
            Term::Int(0) => base,
            Term::Int(c) if c < 0 => Term::binary(BinOp::Sub, base, Term::Int(-c)),
            first => Term::binary(BinOp::Add, base, first),
        }
    }

    /// How many blocks there are along every axis; tests that there may be so many.
    fn grid(&self, out: &mut Lines) -> Vec<String> {
        let (plan, kernel) = (self.plan, self.kernel);
        let p = &plan.prefix;
        debug_assert!(kernel.dims.iter().all(|d| d.relation != BinOp::Ne));
        let mut counts: Vec<String> = Vec::new();
        for axis in [Axis::X, Axis::Y, Axis::Z] {
            let Some(d) = kernel.dims.iter().find(|d| d.axis == axis) else { continue };
            let (n, most, a) =
                (kernel.block[axis.number()], kernel.most_blocks[axis.number()], axis.letter());
            let count = match n {
                1 => d.trips_name.clone(),
                n => format!("({} + {}) / {n}", d.trips_name, n - 1),
            };
            if d.strided {
                out.line(&format!("const long long {p}all_{a} = {count};"));
                let least = format!("{p}all_{a} < {most} ? {p}all_{a} : {most}");
                out.line(&format!("const long long {p}grid_{a} = {least};"));
            } else if plan.range(&d.trips).1 <= i128::from(n) * i128::from(most) && !kernel.has_partials() {
                counts.push(format!("(unsigned int)({count})"));
                continue;
            } else {
                out.line(&format!("const long long {p}grid_{a} = {count};"));
                out.open(&format!("if ({p}grid_{a} > {most}) {{"));
                out.line("return 0;");
                out.close("}");
            }
            counts.push(format!("(unsigned int){p}grid_{a}"));
        }
        if kernel.has_partials() {
            let along = |d: &Dim| format!("{p}grid_{}", d.axis.letter());
            let product: Vec<String> = kernel.dims.iter().map(along).collect();
            let product = match product.as_slice() {
                [one] => one.clone(),
                all => format!("({})", all.join(" * ")),
            };
            out.line(&format!("const int {p}blocks = (int){product};"));
        }
        counts
    }

    /// Allocate, copy in, launch, copy out, put results in place, free.
    fn offload(&mut self, grid: &[String], out: &mut Lines) {
        let (plan, kernel) = (self.plan, self.kernel);
        let (p, api) = (&plan.prefix, &plan.target.host);
        let left = left_by_blocks(plan, kernel);
        let (mut steps, frees) = self.declarations(&left, out);
        steps.extend(self.calls_before(&left));
        all_succeed(&format!("bool {p}ok"), &steps, out);
        out.open(&format!("if ({p}ok) {{"));
        let launch = self.launch(grid);
        out.line(&launch);
        all_succeed(&format!("{p}ok"), &self.calls_behind(&left), out);
        out.close("}");
        let ordered: Vec<_> =
            kernel.reductions.iter().filter(|r| reduce::nan_flag(plan, r, "").is_some()).collect();
        if !ordered.is_empty() {
            out.open(&format!("for (int {p}block = 0; {p}ok && {p}block < {p}blocks; {p}block++) {{"));
            for r in &ordered {
                let part = format!("{}[{p}block]", r.partial_name);
                out.line(&format!(
                    "if ({part} != {part}) {p}ok = false; /* a NaN: the loop's order decides */"
                ));
            }
            out.close("}");
        }
        let results = self.results();
        if results.is_empty() {
            out.open(&format!("if (!{p}ok) {{"));
        } else {
            out.open(&format!("if ({p}ok) {{"));
            results.iter().for_each(|r| r.statement(out));
            out.dedent();
            out.open("} else {");
        }
        out.line(&format!("(void){}(); /* the loop takes over: leave no error behind */", api.last_error));
        out.close("}");
        for f in frees {
            out.line(&f);
        }
        out.line(&format!("return {p}ok;"));
    }

    /// Declares what is used on the way: what must hold of it first, and how it is given back.
    fn declarations(&mut self, left: &[Left<'_>], out: &mut Lines) -> (Vec<String>, Vec<String>) {
        let (plan, kernel) = (self.plan, self.kernel);
        let api = &plan.target.host;
        let mut steps = Vec::new();
        let mut frees = Vec::new();
        for b in plan.device_buffers() {
            let ty = self.cpp.type_name(b.element);
            out.line(&format!("{ty} *{} = 0;", b.device_name));
            if b.staged {
                out.line(&format!("{ty} *{} = ({ty} *)malloc({});", b.staging_name, b.bytes_name));
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
            let ty = reduce::accumulator_type(plan, r, Dialect::Device);
            out.line(&format!("{ty} {}[{blocks}];", r.partial_name));
            out.line(&format!("{ty} *{} = 0;", r.device_name));
            frees.push(format!("(void){}({});", api.free, r.device_name));
        }
        for Left { ty, partial, device } in left {
            out.line(&format!("{ty} {partial}[{blocks}];"));
            out.line(&format!("{ty} *{device} = 0;"));
            frees.push(format!("(void){}({device});", api.free));
        }
        (steps, frees)
    }

    /// A call that must succeed.
    fn ok(&self, call: &str) -> String {
        format!("{call} == {}", self.plan.target.host.success)
    }

    /// The calls before the launch, in order: memory, and the arrays into it.
    fn calls_before(&mut self, left: &[Left<'_>]) -> Vec<String> {
        let (plan, kernel) = (self.plan, self.kernel);
        let api = &plan.target.host;
        let mut steps = Vec::new();
        for b in plan.device_buffers() {
            steps.push(self.ok(&format!("{}((void **)&{}, {})", api.allocate, b.device_name, b.bytes_name)));
        }
        for r in &kernel.reductions {
            steps.push(
                self.ok(&format!(
                    "{}((void **)&{}, sizeof({}))",
                    api.allocate, r.device_name, r.partial_name
                )),
            );
        }
        for Left { partial, device, .. } in left {
            steps.push(self.ok(&format!("{}((void **)&{device}, sizeof({partial}))", api.allocate)));
        }
        for b in plan.device_buffers().filter(|b| b.copy_in) {
            let from = self.pointer(b).c(NONE);
            let (to, bytes) = (&b.device_name, &b.bytes_name);
            steps.push(self.ok(&format!("{}({to}, {from}, {bytes}, {})", api.copy, api.to_device)));
        }
        steps
    }

    /// The calls behind it: its error, its end, and what it left.
    fn calls_behind(&mut self, left: &[Left<'_>]) -> Vec<String> {
        let (plan, kernel) = (self.plan, self.kernel);
        let (p, api) = (&plan.prefix, &plan.target.host);
        let (copy, to_host) = (api.copy, api.to_host);
        let mut steps =
            vec![self.ok(&format!("{}()", api.last_error)), self.ok(&format!("{}()", api.synchronize))];
        for r in &kernel.reductions {
            let size = format!("(size_t){p}blocks * sizeof({}[0])", r.partial_name);
            steps.push(self.ok(&format!("{copy}({}, {}, {size}, {to_host})", r.partial_name, r.device_name)));
        }
        for Left { partial, device, .. } in left {
            let size = format!("(size_t){p}blocks * sizeof({partial}[0])");
            steps.push(self.ok(&format!("{copy}({partial}, {device}, {size}, {to_host})")));
        }
        // What only the loop writes comes last and directly: nothing after it can fail but the like.
        for b in plan.device_buffers().filter(|b| b.staged) {
            steps.push(
                self.ok(&format!(
                    "{copy}({}, {}, {}, {to_host})",
                    b.staging_name, b.device_name, b.bytes_name
                )),
            );
        }
        for b in plan.device_buffers().filter(|b| b.written && !b.staged) {
            let to = self.pointer(b).c(NONE);
            steps.push(self.ok(&format!("{copy}({to}, {}, {}, {to_host})", b.device_name, b.bytes_name)));
        }
        steps
    }

    /// The launch.
    fn launch(&mut self, grid: &[String]) -> String {
        let (plan, kernel) = (self.plan, self.kernel);
        let mut values: Vec<String> = Vec::new();
        for a in args(plan, kernel) {
            values.push(match a.value {
                Value::Here(text) => text,
                Value::Expr(e) => self.expr(&e).c(NONE),
                Value::Variable(s) => {
                    let value = self.given.variable(s);
                    let by_address =
                        matches!(plan.body.types.kind(plan.body.symbols[s].ty), TypeKind::Record(_));
                    if by_address { value.deref() } else { value }.c(NONE)
                }
                Value::Number { wish, text } => self.given.number(&wish, &text),
            });
        }
        let block: Vec<String> = kernel.block.iter().take(grid.len()).map(u32::to_string).collect();
        let shape = |sizes: &[String]| match sizes {
            [one] => one.clone(),
            all => format!("dim3({})", all.join(", ")),
        };
        let start = format!("{}<<<{}, {}>>>(", kernel.name, shape(grid), shape(&block));
        format!("{start}{});", wrapped(&values, start.len() + 8, "    "))
    }

    /// Puts results where the loop would have.
    fn results(&mut self) -> Vec<Term> {
        let (plan, kernel) = (self.plan, self.kernel);
        let blocks = Term::Name(format!("{}blocks", plan.prefix));
        let mut out = Vec::new();
        for b in plan.device_buffers().filter(|b| b.staged) {
            let to = self.pointer(b);
            out.push(Term::call("memcpy", vec![to, Term::name(&b.staging_name), Term::name(&b.bytes_name)]));
        }
        if !kernel.reductions.is_empty() {
            let block = Term::Name(format!("{}block", plan.prefix));
            let combined = kernel.reductions.iter().enumerate().map(|(k, r)| {
                let partial = Term::name(&r.partial_name).at(block.clone());
                reduce::combine_on_host(plan, r, self.accumulator(k, r), partial)
            });
            let combined = combined.collect();
            out.push(keyed::over_blocks(plan, 0, &blocks, combined));
        }
        for k in &kernel.keyed {
            let held = k.variables.iter().map(|v| Term::Name(self.given.at(v.symbol)).deref());
            let held: Vec<Term> = held.collect();
            out.extend(keyed::on_host(plan, k, &blocks, &held));
        }
        for f in &plan.finals {
            let value = Term::cast(f.kind.c_name(), self.expr(&f.value));
            out.push(Term::Name(self.given.at(f.symbol)).deref().assign(value));
        }
        out
    }

    /// Where a reduction ends.
    fn accumulator(&mut self, k: usize, r: &ReductionPlan) -> Term {
        Term::Name(if r.cell { self.given.cell(k) } else { self.given.at(r.symbol) }).deref()
    }
}

/// `if (!(a /* why */ && b)) { return 0; }`
fn unless(tests: &[Term], out: &mut Lines) {
    for (k, test) in tests.iter().enumerate() {
        let Term::Head(_, parts) = test else { continue };
        let lead = if k == 0 { "if (!(" } else { "      && " };
        let end = if k + 1 == tests.len() { ")) {" } else { "" };
        let text = parts.first().map_or_else(String::new, |c| c.c(AND));
        let why = match parts.get(1) {
            Some(Term::Words(why)) => format!(" /* {why} */"),
            _ => String::new(),
        };
        out.line(&format!("{lead}{text}{end}{why}"));
    }
    if !tests.is_empty() {
        out.indent();
        out.line("return 0;");
        out.close("}");
    }
}

/// How long a line of calls may be, without its indentation.
const LINE: usize = 92;

/// That all calls succeed, one after the other, into a variable.
fn all_succeed(variable: &str, calls: &[String], out: &mut Lines) {
    for (k, call) in calls.iter().enumerate() {
        let lead = if k == 0 { format!("{variable} = ") } else { "    && ".to_string() };
        let line = format!("{lead}{call}{}", if k + 1 == calls.len() { ";" } else { "" });
        let fold = line.get(..LINE).filter(|_| line.len() > LINE).and_then(|start| start.rfind(", "));
        match fold {
            Some(at) => out.line(&format!("{},\n           {}", &line[..at], &line[at + 2..])),
            None => out.line(&line),
        }
    }
}

/// A type as it stands before a name: `double *`, `int `.
fn type_before_name(ty: &str) -> String {
    match ty.strip_suffix('*') {
        Some(to) => format!("{to} *"),
        None => format!("{ty} "),
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
            let ty = keyed::type_name(plan, v, Dialect::Device);
            left.push(Left { ty, partial: &v.partial_name, device: &v.device_name });
        }
    }
    left
}
