//! The watch: with which values a run comes to the root, and in which two iterations of it the accesses meet. Any two will do:
//! what the run has shown is the witness.

use term::{Op, Storage, SymbolId, TermId};

use super::{Halt, Meeting, Reached, Res, Run, SourceAccess, Watch, NEAR_SINK, NEAR_SOURCE, SINK, SOURCE};
use crate::limits::replay_witness_run_watch::{MAX_SOURCES, REACH};
use crate::replay_witness::inputs::Given;
use crate::replay_witness::values::{Address, Id, Value};
use crate::{DependenceKind, NotReplayed, Param};

impl Run<'_, '_> {
    /// The root begins: are the values there those of the witness?
    pub(super) fn arrive(&mut self) -> Res<()> {
        let params = &self.goal.witness.params;
        let mut values = Vec::with_capacity(params.len());
        let mut links = Vec::new();
        for (p, want) in params {
            let v = match p {
                Param::Symbol(s) => self.param_symbol(*s),
                Param::Term(x) => self.without_effects(*x),
                Param::Distance { from, to } => self.distance(*from, *to, *want, &mut links),
                Param::Row(_) | Param::Longest(_) | Param::End { .. } => continue,
            };
            let v = match v {
                Ok(v) => v,
                Err(Halt::Fail(NotReplayed::Steps, at)) => return Err(Halt::Fail(NotReplayed::Steps, at)),
                Err(_) => Value::ANY,
            };
            values.push(v.as_int().map(|n| (n, v.form())));
        }
        let as_wanted =
            values.iter().zip(params).all(|(v, (_, want))| v.as_ref().is_some_and(|v| v.0 == *want));
        let numbers = values.iter().map(|v| v.as_ref().map(|v| v.0)).collect();
        if self.reached.len() < 8 {
            self.reached.push(Reached { events: self.events.len(), values, links });
        }
        self.watch = Some(Watch {
            iteration: 0,
            wanted: as_wanted,
            params: numbers,
            indices: Default::default(),
            sources: Default::default(),
        });
        Ok(())
    }

    /// The value of a term that the header has evaluated already: what it does is done.
    fn without_effects(&mut self, mut t: TermId) -> Res<Value> {
        let body = self.body();
        while *body.op(t) == Op::Comma {
            t = body.args(t)[1];
        }
        if body.walk(t).any(|x| body.op(x).is_write() || *body.op(x) == Op::Call) {
            return Ok(Value::ANY);
        }
        self.eval(t)
    }

    fn param_symbol(&mut self, s: SymbolId) -> Res<Value> {
        let body = self.body();
        if body.symbols[s].storage == Storage::Path {
            return body.path_term(s).map_or(Ok(Value::ANY), |t| self.eval(t));
        }
        if let Storage::Constant(v) = body.symbols[s].storage {
            return Ok(Value::int(v));
        }
        let object = self.variable(s)?;
        self.read(Address { object, offset: 0 }, body.symbols[s].ty, None)
    }

    fn distance(&mut self, from: TermId, to: TermId, want: i128, links: &mut Vec<(Id, Given)>) -> Res<Value> {
        let body = self.body();
        let size = body.types.element(body.ty(from)).and_then(|e| self.size_of(e));
        let (a, b) = (self.eval(from)?.address(), self.eval(to)?.address());
        let (Some(a), Some(b), Some(size)) = (a, b, size.filter(|s| *s > 0)) else { return Ok(Value::ANY) };
        if a.object == b.object {
            return Ok(Value::int(i128::from((b.offset - a.offset) / size)));
        }
        let behind = |r: &Self, a: Address| r.memory.objects.get(a.object as usize).and_then(|o| o.behind);
        if let (Some(x), Ok(want)) = (behind(self, b), i64::try_from(want)) {
            let at = a.offset + want.saturating_mul(size) - b.offset;
            let given = match behind(self, a) {
                Some(y) => Given::Into(y, at),
                None => Given::At(Address { object: a.object, offset: at }),
            };
            links.push((x, given));
        }
        Ok(Value::ANY)
    }

    /// Notes an access of the function itself (or of what it calls).
    pub fn touch(&mut self, term: Option<TermId>, at: Address, size: i64, write: bool) -> Res<()> {
        // what is written over flows no further
        if let (Some(watch), true, DependenceKind::Flow) = (&mut self.watch, write, self.goal.kind) {
            watch.forget(at, size);
        }
        self.touch_part(term, at, size, write)
    }

    /// Likewise, of some bits of these bytes perhaps.
    pub fn touch_part(&mut self, term: Option<TermId>, at: Address, size: i64, write: bool) -> Res<()> {
        let (Some(watch), Some(term)) = (&mut self.watch, term) else { return Ok(()) };
        let term = if self.frames.len() == 1 { term } else { self.frames[1].call.unwrap_or(term) };
        let Some(&mark) = self.goal.marks.get(&term) else { return Ok(()) };
        let w = &self.goal.witness;
        let (first, second) = match self.goal.kind {
            DependenceKind::Flow => (true, false),
            DependenceKind::Anti => (false, true),
            DependenceKind::Output => (true, true),
        };
        let now = watch.iteration;
        let indices = |of: &[(SymbolId, i128)]| -> Vec<Option<i128>> {
            of.iter().map(|(s, _)| watch.indices.get(s).copied()).collect()
        };
        let mut met: Option<(bool, Meeting)> = None;
        if write == second && mark & (SINK | NEAR_SINK) != 0 {
            // Cells are small: what begins far before does not reach here.
            let near = watch.sources.range((at.object, at.offset.saturating_sub(REACH))..);
            let near = near.take_while(|((o, k), _)| *o == at.object && *k < at.offset.saturating_add(size));
            for ((_, k), both) in near {
                let earlier = both.iter().flatten().filter(|a| a.iteration < now && k + a.size > at.offset);
                for a in earlier {
                    let exact = a.exact && mark & SINK != 0;
                    let meeting = Meeting {
                        source_iteration: a.iteration,
                        sink_iteration: now,
                        source: a.indices.clone(),
                        sink: indices(&w.sink),
                        params: watch.params.clone(),
                    };
                    let counts = match self.only {
                        Some(only) => meeting.is(only),
                        None => met.as_ref().is_none_or(|m| exact && !m.0),
                    };
                    if counts {
                        met = Some((exact, meeting));
                    }
                }
            }
        }
        if write == first && mark & (SOURCE | NEAR_SOURCE) != 0 {
            let access =
                SourceAccess { iteration: now, size, exact: mark & SOURCE != 0, indices: indices(&w.source) };
            if watch.sources.len() < MAX_SOURCES {
                let both = watch.sources.entry((at.object, at.offset)).or_default();
                match &both[0] {
                    Some(last) if last.iteration < now => both[1] = both[0].take(),
                    // Who has the exact place keeps it.
                    Some(last) if last.exact && !access.exact => return self.meet(met),
                    _ => {}
                }
                both[0] = Some(access);
            }
        }
        self.meet(met)
    }

    fn meet(&mut self, met: Option<(bool, Meeting)>) -> Res<()> {
        match met {
            Some((true, m)) => Err(Halt::Seen(m)),
            Some((false, m)) => {
                self.nearly.get_or_insert(m);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Watch {
    /// Drops the sources that lie in these bytes.
    fn forget(&mut self, at: Address, size: i64) {
        let from = (at.object, at.offset);
        let there = self.sources.range(from..(at.object, at.offset.saturating_add(size)));
        let over: Vec<_> = there.map(|(place, _)| *place).collect();
        for place in over {
            let Some(both) = self.sources.get_mut(&place) else { continue };
            for slot in both.iter_mut() {
                if slot.as_ref().is_some_and(|a| place.1 + a.size <= at.offset.saturating_add(size)) {
                    *slot = None;
                }
            }
            if both.iter().all(Option::is_none) {
                self.sources.remove(&place);
            }
        }
    }
}

impl Meeting {
    /// Whether the other is the same pair, with the same values.
    fn is(&self, other: &Meeting) -> bool {
        (self.source_iteration, self.sink_iteration) == (other.source_iteration, other.sink_iteration)
            && self.params == other.params
    }
}
