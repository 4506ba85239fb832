//! Which local `static` scalars, and structures of numbers, hold nothing from one call of their function to the next: every read of them has a write before it,
//! on each way from the function's beginning, and no call stands between the two that could run the function once more. Such a
//! variable is what a local one would be; programs translated from Fortran have all their counters so.
//!
//! A walk forwards over the structured tree with the variables that are surely written; at labels none is, and calls forget all.

use rustc_hash::FxHashSet;

use crate::limits::kept::{MAX_DEPTH, MAX_STEPS};
use crate::{intrinsic, Body, Op, Storage, SymbolId, TermId, TypeKind};

/// A variable, and 0 for the whole of it or the number of a member from 1 on.
type Part = (SymbolId, u32);

/// What is surely written; `None` where control does not come.
type Written = Option<FxHashSet<Part>>;

fn join(a: &mut Written, b: Written) {
    match (a.as_mut(), b) {
        (Some(a), Some(b)) => a.retain(|s| b.contains(s)),
        (None, b) => *a = b,
        (Some(_), None) => {}
    }
}

struct Walk<'a> {
    body: &'a Body,
    /// Whether a call is known to run this function not once more.
    stays_out: &'a dyn Fn(&Body, TermId) -> bool,
    /// Those of which nothing was found yet.
    left: FxHashSet<SymbolId>,
    breaks: Vec<Written>,
    continues: Vec<Written>,
    depth: u32,
    /// Terms walked over.
    steps: u32,
}

impl Body {
    /// Notes of the local `static` variables whether a call may read what an earlier one wrote. `stays_out`: whether a call is known to
    /// run this function not once more, besides those that only compute.
    pub fn note_kept(&mut self, stays_out: &dyn Fn(&Body, TermId) -> bool) {
        for s in self.holding_nothing(stays_out) {
            self.symbols[s].storage = Storage::StaticLocal { kept: false };
        }
    }

    /// The local `static` variables that hold nothing from call to call and are not noted so; in no order.
    pub fn holding_nothing(&self, stays_out: &dyn Fn(&Body, TermId) -> bool) -> Vec<SymbolId> {
        if self.said.shares_statics {
            return Vec::new();
        }
        let is_plain = |s: &crate::Symbol| {
            let quals = self.types.quals(s.ty);
            let scalar = match self.types.kind(s.ty) {
                TypeKind::Pointer { .. } => true,
                TypeKind::Record(r) => {
                    let record = self.types.record(*r);
                    let plain = |f: &crate::Field| {
                        let quals = self.types.quals(f.ty);
                        self.types.is_arithmetic(f.ty) && !quals.is_volatile && !quals.is_atomic
                    };
                    !record.is_union && record.fields.as_ref().is_some_and(|f| f.iter().all(plain))
                }
                _ => self.types.is_arithmetic(s.ty),
            };
            s.storage == Storage::StaticLocal { kept: true }
                && scalar
                && !s.address_taken
                && !quals.is_volatile
                && !quals.is_atomic
        };
        let mut left: FxHashSet<SymbolId> =
            self.symbols.iter_ids().filter(|(_, s)| is_plain(s)).map(|(id, _)| id).collect();
        // a declaration reads what its lengths are computed from, and the walk does not come there
        for s in self.types.length_terms().flat_map(|t| self.walk(t)).filter_map(|t| self.as_symbol(t)) {
            left.remove(&s);
        }
        if left.is_empty() || self.jumps_unseen(self.root) {
            return Vec::new();
        }
        let (breaks, continues) = Default::default();
        let mut walk = Walk { body: self, stays_out, left, breaks, continues, depth: 0, steps: 0 };
        walk.run(self.root, Some(FxHashSet::default()));
        walk.left.into_iter().collect()
    }
}

impl Walk<'_> {
    /// What is written behind a term.
    fn run(&mut self, t: TermId, written: Written) -> Written {
        let Some(now) = &written else {
            // nobody comes here but by a label
            return match self.body.walk(t).any(|x| matches!(self.body.op(x), Op::Label(_))) {
                true => self.inner(t, Some(FxHashSet::default())),
                false => None,
            };
        };
        self.depth += 1;
        self.steps += 1;
        if self.depth > MAX_DEPTH || self.steps > MAX_STEPS {
            self.left.clear();
        }
        let done = match self.left.is_empty() {
            true => Some(now.clone()),
            false => self.inner(t, written),
        };
        self.depth -= 1;
        done
    }

    /// The variable, or its member, that a term is.
    fn part(&self, t: TermId) -> Option<Part> {
        let body = self.body;
        let Op::Member { field, arrow: false } = body.op(t) else { return Some((body.as_symbol(t)?, 0)) };
        let s = body.args(t).first().and_then(|&of| body.as_symbol(of))?;
        let number = self.members(s)?.iter().position(|f| f.name == *field)?;
        Some((s, number as u32 + 1))
    }

    fn members(&self, s: SymbolId) -> Option<&[crate::Field]> {
        match self.body.types.kind(self.body.symbols[s].ty) {
            TypeKind::Record(r) => self.body.types.record(*r).fields.as_deref(),
            _ => None,
        }
    }

    fn is_written(&self, written: &FxHashSet<Part>, (s, part): Part) -> bool {
        let all = || {
            let members = self.members(s).filter(|m| part == 0 && !m.is_empty());
            members.is_some_and(|m| (1..=m.len() as u32).all(|k| written.contains(&(s, k))))
        };
        written.contains(&(s, 0)) || written.contains(&(s, part)) || all()
    }

    fn all(&mut self, terms: &[TermId], mut written: Written) -> Written {
        for &t in terms {
            written = self.run(t, written);
        }
        written
    }

    fn inner(&mut self, t: TermId, written: Written) -> Written {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::If | Op::Select, &[condition, yes, ref no @ ..]) => {
                let after = self.run(condition, written);
                let mut joined = self.run(yes, after.clone());
                join(&mut joined, self.all(no, after));
                joined
            }
            (Op::Binary(b), &[left, right]) if b.is_logical() => {
                let mut joined = self.run(left, written);
                let other = self.run(right, joined.clone());
                join(&mut joined, other);
                joined
            }
            (Op::For | Op::While | Op::DoWhile, _) => self.around(t, written),
            (Op::Switch, &[value, inner]) => {
                let mut after = self.run(value, written);
                self.forget(inner, &mut after);
                after
            }
            (Op::Break, _) => {
                if let Some(all) = self.breaks.last_mut() {
                    join(all, written);
                }
                None
            }
            (Op::Continue, _) => {
                if let Some(all) = self.continues.last_mut() {
                    join(all, written);
                }
                None
            }
            (Op::Return, _) => {
                self.all(args, written);
                None
            }
            (Op::Goto(_), _) => None,
            (Op::Label(_), _) => Some(FxHashSet::default()),
            // what it begins with was there before the program ran
            (Op::Declare(s), _) if body.symbols[*s].storage.is_static_local() => written,
            (Op::SizeOf, _) => written,
            (Op::Assign, &[place, value]) => {
                let mut after = self.run(value, written);
                match (self.part(place), &mut after) {
                    (Some(part), Some(after)) => {
                        after.insert(part);
                    }
                    _ => after = self.run(place, after),
                }
                after
            }
            (Op::Sym(_) | Op::Member { .. }, _) => match self.part(t) {
                Some(part) => {
                    if written.as_ref().is_some_and(|w| !self.is_written(w, part)) {
                        self.left.remove(&part.0);
                    }
                    written
                }
                None => self.all(args, written),
            },
            (Op::Call, &[f, ..]) => {
                let mut after = self.all(args, written);
                let known = body
                    .as_symbol(f)
                    .is_some_and(|f| body.library.contains(&f) && intrinsic(&body.symbols[f].name).is_some());
                if let (Some(after), false) = (&mut after, known || (self.stays_out)(body, t)) {
                    after.clear();
                }
                after
            }
            (Op::Reject(_), _) => {
                let mut after = written;
                self.forget(t, &mut after);
                after
            }
            _ => self.all(args, written),
        }
    }

    /// What a part names may be read there before it is written, and nothing is surely written behind it.
    fn forget(&mut self, part: TermId, written: &mut Written) {
        let body = self.body;
        for x in body.walk(part) {
            if let Some(s) = body.as_symbol(x) {
                self.left.remove(&s);
            }
            for s in body.touched_by_gap(x) {
                self.left.remove(&s);
            }
        }
        if let Some(written) = written {
            written.clear();
        }
        // a `continue` in it goes on with the loop around
        for all in &mut self.continues {
            join(all, Some(FxHashSet::default()));
        }
    }

    /// A loop, until what is written at its top is the same twice.
    fn around(&mut self, t: TermId, written: Written) -> Written {
        let Some(parts) = self.body.loop_parts(t) else { return written };
        let mut top = match parts.init {
            Some(init) => self.run(init, written),
            None => written,
        };
        loop {
            self.breaks.push(None);
            self.continues.push(None);
            let mut at = top.clone();
            let mut out = None;
            if parts.tests_first {
                at = parts.condition.map_or(at.clone(), |c| self.run(c, at));
                out = at.clone();
            }
            at = self.run(parts.body, at);
            join(&mut at, self.continues.pop().flatten());
            if let Some(step) = parts.step {
                at = self.run(step, at);
            }
            if !parts.tests_first {
                at = parts.condition.map_or(at.clone(), |c| self.run(c, at));
                out = at.clone();
            }
            // without a condition that may fail only `break` leaves it
            if parts.condition.is_none_or(|c| self.body.as_int(c).is_some_and(|v| v != 0)) {
                out = None;
            }
            join(&mut out, self.breaks.pop().flatten());
            let before = top.as_ref().map(FxHashSet::len);
            if top.is_some() {
                join(&mut top, at);
            }
            if top.as_ref().map(FxHashSet::len) == before {
                return out;
            }
        }
    }
}
