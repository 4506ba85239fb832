//! Guards decided: each holds with a proof in hand or not at all.
//!
//! What is asked of loops and memory is answered by `analysis` for the program as it was read; a place that an earlier
//! rule changed is not that program, so nothing is proved of it. Deliberately absent: assumptions.

use std::sync::Arc;

use analysis::{Facts, LoopId, MetBy, Order, Program, Verdict};
use base::Budget;
use term::{BinOp, Body, IntKind, Op, Overflow, Storage, SymbolId, TypeKind, Types};

use super::apply::Together;
use super::derivation::Proof;
use super::guard::Guard;
use super::matching::{fill, matches, Bindings};
use super::pattern::Pattern;
use super::tree::{Node, Subject, Tree};
use super::uniform;

/// The program that proofs are about.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub body: &'a Body,
    pub program: &'a Program,
    pub facts: &'a Facts,
    pub budget: &'a Budget,
    /// The whole file: a name in it is not fresh.
    pub text: &'a str,
    /// Where the body begins in it.
    pub start: u32,
    pub together: &'a Together,
    pub others: Others<'a>,
}

impl Ground<'_> {
    /// What analysis is asked of a loop, with steps of its own as far as there are any; they count for this budget.
    pub(super) fn asked<T>(&self, ask: impl FnOnce(&Budget) -> T) -> T {
        let part = self.budget.part(analysis::FULL_STEPS.min(self.budget.left()));
        let answer = ask(&part);
        let _ = self.budget.spend(part.taken());
        answer
    }
}

/// The other functions of the file.
#[derive(Clone, Copy, Default)]
pub struct Others<'a> {
    pub items: &'a [front::Item],
    /// The body's own among them.
    pub item: usize,
}

/// What guards look at.
pub(super) struct Asking<'a> {
    pub subject: &'a Subject,
    pub ground: Option<Ground<'a>>,
    /// The tree that the source matched.
    pub matched: &'a Tree,
    /// Whether the run has changed anything before.
    pub changed: bool,
    /// Names made by this run.
    pub made: &'a mut Vec<Arc<str>>,
    pub types: &'a mut Types,
}

type Answer = Result<Vec<Proof>, String>;

impl Asking<'_> {
    /// Proves a guard. `Err`: what is missing, words that continue "because".
    pub fn prove(&mut self, g: &Guard, b: &mut Bindings) -> Answer {
        let because = match g {
            Guard::And(gs) => {
                return self.all(gs, b);
            }
            Guard::Or(gs) => {
                let mut missing = Vec::new();
                for g in gs {
                    let mut trial = b.clone();
                    match self.prove(g, &mut trial) {
                        Ok(proofs) => {
                            *b = trial;
                            return Ok(proofs);
                        }
                        Err(why) => missing.push(why),
                    }
                }
                return Err(missing.join("; "));
            }
            Guard::Not(inner) => match self.prove(inner, &mut b.clone()) {
                Ok(_) => return Err(format!("`{}` holds", inner.text())),
                Err(why) => why,
            },
            Guard::Compare(op, x, y) => self.compare(*op, x, y, b)?,
            Guard::Type(x, test) => {
                let x = self.filled(x, b)?;
                if !test.holds(self.types, &x) {
                    return Err(format!("`{}` is not of type {}", self.subject.print(&x), test.word()));
                }
                format!("its type is {}", test.word())
            }
            Guard::Head(x, word) => {
                let x = self.filled(x, b)?;
                if self.subject.word(&x) != Some(word) && super::show::head(&x.op) != **word {
                    return Err(format!("`{}` does not begin with `{word}`", self.subject.print(&x)));
                }
                format!("it begins with `{word}`")
            }
            Guard::Const(x) => {
                let x = self.filled(x, b)?;
                format!("it is {}", self.number(&x)?)
            }
            Guard::Fresh(name, like) => {
                if b.get(name).is_none() {
                    let mut parts: Vec<String> = Vec::new();
                    for p in like {
                        let part = self.filled(p, b)?;
                        let word = self.subject.word(&part).map(str::to_owned);
                        parts.push(word.ok_or_else(|| {
                            format!("`{}` is no word to make a name of", self.subject.print(&part))
                        })?);
                    }
                    let made = self.fresh(&parts.join("_"));
                    b.bind(name, Node::name(&made));
                }
                "nothing else in the file has this name".to_owned()
            }
            Guard::Assoc(x) => {
                let x = self.filled(x, b)?;
                let wraps = |k: IntKind| self.subject.arithmetic().overflow(k.promoted()) == Overflow::Wraps;
                match x.ty.map(|t| self.types.kind(t)) {
                    Some(TypeKind::Int(k)) if wraps(*k) => "it is computed modulo a power of two".to_owned(),
                    _ if matches!(x.op, Op::Binary(BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor)) => {
                        "it works bit by bit".to_owned()
                    }
                    Some(TypeKind::Int(_)) => {
                        return Err("signed integers may overflow where they did not before".to_owned())
                    }
                    _ => {
                        return Err(
                            "floating-point operations round, and rounding depends on the order".to_owned()
                        )
                    }
                }
            }
            Guard::Affine(x) => {
                let x = self.filled(x, b)?;
                self.affine(&x)?;
                "it is a sum of variables times constants".to_owned()
            }
            Guard::Pure(x) => {
                let x = self.filled(x, b)?;
                self.pure(&x, false)?;
                "it reads variables only and calls nothing but known functions".to_owned()
            }
            Guard::ReadOnly(x) => {
                let x = self.filled(x, b)?;
                self.pure(&x, true)?;
                "it writes nothing and calls nothing but known functions".to_owned()
            }
            Guard::Uniform(x) => {
                let x = self.filled(x, b)?;
                uniform::uniform(self.subject, &x)?
            }
            Guard::NoAlias(x, y) => {
                let (x, y) = (self.filled(x, b)?, self.filled(y, b)?);
                self.no_alias(&x, &y)?
            }
            Guard::Unwritten(x, s) => {
                let (x, s) = (self.filled(x, b)?, self.filled(s, b)?);
                self.left_alone(&x, &s, false)?
            }
            Guard::Unused(x, s) => {
                let (x, s) = (self.filled(x, b)?, self.filled(s, b)?);
                self.left_alone(&x, &s, true)?
            }
            Guard::OnlyRead(x, s) => {
                let (x, s) = (self.filled(x, b)?, self.filled(s, b)?);
                self.only_read(&x, &s)?
            }
            Guard::TypeOf(x, name) => {
                let x = self.filled(x, b)?;
                let kind = x.ty.map(|t| self.types.kind(t).clone());
                let Some(kind @ (TypeKind::Int(_) | TypeKind::Float(_))) = kind else {
                    return Err(format!("`{}` is not known to be a number", self.subject.print(&x)));
                };
                let ty = self.types.plain(kind);
                let text = term::notation::type_text(self.types, ty);
                let word = Node::new(Op::Name(text.as_str().into()), Vec::new(), Some(ty), None);
                match b.get(name) {
                    Some(known) if !self.subject.same(known, &word) => {
                        return Err(format!("`{}` has the type `{text}`", self.subject.print(&x)));
                    }
                    Some(_) => {}
                    None => b.bind(name, word),
                }
                format!("its type is {text}")
            }
            Guard::Inside(x) => {
                let x = self.filled(x, b)?;
                self.inside(&x)?
            }
            // on its own it holds for the first item that is alike
            Guard::In(..) => return self.all(std::slice::from_ref(g), b),
            Guard::Straight(x) => {
                let x = self.filled(x, b)?;
                self.straight(&x)?
            }
            Guard::Extents(x, arrays, own) => {
                let x = self.filled(x, b)?;
                let known = self.extents(&x)?;
                b.bind(arrays, known.arrays);
                b.bind(own, known.own);
                known.because
            }
            Guard::Equals(x, y) => self.equals(x, y, b)?,
            Guard::Box(p, sides) => self.in_box(p, sides, b)?,
            Guard::Has(x, place, guards) => self.has(x, place, guards, b)?,
            Guard::Blocks(names) => self.blocks(names, b)?,
            Guard::Applied(f) => self.applied(f, b)?,
            Guard::Total(x) => {
                let x = self.filled(x, b)?;
                self.total(&x)?;
                "nothing in it can be undefined".to_owned()
            }
            Guard::NonEmpty(x) => {
                let x = self.filled(x, b)?;
                self.nonempty(&x)?
            }
            Guard::Invariant(x, i) => {
                let (x, i) = (self.filled(x, b)?, self.filled(i, b)?);
                self.invariant(&x, &i)?
            }
            Guard::Independent(x) => {
                let x = self.filled(x, b)?;
                self.independent(&x)?
            }
            Guard::Permutable(x, y) => {
                let (x, y) = (self.filled(x, b)?, self.filled(y, b)?);
                self.permutable(&x, &y)?
            }
        };
        Ok(vec![Proof { guard: self.worded(g, b), because }])
    }

    /// Proves guards one after the other; of a list's items the first is taken with which the rest holds.
    fn all(&mut self, guards: &[Guard], b: &mut Bindings) -> Answer {
        let Some((first, rest)) = guards.split_first() else { return Ok(Vec::new()) };
        let Guard::In(item, list) = first else {
            let mut proofs = self.prove(first, b)?;
            proofs.extend(self.all(rest, b)?);
            return Ok(proofs);
        };
        let list = self.filled(list, b)?;
        let all: Vec<Tree> = match list.op {
            Op::List => list.args.to_vec(),
            _ => list.walk().collect(),
        };
        let mut missing: Vec<String> = Vec::new();
        for one in &all {
            let mut trial = b.clone();
            if !matches(self.subject, self.types, item, one, &mut trial) {
                continue;
            }
            match self.all(rest, &mut trial) {
                Ok(proofs) => {
                    *b = trial;
                    return Ok(proofs);
                }
                Err(why) if missing.contains(&why) => {}
                Err(why) => missing.push(why),
            }
        }
        if missing.is_empty() {
            return Err(format!("nothing in `{}` is like `{}`", self.subject.print(&list), item.text()));
        }
        Err(missing.join("; "))
    }

    /// The guard with what its variables stand for.
    fn worded(&self, g: &Guard, b: &Bindings) -> String {
        let mut text = g.text();
        let mut names: Vec<(&str, &Tree)> = b.iter().collect();
        names.sort_by_key(|(n, _)| std::cmp::Reverse(n.len()));
        for (n, t) in names {
            let shown = self.subject.print(t);
            if shown.len() <= 40 {
                text = text.replace(&format!("${n}"), &shown);
            }
        }
        text
    }
    pub(super) fn filled(&mut self, p: &Pattern, b: &Bindings) -> Result<Tree, String> {
        fill(self.types, p, b).map_err(|v| format!("`${v}` is not bound"))
    }
    pub(super) fn ground(&self) -> Result<Ground<'_>, String> {
        self.ground.ok_or_else(|| "there is no program of which it could be proved, only a term".to_owned())
    }

    pub(super) fn number(&self, x: &Tree) -> Result<i128, String> {
        if let Some(v) = x.as_int() {
            return Ok(v);
        }
        if let (Op::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul)), [a, b], None) =
            (&x.op, &*x.args, x.from)
        {
            let (a, b) = (self.number(a)?, self.number(b)?);
            let value = match op {
                BinOp::Add => a.checked_add(b),
                BinOp::Sub => a.checked_sub(b),
                _ => a.checked_mul(b),
            };
            return value.ok_or_else(|| format!("`{}` is too large", self.subject.print(x)));
        }
        let known = match (self.ground, x.from) {
            (Some(g), Some(t)) if self.subject.untouched(x) => analysis::constant(g.body, t),
            _ => None,
        };
        known.ok_or_else(|| format!("`{}` is no constant", self.subject.print(x)))
    }
    fn compare(&mut self, op: BinOp, x: &Pattern, y: &Pattern, b: &Bindings) -> Result<String, String> {
        let (x, y) = (self.filled(x, b)?, self.filled(y, b)?);
        let shown = |s: &Self, t: &Tree| s.subject.print(t);
        // of floating-point numbers zero alone is compared
        let value = |t: &Tree| match t.op {
            Op::Float(v) if v.get() == 0.0 => Ok(0),
            _ => self.number(t),
        };
        if let (Ok(l), Ok(r)) = (value(&x), value(&y)) {
            let holds = match op {
                BinOp::Lt => l < r,
                BinOp::Le => l <= r,
                BinOp::Gt => l > r,
                BinOp::Ge => l >= r,
                BinOp::Eq => l == r,
                _ => l != r,
            };
            return match holds {
                true => Ok(format!("{l} {} {r}", op.symbol())),
                false => Err(format!("{l} {} {r} does not hold", op.symbol())),
            };
        }
        let same = self.subject.same(&x, &y);
        let numbers = x.as_int().is_some() || y.as_int().is_some();
        match op {
            BinOp::Eq if same => Ok("both are written alike".to_owned()),
            BinOp::Ne if !same && !numbers => Ok("they are written differently".to_owned()),
            BinOp::Eq | BinOp::Ne if !numbers => Err(format!(
                "`{}` and `{}` are{} written alike",
                shown(self, &x),
                shown(self, &y),
                if same { "" } else { " not" }
            )),
            _ => Err(format!(
                "`{} {} {}` is not a comparison of constants",
                shown(self, &x),
                op.symbol(),
                shown(self, &y)
            )),
        }
    }
    fn fresh(&mut self, like: &str) -> Arc<str> {
        let text = self.ground.map_or("", |g| g.text);
        let taken = |name: &str, made: &[Arc<str>]| {
            made.iter().any(|m| **m == *name)
                || self.subject.symbols.iter().any(|s| *s.name == *name)
                || words(text).any(|w| w == name)
        };
        let name = (0..)
            .map(|k| if k == 0 { like.to_owned() } else { format!("{like}_{k}") })
            .find(|n| !taken(n, self.made))
            .unwrap_or_default();
        let name: Arc<str> = name.into();
        self.made.push(name.clone());
        name
    }

    /// Reads variables and constants only, calls only what is known to be a function of its arguments.
    /// `memory`: whether it may read what stands in memory.
    pub(super) fn pure(&self, x: &Tree, memory: bool) -> Result<(), String> {
        for n in x.walk() {
            let shown = || self.subject.print(&n);
            match &n.op {
                op if op.is_write() => return Err(format!("`{}` writes", shown())),
                Op::Call => {
                    let callee = n.args.first().and_then(|c| c.as_symbol());
                    let by_name = callee.and_then(|s| {
                        self.subject.library.contains(&s).then(|| term::intrinsic(self.subject.name(s)))?
                    });
                    let by_summary = callee.and_then(|s| {
                        let summary = self.ground?.program.summary(self.subject.name(s))?;
                        (summary.is_pure() && !summary.recursive).then_some(())
                    });
                    if by_name.is_none() && by_summary.is_none() {
                        return Err(format!("nothing is known of the call `{}`", shown()));
                    }
                }
                Op::Index | Op::Deref => self.reads(&n, memory)?,
                // where a thread is never changes
                Op::Apply(h) if &**h == "Dot" && uniform::is_position(self.subject, &n) => {}
                Op::Apply(h) if matches!(&**h, "Dot" | "Arrow") => self.reads(&n, memory)?,
                Op::Sym(s) => {
                    let known = self.subject.symbol(*s);
                    let volatile = known.is_some_and(|k| {
                        let q = self.types.quals(k.ty);
                        q.is_volatile || q.is_atomic
                    });
                    let function = known.is_some_and(|k| matches!(k.storage, Storage::Function));
                    if volatile || (!memory && !function && known.is_some_and(|k| k.address_taken)) {
                        return Err(format!("`{}` may be changed from elsewhere", shown()));
                    }
                }
                Op::Launch | Op::Reject(_) | Op::List => {
                    return Err(format!("`{}` is no expression", shown()))
                }
                Op::Apply(h) if !matches!(&**h, "Cast" | "SizeOfType") => {
                    return Err(format!("nothing is known of `{}`", shown()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn reads(&self, x: &Tree, allowed: bool) -> Result<(), String> {
        let shown = || self.subject.print(x);
        if !allowed {
            return Err(format!("`{}` reads memory", shown()));
        }
        let q = x.ty.map_or_else(Default::default, |t| self.types.quals(t));
        match q.is_volatile || q.is_atomic {
            true => Err(format!("`{}` may be changed from elsewhere", shown())),
            false => Ok(()),
        }
    }

    fn affine(&self, x: &Tree) -> Result<(), String> {
        let no = || format!("`{}` is not linear", self.subject.print(x));
        match (&x.op, &*x.args) {
            (Op::Int(_), _) => Ok(()),
            (Op::Sym(s), _) => {
                let fine = self.subject.symbol(*s).is_some_and(|k| self.types.as_int(k.ty).is_some());
                fine.then_some(()).ok_or_else(no)
            }
            (Op::Unary(_), [a]) if matches!(x.op, Op::Unary(term::UnOp::Neg | term::UnOp::Plus)) => {
                self.affine(a)
            }
            (Op::Binary(BinOp::Add | BinOp::Sub), [a, b]) => {
                self.affine(a)?;
                self.affine(b)
            }
            (Op::Binary(BinOp::Mul), [a, b]) => match (self.number(a), self.number(b)) {
                (Ok(_), _) => self.affine(b),
                (_, Ok(_)) => self.affine(a),
                _ => Err(no()),
            },
            _ => Err(no()),
        }
    }

    /// The loop over an index in what was matched, or the loop itself.
    pub(super) fn loop_of(&self, x: &Tree) -> Result<(LoopId, Tree), String> {
        let g = self.ground()?;
        let find = |n: &Tree| {
            let t = n.from.filter(|_| n.op.is_loop())?;
            let id = g.facts.of_term(t)?;
            Some((id, n.clone()))
        };
        let wanted = x.as_symbol();
        let found = match wanted {
            None => find(x),
            Some(s) => self
                .matched
                .walk()
                .filter_map(|n| find(&n))
                .find(|(id, _)| g.facts.loops[*id].control.as_ref().is_ok_and(|c| c.index == s)),
        };
        let shown = self.subject.print(x);
        let (id, n) = found.ok_or_else(|| format!("no counted loop over `{shown}` stands there"))?;
        // a mark says nothing of what the loop does
        let marked_anew = |o: &Tree| {
            o.op == Op::For && n.args.len() == 5 && (0..4).all(|k| Arc::ptr_eq(&o.args[k], &n.args[k]))
        };
        let same = self.subject.untouched(&n)
            || n.from.and_then(|t| self.subject.original(t)).is_some_and(marked_anew);
        if !same {
            return Err(format!(
                "the loop over `{shown}` was changed by an earlier rule; apply the system again to the result"
            ));
        }
        Ok((id, n))
    }
    fn independent(&self, x: &Tree) -> Result<String, String> {
        let g = self.ground()?;
        let (id, _) = self.loop_of(x)?;
        let l = &g.facts.loops[id];
        self.moved_by_its_header(l)?;
        match l.verdict {
            Verdict::Independent if l.conditions.iter().all(|c| c.met_by == MetBy::Proof) => {
                Ok("no two iterations use one cell of which one writes it".to_owned())
            }
            Verdict::Independent => Err("the iterations are independent only under a condition".to_owned()),
            Verdict::Reduction => Err("the iterations meet in a reduction".to_owned()),
            Verdict::Sequential => Err("iterations depend on one another".to_owned()),
            Verdict::Unknown => {
                Err("it is not known whether the iterations depend on one another".to_owned())
            }
        }
    }
    /// What patterns of loops take for granted: nothing but the header moves the index.
    fn moved_by_its_header(&self, l: &analysis::LoopFacts) -> Result<(), String> {
        match &l.control {
            Ok(c) if !c.header_only => {
                let index = self.subject.symbol(c.index).map_or("?", |s| &*s.name);
                Err(format!("`{index}` is moved by more than the header of its loop"))
            }
            _ => Ok(()),
        }
    }
    fn permutable(&self, x: &Tree, y: &Tree) -> Result<String, String> {
        let g = self.ground()?;
        let ((outer, _), (inner, _)) = (self.loop_of(x)?, self.loop_of(y)?);
        if g.facts.loops[inner].parent != Some(outer) {
            return Err(format!(
                "the loop over `{}` is not directly in that over `{}`",
                self.subject.print(y),
                self.subject.print(x)
            ));
        }
        for id in [outer, inner] {
            self.moved_by_its_header(&g.facts.loops[id])?;
        }
        let indices = [outer, inner].map(|id| g.facts.loops[id].control.as_ref().ok().map(|c| c.index));
        for (id, other) in [(outer, indices[1]), (inner, indices[0])] {
            let Some(n) = self.subject.original(g.facts.loops[id].term) else { continue };
            let blocks = super::pattern::blocks(&n.op, n.args.len());
            let headers = n.args.iter().enumerate().filter(|(k, _)| !blocks.contains(k));
            if headers.flat_map(|(_, a)| a.walk()).any(|t| t.as_symbol().is_some() && t.as_symbol() == other)
            {
                return Err("the range of one loop depends on the other's index".to_owned());
            }
        }
        self.bounds_may_come_first(x, y)?;
        let graph = super::schedule::sure(&g, outer)?;
        let own = analysis::own_scalars(g.body, g.facts, inner);
        let mut aside: Vec<SymbolId> = own.into_iter().filter(|s| !graph.live_out.contains(s)).collect();
        for id in [outer, inner] {
            if let Ok(c) = &g.facts.loops[id].control {
                aside.push(c.index);
            }
        }
        for e in graph.edges_without(&aside) {
            for v in &e.vectors {
                let turned = matches!(v.as_slice(), [Order::Before] | [Order::Before, Order::After, ..]);
                if turned {
                    return Err(super::schedule::broken(&g, self.subject, e, v));
                }
            }
        }
        Ok("no dependence has the directions (<, >)".to_owned())
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}
