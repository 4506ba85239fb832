//! Variables of a run: the objects they are, their declarations, and the lengths that their types were declared with.

use term::{Body, Len, Op, Storage, SymbolId, TermId, TypeId, TypeKind};

use super::{Res, Run, NOWHERE};
use crate::calls::constants::Constant;
use crate::calls::held::{stored, values};
use crate::limits::replay_witness_run_variables::ITEMS_PER_STEP;
use crate::replay_witness::inputs::{Kind, Owner};
use crate::replay_witness::layout;
use crate::replay_witness::memory::{ReplayObject, Rest};
use crate::replay_witness::values::{Address, Fact, Value};
use crate::NotReplayed;

/// How many elements of this type an initializer gives to an array; `None`: braces are left out, and it is not counted.
fn items(body: &Body, init: TermId, of: TypeId) -> Option<i64> {
    let is_scalar = |ty| !matches!(body.types.kind(ty), TypeKind::Array { .. } | TypeKind::Record(_));
    match body.op(init) {
        Op::Str(s) if is_scalar(of) => Some(s.len() as i64 + 1),
        Op::InitList => {
            let all = body.args(init);
            let whole = |t: &TermId| matches!(body.op(*t), Op::InitList | Op::Str(_));
            (is_scalar(of) || all.iter().all(whole)).then_some(all.len() as i64)
        }
        _ => None,
    }
}

impl<'a> Run<'a, '_> {
    pub fn size_of(&mut self, ty: TypeId) -> Option<i64> {
        let body = self.body();
        let lengths = &self.frames.last()?.lengths;
        layout::size_of(&body.types, lengths, ty)
    }

    /// Bytes of an object of the type; `None`: not known, since no text says how large a part of it is.
    fn object_size(&mut self, ty: TypeId) -> Option<i64> {
        let types = &self.body().types;
        let inner = types.innermost(ty);
        let known = match types.kind(inner) {
            TypeKind::Opaque(_) => false,
            TypeKind::Record(_) => types.size_align(inner).is_some(),
            _ => true,
        };
        if known {
            self.size_of(ty)
        } else {
            None
        }
    }

    /// The object of a variable of the running function.
    pub fn variable(&mut self, s: SymbolId) -> Res<u32> {
        let body = self.body();
        let symbol = &body.symbols[s];
        let frame = self.frames.len() - 1;
        match symbol.storage {
            Storage::Param(_) | Storage::Local | Storage::Shared => {
                let known = self.frames[frame].locals[s.0 as usize];
                if known != NOWHERE {
                    return Ok(known);
                }
                let is_input = frame == 0 && matches!(symbol.storage, Storage::Param(_));
                let rest = if is_input { Rest::Input(Owner::Variable(s)) } else { Rest::Any };
                Ok(self.make_variable(s, rest))
            }
            Storage::StaticLocal { .. } => self.static_variable(s),
            _ => {
                if let Some(&o) = self.globals.get(&symbol.name) {
                    return Ok(o);
                }
                self.followed.insert(symbol.name.clone());
                if let Some(c) = self.program.constant(&symbol.name) {
                    return self.constant(c);
                }
                let size = self.object_size(symbol.ty);
                let rest = Rest::Input(Owner::Global(symbol.name.clone()));
                let o = self.memory.add(ReplayObject::new(rest, size));
                self.globals.insert(symbol.name.clone(), o);
                Ok(o)
            }
        }
    }

    /// The kind of an input, and the numbers that it may be where statements of the file alone give them; `None`: none of them is known.
    pub fn bounded(&self, owner: &Owner, offset: i64, kind: Kind) -> Option<(Kind, Vec<i128>)> {
        let Kind::Int { kind: k, least, most } = kind else { return Some((kind, Vec::new())) };
        let Some(mut only) = self.held(owner, offset) else { return Some((kind, Vec::new())) };
        only.retain(|v| (least..=most).contains(v));
        let (least, most) = (*only.first()?, *only.last()?);
        Some((Kind::Int { kind: k, least, most }, only))
    }

    /// The numbers that an integer of the file's own may hold; `None`: any.
    fn held(&self, owner: &Owner, offset: i64) -> Option<Vec<i128>> {
        let first = !self.program.is_internal(&self.goal.body.name);
        let of_file = |name: &str| {
            let (body, s) = self.program.global(name)?;
            let part = layout::part_at(&body.types, body.symbols[s].ty, offset)?;
            self.program.held(name, &part, first)
        };
        let of_function = |name: &str, s: SymbolId| {
            let body = self.frames.iter().map(|f| f.body).find(|b| *b.name == *name)?;
            let part = layout::part_at(&body.types, body.symbols[s].ty, offset)?;
            let all = stored(body);
            let mut own = all.iter().filter(|x| x.symbol == Some(s));
            (!body.symbols[s].address_taken).then(|| values(&mut own, &part, true))?
        };
        match owner {
            Owner::Variable(s) => match self.goal.body.symbols[*s].storage {
                Storage::Param(k) => self.goal.arguments.get(k as usize).copied().flatten().map(|v| vec![v]),
                _ => None,
            },
            Owner::Global(name) => of_file(name),
            Owner::Static(name, s) => of_function(name, *s),
            Owner::After(_, k) => {
                let global = self.globals.iter().find(|(_, o)| *o == k).map(|(name, _)| name);
                let local = || self.statics.iter().find(|(_, o)| *o == k).map(|(at, _)| at);
                match global {
                    Some(name) => of_file(name),
                    None => local().and_then(|(name, s)| of_function(name, *s)),
                }
            }
            _ => None,
        }
    }

    /// A file-scope variable that keeps its first value.
    fn constant(&mut self, c: &'a Constant) -> Res<u32> {
        let symbol = &c.body.symbols[c.symbol];
        let call = self.frames.iter().find_map(|f| f.call).unwrap_or(self.goal.root);
        let before = self.steps;
        self.enter(&c.body, Some(call));
        let size = match (c.body.types.kind(symbol.ty), c.init) {
            // Its text says how long it is.
            (&TypeKind::Array { of, len: Len::Unknown }, Some(init)) => {
                let size = self.object_size(of);
                size.zip(items(&c.body, init, of)).and_then(|(s, n)| s.checked_mul(n))
            }
            _ => self.object_size(symbol.ty),
        };
        let mut object = ReplayObject::new(Rest::Zero, size);
        object.own = true;
        let o = self.memory.add(object);
        self.globals.insert(symbol.name.clone(), o);
        let done = match c.init {
            Some(init) => self.initialise(Address { object: o, offset: 0 }, symbol.ty, init),
            None => Ok(()),
        };
        self.frames.pop();
        // A table's items are numbers mostly: less work than statements.
        self.steps = before + (self.steps - before) / ITEMS_PER_STEP;
        done.map(|()| o)
    }

    pub fn make_variable(&mut self, s: SymbolId, rest: Rest) -> u32 {
        let symbol = &self.body().symbols[s];
        let size = self.object_size(symbol.ty);
        let mut object = ReplayObject::new(rest, size);
        object.own = symbol.is_own_scalar() || self.body().types.is_constant(symbol.ty);
        let o = self.memory.add(object);
        if let Some(f) = self.frames.last_mut() {
            f.locals[s.0 as usize] = o;
        }
        o
    }

    /// A static variable holds what earlier calls left; one that nothing writes still has its first value.
    fn static_variable(&mut self, s: SymbolId) -> Res<u32> {
        let body = self.body();
        let key = (body.name.clone(), s);
        if let Some(&o) = self.statics.get(&key) {
            return Ok(o);
        }
        let size = self.object_size(body.symbols[s].ty);
        let constant = body.types.is_constant(body.symbols[s].ty);
        let is_written = || {
            body.symbols[s].address_taken
                || body.walk(body.root).any(|t| {
                    let place = body.op(t).is_write().then(|| body.args(t).first()).flatten();
                    place.is_some_and(|&p| crate::flow::parts::base_symbol(body, p) == Some(s))
                })
        };
        let written = !constant && is_written();
        let array = !body.types.is_arithmetic(body.symbols[s].ty);
        let rest = match written || array {
            true if !constant => Rest::Input(Owner::Static(body.name.clone(), s)),
            _ => Rest::Zero,
        };
        let mut object = ReplayObject::new(rest, size);
        object.own = constant || !written && !array;
        let o = self.memory.add(object);
        self.statics.insert(key, o);
        if !written {
            let declared = body.walk(body.root).find(|&t| matches!(body.op(t), Op::Declare(x) if *x == s));
            if let Some(&init) = declared.and_then(|d| body.args(d).first()) {
                self.initialise(Address { object: o, offset: 0 }, body.symbols[s].ty, init)?;
            }
        }
        Ok(o)
    }

    pub(super) fn declare(&mut self, s: SymbolId, init: Option<TermId>, at: TermId) -> Res<()> {
        let body = self.body();
        let symbol = &body.symbols[s];
        if !matches!(symbol.storage, Storage::Local | Storage::Shared) {
            return Ok(());
        }
        self.fix_lengths(symbol.ty)?;
        let skipped = self.seek.is_some();
        let o = self.make_variable(s, Rest::Any);
        let Some(init) = init.filter(|_| !skipped) else { return Ok(()) };
        let place = Address { object: o, offset: 0 };
        let _ = at;
        match body.op(init) {
            Op::InitList | Op::Str(_) => self.initialise(place, symbol.ty, init),
            _ => {
                let v = self.eval(init)?;
                self.assign(place, symbol.ty, v, body.ty(init), None)
            }
        }
    }

    pub(super) fn lengths_of_parameters(&mut self) -> Res<()> {
        let body = self.goal.body;
        let parameters = body.args(body.root).first().map_or(&[][..], |&l| body.args(l));
        for &p in parameters {
            if let Op::Declare(s) = body.op(p) {
                self.fix_lengths(body.symbols[*s].ty)?;
            }
        }
        Ok(())
    }

    /// Evaluates the lengths of a type as its declaration does.
    pub fn fix_lengths(&mut self, ty: TypeId) -> Res<()> {
        let body = self.body();
        for t in layout::lengths_in(&body.types, ty) {
            let v = self.eval(t)?;
            // One that is not positive is undefined (C11 6.7.6.2p5).
            if let Some(n) = v.as_int() {
                let fact = v.form().filter(|f| !f.is_constant()).map(|mut f| {
                    f.constant -= 1;
                    Fact::least(f)
                });
                self.decide(&Value::of_truth(n > 0, fact));
                if n <= 0 {
                    return self.fail(NotReplayed::NotReached, t);
                }
            }
            let v = v.as_int();
            if let (Some(v), Some(f)) = (v, self.frames.last_mut()) {
                f.lengths.insert(t, v);
            }
        }
        Ok(())
    }
}
