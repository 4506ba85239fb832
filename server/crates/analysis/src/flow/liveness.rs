//! Which local variables may be read after a loop, and which a loop's iteration reads before it writes them.
//!
//! Backward and forward walks over the structured tree (no graph is built). A place that was not understood reads what it
//! may reach and writes nothing for sure; where control may take ways that are not seen, the answer is "all". Before a `goto` what is live at its label is live: the walk is
//! repeated until what is live at labels grows no more (the least solution of the flow equations, as for any graph).

mod backward;
mod exits;

#[cfg(test)]
mod tests;

pub use exits::leaves_early;
pub(crate) use exits::{early_exit, has_continue};

use std::sync::Arc;

use base::Budget;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, SymbolId, TermId, TypeKind};

use self::backward::{Backward, Bits};
use self::exits::runs;
use crate::flow::parts::owner;
use crate::limits::flow_liveness::{MAX_DEPTH, MAX_LABELS, MAX_PARTS, TERMS};

pub(crate) type Set = FxHashSet<SymbolId>;

/// For every loop the variables that may be read after it before they are written again.
pub(crate) struct Liveness {
    /// `None`: everything may be.
    after: Option<FxHashMap<TermId, Bits>>,
    /// Variables declared without a value that some path may read before it writes them.
    unset: Bits,
    /// Whether it is everything because the steps were used up.
    cut_short: bool,
}

impl Liveness {
    /// Takes steps by the terms that are walked over, again where loops and jumps ask for it.
    pub(crate) fn new(body: &Body, budget: &Budget) -> Liveness {
        Liveness::skipping(body, None, None, budget)
    }

    pub(crate) fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// With one loop taken for a statement that neither reads nor writes; `focus`: a part that stands for its structure.
    fn skipping(
        body: &Body,
        skip: Option<TermId>,
        focus: Option<(SymbolId, &[Arc<str>])>,
        budget: &Budget,
    ) -> Liveness {
        let mut gotos: Vec<&str> = Vec::new();
        let mut labels: Vec<&str> = Vec::new();
        let opaque = body.jumps_unseen(body.root);
        for t in body.walk(body.root) {
            match body.op(t) {
                Op::Goto(l) => gotos.push(l),
                Op::Label(l) => labels.push(l),
                _ => {}
            }
        }
        if opaque || labels.len() > MAX_LABELS || gotos.iter().any(|l| !labels.contains(l)) {
            return Liveness { after: None, unset: Bits::default(), cut_short: false };
        }
        let mut walk = Backward::new(body, skip, focus, budget);
        let mut ok = true;
        loop {
            let before = walk.at_labels();
            ok = ok && walk.live(body.root, Bits::default()).is_some();
            if !ok || gotos.is_empty() || walk.at_labels() == before {
                break;
            }
        }
        Liveness { after: ok.then_some(walk.after), unset: walk.unset, cut_short: walk.cut_short }
    }

    /// Whether the variable may hold no value yet where a loop starts: declared without one, and read on some path
    /// before it is written. Only meaningful for variables nobody else can reach.
    pub(crate) fn may_be_unset(&self, body: &Body, s: SymbolId) -> bool {
        match &self.after {
            _ if !matches!(body.symbols[s].storage, term::Storage::Local) => false,
            // what a place that was not understood may read is not what the loop reads
            Some(_) => self.unset.contains(s) && !is_plainly_set(body, s),
            None => {
                let declared = |t| *body.op(t) == Op::Declare(s) && body.args(t).is_empty();
                body.walk(body.root).any(declared) && !is_plainly_set(body, s)
            }
        }
    }

    /// Whether the variable may be read after the loop. Only meaningful for variables nobody else can reach.
    pub(crate) fn is_live_after(&self, loop_term: TermId, s: SymbolId) -> bool {
        match &self.after {
            Some(map) => map.get(&loop_term).is_none_or(|set| set.contains(s)),
            None => true,
        }
    }
}

/// Whether the function's own statements, one after the other, set the variable before any of them uses it: by themselves, or in the
/// header of a `for`, which is run first. Where jumps are not all seen: no label is seen to which they could lead. What a place that was
/// not understood does with the variable before that is its own affair.
fn is_plainly_set(body: &Body, s: SymbolId) -> bool {
    let uses = |t: TermId| body.walk(t).any(|x| body.as_symbol(x) == Some(s));
    let leads_anywhere = |t| matches!(body.op(t), Op::Label(_));
    let Some(&statements) = body.args(body.root).get(1) else { return false };
    if body.walk(statements).any(leads_anywhere) {
        return false;
    }
    let mut inside = vec![statements];
    while let Some(t) = inside.pop() {
        match (body.op(t), body.args(t)) {
            (Op::List, parts) => inside.extend(parts.iter().rev()),
            (Op::Comma, &[first, second]) => inside.extend([second, first]),
            (Op::For, &[init, ..]) if uses(init) => inside.push(init),
            (Op::Reject(_), _) => {}
            (Op::Assign, &[place, value]) if body.as_symbol(place) == Some(s) => return !uses(value),
            _ if uses(t) => return false,
            _ => {}
        }
    }
    false
}

/// Whether the array or struct may be read after the loop by anything but the loop itself. Only meaningful where the
/// loop reads nothing of it that it did not write in the same iteration, and where nobody else can reach it.
pub(crate) fn is_read_after(body: &Body, loop_term: TermId, s: SymbolId, budget: &Budget) -> bool {
    fn is_live(
        (body, loop_term, budget): (&Body, TermId, &Budget),
        s: SymbolId,
        part: Option<&[Arc<str>]>,
    ) -> bool {
        let focus = part.map(|p| (s, p));
        Liveness::skipping(body, Some(loop_term), focus, budget).is_live_after(loop_term, s)
    }
    let of = (body, loop_term, budget);
    // of a structure member by member: a member that is written again is dead, whatever the others are
    is_live(of, s, None)
        && parts(body, s).is_none_or(|all| all.iter().any(|part| is_live(of, s, Some(part.as_slice()))))
}

/// The members of a structure by which it is used, and, where it is used as a whole, one that stands for those that are never named.
/// `None`: it is no structure, or has too many.
fn parts(body: &Body, s: SymbolId) -> Option<Vec<Vec<Arc<str>>>> {
    if !matches!(body.types.kind(body.symbols[s].ty), TypeKind::Record(_)) {
        return None;
    }
    let mut out: Vec<Vec<Arc<str>>> = Vec::new();
    let parents = body.parents();
    for mention in body.walk(body.root).filter(|&t| matches!(body.op(t), Op::Sym(x) if *x == s)) {
        let (mut at, mut way) = (mention, Vec::new());
        while let Some(up) = parents.get(at.0 as usize).copied().flatten() {
            match body.op(up) {
                Op::Member { field, arrow: false } => way.push(field.clone()),
                _ => break,
            }
            at = up;
        }
        if way.is_empty() {
            way.push(Arc::from(""));
        }
        if !out.contains(&way) {
            out.push(way);
        }
    }
    (out.len() <= MAX_PARTS).then_some(out)
}

/// If a place is the structure looked at or a part of it: whether it covers the part looked at, and whether it has anything in common
/// with it.
fn in_focus(body: &Body, focus: Option<(SymbolId, &[Arc<str>])>, place: TermId) -> Option<(bool, bool)> {
    let (s, leaf) = focus?;
    if !matches!(body.op(place), Op::Sym(_) | Op::Member { .. } | Op::Index | Op::Deref) {
        return None;
    }
    if owner(body, place).is_none_or(|o| o.0 != s) {
        return None;
    }
    let (mut at, mut way) = (place, Vec::new());
    // Names behind a subscript say nothing more.
    while let Some(&base) = body.args(at).first() {
        match body.op(at) {
            Op::Member { field, arrow: false } => way.push(field),
            _ => way.clear(),
        }
        at = base;
    }
    if body.as_symbol(at) != Some(s) {
        return Some((false, true));
    }
    way.reverse();
    let meets = way.iter().zip(leaf).all(|(a, b)| *a == b);
    Some((is_members_only(body, place) && meets && way.len() <= leaf.len(), meets))
}

fn is_members_only(body: &Body, mut place: TermId) -> bool {
    while let (Op::Member { arrow: false, .. }, &[base]) = (body.op(place), body.args(place)) {
        place = base;
    }
    matches!(body.op(place), Op::Sym(_))
}

/// Whether the part of a `switch` holds labels of that `switch` below itself.
fn has_deeper_labels(body: &Body, part: TermId) -> bool {
    let mut open = vec![part];
    while let Some(t) = open.pop() {
        match body.op(t) {
            Op::Case | Op::Default if t != part => return true,
            Op::Switch => {}
            _ => open.extend(body.args(t)),
        }
    }
    false
}

/// Subscripts on the way to a place.
fn subscripts(body: &Body, place: TermId) -> Vec<TermId> {
    let (mut at, mut out) = (place, Vec::new());
    while let Some((&base, more)) = body.args(at).split_first() {
        out.extend(more);
        at = base;
    }
    out
}

/// Variables that one run of `parts` (in order) may read before it writes them: values that come from outside, an
/// earlier iteration included. `None`: too deep to say, or without the steps: where control parts, what is written before is copied.
pub(crate) fn exposed_reads(body: &Body, parts: &[TermId], budget: &Budget) -> Option<Set> {
    let mut f = Forward::new(body, budget);
    let mut state = State::Reached(Set::default());
    for &p in parts {
        state = f.flow(p, state)?;
    }
    Some(f.exposed)
}

/// Whether one run of `parts` may read something of a structure's member that it did not write before. `leaf`: the names
/// of the members on the way to it. `None`: too deep to say, or without the steps.
pub(crate) fn exposes_part(
    body: &Body,
    parts: &[TermId],
    s: SymbolId,
    leaf: &[Arc<str>],
    budget: &Budget,
) -> Option<bool> {
    let mut f = Forward { focus: Some((s, leaf)), ..Forward::new(body, budget) };
    let mut state = State::Reached(Set::default());
    for &p in parts {
        state = f.flow(p, state)?;
    }
    Some(f.exposed.contains(&s))
}

/// Variables that every run of a loop's body to its end or to a `continue` writes. `None`: too deep to say, or without the steps.
pub(crate) fn surely_written(body: &Body, inner: TermId, budget: &Budget) -> Option<Set> {
    let mut f = Forward::new(body, budget);
    let mut state = f.flow(inner, State::Reached(Set::default()))?;
    for c in std::mem::take(&mut f.continues) {
        state = join(state, State::Reached(c));
    }
    match state {
        State::Reached(w) => Some(w),
        State::Ended => Some(Set::default()),
    }
}

/// What is surely written when control gets here; `Ended` where it cannot get here.
#[derive(Clone)]
enum State {
    Reached(Set),
    Ended,
}

struct Forward<'a> {
    body: &'a Body,
    budget: &'a Budget,
    /// Variables in copies that no step was taken for yet.
    copied: u64,
    /// The part of a structure that stands for the structure; its other parts are nothing.
    focus: Option<(SymbolId, &'a [Arc<str>])>,
    exposed: Set,
    depth: u32,
    /// What is surely written at each `break`, for every loop and `switch` we are in.
    breaks: Vec<Vec<Set>>,
    /// Loops we are in.
    loops: u32,
    /// What is surely written at each `continue` outside of them.
    continues: Vec<Set>,
}

impl<'a> Forward<'a> {
    fn new(body: &'a Body, budget: &'a Budget) -> Forward<'a> {
        Forward {
            body,
            budget,
            copied: 0,
            focus: None,
            exposed: Set::default(),
            depth: 0,
            breaks: Vec::new(),
            loops: 0,
            continues: Vec::new(),
        }
    }

    /// What is written so far, for another way from here.
    fn copy(&mut self, state: &State) -> Option<State> {
        if let State::Reached(written) = state {
            self.copied += written.len() as u64;
            if self.copied >= TERMS {
                self.budget.spend(self.copied / TERMS).ok()?;
                self.copied %= TERMS;
            }
        }
        Some(state.clone())
    }

    /// The subscripts on the way to a place.
    fn subscripts(&mut self, place: TermId, mut state: State) -> Option<State> {
        for x in subscripts(self.body, place) {
            state = self.flow(x, state)?;
        }
        Some(state)
    }

    /// One run of an inner loop's body.
    fn run(&mut self, inner: TermId, state: State) -> Option<State> {
        self.breaks.push(Vec::new());
        self.loops += 1;
        let out = self.flow(inner, state);
        self.loops -= 1;
        self.breaks.pop();
        out
    }

    fn flow(&mut self, t: TermId, state: State) -> Option<State> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let out = self.flow_inner(t, state);
        self.depth -= 1;
        out
    }

    fn flow_inner(&mut self, t: TermId, state: State) -> Option<State> {
        let State::Reached(written) = state else {
            return Some(State::Ended);
        };
        let body = self.body;
        let args = body.args(t);
        let here = |w: Set| Some(State::Reached(w));
        if let (Some((_, meets)), Some((s, _))) = (in_focus(body, self.focus, t), self.focus) {
            if meets && !written.contains(&s) {
                self.exposed.insert(s);
            }
            return self.subscripts(t, State::Reached(written));
        }
        match body.op(t) {
            Op::If | Op::Select => {
                let s = self.flow(*args.first()?, State::Reached(written))?;
                let before = self.copy(&s)?;
                let a = self.flow(*args.get(1)?, before)?;
                let b = match args.get(2) {
                    Some(&e) => self.flow(e, s)?,
                    None => s,
                };
                Some(join(a, b))
            }
            Op::Binary(b) if b.is_logical() => {
                let s = self.flow(*args.first()?, State::Reached(written))?;
                let before = self.copy(&s)?;
                self.flow(*args.get(1)?, before)?;
                Some(s)
            }
            Op::For => {
                let s = self.flow(*args.first()?, State::Reached(written))?;
                let s = self.flow(*args.get(1)?, s)?;
                // The body may not run; what it reads on its first run is what counts (a later run has seen more
                // writes). `continue` reaches the step with less written than the body's end.
                let before = self.copy(&s)?;
                let inside = self.run(*args.get(3)?, before)?;
                let at_step = if has_continue(body, *args.get(3)?) { self.copy(&s)? } else { inside };
                let once = self.flow(*args.get(2)?, at_step)?;
                let whole = runs(body, t) && !leaves_early(body, *args.get(3)?);
                Some(if whole { once } else { s })
            }
            Op::While => {
                let s = self.flow(*args.first()?, State::Reached(written))?;
                let before = self.copy(&s)?;
                self.run(*args.get(1)?, before)?;
                Some(s)
            }
            Op::DoWhile => {
                let inner = *args.first()?;
                let s = State::Reached(written);
                let before = self.copy(&s)?;
                let end = self.run(inner, before)?;
                // A `continue` or `break` may leave early with less written.
                let end = if leaves_early(body, inner) { s } else { end };
                self.flow(*args.get(1)?, end)
            }
            Op::Switch => {
                let s = self.flow(*args.first()?, State::Reached(written))?;
                // Any label may be entered first: after one, only what was written before the switch is sure. The
                // end is reached from the last part, from every `break`, and without `default` from the head.
                self.breaks.push(Vec::new());
                let mut at = State::Ended;
                let mut complete = false;
                for &item in body.args(*args.get(1)?) {
                    if has_deeper_labels(body, item) {
                        return None;
                    }
                    match body.op(item) {
                        Op::Case => at = self.copy(&s)?,
                        Op::Default => (at, complete) = (self.copy(&s)?, true),
                        _ => at = self.flow(item, at)?,
                    }
                }
                for b in self.breaks.pop().unwrap_or_default() {
                    at = join(at, State::Reached(b));
                }
                Some(if complete { at } else { join(at, s) })
            }
            Op::Break => {
                if let Some(list) = self.breaks.last_mut() {
                    list.push(written);
                }
                Some(State::Ended)
            }
            Op::Continue => {
                if self.loops == 0 {
                    self.continues.push(written);
                }
                Some(State::Ended)
            }
            Op::Return => {
                if let Some(&e) = args.first() {
                    self.flow(e, State::Reached(written))?;
                }
                Some(State::Ended)
            }
            // Without an initialiser the variable holds nothing: a read before a write is not carried over from
            // the iteration before (each has its own), so it counts as written.
            Op::Declare(s) => {
                let mut state = State::Reached(written);
                for part in body.lengths_at(t).chain(args.first().copied()) {
                    state = self.flow(part, state)?;
                }
                if let State::Reached(w) = &mut state {
                    w.insert(*s);
                }
                Some(state)
            }
            Op::Assign => {
                let (place, value) = (*args.first()?, *args.get(1)?);
                if let (Some((covers, _)), Some((s, _))) = (in_focus(body, self.focus, place), self.focus) {
                    let state = self.subscripts(place, State::Reached(written))?;
                    return Some(match self.flow(value, state)? {
                        State::Reached(mut w) => {
                            if covers {
                                w.insert(s);
                            }
                            State::Reached(w)
                        }
                        ended => ended,
                    });
                }
                match body.as_symbol(place) {
                    Some(s) => match self.flow(value, State::Reached(written))? {
                        State::Reached(mut w) => {
                            w.insert(s);
                            here(w)
                        }
                        ended => Some(ended),
                    },
                    None => {
                        let s = self.flow(place, State::Reached(written))?;
                        self.flow(value, s)
                    }
                }
            }
            Op::Sym(s) => {
                if !written.contains(s) {
                    self.exposed.insert(*s);
                }
                here(written)
            }
            Op::SizeOf => here(written),
            Op::Reject(_) => {
                self.exposed.extend(body.touched_by_gap(t).into_iter().filter(|s| !written.contains(s)));
                here(written)
            }
            _ => {
                let mut state = State::Reached(written);
                for part in body.lengths_at(t).chain(args.iter().copied()) {
                    state = self.flow(part, state)?;
                }
                Some(state)
            }
        }
    }
}

fn join(a: State, b: State) -> State {
    match (a, b) {
        (State::Ended, s) | (s, State::Ended) => s,
        (State::Reached(a), State::Reached(b)) => State::Reached(a.intersection(&b).copied().collect()),
    }
}
