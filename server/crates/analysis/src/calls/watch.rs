//! What the functions of a whole program look at, and what becomes of what they leave behind. See `watched`.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use term::{Body, Storage};

use crate::calls::function::Function;
use crate::calls::mentions::{fate, looks_first, Fate, Look, What};

/// What the functions of a program look at, by function: after it returns, something looks before anything is cleared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Watch {
    pub(super) errno: FxHashSet<Arc<str>>,
    pub(super) exceptions: FxHashSet<Arc<str>>,
    /// Functions that look before they clear, directly or through others.
    pub(super) lookers: [FxHashSet<Arc<str>>; 2],
    /// A hash of these.
    lookers_key: u64,
    /// Whether something looks, or changes the rounding mode, anywhere.
    pub(super) looks: [bool; 2],
    pub(super) rounds: bool,
    /// Whether floating-point exceptions may end the program.
    pub(super) traps: bool,
    /// What becomes of what the functions leave behind that one calls; of the others all is left.
    fates: [FxHashMap<Arc<str>, Fates>; 2],
}

/// Functions that one names, with what becomes of what they leave behind.
type Fates = Arc<[(Arc<str>, Fate)]>;

impl Watch {
    /// `before`: what was found of an earlier program, whose functions are `earlier`: answers are taken over for those that are
    /// the same.
    pub(crate) fn of<'f>(
        functions: impl Iterator<Item = &'f Function>,
        before: &Watch,
        earlier: impl Fn(&str) -> Option<&'f Function>,
    ) -> Watch {
        let functions: Vec<&Function> = functions.collect();
        let mut out = Watch::default();
        for f in &functions {
            let m = &f.local.mentions;
            out.looks = [out.looks[0] | m.looks[0], out.looks[1] | m.looks[1]];
            out.rounds |= m.rounds;
            out.traps |= m.traps;
        }
        for (k, what) in [What::Errno, What::Exceptions].into_iter().enumerate() {
            if !out.looks[k] {
                continue;
            }
            let lookers = lookers(&functions, k, what);
            let same = lookers == before.lookers[k];
            let look = Look { what, through: &lookers };
            // Who uses a function calls it there, as far as is seen.
            let mut left: FxHashMap<&str, Vec<&[Arc<str>]>> = FxHashMap::default();
            let mut left_by: Vec<(&Arc<str>, Fates)> = Vec::new();
            for f in &functions {
                if !f.local.mentions.concerns(k, &lookers) {
                    left.entry(&f.name).or_default().push(&f.local.mentions.used);
                    continue;
                }
                let old = earlier(&f.name).filter(|o| same && Arc::ptr_eq(&o.body, &f.body));
                let known = old.and_then(|o| before.fates[k].get(&o.name).cloned());
                left_by.push((&f.name, known.unwrap_or_else(|| fates(&f.body, look))));
            }
            let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
            let mut open: Vec<Arc<str>> = Vec::new();
            // functions of several files may have one name
            let mut by_user: FxHashMap<&str, Vec<&Fates>> = FxHashMap::default();
            for (user, all) in &left_by {
                open.extend(all.iter().filter(|(_, fate)| *fate == Fate::Seen).map(|(used, _)| used.clone()));
                by_user.entry(user).or_default().push(all);
            }
            while let Some(user) = open.pop() {
                if seen.contains(&user) {
                    continue;
                }
                let fates = by_user.get(&*user).into_iter().flatten().flat_map(|all| all.iter());
                open.extend(fates.filter(|(_, fate)| *fate == Fate::Left).map(|(used, _)| used.clone()));
                let used = left.get(&*user).into_iter().flatten();
                open.extend(used.flat_map(|used| used.iter().cloned()));
                seen.insert(user);
            }
            match what {
                What::Errno => out.errno = seen,
                What::Exceptions => out.exceptions = seen,
            }
            for (name, all) in left_by {
                out.fates[k].entry(name.clone()).or_insert(all);
            }
            out.lookers[k] = lookers;
        }
        let mut all: Vec<&Arc<str>> = out.lookers.iter().flatten().collect();
        all.sort();
        let mut h = FxHasher::default();
        all.hash(&mut h);
        out.lookers_key = h.finish();
        out
    }

    /// What facts of a function rest on.
    pub(crate) fn key(&self, function: &str) -> ([bool; 5], u64) {
        let watched = [
            self.errno.contains(function),
            self.exceptions.contains(function),
            self.rounds,
            self.traps,
            self.looks[0] || self.looks[1],
        ];
        (watched, self.lookers_key)
    }
}

/// Functions that look before they clear. The more of them are known, the more there are: each is asked again when one that
/// it calls turns out to be one.
fn lookers(functions: &[&Function], k: usize, what: What) -> FxHashSet<Arc<str>> {
    let mut callers: FxHashMap<&str, Vec<&Function>> = FxHashMap::default();
    for f in functions {
        for called in &f.local.mentions.called {
            callers.entry(called).or_default().push(f);
        }
    }
    let mut out: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut open: Vec<&Function> = functions.iter().filter(|f| f.local.mentions.looks[k]).copied().collect();
    while let Some(f) = open.pop() {
        if !out.contains(&f.name) && looks_first(&f.body, Look { what, through: &out }) {
            out.insert(f.name.clone());
            open.extend(callers.get(&*f.name).into_iter().flatten());
        }
    }
    out
}

/// What becomes of what each function leaves behind that the body names.
fn fates(body: &Body, look: Look<'_>) -> Fates {
    let parents = body.parents();
    let mut out: Vec<(Arc<str>, Fate)> = Vec::new();
    for t in body.walk(body.root) {
        let Some(s) = body.as_symbol(t) else { continue };
        if body.symbols[s].storage == Storage::Function {
            out.push((body.symbols[s].name.clone(), fate(body, &parents, t, look)));
        }
    }
    out.sort_unstable();
    out.dedup();
    out.into()
}
