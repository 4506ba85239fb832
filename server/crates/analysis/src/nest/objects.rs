//! What a model knows of memory besides its accesses.

use rustc_hash::{FxHashMap, FxHashSet};
use term::SymbolId;

use crate::algebra::poly::Poly;

#[derive(Clone, Default)]
pub(crate) struct Objects {
    /// Families that stay what they are: the pointer that is loaded moves with the loop (`rows[i]`).
    pub tables: FxHashSet<SymbolId>,
    /// Of families whose subscripts count from where the table points that their text names: how many subscripts lead to that.
    pub begins: FxHashMap<SymbolId, Option<usize>>,
    /// Objects that are only read and whose rows may overlap: their cells lie within the box of their subscripts' ranges.
    pub boxes: FxHashSet<SymbolId>,
    /// Objects whose rows may follow each other towards lower cells: what a row's length is for is only known not to be 0.
    pub either_way: FxHashSet<SymbolId>,
    /// Whether rows of what is only read are to lie apart, too: where its parts are told by them.
    pub reads_in_rows: bool,
    /// Pointer variables whose value at the root's entry was followed, with what they point into.
    pub views: Vec<(SymbolId, SymbolId)>,
    /// Pointers that every iteration of the root moves by a fixed number of elements: with what they point into.
    pub walks: Vec<(SymbolId, SymbolId, Poly)>,
    /// By how much the root's index moves, where its iterations are numbered though that is no constant.
    pub step: Option<Poly>,
    /// Variables declared in the root's body: each iteration has its own.
    pub(super) inside: FxHashSet<SymbolId>,
    /// Paths whose subscripts are fixed: family, subscripts of the load, own symbol.
    pub(super) loaded: Vec<(SymbolId, Vec<Poly>, SymbolId)>,
}

impl Objects {
    /// Whether each iteration of the root has its own.
    pub(crate) fn declared_inside(&self, s: SymbolId) -> bool {
        self.inside.contains(&s)
    }

    /// Whether the two are paths of one family that differ by a constant in some subscript: other rows of one table.
    pub(crate) fn other_rows(&self, a: SymbolId, b: SymbolId) -> Option<SymbolId> {
        let of = |s: SymbolId| self.loaded.iter().find(|l| l.2 == s);
        let (x, y) = (of(a)?, of(b)?);
        let apart =
            x.1.iter().zip(&y.1).any(|(p, q)| p.sub(q).and_then(|d| d.as_constant()).is_some_and(|d| d != 0));
        (x.0 == y.0 && apart).then_some(x.0)
    }

    /// The path of a family whose load has these subscripts.
    pub(super) fn path(&self, family: SymbolId, subscripts: &[Poly]) -> Option<SymbolId> {
        self.loaded.iter().find(|l| l.0 == family && l.1 == subscripts).map(|l| l.2)
    }
}
