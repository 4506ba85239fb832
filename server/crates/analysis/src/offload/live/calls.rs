//! What calls read of arrays, and which may lead back into the file that they stand in.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use term::{Body, TermId};

use super::walk::{State, Walker};
use crate::context::Context;
use crate::flow::called::{call, Callees};
use crate::flow::library::library_effect;
use crate::flow::parts::base_symbol;
use crate::{Summary, Through, TroubleKind};

impl Walker<'_> {
    pub(super) fn call(&mut self, t: TermId, mut live: State) -> Option<State> {
        let body = self.body;
        let args = body.args(t);
        let summary = own_summary(self.cx, t);
        let known = call(body, self.cx.program, t).ok();
        let is_seen =
            known.is_some() || summary.is_some_and(|s| self.is_seen_through(s)) || only_prints(body, t);
        if !is_seen {
            let mut all = std::mem::take(&mut self.behind_strangers);
            self.join(&mut all, &live);
            self.behind_strangers = all;
            // what others may lead to begins by writing; of the file's own functions that is not known
            let is_own = body.callee(t).is_some_and(|f| self.own.contains(&body.symbols[f].name));
            if is_own || body.callee(t).is_none() {
                (0..self.arrays.len()).filter(|&k| self.is_of_file(k)).for_each(|k| self.all(k, &mut live));
            }
        }
        if let Some(s) = summary.filter(|_| is_seen) {
            for k in 0..self.arrays.len() {
                let name = self.arrays.get(k).map(|a| &body.symbols[a.symbol].name);
                let used = name.filter(|_| self.is_of_file(k)).and_then(|n| s.globals.get(n));
                if used.is_some_and(|u| u.own.read || u.own.kept) {
                    self.all(k, &mut live);
                }
            }
        }
        for (k, &a) in args.iter().skip(1).enumerate().rev() {
            let named = self.names(a);
            if named.is_empty() || body.types.element(body.ty(a)).is_none() {
                live = self.walk(a, live)?;
                continue;
            }
            let through = match (&known, summary) {
                (Some(c), _) => c.through(k),
                (None, Some(s)) if is_seen && !s.reads_unknown => {
                    s.params.get(k).copied().unwrap_or_default()
                }
                _ => Through { read: true, written: true, kept: true, handed: true },
            };
            // what the pointer is made of, once; all else of it is read now
            let base = base_symbol(body, a).and_then(|s| self.index_of(s));
            let times = |n: usize| {
                let symbol = self.arrays.get(n).map(|a| a.symbol);
                body.walk(a).filter(|&x| body.as_symbol(x) == symbol).count()
            };
            let is_given = !(through.read || through.kept);
            for n in named {
                if !(is_given && base == Some(n) && times(n) == 1) {
                    self.all(n, &mut live);
                }
            }
        }
        self.walk(*args.first()?, live)
    }

    /// Whether all that a function leads to is known, none of it a function of the file or one that waits for somebody, whatever
    /// it prints, remembers and does with memory that it is not given.
    fn is_seen_through(&self, s: &Summary) -> bool {
        if !is_known(s) {
            return false;
        }
        let mut open: Vec<Arc<str>> = s.calls.iter().cloned().collect();
        let mut seen: FxHashSet<Arc<str>> = FxHashSet::default();
        while let Some(name) = open.pop() {
            if self.own.contains(&name) || waits(&name) {
                return false;
            }
            if seen.insert(name.clone()) {
                let summary = self.cx.program.summary(&name);
                open.extend(summary.into_iter().flat_map(|s| s.calls.iter().cloned()));
            }
        }
        true
    }
}

/// The function of the program that is called, if its summary is known.
pub(super) fn own_summary<'a>(cx: &Context<'a>, t: TermId) -> Option<&'a Summary> {
    Callees::called(cx.program, cx.body, t)
}

/// Whether a function of the library is called that may lead to no other.
fn only_prints(body: &Body, t: TermId) -> bool {
    let f = body.callee(t).filter(|f| body.library.contains(f));
    f.is_some_and(|f| !waits(&body.symbols[f].name) && is_told(&body.symbols[f].name))
}

fn is_told(name: &str) -> bool {
    let trouble = library_effect(name).and_then(|e| e.trouble);
    matches!(trouble, Some(TroubleKind::Ordered | TroubleKind::State))
}

/// Whether a function of the library waits for somebody, who may be a thread of this program.
fn waits(name: &str) -> bool {
    const WAIT: [&str; 10] =
        ["getchar", "fgetc", "getc", "scanf", "fscanf", "fread", "fgets", "system", "usleep", "fopen"];
    WAIT.contains(&name)
}

/// Whether a function leads to nothing that is not known.
fn is_known(s: &Summary) -> bool {
    use TroubleKind::{Global, Memory, NoReturn, Ordered, State};
    s.troubles.keys().all(|k| matches!(k, Ordered | State | NoReturn | Memory | Global))
}
