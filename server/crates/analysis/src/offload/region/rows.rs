//! Rows of tables in a region: which of them the statements touch, in one or several parts.
//!
//! No part is made of two: between the rows of one and those of another there may be pointers that nobody follows.

use term::{IntKind, Op, SymbolId, TermId, TypeKind};

use super::kept::hull;
use super::{trouble, Found, Use, Walk};
use crate::{Buffer, Expr, Holders, RegionArray, RegionRows, RegionTroubleKind, Rows, Subscripts};

impl Walk<'_> {
    /// Whether a variable points to pointers.
    pub(super) fn is_table(&self, s: SymbolId) -> bool {
        let element = self.body.types.element(self.body.symbols[s].ty);
        element.is_some_and(|e| matches!(self.body.types.kind(e), TypeKind::Pointer { .. }))
    }

    /// The variable that shows a table which others may come to show.
    pub(super) fn exchanged_table(&self, rows: &Rows) -> Option<SymbolId> {
        self.body.as_symbol(rows.table).filter(|s| self.exchanged.contains(s))
    }

    /// What nests call the rows of a table that a variable shows.
    pub(super) fn rows_of(&self, table: SymbolId) -> Option<SymbolId> {
        let shows = |u: &Use| u.buffer.rows.as_ref().is_some_and(|r| self.exchanged_table(r) == Some(table));
        self.uses.iter().find(|(_, uses)| uses.iter().any(shows)).map(|(s, _)| *s)
    }

    /// The rows of a table that nests use, on the device from where the statements begin to where they end. Tables that are
    /// exchanged have room for what nests touch under each of their names.
    pub(super) fn table(&mut self, s: SymbolId, at: TermId) -> Found<RegionArray> {
        let none = || RegionTroubleKind::Rows(s);
        let rows = |u: &Use| u.buffer.rows.clone();
        let Some(first) = self.uses.get(&s).and_then(|uses| uses.first()).cloned() else {
            return trouble(none(), at);
        };
        let Some(shown) = rows(&first) else { return trouble(none(), at) };
        // one of these rows that counts as an array of its own would be there twice
        let body = self.body;
        let family = |o: SymbolId| body.path_term(o).and_then(|t| body.path_of(t)).map(|p| p.family);
        if self.uses.keys().any(|&o| o != s && family(o) == Some(s)) {
            return trouble(none(), shown.table);
        }
        let is_exchanged = self.exchanged_table(&shown).is_some();
        if let Some(table) = self.exchanged_table(&shown).filter(|t| self.declared.contains(t)) {
            return trouble(RegionTroubleKind::DeclaredInside(table), shown.table);
        }
        let is_one = |o: &SymbolId, u: &Use| {
            *o == s || is_exchanged && rows(u).is_some_and(|r| self.exchanged_table(&r).is_some())
        };
        let mut parts: Vec<RegionRows> = Vec::new();
        let mut numbers = Vec::new();
        let all = self.uses.iter().flat_map(|(o, uses)| uses.iter().map(move |u| (o, u)));
        for (o, u) in all.filter(|(o, u)| is_one(o, u)) {
            let Some(rows) = &u.buffer.rows else { return trouble(none(), at) };
            let is_own =
                matches!(self.body.op(rows.table), Op::Sym(t) if self.body.symbols[*t].is_own_scalar());
            if !self.is_fixed_rows(rows) || !is_own && self.may_set_pointers() {
                return trouble(none(), rows.table);
            }
            let k = add(&mut parts, rows, u.is_sure && *o == s);
            if let Some(nest) = u.nest.filter(|_| *o == s) {
                numbers.push((nest, k, u.is_sure));
            }
        }
        let Some(room) = room(&parts) else { return trouble(none(), at) };
        let may_lack = is_exchanged || parts.iter().any(|p| !p.is_sure);
        for (nest, k, is_sure) in numbers {
            if is_exchanged || !(is_sure || parts[k].is_sure) {
                self.asked.push((nest, s, k));
            }
        }
        let [read, written] = self.read_and_written(s);
        let buffer = Buffer {
            read,
            written,
            holders: Holders::All,
            wholly_written: first.is_sure && first.buffer.wholly_written && parts.len() == 1 && !may_lack,
            rows: Some(Rows { table: shown.table, ..room }),
            ..first.buffer
        };
        Ok(RegionArray { buffer, kept: true, own: false, late: false, parts, writes: None })
    }

    /// Whether what nests write may be a part of a pointer: a character.
    fn may_set_pointers(&self) -> bool {
        let types = &self.body.types;
        let mut written = self.nests.iter().flat_map(|n| &n.1.buffers).filter(|b| b.written);
        written.any(|b| match types.kind(b.element) {
            TypeKind::Int(k) => matches!(k, IntKind::Char | IntKind::SChar | IntKind::UChar),
            kind => !matches!(kind, TypeKind::Float(_)),
        })
    }
}

/// Notes a part, unless there is one of the same elements; the answer is its number.
fn add(parts: &mut Vec<RegionRows>, new: &Rows, is_sure: bool) -> usize {
    let same = |p: &RegionRows| {
        let ends = |r: &Rows| r.subscripts.iter().map(|s| s.one.clone()).collect::<Vec<_>>();
        let written = [&p.rows.written, &new.written];
        ends(&p.rows) == ends(new) && (written.iter().any(|w| w.is_none()) || written[0] == written[1])
    };
    let k = parts.iter().position(same).unwrap_or_else(|| {
        parts.push(RegionRows { rows: new.clone(), is_sure });
        parts.len() - 1
    });
    let known = &mut parts[k];
    known.is_sure |= is_sure;
    if known.rows.written.is_none() {
        known.rows.written.clone_from(&new.written);
    }
    k
}

/// A table with room for several parts.
fn room(parts: &[RegionRows]) -> Option<Rows> {
    let first = &parts.first()?.rows;
    let rank = first.subscripts.len();
    if parts.iter().any(|p| p.rows.subscripts.len() != rank) {
        return None;
    }
    let of_level = |k: usize| {
        let mut all: Vec<&(Expr, Expr)> = Vec::new();
        for p in parts.iter().map(|p| &p.rows.subscripts[k].all) {
            if !all.contains(&p) {
                all.push(p);
            }
        }
        let all = match all.as_slice() {
            [one] => (*one).clone(),
            several => hull(several),
        };
        Subscripts { all, one: first.subscripts[k].one.clone() }
    };
    Some(Rows { subscripts: (0..rank).map(of_level).collect(), ..first.clone() })
}
