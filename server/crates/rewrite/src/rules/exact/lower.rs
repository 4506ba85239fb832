//! One side of a rule as values, what is undefined in it, and what happens in which order.
//!
//! C's arithmetic (C11 6.3, 6.5): promotions and conversions, signed overflow, division by zero, shifts by too much and conversions
//! that do not fit are undefined; a narrowing conversion wraps, and a left shift of a signed number shifts bits on the program's
//! side (as compilers do) and is undefined on the result's. What a rule leaves open, a variable that may have effects, a
//! statement, a write, a loop, is an event: both sides must have the same events in the same order with the same values. Between
//! two events variables keep their values; behind one they may have others. So a loop needs no unrolling: if both sides begin its
//! iteration alike and do the same in it, they begin the next one alike.
//! Deliberately absent: jumps to labels, `switch`, types that are no numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use term::{BinOp, FloatKind, IntKind, Intrinsic, Op, UnOp};

use super::super::pattern::{Literal, Pattern};
use super::arith::usual;
pub(super) use super::arith::Ty;
use super::cases::Case;
use super::graph::{Act, Graph, Id, Sort};

/// What evaluating a variable may do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Effect {
    Any,
    /// Nothing, but others may change its value.
    None,
    /// It is a constant.
    Constant,
}

/// What is known of the rule's variables: in one case of its condition, for one choice of types.
pub(super) struct Known<'a> {
    /// By key: `$x`, a word, or a place in memory as it is written.
    pub types: &'a BTreeMap<String, Ty>,
    pub case: &'a Case,
}

/// An input with the words for it.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub shown: String,
    pub ty: Ty,
}

/// A value with its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Val {
    pub ty: Ty,
    pub id: Id,
}

/// Something that both sides must do alike.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub what: String,
    pub path: Id,
    pub values: Vec<Id>,
    pub scope: Vec<u32>,
}

/// Something that must not happen.
#[derive(Clone, Debug)]
pub(super) struct Undefined {
    /// How many events come before.
    pub at: usize,
    pub scope: Vec<u32>,
    pub when: Id,
    /// Words that follow "the result".
    pub words: String,
}

/// An evaluation of a variable without effects.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub symbol: Id,
    pub path: Id,
    pub at: usize,
    pub scope: Vec<u32>,
}

/// What a side comes to.
#[derive(Default)]
pub(super) struct Side {
    pub value: Option<Val>,
    pub events: Vec<Event>,
    pub undefined: Vec<Undefined>,
    pub reads: Vec<Read>,
}

/// The graph of both sides with its inputs.
pub(super) struct World {
    pub g: Graph,
    pub inputs: Vec<Input>,
    known: BTreeMap<(String, usize), Id>,
}

impl World {
    pub fn new(regroup: bool) -> World {
        World { g: Graph::new(regroup), inputs: Vec::new(), known: BTreeMap::new() }
    }
    /// The value of a variable at a moment.
    pub fn symbol(&mut self, key: &str, ty: Ty, moment: usize) -> Id {
        if let Some(id) = self.known.get(&(key.to_owned(), moment)) {
            return *id;
        }
        let later = self.known.keys().any(|(k, _)| k == key);
        let shown = if later { format!("{key} (later)") } else { key.to_owned() };
        let k = self.inputs.len() as u32;
        self.inputs.push(Input { shown, ty });
        let raw = self.g.input(k, ty.sort());
        let id = if ty == Ty::Int(IntKind::Bool) {
            // 0 or 1, whatever the bits
            let zero = self.g.bits(8, 0);
            let (one, is) = (self.g.bits(8, 1), self.g.equal(raw, zero));
            self.g.choose(is, zero, one)
        } else {
            raw
        };
        self.known.insert((key.to_owned(), moment), id);
        id
    }
}

pub(super) type Done<T> = Result<T, String>;

/// The key of a place in memory: `*(a + i)` is `a[i]`. `None`: it is none.
pub(super) fn memory(p: &Pattern) -> Option<String> {
    match p {
        Pattern::Term(Op::Deref, args) => match args.as_slice() {
            [Pattern::Term(Op::Binary(BinOp::Add), sum)] => Some(indexed(&sum[0], &sum[1].text())),
            [a] => Some(indexed(a, "0")),
            _ => None,
        },
        Pattern::Term(Op::Index, args) if args.len() == 2 => Some(indexed(&args[0], &args[1].text())),
        Pattern::Term(Op::Apply(h), args) if matches!(&**h, "Dot" | "Arrow") && args.len() == 2 => {
            let base = memory(&args[0]).unwrap_or_else(|| args[0].text());
            Some(format!("{base}{}{}", if &**h == "Dot" { "." } else { "->" }, args[1].text()))
        }
        _ => None,
    }
}
fn indexed(base: &Pattern, index: &str) -> String {
    let base = memory(base).unwrap_or_else(|| base.text());
    format!("{base}[{index}]")
}

/// The key of what is read or written as a whole.
pub(super) fn key(p: &Pattern) -> Option<String> {
    match p {
        Pattern::Variable { name, .. } => Some(format!("${name}")),
        Pattern::Literal(Literal::Word(w)) => Some(w.to_string()),
        p => memory(p),
    }
}

/// Lowers one side.
pub(super) struct Lower<'a> {
    pub w: &'a mut World,
    pub known: &'a Known<'a>,
    /// Whether this is what the rule makes: it must not bring anything undefined.
    pub result: bool,
    pub side: Side,
    path: Id,
    scope: Vec<u32>,
    scopes: u32,
    locals: BTreeMap<Arc<str>, Val>,
    first: Option<First>,
}

/// The beginning of an iteration that is known to be run: what happens there happens before the loop as well.
#[derive(Clone)]
struct First {
    /// Before the loop.
    at: usize,
    scope: Vec<u32>,
    path: Id,
    /// In it.
    inner: Id,
    events: usize,
}

impl<'a> Lower<'a> {
    pub fn new(w: &'a mut World, known: &'a Known<'a>, result: bool) -> Lower<'a> {
        let path = w.g.truth(true);
        Lower {
            w,
            known,
            result,
            side: Side::default(),
            path,
            scope: Vec::new(),
            scopes: 0,
            locals: BTreeMap::new(),
            first: None,
        }
    }
    pub(super) fn g(&mut self) -> &mut Graph {
        &mut self.w.g
    }
    fn event(&mut self, what: String, values: Vec<Id>) -> usize {
        self.side.events.push(Event { what, path: self.path, values, scope: self.scope.clone() });
        self.side.events.len()
    }
    /// The same moment seen from before a loop that runs.
    fn before_loop(&self) -> Option<First> {
        let first = self.first.as_ref()?;
        (first.inner == self.path && first.events == self.side.events.len()).then(|| first.clone())
    }
    pub(super) fn forbid(&mut self, when: Id, words: &str) {
        if let Some(f) = self.before_loop() {
            let when = self.g().and(f.path, when);
            self.side.undefined.push(Undefined { at: f.at, scope: f.scope, when, words: words.to_owned() });
        }
        let when = {
            let path = self.path;
            self.g().and(path, when)
        };
        if self.w.g.constant(when) == Some(0) {
            return;
        }
        let (at, scope) = (self.side.events.len(), self.scope.clone());
        self.side.undefined.push(Undefined { at, scope, when, words: words.to_owned() });
    }
    fn under<T>(&mut self, condition: Id, f: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        let outer = self.path;
        self.path = self.g().and(outer, condition);
        let done = f(self);
        self.path = outer;
        done
    }
    fn inside<T>(&mut self, f: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        self.scopes += 1;
        self.scope.push(self.scopes);
        let done = f(self);
        self.scope.pop();
        done
    }

    // ---- statements

    pub fn statement(&mut self, p: &Pattern) -> Done<()> {
        match p {
            Pattern::Variable { name, .. } => {
                self.event(format!("${name}"), vec![]);
                Ok(())
            }
            Pattern::Term(Op::Empty, _) => Ok(()),
            Pattern::Term(Op::List, all) => {
                let locals = self.locals.clone();
                let done = all.iter().try_for_each(|s| self.statement(s));
                self.locals = locals;
                done
            }
            Pattern::Term(Op::If, parts) if parts.len() >= 2 => {
                let c = self.condition(&parts[0])?;
                // `if (!c) b else a` is `if (c) a else b`
                let (c, flipped) = match self.w.g.node(c) {
                    n if n.act == Act::Not => (n.args[0], true),
                    _ => (c, false),
                };
                let not = self.g().not(c);
                let other = parts.get(2);
                let arms = if flipped {
                    [(c, other), (not, Some(&parts[1]))]
                } else {
                    [(c, Some(&parts[1])), (not, other)]
                };
                for (when, arm) in arms {
                    if let Some(arm) = arm {
                        self.under(when, |s| s.statement(arm))?;
                    }
                }
                Ok(())
            }
            Pattern::Term(Op::For, parts) if parts.len() == 4 => {
                let locals = self.locals.clone();
                let index = match &parts[0] {
                    Pattern::Term(_, set) => set.first(),
                    _ => None,
                };
                let runs = index.is_some_and(|i| self.known.case.nonempty.contains(i));
                let (at, outer) = (self.side.events.len(), self.path);
                self.statement(&parts[0])?;
                let scope = self.scope.clone();
                // nothing but the header's own setting and test may come between
                let begun = self.event("loop".to_owned(), vec![]);
                let runs = runs && !self.result && begun <= at + 2;
                let done = self.inside(|s| {
                    let c = match &parts[1] {
                        Pattern::Term(Op::Empty, _) => s.g().truth(true),
                        c => s.condition(c)?,
                    };
                    s.event("test of the loop".to_owned(), vec![c]);
                    s.inside(|s| {
                        s.under(c, |s| {
                            let (inner, events) = (s.path, s.side.events.len());
                            let first = runs && events == begun + 1;
                            s.first = first.then_some(First { at, scope, path: outer, inner, events });
                            s.statement(&parts[3])
                        })
                    })?;
                    s.first = None;
                    s.event("step of the loop".to_owned(), vec![]);
                    s.inside(|s| s.statement(&parts[2]))
                });
                self.event("end of the loop".to_owned(), vec![]);
                self.locals = locals;
                done
            }
            Pattern::Term(Op::While, parts) if parts.len() == 2 => {
                self.event("loop".to_owned(), vec![]);
                let done = self.inside(|s| {
                    let c = s.condition(&parts[0])?;
                    s.event("test of the loop".to_owned(), vec![c]);
                    s.inside(|s| s.under(c, |s| s.statement(&parts[1])))?;
                    s.event("step of the loop".to_owned(), vec![]);
                    Ok(())
                });
                self.event("end of the loop".to_owned(), vec![]);
                done
            }
            Pattern::Term(Op::DoWhile, parts) if parts.len() == 2 => {
                self.event("do".to_owned(), vec![]);
                let done = self.inside(|s| {
                    s.inside(|s| s.statement(&parts[0]))?;
                    s.event("step of the loop".to_owned(), vec![]);
                    let c = s.condition(&parts[1])?;
                    s.event("test of the loop".to_owned(), vec![c]);
                    Ok(())
                });
                self.event("end of the loop".to_owned(), vec![]);
                done
            }
            Pattern::Term(op @ (Op::Break | Op::Continue), _) => {
                self.event((if *op == Op::Break { "break" } else { "continue" }).to_owned(), vec![]);
                Ok(())
            }
            Pattern::Term(Op::Return, parts) => {
                let value = parts.first().map(|v| self.value(v)).transpose()?;
                // what is returned is converted to one type on both sides
                if let Some(v) = value {
                    self.event(format!("return of {}", v.ty.promoted().name()), vec![v.id]);
                } else {
                    self.event("return".to_owned(), vec![]);
                }
                Ok(())
            }
            Pattern::Term(Op::Apply(h), parts) if &**h == "Declaration" => {
                let said: Vec<String> = parts.iter().map(Pattern::text).collect();
                self.event(format!("declaration of {}", said.join(" as ")), vec![]);
                Ok(())
            }
            Pattern::Term(Op::Apply(h), parts) if &**h == "DeclarationAssignment" && parts.len() == 3 => {
                let ty = self.named_type(&parts[1])?;
                let v = self.value(&parts[2])?;
                let v = self.convert(v, ty);
                match &parts[0] {
                    Pattern::Variable { name, .. } if self.result && self.known.case.fresh.contains(name) => {
                        self.locals.insert(name.clone(), v);
                    }
                    place => {
                        self.event(format!("{} = of type {}", place.text(), ty.name()), vec![v.id]);
                    }
                }
                Ok(())
            }
            Pattern::Term(
                Op::Switch | Op::Goto(_) | Op::Label(_) | Op::Case | Op::Default | Op::Launch | Op::Cons,
                _,
            )
            | Pattern::Cons(..) => Err(format!("`{}` is not followed", p.text())),
            expression => self.value(expression).map(|_| ()),
        }
    }
    fn named_type(&self, p: &Pattern) -> Done<Ty> {
        let found = match p {
            Pattern::Variable { name, .. } => {
                self.known.case.named.get(name).and_then(|k| self.known.types.get(k)).copied()
            }
            Pattern::Literal(Literal::Word(w)) => Ty::of(w),
            _ => None,
        };
        found.ok_or_else(|| format!("nothing is decided of the type `{}`", p.text()))
    }

    // ---- expressions

    fn condition(&mut self, p: &Pattern) -> Done<Id> {
        let v = self.value(p)?;
        Ok(self.is_true(v))
    }
    pub(super) fn is_true(&mut self, v: Val) -> Id {
        let zero = match v.ty {
            Ty::Int(k) => self.g().bits(k.bits(), 0),
            t => self.g().float(t.sort(), 0.0),
        };
        let act = if matches!(v.ty, Ty::Int(_)) { Act::Eq } else { Act::FEq };
        let is_zero = self.g().make(act, Sort::Truth, vec![v.id, zero]);
        self.g().not(is_zero)
    }
    pub(super) fn number(&mut self, truth: Id) -> Val {
        let (one, zero) = (self.g().bits(32, 1), self.g().bits(32, 0));
        Val { ty: Ty::Int(IntKind::Int), id: self.g().choose(truth, one, zero) }
    }
    /// What reading a variable gives.
    fn read(&mut self, key: &str) -> Done<Val> {
        if let Some(v) = key.strip_prefix('$').and_then(|n| self.locals.get(n)) {
            return Ok(*v);
        }
        let Some(&ty) = self.known.types.get(key) else {
            return Err(format!("nothing is known of `{key}`"));
        };
        let effect = self.known.case.effects.get(key).copied().unwrap_or(Effect::Any);
        let id = match effect {
            Effect::Constant => self.w.symbol(key, ty, 0),
            Effect::None => {
                let at = self.side.events.len();
                let stable = self.known.case.stable.contains(key);
                let id = self.w.symbol(key, ty, if stable { 0 } else { at + 1 });
                if !self.known.case.total.contains(key) {
                    let (path, scope) = (self.path, self.scope.clone());
                    self.side.reads.push(Read { symbol: id, path, at, scope });
                    if let Some(f) = self.before_loop() {
                        self.side.reads.push(Read { symbol: id, path: f.path, at: f.at, scope: f.scope });
                    }
                }
                id
            }
            Effect::Any => {
                let at = self.event(key.to_owned(), vec![]);
                self.w.symbol(key, ty, at)
            }
        };
        Ok(Val { ty, id })
    }

    pub fn value(&mut self, p: &Pattern) -> Done<Val> {
        let int = Ty::Int(IntKind::Int);
        match p {
            Pattern::Literal(Literal::Int(v, k)) => {
                let k = k.unwrap_or(IntKind::Int);
                Ok(Val { ty: Ty::Int(k), id: self.g().bits(k.bits(), *v) })
            }
            Pattern::Literal(Literal::Float(v, k)) => {
                let ty = match k.unwrap_or(FloatKind::F64) {
                    FloatKind::F32 => Ty::F32,
                    FloatKind::F64 => Ty::F64,
                    FloatKind::Long => return Err("`long double` is not followed".to_owned()),
                };
                Ok(Val { ty, id: self.g().float(ty.sort(), v.get()) })
            }
            Pattern::Term(Op::Binary(op @ (BinOp::And | BinOp::Or)), args) => {
                let a = self.condition(&args[0])?;
                let when = if *op == BinOp::And { a } else { self.g().not(a) };
                let b = self.under(when, |s| s.condition(&args[1]))?;
                let both = if *op == BinOp::And { self.g().and(a, b) } else { self.g().or(a, b) };
                Ok(self.number(both))
            }
            Pattern::Term(Op::Binary(op), args) => {
                let (a, b) = (self.value(&args[0])?, self.value(&args[1])?);
                self.binary(*op, a, b)
            }
            Pattern::Term(Op::Unary(op), args) => {
                let a = self.value(&args[0])?;
                if *op == UnOp::Not {
                    let t = self.is_true(a);
                    let f = self.g().not(t);
                    return Ok(self.number(f));
                }
                let a = self.convert(a, a.ty.promoted());
                match (op, a.ty) {
                    (UnOp::Plus, _) => Ok(a),
                    (UnOp::BitNot, Ty::Int(_)) => {
                        Ok(Val { ty: a.ty, id: self.g().make(Act::Not, a.ty.sort(), vec![a.id]) })
                    }
                    (UnOp::BitNot, _) => Err("bits of a floating number are none".to_owned()),
                    (_, Ty::Int(k)) => {
                        if super::arith::ROW.arithmetic().is_exact(k) {
                            let min = self.g().bits(k.bits(), k.min());
                            let is = self.g().equal(a.id, min);
                            self.forbid(is, "overflows");
                        }
                        Ok(Val { ty: a.ty, id: self.g().make(Act::Neg, a.ty.sort(), vec![a.id]) })
                    }
                    _ => Ok(Val { ty: a.ty, id: self.g().make(Act::FNeg, a.ty.sort(), vec![a.id]) }),
                }
            }
            Pattern::Term(Op::Select, args) if args.len() == 3 => {
                let c = self.condition(&args[0])?;
                // `!c ? b : a` is `c ? a : b`
                let (c, first, second) = match self.w.g.node(c) {
                    n if n.act == Act::Not => (n.args[0], &args[2], &args[1]),
                    _ => (c, &args[1], &args[2]),
                };
                let a = self.under(c, |s| s.value(first))?;
                let not = self.g().not(c);
                let b = self.under(not, |s| s.value(second))?;
                let ty = usual(a.ty, b.ty);
                // a conversion between integers or to a larger float is never undefined
                let (a, b) = (self.convert(a, ty), self.convert(b, ty));
                Ok(Val { ty, id: self.g().choose(c, a.id, b.id) })
            }
            Pattern::Term(Op::Comma, args) if args.len() == 2 => {
                self.value(&args[0])?;
                self.value(&args[1])
            }
            Pattern::Term(Op::Apply(h), args) if &**h == "Cast" && args.len() == 2 => {
                let ty = self.named_type(&args[0])?;
                let v = self.value(&args[1])?;
                Ok(self.convert(v, ty))
            }
            Pattern::Term(Op::Assign, args) if args.len() == 2 => {
                let (key, ty) = self.place(&args[0])?;
                let v = self.value(&args[1])?;
                let v = self.convert(v, ty);
                self.event(format!("{key} ="), vec![v.id]);
                Ok(v)
            }
            Pattern::Term(Op::Compound(op), args) if args.len() == 2 => {
                let (key, ty) = self.place(&args[0])?;
                let old = self.old(&key, ty);
                let v = self.value(&args[1])?;
                let v = self.binary(*op, old, v)?;
                let v = self.convert(v, ty);
                self.event(format!("{key} ="), vec![v.id]);
                Ok(v)
            }
            Pattern::Term(Op::Step { delta, prefix }, args) if args.len() == 1 => {
                let (key, ty) = self.place(&args[0])?;
                let old = self.old(&key, ty);
                let one = Val { ty: int, id: self.g().bits(32, 1) };
                let v = self.binary(if *delta > 0 { BinOp::Add } else { BinOp::Sub }, old, one)?;
                let v = self.convert(v, ty);
                self.event(format!("{key} ="), vec![v.id]);
                Ok(if *prefix { v } else { old })
            }
            Pattern::Term(Op::Call, args) if !args.is_empty() => self.call(&args[0], &args[1..]),
            p => match key(p) {
                Some(key) => self.read(&key),
                None => Err(format!("`{}` is not followed", p.text())),
            },
        }
    }
    /// Where a write goes. Whoever finds the place may have effects.
    fn place(&mut self, p: &Pattern) -> Done<(String, Ty)> {
        let key = key(p).ok_or_else(|| format!("`{}` is not followed", p.text()))?;
        if key.strip_prefix('$').is_some_and(|n| self.locals.contains_key(n)) {
            return Err(format!("`{key}` is set more than once"));
        }
        let Some(&ty) = self.known.types.get(&key) else {
            return Err(format!("nothing is known of `{key}`"));
        };
        if self.known.case.effects.get(&key).copied().unwrap_or(Effect::Any) == Effect::Any {
            self.event(format!("place of {key}"), vec![]);
        }
        Ok((key, ty))
    }
    fn old(&mut self, key: &str, ty: Ty) -> Val {
        let at = self.side.events.len();
        // moments of what is found and of what is evaluated are not mixed up
        let any = self.known.case.effects.get(key).copied().unwrap_or(Effect::Any) == Effect::Any;
        let id = self.w.symbol(key, ty, if any { usize::MAX - at } else { at + 1 });
        if !self.known.case.total.contains(key) {
            let (path, scope) = (self.path, self.scope.clone());
            self.side.reads.push(Read { symbol: id, path, at, scope });
        }
        Val { ty, id }
    }

    fn call(&mut self, callee: &Pattern, args: &[Pattern]) -> Done<Val> {
        let Pattern::Literal(Literal::Word(name)) = callee else {
            return Err("a call of what a variable stands for is not followed".to_owned());
        };
        let unknown = || format!("nothing is known of the call of `{name}`");
        let mut given = Vec::new();
        for a in args {
            given.push(self.value(a)?);
        }
        match term::intrinsic(name).ok_or_else(unknown)? {
            Intrinsic::Float { kind, arity } if usize::from(arity) == given.len() => {
                let ty = if kind == FloatKind::F32 { Ty::F32 } else { Ty::F64 };
                let ids: Vec<Id> = given.into_iter().map(|v| self.convert(v, ty).id).collect();
                let stem = if kind == FloatKind::F32 { name.strip_suffix('f').unwrap_or(name) } else { name };
                let (act, errno) = match stem {
                    "fabs" => (Act::FAbs, false),
                    "floor" => (Act::FWhole('f'), false),
                    "ceil" => (Act::FWhole('c'), false),
                    "trunc" => (Act::FWhole('t'), false),
                    "rint" | "nearbyint" => (Act::FWhole('r'), false),
                    "sqrt" => (Act::FSqrt, true),
                    "fma" => (Act::FFma, true),
                    "fmin" | "fmax" | "copysign" | "round" => (Act::Function(name.to_string()), false),
                    _ => (Act::Function(name.to_string()), true),
                };
                // it may set errno, which is a result like others unless last bits do not matter
                if errno && !self.w.g.regroup {
                    self.event(format!("call of {name}"), ids.clone());
                }
                Ok(Val { ty, id: self.g().make(act, ty.sort(), ids) })
            }
            Intrinsic::Int { kind, arity: 1 } if given.len() == 1 => {
                let v = self.convert(given[0], Ty::Int(kind));
                let (min, zero) = (self.g().bits(kind.bits(), kind.min()), self.g().bits(kind.bits(), 0));
                let is = self.g().equal(v.id, min);
                self.forbid(is, "overflows");
                let sort = v.ty.sort();
                let (neg, below) = (
                    self.g().make(Act::Neg, sort, vec![v.id]),
                    self.g().make(Act::SLt, Sort::Truth, vec![v.id, zero]),
                );
                Ok(Val { ty: v.ty, id: self.g().choose(below, neg, v.id) })
            }
            _ => Err(unknown()),
        }
    }
}
