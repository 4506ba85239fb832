//! One thread after the other: statements, with both ways where a condition is not known.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, SymbolId, TermId};

use super::values::{Locals, Val};
use super::{coordinates, KernelObject, Names, ObjectKind, Site, Trace, MAX_EVENTS, MAX_STEPS};
use crate::kernel::interpret::{walk, Flows, If, Jump, Loop, Switch};
use crate::kernel::set_variables::variable_of;
use crate::kernel::{KernelLaunch, KernelObstacle};
use crate::limits::kernel_replay_run::{MAX_CALLS, MAX_DEPTH};
use crate::Program;

mod calls;
mod expressions;
mod memory;
mod passed;

pub(super) use passed::Passed;

type Run<T> = Result<T, KernelObstacle>;

/// How a statement ended.
#[derive(Clone, Copy, Default)]
pub(in crate::kernel) struct Flow {
    /// It may go on with the next.
    falls: bool,
    /// Some way left it by a jump.
    jumped: bool,
    /// Some way left the function.
    returned: bool,
}

const ON: Flow = Flow { falls: true, jumped: false, returned: false };

/// Where jumps go.
#[derive(Default)]
struct Around {
    is_switch: bool,
    breaks: Vec<Locals>,
    continues: Vec<Locals>,
}

struct ThreadFrame<'a> {
    body: &'a Body,
    function: u32,
    locals: Locals,
    around: Vec<Around>,
    results: Vec<Val>,
    /// Variables whose values are not followed: others may set them.
    exposed: Arc<FxHashSet<SymbolId>>,
}

pub(super) struct Runner<'a> {
    root: &'a Body,
    program: &'a Program,
    grid: [u32; 3],
    block: [u32; 3],
    launch: KernelLaunch,
    pub trace: Trace<'a>,
    names: Names,
    exposed: FxHashMap<u32, Arc<FxHashSet<SymbolId>>>,
    frames: Vec<ThreadFrame<'a>>,
    pub steps: u64,
    /// Of a part of a launch: steps and events of each thread at most, and steps that those may take who need more.
    pub each: Option<(u64, usize, u64)>,
    /// Steps and events at which the running thread is cut.
    pub stop: (u64, usize),
    /// Its block may be any of the grid, and the grid any.
    pub any_block: bool,
    depth: u32,
    may: bool,
    passed: Passed,
    soft: bool,
    warp_soft: bool,
    at: (u32, u32),
    indices: ([u32; 3], [u32; 3]),
}

pub(in crate::kernel) enum ThreadPlace {
    Local(SymbolId),
    Own,
    In(u32, Option<i64>),
    Nowhere,
}

impl<'a> Runner<'a> {
    pub fn new(
        root: &'a Body,
        program: &'a Program,
        grid: [u32; 3],
        block: [u32; 3],
        launch: &KernelLaunch,
        exposed: &FxHashSet<SymbolId>,
    ) -> Runner<'a> {
        let mut trace = Trace::default();
        trace.functions.push(root);
        let exposed = [(0, Arc::new(exposed.clone()))].into_iter().collect();
        Runner {
            root,
            program,
            grid,
            block,
            launch: launch.clone(),
            trace,
            names: Names::default(),
            exposed,
            frames: Vec::new(),
            steps: 0,
            each: None,
            stop: (MAX_STEPS, MAX_EVENTS),
            any_block: false,
            depth: 0,
            may: false,
            passed: Passed::default(),
            soft: false,
            warp_soft: false,
            at: (0, 0),
            indices: ([0; 3], [0; 3]),
        }
    }

    pub fn thread(&mut self, block: u32, thread: u32) -> Run<Passed> {
        self.at = (block, thread);
        self.indices = (coordinates(block, self.grid), coordinates(thread, self.block));
        self.may = false;
        (self.soft, self.warp_soft) = (false, false);
        let mut arguments = Vec::new();
        for &p in self.root.args(self.root.args(self.root.root)[0]) {
            let Op::Declare(s) = self.root.op(p) else { return Err(KernelObstacle::Structure(p)) };
            arguments.push(self.parameter(*s));
        }
        let before = self.steps;
        if let Some((steps, events, more)) = self.each {
            self.stop = (before + steps + more, self.trace.events.len() + events);
        }
        match self.enter(self.root, 0, arguments) {
            Err(KernelObstacle::TooLarge) if self.each.is_some() => {
                self.frames.clear();
                self.depth = 0;
                self.passed.cut = true;
                self.trace.cut = true;
            }
            ended => drop(ended?),
        }
        if let Some((steps, _, more)) = &mut self.each {
            *more = more.saturating_sub((self.steps - before).saturating_sub(*steps));
        }
        Ok(std::mem::take(&mut self.passed))
    }

    fn parameter(&mut self, s: SymbolId) -> Val {
        let (symbol, types) = (&self.root.symbols[s], &self.root.types);
        if let Some(to) = types.element(symbol.ty) {
            let element = types.size_align(to).map_or(1, |x| x.0);
            let object = KernelObject {
                name: self.launch.same.first(&symbol.name).clone(),
                kind: ObjectKind::Parameter,
                bytes: self
                    .launch
                    .elements
                    .iter()
                    .find(|(n, _)| *n == symbol.name)
                    .and_then(|x| x.1.checked_mul(element)),
                element,
                restrict: types.quals(symbol.ty).is_restrict && !self.launch.same.is_shared(&symbol.name),
                dynamic: false,
            };
            return Val::Into(self.object(object), Some(0));
        }
        let value = self.launch.values.iter().find(|(n, _)| *n == symbol.name).map(|x| x.1);
        match (types.as_int(symbol.ty), value) {
            (Some(kind), Some(v)) if v >= kind.min() && v <= kind.max() => Val::Int(v),
            _ => Val::Unknown,
        }
    }

    fn object(&mut self, o: KernelObject) -> u32 {
        self.keyed(o.name.clone(), o)
    }

    fn keyed(&mut self, name: Arc<str>, o: KernelObject) -> u32 {
        let key = (o.kind, name);
        if let Some(&n) = self.names.known.get(&key) {
            return n;
        }
        let n = self.trace.objects.len() as u32;
        self.trace.objects.push(o);
        self.names.known.insert(key, n);
        n
    }

    fn frame(&mut self) -> &mut ThreadFrame<'a> {
        self.frames.last_mut().expect("a call is running")
    }
    fn body(&self) -> &'a Body {
        self.frames.last().expect("a call is running").body
    }
    fn site(&self, term: TermId) -> Site {
        Site { function: self.frames.last().map_or(0, |f| f.function), term }
    }

    fn enter(&mut self, body: &'a Body, function: u32, arguments: Vec<Val>) -> Run<Val> {
        if self.frames.len() >= MAX_CALLS || body.rejects().next().is_some() {
            let gap = body.walk(body.root).find(|&t| matches!(body.op(t), Op::Reject(_)));
            let gap = gap.filter(|_| self.frames.is_empty()).unwrap_or(body.root);
            return Err(KernelObstacle::Structure(gap));
        }
        let &[parameters, statements] = body.args(body.root) else {
            return Err(KernelObstacle::Structure(body.root));
        };
        if body.args(parameters).len() != arguments.len() {
            return Err(KernelObstacle::Structure(body.root));
        }
        let exposed = self.exposed.entry(function).or_insert_with(|| {
            let taken = body.symbols.iter_ids().filter(|(_, s)| s.address_taken);
            Arc::new(taken.map(|(id, _)| id).collect())
        });
        let exposed = exposed.clone();
        let mut locals = Locals::default();
        for (&p, v) in body.args(parameters).iter().zip(arguments) {
            let Op::Declare(s) = body.op(p) else { return Err(KernelObstacle::Structure(p)) };
            let v = match body.types.as_int(body.symbols[*s].ty) {
                Some(kind) => v.converted(kind),
                None => v,
            };
            locals.set(*s, if exposed.contains(s) { Val::Unknown } else { v });
        }
        let (may, depth) = (self.may, self.depth);
        self.frames.push(ThreadFrame {
            body,
            function,
            locals,
            around: Vec::new(),
            results: Vec::new(),
            exposed,
        });
        walk::list(self, statements, body.args(statements), ())?;
        let frame = self.frames.pop();
        (self.may, self.depth) = (may, depth);
        let results = frame.map(|f| f.results).unwrap_or_default();
        Ok(results.into_iter().reduce(Val::join).unwrap_or(Val::Unknown))
    }

    fn step(&mut self, t: TermId) -> Run<()> {
        self.steps += 1;
        if self.steps > self.stop.0 || self.trace.events.len() > self.stop.1 {
            return Err(KernelObstacle::TooLarge);
        }
        if self.depth > MAX_DEPTH {
            return Err(KernelObstacle::Structure(t));
        }
        Ok(())
    }

    /// One way or the other, or both.
    fn either(
        &mut self,
        c: Option<bool>,
        yes: impl FnOnce(&mut Self) -> Run<Flow>,
        no: impl FnOnce(&mut Self) -> Run<Flow>,
    ) -> Run<Flow> {
        match c {
            Some(true) => return yes(self),
            Some(false) => return no(self),
            None => {}
        }
        let may = std::mem::replace(&mut self.may, true);
        let before = self.frame().locals.clone();
        let a = yes(self)?;
        let after = std::mem::replace(&mut self.frame().locals, before);
        self.may = true;
        let b = no(self)?;
        match (a.falls, b.falls) {
            (true, true) => self.frame().locals.join(&after),
            (true, false) => self.frame().locals = after,
            _ => {}
        }
        self.may = may;
        Ok(Flow {
            falls: a.falls || b.falls,
            jumped: a.jumped || b.jumped,
            returned: a.returned || b.returned,
        })
    }

    /// What the term sets is not known any more; pointers that are only moved stay in their objects.
    fn forget(&mut self, t: TermId) {
        let body = self.body();
        let mut plain: FxHashSet<SymbolId> = FxHashSet::default();
        let mut all: Vec<SymbolId> = Vec::new();
        for x in body.walk(t) {
            let s = match (body.op(x), body.args(x)) {
                (Op::Declare(s), _) => *s,
                (Op::Assign, &[p, _]) => match variable_of(body, p) {
                    Some(s) => s,
                    None => continue,
                },
                (Op::Compound(_) | Op::Step { .. }, &[p, ..]) => {
                    if let Some(s) = variable_of(body, p) {
                        all.push(s);
                    }
                    continue;
                }
                _ => continue,
            };
            plain.insert(s);
            all.push(s);
        }
        for s in all {
            let v = match self.frame().locals.get(s) {
                Val::Into(o, _) if !plain.contains(&s) => Val::Into(o, None),
                _ => Val::Unknown,
            };
            self.frame().locals.set(s, v);
        }
    }

    fn has_continue(&self, t: TermId) -> bool {
        let body = self.body();
        body.walk(t).any(|x| matches!(body.op(x), Op::Continue))
    }
}

impl<'a> Flows<'a> for Runner<'a> {
    type Flow = Flow;

    fn straight(&self, (): ()) -> Flow {
        ON
    }
    fn onward(&self, flow: &Flow) -> Option<()> {
        flow.falls.then_some(())
    }
    fn then(&mut self, first: Flow, second: Flow) -> Flow {
        // some way has left: whether this thread is still here is not known
        self.may |= second.falls && second.jumped;
        Flow {
            falls: second.falls,
            jumped: first.jumped || second.jumped,
            returned: first.returned || second.returned,
        }
    }

    fn declare(&mut self, t: TermId, s: SymbolId, init: Option<(TermId, Val)>, (): ()) -> Run<()> {
        match self.body().symbols[s].storage {
            Storage::Local => self.assign_local(s, init.map_or(Val::Unknown, |i| i.1)),
            _ if init.is_none() => {}
            _ => return Err(KernelObstacle::Structure(t)),
        }
        Ok(())
    }

    fn branch(&mut self, b: If, (): ()) -> Run<Flow> {
        let c = walk::eval(self, b.condition, ())?.truth();
        self.either(
            c,
            |r| walk::statement(r, b.then, ()),
            |r| match b.other {
                Some(other) => walk::statement(r, other, ()),
                None => Ok(ON),
            },
        )
    }

    fn jump(&mut self, t: TermId, jump: Jump<Val>, (): ()) -> Run<Flow> {
        let nowhere = KernelObstacle::Structure(t);
        let frame = self.frame();
        let locals = frame.locals.clone();
        match jump {
            Jump::Break => frame.around.last_mut().ok_or(nowhere)?.breaks.push(locals),
            Jump::Continue => {
                let to = frame.around.iter_mut().rev().find(|a| !a.is_switch);
                to.ok_or(nowhere)?.continues.push(locals);
            }
            Jump::Return(value) => {
                frame.results.push(value.unwrap_or(Val::Unknown));
                return Ok(Flow { falls: false, jumped: true, returned: true });
            }
        }
        Ok(Flow { falls: false, jumped: true, returned: false })
    }

    fn opaque(&mut self, t: TermId, (): ()) -> Run<Flow> {
        Err(KernelObstacle::Structure(t))
    }

    fn repeat(&mut self, l: Loop, (): ()) -> Run<Flow> {
        let t = l.node;
        let may = self.may;
        self.frame().around.push(Around::default());
        let mut returned = false;
        let mut ended: Option<Locals> = None;
        let mut first = !l.before;
        loop {
            self.step(t)?;
            if !std::mem::take(&mut first) {
                let go = match l.condition {
                    Some(c) => walk::eval(self, c, ())?.truth(),
                    None => Some(true),
                };
                match go {
                    Some(true) => {}
                    Some(false) => {
                        ended = Some(self.frame().locals.clone());
                        break;
                    }
                    None => {
                        // any number of further rounds
                        self.forget(t);
                        self.may = true;
                        let flow = walk::statement(self, l.inner, ())?;
                        returned |= flow.returned;
                        self.forget(t);
                        for part in [l.step, l.condition].into_iter().flatten() {
                            walk::eval(self, part, ())?;
                        }
                        self.forget(t);
                        ended = Some(self.frame().locals.clone());
                        break;
                    }
                }
            }
            let here = self.may;
            let flow = walk::statement(self, l.inner, ())?;
            returned |= flow.returned;
            let around = self.frame().around.last_mut().expect("pushed above");
            let mut next: Vec<Locals> = std::mem::take(&mut around.continues);
            let broke = !around.breaks.is_empty();
            if flow.falls {
                next.push(self.frame().locals.clone());
            }
            let Some(joined) = next.into_iter().reduce(|mut a, b| {
                a.join(&b);
                a
            }) else {
                break;
            };
            self.frame().locals = joined;
            self.may = here || broke || flow.returned;
            if let Some(step) = l.step {
                walk::eval(self, step, ())?;
            }
        }
        let around = self.frame().around.pop().unwrap_or_default();
        let ends = around.breaks.into_iter().chain(ended);
        let end = ends.reduce(|mut a, b| {
            a.join(&b);
            a
        });
        self.may = may;
        let falls = end.is_some();
        if let Some(end) = end {
            self.frame().locals = end;
        }
        Ok(Flow { falls, jumped: returned, returned })
    }

    fn switch(&mut self, s: Switch<'a>, (): ()) -> Run<Flow> {
        let body = self.body();
        let v = walk::eval(self, s.value, ())?;
        if s.deep {
            return Err(KernelObstacle::Structure(s.inner));
        }
        let items = s.items;
        let mut entries: Vec<usize> = Vec::new();
        let mut fallback = None;
        let mut exact = v.int().is_some();
        for (k, &t) in items.iter().enumerate() {
            match (body.op(t), body.args(t)) {
                (Op::Case, &[label]) => match (v.int(), walk::eval(self, label, ())?.int()) {
                    (Some(v), Some(l)) => {
                        if v == l {
                            entries.push(k);
                        }
                    }
                    _ => {
                        exact = false;
                        entries.push(k);
                    }
                },
                (Op::Default, _) => fallback = Some(k),
                _ => {}
            }
        }
        let mut ways: Vec<Option<usize>> = entries.into_iter().map(Some).collect();
        if !exact || ways.is_empty() {
            ways.push(fallback);
        }
        let may = self.may;
        let before = self.frame().locals.clone();
        self.frame().around.push(Around { is_switch: true, ..Around::default() });
        let mut ends: Vec<Locals> = Vec::new();
        let (mut jumped, mut returned, mut left) = (false, false, 0);
        let several = ways.len() > 1;
        for way in ways {
            self.frame().locals = before.clone();
            self.may = may || several;
            let flow = match way {
                Some(k) => walk::list(self, s.inner, &items[k..], ())?,
                None => ON,
            };
            if flow.falls {
                ends.push(self.frame().locals.clone());
            }
            let around = self.frame().around.last_mut().expect("pushed above");
            let broke = !around.breaks.is_empty();
            ends.append(&mut around.breaks);
            // a jump that is no `break` of this switch leaves it
            returned |= flow.returned;
            jumped |= flow.returned || flow.jumped && !broke || self.has_continue(s.inner);
            left += (flow.falls || broke) as usize;
        }
        self.frame().around.pop();
        self.may = may;
        let end = ends.into_iter().reduce(|mut a, b| {
            a.join(&b);
            a
        });
        if let Some(end) = end {
            self.frame().locals = end;
        }
        Ok(Flow { falls: left > 0, jumped, returned })
    }
}
