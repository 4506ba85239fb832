//! A rule's condition taken apart: in which cases it holds, and what it says of types, effects and values in each.
//!
//! What a guard says beyond that is not used; a rule that is right without it is right with it, and a counter-example then is
//! none. Deliberately absent: proofs of guards at a place (`prove`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use term::{BinOp, IntKind, Op};

use super::super::guard::Guard;
use super::super::pattern::{Literal, Pattern, TypeTest};
use super::graph::{Act, Graph, Id, Sort};
use super::lower::{self, Effect, Ty};
use crate::limits::rules_exact_cases::MOST;

/// Gives what stands for a key, with its type.
type Values<'f> = dyn FnMut(&mut Graph, &str) -> Option<(Id, Ty)> + 'f;

/// Guards that hold together.
#[derive(Clone, Default, Debug)]
pub(super) struct Case {
    /// Key, test, and whether it is to fail.
    pub types: Vec<(String, TypeTest, bool)>,
    pub effects: BTreeMap<String, Effect>,
    /// Keys whose value nothing in the rule changes, and those whose evaluation is defined everywhere.
    pub stable: BTreeSet<String>,
    /// The same, with the index of the loop that does not change it.
    pub invariant: Vec<(String, Pattern)>,
    pub total: BTreeSet<String>,
    /// Indices of loops that run.
    pub nonempty: Vec<Pattern>,
    /// Comparisons of numbers.
    pub facts: Vec<(BinOp, Pattern, Pattern)>,
    /// Variables that are written alike.
    pub alike: Vec<(String, String)>,
    pub named: BTreeMap<Arc<str>, String>,
    pub fresh: Vec<Arc<str>>,
    /// Whose operation may be regrouped: of unsigned numbers, or bit by bit.
    pub assoc: Vec<Pattern>,
    /// Whether something was said that is not used.
    pub more: bool,
    /// All guards of the case.
    pub guards: Vec<Guard>,
}

/// The cases in which a condition holds.
pub(super) fn cases(guard: Option<&Guard>) -> Result<Vec<Case>, String> {
    let mut all = vec![Case::default()];
    if let Some(g) = guard {
        all = with(all, g, false)?;
    }
    for c in &mut all {
        c.settle();
    }
    Ok(all)
}

fn with(cases: Vec<Case>, g: &Guard, not: bool) -> Result<Vec<Case>, String> {
    let (every, some): (&[Guard], &[Guard]) = match (g, not) {
        (Guard::And(gs), false) | (Guard::Or(gs), true) => (gs, &[]),
        (Guard::Or(gs), false) | (Guard::And(gs), true) => (&[], gs),
        (Guard::Not(inner), _) => return with(cases, inner, !not),
        _ => {
            let mut cases = cases;
            for c in &mut cases {
                c.take(g, not);
            }
            return Ok(cases);
        }
    };
    let mut cases = cases;
    for g in every {
        cases = with(cases, g, not)?;
    }
    if !some.is_empty() {
        let mut out = Vec::new();
        for g in some {
            out.extend(with(cases.clone(), g, not)?);
        }
        cases = out;
    }
    match cases.len() > MOST {
        true => Err("its condition has too many cases".to_owned()),
        false => Ok(cases),
    }
}

impl Case {
    fn effect(&mut self, p: &Pattern, e: Effect) {
        match lower::key(p) {
            Some(key) => {
                let known = self.effects.entry(key).or_insert(e);
                *known = (*known).max(e);
            }
            None => {
                // of a whole its parts
                if let Pattern::Term(_, args) = p {
                    args.iter().for_each(|a| self.effect(a, e));
                }
            }
        }
    }

    fn take(&mut self, g: &Guard, not: bool) {
        if !not {
            self.guards.push(g.clone());
        }
        match g {
            Guard::Type(p, test) => match lower::key(p) {
                Some(key) => self.types.push((key, test.clone(), not)),
                None => self.more = true,
            },
            _ if not && !matches!(g, Guard::Compare(..)) => self.more = true,
            Guard::Pure(p) | Guard::ReadOnly(p) => self.effect(p, Effect::None),
            Guard::Total(p) => {
                self.effect(p, Effect::None);
                keys(p, &mut self.total);
            }
            Guard::Invariant(p, i) => {
                self.effect(p, Effect::None);
                let mut found = BTreeSet::new();
                keys(p, &mut found);
                self.invariant.extend(found.into_iter().map(|k| (k, i.clone())));
            }
            Guard::NonEmpty(i) => self.nonempty.push(i.clone()),
            Guard::Const(p) => {
                // an integer constant
                if let Some(key) = lower::key(p) {
                    self.types.push((key, TypeTest::Integer, false));
                }
                self.effect(p, Effect::Constant);
            }
            Guard::Assoc(p) => self.assoc.push(p.clone()),
            Guard::TypeOf(p, name) => match lower::key(p) {
                Some(key) => {
                    self.types.push((key.clone(), TypeTest::Arithmetic, false));
                    self.named.insert(name.clone(), key);
                }
                None => self.more = true,
            },
            Guard::Fresh(name, _) => self.fresh.push(name.clone()),
            Guard::Compare(op, a, b) => self.compare(*op, a, b, not),
            _ => self.more = true,
        }
    }

    /// A comparison holds of numbers; `==` and `!=` without one look at the words.
    fn compare(&mut self, op: BinOp, a: &Pattern, b: &Pattern, not: bool) {
        let number = |p: &Pattern| matches!(p, Pattern::Literal(Literal::Int(..)));
        let numeric = number(a) || number(b) || !matches!(op, BinOp::Eq | BinOp::Ne);
        if not {
            // that it fails may mean that it is none of numbers: see `settle`
            self.guards.push(Guard::Not(Box::new(Guard::Compare(op, a.clone(), b.clone()))));
            return;
        }
        if !numeric {
            match (op, lower::key(a), lower::key(b)) {
                (BinOp::Eq, Some(x), Some(y)) => self.alike.push((x, y)),
                _ => self.more = true,
            }
            return;
        }
        for p in [a, b] {
            self.numbers(p);
        }
        self.facts.push((op, a.clone(), b.clone()));
    }
    /// What a comparison takes for numbers is constant.
    fn numbers(&mut self, p: &Pattern) {
        match p {
            Pattern::Variable { .. } => self.effect(p, Effect::Constant),
            Pattern::Term(Op::Binary(_) | Op::Unary(_), args) => args.iter().for_each(|a| self.numbers(a)),
            _ => {}
        }
    }

    /// What a loop does not change nothing in the rule does, if that loop is all of its source.
    pub fn settle_loop(&mut self, source: &Pattern) {
        let whole = match source {
            Pattern::Term(Op::List, items) if items.len() == 1 => &items[0],
            p => p,
        };
        let Pattern::Term(Op::For, parts) = whole else { return };
        let Some(Pattern::Term(_, set)) = parts.first() else { return };
        let index = set.first();
        let found = self.invariant.iter().filter(|(_, i)| Some(i) == index);
        self.stable.extend(found.map(|(k, _)| k.clone()));
    }

    /// Comparisons that fail say something of what is known to be a number.
    fn settle(&mut self) {
        let all = std::mem::take(&mut self.guards);
        for g in &all {
            let Guard::Not(inner) = g else { continue };
            let Guard::Compare(op, a, b) = &**inner else { continue };
            let sure = |p: &Pattern| plain(p, &|key| self.effects.get(key) == Some(&Effect::Constant));
            match sure(a) && sure(b) {
                true => self.facts.push((op.negated(), a.clone(), b.clone())),
                false => self.more = true,
            }
        }
        self.guards = all;
    }

    /// The types that a key may have, those of which no other speaks.
    pub fn allowed(&self, key: &str, every: bool) -> Vec<Ty> {
        use IntKind::{Bool, Int, Long, SChar, Short, UChar, UInt, ULong, UShort};
        let all = [Int, UInt, Long, ULong, Bool, SChar, UChar, Short, UShort].map(Ty::Int);
        let all = all.into_iter().chain([Ty::F32, Ty::F64]);
        let tests: Vec<_> = self.types.iter().filter(|t| t.0 == key).collect();
        let all: Vec<Ty> =
            all.filter(|ty| tests.iter().all(|(_, test, not)| holds(test, *ty) != *not)).collect();
        // a narrower number is an `int` when it is computed with, and `int` has all its values
        let int = all.contains(&Ty::Int(Int)) && !every;
        all.into_iter().filter(|t| !int || t.promoted() == *t).collect()
    }

    /// What the comparisons say, as truth.
    pub fn facts(&self, g: &mut Graph, of: &mut Values<'_>) -> Id {
        let mut all = g.truth(true);
        for (op, a, b) in &self.facts {
            let (Some(x), Some(y)) = (math(g, a, of, &mut all), math(g, b, of, &mut all)) else {
                continue;
            };
            let (act, args, not) = match op {
                BinOp::Lt => (Act::SLt, vec![x, y], false),
                BinOp::Ge => (Act::SLt, vec![x, y], true),
                BinOp::Gt => (Act::SLt, vec![y, x], false),
                BinOp::Le => (Act::SLt, vec![y, x], true),
                BinOp::Eq => (Act::Eq, vec![x, y], false),
                _ => (Act::Eq, vec![x, y], true),
            };
            let t = g.make(act, Sort::Truth, args);
            let t = if not { g.not(t) } else { t };
            all = g.and(all, t);
        }
        all
    }
}

/// The keys of an expression.
fn keys(p: &Pattern, out: &mut BTreeSet<String>) {
    match (lower::key(p), p) {
        (Some(key), _) => {
            out.insert(key);
        }
        (None, Pattern::Term(_, args)) => args.iter().for_each(|a| keys(a, out)),
        _ => {}
    }
}

/// Sums and products of constants and numbers: what a comparison can always evaluate.
fn plain(p: &Pattern, constant: &dyn Fn(&str) -> bool) -> bool {
    match p {
        Pattern::Literal(Literal::Int(..)) => true,
        Pattern::Variable { name, .. } => constant(&format!("${name}")),
        _ => false,
    }
}

/// Whether a type passes a test.
pub(super) fn holds(test: &TypeTest, ty: Ty) -> bool {
    match test {
        TypeTest::Integer => matches!(ty, Ty::Int(_)),
        TypeTest::Floating => !matches!(ty, Ty::Int(_)),
        TypeTest::Arithmetic => true,
        TypeTest::Pointer => false,
        TypeTest::Exactly(text) => Ty::of(text).is_some_and(|t| t.like(ty)),
    }
}

/// An expression of a comparison in whole numbers, which 128 bits hold.
fn math(g: &mut Graph, p: &Pattern, of: &mut Values<'_>, also: &mut Id) -> Option<Id> {
    let wide = Sort::Bits(128);
    match p {
        Pattern::Literal(Literal::Int(v, _)) => Some(g.bits(128, *v)),
        Pattern::Variable { name, .. } => match of(g, &format!("${name}"))? {
            (id, Ty::Int(k)) => {
                let act = if k.signed() { Act::SignExt } else { Act::ZeroExt };
                Some(g.make(act, wide, vec![id]))
            }
            // of floating numbers zero alone is compared
            (id, ty) => {
                let zero = g.float(ty.sort(), 0.0);
                let is = g.make(Act::FEq, Sort::Truth, vec![id, zero]);
                *also = g.and(*also, is);
                Some(g.bits(128, 0))
            }
        },
        Pattern::Term(Op::Binary(op), args) if args.len() == 2 => {
            let (a, b) = (math(g, &args[0], of, also)?, math(g, &args[1], of, also)?);
            let act = match op {
                BinOp::Add => Act::Add,
                BinOp::Sub => {
                    let minus = g.make(Act::Neg, wide, vec![b]);
                    return Some(g.make(Act::Add, wide, vec![a, minus]));
                }
                BinOp::Mul => Act::Mul,
                BinOp::BitAnd => Act::And,
                BinOp::BitOr => Act::Or,
                BinOp::BitXor => Act::Xor,
                BinOp::Div => Act::SDiv,
                BinOp::Rem => Act::SRem,
                _ => return None,
            };
            Some(g.make(act, wide, vec![a, b]))
        }
        _ => None,
    }
}
