//! Jumps into the middle of a block: its variables begin without a value, whatever they held the last time.
//!
//! An object of automatic storage lives from the entry into its block, and its value is not determined until its
//! declaration is reached (C11 6.2.4p6). A declaration with an initializer that a jump passes by must therefore not leave
//! what the block's last execution stored. Arrays of variable length are absent: no jump may pass their declaration.

use std::sync::Arc;

use base::IndexId;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Op, SymbolId, TermId};

use super::{Cx, R};

/// The blocks of a function that jumps may enter behind their beginning.
#[derive(Default)]
pub(super) struct Scopes {
    /// Lists that hold a label or a `case`, and what they declare themselves.
    fresh: FxHashMap<TermId, Vec<(SymbolId, TermId)>>,
    /// The lists around a label.
    around: FxHashMap<Arc<str>, Vec<TermId>>,
    /// The lists between a `switch` and its labels.
    chosen: FxHashMap<TermId, Vec<TermId>>,
    /// The lists around what is compiled now.
    pub(super) open: Vec<TermId>,
}

impl Cx<'_, '_, '_> {
    /// To be called for functions with jumps only.
    pub(super) fn scopes(&mut self, root: TermId) {
        let body = self.body;
        let parents = body.parents();
        let up = |t: TermId| {
            std::iter::successors(Some(t), |&x| parents.get(x.index()).copied().flatten()).skip(1)
        };
        let mut out = Scopes::default();
        let mut lists = FxHashSet::default();
        for t in body.walk(root) {
            match body.op(t) {
                Op::Label(name) => {
                    let around: Vec<TermId> = up(t).filter(|&x| matches!(body.op(x), Op::List)).collect();
                    lists.extend(around.iter().copied());
                    out.around.insert(name.clone(), around);
                }
                Op::Case | Op::Default => {
                    let Some(switch) = up(t).find(|&x| matches!(body.op(x), Op::Switch)) else { continue };
                    let between = up(t).take_while(|&x| x != switch);
                    for x in between.filter(|&x| matches!(body.op(x), Op::List)) {
                        lists.insert(x);
                        let chosen = out.chosen.entry(switch).or_default();
                        if !chosen.contains(&x) {
                            chosen.push(x);
                        }
                    }
                }
                _ => {}
            }
        }
        for list in lists {
            let mut declared = Vec::new();
            self.declared_in(list, &mut declared);
            if !declared.is_empty() {
                out.fresh.insert(list, declared);
            }
        }
        self.scopes = out;
    }

    /// What the list declares, behind labels and in lists of its own too.
    fn declared_in(&self, list: TermId, out: &mut Vec<(SymbolId, TermId)>) {
        let mut left = vec![list];
        while let Some(t) = left.pop() {
            for &x in self.body.args(t) {
                match self.body.op(x) {
                    Op::Declare(s) if self.starts_afresh(*s) => out.push((*s, x)),
                    Op::List | Op::Label(_) => left.push(x),
                    _ => {}
                }
            }
        }
    }

    fn starts_afresh(&self, s: SymbolId) -> bool {
        let symbol = &self.body.symbols[s];
        symbol.storage.is_local() && self.types.size_align(symbol.ty).is_some()
    }

    /// Before a list's first statement.
    pub(super) fn enter_list(&mut self, list: TermId) -> R<()> {
        self.scopes.open.push(list);
        self.start_afresh(list)
    }

    /// Before a `goto`: the lists that it enters.
    pub(super) fn enter_by_goto(&mut self, label: &str) -> R<()> {
        let entered: Vec<TermId> = match self.scopes.around.get(label) {
            Some(lists) => lists.iter().copied().filter(|l| !self.scopes.open.contains(l)).collect(),
            None => return Ok(()),
        };
        entered.into_iter().try_for_each(|l| self.start_afresh(l))
    }

    /// Before a `switch` chooses.
    pub(super) fn enter_by_switch(&mut self, switch: TermId) -> R<()> {
        let entered = self.scopes.chosen.get(&switch).cloned().unwrap_or_default();
        entered.into_iter().try_for_each(|l| self.start_afresh(l))
    }

    fn start_afresh(&mut self, list: TermId) -> R<()> {
        let declared = self.scopes.fresh.get(&list).cloned().unwrap_or_default();
        declared.into_iter().try_for_each(|(s, t)| self.declare(s, None, t))
    }
}
