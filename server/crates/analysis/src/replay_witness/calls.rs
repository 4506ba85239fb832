//! Calls of a replay: functions of the program are run, the library's do what C says, and what nobody has the text of
//! may leave anything (see `inputs`). Also what a stretch that is not run may have written.

use term::{Intrinsic, Op, Storage, TermId, TypeId, TypeKind};

use super::formula::Tree;
use super::inputs::{Kind, Owner};
use super::memory::{Contents, ReplayObject, Rest};
use super::run::{Flow, Res, Run};
use super::values::{math, Address, Fact, Number, Shadow, Value};
use crate::flow::called::call;
use crate::flow::ends::never_comes_back;
use crate::flow::library::{library_effect, LibraryResult};
use crate::limits::replay_witness_calls::{FAR, MAX_CALLS};
use crate::NotReplayed;

impl<'a> Run<'a, '_> {
    pub fn call(&mut self, t: TermId) -> Res<Value> {
        let body = self.body();
        let args = body.args(t);
        let mut values = Vec::with_capacity(args.len());
        for &a in &args[1..] {
            values.push(self.eval(a)?);
        }
        let named = body.as_symbol(args[0]).filter(|&f| {
            matches!(body.symbols[f].storage, Storage::Function | Storage::Undeclared | Storage::Builtin)
        });
        let Some(f) = named else {
            // Through a pointer: to a function that the run knows, or to any.
            let callee = self.eval(args[0])?;
            return match callee.number {
                Number::Function(name) => {
                    self.followed.insert(name.clone());
                    match self.program.called_by_name(&name, body, t) {
                        Some(f) => self.known_call(&f.body, f.returns, t, values),
                        None => self.unknown_call(t, &values),
                    }
                }
                Number::Pointer(Some(_)) => self.unknown_call(t, &values),
                Number::Pointer(None) => self.fail(NotReplayed::NotReached, t),
                Number::Any if matches!(callee.shadow, Shadow::Free(_)) => Ok(self.unread_call(t)),
                // It may be one that is not ours to make up.
                _ => self.fail(NotReplayed::Value, t),
            };
        };
        let name = body.symbols[f].name.clone();
        if body.library.contains(&f) {
            return self.library(&name, t, values);
        }
        self.followed.insert(name);
        if let Some(function) = self.program.callee(body, t) {
            return self.known_call(&function.body, function.returns, t, values);
        }
        self.unknown_call(t, &values)
    }

    fn known_call(
        &mut self,
        callee: &'a term::Body,
        returns: TypeId,
        t: TermId,
        values: Vec<Value>,
    ) -> Res<Value> {
        if self.frames.len() > MAX_CALLS {
            return self.fail(NotReplayed::Steps, t);
        }
        let arguments: Vec<TypeId> = {
            let body = self.body();
            body.args(t)[1..].iter().map(|&a| body.ty(a)).collect()
        };
        let call = self.frames[self.frames.len() - 1].call.or(Some(t));
        self.enter(callee, call);
        let done = self.called(callee, returns, values, &arguments);
        self.frames.pop();
        done
    }

    fn called(
        &mut self,
        callee: &'a term::Body,
        returns: TypeId,
        values: Vec<Value>,
        from: &[TypeId],
    ) -> Res<Value> {
        let root = callee.root;
        let [parameters, statements] = *callee.args(root) else {
            return self.fail(NotReplayed::NotUnderstood, root);
        };
        let mut next = values.into_iter().zip(from);
        for &p in callee.args(parameters) {
            let Op::Declare(s) = *callee.op(p) else { continue };
            let Some((v, from)) = next.next() else { break };
            let ty = callee.symbols[s].ty;
            let object = self.make_variable(s, Rest::Any);
            self.assign(Address { object, offset: 0 }, ty, v, *from, None)?;
        }
        for &p in callee.args(parameters) {
            if let Op::Declare(s) = *callee.op(p) {
                self.fix_lengths(callee.symbols[s].ty)?;
            }
        }
        let v = self.function(statements)?;
        Ok(self.convert(v, returns))
    }

    /// A way that an `if` takes. Where it ends in a call of which nothing is known (`if (n < 0) fatal();`), that need not come back.
    pub(super) fn branch(&mut self, way: TermId) -> Res<Flow> {
        let flow = self.exec(way)?;
        match (&flow, self.ends_with_stranger(way)) {
            (Flow::Next, Some(call)) if !self.goal.around.contains(&way) => {
                self.fail(NotReplayed::NotReached, call)
            }
            _ => Ok(flow),
        }
    }

    fn ends_with_stranger(&self, way: TermId) -> Option<TermId> {
        let body = self.body();
        let last = match body.op(way) {
            Op::List => *body.args(way).last()?,
            _ => way,
        };
        let name = body.callee_name(last).filter(|_| *body.op(last) == Op::Call)?;
        let is_known = body.callee(last).is_some_and(|f| {
            body.library.contains(&f) && library_effect(name).is_some() || self.program.body(name).is_some()
        });
        (!is_known).then_some(last)
    }

    /// A function of which there is no text: it may return anything, and leave anything in memory that it can reach.
    fn unknown_call(&mut self, t: TermId, values: &[Value]) -> Res<Value> {
        let name = self.body().callee_name(t).unwrap_or_default();
        if never_comes_back(name) {
            return self.fail(NotReplayed::NotReached, t);
        }
        self.left_by_strangers();
        Ok(self.result(t, values))
    }

    fn left_by_strangers(&mut self) {
        self.unknown_calls += 1;
        let n = self.unknown_calls;
        for (k, o) in self.memory.objects.iter_mut().enumerate() {
            if !o.own {
                o.refill(Rest::Input(Owner::After(n, k as u32)));
            }
        }
    }

    /// A call of a name that no text defines: like one of a function that is only declared, but that the type of the result
    /// shows where it is used.
    pub fn unread_call(&mut self, t: TermId) -> Value {
        self.left_by_strangers();
        Value::free(self.result_owner(t))
    }

    /// An input for what a call returns.
    fn result(&mut self, t: TermId, values: &[Value]) -> Value {
        let owner = self.result_owner(t);
        let body = self.body();
        let ty = body.ty(t);
        // names of the library are its own, by whomever they are declared (C11 7.1.3)
        let within = body.callee_name(t).and_then(|name| between(name, values));
        if let (&TypeKind::Int(kind), Some((least, most))) = (body.types.kind(ty), within) {
            let (least, most) = (least.max(kind.min()), most.min(kind.max()));
            return self.chosen(&owner, 0, kind.bits() / 8, Kind::Int { kind, least, most });
        }
        match body.types.kind(ty) {
            TypeKind::Record(_) => {
                let size = self.size_of(ty);
                let object = self.memory.add(ReplayObject::new(Rest::Input(owner), size));
                Value { number: Number::Record(Address { object, offset: 0 }), shadow: Shadow::None }
            }
            TypeKind::Void => Value::ANY,
            TypeKind::Opaque(_) => Value::free(owner),
            _ => self.input(&owner, 0, ty),
        }
    }

    fn result_owner(&mut self, t: TermId) -> Owner {
        // Calls in called functions are told apart by where those were called.
        let key = self.frames[self.frames.len() - 1].call.unwrap_or(t);
        let n = self.results.entry(key).or_insert(0);
        *n += 1;
        Owner::Result(key, *n)
    }

    fn fresh(&mut self, size: Option<i128>, rest: Rest) -> Value {
        let size = size.and_then(|n| i64::try_from(n).ok());
        let object = self.memory.add(ReplayObject::new(rest, size));
        Value::pointer(Address { object, offset: 0 })
    }

    fn library(&mut self, name: &str, t: TermId, values: Vec<Value>) -> Res<Value> {
        let number = |k: usize| values.get(k).and_then(Value::as_int);
        let bytes = |k: usize| number(k).and_then(|n| i64::try_from(n).ok()).filter(|n| *n >= 0);
        let address = |k: usize| values.get(k).and_then(Value::address);
        match name {
            "malloc" => return Ok(self.fresh(number(0), Rest::Any)),
            "calloc" => {
                let size = number(0).zip(number(1)).and_then(|(a, b)| a.checked_mul(b));
                return Ok(self.fresh(size, Rest::Zero));
            }
            "aligned_alloc" => return Ok(self.fresh(number(1), Rest::Any)),
            "realloc" => {
                let new = self.fresh(number(1), Rest::Any);
                if let (Some(to), Some(from)) = (new.address(), address(0)) {
                    self.copy_bytes(to, from, bytes(1).unwrap_or(FAR));
                }
                return Ok(new);
            }
            "posix_memalign" => {
                let new = self.fresh(number(2), Rest::Any);
                if let Some(o) = address(0).and_then(|a| Some((a, self.memory.at(a)?))) {
                    o.1.store(o.0.offset, 8, new);
                }
                return Ok(Value::int(0));
            }
            "memcmp" | "strcmp" | "strncmp" => {
                if let (Some(a), Some(b)) = (address(0), address(1)) {
                    let most = if name == "strcmp" { Some(i64::MAX) } else { bytes(2) };
                    if let Some(most) = most {
                        return self.compare(a, b, most, name != "memcmp", t);
                    }
                }
            }
            "strlen" => {
                if let Some(a) = address(0) {
                    for k in 0..64 {
                        let c = self.byte(Address { offset: a.offset + k, ..a }, t)?;
                        match self.decide(&c) {
                            Some(true) => {}
                            Some(false) => return Ok(Value::int(k.into())),
                            None => break,
                        }
                    }
                }
            }
            "free" => return Ok(Value::ANY),
            name if never_comes_back(name) => return self.fail(NotReplayed::NotReached, t),
            "assert" => {
                let Some(v) = values.first() else { return self.fail(NotReplayed::NotUnderstood, t) };
                return match self.decide(v) {
                    Some(true) => Ok(Value::ANY),
                    Some(false) => self.fail(NotReplayed::NotReached, t),
                    None => self.fail(NotReplayed::Value, t),
                };
            }
            "memset" => {
                let size = bytes(2).unwrap_or(FAR);
                if let Some(a) = address(0) {
                    self.touch(Some(t), a, size, true)?;
                    let rest =
                        if number(1) == Some(0) && bytes(2).is_some() { Rest::Zero } else { Rest::Any };
                    if let Some(o) = self.memory.at(a) {
                        o.fill(a.offset, size, rest);
                    }
                    return Ok(values[0].clone());
                }
            }
            "memcpy" | "memmove" => {
                let size = bytes(2).unwrap_or(FAR);
                if let (Some(to), Some(from)) = (address(0), address(1)) {
                    self.touch(Some(t), from, size, false)?;
                    self.touch(Some(t), to, size, true)?;
                    self.copy_bytes(to, from, size);
                    return Ok(values[0].clone());
                }
            }
            _ => {}
        }
        if let Some(i) = term::intrinsic(name) {
            return Ok(self.intrinsic(name, i, &values));
        }
        let Some(effect) = library_effect(name) else { return self.unknown_call(t, &values) };
        self.unknown_calls += 1;
        let n = self.unknown_calls;
        for (k, v) in values.iter().enumerate() {
            let bit = |mask: u32| mask >> k.min(31) & 1 == 1;
            // What is read in from outside goes to wherever it is told to; formats are only read.
            let reads_in = matches!(name, "scanf" | "fscanf" | "fread" | "fgets") && k > 0
                || matches!(name, "fread" | "fgets") && k == 0;
            let text = matches!(name, "scanf") && k == 0 || matches!(name, "fscanf") && k <= 1;
            if !(bit(effect.writes) || reads_in && !text) {
                continue;
            }
            match v.number {
                Number::Pointer(Some(a)) => {
                    self.touch(Some(t), a, 1, true)?;
                    if let Some(o) = self.memory.at(a) {
                        o.refill(Rest::Input(Owner::After(n, a.object)));
                    }
                }
                Number::Any => return self.unknown_call(t, &values),
                _ => {}
            }
        }
        Ok(match effect.returns {
            LibraryResult::Fresh => self.fresh(None, Rest::Any),
            LibraryResult::Argument(k) if matches!(name, "strcpy" | "strncpy" | "strcat" | "strncat") => {
                values.get(k).cloned().unwrap_or(Value::ANY)
            }
            LibraryResult::Argument(_) => Value::ANY,
            LibraryResult::Number => {
                let v = self.result(t, &values);
                // Fixed by what was given to it, and not followed.
                match effect.trouble.is_none() && !is_from_text(name) && between(name, &values).is_none() {
                    true => Value::ANY,
                    false => v,
                }
            }
        })
    }

    /// A byte of memory as an unsigned number.
    fn byte(&mut self, at: Address, t: TermId) -> Res<Value> {
        let plain = |r: &Self| {
            let object = r.memory.objects.get(at.object as usize);
            object.map(|o| o.load(at.offset, 1))
        };
        if let Some(size) = self.memory.objects.get(at.object as usize).and_then(|o| o.size) {
            if !(0..size).contains(&at.offset) {
                return self.fail(NotReplayed::NotReached, t);
            }
        }
        let kind = term::IntKind::UChar;
        Ok(match plain(self) {
            Some(Contents::Value(v)) => self.converted(v, kind),
            Some(Contents::Rest(Rest::Zero)) => Value::int(0),
            Some(Contents::Rest(Rest::Input(owner))) => {
                let whole = Kind::Int { kind, least: kind.min(), most: kind.max() };
                let v = self.chosen(&owner, at.offset, 1, whole);
                if let Some(o) = self.memory.at(at) {
                    o.store(at.offset, 1, v.clone());
                }
                v
            }
            _ => Value::ANY,
        })
    }

    /// `memcmp` and its kin: the order of the first bytes that differ.
    fn compare(&mut self, a: Address, b: Address, most: i64, text: bool, t: TermId) -> Res<Value> {
        for k in 0..most {
            if k >= 64 {
                return Ok(Value::ANY);
            }
            let moved = |p: Address| Address { offset: p.offset.wrapping_add(k), ..p };
            let (x, y) = (self.byte(moved(a), t)?, self.byte(moved(b), t)?);
            let kind = term::IntKind::Int;
            let equal = self.ints(term::BinOp::Eq, &x, &y, kind, t)?;
            match self.decide(&equal) {
                None => return Ok(Value::ANY),
                Some(false) => {
                    let less = self.ints(term::BinOp::Lt, &x, &y, kind, t)?;
                    return Ok(match self.decide(&less) {
                        Some(less) => Value::int(if less { -1 } else { 1 }),
                        None => Value::ANY,
                    });
                }
                Some(true) if text => {
                    if self.decide(&x) != Some(true) {
                        break;
                    }
                }
                Some(true) => {}
            }
        }
        Ok(Value::int(0))
    }

    fn intrinsic(&mut self, name: &str, i: Intrinsic, values: &[Value]) -> Value {
        match i {
            Intrinsic::Int { kind, .. } => {
                let Some(v) = values.first() else { return Value::ANY };
                let v = self.converted(v.clone(), kind);
                let Some(n) = v.as_int() else { return Value::ANY };
                if n >= 0 {
                    self.rely(v.form().map(Fact::least));
                    return v;
                }
                if n == kind.min() {
                    return Value::ANY;
                }
                let minus = v.form().and_then(|f| f.times(-1));
                self.rely(minus.clone().map(Fact::least));
                Value::with(Number::Int(-n), minus)
            }
            Intrinsic::Float { kind, arity } => {
                let stem = name.strip_suffix('f').filter(|_| kind == term::FloatKind::F32).unwrap_or(name);
                let Some(values) = values.get(..usize::from(arity)) else { return Value::ANY };
                let values: Vec<Value> = values.iter().map(|v| self.real_of(v.clone(), kind)).collect();
                let Some((x, ex)) = values.first().and_then(Value::as_real) else { return Value::ANY };
                let y = match values.get(1).map(Value::as_real) {
                    Some(None) => return Value::ANY,
                    y => y.flatten(),
                };
                let Some((v, exact)) = math(stem, x, y.map(|y| y.0)) else { return Value::ANY };
                let off = ex > 0.0 || y.is_some_and(|y| y.1 > 0.0);
                let error = match (off, exact) {
                    (false, true) => 0.0,
                    // Four units in the last place: more than any library in use is off for these.
                    (false, false) => v.abs() * 4.0 * f64::EPSILON,
                    (true, _) if stem == "fabs" => ex,
                    (true, _) if stem == "sqrt" && x > 2.0 * ex => ex / (x - ex).sqrt(),
                    _ => return Value::ANY,
                };
                Value::near(kind, v, error).shadowed(Tree::math(stem, kind, &values))
            }
            _ => Value::ANY,
        }
    }

    /// What a stretch may have written is not known from here on.
    pub fn forget(&mut self, t: TermId) -> Res<()> {
        let body = self.body();
        let terms: Vec<TermId> = body.walk(t).collect();
        // Pointers that are set there may lead elsewhere by then; those that only move stay in their objects.
        let set = |s: term::SymbolId| {
            terms.iter().any(|&x| *body.op(x) == Op::Assign && body.as_symbol(body.args(x)[0]) == Some(s))
        };
        for &x in &terms {
            match body.op(x) {
                op if op.is_write() => {
                    let place = body.args(x)[0];
                    if body.as_symbol(place).is_some() {
                        continue;
                    }
                    match crate::flow::parts::base_symbol(body, place) {
                        Some(s) if body.types.element(body.symbols[s].ty).is_some() && set(s) => {
                            self.forget_all()
                        }
                        _ => self.forget_behind(place)?,
                    }
                }
                Op::Call => self.forget_call(x)?,
                Op::Reject(_) | Op::Launch | Op::Apply(_) | Op::Name(_) | Op::Var(_) | Op::Cons => {
                    return self.fail(NotReplayed::NotUnderstood, x);
                }
                _ => {}
            }
        }
        for &x in &terms {
            match body.op(x) {
                op if op.is_write() => {
                    if let Some(s) = body.as_symbol(body.args(x)[0]) {
                        let o = self.variable(s)?;
                        self.forget_object(o);
                    }
                }
                Op::Declare(s) if matches!(body.symbols[*s].storage, Storage::Local) => {
                    self.make_variable(*s, Rest::Any);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn forget_call(&mut self, x: TermId) -> Res<()> {
        let body = self.body();
        let Ok(called) = call(body, self.program, x) else {
            self.forget_all();
            return Ok(());
        };
        for (k, &a) in body.args(x).iter().skip(1).enumerate() {
            if called.through(k).written && body.types.element(body.ty(a)).is_some() {
                self.forget_behind(a)?;
            }
        }
        if let Some(s) = called.summary() {
            // Variables that the function reaches by their names.
            let names: Vec<_> =
                s.globals.iter().filter(|(_, u)| u.own.written).map(|(n, _)| n.clone()).collect();
            for n in names {
                if let Some(&o) = self.globals.get(&n) {
                    self.forget_object(o);
                } else {
                    let o = self.memory.add(ReplayObject::new(Rest::Any, None));
                    self.globals.insert(n, o);
                }
            }
            if s.globals.values().any(|u| u.through.written) {
                self.forget_all();
            }
        }
        Ok(())
    }

    fn forget_object(&mut self, object: u32) {
        if let Some(o) = self.memory.objects.get_mut(object as usize) {
            o.refill(Rest::Any);
        }
    }

    /// All memory that something else than a name reaches.
    pub fn forget_all(&mut self) {
        for o in self.memory.objects.iter_mut().filter(|o| !o.own) {
            o.refill(Rest::Any);
        }
    }

    pub fn forget_place(&mut self, place: TermId) -> Res<()> {
        let body = self.body();
        if let Some(s) = body.as_symbol(place) {
            let o = self.variable(s)?;
            self.forget_object(o);
            return Ok(());
        }
        self.forget_behind(place)
    }

    /// Forgets what the place (or the pointer) leads to.
    fn forget_behind(&mut self, mut t: TermId) -> Res<()> {
        let body = self.body();
        // Down to the variable; whether a pointer was followed on the way.
        let mut followed = 0;
        for _ in 0..200 {
            let pointer = |t: TermId| matches!(body.types.kind(body.ty(t)), TypeKind::Pointer { .. });
            match (body.op(t), body.args(t)) {
                (Op::Sym(s), _) => {
                    let symbol = &body.symbols[*s];
                    let holder = self.variable(*s)?;
                    if !matches!(body.types.kind(symbol.ty), TypeKind::Pointer { .. }) && followed == 0 {
                        self.forget_object(holder);
                        return Ok(());
                    }
                    if pointer(t) && followed <= 1 {
                        let v = self.read(Address { object: holder, offset: 0 }, symbol.ty, None)?;
                        if let Some(a) = v.address() {
                            self.forget_object(a.object);
                            return Ok(());
                        }
                    }
                    break;
                }
                (Op::Index, &[a, b]) => {
                    t = if body.types.as_int(body.ty(a)).is_some() { b } else { a };
                    followed += u32::from(pointer(t));
                }
                (Op::Deref, &[a]) => {
                    t = a;
                    followed += u32::from(pointer(t));
                }
                (Op::Member { arrow, .. }, &[a]) => {
                    t = a;
                    followed += u32::from(*arrow);
                }
                (Op::AddrOf | Op::Cast | Op::Step { .. }, &[a]) => t = a,
                (Op::Binary(term::BinOp::Add | term::BinOp::Sub), &[a, b]) => {
                    t = if body.types.as_int(body.ty(a)).is_some() { b } else { a };
                }
                _ => break,
            }
        }
        self.forget_all();
        Ok(())
    }
}

/// Numbers read from text or from the world: what these hold is the caller's choice.
fn is_from_text(name: &str) -> bool {
    name.starts_with("ato") || name.starts_with("strto") || matches!(name, "strlen" | "strnlen" | "strcmp")
}

/// The least and greatest number that a function of the library returns, whatever happens (C11 7.21.6, 7.21.7, 7.22.2, 7.27; POSIX `read`,
/// `write`, `rand_r`, `random`).
fn between(name: &str, arguments: &[Value]) -> Option<(i128, i128)> {
    let end = -1; // `EOF`, wherever this is compiled
    let beside = |n: usize| arguments.len().saturating_sub(n) as i128;
    Some(match name {
        "rand" | "random" | "lrand48" | "time" | "clock" | "rand_r" => (0, i128::MAX),
        "getchar" | "getc" | "fgetc" | "putchar" | "putc" | "fputc" | "ungetc" => (end, 255),
        "scanf" => (end, beside(1)),
        name if name.starts_with("__builtin_popcount") => (0, 64),
        name if name.starts_with("__builtin_clz") || name.starts_with("__builtin_ctz") => (0, 63),
        "fscanf" | "sscanf" => (end, beside(2)),
        "read" | "write" | "recv" | "send" => {
            (-1, arguments.get(2).and_then(Value::as_int).unwrap_or(i128::MAX))
        }
        _ => return None,
    })
}
