//! Cases as sets of constraints: which of them can be, what follows from them, and what is left for the context when the versions
//! are eliminated (Fourier and Motzkin).

use rustc_hash::FxHashSet;
use term::{Op, SymbolId};

use super::Case;
use crate::algebra::poly::{Constraint, Poly, Var, VarKind};
use crate::algebra::project::project;
use crate::limits::nest_paths_cases::{MAX_CASES, MAX_COLUMNS, MAX_ISL, MAX_KEPT};
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
        crate::solve::impossible(columns.len(), equal, least, (&self.budget, MAX_ISL))
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
