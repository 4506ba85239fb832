//! Statements: loops, jumps, labels.

use std::sync::Arc;

use term::{Op, TermId};

use super::emit::OPEN;
use super::types::Class;
use super::{Cx, Home, LoopCx, MAX_DEPTH, R};
use crate::code::*;

impl Cx<'_, '_, '_> {
    /// A statement. A gap in it becomes a faulting instruction; what follows is compiled all the same.
    pub(super) fn stmt(&mut self, t: TermId) {
        let was = std::mem::replace(&mut self.at, t);
        self.tmp = self.fixed;
        if self.depth >= MAX_DEPTH {
            let gap = self.err("statements nested deeper than this machine follows");
            self.gap(gap);
        } else {
            self.depth += 1;
            if let Err(gap) = self.stmt_at(t) {
                self.gap(gap);
            }
            self.depth -= 1;
        }
        self.at = was;
    }

    fn stmt_at(&mut self, t: TermId) -> R<()> {
        let body = self.body;
        let args = body.args(t);
        match (body.op(t), args) {
            (Op::Empty | Op::Mark(_), _) => Ok(()),
            (Op::List, items) => {
                self.enter_list(t)?;
                for &i in items {
                    self.stmt(i);
                }
                self.scopes.open.pop();
                Ok(())
            }
            (Op::Declare(s), args) => self.declare(*s, args.first().copied(), t),
            (Op::If, _) => self.if_chain(t),
            (Op::For, &[init, cond, step, inner, ..]) => {
                self.stmt(init);
                self.for_loop(t, cond, step, inner)
            }
            (Op::While, &[cond, inner, ..]) => self.for_loop(t, cond, cond, inner),
            (Op::DoWhile, &[inner, cond, ..]) => self.do_loop(t, inner, cond),
            (Op::Break, _) => {
                let at = self.emit(Ins::Jump { to: OPEN });
                match self.nest.last_mut() {
                    Some(l) => l.breaks.push(at),
                    None => return Err(self.err("break outside of a loop")),
                }
                Ok(())
            }
            (Op::Continue, _) => {
                let at = self.emit(Ins::Jump { to: OPEN });
                match self.nest.iter_mut().rev().find(|l| !l.is_switch) {
                    Some(l) => l.continues.push(at),
                    None => return Err(self.err("continue outside of a loop")),
                }
                Ok(())
            }
            (Op::Goto(name), _) => {
                self.enter_by_goto(name)?;
                let at = self.emit(Ins::Jump { to: OPEN });
                self.gotos.push((at, name.clone(), t));
                Ok(())
            }
            (Op::Label(name), rest) => {
                let here = self.here();
                self.labels.insert(name.clone(), here);
                if self.traced {
                    self.emit(Ins::LoopSync { depth: self.watch_depth });
                }
                for &i in rest {
                    self.stmt(i);
                }
                Ok(())
            }
            (Op::Switch, &[value, inner]) => self.switch(t, value, inner),
            (Op::Case | Op::Default, _) => {
                let here = self.here();
                self.cases.insert(t, here);
                Ok(())
            }
            (Op::Return, args) => self.ret(args.first().copied()),
            (Op::Reject(r), _) => Err(self.err(&body.reject(*r).reason.clone())),
            _ => self.effect(t),
        }
    }

    /// `if … else if … else …` without recursion on the chain.
    fn if_chain(&mut self, t: TermId) -> R<()> {
        let body = self.body;
        let mut ends = Vec::new();
        let mut at = t;
        loop {
            self.at = at;
            self.tmp = self.fixed;
            let args = body.args(at);
            let &[cond, then, ref rest @ ..] = args else {
                return Err(self.err("an if without a condition"));
            };
            let no = self.decide(cond, false, at)?;
            self.stmt(then);
            let Some(&other) = rest.first() else {
                let here = self.here();
                self.patch_all(no, here);
                break;
            };
            ends.push(self.emit(Ins::Jump { to: OPEN }));
            let here = self.here();
            self.patch_all(no, here);
            // an `else` list that holds only another `if` continues the chain
            let next = match (body.op(other), body.args(other)) {
                (Op::If, _) => Some(other),
                (Op::List, &[one]) if matches!(body.op(one), Op::If) => Some(one),
                _ => None,
            };
            match next {
                Some(n) => at = n,
                None => {
                    self.stmt(other);
                    break;
                }
            }
        }
        let here = self.here();
        self.patch_all(ends, here);
        Ok(())
    }

    fn enter_watched(&mut self, t: TermId) -> Option<u32> {
        let l = self.watched.get(&t).copied()?;
        self.emit(Ins::LoopEnter { l });
        self.watch_depth += 1;
        Some(l)
    }

    fn iterate_watched(&mut self, l: Option<u32>) {
        let Some(l) = l else { return };
        let index = self.unit.code.watched[l as usize].index;
        let (mut reg, mut kind) = (NONE, Mem::I32);
        if let Some(s) = index {
            if let (Some(Home::Mem { addr, .. }), Class::Int(k)) =
                (self.homes.get(&s), self.class(self.body.symbols[s].ty))
            {
                reg = *addr;
                kind = super::types::int_mem(k);
            }
        }
        self.emit(Ins::LoopIter { l, index: reg, index_kind: kind as u8 });
    }

    fn leave_watched(&mut self, l: Option<u32>) {
        if let Some(l) = l {
            self.watch_depth -= 1;
            self.emit(Ins::LoopExit { l });
        }
    }

    fn for_loop(&mut self, t: TermId, cond: TermId, step: TermId, inner: TermId) -> R<()> {
        let body = self.body;
        let is_for = matches!(body.op(t), Op::For);
        let l = self.enter_watched(t);
        let top = self.here();
        self.iterate_watched(l);
        self.tmp = self.fixed;
        // gaps in the condition must not lose the loop's own bookkeeping
        let exits =
            if matches!(body.op(cond), Op::Empty) { Ok(Vec::new()) } else { self.decide(cond, false, t) };
        let exits = match exits {
            Ok(e) => e,
            Err(gap) => {
                self.gap(gap);
                Vec::new()
            }
        };
        self.nest.push(LoopCx::default());
        self.stmt(inner);
        let cx = self.nest.pop().unwrap_or_default();
        let here = self.here();
        self.patch_all(cx.continues, here);
        if is_for {
            self.tmp = self.fixed;
            self.at = step;
            if let Err(gap) = self.effect(step) {
                self.gap(gap);
            }
            self.at = t;
        }
        self.emit(Ins::Jump { to: top });
        let here = self.here();
        self.patch_all(exits, here);
        self.patch_all(cx.breaks, here);
        self.leave_watched(l);
        Ok(())
    }

    fn do_loop(&mut self, t: TermId, inner: TermId, cond: TermId) -> R<()> {
        let l = self.enter_watched(t);
        let top = self.here();
        self.iterate_watched(l);
        self.nest.push(LoopCx::default());
        self.stmt(inner);
        let cx = self.nest.pop().unwrap_or_default();
        let here = self.here();
        self.patch_all(cx.continues, here);
        self.tmp = self.fixed;
        match self.decide(cond, true, t) {
            Ok(list) => self.patch_all(list, top),
            Err(gap) => self.gap(gap),
        }
        let here = self.here();
        self.patch_all(cx.breaks, here);
        self.leave_watched(l);
        Ok(())
    }

    fn switch(&mut self, t: TermId, value: TermId, inner: TermId) -> R<()> {
        let body = self.body;
        self.enter_by_switch(t)?;
        let v = self.rvalue(value)?;
        let Class::Int(k) = self.class(v.ty) else {
            return Err(self.err("a switch on something that is no integer"));
        };
        let ty = self.types.int(k.promoted());
        let v = self.convert(v, ty)?;
        // this switch's own labels, not those of switches inside
        let mut labels = Vec::new();
        let mut walk = body.walk(inner);
        while let Some(x) = walk.next() {
            match body.op(x) {
                Op::Switch => walk.skip_children_of(x),
                Op::Case | Op::Default => labels.push(x),
                _ => {}
            }
        }
        let mut jumps = Vec::new();
        let mut default = None;
        for l in labels {
            match (body.op(l), body.args(l)) {
                (Op::Case, &[c]) => {
                    let tmp = self.tmp;
                    let c = self.rvalue(c)?;
                    if !matches!(self.class(c.ty), Class::Int(_)) {
                        return Err(self.err("a case that is no integer"));
                    }
                    let c = self.convert(c, ty)?;
                    let d = self.temp();
                    self.emit(Ins::Bin { op: Bin::Eq, d, a: v.reg, b: c.reg });
                    let at = self.emit(Ins::JumpNZ { a: d, to: OPEN });
                    if self.unit.options.decisions {
                        self.unit.code.decisions.insert((self.index, at as u32), l);
                    }
                    jumps.push((at, l));
                    self.tmp = tmp;
                }
                (Op::Case, _) => return Err(self.err("a case range")),
                _ => default = Some(l),
            }
        }
        let rest = self.emit(Ins::Jump { to: OPEN });
        self.nest.push(LoopCx { is_switch: true, ..LoopCx::default() });
        self.stmt(inner);
        let cx = self.nest.pop().unwrap_or_default();
        let end = self.here();
        for (at, l) in jumps {
            let to = self.cases.get(&l).copied().unwrap_or(end);
            self.patch(at, to);
        }
        let to = default.and_then(|l| self.cases.get(&l).copied()).unwrap_or(end);
        self.patch(rest, to);
        self.patch_all(cx.breaks, end);
        Ok(())
    }

    fn ret(&mut self, value: Option<TermId>) -> R<()> {
        let Some(t) = value else {
            self.emit(Ins::Ret { a: NONE });
            return Ok(());
        };
        let Some(ty) = self.ret_ty else {
            return Err(self.err("a return from a function of unknown type"));
        };
        if self.class(ty) == Class::Void {
            self.effect(t)?;
            self.emit(Ins::Ret { a: NONE });
            return Ok(());
        }
        let v = self.rvalue(t)?;
        let v = self.convert(v, ty)?;
        match self.ret {
            RetKind::Record(size) => {
                let p = self.ret_addr;
                self.emit(Ins::Copy { p, a: v.reg, size });
                self.emit(Ins::Ret { a: p });
            }
            RetKind::Value(_) => {
                self.emit(Ins::Ret { a: v.reg });
            }
            RetKind::Void => return Err(self.no_value(ty)),
        }
        Ok(())
    }

    pub(super) fn patch_gotos(&mut self) {
        let gotos: Vec<(usize, Arc<str>, TermId)> = std::mem::take(&mut self.gotos);
        for (at, name, t) in gotos {
            match self.labels.get(&name).copied() {
                Some(to) => self.patch(at, to),
                None => {
                    let reason = self.reasons.len() as u32;
                    self.reasons.push(format!("goto to the unknown label `{name}`").into());
                    if let Some(i) = self.ins.get_mut(at) {
                        *i = Ins::Unsupported { reason };
                    }
                    if let Some(x) = self.terms.get_mut(at) {
                        *x = t;
                    }
                }
            }
        }
    }
}
