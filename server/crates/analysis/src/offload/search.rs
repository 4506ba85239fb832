//! Extents of subscripts of which no expression says where they end: `a[i ^ j]`, `a[i & m]`, `a[i % n]`.
//!
//! The host finds them by going through the iterations. It computes what decides which elements are touched, if that takes no
//! memory: whole numbers of the index, of variables that the loop leaves alone, and of those that an iteration sets before it
//! uses them. Where memory decides whether an element is touched it is touched perhaps: it must then lie between two that are
//! touched surely, which the host tests. Absent: loops inside, and jumps.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use term::{BinOp, Body, Op, Storage, SymbolId, TermId, TypeKind};

use crate::nest::AffineAccess;
use crate::{Buffer, Control, LoopFacts, Search, SearchStep};

/// An array whose extent the host finds by going through the subscripts. `written`: the body's own variables
/// that the loop sets; `at`: where its accesses stand in the body.
pub(super) fn buffer(
    body: &Body,
    written: &FxHashSet<SymbolId>,
    (claim, control): (&LoopFacts, &Control),
    base: SymbolId,
    (accesses, at): (&[&AffineAccess], &[TermId]),
) -> Option<Buffer> {
    let ty = body.symbols[base].ty;
    let element = body.types.element(ty)?;
    let has_elements =
        matches!(body.types.kind(element), TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Record(_));
    let is_pointer = matches!(body.types.kind(ty), TypeKind::Pointer { .. });
    let of_root = accesses.iter().all(|a| a.loops == [0] && a.subs.len() == 1);
    if !has_elements || !of_root || !is_pointer || control.pointer || !control.header_only {
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
        search: Some(search(body, claim, control, written, base, at)?),
        rows: None,
    })
}

/// How the elements of `base` are gone through that the loop touches; `accesses`: where it does.
fn search(
    body: &Body,
    claim: &LoopFacts,
    control: &Control,
    written: &FxHashSet<SymbolId>,
    base: SymbolId,
    accesses: &[TermId],
) -> Option<Search> {
    let inner = body.loop_parts(claim.term)?.body;
    let jumps = |t: TermId| {
        matches!(
            body.op(t),
            Op::Continue
                | Op::Break
                | Op::Goto(_)
                | Op::Label(_)
                | Op::Return
                | Op::Switch
                | Op::Reject(_)
                | Op::Apply(_)
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
    let mut known: FxHashSet<SymbolId> =
        written.iter().copied().filter(|&s| s != control.index && is_number(body, s) && fresh(s)).collect();
    loop {
        let mut s = Slicer {
            body,
            base,
            index: control.index,
            written,
            known: &known,
            unknown: FxHashSet::default(),
            touched: Vec::new(),
            failed: false,
        };
        let mut steps = Vec::new();
        s.statement(inner, true, &mut steps);
        let (unknown, failed, touched) = (s.unknown, s.failed, s.touched);
        if unknown.is_empty() {
            let all = accesses.iter().all(|a| touched.contains(a));
            let is_sure = any_sure(&steps);
            return (!failed && all && is_sure).then(|| with_variables(body, steps, control)).flatten();
        }
        known.retain(|s| !unknown.contains(s));
    }
}

fn any_sure(steps: &[SearchStep]) -> bool {
    steps.iter().any(|s| match s {
        SearchStep::Touch { sure, .. } => *sure,
        SearchStep::If { then, .. } => any_sure(then),
        SearchStep::Set { .. } => false,
    })
}

/// An integer variable of the function that only its name reaches.
fn is_number(body: &Body, s: SymbolId) -> bool {
    let symbol = &body.symbols[s];
    symbol.is_own_scalar() && body.types.as_int(symbol.ty).is_some()
}

/// The variables that the steps name. `None`: some share a name and not a type.
fn with_variables(body: &Body, steps: Vec<SearchStep>, control: &Control) -> Option<Search> {
    let (mut terms, mut set) = (Vec::new(), Vec::new());
    named(&steps, &mut terms, &mut set);
    set.sort_unstable();
    set.dedup();
    let inputs: BTreeSet<SymbolId> = terms
        .iter()
        .flat_map(|&t| body.walk(t))
        .filter_map(|t| body.as_symbol(t))
        .filter(|s| *s != control.index && !set.contains(s))
        .filter(|&s| !matches!(body.symbols[s].storage, Storage::Constant(_)))
        .collect();
    let inputs: Vec<SymbolId> = inputs.into_iter().collect();
    let all: Vec<SymbolId> = inputs.iter().chain(&set).copied().chain([control.index]).collect();
    let kind = |s: SymbolId| body.types.as_int(body.symbols[s].ty);
    let is_set = |s: &SymbolId| set.contains(s);
    let clash = |a: SymbolId, b: SymbolId| {
        let same = body.symbols[a].name == body.symbols[b].name && a != b;
        same && (kind(a) != kind(b) || !is_set(&a) || !is_set(&b))
    };
    let clashes = all.iter().any(|&a| all.iter().any(|&b| clash(a, b)));
    (!clashes).then_some(Search { steps, inputs, set })
}

/// Whether a step sets it.
fn assigned(steps: &[SearchStep], of: SymbolId) -> bool {
    steps.iter().any(|s| match s {
        SearchStep::Set { symbol, .. } => *symbol == of,
        SearchStep::If { then, .. } => assigned(then, of),
        SearchStep::Touch { .. } => false,
    })
}

fn named(steps: &[SearchStep], terms: &mut Vec<TermId>, set: &mut Vec<SymbolId>) {
    for s in steps {
        match s {
            SearchStep::Set { symbol, value } => {
                set.push(*symbol);
                terms.push(*value);
            }
            SearchStep::If { condition, then, .. } => {
                terms.push(*condition);
                named(then, terms, set);
            }
            SearchStep::Touch { subscript, .. } => terms.push(*subscript),
        }
    }
}

struct Slicer<'b> {
    body: &'b Body,
    base: SymbolId,
    index: SymbolId,
    written: &'b FxHashSet<SymbolId>,
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
        let body = self.body;
        body.walk(t).all(|x| {
            let is_int = body.types.as_int(body.ty(x)).is_some();
            is_int
                && match body.op(x) {
                    Op::Int(_) | Op::Unary(_) | Op::Select | Op::Cast => true,
                    Op::Binary(BinOp::Div | BinOp::Rem) => {
                        let by = body.args(x).get(1).and_then(|&d| body.as_int(d));
                        sure || by.is_some_and(|d| d != 0 && d != -1)
                    }
                    Op::Binary(_) => true,
                    Op::Sym(s) => {
                        let fixed = is_number(body, *s) && !self.written.contains(s);
                        let constant = matches!(body.symbols[*s].storage, Storage::Constant(_));
                        *s == self.index || constant || fixed || self.known.contains(s)
                    }
                    _ => false,
                }
        })
    }

    fn forget(&mut self, s: SymbolId) {
        if self.known.contains(&s) {
            self.unknown.insert(s);
        }
    }

    fn statement(&mut self, t: TermId, sure: bool, out: &mut Vec<SearchStep>) {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::List, _) => args.iter().for_each(|&s| self.statement(s, sure, out)),
            (Op::Empty | Op::Mark(_), _) => {}
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
                for x in body.walk(t) {
                    self.failed |= body.as_symbol(x) == Some(self.base);
                    if let Some(s) = written_by(body, x) {
                        self.forget(s);
                    }
                }
            }
            _ => self.expression(t, sure, out),
        }
    }

    fn set(&mut self, s: SymbolId, value: TermId, [sure, declared]: [bool; 2], out: &mut Vec<SearchStep>) {
        self.expression(value, sure, out);
        if !self.known.contains(&s) {
            return;
        }
        if !self.is_plain(value, sure) || (!sure && !declared) {
            self.forget(s);
        }
        out.push(SearchStep::Set { symbol: s, value });
    }

    /// The elements that an expression touches.
    fn expression(&mut self, t: TermId, sure: bool, out: &mut Vec<SearchStep>) {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::Index, &[array, subscript]) if body.as_symbol(array) == Some(self.base) => {
                match self.is_plain(subscript, sure) {
                    true => {
                        self.touched.push(t);
                        let again = |s: &SearchStep| match s {
                            SearchStep::Touch { subscript: o, sure: s } => {
                                body.same(*o, subscript) && (*s || !sure)
                            }
                            _ => false,
                        };
                        let is_set = |s: &SearchStep| matches!(s, SearchStep::Set { .. });
                        if !out.iter().rev().take_while(|s| !is_set(s)).any(again) {
                            out.push(SearchStep::Touch { subscript, sure });
                        }
                    }
                    false => self.failed = true,
                }
            }
            (Op::Sym(s), _) if *s == self.base => self.failed = true,
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
                args.iter().for_each(|&a| self.expression(a, sure, out));
            }
        }
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
