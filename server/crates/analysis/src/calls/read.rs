//! What the text of a file says by itself: its functions, and the variables that keep their first value.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, TypeKind};

use crate::calls::constants::{constants, Constant};
use crate::calls::function::Function;
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

/// The constants of a file. `functions`: all it has; `None`: one that was not read.
pub(super) fn constants_beside<'f>(
    functions: impl Iterator<Item = Option<&'f Function>>,
    bodies: &[&Arc<Body>],
) -> FxHashMap<Arc<str>, Constant> {
    let mut touched = Some(FxHashSet::default());
    for f in functions {
        match (&mut touched, f.and_then(|f| f.local.touched.as_ref())) {
            (Some(all), Some(these)) => all.extend(these),
            _ => touched = None,
        }
    }
    let declarations = bodies.iter().copied().filter(|b| !matches!(b.op(b.root), Op::Function(_)));
    constants(declarations, touched.as_ref())
}
