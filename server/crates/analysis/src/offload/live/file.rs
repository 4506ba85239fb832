//! Arrays of a file that no function of another file can name: which of them nobody reads once a function is over.
//!
//! Such an array is dead at the end of every function that others call where none of these reads what it has not written itself,
//! and none reads something behind a call that may lead back into the file. Then whoever comes next, from another file, from a
//! thread or as a handler of something, begins by writing. Functions that another of the file calls are not spoken of.

use std::sync::Arc;

use base::Budget;
use rustc_hash::FxHashSet;
use term::{Body, Op, Storage, SymbolId, TypeId};

use super::cells::Cells;
use super::walk::Walker;
use super::{escapes, rank, with_calls_written_out};
use crate::limits::offload_live::MAX_FUNCTIONS;
use crate::Program;

/// What is known of the arrays that only a file can name, after its functions. By default: nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileArrays {
    /// Those of which nobody reads anything once a function that others call is over.
    pub(crate) unread: FxHashSet<Arc<str>>,
    /// Those that functions of the file call, themselves or through others: of their ends nothing is said.
    entered: FxHashSet<Arc<str>>,
    /// The file's functions.
    pub(crate) own: FxHashSet<Arc<str>>,
}

impl FileArrays {
    /// Whether nobody reads the array of that name once the function is over.
    pub fn is_unread_after(&self, body: &Body, name: &str) -> bool {
        self.speak_of(body) && self.unread.contains(name)
    }

    /// Whether something is known of what is behind the function.
    pub(crate) fn speak_of(&self, body: &Body) -> bool {
        !self.unread.is_empty() && self.own.contains(&body.name) && !self.entered.contains(&body.name)
    }
}

/// What is known of a file's own arrays. `functions`: all that it defines, and its declarations.
pub fn file_arrays(functions: &[&Body], program: &Program, budget: &Budget) -> FileArrays {
    let own = functions.iter().map(|f| f.name.clone()).collect();
    let mut out =
        FileArrays { unread: arrays(functions, program), entered: entered(functions, program), own };
    let is_hidden = |f: &&Body| f.jumps_unseen(f.root);
    if functions.len() > MAX_FUNCTIONS || functions.iter().any(is_hidden) {
        out.unread.clear();
    }
    for f in functions {
        if out.unread.is_empty() {
            break;
        }
        let concerned: Vec<Arc<str>> = concerned(f, functions, program, &out.unread);
        if concerned.is_empty() {
            continue;
        }
        let dead = unread_by(f, &concerned, &out, program, budget).unwrap_or_default();
        concerned.iter().filter(|n| !dead.contains(*n)).for_each(|n| {
            out.unread.remove(n);
        });
    }
    out
}

/// Arrays that only the file can name and of which nothing but their name is used, in none of the functions.
fn arrays(functions: &[&Body], program: &Program) -> FxHashSet<Arc<str>> {
    let (mut found, mut lost) = (FxHashSet::default(), FxHashSet::default());
    for body in functions {
        let parents = body.parents();
        let watched = |ty: TypeId| {
            let q = body.types.quals(ty);
            q.is_volatile || q.is_atomic
        };
        // who waits for a value to change waits for somebody else
        let watches =
            body.walk(body.root).any(|t| watched(body.ty(t))) || body.symbols.iter().any(|s| watched(s.ty));
        for (s, symbol) in body.symbols.iter_ids() {
            let Storage::Global { internal, .. } = symbol.storage else { continue };
            if internal && rank(body, s).is_some() {
                found.insert(symbol.name.clone());
            }
            let is_used = body.walk(body.root).any(|t| body.as_symbol(t) == Some(s));
            let is_lost =
                !internal || watches || rank(body, s).is_none() || escapes(body, program, &parents, s);
            if is_used && is_lost {
                lost.insert(symbol.name.clone());
            }
        }
        for gap in body.walk(body.root).filter(|&t| matches!(body.op(t), Op::Reject(_))) {
            let touched = body.touched_by_gap(gap);
            lost.extend(touched.into_iter().map(|s| body.symbols[s].name.clone()));
        }
    }
    found.retain(|n| !lost.contains(n));
    found
}

/// Functions that functions of the file call, themselves or through others.
fn entered(functions: &[&Body], program: &Program) -> FxHashSet<Arc<str>> {
    let mut out = FxHashSet::default();
    functions.iter().for_each(|f| reach(f, functions, program, &mut out));
    out
}

/// Adds the functions that a body leads to.
fn reach(body: &Body, functions: &[&Body], program: &Program, out: &mut FxHashSet<Arc<str>>) {
    let called = |body: &Body| body.callees().map(|s| body.symbols[s].name.clone()).collect::<Vec<_>>();
    let mut open = called(body);
    while let Some(name) = open.pop() {
        if !out.insert(name.clone()) {
            continue;
        }
        if let Some(f) = functions.iter().find(|f| f.name == name) {
            open.extend(called(f));
        }
        open.extend(program.summary(&name).into_iter().flat_map(|s| s.calls.iter().cloned()));
    }
}

/// Those of the arrays that a function, or one of the file that it leads to, names.
fn concerned(
    body: &Body,
    functions: &[&Body],
    program: &Program,
    arrays: &FxHashSet<Arc<str>>,
) -> Vec<Arc<str>> {
    let mut reached = FxHashSet::default();
    reach(body, functions, program, &mut reached);
    let others = functions.iter().copied().filter(|f| reached.contains(&f.name));
    let mut out: Vec<Arc<str>> = Vec::new();
    for b in others.chain([body]) {
        for s in b.walk(b.root).filter_map(|t| b.as_symbol(t)) {
            let name = &b.symbols[s].name;
            if is_own(b, s) && arrays.contains(name) && !out.contains(name) {
                out.push(name.clone());
            }
        }
    }
    out
}

fn is_own(body: &Body, s: SymbolId) -> bool {
    matches!(body.symbols[s].storage, Storage::Global { internal: true, .. })
}

/// Those of the arrays of which the function reads nothing that it has not written, and nothing behind a call that may lead back.
fn unread_by(
    body: &Body,
    names: &[Arc<str>],
    file: &FileArrays,
    program: &Program,
    budget: &Budget,
) -> Option<FxHashSet<Arc<str>>> {
    let is_chosen = |b: &Body, s: SymbolId| is_own(b, s) && names.contains(&b.symbols[s].name);
    with_calls_written_out(body, program, &is_chosen, &file.own, budget, |walker: &mut Walker<'_>| {
        let end = walker.nothing();
        let begin = walker.function(end)?;
        let strangers = walker.behind_strangers();
        let is_none = |of: &[Cells], k: usize| of.get(k).is_some_and(Cells::is_none);
        let whole = walker.body();
        let looked_at: Vec<(bool, Arc<str>)> = walker
            .arrays()
            .enumerate()
            .map(|(k, s)| (is_none(&begin, k) && is_none(strangers, k), whole.symbols[s].name.clone()))
            .collect();
        // what only a function reads that stays a call
        let is_read = |n: &Arc<str>| {
            walker.summaries().any(|s| s.globals.get(n).is_some_and(|u| u.own.read || u.own.kept))
        };
        let is_named = |n: &Arc<str>| {
            let all = whole.walk(whole.root).filter_map(|t| whole.as_symbol(t));
            all.into_iter().any(|s| is_own(whole, s) && whole.symbols[s].name == *n)
        };
        let dead = names.iter().filter(|&n| {
            let mut mine = looked_at.iter().filter(|l| l.1 == *n).peekable();
            match mine.peek() {
                Some(_) => mine.all(|l| l.0),
                None => !is_named(n) && !is_read(n),
            }
        });
        Some(dead.cloned().collect())
    })
}
