//! The walk backwards: which variables are live before each term.

use std::sync::Arc;

use base::{Budget, IndexId};
use rustc_hash::FxHashMap;
use term::{Body, Op, Storage, SymbolId, TermId};

use super::{in_focus, subscripts, MAX_DEPTH};
use crate::limits::flow_liveness::TERMS;

/// A set of variables by number: copied, joined and compared many times.
#[derive(Clone, Default, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn contains(&self, s: SymbolId) -> bool {
        self.0.get(s.index() / 64).is_some_and(|w| w >> (s.index() % 64) & 1 == 1)
    }

    fn insert(&mut self, s: SymbolId) {
        if self.0.len() <= s.index() / 64 {
            self.0.resize(s.index() / 64 + 1, 0);
        }
        self.0[s.index() / 64] |= 1 << (s.index() % 64);
    }

    /// Whether it was there.
    fn remove(&mut self, s: SymbolId) -> bool {
        let was = self.contains(s);
        if was {
            self.0[s.index() / 64] &= !(1 << (s.index() % 64));
        }
        was
    }

    /// Whether it grew.
    fn extend(&mut self, more: &Bits) -> bool {
        if self.0.len() < more.0.len() {
            self.0.resize(more.0.len(), 0);
        }
        let mut grew = false;
        for (w, m) in self.0.iter_mut().zip(&more.0) {
            grew |= *m & !*w != 0;
            *w |= m;
        }
        grew
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Bits) -> bool {
        let (short, long) = if self.0.len() < other.0.len() { (self, other) } else { (other, self) };
        let (head, tail) = long.0.split_at(short.0.len());
        short.0 == head && tail.iter().all(|w| *w == 0)
    }
}

/// The walk; what it found is in `after` and `unset`.
pub(super) struct Backward<'a> {
    body: &'a Body,
    skip: Option<TermId>,
    /// The part of a structure that stands for the structure; its other parts are nothing.
    focus: Option<(SymbolId, &'a [Arc<str>])>,
    pub after: FxHashMap<TermId, Bits>,
    pub unset: Bits,
    breaks: Vec<Bits>,
    continues: Vec<Bits>,
    /// What is live at each label, as far as found.
    labels: FxHashMap<Arc<str>, Bits>,
    /// What each loop was last walked with.
    solved: FxHashMap<TermId, Solved>,
    depth: u32,
    budget: &'a Budget,
    /// Terms walked over that are not paid for.
    unpaid: u64,
    /// Whether the budget was used up.
    pub cut_short: bool,
}

/// One loop's equations and their least solution. Walks around it put the same question again and again; what is live
/// after it and at labels only grows from one to the next, so an old solution is where the next begins, and the same
/// question has the same answer. Without it the work doubles with each loop around.
struct Solved {
    after: Bits,
    /// Live at all labels together, counted.
    at_labels: usize,
    /// Live at the top, before the condition.
    top: Bits,
}

impl<'a> Backward<'a> {
    /// `skip`: a loop taken for a statement that neither reads nor writes.
    pub(super) fn new(
        body: &'a Body,
        skip: Option<TermId>,
        focus: Option<(SymbolId, &'a [Arc<str>])>,
        budget: &'a Budget,
    ) -> Backward<'a> {
        Backward {
            body,
            skip,
            focus,
            after: FxHashMap::default(),
            unset: Bits::default(),
            breaks: Vec::new(),
            continues: Vec::new(),
            labels: FxHashMap::default(),
            solved: FxHashMap::default(),
            depth: 0,
            budget,
            unpaid: 0,
            cut_short: false,
        }
    }

    /// Live before the term, given live after. `None`: too deep to say.
    pub(super) fn live(&mut self, t: TermId, after: Bits) -> Option<Bits> {
        self.depth += 1;
        // a term costs what its set of variables does
        self.unpaid += 1 + after.0.len() as u64 / 4;
        if self.unpaid >= TERMS {
            self.cut_short |= self.budget.spend(self.unpaid / TERMS).is_err();
            self.unpaid %= TERMS;
        }
        if self.depth > MAX_DEPTH || self.cut_short {
            return None;
        }
        let out = self.live_inner(t, after);
        self.depth -= 1;
        out
    }

    fn live_inner(&mut self, t: TermId, mut live: Bits) -> Option<Bits> {
        let body = self.body;
        if self.skip == Some(t) {
            self.note(t, &live);
            return Some(live);
        }
        let args = body.args(t);
        if let (Some((_, meets)), Some((s, _))) = (in_focus(body, self.focus, t), self.focus) {
            if meets {
                live.insert(s);
            }
            return self.subscripts(t, live);
        }
        Some(match body.op(t) {
            Op::List | Op::Program | Op::Comma | Op::Function(_) => {
                for &a in args.iter().rev() {
                    live = self.live(a, live)?;
                }
                live
            }
            Op::If | Op::Select => {
                let mut joined = self.live(*args.get(1)?, live.clone())?;
                match args.get(2) {
                    Some(&e) => joined.extend(&self.live(e, live)?),
                    None => joined.extend(&live),
                };
                self.live(*args.first()?, joined)?
            }
            Op::Binary(b) if b.is_logical() => {
                let mut joined = self.live(*args.get(1)?, live.clone())?;
                joined.extend(&live);
                self.live(*args.first()?, joined)?
            }
            Op::For => {
                let (init, cond, step, inner) = (*args.first()?, *args.get(1)?, *args.get(2)?, *args.get(3)?);
                let top = self.top(t, live, |w, after, top| {
                    let before_step = w.live(step, top.clone())?;
                    let mut at_cond = w.inside(inner, after, before_step)?;
                    at_cond.extend(after);
                    w.live(cond, at_cond)
                })?;
                self.live(init, top)?
            }
            Op::While => {
                let (cond, inner) = (*args.first()?, *args.get(1)?);
                self.top(t, live, |w, after, top| {
                    let mut at_cond = w.inside(inner, after, top.clone())?;
                    at_cond.extend(after);
                    w.live(cond, at_cond)
                })?
            }
            Op::DoWhile => {
                let (inner, cond) = (*args.first()?, *args.get(1)?);
                self.top(t, live, |w, after, top| {
                    let mut at_end = top.clone();
                    at_end.extend(after);
                    let before_cond = w.live(cond, at_end)?;
                    w.inside(inner, after, before_cond)
                })?
            }
            Op::Switch => {
                // Any statement of the body may come first: nothing is surely written.
                self.breaks.push(live.clone());
                let inside = self.live(*args.get(1)?, live.clone());
                self.breaks.pop();
                let mut joined = inside?;
                joined.extend(&live);
                // Reads anywhere inside may be reached from a later label.
                let inside = body.walk(*args.get(1)?);
                let read = inside.flat_map(|x| body.lengths_at(x).flat_map(|l| body.walk(l)).chain([x]));
                for s in read.filter_map(|x| body.as_symbol(x)) {
                    joined.insert(s);
                }
                self.live(*args.first()?, joined)?
            }
            Op::Break => self.breaks.last().cloned().unwrap_or_default(),
            Op::Continue => self.continues.last().cloned().unwrap_or_default(),
            Op::Goto(l) => self.labels.get(l).cloned().unwrap_or_default(),
            Op::Label(l) => {
                self.labels.entry(l.clone()).or_default().extend(&live);
                live
            }
            Op::Return => match args.first() {
                Some(&e) => self.live(e, Bits::default())?,
                None => Bits::default(),
            },
            Op::Declare(s) => {
                let read_later = live.remove(*s);
                if args.is_empty() && read_later && body.symbols[*s].storage == Storage::Local {
                    self.unset.insert(*s);
                }
                for part in args.first().copied().into_iter().chain(body.lengths_at(t)) {
                    live = self.live(part, live)?;
                }
                live
            }
            Op::Assign => {
                let (place, value) = (*args.first()?, *args.get(1)?);
                if let (Some((covers, _)), Some((s, _))) = (in_focus(body, self.focus, place), self.focus) {
                    if covers {
                        live.remove(s);
                    }
                    live = self.live(value, live)?;
                    return self.subscripts(place, live);
                }
                match body.as_symbol(place) {
                    Some(s) => {
                        live.remove(s);
                        self.live(value, live)?
                    }
                    None => {
                        live = self.live(value, live)?;
                        self.live(place, live)?
                    }
                }
            }
            Op::Sym(s) => {
                live.insert(*s);
                live
            }
            Op::SizeOf => live,
            Op::Reject(_) => {
                for s in body.touched_by_gap(t) {
                    live.insert(s);
                }
                live
            }
            _ => {
                for part in args.iter().rev().copied().chain(body.lengths_at(t)) {
                    live = self.live(part, live)?;
                }
                live
            }
        })
    }

    /// Live before the subscripts on the way to a place.
    fn subscripts(&mut self, place: TermId, mut live: Bits) -> Option<Bits> {
        for x in subscripts(self.body, place).into_iter().rev() {
            live = self.live(x, live)?;
        }
        Some(live)
    }

    /// Live at a loop's top: the least solution of what `round` (live after the loop, live at its top) says of it.
    fn top(
        &mut self,
        t: TermId,
        after: Bits,
        round: impl Fn(&mut Self, &Bits, &Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        self.note(t, &after);
        let mut top = after.clone();
        if let Some(known) = self.solved.get(&t) {
            if known.after == after && known.at_labels == self.at_labels() {
                return Some(known.top.clone());
            }
            top.extend(&known.top);
        }
        loop {
            let at_labels = self.at_labels();
            let next = round(self, &after, &top)?;
            if !top.extend(&next) {
                self.solved.insert(t, Solved { after, at_labels, top: top.clone() });
                return Some(top);
            }
        }
    }

    /// Live before a loop's body, given what is live after the loop and where the body ends.
    fn inside(&mut self, inner: TermId, after: &Bits, end: Bits) -> Option<Bits> {
        self.breaks.push(after.clone());
        self.continues.push(end.clone());
        let before = self.live(inner, end);
        self.breaks.pop();
        self.continues.pop();
        before
    }

    /// Live at all labels together, counted.
    pub(super) fn at_labels(&self) -> usize {
        self.labels.values().map(Bits::len).sum()
    }

    fn note(&mut self, t: TermId, live: &Bits) {
        let mut all = live.clone();
        if !self.labels.is_empty() {
            // A `goto` in the loop may leave it.
            for l in self.body.walk(t).filter_map(|x| match self.body.op(x) {
                Op::Goto(l) => self.labels.get(l),
                _ => None,
            }) {
                all.extend(l);
            }
        }
        self.after.entry(t).or_default().extend(&all);
    }
}
