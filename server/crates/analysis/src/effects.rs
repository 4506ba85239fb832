//! What a stretch of a body may write, and which values are fixed while it runs.
//!
//! Only variables are counted here; memory behind pointers is the business of `nest`.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TermId};

/// Memoised write sets of one body.
pub(crate) struct Effects<'a> {
    body: &'a Body,
    memo: RefCell<FxHashMap<TermId, Rc<FxHashSet<SymbolId>>>>,
    parents: OnceCell<Vec<Option<TermId>>>,
    /// How many terms write each variable in the whole body (its declaration's initialiser counts as one).
    pub writes: FxHashMap<SymbolId, Vec<TermId>>,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(body: &'a Body) -> Effects<'a> {
        let mut writes: FxHashMap<SymbolId, Vec<TermId>> = FxHashMap::default();
        for t in body.walk(body.root) {
            if let Some(s) = written(body, t) {
                writes.entry(s).or_default().push(t);
            }
        }
        Effects { body, memo: RefCell::default(), parents: OnceCell::new(), writes }
    }

    /// The term around another.
    pub(crate) fn parent(&self, t: TermId) -> Option<TermId> {
        self.parents.get_or_init(|| self.body.parents()).get(t.0 as usize).copied().flatten()
    }

    /// Variables that a term under `root` writes directly (declared ones included).
    pub(crate) fn writes_in(&self, root: TermId) -> Rc<FxHashSet<SymbolId>> {
        if let Some(set) = self.memo.borrow().get(&root) {
            return set.clone();
        }
        let set: FxHashSet<SymbolId> = self.body.walk(root).filter_map(|t| written(self.body, t)).collect();
        let set = Rc::new(set);
        self.memo.borrow_mut().insert(root, set.clone());
        set
    }

    /// Whether the term has the same value each time it is evaluated while `during` runs, memory aside: it calls
    /// nothing that is not pure, writes nothing, and reads no variable that is written there. Reads of memory are
    /// allowed; whether that memory is written is decided with the accesses.
    pub(crate) fn is_invariant_in(&self, body: &Body, t: TermId, during: TermId) -> bool {
        let written_there = self.writes_in(during);
        body.walk(t).all(|x| match body.op(x) {
            Op::Sym(s) => !written_there.contains(s),
            Op::Call => body
                .args(x)
                .first()
                .and_then(|&f| body.as_symbol(f))
                .is_some_and(|f| crate::effects::is_pure_callee(body, f)),
            Op::Reject(_) | Op::Launch | Op::Apply(_) => false,
            op => !op.is_write(),
        })
    }

    /// Whether the variable keeps the value it has at its declaration (or at the body's start, for a parameter) for
    /// the whole body, its address being nobody's.
    pub(crate) fn is_single_valued(&self, s: SymbolId) -> bool {
        let symbol = &self.body.symbols[s];
        if symbol.address_taken {
            return false;
        }
        let n = self.writes.get(&s).map_or(0, Vec::len);
        match symbol.storage {
            Storage::Param(_) => n == 0,
            Storage::Local => n == 1,
            _ => false,
        }
    }
}

/// The variable a term itself writes.
pub(crate) fn written(body: &Body, t: TermId) -> Option<SymbolId> {
    match body.op(t) {
        op if op.is_write() => body.args(t).first().and_then(|&p| body.as_symbol(p)),
        // A parameter's declaration only names it.
        Op::Declare(s) if !matches!(body.symbols[*s].storage, Storage::Param(_)) => Some(*s),
        _ => None,
    }
}

/// Whether a called function is known to be pure: an intrinsic that this file does not define otherwise.
pub(crate) fn is_pure_callee(body: &Body, f: SymbolId) -> bool {
    body.library.contains(&f) && term::intrinsic(&body.symbols[f].name).is_some()
}
