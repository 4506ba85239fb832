//! A function as its offload of a stretch reads it, first part: control that goes elsewhere, written as `if` and `break`.
//!
//! A `return`, or a `goto` out of the statements, sets a number and leaves the loops around it; behind the statements that number says
//! where the function goes on. A `goto` further down in the list that it stands in, or in one around, sets a number of its own, and what
//! it jumps over runs only where that is zero. A `switch` becomes conditions of the number that it switches by. Every statement and every
//! condition of the program is there once and is come to as before, so the function is the same. Deliberately absent: jumps backwards
//! and into blocks, and what comes back but numbers; there is no answer then, and the statements stay apart.

mod switched;

use std::collections::BTreeSet;
use std::sync::Arc;

use base::IndexId;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, BodyBuilder, IntKind, Op, Origin, SymbolId, Term, TermId, TypeId, TypeKind, UnOp};

use super::written::Written;
use crate::{Left, Way};

/// The function with the control of these statements written so, save in `kernels`; `None`: there is no other than conditions and loops
/// in them, or one that is not followed.
pub(crate) fn without_jumps(body: &Body, statements: &[TermId], kernels: &[TermId]) -> Option<Written> {
    let &first = statements.first()?;
    let outside: Vec<TermId> = outside(body, statements, kernels);
    let is_jump = |t: &TermId| matches!(body.op(*t), Op::Return | Op::Goto(_) | Op::Label(_) | Op::Switch);
    if !outside.iter().any(is_jump) || body.jumps_unseen(body.root) {
        return None;
    }
    // what leaves the function between two loops parts them: the first may be worth nothing
    let labels_of = |t: TermId| body.walk(t).filter_map(|x| label(body, x));
    let stays = |t: TermId| match body.op(t) {
        Op::Return => false,
        Op::Goto(l) => statements.iter().any(|&s| labels_of(s).any(|own| own == l)),
        _ => true,
    };
    let loose = statements.iter().filter(|&&t| !body.op(t).is_loop());
    if loose.flat_map(|&t| body.walk(t)).any(|t| !stays(t)) {
        return None;
    }
    let labels: FxHashSet<&Arc<str>> = outside.iter().filter_map(|&t| label(body, t)).collect();
    let comes_in =
        |t: TermId| matches!(body.op(t), Op::Goto(l) if labels.contains(l)) && !outside.contains(&t);
    if body.walk(body.root).any(comes_in) {
        return None;
    }
    let parents = body.parents();
    let block = parents.get(first.index()).copied().flatten().filter(|&b| *body.op(b) == Op::List);
    let from = block.and_then(|b| body.args(b).iter().position(|&t| t == first));
    let mut writer = Writer {
        b: body.to_builder(),
        body,
        kernels,
        own: labels.into_iter().cloned().collect(),
        over: FxHashMap::default(),
        left: None,
    };
    let (new, pending) = writer.list(statements, 0)?;
    if pending.behind.iter().any(|k| *k != Key::Left) || !pending.left.is_empty() {
        return None;
    }
    // what comes into a block of its own is not seen behind it
    let named = |t: TermId, s: SymbolId| body.walk(t).filter(|&x| body.as_symbol(x) == Some(s)).count();
    let is_seen = |s: SymbolId| named(body.root, s) > statements.iter().map(|&t| named(t, s)).sum::<usize>();
    if statements.iter().any(|&t| matches!(body.op(t), Op::Declare(s) if !new.contains(&t) && is_seen(*s))) {
        return None;
    }
    let left = writer.left.take();
    match (block, from) {
        (Some(block), Some(from)) => {
            let [before, behind] = writer.around(left.as_ref(), first);
            let all = body.args(block);
            let behind = [behind, all[from + statements.len()..].to_vec()].concat();
            let args = [all[..from].to_vec(), before, new.clone(), behind].concat();
            let term = writer.b.get(block).clone();
            writer.b.set(block, Term { args: args.into(), ..term });
        }
        // one loop, which is what it was but for its body
        _ if left.is_none() && new == statements => {}
        _ => return None,
    }
    let body = writer.b.finish(body.root);
    let (callers, touched, shown) = Default::default();
    Some(Written { body, statements: new, left, callers, touched, shown })
}

/// The terms of the statements, save those in kernels.
fn outside(body: &Body, statements: &[TermId], kernels: &[TermId]) -> Vec<TermId> {
    let (mut out, mut stack) = (Vec::new(), statements.to_vec());
    while let Some(t) = stack.pop() {
        if !kernels.contains(&t) {
            out.push(t);
            stack.extend(body.args(t));
        }
    }
    out
}

fn label(body: &Body, t: TermId) -> Option<&Arc<str>> {
    match body.op(t) {
        Op::Label(l) => Some(l),
        _ => None,
    }
}

/// Where control is on its way to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    /// Out of the statements.
    Left,
    To(Arc<str>),
}

/// Where control may be on its way to.
#[derive(Clone, Default)]
struct Pending {
    /// It has come to what is behind.
    behind: BTreeSet<Key>,
    /// It has left the loop around.
    left: BTreeSet<Key>,
}

impl Pending {
    fn add(&mut self, more: Pending) {
        self.behind.extend(more.behind);
        self.left.extend(more.left);
    }
}

/// A label that something jumps to.
#[derive(Clone, Copy)]
struct Over {
    flag: SymbolId,
    /// Loops of the statements around it.
    level: usize,
}

struct Writer<'a> {
    b: BodyBuilder,
    body: &'a Body,
    kernels: &'a [TermId],
    /// Labels in the statements.
    own: FxHashSet<Arc<str>>,
    over: FxHashMap<Arc<str>, Over>,
    left: Option<Left>,
}

impl Writer<'_> {
    fn typed(&mut self, op: Op, args: Vec<TermId>, ty: TypeId, like: TermId) -> TermId {
        let span = self.b.span(like);
        self.b.term_from(op, args, ty, span, Origin::Made)
    }

    fn made(&mut self, op: Op, args: Vec<TermId>, like: TermId) -> TermId {
        let ty = self.b.types.void();
        self.typed(op, args, ty, like)
    }

    fn int(&mut self, value: i128, like: TermId) -> TermId {
        let ty = self.b.types.int(IntKind::Int);
        self.typed(Op::Int(value), Vec::new(), ty, like)
    }

    /// A variable with a name that the function has not.
    fn variable(&mut self, wish: &str, ty: TypeId) -> SymbolId {
        let is_taken = |name: &str| self.b.symbols.iter().any(|s| &*s.name == name);
        let mut name = wish.to_owned();
        let mut n = 2;
        while is_taken(&name) {
            name = format!("{wish}_{n}");
            n += 1;
        }
        self.b.local(name, ty)
    }

    fn named(&mut self, s: SymbolId, like: TermId) -> TermId {
        let ty = self.b.symbols[s].ty;
        self.typed(Op::Sym(s), Vec::new(), ty, like)
    }

    fn assigned(&mut self, s: SymbolId, value: TermId, like: TermId) -> TermId {
        let place = self.named(s, like);
        let ty = self.b.get(place).ty;
        self.typed(Op::Assign, vec![place, value], ty, like)
    }

    fn declared(&mut self, s: SymbolId, like: TermId) -> TermId {
        let zero = self.int(0, like);
        self.made(Op::Declare(s), vec![zero], like)
    }

    fn compared(&mut self, op: BinOp, a: TermId, b: TermId, like: TermId) -> TermId {
        let int = self.b.types.int(IntKind::Int);
        self.typed(Op::Binary(op), vec![a, b], int, like)
    }

    /// That the flags of the keys are all zero, or that one is not.
    fn none_of(&mut self, keys: &BTreeSet<Key>, none: bool, like: TermId) -> Option<TermId> {
        let mut all = None;
        for k in keys {
            let flag = match k {
                Key::Left => self.left.as_ref()?.flag,
                Key::To(l) => self.over.get(l)?.flag,
            };
            let (flag, zero) = (self.named(flag, like), self.int(0, like));
            let one = self.compared(if none { BinOp::Eq } else { BinOp::Ne }, flag, zero, like);
            let joint = if none { BinOp::And } else { BinOp::Or };
            all = Some(match all {
                Some(before) => self.compared(joint, before, one, like),
                None => one,
            });
        }
        all
    }

    /// Whether control, with so many loops around, leaves the innermost of them on its way to a place.
    fn leaves(&self, key: &Key, level: usize) -> bool {
        match key {
            Key::Left => level > 0,
            Key::To(l) => self.over.get(l).is_some_and(|o| o.level < level),
        }
    }

    /// Statements of a list, with so many loops around.
    fn list(&mut self, statements: &[TermId], level: usize) -> Option<(Vec<TermId>, Pending)> {
        let mut new_here = Vec::new();
        for &t in statements {
            let Op::Label(l) = self.b.get(t).op.clone() else { continue };
            if !self.over.contains_key(&l) {
                let int = self.b.types.int(IntKind::Int);
                let flag = self.variable("over", int);
                self.over.insert(l.clone(), Over { flag, level });
                new_here.push((l, flag, t));
            }
        }
        let (mut out, mut pending) = (Vec::new(), Pending::default());
        let mut at = 0;
        while let Some(&t) = statements.get(at) {
            if let Op::Label(l) = self.b.get(t).op.clone() {
                pending.behind.remove(&Key::To(l));
                at += 1;
                continue;
            }
            let is_end = |w: &Self, t: TermId, of: &BTreeSet<Key>| match &w.b.get(t).op {
                Op::Label(l) => of.contains(&Key::To(l.clone())),
                _ => false,
            };
            if !pending.behind.is_empty() {
                let rest = &statements[at..];
                let count = rest.iter().position(|&t| is_end(self, t, &pending.behind)).unwrap_or(rest.len());
                self.keeps_names(&rest[..count], &rest[count..])?;
                let none = self.none_of(&pending.behind, true, t)?;
                let (only, more) = self.only_where(none, &rest[..count], level)?;
                out.push(only);
                pending.add(more);
                at += count;
                continue;
            }
            if let Some((none, to)) = self.jumps_over(t, &statements[at + 1..]) {
                let (over, rest) = statements[at + 1..].split_at(to);
                self.keeps_names(over, rest)?;
                let (only, more) = self.only_where(none, over, level)?;
                out.push(only);
                pending.add(more);
                at += 1 + to;
                continue;
            }
            let (new, more) = self.statement(t, level)?;
            out.extend(new);
            // behind a loop control may have to leave the one around, too
            let leaves: BTreeSet<Key> =
                more.behind.iter().filter(|k| self.leaves(k, level)).cloned().collect();
            if !leaves.is_empty() {
                let some = self.none_of(&leaves, false, t)?;
                let ends = self.made(Op::Break, Vec::new(), t);
                let ends = self.made(Op::List, vec![ends], t);
                out.push(self.made(Op::If, vec![some, ends], t));
            }
            pending.behind.extend(more.behind.into_iter().filter(|k| !leaves.contains(k)));
            pending.left.extend(more.left);
            pending.left.extend(leaves);
            at += 1;
            if matches!(self.body_op(t), Some(Op::Goto(_) | Op::Return | Op::Break | Op::Continue)) {
                // nothing comes to what stands there
                let rest = &statements[at..];
                let count = rest.iter().position(|&t| matches!(self.b.get(t).op, Op::Label(_)));
                at += count.unwrap_or(rest.len());
            }
        }
        // a jump backwards
        if new_here.iter().any(|(l, ..)| pending.behind.contains(&Key::To(l.clone()))) {
            return None;
        }
        let used = |w: &Self, flag: SymbolId| w.b_names(&out, flag);
        let flags: Vec<(SymbolId, TermId)> = new_here
            .iter()
            .filter(|(_, flag, _)| used(self, *flag))
            .map(|(_, flag, t)| (*flag, *t))
            .collect();
        let mut all: Vec<TermId> = flags.into_iter().map(|(flag, t)| self.declared(flag, t)).collect();
        all.append(&mut out);
        Some((all, pending))
    }

    /// Statements that run only where a condition holds.
    fn only_where(
        &mut self,
        holds: TermId,
        statements: &[TermId],
        level: usize,
    ) -> Option<(TermId, Pending)> {
        let (inner, more) = self.list(statements, level)?;
        let inner = self.made(Op::List, inner, holds);
        Some((self.made(Op::If, vec![holds, inner], holds), more))
    }

    /// What the statement was in the function, if it was there.
    fn body_op(&self, t: TermId) -> Option<&Op> {
        (t.index() < self.body.len()).then(|| self.body.op(t))
    }

    fn b_names(&self, terms: &[TermId], s: SymbolId) -> bool {
        let mut stack = terms.to_vec();
        while let Some(t) = stack.pop() {
            let term = self.b.get(t);
            if term.op == Op::Sym(s) {
                return true;
            }
            stack.extend(term.args.iter());
        }
        false
    }

    /// That no variable declared in statements is named behind them: they come into a block of their own.
    fn keeps_names(&self, statements: &[TermId], behind: &[TermId]) -> Option<()> {
        let declares = |t: &TermId| match self.b.get(*t).op {
            Op::Declare(s) => Some(s),
            _ => None,
        };
        let mut declared = statements.iter().filter_map(declares);
        (!declared.any(|s| self.b_names(behind, s))).then_some(())
    }

    /// `if (c) goto l;` with the label further down: that `c` does not hold, and how many statements it jumps over.
    fn jumps_over(&mut self, t: TermId, behind: &[TermId]) -> Option<(TermId, usize)> {
        let term = self.b.get(t).clone();
        let (Op::If, &[condition, then]) = (&term.op, &term.args[..]) else { return None };
        let only = match (&self.b.get(then).op, &self.b.get(then).args[..]) {
            (Op::List, &[only]) => only,
            _ => then,
        };
        let Op::Goto(l) = self.b.get(only).op.clone() else { return None };
        let to = behind.iter().position(|&t| self.b.get(t).op == Op::Label(l.clone()))?;
        let int = self.b.types.int(IntKind::Int);
        let (op, args) = match self.b.negated_comparison(condition) {
            Some((op, sides)) => (Op::Binary(op), sides.to_vec()),
            None => (Op::Unary(UnOp::Not), vec![condition]),
        };
        Some((self.typed(op, args, int, condition), to))
    }

    /// A statement, with so many loops around.
    fn statement(&mut self, t: TermId, level: usize) -> Option<(Vec<TermId>, Pending)> {
        if self.kernels.contains(&t) {
            return Some((vec![t], Pending::default()));
        }
        let term = self.b.get(t).clone();
        match term.op {
            Op::List => {
                let (new, pending) = self.list(&term.args, level)?;
                self.b.set(t, Term { args: new.into(), ..term });
                Some((vec![t], pending))
            }
            Op::If => {
                let mut pending = Pending::default();
                for &arm in &term.args[1..] {
                    let (new, more) = self.statement(arm, level)?;
                    if new != [arm] {
                        return None;
                    }
                    pending.add(more);
                }
                Some((vec![t], pending))
            }
            Op::For | Op::While | Op::DoWhile => {
                let inner = self.body.loop_parts(t)?.body;
                if self.b.get(inner).op != Op::List {
                    return Some((vec![t], Pending::default()));
                }
                let (_, pending) = self.statement(inner, level + 1)?;
                // within a loop nothing is on its way further down at its end
                pending
                    .behind
                    .is_empty()
                    .then_some((vec![t], Pending { behind: pending.left, ..Default::default() }))
            }
            Op::Switch => {
                let new = self.switched(t)?;
                self.list(&new, level)
            }
            Op::Goto(l) if self.own.contains(&l) => {
                let flag = self.over.get(&l)?.flag;
                Some(self.goes(Key::To(l), flag, 1, Vec::new(), t, level))
            }
            Op::Goto(l) => {
                let (flag, number) = self.way(Way::Goto(l), None)?;
                Some(self.goes(Key::Left, flag, number, Vec::new(), t, level))
            }
            Op::Return => {
                let value = term.args.first().copied();
                let (flag, number) = self.way(Way::Return, value)?;
                let result = self.left.as_ref()?.value;
                let set = match (value, result) {
                    (Some(v), Some(s)) => vec![self.assigned(s, v, t)],
                    _ => Vec::new(),
                };
                Some(self.goes(Key::Left, flag, number, set, t, level))
            }
            Op::Case | Op::Default => None,
            _ => Some((vec![t], Pending::default())),
        }
    }

    /// Sets out for a place.
    fn goes(
        &mut self,
        key: Key,
        flag: SymbolId,
        number: i128,
        mut out: Vec<TermId>,
        like: TermId,
        level: usize,
    ) -> (Vec<TermId>, Pending) {
        let number = self.int(number, like);
        out.push(self.assigned(flag, number, like));
        let leaves = self.leaves(&key, level);
        let keys = BTreeSet::from([key]);
        if leaves {
            out.push(self.made(Op::Break, Vec::new(), like));
            return (out, Pending { left: keys, ..Default::default() });
        }
        (out, Pending { behind: keys, ..Default::default() })
    }

    /// A way out of the statements: the variable that says so, and the number that says which.
    fn way(&mut self, way: Way, value: Option<TermId>) -> Option<(SymbolId, i128)> {
        if self.left.is_none() {
            let &Op::Function(f) = self.body.op(self.body.root) else { return None };
            let TypeKind::Function { ret, .. } = self.body.types.kind(self.body.symbols[f].ty) else {
                return None;
            };
            let ret = *ret;
            let int = self.b.types.int(IntKind::Int);
            let flag = self.variable("left", int);
            let value = match self.body.types.is_arithmetic(ret) {
                true => {
                    let ty = self.b.types.with_quals(ret, term::Quals::default());
                    Some(self.variable("value", ty))
                }
                false => None,
            };
            self.left = Some(Left { flag, value, ways: Vec::new() });
        }
        let left = self.left.as_mut()?;
        if way == Way::Return && value.is_some() && left.value.is_none() {
            return None;
        }
        let number = left.ways.iter().position(|w| *w == way).unwrap_or(left.ways.len());
        if number == left.ways.len() {
            left.ways.push(way);
        }
        Some((left.flag, number as i128 + 1))
    }

    /// What stands before the statements and behind them, where control may leave them.
    fn around(&mut self, left: Option<&Left>, like: TermId) -> [Vec<TermId>; 2] {
        let Some(left) = left else { return Default::default() };
        let mut before = vec![self.declared(left.flag, like)];
        before.extend(left.value.map(|v| self.declared(v, like)));
        let mut behind = Vec::new();
        for (k, way) in left.ways.iter().enumerate() {
            let (flag, number) = (self.named(left.flag, like), self.int(k as i128 + 1, like));
            let is_it = self.compared(BinOp::Eq, flag, number, like);
            let goes = match (way, left.value) {
                (Way::Return, Some(v)) => {
                    let value = self.named(v, like);
                    self.made(Op::Return, vec![value], like)
                }
                (Way::Return, None) => self.made(Op::Return, Vec::new(), like),
                (Way::Goto(l), _) => self.made(Op::Goto(l.clone()), Vec::new(), like),
            };
            let goes = self.made(Op::List, vec![goes], like);
            behind.push(self.made(Op::If, vec![is_it, goes], like));
        }
        [before, behind]
    }
}
