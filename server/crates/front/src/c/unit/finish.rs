//! The end of a document's lowering: functions whose bodies were left for later are lowered, on several threads where
//! there are many, and all items are put in order. What each sees of those before it was settled on the way.

use std::sync::atomic::{AtomicUsize, Ordering};

use base::Span;
use rustc_hash::FxHashMap;

use super::{source, Entry, Job, Slot, Walk};
use crate::c::{self, Lowered};
use crate::limits::c_unit_finish::{JOBS_PER_THREAD, MAX_THREADS};

impl Walk<'_, '_> {
    /// Lowers the functions still to be lowered, on several threads where there are many, and puts all items in order.
    pub(super) fn finish(&mut self) -> FxHashMap<(u64, u64), Entry> {
        let mut slots = std::mem::take(&mut self.s.slots);
        let mut own = slots.len();
        slots.append(&mut self.s.lent);
        let jobs: Vec<&Job> = slots
            .iter()
            .filter_map(|s| match s {
                Slot::Todo(j) => Some(&**j),
                Slot::Done(_) => None,
            })
            .collect();
        let run = |job: &Job, parser: &mut tree_sitter::Parser| {
            let source = source(self.text, self.tokens, &job.found, &job.found.pieces, false);
            let view = self.s.env.before(job.number);
            c::lower_item(&source, self.s.dialect, &job.macros, view, self.marks, false, parser)
        };
        let cancel = self.s.cancel;
        // asking for the number of cores opens files: only where there is work for several
        let threads = match jobs.len() / JOBS_PER_THREAD {
            0 | 1 => 1,
            most => std::thread::available_parallelism().map_or(1, |n| n.get()).min(MAX_THREADS).min(most),
        };
        let mut results: Vec<Option<Lowered>> = Vec::new();
        results.resize_with(jobs.len(), || None);
        if threads > 1 {
            let next = AtomicUsize::new(0);
            let work = || {
                let mut parser = tree_sitter::Parser::new();
                let mut done = Vec::new();
                if parser.set_language(&tree_sitter_c::LANGUAGE.into()).is_err() {
                    return done;
                }
                while !cancel.is_cancelled() {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(k) else { return done };
                    done.push((k, run(job, &mut parser)));
                }
                done
            };
            std::thread::scope(|scope| {
                let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                for handle in handles {
                    match handle.join() {
                        Ok(done) => {
                            for (k, l) in done {
                                if let Some(slot) = results.get_mut(k) {
                                    *slot = Some(l);
                                }
                            }
                        }
                        // A panic is this request's, as it would be on one thread.
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
            });
        }
        for (job, slot) in jobs.iter().zip(&mut results) {
            if slot.is_none() && !cancel.is_cancelled() {
                *slot = Some(run(job, self.s.parser));
            }
        }
        let mut results = results.into_iter();
        let mut items = Vec::with_capacity(slots.len());
        for (k, slot) in slots.into_iter().enumerate() {
            if k == own {
                own = items.len();
            }
            let item = match slot {
                Slot::Done(item) => item,
                Slot::Todo(job) => {
                    let Some(l) = results.next().flatten() else { continue };
                    let span = Span::new(job.found.start, job.found.end);
                    let item = l.into_item(span);
                    let entry = Entry {
                        text: self.text.get(span.range()).unwrap_or("").into(),
                        item: item.clone(),
                        left: job.left,
                    };
                    self.s.fresh.insert(job.key, entry);
                    item
                }
            };
            items.push(item);
        }
        self.s.unit.lenders = items.split_off(own.min(items.len()));
        self.s.unit.items = items;
        if !cancel.is_cancelled() {
            self.header_functions();
        }
        std::mem::take(&mut self.s.fresh)
    }
}
