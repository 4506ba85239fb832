//! What may throw, in languages where that is control flow (C#): a subscript outside its array, a reference that is null, a
//! division by zero, a checked operation whose result its type does not hold.
//!
//! Iterations may run at once only where none of them throws: else those before it have run and those behind it have not. So each
//! such place is a condition: proved where it can be, and otherwise to be tested, before the loop or while it runs on copies;
//! where a test fails the loop runs as it is written. Subscripts become obligations here; of the others it is said at once
//! whether they are proved.
//!
//! Deliberately absent: memory that runs out, and what other threads do.

use rustc_hash::{FxHashMap, FxHashSet};
use term::{BinOp, IntKind, Op, Overflow, Storage, SymbolId, TermId, TypeKind};

use crate::algebra::poly::{Constraint, Poly, VarKind};
use crate::flow::library::{library_effect, LibraryResult};
use crate::nest::builder::Builder;
use crate::nest::{AffineAccess, Length, Need};
use crate::{ConditionKind, MetBy, ObstacleKind, Param};

impl Builder<'_> {
    /// Notes all that may throw in the root.
    pub(super) fn read_exceptions(&mut self, around: &[TermId]) {
        if !self.body.semantics.checked_bounds {
            return;
        }
        let covered = self.oblige_bounds();
        let before = self.looked_at_before(around);
        let (mut nulls, mut objects): (Vec<TermId>, Vec<TermId>) = (Vec::new(), Vec::new());
        let body = self.body;
        for t in body.walk(self.root) {
            if !self.pay(1) {
                return;
            }
            let args = body.args(t);
            match body.op(t) {
                Op::Index => {
                    if !covered.contains(&t) && !self.is_gone_through(t) {
                        let length_term = self.length_of_dimension(t);
                        self.throws(ConditionKind::Bounds { access: t, length_term, length: None });
                    }
                    nulls.push(args[0]);
                }
                Op::Deref | Op::Member { arrow: true, .. } => nulls.push(args[0]),
                Op::Sym(s) => {
                    // a length is asked of its array
                    let of = body.said.lengths.iter().find(|l| l.length == *s);
                    let read = of.is_some_and(|l| !self.is_set_here(t) && !before.contains(&l.array));
                    if read {
                        nulls.push(t);
                    }
                    // and a field of its object
                    let object = body.said.object_of(*s).filter(|o| !before.contains(o));
                    if let Some(object) = object.filter(|_| !self.is_set_here(t)) {
                        objects.extend(body.ids().find(|&x| body.as_symbol(x) == Some(object)));
                    }
                }
                Op::Binary(BinOp::Div | BinOp::Rem) | Op::Compound(BinOp::Div | BinOp::Rem) => {
                    let (whole, divisor) = (body.types.as_int(body.ty(t)).is_some(), args[1]);
                    let plain = crate::flow::counted_loop::constant(body, divisor);
                    if whole && plain.is_none_or(|c| c == 0 || c == -1) {
                        self.throws(ConditionKind::NonZero(divisor));
                    }
                }
                Op::Call => self.call_may_throw(t),
                _ => {}
            }
            if self.is_checked(t) {
                self.throws(ConditionKind::NoOverflow(t));
            }
        }
        for t in objects.into_iter().chain(nulls) {
            self.may_be_null(t, &before);
        }
    }

    /// Whether it is the element that `foreach` has come to.
    fn is_gone_through(&self, t: TermId) -> bool {
        let at = self.body.args(t).get(1).and_then(|&at| self.body.as_symbol(at));
        at.is_some_and(|s| self.body.symbols[s].name.starts_with(term::POSITION_OF))
    }

    fn throws(&mut self, kind: ConditionKind) {
        self.note_exception(kind, MetBy::RunTimeCheck);
    }

    fn note_exception(&mut self, kind: ConditionKind, met_by: MetBy) {
        let same = |a: &ConditionKind, b: &ConditionKind| match (a, b) {
            (ConditionKind::NotNull(x), ConditionKind::NotNull(y))
            | (ConditionKind::NonZero(x), ConditionKind::NonZero(y)) => self.body.same(*x, *y),
            (ConditionKind::Bounds { access: x, .. }, ConditionKind::Bounds { access: y, .. }) => {
                self.body.same(*x, *y)
            }
            _ => a == b,
        };
        if !self.exceptions.iter().any(|(k, _)| same(k, &kind)) {
            self.exceptions.push((kind, met_by));
        }
    }

    // ---- subscripts

    /// Obligations for subscripts of arrays whose lengths are known; which subscripts these are.
    fn oblige_bounds(&mut self) -> FxHashSet<TermId> {
        let (body, accesses) = (self.body, self.accesses.clone());
        let mut seen: FxHashMap<TermId, bool> = FxHashMap::default();
        for a in &accesses {
            // outermost first, as subscripts are
            let mut indexes: Vec<TermId> = Vec::new();
            let mut at = a.term;
            loop {
                match (self.body.op(at), self.body.args(at).first()) {
                    (Op::Index, Some(&base)) => {
                        indexes.push(at);
                        at = base;
                    }
                    (Op::Member { arrow: false, .. }, Some(&base)) => at = base,
                    _ => break,
                }
            }
            indexes.reverse();
            let own = self.body.as_symbol(at);
            for (k, &index) in indexes.iter().enumerate() {
                // `a[i]` of `a[i][j]`: the first subscript is the array's own
                let of_rows = |&i: &TermId| body.path_of(i).is_some_and(|p| p.family == a.base);
                let is_row = k == 0 && indexes.len() == a.subs.len() && indexes.first().is_some_and(of_rows);
                let plain = a.fields.iter().all(|f| f.0 > k) && (own == Some(a.base) || is_row);
                let length = own.filter(|_| plain).and_then(|s| self.length_symbol(s, k));
                let value = a.subs.get(k).and_then(|s| s.value.clone());
                let value = value.filter(|p| !self.vars.is_loaded(p) && self.is_plain_value(p));
                let known = match (length, value, a.subs.len() >= indexes.len()) {
                    (Some(length), Some(value), true) => self.oblige_subscript(index, length, value, a),
                    _ => false,
                };
                let all = seen.entry(index).or_insert(true);
                *all &= known;
            }
        }
        seen.into_iter().filter_map(|(t, all)| all.then_some(t)).collect()
    }

    /// Whether nothing is in it of which the model knows nothing.
    fn is_plain_value(&self, p: &Poly) -> bool {
        p.vars().all(|v| *self.vars.kind(v) != VarKind::Fresh)
    }

    fn oblige_subscript(&mut self, index: TermId, length: SymbolId, value: Poly, a: &AffineAccess) -> bool {
        let Some(limit) = self.length_now(length) else { return false };
        let Some(term) = self.length_of_dimension(index) else { return false };
        let Some(room) = limit.sub(&value).and_then(|p| p.add_constant(-1)) else { return false };
        // what is written alike is one condition
        let alike = self.body.walk(self.root).find(|&t| self.body.same(t, index)).unwrap_or(index);
        let need = Need::Bounds { access: alike, length: Length::Term(term, Some(limit)) };
        self.oblige(need.clone(), value, a.domain.clone());
        self.oblige(need, room, a.domain.clone());
        true
    }

    fn length_symbol(&self, array: SymbolId, dimension: usize) -> Option<SymbolId> {
        let same = |l: &&term::ArrayLength| l.array == array && l.dimension as usize == dimension;
        self.body.said.lengths.iter().find(same).map(|l| l.length)
    }

    /// The value of a length while the root runs.
    fn length_now(&mut self, length: SymbolId) -> Option<Poly> {
        if self.effects.writes_in(self.root).contains(&length) {
            return None;
        }
        if let Some(p) = self.definition(length) {
            return Some(p);
        }
        match self.entry_value(length) {
            Some(pieces) if pieces.len() == 1 => pieces.into_iter().next().map(|p| p.1),
            _ => None,
        }
    }

    /// The array's length, as a term to name it by: what a subscript's array is said to have.
    fn length_of_dimension(&self, index: TermId) -> Option<TermId> {
        let (mut at, mut depth) = (*self.body.args(index).first()?, 0);
        while *self.body.op(at) == Op::Index {
            at = *self.body.args(at).first()?;
            depth += 1;
        }
        let length = self.length_symbol(self.body.as_symbol(at)?, depth)?;
        self.body.ids().find(|&t| self.body.as_symbol(t) == Some(length))
    }

    // ---- references

    fn may_be_null(&mut self, t: TermId, before: &FxHashSet<SymbolId>) {
        let body = self.body;
        let mut at = t;
        // a row of a rectangle is no reference
        while *body.op(at) == Op::Index && matches!(body.types.kind(body.ty(at)), TypeKind::Array { .. }) {
            at = body.args(at)[0];
        }
        let length = body.as_symbol(at).and_then(|s| body.said.lengths.iter().find(|l| l.length == s));
        let symbol = length.map(|l| l.array).or(body.as_symbol(at));
        let Some(s) = symbol else { return self.throws(ConditionKind::NotNull(at)) };
        if body.said.never_null.contains(&s) {
            return;
        }
        let name = match length {
            Some(_) => body.ids().find(|&x| body.as_symbol(x) == Some(s)).unwrap_or(at),
            None => at,
        };
        let met_by = match before.contains(&s) || self.is_always_fresh(s) {
            true => MetBy::Proof,
            false => MetBy::RunTimeCheck,
        };
        let said = self.exceptions.iter().any(|(k, _)| match k {
            ConditionKind::NotNull(x) => body.as_symbol(*x) == Some(s),
            _ => false,
        });
        if !said {
            self.note_exception(ConditionKind::NotNull(name), met_by);
        }
    }

    /// Whether every value that the variable is given is new memory.
    fn is_always_fresh(&self, s: SymbolId) -> bool {
        let Some(writes) = self.effects.writes.get(&s) else { return false };
        let fresh = |&w: &TermId| {
            let args = self.body.args(w);
            match self.body.op(w) {
                Op::Declare(_) => args.first().is_some_and(|&v| self.is_new(v)),
                Op::Assign => args.get(1).is_some_and(|&v| self.is_new(v)),
                _ => false,
            }
        };
        !writes.is_empty() && writes.iter().all(fresh) && !self.body.symbols[s].address_taken
    }

    /// Whether a value is new memory.
    fn is_new(&self, mut t: TermId) -> bool {
        while let (Op::Cast, &[inner]) = (self.body.op(t), self.body.args(t)) {
            t = inner;
        }
        let of_library = self.body.callee(t).filter(|f| self.body.library.contains(f));
        let effect = of_library.and_then(|f| library_effect(&self.body.symbols[f].name));
        effect.is_some_and(|e| e.returns == LibraryResult::Fresh)
    }

    /// Arrays in variables that the root does not set, which were looked into before its first iteration begins.
    fn looked_at_before(&self, around: &[TermId]) -> FxHashSet<SymbolId> {
        let body = self.body;
        let mut out = FxHashSet::default();
        // a local holds nothing before its one write; a parameter does, and another array behind one
        let never_changes = |s: SymbolId| {
            let most = usize::from(body.symbols[s].storage == Storage::Local);
            self.effects.writes.get(&s).is_none_or(|w| w.len() <= most)
        };
        let stays_here = |s: SymbolId| !self.effects.writes_in(self.root).contains(&s);
        let mut look = |t: TermId, keeps: &dyn Fn(SymbolId) -> bool| {
            let certain = body.walk(t).all(|x| {
                !matches!(body.op(x), Op::Select | Op::If | Op::Switch | Op::Reject(_) | Op::Return)
                    && !matches!(body.op(x), Op::Binary(op) if op.is_logical())
                    && !body.op(x).is_loop()
            });
            if !certain {
                return;
            }
            for x in body.walk(t) {
                let s = match body.op(x) {
                    Op::Index => body.as_symbol(body.args(x)[0]),
                    Op::Sym(s) => body.said.lengths.iter().find(|l| l.length == *s).map(|l| l.array),
                    _ => None,
                };
                out.extend(s.filter(|&s| keeps(s) && !body.symbols[s].address_taken));
            }
        };
        let first = |t: TermId| {
            let parts = body.loop_parts(t);
            parts.filter(|p| p.tests_first).into_iter().flat_map(|p| [p.init, p.condition]).flatten()
        };
        for (k, &t) in around.iter().enumerate() {
            let inner = around.get(k + 1).copied().unwrap_or(self.root);
            if *body.op(t) == Op::List {
                // where control may come in, nothing before it need have run
                let comes_in = |x: TermId| matches!(body.op(x), Op::Label(_) | Op::Case | Op::Default);
                let earlier: Vec<TermId> = body.args(t).iter().copied().take_while(|&x| x != inner).collect();
                let since = earlier.iter().rposition(|&x| comes_in(x)).map_or(0, |k| k + 1);
                earlier[since..].iter().for_each(|&x| look(x, &never_changes));
            } else if body.op(t).is_loop() {
                first(t).for_each(|x| look(x, &never_changes));
            }
        }
        first(self.root).for_each(|x| look(x, &stays_here));
        out
    }

    /// Whether the variable is being set there, and not used.
    fn is_set_here(&self, t: TermId) -> bool {
        let parent = self.effects.parent(t);
        parent.is_some_and(|p| *self.body.op(p) == Op::Assign && self.body.args(p)[0] == t)
    }

    // ---- operations

    /// Whether a term is an operation on whole numbers that throws where the result does not fit.
    fn is_checked(&self, t: TermId) -> bool {
        let body = self.body;
        let traps = |k: IntKind| body.overflow(k, t) == Overflow::Traps;
        let kind = body.types.as_int(body.ty(t));
        match body.op(t) {
            Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Unary(term::UnOp::Neg) => {
                kind.is_some_and(traps) && crate::flow::counted_loop::constant(body, t).is_none()
            }
            Op::Compound(BinOp::Add | BinOp::Sub | BinOp::Mul) | Op::Step { .. } => kind.is_some_and(traps),
            // these are computed as `int`, and what is more than the place holds is found where it is put back (C# 12.21.4)
            Op::Compound(BinOp::Shl | BinOp::Div) => {
                kind.is_some_and(|k| body.arithmetic(t).promotes(k) && traps(k))
            }
            Op::Cast => {
                let from = body.args(t).first().and_then(|&a| body.types.as_int(body.ty(a)));
                let holds = |k: IntKind| from.is_some_and(|f| k.min() <= f.min() && f.max() <= k.max());
                kind.is_some_and(|k| k != IntKind::Bool && !holds(k) && traps(k))
            }
            _ => false,
        }
    }

    fn call_may_throw(&mut self, t: TermId) {
        let body = self.body;
        let Some(f) = body.callee(t) else { return self.obstacle(ObstacleKind::NotUnderstood, t) };
        let of_library = body.library.contains(&f);
        match &*body.symbols[f].name {
            "Math.Abs" if of_library && body.types.as_int(body.ty(t)).is_some() => {
                self.throws(ConditionKind::NoOverflow(t));
            }
            // an array has no negative number of elements
            "calloc" if of_library => {
                for &size in &body.args(t)[1..] {
                    let mut number = size;
                    while let (Op::Cast, &[inner]) = (body.op(number), body.args(number)) {
                        number = inner;
                    }
                    let known = crate::flow::counted_loop::constant(body, number).is_some_and(|c| c >= 0);
                    if !known && !self.is_a_length(number) {
                        self.throws(ConditionKind::NoOverflow(t));
                    }
                }
            }
            _ if of_library && crate::flow::library::only_computes(&body.symbols[f].name) => {}
            name => {
                let effect = library_effect(name).filter(|_| of_library);
                let kind = match effect.and_then(|e| e.trouble) {
                    Some(why) => ObstacleKind::Call { function: f, why, name: "".into() },
                    None => ObstacleKind::UnknownCall(f),
                };
                self.obstacle(kind, t);
            }
        }
    }

    /// Whether a number of elements is that of another array, or was found not to be negative where it was set.
    fn is_a_length(&self, t: TermId) -> bool {
        let body = self.body;
        let Some(s) = body.as_symbol(t) else { return false };
        let value = |w: &TermId| body.args(*w).first().copied();
        let fine = |v: TermId| {
            let constant = crate::flow::counted_loop::constant(body, v).is_some_and(|c| c >= 0);
            constant || body.as_symbol(v).is_some_and(|s| body.said.lengths.iter().any(|l| l.length == s))
        };
        match self.effects.writes.get(&s).map(Vec::as_slice) {
            Some([w]) => matches!(body.op(*w), Op::Declare(_)) && value(w).is_some_and(fine),
            _ => body.said.lengths.iter().any(|l| l.length == s),
        }
    }

    /// Whether the variable holds, in each iteration, memory that this iteration made and that nobody else gets to see.
    pub(super) fn is_own_each_round(&self, s: SymbolId) -> bool {
        let body = self.body;
        if !body.semantics.checked_bounds || !self.declared_inside(s) || body.symbols[s].address_taken {
            return false;
        }
        let Some([w]) = self.effects.writes.get(&s).map(Vec::as_slice) else { return false };
        let made = matches!(body.op(*w), Op::Declare(_))
            && body.args(*w).first().is_some_and(|&v| self.is_new(v) && *body.op(v) == Op::Cast);
        // nothing but its elements is used; those are numbers
        let number = body.types.element(body.symbols[s].ty).is_some_and(|e| {
            matches!(body.types.kind(e), TypeKind::Int(_) | TypeKind::Float(_) | TypeKind::Array { .. })
        });
        let used_well = |t: TermId| {
            let parent = self.effects.parent(t);
            parent.is_some_and(|p| *body.op(p) == Op::Index && body.args(p)[0] == t)
        };
        made && number && body.walk(body.root).filter(|&t| body.as_symbol(t) == Some(s)).all(used_well)
    }

    /// Lengths are never negative.
    pub(super) fn length_ranges(&mut self) {
        for l in &self.body.said.lengths {
            if let Some(v) = self.vars.param(Param::Symbol(l.length)) {
                let least = Constraint::non_negative(Poly::var(v));
                self.premises.context.push(least);
            }
        }
    }
}
