//! Tables of rows that the host can follow before the loop as the loop does: `a[i][j]` of `double **a`, `f[i][j][k]`, `g->u[i][j]`.
//! Deliberately absent: which pointers are followed ([`crate::offload`]), and whether rows overlap.

use term::{Op, SymbolId, TermId, TypeKind};

use crate::nest::{AffineAccess, Model};

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
