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

fn fresh(text: &str) -> Unit {
    let u = unit_as(Language::CSharp, text, &[]);
    sane(text, &u);
    u
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

#[test]
fn deep_input_ends() {
    let deep = format!("class A {{ int F() {{ return {}1{}; }} }}", "(".repeat(3000), ")".repeat(3000));
    fresh(&deep);
    fresh(&format!("class A {{ void F() {{ {} }} }}", "if (x) {".repeat(2000)));
    fresh(&format!("class A {{ int F() => {}; }}", vec!["1"; 5000].join(" + ")));
    fresh(&"class A {".repeat(500));
    fresh("for (;;) { }\nclass A { void F() { } }\nfor (;;) { }");
    fresh("");
}

/// A piece of the program taken out, doubled, or put elsewhere.
fn mangled(at: usize, len: usize, to: usize, how: u8) -> String {
    let bytes: Vec<char> = PROGRAM.chars().collect();
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
            prop_assert_eq!(dump(&unit), dump(&fresh(&text)));
            // and back, as one who undoes
            parsed = parsed.reparse(&[], PROGRAM);
            prop_assert_eq!(dump(&lower(&parsed, &Options::default(), &mut memo)), dump(&fresh(PROGRAM)));
        }
    }
}
