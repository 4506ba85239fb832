//! A known launch, warp by warp: lanes step together through what indices, constants and arguments decide, and what each
//! access, branch and barrier sees is counted.
//!
//! Loops are followed iteration by iteration and variables keep their values, so a count is exact whatever shape the program has.
//! What depends on memory is not guessed: a statement under a condition that is not known is *spoiled*. Nothing in it is
//! counted, the variables it sets are unknown afterwards, and what its jumps may skip is spoiled too. Lanes part and join
//! as in the simulator: after an `if`, at the end of a loop's body, after a loop or `switch`.
//!
//! Deliberately absent: what memory holds, values exchanged between lanes, elements of local arrays.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use term::{Body, Op, SymbolId, TermId};

use super::collect::{AccessKind, Seen};
use super::cost::Turns;
use super::effects::{effects, is_quiet, Effects};
use super::interpret::{walk, Flows, If, Jump, Loop, Run, Switch, Values};
use super::nums::{first, lanes, Lanes, Nums, Val};
use super::replay::{coordinates, count};
use super::traced::{BarrierCount, Traced};
use super::{glance, KernelLaunch, Split};
pub(super) use crate::limits::kernel_trace::MAX_DEPTH;
use crate::limits::kernel_trace::{FUEL, GLANCED_TIMES, MAX_THREADS, MIN_GLANCED, PER_STEP};
use crate::Program;

/// Follows the launch. `None`: it is not known, too large, or the kernel has parts that are not understood.
pub(super) fn trace(body: &Body, program: &Program, seen: &Seen, launch: &KernelLaunch) -> Option<Traced> {
    // in masks of as many bits
    if launch.limits.lanes == 0 || launch.limits.lanes > Lanes::BITS {
        return None;
    }
    let (grid, block) = (launch.grid?, launch.block?);
    let size = count(block);
    if seen.unstructured.is_some() || count(grid).saturating_mul(size) > MAX_THREADS || size == 0 {
        return None;
    }
    let statements = *body.args(body.root).get(1)?;
    if is_far_too_large(body, program, seen, launch, (grid, block), statements) {
        return None;
    }
    let left = seen.budget.left().saturating_mul(PER_STEP);
    let mut w = WarpTrace::new(body, program, launch, (grid, block), FUEL.min(left));
    let fuel = w.fuel;
    let followed = follow(&mut w, statements, size);
    let _ = seen.budget.spend(1 + (fuel - w.fuel) / PER_STEP);
    followed.then_some(w.out)
}

/// Whether the launch takes far more operations than there is fuel for.
fn is_far_too_large(
    body: &Body,
    program: &Program,
    seen: &Seen,
    launch: &KernelLaunch,
    (grid, block): ([u32; 3], [u32; 3]),
    statements: TermId,
) -> bool {
    let size = count(block);
    let warps = size.div_ceil(launch.limits.lanes.into());
    glance::is_far_too_large(count(grid), warps, MIN_GLANCED, |b, warp| {
        let fuel = GLANCED_TIMES * FUEL / (warps * count(grid)) + 1;
        let mut w = WarpTrace::new(body, program, launch, (grid, block), fuel);
        w.warp(coordinates(b, grid), warp, size as u32, statements);
        let _ = seen.budget.spend((fuel - w.fuel) / PER_STEP);
        Some(w.fuel == 0)
    })
}

/// Whether the fuel was enough.
fn follow(w: &mut WarpTrace<'_>, statements: TermId, size: u64) -> bool {
    let grid = w.grid;
    for z in 0..grid[2] {
        for y in 0..grid[1] {
            for x in 0..grid[0] {
                for number in 0..size.div_ceil(w.launch.limits.lanes.into()) as u32 {
                    w.warp([x, y, z], number, size as u32, statements);
                    if w.fuel == 0 {
                        return false;
                    }
                }
                w.block_ends();
            }
        }
    }
    true
}

/// The warp at hand.
#[derive(Default)]
pub(super) struct Warp {
    pub(super) block: [u32; 3],
    number: u32,
    pub(super) lanes: Lanes,
}

/// A loop or `switch` around the statement at hand.
#[derive(Default)]
struct Nest {
    is_switch: bool,
    broken: Lanes,
    continued: Lanes,
    /// Some lanes may have left it, nobody knows which.
    murky: bool,
}

pub(super) struct WarpTrace<'a> {
    /// Objects are its symbols.
    kernel: &'a Body,
    /// Of the kernel, or of the function that is called.
    pub(super) body: &'a Body,
    pub(super) program: &'a Program,
    pub(super) launch: &'a KernelLaunch,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) at: Warp,
    vars: FxHashMap<SymbolId, Val>,
    nest: Vec<Nest>,
    /// Lanes that have returned from this body.
    pub(super) gone: Lanes,
    /// Lanes that have not returned from the kernel.
    pub(super) live: Lanes,
    /// Calls around; 0: the kernel itself.
    pub(super) calls: u32,
    pub(super) depth: u32,
    result: Val,
    /// From here on nothing is known.
    pub(super) lost: bool,
    /// Lanes that touched memory since the last barrier, and whether that is not all.
    touched: Lanes,
    pub(super) untold: bool,
    fuel: u64,
    /// Openings of barriers in this block, as each warp sees them.
    opened: FxHashMap<TermId, BTreeMap<u32, u64>>,
    turns: Turns,
    effects: FxHashMap<(usize, TermId), Rc<Effects>>,
    out: Traced,
}

impl<'a> WarpTrace<'a> {
    fn new(
        body: &'a Body,
        program: &'a Program,
        launch: &'a KernelLaunch,
        (grid, block): ([u32; 3], [u32; 3]),
        fuel: u64,
    ) -> WarpTrace<'a> {
        WarpTrace {
            kernel: body,
            body,
            program,
            launch,
            grid,
            block,
            at: Warp::default(),
            vars: FxHashMap::default(),
            nest: Vec::new(),
            gone: 0,
            live: 0,
            calls: 0,
            depth: 0,
            result: Val::UNKNOWN,
            lost: false,
            touched: 0,
            untold: false,
            fuel,
            opened: FxHashMap::default(),
            turns: Turns::default(),
            effects: FxHashMap::default(),
            out: Traced::default(),
        }
    }

    fn warp(&mut self, block: [u32; 3], number: u32, size: u32, statements: TermId) {
        let lanes = self.launch.limits.lanes;
        let mask = first((size - number * lanes).min(lanes));
        self.at = Warp { block, number, lanes: mask };
        (self.live, self.gone, self.lost, self.touched, self.untold) = (mask, 0, false, 0, false);
        self.nest.clear();
        self.vars.clear();
        self.turns.warp_begins();
        let body = self.body;
        let parameters = body.args(body.root).first().map_or(&[][..], |&l| body.args(l));
        for &p in parameters {
            let Op::Declare(s) = body.op(p) else { continue };
            let symbol = &body.symbols[*s];
            let value = match body.types.as_int(symbol.ty) {
                Some(kind) => {
                    let given = self.launch.values.iter().find(|(n, _)| *n == symbol.name);
                    match given.filter(|(_, v)| (kind.min()..=kind.max()).contains(v)) {
                        Some((_, v)) => Val::same(*v),
                        None => continue,
                    }
                }
                None if body.types.element(symbol.ty).is_some() => Val { object: Some(*s), n: Nums::Same(0) },
                None => continue,
            };
            self.vars.insert(*s, value);
        }
        self.statement(statements, mask);
    }

    fn block_ends(&mut self) {
        for (t, warps) in self.opened.drain() {
            let times = warps.values().copied().max().unwrap_or(0);
            self.out.barriers.entry(t).or_default().opened += times;
        }
        for (t, warps) in self.turns.block_ends(self.launch.limits.lanes.into()) {
            *self.out.packed.entry(t).or_default() += warps;
        }
    }

    /// The index of a lane's thread in its block.
    pub(super) fn thread(&self, lane: u32) -> [u32; 3] {
        let n = self.at.number * self.launch.limits.lanes + lane;
        let [x, y, _] = self.block;
        [n % x, n / x % y, n / (x * y)]
    }

    /// Counts an operation; whether there is fuel left.
    pub(super) fn burn(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.lost |= self.fuel == 0;
        self.fuel > 0
    }

    /// Runs a statement for some lanes; those that go on after it.
    fn statement(&mut self, t: TermId, mask: Lanes) -> Lanes {
        let Ok(on) = walk::statement(self, t, mask);
        on
    }

    /// A loop whose end is not known any more.
    fn stray(&mut self, t: TermId, mask: Lanes) -> Lanes {
        self.spoil(t);
        mask & !self.gone
    }

    /// Decides a branch: the lanes for which its condition holds. `None`: not known.
    pub(super) fn decide(&mut self, t: TermId, condition: TermId, mask: Lanes) -> Option<Lanes> {
        let holds = self.value(condition, mask).int().truth(mask);
        let Some(holds) = holds.filter(|_| !self.lost) else {
            if self.calls == 0 {
                self.out.spoiled.insert(t);
            }
            return None;
        };
        if self.calls == 0 {
            let key = (mask.count_ones(), holds.count_ones());
            *self.out.branches.entry(t).or_default().entry(key).or_default() += 1;
            self.turns.decides(t, key.1);
            if holds != 0 && holds != mask && !self.out.parted.contains_key(&t) {
                self.part(t, holds, mask & !holds);
            }
        }
        Some(holds)
    }

    fn part(&mut self, t: TermId, yes: Lanes, no: Lanes) {
        let split = Split {
            grid: self.grid,
            block: self.block,
            values: self.launch.values.clone(),
            block_index: self.at.block,
            yes: self.thread(yes.trailing_zeros()),
            no: self.thread(no.trailing_zeros()),
        };
        self.out.parted.insert(t, split);
    }

    /// Gives up a statement or expression.
    pub(super) fn spoil(&mut self, t: TermId) {
        let body = self.body;
        let key = (body as *const Body as usize, t);
        let e = match self.effects.get(&key) {
            Some(e) => e.clone(),
            None => {
                let e = Rc::new(effects(body, t));
                self.effects.insert(key, e.clone());
                if self.calls == 0 {
                    self.out.spoiled.extend(body.walk(t));
                }
                e
            }
        };
        for &s in &e.sets {
            self.vars.insert(s, Val::UNKNOWN);
        }
        self.lost |= e.returns;
        self.untold |= e.memory;
        if e.breaks {
            if let Some(n) = self.nest.last_mut() {
                n.murky = true;
            }
        }
        if e.continues {
            for n in self.nest.iter_mut().rev() {
                n.murky = true;
                if !n.is_switch {
                    break;
                }
            }
        }
    }

    /// A barrier of the block.
    pub(super) fn barrier(&mut self, t: TermId, mask: Lanes) {
        let missing = self.live & !mask;
        if missing != 0 {
            if self.calls == 0 && !self.out.parted.contains_key(&t) {
                self.part(t, mask, missing);
            }
            self.lost = true;
        } else if self.calls == 0 {
            *self.opened.entry(t).or_default().entry(self.at.number).or_default() += 1;
            let b = self.out.barriers.entry(t);
            let b = b.or_insert_with(|| BarrierCount { idle: Some(0), ..BarrierCount::default() });
            b.threads += mask.count_ones() as u64;
            let idle = (mask & !self.touched).count_ones() as u64;
            b.idle = b.idle.filter(|_| !self.untold).map(|n| n + idle);
        }
        (self.touched, self.untold) = (0, false);
        if self.lost && self.calls == 0 {
            self.out.spoiled.insert(t);
        }
    }

    /// An access of some lanes. An offset that is not known is none.
    pub(super) fn access(&mut self, t: TermId, kind: AccessKind, at: &super::steps::Spot, mask: Lanes) {
        let Some(object) = at.val.object else {
            self.untold |= !at.private;
            if self.calls == 0 {
                self.out.objects.insert(t, None);
                self.out.open.insert((t, kind));
            }
            return;
        };
        let space = super::access::space(self.kernel.symbols[object].storage);
        if space != term::Space::Constant {
            self.touched |= mask;
        }
        if self.calls > 0 {
            return;
        }
        let known = self.out.objects.entry(t).or_insert(Some(object));
        if *known != Some(object) {
            *known = None;
        }
        let size = self.body.types.size_align(self.body.ty(t)).map(|s| s.0);
        let Some(size) = size.filter(|_| at.val.n.known_on(mask) && !self.lost) else {
            self.out.open.insert((t, kind));
            return;
        };
        let asked: Vec<(u32, i128)> = lanes(mask).filter_map(|l| Some((l, at.val.n.get(l)?))).collect();
        self.out.accesses.entry((t, kind)).or_default().add(space, &asked, size as i128);
    }

    /// Runs a function that is called.
    pub(super) fn inline(&mut self, f: &'a Body, args: Vec<Val>, mask: Lanes) -> Val {
        let Some(&[parameters, statements]) = f.args(f.root).get(..2).and_then(|a| a.first_chunk::<2>())
        else {
            self.lost = true;
            return Val::UNKNOWN;
        };
        let around = (self.body, std::mem::take(&mut self.vars), std::mem::take(&mut self.nest));
        let (gone, result) = (self.gone, std::mem::replace(&mut self.result, Val::UNKNOWN));
        (self.body, self.gone) = (f, 0);
        self.calls += 1;
        for (&p, v) in f.args(parameters).iter().zip(args) {
            if let Op::Declare(s) = *f.op(p) {
                let v = self.converted(s, v, mask);
                self.vars.insert(s, v);
            }
        }
        let lost = self.lost;
        self.statement(statements, mask);
        self.calls -= 1;
        (self.body, self.vars, self.nest) = around;
        self.gone = gone;
        let value = std::mem::replace(&mut self.result, result);
        if self.lost && !lost && self.fuel > 0 && is_quiet(f, self.program, 0) {
            // it comes back, whatever it does
            self.lost = false;
            self.untold = true;
            return Val::UNKNOWN;
        }
        value
    }

    /// What a thread's own variable holds.
    pub(super) fn local(&self, s: SymbolId) -> Val {
        if self.body.symbols[s].address_taken {
            return Val::UNKNOWN;
        }
        self.vars.get(&s).cloned().unwrap_or(Val::UNKNOWN)
    }

    /// Sets a variable for some lanes.
    pub(super) fn set(&mut self, s: SymbolId, v: Val, mask: Lanes) -> Val {
        let v = self.converted(s, v, mask);
        let all = self.at.lanes & !self.gone;
        let before = self.vars.get(&s).unwrap_or(&Val::UNKNOWN);
        let value = merge(v.clone(), before, mask, all & !mask);
        self.vars.insert(s, value);
        v
    }

    /// A value in the type of a variable.
    fn converted(&self, s: SymbolId, v: Val, mask: Lanes) -> Val {
        let ty = self.body.symbols[s].ty;
        match self.body.types.as_int(ty) {
            Some(kind) => Val::number(v.int().map(mask, |x| Some(super::eval::in_type(kind, x)))),
            None if self.body.types.element(ty).is_some() && v.object.is_some() => v,
            None => Val::UNKNOWN,
        }
    }
}

impl<'a> Flows<'a> for WarpTrace<'a> {
    /// The lanes that go on.
    type Flow = Lanes;

    fn begin_statement(&mut self, t: TermId, mask: Lanes) -> Run<'a, Self, bool> {
        if mask == 0 {
            return Ok(false);
        }
        if !self.burn() || self.depth > MAX_DEPTH {
            self.lost = true;
            return Ok(false);
        }
        if self.lost || self.nest.iter().any(|n| n.murky) {
            self.spoil(t);
            return Ok(false);
        }
        self.depth += 1;
        Ok(true)
    }

    fn straight(&self, mask: Lanes) -> Lanes {
        mask
    }
    fn onward(&self, &on: &Lanes) -> Option<Lanes> {
        (on != 0).then_some(on)
    }
    fn then(&mut self, _: Lanes, second: Lanes) -> Lanes {
        second
    }

    fn declare(
        &mut self,
        _: TermId,
        s: SymbolId,
        init: Option<(TermId, Val)>,
        mask: Lanes,
    ) -> Run<'a, Self, ()> {
        let value = init.map_or(Val::UNKNOWN, |i| i.1);
        let value = self.converted(s, value, mask);
        self.vars.insert(s, value);
        Ok(())
    }

    fn branch(&mut self, b: If, mask: Lanes) -> Run<'a, Self, Lanes> {
        let Some(holds) = self.decide(b.node, b.condition, mask) else {
            self.spoil(b.then);
            b.other.into_iter().for_each(|other| self.spoil(other));
            return Ok(mask);
        };
        let yes = self.statement(b.then, holds);
        let no = mask & !holds;
        Ok(yes | b.other.map_or(no, |other| self.statement(other, no)))
    }

    fn jump(&mut self, _: TermId, jump: Jump<Val>, mask: Lanes) -> Run<'a, Self, Lanes> {
        match jump {
            Jump::Break => match self.nest.last_mut() {
                Some(n) => n.broken |= mask,
                None => self.lost = true,
            },
            Jump::Continue => match self.nest.iter_mut().rev().find(|n| !n.is_switch) {
                Some(n) => n.continued |= mask,
                None => self.lost = true,
            },
            Jump::Return(value) => {
                if let Some(v) = value {
                    let before = std::mem::replace(&mut self.result, Val::UNKNOWN);
                    self.result = merge(v, &before, mask, self.gone);
                }
                self.gone |= mask;
                if self.calls == 0 {
                    self.live &= !mask;
                }
            }
        }
        Ok(0)
    }

    fn opaque(&mut self, t: TermId, mask: Lanes) -> Run<'a, Self, Lanes> {
        match self.body.op(t) {
            // another grid: it does not count here
            Op::Launch => {
                self.other(t, mask)?;
            }
            _ => self.lost = true,
        }
        Ok(mask)
    }

    fn repeat(&mut self, l: Loop, mask: Lanes) -> Run<'a, Self, Lanes> {
        let (mut going, mut out) = (mask, 0);
        let decide = |w: &mut Self, going: Lanes| match l.condition {
            Some(c) => w.decide(l.node, c, going),
            None => Some(going),
        };
        while going != 0 {
            if l.before {
                let Some(holds) = decide(self, going) else { return Ok(self.stray(l.node, mask)) };
                out |= going & !holds;
                going = holds;
                if going == 0 {
                    break;
                }
            }
            self.nest.push(Nest::default());
            let on = self.statement(l.inner, going);
            let n = self.nest.pop().unwrap_or_default();
            if n.murky || self.lost {
                return Ok(self.stray(l.node, mask));
            }
            out |= n.broken;
            going = on | n.continued;
            if !l.before && going != 0 {
                let Some(holds) = decide(self, going) else { return Ok(self.stray(l.node, mask)) };
                out |= going & !holds;
                going = holds;
            }
            if let Some(step) = l.step.filter(|_| going != 0) {
                self.value(step, going);
            }
            if !self.burn() {
                return Ok(mask);
            }
        }
        Ok(out)
    }

    fn switch(&mut self, s: Switch<'a>, mask: Lanes) -> Run<'a, Self, Lanes> {
        let body = self.body;
        let v = self.value(s.value, mask).int();
        let kind = body.types.as_int(body.ty(s.value)).map(|k| k.promoted());
        let Some(kind) = kind.filter(|_| v.known_on(mask) && !s.deep) else {
            return Ok(self.stray(s.inner, mask));
        };
        let mut left = mask;
        let mut starts: Vec<(usize, Lanes)> = Vec::new();
        let mut default = None;
        for (k, &i) in s.items.iter().enumerate() {
            match (body.op(i), body.args(i)) {
                (Op::Case, &[c]) => {
                    let case = self.value(c, mask).int();
                    let Some(c) = case.get(0).filter(|_| matches!(case, Nums::Same(_))) else {
                        return Ok(self.stray(s.inner, mask));
                    };
                    let mine = v.map(left, |x| Some((kind.wrap(x) == kind.wrap(c)) as i128));
                    let mine = mine.truth(left).unwrap_or(0);
                    starts.push((k, mine));
                    left &= !mine;
                }
                (Op::Default, _) => default = Some(k),
                _ => {}
            }
        }
        starts.extend(default.map(|k| (k, left)));
        let skipped = if default.is_some() { 0 } else { left };
        self.nest.push(Nest { is_switch: true, ..Nest::default() });
        let mut on = 0;
        for (k, &i) in s.items.iter().enumerate() {
            on |= starts.iter().filter(|s| s.0 == k).fold(0, |m, s| m | s.1);
            if !matches!(body.op(i), Op::Case | Op::Default) {
                on = self.statement(i, on);
            }
        }
        let n = self.nest.pop().unwrap_or_default();
        if n.murky || self.lost {
            return Ok(self.stray(s.node, mask));
        }
        Ok(on | n.broken | skipped)
    }
}

/// One value for some lanes and another for some others.
pub(super) fn merge(v: Val, other: &Val, mask: Lanes, others: Lanes) -> Val {
    if others == 0 {
        return v;
    }
    if v.object != other.object {
        return Val::UNKNOWN;
    }
    Val { object: v.object, n: v.n.over(&other.n, mask, others) }
}
