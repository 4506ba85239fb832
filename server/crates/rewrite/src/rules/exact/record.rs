//! Proofs that were made before: of the pages that ship, by what their rules say.
//!
//! `rules/proofs.txt` has a line for each such page: its name and the hash of its rules. A test makes all proofs again
//! (`tests/rule_truth.rs`), so that they need no decision procedure where the pages are used.

use text::ContentHash;

use super::super::derivation::Applied;
use super::super::page::Rule;
use super::super::page::RulePage;
use super::super::pattern::Pattern;
use super::super::tree::{Subject, Tree};
use super::lower;
use super::roles;
use term::{FloatKind, TypeKind, Types};

const RECORD: &str = include_str!("../../../../../../rules/proofs.txt");

/// The hash of a page's rules and of what it claims; prose and examples do not count.
pub fn hash(page: &RulePage) -> String {
    let mut said = page.trust.as_ref().map_or(String::new(), |t| t.text());
    for s in &page.systems {
        for r in &s.rules {
            let text = page.text.get(r.place.range()).unwrap_or("");
            said += "\n";
            said += &text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
    format!("{:032x}", ContentHash::of(&said).0)
}

/// Whether the page's claim was proved when it was made.
pub fn recorded(page: &RulePage) -> bool {
    let hash = hash(page);
    RECORD.lines().any(|l| l.split_whitespace().eq([&*page.name, hash.as_str()]))
}

/// That a proof of the rule speaks of this application: what its variables stand for are numbers of the types for which it is
/// proved, and functions of the library are those. `Err`: words that continue "because".
pub fn covered(subject: &Subject, types: &Types, rule: &Rule, step: &Applied) -> Result<(), String> {
    if super::shapes::is_one(rule) {
        // its guards have spoken of the place
        return Ok(());
    }
    let statement = rule.run || roles::is_statement(&rule.source);
    look(subject, types, &rule.source, &step.before, statement)?;
    words(subject, &rule.source)?;
    words(subject, &rule.destination)
}

fn look(s: &Subject, types: &Types, p: &Pattern, n: &Tree, statement: bool) -> Result<(), String> {
    if lower::key(p).is_some() && !(statement && matches!(p, Pattern::Variable { .. })) {
        let number = n.ty.is_some_and(|t| {
            matches!(types.kind(t), TypeKind::Int(_) | TypeKind::Float(FloatKind::F32 | FloatKind::F64))
        });
        let declared = n.ty.is_none() && matches!(n.op, term::Op::Name(_));
        return match number || declared {
            true => Ok(()),
            false => Err(format!(
                "the rule is proved for integers, `float` and `double`, and `{}` is none of them",
                s.print(n)
            )),
        };
    }
    let Pattern::Term(op, args) = p else { return Ok(()) };
    // types and functions are no values
    let no_value = match op {
        term::Op::Apply(h) if &**h == "Cast" => Some(0),
        term::Op::Apply(h) if h.starts_with("Declaration") => Some(1),
        term::Op::Call => Some(0),
        _ => None,
    };
    for (k, (p, n)) in args.iter().zip(n.args.iter()).enumerate() {
        if no_value == Some(k) {
            continue;
        }
        let block = super::super::pattern::blocks(op, args.len()).contains(&k);
        let inside = block || matches!(op, term::Op::List);
        look(s, types, p, n, inside)?;
    }
    Ok(())
}

/// That the functions it calls by name are the library's.
fn words(s: &Subject, p: &Pattern) -> Result<(), String> {
    let Pattern::Term(op, args) = p else { return Ok(()) };
    if let (term::Op::Call, Some(Pattern::Literal(super::super::pattern::Literal::Word(w)))) =
        (op, args.first())
    {
        let mut all = s.symbols.iter().enumerate().filter(|(_, k)| *k.name == **w);
        if all.any(|(k, _)| !s.library.contains(&term::SymbolId(k as u32))) {
            return Err(format!("`{w}` is not the library's function of this name"));
        }
    }
    args.iter().try_for_each(|a| words(s, a))
}
