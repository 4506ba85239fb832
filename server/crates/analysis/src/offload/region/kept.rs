//! What becomes of a region's variables, pointers and arrays: what counts from before, and what may be read afterwards.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::{memory, trouble, Found, Life, Use, Walk};
use crate::flow::counted_loop::has_jump;
use crate::flow::liveness;
use crate::offload::whole;
use crate::{Buffer, Exchanged, Expr, Holders, Param, RegionArray, RegionScalar, RegionTroubleKind, Surely};

impl<'a> Walk<'a> {
    /// The variables that the statements use, and what becomes of them.
    pub(super) fn scalars(
        &self,
        statements: &[TermId],
        live: &liveness::Liveness,
    ) -> Found<Vec<RegionScalar>> {
        let body = self.body;
        let exposed = liveness::exposed_reads(body, statements, self.budget);
        let surely = self.surely_set(statements);
        let mut out: Vec<RegionScalar> = Vec::new();
        let named: Vec<TermId> = statements.iter().flat_map(|&t| body.walk(t)).collect();
        // rows have lengths that only their types name
        let mut lengths = Vec::new();
        for s in named.iter().filter_map(|&t| body.as_symbol(t)) {
            variable_lengths(body, body.symbols[s].ty, &mut lengths);
        }
        let lengths = lengths.into_iter().flat_map(|t| body.walk(t));
        for t in named.iter().copied().chain(lengths) {
            let Some(s) = body.as_symbol(t) else { continue };
            let symbol = &body.symbols[s];
            let is_number =
                body.types.is_arithmetic(symbol.ty) && !matches!(symbol.storage, Storage::Constant(_));
            if !is_number || self.declared.contains(&s) || out.iter().any(|o| o.symbol == s) {
                continue;
            }
            let set = self.written.contains(&s);
            if set && !symbol.is_own_scalar() {
                return trouble(RegionTroubleKind::Reachable(s), t);
            }
            let kept = set && self.is_live_after(live, statements, s);
            let exposed = exposed.as_ref().is_none_or(|e| e.contains(&s));
            let begins = !set || exposed || kept && !surely.contains(&s);
            if begins && symbol.is_own_scalar() && live.may_be_unset(body, s) {
                return trouble(RegionTroubleKind::Unset(s), t);
            }
            out.push(RegionScalar { symbol: s, begins, set, kept });
        }
        Ok(out)
    }

    pub(super) fn is_live_after(
        &self,
        live: &liveness::Liveness,
        statements: &[TermId],
        s: SymbolId,
    ) -> bool {
        match statements.last() {
            Some(&last) if self.body.op(last).is_loop() => live.is_live_after(last, s),
            _ => true,
        }
    }

    /// Variables that the statements surely set, where the loops whose first test is made run.
    pub(super) fn surely_set(&self, statements: &[TermId]) -> FxHashSet<SymbolId> {
        let body = self.body;
        let mut out = FxHashSet::default();
        for &t in statements {
            out.extend(liveness::surely_written(body, t, self.budget).unwrap_or_default());
            let tested = |s: &Surely| match s {
                Surely::Holds(c) => body.walk(t).any(|x| x == *c),
                Surely::Compared { lower, .. } => body.walk(t).any(|x| x == *lower),
                Surely::Positive(_) => false,
            };
            let runs = body.op(t).is_loop() && self.sure.iter().any(tested) && self.nest(t).is_none();
            if let Some(parts) = body.loop_parts(t).filter(|p| runs && !has_jump(body, p.body)) {
                out.extend(liveness::surely_written(body, parts.body, self.budget).unwrap_or_default());
            }
        }
        out
    }

    /// The pointers that are assigned, and what becomes of them.
    pub(super) fn exchanged(
        &self,
        statements: &[TermId],
        live: &liveness::Liveness,
    ) -> Found<Vec<Exchanged>> {
        let mut out = Vec::new();
        for &symbol in &self.exchanged {
            let declared = self.declared.contains(&symbol);
            let is_array = self.uses.contains_key(&symbol) || self.rows_of(symbol).is_some();
            // what others can reach they may read
            let is_shared = self.body.symbols[symbol].is_shared_variable();
            let is_read = is_shared || self.is_live_after(live, statements, symbol);
            let kept = !declared && self.written.contains(&symbol) && is_read;
            if kept && !is_array && !self.holds_array(statements, symbol) {
                return trouble(RegionTroubleKind::Pointer(symbol), statements[0]);
            }
            out.push(Exchanged { symbol, declared, kept });
        }
        Ok(out)
    }

    /// Whether some nest reads an array, and whether some nest writes it; what iterations have for themselves is not the
    /// array's.
    pub(super) fn read_and_written(&self, s: SymbolId) -> [bool; 2] {
        let mine = self.nests.iter().flat_map(|n| &n.1.buffers).filter(|b| b.symbol == s);
        let shared = mine.filter(|b| b.holders != Holders::Each);
        shared.fold([false; 2], |[read, written], b| [read || b.read, written || b.written])
    }

    /// The arrays, each with the part that all uses which surely happen make up together.
    pub(super) fn arrays(
        &mut self,
        statements: &[TermId],
        wanted: &BTreeSet<SymbolId>,
        lives: &FxHashMap<SymbolId, Life>,
    ) -> Found<Vec<RegionArray>> {
        let body = self.body;
        let (mut out, mut new) = (Vec::new(), Vec::new());
        for &s in wanted {
            let uses = self.uses.get(&s).map_or(&[][..], Vec::as_slice);
            let Some(first) = uses.first() else { continue };
            if self.declared.contains(&s) {
                let [read, written] = self.read_and_written(s);
                let holders = Holders::All;
                let buffer = Buffer { read, written, holders, wholly_written: true, ..first.buffer.clone() };
                out.push(RegionArray {
                    buffer,
                    kept: false,
                    own: true,
                    late: false,
                    parts: Vec::new(),
                    writes: None,
                });
                continue;
            }
            if uses.iter().any(|u| u.buffer.rows.is_some()) {
                out.push(self.table(s, statements[0])?);
                continue;
            }
            let is_exchanged = self.exchanged.contains(&s);
            let whole = is_whole(body, s);
            let mut parts: Vec<&(Expr, Expr)> = Vec::new();
            for u in uses.iter().filter(|u| u.is_sure) {
                parts.extend(u.buffer.extent.iter().filter(|e| !parts.contains(e)).collect::<Vec<_>>());
            }
            let unknown = parts.is_empty() || uses.iter().any(|u| u.buffer.extent.is_none());
            // nothing of it is surely used, and what a run comes to is fetched then
            let possible = parts.is_empty().then(|| self.possible(uses)).flatten();
            let extent = match (unknown, parts.as_slice()) {
                (true, _) if whole => None,
                // nothing is surely used under this name, and what is used is fetched
                (true, _) if is_exchanged => self.no_part(),
                // an array that knows its lengths can be copied as a whole
                (true, _) => match whole::extent(body, s, first.buffer.rank()) {
                    Some(all) => Some(all),
                    None if possible.is_some() => possible.clone(),
                    None => return self.no_part_known(s, statements),
                },
                (false, parts) => Some(together(parts, &mut new)),
            };
            let written_part = match &extent {
                Some(all) if !is_exchanged => written_part(uses, &mut new).filter(|w| w != all),
                _ => None,
            };
            let writes = self.writes(s);
            let writes_all = |b: &Buffer| {
                b.wholly_written && b.holders != Holders::Each && is_same_part(&b.extent, &extent)
            };
            let [read, written] = self.read_and_written(s);
            // what no nest reads needs no older value where one surely writes it all
            let covers = first.is_sure && writes_all(&first.buffer)
                || !read && uses.iter().any(|u| u.is_sure && u.nest.is_some() && writes_all(&u.buffer))
                || possible.is_none() && self.first_nest(statements, s).is_some_and(writes_all);
            let buffer = Buffer {
                holders: Holders::All,
                read,
                written,
                wholly_written: covers && !is_exchanged || !(read || written),
                extent,
                written_part,
                ..first.buffer.clone()
            };
            // what nobody has set before needs not be there
            let private = self.is_private(statements, s);
            let kept = !private.is_some_and(|once| once || buffer.wholly_written);
            let wholly_written = buffer.wholly_written || private == Some(true);
            let buffer = Buffer { wholly_written, ..buffer };
            let is_possible = possible.is_some() && buffer.extent == possible;
            let late = !wholly_written && (is_possible || self.begins_late(s, &buffer.extent));
            let array = RegionArray { buffer, kept, own: false, late, parts: Vec::new(), writes };
            let array = self.as_it_lives(array, lives.get(&s));
            if array.late {
                self.test_all(s);
            }
            out.push(array);
        }
        self.add_sure(new);
        out.extend(self.held(statements)?);
        Ok(out)
    }

    /// From the first to the last element that any of the uses may touch, where each can be told before whether or not it happens, and
    /// telling it does no harm.
    fn possible(&self, uses: &[Use]) -> Option<(Expr, Expr)> {
        let body = self.body;
        let is_harmless = |p: Param| match p {
            Param::Symbol(_) => true,
            Param::Term(t) => body.walk(t).all(|x| match body.op(x) {
                Op::Binary(op) => matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul) || op.is_comparison(),
                Op::Sym(_) | Op::Int(_) | Op::Cast => true,
                _ => false,
            }),
            _ => false,
        };
        let mut parts: Vec<&(Expr, Expr)> = Vec::new();
        for u in uses {
            let part = u.buffer.extent.as_ref().filter(|_| self.is_fixed_buffer(&u.buffer))?;
            let mut harmless = true;
            for e in [&part.0, &part.1] {
                e.params(&mut |p| harmless = harmless && is_harmless(p));
            }
            if !harmless || u.nest.is_none() {
                return None;
            }
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        (!parts.is_empty()).then(|| hull(&parts))
    }

    /// Why it is not known which part of an array is used.
    fn no_part_known<T>(&self, s: SymbolId, statements: &[TermId]) -> Found<T> {
        let body = self.body;
        let mut told = None;
        let field = |t: TermId| match body.op(t) {
            Op::Member { field, .. } => Some(field.clone()),
            _ => None,
        };
        // members of these names change, whatever they are members of
        let set = |t: TermId| body.args(t).first().filter(|_| body.op(t).is_write()).and_then(|&p| field(p));
        let set: Vec<_> = statements.iter().flat_map(|&t| body.walk(t)).filter_map(set).collect();
        let is_kept = |t: TermId| {
            let named = |x: TermId| body.as_symbol(x);
            let is_set = |x: TermId| field(x).is_some_and(|f| set.contains(&f));
            !body.walk(t).any(is_set)
                && body
                    .walk(t)
                    .filter_map(named)
                    .all(|n| !self.written.contains(&n) && !self.declared.contains(&n))
        };
        let mut look = |p: Param| {
            let Param::Term(t) = p else { return };
            let in_memory =
                |&x: &TermId| matches!(body.op(x), Op::Member { .. } | Op::Index | Op::Deref) && is_kept(x);
            told = told.or_else(|| body.walk(t).find(in_memory));
        };
        for (from, to) in self.uses.get(&s).into_iter().flatten().filter_map(|u| u.buffer.extent.as_ref()) {
            from.params(&mut look);
            to.params(&mut look);
        }
        match told {
            Some(number) => trouble(RegionTroubleKind::PartToldBy(s, number), number),
            None => trouble(RegionTroubleKind::Part(s), statements[0]),
        }
    }

    /// First and last element that a nest may write under an array's name, or under one that it may come to stand under, where all of
    /// these can be told before: whether or not the nests run.
    fn writes(&self, s: SymbolId) -> Option<(Expr, Expr)> {
        let is_it = |o: SymbolId| o == s || self.exchanged.contains(&s) && self.exchanged.contains(&o);
        let uses = self.uses.iter().filter(|u| is_it(*u.0)).flat_map(|u| u.1);
        let mut parts: Vec<&(Expr, Expr)> = Vec::new();
        for u in uses.filter(|u| u.buffer.written) {
            let part = u.buffer.written_part.as_ref().or(u.buffer.extent.as_ref())?;
            if !self.is_fixed_buffer(&u.buffer) || u.buffer.rows.is_some() {
                return None;
            }
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        (!parts.is_empty()).then(|| hull(&parts))
    }

    /// An array of which nothing comes back that nobody reads, and nothing is brought that is written there first.
    fn as_it_lives(&mut self, array: RegionArray, life: Option<&Life>) -> RegionArray {
        let RegionArray { buffer, kept, own, late, parts, writes } = array;
        let kept = kept && life.is_none_or(|l| l.after);
        let wholly_written = buffer.wholly_written || life.is_some_and(|l| !l.before);
        let s = buffer.symbol;
        let mut buffer = Buffer { wholly_written, ..buffer };
        if !kept && wholly_written && is_whole(self.body, s) && self.tested.iter().any(|t| t.1 == s) {
            // nothing of it is copied: all of it may be there
            self.tested.retain(|t| t.1 != s);
            buffer.extent = None;
        }
        RegionArray { buffer, kept, own, late: late && !wholly_written, parts, writes }
    }

    /// Whether an array is brought to the device only as far as nests turn out to need it: the first nest in the text that names it
    /// writes all that it uses. `extent`: what all surely use.
    fn begins_late(&self, s: SymbolId, extent: &Option<(Expr, Expr)>) -> bool {
        let mut uses = self.uses_of(s);
        let is_first = uses.next().is_some_and(|b| {
            b.wholly_written && b.holders != Holders::Each && is_part(b) && extent.is_some()
        });
        let grows = || self.exchanged.contains(&s) || self.tested.iter().any(|t| t.1 == s);
        let is_all = || self.uses_of(s).next().is_some_and(|b| is_same_part(&b.extent, extent));
        is_first && uses.all(|b| b.holders != Holders::Each && is_part(b)) && (grows() || is_all())
    }

    /// What nests do with an array, in textual order.
    fn uses_of(&self, s: SymbolId) -> impl Iterator<Item = &'a Buffer> + '_ {
        self.nests.iter().flat_map(|n| memory(self.body, &n.1)).filter(move |b| b.symbol == s)
    }

    /// That every nest which uses an array sees to it that its part is there.
    fn test_all(&mut self, s: SymbolId) {
        for (id, offload) in self.nests {
            let is_used = memory(self.body, offload).any(|b| b.symbol == s);
            if is_used && !self.tested.contains(&(*id, s)) {
                self.tested.push((*id, s));
            }
        }
    }

    /// A part of an exchanged array without elements, where that of another begins.
    fn no_part(&self) -> Option<(Expr, Expr)> {
        let sure = |s: &SymbolId| {
            self.uses.get(s).into_iter().flatten().find(|u| u.is_sure && u.buffer.extent.is_some())
        };
        let (first, _) = self.exchanged.iter().find_map(sure)?.buffer.extent.clone()?;
        let none = Expr::Add(vec![first.clone(), Expr::Int(-1)]);
        Some((first, none))
    }

    /// Whether a pointer that no nest names holds an array when the statements begin, which may come to stand under the names of
    /// others.
    fn holds_array(&self, statements: &[TermId], s: SymbolId) -> bool {
        let exposed = liveness::exposed_reads(self.body, statements, self.budget);
        !self.declared.contains(&s) && exposed.is_none_or(|e| e.contains(&s))
    }

    /// Arrays that no nest names and that are exchanged with those.
    fn held(&self, statements: &[TermId]) -> Found<Vec<RegionArray>> {
        let named = |s: &SymbolId| self.uses.contains_key(s);
        // each table among them is named by some nest, or holds nothing
        let is_held = |s: &&SymbolId| self.rows_of(**s).is_none() && self.holds_array(statements, **s);
        if let Some(&s) = self.exchanged.iter().filter(|s| self.is_table(**s)).find(is_held) {
            return trouble(RegionTroubleKind::Pointer(s), statements[0]);
        }
        if self.exchanged.iter().all(|s| self.is_table(*s)) {
            return Ok(Vec::new());
        }
        let Some(one) = self.exchanged.iter().find(|s| named(s)).and_then(|s| self.uses.get(s)) else {
            let mut arrays = self.exchanged.iter().filter(|s| !self.is_table(**s));
            return match arrays.find(|s| self.holds_array(statements, **s)) {
                Some(&s) => trouble(RegionTroubleKind::Pointer(s), statements[0]),
                None => Ok(Vec::new()),
            };
        };
        let arrays = self.exchanged.iter().filter(|s| !self.is_table(**s));
        let held = arrays.filter(|s| !named(s) && self.holds_array(statements, **s));
        let array = |&symbol: &SymbolId| {
            let none = Buffer {
                symbol,
                read: false,
                written: false,
                wholly_written: false,
                extent: self.no_part(),
                ..one.first()?.buffer.clone()
            };
            let none = RegionArray {
                buffer: none,
                kept: true,
                own: false,
                late: false,
                parts: Vec::new(),
                writes: None,
            };
            Some(none)
        };
        Ok(held.filter_map(array).collect())
    }

    /// What the nest does with an array that comes first of all that use it, whatever the data: it stands in nothing but blocks
    /// of the statements and of a loop among them, whose first round is surely run where anything is.
    pub(super) fn first_nest(&self, statements: &[TermId], s: SymbolId) -> Option<&'a Buffer> {
        let body = self.body;
        let names = |t: TermId| body.walk(t).any(|x| body.as_symbol(x) == Some(s));
        let mut at = *statements.iter().find(|&&t| names(t))?;
        let mut loops = 0;
        loop {
            if let Some((_, offload)) = self.nest(at) {
                return memory(body, offload).find(|b| b.symbol == s);
            }
            at = match body.op(at) {
                Op::List => {
                    let &next = body.args(at).iter().find(|&&t| names(t))?;
                    let before = body.args(at).iter().take_while(|&&t| t != next);
                    if before.into_iter().any(|&t| has_jump(body, t)) {
                        return None;
                    }
                    next
                }
                op if op.is_loop() && loops == 0 => {
                    loops += 1;
                    body.loop_parts(at)?.body
                }
                _ => return None,
            };
        }
    }

    /// Whether the array is the function's own and only these statements name it; and then whether they run once where it is
    /// declared, so that none of their runs reads what another left.
    pub(super) fn is_private(&self, statements: &[TermId], s: SymbolId) -> Option<bool> {
        let (body, symbol) = (self.body, &self.body.symbols[s]);
        let own = symbol.storage == Storage::Local
            && !symbol.address_taken
            && matches!(body.types.kind(symbol.ty), TypeKind::Array { .. });
        let names = |t: TermId| body.walk(t).filter(|&x| body.as_symbol(x) == Some(s)).count();
        if !own || names(body.root) != statements.iter().map(|&t| names(t)).sum::<usize>() {
            return None;
        }
        let is_declaration =
            |t: &TermId| matches!(body.op(*t), Op::Declare(d) if *d == s) && body.args(*t).is_empty();
        let parents = body.parents();
        let up = |t: &TermId| parents.get(t.0 as usize).copied().flatten();
        let declared = body.walk(body.root).find(|t| is_declaration(t)).and_then(|t| up(&t));
        let mut around = std::iter::successors(statements.first().copied(), up).skip(1);
        let once = declared.is_some_and(|block| {
            let jumps = body.walk(body.root).any(|t| matches!(body.op(t), Op::Label(_)));
            let found = around.find(|&t| t == block || body.op(t).is_loop());
            found == Some(block) && !jumps
        });
        Some(once)
    }
}

/// The terms in a type that give lengths.
fn variable_lengths(body: &Body, mut ty: TypeId, out: &mut Vec<TermId>) {
    loop {
        let (of, len) = match body.types.kind(ty) {
            TypeKind::Array { of, len } => (*of, len),
            TypeKind::Pointer { to, declared, .. } => (*to, declared),
            _ => return,
        };
        if let Len::Term(t) = len {
            if !out.contains(t) {
                out.push(*t);
            }
        }
        ty = of;
    }
}

/// Whether a nest says which stretch of an array it uses.
fn is_part(b: &Buffer) -> bool {
    b.extent.is_some() && b.rows.is_none() && b.search.is_none()
}

/// First and last element of several parts together, of each of which has to be made sure that it has elements.
fn together(parts: &[&(Expr, Expr)], sure: &mut Vec<Surely>) -> (Expr, Expr) {
    if let [one] = parts {
        return (*one).clone();
    }
    // what none of them uses may lie between an empty one and another, and of two that are the same where they run one may not
    sure.extend(parts.iter().map(|(first, last)| {
        let minus = Expr::Mul(-1, Box::new(first.clone()));
        Surely::Positive(Expr::Add(vec![last.clone(), minus, Expr::Int(1)]))
    }));
    hull(parts)
}

/// From the least to the greatest of several parts.
pub(super) fn hull(parts: &[&(Expr, Expr)]) -> (Expr, Expr) {
    // of those that are always a number apart, one counts
    let outermost = |of: Vec<Expr>, is_last: bool| {
        let mut all: Vec<Expr> = Vec::new();
        for e in of {
            let is_beyond = |a: &Expr, b: &Expr| {
                a == b || a.minus(b).is_some_and(|d| if is_last { d >= 0 } else { d <= 0 })
            };
            if !all.iter().any(|o| is_beyond(o, &e)) {
                all.retain(|o| !is_beyond(&e, o));
                all.push(e);
            }
        }
        match (all.len(), is_last) {
            (1, _) => all.swap_remove(0),
            (_, true) => Expr::Max(all),
            (_, false) => Expr::Min(all),
        }
    };
    let last = |e: &&(Expr, Expr)| end(&e.0, &e.1).clone();
    (
        outermost(parts.iter().map(|e| e.0.clone()).collect(), false),
        outermost(parts.iter().map(last).collect(), true),
    )
}

/// First and last element that any of the uses may write, where each of those that write is known.
fn written_part(uses: &[Use], sure: &mut Vec<Surely>) -> Option<(Expr, Expr)> {
    let mut parts: Vec<&(Expr, Expr)> = Vec::new();
    for u in uses.iter().filter(|u| u.buffer.written) {
        let part = u.buffer.written_part.as_ref().or(u.buffer.extent.as_ref()).filter(|_| u.is_sure)?;
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    (!parts.is_empty()).then(|| together(&parts, sure))
}

/// The last element of a part that is not empty.
fn end<'e>(first: &Expr, last: &'e Expr) -> &'e Expr {
    match last {
        // the last of none
        Expr::Select(_, some, none) if **none == Expr::Add(vec![first.clone(), Expr::Int(-1)]) => some,
        e => e,
    }
}

/// Whether two parts are one where neither is empty.
fn is_same_part(a: &Option<(Expr, Expr)>, b: &Option<(Expr, Expr)>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.0 == b.0 && end(&a.0, &a.1) == end(&b.0, &b.1),
        (None, None) => true,
        _ => false,
    }
}

/// Whether all of it is declared, so that it can be copied whole.
fn is_whole(body: &Body, s: SymbolId) -> bool {
    matches!(body.types.kind(body.symbols[s].ty), TypeKind::Array { .. })
        && body.types.size_align(body.symbols[s].ty).is_some()
}
