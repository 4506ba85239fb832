//! A function as its offload of a stretch reads it, second part: what no loop does and would bring arrays back to the host.
//!
//! Statements that use memory become loops of one round, and so kernels. Numbers that only kernels set and read become arrays
//! of one element, which lie on the device; so do cells of memory that a loop accumulates in, while it runs. Arrays that a
//! block has for itself begin with statements instead of with a list.

use base::{Budget, IndexId};
use rustc_hash::{FxHashMap, FxHashSet};
use term::{
    intrinsic, BinOp, Body, BodyBuilder, IntKind, Len, Op, Origin, SymbolId, Term, TermId, TypeId, TypeKind,
};

use super::written::Written;
use crate::flow::counted_loop::has_jump;
use crate::limits::offload_region::{MAX_BEGUN, MAX_LISTED};
use crate::{Facts, LoopId};

/// The function with what uses memory and stands in none of `nests` as kernels of its own; `None`: nothing does. `nests`: the
/// outermost parallel loops in the statements, of which kernels may be made.
pub(crate) fn alone(written: &Written, facts: &Facts, nests: &[LoopId], budget: &Budget) -> Option<Written> {
    let body = &written.body;
    if nests.is_empty() {
        return None;
    }
    let parents = body.parents();
    let first = *written.statements.first()?;
    let terms: Vec<TermId> = nests.iter().map(|&id| facts.loops[id].term).collect();
    let mut lone = Lone {
        b: body.to_builder(),
        body,
        facts,
        nests,
        terms: &terms,
        cells: FxHashMap::default(),
        any: false,
    };
    let block = parents.get(first.index()).copied().flatten().filter(|&b| *body.op(b) == Op::List);
    let all = block.map_or(&[][..], |b| body.args(b));
    let count = written.statements.len();
    let from = all.iter().position(|&t| t == first);
    let from = from.filter(|&from| all.get(from..from + count) == Some(&written.statements[..]));
    let first = match from {
        Some(_) => lone.cells_of(&written.statements, budget),
        None if count == 1 => Begin::default(),
        None => return None,
    };
    let statements = lone.list(&written.statements, first);
    if let (Some(block), Some(from)) = (block, from) {
        let new = [&all[..from], &statements, &all[from + count..]].concat();
        let term = lone.b.get(block).clone();
        lone.b.set(block, Term { args: new.into(), ..term });
    } else if statements != written.statements {
        return None;
    }
    lone.any.then(|| Written { body: lone.b.finish(body.root), statements, ..written.clone() })
}

/// What comes before all others.
#[derive(Default)]
pub(super) struct Begin {
    pub declared: Vec<TermId>,
    /// Statements that give cells their first values.
    pub set: Vec<TermId>,
}

pub(super) struct Lone<'a> {
    pub b: BodyBuilder,
    pub body: &'a Body,
    pub facts: &'a Facts,
    /// The outermost parallel loops, and their terms.
    pub nests: &'a [LoopId],
    pub terms: &'a [TermId],
    /// The array of one element that stands for a variable.
    pub cells: FxHashMap<SymbolId, SymbolId>,
    /// Whether anything was changed.
    pub any: bool,
}

impl Lone<'_> {
    pub(super) fn term(&mut self, op: Op, args: Vec<TermId>, ty: TypeId, like: TermId) -> TermId {
        let span = self.b.span(like);
        self.b.term_from(op, args, ty, span, Origin::Made)
    }

    pub(super) fn void(&mut self, op: Op, args: Vec<TermId>, like: TermId) -> TermId {
        let ty = self.b.types.void();
        self.term(op, args, ty, like)
    }

    pub(super) fn copy(&mut self, t: TermId) -> TermId {
        let term = self.b.get(t).clone();
        let args = term.args.iter().map(|&a| self.copy(a)).collect();
        self.term(term.op, args, term.ty, t)
    }

    /// An array of one element of a type.
    pub(super) fn cell(&mut self, name: &str, ty: TypeId) -> SymbolId {
        let kind = self.b.types.kind(ty).clone();
        let of = self.b.types.plain(kind);
        let ty = self.b.types.plain(TypeKind::Array { of, len: Len::Const(1) });
        self.b.local(name, ty)
    }

    /// `cell[0]`
    pub(super) fn at_cell(&mut self, cell: SymbolId, like: TermId) -> TermId {
        let (array, int) = (self.b.symbols[cell].ty, self.b.types.int(IntKind::Int));
        let of = self.b.types.element(array).unwrap_or(int);
        let base = self.term(Op::Sym(cell), Vec::new(), array, like);
        let zero = self.term(Op::Int(0), Vec::new(), int, like);
        self.term(Op::Index, vec![base, zero], of, like)
    }

    /// Makes a term another, in its place.
    pub(super) fn become_term(&mut self, t: TermId, new: TermId) {
        let term = self.b.get(new).clone();
        let empty = Term { op: Op::Empty, args: Box::default(), ty: self.b.types.void() };
        self.b.set(new, empty);
        self.b.set(t, term);
    }

    /// What stands in a statement that stays on the host; of loops only in those with kernels, for a launch for each iteration
    /// of another takes longer than copies do.
    fn inside(&mut self, t: TermId) {
        let is_kernel = |t: TermId| self.terms.contains(&t);
        let is_loop = self.body.op(t).is_loop();
        if is_kernel(t) || is_loop && !self.body.walk(t).any(is_kernel) {
            return;
        }
        match self.body.op(t) {
            Op::List => {
                let new = self.list(self.body.args(t), Begin::default());
                let term = self.b.get(t).clone();
                self.b.set(t, Term { args: new.into(), ..term });
            }
            Op::If => self.body.args(t).iter().skip(1).for_each(|&a| self.inside(a)),
            _ => {
                if let Some(parts) = self.body.loop_parts(t) {
                    self.inside(parts.body);
                }
            }
        }
    }

    /// The statements of a list, with those together that are one behind the other.
    fn list(&mut self, statements: &[TermId], first: Begin) -> Vec<TermId> {
        let chosen: FxHashSet<SymbolId> = self.cells.keys().copied().collect();
        let (mut out, mut group) = (first.declared, first.set);
        for (k, &t) in statements.iter().enumerate() {
            if let Op::Declare(s) = *self.body.op(t) {
                self.declare(s, t, &chosen, &mut group, &mut out);
                continue;
            }
            if self.is_alone(t, &chosen) {
                self.stand(t);
                group.push(t);
                continue;
            }
            let around = [k.checked_sub(1), Some(k + 1)].map(|k| k.and_then(|k| statements.get(k)).copied());
            let behind = self.accumulated(t, around, &mut group, &mut out);
            self.end(&mut group, &mut out);
            match self.terms.iter().position(|&x| x == t) {
                Some(k) => {
                    let facts = self.facts;
                    let privates = facts.loops[self.nests[k]].privates.iter().filter(|p| !p.kept);
                    self.stand_but(t, &privates.map(|p| p.symbol).collect::<Vec<_>>());
                }
                None => self.inside(t),
            }
            out.push(t);
            group.extend(behind);
        }
        self.end(&mut group, &mut out);
        out
    }

    /// A declaration: of a variable that is a cell, of an array that begins with a list, or another.
    fn declare(
        &mut self,
        s: SymbolId,
        t: TermId,
        chosen: &FxHashSet<SymbolId>,
        group: &mut Vec<TermId>,
        out: &mut Vec<TermId>,
    ) {
        let init = self.body.args(t).first().copied();
        if let Some(&cell) = self.cells.get(&s) {
            let void = self.b.types.void();
            self.b.set(t, Term { op: Op::Declare(cell), args: Box::default(), ty: void });
            out.push(t);
            if let Some(init) = init {
                self.stand(init);
                let place = self.at_cell(cell, t);
                let ty = self.b.get(place).ty;
                let set = self.term(Op::Assign, vec![place, init], ty, t);
                group.push(set);
            }
            return;
        }
        let begun =
            init.filter(|&i| *self.body.op(i) == Op::InitList).and_then(|i| self.begun(s, i, t, chosen));
        if let Some((mut single, loops)) = begun {
            let void = self.b.types.void();
            self.b.set(t, Term { op: Op::Declare(s), args: Box::default(), ty: void });
            out.push(t);
            group.append(&mut single);
            if !loops.is_empty() {
                self.end(group, out);
                out.extend(loops);
            }
            self.any = true;
            return;
        }
        // it may read what the group sets
        self.end(group, out);
        out.push(t);
    }

    /// Statements that give an array the values that its list says, and loops for the rest.
    fn begun(
        &mut self,
        s: SymbolId,
        list: TermId,
        like: TermId,
        chosen: &FxHashSet<SymbolId>,
    ) -> Option<(Vec<TermId>, Vec<TermId>)> {
        let body = self.body;
        let TypeKind::Array { of, len: Len::Const(len) } = *body.types.kind(body.symbols[s].ty) else {
            return None;
        };
        let items = body.args(list);
        let is_plain = body.types.is_arithmetic(of) && (1..=MAX_BEGUN).contains(&len);
        if !is_plain || items.len() as u64 > MAX_LISTED {
            return None;
        }
        let is_number = |t: &TermId| !matches!(body.op(*t), Op::InitList) && self.is_alone_value(*t, chosen);
        if !items.iter().all(is_number) {
            return None;
        }
        let (array, int) = (body.symbols[s].ty, self.b.types.int(IntKind::Int));
        let mut single = Vec::new();
        for (k, &item) in items.iter().enumerate() {
            self.stand(item);
            let base = self.term(Op::Sym(s), Vec::new(), array, like);
            let at = self.term(Op::Int(k as i128), Vec::new(), int, like);
            let place = self.term(Op::Index, vec![base, at], of, like);
            single.push(self.term(Op::Assign, vec![place, item], of, like));
        }
        let mut loops = Vec::new();
        if (items.len() as u64) < len {
            let index = self.b.local("begin", int);
            let base = self.term(Op::Sym(s), Vec::new(), array, like);
            let at = self.term(Op::Sym(index), Vec::new(), int, like);
            let place = self.term(Op::Index, vec![base, at], of, like);
            let zero = self.term(Op::Int(0), Vec::new(), int, like);
            let set = self.term(Op::Assign, vec![place, zero], of, like);
            loops.push(self.counted(index, items.len() as i128, i128::from(len), vec![set], like));
        }
        Some((single, loops))
    }

    fn end(&mut self, group: &mut Vec<TermId>, out: &mut Vec<TermId>) {
        if let Some(&first) = group.first() {
            let statements = std::mem::take(group);
            let int = self.b.types.int(IntKind::Int);
            let index = self.b.local("once", int);
            out.push(self.counted(index, 0, 1, statements, first));
            self.any = true;
        }
    }

    /// `for (int index = from; index < to; index++) { … }`
    fn counted(
        &mut self,
        index: SymbolId,
        from: i128,
        to: i128,
        statements: Vec<TermId>,
        like: TermId,
    ) -> TermId {
        let int = self.b.types.int(IntKind::Int);
        let from = self.term(Op::Int(from), Vec::new(), int, like);
        let declare = self.void(Op::Declare(index), vec![from], like);
        let left = self.term(Op::Sym(index), Vec::new(), int, like);
        let to = self.term(Op::Int(to), Vec::new(), int, like);
        let condition = self.term(Op::Binary(BinOp::Lt), vec![left, to], int, like);
        let place = self.term(Op::Sym(index), Vec::new(), int, like);
        let step = self.term(Op::Step { delta: 1, prefix: false }, vec![place], int, like);
        let block = self.void(Op::List, statements, like);
        self.void(Op::For, vec![declare, condition, step, block], like)
    }

    /// Cells in the place of the variables in a statement or loop.
    fn stand(&mut self, t: TermId) {
        self.stand_but(t, &[]);
    }

    /// Likewise, save of those that each iteration has for itself.
    fn stand_but(&mut self, t: TermId, own: &[SymbolId]) {
        if self.cells.is_empty() {
            return;
        }
        let mut stack = vec![t];
        while let Some(x) = stack.pop() {
            let term = self.b.get(x);
            if let Op::Sym(s) = term.op {
                if let Some(&cell) = self.cells.get(&s).filter(|_| !own.contains(&s)) {
                    let at = self.at_cell(cell, x);
                    self.become_term(x, at);
                }
                continue;
            }
            stack.extend(term.args.iter());
        }
    }

    /// Whether a statement can run on the device and changes nothing that the host has to know, while `cells` lie there; and
    /// uses them, or memory.
    pub(super) fn is_alone(&self, t: TermId, cells: &FxHashSet<SymbolId>) -> bool {
        let body = self.body;
        if self.terms.contains(&t) || *body.op(t) == Op::Empty || has_jump(body, t) {
            return false;
        }
        if let Op::Declare(s) = body.op(t) {
            let init = body.args(t).first();
            return cells.contains(s) && init.is_none_or(|&i| self.is_alone_value(i, cells));
        }
        let declared: FxHashSet<SymbolId> = body
            .walk(t)
            .filter_map(|x| match body.op(x) {
                Op::Declare(s) => Some(*s),
                _ => None,
            })
            .collect();
        // what is declared in it and a cell is declared outside
        if declared.iter().any(|s| cells.contains(s)) {
            return false;
        }
        let mut uses = false;
        for x in body.walk(t) {
            match body.op(x) {
                Op::Index | Op::Deref | Op::Member { .. } => uses = true,
                Op::Sym(s) if cells.contains(s) => uses = true,
                Op::For | Op::While | Op::DoWhile | Op::Switch | Op::Reject(_) | Op::Launch => return false,
                Op::Call if !is_known(body, x) => return false,
                op if op.is_write() => {
                    let place = body.args(x).first().copied();
                    let is_pointer = place.is_some_and(|p| body.types.element(body.ty(p)).is_some());
                    let own = place.and_then(|p| body.as_symbol(p));
                    if is_pointer || own.is_some_and(|s| !declared.contains(&s) && !cells.contains(&s)) {
                        return false;
                    }
                }
                _ => {}
            }
        }
        uses
    }

    /// Whether an expression can be computed on the device and sets nothing but cells there.
    fn is_alone_value(&self, t: TermId, cells: &FxHashSet<SymbolId>) -> bool {
        let body = self.body;
        body.walk(t).all(|x| match body.op(x) {
            Op::Call => is_known(body, x),
            Op::Reject(_) | Op::InitList => false,
            op if op.is_write() => {
                let place = body.args(x).first().and_then(|&p| body.as_symbol(p));
                place.is_some_and(|s| cells.contains(&s))
            }
            _ => true,
        })
    }
}

/// Whether a call is of a function of the library that kernels have, too.
fn is_known(body: &Body, t: TermId) -> bool {
    body.callee(t).is_some_and(|f| body.library.contains(&f) && intrinsic(&body.symbols[f].name).is_some())
}
