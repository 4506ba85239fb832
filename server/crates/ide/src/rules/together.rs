//! What of a file has to be rewritten together: a kernel with those who launch it, a function with its calls.
//!
//! Each function is rewritten for itself; here the whole is looked at. Deliberately absent: other files (the pages' trust
//! says so).

use std::sync::Arc;

use front::{Item, ItemKind};
use rewrite::rules::{Strategy, Systems};
use term::{Op, Storage, TermId};

use super::Done;
use crate::Doc;

/// How often a function launches a kernel.
pub(super) fn launches(item: &Item, kernel: &str) -> usize {
    let body = &*item.body;
    let is_it = |&t: &TermId| *body.op(t) == Op::Launch && body.callee_name(t) == Some(kernel);
    body.walk(body.root).filter(is_it).count()
}

/// A system whose rules belong together and that applied to a part only, with the reason: words that continue "because".
pub(super) fn torn(doc: &Doc, systems: &Systems, done: &Done) -> Option<(Arc<str>, String)> {
    let mut names: Vec<&Arc<str>> =
        done.applications.iter().flat_map(|(_, a)| a.derivation.steps.iter().map(|s| &s.system)).collect();
    names.sort();
    names.dedup();
    names.into_iter().find_map(|name| {
        let system = systems.get(name).filter(|s| matches!(s.strategy, Strategy::Together(_)))?;
        let steps = || {
            done.applications.iter().flat_map(|(k, a)| {
                a.derivation.steps.iter().filter(|s| s.system == *name).map(move |s| (*k, s))
            })
        };
        let stays = |rule: &Arc<str>| done.recognized.iter().any(|(s, r)| s == name && r == rule);
        let missing = system.rules.iter().find(|r| steps().all(|(_, s)| s.rule != r.name) && !stays(&r.name));
        if let Some(rule) = missing {
            let why = format!(
                "rule {} of `{name}` applies nowhere, and its rules apply together or not at all",
                rule.name
            );
            return Some((name.clone(), why));
        }
        for kernel in
            doc.unit().items.iter().enumerate().filter(|(k, i)| i.is_kernel && steps().any(|(s, _)| s == *k))
        {
            let kernel = &kernel.1.name;
            for (k, item) in doc.unit().items.iter().enumerate().filter(|(_, i)| i.kind == ItemKind::Function)
            {
                let (wanted, found) = (launches(item, kernel), steps().filter(|(s, _)| *s == k).count());
                if wanted > 0 && wanted != found {
                    let why =
                        format!("not every launch of `{kernel}` in `{}` is rewritten with it", item.name);
                    return Some((name.clone(), why));
                }
            }
        }
        None
    })
}

/// That every call of a function whose parameters changed in number has as many arguments, and that there is one: else its
/// callers are elsewhere. `Err`: words that continue "because".
pub(super) fn calls_fit(doc: &Doc, text: &str) -> Result<(), String> {
    let parsed = front::Parsed::parse(doc.language(), text);
    let unit = front::lower(&parsed, &doc.options().to_front(), &mut front::Memo::new());
    for (old, new) in doc.unit().items.iter().zip(&unit.items) {
        if new.kind != ItemKind::Function || old.name != new.name || parameters(old) == parameters(new) {
            continue;
        }
        if unit.items.iter().any(|i| i.kind == ItemKind::Declarations && i.name == new.name) {
            return Err(format!("the parameters of `{}` change, and it is declared a second time", new.name));
        }
        let (mut calls, wanted) = (0, parameters(new).len());
        if parameters(old).len() == wanted {
            continue;
        }
        for item in &unit.items {
            let body = &*item.body;
            for t in body.walk(body.root) {
                let before = match body.op(t) {
                    Op::Launch => 5,
                    Op::Call => 1,
                    _ => continue,
                };
                let args = body.args(t);
                if body.callee_name(t) != Some(&new.name) {
                    continue;
                }
                calls += 1;
                if args.len().checked_sub(before) != Some(wanted) {
                    return Err(format!(
                        "`{}` has {wanted} parameters then, and a call of it in `{}` has other arguments",
                        new.name, item.name
                    ));
                }
            }
        }
        if calls == 0 {
            return Err(format!("the parameters of `{}` change, and nothing in the file calls it", new.name));
        }
    }
    Ok(())
}

/// The types of a function's parameters.
fn parameters(item: &Item) -> Vec<String> {
    let all = item.body.symbols.iter().filter(|s| matches!(s.storage, Storage::Param(_)));
    all.map(|s| term::notation::type_text(&item.body.types, s.ty)).collect()
}
