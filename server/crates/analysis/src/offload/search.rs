//! Extents of subscripts of which no expression says where they end: `a[i ^ j]`, `a[i % n]`, `x[col[k]]`.
//!
//! The host finds them by going through the iterations, and through those of loops inside: an inspector (Saltz, Mirchandaney,
//! Crowley: Run-time parallelization and scheduling of loops, IEEE Transactions on Computers 40(5), 1991). It computes what decides
//! which elements are touched: whole numbers of the index, of variables that the loop leaves alone, of those that an iteration sets
//! before it uses them, and of elements of arrays that are as before the loop where it reads them; the host reads these only where the
//! loop surely does. Floating-point numbers are compared and nothing else, for what is computed of them may be rounded otherwise. Where
//! other memory decides whether an element is touched it is touched perhaps: it must then lie between two that are touched surely,
//! which the host tests. Absent: jumps, but for `if (c) continue;` in the body of a loop itself.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use term::{BinOp, Body, FloatKind, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

use crate::nest::AffineAccess;
use crate::offload::chained::is_chained;
use crate::offload::rounds::{any_sure, assigned};
use crate::{Buffer, Control, LoopFacts, Search, SearchStep, Verdict};

/// Whether a call surely touches what its argument of this number points to, and nothing beside that.
type Handed<'b> = &'b dyn Fn(TermId, usize) -> bool;

/// An array whose extent the host finds by going through the subscripts. `written`: the body's own variables
/// that the loop sets; `stores`: where it writes elements, and whose; `at`: where its accesses stand in the body.
pub(super) fn buffer(
    body: &Body,
    (written, stores): (&FxHashSet<SymbolId>, &[(SymbolId, TermId)]),
    (claim, control): (&LoopFacts, &Control),
    (base, handed): (SymbolId, Handed<'_>),
    (accesses, at): (&[&AffineAccess], &[TermId]),
) -> Option<Buffer> {
    let ty = body.symbols[base].ty;
    let element = body.types.element(ty)?;
    let has_elements =
        matches!(body.types.kind(element), TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Record(_));
    let is_pointer = matches!(body.types.kind(ty), TypeKind::Pointer { .. });
    if !has_elements || !is_pointer || control.pointer || !control.header_only {
        return None;
    }
    Some(Buffer {
        holders: crate::Holders::All,
        symbol: base,
        element,
        inner_lengths: Vec::new(),
        read: accesses.iter().any(|a| !a.write),
        written: accesses.iter().any(|a| a.write),
        wholly_written: false,
        all_written: false,
        written_part: None,
        extent: None,
        search: Some(search(body, (claim, control), (written, stores), (base, handed), at)?),
        rows: None,
    })
}

/// How the elements of `base` are gone through that the loop touches; `accesses`: where it does.
fn search(
    body: &Body,
    (claim, control): (&LoopFacts, &Control),
    (written, stores): (&FxHashSet<SymbolId>, &[(SymbolId, TermId)]),
    (base, handed): (SymbolId, Handed<'_>),
    accesses: &[TermId],
) -> Option<Search> {
    let inner = body.loop_parts(claim.term)?.body;
    let element = body.types.element(body.symbols[base].ty)?;
    let jumps = |t: TermId| {
        matches!(
            body.op(t),
            Op::Break | Op::Goto(_) | Op::Label(_) | Op::Return | Op::Switch | Op::Reject(_) | Op::Apply(_)
        )
    };
    if written.contains(&base) || body.walk(claim.term).any(jumps) {
        return None;
    }
    let declared: FxHashSet<SymbolId> = body
        .walk(inner)
        .filter_map(|t| match body.op(t) {
            Op::Declare(s) => Some(*s),
            _ => None,
        })
        .collect();
    let fresh =
        |s: SymbolId| declared.contains(&s) || claim.privates.iter().any(|p| p.symbol == s && !p.copied_in);
    let can_know =
        |s: SymbolId| is_number(body, s) || is_exact_kind(body, s) || is_pointer_to(body, s, element);
    let mut known: FxHashSet<SymbolId> =
        written.iter().copied().filter(|&s| s != control.index && can_know(s) && fresh(s)).collect();
    loop {
        let mut s = Slicer {
            body,
            base,
            handed,
            index: control.index,
            written,
            stores,
            claim,
            known: &known,
            unknown: FxHashSet::default(),
            touched: Vec::new(),
            failed: false,
        };
        let mut steps = Vec::new();
        s.round(inner, true, &mut steps);
        let (unknown, failed, touched) = (s.unknown, s.failed, s.touched);
        if unknown.is_empty() {
            let all = accesses.iter().all(|a| touched.contains(a));
            let is_sure = any_sure(&steps);
            return (!failed && all && is_sure).then(|| with_variables(body, steps, control)).flatten();
        }
        known.retain(|s| !unknown.contains(s));
    }
}

/// An integer variable of the function that only its name reaches.
fn is_number(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    symbol.is_own_scalar() && body.types.as_int(symbol.ty).is_some()
}

/// A floating-point variable of the function that only its name reaches.
fn is_exact_kind(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    let kind = body.types.as_float(symbol.ty);
    symbol.is_own_scalar() && matches!(kind, Some(FloatKind::F32 | FloatKind::F64))
}

/// A pointer variable of the function that only its name reaches, to elements of a type.
fn is_pointer_to(body: &Body, s: SymbolId, element: TypeId) -> bool {
    let symbol = &body.symbols[s];
    let to = match body.types.kind(symbol.ty) {
        TypeKind::Pointer { to, .. } => Some(*to),
        _ => None,
    };
    // qualifiers of what it points to do not matter
    let same = |t: TypeId| body.types.size_align(t) == body.types.size_align(element);
    symbol.is_own_scalar() && to.is_some_and(|t| same(t) && body.types.kind(t) == body.types.kind(element))
}

/// The variables that the steps name. `None`: some share a name and not a type.
fn with_variables(body: &Body, steps: Vec<SearchStep>, control: &Control) -> Option<Search> {
    let steps = crate::offload::rounds::once(body, crate::offload::rounds::needed(body, steps));
    let (mut terms, mut set) = (Vec::new(), Vec::new());
    named(&steps, &mut terms, &mut set);
    set.sort_unstable();
    set.dedup();
    let (mut numbers, mut reads) = (BTreeSet::new(), BTreeSet::new());
    for &t in &terms {
        used(body, t, &mut numbers, &mut reads);
    }
    let is_input = |s: &SymbolId| {
        *s != control.index && !set.contains(s) && !matches!(body.symbols[*s].storage, Storage::Constant(_))
    };
    let inputs: BTreeSet<SymbolId> = numbers.into_iter().filter(is_input).collect();
    let reads = reads.into_iter().collect();
    let inputs: Vec<SymbolId> = inputs.into_iter().collect();
    let all: Vec<SymbolId> = inputs.iter().chain(&set).copied().chain([control.index]).collect();
    let kind = |s: SymbolId| body.types.kind(body.symbols[s].ty);
    let is_set = |s: &SymbolId| set.contains(s);
    let clash = |a: SymbolId, b: SymbolId| {
        let same = body.symbols[a].name == body.symbols[b].name && a != b;
        same && (kind(a) != kind(b) || !is_set(&a) || !is_set(&b))
    };
    let clashes = all.iter().any(|&a| all.iter().any(|&b| clash(a, b)));
    let chained = is_chained(body, &steps);
    (!clashes).then_some(Search { steps, inputs, set, reads, chained })
}

/// Whether a step changes a variable.
fn sets_any(step: &SearchStep) -> bool {
    match step {
        SearchStep::Set { .. } | SearchStep::Update { .. } | SearchStep::Point { .. } => true,
        SearchStep::If { then, .. } | SearchStep::While { then, .. } => then.iter().any(sets_any),
        SearchStep::Touch { .. } => false,
    }
}

/// The variables of an expression, and the arrays of which it reads elements.
fn used(body: &Body, t: TermId, numbers: &mut BTreeSet<SymbolId>, reads: &mut BTreeSet<SymbolId>) {
    match (body.op(t), body.args(t)) {
        (Op::Sym(s), _) => drop(numbers.insert(*s)),
        (Op::Member { arrow: true, .. }, _) => numbers.extend(body.path_of(t).map(|p| p.own)),
        (Op::Index, &[array, subscript]) => {
            match body.array_symbol(array) {
                Some(s) => drop(reads.insert(s)),
                None => used(body, array, numbers, reads),
            }
            used(body, subscript, numbers, reads);
        }
        (_, args) => args.iter().for_each(|&a| used(body, a, numbers, reads)),
    }
}

impl Search {
    /// The expressions in its steps.
    pub fn terms(&self) -> Vec<TermId> {
        let (mut terms, mut set) = (Vec::new(), Vec::new());
        named(&self.steps, &mut terms, &mut set);
        terms
    }
}

pub(super) fn named(steps: &[SearchStep], terms: &mut Vec<TermId>, set: &mut Vec<SymbolId>) {
    for s in steps {
        match s {
            SearchStep::Set { symbol, value } => {
                set.push(*symbol);
                terms.push(*value);
            }
            SearchStep::Update { symbol, by, .. } => {
                set.push(*symbol);
                terms.extend(*by);
            }
            SearchStep::Point { symbol, by, .. } => {
                set.push(*symbol);
                terms.extend(by.iter().map(|b| b.1));
            }
            SearchStep::If { condition, then, .. } | SearchStep::While { condition, then } => {
                terms.push(*condition);
                named(then, terms, set);
            }
            SearchStep::Touch { subscript, .. } => terms.push(*subscript),
        }
    }
}

/// `if (c) { …; continue; }`: the condition, and what is done before the jump.
fn continues(body: &Body, t: TermId) -> Option<(TermId, &[TermId])> {
    let (Op::If, &[condition, then]) = (body.op(t), body.args(t)) else { return None };
    let (&last, before) = match body.op(then) {
        Op::List => body.args(then).split_last()?,
        _ => return None,
    };
    (*body.op(last) == Op::Continue).then_some((condition, before))
}

/// The pointer that an address is counted from, if it is not the array itself, and by how much it is moved.
type Address = (Option<SymbolId>, Vec<(BinOp, TermId)>);

struct Slicer<'b> {
    body: &'b Body,
    base: SymbolId,
    handed: Handed<'b>,
    index: SymbolId,
    written: &'b FxHashSet<SymbolId>,
    /// Where the loop writes elements, and whose.
    stores: &'b [(SymbolId, TermId)],
    claim: &'b LoopFacts,
    /// Variables that are set in the loop and taken for known.
    known: &'b FxHashSet<SymbolId>,
    /// Those among them that turn out not to be.
    unknown: FxHashSet<SymbolId>,
    touched: Vec<TermId>,
    failed: bool,
}

impl Slicer<'_> {
    /// Whether the host can compute it as the loop does. What may trap is only computed where the loop surely does.
    fn is_plain(&self, t: TermId, sure: bool) -> bool {
        let (body, args) = (self.body, self.body.args(t));
        let all = |args: &[TermId]| args.iter().all(|&a| self.is_plain(a, sure));
        if body.types.as_int(body.ty(t)).is_none() {
            return false;
        }
        match body.op(t) {
            Op::Int(_) => true,
            Op::Unary(_) | Op::Select | Op::Cast => all(args),
            Op::Binary(BinOp::Div | BinOp::Rem) => {
                let by = args.get(1).and_then(|&d| body.as_int(d));
                (sure || by.is_some_and(|d| d != 0 && d != -1)) && all(args)
            }
            Op::Binary(op) if op.is_comparison() => {
                args.iter().all(|&a| self.is_plain(a, sure) || self.is_exact(a, sure))
            }
            Op::Binary(_) => all(args),
            Op::Sym(s) => {
                let constant = matches!(body.symbols[*s].storage, Storage::Constant(_));
                let named = is_number(body, *s) || body.symbols[*s].is_shared_variable();
                *s == self.index || constant || named && self.is_left_alone(*s) || self.known.contains(s)
            }
            Op::Index | Op::Member { arrow: false, .. } => self.is_element(t, sure),
            // what the loop knows it by keeps its value
            Op::Member { arrow: true, .. } => body.path_of(t).is_some_and(|p| self.is_left_alone(p.own)),
            _ => false,
        }
    }

    fn is_left_alone(&self, s: SymbolId) -> bool {
        !self.written.contains(&s) && !self.stores.iter().any(|w| w.0 == s)
    }

    fn is_base(&self, t: TermId) -> bool {
        let body = self.body;
        body.as_symbol(t) == Some(self.base) || body.path_of(t).is_some_and(|p| p.own == self.base)
    }

    /// Whether it is an element of an array, or a part of one, that is there as it was before the loop when the loop reads it, with
    /// subscripts that the host can compute. It is read only where the loop surely does.
    fn is_element(&self, t: TermId, sure: bool) -> bool {
        let body = self.body;
        let part = |of: TermId| {
            let is_sized = body.types.size_align(body.ty(of)).is_some();
            is_sized && matches!(body.op(of), Op::Index | Op::Member { arrow: false, .. })
        };
        match (body.op(t), body.args(t)) {
            (Op::Member { arrow: false, .. }, &[of]) => part(of) && self.is_element(of, sure),
            (Op::Index, &[array, subscript]) => {
                let found = match body.array_symbol(array) {
                    Some(s) => s != self.base && !self.written.contains(&s) && self.is_as_before(s, t),
                    None => part(array) && self.is_element(array, sure),
                };
                sure && found && self.is_plain(subscript, sure)
            }
            _ => false,
        }
    }

    /// Whether an element of an array is, where a term reads it, as it was before the loop. Of iterations that run at once none reads what
    /// another wrote; then nothing may be written before the term, nor in an inner loop around it.
    fn is_as_before(&self, s: SymbolId, t: TermId) -> bool {
        let body = self.body;
        let claim = self.claim;
        let is_own = claim.privates.iter().any(|p| p.symbol == s)
            || claim.reductions.iter().any(|r| r.object.symbol == s);
        let mut stores = self.stores.iter().filter(|w| w.0 == s).peekable();
        if stores.peek().is_none() {
            return true;
        }
        let at = |t: TermId| body.walk(claim.term).position(|x| x == t);
        let Some(read) = at(t).filter(|_| claim.verdict == Verdict::Independent && !is_own) else {
            return false;
        };
        let in_one_loop = |w: TermId| {
            let inner = body.loops(claim.term).filter(|&l| l != claim.term);
            inner.into_iter().any(|l| body.walk(l).any(|x| x == t) && body.walk(l).any(|x| x == w))
        };
        stores.all(|&(_, w)| at(w).is_some_and(|w| read < w) && !in_one_loop(w))
    }

    /// Whether it is a floating-point number that is the same wherever it is computed: nothing is rounded.
    fn is_exact(&self, t: TermId, sure: bool) -> bool {
        let (body, args) = (self.body, self.body.args(t));
        let Some(kind) =
            body.types.as_float(body.ty(t)).filter(|k| matches!(k, FloatKind::F32 | FloatKind::F64))
        else {
            return false;
        };
        match body.op(t) {
            Op::Float(v) => v.get().is_finite(),
            Op::Sym(s) => is_exact_kind(body, *s) && (!self.written.contains(s) || self.known.contains(s)),
            Op::Unary(UnOp::Neg) => self.is_exact(args[0], sure),
            Op::Cast if kind == FloatKind::F64 => {
                let small = body.types.as_int(body.ty(args[0])).is_some_and(|k| k.bits() <= 32);
                self.is_exact(args[0], sure) || small && self.is_plain(args[0], sure)
            }
            Op::Index | Op::Member { arrow: false, .. } => self.is_element(t, sure),
            _ => false,
        }
    }

    fn forget(&mut self, s: SymbolId) {
        if self.known.contains(&s) {
            self.unknown.insert(s);
        }
    }

    /// The body of a loop. Behind `if (c) { …; continue; }` the rest is what happens where the condition does not hold.
    fn round(&mut self, t: TermId, sure: bool, out: &mut Vec<SearchStep>) {
        match self.body.op(t) {
            Op::List => self.rest_of_round(self.body.args(t), sure, out),
            _ => self.statement(t, sure, out),
        }
    }

    fn rest_of_round(&mut self, all: &[TermId], sure: bool, out: &mut Vec<SearchStep>) {
        let body = self.body;
        for (k, &t) in all.iter().enumerate() {
            let Some((condition, then)) = continues(body, t) else {
                self.statement(t, sure, out);
                continue;
            };
            let rest = &all[k + 1..];
            self.expression(condition, sure, out);
            if !self.is_plain(condition, sure) {
                then.iter().for_each(|&s| self.statement(s, false, out));
                return self.rest_of_round(rest, false, out);
            }
            let (mut before, mut behind) = (Vec::new(), Vec::new());
            then.iter().for_each(|&s| self.statement(s, sure, &mut before));
            // the condition is computed once more for the rest
            for s in body.walk(condition).filter_map(|c| body.as_symbol(c)) {
                self.failed |= assigned(&before, s);
            }
            self.rest_of_round(rest, sure, &mut behind);
            for (holds, then) in [(true, before), (false, behind)] {
                if !then.is_empty() {
                    out.push(SearchStep::If { condition, holds, then });
                }
            }
            return;
        }
    }

    fn statement(&mut self, t: TermId, sure: bool, out: &mut Vec<SearchStep>) {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::List | Op::Comma, _) => args.iter().for_each(|&s| self.statement(s, sure, out)),
            (Op::Empty | Op::Mark(_), _) => {}
            // of what it passes by the steps know nothing
            (Op::Continue, _) => self.failed = true,
            (Op::Declare(s), &[value]) => self.set(*s, value, [sure, true], out),
            (Op::Declare(_), _) => {}
            (Op::Assign, &[place, value]) if body.as_symbol(place).is_some() => {
                if let Some(s) = body.as_symbol(place) {
                    self.set(s, value, [sure, false], out);
                }
            }
            (Op::If, &[condition, ref branches @ ..]) => {
                self.expression(condition, sure, out);
                let plain = self.is_plain(condition, sure);
                for (&branch, holds) in branches.iter().zip([true, false]) {
                    if !plain {
                        self.statement(branch, false, out);
                        continue;
                    }
                    let mut then = Vec::new();
                    self.statement(branch, sure, &mut then);
                    // The condition is computed once for each branch: none may change it.
                    for s in body.walk(condition).filter_map(|c| body.as_symbol(c)) {
                        self.failed |= assigned(&then, s);
                    }
                    if !then.is_empty() {
                        out.push(SearchStep::If { condition, holds, then });
                    }
                }
            }
            (op, _) if op.is_loop() => {
                match body.walk(t).any(|x| self.is_base(x) || self.known_pointer(x).is_some()) {
                    true => self.inner_loop(t, sure, out),
                    false => body.walk(t).filter_map(|x| written_by(body, x)).for_each(|s| self.forget(s)),
                }
            }
            (&Op::Step { delta, .. }, &[place]) => {
                let op = if delta < 0 { BinOp::Sub } else { BinOp::Add };
                self.update(t, (place, op, None), sure, out);
            }
            (&Op::Compound(op), &[place, by]) => self.update(t, (place, op, Some(by)), sure, out),
            _ => self.expression(t, sure, out),
        }
    }

    /// A loop inside that touches the array: it is gone through as it stands.
    fn inner_loop(&mut self, t: TermId, sure: bool, out: &mut Vec<SearchStep>) {
        let body = self.body;
        let parts = body.loop_parts(t).filter(|p| p.tests_first);
        let Some((parts, condition)) = parts.and_then(|p| Some((p, p.condition?))) else {
            self.failed = true;
            return;
        };
        if let Some(init) = parts.init {
            self.statement(init, sure, out);
        }
        if !self.is_plain(condition, sure) {
            self.failed = true;
            return;
        }
        let mut then = Vec::new();
        self.round(parts.body, sure, &mut then);
        if let Some(step) = parts.step {
            self.statement(step, sure, &mut then);
        }
        out.push(SearchStep::While { condition, then });
    }

    /// `s++`, `s += by`
    fn update(
        &mut self,
        t: TermId,
        (place, op, by): (TermId, BinOp, Option<TermId>),
        sure: bool,
        out: &mut Vec<SearchStep>,
    ) {
        let known =
            self.body.as_symbol(place).filter(|s| self.known.contains(s) && !is_exact_kind(self.body, *s));
        match known.filter(|_| sure && by.is_none_or(|b| self.is_plain(b, sure))) {
            Some(symbol) => out.push(SearchStep::Update { symbol, op, by }),
            None => self.expression(t, sure, out),
        }
    }

    /// The variable that a pointer into the array is, as far as that is taken for known.
    fn known_pointer(&self, t: TermId) -> Option<SymbolId> {
        let s = self.body.as_symbol(t).filter(|s| self.known.contains(s))?;
        matches!(self.body.types.kind(self.body.symbols[s].ty), TypeKind::Pointer { .. }).then_some(s)
    }

    /// An address in the array: the pointer that it is counted from, and by how much it is moved.
    fn address(&self, t: TermId, sure: bool) -> Option<Address> {
        let body = self.body;
        if self.is_base(t) {
            return Some((None, Vec::new()));
        }
        if let Some(p) = self.known_pointer(t) {
            return Some((Some(p), Vec::new()));
        }
        let moved = |pointer: TermId, op: BinOp, by: TermId| {
            let (from, mut all) = self.address(pointer, sure)?;
            self.is_plain(by, sure).then(|| all.push((op, by)))?;
            Some((from, all))
        };
        match (body.op(t), body.args(t)) {
            (Op::Binary(BinOp::Add), &[a, b]) => moved(a, BinOp::Add, b).or_else(|| moved(b, BinOp::Add, a)),
            (Op::Binary(BinOp::Sub), &[a, b]) => moved(a, BinOp::Sub, b),
            (Op::AddrOf, &[x]) if *body.op(x) == Op::Index => match body.args(x) {
                &[array, subscript] => moved(array, BinOp::Add, subscript),
                _ => None,
            },
            _ => None,
        }
    }

    fn set(&mut self, s: SymbolId, value: TermId, [sure, declared]: [bool; 2], out: &mut Vec<SearchStep>) {
        if matches!(self.body.types.kind(self.body.symbols[s].ty), TypeKind::Pointer { .. }) {
            match self.address(value, sure).filter(|_| self.known.contains(&s) && (sure || declared)) {
                Some((from, by)) => out.push(SearchStep::Point { symbol: s, from, by }),
                None => {
                    self.forget(s);
                    self.expression(value, sure, out);
                }
            }
            return;
        }
        self.expression(value, sure, out);
        if !self.known.contains(&s) {
            return;
        }
        let is_known = self.is_plain(value, sure) || self.is_exact(value, sure);
        if !is_known || (!sure && !declared) {
            self.forget(s);
        }
        out.push(SearchStep::Set { symbol: s, value });
    }

    /// The elements that an expression touches.
    fn expression(&mut self, t: TermId, sure: bool, out: &mut Vec<SearchStep>) {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::Index, &[array, subscript])
                if self.is_base(array) || self.known_pointer(array).is_some() =>
            {
                let from = self.known_pointer(array);
                match self.is_plain(subscript, sure) {
                    true => {
                        self.touched.push(t);
                        let again = |s: &SearchStep| {
                            matches!(s, SearchStep::Touch { from: f, subscript: o, sure: s }
                                if *f == from && body.same(*o, subscript) && (*s || !sure))
                        };
                        if !out.iter().rev().take_while(|s| !sets_any(s)).any(again) {
                            out.push(SearchStep::Touch { from, subscript, sure });
                        }
                    }
                    false => self.failed = true,
                }
            }
            _ if self.is_base(t) || self.known_pointer(t).is_some() => self.failed = true,
            (Op::Binary(op @ (BinOp::And | BinOp::Or)), &[left, right]) => {
                self.expression(left, sure, out);
                self.where_(left, *op == BinOp::And, right, sure, out);
            }
            (Op::Select, &[condition, yes, no]) => {
                self.expression(condition, sure, out);
                self.where_(condition, true, yes, sure, out);
                self.where_(condition, false, no, sure, out);
            }
            _ => {
                if let Some(s) = written_by(body, t) {
                    self.forget(s);
                }
                let before = self.touched.len();
                args.iter().for_each(|&a| self.expression(a, sure, out));
                self.touched.extend((before < self.touched.len() && self.touches_one(t)).then_some(t));
            }
        }
    }

    /// Whether a call touches the array in nothing but the elements whose addresses it is given.
    fn touches_one(&self, call: TermId) -> bool {
        let (body, args) = (self.body, self.body.args(call));
        let mut of = args.iter().skip(1).enumerate();
        *body.op(call) == Op::Call
            && of.all(|(k, &a)| match (body.op(a), body.args(a)) {
                (Op::AddrOf, &[x]) if *body.op(x) == Op::Index => (self.handed)(call, k),
                _ => body.walk(a).all(|x| !self.is_base(x)),
            })
    }

    /// The elements that an expression touches where a condition holds, or where it does not.
    fn where_(&mut self, condition: TermId, holds: bool, t: TermId, sure: bool, out: &mut Vec<SearchStep>) {
        if !self.is_plain(condition, sure) {
            return self.expression(t, false, out);
        }
        let mut then = Vec::new();
        self.expression(t, sure, &mut then);
        if !then.is_empty() {
            out.push(SearchStep::If { condition, holds, then });
        }
    }
}

/// The variable that the term itself sets.
fn written_by(body: &Body, t: TermId) -> Option<SymbolId> {
    match body.op(t) {
        Op::Declare(s) => Some(*s),
        op if op.is_write() => body.as_symbol(*body.args(t).first()?),
        _ => None,
    }
}
