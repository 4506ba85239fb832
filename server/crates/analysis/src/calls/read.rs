//! What the text of a file says by itself: its functions, and what it does with its variables.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TypeKind};

use crate::calls::called_with::called_with;
use crate::calls::constants::{constants, hidden, Constant, Touched};
use crate::calls::function::Function;
use crate::calls::held::{stored, Stored};
use crate::calls::shape::shape;
use crate::calls::summaries::local;
use crate::Summary;

/// A function as its text says; what it calls is not known yet. `before`: the same text, where it was read before.
pub(super) fn function(body: &Arc<Body>, weak: bool, before: Option<&Function>) -> Option<Function> {
    let &Op::Function(f) = body.op(body.root) else { return None };
    let symbol = &body.symbols[f];
    let TypeKind::Function { ret, .. } = body.types.kind(symbol.ty) else { return None };
    Some(Function {
        name: symbol.name.clone(),
        body: body.clone(),
        ty: symbol.ty,
        returns: *ret,
        shape: match before.filter(|o| !o.weak) {
            _ if weak => None,
            Some(o) => o.shape.clone(),
            None => shape(body),
        },
        local: match before {
            Some(o) => o.local.clone(),
            None => Arc::new(local(body)),
        },
        summary: Summary::default(),
        weak,
        home: None,
        key: 0,
        doubt: 0,
    })
}

/// What each function of a file does with its variables; `None` where that is not known of one. `functions`: all it has; `None`: one
/// that was not read.
pub(super) fn touched<'f>(functions: impl Iterator<Item = Option<&'f Function>>) -> Option<Vec<&'f Touched>> {
    functions.map(|f| f.and_then(|f| f.local.touched.as_ref())).collect()
}

/// The constants of a file. `parts`: as for [`hidden_beside`].
pub(super) fn constants_beside<'a>(
    functions: Option<&[&Touched]>,
    parts: impl Iterator<Item = (&'a Arc<Body>, bool)>,
) -> FxHashMap<Arc<str>, Constant> {
    let changed: Option<FxHashSet<&Arc<str>>> =
        functions.map(|all| all.iter().flat_map(|t| &t.changed).collect());
    let declared = parts.filter(|(b, _)| !matches!(b.op(b.root), Op::Function(_)));
    constants(declared, changed.as_ref())
}

/// The file's own variables that no pointer shows, in order. `parts`: with whether texts that are not among them may name what they
/// declare.
pub(super) fn hidden_beside<'a>(
    functions: Option<&[&Touched]>,
    parts: impl Iterator<Item = (&'a Arc<Body>, bool)>,
) -> Vec<Arc<str>> {
    let declared = parts.filter(|(b, _)| !matches!(b.op(b.root), Op::Function(_)));
    let hidden = functions.map(|all| hidden(all, declared)).unwrap_or_default();
    let mut hidden: Vec<Arc<str>> = hidden.into_iter().collect();
    hidden.sort();
    hidden
}

/// What the file's statements store in its own variables (`hidden`), by name. `parts`: as for [`hidden_beside`].
pub(super) fn stored_beside<'a>(
    functions: Option<&[&Touched]>,
    parts: impl Iterator<Item = (&'a Arc<Body>, bool)>,
    hidden: &[Arc<str>],
) -> FxHashMap<Arc<str>, Vec<Stored>> {
    let mut out: FxHashMap<Arc<str>, Vec<Stored>> = FxHashMap::default();
    let declared = parts.filter(|(b, _)| !matches!(b.op(b.root), Op::Function(_)));
    let at_first = declared.flat_map(|(b, _)| stored(b));
    let later = functions.into_iter().flatten().flat_map(|t| t.stored.iter().cloned());
    for s in at_first.chain(later) {
        if hidden.binary_search(&s.name).is_ok() {
            out.entry(s.name.clone()).or_default().push(s);
        }
    }
    out
}

/// Notes the file-scope variables that a function uses.
pub(super) fn note_globals(body: &Arc<Body>, globals: &mut FxHashMap<Arc<str>, (Arc<Body>, SymbolId)>) {
    for (id, s) in body.symbols.iter_ids() {
        if matches!(s.storage, Storage::Global { .. }) && !globals.contains_key(&s.name) {
            globals.insert(s.name.clone(), (body.clone(), id));
        }
    }
}

/// Functions that declarations name. `parts`: as for [`hidden_beside`].
pub(super) fn named_beside<'a>(parts: impl Iterator<Item = (&'a Arc<Body>, bool)>) -> FxHashSet<Arc<str>> {
    let declared = parts.filter(|(b, _)| !matches!(b.op(b.root), Op::Function(_)));
    declared.flat_map(|(b, _)| called_with(b)).map(|c| c.name).collect()
}
