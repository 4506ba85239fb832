//! Guards decided: each holds with a proof in hand or not at all.
//!
//! What is asked of loops and memory is answered by `analysis` for the program as it was read; a place that an earlier
//! rule changed is not that program, so nothing is proved of it. Deliberately absent: assumptions.

use std::sync::Arc;

use analysis::{Facts, LoopId, MetBy, Order, Program, Verdict};
use base::Budget;
use term::{BinOp, Body, Op, SymbolId, Types};

use super::apply::Together;
use super::derivation::Proof;
use super::guard::Guard;
use super::matching::{fill, matches, Bindings};
use super::pattern::Pattern;
use super::tree::{Subject, Tree};
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
            Guard::And(gs) => return self.all(gs, b),
            Guard::Or(gs) => return self.any(gs, b),
            // on its own it holds for the first item that is alike
            Guard::In(..) => return self.all(std::slice::from_ref(g), b),
            Guard::Not(inner) => match self.prove(inner, &mut b.clone()) {
                Ok(_) => return Err(format!("`{}` holds", inner.text())),
                Err(why) => why,
            },

            // what a term is
            Guard::Compare(op, x, y) => self.compare(*op, x, y, b)?,
            Guard::Equals(x, y) => self.equals(x, y, b)?,
            Guard::Type(x, test) => self.of(x, b, |s, x| s.is_of_type(x, test))?,
            Guard::TypeOf(x, name) => {
                let x = self.filled(x, b)?;
                self.type_of(&x, name, b)?
            }
            Guard::Head(x, word) => self.of(x, b, |s, x| s.begins_with(x, word))?,
            Guard::Fresh(name, like) => self.fresh_name(name, like, b)?,
            Guard::Const(x) => format!("it is {}", self.of(x, b, |s, x| s.number(x))?),
            Guard::Assoc(x) => self.of(x, b, |s, x| s.associative(x))?,
            Guard::Affine(x) => {
                self.of(x, b, |s, x| s.affine(x))?;
                "it is a sum of variables times constants".to_owned()
            }
            Guard::Pure(x) => {
                self.of(x, b, |s, x| s.pure(x, false))?;
                "it reads variables only and calls nothing but known functions".to_owned()
            }
            Guard::ReadOnly(x) => {
                self.of(x, b, |s, x| s.pure(x, true))?;
                "it writes nothing and calls nothing but known functions".to_owned()
            }
            Guard::Total(x) => {
                self.of(x, b, |s, x| s.total(x))?;
                "nothing in it can be undefined".to_owned()
            }
            Guard::Uniform(x) => self.of(x, b, |s, x| uniform::uniform(s.subject, x))?,

            // what is done to memory
            Guard::NoAlias(x, y) => self.of_both([x, y], b, |s, x, y| s.no_alias(x, y))?,
            Guard::Unwritten(x, y) => self.of_both([x, y], b, |s, x, y| s.left_alone(x, y, false))?,
            Guard::Unused(x, y) => self.of_both([x, y], b, |s, x, y| s.left_alone(x, y, true))?,
            Guard::OnlyRead(x, y) => self.of_both([x, y], b, |s, x, y| s.only_read(x, y))?,

            // what loops and statements do
            Guard::Inside(x) => self.of(x, b, |s, x| s.inside(x))?,
            Guard::Straight(x) => self.of(x, b, |s, x| s.straight(x))?,
            Guard::NonEmpty(x) => self.of(x, b, |s, x| s.nonempty(x))?,
            Guard::Invariant(x, i) => self.of_both([x, i], b, |s, x, i| s.invariant(x, i))?,
            Guard::Independent(x) => self.of(x, b, |s, x| s.independent(x))?,
            Guard::Permutable(x, y) => self.of_both([x, y], b, |s, x, y| s.permutable(x, y))?,

            // what is found out
            Guard::Box(p, sides) => self.in_box(p, sides, b)?,
            Guard::Has(x, place, guards) => self.has(x, place, guards, b)?,
            Guard::Blocks(names) => self.blocks(names, b)?,
            Guard::Applied(f) => self.applied(f, b)?,
        };
        Ok(vec![Proof { guard: self.worded(g, b), because }])
    }

    /// What is asked of the term that the pattern stands for.
    fn of<T>(
        &mut self,
        x: &Pattern,
        b: &Bindings,
        ask: impl FnOnce(&mut Self, &Tree) -> Result<T, String>,
    ) -> Result<T, String> {
        let x = self.filled(x, b)?;
        ask(self, &x)
    }

    /// What is asked of two terms.
    fn of_both<T>(
        &mut self,
        [x, y]: [&Pattern; 2],
        b: &Bindings,
        ask: impl FnOnce(&mut Self, &Tree, &Tree) -> Result<T, String>,
    ) -> Result<T, String> {
        let (x, y) = (self.filled(x, b)?, self.filled(y, b)?);
        ask(self, &x, &y)
    }

    /// Proves the first guard that holds.
    fn any(&mut self, guards: &[Guard], b: &mut Bindings) -> Answer {
        let mut missing = Vec::new();
        for g in guards {
            let mut trial = b.clone();
            match self.prove(g, &mut trial) {
                Ok(proofs) => {
                    *b = trial;
                    return Ok(proofs);
                }
                Err(why) => missing.push(why),
            }
        }
        Err(missing.join("; "))
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
        let text = g.text();
        let mut parts = text.split('$');
        let mut out = parts.next().unwrap_or("").to_owned();
        for part in parts {
            let end = part.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            match b.get(name).map(|t| self.subject.print(t)).filter(|t| t.len() <= 40) {
                Some(shown) => out += &shown,
                None => out.extend(["$", name]),
            }
            out += rest;
        }
        out
    }
    pub(super) fn filled(&mut self, p: &Pattern, b: &Bindings) -> Result<Tree, String> {
        fill(self.types, p, b).map_err(|v| format!("`${v}` is not bound"))
    }
    pub(super) fn ground(&self) -> Result<Ground<'_>, String> {
        self.ground.ok_or_else(|| "there is no program of which it could be proved, only a term".to_owned())
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
