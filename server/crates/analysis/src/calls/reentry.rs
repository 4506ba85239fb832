//! Whether a call may run the function that it stands in once more, before it comes back.
//!
//! It does not where all that it may run was read: the called function, those that it calls, and so on, and this one is none of them.
//! A call through a pointer, a function that is not known, text that was not understood, and the library's functions that call back
//! may run any. What runs beside the function (threads, signal handlers) or after it (`atexit`) is not its caller: that two threads
//! use one `static` variable at once is the program's own race.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use term::{Body, Op, Storage, TermId};

use crate::calls::function::own_callee;
use crate::flow::library::library_effect;
use crate::{Program, TroubleKind};

/// What the calls of one function may run.
pub(crate) struct Reentry<'a> {
    program: &'a Program,
    /// The function's name; `None` of what is no function.
    name: Option<Arc<str>>,
    /// What was found of called functions.
    found: RefCell<FxHashMap<Arc<str>, bool>>,
}

impl<'a> Reentry<'a> {
    pub(crate) fn of(body: &Body, program: &'a Program) -> Reentry<'a> {
        let name = match body.op(body.root) {
            Op::Function(f) => Some(body.symbols[*f].name.clone()),
            _ => None,
        };
        Reentry { program, name, found: RefCell::default() }
    }

    /// Whether the call, of the function or of one written into it, surely does not run the function once more.
    pub(crate) fn stays_out(&self, body: &Body, call: TermId) -> bool {
        if let Some(f) = body.callee(call).filter(|f| body.library.contains(f)) {
            return body.symbols[f].storage == Storage::Function
                && library_effect(&body.symbols[f].name).is_some();
        }
        let Some(f) = own_callee(body, call) else { return false };
        if let Some(&found) = self.found.borrow().get(&f.name) {
            return found;
        }
        let found = self.only_reaches_others(&f.name);
        self.found.borrow_mut().insert(f.name.clone(), found);
        found
    }

    fn only_reaches_others(&self, called: &str) -> bool {
        let Some(own) = &self.name else { return false };
        let is_seen_whole = self.program.summary(called).is_some_and(|s| {
            !s.troubles.keys().any(|k| {
                // these are told of a function where one that it calls has them
                matches!(
                    k,
                    TroubleKind::NotUnderstood
                        | TroubleKind::UnknownCall
                        | TroubleKind::IndirectCall
                        | TroubleKind::Replaceable
                )
            })
        });
        if !is_seen_whole {
            return false;
        }
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut open = vec![called];
        while let Some(name) = open.pop() {
            if name == &**own {
                return false;
            }
            if !seen.insert(name) {
                continue;
            }
            let Some(f) = self.program.function(name) else { return false };
            open.extend(f.local.calls.iter().map(|n| &**n));
        }
        true
    }
}
