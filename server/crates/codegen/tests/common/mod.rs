//! Offloads loops of C texts through the real front end and analysis.

use std::sync::OnceLock;

use base::Budget;
use codegen::{apply_edits, print, Input, Output, Refusal};
use front::{Language, Memo, Options, Parsed};
use rewrite::rules::{
    host_functions, host_methods, placed_call, plain_functions, HostFunctions, PlacedCall, RuleSet, PLACING,
};

/// What became of one loop.
pub enum Outcome {
    Done { host: String, output: Box<Output> },
    Refused(Refusal),
    NotParallel(String),
}

/// The rule pages that ship.
struct Shipped;

fn shipped() -> &'static RuleSet {
    static PAGES: OnceLock<RuleSet> = OnceLock::new();
    PAGES.get_or_init(RuleSet::shipped)
}

impl codegen::HostPages for Shipped {
    fn written(
        &self,
        target: Option<&'static gpu::Row>,
        functions: &str,
    ) -> Result<codegen::Written, String> {
        let Some(row) = target else {
            return Ok(codegen::Written { text: plain_functions(functions)?, ..Default::default() });
        };
        let HostFunctions { text, includes, derivation } =
            host_functions(shipped(), row.host.page, functions)?;
        Ok(codegen::Written { text, includes, derivation })
    }

    fn methods(&self, functions: &str) -> Result<codegen::Written, String> {
        let HostFunctions { text, includes, derivation } = host_methods(shipped(), functions)?;
        Ok(codegen::Written { text, includes, derivation })
    }

    fn placed(&self, _: codegen::HostSide, call: &str, columns: usize) -> Result<codegen::Placed, String> {
        let PlacedCall { ahead, before, behind, several, includes, derivation } =
            placed_call(shipped(), PLACING, call, (columns, false))?;
        Ok(codegen::Placed { ahead, before, behind, several, includes, derivation })
    }
}

/// Offloads the `nth` outermost loop (in textual order) of a function.
pub fn offload(text: &str, function: &str, nth: usize) -> Outcome {
    offload_for(&gpu::CUDA, text, function, nth)
}

/// Likewise for a target.
pub fn offload_for(target: &'static gpu::Row, text: &str, function: &str, nth: usize) -> Outcome {
    let parsed = Parsed::parse(Language::C, text);
    let unit = front::lower(&parsed, &Options::default(), &mut Memo::default());
    let item =
        unit.items.iter().find(|i| &*i.name == function).unwrap_or_else(|| panic!("no function {function}"));
    let body = &item.body;
    let budget = Budget::new(u64::MAX);
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let facts = analysis::analyze(body, &program, analysis::SAVE, &budget);
    let loops: Vec<_> =
        facts.loops.iter_ids().filter(|(_, l)| l.parent.is_none()).map(|(id, _)| id).collect();
    let id = *loops.get(nth).unwrap_or_else(|| panic!("{function} has no loop {nth}"));
    let steps = || Budget::new(analysis::FULL_STEPS);
    let plain = analysis::offload(body, &program, &facts, id, None, &steps());
    let offload = match plain
        .or_else(|why| analysis::offload_threads(body, &program, &facts, id, &steps()).map_err(|_| why))
    {
        Ok(o) => o,
        Err(why) => return Outcome::NotParallel(format!("{:?} {why:?}", facts.loops[id].verdict)),
    };
    let at = item.span.start + body.span(facts.loops[id].term).start;
    let pragmas = unit.directives.iter().filter(|d| d.before == at);
    let opening =
        pragmas.filter(|d| matches!(d.kind, front::DirectiveKind::Foreign(_))).map(|d| d.span.start).min();
    let input = Input {
        body,
        program: &program,
        facts: &facts,
        offload: &offload,
        target,
        text: &text[item.span.range()],
        base_offset: item.span.start,
        file_text: text,
        file_name: "cases.c",
        name: "",
        taken: &[],
        opening,
        threads: Default::default(),
    };
    match codegen::plan(&input) {
        Err(r) => Outcome::Refused(r),
        Ok(plan) => {
            let output = print(&plan, &Shipped).expect("the pages that ship write it");
            let host = apply_edits(text, &codegen::host_edits(text, &[&output])).expect("edits apply");
            Outcome::Done { host, output: Box::new(output) }
        }
    }
}

/// Host text and kernel text, or a panic that says why not.
#[allow(dead_code)] // not every test file uses everything here
pub fn offloaded(text: &str, function: &str, nth: usize) -> (String, Output) {
    match offload(text, function, nth) {
        Outcome::Done { host, output } => (host, *output),
        Outcome::Refused(r) => panic!("{function}: refused: {r:?}"),
        Outcome::NotParallel(why) => panic!("{function}: {why}"),
    }
}
