//! Pointers that start in one array at places a constant apart: a test at run time whether they overlap would only ever
//! say yes, so no verdict may rest on it.
//!
//! Deliberately coarse: every value the variable is given counts, wherever it stands. With values from several arrays, or
//! at a distance that the inputs decide, a test at run time does tell.

use term::{BinOp, Op, Storage, SymbolId, TermId, TypeKind};

use crate::flow::counted_loop;
use crate::limits::nest_together::MAX_STEPS;
use crate::nest::Model;

impl Model<'_> {
    /// Whether both variables, whatever the inputs, start in the same object at places a constant apart.
    pub(crate) fn start_together(&self, a: SymbolId, b: SymbolId) -> bool {
        self.start(a, 0).is_some_and(|s| self.start(b, 0) == Some(s))
    }

    /// The variable in whose object the pointer starts, at a constant place.
    fn start(&self, s: SymbolId, depth: u32) -> Option<SymbolId> {
        let body = self.body;
        let symbol = &body.symbols[s];
        let pointer = matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. });
        if !pointer || matches!(symbol.storage, Storage::Path) {
            return Some(s);
        }
        if depth > MAX_STEPS || symbol.address_taken {
            return None;
        }
        let mut starts = Vec::new();
        if !matches!(symbol.storage, Storage::Local) && !self.assigned_before(s) {
            starts.push(s);
        }
        for &w in self.effects.writes.get(&s).map_or(&[][..], Vec::as_slice) {
            let value = match (body.op(w), body.args(w)) {
                (Op::Declare(_), args) => match args.first() {
                    Some(&v) => v,
                    None => continue,
                },
                (Op::Assign, &[_, v]) => v,
                // What the loop itself adds does not change where it starts.
                (Op::Step { .. } | Op::Compound(_), _) if self.is_in_root(w) => continue,
                (Op::Step { .. }, _) => continue,
                (Op::Compound(BinOp::Add | BinOp::Sub), &[_, k]) => {
                    counted_loop::constant(body, k)?;
                    continue;
                }
                _ => return None,
            };
            let Some(base) = self.constant_base(value, false, 0) else {
                // One value that is not derived from another variable (an allocation, say): what others start from.
                let only = matches!(symbol.storage, Storage::Local)
                    && self.effects.writes.get(&s).is_some_and(|w| w.len() == 1);
                return only.then_some(s);
            };
            if base != s {
                starts.push(self.start(base, depth + 1)?);
            }
        }
        let first = *starts.first()?;
        starts.iter().all(|&o| o == first).then_some(first)
    }

    /// The variable to which the address is a constant number of bytes away. `place`: the term's address is meant, not
    /// its value.
    fn constant_base(&self, t: TermId, place: bool, depth: u32) -> Option<SymbolId> {
        let body = self.body;
        if depth > 40 {
            return None;
        }
        let args = body.args(t);
        let value = !place && matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. });
        match body.op(t) {
            Op::Sym(s) => Some(*s),
            Op::Cast => self.constant_base(*args.first()?, place, depth + 1),
            Op::AddrOf => self.constant_base(*args.first()?, true, depth + 1),
            Op::Binary(BinOp::Add | BinOp::Sub) => {
                let (a, b) = (*args.first()?, *args.get(1)?);
                let (base, offset) = if body.types.as_int(body.ty(a)).is_some() { (b, a) } else { (a, b) };
                counted_loop::constant(body, offset)?;
                self.constant_base(base, false, depth + 1)
            }
            Op::Index | Op::Deref | Op::Member { .. } if value => body.path_of(t).map(|p| p.own),
            Op::Index => {
                counted_loop::constant(body, *args.get(1)?)?;
                self.constant_base(*args.first()?, false, depth + 1)
            }
            Op::Deref => self.constant_base(*args.first()?, false, depth + 1),
            Op::Member { arrow, .. } => self.constant_base(*args.first()?, !*arrow, depth + 1),
            _ => None,
        }
    }

    /// Whether a statement that always runs before the loop gives the variable a new value.
    fn assigned_before(&self, s: SymbolId) -> bool {
        let body = self.body;
        let mut at = self.root;
        while let Some(p) = self.effects.parent(at) {
            if *body.op(p) == Op::List {
                let before = body.args(p).iter().take_while(|&&t| t != at);
                for &t in before {
                    if *body.op(t) == Op::Assign
                        && body.args(t).first().is_some_and(|&l| body.as_symbol(l) == Some(s))
                    {
                        return true;
                    }
                }
            }
            at = p;
        }
        false
    }

    fn is_in_root(&self, t: TermId) -> bool {
        let mut at = Some(t);
        while let Some(x) = at {
            if x == self.root {
                return true;
            }
            at = self.effects.parent(x);
        }
        false
    }
}
