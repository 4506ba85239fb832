//! Pointers into buffers: in a kernel they are positions, counted in elements.
//!
//! A pointer that is set once keeps its position. One that the loop moves has a position of its own in every thread: each
//! iteration knows where it begins (a walk), or it is set before it is used. Whatever value it gets leads into one buffer.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Walk;
use term::{BinOp, Body, Op, SymbolId, TermId, TypeKind};

use super::bounds::constant;
use super::build::Builder;
use super::names::Namer;
use super::support::Support;
use super::{RefusalKind, View, WalkPlan};
use crate::access::{address_sum, views, Tables};

/// The pointers of a kernel.
#[derive(Clone, Default, Debug)]
pub(crate) struct Pointers {
    /// What each points into: a buffer's variable, or another of them. Itself, where it is the buffer's variable and moves.
    pub(crate) into: BTreeMap<SymbolId, SymbolId>,
    /// Those that change.
    moving: BTreeSet<SymbolId>,
    /// The buffers that are rows of tables.
    pub(crate) tables: Tables,
}

impl Pointers {
    /// Whether the pointer changes in the loop.
    pub(crate) fn moves(&self, s: SymbolId) -> bool {
        self.moving.contains(&s)
    }

    /// The buffer's variable that the pointer leads to.
    pub(crate) fn root(&self, s: SymbolId) -> SymbolId {
        let mut at = s;
        while let Some(&into) = self.into.get(&at).filter(|&&into| into != at) {
            at = into;
        }
        at
    }

    /// Those that the kernel's text names.
    pub(super) fn used(&self, support: &Support<'_>) -> Vec<View> {
        let declared_inside = |s: &SymbolId| support.declared.contains_key(s);
        let used = self.into.iter().filter(|(s, _)| support.used_views.contains_key(s) || declared_inside(s));
        let view = |(&symbol, &into): (&SymbolId, &SymbolId)| View {
            symbol,
            into,
            declared_inside: declared_inside(&symbol),
            moves: self.moves(symbol),
        };
        used.map(view).collect()
    }
}

impl<'a> Builder<'_, 'a> {
    /// The pointers that lead into buffers (`ranks`: how many subscripts reach an element of each).
    pub(super) fn pointers(&mut self, ranks: BTreeMap<SymbolId, usize>) -> Pointers {
        let (body, offload) = (self.body, self.input.offload);
        let roots: Vec<SymbolId> = ranks.keys().copied().collect();
        let tables: Tables = offload.buffers.iter().filter(|b| b.rows.is_some()).map(|b| b.symbol).collect();
        let into = views(body, &tables, &roots, &offload.views);
        let mut out = Pointers { into, moving: BTreeSet::new(), tables };
        // Where rows lie on the host says nothing of the device: what points into them is set in the loop.
        let declared = |s: SymbolId| body.walk(self.target).any(|t| *body.op(t) == Op::Declare(s));
        let outside = |s: &SymbolId| out.tables.contains(&out.root(*s)) && !declared(*s);
        let outside: Vec<SymbolId> = out.into.keys().copied().filter(outside).collect();
        out.into.retain(|s, _| !outside.contains(s));
        for Walk { symbol, into, .. } in offload.walks.iter().filter(|w| !out.tables.contains(&w.into)) {
            let own = symbol == into && ranks.get(symbol) == Some(&1);
            let elsewhere = symbol != into && roots.contains(into) && same_element(body, *symbol, *into);
            // One that leads nowhere is only counted with.
            if own || elsewhere {
                out.into.insert(*symbol, *into);
                out.moving.insert(*symbol);
            }
        }
        let moved = self.set_inside(&out.tables);
        // Declared and never set again, it keeps its position.
        let keeps = |s: SymbolId, values: &[Option<SymbolId>]| {
            let declared = |t: TermId| *body.op(t) == Op::Declare(s) && !body.args(t).is_empty();
            values.len() == 1 && body.walk(self.target).any(declared)
        };
        let is_moved = |s: &SymbolId| moved.get(s).is_some_and(|values| !keeps(*s, values));
        out.into.retain(|s, _| out.moving.contains(s) || !is_moved(s));
        // One may be set from another that comes later in the text.
        for _ in 0..moved.len() {
            let before = out.into.len();
            for (&s, values) in &moved {
                let known = |b: &SymbolId| roots.contains(b) || out.into.contains_key(b);
                let leads: BTreeSet<Option<SymbolId>> = (values.iter())
                    .filter(|v| **v != Some(s))
                    .map(|v| v.filter(known).map(|b| out.root(b)))
                    .collect();
                let &[Some(into)] = Vec::from_iter(&leads).as_slice() else { continue };
                let is_new = !out.into.contains_key(&s) && !roots.contains(&s);
                if is_new && self.is_each_threads(s) && same_element(body, s, *into) {
                    out.into.insert(s, *into);
                    if !keeps(s, values) {
                        out.moving.insert(s);
                    }
                }
            }
            if out.into.len() == before {
                break;
            }
        }
        out
    }

    /// Whether every thread has the variable for itself, and sets it before it uses it.
    fn is_each_threads(&self, s: SymbolId) -> bool {
        let inside = |t: TermId| *self.body.op(t) == Op::Declare(s);
        let private = self.input.offload.privates.iter().find(|p| p.symbol == s);
        self.body.walk(self.target).any(inside) || private.is_some_and(|p| !p.copied_in && !p.kept)
    }

    /// The pointers that the loop sets, with what leads to each value: `None` for a value of which that is not seen.
    fn set_inside(&self, tables: &Tables) -> BTreeMap<SymbolId, Vec<Option<SymbolId>>> {
        let body = self.body;
        let mut out: BTreeMap<SymbolId, Vec<Option<SymbolId>>> = BTreeMap::new();
        let is_pointer = |s: SymbolId| {
            let symbol = &body.symbols[s];
            symbol.is_own_scalar() && matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. })
        };
        for t in body.walk(self.target) {
            let args = body.args(t);
            let of = |value: TermId| address_sum(body, tables, value).map(|a| a.base);
            let (s, value) = match (body.op(t), args.first().and_then(|&p| body.as_symbol(p))) {
                (Op::Declare(s), _) => (*s, args.first().map(|&v| of(v))),
                (Op::Step { .. } | Op::Compound(BinOp::Add | BinOp::Sub), Some(s)) => (s, Some(Some(s))),
                (Op::Assign, Some(s)) => (s, args.get(1).map(|&v| of(v))),
                (op, Some(s)) if op.is_write() => (s, Some(None)),
                _ => continue,
            };
            if is_pointer(s) {
                out.entry(s).or_default().extend(value);
            }
        }
        out
    }

    /// How each walk begins and goes on.
    pub(super) fn walks(&mut self, pointers: &Pointers) -> Vec<WalkPlan> {
        let body = self.body;
        let mut out = Vec::new();
        for w in &self.input.offload.walks {
            if !pointers.moves(w.symbol) {
                continue;
            }
            let name = body.symbols[w.symbol].name.clone();
            let counts = self.band.iter().find(|b| b.1.index == w.symbol).map(|b| b.1);
            // Its ends are written several times for the host: finding them may do nothing.
            let does = |t: TermId| body.walk(t).any(|x| body.op(x).is_write() || *body.op(x) == Op::Call);
            let ends = counts.map(|c| [Some(c.lower), c.bound]).unwrap_or_default();
            let first = self.first_value(w.symbol);
            if let Some(t) = ends.into_iter().chain([first]).flatten().find(|&t| does(t)) {
                self.refuse(RefusalKind::Operation, t);
                continue;
            }
            if self.band.len() != 1 || !body.symbols[w.symbol].is_own_scalar() {
                self.refuse(RefusalKind::Induction(w.symbol), self.target);
                continue;
            }
            let inner = body.loop_parts(self.target).map(|p| p.body);
            let set = |t: TermId| {
                body.op(t).is_write()
                    && body.args(t).first().and_then(|&p| body.as_symbol(p)) == Some(w.symbol)
            };
            let start = (w.into != w.symbol).then(|| self.host_name(&format!("from_{name}")));
            out.push(WalkPlan {
                symbol: w.symbol,
                into: w.into,
                step: w.step.clone(),
                shift: counts.map_or(0, |c| c.shift),
                moves_inside: inner.is_some_and(|i| body.walk(i).any(set)),
                start_name: start,
                step_name: match constant(&w.step) {
                    Some(_) => String::new(),
                    None => self.host_name(&format!("by_{name}")),
                },
            });
        }
        out
    }

    /// What the loop's header sets the variable to.
    fn first_value(&self, s: SymbolId) -> Option<TermId> {
        let body = self.body;
        let init = body.loop_parts(self.target).and_then(|p| p.init)?;
        body.walk(init).find_map(|t| match (body.op(t), body.args(t)) {
            (Op::Declare(d), &[value]) if *d == s => Some(value),
            (Op::Assign, &[place, value]) if body.as_symbol(place) == Some(s) => Some(value),
            _ => None,
        })
    }

    /// What the position of a buffer's own variable is called in the kernel, where the name is the buffer's.
    pub(super) fn position_name(&self, names: &BTreeMap<SymbolId, String>, s: SymbolId) -> String {
        let mut namer = Namer::beside(self.body);
        names.values().for_each(|n| {
            namer.fresh(n);
        });
        namer.fresh(&format!("{}_at", self.body.symbols[s].name))
    }
}

/// Whether the pointer's elements are those of the buffer.
fn same_element(body: &Body, pointer: SymbolId, buffer: SymbolId) -> bool {
    let types = &body.types;
    let Some(mut element) = types.element(body.symbols[buffer].ty) else { return false };
    while let TypeKind::Array { of, .. } = types.kind(element) {
        element = *of;
    }
    types.element(body.symbols[pointer].ty).is_some_and(|e| types.kind(e) == types.kind(element))
}
