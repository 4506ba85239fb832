//! Runs of the original held to the user's promises of a loop: what it reads of index arrays, execution by execution. Inputs keep
//! the promises where they are made up; what the function computes itself may break them, and then the answer says so.

use base::Budget;
use rustc_hash::FxHashMap;
use simulate::{Access, AccessKind, Hooks, LoopEvent, Memory, ObjectId};
use term::{IntKind, Op, Promised, TermId};

use super::inputs::{number_of, Input, Number};
use super::sides::Sides;
use crate::function_view::{one_line, FunctionView};
use crate::promises;

/// What is watched of one loop.
pub(super) struct Watched {
    of: TermId,
    checks: Vec<Check>,
    /// Loads of promised arrays, by the number of the check.
    loads: FxHashMap<TermId, Vec<usize>>,
}

struct Check {
    /// The promise, as it is written.
    text: String,
    kind: IntKind,
    /// Least value, and the first that is too large; `None`: no two elements are equal.
    range: Option<(Number, Number)>,
}

impl Watched {
    /// The promises of a loop that a run can be held to; `None`: there is none.
    pub(super) fn of(view: &FunctionView, id: analysis::LoopId) -> Option<Watched> {
        let (body, of) = (view.body(), view.of(id).term);
        let mut out = Watched { of, checks: Vec::new(), loads: FxHashMap::default() };
        for (_, p) in body.promises(of) {
            let (array, range) = match p.says {
                Promised::Injective(array) => (array, None),
                Promised::InRange { array, low, high } => {
                    let Some(range) = number_of(body, low).zip(number_of(body, high)) else { continue };
                    (array, Some(range))
                }
                _ => continue,
            };
            let element = body.types.element(body.ty(array)).and_then(|e| body.types.as_int(e));
            let (Some(kind), Some(written)) = (element, promises::written(view.doc, view.item, p)) else {
                continue;
            };
            let is_load = |t: &TermId| {
                *body.op(*t) == Op::Index && body.args(*t).first().is_some_and(|&a| body.same(a, array))
            };
            for t in body.walk(of).filter(is_load) {
                out.loads.entry(t).or_default().push(out.checks.len());
            }
            out.checks.push(Check { text: one_line(&written.text), kind, range });
        }
        (!out.loads.is_empty()).then_some(out)
    }

    /// The first promise that a run of the original does not keep: a sentence.
    pub(super) fn broken(&self, sides: &Sides<'_>, input: &Input, budget: &Budget) -> Option<String> {
        let (mut heap, args, ..) = input.place(sides.signature).ok()?;
        let options = simulate::Options { watch: Some(vec![self.of]), ..simulate::Options::default() };
        let code = simulate::compile(&sides.original, sides.function, &options).ok()?;
        let ranges = self.checks.iter().map(|c| match &c.range {
            Some((low, high)) => Some((low.value(&input.values)?, high.value(&input.values)?)),
            None => None,
        });
        let mut run = Run {
            watched: self,
            ranges: ranges.collect(),
            seen: vec![FxHashMap::default(); self.checks.len()],
            depth: 0,
            calls: 0,
            broken: None,
        };
        simulate::run_code(&code, &args, &mut heap, budget, &mut run).ok()?;
        let (check, what) = run.broken?;
        let with = super::or_nothing(&input.text);
        Some(format!(
            "The promise `{}` does not hold: for {with} the loop reads {what}.",
            self.checks[check].text
        ))
    }
}

/// One run.
struct Run<'w> {
    watched: &'w Watched,
    ranges: Vec<Option<(i128, i128)>>,
    /// By check, in the execution of the loop that is going on: values with the place each was read from.
    seen: Vec<FxHashMap<i128, (ObjectId, u32)>>,
    depth: u32,
    /// Calls that are open.
    calls: u32,
    broken: Option<(usize, String)>,
}

impl Hooks for Run<'_> {
    fn access(&mut self, mem: &Memory, a: Access) -> bool {
        if self.depth == 0 || self.calls > 0 || a.kind != AccessKind::Read || self.broken.is_some() {
            return false;
        }
        for &k in self.watched.loads.get(&a.term).into_iter().flatten() {
            let bytes =
                mem.get(a.object).and_then(|o| o.data.get(a.offset as usize..(a.offset + a.size) as usize));
            let Some(bytes) = bytes.filter(|b| b.len() <= 8) else { continue };
            let mut wide = [0u8; 16];
            wide[..bytes.len()].copy_from_slice(bytes);
            let value = self.watched.checks[k].kind.wrap(i128::from_le_bytes(wide));
            match (&self.watched.checks[k].range, self.ranges[k]) {
                (Some(_), Some((low, high))) if value < low || value >= high => {
                    self.broken = Some((k, format!("the value {value}")));
                }
                (None, _) => {
                    let here = (a.object, a.offset);
                    if *self.seen[k].entry(value).or_insert(here) != here {
                        self.broken = Some((k, format!("the value {value} from two elements")));
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn looped(&mut self, e: LoopEvent) {
        if self.calls > 0 {
            return;
        }
        match e {
            LoopEvent::Enter(_) => {
                self.depth += 1;
                self.seen.iter_mut().for_each(FxHashMap::clear);
            }
            LoopEvent::Iterate(..) => {}
            LoopEvent::Exit(_) => self.depth = self.depth.saturating_sub(1),
            LoopEvent::Sync(depth) => self.depth = self.depth.min(depth),
        }
    }

    fn called(&mut self, _func: u32, _term: TermId) {
        self.calls += 1;
    }

    fn returned(&mut self) {
        self.calls = self.calls.saturating_sub(1);
    }
}
