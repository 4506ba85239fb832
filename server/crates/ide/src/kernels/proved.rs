//! What is proved of kernels and found in host code, once for all lints and views of an [`Ask`].

use std::sync::Arc;

use analysis::{KernelFacts, KernelLaunch};
use rustc_hash::FxHashSet;
use term::{Body, Op};

use super::launch_of;
use crate::memo::{KernelKey, Proved};
use crate::{Ask, Doc};

impl Ask {
    /// What is proved of a kernel with the launch its document says, and that launch.
    pub(crate) fn kernel_facts(&self, item: &front::Item) -> (Arc<KernelFacts>, KernelLaunch) {
        let launch = launch_of(&self.doc, item);
        (self.kernel_facts_with(item, &launch), launch)
    }

    /// Likewise with another launch.
    pub(crate) fn kernel_facts_with(&self, item: &front::Item, launch: &KernelLaunch) -> Arc<KernelFacts> {
        let prove = || Arc::new(analysis::kernel(&item.body, self.doc.program(), launch));
        self.room(item, launch).get_or_init(prove).clone()
    }

    /// Likewise, if it was proved before.
    pub(crate) fn known_kernel_facts(&self, item: &front::Item) -> Option<(Arc<KernelFacts>, KernelLaunch)> {
        let launch = launch_of(&self.doc, item);
        let facts = self.room(item, &launch).get()?.clone();
        Some((facts, launch))
    }

    fn room(&self, item: &front::Item, launch: &KernelLaunch) -> Proved {
        let called = called(&self.doc, &item.body);
        self.memo.kernel(KernelKey { kernel: item.body.hash, called, launch: launch.clone() })
    }
}

/// A number for all that a function calls, directly or not.
pub(crate) fn called(doc: &Doc, body: &Body) -> u64 {
    let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut open: Vec<Arc<str>> = names(body);
    let mut sum = doc.program().key_for(body);
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if let Some(b) = doc.program().body(&name) {
            sum = sum.wrapping_add(b.hash.rotate_left(17));
            open.extend(names(b));
        }
    }
    sum
}

fn names(body: &Body) -> Vec<Arc<str>> {
    let callee = |t| match body.op(t) {
        Op::Call => body.args(t).first().and_then(|&c| body.as_symbol(c)),
        _ => None,
    };
    body.walk(body.root).filter_map(callee).map(|s| body.symbols[s].name.clone()).collect()
}
