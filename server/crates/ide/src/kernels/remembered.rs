//! What is proved of kernels, remembered: several lints and views ask, at every change of a document.

use std::sync::{Arc, Mutex, PoisonError};

use analysis::{KernelFacts, KernelLaunch};
use rustc_hash::FxHashSet;
use term::{Body, Op};

use super::launch_of;
use crate::Doc;

/// Kernels kept.
const CAPACITY: usize = 64;

struct Entry {
    kernel: u64,
    callees: u64,
    launch: KernelLaunch,
    facts: Arc<KernelFacts>,
}

/// Latest last.
static KEPT: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// What is proved of a kernel with the launch its document says, and that launch.
pub(crate) fn facts(doc: &Doc, item: &front::Item) -> (Arc<KernelFacts>, KernelLaunch) {
    let launch = launch_of(doc, item);
    (with(doc, item, &launch), launch)
}

pub(super) fn with(doc: &Doc, item: &front::Item, launch: &KernelLaunch) -> Arc<KernelFacts> {
    let callees = callees(doc, &item.body);
    let same = |e: &Entry| e.kernel == item.body.hash && e.callees == callees && e.launch == *launch;
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(e) = kept().iter().find(|e| same(e)) {
        return e.facts.clone();
    }
    let facts = Arc::new(analysis::kernel(&item.body, doc.program(), launch));
    let mut list = kept();
    if list.len() >= CAPACITY {
        list.remove(0);
    }
    let (kernel, launch) = (item.body.hash, launch.clone());
    list.push(Entry { kernel, callees, launch, facts: facts.clone() });
    facts
}

/// A number for all that a kernel calls, directly or not.
fn callees(doc: &Doc, body: &Body) -> u64 {
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
