//! Memory of host and device: sizes, directions, who touches it when.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Op, SymbolId, TermId};

use super::{address, name, pointer, HostFault, Memory, Reader};
use crate::launch_only_value;

impl Reader<'_> {
    pub(super) fn call(&mut self, t: TermId) {
        let body = self.body;
        let args = body.args(t);
        match (name(body, t), args) {
            (Some("cudaMemcpy" | "cudaMemcpyAsync"), &[_, to, from, size, kind, ..]) => {
                self.size(t, size, to);
                let Some(said) = body.as_name(kind).cloned() else { return };
                let is = match (self.kind_of(to), self.kind_of(from)) {
                    (Some(Memory::Device), Some(Memory::Host)) => "cudaMemcpyHostToDevice",
                    (Some(Memory::Host), Some(Memory::Device)) => "cudaMemcpyDeviceToHost",
                    (Some(Memory::Device), Some(Memory::Device)) => "cudaMemcpyDeviceToDevice",
                    (Some(Memory::Host), Some(Memory::Host)) => "cudaMemcpyHostToHost",
                    _ => return,
                };
                let said = [
                    "cudaMemcpyHostToDevice",
                    "cudaMemcpyDeviceToHost",
                    "cudaMemcpyDeviceToDevice",
                    "cudaMemcpyHostToHost",
                ]
                .into_iter()
                .find(|k| **k == *said);
                if let Some(said) = said.filter(|s| *s != is) {
                    self.found.push((kind, HostFault::Direction(said, is)));
                }
            }
            (Some("cudaMalloc" | "cudaMallocManaged" | "cudaMallocHost"), &[_, p, size, ..]) => {
                self.size(t, size, p)
            }
            (Some("cudaMemset"), &[_, p, _, size, ..]) => self.size(t, size, p),
            _ => {}
        }
    }

    /// A size that elsewhere in the function is multiplied by `sizeof`, or counts the elements that a kernel is given.
    fn size(&mut self, _call: TermId, size: TermId, p: TermId) {
        let body = self.body;
        let symbol = address(body, p).or_else(|| pointer(body, p).map(|x| x.0));
        let Some(s) = symbol else { return };
        let Some(element) = body.types.element(body.symbols[s].ty) else { return };
        if body.types.size_align(element).is_none_or(|x| x.0 < 2) || body.as_symbol(size).is_none() {
            return;
        }
        // a `sizeof` is read as its value
        let is_size = self.context.is_size;
        if body.as_symbol(size).and_then(|s| launch_only_value(body, s)).is_some_and(is_size) {
            return;
        }
        let scaled = self.order.iter().any(|&t| match (body.op(t), body.args(t)) {
            (Op::Binary(BinOp::Mul), &[a, b]) => {
                body.same(a, size) && is_size(b) || body.same(b, size) && is_size(a)
            }
            (Op::Call, &[_, a, b]) if name(body, t) == Some("calloc") => body.same(a, size) && is_size(b),
            _ => false,
        });
        if scaled {
            self.found.push((size, HostFault::Elements(size, p)));
        }
    }

    /// Reads and writes of memory by the host itself.
    pub(super) fn touched_too_soon(&mut self) {
        let body = self.body;
        let waits = |t: TermId| {
            matches!(
                name(body, t),
                Some(
                    "cudaDeviceSynchronize"
                        | "cudaStreamSynchronize"
                        | "cudaEventSynchronize"
                        | "cudaMemcpy"
                        | "cudaFree"
                        | "cudaThreadSynchronize"
                        | "cudaMemcpyFromSymbol"
                        | "cudaDeviceReset"
                )
            ) || name(body, t)
                .is_some_and(|n| !n.starts_with("cuda") && self.context.program.body(n).is_some())
        };
        let mut launched: FxHashMap<SymbolId, TermId> = FxHashMap::default();
        let mut told: FxHashSet<SymbolId> = FxHashSet::default();
        let mut found = Vec::new();
        for &t in &self.order {
            match (body.op(t), body.args(t)) {
                (Op::Launch, args) => {
                    for &a in args.iter().skip(5) {
                        if let Some((s, _)) = pointer(body, a) {
                            launched.insert(s, t);
                        }
                    }
                }
                (Op::Call, _) if waits(t) => launched.clear(),
                (Op::Index | Op::Deref, &[b, ..]) => {
                    let Some((s, _)) = pointer(body, b) else { continue };
                    // an address is taken, nothing touched
                    let parent = self.parent(t);
                    let address = parent.is_some_and(|p| matches!(body.op(p), Op::AddrOf | Op::SizeOf));
                    if address || told.contains(&s) {
                        continue;
                    }
                    match self.memory.get(&s) {
                        Some(&(Memory::Device, at)) if self.position[&at] < self.position[&t] => {
                            told.insert(s);
                            found.push((t, HostFault::DevicePointer(s, at)));
                        }
                        Some(&(Memory::Managed, _)) => {
                            if let Some(&l) = launched.get(&s) {
                                told.insert(s);
                                found.push((t, HostFault::Unsynchronised(s, l)));
                            }
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        self.found.extend(found);
    }

    /// Uses that stand after the free in its own list of statements.
    pub(super) fn used_after_free(&mut self) {
        let body = self.body;
        let mut found = Vec::new();
        for &t in &self.order {
            let (Some("cudaFree" | "cudaFreeHost" | "free"), &[_, p]) = (name(body, t), body.args(t)) else {
                continue;
            };
            let Some((s, true)) = pointer(body, p) else { continue };
            let mut statement = t;
            let list = loop {
                let Some(up) = self.parent(statement) else {
                    break None;
                };
                if matches!(body.op(up), Op::List) {
                    break Some(up);
                }
                statement = up;
            };
            let Some(list) = list else { continue };
            let items = body.args(list);
            let Some(k) = items.iter().position(|x| *x == statement) else { continue };
            'uses: for &later in &items[k + 1..] {
                for x in body.walk(later) {
                    let args = body.args(x);
                    let again = match body.op(x) {
                        Op::Assign => body.as_symbol(args[0]) == Some(s),
                        Op::AddrOf => body.as_symbol(args[0]) == Some(s),
                        Op::Return | Op::Goto(_) | Op::Break | Op::Continue => x == later,
                        _ => false,
                    };
                    if again {
                        break 'uses;
                    }
                    let used = match body.op(x) {
                        Op::Launch => args[5..].iter().any(|&a| pointer(body, a).is_some_and(|q| q.0 == s)),
                        Op::Call => args[1..].iter().any(|&a| pointer(body, a).is_some_and(|q| q.0 == s)),
                        Op::Index | Op::Deref => pointer(body, args[0]).is_some_and(|q| q.0 == s),
                        _ => false,
                    };
                    if used {
                        found.push((x, HostFault::Freed(s, t)));
                        break 'uses;
                    }
                }
            }
        }
        self.found.extend(found);
    }
}
