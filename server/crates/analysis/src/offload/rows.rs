//! What a loop touches of rows that a table of pointers shows: which pointers it surely follows, and which elements of each row.
//!
//! The subscripts that lead to a row are parameters of what is said of that row, so that one row's part is what an array's extent
//! is otherwise. Where arrays know their lengths (C#) all of every row is taken. Deliberately absent: whether rows overlap, which nobody can tell before the run ([`crate::loops`], and the
//! host's test).

use term::{Body, SymbolId};

use super::extent::Maker;
use crate::algebra::poly::Var;
use crate::nest::{AffineAccess, Table};
use crate::{Buffer, Expr, Obstacle, ObstacleKind, Param, Pred, Rows, Subscripts};

impl Maker<'_, '_> {
    /// The buffer with its rows.
    pub(super) fn rows_of_table(
        &mut self,
        body: &Body,
        mut buffer: Buffer,
        mine: &[&AffineAccess],
    ) -> Result<Buffer, Vec<Obstacle>> {
        let base = buffer.symbol;
        let at = mine.first().map_or(self.model.root, |a| a.term);
        let model = self.model;
        let table = model.table(base);
        let alone = table.as_ref().and_then(|t| mine.iter().find(|a| !model.is_in_row(a, t)));
        let (Some(table), None) = (table, alone) else {
            let term = alone.map_or(at, |a| a.term);
            return Err(vec![Obstacle { kind: ObstacleKind::PointerElements(base), term }]);
        };
        if body.semantics.checked_bounds {
            return match whole_rows(body, base, &table) {
                Some(rows) => Ok(Buffer { rows: Some(rows), ..buffer }),
                None => Err(vec![Obstacle { kind: ObstacleKind::PointerElements(base), term: at }]),
            };
        }
        match self.rows(&table, mine) {
            Some((rows, whole)) => {
                buffer.all_written = whole;
                buffer.wholly_written = whole && (!buffer.read || self.reads_what_it_wrote(body, mine));
                buffer.rows = Some(rows);
                Ok(buffer)
            }
            None => {
                let why = mine.iter().find_map(|a| a.why.clone());
                Err(vec![why.unwrap_or(Obstacle { kind: ObstacleKind::NonAffineSubscript, term: at })])
            }
        }
    }

    /// The rows, and whether all that is touched of each is surely written.
    fn rows(&mut self, table: &Table, mine: &[&AffineAccess]) -> Option<(Rows, bool)> {
        let &Table { table, before, rank } = table;
        // what leads to the table is the same for all
        let of_table = |a: &&AffineAccess| {
            let mut a = (*a).clone();
            a.subs.drain(..before);
            a.fields.iter_mut().for_each(|f| f.0 -= before);
            a
        };
        let within: Vec<AffineAccess> = mine.iter().map(of_table).collect();
        let within: Vec<&AffineAccess> = within.iter().collect();
        let cells = self.cells_of(&within, None)?;
        let params = self.params.clone();
        let mut subscripts = Vec::new();
        // what is known of the subscripts before: that they are some of those that the loop uses
        let mut known = self.context(&params, 0)?;
        for level in 0..rank {
            let of_level = cells.surely.project_out(level + 1..rank, self.budget).ok()?;
            let alone = of_level.project_out(0..level, self.budget).ok()?;
            let all = self.hull(&alone, &params, &[])?;
            let one = of_level.dims_to_params(level, self.budget).ok()?;
            let range = self.range(&one, &known, &params)?;
            subscripts.push(Subscripts { all, one: range });
            if level + 1 == rank {
                break;
            }
            known = self.context(&params, level + 1)?;
            // the host goes through all from the first to the last
            if self.between(&one)?.is_subset(&one, self.budget).ok()? {
                let before = of_level.dims_to_params(level + 1, self.budget).ok()?;
                known = known.intersect(&before, self.budget).ok()?;
            }
        }
        let of_row = |s: &poly::Set| s.dims_to_params(rank - 1, self.budget).ok();
        let row = of_row(&cells.surely)?;
        let surely_written = cells.written.as_ref().and_then(of_row);
        let perhaps_written = cells.perhaps_written.as_ref().and_then(of_row);
        let between = self.between(&row)?;
        let whole = surely_written.is_some_and(|w| between.is_subset(&w, self.budget).unwrap_or(false));
        let written = match perhaps_written {
            Some(w) => Some(self.range(&w, &known, &params)?),
            None => None,
        };
        Some((Rows { table, subscripts, written }, whole))
    }

    /// First and last of a set of numbers, whose parameters are the model's and then those of a row. Of none the last is before the
    /// first.
    fn range(&mut self, set: &poly::Set, known: &poly::Set, params: &[Var]) -> Option<(Expr, Expr)> {
        let budget = self.budget;
        let end = |tuple: Vec<poly::Parametric>| {
            let e = tuple.first()?.expr(known, budget).ok()?;
            self.expr(&e, params)
        };
        let first = end(set.lexmin_exprs(budget).ok()?)?;
        let last = end(set.lexmax_exprs(budget).ok()?)?;
        let some = set.params(budget).ok()?.condition(known, budget).ok()?;
        Some(match self.pred(&some, params)? {
            Pred::True => (first, last),
            p => {
                let none = Expr::Add(vec![first.clone(), Expr::Int(-1)]);
                (first, Expr::Select(Box::new(p), Box::new(last), Box::new(none)))
            }
        })
    }
}

/// All rows of an array of arrays that know their lengths: which of them there are, and how long each is, the host sees.
fn whole_rows(body: &Body, rows: SymbolId, table: &Table) -> Option<Rows> {
    let array = body.as_symbol(table.table).filter(|_| table.before == 0 && table.rank == 2)?;
    let (_, last) = super::whole::extent(body, array, 1)?;
    let longest = Expr::Add(vec![Expr::Param(Param::Longest(rows)), Expr::Int(-1)]);
    let subscripts = [last, longest].map(|last| {
        let ends = (Expr::Int(0), last);
        Subscripts { all: ends.clone(), one: ends }
    });
    Some(Rows { table: table.table, subscripts: subscripts.to_vec(), written: None })
}
