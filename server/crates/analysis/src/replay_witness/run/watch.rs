//! The watch: whether a run comes to the root with the witness's values, and which accesses meet in the two iterations.

use term::{Op, Storage, SymbolId, TermId};

use super::{Halt, Reached, Res, Run, Watch, NEAR_SINK, NEAR_SOURCE, SINK, SOURCE};
use crate::replay_witness::inputs::Given;
use crate::replay_witness::values::{Address, Id, Value};
use crate::{DependenceKind, NotReplayed, Param};

impl Run<'_, '_> {
    /// The root begins: are the values there those of the witness?
    pub(super) fn arrive(&mut self, t: TermId) -> Res<()> {
        let params = &self.goal.witness.params;
        let mut values = Vec::with_capacity(params.len());
        let mut links = Vec::new();
        for (p, want) in params {
            let v = match p {
                Param::Symbol(s) => self.param_symbol(*s),
                Param::Term(x) => self.without_effects(*x),
                Param::Distance { from, to } => self.distance(*from, *to, *want, &mut links),
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
        if self.reached.len() < 8 {
            self.reached.push(Reached { events: self.events.len(), values, links });
        }
        self.watch = as_wanted.then(|| Watch { iteration: 0, source: Vec::new() });
        let _ = t;
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
        let (Some(watch), Some(term)) = (&mut self.watch, term) else { return Ok(()) };
        let term = if self.frames.len() == 1 { term } else { self.frames[1].call.unwrap_or(term) };
        let Some(&mark) = self.goal.marks.get(&term) else { return Ok(()) };
        let w = &self.goal.witness;
        let (first, second) = match self.goal.kind {
            DependenceKind::Flow => (true, false),
            DependenceKind::Anti => (false, true),
            DependenceKind::Output => (true, true),
        };
        if watch.iteration == w.source_iteration && write == first && mark & (SOURCE | NEAR_SOURCE) != 0 {
            watch.source.push((at, size, mark & SOURCE != 0));
        }
        if watch.iteration == w.sink_iteration && write == second && mark & (SINK | NEAR_SINK) != 0 {
            let meets = |a: &Address, n: i64| {
                a.object == at.object && a.offset < at.offset + size && at.offset < a.offset + n
            };
            let met = |exact: bool| watch.source.iter().any(|(a, n, e)| (*e || !exact) && meets(a, *n));
            if mark & SINK != 0 && met(true) {
                return Err(Halt::Seen);
            }
            self.nearly |= met(false);
        }
        Ok(())
    }
}
