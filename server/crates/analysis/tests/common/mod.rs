//! What several of these tests do with a text.

use analysis::{analyze, LoopFacts, Program};
use base::Budget;

/// The facts of the last loop of the function `f` of a C text, the innermost where they are nested.
pub fn last_loop_of_f(text: &str) -> LoopFacts {
    let parsed = front::Parsed::parse(front::Language::C, text);
    let unit = front::lower(&parsed, &front::Options::default(), &mut front::Memo::new());
    let program = Program::of(unit.items.iter().map(|i| &i.body));
    let f = unit.items.iter().find(|i| &*i.name == "f").expect("it is there");
    let facts = analyze(&f.body, &program, analysis::SAVE, &Budget::new(u64::MAX));
    let last = facts.loops.iter().last();
    last.expect("a loop").clone()
}
