//! Which way a run goes, and what would have led it another: conditions that it met, ways that it chose.

use term::{BinOp, IntKind, Op, SymbolId, TermId};

use super::{Event, Led, Number, Other, Res, Run, MAX_EVENTS};
use crate::limits::replay_witness_run_ways::MAX_FEEDING;
use crate::replay_witness::expressions::Common;
use crate::replay_witness::formula::Tree;
use crate::replay_witness::inputs::Given;
use crate::replay_witness::values::{Fact, Id, Rel, Shadow, Value};

impl Run<'_, '_> {
    /// Notes which value of a `switch` around the root leads there, if this one does not.
    pub(super) fn aim(&mut self, t: TermId, statements: TermId, v: &Value, taken: Option<TermId>) -> Res<()> {
        let body = self.body();
        if self.frames.len() > 1 || !self.goal.around.contains(&t) {
            return Ok(());
        }
        let items = body.args(statements);
        let Some(root) = items.iter().position(|x| self.goal.around.contains(x)) else { return Ok(()) };
        let label = items[..root].iter().rev().find(|&&x| matches!(body.op(x), Op::Case | Op::Default));
        let Some(&label) = label.filter(|&&l| Some(l) != taken) else { return Ok(()) };
        if let Some(&of) = body.args(label).first() {
            let k = self.eval(of)?;
            let tree = match Tree::ints(BinOp::Eq, body.arithmetic(t), IntKind::Long, v, &k) {
                Shadow::Tree(t) => Some((t, false)),
                _ => None,
            };
            let fact = v.form().zip(k.form()).and_then(|(v, k)| Fact::compared(BinOp::Eq, &v, &k));
            let other = match (fact, &tree) {
                (Some(f), _) if !f.form.is_constant() => Other::Fact(f),
                (_, Some(_)) => Other::Tree,
                _ => Other::No,
            };
            if self.events.len() < MAX_EVENTS {
                self.events.push(Event { led: Led::Away, ..Event::new(None, tree, other) });
            }
        }
        self.turned();
        Ok(())
    }

    /// Conditions since `begun` decided a branch: whether one that matters.
    pub(super) fn steered(&mut self, t: TermId, begun: usize) {
        if self.frames.len() > 1 {
            return;
        }
        for e in self.events.iter_mut().skip(begun) {
            e.by = Some(t);
        }
        if self.goal.ways.steering.contains(&t) {
            self.decided = (t, begun..self.events.len());
            self.led(begun..self.events.len(), Led::On);
        }
    }

    pub(in crate::replay_witness) fn led(&mut self, events: std::ops::Range<usize>, to: Led) {
        let events = self.events.get_mut(events).unwrap_or_default();
        events.iter_mut().filter(|e| e.led != Led::Moot).for_each(|e| e.led = to);
    }

    /// The branch was decided by nothing that could be turned: by variables, then, that other branches set, or did not.
    fn fed(&mut self, branch: TermId) {
        let body = self.goal.body;
        let condition = match body.op(branch) {
            Op::If | Op::Switch => body.args(branch).first().copied(),
            _ => body.loop_parts(branch).and_then(|p| p.condition),
        };
        let Some(condition) = condition else { return };
        let read = body.walk(condition).filter_map(|x| body.as_symbol(x));
        let read: Vec<SymbolId> = read.filter(|&s| body.symbols[s].is_own_scalar()).collect();
        let mut known: Vec<(TermId, bool)> = Vec::new();
        for e in self.events.iter_mut().rev().take(MAX_FEEDING).filter(|e| e.led == Led::Nowhere) {
            let Some(by) = e.by else { continue };
            let by = self.goal.ways.ending.get(&by).copied().unwrap_or(by);
            let sets = known.iter().find(|k| k.0 == by).map(|k| k.1).unwrap_or_else(|| {
                let writes = |x: TermId| {
                    let place = body.op(x).is_write().then(|| body.as_symbol(body.args(x)[0])).flatten();
                    place.is_some_and(|s| read.contains(&s))
                };
                let sets = body.walk(by).any(writes);
                known.push((by, sets));
                sets
            });
            if sets {
                e.led = Led::Fed;
            }
        }
    }

    /// A jump: what was decided last may have led the run away from the root.
    pub(super) fn jumped(&mut self, t: TermId) {
        if self.frames.len() == 1 && self.goal.ways.steering.contains(&t) {
            self.turned();
        }
    }

    /// Here the run leaves the way to the root, or the root.
    pub(super) fn turned(&mut self) {
        let now = self.events.len();
        let (by, events) = self.decided.clone();
        if events.is_empty() {
            self.starved |= by == self.goal.root && self.rounds < 2;
            self.fed(by);
        }
        self.led(events, Led::Away);
        if self.turns.last() != Some(&now) {
            if self.turns.len() >= 6 {
                self.turns.remove(0);
            }
            self.turns.push(now);
        }
    }

    /// Notes which way a condition goes, and how it could go the other.
    pub(in crate::replay_witness) fn decide(&mut self, v: &Value) -> Option<bool> {
        if matches!(v.shadow, Shadow::Free(_)) {
            let int = Common::Int(IntKind::Int);
            let v = self.used_as(v.clone(), int);
            return v.truth().and_then(|_| self.decide(&v));
        }
        let holds = v.truth()?;
        if self.events.len() >= MAX_EVENTS {
            return Some(holds);
        }
        let by_fact = |fact: Option<Fact>| {
            let (yes, no) = (fact.clone(), fact.and_then(|f| f.negated()));
            let (fact, other) = if holds { (yes, no) } else { (no, yes) };
            let other = other.map_or(Other::No, Other::Fact);
            Event::new(fact, None, other)
        };
        let event = match &v.shadow {
            Shadow::None | Shadow::Free(_) => return Some(holds),
            Shadow::Value(f) => by_fact(Some(Fact { form: (**f).clone(), rel: Rel::NotZero })),
            Shadow::Truth(f) => by_fact(Some((**f).clone())),
            Shadow::Input(id) if matches!(v.number, Number::Pointer(_)) => {
                Event::new(None, None, otherwise(*id, BinOp::Ne, !holds))
            }
            Shadow::Compared(id, op) => Event::new(None, None, otherwise(*id, *op, !holds)),
            Shadow::Input(_) | Shadow::Tree(_) => {
                let tree = Tree::of(v).map(|t| (t, holds));
                let other = if tree.is_some() { Other::Tree } else { Other::No };
                Event::new(None, tree, other)
            }
        };
        self.events.push(event);
        Some(holds)
    }

    /// Numbers too near to each other to be compared: inputs for which they are not.
    pub(in crate::replay_witness) fn too_near(&mut self, comparison: &Shadow) {
        let Shadow::Tree(t) = comparison else { return };
        for want in [true, false] {
            if self.events.len() < MAX_EVENTS {
                let other = Other::Make(t.clone(), want);
                self.events.push(Event::new(None, None, other));
            }
        }
    }

    /// An input that would better be this.
    pub(in crate::replay_witness) fn may_be(&mut self, id: Id, given: Given) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(Event { led: Led::Away, ..Event::new(None, None, Other::Give(id, given)) });
        }
    }

    /// Something that has to stay so for shadows to be right.
    pub(in crate::replay_witness) fn rely(&mut self, fact: Option<Fact>) {
        if let Some(f) = fact.filter(|f| !f.form.is_constant() && self.events.len() < MAX_EVENTS) {
            self.events.push(Event::new(Some(f), None, Other::No));
        }
    }
}

/// What to give to a pointer input so that it compares otherwise with null. `want`: what is to come out.
fn otherwise(id: Id, op: BinOp, want: bool) -> Other {
    match (op == BinOp::Eq) == want {
        true => Other::Give(id, Given::Null),
        false => Other::Usual(id),
    }
}
