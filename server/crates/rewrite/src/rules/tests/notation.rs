//! What is printed of a program as terms is a rule's source: pasted, it matches where it came from.

use front::{ItemKind, Language, Options, Parsed};
use term::Op;

use super::super::matching::{matches, Bindings};
use super::super::syntax::rules;
use super::super::Subject;
use base::Span;

#[test]
fn what_is_printed_of_a_statement_matches_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/c");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").flatten().map(|e| e.path()).collect();
    files.sort();
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "c")) {
        let text = std::fs::read_to_string(file).expect("a text");
        let unit = front::lower(
            &Parsed::parse(Language::C, text.as_str()),
            &Options::default(),
            &mut Default::default(),
        );
        for item in unit.items.iter().filter(|i| i.kind == ItemKind::Function) {
            let subject = Subject::of(&item.body, &text, item.span.start, false, false);
            let lists = subject.root.walk().filter(|n| n.op == Op::List);
            let statements = lists.flat_map(|l| l.args.to_vec());
            for n in statements.filter(|n| n.size < 400 && n.op != Op::Empty) {
                // what is not understood matches nothing
                if n.walk().any(|part| matches!(part.op, Op::Reject(_))) {
                    continue;
                }
                let printed = subject.notation(&n);
                let rule = format!("{printed} -> _Found");
                let (found, findings) = rules(&rule, Span::new(0, rule.len()));
                let fits = found
                    .iter()
                    .any(|r| matches(&subject, &subject.types, &r.source, &n, &mut Bindings::default()));
                seen += 1;
                if !fits || !findings.is_empty() {
                    let said = findings.first().map_or("it does not match", |f| &f.message);
                    wrong.push(format!("{}: {printed}: {said}", item.name));
                }
            }
        }
    }
    assert!(seen > 1000, "{seen} statements");
    assert!(wrong.is_empty(), "{} of {seen}:\n{}", wrong.len(), wrong.join("\n"));
}
