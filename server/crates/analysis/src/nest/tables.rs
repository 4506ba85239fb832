//! Tables of rows that the host can follow before the loop as the loop does: `a[i][j]` of `double **a`, `f[i][j][k]`, `g->u[i][j]`.
//! Deliberately absent: which pointers are followed ([`crate::offload`]), and whether rows overlap. Also where that does not matter.

use term::{Op, SymbolId, TermId, TypeKind};

use crate::nest::{AffineAccess, Model, Need};

/// How the accesses of a family of rows begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// The pointer to the table, which keeps its value while the root runs.
    pub table: TermId,
    /// How many of an access's subscripts lead to the table.
    pub before: usize,
    /// How many behind them reach an element.
    pub rank: usize,
}

impl Model<'_> {
    /// The table whose rows the symbol is: a pointer or an array that keeps its value, subscripts alone, and numbers or structures in the
    /// rows.
    pub(crate) fn table(&self, rows: SymbolId) -> Option<Table> {
        let body = self.body;
        let pointer = body.path_term(rows)?;
        let row = body.row_of_table(pointer)?;
        let element = body.types.element(body.ty(pointer))?;
        let has_elements =
            matches!(body.types.kind(element), TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Record(_));
        let moves = match body.op(row.table) {
            Op::Sym(s) => self.effects.writes_in(self.root).contains(s) || self.declared_inside(*s),
            _ => !self.effects.is_invariant_in(body, row.table, self.root),
        };
        let before = self.objects.begins.get(&rows).copied().flatten()?;
        let found = Table { table: row.table, before, rank: row.subscripts.len() + 1 };
        (has_elements && !moves).then_some(found)
    }

    /// Whether the access is one of an element of a row, through subscripts alone.
    pub(crate) fn is_in_row(&self, a: &AffineAccess, of: &Table) -> bool {
        a.subs.len() == of.before + of.rank && a.fields.first().is_none_or(|f| f.0 >= a.subs.len())
    }
}

impl Model<'_> {
    /// Whether what is not proved of a flattened subscript does not matter: reads never conflict, so of an object that is
    /// only read all that counts is where its cells may lie, and that the ranges of its subscripts say whether or not
    /// its rows overlap. (What of it has to be copied they do not say.)
    pub(crate) fn takes_box(&mut self, need: &Need) -> bool {
        let Need::InRow { base, .. } = need else { return false };
        let only_read = self.accesses.iter().all(|a| !a.write || a.base != *base);
        if only_read {
            self.objects.boxes.extend([*base]);
        }
        only_read
    }
}
