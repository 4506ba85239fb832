//! C text with a cursor `$0` on a loop → the text after a transformation, or why it is refused.

use base::Budget;
use expect_test::Expect;
use rewrite::transform::{by_name, Refusal, Site, Source, With};
use text::{EditSet, Text};

/// `name` or `name: options`; the output is the title and the text, or the refusal.
pub fn check(what: &str, code: &str, expected: Expect) {
    let (name, with) = what.split_once(": ").unwrap_or((what, ""));
    let out = match transformed(name, with, code) {
        Ok((title, text)) => format!("// {title}\n{text}"),
        Err(why) => format!("refused: {why}\n"),
    };
    expected.assert_eq(&out);
}

/// What came of it.
fn transformed(name: &str, with: &str, code: &str) -> Result<(String, String), String> {
    let at = code.find("$0").expect("a cursor") as u32;
    let code = code.replacen("$0", "", 1);
    let options = front::Options::default();
    let parsed = front::Parsed::parse(front::Language::C, code.as_str());
    let unit = front::lower(&parsed, &options, &mut front::Memo::new());
    let index = unit.items.iter().position(|i| i.span.touches(at)).expect("a function");
    let item = &unit.items[index];
    assert!(item.body.rejects().next().is_none(), "the input is not understood");
    let budget = Budget::new(u64::MAX);
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let facts = analysis::analyze(&item.body, &program, analysis::SAVE, &budget);
    let around = |l: &&(analysis::LoopId, base::Span)| l.1.touches(at);
    let spans: Vec<_> =
        facts.loops.iter_ids().map(|(id, l)| (id, item.body.span(l.term).shifted(item.span.start))).collect();
    let target = spans.iter().filter(around).min_by_key(|l| l.1.len()).expect("a loop").0;
    let source = Source { unit: &unit, program: &program, text: &code, options: &options };
    let site = Site::new(source, index, &facts, target, &budget).expect("a site");
    let words = |r: Refusal| match r {
        Refusal::Shape(w) | Refusal::Option(w) => w,
        Refusal::Dependence(e, w) => {
            let vectors: Vec<String> =
                e.vectors.iter().map(|v| v.iter().map(|o| o.symbol()).collect::<String>()).collect();
            let name = &item.body.symbols[e.object.symbol].name;
            format!("{:?} on {name} ({}): {w}", e.kind, vectors.join(" "))
        }
        Refusal::Obstacle(o) => format!("{:?}", o.kind),
        Refusal::Condition(c) => format!("condition {:?}", c.kind),
    };
    let plan = by_name(name).expect("a transformation").plan(&site, &With::parse(with)).map_err(words)?;
    let title = plan.title.clone();
    let edits = plan.edits().map_err(words)?;
    let text = Text::new(&code).expect("small");
    let after = EditSet::new(edits).expect("edits that fit").apply(&text).expect("they fit").to_string();
    let again = front::lower(
        &front::Parsed::parse(front::Language::C, after.as_str()),
        &options,
        &mut front::Memo::new(),
    );
    for i in &again.items {
        if let Some(r) = i.body.rejects().next() {
            panic!("not understood when read again: {}\n{after}", r.reason);
        }
    }
    Ok((title, after))
}
