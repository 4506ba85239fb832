//! Registers, instructions, jumps and constants of one function, and what is made of them in the end.

use super::{Cx, Gap};
use crate::code::*;

/// The target of a jump until it is known.
pub(super) const OPEN: u32 = u32::MAX;

impl Cx<'_, '_, '_> {
    pub(super) fn fix(&mut self) -> Reg {
        self.fixed += 1;
        self.regs = self.regs.max(self.fixed);
        self.fixed - 1
    }
    pub(super) fn temp(&mut self) -> Reg {
        self.temps(1)
    }
    pub(super) fn temps(&mut self, n: u32) -> Reg {
        let r = self.tmp.max(self.fixed);
        self.tmp = r + n;
        self.regs = self.regs.max(self.tmp);
        r
    }
    pub(super) fn emit(&mut self, ins: Ins) -> usize {
        self.ins.push(ins);
        self.terms.push(self.at);
        self.ins.len() - 1
    }
    pub(super) fn here(&mut self) -> u32 {
        self.joined = self.ins.len();
        self.ins.len() as u32
    }
    /// Where a jump leads that was emitted as [`OPEN`].
    pub(super) fn patch(&mut self, at: usize, to: u32) {
        match self.ins.get_mut(at) {
            Some(Ins::Jump { to: t })
            | Some(Ins::JumpZ { to: t, .. })
            | Some(Ins::JumpNZ { to: t, .. })
            | Some(Ins::Once { to: t, .. }) => *t = to,
            _ => {}
        }
    }
    pub(super) fn patch_all(&mut self, list: Vec<usize>, to: u32) {
        for at in list {
            self.patch(at, to);
        }
    }
    fn pool(&mut self, v: u64) -> u32 {
        if let Some(&i) = self.pool.get(&v) {
            return i;
        }
        let i = self.consts.len() as u32;
        self.consts.push(v);
        self.pool.insert(v, i);
        i
    }
    pub(super) fn set(&mut self, d: Reg, v: u64) {
        let pool = self.pool(v);
        self.emit(Ins::Const { d, pool });
    }
    pub(super) fn constant(&mut self, v: u64) -> Reg {
        let d = self.temp();
        self.set(d, v);
        d
    }
    pub(super) fn err(&self, reason: &str) -> Gap {
        Gap { reason: reason.into(), term: self.at }
    }
    pub(super) fn gap(&mut self, gap: Gap) {
        let reason = self.reasons.len() as u32;
        self.reasons.push(gap.reason);
        let at = self.at;
        self.at = gap.term;
        self.emit(Ins::Unsupported { reason });
        self.at = at;
    }

    /// A jump that was given up together with its statement leads to what says so behind it, and never to other code.
    fn close(&mut self) {
        let last = self.ins.iter().rposition(|i| matches!(i, Ins::Unsupported { .. }));
        let is_open = |i: &Ins| {
            matches!(
                i,
                Ins::Jump { to: OPEN }
                    | Ins::JumpZ { to: OPEN, .. }
                    | Ins::JumpNZ { to: OPEN, .. }
                    | Ins::Once { to: OPEN, .. }
            )
        };
        let open = self.ins.iter().rposition(is_open);
        if open > last {
            let gap = self.err("a jump without a target");
            self.gap(gap);
        }
        let mut behind = OPEN;
        for (at, ins) in self.ins.iter_mut().enumerate().rev() {
            match ins {
                Ins::Unsupported { .. } => behind = at as u32,
                Ins::Jump { to } | Ins::JumpZ { to, .. } | Ins::JumpNZ { to, .. } | Ins::Once { to, .. }
                    if *to == OPEN =>
                {
                    *to = behind;
                }
                _ => {}
            }
        }
    }

    pub(super) fn finish(mut self) -> Func {
        self.close();
        let (params, ret, name) = match self.unit.code.funcs.get(self.index as usize) {
            Some(f) => (f.params.clone(), f.ret, f.name.clone()),
            None => (Vec::new(), RetKind::Void, "".into()),
        };
        Func {
            name,
            params,
            ret,
            code: self.ins,
            terms: self.terms,
            consts: self.consts,
            slots: self.vars.len() as u32,
            vars: self.vars,
            reasons: self.reasons,
            regs: self.regs.max(1),
        }
    }
}
