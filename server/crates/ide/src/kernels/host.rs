//! What host code does around launches: sizes, directions and the order of copies, launches and frees.
//!
//! Straight-line reading: what stands earlier in the text of one function counts as done before, within one list of statements
//! and the lists inside it. Deliberately absent: pointers that are stored away or passed on, other functions, streams.

use analysis::{launch_extents, launch_only_value, launch_value};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, Body, Op, SymbolId, TermId, TypeKind};

use crate::Doc;

/// A fault in host code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HostFault {
    /// Threads of a block.
    BlockSize(u64),
    /// (what is divided, by what)
    ShortGrid(TermId, TermId),
    /// The size, and the pointer.
    Elements(TermId, TermId),
    /// The direction given, and the one that the pointers have.
    Direction(&'static str, &'static str),
    /// No launch of this function is checked.
    Unchecked,
    /// Memory the launch (second) writes is touched before anything waits for it.
    Unsynchronised(SymbolId, TermId),
    /// Memory of the device, allocated there, is touched by the host.
    DevicePointer(SymbolId, TermId),
    /// Freed there.
    Freed(SymbolId, TermId),
}

/// What a pointer of a function points to, by how it got its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Host,
    Device,
    Managed,
}

struct Reader<'a> {
    doc: &'a Doc,
    body: &'a Body,
    /// Where the function stands.
    start: u32,
    order: Vec<TermId>,
    position: FxHashMap<TermId, usize>,
    parents: Vec<Option<TermId>>,
    memory: FxHashMap<SymbolId, (Memory, TermId)>,
    found: Vec<(TermId, HostFault)>,
}

/// The faults of a function of the host.
pub(crate) fn faults(doc: &Doc, item: &front::Item) -> Vec<(TermId, HostFault)> {
    let body = &*item.body;
    let start = item.span.start;
    let order: Vec<TermId> = body.walk(body.root).collect();
    let relevant = |t: &TermId| {
        matches!(body.op(*t), Op::Launch) || name(body, *t).is_some_and(|n| n.starts_with("cuda"))
    };
    if !order.iter().any(relevant) {
        return Vec::new();
    }
    let position = order.iter().enumerate().map(|(k, t)| (*t, k)).collect();
    let parents = body.parents();
    let mut r = Reader {
        doc,
        body,
        start,
        order,
        position,
        parents,
        memory: FxHashMap::default(),
        found: Vec::new(),
    };
    r.allocations();
    for k in 0..r.order.len() {
        let t = r.order[k];
        match body.op(t) {
            Op::Launch => r.launch(t),
            Op::Call => r.call(t),
            _ => {}
        }
    }
    r.unchecked();
    r.touched_too_soon();
    r.used_after_free();
    r.found.sort_by_key(|(t, _)| r.position.get(t).copied());
    r.found
}

/// The name a call calls.
fn name(body: &Body, t: TermId) -> Option<&str> {
    match (body.op(t), body.args(t).first()) {
        (Op::Call, Some(&c)) => match body.op(c) {
            Op::Sym(s) => Some(&body.symbols[*s].name),
            Op::Name(n) => Some(n),
            _ => None,
        },
        _ => None,
    }
}

/// `x`, `(T)x`, `x + n`: the pointer, and whether it is its very value.
fn pointer(body: &Body, t: TermId) -> Option<(SymbolId, bool)> {
    match (body.op(t), body.args(t)) {
        (Op::Sym(s), _) => Some((*s, true)),
        (Op::Cast, &[a]) => pointer(body, a),
        (Op::Binary(BinOp::Add), &[a, _]) => pointer(body, a).map(|(s, _)| (s, false)),
        (Op::AddrOf, &[p]) => match (body.op(p), body.args(p)) {
            (Op::Index, &[b, _]) => pointer(body, b).map(|(s, _)| (s, false)),
            _ => None,
        },
        _ => None,
    }
}

/// `&p`, whatever it is cast to.
fn address(body: &Body, t: TermId) -> Option<SymbolId> {
    match (body.op(t), body.args(t)) {
        (Op::Cast, &[a]) => address(body, a),
        (Op::AddrOf, &[p]) => body.as_symbol(p),
        _ => None,
    }
}

impl Reader<'_> {
    /// Pointers that get all their values from one kind of allocation.
    fn allocations(&mut self) {
        let body = self.body;
        let mut set: FxHashMap<SymbolId, Vec<(Option<Memory>, TermId)>> = FxHashMap::default();
        for &t in &self.order {
            let args = body.args(t);
            let (s, kind) = match (body.op(t), name(body, t)) {
                (Op::Call, Some("cudaMalloc" | "cudaMallocAsync" | "cudaMallocPitch")) => {
                    (args.get(1).and_then(|&a| address(body, a)), Some(Memory::Device))
                }
                (Op::Call, Some("cudaMallocManaged")) => {
                    (args.get(1).and_then(|&a| address(body, a)), Some(Memory::Managed))
                }
                (Op::Call, Some("cudaMallocHost" | "cudaHostAlloc")) => {
                    (args.get(1).and_then(|&a| address(body, a)), Some(Memory::Host))
                }
                (Op::Call, Some(_)) => {
                    // another function may set what it gets the address of
                    for &a in &args[1..] {
                        if let Some(s) = address(body, a) {
                            set.entry(s).or_default().push((None, t));
                        }
                    }
                    continue;
                }
                (Op::Declare(s), _) => match args.first() {
                    Some(&v) => (Some(*s), self.host_value(v)),
                    None if matches!(body.types.kind(body.symbols[*s].ty), TypeKind::Array { .. }) => {
                        (Some(*s), Some(Memory::Host))
                    }
                    None => continue,
                },
                (Op::Assign, _) => (body.as_symbol(args[0]), self.host_value(args[1])),
                (Op::Compound(_) | Op::Step { .. }, _) => (body.as_symbol(args[0]), None),
                _ => continue,
            };
            if let Some(s) = s {
                set.entry(s).or_default().push((kind, t));
            }
        }
        for (s, list) in set {
            // a null pointer that is set later says nothing
            let kinds: Vec<_> = list.iter().filter(|(_, t)| !self.is_null(*t)).collect();
            if let [(Some(first), t), rest @ ..] = kinds.as_slice() {
                if rest.iter().all(|(k, _)| k == &Some(*first)) {
                    self.memory.insert(s, (*first, *t));
                }
            }
        }
    }

    fn is_null(&self, t: TermId) -> bool {
        let value = match (self.body.op(t), self.body.args(t)) {
            (Op::Declare(_), &[v]) | (Op::Assign, &[_, v]) => v,
            _ => return false,
        };
        self.body.walk(value).any(|x| matches!(self.body.op(x), Op::Int(0)))
            && self.body.walk(value).all(|x| matches!(self.body.op(x), Op::Int(0) | Op::Cast))
            || matches!(self.body.op(value), Op::Sym(s) if matches!(&*self.body.symbols[*s].name, "NULL" | "nullptr"))
    }

    fn host_value(&self, v: TermId) -> Option<Memory> {
        let body = self.body;
        match (body.op(v), body.args(v)) {
            (Op::Cast, &[a]) => self.host_value(a),
            (Op::Call, _) => matches!(name(body, v), Some("malloc" | "calloc")).then_some(Memory::Host),
            (Op::InitList, _) => Some(Memory::Host),
            _ => None,
        }
    }

    fn kind_of(&self, t: TermId) -> Option<Memory> {
        let (s, _) = pointer(self.body, t)?;
        self.memory.get(&s).map(|m| m.0)
    }

    fn launch(&mut self, t: TermId) {
        let body = self.body;
        let &[callee, grid, block, _, _, ref args @ ..] = body.args(t) else { return };
        if let Some(d) = launch_extents(body, block) {
            let threads: u64 = d.iter().map(|&x| x as u64).product();
            if !threads.is_multiple_of(32) || threads > 1024 || d[2] > 64 {
                self.found.push((t, HostFault::BlockSize(threads)));
            }
        }
        // n / b blocks of b threads for n elements
        let mut g = grid;
        if let Some(v) = body.as_symbol(grid).and_then(|s| launch_only_value(body, s)) {
            g = v;
        }
        if let (Op::Call, &[_, x, ..]) = (body.op(g), body.args(g)) {
            g = x;
        }
        let (Op::Binary(BinOp::Div), &[n, by]) = (body.op(g), body.args(g)) else { return };
        let same_block = body.same(by, block)
            || launch_value(body, by).zip(launch_extents(body, block)).is_some_and(|(v, d)| v == d[0] as i64);
        let exact = launch_value(body, n).zip(launch_value(body, by));
        let exact = exact.is_some_and(|(n, b)| b > 0 && n % b == 0);
        let Some(s) = body.as_symbol(n) else { return };
        let given = args.iter().any(|&a| body.as_symbol(a) == Some(s));
        let kernel = match body.op(callee) {
            Op::Sym(k) => &body.symbols[*k].name,
            Op::Name(n) => n,
            _ => return,
        };
        let strides = self.doc.program().body(kernel).is_none_or(|k| {
            // a kernel that goes on by the size of the grid covers everything; one without a guard is made for whole blocks
            let grid =
                k.walk(k.root).any(|t| k.as_symbol(t).is_some_and(|s| &*k.symbols[s].name == "gridDim"));
            grid || !k.walk(k.root).any(|t| matches!(k.op(t), Op::If))
        });
        if same_block && !exact && given && !strides {
            self.found.push((t, HostFault::ShortGrid(n, by)));
        }
    }

    fn call(&mut self, t: TermId) {
        let body = self.body;
        let args = body.args(t);
        match (name(body, t), args) {
            (Some("cudaMemcpy" | "cudaMemcpyAsync"), &[_, to, from, size, kind, ..]) => {
                self.size(t, size, to);
                let said = match body.op(kind) {
                    Op::Sym(s) => body.symbols[*s].name.clone(),
                    Op::Name(n) => n.clone(),
                    _ => return,
                };
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
        let is_size = |x: TermId| self.doc.slice(body.span(x).shifted(self.start)).contains("sizeof");
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

    fn unchecked(&mut self) {
        let body = self.body;
        let checks = |t: &TermId| {
            matches!(name(body, *t), Some("cudaGetLastError" | "cudaPeekAtLastError"))
                // a wrapper of the program's own may check
                || name(body, *t).is_some_and(|n| n.to_lowercase().contains("check"))
        };
        let launch = self.order.iter().find(|t| matches!(body.op(**t), Op::Launch));
        if let (Some(&t), false) = (launch, self.order.iter().any(checks)) {
            self.found.push((t, HostFault::Unchecked));
        }
    }

    /// Reads and writes of memory by the host itself.
    fn touched_too_soon(&mut self) {
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
            ) || name(body, t).is_some_and(|n| !n.starts_with("cuda") && self.doc.program().body(n).is_some())
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
                    let parent = self.parents.get(base::IndexId::index(t)).copied().flatten();
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
    fn used_after_free(&mut self) {
        let body = self.body;
        let mut found = Vec::new();
        for &t in &self.order {
            let (Some("cudaFree" | "cudaFreeHost" | "free"), &[_, p]) = (name(body, t), body.args(t)) else {
                continue;
            };
            let Some((s, true)) = pointer(body, p) else { continue };
            let mut statement = t;
            let list = loop {
                let Some(up) = self.parents.get(base::IndexId::index(statement)).copied().flatten() else {
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
