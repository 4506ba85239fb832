//! The host's side of a region in C#: methods that launch, one that runs the program's statements between kernels, on variables
//! of its own and arrays on the device, and the one that stands for the region. What throws in the statements is no matter: the
//! program's own memory is what it was, and its own text runs.

use analysis::RegionScalar;
use term::TermId;

use super::csharp::method_name;
use super::region::{StepsScalar, StepsText};
use super::{of_type, Host, HostText, Steps};
use crate::device::expr::{Dialect, Exprs};
use crate::device::host_term::Term;
use crate::device::stmt::Stmts;
use crate::device::wrapped;
use crate::limits::host_method_steps::ROUNDS;
use crate::lines::Lines;
use crate::plan::{has_word, Kernel, Plan, RegionPlan};
use crate::HostPages;

impl Plan<'_> {
    /// What kernels of a region note where they would throw, and where that lies on the device.
    pub(super) fn fault_name(&self) -> String {
        format!("{}fault", self.prefix)
    }
    pub(super) fn fault_place(&self) -> String {
        format!("{}gpu_fault", self.prefix)
    }
}

impl StepsText {
    /// The method that runs the statements.
    pub(super) fn of_method(
        plan: &RegionPlan<'_>,
        names: &Kernel,
        given_on: &Steps<'_>,
        lines: &[(TermId, String)],
    ) -> StepsText {
        let (outer, region) = (&plan.outer, plan.region);
        let exprs = Exprs { plan: outer, kernel: names, dialect: Dialect::Steps };
        let mut inner = Lines::new("    ");
        inner.indent();
        inner.indent();
        let launches = format!("{}launches", outer.prefix);
        let fault = outer.fault_place();
        // a loop that only an exception ends goes on until somebody looks
        let looks = format!(
            "\nif (++{launches} % {ROUNDS} == 0 && WarpwrightCuda.IsSet({fault}))\n    return false;"
        );
        let looking: Vec<(TermId, String)> = lines.iter().map(|(t, l)| (*t, format!("{l}{looks}"))).collect();
        let lines = if given_on.looks.get() { &looking } else { lines };
        let mut stmts = Stmts { exprs, out: &mut inner, instead: lines };
        region.statements.iter().for_each(|&t| stmts.one(t));
        let statements = inner.into_text();
        let (mut parameters, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut scalars = Vec::new();
        for &RegionScalar { symbol, begins, kept, .. } in &region.scalars {
            let (name, ty) = (exprs.name(symbol), exprs.type_name(outer.body.symbols[symbol].ty));
            if !has_word(&statements, &name) {
                continue;
            }
            let at = format!("{}result_{name}", outer.prefix);
            match (kept, begins) {
                (true, _) => {
                    parameters.push(format!("ref {ty} {at}"));
                    before.push(format!("{ty} {name} = {at};"));
                    after.push(format!("{at} = {name};"));
                }
                (false, true) => parameters.push(format!("{ty} {name}")),
                (false, false) => before.push(format!("{ty} {name} = default({ty});")),
            }
            if kept || begins {
                scalars.push(StepsScalar { symbol, begins, kept, ty, name });
            }
        }
        let mut arrays = Vec::new();
        for b in &outer.buffers {
            let name = exprs.name(b.symbol);
            parameters.push(format!("ulong {name}"));
            arrays.push((b.symbol, name));
        }
        for f in given_on.fixed.borrow().iter() {
            parameters.push(format!("{} {}", print::CSHARP.int_name(f.kind), f.name));
        }
        if given_on.looks.get() {
            parameters.push(format!("ulong {fault}"));
            before.push(format!("int {launches} = 0;"));
        }
        let mut out = Lines::new("    ");
        let name = names.name.clone();
        out.line("// The program's own statements, with arrays on the device. False: they did not come to their end.");
        let start = format!("private static bool {name}(");
        out.line(&format!("{start}{})", wrapped(&parameters, start.len(), "    ")));
        out.line("{");
        out.indent();
        out.open("unchecked {");
        before.iter().for_each(|l| out.line(l));
        out.flush_left(statements.trim_end());
        after.iter().for_each(|l| out.line(l));
        out.line("return true;");
        out.close("}");
        out.close("}");
        StepsText { name, text: out.into_text(), scalars, arrays, computes: false }
    }
}

impl Host<'_> {
    /// All methods of a region, and the call of the one that stands for it.
    pub(super) fn region_methods(
        &mut self,
        launches: Vec<Term>,
        (steps, call): (&str, Term),
        (about, file_name): (&str, &str),
        pages: &dyn HostPages,
    ) -> Result<HostText, String> {
        let name = method_name(&self.plan.name);
        let mut first = self.helper_functions();
        first.extend(launches);
        let launches = pages.methods(&Term::List(first).to_string())?;
        let body = vec![Term::head("_InitCuda", Vec::new()), call];
        let given = of_type(&self.given.all, |g| &g.ty);
        let own = Term::function(&["internal", "static"], "bool", &name, given, body);
        let about = Term::comment(&about.replace(". 0: it", ". False: it"));
        let own = pages.methods(&Term::List(vec![about, own]).to_string())?;
        let called = format!("{}.{name}", term::HOST_CLASS);
        let call = self.call(&called, file_name, None, pages)?;
        let written = launches.derivation.into_iter().chain(own.derivation);
        let derivation = call.derivation().iter().cloned().chain(written).collect();
        let functions = format!("{}\n\n{steps}\n{}", launches.text.trim_end(), own.text);
        Ok(HostText { functions, stand_in: String::new(), includes: Vec::new(), call, derivation })
    }
}
