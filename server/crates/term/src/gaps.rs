//! What a place that was not understood may do: the one answer that every analysis asks.
//!
//! A gap may read and write whatever others can reach (file-scope variables, memory behind pointers, variables whose
//! address is taken) and the function's own variables that it names; one whose text is not seen, all of them. Deliberately
//! absent: that hidden text takes the address of a variable of the function and leaves it somewhere: it would have to be
//! written for that very function.

use crate::{Body, Op, Reach, Storage, SymbolId, TermId, TypeKind};

impl Body {
    /// How far the gap `t` reaches; `None`: the term is understood.
    pub fn reach(&self, t: TermId) -> Option<Reach> {
        match self.op(t) {
            Op::Reject(r) => Some(self.reject(*r).reach),
            // What no front end makes of a program's text.
            Op::Var(_) | Op::Name(_) | Op::Cons => Some(Reach::Anything),
            _ => None,
        }
    }

    /// The variables (and paths through memory) that the gap `t` may write, or read, where it runs; none for other terms.
    pub fn touched_by_gap(&self, t: TermId) -> Vec<SymbolId> {
        let Some(reach) = self.reach(t) else { return Vec::new() };
        let mut out: Vec<SymbolId> = self
            .symbols
            .iter_ids()
            .filter(|(_, s)| match s.storage {
                Storage::Function | Storage::Constant(_) | Storage::Builtin => false,
                Storage::Local | Storage::Param(_) => reach == Reach::Anything || s.address_taken,
                _ => true,
            })
            .map(|(id, _)| id)
            .collect();
        if reach == Reach::Named {
            for s in self.walk(t).filter_map(|x| self.as_symbol(x)) {
                if !out.contains(&s)
                    && !matches!(self.types.kind(self.symbols[s].ty), TypeKind::Function { .. })
                {
                    out.push(s);
                }
            }
        }
        out
    }

    /// Those of them that the gap may write: what stands in it as a value (in [`Op::Arithmetic`], of languages in which that is all
    /// that a use of a variable can be) is only read.
    pub fn written_by_gap(&self, t: TermId) -> Vec<SymbolId> {
        let mut out = self.touched_by_gap(t);
        if self.reach(t) != Some(Reach::Named) {
            return out;
        }
        let (mut read, mut named) = (Vec::new(), Vec::new());
        let mut stack: Vec<(TermId, bool)> = self.args(t).iter().map(|&a| (a, false)).collect();
        while let Some((x, is_value)) = stack.pop() {
            if let Some(s) = self.as_symbol(x) {
                if is_value { &mut read } else { &mut named }.push(s);
            }
            let is_value = is_value || matches!(self.op(x), Op::Arithmetic(_));
            stack.extend(self.args(x).iter().map(|&a| (a, is_value)));
        }
        let own = |s: SymbolId| {
            let symbol = &self.symbols[s];
            matches!(symbol.storage, Storage::Local | Storage::Param(_)) && !symbol.address_taken
        };
        out.retain(|s| !(own(*s) && read.contains(s) && !named.contains(s)));
        out
    }

    /// Whether control may come to places under `t`, or leave them, by ways that are not in the terms: hidden text, or a
    /// function that returns a second time (C11 7.13.1.1).
    pub fn jumps_unseen(&self, t: TermId) -> bool {
        self.walk(t).any(|x| self.reach(x) == Some(Reach::Anything) || self.returns_twice(x))
    }

    /// Whether the call may return more than once.
    fn returns_twice(&self, t: TermId) -> bool {
        let (Op::Call, Some(&f)) = (self.op(t), self.args(t).first()) else { return false };
        let name = self.as_symbol(f).map(|s| &*self.symbols[s].name);
        let known = [
            "setjmp",
            "_setjmp",
            "__sigsetjmp",
            "sigsetjmp",
            "savectx",
            "vfork",
            "getcontext",
            "swapcontext",
        ];
        name.is_some_and(|n| known.contains(&n.trim_start_matches("__builtin_")))
    }
}
