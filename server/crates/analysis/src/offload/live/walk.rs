//! The walk backwards: which cells may be read behind each term before they are written again.

use std::sync::Arc;

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TermId, TypeKind};

use super::calls::own_summary;
use super::cells::{how, used_by, Array, Cells, Sets, Used};
use super::{place_of, rank};
use crate::context::Context;
use crate::flow::parts::owner;
use crate::limits::offload_live::{MAX_DEPTH, MAX_LABELS, MAX_ROUNDS};
use crate::Summary;

/// For each of the arrays what may be read of it.
pub(super) type State = Vec<Cells>;

pub(super) struct Walker<'a> {
    pub(super) cx: &'a Context<'a>,
    pub(super) body: &'a Body,
    pub(super) arrays: Vec<Array>,
    fixed: Vec<SymbolId>,
    /// The functions of the file.
    pub(super) own: &'a FxHashSet<Arc<str>>,
    budget: &'a Budget,
    /// What loops do with the arrays.
    loops: FxHashMap<TermId, Vec<Option<Used>>>,
    breaks: Vec<State>,
    continues: Vec<State>,
    labels: FxHashMap<Arc<str>, State>,
    /// What may be read when the function is over.
    end: State,
    watched: Option<TermId>,
    behind_watched: Option<State>,
    /// What may be read behind calls that may lead back into the file.
    pub(super) behind_strangers: State,
    depth: u32,
}

impl<'a> Walker<'a> {
    pub(super) fn new(
        cx: &'a Context<'a>,
        arrays: &[SymbolId],
        fixed: &[SymbolId],
        own: &'a FxHashSet<Arc<str>>,
        budget: &'a Budget,
    ) -> Option<Walker<'a>> {
        let body = cx.body;
        let made = |&symbol: &SymbolId| {
            let rank = rank(body, symbol)?;
            let all = whole(body, symbol, poly::Space { params: fixed.len(), dims: rank }, budget)?;
            Some(Array { symbol, rank, all })
        };
        let arrays: Vec<Array> = arrays.iter().map(made).collect::<Option<_>>()?;
        let none = vec![Cells::None; arrays.len()];
        Some(Walker {
            cx,
            body,
            arrays,
            fixed: fixed.to_vec(),
            own,
            budget,
            loops: FxHashMap::default(),
            breaks: Vec::new(),
            continues: Vec::new(),
            labels: FxHashMap::default(),
            end: none.clone(),
            watched: None,
            behind_watched: None,
            behind_strangers: none,
            depth: 0,
        })
    }

    /// The arrays that are looked at.
    pub(super) fn arrays(&self) -> impl Iterator<Item = SymbolId> + '_ {
        self.arrays.iter().map(|a| a.symbol)
    }

    /// The function with calls written out.
    pub(super) fn body(&self) -> &'a Body {
        self.body
    }

    /// What is known of the functions that are still called.
    pub(super) fn summaries(&self) -> impl Iterator<Item = &'a Summary> + '_ {
        let calls = self.body.walk(self.body.root).filter(|&t| *self.body.op(t) == Op::Call);
        calls.filter_map(|t| own_summary(self.cx, t))
    }

    pub(super) fn nothing(&self) -> State {
        vec![Cells::None; self.arrays.len()]
    }

    /// Of which term it is noted what may be read behind it.
    pub(super) fn watch(&mut self, t: TermId) {
        self.watched = Some(t);
    }

    pub(super) fn watched(&self) -> Option<State> {
        self.behind_watched.clone()
    }

    pub(super) fn behind_strangers(&self) -> &State {
        &self.behind_strangers
    }

    /// What may be read when the function begins, of what it holds then. `end`: what may be read when it is over. `None`: not known.
    pub(super) fn function(&mut self, end: State) -> Option<State> {
        let body = self.body;
        let labels: FxHashSet<&str> = body
            .walk(body.root)
            .filter_map(|t| match body.op(t) {
                Op::Label(l) => Some(&**l),
                _ => None,
            })
            .collect();
        let lost = |t: TermId| matches!(body.op(t), Op::Goto(l) if !labels.contains(&**l));
        if labels.len() > MAX_LABELS || body.walk(body.root).any(lost) {
            return None;
        }
        self.end = end.clone();
        loop {
            let before = self.labels.clone();
            let first = self.walk(body.root, end.clone())?;
            if labels.is_empty() || !self.labels_grew(&before) {
                return Some(first);
            }
        }
    }

    fn labels_grew(&self, before: &FxHashMap<Arc<str>, State>) -> bool {
        self.labels.iter().any(|(l, now)| match before.get(l) {
            Some(old) => self.is_more(now, old),
            None => now.iter().any(|c| !c.is_none()),
        })
    }

    /// What may be read when statements begin that stand one behind the other and are not left in between.
    pub(super) fn block(&mut self, statements: &[TermId], mut state: State) -> Option<State> {
        for &t in statements.iter().rev() {
            state = self.walk(t, state)?;
        }
        Some(state)
    }

    fn is_more(&self, a: &State, than: &State) -> bool {
        a.iter().zip(than).any(|(a, b)| b.clone().add(a, self.budget))
    }

    pub(super) fn join(&self, into: &mut State, more: &State) -> bool {
        let mut grew = false;
        for (a, b) in into.iter_mut().zip(more) {
            grew |= a.add(b, self.budget);
        }
        grew
    }

    pub(super) fn index_of(&self, s: SymbolId) -> Option<usize> {
        self.arrays.iter().position(|a| a.symbol == s)
    }

    pub(super) fn names(&self, t: TermId) -> Vec<usize> {
        let mut out: Vec<usize> = Vec::new();
        for s in self.body.walk(t).filter_map(|x| self.body.as_symbol(x)) {
            out.extend(self.index_of(s).filter(|k| !out.contains(k)));
        }
        out
    }

    pub(super) fn is_of_file(&self, k: usize) -> bool {
        let symbol = self.arrays.get(k).map(|a| &self.body.symbols[a.symbol]);
        symbol.is_some_and(|s| matches!(s.storage, Storage::Global { .. }))
    }

    /// All of an array may be read.
    pub(super) fn all(&self, k: usize, state: &mut State) {
        if let Some(c) = state.get_mut(k) {
            *c = Cells::All;
        }
    }

    pub(super) fn walk(&mut self, t: TermId, after: State) -> Option<State> {
        self.depth += 1;
        if self.depth > MAX_DEPTH || self.budget.spend(1).is_err() {
            return None;
        }
        if self.watched == Some(t) {
            let mut all = self.behind_watched.take().unwrap_or_else(|| self.nothing());
            self.join(&mut all, &after);
            self.behind_watched = Some(all);
        }
        let out = self.term(t, after);
        self.depth -= 1;
        out
    }

    fn term(&mut self, t: TermId, mut live: State) -> Option<State> {
        let body = self.body;
        let args = body.args(t);
        Some(match body.op(t) {
            Op::If | Op::Select if self.decided(args).is_some() => {
                let (arm, condition) = (self.decided(args)?, *args.first()?);
                let live = match args.get(arm) {
                    Some(&a) => self.walk(a, live)?,
                    None => live,
                };
                self.walk(condition, live)?
            }
            Op::If | Op::Select => {
                let mut joined = self.walk(*args.get(1)?, live.clone())?;
                match args.get(2) {
                    Some(&e) => {
                        let other = self.walk(e, live)?;
                        self.join(&mut joined, &other)
                    }
                    None => self.join(&mut joined, &live),
                };
                self.walk(*args.first()?, joined)?
            }
            Op::Binary(b) if b.is_logical() => {
                let mut joined = self.walk(*args.get(1)?, live.clone())?;
                self.join(&mut joined, &live);
                self.walk(*args.first()?, joined)?
            }
            Op::For | Op::While | Op::DoWhile => self.a_loop(t, live)?,
            Op::Switch => self.switch(*args.first()?, *args.get(1)?, live)?,
            Op::Break => self.breaks.last()?.clone(),
            Op::Continue => self.continues.last()?.clone(),
            Op::Goto(l) => self.labels.get(l).cloned().unwrap_or_else(|| self.nothing()),
            Op::Label(l) => {
                let mut all = self.labels.remove(l).unwrap_or_else(|| self.nothing());
                self.join(&mut all, &live);
                self.labels.insert(l.clone(), all);
                live
            }
            Op::Return => {
                let end = self.end.clone();
                match args.first() {
                    Some(&e) => self.walk(e, end)?,
                    None => end,
                }
            }
            Op::Declare(s) => {
                if let Some(k) = self.index_of(*s) {
                    live[k] = Cells::None;
                }
                match args.first() {
                    Some(&e) => self.walk(e, live)?,
                    None => live,
                }
            }
            Op::Call => self.call(t, live)?,
            Op::SizeOf => live,
            Op::Sym(s) => {
                if let Some(k) = self.index_of(*s) {
                    self.all(k, &mut live);
                }
                live
            }
            Op::Index | Op::Deref => self.place(t, live)?,
            Op::Reject(_) => {
                for s in body.touched_by_gap(t) {
                    if let Some(k) = self.index_of(s) {
                        self.all(k, &mut live);
                    }
                }
                live
            }
            // the place is reckoned with where it stands
            _ => {
                for &a in args.iter().rev() {
                    live = self.walk(a, live)?;
                }
                live
            }
        })
    }

    /// Which arm of a choice is the one that runs, where that is a number in the text and nothing leads into the other.
    fn decided(&self, args: &[TermId]) -> Option<usize> {
        let is_label = |&t: &TermId| {
            self.body.walk(t).any(|x| matches!(self.body.op(x), Op::Label(_) | Op::Case | Op::Default))
        };
        let value = self.body.as_int(*args.first()?)?;
        (!args.iter().skip(1).any(is_label)).then_some(if value != 0 { 1 } else { 2 })
    }

    /// An element, or a place that no name leads to.
    fn place(&mut self, t: TermId, mut live: State) -> Option<State> {
        let body = self.body;
        let base = owner(body, t).and_then(|(s, _)| self.index_of(s).map(|k| (k, s)));
        let Some((k, s)) = base else {
            for &a in body.args(t).iter().rev() {
                live = self.walk(a, live)?;
            }
            return Some(live);
        };
        // the name itself stands below subscripts
        let mut name = None;
        let mut stack: Vec<TermId> = body.args(t).to_vec();
        let mut others = Vec::new();
        while let Some(x) = stack.pop() {
            match body.op(x) {
                Op::Sym(o) if *o == s && name.is_none() => name = Some(x),
                Op::Index | Op::Deref if owner(body, x).is_some_and(|o| o.0 == s) => {
                    stack.extend(body.args(x));
                }
                _ => others.push(x),
            }
        }
        let is_element = name.is_some_and(|n| place_of(body, &self.cx.parents, n) == Ok(Some(t)));
        if !is_element || how(body, self.cx, t).0 {
            self.all(k, &mut live);
        }
        for x in others {
            live = self.walk(x, live)?;
        }
        Some(live)
    }

    /// Each part that a `case` begins may be come to from the head.
    fn switch(&mut self, value: TermId, list: TermId, after: State) -> Option<State> {
        let body = self.body;
        let items = body.args(list);
        let is_case = |t: TermId| matches!(body.op(t), Op::Case | Op::Default);
        let all = body.walk(list).filter(|&t| is_case(t)).count();
        let direct = items.iter().filter(|&&t| is_case(t)).count();
        let mut head = self.nothing();
        if *body.op(list) != Op::List || all != direct {
            head = after.clone();
            for k in self.names(list) {
                self.all(k, &mut head);
            }
        }
        self.breaks.push(after.clone());
        let mut at = after.clone();
        let mut complete = false;
        for &item in items.iter().rev() {
            let next = self.walk(item, at);
            at = match next {
                Some(s) => s,
                None => {
                    self.breaks.pop();
                    return None;
                }
            };
            if is_case(item) {
                self.join(&mut head, &at);
                complete |= *body.op(item) == Op::Default;
            }
        }
        self.breaks.pop();
        if !complete {
            self.join(&mut head, &after);
        }
        self.walk(value, head)
    }

    /// A loop: what its model says, and of the rest what its body does round after round.
    fn a_loop(&mut self, t: TermId, after: State) -> Option<State> {
        let used = self.used(t);
        let named = self.names(t);
        let is_told = |k: &usize| {
            // what is read of an array that is not written is all read
            used.get(*k).is_some_and(|u| u.as_ref().is_some_and(|u| u.reads.is_none() || !u.writes_some))
        };
        let is_seen = |x: TermId| match self.body.op(x) {
            Op::Call | Op::Return | Op::Goto(_) | Op::Label(_) | Op::Reject(_) => false,
            op => !matches!(op, Op::Launch | Op::Case | Op::Default),
        };
        let calls = !self.body.walk(t).all(is_seen);
        let watched = self.watched.is_some_and(|w| self.body.walk(t).any(|x| x == w));
        let mut state = after.clone();
        if calls || watched || !named.iter().all(is_told) {
            // of these only what the loop itself reads is asked
            let own = |k: usize| used.get(k).is_some_and(Option::is_some);
            if (0..state.len()).any(own) && watched {
                // behind the watched term the next rounds are there, and what is behind the loop
                self.rounds(t, after.clone())?;
            }
            for (k, c) in state.iter_mut().enumerate().filter(|(k, _)| own(*k)) {
                debug_assert!(k < self.arrays.len());
                *c = Cells::None;
            }
            state = self.rounds(t, state)?;
        }
        for (k, u) in used.iter().enumerate() {
            let (Some(u), Some(array), Some(end)) = (u, self.arrays.get(k), after.get(k)) else { continue };
            let mut now = match &u.writes {
                Some(w) => end.without(w, &array.all, self.budget),
                None => end.clone(),
            };
            if named.contains(&k) && !u.reads.is_none() {
                let read = match u.writes_some {
                    true => state.get(k)?.within(&u.reads, self.budget),
                    false => u.reads.clone(),
                };
                now.add(&read, self.budget);
            }
            state[k] = now;
        }
        Some(state)
    }

    fn used(&mut self, t: TermId) -> Vec<Option<Used>> {
        if let Some(known) = self.loops.get(&t) {
            return known.clone();
        }
        let named = self.names(t);
        let found = if named.is_empty() {
            self.arrays.iter().map(|_| None).collect()
        } else {
            let sets = Sets { fixed: &self.fixed, budget: self.budget };
            used_by(self.cx, t, &self.arrays, &sets)
        };
        self.loops.insert(t, found.clone());
        found
    }

    /// The least solution of what a round says.
    fn rounds(&mut self, t: TermId, after: State) -> Option<State> {
        let body = self.body;
        let args = body.args(t);
        let mut top = match body.op(t) {
            // what is behind the loop is not before its first round
            Op::DoWhile => self.nothing(),
            _ => after.clone(),
        };
        for round in 0.. {
            let next = match body.op(t) {
                Op::For => {
                    let (condition, step, inner) = (*args.get(1)?, *args.get(2)?, *args.get(3)?);
                    let before_step = self.walk(step, top.clone())?;
                    let mut at = self.inside(inner, &after, before_step)?;
                    self.join(&mut at, &after);
                    self.walk(condition, at)?
                }
                Op::While => {
                    let (condition, inner) = (*args.first()?, *args.get(1)?);
                    let mut at = self.inside(inner, &after, top.clone())?;
                    self.join(&mut at, &after);
                    self.walk(condition, at)?
                }
                _ => {
                    let (inner, condition) = (*args.first()?, *args.get(1)?);
                    let mut at = top.clone();
                    self.join(&mut at, &after);
                    let end = self.walk(condition, at)?;
                    self.inside(inner, &after, end)?
                }
            };
            let mut grown = top.clone();
            if !self.join(&mut grown, &next) {
                return self.begun(t, next);
            }
            if round >= MAX_ROUNDS {
                for (k, c) in grown.iter_mut().enumerate() {
                    let more = top.get(k).is_none_or(|old| old.clone().add(c, self.budget));
                    if more {
                        *c = Cells::All;
                    }
                }
            }
            top = grown;
        }
        None
    }

    fn begun(&mut self, t: TermId, top: State) -> Option<State> {
        match (self.body.op(t), self.body.args(t).first()) {
            (Op::For, Some(&init)) => self.walk(init, top),
            _ => Some(top),
        }
    }

    fn inside(&mut self, inner: TermId, after: &State, end: State) -> Option<State> {
        self.breaks.push(after.clone());
        self.continues.push(end.clone());
        let before = self.walk(inner, end);
        self.breaks.pop();
        self.continues.pop();
        before
    }
}

/// All cells of an array.
fn whole(body: &Body, s: SymbolId, space: poly::Space, budget: &Budget) -> Option<poly::Set> {
    let mut rows = Vec::new();
    let mut ty = body.symbols[s].ty;
    for k in 0..space.dims {
        let TypeKind::Array { of, len: term::Len::Const(n) } = body.types.kind(ty) else { return None };
        let last = i128::from(*n) - 1;
        rows.push(poly::Constraint::ge(poly::Row::constant(0).dim(k, 1)));
        rows.push(poly::Constraint::ge(poly::Row::constant(last).dim(k, -1)));
        ty = *of;
    }
    poly::Set::from_constraints(space, 0, &rows, budget).ok()
}
