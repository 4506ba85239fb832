//! Repairs of host code around launches: each is applied to a copy of the document, and offered where the fault is gone there, no other
//! came, and no kernel is worse for it.
//!
//! Deliberately absent: repairs of what only the author knows (how many blocks, what to do with an error beyond telling it).

use analysis::HostFault;
use base::Span;
use term::{BinOp, Op, SymbolId, TermId};
use text::{Edit, EditSet};

use super::{smaller, Care, Kernel, Mend, Score, Shape, SimulateOptions, STEPS};
use crate::kernels::{host_faults, shape, simulate_kernels};
use crate::{Ask, Doc};

/// The repair of a fault of a function of the host.
pub(super) fn repair(k: &Kernel<'_>, t: TermId, fault: &HostFault) -> Option<Mend> {
    let (title, edits) = match fault {
        HostFault::MissingSwap(l, from, to) => k.swap(t, *l, *from, *to)?,
        HostFault::InvariantCopy(l, to_device) => k.hoist(t, *l, *to_device)?,
        HostFault::ShortShared(array, given) => k.room(t, array, given.as_ref().map(|g| g.0))?,
        HostFault::Elements(size, p) => k.in_bytes(*size, *p)?,
        HostFault::Direction(_, is) => (format!("Write `{is}`"), vec![Edit::replace(k.span(t), *is)]),
        HostFault::Unsynchronised(_, launch) => k.wait(t, *launch)?,
        HostFault::Unchecked => k.check(t)?,
        _ => return None,
    };
    k.tried_on_host(fault, title, edits)
}

/// A kind of fault, whatever it is told of.
fn kind(fault: &HostFault) -> std::mem::Discriminant<HostFault> {
    std::mem::discriminant(fault)
}

type Repair = (String, Vec<Edit>);

impl Kernel<'_> {
    fn text(&self, t: TermId) -> &str {
        self.doc.slice(self.span(t))
    }

    /// A name that nothing in the function has.
    fn unused(&self, wanted: &str) -> Option<String> {
        let taken = |n: &str| self.body.symbols.iter().any(|s| &*s.name == n);
        let numbered = (2..9).map(|k| format!("{wanted}{k}"));
        std::iter::once(wanted.to_owned()).chain(numbered).find(|n| !taken(n))
    }

    /// The statement of a list, or the only one of a loop or branch, that a term belongs to.
    fn statement(&self, t: TermId) -> Option<TermId> {
        let mut at = t;
        while let Some(up) = self.parent(at) {
            if matches!(self.body.op(up), Op::List) {
                return Some(at);
            }
            at = up;
        }
        None
    }

    /// More text behind a statement, in braces of their own where it stands alone.
    fn behind(&self, statement: TermId, more: &[String]) -> Option<Vec<Edit>> {
        let list = self.parent(statement)?;
        let end = self.doc.text().line_ending().as_str();
        let span = self.with_semicolon(statement);
        if self.doc.slice(self.span(list)).starts_with('{') {
            let blanks = self.indentation(span.start)?;
            let lines: String = more.iter().map(|m| format!("{end}{blanks}{m}")).collect();
            return Some(vec![Edit::insert(span.end, lines)]);
        }
        // `for (…) k<<<…>>>(…);`
        let header = self.parent(list)?;
        let (outer, blanks) = (self.indentation(self.span(header).start)?, self.indentation(span.start)?);
        let between = Span { start: self.span(header).start, end: span.start };
        let head = self.doc.slice(between);
        let start = between.start + head.trim_end().len() as u32;
        let lines: String = more.iter().map(|m| format!("{end}{blanks}{m}")).collect();
        Some(vec![Edit::insert(start, " {"), Edit::insert(span.end, format!("{lines}{end}{outer}}}"))])
    }

    /// The two buffers exchanged behind the launch; what is brought back after the loop comes from the one that was written last.
    fn swap(&self, launch: TermId, l: TermId, from: SymbolId, to: SymbolId) -> Option<Repair> {
        let body = self.body;
        let (a, b) = (&body.symbols[from], &body.symbols[to]);
        let plain = |s: &term::Symbol| {
            matches!(body.types.kind(s.ty), term::TypeKind::Pointer { .. })
                && !body.types.quals(s.ty).is_const
                && matches!(s.storage, term::Storage::Local | term::Storage::Param(_))
        };
        // nobody else keeps the address of one of them
        let kept = body.walk(body.root).any(|t| {
            let of = body.args(t).first().and_then(|&p| body.as_symbol(p));
            let taken = matches!(body.op(t), Op::AddrOf) && of.is_some_and(|s| s == from || s == to);
            let up = self.parent(self.cast(t));
            taken && !up.and_then(|c| self.called(c)).is_some_and(|n| n.starts_with("cudaMalloc"))
        });
        if kept {
            return None;
        }
        let element = |s: &term::Symbol| body.types.element(s.ty).map(|e| body.types.quals(e).is_const);
        if !plain(a) || !plain(b) || element(a)? || element(b)? {
            return None;
        }
        let arguments = body.args(launch).get(5..)?;
        let itself = |s: SymbolId| arguments.iter().any(|&x| body.as_symbol(x) == Some(s));
        if !itself(from) || !itself(to) {
            return None;
        }
        let third = self.unused("last")?;
        let lines = [
            format!("auto {third} = {};", a.name),
            format!("{} = {};", a.name, b.name),
            format!("{} = {third};", b.name),
        ];
        let mut edits = self.behind(self.statement(launch)?, &lines)?;
        let behind = self.span(l).end;
        for t in body.walk(body.root).filter(|&t| self.span(t).start >= behind) {
            match body.as_symbol(t) {
                Some(s) if s == from || s == to => {
                    let given = self.cast(t);
                    let call = self.parent(given)?;
                    let args = body.args(call);
                    match self.called(call)? {
                        "cudaFree" => {}
                        "cudaMemcpy" | "cudaMemcpyAsync" if s == to && args.get(2) == Some(&given) => {
                            edits.push(Edit::replace(self.span(t), a.name.to_string()));
                        }
                        _ => return None,
                    }
                }
                _ => {}
            }
        }
        Some((
            format!("Exchange `{}` and `{}` after each step: the last one is in `{0}` then", a.name, b.name),
            edits,
        ))
    }

    /// The term with the casts around it.
    fn cast(&self, t: TermId) -> TermId {
        let mut at = t;
        while let Some(up) = self.parent(at).filter(|&up| matches!(self.body.op(up), Op::Cast)) {
            at = up;
        }
        at
    }

    fn called(&self, t: TermId) -> Option<&str> {
        match (self.body.op(t), self.body.args(t).first()) {
            (Op::Call, Some(&c)) => match self.body.op(c) {
                Op::Sym(s) => Some(&self.body.symbols[*s].name),
                Op::Name(n) => Some(n),
                _ => None,
            },
            _ => None,
        }
    }

    /// A copy out of its loop, to where it is made if the loop has a round at all.
    fn hoist(&self, t: TermId, l: TermId, to_device: bool) -> Option<Repair> {
        let body = self.body;
        let statement = self.statement(t)?;
        // what becomes of its outcome stays with it
        let removed = self.removed(statement).filter(|_| statement == t)?;
        let call = self.doc.slice(self.with_semicolon(statement)).to_owned();
        let guard = match self.rounds(l)? {
            Rounds::Some => String::new(),
            Rounds::If(c) => format!("if ({c}) "),
        };
        let list = self.parent(l)?;
        if !matches!(body.op(list), Op::List) || !self.doc.slice(self.span(list)).starts_with('{') {
            return None;
        }
        let line = format!("{guard}{call}");
        let (place, edit) = match to_device {
            true => ("before", self.before(l, &line)),
            false => ("behind", self.after(l, &line)),
        };
        Some((format!("Copy once {place} the loop"), vec![removed, edit]))
    }

    /// Whether a counted loop has a round: surely, or under a condition that its header gives.
    fn rounds(&self, l: TermId) -> Option<Rounds> {
        let body = self.body;
        let (Op::For, &[init, condition, ..]) = (body.op(l), body.args(l)) else { return None };
        let declared = match (body.op(init), body.args(init)) {
            (Op::List, &[one]) => one,
            _ => init,
        };
        let (index, begin) = match (body.op(declared), body.args(declared)) {
            (Op::Declare(s), &[v]) => (*s, v),
            (Op::Assign, &[p, v]) => (body.as_symbol(p)?, v),
            _ => return None,
        };
        let (Op::Binary(op @ (BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge)), &[a, b]) =
            (body.op(condition), body.args(condition))
        else {
            return None;
        };
        let plain = |t: TermId| matches!(body.op(t), Op::Sym(_) | Op::Int(_));
        if body.as_symbol(a) != Some(index) || body.as_symbol(b) == Some(index) || !plain(begin) || !plain(b)
        {
            return None;
        }
        let number = |t: TermId| match body.op(t) {
            Op::Int(v) => Some(*v),
            _ => None,
        };
        if let (Some(x), Some(y)) = (number(begin), number(b)) {
            let holds = match op {
                BinOp::Lt => x < y,
                BinOp::Le => x <= y,
                BinOp::Gt => x > y,
                _ => x >= y,
            };
            return holds.then_some(Rounds::Some);
        }
        // read from the bound's side: `steps > 0`
        let sign = match op {
            BinOp::Lt => ">",
            BinOp::Le => ">=",
            BinOp::Gt => "<",
            _ => "<=",
        };
        Some(Rounds::If(format!("{} {sign} {}", self.text(b), self.text(begin))))
    }

    /// The third argument of a launch, in bytes: an element for each thread of the block, if runs need that and no more.
    fn room(&self, launch: TermId, array: &str, given: Option<TermId>) -> Option<Repair> {
        let body = self.body;
        let &[callee, _, block, shared, ..] = body.args(launch) else { return None };
        let name = match body.op(callee) {
            Op::Sym(s) => &*body.symbols[*s].name,
            Op::Name(n) => n,
            _ => return None,
        };
        let kernel = self.doc.unit().items.iter().find(|i| i.is_kernel && i.is_called(name))?;
        let symbol =
            kernel.body.symbols.iter().find(|s| s.storage == term::Storage::Shared && &*s.name == array)?;
        let (size, _) = kernel.body.types.size_align(kernel.body.types.element(symbol.ty)?)?;
        let declared = symbol.span?.shifted(kernel.span.start);
        let before = self.doc.slice(Span { start: kernel.span.start, end: declared.start });
        let ty = before.rsplit("__shared__").next()?.trim();
        let words = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ' ';
        if ty.is_empty() || !ty.chars().all(words) || !an_element_a_thread(self, kernel, size) {
            return None;
        }
        let simple = |t: TermId| matches!(body.op(t), Op::Sym(_) | Op::Int(_));
        let bytes = |t: TermId| match simple(t) {
            true => format!("{} * sizeof({ty})", self.text(t)),
            false => format!("({}) * sizeof({ty})", self.text(t)),
        };
        let edit = match given {
            Some(t) => Edit::replace(self.span(t), bytes(t)),
            None if !body.types.as_int(body.ty(block)).is_some_and(|_| simple(block)) => return None,
            None if matches!(body.op(shared), Op::Empty) => {
                let end = self.span(block).end;
                let rest = self.doc.slice(Span { start: end, end: self.span(launch).end });
                if !rest.trim_start().starts_with(">>>") {
                    return None;
                }
                Edit::insert(end, format!(", {}", bytes(block)))
            }
            None => Edit::replace(self.span(shared), bytes(block)),
        };
        Some((format!("Give it an element of `{array}` for each thread, in bytes"), vec![edit]))
    }

    fn in_bytes(&self, size: TermId, p: TermId) -> Option<Repair> {
        let body = self.body;
        let mut at = p;
        let symbol = loop {
            match (body.op(at), body.args(at)) {
                (Op::Sym(s), _) => break *s,
                (Op::Cast | Op::AddrOf, &[a]) | (Op::Binary(BinOp::Add) | Op::Index, &[a, _]) => at = a,
                _ => return None,
            }
        };
        let text = format!("{} * sizeof(*{})", self.text(size), body.symbols[symbol].name);
        Some((format!("Write `{text}`"), vec![Edit::replace(self.span(size), text.clone())]))
    }

    /// A wait before the outermost statement that touches what the launch may still write.
    fn wait(&self, touch: TermId, launch: TermId) -> Option<Repair> {
        let free = |s: &TermId| !self.body.walk(*s).any(|t| t == launch);
        let statement = self.statements(touch).into_iter().rfind(free)?;
        let call = "cudaDeviceSynchronize();";
        Some(("Put `cudaDeviceSynchronize()` before it".into(), vec![self.before(statement, call)]))
    }

    /// A look at the outcome, where the document can print.
    fn check(&self, launch: TermId) -> Option<Repair> {
        let text = self.doc.slice(Span { start: 0, end: self.item.span.start });
        if !["<stdio.h>", "<cstdio>"].iter().any(|h| text.contains(h)) {
            return None;
        }
        let (error, name) = (self.unused("error")?, self.text(*self.body.args(launch).first()?));
        let lines = [
            format!("cudaError_t {error} = cudaGetLastError();"),
            format!("if ({error} != cudaSuccess)"),
            format!(
                "    fprintf(stderr, \"{}: %s\\n\", cudaGetErrorString({error}));",
                name.replace(['"', '\\', '%'], "")
            ),
        ];
        let edits = self.behind(self.statement(launch)?, &lines)?;
        Some(("Look at `cudaGetLastError()` behind it".into(), edits))
    }

    /// The repair, if the fault is gone with it, no other is new, and no kernel is worse.
    fn tried_on_host(&self, fault: &HostFault, title: String, edits: Vec<Edit>) -> Option<Mend> {
        let edits = EditSet::new(edits).ok()?;
        if self.care == Care::Listed {
            return Some(Mend { title, edits });
        }
        let text = edits.apply(self.doc.text()).ok()?;
        let again = Doc::open(self.doc.language(), self.doc.name(), text, self.doc.options().clone());
        let there = self.ask.of(&again);
        let items = |doc: &Doc| doc.unit().items.len();
        if items(&again) != items(self.doc) {
            return None;
        }
        for (old, new) in self.doc.unit().items.iter().zip(&again.unit().items) {
            if old.name != new.name || old.body.rejects().count() < new.body.rejects().count() {
                return None;
            }
            if old.is_kernel {
                let score = |ask: &Ask, i: &front::Item| Score::of(&ask.kernel_facts(i).0);
                if !score(&there, new).is_no_worse(&score(self.ask, old)) {
                    return None;
                }
                continue;
            }
            let count = |list: &[(TermId, HostFault)], f: &HostFault| {
                list.iter().filter(|(_, o)| kind(o) == kind(f)).count()
            };
            let (before, after) = (host_faults(self.doc, old), host_faults(&again, new));
            if after.iter().any(|(_, f)| count(&after, f) > count(&before, f)) {
                return None;
            }
            let here = old.span == self.item.span;
            if here && count(&after, fault) >= count(&before, fault) {
                return None;
            }
        }
        Some(Mend { title, edits })
    }
}

enum Rounds {
    Some,
    If(String),
}

/// Whether runs of a kernel with blocks of two sizes go well with an element of dynamic shared memory a thread, and badly with one less.
fn an_element_a_thread(k: &Kernel<'_>, kernel: &front::Item, size: u64) -> bool {
    if k.care == Care::Listed {
        return true;
    }
    let known = shape::of_file(k.doc, kernel).ok().flatten().map(|x| x.0);
    [64u32, 128].into_iter().all(|threads| {
        let shape = |bytes| {
            let mut s = match &known {
                Some(s) => smaller(s).unwrap_or_else(|| s.clone()),
                None => Shape::default(),
            };
            (s.grid, s.block, s.shared_bytes) = ([2, 1, 1], [threads, 1, 1], bytes);
            (s.values, s.elements) = (Vec::new(), Vec::new());
            s
        };
        let fine = |bytes| {
            let options = SimulateOptions {
                kernel: Some(kernel.name.to_string()),
                launches: vec![(kernel.name.to_string(), shape(bytes))],
                steps: STEPS,
                ..Default::default()
            };
            let run = simulate_kernels(k.ask, &options).into_iter().next();
            run.map(|r| r.refused.is_none() && r.completed && r.problems.is_empty())
        };
        let all = threads as u64 * size;
        fine(all) == Some(true) && fine(all - size) == Some(false)
    })
}
