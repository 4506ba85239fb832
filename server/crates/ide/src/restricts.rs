//! `restrict` as advice: which pointers of a loop, declared so, would make it parallel. This is tried on the text before it is
//! said: a pointer that is loaded, or that another parameter leads to, gains nothing by it.

use std::collections::BTreeSet;

use analysis::{LoopId, Object, Obstacle, ObstacleKind};
use term::{Storage, SymbolId};
use text::{Edit, EditSet};

use crate::function_view::FunctionView;
use crate::promises::tried;
use crate::{words, Tier};

/// Tries of one pointer alone; then all are tried together.
const MOST_SINGLE: usize = 3;

/// The parameters to declare `restrict`, so that the loop is parallel: this was tried. Nothing where something else than overlaps is
/// in its way, and nothing while nobody has time to try it.
pub(crate) fn helping(view: &FunctionView, id: LoopId) -> Vec<SymbolId> {
    let told = words::told(view, id);
    let pairs = || told.iter().map(|o| overlap(o));
    let Some(pairs) = pairs().collect::<Option<Vec<_>>>().filter(|p| !p.is_empty()) else {
        return Vec::new();
    };
    if let Some(known) = view.plans.restricts(view.surroundings(), id) {
        return known;
    }
    if view.ask.tier < Tier::Full || view.is_spent() || !view.can_offload() {
        return Vec::new();
    }
    let mut edits: Vec<(SymbolId, Edit)> = Vec::new();
    for o in pairs.iter().flatten() {
        if !edits.iter().any(|(s, _)| *s == o.symbol) {
            edits.extend(edit(view, o).map(|e| (o.symbol, e)));
        }
    }
    // one alone is the smaller promise
    let mut ways: Vec<Vec<(SymbolId, Edit)>> =
        edits.iter().take(MOST_SINGLE).map(|e| vec![e.clone()]).collect();
    if edits.len() >= 2 {
        ways.push(edits);
    }
    let mut found = Vec::new();
    for way in ways {
        let (symbols, edits): (Vec<SymbolId>, Vec<Edit>) = way.into_iter().unzip();
        let Ok(edits) = EditSet::new(edits) else { continue };
        match tried(view, &edits, |facts, _| facts.loops.get(id).is_some_and(crate::lints::is_parallel)) {
            Some(true) => {
                found = symbols;
                break;
            }
            Some(false) => {}
            None => return Vec::new(),
        }
    }
    view.plans.put_restricts(view.surroundings(), id, found.clone());
    found
}

/// The two objects that may overlap.
fn overlap(o: &Obstacle) -> Option<[&Object; 2]> {
    match &o.kind {
        ObstacleKind::MayAlias(a, b) => Some([a, b]),
        _ => None,
    }
}

/// `restrict` in the declaration of a parameter: `float *restrict a`, `float a[restrict]`.
fn edit(view: &FunctionView, of: &Object) -> Option<Edit> {
    let symbol = view.body().symbols.get(of.symbol)?;
    if !of.fields.is_empty() || !matches!(symbol.storage, Storage::Param(_)) {
        return None;
    }
    let name = view.absolute(symbol.span?);
    let source = view.doc.source();
    let (before, behind) = (source.get(..name.start as usize)?, source.get(name.end as usize..)?);
    if before.trim_end().ends_with('*') {
        return Some(Edit::insert(name.start, "restrict ".to_owned()));
    }
    let blanks = behind.len() - behind.trim_start().len();
    let at = name.end + u32::try_from(blanks).ok()? + 1;
    behind.trim_start().starts_with('[').then(|| Edit::insert(at, "restrict ".to_owned()))
}

/// The advice in a sentence; nothing where none helps.
pub(crate) fn words(view: &FunctionView, id: LoopId) -> String {
    let found = helping(view, id);
    let names: Vec<String> = found.iter().map(|&s| format!("`{}`", view.symbol(s))).collect();
    let all = words::list(&names);
    let [one] = found.as_slice() else {
        return if found.is_empty() {
            String::new()
        } else {
            format!("Declare {all} `restrict` if they never overlap.")
        };
    };
    let others: BTreeSet<String> = words::told(view, id)
        .into_iter()
        .filter_map(overlap)
        .filter(|pair| pair.iter().any(|o| o.symbol == *one))
        .flatten()
        .filter(|o| o.symbol != *one)
        .map(|o| format!("`{}`", view.object(o)))
        .collect();
    let others: Vec<String> = others.into_iter().collect();
    format!("Declare {all} `restrict` if it never overlaps {}.", words::list(&others))
}
