//! Where the variables of a function live: registers, or memory where an address is needed or every access is watched.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::{Op, Storage, SymbolId, TermId};

use super::{types, Cx, Home};
use crate::code::*;

impl Cx<'_, '_, '_> {
    /// Symbols whose address is taken; also notes whether jumps can pass a declaration.
    pub(super) fn scan(&mut self, root: TermId) -> FxHashSet<SymbolId> {
        let body = self.body;
        let mut taken = FxHashSet::default();
        for t in body.walk(root) {
            match body.op(t) {
                Op::AddrOf => {
                    let mut p = body.args(t).first().copied();
                    while let Some(x) = p {
                        p = match body.op(x) {
                            Op::Sym(s) => {
                                taken.insert(*s);
                                None
                            }
                            Op::Member { arrow: false, .. } | Op::Index => body.args(x).first().copied(),
                            _ => None,
                        }
                    }
                }
                Op::Goto(_) | Op::Switch => self.jumps = true,
                _ => {}
            }
        }
        taken
    }

    pub(super) fn local_homes(&mut self, statements: TermId, taken: &FxHashSet<SymbolId>) {
        let body = self.body;
        for t in body.walk(statements) {
            let Op::Declare(s) = body.op(t) else { continue };
            let symbol = &body.symbols[*s];
            if !symbol.storage.is_local() || self.homes.contains_key(s) {
                continue;
            }
            let scalar = self.is_scalar(symbol.ty);
            if scalar && !taken.contains(s) && !self.traced {
                let reg = self.fix();
                let is_static = symbol.storage.is_static_local();
                let flag = (body.args(t).is_empty() || is_static || self.jumps).then(|| self.fix());
                self.homes.insert(*s, Home::Reg { reg, flag });
            } else {
                self.memory_home(*s);
            }
        }
    }

    pub(super) fn memory_home(&mut self, s: SymbolId) {
        let symbol = &self.body.symbols[s];
        let ty = match symbol.storage {
            Storage::Param(_) => self.decayed_param(symbol.ty),
            _ => symbol.ty,
        };
        // u64::MAX: not known before the declaration runs
        let size = self.types.size_align(ty).map_or(u64::MAX, |(s, _)| s);
        let grain = types::grain(&self.types, ty);
        let addr = self.fix();
        let var = self.new_var(symbol.name.clone(), s, size, grain);
        self.homes.insert(s, Home::Mem { addr, var });
    }

    pub(super) fn new_var(&mut self, name: Arc<str>, symbol: SymbolId, size: u64, grain: u32) -> u32 {
        let slot = self.vars.len() as u32;
        self.vars.push(Var { name, symbol, size, grain, slot });
        slot
    }
}
