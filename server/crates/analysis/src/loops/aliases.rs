//! Memory that different variables may share: which pairs need a condition, and whether the host can test it.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use crate::algebra::poly::VarKind;
use crate::alias::bases::{aliasing, Aliasing};
use crate::context::Context;
use crate::nest::{AffineAccess, Model};
use crate::{Condition, ConditionKind, LoopFacts, MetBy, Object, Obstacle, ObstacleKind, Step};

/// What must hold of the memory that different variables show: proved, tested by the host, or an obstacle.
pub(crate) fn alias_conditions(
    cx: &Context<'_>,
    model: &Model<'_>,
    accesses: &[AffineAccess],
    facts: &mut LoopFacts,
) {
    let computed = Computed::new(cx.body, model);
    let mut bases: Vec<SymbolId> = accesses.iter().map(|a| a.base).collect();
    bases.sort_unstable();
    bases.dedup();
    for &table in bases.iter().filter(|b| model.objects.tables.contains(b)) {
        let Some(write) = accesses.iter().find(|x| x.base == table && x.write) else { continue };
        let kind = ConditionKind::DistinctRows(Object { symbol: table, fields: Vec::new() });
        if crate::alias::row_tables::has_fresh_rows(cx.body, &cx.effects, table) {
            facts.note(kind, MetBy::Proof, None);
        } else if has_extent(&computed, accesses, table) {
            // the host sees the pointers
            facts.note(kind, MetBy::RunTimeCheck, None);
        } else if let Some(number) = model.promises.rows(cx.body, table) {
            model.promises.rest_on(number);
            facts.note(kind, MetBy::Assumed, None);
        } else {
            facts.obstacles.push(Obstacle { kind: ObstacleKind::NeedsPromise(kind), term: write.term });
        }
    }
    // Of each base: whether it is written, whether its stretch of memory is known, and where it is first written, or met.
    let first = |s: SymbolId| {
        let written = accesses.iter().position(|x| x.base == s && x.write);
        written.or_else(|| accesses.iter().position(|x| x.base == s))
    };
    let of = |s: SymbolId| {
        let written = accesses.iter().any(|x| x.base == s && x.write);
        (s, written, first(s), OnceCell::new())
    };
    let each: Vec<(SymbolId, bool, Option<usize>, OnceCell<bool>)> = bases.into_iter().map(of).collect();
    for (i, (a, a_written, a_first, a_known)) in each.iter().enumerate() {
        for (b, b_written, b_first, b_known) in &each[i + 1..] {
            if !a_written && !b_written {
                continue;
            }
            let (a, b) = (*a, *b);
            if aliasing(cx.body, &cx.effects, model.root, a, b) == Aliasing::Distinct {
                continue;
            }
            let again = |read, written| {
                super::read_again::is_read_again(cx.body, model.root, accesses, read, written)
            };
            if !a_written && again(a, b) || !b_written && again(b, a) {
                continue;
            }
            let other = model.objects.other_rows(a, b);
            if other.is_some_and(|f| crate::alias::row_tables::has_fresh_rows(cx.body, &cx.effects, f)) {
                continue;
            }
            let object = |s| Object { symbol: s, fields: Vec::new() };
            let known =
                |s: SymbolId, k: &OnceCell<bool>| *k.get_or_init(|| has_extent(&computed, accesses, s));
            let promised = model.promises.apart(a, b);
            // what is changed is where they meet
            let written = [(a_first, a_written), (b_first, b_written)].into_iter().filter(|(_, w)| **w);
            let at = written.filter_map(|(k, _)| *k).min().map_or(model.root, |k| accesses[k].term);
            let kind = || ConditionKind::NoAlias(object(a), object(b));
            if model.start_together(a, b) && promised.is_none() {
                let kind = ObstacleKind::SameArray(object(a), object(b));
                facts.obstacles.push(Obstacle { kind, term: at });
            } else if known(a, a_known) && known(b, b_known) {
                // Each pair is met once, and nothing else asks for this of two objects.
                facts.conditions.push(Condition { kind: kind(), met_by: MetBy::RunTimeCheck, check: None });
            } else if let Some(number) = promised {
                model.promises.rest_on(number);
                facts.conditions.push(Condition { kind: kind(), met_by: MetBy::Assumed, check: None });
            } else {
                facts
                    .obstacles
                    .push(Obstacle { kind: ObstacleKind::MayAlias(object(a), object(b)), term: at });
            }
        }
    }
}

/// The pairs of objects that share no memory while a loop runs, as the body itself calls them (`own`), among those that are accessed.
pub(crate) fn apart(
    cx: &Context<'_>,
    root: TermId,
    accesses: &[&AffineAccess],
    own: &dyn Fn(SymbolId) -> Option<SymbolId>,
) -> Vec<(SymbolId, SymbolId)> {
    let bases: BTreeSet<SymbolId> = accesses.iter().map(|a| a.base).collect();
    let bases: Vec<SymbolId> = bases.into_iter().collect();
    let (mut apart, mut not) = (BTreeSet::new(), BTreeSet::new());
    for (k, &a) in bases.iter().enumerate() {
        for &b in bases.iter().skip(k + 1) {
            let (Some(x), Some(y)) = (own(a), own(b)) else { continue };
            match aliasing(cx.body, &cx.effects, root, a, b) {
                Aliasing::Distinct => apart.insert((x.min(y), x.max(y))),
                Aliasing::May => not.insert((x.min(y), x.max(y))),
            };
        }
    }
    // several may have one name there
    apart.difference(&not).copied().collect()
}

/// Whether the host can tell, before the loop, a stretch of memory that holds all cells reached through the variable.
fn has_extent(computed: &Computed<'_, '_>, accesses: &[AffineAccess], s: SymbolId) -> bool {
    let (body, model) = (computed.body, computed.model);
    if !matches!(body.types.kind(body.symbols[s].ty), TypeKind::Pointer { .. }) {
        return true;
    }
    // Rows of an array of arrays are whole arrays, too: the references are compared, if the loop changes none.
    let keeps_rows = || {
        let pointer = |t| matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. });
        let changes = |t| {
            body.op(t).is_write()
                && body.args(t).first().is_some_and(|&p| pointer(p) && body.as_symbol(p).is_none())
        };
        !body.walk(model.root).any(changes)
    };
    let is_row = body.path_term(s).is_some_and(|t| body.row_of_table(t).is_some());
    if body.semantics.checked_bounds && is_row && keeps_rows() {
        return true;
    }
    // A whole array lies where the variable and its length say.
    let has_length = body.said.lengths.iter().any(|l| l.array == s);
    if has_length && !model.effects.writes_in(model.root).contains(&s) {
        return true;
    }
    // Rows lie wherever they lie, each in a stretch of its own.
    let is_table = model.objects.tables.contains(&s);
    let mut mine = accesses.iter().filter(|a| a.base == s);
    if is_table && !model.table(s).is_some_and(|t| mine.all(|a| model.is_in_row(a, &t))) {
        return false;
    }
    if let Some(size) = model.promises.size(s).filter(|_| !is_table) {
        model.promises.rest_on(size.number);
        return true;
    }
    accesses.iter().filter(|a| a.base == s).all(|a| {
        a.subs.iter().enumerate().all(|(k, sub)| {
            // that it stays in its row, whose length is known, is proved or tested
            let in_row = k > 0 && a.inner.is_some() && !model.objects.boxes.contains(&s);
            if in_row && sub.value.is_some() && (0..model.loops.len()).any(|l| is_stepped(model, l)) {
                return true;
            }
            if computed.is_computed(sub.term, &mut Vec::new()) {
                return true;
            }
            let Some(p) = &sub.value else {
                // Any value, but of a small type, from the pointer's own place: `table[byte]`.
                let direct = match (body.op(a.term), body.args(a.term)) {
                    (Op::Index, &[p, x]) => body.as_symbol(p) == Some(s) && x == sub.term,
                    _ => false,
                };
                let still = !model.effects.writes_in(model.root).contains(&s);
                let alone = direct && still && a.subs.len() == 1;
                return alone
                    && (range(body, sub.term, 0).is_some() || is_gone_through(body, model, a, sub.term));
            };
            p.vars().all(|v| match *model.vars.kind(v) {
                VarKind::Param(_) | VarKind::Product(_) => true,
                // told by steps: it ends where the index is at its bound
                VarKind::Iter(l) if is_stepped(model, l) => true,
                VarKind::Iter(_) => a.domain.pieces.iter().all(|piece| {
                    let bounded = |sign: i128| {
                        piece.iter().any(|c| {
                            (c.poly.coefficient(v).signum() == sign
                                || (c.equality && c.poly.coefficient(v) != 0))
                                && c.poly.vars().all(|x| !matches!(model.vars.kind(x), VarKind::Fresh))
                        })
                    };
                    bounded(1) && bounded(-1)
                }),
                VarKind::Quotient => true,
                // A sum that grows has a stretch if it is bounded on both sides.
                VarKind::Image if model.vars.loads.contains_key(&v) => model.promises.bounds(&model.vars, v),
                VarKind::Image => {
                    model.vars.steady.contains(&v)
                        || model.vars.rising.contains_key(&v)
                            && model.vars.definition(v).is_some_and(|defs| defs.len() > 1)
                        || is_gone_through(body, model, a, sub.term)
                }
                VarKind::Fresh => model.vars.columns.contains(&v) || model.vars.is_kept(v, &a.domain),
            })
        })
    })
}

/// Whether a counter numbers the iterations of a loop that goes on by what is no constant, from a known place to a known one.
fn is_stepped(model: &Model<'_>, l: usize) -> bool {
    let of = &model.loops[l];
    let by_term = matches!(of.control, Some(crate::Control { step: Step::Term { .. }, .. }));
    let is_fixed = |p: &Option<crate::algebra::poly::Poly>| {
        p.as_ref()
            .is_some_and(|p| p.vars().all(|v| !matches!(model.vars.kind(v), VarKind::Fresh | VarKind::Image)))
    };
    by_term && of.iteration.is_some() && is_fixed(&of.lower) && is_fixed(&of.limit)
}

/// Values that the host can bound before the loop, as intervals or by going through them: they are computed from the indices of counted
/// loops, from what stays the same, and from elements of arrays that the loop leaves alone.
struct Computed<'m, 'a> {
    body: &'m Body,
    model: &'m Model<'a>,
    /// The places in the loop that set each variable.
    set: FxHashMap<SymbolId, Vec<TermId>>,
    /// What the loop writes elements of.
    stored: FxHashSet<SymbolId>,
}

impl<'m, 'a> Computed<'m, 'a> {
    fn new(body: &'m Body, model: &'m Model<'a>) -> Self {
        let mut set: FxHashMap<SymbolId, Vec<TermId>> = FxHashMap::default();
        for t in body.walk(model.root) {
            let of = match body.op(t) {
                Op::Declare(s) => Some(*s),
                op if op.is_write() => body.args(t).first().and_then(|&p| body.as_symbol(p)),
                _ => None,
            };
            if let Some(s) = of {
                set.entry(s).or_default().push(t);
            }
        }
        let stored = model.accesses.iter().filter(|a| a.write).map(|a| a.base).collect();
        Computed { body, model, set, stored }
    }

    /// `open`: the variables that are being looked into; one made of itself has no bounds that are known.
    fn is_computed(&self, t: TermId, open: &mut Vec<SymbolId>) -> bool {
        let body = self.body;
        if body.types.as_int(body.ty(t)).is_none() {
            return false;
        }
        let args = body.args(t);
        match body.op(t) {
            Op::Int(_) | Op::SizeOfType(_) | Op::SizeOf | Op::Unary(UnOp::Not) => true,
            Op::Binary(op) if op.is_comparison() || op.is_logical() => true,
            // what divides is one number, which is not 0 where the loop divides by it
            Op::Binary(BinOp::Div | BinOp::Rem | BinOp::Shl | BinOp::Shr) => {
                self.is_computed(args[0], open) && self.is_fixed(args[1])
            }
            Op::Binary(_) | Op::Unary(_) | Op::Cast | Op::Arithmetic(_) => {
                args.iter().all(|&a| self.is_computed(a, open))
            }
            Op::Select => args[1..].iter().all(|&a| self.is_computed(a, open)),
            Op::Sym(s) => self.is_computed_variable(*s, open),
            Op::Index => self.is_element(t, open),
            Op::Member { arrow: false, .. } if self.is_element(t, open) => true,
            Op::Member { .. } => self.is_fixed(t),
            _ => false,
        }
    }

    /// Whether it is an element of an array that the loop leaves alone, or a part of one: the host reads it where the loop does.
    fn is_element(&self, t: TermId, open: &mut Vec<SymbolId>) -> bool {
        let body = self.body;
        match (body.op(t), body.args(t)) {
            (Op::Member { arrow: false, .. }, &[of]) => self.is_element(of, open),
            (Op::Index, &[array, subscript]) => {
                let found = match body.array_symbol(array) {
                    Some(s) => {
                        let is_table = self.model.objects.tables.contains(&s);
                        let changed = self.model.effects.writes_in(self.model.root);
                        !self.stored.contains(&s) && !changed.contains(&s) && !is_table
                    }
                    None => self.is_element(array, open),
                };
                found && self.is_computed(subscript, open)
            }
            _ => false,
        }
    }

    /// Whether a term has one value while the loop runs: of numbers, and of variables and their members that nothing else reaches.
    fn is_fixed(&self, t: TermId) -> bool {
        let (body, changed) = (self.body, self.model.effects.writes_in(self.model.root));
        body.types.as_int(body.ty(t)).is_some()
            && body.walk(t).all(|x| match body.op(x) {
                Op::Int(_) | Op::SizeOfType(_) | Op::SizeOf => true,
                Op::Binary(_) | Op::Unary(_) | Op::Cast | Op::Arithmetic(_) => true,
                Op::Member { arrow: false, .. } => true,
                Op::Member { .. } => match body.path_of(x) {
                    Some(p) => !changed.contains(&p.own) && !self.stored.contains(&p.own),
                    None => false,
                },
                Op::Sym(s) => match body.symbols[*s].storage {
                    Storage::Constant(_) => true,
                    _ => body.symbols[*s].is_own_scalar() && !changed.contains(s) || self.is_left_alone(*s),
                },
                _ => false,
            })
    }

    /// Whether a variable that others may reach is one that the loop sets nowhere by name; that it lies in no array that is written is a
    /// condition of its own.
    fn is_left_alone(&self, s: SymbolId) -> bool {
        let (body, symbol) = (self.body, &self.body.symbols[s]);
        let quals = body.types.quals(symbol.ty);
        let is_number = body.types.as_int(symbol.ty).is_some() && !quals.is_volatile && !quals.is_atomic;
        let changed = self.model.effects.writes_in(self.model.root);
        is_number && symbol.is_shared_variable() && !changed.contains(&s) && !self.stored.contains(&s)
    }

    fn is_computed_variable(&self, s: SymbolId, open: &mut Vec<SymbolId>) -> bool {
        let symbol = &self.body.symbols[s];
        if matches!(symbol.storage, Storage::Constant(_)) || self.is_left_alone(s) {
            return true;
        }
        if !symbol.is_own_scalar() || open.contains(&s) {
            return false;
        }
        open.push(s);
        let index = self.model.loops.iter().filter_map(|l| l.control.as_ref()).find(|c| c.index == s);
        let computed = match index {
            // an index lies between its first value and its bound, a step more or less
            Some(c) => {
                let ends = [Some(c.lower), c.bound];
                let counts = c.header_only && !c.pointer && matches!(c.step, Step::Const(_));
                counts && ends.into_iter().flatten().all(|t| self.is_computed(t, open))
            }
            None => {
                self.set.get(&s).into_iter().flatten().all(|&t| match (self.body.op(t), self.body.args(t)) {
                    (Op::Declare(_), &[]) => true,
                    (Op::Declare(_), &[value]) | (Op::Assign, &[_, value]) => self.is_computed(value, open),
                    _ => false,
                })
            }
        };
        open.pop();
        computed
    }
}

/// Whether the host can go through a subscript's values before the loop: it is a number computed from the loop's own index and what
/// stays the same, in each iteration of the loop itself.
fn is_gone_through(body: &Body, model: &Model<'_>, a: &AffineAccess, subscript: TermId) -> bool {
    let Some(control) = model.loops.first().and_then(|l| l.control.as_ref()) else { return false };
    let changed = model.effects.writes_in(model.root);
    let plain = |t: TermId| match body.op(t) {
        Op::Int(_) | Op::Binary(_) | Op::Unary(_) | Op::Cast => body.types.as_int(body.ty(t)).is_some(),
        Op::Sym(s) => *s == control.index || body.symbols[*s].is_own_scalar() && !changed.contains(s),
        _ => false,
    };
    control.header_only && !control.pointer && a.loops == [0] && body.walk(subscript).all(plain)
}

/// The least and greatest value an integer expression can have, as far as small types and masks say it.
fn range(body: &Body, t: TermId, depth: u32) -> Option<(i128, i128)> {
    let kind = body.types.as_int(body.ty(t))?;
    let args = body.args(t);
    if depth > 20 {
        return None;
    }
    let of = |x: TermId| range(body, x, depth + 1);
    let inner = match (body.op(t), args) {
        (Op::Int(v), _) => Some((*v, *v)),
        (Op::Cast, &[x]) => of(x).filter(|r| kind.min() <= r.0 && r.1 <= kind.max()),
        (Op::Binary(op), &[a, b]) => match (op, of(a), of(b)) {
            // Of a value that is not negative, or with one, bits are only taken away.
            (BinOp::BitAnd, _, Some((l, h))) | (BinOp::BitAnd, Some((l, h)), _) if l >= 0 => Some((0, h)),
            (BinOp::Shr, Some((l, h)), _) if l >= 0 => Some((0, h)),
            (BinOp::Rem, Some((l, _)), Some((k, h))) if l >= 0 && k > 0 => Some((0, h - 1)),
            (BinOp::Add, Some((a, b)), Some((c, d))) => Some((a + c, b + d)),
            (BinOp::Mul, Some((a, b)), Some((c, d))) if a >= 0 && c >= 0 => Some((a * c, b * d)),
            _ => None,
        },
        (Op::Sym(_) | Op::Index | Op::Member { .. } | Op::Deref, _) if kind.bits() <= 16 => {
            return Some((kind.min(), kind.max()))
        }
        _ => None,
    };
    let small = |r: &(i128, i128)| r.0 >= -(1 << 31) && r.1 < 1 << 31;
    match inner.filter(|r| small(r) && kind.min() <= r.0 && r.1 <= kind.max()) {
        Some(r) => Some(r),
        None if *body.op(t) == Op::Cast && kind.bits() <= 16 => Some((kind.min(), kind.max())),
        None => None,
    }
}
