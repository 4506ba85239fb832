//! Kernels that rules changed, beside what they were: found faults and runs, whether anybody launches them or not.

use std::sync::Arc;

use crate::Ask;
use front::{Item, ItemKind};
use rewrite::rules::Trust;
use rustc_hash::{FxHashMap, FxHashSet};
use text::Text;

use super::{together, Done};
use crate::kernels::{beside, foreign, names_called, Beside, Wanted};
use crate::words::plural;
use crate::Doc;

/// What the changed kernels of a document are to their originals.
pub(super) enum Kernels {
    /// None changed.
    None,
    /// All of them do what they did; a sentence, where they were run by themselves.
    Same(Option<String>),
    /// A phrase: a fault that was not there.
    Worse(String),
    /// A phrase.
    Different(String),
    /// A phrase: what stands against a kernel for the document's target.
    Foreign(String),
    /// A sentence.
    NotRun(String),
    Cancelled,
}

/// Looks at every kernel that changed, or calls what changed. `hosts_ran`: those functions of the host that launch kernels were
/// run beside their originals.
pub(super) fn kernels(ask: &Ask, done: &Done, trust: &Trust, hosts_ran: bool) -> Kernels {
    let doc = &ask.doc;
    let Ok(text) = Text::new(&done.text) else { return Kernels::None };
    let new = Doc::open(doc.language(), doc.name(), text, doc.options().clone());
    let changed = changed(doc, &new);
    if changed.is_empty() {
        return Kernels::None;
    }
    let for_target = ask.of(&new);
    for item in new.unit().items.iter().filter(|i| i.is_kernel && changed.contains(&i.name)) {
        if let Some(found) = foreign(&for_target, item) {
            return Kernels::Foreign(found.why.trim_end_matches('.').to_owned());
        }
    }
    let (mut runs, mut alone, mut not_run) = (0, 0, None);
    for name in changed {
        let launched = doc.unit().items.iter().any(|i| together::launches(i, &name) > 0);
        let wanted = Wanted {
            regrouped: trust.regroups(),
            assumed: trust.assumed().is_some(),
            hosts_ran: hosts_ran && launched,
        };
        match beside(ask, &new, &name, wanted) {
            Beside::Same(n) => {
                runs += n as usize;
                alone += (n > 0) as usize;
            }
            Beside::Worse(what) => return Kernels::Worse(what),
            Beside::Different(what) => return Kernels::Different(what),
            Beside::NotRun(why) => not_run = not_run.or(Some(why)),
            Beside::Cancelled => return Kernels::Cancelled,
        }
    }
    match (not_run, alone) {
        (Some(why), _) => Kernels::NotRun(why),
        (None, 0) => Kernels::Same(None),
        (None, n) => Kernels::Same(Some(format!(
            "Same results as before in {} of {} alone in the simulator.",
            plural(runs, "run"),
            plural(n, "kernel")
        ))),
    }
}

/// Kernels whose text, or that of a function that they call, is another one.
fn changed(old: &Doc, new: &Doc) -> Vec<Arc<str>> {
    fn functions(doc: &Doc) -> FxHashMap<&str, Vec<&Item>> {
        let mut out: FxHashMap<&str, Vec<&Item>> = FxHashMap::default();
        for i in doc.unit().items.iter().filter(|i| i.kind == ItemKind::Function) {
            out.entry(&i.name).or_default().push(i);
        }
        out
    }
    let (before, after) = (functions(old), functions(new));
    let hash = |name: &str| before.get(name).and_then(|all| all.first()).map(|i| i.body.hash);
    let all = || new.unit().items.iter().filter(|i| i.kind == ItemKind::Function);
    let other: FxHashSet<&str> =
        all().filter(|i| hash(&i.name).is_some_and(|h| h != i.body.hash)).map(|i| &*i.name).collect();
    let mut out = Vec::new();
    for kernel in all().filter(|i| i.is_kernel && hash(&i.name).is_some()) {
        let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
        let mut open = vec![kernel.name.clone()];
        while let Some(name) = open.pop() {
            if other.contains(&*name) {
                out.push(kernel.name.clone());
                break;
            }
            if seen.insert(name.clone()) {
                open.extend(after.get(&*name).into_iter().flatten().flat_map(|i| names_called(&i.body)));
            }
        }
    }
    out
}
