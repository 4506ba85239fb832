//! Loops of a run, and where one that costs too much is cut short: behind it, or in the iteration that matters next.

use term::{SymbolId, TermId};

use super::{Flow, Halt, Res, Run};
use crate::replay_witness::values::{Address, Value};
use crate::{NotReplayed, Param};

/// Steps after which a loop is cut short.
const LOOP_STEPS: u64 = 6_000;

impl Run<'_, '_> {
    /// A loop.
    pub(super) fn repeat(&mut self, t: TermId) -> Res<Flow> {
        let body = self.body();
        let Some(parts) = body.loop_parts(t) else { return self.fail(NotReplayed::NotUnderstood, t) };
        let own = self.frames.len() == 1;
        let root = own && t == self.goal.root;
        if self.seek.is_none() {
            if let Some(init) = parts.init {
                self.exec(init)?;
            }
        }
        if root {
            self.arrive(t)?;
        }
        let begun = self.steps;
        let mut n: i128 = 0;
        let mut jumped = false;
        let mut first = true;
        let flow = loop {
            if root && self.watch.is_some() {
                if n > self.goal.witness.sink_iteration {
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
                let v = self.eval(c)?;
                match self.decide(&v) {
                    Some(true) => {}
                    Some(false) => break Flow::Next,
                    None => break self.either(&[t], c)?,
                }
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
                let v = self.eval(c)?;
                match self.decide(&v) {
                    Some(true) => {}
                    Some(false) => break Flow::Next,
                    None => break self.either(&[t], c)?,
                }
            }
            if let Some(step) = parts.step {
                self.eval(step)?;
            }
            n += 1;
        };
        if root && self.watch.is_some() {
            self.missed(t)?;
        }
        Ok(flow)
    }

    /// The root came to its end, or past the second iteration, without the meeting.
    fn missed(&mut self, t: TermId) -> Res<()> {
        self.watch = None;
        self.misses += 1;
        if self.nearly {
            return Err(Halt::Seen);
        }
        if self.misses >= 3 {
            return self.fail(NotReplayed::NotMet, t);
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
        if root && self.watch.is_none() {
            // Nothing of it is looked for this time.
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
