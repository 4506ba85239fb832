//! Loops of a run, and where one that costs too much is cut short: behind it, or in the iteration that matters next.

use term::{SymbolId, TermId};

use super::{Flow, Halt, Res, Run};
use crate::flow::ends::endless;
use crate::limits::replay_witness_run_loops::{FURTHER, LOOP_STEPS, MISSES};
use crate::replay_witness::values::{Address, Value};
use crate::{NotReplayed, Param};

impl Run<'_, '_> {
    /// A loop.
    pub(super) fn repeat(&mut self, t: TermId) -> Res<Flow> {
        let body = self.body();
        let Some(parts) = body.loop_parts(t) else { return self.fail(NotReplayed::NotUnderstood, t) };
        let own = self.frames.len() == 1;
        let root = own && t == self.goal.root;
        if !root && self.seek.is_none() && endless(body, t) {
            return self.fail(NotReplayed::NotReached, t);
        }
        if self.seek.is_none() {
            if let Some(init) = parts.init {
                self.exec(init)?;
            }
        }
        if root {
            self.arrive()?;
        }
        let begun = self.steps;
        let mut n: i128 = 0;
        let mut jumped = false;
        let mut first = true;
        let flow = loop {
            if root {
                if self.watch.as_ref().is_some_and(|w| w.wanted)
                    && n > self.goal.witness.sink_iteration + FURTHER
                {
                    self.missed(t)?;
                }
                if let Some(w) = &mut self.watch {
                    w.iteration = n;
                }
            }
            if (self.steps - begun > LOOP_STEPS || jumped)
                && self.seek.is_none()
                && !self.jumps_out(parts.body)
            {
                match self.cut_short(t, n, root)? {
                    Cut::Leave => break Flow::Next,
                    Cut::To(k) => {
                        n = k;
                        jumped = true;
                        if let (Some(w), true) = (&mut self.watch, root) {
                            w.iteration = n;
                        }
                    }
                    Cut::No => {}
                }
            }
            let tested = parts.tests_first || !first;
            first = false;
            if let (Some(c), true, true) = (parts.condition, tested && parts.tests_first, self.seek.is_none())
            {
                match self.goes_on(t, c, n)? {
                    None => {}
                    Some(flow) => break flow,
                }
            }
            if own && self.seek.is_none() {
                self.note_index(t, root)?;
            }
            if root {
                self.rounds = self.rounds.max(n + 1);
            }
            match self.exec(parts.body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break Flow::Next,
                flow => break flow,
            }
            if self.seek.is_some() {
                break Flow::Next;
            }
            if let (Some(c), false) = (parts.condition, parts.tests_first) {
                match self.goes_on(t, c, n)? {
                    None => {}
                    Some(flow) => break flow,
                }
            }
            if let Some(step) = parts.step {
                self.exec(step)?;
            }
            n += 1;
        };
        if root && self.watch.is_some() {
            self.missed(t)?;
        }
        Ok(flow)
    }

    /// Evaluates a loop's condition; how it ends, if it does.
    fn goes_on(&mut self, t: TermId, condition: TermId, n: i128) -> Res<Option<Flow>> {
        let begun = self.events.len();
        let v = self.eval(condition)?;
        let on = match self.decide(&v) {
            Some(on) => on,
            None if self.must_choose(&[t]) => self.choose(condition)?,
            None => return self.either(&[t], condition).map(Some),
        };
        self.steered(t, begun);
        if on {
            return Ok(None);
        }
        if self.frames.len() == 1 && self.goal.around.contains(&t) && (n < 3 || t == self.goal.root) {
            self.turned();
        }
        Ok(Some(Flow::Next))
    }

    /// What the loop's index is in the iteration that begins, if the root is watched.
    fn note_index(&mut self, t: TermId, root: bool) -> Res<()> {
        if self.watch.is_none() {
            return Ok(());
        }
        let index = match root {
            true => self.goal.witness.source.first().map(|x| x.0),
            false => self.goal.controls.get(&t).map(|c| c.index),
        };
        let Some(index) = index else { return Ok(()) };
        let object = self.variable(index)?;
        let ty = self.goal.body.symbols[index].ty;
        let now = self.read(Address { object, offset: 0 }, ty, None)?.as_int();
        if let Some(w) = &mut self.watch {
            match now {
                Some(now) => w.indices.insert(index, now),
                None => w.indices.remove(&index),
            };
        }
        Ok(())
    }

    /// The root came to its end, or far past the second iteration, without the meeting.
    fn missed(&mut self, t: TermId) -> Res<()> {
        self.watch = None;
        self.misses += 1;
        if let Some(m) = self.nearly.take() {
            return Err(Halt::Seen(m));
        }
        if self.misses >= MISSES {
            return Err(self.not_met(Some(t)));
        }
        Ok(())
    }

    /// Goes on where it matters in a loop that takes too long.
    fn cut_short(&mut self, t: TermId, n: i128, root: bool) -> Res<Cut> {
        let w = &self.goal.witness;
        let own = self.frames.len() == 1;
        let around = own && self.goal.around.contains(&t);
        if !around && !self.matters(t) {
            self.forget(t)?;
            return Ok(Cut::Leave);
        }
        if root && self.watch.as_ref().is_none_or(|w| !w.wanted) {
            // Where it has gone on for so long, nothing of it is looked for any more.
            self.forget(t)?;
            return Ok(Cut::Leave);
        }
        let Some(c) = self.goal.controls.get(&t).filter(|_| own) else { return Ok(Cut::No) };
        let value = |of: &[(SymbolId, i128)]| of.iter().find(|(s, _)| *s == c.index).map(|x| x.1);
        let (target, to) = if root {
            if n < w.source_iteration {
                (value(&w.source), w.source_iteration)
            } else if n > w.source_iteration && n < w.sink_iteration {
                (value(&w.sink), w.sink_iteration)
            } else {
                return Ok(Cut::No);
            }
        } else if around {
            let p = w.params.iter().find(|(p, _)| *p == Param::Symbol(c.index));
            (p.map(|p| p.1), n + 1)
        } else if self.watch.as_ref().is_some_and(|x| x.iteration == w.source_iteration) {
            (value(&w.source), n + 1)
        } else {
            (value(&w.sink), n + 1)
        };
        let Some(target) = target else { return Ok(Cut::No) };
        let index = c.index;
        let object = self.variable(index)?;
        let ty = self.goal.body.symbols[index].ty;
        let now = self.read(Address { object, offset: 0 }, ty, None)?.as_int();
        let ahead = match (now, &c.step) {
            (Some(now), crate::Step::Const(k)) if *k > 0 => now < target,
            (Some(now), crate::Step::Const(_)) => now > target,
            _ => return Ok(Cut::No),
        };
        if !ahead && now == Some(target) {
            return Ok(Cut::No);
        }
        self.forget(t)?;
        if !ahead {
            return Ok(if around { Cut::No } else { Cut::Leave });
        }
        // Its declaration may be among what was forgotten.
        let object = self.variable(index)?;
        self.write(Address { object, offset: 0 }, ty, Value::int(target), None)?;
        Ok(Cut::To(to))
    }
}

enum Cut {
    /// What is left of the loop is over.
    Leave,
    /// This iteration comes next.
    To(i128),
    No,
}
