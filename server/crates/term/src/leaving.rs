//! Addresses that are taken on the way out: `if (info) { xerbla("DSCAL", &i); return 0; }`. Whoever gets such an address may change the
//! variable, but the function is left before a loop could see it: for what is said of loops the variable is one that nothing else reaches.

use rustc_hash::FxHashMap;

use crate::{Body, Op, Storage, SymbolId, TermId};

impl Body {
    /// Takes back of the function's own numbers that their address is known elsewhere, where it is taken only on the way out.
    pub fn note_leaving(&mut self) {
        let is_number = |s: &crate::Symbol| {
            let quals = self.types.quals(s.ty);
            matches!(s.storage, Storage::Local | Storage::Param(_))
                && s.address_taken
                && self.types.is_arithmetic(s.ty)
                && !quals.is_volatile
                && !quals.is_atomic
        };
        // how often the address of each is taken, and how often on the way out
        let mut taken: FxHashMap<SymbolId, (u32, u32)> =
            self.symbols.iter_ids().filter(|(_, s)| is_number(s)).map(|(id, _)| (id, (0, 0))).collect();
        if taken.is_empty() || self.jumps_unseen(self.root) {
            return;
        }
        let parents = self.parents();
        for t in self.walk(self.root) {
            let &[place] = self.args(t) else { continue };
            if *self.op(t) != Op::AddrOf {
                continue;
            }
            let Some(of) = self.as_symbol(place).and_then(|s| taken.get_mut(&s)) else { continue };
            of.0 += 1;
            of.1 += u32::from(self.is_on_the_way_out(t, &parents));
        }
        for (s, (all, leaving)) in taken {
            if all > 0 && all == leaving {
                self.symbols[s].address_taken = false;
            }
        }
    }

    /// Whether from the term on the function runs straight to a `return`, through no loop and by no label.
    fn is_on_the_way_out(&self, t: TermId, parents: &[Option<TermId>]) -> bool {
        let mut at = t;
        loop {
            if *self.op(at) == Op::Return {
                return true;
            }
            let Some(around) = parents.get(at.0 as usize).copied().flatten() else { return false };
            if *self.op(around) == Op::List {
                let all = self.args(around);
                let from = all.iter().position(|&x| x == at).map_or(&all[..0], |k| &all[k..]);
                let straight = |x: TermId| {
                    let op = self.op(x);
                    !op.is_loop()
                        && !matches!(op, Op::Label(_) | Op::Goto(_) | Op::Case | Op::Default | Op::Break)
                        && !matches!(op, Op::Continue | Op::Reject(_))
                };
                let leaves = from.last().is_some_and(|&last| *self.op(last) == Op::Return);
                return leaves && from.iter().all(|&s| self.walk(s).all(straight));
            }
            if self.op(around).is_loop() {
                return false;
            }
            at = around;
        }
    }
}
