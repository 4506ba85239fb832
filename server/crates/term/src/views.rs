//! Parameters of type `void *` that the function uses as one pointer type alone, as generic interfaces in C have them: `const void *A`
//! that is only read as `((const float *) A)[i]`. Such a parameter is what one of that type would be (C11 6.3.2.3p1).
//!
//! Deliberately absent: structures, of which more than the address is made by name; variables, which may hold one thing after another, and members, which other functions use as they like.

use rustc_hash::FxHashMap;

use crate::{BinOp, Body, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind, UnOp};

impl Body {
    /// Gives the parameters of type `void *` the pointer type that all their uses see them as: casts, declarations and assignments of
    /// pointers; they may be compared with null and handed on as `void *` besides.
    pub fn see_void_parameters_as_used(&mut self) {
        let mut views: FxHashMap<SymbolId, Option<TypeId>> = self
            .symbols
            .iter_ids()
            .filter(|(id, _)| self.is_void_parameter(*id))
            .map(|(id, _)| (id, None))
            .collect();
        if views.is_empty() {
            return;
        }
        let promised = self.said.promises.iter().flat_map(|p| p.says.terms());
        let beside = self.types.length_terms().chain(promised).chain(self.said.members.iter().copied());
        let roots: Vec<TermId> = beside.chain([self.root]).collect();
        let mut uses = Vec::new();
        for &root in &roots {
            if let Some(s) = self.as_symbol(root) {
                views.remove(&s);
            }
            for t in self.walk(root) {
                for (k, &a) in self.args(t).iter().enumerate() {
                    if let Some(s) = self.as_symbol(a).filter(|s| views.contains_key(s)) {
                        uses.push((s, t, k));
                    }
                }
            }
        }
        for &(s, t, k) in &uses {
            let Some(&before) = views.get(&s) else { continue };
            match self.seen_as(t, k) {
                Seen::As(e) if before.is_none_or(|b| self.types.kind(b) == self.types.kind(e)) => {
                    views.insert(s, Some(e));
                }
                Seen::AsItIs => {}
                _ => {
                    views.remove(&s);
                }
            }
        }
        let views: FxHashMap<SymbolId, TypeId> =
            views.into_iter().filter_map(|(s, e)| Some((s, e?))).collect();
        for (&s, &element) in &views {
            let ty = self.symbols[s].ty;
            let (quals, void) = (self.types.quals(ty), self.types.element(ty));
            let const_alone = crate::Quals {
                is_const: void.is_some_and(|v| self.types.quals(v).is_const),
                ..Default::default()
            };
            let to = self.types.with_quals(element, const_alone);
            let pointer = self.types.pointer(to);
            self.symbols[s].ty = self.types.with_quals(pointer, quals);
        }
        self.said.seen = views.keys().copied().collect();
        self.said.seen.sort_unstable();
        for (s, t, k) in uses {
            let Some(&element) = views.get(&s) else { continue };
            let ty = self.symbols[s].ty;
            let mention = self.terms[t].args[k];
            self.terms[mention].ty = ty;
            // a cast that leaves out `const` may be there to write, and stays
            let quals = |ty| self.types.element(ty).map(|e| self.types.quals(e).is_const).unwrap_or_default();
            if *self.op(t) == Op::Cast
                && self.types.element(self.ty(t)).is_some()
                && (quals(self.ty(t)) || !quals(ty))
            {
                debug_assert!(self
                    .types
                    .element(self.ty(t))
                    .is_some_and(|e| self.types.kind(e) == self.types.kind(element)));
                self.terms[t].op = Op::Sym(s);
                self.terms[t].args = Box::default();
                self.terms[t].ty = ty;
            }
        }
    }

    fn is_void_parameter(&self, s: SymbolId) -> bool {
        let symbol = &self.symbols[s];
        let (TypeKind::Pointer { to, declared: Len::Unknown, .. }, Storage::Param(_)) =
            (self.types.kind(symbol.ty), &symbol.storage)
        else {
            return false;
        };
        let quals = self.types.quals(*to);
        *self.types.kind(*to) == TypeKind::Void
            && !symbol.address_taken
            && !quals.is_volatile
            && !quals.is_atomic
    }

    /// What the mention at that argument of a term is seen as.
    fn seen_as(&self, t: TermId, k: usize) -> Seen {
        let args = self.args(t);
        let pointee = |ty| match self.types.element(ty) {
            Some(e) if *self.types.kind(e) == TypeKind::Void => Seen::AsItIs,
            Some(e)
                if self.types.is_arithmetic(e) && matches!(self.types.kind(ty), TypeKind::Pointer { .. }) =>
            {
                let quals = self.types.quals(e);
                match quals.is_volatile || quals.is_atomic {
                    true => Seen::Otherwise,
                    false => Seen::As(e),
                }
            }
            _ => Seen::Otherwise,
        };
        match self.op(t) {
            Op::Cast => match pointee(self.ty(t)) {
                Seen::AsItIs => Seen::Otherwise,
                seen => seen,
            },
            Op::Declare(s) => pointee(self.symbols[*s].ty),
            Op::Assign if k == 1 => pointee(self.ty(args[0])),
            Op::Unary(UnOp::Not) => Seen::AsItIs,
            Op::If if k == 0 => Seen::AsItIs,
            Op::Binary(op) if op.is_logical() => Seen::AsItIs,
            Op::Binary(BinOp::Eq | BinOp::Ne) => {
                let mut other = args[1 - k];
                while let (Op::Cast, &[inner]) = (self.op(other), self.args(other)) {
                    other = inner;
                }
                match self.as_int(other) {
                    Some(0) => Seen::AsItIs,
                    _ => Seen::Otherwise,
                }
            }
            Op::Call if k > 0 => {
                let function = self.ty(args[0]);
                let function = self.types.element(function).unwrap_or(function);
                match self.types.kind(function) {
                    TypeKind::Function { params, .. } => match params.get(k - 1).map(|&p| pointee(p)) {
                        Some(Seen::AsItIs) => Seen::AsItIs,
                        _ => Seen::Otherwise,
                    },
                    _ => Seen::Otherwise,
                }
            }
            _ => Seen::Otherwise,
        }
    }
}

/// What a use makes of a `void *`.
enum Seen {
    /// A pointer to that type.
    As(TypeId),
    /// The address alone.
    AsItIs,
    /// Something else.
    Otherwise,
}
