//! Pointers and numbers loaded from memory: `g->u[i]`, `rows[i][j]`, `p->n`.
//!
//! A load whose address is fixed while the root runs is taken to give the same value throughout, and what it points to
//! is an object of its own, named by the load's path. That is right because nothing the root does changes the cell:
//! by induction over the steps of the sequential run, the first write that would change an assumed cell is one the
//! model has (all that ran before it ran as modelled), and each write of the model
//! * is of another type than a pointer (C11 6.5p7: an object declared or last stored as a pointer is not changed by an
//!   lvalue of a number type other than a character type; a program that does so anyway and reads the pointer then has
//!   undefined behavior), in which case pointer cells are not even recorded;
//! * or goes to the same object by another field (`disjoint`);
//! * or goes to another object, which is kept apart by proof or run-time test like all recorded accesses;
//! * or is refused here.
//!
//! What is reached through different paths may be the same memory: that is for `alias` and the run-time tests.
//!
//! A load whose subscripts move with the loop (`rows[i]` in the loop over i) makes a *table*: an object whose cells have
//! the subscripts of the load in front, `rows[i][j]`. Equal subscripts are the same cell; different ones are different
//! cells only if the rows are distinct, which is a condition of its own (see `tables`).

use std::sync::Arc;

use term::{BinOp, Body, IntKind, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use crate::algebra::poly::{Domain, Poly};
use crate::flow::parts::{base_symbol, Inside};
use crate::flow::parts::{field_cell, FieldCell};
use crate::nest::builder::{Builder, Load, Loc};
use crate::{Obstacle, ObstacleKind};

impl Builder<'_> {
    /// What a pointer loaded from memory points to.
    pub(super) fn loaded_pointer(&mut self, t: TermId) -> Result<Loc, Obstacle> {
        let ty = self.body.ty(t);
        let Some(path) = self.body.path_of(t) else {
            return Err(match base_symbol(self.body, t) {
                Some(s) => Obstacle { kind: ObstacleKind::UnknownPointer(s), term: t },
                None => Obstacle { kind: ObstacleKind::NotUnderstood, term: t },
            });
        };
        let unknown = Obstacle { kind: ObstacleKind::UnknownPointer(path.own), term: t };
        let moves_by_itself = |t: TypeId| {
            let q = self.body.types.quals(t);
            q.is_volatile || q.is_atomic
        };
        if moves_by_itself(ty) || self.body.types.element(ty).is_some_and(moves_by_itself) {
            return Err(Obstacle { kind: ObstacleKind::Volatile, term: t });
        }
        let cell = self.location(t)?;
        if cell.inside != Inside::All {
            return Err(Obstacle { kind: ObstacleKind::SharedBytes, term: t });
        }
        let symbol = &self.body.symbols[cell.base];
        // A table of pointers that the loop itself fills or declares.
        let is_table = !matches!(self.body.types.kind(symbol.ty), TypeKind::Pointer { .. });
        if is_table
            && (self.effects.writes_in(self.root).contains(&cell.base) || self.declared_inside(cell.base))
        {
            return Err(unknown);
        }
        if self.written.cells {
            self.record(cell.clone(), t, false, ty);
        }
        let lead = cell.subs.len();
        let begins = self.begins(t, &cell);
        let known = *self.objects.begins.entry(path.family).or_insert(begins);
        if known != begins {
            self.objects.begins.insert(path.family, None);
        }
        if *self.leads.entry(path.family).or_insert(lead) != lead {
            return Err(unknown);
        }
        let fixed: Option<Vec<Poly>> = cell
            .subs
            .iter()
            .map(|(v, _)| match v.as_deref() {
                Some([(d, p)]) if *d == Domain::always() && p.vars().all(|v| self.is_param(v)) => {
                    Some(p.clone())
                }
                _ => None,
            })
            .collect();
        if let Some(subs) = fixed {
            let known = self.objects.path(path.family, &subs).is_some();
            // The host must be able to compute it before the loop as it is written.
            if !known && self.effects.is_invariant_in(self.body, t, self.root) {
                self.objects.loaded.push((path.family, subs, path.own));
            }
        }
        let mut loads = cell.loads;
        loads.push(Load {
            base: cell.base,
            fields: cell.fields.iter().map(|f| f.1.clone()).collect(),
            term: t,
        });
        let mut subs = cell.subs;
        subs.push((Some(vec![(Domain::always(), Poly::default())]), t));
        let lengths = vec![None; subs.len()];
        Ok(Loc { base: path.family, fields: Vec::new(), subs, lengths, loads, inside: Inside::All })
    }

    /// How many subscripts of the cell lead to the table that the load's text names; `None`: those behind them do not count from
    /// where that points.
    fn begins(&self, load: TermId, cell: &Loc) -> Option<usize> {
        let row = self.body.row_of_table(load)?;
        let family = |t: TermId| self.body.path_of(t).map(|p| p.family);
        let before = cell.subs.len().checked_sub(row.subscripts.len())?;
        let (through, _) = self.body.subscripted(load)?;
        let starts = match row.subscripts.len() {
            1 => self.body.as_symbol(through).or_else(|| family(through)) == Some(cell.base),
            // the pointer before says the rest
            _ => {
                family(through) == Some(cell.base)
                    && self.objects.begins.get(&cell.base) == Some(&Some(before))
            }
        };
        (starts && cell.fields.is_empty()).then_some(before)
    }

    /// Whether a load gives the same value in every iteration, as far as the text tells; `settle_loads` sees to the rest.
    pub(super) fn is_fixed_load(&self, loc: &Loc, t: TermId) -> bool {
        let fields: Vec<Arc<str>> = loc.fields.iter().map(|f| f.1.clone()).collect();
        self.effects.is_invariant_in(self.body, t, self.root)
            && self.written.places.iter().all(|w| match w {
                None => false,
                Some((base, theirs)) => *base != loc.base || disjoint(theirs, &fields),
            })
    }

    /// Notes that a cell is taken to keep its value.
    pub(super) fn assume_fixed(&mut self, loc: &Loc, term: TermId) {
        let fields = loc.fields.iter().map(|f| f.1.clone()).collect();
        self.assumed.push(Load { base: loc.base, fields, term });
    }

    /// When all accesses are known: refuses assumptions that a write of the same object may break, and gives paths
    /// with fixed subscripts their own symbols.
    pub(super) fn settle_loads(&mut self) {
        let mut broken: Vec<TermId> = Vec::new();
        for load in &self.assumed {
            let changed = self.accesses.iter().any(|a| {
                a.write && a.base == load.base && {
                    let theirs: Vec<Arc<str>> = a.fields.iter().map(|f| f.1.clone()).collect();
                    !disjoint(&theirs, &load.fields)
                }
            });
            if changed && !broken.contains(&load.term) {
                broken.push(load.term);
            }
        }
        for t in broken {
            let kind = match self.body.path_of(t) {
                Some(p) if matches!(self.body.types.kind(self.body.ty(t)), TypeKind::Pointer { .. }) => {
                    ObstacleKind::UnknownPointer(p.own)
                }
                _ => ObstacleKind::IndirectSubscript(t),
            };
            self.obstacle(kind, t);
        }
        let mut families: Vec<SymbolId> = self
            .accesses
            .iter()
            .map(|a| a.base)
            .filter(|&b| self.body.symbols[b].storage == Storage::Path)
            .collect();
        families.sort_unstable();
        families.dedup();
        for family in families {
            let Some(&lead) = self.leads.get(&family) else { continue };
            let members: Vec<usize> =
                (0..self.accesses.len()).filter(|&i| self.accesses[i].base == family).collect();
            let own: Vec<Option<SymbolId>> = members
                .iter()
                .map(|&i| {
                    let a = &self.accesses[i];
                    let subs: Option<Vec<Poly>> =
                        a.subs.get(..lead)?.iter().map(|s| s.value.clone()).collect();
                    self.objects.path(family, &subs?)
                })
                .collect();
            // The pointer moves: the subscripts of the load stay in front, and the rows must be distinct.
            let row = self.body.path_term(family).and_then(|t| self.body.row_of_table(t));
            if own.contains(&None) || self.how.rows_together && row.is_some() {
                self.objects.tables.insert(family);
                continue;
            }
            for (&i, own) in members.iter().zip(own) {
                let a = &mut self.accesses[i];
                a.base = own.unwrap_or(family);
                a.subs.drain(..lead);
                a.lengths.drain(..lead);
                for f in &mut a.fields {
                    f.0 -= lead.min(f.0);
                }
            }
        }
    }
}

/// Whether two places of one object, told by the fields on the way to them, have no byte in common: members of a
/// structure do not overlap (C11 6.7.2.1p15; what overlaps has one name, see `parts`).
fn disjoint(a: &[Arc<str>], b: &[Arc<str>]) -> bool {
    a.iter().zip(b).any(|(x, y)| x != y)
}

/// The fields on the way from a place's base to it; none where a conversion makes them say nothing.
pub(super) fn fields_of(body: &Body, mut t: TermId) -> Vec<Arc<str>> {
    let mut out = Vec::new();
    for step in 0..1000 {
        if step > 0
            && matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. })
            && body.path_of(t).is_some()
        {
            break;
        }
        t = match (body.op(t), body.args(t)) {
            (Op::Member { .. }, &[b]) => {
                match field_cell(body, t) {
                    Some(FieldCell::Own(field)) => out.push(field),
                    // What is behind it names no cells of its own.
                    Some(FieldCell::Unit(unit, _)) => out = vec![unit],
                    Some(FieldCell::Whole(_)) | None => out.clear(),
                }
                b
            }
            (Op::Index | Op::Deref | Op::AddrOf | Op::Step { .. }, &[b, ..]) => b,
            (Op::Binary(BinOp::Add | BinOp::Sub), &[a, b]) => {
                if body.types.as_int(body.ty(a)).is_some() {
                    b
                } else {
                    a
                }
            }
            (Op::Sym(_), _) => break,
            _ => return Vec::new(),
        };
    }
    out.reverse();
    out
}

/// Whether the loop changes by name a pointer or record that others can reach, or calls what may.
pub(super) fn changes_visible_pointers(body: &Body, root: TermId) -> bool {
    let visible = |s: SymbolId| {
        let v = &body.symbols[s];
        !v.is_own_scalar() && !is_plain_number(body, v.ty)
    };
    body.walk(root).any(|t| match body.op(t) {
        Op::Declare(s) => !body.args(t).is_empty() && visible(*s),
        Op::Call => {
            let pure = body.callee(t);
            body.asserted(t).is_none() && !pure.is_some_and(|f| crate::flow::effects::is_pure_callee(body, f))
        }
        op if op.is_write() => body.as_symbol(body.args(t)[0]).is_some_and(visible),
        _ => false,
    })
}

/// Whether running the term may change a pointer in memory or one that others can reach.
pub(super) fn may_change_pointers(body: &Body, root: TermId) -> bool {
    changes_visible_pointers(body, root)
        || body.walk(root).any(|t| {
            body.op(t).is_write() && {
                let place = body.args(t)[0];
                body.as_symbol(place).is_none() && !is_plain_number(body, body.ty(place))
            }
        })
        || body.walk(root).any(|t| matches!(body.op(t), Op::Reject(_) | Op::Launch | Op::Apply(_)))
}

/// A type whose objects a pointer cannot be stored in: numbers, characters aside (C11 6.5p7).
pub(crate) fn is_plain_number(body: &Body, ty: TypeId) -> bool {
    match body.types.kind(ty) {
        TypeKind::Int(k) => !matches!(k, IntKind::Char | IntKind::SChar | IntKind::UChar),
        TypeKind::Float(_) => true,
        _ => false,
    }
}
