//! The walk over statements: who goes on, what variables hold where ways meet, rounds of loops.
//!
//! A loop is walked once for all of its rounds. What its variables hold at the beginning of a round is guessed from a round that is
//! tried (the value at the loop's beginning, moved by what all lanes share: by as much every round, or by anything) and
//! tried again until the guess comes out of itself. A loop whose variable is doubled or halved from a number on is walked round by round.

use rustc_hash::FxHashSet;
use term::{BinOp, Op, Storage, SymbolId, TermId};

use super::form::{Atom, Form, Mask};
use super::{Locals, Nest, Number, Run, Stop, Truth, Undecided, Val, WarpWalk, Way};
use crate::kernel::interpret::{walk, Flows, If, Jump, Loop, Switch};
use crate::kernel::set_variables::set_in;
use crate::limits::kernel_anyshape::{MAX_ROUNDS, MAX_TRIES};

/// How a variable changes from the loop's beginning to the beginning of a round.
#[derive(Clone, PartialEq, Debug)]
enum Drift {
    /// Not at all.
    Not,
    /// By as much every round.
    By(Form),
    /// By what all lanes share.
    Alike,
    Anyhow,
    /// As the first try has it: forwards, by what all lanes share.
    Tried,
}

impl Drift {
    fn rank(&self) -> u8 {
        match self {
            Drift::Not => 0,
            Drift::By(_) => 1,
            Drift::Alike => 2,
            Drift::Anyhow | Drift::Tried => 3,
        }
    }
}

/// What a round of a loop came to.
struct Round {
    /// What was asked before or after it, and whether somebody goes on to the next.
    asked: Option<Truth>,
    again: bool,
    /// Variables at its end.
    end: Locals,
    breaks: Vec<(Locals, Way)>,
    /// Lanes that may have left the loop in it each for itself.
    left: Mask,
}

impl WarpWalk<'_> {
    /// Variables where lanes meet again that are here if a condition holds, and hold `other` if not.
    pub(super) fn join(&mut self, c: &Truth, other: Locals, way: Way) {
        let mut symbols: Vec<SymbolId> = other.keys().copied().collect();
        symbols.sort();
        for s in symbols {
            let theirs = &other[&s];
            let v = match self.locals.get(&s) {
                None => theirs.clone(),
                Some(mine) if mine == theirs => continue,
                Some(mine) => match self.either(c, mine.clone(), theirs.clone(), way) {
                    Some(v) => v,
                    None => self.anything(s),
                },
            };
            self.locals.insert(s, v);
        }
    }

    /// The same where nobody knows who holds which.
    fn meet(&mut self, other: Locals) {
        let nobody = Truth { yes: 0, no: 0, together: false, one: false, undecided: Undecided::Data };
        let all = Way { may: Mask::MAX, must: Mask::MAX, one: false };
        self.join(&nobody, other, all);
    }

    pub(super) fn forget(&mut self, set: &FxHashSet<SymbolId>) {
        let mut known: Vec<SymbolId> = self.locals.keys().copied().filter(|s| set.contains(s)).collect();
        known.sort();
        for s in known {
            let v = self.anything(s);
            self.locals.insert(s, v);
        }
    }
    /// Something that is not understood: sets variables, and whether it may jump.
    pub(super) fn gap(&mut self, t: TermId) -> bool {
        let body = self.body;
        let set: FxHashSet<SymbolId> = match body.reach(t) {
            Some(_) => body.touched_by_gap(t).into_iter().collect(),
            None => self.locals.keys().copied().collect(),
        };
        self.forget(&set);
        body.jumps_unseen(t)
    }

    /// Lanes jump: out of the innermost loop or `switch`, or of the function.
    fn leaves(&mut self, way: Way, function: bool) {
        self.gone |= way.may;
        let inside = |whole: Mask| way.must & whole == whole;
        let out = self.nest.len();
        let from = if function { 0 } else { out.saturating_sub(1) };
        for n in &mut self.nest[from..] {
            if !inside(n.whole) {
                n.left |= way.may;
            }
        }
        if let Some(f) = self.frames.last_mut().filter(|f| function && !inside(f.whole)) {
            f.returned |= way.may;
        }
    }
    fn returned(&self) -> Mask {
        self.frames.last().map_or(0, |f| f.returned)
    }

    // ---- loops

    /// One round for the lanes that begin it.
    fn round(&mut self, l: &Loop, way: Way) -> Run<Round> {
        let mut round =
            Round { asked: None, again: false, end: Locals::default(), breaks: Vec::new(), left: 0 };
        let mut on = Some(way);
        if let (Some(c), true) = (l.condition, l.before) {
            let c = self.condition(c, way)?;
            self.decide(l.node, &c, way);
            on = way.under(&c);
            round.asked = Some(c);
        }
        let Some(on) = on else { return Ok(round) };
        self.nest.push(Nest { whole: on.may, ..Nest::default() });
        let flow = walk::statement(self, l.inner, on)?;
        let nest = self.nest.pop().unwrap_or_default();
        (round.breaks, round.left) = (nest.breaks, nest.left);
        let mut after = flow;
        for (locals, w) in nest.continues {
            match after {
                None => (self.locals, after) = (locals, Some(w)),
                Some(a) => {
                    self.meet(locals);
                    let must = on.must & !round.left & !self.returned();
                    after = Some(Way { may: a.may | w.may, must, one: on.one });
                }
            }
        }
        if let Some(w) = after {
            if let Some(step) = l.step {
                walk::eval(self, step, w)?;
            }
            round.again = true;
            if let (Some(c), false) = (l.condition, l.before) {
                let c = self.condition(c, w)?;
                self.decide(l.node, &c, w);
                round.again = w.under(&c).is_some();
                round.asked = Some(c);
            }
        }
        round.end = self.locals.clone();
        Ok(round)
    }

    /// The value at the beginning of a round.
    fn drifted(&mut self, s: SymbolId, from: &Val, drift: &Drift, counter: Atom) -> Val {
        let moved = |w: &mut Self, at: &Form| match drift {
            Drift::By(step) => step.mul(&Form::atom(counter)).and_then(|f| at.add(&f)),
            Drift::Alike => at.add(&w.any_form(None, true, false).scale(w.grain(s))?),
            Drift::Tried => at.add(&Form::atom(w.unknowns.counter()).scale(w.grain(s))?),
            _ => None,
        };
        let found = match (drift, from) {
            (Drift::Not, v) | (Drift::Alike | Drift::Tried, v @ Val::Other(_)) => Some(v.clone()),
            (_, Val::Int(n)) => moved(self, &n.form).map(|form| Val::Int(Number { form, ..n.clone() })),
            (_, Val::Ptr(o, at)) => moved(self, at).map(|at| Val::Ptr(o.clone(), at)),
            _ => None,
        };
        match found {
            Some(v) => v,
            None => self.anything(s),
        }
    }

    /// What a variable is moved by is a multiple of this: a pointer's elements.
    fn grain(&self, s: SymbolId) -> i64 {
        let types = &self.body.types;
        let element = types.element(self.body.symbols[s].ty).and_then(|e| types.size_align(e));
        element.and_then(|e| i64::try_from(e.0).ok()).filter(|n| *n > 0).unwrap_or(1)
    }

    /// How a variable changed in a round that was tried; atoms from `mark` on were made in it.
    fn drift(&self, s: SymbolId, from: &Val, to: &Val, mark: usize) -> Drift {
        if from == to {
            return Drift::Not;
        }
        let (a, b) = match (from, to) {
            (Val::Int(a), Val::Int(b)) if a.exact == b.exact => (&a.form, &b.form),
            (Val::Ptr(o, a), Val::Ptr(n, b)) if o == n => (a, b),
            (Val::Other(true), Val::Other(true)) => return Drift::Alike,
            _ => return Drift::Anyhow,
        };
        let Some(d) = b.sub(a) else { return Drift::Anyhow };
        match self.unknowns.is_alike(&d) {
            true if d.atoms().all(|a| (a as usize) < mark) => Drift::By(d),
            true => {
                let whole = |n: i64| n % self.grain(s) == 0;
                let even = whole(d.divisor(Mask::MAX)) && whole(d.number().at(0));
                if even {
                    Drift::Alike
                } else {
                    Drift::Anyhow
                }
            }
            false => Drift::Anyhow,
        }
    }

    /// All rounds at once.
    fn rounds(&mut self, l: &Loop, set: &FxHashSet<SymbolId>, way: Way) -> Run<Option<Way>> {
        let entry = self.locals.clone();
        let mut known: Vec<SymbolId> = set.iter().copied().filter(|s| entry.contains_key(s)).collect();
        known.sort();
        let mut drifts = vec![Drift::Tried; known.len()];
        let mut start = way;
        let mut tries = 0;
        let gone = self.gone;
        let begin = |w: &mut Self, drifts: &[Drift]| {
            let counter = w.unknowns.counter();
            w.locals = entry.clone();
            for (s, d) in known.iter().zip(drifts) {
                let v = w.drifted(*s, &entry[s], d, counter);
                w.locals.insert(*s, v);
            }
            w.locals.clone()
        };
        loop {
            tries += 1;
            let mark = self.unknowns.count();
            let from = begin(self, &drifts);
            self.tried += 1;
            let round = self.round(l, start);
            self.tried -= 1;
            let round = round?;
            // who begins a round has not left in one before
            start.must &= !round.left;
            if let (Some(c), false) = (&round.asked, l.before) {
                start.must &= start.under(c).map_or(0, |w| w.must);
            }
            let mut worse = false;
            for (s, d) in known.iter().zip(&mut drifts) {
                let to = match round.again {
                    true => round.end.get(s).map_or(Drift::Anyhow, |v| self.drift(*s, &from[s], v, mark)),
                    false => Drift::Not,
                };
                // the first try says how variables drift, all others only whether that is so
                let next = match (tries, &*d) {
                    (1, _) => to,
                    (_, d) if to == *d || to.rank() <= d.rank() && d.rank() > 1 => d.clone(),
                    _ => {
                        if to.rank() > 2 {
                            Drift::Anyhow
                        } else {
                            Drift::Alike
                        }
                    }
                };
                worse |= next != *d;
                *d = next;
            }
            if !worse {
                break;
            }
            if tries > MAX_TRIES {
                drifts.fill(Drift::Anyhow);
                break;
            }
        }
        let from = begin(self, &drifts);
        let round = self.round(l, start)?;
        // who leaves, leaves in one round
        let together = round.left == 0
            && round.asked.as_ref().is_none_or(|c| {
                let classes = [c.yes & way.may, c.no & way.may, way.may & !(c.yes | c.no)];
                classes.iter().filter(|m| **m != 0).count() <= 1 && (classes[2] == 0 || c.together)
            });
        if l.before {
            self.locals = from;
        }
        for (locals, _) in round.breaks {
            self.meet(locals);
        }
        if !together {
            let moving = known.iter().zip(&drifts).filter(|(_, d)| **d != Drift::Not);
            let set: FxHashSet<SymbolId> = moving.map(|(s, _)| *s).collect();
            self.forget(&set);
        }
        self.gone = gone | self.returned();
        Ok(Some(Way { must: way.must & !self.returned(), ..way }))
    }

    /// Whether a loop's condition asks for a variable that is a number at its beginning and is multiplied or divided in each round.
    fn is_geometric(&self, l: &Loop) -> bool {
        let body = self.body;
        let (Some(c), true) = (l.condition, l.before) else { return false };
        let factor = |op: &BinOp, by: TermId| {
            let size = body.as_int(by).is_some_and(|k| k > 0);
            size && matches!(op, BinOp::Mul | BinOp::Div | BinOp::Shl | BinOp::Shr)
        };
        let scales = |t: TermId, s: SymbolId| match (body.op(t), body.args(t)) {
            (Op::Compound(op), &[p, by]) => body.as_symbol(p) == Some(s) && factor(op, by),
            (Op::Assign, &[p, v]) if body.as_symbol(p) == Some(s) => match (body.op(v), body.args(v)) {
                (Op::Binary(op), &[a, by]) => {
                    body.as_symbol(a) == Some(s) && factor(op, by)
                        || *op == BinOp::Mul && body.as_symbol(by) == Some(s) && factor(op, a)
                }
                _ => false,
            },
            _ => false,
        };
        let parts: Vec<TermId> = [l.step, Some(l.inner)].into_iter().flatten().collect();
        let number = |s: SymbolId| match self.locals.get(&s) {
            Some(Val::Int(n)) => n.exact && n.form.as_constant().is_some(),
            _ => false,
        };
        let asked: Vec<SymbolId> = body.walk(c).filter_map(|t| body.as_symbol(t)).collect();
        let mut walked = parts.iter().flat_map(|&p| body.walk(p));
        walked.any(|t| asked.iter().any(|&s| scales(t, s) && number(s)))
    }

    /// Round by round; `None`: there are too many.
    fn unrolled(&mut self, l: &Loop, set: &FxHashSet<SymbolId>, way: Way) -> Run<Option<Way>> {
        let gone = self.gone;
        let mut on = way;
        // variables where lanes leave, and whether all do at once
        let mut exits: Vec<Locals> = Vec::new();
        let mut together = true;
        for k in 0.. {
            if k > MAX_ROUNDS {
                return Ok(None);
            }
            let before = self.locals.clone();
            let round = self.round(l, on)?;
            let Some(c) = &round.asked else { return Ok(None) };
            if on.may & !c.yes != 0 {
                exits.push(before);
                let classes = [c.yes & on.may, c.no & on.may, on.may & !(c.yes | c.no)];
                let one = classes.iter().filter(|m| **m != 0).count() <= 1;
                together &= one && (classes[2] == 0 || c.together);
            }
            together &= round.left == 0;
            exits.extend(round.breaks.iter().map(|b| b.0.clone()));
            match on.under(c).filter(|_| round.again) {
                Some(w) => on = Way { must: w.must & !round.left, ..w },
                None => break,
            }
        }
        let Some(first) = exits.first().cloned() else { return Ok(None) };
        let mut known: Vec<SymbolId> = set.iter().copied().filter(|s| first.contains_key(s)).collect();
        known.sort();
        self.locals = first.clone();
        for s in known {
            let all: Vec<&Val> = exits.iter().filter_map(|e| e.get(&s)).collect();
            if all.iter().all(|v| **v == first[&s]) && all.len() == exits.len() {
                continue;
            }
            let shared = together && all.iter().all(|v| self.is_shared(v, Mask::MAX));
            let v = match (shared, self.body.types.as_int(self.body.symbols[s].ty)) {
                (true, Some(kind)) => self.any_int(kind, true, false),
                _ => self.anything(s),
            };
            self.locals.insert(s, v);
        }
        self.gone = gone | self.returned();
        Ok(Some(Way { must: way.must & !self.returned(), ..way }))
    }
}

impl<'a> Flows<'a> for WarpWalk<'a> {
    /// Who goes on; `None`: nobody.
    type Flow = Option<Way>;

    fn straight(&self, way: Way) -> Option<Way> {
        Some(way)
    }
    fn onward(&self, flow: &Option<Way>) -> Option<Way> {
        *flow
    }
    fn then(&mut self, _: Option<Way>, second: Option<Way>) -> Option<Way> {
        second
    }

    fn declare(&mut self, _: TermId, s: SymbolId, init: Option<(TermId, Val)>, way: Way) -> Run<()> {
        let symbol = &self.body.symbols[s];
        if symbol.storage != Storage::Local || self.is_open(s) {
            return Ok(());
        }
        let v = match init {
            Some((init, value)) => self.fitted(value, init, symbol.ty, way),
            None => self.anything(s),
        };
        self.locals.insert(s, v);
        Ok(())
    }

    fn branch(&mut self, b: If, way: Way) -> Run<Option<Way>> {
        let c = self.condition(b.condition, way)?;
        self.decide(b.node, &c, way);
        let not = c.clone().not();
        let gone = std::mem::take(&mut self.gone);
        let before = self.locals.clone();
        let yes = match way.under(&c) {
            Some(w) => walk::statement(self, b.then, w)?,
            None => None,
        };
        let after = std::mem::replace(&mut self.locals, before);
        let no = match (way.under(&not), b.other) {
            (Some(w), Some(other)) => walk::statement(self, other, w)?,
            (w, _) => w,
        };
        let left = self.gone;
        self.gone |= gone;
        Ok(match (yes, no) {
            (Some(t), Some(e)) => {
                self.join(&not, after, way);
                Some(Way { may: t.may | e.may, must: way.must & !left, one: way.one })
            }
            (Some(t), None) => {
                self.locals = after;
                Some(t)
            }
            (None, no) => no,
        })
    }

    fn repeat(&mut self, l: Loop, way: Way) -> Run<Option<Way>> {
        let parts: Vec<TermId> = [l.condition, l.step, Some(l.inner)].into_iter().flatten().collect();
        let set = set_in(self.body, &parts);
        if self.is_geometric(&l) {
            let entry = self.locals.clone();
            if let Some(way) = self.unrolled(&l, &set, way)? {
                return Ok(Some(way));
            }
            self.locals = entry;
        }
        self.rounds(&l, &set, way)
    }

    fn switch(&mut self, s: Switch<'a>, way: Way) -> Run<Option<Way>> {
        let v = walk::eval(self, s.value, way)?;
        let shared = self.is_shared(&v, way.may);
        self.decide(s.node, &Truth::unknown(shared), way);
        let must = if shared { way.must } else { 0 };
        let inside = Way { must, ..way };
        let gone = self.gone;
        let entry = self.locals.clone();
        self.nest.push(Nest { whole: way.may, is_switch: true, ..Nest::default() });
        let mut flow = None;
        for &t in s.items {
            if matches!(self.body.op(t), Op::Case | Op::Default) || s.deep {
                match flow {
                    None => self.locals = entry.clone(),
                    Some(_) => self.meet(entry.clone()),
                }
                flow = Some(inside);
            }
            if s.deep {
                let set = set_in(self.body, &[t]);
                self.forget(&set);
            }
            if let Some(w) = flow {
                flow = walk::statement(self, t, w)?;
            }
        }
        let nest = self.nest.pop().unwrap_or_default();
        if s.deep {
            let set = set_in(self.body, &[s.inner]);
            self.forget(&set);
        }
        if flow.is_none() {
            self.locals = entry.clone();
        }
        for (locals, _) in nest.breaks {
            self.meet(locals);
        }
        self.meet(entry);
        // a `continue` or `return` inside
        let left = self.gone & !gone;
        self.gone = gone | left;
        Ok(Some(Way { must: way.must & !left, ..way }))
    }

    fn jump(&mut self, t: TermId, jump: Jump<Val>, way: Way) -> Run<Option<Way>> {
        match jump {
            Jump::Break => {
                self.leaves(way, false);
                let locals = self.locals.clone();
                if let Some(n) = self.nest.last_mut() {
                    n.breaks.push((locals, way));
                }
            }
            Jump::Continue => {
                self.gone |= way.may;
                let locals = self.locals.clone();
                if let Some(n) = self.nest.iter_mut().rev().find(|n| !n.is_switch) {
                    n.continues.push((locals, way));
                }
            }
            Jump::Return(v) => {
                self.leaves(way, true);
                let kind = self.body.args(t).first().and_then(|&v| self.kind(v));
                let number = match (self.body.args(t).first(), v) {
                    (Some(&at), Some(v)) => match self.number_of(at, v.clone()) {
                        Some((n, _)) => Some(Val::Int(n)),
                        None => Some(v),
                    },
                    (_, v) => v,
                };
                if let (Some(v), Some(f)) = (number, self.frames.last_mut()) {
                    f.values.push((v, kind));
                }
            }
        }
        Ok(None)
    }

    fn opaque(&mut self, t: TermId, way: Way) -> Run<Option<Way>> {
        if matches!(self.body.op(t), Op::Goto(_) | Op::Label(_)) {
            return Err(Stop::Structure);
        }
        match self.gap(t) {
            true => {
                self.leaves(Way { must: 0, ..way }, true);
                Ok(Some(Way { must: 0, ..way }))
            }
            false => Ok(Some(way)),
        }
    }
}
