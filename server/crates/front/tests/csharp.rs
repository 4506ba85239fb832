//! C#: broken and deep input gives no panic, and edits in steps give what a fresh reading gives.

mod common;
mod sane;

use common::unit_as;
use front::{lower, Edit, Language, Memo, Options, Parsed, Unit};
use proptest::prelude::*;
use sane::sane;

const PROGRAM: &str = include_str!("csharp_program.txt");

/// Everything that a unit says, spans included.
fn dump(u: &Unit) -> String {
    let mut out = String::new();
    for i in &u.items {
        let b = &i.body;
        out += &format!("{:?} {:?} {} {:x}\n", i.span, i.kind, i.name, b.hash);
        out += &term::notation::print(b, b.root);
        for t in b.walk(b.root) {
            out += &format!(" {:?}{:?}", b.span(t), b.origin(t));
        }
        b.symbols.iter().for_each(|s| out += &format!("\n{s:?}"));
        b.rejects().for_each(|r| out += &format!("\n{r:?}"));
    }
    u.rejects.iter().for_each(|r| out += &format!("\n{r:?}"));
    u.directives.iter().for_each(|d| out += &format!("\n{d:?}"));
    out
}

/// Two units say the same: the first piece in which they do not is shown.
fn same(a: &Unit, b: &Unit) {
    let (a, b) = (dump(a), dump(b));
    for (x, y) in a.split(['\n', ' ']).zip(b.split(['\n', ' '])) {
        assert_eq!(x, y);
    }
    assert_eq!(a.len(), b.len());
}

fn fresh(text: &str) -> Unit {
    let u = unit_as(Language::CSharp, text, &[]);
    sane(text, &u);
    assert_eq!(listed(&u), written(text), "loops of\n{text}");
    u
}

/// Where the loops stand that are spoken of.
fn listed(u: &Unit) -> Vec<(u32, u32)> {
    let of_item = |i: &front::Item| {
        let from = i.span.start;
        i.body.loops(i.body.root).map(|l| i.body.span(l).shifted(from)).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = u.items.iter().flat_map(of_item).map(|s| (s.start, s.end)).collect();
    all.sort_unstable();
    all
}

/// Where the parser sees loops, whatever is around them.
fn written(text: &str) -> Vec<(u32, u32)> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_c_sharp::LANGUAGE.into()).expect("a language");
    let tree = parser.parse(text, None).expect("a tree");
    let (mut all, mut stack) = (Vec::new(), vec![tree.root_node()]);
    while let Some(n) = stack.pop() {
        if matches!(n.kind(), "for_statement" | "foreach_statement" | "while_statement" | "do_statement") {
            all.push((n.start_byte() as u32, n.end_byte() as u32));
        }
        stack.extend((0..n.child_count()).filter_map(|k| n.child(k)));
    }
    all.sort_unstable();
    all
}

const PLACES: &str = include_str!("csharp_places.txt");

/// A loop is spoken of wherever it stands: one snippet a paragraph.
#[test]
fn every_loop_is_listed() {
    let (mut places, mut loops) = (0, 0);
    for snippet in PLACES.split("\n\n").filter(|s| !s.trim().is_empty()) {
        let unit = fresh(snippet);
        places += 1;
        loops += listed(&unit).len();
    }
    assert!(places >= 40 && loops >= 60, "{places} places, {loops} loops");
}

#[test]
fn every_member_with_a_body_is_an_item() {
    let unit = fresh(PROGRAM);
    let names: Vec<&str> = unit.items.iter().map(|i| &*i.name).collect();
    assert!(names.contains(&"Grid.Blur") && names.contains(&"Grid.get_Count"), "{names:?}");
    assert!(names.contains(&"Grid.Sum(int[])") && names.contains(&"Grid.Sum(int[],int)"), "{names:?}");
    assert!(unit.rejects.is_empty(), "{:?}", unit.rejects);
}

/// A fault costs the member it stands in.
#[test]
fn a_fault_costs_one_member() {
    let broken = PROGRAM.replacen("total += 1;", "total += ;", 1);
    assert_ne!(broken, PROGRAM);
    let (whole, part) = (fresh(PROGRAM), fresh(&broken));
    let with_faults = |u: &Unit| {
        let is_fault = |r: &term::Reject| r.kind == term::RejectKind::Syntax;
        u.items.iter().filter(|i| i.body.rejects().any(is_fault)).count()
    };
    assert_eq!((with_faults(&whole), with_faults(&part)), (0, 1));
    assert_eq!(whole.items.len(), part.items.len());
}

#[test]
fn what_did_not_change_is_the_same() {
    let mut memo = Memo::new();
    let before = Parsed::parse(Language::CSharp, PROGRAM);
    let first = lower(&before, &Options::default(), &mut memo);
    let text = PROGRAM.replacen("total += 1;", "total += 2;", 1);
    let after = lower(&before.reparse(&[], &*text), &Options::default(), &mut memo);
    let same = |(a, b): (&front::Item, &front::Item)| std::sync::Arc::ptr_eq(&a.body, &b.body);
    let kept = first.items.iter().zip(&after.items).filter(|&p| same(p)).count();
    assert_eq!(kept + 1, first.items.len());
    assert_eq!(dump(&after), dump(&fresh(&text)));
}

/// With a brace missing, the accessor before an indexer is taken for one of its.
#[test]
fn an_accessor_may_stand_before_the_parameters_it_gets() {
    fresh("class A { int Count { get { return 3; } float this[int i] { get { return data[i]; } } }");
}

#[test]
fn deep_input_ends() {
    let deep = format!("class A {{ int F() {{ return {}1{}; }} }}", "(".repeat(3000), ")".repeat(3000));
    fresh(&deep);
    fresh(&format!("class A {{ void F() {{ {} }} }}", "if (x) {".repeat(2000)));
    fresh(&format!("class A {{ int F() => {}; }}", vec!["1"; 5000].join(" + ")));
    fresh(&"class A {".repeat(500));
    fresh("for (;;) { }\nclass A { void F() { } }\nfor (;;) { }");
    fresh(&format!("class A {{ void F() {{ {} }} }}", "for (;;) ".repeat(200)));
    fresh(&format!(
        "class A {{ void F() {{ {}{} }} }}",
        "G(() => { for (;;) { ".repeat(60),
        "} });".repeat(60)
    ));
    fresh("");
}

/// A piece of the program taken out, doubled, or put elsewhere.
fn mangled(at: usize, len: usize, to: usize, how: u8) -> String {
    mangled_of(PROGRAM, at, len, to, how)
}

fn mangled_of(text: &str, at: usize, len: usize, to: usize, how: u8) -> String {
    let bytes: Vec<char> = text.chars().collect();
    let (at, to) = (at % bytes.len(), to % bytes.len());
    let end = (at + len).min(bytes.len());
    let piece: Vec<char> = bytes[at..end].to_vec();
    let mut out = bytes.clone();
    match how % 3 {
        0 => drop(out.drain(at..end)),
        1 => drop(out.splice(to..to, piece)),
        _ => {
            out.drain(at..end);
            let to = to.min(out.len());
            out.splice(to..to, piece);
        }
    }
    out.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn mangled_input_is_read(at in 0..20_000usize, len in 0..200usize, to in 0..20_000usize, how in 0..3u8) {
        fresh(&mangled(at, len, to, how));
        fresh(&mangled_of(PLACES, at, len, to, how));
    }

    #[test]
    fn edits_in_steps_are_a_fresh_reading(
        steps in proptest::collection::vec((0..20_000usize, 0..40usize, 0..20_000usize, 0..3u8), 1..5)
    ) {
        let mut memo = Memo::new();
        let mut parsed = Parsed::parse(Language::CSharp, PROGRAM);
        lower(&parsed, &Options::default(), &mut memo);
        for (at, len, to, how) in steps {
            let text = mangled(at, len, to, how);
            // edits that say nothing true
            parsed = parsed.reparse(&[Edit::default()], &*text);
            let unit = lower(&parsed, &Options::default(), &mut memo);
            same(&unit, &fresh(&text));
            // and back, as one who undoes
            parsed = parsed.reparse(&[], PROGRAM);
            same(&lower(&parsed, &Options::default(), &mut memo), &fresh(PROGRAM));
        }
    }
}
