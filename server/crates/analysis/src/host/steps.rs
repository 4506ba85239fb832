//! Time loops: one launch a step, from one buffer into another, and the two exchanged between the steps (FOUNDATIONS F2.5). Where
//! they are not, every step computes the first one again.

use term::{Op, SymbolId, TermId};

use super::copies::{is_loop, is_written, only_reads, parameter, uses};
use super::{name, pointer, HostFault, Reader};

impl Reader<'_> {
    pub(super) fn missing_swaps(&mut self) {
        let body = self.body;
        let loops: Vec<TermId> = self.order.iter().copied().filter(|&t| is_loop(body, t)).collect();
        let mut found = Vec::new();
        for &l in &loops {
            let inside: Vec<TermId> = body.walk(l).filter(|&t| t != l).collect();
            let launches: Vec<TermId> =
                inside.iter().copied().filter(|&t| matches!(body.op(t), Op::Launch)).collect();
            // two launches may go there and back; what measures time repeats on purpose
            let [launch] = launches.as_slice() else { continue };
            let plain = |&t: &TermId| match body.op(t) {
                Op::Call => name(body, t).is_some_and(|n| {
                    let check = n.to_lowercase().contains("check");
                    check
                        || matches!(
                            n,
                            "dim3" | "cudaGetLastError" | "cudaDeviceSynchronize" | "cudaPeekAtLastError"
                        )
                }),
                Op::Goto(_) | Op::Reject(_) | Op::Return | Op::Break => false,
                _ => true,
            };
            let times = |&t: &TermId| {
                name(body, t)
                    .is_some_and(|n| n.contains("EventRecord") || n.contains("clock") || n.contains("time"))
            };
            let measures = self.order.iter().any(times) || self.is_measured(l);
            if !inside.iter().all(plain) || measures || !self.is_fixed(*launch, l) {
                continue;
            }
            if let Some((from, to)) = self.step(*launch) {
                let elsewhere =
                    |s: SymbolId| inside.iter().filter(|&&t| body.as_symbol(t) == Some(s)).count() > 1;
                if !elsewhere(from) && !elsewhere(to) {
                    found.push((*launch, HostFault::MissingSwap(l, from, to)));
                }
            }
        }
        self.found.extend(found);
    }

    /// Whether a loop repeats on purpose: the device was waited for right before it, or its header says so.
    fn is_measured(&self, l: TermId) -> bool {
        let body = self.body;
        let waits = |&t: &TermId| {
            matches!(
                name(body, t),
                Some("cudaDeviceSynchronize" | "cudaStreamSynchronize" | "cudaEventSynchronize")
            )
        };
        let before = self.order.iter().filter(|&&t| matches!(body.op(t), Op::List)).find_map(|&t| {
            let items = body.args(t);
            let at = items.iter().position(|&i| i == l)?;
            items[..at].iter().rev().find(|&&i| !matches!(body.op(i), Op::Declare(_)))
        });
        let waited = before.is_some_and(|&b| body.walk(b).any(|t| waits(&t)));
        let header = &body.args(l)[..body.args(l).len().saturating_sub(1)];
        let said = header.iter().flat_map(|&h| body.walk(h)).filter_map(|t| body.as_symbol(t)).any(|s| {
            let name = body.symbols[s].name.to_lowercase();
            ["repeat", "repetition", "warm", "trial", "nrep", "num_rep", "runs"]
                .iter()
                .any(|w| name.contains(w))
        });
        waited || said
    }

    /// The array that a launch reads at several places a thread, and the one of the same type that it writes.
    fn step(&self, launch: TermId) -> Option<(SymbolId, SymbolId)> {
        let body = self.body;
        let &[_, _, _, _, _, ref given @ ..] = body.args(launch) else { return None };
        let kernel = body.callee_name(launch)?;
        let k = self.context.program.body(kernel)?;
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for (number, &a) in given.iter().enumerate() {
            let p = parameter(k, number)?;
            let Some(element) = k.types.element(k.symbols[p].ty) else { continue };
            let (s, _) = pointer(body, a)?;
            let places: Vec<Option<TermId>> = uses(k, p);
            if only_reads(self.context.program, kernel, number) {
                let mut different: Vec<TermId> = Vec::new();
                for place in places.into_iter().flatten() {
                    if !different.iter().any(|&d| k.same(d, place)) {
                        different.push(place);
                    }
                }
                if different.len() >= 2 {
                    from.push((s, k.types.kind(element)));
                }
            } else {
                // written, and never read
                let whole = |p: Option<TermId>| p.is_some_and(|p| is_written(k, p));
                let assigned = k.walk(k.root).all(|t| {
                    !matches!(k.op(t), Op::Compound(_) | Op::Step { .. }) || {
                        !k.args(t).first().is_some_and(|&x| k.walk(x).any(|y| k.as_symbol(y) == Some(p)))
                    }
                });
                if !assigned || !places.into_iter().all(whole) {
                    return None;
                }
                to.push((s, k.types.kind(element)));
            }
        }
        match (from.as_slice(), to.as_slice()) {
            ([(a, x)], [(b, y)]) if a != b && same_kind(x, y) => Some((*a, *b)),
            _ => None,
        }
    }
}

fn same_kind(a: &term::TypeKind, b: &term::TypeKind) -> bool {
    use term::TypeKind::{Float, Int};
    matches!((a, b), (Float(x), Float(y)) if x == y) || matches!((a, b), (Int(x), Int(y)) if x == y)
}
