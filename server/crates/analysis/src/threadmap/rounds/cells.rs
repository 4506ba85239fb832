//! Numbers that an iteration has for itself and puts into a cell of memory at its end: `w = b[i]; for … w -= …; x[i] = w / d;`. Where
//! nothing else touches the cell from the number's first value on, it may stand in the cell all the time, of the same type and
//! so with the same bits; what is done to it is then a statement like any other.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, SymbolId, TermId};

use crate::algebra::poly::Domain;
use crate::depend::{overlap, Overlap};
use crate::nest::{AffineAccess, Model};
use crate::threadmap::sets::{ParamSpace, Part};
use crate::threadmap::statements::{Nest, PrivateOf};

/// What stands for such numbers.
#[derive(Default)]
pub(super) struct StandIns {
    /// By mention, or by declaration with a value: the place.
    pub places: FxHashMap<TermId, TermId>,
    /// Statements that do nothing then.
    pub idle: FxHashSet<TermId>,
}

/// The statements from a number's first value to the cell that it goes to.
struct Window {
    from: TermId,
    to: TermId,
    /// The cell.
    place: TermId,
    mentions: Vec<TermId>,
    statements: Vec<TermId>,
}

/// Lets numbers of the nest stand in cells of memory; `None`: there is none that can.
pub(super) fn in_memory(
    body: &Body,
    model: &Model<'_>,
    nest: &mut Nest,
    frame: &ParamSpace<'_, '_>,
) -> Option<StandIns> {
    let mut out = StandIns::default();
    let mut kept = Vec::new();
    for p in std::mem::take(&mut nest.privates) {
        let found = match p.mentions.len() {
            0 | 1 => None,
            _ => windows(body, model, nest, &p),
        };
        let apart = found.filter(|all| all.iter().all(|w| is_apart(body, nest, w, frame).unwrap_or(false)));
        match apart {
            Some(all) => all.iter().for_each(|w| stand(body, nest, &p, w, &mut out)),
            None => kept.push(p),
        }
    }
    nest.privates = kept;
    (!out.places.is_empty()).then_some(out)
}

/// The windows of a number, in which all mentions of it stand.
fn windows(body: &Body, model: &Model<'_>, nest: &Nest, p: &PrivateOf) -> Option<Vec<Window>> {
    let s = p.symbol;
    let named =
        |t: TermId| body.walk(t).any(|x| body.as_symbol(x) == Some(s) || *body.op(x) == Op::Declare(s));
    let mut out: Vec<Window> = Vec::new();
    for list in body.walk(model.root).filter(|&t| *body.op(t) == Op::List) {
        let all = body.args(list);
        let begins = |t: TermId| match body.op(t) {
            Op::Assign => {
                matches!(body.args(t), &[at, value] if body.as_symbol(at) == Some(s) && !named(value))
            }
            Op::Declare(d) => *d == s && body.args(t).len() == 1,
            _ => false,
        };
        let starts: Vec<usize> = (0..all.len()).filter(|&k| begins(all[k])).collect();
        for (n, &start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(all.len());
            let last = (start..end).rev().find(|&k| named(all[k])).filter(|&k| k > start)?;
            let &[place, value] = body.args(all[last]) else { return None };
            let goes = *body.op(all[last]) == Op::Assign && !named(place) && named(value);
            let in_memory = matches!(body.op(place), Op::Index | Op::Deref);
            let fixed = body.walk(place).all(|t| is_fixed(body, model, nest, t));
            if !goes || !in_memory || !fixed || !is_same_type(body, s, place) {
                return None;
            }
            let statements = all[start..=last].to_vec();
            let inside = statements.iter().flat_map(|&t| body.walk(t));
            let mentions =
                inside.filter(|&t| body.as_symbol(t) == Some(s) || *body.op(t) == Op::Declare(s)).collect();
            out.push(Window { from: all[start], to: all[last], place, mentions, statements });
        }
    }
    // each mention stands in one of them; a declaration without a value says nothing
    let mentions = body.walk(model.root).filter(|&t| match body.op(t) {
        Op::Declare(d) => *d == s && !body.args(t).is_empty(),
        _ => body.as_symbol(t) == Some(s),
    });
    // and none in the head of a loop or a condition
    let in_statement: FxHashSet<TermId> = nest.statements.iter().flat_map(|s| body.walk(s.term)).collect();
    let once =
        |t: TermId| in_statement.contains(&t) && out.iter().filter(|w| w.mentions.contains(&t)).count() == 1;
    mentions.into_iter().all(once).then_some(out)
}

/// Whether a part of a place means the same wherever in the window: it names nothing that the nest sets but indices.
fn is_fixed(body: &Body, model: &Model<'_>, nest: &Nest, t: TermId) -> bool {
    if body.op(t).is_write() || *body.op(t) == Op::Call {
        return false;
    }
    let Some(s) = body.as_symbol(t) else { return true };
    let index = model.loops.iter().any(|l| l.control.as_ref().is_some_and(|c| c.index == s));
    let plain = |a: &AffineAccess| a.base == s && a.subs.is_empty();
    let set =
        nest.accesses.iter().any(|(_, a)| a.write && plain(a)) || nest.privates.iter().any(|p| p.symbol == s);
    index || !set
}

fn is_same_type(body: &Body, s: SymbolId, place: TermId) -> bool {
    let (a, b) = (body.symbols[s].ty, body.term(place).ty);
    let plain = [a, b].iter().all(|&t| {
        let q = body.types.quals(t);
        !q.is_volatile && !q.is_atomic
    });
    plain && body.types.is_arithmetic(a) && body.types.kind(a) == body.types.kind(b)
}

/// The write of a window's cell, with its statement.
fn cell<'n>(body: &Body, nest: &'n Nest, w: &Window) -> Option<(usize, &'n AffineAccess)> {
    let at = nest.statements.iter().position(|s| s.term == w.to)?;
    let mut found = nest.accesses.iter().filter(|(k, a)| *k == at && a.write);
    let (k, access) = found.next()?;
    let plain = access.why.is_none() && access.fields.is_empty() && access.inside.is_all();
    let known = access.subs.iter().all(|s| s.value.is_some()) && !access.subs.is_empty();
    let only = found.next().is_none() && body.walk(w.place).any(|t| t == access.term);
    (plain && known && only).then_some((*k, access))
}

/// Whether the number is set wherever it is put into the cell, and nothing else in the window touches the cell in one iteration.
fn is_apart(body: &Body, nest: &Nest, w: &Window, frame: &ParamSpace<'_, '_>) -> Option<bool> {
    let (to, cell) = cell(body, nest, w)?;
    let from = nest.statements.iter().position(|s| s.term == w.from)?;
    let (first, last) = (&nest.statements[from], &nest.statements[to]);
    if first.loops != last.loops || first.domain != last.domain || cell.loops != last.loops {
        return Some(false);
    }
    let within = |t: TermId| w.statements.iter().any(|&s| body.walk(s).any(|x| x == t));
    for (k, a) in &nest.accesses {
        if a.base != cell.base || *k == from || std::ptr::eq(a, cell) || !within(nest.statements[*k].term) {
            continue;
        }
        let equal = match overlap(cell, a) {
            Overlap::Never => continue,
            Overlap::When { equal, .. } => equal,
        };
        let n = cell.loops.len();
        if a.loops.get(..n) != Some(&cell.loops[..]) {
            return Some(false);
        }
        let parts = [
            Part { domain: &cell.domain, loops: &cell.loops, first: 0 },
            Part { domain: &a.domain, loops: &a.loops, first: n },
        ];
        let same: Vec<poly::Constraint> =
            (0..n).map(|d| poly::Constraint::eq(poly::Row::constant(0).dim(d, 1).dim(n + d, -1))).collect();
        let equal: Vec<_> = equal.iter().map(|(p, q)| ((p, 0), (q, 1))).collect();
        let both = frame.set(n + a.loops.len(), &parts, &equal, &same).ok()?;
        if !both.is_empty(frame.budget).ok()? {
            return Some(false);
        }
    }
    Some(true)
}

/// Lets the number stand in the cell.
fn stand(body: &Body, nest: &mut Nest, p: &PrivateOf, w: &Window, out: &mut StandIns) {
    let Some((to, cell)) = cell(body, nest, w).map(|(k, a)| (k, a.clone())) else { return };
    out.places.extend(w.mentions.iter().map(|&t| (t, w.place)));
    let value = |t: TermId| body.args(t).last().copied();
    if value(w.from).is_some_and(|v| body.same(v, w.place)) {
        out.idle.insert(w.from);
    }
    if value(w.to).is_some_and(|v| body.as_symbol(v) == Some(p.symbol)) {
        out.idle.insert(w.to);
    }
    let within = |t: TermId| w.statements.iter().any(|&s| body.walk(s).any(|x| x == t));
    for (k, s) in nest.statements.iter().enumerate().filter(|(_, s)| within(s.term)) {
        if !p.mentions.contains(&k) || out.idle.contains(&s.term) {
            continue;
        }
        let access = |write: bool| {
            let at = AffineAccess { write, term: s.term, loops: s.loops.clone(), ..cell.clone() };
            let exact = s.domain.exact && !s.chooses;
            (k, AffineAccess { domain: Domain { exact, ..s.domain.clone() }, ..at })
        };
        if p.writers.contains(&k) && k != to {
            nest.accesses.push(access(true));
        }
        if s.term != w.from {
            nest.accesses.push(access(false));
        }
    }
    let statements = &nest.statements;
    nest.accesses.retain(|(k, _)| !out.idle.contains(&statements[*k].term));
}
