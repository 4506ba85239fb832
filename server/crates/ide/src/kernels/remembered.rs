//! What is proved of kernels, remembered: several lints and views ask, at every change of a document.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use analysis::{KernelFacts, KernelLaunch};
use rustc_hash::FxHashSet;
use term::{Body, Op};

use super::launch_of;
use crate::Doc;

/// Kernels kept: more than a document has, or every lint would prove all of them again.
const CAPACITY: usize = 2048;

struct Entry {
    kernel: u64,
    callees: u64,
    launch: KernelLaunch,
    /// Whoever asks while they are proved waits for them.
    facts: Arc<OnceLock<Arc<KernelFacts>>>,
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
    let facts = {
        let mut list = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        match list.iter().rev().find(|e| same(e)) {
            Some(e) => e.facts.clone(),
            None => {
                if list.len() >= CAPACITY {
                    list.remove(0);
                }
                let facts = Arc::new(OnceLock::new());
                let (kernel, launch) = (item.body.hash, launch.clone());
                list.push(Entry { kernel, callees, launch, facts: facts.clone() });
                facts
            }
        }
    };
    facts.get_or_init(|| Arc::new(analysis::kernel(&item.body, doc.program(), launch))).clone()
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
