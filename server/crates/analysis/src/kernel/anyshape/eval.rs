//! Values of expressions, for the lanes of a warp.

use term::device::{AtomicOp, Index, Scope};
use term::{BinOp, Body, IntKind, Op, Storage, SymbolId, TermId, TypeKind, UnOp};

use super::form::{lanes, Form, Mask, Part, LANES};
use super::{Number, Run, Stop, Truth, Val, WarpObject, WarpWalk, Way};
use crate::calls::function::Function;
use crate::kernel::access;
use crate::kernel::interpret::{walk, Arguments, Called, Values};
use crate::limits::kernel_anyshape::MAX_DEPTH;

/// Where a value stands.
pub(super) enum Spot {
    /// A thread's own variable that is followed.
    Local(SymbolId),
    /// Memory of the thread's own: what it holds is not followed. Whether one for all lanes.
    Own(bool),
    /// In an object, so many bytes from its beginning.
    In(Option<WarpObject>, Form),
}

impl WarpWalk<'_> {
    pub(super) fn kind(&self, t: TermId) -> Option<IntKind> {
        self.body.types.as_int(self.body.ty(t))
    }

    /// Something of a type of which it is only known whether it is one for all lanes, and whether memory decides.
    pub(super) fn something(&mut self, t: TermId, shared: bool, data: bool) -> Val {
        self.of_type(self.body.ty(t), shared, data)
    }
    pub(super) fn of_type(&mut self, ty: term::TypeId, shared: bool, data: bool) -> Val {
        match self.body.types.kind(ty) {
            TypeKind::Int(kind) => {
                let kind = *kind;
                self.any_int(kind, shared, data)
            }
            TypeKind::Pointer { .. } => {
                let form = self.any_form(None, shared, data);
                Val::Ptr(None, form)
            }
            _ => Val::Other(shared),
        }
    }
    pub(super) fn anything(&mut self, s: SymbolId) -> Val {
        let ty = self.body.symbols[s].ty;
        self.of_type(ty, false, false)
    }

    /// Whether a value is one for all lanes.
    pub(super) fn is_shared(&self, v: &Val, mask: Mask) -> bool {
        match v {
            Val::Int(n) => self.unknowns.is_alike(&n.form),
            Val::Ptr(_, at) => self.unknowns.is_alike(at),
            Val::Truth(c) => {
                let classes = [c.yes & mask, c.no & mask, mask & !(c.yes | c.no)];
                let open = classes[2] == 0 || c.together;
                open && classes.iter().filter(|m| **m != 0).count() <= 1
            }
            Val::Other(shared) => *shared,
        }
    }
    pub(super) fn by_data(&self, v: &Val) -> bool {
        match v {
            Val::Int(n) => n.form.atoms().any(|a| self.unknowns.is_data(a)),
            Val::Ptr(_, at) => at.atoms().any(|a| self.unknowns.is_data(a)),
            Val::Truth(c) => c.undecided == super::Undecided::Data,
            Val::Other(shared) => !shared,
        }
    }
    /// A value made of others by what is not followed.
    pub(super) fn made_of(&mut self, t: TermId, of: &[&Val], way: Way) -> Val {
        let shared = of.iter().all(|v| self.is_shared(v, way.may));
        let data = of.iter().any(|v| self.by_data(v));
        self.something(t, shared, data)
    }

    /// A value in the type of a place.
    pub(super) fn fitted(&mut self, v: Val, from: TermId, to: term::TypeId, way: Way) -> Val {
        match (self.body.types.kind(to), v) {
            (TypeKind::Int(kind), v) => {
                let kind = *kind;
                match self.number_of(from, v.clone()) {
                    Some((n, k)) => Val::Int(self.converted(n, k, kind, way)),
                    None => {
                        let (shared, data) = (self.is_shared(&v, way.may), self.by_data(&v));
                        self.any_int(kind, shared, data)
                    }
                }
            }
            (TypeKind::Pointer { .. }, v @ Val::Ptr(..)) => v,
            (_, v) => {
                let (shared, data) = (self.is_shared(&v, way.may), self.by_data(&v));
                self.of_type(to, shared, data)
            }
        }
    }

    fn pointer_plus(&mut self, p: TermId, (o, at): (Option<WarpObject>, Form), by: &Form, sign: i64) -> Val {
        let body = self.body;
        let element = match body.types.kind(body.ty(p)) {
            TypeKind::Array { of, .. } => Some(*of),
            _ => body.types.element(body.ty(p)),
        };
        let size = element.and_then(|e| body.types.size_align(e)).and_then(|x| i64::try_from(x.0).ok());
        match size.and_then(|s| by.scale(s.checked_mul(sign)?)).and_then(|b| at.add(&b)) {
            Some(at) => Val::Ptr(o, at),
            None => {
                let shared = self.unknowns.is_alike(&at) && self.unknowns.is_alike(by);
                Val::Ptr(o, self.any_form(None, shared, false))
            }
        }
    }

    /// What a condition says.
    pub(super) fn condition(&mut self, t: TermId, way: Way) -> Run<Truth> {
        let v = walk::eval(self, t, way)?;
        Ok(self.truth(t, v, way))
    }
    fn truth(&mut self, t: TermId, v: Val, way: Way) -> Truth {
        match v {
            Val::Truth(c) => c,
            Val::Int(n) => {
                let kind = self.kind(t).unwrap_or(IntKind::Int);
                let zero = Number { form: Form::default(), exact: true };
                self.compared(BinOp::Ne, (n, kind), (zero, kind), way)
            }
            v => Truth::unknown(self.is_shared(&v, way.may)),
        }
    }

    /// One of two values: the first for the lanes for which a condition holds.
    pub(super) fn either(&mut self, c: &Truth, x: Val, y: Val, way: Way) -> Option<Val> {
        if x == y || way.may & !c.yes == 0 {
            return Some(x);
        }
        if way.may & !c.no == 0 {
            return Some(y);
        }
        let open = way.may & !(c.yes | c.no);
        let of = |form, exact| Val::Int(Number { form, exact });
        let (x, y) = match (x, y) {
            (Val::Int(x), Val::Int(y)) => (x, y),
            (Val::Ptr(o, p), Val::Ptr(n, q)) => {
                let object = o.clone().filter(|_| o == n);
                let number = |form| Val::Int(Number { form, exact: true });
                return match self.either(c, number(p), number(q), way) {
                    Some(Val::Int(n)) if object.is_some() => Some(Val::Ptr(object, n.form)),
                    _ => {
                        let form = self.any_form(None, false, false);
                        Some(Val::Ptr(object, form))
                    }
                };
            }
            (Val::Truth(x), Val::Truth(y)) if open == 0 => {
                let pick = |a: Mask, b: Mask| a & c.yes | b & c.no;
                let undecided = if x.undecided == y.undecided { x.undecided } else { super::Undecided::Data };
                let (yes, no) = (pick(x.yes, y.yes), pick(x.no, y.no));
                let together = way.may & !(yes | no) == 0;
                return Some(Val::Truth(Truth { yes, no, together, one: false, undecided }));
            }
            (x, y) => {
                let shared = open == way.may && c.together;
                let all = shared && self.is_shared(&x, way.may) && self.is_shared(&y, way.may);
                return matches!((x, y), (Val::Other(_), Val::Other(_))).then_some(Val::Other(all));
            }
        };
        let exact = x.exact && y.exact;
        if open == 0 {
            return x.form.blend(&y.form, c.yes).map(|f| of(f, exact));
        }
        // one of two that differ by what all lanes share
        let apart = x.form.sub(&y.form)?;
        if open == way.may && c.together && self.unknowns.is_alike(&apart) {
            let data = self.by_data(&Val::Int(x.clone())) || self.by_data(&Val::Int(y.clone()));
            let by = match apart.number() {
                Part::Same(v) => super::form::gcd(apart.divisor(Mask::MAX), v),
                Part::Each(_) => 1,
            };
            let moved = self.any_form(None, true, data).scale(by)?;
            return y.form.add(&moved).map(|f| of(f, exact));
        }
        None
    }
}

impl WarpWalk<'_> {
    /// The object that a variable is.
    fn object_of(&self, s: SymbolId) -> WarpObject {
        let symbol = &self.body.symbols[s];
        WarpObject { name: symbol.name.clone(), space: access::space(symbol.storage) }
    }
}

impl<'a> Values<'a> for WarpWalk<'a> {
    type Val = Val;
    type Place = Spot;
    type Way = Way;
    type Stop = Stop;

    fn body(&self) -> &'a Body {
        self.body
    }
    fn lanes(&self) -> u32 {
        LANES as u32
    }
    fn function(&self, name: &str) -> Option<&'a Function> {
        let program: &'a crate::Program = self.program;
        program.function(name)
    }
    fn begin(&mut self, _: TermId, _: Way) -> Run<bool> {
        if self.depth > MAX_DEPTH {
            return Err(Stop::Structure);
        }
        self.fuel = self.fuel.saturating_sub(1);
        if self.fuel == 0 {
            return Err(Stop::Fuel);
        }
        self.depth += 1;
        Ok(true)
    }
    fn end(&mut self) {
        self.depth -= 1;
    }

    fn unknown(&mut self, t: TermId) -> Run<Val> {
        Ok(self.something(t, false, true))
    }
    fn number(&mut self, v: i128) -> Val {
        match Form::constant(v) {
            Some(form) => Val::Int(Number { form, exact: true }),
            None => {
                let form = self.any_form(Some([v, v]), true, false);
                Val::Int(Number { form, exact: true })
            }
        }
    }
    fn real(&mut self, _: TermId, _: f64) -> Run<Val> {
        Ok(Val::Other(true))
    }
    fn text(&mut self, _: TermId) -> Run<Val> {
        let form = self.any_form(None, true, false);
        Ok(Val::Ptr(None, form))
    }
    fn index(&mut self, index: Index, axis: usize) -> Val {
        let list = match index {
            Index::Thread => &self.thread,
            Index::Block => &self.block,
            Index::BlockSize => &self.extent,
            Index::GridSize => &self.blocks,
        };
        Val::Int(Number { form: list[axis].clone(), exact: true })
    }

    fn cast(&mut self, t: TermId, (a, v): (TermId, Val), way: Way) -> Run<Val> {
        let to = self.body.ty(t);
        Ok(self.fitted(v, a, to, way))
    }
    fn unary(&mut self, t: TermId, op: UnOp, (a, v): (TermId, Val), way: Way) -> Run<Val> {
        if op == UnOp::Not {
            let c = self.truth(a, v, way);
            return Ok(Val::Truth(c.not()));
        }
        let zero = Number { form: Form::default(), exact: true };
        let one = Number { form: Form::constant(1).unwrap_or_default(), exact: true };
        Ok(match (op, self.number_of(a, v.clone())) {
            (UnOp::Plus, Some((n, _))) => Val::Int(n),
            (UnOp::Neg, Some((n, k))) => {
                Val::Int(self.arithmetic(t, BinOp::Sub, (zero, IntKind::Int), (n, k), way))
            }
            // -x - 1
            (UnOp::BitNot, Some((n, k))) => {
                let less = self.arithmetic(t, BinOp::Sub, (zero, IntKind::Int), (n, k), way);
                Val::Int(self.arithmetic(t, BinOp::Sub, (less, k.promoted()), (one, IntKind::Int), way))
            }
            _ => self.made_of(t, &[&v], way),
        })
    }
    fn binary(
        &mut self,
        t: TermId,
        op: BinOp,
        (a, x): (TermId, Val),
        (b, y): (TermId, Val),
        way: Way,
    ) -> Run<Val> {
        let pointer = matches!(x, Val::Ptr(..)) || matches!(y, Val::Ptr(..));
        if pointer && matches!(op, BinOp::Add | BinOp::Sub) {
            return Ok(match (x, y) {
                (Val::Ptr(o, at), y) => match self.number_of(b, y.clone()) {
                    Some((n, _)) => {
                        self.pointer_plus(a, (o, at), &n.form, if op == BinOp::Add { 1 } else { -1 })
                    }
                    None => self.made_of(t, &[&Val::Ptr(o, at), &y], way),
                },
                (x, Val::Ptr(o, at)) => match self.number_of(a, x.clone()) {
                    Some((n, _)) => self.pointer_plus(b, (o, at), &n.form, 1),
                    None => self.made_of(t, &[&Val::Ptr(o, at), &x], way),
                },
                (x, y) => self.made_of(t, &[&x, &y], way),
            });
        }
        Ok(match (self.number_of(a, x.clone()), self.number_of(b, y.clone())) {
            (Some(m), Some(n)) if op.is_comparison() => Val::Truth(self.compared(op, m, n, way)),
            (Some(m), Some(n)) => Val::Int(self.arithmetic(t, op, m, n, way)),
            _ if op.is_comparison() => {
                let together = self.is_shared(&x, way.may) && self.is_shared(&y, way.may);
                Val::Truth(Truth::unknown(together))
            }
            _ => self.made_of(t, &[&x, &y], way),
        })
    }
    fn stepped(&mut self, t: TermId, (p, v): (TermId, &Val), delta: i8, way: Way) -> Run<Val> {
        let by = Form::constant(delta.into()).unwrap_or_default();
        if let Val::Ptr(o, at) = v {
            return Ok(self.pointer_plus(p, (o.clone(), at.clone()), &by, 1));
        }
        Ok(match self.number_of(p, v.clone()) {
            Some(n) => {
                let by = Number { form: by, exact: true };
                let kind = n.1.promoted();
                let sum = self.arithmetic(t, BinOp::Add, n.clone(), (by, IntKind::Int), way);
                Val::Int(self.converted(sum, kind, n.1, way))
            }
            None => self.made_of(t, &[v], way),
        })
    }
    fn logical(&mut self, _: TermId, and: bool, [a, b]: [TermId; 2], way: Way) -> Run<Val> {
        let first = self.condition(a, way)?;
        let on = if and { first.clone() } else { first.clone().not() };
        let Some(inner) = way.under(&on) else { return Ok(Val::Truth(first)) };
        let before = self.locals.clone();
        let second = self.condition(b, inner)?;
        self.join(&on, before, way);
        Ok(Val::Truth(match and {
            true => first.and(second, way.may),
            false => first.not().and(second.not(), way.may).not(),
        }))
    }
    fn select(&mut self, t: TermId, [c, a, b]: [TermId; 3], way: Way) -> Run<Val> {
        let c = self.condition(c, way)?;
        self.decide(t, &c, way);
        let before = self.locals.clone();
        let x = match way.under(&c) {
            Some(w) => Some(walk::eval(self, a, w)?),
            None => None,
        };
        let after = std::mem::replace(&mut self.locals, before);
        let y = match way.under(&c.clone().not()) {
            Some(w) => Some(walk::eval(self, b, w)?),
            None => None,
        };
        self.join(&c.clone().not(), after, way);
        let to = self.body.ty(t);
        let x = x.map(|x| self.fitted(x, a, to, way));
        let y = y.map(|y| self.fitted(y, b, to, way));
        Ok(match (x, y) {
            (Some(x), Some(y)) => match self.either(&c, x.clone(), y.clone(), way) {
                Some(v) => v,
                None => {
                    let data = self.by_data(&x) || self.by_data(&y);
                    self.something(t, false, data || c.undecided == super::Undecided::Data)
                }
            },
            (Some(v), None) | (None, Some(v)) => v,
            (None, None) => self.something(t, false, true),
        })
    }
    fn call(&mut self, t: TermId, called: Called<'a>, arguments: Arguments<'_, Val>, way: Way) -> Run<Val> {
        self.called(t, called, arguments, way)
    }
    fn atomic(
        &mut self,
        t: TermId,
        _: (Option<AtomicOp>, Scope),
        arguments: &[TermId],
        way: Way,
    ) -> Run<Val> {
        if let Some((Val::Ptr(o, at), to)) = walk::target(self, arguments, way)? {
            self.touch(t, to, o.as_ref(), &at, way);
        }
        Ok(self.something(t, false, true))
    }
    fn other(&mut self, t: TermId, way: Way) -> Run<Val> {
        if let Op::List = self.body.op(t) {
            walk::statement(self, t, way)?;
        } else {
            self.gap(t);
        }
        Ok(self.something(t, false, true))
    }

    fn variable(&mut self, _: TermId, s: SymbolId) -> Run<Spot> {
        let symbol = &self.body.symbols[s];
        let array = matches!(self.body.types.kind(symbol.ty), TypeKind::Array { .. });
        Ok(match symbol.storage {
            Storage::Shared | Storage::Global { .. } => Spot::In(Some(self.object_of(s)), Form::default()),
            Storage::Param(_) | Storage::Local if !array && !self.is_open(s) => Spot::Local(s),
            _ => Spot::Own(false),
        })
    }
    fn element(
        &mut self,
        t: TermId,
        (b, from): (TermId, Spot),
        (i, index): (TermId, Val),
        way: Way,
    ) -> Run<Spot> {
        let number = self.number_of(i, index).map(|x| x.0.form);
        let size = self.body.types.size_align(self.body.ty(t)).and_then(|s| i64::try_from(s.0).ok());
        Ok(match from {
            Spot::In(o, at) => {
                if let (Some(n), Some(o)) = (&number, &o) {
                    self.step_through(b, n, o, way);
                }
                let moved = number.and_then(|n| at.add(&n.scale(size?)?));
                match moved {
                    Some(at) => Spot::In(o, at),
                    None => {
                        let form = self.any_form(None, false, false);
                        Spot::In(o, form)
                    }
                }
            }
            _ => Spot::Own(false),
        })
    }
    fn field(&mut self, _: TermId, of: Spot, offset: Option<u64>, _: Way) -> Run<Spot> {
        Ok(match of {
            Spot::In(o, at) => {
                let moved = offset.and_then(|b| at.add(&Form::constant(b.into())?));
                match moved {
                    Some(at) => Spot::In(o, at),
                    None => {
                        let shared = self.unknowns.is_alike(&at);
                        let form = self.any_form(None, shared, false);
                        Spot::In(o, form)
                    }
                }
            }
            Spot::Local(s) => {
                let shared = self.locals.get(&s).is_some_and(|v| self.is_shared(v, Mask::MAX));
                Spot::Own(shared)
            }
            own => own,
        })
    }
    fn pointed(&mut self, (_, v): (TermId, Val)) -> Run<Spot> {
        Ok(match v {
            Val::Ptr(o, at) => Spot::In(o, at),
            _ => Spot::Own(false),
        })
    }
    fn no_place(&mut self, t: TermId, way: Way) -> Run<Spot> {
        let v = walk::eval(self, t, way)?;
        Ok(Spot::Own(self.is_shared(&v, way.may)))
    }
    fn address(&mut self, _: TermId, place: Spot) -> Run<Val> {
        Ok(match place {
            Spot::In(o, at) => Val::Ptr(o, at),
            Spot::Own(_) | Spot::Local(_) => {
                let form = self.any_form(None, false, false);
                Val::Ptr(None, form)
            }
        })
    }
    fn load(&mut self, t: TermId, place: &Spot, way: Way) -> Run<Val> {
        Ok(match place {
            Spot::Local(s) => match self.locals.get(s) {
                Some(v) => v.clone(),
                None => self.anything(*s),
            },
            // a member of a parameter that points somewhere: an array of its own
            Spot::Own(shared) => {
                let shared = *shared;
                self.something(t, shared, !shared)
            }
            Spot::In(o, at) => {
                self.touch(t, Some(self.body.ty(t)), o.as_ref(), at, way);
                // one place, asked for by all at once
                let shared = self.unknowns.is_alike(at);
                self.something(t, shared, true)
            }
        })
    }
    fn write(&mut self, p: TermId, place: Spot, (v, value): (TermId, Val), way: Way) -> Run<Val> {
        let to = self.body.ty(p);
        let value = match v == p && !matches!(value, Val::Truth(_)) {
            true => value,
            false => self.fitted(value, v, to, way),
        };
        match place {
            Spot::Local(s) => {
                self.locals.insert(s, value.clone());
            }
            Spot::Own(_) => {}
            Spot::In(o, at) => self.touch(p, Some(to), o.as_ref(), &at, way),
        }
        Ok(value)
    }
}

impl WarpWalk<'_> {
    /// A subscript of an array with a length: lanes that would leave it show that blocks are narrower.
    fn step_through(&mut self, base: TermId, index: &Form, object: &WarpObject, way: Way) {
        let TypeKind::Array { len: term::Len::Const(n), .. } = self.body.types.kind(self.body.ty(base))
        else {
            return;
        };
        let known = index.products().all(|(_, p)| matches!(p, Part::Same(_)));
        let shared = index.atoms().all(|a| self.unknowns.is_shared(a));
        if object.space != term::Space::Shared || !known || !shared || way.must != way.may || way.one {
            return;
        }
        let all: Vec<i64> = lanes(way.may).map(|l| index.number().at(l)).collect();
        let (least, most) = (all.iter().min(), all.iter().max());
        if let (Some(least), Some(most)) = (least, most) {
            self.narrow |= u64::try_from(most - least).is_ok_and(|d| d >= *n);
        }
    }
}
