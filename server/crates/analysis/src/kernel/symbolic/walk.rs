//! The walk over statements: both ways of a branch, one round of a loop.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::{BinOp, IntKind, Op, Storage, SymbolId, TermId, TypeKind};

use super::{Locals, Round, Run, Share, SymbolicKernel, SymbolicObject, Val};
use crate::algebra::poly::{Constraint, Poly, Var};
use crate::kernel::interpret::{walk, Flows, If, Jump, Loop, Switch};
use crate::kernel::set_variables::set_in;
use crate::kernel::KernelObstacle;

impl<'a> SymbolicKernel<'a> {
    pub(super) fn kernel(&mut self) -> Run<()> {
        let body = self.body;
        let &[parameters, statements] = body.args(body.root) else {
            return Err(KernelObstacle::Structure(body.root));
        };
        for &p in body.args(parameters) {
            let Op::Declare(s) = body.op(p) else { return Err(KernelObstacle::Structure(p)) };
            let symbol = &body.symbols[*s];
            let v = match body.types.kind(symbol.ty) {
                TypeKind::Int(kind) => {
                    let kind = *kind;
                    let value = self.values.iter().find(|(n, _)| *n == symbol.name).map(|x| x.1);
                    Val::Int(match value.filter(|v| (kind.min()..=kind.max()).contains(v)) {
                        Some(v) => Poly::constant(v),
                        None => Poly::var(self.parameter(symbol.name.clone(), kind)),
                    })
                }
                TypeKind::Pointer { .. } => {
                    let shared = self.same.is_shared(&symbol.name);
                    let restrict = body.types.quals(symbol.ty).is_restrict && !shared;
                    let name = self.same.first(&symbol.name).clone();
                    let o = self.object(SymbolicObject { name, shared: false, parameter: true, restrict });
                    Val::Ptr(o, Some(Poly::constant(0)))
                }
                _ => Val::Any,
            };
            self.locals.insert(*s, v);
        }
        walk::statement(self, statements, ()).map(drop)
    }

    /// The atom of a number that the kernel is given.
    pub(super) fn parameter(&mut self, name: Arc<str>, kind: IntKind) -> Var {
        if let Some((v, _)) = self.parameters.iter().find(|(_, n)| *n == name) {
            return *v;
        }
        let low = if self.positive.contains(&name) { 1 } else { kind.min() };
        // one number in all rounds of all loops
        let around = std::mem::take(&mut self.around);
        let v = self.atom(Share::Grid, Some(low), Some(kind.max()));
        self.around = around;
        self.parameters.push((v, name));
        v
    }

    /// What holds of both.
    pub(super) fn join(&mut self, other: Locals) {
        let symbols: Vec<SymbolId> = self.locals.keys().copied().collect();
        for s in symbols {
            let same = match (&self.locals[&s], other.get(&s)) {
                (Val::Int(p), Some(Val::Int(q))) => p == q,
                (Val::Ptr(o, p), Some(Val::Ptr(n, q))) if o == n && p == q => true,
                (Val::Own, Some(Val::Own)) | (Val::Any, Some(Val::Any)) => true,
                (Val::Ptr(o, _), Some(Val::Ptr(n, _))) if o == n => {
                    let o = *o;
                    self.locals.insert(s, Val::Ptr(o, None));
                    continue;
                }
                (Val::Truth(a), Some(Val::Truth(b))) => std::rc::Rc::ptr_eq(a, b),
                _ => false,
            };
            if !same {
                let v = self.anything(s);
                self.locals.insert(s, v);
            }
        }
    }

    // ---- loops

    fn forget(&mut self, set: &FxHashSet<SymbolId>) {
        let known: Vec<SymbolId> = self.locals.keys().copied().filter(|s| set.contains(s)).collect();
        for s in known {
            let v = match &self.locals[&s] {
                // a pointer stays in its object: the standard has no way out of it
                Val::Ptr(o, _) if self.stays(s, *o) => Val::Ptr(*o, None),
                _ => self.anything(s),
            };
            self.locals.insert(s, v);
        }
    }

    /// Whether a pointer is only ever moved, not set to another object.
    fn stays(&self, s: SymbolId, _object: u32) -> bool {
        let body = self.body;
        body.walk(body.root).all(|t| match (body.op(t), body.args(t)) {
            (Op::Assign, &[p, _]) => body.as_symbol(p) != Some(s),
            _ => true,
        })
    }

    /// What a variable grows by in every round, where that is one value all the while.
    fn growth(&mut self, l: &Loop, set: &FxHashSet<SymbolId>, s: SymbolId) -> Option<Poly> {
        let body = self.body;
        let parts: Vec<TermId> = [l.condition, l.step, Some(l.inner)].into_iter().flatten().collect();
        let writes = |t: &TermId| {
            matches!(body.op(*t), Op::Assign | Op::Compound(_) | Op::Step { .. })
                && body.as_symbol(body.args(*t)[0]) == Some(s)
                || matches!(body.op(*t), Op::Declare(d) if *d == s)
        };
        let all: Vec<TermId> = parts.iter().flat_map(|&t| body.walk(t)).filter(writes).collect();
        let [one] = all.as_slice() else { return None };
        let in_step = l.step.is_some_and(|step| self.always(step).contains(one));
        let continues = body.walk(l.inner).any(|t| matches!(body.op(t), Op::Continue));
        let in_body = !continues && body.args(l.inner).contains(one);
        if !in_step && !in_body {
            return None;
        }
        body.types.as_int(body.symbols[s].ty).filter(|&k| !body.arithmetic(*one).promotes(k))?;
        let (by, down) = match (body.op(*one), body.args(*one)) {
            (Op::Step { delta, .. }, _) => return Some(Poly::constant(*delta as i128)),
            (Op::Compound(BinOp::Add), &[_, v]) => (v, false),
            (Op::Compound(BinOp::Sub), &[_, v]) => (v, true),
            (Op::Assign, &[p, v]) => match (body.op(v), body.args(v)) {
                (Op::Binary(BinOp::Add), &[a, b]) if body.same(a, p) => (b, false),
                (Op::Binary(BinOp::Add), &[a, b]) if body.same(b, p) => (a, false),
                (Op::Binary(BinOp::Sub), &[a, b]) if body.same(a, p) => (b, true),
                _ => return None,
            },
            _ => return None,
        };
        let fixed = body.walk(by).all(|t| match body.op(t) {
            Op::Sym(x) => {
                !set.contains(x)
                    && !matches!(body.symbols[*x].storage, Storage::Shared | Storage::Global { .. })
            }
            Op::Int(_) | Op::Member { arrow: false, .. } | Op::Binary(_) | Op::Cast => true,
            _ => false,
        });
        if !fixed {
            return None;
        }
        let counts = l.condition.is_some_and(|c| body.walk(c).any(|t| body.as_symbol(t) == Some(s)));
        let fits = counts || body.arithmetic(*one).is_exact(body.types.as_int(body.symbols[s].ty)?);
        match walk::eval(self, by, ()) {
            // what is no counter may pass the end of its type by large steps
            Ok(Val::Int(p)) if fits || self.is_index(&p) => match down {
                true => p.scale(-1),
                false => Some(p),
            },
            _ => None,
        }
    }

    /// The expressions that a step always evaluates.
    fn always(&self, t: TermId) -> Vec<TermId> {
        match (self.body.op(t), self.body.args(t)) {
            (Op::Comma, &[a, b]) => [self.always(a), self.always(b)].concat(),
            _ => vec![t],
        }
    }
}

impl<'a> Flows<'a> for SymbolicKernel<'a> {
    /// Whether what follows can be reached.
    type Flow = bool;

    fn straight(&self, (): ()) -> bool {
        true
    }
    fn onward(&self, &falls: &bool) -> Option<()> {
        falls.then_some(())
    }
    fn then(&mut self, first: bool, second: bool) -> bool {
        first && second
    }

    fn declare(&mut self, t: TermId, s: SymbolId, init: Option<(TermId, Val)>, (): ()) -> Run<()> {
        let body = self.body;
        let symbol = &body.symbols[s];
        match (symbol.storage, init) {
            (Storage::Local, Some((init, value))) => {
                if self.exposed.contains(&s) {
                    return Ok(());
                }
                let v = match body.types.kind(symbol.ty) {
                    TypeKind::Int(kind) => match body.types.as_int(body.ty(init)) {
                        Some(_) => self.converted(init, value, *kind),
                        None => Val::Int(self.any_of(Share::Thread, *kind)),
                    },
                    TypeKind::Pointer { .. } => value,
                    _ => return Ok(()),
                };
                self.locals.insert(s, v);
            }
            (Storage::Local, None) => {
                let v = self.anything(s);
                self.locals.insert(s, v);
            }
            (_, None) => {}
            _ => return Err(KernelObstacle::Structure(t)),
        }
        Ok(())
    }

    fn branch(&mut self, b: If, (): ()) -> Run<bool> {
        let c = walk::within(self, b.node, 0, |m| m.condition(b.condition))?;
        let guards = self.guards.len();
        let before = self.locals.clone();
        self.assume(&c, true);
        let yes = walk::within(self, b.node, 1, |m| walk::statement(m, b.then, ()))?;
        self.guards.truncate(guards);
        let after = std::mem::replace(&mut self.locals, before);
        self.assume(&c, false);
        let no = match b.other {
            Some(other) => walk::within(self, b.node, 2, |m| walk::statement(m, other, ()))?,
            None => true,
        };
        match (yes, no) {
            (true, true) => {
                self.guards.truncate(guards);
                self.join(after);
            }
            // who is here went the other way
            (false, true) => {}
            (true, false) => {
                self.guards.truncate(guards);
                self.assume(&c, true);
                self.locals = after;
            }
            (false, false) => self.guards.truncate(guards),
        }
        Ok(yes || no)
    }

    fn jump(&mut self, _: TermId, _: Jump<Val>, (): ()) -> Run<bool> {
        Ok(false)
    }
    fn switch(&mut self, s: Switch<'a>, (): ()) -> Run<bool> {
        Err(KernelObstacle::Structure(s.node))
    }
    fn opaque(&mut self, t: TermId, (): ()) -> Run<bool> {
        Err(KernelObstacle::Structure(t))
    }

    fn repeat(&mut self, l: Loop, (): ()) -> Run<bool> {
        let body = self.body;
        let parts: Vec<TermId> = [l.condition, l.step, Some(l.inner)].into_iter().flatten().collect();
        let set = set_in(self.body, &parts);
        let mut growing: Vec<(SymbolId, Poly, Poly)> = Vec::new();
        let mut known: Vec<SymbolId> = set.iter().copied().filter(|s| self.locals.contains_key(s)).collect();
        known.sort();
        for s in known {
            if let (Val::Int(from), Some(by)) = (self.locals[&s].clone(), self.growth(&l, &set, s)) {
                growing.push((s, from, by));
            }
        }
        let synced = parts.iter().any(|&p| body.walk(p).any(|t| self.barriers.contains(&t)));
        let number = self.rounds.len() as u32;
        self.around.push(number);
        let counter = self.atom(if synced { Share::Block } else { Share::Thread }, Some(0), None);
        self.facts.push(Constraint::non_negative(Poly::var(counter)));
        self.rounds.push(Round { node: l.node, counter, synced });
        self.forget(&set);
        let guards = self.guards.len();
        for (s, from, by) in growing {
            let Some(grown) = by.mul(&Poly::var(counter)) else { continue };
            let Some(v) = grown.add(&from) else { continue };
            self.locals.insert(s, Val::Int(v));
            let up = self.within(&by, 0, 1 << 40);
            let sign = if up { Some(grown) } else { grown.scale(-1) };
            if let Some(p) = sign.filter(|_| up || self.within(&by, -(1 << 40), 0)) {
                self.guards.push(Constraint::non_negative(p));
            }
        }
        let node = l.node;
        if let (Some(c), true) = (l.condition, l.before) {
            let c = walk::within(self, node, 0, |m| m.condition(c))?;
            self.assume(&c, true);
        }
        let falls = walk::within(self, node, 1, |m| walk::statement(m, l.inner, ()))?;
        let continues = body.walk(l.inner).any(|t| matches!(body.op(t), Op::Continue));
        if falls || continues {
            if continues {
                self.forget(&set);
                self.guards.truncate(guards);
            }
            if let Some(step) = l.step {
                walk::within(self, node, 2, |m| walk::eval(m, step, ()))?;
            }
            if let (Some(c), false) = (l.condition, l.before) {
                walk::within(self, node, 2, |m| m.condition(c))?;
            }
        }
        self.guards.truncate(guards);
        self.around.pop();
        self.forget(&set);
        Ok(true)
    }
}
