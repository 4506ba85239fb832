//! The host's side of a loop: a function beside the kernel that stands for it, and the call of that function in the user's
//! file, where the loop stays for when it says no.
//!
//! The function tests what the plan lists, copies in, launches, and copies out: that is decided here, as terms of F1.1, and rule
//! pages write it (`host-call`, and the target's own words). Arrays that the loop also reads come back into memory of their own
//! and are put in place only when everything has arrived; arrays that it only writes come back directly, since running the
//! original loop over them again gives the same result.

mod back;
mod call;
mod checks;
mod csharp;
mod given;
mod grid;
mod growing;
mod helpers;
mod left;
mod method_steps;
mod own_cells;
mod region;
mod row_parts;
mod rows;
mod rows_asked;
mod search;
mod spans;
mod stand_in;
mod within;

pub(crate) use call::{edits, heads};
pub(crate) use region::{is_callable, text as region_text};

use std::rc::Rc;

use analysis::Param;
use term::{BinOp, SymbolId, TypeKind};

use self::checks::test;
use self::given::{has_type, Given, Givens};
pub(crate) use self::given::{First, Room, RoomSize, Steps};
use self::left::{left_by_blocks, Left};
use super::args::{args, Arg, Value};
use super::expr::{Dialect, Exprs};
use super::host_expr::{Helpers, Named, Scope};
use super::host_term::{Term, LONG_LONG};
use super::{keyed, promises, reduce};
use crate::plan::{expr_params, name_part, BufferPlan, Kernel, Plan, Test, TestKind};
use crate::{HostPages, HostSide};

/// The host's side of a plan.
pub(crate) struct HostText {
    /// For the kernel file: helper functions, and the function that stands for the loop.
    pub(crate) functions: String,
    /// The same for who builds without the device: it always says no. C.
    pub(crate) stand_in: String,
    /// Headers that the functions need.
    pub(crate) includes: Vec<String>,
    /// For the user's file.
    pub(crate) call: call::Call,
    /// How pages made the functions of the plan's terms, a line for each step.
    pub(crate) derivation: Vec<String>,
}

/// What the function that stands for the loop is called.
pub(crate) fn function_name(plan: &Plan<'_>) -> String {
    match plan.host() {
        HostSide::Function => format!("{}{}", plan.name, crate::ON_GPU),
        HostSide::Method => csharp::method_name(&plan.name),
    }
}

/// Writes the host's side: what is done is decided here, and pages say how it is done and write it. `None`: there is no kernel.
pub(crate) fn text(
    plan: &Plan<'_>,
    file_name: &str,
    pages: &dyn HostPages,
) -> Result<Option<HostText>, String> {
    let Some(kernel) = plan.kernels.first() else { return Ok(None) };
    let mut host = Host::new(plan, kernel, None, &plan.name);
    if plan.host() == HostSide::Method {
        return host.methods(file_name, pages).map(Some);
    }
    let name = function_name(plan);
    let call = host.kernel_call();
    let start = Term::head("_InitCudaKernel", vec![Term::name(&kernel.name)]);
    let body = vec![Term::head("_InitCuda", Vec::new()), start, call];
    let comment = format!(
        "Runs the {} of {}, line {}, on the GPU. 0: it did not, nothing has changed that the loop reads, and the loop itself \
         is to run.",
        if kernel.threads.is_some() { "nest" } else { "loop" },
        plan.site.file_name,
        plan.site.line,
    );
    let mut functions = host.helper_functions();
    for (b, search) in plan.buffers.iter().filter_map(|b| Some((b, b.search.as_ref()?))) {
        functions.extend(search::function(plan, kernel, b.symbol, search));
    }
    functions.append(&mut host.row_functions);
    functions.push(Term::comment(&comment));
    let given = &host.given.all;
    functions.push(Term::function(&["ExternC"], "int", &name, of_type(given, |g| &g.ty), body));
    let written = pages.written(Some(plan.target), &Term::List(functions).to_string())?;
    let stand_in = in_c(&name, given, pages)?;
    let mut includes = written.includes;
    if host.helpers.apart.get() {
        includes.push("<stdint.h>".to_owned());
    }
    let rows = plan.buffers.iter().any(|b| b.rows.is_some());
    if promises::need_memory(plan) || rows {
        includes.push("<stdlib.h>".to_owned());
    }
    if rows {
        includes.extend(["<stdint.h>", "<string.h>"].map(str::to_owned));
    }
    includes.sort();
    includes.dedup();
    let runs = host.runs();
    let call = host.call(&name, file_name, runs, pages)?;
    let derivation = call.derivation().iter().cloned().chain(written.derivation).collect();
    Ok(Some(HostText { functions: written.text, stand_in, includes, call, derivation }))
}

/// What is given, as parameters of one of its types.
fn of_type(given: &[Given], ty: fn(&Given) -> &str) -> Vec<Term> {
    given.iter().map(|g| Term::declared(&g.name, ty(g), None)).collect()
}

/// The function in C, which no page has to do with: one that always says no.
fn in_c(name: &str, given: &[Given], pages: &dyn HostPages) -> Result<String, String> {
    let unused = given.iter().map(|g| Term::cast("void", Term::name(&g.name)));
    let unused = unused.reduce(|a, b| Term::head("Comma", vec![a, b]));
    let body = unused.into_iter().chain([Term::head("Return", vec![Term::Int(0)])]).collect();
    let function = Term::function(&[], "int", name, of_type(given, |g| &g.in_c), body);
    let stand_in = pages.written(None, &function.to_string())?.text;
    Ok(format!("#ifdef __cplusplus\nextern \"C\"\n#endif\n{stand_in}"))
}

/// What the function is written from.
struct Host<'p> {
    plan: &'p Plan<'p>,
    kernel: &'p Kernel,
    c: Exprs<'p>,
    cpp: Exprs<'p>,
    given: Givens<'p>,
    /// What the names of helper functions begin with.
    helper: &'p str,
    helpers: Rc<Helpers>,
    /// Who calls it, if it is a nest's of a region: arrays then lie on the device, and stay there.
    steps: Option<&'p Steps<'p>>,
    /// Functions that go through rows of tables.
    row_functions: Vec<Term>,
}

impl<'p> Host<'p> {
    fn new(
        plan: &'p Plan<'p>,
        kernel: &'p Kernel,
        steps: Option<&'p Steps<'p>>,
        helper: &'p str,
    ) -> Host<'p> {
        Host {
            plan,
            kernel,
            c: Exprs { plan, kernel, dialect: Dialect::of_host(plan) },
            cpp: Exprs { plan, kernel, dialect: Dialect::Device },
            given: Givens::new(plan, kernel, steps),
            helper,
            helpers: Rc::default(),
            steps,
            row_functions: Vec::new(),
        }
    }

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
        let truths = self.plan.host() == HostSide::Function;
        print(&Scope { helper: self.helper, values: &values, helpers: Some(&*self.helpers), truths })
    }

    /// The call of the kernel with all that must hold before it and what becomes of what it leaves:
    /// `_CallCudaKernel(name,sizes,params,arrays,tests,results)`.
    fn kernel_call(&mut self) -> Term {
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
        let mut tests = self.no_nulls();
        tests.extend(self.limits());
        let mut runs = Vec::new();
        for d in &self.kernel.dims {
            tests.push(let_(&d.trips_name, LONG_LONG, self.expr(&d.trips)));
            runs.push(Term::binary(BinOp::Gt, Term::name(&d.trips_name), Term::Int(0)));
        }
        let runs = Term::all(BinOp::And, runs.into_iter());
        tests.push(match self.steps {
            None => test(runs, ""),
            Some(_) => Term::head("_Idle", vec![runs, Term::List(self.idle())]),
        });
        tests.extend(self.unlike());
        tests.extend(self.asked());
        // what a search reads is known to keep apart from what is written before it is read
        let most = plan.buffers.iter().map(|b| b.rank(&plan.buffers)).max().unwrap_or(0);
        for rank in 0..=most {
            for b in plan.buffers.iter().filter(|b| b.rank(&plan.buffers) == rank) {
                self.extent(b, &mut tests);
            }
            tests.extend(self.tests(rank));
        }
        let grid = self.grid(&mut tests);
        self.own_sizes(&mut tests);
        let block = self.kernel.block.iter().take(grid.len()).map(|&n| Term::Int(n.into())).collect();
        let sizes = Term::head("_Sizes", vec![Term::List(grid), Term::List(block)]);
        let params = self.arguments();
        let arrays = self.arrays();
        let results = match self.ends_on_device() {
            true => self.finish(),
            false => Term::head("_Results", vec![Term::List(self.checks()), Term::List(self.results())]),
        };
        let name = Term::name(&self.kernel.name);
        let lists = [params, arrays, tests].map(Term::List);
        let head = if self.steps.is_some() { "_LaunchCudaKernel" } else { "_CallCudaKernel" };
        Term::head(head, [name, sizes].into_iter().chain(lists).chain([results]).collect())
    }

    /// Of a nest of a region: that names which may come to show the same array do not, where it is written.
    fn unlike(&mut self) -> Vec<Term> {
        let (Some(steps), plan) = (self.steps, self.plan) else { return Vec::new() };
        let is_exchanged = |b: &BufferPlan| steps.exchanged.contains(&b.shown_by(plan.body));
        let mine: Vec<&BufferPlan> = plan.buffers.iter().filter(|b| b.on_device && is_exchanged(b)).collect();
        let pairs = mine.iter().enumerate().flat_map(|(k, a)| mine[k + 1..].iter().map(move |b| (*a, *b)));
        let mut out = Vec::new();
        for (a, b) in pairs.filter(|(a, b)| a.written || b.written) {
            let arrays = [a, b].map(|b| Term::Name(self.given.array(b)));
            let [left, right] = arrays;
            out.push(test(Term::binary(BinOp::Ne, left, right), "they show two arrays"));
        }
        out
    }

    /// What is set where a nest of a region does not run: its index has its first value.
    fn idle(&mut self) -> Vec<Term> {
        let Some(d) = self.kernel.dims.first() else { return Vec::new() };
        let Some(f) = self.plan.finals.iter().find(|f| f.symbol == d.index) else { return Vec::new() };
        let first = Term::Name(self.given.term(d.lower, "first"));
        vec![Term::Name(self.given.at(f.symbol)).deref().assign(Term::cast(f.kind.c_name(), first))]
    }

    /// Whether the array's size in bytes is needed: what only the host reads, and nothing is compared with, has none that
    /// matters.
    fn is_sized(&self, b: &BufferPlan) -> bool {
        let is = |k: usize| self.plan.buffers.get(k).is_some_and(|o| o.symbol == b.symbol);
        b.on_device
            || self.plan.tests.iter().any(|t| match t.kind {
                TestKind::Apart(i, j) => is(i) || is(j),
                TestKind::RowsApart { .. } => true,
                TestKind::Outside { buffer, .. } | TestKind::CellInBuffer { buffer, .. } => is(buffer),
                TestKind::InRange { buffer, .. } | TestKind::Distinct(buffer) | TestKind::Sorted(buffer) => {
                    is(buffer)
                }
                _ => false,
            })
    }

    /// `sizeof(double)`
    pub(crate) fn element_size(&self, b: &BufferPlan) -> Term {
        // C# tells sizes of its own numbers alone
        let is_named = !self.given.is_csharp() || self.plan.body.types.is_arithmetic(b.element);
        match has_type(self.plan, b) && is_named {
            true => Term::head("SizeOfType", vec![Term::Name(self.cpp.type_name(b.element))]),
            false => Term::Int(b.element_size.into()),
        }
    }

    /// First element, number of elements, size in bytes.
    fn extent(&mut self, b: &BufferPlan, out: &mut Vec<Term>) {
        let plan = self.plan;
        let k = plan.buffers.iter().position(|o| o.symbol == b.symbol);
        let is_tested = |t: &Test| matches!(t.kind, TestKind::Extent(j) if Some(j) == k);
        let is_counted =
            plan.tests.iter().any(is_tested) && k.is_some_and(|k| plan.count_tests(k) != (false, None));
        // what is there already is neither counted nor copied
        let is_sized = self.is_sized(b) && self.steps.is_none();
        let is_counted = is_counted && self.steps.is_none();
        let has_first = self.steps.is_some() && b.on_device && b.constant_first().is_none();
        if !is_sized && !is_counted && !has_first && b.part.is_none() {
            return;
        }
        let size = self.element_size(b);
        let bytes = |count: Term| let_(&b.bytes_name, SIZE, Term::binary(BinOp::Mul, count, size));
        if let Some(search) = &b.search {
            let last = b.last_name();
            let first = self.search_call(b, search, &last);
            out.push(Term::head("_Let", vec![Term::name(&last), Term::name(LONG_LONG)]));
            out.push(let_(&b.first_name, LONG_LONG, first));
            let last = Term::binary(BinOp::Add, Term::name(&last), Term::Int(1));
            let mut count = Term::binary(BinOp::Sub, last, Term::name(&b.first_name));
            if is_counted {
                out.push(let_(&b.count_name, LONG_LONG, count));
                count = Term::name(&b.count_name);
            }
            if is_sized {
                out.push(bytes(Term::cast(SIZE, count)));
            }
            return;
        }
        let Some((first, last)) = &b.extent else {
            let symbol = &plan.body.symbols[b.symbol];
            let whole = plan.body.types.size_align(symbol.ty).map(|s| s.0 / b.element_size.max(1));
            out.push(match whole {
                Some(count) => bytes(Term::Int(count.into())),
                None => {
                    let name = self.given.bytes(&format!("{}_bytes", symbol.name), &symbol.name);
                    let_(&b.bytes_name, SIZE, Term::Name(name))
                }
            });
            return;
        };
        if b.constant_first().is_none() {
            let of_rows = b.rows.as_ref().and(self.steps).and_then(|s| s.first(b.symbol));
            let first = match of_rows {
                Some(First::Named(theirs)) => {
                    let wish = format!("{}_begin", name_part(&plan.body.symbols[b.symbol].name));
                    Term::Name(self.given.number(&wish, &theirs))
                }
                _ => self.expr(first),
            };
            out.push(let_(&b.first_name, LONG_LONG, first));
        }
        out.extend(within::starts_in_range(&plan.body.symbols[b.symbol].name, b));
        if self.steps.is_some() {
            out.extend(self.reached(b));
            return;
        }
        let plus = |n: i128| analysis::Expr::Add(vec![last.clone(), analysis::Expr::Int(n)]);
        let mut count = match b.constant_first() {
            Some(c) => self.expr(&plus(1 - c)),
            None => Term::binary(BinOp::Sub, self.expr(&plus(1)), Term::name(&b.first_name)),
        };
        let may_be_empty = k.is_some_and(|k| plan.may_be_empty(k));
        if is_counted || may_be_empty {
            out.push(let_(&b.count_name, LONG_LONG, count));
            count = Term::name(&b.count_name);
        }
        if may_be_empty {
            let some = Term::binary(BinOp::Gt, count.clone(), Term::Int(0));
            count = Term::head("Select", vec![some, count, Term::Int(0)]);
        }
        if is_sized {
            out.push(bytes(Term::cast(SIZE, count)));
        }
        if self.plan.host() == HostSide::Function {
            back::extent(self, b, out);
        }
    }

    /// A pointer to the first element copied.
    fn pointer(&mut self, b: &BufferPlan) -> Term {
        if let Some(rows) = b.rows.as_ref().filter(|_| self.steps.is_none()) {
            return Term::name(&rows.packed_name);
        }
        let base = Term::Name(self.given.array(b));
        if b.rows.is_some() {
            // its kernels count as the region does
            return base;
        }
        let first = b.constant_first().map_or_else(|| Term::name(&b.first_name), Term::Int);
        let first = match (self.steps.and_then(|s| s.first(b.symbol)), first) {
            (None, first) => first,
            // the region's copy begins elsewhere
            (Some(First::Number(c)), Term::Int(first)) => Term::Int(first - c),
            (Some(First::Number(0)), first) => first,
            (Some(First::Number(c)), first) => Term::binary(BinOp::Sub, first, Term::Int(c)),
            (Some(First::Named(name)), first) => {
                let wish = format!("{}_begin", name_part(&self.plan.body.symbols[b.symbol].name));
                let begin = Term::Name(self.given.number(&wish, &name));
                Term::binary(BinOp::Sub, first, begin)
            }
        };
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

    /// What lies on the device: which memory of the host's it is, how large, and which way it goes.
    fn arrays(&mut self) -> Vec<Term> {
        let (plan, kernel) = (self.plan, self.kernel);
        if plan.host() == HostSide::Method {
            return self.managed_arrays();
        }
        let mut out = Vec::new();
        let resident = self.steps.is_some();
        for b in plan.device_buffers().filter(|b| !resident && b.is_given()) {
            if b.part.is_some() {
                out.push(self.grown(b));
                continue;
            }
            let way = match (b.copy_in, b.written) {
                (true, true) => "inout",
                (true, false) => "in",
                (false, true) => "out",
                (false, false) => "none",
            };
            if let Some(rows) = &b.rows {
                out.push(self.rows_array(b, rows, way));
                continue;
            }
            let ty = Term::Name(format!("{}*", self.cpp.type_name(b.element)));
            let here = if b.own { Term::Int(0) } else { self.pointer(b) };
            let (there, bytes) = (Term::name(&b.device_name), Term::name(&b.bytes_name));
            out.push(match b.staged {
                true => {
                    let aside = Term::name(&b.staging_name);
                    let way = back::way(self, b).unwrap_or_else(|| Term::name(way));
                    Term::head("_Aside", vec![here, there, aside, ty, bytes, way])
                }
                false if b.from_zero => within::array(b, [here, there, ty, bytes], way, self.element_size(b)),
                false => Term::head("_Array", vec![here, there, ty, bytes, Term::name(way)]),
            });
        }
        self.own_arrays(&mut out);
        let most: i128 = kernel.most_blocks.iter().take(kernel.dims.len()).map(|&m| i128::from(m)).product();
        for Left { ty, partial, device } in left_by_blocks(plan, kernel) {
            if let Some(steps) = self.steps {
                // taken once, by who runs the steps
                let own = partial.strip_prefix(&plan.prefix).unwrap_or(partial);
                let name = format!("{}{}_{own}", steps.outer.prefix, plan.name);
                let room = Room { name, ty: ty.to_owned(), size: RoomSize::Elements(most) };
                let given = self.given.room(room, device);
                debug_assert_eq!(given, device);
                if self.ends_on_device() {
                    continue;
                }
                let parts =
                    [Term::name(partial), Term::name(ty), Term::Int(most), Term::Name(given), self.blocks()];
                out.push(Term::head("_PartsAt", parts.to_vec()));
                continue;
            }
            let (ty, to) = (Term::name(ty), Term::Name(format!("{ty}*")));
            let (partial, device) = (Term::name(partial), Term::name(device));
            out.push(Term::head("_Parts", vec![partial, ty, Term::Int(most), device, to, self.blocks()]));
        }
        out
    }

    /// What the kernel is called with.
    fn arguments(&mut self) -> Vec<Term> {
        let (plan, kernel) = (self.plan, self.kernel);
        let mut values = Vec::new();
        let caller = self.given.caller();
        for a in args(plan, kernel, &caller) {
            let Arg { declared, value } = a;
            // a driver takes the bytes as they are
            let is_computed = matches!(value, Value::Expr(_)) && plan.host() == HostSide::Method;
            let value = match value {
                Value::Here(text) => Term::Name(text),
                Value::Narrowed(text) => Term::cast("int", Term::Name(text)),
                Value::Expr(e) => self.expr(&e),
                Value::Variable(s) => {
                    let value = self.given.variable(s);
                    let by_address =
                        matches!(plan.body.types.kind(plan.body.symbols[s].ty), TypeKind::Record(_));
                    if by_address {
                        value.deref()
                    } else {
                        value
                    }
                }
                Value::Array(k) => match (self.steps, plan.buffers.get(k)) {
                    (Some(_), Some(b)) => self.pointer(b),
                    (_, b) => Term::Name(b.map_or_else(String::new, |b| b.device_name.clone())),
                },
                Value::Number { wish, text } => Term::Name(self.given.number(&wish, &text)),
                Value::Fixed { wish, text } => {
                    Term::Name(self.given.fixed(term::IntKind::LongLong, &wish, &text, true))
                }
            };
            values.push(match declared.rsplit_once(' ').filter(|_| is_computed) {
                Some((ty, _)) => Term::cast(ty, value),
                None => value,
            });
        }
        values
    }

    /// Whether what blocks leave is put together on the device: it goes into memory there.
    fn ends_on_device(&self) -> bool {
        self.steps.is_some() && self.kernel.reductions.iter().any(|r| r.cell)
    }

    /// The launch of the kernel that puts together what blocks leave: `_Finish(name,sizes,params)`.
    fn finish(&mut self) -> Term {
        let (plan, kernel) = (self.plan, self.kernel);
        let mut params = vec![self.blocks()];
        for r in &kernel.reductions {
            params.push(Term::name(&r.device_name));
            let ty = format!("{}*", self.cpp.type_name(r.ty));
            params.push(Term::Name(self.given.resident(r.symbol, &ty)));
        }
        let one = || Term::List(vec![Term::Int(1)]);
        let sizes = Term::head("_Sizes", vec![one(), one()]);
        Term::head("_Finish", vec![Term::Name(reduce::finish_name(plan)), sizes, Term::List(params)])
    }

    /// What must hold of what blocks left; otherwise the loop itself decides.
    fn checks(&mut self) -> Vec<Term> {
        let (plan, kernel) = (self.plan, self.kernel);
        let (block, blocks) = (Term::Name(format!("{}block", plan.prefix)), self.blocks());
        let mut out = Vec::new();
        let each = |holds: Term, why: &str| {
            Term::head("_Each", vec![block.clone(), blocks.clone(), holds, Term::Words(why.to_owned())])
        };
        for (k, r) in kernel.reductions.iter().enumerate() {
            let part = || Term::name(&r.partial_name).at(block.clone());
            if reduce::nan_flag(plan, r, "").is_some() {
                let is_number = Term::binary(BinOp::Eq, part(), part());
                out.push(each(is_number, "no NaN: the loop's order would decide"));
            }
            if let Some(op) = r.keeps_zero() {
                let stays = Term::binary(op, self.place(k, r.cell, r.symbol), part());
                let holds = Term::binary(BinOp::Or, Term::binary(BinOp::Ne, part(), Term::Int(0)), stays);
                out.push(each(holds, "no zero: the loop's order would decide its sign"));
            }
        }
        out
    }

    /// Puts results where the loop would have.
    fn results(&mut self) -> Vec<Term> {
        let (plan, kernel) = (self.plan, self.kernel);
        let blocks = self.blocks();
        let mut out = Vec::new();
        if !kernel.reductions.is_empty() {
            let block = Term::Name(format!("{}block", plan.prefix));
            let combined = kernel.reductions.iter().enumerate().map(|(k, r)| {
                let partial = Term::name(&r.partial_name).at(block.clone());
                reduce::combine_on_host(plan, r, self.place(k, r.cell, r.symbol), partial)
            });
            out.push(keyed::over_blocks(plan, 0, &blocks, combined.collect()));
        }
        let mut numbers = kernel.reductions.len()..;
        for k in &kernel.keyed {
            let held = k.variables.iter().zip(&mut numbers);
            let held: Vec<Term> = held.map(|(v, n)| self.place(n, v.cell, v.symbol)).collect();
            out.extend(keyed::on_host(plan, k, &blocks, &held));
        }
        // what one begins with is not set before the others are known
        let apart = plan.finals.iter().any(|f| {
            let mut read = Vec::new();
            expr_params(&f.value, &mut read);
            plan.finals.iter().any(|g| g.symbol != f.symbol && read.contains(&Param::Symbol(g.symbol)))
        });
        let mut set = Vec::new();
        for f in &plan.finals {
            let mut value = Term::cast(f.kind.c_name(), self.expr(&f.value));
            if apart {
                let name = format!("{}end_{}", plan.prefix, plan.body.symbols[f.symbol].name);
                out.push(Term::declared(&name, f.kind.c_name(), Some(value)));
                value = Term::Name(name);
            }
            set.push(Term::Name(self.given.at(f.symbol)).deref().assign(value));
        }
        out.extend(set);
        out
    }

    /// Where a result goes, by its number in [`Kernel::held`].
    fn place(&mut self, k: usize, cell: bool, symbol: SymbolId) -> Term {
        Term::Name(if cell { self.given.cell(k) } else { self.given.at(symbol) }).deref()
    }
}

/// The type of sizes in bytes, and of numbers of blocks.
const SIZE: &str = "size_t";
const BLOCKS: &str = "unsigned int";

/// A value that tests and what is behind them use.
fn let_(name: &str, ty: &str, value: Term) -> Term {
    Term::head("_Let", vec![Term::name(name), Term::Name(format!("const {ty}")), value])
}
