//! Where pointers go in a function: what it stores, and what it gives to others.

use std::collections::BTreeSet;

use term::{Op, Storage, TermId, TypeKind};

use super::Scan;
use crate::flow::fresh::{is_null, uncast};
use crate::flow::library::library_call;
use crate::flow::parts::holds_pointer;
use crate::{Roots, Through, TroubleKind};

impl Scan<'_> {
    /// What a pointer value points into may be reached later through what it is stored in: `place`, or a variable of its own.
    pub(super) fn keep(&mut self, value: TermId, place: Option<TermId>) {
        let body = self.body;
        let place = place.map_or_else(Roots::default, |p| self.roots_of_place(p, 0));
        let is_made = |r: &Roots| *r == Roots { fresh: r.fresh, ..Roots::default() };
        let is_global = Roots { globals: BTreeSet::new(), through_globals: BTreeSet::new(), ..place.clone() }
            == Roots::default();
        let is_elsewhere = is_global && !is_made(&place);
        // A struct that holds pointers is filled member by member, and that is seen where it happens.
        let mut stack = vec![value];
        while let Some(v) = stack.pop() {
            if *body.op(v) == Op::InitList {
                stack.extend(body.args(v));
            } else if body.types.element(body.ty(v)).is_some() {
                let r = self.roots_of(v, 0);
                self.out.stores_others |= !is_made(&r) && !is_elsewhere;
                self.out.tells_new |= (r.fresh || r.unknown) && !is_made(&place);
                self.touch(&r, Through { kept: true, ..Through::default() });
            } else if holds_pointer(body, body.ty(v)) {
                self.out.stores_others = true;
                self.out.tells_new |= !is_made(&place);
            }
        }
    }

    pub(super) fn store(&mut self, place: TermId, value: Option<TermId>) {
        let is_own = |s: &term::Symbol| s.is_own_scalar() && !s.storage.is_static_local();
        let own_pointer = self.body.as_symbol(place).is_some_and(|s| is_own(&self.body.symbols[s]));
        if let (Some(v), false) = (value, own_pointer) {
            self.keep(v, Some(place));
        }
    }

    /// What a function of which nothing is known is given.
    fn hand_out(&mut self, call: TermId) {
        for &a in self.body.args(call).iter().skip(1) {
            self.out.hands_out |= self.shows_memory(a);
            if self.body.types.element(self.body.ty(a)).is_some() {
                let r = self.roots_of(a, 0);
                self.touch(&r, Through { kept: true, handed: true, ..Through::default() });
            }
        }
    }

    /// Whether who is given the value may come by it to memory that was made, or to what is found in memory; what it finds through the
    /// parameters is told of them.
    fn shows_memory(&self, value: TermId) -> bool {
        let body = self.body;
        let v = uncast(body, value);
        if body.types.is_arithmetic(body.ty(v)) || is_null(body, v) || matches!(body.op(v), Op::Str(_)) {
            return false;
        }
        let Some(to) = body.types.element(body.ty(v)) else { return true };
        if matches!(body.types.kind(to), TypeKind::Function { .. }) {
            return false;
        }
        let r = self.roots_of(v, 0);
        let is_parameter = !r.params.is_empty() && body.as_symbol(v).is_some();
        r.fresh || r.unknown || !body.types.is_arithmetic(to) && !is_parameter
    }

    pub(super) fn call(&mut self, call: TermId) {
        let body = self.body;
        let args = body.args(call);
        let Some(f) = body.callee(call) else {
            self.hand_out(call);
            return self.trouble(TroubleKind::IndirectCall, "");
        };
        let symbol = &body.symbols[f];
        let name = symbol.name.clone();
        if !matches!(symbol.storage, Storage::Function | Storage::Undeclared | Storage::Builtin) {
            self.hand_out(call);
            return self.trouble(TroubleKind::IndirectCall, &name);
        }
        self.out.calls.insert(name.clone());
        let pointer =
            |k: usize| args.get(k + 1).copied().filter(|&a| body.types.element(body.ty(a)).is_some());
        if body.library.contains(&f) {
            let Some(e) = library_call(body, call) else {
                self.hand_out(call);
                return self.trouble(TroubleKind::UnknownCall, &name);
            };
            for k in 0..args.len().saturating_sub(1) {
                let Some(a) = pointer(k) else { continue };
                let r = self.roots_of(a, 0);
                self.touch(&r, e.through(k));
                self.out.hands_out |= e.keeps != 0 && (r.fresh || r.unknown);
            }
            if let Some(kind) = e.trouble {
                self.trouble(kind, &name);
            }
            return;
        }
        let Some(summary) = self.callee(call).cloned() else {
            self.hand_out(call);
            return self.trouble(TroubleKind::UnknownCall, &name);
        };
        for (k, through) in summary.params.iter().enumerate() {
            if let Some(a) = pointer(k) {
                let r = self.roots_of(a, 0);
                self.touch(&r, *through);
                self.out.hands_out |= through.handed && self.shows_memory(a);
                self.out.tells_new |= through.kept && !through.handed && (r.fresh || r.unknown);
            }
        }
        for (g, u) in &summary.globals {
            let mine = self.out.globals.entry(g.clone()).or_default();
            mine.own.join(u.own);
            mine.through.join(u.through);
        }
        self.out.hands_out |= summary.hands_out;
        self.out.stores_others |= summary.stores_others;
        self.out.tells_new |= summary.tells_new;
        self.out.reads_unknown |= summary.reads_unknown;
        self.out.writes_unknown |= summary.writes_unknown;
        for (k, n) in &summary.troubles {
            let n = if n.is_empty() { &name } else { n };
            self.out.troubles.entry(*k).or_insert_with(|| n.clone());
        }
    }
}
