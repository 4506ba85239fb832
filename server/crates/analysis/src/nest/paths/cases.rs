//! Cases as sets of constraints: which of them can be, what follows from them, and what is left for the context when the versions
//! are eliminated (Fourier and Motzkin).

use rustc_hash::FxHashSet;
use term::{Op, SymbolId};

use super::Case;
use crate::algebra::poly::{Constraint, Poly, Var, VarKind};
use crate::limits::nest_paths_cases::{MAX_CASES, MAX_COLUMNS, MAX_KEPT, MAX_LINES};
use crate::nest::builder::Builder;
use crate::Param;

impl Builder<'_> {
    /// The cases that can be, if they are few enough; else the others, in which less is known.
    pub(super) fn few(&self, cases: Vec<Case>, otherwise: Vec<Case>) -> Vec<Case> {
        if cases.len() < 2 {
            return cases;
        }
        let mut can_be = Vec::new();
        for c in cases {
            if self.contradicts(&c.facts) {
                continue;
            }
            if can_be.len() == MAX_CASES {
                return otherwise;
            }
            can_be.push(c);
        }
        can_be
    }

    fn contradicts(&self, facts: &[Constraint]) -> bool {
        let mut columns: Vec<Var> = Vec::new();
        for k in facts.iter().filter(|k| k.poly.is_linear()) {
            for v in k.poly.vars() {
                if !columns.contains(&v) {
                    columns.push(v);
                }
            }
        }
        if columns.len() > MAX_COLUMNS || !self.pay(1 + facts.len() * columns.len() / 64) {
            return false;
        }
        let line = |p: &Poly| -> Vec<i128> {
            columns.iter().map(|v| p.coefficient(*v)).chain([p.constant_part()]).collect()
        };
        let (mut equal, mut least) = (Vec::new(), Vec::new());
        for k in facts.iter().filter(|k| k.poly.is_linear()) {
            let list = if k.equality { &mut equal } else { &mut least };
            list.push(line(&k.poly));
        }
        // What the types say.
        for (at, v) in columns.iter().enumerate() {
            if let VarKind::Param(Param::Symbol(s)) = self.vars.kind(*v) {
                let unsigned = self.body.types.as_int(self.body.symbols[*s].ty).is_some_and(|k| !k.signed());
                if unsigned {
                    let mut l = vec![0; columns.len() + 1];
                    l[at] = 1;
                    least.push(l);
                }
            }
        }
        crate::depend::impossible(columns.len(), equal, least, &self.budget)
    }

    /// Whether it follows from the facts.
    fn follows(&self, facts: &[Constraint], k: &Constraint) -> bool {
        let against = |p: Option<Poly>| {
            let Some(p) = p else { return false };
            let mut all = facts.to_vec();
            all.push(Constraint::non_negative(p));
            self.contradicts(&all)
        };
        let below = k.poly.scale(-1).and_then(|p| p.add_constant(-1));
        against(below) && (!k.equality || against(k.poly.add_constant(-1)))
    }

    /// Leaves constraints over parameters that matter to the root, in the context and as cases.
    pub(super) fn keep(&mut self, cases: Vec<Case>) {
        let mut wanted: FxHashSet<Var> = FxHashSet::default();
        let body = self.body;
        // Not those that the loop's header sets, nor those that stand for a value in others.
        let init = body.loop_parts(self.root).and_then(|p| p.init);
        let mut seen: FxHashSet<SymbolId> =
            init.map(|i| (*self.effects.writes_in(i)).clone()).unwrap_or_default();
        for x in body.walk(self.root) {
            let Op::Sym(s) = body.op(x) else { continue };
            if !seen.insert(*s) || self.entry.values.contains_key(s) || self.definition(*s).is_some() {
                continue;
            }
            wanted.extend(self.vars.param(Param::Symbol(*s)));
        }
        for p in self.entry.values.values() {
            wanted.extend(p.vars());
        }
        for c in &self.premises.context {
            wanted.extend(c.poly.vars());
        }
        let mut left: Vec<Vec<Constraint>> = Vec::new();
        for c in &cases {
            if cases.len() > 1 && self.contradicts(&c.facts) {
                continue;
            }
            let facts = project(&c.facts, |v| wanted.contains(&v));
            if !left.contains(&facts) {
                left.push(facts);
            }
        }
        if left.is_empty() || left.iter().all(Vec::is_empty) {
            return;
        }
        let candidates: Vec<Constraint> = left.iter().flatten().cloned().collect();
        let mut common: Vec<Constraint> = Vec::new();
        for k in candidates {
            // An equation of one case may be an inequality of all.
            let parts = match k.equality && left.len() > 1 {
                true => vec![
                    Constraint::non_negative(k.poly.clone()),
                    Constraint::non_negative(k.poly.scale(-1).unwrap_or_default()),
                ],
                false => vec![k],
            };
            for k in parts {
                let known = common.contains(&k) || self.premises.context.contains(&k);
                let in_all = |facts: &Vec<Constraint>| facts.contains(&k) || self.follows(facts, &k);
                if !known && common.len() < 24 && left.iter().all(in_all) {
                    common.push(k);
                }
            }
        }
        self.premises.context.extend(common);
        if (2..=MAX_KEPT).contains(&left.len()) && left.iter().all(|l| !l.is_empty()) {
            self.premises.cases = left;
        }
    }
}

/// What follows for the wanted variables.
pub(crate) fn project(facts: &[Constraint], wanted: impl Fn(Var) -> bool) -> Vec<Constraint> {
    let mut lines: Vec<Constraint> = facts.iter().filter(|k| k.poly.is_linear()).cloned().collect();
    for _ in 0..200 {
        let Some(v) = lines.iter().flat_map(|k| k.poly.vars()).find(|v| !wanted(*v)) else { break };
        let solved = lines.iter().position(|k| k.equality && k.poly.coefficient(v).abs() == 1);
        if let Some(at) = solved {
            let by = lines.swap_remove(at);
            let c = by.poly.coefficient(v);
            lines = lines
                .into_iter()
                .filter_map(|k| {
                    if k.poly.coefficient(v) == 0 {
                        return Some(k);
                    }
                    let poly = k.poly.add_scaled(&by.poly, -k.poly.coefficient(v) * c)?;
                    Some(Constraint { poly, equality: k.equality })
                })
                .collect();
            continue;
        }
        let (with, mut rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(|k| k.poly.coefficient(v) != 0);
        let mut bounds: Vec<Poly> = Vec::new();
        for k in with {
            if k.equality {
                bounds.extend(k.poly.scale(-1));
            }
            bounds.push(k.poly);
        }
        let (up, down): (Vec<_>, Vec<_>) = bounds.into_iter().partition(|p| p.coefficient(v) > 0);
        // Where there would be too many, less is said.
        if up.len() * down.len() + rest.len() <= MAX_LINES {
            for a in &up {
                for b in &down {
                    let (x, y) = (a.coefficient(v), -b.coefficient(v));
                    let sum = a.scale(y).and_then(|a| a.add_scaled(b, x));
                    if let Some(p) = sum.filter(|p| p.vars().next().is_some()) {
                        let k = Constraint::non_negative(p);
                        if !rest.contains(&k) {
                            rest.push(k);
                        }
                    }
                }
            }
        }
        lines = rest;
    }
    lines.retain(|k| k.poly.vars().next().is_some() && k.poly.vars().all(&wanted));
    lines.sort_by_cached_key(|k| format!("{k:?}"));
    lines.dedup();
    lines
}
