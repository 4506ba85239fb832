//! The host's side of a region: a function for each nest that launches its kernel, one that runs the host's statements with
//! these calls in the nests' places, and the one that stands for the region, which tests, copies and gives back.
//!
//! The steps have variables of their own and arrays on the device, under the names that the program gives them; so whatever
//! fails in them, the program's own memory is what it was. Rule pages write the functions that call the vendor's run time;
//! the steps are the program's statements, printed as those of kernels are.

use std::rc::Rc;

use analysis::{Param, Region, RegionScalar, Surely};
use term::{intrinsic, strength, BinOp, Op, Origin, SymbolId, TermId};

use super::checks::test;
use super::{in_c, of_type, search, Host, HostText, RoomSize, Steps};
use crate::device::expr::{Dialect, Exprs};
use crate::device::host_expr::{element_name, term_text};
use crate::device::host_term::Term;
use crate::device::stmt::Stmts;
use crate::device::{promises, wrapped};
use crate::lines::Lines;
use crate::plan::{has_word, BufferPlan, Kernel, Plan, RegionPlan};
use crate::{HostPages, HostSide};

/// The host's side of a region before pages write it.
struct Prepared<'p> {
    whole: Host<'p>,
    /// The functions that launch the nests' kernels.
    launches: Vec<Term>,
    steps: StepsText,
    call: Term,
}

/// Whether the call of a region can be made: where it reads what the program reads only where its loops run, a test must say
/// whether they do.
pub(crate) fn is_callable(plan: &RegionPlan<'_>) -> bool {
    prepared(plan).is_none_or(|p| !p.whole.given.any_late() || p.whole.region_runs(plan.region).is_some())
}

fn prepared<'p>(plan: &'p RegionPlan<'_>) -> Option<Prepared<'p>> {
    let outer = &plan.outer;
    let names = outer.kernels.first()?;
    let growing = outer.buffers.iter().filter(|b| b.part.is_some()).map(|b| b.symbol).collect();
    let exchanged = plan.region.exchanged.iter().map(|e| e.symbol).collect();
    let (fixed, ends, rooms, looks) = Default::default();
    let given_on = Steps { outer, fixed, ends, exchanged, growing, rooms, looks };
    let mut whole = Host::new(outer, names, None, &outer.name);
    whole.given.left = plan.region.left.as_ref();
    let (mut launches, mut lines) = (Vec::new(), Vec::new());
    for nest in &plan.nests {
        let Some(kernel) = nest.kernels.first() else { continue };
        let mut host = Host::new(nest, kernel, Some(&given_on), &outer.name);
        host.helpers = Rc::clone(&whole.helpers);
        let line = host.launch(&mut launches);
        lines.push((kernel.dims.first().map_or(nest.body.root, |d| d.term), line));
    }
    for t in plan.region.statements.iter().flat_map(|&t| outer.body.walk(t)) {
        if matches!(outer.body.op(t), Op::Declare(s) if outer.buffers.iter().any(|b| b.own && b.symbol == *s))
        {
            lines.push((t, String::new()));
        }
    }
    let steps = match outer.host() {
        HostSide::Function => StepsText::of(plan, names, &given_on, &lines, &whole),
        HostSide::Method => StepsText::of_method(plan, names, &given_on, &lines),
    };
    let call = whole.region_call((plan.region, &plan.nests), &steps, &given_on);
    Some(Prepared { whole, launches, steps, call })
}

/// Writes the host's side of a region. `None`: there is no kernel in it.
pub(crate) fn text(
    plan: &RegionPlan<'_>,
    file_name: &str,
    pages: &dyn HostPages,
) -> Result<Option<HostText>, String> {
    let outer = &plan.outer;
    let Some(Prepared { mut whole, launches, steps, call }) = prepared(plan) else { return Ok(None) };
    if outer.host() == HostSide::Method {
        let text = whole.region_methods(launches, (&steps.text, call), (&about(plan), file_name), pages);
        return text.map(Some);
    }
    let mut own = Vec::new();
    let name = super::function_name(outer);
    let body = vec![Term::head("_InitCuda", Vec::new()), call];
    let mut given = of_type(&whole.given.all, |g| &g.ty);
    match whole.is_any_asked() {
        true => {
            let once = format!("{}_once", outer.name);
            given.insert(0, Term::declared(&whole.there_name(), "long long*", None));
            let words = "A run with the parts of rows that are noted. 0: it did not come to its end.";
            own.push(Term::comment(words));
            own.push(Term::function(&["static"], "int", &once, given, body));
            own.push(Term::comment(&about(plan)));
            own.push(whole.again(&once, &name));
        }
        false => {
            own.push(Term::comment(&about(plan)));
            own.push(Term::function(&["ExternC"], "int", &name, given, body));
        }
    }
    let mut first = whole.helper_functions();
    first.extend(whole.reach_functions());
    first.extend(whole.there_function());
    first.append(&mut whole.row_functions);
    for e in &outer.ends {
        let nest = plan.nests.get(e.by).and_then(|n| Some((n, n.kernels.first()?)));
        first.extend(nest.into_iter().flat_map(|(n, k)| search::function(n, k, e.searched, &e.search)));
    }
    first.extend(launches);
    let launches = pages.written(Some(outer.target), &Term::List(first).to_string())?;
    let own = pages.written(Some(outer.target), &Term::List(own).to_string())?;
    let stand_in = in_c(&name, &whole.given.all, pages)?;
    let mut includes = launches.includes;
    includes.extend(own.includes);
    includes.extend(whole.helpers.apart.get().then(|| "<stdint.h>".to_owned()));
    includes.extend(steps.computes.then(|| "<math.h>".to_owned()));
    includes.extend(promises::need_memory(outer).then(|| "<stdlib.h>".to_owned()));
    if outer.buffers.iter().any(|b| b.rows.is_some()) {
        includes.extend(["<stdint.h>", "<stdlib.h>", "<string.h>"].map(str::to_owned));
    }
    includes.sort();
    includes.dedup();
    let runs = whole.region_runs(plan.region);
    let call = whole.call(&name, file_name, runs, pages)?;
    let written = launches.derivation.into_iter().chain(own.derivation);
    let derivation = call.derivation().iter().cloned().chain(written).collect();
    Ok(Some(HostText {
        functions: format!(
            "{}{}\n\n{}\n{}",
            whole.table_text(),
            launches.text.trim_end(),
            steps.text,
            own.text
        ),
        stand_in,
        includes,
        call,
        derivation,
    }))
}

/// What is said above the function.
fn about(plan: &RegionPlan<'_>) -> String {
    let outer = &plan.outer;
    format!(
        "Runs what begins on line {} of {} on the GPU: {} kernels, between which arrays stay there. 0: it did not, nothing has \
         changed, and the program's own text is to run.",
        outer.site.line,
        outer.site.file_name,
        plan.nests.len(),
    )
}

impl Host<'_> {
    /// The function that launches a nest's kernel, and the line that calls it.
    fn launch(&mut self, out: &mut Vec<Term>) -> String {
        let name = format!("{}_launch", self.plan.name);
        let call = self.kernel_call();
        let start = Term::head("_InitCudaKernel", vec![Term::name(&self.kernel.name)]);
        let (no, ty, modifier) = match self.plan.host() {
            HostSide::Function => ("0", "int", &["static"][..]),
            HostSide::Method => ("false", "bool", &["private", "static"][..]),
        };
        let answer = if no == "0" { "0" } else { "False" };
        let line = self.plan.site.line;
        let is_loop =
            self.kernel.dims.first().is_some_and(|d| self.plan.body.origin(d.term) == Origin::Source);
        let what = if is_loop { "The loop on" } else { "A part of" };
        out.push(Term::comment(&format!("{what} line {line}. {answer}: it cannot run so.")));
        out.push(Term::function(modifier, ty, &name, of_type(&self.given.all, |g| &g.ty), vec![start, call]));
        let values: Vec<String> = self.given.all.iter().map(|g| g.value.clone()).collect();
        format!("if (!{name}({}))\n    return {no};", wrapped(&values, 24 + name.len(), "        "))
    }

    /// The call of the steps with all that must hold before it and what becomes of what they leave:
    /// `_CallCudaSteps(call,arrays,tests,results)`.
    fn region_call(
        &mut self,
        (region, nests): (&Region, &[Plan<'_>]),
        steps: &StepsText,
        given_on: &Steps<'_>,
    ) -> Term {
        let plan = self.plan;
        for s in region.scalars.iter().filter(|s| s.kept) {
            self.given.keep(s.symbol);
        }
        // in the order in which a reader would give them
        for s in &steps.scalars {
            if s.begins || s.kept {
                self.given.variable(s.symbol);
            }
        }
        for b in plan.buffers.iter().filter(|b| !b.own) {
            self.given.array(b);
        }
        let mut tests = self.no_nulls();
        let is_found = |p: Param| matches!(p, Param::End { .. });
        tests.extend(self.limits_of(&|p| !is_found(p)));
        for s in &region.sure {
            tests.extend(self.sure(s).map(|holds| test(holds, "it runs")));
        }
        tests.extend(self.holds(false));
        for e in &plan.ends {
            self.find(e, nests, &mut tests);
            tests.extend(self.limits_of(&|p| e.is(p)));
        }
        tests.extend(self.holds(true));
        tests.dedup();
        for b in &plan.buffers {
            self.extent(b, &mut tests);
        }
        tests.extend(self.of_arrays());
        let (mut given, mut results) = (Vec::new(), Vec::new());
        for s in &steps.scalars {
            match (s.kept, s.begins) {
                (true, begins) => {
                    let (local, ty) = (format!("{}{}", plan.prefix, s.name), Term::Name(s.ty.clone()));
                    let at = Term::Name(self.given.at(s.symbol)).deref();
                    let is_method = plan.host() == HostSide::Method;
                    let value = begins.then(|| at.clone()).or(is_method.then_some(Term::name("default")));
                    let parts = [Term::name(&local), ty].into_iter().chain(value);
                    tests.push(Term::head("_Let", parts.collect()));
                    given.push(Term::head("AddressOf", vec![Term::name(&local)]));
                    results.push(at.assign(Term::Name(local)));
                }
                (false, _) => given.push(self.given.variable(s.symbol)),
            }
        }
        let (pointers, shown) = self.pointers(region, steps, &mut tests, &mut results);
        for (b, pointer) in plan.buffers.iter().zip(pointers) {
            given.push(pointer);
            if b.constant_first().is_none() {
                given.push(Term::name(&b.first_name));
            }
            given.extend(self.row_lengths(b));
        }
        given.extend(shown);
        for f in given_on.fixed.borrow().iter() {
            given.push(Term::Name(self.given.fixed(f.kind, &f.wish, &f.text, true)));
        }
        given.extend(given_on.ends.borrow().iter().map(|n| Term::name(n)));
        if !given_on.growing.is_empty() {
            given.push(Term::Name(self.table_name()));
            self.table(&mut tests);
        }
        given.extend(self.is_any_asked().then(|| Term::Name(self.there_name())));
        let mut arrays = self.arrays();
        if given_on.looks.get() {
            let names = [plan.fault_name(), plan.fault_place()];
            given.push(Term::name(&names[1]));
            arrays.push(Term::head("_Fault", names.iter().map(|n| Term::name(n)).collect()));
        }
        for room in given_on.rooms.borrow().iter() {
            let size = Term::head("SizeOfType", vec![Term::name(&room.ty)]);
            let bytes = match &room.size {
                RoomSize::Elements(most) => Term::binary(BinOp::Mul, Term::Int(*most), size),
                RoomSize::Own { of, trips } => match plan.buffers.iter().find(|b| b.symbol == *of) {
                    Some(b) => self.own_room(b, trips),
                    None => continue,
                },
            };
            let (name, ty) = (Term::name(&room.name), Term::Name(format!("{}*", room.ty)));
            given.push(name.clone());
            arrays.push(Term::head("_Array", vec![Term::Int(0), name, ty, bytes, Term::name("none")]));
        }
        let call = Term::call(&steps.name, given);
        let arrays = Term::List(arrays);
        let results = Term::head("_Results", vec![Term::List(Vec::new()), Term::List(results)]);
        Term::head("_CallCudaSteps", vec![call, arrays, Term::List(tests), results])
    }

    /// Where each array lies on the device, as the steps take it. A pointer that they set and somebody reads is given by its
    /// address, and shows afterwards what the program's own would.
    fn pointers(
        &mut self,
        region: &Region,
        steps: &StepsText,
        tests: &mut Vec<Term>,
        results: &mut Vec<Term>,
    ) -> (Vec<Term>, Vec<Term>) {
        let plan = self.plan;
        let (mut out, mut addresses) = (Vec::new(), Vec::new());
        for b in &plan.buffers {
            out.push(Term::name(&b.device_name));
            let table = b.shown_by(plan.body);
            if !region.exchanged.iter().any(|e| e.symbol == table && e.kept) {
                continue;
            }
            let local = format!("{}at_{}", plan.prefix, steps.name_of(b));
            let ty = Term::Name(format!("{}*", self.cpp.type_name(b.element)));
            tests.push(Term::head("_Let", vec![Term::name(&local), ty]));
            let element = [element_name(&self.c, b), self.cpp.type_name(b.element)];
            let stars = "*".repeat(b.rows.as_ref().map_or(0, |r| r.all.len() - 1));
            let element = element.map(|e| format!("{e}{stars}"));
            let at = Term::Name(self.given.pointer_at(table, [&element[0], &element[1]])).deref();
            let shown = |host: &mut Self, o: &BufferPlan| {
                let array = Term::Name(host.given.array(o));
                // what kernels only read is given so, and the program's pointer may be for more
                match o.rows.is_some() || !o.written {
                    true => Term::cast(&format!("{}*", element[1]), array),
                    false => array,
                }
            };
            let mut shows = shown(self, b);
            let is_alike = |o: &&BufferPlan| o.symbol != b.symbol && o.rows.is_some() == b.rows.is_some();
            for o in plan.buffers.iter().filter(is_alike) {
                if region.exchanged.iter().any(|e| e.symbol == o.shown_by(plan.body)) {
                    let is_it = Term::binary(BinOp::Eq, Term::name(&local), Term::name(&o.device_name));
                    shows = Term::head("Select", vec![is_it, shown(self, o), shows]);
                }
            }
            results.push(at.assign(shows));
            addresses.push(Term::head("AddressOf", vec![Term::Name(local)]));
        }
        (out, addresses)
    }

    /// What makes sure that a part of the region runs.
    fn sure(&mut self, s: &Surely) -> Option<Term> {
        let body = self.plan.body;
        let given = &mut self.given;
        let mut named = |s: SymbolId| Some(given.variable(s));
        match s {
            Surely::Positive(_) => None,
            Surely::Holds(t) => Term::of(body, *t, &mut named),
            Surely::Compared { relation, lower, kind, offset, bound } => {
                let lower = Term::of(body, *lower, &mut named)?;
                let lower = match (&lower, *offset) {
                    (Term::Int(v), o) => Term::Int(v + o),
                    (_, 0) => Term::cast(kind.c_name(), lower),
                    (_, o) => Term::binary(BinOp::Add, Term::cast(kind.c_name(), lower), Term::Int(o)),
                };
                let bound = match bound {
                    Some(b) => Term::of(body, *b, &mut named)?,
                    None => Term::Int(0),
                };
                Some(match (&lower, &bound) {
                    (Term::Int(_), Term::Int(_)) => Term::binary(*relation, lower, bound),
                    // a constant stands on the right
                    (Term::Int(_), _) => Term::binary(relation.mirrored(), bound, lower),
                    _ => Term::binary(*relation, lower, bound),
                })
            }
        }
    }

    /// That the region's first loop runs, in the user's own words, where something is evaluated for the call that is there only
    /// then: the plan saw to it that there are such words.
    fn region_runs(&self, region: &Region) -> Option<Term> {
        if !self.given.any_late() {
            return None;
        }
        region.sure.iter().find_map(|s| match s {
            Surely::Holds(t) => Some(Term::Name(self.c.at(*t, strength::AND))),
            Surely::Compared { relation, lower, bound, offset: 0, .. } => {
                let place = |t| Term::Name(term_text(&self.c, t));
                Some(Term::binary(*relation, place(*lower), bound.map_or(Term::Int(0), place)))
            }
            _ => None,
        })
    }
}

/// A variable of the region that the steps name.
pub(super) struct StepsScalar {
    pub(super) symbol: SymbolId,
    pub(super) begins: bool,
    pub(super) kept: bool,
    pub(super) ty: String,
    pub(super) name: String,
}

/// The function that runs the host's statements.
pub(super) struct StepsText {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) scalars: Vec<StepsScalar>,
    /// What arrays are called.
    pub(super) arrays: Vec<(SymbolId, String)>,
    /// Whether it calls functions of the library.
    pub(super) computes: bool,
}

impl StepsText {
    fn of(
        plan: &RegionPlan<'_>,
        names: &Kernel,
        given_on: &Steps<'_>,
        lines: &[(TermId, String)],
        host: &Host<'_>,
    ) -> StepsText {
        let (outer, region) = (&plan.outer, plan.region);
        let body = outer.body;
        let exprs = Exprs { plan: outer, kernel: names, dialect: Dialect::Device };
        let mut inner = Lines::new("    ");
        inner.indent();
        let mut stmts = Stmts { exprs, out: &mut inner, instead: lines };
        region.statements.iter().for_each(|&t| stmts.one(t));
        let statements = inner.into_text();
        let result = |name: &str| format!("{}result_{name}", outer.prefix);
        let (mut parameters, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut scalars = Vec::new();
        for &RegionScalar { symbol, begins, kept, .. } in &region.scalars {
            let (name, ty) = (exprs.name(symbol), exprs.type_name(body.symbols[symbol].ty));
            if !has_word(&statements, &name) {
                continue;
            }
            match (kept, begins) {
                (true, _) => {
                    let at = result(&name);
                    parameters.push(format!("{ty} *{at}"));
                    before.push(match begins {
                        true => format!("{ty} {name} = *{at};"),
                        false => format!("{ty} {name};"),
                    });
                    after.push(format!("*{at} = {name};"));
                }
                (false, true) => parameters.push(format!("{ty} {name}")),
                (false, false) => before.push(format!("{ty} {name};")),
            }
            if kept || begins {
                scalars.push(StepsScalar { symbol, begins, kept, ty, name });
            }
        }
        let (mut arrays, mut shown) = (Vec::new(), Vec::new());
        for b in &outer.buffers {
            let (name, ty) = (exprs.name(b.symbol), exprs.type_name(b.element));
            parameters.push(format!("{ty} *{name}"));
            if region.exchanged.iter().any(|e| e.symbol == b.shown_by(body) && e.kept) {
                let at = result(&name);
                shown.push(format!("{ty} **{at}"));
                after.push(format!("*{at} = {name};"));
            }
            if b.constant_first().is_none() {
                parameters.push(format!("long long {}", b.first_name));
            }
            let lengths = b.rows.iter().flat_map(|r| r.length_names.iter().flatten());
            parameters.extend(lengths.map(|n| format!("long long {n}")));
            arrays.push((b.symbol, name));
        }
        parameters.append(&mut shown);
        for e in region.exchanged.iter().filter(|e| !e.declared) {
            let is_array = outer.buffers.iter().any(|b| b.shown_by(body) == e.symbol);
            if !is_array {
                let of = body.types.behind_pointers(body.symbols[e.symbol].ty);
                before.push(format!("{} *{};", exprs.type_name(of), exprs.name(e.symbol)));
            }
        }
        for f in given_on.fixed.borrow().iter() {
            parameters.push(format!("{} {}", f.kind.c_name(), f.name));
        }
        parameters.extend(given_on.ends.borrow().iter().map(|n| format!("long long {n}")));
        if !given_on.growing.is_empty() {
            parameters.push(format!("struct {0}_array *{1}arrays", outer.name, outer.prefix));
        }
        if let Some(tables) = host.tables_text(&|b| exprs.name(b.symbol)) {
            parameters.push(format!("long long *{}", host.there_name()));
            before.push(tables);
        }
        for room in given_on.rooms.borrow().iter() {
            parameters.push(format!("{} *{}", room.ty, room.name));
        }
        let mut out = Lines::new("    ");
        let name = names.name.clone();
        out.line("/* The program's own statements, with arrays on the device. 0: they did not come to their end. */");
        let start = format!("static int {name}(");
        out.line(&format!("{start}{})", wrapped(&parameters, start.len(), "    ")));
        out.open("{");
        before.iter().for_each(|l| out.line(l));
        out.flush_left(statements.trim_end());
        after.iter().for_each(|l| out.line(l));
        out.line("return 1;");
        out.close("}");
        let of_library =
            |t: TermId| body.callee(t).is_some_and(|f| intrinsic(&body.symbols[f].name).is_some());
        let outside = |t: TermId| !lines.iter().any(|l| l.0 == t);
        let computes =
            region.statements.iter().any(|&t| calls_outside(plan.outer.body, t, &outside, &of_library));
        StepsText { name, text: out.into_text(), scalars, arrays, computes }
    }

    fn name_of(&self, b: &BufferPlan) -> &str {
        self.arrays.iter().find(|a| a.0 == b.symbol).map_or("", |a| &a.1)
    }
}

/// Whether something is called in a statement but for the nests in it.
fn calls_outside(
    body: &term::Body,
    t: TermId,
    outside: &dyn Fn(TermId) -> bool,
    is_it: &dyn Fn(TermId) -> bool,
) -> bool {
    outside(t)
        && (*body.op(t) == Op::Call && is_it(t)
            || body.args(t).iter().any(|&a| calls_outside(body, a, outside, is_it)))
}
