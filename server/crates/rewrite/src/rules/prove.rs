//! Guards decided: each holds with a proof in hand or not at all.
//!
//! What is asked of loops and memory is answered by `analysis` for the program as it was read; a place that an earlier
//! rule changed is not that program, so nothing is proved of it. Deliberately absent: assumptions.

use std::sync::Arc;

use analysis::{Facts, LoopId, MetBy, Order, Program, Verdict};
use base::Budget;
use term::{BinOp, Body, Op, Storage, SymbolId, TypeKind, Types};

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
}

/// What guards look at.
pub(super) struct Asking<'a> {
    pub subject: &'a Subject,
    pub ground: Option<Ground<'a>>,
    /// The tree that the source matched.
    pub matched: &'a Tree,
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
                    let made = self.fresh(like);
                    b.bind(name, Node::name(&made));
                }
                "nothing else in the file has this name".to_owned()
            }
            Guard::Assoc(x) => {
                let x = self.filled(x, b)?;
                match x.ty.map(|t| self.types.kind(t)) {
                    Some(TypeKind::Int(k)) if !k.signed() => {
                        "it is computed modulo a power of two".to_owned()
                    }
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
            // on its own it holds for the first item that is alike
            Guard::In(..) => return self.all(std::slice::from_ref(g), b),
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
        if list.op != Op::List {
            return Err(format!("`{}` is no list", self.subject.print(&list)));
        }
        let mut missing: Vec<String> = Vec::new();
        for one in list.args.iter() {
            let mut trial = b.clone();
            if !matches(self.subject, self.types, item, one, &mut trial) {
                continue;
            }
            match self.all(rest, &mut trial) {
                Ok(proofs) => {
                    *b = trial;
                    return Ok(proofs);
                }
                Err(why) => missing.push(why),
            }
        }
        if missing.is_empty() {
            return Err(format!("nothing in `{}` is like `{}`", self.subject.print(&list), item.text()));
        }
        Err(missing.join("; "))
    }

    /// That a pointer parameter is used only to read what it points to.
    fn only_read(&self, x: &Tree, s: &Tree) -> Result<String, String> {
        let shown = self.subject.print(x);
        let sym = x.as_symbol().ok_or_else(|| format!("`{shown}` is no variable"))?;
        let known = self.subject.symbol(sym).ok_or_else(|| format!("`{shown}` is no variable"))?;
        let pointee = match self.types.kind(known.ty) {
            TypeKind::Pointer { to, .. } => self.types.get(*to),
            _ => return Err(format!("`{shown}` is no pointer")),
        };
        if pointee.quals.is_volatile || self.types.get(known.ty).quals.is_volatile {
            return Err(format!("what `{shown}` points to is volatile"));
        }
        if known.address_taken || !matches!(known.storage, Storage::Param(_)) {
            return Err(format!("`{shown}` is no parameter of its own"));
        }
        // what is above a use, and which part of it the use is
        let mut stack: Vec<(Tree, Option<Tree>, bool)> = vec![(s.clone(), None, false)];
        while let Some((n, above, written)) = stack.pop() {
            if n.as_symbol() == Some(sym) {
                let loads = above.as_ref().is_some_and(|a| {
                    let first = a.args.first().is_some_and(|f| f.as_symbol() == Some(sym));
                    first && matches!(a.op, Op::Index | Op::Deref) && a.ty.is_some_and(|t| self.is_number(t))
                });
                if !loads {
                    let place = above.as_ref().map_or_else(|| shown.clone(), |a| self.subject.print(a));
                    return Err(format!("`{place}` uses `{shown}` otherwise than to read what is there"));
                }
                if written {
                    return Err(format!("what `{shown}` points to is written"));
                }
            }
            for (k, a) in n.args.iter().enumerate() {
                let is_place = (n.op.is_write() && k == 0) || matches!(n.op, Op::AddrOf);
                // `&p[0]`, `p[0] = …` and `p[0].x = …` are one matter; a subscript is only read
                let through = written && k == 0 && (matches!(n.op, Op::Index | Op::Deref) || n.is("Dot"));
                stack.push((a.clone(), Some(n.clone()), is_place || through));
            }
        }
        Ok(format!("`{shown}` is only subscripted, and only read"))
    }
    fn is_number(&self, t: term::TypeId) -> bool {
        matches!(self.types.kind(t), TypeKind::Int(_) | TypeKind::Float(_))
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
    fn filled(&mut self, p: &Pattern, b: &Bindings) -> Result<Tree, String> {
        fill(self.types, p, b).map_err(|v| format!("`${v}` is not bound"))
    }
    fn ground(&self) -> Result<Ground<'_>, String> {
        self.ground.ok_or_else(|| "there is no program of which it could be proved, only a term".to_owned())
    }

    fn number(&self, x: &Tree) -> Result<i128, String> {
        if let Some(v) = x.as_int() {
            return Ok(v);
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
        if let (Ok(l), Ok(r)) = (self.number(&x), self.number(&y)) {
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
    fn pure(&self, x: &Tree, memory: bool) -> Result<(), String> {
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

    fn no_alias(&self, x: &Tree, y: &Tree) -> Result<String, String> {
        let both = x.as_symbol().zip(y.as_symbol());
        let no =
            || format!("`{}` and `{}` may be the same memory", self.subject.print(x), self.subject.print(y));
        let (a, b) = both.ok_or_else(no)?;
        if a == b {
            return Err(no());
        }
        let kind = |s: SymbolId| {
            let known = self.subject.symbol(s)?;
            let fixed = !self.is_assigned(s) && !known.address_taken;
            match self.types.get(known.ty) {
                t if matches!(t.kind, TypeKind::Array { .. }) => {
                    let own =
                        matches!(known.storage, Storage::Local | Storage::Shared) && !known.address_taken;
                    let automatic = known.storage == Storage::Local;
                    Some(match (own, automatic) {
                        (true, _) => "own",
                        (false, true) => "automatic",
                        (false, false) => "named",
                    })
                }
                t if matches!(t.kind, TypeKind::Pointer { .. }) => {
                    let param = matches!(known.storage, Storage::Param(_));
                    match (param, fixed) {
                        (true, true) if t.quals.is_restrict => Some("restrict"),
                        (true, true) => Some("given"),
                        (true, false) => Some("pointer"),
                        _ => None,
                    }
                }
                _ => None,
            }
        };
        let (a, b) = (kind(a).ok_or_else(no)?, kind(b).ok_or_else(no)?);
        let array = |k| matches!(k, "own" | "automatic" | "named");
        match (a, b) {
            _ if array(a) && array(b) => Ok("they are two arrays".to_owned()),
            ("own", _) | (_, "own") => Ok("one of them is an array that no pointer reaches".to_owned()),
            // the array begins to live when the parameter has its value already
            ("automatic", "given" | "restrict") | ("given" | "restrict", "automatic") => {
                Ok("one of them is an array of this call, the other the caller's".to_owned())
            }
            ("restrict", "restrict") => Ok("both are restrict parameters that keep their values".to_owned()),
            _ => Err(no()),
        }
    }
    fn is_assigned(&self, s: SymbolId) -> bool {
        self.subject
            .root
            .walk()
            .any(|n| n.op.is_write() && n.args.first().is_some_and(|a| a.as_symbol() == Some(s)))
    }

    /// That a statement does not write (or, `reads` too, not even read) a variable or what it points to.
    fn left_alone(&self, x: &Tree, s: &Tree, reads: bool) -> Result<String, String> {
        let Some(sym) = x.as_symbol() else {
            return Err(format!("`{}` is no variable", self.subject.print(x)));
        };
        let reached = self.subject.symbol(sym).is_some_and(|k| {
            k.address_taken
                || !matches!(k.storage, Storage::Local | Storage::Param(_) | Storage::Shared)
                || matches!(self.types.kind(k.ty), TypeKind::Pointer { .. })
        });
        for n in s.walk() {
            let shown = || self.subject.print(&n);
            let mentions = |t: &Tree| t.walk().any(|m| m.as_symbol() == Some(sym));
            match &n.op {
                Op::Call | Op::Launch | Op::Reject(_) => {
                    let known = n.args.first().and_then(|c| c.as_symbol()).is_some_and(|f| {
                        self.subject.library.contains(&f) && term::intrinsic(self.subject.name(f)).is_some()
                    });
                    if !known && (reached || mentions(&n)) {
                        return Err(format!("`{}` may use it", shown()));
                    }
                }
                // what is no C may do anything to what it names
                Op::Apply(h) if !KNOWN.contains(&&**h) && mentions(&n) => {
                    return Err(format!("`{}` may use it", shown()));
                }
                op if op.is_write() => {
                    let place = n.args.first().ok_or_else(shown)?;
                    let base = base_of(place);
                    if base.is_none_or(|b| b == sym || (reached && place.as_symbol().is_none())) {
                        let fine = base.is_some_and(|b| b != sym && self.apart(b, sym));
                        if !fine {
                            return Err(format!("`{}` may write it", shown()));
                        }
                    }
                }
                Op::Sym(v) if reads && *v == sym => return Err("it is read there".to_owned()),
                Op::Index | Op::Deref if reads && reached => {
                    let base = base_of(&n);
                    if !base.is_some_and(|b| b != sym && self.apart(b, sym)) {
                        return Err(format!("`{}` may read it", shown()));
                    }
                }
                _ => {}
            }
        }
        Ok(format!("nothing in it {} it", if reads { "uses" } else { "writes" }))
    }
    fn apart(&self, a: SymbolId, b: SymbolId) -> bool {
        let node = |s| Node::new(Op::Sym(s), Vec::new(), None, None);
        self.no_alias(&node(a), &node(b)).is_ok()
    }

    /// The loop over an index in what was matched, or the loop itself.
    fn loop_of(&self, x: &Tree) -> Result<(LoopId, Tree), String> {
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
        if !self.subject.untouched(&n) {
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

/// Heads that do what their parts do.
const KNOWN: [&str; 9] = [
    "Declaration",
    "DeclarationAssignment",
    "ArrayDeclaration",
    "Dot",
    "Arrow",
    "Cast",
    "SizeOfType",
    "Goto",
    "Label",
];

/// The variable that a place is part of, or that points to it.
fn base_of(place: &Tree) -> Option<SymbolId> {
    let mut at = place;
    loop {
        match &at.op {
            Op::Sym(s) => return Some(*s),
            Op::Index => at = at.args.first()?,
            Op::Apply(h) if &**h == "Dot" => at = at.args.first()?,
            Op::Deref => at = at.args.first()?,
            _ => return None,
        }
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}
