//! `restrict` as advice: which pointers of a loop, declared so, would take away that two of them may overlap. This is tried on the
//! text before it is said: a pointer that is loaded, or that another parameter leads to, gains nothing by it.

use analysis::{LoopId, Object, Obstacle, ObstacleKind};
use term::{Body, Storage, SymbolId};
use text::{Edit, EditSet};

use crate::function_view::FunctionView;
use crate::promises::tried;
use crate::{words, Tier};

/// The parameters to declare `restrict`, so that the first obstacle of a loop, an overlap, is none any more. Nothing while nobody
/// has time to try it.
pub(crate) fn helping(view: &FunctionView, id: LoopId) -> Vec<SymbolId> {
    let Some(Obstacle { kind: ObstacleKind::MayAlias(a, b), .. }) = words::told(view, id).first() else {
        return Vec::new();
    };
    if let Some(known) = view.plans.restricts(view.surroundings(), id) {
        return known;
    }
    if view.ask.tier < Tier::Full || view.is_spent() || !view.can_offload() {
        return Vec::new();
    }
    let edits: Vec<(SymbolId, Edit)> =
        [a, b].into_iter().filter_map(|o| Some((o.symbol, edit(view, o)?))).collect();
    // one alone is the smaller promise
    let mut ways: Vec<Vec<(SymbolId, Edit)>> = edits.iter().map(|e| vec![e.clone()]).collect();
    if edits.len() == 2 {
        ways.push(edits);
    }
    let mut found = Vec::new();
    for way in ways {
        let (symbols, edits): (Vec<SymbolId>, Vec<Edit>) = way.into_iter().unzip();
        let Ok(edits) = EditSet::new(edits) else { continue };
        let names = names(view.body(), a, b);
        let helps = tried(view, &edits, |facts, body| {
            let is_it = |o: &Obstacle| match &o.kind {
                ObstacleKind::MayAlias(a, b) => self::names(body, a, b) == names,
                _ => false,
            };
            facts.loops.get(id).is_some_and(|l| !l.obstacles.iter().any(is_it))
        });
        match helps {
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

/// What two objects are called, whichever comes first.
fn names(body: &Body, a: &Object, b: &Object) -> [(String, usize); 2] {
    let mut both = [a, b].map(|o| (body.symbols[o.symbol].name.to_string(), o.fields.len()));
    both.sort();
    both
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
    let Some(Obstacle { kind: ObstacleKind::MayAlias(a, b), .. }) = words::told(view, id).first() else {
        return String::new();
    };
    let (first, second) = (view.object(a), view.object(b));
    let found = helping(view, id);
    match found.as_slice() {
        [] => String::new(),
        [one] => {
            let other = if *one == a.symbol { second } else { first };
            format!("Declare `{}` `restrict` if it never overlaps `{other}`.", view.symbol(*one))
        }
        _ => format!("Declare `{first}` and `{second}` `restrict` if they never overlap."),
    }
}
