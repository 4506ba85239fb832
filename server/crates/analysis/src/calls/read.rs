//! What the text of a file says by itself: its functions, and what it does with its variables.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, TypeKind};

use crate::calls::constants::{constants, hidden, Constant, Touched};
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

/// What the whole text of a file says of its variables.
pub(super) struct Variables {
    /// Those that keep their first value.
    pub constants: FxHashMap<Arc<str>, Constant>,
    /// Those that no pointer shows.
    pub hidden: FxHashSet<Arc<str>>,
}

/// What a file says of its variables. `functions`: all it has; `None`: one that was not read. `parts`: with whether texts that are not among
/// them may name what they declare.
pub(super) fn variables<'f>(
    functions: impl Iterator<Item = Option<&'f Function>>,
    parts: &[(&Arc<Body>, bool)],
) -> Variables {
    let touched: Option<Vec<&Touched>> =
        functions.map(|f| f.and_then(|f| f.local.touched.as_ref())).collect();
    let declarations = || parts.iter().copied().filter(|(b, _)| !matches!(b.op(b.root), Op::Function(_)));
    let changed: Option<FxHashSet<&Arc<str>>> =
        touched.as_ref().map(|all| all.iter().flat_map(|t| &t.changed).collect());
    Variables {
        constants: constants(declarations().map(|p| p.0), changed.as_ref()),
        hidden: touched.map(|all| hidden(&all, declarations())).unwrap_or_default(),
    }
}
