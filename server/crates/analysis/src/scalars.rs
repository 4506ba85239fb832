//! Variables that need no cell of their own between iterations: privates, inductions, reductions.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, SymbolId, TermId, TypeKind};

use crate::liveness::exposed_reads;
use crate::loops::Context;
use crate::nest::{Access, Model};
use crate::reductions::{updates, Update};
use crate::{Control, Induction, Object, Private, Reduction};

pub(crate) struct Scalars {
    index: SymbolId,
    pub privates: Vec<Private>,
    pub inductions: Vec<Induction>,
    pub reductions: Vec<Reduction>,
    /// Terms that belong to the reduction of that number.
    pub groups: FxHashMap<TermId, usize>,
    aside: FxHashSet<SymbolId>,
    /// Objects that each iteration has for itself.
    own: FxHashSet<SymbolId>,
}

impl Scalars {
    pub(crate) fn new(cx: &Context<'_>, model: &Model<'_>, control: &Control) -> Scalars {
        let body = cx.body;
        let root = model.root;
        let parts = body.loop_parts(root);
        let inner = parts.map_or(root, |p| p.body);
        let header = parts.map_or([None, None], |p| [p.condition, p.step]);
        let mut written: Vec<SymbolId> = cx.effects.writes_in(root).iter().copied().collect();
        written.sort_unstable();
        let exposed = [Some(inner), header[0], header[1]]
            .into_iter()
            .flatten()
            .map(|part| exposed_reads(body, &[part]))
            .collect::<Option<Vec<_>>>();
        let exposed: Option<FxHashSet<SymbolId>> = exposed.map(|v| v.into_iter().flatten().collect());
        let mut s = Scalars {
            index: control.index,
            privates: Vec::new(),
            inductions: Vec::new(),
            reductions: Vec::new(),
            groups: FxHashMap::default(),
            aside: FxHashSet::default(),
            own: FxHashSet::default(),
        };
        s.aside.insert(control.index);
        s.own = model.own_objects();
        for &(symbol, k, update) in &model.inductions {
            s.inductions.push(Induction { symbol, step: k, update });
            s.aside.insert(symbol);
        }
        for &symbol in &written {
            let v = &body.symbols[symbol];
            let scalar = matches!(
                body.types.kind(v.ty),
                TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Pointer { .. }
            );
            if model.declared_inside(symbol) {
                s.privates.push(Private { symbol, declared_inside: true });
                continue;
            }
            if s.aside.contains(&symbol) || !scalar || !v.is_own_scalar() {
                continue;
            }
            let comes_in = exposed.as_ref().is_none_or(|e| e.contains(&symbol));
            if !comes_in && !cx.liveness.is_live_after(root, symbol) {
                s.privates.push(Private { symbol, declared_inside: false });
                s.aside.insert(symbol);
            }
        }
        s.find_reductions(cx, model, inner);
        s
    }

    fn find_reductions(&mut self, cx: &Context<'_>, model: &Model<'_>, inner: TermId) {
        let body = cx.body;
        let mut left: Vec<Update> = updates(body, inner)
            .into_iter()
            .filter(|u| match body.as_symbol(u.place) {
                Some(s) => !self.aside.contains(&s) && !model.declared_inside(s) && !self.is_const(body, s),
                None => is_fixed_cell(model, u.place),
            })
            .collect();
        while let Some(first) = left.first().cloned() {
            let (same, rest): (Vec<Update>, Vec<Update>) =
                left.into_iter().partition(|u| body.same(u.place, first.place));
            left = rest;
            if same.iter().any(|u| u.op != first.op) {
                continue;
            }
            let occurrences: FxHashSet<TermId> =
                same.iter().flat_map(|u| u.occurrences.iter().copied()).collect();
            if let Some(s) = body.as_symbol(first.place) {
                // Used for nothing else in the whole loop.
                let all = body.walk(model.root).filter(|&x| body.as_symbol(x) == Some(s)).count();
                if all != occurrences.len() {
                    continue;
                }
            }
            let Some(base) = crate::nest::base_symbol(body, first.place) else {
                continue;
            };
            let number = self.reductions.len();
            for o in &occurrences {
                self.groups.insert(*o, number);
            }
            self.reductions.push(Reduction {
                object: Object { symbol: base, fields: Vec::new() },
                place: first.place,
                op: first.op,
                ty: body.ty(first.place),
                updates: same.iter().map(|u| u.statement).collect(),
            });
        }
    }

    fn is_const(&self, body: &Body, s: SymbolId) -> bool {
        body.types.quals(body.symbols[s].ty).is_const
    }

    pub(crate) fn set_aside(&self, a: &Access) -> bool {
        (a.subs.is_empty() && a.fields.is_empty() && self.aside.contains(&a.base))
            || (a.base == self.index && a.subs.is_empty() && a.fields.is_empty())
            || self.own.contains(&a.base)
    }

    pub(crate) fn same_group(&self, a: &Access, b: &Access) -> bool {
        match (self.groups.get(&a.term), self.groups.get(&b.term)) {
            (Some(x), Some(y)) => x == y,
            _ => false,
        }
    }
}

/// Whether an element's place does not move during the loop.
fn is_fixed_cell(model: &Model<'_>, place: TermId) -> bool {
    let mut seen = false;
    for a in model.accesses.iter().filter(|a| a.term == place) {
        seen = true;
        let fixed =
            a.subs.iter().all(|s| s.value.as_ref().is_some_and(|p| p.vars().all(|v| model.is_param(v))));
        if !fixed {
            return false;
        }
    }
    seen
}
