//! One check, many tiny inputs.
#![allow(dead_code)]

use front::{lower, ItemKind, Language, Memo, Options, Parsed, Unit};
use term::{Body, Op, TermId};

pub fn unit_as(language: Language, text: &str, defines: &[(&str, &str)]) -> Unit {
    let options = Options { defines: defines.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect() };
    lower(&Parsed::parse(language, text), &options, &mut Memo::new())
}

pub fn unit(text: &str) -> Unit {
    unit_as(Language::C, text, &[])
}

/// Every statement of every function on a line, then rejects with the text they stand at.
pub fn show(text: &str, unit: &Unit) -> String {
    let mut out = String::new();
    for item in &unit.items {
        let b = &item.body;
        if item.kind == ItemKind::Function {
            match b.op(b.root) {
                Op::Function(_) => {
                    let args = b.args(b.root);
                    out += &format!("{} {}\n", item.name, term::notation::print(b, args[0]));
                    for &s in b.args(args[1]) {
                        out += &format!("  {}\n", term::notation::print(b, s));
                    }
                }
                _ => out += &format!("{} {}\n", item.name, term::notation::print(b, b.root)),
            }
        } else if !b.args(b.root).is_empty() {
            out += &format!("{}\n", term::notation::print(b, b.root));
        }
        for r in b.rejects() {
            let place = text.get(r.span.shifted(item.span.start).range()).unwrap_or("?");
            out += &format!("! {:?} at `{}`: {}\n", r.kind, place.replace('\n', "⏎"), r.reason);
        }
    }
    for r in &unit.rejects {
        let place = text.get(r.span.range()).unwrap_or("?");
        out += &format!("!! {:?} at `{}`: {}\n", r.kind, place.replace('\n', "⏎"), r.reason);
    }
    out
}

/// The body of the only function named `f`.
pub fn body<'a>(unit: &'a Unit, name: &str) -> &'a Body {
    &unit
        .items
        .iter()
        .find(|i| &*i.name == name && i.kind == ItemKind::Function)
        .unwrap_or_else(|| panic!("no function {name}"))
        .body
}

pub fn statements(b: &Body) -> &[TermId] {
    b.args(b.args(b.root)[1])
}

pub fn type_of(b: &Body, t: TermId) -> String {
    term::notation::type_text(&b.types, b.ty(t))
}
