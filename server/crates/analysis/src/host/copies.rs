//! Copies in loops of the host that could be made once: what they move is the same in every round, or nobody looks at it before the
//! last. A loop in which anything else happens to the buffers, or any function is called that may, is not judged.

use rustc_hash::FxHashSet;
use term::{Body, Op, SymbolId, TermId};

use super::{address, name, pointer, HostFault, Reader};
use crate::Program;

/// A copy between host and device.
struct Copy {
    term: TermId,
    to_device: bool,
    host: SymbolId,
    device: SymbolId,
}

impl Reader<'_> {
    pub(super) fn invariant_copies(&mut self) {
        let body = self.body;
        let loops: Vec<TermId> = self.order.iter().copied().filter(|&t| is_loop(body, t)).collect();
        let mut found = Vec::new();
        for &l in &loops {
            let inside: Vec<TermId> = body.walk(l).filter(|&t| t != l).collect();
            if !inside.iter().all(|&t| self.is_seen_through(t)) {
                continue;
            }
            let copies: Vec<Copy> = inside.iter().filter_map(|&t| self.copy(t)).collect();
            for c in &copies {
                // innermost loops only, and what is always reached
                if self.around(c.term) != Some(l) || !self.is_fixed(c.term, l) {
                    continue;
                }
                if self.stands_alone(c, &copies, &inside) {
                    found.push((c.term, HostFault::InvariantCopy(l, c.to_device)));
                }
            }
        }
        self.found.extend(found);
    }

    /// The loop whose list of statements a call stands in.
    fn around(&self, t: TermId) -> Option<TermId> {
        let mut at = t;
        while let Some(up) = self.parent(at) {
            match self.body.op(up) {
                Op::For | Op::While | Op::DoWhile => return Some(up),
                Op::If | Op::Switch | Op::Select => return None,
                _ => at = up,
            }
        }
        None
    }

    fn copy(&self, t: TermId) -> Option<Copy> {
        let body = self.body;
        let (Some("cudaMemcpy" | "cudaMemcpyAsync"), &[_, to, from, _, kind, ..]) =
            (name(body, t), body.args(t))
        else {
            return None;
        };
        let said = &**body.as_name(kind)?;
        let (to, from) = (pointer(body, to)?.0, pointer(body, from)?.0);
        match said {
            "cudaMemcpyHostToDevice" => Some(Copy { term: t, to_device: true, host: from, device: to }),
            "cudaMemcpyDeviceToHost" => Some(Copy { term: t, to_device: false, host: to, device: from }),
            _ => None,
        }
    }

    /// Whether what a term of the loop does is all in what it names.
    fn is_seen_through(&self, t: TermId) -> bool {
        let harmless = |n: &str| {
            n.starts_with("cuda")
                || n == "dim3"
                || matches!(n, "printf" | "fprintf" | "puts" | "fabs" | "sqrt" | "fmax" | "fmin")
        };
        match self.body.op(t) {
            Op::Call => name(self.body, t).is_some_and(|n| harmless(n) || n.to_lowercase().contains("check")),
            Op::Goto(_) | Op::Reject(_) | Op::Return | Op::Break => false,
            _ => true,
        }
    }

    /// Whether a loop gives none of a term's variables another value.
    pub(super) fn is_fixed(&self, t: TermId, l: TermId) -> bool {
        let body = self.body;
        let used: FxHashSet<SymbolId> = body.walk(t).filter_map(|x| body.as_symbol(x)).collect();
        !body.walk(l).any(|x| match (body.op(x), body.args(x)) {
            (Op::Declare(s), _) => used.contains(s),
            (Op::Assign | Op::Compound(_) | Op::Step { .. }, &[p, ..]) => {
                body.as_symbol(p).is_some_and(|s| used.contains(&s))
            }
            (Op::AddrOf, _) => address(body, x).is_some_and(|s| used.contains(&s)),
            _ => false,
        })
    }

    fn stands_alone(&self, c: &Copy, copies: &[Copy], inside: &[TermId]) -> bool {
        let body = self.body;
        let args = |t: TermId| body.args(t).to_vec();
        let alike = |a: &Copy, b: &Copy| {
            let (x, y) = (args(a.term), args(b.term));
            let (to, from) = if a.to_device == b.to_device { (1, 2) } else { (2, 1) };
            body.same(x[1], y[to]) && body.same(x[2], y[from]) && body.same(x[3], y[3])
        };
        // the host's buffer is named in copies like this one alone
        let of_host = |s: SymbolId| inside.iter().filter(|&&t| body.as_symbol(t) == Some(s)).count();
        let partners: Vec<&Copy> = copies.iter().filter(|o| o.host == c.host).collect();
        if of_host(c.host) != partners.len() || !partners.iter().all(|o| alike(c, o)) {
            return false;
        }
        let others = copies.iter().any(|o| o.device == c.device && o.host != c.host);
        let back = partners.iter().any(|o| o.to_device != c.to_device);
        if others {
            return false;
        }
        // in between the device works: nobody looks at what comes back before the loop ends
        let at = |t: TermId| self.position.get(&t).copied().unwrap_or(0);
        let between = inside.iter().all(|&t| {
            let touches =
                matches!(body.op(t), Op::Launch) && body.walk(t).any(|x| body.as_symbol(x) == Some(c.device));
            !touches || partners.iter().all(|p| (at(p.term) < at(t)) == p.to_device)
        });
        if !c.to_device || back {
            return between && self.is_only_launched(c.device, inside);
        }
        // what was copied is still there
        self.is_only_launched(c.device, inside)
            && inside.iter().all(|&t| match (body.op(t), body.args(t)) {
                (Op::Launch, &[_, _, _, _, _, ref given @ ..]) => given.iter().enumerate().all(|(k, &a)| {
                    let here = body.walk(a).any(|x| body.as_symbol(x) == Some(c.device));
                    !here || body.callee_name(t).is_some_and(|n| only_reads(self.context.program, n, k))
                }),
                _ => true,
            })
    }

    /// Whether a pointer is named in launches and copies alone.
    fn is_only_launched(&self, s: SymbolId, inside: &[TermId]) -> bool {
        let body = self.body;
        inside.iter().filter(|&&t| body.as_symbol(t) == Some(s)).all(|&t| {
            let mut at = t;
            while let Some(up) = self.parent(at) {
                match body.op(up) {
                    Op::Launch => return true,
                    Op::Call => return matches!(name(body, up), Some("cudaMemcpy" | "cudaMemcpyAsync")),
                    Op::Cast | Op::Binary(_) | Op::Index | Op::AddrOf => at = up,
                    _ => return false,
                }
            }
            false
        })
    }
}

pub(super) fn is_loop(body: &Body, t: TermId) -> bool {
    matches!(body.op(t), Op::For | Op::While | Op::DoWhile)
}

/// Whether a kernel uses its parameter of this number to read alone.
pub(super) fn only_reads(program: &Program, kernel: &str, number: usize) -> bool {
    let Some(k) = program.body(kernel) else { return false };
    let Some(s) = parameter(k, number) else { return false };
    uses(k, s).into_iter().all(|place| place.is_some_and(|p| !is_written(k, p)))
}

/// The symbol of a parameter.
pub(super) fn parameter(k: &Body, number: usize) -> Option<SymbolId> {
    match k.op(*k.args(*k.args(k.root).first()?).get(number)?) {
        Op::Declare(s) => Some(*s),
        _ => None,
    }
}

/// Where a pointer is used: the places that are reached through it; `None`: it is used otherwise.
pub(super) fn uses(k: &Body, s: SymbolId) -> Vec<Option<TermId>> {
    let parents = k.parents();
    let at = |t: TermId| parents.get(base::IndexId::index(t)).copied().flatten();
    let place = |t: TermId| {
        let mut here = t;
        while let Some(up) = at(here) {
            match (k.op(up), k.args(up)) {
                (Op::Index, &[b, _]) if b == here => return Some(up),
                (Op::Deref, _) => return Some(up),
                (Op::Binary(term::BinOp::Add) | Op::Cast, _) => here = up,
                _ => return None,
            }
        }
        None
    };
    k.walk(k.root).filter(|&t| k.as_symbol(t) == Some(s)).map(place).collect()
}

pub(super) fn is_written(k: &Body, place: TermId) -> bool {
    k.walk(k.root).any(|t| match (k.op(t), k.args(t)) {
        (Op::Assign | Op::Compound(_) | Op::Step { .. }, &[p, ..]) => within(k, p, place),
        (Op::AddrOf, &[p]) => within(k, p, place),
        _ => false,
    })
}

/// `place`, a field or an element of it.
fn within(k: &Body, t: TermId, place: TermId) -> bool {
    t == place
        || match (k.op(t), k.args(t)) {
            (Op::Member { arrow: false, .. } | Op::Index, &[b, ..]) => within(k, b, place),
            _ => false,
        }
}
