//! What several of these tests do with a text.

use analysis::{analyze, LoopFacts, Program};
use base::Budget;

/// The facts of the last loop of the function `f` of a C text, the innermost where they are nested.
#[allow(dead_code)] // not every test asks for it
pub fn last_loop_of_f(text: &str) -> LoopFacts {
    loops_of_f(text).pop().expect("a loop")
}

#[allow(dead_code)] // not every test asks for it
pub fn loops_of_f(text: &str) -> Vec<LoopFacts> {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let is_definition = |i: &&front::Item| matches!(i.body.op(i.body.root), term::Op::Function(_));
    let f = unit.items.iter().filter(is_definition).find(|i| &*i.name == "f").expect("it is there");
    let facts = analyze(&f.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
    facts.loops.iter().cloned().collect()
}

/// The facts of the last outermost loop of the function `f` of a C text.
#[allow(dead_code)] // not every test asks for it
pub fn last_of_depth_zero(text: &str) -> LoopFacts {
    let all = loops_of_f(text);
    all.into_iter().rfind(|l| l.depth == 0).expect("a loop")
}
